/* The BLAS and LAPACK calls that oatgp uses, by their Fortran names, so that any BLAS will do. */
#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

/* The trailing sizes are the lengths of the character arguments, as Fortran compilers pass them. */
extern void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
                   const double *, const int *, const double *, double *, const int *, size_t, size_t);
extern void dsyrk_(const char *, const char *, const int *, const int *, const double *, const double *, const int *, const double *,
                   double *, const int *, size_t, size_t);
extern void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *, const double *,
                   const int *, double *, const int *, size_t, size_t, size_t, size_t);
extern void dtrmm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *, const double *,
                   const int *, double *, const int *, size_t, size_t, size_t, size_t);
extern void dtrtri_(const char *, const char *, const int *, double *, const int *, int *, size_t, size_t);
extern void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *, const double *, const int *,
                   const double *, double *, const int *, size_t);
extern double ddot_(const int *, const double *, const int *, const double *, const int *);
extern void dpotrf_(const char *, const int *, double *, const int *, int *, size_t);
extern void dlauum_(const char *, const int *, double *, const int *, int *, size_t);

static const int one = 1;
enum { SMALL = 24 }; /* order of triangles that are inverted directly */

static int leading(size_t ld) { return ld > 0 ? (int)ld : 1; }

void oat_gemm(double alpha, oat_const_view a, oat_op op_a, oat_const_view b, oat_op op_b, double beta, oat_view c) {
  const int m = (int)c.rows, n = (int)c.columns, k = (int)(op_a == OAT_PLAIN ? a.columns : a.rows);
  const int lda = leading(a.ld), ldb = leading(b.ld), ldc = leading(c.ld);
  const char ta = (char)op_a, tb = (char)op_b;
  dgemm_(&ta, &tb, &m, &n, &k, &alpha, a.a, &lda, b.a, &ldb, &beta, c.a, &ldc, 1, 1);
}

void oat_syrk(double alpha, oat_const_view a, double beta, oat_view c) {
  const int n = (int)c.rows, k = (int)a.rows, lda = leading(a.ld), ldc = leading(c.ld);
  dsyrk_("L", "T", &n, &k, &alpha, a.a, &lda, &beta, c.a, &ldc, 1, 1);
}

static void solve(char side, const double *l, size_t k, oat_op op, oat_view b) {
  const int m = (int)b.rows, n = (int)b.columns, ldl = leading(k), ldb = leading(b.ld);
  const double unit = 1;
  const char transpose = (char)op;
  dtrsm_(&side, "L", &transpose, "N", &m, &n, &unit, l, &ldl, b.a, &ldb, 1, 1, 1, 1);
}

void oat_solve_right(const double *l, size_t k, oat_op op, oat_view b) { solve('R', l, k, op, b); }

void oat_solve_left(const double *l, size_t k, oat_op op, oat_view b) { solve('L', l, k, op, b); }

/* B <- factor op(T) B (side 'L') or factor B op(T) (side 'R'), T lower triangular with leading dimension ldt */
static void multiply(char side, const double *t, size_t ldt, oat_op op, double factor, oat_view b) {
  const int m = (int)b.rows, n = (int)b.columns, ld = leading(ldt), ldb = leading(b.ld);
  const char transpose = (char)op;
  dtrmm_(&side, "L", &transpose, "N", &m, &n, &factor, t, &ld, b.a, &ldb, 1, 1, 1, 1);
}

/* The inverse of a lower triangle, in place: of both halves, then -L22^-1 L21 L11^-1. LAPACK's is slow for such orders. */
static void invert(double *l, size_t n, size_t ld) {
  if (n <= SMALL) {
    const int order = (int)n, leads = leading(ld);
    int info = 0;
    dtrtri_("L", "N", &order, l, &leads, &info, 1, 1);
    return;
  }
  const size_t half = n / 2;
  const oat_view corner = {l + half, n - half, half, ld};
  double *end = l + half * (ld + 1);
  invert(l, half, ld);
  invert(end, n - half, ld);
  multiply('R', l, ld, OAT_PLAIN, 1, corner);
  multiply('L', end, ld, OAT_PLAIN, -1, corner);
}

/* Blocks of equal size, in steps of 8 that suit vector registers. */
static size_t leaf_size(size_t k) {
  const size_t blocks = (k + OAT_LEAF - 1) / OAT_LEAF, even = blocks > 0 ? (k + blocks - 1) / blocks : 1;
  return (even + 7) & ~(size_t)7;
}

oat_triangle oat_triangle_make(const double *l, size_t k, double *room) {
  const size_t leaf = leaf_size(k);
  for (size_t first = 0; first < k; first += leaf) {
    const size_t count = k - first < leaf ? k - first : leaf;
    double *block = room + first * leaf;
    for (size_t j = 0; j < count; j++) {
      memcpy(block + j * leaf, l + first + (first + j) * k, count * sizeof *block);
    }
    invert(block, count, leaf);
  }
  return (oat_triangle){k, leaf, l, room};
}

/* The columns of B belong to the rows and columns of L from `first` on: half of them, a product that takes these out of the other half,
 * the other half. */
static void solve_part(const oat_triangle *t, size_t first, oat_op op, oat_view b) {
  if (b.columns <= t->leaf) {
    multiply('R', t->inverse + first * t->leaf, t->leaf, op, 1, b);
    return;
  }
  const size_t half = (b.columns + t->leaf - 1) / t->leaf / 2 * t->leaf;
  const oat_view left = {b.a, b.rows, half, b.ld}, right = {b.a + half * b.ld, b.rows, b.columns - half, b.ld};
  const oat_const_view corner = {t->l + first + half + first * t->k, right.columns, half, t->k};
  if (op == OAT_TRANSPOSED) {
    solve_part(t, first, op, left);
    oat_gemm(-1, oat_as_const(left), OAT_PLAIN, corner, OAT_TRANSPOSED, 1, right);
    solve_part(t, first + half, op, right);
  } else {
    solve_part(t, first + half, op, right);
    oat_gemm(-1, oat_as_const(right), OAT_PLAIN, corner, OAT_PLAIN, 1, left);
    solve_part(t, first, op, left);
  }
}

void oat_triangle_solve(const oat_triangle *triangle, oat_op op, oat_view b) { solve_part(triangle, 0, op, b); }

void oat_gemv(double alpha, oat_const_view a, oat_op op, const double *x, double beta, double *y) {
  const int m = (int)a.rows, n = (int)a.columns, lda = leading(a.ld);
  const char transpose = (char)op;
  dgemv_(&transpose, &m, &n, &alpha, a.a, &lda, x, &one, &beta, y, &one, 1);
}

double oat_dot(size_t n, const double *x, const double *y) {
  const int count = (int)n;
  return ddot_(&count, x, &one, y, &one);
}

/* Some LAPACKs let a NaN through; then a later diagonal element shows it. */
static size_t first_bad_pivot(size_t n, const double *l) {
  for (size_t i = 0; i < n; i++) {
    const double pivot = l[i + i * n];
    if (!(pivot > 0) || !isfinite(pivot)) {
      return i + 1;
    }
  }
  return 0;
}

size_t oat_cholesky(size_t n, double *a) {
  const int order = (int)n, lda = leading(n);
  int info = 0;
  dpotrf_("L", &order, a, &lda, &info, 1);
  for (size_t j = 1; j < n; j++) {
    for (size_t i = 0; i < j; i++) {
      a[i + j * n] = 0;
    }
  }
  return info != 0 ? (size_t)(info > 0 ? info : 1) : first_bad_pivot(n, a);
}

oat_lifted oat_cholesky_lifted(size_t n, const double *a, const oat_lifts *lifts, double *l) {
  oat_lifted done = {0, 0};
  double next = lifts->plain ? 0 : lifts->least;
  do {
    done.lift = next;
    memcpy(l, a, n * n * sizeof *l);
    for (size_t i = 0; i < n; i++) {
      l[i * (n + 1)] += done.lift;
    }
    done.pivot = oat_cholesky(n, l);
    next = done.lift > 0 ? lifts->factor * done.lift : lifts->least;
  } while (done.pivot != 0 && next > done.lift && next <= lifts->most);
  return done;
}

void oat_cholesky_inverse(size_t n, double *l) {
  const int order = (int)n, lda = leading(n);
  int info = 0;
  invert(l, n, n);
  dlauum_("L", &order, l, &lda, &info, 1);
}

bool oat_all_finite(size_t n, const double *x, double lowest) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i]) || x[i] < lowest) {
      return false;
    }
  }
  return true;
}

double oat_log_diagonal(size_t n, const double *l) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += log(l[i + i * n]);
  }
  return sum;
}

/* Tiles of the strict upper triangle, small enough that both they and their mirror images stay in cache. */
enum { TILE = 8 };

typedef void (*pair_fn)(double *upper, double *lower);

static inline void for_each_pair(size_t n, double *a, pair_fn act) {
  for (size_t first = 0; first < n; first += TILE) {
    const size_t end = first + TILE < n ? first + TILE : n;
    for (size_t j = first; j < n; j++) {
      for (size_t i = first; i < (j < end ? j : end); i++) {
        act(&a[i + j * n], &a[j + i * n]);
      }
    }
  }
}

static inline void copy_up(double *upper, double *lower) { *upper = *lower; }

static inline void swap(double *upper, double *lower) {
  const double kept = *upper;
  *upper = *lower;
  *lower = kept;
}

static inline void average(double *upper, double *lower) {
  *upper = 0.5 * (*upper + *lower);
  *lower = *upper;
}

void oat_symmetrise(size_t n, double *a) { for_each_pair(n, a, copy_up); }

void oat_transpose(size_t n, double *a) { for_each_pair(n, a, swap); }

void oat_average_halves(size_t n, double *a) { for_each_pair(n, a, average); }
