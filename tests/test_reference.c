/* The exact GP with the isotropic squared exponential against optima that independent code found on the paper's
 * training rows (tests/data/golden/optima.json). The data of Airfoil are not part of the project; without them its test
 * says so and is skipped. */
#include "fits.h"

/* Those rows (from 1) of a table whose last column is the target. */
static oatgp_data *select_rows(scratch *s, const table *all, size_t n, const double *rows) {
  const size_t d = all->columns - 1;
  double *x = calloc(n * d, sizeof *x), *y = calloc(n, sizeof *y);
  for (size_t i = 0; i < n; i++) {
    const size_t row = (size_t)rows[i] - 1;
    assert_true(row < all->rows);
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = all->a[row + j * all->rows];
    }
    y[i] = all->a[row + d * all->rows];
  }
  oatgp_data *data = make_data(s, n, d, x, y);
  free(x);
  free(y);
  return data;
}

/* The record of a run. */
static const cJSON *find_optimum(const cJSON *optima, const char *set, size_t run) {
  const cJSON *record = NULL;
  cJSON_ArrayForEach(record, optima) {
    if (strcmp(json_text(record, "set"), set) == 0 && json_number(record, "run") == (double)run) {
      return record;
    }
  }
  fail_msg("optima.json has no run %zu of %s", run, set);
  return NULL;
}

/* The evidence is flat at its optimum: the parameters have half of its digits. */
static void expect_optimum(scratch *s, const oatgp_data *data, const char *set, size_t run) {
  cJSON *optima = read_json(TEST_DATA_DIR "/golden/optima.json");
  const cJSON *expected = find_optimum(optima, set, run);
  s->settings.approx = "full";
  s->settings.kernel = "se";
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  assert_int_equal(info.n, (size_t)json_number(expected, "rows"));
  assert_int_equal(info.lengthscale_count, 1);
  assert_nats(info.objective, json_number(expected, "log_evidence"), 1e-7);
  assert_near(info.sigma, json_number(expected, "sigma"), 1e-5);
  assert_near(info.lengthscales[0], json_number(expected, "lengthscale"), 1e-5);
  assert_near(info.tau, json_number(expected, "tau"), 1e-5);
  oatgp_model_free(model);
  cJSON_Delete(optima);
}

static void boston_runs(void **state) {
  const table all = read_table(PROJECT_DATA_DIR "/boston.csv"), rows = golden_table("boston_rows.csv");
  assert_int_equal(rows.columns, 5);
  for (size_t run = 1; run <= rows.columns; run += amount(1, 2, 4)) {
    oatgp_data *data = select_rows(*state, &all, rows.rows, rows.a + (run - 1) * rows.rows);
    expect_optimum(*state, data, "boston", run);
    oatgp_data_free(data);
  }
  free(all.a);
  free(rows.a);
}

/* The table at a path that may not be there. */
static table read_shared(const char *path) {
  if (access(path, R_OK) != 0) {
    print_message("skipped: there is no %s\n", path);
    skip();
  }
  return read_table(path);
}

/* Twenty factorisations of 1202 rows take valgrind several minutes, and Boston's show it the same code. */
static void airfoil_run_1(void **state) {
  if (under_valgrind()) {
    skip();
  }
  const table all = read_shared(SHARED_DIR "/data/airfoil.csv"),
              rows = read_shared(SHARED_DIR "/reference/splits/airfoil/run1/train_rows.csv");
  oatgp_data *data = select_rows(*state, &all, rows.rows, rows.a);
  expect_optimum(*state, data, "airfoil", 1);
  oatgp_data_free(data);
  free(all.a);
  free(rows.a);
}

int main(void) {
  const struct CMUnitTest tests[] = {WITH_SCRATCH(boston_runs), WITH_SCRATCH(airfoil_run_1)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
