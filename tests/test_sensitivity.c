/* Sobol' indices against those of functions that are known in closed form, and against those of the model's own
 * mean. */
#include "fits.h"
#include "predict/predict.h"

enum { MOST_INPUTS = 8, ROWS = 400 };

typedef struct indices {
  double first[MOST_INPUTS], first_lower[MOST_INPUTS], first_upper[MOST_INPUTS];
  double total[MOST_INPUTS], total_lower[MOST_INPUTS], total_upper[MOST_INPUTS];
  double sd;
} indices;

static const oatgp_indices_of usual = {.draws = 32, .seed = 1, .interval = 0.95};

static indices find(scratch *s, const oatgp_model *model, oatgp_indices_of of) {
  indices found = {0};
  oatgp_indices out = {
      found.first, found.first_lower, found.first_upper, found.total, found.total_lower, found.total_upper, 0};
  must(s, oatgp_sensitivity(s->ctx, model, &of, &out));
  found.sd = out.sd;
  return found;
}

/* ---- functions with known indices ------------------------------------------------------------------------------ */

static double ishigami(const double *u) {
  const double a = acos(-1) * (2 * u[0] - 1), b = acos(-1) * (2 * u[1] - 1), c = acos(-1) * (2 * u[2] - 1);
  return sin(a) + 7 * sin(b) * sin(b) + 0.1 * c * c * c * c * sin(a);
}

/* Sobol's g with smooth factors: 1 + (x - 1/2) sqrt(12) s_j has mean 1 and variance s_j^2. */
static const double spread[4] = {1, 0.5, 0.2, 0.02};
static double product(const double *u) {
  double f = 1;
  for (size_t j = 0; j < 4; j++) {
    f *= 1 + (u[j] - 0.5) * sqrt(12) * spread[j];
  }
  return f;
}

/* Rows of a random Latin hypercube, without noise, and a model of them. */
static oatgp_model *model_by(scratch *s, const char *approx, double (*f)(const double *), size_t d, size_t n) {
  static double x[ROWS * MOST_INPUTS], y[ROWS];
  size_t order[ROWS];
  oat_rng rng;
  oatgp_data *data = NULL;
  oat_rng_seed(&rng, 4);
  for (size_t j = 0; j < d; j++) {
    oat_rng_sample(&rng, n, n, order);
    for (size_t i = 0; i < n; i++) {
      x[i * d + j] = (double)order[i] / ((double)n - 1);
    }
  }
  for (size_t i = 0; i < n; i++) {
    y[i] = f(x + i * d);
  }
  must(s, oatgp_data_create(s->ctx, n, d, x, y, &data));
  s->settings.approx = approx;
  s->settings.kernel = "se-ard";
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_data_free(data);
  return model;
}

static oatgp_model *model_of(scratch *s, double (*f)(const double *), size_t d, size_t n) {
  return model_by(s, "full", f, d, n);
}

static void expect_near(const char *what, size_t j, double found, double known, double tolerance) {
  if (!(fabs(found - known) < tolerance)) {
    fail_msg("%s of input %zu is %g and not %g", what, j + 1, found, known);
  }
}

typedef struct ishigami_indices {
  double first[3], total[3], sd;
} ishigami_indices;

static ishigami_indices known_of_ishigami(void) {
  const double pi4 = pow(acos(-1), 4), v1 = 0.5 * pow(1 + 0.1 * pi4 / 5, 2), v2 = 49.0 / 8,
               v13 = 0.01 * pi4 * pi4 * (1.0 / 18 - 1.0 / 50), v = v1 + v2 + v13;
  return (ishigami_indices){{v1 / v, v2 / v, 0}, {(v1 + v13) / v, v2 / v, v13 / v}, sqrt(v)};
}

static void indices_of_ishigami(void **state) {
  if (under_valgrind()) {
    skip(); /* numbers alone, and thousands of evaluations */
  }
  scratch *s = *state;
  const ishigami_indices known = known_of_ishigami();
  oatgp_model *model = model_of(s, ishigami, 3, 400);
  const indices found = find(s, model, usual);
  for (size_t j = 0; j < 3; j++) {
    expect_near("first", j, found.first[j], known.first[j], 0.01);
    expect_near("total", j, found.total[j], known.total[j], 0.01);
    assert_true(found.first_lower[j] <= found.first[j] && found.first[j] <= found.first_upper[j]);
    assert_true(found.total_lower[j] <= found.total[j] && found.total[j] <= found.total_upper[j]);
    assert_true(found.total_upper[j] - found.total_lower[j] < 0.05);
  }
  expect_near("sd", 0, found.sd, known.sd, 0.03);
  oatgp_model_free(model);
}

static void indices_of_a_product(void **state) {
  scratch *s = *state;
  double all = 1;
  for (size_t j = 0; j < 4; j++) {
    all *= 1 + spread[j] * spread[j];
  }
  oatgp_model *model = model_of(s, product, 4, 150);
  const indices found = find(s, model, usual);
  for (size_t j = 0; j < 4; j++) {
    const double own = spread[j] * spread[j];
    expect_near("first", j, found.first[j], own / (all - 1), 0.01);
    expect_near("total", j, found.total[j], own * all / (1 + own) / (all - 1), 0.01);
  }
  oatgp_model_free(model);
}

/* Sobol's g, with kinks that the model cannot follow. */
static const double damping[4] = {0, 1, 4.5, 9};
static double kinked(const double *u) {
  double f = 1;
  for (size_t j = 0; j < 4; j++) {
    f *= (fabs(4 * u[j] - 2) + damping[j]) / (1 + damping[j]);
  }
  return f;
}

static void expect_inside(const char *what, size_t j, double known, double lower, double upper, double widest) {
  if (!(lower - 0.005 <= known && known <= upper + 0.005 && upper - lower < widest)) {
    fail_msg("%s of input %zu is %g, and its band from %g to %g", what, j + 1, known, lower, upper);
  }
}

static void bands_of_kinks(void **state) {
  if (under_valgrind()) {
    skip(); /* numbers alone, and thousands of evaluations */
  }
  scratch *s = *state;
  double all = 1;
  for (size_t j = 0; j < 4; j++) {
    all *= 1 + 1 / (3 * pow(1 + damping[j], 2));
  }
  oatgp_model *model = model_of(s, kinked, 4, 160);
  const indices found = find(s, model, usual);
  for (size_t j = 0; j < 4; j++) {
    const double own = 1 / (3 * pow(1 + damping[j], 2));
    expect_inside("first", j, own / (all - 1), found.first_lower[j], found.first_upper[j], 0.15);
    expect_inside("total", j, own * all / (1 + own) / (all - 1), found.total_lower[j], found.total_upper[j], 0.15);
  }
  oatgp_model_free(model);
}

/* The second input has no part in an interaction, which the prior does not expect: with 80 rows, functions drawn from
 * the posterior all give it too large a total. */
static void bands_of_few_rows(void **state) {
  if (under_valgrind()) {
    skip(); /* numbers alone, and thousands of evaluations */
  }
  scratch *s = *state;
  const ishigami_indices known = known_of_ishigami();
  oatgp_model *model = model_of(s, ishigami, 3, 80);
  const indices found = find(s, model, usual);
  for (size_t j = 0; j < 3; j++) {
    expect_inside("first", j, known.first[j], found.first_lower[j], found.first_upper[j], 0.5);
    expect_inside("total", j, known.total[j], found.total_lower[j], found.total_upper[j], 0.5);
    assert_true(found.first_upper[j] <= 1 && found.total_lower[j] >= 0 && found.total_upper[j] <= 1);
  }
  oatgp_model_free(model);
}

/* Where each row is a group, one of the means without a group is, at each row, the prediction of leave-one-out. */
static void means_without_rows(void **state) {
  enum { N = 30 };
  static double x[N * 2], y[N], mean[N], values[(N + 1) * N];
  scratch *s = *state;
  oatgp_function *means = NULL;
  for (size_t i = 0; i < N; i++) {
    x[2 * i] = (double)(i % 6) / 5;
    x[2 * i + 1] = (double)(i / 6) / 4;
    y[i] = sin(4 * x[2 * i]) + x[2 * i + 1] * x[2 * i] + 0.1 * cos(9.0 * (double)i);
  }
  oatgp_data *data = make_data(s, N, 2, x, y);
  s->settings.approx = "full";
  s->settings.average = 0;
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_held_out_sd rows = {.mean = mean};
  must(s, oatgp_loo_sd(s->ctx, model, data, &rows, NULL));
  must(s, oat_means_without(s->ctx, model, N, 3, &means));
  must(s, oatgp_function_evaluate(s->ctx, means, data, values, NULL));
  for (size_t i = 0; i < N; i++) {
    double nearest = HUGE_VAL;
    for (size_t g = 1; g <= N; g++) {
      nearest = fmin(nearest, fabs(values[g * N + i] - mean[i]));
    }
    assert_true(nearest < 1e-7);
  }
  oatgp_function_free(means);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* A sparse model whose knots are all rows is nearly the full GP, and so are its bands. */
static void bands_of_a_sparse_model(void **state) {
  if (under_valgrind()) {
    skip(); /* numbers alone, and thousands of evaluations */
  }
  scratch *s = *state;
  indices found[2];
  for (size_t i = 0; i < 2; i++) {
    s->settings.select = i == 0 ? "auto" : "simultaneous";
    s->settings.knots = i == 0 ? "auto" : "60";
    oatgp_model *model = model_by(s, i == 0 ? "full" : "vfe", product, 4, 60);
    found[i] = find(s, model, usual);
    oatgp_model_free(model);
  }
  for (size_t j = 0; j < 4; j++) {
    const double full = found[0].total_upper[j] - found[0].total_lower[j];
    expect_near("width", j, found[1].total_upper[j] - found[1].total_lower[j], full, 0.01 + 0.5 * full);
  }
}

/* ---- what they are made of ------------------------------------------------------------------------------------- */

/* y = x1 + x2; in the rows x1 is 0 or 1, and x2 is 0 but for one row in ten, where it is 1: variances 0.25 and 0.09. */
static double sum_of(const double *u) { return u[0] + u[1]; }

static void rows_say_how_inputs_vary(void **state) {
  enum { OVER = 1000 };
  static double x[OVER * 2];
  scratch *s = *state;
  oatgp_data *over = NULL;
  oatgp_model *model = model_of(s, sum_of, 2, 60);
  for (size_t i = 0; i < OVER; i++) {
    x[2 * i] = (double)(i % 2);
    x[2 * i + 1] = i % 10 == 0;
  }
  must(s, oatgp_data_create(s->ctx, OVER, 2, x, NULL, &over));
  oatgp_indices_of of = usual;
  const indices uniform = find(s, model, of);
  of.over = over;
  const indices found = find(s, model, of);
  for (size_t j = 0; j < 2; j++) {
    expect_near("uniform", j, uniform.first[j], 0.5, 0.005);
    expect_near("rows", j, found.first[j], (j == 0 ? 0.25 : 0.09) / 0.34, 0.01);
    expect_near("rows, total", j, found.total[j], (j == 0 ? 0.25 : 0.09) / 0.34, 0.01);
  }
  oatgp_data_free(over);
  oatgp_model_free(model);
}

/* Three levels, 0, 1 and 5 above a line of slope 1 over (0, 1): variances 14 / 3 and 1 / 12. */
static void levels_vary_too(void **state) {
  enum { N = 60 };
  static const char *const levels[] = {"a", "b", "c"};
  static const double offset[] = {0, 1, 5};
  double x[N * 2], y[N];
  scratch *s = *state;
  oatgp_data *data = NULL, *other = NULL;
  for (size_t i = 0; i < N; i++) {
    x[2 * i] = (double)(i / 3) / (N / 3 - 1);
    x[2 * i + 1] = (double)(i % 3);
    y[i] = x[2 * i] + offset[i % 3];
  }
  must(s, oatgp_data_create(s->ctx, N, 2, x, y, &data));
  must(s, oatgp_data_set_levels(s->ctx, data, 1, 3, levels));
  s->settings.approx = "full";
  oatgp_model *model = must_fit(s, data, NULL);
  const indices found = find(s, model, usual);
  expect_near("line", 0, found.first[0], 1.0 / 12 / (14.0 / 3 + 1.0 / 12), 0.01);
  expect_near("levels", 1, found.first[1], 14.0 / 3 / (14.0 / 3 + 1.0 / 12), 0.01);
  must(s, oatgp_data_create(s->ctx, N, 2, x, NULL, &other));
  must(s, oatgp_data_set_levels(s->ctx, other, 1, 3, (const char *const[]){"a", "b", "new"}));
  oatgp_indices_of of = usual;
  of.over = other;
  oatgp_indices out = {0};
  assert_int_equal(oatgp_sensitivity(s->ctx, model, &of, &out), OATGP_DATA);
  assert_string_equal(oatgp_last_error(s->ctx),
                      "input 'x2' has levels in these rows that the model does not know: leave such rows out");
  oatgp_data_free(other);
  oatgp_data_free(data);
  oatgp_model_free(model);
}

/* Bands of few rows are wide, whichever optimum the fit found; the same seed has the same bits, for any number of
 * threads. */
static void few_rows_have_wide_bands(void **state) {
  scratch *s = *state;
  oatgp_model *model = model_of(s, ishigami, 3, 25);
  const indices found = find(s, model, usual);
  oatgp_context_set_threads(s->ctx, 3);
  const indices again = find(s, model, usual);
  assert_memory_equal(&found, &again, sizeof found);
  double widest = 0;
  for (size_t j = 0; j < 3; j++) {
    widest = fmax(widest, found.total_upper[j] - found.total_lower[j]);
  }
  assert_true(widest > 0.3);
  oatgp_model_free(model);
}

/* With all of its signal below rounding, a model has no part that rows or knots determine. */
static void rows_may_say_nothing(void **state) {
  scratch *s = *state;
  s->settings.select = "fixed";
  s->settings.knots = "random:20";
  s->settings.sigma = 1e-9;
  s->settings.tau = 1;
  s->settings.fix = "sigma,tau,lengthscale";
  oatgp_model *model = model_by(s, "vfe", sum_of, 2, 60);
  const indices found = find(s, model, usual);
  for (size_t j = 0; j < 2; j++) {
    assert_true(0 <= found.first_lower[j] && found.first_upper[j] <= 1);
    assert_true(found.total_upper[j] - found.total_lower[j] > 0.5);
  }
  oatgp_model_free(model);
}

/* ---- models that functions cannot be drawn from, and refusals -------------------------------------------------- */

static void the_mean_stands_in(void **state) {
  scratch *s = *state;
  s->settings.kernel = "linear(x1) + linear(x2)";
  oatgp_model *model = NULL;
  double x[40], y[20];
  oatgp_data *data = NULL;
  for (size_t i = 0; i < 20; i++) {
    x[2 * i] = (double)(i % 5) / 4;
    x[2 * i + 1] = (double)(i / 5) / 3;
    y[i] = 3 * x[2 * i] + 4 * x[2 * i + 1] + 0.01 * (double)(i % 3);
  }
  must(s, oatgp_data_create(s->ctx, 20, 2, x, y, &data));
  s->settings.approx = "full";
  model = must_fit(s, data, NULL);
  s->said[0] = '\0';
  const indices found = find(s, model, usual);
  assert_non_null(strstr(s->said, "its kernel has no spectral form; the indices are those of its mean"));
  expect_near("first", 0, found.first[0], 0.36, 0.02);
  expect_near("first", 1, found.first[1], 0.64, 0.02);
  oatgp_data_free(data);
  oatgp_model_free(model);
}

static void refusals(void **state) {
  scratch *s = *state;
  oatgp_model *model = model_of(s, sum_of, 2, 20);
  oatgp_indices out = {0};
  oatgp_indices_of of = usual;
  assert_int_equal(oatgp_sensitivity(s->ctx, NULL, &of, &out), OATGP_ARGUMENT);
  of.draws = 1;
  assert_int_equal(oatgp_sensitivity(s->ctx, model, &of, &out), OATGP_ARGUMENT);
  assert_string_equal(oatgp_last_error(s->ctx), "draws is 1 but must be at least 2");
  of = usual;
  of.interval = 1;
  assert_int_equal(oatgp_sensitivity(s->ctx, model, &of, &out), OATGP_ARGUMENT);
  assert_string_equal(oatgp_last_error(s->ctx), "the interval is 1 but must be a number above 0 and below 1");
  oatgp_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(indices_of_ishigami),      WITH_SCRATCH(bands_of_kinks),     WITH_SCRATCH(indices_of_a_product),
      WITH_SCRATCH(bands_of_few_rows),        WITH_SCRATCH(means_without_rows), WITH_SCRATCH(bands_of_a_sparse_model),
      WITH_SCRATCH(rows_say_how_inputs_vary), WITH_SCRATCH(levels_vary_too),    WITH_SCRATCH(few_rows_have_wide_bands),
      WITH_SCRATCH(the_mean_stands_in),       WITH_SCRATCH(refusals),           WITH_SCRATCH(rows_may_say_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
