/* Every likelihood: expectations, predictive densities, probabilities and moments against sums over fine grids in
 * long double, derivatives against those of the sums, quantiles and draws against distribution functions; and the
 * special functions behind them. */
#include <float.h>

#include "support.h"

#include "kernel/vector.h"
#include "likelihood/hinge.h"
#include "likelihood/likelihood.h"
#include "likelihood/special.h"
#include "util/normal.h"

/* ---- log densities, from their formulas ------------------------------------------------------------------------ */

/* A likelihood with parameters, and answers to look at. */
typedef struct example {
  oat_likelihood_id id;
  double parameters[4];
  size_t levels;
  double y[5], trials;
  size_t count; /* of y */
} example;

static const example examples[] = {
    {OAT_BERNOULLI_LOGIT, {0}, 0, {0, 1}, 1, 2},
    {OAT_BERNOULLI_PROBIT, {0}, 0, {0, 1}, 1, 2},
    {OAT_BINOMIAL_LOGIT, {0}, 0, {0, 3, 12}, 12, 3},
    {OAT_BINOMIAL_LOGIT, {0}, 0, {0, 400, 1000}, 1000, 3},
    {OAT_POISSON, {0}, 0, {0, 1, 7, 250}, 1, 4},
    {OAT_NEGATIVE_BINOMIAL, {2.5}, 0, {0, 1, 7, 250}, 1, 4},
    {OAT_NEGATIVE_BINOMIAL, {0.07}, 0, {0, 3}, 1, 2},
    {OAT_NEGATIVE_BINOMIAL, {3e4}, 0, {0, 30}, 1, 2},
    {OAT_GAMMA, {3}, 0, {1e-3, 0.8, 40}, 1, 3},
    {OAT_GAMMA, {0.4}, 0, {1e-3, 5}, 1, 2},
    {OAT_GAMMA, {200}, 0, {0.3, 5}, 1, 2},
    {OAT_STUDENT_T, {0.4, 4}, 0, {-3, 0.1, 25}, 1, 3},
    {OAT_STUDENT_T, {0.05, 1.5}, 0, {-3, 0.1, 25}, 1, 3},
    {OAT_STUDENT_T, {2, 60}, 0, {-3, 25}, 1, 2},
    {OAT_BETA, {5}, 0, {1e-4, 0.3, 0.99}, 1, 3},
    {OAT_BETA, {0.6}, 0, {0.02, 0.7}, 1, 2},
    {OAT_BETA, {300}, 0, {0.02, 0.7}, 1, 2},
    {OAT_ORDINAL, {0.8, 0.05, 3}, 5, {0, 1, 2, 3, 4}, 1, 5},
    {OAT_ORDINAL, {0}, 2, {0, 1}, 1, 2},
};

static oat_response response_of(const example *e) {
  return (oat_response){oat_likelihood_at(e->id), e->parameters, e->levels};
}

static long double softplus_l(long double f) { return fmaxl(f, 0) + log1pl(expl(-fabsl(f))); }

static long double log_cdf_l(long double t) {
  if (t > -100) {
    return t < 0 ? logl(erfcl(-t * sqrtl(0.5L)) / 2) : log1pl(-erfcl(t * sqrtl(0.5L)) / 2);
  }
  const long double v = 1 / (t * t);
  return -t * t / 2 - logl(-t) - 0.918938533204672741780329736L + logl(1 - v * (1 - v * (3 - v * (15 - v * 105))));
}

static long double log_between_l(long double a, long double b) {
  if (isinf((double)a)) {
    return log_cdf_l(b);
  }
  if (isinf((double)b)) {
    return log_cdf_l(-a);
  }
  if (a + b > 0) {
    return log_between_l(-b, -a);
  }
  if (b > -5) {
    return logl((erfcl(-b * sqrtl(0.5L)) - erfcl(-a * sqrtl(0.5L))) / 2);
  }
  return log_cdf_l(b) + log1pl(-expl(log_cdf_l(a) - log_cdf_l(b)));
}

static long double ordinal_l(const example *e, long double y, long double f) {
  long double cut = 0, below = -HUGE_VALL;
  for (size_t j = 0; j < (size_t)y; j++) {
    below = cut;
    cut += e->parameters[j];
  }
  return log_between_l(below - f, (size_t)y + 1 < e->levels ? cut - f : HUGE_VALL);
}

static long double log_density_l(const example *e, long double y, long double f) {
  const long double k = e->parameters[0], n = e->trials;
  switch (e->id) {
    case OAT_BERNOULLI_LOGIT:
    case OAT_BINOMIAL_LOGIT:
      return lgammal(n + 1) - lgammal(y + 1) - lgammal(n - y + 1) - y * softplus_l(-f) - (n - y) * softplus_l(f);
    case OAT_BERNOULLI_PROBIT:
      return log_cdf_l(y > 0 ? f : -f);
    case OAT_POISSON:
      return y * f - expl(f) - lgammal(y + 1);
    case OAT_NEGATIVE_BINOMIAL:
      return lgammal(y + k) - lgammal(k) - lgammal(y + 1) - y * softplus_l(logl(k) - f) - k * softplus_l(f - logl(k));
    case OAT_GAMMA:
      return k * logl(k) - lgammal(k) + (k - 1) * logl(y) - k * f - k * y * expl(-f);
    case OAT_STUDENT_T: {
      const long double v = e->parameters[1], z = (y - f) / k;
      return lgammal((v + 1) / 2) - lgammal(v / 2) - logl(v * 3.14159265358979323846264L) / 2 - logl(k) -
             (v + 1) / 2 * log1pl(z * z / v);
    }
    case OAT_BETA: {
      const long double a = k * expl(-softplus_l(-f)), b = k * expl(-softplus_l(f));
      return lgammal(k) - lgammal(a) - lgammal(b) + (a - 1) * logl(y) + (b - 1) * log1pl(-y);
    }
    default:
      return ordinal_l(e, y, f);
  }
}

/* ---- sums over fine grids -------------------------------------------------------------------------------------- */

/* Close enough for the narrowest thing that a log density has. */
static long double finest(const example *e) {
  return e->id == OAT_STUDENT_T ? fminl(0.25L, e->parameters[0] * sqrtl(e->parameters[1]) / 8) : 0.25L;
}

typedef struct moments {
  long double value, dm, ds;
} moments;

/* E(m, s) and its derivatives, these from g(f) (f - m) and g(f) ((f - m)^2 - s). */
static moments expectation_l(const example *e, double y, double m, double s) {
  const bool exponential = e->id == OAT_POISSON || e->id == OAT_GAMMA;
  const long double sd = sqrtl(s), step = fminl(0.3L, finest(e) / sd), reach = 12 + (exponential ? sd : 0),
                    at_m = log_density_l(e, y, m);
  moments sum = {0};
  for (long k = (long)(-reach / step); k <= (long)(reach / step); k++) {
    const long double z = (long double)k * step, w = step * expl(-z * z / 2) / 2.50662827463100050241577L;
    const long double g = log_density_l(e, y, m + sd * z) - at_m;
    sum.value += w * g;
    sum.dm += w * g * z;
    sum.ds += w * g * (z * z - 1);
  }
  return (moments){sum.value + at_m, sum.dm / sd, sum.ds / (2 * (long double)s)};
}

/* What a row has by the library; derivatives in its parameters are added to `slopes`. */
static moments expectation_of(const example *e, double y, double m, double s, double *slopes) {
  double value, dm, ds;
  const oat_response response = response_of(e);
  const oat_answers answers = {1, &y, &e->trials};
  const oat_latent latent = {&m, &s};
  const oat_expectations out = {&value, &dm, &ds, slopes, NULL};
  oat_response_expect(&response, &answers, &latent, &out);
  return (moments){value, dm, ds};
}

/* |a - b| relative to 1 + |b|. */
static double apart(long double a, long double b) { return (double)(fabsl(a - b) / (1 + fabsl(b))); }

static void check_apart(long double got, long double expected, double most, const example *e, double y, double m,
                        double s) {
  if (!(apart(got, expected) <= most)) {
    fail_msg("%s y = %g, m = %g, s = %g: %.17Lg and %.17Lg are %g apart", oat_likelihood_at(e->id)->name, y, m, s, got,
             expected, apart(got, expected));
  }
}

static void check_expectation(const example *e, double y, double m, double s, double tolerance) {
  const moments wanted = expectation_l(e, y, m, s), got = expectation_of(e, y, m, s, NULL);
  check_apart(got.value, wanted.value, tolerance, e, y, m, s);
  check_apart(got.dm, wanted.dm, tolerance, e, y, m, s);
  check_apart(got.ds, wanted.ds, tolerance + 1e-20 * (2000 + fabs((double)wanted.value)) / s, e, y, m,
              s); /* by rounding of the sums */
}

static void expectations(void **state) {
  (void)state;
  need_long_double();
  static const double m[] = {-20, -3.1, 0.2, 1, 8, 20}, s[] = {1e-8, 0.01, 0.29, 0.31, 1.7, 25};
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    for (size_t j = 0; j < e->count; j++) {
      for (size_t c = 0; c < LENGTH(m) * LENGTH(s); c += under_valgrind() ? 7 : 1) {
        check_expectation(e, e->y[j], m[c / LENGTH(s)], s[c % LENGTH(s)], 1e-10);
      }
      check_expectation(e, e->y[j], -20, 400, 1e-7);
      check_expectation(e, e->y[j], 2, 400, 1e-7);
    }
  }
}

/* s = 0: f is known. */
static void expectation_of_a_point(void **state) {
  (void)state;
  need_long_double();
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    const oat_response response = response_of(e);
    for (double f = -4; f < 5; f += 0.7) {
      double density;
      const oat_answers answers = {1, e->y + 1, &e->trials};
      oat_response_log_density(&response, &answers, &f, &density);
      check_apart(density, log_density_l(e, e->y[1], f), 1e-12, e, e->y[1], f, 0);
      check_apart(expectation_of(e, e->y[1], f, 0, NULL).value, density, 1e-13, e, e->y[1], f, 0);
    }
  }
}

/* d E / d log parameter against differences of the sums, for two rows with weights. */
static void parameter_slopes(void **state) {
  (void)state;
  need_long_double();
  static const double m[] = {-1.2, 2.3}, s[] = {0.2, 3}, weights[] = {0.5, 2};
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    const oat_response response = response_of(e);
    const size_t count = oat_likelihood_count(response.likelihood, e->levels);
    double value[2], dm[2], ds[2], got[OAT_OWN_MOST] = {7, 7, 7}, trials[] = {e->trials, e->trials};
    const double y[] = {e->y[0], e->y[e->count / 2]};
    const oat_expectations out = {value, dm, ds, got, weights};
    oat_response_expect(&response, &(oat_answers){2, y, trials}, &(oat_latent){m, s}, &out);
    for (size_t p = 0; p < count; p++) {
      long double wanted = 0;
      for (size_t r = 0; r < 2; r++) {
        static const long double stencil[] = {1.0L / 12, -8.0L / 12, 8.0L / 12, -1.0L / 12}, step = 1e-3L;
        for (int k = 0; k < 4; k++) {
          example moved = *e;
          const long double by = (long double)(k < 2 ? k - 2 : k - 1) * step;
          moved.parameters[p] = (double)(e->parameters[p] * expl(by));
          const long double exact =
              by / logl((long double)moved.parameters[p] / e->parameters[p]); /* of the rounded parameter */
          wanted += weights[r] * stencil[k] * expectation_l(&moved, y[r], m[r], s[r]).value / step * exact;
        }
      }
      check_apart(got[p] - 7, wanted, 1e-8, e, y[0], m[0], s[0]);
    }
  }
}

/* Derivatives belong to the value: differences of the value itself. */
static void derivatives_belong_to_values(void **state) {
  (void)state;
  static const double s_of[] = {0.05, 0.5, 5, 90};
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    for (size_t j = 0; j < LENGTH(s_of); j++) {
      const double s = s_of[j], m = 0.4, y = e->y[1], h = 1e-3 * fmin(1, s);
      const moments at = expectation_of(e, y, m, s, NULL);
      long double dm = 0, ds = 0, size = 1;
      static const long double stencil[] = {45.0L / 60, -9.0L / 60, 1.0L / 60};
      for (int k = 1; k <= 3; k++) {
        dm += stencil[k - 1] *
              (expectation_of(e, y, m + k * h, s, NULL).value - expectation_of(e, y, m - k * h, s, NULL).value) / h;
        ds += stencil[k - 1] *
              (expectation_of(e, y, m, s + k * h, NULL).value - expectation_of(e, y, m, s - k * h, NULL).value) / h;
      }
      size = 1 + fabsl(at.value) * 1e-15L / h / 1e-9L; /* what rounding of the values lets a difference know */
      check_apart(at.dm / size, dm / size, 3e-9, e, y, m, s);
      check_apart(at.ds / size, ds / size, 3e-9, e, y, m, s);
    }
  }
}

static void check_finite(double x, const example *e, double m, double s) {
  if (!isfinite(x)) {
    fail_msg("%s m = %g, s = %g: %g", oat_likelihood_at(e->id)->name, m, s, x);
  }
}

/* Nothing is NaN or infinite, however far out, and what is log-concave has no positive ds. */
static void extremes_are_finite(void **state) {
  (void)state;
  static const double m[] = {-1000, -700, -60, -1e-300, 0, 37, 710, 1000}, s[] = {0, 1e-300, 1e-8, 0.4, 30, 1e4, 1e6};
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    const oat_response response = response_of(e);
    for (size_t c = 0; c < LENGTH(m) * LENGTH(s) * e->count; c++) {
      const double y = e->y[c % e->count], mean = m[c / e->count % LENGTH(m)], variance = s[c / e->count / LENGTH(m)];
      double slopes[OAT_OWN_MOST] = {0}, out;
      const oat_answers answers = {1, &y, &e->trials};
      const oat_latent latent = {&mean, &variance};
      const moments at = expectation_of(e, y, mean, variance, slopes);
      check_finite((double)(at.value + at.dm + at.ds), e, mean, variance);
      assert_true(at.ds <= 0 || !response.likelihood->log_concave);
      for (size_t p = 0; p < oat_likelihood_count(response.likelihood, e->levels); p++) {
        check_finite(slopes[p], e, mean, variance);
      }
      oat_response_predictive(&response, &answers, &latent, &out);
      check_finite(out, e, mean, variance);
      oat_response_cdf(&response, &answers, &latent, &out);
      assert_true(out >= 0 && out <= 1);
      double spread;
      oat_response_moments(&response, &answers, &latent, &out, &spread);
      assert_true(!isnan(out) && spread >= 0);
    }
  }
}

/* Where an exponential would overflow, the value goes on as a line, and the derivative is that of the line. */
static void steep_values_are_lines(void **state) {
  (void)state;
  const example poisson = {OAT_POISSON, {0}, 0, {0}, 1, 0}, gamma = {OAT_GAMMA, {2}, 0, {0}, 1, 0};
  const moments a = expectation_of(&poisson, 3, 800, 1, NULL), b = expectation_of(&poisson, 3, 801, 1, NULL);
  const moments c = expectation_of(&gamma, 3, -800, 1, NULL), d = expectation_of(&gamma, 3, -800, 3, NULL);
  assert_near((double)((b.value - a.value) / a.dm), 1, 1e-12);
  assert_near((double)((d.value - c.value) / c.ds), 2, 1e-12);
}

/* ---- predictive densities -------------------------------------------------------------------------------------- */

/* log of a sum over a grid that is finer than anything in it. */
static long double predictive_l(const example *e, double y, double m, double s) {
  const long double sd = sqrtl(s), narrow = e->id == OAT_STUDENT_T ? fminl(sd, e->parameters[0]) : fminl(sd, 0.2L);
  const oat_response response = response_of(e);
  double best, noise; /* the integrand is small except between m and there */
  oat_response_sites(&response, &(oat_answers){1, &y, &e->trials}, &best, &noise);
  const long double step = narrow / 8, low = fmin(best - m, 0) - 12 * sd, high = fmax(best - m, 0) + 12 * sd;
  long double largest = -HUGE_VALL, sum = 0;
  for (long k = (long)(low / step); k <= (long)(high / step); k++) {
    const long double x = (long double)k * step, log_value = log_density_l(e, y, m + x) - x * x / (2 * (long double)s);
    if (log_value > largest) {
      sum *= expl(largest - log_value);
      largest = log_value;
    }
    sum += expl(log_value - largest);
  }
  return largest + logl(sum * step) - logl(2 * 3.14159265358979323846264L * s) / 2;
}

static double predictive_of(const example *e, double y, double m, double s) {
  double out;
  const oat_response response = response_of(e);
  oat_response_predictive(&response, &(oat_answers){1, &y, &e->trials}, &(oat_latent){&m, &s}, &out);
  return out;
}

static void predictive_densities(void **state) {
  (void)state;
  need_long_double();
  static const double m[] = {-9, 0.3, 6}, s[] = {1e-4, 0.3, 4, 64};
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    for (size_t c = 0; c < LENGTH(m) * LENGTH(s); c += under_valgrind() ? 5 : 1) {
      const size_t j = c % e->count;
      const double mean = m[c / LENGTH(s)], variance = s[c % LENGTH(s)];
      check_apart(predictive_of(e, e->y[j], mean, variance), predictive_l(e, e->y[j], mean, variance), 1e-10, e,
                  e->y[j], mean, variance);
    }
  }
}

/* Far out: the tail of Student's t is flat over the deviations of f, and the normal tails are closed forms. */
static void far_predictive_densities(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    if (e->id == OAT_STUDENT_T && e->parameters[1] < 10) {
      for (double y = 1e7; y < 1e150; y *= 1e6) {
        assert_near(predictive_of(e, -y, 0.5, 2), (double)log_density_l(e, -y, 0.5L), 1e-12);
      }
    }
    if (e->id == OAT_BERNOULLI_PROBIT) {
      assert_near(predictive_of(e, 1, -300, 8), (double)log_cdf_l(-100), 1e-14);
    }
    if (e->id == OAT_BERNOULLI_LOGIT) { /* P(y = 1) is E exp(f) to all digits */
      assert_near(predictive_of(e, 1, -300, 8), -296, 1e-14);
    }
  }
}

/* ---- distribution functions ------------------------------------------------------------------------------------ */

static double cdf_of(const example *e, double y, double m, double s) {
  double out;
  const oat_response response = response_of(e);
  oat_response_cdf(&response, &(oat_answers){1, &y, &e->trials}, &(oat_latent){&m, &s}, &out);
  return out;
}

static double quantile_of(const example *e, double p, double m, double s) {
  double out;
  const oat_response response = response_of(e);
  oat_response_quantile(&response, &(oat_answers){1, NULL, &e->trials}, &(oat_latent){&m, &s}, p, &out);
  return out;
}

/* Probabilities add up to the distribution function and, in the end, to 1. */
static void check_sums(const example *e, double m, double s) {
  const oat_likelihood *likelihood = oat_likelihood_at(e->id);
  double sum = 0, mean = 0, square = 0;
  assert_true(cdf_of(e, -0.5, m, s) == 0);
  for (double y = 0; y < 3000 && oat_answer_valid(likelihood, e->levels, y, e->trials); y++) {
    const double probability = exp(predictive_of(e, y, m, s));
    sum += probability;
    mean += y * probability;
    square += y * y * probability;
    if (fmod(y, 7) < 3) {
      check_apart(cdf_of(e, y + 0.5, m, s), sum, 1e-10, e, y, m, s);
    }
    if (!likelihood->has_trials && y > 20 * mean + 200 && probability < 1e-17) {
      break;
    }
  }
  const oat_response response = response_of(e);
  double got_mean, got_variance;
  oat_response_moments(&response, &(oat_answers){1, NULL, &e->trials}, &(oat_latent){&m, &s}, &got_mean, &got_variance);
  check_apart(sum, 1, 1e-9, e, -1, m, s);
  check_apart(got_mean, mean, 1e-7, e, -1, m, s);
  check_apart(got_variance, square - mean * mean, 1e-6, e, -1, m, s);
}

/* Of numbers: the density is the derivative of the distribution function. */
static void check_slope(const example *e, double m, double s) {
  for (size_t j = 0; j < e->count; j++) {
    const double y = e->y[j], h = 3e-3 * (e->id == OAT_STUDENT_T ? e->parameters[0] : fmin(y, 1 - y > 0 ? 1 - y : 1));
    double slope = 0;
    static const double stencil[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};
    for (int k = 1; k <= 3; k++) {
      slope += stencil[k - 1] * (cdf_of(e, y + k * h, m, s) - cdf_of(e, y - k * h, m, s));
    }
    check_apart(slope, exp(predictive_of(e, y, m, s)) * h, 1e-11, e, y, m, s);
  }
  assert_true(cdf_of(e, e->id == OAT_STUDENT_T ? -1e30 : 0, m, s) < 1e-12);
  assert_true(cdf_of(e, e->id == OAT_BETA ? 1 : 1e300, m, s) > 1 - 1e-12);
}

static void check_quantiles(const example *e, double m, double s) {
  static const double p[] = {0.001, 0.025, 0.5, 0.9, 0.999};
  for (size_t j = 0; j < LENGTH(p); j++) {
    const double y = quantile_of(e, p[j], m, s);
    if (oat_likelihood_at(e->id)->discrete) {
      assert_true(oat_answer_valid(oat_likelihood_at(e->id), e->levels, y, e->trials));
      assert_true(cdf_of(e, y, m, s) >= p[j]);
      assert_true(cdf_of(e, y - 1, m, s) < p[j]);
    } else if (fabs(y) > 1e-300 &&
               !(e->id == OAT_BETA && (y > 1 - 1e-9))) { /* y near 0 or 1 has too few digits to tell p */
      check_apart(cdf_of(e, y, m, s), p[j], 1e-10, e, y, m, s);
    }
  }
}

static void distribution_functions(void **state) {
  (void)state;
  static const double m[] = {-2.5, 0, 1.3}, s[] = {1e-6, 0.02, 0.5, 2};
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    for (size_t c = 0; c < LENGTH(m) * LENGTH(s); c += under_valgrind() ? 5 : 1) {
      const double mean = m[c / LENGTH(s)], variance = s[c % LENGTH(s)];
      check_quantiles(e, mean, variance);
      if (!oat_likelihood_at(e->id)->discrete) {
        check_slope(e, mean, variance);
      } else if ((mean + 8 * sqrt(variance) < 6.5 && !(e->parameters[0] < 0.1 && e->id == OAT_NEGATIVE_BINOMIAL)) ||
                 e->id == OAT_BINOMIAL_LOGIT || e->levels > 0) {
        check_sums(e, mean, variance);
      }
    }
  }
}

/* Quantiles end, and are answers, where f is wild. */
static void far_quantiles(void **state) {
  (void)state;
  static const double m[] = {-800, -40, 20, 800}, s[] = {0, 1e-4, 100};
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    for (size_t c = 0; c < LENGTH(m) * LENGTH(s); c++) {
      const double low = quantile_of(e, 0.01, m[c / LENGTH(s)], s[c % LENGTH(s)]),
                   high = quantile_of(e, 0.99, m[c / LENGTH(s)], s[c % LENGTH(s)]);
      assert_true(low <= high);
    }
  }
}

/* Counts that are large: log p has the digits of a density of a normal variable, and quantiles are exact. */
static void large_counts(void **state) {
  (void)state;
  const example e = {OAT_POISSON, {0}, 0, {0}, 1, 0};
  for (double y = 1e3; y < 1e13; y *= 100) {
    const double s = 1e-3 / y, variance = y * (1 + 1e-3), m = log(y);
    assert_near((double)expectation_of(&e, y, m, s, NULL).value, -0.5 * log(2 * OAT_PI * y) - 5e-4,
                1e-4 / y * 1e3 + 1e-9);
    assert_near(predictive_of(&e, y, m, s), -0.5 * log(2 * OAT_PI * variance), 1.0 / y + 1e-9);
    for (double p = 0.1; p < 1; p += 0.2) {
      const double q = quantile_of(&e, p, m, s);
      assert_true(fabs(q - y - sqrt(variance) * oat_normal_quantile(p)) < 2);
    }
  }
}

static void levels_have_probabilities(void **state) {
  (void)state;
  const example *e = &examples[LENGTH(examples) - 2];
  assert_int_equal(e->id, OAT_ORDINAL);
  const oat_response response = response_of(e);
  const double m[] = {-3, 0.4, 60}, s[] = {0.1, 4, 0};
  double out[15];
  oat_response_levels(&response, 3, &(oat_latent){m, s}, out);
  for (size_t i = 0; i < 3; i++) {
    double sum = 0;
    for (size_t j = 0; j < 5; j++) {
      assert_near(out[i + 3 * j], exp(predictive_of(e, (double)j, m[i], s[i])), 1e-15);
      sum += out[i + 3 * j];
    }
    assert_near(sum, 1, 1e-14);
  }
}

/* ---- moments and draws ----------------------------------------------------------------------------------------- */

/* Draws of f and of y given f against mean and variance of y, and their shares against its distribution function. */
static void draws(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 5);
  const size_t n = under_valgrind() ? 500 : 20000;
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    const oat_response response = response_of(e);
    const double m = 0.7, s = 0.3, middle = quantile_of(e, 0.6, m, s), share = cdf_of(e, middle, m, s);
    double sum = 0, squares = 0, fourth = 0, below = 0, mean, variance;
    oat_response_moments(&response, &(oat_answers){1, NULL, &e->trials}, &(oat_latent){&m, &s}, &mean, &variance);
    for (size_t k = 0; k < n; k++) {
      const double y = oat_response_draw(&response, m + sqrt(s) * oat_rng_normal(&rng), e->trials, &rng);
      assert_true(oat_answer_valid(response.likelihood, e->levels, y, e->trials));
      const double off = y - mean;
      sum += off / (double)n;
      squares += off * off / (double)n;
      fourth += off * off * off * off / (double)n;
      below += (y <= middle) / (double)n;
    }
    assert_true(fabs(below - share) < 4.5 * sqrt(share * (1 - share) / (double)n) + 1e-12);
    if (e->id != OAT_STUDENT_T || e->parameters[1] > 8) { /* else the variance of the squares is infinite */
      assert_true(fabs(sum) < 4.5 * sqrt(variance / (double)n));
      assert_true(fabs(squares - variance) < 5 * sqrt((fourth - squares * squares) / (double)n));
    }
  }
}

/* Large counts: their mean and variance; other branches than those of small ones. */
static void draws_of_large_counts(void **state) {
  (void)state;
  oat_rng rng;
  oat_rng_seed(&rng, 6);
  const double n = 4000, f = log(5e6);
  double sum = 0, squares = 0, binomial = 0;
  const oat_response poisson = {oat_likelihood_at(OAT_POISSON), NULL, 0},
                     logit = {oat_likelihood_at(OAT_BINOMIAL_LOGIT), NULL, 0};
  for (double k = 0; k < n; k++) {
    const double off = oat_response_draw(&poisson, f, 1, &rng) - 5e6;
    sum += off / n;
    squares += off * off / n;
    binomial += (oat_response_draw(&logit, -log(3), 1e9, &rng) - 2.5e8) / n;
  }
  assert_true(fabs(sum) < 4.5 * sqrt(5e6 / n));
  assert_true(fabs(squares / 5e6 - 1) < 5 * sqrt(2 / n));
  assert_true(fabs(binomial) < 4.5 * sqrt(1e9 * 3 / 16 / n));
  assert_true(isfinite(oat_response_draw(&poisson, 1000, 1, &rng)));
  double few = 0; /* so few that a count too many would be seen */
  for (double k = 0; k < 10 * n; k++) {
    few += (oat_response_draw(&poisson, log(30), 1, &rng) - 30) / (10 * n);
  }
  assert_true(fabs(few) < 4.5 * sqrt(30 / (10 * n)));
}

/* Moments of what is a number: sums over quantiles would be rough, so the formulas' own integrals over f. */
static void moments_of_numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    const oat_response response = response_of(e);
    const double m = -0.4, s = 1.1, k = e->parameters[0];
    double mean = 0, square = 0, got_mean, got_variance, none = 0;
    if (response.likelihood->discrete) {
      continue;
    }
    for (double z = -9; z <= 9; z += 0.05) {
      const double f = m + sqrt(s) * z, w = 0.05 * exp(-0.5 * z * z) / sqrt(2 * OAT_PI), p = 1 / (1 + exp(-f)),
                   v = e->parameters[1];
      const double given = e->id == OAT_GAMMA ? exp(f) : e->id == OAT_BETA ? p : f;
      const double variance = e->id == OAT_GAMMA  ? exp(2 * f) / k
                              : e->id == OAT_BETA ? p * (1 - p) / (1 + k)
                                                  : k * k * v / (v - 2);
      mean += w * given;
      square += w * (variance + given * given);
    }
    oat_response_moments(&response, &(oat_answers){1, NULL, &none}, &(oat_latent){&m, &s}, &got_mean, &got_variance);
    assert_near(got_mean, mean, 1e-12);
    if (e->id == OAT_STUDENT_T && e->parameters[1] <= 2) {
      assert_true(isinf(got_variance));
    } else {
      assert_near(got_variance, square - mean * mean, 1e-11);
    }
  }
}

/* ---- sites, saturated densities, starts ------------------------------------------------------------------------ */

/* Where the best f is finite, no other has a higher density; sites are finite and have a positive noise. */
static void sites_and_saturated(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const example *e = &examples[i];
    const oat_response response = response_of(e);
    for (size_t j = 0; j < e->count; j++) {
      double target, noise, saturated, largest = -HUGE_VAL;
      const oat_answers answers = {1, e->y + j, &e->trials};
      oat_response_sites(&response, &answers, &target, &noise);
      oat_response_saturated(&response, &answers, &saturated);
      assert_true(isfinite(target) && isfinite(noise) && noise > 0);
      for (double f = -30; f <= 30; f += 1.0 / 64) {
        double density;
        oat_response_log_density(&response, &answers, &f, &density);
        largest = fmax(largest, density);
      }
      assert_true(largest <= saturated + 1e-12 * (1 + fabs(saturated)));
      assert_near(largest, saturated, 1e-2);
      double at_target;
      oat_response_log_density(&response, &answers, &target, &at_target);
      assert_true(saturated - at_target < 1);
    }
  }
  const double y = 7, f = log(4.0);
  const oat_response poisson = response_of(&examples[4]);
  const oat_answers answers = {1, &y, &examples[4].trials};
  double saturated, density;
  oat_response_saturated(&poisson, &answers, &saturated);
  oat_response_log_density(&poisson, &answers, &f, &density);
  assert_near(saturated - density, 7 * log(7 / 4.0) - 3, 1e-14);
}

/* From the moments of the distribution come the parameters back, where the method of moments can know them. */
static void starts(void **state) {
  (void)state;
  double f, own[OAT_OWN_MOST];
  const double shares[] = {0.2, 0.5, 0.3};
  oat_likelihood_start(oat_likelihood_at(OAT_BERNOULLI_LOGIT), 0, &(oat_answer_moments){0.25, 0.1875, 1, 1, NULL}, &f,
                       NULL);
  assert_near(f, -log(3), 1e-14);
  oat_likelihood_start(oat_likelihood_at(OAT_BERNOULLI_PROBIT), 0, &(oat_answer_moments){0.25, 0.1875, 1, 1, NULL}, &f,
                       NULL);
  assert_near(f, -0.67448975019608174, 1e-14);
  oat_likelihood_start(oat_likelihood_at(OAT_BINOMIAL_LOGIT), 0, &(oat_answer_moments){6, 1, 8, 1, NULL}, &f, own);
  assert_near(f, log(3), 1e-14);
  oat_likelihood_start(oat_likelihood_at(OAT_POISSON), 0, &(oat_answer_moments){6, 1, 1, 2, NULL}, &f, own);
  assert_near(f, log(3), 1e-14);
  oat_likelihood_start(oat_likelihood_at(OAT_NEGATIVE_BINOMIAL), 0, &(oat_answer_moments){6, 6 + 36 / 2.5, 1, 2, NULL},
                       &f, own);
  assert_near(f, log(3), 1e-14);
  assert_near(own[0], 2.5, 1e-14);
  oat_likelihood_start(oat_likelihood_at(OAT_GAMMA), 0, &(oat_answer_moments){6, 36 / 2.5, 1, 1, NULL}, &f, own);
  assert_near(own[0], 2.5, 1e-14);
  oat_likelihood_start(oat_likelihood_at(OAT_BETA), 0, &(oat_answer_moments){0.4, 0.24 / 7, 1, 1, NULL}, &f, own);
  assert_near(f, log(0.4 / 0.6), 1e-14);
  assert_near(own[0], 6, 1e-13);
  oat_likelihood_start(oat_likelihood_at(OAT_STUDENT_T), 0, &(oat_answer_moments){3, 8, 1, 1, NULL}, &f, own);
  assert_near(f, 3, 0);
  assert_near(own[0] * own[0] * own[1] / (own[1] - 2), 4, 1e-14);
  oat_likelihood_start(oat_likelihood_at(OAT_ORDINAL), 3, &(oat_answer_moments){0, 0, 1, 1, shares}, &f, own);
  assert_near(oat_normal_cdf(-f), 0.2, 1e-14);
  assert_near(oat_normal_cdf(own[0] - f), 0.7, 1e-14);
}

/* Answers that are all alike: a start is finite, and parameters are in their range. */
static void starts_of_equal_answers(void **state) {
  (void)state;
  for (size_t i = 0; i < OAT_LIKELIHOODS; i++) {
    const oat_likelihood *likelihood = oat_likelihood_at(i);
    const double y[] = {0, 1, 0.5}, shares[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (size_t j = 0; j < 3; j++) {
      double f, own[OAT_OWN_MOST];
      if (!oat_answer_valid(likelihood, 3, y[j], 1)) {
        continue;
      }
      oat_likelihood_start(likelihood, 3, &(oat_answer_moments){y[j], 0, 1, 1, shares[j]}, &f, own);
      assert_true(fabs(f) < 10);
      for (size_t p = 0; p < oat_likelihood_count(likelihood, 3); p++) {
        const oat_parameter is = oat_likelihood_parameter(likelihood, p);
        assert_true(own[p] >= is.low && own[p] <= is.high);
      }
    }
  }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static void the_table(void **state) {
  (void)state;
  for (size_t i = 0; i < OAT_LIKELIHOODS; i++) {
    const oat_likelihood *likelihood = oat_likelihood_at(i);
    assert_int_equal(likelihood->id, i);
    assert_ptr_equal(oat_likelihood_find(likelihood->name), likelihood);
    assert_true(strlen(likelihood->wanted) > 0 && strlen(likelihood->link) > 0);
    for (size_t p = 0; p < oat_likelihood_count(likelihood, 12); p++) {
      const oat_parameter is = oat_likelihood_parameter(likelihood, p);
      const double start = oat_likelihood_parameter_start(likelihood, p);
      assert_true(is.used && is.low > 0 && is.low < start && start < is.high);
      assert_int_equal(is.unit, strcmp(is.name, "scale") == 0 ? OAT_UNIT_TARGET : OAT_UNIT_NONE);
    }
  }
  assert_null(oat_likelihood_at(OAT_LIKELIHOODS));
  assert_null(oat_likelihood_find("gaussian"));
  assert_int_equal(oat_likelihood_count(oat_likelihood_at(OAT_ORDINAL), OAT_LEVELS_MOST), OAT_OWN_MOST);
  for (size_t p = 0; p < OAT_OWN_MOST; p++) {
    char name[16];
    snprintf(name, sizeof name, "gap%zu", p + 1);
    assert_string_equal(oat_likelihood_parameter(oat_likelihood_at(OAT_ORDINAL), p).name, name);
  }
}

static void valid_answers(void **state) {
  (void)state;
  static const struct {
    oat_likelihood_id id;
    double y, trials;
    bool valid;
  } cases[] = {
      {OAT_BERNOULLI_LOGIT, 1, 1, true},
      {OAT_BERNOULLI_LOGIT, 2, 1, false},
      {OAT_BERNOULLI_PROBIT, 0.5, 1, false},
      {OAT_BERNOULLI_PROBIT, 0, 1, true},
      {OAT_BINOMIAL_LOGIT, 3, 3, true},
      {OAT_BINOMIAL_LOGIT, 4, 3, false},
      {OAT_BINOMIAL_LOGIT, -1, 3, false},
      {OAT_POISSON, 0, 1, true},
      {OAT_POISSON, 1.5, 1, false},
      {OAT_POISSON, INFINITY, 1, false},
      {OAT_POISSON, NAN, 1, false},
      {OAT_NEGATIVE_BINOMIAL, 12, 1, true},
      {OAT_NEGATIVE_BINOMIAL, -1, 1, false},
      {OAT_GAMMA, 0, 1, false},
      {OAT_GAMMA, 1e-9, 1, true},
      {OAT_GAMMA, INFINITY, 1, false},
      {OAT_STUDENT_T, -5, 1, true},
      {OAT_STUDENT_T, NAN, 1, false},
      {OAT_BETA, 0, 1, false},
      {OAT_BETA, 1, 1, false},
      {OAT_BETA, 0.5, 1, true},
      {OAT_ORDINAL, 3, 1, false},
      {OAT_ORDINAL, 2, 1, true},
      {OAT_ORDINAL, 0.5, 1, false},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    assert_int_equal(oat_answer_valid(oat_likelihood_at(cases[i].id), 3, cases[i].y, cases[i].trials), cases[i].valid);
  }
}

/* ---- special functions ----------------------------------------------------------------------------------------- */

static void gamma_family(void **state) {
  (void)state;
  need_long_double();
  for (double x = 1e-8; x < 1e9; x *= 1.37) {
    assert_near(oat_log_gamma(x), (double)lgammal(x), 8e-15);
    const oat_gamma_terms terms = oat_gamma_terms_at(x);
    assert_near(terms.value, (double)lgammal(1 + (long double)x), 8e-15);
    /* psi by a difference of log Gamma, with a step that keeps its digits; x psi(1 + x) and x^2 psi'(1 + x) by
     * recurrence and series */
    assert_near(terms.first, x * oat_digamma(1 + x), 1e-14 * (1 + x));
    assert_near(oat_log_less_digamma(x), log(x) - oat_digamma(x), 4e-15 * (20 + 1 / x));
    const long double stirling =
        lgammal(1 + (long double)x) - (x + 0.5L) * logl(x) + x - 0.918938533204672741780329736L;
    assert_near(oat_stirling_rest(x), (double)stirling, 2e-14 + 1e-18 * x * log(2 + x));
  }
  for (double x = 0.1; x < 50; x *= 1.3) {
    const long double h = 1e-3L, z = x;
    const long double psi = (45 * (lgammal(z + h) - lgammal(z - h)) - 9 * (lgammal(z + 2 * h) - lgammal(z - 2 * h)) +
                             (lgammal(z + 3 * h) - lgammal(z - 3 * h))) /
                            (60 * h);
    assert_near(oat_digamma(x), (double)psi, 1e-11);
    const double slope = (oat_digamma(1 + x + 1e-4) - oat_digamma(1 + x - 1e-4)) / 2e-4;
    assert_near(oat_gamma_terms_at(x).second, x * x * slope, 1e-6);
  }
  assert_near(oat_digamma(1), -0.57721566490153286061, 1e-15);
  assert_near(oat_gamma_terms_at(1).second, OAT_PI * OAT_PI / 6 - 1, 1e-15);
  assert_near(oat_gamma_terms_at(0.5).second, 0.25 * (OAT_PI * OAT_PI / 2 - 4), 1e-15);
  for (double n = 1; n < 200; n *= 1.7) {
    for (double y = 0; y <= n; y += 0.37) {
      assert_near(oat_log_choose(n, y),
                  (double)(lgammal(n + 1.0L) - lgammal(y + 1.0L) - lgammal(n - (long double)y + 1)), 2e-14);
    }
  }
}

static void incomplete_functions(void **state) {
  (void)state;
  need_long_double();
  for (double x = 1e-3; x < 60; x *= 1.4) {
    assert_near(oat_gamma_cdf(1, x, true), exp(-x), 4e-15);
    assert_near(oat_gamma_cdf(0.5, x, false), erf(sqrt(x)), 1e-14);
    long double term = expl(-x), sum = term;
    for (int k = 1; k < 100; k++) { /* P(Poisson(x) <= k) */
      term *= x / (long double)k;
      sum += term;
      assert_near(oat_gamma_cdf(k + 1, x, true), (double)sum, 1e-13);
      assert_near(oat_gamma_cdf(k + 1, x, false), (double)(1 - sum), 1e-13);
    }
  }
  for (double z = -7; z < 8;
       z += 0.5) { /* both sides of where the expansion takes over, and its slope by the density */
    const double a = 10000, x = a + z * sqrt(a);
    assert_near(oat_gamma_cdf(a * (1 + 1e-13), x, true), oat_gamma_cdf(a, x, true), 1e-11);
  }
  for (double x = 0.02; x < 1; x += 0.07) {
    assert_near(oat_beta_cdf(0.5, 0.5, x, 1 - x), 2 / OAT_PI * asin(sqrt(x)), 1e-14);
    assert_near(oat_beta_cdf(3, 1, x, 1 - x), x * x * x, 1e-14);
    long double sum = 0;
    for (int k = 0; k < 300; k++) { /* P(Binomial(300, x) <= k) */
      sum += expl(lgammal(301) - lgammal(k + 1) - lgammal(301 - k) + k * logl(x) + (300 - k) * log1pl(-(long double)x));
      assert_near(oat_beta_cdf(300 - k, k + 1, 1 - x, x), (double)sum, 1e-13);
    }
  }
}

static void normal_distribution(void **state) {
  (void)state;
  need_long_double();
  for (double x = 0; x < 100; x += 0.0137) {
    const double exact = (double)(expl((long double)x * x) * erfcl(x));
    assert_true(fabs(oat_erfcx(x) / exact - 1) < 2e-15);
  }
  assert_true(fabs(oat_erfcx(1e8) * 1e8 * sqrt(OAT_PI) - 1) < 2e-15);
  for (double x = -90; x < 9; x += 0.0731) {
    assert_true(fabs(oat_log_normal_cdf(x) / (double)log_cdf_l(x) - 1) < 1e-14);
    for (double width = 1e-3; width < 1e4; width *= 20) {
      assert_near(oat_log_normal_between(x, x + width), (double)log_between_l(x, (long double)x + width), 2e-12);
    }
  }
  for (double p = 1e-300; p < 0.6; p = p < 1e-3 ? p * 1e3 : p + 0.01) {
    assert_near(oat_log_normal_cdf(oat_normal_quantile(p)), log(p), 1e-14);
  }
  assert_near(oat_normal_quantile(0.975), 1.9599639845400542355, 1e-15);
}

/* Across the borders of its two ways, and against the softplus at points. */
static void hinges(void **state) {
  (void)state;
  oat_hinge_table hinge = {.ready = false};
  for (double m = -45; m <= 45; m += 0.37) {
    const oat_hinge below = oat_hinge_at(&hinge, m, 0.3 - 1e-15), above = oat_hinge_at(&hinge, m, 0.3 + 1e-15);
    assert_near(below.value, above.value, 5e-14);
    assert_near(below.first, above.first, 5e-14);
    assert_near(below.second, above.second, 5e-14);
    assert_near(oat_hinge_at(&hinge, m, 0).value, log1p(exp(-fabs(m))), 1e-15);
    assert_near(oat_logistic_mean(&hinge, m, 0), oat_logistic(m), 1e-15);
    assert_true(above.second > 0 && oat_hinge_at(&hinge, m, 1e5).second > 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_table),
      cmocka_unit_test(valid_answers),
      cmocka_unit_test(gamma_family),
      cmocka_unit_test(incomplete_functions),
      cmocka_unit_test(normal_distribution),
      cmocka_unit_test(hinges),
      cmocka_unit_test(expectations),
      cmocka_unit_test(expectation_of_a_point),
      cmocka_unit_test(parameter_slopes),
      cmocka_unit_test(derivatives_belong_to_values),
      cmocka_unit_test(extremes_are_finite),
      cmocka_unit_test(steep_values_are_lines),
      cmocka_unit_test(predictive_densities),
      cmocka_unit_test(far_predictive_densities),
      cmocka_unit_test(large_counts),
      cmocka_unit_test(distribution_functions),
      cmocka_unit_test(far_quantiles),
      cmocka_unit_test(levels_have_probabilities),
      cmocka_unit_test(draws),
      cmocka_unit_test(draws_of_large_counts),
      cmocka_unit_test(moments_of_numbers),
      cmocka_unit_test(sites_and_saturated),
      cmocka_unit_test(starts),
      cmocka_unit_test(starts_of_equal_answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
