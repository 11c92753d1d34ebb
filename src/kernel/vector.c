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
void oat_exp(size_t n, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = exp_one(a * x[i]);
  }
}

/* One input of a set of points, the coordinate of the other point in it, and its weight. */
typedef struct axis {
  const double *x;
  double z, w;
} axis;

static inline axis axis_of(const oat_axes *axes, size_t j) {
  return (axis){axes->x + j * axes->ldx, axes->z[j * axes->ldz], axes->w[axes->single ? 0 : j]};
}

/* Four inputs at a time, so that s is read and written once for them. */
OAT_CLONES
void oat_distances(size_t n, const oat_axes *axes, double *s) {
  size_t j = 0;
  memset(s, 0, n * sizeof *s);
  for (; j + 4 <= axes->d; j += 4) {
    const axis a = axis_of(axes, j), b = axis_of(axes, j + 1), c = axis_of(axes, j + 2), e = axis_of(axes, j + 3);
    for (size_t i = 0; i < n; i++) {
      const double ta = a.x[i] - a.z, tb = b.x[i] - b.z, tc = c.x[i] - c.z, te = e.x[i] - e.z;
      s[i] += (a.w * ta * ta + b.w * tb * tb) + (c.w * tc * tc + e.w * te * te);
    }
  }
  for (; j < axes->d; j++) {
    const axis a = axis_of(axes, j);
    for (size_t i = 0; i < n; i++) {
      const double t = a.x[i] - a.z;
      s[i] += a.w * t * t;
    }
  }
}

/* Two inputs at a time, so that h is read once for them. */
OAT_CLONES
void oat_moments(size_t n, const oat_axes *axes, const double *h, double *first, double *second) {
  size_t j = 0;
  for (; j + 2 <= axes->d; j += 2) {
    const axis a = axis_of(axes, j), b = axis_of(axes, j + 1);
    double a1 = 0, a2 = 0, b1 = 0, b2 = 0;
#pragma omp simd reduction(+ : a1, a2, b1, b2)
    for (size_t i = 0; i < n; i++) {
      const double ta = a.x[i] - a.z, tb = b.x[i] - b.z, ha = h[i] * ta, hb = h[i] * tb;
      a1 += ha;
      a2 += ha * ta;
      b1 += hb;
      b2 += hb * tb;
    }
    first[j] = a1;
    first[j + 1] = b1;
    second[j] = a2;
    second[j + 1] = b2;
  }
  if (j < axes->d) {
    const axis a = axis_of(axes, j);
    double a1 = 0, a2 = 0;
#pragma omp simd reduction(+ : a1, a2)
    for (size_t i = 0; i < n; i++) {
      const double t = a.x[i] - a.z, ht = h[i] * t;
      a1 += ht;
      a2 += ht * t;
    }
    first[j] = a1;
    second[j] = a2;
  }
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

OAT_CLONES
void oat_multiply(size_t n, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] *= a * x[i];
  }
}

OAT_CLONES
void oat_scale(size_t n, double a, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] *= a;
  }
}

OAT_CLONES
void oat_add_squares(size_t n, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += x[i] * x[i];
  }
}

OAT_CLONES
void oat_weigh_sum(size_t n, const double *w, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = w[i] * (y[i] + a * x[i]);
  }
}

OAT_CLONES
double oat_weighted_squares(size_t n, const double *w, double *y) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    const double wy = w[i] * y[i];
    sum += wy * y[i];
    y[i] = wy;
  }
  return sum;
}
