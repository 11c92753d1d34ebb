/* Loops in groups of four numbers, which suit all vector units, and tiles that stay in registers. Products of rows use
 * groups of eight where the processor has them. */
#include "linalg/few.h"

#include <math.h>
#include <string.h>

#include "util/groups.h"

enum { WIDE = 4, TILE = 4, NARROW = 3, STRIP = 8 };
typedef long long four_places __attribute__((vector_size(32)));
#define FETCH(p) __builtin_prefetch(p, 0, 2)

/* By pointer, because compilers do not agree on how to pass a vector without a vector unit. */
INLINE double sum_of(const four *x) { return ((*x)[0] + (*x)[1]) + ((*x)[2] + (*x)[3]); }

/* Four numbers out of the eight of two groups. */
#if defined(__clang__)
#define PICK(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
#define PICK(x, y, a, b, c, d) __builtin_shuffle(x, y, (four_places){a, b, c, d})
#endif

/* The sums of four groups. */
INLINE void sums_of(const four *x, four *out) {
  const four low = PICK(x[0], x[1], 0, 4, 2, 6) + PICK(x[0], x[1], 1, 5, 3, 7);
  const four high = PICK(x[2], x[3], 0, 4, 2, 6) + PICK(x[2], x[3], 1, 5, 3, 7);
  *out = PICK(low, high, 0, 1, 4, 5) + PICK(low, high, 2, 3, 6, 7);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* The four sums of a tile's column, one for each row. */
INLINE void fold_four(const four *sum, four *out) { sums_of(sum, out); }

INLINE void fold_eight(const eight *sum, four *out) {
  four halves[TILE][2], folded[TILE];
  memcpy(halves, sum, sizeof halves);
  for (size_t r = 0; r < TILE; r++) {
    folded[r] = halves[r][0] + halves[r][1];
  }
  sums_of(folded, out);
}

/* A function for tiles of four rows and so many columns: column c of `out` has a_r . b_c of the rows. The sums must
 * stay in registers. AVX-512 has 32 of them, enough for four columns; AVX2 has 16, enough for three. Another row is
 * fetched. */
#define DEFINE_TILE(name, group, columns, fold)                                                               \
  INLINE void name(size_t k, const double *const *a, const double *const *b, const double *next, four *out) { \
    enum { SIZE = sizeof(group) / sizeof(double) };                                                           \
    group sum[columns][TILE];                                                                                 \
    size_t i = 0;                                                                                             \
    memset(sum, 0, sizeof sum);                                                                               \
    for (; i + SIZE <= k; i += SIZE) {                                                                        \
      group y[TILE];                                                                                          \
      FETCH(next + i);                                                                                        \
      for (size_t r = 0; r < TILE; r++) {                                                                     \
        y[r] = *(const group##_anywhere *)(a[r] + i);                                                         \
      }                                                                                                       \
      for (size_t c = 0; c < columns; c++) {                                                                  \
        const group x = *(const group##_anywhere *)(b[c] + i);                                                \
        for (size_t r = 0; r < TILE; r++) {                                                                   \
          sum[c][r] += x * y[r];                                                                              \
        }                                                                                                     \
      }                                                                                                       \
    }                                                                                                         \
    for (size_t c = 0; c < columns; c++) {                                                                    \
      fold(sum[c], &out[c]);                                                                                  \
    }                                                                                                         \
    for (; i < k; i++) {                                                                                      \
      for (size_t c = 0; c < columns; c++) {                                                                  \
        out[c] += b[c][i] * (four){a[0][i], a[1][i], a[2][i], a[3][i]};                                       \
      }                                                                                                       \
    }                                                                                                         \
  }

DEFINE_TILE(multiply_tile, four, NARROW, fold_four)
DEFINE_TILE(multiply_wide_tile, eight, TILE, fold_eight)

/* Four rows from `first` on; if there are fewer, the last one is repeated. */
INLINE void take_tile(const oat_few *rows, const double *const *from, size_t first, const double **out) {
  for (size_t t = 0; t < TILE; t++) {
    out[t] = from[first + t < rows->m ? first + t : rows->m - 1];
  }
}

INLINE const double *const *next_of(const oat_few *rows) { return rows->next != NULL ? rows->next : rows->row; }

OAT_CLONES
void oat_few_products(oat_few rows, double *c) {
  const bool wide = oat_wide_groups();
  const size_t ld = oat_few_side(rows.m), columns = wide ? TILE : NARROW;
  const double *a[TILE], *b[TILE], *const *next = next_of(&rows);
  four out[TILE];
  size_t fetched = 0; /* except for the last few, there are at least as many tiles as rows */
  for (size_t i = 0; i < rows.m; i += TILE) {
    take_tile(&rows, rows.row, i, a);
    for (size_t j = 0; j < i + TILE && j < rows.m; j += columns) {
      take_tile(&rows, rows.row, j, b);
      if (wide) {
        multiply_wide_tile(rows.k, a, b, next[fetched], out);
      } else {
        multiply_tile(rows.k, a, b, next[fetched], out);
      }
      fetched += fetched + 1 < rows.m;
      for (size_t t = 0; t < columns && j + t < rows.m; t++) {
        PUT(c + i + (j + t) * ld) = AT(c + i + (j + t) * ld) - out[t];
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

/* ---- small matrices -------------------------------------------------------------------------------------------- */

/* Where the group of the diagonal begins. */
INLINE size_t group_of(size_t j) { return j / WIDE * WIDE; }

/* Subtracts the products of the first `done` columns from the numbers i to i + WIDE * groups of column j. */
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

/* Four columns at a time, which begin at the same row: the square on their diagonal number by number, and the rest in
 * groups. */
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
