/* The surrogate of OAT-BO against the reference's numbers for one step (tests/data/golden/ei_golden.csv): five
 * evaluated rows, then the prediction and the expected improvement at every row, for two pairs of parameters. */
#include "knots/surrogate.h"
#include "support.h"

enum { ROWS = 40, INPUTS = 2 };

static const size_t evaluated[] = {3, 11, 17, 26, 38}; /* from 1 */

enum { SIGMA, LENGTHSCALE, ROW, ELBO, MEAN, VARIANCE, IMPROVEMENT, NLL };

static double at(const table *t, size_t row, size_t column) { return t->a[row + column * t->rows]; }

static void position(const table *x, size_t row, double *out) {
  for (size_t j = 0; j < INPUTS; j++) {
    out[j] = at(x, row, j);
  }
}

static void fill(const table *x, const table *golden, oat_surrogate *surrogate) {
  double point[INPUTS];
  for (size_t i = 0; i < LENGTH(evaluated); i++) {
    position(x, evaluated[i] - 1, point);
    oat_surrogate_add(surrogate, point, at(golden, evaluated[i] - 1, ELBO));
  }
  surrogate->jitter = 1e-3;
}

static void one_step_of_the_reference(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  table x = golden_table("X.csv"), golden = golden_table("ei_golden.csv");
  oat_surrogate surrogate;
  assert_int_equal(golden.rows, 2 * ROWS);
  assert_int_equal(oat_surrogate_open(ctx, LENGTH(evaluated), INPUTS, &surrogate), OATGP_OK);
  fill(&x, &golden, &surrogate);
  for (size_t i = 0; i < golden.rows; i++) {
    double point[INPUTS], work[LENGTH(evaluated)], value, gradient[2];
    surrogate.sigma = at(&golden, i, SIGMA);
    surrogate.l = at(&golden, i, LENGTHSCALE);
    assert_true(oat_surrogate_likelihood(&surrogate, surrogate.sigma, surrogate.l, &value, gradient));
    assert_nats(-value, at(&golden, i, NLL), 1e-9);
    assert_int_equal(oat_surrogate_condition(&surrogate), OATGP_OK);
    position(&x, (size_t)at(&golden, i, ROW) - 1, point);
    const oat_outlook outlook = oat_surrogate_predict(&surrogate, point, work);
    assert_nats(outlook.mean, at(&golden, i, MEAN), 1e-9);
    assert_near(outlook.variance, at(&golden, i, VARIANCE), 1e-8);
    assert_nats(outlook.improvement, at(&golden, i, IMPROVEMENT), 1e-9);
  }
  oat_surrogate_close(&surrogate);
  free(x.a);
  free(golden.a);
  oatgp_context_free(ctx);
}

/* The gradient is that of the value; the fit ends where it vanishes and above where it started. */
static void maximum_likelihood(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  table x = golden_table("X.csv"), golden = golden_table("ei_golden.csv");
  oat_surrogate surrogate;
  double value, before, up, down, gradient[2], scratch[2];
  const double h = 1e-5;
  assert_int_equal(oat_surrogate_open(ctx, LENGTH(evaluated), INPUTS, &surrogate), OATGP_OK);
  fill(&x, &golden, &surrogate);
  assert_true(oat_surrogate_likelihood(&surrogate, 3, 1, &before, gradient));
  assert_true(oat_surrogate_likelihood(&surrogate, 3 * exp(h), 1, &up, scratch));
  assert_true(oat_surrogate_likelihood(&surrogate, 3 * exp(-h), 1, &down, scratch));
  assert_near(gradient[0], (up - down) / (2 * h), 1e-7);
  assert_true(oat_surrogate_likelihood(&surrogate, 3, exp(h), &up, scratch));
  assert_true(oat_surrogate_likelihood(&surrogate, 3, exp(-h), &down, scratch));
  assert_near(gradient[1], (up - down) / (2 * h), 1e-7);
  assert_int_equal(oat_surrogate_fit(&surrogate, 3, 1), OATGP_OK);
  assert_true(oat_surrogate_likelihood(&surrogate, surrogate.sigma, surrogate.l, &value, gradient));
  assert_true(value > before);
  assert_true(fabs(gradient[0]) < 1e-3);
  oat_surrogate_close(&surrogate);
  free(x.a);
  free(golden.a);
  oatgp_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_step_of_the_reference), cmocka_unit_test(maximum_likelihood)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
