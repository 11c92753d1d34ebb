/* Helpers of the tests of reading and writing: a fresh folder, files in it, the notes that were said. */
#ifndef TEST_DATA_FILES_H
#define TEST_DATA_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "data/data.h"
#include "util/rng.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

typedef struct scratch {
  oatgp_context *ctx;
  oatgp_settings settings;
  char folder[64], path[128]; /* path: the one file in the folder */
  char said[4096];            /* notes and warnings, each on a line */
} scratch;

static inline void keep_message(void *user, oatgp_level level, const char *sentence) {
  scratch *s = user;
  const size_t used = strlen(s->said);
  snprintf(s->said + used, sizeof s->said - used, "%s %s\n", level == OATGP_NOTE ? "note" : "warning", sentence);
}

static inline int set_up(void **state) {
  scratch *s = calloc(1, sizeof *s);
  if (s == NULL) {
    return -1;
  }
  const char *base = getenv("TMPDIR");
  snprintf(s->folder, sizeof s->folder, "%s/test_data.XXXXXX", base != NULL && strlen(base) < 40 ? base : "/tmp");
  if (mkdtemp(s->folder) == NULL) {
    free(s);
    return -1;
  }
  snprintf(s->path, sizeof s->path, "%s/file", s->folder);
  s->ctx = oatgp_context_create();
  oatgp_context_set_message(s->ctx, keep_message, s);
  oatgp_settings_default(&s->settings);
  s->settings.prior = "none"; /* objectives are log evidences; test_priors.c has the others */
  if (getenv("OATGP_TEST_VALGRIND") != NULL) {
    s->settings.select = "simultaneous"; /* valgrind sees the slower automatic selection in test_auto.c alone */
  }
  *state = s;
  return 0;
}

/* The folder must contain only the one file: nothing may be left behind. */
static inline int tear_down(void **state) {
  scratch *s = *state;
  unlink(s->path);
  const int result = rmdir(s->folder);
  oatgp_context_free(s->ctx);
  free(s);
  return result;
}

/* A new file each time: to cut an old one short makes some file systems wait for the disk. */
static inline void write_bytes(const scratch *s, const void *bytes, size_t size) {
  unlink(s->path);
  FILE *file = fopen(s->path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static inline void write_text(const scratch *s, const char *text) { write_bytes(s, text, strlen(text)); }

static inline void write_gzip(const scratch *s, const void *bytes, size_t size) {
  gzFile file = gzopen(s->path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
  assert_int_equal(gzclose(file), Z_OK);
}

/* The whole file; the caller frees it. A 0 follows. */
static inline char *read_bytes_back(const scratch *s, size_t *size) {
  FILE *file = fopen(s->path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = calloc(*size + 1, 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

/* Reads the file with the settings of the scratch; failure fails the test. */
static inline oatgp_data *must_read(scratch *s) {
  oatgp_data *data = NULL;
  s->said[0] = '\0';
  const oatgp_status status = oatgp_data_read(s->ctx, s->path, &s->settings, &data);
  if (status != OATGP_OK) {
    fail_msg("status %d: %s", (int)status, oatgp_last_error(s->ctx));
  }
  assert_non_null(data);
  return data;
}

static inline void expect_sentence(const scratch *s, oatgp_status expected, oatgp_status status, const char *piece) {
  if (status != expected || strstr(oatgp_last_error(s->ctx), piece) == NULL) {
    fail_msg("expected status %d with '%s', got %d: %s", (int)expected, piece, (int)status, oatgp_last_error(s->ctx));
  }
}

/* Reading must fail in this way and leave `out` alone. */
static inline void must_refuse(scratch *s, oatgp_status expected, const char *piece) {
  oatgp_data *const before = (oatgp_data *)s;
  oatgp_data *data = before;
  const oatgp_status status = oatgp_data_read(s->ctx, s->path, &s->settings, &data);
  expect_sentence(s, expected, status, piece);
  assert_ptr_equal(data, before);
}

/* Compares with row-major values. */
static inline void expect_inputs(const oatgp_data *data, size_t n, size_t d, const double *x) {
  assert_int_equal(data->n, n);
  assert_int_equal(data->d, d);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < d; j++) {
      if (!(data->x[i + j * n] == x[i * d + j])) {
        fail_msg("input %zu of row %zu is %.17g, not %.17g", j + 1, i + 1, data->x[i + j * n], x[i * d + j]);
      }
    }
  }
}

static inline void expect_column(const double *values, size_t n, const double *expected) {
  for (size_t i = 0; i < n; i++) {
    if (!(values[i] == expected[i])) {
      fail_msg("value %zu is %.17g, not %.17g", i + 1, values[i], expected[i]);
    }
  }
}

/* The names of the inputs with commas between them. */
static inline void expect_names(const oatgp_data *data, const char *expected) {
  char names[512] = "";
  for (size_t j = 0; j < oatgp_data_inputs(data); j++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", j > 0 ? "," : "", oatgp_data_input_name(data, j));
  }
  assert_string_equal(names, expected);
}

/* Changes a few bytes: random bytes, bytes with a meaning to the reader, cuts, copies. Room for 2 * size + 64. */
static inline size_t mutate(oat_rng *rng, const char *meaning, char *bytes, size_t size) {
  const size_t edits = 1 + oat_rng_below(rng, 4), letters = strlen(meaning);
  for (size_t e = 0; e < edits && size > 0; e++) {
    const size_t at = oat_rng_below(rng, size);
    switch (oat_rng_below(rng, 6)) {
      case 0:
        bytes[at] = (char)oat_rng_below(rng, 256);
        break;
      case 1:
      case 2:
        bytes[at] = meaning[oat_rng_below(rng, letters)];
        break;
      case 3:
        memmove(bytes + at + 1, bytes + at, size - at);
        bytes[at] = meaning[oat_rng_below(rng, letters)];
        size++;
        break;
      case 4: {
        const size_t cut = 1 + oat_rng_below(rng, size - at);
        memmove(bytes + at, bytes + at + cut, size - at - cut);
        size -= cut;
        break;
      }
      default: {
        const size_t copy = oat_rng_below(rng, size - at < 12 ? size - at : 12);
        memmove(bytes + at + copy, bytes + at, size - at);
        size += copy;
        break;
      }
    }
  }
  return size;
}

/* Whatever the file contains, the result is valid data or an error. */
static inline bool read_anything(scratch *s) {
  oatgp_data *data = NULL;
  s->said[0] = '\0';
  s->ctx->error[0] = '\0';
  const oatgp_status status = oatgp_data_read(s->ctx, s->path, &s->settings, &data);
  if (status != OATGP_OK) {
    assert_null(data);
    assert_true(strlen(oatgp_last_error(s->ctx)) > 10);
    return false;
  }
  assert_true(oatgp_data_rows(data) > 0 && oatgp_data_inputs(data) > 0);
  for (size_t i = 0; i < data->n * data->d; i++) {
    assert_true(data->x[i] - data->x[i] == 0);
  }
  oatgp_data_free(data);
  return true;
}

/* Whether the messages so far contain this piece. */
static inline void expect_said(const scratch *s, const char *piece) {
  if (strstr(s->said, piece) == NULL) {
    fail_msg("'%s' was not said, but '%s'", piece, s->said);
  }
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
