/* Scores of predictions: pure functions of arrays, in O(n) time unless stated otherwise, without allocation. Without
 * rows (n = 0) a score is NaN, and a NaN among the numbers makes the score NaN. */
#ifndef OAT_METRICS_H
#define OAT_METRICS_H

#include <stddef.h>

#include "util/normal.h"

/* A normal distribution for each row, by its standard deviation, because variances could leave the range of a
 * double. */
typedef struct oat_gaussian {
  const double *mean, *sd;
} oat_gaussian;

double oat_mean(size_t n, const double *values);
/* Standard deviation with divisor n - 1: NaN for n < 2, exactly 0 if all values are equal. */
double oat_sd(size_t n, const double *values);
/* For even n the mean of the two middle ones. Reorders the values; O(n) expected time. */
double oat_median(size_t n, double *values);

/* Root mean square of y - mean, without overflow in between. */
double oat_rmse(size_t n, const double *y, const double *mean);
/* rmse / sd(y); NaN for n < 2 or a constant y. */
double oat_srmse(size_t n, const double *y, const double *mean);
/* nlp[i] = -log N(y_i; mean_i, sd_i^2). An sd of 0 gives -Inf where y is the mean, else Inf. */
void oat_nlp(size_t n, const double *y, oat_gaussian prediction, double *nlp);
/* Share of rows with y in the central interval of probability p; NaN unless -1 < p < 1, and 0 for p < 0. */
double oat_coverage(size_t n, const double *y, oat_gaussian prediction, double p);
/* The same from P(Y < y) and P(Y <= y) of any distribution: whether y is between the quantiles (1 - p) / 2 and (1 + p)
 * / 2. */
double oat_quantile_coverage(size_t n, const double *below, const double *up_to, double p);
/* Mean of (p - y)^2. */
double oat_brier(size_t n, const double *y, const double *p);
/* The probability that a row with y = 1 has a larger p than one with y = 0, ties counted half; NaN if all y are the
 * same. Sorts `order`, room for n pairs. O(n log n). */
typedef struct oat_scored {
  double p, y;
} oat_scored;
double oat_auc(size_t n, const double *y, const double *p, oat_scored *order);
/* Mean over rows of KL(p || q). With p the full GP and q the sparse one it is the paper's AUKL.
 * Standard deviations must be positive. */
double oat_mean_kl(size_t n, oat_gaussian p, oat_gaussian q);

#endif
