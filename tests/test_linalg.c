/* The Cholesky factorisation that lifts the diagonal as little as it must. */
#include "linalg/linalg.h"

#include <float.h>

#include "support.h"

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
  const oat_lifts lifts = {.plain = true, .least = 0.125, .factor = 2, .most = 64}, first = {.least = 4, .factor = 2, .most = 64};
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_matrix_is_not_lifted),
      cmocka_unit_test(the_first_lift_that_helps_is_taken),
      cmocka_unit_test(lifting_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
