/* Squared exponential: phi(s) = exp(-s / 2). */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

static void profile(size_t n, oat_profile_at at, const double *s, double *k) { oat_exp(n, -0.5, at.sigma2, s, k); }

static void slopes(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape) {
  (void)d_shape;
  oat_exp_twice(n, -0.5, at.sigma2, -0.5 * at.sigma2, s, k, slope);
}

static long double formula(long double s, long double shape) {
  (void)shape;
  return expl(-s / 2);
}

const oat_profile oat_profile_se = {false, true, formula, profile, slopes};
