/* The bracket of the log evidence against dense formulas: it holds for every kernel, model, mean and row noise however
 * early it is stopped, and at the end its quadratic term is exact. */
#include "rows/layout.h"
#include "dense.h"
#include "fits.h"
#include "model/model.h"
#include "certify/certify.h"
#include "util/threads.h"

enum { N = 44, D = 2, K = 7, WEIGHTS = 1, VARIANCES = 2, NOISES = 4 };

#define ROUNDING 1e-9 /* nats, of some hundred */

static const int64_t thread_counts[] = {1, 2, 3, 7};

/* ---- problems -------------------------------------------------------------------------------------------------- */

/* Rows in units that are not 1, with weights and known variances if wanted. */
static oatgp_data *make_rows(scratch *s, size_t n, int noise, uint64_t seed) {
  double *x = calloc(n * D, sizeof *x), *y = calloc(n, sizeof *y), *weight = calloc(n, sizeof *weight),
         *variance = calloc(n, sizeof *variance);
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    x[i * D] = 20 * oat_rng_uniform(&rng);
    x[i * D + 1] = 3 * oat_rng_uniform(&rng);
    y[i] = 37 * (5 + sin(0.6 * x[i * D]) + 0.4 * x[i * D + 1] + 0.25 * oat_rng_normal(&rng));
    weight[i] = 0.3 + oat_rng_uniform(&rng);
    variance[i] = 60 * oat_rng_uniform(&rng);
  }
  oatgp_data *data = make_data(s, n, D, x, y);
  must(s, oatgp_data_set_weights(s->ctx, data, noise & WEIGHTS ? weight : NULL));
  must(s, oatgp_data_set_noise_variance(s->ctx, data, noise & VARIANCES ? variance : NULL));
  free(x);
  free(y);
  free(weight);
  free(variance);
  return data;
}

/* Knots that are random rows, parameters as given: nothing is optimised. */
static void fix_everything(scratch *s, const char *kernel, const char *mean) {
  s->settings.kernel = kernel;
  s->settings.mean = mean;
  s->settings.select = "fixed";
  s->settings.knots = "random:7";
  s->settings.max_iter = 0;
  s->settings.sigma = 40;
  s->settings.tau = 9;
  s->settings.lengthscale = "0.6";
  s->settings.shape = 1.3;
}

/* Conjugate gradients until `tol`, at most so many. */
static oatgp_certificate must_certify(scratch *s, const oatgp_model *model, const oatgp_data *data, double tol,
                                      int64_t most) {
  oatgp_certificate c;
  s->settings.tol = tol;
  s->settings.max_iter = most;
  must(s, oatgp_certify(s->ctx, model, data, &s->settings, NULL, NULL, &c));
  assert_int_equal(c.n, oatgp_data_rows(data));
  assert_true(c.elbo <= c.lower && c.lower <= c.upper);
  assert_true(c.kl_at_most == c.upper - c.elbo);
  assert_near(c.kl_per_row * (double)c.n, c.kl_at_most, 1e-12);
  return c;
}

/* The exact values of the bracket, by dense matrices. */
typedef struct truth {
  double evidence, elbo;
  double log_determinants; /* log|C| - log|P| */
  double logs;             /* sum log(1 + g_i / n_i), g the diagonal of K - Q */
  double first, second;    /* traces of A = P^-1 (K - Q) and of A^2 */
} truth;

static real log_determinant(const dense *m) {
  real sum = 0;
  for (size_t i = 0; i < m->n; i++) {
    sum += 2 * logl(m->s[i * (m->n + 1)]);
  }
  return sum;
}

/* The two traces; S of `dtc` is the factor of P. */
static void add_traces(const dense *dtc, truth *t) {
  const size_t n = dtc->n;
  real *a = dense_cross(&dtc->cov, dtc->rows, dtc->rows), *q = dense_product(dtc->k, dtc->kuf, n, dtc->a, n);
  for (size_t i = 0; i < n * n; i++) {
    a[i] -= q[i];
  }
  dense_solve(n, dtc->s, a, n);
  real first = 0, second = 0;
  for (size_t i = 0; i < n; i++) {
    first += a[i * (n + 1)];
    for (size_t j = 0; j < n; j++) {
      second += a[i + j * n] * a[j + i * n];
    }
  }
  t->first = (double)first;
  t->second = (double)second;
  free(a);
  free(q);
}

/* Residuals from the model's whole mean; the caller frees them. */
static double *residuals_of(const oatgp_model *model, const oat_rows *rows) {
  double *r = calloc(rows->n, sizeof *r);
  for (size_t i = 0; i < rows->n; i++) {
    r[i] = rows->r[i];
    for (size_t j = 0; j < rows->p; j++) {
      r[i] -= model->coefficient[j] * rows->r[i + (1 + j) * rows->n];
    }
  }
  return r;
}

static truth find_truth(scratch *s, const oatgp_model *model, const oatgp_data *data) {
  oat_rows *seen = NULL;
  must(s, oat_model_rows(s->ctx, model, data, &seen));
  oat_rows rows = *seen;
  double *r = residuals_of(model, &rows);
  rows.p = 0;
  rows.r = r;
  const oat_point point = {model->theta, model->z};
  oat_objective_config config = {
      .approx = oat_approx_find("full"), .kernel = model->kernel, .rows = &rows, .k = model->k};
  dense exact = dense_make(&config, &point);
  config.jitter = model->number[OAT_NUMBER_JITTER];
  config.approx = oat_approx_find("dtc");
  dense dtc = dense_make(&config, &point);
  config.approx = oat_approx_find("vfe");
  dense vfe = dense_make(&config, &point);
  config.approx = oat_approx_find("tvfe");
  dense tvfe = dense_make(&config, &point);
  const double unit = (double)rows.n * log(model->number[OAT_NUMBER_Y_SCALE]);
  truth t = {(double)exact.value - unit, (double)vfe.value - unit,
             (double)(log_determinant(&exact) - log_determinant(&dtc)), (double)(2 * (dtc.value - tvfe.value))};
  add_traces(&dtc, &t);
  dense_free(&exact);
  dense_free(&dtc);
  dense_free(&vfe);
  dense_free(&tvfe);
  free(r);
  oat_rows_free(seen);
  return t;
}

static void expect_inside(const oatgp_certificate *c, const truth *t) {
  assert_nats(c->elbo, t->elbo, ROUNDING);
  assert_true(c->lower <= t->evidence + ROUNDING);
  assert_true(c->upper >= t->evidence - ROUNDING);
}

/* With the quadratic term exact, only the determinant is left: between these two. */
static void expect_ends(const oatgp_certificate *c, const truth *t, double low, double high) {
  expect_inside(c, t);
  assert_nats(c->upper, t->evidence + (t->log_determinants - low) / 2, ROUNDING);
  assert_nats(c->lower, t->evidence + (t->log_determinants - high) / 2, ROUNDING);
}

/* The smallest and the largest sum of log(1 + eigenvalue) that the traces allow: equal ones and zeros; equal ones and
 * the largest possible. */
static double smallest_sum(const truth *t) { return t->first * t->first / t->second * log1p(t->second / t->first); }

static double largest_sum(const truth *t) {
  const double b = sqrt(t->second), mean = t->first / N, square = t->second / N, x = (mean * b - square) / (b - mean);
  const double count = (t->first - N * x) / (b - x);
  return (N - count) * log1p(x) + count * log1p(b);
}

/* Both ways to bound the determinant. */
static oatgp_certificate expect_converged(scratch *s, const oatgp_model *model, const oatgp_data *data) {
  const truth t = find_truth(s, model, data);
  s->settings.determinant = 0;
  const oatgp_certificate wide = must_certify(s, model, data, 1e-12, 200);
  expect_ends(&wide, &t, 0, t.logs);
  s->settings.determinant = 1;
  const oatgp_certificate c = must_certify(s, model, data, 1e-12, 200);
  expect_ends(&c, &t, smallest_sum(&t), fmin(largest_sum(&t), t.logs));
  assert_true(c.upper < wide.upper && c.lower >= wide.lower && c.iterations == wide.iterations);
  return c;
}

/* ---- brackets -------------------------------------------------------------------------------------------------- */

static void check_problem(scratch *s, const char *kernel, const char *mean, int noise) {
  fix_everything(s, kernel, mean);
  oatgp_data *data = make_rows(s, N, noise, 11);
  oatgp_model *model = must_fit(s, data, NULL);
  *s->said = '\0';
  const oatgp_certificate c = expect_converged(s, model, data);
  assert_null(strstr(s->said, "warning"));
  assert_nats(c.elbo, info_of(model).objective, ROUNDING);
  assert_true(c.lower > c.elbo && c.kl_at_most > 0 && isnan(c.exact));
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void every_kernel_mean_and_noise(void **state) {
  scratch *s = *state;
  static const char *const means[] = {"mean", "120", "fit", "linear"};
  need_long_double();
  const oat_kernel *kernel;
  for (size_t i = 0; (kernel = oat_kernel_at(i)) != NULL; i++) {
    for (size_t m = 0; m < LENGTH(means); m++) {
      for (int noise = 0; noise < NOISES; noise++) {
        check_problem(s, kernel->name, means[m], noise);
      }
    }
  }
}

static void expressions(void **state) {
  scratch *s = *state;
  need_long_double();
  for (int noise = 0; noise < NOISES; noise++) {
    fix_everything(s, "linear() * matern52() + constant", "mean");
    s->settings.sigma = 0;
    s->settings.lengthscale = "";
    s->settings.shape = 1;
    oatgp_data *data = make_rows(s, N, noise, 13);
    oatgp_model *model = must_fit(s, data, NULL);
    const oatgp_certificate c = expect_converged(s, model, data);
    assert_nats(c.elbo, info_of(model).objective, ROUNDING);
    assert_true(c.lower > c.elbo && c.kl_at_most > 0);
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
}

static void stopped_early_it_holds_and_it_improves(void **state) {
  scratch *s = *state;
  static const int64_t most[] = {0, 1, 2, 5, 9, 20};
  need_long_double();
  for (int noise = 0; noise < NOISES; noise++) {
    fix_everything(s, "matern32-ard", "fit");
    oatgp_data *data = make_rows(s, N, noise, 12);
    oatgp_model *model = must_fit(s, data, NULL);
    const truth t = find_truth(s, model, data);
    oatgp_certificate before = {0};
    for (size_t i = 0; i < LENGTH(most); i++) {
      const oatgp_certificate c = must_certify(s, model, data, 1e-12, most[i]);
      expect_inside(&c, &t);
      assert_true(c.iterations <= most[i]);
      assert_int_equal(c.stop, c.iterations == most[i] ? OATGP_STOP_ITERATIONS : OATGP_STOP_BRACKET);
      if (i > 0) {
        assert_true(c.upper <= before.upper && c.lower >= before.lower);
        assert_true(i > 2 || c.upper < before.upper);
      }
      before = c;
    }
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
}

static void every_model(void **state) {
  scratch *s = *state;
  const oat_approx *approx;
  need_long_double();
  oatgp_data *data = make_rows(s, N, WEIGHTS, 13);
  for (size_t i = 0; (approx = oat_approx_at(i)) != NULL; i++) {
    fix_everything(s, "se-ard", "linear");
    s->settings.approx = approx->name;
    oatgp_model *model = must_fit(s, data, NULL);
    *s->said = '\0';
    const oatgp_certificate c = must_certify(s, model, data, 1e-12, 200);
    assert_null(strstr(s->said, "warning"));
    if (approx->sparse) {
      expect_converged(s, model, data);
      assert_int_equal(strstr(s->said, "of the vfe posterior") != NULL, strcmp(approx->name, "vfe") != 0);
    } else {
      assert_true(c.elbo == c.upper && c.lower == c.upper && c.exact == c.upper && c.kl_at_most == 0 &&
                  c.iterations == 0);
      assert_nats(c.exact, info_of(model).objective, ROUNDING);
      assert_int_equal(c.stop, OATGP_STOP_NONE);
      assert_non_null(strstr(s->said, "its objective is the exact log evidence"));
    }
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void knots_on_all_rows_leave_no_gap(void **state) {
  scratch *s = *state;
  need_long_double();
  for (int noise = 0; noise < NOISES; noise++) {
    oatgp_data *data = make_rows(s, N, noise, 14);
    fix_everything(s, "matern32-ard", "mean");
    s->settings.lengthscale = "0.4";
    s->settings.jitter = 1e-12;
    oatgp_model *model = must_fit(s, data, data);
    const truth t = find_truth(s, model, data);
    const oatgp_certificate c = must_certify(s, model, data, 1e-12, 200);
    assert_nats(c.lower, t.evidence, ROUNDING);
    assert_nats(c.upper, t.evidence, ROUNDING);
    assert_nats(c.elbo, t.evidence, 1e-8);
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
}

static void more_knots_narrow_it(void **state) {
  scratch *s = *state;
  static const char *const knots[] = {"random:5", "random:15", "random:40"};
  oatgp_data *data = make_rows(s, 300, 0, 15);
  double gap = HUGE_VAL;
  for (size_t i = 0; i < LENGTH(knots); i++) {
    fix_everything(s, "se-ard", "mean");
    s->settings.knots = knots[i];
    oatgp_model *model = must_fit(s, data, NULL);
    s->settings.exact = 1;
    const oatgp_certificate c = must_certify(s, model, data, 1e-9, 1000);
    s->settings.exact = 0;
    assert_true(c.lower <= c.exact && c.exact <= c.upper);
    assert_true(c.kl_at_most < gap / 2);
    gap = c.kl_at_most;
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* Rows that are there twice and no noise: the exact matrix is singular, and the bounds stay. */
static void a_singular_matrix_leaves_the_bounds(void **state) {
  scratch *s = *state;
  oatgp_data *once = make_rows(s, 40, 0, 16), *data = NULL;
  must(s, oatgp_data_join(s->ctx, once, once, &data));
  fix_everything(s, "se-ard", "mean");
  s->settings.tau = 1e-8;
  oatgp_model *model = must_fit(s, data, NULL);
  s->settings.exact = 1;
  const oatgp_certificate c = must_certify(s, model, data, 0.01, 5);
  assert_true(isnan(c.exact));
  assert_near(c.elbo, info_of(model).objective, 1e-12);                           /* -5e20: a number after all */
  assert_true(c.upper <= -80 * (log(s->settings.tau) + 0.5 * log(2 * acos(-1)))); /* noise alone, at its middle */
  assert_non_null(strstr(s->said, "the exact log evidence cannot be computed: "));
  oatgp_model_free(model);
  oatgp_data_free(once);
  oatgp_data_free(data);
}

/* Sets of eigenvalues of several kinds; for two of them a bound is exact. */
static void sums_of_logarithms_from_two_sums(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 22);
  for (int kind = 0; kind < 60; kind++) {
    const size_t n = kind < 5 ? 1 : 20;
    double sum = 0;
    oat_traces traces = {0};
    for (size_t i = 0; i < n; i++) {
      const double size = pow(10, kind % 12 - 8.0), x = oat_rng_uniform(&rng);
      const double value = size * (kind % 5 == 0   ? x
                                   : kind % 5 == 1 ? 1
                                   : kind % 5 == 2 ? exp(9 * x)
                                   : kind % 5 == 3 ? (double)((i + 1) % 2)
                                                   : x * x);
      traces.first += value;
      traces.second += value * value;
      sum += log1p(value);
    }
    traces.first_error = 1e-13 * traces.first;
    traces.second_error = 1e-13 * traces.second;
    const oat_determinant d = oat_determinant_bounds(n, &traces);
    assert_true(d.low <= sum && sum <= d.high && d.low >= 0);
    assert_true(d.high <= (double)n * log1p(traces.first / (double)n) * (1 + 1e-12));
    if (kind % 5 == 1 || kind % 5 == 3 || n == 1) {
      assert_near(d.low / sum, 1, 1e-10);
    }
    if (kind % 5 == 1 || n == 1) {
      assert_near(d.high / sum, 1, 1e-6);
    }
  }
  const oat_determinant none = oat_determinant_bounds(5, &(oat_traces){-1e-16, 1e-20, 1e-15, 1e-18});
  assert_true(none.low == 0 && none.high >= 0 && none.high < 1e-14);
}

/* Signal 1e6 times the noise: P^-1 has lost 12 digits, but not the bounds. */
static void hardly_any_noise(void **state) {
  scratch *s = *state;
  need_long_double();
  oatgp_data *data = make_rows(s, N, 0, 16);
  fix_everything(s, "matern32-ard", "mean");
  s->settings.tau = 4e-5;
  oatgp_model *model = must_fit(s, data, NULL);
  const truth t = find_truth(s, model, data);
  for (int64_t most = 0; most < 400; most = 2 * most + 1) {
    const oatgp_certificate c = must_certify(s, model, data, 0, most);
    assert_true(c.lower <= t.evidence && t.evidence <= c.upper);
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* ---- how it ends ----------------------------------------------------------------------------------------------- */

typedef struct watcher {
  int calls, stop_at;
  oatgp_certificate last;
} watcher;

static int watch(void *user, const oatgp_certificate *so_far) {
  watcher *w = user;
  w->last = *so_far;
  return ++w->calls == w->stop_at;
}

static void it_ends_as_it_is_told(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, 600, 0, 17);
  fix_everything(s, "matern32-ard", "mean");
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_certificate c = must_certify(s, model, data, 0.01, 1000);
  assert_int_equal(c.stop, OATGP_STOP_BRACKET);
  assert_non_null(strstr(s->said, "each iteration over the 600 rows takes about "));
  assert_true(c.seconds > 0 && c.seconds_per_iteration > 0);
  assert_true(must_certify(s, model, data, 1, 1000).iterations < c.iterations);
  c = must_certify(s, model, data, 0, 100000);
  assert_int_equal(c.stop, OATGP_STOP_STALLED);
  assert_true(c.iterations < 1000);
  const oatgp_certificate best = c;
  watcher w = {.stop_at = 4};
  must(s, oatgp_certify(s->ctx, model, data, &s->settings, watch, &w, &c));
  assert_int_equal(c.stop, OATGP_STOP_USER);
  assert_int_equal(w.calls, 4);
  assert_true(c.iterations <= 3 && c.upper == w.last.upper && c.lower == w.last.lower && c.elbo <= c.lower &&
              c.lower < c.upper);
  s->settings.time_limit = 1e-9;
  s->settings.exact = 1;
  c = must_certify(s, model, data, 0, 1000);
  assert_int_equal(c.stop, OATGP_STOP_TIME);
  assert_true(c.iterations == 0 && c.lower <= best.lower && best.upper <= c.upper && isnan(c.exact));
  assert_non_null(strstr(s->said, "the time limit may stop it earlier"));
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void other_rows_get_a_warning(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "fitc", "full"};
  oatgp_data *data = make_rows(s, N, WEIGHTS, 18), *without = make_rows(s, N, 0, 18);
  for (size_t i = 0; i < LENGTH(models); i++) {
    fix_everything(s, "se-ard", "mean");
    s->settings.approx = models[i];
    oatgp_model *model = must_fit(s, data, NULL);
    *s->said = '\0';
    must_certify(s, model, data, 0.01, 10);
    assert_null(strstr(s->said, "warning"));
    must_certify(s, model, without, 0.01, 10);
    assert_non_null(strstr(s->said, "the model was fitted to other rows"));
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
  oatgp_data_free(without);
}

static void refused(scratch *s, oatgp_status status, oatgp_status wanted, const char *piece) {
  assert_int_equal(status, wanted);
  if (strstr(oatgp_last_error(s->ctx), piece) == NULL) {
    fail_msg("no '%s' in '%s'", piece, oatgp_last_error(s->ctx));
  }
}

static void what_it_refuses(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, N, 0, 19), *blind = NULL, *wide = NULL;
  oatgp_certificate c;
  fix_everything(s, "se-ard", "mean");
  oatgp_model *model = must_fit(s, data, NULL);
  const double x[] = {1, 2, 3, 4, 5, 6}, y[] = {1, 2};
  must(s, oatgp_data_create(s->ctx, 3, D, x, NULL, &blind));
  must(s, oatgp_data_create(s->ctx, 2, 3, x, y, &wide));
  must(s, oatgp_data_set_names(s->ctx, wide, (const char *const[]){"a", "b", "c"}, NULL));
  const char *null = "must not be NULL";
  assert_int_equal(oatgp_certify(NULL, model, data, &s->settings, NULL, NULL, &c), OATGP_ARGUMENT);
  refused(s, oatgp_certify(s->ctx, NULL, data, &s->settings, NULL, NULL, &c), OATGP_ARGUMENT, null);
  refused(s, oatgp_certify(s->ctx, model, NULL, &s->settings, NULL, NULL, &c), OATGP_ARGUMENT, null);
  refused(s, oatgp_certify(s->ctx, model, data, NULL, NULL, NULL, &c), OATGP_ARGUMENT, null);
  refused(s, oatgp_certify(s->ctx, model, data, &s->settings, NULL, NULL, NULL), OATGP_ARGUMENT, null);
  refused(s, oatgp_certify(s->ctx, model, blind, &s->settings, NULL, NULL, &c), OATGP_DATA, "have no target");
  refused(s, oatgp_certify(s->ctx, model, wide, &s->settings, NULL, NULL, &c), OATGP_DATA, "the data have 3 inputs");
  s->settings.tol = -1;
  refused(s, oatgp_certify(s->ctx, model, data, &s->settings, NULL, NULL, &c), OATGP_ARGUMENT, "tol");
  s->settings.tol = 0.01;
  s->settings.exact = 1;
  s->settings.memory = 1000;
  refused(s, oatgp_certify(s->ctx, model, data, &s->settings, NULL, NULL, &c), OATGP_DATA, "raise --memory");
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(blind);
  oatgp_data_free(wide);
}

static void a_model_keeps_its_bounds(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, N, 0, 23);
  fix_everything(s, "se-ard", "mean");
  oatgp_model *model = must_fit(s, data, NULL), *loaded = NULL;
  assert_true(isnan(info_of(model).lower) && isnan(info_of(model).upper));
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &loaded));
  assert_true(isnan(info_of(loaded).lower) && isnan(info_of(loaded).upper));
  const oatgp_certificate c = must_certify(s, loaded, data, 0.01, 100);
  oatgp_model_free(loaded);
  must(s, oatgp_model_set_certificate(s->ctx, model, &c));
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &loaded));
  assert_true(info_of(loaded).lower == c.lower && info_of(loaded).upper == c.upper);
  refused(s, oatgp_model_set_certificate(s->ctx, NULL, &c), OATGP_ARGUMENT, "must not be NULL");
  refused(s, oatgp_model_set_certificate(s->ctx, model, NULL), OATGP_ARGUMENT, "must not be NULL");
  assert_int_equal(oatgp_model_set_certificate(NULL, model, &c), OATGP_ARGUMENT);
  oatgp_model_free(loaded);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* ---- threads and memory ---------------------------------------------------------------------------------------- */

static void threads_and_memory_change_no_bit(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, amount(1600, 1000, 600), VARIANCES, 20);
  fix_everything(s, "se-ard", "linear");
  oatgp_model *model = must_fit(s, data, NULL);
  for (int memory = 0; memory < 2; memory++) { /* without room for V there are no traces */
    s->settings.determinant = memory == 0;
    s->settings.memory = 0;
    s->settings.threads = 1;
    const oatgp_certificate first = must_certify(s, model, data, 1e-6, 12);
    assert_true(first.iterations > 3);
    for (size_t i = 0; i < amount(LENGTH(thread_counts), 2, 2); i++) {
      s->settings.determinant = 1;
      s->settings.memory = memory;
      s->settings.threads = thread_counts[i];
      const oatgp_certificate c = must_certify(s, model, data, 1e-6, 12);
      assert_true(c.elbo == first.elbo && c.lower == first.lower && c.upper == first.upper &&
                  c.iterations == first.iterations);
    }
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(every_kernel_mean_and_noise),
      WITH_SCRATCH(expressions),
      WITH_SCRATCH(stopped_early_it_holds_and_it_improves),
      WITH_SCRATCH(every_model),
      WITH_SCRATCH(knots_on_all_rows_leave_no_gap),
      WITH_SCRATCH(more_knots_narrow_it),
      WITH_SCRATCH(a_singular_matrix_leaves_the_bounds),
      WITH_SCRATCH(sums_of_logarithms_from_two_sums),
      WITH_SCRATCH(hardly_any_noise),
      WITH_SCRATCH(it_ends_as_it_is_told),
      WITH_SCRATCH(other_rows_get_a_warning),
      WITH_SCRATCH(what_it_refuses),
      WITH_SCRATCH(a_model_keeps_its_bounds),
      WITH_SCRATCH(threads_and_memory_change_no_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
