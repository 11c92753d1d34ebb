/* Helpers of the tests that fit: small data sets, fits and predictions that must succeed. With the scratch of
 * data_files.h. */
#ifndef TEST_FITS_H
#define TEST_FITS_H

#include "data_files.h"
#include "support.h"

#define must(s, call) check_ok((s), (call), #call, __FILE__, __LINE__)

static inline void check_ok(const scratch *s, oatgp_status status, const char *call, const char *file, int line) {
  if (status != OATGP_OK) {
    print_error("%s: status %d: %s\n", call, (int)status, oatgp_last_error(s->ctx));
    _fail(file, line);
  }
}

static inline oatgp_data *make_data(scratch *s, size_t n, size_t d, const double *x, const double *y) {
  oatgp_data *data = NULL;
  must(s, oatgp_data_create(s->ctx, n, d, x, y, &data));
  return data;
}

/* Inputs uniform in (-2, 2), y a sum of waves and noise. */
static inline oatgp_data *wavy_data(scratch *s, size_t n, size_t d, double noise, uint64_t seed) {
  double *x = calloc(n * d, sizeof *x), *y = calloc(n, sizeof *y);
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = 4 * oat_rng_uniform(&rng) - 2;
      y[i] += sin(2 * x[i * d + j] + (double)j);
    }
    y[i] += noise * oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, n, d, x, y);
  free(x);
  free(y);
  return data;
}

/* Mean NLP of wavy_data under their true wave and noise: no model can expect less. */
static inline double wavy_nlp(const oatgp_data *data, double noise) {
  double sum = 0;
  for (size_t i = 0; i < data->n; i++) {
    double residual = data->y[i];
    for (size_t j = 0; j < data->d; j++) {
      residual -= sin(2 * data->x[i + j * data->n] + (double)j);
    }
    sum += 0.5 * (log(2 * acos(-1) * noise * noise) + residual * residual / (noise * noise));
  }
  return sum / (double)data->n;
}

/* One of the data sets that come with the project. */
static inline oatgp_data *project_data(scratch *s, const char *name, const char *target) {
  char path[1024];
  oatgp_data *data = NULL;
  const char *before = s->settings.target;
  snprintf(path, sizeof path, "%s/%s", PROJECT_DATA_DIR, name);
  s->settings.target = target;
  must(s, oatgp_data_read(s->ctx, path, &s->settings, &data));
  s->settings.target = before;
  return data;
}

static inline oatgp_data *motorcycle(scratch *s) { return project_data(s, "mcycle.csv", "accel"); }

static inline oatgp_data *boston(scratch *s) { return project_data(s, "boston.csv", "medv"); }

/* A fit with the settings of the scratch. */
static inline oatgp_model *must_fit(scratch *s, const oatgp_data *data, const oatgp_data *knots) {
  oatgp_model *model = NULL;
  must(s, oatgp_fit(s->ctx, data, &s->settings, knots, NULL, NULL, &model));
  assert_non_null(model);
  return model;
}

static inline oatgp_model_info info_of(const oatgp_model *model) {
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  return info;
}

/* All three predictions of n rows in one block: mean, latent variance, variance. The caller frees it. */
static inline double *must_predict(scratch *s, const oatgp_model *model, const oatgp_data *data) {
  const size_t n = oatgp_data_rows(data);
  double *all = calloc(3 * n, sizeof *all);
  const oatgp_prediction out = {all, all + n, all + 2 * n};
  must(s, oatgp_predict(s->ctx, model, data, &out));
  return all;
}

/* Variances that are numbers, and no smaller with the noise than without. */
static inline void expect_sane_predictions(const double *all, size_t n) {
  for (size_t i = 0; i < n; i++) {
    assert_true(isfinite(all[i]));
    assert_true(isfinite(all[n + i]) && all[n + i] >= 0);
    assert_true(isfinite(all[2 * n + i]) && all[2 * n + i] >= all[n + i]);
  }
}

/* The rows of a fit are predicted no worse than by their average, because smoothing only reduces the residuals. For
 * models that weigh rows by the variance that the knots leave, this holds with these weights; without them, they may be
 * slightly worse.
 * */
static inline void expect_better_than_average(const char *approx, const oatgp_data *data, const double *prediction) {
  const bool weighed = strcmp(approx, "fic") == 0 || strcmp(approx, "fitc") == 0 || strcmp(approx, "pep") == 0;
  double average = 0, left = 0, spread = 0;
  for (size_t i = 0; i < data->n; i++) {
    average += data->y[i] / (double)data->n;
  }
  for (size_t i = 0; i < data->n; i++) { /* their squares may leave the range of a double */
    left = hypot(left, data->y[i] - prediction[i]);
    spread = hypot(spread, data->y[i] - average);
  }
  assert_true(left <= spread * (weighed ? 1.1 : 1 + 1e-9) + 1e-14 * fabs(average));
}

/* Fits, predicts at the training rows, and checks that all numbers make sense. Returns the model. */
static inline oatgp_model *fit_sanely(scratch *s, const oatgp_data *data, const oatgp_data *knots) {
  oatgp_model *model = must_fit(s, data, knots);
  double *all = must_predict(s, model, data);
  expect_sane_predictions(all, oatgp_data_rows(data));
  const bool gaussian =
      strcmp(info_of(model).likelihood, "gaussian") == 0; /* else the prediction is not of the target's kind */
  if (gaussian && info_of(model).slopes == NULL) {        /* slopes that the rows hardly determine may be far off */
    expect_better_than_average(info_of(model).approx, data, all);
  }
  assert_true(isfinite(info_of(model).objective));
  free(all);
  return model;
}

/* The best of three starts of the full GP, each optimised from there alone. */
static inline double exact_from_starts(scratch *s, const oatgp_data *data) {
  static const char *const lengthscales[] = {"", "0.4", "4"};
  static const double noise[] = {0, 0.05, 0.2};
  const oatgp_settings before = s->settings;
  double best = -HUGE_VAL;
  for (size_t i = 0; i < LENGTH(noise); i++) {
    oatgp_model *model = NULL;
    s->settings.approx = "full";
    s->settings.select = "fixed";
    s->settings.lengthscale = lengthscales[i];
    s->settings.tau = noise[i];
    if (oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model) == OATGP_OK) {
      best = fmax(best, info_of(model).objective);
    }
    oatgp_model_free(model);
  }
  s->settings = before;
  return best;
}

/* Mean NLP of the test rows, predicted by the mean and the variance of the others. */
static inline double constant_nlp(const oatgp_data *train, const oatgp_data *test) {
  const double n = (double)train->n;
  double mean = 0, variance = 0, sum = 0;
  for (size_t i = 0; i < train->n; i++) {
    mean += train->y[i] / n;
  }
  for (size_t i = 0; i < train->n; i++) {
    variance += (train->y[i] - mean) * (train->y[i] - mean) / n;
  }
  for (size_t i = 0; i < test->n; i++) {
    sum += 0.5 * (log(2 * acos(-1) * variance) + (test->y[i] - mean) * (test->y[i] - mean) / variance);
  }
  return sum / (double)test->n;
}

/* Everything that is kept in a model but the time it took, bit for bit. */
static inline void expect_same_model(scratch *s, const oatgp_data *data, const oatgp_model *a, const oatgp_model *b) {
  const oatgp_model_info first = info_of(a), second = info_of(b);
  assert_int_equal(first.knots, second.knots);
  assert_int_equal(first.stop, second.stop);
  assert_int_equal(first.evaluations, second.evaluations);
  assert_int_equal(first.iterations, second.iterations);
  assert_int_equal(first.history_count, second.history_count);
  assert_int_equal(first.selection_count, second.selection_count);
  assert_true(first.objective == second.objective && first.sigma == second.sigma && first.tau == second.tau);
  assert_memory_equal(first.lengthscales, second.lengthscales, first.lengthscale_count * sizeof(double));
  const size_t count = first.knots * first.d, rows = 3 * oatgp_data_rows(data);
  double *knots = calloc(2 * count + 1, sizeof *knots), *p = must_predict(s, a, data), *q = must_predict(s, b, data);
  if (strcmp(first.approx, "full") != 0) {
    must(s, oatgp_model_knots(s->ctx, a, knots, NULL, NULL));
    must(s, oatgp_model_knots(s->ctx, b, knots + count, NULL, NULL));
  }
  assert_memory_equal(knots, knots + count, count * sizeof *knots);
  assert_memory_equal(p, q, rows * sizeof *p);
  free(knots);
  free(p);
  free(q);
}

#endif
