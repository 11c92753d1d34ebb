/* Matern 5/2: phi(s) = (1 + a + a^2 / 3) exp(-a), a = sqrt(5 s); d phi / d s = -(5/6) (1 + a) exp(-a). */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

static void slopes(size_t n, double shape, const double *s, double *phi, double *d_s, double *d_shape) {
  (void)shape;
  (void)d_shape;
  for (size_t i = 0; i < n; i++) {
    d_s[i] = sqrt(5 * s[i]);
  }
  oat_exp(n, -1, d_s, phi);
  for (size_t i = 0; i < n; i++) {
    const double a = d_s[i], decay = phi[i];
    phi[i] = (1 + a + a * a / 3) * decay;
    d_s[i] = -(5.0 / 6) * (1 + a) * decay;
  }
}

static void profile(size_t n, double shape, const double *s, double *phi) {
  double d_s[256], copy[256];
  for (size_t i = 0; i < n; i += 256) {
    const size_t count = n - i < 256 ? n - i : 256;
    slopes(count, shape, s + i, copy, d_s, NULL);
    for (size_t j = 0; j < count; j++) {
      phi[i + j] = copy[j];
    }
  }
}

const oat_kernel oat_kernel_matern52 = {"matern52", false, false, true, profile, slopes};
const oat_kernel oat_kernel_matern52_ard = {"matern52-ard", true, false, true, profile, slopes};
