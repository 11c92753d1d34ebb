/* Matern 3/2: phi(s) = (1 + a) exp(-a), a = sqrt(3 s); d phi / d s = -(3/2) exp(-a). */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "oat_config.h"

OAT_CLONES
static void slopes(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape) {
  (void)d_shape;
  for (size_t i = 0; i < n; i++) {
    k[i] = sqrt(3 * s[i]);
  }
  oat_exp(n, -1, at.sigma2, k, slope);
  for (size_t i = 0; i < n; i++) {
    k[i] = (1 + (k[i] > OAT_FARTHEST ? OAT_FARTHEST : k[i])) * slope[i];
    slope[i] *= -1.5;
  }
}

static void profile(size_t n, oat_profile_at at, const double *s, double *k) {
  oat_profile_by_slopes(slopes, n, at, s, k);
}

static long double formula(long double s, long double shape) {
  (void)shape;
  const long double a = sqrtl(3 * s);
  return (1 + a) * expl(-a);
}

const oat_profile oat_profile_matern32 = {false, true, formula, profile, slopes};
