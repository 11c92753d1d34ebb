/* Tests that every device must pass: every operation of its table against the formula that device.h states, written out
 * row by row in long double, for several kernels, noises, blocks and numbers of threads. The number of threads must not
 * change a bit. A new device passes by being in the registry. Each test of devices has a table of operations and runs
 * them all by run_operations. */
#ifndef TEST_DEVICE_SUITE_H
#define TEST_DEVICE_SUITE_H

#include "dense.h"
#include "expressions.h"
#include "problem.h"
#include "util/threads.h"

enum {
  ROWS = 331,
  INPUTS = 3,
  KNOTS = 9,
  BASIS = 1 + INPUTS,
  WIDTH = 1 + BASIS,
  CANDIDATES = 140,
  GROUP = 20,
  MOST = 4 * ROWS * ROWS + 1000,
  MOST_THETAS = OAT_LENGTHSCALE + 12
};
#define TOLERANCE 2e-10 /* of the largest number of a result */

/* A model at one point with rows, and everything that an operation may be given. */
typedef struct world {
  problem p;
  oat_rows rows;
  oat_expression *expression; /* or NULL */
  oat_kernel kernel;
  size_t thetas; /* the most that theta has */
  oat_sparse sparse;
  double l[KNOTS * KNOTS], lb[KNOTS * KNOTS];
  double square[KNOTS * KNOTS], e[KNOTS], le[KNOTS], c[KNOTS * WIDTH], coefficient[BASIS];
  double candidates[CANDIDATES * INPUTS], v[CANDIDATES * KNOTS];
  double gls_room[2 * BASIS * (1 + BASIS)];
  oat_gls gls;
  real *vf; /* KNOTS x n: L^-1 Kuf */
} world;

/* Numbers of an operation one after the other. */
typedef struct result {
  size_t count;
  double at[MOST];
} result;

static inline void put(result *r, size_t count, const double *values) {
  assert_true(r->count + count <= MOST);
  memcpy(r->at + r->count, values, count * sizeof *values);
  r->count += count;
}

static inline void put_one(result *r, real value) { put(r, 1, &(double){(double)value}); }

/* ---- the world ------------------------------------------------------------------------------------------------- */

/* x <- L^-1 x */
static inline void forward(size_t k, const double *l, real *x) {
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < i; j++) {
      x[i] -= l[i + j * k] * x[j];
    }
    x[i] /= l[i * (k + 1)];
  }
}

/* Of matrices whose lower triangle alone is known. */
static inline void forget_upper(size_t k, double *a) {
  for (size_t i = 0; i < k * k; i++) {
    a[i] = i % k < i / k ? 0 : a[i];
  }
}

static inline void random_lower(size_t k, oat_rng *rng, double *l) {
  for (size_t i = 0; i < k * k; i++) {
    l[i] = i % k < i / k ? 0 : i % k == i / k ? 1 + oat_rng_uniform(rng) : 0.3 * oat_rng_normal(rng);
  }
}

static inline void random_numbers(size_t n, oat_rng *rng, double *x) {
  for (size_t i = 0; i < n; i++) {
    x[i] = oat_rng_normal(rng);
  }
}

static inline void factorise_kuu(world *w) {
  real *kuu = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), oat_sparse_knots(&w->sparse));
  dense_add_diagonal(KNOTS, kuu, 1e-4L);
  dense_cholesky(KNOTS, kuu);
  for (size_t i = 0; i < KNOTS * KNOTS; i++) {
    w->l[i] = i % KNOTS < i / KNOTS ? 0 : (double)kuu[i];
  }
  free(kuu);
}

static inline void whiten_rows(world *w) {
  w->vf = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), (oat_points){w->p.x, ROWS, ROWS});
  for (size_t i = 0; i < ROWS; i++) {
    forward(KNOTS, w->l, w->vf + i * KNOTS);
  }
}

static inline void make_gls(world *w, oat_rng *rng) {
  double gram[WIDTH * WIDTH], l[WIDTH * WIDTH];
  random_lower(WIDTH, rng, l);
  for (size_t i = 0; i < WIDTH * WIDTH; i++) {
    gram[i] = 0;
    for (size_t c = 0; c < WIDTH; c++) {
      gram[i] += 1000 * l[i % WIDTH + c * WIDTH] * l[i / WIDTH + c * WIDTH];
    }
  }
  w->gls = oat_gls_over(w->gls_room, BASIS);
  assert_int_equal(oat_gls_factorise(&w->gls, gram, gram), OATGP_OK);
}

static inline void choose_kernel(world *w, const char *name, oat_rng *rng) {
  if (oat_kernel_find(name) != NULL) {
    w->kernel = *oat_kernel_find(name);
  } else {
    w->expression = read_expression(name, INPUTS);
    w->kernel = oat_kernel_of_expression(w->expression);
    random_theta(rng, w->expression, w->p.theta[OAT_TAU], w->p.theta);
  }
  w->thetas = oat_theta_most(oat_kernel_size_of(&w->kernel), INPUTS);
  assert_true(w->thetas <= MOST_THETAS);
}

/* Whether the kernel's adjoint adds something in a place of theta. */
static inline bool has_slope(const world *w, size_t place) {
  return place < oat_theta_count(&w->kernel, INPUTS) &&
         (place >= OAT_LENGTHSCALE || (place == OAT_SHAPE && oat_kernel_has_shape(&w->kernel)));
}

static inline world *make_world(const char *kernel, row_noise noise, double alpha) {
  world *w = calloc(1, sizeof *w);
  assert_non_null(w);
  oat_rng rng;
  oat_rng_seed(&rng, 17);
  w->p = make_problem(ROWS, INPUTS, KNOTS, 5);
  w->rows = rows_of(&w->p, noise, BASIS);
  choose_kernel(w, kernel, &rng);
  w->sparse = (oat_sparse){.cov = oat_covariance_at(&w->kernel, INPUTS, w->p.theta),
                           .k = KNOTS,
                           .z = w->p.z,
                           .ldz = KNOTS,
                           .l = w->l,
                           .tau = w->p.theta[OAT_TAU],
                           .alpha = alpha,
                           .penalty = alpha == 0 ? OAT_PENALISE_TRACE : OAT_PENALISE_NOTHING,
                           .gradient = true,
                           .stamp = 1};
  factorise_kuu(w);
  whiten_rows(w);
  random_lower(KNOTS, &rng, w->lb);
  for (size_t i = 0; i < KNOTS; i++) {
    w->lb[i * (KNOTS + 1)] += 20; /* so that each row weighs little */
  }
  random_numbers(KNOTS * KNOTS, &rng, w->square);
  random_numbers(KNOTS, &rng, w->e);
  random_numbers(KNOTS, &rng, w->le);
  random_numbers(KNOTS * WIDTH, &rng, w->c);
  random_numbers(BASIS, &rng, w->coefficient);
  random_numbers(CANDIDATES * INPUTS, &rng, w->candidates);
  random_numbers(CANDIDATES * KNOTS, &rng, w->v);
  make_gls(w, &rng);
  return w;
}

static inline void free_world(world *w) {
  free_problem(&w->p);
  free(w->vf);
  oat_expression_free(w->expression);
  free(w);
}

/* ---- a row in long double -------------------------------------------------------------------------------------- */

static inline real noise_of(const world *w, size_t i) {
  const oat_rows *r = &w->rows;
  return (real)w->sparse.tau * w->sparse.tau * (r->noise_scale != NULL ? r->noise_scale[i] : 1) +
         (r->noise_add != NULL ? r->noise_add[i] : 0);
}

static inline oat_points inputs_of(const world *w) { return (oat_points){w->p.x, ROWS, ROWS}; }

static inline real prior_of(const world *w, size_t i) {
  return dense_kernel(&w->sparse.cov, inputs_of(w), i, inputs_of(w), i);
}

static inline const real *v_of(const world *w, size_t i) { return w->vf + i * KNOTS; }

static inline real left_of(const world *w, size_t i) {
  return prior_of(w, i) - dense_dot(KNOTS, v_of(w, i), v_of(w, i));
}

static inline real weight_of(const world *w, size_t i) {
  return 1 / (noise_of(w, i) + w->sparse.alpha * left_of(w, i));
}

static inline real r_of(const world *w, size_t i, size_t column) { return w->rows.r[i + column * ROWS]; }

/* LB^-1 v */
static inline void u_of(const world *w, size_t i, real *u) {
  memcpy(u, v_of(w, i), KNOTS * sizeof *u);
  forward(KNOTS, w->lb, u);
}

static inline real residual_of(const world *w, size_t i) {
  real r = r_of(w, i, 0);
  for (size_t j = 0; j < BASIS; j++) {
    r -= w->coefficient[j] * r_of(w, i, 1 + j);
  }
  return r;
}

static inline real dot(size_t n, const double *a, const real *b) {
  real sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* The rows left out: with the mean's coefficients estimated without the row, then with fixed ones. `explained`: in the
 * second case, the variance is only that of the part that the knots explain. */
static inline oatgp_status put_left_out(world *w, oat_device *device, bool explained, result *out) {
  for (int estimated = 1; estimated >= 0; estimated--) {
    double error[ROWS], variance[ROWS];
    oat_left_out left = {.lb = w->lb,
                         .c = w->c,
                         .columns = estimated ? WIDTH : 1,
                         .coefficient = w->coefficient,
                         .gls = estimated ? &w->gls : NULL,
                         .explained = explained && estimated == 0,
                         .error = error,
                         .variance = variance};
    PASS_ON(device->table->left_out(device, &w->sparse, &left));
    put(out, ROWS, error);
    put(out, ROWS, variance);
    put(out, 3, (double[]){left.density, left.squares, left.products});
  }
  return OATGP_OK;
}

/* ---- the suite ------------------------------------------------------------------------------------------------- */

typedef struct operation {
  const char *name;
  oatgp_status (*compute)(world *w, oat_device *device, result *out);
  void (*state)(world *w, result *out); /* the expected result */
  bool any_alpha;                       /* alpha does not matter */
  bool system;
  size_t neighbours; /* of each row, or of each point */
  bool predicts;     /* points from rows */
} operation;

typedef struct way {
  const oat_device_table *device;
  size_t block;
  int threads;
  int64_t memory;
} way;

static inline void compute(const operation *o, world *w, const way *by, result *out) {
  const oat_device_config config = {.max_knots = KNOTS + 3,
                                    .block = by->block,
                                    .memory = by->memory,
                                    .neighbours = o->neighbours,
                                    .where = {by->device->name, by->threads},
                                    .kernel = oat_kernel_size_of(&w->kernel),
                                    .fits = !o->system && !o->predicts,
                                    .predicts = o->predicts,
                                    .exact = !o->predicts,
                                    .system = o->system};
  oatgp_context *ctx = oatgp_context_create();
  oat_device *device = NULL;
  out->count = 0;
  assert_int_equal(oat_device_open(ctx, &config, &w->rows, &device), OATGP_OK);
  assert_int_equal(o->compute(w, device, out), OATGP_OK);
  oat_device_close(device);
  oatgp_context_free(ctx);
}

static inline void expect_near(const operation *o, const way *by, const char *kernel, const result *got,
                               const result *wanted) {
  double size = 0;
  assert_int_equal(got->count, wanted->count);
  for (size_t i = 0; i < wanted->count; i++) {
    size = fmax(size, fabs(wanted->at[i]));
  }
  for (size_t i = 0; i < wanted->count; i++) {
    if (!(fabs(got->at[i] - wanted->at[i]) <= TOLERANCE * size)) {
      fail_msg("%s, %s, kernel %s, block %zu, %d threads: number %zu is %.17g and not %.17g", o->name, by->device->name,
               kernel, by->block, by->threads, i, got->at[i], wanted->at[i]);
    }
  }
}

/* Every block is right; every number of threads gives the same bits. Valgrind has no long double to compare with, so
 * only memory is checked there. */
static inline void try_ways(const operation *o, world *w, const oat_device_table *device, const char *kernel) {
  static const size_t blocks[] = {0, 7, 64, 1000};
  static const int threads[] = {1, 2, 3, 7, 16};
  static result wanted, one, many;
  wanted.count = 0;
  if (!under_valgrind()) {
    o->state(w, &wanted);
  }
  for (size_t b = amount(0, 1, 2); b < LENGTH(blocks); b++) {
    way by = {device, blocks[b], 1,
              (b + o->system) % 2 == 0 ? 1 << 24 : 0}; /* a lane must have several rows of tiles */
    compute(o, w, &by, &one);
    if (!under_valgrind()) {
      expect_near(o, &by, kernel, &one, &wanted);
    }
    for (size_t t = 1; t < amount(LENGTH(threads), 3, 2); t++) {
      by.threads = threads[t];
      compute(o, w, &by, &many);
      if (many.count != one.count || memcmp(many.at, one.at, one.count * sizeof *one.at) != 0) {
        fail_msg("%s, %s, block %zu: the bits of %d threads differ from those of one", o->name, device->name, by.block,
                 by.threads);
      }
    }
  }
}

static inline void try_operation(const operation *o) {
  static const char *const kernels[] = {
      "se-ard", "matern52", "periodic(x1) * rq(x3, x1) + linear(x2) + polynomial(x3, 1) * constant^2", "rq-ard"};
  static const struct {
    double alpha;
    oat_penalty penalty;
  } models[] = {{0, OAT_PENALISE_TRACE},
                {0.4, OAT_PENALISE_NOTHING},
                {1, OAT_PENALISE_NOTHING},
                {0, OAT_PENALISE_LOG},
                {0, OAT_PENALISE_NOTHING}};
  for (size_t d = 0; oat_device_at(d) != NULL; d++) {
    for (size_t k = amount(0, 1, 2); k < LENGTH(kernels); k++) {
      for (size_t a = 0; a < (o->any_alpha ? 1 : LENGTH(models)); a++) {
        world *w = make_world(kernels[k], (row_noise)((k + a) % ROW_NOISES), models[a].alpha);
        w->sparse.penalty = models[a].penalty;
        try_ways(o, w, oat_device_at(d), kernels[k]);
        free_world(w);
      }
    }
  }
}

static inline void states_what_it_computes(void **state) { try_operation(*state); }

enum { MOST_TESTS = 16 };

/* All operations, then other tests of the file. */
static inline int run_operations(size_t count, operation *operations, size_t others, const struct CMUnitTest *other) {
  struct CMUnitTest tests[MOST_TESTS] = {0};
  oat_set_blas_threads(1);
  oat_threads_always();
  assert_true(count + others <= MOST_TESTS);
  for (size_t i = 0; i < count; i++) {
    tests[i] = (struct CMUnitTest){operations[i].name, states_what_it_computes, NULL, NULL, &operations[i]};
  }
  for (size_t i = 0; i < others; i++) {
    tests[count + i] = other[i];
  }
  return _cmocka_run_group_tests("devices", tests, count + others, NULL, NULL);
}

#endif
