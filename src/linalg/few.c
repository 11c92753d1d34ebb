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
#define FETCH(p) __builtin_prefetch(p, 0, 2)

/* By its place: compilers do not agree on how a vector is passed where there is no unit for it. */
INLINE double sum_of(const four *x) { return ((*x)[0] + (*x)[1]) + ((*x)[2] + (*x)[3]); }

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* out_rc = a_r . b_c of four rows each; another row is fetched. */
INLINE void multiply_tile(size_t k, const double *const *a, const double *const *b, const double *next, double out[TILE][TILE]) {
  four sum[TILE][TILE];
  size_t i = 0;
  memset(sum, 0, sizeof sum);
  for (; i + WIDE <= k; i += WIDE) {
    four y[TILE];
    FETCH(next + i);
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
      out[r][c] = sum_of(&sum[r][c]);
      for (size_t rest = i; rest < k; rest++) {
        out[r][c] += a[r][rest] * b[c][rest];
      }
    }
  }
}

/* Four rows from `first` on; where there are fewer, the last one again. */
INLINE void take_tile(const oat_few *rows, const double *const *from, size_t first, const double **out) {
  for (size_t t = 0; t < TILE; t++) {
    out[t] = from[first + t < rows->m ? first + t : rows->m - 1];
  }
}

INLINE const double *const *next_of(const oat_few *rows) { return rows->next != NULL ? rows->next : rows->row; }

OAT_CLONES
void oat_few_products(oat_few rows, double *c, size_t ld) {
  const double *a[TILE], *b[TILE], *const *next = next_of(&rows);
  double out[TILE][TILE];
  size_t fetched = 0; /* there are as many tiles as rows, or more, but for the last few */
  for (size_t i = 0; i < rows.m; i += TILE) {
    take_tile(&rows, rows.row, i, a);
    for (size_t j = 0; j <= i; j += TILE) {
      take_tile(&rows, rows.row, j, b);
      multiply_tile(rows.k, a, b, next[fetched], out);
      fetched += fetched + 1 < rows.m;
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
    take_tile(&rows, rows.row, first, a);
    memset(sum, 0, sizeof sum);
    for (; i + WIDE <= rows.k; i += WIDE) {
      const four at = AT(x + i);
      for (size_t t = 0; t < TILE; t++) {
        sum[t] += AT(a[t] + i) * at;
      }
    }
    for (size_t t = 0; t < TILE && first + t < rows.m; t++) {
      y[first + t] = sum_of(&sum[t]);
      for (size_t rest = i; rest < rows.k; rest++) {
        y[first + t] += a[t][rest] * x[rest];
      }
    }
  }
}

/* Four rows at a time, so that y is read and written once for them. */
OAT_CLONES
void oat_few_add(oat_few rows, const double *f, double *y) {
  const double *a[TILE], *next[TILE];
  for (size_t first = 0; first < rows.m; first += TILE) {
    double factor[TILE];
    size_t i = 0;
    take_tile(&rows, rows.row, first, a);
    take_tile(&rows, next_of(&rows), first, next);
    for (size_t t = 0; t < TILE; t++) {
      factor[t] = first + t < rows.m ? f[first + t] : 0;
    }
    for (; i + 2 * WIDE <= rows.k; i += 2 * WIDE) {
      four low = AT(y + i), high = AT(y + i + WIDE);
      for (size_t t = 0; t < TILE; t++) {
        FETCH(next[t] + i);
        low += factor[t] * AT(a[t] + i);
        high += factor[t] * AT(a[t] + i + WIDE);
      }
      PUT(y + i) = low;
      PUT(y + i + WIDE) = high;
    }
    for (; i < rows.k; i++) {
      for (size_t t = 0; t < TILE; t++) {
        y[i] += factor[t] * a[t][i];
      }
    }
  }
}

/* ---- small matrices ------------------------------------------------------------------------------------------------- */

/* Where the group of the diagonal begins. */
INLINE size_t group_of(size_t j) { return j / WIDE * WIDE; }

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
  size_t i = group_of(j);
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
    for (size_t i = group_of(j); i < ld; i += WIDE) {
      PUT(column + i) = AT(column + i) * inverse;
    }
    column[j] = inverse;
  }
  return true;
}

size_t oat_few_packed(size_t m) {
  const size_t groups = oat_few_side(m) / WIDE;
  return WIDE * WIDE * groups * (groups + 1) / 2;
}

OAT_CLONES
void oat_few_pack(size_t n, size_t m, const double *a, double *packed) {
  const size_t ld = oat_few_side(n), side = oat_few_side(m);
  for (size_t j = 0; j < m; j++) {
    const size_t begin = group_of(j);
    for (size_t i = begin; i < side; i += WIDE) {
      PUT(packed + i - begin) = AT(a + i + j * ld);
    }
    for (size_t i = begin; i < j; i++) {
      packed[i - begin] = 0;
    }
    for (size_t i = m; i < side; i++) {
      packed[i - begin] = 0;
    }
    packed += side - begin;
  }
  for (size_t i = 0; i < (side - m) * WIDE; i++) {
    packed[i] = 0; /* columns that only fill the last group */
  }
}

/* Four columns at a time: their square on the diagonal number by number, what is below it in groups. They begin at the same row. */
OAT_CLONES
void oat_few_solve(size_t m, const double *packed, double *x) {
  const size_t side = oat_few_side(m);
  for (size_t begin = 0; begin < side; begin += WIDE) {
    const size_t ld = side - begin;
    const double *a = packed, *b = a + ld, *c = b + ld, *d = c + ld;
    double *at = x + begin;
    const double x0 = at[0] * a[0], x1 = (at[1] - a[1] * x0) * b[1], x2 = (at[2] - a[2] * x0 - b[2] * x1) * c[2];
    const double x3 = (at[3] - a[3] * x0 - b[3] * x1 - c[3] * x2) * d[3];
    PUT(at) = (four){x0, x1, x2, x3};
    for (size_t i = WIDE; i < ld; i += WIDE) {
      PUT(at + i) = AT(at + i) - ((x0 * AT(a + i) + x1 * AT(b + i)) + (x2 * AT(c + i) + x3 * AT(d + i)));
    }
    packed += WIDE * ld;
  }
}

OAT_CLONES
void oat_few_solve_back(size_t m, const double *packed, double *x) {
  const size_t side = oat_few_side(m);
  packed += oat_few_packed(m);
  for (size_t begin = side; begin > 0;) {
    begin -= WIDE;
    const size_t ld = side - begin;
    packed -= WIDE * ld;
    const double *a = packed, *b = a + ld, *c = b + ld, *d = c + ld;
    double *at = x + begin;
    four sum[WIDE] = {{0}, {0}, {0}, {0}};
    for (size_t i = WIDE; i < ld; i += WIDE) {
      const four other = AT(at + i);
      sum[0] += AT(a + i) * other;
      sum[1] += AT(b + i) * other;
      sum[2] += AT(c + i) * other;
      sum[3] += AT(d + i) * other;
    }
    const double x3 = (at[3] - sum_of(&sum[3])) * d[3], x2 = (at[2] - sum_of(&sum[2]) - c[3] * x3) * c[2];
    const double x1 = (at[1] - sum_of(&sum[1]) - b[3] * x3 - b[2] * x2) * b[1];
    const double x0 = (at[0] - sum_of(&sum[0]) - a[3] * x3 - a[2] * x2 - a[1] * x1) * a[0];
    PUT(at) = (four){x0, x1, x2, x3};
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
