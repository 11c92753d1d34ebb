/* Exponential (Matern 1/2): phi(s) = exp(-sqrt(s)). Its slope is infinite at s = 0, so the gradient cannot move knots;
 * But s d phi / d s is 0 there, so it can move lengthscales. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

static void profile(size_t n, oat_profile_at at, const double *s, double *k) {
  for (size_t i = 0; i < n; i++) {
    k[i] = sqrt(s[i]);
  }
  oat_exp(n, -1, at.sigma2, k, k);
}

static void slopes(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape) {
  (void)d_shape;
  profile(n, at, s, k);
  for (size_t i = 0; i < n; i++) {
    slope[i] = s[i] > 0 ? -0.5 * k[i] / sqrt(s[i]) : 0;
  }
}

static long double formula(long double s, long double shape) {
  (void)shape;
  return expl(-sqrtl(s));
}

const oat_profile oat_profile_exponential = {false, false, formula, profile, slopes};
