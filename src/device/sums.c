/* How the sums of the two passes lie in one block of doubles. */
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
