/* The algebra of a few rows and small matrices, against plain loops in long double, for sizes around those of its
 * groups. */
#include "dense.h"
#include "linalg/few.h"
#include "problem.h"

enum { MOST = 70 };

static double *random_doubles(oat_rng *rng, size_t count) {
  double *numbers = malloc(count * sizeof *numbers);
  assert_non_null(numbers);
  for (size_t i = 0; i < count; i++) {
    numbers[i] = oat_rng_normal(rng);
  }
  return numbers;
}

typedef struct some {
  double *numbers; /* m x k, with a gap between the rows */
  const double *row[MOST];
  oat_few few;
} some;

static some make_rows(size_t m, size_t k, oat_rng *rng) {
  some r = {.numbers = random_doubles(rng, m * (k + 3) + 1)};
  for (size_t i = 0; i < m; i++) {
    r.row[i] = r.numbers + (m - 1 - i) * (k + 3);
  }
  r.few = (oat_few){.m = m, .k = k};
  return r;
}

static real product_of(const some *r, size_t a, size_t b) {
  real sum = 0;
  for (size_t i = 0; i < r->few.k; i++) {
    sum += (real)r->row[a][i] * r->row[b][i];
  }
  return sum;
}

static double check_products(const some *r) {
  const size_t m = r->few.m, ld = oat_few_side(m);
  double *c = random_doubles(&(oat_rng){{1, 2, 3, 4}}, ld * m + 1),
         *before = random_doubles(&(oat_rng){{1, 2, 3, 4}}, ld * m + 1), worst = 0;
  oat_few_products(r->few, c);
  for (size_t i = 0; i < ld * m; i++) {
    const size_t a = i % ld, b = i / ld;
    if (a < m && a >= b) {
      worst = worse_of(worst, fabs(c[i] - (before[i] - (double)product_of(r, a, b))));
    }
  }
  free(c);
  free(before);
  return worst;
}

static double check_vectors(const some *r, oat_rng *rng) {
  const size_t m = r->few.m, k = r->few.k;
  double *x = random_doubles(rng, k + 1), *f = random_doubles(rng, m + 1), y[MOST], *sum = calloc(k + 1, sizeof *sum),
         worst = 0;
  oat_few_dots(r->few, x, y);
  oat_few_add(r->few, f, sum);
  for (size_t a = 0; a < m; a++) {
    real dot = 0;
    for (size_t i = 0; i < k; i++) {
      dot += (real)r->row[a][i] * x[i];
      sum[i] -= f[a] * r->row[a][i];
    }
    worst = worse_of(worst, fabs(y[a] - (double)dot));
  }
  for (size_t i = 0; i < k; i++) {
    worst = worse_of(worst, fabs(sum[i]));
  }
  free(x);
  free(f);
  free(sum);
  return worst;
}

static void rows_anywhere(void **state) {
  static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 30, 31, 33}, lengths[] = {1, 3, 4, 7, 8, 13, 64, 201};
  oat_rng rng;
  (void)state;
  oat_rng_seed(&rng, 3);
  for (size_t i = 0; i < LENGTH(sizes) * LENGTH(lengths); i++) {
    for (int ahead = 0; ahead < 2; ahead++) {
      some r = make_rows(sizes[i % LENGTH(sizes)], lengths[i / LENGTH(sizes)], &rng);
      r.few.row = r.row;
      r.few.next = ahead ? r.row : NULL;
      assert_true(check_products(&r) <= 1e-12);
      assert_true(check_vectors(&r, &rng) <= 1e-12);
      free(r.numbers);
    }
  }
}

/* A = F F^T + 1 of order n in a small matrix, its upper half and what is behind it anything. */
static double *definite(size_t n, oat_rng *rng) {
  const size_t ld = oat_few_side(n);
  double *f = random_doubles(rng, n * n + 1), *a = random_doubles(rng, ld * n + 1);
  for (size_t i = 0; i < n * n; i++) {
    const size_t r = i % n, c = i / n;
    double sum = r == c ? 1 : 0;
    for (size_t j = 0; j < n; j++) {
      sum += f[r + j * n] * f[c + j * n];
    }
    if (r >= c) {
      a[r + c * ld] = sum;
    }
  }
  free(f);
  return a;
}

/* The factor of the first m columns times its transpose and what is left make the matrix again; solves undo
 * products. */
static double check_factor(size_t n, size_t m, oat_rng *rng) {
  const size_t ld = oat_few_side(n);
  double *a = definite(n, rng), *l = calloc(ld * n + 1, sizeof *l),
         *packed = calloc(oat_few_packed(m) + 1, sizeof *packed);
  double x[MOST] = {0}, b[MOST] = {0}, worst = 0;
  memcpy(l, a, ld * n * sizeof *l);
  assert_true(oat_few_cholesky(n, m, l));
  for (size_t c = 0; c < n; c++) {
    for (size_t r = c; r < n; r++) {
      real sum = c >= m ? l[r + c * ld] : 0;
      for (size_t j = 0; j < m && j <= c; j++) {
        const double lr = r == j ? 1 / l[j + j * ld] : l[r + j * ld], lc = c == j ? 1 / l[j + j * ld] : l[c + j * ld];
        sum += (real)lr * lc;
      }
      worst = worse_of(worst, fabs((double)sum - a[r + c * ld]) / a[c + c * ld]);
    }
  }
  oat_few_pack(n, m, l, packed);
  for (size_t i = 0; i < m; i++) {
    x[i] = b[i] = oat_rng_normal(rng);
  }
  oat_few_solve(m, packed, x);
  oat_few_solve_back(m, packed, x);
  for (size_t r = 0; r < m; r++) {
    real sum = -b[r];
    for (size_t c = 0; c < m; c++) {
      sum += (real)a[r >= c ? r + c * ld : c + r * ld] * x[c];
    }
    worst = worse_of(worst, fabs((double)sum));
  }
  for (size_t i = m; i < oat_few_side(m); i++) {
    assert_true(x[i] == 0);
  }
  free(a);
  free(l);
  free(packed);
  return worst;
}

static void small_factors(void **state) {
  oat_rng rng;
  (void)state;
  oat_rng_seed(&rng, 4);
  for (size_t n = 1; n <= 65; n++) {
    assert_true(check_factor(n, n, &rng) <= 1e-10);
    assert_true(check_factor(n, n - 1, &rng) <= 1e-10);
  }
}

static void no_factor(void **state) {
  oat_rng rng;
  (void)state;
  oat_rng_seed(&rng, 5);
  for (size_t at = 0; at < 11; at++) {
    double *a = definite(11, &rng);
    const size_t ld = oat_few_side(11);
    a[at + at * ld] = at % 2 == 0 ? -1 : NAN;
    assert_false(oat_few_cholesky(11, 11, a));
    free(a);
    a = definite(11, &rng);
    a[10 + 10 * ld] = -1; /* no pivot */
    assert_true(oat_few_cholesky(11, 10, a));
    assert_true(a[10 + 10 * ld] < -1);
    free(a);
  }
}

static void transposes(void **state) {
  static const size_t sizes[] = {1, 7, 8, 9, 16, 25};
  oat_rng rng;
  (void)state;
  oat_rng_seed(&rng, 6);
  for (size_t s = 0; s < LENGTH(sizes) * LENGTH(sizes); s++) {
    const size_t rows = sizes[s % LENGTH(sizes)], columns = sizes[s / LENGTH(sizes)];
    double *a = random_doubles(&rng, (rows + 1) * columns), *b = calloc((columns + 2) * rows, sizeof *b);
    oat_transpose(rows, columns, a, rows + 1, b, columns + 2);
    for (size_t i = 0; i < rows * columns; i++) {
      assert_true(b[i / rows + i % rows * (columns + 2)] == a[i % rows + i / rows * (rows + 1)]);
    }
    assert_true(b[columns] == 0);
    free(a);
    free(b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_anywhere),
      cmocka_unit_test(small_factors),
      cmocka_unit_test(no_factor),
      cmocka_unit_test(transposes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
