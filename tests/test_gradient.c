/* The gradient of every model with every kernel against central differences of sixth order, in all parameters and all
 * knots. */
#include "rows/layout.h"
#include "dense.h"
#include "problem.h"

enum { ROWS = 23, INPUTS = 2, KNOTS = 5 };

/* The largest error of a derivative, relative to it or to 1 % of the largest one. */
static double gradient_against_differences(oatgp_context *ctx, const oat_objective_config *config,
                                           const oat_point *point) {
  oat_objective *objective = NULL;
  double expected[MAX_PARAMETERS], largest = 0, worst = 0;
  assert_int_equal(oat_objective_create(ctx, config, &objective), OATGP_OK);
  const outcome o = evaluate_objective(objective, point);
  for (size_t i = 0; i < o.count; i++) {
    expected[i] = objective_difference(objective, point, i);
    largest = fmax(largest, fabs(expected[i]));
  }
  for (size_t i = 0; i < o.count; i++) {
    const double error = fabs(o.gradient[i] - expected[i]) / fmax(fabs(expected[i]), 0.01 * largest);
    if (!(error <= 1e-6)) {
      print_error("%s, %s, alpha %g, %zu coefficients, derivative %zu: %.12g, by differences %.12g\n",
                  config->approx->name, config->kernel->name, config->alpha, config->rows->p, i, o.gradient[i],
                  expected[i]);
    }
    worst = worse_of(worst, error);
  }
  oat_objective_free(objective);
  return worst;
}

/* d F / d log theta_i or d F / d z_i of the dense formula, as in objective_difference. */
static double dense_difference(const oat_objective_config *config, const oat_point *point, size_t index) {
  const size_t theta_count = oat_theta_count(config->kernel, config->rows->d);
  const double step = 1e-4;
  double *parameter = index < theta_count ? point->theta + index : point->z + (index - theta_count);
  const double at = *parameter;
  real sum = 0;
  for (int side = -3; side <= 3; side++) {
    static const real weight[] = {-1, 9, -45, 0, 45, -9, 1};
    *parameter = index < theta_count ? at * exp(side * step) : at + side * step;
    dense m = dense_make(config, point);
    sum += weight[side + 3] * m.value;
    dense_free(&m);
  }
  *parameter = at;
  return (double)(sum / (60 * (real)step));
}

/* The largest error of a derivative relative to the largest one, with tau and without. */
static double gradient_against_dense(oatgp_context *ctx, const oat_objective_config *config, const oat_point *point) {
  oat_objective *objective = NULL;
  const size_t theta_count = oat_theta_count(config->kernel, config->rows->d);
  double theta[MAX_THETA], z[MAX_PARAMETERS], value = 0, worst = 0, largest = 0;
  oat_gradient without = {theta, z, .without_tau = true};
  assert_int_equal(oat_objective_create(ctx, config, &objective), OATGP_OK);
  const outcome o = evaluate_objective(objective, point);
  assert_int_equal(oat_objective_evaluate(objective, point, &value, &without), OATGP_OK);
  assert_true(value == o.value);
  for (size_t i = 0; i < o.count; i++) {
    const double expected = dense_difference(config, point, i), other = i < theta_count ? theta[i] : z[i - theta_count];
    largest = fmax(largest, fabs(expected));
    worst = worse_of(worst, fabs(o.gradient[i] - expected));
    worst = i == OAT_TAU ? worst : worse_of(worst, fabs(other - expected));
  }
  oat_objective_free(objective);
  return worst / largest;
}

/* Rows with variances of their own: closed sums, and terms of the rows for tau alone. Models in which the knots'
 * variance adds to the noise have these terms in any case. */
static void known_variances(void **state) {
  (void)state;
  need_long_double();
  static const size_t bases[] = {0, 1, 1 + INPUTS};
  static const char *const kernels[] = {"se-ard", "matern52", "rq-ard"};
  oatgp_context *ctx = oatgp_context_create();
  problem p = make_problem(ROWS, INPUTS, KNOTS, 16);
  const oat_point point = {p.theta, p.z};
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    double worst = 0;
    for (size_t t = 0; v.approx->sparse && t < 2 * LENGTH(bases); t++) {
      const oat_rows rows = rows_of(&p, t % 2 == 0 ? NOISE_ADDED : NOISE_BOTH, bases[t / 2]);
      const oat_objective_config config = config_of(&rows, oat_kernel_find(kernels[t % LENGTH(kernels)]), v, p.k);
      worst = worse_of(worst, gradient_against_dense(ctx, &config, &point));
    }
    if (v.approx->sparse) {
      print_message("%-4s (alpha %g): gradient and differences of the dense formula agree to %.1e\n", v.approx->name,
                    v.alpha, worst);
    }
    assert_true(worst <= 1e-9);
  }
  free_problem(&p);
  oatgp_context_free(ctx);
}

/* All kinds of row noise and of means. */
static double check_model(oatgp_context *ctx, problem *p, const oat_kernel *kernel, variant v, size_t neighbours) {
  const size_t bases[] = {0, 1, 1 + INPUTS};
  const oat_point point = {p->theta, p->z};
  double worst = 0;
  for (row_noise noise = NOISE_PLAIN; noise < ROW_NOISES; noise++) {
    for (size_t b = 0; b < LENGTH(bases); b++) {
      const oat_rows rows = rows_of(p, noise, bases[b]);
      oat_objective_config config = config_of(&rows, kernel, v, p->k);
      config.neighbours = neighbours;
      worst = worse_of(worst, gradient_against_differences(ctx, &config, &point));
    }
  }
  return worst;
}

/* Other places: high signal and short lengthscales, low signal and long ones. */
static void move_problem(problem *p, size_t place) {
  static const double factor[][4] = {{1, 1, 1, 1}, {3, 0.2, 5, 0.5}, {0.4, 2, 0.2, 2}};
  for (size_t i = 0; i < OAT_LENGTHSCALE + p->d; i++) {
    p->theta[i] *= factor[place][i < OAT_LENGTHSCALE ? i : OAT_LENGTHSCALE];
  }
}

static double check_place(oatgp_context *ctx, variant v, size_t place, size_t neighbours) {
  problem p = make_problem(ROWS, INPUTS, KNOTS, 11 + place);
  double worst = 0;
  move_problem(&p, place);
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    worst = worse_of(worst, check_model(ctx, &p, oat_kernel_at(i), v, neighbours));
  }
  free_problem(&p);
  return worst;
}

static void differences(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  double worst = 0;
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    double worst_of_model = 0;
    for (size_t place = 0; place < amount(3, 1, 3); place++) {
      worst_of_model = worse_of(worst_of_model, check_place(ctx, v, place, 0));
    }
    print_message("%-4s (alpha %g): gradient and differences agree to %.1e\n", v.approx->name, v.alpha, worst_of_model);
    worst = worse_of(worst, worst_of_model);
  }
  assert_true(worst <= 1e-6);
  oatgp_context_free(ctx);
}

/* The neighbours stay as they are: where they change, the objective has a step. */
static void neighbours(void **state) {
  (void)state;
  static const size_t counts[] = {1, 5, 12};
  oatgp_context *ctx = oatgp_context_create();
  const variant v = {oat_approx_find("fitc"), 1};
  for (size_t m = 0; m < LENGTH(counts); m++) {
    double worst = 0;
    for (size_t place = 0; place < amount(3, 1, 1); place++) {
      worst = worse_of(worst, check_place(ctx, v, place, counts[m]));
    }
    print_message("%zu neighbours: gradient and differences agree to %.1e\n", counts[m], worst);
    assert_true(worst <= 1e-6);
  }
  oatgp_context_free(ctx);
}

/* The full GP's jitter is only there when its factorisation failed without, but then it is differentiated too. */
static void full_with_jitter(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  problem p = make_problem(ROWS, INPUTS, KNOTS, 12);
  const oat_point point = {p.theta, p.z};
  const oat_rows rows = rows_of(&p, NOISE_BOTH, 1);
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    oat_objective_config config = config_of(&rows, oat_kernel_at(i), (variant){oat_approx_find("full"), 0}, 0);
    config.jitter = 0.05;
    assert_true(gradient_against_differences(ctx, &config, &point) <= 1e-6);
  }
  free_problem(&p);
  oatgp_context_free(ctx);
}

/* The jitter that a fit chooses depends on sigma and tau, from where it is all of the one to all of the other. */
static void soft_jitter(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  static const double tau[] = {1, 0.1, 0.003};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 15);
  const oat_point point = {p.theta, p.z};
  const oat_rows rows = rows_of(&p, NOISE_SCALED, 1);
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    for (size_t i = 0; v.approx->sparse && i < LENGTH(tau); i++) {
      oat_objective_config config = config_of(&rows, oat_kernel_find("matern52-ard"), v, p.k);
      config.soft = true;
      config.jitter = 1e-3; /* the knots stay well conditioned, whatever the soft one is */
      p.theta[OAT_TAU] = tau[i];
      assert_true(gradient_against_differences(ctx, &config, &point) <= 1e-6);
    }
  }
  free_problem(&p);
  oatgp_context_free(ctx);
}

/* One input, one knot, and more knots than rows. */
static void unusual_sizes(void **state) {
  (void)state;
  static const size_t sizes[][3] = {{9, 1, 1}, {4, 1, 7}, {2, 3, 1}, {70, 4, 2}};
  oatgp_context *ctx = oatgp_context_create();
  variant v;
  for (size_t s = 0; s < LENGTH(sizes); s++) {
    problem p = make_problem(sizes[s][0], sizes[s][1], sizes[s][2], 13 + s);
    const oat_point point = {p.theta, p.z};
    const oat_rows rows = rows_of(&p, NOISE_SCALED, 1);
    for (size_t m = 0; variant_at(m, &v); m++) {
      const oat_objective_config config = config_of(&rows, oat_kernel_find("matern52-ard"), v, p.k);
      assert_true(gradient_against_differences(ctx, &config, &point) <= 1e-6);
    }
    free_problem(&p);
  }
  oatgp_context_free(ctx);
}

/* Leaving out the knots' derivatives changes none of the others. */
static void parameters_alone(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  problem p = make_problem(ROWS, INPUTS, KNOTS, 14);
  const oat_point point = {p.theta, p.z};
  const oat_rows rows = rows_of(&p, NOISE_PLAIN, 0);
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    const oat_kernel *kernel = oat_kernel_find("rq-ard");
    const oat_objective_config config = config_of(&rows, kernel, v, p.k);
    const outcome both = evaluate_once(&config, &point);
    oat_objective *objective = NULL;
    double theta[MAX_THETA], value = 0;
    oat_gradient alone = {theta, NULL};
    assert_int_equal(oat_objective_create(ctx, &config, &objective), OATGP_OK);
    assert_int_equal(oat_objective_evaluate(objective, &point, &value, &alone), OATGP_OK);
    assert_memory_equal(theta, both.gradient, oat_theta_count(kernel, p.d) * sizeof *theta);
    oat_objective_free(objective);
  }
  free_problem(&p);
  oatgp_context_free(ctx);
}

/* Where a row almost meets a knot, the slope of the exponential kernel is large and their difference small. */
static void rows_that_almost_meet_knots_of_a_cusp(void **state) {
  problem p = make_problem(1745, 1, 200, 460);
  const oat_rows rows = rows_of(&p, NOISE_SCALED, 0);
  const oat_objective_config config = {.approx = oat_approx_find("fic"),
                                       .kernel = oat_kernel_find("exponential"),
                                       .rows = &rows,
                                       .jitter = 1e-4,
                                       .k = p.k};
  const oat_point point = {p.theta, p.z};
  oatgp_context *ctx = oatgp_context_create();
  oat_objective *objective = NULL;
  (void)state;
  p.theta[OAT_LENGTHSCALE] = 0.5;
  p.theta[OAT_TAU] = 0.05;
  assert_int_equal(oat_objective_create(ctx, &config, &objective), OATGP_OK);
  const double found = evaluate_objective(objective, &point).gradient[OAT_LENGTHSCALE];
  const double expected = objective_difference(objective, &point, OAT_LENGTHSCALE);
  assert_true(fabs(found - expected) <= 2e-8 * fabs(expected));
  oat_objective_free(objective);
  oatgp_context_free(ctx);
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(differences),      cmocka_unit_test(neighbours),
      cmocka_unit_test(full_with_jitter), cmocka_unit_test(soft_jitter),
      cmocka_unit_test(unusual_sizes),    cmocka_unit_test(parameters_alone),
      cmocka_unit_test(known_variances),  cmocka_unit_test(rows_that_almost_meet_knots_of_a_cusp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
