/* Scores against numbers worked out by hand (or with 40 digits, where the comment says so), and their properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "predict/metrics.h"
#include "util/rng.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void check_close(double value, double expected, double tolerance, int line) {
  if (!(fabs(value - expected) <= tolerance * fabs(expected))) {
    fail_msg("line %d: %.17g where %.17g is expected", line, value, expected);
  }
}
#define CLOSE(value, expected, tolerance) check_close(value, expected, tolerance, __LINE__)

/* ---- mean, sd, median ------------------------------------------------------------------------------------------ */

static void test_mean(void **state) {
  (void)state;
  const double values[] = {1, 1e100, 1, -1e100};
  assert_true(oat_mean(4, values) == 0.5); /* a plain sum gives 0 */
  assert_true(oat_mean(1, values) == 1);
  assert_true(isnan(oat_mean(0, values)));
  const double infinite[] = {1, INFINITY, 2}, both[] = {INFINITY, -INFINITY}, unknown[] = {1, NAN};
  assert_true(oat_mean(3, infinite) == INFINITY);
  assert_true(isnan(oat_mean(2, both)));
  assert_true(isnan(oat_mean(2, unknown)));
}

static void test_sd(void **state) {
  (void)state;
  const double values[] = {1, 2, 3, 4}, constant[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  CLOSE(oat_sd(4, values), 1.2909944487358056, 1e-15); /* sqrt(5/3) */
  assert_true(oat_sd(7, constant) == 0);
  assert_true(isnan(oat_sd(1, values)));
  assert_true(isnan(oat_sd(0, values)));
  const double huge[] = {1e150, -1e150, 3e150, -3e150}, huger[] = {1e300, -1e300}, tiny[] = {0x1p-1070, 0x1p-1072};
  CLOSE(oat_sd(4, huge), 2.5819888974716113e150, 1e-15); /* sqrt(20/3) 1e150 */
  CLOSE(oat_sd(2, huger), 1.4142135623730951e300, 1e-15);
  assert_true(oat_sd(2, tiny) > 0);
  const double shifted[] = {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4};
  CLOSE(oat_sd(4, shifted), 1.2909944487358056, 1e-15);
  const double unknown[] = {1, NAN, 2};
  assert_true(isnan(oat_sd(3, unknown)));
}

static void test_median_by_hand(void **state) {
  (void)state;
  double one[] = {7}, two[] = {3, 1}, three[] = {9, 1, 5}, four[] = {4, 1, 3, 2}, equal[] = {2, 2, 2, 2, 2};
  assert_true(oat_median(1, one) == 7);
  assert_true(oat_median(2, two) == 2);
  assert_true(oat_median(3, three) == 5);
  assert_true(oat_median(4, four) == 2.5);
  assert_true(oat_median(5, equal) == 2);
  double huge[] = {1.7e308, 1.6e308}, infinite[] = {INFINITY, INFINITY, 1}, unknown[] = {1, NAN, 2};
  CLOSE(oat_median(2, huge), 1.65e308, 1e-15);
  assert_true(oat_median(3, infinite) == INFINITY);
  assert_true(isnan(oat_median(3, unknown)));
  assert_true(isnan(oat_median(0, one)));
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* One order of n values: random with or without many equal ones, rising, falling, or the halves of a mountain. */
static void fill(oat_rng *rng, size_t kind, size_t n, double *values) {
  for (size_t i = 0; i < n; i++) {
    const double random = kind == 0 ? oat_rng_normal(rng) : (double)oat_rng_below(rng, 3);
    const double ordered = kind == 2 ? (double)i : kind == 3 ? (double)(n - i) : (double)(i < n / 2 ? i : n - i);
    values[i] = kind < 2 ? random : ordered;
  }
}

static void test_median_is_that_of_sorting(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 3);
  double values[200], sorted[200];
  for (size_t n = 1; n <= 200; n++) {
    for (size_t kind = 0; kind < 5; kind++) {
      fill(&rng, kind, n, values);
      for (size_t i = 0; i < n; i++) {
        sorted[i] = values[i];
      }
      qsort(sorted, n, sizeof *sorted, compare);
      const double expected = n % 2 == 1 ? sorted[n / 2] : 0.5 * sorted[n / 2 - 1] + 0.5 * sorted[n / 2];
      assert_true(oat_median(n, values) == expected);
      qsort(values, n, sizeof *values, compare);
      assert_memory_equal(values, sorted, n * sizeof *values); /* reordered, nothing lost */
    }
  }
}

/* Fails by taking forever if the time is not linear. */
static void test_median_of_many(void **state) {
  (void)state;
  const size_t n = 1000001;
  double *values = malloc(n * sizeof *values);
  assert_non_null(values);
  oat_rng rng;
  oat_rng_seed(&rng, 4);
  for (size_t kind = 1; kind < 4; kind++) {
    fill(&rng, kind, n, values);
    assert_true(oat_median(n, values) == (kind == 1 ? 1 : kind == 2 ? 500000 : 500001));
  }
  free(values);
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static void test_rmse(void **state) {
  (void)state;
  const double y[] = {1, 2, 3}, mean[] = {2, 0, 6};
  CLOSE(oat_rmse(3, y, mean), 2.1602468994692867, 1e-15); /* sqrt(14/3) */
  assert_true(oat_rmse(3, y, y) == 0);
  assert_true(oat_rmse(1, y, mean) == 1);
  assert_true(isnan(oat_rmse(0, y, mean)));
  const double huge[] = {3e150, 4e150}, huger[] = {3e300, 4e300}, tiny[] = {3e-300, 4e-300}, zero[] = {0, 0};
  CLOSE(oat_rmse(2, huge, zero), 3.5355339059327378e150, 1e-15); /* 5 / sqrt(2) */
  CLOSE(oat_rmse(2, huger, zero), 3.5355339059327378e300, 1e-15);
  CLOSE(oat_rmse(2, tiny, zero), 3.5355339059327378e-300, 1e-15);
  const double largest[] = {1.7e308, 1.7e308, 1.7e308, 1.7e308}, zeros[] = {0, 0, 0, 0};
  CLOSE(oat_rmse(4, largest, zeros), 1.7e308, 1e-15);
  const double infinite[] = {1, INFINITY}, unknown[] = {INFINITY, NAN};
  assert_true(oat_rmse(2, infinite, zero) == INFINITY);
  assert_true(isnan(oat_rmse(2, unknown, zero)));
}

static void test_srmse(void **state) {
  (void)state;
  const double y[] = {1, 2, 3}, mean[] = {2, 0, 6}, flat[] = {0.1, 0.1, 0.1}, average[] = {2, 2, 2};
  CLOSE(oat_srmse(3, y, mean), 2.1602468994692867, 1e-15); /* sd(y) = 1 */
  CLOSE(oat_srmse(3, y, average), 0.81649658092772603, 1e-15);
  assert_true(isnan(oat_srmse(3, flat, mean)));
  assert_true(isnan(oat_srmse(1, y, mean)));
  assert_true(isnan(oat_srmse(0, y, mean)));
  const double big[] = {1e150, 2e150, 3e150}, big_mean[] = {2e150, 0, 6e150};
  CLOSE(oat_srmse(3, big, big_mean), 2.1602468994692867, 1e-15);
}

/* ---- densities ------------------------------------------------------------------------------------------------- */

/* Expected values with 40 digits. */
static void test_nlp(void **state) {
  (void)state;
  const double y[] = {5, 2.5, -1, 2e150}, mean[] = {5, 1, 2, 0}, sd[] = {1, 0.5, 2, 1e150};
  const double expected[] = {0.918938533204672742, 4.72579135264472743, 2.73708571376461805, 348.306702482311525};
  double nlp[4];
  oat_nlp(4, y, (oat_gaussian){mean, sd}, nlp);
  for (size_t i = 0; i < 4; i++) {
    CLOSE(nlp[i], expected[i], 1e-15);
  }
}

static void test_nlp_limits(void **state) {
  (void)state;
  const double y[] = {1, 1, 1, NAN}, mean[] = {1, 2, 1, 0}, sd[] = {0, 0, -1, 1};
  double nlp[4];
  oat_nlp(4, y, (oat_gaussian){mean, sd}, nlp);
  assert_true(nlp[0] == -INFINITY);
  assert_true(nlp[1] == INFINITY);
  assert_true(isnan(nlp[2]));
  assert_true(isnan(nlp[3]));
}

static void test_coverage(void **state) {
  (void)state;
  const double y[] = {0, 1.9, -1.9, 2.1, 30.0, -60.0}, mean[] = {0, 0, 0, 0, 10, 0}, sd[] = {1, 1, 1, 1, 11, 20};
  const oat_gaussian prediction = {mean, sd};
  CLOSE(oat_coverage(6, y, prediction, 0.95), 4.0 / 6, 1e-15);
  CLOSE(oat_coverage(6, y, prediction, 0.997), 5.0 / 6, 1e-15);
  assert_true(oat_coverage(6, y, prediction, 0.999) == 1);
  CLOSE(oat_coverage(6, y, prediction, 0.5), 1.0 / 6, 1e-15);
  assert_true(oat_coverage(1, y, prediction, 0) == 1);
  assert_true(oat_coverage(6, y, prediction, 1 - 0x1p-53) == 1);
  assert_true(oat_coverage(6, y, prediction, -0.5) == 0);
  assert_true(isnan(oat_coverage(6, y, prediction, 1)));
  assert_true(isnan(oat_coverage(6, y, prediction, NAN)));
  assert_true(isnan(oat_coverage(0, y, prediction, 0.5)));
  const double unknown[] = {0, NAN}, negative[] = {1, -1};
  assert_true(isnan(oat_coverage(2, unknown, prediction, 0.5)));
  assert_true(isnan(oat_coverage(2, y, (oat_gaussian){mean, negative}, 0.5)));
}

/* Of draws from the prediction itself a share p is covered, to four standard errors. */
static void test_coverage_of_draws(void **state) {
  (void)state;
  enum { N = 20000 };
  static double y[N], mean[N], sd[N];
  oat_rng rng;
  oat_rng_seed(&rng, 5);
  for (size_t i = 0; i < N; i++) {
    mean[i] = 100 * oat_rng_normal(&rng);
    sd[i] = exp(0.5 * oat_rng_normal(&rng));
    y[i] = mean[i] + sd[i] * oat_rng_normal(&rng);
  }
  const double share[] = {0.5, 0.8, 0.9, 0.95, 0.99};
  for (size_t i = 0; i < COUNT(share); i++) {
    const double error = sqrt(share[i] * (1 - share[i]) / N);
    assert_true(fabs(oat_coverage(N, y, (oat_gaussian){mean, sd}, share[i]) - share[i]) < 4 * error);
  }
}

/* KL of one normal from another, each given by mean and variance. */
static double kl(double mean2, double variance2, double mean1, double variance1) {
  const double sd2 = sqrt(variance2), sd1 = sqrt(variance1);
  return oat_mean_kl(1, (oat_gaussian){&mean2, &sd2}, (oat_gaussian){&mean1, &sd1});
}

/* Expected values with 40 digits. */
static void test_kl(void **state) {
  (void)state;
  CLOSE(kl(1, 2, 0, 3), 0.202732554054082191, 1e-15);
  CLOSE(kl(3, 1, 1, 4), 0.818147180559945309, 1e-15);
  CLOSE(kl(0, 1e-20, 0, 1), 22.5258509299404569, 1e-15);
  CLOSE(kl(0, 1e-200, 0, 1e200), 460.017018598809136804, 1e-15); /* 200 log(10) - 1/2 */
  CLOSE(kl(0, 1e200, 0, 1e-100), 4.99999999999999975e299, 1e-15);
  CLOSE(kl(0, 1 + 0x1p-20, 0, 1), 2.27373530883045792e-13, 1e-9);
  CLOSE(kl(0, 1 + 0x1p-30, 0, 1), 2.16840434362468626e-19, 1e-6);
  assert_true(kl(2, 5, 2, 5) == 0);
  assert_true(isnan(kl(NAN, 1, 0, 1)));
  const double mean2[] = {1, 3}, sd2[] = {sqrt(2), 1}, mean1[] = {0, 1}, sd1[] = {sqrt(3), 2};
  const double both = oat_mean_kl(2, (oat_gaussian){mean2, sd2}, (oat_gaussian){mean1, sd1});
  CLOSE(both, (0.202732554054082191 + 0.818147180559945309) / 2, 1e-15);
  assert_true(isnan(oat_mean_kl(0, (oat_gaussian){mean2, sd2}, (oat_gaussian){mean1, sd1})));
}

/* It is the integral of p log(p / q), here by the trapezium rule, and nowhere negative. */
static void test_kl_is_the_integral(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 6);
  for (int repeat = 0; repeat < 50; repeat++) {
    const double mean2 = oat_rng_normal(&rng), mean1 = oat_rng_normal(&rng);
    const double variance2 = exp(oat_rng_normal(&rng)), variance1 = exp(oat_rng_normal(&rng)), sd2 = sqrt(variance2),
                 sd1 = sqrt(variance1);
    double integral = 0;
    for (int i = -1000; i <= 1000; i++) {
      const double y = mean2 + 0.01 * i * sqrt(variance2);
      double nlp2, nlp1;
      oat_nlp(1, &y, (oat_gaussian){&mean2, &sd2}, &nlp2);
      oat_nlp(1, &y, (oat_gaussian){&mean1, &sd1}, &nlp1);
      integral += exp(-nlp2) * (nlp1 - nlp2) * 0.01 * sqrt(variance2);
    }
    CLOSE(kl(mean2, variance2, mean1, variance1), integral, 1e-10);
    assert_true(kl(mean2, variance2, mean2, variance2 * (1 + 1e-10)) >= 0);
  }
}

/* ---- normal quantile ------------------------------------------------------------------------------------------- */

/* Expected values with 40 digits. */
static void test_quantile_known(void **state) {
  (void)state;
  const double known[][2] = {
      {0.975, 1.9599639845400538556},   {0.9, 1.2815515655446005935},     {0.75, 0.6744897501960817432},
      {0.55, 0.12566134685507414641},   {0.999, 3.0902323061678132778},   {1e-10, -6.3613409024040561991},
      {1e-300, -37.047096299361199237}, {5e-324, -38.467405617144346251}, {1 - 0x1p-53, 8.2095361516013868556}};
  for (size_t i = 0; i < COUNT(known); i++) {
    CLOSE(oat_normal_quantile(known[i][0]), known[i][1], 1e-15);
  }
  assert_true(oat_normal_quantile(0.5) == 0);
}

static void test_quantile_refusals(void **state) {
  (void)state;
  const double outside[] = {0, 1, -0.1, 1.1, -INFINITY, INFINITY, NAN};
  for (size_t i = 0; i < COUNT(outside); i++) {
    assert_true(isnan(oat_normal_quantile(outside[i])));
  }
}

/* The probability below the quantile of p is p. An error e in x changes p by x phi(x) / p times as much. */
static void check_inverse(double p) {
  const double x = oat_normal_quantile(p), back = 0.5 * erfc(-x / sqrt(2));
  const double sensitivity = fabs(x) * exp(-0.5 * x * x) / sqrt(2 * acos(-1)) / p;
  CLOSE(back, p, 1e-15 * (1 + 2 * sensitivity));
}

static void test_quantile_inverts(void **state) {
  (void)state;
  for (double p = 1e-300; p < 0.5; p *= 1.01) {
    check_inverse(p);
    if (1 - p < 1) {
      check_inverse(1 - p);
    }
  }
}

/* Where 1 - p is exact the two tails agree to the last bit. Seams of the three pieces are crossed on the way. */
static void test_quantile_symmetric_and_rising(void **state) {
  (void)state;
  double last = -INFINITY;
  for (int i = 1; i < 65536; i++) {
    const double p = i * 0x1p-16, x = oat_normal_quantile(p);
    assert_true(x == -oat_normal_quantile(1 - p));
    assert_true(x > last);
    last = x;
  }
  last = -INFINITY;
  for (double p = 1e-320; p < 0.5; p *= 1.001) {
    assert_true(oat_normal_quantile(p) >= last);
    last = oat_normal_quantile(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mean),
      cmocka_unit_test(test_sd),
      cmocka_unit_test(test_median_by_hand),
      cmocka_unit_test(test_median_is_that_of_sorting),
      cmocka_unit_test(test_median_of_many),
      cmocka_unit_test(test_rmse),
      cmocka_unit_test(test_srmse),
      cmocka_unit_test(test_nlp),
      cmocka_unit_test(test_nlp_limits),
      cmocka_unit_test(test_coverage),
      cmocka_unit_test(test_coverage_of_draws),
      cmocka_unit_test(test_kl),
      cmocka_unit_test(test_kl_is_the_integral),
      cmocka_unit_test(test_quantile_known),
      cmocka_unit_test(test_quantile_refusals),
      cmocka_unit_test(test_quantile_inverts),
      cmocka_unit_test(test_quantile_symmetric_and_rising),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
