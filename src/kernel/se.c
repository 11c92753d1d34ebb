/* Squared exponential: phi(s) = exp(-s / 2). */
#include "kernel/kernel.h"
#include "kernel/vector.h"

static void profile(size_t n, oat_profile_at at, const double *s, double *k) { oat_exp(n, -0.5, at.sigma2, s, k); }

static void slopes(size_t n, oat_profile_at at, const double *s, double *k, double *slope, double *d_shape) {
  (void)d_shape;
  oat_exp_twice(n, -0.5, at.sigma2, -0.5 * at.sigma2, s, k, slope);
}

const oat_kernel oat_kernel_se = {"se", false, false, true, profile, slopes};
const oat_kernel oat_kernel_se_ard = {"se-ard", true, false, true, profile, slopes};
