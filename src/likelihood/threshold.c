/* Distribution functions by a random threshold, see threshold.h. */
#include "likelihood/threshold.h"

#include <math.h>

#include "likelihood/quadrature.h"
#include "likelihood/special.h"

/* If a is large, u is small, and the difference is computed by its series. */
#define SMALL 1e-3

double oat_log_gamma_shape(double a, double u) {
  return a * (fabs(u) > SMALL ? u - expm1(u) : -0.5 * u * u * (1 + u / 3 * (1 + u / 4 * (1 + u / 5))));
}

/* The same of logit Beta(a, b): p^a (1 - p)^b with logit p = log(a / b) + u. */
static double log_shape(double a, double b, double u) {
  if (b > 0 && fabs(u) < SMALL) {
    const double p = a / (a + b), q = b / (a + b); /* cumulants of a Bernoulli variable */
    return -0.5 * u * u * a * q *
           (1 + u / 3 * ((q - p) + u / 4 * (1 - 6 * p * q + u / 5 * (q - p) * (1 - 12 * p * q))));
  }
  if (b > 0) {
    return u > 0 ? -b * u - (a + b) * log1p(b / (a + b) * expm1(-u)) : a * u - (a + b) * log1p(a / (a + b) * expm1(u));
  }
  return oat_log_gamma_shape(a, u);
}

/* Adds density and density times value from the node u on, in steps, until nothing is left. */
static void add_side(const oat_threshold_average *average, double u, double step, double sums[2]) {
  const double first = u;
  for (double k = 1; k < 1e6; k++) {
    const double shape = log_shape(average->a, average->b, u);
    if (shape < -40) {
      break;
    }
    const double density = exp(shape);
    sums[0] += density;
    sums[1] += density * average->value(average->with, u);
    u = first + k * step;
  }
}

double oat_threshold_average_of(const oat_threshold_average *average) {
  double sums[2] = {0, 0};
  add_side(average, 0, average->step, sums);
  add_side(average, -average->step, -average->step, sums);
  return sums[1] / sums[0];
}

typedef struct below {
  double middle, sign, sd; /* Phi((middle + sign u) / sd) */
} below;

static double normal_below(const void *with, double u) {
  const below *b = with;
  return oat_normal_cdf((b->middle + b->sign * u) / b->sd);
}

/* P(threshold > f) for a given f. */
static double above(const oat_threshold *t, double f) {
  const double edge = (f - t->shift) * t->sign;
  if (t->b > 0) {
    const double p = oat_logistic(edge), q = oat_logistic(-edge);
    return t->sign > 0 ? oat_beta_cdf(t->b, t->a, q, p) : oat_beta_cdf(t->a, t->b, p, q);
  }
  return oat_gamma_cdf(t->a, exp(edge), t->sign > 0);
}

static void above_each(const void *row, size_t n, oat_nodes *at) {
  for (size_t k = 0; k < n; k++) {
    at->value[k] = above(row, at->f[k]);
    at->first[k] = at->second[k] = at->extra[k] = 0;
  }
}

/* If f is known far better than the threshold, the average is over f, otherwise over the threshold. */
double oat_threshold_cdf(const oat_threshold *t, oat_belief f) {
  const double width = t->b > 0 ? sqrt(1 / t->a + 1 / t->b) : 1 / sqrt(t->a), sd = sqrt(f.s);
  if (sd < 0.1 * fmin(width, 1)) {
    return oat_clip(oat_expect_nodes(f, above_each, t).curve.value, 0, 1);
  }
  const double mode = t->b > 0 ? log(t->a / t->b) : log(t->a), finer = sd / hypot(sd / width, 1);
  const below with = {t->shift + t->sign * mode - f.m, t->sign, sd};
  const oat_threshold_average average = {t->a, t->b, fmin(0.4, 0.5 * finer), normal_below, &with};
  return oat_clip(oat_threshold_average_of(&average), 0, 1);
}
