/* Rational quadratic: phi(s) = (1 + u)^-a, u = s / (2 a), a the shape; towards large a it is the squared exponential.
 * d phi / d s = -phi / (2 (1 + u));  d phi / d log a = a phi (u / (1 + u) - log(1 + u)). */
#include <math.h>

#include "kernel/kernel.h"

static void profile(size_t n, double shape, const double *s, double *phi) {
  for (size_t i = 0; i < n; i++) {
    phi[i] = exp(-shape * log1p(s[i] / (2 * shape)));
  }
}

static void slopes(size_t n, double shape, const double *s, double *phi, double *d_s, double *d_shape) {
  for (size_t i = 0; i < n; i++) {
    const double u = s[i] / (2 * shape), log_base = log1p(u);
    phi[i] = exp(-shape * log_base);
    d_s[i] = -0.5 * phi[i] / (1 + u);
    d_shape[i] = shape * phi[i] * (u / (1 + u) - log_base);
  }
}

const oat_kernel oat_kernel_rq = {"rq", false, true, true, profile, slopes};
const oat_kernel oat_kernel_rq_ard = {"rq-ard", true, true, true, profile, slopes};
