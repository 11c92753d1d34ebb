/* The GPU against the processor on random problems: objectives and gradients of all models, kernels and noises, with
 * neighbours, and of the exact GP; operations of the table at larger sizes. Skipped without a GPU. */
#include "problem.h"

enum { PROBLEMS = 1000, EXACT = 60, NEAR = 100, MOST_NEAR = 45 };

typedef enum model_kind { SPARSE, FULL, NEIGHBOURS } model_kind;

static const char *const kernels[] = {"se-ard", "matern32-ard", "matern52", "rq-ard", "exponential", "se"};
static const char *const models[] = {"vfe", "fitc", "dtc", "tvfe", "dic", "fic"};

/* Where a model is evaluated, and what comes out. */
typedef struct evaluation {
  oatgp_status status;
  double value, theta[MAX_THETA], *z;
} evaluation;

typedef struct trial {
  problem p;
  oat_rows rows;
  oat_objective_config config;
} trial;

static evaluation evaluate(const trial *t, const char *device) {
  oatgp_context *ctx = oatgp_context_create();
  oat_objective_config config = t->config;
  oat_objective *objective = NULL;
  evaluation out = {.z = new_doubles(t->p.k * t->p.d)};
  config.where.device = device;
  oat_gradient gradient = {.theta = out.theta,
                           .z = config.approx->sparse && oat_kernel_is_smooth(config.kernel) ? out.z : NULL};
  double theta[MAX_THETA];
  memcpy(theta, t->p.theta, sizeof theta);
  assert_int_equal(oat_objective_create(ctx, &config, &objective), OATGP_OK);
  out.status = oat_objective_evaluate(objective, &(oat_point){theta, t->p.z}, &out.value, &gradient);
  oat_objective_free(objective);
  oatgp_context_free(ctx);
  return out;
}

static double largest(size_t n, const double *x) {
  double most = 0;
  for (size_t i = 0; i < n; i++) {
    most = fmax(most, fabs(x[i]));
  }
  return most;
}

static void expect_within(const char *what, size_t number, size_t n, const double *a, const double *b,
                          double tolerance) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(a[i] - b[i]) <= tolerance)) {
      fail_msg("problem %zu: %s %zu is %.17g on the GPU and %.17g on the processor", number, what, i, a[i], b[i]);
    }
  }
}

static void expect_equal(const char *what, size_t number, size_t n, const double *a, const double *b,
                         double tolerance) {
  expect_within(what, number, n, a, b, tolerance * fmax(largest(n, b), 1));
}

/* Derivatives are compared in units of the largest of them all. */
static void compare(const trial *t, size_t number) {
  evaluation gpu = evaluate(t, "cuda"), cpu = evaluate(t, "cpu");
  assert_int_equal(gpu.status, cpu.status);
  if (cpu.status == OATGP_OK) {
    expect_equal("objective", number, 1, &gpu.value, &cpu.value, 1e-10);
    const size_t thetas = oat_theta_count(t->config.kernel, t->p.d), places = t->p.k * t->p.d;
    const double size = fmax(fmax(largest(thetas, cpu.theta), largest(places, cpu.z)), 1);
    expect_within("derivative in parameter", number, thetas, gpu.theta, cpu.theta, 1e-8 * size);
    expect_within("derivative in knot", number, places, gpu.z, cpu.z, 1e-8 * size);
  }
  free(gpu.z);
  free(cpu.z);
}

static void try_problem(size_t number, model_kind kind) {
  const bool full = kind == FULL;
  oat_rng rng;
  oat_rng_seed(&rng, 100 + number);
  const size_t n = 20 + (size_t)(oat_rng_uniform(&rng) * (full ? 1500 : 3000)), d = 1 + number % MAX_INPUTS;
  const size_t k = full ? 1 : 1 + (size_t)(oat_rng_uniform(&rng) * (n < 300 ? (double)n / 2 : 300));
  trial t = {.p = make_problem(n, d, k, number)};
  t.rows = rows_of(&t.p, (row_noise)(number / 3 % ROW_NOISES), number % 5 == 0 ? 1 + d : number % 5 == 1 ? 1 : 0);
  t.p.theta[OAT_LENGTHSCALE] *= 0.3 + oat_rng_uniform(&rng);
  t.p.theta[OAT_TAU] = exp(-4 * oat_rng_uniform(&rng));
  t.config =
      (oat_objective_config){.approx = oat_approx_find(full                 ? "full"
                                                       : kind == NEIGHBOURS ? "fitc"
                                                                            : models[number / 7 % LENGTH(models)]),
                             .kernel = oat_kernel_find(kernels[number % LENGTH(kernels)]),
                             .rows = &t.rows,
                             .jitter = 1e-4, /* so that the condition of Kuu is about 1e6 */
                             .k = k,
                             .neighbours = kind == NEIGHBOURS ? 1 + number % MOST_NEAR : 0,
                             .memory = number % 2 == 0 ? 1 << 30
                                       : full          ? 1 << 30
                                                       : 0};
  compare(&t, number);
  free_problem(&t.p);
}

static bool gpu_is_there(void) { return oat_device_at(1) != NULL; }

static void sparse_models(void **state) {
  (void)state;
  if (!gpu_is_there()) {
    skip();
  }
  for (size_t i = 0; i < PROBLEMS; i++) {
    try_problem(i, SPARSE);
  }
}

static void exact_models(void **state) {
  (void)state;
  if (!gpu_is_there()) {
    skip();
  }
  for (size_t i = 0; i < EXACT; i++) {
    try_problem(i, FULL);
  }
}

static void models_with_neighbours(void **state) {
  (void)state;
  if (!gpu_is_there()) {
    skip();
  }
  for (size_t i = 0; i < NEAR; i++) {
    try_problem(i, NEIGHBOURS);
  }
}

/* ---- operations of the table at larger sizes ------------------------------------------------------------------- */

enum { OPERATIONS = 24, PIVOTS = 40, CENTRES = 200, STEPS = 3 };

/* A model with triangles that are far from singular, and rows. */
typedef struct bench {
  problem p;
  oat_rows rows;
  oat_sparse sparse;
  double *l, *lb, *c, *s2, *v;
  size_t m; /* candidates: the first rows */
} bench;

static double *random_triangle(size_t k, oat_rng *rng) {
  double *l = new_doubles(k * k);
  for (size_t i = 0; i < k * k; i++) {
    l[i] = i % k < i / k ? 0 : i % k == i / k ? 5 + oat_rng_uniform(rng) : oat_rng_normal(rng) / (double)k;
  }
  return l;
}

static double *random_doubles(size_t n, oat_rng *rng) {
  double *a = new_doubles(n);
  for (size_t i = 0; i < n; i++) {
    a[i] = 0.1 + oat_rng_uniform(rng);
  }
  return a;
}

static bench make_bench(size_t number) {
  oat_rng rng;
  oat_rng_seed(&rng, 900 + number);
  const size_t n = 300 + (size_t)(oat_rng_uniform(&rng) * (number % 4 == 0 ? 19700 : 4000)),
               d = 1 + number % MAX_INPUTS;
  const size_t k = 1 + (size_t)(oat_rng_uniform(&rng) * 299), m = 1 + (size_t)(oat_rng_uniform(&rng) * 299);
  bench b = {.p = make_problem(n, d, k, number), .m = m};
  b.rows = rows_of(&b.p, (row_noise)(number % ROW_NOISES), number % 3 == 0 ? 0 : 1 + d);
  b.l = random_triangle(k, &rng);
  b.lb = random_triangle(k, &rng);
  b.c = random_doubles(k, &rng);
  b.s2 = random_doubles(m, &rng);
  b.v = random_doubles(m * k, &rng);
  return b;
}

static void free_bench(bench *b) {
  double *const blocks[] = {b->l, b->lb, b->c, b->s2, b->v};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
  free_problem(&b->p);
}

/* Of all operations, one behind the other. */
static size_t room_of(const bench *b) {
  return oat_candidates_count(b->m, b->p.k, b->rows.p) + 4 * b->p.n + 3 + (2 + b->p.d) * PIVOTS +
         CENTRES * (1 + b->p.d) + 4 * STEPS + 8;
}

static double *run_gains(const bench *b, oat_device *device, double *at) {
  const size_t m = b->m, k = b->p.k, width = 1 + b->rows.p;
  oat_candidates all = {{b->p.x, m, b->p.n}, b->v, b->s2, at, at + m, at + m * (1 + width), at + m * (1 + width + k)};
  assert_int_equal(device->table->gains(device, &b->sparse, &all), OATGP_OK);
  return at + oat_candidates_count(m, k, b->rows.p);
}

static double *run_left_out(const bench *b, oat_device *device, double *at) {
  const size_t n = b->p.n;
  double coefficient[1 + MAX_INPUTS] = {0.1, 0.2, 0.3, 0.4, 0.5};
  oat_left_out left = {
      .lb = b->lb, .c = b->c, .columns = 1, .coefficient = coefficient, .error = at, .variance = at + n};
  assert_int_equal(device->table->left_out(device, &b->sparse, &left), OATGP_OK);
  at[2 * n] = left.density;
  at[2 * n + 1] = left.squares;
  at[2 * n + 2] = left.products;
  return at + 2 * n + 3;
}

static double *run_pivots(const bench *b, oat_device *device, double *at) {
  oat_pivots *pivots = NULL;
  assert_int_equal(device->table->pivots_begin(device, &b->sparse.cov, PIVOTS, &pivots), OATGP_OK);
  for (size_t i = 0; i < PIVOTS; i++) {
    oat_pivot pivot;
    assert_int_equal(device->table->pivots_next(pivots, &pivot), OATGP_OK);
    const bool rounding = !(pivot.left >= 1e-6); /* which row has the most of that is chance */
    *at++ = rounding ? 0 : pivot.left;
    *at++ = rounding ? 0 : (double)pivot.row / (double)b->p.n;
    for (size_t j = 0; j < b->p.d; j++) {
      *at++ = rounding ? 0 : pivot.inputs[j];
    }
  }
  device->table->pivots_end(pivots);
  return at;
}

static double *run_means(const bench *b, oat_device *device, double *at) {
  const size_t n = b->p.n;
  size_t *which = calloc(n, sizeof *which);
  assert_non_null(which);
  oat_nearest nearest = {.points = {b->p.x, CENTRES, n}, .distance = at, .which = which};
  assert_int_equal(device->table->nearest(device, &nearest), OATGP_OK);
  for (size_t i = 0; i < n; i++) {
    at[n + i] = (double)which[i] / CENTRES;
  }
  at[2 * n] = nearest.total / (double)n;
  at[2 * n + 1] = nearest.changed;
  assert_int_equal(device->table->centres(device, which, CENTRES, at + 2 * n + 2, at + 2 * n + 2 + CENTRES), OATGP_OK);
  free(which);
  return at + 2 * n + 2 + CENTRES * (1 + b->p.d);
}

static double *run_system(const bench *b, oat_device *device, double *at) {
  oat_system system = {.sparse = b->sparse, .lb = b->lb, .traces = true};
  oat_iterate iterate;
  assert_int_equal(device->table->system_open(device, &system, &iterate), OATGP_OK);
  for (size_t i = 0; i < STEPS; i++) {
    double curvature;
    assert_int_equal(device->table->system_product(device, 0.1 * (double)i, &curvature), OATGP_OK);
    assert_int_equal(device->table->system_step(device, 1e-3, &iterate), OATGP_OK);
    memcpy(at, (double[]){curvature, iterate.q, iterate.ez, iterate.whole}, 4 * sizeof *at);
    at += 4;
  }
  oat_trace_sums sums;
  assert_true(system.traces);
  assert_int_equal(device->table->system_traces(device, &sums), OATGP_OK);
  memcpy(at, (double[]){sums.square, sums.tw, sums.ut, sums.ut_squares}, 4 * sizeof *at);
  return at + 4;
}

typedef double *(*run)(const bench *b, oat_device *device, double *at);

/* Each on a device of its own, as it is asked for. Returns how many numbers there are. */
static size_t run_on(const bench *b, const char *name, run operation, double *out) {
  const oat_device_config config = {.max_knots = b->p.k,
                                    .memory = b->p.n % 2 == 0 || operation == run_system ? 1 << 30 : 0,
                                    .where = {name, 0},
                                    .kernel = oat_kernel_size_of(oat_kernel_at(b->sparse.cov.id)),
                                    .fits = operation != run_system,
                                    .system = operation == run_system};
  oatgp_context *ctx = oatgp_context_create();
  oat_device *device = NULL;
  assert_int_equal(oat_device_open(ctx, &config, &b->rows, &device), OATGP_OK);
  const size_t count = (size_t)(operation(b, device, out) - out);
  oat_device_close(device);
  oatgp_context_free(ctx);
  return count;
}

static void operations(void **state) {
  (void)state;
  static const struct {
    const char *name;
    run operation;
  } all[] = {{"gain", run_gains},
             {"left out", run_left_out},
             {"pivot", run_pivots},
             {"mean", run_means},
             {"system", run_system}};
  if (!gpu_is_there()) {
    skip();
  }
  for (size_t number = 0; number < OPERATIONS; number++) {
    bench b = make_bench(number);
    b.sparse =
        (oat_sparse){.cov = oat_covariance_at(oat_kernel_find(kernels[number % LENGTH(kernels)]), b.p.d, b.p.theta),
                     .k = b.p.k,
                     .z = b.p.z,
                     .ldz = b.p.k,
                     .l = b.l,
                     .tau = 0.7,
                     .penalty = number % 2 == 0 ? OAT_PENALISE_LOG : OAT_PENALISE_TRACE,
                     .stamp = 1 + number % 2};
    double *gpu = new_doubles(room_of(&b)), *cpu = new_doubles(room_of(&b));
    for (size_t i = 0; i < LENGTH(all); i++) {
      const size_t count = run_on(&b, "cpu", all[i].operation, cpu);
      assert_int_equal(run_on(&b, "cuda", all[i].operation, gpu), count);
      expect_equal(all[i].name, number, count, gpu, cpu, 1e-9);
    }
    free(gpu);
    free(cpu);
    free_bench(&b);
  }
}

/* Without a GPU the sentence says what is missing, and auto does without. */
static void a_missing_gpu(void **state) {
  (void)state;
  if (gpu_is_there()) {
    skip();
  }
  trial t = {.p = make_problem(50, 2, 5, 1)};
  t.rows = rows_of(&t.p, NOISE_PLAIN, 0);
  t.config = (oat_objective_config){.approx = oat_approx_find("vfe"),
                                    .kernel = oat_kernel_find("se-ard"),
                                    .rows = &t.rows,
                                    .jitter = 1e-4, /* so that the condition of Kuu is about 1e6 */
                                    .k = 5,
                                    .where = {.device = "cuda"}};
  oatgp_context *ctx = oatgp_context_create();
  oat_objective *objective = NULL;
  assert_int_equal(oat_objective_create(ctx, &t.config, &objective), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(ctx), "the device cuda cannot be used: "));
  assert_non_null(strstr(oatgp_last_error(ctx), "; use auto or cpu"));
  oat_objective_free(objective);
  oatgp_context_free(ctx);
  evaluation alone = evaluate(&t, "auto");
  assert_int_equal(alone.status, OATGP_OK);
  free(alone.z);
  free_problem(&t.p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sparse_models), cmocka_unit_test(exact_models),
                                     cmocka_unit_test(models_with_neighbours), cmocka_unit_test(operations),
                                     cmocka_unit_test(a_missing_gpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
