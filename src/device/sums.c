/* The layout of the sums of the two passes in one block of doubles, and what follows from them on any device. */
#include <math.h>

#include "device/device.h"

size_t oat_sums_count(size_t k, size_t p) { return k * k + k * (1 + p) + (1 + p) * (1 + p) + OAT_SCALARS; }

oat_sums oat_sums_over(double *block, size_t k, size_t p) {
  oat_sums sums = {.count = oat_sums_count(k, p), .vwv = block};
  sums.vwr = sums.vwv + k * k;
  sums.rwr = sums.vwr + k * (1 + p);
  sums.scalar = sums.rwr + (1 + p) * (1 + p);
  return sums;
}

size_t oat_gradient_sums_count(size_t theta, size_t k, size_t d) { return theta + k * d + k * k; }

oat_gradient_sums oat_gradient_sums_over(double *block, size_t theta, size_t k, size_t d) {
  oat_gradient_sums sums = {.count = oat_gradient_sums_count(theta, k, d), .kernel = {.theta = block}};
  sums.kernel.z = block + theta;
  sums.s = sums.kernel.z + k * d;
  return sums;
}

/* sum g_i / n_i = sum w_i k(x_i, x_i) - trace of sum w_i v_i v_i^T, negative only by rounding. For the kernels of the
 * list k(x, x) is the same for all rows. */
void oat_sums_finish(const oat_sparse *sparse, oat_sums *sums) {
  double *scalar = sums->scalar, trace = 0;
  if (sparse->alpha > 0) {
    return;
  }
  const double whole = oat_covariance_is_tree(&sparse->cov)
                           ? scalar[OAT_G_OVER_N]
                           : oat_kernel_share(&sparse->cov, oat_sparse_knots(sparse), 1) * scalar[OAT_SUM_W];
  for (size_t i = 0; i < sparse->k; i++) {
    trace += sums->vwv[i * (sparse->k + 1)];
  }
  scalar[OAT_G_OVER_N] = fmax(whole - trace, 0);
  if (sparse->penalty == OAT_PENALISE_TRACE) {
    scalar[OAT_PENALTY] = -0.5 * scalar[OAT_G_OVER_N];
  }
}
