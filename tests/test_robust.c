/* Hard data and hard settings: every one ends with finite predictions or a sentence that says what is wrong. */
#include "fits.h"

static const char *const all_models[] = {"full", "dic", "dtc", "vfe", "tvfe", "fic", "fitc", "pep"};

#define FOR_EACH_MODEL(s) \
  for (size_t model_ = 0; model_ < LENGTH(all_models) && ((s)->settings.approx = all_models[model_], true); model_++)

static void fits_with_every_model(scratch *s, const oatgp_data *data, const oatgp_data *knots) {
  FOR_EACH_MODEL(s) { oatgp_model_free(fit_sanely(s, data, knots)); }
}

static size_t count_said(const scratch *s, const char *piece) {
  size_t count = 0;
  for (const char *at = s->said; (at = strstr(at, piece)) != NULL; at++) {
    count++;
  }
  return count;
}

static void refuse_fit(scratch *s, const oatgp_data *data, oatgp_status expected, const char *piece) {
  oatgp_model *model = NULL;
  expect_sentence(s, expected, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), piece);
  assert_null(model);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void all_rows_twice(void **state) {
  scratch *s = *state;
  enum { N = 40, D = 2 };
  double x[2 * N * D], y[2 * N];
  oatgp_data *once = wavy_data(s, N, D, 0.1, 1);
  for (size_t i = 0; i < 2 * N; i++) {
    for (size_t j = 0; j < D; j++) {
      x[i * D + j] = once->x[i % N + j * N];
    }
    y[i] = once->y[i % N];
  }
  oatgp_data *twice = make_data(s, 2 * N, D, x, y);
  const char *const knots[] = {"20", "random:60", "60"}; /* the second takes equal rows */
  s->settings.max_iter = 40;
  for (size_t k = 0; k < LENGTH(knots); k++) {
    s->settings.knots = knots[k];
    fits_with_every_model(s, twice, NULL);
  }
  expect_said(s, "40 knots instead of 60: there are no more distinct rows");
  oatgp_data_free(once);
  oatgp_data_free(twice);
}

static void rows_that_differ_in_y_alone(void **state) {
  scratch *s = *state;
  enum { N = 20 };
  double x[2 * N], y[N];
  for (size_t i = 0; i < N; i++) {
    x[2 * i] = 3;
    x[2 * i + 1] = -4.5;
    y[i] = sin((double)i);
  }
  oatgp_data *data = make_data(s, N, 2, x, y);
  FOR_EACH_MODEL(s) { refuse_fit(s, data, OATGP_DATA, "no input varies over the 20 rows"); }
  oatgp_data_free(data);
  x[7] = -4; /* one row is elsewhere */
  data = make_data(s, N, 2, x, y);
  fits_with_every_model(s, data, NULL);
  expect_said(s, "input 'x1' is constant and is left out");
  oatgp_data_free(data);
}

/* Five places, many rows at each. */
static void heavy_ties(void **state) {
  scratch *s = *state;
  enum { N = 200 };
  double x[N], y[N];
  oat_rng rng;
  oat_rng_seed(&rng, 2);
  for (size_t i = 0; i < N; i++) {
    x[i] = (double)(i % 5);
    y[i] = x[i] * x[i] + oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, N, 1, x, y);
  fits_with_every_model(s, data, NULL);
  s->settings.select = "simultaneous";
  fits_with_every_model(s, data, NULL);
  expect_said(s, "5 knots instead of 50");
  s->settings.knots = "random:50";
  fits_with_every_model(s, data, NULL);
  oatgp_data_free(data);
}

static void one_and_two_rows(void **state) {
  scratch *s = *state;
  const double x[] = {1, 2, 5, 3}, y[] = {3, 4};
  oatgp_data *one = make_data(s, 1, 2, x, y), *two = make_data(s, 2, 2, x, y), *three = wavy_data(s, 3, 2, 0.1, 5);
  FOR_EACH_MODEL(s) { refuse_fit(s, one, OATGP_DATA, "no input varies over the 1 row:"); }
  fits_with_every_model(s, two, NULL);
  fits_with_every_model(s, three, NULL);
  s->settings.mean = "fit";
  fits_with_every_model(s, two, NULL);
  s->settings.mean = "linear";
  refuse_fit(s, two, OATGP_DATA, "an estimated mean with 3 coefficients needs more than 3 rows; there are 2");
  refuse_fit(s, three, OATGP_DATA, "needs more than 3 rows");
  oatgp_data_free(one);
  oatgp_data_free(two);
  oatgp_data_free(three);
}

static void constant_target(void **state) {
  scratch *s = *state;
  enum { N = 25 };
  double x[N], y[N];
  const double values[] = {0, 7.3, -1e6, 1e-300, 1e300};
  for (size_t v = 0; v < LENGTH(values); v++) {
    for (size_t i = 0; i < N; i++) {
      x[i] = (double)i;
      y[i] = values[v];
    }
    oatgp_data *data = make_data(s, N, 1, x, y);
    FOR_EACH_MODEL(s) {
      oatgp_model *model = fit_sanely(s, data, NULL);
      double *all = must_predict(s, model, data);
      assert_near(all[3], values[v], 1e-12);
      free(all);
      oatgp_model_free(model);
    }
    oatgp_data_free(data);
  }
}

static void constant_inputs_are_left_out(void **state) {
  scratch *s = *state;
  enum { N = 30 };
  double x[3 * N], y[N];
  for (size_t i = 0; i < N; i++) {
    x[3 * i] = 1e9;
    x[3 * i + 1] = (double)i;
    x[3 * i + 2] = 0;
    y[i] = cos(0.3 * (double)i);
  }
  oatgp_data *data = make_data(s, N, 3, x, y);
  FOR_EACH_MODEL(s) {
    s->said[0] = '\0';
    oatgp_model *model = fit_sanely(s, data, NULL);
    expect_said(s, "note input 'x1' is constant and is left out");
    expect_said(s, "note input 'x3' is constant and is left out");
    assert_int_equal(info_of(model).d, 1);
    assert_string_equal(oatgp_model_input_name(model, 0), "x2");
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* More inputs than rows. */
static void many_inputs(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 20, 30, 0.1, 6);
  fits_with_every_model(s, data, NULL);
  s->settings.kernel = "matern32";
  fits_with_every_model(s, data, NULL);
  oatgp_data_free(data);
}

/* The second input is twice the first, the third their sum. */
static void collinear_inputs_with_a_linear_mean(void **state) {
  scratch *s = *state;
  enum { N = 50 };
  double x[3 * N], y[N];
  oat_rng rng;
  oat_rng_seed(&rng, 14);
  for (size_t i = 0; i < N; i++) {
    const double u = oat_rng_normal(&rng);
    x[3 * i] = u;
    x[3 * i + 1] = 2 * u;
    x[3 * i + 2] = 3 * u;
    y[i] = 4 * u + 0.1 * oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, N, 3, x, y);
  s->settings.mean = "linear";
  s->settings.knots = "10";
  FOR_EACH_MODEL(s) {
    oatgp_model *model = fit_sanely(s, data, NULL);
    const double *slopes = info_of(model).slopes;
    assert_true(fabs(slopes[0] + 2 * slopes[1] + 3 * slopes[2] - 4) < 0.2);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* Inputs that differ by 1e-9 of their spread: the normal equations of the mean are singular but for rounding, which the
 * sums over rows lose when the signal is far larger than the noise. */
static void nearly_collinear_inputs(void **state) {
  scratch *s = *state;
  enum { N = 40, D = 4 };
  const double sizes[] = {1e-6, 1e-3, 1, 1e3, 1e6};
  double x[N * D], y[N];
  oat_rng rng;
  oat_rng_seed(&rng, 15);
  for (size_t i = 0; i < N; i++) {
    y[i] = oat_rng_normal(&rng);
    for (size_t j = 0; j < D; j++) {
      x[i * D + j] = 1000 + (i % 2 == 0 ? 1 : 1e-9 * oat_rng_normal(&rng));
    }
  }
  oatgp_data *data = make_data(s, N, D, x, y);
  s->settings.mean = "linear";
  s->settings.max_iter = 10;
  FOR_EACH_MODEL(s) {
    for (size_t i = 0; i < LENGTH(sizes) * LENGTH(sizes); i++) {
      s->settings.sigma = sizes[i % 5];
      s->settings.tau = sizes[i / 5];
      oatgp_model_free(fit_sanely(s, data, NULL));
    }
  }
  oatgp_data_free(data);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* The same data in other units: the same predictions, but for the units. */
static void units_do_not_matter(void **state) {
  scratch *s = *state;
  enum { N = 40, D = 2 };
  const double y_units[] = {1, 1e-150, 1e150, 1, 1}, x_units[] = {1, 1, 1, 1e-100, 1e100};
  oatgp_data *plain = wavy_data(s, N, D, 0.1, 4);
  double *first = NULL, objective = 0;
  s->settings.knots = "8";
  s->settings.max_iter = 5; /* so that rounding has no time to grow */
  FOR_EACH_MODEL(s) {
    for (size_t u = 0; u < LENGTH(y_units); u++) {
      double x[N * D], y[N];
      for (size_t i = 0; i < N; i++) {
        x[i * D] = plain->x[i] * x_units[u];
        x[i * D + 1] = plain->x[i + N] * x_units[u];
        y[i] = plain->y[i] * y_units[u];
      }
      oatgp_data *data = make_data(s, N, D, x, y);
      oatgp_model *model = must_fit(s, data, NULL);
      double *all = must_predict(s, model, data);
      objective = u > 0 ? objective : info_of(model).objective;
      assert_nats(info_of(model).objective, objective - N * log(y_units[u]), 1e-9);
      for (size_t i = 0; u > 0 && i < 3 * N; i++) {
        const double unit = i < N ? y_units[u] : y_units[u] * y_units[u];
        assert_true(fabs(all[i] / unit - first[i]) < 1e-6);
      }
      free(u > 0 ? all : NULL);
      first = u > 0 ? first : all;
      oatgp_model_free(model);
      oatgp_data_free(data);
    }
    free(first);
  }
  oatgp_data_free(plain);
}

/* Also with inputs that are not scaled, in which case it is the lengthscales that follow. */
static void units_of_inputs_that_are_not_scaled(void **state) {
  scratch *s = *state;
  const double units[] = {1e-100, 1e-8, 1e8, 1e100};
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 4);
  double before = 1;
  s->settings.scale = 0;
  s->settings.knots = "8";
  s->settings.max_iter = 30;
  for (size_t u = 0; u < LENGTH(units); u++) {
    for (size_t i = 0; i < 80; i++) {
      data->own_x[i] *= units[u] / before;
    }
    before = units[u];
    fits_with_every_model(s, data, NULL);
  }
  oatgp_data_free(data);
}

static void target_with_an_offset(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 1, 0.1, 4);
  s->settings.knots = "12";
  for (size_t i = 0; i < 60; i++) {
    data->own_y[i] += 1e9;
  }
  FOR_EACH_MODEL(s) {
    oatgp_model *model = fit_sanely(s, data, NULL);
    double *all = must_predict(s, model, data), squares = 0;
    for (size_t i = 0; i < 60; i++) {
      squares += (all[i] - data->y[i]) * (all[i] - data->y[i]) / 60;
    }
    assert_true(sqrt(squares) < 0.2);
    free(all);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void outliers(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 1, 0.1, 4);
  s->settings.knots = "12";
  data->own_y[10] = 1e6;
  data->own_y[40] = -1e6;
  fits_with_every_model(s, data, NULL);
  data->own_y[10] = 1e150;
  fits_with_every_model(s, data, NULL);
  data->own_y[10] = 0;
  data->own_y[40] = 0;
  data->own_x[20] = 1e6; /* an input that is far away */
  fits_with_every_model(s, data, NULL);
  oatgp_data_free(data);
}

static void no_noise(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 1, 0, 4);
  s->settings.knots = "15";
  FOR_EACH_MODEL(s) {
    oatgp_model *model = fit_sanely(s, data, NULL);
    double *all = must_predict(s, model, data);
    for (size_t i = 0; i < 60; i++) {
      assert_true(fabs(all[i] - data->y[i]) < 0.02);
    }
    free(all);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void nothing_but_noise(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 200, 3, 0.1, 4);
  oat_rng rng;
  oat_rng_seed(&rng, 55);
  for (size_t i = 0; i < 200; i++) {
    data->own_y[i] = oat_rng_normal(&rng);
  }
  s->settings.knots = "12";
  FOR_EACH_MODEL(s) {
    oatgp_model *model = fit_sanely(s, data, NULL);
    double *all = must_predict(s, model, data);
    const bool honest =
        model_ == 0 || strcmp(s->settings.approx, "vfe") == 0; /* the others may take noise for signal */
    for (size_t i = 0; honest && i < 200; i++) {
      assert_true(all[400 + i] > 0.5 && all[400 + i] < 2);
    }
    free(all);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* Weights and noise variances of very different sizes. */
static void uneven_noise(void **state) {
  scratch *s = *state;
  enum { N = 60 };
  double weights[N], variance[N];
  oatgp_data *data = wavy_data(s, N, 1, 0.1, 4);
  for (size_t i = 0; i < N; i++) {
    weights[i] = pow(10, (double)(i % 13) - 6);
    variance[i] = i % 4 == 0 ? 0 : pow(10, (double)(i % 17) - 8);
  }
  s->settings.knots = "10";
  s->settings.max_iter = 60;
  must(s, oatgp_data_set_weights(s->ctx, data, weights));
  fits_with_every_model(s, data, NULL);
  must(s, oatgp_data_set_noise_variance(s->ctx, data, variance));
  fits_with_every_model(s, data, NULL);
  must(s, oatgp_data_set_weights(s->ctx, data, NULL));
  fits_with_every_model(s, data, NULL);
  oatgp_data_free(data);
}

/* ---- knots ----------------------------------------------------------------------------------------------------- */

static void knots_at_one_place(void **state) {
  scratch *s = *state;
  const double knots[] = {0.5, 0.5, 0.5, 0.5, -1, 1.5, -1, 1.5, 40, 40};
  oatgp_data *data = wavy_data(s, 60, 2, 0.1, 4), *given = make_data(s, 5, 2, knots, NULL);
  const char *const kernels[] = {"se", "matern32-ard", "matern52", "rq-ard", "exponential"};
  s->settings.max_iter = 30;
  for (size_t k = 0; k < LENGTH(kernels); k++) {
    s->settings.kernel = kernels[k];
    s->settings.select = k + 1 < LENGTH(kernels) ? "simultaneous" : "fixed";
    fits_with_every_model(s, data, given);
  }
  oatgp_data_free(given);
  oatgp_data_free(data);
}

static void few_and_many_knots(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, 2, 0.1, 4);
  const char *const knots[] = {"1", "random:1", "30", "kmeans:31", "random:1000", "1000000"};
  s->settings.max_iter = 30;
  for (size_t k = 0; k < LENGTH(knots); k++) {
    s->settings.knots = knots[k];
    FOR_EACH_MODEL(s) {
      oatgp_model *model = fit_sanely(s, data, NULL);
      assert_int_equal(info_of(model).knots, model_ == 0 ? 0 : k < 2 ? 1 : 30);
      oatgp_model_free(model);
    }
  }
  expect_said(s, "30 knots instead of 1000000");
  oatgp_data_free(data);
}

/* The objective that the model says it has is the one of its jitter. */
static void expect_jitter_in_use(scratch *s, const oatgp_data *data, const oatgp_model *model) {
  const oatgp_model_info info = info_of(model);
  oatgp_settings settings = s->settings;
  oatgp_evaluation e = {0};
  double *knots = calloc(info.knots * info.d, sizeof *knots);
  char lengthscale[64];
  must(s, oatgp_model_knots(s->ctx, model, knots, NULL, NULL));
  oatgp_data *given = make_data(s, info.knots, info.d, knots, NULL);
  snprintf(lengthscale, sizeof lengthscale, "%.17g", info.lengthscales[0]);
  settings.sigma = info.sigma;
  settings.tau = info.tau;
  settings.lengthscale = lengthscale;
  settings.jitter = info.jitter;
  must(s, oatgp_evaluate(s->ctx, data, &settings, given, 0, &e));
  assert_true(e.jitter == info.jitter);
  assert_nats(e.objective, info.objective, 1e-9);
  oatgp_evaluation_clear(&e);
  oatgp_data_free(given);
  free(knots);
}

/* The ladder: without jitter, equal knots cannot be factorised; it is raised once, reported once, and stored. */
static void jitter_is_raised_once(void **state) {
  scratch *s = *state;
  const double knots[] = {0.5, 0.5, 0.5, -1};
  oatgp_data *data = wavy_data(s, 60, 1, 0.1, 4), *given = make_data(s, 4, 1, knots, NULL);
  s->settings.jitter = 0;
  s->settings.restarts = 2;
  FOR_EACH_MODEL(s) {
    s->said[0] = '\0';
    oatgp_model *model = fit_sanely(s, data, given);
    const double jitter = info_of(model).jitter;
    const bool sparse = info_of(model).knots > 0;
    assert_true(sparse ? jitter >= 1e-12 && jitter <= 1e-2 : jitter == 0);
    assert_int_equal(count_said(s, "warning"), sparse);
    assert_int_equal(count_said(s, "could not be factorised with jitter 0: raised to"), sparse);
    if (sparse) {
      expect_jitter_in_use(s, data, model);
    }
    oatgp_model_free(model);
  }
  const double apart[] = {0.5, 1.5, -0.2, -1.8};
  oatgp_data *spread = make_data(s, 4, 1, apart, NULL);
  s->settings.approx = "vfe";
  s->said[0] = '\0';
  oatgp_model *model = fit_sanely(s, data, spread);
  assert_true(info_of(model).jitter == 0);
  assert_string_equal(s->said, "");
  oatgp_model_free(model);
  oatgp_data_free(spread);
  oatgp_data_free(given);
  oatgp_data_free(data);
}

static void large_jitter(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 1, 0.1, 4);
  s->settings.knots = "12";
  s->settings.jitter = 1;
  FOR_EACH_MODEL(s) {
    oatgp_model *model = fit_sanely(s, data, NULL);
    assert_true(info_of(model).jitter == (model_ == 0 ? 0 : 1));
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static bool all_finite(size_t n, const double *values) {
  bool finite = true;
  for (size_t i = 0; i < n; i++) {
    finite = finite && isfinite(values[i]);
  }
  return finite;
}

/* No density is above that of the noise alone at its middle, and no penalty raises it. Signal and noise that grow
 * together by a factor e lose n nats and gain the quadratic term, which is not negative; known variances do not grow.
 * Rounding is relative to the quadratic term of the noise alone, and to the two derivatives, which may cancel. */
static void expect_density(const scratch *s, const oatgp_data *data, const oatgp_evaluation *e) {
  const double tau2 = s->settings.tau * s->settings.tau;
  double most = 0, quadratic = 0;
  for (size_t i = 0; i < data->n; i++) {
    const double weight = data->weight != NULL ? data->weight[i] : 1, known = data->noise != NULL ? data->noise[i] : 0;
    const double noise = tau2 / weight + known, residual = data->y[i] - e->mean;
    most -= 0.5 * log(2 * acos(-1) * noise);
    quadratic += residual * residual / noise;
  }
  assert_true(e->objective <= most + 1e-6 + 1e-7 * quadratic);
  const double rounding = 1e-3 * (1 + quadratic) + 1e-6 * (fabs(e->d_log_sigma) + fabs(e->d_log_tau));
  assert_true(data->noise != NULL || e->d_log_sigma + e->d_log_tau >= -(double)data->n - rounding);
}

static void evaluate_everywhere(scratch *s, const oatgp_data *data, const oatgp_data *knots) {
  const double sizes[] = {1e-8, 1e-6, 1e-4, 1e-2, 1, 1e2, 1e4, 1e6, 1e8};
  for (size_t i = 0; i < LENGTH(sizes) * LENGTH(sizes); i++) {
    oatgp_evaluation e = {0};
    s->settings.sigma = sizes[i % LENGTH(sizes)];
    s->settings.tau = sizes[i / LENGTH(sizes)];
    const oatgp_status status = oatgp_evaluate(s->ctx, data, &s->settings, knots, 1, &e);
    if (status != OATGP_OK) {
      fail_msg("%s %s, knots %s, sigma %g, tau %g, lengthscale %s: status %d, %s", s->settings.approx,
               s->settings.kernel, s->settings.knots, s->settings.sigma, s->settings.tau, s->settings.lengthscale,
               (int)status, oatgp_last_error(s->ctx));
    }
    assert_true(isfinite(e.objective) && isfinite(e.d_log_sigma) && isfinite(e.d_log_tau) && isfinite(e.d_log_shape));
    assert_true(all_finite(e.lengthscale_count, e.d_log_lengthscales));
    assert_true(e.d_knots == NULL || all_finite(e.knots * e.inputs, e.d_knots));
    assert_near(e.sigma, s->settings.sigma, 1e-15);
    expect_density(s, data, &e);
    oatgp_evaluation_clear(&e);
  }
}

/* Signal and noise from 1e-8 to 1e8 in all combinations, with few knots, with a knot on every row, with tiny and with
 * huge lengthscales. */
static void sizes_of_signal_and_noise(void **state) {
  scratch *s = *state;
  const char *const kernels[] = {"se", "matern32-ard", "matern52", "rq-ard"}, *const knots[] = {"6", "random:40"};
  const char *const lengthscales[] = {"", "1e-3", "1e3"};
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 4);
  FOR_EACH_MODEL(s) {
    for (size_t i = 0; i < LENGTH(kernels) * LENGTH(knots) * LENGTH(lengthscales); i++) {
      s->settings.kernel = kernels[i % 4];
      s->settings.knots = knots[i / 4 % 2];
      s->settings.lengthscale = lengthscales[i / 8];
      evaluate_everywhere(s, data, NULL);
    }
  }
  oatgp_data_free(data);
}

static void sizes_with_weights_and_a_mean(void **state) {
  scratch *s = *state;
  double weights[40], variance[40];
  const char *const means[] = {"fit", "linear"};
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 4);
  for (size_t i = 0; i < 40; i++) {
    weights[i] = 0.1 + (double)(i % 7);
    variance[i] = (double)(i % 3);
  }
  s->settings.knots = "10";
  for (size_t c = 0; c < 6; c++) {
    s->settings.mean = means[c % 2];
    must(s, oatgp_data_set_weights(s->ctx, data, c / 2 > 0 ? weights : NULL));
    must(s, oatgp_data_set_noise_variance(s->ctx, data, c / 2 > 1 ? variance : NULL));
    FOR_EACH_MODEL(s) { evaluate_everywhere(s, data, NULL); }
  }
  oatgp_data_free(data);
}

static void fits_from_far_starts(void **state) {
  scratch *s = *state;
  const double sizes[] = {1e-8, 1e-3, 1, 1e3, 1e8};
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 4);
  s->settings.knots = "6";
  s->settings.max_iter = 50;
  FOR_EACH_MODEL(s) {
    for (size_t i = 0; i < LENGTH(sizes) * LENGTH(sizes); i++) {
      s->settings.sigma = sizes[i % 5];
      s->settings.tau = sizes[i / 5];
      oatgp_model *model = fit_sanely(s, data, NULL);
      const oatgp_model_info info = info_of(model);
      assert_true(info.objective >= info.history[1]);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(data);
}

/* Where squares leave the range of numbers there is nothing to compute: that is said. */
static void sizes_beyond_numbers(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 4);
  s->settings.knots = "6";
  s->settings.tau = 1e-200;
  refuse_fit(s, data, OATGP_NUMERIC, "the objective has no finite value");
  s->settings.tau = 1e200;
  refuse_fit(s, data, OATGP_NUMERIC, "try other start values");
  s->settings.tau = 0;
  s->settings.sigma = 1e200;
  FOR_EACH_MODEL(s) {
    oatgp_evaluation e = {.objective = 17};
    refuse_fit(s, data, OATGP_NUMERIC, "the objective has no finite value");
    expect_sentence(s, OATGP_NUMERIC, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 1, &e),
                    "the objective has no finite value");
  }
  oatgp_data_free(data);
}

static void far_lengthscales_and_shapes(void **state) {
  scratch *s = *state;
  const char *const lengthscales[] = {"1e-8", "1e-3", "1e3", "1e8"};
  const double shapes[] = {1e-8, 1e-3, 1e3, 1e8};
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 4);
  s->settings.knots = "6";
  s->settings.kernel = "rq";
  s->settings.max_iter = 50;
  for (size_t i = 0; i < 16; i++) {
    s->settings.lengthscale = lengthscales[i % 4];
    s->settings.shape = shapes[i / 4];
    fits_with_every_model(s, data, NULL);
  }
  oatgp_data_free(data);
}

/* ---- far from the data ----------------------------------------------------------------------------------------- */

/* There the prediction is the prior: mean, sigma^2 (nothing for dic, whose prior is that of the knots) and the
 * noise. */
static void far_away_is_the_prior(void **state) {
  scratch *s = *state;
  const double far[] = {1e6, -1e6, -1e150, 1e150};
  const char *const means[] = {"mean", "fit", "3.5"};
  oatgp_data *data = wavy_data(s, 60, 1, 0.1, 4), *places = make_data(s, LENGTH(far), 1, far, NULL);
  const size_t n = LENGTH(far);
  s->settings.knots = "10";
  s->settings.average = 0;
  for (size_t m = 0; m < LENGTH(means); m++) {
    s->settings.mean = means[m];
    FOR_EACH_MODEL(s) {
      oatgp_model *model = must_fit(s, data, NULL);
      const oatgp_model_info info = info_of(model);
      const double prior = strcmp(info.approx, "dic") == 0 ? 0 : info.sigma * info.sigma;
      double *all = must_predict(s, model, places), covariance[16], samples[8];
      for (size_t i = 0; i < n; i++) {
        assert_near(all[i], info.mean, 1e-12);
        assert_near(all[n + i], prior, 1e-12);
        assert_near(all[2 * n + i], prior + info.tau * info.tau, 1e-12);
      }
      must(s, oatgp_predict_covariance(s->ctx, model, places, covariance));
      for (size_t i = 0; i < n * n; i++) {
        assert_near(covariance[i], i % (n + 1) == 0 ? prior : 0, 1e-12);
      }
      must(s, oatgp_predict_samples(s->ctx, model, places, 2, 1, samples));
      for (size_t i = 0; i < LENGTH(samples); i++) {
        assert_true(fabs(samples[i] - info.mean) <= 5 * sqrt(prior) + 1e-9 * info.sigma);
      }
      free(all);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(places);
  oatgp_data_free(data);
}

/* Samples where the covariance is singular: many equal rows, and rows on top of noiseless data. */
static void samples_of_equal_rows(void **state) {
  scratch *s = *state;
  const double places[] = {0.3, 0.3, 0.3, 0.3, 0.3 + 1e-13, 1, 1};
  double samples[3 * LENGTH(places)];
  oatgp_data *data = wavy_data(s, 60, 1, 0, 4), *rows = make_data(s, LENGTH(places), 1, places, NULL);
  s->settings.knots = "15";
  FOR_EACH_MODEL(s) {
    oatgp_model *model = must_fit(s, data, NULL);
    must(s, oatgp_predict_samples(s->ctx, model, rows, 3, 1, samples));
    for (size_t i = 0; i < LENGTH(samples); i++) {
      assert_true(fabs(samples[i]) < 2); /* the wave is between -1 and 1 */
    }
    if (strcmp(s->settings.approx, "fic") != 0) { /* whose residual is independent from row to row */
      assert_true(fabs(samples[0] - samples[1]) < 1e-2 && fabs(samples[5] - samples[6]) < 1e-2);
    }
    oatgp_model_free(model);
  }
  oatgp_data_free(rows);
  oatgp_data_free(data);
}

/* The remainder of a large prior variance is smaller than its rounding error. */
static void samples_of_a_certain_function(void **state) {
  scratch *s = *state;
  enum { N = 40 };
  double samples[N];
  oatgp_data *data = wavy_data(s, N, 2, 0, 4);
  s->settings.knots = "random:20";
  s->settings.fix = "sigma,tau";
  s->settings.sigma = 1e6;
  s->settings.tau = 1e-4;
  FOR_EACH_MODEL(s) {
    oatgp_model *model = fit_sanely(s, data, NULL);
    must(s, oatgp_predict_samples(s->ctx, model, data, 1, 1, samples));
    double *all = must_predict(s, model, data);
    for (size_t i = 0; i < N; i++) {
      assert_true(fabs(samples[i] - all[i]) <= 5 * sqrt(all[N + i]) + 1e-6 * s->settings.sigma);
    }
    free(all);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* ---- anything -------------------------------------------------------------------------------------------------- */

static const char *pick(oat_rng *rng, const char *const *words) {
  size_t count = 0;
  while (words[count] != NULL) {
    count++;
  }
  return words[oat_rng_below(rng, count)];
}

#define PICK(rng, ...) pick((rng), (const char *const[]){__VA_ARGS__, NULL})

/* A power of ten between 10^-range and 10^range. */
static double any_size(oat_rng *rng, double range) { return pow(10, range * (2 * oat_rng_uniform(rng) - 1)); }

static void any_settings(oat_rng *rng, oatgp_settings *settings) {
  const double jitters[] = {1e-6, 0, 1e-12, 1};
  oatgp_settings_default(settings);
  settings->approx = all_models[oat_rng_below(rng, LENGTH(all_models))];
  settings->alpha = 1e-6 + 0.99 * oat_rng_uniform(rng);
  settings->kernel =
      PICK(rng, "se", "se-ard", "matern32", "matern32-ard", "matern52", "matern52-ard", "rq", "rq-ard", "exponential");
  settings->select =
      strcmp(settings->kernel, "exponential") == 0 ? "fixed" : PICK(rng, "simultaneous", "auto", "fixed");
  settings->mean = PICK(rng, "mean", "fit", "linear", "0", "1e6");
  settings->knots = PICK(rng, "", "1", "3", "10", "random:10", "50", "random:50");
  settings->optimizer = PICK(rng, "lbfgs", "lbfgs", "adadelta");
  settings->knot_box = PICK(rng, "none", "bound", "logit");
  settings->fix = PICK(rng, "", "", "", "tau", "sigma", "lengthscale", "sigma,tau");
  settings->lengthscale = PICK(rng, "", "", "", "1e-6", "1e-2", "1e2", "1e6");
  settings->scale = oat_rng_below(rng, 4) != 0;
  settings->jitter = jitters[oat_rng_below(rng, LENGTH(jitters))];
  settings->restarts = oat_rng_below(rng, 3) == 0;
  settings->max_iter = 40;
}

/* Rows whose inputs and target may be smooth, tied, of any unit, skewed or nearly constant. */
static oatgp_data *any_data(scratch *s, oat_rng *rng) {
  const size_t n = 2 + oat_rng_below(rng, 40), d = 1 + oat_rng_below(rng, 4), kind = oat_rng_below(rng, 5),
               target = oat_rng_below(rng, 6);
  double *x = calloc(n * d, sizeof *x), *y = calloc(n, sizeof *y);
  const double x_unit = any_size(rng, 30), y_unit = any_size(rng, 30);
  for (size_t i = 0; i < n; i++) {
    const double noise = oat_rng_normal(rng);
    for (size_t j = 0; j < d; j++) {
      const double u = oat_rng_normal(rng),
                   all[] = {u, floor(2 * u), u * x_unit, exp(5 * u), 1e3 + (i % 2 == 0 ? 1 : 1e-9 * u)};
      x[i * d + j] = all[kind];
      y[i] += sin(u);
    }
    const double all[] = {y[i], y[i] + noise, y[i] * y_unit, 1e9 + y[i], exp(8 * noise), (double)(i % 2)};
    y[i] = all[target];
  }
  oatgp_data *data = make_data(s, n, d, x, y);
  free(x);
  free(y);
  return data;
}

/* Random noise for some rows, and random starts for sigma and tau, in units of the target. */
static void any_noise(scratch *s, oat_rng *rng, oatgp_data *data) {
  double *values = calloc(data->n, sizeof *values), size = 0;
  for (size_t i = 0; i < data->n; i++) {
    size = fmax(size, fabs(data->y[i] - data->y[0]));
    values[i] = any_size(rng, 3);
  }
  if (oat_rng_below(rng, 4) == 0) {
    must(s, oatgp_data_set_weights(s->ctx, data, values));
  }
  for (size_t i = 0; i < data->n; i++) {
    values[i] = i % 3 == 0 ? 0 : size * size * any_size(rng, 3);
  }
  if (oat_rng_below(rng, 4) == 0) {
    must(s, oatgp_data_set_noise_variance(s->ctx, data, values));
  }
  s->settings.sigma = oat_rng_below(rng, 3) == 0 ? size * any_size(rng, 8) : 0;
  s->settings.tau = oat_rng_below(rng, 3) == 0 ? size * any_size(rng, 8) : 0;
  free(values);
}

/* The fit succeeds and its model predicts, or the data are refused with a reason. */
static void any_problem(scratch *s, uint64_t seed) {
  oatgp_model *model = NULL;
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  any_settings(&rng, &s->settings);
  oatgp_data *data = any_data(s, &rng);
  any_noise(s, &rng, data);
  s->said[0] = '\0';
  const oatgp_status status = oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model);
  if (status == OATGP_OK) {
    const oatgp_model_info info = info_of(model);
    double *all = must_predict(s, model, data), *sample = calloc(data->n, sizeof *sample);
    expect_sane_predictions(all, data->n);
    must(s, oatgp_predict_samples(s->ctx, model, data, 1, 1, sample));
    assert_true(all_finite(data->n, sample));
    assert_true(info.history_count == 0 || info.objective >= info.history[1] ||
                strstr(s->said, "the model is that constant") != NULL);
    free(all);
    free(sample);
  } else if (status != OATGP_DATA || strlen(oatgp_last_error(s->ctx)) < 30) {
    fail_msg("problem %llu: status %d, %s", (unsigned long long)seed, (int)status, oatgp_last_error(s->ctx));
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void any_problems(void **state) {
  for (uint64_t seed = 1; seed <= 600; seed++) {
    any_problem(*state, seed);
  }
}

/* ---- too large ------------------------------------------------------------------------------------------------- */

static void full_model_that_does_not_fit(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 200, 1, 0.1, 4);
  s->settings.approx = "full";
  s->settings.memory = 200 * 200 * 8 - 1;
  refuse_fit(s, data, OATGP_DATA, "raise --memory or use a sparse model");
  s->settings.memory = 200 * 200 * 8;
  s->settings.max_iter = 2;
  oatgp_model_free(fit_sanely(s, data, NULL));
  s->settings.approx = "vfe";
  s->settings.memory = 1; /* sparse models only lose a cache by it */
  oatgp_model_free(fit_sanely(s, data, NULL));
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(all_rows_twice),
      WITH_SCRATCH(rows_that_differ_in_y_alone),
      WITH_SCRATCH(heavy_ties),
      WITH_SCRATCH(one_and_two_rows),
      WITH_SCRATCH(constant_target),
      WITH_SCRATCH(constant_inputs_are_left_out),
      WITH_SCRATCH(many_inputs),
      WITH_SCRATCH(collinear_inputs_with_a_linear_mean),
      WITH_SCRATCH(nearly_collinear_inputs),
      WITH_SCRATCH(units_do_not_matter),
      WITH_SCRATCH(units_of_inputs_that_are_not_scaled),
      WITH_SCRATCH(target_with_an_offset),
      WITH_SCRATCH(outliers),
      WITH_SCRATCH(no_noise),
      WITH_SCRATCH(nothing_but_noise),
      WITH_SCRATCH(uneven_noise),
      WITH_SCRATCH(knots_at_one_place),
      WITH_SCRATCH(few_and_many_knots),
      WITH_SCRATCH(jitter_is_raised_once),
      WITH_SCRATCH(large_jitter),
      WITH_SCRATCH(sizes_of_signal_and_noise),
      WITH_SCRATCH(sizes_with_weights_and_a_mean),
      WITH_SCRATCH(fits_from_far_starts),
      WITH_SCRATCH(sizes_beyond_numbers),
      WITH_SCRATCH(far_lengthscales_and_shapes),
      WITH_SCRATCH(far_away_is_the_prior),
      WITH_SCRATCH(samples_of_equal_rows),
      WITH_SCRATCH(samples_of_a_certain_function),
      WITH_SCRATCH(any_problems),
      WITH_SCRATCH(full_model_that_does_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
