/* Squared exponential: phi(s) = exp(-s / 2). */
#include "kernel/kernel.h"
#include "kernel/vector.h"

static void profile(size_t n, double shape, const double *s, double *phi) {
  (void)shape;
  oat_exp(n, -0.5, s, phi);
}

static void slopes(size_t n, double shape, const double *s, double *phi, double *d_s, double *d_shape) {
  (void)d_shape;
  profile(n, shape, s, phi);
  for (size_t i = 0; i < n; i++) {
    d_s[i] = -0.5 * phi[i];
  }
}

const oat_kernel oat_kernel_se = {"se", false, false, true, profile, slopes};
const oat_kernel oat_kernel_se_ard = {"se-ard", true, false, true, profile, slopes};
