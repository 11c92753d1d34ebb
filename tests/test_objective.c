/* Values of the objective: against dense formulas and the full GP, and the identities between models, noises and
 * means. */
#include "rows/layout.h"
#include "dense.h"
#include "problem.h"

enum { ROWS = 31, INPUTS = 2, KNOTS = 6 };

static variant named(const char *approx) {
  const variant v = {oat_approx_find(approx), 0.5};
  assert_non_null(v.approx);
  return v;
}

static outcome evaluate_with(const oat_rows *rows, const oat_kernel *kernel, variant v, const oat_point *point,
                             size_t k) {
  const oat_objective_config config = config_of(rows, kernel, v, k);
  return evaluate_once(&config, point);
}

/* ---- dense formulas -------------------------------------------------------------------------------------------- */

/* The value within 1e-9 nats; returns the largest error of the mean. */
static double check_dense(const oat_objective_config *config, const oat_point *point) {
  const outcome o = evaluate_once(config, point);
  dense m = dense_make(config, point);
  double worst = 0;
  assert_nats(o.value, (double)m.value, 1e-9);
  for (size_t j = 0; j < config->rows->p; j++) {
    worst = worse_of(worst, relative_error(o.coefficient[j], (double)m.beta[j]));
  }
  dense_free(&m);
  return worst;
}

static void dense_formulas(void **state) {
  (void)state;
  const size_t bases[] = {0, 1, 1 + INPUTS};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 71);
  const oat_point point = {p.theta, p.z};
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    double worst = 0;
    for (size_t t = 0; oat_kernel_at(t / (ROW_NOISES * LENGTH(bases))) != NULL; t++) {
      const oat_rows rows = rows_of(&p, (row_noise)(t % ROW_NOISES), bases[t / ROW_NOISES % LENGTH(bases)]);
      const oat_objective_config config = config_of(&rows, oat_kernel_at(t / (ROW_NOISES * LENGTH(bases))), v, KNOTS);
      worst = worse_of(worst, check_dense(&config, &point));
    }
    print_message("%-4s (alpha %g): mean within %.1e of the dense formula\n", v.approx->name, v.alpha, worst);
    assert_true(worst <= 1e-9);
  }
  free_problem(&p);
}

/* ---- relations between models ---------------------------------------------------------------------------------- */

static void knots_at_rows(void **state) {
  (void)state;
  problem p = make_grid(72);
  const oat_point point = {p.theta, p.z};
  variant v;
  for (size_t t = 0; variant_at(t / ROW_NOISES, &v); t++) {
    const oat_rows rows = rows_of(&p, (row_noise)(t % ROW_NOISES), t % 2);
    for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
      oat_objective_config config = config_of(&rows, oat_kernel_at(i), v, p.k);
      config.jitter = v.approx->sparse ? 1e-11 : 0;
      const outcome sparse = evaluate_once(&config, &point),
                    whole = evaluate_with(&rows, oat_kernel_at(i), named("full"), &point, 0);
      assert_nats(sparse.value, whole.value, 1e-7); /* what the jitter of 1e-11 costs */
    }
  }
  free_problem(&p);
}

/* The same models by other names, and the limits of the power. */
static void related_models(void **state) {
  (void)state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 73);
  const oat_point point = {p.theta, p.z};
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    const oat_kernel *kernel = oat_kernel_at(i);
    const oat_rows rows = rows_of(&p, NOISE_BOTH, 1);
    const outcome vfe = evaluate_with(&rows, kernel, named("vfe"), &point, KNOTS),
                  fitc = evaluate_with(&rows, kernel, named("fitc"), &point, KNOTS);
    const outcome fic = evaluate_with(&rows, kernel, named("fic"), &point, KNOTS),
                  dic = evaluate_with(&rows, kernel, named("dic"), &point, KNOTS);
    const outcome dtc = evaluate_with(&rows, kernel, named("dtc"), &point, KNOTS);
    const variant one = {oat_approx_find("pep"), 1}, tiny = {oat_approx_find("pep"), 1e-9};
    const outcome pep_one = evaluate_with(&rows, kernel, one, &point, KNOTS),
                  pep_tiny = evaluate_with(&rows, kernel, tiny, &point, KNOTS);
    assert_memory_equal(&fic, &fitc, sizeof fic);
    assert_memory_equal(&dic, &dtc, sizeof dic);
    assert_nats(pep_one.value, fitc.value, 1e-12);
    assert_true(gradient_error(&pep_one, &fitc) <= 1e-12);
    assert_nats(pep_tiny.value, vfe.value, 1e-6);
    assert_true(gradient_error(&pep_tiny, &vfe) <= 1e-6);
  }
  free_problem(&p);
}

/* Random parameters around those of the problem. */
static void shake_parameters(problem *p, oat_rng *rng) {
  for (size_t i = 0; i < OAT_LENGTHSCALE + p->d; i++) {
    p->theta[i] *= exp(0.5 * oat_rng_normal(rng));
  }
}

/* With 1, 2, .. knots the ELBO never falls. The tighter bound is between it and the evidence. */
static void check_bound(const problem *p, const oat_kernel *kernel, const oat_rows *rows) {
  double z[32], theta[MAX_THETA], before = -INFINITY;
  memcpy(theta, p->theta, sizeof theta);
  const oat_point point = {theta, z};
  const double evidence = evaluate_with(rows, kernel, named("full"), &point, 0).value;
  assert_true(p->k * p->d <= LENGTH(z));
  for (size_t k = 1; k <= p->k; k++) {
    for (size_t i = 0; i < k * p->d; i++) {
      z[i] = p->z[i % k + i / k * p->k];
    }
    oat_objective_config config = config_of(rows, kernel, named("vfe"), k);
    config.jitter = 1e-10;
    const double bound = evaluate_once(&config, &point).value;
    config.approx = oat_approx_find("tvfe");
    const double tighter = evaluate_once(&config, &point).value;
    assert_true(bound >= before - 1e-9);
    assert_true(tighter >= bound - 1e-9 && tighter <= evidence + 1e-9);
    before = bound;
  }
}

static void lower_bound(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 74);
  for (size_t t = 0; oat_kernel_at(t / ROW_NOISES) != NULL; t++) {
    for (uint64_t trial = 0; trial < 5; trial++) {
      problem p = make_problem(ROWS, INPUTS, 15, 75 + trial);
      shake_parameters(&p, &rng);
      const oat_rows rows = rows_of(&p, (row_noise)(t % ROW_NOISES), 0);
      check_bound(&p, oat_kernel_at(t / ROW_NOISES), &rows);
      free_problem(&p);
    }
  }
}

/* ---- noise of the rows ----------------------------------------------------------------------------------------- */

/* A row of weight w equals w equal rows, up to the constant from the information about the noise. */
static void weights_are_repeats(void **state) {
  (void)state;
  static const char *const names[] = {"full", "dic", "dtc", "vfe"};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 77), q = repeat_rows(&p);
  const oat_point point = {p.theta, p.z};
  const double tau2 = p.theta[OAT_TAU] * p.theta[OAT_TAU];
  double constant = 0, worst = 0;
  for (size_t i = 0; i < p.n; i++) {
    const double w = (double)(1 + i % 3);
    p.noise_scale[i] = 1 / w;
    constant -= 0.5 * ((w - 1) * log(2 * acos(-1) * tau2) + log(w));
  }
  for (size_t t = 0; oat_kernel_at(t / LENGTH(names)) != NULL; t++) {
    for (size_t basis = 0; basis < 2; basis++) {
      const oat_rows weighted = rows_of(&p, NOISE_SCALED, basis), repeated = rows_of(&q, NOISE_PLAIN, basis);
      const variant v = named(names[t % LENGTH(names)]);
      const outcome a = evaluate_with(&weighted, oat_kernel_at(t / LENGTH(names)), v, &point, KNOTS);
      outcome b = evaluate_with(&repeated, oat_kernel_at(t / LENGTH(names)), v, &point, KNOTS);
      b.gradient[OAT_TAU] += (double)(q.n - p.n); /* of the constant */
      assert_nats(b.value, a.value + constant, 1e-9);
      worst = worse_of(worst, gradient_error(&a, &b));
      worst = worse_of(worst, basis > 0 ? relative_error(a.coefficient[0], b.coefficient[0]) : 0);
    }
  }
  print_message("weights and repeated rows: gradient and mean agree to %.1e\n", worst);
  assert_true(worst <= 1e-9);
  free_problem(&p);
  free_problem(&q);
}

/* tau^2 + v in every row is another tau. */
static void constant_noise_is_tau(void **state) {
  (void)state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 78);
  double theta[MAX_THETA];
  memcpy(theta, p.theta, sizeof theta);
  const double added = 0.07, before = p.theta[OAT_TAU] * p.theta[OAT_TAU], after = before + added;
  theta[OAT_TAU] = sqrt(after);
  for (size_t i = 0; i < p.n; i++) {
    p.noise_add[i] = added;
  }
  const oat_point point = {p.theta, p.z}, other = {theta, p.z};
  const oat_rows with = rows_of(&p, NOISE_ADDED, 1), without = rows_of(&p, NOISE_PLAIN, 1);
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
      const outcome a = evaluate_with(&with, oat_kernel_at(i), v, &point, KNOTS);
      outcome b = evaluate_with(&without, oat_kernel_at(i), v, &other, KNOTS);
      b.gradient[OAT_TAU] *= before / after;
      assert_nats(a.value, b.value, 1e-9);
      assert_near(a.coefficient[0], b.coefficient[0], 1e-11);
      assert_true(gradient_error(&a, &b) <= 1e-10);
    }
  }
  free_problem(&p);
}

/* Arrays of no effect take other paths through the code to the same result. */
static void neutral_noise(void **state) {
  (void)state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 79);
  const oat_point point = {p.theta, p.z};
  const oat_rows plain = rows_of(&p, NOISE_PLAIN, 1 + INPUTS);
  for (size_t i = 0; i < p.n; i++) {
    p.noise_add[i] = 0;
    p.noise_scale[i] = 1;
  }
  variant v;
  for (size_t t = 0; variant_at(t / ROW_NOISES, &v); t++) {
    const oat_rows rows = rows_of(&p, (row_noise)(t % ROW_NOISES), 1 + INPUTS);
    for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
      const outcome a = evaluate_with(&rows, oat_kernel_at(i), v, &point, KNOTS),
                    b = evaluate_with(&plain, oat_kernel_at(i), v, &point, KNOTS);
      assert_nats(a.value, b.value, 1e-9);
      assert_true(gradient_error(&a, &b) <= 1e-10);
    }
  }
  free_problem(&p);
}

/* ---- the estimated mean ---------------------------------------------------------------------------------------- */

/* Value for given coefficients: the basis subtracted from r by hand. */
static double value_at(const problem *p, const oat_rows *rows, variant v, const double *beta) {
  double r[ROWS], theta[MAX_THETA];
  memcpy(theta, p->theta, sizeof theta);
  const oat_point point = {theta, p->z};
  for (size_t i = 0; i < p->n; i++) {
    r[i] = rows->r[i];
    for (size_t j = 0; j < rows->p; j++) {
      r[i] -= beta[j] * rows->r[i + (1 + j) * p->n];
    }
  }
  oat_rows given = *rows;
  given.p = 0;
  given.r = r;
  return evaluate_with(&given, oat_kernel_find("rq-ard"), v, &point, KNOTS).value;
}

/* The objective is a parabola in each coefficient with its top at the estimate. */
static void profiled_mean(void **state) {
  (void)state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 80);
  const oat_point point = {p.theta, p.z};
  variant v;
  for (size_t t = 0; variant_at(t / ROW_NOISES, &v); t++) {
    const oat_rows rows = rows_of(&p, (row_noise)(t % ROW_NOISES), 1 + INPUTS);
    const outcome o = evaluate_with(&rows, oat_kernel_find("rq-ard"), v, &point, KNOTS);
    assert_nats(value_at(&p, &rows, v, o.coefficient), o.value, 1e-9);
    for (size_t j = 0; j < 1 + INPUTS; j++) {
      double above[1 + INPUTS], below[1 + INPUTS];
      memcpy(above, o.coefficient, sizeof above);
      memcpy(below, o.coefficient, sizeof below);
      above[j] += 1;
      below[j] -= 1;
      const double up = value_at(&p, &rows, v, above), down = value_at(&p, &rows, v, below),
                   curvature = up + down - 2 * o.value;
      assert_true(curvature < -0.1);
      assert_near((up - down) / 2 / curvature, 0, 1e-10); /* how far the top is from the estimate */
    }
  }
  free_problem(&p);
}

/* What is linear in the inputs goes into the coefficients and nowhere else. */
static void linear_trend(void **state) {
  (void)state;
  static const double trend[1 + INPUTS] = {3, -2, 0.7};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 81), q = make_problem(ROWS, INPUTS, KNOTS, 81);
  const oat_point point = {p.theta, p.z};
  for (size_t i = 0; i < p.n; i++) {
    for (size_t j = 0; j < 1 + INPUTS; j++) {
      q.r[i] += trend[j] * q.r[i + (1 + j) * p.n];
    }
  }
  variant v;
  for (size_t t = 0; variant_at(t / ROW_NOISES, &v); t++) {
    const oat_rows plain = rows_of(&p, (row_noise)(t % ROW_NOISES), 1 + INPUTS),
                   tilted = rows_of(&q, (row_noise)(t % ROW_NOISES), 1 + INPUTS);
    for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
      const outcome a = evaluate_with(&plain, oat_kernel_at(i), v, &point, KNOTS),
                    b = evaluate_with(&tilted, oat_kernel_at(i), v, &point, KNOTS);
      assert_nats(a.value, b.value, 1e-9);
      assert_true(gradient_error(&a, &b) <= 1e-9);
      for (size_t j = 0; j < 1 + INPUTS; j++) {
        assert_near(b.coefficient[j] - trend[j], a.coefficient[j], 1e-9);
      }
    }
  }
  free_problem(&p);
  free_problem(&q);
}

/* A column of the basis that is a multiple of another one changes nothing. */
static void collinear_basis(void **state) {
  (void)state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 82);
  const oat_point point = {p.theta, p.z};
  for (size_t i = 0; i < p.n; i++) {
    p.r[i + 3 * p.n] = -2 * p.r[i + 2 * p.n] + 5;
  }
  variant v;
  for (size_t t = 0; variant_at(t / ROW_NOISES, &v); t++) {
    const oat_rows two = rows_of(&p, (row_noise)(t % ROW_NOISES), 2),
                   three = rows_of(&p, (row_noise)(t % ROW_NOISES), 3);
    const oat_kernel *kernel = oat_kernel_find("se-ard");
    const outcome a = evaluate_with(&two, kernel, v, &point, KNOTS),
                  b = evaluate_with(&three, kernel, v, &point, KNOTS);
    assert_nats(a.value, b.value, 1e-9);
    assert_true(gradient_error(&a, &b) <= 1e-8);
    assert_near(a.coefficient[0], b.coefficient[0] + 5 * b.coefficient[2], 1e-8);
    assert_near(a.coefficient[1], b.coefficient[1] - 2 * b.coefficient[2], 1e-8);
  }
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dense_formulas),  cmocka_unit_test(knots_at_rows),       cmocka_unit_test(related_models),
      cmocka_unit_test(lower_bound),     cmocka_unit_test(weights_are_repeats), cmocka_unit_test(constant_noise_is_tau),
      cmocka_unit_test(neutral_noise),   cmocka_unit_test(profiled_mean),       cmocka_unit_test(linear_trend),
      cmocka_unit_test(collinear_basis),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
