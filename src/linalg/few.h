/* Algebra with a few rows of K numbers each, anywhere in memory, and with the small matrices that result. The BLAS
 * would need the rows to be contiguous, and has a fixed cost for each call. */
#ifndef OAT_FEW_H
#define OAT_FEW_H

#include <stdbool.h>
#include <stddef.h>

typedef struct oat_few {
  size_t m, k;
  const double *const *row;  /* m, each of k numbers */
  const double *const *next; /* the same number of rows that will be needed next, to prefetch; or NULL */
} oat_few;

/* c_ab -= row_a . row_b in the lower triangle of C, whose ld is oat_few_side(m). Above the diagonal, and behind the
 * last row, numbers are lost. */
void oat_few_products(oat_few rows, double *c);
/* y_a = row_a . x */
void oat_few_dots(oat_few rows, const double *x, double *y);
/* y += sum_a f_a row_a */
void oat_few_add(oat_few rows, const double *f, double *y);

/* The leading dimension of a small matrix, and the size of a vector with it: columns are read and written in groups of
 * four. */
static inline size_t oat_few_side(size_t n) { return (n + 3) / 4 * 4; }
/* The first `pivots` columns of the lower triangle become those of the Cholesky factor, with the inverse of each number
 * on its diagonal; the rest becomes the Schur complement. Above the diagonal, and behind the last row, numbers are
 * lost. False: a pivot is not positive. */
bool oat_few_cholesky(size_t n, size_t pivots, double *a);
/* The factor of m pivots, column after column from the group of the diagonal on, 0 above it and behind the last row and
 * column. n is the order of the matrix. */
size_t oat_few_packed(size_t m);
void oat_few_pack(size_t n, size_t m, const double *a, double *packed);
/* x <- L^-1 x and L^-T x, of such a factor. x has oat_few_side(m) numbers, those behind the last 0. */
void oat_few_solve(size_t m, const double *packed, double *x);
void oat_few_solve_back(size_t m, const double *packed, double *x);

/* b_ji = a_ij: rows x columns, both column-major. */
void oat_transpose(size_t rows, size_t columns, const double *a, size_t lda, double *b, size_t ldb);

#endif
