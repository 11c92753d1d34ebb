/* Answers that are not Gaussian: the bound at the fixed point of the sites and its gradient, sparse and full. */
#include "objective/sites.h"
#include "rows/layout.h"
#include "support.h"

enum { MOST_ROWS = 40, INPUTS = 2, MOST_KNOTS = 40, MOST_THETA = OAT_LENGTHSCALE + INPUTS + OAT_OWN_MOST };

/* Rows with answers, and where to evaluate them. */
typedef struct answers {
  size_t n, k, p, levels;
  const oat_likelihood *likelihood;
  double x[MOST_ROWS * INPUTS], r[MOST_ROWS * (2 + INPUTS)], noise[MOST_ROWS], answer[MOST_ROWS * OAT_ANSWER_COLUMNS];
  double theta[MOST_THETA], z[MOST_KNOTS * INPUTS];
  oat_parameter is[OAT_OWN_MOST];
  double start[OAT_OWN_MOST];
  oat_kernel kernel;
  oat_rows rows;
} answers;

static double *column(answers *a, size_t which) { return a->answer + which * a->n; }

/* Makes the kernel with its further parameters, and the rows, of what is filled in. */
static void finish(answers *a, const char *kernel) {
  a->kernel = *oat_kernel_find(kernel);
  const size_t first = oat_covariance_count(&a->kernel, INPUTS), count = oat_likelihood_count(a->likelihood, a->levels);
  for (size_t i = 0; i < count; i++) {
    a->is[i] = oat_likelihood_parameter(a->likelihood, i);
    a->start[i] = 1;
  }
  a->kernel.further = (oat_further){true, first, count, a->is, a->start};
  a->rows = (oat_rows){.n = a->n, .d = INPUTS, .p = a->p, .x = a->x, .r = a->r, .answer = a->answer};
  a->theta[OAT_TAU] = 1;
  a->theta[OAT_SHAPE] = 1.4;
}

typedef struct options {
  size_t block;
  int threads;
  int64_t memory;
  double jitter, tol;
} options;

static const options plain = {0, 1, 1 << 24, 1e-6, 1e-11};

static oat_objective *open_objective(oatgp_context *ctx, const answers *a, const char *approx, const options *o) {
  const oat_objective_config config = {.approx = oat_approx_find(approx),
                                       .kernel = &a->kernel,
                                       .rows = &a->rows,
                                       .jitter = strcmp(approx, "full") == 0 ? 0 : o->jitter,
                                       .k = a->k,
                                       .block = o->block,
                                       .memory = o->memory,
                                       .where = {NULL, o->threads},
                                       .likelihood = a->likelihood,
                                       .levels = a->levels,
                                       .site_tol = o->tol};
  oat_objective *objective = NULL;
  assert_int_equal(oat_objective_create(ctx, &config, &objective), OATGP_OK);
  return objective;
}

/* ---- against golden values ------------------------------------------------------------------------------------- */

static double golden_answer(const char *name, const table *counts, const table *y, const cJSON *targets, size_t i) {
  if (strncmp(name, "bernoulli", 9) == 0) {
    return counts->a[i];
  }
  return strcmp(name, "student-t") == 0 ? y->a[i]
         : strcmp(name, "gamma") == 0
             ? cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(targets, "gamma_y"), (int)i)->valuedouble
             : counts->a[i + counts->rows];
}

static void golden_rows(answers *a, const cJSON *record, const cJSON *targets) {
  const table x = golden_table("X.csv"), y = golden_table("y.csv"), z = golden_table("Xu.csv"),
              counts = golden_table("y_counts.csv"), exposure = golden_table("pois_exposure.csv");
  const char *name = json_text(record, "likelihood");
  *a = (answers){.n = x.rows, .k = z.rows, .likelihood = oat_likelihood_find(name)};
  assert_non_null(a->likelihood);
  memcpy(a->x, x.a, x.rows * INPUTS * sizeof *a->x);
  memcpy(a->z, z.a, z.rows * INPUTS * sizeof *a->z);
  for (size_t i = 0; i < a->n; i++) {
    const double offset =
        a->likelihood->id == OAT_POISSON || a->likelihood->id == OAT_NEGATIVE_BINOMIAL ? log(exposure.a[i]) : 0;
    const cJSON *trials = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(targets, "binomial_trials"), (int)i);
    column(a, OAT_ANSWER_Y)[i] = golden_answer(name, &counts, &y, targets, i);
    column(a, OAT_ANSWER_BASE)[i] = json_number(record, "mean") + offset;
    column(a, OAT_ANSWER_TRIALS)[i] = a->likelihood->has_trials ? trials->valuedouble : 1;
    column(a, OAT_ANSWER_TIMES)[i] = 1;
  }
  a->theta[OAT_SIGMA] = json_number(record, "sigma");
  json_numbers(record, "lengthscales", a->theta + OAT_LENGTHSCALE);
  const cJSON *own = cJSON_GetObjectItemCaseSensitive(record, "parameters")->child;
  a->theta[OAT_LENGTHSCALE + INPUTS] = own != NULL ? own->valuedouble : 1;
  a->theta[OAT_LENGTHSCALE + INPUTS + 1] = 4; /* degrees */
  finish(a, "se-ard");
  free(x.a);
  free(y.a);
  free(z.a);
  free(counts.a);
  free(exposure.a);
}

static void check_golden(oatgp_context *ctx, const cJSON *record, const cJSON *targets) {
  answers a;
  double value = 0, d_theta[MOST_THETA], d_z[MOST_KNOTS * INPUTS], lengthscales[INPUTS];
  golden_rows(&a, record, targets);
  oat_objective *objective = open_objective(ctx, &a, "vfe", &plain);
  const oat_point point = {a.theta, a.z};
  oat_gradient gradient = {d_theta, d_z};
  assert_int_equal(oat_objective_evaluate(objective, &point, &value, &gradient), OATGP_OK);
  const cJSON *expected = cJSON_GetObjectItemCaseSensitive(record, "gradient");
  assert_nats(value, json_number(record, "objective"), 1e-8);
  assert_near(d_theta[OAT_SIGMA], json_number(expected, "log_sigma"), 1e-6);
  json_numbers(expected, "log_lengthscales", lengthscales);
  for (size_t j = 0; j < INPUTS; j++) {
    assert_near(d_theta[OAT_LENGTHSCALE + j], lengthscales[j], 1e-6);
  }
  const cJSON *knots = cJSON_GetObjectItemCaseSensitive(expected, "knots");
  for (size_t i = 0; i < a.k * INPUTS; i++) {
    assert_near(d_z[i], cJSON_GetArrayItem(cJSON_GetArrayItem(knots, (int)(i % a.k)), (int)(i / a.k))->valuedouble,
                1e-6);
  }
  assert_near(objective->look.slope, json_number(expected, "mean"), 1e-6);
  const double own = json_number_or(expected, "log_shape", json_number_or(expected, "log_scale", NAN));
  if (!isnan(own)) {
    assert_near(d_theta[OAT_LENGTHSCALE + INPUTS], own, 1e-6);
  }
  oat_objective_free(objective);
}

static void golden_likelihoods(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  cJSON *all = read_json(TEST_DATA_DIR "/golden/beyond.json");
  const cJSON *records = cJSON_GetObjectItemCaseSensitive(all, "likelihoods"), *record = NULL;
  assert_int_equal(cJSON_GetArraySize(records), 14);
  cJSON_ArrayForEach(record, records) { check_golden(ctx, record, cJSON_GetObjectItemCaseSensitive(all, "targets")); }
  cJSON_Delete(all);
  oatgp_context_free(ctx);
}

/* ---- random problems ------------------------------------------------------------------------------------------- */

/* Answers drawn from the model's own likelihood at a wavy f. */
static void random_rows(answers *a, const oat_likelihood *likelihood, const char *kernel, size_t p, uint64_t seed) {
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  *a = (answers){.n = 30, .k = 6, .p = p, .likelihood = likelihood, .levels = likelihood->has_levels ? 4 : 0};
  a->theta[OAT_SIGMA] = 1.1;
  const size_t lengthscales = oat_kernel_find(kernel)->ard ? INPUTS : 1;
  for (size_t j = 0; j < lengthscales; j++) {
    a->theta[OAT_LENGTHSCALE + j] = 0.9 + 0.2 * (double)j;
  }
  double *own = a->theta + OAT_LENGTHSCALE + lengthscales;
  for (size_t i = 0; i < oat_likelihood_count(likelihood, a->levels); i++) {
    own[i] = likelihood->id == OAT_STUDENT_T ? (i == 0 ? 0.5 : 5) : likelihood->id == OAT_ORDINAL ? 0.7 : 3;
  }
  const oat_response response = {likelihood, own, a->levels};
  for (size_t i = 0; i < a->n; i++) {
    for (size_t j = 0; j < INPUTS; j++) {
      a->x[i + j * a->n] = 3 * oat_rng_uniform(&rng) - 1.5;
    }
    const double base = 0.2 + 0.3 * oat_rng_normal(&rng),
                 trials = likelihood->has_trials ? 1 + floor(5 * oat_rng_uniform(&rng)) : 1;
    const double f = base + sin(2 * a->x[i]) + 0.5 * a->x[i + a->n];
    column(a, OAT_ANSWER_Y)[i] = oat_response_draw(&response, f, trials, &rng);
    column(a, OAT_ANSWER_BASE)[i] = base;
    column(a, OAT_ANSWER_TRIALS)[i] = trials;
    column(a, OAT_ANSWER_TIMES)[i] = i % 5 == 0 ? 2 : 1;
    for (size_t j = 0; j < p; j++) {
      a->r[i + (1 + j) * a->n] = j == 0 ? 1 : a->x[i + (j - 1) * a->n];
    }
  }
  for (size_t i = 0; i < a->k * INPUTS; i++) {
    a->z[i] = 3 * oat_rng_uniform(&rng) - 1.5;
  }
  finish(a, kernel);
}

static double value_at(oat_objective *objective, answers *a) {
  double value = 0;
  assert_int_equal(oat_objective_evaluate(objective, &(oat_point){a->theta, a->z}, &value, NULL), OATGP_OK);
  return value;
}

/* Derivatives against differences of the settled bound. */
static void check_differences(oatgp_context *ctx, answers *a, const char *approx) {
  double d_theta[MOST_THETA], d_z[MOST_KNOTS * INPUTS], value;
  const bool sparse = strcmp(approx, "full") != 0;
  oat_objective *objective = open_objective(ctx, a, approx, &plain);
  oat_gradient gradient = {d_theta, sparse ? d_z : NULL};
  assert_int_equal(oat_objective_evaluate(objective, &(oat_point){a->theta, a->z}, &value, &gradient), OATGP_OK);
  const size_t count = oat_theta_count(&a->kernel, INPUTS);
  const double h = 1e-4;
  for (size_t i = 0; i < count + (sparse ? a->k * INPUTS : 0); i++) {
    double *place = i < count ? &a->theta[i] : &a->z[i - count];
    if (i < count && (i == OAT_TAU || !oat_parameter_at(&a->kernel, i).used)) {
      continue;
    }
    const double before = *place, slope = i < count ? d_theta[i] : d_z[i - count];
    double at[4];
    for (int step = 0; step < 4; step++) {
      const double by = (step < 2 ? step - 2 : step - 1) * h;
      *place = i < count ? before * exp(by) : before + by;
      at[step] = value_at(objective, a);
    }
    *place = before;
    const double difference = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
    if (fabs(difference - slope) > 2e-6 * (1 + fabs(slope))) {
      fail_msg("%s %s: derivative %zu is %.10g, by differences %.10g", a->likelihood->name, approx, i, slope,
               difference);
    }
  }
  oat_objective_free(objective);
}

static void gradients(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  const char *const kernels[] = {"se-ard", "matern52", "rq"};
  for (size_t i = 0; i < OAT_LIKELIHOODS; i++) {
    for (size_t p = 0; p < amount(3, 2, 1); p++) {
      answers a;
      random_rows(&a, oat_likelihood_at(i), kernels[p], p == 2 ? 1 + INPUTS : p, 11 + i);
      check_differences(ctx, &a, "vfe");
      check_differences(ctx, &a, "full");
    }
  }
  oatgp_context_free(ctx);
}

/* Both say the same of rows left out; the full GP estimates the mean without them. */
static void check_left_out(oat_objective *sparse, oat_objective *full, answers *a) {
  double knots, rows, value, d_theta[MOST_THETA];
  oat_gradient gradient = {d_theta, NULL};
  assert_int_equal(oat_objective_evaluate(full, &(oat_point){a->theta, NULL}, &value, &gradient), OATGP_OK);
  assert_int_equal(oat_full_left_out(full, &rows), OATGP_OK);
  assert_int_equal(oat_objective_left_out(sparse, &(oat_point){a->theta, a->z}, &knots), OATGP_OK);
  assert_nats(knots, rows, a->p == 0 && a->likelihood->log_concave ? 1e-7 : 1);
}

/* With a knot on every row the sparse bound is that of the full GP. */
static void knots_at_rows(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  for (size_t i = 0; i < OAT_LIKELIHOODS; i++) {
    answers a;
    random_rows(&a, oat_likelihood_at(i), "matern52", i % 2, 5 + i);
    a.k = a.n;
    memcpy(a.z, a.x, a.n * INPUTS * sizeof *a.z);
    options exact = plain;
    exact.jitter = 1e-12;
    oat_objective *sparse = open_objective(ctx, &a, "vfe", &exact), *full = open_objective(ctx, &a, "full", &exact);
    const double knots = value_at(sparse, &a), rows = value_at(full, &a);
    if (a.likelihood->log_concave) {
      assert_nats(knots, rows, 1e-8);
    } else { /* the full GP keeps the precisions of its sites positive, which may cost it something */
      assert_true(knots > rows - 1e-8 && knots < rows + 0.01);
    }
    check_left_out(sparse, full, &a);
    oat_objective_free(sparse);
    oat_objective_free(full);
  }
  oatgp_context_free(ctx);
}

/* Blocks, memory and where the sites begin do not matter beyond rounding; the number of threads not at all. */
static void same_value(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  for (size_t i = 0; i < OAT_LIKELIHOODS; i++) {
    answers a;
    random_rows(&a, oat_likelihood_at(i), "se-ard", 1, 21 + i);
    const options others[] = {{7, 1, 1 << 24, 1e-6, 1e-11}, {7, 3, 1 << 24, 1e-6, 1e-11}, {0, 1, 0, 1e-6, 1e-11}};
    oat_objective *objective = open_objective(ctx, &a, "vfe", &plain);
    const double value = value_at(objective, &a);
    a.theta[OAT_SIGMA] *= 3;
    value_at(objective, &a);
    a.theta[OAT_SIGMA] /= 3;
    assert_nats(value_at(objective, &a), value, 1e-10);
    double blocks = 0;
    for (size_t j = 0; j < sizeof others / sizeof *others; j++) {
      oat_objective *other = open_objective(ctx, &a, "vfe", &others[j]);
      const double now = value_at(other, &a);
      assert_nats(now, value, 1e-10);
      assert_true(j != 1 || now == blocks);
      blocks = now;
      oat_objective_free(other);
    }
    oat_objective_free(objective);
  }
  oatgp_context_free(ctx);
}

/* ---- awkward problems ------------------------------------------------------------------------------------------ */

/* Answers of a kind that is hard: all alike, classes that a line parts, huge counts, outliers. */
static double awkward_answer(const oat_likelihood *likelihood, size_t levels, int kind, double x, double trials,
                             oat_rng *rng) {
  const bool right = x > 0;
  const double u = oat_rng_uniform(rng);
  switch (likelihood->id) {
    case OAT_BERNOULLI_LOGIT:
    case OAT_BERNOULLI_PROBIT:
      return kind == 0 ? 0 : kind == 1 ? right : u < 0.5;
    case OAT_BINOMIAL_LOGIT:
      return kind == 0 ? 0 : kind == 1 ? (right ? trials : 0) : floor(u * (trials + 1));
    case OAT_POISSON:
    case OAT_NEGATIVE_BINOMIAL:
      return kind == 0 ? 0 : kind == 1 ? floor(1e8 * u) : right ? floor(1e6 * u) : 0;
    case OAT_ORDINAL:
      return kind == 0 ? 0 : kind == 1 ? (right ? (double)levels - 1 : 0) : floor(u * (double)levels);
    case OAT_BETA:
      return kind == 0 ? 1e-12 : kind == 1 ? (right ? 1 - 1e-12 : 1e-9) : 0.001 + 0.998 * u;
    case OAT_GAMMA:
      return kind == 0 ? 1e-8 : kind == 1 ? 1e9 * (u + 1e-9) : exp(30 * (u - 0.5));
    default:
      return kind == 0 ? 0 : kind == 1 ? (u < 0.2 ? 1e6 * (u - 0.1) : u) : tan(3.1 * (u - 0.5));
  }
}

static void awkward_rows(answers *a, const oat_likelihood *likelihood, int kind, uint64_t seed) {
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  random_rows(a, likelihood, "se-ard", (size_t)(seed % 2), seed);
  a->theta[OAT_SIGMA] = fmin(exp(1.5 * oat_rng_normal(&rng)), 10);
  for (size_t j = 0; j < INPUTS; j++) {
    a->theta[OAT_LENGTHSCALE + j] = exp(1.5 * oat_rng_normal(&rng));
  }
  for (size_t i = 0; i < a->kernel.further.count; i++) {
    a->theta[a->kernel.further.first + i] = exp(2 * oat_rng_normal(&rng));
  }
  for (size_t i = 0; i < a->n; i++) {
    const double trials = column(a, OAT_ANSWER_TRIALS)[i] =
        likelihood->has_trials && kind == 2 ? 1e6 : column(a, OAT_ANSWER_TRIALS)[i];
    column(a, OAT_ANSWER_Y)[i] = awkward_answer(likelihood, a->levels, kind, a->x[i], trials, &rng);
  }
}

/* The sites settle, whatever the answers and the parameters are. */
static void awkward_problems(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  const int seeds = (int)amount(40, 10, 2);
  size_t rounds = 0, most = 0, problems = 0;
  for (size_t i = 0; i < OAT_LIKELIHOODS; i++) {
    for (int kind = 0; kind < 3; kind++) {
      for (int seed = 0; seed < seeds; seed++) {
        answers a;
        double value = 0, d_theta[MOST_THETA];
        awkward_rows(&a, oat_likelihood_at(i), kind, 1000 * i + 100 * (size_t)kind + (size_t)seed);
        options fit = plain;
        fit.tol = 1e-6;
        oat_objective *objective = open_objective(ctx, &a, seed % 3 == 0 ? "full" : "vfe", &fit);
        oat_gradient gradient = {d_theta, NULL};
        const oatgp_status status = oat_objective_evaluate(objective, &(oat_point){a.theta, a.z}, &value, &gradient);
        const bool hopeless = a.likelihood->takes_exposure &&
                              a.theta[OAT_SIGMA] > 6; /* the expected count without knots nearby: exp(18) */
        if (status != OATGP_OK && !(hopeless && status == OATGP_NUMERIC)) {
          fail_msg("%s, kind %d, seed %d: sigma %g, change %g after %zu rounds", a.likelihood->name, kind, seed,
                   a.theta[OAT_SIGMA], objective->look.change, objective->rounds);
        }
        rounds += objective->rounds;
        most = objective->rounds > most ? objective->rounds : most;
        problems++;
        oat_objective_free(objective);
      }
    }
  }
  print_message("%zu problems, %.1f rounds on average, at most %zu\n", problems, (double)rounds / (double)problems,
                most);
  oatgp_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(golden_likelihoods), cmocka_unit_test(gradients),
                                     cmocka_unit_test(knots_at_rows), cmocka_unit_test(same_value),
                                     cmocka_unit_test(awkward_problems)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
