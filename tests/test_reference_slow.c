/* The exact GP against the optimum that independent code found on the paper's first Airfoil training rows (1202 of them). */
#include "reference.h"

static void airfoil_run_1(void **state) {
  const split which = {"airfoil", "sound_pressure", 1};
  oatgp_model *model = fit_exactly(*state, &which, -3032.26494);
  const oatgp_model_info info = info_of(model);
  assert_true(fabs(info.sigma - 12.65236) < 2e-3);
  assert_true(fabs(info.lengthscales[0] - 1.10146) < 1e-3);
  assert_true(fabs(info.tau - 2.21386) < 1e-3);
  oatgp_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(airfoil_run_1, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
