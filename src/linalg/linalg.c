/* The BLAS and LAPACK calls that oatgp uses, by their Fortran names, so that any BLAS works. */
#include <math.h>
#include <string.h>

#include "linalg/calls.h"
#include "util/lanes.h"

/* The trailing sizes are the lengths of the character arguments, as Fortran compilers pass them. */
extern void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                   const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
extern void dsyrk_(const char *, const char *, const int *, const int *, const double *, const double *, const int *,
                   const double *, double *, const int *, size_t, size_t);
extern void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
                   const double *, const int *, double *, const int *, size_t, size_t, size_t, size_t);
extern void dtrmm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
                   const double *, const int *, double *, const int *, size_t, size_t, size_t, size_t);
extern void dtrtri_(const char *, const char *, const int *, double *, const int *, int *, size_t, size_t);
extern void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *, const double *,
                   const int *, const double *, double *, const int *, size_t);
extern double ddot_(const int *, const double *, const int *, const double *, const int *);
extern void dtrsv_(const char *, const char *, const char *, const int *, const double *, const int *, double *,
                   const int *, size_t, size_t, size_t);
extern void dpotrf_(const char *, const int *, double *, const int *, int *, size_t);
extern void dlauum_(const char *, const int *, double *, const int *, int *, size_t);

static const int one = 1;
enum {
  SMALL = 24,       /* order of triangles that are inverted directly */
  WHOLE = 104,      /* order of triangles that one call takes */
  LEAST_PANEL = 80, /* least rows of a panel in a solve; fewer cost at least 10 % */
  LOWER_PANEL = 40, /* least columns of a panel if only the lower triangle of a product is needed */
  STRIP = 8         /* rows of a strip */
};

static int leading(size_t ld) { return ld > 0 ? (int)ld : 1; }

/* Runs items that need no scratch, on any threads. */
static void run_items(size_t items, double flops, int threads, void (*item)(void *self, size_t lane, size_t item),
                      void *self) {
  oat_loop_run(&(oat_loop){
      .items = items, .lanes = oat_lanes_for(items), .threads = threads, .flops = flops, .item = item, .self = self});
}

void oat_gemm(double alpha, oat_const_view a, oat_op op_a, oat_const_view b, oat_op op_b, double beta, oat_view c) {
  const int m = (int)c.rows, n = (int)c.columns, k = (int)(op_a == OAT_PLAIN ? a.columns : a.rows);
  const int lda = leading(a.ld), ldb = leading(b.ld), ldc = leading(c.ld);
  const char ta = (char)op_a, tb = (char)op_b;
  dgemm_(&ta, &tb, &m, &n, &k, &alpha, a.a, &lda, b.a, &ldb, &beta, c.a, &ldc, 1, 1);
}

/* The columns of the result that are computed together. Narrower panels skip more of the upper triangle, but each costs
 * more. */
static size_t panel_of(size_t columns) {
  const size_t sixth = (columns / 6 + 7) & ~(size_t)7;
  return sixth > LOWER_PANEL ? sixth : LOWER_PANEL;
}

void oat_gemm_lower(double alpha, oat_const_view a, oat_op op_a, oat_const_view b, oat_op op_b, double beta,
                    oat_view c) {
  const size_t panel = panel_of(c.columns);
  for (size_t first = 0; first < c.columns; first += panel) {
    const size_t columns = first + panel < c.columns ? panel : c.columns - first, rows = c.rows - first;
    const oat_const_view below = op_a == OAT_PLAIN ? (oat_const_view){a.a + first, rows, a.columns, a.ld}
                                                   : (oat_const_view){a.a + first * a.ld, a.rows, rows, a.ld};
    const oat_const_view right = op_b == OAT_PLAIN ? (oat_const_view){b.a + first * b.ld, b.rows, columns, b.ld}
                                                   : (oat_const_view){b.a + first, columns, b.columns, b.ld};
    oat_gemm(alpha, below, op_a, right, op_b, beta, (oat_view){c.a + first * (c.ld + 1), rows, columns, c.ld});
  }
}

void oat_syrk_of(oat_op op, double alpha, oat_const_view a, double beta, oat_view c) {
  const int n = (int)c.rows, k = (int)(op == OAT_PLAIN ? a.columns : a.rows), lda = leading(a.ld), ldc = leading(c.ld);
  const char transpose = (char)op;
  dsyrk_("L", &transpose, &n, &k, &alpha, a.a, &lda, &beta, c.a, &ldc, 1, 1);
}

void oat_syrk(double alpha, oat_const_view a, double beta, oat_view c) {
  oat_syrk_of(OAT_TRANSPOSED, alpha, a, beta, c);
}

/* A triangle by its halves, with the parts of B that belong to them, and `corner` between these: such a call runs at
 * two thirds of the speed of a product for the whole, whose corner is one. */
typedef struct parts {
  oat_const_view first, second, corner;
  oat_view b1, b2;
} parts;

static parts split(oat_side side, oat_const_view t, oat_view b) {
  const size_t half = (t.rows / 2 + 7) & ~(size_t)7, rest = t.rows - half;
  const bool left = side == OAT_FROM_LEFT;
  return (parts){.first = {t.a, half, half, t.ld},
                 .second = {t.a + half * (t.ld + 1), rest, rest, t.ld},
                 .corner = {t.a + half, rest, half, t.ld},
                 .b1 = {b.a, left ? half : b.rows, left ? b.columns : half, b.ld},
                 .b2 = {left ? b.a + half : b.a + half * b.ld, left ? rest : b.rows, left ? b.columns : rest, b.ld}};
}

/* to += factor op(corner) from, or factor from op(corner) */
static void add_corner(oat_side side, double factor, oat_const_view corner, oat_op op, oat_view from, oat_view to) {
  if (side == OAT_FROM_LEFT) {
    oat_gemm(factor, corner, op, oat_as_const(from), OAT_PLAIN, 1, to);
  } else {
    oat_gemm(factor, oat_as_const(from), OAT_PLAIN, corner, op, 1, to);
  }
}

void oat_trsm(oat_side side, oat_const_view l, oat_op op, oat_view b) {
  if (l.rows > WHOLE) {
    const parts p = split(side, l, b);
    const bool forwards = (side == OAT_FROM_LEFT) == (op == OAT_PLAIN);
    oat_trsm(side, forwards ? p.first : p.second, op, forwards ? p.b1 : p.b2);
    add_corner(side, -1, p.corner, op, forwards ? p.b1 : p.b2, forwards ? p.b2 : p.b1);
    oat_trsm(side, forwards ? p.second : p.first, op, forwards ? p.b2 : p.b1);
    return;
  }
  const int m = (int)b.rows, n = (int)b.columns, ldl = leading(l.ld), ldb = leading(b.ld);
  const double unit = 1;
  const char on = (char)side, transpose = (char)op;
  dtrsm_(&on, "L", &transpose, "N", &m, &n, &unit, l.a, &ldl, b.a, &ldb, 1, 1, 1, 1);
}

void oat_trsv(oat_const_view l, oat_op op, double *x) {
  const int n = (int)l.rows, ldl = leading(l.ld);
  const char transpose = (char)op;
  dtrsv_("L", &transpose, "N", &n, l.a, &ldl, x, &one, 1, 1, 1);
}

void oat_solve_right(const double *l, size_t k, oat_op op, oat_view b) {
  oat_trsm(OAT_FROM_RIGHT, oat_const_square(l, k), op, b);
}

void oat_trmm(oat_side side, double factor, oat_const_view t, oat_op op, oat_view b) {
  if (t.rows > WHOLE) {
    const parts p = split(side, t, b);
    const bool backwards = (side == OAT_FROM_LEFT) == (op == OAT_PLAIN);
    oat_trmm(side, factor, backwards ? p.second : p.first, op, backwards ? p.b2 : p.b1);
    add_corner(side, factor, p.corner, op, backwards ? p.b1 : p.b2, backwards ? p.b2 : p.b1);
    oat_trmm(side, factor, backwards ? p.first : p.second, op, backwards ? p.b1 : p.b2);
    return;
  }
  const int m = (int)b.rows, n = (int)b.columns, ld = leading(t.ld), ldb = leading(b.ld);
  const char on = (char)side, transpose = (char)op;
  dtrmm_(&on, "L", &transpose, "N", &m, &n, &factor, t.a, &ld, b.a, &ldb, 1, 1, 1, 1);
}

size_t oat_potrf(oat_view a) {
  const int n = (int)a.rows, lda = leading(a.ld);
  int info = 0;
  dpotrf_("L", &n, a.a, &lda, &info, 1);
  return (size_t)(info > 0 ? info : info < 0 ? 1 : 0);
}

void oat_lauum(oat_view l) {
  const int n = (int)l.rows, ldl = leading(l.ld);
  int info = 0;
  dlauum_("L", &n, l.a, &ldl, &info, 1);
}

void oat_trtri(oat_view l) {
  const size_t n = l.rows, half = n / 2;
  if (n <= SMALL) {
    const int order = (int)n, ld = leading(l.ld);
    int info = 0;
    dtrtri_("L", "N", &order, l.a, &ld, &info, 1, 1);
    return;
  }
  const oat_view first = {l.a, half, half, l.ld}, corner = {l.a + half, n - half, half, l.ld},
                 second = {corner.a + half * l.ld, n - half, n - half, l.ld};
  oat_trtri(first);
  oat_trtri(second);
  oat_trmm(OAT_FROM_RIGHT, 1, oat_as_const(first), OAT_PLAIN, corner);
  oat_trmm(OAT_FROM_LEFT, -1, oat_as_const(second), OAT_PLAIN, corner);
}

/* ---- a triangle whose diagonal blocks are inverted ------------------------------------------------------------- */

/* Blocks of equal size, in steps of 8 that suit vector registers. */
static size_t leaf_size(size_t k) {
  const size_t blocks = (k + OAT_LEAF - 1) / OAT_LEAF, even = blocks > 0 ? (k + blocks - 1) / blocks : 1;
  return (even + 7) & ~(size_t)7;
}

typedef struct leaves {
  oat_triangle t;
  double *room;
} leaves;

static void invert_leaf(void *self, size_t lane, size_t item) {
  const leaves *all = self;
  const size_t k = all->t.k, leaf = all->t.leaf, first = item * leaf, count = k - first < leaf ? k - first : leaf;
  double *block = all->room + first * leaf;
  (void)lane;
  for (size_t j = 0; j < count; j++) {
    memcpy(block + j * leaf, all->t.l + first + (first + j) * k, count * sizeof *block);
  }
  oat_trtri((oat_view){block, count, count, leaf});
}

oat_triangle oat_triangle_make(const double *l, size_t k, double *room, int threads) {
  const size_t leaf = leaf_size(k);
  leaves all = {{k, leaf, l, room}, room};
  run_items((k + leaf - 1) / leaf, (double)k * (double)(leaf * leaf) / 3, threads, invert_leaf, &all);
  return all.t;
}

oat_triangle oat_triangle_plain(const double *l, size_t k) { return (oat_triangle){k, leaf_size(k), l, NULL}; }

static void solve_leaf(const oat_triangle *t, size_t first, oat_op op, oat_view b) {
  const size_t n = b.columns;
  if (t->inverse == NULL) {
    oat_trsm(OAT_FROM_RIGHT, (oat_const_view){t->l + first * (t->k + 1), n, n, t->k}, op, b);
  } else {
    oat_trmm(OAT_FROM_RIGHT, 1, (oat_const_view){t->inverse + first * t->leaf, n, n, t->leaf}, op, b);
  }
}

/* The columns of B belong to the rows and columns of L from `first` on. Solves for half of them, subtracts their
 * product from the other half, and solves for that. */
static void solve_part(const oat_triangle *t, size_t first, oat_op op, oat_view b) {
  if (b.columns <= t->leaf) {
    solve_leaf(t, first, op, b);
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

typedef struct row_panels {
  const oat_triangle *t;
  oat_op op;
  oat_view b;
  size_t height;
  oat_fill_rows fill;
  void *self;
} row_panels;

static void solve_panel(void *self, size_t lane, size_t item) {
  const row_panels *p = self;
  const size_t first = item * p->height, left = p->b.rows - first, height = left < p->height ? left : p->height;
  const oat_view panel = {p->b.a + first, height, p->b.columns, p->b.ld};
  (void)lane;
  if (p->fill != NULL) {
    p->fill(p->self, first, panel);
  }
  oat_triangle_solve(p->t, p->op, panel);
}

void oat_triangle_solve_rows(const oat_triangle *triangle, oat_op op, oat_view b, oat_fill_rows fill, void *self,
                             int threads) {
  const size_t most = b.rows / LEAST_PANEL, even = most > 1 ? (b.rows + most - 1) / most : b.rows,
               height = (even + 7) & ~(size_t)7;
  row_panels panels = {triangle, op, b, height, fill, self};
  const double flops = (double)b.rows * (double)triangle->k * (double)triangle->k;
  run_items(b.rows > 0 ? (b.rows + height - 1) / height : 0, flops, threads, solve_panel, &panels);
}

/* ---- the rest -------------------------------------------------------------------------------------------------- */

void oat_gemv(double alpha, oat_const_view a, oat_op op, const double *x, double beta, double *y) {
  const int m = (int)a.rows, n = (int)a.columns, lda = leading(a.ld);
  const char transpose = (char)op;
  dgemv_(&transpose, &m, &n, &alpha, a.a, &lda, x, &one, &beta, y, &one, 1);
}

double oat_dot(size_t n, const double *x, const double *y) {
  const int count = (int)n;
  return ddot_(&count, x, &one, y, &one);
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

/* ---- both halves of a square matrix ---------------------------------------------------------------------------- */

typedef struct halves {
  size_t n;
  double *a;
} halves;

typedef void (*pair_fn)(double *upper, double *lower);

/* A strip of the upper triangle, STRIP rows high, so narrow that both it and its mirror image go through the cache
 * once. */
static inline void for_strip(const halves *m, size_t strip, pair_fn act) {
  const size_t first = strip * STRIP, end = first + STRIP < m->n ? first + STRIP : m->n;
  for (size_t j = first; j < m->n; j++) {
    for (size_t i = first; i < (j < end ? j : end); i++) {
      act(&m->a[i + j * m->n], &m->a[j + i * m->n]);
    }
  }
}

static inline void copy_up(double *upper, double *lower) { *upper = *lower; }

static inline void average(double *upper, double *lower) {
  *upper = 0.5 * (*upper + *lower);
  *lower = *upper;
}

static void symmetrise_strip(void *self, size_t lane, size_t item) {
  (void)lane;
  for_strip(self, item, copy_up);
}

static void average_strip(void *self, size_t lane, size_t item) {
  (void)lane;
  for_strip(self, item, average);
}

static void run_strips(size_t n, double *a, int threads, void (*strip)(void *self, size_t lane, size_t item)) {
  halves both = {n, a};
  run_items((n + STRIP - 1) / STRIP, OAT_FLOPS_OF_MEMORY * (double)n * (double)n, threads, strip, &both);
}

void oat_symmetrise(size_t n, double *a, int threads) { run_strips(n, a, threads, symmetrise_strip); }

void oat_average_halves(size_t n, double *a, int threads) { run_strips(n, a, threads, average_strip); }

/* The factor L becomes that of L L^T + x x^T; x is used up. L is a part of a matrix with leading dimension ld. O(2
 * n^2). */
static void update_factor(size_t n, double *l, size_t ld, double *x) {
  for (size_t j = 0; j < n; j++) {
    double *column = l + j * ld;
    const double root = hypot(column[j], x[j]), c = column[j] / root, s = x[j] / root;
    column[j] = root;
    for (size_t i = j + 1; i < n; i++) {
      const double before = column[i];
      column[i] = c * before + s * x[i];
      x[i] = c * x[i] - s * before;
    }
  }
}

/* The part of column i below its diagonal is added back to the rows below it. */
void oat_cholesky_without(size_t n, double *l, size_t i, double *x) {
  const size_t m = n - 1;
  memcpy(x, l + i + 1 + i * n, (m - i) * sizeof *x);
  for (size_t column = 0; column < m; column++) {
    const double *from = l + (column < i ? column : column + 1) * n;
    memmove(l + column * m, from, i * sizeof *l);
    memmove(l + column * m + i, from + i + 1, (m - i) * sizeof *l);
  }
  update_factor(m - i, l + i * (m + 1), m, x);
}
