/* Exponential (Matern 1/2): phi(s) = exp(-sqrt(s)). Its slope is infinite at s = 0, so knots cannot be moved by their
 * gradient; s d phi / d s is 0 there, so lengthscales can. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

static void profile(size_t n, double shape, const double *s, double *phi) {
  (void)shape;
  for (size_t i = 0; i < n; i++) {
    phi[i] = sqrt(s[i]);
  }
  oat_exp(n, -1, phi, phi);
}

static void slopes(size_t n, double shape, const double *s, double *phi, double *d_s, double *d_shape) {
  (void)d_shape;
  profile(n, shape, s, phi);
  for (size_t i = 0; i < n; i++) {
    d_s[i] = s[i] > 0 ? -0.5 * phi[i] / sqrt(s[i]) : 0;
  }
}

const oat_kernel oat_kernel_exponential = {"exponential", false, false, false, profile, slopes};
