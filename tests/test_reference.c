/* The exact GP with the isotropic squared exponential against optima that independent code found on the paper's training rows.
 * The data and the rows are not part of the project; without them a test says so and is skipped. */
#include "fits.h"

typedef struct optimum {
  const char *set;
  int run;
  double evidence;
} optimum;

static void need(const char *path) {
  if (access(path, R_OK) != 0) {
    print_message("skipped: there is no %s\n", path);
    skip();
  }
}

/* The training rows; the target is the last column. */
static oatgp_data *training_data(scratch *s, const optimum *o) {
  char data_path[1024], rows_path[1024];
  snprintf(data_path, sizeof data_path, "%s/data/%s.csv", SHARED_DIR, o->set);
  snprintf(rows_path, sizeof rows_path, "%s/reference/splits/%s/run%d/train_rows.csv", SHARED_DIR, o->set, o->run);
  need(data_path);
  need(rows_path);
  const table all = read_table(data_path), rows = read_table(rows_path);
  const size_t n = rows.rows, d = all.columns - 1;
  double *x = calloc(n * d, sizeof *x), *y = calloc(n, sizeof *y);
  for (size_t i = 0; i < n; i++) {
    const size_t row = (size_t)rows.a[i] - 1;
    assert_true(row < all.rows);
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = all.a[row + j * all.rows];
    }
    y[i] = all.a[row + d * all.rows];
  }
  oatgp_data *data = make_data(s, n, d, x, y);
  free(x);
  free(y);
  free(all.a);
  free(rows.a);
  return data;
}

/* The caller frees the model. */
static oatgp_model *fit_exactly(scratch *s, const optimum *o) {
  oatgp_data *data = training_data(s, o);
  s->settings.approx = "full";
  s->settings.kernel = "se";
  oatgp_model *model = must_fit(s, data, NULL);
  const double evidence = info_of(model).objective;
  if (!(fabs(evidence - o->evidence) < 1e-4)) {
    fail_msg("%s run %d: log evidence %.6f instead of %.5f", o->set, o->run, evidence, o->evidence);
  }
  oatgp_data_free(data);
  return model;
}

static void expect_parameters(const oatgp_model *model, double sigma, double lengthscale, double tau) {
  const oatgp_model_info info = info_of(model);
  assert_int_equal(info.lengthscale_count, 1);
  assert_true(fabs(info.sigma - sigma) < 1e-3);
  assert_true(fabs(info.lengthscales[0] - lengthscale) < 1e-3);
  assert_true(fabs(info.tau - tau) < 1e-3);
}

static void boston_run_1(void **state) {
  const optimum o = {"boston", 1, -1038.96331};
  oatgp_model *model = fit_exactly(*state, &o);
  assert_int_equal(info_of(model).n, 392);
  expect_parameters(model, 9.52576, 1.90975, 3.08666);
  oatgp_model_free(model);
}

static void boston_runs_2_to_5(void **state) {
  const optimum optima[] = {{"boston", 2, -1023.71841}, {"boston", 3, -1022.94637}, {"boston", 4, -1028.54673}, {"boston", 5, -1034.47137}};
  for (size_t i = 0; i < LENGTH(optima); i++) {
    oatgp_model_free(fit_exactly(*state, &optima[i]));
  }
}

/* Twenty factorisations of 1202 rows take valgrind several minutes, and Boston's show it the same code. */
static void airfoil_run_1(void **state) {
  if (under_valgrind()) {
    skip();
  }
  const optimum o = {"airfoil", 1, -3032.26494};
  oatgp_model *model = fit_exactly(*state, &o);
  expect_parameters(model, 12.65236, 1.10146, 2.21386);
  oatgp_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {WITH_SCRATCH(boston_run_1), WITH_SCRATCH(boston_runs_2_to_5), WITH_SCRATCH(airfoil_run_1)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
