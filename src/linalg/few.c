/* Loops in groups of four numbers, which all vector units have, and tiles that stay in registers. */
#include "linalg/few.h"

#include <math.h>
#include <string.h>

#include "oat_config.h"

enum { WIDE = 4, TILE = 4, STRIP = 8 };
typedef double four __attribute__((vector_size(32)));
typedef double four_anywhere __attribute__((vector_size(32), aligned(8), may_alias));

/* Compiled anew into each of the instruction sets of its callers. */
#define INLINE static inline __attribute__((always_inline))
#define AT(p) (*(const four_anywhere *)(p))
#define PUT(p) (*(four_anywhere *)(p))

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* out_rc = a_r . b_c of four rows each. */
INLINE void multiply_tile(size_t k, const double *const *a, const double *const *b, double out[TILE][TILE]) {
  four sum[TILE][TILE];
  size_t i = 0;
  memset(sum, 0, sizeof sum);
  for (; i + WIDE <= k; i += WIDE) {
    four y[TILE];
    for (size_t c = 0; c < TILE; c++) {
      y[c] = AT(b[c] + i);
    }
    for (size_t r = 0; r < TILE; r++) {
      const four x = AT(a[r] + i);
      for (size_t c = 0; c < TILE; c++) {
        sum[r][c] += x * y[c];
      }
    }
  }
  for (size_t r = 0; r < TILE; r++) {
    for (size_t c = 0; c < TILE; c++) {
      out[r][c] = (sum[r][c][0] + sum[r][c][1]) + (sum[r][c][2] + sum[r][c][3]);
      for (size_t rest = i; rest < k; rest++) {
        out[r][c] += a[r][rest] * b[c][rest];
      }
    }
  }
}

/* Four rows from `first` on; where there are fewer, the last one again. */
INLINE void take_tile(const oat_few *rows, size_t first, const double **out) {
  for (size_t t = 0; t < TILE; t++) {
    out[t] = rows->row[first + t < rows->m ? first + t : rows->m - 1];
  }
}

OAT_CLONES
void oat_few_products(oat_few rows, double *c, size_t ld) {
  const double *a[TILE], *b[TILE];
  double out[TILE][TILE];
  for (size_t i = 0; i < rows.m; i += TILE) {
    take_tile(&rows, i, a);
    for (size_t j = 0; j <= i; j += TILE) {
      take_tile(&rows, j, b);
      multiply_tile(rows.k, a, b, out);
      for (size_t t = 0; t < TILE; t++) {
        for (size_t r = i == j ? t : 0; r < TILE && i + r < rows.m; r++) {
          c[i + r + (j + t) * ld] -= out[r][t];
        }
      }
    }
  }
}

OAT_CLONES
void oat_few_dots(oat_few rows, const double *x, double *y) {
  const double *a[TILE];
  for (size_t first = 0; first < rows.m; first += TILE) {
    four sum[TILE];
    size_t i = 0;
    take_tile(&rows, first, a);
    memset(sum, 0, sizeof sum);
    for (; i + WIDE <= rows.k; i += WIDE) {
      const four at = AT(x + i);
      for (size_t t = 0; t < TILE; t++) {
        sum[t] += AT(a[t] + i) * at;
      }
    }
    for (size_t t = 0; t < TILE && first + t < rows.m; t++) {
      y[first + t] = (sum[t][0] + sum[t][1]) + (sum[t][2] + sum[t][3]);
      for (size_t rest = i; rest < rows.k; rest++) {
        y[first + t] += a[t][rest] * x[rest];
      }
    }
  }
}

/* Four rows at a time, so that y is read and written once for them. */
OAT_CLONES
void oat_few_add(oat_few rows, const double *f, double *y) {
  size_t first = 0;
  for (; first + TILE <= rows.m; first += TILE) {
    const double *a = rows.row[first], *b = rows.row[first + 1], *c = rows.row[first + 2], *d = rows.row[first + 3];
    const double fa = f[first], fb = f[first + 1], fc = f[first + 2], fd = f[first + 3];
#pragma omp simd
    for (size_t i = 0; i < rows.k; i++) {
      y[i] += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
    }
  }
  for (; first < rows.m; first++) {
    const double *a = rows.row[first], fa = f[first];
#pragma omp simd
    for (size_t i = 0; i < rows.k; i++) {
      y[i] += fa * a[i];
    }
  }
}

/* ---- small matrices ------------------------------------------------------------------------------------------------- */

/* The numbers i to i + WIDE * groups of column j less what the first `done` columns make of them. */
INLINE void reduce_strip(size_t groups, size_t ld, size_t done, size_t i, size_t j, double *a) {
  four sum[STRIP];
  for (size_t g = 0; g < groups; g++) {
    sum[g] = AT(a + i + g * WIDE + j * ld);
  }
  for (size_t p = 0; p < done; p++) {
    const double *column = a + p * ld, factor = column[j];
    for (size_t g = 0; g < groups; g++) {
      sum[g] -= factor * AT(column + i + g * WIDE);
    }
  }
  for (size_t g = 0; g < groups; g++) {
    PUT(a + i + g * WIDE + j * ld) = sum[g];
  }
}

INLINE void reduce_column(size_t ld, size_t done, size_t j, double *a) {
  size_t i = j / WIDE * WIDE;
  for (; ld - i >= 8 * WIDE; i += 8 * WIDE) {
    reduce_strip(8, ld, done, i, j, a);
  }
  if (ld - i >= 4 * WIDE) {
    reduce_strip(4, ld, done, i, j, a);
    i += 4 * WIDE;
  }
  if (ld - i >= 2 * WIDE) {
    reduce_strip(2, ld, done, i, j, a);
    i += 2 * WIDE;
  }
  if (ld > i) {
    reduce_strip(1, ld, done, i, j, a);
  }
}

OAT_CLONES
bool oat_few_cholesky(size_t n, size_t pivots, double *a) {
  const size_t ld = oat_few_side(n);
  for (size_t j = 0; j < n; j++) {
    double *column = a + j * ld;
    reduce_column(ld, j < pivots ? j : pivots, j, a);
    if (j >= pivots) {
      continue;
    }
    if (!(column[j] > 0 && isfinite(column[j]))) {
      return false;
    }
    const double inverse = 1 / sqrt(column[j]);
    for (size_t i = j / WIDE * WIDE; i < ld; i += WIDE) {
      PUT(column + i) = AT(column + i) * inverse;
    }
    column[j] = inverse;
  }
  return true;
}

void oat_few_pack(size_t n, size_t m, const double *a, double *packed) {
  const size_t ld = oat_few_side(n);
  for (size_t j = 0; j < m; j++) {
    memcpy(packed, a + j + j * ld, (m - j) * sizeof *packed);
    packed += m - j;
  }
}

OAT_CLONES
void oat_few_solve(size_t m, const double *packed, double *x) {
  for (size_t j = 0; j < m; j++) {
    const double at = x[j] * packed[0];
    double *rest = x + j;
    rest[0] = at;
    for (size_t i = 1; i < m - j; i++) {
      rest[i] -= at * packed[i];
    }
    packed += m - j;
  }
}

OAT_CLONES
void oat_few_solve_back(size_t m, const double *packed, double *x) {
  packed += m * (m + 1) / 2;
  for (size_t j = m; j-- > 0;) {
    packed -= m - j;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 1; i < m - j; i++) {
      sum += packed[i] * x[j + i];
    }
    x[j] = (x[j] - sum) * packed[0];
  }
}

/* By squares of eight, so that each line of the cache is read and written once. */
OAT_CLONES
void oat_transpose(size_t rows, size_t columns, const double *a, size_t lda, double *b, size_t ldb) {
  enum { SIDE = 8 };
  for (size_t i = 0; i < rows; i += SIDE) {
    for (size_t j = 0; j < columns; j += SIDE) {
      const size_t last = i + SIDE < rows ? i + SIDE : rows, end = j + SIDE < columns ? j + SIDE : columns;
      for (size_t r = i; r < last; r++) {
        for (size_t c = j; c < end; c++) {
          b[c + r * ldb] = a[r + c * lda];
        }
      }
    }
  }
}
