/* Writes a tensor file, to a path or into memory: one pass over all bytes for the checksum, and one to write them. */
#include <stdlib.h>
#include <string.h>

#include "tensors/tensors.h"
#include "tensors/layout.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"

static bool add_sizes(cJSON *object, const char *key, size_t count, const size_t *sizes) {
  cJSON *array = cJSON_AddArrayToObject(object, key);
  for (size_t i = 0; array != NULL && i < count; i++) {
    if (!cJSON_AddItemToArray(array, cJSON_CreateNumber((double)sizes[i]))) {
      return false;
    }
  }
  return array != NULL;
}

/* Every cJSON call fails on a NULL object, so the results may be looked at together. */
static bool fill_header(cJSON *root, const oat_tensors *tensors) {
  cJSON *metadata = cJSON_AddObjectToObject(root, OAT_LAYOUT_METADATA);
  bool good = cJSON_AddStringToObject(metadata, OAT_LAYOUT_CHECKSUM, OAT_LAYOUT_ZERO_DIGITS) != NULL;
  for (size_t i = 0; good && i < tensors->text_count; i++) {
    good = cJSON_AddStringToObject(metadata, tensors->text[i].key, tensors->text[i].value) != NULL;
  }
  size_t offset[2] = {0, 0};
  for (size_t i = 0; good && i < tensors->count; i++) {
    const oat_tensor *tensor = &tensors->tensor[i];
    cJSON *item = cJSON_AddObjectToObject(root, tensor->name);
    offset[1] = offset[0] + tensor->size * sizeof(double);
    good = cJSON_AddStringToObject(item, "dtype", OAT_LAYOUT_DTYPE) != NULL &&
           add_sizes(item, "shape", tensor->rank, tensor->shape) && add_sizes(item, "data_offsets", 2, offset);
    offset[0] = offset[1];
  }
  return good;
}

static oatgp_status refuse_twice(oatgp_context *ctx, const cJSON *object, const char *path) {
  const char *twice;
  PASS_ON(oat_layout_find_twice(ctx, object, &twice));
  REFUSE_IF(twice != NULL, ctx, OATGP_ARGUMENT, "cannot write '%s': the name '%s' is used twice or reserved", path,
            twice);
  return OATGP_OK;
}

/* The header, padded so that the values begin at a multiple of 8, with zeros for the checksum. */
static oatgp_status make_header(oatgp_context *ctx, const oat_tensors *tensors, const char *path, char **header) {
  oatgp_status status = OATGP_OK;
  char *text = NULL;
  cJSON *root = cJSON_CreateObject();
  if (!fill_header(root, tensors)) {
    TRY(oat_no_memory(ctx, sizeof *root));
  }
  TRY(refuse_twice(ctx, root, path));
  TRY(refuse_twice(ctx, root->child, path));
  text = cJSON_PrintUnformatted(root);
  if (text == NULL) {
    TRY(oat_no_memory(ctx, sizeof *root));
  }
  const size_t used = strlen(text), length = (used + 7) / 8 * 8;
  if (length > OAT_LAYOUT_LONGEST_BYTES) {
    TRY(oat_fail(ctx, OATGP_ARGUMENT, "cannot write '%s': its header would have %zu bytes, more than %d", path, length,
                 OAT_LAYOUT_LONGEST_BYTES));
  }
  TRY(oat_new(ctx, length + 1, 1, header));
  memset(*header, ' ', length);
  memcpy(*header, text, used);
done:
  cJSON_free(text);
  cJSON_Delete(root);
  return status;
}

/* The destination of the bytes of a file: a stream, which remembers its errors, or memory, or, with neither, a
 * checksum. */
typedef struct sink {
  FILE *stream;
  unsigned char *next;
  uint64_t hash;
} sink;

static void emit(sink *to, const void *bytes, size_t count) {
  if (to->stream != NULL) {
    fwrite(bytes, 1, count, to->stream);
  } else if (to->next != NULL) {
    memcpy(to->next, bytes, count);
    to->next += count;
  } else {
    to->hash = oat_hash(to->hash, bytes, count);
  }
}

static void emit_values(sink *to, size_t count, const double *values) {
  unsigned char bytes[OAT_LAYOUT_BLOCK * sizeof(double)];
  for (size_t first = 0; first < count; first += OAT_LAYOUT_BLOCK) {
    const size_t part = count - first < OAT_LAYOUT_BLOCK ? count - first : OAT_LAYOUT_BLOCK;
    for (size_t i = 0; i < part; i++) {
      uint64_t number;
      memcpy(&number, &values[first + i], sizeof number);
      oat_layout_put(number, bytes + i * sizeof number);
    }
    emit(to, bytes, part * sizeof(double));
  }
}

static void emit_file(sink *to, const char *header, const oat_tensors *tensors) {
  const size_t length = strlen(header);
  unsigned char bytes[OAT_LAYOUT_LENGTH_BYTES];
  oat_layout_put(length, bytes);
  emit(to, bytes, OAT_LAYOUT_LENGTH_BYTES);
  emit(to, header, length);
  for (size_t i = 0; i < tensors->count; i++) {
    emit_values(to, tensors->tensor[i].size, tensors->tensor[i].values);
  }
}

/* The header with the checksum of all. */
static oatgp_status make_signed_header(oatgp_context *ctx, const oat_tensors *tensors, const char *path,
                                       char **header) {
  char digits[OAT_LAYOUT_DIGITS + 1];
  sink to = {.hash = OAT_HASH_START};
  PASS_ON(make_header(ctx, tensors, path, header));
  emit_file(&to, *header, tensors);
  oat_layout_write_digits(to.hash, digits);
  memcpy(*header + OAT_LAYOUT_BEGINNING_BYTES, digits, OAT_LAYOUT_DIGITS);
  return OATGP_OK;
}

oatgp_status oat_tensors_write(oatgp_context *ctx, const oat_tensors *tensors, const char *path) {
  char *header = NULL;
  oat_file file = {0};
  oatgp_status status = OATGP_OK;
  TRY(make_signed_header(ctx, tensors, path, &header));
  TRY(oat_file_open(ctx, path, &file));
  emit_file(&(sink){.stream = file.stream}, header, tensors);
  status = oat_file_close(ctx, &file, OATGP_OK);
done:
  free(header);
  return status;
}

oatgp_status oat_tensors_pack(oatgp_context *ctx, const oat_tensors *tensors, oat_bytes *out) {
  char *header = NULL;
  oatgp_status status = OATGP_OK;
  TRY(make_signed_header(ctx, tensors, OAT_LAYOUT_MEMORY, &header));
  size_t size = OAT_LAYOUT_LENGTH_BYTES + strlen(header);
  for (size_t i = 0; i < tensors->count; i++) {
    size += tensors->tensor[i].size * sizeof(double);
  }
  TRY(oat_new(ctx, size, 1, &out->bytes));
  out->size = size;
  emit_file(&(sink){.next = out->bytes}, header, tensors);
done:
  free(header);
  return status;
}
