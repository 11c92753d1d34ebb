/* Changes that may only affect rounding: the size of row blocks, the cache, the order of rows and knots, the number of
 * threads. And one that may not change anything: evaluating the same point twice. */
#include "rows/layout.h"
#include "linalg/linalg.h"
#include "problem.h"

enum { ROWS = 150, INPUTS = 3, KNOTS = 9 };

#define VALUE_TOLERANCE 1e-8    /* nats */
#define GRADIENT_TOLERANCE 1e-8 /* relative to the largest derivative */

/* The largest differences that a test met. */
typedef struct differences {
  double value, gradient;
} differences;

static void compare(const outcome *a, const outcome *b, differences *worst) {
  worst->value = worse_of(worst->value, fabs(a->value - b->value));
  worst->gradient = worse_of(worst->gradient, gradient_error(a, b));
}

static void judge(const char *what, const differences *worst) {
  print_message("%s: value within %.1e nats, gradient within %.1e\n", what, worst->value, worst->gradient);
  assert_true(worst->value <= VALUE_TOLERANCE);
  assert_true(worst->gradient <= GRADIENT_TOLERANCE);
}

static size_t kernel_count(void) {
  size_t count = 0;
  while (oat_kernel_at(count) != NULL) {
    count++;
  }
  return count;
}

/* Every model with every kernel, without and with row noise, without and with a mean, in one count. */
static bool config_at(size_t index, const problem *p, oat_rows *rows, oat_objective_config *config) {
  variant v = {NULL, 0};
  index *= under_valgrind() ? 5 : 1;
  if (!variant_at(index / 4 / kernel_count(), &v)) {
    return false;
  }
  *rows = rows_of(p, index % 2 == 0 ? NOISE_PLAIN : NOISE_BOTH, index % 4 < 2 ? 0 : 1 + p->d);
  *config = config_of(rows, oat_kernel_at(index / 4 % kernel_count()), v, p->k);
  return true;
}

static void blocks_and_cache(void **state) {
  (void)state;
  static const size_t blocks[] = {1, 7, 64, 1000};
  problem p = make_problem(ROWS, INPUTS, KNOTS, 91);
  const oat_point point = {p.theta, p.z};
  differences worst = {0, 0};
  oat_rows rows;
  oat_objective_config config;
  for (size_t i = 0; config_at(i, &p, &rows, &config); i++) {
    const outcome usual = evaluate_once(&config, &point);
    for (size_t b = 0; b < 2 * LENGTH(blocks) && config.approx->sparse; b++) {
      config.block = blocks[b / 2];
      config.memory = b % 2 == 0 ? 0 : 1 << 24;
      const outcome other = evaluate_once(&config, &point);
      compare(&other, &usual, &worst);
    }
  }
  judge("blocks of 1, 7, 64 and 1000 rows, with and without cache", &worst);
  free_problem(&p);
}

/* The rows of p in another order. */
static problem shuffle_rows(const problem *p) {
  problem q = make_problem(p->n, p->d, p->k, 92);
  size_t *order = calloc(p->n, sizeof *order);
  oat_rng rng;
  assert_non_null(order);
  oat_rng_seed(&rng, 93);
  oat_rng_sample(&rng, p->n, p->n, order);
  for (size_t i = 0; i < p->n; i++) {
    for (size_t j = 0; j < p->d; j++) {
      q.x[i + j * p->n] = p->x[order[i] + j * p->n];
    }
    for (size_t j = 0; j < 2 + p->d; j++) {
      q.r[i + j * p->n] = p->r[order[i] + j * p->n];
    }
    q.noise_scale[i] = p->noise_scale[order[i]];
    q.noise_add[i] = p->noise_add[order[i]];
  }
  memcpy(q.z, p->z, p->k * p->d * sizeof *q.z);
  free(order);
  return q;
}

static void row_order(void **state) {
  (void)state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 94), q = shuffle_rows(&p);
  const oat_point point = {p.theta, p.z};
  differences worst = {0, 0};
  oat_rows rows, other_rows;
  oat_objective_config config, other_config;
  for (size_t i = 0; config_at(i, &p, &rows, &config) && config_at(i, &q, &other_rows, &other_config); i++) {
    const outcome a = evaluate_once(&config, &point), b = evaluate_once(&other_config, &point);
    compare(&a, &b, &worst);
  }
  judge("order of the rows", &worst);
  free_problem(&p);
  free_problem(&q);
}

/* Knots in the opposite order: their derivatives too. */
static void knot_order(void **state) {
  (void)state;
  problem p = make_problem(ROWS, INPUTS, KNOTS, 95);
  double z[KNOTS * INPUTS];
  const oat_point point = {p.theta, p.z}, other = {p.theta, z};
  differences worst = {0, 0};
  variant v;
  for (size_t i = 0; i < LENGTH(z); i++) {
    z[i] = p.z[KNOTS - 1 - i % KNOTS + i / KNOTS * KNOTS];
  }
  for (size_t t = 0; variant_at(t / 2, &v); t++) {
    const oat_rows rows = rows_of(&p, t % 2 == 0 ? NOISE_PLAIN : NOISE_ADDED, 1);
    const oat_objective_config config = config_of(&rows, oat_kernel_find("matern32-ard"), v, KNOTS);
    const outcome a = evaluate_once(&config, &point), b = evaluate_once(&config, &other);
    outcome turned = b;
    for (size_t i = 0; v.approx->sparse && i < LENGTH(z); i++) {
      turned.gradient[OAT_LENGTHSCALE + INPUTS + i] =
          b.gradient[OAT_LENGTHSCALE + INPUTS + KNOTS - 1 - i % KNOTS + i / KNOTS * KNOTS];
    }
    compare(&a, &turned, &worst);
  }
  judge("order of the knots", &worst);
  free_problem(&p);
}

/* Large enough for threads to be used: they change no bit of any model. */
static void threads(void **state) {
  (void)state;
  if (under_valgrind()) {
    skip();
  }
  problem p = make_problem(1200, 2, 60, 96);
  const oat_point point = {p.theta, p.z};
  variant v;
  for (size_t t = 0; variant_at(t / 2, &v); t++) {
    const oat_rows rows = rows_of(&p, t % 2 == 0 ? NOISE_PLAIN : NOISE_BOTH, 1);
    oat_objective_config config = config_of(&rows, oat_kernel_find("matern52-ard"), v, p.k);
    const outcome one = evaluate_once(&config, &point);
    for (config.where.threads = 2; config.where.threads <= 3; config.where.threads++) {
      const outcome other = evaluate_once(&config, &point);
      assert_memory_equal(&one, &other, sizeof one);
    }
  }
  free_problem(&p);
}

/* The same point twice, with another one evaluated and other memory taken in between. */
static void check_same_bits(oatgp_context *ctx, const oat_objective_config *config, const oat_point *point,
                            const oat_point *elsewhere) {
  oat_objective *objective = NULL;
  double alone = 0;
  assert_int_equal(oat_objective_create(ctx, config, &objective), OATGP_OK);
  const outcome first = evaluate_objective(objective, point);
  evaluate_objective(objective, elsewhere);
  const outcome again = evaluate_objective(objective, point);
  assert_int_equal(oat_objective_evaluate(objective, point, &alone, NULL), OATGP_OK);
  oat_objective_free(objective);
  char *shift = malloc(16 * (config->kernel->ard ? 3 : 5));
  const outcome anew = evaluate_once(config, point);
  free(shift);
  assert_memory_equal(&first, &again, sizeof first);
  assert_memory_equal(&first, &anew, sizeof first);
  assert_true(alone == first.value);
}

static void same_bits(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  problem p = make_problem(ROWS, INPUTS, KNOTS, 97), q = make_problem(ROWS, INPUTS, KNOTS, 98);
  const oat_point point = {p.theta, p.z}, elsewhere = {p.theta, q.z};
  oat_rows rows;
  oat_objective_config config;
  for (size_t i = 0; config_at(i, &p, &rows, &config); i++) {
    check_same_bits(ctx, &config, &point, &elsewhere);
    config.memory = 0;
    config.block = 40;
    if (config.approx->sparse) {
      check_same_bits(ctx, &config, &point, &elsewhere);
    }
  }
  free_problem(&p);
  free_problem(&q);
  oatgp_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_and_cache), cmocka_unit_test(row_order), cmocka_unit_test(knot_order),
      cmocka_unit_test(threads),          cmocka_unit_test(same_bits),
  };
  oat_set_blas_threads(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
