/* Distribution functions of y, integrated over f, by a threshold: for these likelihoods y <= Y exactly where f is
 * below a random threshold whose distribution is known, so that P(Y <= y) is an integral of Phi, and no incomplete
 * gamma or beta function is needed.
 *
 *   poisson            log G,               G ~ Gamma(y + 1)
 *   gamma              log(shape y) - log G,  G ~ Gamma(shape)
 *   binomial-logit     logit B,             B ~ Beta(y + 1, trials - y)
 *   negative-binomial  log shape + logit B, B ~ Beta(y + 1, shape) */
#ifndef OAT_THRESHOLD_H
#define OAT_THRESHOLD_H

#include "likelihood/rows.h"

/* shift + sign F, F = log Gamma(a) or, with b > 0, logit Beta(a, b). */
typedef struct oat_threshold {
  double a, b;
  double shift, sign;
} oat_threshold;

/* P(f < threshold) */
double oat_threshold_cdf(const oat_threshold *threshold, oat_belief f);

/* The density of u = F - mode relative to its largest value, for b = 0: exp(a (u - exp(u) + 1)). The logarithm of the
 * precision of Student's t has this density. */
double oat_log_gamma_shape(double a, double u);

/* A function of u and its average over such densities. */
typedef double (*oat_threshold_fn)(const void *with, double u);
typedef struct oat_threshold_average {
  double a, b, step;
  oat_threshold_fn value;
  const void *with;
} oat_threshold_average;

double oat_threshold_average_of(const oat_threshold_average *average);

#endif
