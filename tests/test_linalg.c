/* Dense linear algebra by tiles against plain loops in long double, for orders around the borders of tiles and for
 * several numbers of threads, which change no bit; and the Cholesky factorisation that lifts the diagonal as little as
 * it must. */
#include "linalg/linalg.h"

#include <float.h>

#include "dense.h"
#include "support.h"
#include "util/threads.h"

enum { N = 3 };

/* A matrix of rank two with `more` on its diagonal, which is its smallest eigenvalue. */
static void make_singular(double more, double *a) {
  static const double u[N] = {1, 2, 3}, v[N] = {1, 0, -1};
  for (size_t i = 0; i < N * N; i++) {
    a[i] = u[i % N] * u[i / N] + v[i % N] * v[i / N] + (i % (N + 1) == 0 ? more : 0);
  }
}

/* The factor is that of the matrix with the lift, bit by bit. */
static void expect_factor(const double *a, double lift, const double *l) {
  double expected[N * N];
  memcpy(expected, a, sizeof expected);
  for (size_t i = 0; i < N; i++) {
    expected[i * (N + 1)] += lift;
  }
  assert_int_equal(oat_cholesky(N, expected, 1), 0);
  assert_memory_equal(expected, l, sizeof expected);
}

static void a_good_matrix_is_not_lifted(void **state) {
  (void)state;
  double a[N * N], l[N * N];
  const oat_lifts lifts = {.plain = true, .least = 1, .factor = 10, .most = 100};
  make_singular(1, a);
  const oat_lifted done = oat_cholesky_lifted(N, a, &lifts, l, 1);
  assert_int_equal(done.pivot, 0);
  assert_true(done.lift == 0);
  expect_factor(a, 0, l);
}

static void the_first_lift_that_helps_is_taken(void **state) {
  (void)state;
  double a[N * N], l[N * N];
  make_singular(-1.5, a); /* eigenvalue -1.5 */
  const oat_lifts lifts = {.plain = true, .least = 0.125, .factor = 2, .most = 64},
                  first = {.least = 4, .factor = 2, .most = 64};
  oat_lifted done = oat_cholesky_lifted(N, a, &lifts, l, 1);
  assert_int_equal(done.pivot, 0);
  assert_true(done.lift == 2);
  expect_factor(a, 2, l);
  done = oat_cholesky_lifted(N, a, &first, l, 1);
  assert_int_equal(done.pivot, 0);
  assert_true(done.lift == 4);
  expect_factor(a, 4, l);
}

static void lifting_ends(void **state) {
  (void)state;
  double a[N * N], l[N * N];
  make_singular(-1.5, a);
  const oat_lifts up_to_one = {.plain = true, .least = 0.25, .factor = 2, .most = 1};
  oat_lifted done = oat_cholesky_lifted(N, a, &up_to_one, l, 1);
  assert_true(done.pivot > 0);
  assert_true(done.lift == 1);
  const double senseless[] = {0, -1, NAN, HUGE_VAL};
  for (size_t i = 0; i < LENGTH(senseless); i++) { /* none of them loops for ever */
    const oat_lifts lifts = {.plain = true, .least = senseless[i], .factor = 10, .most = HUGE_VAL};
    assert_true(oat_cholesky_lifted(N, a, &lifts, l, 1).pivot > 0);
  }
  a[0] = NAN;
  const oat_lifts wide = {.plain = true, .least = DBL_MIN, .factor = 10, .most = DBL_MAX};
  assert_int_equal(oat_cholesky_lifted(N, a, &wide, l, 1).pivot, 1);
}

/* ---- by tiles -------------------------------------------------------------------------------------------------- */

/* Tiles have at least 64 rows, and 128 rows are two of them; panels of rows have at least 80. */
static const size_t orders[] = {1, 2, 63, 64, 81, 127, 128, 129, 208, 301, 390};
static const int counts[] = {1, 2, 3, 4, 7, 16};

static size_t order_at(size_t i) { return under_valgrind() ? orders[i + 4] : orders[i]; }
static size_t order_count(void) { return under_valgrind() ? 4 : LENGTH(orders); }
static size_t count_count(void) { return under_valgrind() ? 2 : LENGTH(counts); }

/* Numbers of no order. */
static double noise_at(size_t i) { return sin(12.9898 * (double)i + 1) * 0.5; }

/* A positive definite matrix with a condition of some thousands. What is above its diagonal must not matter. */
static double *definite(size_t n) {
  double *a = calloc(n * n, sizeof *a);
  for (size_t i = 0; i < n * n; i++) {
    const double apart = ((double)(i % n) - (double)(i / n)) / 20;
    a[i] = i % n < i / n ? 77 : exp(-apart * apart / 2) + (i % (n + 1) == 0 ? 0.01 : 0);
  }
  return a;
}

static double *copy_of(size_t count, const double *a) {
  double *copy = calloc(count, sizeof *copy);
  memcpy(copy, a, count * sizeof *copy);
  return copy;
}

/* The factor in long double. */
static real *dense_factor(size_t n, const double *a) {
  real *l = dense_new(n, n);
  for (size_t i = 0; i < n * n; i++) {
    l[i] = i % n < i / n ? a[i / n + i % n * n] : a[i];
  }
  dense_cholesky(n, l);
  return l;
}

static void expect_close(size_t n, size_t at, double got, real wanted, real size) {
  if (!(fabsl(got - wanted) <= 1e-10L * size)) {
    fail_msg("order %zu, element %zu: %.17g and not %.17g", n, at, got, (double)wanted);
  }
}

static void cholesky_by_tiles(void **state) {
  (void)state;
  for (size_t o = 0; o < order_count(); o++) {
    const size_t n = order_at(o);
    double *a = definite(n), *first = copy_of(n * n, a);
    assert_int_equal(oat_cholesky(n, first, 1), 0);
    real *l = under_valgrind() ? NULL : dense_factor(n, a);
    for (size_t i = 0; l != NULL && i < n * n; i++) {
      expect_close(n, i, first[i], i % n < i / n ? 0 : l[i], 1);
    }
    for (size_t t = 1; t < count_count(); t++) {
      double *other = copy_of(n * n, a);
      assert_int_equal(oat_cholesky(n, other, counts[t]), 0);
      assert_memory_equal(first, other, n * n * sizeof *first);
      free(other);
    }
    free(l);
    free(a);
    free(first);
  }
}

static void inverse_by_tiles(void **state) {
  (void)state;
  for (size_t o = 0; o < order_count(); o++) {
    const size_t n = order_at(o);
    double *a = definite(n), *l = copy_of(n * n, a);
    assert_int_equal(oat_cholesky(n, l, 1), 0);
    double *first = copy_of(n * n, l);
    oat_cholesky_inverse(n, first, first, 1);
    real *inverse = dense_new(n, n), *factor = under_valgrind() ? NULL : dense_factor(n, a);
    if (factor != NULL) {
      dense_add_diagonal(n, inverse, 1);
      dense_solve(n, factor, inverse, n);
    }
    for (size_t i = 0; factor != NULL && i < n * n; i++) {
      if (i % n >= i / n) {
        expect_close(n, i, first[i], inverse[i], 100);
      }
    }
    for (size_t t = 1; t < count_count(); t++) {
      double *other = copy_of(n * n, l);
      oat_cholesky_inverse(n, t % 2 == 0 ? l : other, other, counts[t]);
      assert_memory_equal(first, other, n * n * sizeof *first);
      free(other);
    }
    free(inverse);
    free(factor);
    free(a);
    free(l);
    free(first);
  }
}

/* The largest element of op(L) X - B, or of X op(L) - B, in some columns. */
static real largest_residual(const double *l, size_t n, bool right, oat_op op, oat_view x, const double *b) {
  real largest = 0;
  for (size_t j = 0; j < x.columns; j += 3) {
    for (size_t i = 0; i < x.rows; i++) {
      real sum = -b[i + j * x.ld];
      for (size_t k = 0; k < n; k++) {
        const size_t row = right ? k : i, column = right ? j : k;
        const double element = op == OAT_PLAIN ? l[row + column * n] : l[column + row * n];
        sum += (real)element * (right ? x.a[i + k * x.ld] : x.a[k + j * x.ld]);
      }
      largest = fmaxl(largest, fabsl(sum));
    }
  }
  return largest;
}

static double *some_factor(size_t n) {
  double *l = definite(n);
  assert_int_equal(oat_cholesky(n, l, 1), 0);
  return l;
}

/* With more rows of B in memory than are solved for. */
static void try_solve_left(size_t n, const double *l, size_t columns, oat_op op) {
  const size_t ld = n + 3;
  double *b = calloc(ld * columns, sizeof *b);
  for (size_t i = 0; i < ld * columns; i++) {
    b[i] = noise_at(i);
  }
  double *first = copy_of(ld * columns, b);
  const oat_view x = {first, n, columns, ld};
  oat_solve_left(l, n, op, x, 1);
  if (!under_valgrind()) {
    assert_true(largest_residual(l, n, false, op, x, b) < 1e-11L);
  }
  for (size_t t = 1; t < count_count(); t++) {
    double *other = copy_of(ld * columns, b);
    oat_solve_left(l, n, op, (oat_view){other, n, columns, ld}, counts[t]);
    assert_memory_equal(first, other, ld * columns * sizeof *first);
    free(other);
  }
  free(first);
  free(b);
}

/* Few columns go one by one, many in panels. */
static void solves_from_the_left(void **state) {
  (void)state;
  static const size_t columns[] = {1, 3, 5, 150};
  for (size_t o = 0; o < order_count(); o++) {
    const size_t n = order_at(o);
    double *l = some_factor(n);
    for (size_t c = 0; c < LENGTH(columns); c++) {
      try_solve_left(n, l, columns[c], OAT_PLAIN);
      try_solve_left(n, l, columns[c], OAT_TRANSPOSED);
    }
    free(l);
  }
  double *l = some_factor(under_valgrind() ? 1 : 1500); /* few columns are worth threads here, and tiles are large */
  for (size_t columns_here = 1; columns_here <= 5 && !under_valgrind(); columns_here++) {
    try_solve_left(1500, l, columns_here, columns_here % 2 == 0 ? OAT_PLAIN : OAT_TRANSPOSED);
  }
  free(l);
}

static void solves_in_panels_of_rows(void **state) {
  (void)state;
  for (size_t o = 0; o < order_count(); o++) {
    const size_t n = order_at(o), rows = n + 20;
    double *l = some_factor(n), *b = calloc(rows * n, sizeof *b),
           *room = calloc(2 * oat_triangle_room(n), sizeof *room);
    for (size_t i = 0; i < rows * n; i++) {
      b[i] = noise_at(i);
    }
    const oat_triangle triangle = oat_triangle_make(l, n, room, 1);
    for (int turn = 0; turn < 2; turn++) {
      const oat_op op = turn == 0 ? OAT_PLAIN : OAT_TRANSPOSED;
      double *first = copy_of(rows * n, b);
      oat_triangle_solve_rows(&triangle, op, (oat_view){first, rows, n, rows}, NULL, NULL, 1);
      if (!under_valgrind()) {
        assert_true(largest_residual(l, n, true, op, (oat_view){first, rows, n, rows}, b) < 1e-11L);
      }
      for (size_t t = 1; t < count_count(); t++) {
        double *other = copy_of(rows * n, b);
        const oat_triangle again = oat_triangle_make(l, n, room + oat_triangle_room(n), counts[t]);
        oat_triangle_solve_rows(&again, op, (oat_view){other, rows, n, rows}, NULL, NULL, counts[t]);
        assert_memory_equal(first, other, rows * n * sizeof *first);
        free(other);
      }
      free(first);
    }
    free(l);
    free(b);
    free(room);
  }
}

/* A smooth covariance with 1e-13 of it on the diagonal, as of an exact GP without noise. Its own rows are right sides
 * whose solution loses no digits, though inverses of blocks would lose several. */
static void solves_with_almost_no_noise(void **state) {
  (void)state;
  enum { ORDER = 150 };
  double *l = calloc(ORDER * ORDER, sizeof *l);
  for (size_t i = 0; i < ORDER * ORDER; i++) {
    const double r = sqrt(5) * fabs((double)(i % ORDER) - (double)(i / ORDER)) / ORDER / 2;
    l[i] = (1 + r + r * r / 3) * exp(-r) + (i % (ORDER + 1) == 0 ? 1e-13 : 0);
  }
  double *b = copy_of(ORDER * ORDER, l), *solved = copy_of(ORDER * ORDER, l);
  const oat_view x = {solved, ORDER, ORDER, ORDER};
  assert_int_equal(oat_cholesky(ORDER, l, 1), 0);
  const oat_triangle triangle = oat_triangle_plain(l, ORDER);
  oat_triangle_solve_rows(&triangle, OAT_TRANSPOSED, x, NULL, NULL, 1);
  assert_true(under_valgrind() || largest_residual(l, ORDER, true, OAT_TRANSPOSED, x, b) < 1e-14L);
  free(l);
  free(b);
  free(solved);
}

static double symmetrised(const double *a, size_t n, size_t i, size_t j) { return i < j ? a[j + i * n] : a[i + j * n]; }

static double averaged(const double *a, size_t n, size_t i, size_t j) { return 0.5 * (a[i + j * n] + a[j + i * n]); }

static void both_halves(void **state) {
  (void)state;
  static const struct {
    void (*act)(size_t n, double *a, int threads);
    double (*element)(const double *a, size_t n, size_t i, size_t j);
  } cases[] = {{oat_symmetrise, symmetrised}, {oat_average_halves, averaged}};
  for (size_t c = 0; c < LENGTH(cases); c++) {
    for (size_t o = 0; o < order_count(); o++) {
      const size_t n = order_at(o);
      double *a = calloc(n * n, sizeof *a), *wanted = calloc(n * n, sizeof *wanted);
      for (size_t i = 0; i < n * n; i++) {
        a[i] = noise_at(i);
      }
      for (size_t i = 0; i < n * n; i++) {
        wanted[i] = cases[c].element(a, n, i % n, i / n);
      }
      for (size_t t = 0; t < count_count(); t++) {
        double *got = copy_of(n * n, a);
        cases[c].act(n, got, counts[t]);
        assert_memory_equal(got, wanted, n * n * sizeof *got);
        free(got);
      }
      free(a);
      free(wanted);
    }
  }
}

/* The number of the pivot is the order of the first leading part that is not positive definite. */
static void the_pivot_that_fails(void **state) {
  (void)state;
  static const double bad[] = {-1, NAN, HUGE_VAL, 0};
  const size_t n = under_valgrind() ? 150 : 301;
  for (size_t at = 0; at < n; at += 37) {
    for (size_t b = 0; b < LENGTH(bad); b++) {
      for (size_t t = 0; t < count_count(); t++) {
        double *a = definite(n);
        a[at * (n + 1)] = bad[b];
        a[n * n - 1] = -1; /* and a later one, which is not told */
        assert_int_equal(oat_cholesky(n, a, counts[t]), at + 1);
        free(a);
      }
    }
  }
}

/* A NaN off the diagonal shows at the pivot of its row. */
static void a_nan_below_the_diagonal(void **state) {
  (void)state;
  const size_t n = under_valgrind() ? 150 : 301, row = 140;
  for (size_t column = 0; column < row; column += 23) {
    for (size_t t = 0; t < count_count(); t++) {
      double *a = definite(n);
      a[row + column * n] = NAN;
      assert_int_equal(oat_cholesky(n, a, counts[t]), row + 1);
      free(a);
    }
  }
}

/* The diagonal is lifted in the copy, tile by tile; the matrix stays. */
static void lifted_by_tiles(void **state) {
  (void)state;
  const size_t n = under_valgrind() ? 150 : 301;
  double *a = definite(n), *l = calloc(n * n, sizeof *l), *first = calloc(n * n, sizeof *first);
  for (size_t i = 0; i < n; i++) {
    a[i * (n + 1)] -= 0.1;
  }
  double *before = copy_of(n * n, a), *lifted = copy_of(n * n, a);
  const oat_lifts lifts = {.plain = true, .least = 1.0 / 64, .factor = 2, .most = 1};
  for (size_t t = 0; t < count_count(); t++) {
    const oat_lifted done = oat_cholesky_lifted(n, a, &lifts, t == 0 ? first : l, counts[t]);
    assert_int_equal(done.pivot, 0);
    assert_true(done.lift == 0.125);
    assert_memory_equal(a, before, n * n * sizeof *a);
    assert_memory_equal(first, t == 0 ? first : l, n * n * sizeof *l);
  }
  for (size_t i = 0; i < n; i++) {
    lifted[i * (n + 1)] += 0.125;
  }
  assert_int_equal(oat_cholesky(n, lifted, 1), 0);
  assert_memory_equal(first, lifted, n * n * sizeof *first);
  free(a);
  free(l);
  free(first);
  free(before);
  free(lifted);
}

static void nothing_to_do(void **state) {
  (void)state;
  assert_int_equal(oat_cholesky(0, NULL, 2), 0);
  oat_cholesky_inverse(0, NULL, NULL, 2);
  oat_solve_left(NULL, 0, OAT_PLAIN, (oat_view){NULL, 0, 2, 1}, 2);
  oat_symmetrise(0, NULL, 2);
}

/* The lower triangle of a product, for orders around those of its panels, added to what is there. */
static void lower_triangle_of_a_product(void **state) {
  (void)state;
  const size_t sizes[] = {1, 39, 40, 41, 90, 250};
  for (size_t o = 0; o < LENGTH(sizes); o++) {
    const size_t k = sizes[o], n = 7;
    double *a = malloc(k * n * sizeof *a), *b = malloc(k * n * sizeof *b), *both = calloc(k * k, sizeof *both),
           *lower = calloc(k * k, sizeof *lower);
    oat_rng rng;
    assert_true(a != NULL && b != NULL && both != NULL && lower != NULL);
    oat_rng_seed(&rng, k);
    for (size_t i = 0; i < k * n; i++) {
      a[i] = oat_rng_normal(&rng);
      b[i] = oat_rng_normal(&rng);
    }
    const oat_const_view rows[] = {{a, k, n, k}, {b, k, n, k}}, columns[] = {{a, n, k, n}, {b, n, k, n}};
    oat_gemm(2, rows[0], OAT_PLAIN, rows[1], OAT_TRANSPOSED, 0, oat_square(both, k));
    oat_gemm(1, columns[0], OAT_TRANSPOSED, columns[1], OAT_PLAIN, 1, oat_square(both, k));
    oat_gemm_lower(2, rows[0], OAT_PLAIN, rows[1], OAT_TRANSPOSED, 0, oat_square(lower, k));
    oat_gemm_lower(1, columns[0], OAT_TRANSPOSED, columns[1], OAT_PLAIN, 1, oat_square(lower, k));
    for (size_t i = 0; i < k * k; i++) {
      assert_true(i % k < i / k || fabs(lower[i] - both[i]) < 1e-12);
    }
    free(a);
    free(b);
    free(both);
    free(lower);
  }
}

/* The factor of a matrix without one of its rows and columns, whichever it is. */
static void cholesky_without_a_row(void **state) {
  (void)state;
  enum { ORDER = 30 };
  for (size_t gone = 0; gone < ORDER; gone++) {
    double a[ORDER * ORDER], l[ORDER * ORDER], less[ORDER * ORDER], x[ORDER];
    oat_rng rng;
    oat_rng_seed(&rng, 5);
    for (size_t i = 0; i < ORDER * ORDER; i++) {
      l[i] = i % ORDER < i / ORDER ? 0 : oat_rng_normal(&rng) + (i % (ORDER + 1) == 0 ? 4 : 0);
    }
    oat_gemm(1, oat_const_square(l, ORDER), OAT_PLAIN, oat_const_square(l, ORDER), OAT_TRANSPOSED, 0,
             oat_square(a, ORDER));
    for (size_t i = 0, to = 0; i < ORDER * ORDER; i++) {
      if (i % ORDER != gone && i / ORDER != gone) {
        less[to++] = a[i];
      }
    }
    assert_int_equal(oat_cholesky(ORDER, a, 1), 0);
    assert_int_equal(oat_cholesky(ORDER - 1, less, 1), 0);
    oat_cholesky_without(ORDER, a, gone, x);
    for (size_t i = 0; i < (ORDER - 1) * (ORDER - 1); i++) {
      assert_true(fabs(a[i] - less[i]) < 1e-12);
    }
  }
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_matrix_is_not_lifted),
      cmocka_unit_test(the_first_lift_that_helps_is_taken),
      cmocka_unit_test(lifting_ends),
      cmocka_unit_test(lower_triangle_of_a_product),
      cmocka_unit_test(cholesky_without_a_row),
      cmocka_unit_test(cholesky_by_tiles),
      cmocka_unit_test(inverse_by_tiles),
      cmocka_unit_test(solves_from_the_left),
      cmocka_unit_test(solves_in_panels_of_rows),
      cmocka_unit_test(solves_with_almost_no_noise),
      cmocka_unit_test(both_halves),
      cmocka_unit_test(the_pivot_that_fails),
      cmocka_unit_test(a_nan_below_the_diagonal),
      cmocka_unit_test(lifted_by_tiles),
      cmocka_unit_test(nothing_to_do),
  };
  oat_set_blas_threads(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
