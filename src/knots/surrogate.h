/* The surrogate of OAT-BO: a noiseless GP for the objective as a function of the new knot, with covariance
 * sigma^2 exp(-|x - x'|_1 / l) (the L1 norm) and, as its mean, the first value. */
#ifndef OAT_SURROGATE_H
#define OAT_SURROGATE_H

#include "optim/optim.h"
#include "util/memory.h"

typedef struct oat_surrogate {
  oat_scratch memory;
  size_t n, d;
  double *x, *y; /* capacity x d (row after row), capacity */
  double jitter; /* on the diagonal in the likelihood; a thousandth of it in prediction */
  double sigma, l;
  double *k, *distance; /* n x n each */
  double *a;            /* K^-1 (y - mean) */
} oat_surrogate;

oatgp_status oat_surrogate_open(oatgp_context *ctx, size_t capacity, size_t d, oat_surrogate *surrogate);
void oat_surrogate_close(oat_surrogate *surrogate);
void oat_surrogate_add(oat_surrogate *surrogate, const double *x, double y);
/* Maximum likelihood in log sigma and log l, from (sigma, l). O(n^3) an evaluation. */
oatgp_status oat_surrogate_fit(oat_surrogate *surrogate, double sigma, double l);
/* Log likelihood without -n/2 log 2 pi at (sigma, l), with its gradient in the logarithms; false if it cannot be
 * factorised. */
bool oat_surrogate_likelihood(oat_surrogate *surrogate, double sigma, double l, double *value, double *gradient);
/* Gets ready to predict with sigma and l as they are. */
oatgp_status oat_surrogate_condition(oat_surrogate *surrogate);
/* At one point: mean, variance and expected improvement over the largest y. O(n^2); n doubles of scratch, so that
 * threads can share the surrogate. */
typedef struct oat_outlook {
  double mean, variance, improvement;
} oat_outlook;

oat_outlook oat_surrogate_predict(const oat_surrogate *surrogate, const double *x, double *work);

#endif
