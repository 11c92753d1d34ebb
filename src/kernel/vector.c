/* The inner loops of the kernels, compiled for several instruction sets.
 *
 * exp: x = n log 2 + r with |r| <= log(2)/2, exp(r) by its series to r^13 (remainder 4e-18), times 2^n by
 * writing n into the exponent bits. No table and no branch, so it vectorises. */
#include "kernel/vector.h"

#include <stdint.h>
#include <string.h>

#include "oat_config.h"

static inline double exp_one(double x) {
  const double rounder = 0x1.8p52; /* adding it leaves the nearest integer in the lowest bits */
  const double clamped = x > 709.0 ? 709.0 : x;
  const double shifted = clamped * 1.44269504088896340736 + rounder;
  const double n = shifted - rounder;
  const double r = (clamped - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  uint64_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return x < -708.0 ? 0.0 : p * power;
}

OAT_CLONES
void oat_exp(size_t n, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = exp_one(x[i]);
  }
}

OAT_CLONES
void oat_add_squares(size_t n, const double *x, double z, double w, double *s) {
  for (size_t i = 0; i < n; i++) {
    const double t = x[i] - z;
    s[i] += w * t * t;
  }
}

OAT_CLONES
void oat_moments(size_t n, const double *x, double z, const double *h, double *sums) {
  double first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
  for (size_t i = 0; i < n; i++) {
    const double t = x[i] - z, ht = h[i] * t;
    first += ht;
    second += ht * t;
  }
  sums[0] += first;
  sums[1] += second;
}

OAT_CLONES
double oat_sum_products(size_t n, const double *x, const double *y) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    sum += x[i] * y[i];
  }
  return sum;
}
