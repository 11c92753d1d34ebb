/* The tensor file: its contents are read back bit for bit, and any damage is refused with an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensors/tensors.h"
#include "util/hash.h"
#include "util/rng.h"

#define BEGINNING "{\"__metadata__\":{\"checksum\":\""
#define START BEGINNING "0000000000000000\""
#define NO_TEXTS START "}"
#define DIGITS_AT (8 + sizeof BEGINNING - 1)
#define DIGITS 16

typedef struct buffer {
  unsigned char *byte;
  size_t size;
} buffer;

typedef struct scratch {
  oatgp_context ctx;
  char folder[64], path[96];
} scratch;

/* ---- help ------------------------------------------------------------------------------------------------------ */

static int set_up(void **state) {
  scratch *s = calloc(1, sizeof *s);
  assert_non_null(s);
  snprintf(s->folder, sizeof s->folder, "/tmp/test_tensors.XXXXXX");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->path, sizeof s->path, "%s/m.oatgp", s->folder);
  *state = s;
  return 0;
}

static size_t count_files(const char *folder, bool remove_them) {
  DIR *list = opendir(folder);
  assert_non_null(list);
  size_t count = 0;
  for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
    char path[512];
    if (entry->d_name[0] != '.') {
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      count++;
      if (remove_them) {
        unlink(path);
      }
    }
  }
  closedir(list);
  return count;
}

static int tear_down(void **state) {
  scratch *s = *state;
  count_files(s->folder, true);
  assert_int_equal(rmdir(s->folder), 0);
  free(s);
  return 0;
}

static void put_file(const char *path, buffer content) {
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(content.byte, 1, content.size, stream), content.size);
  assert_int_equal(fclose(stream), 0);
}

static buffer get_file(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  buffer content = {malloc((size_t)info.st_size + 1), (size_t)info.st_size};
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  assert_int_equal(fread(content.byte, 1, content.size, stream), content.size);
  fclose(stream);
  return content;
}

/* Makes the checksum right again. */
static void seal(buffer content) {
  char digits[DIGITS + 1];
  memset(content.byte + DIGITS_AT, '0', DIGITS);
  snprintf(digits, sizeof digits, "%016llx", (unsigned long long)oat_hash(OAT_HASH_START, content.byte, content.size));
  memcpy(content.byte + DIGITS_AT, digits, DIGITS);
}

static void put_length(unsigned char *byte, size_t length) {
  for (int i = 0; i < 8; i++) {
    byte[i] = (unsigned char)(length >> (8 * i));
  }
}

/* Of a header shorter than 65536 bytes. */
static size_t take_length(const unsigned char *byte) { return byte[0] + (size_t)256 * byte[1]; }

/* A file with this header, so many bytes of data and a right checksum. */
static buffer make_file(const char *header, size_t data) {
  const size_t length = strlen(header);
  buffer content = {calloc(8 + length + data, 1), 8 + length + data};
  assert_non_null(content.byte);
  put_length(content.byte, length);
  memcpy(content.byte + 8, header, length);
  seal(content);
  return content;
}

static void expect_error(const scratch *s, const char *part) {
  if (strstr(s->ctx.error, part) == NULL) {
    fail_msg("expected '%s' in: %s", part, s->ctx.error);
  }
}

/* Reading this content must fail, naming the file and saying `part`, and leave nothing behind. */
static void expect_refused(scratch *s, buffer content, const char *part) {
  oat_tensors out;
  put_file(s->path, content);
  s->ctx.error[0] = '\0';
  const oatgp_status status = oat_tensors_read(&s->ctx, s->path, &out);
  if (status != OATGP_FORMAT) {
    fail_msg("expected '%s' but the status is %d", part, (int)status);
  }
  expect_error(s, s->path);
  expect_error(s, part);
  assert_null(out.tensor);
  assert_null(out.text);
  assert_null(out.path);
}

static double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A small set with everything in it that might go wrong. */
static oat_tensors make_example(scratch *s) {
  oat_tensors set = {0};
  const double odd[] = {from_bits(UINT64_C(0x7ff80000deadbeef)),
                        from_bits(UINT64_C(0xfff4000000000001)),
                        from_bits(UINT64_C(0x8000000000000000)),
                        0x1p-1074,
                        -0x1.fffffffffffffp-1023,
                        1.0 / 0.0,
                        -1.0 / 0.0,
                        0x1.fffffffffffffp+1023};
  const double matrix[] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(oat_tensors_set(&s->ctx, &set, "format", "oatgp"), OATGP_OK);
  assert_int_equal(oat_tensors_set(&s->ctx, &set, "format_version", "1"), OATGP_OK);
  assert_int_equal(oat_tensors_add(&s->ctx, &set, "odd", 8, 0, odd), OATGP_OK);
  assert_int_equal(oat_tensors_add(&s->ctx, &set, "matrix", 2, 3, matrix), OATGP_OK);
  assert_int_equal(oat_tensors_add(&s->ctx, &set, "none", 0, 0, NULL), OATGP_OK);
  return set;
}

static buffer make_example_file(scratch *s) {
  oat_tensors set = make_example(s);
  assert_int_equal(oat_tensors_write(&s->ctx, &set, s->path), OATGP_OK);
  oat_tensors_clear(&set);
  return get_file(s->path);
}

static void assert_same(const oat_tensors *a, const oat_tensors *b) {
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; i++) {
    const oat_tensor *left = &a->tensor[i], *right = &b->tensor[i];
    assert_string_equal(left->name, right->name);
    assert_int_equal(left->rank, right->rank);
    assert_memory_equal(left->shape, right->shape, sizeof left->shape);
    assert_int_equal(left->size, right->size);
    assert_true(left->size == 0 || memcmp(left->values, right->values, left->size * sizeof(double)) == 0);
  }
  assert_int_equal(a->text_count, b->text_count);
  for (size_t i = 0; i < a->text_count; i++) {
    assert_string_equal(a->text[i].key, b->text[i].key);
    assert_string_equal(a->text[i].value, b->text[i].value);
  }
}

/* Writes the set, reads it again, compares, and clears both. */
static void check_round_trip(scratch *s, oat_tensors *set) {
  oat_tensors out;
  if (oat_tensors_write(&s->ctx, set, s->path) != OATGP_OK || oat_tensors_read(&s->ctx, s->path, &out) != OATGP_OK) {
    fail_msg("%s", s->ctx.error);
  }
  assert_same(set, &out);
  assert_string_equal(out.path, s->path);
  assert_int_equal(count_files(s->folder, false), 1);
  oat_tensors_clear(set);
  oat_tensors_clear(&out);
}

/* ---- what goes in comes out ------------------------------------------------------------------------------------ */

static void test_round_trip(void **state) {
  scratch *s = *state;
  oat_tensors set = make_example(s);
  check_round_trip(s, &set);
}

static void test_empty_set(void **state) {
  oat_tensors set = {0};
  check_round_trip(*state, &set);
}

static void test_all_ranks(void **state) {
  scratch *s = *state;
  oat_tensors set = {0};
  const oat_tensor like[] = {{.rank = 0},
                             {.rank = 1, .shape = {3}},
                             {.rank = 2, .shape = {2, 5}},
                             {.rank = 3, .shape = {2, 3, 4}},
                             {.rank = 3, .shape = {7, 0, 4}}};
  const char *const name[] = {"scalar", "vector", "matrix", "cube", "nothing"};
  for (size_t i = 0; i < 5; i++) {
    double *values;
    assert_int_equal(oat_tensors_reserve(&s->ctx, &set, name[i], &like[i], &values), OATGP_OK);
    for (size_t k = 0; k < set.tensor[i].size; k++) {
      values[k] = (double)(100 * i + k);
    }
  }
  assert_int_equal(oat_tensors_find(&set, "scalar")->size, 1);
  assert_int_equal(oat_tensors_find(&set, "cube")->size, 24);
  assert_int_equal(oat_tensors_find(&set, "nothing")->size, 0);
  check_round_trip(s, &set);
}

/* Sizes around the number of values that are converted at a time. */
static void test_long_tensors(void **state) {
  scratch *s = *state;
  const size_t size[] = {1, 511, 512, 513, 1024, 100000};
  double *values = malloc(100000 * sizeof *values);
  oat_rng rng;
  oat_rng_seed(&rng, 1);
  for (size_t i = 0; i < 100000; i++) {
    values[i] = from_bits(oat_rng_next(&rng));
  }
  oat_tensors set = {0};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
    char name[32];
    snprintf(name, sizeof name, "t%zu", i);
    assert_int_equal(oat_tensors_add(&s->ctx, &set, name, size[i], 0, values), OATGP_OK);
  }
  free(values);
  check_round_trip(s, &set);
}

static void test_odd_texts(void **state) {
  scratch *s = *state;
  oat_tensors set = {0};
  const char *const text[] = {"",
                              "\"quoted\" \\ back",
                              "line\nline\ttab\r\001\037\177",
                              "30 \xc2\xb0, Gr\xc3\xb6sse",
                              "\xe9 alone",
                              "{\"checksum\":\"ffffffffffffffff\"",
                              "\"}}"};
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
    assert_int_equal(oat_tensors_set(&s->ctx, &set, text[i], text[i]), OATGP_OK);
    assert_int_equal(oat_tensors_add(&s->ctx, &set, text[i], 0, 0, NULL), OATGP_OK);
  }
  check_round_trip(s, &set);
}

/* Written out by hand from the description of the format. */
static void test_layout(void **state) {
  scratch *s = *state;
  oat_tensors set = {0};
  const double values[] = {1, -2};
  assert_int_equal(oat_tensors_set(&s->ctx, &set, "k", "v12"), OATGP_OK);
  assert_int_equal(oat_tensors_add(&s->ctx, &set, "a", 2, 1, values), OATGP_OK);
  assert_int_equal(oat_tensors_write(&s->ctx, &set, s->path), OATGP_OK);
  buffer content = get_file(s->path);
  const char *header = START ",\"k\":\"v12\"},\"a\":{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[0,16]}}      ";
  assert_int_equal(strlen(header) % 8, 0);
  buffer expected = make_file(header, 16);
  const unsigned char data[] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0};
  memcpy(expected.byte + expected.size - 16, data, 16);
  seal(expected);
  assert_int_equal(content.size, expected.size);
  assert_memory_equal(content.byte, expected.byte, expected.size);
  free(content.byte);
  free(expected.byte);
  oat_tensors_clear(&set);
}

/* ---- looking up ------------------------------------------------------------------------------------------------ */

static void test_lookup(void **state) {
  scratch *s = *state;
  oat_tensors set = make_example(s);
  const double *values = NULL;
  assert_string_equal(oat_tensors_text(&set, "format"), "oatgp");
  assert_null(oat_tensors_text(&set, "Format"));
  assert_null(oat_tensors_find(&set, "matri"));
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "matrix", 2, 3, &values), OATGP_OK);
  assert_true(values[5] == 6);
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "odd", 8, 0, &values), OATGP_OK);
  assert_true(values[3] == 0x1p-1074);
  assert_int_equal(oat_tensors_set(&s->ctx, &set, "absent", NULL), OATGP_OK);
  assert_null(oat_tensors_text(&set, "absent"));
  oat_tensors_clear(&set);
  oat_tensors_clear(&set);
}

static void test_lookup_refusals(void **state) {
  scratch *s = *state;
  oat_tensors set;
  const double *values = NULL;
  buffer content = make_example_file(s);
  free(content.byte);
  assert_int_equal(oat_tensors_read(&s->ctx, s->path, &set), OATGP_OK);
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "knots", 2, 3, &values), OATGP_FORMAT);
  expect_error(s, "m.oatgp' has no tensor 'knots'");
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "matrix", 3, 2, &values), OATGP_FORMAT);
  expect_error(s, "m.oatgp' has tensor 'matrix' with shape [2, 3] where [3, 2] is expected");
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "matrix", 6, 0, &values), OATGP_FORMAT);
  expect_error(s, "shape [2, 3] where [6] is expected");
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "matrix", 2, 0, &values), OATGP_FORMAT);
  expect_error(s, "shape [2, 3] where [2] is expected");
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "odd", 8, 1, &values), OATGP_FORMAT);
  expect_error(s, "shape [8] where [8, 1] is expected");
  assert_null(values);
  free(set.path);
  set.path = NULL;
  assert_int_equal(oat_tensors_get(&s->ctx, &set, "knots", 2, 3, &values), OATGP_FORMAT);
  expect_error(s, "'(in memory)' has no tensor 'knots'");
  oat_tensors_clear(&set);
}

/* ---- refusals in writing --------------------------------------------------------------------------------------- */

static void expect_not_written(scratch *s, oat_tensors *set, oatgp_status status, const char *part) {
  assert_int_equal(oat_tensors_write(&s->ctx, set, s->path), status);
  expect_error(s, part);
  assert_int_equal(count_files(s->folder, false), 0);
  oat_tensors_clear(set);
}

static void test_names_twice(void **state) {
  scratch *s = *state;
  const char *const name[] = {"matrix", "__metadata__"}, *const key[] = {"format", "checksum"};
  for (int i = 0; i < 2; i++) {
    char part[64];
    oat_tensors set = make_example(s);
    assert_int_equal(oat_tensors_add(&s->ctx, &set, name[i], 0, 0, NULL), OATGP_OK);
    snprintf(part, sizeof part, "the name '%s' is used twice or reserved", name[i]);
    expect_not_written(s, &set, OATGP_ARGUMENT, part);
    set = make_example(s);
    assert_int_equal(oat_tensors_set(&s->ctx, &set, key[i], "x"), OATGP_OK);
    snprintf(part, sizeof part, "the name '%s' is used twice or reserved", key[i]);
    expect_not_written(s, &set, OATGP_ARGUMENT, part);
  }
}

static void test_too_large_to_add(void **state) {
  scratch *s = *state;
  oat_tensors set = {0};
  double *values = NULL;
  const oat_tensor like[] = {{.rank = 1, .shape = {(size_t)1 << 53}},
                             {.rank = 2, .shape = {(size_t)1 << 32, (size_t)1 << 32}},
                             {.rank = 3, .shape = {(size_t)1 << 52, 2, 1}}};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(oat_tensors_reserve(&s->ctx, &set, "big", &like[i], &values), OATGP_ARGUMENT);
    expect_error(s, "tensor 'big' is too large");
  }
  assert_int_equal(set.count, 0);
  oat_tensors_clear(&set);
}

static void test_header_too_long(void **state) {
  scratch *s = *state;
  oat_tensors set = {0};
  const size_t length = 100000000;
  char *text = malloc(length + 1);
  assert_non_null(text);
  memset(text, 'x', length);
  text[length] = '\0';
  assert_int_equal(oat_tensors_set(&s->ctx, &set, "k", text), OATGP_OK);
  free(text);
  expect_not_written(s, &set, OATGP_ARGUMENT, "bytes, more than 100000000");
}

static void test_full_disk(void **state) {
  scratch *s = *state;
  const double values[4096] = {0};
  oat_tensors set = make_example(s);
  if (access("/dev/full", W_OK) != 0) {
    oat_tensors_clear(&set);
    skip();
  }
  for (int i = 0; i < 2; i++) { /* found when the file is closed, and found in between */
    assert_int_equal(oat_tensors_write(&s->ctx, &set, "/dev/full"), OATGP_WRITE);
    expect_error(s, "cannot write '/dev/full': ");
    expect_error(s, strerror(ENOSPC));
    assert_int_equal(oat_tensors_add(&s->ctx, &set, "more", 64, 64, values), OATGP_OK);
  }
  oat_tensors_clear(&set);
}

static void test_no_folder(void **state) {
  scratch *s = *state;
  oat_tensors set = make_example(s);
  strcat(s->path, "/x");
  assert_int_equal(oat_tensors_write(&s->ctx, &set, s->path), OATGP_WRITE);
  expect_error(s, strerror(ENOENT));
  oat_tensors_clear(&set);
}

/* A limit on the size of files stands for a disk that fills up halfway. */
static void test_old_file_kept(void **state) {
  scratch *s = *state;
  const double values[4096] = {0};
  struct rlimit old, small;
  buffer before = make_example_file(s);
  oat_tensors set = make_example(s);
  assert_int_equal(oat_tensors_add(&s->ctx, &set, "more", 64, 64, values), OATGP_OK);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 1000;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  const oatgp_status status = oat_tensors_write(&s->ctx, &set, s->path);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, OATGP_WRITE);
  expect_error(s, strerror(EFBIG));
  assert_int_equal(count_files(s->folder, false), 1);
  buffer after = get_file(s->path);
  assert_int_equal(before.size, after.size);
  assert_memory_equal(before.byte, after.byte, before.size);
  assert_int_equal(oat_tensors_write(&s->ctx, &set, s->path), OATGP_OK);
  free(before.byte);
  free(after.byte);
  oat_tensors_clear(&set);
}

/* ---- refusals in reading --------------------------------------------------------------------------------------- */

static void test_cannot_read(void **state) {
  scratch *s = *state;
  oat_tensors out;
  assert_int_equal(oat_tensors_read(&s->ctx, s->path, &out), OATGP_READ);
  expect_error(s, s->path);
  expect_error(s, strerror(ENOENT));
  assert_int_equal(oat_tensors_read(&s->ctx, s->folder, &out), OATGP_READ);
  expect_error(s, "not a regular file");
  assert_null(out.tensor);
}

static int lowest_free_descriptor(void) {
  const int descriptor = dup(0);
  close(descriptor);
  return descriptor;
}

static void test_files_are_closed(void **state) {
  scratch *s = *state;
  oat_tensors out;
  const int before = lowest_free_descriptor();
  buffer content = make_example_file(s);
  assert_int_equal(oat_tensors_read(&s->ctx, s->path, &out), OATGP_OK);
  oat_tensors_clear(&out);
  content.byte[0]++;
  expect_refused(s, content, "is damaged");
  assert_int_equal(oat_tensors_read(&s->ctx, s->folder, &out), OATGP_READ);
  assert_int_equal(lowest_free_descriptor(), before);
  free(content.byte);
}

/* Files of this kind claim a size of 4096 and hold a few bytes. */
static void test_ends_before_its_size(void **state) {
  scratch *s = *state;
  oat_tensors out;
  const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
  struct stat info;
  if (stat(path, &info) != 0 || access(path, R_OK) != 0 || info.st_size < 100) {
    skip();
  }
  const oatgp_status status = oat_tensors_read(&s->ctx, path, &out);
  if (status == OATGP_FORMAT) { /* long enough to be told apart by its contents */
    expect_error(s, "is not an oatgp model file");
  } else {
    assert_int_equal(status, OATGP_READ);
    expect_error(s, "it ended before its size");
  }
}

static void test_not_a_model(void **state) {
  scratch *s = *state;
  unsigned char other[256] = "x1,x2,y\n1,2,3\n";
  expect_refused(s, (buffer){other, 14}, "is not an oatgp model file");
  expect_refused(s, (buffer){other, 256}, "is not an oatgp model file");
  expect_refused(s, (buffer){other, 5}, "is not an oatgp model file");
  memset(other, 0, sizeof other);
  expect_refused(s, (buffer){other, 256}, "is not an oatgp model file");
  memcpy(other, "\x93NUMPY\1\0v\0{'descr'", 19);
  expect_refused(s, (buffer){other, 256}, "is not an oatgp model file");
  buffer foreign = make_file("{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}          ", 8);
  memcpy(foreign.byte + DIGITS_AT, "[1],\"data_offset", DIGITS);
  expect_refused(s, foreign, "is not an oatgp model file");
  free(foreign.byte);
}

static void test_header_length(void **state) {
  scratch *s = *state;
  buffer content = make_file(NO_TEXTS "}", 1000);
  content.byte[0] = 47; /* one less than the shortest header */
  expect_refused(s, content, "is not an oatgp model file");
  content.byte[0] = 0xff;
  content.byte[1] = 0xff;
  expect_refused(s, content, "is cut short: length and header take 65543 bytes, the file has 1056");
  memcpy(content.byte, "\x01\xe1\xf5\x05\0\0\0\0", 8); /* 100000001 */
  expect_refused(s, content, "is not an oatgp model file");
  memcpy(content.byte, "\x00\xe1\xf5\x05\0\0\0\0", 8); /* 100000000 */
  expect_refused(s, content, "is cut short: length and header take 100000008 bytes");
  memset(content.byte, 0xff, 8);
  expect_refused(s, content, "is not an oatgp model file");
  free(content.byte);
}

#define TENSOR(description) NO_TEXTS ",\"t\":" description "}"
#define OFFSETS(offsets) TENSOR("{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":" offsets "}")
#define SHAPE(shape) TENSOR("{\"dtype\":\"F64\",\"shape\":" shape ",\"data_offsets\":[0,16]}")
#define SECOND(offsets)                                                                                            \
  NO_TEXTS                                                                                                         \
  ",\"t\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},\"u\":{\"dtype\":\"F64\",\"shape\":[1],\"data_" \
  "offsets\":" offsets "}}"
#define NOT_DESCRIBED "tensor 't' is not described by dtype, shape and data_offsets"
#define NO_SHAPE "tensor 't' has a shape that is not a list of at most 3 sizes"
#define NO_OFFSETS "tensor 't' has data_offsets that are not two sizes"

/* Each with 16 bytes of data and a right checksum. The first ones differ from the good one, last, in one thing. */
static const struct {
  const char *header, *part;
} bad_header[] = {
    {NO_TEXTS " ", "its header is not valid JSON"},
    {NO_TEXTS "}}", "its header is not valid JSON"},
    {NO_TEXTS "} x", "its header is not valid JSON"},
    {NO_TEXTS ",", "its header is not valid JSON"},
    {NO_TEXTS ",}", "its header is not valid JSON"},
    {NO_TEXTS ",\"t\":", "its header is not valid JSON"},
    {NO_TEXTS "}\n", "its header is not valid JSON"},
    {START ",\"k\":\"a\tb\"}}", "its header is not valid JSON"},
    {START ",\"k\":1}}", "metadata 'k' is not a string"},
    {START ",\"k\":null}}", "metadata 'k' is not a string"},
    {START ",\"k\":{\"a\":\"b\"}}}", "metadata 'k' is not a string"},
    {START ",\"k\":\"a\",\"k\":\"a\"}}", "'k' is in its header twice"},
    {START ",\"checksum\":\"0000000000000000\"}}", "'checksum' is in its header twice"},
    {NO_TEXTS ",\"__metadata__\":{}}", "'__metadata__' is in its header twice"},
    {SECOND("[8,16]},\"t\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[16,16]"), "'t' is in its header twice"},
    {TENSOR("[]"), NOT_DESCRIBED},
    {TENSOR("\"F64\""), NOT_DESCRIBED},
    {TENSOR("{}"), NOT_DESCRIBED},
    {TENSOR("[\"F64\",[2],[0,16]]"), NOT_DESCRIBED},
    {TENSOR("{\"dtype\":\"F64\",\"shape\":[2]}"), NOT_DESCRIBED},
    {TENSOR("{\"dtype\":\"F64\",\"data_offsets\":[0,16],\"data_offsets\":[0,16]}"), NOT_DESCRIBED},
    {TENSOR("{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16],\"more\":1}"), NOT_DESCRIBED},
    {TENSOR("{\"dtype\":64,\"shape\":[2],\"data_offsets\":[0,16]}"), NOT_DESCRIBED},
    {TENSOR("{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}"), "tensor 't' has a dtype other than F64"},
    {TENSOR("{\"dtype\":\"f64\",\"shape\":[2],\"data_offsets\":[0,16]}"), "tensor 't' has a dtype other than F64"},
    {TENSOR("{\"dtype\":\"F64\",\"shape\":[2],\"offsets\":[0,16]}"), NO_OFFSETS},
    {SHAPE("2"), NO_SHAPE},
    {SHAPE("\"2\""), NO_SHAPE},
    {SHAPE("{\"a\":2}"), NO_SHAPE},
    {SHAPE("[1,1,1,2]"), NO_SHAPE},
    {SHAPE("[-2]"), NO_SHAPE},
    {SHAPE("[2.5]"), NO_SHAPE},
    {SHAPE("[\"2\"]"), NO_SHAPE},
    {SHAPE("[null]"), NO_SHAPE},
    {SHAPE("[[2]]"), NO_SHAPE},
    {SHAPE("[1e999]"), NO_SHAPE},
    {SHAPE("[9007199254740992]"), NO_SHAPE},
    {SHAPE("[18446744073709551618]"), NO_SHAPE},
    {SHAPE("[4294967296,4294967296]"), "tensor 't' has a shape of 2^53 values or more"},
    {SHAPE("[4294967296,4294967296,2]"), "tensor 't' has a shape of 2^53 values or more"},
    {SHAPE("[3]"), "tensor 't' has data_offsets 0 and 16, but they should be 0 and 24"},
    {SHAPE("[]"), "tensor 't' has data_offsets 0 and 16, but they should be 0 and 8"},
    {SHAPE("[0]"), "tensor 't' has data_offsets 0 and 16, but they should be 0 and 0"},
    {OFFSETS("16"), NO_OFFSETS},
    {OFFSETS("[]"), NO_OFFSETS},
    {OFFSETS("[16]"), NO_OFFSETS},
    {OFFSETS("[0,8,16]"), NO_OFFSETS},
    {OFFSETS("[0,16.5]"), NO_OFFSETS},
    {OFFSETS("[-16,0]"), NO_OFFSETS},
    {OFFSETS("[0,\"16\"]"), NO_OFFSETS},
    {OFFSETS("[0,9007199254740992]"), NO_OFFSETS},
    {OFFSETS("[16,0]"), "tensor 't' has data_offsets 16 and 0, but they should be 0 and 16"},
    {OFFSETS("[8,24]"), "tensor 't' has data_offsets 8 and 24, but they should be 0 and 16"},
    {OFFSETS("[8,16]"), "tensor 't' has data_offsets 8 and 16, but they should be 0 and 16"},
    {OFFSETS("[0,8]"), "tensor 't' has data_offsets 0 and 8, but they should be 0 and 16"},
    {SECOND("[0,8]"), "tensor 'u' has data_offsets 0 and 8, but they should be 8 and 16"},
    {SECOND("[16,24]"), "tensor 'u' has data_offsets 16 and 24, but they should be 8 and 16"},
    {TENSOR("{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[0,24]}"),
     "is cut short: header says 134 bytes, the file has 126"},
    {TENSOR("{\"dtype\":\"F64\",\"shape\":[9007199254740],\"data_offsets\":[0,72057594037920]}"),
     "is cut short: header says 72057594038054 bytes"},
    {TENSOR("{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}"),
     "is too long: header says 117 bytes, the file has 125"},
    {NO_TEXTS "}", "is too long: header says 56 bytes, the file has 72"},
    {SECOND("[8,16]"), NULL},
};

static void test_bad_headers(void **state) {
  scratch *s = *state;
  for (size_t i = 0; i < sizeof bad_header / sizeof *bad_header; i++) {
    buffer content = make_file(bad_header[i].header, 16);
    if (bad_header[i].part != NULL) {
      expect_refused(s, content, bad_header[i].part);
    } else {
      oat_tensors out;
      put_file(s->path, content);
      assert_int_equal(oat_tensors_read(&s->ctx, s->path, &out), OATGP_OK);
      assert_int_equal(out.count, 2);
      oat_tensors_clear(&out);
    }
    free(content.byte);
  }
}

/* Deep nesting must not run the stack over; a NUL must not end the header early. */
static void test_hostile_headers(void **state) {
  scratch *s = *state;
  char header[20000] = NO_TEXTS ",\"t\":";
  memset(header + strlen(header), '[', 19000);
  buffer content = make_file(header, 16);
  expect_refused(s, content, "its header is not valid JSON");
  free(content.byte);
  content = make_file(NO_TEXTS "}  ", 0);
  content.byte[content.size - 1] = '\0';
  seal(content);
  expect_refused(s, content, "its header is not valid JSON");
  free(content.byte);
}

static void test_cut_at_every_length(void **state) {
  scratch *s = *state;
  buffer content = make_example_file(s);
  for (size_t size = 0; size < content.size; size++) {
    expect_refused(s, (buffer){content.byte, size}, "is cut short: ");
  }
  free(content.byte);
}

static void test_longer_by_one(void **state) {
  scratch *s = *state;
  buffer content = make_example_file(s);
  content.byte[content.size++] = 0;
  expect_refused(s, content, "is too long: ");
  free(content.byte);
}

static void test_every_byte_altered(void **state) {
  scratch *s = *state;
  const unsigned char change[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
  buffer content = make_example_file(s);
  for (size_t at = 0; at < content.size; at++) {
    for (size_t i = 0; i < sizeof change; i++) {
      content.byte[at] ^= change[i];
      expect_refused(s, content, "'");
      content.byte[at] ^= change[i];
    }
  }
  free(content.byte);
}

static void test_checksum(void **state) {
  scratch *s = *state;
  buffer content = make_file(NO_TEXTS "}", 0);
  oat_tensors out;
  put_file(s->path, content);
  assert_int_equal(oat_tensors_read(&s->ctx, s->path, &out), OATGP_OK);
  oat_tensors_clear(&out);
  char right[DIGITS + 1] = "", part[96];
  memcpy(right, content.byte + DIGITS_AT, DIGITS);
  memcpy(content.byte + DIGITS_AT, "0123456789abcdef", DIGITS);
  snprintf(part, sizeof part, "was altered: checksum 0123456789abcdef stored, %s found", right);
  expect_refused(s, content, part);
  memcpy(content.byte + DIGITS_AT, "0123456789ABCDEF", DIGITS);
  expect_refused(s, content, "its checksum is not a number of 16 hexadecimal digits");
  memcpy(content.byte + DIGITS_AT, "012345\"789abcdef", DIGITS);
  expect_refused(s, content, "its checksum is not a number of 16 hexadecimal digits");
  free(content.byte);
}

/* ---- random damage --------------------------------------------------------------------------------------------- */

/* Overwrites, inserts, removes or repeats a few bytes. `content` has room for 64 more. */
static void damage(oat_rng *rng, buffer *content) {
  static const char likely[] = "{}[]\",:0123456789eE.-\\u";
  const size_t at = oat_rng_below(rng, content->size), few = 1 + oat_rng_below(rng, 8);
  unsigned char *byte = content->byte;
  switch (oat_rng_below(rng, 5)) {
    case 0:
      byte[at] = (unsigned char)oat_rng_next(rng);
      break;
    case 1:
      byte[at] = (unsigned char)likely[oat_rng_below(rng, sizeof likely - 1)];
      break;
    case 2:
      memmove(byte + at + few, byte + at, content->size - at);
      content->size += few;
      break;
    case 3:
      if (content->size - at > few) {
        memmove(byte + at, byte + at + few, content->size - at - few);
        content->size -= few;
      }
      break;
    default:
      memmove(byte + at, byte + oat_rng_below(rng, content->size - few),
              content->size - at < few ? content->size - at : few);
  }
}

/* Reading it is either refused in a sentence, or gives a set that can be written and read again. */
static void check_damaged(scratch *s, bool must_fail) {
  oat_tensors out;
  s->ctx.error[0] = '\0';
  const oatgp_status status = oat_tensors_read(&s->ctx, s->path, &out);
  if (status == OATGP_OK) {
    assert_false(must_fail);
    check_round_trip(s, &out);
  } else {
    assert_int_equal(status, OATGP_FORMAT);
    expect_error(s, s->path);
    assert_null(out.tensor);
  }
}

static void test_random_damage(void **state) {
  scratch *s = *state;
  oat_rng rng;
  oat_rng_seed(&rng, 42);
  buffer content = make_example_file(s);
  for (int i = 0; i < 6000; i++) {
    const bool sealed = i % 2 == 0; /* else the checksum would hide all that comes before it */
    buffer copy = {calloc(content.size + 64, 1), content.size};
    memcpy(copy.byte, content.byte, content.size);
    for (size_t times = 1 + oat_rng_below(&rng, 6); times > 0; times--) {
      damage(&rng, &copy);
    }
    const bool same = copy.size == content.size && memcmp(copy.byte, content.byte, copy.size) == 0;
    if (sealed) {
      put_length(copy.byte, take_length(content.byte) + copy.size - content.size);
      seal(copy);
    }
    put_file(s->path, copy);
    check_damaged(s, !sealed && !same);
    free(copy.byte);
  }
  free(content.byte);
}

/* ---- no memory for JSON ---------------------------------------------------------------------------------------- */

static long allocations_left;

static void *scarce_malloc(size_t size) {
  if (allocations_left-- <= 0) {
    errno = ENOMEM;
    return NULL;
  }
  return malloc(size);
}

/* The n-th allocation of cJSON fails, for all n. Returns how many there are. */
static long fail_each(scratch *s, const oat_tensors *set, bool reading) {
  cJSON_Hooks scarce = {scarce_malloc, free};
  oatgp_status status = OATGP_MEMORY;
  long n = 0;
  for (; status == OATGP_MEMORY; n++) {
    oat_tensors out = {0};
    s->ctx.error[0] = '\0';
    allocations_left = n;
    cJSON_InitHooks(&scarce);
    status = reading ? oat_tensors_read(&s->ctx, s->path, &out) : oat_tensors_write(&s->ctx, set, s->path);
    cJSON_InitHooks(NULL);
    if (status != OATGP_OK) {
      assert_int_equal(status, OATGP_MEMORY);
      expect_error(s, "out of memory");
      assert_int_equal(count_files(s->folder, false), reading ? 1 : 0);
    }
    oat_tensors_clear(&out);
  }
  return n;
}

static void test_no_memory_for_json(void **state) {
  scratch *s = *state;
  oat_tensors set = make_example(s);
  assert_true(fail_each(s, &set, false) > 20);
  assert_true(fail_each(s, &set, true) > 20);
  oat_tensors_clear(&set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_round_trip),
      TEST(test_empty_set),
      TEST(test_all_ranks),
      TEST(test_long_tensors),
      TEST(test_odd_texts),
      TEST(test_layout),
      TEST(test_lookup),
      TEST(test_lookup_refusals),
      TEST(test_names_twice),
      TEST(test_too_large_to_add),
      TEST(test_header_too_long),
      TEST(test_full_disk),
      TEST(test_no_folder),
      TEST(test_old_file_kept),
      TEST(test_cannot_read),
      TEST(test_files_are_closed),
      TEST(test_ends_before_its_size),
      TEST(test_not_a_model),
      TEST(test_header_length),
      TEST(test_bad_headers),
      TEST(test_hostile_headers),
      TEST(test_cut_at_every_length),
      TEST(test_longer_by_one),
      TEST(test_every_byte_altered),
      TEST(test_checksum),
      TEST(test_random_damage),
      TEST(test_no_memory_for_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
