/* Functions drawn from the posterior: frequencies of kernels, mean and covariance over many draws, the same function
 * everywhere. */
#include "fits.h"

#include "expressions.h"
#include "kernel/spectral.h"
#include "objective/objective.h"
#include "util/threads.h"

enum { ROWS = 40, INPUTS = 2, POINTS = 6 };

/* ---- frequencies ----------------------------------------------------------------------------------------------- */

/* k(x, z) / k(0) is the mean of p cos(w . (x - z)), within six standard errors. */
static void expect_spectrum(const oat_kernel *kernel, const double *theta) {
  enum { DRAWS = 20000, PLACES = 4 };
  static const double x[PLACES * INPUTS] = {0.3, 1.1, 0, -0.7, 1, 0, 3, 2}, zero[INPUTS] = {0};
  const oat_covariance cov = oat_covariance_at(kernel, INPUTS, theta);
  double k[PLACES], prior, sum[PLACES] = {0}, w[INPUTS];
  double *work = calloc(oat_kernel_work(oat_kernel_size_of(kernel), PLACES, 1, INPUTS), sizeof *work);
  oat_rng rng;
  oat_rng_seed(&rng, 8);
  oat_kernel_cross(&cov, (oat_points){x, PLACES, PLACES}, (oat_points){zero, 1, 1}, k, PLACES, work);
  oat_kernel_diagonal(&cov, (oat_points){zero, 1, 1}, &prior);
  assert_null(oat_spectral_without(&cov));
  for (size_t i = 0; i < DRAWS; i++) {
    const double weight = oat_spectral_draw(&cov, i, &rng, w);
    assert_true(weight >= 0 && weight <= 2);
    for (size_t p = 0; p < PLACES; p++) {
      sum[p] += weight * cos(w[0] * x[p] + w[1] * x[p + PLACES]);
    }
  }
  for (size_t p = 0; p < PLACES; p++) {
    if (!(fabs(sum[p] / DRAWS - k[p] / prior) < 6 * sqrt(1.0 / DRAWS))) {
      fail_msg("%s: the correlation at place %zu is %g and not %g", kernel->name, p, sum[p] / DRAWS, k[p] / prior);
    }
  }
  free(work);
}

static void frequencies_have_the_spectrum(void **state) {
  static const char *const texts[] = {"matern12(x1, x2)",
                                      "matern52(x1, x2)",
                                      "rq()",
                                      "periodic(x1) * se(x2)",
                                      "se(x1) + matern32(x2) + constant",
                                      "cosine(x1) * cosine(x1) * se(x2)",
                                      "(se(x1) + cosine(x2))^3",
                                      "rq(x2) * (matern52(x1) + constant)",
                                      "categorical(x2)",
                                      "se(x1) * categorical(x2) + categorical(x2)^2"};
  (void)state;
  double theta[OAT_LENGTHSCALE + 20] = {1.3, 0.1, 0.6, 0.7, 1.4};
  for (size_t i = 0; i < OAT_KERNELS; i++) {
    expect_spectrum(oat_kernel_at(i), theta);
  }
  for (size_t i = 0; i < LENGTH(texts); i++) {
    oat_expression *e = read_expression(texts[i], INPUTS);
    const oat_kernel kernel = oat_kernel_of_expression(e);
    oat_rng rng;
    oat_rng_seed(&rng, i);
    random_theta(&rng, e, 0.1, theta);
    expect_spectrum(&kernel, theta);
    oat_expression_free(e);
  }
}

/* A period with so short a lengthscale that its harmonics come from a normal distribution; a small shape. */
static void far_parameters(void **state) {
  (void)state;
  double theta[OAT_LENGTHSCALE + 20] = {1.3, 0.1, 0.2, 0.7, 1.4};
  expect_spectrum(oat_kernel_find("rq-ard"), theta);
  oat_expression *e = read_expression("periodic(x1)", INPUTS);
  const oat_kernel kernel = oat_kernel_of_expression(e);
  theta[OAT_LENGTHSCALE + 1] = 3;
  theta[OAT_LENGTHSCALE + 2] = 0.02;
  expect_spectrum(&kernel, theta);
  oat_expression_free(e);
}

/* ---- the posterior --------------------------------------------------------------------------------------------- */

static oatgp_model *some_model(scratch *s, const char *approx, const char *kernel, const char *mean) {
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.3, 81);
  for (size_t i = 0; i < ROWS; i++) {
    data->own_y[i] = 40 * data->y[i] + 100;
    data->own_x[i] = 10 * data->x[i] + 3;
  }
  s->settings.approx = approx;
  s->settings.kernel = kernel;
  s->settings.mean = mean;
  s->settings.knots = "7";
  s->settings.max_iter = 5;
  s->settings.select = "auto"; /* knots are moved where the kernel allows that */
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_data_free(data);
  return model;
}

static oatgp_data *some_points(scratch *s, size_t n) {
  oatgp_data *at = wavy_data(s, n, INPUTS, 0.3, 82);
  for (size_t i = 0; i < n; i++) {
    at->own_x[i] = 12 * at->x[i] + 3;
  }
  return at;
}

static oatgp_function *must_draw(scratch *s, const oatgp_model *model, size_t count, uint64_t seed) {
  oatgp_function *f = NULL;
  must(s, oatgp_function_create(s->ctx, model, count, seed, &f));
  return f;
}

/* Mean and covariance of many draws, within six standard errors. */
static void expect_posterior(scratch *s, const oatgp_model *model, bool jointly) {
  enum { DRAWS = 4000 };
  static double values[DRAWS * POINTS];
  oatgp_data *at = some_points(s, POINTS);
  oatgp_function *f = must_draw(s, model, DRAWS, 5);
  double c[POINTS * POINTS], mean[POINTS], sd[POINTS];
  must(s, oatgp_function_evaluate(s->ctx, f, at, values, NULL));
  must(s, oatgp_predict_covariance(s->ctx, model, at, c));
  must(s, oatgp_predict_sd(s->ctx, model, at, &(oatgp_prediction_sd){mean, sd, NULL}));
  for (size_t i = 0; i < POINTS; i++) {
    double sum = 0;
    for (size_t k = 0; k < DRAWS; k++) {
      sum += values[k * POINTS + i] - mean[i];
    }
    assert_near(sum / DRAWS, 0, 6 * sd[i] / sqrt(DRAWS));
  }
  for (size_t i = 0; i < POINTS * POINTS; i++) {
    const size_t a = i % POINTS, b = i / POINTS;
    double sum = 0;
    for (size_t k = 0; k < DRAWS; k++) {
      sum += (values[k * POINTS + a] - mean[a]) * (values[k * POINTS + b] - mean[b]);
    }
    if ((jointly || a == b) && !(fabs(sum / DRAWS - c[i]) < 6 * sqrt(2.0 / DRAWS) * sd[a] * sd[b])) {
      fail_msg("%s, %s: the covariance of points %zu and %zu is %g and not %g", info_of(model).approx,
               info_of(model).kernel, a, b, sum / DRAWS, c[i]);
    }
  }
  oatgp_function_free(f);
  oatgp_data_free(at);
}

static void draws_have_the_posterior(void **state) {
  scratch *s = *state;
  static const char *const means[] = {"mean", "fit", "linear"};
  for (size_t m = 0; oat_approx_at(m) != NULL; m++) {
    oatgp_model *model = some_model(s, oat_approx_at(m)->name, "se-ard", means[m % 3]);
    expect_posterior(s, model, oat_approx_at(m)->residual != OAT_RESIDUAL_DIAGONAL);
    oatgp_model_free(model);
  }
}

static void draws_of_other_kernels(void **state) {
  scratch *s = *state;
  static const char *const kernels[] = {"exponential", "matern32-ard", "matern52", "rq-ard",
                                        "se(x1) + periodic(x2) * se(x2)"};
  for (size_t k = 0; k < LENGTH(kernels); k++) {
    for (int full = 0; full < 2; full++) {
      oatgp_model *model = some_model(s, full ? "full" : "vfe", kernels[k], "mean");
      expect_posterior(s, model, true);
      oatgp_model_free(model);
    }
  }
}

/* Between many rows almost without noise only high frequencies and small terms are left, which are rare in the prior:
 * yet each function has its share of them, so that 68 % of the functions are within one standard deviation. */
static void draws_where_little_is_unknown(void **state) {
  scratch *s = *state;
  enum { DRAWS = 2000, PLACES = 40 };
  static double values[DRAWS * PLACES];
  static const char *const kernels[][2] = {
      {"matern52()", "500,5,5,tau=0.001"},
      {"rq()", "500,2,5,5,tau=0.001"},
      {"se(x1, x2)^2", "100,1.5,1.5,tau=0.0001"},
      {"periodic(x1) * periodic(x2)", "50,6,1.5,6,1.5,tau=0.01"},
      {"se(x1, x2) + se(x1) + matern32(x2)", "5000,10,10,0.001,1,5,5,tau=0.01"},
  };
  oatgp_data *data = wavy_data(s, 100, INPUTS, 0.01, 85), *at = wavy_data(s, PLACES, INPUTS, 0, 86);
  s->settings.approx = "full";
  s->settings.max_iter = 0;
  for (size_t k = 0; k < LENGTH(kernels); k++) {
    double mean[PLACES], sd[PLACES];
    size_t within = 0;
    s->settings.kernel = kernels[k][0];
    s->settings.parameters = kernels[k][1];
    oatgp_model *model = must_fit(s, data, NULL);
    oatgp_function *f = must_draw(s, model, DRAWS, 5);
    must(s, oatgp_function_evaluate(s->ctx, f, at, values, NULL));
    must(s, oatgp_predict_sd(s->ctx, model, at, &(oatgp_prediction_sd){mean, sd, NULL}));
    for (size_t i = 0; i < DRAWS * PLACES; i++) {
      within += fabs(values[i] - mean[i % PLACES]) < sd[i % PLACES];
    }
    const double share = (double)within / (DRAWS * PLACES);
    if (!(fabs(share - 0.6827) < 0.02)) {
      fail_msg("%s: the share within one standard deviation is %g", kernels[k][0], share);
    }
    oatgp_function_free(f);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
  oatgp_data_free(at);
}

/* Of answers that are not Gaussian the functions are f. */
static void draws_of_answers(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.2, 84);
  for (size_t i = 0; i < ROWS; i++) {
    data->own_x[i] = 10 * data->x[i] + 3;
    data->own_y[i] = floor(3 + data->y[i]);
  }
  for (int full = 0; full < 2; full++) {
    s->settings.likelihood = "poisson";
    s->settings.approx = full ? "full" : "vfe";
    s->settings.knots = "7";
    s->settings.max_iter = 5;
    oatgp_model *model = must_fit(s, data, NULL);
    expect_posterior(s, model, true);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* ---- a function ------------------------------------------------------------------------------------------------ */

/* Whatever else is asked for at the same time, and however many functions there are. */
static void a_function_is_the_same_everywhere(void **state) {
  scratch *s = *state;
  enum { MANY = 150, COUNT = 20 };
  static double all[COUNT * MANY], part[COUNT * MANY], few[3 * MANY];
  oatgp_model *model = some_model(s, "full", "matern52-ard", "linear");
  oatgp_data *at = some_points(s, MANY);
  oatgp_function *f = must_draw(s, model, COUNT, 9), *g = must_draw(s, model, 3, 9),
                 *other = must_draw(s, model, 3, 10);
  must(s, oatgp_function_evaluate(s->ctx, f, at, all, NULL));
  for (size_t first = 0; first < MANY; first += 60) {
    size_t rows[60], n = MANY - first < 60 ? MANY - first : 60;
    oatgp_data *some = NULL;
    for (size_t i = 0; i < n; i++) {
      rows[i] = first + n - 1 - i;
    }
    must(s, oatgp_data_select(s->ctx, at, n, rows, &some));
    must(s, oatgp_function_evaluate(s->ctx, f, some, part, NULL));
    for (size_t i = 0; i < n * COUNT; i++) {
      assert_near(part[i], all[i / n * MANY + rows[i % n]], 1e-8);
    }
    oatgp_data_free(some);
  }
  must(s, oatgp_function_evaluate(s->ctx, g, at, few, NULL));
  for (size_t i = 0; i < 3 * MANY; i++) {
    assert_near(few[i], all[i], 1e-8);
  }
  must(s, oatgp_function_evaluate(s->ctx, other, at, few, NULL));
  assert_true(fabs(few[0] - all[0]) > 1e-6);
  oatgp_function_free(f);
  oatgp_function_free(g);
  oatgp_function_free(other);
  oatgp_model_free(model);
  oatgp_data_free(at);
}

static void derivatives_are_those_of_the_functions(void **state) {
  scratch *s = *state;
  enum { COUNT = 18 };
  static const char *const kernels[] = {"rq-ard", "se(x1) + periodic(x2) * se(x2)"}, *const models[] = {"full", "vfe",
                                                                                                        "dic"};
  oatgp_data *at = some_points(s, POINTS);
  for (size_t m = 0; m < LENGTH(models) * LENGTH(kernels); m++) {
    oatgp_model *model = some_model(s, models[m % 3], kernels[m / 3], "linear");
    oatgp_function *f = must_draw(s, model, COUNT, 2);
    double gradient[COUNT * POINTS * INPUTS], above[COUNT * POINTS], below[COUNT * POINTS], size = 0;
    must(s, oatgp_function_evaluate(s->ctx, f, at, NULL, gradient));
    for (size_t j = 0; j < INPUTS; j++) {
      const double h = j == 0 ? 1e-4 : 1e-5;
      for (size_t i = 0; i < POINTS; i++) {
        at->own_x[i + j * POINTS] += h;
      }
      must(s, oatgp_function_evaluate(s->ctx, f, at, above, NULL));
      for (size_t i = 0; i < POINTS; i++) {
        at->own_x[i + j * POINTS] -= 2 * h;
      }
      must(s, oatgp_function_evaluate(s->ctx, f, at, below, NULL));
      for (size_t i = 0; i < POINTS; i++) {
        at->own_x[i + j * POINTS] += h;
      }
      for (size_t i = 0; i < COUNT * POINTS; i++) {
        size = fmax(size, fabs(gradient[i * INPUTS + j]));
      }
      for (size_t i = 0; i < COUNT * POINTS; i++) {
        assert_near(gradient[i * INPUTS + j], (above[i] - below[i]) / (2 * h), 1e-6 * size);
      }
    }
    oatgp_function_free(f);
    oatgp_model_free(model);
  }
  oatgp_data_free(at);
}

static void functions_stay_and_threads_change_no_bit(void **state) {
  scratch *s = *state;
  enum { MANY = 300, COUNT = 33 };
  static double first[COUNT * MANY], again[COUNT * MANY];
  oatgp_model *model = some_model(s, "full", "se-ard", "fit");
  oatgp_data *at = some_points(s, MANY);
  oatgp_context_set_threads(s->ctx, 1);
  oatgp_function *f = must_draw(s, model, COUNT, 3);
  must(s, oatgp_function_evaluate(s->ctx, f, at, first, NULL));
  oatgp_context_set_threads(s->ctx, 3);
  oatgp_function *g = must_draw(s, model, COUNT, 3);
  must(s, oatgp_update(s->ctx, model, at));
  must(s, oatgp_function_evaluate(s->ctx, f, at, again, NULL));
  assert_memory_equal(first, again, sizeof first);
  must(s, oatgp_function_evaluate(s->ctx, g, at, again, NULL));
  assert_memory_equal(first, again, sizeof first);
  oatgp_function_free(f);
  oatgp_function_free(g);
  oatgp_model_free(model);
  oatgp_data_free(at);
}

static void what_is_refused(void **state) {
  scratch *s = *state;
  oatgp_model *linear = some_model(s, "full", "se(x1) + linear(x2)", "mean"),
              *plain = some_model(s, "vfe", "se-ard", "mean");
  s->settings.neighbours = 4;
  oatgp_model *near = some_model(s, "fitc", "se-ard", "mean");
  oatgp_data *at = some_points(s, POINTS), *narrow = wavy_data(s, POINTS, 1, 0.1, 83);
  oatgp_function *f = NULL;
  double values[POINTS];
  expect_sentence(s, OATGP_DATA, oatgp_function_create(s->ctx, linear, 1, 1, &f),
                  "with kernel 'se(x1) + linear(x2)', because linear has no");
  expect_sentence(s, OATGP_DATA, oatgp_function_create(s->ctx, near, 1, 1, &f), "from a model with neighbours");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_function_create(s->ctx, plain, 0, 1, &f), "at least one function");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_function_create(s->ctx, NULL, 1, 1, &f), "must not be NULL");
  oatgp_context_set_memory(s->ctx, 100000);
  expect_sentence(s, OATGP_MEMORY, oatgp_function_create(s->ctx, plain, 1000, 1, &f), "draw fewer at a time");
  assert_null(f);
  f = must_draw(s, plain, 1, 1);
  expect_sentence(s, OATGP_DATA, oatgp_function_evaluate(s->ctx, f, narrow, values, NULL), "the data have 1 inputs");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_function_evaluate(s->ctx, f, NULL, values, NULL), "must not be NULL");
  assert_int_equal(oatgp_function_create(NULL, plain, 1, 1, &f), OATGP_ARGUMENT);
  assert_int_equal(oatgp_function_evaluate(NULL, f, at, values, NULL), OATGP_ARGUMENT);
  oatgp_function_free(f);
  oatgp_function_free(NULL);
  oatgp_model_free(linear);
  oatgp_model_free(plain);
  oatgp_model_free(near);
  oatgp_data_free(at);
  oatgp_data_free(narrow);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frequencies_have_the_spectrum),
      cmocka_unit_test(far_parameters),
      WITH_SCRATCH(draws_have_the_posterior),
      WITH_SCRATCH(draws_of_other_kernels),
      WITH_SCRATCH(draws_where_little_is_unknown),
      WITH_SCRATCH(draws_of_answers),
      WITH_SCRATCH(a_function_is_the_same_everywhere),
      WITH_SCRATCH(derivatives_are_those_of_the_functions),
      WITH_SCRATCH(functions_stay_and_threads_change_no_bit),
      WITH_SCRATCH(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
