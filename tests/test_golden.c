/* Objective and gradient against tests/data/golden: oatgp's own definitions by dense formulas and complex steps, in
 * oatgp.json, and the models with neighbours and the tighter bounds of beyond.json. */
#include "rows/layout.h"
#include "objective/objective.h"
#include "support.h"

enum { MAX_KNOTS = 16, MAX_INPUTS = 4, ROWS = 40 };

typedef struct problem {
  table x, y, z;
  double r[ROWS], noise_scale[ROWS];
  oat_rows rows;
} problem;

static problem load_problem(void) {
  problem p = {golden_table("X.csv"), golden_table("y.csv"), golden_table("Xu.csv"), {0}, {0}, {0}};
  double mean = 0;
  for (size_t i = 0; i < p.y.rows; i++) {
    mean += p.y.a[i] / (double)p.y.rows;
  }
  for (size_t i = 0; i < p.y.rows; i++) {
    p.r[i] = p.y.a[i] - mean;
    p.noise_scale[i] = 1 / (0.5 + (double)(i % 3)); /* of records with weights */
  }
  p.rows = (oat_rows){p.x.rows, p.x.columns, 0, p.x.a, NULL, NULL, NULL};
  return p;
}

static void free_problem(problem *p) {
  free(p->x.a);
  free(p->y.a);
  free(p->z.a);
}

static void check_gradient(const cJSON *expected, const oat_gradient *gradient, size_t k, size_t d, double tolerance) {
  double lengthscales[MAX_INPUTS];
  const size_t count = json_numbers(expected, "log_lengthscales", lengthscales);
  assert_near(gradient->theta[OAT_SIGMA], json_number(expected, "log_sigma"), tolerance);
  assert_near(gradient->theta[OAT_TAU], json_number(expected, "log_tau"), tolerance);
  for (size_t j = 0; j < count; j++) {
    assert_near(gradient->theta[OAT_LENGTHSCALE + j], lengthscales[j], tolerance);
  }
  const cJSON *knots = cJSON_GetObjectItemCaseSensitive(expected, "knots");
  for (size_t c = 0; knots != NULL && c < k; c++) {
    for (size_t j = 0; j < d; j++) {
      assert_near(gradient->z[c + j * k], cJSON_GetArrayItem(cJSON_GetArrayItem(knots, (int)c), (int)j)->valuedouble,
                  tolerance);
    }
  }
}

static void check_record(oatgp_context *ctx, const problem *p, const cJSON *record) {
  double theta[OAT_LENGTHSCALE + MAX_INPUTS] = {json_number(record, "sigma"), json_number(record, "tau"), 1};
  double d_theta[OAT_LENGTHSCALE + MAX_INPUTS], d_z[MAX_KNOTS * MAX_INPUTS], value = 0;
  json_numbers(record, "lengthscales", theta + OAT_LENGTHSCALE);
  const oat_approx *approx = oat_approx_find(json_text(record, "approx"));
  const oat_kernel *kernel = oat_kernel_find(json_text(record, "kernel"));
  assert_non_null(approx);
  assert_non_null(kernel);
  oat_rows rows = p->rows;
  rows.noise_scale = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(record, "weights")) ? p->noise_scale : NULL;
  const oat_objective_config config = {.approx = approx,
                                       .kernel = kernel,
                                       .rows = &rows,
                                       .alpha = json_number_or(record, "alpha", approx->alpha),
                                       .jitter = approx->sparse ? json_number(record, "jitter") : 0,
                                       .k = p->z.rows,
                                       .memory = 1 << 20,
                                       .neighbours = (size_t)json_number_or(record, "neighbours", 0)};
  const oat_point point = {theta, p->z.a};
  oat_gradient gradient = {d_theta, approx->sparse ? d_z : NULL};
  oat_objective *objective = NULL;
  assert_int_equal(oat_objective_create(ctx, &config, &objective), OATGP_OK);
  assert_int_equal(oat_objective_evaluate(objective, &point, &value, &gradient), OATGP_OK);
  assert_nats(value, json_number(record, "objective"), 1e-9);
  check_gradient(cJSON_GetObjectItemCaseSensitive(record, "gradient"), &gradient, p->z.rows, p->x.columns,
                 fmax(1e-7, json_number_or(record, "gradient_accuracy", 0)));
  oat_objective_free(objective);
}

static void check_records(const cJSON *records, int count) {
  oatgp_context *ctx = oatgp_context_create();
  problem p = load_problem();
  p.rows.r = p.r;
  assert_int_equal(cJSON_GetArraySize(records), count);
  const cJSON *record = NULL;
  cJSON_ArrayForEach(record, records) { check_record(ctx, &p, record); }
  free_problem(&p);
  oatgp_context_free(ctx);
}

static void golden_records(void **state) {
  (void)state;
  cJSON *records = read_json(TEST_DATA_DIR "/golden/oatgp.json");
  check_records(records, 72);
  cJSON_Delete(records);
}

static void golden_neighbours(void **state) {
  (void)state;
  cJSON *all = read_json(TEST_DATA_DIR "/golden/beyond.json");
  check_records(cJSON_GetObjectItemCaseSensitive(all, "neighbours"), 8);
  cJSON_Delete(all);
}

static void golden_tighter_bounds(void **state) {
  (void)state;
  cJSON *all = read_json(TEST_DATA_DIR "/golden/beyond.json");
  check_records(cJSON_GetObjectItemCaseSensitive(all, "tight"), 4);
  cJSON_Delete(all);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(golden_records), cmocka_unit_test(golden_neighbours),
                                     cmocka_unit_test(golden_tighter_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
