/* Random numbers of some distributions. Counts take O(log) draws of gamma or beta variates, which
 * are order statistics (J. H. Ahrens and U. Dieter, Computer methods for sampling from gamma, beta, Poisson and
 * binomial distributions, Computing 12, 1974). */
#include "util/draw.h"

#include <math.h>

/* G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables, ACM TOMS 26 (2000). */
double oat_draw_log_gamma(double shape, oat_rng *rng) {
  if (shape < 1) {
    return oat_draw_log_gamma(shape + 1, rng) + log(1 - oat_rng_uniform(rng)) / shape;
  }
  const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    const double x = oat_rng_normal(rng), root = 1 + c * x, v = root * root * root;
    if (root > 0 && log(1 - oat_rng_uniform(rng)) < 0.5 * x * x + d - d * v + d * log(v)) {
      return log(d) + log(v);
    }
  }
}

double oat_draw_beta(double a, double b, oat_rng *rng) {
  const double x = oat_draw_log_gamma(a, rng);
  return 1 / (1 + exp(oat_draw_log_gamma(b, rng) - x));
}

static double draw_few_poisson(double mean, oat_rng *rng) {
  const double least = exp(-mean);
  double count = 0;
  for (double product = oat_rng_uniform(rng); product > least; product *= oat_rng_uniform(rng)) {
    count++;
  }
  return count;
}

/* The time of the n-th event is Gamma(n). If it is beyond `mean`, the events before it are spread evenly; otherwise,
 * the rest is again Poisson. */
double oat_draw_poisson(double mean, oat_rng *rng) {
  double count = 0;
  while (mean > 12) {
    if (mean > 1e15) { /* beyond this, a double cannot hold every whole number */
      return count + floor(mean + sqrt(mean) * oat_rng_normal(rng));
    }
    const double n = floor(0.875 * mean), time = exp(oat_draw_log_gamma(n, rng));
    if (time > mean) {
      return count + oat_draw_binomial(n - 1, mean / time, rng);
    }
    count += n;
    mean -= time;
  }
  return count + draw_few_poisson(mean, rng);
}

/* The middle one of n uniform numbers is a beta variate. The numbers on the side of it that contains p are again
 * uniform. */
double oat_draw_binomial(double trials, double p, oat_rng *rng) {
  double count = 0;
  while (trials > 16) {
    const double middle = floor(0.5 * trials) + 1, x = oat_draw_beta(middle, trials + 1 - middle, rng);
    if (x <= p) {
      count += middle;
      trials -= middle;
      p = (p - x) / (1 - x);
    } else {
      trials = middle - 1;
      p /= x;
    }
  }
  for (; trials > 0; trials--) {
    count += oat_rng_uniform(rng) < p;
  }
  return count;
}
