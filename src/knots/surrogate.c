/* The surrogate of OAT-BO. */
#include "knots/surrogate.h"

#include <math.h>
#include <string.h>

#include "linalg/linalg.h"

#define PREDICTION_JITTER 1e-3 /* of the likelihood's */

oatgp_status oat_surrogate_open(oatgp_context *ctx, size_t capacity, size_t d, oat_surrogate *s) {
  *s = (oat_surrogate){.memory = {.ctx = ctx}, .d = d, .jitter = 1e-6, .sigma = 1, .l = 1};
  s->x = oat_take_doubles(&s->memory, capacity, d);
  s->y = oat_take_doubles(&s->memory, capacity, 1);
  s->k = oat_take_doubles(&s->memory, capacity, capacity);
  s->distance = oat_take_doubles(&s->memory, capacity, capacity);
  s->a = oat_take_doubles(&s->memory, capacity, 1);
  return s->memory.status;
}

void oat_surrogate_close(oat_surrogate *s) { oat_scratch_free(&s->memory); }

static double l1_distance(size_t d, const double *x, const double *z) {
  double sum = 0;
  for (size_t j = 0; j < d; j++) {
    sum += fabs(x[j] - z[j]);
  }
  return sum;
}

void oat_surrogate_add(oat_surrogate *s, const double *x, double y) {
  memcpy(s->x + s->n * s->d, x, s->d * sizeof *x);
  s->y[s->n++] = y;
}

/* k = sigma^2 exp(-distance / l) + jitter on the diagonal, factorised; a = K^-1 (y - first y). */
static bool factorise(oat_surrogate *s, double sigma, double l, double jitter) {
  const size_t n = s->n;
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < n; i++) {
      const double distance = l1_distance(s->d, s->x + i * s->d, s->x + j * s->d);
      s->distance[i + j * n] = distance;
      s->k[i + j * n] = sigma * sigma * exp(-distance / l) + (i == j ? jitter : 0);
    }
    s->a[j] = s->y[j] - s->y[0];
  }
  if (oat_cholesky(n, s->k, 1) != 0) {
    return false;
  }
  oat_solve_left(s->k, n, OAT_PLAIN, (oat_view){s->a, n, 1, n}, 1);
  return true;
}

bool oat_surrogate_likelihood(oat_surrogate *s, double sigma, double l, double *value, double *gradient) {
  const size_t n = s->n;
  if (!factorise(s, sigma, l, s->jitter)) {
    return false;
  }
  *value = -oat_log_diagonal(n, s->k) - 0.5 * oat_dot(n, s->a, s->a);
  oat_solve_left(s->k, n, OAT_TRANSPOSED, (oat_view){s->a, n, 1, n}, 1);
  oat_cholesky_inverse(n, s->k, s->k, 1);
  gradient[0] = 0;
  gradient[1] = 0;
  for (size_t j = 0; j < n; j++) {
    for (size_t i = j; i < n; i++) {
      const double distance = s->distance[i + j * n], weight = i == j ? 0.5 : 1;
      const double slope = weight * (s->a[i] * s->a[j] - s->k[i + j * n]) * sigma * sigma * exp(-distance / l);
      gradient[0] += 2 * slope;
      gradient[1] += slope * distance / l;
    }
  }
  return isfinite(*value) && isfinite(gradient[0]) && isfinite(gradient[1]);
}

static oatgp_status evaluate(void *self, const double *x, double *value, double *gradient) {
  return oat_surrogate_likelihood(self, exp(x[0]), exp(x[1]), value, gradient) ? OATGP_OK : OATGP_NUMERIC;
}

oatgp_status oat_surrogate_fit(oat_surrogate *s, double sigma, double l) {
  static const double lower[2] = {-10, -10}, upper[2] = {25, 15}, weight[2] = {0.5, 0.5};
  const oat_problem problem = {2, lower, upper, weight, evaluate, s};
  const oat_optim_settings limits = {
      .history = 5, .line_search = 20, .max_iter = 100, .obj_tol = 1e-8, .grad_tol = 1e-6, .patience = 2};
  const double start[2] = {log(sigma), log(l)};
  oat_optim *optim = NULL;
  oatgp_status status = oat_optim_create(s->memory.ctx, oat_optim_find("lbfgs"), &problem, &limits, &optim);
  s->sigma = sigma;
  s->l = l;
  if (status == OATGP_OK && oat_optim_start(optim, start) == OATGP_OK) {
    while (oat_optim_stop(optim) == OATGP_STOP_NONE) {
      oat_optim_step(optim);
    }
    s->sigma = exp(optim->best[0]);
    s->l = exp(optim->best[1]);
  }
  oat_optim_free(optim);
  return status == OATGP_OK ? oat_surrogate_condition(s) : status;
}

oatgp_status oat_surrogate_condition(oat_surrogate *s) {
  if (!factorise(s, s->sigma, s->l, PREDICTION_JITTER * s->jitter) &&
      !factorise(s, s->sigma, s->l, 1e-8 * s->sigma * s->sigma)) {
    return oat_fail(s->memory.ctx, OATGP_NUMERIC, "the surrogate of %zu evaluations could not be factorised", s->n);
  }
  oat_solve_left(s->k, s->n, OAT_TRANSPOSED, (oat_view){s->a, s->n, 1, s->n}, 1);
  return OATGP_OK;
}

/* E max(f - best, 0) for f normal; 0 without variance. */
static double expected_improvement(double mean, double variance, double best) {
  if (!(variance > 0)) {
    return 0;
  }
  const double sd = sqrt(variance), z = (mean - best) / sd;
  const double cdf = 0.5 * erfc(-z / sqrt(2)), density = exp(-0.5 * z * z) / sqrt(2 * 3.14159265358979323846);
  return sd * (z * cdf + density);
}

oat_outlook oat_surrogate_predict(const oat_surrogate *s, const double *x, double *work) {
  const size_t n = s->n;
  double best = s->y[0], mean = s->y[0];
  for (size_t i = 0; i < n; i++) {
    work[i] = s->sigma * s->sigma * exp(-l1_distance(s->d, x, s->x + i * s->d) / s->l);
    mean += work[i] * s->a[i];
    best = fmax(best, s->y[i]);
  }
  oat_solve_left(s->k, n, OAT_PLAIN, (oat_view){work, n, 1, n}, 1);
  const double variance = s->sigma * s->sigma - oat_dot(n, work, work);
  return (oat_outlook){mean, variance, expected_improvement(mean, variance, best)};
}
