/* Rational quadratic: phi(s) = (1 + u)^-a, u = s / (2 a), a the shape; towards large a it is the squared exponential.
 * d phi / d s = -phi / (2 (1 + u));  d phi / d log a = a phi (u / (1 + u) - log(1 + u)). */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "oat_config.h"

/* slope temporarily holds log(1 + u). */
OAT_CLONES
static void slopes(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape) {
  oat_log1p(n, 0.5 / at.shape, s, slope);
  oat_exp(n, -at.shape, at.sigma2, slope, k);
  if (d_shape != NULL) {
    for (size_t i = 0; i < n; i++) {
      const double u = s[i] / (2 * at.shape);
      const double share = u > 0x1p60 ? 1 : u / (1 + u); /* the same, and also right for an infinite u */
      d_shape[i] = at.shape * k[i] * (share - slope[i]);
    }
  }
  for (size_t i = 0; i < n; i++) {
    slope[i] = -0.5 * k[i] / (1 + s[i] / (2 * at.shape));
  }
}

static void profile(size_t n, oat_profile_at at, const double *s, double *k) {
  oat_log1p(n, 0.5 / at.shape, s, k);
  oat_exp(n, -at.shape, at.sigma2, k, k);
}

static long double formula(long double s, long double shape) { return expl(-shape * log1pl(s / (2 * shape))); }

const oat_profile oat_profile_rq = {true, true, formula, profile, slopes};
