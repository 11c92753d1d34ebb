/* Reads a tensor file, or its bytes in memory, and trusts nothing: header, names, shapes and offsets are checked
 * against the size of the file before memory is allocated, and the checksum before anything is returned. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tensors/tensors.h"
#include "tensors/layout.h"
#include "util/hash.h"
#include "util/memory.h"

/* A file being read, and all that its steps share. */
typedef struct source {
  oatgp_context *ctx;
  const char *path;
  FILE *stream;              /* NULL: from memory */
  const unsigned char *next; /* in memory */
  size_t size;               /* of the file */
  char *header;              /* of `length` bytes and a NUL, with zeros for the checksum */
  size_t length;
  char stored[OAT_LAYOUT_DIGITS + 1]; /* the checksum in the file */
  uint64_t hash;                      /* the checksum of what has been read */
} source;

static oatgp_status damaged(const source *from, const char *what) {
  return oat_fail(from->ctx, OATGP_FORMAT, "'%s' is damaged: %s", from->path, what);
}

static oatgp_status bad_tensor(const source *from, const char *name, const char *what) {
  return oat_fail(from->ctx, OATGP_FORMAT, "'%s' is damaged: tensor '%.100s' %s", from->path, name, what);
}

static oatgp_status cut_short(const source *from, const char *what, size_t bytes) {
  return oat_fail(from->ctx, OATGP_FORMAT, "'%s' is cut short: %s %zu bytes, the file has %zu", from->path, what, bytes,
                  from->size);
}

static oatgp_status open_source(source *from) {
  struct stat info;
  from->stream = fopen(from->path, "rb");
  REFUSE_IF(from->stream == NULL || fstat(fileno(from->stream), &info) != 0, from->ctx, OATGP_READ,
            "cannot read '%s': %s", from->path, strerror(errno));
  REFUSE_IF(!S_ISREG(info.st_mode), from->ctx, OATGP_READ, "cannot read '%s': not a regular file", from->path);
  from->size = (size_t)info.st_size;
  return OATGP_OK;
}

/* In memory there are always enough bytes, because no caller reads beyond `size`. */
static oatgp_status read_bytes(source *from, void *bytes, size_t count) {
  if (from->stream == NULL) {
    memcpy(bytes, from->next, count);
    from->next += count;
    return OATGP_OK;
  }
  if (fread(bytes, 1, count, from->stream) == count) {
    return OATGP_OK;
  }
  const char *why = ferror(from->stream) ? strerror(errno) : "it ended before its size";
  return oat_fail(from->ctx, OATGP_READ, "cannot read '%s': %s", from->path, why);
}

/* Missing bytes of a short file count as 0 in its length, so that a truncated model file is reported as damaged and not
 * as a different kind of file. */
static oatgp_status read_beginning(source *from,
                                   unsigned char beginning[OAT_LAYOUT_LENGTH_BYTES + OAT_LAYOUT_BEGINNING_BYTES]) {
  const size_t most = OAT_LAYOUT_LENGTH_BYTES + OAT_LAYOUT_BEGINNING_BYTES,
               have = from->size < most ? from->size : most;
  PASS_ON(read_bytes(from, beginning, have));
  const uint64_t length = oat_layout_take(beginning);
  const bool complete = from->size >= OAT_LAYOUT_LENGTH_BYTES;
  REFUSE_IF(length > OAT_LAYOUT_LONGEST_BYTES || (complete && length < OAT_LAYOUT_SHORTEST_BYTES) ||
                (complete && memcmp(beginning + OAT_LAYOUT_LENGTH_BYTES, OAT_LAYOUT_BEGINNING,
                                    have - OAT_LAYOUT_LENGTH_BYTES) != 0),
            from->ctx, OATGP_FORMAT, "'%s' is not an oatgp model file", from->path);
  if (!complete) {
    return cut_short(from, "the length of the header takes", OAT_LAYOUT_LENGTH_BYTES);
  }
  from->length = (size_t)length;
  if (from->size - OAT_LAYOUT_LENGTH_BYTES < from->length) {
    return cut_short(from, "length and header take", OAT_LAYOUT_LENGTH_BYTES + from->length);
  }
  return OATGP_OK;
}

static oatgp_status read_header(source *from) {
  unsigned char beginning[OAT_LAYOUT_LENGTH_BYTES + OAT_LAYOUT_BEGINNING_BYTES] = {0};
  PASS_ON(read_beginning(from, beginning));
  PASS_ON(oat_new(from->ctx, from->length + 1, 1, &from->header));
  memcpy(from->header, beginning + OAT_LAYOUT_LENGTH_BYTES, OAT_LAYOUT_BEGINNING_BYTES);
  PASS_ON(read_bytes(from, from->header + OAT_LAYOUT_BEGINNING_BYTES, from->length - OAT_LAYOUT_BEGINNING_BYTES));
  memcpy(from->stored, from->header + OAT_LAYOUT_BEGINNING_BYTES, OAT_LAYOUT_DIGITS);
  memcpy(from->header + OAT_LAYOUT_BEGINNING_BYTES, OAT_LAYOUT_ZERO_DIGITS, OAT_LAYOUT_DIGITS);
  from->hash = oat_hash(OAT_HASH_START, beginning, OAT_LAYOUT_LENGTH_BYTES);
  from->hash = oat_hash(from->hash, from->header, from->length);
  return OATGP_OK;
}

/* cJSON takes control characters for blanks, so they are refused first. It does not report that it ran out of memory,
 * but errno does. The length includes the NUL, because some versions read one byte beyond a final comma. */
static oatgp_status parse_header(const source *from, cJSON **root) {
  bool clean = true;
  for (size_t i = 0; i < from->length; i++) {
    clean = clean && (unsigned char)from->header[i] >= ' ';
  }
  errno = 0;
  *root = clean ? cJSON_ParseWithLengthOpts(from->header, from->length + 1, NULL, true) : NULL;
  if (*root == NULL && errno == ENOMEM) {
    return oat_no_memory(from->ctx, from->length);
  }
  return *root != NULL ? OATGP_OK : damaged(from, "its header is not valid JSON");
}

static oatgp_status check_names(const source *from, const cJSON *object) {
  const char *twice;
  PASS_ON(oat_layout_find_twice(from->ctx, object, &twice));
  REFUSE_IF(twice != NULL, from->ctx, OATGP_FORMAT, "'%s' is damaged: '%.100s' is in its header twice", from->path,
            twice);
  return OATGP_OK;
}

/* The first text is the checksum, as the beginning of the file shows, and is not passed on. */
static oatgp_status take_texts(const source *from, const cJSON *metadata, oat_tensors *out) {
  PASS_ON(check_names(from, metadata));
  for (const cJSON *item = metadata->child->next; item != NULL; item = item->next) {
    REFUSE_IF(!cJSON_IsString(item), from->ctx, OATGP_FORMAT, "'%s' is damaged: metadata '%.100s' is not a string",
              from->path, item->string);
    PASS_ON(oat_tensors_set(from->ctx, out, item->string, item->valuestring));
  }
  return OATGP_OK;
}

/* Up to `most` whole numbers below 2^53. */
static bool take_sizes(const cJSON *array, size_t most, size_t *count, size_t *sizes) {
  *count = (size_t)cJSON_GetArraySize(array);
  if (!cJSON_IsArray(array) || *count > most) {
    return false;
  }
  const cJSON *item = array->child;
  for (size_t i = 0; i < *count; i++, item = item->next) {
    const double value = item->valuedouble;
    if (!cJSON_IsNumber(item) || !(value >= 0 && value < 0x1p53) || value != (double)(size_t)value) {
      return false;
    }
    sizes[i] = (size_t)value;
  }
  return true;
}

/* Checks dtype and shape. It has three members, and the three are found by name, so there are no others. */
static oatgp_status take_shape(const source *from, const cJSON *item, oat_tensor *tensor) {
  const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(item, "dtype");
  const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape");
  if (cJSON_GetArraySize(item) != 3 || !cJSON_IsString(dtype) || shape == NULL) {
    return bad_tensor(from, item->string, "is not described by dtype, shape and data_offsets");
  }
  if (strcmp(dtype->valuestring, OAT_LAYOUT_DTYPE) != 0) {
    return bad_tensor(from, item->string, "has a dtype other than " OAT_LAYOUT_DTYPE);
  }
  if (!take_sizes(shape, OAT_TENSOR_RANK, &tensor->rank, tensor->shape)) {
    return bad_tensor(from, item->string, "has a shape that is not a list of at most 3 sizes");
  }
  return oat_tensor_measure(tensor) ? OATGP_OK : bad_tensor(from, item->string, "has a shape of 2^53 values or more");
}

/* Checks that the values of the tensor begin at *offset and take the bytes that the shape needs; moves *offset past
 * them. */
static oatgp_status check_place(const source *from, const cJSON *item, const oat_tensor *tensor, size_t *offset) {
  const size_t needed = tensor->size * sizeof(double);
  size_t place[2], count;
  const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
  if (!take_sizes(offsets, 2, &count, place) || count != 2) {
    return bad_tensor(from, item->string, "has data_offsets that are not two sizes");
  }
  REFUSE_IF(place[0] != *offset || place[1] != *offset + needed, from->ctx, OATGP_FORMAT,
            "'%s' is damaged: tensor '%.100s' has data_offsets %zu and %zu, but they should be %zu and %zu", from->path,
            item->string, place[0], place[1], *offset, *offset + needed);
  *offset = place[1];
  return OATGP_OK;
}

/* Before any memory is allocated, all tensors must be valid and together fill the file. */
static oatgp_status check_tensors(const source *from, const cJSON *root) {
  size_t bytes = 0;
  PASS_ON(check_names(from, root));
  for (const cJSON *item = root->child->next; item != NULL; item = item->next) {
    oat_tensor tensor = {0};
    PASS_ON(take_shape(from, item, &tensor));
    PASS_ON(check_place(from, item, &tensor, &bytes));
  }
  const size_t expected = OAT_LAYOUT_LENGTH_BYTES + from->length + bytes;
  REFUSE_IF(from->size > expected, from->ctx, OATGP_FORMAT, "'%s' is too long: header says %zu bytes, the file has %zu",
            from->path, expected, from->size);
  return from->size == expected ? OATGP_OK : cut_short(from, "header says", expected);
}

static oatgp_status read_values(source *from, size_t count, double *values) {
  unsigned char bytes[OAT_LAYOUT_BLOCK * sizeof(double)];
  for (size_t first = 0; first < count; first += OAT_LAYOUT_BLOCK) {
    const size_t part = count - first < OAT_LAYOUT_BLOCK ? count - first : OAT_LAYOUT_BLOCK;
    PASS_ON(read_bytes(from, bytes, part * sizeof(double)));
    from->hash = oat_hash(from->hash, bytes, part * sizeof(double));
    for (size_t i = 0; i < part; i++) {
      const uint64_t number = oat_layout_take(bytes + i * sizeof number);
      memcpy(&values[first + i], &number, sizeof number);
    }
  }
  return OATGP_OK;
}

static oatgp_status read_tensors(source *from, const cJSON *root, oat_tensors *out) {
  PASS_ON(check_tensors(from, root));
  for (const cJSON *item = root->child->next; item != NULL; item = item->next) {
    oat_tensor like = {0};
    double *values = NULL;
    PASS_ON(take_shape(from, item, &like));
    PASS_ON(oat_tensors_reserve(from->ctx, out, item->string, &like, &values));
    PASS_ON(read_values(from, like.size, values));
  }
  return OATGP_OK;
}

static oatgp_status check_checksum(const source *from) {
  char found[OAT_LAYOUT_DIGITS + 1];
  if (strspn(from->stored, "0123456789abcdef") != OAT_LAYOUT_DIGITS) {
    return damaged(from, "its checksum is not a number of 16 hexadecimal digits");
  }
  oat_layout_write_digits(from->hash, found);
  REFUSE_IF(strcmp(from->stored, found) != 0, from->ctx, OATGP_FORMAT, "'%s' was altered: checksum %s stored, %s found",
            from->path, from->stored, found);
  return OATGP_OK;
}

static oatgp_status read_source(source *from, oat_tensors *out) {
  cJSON *root = NULL;
  oatgp_status status = OATGP_OK;
  TRY(read_header(from));
  TRY(parse_header(from, &root));
  TRY(take_texts(from, root->child, out));
  TRY(read_tensors(from, root, out));
  TRY(check_checksum(from));
  TRY(oat_copy_text(from->ctx, from->path, &out->path));
done:
  if (status != OATGP_OK) {
    oat_tensors_clear(out);
  }
  cJSON_Delete(root);
  free(from->header);
  return status;
}

oatgp_status oat_tensors_read(oatgp_context *ctx, const char *path, oat_tensors *out) {
  source from = {.ctx = ctx, .path = path};
  *out = (oat_tensors){0};
  oatgp_status status = open_source(&from);
  if (status == OATGP_OK) {
    status = read_source(&from, out);
  }
  if (from.stream != NULL) {
    fclose(from.stream);
  }
  return status;
}

oatgp_status oat_tensors_unpack(oatgp_context *ctx, size_t size, const unsigned char *bytes, oat_tensors *out) {
  source from = {.ctx = ctx, .path = OAT_LAYOUT_MEMORY, .next = bytes, .size = size};
  *out = (oat_tensors){0};
  return read_source(&from, out);
}
