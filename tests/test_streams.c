/* Files read in parts side by side and rows taken some at a time: the result must be that of one thread that reads
 * record by record. */
#define _DEFAULT_SOURCE /* wait4 */

#include "fits.h"

#include <locale.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <zlib.h>

#include "tables/reader.h"
#include "util/threads.h"

#define MOST_ROWS ((size_t)1 << 40)

/* The way a file is read. */
typedef struct manner {
  int threads;
  size_t part_bytes; /* 0: as usual */
  size_t rows;       /* at a time */
} manner;

static const manner plainly = {1, 0, MOST_ROWS};

/* The result: an error message or all rows, column after column in the order of the columns. */
typedef struct outcome {
  oatgp_status status;
  char error[1024], said[4096];
  size_t rows, columns, dropped;
  double *values; /* row by row */
} outcome;

static void take(outcome *o, const oatgp_data *data) {
  o->columns = oatgp_data_columns(data);
  o->values = realloc(o->values, (o->rows + data->n) * o->columns * sizeof(double));
  assert_non_null(o->values);
  for (size_t i = 0; i < data->n; i++) {
    for (size_t k = 0; k < o->columns; k++) {
      o->values[(o->rows + i) * o->columns + k] = oat_data_column(data, k).a[i];
    }
  }
  o->rows += data->n;
  o->dropped += oatgp_data_dropped_rows(data);
}

static oatgp_status read_all(scratch *s, const oat_columns *wanted, const manner *m, outcome *o) {
  oat_reader reader;
  oatgp_data *data = NULL;
  oatgp_status status = oat_reader_open(s->ctx, s->path, wanted, &s->settings, &reader);
  if (m->part_bytes > 0) {
    reader.csv.part_bytes = m->part_bytes;
  }
  do {
    oatgp_data_free(data);
    data = NULL;
    if (status == OATGP_OK) {
      status = oat_reader_next(s->ctx, &reader, m->rows, &data);
    }
    if (data != NULL) {
      assert_true(data->n <= m->rows);
      take(o, data);
    }
  } while (data != NULL);
  oat_reader_close(&reader);
  return status;
}

static outcome read_in_manner(scratch *s, const oat_columns *wanted, const manner *m) {
  outcome o = {0};
  s->said[0] = '\0';
  s->ctx->error[0] = '\0';
  oatgp_context_set_threads(s->ctx, m->threads);
  o.status = read_all(s, wanted, m, &o);
  oatgp_context_set_threads(s->ctx, 1);
  snprintf(o.error, sizeof o.error, "%s", o.status != OATGP_OK ? s->ctx->error : "");
  snprintf(o.said, sizeof o.said, "%s", s->said);
  return o;
}

static void expect_same(const outcome *a, const outcome *b) {
  if (a->status != b->status || strcmp(a->error, b->error) != 0) {
    fail_msg("status %d '%s' in one manner, %d '%s' in another", (int)a->status, a->error, (int)b->status, b->error);
  }
  assert_string_equal(a->said, b->said);
  if (a->status == OATGP_OK) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->dropped, b->dropped);
    assert_memory_equal(a->values, b->values, a->rows * a->columns * sizeof(double));
  }
}

/* Reads plainly and in the other manners; returns whether there was a table. */
static bool compare(scratch *s, const oat_columns *wanted, const manner *manners, size_t count) {
  outcome first = read_in_manner(s, wanted, &plainly);
  for (size_t k = 0; k < count; k++) {
    outcome other = read_in_manner(s, wanted, &manners[k]);
    expect_same(&first, &other);
    free(other.values);
  }
  free(first.values);
  return first.status == OATGP_OK;
}

/* ---- small files in very small parts --------------------------------------------------------------------------- */

static const char *const seeds[] = {
    "a,b,c,y\n1,2.5,x,4\n-5,6e-3,\"q,\"\"r\"\"\n\n\",8\n9,NA,z,11\n12,13,w,14\n15,16,v,17\n18,,\"u\",20\n21,22,t,23\n",
    "a\tb\ty\r\n1\t2\t3\r\n4\t5\t6\r\n\r\n7\t8\t9\r\n10\t11\t12\r\n13\t14\t15\r\n \r\n16\t17\t18",
    "1;2;3\r4;5;6\r7;8;9\r10;11;12\r",
    "\"1\",2,,\n\"3\",4,,\n\"5\",6,,\n\"7\",8,x,\n\"9\",10,,\n,11,,\n12,13,,\n",
    "\xEF\xBB\xBF\"a\";\"b\"\n\"1\";\" 2 \"\n3;.\n4; 5\n\"6\n6\";7\n8;9\n10;0.1234567890123456789012345\n",
    "t,a\n\"one\ntwo\nthree\n\",1\n\"four\",2\n\"five\n\"\"six\n\"\"\",3\nseven,4\n\"eight\n\n\n\",5\nnine,6\n",
};

static void parts_change_nothing(void **state) {
  scratch *s = *state;
  static const char *const words[] = {"", "", "y", "last", "1", "a", "b,a", "V2"};
  static const char *const headers[] = {"auto", "auto", "yes", "no"}, *const missing[] = {"error", "drop", "drop"};
  static const manner manners[] = {{1, 7, MOST_ROWS}, {2, 1, MOST_ROWS}, {3, 16, MOST_ROWS}, {2, 40, MOST_ROWS}};
  oat_rng rng;
  oat_rng_seed(&rng, 17);
  char bytes[1024];
  size_t read = 0;
  const int rounds = (int)amount(1000, 300, 200);
  for (int k = 0; k < rounds; k++) {
    const char *seed = seeds[oat_rng_below(&rng, LENGTH(seeds))];
    memcpy(bytes, seed, strlen(seed));
    const size_t size = k % 3 == 0 ? strlen(seed) : mutate(&rng, ",;\t\"\n\r 0.eE-+NAx", bytes, strlen(seed));
    s->settings.target = k % 2 == 0 ? "last" : words[oat_rng_below(&rng, LENGTH(words))];
    s->settings.inputs = k % 2 == 0 ? "" : words[oat_rng_below(&rng, LENGTH(words))];
    s->settings.header = headers[oat_rng_below(&rng, LENGTH(headers))];
    s->settings.missing = missing[oat_rng_below(&rng, LENGTH(missing))];
    s->settings.weights = k % 16 == 0 ? "2" : "";
    write_bytes(s, bytes, size);
    read += compare(s, NULL, manners, LENGTH(manners));
  }
  assert_in_range(read, rounds / 10, rounds - rounds / 10); /* else the mutations test one side only */
}

/* Columns by name, as for a model: rows can be taken before the file ends. */
static void rows_some_at_a_time(void **state) {
  scratch *s = *state;
  char *names[] = {(char[]){"a"}, (char[]){"y"}};
  const oat_columns wanted = {.d = 2, .names = names, .header = true, .target = "b"};
  static const manner manners[] = {{1, 0, 1}, {2, 5, 2}, {1, 9, 3}, {3, 30, 4}, {1, 0, 1000}};
  static const char *const texts[] = {
      "a,b,y\n1,2,3\n4,5,6\n7,8,9\n10,11,12\n13,14,15\n16,17,18\n19,20,21\n",
      "y,a\n1,2\nNA,3\n4,\n\"5\",6\n7,NA\nNA,NA\n8,9\n",
      "y,a\nNA,3\n4,\n",
      "y,a\n\n",
      "y,a,t\n1,2,\"\n\n\"\n3,4,\"\n\"\n5,6,7\n8,9,x\n10,nine,11\n",
  };
  for (size_t k = 0; k < 2 * LENGTH(texts); k++) {
    s->settings.missing = k % 2 == 0 ? "error" : "drop";
    write_text(s, texts[k / 2]);
    compare(s, &wanted, manners, LENGTH(manners));
  }
}

/* ---- large files ----------------------------------------------------------------------------------------------- */

typedef struct text {
  char *bytes;
  size_t size;
} text;

/* So many lines; in quotes, text with line ends in every `quotes`-th, a number of too many digits for a short way in
 * every seventh. */
static text make_text(size_t rows, size_t quotes) {
  text t = {malloc(rows * 120 + 100), 0};
  assert_non_null(t.bytes);
  t.size = (size_t)sprintf(t.bytes, "t,a,b,y\n");
  for (size_t i = 0; i < rows; i++) {
    const bool quoted = quotes > 0 && i % quotes == 0;
    t.size += (size_t)sprintf(t.bytes + t.size, "%s,%.17g,%s%zu,%d\n", quoted ? "\"x,\n\n1,2,3,4\n\"\"\"" : "x",
                              sin((double)i), i % 7 == 0 ? "0.3333333333333333333333333333" : "", i, -(int)(i % 5));
  }
  return t;
}

static const manner large_manners[] = {{2, 0, MOST_ROWS}, {3, 0, MOST_ROWS}, {4, 10000, MOST_ROWS}};

static void large_files_in_parts(void **state) {
  scratch *s = *state;
  const size_t quotes[] = {0, 1, 3, 5000};
  s->settings.target = "y";
  for (size_t k = 0; k < LENGTH(quotes); k++) {
    text t = make_text(amount(60000, 20000, 10000), quotes[k]);
    write_bytes(s, t.bytes, t.size);
    assert_true(compare(s, NULL, large_manners, LENGTH(large_manners)));
    write_gzip(s, t.bytes, t.size);
    assert_true(compare(s, NULL, large_manners, 1));
    free(t.bytes);
  }
}

/* Records so long that more is left of a window than there is room for in front of what was read ahead. */
static void long_records_among_short_ones(void **state) {
  scratch *s = *state;
  enum { LONG = 300000, ROWS = 40000 };
  text t = {malloc(ROWS * 40 + 4 * LONG), 0};
  assert_non_null(t.bytes);
  t.size = (size_t)sprintf(t.bytes, "t,a,y\n");
  for (size_t i = 0; i < ROWS; i++) {
    if (i % 15000 == 14000) {
      t.bytes[t.size] = '"';
      memset(t.bytes + t.size + 1, i == 14000 ? '\n' : 'z', LONG);
      t.bytes[t.size + 1 + LONG] = '"';
      t.size += LONG + 2;
    }
    t.size += (size_t)sprintf(t.bytes + t.size, ",%.17g,%zu\n", cos((double)i), i);
  }
  s->settings.target = "y";
  write_bytes(s, t.bytes, t.size);
  assert_true(compare(s, NULL, large_manners, LENGTH(large_manners)));
  write_gzip(s, t.bytes, t.size);
  assert_true(compare(s, NULL, large_manners, LENGTH(large_manners)));
  free(t.bytes);
}

/* What was read ahead can fail, too: the sentence is the same. */
static void packed_files_that_end_early(void **state) {
  scratch *s = *state;
  text t = make_text(60000, 0);
  size_t size = 0;
  s->settings.target = "y";
  write_gzip(s, t.bytes, t.size);
  char *packed = read_bytes_back(s, &size);
  write_bytes(s, packed, size - size / 4);
  for (size_t k = 0; k < LENGTH(large_manners); k++) {
    outcome o = read_in_manner(s, NULL, &large_manners[k]);
    expect_sentence(s, OATGP_READ, o.status, "is truncated: its gzip data end too early");
    free(o.values);
  }
  assert_false(compare(s, NULL, large_manners, LENGTH(large_manners)));
  free(packed);
  free(t.bytes);
}

static void expect_error(scratch *s, const char *piece) {
  for (size_t k = 0; k < LENGTH(large_manners); k++) {
    outcome o = read_in_manner(s, NULL, &large_manners[k]);
    expect_sentence(s, OATGP_DATA, o.status, piece);
    free(o.values);
  }
  compare(s, NULL, large_manners, LENGTH(large_manners));
}

/* The first error counts, wherever the others are, and has the right line. */
static void first_error_of_many(void **state) {
  scratch *s = *state;
  text t = make_text(60000, 3);
  s->settings.target = "y";
  char *late = strstr(t.bytes, "50000,0\n"), *early = strstr(t.bytes, "40000,0\n");
  assert_true(late != NULL && early != NULL && early < late);
  *late = 'X';
  write_bytes(s, t.bytes, t.size);
  expect_error(
      s, "line 100003, column 'b': 'X0000' is not a number"); /* a header, and three more lines for each third row */
  *early = ',';
  write_bytes(s, t.bytes, t.size);
  expect_error(s, "line 80004: 5 cells, but the first record has 4");
  strstr(t.bytes, "30000,0\n")[0] = '\0';
  write_bytes(s, t.bytes, t.size);
  expect_error(s, "is not a table: its byte ");
  free(t.bytes);
}

/* Every thread calls strtod, and none may use the locale of the process. */
static void threads_know_the_decimal_point(void **state) {
  scratch *s = *state;
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL || strcmp(localeconv()->decimal_point, ",") != 0) {
    skip();
  }
  text t = make_text(60000, 0);
  s->settings.target = "y";
  write_bytes(s, t.bytes, t.size);
  outcome german = read_in_manner(s, NULL, &large_manners[1]);
  setlocale(LC_ALL, "C");
  outcome plain = read_in_manner(s, NULL, &plainly);
  expect_same(&plain, &german);
  free(t.bytes);
  free(german.values);
  free(plain.values);
}

/* ---- .npy ------------------------------------------------------------------------------------------------------ */

static void npy_some_rows_at_a_time(void **state) {
  scratch *s = *state;
  const size_t n = 100000;
  char *names[] = {(char[]){"p"}, (char[]){"q"}, (char[]){"r"}};
  const oat_columns wanted = {.d = 3, .names = names};
  static const manner manners[] = {{1, 0, 512}, {1, 0, 99999}, {2, 0, 65536}};
  double *x = calloc(3 * n, sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < 3 * n; i++) {
    x[i] = sqrt((double)i);
  }
  assert_int_equal(oatgp_write_npy(s->ctx, s->path, n, 3, x), OATGP_OK);
  assert_true(compare(s, &wanted, manners, LENGTH(manners)));
  outcome o = read_in_manner(s, &wanted, &plainly);
  assert_int_equal(o.rows, n);
  assert_memory_equal(o.values, x, 3 * n * sizeof *x);
  free(o.values);
  x[200000] = NAN;
  assert_int_equal(oatgp_write_npy(s->ctx, s->path, n, 3, x), OATGP_OK);
  o = read_in_manner(s, &wanted, &manners[0]);
  expect_sentence(s, OATGP_DATA, o.status, "row 66667, column 'V3': the value is missing");
  free(o.values);
  s->settings.missing = "drop";
  assert_true(compare(s, &wanted, manners, LENGTH(manners)));
  free(x);
}

/* Several steps of several pieces, by rows or by columns: values that must be looked at are found in their order. */
static void large_npy_files(void **state) {
  scratch *s = *state;
  if (under_valgrind()) {
    skip();
  }
  enum { N = 1600000 };
  static const manner manners[] = {{2, 0, MOST_ROWS}, {3, 0, MOST_ROWS}, {4, 0, MOST_ROWS}};
  double *x = calloc(3 * N, sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < 3 * N; i++) {
    x[i] = sqrt((double)i);
  }
  for (int by_columns = 0; by_columns <= 1; by_columns++) {
    char header[129];
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    const char *order = by_columns ? "True" : "False";
    snprintf(header + 10, sizeof header - 10, "%-117s\n",
             by_columns ? "{'descr': '<f8', 'fortran_order': True, 'shape': (1600000, 3), }"
                        : "{'descr': '<f8', 'fortran_order': False, 'shape': (1600000, 3), }");
    assert_non_null(strstr(header + 10, order));
    for (int wrong = 0; wrong <= 2; wrong++) {
      x[2500000] = wrong >= 1 ? INFINITY : 1;
      x[1700000] = wrong >= 2 ? NAN : 1;
      unlink(s->path);
      FILE *file = fopen(s->path, "wb");
      assert_non_null(file);
      assert_true(fwrite(header, 1, 128, file) == 128 && fwrite(x, sizeof *x, 3 * N, file) == 3 * N &&
                  fclose(file) == 0);
      assert_true(compare(s, NULL, manners, LENGTH(manners)) == (wrong == 0));
    }
    s->settings.missing = "drop";
    x[2500000] = 1;
  }
  free(x);
}

/* What is written is read again, bit for bit and in the order that is promised. */
static void data_as_npy(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  s->settings.weights = "w";
  s->settings.inputs = "b,a";
  s->settings.noise_variance = "v";
  write_text(s, "w,a,v,y,b\n1,0.1,0,7,1e-300\n2,0.2,0.5,8,-3\n");
  oatgp_data *data = must_read(s);
  const char *const names[] = {"b", "a", "y", "w", "v"};
  const char *const roles[] = {"input", "input", "target", "weights", "noise variance"};
  assert_int_equal(oatgp_data_columns(data), LENGTH(names));
  for (size_t k = 0; k < LENGTH(names); k++) {
    assert_string_equal(oatgp_data_column_name(data, k), names[k]);
    assert_string_equal(oatgp_data_column_role(data, k), roles[k]);
  }
  assert_null(oatgp_data_column_name(data, LENGTH(names)));
  assert_null(oatgp_data_column_role(data, LENGTH(names)));
  assert_int_equal(oatgp_data_columns(NULL), 0);
  assert_null(oatgp_data_column_name(NULL, 0));
  assert_null(oatgp_data_column_role(NULL, 0));
  assert_int_equal(oatgp_data_write_npy(s->ctx, data, s->path), OATGP_OK);
  assert_non_null(strstr(s->said, "a model fitted to that file would read the wrong columns"));
  oatgp_data_free(data);
  oatgp_settings_default(&s->settings);
  data = must_read(s);
  expect_inputs(data, 2, 5, (const double[]){1e-300, 0.1, 7, 1, 0, -3, 0.2, 8, 2, 0.5});
  assert_int_equal(oatgp_data_write_npy(NULL, data, s->path), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_write_npy(s->ctx, NULL, s->path), "NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_write_npy(s->ctx, data, ""), "path");
  oatgp_data_free(data);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void rows_written_some_at_a_time(void **state) {
  scratch *s = *state;
  const size_t n = 40000, cuts[] = {1, 511, 512, 20000, 40000};
  const char *const names[] = {"a", "b"};
  double *values = calloc(2 * n, sizeof *values);
  assert_non_null(values);
  for (size_t i = 0; i < 2 * n; i++) {
    values[i] = exp(sin((double)i) * 300);
  }
  const double *const all[] = {values, values + n};
  assert_int_equal(oatgp_write_csv(s->ctx, s->path, n, 2, names, all), OATGP_OK);
  size_t size = 0, again = 0;
  char *whole = read_bytes_back(s, &size);
  for (int threads = 1; threads <= 3; threads++) {
    oatgp_context_set_threads(s->ctx, threads);
    oatgp_csv *csv = NULL;
    assert_int_equal(oatgp_csv_open(s->ctx, s->path, 2, names, &csv), OATGP_OK);
    for (size_t k = 0, from = 0; k < LENGTH(cuts); from = cuts[k++]) {
      const double *const some[] = {values + from, values + n + from};
      assert_int_equal(oatgp_csv_append(s->ctx, csv, cuts[k] - from, some), OATGP_OK);
    }
    assert_int_equal(oatgp_csv_close(s->ctx, csv, 1), OATGP_OK);
    char *parts = read_bytes_back(s, &again);
    assert_int_equal(size, again);
    assert_memory_equal(whole, parts, size);
    free(parts);
  }
  free(whole);
  free(values);
}

static void a_table_that_is_not_kept(void **state) {
  scratch *s = *state;
  const char *const names[] = {"a"};
  const double value = 1;
  const double *const values[] = {&value}, *const none[] = {NULL};
  oatgp_csv *csv = NULL;
  assert_int_equal(oatgp_csv_open(s->ctx, s->path, 1, names, &csv), OATGP_OK);
  assert_int_equal(oatgp_csv_append(s->ctx, csv, 1, values), OATGP_OK);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_csv_append(s->ctx, csv, 1, none),
                  "column 1 of the table to write has no values");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_csv_append(s->ctx, csv, 1, NULL), "values");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_csv_append(s->ctx, NULL, 1, values), "table");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_csv_open(s->ctx, s->path, 1, names, NULL), "NULL");
  assert_int_equal(oatgp_csv_close(s->ctx, csv, 0), OATGP_OK);
  assert_int_equal(oatgp_csv_close(s->ctx, NULL, 1), OATGP_OK);
  assert_int_equal(access(s->path, F_OK), -1); /* and tear_down sees that nothing else is left */
}

/* ---- predictions ----------------------------------------------------------------------------------------------- */

typedef struct predictions {
  size_t n;
  double *mean, *latent, *observed; /* one block */
} predictions;

static predictions new_predictions(size_t n) {
  double *block = calloc(3 * n, sizeof *block);
  assert_non_null(block);
  return (predictions){n, block, block + n, block + 2 * n};
}

/* Predicts the file, so many rows at a time, with variances or the mean alone. */
static predictions predict_file(scratch *s, const oatgp_model *model, size_t rows, bool with_variances) {
  predictions p = new_predictions(10000);
  oatgp_stream *stream = NULL;
  oatgp_data *data = NULL;
  must(s, oatgp_stream_open(s->ctx, s->path, model, &s->settings, 0, &stream));
  p.n = 0;
  for (;;) {
    must(s, oatgp_stream_next(s->ctx, stream, rows, &data));
    if (data == NULL) {
      break;
    }
    const oatgp_prediction out = {p.mean + p.n, p.latent + p.n, p.observed + p.n};
    must(s,
         with_variances ? oatgp_predict(s->ctx, model, data, &out) : oatgp_predict_mean(s->ctx, model, data, out.mean));
    p.n += oatgp_data_rows(data);
    oatgp_data_free(data);
    data = NULL;
  }
  oatgp_stream_free(stream);
  return p;
}

static void expect_same_predictions(scratch *s, const oatgp_model *model, const predictions *whole, size_t rows,
                                    bool with_variances) {
  predictions p = predict_file(s, model, rows, with_variances);
  assert_int_equal(p.n, whole->n);
  assert_memory_equal(p.mean, whole->mean, 30000 * sizeof(double));
  free(p.mean);
}

static void write_points(scratch *s, size_t n) {
  char *bytes = calloc(n, 64);
  assert_non_null(bytes);
  size_t size = (size_t)sprintf(bytes, "x1,x2\n");
  for (size_t i = 0; i < n; i++) {
    size += (size_t)sprintf(bytes + size, "%.17g,%.17g\n", 2 * sin((double)i), 2 * cos(1.7 * (double)i));
  }
  write_bytes(s, bytes, size);
  free(bytes);
}

/* The same bits in whatever multiples of 512 rows, on whatever number of threads; the cheap mean is the mean. */
static void streams_predict_the_same(void **state) {
  scratch *s = *state;
  static const struct {
    const char *approx, *knots, *mean;
  } models[] = {{"vfe", "20", "mean"}, {"fitc", "70", "linear"}, {"dic", "130", "fit"}, {"full", "", "mean"}};
  oatgp_data *data = wavy_data(s, 300, 2, 0.1, 3);
  s->settings.max_iter = 5;
  const size_t rows = amount(4999, 2500, 1100);
  write_points(s, rows);
  for (size_t k = 0; k < LENGTH(models); k++) {
    s->settings.approx = models[k].approx;
    s->settings.knots = models[k].knots;
    s->settings.mean = models[k].mean;
    oatgp_model *model = must_fit(s, data, NULL);
    predictions all = predict_file(s, model, MOST_ROWS, true), mean = predict_file(s, model, MOST_ROWS, false);
    assert_int_equal(all.n, rows);
    for (int threads = 1; threads <= 3; threads += 2) {
      oatgp_context_set_threads(s->ctx, threads);
      expect_same_predictions(s, model, &all, 512, true);
      expect_same_predictions(s, model, &all, 4096, true);
      expect_same_predictions(s, model, &mean, 512, false);
      expect_same_predictions(s, model, &mean, 4096, false);
    }
    oatgp_context_set_threads(s->ctx, 1);
    for (size_t i = 0; i < all.n; i++) {
      assert_near(mean.mean[i], all.mean[i], 1e-9);
    }
    free(all.mean);
    free(mean.mean);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* The same file, packed. */
static void pack_points(const scratch *s, char *packed, size_t room) {
  snprintf(packed, room, "%s.gz", s->path);
  FILE *from = fopen(s->path, "rb");
  gzFile to = gzopen(packed, "wb");
  assert_true(from != NULL && to != NULL);
  for (int c = fgetc(from); c != EOF; c = fgetc(from)) {
    assert_int_equal(gzputc(to, c), c);
  }
  assert_int_equal(gzclose(to), Z_OK);
  fclose(from);
}

/* After each part, the rows so far and their share of the file give the number of all rows. */
static void expect_share(scratch *s, const char *path, const oatgp_model *model, size_t n) {
  oatgp_stream *stream = NULL;
  oatgp_data *data = NULL;
  size_t rows = 0;
  must(s, oatgp_stream_open(s->ctx, path, model, &s->settings, 0, &stream));
  for (must(s, oatgp_stream_next(s->ctx, stream, 2048, &data)); data != NULL;
       must(s, oatgp_stream_next(s->ctx, stream, 2048, &data))) {
    rows += oatgp_data_rows(data);
    oatgp_data_free(data);
    data = NULL;
    assert_near((double)rows / oatgp_stream_share(stream) / (double)n, 1, 0.05);
  }
  assert_int_equal(rows, n);
  assert_near(oatgp_stream_share(stream), 1, 1e-12);
  oatgp_stream_free(stream);
}

static void streams_know_their_share(void **state) {
  scratch *s = *state;
  const size_t n = amount(100000, 50000, 20000);
  char packed[sizeof s->path + 3];
  oatgp_data *data = wavy_data(s, 50, 2, 0.1, 3);
  s->settings.max_iter = 0;
  s->settings.knots = "5";
  oatgp_model *model = must_fit(s, data, NULL);
  write_points(s, n);
  pack_points(s, packed, sizeof packed);
  for (int threads = 1; threads <= 3; threads++) {
    oatgp_context_set_threads(s->ctx, threads);
    expect_share(s, s->path, model, n);
    expect_share(s, packed, model, n);
  }
  assert_true(isnan(oatgp_stream_share(NULL)));
  remove(packed);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void the_cheap_mean_refuses(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 50, 2, 0.1, 3), *wide = wavy_data(s, 3, 3, 0.1, 3);
  const char *const names[] = {"u", "v", "w"};
  double mean[50];
  s->settings.max_iter = 0;
  s->settings.knots = "5";
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_data_set_names(s->ctx, wide, names, NULL));
  assert_int_equal(oatgp_predict_mean(NULL, model, data, mean), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_mean(s->ctx, NULL, data, mean), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_mean(s->ctx, model, NULL, mean), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_mean(s->ctx, model, data, NULL), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_predict_mean(s->ctx, model, wide, mean), "none of them 'x1'");
  oatgp_model_free(model);
  oatgp_data_free(wide);
  oatgp_data_free(data);
}

static void streams_refuse(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 50, 2, 0.1, 3), *rows = NULL;
  oatgp_stream *stream = NULL;
  s->settings.max_iter = 0;
  s->settings.knots = "5";
  oatgp_model *model = must_fit(s, data, NULL);
  write_text(s, "x1,x2\n1,2\n3,4\nx,6\n");
  assert_int_equal(oatgp_stream_open(NULL, s->path, model, &s->settings, 0, &stream), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_open(s->ctx, NULL, model, &s->settings, 0, &stream),
                  "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_open(s->ctx, s->path, NULL, &s->settings, 0, &stream),
                  "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_open(s->ctx, s->path, model, NULL, 0, &stream), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_open(s->ctx, s->path, model, &s->settings, 0, NULL),
                  "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_open(s->ctx, s->path, model, &s->settings, 1, &stream),
                  "the target is missing");
  assert_null(stream);
  must(s, oatgp_stream_open(s->ctx, s->path, model, &s->settings, 0, &stream));
  assert_int_equal(oatgp_stream_next(NULL, stream, 1, &rows), OATGP_ARGUMENT);
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_next(s->ctx, NULL, 1, &rows), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_next(s->ctx, stream, 0, &rows), "at least one row");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_stream_next(s->ctx, stream, 1, NULL), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_stream_next(s->ctx, stream, 1, &rows),
                  "line 4, column 'x1': 'x' is not a number");
  assert_null(rows);
  oatgp_stream_free(stream);
  oatgp_stream_free(NULL);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* ---- memory of the command ------------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
#define FREED_MEMORY_IS_KEPT 1 /* by the sanitizer, for a while */
#else
#define FREED_MEMORY_IS_KEPT 0
#endif

/* The most memory, in kilobytes, that the command has when it predicts the file. */
static long memory_to_predict(const scratch *s, const char *model) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    execl(OATGP_COMMAND, "oatgp", "predict", model, s->path, "-o", "/dev/null", "--quiet", "--mean-only", "--threads",
          "2", (char *)NULL);
    _exit(127);
  }
  int status = 0;
  struct rusage usage;
  assert_int_equal(wait4(child, &status, 0, &usage), child);
  assert_int_equal(status, 0);
  return usage.ru_maxrss;
}

enum { PIECE = 1000 };

/* So many rows of one input, as text or as .npy, and returns their bytes. */
static size_t make_piece(bool npy, char *bytes) {
  size_t length = 0;
  for (size_t i = 0; i < PIECE; i++) {
    const double x = (double)i / (PIECE / 2) - 1;
    if (npy) {
      memcpy(bytes + length, &x, sizeof x);
      length += sizeof x;
    } else {
      length += (size_t)sprintf(bytes + length, "%.3f\n", x);
    }
  }
  return length;
}

/* Piece by piece, for what this process holds when a child begins counts as the child's. */
static void write_many_rows(const scratch *s, size_t rows, bool npy) {
  char piece[PIECE * 8], header[119];
  const size_t length = make_piece(npy, piece);
  FILE *file = fopen(s->path, "wb");
  assert_non_null(file);
  if (npy) {
    snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, 1), }", rows);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fprintf(file, "%-117s\n", header);
  } else {
    fputs("x1\n", file);
  }
  for (size_t i = 0; i < rows; i += PIECE) {
    fwrite(piece, 1, length, file);
  }
  assert_int_equal(fclose(file), 0);
}

/* If a file is cut while it is read, the rows read may be a mixture. */
static void files_that_change(void **state) {
  scratch *s = *state;
  s->settings.threads = 1; /* more of them read more at a time */
  oatgp_context_set_threads(s->ctx, 1);
  for (int npy = 0; npy < 2; npy++) {
    oatgp_data *shape = NULL, *data = NULL;
    oatgp_stream *stream = NULL;
    oatgp_status status = OATGP_OK;
    write_many_rows(s, 200 * PIECE, npy);
    must(s, oatgp_data_look(s->ctx, s->path, &s->settings, &shape));
    must(s, oatgp_stream_open_like(s->ctx, s->path, shape, &s->settings, &stream));
    must(s, oatgp_stream_next(s->ctx, stream, 10, &data));
    assert_int_equal(truncate(s->path, 700000), 0);
    do {
      oatgp_data_free(data);
      data = NULL;
      status = oatgp_stream_next(s->ctx, stream, 1000, &data);
    } while (status == OATGP_OK && data != NULL);
    expect_sentence(s, OATGP_READ, status, "has changed while it was read; do not change it before the work is done");
    oatgp_data_free(shape);
    oatgp_stream_free(stream);
  }
}

static void memory_does_not_grow_with_the_rows(void **state) {
  scratch *s = *state;
  if (FREED_MEMORY_IS_KEPT || under_valgrind()) { /* whose own memory counts as the child's before it begins */
    skip();
  }
  char path[160];
  snprintf(path, sizeof path, "%s/model", s->folder);
  oatgp_data *data = wavy_data(s, 50, 1, 0.1, 3);
  s->settings.max_iter = 0;
  s->settings.knots = "5";
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_model_save(s->ctx, model, path));
  for (int npy = 0; npy <= 1; npy++) {
    write_many_rows(s, 5000000, npy == 1); /* enough for the longest steps that two threads take */
    const long before = memory_to_predict(s, path);
    write_many_rows(s, 12000000, npy == 1);
    const long after = memory_to_predict(s, path);
    if (after - before > 25000) { /* one column of as many doubles more is 56 MB */
      fail_msg("%ld kB for five million rows, %ld kB for twelve", before, after);
    }
  }
  unlink(path);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(parts_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(rows_some_at_a_time, set_up, tear_down),
      cmocka_unit_test_setup_teardown(large_files_in_parts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(long_records_among_short_ones, set_up, tear_down),
      cmocka_unit_test_setup_teardown(packed_files_that_end_early, set_up, tear_down),
      cmocka_unit_test_setup_teardown(first_error_of_many, set_up, tear_down),
      cmocka_unit_test_setup_teardown(threads_know_the_decimal_point, set_up, tear_down),
      cmocka_unit_test_setup_teardown(npy_some_rows_at_a_time, set_up, tear_down),
      cmocka_unit_test_setup_teardown(large_npy_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(data_as_npy, set_up, tear_down),
      cmocka_unit_test_setup_teardown(rows_written_some_at_a_time, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_table_that_is_not_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(streams_predict_the_same, set_up, tear_down),
      cmocka_unit_test_setup_teardown(streams_know_their_share, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_cheap_mean_refuses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(streams_refuse, set_up, tear_down),
      cmocka_unit_test_setup_teardown(files_that_change, set_up, tear_down),
      cmocka_unit_test_setup_teardown(memory_does_not_grow_with_the_rows, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
