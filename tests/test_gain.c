/* The exact gain of a candidate knot against the difference of two evaluations, for every kernel and every model with
 * alpha = 0. */
#include "rows/layout.h"
#include "objective/objective.h"
#include "support.h"
#include "util/threads.h"

enum { N = 60, D = 2, K = 7, M = 12 };

typedef struct instance {
  double x[N * D], r[(2 + D) * N], noise_scale[N], noise_add[N], z[(K + M) * D], candidate[M * D];
  oat_rows rows;
} instance;

static void make_instance(instance *p, uint64_t seed, int noise, size_t basis) {
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < N; i++) {
    p->x[i] = 3 * oat_rng_uniform(&rng);
    p->x[i + N] = 3 * oat_rng_uniform(&rng);
    p->r[i] = sin(2 * p->x[i]) + p->x[i + N] + 0.3 * oat_rng_normal(&rng);
    p->r[N + i] = 1;
    p->r[2 * N + i] = p->x[i];
    p->r[3 * N + i] = p->x[i + N];
    p->noise_scale[i] = 0.5 + oat_rng_uniform(&rng);
    p->noise_add[i] = 0.1 * oat_rng_uniform(&rng);
  }
  for (size_t i = 0; i < K * D; i++) {
    p->z[i] = 3 * oat_rng_uniform(&rng);
  }
  for (size_t i = 0; i < M * D; i++) {
    p->candidate[i] = 3 * oat_rng_uniform(&rng);
  }
  p->rows = (oat_rows){N, D, basis, p->x, p->r, noise & 1 ? p->noise_scale : NULL, noise & 2 ? p->noise_add : NULL};
}

/* Knots of the instance and candidate c behind them. */
static void with_candidate(const instance *p, size_t c, double *z) {
  for (size_t j = 0; j < D; j++) {
    memcpy(z + j * (K + 1), p->z + j * K, K * sizeof *z);
    z[K + j * (K + 1)] = p->candidate[c + j * M];
  }
}

static oat_objective *make_objective(oatgp_context *ctx, const instance *p, const char *approx,
                                     const oat_kernel *kernel) {
  const oat_objective_config config = {.approx = oat_approx_find(approx),
                                       .kernel = kernel,
                                       .rows = &p->rows,
                                       .jitter = 1e-6,
                                       .k = K,
                                       .block = 16,
                                       .memory = 1 << 20,
                                       .capacity = K + M};
  oat_objective *objective = NULL;
  assert_int_equal(oat_objective_create(ctx, &config, &objective), OATGP_OK);
  return objective;
}

/* The gains from factors that were grown are those from an evaluation. */
static void check_grown(const instance *p, oat_objective *grown, oat_objective *evaluated, const oat_point *point,
                        double *work) {
  double a[M], b[M];
  const oat_points candidates = {p->candidate, M, M};
  assert_int_equal(oat_objective_gains(grown, point, candidates, work, a), OATGP_OK);
  assert_int_equal(oat_objective_gains(evaluated, point, candidates, work, b), OATGP_OK);
  for (size_t c = 0; c + 1 < M; c++) { /* the last is a knot now */
    assert_near(a[c], b[c], 1e-8);
  }
  assert_true(a[M - 1] == -HUGE_VAL && b[M - 1] == -HUGE_VAL);
}

/* The coefficients must agree to the tolerance. */
static void check_gains(oatgp_context *ctx, const instance *p, const char *approx, const oat_kernel *kernel,
                        double tolerance) {
  oat_objective *objective = make_objective(ctx, p, approx, kernel), *other = make_objective(ctx, p, approx, kernel);
  double theta[] = {1.2, 0.4, 0.8, 0.9, 1.3}, z[(K + 1) * D], gain[M], before, after, appended;
  double *work = calloc(oat_gain_work(objective, M), sizeof *work);
  oat_point point = {theta, (double *)(uintptr_t)p->z}, larger = {theta, z};
  assert_int_equal(oat_objective_evaluate(objective, &point, &before, NULL), OATGP_OK);
  assert_int_equal(oat_objective_gains(objective, &point, (oat_points){p->candidate, M, M}, work, gain), OATGP_OK);
  for (size_t c = 0; c < M; c++) {
    with_candidate(p, c, z);
    oat_objective_resize(other, K + 1);
    assert_int_equal(oat_objective_evaluate(other, &larger, &after, NULL), OATGP_OK);
    assert_nats(gain[c], after - before, 1e-8);
    assert_true(other->config.approx->penalty != OAT_PENALISE_TRACE || gain[c] > -1e-9);
  }
  assert_int_equal(oat_objective_append(objective, &larger, work, &appended), OATGP_OK);
  assert_nats(appended, gain[M - 1], 1e-10);
  assert_int_equal(objective->config.k, K + 1);
  for (size_t i = 0; i < (K + 1) * (K + 1); i++) {
    assert_near(objective->factors.l[i], other->factors.l[i], 1e-8);
    assert_near(objective->factors.lb[i], other->factors.lb[i], 1e-8);
  }
  for (size_t i = 0; i <= K; i++) {
    assert_near(objective->factors.c[i], other->factors.c[i], 1e-8);
  }
  for (size_t i = 0; i < p->rows.p; i++) {
    assert_near(objective->factors.coefficient[i], other->factors.coefficient[i], tolerance);
  }
  check_grown(p, objective, other, &larger, work);
  free(work);
  oat_objective_free(objective);
  oat_objective_free(other);
}

static void gain_is_the_difference(void **state) {
  (void)state;
  static const char *const models[] = {"vfe", "tvfe", "dtc", "dic"};
  oatgp_context *ctx = oatgp_context_create();
  instance p;
  for (size_t k = 0; oat_kernel_at(k) != NULL; k++) {
    for (size_t m = 0; m < LENGTH(models); m++) {
      for (int noise = 0; noise < 4; noise++) {
        make_instance(&p, 1 + k, noise, noise == 0 ? 0 : noise == 3 ? 3 : (size_t)noise - 1);
        check_gains(ctx, &p, models[m], oat_kernel_at(k), 1e-8);
      }
    }
  }
  oatgp_context_free(ctx);
}

/* A column of the mean's basis that is a multiple of others: the coefficients are not unique, the gain is. */
static void collinear_basis(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  instance p;
  make_instance(&p, 5, 0, 3);
  for (size_t i = 0; i < N; i++) {
    p.r[3 * N + i] = 5 * p.r[N + i] - 2 * p.r[2 * N + i];
  }
  check_gains(ctx, &p, "vfe", oat_kernel_find("se-ard"), HUGE_VAL);
  check_gains(ctx, &p, "tvfe", oat_kernel_find("se-ard"), HUGE_VAL);
  oatgp_context_free(ctx);
}

static void candidate_on_a_knot_is_refused(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  instance p;
  make_instance(&p, 3, 0, 0);
  p.candidate[0] = p.z[2];
  p.candidate[M] = p.z[2 + K];
  oat_objective *objective = make_objective(ctx, &p, "vfe", oat_kernel_find("se")),
                *other = make_objective(ctx, &p, "vfe", oat_kernel_find("se"));
  double theta[] = {1.2, 0.4, 1, 0.9}, z[(K + 1) * D], gain[M], value, after;
  double *work = calloc(oat_gain_work(objective, M), sizeof *work);
  const oat_point point = {theta, p.z}, larger = {theta, z};
  assert_int_equal(oat_objective_evaluate(objective, &point, &value, NULL), OATGP_OK);
  assert_int_equal(oat_objective_gains(objective, &point, (oat_points){p.candidate, M, M}, work, gain), OATGP_OK);
  assert_true(gain[0] == -HUGE_VAL);
  with_candidate(&p, 1, z); /* the next one is weighed all the same */
  oat_objective_resize(other, K + 1);
  assert_int_equal(oat_objective_evaluate(other, &larger, &after, NULL), OATGP_OK);
  assert_nats(gain[1], after - value, 1e-8);
  with_candidate(&p, 0, z);
  assert_int_equal(oat_objective_append(objective, &larger, work, &value), OATGP_NUMERIC);
  assert_int_equal(objective->config.k, K);
  free(work);
  oat_objective_free(objective);
  oat_objective_free(other);
  oatgp_context_free(ctx);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {cmocka_unit_test(gain_is_the_difference), cmocka_unit_test(collinear_basis),
                                     cmocka_unit_test(candidate_on_a_knot_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
