/* Special functions that likelihoods need: of the gamma family, and of the normal distribution. The C library's
 * lgamma writes a global, and has neither derivatives nor incomplete functions. */
#ifndef OAT_SPECIAL_H
#define OAT_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>

/* log Gamma(1 + x) and its first two derivatives times x and x^2, for x >= 0. From Gamma(x) = Gamma(1 + x) / x
 * follow log Gamma(x) = value - log x, x psi(x) = first - 1 and x^2 psi'(x) = second + 1, which are right for any
 * small x. */
typedef struct oat_gamma_terms {
  double value, first, second;
} oat_gamma_terms;

oat_gamma_terms oat_gamma_terms_at(double x);

double oat_log_gamma(double x); /* x > 0 */
double oat_digamma(double x);   /* x > 0 */
/* log x - psi(x), x > 0, with all digits for large x, too. */
double oat_log_less_digamma(double x);
/* The remainder of Stirling's formula: log Gamma(1 + x) - (x + 1/2) log x + x - log(2 pi) / 2, x > 0. */
double oat_stirling_rest(double x);
/* log of Gamma(1 + n) / (Gamma(1 + y) Gamma(1 + n - y)) for real 0 <= y <= n, without the loss of digits of large
 * arguments. */
double oat_log_choose(double n, double y);

/* The gamma distribution of rate 1: P(G <= x), or P(G > x) if `above`. */
double oat_gamma_cdf(double shape, double x, bool above);
/* The beta distribution: P(B <= x). `rest` is 1 - x, which may be known to more digits than x gives. */
double oat_beta_cdf(double a, double b, double x, double rest);

/* exp(x^2) erfc(x), x >= 0, within some ulp. */
double oat_erfcx(double x);
void oat_erfcx_each(size_t n, const double *x, double *y);

double oat_normal_cdf(double x);
double oat_log_normal_cdf(double x);
/* log(Phi(b) - Phi(a)), a < b. */
double oat_log_normal_between(double a, double b);

/* 1 / (1 + exp(-x)), for any x. */
double oat_logistic(double x);

#define OAT_ROOT_HALF 0.70710678118654752440
#define OAT_LOG_ROOT_2PI 0.91893853320467274178 /* log(2 pi) / 2 */
#define OAT_ROOT_2PI 2.50662827463100050242

#endif
