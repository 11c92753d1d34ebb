/* Matern 5/2: phi(s) = (1 + a + a^2 / 3) exp(-a), a = sqrt(5 s); d phi / d s = -(5/6) (1 + a) exp(-a). */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "oat_config.h"

OAT_CLONES
static void slopes(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape) {
  (void)d_shape;
  for (size_t i = 0; i < n; i++) {
    k[i] = sqrt(5 * s[i]);
  }
  oat_exp(n, -1, at.sigma2, k, slope);
  for (size_t i = 0; i < n; i++) {
    const double a = k[i] > OAT_FARTHEST ? OAT_FARTHEST : k[i], decay = slope[i];
    k[i] = (1 + a + a * a / 3) * decay;
    slope[i] = -(5.0 / 6) * (1 + a) * decay;
  }
}

static void profile(size_t n, oat_profile_at at, const double *s, double *k) {
  oat_profile_by_slopes(slopes, n, at, s, k);
}

static long double formula(long double s, long double shape) {
  (void)shape;
  const long double a = sqrtl(5 * s);
  return (1 + a + a * a / 3) * expl(-a);
}

const oat_profile oat_profile_matern52 = {false, true, formula, profile, slopes};
