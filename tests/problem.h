/* Small random regression problems for the tests of the objective, and every model to evaluate them with. */
#ifndef TEST_PROBLEM_H
#define TEST_PROBLEM_H

#include "objective/objective.h"
#include "rows/layout.h"
#include "support.h"

enum { MAX_INPUTS = 4, MAX_THETA = OAT_LENGTHSCALE + 40, MAX_PARAMETERS = 256 };

/* Which of the two arrays of row noise are given. */
typedef enum row_noise { NOISE_PLAIN, NOISE_SCALED, NOISE_ADDED, NOISE_BOTH, ROW_NOISES } row_noise;

typedef struct problem {
  size_t n, d, k;
  double *x, *z;                   /* column-major */
  double *r;                       /* n x (2 + d): residual, 1, the inputs */
  double *noise_scale, *noise_add; /* n */
  double theta[MAX_THETA];
} problem;

static inline double *new_doubles(size_t count) {
  double *a = calloc(count + 1, sizeof *a);
  assert_non_null(a);
  return a;
}

/* A wavy target on rows in [-1.5, 1.5]^d; the first knot sits on the first row. */
static inline problem make_problem(size_t n, size_t d, size_t k, uint64_t seed) {
  problem p = {n,
               d,
               k,
               new_doubles(n * d),
               new_doubles(k * d),
               new_doubles(n * (2 + d)),
               new_doubles(n),
               new_doubles(n),
               {1.2, 0.3, 1.4}};
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    p.r[i] = 0.3 + 0.2 * oat_rng_normal(&rng);
    p.r[i + n] = 1;
    for (size_t j = 0; j < d; j++) {
      const double x = 3 * oat_rng_uniform(&rng) - 1.5;
      p.x[i + j * n] = p.r[i + (2 + j) * n] = x;
      p.r[i] += sin((2.0 + (double)j) * x);
    }
    p.noise_scale[i] = 0.3 + 2 * oat_rng_uniform(&rng);
    p.noise_add[i] = 0.2 * oat_rng_uniform(&rng);
  }
  for (size_t i = 0; i < k * d; i++) {
    p.z[i] = i % k == 0 ? p.x[i / k * n] : 3 * oat_rng_uniform(&rng) - 1.5;
  }
  for (size_t j = 0; j < d; j++) {
    p.theta[OAT_LENGTHSCALE + j] = 0.8 + 0.25 * (double)j;
  }
  return p;
}

/* Rows on a jittered 5 x 5 grid and a knot on each; lengthscales below its spacing keep Kuu far from singular. */
static inline problem make_grid(uint64_t seed) {
  problem p = make_problem(25, 2, 25, seed);
  for (size_t i = 0; i < p.n; i++) {
    p.x[i] = p.r[i + 2 * p.n] = 0.8 * (double)(i % 5) + 0.15 * p.x[i];
    p.x[i + p.n] = p.r[i + 3 * p.n] = 0.8 * (double)(i / 5) + 0.15 * p.x[i + p.n];
  }
  memcpy(p.z, p.x, p.n * p.d * sizeof *p.z);
  p.theta[OAT_LENGTHSCALE] = p.theta[OAT_LENGTHSCALE + 1] = 0.6;
  return p;
}

static inline void free_problem(problem *p) {
  double *const blocks[] = {p->x, p->z, p->r, p->noise_scale, p->noise_add};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
}

/* Every row i of p 1 + i % 3 times. */
static inline problem repeat_rows(const problem *p) {
  size_t count = 0, row = 0;
  for (size_t i = 0; i < p->n; i++) {
    count += 1 + i % 3;
  }
  problem q = make_problem(count, p->d, p->k, 76);
  memcpy(q.theta, p->theta, sizeof q.theta);
  memcpy(q.z, p->z, p->k * p->d * sizeof *q.z);
  for (size_t i = 0; i < p->n; i++) {
    for (size_t copy = 0; copy < 1 + i % 3; copy++, row++) {
      for (size_t j = 0; j < p->d; j++) {
        q.x[row + j * count] = p->x[i + j * p->n];
      }
      for (size_t j = 0; j < 2 + p->d; j++) {
        q.r[row + j * count] = p->r[i + j * p->n];
      }
    }
  }
  return q;
}

/* The rows with p columns of the mean's basis: 0, 1 or 1 + d. */
static inline oat_rows rows_of(const problem *p, row_noise noise, size_t basis) {
  return (oat_rows){p->n,
                    p->d,
                    basis,
                    p->x,
                    p->r,
                    noise & NOISE_SCALED ? p->noise_scale : NULL,
                    noise & NOISE_ADDED ? p->noise_add : NULL};
}

/* A model with its alpha: one with a power appears with several. */
typedef struct variant {
  const oat_approx *approx;
  double alpha;
} variant;

static inline bool variant_at(size_t index, variant *v) {
  static const double alphas[] = {1e-4, 0.3, 1};
  for (size_t i = 0; (v->approx = oat_approx_at(i)) != NULL; i++) {
    const size_t count = v->approx->power ? LENGTH(alphas) : 1;
    if (index < count) {
      v->alpha = v->approx->power ? alphas[index] : v->approx->alpha;
      return true;
    }
    index -= count;
  }
  return false;
}

static inline oat_objective_config config_of(const oat_rows *rows, const oat_kernel *kernel, variant v, size_t k) {
  const double jitter = v.approx->sparse ? 1e-6 : 0;
  return (oat_objective_config){.approx = v.approx,
                                .kernel = kernel,
                                .rows = rows,
                                .alpha = v.alpha,
                                .jitter = jitter,
                                .k = k,
                                .block = 0,
                                .memory = 1 << 24};
}

/* Value, gradient (theta, then knots) and coefficients of the mean at one point. */
typedef struct outcome {
  double value, gradient[MAX_PARAMETERS], coefficient[1 + MAX_INPUTS];
  size_t count; /* length of the gradient */
} outcome;

static inline bool has_knot_gradient(const oat_objective_config *config) {
  return config->approx->sparse && oat_kernel_is_smooth(config->kernel);
}

static inline outcome evaluate_objective(oat_objective *objective, const oat_point *point) {
  const oat_objective_config *config = &objective->config;
  const size_t theta = oat_theta_count(config->kernel, config->rows->d);
  outcome o = {.count = theta + (has_knot_gradient(config) ? config->k * config->rows->d : 0)};
  assert_true(o.count <= MAX_PARAMETERS);
  oat_gradient gradient = {o.gradient, has_knot_gradient(config) ? o.gradient + theta : NULL};
  assert_int_equal(oat_objective_evaluate(objective, point, &o.value, &gradient), OATGP_OK);
  memcpy(o.coefficient, objective->factors.coefficient, config->rows->p * sizeof(double));
  return o;
}

static inline outcome evaluate_once(const oat_objective_config *config, const oat_point *point) {
  oatgp_context *ctx = oatgp_context_create();
  oat_objective *objective = NULL;
  assert_int_equal(oat_objective_create(ctx, config, &objective), OATGP_OK);
  const outcome o = evaluate_objective(objective, point);
  oat_objective_free(objective);
  oatgp_context_free(ctx);
  return o;
}

/* d F / d log theta_i, or d F / d z_i for the places after theta, by central differences of sixth order. The step is
 * small for that order because Matern 3/2 has a kink in its third derivative where a knot meets a row: there the error
 * is of third order. */
static inline double objective_difference(oat_objective *objective, const oat_point *point, size_t index) {
  static const double weight[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
  const size_t theta = oat_theta_count(objective->config.kernel, objective->config.rows->d);
  const double step = 1e-4;
  double *parameter = index < theta ? point->theta + index : point->z + (index - theta);
  const double at = *parameter;
  double sum = 0;
  for (int m = 1; m <= (int)LENGTH(weight); m++) {
    for (int side = -1; side <= 1; side += 2) {
      double value = 0;
      *parameter = index < theta ? at * exp(side * m * step) : at + side * m * step;
      assert_int_equal(oat_objective_evaluate(objective, point, &value, NULL), OATGP_OK);
      sum += side * weight[m - 1] * value;
    }
  }
  *parameter = at;
  return sum / step;
}

/* Largest difference of two gradients, relative to the largest derivative. */
static inline double gradient_error(const outcome *a, const outcome *b) {
  double difference = 0, size = 0;
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; i++) {
    difference = worse_of(difference, fabs(a->gradient[i] - b->gradient[i]));
    size = fmax(size, fabs(b->gradient[i]));
  }
  return difference / size;
}

#endif
