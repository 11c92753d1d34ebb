/* The inner loops of the kernels, compiled for several instruction sets.
 *
 * exp: x = n log 2 + r with |r| <= log(2)/2, exp(r) = 1 + r + r^2 q(r) with the polynomial q of degree 9 that minimises
 * the largest relative error (3.6e-18), times 2^n by writing n into the exponent bits. There is no table and no branch,
 * so it vectorises. */
#include "kernel/vector.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "util/groups.h"

static inline double exp_one(double x) {
  const double rounder = 0x1.8p52; /* adding it leaves the nearest integer in the lowest bits */
  const double shifted = x * 1.44269504088896340736 + rounder;
  const double n = shifted - rounder;
  const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  double p = 0x1.ad7f6e40e0c63p-26;
  p = p * r + 0x1.28ad72c9d4e2cp-22;
  p = p * r + 0x1.71df2552b5058p-19;
  p = p * r + 0x1.a0199a0c6a6efp-16;
  p = p * r + 0x1.a01a012a57804p-13;
  p = p * r + 0x1.6c16c1842a109p-10;
  p = p * r + 0x1.1111111127be6p-7;
  p = p * r + 0x1.555555555087cp-5;
  p = p * r + 0x1.55555555554fap-3;
  p = p * r + 0x1.000000000000ap-1;
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
void oat_exp(size_t n, double a, double b, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = b * exp_one(a * x[i]);
  }
}

OAT_CLONES
void oat_exp_twice(size_t n, double a, double b, double c, const double *x, double *y, double *y2) {
  for (size_t i = 0; i < n; i++) {
    const double e = exp_one(a * x[i]);
    y[i] = b * e;
    y2[i] = c * e;
  }
}

/* log(1 + u) for u >= 0: w = 1 + u = 2^n m with m around 1, log m = 2 atanh((m - 1) / (m + 1)) by its series,
 * |argument| <= 0.172; what rounding took from w is added back. */
static inline double log1p_one(double u) {
  const double w = 1 + u, lost = w > 0x1p60 ? 0 : (u - (w - 1)) / w,
               integers = 0x1p52; /* no correction for an infinite u */
  const uint64_t root_half = UINT64_C(0x3fe6a09e667f3bcd), integer_bits = UINT64_C(0x4330000000000000);
  uint64_t bits;
  memcpy(&bits, &w, sizeof bits);
  const uint64_t exponent = (bits - root_half) >> 52;
  uint64_t number = exponent | integer_bits, mantissa = bits - (exponent << 52);
  double n, m;
  memcpy(&n, &number, sizeof n);
  memcpy(&m, &mantissa, sizeof m);
  n -= integers;
  const double t = (m - 1) / (m + 1), z = t * t;
  double p = 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  return n * 0x1.62e42fee00000p-1 + (2 * t + (t * z * p + (n * 0x1.a39ef35793c76p-33 + lost)));
}

OAT_CLONES
void oat_log1p(size_t n, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = log1p_one(a * x[i]);
  }
}

/* sin^2(pi r) and sin(pi r) cos(pi r): r less the nearest integer has at most half a turn, and what is beyond a quarter
 * is taken from the other end, where sine and cosine change places. Both are their series there. */
typedef struct wave {
  double square, mixed;
} wave;

static inline wave wave_one(double r) {
  const double rounder = 0x1.8p52, turns = (r + rounder) - rounder, left = r - turns;
  const double rest = fabs(left) > 0.5 ? 0 : left; /* beyond 2^51 turns, the remainder has no correct digit */
  const double size = fabs(rest), quarter = size > 0.25 ? 0.5 - size : size, y = OAT_PI * quarter, y2 = y * y;
  double sine = 1.0 / 355687428096000;
  sine = sine * y2 - 1.0 / 1307674368000;
  sine = sine * y2 + 1.0 / 6227020800;
  sine = sine * y2 - 1.0 / 39916800;
  sine = sine * y2 + 1.0 / 362880;
  sine = sine * y2 - 1.0 / 5040;
  sine = sine * y2 + 1.0 / 120;
  sine = sine * y2 - 1.0 / 6;
  sine = (sine * y2) * y + y;
  double cosine = 1.0 / 20922789888000;
  cosine = cosine * y2 - 1.0 / 87178291200;
  cosine = cosine * y2 + 1.0 / 479001600;
  cosine = cosine * y2 - 1.0 / 3628800;
  cosine = cosine * y2 + 1.0 / 40320;
  cosine = cosine * y2 - 1.0 / 720;
  cosine = cosine * y2 + 1.0 / 24;
  cosine = cosine * y2 - 0.5;
  cosine = cosine * y2 + 1;
  const double longer = size > 0.25 ? cosine : sine;
  return (wave){longer * longer, rest < 0 ? -sine * cosine : sine * cosine};
}

OAT_CLONES
void oat_waves(size_t n, double a, const double *x, double z, double *square, double *mixed) {
  if (mixed == NULL) {
    for (size_t i = 0; i < n; i++) {
      square[i] = wave_one(a * (x[i] - z)).square;
    }
    return;
  }
  for (size_t i = 0; i < n; i++) {
    const wave at = wave_one(a * (x[i] - z));
    square[i] = at.square;
    mixed[i] = at.mixed;
  }
}

/* One input of a set of points, the coordinate of the other point in it, and its weight. */
typedef struct axis {
  const double *x;
  double z, w;
} axis;

static inline axis axis_of(const oat_axes *axes, size_t j) {
  return (axis){axes->x + j * axes->ldx, axes->z[j * axes->ldz], axes->w != NULL ? axes->w[axes->single ? 0 : j] : 1};
}

/* Without weights, `weighted` is false: a constant for each caller. */
INLINE double squared(axis a, size_t i, bool weighted) {
  const double t = a.x[i] - a.z;
  return (weighted ? a.w * t : t) * t;
}

/* The first one to four inputs, so that four at a time are left; s is written without being read. Returns how many they
 * were. */
INLINE size_t begin_distances(size_t n, const oat_axes *axes, bool weighted, double *s) {
  const size_t count = (axes->d - 1) % 4 + 1;
  const axis a = axis_of(axes, 0), b = axis_of(axes, count > 1), c = axis_of(axes, count > 2 ? 2 : 0),
             e = axis_of(axes, count - 1);
  if (count == 1) {
    for (size_t i = 0; i < n; i++) {
      s[i] = squared(a, i, weighted);
    }
  } else if (count == 2) {
    for (size_t i = 0; i < n; i++) {
      s[i] = squared(a, i, weighted) + squared(b, i, weighted);
    }
  } else if (count == 3) {
    for (size_t i = 0; i < n; i++) {
      s[i] = squared(a, i, weighted) + squared(b, i, weighted) + squared(c, i, weighted);
    }
  } else {
    for (size_t i = 0; i < n; i++) {
      s[i] = (squared(a, i, weighted) + squared(b, i, weighted)) + (squared(c, i, weighted) + squared(e, i, weighted));
    }
  }
  return count;
}

/* Four inputs at a time, so that s is read and written once for them. */
INLINE void distances(size_t n, const oat_axes *axes, bool weighted, double *s) {
  for (size_t j = begin_distances(n, axes, weighted, s); j < axes->d; j += 4) {
    const axis a = axis_of(axes, j), b = axis_of(axes, j + 1), c = axis_of(axes, j + 2), e = axis_of(axes, j + 3);
    for (size_t i = 0; i < n; i++) {
      s[i] += (squared(a, i, weighted) + squared(b, i, weighted)) + (squared(c, i, weighted) + squared(e, i, weighted));
    }
  }
}

OAT_CLONES
void oat_distances(size_t n, const oat_axes *axes, double *s) {
  if (axes->w != NULL) {
    distances(n, axes, true, s);
  } else {
    distances(n, axes, false, s);
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

/* The distances and the moments of pairs, by groups of one kind. A group that goes over the end of its column is
 * overwritten there by the next column; in moments, the numbers behind a column are 0. The sums of all columns stay
 * apart by their place in a group until the end. */
#define DEFINE_PAIRS(group)                                                                          \
  INLINE void distances_by_##group(oat_scaled_points p, double *s) {                                 \
    const size_t n = p.n, size = sizeof(group) / sizeof(double);                                     \
    for (size_t b = 0; b < n; b++) {                                                                 \
      for (size_t a = b; a < n; a += size) {                                                         \
        group sum = {0};                                                                             \
        for (size_t j = 0; j < p.d; j++) {                                                           \
          const double *at = p.x + j * p.ld;                                                         \
          const group t = *(const group##_anywhere *)(at + a) - at[b];                               \
          sum += t * t;                                                                              \
        }                                                                                            \
        *(group##_anywhere *)(s + a - b) = sum;                                                      \
      }                                                                                              \
      s += n - b;                                                                                    \
    }                                                                                                \
  }                                                                                                  \
  INLINE void add_moments_by_##group(oat_scaled_points p, size_t b, const double *h, double *sums) { \
    const size_t count = p.n - b, size = sizeof(group) / sizeof(double);                             \
    for (size_t j = 0; j < p.d; j++) {                                                               \
      const double *at = p.x + b + j * p.ld, z = at[0];                                              \
      group sum = *(group##_anywhere *)(sums + j * OAT_PAIR_GROUP);                                  \
      for (size_t a = 0; a < count; a += size) {                                                     \
        const group t = *(const group##_anywhere *)(at + a) - z;                                     \
        sum += *(const group##_anywhere *)(h + a) * t * t;                                           \
      }                                                                                              \
      *(group##_anywhere *)(sums + j * OAT_PAIR_GROUP) = sum;                                        \
    }                                                                                                \
  }

DEFINE_PAIRS(four)
DEFINE_PAIRS(eight)

OAT_CLONES
void oat_pair_distances(oat_scaled_points p, double *s) {
  if (oat_wide_groups()) {
    distances_by_eight(p, s);
  } else {
    distances_by_four(p, s);
  }
}

OAT_CLONES
void oat_pair_moments(oat_scaled_points p, const double *h, double *work, double *second) {
  const bool wide = oat_wide_groups();
  double *sums = work, *column = work + p.d * OAT_PAIR_GROUP;
  memset(sums, 0, p.d * OAT_PAIR_GROUP * sizeof *sums);
  for (size_t b = 0; b < p.n; b++) {
    const size_t count = p.n - b;
    memcpy(column, h, count * sizeof *h);
    memset(column + count, 0, OAT_PAIR_GROUP * sizeof *h);
    if (wide) {
      add_moments_by_eight(p, b, column, sums);
    } else {
      add_moments_by_four(p, b, column, sums);
    }
    h += count;
  }
  for (size_t j = 0; j < p.d; j++) {
    second[j] = 0;
    for (size_t i = 0; i < OAT_PAIR_GROUP; i++) {
      second[j] += sums[j * OAT_PAIR_GROUP + i];
    }
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
double oat_multiply(size_t n, const double *x, double *y, double *sum) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (size_t i = 0; i < n; i++) {
    const double product = x[i] * y[i];
    y[i] = product;
    sum[i] += product;
    total += product;
  }
  return total;
}

/* Eight maxima in parallel, because compilers do not vectorise a single one. */
OAT_CLONES
double oat_standardise(size_t n, double middle, double a, const double *x, double *y) {
  double most[8] = {0};
  for (size_t i = 0; i < n; i++) {
    y[i] = a * (x[i] - middle);
  }
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t c = 0; c < 8; c++) {
      const double size = fabs(y[i + c]);
      most[c] = size > most[c] ? size : most[c];
    }
  }
  for (; i < n; i++) {
    most[0] = fmax(most[0], fabs(y[i]));
  }
  for (size_t c = 1; c < 8; c++) {
    most[0] = fmax(most[0], most[c]);
  }
  return most[0];
}

OAT_CLONES
void oat_add_norms(size_t n, const double *y, double z2, const double *x2, double *s) {
  for (size_t i = 0; i < n; i++) {
    const double sum = y[i] + z2 + x2[i];
    s[i] = sum < 0 ? 0 : sum;
  }
}

OAT_CLONES
double oat_sum_squares(size_t n, const double *w, const double *x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    sum += w[i] * x[i] * x[i];
  }
  return sum;
}

OAT_CLONES
void oat_add_squares(size_t n, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += x[i] * x[i];
  }
}

void oat_row_squares(size_t n, size_t columns, const double *v, size_t ld, double *q) {
  memset(q, 0, n * sizeof *q);
  for (size_t c = 0; c < columns; c++) {
    oat_add_squares(n, v + c * ld, q);
  }
}

OAT_CLONES
void oat_scaled_copy(size_t n, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = a * x[i];
  }
}

OAT_CLONES
void oat_add_differences(size_t n, double a, const double *h, const double *x, double z, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += a * h[i] * (x[i] - z);
  }
}

OAT_CLONES
void oat_add_scaled(size_t n, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += a * x[i];
  }
}

OAT_CLONES
void oat_multiply_each(size_t n, const double *w, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] *= w[i];
  }
}

OAT_CLONES
void oat_product(size_t n, double a, const double *x, const double *y, double *p) {
  for (size_t i = 0; i < n; i++) {
    p[i] = a * x[i] * y[i];
  }
}

OAT_CLONES
double oat_sum(size_t n, const double *x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    sum += x[i];
  }
  return sum;
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

OAT_CLONES
void oat_multiply_add(size_t n, const double *w, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = w[i] * y[i] + a * x[i];
  }
}

OAT_CLONES
void oat_drops(size_t n, double a, const double *x, const double *whole, const double *least, double *y) {
  for (size_t i = 0; i < n; i++) {
    const double wanted = a * x[i] * x[i], most = whole[i] - least[i], t = wanted < most ? wanted : most;
    y[i] = t / (whole[i] - t);
  }
}

/* The loops were selected by the same features. */
const char *oat_simd_name(void) {
#if OAT_HAVE_CLONES
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    return "AVX-512, out of AVX-512, AVX2 and plain";
  }
  return __builtin_cpu_supports("avx2") ? "AVX2, out of AVX-512, AVX2 and plain"
                                        : "plain, out of AVX-512, AVX2 and plain";
#else
  return "as compiled";
#endif
}
