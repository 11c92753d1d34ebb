/* Derivatives of predictions in the inputs, against differences of the predictions themselves. */
#include <float.h>

#include "fits.h"
#include "objective/objective.h"

#include "util/threads.h"

enum { ROWS = 50, POINTS = 20, INPUTS = 3 };
#define STEP 1e-4 /* of differences of order four, in units of an input's range */

/* Inputs far from 0 and of different sizes, the target in units of hundreds. */
static double at_input(double x, size_t j) { return j == 0 ? 1000 + 50 * x : j == 1 ? 0.01 * x : x - 7; }
static double size_of(size_t j) { return j == 0 ? 50 : j == 1 ? 0.01 : 1; }

static oatgp_data *stretched_data(scratch *s, size_t n, uint64_t seed) {
  oatgp_data *data = wavy_data(s, n, INPUTS, 0.2, seed);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < INPUTS; j++) {
      data->own_x[i + j * n] = at_input(data->x[i + j * n], j);
    }
    data->own_y[i] = 300 * data->y[i] + 2000;
  }
  return data;
}

typedef struct slopes {
  double mean[POINTS], sd[POINTS], d_mean[POINTS * INPUTS], d_sd[POINTS * INPUTS];
} slopes;

static slopes must_slope(scratch *s, const oatgp_model *model, const oatgp_data *at) {
  slopes found;
  must(s, oatgp_predict_gradient(s->ctx, model, at,
                                 &(oatgp_prediction_gradient){found.mean, found.sd, found.d_mean, found.d_sd}));
  return found;
}

/* Differences of order four in one input. */
static void differences(scratch *s, const oatgp_model *model, const oatgp_data *at, size_t input, double *d_mean,
                        double *d_sd) {
  static const double step[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
  const double h = STEP * size_of(input);
  size_t all[POINTS];
  for (size_t i = 0; i < POINTS; i++) {
    all[i] = i;
    d_mean[i] = d_sd[i] = 0;
  }
  for (size_t k = 0; k < LENGTH(step); k++) {
    double mean[POINTS], sd[POINTS];
    oatgp_data *moved = NULL;
    must(s, oatgp_data_select(s->ctx, at, POINTS, all, &moved));
    for (size_t i = 0; i < POINTS; i++) {
      moved->own_x[i + input * POINTS] += step[k] * h;
    }
    must(s, oatgp_predict_sd(s->ctx, model, moved, &(oatgp_prediction_sd){mean, sd, NULL}));
    for (size_t i = 0; i < POINTS; i++) {
      d_mean[i] += weight[k] * mean[i] / (12 * h);
      d_sd[i] += weight[k] * sd[i] / (12 * h);
    }
    oatgp_data_free(moved);
  }
}

static double largest_size(const double *values) {
  double size = 0;
  for (size_t i = 0; i < POINTS; i++) {
    size = fmax(size, fabs(values[i]));
  }
  return size;
}

static void expect_slopes(scratch *s, const oatgp_model *model, const oatgp_data *at, double tolerance) {
  const slopes found = must_slope(s, model, at);
  double mean[POINTS], sd[POINTS];
  must(s, oatgp_predict_sd(s->ctx, model, at, &(oatgp_prediction_sd){mean, sd, NULL}));
  for (size_t i = 0; i < POINTS; i++) {
    assert_near(found.mean[i], mean[i], 1e-12 * fabs(mean[i]));
    assert_near(found.sd[i], sd[i], 1e-9 * sd[i]);
  }
  for (size_t j = 0; j < INPUTS; j++) {
    double d_mean[POINTS], d_sd[POINTS];
    differences(s, model, at, j, d_mean, d_sd);
    const double rounding = 4 * DBL_EPSILON * largest_size(mean) / (STEP * size_of(j)); /* of the differences */
    for (size_t i = 0; i < POINTS; i++) {
      if (!(fabs(found.d_mean[i * INPUTS + j] - d_mean[i]) <= tolerance * largest_size(d_mean) + rounding) ||
          !(fabs(found.d_sd[i * INPUTS + j] - d_sd[i]) <= tolerance * largest_size(d_sd) + rounding)) {
        fail_msg("%s, %s, mean %s, input %zu of row %zu: %.17g and %.17g, by differences %.17g and %.17g",
                 info_of(model).approx, info_of(model).kernel, info_of(model).mean_kind, j, i,
                 found.d_mean[i * INPUTS + j], found.d_sd[i * INPUTS + j], d_mean[i], d_sd[i]);
      }
    }
  }
}

/* ---- models, kernels, means ------------------------------------------------------------------------------------ */

static oatgp_model *some_model(scratch *s, const char *approx, const char *kernel, const char *mean) {
  oatgp_data *data = stretched_data(s, ROWS, 51);
  s->settings.approx = approx;
  s->settings.kernel = kernel;
  s->settings.mean = mean;
  s->settings.knots = "9";
  s->settings.max_iter = 3;
  s->settings.select = "auto"; /* knots are moved where the kernel allows that */
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_data_free(data);
  return model;
}

static void every_model_and_mean(void **state) {
  scratch *s = *state;
  static const char *const means[] = {"mean", "fit", "linear"};
  oatgp_data *at = stretched_data(s, POINTS, 52);
  for (size_t m = 0; oat_approx_at(m) != NULL; m++) {
    for (size_t k = 0; k < LENGTH(means); k++) {
      oatgp_model *model = some_model(s, oat_approx_at(m)->name, "se-ard", means[k]);
      expect_slopes(s, model, at, 1e-7);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(at);
}

static void every_kernel(void **state) {
  scratch *s = *state;
  static const char *const expressions[] = {
      "se(x1) + linear(x2) * se(x3)", "periodic(x1) * matern52(x2, x3) + polynomial(x3, 2)",
      "(cosine(x2) + rq(x3))^2 * se(x1)", "matern12(x1) + matern32(x2) + constant"};
  oatgp_data *at = stretched_data(s, POINTS, 52);
  for (size_t k = 0; k < OAT_KERNELS + LENGTH(expressions); k++) {
    const char *kernel = k < OAT_KERNELS ? oat_kernel_at(k)->name : expressions[k - OAT_KERNELS];
    for (int full = 0; full < 2; full++) {
      oatgp_model *model = some_model(s, full ? "full" : "vfe", kernel, "mean");
      expect_slopes(s, model, at, 1e-7);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(at);
}

/* Steps so small that no point gets another neighbour. */
static void neighbours(void **state) {
  scratch *s = *state;
  oatgp_data *at = stretched_data(s, POINTS, 53);
  s->settings.neighbours = 6;
  s->settings.predict_neighbours = ROWS; /* all rows, so that they are the same everywhere */
  oatgp_model *model = some_model(s, "fitc", "matern52-ard", "linear");
  assert_int_equal(info_of(model).neighbours, 6);
  expect_slopes(s, model, at, 1e-7);
  oatgp_model_free(model);
  oatgp_data_free(at);
}

/* Of answers that are not Gaussian the derivatives are those of f. */
static void answers(void **state) {
  scratch *s = *state;
  oatgp_data *data = stretched_data(s, ROWS, 61), *at = stretched_data(s, POINTS, 62);
  for (size_t i = 0; i < ROWS; i++) {
    data->own_y[i] = floor(fabs(data->y[i] - 2000) / 100);
  }
  for (int full = 0; full < 2; full++) {
    s->settings.likelihood = "poisson";
    s->settings.approx = full ? "full" : "vfe";
    s->settings.knots = "9";
    s->settings.max_iter = 3;
    oatgp_model *model = must_fit(s, data, NULL);
    expect_slopes(s, model, at, 1e-7);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
  oatgp_data_free(at);
}

/* ---- what else is promised ------------------------------------------------------------------------------------- */

/* A category has no derivative, and the others have theirs beside it. */
static void categories(void **state) {
  scratch *s = *state;
  static const char *const levels[] = {"low", "high", "none"};
  oatgp_data *data = stretched_data(s, ROWS, 54), *at = stretched_data(s, POINTS, 55);
  oatgp_data *const both[] = {data, at};
  for (size_t k = 0; k < LENGTH(both); k++) {
    const size_t n = oatgp_data_rows(both[k]);
    for (size_t i = 0; i < n; i++) {
      both[k]->own_x[i + 2 * n] = (double)(i % 3);
    }
    must(s, oatgp_data_set_levels(s->ctx, both[k], 2, 3, levels));
  }
  s->settings.approx = "full";
  s->settings.mean = "fit";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, data, NULL);
  const slopes found = must_slope(s, model, at);
  for (size_t j = 0; j < INPUTS; j++) {
    double d_mean[POINTS] = {0}, d_sd[POINTS] = {0};
    if (j < 2) {
      differences(s, model, at, j, d_mean, d_sd);
    }
    for (size_t i = 0; i < POINTS; i++) {
      assert_near(found.d_mean[i * INPUTS + j], d_mean[i], 1e-7 * largest_size(d_mean));
      assert_near(found.d_sd[i * INPUTS + j], d_sd[i], 1e-7 * largest_size(d_sd));
    }
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(at);
}

/* The columns are the model's inputs in its order, wherever the data have them. */
static void order_of_inputs(void **state) {
  scratch *s = *state;
  static const char *const names[] = {"a", "b", "c"}, *const turned[] = {"c", "a", "b"};
  oatgp_data *data = stretched_data(s, ROWS, 56), *at = stretched_data(s, POINTS, 57),
             *other = stretched_data(s, POINTS, 57);
  must(s, oatgp_data_set_names(s->ctx, data, names, "y"));
  must(s, oatgp_data_set_names(s->ctx, at, names, NULL));
  for (size_t i = 0; i < POINTS * INPUTS; i++) {
    other->own_x[i] = at->x[i % POINTS + (i / POINTS + 2) % 3 * POINTS];
  }
  must(s, oatgp_data_set_names(s->ctx, other, turned, NULL));
  s->settings.approx = "full";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, data, NULL);
  const slopes one = must_slope(s, model, at), two = must_slope(s, model, other);
  assert_memory_equal(&one, &two, sizeof one);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(at);
  oatgp_data_free(other);
}

static void threads_and_parts_change_no_bit(void **state) {
  scratch *s = *state;
  enum { MANY = 1500, SOME = 1024 };
  oatgp_data *at = stretched_data(s, MANY, 58), *part = NULL;
  size_t rows[SOME];
  oatgp_model *model = some_model(s, "vfe", "rq-ard", "fit");
  double *first = calloc(4 * MANY * INPUTS, sizeof *first), *other = first + 2 * MANY * INPUTS;
  oatgp_context_set_threads(s->ctx, 1);
  must(s, oatgp_predict_gradient(s->ctx, model, at,
                                 &(oatgp_prediction_gradient){NULL, NULL, first, first + MANY * INPUTS}));
  for (int threads = 2; threads < 6; threads += 3) {
    oatgp_context_set_threads(s->ctx, threads);
    must(s, oatgp_predict_gradient(s->ctx, model, at,
                                   &(oatgp_prediction_gradient){NULL, NULL, other, other + MANY * INPUTS}));
    assert_memory_equal(first, other, 2 * MANY * INPUTS * sizeof *first);
  }
  for (size_t i = 0; i < SOME; i++) {
    rows[i] = i;
  }
  must(s, oatgp_data_select(s->ctx, at, SOME, rows, &part));
  must(s, oatgp_predict_gradient(s->ctx, model, part,
                                 &(oatgp_prediction_gradient){NULL, NULL, other, other + MANY * INPUTS}));
  assert_memory_equal(first, other, SOME * INPUTS * sizeof *first);
  assert_memory_equal(first + MANY * INPUTS, other + MANY * INPUTS, SOME * INPUTS * sizeof *first);
  free(first);
  oatgp_model_free(model);
  oatgp_data_free(at);
  oatgp_data_free(part);
}

/* Rows of the fit, where the kernel has a cusp; and rows so far away that the prediction is the prior. */
static void where_there_is_none(void **state) {
  scratch *s = *state;
  oatgp_data *at = stretched_data(s, POINTS, 51),
             *far = stretched_data(s, POINTS, 51); /* the first rows of the fit's seed */
  oatgp_model *model = some_model(s, "full", "exponential", "mean");
  const slopes cusp = must_slope(s, model, at);
  for (size_t i = 0; i < POINTS * INPUTS; i++) {
    assert_true(isfinite(cusp.d_mean[i]) && isfinite(cusp.d_sd[i]));
    far->own_x[i] = 1e300;
  }
  const slopes flat = must_slope(s, model, far);
  for (size_t i = 0; i < POINTS * INPUTS; i++) {
    assert_true(flat.d_mean[i] == 0 && flat.d_sd[i] == 0);
  }
  oatgp_model_free(model);
  oatgp_data_free(at);
  oatgp_data_free(far);
}

static void what_is_refused(void **state) {
  scratch *s = *state;
  oatgp_data *at = stretched_data(s, POINTS, 59), *narrow = wavy_data(s, POINTS, 1, 0.1, 60);
  oatgp_model *model = some_model(s, "vfe", "se-ard", "linear");
  double d_mean[POINTS * INPUTS];
  const oatgp_prediction_gradient out = {NULL, NULL, d_mean, NULL};
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_gradient(s->ctx, model, at, NULL), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_gradient(s->ctx, NULL, at, &out), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_predict_gradient(s->ctx, model, narrow, &out), "the data have 1 inputs");
  assert_int_equal(oatgp_predict_gradient(NULL, model, at, &out), OATGP_ARGUMENT);
  at->own_x[3 + POINTS] = 1e308;
  expect_sentence(s, OATGP_DATA, oatgp_predict_gradient(s->ctx, model, at, &out), "of row 4 is 1e+308, too far");
  oatgp_model_free(model);
  oatgp_data_free(at);
  oatgp_data_free(narrow);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(every_model_and_mean),
      WITH_SCRATCH(every_kernel),
      WITH_SCRATCH(neighbours),
      WITH_SCRATCH(answers),
      WITH_SCRATCH(categories),
      WITH_SCRATCH(order_of_inputs),
      WITH_SCRATCH(threads_and_parts_change_no_bit),
      WITH_SCRATCH(where_there_is_none),
      WITH_SCRATCH(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
