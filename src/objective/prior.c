/* The families of priors, and the sum of their log densities. */
#include "objective/prior.h"

#include <math.h>
#include <string.h>

#include "likelihood/special.h"

#define LOG_SQRT_TWO_PI 0.91893853320467274178 /* log(2 pi) / 2 */
#define LOG_TWO_OVER_PI (-0.45158270528945486473)
#define EDGE 1e-9 /* of a range: how far rounding may move a parameter beyond its end */

static bool second_positive(const double *a) { return a[1] > 0; }
static bool first_positive(const double *a) { return a[0] > 0; }
static bool both_positive(const double *a) { return a[0] > 0 && a[1] > 0; }
static bool is_range(const double *a) { return a[0] > 0 && a[0] < a[1]; }

static double lognormal(const double *a, double x, double *slope) {
  const double z = (log(x) - a[0]) / a[1];
  *slope = -z / a[1] - 1;
  return -z * z / 2 - LOG_SQRT_TWO_PI - log(a[1]) - log(x);
}

/* Truncated to positive numbers. */
static double normal(const double *a, double x, double *slope) {
  const double z = (x - a[0]) / a[1];
  *slope = -z * x / a[1];
  return -z * z / 2 - LOG_SQRT_TWO_PI - log(a[1]) - oat_log_normal_cdf(a[0] / a[1]);
}

static double half_normal(const double *a, double x, double *slope) {
  const double z = x / a[0];
  *slope = -z * z;
  return -z * z / 2 + LOG_TWO_OVER_PI / 2 - log(a[0]);
}

static double half_cauchy(const double *a, double x, double *slope) {
  const double z = x / a[0];
  *slope = -2 / (1 + 1 / (z * z));
  return LOG_TWO_OVER_PI - log(a[0]) - log1p(z * z);
}

static double gamma_of(const double *a, double x, double *slope) {
  *slope = a[0] - 1 - a[1] * x;
  return a[0] * log(a[1]) - oat_log_gamma(a[0]) + (a[0] - 1) * log(x) - a[1] * x;
}

static double inverse_gamma(const double *a, double x, double *slope) {
  *slope = a[1] / x - a[0] - 1;
  return a[0] * log(a[1]) - oat_log_gamma(a[0]) - (a[0] + 1) * log(x) - a[1] / x;
}

static double uniform(const double *a, double x, double *slope) {
  *slope = 0;
  return x >= a[0] * (1 - EDGE) && x <= a[1] * (1 + EDGE) ? -log(a[1] - a[0]) : -HUGE_VAL;
}

static const oat_family families[] = {
    {"lognormal", 2, "the mean of the logarithm and its standard deviation, above 0", second_positive, lognormal,
     false},
    {"normal", 2, "a mean and a standard deviation above 0", second_positive, normal, false},
    {"half-normal", 1, "a scale above 0", first_positive, half_normal, false},
    {"half-cauchy", 1, "a scale above 0", first_positive, half_cauchy, false},
    {"gamma", 2, "a shape and a rate above 0", both_positive, gamma_of, false},
    {"inverse-gamma", 2, "a shape and a scale above 0", both_positive, inverse_gamma, false},
    {"uniform", 2, "two numbers above 0, the smaller first", is_range, uniform, true},
};
enum { FAMILIES = sizeof families / sizeof *families };

const oat_family *oat_family_at(size_t index) { return index < FAMILIES ? &families[index] : NULL; }

const oat_family *oat_family_find(const char *name, size_t length) {
  for (size_t i = 0; i < FAMILIES; i++) {
    if (strlen(families[i].name) == length && strncmp(families[i].name, name, length) == 0) {
      return &families[i];
    }
  }
  return NULL;
}

double oat_prior_add(const oat_prior *prior, double share, const double *theta, double *slope) {
  double sum = 0;
  for (size_t i = 0; i < prior->count; i++) {
    const oat_prior_term *term = &prior->term[i];
    double own;
    sum += share * term->family->log_density(term->argument, term->unit * theta[term->place], &own);
    if (slope != NULL) {
      slope[term->place] += share * own;
    }
  }
  return sum;
}
