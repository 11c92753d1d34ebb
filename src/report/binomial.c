/* Quantiles of a binomial distribution, by adding up its probabilities from where they begin to count. */
#include "report/binomial.h"

#include <math.h>

size_t oat_binomial_quantile(size_t n, double p, double level) {
  const double count = (double)n, reach = 12 * sqrt(count * p * (1 - p)) + 12; /* less than 1e-30 lies below */
  double k = fmax(0, floor(count * p - reach));
  double log_probability = lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) + k * log(p) + (count - k) * log1p(-p);
  double sum = exp(log_probability);
  while (sum < level && k < count) {
    log_probability += log((count - k) / (k + 1)) + log(p) - log1p(-p);
    k++;
    sum += exp(log_probability);
  }
  return (size_t)k;
}
