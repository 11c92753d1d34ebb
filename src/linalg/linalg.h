/* The BLAS and LAPACK calls that oatgp uses, and the Cholesky factorisation that says where it failed.
 *
 * All matrices are column-major with a leading dimension. Triangles are lower. Sizes must be below 2^31. Functions with
 * `threads` use that many if they pay off. Results have the same bits for any number. The BLAS uses one thread
 * inside. */
#ifndef OAT_LINALG_H
#define OAT_LINALG_H

#include <stdbool.h>
#include <stddef.h>

#include "oatgp.h"

#define OAT_TWO_PI 6.283185307179586476925

enum { OAT_LARGEST_SIDE = 46340 }; /* of a square matrix: an int can count its elements */

typedef enum oat_op { OAT_PLAIN = 'N', OAT_TRANSPOSED = 'T' } oat_op;
typedef enum oat_side { OAT_FROM_LEFT = 'L', OAT_FROM_RIGHT = 'R' } oat_side;

/* A view of a matrix: element (i, j) is a[i + j * ld]. */
typedef struct oat_view {
  double *a;
  size_t rows, columns, ld;
} oat_view;

typedef struct oat_const_view {
  const double *a;
  size_t rows, columns, ld;
} oat_const_view;

/* C = alpha op(A) op(B) + beta C */
void oat_gemm(double alpha, oat_const_view a, oat_op op_a, oat_const_view b, oat_op op_b, double beta, oat_view c);
/* Lower triangle of C = alpha op(A) op(B) + beta C, C square. Above the diagonal, numbers are lost. */
void oat_gemm_lower(double alpha, oat_const_view a, oat_op op_a, oat_const_view b, oat_op op_b, double beta,
                    oat_view c);
/* Lower triangle of C = alpha A^T A + beta C */
void oat_syrk(double alpha, oat_const_view a, double beta, oat_view c);
/* B <- op(L)^-1 B, or B op(L)^-1 on the right, L lower triangular */
void oat_trsm(oat_side side, oat_const_view l, oat_op op, oat_view b);
/* B <- B op(L)^-1: the right-side solve, for rows x K blocks */
void oat_solve_right(const double *l, size_t k, oat_op op, oat_view b);
/* The same for many rows, at the speed of a matrix product: the blocks on the diagonal of L, of order at most OAT_LEAF,
 * are inverted once, and the rest is a triangular solve. Measured (tests/test_conditioning.c), knot gradients are as
 * accurate as with a plain solve, better if knots are sorted, and up to a digit worse if knots that almost coincide are
 * next to each other. `room` has oat_triangle_room(k) doubles and lives as long as the triangle. O(k OAT_LEAF^2). The
 * plain triangle has no inverses: they would lose up to seven digits if L is that of an exact GP without noise. */
enum { OAT_LEAF = 104 };
typedef struct oat_triangle {
  size_t k, leaf;
  const double *l, *inverse; /* inverse: block after block, each with leading dimension `leaf`; NULL: none */
} oat_triangle;
static inline size_t oat_triangle_room(size_t k) { return OAT_LEAF * k; }
oat_triangle oat_triangle_make(const double *l, size_t k, double *room, int threads);
oat_triangle oat_triangle_plain(const double *l, size_t k);
void oat_triangle_solve(const oat_triangle *triangle, oat_op op, oat_view b);
/* Makes some rows of a matrix, from `first` on. */
typedef void (*oat_fill_rows)(void *self, size_t first, oat_view rows);
/* The same in threads, by panels of rows that depend only on the number of rows. `fill`, unless it is NULL, computes
 * each panel before it is solved. */
void oat_triangle_solve_rows(const oat_triangle *triangle, oat_op op, oat_view b, oat_fill_rows fill, void *self,
                             int threads);
/* B <- op(L)^-1 B */
void oat_solve_left(const double *l, size_t k, oat_op op, oat_view b, int threads);
/* y = alpha op(A) x + beta y */
void oat_gemv(double alpha, oat_const_view a, oat_op op, const double *x, double beta, double *y);
/* Dot product */
double oat_dot(size_t n, const double *x, const double *y);

/* Lower Cholesky factor in place; the strict upper triangle is set to 0. Returns 0, or the number (from 1) of the pivot
 * that was not positive (also for NaN). O(n^3 / 3). */
size_t oat_cholesky(size_t n, double *a, int threads);
/* The amounts to add to a diagonal until its Cholesky factorisation succeeds: first nothing if `plain`, then least,
 * factor * least and so on, up to `most`. `base` is always added. */
typedef struct oat_lifts {
  double base;
  bool plain;
  double least, factor, most;
} oat_lifts;
typedef struct oat_lifted {
  size_t pivot; /* as of oat_cholesky, with this lift */
  double lift;  /* the one that was tried last */
} oat_lifted;
/* `l` becomes the factor of `a` with the smallest lift that succeeds; `a` does not change. */
oat_lifted oat_cholesky_lifted(size_t n, const double *a, const oat_lifts *lifts, double *l, int threads);
/* Replaces the factor of a matrix by that of the matrix without row and column i, in the first (n - 1)^2 numbers of its
 * place; x has room for n numbers. O(n^2 + 2 (n - i)^2). */
void oat_cholesky_without(size_t n, double *l, size_t i, double *x);
/* The lower triangle of the inverse of a matrix, from its lower Cholesky factor, which it may overwrite. O(2 n^3 /
 * 3). */
void oat_cholesky_inverse(size_t n, const double *l, double *inverse, int threads);
/* Whether n numbers are from `lowest` on and finite. */
bool oat_all_finite(size_t n, const double *x, double lowest);
/* sum_i log l_ii */
double oat_log_diagonal(size_t n, const double *l);
/* Copies the lower triangle to the upper one. */
void oat_symmetrise(size_t n, double *a, int threads);
/* A <- (A + A^T) / 2 */
void oat_average_halves(size_t n, double *a, int threads);

/* Sets the number of threads that the BLAS uses from now on, if it allows that: 1 for the library, whose own threads
 * call it. */
void oat_set_blas_threads(int threads);
/* How many of these threads can use the BLAS at the same time within the address space. If that is limited (ulimit -v,
 * -d), memory for that many is reserved now, because a BLAS that later finds none waits forever. */
int oat_reserve_blas(int threads);
/* The bytes of the address space that a thread takes for this. */
size_t oat_blas_buffer(void);

/* Buffers of OpenBLAS. It maps one for each thread that calls it, keeps it for later calls, and retries forever if the
 * address space has no room. So they are reserved before the work, as many as there is room for. */
#define OAT_BLAS_BUFFER ((size_t)128 << 20) /* its largest, that of x86-64 */

/* Holds as many buffers as there are threads, or as fit, at the same time, and gives them back; returns how many.
 * Without a limit of the address space it does nothing. */
int oat_reserve_buffers(int threads, void *(*take)(int which), void (*give_back)(void *buffer));

static inline oat_view oat_square(double *a, size_t n) { return (oat_view){a, n, n, n}; }
static inline oat_const_view oat_const_square(const double *a, size_t n) { return (oat_const_view){a, n, n, n}; }
static inline oat_const_view oat_as_const(oat_view v) { return (oat_const_view){v.a, v.rows, v.columns, v.ld}; }

/* ---- generalised least squares --------------------------------------------------------------------------------- */

/* Generalised least squares for the basis H of an estimated mean: A = H^T S^-1 H, S the covariance of the rows.
 *
 * A is scaled to a unit diagonal and factorised with a ridge of the size of rounding errors. The ridge is raised until
 * the factorisation succeeds: if A is a small difference of large sums, collinear columns have lost more digits. */
/* The arrays are one block of oat_gls_room(p) doubles that the caller owns. */
typedef struct oat_gls {
  size_t p;
  double *size;   /* p: the sizes of the sums whose difference is the diagonal of A */
  double *root;   /* p: roots of the diagonal of A */
  double *scaled; /* p x p */
  double *factor; /* p x p: the Cholesky factor of the scaled matrix and its ridge */
} oat_gls;

size_t oat_gls_room(size_t p);
oat_gls oat_gls_over(double *room, size_t p);
/* Takes A from gram = R^T S^-1 R of R = [r, H], (1 + p) square. `size` is a matrix of the same shape (it may be gram)
 * whose diagonal has the sizes; NULL keeps those of the latest call. OATGP_NUMERIC (no sentence is stored): no ridge
 * helps. */
oatgp_status oat_gls_factorise(oat_gls *gls, const double *gram, const double *size);
/* x <- A^-1 x, p numbers. For x = H^T S^-1 r, the result is the coefficients. */
void oat_gls_solve(const oat_gls *gls, double *x);
/* x^T A^-1 x; work has p numbers and may be x. Without a row, A becomes A - kappa e e^T, where e are the errors of the
 * columns of H there and kappa is the precision of the row given the others. So the error of the row grows by 1 / (1 -
 * kappa e^T A^-1 e) when the mean is estimated without it. */
double oat_gls_quadratic(const oat_gls *gls, const double *x, double *work);
/* The error of a row that was left out, with the mean estimated without it, from the errors e of the columns of R there
 * (1 + p numbers, which are used up). If 1 - t is only the ridge, a coefficient cannot be estimated without this row,
 * and the ridge determines it. */
double oat_gls_error(const oat_gls *gls, const double *coefficient, double *e, double kappa);

#endif
