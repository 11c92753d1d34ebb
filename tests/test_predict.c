/* Predictions through the public functions: against tests/data/golden/oatgp.json, against dense formulas for every
 * kernel and model, against the full GP, and what belongs together: variances, covariances, draws and knots. */
#include "rows/layout.h"
#include "dense.h"
#include "fixed_fits.h"
#include "linalg/linalg.h"

enum { ROWS = 21, INPUTS = 2, KNOTS = 5, POINTS = 9 };

/* ---- golden records -------------------------------------------------------------------------------------------- */

typedef struct golden {
  table x, y, z, test;
  oatgp_data *data, *knots, *points;
} golden;

static golden load_golden(scratch *s) {
  golden g = {golden_table("X.csv"),
              golden_table("y.csv"),
              golden_table("Xu.csv"),
              golden_table("Xtest.csv"),
              NULL,
              NULL,
              NULL};
  g.data = data_of(s, g.x.rows, g.x.columns, g.x.a, g.y.a);
  g.knots = data_of(s, g.z.rows, g.z.columns, g.z.a, NULL);
  g.points = data_of(s, g.test.rows, g.test.columns, g.test.a, NULL);
  return g;
}

static void free_golden(golden *g) {
  double *const blocks[] = {g->x.a, g->y.a, g->z.a, g->test.a};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
  oatgp_data_free(g->data);
  oatgp_data_free(g->knots);
  oatgp_data_free(g->points);
}

static double check_record(scratch *s, const golden *g, const cJSON *record) {
  problem p = {.d = g->x.columns, .theta = {json_number(record, "sigma"), json_number(record, "tau"), 1}};
  char text[256];
  double expected[2][POINTS + 7];
  json_numbers(record, "lengthscales", p.theta + OAT_LENGTHSCALE);
  const variant v = {oat_approx_find(json_text(record, "approx")), json_number_or(record, "alpha", 1)};
  fix_everything(s, oat_kernel_find(json_text(record, "kernel")), v, &p, text);
  s->settings.mean = "mean";
  s->settings.neighbours = s->settings.predict_neighbours = (int64_t)json_number_or(record, "neighbours", 0);
  s->settings.order = "file";
  s->settings.jitter = json_number(record, "jitter");
  assert_true(g->test.rows <= LENGTH(expected[0]));
  assert_int_equal(json_numbers(record, "predict_mean", expected[0]), g->test.rows);
  assert_int_equal(json_numbers(record, "predict_latent_variance", expected[1]), g->test.rows);
  oatgp_model *model = must_fit(s, g->data, v.approx->sparse ? g->knots : NULL);
  double *all = must_predict(s, model, g->points);
  assert_near(info_of(model).mean, json_number(record, "mean"), 1e-14);
  assert_nats(info_of(model).objective, json_number(record, "objective"), 1e-9);
  const double mean = largest_error(g->test.rows, all, expected[0]),
               variance = largest_error(g->test.rows, all + g->test.rows, expected[1]);
  free(all);
  oatgp_model_free(model);
  return worse_of(mean, variance);
}

static void check_records(scratch *s, const cJSON *records, int count) {
  golden g = load_golden(s);
  const cJSON *record = NULL;
  double worst = 0;
  assert_int_equal(cJSON_GetArraySize(records), count);
  cJSON_ArrayForEach(record, records) { worst = worse_of(worst, check_record(s, &g, record)); }
  print_message("golden predictions: within %.1e\n", worst);
  assert_true(worst <= 1e-9);
  free_golden(&g);
}

static void golden_records(void **state) {
  cJSON *records = read_json(TEST_DATA_DIR "/golden/oatgp.json");
  check_records(*state, records, 72);
  cJSON_Delete(records);
}

static void golden_neighbours(void **state) {
  cJSON *all = read_json(TEST_DATA_DIR "/golden/beyond.json");
  check_records(*state, cJSON_GetObjectItemCaseSensitive(all, "neighbours"), 8);
  cJSON_Delete(all);
}

/* ---- dense formulas -------------------------------------------------------------------------------------------- */

/* A training row, a knot, and others in and beyond the range of the rows. */
static void choose_points(const problem *p, double *points) {
  oat_rng rng;
  oat_rng_seed(&rng, 111);
  for (size_t i = 0; i < POINTS * p->d; i++) {
    const size_t row = i % POINTS, j = i / POINTS;
    points[i] = row == 0 ? p->x[j * p->n] : row == 1 ? p->z[1 + j * p->k] : 5 * oat_rng_uniform(&rng) - 2.5;
  }
}

/* Mean and covariance of the posterior by the dense formulas. */
typedef struct posterior {
  double mean[POINTS], variance[POINTS], covariance[POINTS * POINTS];
} posterior;

static posterior dense_posterior(const problem *p, const oat_objective_config *config, const double *points) {
  double theta[MAX_THETA];
  real mean[POINTS], covariance[POINTS * POINTS];
  posterior result;
  memcpy(theta, p->theta, sizeof theta);
  const oat_point point = {theta, p->z};
  dense m = dense_make(config, &point);
  dense_predict(&m, (oat_points){points, POINTS, POINTS}, mean, covariance);
  for (size_t i = 0; i < POINTS; i++) {
    for (size_t j = 0; j < m.p; j++) {
      mean[i] += m.beta[j] * (j == 0 ? 1 : points[i + (j - 1) * POINTS]);
    }
    result.mean[i] = (double)mean[i];
    result.variance[i] = (double)covariance[i * (POINTS + 1)];
  }
  for (size_t i = 0; i < POINTS * POINTS; i++) {
    result.covariance[i] = (double)covariance[i];
  }
  dense_free(&m);
  return result;
}

static double check_against_dense(scratch *s, const problem *p, row_noise noise, const oat_objective_config *config) {
  double points[POINTS * INPUTS], joint[POINTS * POINTS], worst = 0;
  choose_points(p, points);
  const posterior exact = dense_posterior(p, config, points);
  oatgp_model *model = fixed_model(s, p, noise);
  oatgp_data *data = data_of(s, POINTS, p->d, points, NULL);
  give_noise(s, data, p, noise);
  double *all = must_predict(s, model, data);
  must(s, oatgp_predict_covariance(s->ctx, model, data, joint));
  worst = worse_of(worst, largest_error(POINTS, all, exact.mean));
  worst = worse_of(worst, largest_error(POINTS, all + POINTS, exact.variance));
  worst = worse_of(worst, largest_error(POINTS * POINTS, joint, exact.covariance));
  for (size_t i = 0; i < POINTS; i++) {
    const double own = p->theta[OAT_TAU] * p->theta[OAT_TAU] * (noise & NOISE_SCALED ? p->noise_scale[i] : 1);
    const double added = noise & NOISE_ADDED ? p->noise_add[i] : 0;
    worst = worse_of(worst, relative_error(all[2 * POINTS + i], exact.variance[i] + own + added)); /* the noise once */
  }
  oatgp_data_free(data);
  oatgp_model_free(model);
  free(all);
  return worst;
}

static void dense_formulas(void **state) {
  scratch *s = *state;
  const size_t bases[] = {0, 1, 1 + INPUTS};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 112);
  char text[256];
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    double worst = 0;
    for (size_t t = 0; oat_kernel_at(t / (ROW_NOISES * LENGTH(bases))) != NULL; t += amount(1, 5, 7)) {
      const row_noise noise = (row_noise)(t % ROW_NOISES);
      const oat_rows rows = rows_of(&p, noise, bases[t / ROW_NOISES % LENGTH(bases)]);
      const oat_objective_config config = config_of(&rows, oat_kernel_at(t / (ROW_NOISES * LENGTH(bases))), v, KNOTS);
      fix_everything(s, config.kernel, v, &p, text);
      s->settings.mean = mean_for(rows.p);
      worst = worse_of(worst, check_against_dense(s, &p, noise, &config));
    }
    print_message("%-4s (alpha %g): mean, variance and covariance within %.1e of the dense formula\n", v.approx->name,
                  v.alpha, worst);
    assert_true(worst <= 1e-9);
  }
  free_problem(&p);
}

/* Of a kernel whose variance differs from point to point. */
static void dense_formulas_of_an_expression(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 114);
  oat_expression *e = read_expression("periodic(x1) * se(x2) + polynomial(x2, 2)", INPUTS);
  const oat_kernel kernel = oat_kernel_of_expression(e);
  double worst = 0;
  char text[256];
  variant v;
  random_theta(&(oat_rng){{1, 2, 3, 4}}, e, p.theta[OAT_TAU], p.theta);
  for (size_t m = 0; variant_at(m, &v); m++) {
    const oat_rows rows = rows_of(&p, (row_noise)(m % ROW_NOISES), m % 2);
    const oat_objective_config config = config_of(&rows, &kernel, v, KNOTS);
    fix_everything(s, &kernel, v, &p, text);
    s->settings.mean = mean_for(rows.p);
    worst = worse_of(worst, check_against_dense(s, &p, (row_noise)(m % ROW_NOISES), &config));
  }
  print_message("expression: mean, variance and covariance within %.1e of the dense formula\n", worst);
  assert_true(worst <= 1e-9);
  s->settings.parameters = "";
  oat_expression_free(e);
  free_problem(&p);
}

/* ---- knots at all rows ----------------------------------------------------------------------------------------- */

/* Mean, variances and, where the model explains everything, covariance of n points. */
static double *predict_all(scratch *s, const problem *p, const oatgp_data *data, row_noise noise) {
  const size_t n = oatgp_data_rows(data);
  oatgp_model *model = fixed_model(s, p, noise);
  double *rows = must_predict(s, model, data), *all = new_doubles(3 * n + n * n);
  memcpy(all, rows, 3 * n * sizeof *all);
  must(s, oatgp_predict_covariance(s->ctx, model, data, all + 3 * n));
  free(rows);
  oatgp_model_free(model);
  return all;
}

/* At the rows every model then is the full GP; elsewhere dic leaves out a variance, and fic its correlations. */
static double check_full(scratch *s, const problem *p, row_noise noise, variant v, const oat_kernel *kernel) {
  const variant full = {oat_approx_find("full"), 0};
  double points[POINTS * INPUTS], worst = 0;
  char text[256];
  choose_points(p, points);
  oatgp_data *sets[] = {problem_data(s, p, NOISE_PLAIN), data_of(s, POINTS, p->d, points, NULL)};
  for (size_t i = 0; i < LENGTH(sets); i++) {
    const size_t n = oatgp_data_rows(sets[i]), variances = v.approx->residual == OAT_RESIDUAL_NONE ? n : 3 * n;
    const size_t compared = i == 0 || v.approx->residual == OAT_RESIDUAL_FULL ? 3 * n + n * n : variances;
    fix_everything(s, kernel, full, p, text);
    double *exact = predict_all(s, p, sets[i], noise);
    fix_everything(s, kernel, v, p, text);
    s->settings.jitter = 1e-11;
    double *sparse = predict_all(s, p, sets[i], noise);
    worst = worse_of(worst, largest_error(compared, sparse, exact));
    free(exact);
    free(sparse);
    oatgp_data_free(sets[i]);
  }
  return worst;
}

static void knots_at_rows(void **state) {
  scratch *s = *state;
  problem p = make_grid(113);
  double worst = 0;
  variant v;
  for (size_t t = 0; variant_at(t / ROW_NOISES, &v); t++) {
    for (size_t i = 0; oat_kernel_at(i) != NULL; i += amount(1, 2, 4)) {
      worst = worse_of(worst, check_full(s, &p, (row_noise)(t % ROW_NOISES), v, oat_kernel_at(i)));
    }
  }
  print_message("knots at all rows: predictions within %.1e of the full GP\n", worst);
  assert_true(worst <= 1e-8);
  free_problem(&p);
}

/* ---- what belongs together ------------------------------------------------------------------------------------- */

/* The diagonal of the covariance is the latent variance, and the knots' posterior is the prediction there. */
static void parts_agree(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 114);
  double joint[KNOTS * KNOTS], z[KNOTS * INPUTS], mean[KNOTS], sd[KNOTS];
  char text[256];
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    fix_everything(s, oat_kernel_find("matern32-ard"), v, &p, text);
    oatgp_model *model = fixed_model(s, &p, NOISE_PLAIN);
    oatgp_data *data = data_of(s, KNOTS, INPUTS, p.z, NULL);
    double *all = must_predict(s, model, data);
    must(s, oatgp_predict_covariance(s->ctx, model, data, joint));
    for (size_t i = 0; i < KNOTS; i++) {
      assert_near(joint[i * (KNOTS + 1)], all[KNOTS + i], 1e-13);
    }
    if (v.approx->sparse) {
      must(s, oatgp_model_knots(s->ctx, model, z, mean, sd));
      for (size_t i = 0; i < KNOTS; i++) {
        assert_near(z[i * INPUTS], p.z[i], 0);
        assert_near(mean[i], all[i], 1e-13);
        assert_near(sd[i], sqrt(all[KNOTS + i]), 1e-13);
      }
    }
    free(all);
    oatgp_data_free(data);
    oatgp_model_free(model);
  }
  free_problem(&p);
}

/* Mean and covariance of many draws, within five standard errors. */
static void check_draws(scratch *s, const oatgp_model *model, const oatgp_data *data) {
  enum { DRAWS = 5000 };
  double *draws = new_doubles(DRAWS * POINTS), joint[POINTS * POINTS], *all = must_predict(s, model, data);
  must(s, oatgp_predict_samples(s->ctx, model, data, DRAWS, 7, draws));
  must(s, oatgp_predict_covariance(s->ctx, model, data, joint));
  for (size_t i = 0; i < POINTS * POINTS; i++) {
    const size_t a = i % POINTS, b = i / POINTS;
    const double var_a = joint[a * (POINTS + 1)], var_b = joint[b * (POINTS + 1)];
    double first = 0, second = 0;
    for (size_t draw = 0; draw < DRAWS; draw++) {
      const double *f = draws + draw * POINTS;
      first += (f[a] - all[a]) / DRAWS;
      second += (f[a] - all[a]) * (f[b] - all[b]) / DRAWS;
    }
    assert_true(fabs(first) <= 5 * sqrt(var_a / DRAWS));
    assert_true(fabs(second - joint[i]) <= 5 * sqrt((var_a * var_b + joint[i] * joint[i]) / DRAWS));
  }
  free(draws);
  free(all);
}

static void draws(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 115);
  double points[POINTS * INPUTS];
  char text[256];
  variant v;
  choose_points(&p, points);
  oatgp_data *data = data_of(s, POINTS, INPUTS, points, NULL);
  for (size_t m = 0; variant_at(m, &v); m++) {
    fix_everything(s, oat_kernel_find("se-ard"), v, &p, text);
    oatgp_model *model = fixed_model(s, &p, NOISE_PLAIN);
    check_draws(s, model, data);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
  free_problem(&p);
}

/* ---- invariance ------------------------------------------------------------------------------------------------ */

/* Blocks, threads and cache; and the same settings give the same bits. */
static void machine_settings(void **state) {
  scratch *s = *state;
  static const int64_t blocks[] = {0, 1, 7, 64, 1000}, memories[] = {1 << 26, 1};
  const size_t threads = amount(3, 2, 1);
  problem p = make_problem(amount(400, 200, 50), INPUTS, 20, 116);
  char text[256];
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    fix_everything(s, oat_kernel_find("rq-ard"), v, &p, text);
    oatgp_data *data = problem_data(s, &p, NOISE_PLAIN);
    double *usual = NULL;
    for (size_t t = 0; t < LENGTH(blocks) * LENGTH(memories) * threads; t++) {
      s->settings.block = blocks[t % LENGTH(blocks)];
      s->settings.memory = memories[v.approx->sparse ? t / LENGTH(blocks) % LENGTH(memories) : 0];
      s->settings.threads = 1 + (int64_t)(t / LENGTH(blocks) / LENGTH(memories));
      oatgp_model *models[] = {fixed_model(s, &p, NOISE_PLAIN), fixed_model(s, &p, NOISE_PLAIN)};
      double *all = must_predict(s, models[0], data), *again = must_predict(s, models[1], data);
      usual = usual != NULL ? usual : must_predict(s, models[0], data);
      assert_memory_equal(all, again, 3 * p.n * sizeof *all);
      assert_true(largest_error(3 * p.n, all, usual) <= 1e-10);
      free(all);
      free(again);
      oatgp_model_free(models[0]);
      oatgp_model_free(models[1]);
    }
    free(usual);
    oatgp_data_free(data);
  }
  free_problem(&p);
}

/* Draws of many rows have the same bits for any number of threads, and however many more are drawn. */
static void draws_have_the_same_bits(void **state) {
  scratch *s = *state;
  enum { N = 300, FEW = 3, MANY = 40 };
  oatgp_data *data = wavy_data(s, N, 2, 0.2, 5);
  double *first = new_doubles(N * FEW), *other = new_doubles(N * MANY);
  s->settings.select = "fixed";
  s->settings.knots = "20";
  s->settings.max_iter = 1;
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_context_set_threads(s->ctx, 1);
  must(s, oatgp_predict_samples(s->ctx, model, data, FEW, 7, first));
  for (int threads = 1; threads <= 3; threads++) {
    oatgp_context_set_threads(s->ctx, threads);
    must(s, oatgp_predict_samples(s->ctx, model, data, MANY, 7, other));
    assert_memory_equal(first, other, N * FEW * sizeof *first);
  }
  free(first);
  free(other);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(golden_records),
      WITH_SCRATCH(golden_neighbours),
      WITH_SCRATCH(dense_formulas),
      WITH_SCRATCH(dense_formulas_of_an_expression),
      WITH_SCRATCH(knots_at_rows),
      WITH_SCRATCH(parts_agree),
      WITH_SCRATCH(draws),
      WITH_SCRATCH(machine_settings),
      WITH_SCRATCH(draws_have_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
