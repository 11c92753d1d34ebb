/* Helpers of the numerical tests: small tables and JSON from tests/data, random problems, comparison with a
 * tolerance. */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "oatgp.h"
#include "util/rng.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Fails with both numbers when |a - b| > tolerance * max(1, |a|, |b|). */
#define assert_near(a, b, tolerance) check_near((a), (b), (tolerance), #a " = " #b, __FILE__, __LINE__)

static inline void check_near(double a, double b, double tolerance, const char *what, const char *file, int line) {
  const double size = fmax(1, fmax(fabs(a), fabs(b)));
  if (!(fabs(a - b) <= tolerance * size)) {
    print_error("%s: %.17g and %.17g differ by %g, more than %g\n", what, a, b, fabs(a - b), tolerance * size);
    _fail(file, line);
  }
}

/* For objectives, log evidences, bounds and gains: fails with both numbers when they are more than `most` nats apart.
 * What a nat means does not depend on how large they are, so this tolerance is absolute. */
#define assert_nats(got, expected, most) check_nats((got), (expected), (most), #got " = " #expected, __FILE__, __LINE__)

static inline void check_nats(double got, double expected, double most, const char *what, const char *file, int line) {
  const double apart = fabs(got - expected);
  if (!(apart <= most)) {
    print_error("%s: got %.17g, expected %.17g: %g nats apart, more than %g\n", what, got, expected, apart, most);
    _fail(file, line);
  }
}

/* |a - b| against the larger of them or 1. */
static inline double relative_error(double a, double b) { return fabs(a - b) / fmax(1, fmax(fabs(a), fabs(b))); }

/* The larger error; NaN is the largest. */
static inline double worse_of(double a, double b) { return isnan(a) || b <= a ? a : b; }

/* Skips the test where long double has no more digits than double: on some machines, and under valgrind. */
static inline void need_long_double(void) {
  const volatile long double one = 1, small = 1e-18L;
  if (one + small == one) {
    skip();
  }
}

/* Valgrind is 50 times slower, and reports the memory of the BLAS's threads at the end as lost. */
static inline int under_valgrind(void) { return getenv("OATGP_TEST_VALGRIND") != NULL; }

/* The number or size to use: `all`; `some` with OATGP_TEST_QUICK, which builds with sanitizers set; `few` under
 * valgrind.
 * */
static inline size_t amount(size_t all, size_t some, size_t few) {
  return under_valgrind() ? few : getenv("OATGP_TEST_QUICK") != NULL ? some : all;
}

static inline char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fail_msg("cannot open %s", path);
  }
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(size + 1, 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, size, file), size);
  fclose(file);
  return text;
}

/* A table of numbers with one header line, column-major. */
typedef struct table {
  size_t rows, columns;
  double *a;
} table;

static inline table read_table(const char *path) {
  char *text = read_text(path), *cursor = strchr(text, '\n');
  table t = {0, 1, calloc(strlen(text) + 1, sizeof(double))};
  for (const char *c = text; c < cursor; c++) {
    t.columns += *c == ',';
  }
  size_t count = 0;
  double *values = calloc(strlen(text) + 1, sizeof(double));
  for (char *end; cursor != NULL && *cursor != '\0';) {
    const double value = strtod(cursor, &end);
    if (end == cursor) {
      cursor++;
    } else {
      values[count++] = value;
      cursor = end;
    }
  }
  t.rows = count / t.columns;
  for (size_t i = 0; i < t.rows; i++) {
    for (size_t j = 0; j < t.columns; j++) {
      t.a[i + j * t.rows] = values[i * t.columns + j];
    }
  }
  free(values);
  free(text);
  return t;
}

static inline table golden_table(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/golden/%s", TEST_DATA_DIR, name);
  return read_table(path);
}

static inline cJSON *read_json(const char *path) {
  char *text = read_text(path);
  cJSON *json = cJSON_Parse(text);
  assert_non_null(json);
  free(text);
  return json;
}

static inline double json_number(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  assert_non_null(item);
  return item->valuedouble;
}

/* The same, where it may be missing. */
static inline double json_number_or(const cJSON *object, const char *name, double otherwise) {
  return cJSON_HasObjectItem(object, name) ? json_number(object, name) : otherwise;
}

static inline const char *json_text(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  assert_non_null(item);
  return item->valuestring;
}

/* Copies an array of numbers, returns how many. */
static inline size_t json_numbers(const cJSON *object, const char *name, double *out) {
  size_t count = 0;
  const cJSON *item = NULL, *array = cJSON_GetObjectItemCaseSensitive(object, name);
  cJSON_ArrayForEach(item, array) { out[count++] = item->valuedouble; }
  return count;
}

#endif
