/* Matern 3/2: phi(s) = (1 + a) exp(-a), a = sqrt(3 s); d phi / d s = -(3/2) exp(-a). */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

/* phi and, in `decay`, exp(-a) */
static void evaluate(size_t n, const double *s, double *phi, double *decay) {
  for (size_t i = 0; i < n; i++) {
    decay[i] = -sqrt(3 * s[i]);
  }
  for (size_t i = 0; i < n; i++) {
    phi[i] = 1 - decay[i];
  }
  oat_exp(n, 1, decay, decay);
  for (size_t i = 0; i < n; i++) {
    phi[i] *= decay[i];
  }
}

static void profile(size_t n, double shape, const double *s, double *phi) {
  (void)shape;
  double decay[256];
  for (size_t i = 0; i < n; i += 256) {
    evaluate(n - i < 256 ? n - i : 256, s + i, phi + i, decay);
  }
}

static void slopes(size_t n, double shape, const double *s, double *phi, double *d_s, double *d_shape) {
  (void)shape;
  (void)d_shape;
  evaluate(n, s, phi, d_s);
  for (size_t i = 0; i < n; i++) {
    d_s[i] *= -1.5;
  }
}

const oat_kernel oat_kernel_matern32 = {"matern32", false, false, true, profile, slopes};
const oat_kernel oat_kernel_matern32_ard = {"matern32-ard", true, false, true, profile, slopes};
