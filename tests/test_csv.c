/* Text tables: numbers, records, headers, missing values, refusals, gzip, standard input, damaged files; and writing
 * them. */
#include "data_files.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>

#include "text/number.h"

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static void cells_are_told_apart(void **state) {
  (void)state;
  const struct {
    oat_kind kind;
    const char *texts[24];
  } cases[] = {
      {OAT_NUMBER,
       {"0", "-0", "+1", "1.", ".5", "-.5e1", "1e5", "1E+5", "1e-5", "007", "1e-400", "1.7976931348623158e308",
        "1e0000001"}},
      {OAT_MISSING, {"", "NA", "na", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "+NaN", "null", "NULL", "Null", "."}},
      {OAT_INFINITE,
       {"inf", "-Inf", "+INF", "Infinity", "1e999", "-1e999", "1.7976931348623159e308", "1e99999999999999999999"}},
      {OAT_TEXT, {"abc",   "0x10", "1e",    "1e+", "e5", "-",   "+",      "--1",   "1 2",     "1,5",
                  "1.2.3", "1d5",  "1e5.5", "-.",  "?",  "-NA", "nan(1)", "1_000", "infinit", "1f"}},
  };
  for (size_t k = 0; k < LENGTH(cases); k++) {
    for (size_t i = 0; i < LENGTH(cases[k].texts) && cases[k].texts[i] != NULL; i++) {
      double value = 0;
      const oat_kind kind = oat_read_number(cases[k].texts[i], strlen(cases[k].texts[i]), &value);
      if (kind != cases[k].kind) {
        fail_msg("'%s' is of kind %d, not %d", cases[k].texts[i], (int)kind, (int)cases[k].kind);
      }
    }
  }
}

static void expect_nearest(const char *text) {
  double value = 0;
  const double expected = strtod(text, NULL);
  const oat_kind kind = oat_read_number(text, strlen(text), &value);
  if (kind != OAT_NUMBER || memcmp(&value, &expected, sizeof value) != 0) {
    fail_msg("'%s' gives kind %d, %.17g instead of %.17g", text, (int)kind, value, expected);
  }
}

static void known_numbers_are_nearest(void **state) {
  (void)state;
  const struct {
    const char *text;
    double value;
  } cases[] = {{"9007199254740992", 0x1p53},
               {"9007199254740993", 0x1p53},
               {"9007199254740993.00000000000000000000000000000000000001", 0x1p53 + 2},
               {"9007199254740995", 0x1p53 + 4},
               {"1e22", 1e22},
               {"1e23", 1e23},
               {"0.1", 0.1},
               {"123456789012345e-22", 123456789012345e-22},
               {"8.5e-22", 8.5e-22},
               {"4.9e-324", 0x1p-1074},
               {"2.4703282292062328e-324", 0x1p-1074},
               {"2.4703282292062327e-324", 0},
               {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
               {"1.7976931348623158e308", DBL_MAX},
               {"-0", -0.0},
               {"1e-100001", 0},
               {"0e999999999999", 0}};
  for (size_t k = 0; k < LENGTH(cases); k++) {
    double value = NAN;
    assert_int_equal(oat_read_number(cases[k].text, strlen(cases[k].text), &value), OAT_NUMBER);
    if (memcmp(&value, &cases[k].value, sizeof value) != 0) {
      fail_msg("'%s' is read as %.17g", cases[k].text, value);
    }
  }
}

static void random_numbers_are_nearest(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 7);
  char text[80];
  for (int k = 0; k < 100000; k++) {
    const uint64_t bits = oat_rng_next(&rng);
    double value, back = 0;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
      continue;
    }
    snprintf(text, sizeof text, "%.17g", value);
    assert_int_equal(oat_read_number(text, strlen(text), &back), OAT_NUMBER);
    assert_memory_equal(&value, &back, sizeof value);
    snprintf(text, sizeof text, "%.*g", 1 + (int)oat_rng_below(&rng, 20), oat_rng_normal(&rng) * 100);
    expect_nearest(text);
    snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(oat_rng_next(&rng) >> oat_rng_below(&rng, 64)),
             (unsigned long long)(oat_rng_next(&rng) >> oat_rng_below(&rng, 64)), (int)oat_rng_below(&rng, 60) - 40);
    expect_nearest(text);
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)(oat_rng_next(&rng) >> oat_rng_below(&rng, 12)) / 2,
             (int)oat_rng_below(&rng, 180) - 110);
    expect_nearest(text);
    snprintf(text, sizeof text, "%.*e", 15 + (int)oat_rng_below(&rng, 4), exp(80 * oat_rng_normal(&rng)));
    expect_nearest(text);
    const uint64_t between = (UINT64_C(1) << 53 | oat_rng_next(&rng) >> 11) * 2 + 1; /* halfway between two doubles */
    snprintf(text, sizeof text, "%llu", (unsigned long long)between);
    expect_nearest(text);
  }
}

/* An exponent and as many digits that cancel it, so many that a careless count would stop counting. */
static void long_numbers_are_nearest(void **state) {
  (void)state;
  const size_t zeros = 1000000;
  char *text = malloc(zeros + 64);
  assert_non_null(text);
  memcpy(text, "0.", 2);
  memset(text + 2, '0', zeros);
  snprintf(text + 2 + zeros, 62, "15e%zu", zeros + 1);
  double value = 0;
  assert_int_equal(oat_read_number(text, strlen(text), &value), OAT_NUMBER);
  assert_true(value == 1.5);
  snprintf(text + 2 + zeros, 62, "15e%zu", 10 * zeros);
  assert_int_equal(oat_read_number(text, strlen(text), &value), OAT_INFINITE);
  free(text);
}

/* The number with the fewest digits that read back, in the form that %.17g has: the digits are the same, and zeros fill
 * up a whole number. */
static void expect_written(double value) {
  char shortest[40], text[40] = "";
  int digits = 15;
  while (snprintf(shortest, sizeof shortest, "%.*g", digits, value) > 0 && digits < 17 &&
         strtod(shortest, NULL) != value && !isnan(value)) {
    digits++;
  }
  const char *exponent = strstr(shortest, "e+");
  if (exponent != NULL && strtol(exponent + 2, NULL, 10) < 17) { /* a whole number */
    char zeros[] = "00000000000000000", *point = strchr(shortest, '.');
    const size_t behind = point == NULL ? 0 : (size_t)(exponent - point) - 1;
    const size_t missing = (size_t)strtol(exponent + 2, NULL, 10) - behind;
    memmove(point == NULL ? shortest + (exponent - shortest) : point, exponent - behind, behind);
    strcpy(shortest + (exponent - shortest) - (point != NULL), zeros + strlen(zeros) - missing);
  }
  text[oat_write_number(value, text)] = '\0';
  assert_string_equal(text, shortest);
  double again = 0;
  if (isfinite(value)) {
    assert_int_equal(oat_read_number(text, strlen(text), &again), OAT_NUMBER);
    assert_memory_equal(&value, &again, sizeof value);
  }
}

static void numbers_are_written_with_few_digits(void **state) {
  (void)state;
  static const double values[] = {0,
                                  1,
                                  10,
                                  0.1,
                                  0.5,
                                  1.5,
                                  100000,
                                  1e15,
                                  1e16,
                                  1e17,
                                  1e18,
                                  1e22,
                                  1e23,
                                  1e100,
                                  1e-4,
                                  1e-5,
                                  9.5e-5,
                                  1e-48,
                                  1e-49,
                                  1e112,
                                  1e113,
                                  DBL_MAX,
                                  DBL_MIN,
                                  5e-324,
                                  0x1p53,
                                  0x1p60,
                                  0x1p-20,
                                  0x1p-60,
                                  INFINITY,
                                  NAN,
                                  123456789,
                                  0.3,
                                  99999999999999999.0,
                                  9999999999999998.0,
                                  0.99999999999999989,
                                  0.000099999999999999991,
                                  1 + DBL_EPSILON};
  for (size_t k = 0; k < LENGTH(values); k++) {
    expect_written(values[k]);
    expect_written(-values[k]);
  }
  oat_rng rng;
  oat_rng_seed(&rng, 23);
  for (int k = 0; k < 200000; k++) {
    const uint64_t bits = oat_rng_next(&rng);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isnan(value)) { /* the sign of one is not always printed */
      expect_written(value);
    }
    expect_written(oat_rng_normal(&rng));
    expect_written(exp(100 * oat_rng_normal(&rng)));
    expect_written((double)(bits >> oat_rng_below(&rng, 64)) *
                   ldexp(1, (int)oat_rng_below(&rng, 80) - 70)); /* ties among them */
    expect_written((double)(bits >> 40) / 1000);
  }
}

static bool use_comma_locale(void) {
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",       "fr_FR.UTF-8",
                                      "fr_FR.utf8",  "fr_FR",      "nl_NL.UTF-8", "es_ES.UTF-8"};
  for (size_t k = 0; k < LENGTH(names); k++) {
    if (setlocale(LC_ALL, names[k]) != NULL && strcmp(localeconv()->decimal_point, ",") == 0) {
      return true;
    }
  }
  return false;
}

static void locale_changes_nothing(void **state) {
  scratch *s = *state;
  if (!use_comma_locale()) {
    skip();
  }
  const double values[] = {0.1, 1.2345678901234567e-9};
  const char *const names[] = {"a"};
  const double *const columns[] = {values};
  assert_int_equal(oatgp_write_csv(s->ctx, s->path, 2, 1, names, columns), OATGP_OK);
  oatgp_data *data = must_read(s);
  assert_string_equal(localeconv()->decimal_point, ",");
  setlocale(LC_ALL, "C");
  expect_inputs(data, 2, 1, values);
  oatgp_data_free(data);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct good {
  const char *text, *target, *inputs, *header, *missing;
  const char *names;
  size_t n;
  double x[8]; /* row-major */
  double y[4]; /* if there is a target */
  const char *said;
} good;

static const good goods[] = {
    /* delimiters, line ends, blanks */
    {"a,b,y\n1,2,3\n4,5,6\n", "y", "", "auto", "error", "a,b", 2, {1, 2, 4, 5}, {3, 6}, ""},
    {"a\tb\ty\n1\t2\t3\n4\t5\t6\n", "y", "", "auto", "error", "a,b", 2, {1, 2, 4, 5}, {3, 6}, ""},
    {"a;b;y\n1;2;3\n4;5;6\n", "y", "", "auto", "error", "a,b", 2, {1, 2, 4, 5}, {3, 6}, ""},
    {"a,b\r\n1,2\r\n3,4\r\n", "b", "", "auto", "error", "a", 2, {1, 3}, {2, 4}, ""},
    {"a,b\r1,2\r3,4\r", "b", "", "auto", "error", "a", 2, {1, 3}, {2, 4}, ""},
    {"a,b\n1,2\n3,4", "b", "", "auto", "error", "a", 2, {1, 3}, {2, 4}, ""},
    {"a,b\r\n1,2\r\n3,4\r", "b", "", "auto", "error", "a", 2, {1, 3}, {2, 4}, ""},
    {"\n\r\n  \na,b\n\n1,2\n \t \n3,4\n\n\n", "b", "", "auto", "error", "a", 2, {1, 3}, {2, 4}, ""},
    {"\xEF\xBB\xBF"
     "a,b\n1,2\n",
     "b",
     "",
     "auto",
     "error",
     "a",
     1,
     {1},
     {2},
     ""},
    {"\xEF\xBB\xBF\"a\",b\n1,2\n", "b", "", "auto", "error", "a", 1, {1}, {2}, ""},
    {" a ,\tb\n  1 ,\t2\t\n\t3, 4 \n", "b", "", "auto", "error", "a", 2, {1, 3}, {2, 4}, ""},
    {"1,\t2\n3,\t4\n", "2", "", "auto", "error", "V1", 2, {1, 3}, {2, 4}, ""},
    {"a\t; b \t\n1;\t2\n", "b", "", "auto", "error", "a", 1, {1}, {2}, ""},
    {"a\t\n1\t\n", "", "", "auto", "error", "a", 1, {1}, {0}, ""},
    {"a\t\"b,c\"\t\n1\t2\t\n", "2", "", "auto", "error", "a", 1, {1}, {2}, "not used: 'V3'"},
    {"a\t\"b;\nc\"\n1\t2\n", "2", "", "auto", "error", "a", 1, {1}, {2}, ""},
    {"5\n6\n", "", "", "auto", "error", "V1", 2, {5, 6}, {0}, ""},
    {"5", "", "", "auto", "error", "V1", 1, {5}, {0}, ""},
    {"a\tb;c,d\n1\t2\n", "", "", "auto", "error", "a,b;c,d", 1, {1, 2}, {0}, ""},
    {"a,x;b\n1,2;3\n", "", "", "auto", "error", "b", 1, {3}, {0}, "are not used: 'a,x'"},
    /* quotes */
    {"\"a,1\",\"b\"\"q\"\n\"1\",\"2\"\n", "", "", "auto", "error", "a,1,b\"q", 1, {1, 2}, {0}, ""},
    {"\"a;\tz\",b\n1,2\n", "b", "", "auto", "error", "a;\tz", 1, {1}, {2}, ""},
    {"\"a\nb\",c\n1,2\n", "c", "", "auto", "error", "a\nb", 1, {1}, {2}, ""},
    {"a,t,b\n1,\"x\r\ny,\"\"z\"\"\",2\n3,5\" pipe,4\n",
     "b",
     "",
     "auto",
     "error",
     "a",
     2,
     {1, 3},
     {2, 4},
     "not used: 't'"},
    {"\"a\" , \"b\"\n \" 1 \" ,\"2\" \n", "b", "", "auto", "error", "a", 1, {1}, {2}, ""},
    {"\"a\";\"b\"\r\n\"1\";\"2\"", "b", "", "auto", "error", "a", 1, {1}, {2}, ""},
    /* header */
    {"1,2\n3,4\n", "last", "", "auto", "error", "V1", 2, {1, 3}, {2, 4}, ""},
    {"NA,2\n3,4\n", "last", "", "auto", "drop", "V1", 1, {3}, {4}, "dropped 1 of 2 rows"},
    {"1,2\n3,4\n", "last", "", "yes", "error", "1", 1, {3}, {4}, ""},
    {"a,2\n3,4\n",
     "last",
     "",
     "auto",
     "error",
     "a",
     1,
     {3},
     {4},
     "line 1: read as a header, although 1 of its 2 cells are numbers"},
    {"a,2,5\nb,4,6\n", "last", "", "no", "error", "V2", 2, {2, 4}, {5, 6}, "not used: 'V1'"},
    {",b\n1,2\n", "b", "", "auto", "error", "V1", 1, {1}, {2}, "column 1 has no name, like the row numbers"},
    {",b\n1,2\n", "b", "V1", "auto", "error", "V1", 1, {1}, {2}, ""},
    /* columns by name, number, last; a name wins */
    {"a,b,c\n1,2,3\n", "c", "b", "auto", "error", "b", 1, {2}, {3}, ""},
    {"a,b,c\n1,2,3\n", "1", "3,2", "auto", "error", "c,b", 1, {3, 2}, {1}, ""},
    {"a,b,c\n1,2,3\n", "last", " a , b ", "auto", "error", "a,b", 1, {1, 2}, {3}, ""},
    {"2,1,y\n5,6,7\n", "2", "", "yes", "error", "1,y", 1, {6, 7}, {5}, ""},
    {"last,b,c\n1,2,3\n", "last", "", "auto", "error", "b,c", 1, {2, 3}, {1}, ""},
    {"4,5,6\n", "V1", "V3", "auto", "error", "V3", 1, {6}, {4}, ""},
    {"a,a,b\n1,2,3\n", "b", "1", "auto", "error", "a", 1, {1}, {3}, ""},
    {"a b,c-d\n1,2\n", "c-d", "a b", "auto", "error", "a b", 1, {1}, {2}, ""},
    /* text columns and missing values */
    {"id,a,b\nx,1,2\ny,3,4\n",
     "b",
     "",
     "auto",
     "error",
     "a",
     2,
     {1, 3},
     {2, 4},
     "1 of 3 columns have a different text in nearly every row and are not used: 'id'"},
    {"id,a,b\n,1,2\ny,3,4\nz,5,6\n", "b", "", "auto", "error", "a", 3, {1, 3, 5}, {2, 4, 6}, "not used: 'id'"},
    {"id,a,b\n,1,2\ny,3,4\n7,5,6\nz,7,8\n",
     "b",
     "",
     "auto",
     "error",
     "a",
     4,
     {1, 3, 5, 7},
     {2, 4, 6, 8},
     "column 'id' is treated as text: 2 of its first 3 values are not numbers, such as 'y' in line 3"},
    {"a,b,\n1,2,\n3,4,\n", "b", "", "auto", "error", "a", 2, {1, 3}, {2, 4}, "not used: 'V3'"},
    {"a,b\n1,2\nNA,3\n4,.\n5,6\n",
     "b",
     "",
     "auto",
     "drop",
     "a",
     2,
     {1, 5},
     {2, 6},
     "dropped 2 of 4 rows, which have missing values"},
    {"a,b\n,2\nNaN,3\n4,9\n5,6\n", "b", "", "auto", "drop", "a", 2, {4, 5}, {9, 6}, "dropped 2 of 4 rows"},
    {"a\n1\n\n\"\"\n2\n", "", "", "auto", "drop", "a", 2, {1, 2}, {0}, "dropped 1 of 3 rows"},
    {"a,b,c\n1,2,\n3,4,x\n", "b", "a", "auto", "error", "a", 2, {1, 3}, {2, 4}, ""},
};

static void apply(scratch *s, const char *target, const char *inputs, const char *header, const char *missing) {
  s->settings.target = target;
  s->settings.inputs = inputs;
  s->settings.header = header;
  s->settings.missing = missing;
}

static void reads_tables(void **state) {
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(goods); k++) {
    const good *g = &goods[k];
    apply(s, g->target, g->inputs, g->header, g->missing);
    write_text(s, g->text);
    oatgp_data *data = must_read(s);
    expect_names(data, g->names);
    expect_inputs(data, g->n, data->d, g->x);
    assert_int_equal(data->y != NULL, g->target[0] != '\0');
    if (data->y != NULL) {
      expect_column(data->y, g->n, g->y);
    }
    if (strstr(s->said, g->said) == NULL || (g->said[0] == '\0' && s->said[0] != '\0')) {
      fail_msg("case %zu: said '%s'", k, s->said);
    }
    oatgp_data_free(data);
  }
}

static void remembers_where_columns_were(void **state) {
  scratch *s = *state;
  apply(s, "last", "c,a", "auto", "drop");
  s->settings.weights = "w";
  s->settings.noise_variance = "3";
  write_text(s, "a,w,v,c,y\n1,2,0,3,4\n5,6,7,NA,8\n9,10,11,12,13\n");
  oatgp_data *data = must_read(s);
  expect_inputs(data, 2, 2, (const double[]){3, 1, 12, 9});
  expect_column(data->y, 2, (const double[]){4, 13});
  expect_column(data->weight, 2, (const double[]){2, 10});
  expect_column(data->noise, 2, (const double[]){0, 11});
  assert_string_equal(data->target, "y");
  assert_string_equal(data->weight_name, "w");
  assert_string_equal(data->noise_name, "v");
  assert_int_equal(data->columns, 5);
  assert_int_equal(data->positions[0], 4);
  assert_int_equal(data->positions[1], 1);
  assert_true(data->header);
  assert_int_equal(oatgp_data_dropped_rows(data), 1);
  oatgp_data_free(data);
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

typedef struct bad {
  const char *text, *target, *inputs, *weights, *noise, *header, *missing, *piece;
} bad;

static const bad bads[] = {
    /* nothing there */
    {"", "", "", "", "", "auto", "error", "is empty"},
    {"\n \n\r\n", "", "", "", "", "auto", "error", "is empty"},
    {"\xEF\xBB\xBF", "", "", "", "", "auto", "error", "is empty"},
    {"a,b\n", "b", "", "", "", "auto", "error", "has no rows below its header"},
    {"a,b\n\n\n", "b", "", "", "", "auto", "error", "has no rows below its header"},
    {"y\n1\n", "y", "", "", "", "auto", "error", "no input column"},
    {"t,y\nx,1\n", "y", "", "", "", "auto", "error", "no input column"},
    {"1,5;2,5\n3,5;4,5\n", "", "", "", "", "no", "error", "no column of numbers or categories is left"},
    {"x y\n1 2\n3 4\n", "", "", "", "", "auto", "error", "columns are separated by commas, tabs or semicolons"},
    {"a,b\nNA,1\n2,NA\n", "b", "", "", "", "auto", "drop", "no rows left: each of its 2 rows"},
    /* cells */
    {"a,b\n1,2\n3,abc\n", "a", "", "", "", "auto", "error",
     "/file, line 3, column 'b': 'abc' is not a number; correct it, make the column a category with --factors, or "
     "leave it out with --inputs"},
    {"a,b\n1,2\n\n\n3,0x1F\n", "a", "", "", "", "auto", "error", "line 5, column 'b': '0x1F' is not a number"},
    {"a,b\r1,2\r3,x\r", "a", "", "", "", "auto", "error", "line 3, column 'b': 'x'"},
    {"a,b\r\n1,2\r\n3,x\r\n", "a", "", "", "", "auto", "error", "line 3, column 'b': 'x'"},
    {"t,a,b\n\"1\n\"\"2\r\n3\",4,x\n", "t", "2", "", "", "auto", "error", "line 2, column 't'"},
    {"t,a,b\n\"1\n\"\"2\r\n3\",4,x\n", "b", "2", "", "", "auto", "error", "line 4, column 'b': 'x'"},
    {"t,a\n\"\r\r\n\",1\n\"u\",x\n", "a", "", "", "", "auto", "error", "line 5, column 'a': 'x'"},
    {"a,b\n1,x\n2,3\n", "a", "b", "", "", "auto", "error", "line 2, column 'b': 'x' is not a number; correct it, make"},
    {"a,b\n1,x\n", "b", "", "", "", "auto", "error", "line 2, column 'b': 'x' is not a number; correct it"},
    {"1,2\n3,x\n", "1", "", "", "", "auto", "error", "line 2, column 'V2': 'x'"},
    {"a,b\n1,2\n3,inf\n", "a", "", "", "", "auto", "error", "line 3, column 'b': 'inf' is infinite or too large"},
    {"a,b\n1,-1e999\n", "a", "", "", "", "auto", "error", "line 2, column 'b': '-1e999' is infinite or too large"},
    {"a,b\n1,2\n3,\x01\x7F"
     "0123456789012345678901234567890123456789\n",
     "a", "", "", "", "auto", "error", "'??01234567890123456789012345678901234567...' is not a number"},
    {"a,b\n1,2\n3,0123456789012345678901234567890123456789x\n", "a", "", "", "", "auto", "error",
     "6789...' is not a number"},
    {"a,b\n1,2\n3,x23456789012345678901234567890123456789\xC3\xA4\xC3\xA4\n", "a", "", "", "", "auto", "error",
     "456789...' is not a number"},
    {"a,b\n1,2\n3,\xE4\xF6\x80\n", "a", "", "", "", "auto", "error", "'\xC3\xA4\xC3\xB6\xE2\x82\xAC' is not a number"},
    {"a,b\n1,2\n3,\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\xE4\n", "a", "", "",
     "", "auto", "error", "\xC3\xA4\xC3\xA4...' is not a number"},
    {"a,\xE4\n1,2\n", "c", "", "", "", "auto", "error", "has no column 'c' (target); it has 'a', '\xC3\xA4'"},
    /* in the first row, which does not decide alone what a column holds */
    {"a,b\n1,?\n3,4\n5,6\n", "a", "", "", "", "auto", "error",
     "/file, line 2, column 'b': '?' is not a number; correct it, make the column a category with --factors, or leave "
     "it out with --inputs"},
    {"a,b\n1,#N/A\n3,4\n", "a", "", "", "", "auto", "error", "line 2, column 'b': '#N/A' is not a number"},
    {"a,b\n1,12 kg\n3,4\n", "a", "", "", "", "auto", "error", "line 2, column 'b': '12 kg' is not a number"},
    {"a,b\n1,\"1,5\"\n3,4\n", "a", "", "", "", "auto", "error", "line 2, column 'b': '1,5' is not a number"},
    {"a,b\n1,?\n2,x\n3,4\n4,5\n", "a", "", "", "", "auto", "drop", "line 2, column 'b': '?' is not a number"},
    {"a,b,c\n1,2,3\n2,3,y\n3,x,4\n4,5,6\n", "a", "", "", "", "auto", "error",
     "line 3, column 'c': 'y' is not a number"},
    {"a,b\n1,x\n2,inf\n3,4\n", "a", "", "", "", "auto", "error", "line 2, column 'b': 'x' is not a number"},
    {"a,b\n1,\n2,x\n3,4\n", "a", "", "", "", "auto", "error", "line 2, column 'b': the value is missing"},
    /* missing */
    {"a,b\n1,2\n3,\n", "a", "", "", "", "auto", "error",
     "/file, line 3, column 'b': the value is missing; fill it in, or drop such rows with --missing drop"},
    {"a,b\n1,2\nna,3\n", "a", "", "", "", "auto", "error", "line 3, column 'a': the value is missing"},
    {"a,b\n1,\n2,NA\n3,4\n", "a", "", "", "", "auto", "error", "line 2, column 'b': the value is missing"},
    {"a,b,w\n1,2,\n", "a", "", "w", "", "auto", "error", "line 2, column 'w': the value is missing"},
    {"a,b\n1,NA\n", "a", "b", "", "", "auto", "error", "column 'b' has no value in any row"},
    {"a,b,c\n1,2,\n3,4,NA\n", "a", "", "", "", "auto", "error",
     "column 'c' has no value in any row; fill it in, or leave it out with --inputs"},
    {"1,,3\n4,,6\n", "last", "", "", "", "auto", "drop", "column 'V2' has no value in any row"},
    /* weights and noise */
    {"a,b,w\n1,2,3\n1,2,0\n", "a", "", "w", "", "auto", "error",
     "line 3, column 'w': '0' is not a weight, which must be above 0; correct it"},
    {"a,b,w\n1,2,-3\n", "a", "", "w", "", "auto", "error", "line 2, column 'w': '-3' is not a weight"},
    {"a,b,v\n1,2,-1e-9\n", "a", "", "", "v", "auto", "error",
     "column 'v': '-1e-9' is not a noise variance, which must not be below 0"},
    {"a,b,v\n1,2,x\n", "a", "", "", "v", "auto", "error", "column 'v': 'x' is not a number"},
    /* columns */
    {"a,b\n1,2\n", "c", "", "", "", "auto", "error", "has no column 'c' (target); it has 'a', 'b'"},
    {"a,b\n1,2\n", "3", "", "", "", "auto", "error", "has no column '3' (target)"},
    {"a,b\n1,2\n", "0", "", "", "", "auto", "error", "has no column '0' (target)"},
    {"a,b\n1,2\n", "99999999999999999999999", "", "", "", "auto", "error",
     "has no column '99999999999999999999999' (target)"},
    {"1,2\n", "y", "", "", "", "auto", "error", "it has 'V1', 'V2' and no header"},
    {"a,b\n1,2\n", "a", "b,c", "", "", "auto", "error", "has no column 'c' (inputs)"},
    {"a,b\n1,2\n", "a", "", "c", "", "auto", "error", "has no column 'c' (weights)"},
    {"a,b\n1,2\n", "a", "", "", "c", "auto", "error", "has no column 'c' (noise variance)"},
    {"a,b\n1,2\n", "a", "b,a", "", "", "auto", "error", "column 'a' is used twice, as target and as input"},
    {"a,b\n1,2\n", "a", "b,2", "", "", "auto", "error", "column 'b' is named twice as input; name it once"},
    {"a,b\n1,2\n", "a", "", "1", "", "auto", "error", "column 'a' is used twice, as target and as weights"},
    {"a,b,w\n1,2,3\n", "a", "", "w", "last", "auto", "error",
     "column 'w' is used twice, as weights and as noise variance"},
    {"a,a,b\n1,2,3\n", "a", "", "", "", "auto", "error", "2 columns have the name 'a' (target)"},
    {"a,a,b\n1,2,3\n", "b", "", "", "", "auto", "error",
     "several of the columns in use have the name 'a', among them column 2"},
    {"a,a,b\n1,2,3\n", "b", "1,2", "", "", "auto", "error", "several of the columns in use have the name 'a'"},
    {"a,b\n1,2\n", "a", "b,", "", "", "auto", "error", "inputs 'b,' has an empty name"},
    {"a,b\n1,2\n", "a", " , b", "", "", "auto", "error", "has an empty name"},
    /* records */
    {"a,b\n1,2\n3\n", "a", "", "", "", "auto", "error",
     "line 3: 1 cell, but the first record has 2 (cells are separated by commas)"},
    {"a\tb\n1\t2\n3\t4\t5\n", "a", "", "", "", "auto", "error",
     "line 3: 3 cells, but the first record has 2 (cells are separated by tabs)"},
    {"a;b\n1;2\n3,4\n", "a", "", "", "", "auto", "error",
     "line 3: 1 cell, but the first record has 2 (cells are separated by semicolons)"},
    {"a,b\n1,2\n3,\"4\n5,6\n", "a", "", "", "", "auto", "error",
     "line 3: a quote is opened in this record and not closed"},
    {"a,\"b\n", "a", "", "", "", "auto", "error", "line 1: a quote is opened"},
    {"a,b\n1,\"2\"3\n", "a", "", "", "", "auto", "error",
     "line 2: there is text after a closing quote; a quote within quotes must be doubled"},
};

static void refuses_tables(void **state) {
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(bads); k++) {
    const bad *b = &bads[k];
    apply(s, b->target, b->inputs, b->header, b->missing);
    s->settings.weights = b->weights;
    s->settings.noise_variance = b->noise;
    write_text(s, b->text);
    must_refuse(s, strstr(b->piece, "empty name") != NULL ? OATGP_ARGUMENT : OATGP_DATA, b->piece);
  }
}

/* Long lists are shortened, long paths too; the sentence still ends as it should. */
static void sentences_stay_short(void **state) {
  scratch *s = *state;
  FILE *file = fopen(s->path, "wb");
  assert_non_null(file);
  for (int k = 0; k < 500; k++) {
    fprintf(file, "%sa_rather_long_name_of_a_column_with_number_%d", k > 0 ? "," : "", k);
  }
  fprintf(file, "\n");
  fclose(file);
  s->settings.target = "y";
  must_refuse(s, OATGP_DATA, "it has 'a_rather_long_name_of_a_column_with_numb...'");
  assert_non_null(strstr(oatgp_last_error(s->ctx), " more"));
  char path[4096];
  memset(path, 'p', sizeof path);
  memcpy(path + sizeof path - 5, ".csv", 5);
  oatgp_data *data = NULL;
  expect_sentence(s, OATGP_READ, oatgp_data_read(s->ctx, path, &s->settings, &data), ".csv': File name too long");
}

static void refuses_what_is_no_text(void **state) {
  scratch *s = *state;
  write_bytes(s, "a,b\n1,2\n3,\0\n", 12);
  must_refuse(s, OATGP_DATA, "is not a table: its byte 11 is 0");
  write_bytes(s,
              "\xFF\xFE"
              "a\0,\0b\0\n\0",
              10);
  must_refuse(s, OATGP_DATA, "neither text (as UTF-8) nor .npy; save it as CSV in UTF-8");
  write_bytes(s, "PK\3\4\24\0\0\0", 8);
  must_refuse(s, OATGP_DATA, "is not a table");
}

static void refuses_what_cannot_be_opened(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  must_refuse(s, OATGP_READ, "/file': No such file or directory");
  expect_sentence(s, OATGP_READ, oatgp_data_read(s->ctx, s->folder, &s->settings, &data), "Is a directory");
  write_text(s, "a,b\n1,2\n");
  char path[160];
  snprintf(path, sizeof path, "%s/b.csv", s->path);
  expect_sentence(s, OATGP_READ, oatgp_data_read(s->ctx, path, &s->settings, &data), "Not a directory");
  chmod(s->path, 0);
  if (access(s->path, R_OK) != 0) {
    must_refuse(s, OATGP_READ, "Permission denied");
  }
  assert_null(data);
}

/* ---- large, packed and piped ----------------------------------------------------------------------------------- */

/* A first cell so long that the window ends at every place of the records after it. */
static void records_may_span_windows(void **state) {
  scratch *s = *state;
  const char rest[] = "\",1.25\r\n\"a\"\"b\r\nc\", 2.5e-1 \r\n\"\",x3\r\n";
  const size_t window = (size_t)1 << 20, before = strlen("t,a\r\n\"");
  char *text = malloc(window + 256);
  assert_non_null(text);
  s->settings.target = "";
  for (size_t shift = 0; shift < sizeof rest + 8; shift++) {
    const size_t filler = window - before - shift;
    memcpy(text, "t,a\r\n\"", before);
    memset(text + before, 'z', filler);
    memcpy(text + before + filler, rest, sizeof rest - 1);
    write_bytes(s, text, before + filler + sizeof rest - 1);
    must_refuse(s, OATGP_DATA, "line 5, column 'a': 'x3' is not a number");
    text[before + filler + strlen("\",1.25\r\n\"a\"\"b\r\nc\", 2.5e-1 \r\n\"\",")] = '-';
    write_bytes(s, text, before + filler + sizeof rest - 1);
    oatgp_data *data = must_read(s);
    expect_inputs(data, 3, 1, (const double[]){1.25, 0.25, -3});
    oatgp_data_free(data);
  }
  free(text);
}

static size_t fill_rows(char *text, size_t rows) {
  size_t size = (size_t)sprintf(text, "i,x,y\n");
  for (size_t i = 0; i < rows; i++) {
    size += (size_t)sprintf(text + size, "%zu,%.17g,%d\n", i, sqrt((double)i), -(int)(i % 7));
  }
  return size;
}

static void expect_rows(const oatgp_data *data, size_t rows) {
  assert_int_equal(data->n, rows);
  assert_int_equal(data->d, 2);
  for (size_t i = 0; i < rows; i++) {
    assert_true(data->x[i] == (double)i && data->x[i + rows] == sqrt((double)i) && data->y[i] == -(double)(i % 7));
  }
}

static void large_files_plain_and_gzip(void **state) {
  scratch *s = *state;
  const size_t rows = 100000;
  char *text = malloc(rows * 40);
  assert_non_null(text);
  const size_t size = fill_rows(text, rows);
  s->settings.target = "y";
  write_bytes(s, text, size);
  oatgp_data *plain = must_read(s);
  expect_rows(plain, rows);
  write_gzip(s, text, size);
  oatgp_data *packed = must_read(s);
  expect_rows(packed, rows);
  oatgp_data_free(plain);
  oatgp_data_free(packed);
  free(text);
}

static void refuses_damaged_gzip(void **state) {
  scratch *s = *state;
  const size_t rows = 20000;
  char *text = malloc(rows * 40);
  assert_non_null(text);
  s->settings.target = "y";
  write_gzip(s, text, fill_rows(text, rows));
  size_t size = 0;
  char *packed = read_bytes_back(s, &size);
  const size_t cuts[] = {3, 12, size / 2, size - 9, size - 1};
  for (size_t k = 0; k < LENGTH(cuts); k++) {
    write_bytes(s, packed, cuts[k]);
    must_refuse(s, OATGP_READ, "is truncated");
  }
  packed[size - 6] ^= 1; /* in the checksum */
  write_bytes(s, packed, size);
  must_refuse(s, OATGP_READ, "is damaged");
  packed[size - 6] ^= 1;
  packed[2] = 9; /* an unknown method */
  write_bytes(s, packed, size);
  must_refuse(s, OATGP_READ, "is damaged");
  free(packed);
  free(text);
}

/* Runs with standard input from the file. */
static oatgp_status read_standard_input(scratch *s, oatgp_data **data) {
  const int kept = dup(STDIN_FILENO), file = open(s->path, O_RDONLY);
  assert_true(kept >= 0 && file >= 0);
  assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
  close(file);
  const oatgp_status status = oatgp_data_read(s->ctx, "-", &s->settings, data);
  assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
  close(kept);
  return status;
}

static void reads_standard_input(void **state) {
  scratch *s = *state;
  oatgp_data *data = NULL;
  const char text[] = "a,b\n1,2\n3,4\n";
  s->settings.target = "b";
  write_text(s, text);
  assert_int_equal(read_standard_input(s, &data), OATGP_OK);
  expect_inputs(data, 2, 1, (const double[]){1, 3});
  oatgp_data_free(data);
  data = NULL;
  write_gzip(s, text, sizeof text - 1);
  assert_int_equal(read_standard_input(s, &data), OATGP_OK);
  expect_inputs(data, 2, 1, (const double[]){1, 3});
  oatgp_data_free(data);
  data = NULL;
  write_text(s, "a,b\n1,2\n3,x\n");
  expect_sentence(s, OATGP_DATA, read_standard_input(s, &data), "standard input, line 3, column 'b': 'x'");
  assert_null(data);
}

/* Whatever the threads, the packing and the place of the bad cell, and with rows longer than a part: the same
 * sentence. */
static void a_bad_first_cell_is_found_everywhere(void **state) {
  scratch *s = *state;
  enum { ROWS = 40000, WIDE = 60000 };
  char *text = malloc(64 * ROWS);
  assert_non_null(text);
  for (int wide = 0; wide < 2; wide++) {
    size_t length = (size_t)sprintf(text, "y,b");
    for (int j = 0; wide && j < WIDE; j++) {
      length += (size_t)sprintf(text + length, ",x%d", j);
    }
    for (int i = 0; i < (wide ? 3 : ROWS); i++) {
      length += (size_t)sprintf(text + length, i == 0 ? "\n%d,?" : "\n%d,1.25", i);
      for (int j = 0; wide && j < WIDE; j++) {
        length += (size_t)sprintf(text + length, ",%d.5", j % 10);
      }
    }
    s->settings.target = "y";
    for (int threads = 1; threads <= 4; threads += 3) {
      oatgp_context_set_threads(s->ctx, threads);
      write_bytes(s, text, length);
      must_refuse(s, OATGP_DATA, "line 2, column 'b': '?' is not a number; correct it");
      write_gzip(s, text, length);
      must_refuse(s, OATGP_DATA, "line 2, column 'b': '?' is not a number; correct it");
      oatgp_data *data = NULL;
      expect_sentence(s, OATGP_DATA, read_standard_input(s, &data), "standard input, line 2, column 'b': '?'");
    }
  }
  oatgp_context_set_threads(s->ctx, 1);
  free(text);
}

/* The first 100 rows decide: a text column may have numbers later, and a column without a value there is decided by its
 * first. */
static void the_first_hundred_rows_decide(void **state) {
  scratch *s = *state;
  static const struct {
    const char *early, *late, *refusal;
  } cases[] = {{"x", "1", NULL},
               {"1", "x", "line 102, column 'b': 'x' is not a number"},
               {"", "x",
                "line 2, column 'b': the value is missing; fill it in, or drop such rows with --missing drop, or leave "
                "the column out"},
               {"", "1", "line 2, column 'b': the value is missing"}};
  char text[4096];
  s->settings.target = "y";
  for (size_t k = 0; k < LENGTH(cases); k++) {
    int length = sprintf(text, "y,a,b\n");
    for (int i = 0; i < 300; i++) {
      length += sprintf(text + length, "%d,2,%s\n", i, i < 100 ? cases[k].early : cases[k].late);
    }
    write_bytes(s, text, (size_t)length);
    if (cases[k].refusal != NULL) {
      must_refuse(s, OATGP_DATA, cases[k].refusal);
    } else {
      oatgp_data *data = must_read(s);
      assert_int_equal(data->d, 2);
      assert_int_equal(data->n, 300);
      assert_non_null(strstr(s->said, "1 of 3 columns are categories: 'b' (2 levels)"));
      oatgp_data_free(data);
    }
  }
}

static void reads_a_pipe(void **state) {
  scratch *s = *state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], "a,b\n1,2\n", 8), 8);
  close(ends[1]);
  const int kept = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  close(ends[0]);
  oatgp_data *data = NULL;
  const oatgp_status status = oatgp_data_read(s->ctx, "-", &s->settings, &data);
  dup2(kept, STDIN_FILENO);
  close(kept);
  assert_int_equal(status, OATGP_OK);
  expect_inputs(data, 1, 2, (const double[]){1, 2});
  oatgp_data_free(data);
}

static void refuses_records_without_end(void **state) {
  scratch *s = *state;
  const unsigned piece = 1u << 20;
  char *text = malloc(piece);
  assert_non_null(text);
  memset(text, 'z', piece);
  gzFile file = gzopen(s->path, "wb1");
  assert_non_null(file);
  gzputs(file, "a,b\n1,2\n3,\"");
  for (int k = 0; k < 100; k++) {
    assert_int_equal(gzwrite(file, text, piece), piece);
  }
  assert_int_equal(gzclose(file), Z_OK);
  must_refuse(s, OATGP_DATA, "line 3: the record is longer than 64 MiB; look for a quote that is not closed");
  memset(text, ',', piece);
  write_bytes(s, text, piece);
  must_refuse(s, OATGP_DATA, "line 1: there are too many columns");
  free(text);
}

/* ---- anything at all ------------------------------------------------------------------------------------------- */

static void survives_mutation(void **state) {
  scratch *s = *state;
  static const char *const seeds[] = {"a,b,c,y\n1,2.5,x,4\n-5,6e-3,\"q,\"\"r\"\"\n\",8\n9,NA,z,11\n12,13,w,14\n",
                                      "a\tb\ty\r\n1\t2\t3\r\n4\t5\t6\r\n\r\n7\t8\t9", "1;2;3\r4;5;6\r7;8;9\r",
                                      "\xEF\xBB\xBF\"a\";\"b\"\n\"1\";\" 2 \"\n3;.\n"};
  static const char *const words[] = {"", "", "y", "last", "1", "a", "b,a", "V2"};
  static const char *const headers[] = {"auto", "auto", "yes", "no"}, *const missing[] = {"error", "drop"};
  oat_rng rng;
  oat_rng_seed(&rng, 11);
  char bytes[1024];
  size_t read = 0;
  for (int k = 0; k < 6000; k++) {
    const char *seed = seeds[oat_rng_below(&rng, LENGTH(seeds))];
    memcpy(bytes, seed, strlen(seed));
    const size_t size = mutate(&rng, ",;\t\"\n\r 0.eE-+NAx", bytes, strlen(seed));
    apply(s, words[oat_rng_below(&rng, LENGTH(words))], words[oat_rng_below(&rng, LENGTH(words))],
          headers[oat_rng_below(&rng, LENGTH(headers))], missing[oat_rng_below(&rng, LENGTH(missing))]);
    s->settings.weights = k % 16 == 0 ? "2" : "";
    s->settings.noise_variance = k % 16 == 1 ? "3" : "";
    write_bytes(s, bytes, size);
    read += read_anything(s);
  }
  assert_in_range(read, 100, 5900); /* else the mutations test one side only */
}

static void survives_mutated_gzip(void **state) {
  scratch *s = *state;
  char text[4096], bytes[16384];
  size_t size = 0;
  s->settings.target = "y";
  write_gzip(s, text, fill_rows(text, 100));
  char *packed = read_bytes_back(s, &size);
  assert_in_range(size, 100, 4000);
  oat_rng rng;
  oat_rng_seed(&rng, 13);
  for (int k = 0; k < 1000; k++) {
    memcpy(bytes, packed, size);
    write_bytes(s, bytes, mutate(&rng, "\x1F\x8B\x01\xFF", bytes, size));
    read_anything(s);
  }
  free(packed);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void writes_and_reads_back(void **state) {
  scratch *s = *state;
  const double a[] = {0.1, -1e-300, 12345678901234568.0}, b[] = {1, 2, DBL_MAX};
  const char *const names[] = {"a,\"q\"", " b"};
  const double *const columns[] = {a, b};
  assert_int_equal(oatgp_write_csv(s->ctx, s->path, 3, 2, names, columns), OATGP_OK);
  size_t size = 0;
  char *text = read_bytes_back(s, &size);
  assert_string_equal(text,
                      "\"a,\"\"q\"\"\",\" b\"\n0.1,1\n-1e-300,2\n"
                      "12345678901234568,1.7976931348623157e+308\n");
  free(text);
  s->settings.target = "last";
  oatgp_data *data = must_read(s);
  expect_inputs(data, 3, 1, a);
  expect_column(data->y, 3, b);
  expect_names(data, "a,\"q\"");
  oatgp_data_free(data);
}

static void writes_a_header_alone(void **state) {
  scratch *s = *state;
  const char *const names[] = {"a", "b"};
  const double *const columns[] = {NULL, NULL};
  assert_int_equal(oatgp_write_csv(s->ctx, s->path, 0, 2, names, columns), OATGP_OK);
  size_t size = 0;
  char *text = read_bytes_back(s, &size);
  assert_string_equal(text, "a,b\n");
  free(text);
}

static void refuses_to_write(void **state) {
  scratch *s = *state;
  const double values[] = {1};
  const char *const names[] = {"a"}, *const no_names[] = {NULL};
  const double *const columns[] = {values}, *const no_columns[] = {NULL};
  assert_int_equal(oatgp_write_csv(NULL, s->path, 1, 1, names, columns), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_csv(s->ctx, NULL, 1, 1, names, columns), "path");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_csv(s->ctx, "", 1, 1, names, columns), "path");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_csv(s->ctx, s->path, 1, 0, names, columns), "at least one column");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_csv(s->ctx, s->path, 1, 1, NULL, columns), "names");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_csv(s->ctx, s->path, 1, 1, names, NULL), "values");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_csv(s->ctx, s->path, 1, 1, no_names, columns), "column 1");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_write_csv(s->ctx, s->path, 1, 1, names, no_columns), "column 1");
  char path[160];
  snprintf(path, sizeof path, "%s/none/out.csv", s->folder);
  expect_sentence(s, OATGP_WRITE, oatgp_write_csv(s->ctx, path, 1, 1, names, columns), "No such file or directory");
  if (access("/dev/full", W_OK) == 0) {
    expect_sentence(s, OATGP_WRITE, oatgp_write_csv(s->ctx, "/dev/full", 1, 1, names, columns),
                    "No space left on device");
    const size_t rows = 20000;
    double *many = calloc(rows, sizeof *many);
    const double *const long_column[] = {many};
    expect_sentence(s, OATGP_WRITE, oatgp_write_csv(s->ctx, "/dev/full", rows, 1, names, long_column),
                    "No space left on device");
    free(many);
  }
  assert_int_equal(access(s->path, F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_are_told_apart),
      cmocka_unit_test(known_numbers_are_nearest),
      cmocka_unit_test(random_numbers_are_nearest),
      cmocka_unit_test(long_numbers_are_nearest),
      cmocka_unit_test(numbers_are_written_with_few_digits),
      cmocka_unit_test_setup_teardown(locale_changes_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_tables, set_up, tear_down),
      cmocka_unit_test_setup_teardown(remembers_where_columns_were, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_tables, set_up, tear_down),
      cmocka_unit_test_setup_teardown(sentences_stay_short, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_what_is_no_text, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_what_cannot_be_opened, set_up, tear_down),
      cmocka_unit_test_setup_teardown(records_may_span_windows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(large_files_plain_and_gzip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_damaged_gzip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_standard_input, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_bad_first_cell_is_found_everywhere, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_first_hundred_rows_decide, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_a_pipe, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_records_without_end, set_up, tear_down),
      cmocka_unit_test_setup_teardown(survives_mutation, set_up, tear_down),
      cmocka_unit_test_setup_teardown(survives_mutated_gzip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(writes_and_reads_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(writes_a_header_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_to_write, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
