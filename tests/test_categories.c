/* Categories: levels of text columns, however the file is read, and how models know them again. */
#include "data_files.h"

#include <math.h>

#include "data/levels.h"
#include "fits.h"
#include "kernel/kernel.h"

/* ---- levels ---------------------------------------------------------------------------------------------------- */

static void expect_levels(const oatgp_data *data, size_t input, const char *joined) {
  char text[256] = "";
  for (size_t i = 0; i < oatgp_data_level_count(data, input); i++) {
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? "|" : "",
             oatgp_data_level(data, input, i));
  }
  assert_string_equal(text, joined);
}

static void levels_are_found_again(void **state) {
  scratch *s = *state;
  oat_levels levels = {0};
  char text[16];
  size_t code;
  for (size_t i = 0; i < 3000; i++) {
    const int length = sprintf(text, "%zu", i % 1000);
    assert_int_equal(oat_levels_take(s->ctx, &levels, text, (size_t)length, &code), OATGP_OK);
    assert_int_equal(code, i % 1000);
  }
  assert_int_equal(levels.count, 1000);
  assert_int_equal(oat_levels_find(&levels, "999", 3), 999);
  assert_int_equal(oat_levels_find(&levels, "999", 2), 99); /* the text ends where its length says */
  assert_int_equal(oat_levels_find(&levels, "1000", 4), OAT_NO_LEVEL);
  oat_levels_clear(&levels);
}

static void there_is_a_most(void **state) {
  scratch *s = *state;
  oat_levels levels = {0};
  char text[16];
  size_t code = 0;
  for (size_t i = 0; i <= OAT_MOST_LEVELS; i++) {
    assert_int_equal(oat_levels_take(s->ctx, &levels, text, (size_t)sprintf(text, "%zu", i), &code), OATGP_OK);
  }
  assert_int_equal(code, OAT_NO_LEVEL);
  assert_int_equal(levels.count, OAT_MOST_LEVELS);
  oat_levels_clear(&levels);
}

/* ---- from files ------------------------------------------------------------------------------------------------ */

typedef struct case_of {
  const char *text, *factors, *missing, *levels;
  size_t n;
  double x[8];
  const char *said;
} case_of;

static const case_of tables[] = {
    /* numbers first, by their values, then texts, by their bytes */
    {"y,c\n1,b\n2,a\n3,a\n4,b\n", "", "error", "a|b", 4, {1, 0, 0, 1}, "1 of 2 columns are categories: 'c' (2 levels)"},
    {"y,c\n1,b\n2,10\n3,b\n4,9\n5,B\n6,B\n7,10\n8,9\n9,b\n",
     "",
     "error",
     "9|10|B|b",
     9,
     {3, 1, 3, 0, 2, 2, 1, 0},
     "treated as text"},
    {"y,c\n1,10\n2,9\n3,1e1\n4,09\n5,10.0\n6,9.5\n", "c", "error", "9|9.5|10", 6, {2, 0, 2, 0, 2, 1}, "'c' (3 levels)"},
    /* quotes, blanks, encodings */
    {"y,c\n1,\"a b\"\n2, a b \n3,\"a \"\"b\"\"\"\n4,\"a \"\"b\"\"\"\n",
     "",
     "error",
     "a \"b\"|a b",
     4,
     {1, 1, 0, 0},
     ""},
    {"y,c\n1,\xE4\n2,\xC3\xA4\n3,x\n4,x\n", "", "error", "x|\xC3\xA4", 4, {1, 1, 0, 0}, ""},
    /* missing texts */
    {"y,c\n1,b\n2,\n3,a\n4,b\n5,a\n", "", "drop", "a|b", 4, {1, 0, 1, 0}, "dropped 1 of 5 rows"},
    {"y,c\n1,\n2,b\n3,a\n4,b\n5,a\n6,NA\n", "", "drop", "a|b", 4, {1, 0, 1, 0}, "dropped 2 of 6 rows"},
};

static void reads_categories(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  for (size_t k = 0; k < LENGTH(tables); k++) {
    const case_of *t = &tables[k];
    s->settings.factors = t->factors;
    s->settings.missing = t->missing;
    write_text(s, t->text);
    oatgp_data *data = must_read(s);
    assert_int_equal(data->d, 1);
    assert_int_equal(data->n, t->n);
    expect_levels(data, 0, t->levels);
    for (size_t i = 0; i < t->n && i < LENGTH(t->x); i++) {
      assert_true(data->x[i] == t->x[i]);
    }
    if (strstr(s->said, t->said) == NULL) {
      fail_msg("table %zu: said '%s'", k, s->said);
    }
    oatgp_data_free(data);
  }
}

static void names_of_rows_are_no_category(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  write_text(s, "y,id,c,x\n1,p,a,1\n2,q,a,2\n3,r,b,3\n4,q,b,5\n");
  oatgp_data *data = must_read(s);
  expect_names(data, "c,x");
  expect_levels(data, 0, "a|b");
  expect_levels(data, 1, "");
  assert_non_null(strstr(
      s->said,
      "1 of 4 columns have a different text in nearly every row and are not used: 'id'; to use them as categories"));
  oatgp_data_free(data);
  s->settings.factors = "id";
  data = must_read(s);
  expect_names(data, "id,c,x");
  expect_levels(data, 0, "p|q|r");
  oatgp_data_free(data);
  s->settings.factors = "";
  s->settings.inputs = "x,id";
  data = must_read(s);
  expect_names(data, "x,id");
  expect_levels(data, 1, "p|q|r");
  oatgp_data_free(data);
  s->settings.factors = "c";
  data = must_read(s);
  expect_names(data, "x,id,c");
  oatgp_data_free(data);
}

static void refuses_categories(void **state) {
  scratch *s = *state;
  s->settings.target = "y";
  write_text(s, "y,c\n1,b\n2,\n3,a\n4,b\n5,a\n");
  must_refuse(s, OATGP_DATA,
              "line 3, column 'c': the value is missing; fill it in, or drop such rows with --missing drop, or leave");
  write_text(s, "id,x,c,y\np,5,b,1\nq,6,,2\nr,7,a,3\ns,8,b,4\nt,9,a,5\n"); /* a column is left out before it */
  must_refuse(s, OATGP_DATA, "line 3, column 'c': the value is missing; fill it in");
  write_text(s, "y,c\n1,b\n2,\n3,a\n4,b\n5,a\n");
  s->settings.inputs = "c";
  must_refuse(s, OATGP_DATA,
              "line 3, column 'c': the value is missing; fill it in, or drop such rows with --missing drop");
  s->settings.factors = "d";
  must_refuse(s, OATGP_DATA, "has no column 'd' (factors)");
  s->settings.factors = "y";
  must_refuse(s, OATGP_DATA, "column 'y' is used twice, as target and as input");
  s->settings.factors = "c,,c";
  must_refuse(s, OATGP_ARGUMENT, "factors 'c,,c' has an empty name between its commas");
}

/* Row i: text of 7 levels that first come late, in quotes now and then, numbers of 5 levels, and a number. */
static size_t fill_rows(char *text, size_t rows) {
  size_t length = (size_t)sprintf(text, "y,c,n,x,name\n");
  for (size_t i = 0; i < rows; i++) {
    const size_t level = i * 7 / rows > i % 7 ? i % 7 : i * 7 / rows;
    const char *quote = i % 11 == 0 ? "\"" : "";
    length += (size_t)sprintf(text + length, "%zu,%slevel %zu%s,%zu,%zu.5,row %zu\n", i, quote, 6 - level, quote,
                              (i * i) % 5, i % 100, i);
  }
  return length;
}

static void expect_rows(const oatgp_data *data, size_t rows) {
  assert_int_equal(data->n, rows);
  expect_levels(data, 0, "level 0|level 1|level 2|level 3|level 4|level 5|level 6");
  expect_levels(data, 1, "0|1|4");
  for (size_t i = 0; i < rows; i++) {
    const size_t level = i * 7 / rows > i % 7 ? i % 7 : i * 7 / rows, square = (i * i) % 5;
    assert_true(data->x[i] == (double)(6 - level));
    assert_true(data->x[i + rows] == (double)(square == 4 ? 2 : square));
  }
}

static void threads_and_packing_change_nothing(void **state) {
  scratch *s = *state;
  const size_t rows = under_valgrind() ? 3000 : 120000; /* several parts */
  char *text = malloc(rows * 64);
  assert_non_null(text);
  const size_t length = fill_rows(text, rows);
  s->settings.target = "y";
  s->settings.factors = "n";
  for (int threads = 1; threads <= 4; threads++) {
    oatgp_context_set_threads(s->ctx, threads);
    if (threads == 3) {
      write_gzip(s, text, length);
    } else {
      write_bytes(s, text, length);
    }
    oatgp_data *data = must_read(s);
    expect_names(data, "c,n,x");
    expect_rows(data, rows);
    oatgp_data_free(data);
  }
  oatgp_context_set_threads(s->ctx, 1);
  free(text);
}

/* A text of its own in each row, more than a category may have. */
static void crowds_are_left_out(void **state) {
  scratch *s = *state;
  const size_t rows = OAT_MOST_LEVELS * 2 + 10;
  char *text = malloc(rows * 40);
  assert_non_null(text);
  size_t length = (size_t)sprintf(text, "y,x,id\n");
  for (size_t i = 0; i < rows; i++) {
    length += (size_t)sprintf(text + length, "%zu,%zu,id %zu\n", i, i % 10, i);
  }
  write_bytes(s, text, length);
  s->settings.target = "y";
  for (int threads = 1; threads <= 4; threads += 3) {
    oatgp_context_set_threads(s->ctx, threads);
    s->settings.factors = "";
    oatgp_data *data = must_read(s);
    expect_names(data, "x");
    assert_int_equal(data->n, rows);
    oatgp_data_free(data);
    s->settings.factors = "id";
    must_refuse(s, OATGP_DATA, "column 'id' has more than 65536 different values, too many for a category");
  }
  oatgp_context_set_threads(s->ctx, 1);
  free(text);
}

static void numbers_of_npy_may_be_levels(void **state) {
  scratch *s = *state;
  const double values[] = {3, 0.5, 1, 1, 1.5, 2, 3, 2.5, 3, 1, 0.1, 4};
  assert_int_equal(oatgp_write_npy(s->ctx, s->path, 4, 3, values), OATGP_OK);
  s->settings.target = "3";
  s->settings.factors = "1";
  oatgp_data *data = must_read(s);
  expect_levels(data, 0, "1|3");
  expect_inputs(data, 4, 2, (const double[]){1, 0.5, 0, 1.5, 1, 2.5, 0, 0.1});
  s->settings.factors = "2";
  oatgp_data_free(data);
  data = must_read(s);
  expect_levels(data, 1, "0.1|0.5|1.5|2.5");
  oatgp_data_free(data);
}

/* ---- from memory ----------------------------------------------------------------------------------------------- */

static const char *const ab[] = {"a", "b"};

static void sets_levels(void **state) {
  scratch *s = *state;
  const double x[] = {0, 5, 1, 6, 1, 7};
  oatgp_data *data = NULL, *some = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 3, 2, x, x, &data), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_set_levels(s->ctx, data, 1, 2, ab),
                  "input 'x2' of row 1 is 5, which is not one of the codes 0 to 1");
  expect_sentence(s, OATGP_DATA, oatgp_data_set_levels(s->ctx, data, 0, 1, ab),
                  "row 2 is 1, which is not one of the codes 0 to 0");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_levels(s->ctx, data, 0, 2, (const char *const[]){"a", "a"}),
                  "'a' is given twice");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_levels(s->ctx, data, 2, 2, ab), "input 2 does not exist");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_set_levels(s->ctx, data, 0, 0, ab), "1 to 65536 levels");
  assert_int_equal(oatgp_data_level_count(data, 0), 0);
  assert_int_equal(oatgp_data_set_levels(s->ctx, data, 0, 2, ab), OATGP_OK);
  expect_levels(data, 0, "a|b");
  assert_null(oatgp_data_level(data, 0, 2));
  assert_null(oatgp_data_level(data, 7, 0));
  assert_int_equal(oatgp_data_select(s->ctx, data, 1, (const size_t[]){2}, &some), OATGP_OK);
  expect_levels(some, 0, "a|b");
  oatgp_data_free(some);
  oatgp_data_free(data);
}

static void joins_levels(void **state) {
  scratch *s = *state;
  const double x[] = {0, 1, 1};
  oatgp_data *first = NULL, *second = NULL, *both = NULL;
  assert_int_equal(oatgp_data_create(s->ctx, 3, 1, x, NULL, &first), OATGP_OK);
  assert_int_equal(oatgp_data_create(s->ctx, 3, 1, x, NULL, &second), OATGP_OK);
  assert_int_equal(oatgp_data_set_levels(s->ctx, first, 0, 2, ab), OATGP_OK);
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, first, second, &both),
                  "'x1' is a category in one and holds numbers");
  assert_null(both);
  assert_int_equal(oatgp_data_set_levels(s->ctx, second, 0, 2, (const char *const[]){"c", "a"}), OATGP_OK);
  assert_int_equal(oatgp_data_join(s->ctx, first, second, &both), OATGP_OK);
  expect_levels(both, 0, "a|b|c");
  expect_inputs(both, 6, 1, (const double[]){0, 1, 1, 2, 0, 0});
  oatgp_data_free(first);
  oatgp_data_free(second);
  oatgp_data_free(both);
}

/* ---- models ---------------------------------------------------------------------------------------------------- */

enum { ROWS = 90 };

/* Three levels, each with a curve of its own, in a file. */
static void write_curves(const scratch *s) {
  char text[ROWS * 48];
  int length = sprintf(text, "y,group,x\n");
  oat_rng rng;
  oat_rng_seed(&rng, 7);
  for (int i = 0; i < ROWS; i++) {
    const double x = 4 * oat_rng_uniform(&rng) - 2;
    const double y = sin(2 * x) + (i % 3 == 0 ? 2 : i % 3 == 1 ? -x : 0) + 0.05 * oat_rng_normal(&rng);
    length += sprintf(text + length, "%.6f,%s,%.6f\n", y, i % 3 == 0 ? "red" : i % 3 == 1 ? "green" : "blue", x);
  }
  write_bytes(s, text, (size_t)length);
}

static oatgp_model *fit_curves(scratch *s) {
  oatgp_model *model = NULL;
  write_curves(s);
  s->settings.target = "y";
  oatgp_data *data = must_read(s);
  expect_levels(data, 0, "blue|green|red");
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model));
  oatgp_data_free(data);
  return model;
}

/* Predictions of a table for the model. */
static oatgp_status predict_text(scratch *s, const oatgp_model *model, const char *text, size_t n, double *mean,
                                 double *variance) {
  oatgp_data *data = NULL;
  s->said[0] = '\0';
  write_text(s, text);
  PASS_ON(oatgp_data_read_for(s->ctx, s->path, model, &s->settings, -1, &data));
  assert_int_equal(oatgp_data_rows(data), n);
  const oatgp_status status = oatgp_predict(s->ctx, model, data, &(oatgp_prediction){mean, variance, NULL});
  oatgp_data_free(data);
  return status;
}

/* ---- the leaf -------------------------------------------------------------------------------------------------- */

/* The leaf with sigma 1.7 among n codes. */
static void find_values(scratch *s, double lengthscale, size_t n, const double *x, double *k) {
  const char *const name[] = {"c"};
  const bool category[] = {true};
  const oat_kernel *kernel = NULL;
  must(s, oat_kernel_read(s->ctx, "categorical(c)", &(oat_names){1, name, category}, &kernel));
  const double theta[] = {1, 1, 1, 1.7, lengthscale};
  const oat_covariance cov = oat_covariance_at(kernel, 1, theta);
  double *work = calloc(oat_kernel_work(oat_kernel_size_of(kernel), n, n, 1), sizeof *work);
  assert_non_null(work);
  oat_kernel_cross(&cov, (oat_points){x, n, n}, (oat_points){x, n, n}, k, n, work);
  free(work);
  oat_kernel_release(kernel);
}

/* Between codes, with rounding errors, of levels that the data have and of others. */
static void leaf_is_its_formula(void **state) {
  static const double x[] = {0, 1, 2, 1 + 1e-9, 2 - 1e-9, 7, 0};
  enum { N = LENGTH(x) };
  double k[N * N];
  for (double l = 0.01; l < 1e4; l *= 7) {
    find_values(*state, l, N, x, k);
    for (size_t i = 0; i < N * N; i++) {
      const bool same = lround(x[i % N]) == lround(x[i / N]);
      const long double expected = (long double)1.7 * 1.7 * (same ? 1 : expl(-1 / (long double)l));
      assert_true(fabsl(k[i] - expected) <= 1e-13L * expected);
    }
  }
}

/* The smallest eigenvalue is sigma^2 (1 - correlation), so that no pivot of a Cholesky factor is less. */
static void levels_are_positive_definite(void **state) {
  enum { L = 40 };
  double a[L * L], x[L];
  for (size_t i = 0; i < L; i++) {
    x[i] = (double)i;
  }
  for (double l = 0.01; l <= 1e5; l *= 10) {
    find_values(*state, l, L, x, a);
    const double least = a[0] - a[1];
    assert_true(least > 0);
    for (size_t j = 0; j < L; j++) {
      assert_true(a[j + j * L] >= 0.99 * least);
      for (size_t i = L - 1; i > j; i--) {
        for (size_t c = L - 1; c > j; c--) {
          a[i + c * L] -= a[i + j * L] * a[j + c * L] / a[j + j * L];
        }
      }
    }
  }
}

static void leaf_has_its_gradient(void **state) {
  scratch *s = *state;
  write_curves(s);
  s->settings.target = "y";
  s->settings.kernel = "se(x) * categorical(group) + categorical(group)";
  oatgp_data *data = must_read(s);
  static const char *const approxes[] = {"full", "vfe", "fitc"};
  for (size_t k = 0; k < LENGTH(approxes); k++) {
    oatgp_evaluation at, up, down;
    s->settings.approx = approxes[k];
    s->settings.knots = k > 0 ? "random:12" : "";
    s->settings.tau = 0.3;
    s->settings.jitter = 1e-6;
    double p[] = {1.1, 0.8, 0.7, 0.9, 1.3};
    char text[256];
    sprintf(text, "%.17g,%.17g,%.17g,%.17g,%.17g", p[0], p[1], p[2], p[3], p[4]);
    s->settings.parameters = text;
    must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 1, &at));
    for (size_t i = 0; i < 5; i++) {
      const double step = 1e-5, kept = p[i];
      p[i] = kept * exp(step);
      sprintf(text, "%.17g,%.17g,%.17g,%.17g,%.17g", p[0], p[1], p[2], p[3], p[4]);
      must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &up));
      p[i] = kept * exp(-step);
      sprintf(text, "%.17g,%.17g,%.17g,%.17g,%.17g", p[0], p[1], p[2], p[3], p[4]);
      must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &down));
      const double difference = (up.objective - down.objective) / (2 * step);
      assert_true(fabs(difference - at.d_log_parameters[i]) < 1e-5 * (1 + fabs(difference)));
      p[i] = kept;
      oatgp_evaluation_clear(&up);
      oatgp_evaluation_clear(&down);
    }
    for (size_t i = 0; k > 0 && i < at.knots; i++) {
      assert_true(at.d_knots[2 * i] == 0 && at.d_knots[2 * i + 1] != 0); /* of the category, and of x */
    }
    oatgp_evaluation_clear(&at);
  }
  oatgp_data_free(data);
}

static void each_level_has_its_curve(void **state) {
  scratch *s = *state;
  oatgp_model *model = fit_curves(s);
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  assert_string_equal(info.kernel, "se() * categorical(group)");
  assert_non_null(strstr(s->said, "kernel se-ard is se() * categorical(group)"));
  assert_int_equal(oatgp_model_level_count(model, 0), 3);
  assert_int_equal(oatgp_model_level_count(model, 1), 0);
  assert_string_equal(oatgp_model_level(model, 0, 2), "red");
  assert_null(oatgp_model_level(model, 0, 3));
  double mean[4], variance[4];
  must(s, predict_text(s, model, "x,group\n0.5,red\n0.5,green\n0.5,blue\n0.5,red\n", 4, mean, variance));
  assert_true(fabs(mean[0] - (sin(1.0) + 2)) < 0.1);
  assert_true(fabs(mean[1] - (sin(1.0) - 0.5)) < 0.1);
  assert_true(fabs(mean[2] - sin(1.0)) < 0.1);
  assert_true(fabs(mean[3] - mean[0]) < 1e-9);
  assert_string_equal(s->said, "");
  oatgp_model_free(model);
}

/* A new level has the same correlation with the others as these have with each other, and so do two new ones. */
static void new_levels_are_told_of(void **state) {
  scratch *s = *state;
  oatgp_model *model = fit_curves(s);
  double mean[4], variance[4];
  must(s, predict_text(s, model, "x,group\n0.5,pink\n0.5,red\n0.5,pink\n", 3, mean, variance));
  assert_non_null(strstr(
      s->said,
      "warning input 'group' has the level 'pink' in 2 rows; the model has not seen this level and treats it as new"));
  assert_true(fabs(mean[0] - mean[2]) < 1e-9 && variance[0] > 10 * variance[1] && isfinite(mean[0]));
  must(s, predict_text(s, model, "x,group\n0.5,pink\n0.5,grey\n", 2, mean, variance));
  assert_non_null(
      strstr(s->said, "has 2 levels in 2 rows, such as 'pink', that the model has not seen and treats as new"));
  expect_sentence(s, OATGP_DATA, predict_text(s, model, "x,group\n0.5,\n", 1, mean, variance),
                  "column 'group': the value is missing");
  const double x[] = {0, 0.5, 1, 0.5};
  double covariance[4];
  oatgp_data *data = make_data(s, 2, 2, x, NULL);
  must(s, oatgp_data_set_names(s->ctx, data, (const char *const[]){"group", "x"}, NULL));
  expect_sentence(s, OATGP_DATA, oatgp_predict_mean(s->ctx, model, data, mean),
                  "'group' is a category in the model, but holds plain numbers");
  must(s, oatgp_data_set_levels(s->ctx, data, 0, 2, (const char *const[]){"pink", "grey"}));
  s->said[0] = '\0';
  must(s, oatgp_predict_covariance(s->ctx, model, data, covariance));
  assert_non_null(strstr(s->said, "has 2 levels in 2 rows, such as 'pink'"));
  assert_true(covariance[1] < 0.99 * covariance[0]);
  must(s, oatgp_data_set_levels(s->ctx, data, 0, 2, (const char *const[]){"red", "blue"}));
  s->said[0] = '\0';
  must(s, oatgp_predict_mean(s->ctx, model, data, mean));
  assert_string_equal(s->said, "");
  assert_true(fabs(mean[0] - (sin(1.0) + 2)) < 0.1 && fabs(mean[1] - sin(1.0)) < 0.1);
  oatgp_data_free(data);
  oatgp_model_free(model);
}

static void files_keep_levels(void **state) {
  scratch *s = *state;
  oatgp_model *model = fit_curves(s), *again = NULL;
  const char *text = "x,group\n0.5,red\n0.5,green\n0.1,blue\n0.5,pink\n";
  double first[4], second[4], variance[4];
  must(s, predict_text(s, model, text, 4, first, variance));
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &again));
  assert_string_equal(oatgp_model_level(again, 0, 1), "green");
  must(s, predict_text(s, again, text, 4, second, variance));
  assert_memory_equal(first, second, sizeof first);
  oatgp_model_free(again);
  oatgp_model_free(model);
}

/* Rows read in blocks equal those of the whole, and a new level is reported once, with the number of all its rows. */
static void streams_know_levels(void **state) {
  scratch *s = *state;
  oatgp_model *model = fit_curves(s);
  oatgp_stream *stream = NULL;
  oatgp_data *part = NULL;
  size_t rows = 0;
  write_text(s, "x,group\n1,red\n2,pink\n3,blue\n4,grey\n5,pink\n6,red\n7,green\n");
  s->said[0] = '\0';
  const double codes[] = {2, 3, 0, 4, 3, 2, 1};
  must(s, oatgp_stream_open(s->ctx, s->path, model, &s->settings, -1, &stream));
  for (must(s, oatgp_stream_next(s->ctx, stream, 2, &part)); part != NULL;
       must(s, oatgp_stream_next(s->ctx, stream, 2, &part))) {
    double mean[2];
    must(s, oatgp_predict_mean(s->ctx, model, part, mean));
    for (size_t i = 0; i < part->n; i++) {
      assert_true(part->x[i] == codes[rows + i]);
    }
    rows += part->n;
    oatgp_data_free(part);
  }
  assert_int_equal(rows, 7);
  const char *told = strstr(s->said, "has 2 levels in 3 rows, such as 'pink'");
  assert_non_null(told);
  assert_null(strstr(told + 30, "levels in"));
  oatgp_stream_free(stream);
  oatgp_model_free(model);
}

/* After an update, the model has the new level with its name. */
static void updates_learn_levels(void **state) {
  scratch *s = *state;
  s->settings.max_knots = 30;
  oatgp_model *model = fit_curves(s);
  oatgp_data *data = NULL;
  double mean[2], variance[2], before[2];
  must(s, predict_text(s, model, "x,group\n0.5,pink\n0.5,red\n", 2, before, variance));
  write_text(s, "y,group,x\n3,pink,0.4\n3,pink,0.5\n3,pink,0.6\n3,pink,0.55\n3,pink,0.45\n");
  must(s, oatgp_data_read_for(s->ctx, s->path, model, &s->settings, 1, &data));
  must(s, oatgp_update(s->ctx, model, data));
  oatgp_data_free(data);
  assert_int_equal(oatgp_model_level_count(model, 0), 4);
  assert_string_equal(oatgp_model_level(model, 0, 3), "pink");
  must(s, predict_text(s, model, "x,group\n0.5,pink\n0.5,red\n", 2, mean, variance));
  assert_null(strstr(s->said, "not seen"));
  oatgp_model_free(model);
}

/* Whatever knots begin with, a knot has the code of a level. */
static void knots_have_levels(void **state) {
  scratch *s = *state;
  static const char *const ways[][2] = {
      {"simultaneous", "kmeans:12"}, {"fixed", "kmeans:12"}, {"auto", ""}, {"oat-gain", ""}};
  for (size_t k = 0; k < (under_valgrind() ? 1 : LENGTH(ways)); k++) {
    s->settings.select = ways[k][0];
    s->settings.knots = ways[k][1];
    s->settings.approx = "vfe";
    s->settings.max_knots = k < 2 ? 0 : 12;
    oatgp_model *model = fit_curves(s);
    oatgp_model_info info;
    oatgp_model_get_info(model, &info);
    double *z = calloc(info.knots, 2 * sizeof *z);
    must(s, oatgp_model_knots(s->ctx, model, z, NULL, NULL));
    for (size_t i = 0; i < info.knots; i++) {
      assert_true(fabs(z[2 * i] - round(z[2 * i])) < 1e-6 && z[2 * i] > -0.5 && z[2 * i] < 2.5);
    }
    free(z);
    oatgp_model_free(model);
  }
}

static void refuses_models(void **state) {
  scratch *s = *state;
  oatgp_model *model = NULL;
  write_curves(s);
  s->settings.target = "y";
  oatgp_data *data = must_read(s);
  const struct {
    const char *kernel, *mean, *piece;
  } cases[] = {{"se(group)", "mean", "the input 'group' is a category; expected an input that holds numbers"},
               {"categorical(x)", "mean", "the input 'x' holds numbers; expected a category (--factors makes it one)"},
               {"se-ard", "linear", "a linear mean needs numbers, but 'group' is a category"}};
  for (size_t k = 0; k < LENGTH(cases); k++) {
    s->settings.kernel = cases[k].kernel;
    s->settings.mean = cases[k].mean;
    expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), cases[k].piece);
  }
  oatgp_data_free(data);
}

/* Every chart of a model with a category can be drawn. */
static void report_has_categories(void **state) {
  scratch *s = *state;
  oatgp_model *model = fit_curves(s);
  write_curves(s);
  oatgp_data *data = NULL;
  must(s, oatgp_data_read_for(s->ctx, s->path, model, &s->settings, 1, &data));
  must(s, oatgp_report(s->ctx, model, data, "curves", s->path));
  size_t size = 0;
  char *page = read_bytes_back(s, &size);
  const char *effect = strstr(page, "Effect of group");
  assert_non_null(effect);
  const char *end = strstr(effect, "</figure>");
  assert_non_null(end);
  for (size_t i = 0; i < 3; i++) { /* its levels stand on the axis */
    const char *level = strstr(effect, (const char *const[]){">blue<", ">green<", ">red<"}[i]);
    assert_true(level != NULL && level < end);
  }
  assert_non_null(strstr(page, "Of group, 0 is blue, 1 is green, 2 is red."));
  free(page);
  oatgp_data_free(data);
  oatgp_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(levels_are_found_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(there_is_a_most, set_up, tear_down),
      cmocka_unit_test_setup_teardown(reads_categories, set_up, tear_down),
      cmocka_unit_test_setup_teardown(names_of_rows_are_no_category, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_categories, set_up, tear_down),
      cmocka_unit_test_setup_teardown(threads_and_packing_change_nothing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(crowds_are_left_out, set_up, tear_down),
      cmocka_unit_test_setup_teardown(numbers_of_npy_may_be_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(sets_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(joins_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(leaf_is_its_formula, set_up, tear_down),
      cmocka_unit_test_setup_teardown(levels_are_positive_definite, set_up, tear_down),
      cmocka_unit_test_setup_teardown(leaf_has_its_gradient, set_up, tear_down),
      cmocka_unit_test_setup_teardown(each_level_has_its_curve, set_up, tear_down),
      cmocka_unit_test_setup_teardown(new_levels_are_told_of, set_up, tear_down),
      cmocka_unit_test_setup_teardown(files_keep_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(streams_know_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(updates_learn_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(knots_have_levels, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refuses_models, set_up, tear_down),
      cmocka_unit_test_setup_teardown(report_has_categories, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
