/* Changes of the data and their effects on a model, through the public functions: other units, a linear trend, repeated
 * rows, known noise, redundant inputs. */
#include "rows/layout.h"
#include "dense.h"
#include "fixed_fits.h"

enum { ROWS = 23, INPUTS = 2, KNOTS = 5, POINTS = 8 };

static void choose_points(double *points) {
  oat_rng rng;
  oat_rng_seed(&rng, 121);
  for (size_t i = 0; i < POINTS * INPUTS; i++) {
    points[i] = 4 * oat_rng_uniform(&rng) - 2;
  }
}

/* Predictions at n points, column-major, of the fixed model of p. */
static double *predict_at(scratch *s, const problem *p, row_noise noise, size_t n, const double *points) {
  oatgp_model *model = fixed_model(s, p, noise);
  oatgp_data *data = data_of(s, n, p->d, points, NULL);
  double *all = must_predict(s, model, data);
  oatgp_data_free(data);
  oatgp_model_free(model);
  return all;
}

static oatgp_evaluation evaluate(scratch *s, const problem *p, row_noise noise, bool with_gradient) {
  oatgp_evaluation result;
  oatgp_data *data = problem_data(s, p, noise), *knots = data_of(s, p->k, p->d, p->z, NULL);
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, knots, with_gradient, &result));
  oatgp_data_free(data);
  oatgp_data_free(knots);
  return result;
}

/* ---- units ----------------------------------------------------------------------------------------------------- */

/* y -> a y + b, x_j -> c_j x_j + e_j */
typedef struct units {
  double a, b, c[INPUTS], e[INPUTS];
} units;

static void change_columns(const units *u, size_t n, double *columns) {
  for (size_t i = 0; i < n * INPUTS; i++) {
    columns[i] = u->c[i / n] * columns[i] + u->e[i / n];
  }
}

/* The same problem in other units. */
static problem change_units(const units *u, uint64_t seed) {
  problem p = make_problem(ROWS, INPUTS, KNOTS, seed);
  change_columns(u, p.n, p.x);
  change_columns(u, p.k, p.z);
  for (size_t i = 0; i < p.n; i++) {
    p.r[i] = u->a * p.r[i] + u->b;
    p.noise_add[i] *= u->a * u->a;
  }
  p.theta[OAT_SIGMA] *= fabs(u->a);
  p.theta[OAT_TAU] *= fabs(u->a);
  return p;
}

/* The settings of scaled inputs and an estimated mean; lengthscales are in scaled units anyway. */
static void set_units(scratch *s, const oat_kernel *kernel, variant v, const problem *p, char text[256]) {
  fix_everything(s, kernel, v, p, text);
  s->settings.scale = 1;
  s->settings.mean = kernel->ard ? "mean" : kernel->profile->has_shape ? "linear" : "fit";
}

/* The objective in nats, and the gradient. */
static double check_evaluation(const units *u, const oatgp_evaluation *before, const oatgp_evaluation *after) {
  assert_nats(after->objective, before->objective - ROWS * log(fabs(u->a)), 1e-9);
  double worst = relative_error(after->d_log_sigma, before->d_log_sigma);
  worst = worse_of(worst, relative_error(after->d_log_tau, before->d_log_tau));
  worst = worse_of(worst, relative_error(after->d_log_shape, before->d_log_shape));
  worst = worse_of(worst, relative_error(after->mean, u->a * before->mean + u->b));
  worst =
      worse_of(worst, largest_error(before->lengthscale_count, after->d_log_lengthscales, before->d_log_lengthscales));
  for (size_t i = 0; before->d_knots != NULL && i < KNOTS * INPUTS; i++) {
    const double sign = u->c[i % INPUTS] > 0 ? 1 : -1;
    worst = worse_of(worst, relative_error(sign * after->d_knots[i], before->d_knots[i]));
  }
  return worst;
}

static double check_predictions(scratch *s, const units *u, const problem *before, const problem *after,
                                row_noise noise) {
  double points[POINTS * INPUTS], worst = 0;
  choose_points(points);
  s->settings.sigma = before->theta[OAT_SIGMA];
  s->settings.tau = before->theta[OAT_TAU];
  double *old = predict_at(s, before, noise, POINTS, points);
  change_columns(u, POINTS, points);
  s->settings.sigma = after->theta[OAT_SIGMA];
  s->settings.tau = after->theta[OAT_TAU];
  double *new = predict_at(s, after, noise, POINTS, points);
  for (size_t i = 0; i < 3 * POINTS; i++) {
    const double size = i < POINTS ? fabs(u->a) : u->a * u->a;
    worst = worse_of(worst, relative_error(new[i] / size, (i < POINTS ? u->a * old[i] + u->b : size * old[i]) / size));
  }
  free(old);
  free(new);
  return worst;
}

static double check_units(scratch *s, const units *u, const oat_kernel *kernel, variant v, row_noise noise) {
  char text[256];
  problem p = make_problem(ROWS, INPUTS, KNOTS, 122), q = change_units(u, 122);
  const bool with_gradient = kernel->profile->smooth || !v.approx->sparse;
  set_units(s, kernel, v, &p, text);
  oatgp_evaluation before = evaluate(s, &p, noise, with_gradient);
  set_units(s, kernel, v, &q, text);
  oatgp_evaluation after = evaluate(s, &q, noise, with_gradient);
  const double worst = worse_of(check_evaluation(u, &before, &after), check_predictions(s, u, &p, &q, noise));
  oatgp_evaluation_clear(&before);
  oatgp_evaluation_clear(&after);
  free_problem(&p);
  free_problem(&q);
  return worst;
}

static void other_units(void **state) {
  scratch *s = *state;
  static const units all[] = {
      {-3.7, 100, {25.4, -0.01}, {-40, 3}}, {1e-7, 2e-6, {1e6, 1e-9}, {3e6, 1e-8}}, {4e8, -1e9, {1, 7}, {0, 1e3}}};
  double worst = 0;
  variant v;
  for (size_t t = 0; variant_at(t / LENGTH(all), &v); t++) {
    for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
      const row_noise noise = (row_noise)(i % ROW_NOISES);
      worst = worse_of(worst, check_units(s, &all[t % LENGTH(all)], oat_kernel_at(i), v, noise));
    }
  }
  print_message("other units: gradient and predictions within %.1e\n", worst);
  assert_true(worst <= 1e-9);
}

/* A whole fit, from k-means to the end of the optimiser. */
static oatgp_model *whole_fit(scratch *s, const problem *p, const char *approx) {
  oatgp_settings_default(&s->settings);
  s->settings.prior = "none"; /* a density has a unit, and so another rounding error */
  s->settings.approx = approx;
  s->settings.knots = "6";
  s->settings.max_iter = 30;
  oatgp_data *data = problem_data(s, p, NOISE_PLAIN);
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_data_free(data);
  return model;
}

static void check_fit(scratch *s, const units *u, const char *approx, double tolerance) {
  problem p = make_problem(ROWS, INPUTS, KNOTS, 123), q = change_units(u, 123);
  oatgp_model *before = whole_fit(s, &p, approx), *after = whole_fit(s, &q, approx);
  const oatgp_model_info a = info_of(before), b = info_of(after);
  double old[6 * INPUTS], new[6 * INPUTS];
  assert_nats(b.objective, a.objective - ROWS * log(fabs(u->a)), fmax(tolerance, 1e-12));
  assert_near(b.sigma / fabs(u->a), a.sigma, tolerance);
  assert_near(b.tau / fabs(u->a), a.tau, tolerance);
  for (size_t j = 0; j < INPUTS; j++) {
    assert_near(b.lengthscales[j], a.lengthscales[j], tolerance);
  }
  if (a.knots > 0) {
    assert_int_equal(a.knots, b.knots);
    must(s, oatgp_model_knots(s->ctx, before, old, NULL, NULL));
    must(s, oatgp_model_knots(s->ctx, after, new, NULL, NULL));
    for (size_t i = 0; i < a.knots * INPUTS; i++) {
      assert_near((new[i] - u->e[i % INPUTS]) / u->c[i % INPUTS], old[i], tolerance);
    }
  }
  oatgp_model_free(before);
  oatgp_model_free(after);
  free_problem(&p);
  free_problem(&q);
}

/* Powers of two change no digit of a fit; other units only its rounding, which the optimiser carries on. */
static void fits_in_other_units(void **state) {
  scratch *s = *state;
  static const units exact = {64, 0, {0.25, 1024}, {0, 0}}, rounded = {3, -50, {25.4, 0.01}, {-40, 3}};
  for (size_t i = 0; oat_approx_at(i) != NULL; i++) {
    check_fit(s, &exact, oat_approx_at(i)->name, 0);
    check_fit(s, &rounded, oat_approx_at(i)->name, 1e-4);
  }
}

/* ---- trends ---------------------------------------------------------------------------------------------------- */

static const double trend[1 + INPUTS] = {30, -20, 7};

static double trend_at(const double *columns, size_t n, size_t i) {
  double sum = trend[0];
  for (size_t j = 0; j < INPUTS; j++) {
    sum += trend[1 + j] * columns[i + j * n];
  }
  return sum;
}

/* Under a linear mean it changes the coefficients and nothing else. */
static void linear_trend(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 124), q = make_problem(ROWS, INPUTS, KNOTS, 124);
  double points[POINTS * INPUTS];
  char text[256];
  variant v;
  choose_points(points);
  for (size_t i = 0; i < q.n; i++) {
    q.r[i] += trend_at(q.x, q.n, i);
  }
  for (size_t t = 0; variant_at(t / 2, &v); t++) {
    fix_everything(s, oat_kernel_find("matern52-ard"), v, &p, text);
    s->settings.mean = "linear";
    s->settings.scale = (int)(t % 2);
    oatgp_model *before = fixed_model(s, &p, NOISE_SCALED), *after = fixed_model(s, &q, NOISE_SCALED);
    double *old = predict_at(s, &p, NOISE_SCALED, POINTS, points),
           *new = predict_at(s, &q, NOISE_SCALED, POINTS, points);
    assert_nats(info_of(after).objective, info_of(before).objective, 1e-9);
    for (size_t j = 0; j < INPUTS; j++) {
      assert_near(info_of(after).slopes[j] - trend[1 + j], info_of(before).slopes[j], 1e-9);
    }
    for (size_t i = 0; i < 3 * POINTS; i++) {
      assert_near(new[i] - (i < POINTS ? trend_at(points, POINTS, i) : 0), old[i], 1e-9);
    }
    oatgp_model_free(before);
    oatgp_model_free(after);
    free(old);
    free(new);
  }
  free_problem(&p);
  free_problem(&q);
}

/* An input that is a linear function of another: the linear mean is that of one of them. */
static void collinear_inputs(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 125);
  char text[256];
  variant v;
  for (size_t i = 0; i < p.n; i++) {
    p.x[i + p.n] = p.r[i + 3 * p.n] = 2 * p.x[i] - 0.5;
  }
  for (size_t m = 0; variant_at(m, &v); m++) {
    const oat_rows rows = rows_of(&p, NOISE_PLAIN, 2);
    const oat_objective_config config = config_of(&rows, oat_kernel_find("se-ard"), v, KNOTS);
    const oat_point point = {p.theta, p.z};
    dense exact = dense_make(&config, &point);
    fix_everything(s, config.kernel, v, &p, text);
    s->settings.mean = "linear";
    oatgp_model *model = fixed_model(s, &p, NOISE_PLAIN);
    double *all = predict_at(s, &p, NOISE_PLAIN, p.n, p.x);
    assert_nats(info_of(model).objective, (double)exact.value, 1e-9);
    expect_sane_predictions(all, p.n);
    free(all);
    dense_free(&exact);
    oatgp_model_free(model);
  }
  free_problem(&p);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* A row of weight w predicts as w equal rows do. */
static void weights_are_repeats(void **state) {
  scratch *s = *state;
  static const char *const names[] = {"full", "dic", "dtc", "vfe"};
  const size_t bases[] = {0, 1, 1 + INPUTS};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 126), q = repeat_rows(&p);
  double points[POINTS * INPUTS], worst = 0;
  char text[256];
  choose_points(points);
  for (size_t i = 0; i < p.n; i++) {
    p.noise_scale[i] = 1 / (double)(1 + i % 3);
  }
  for (size_t t = 0; oat_kernel_at(t / LENGTH(names) / LENGTH(bases)) != NULL; t++) {
    const variant v = {oat_approx_find(names[t % LENGTH(names)]), 0};
    fix_everything(s, oat_kernel_at(t / LENGTH(names) / LENGTH(bases)), v, &p, text);
    s->settings.mean = mean_for(bases[t / LENGTH(names) % LENGTH(bases)]);
    double *weighted = predict_at(s, &p, NOISE_SCALED, POINTS, points),
           *repeated = predict_at(s, &q, NOISE_PLAIN, POINTS, points);
    worst = worse_of(worst, largest_error(3 * POINTS, weighted, repeated));
    free(weighted);
    free(repeated);
  }
  print_message("weights and repeated rows: predictions within %.1e\n", worst);
  assert_true(worst <= 1e-9);
  free_problem(&p);
  free_problem(&q);
}

/* A known variance in every row acts as a larger tau does, but is no part of a new row's noise. */
static void constant_noise_is_tau(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 127), q = make_problem(ROWS, INPUTS, KNOTS, 127);
  const double added = 0.11;
  double points[POINTS * INPUTS];
  char text[256];
  variant v;
  choose_points(points);
  for (size_t i = 0; i < p.n; i++) {
    p.noise_add[i] = added;
  }
  q.theta[OAT_TAU] = sqrt(p.theta[OAT_TAU] * p.theta[OAT_TAU] + added);
  for (size_t m = 0; variant_at(m, &v); m++) {
    fix_everything(s, oat_kernel_find("rq-ard"), v, &p, text);
    double *known = predict_at(s, &p, NOISE_ADDED, POINTS, points);
    fix_everything(s, oat_kernel_find("rq-ard"), v, &q, text);
    double *larger = predict_at(s, &q, NOISE_PLAIN, POINTS, points);
    assert_true(largest_error(2 * POINTS, known, larger) <= 1e-11);
    for (size_t i = 2 * POINTS; i < 3 * POINTS; i++) {
      assert_near(known[i] + added, larger[i], 1e-11);
    }
    free(known);
    free(larger);
  }
  free_problem(&p);
  free_problem(&q);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(other_units),      WITH_SCRATCH(fits_in_other_units), WITH_SCRATCH(linear_trend),
      WITH_SCRATCH(collinear_inputs), WITH_SCRATCH(weights_are_repeats), WITH_SCRATCH(constant_noise_is_tau),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
