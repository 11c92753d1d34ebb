/* The exact GP against optima that independent code found on the paper's Boston training rows. */
#include "reference.h"

static void boston_evidence(scratch *s, int run, double evidence) {
  const split which = {"boston", "medv", run};
  oatgp_model_free(fit_exactly(s, &which, evidence));
}

static void boston_run_1(void **state) {
  const split which = {"boston", "medv", 1};
  oatgp_model *model = fit_exactly(*state, &which, -1038.96331);
  const oatgp_model_info info = info_of(model);
  assert_int_equal(info.n, 392);
  assert_true(fabs(info.sigma - 9.52576) < 1e-3);
  assert_true(fabs(info.lengthscales[0] - 1.90975) < 1e-3);
  assert_true(fabs(info.tau - 3.08666) < 1e-3);
  oatgp_model_free(model);
}

static void boston_run_2(void **state) { boston_evidence(*state, 2, -1023.71841); }

static void boston_run_3(void **state) { boston_evidence(*state, 3, -1022.94637); }

static void boston_run_4(void **state) { boston_evidence(*state, 4, -1028.54673); }

static void boston_run_5(void **state) { boston_evidence(*state, 5, -1034.47137); }

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {WITH_SCRATCH(boston_run_1), WITH_SCRATCH(boston_run_2), WITH_SCRATCH(boston_run_3),
                                     WITH_SCRATCH(boston_run_4), WITH_SCRATCH(boston_run_5)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
