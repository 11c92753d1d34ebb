/* Special functions, see special.h.
 *
 * The gamma family: arguments below 9 are raised by Gamma(z) = Gamma(z + 8) / (z (z + 1) .. (z + 7)), and
 * Stirling's series has all digits from there on. erfcx: (1 + 2 x) erfcx(x) is a polynomial of degree 24 in t = (x
 * - 4) / (x + 4), from its Chebyshev series, whose next coefficient is 8e-18. Incomplete gamma: the power series,
 * the continued fraction, and Temme's uniform expansion for shapes above 10^4. Incomplete beta: the continued
 * fraction of DLMF 8.17.22. */
#include "likelihood/special.h"

#include <float.h>
#include <math.h>

#include "kernel/vector.h"
#include "oat_config.h"

/* ---- gamma family ---------------------------------------------------------------------------------------------- */

/* sum_k B_2k / (2k (2k - 1) x^(2k - 1)), x >= 8 */
static double stirling_series(double x) {
  const double v = 1 / (x * x);
  double sum = 1.0 / 156;
  sum = sum * v - 691.0 / 360360;
  sum = sum * v + 1.0 / 1188;
  sum = sum * v - 1.0 / 1680;
  sum = sum * v + 1.0 / 1260;
  sum = sum * v - 1.0 / 360;
  sum = sum * v + 1.0 / 12;
  return sum / x;
}

/* psi(z) - log z, z >= 9 */
static double digamma_series(double z) {
  const double v = 1 / (z * z);
  double sum = -1.0 / 12;
  sum = sum * v + 691.0 / 32760;
  sum = sum * v - 1.0 / 132;
  sum = sum * v + 1.0 / 240;
  sum = sum * v - 1.0 / 252;
  sum = sum * v + 1.0 / 120;
  sum = sum * v - 1.0 / 12;
  return sum * v - 0.5 / z;
}

/* psi'(z), z >= 9 */
static double trigamma_series(double z) {
  const double v = 1 / (z * z);
  double sum = 7.0 / 6;
  sum = sum * v - 691.0 / 2730;
  sum = sum * v + 5.0 / 66;
  sum = sum * v - 1.0 / 30;
  sum = sum * v + 1.0 / 42;
  sum = sum * v - 1.0 / 30;
  sum = sum * v + 1.0 / 6;
  return (1 + 0.5 / z + sum * v) / z;
}

/* z, raised by 8 if it is below 9; the product of the factors in between, and the sums of their inverses and inverse
 * squares. */
typedef struct raised {
  double z, product, inverses, squares;
} raised;

/* Factors are paired, (z + j) (z + 7 - j) = z (z + 7) + {0, 6, 10, 12}, so that one division is enough. */
static raised raise(double z) {
  if (z >= 9) {
    return (raised){z, 1, 0, 0};
  }
  const double sum = 2 * z + 7, a = z * (z + 7), b = a + 6, c = a + 10, d = a + 12, ab = a * b, cd = c * d,
               inverse = 1 / (ab * cd);
  const double ia = inverse * b * cd, ib = inverse * a * cd, ic = inverse * ab * d, id = inverse * ab * c;
  const double once = ia + ib + ic + id, twice = ia * ia + ib * ib + ic * ic + id * id;
  return (raised){z + 8, ab * cd, sum * once, sum * sum * twice - 2 * once};
}

oat_gamma_terms oat_gamma_terms_at(double x) {
  const raised r = raise(1 + x);
  const double log_z = log(r.z);
  return (oat_gamma_terms){
      (r.z - 0.5) * log_z - r.z + OAT_LOG_ROOT_2PI + stirling_series(r.z) - (r.product > 1 ? log(r.product) : 0),
      x * (log_z + digamma_series(r.z) - r.inverses), x * x * (trigamma_series(r.z) + r.squares)};
}

double oat_log_gamma(double x) {
  return x < 3 ? oat_gamma_terms_at(x).value - log(x) : oat_gamma_terms_at(x - 1).value;
}

double oat_digamma(double x) {
  if (x < 1) {
    return oat_digamma(1 + x) - 1 / x;
  }
  const raised r = raise(x);
  return log(r.z) + digamma_series(r.z) - r.inverses;
}

double oat_log_less_digamma(double x) { return x < 9 ? log(x) - oat_digamma(x) : -digamma_series(x); }

double oat_stirling_rest(double x) {
  if (x >= 8) {
    return stirling_series(x);
  }
  return oat_gamma_terms_at(x).value - (x + 0.5) * log(x) + x - OAT_LOG_ROOT_2PI;
}

double oat_log_choose(double n, double y) {
  const double few = fmin(y, n - y), many = n - few;
  if (!(few > 0)) {
    return 0;
  }
  const double share = few * log(n / few) + many * log1p(few / many);
  return share + 0.5 * log(n / many / few) - OAT_LOG_ROOT_2PI + oat_stirling_rest(n) - oat_stirling_rest(few) -
         oat_stirling_rest(many);
}

/* ---- incomplete gamma ------------------------------------------------------------------------------------------ */

/* log(1 + x) - x without the loss of digits of small x */
static double log1p_less(double x) {
  if (fabs(x) > 0.1) {
    return log1p(x) - x;
  }
  double power = x * x, sum = 0;
  for (int k = 2; k < 22; k++) {
    sum += (k % 2 == 0 ? -1 : 1) * power / k;
    power *= x;
  }
  return sum;
}

/* log of x^a exp(-x) / Gamma(1 + a), as a (log(x / a) + 1 - x / a) - log(2 pi a) / 2 - rest */
static double log_gamma_weight(double a, double x) {
  return a * log1p_less((x - a) / a) - 0.5 * log(a) - OAT_LOG_ROOT_2PI - oat_stirling_rest(a);
}

/* P(G > x) by N. M. Temme, The asymptotic expansion of the incomplete gamma functions, SIAM J. Math. Anal. 10
 * (1979). */
static double gamma_above_large(double a, double x) {
  const double mu = (x - a) / a, eta = copysign(sqrt(-2 * log1p_less(mu)), mu), half = 0.5 * a * eta * eta;
  if (half > 700 || fabs(eta) > 0.5) {
    return mu > 0 ? 0 : 1;
  }
  static const double c0[] = {-1.0 / 3,   1.0 / 12,        -2.0 / 135,  1.0 / 864,
                              1.0 / 2835, -139.0 / 777600, 1.0 / 25515, -571.0 / 261273600};
  static const double c1[] = {-1.0 / 540, -1.0 / 288, 1.0 / 378, -77.0 / 77760};
  double first = 0, second = 0;
  for (size_t k = sizeof c0 / sizeof *c0; k-- > 0;) {
    first = first * eta + c0[k];
  }
  for (size_t k = sizeof c1 / sizeof *c1; k-- > 0;) {
    second = second * eta + c1[k];
  }
  const double sum = first + (second + 25.0 / 6048 / a) / a;
  return 0.5 * erfc(copysign(sqrt(half), mu)) + exp(-half) / sqrt(2 * OAT_PI * a) * sum;
}

static double gamma_below_series(double a, double x) {
  double term = 1, sum = 1;
  for (double k = 1; term > sum * DBL_EPSILON / 4 && k < 1e5; k++) {
    term *= x / (a + k);
    sum += term;
  }
  return exp(log_gamma_weight(a, x)) * sum;
}

/* Guards the denominators of Lentz's method. */
static double not_zero(double x) { return fabs(x) < 1e-290 ? 1e-290 : x; }

static double gamma_above_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e290, d = 1 / not_zero(b), fraction = d;
  for (double k = 1; k < 1e5; k++) {
    const double an = -k * (k - a);
    b += 2;
    d = 1 / not_zero(an * d + b);
    c = not_zero(b + an / c);
    fraction *= c * d;
    if (fabs(c * d - 1) < DBL_EPSILON) {
      break;
    }
  }
  return exp(log_gamma_weight(a, x)) * a * fraction;
}

double oat_gamma_cdf(double shape, double x, bool above) {
  if (!(x > 0)) {
    return above ? 1 : 0;
  }
  if (isinf(x)) {
    return above ? 0 : 1;
  }
  if (shape > 1e4) {
    const double q = gamma_above_large(shape, x);
    return above ? q : 1 - q;
  }
  const bool series = x < shape + 1;
  const double value = series ? gamma_below_series(shape, x) : gamma_above_fraction(shape, x);
  return fmin(1, above == series ? 1 - value : value);
}

/* ---- incomplete beta ------------------------------------------------------------------------------------------- */

/* I_x(a, b) for x below the mean, by Lentz's method. */
static double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (double k = 1; k < 1e5; k++) {
    const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
    const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= c * d;
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= c * d;
    if (fabs(c * d - 1) < DBL_EPSILON) {
      break;
    }
  }
  return fraction;
}

/* log of x^a rest^b / B(a, b), by the binomial coefficient: 1 / B(a, b) = a b / (a + b) (a + b over a) */
static double log_beta_weight(double a, double b, double x, double rest) {
  return a * log(x) + b * log(rest) + log(a) + log(b / (a + b)) + oat_log_choose(a + b, a);
}

double oat_beta_cdf(double a, double b, double x, double rest) {
  if (!(x > 0) || !(rest > 0)) {
    return x > 0 ? 1 : 0;
  }
  const double weight = exp(log_beta_weight(a, b, x, rest));
  if (x < (a + 1) / (a + b + 2)) {
    return fmin(1, weight * beta_fraction(a, b, x) / a);
  }
  return fmax(0, 1 - weight * beta_fraction(b, a, rest) / b);
}

/* ---- normal distribution --------------------------------------------------------------------------------------- */

static inline double erfcx_one(double x) {
  static const double p[] = {
      -0x1.246d1377ddfc5p-32, 0x1.ffeb28f9555bdp-31,  0x1.b39ff863c372cp-29,  -0x1.a83c2ea871b62p-27,
      -0x1.613ab11a1521ep-26, 0x1.c8b87aa04ba06p-24,  0x1.4cbb15f92d1b0p-24,  -0x1.b8d249727fc97p-21,
      0x1.3981051d40be1p-22,  0x1.7ef6b7a31ebb4p-18,  -0x1.78861f18eeb46p-17, -0x1.995385e20c468p-16,
      0x1.3be04bf52bb71p-13,  -0x1.a1df5db3b79ecp-13, -0x1.8d4a9b00c7999p-11, 0x1.49c672e0029c2p-8,
      -0x1.0962388397d97p-6,  0x1.3079edf51fc68p-5,   -0x1.0fb06dfe5229fp-4,  0x1.7fee004e1e9dcp-4,
      -0x1.9ddb23c3e8a22p-4,  0x1.16ecefcfa4d42p-4,   0x1.f7f5df66fd6c2p-7,   -0x1.1df1ad154a287p-3,
      0x1.3ba5916e9fd7fp+0,
  };
  const double t = (x - 4) / (x + 4);
  double sum = p[0];
#pragma GCC unroll 32
  for (int k = 1; k < (int)(sizeof p / sizeof *p); k++) {
    sum = sum * t + p[k];
  }
  return sum / (1 + 2 * x);
}

double oat_erfcx(double x) { return erfcx_one(x); }

OAT_CLONES
void oat_erfcx_each(size_t n, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] = erfcx_one(x[i]);
  }
}

double oat_normal_cdf(double x) { return 0.5 * erfc(-x * OAT_ROOT_HALF); }

double oat_log_normal_cdf(double x) {
  const double u = fabs(x) * OAT_ROOT_HALF;
  return x < 0 ? log(0.5 * erfcx_one(u)) - u * u : log1p(-0.5 * erfc(u));
}

double oat_log_normal_between(double a, double b) {
  if (a + b > 0) {
    return oat_log_normal_between(-b, -a);
  }
  if (isinf(a)) {
    return oat_log_normal_cdf(b);
  }
  if (b > 0) {
    return log1p(-0.5 * (erfc(b * OAT_ROOT_HALF) + erfc(-a * OAT_ROOT_HALF)));
  }
  const double near = -b * OAT_ROOT_HALF, far = -a * OAT_ROOT_HALF, e = erfcx_one(near);
  const double ratio = erfcx_one(far) / e * exp((near - far) * (near + far));
  return log(0.5 * e * (1 - ratio)) - near * near;
}

double oat_logistic(double x) {
  const double e = exp(-fabs(x)), small = e / (1 + e);
  return x > 0 ? 1 - small : small;
}
