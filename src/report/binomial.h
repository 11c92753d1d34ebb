/* Quantiles of a binomial distribution: the band in which a count should be. */
#ifndef OAT_BINOMIAL_H
#define OAT_BINOMIAL_H

#include <stddef.h>

/* The least k with P(X <= k) >= level, X ~ Binomial(n, p); 0 < p < 1, 0 < level < 1. O(sqrt n). */
size_t oat_binomial_quantile(size_t n, double p, double level);

#endif
