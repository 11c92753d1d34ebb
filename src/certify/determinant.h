/* How much larger the determinant of C = K + D is than that of P = Q + D, from two traces. */
#ifndef OAT_DETERMINANT_H
#define OAT_DETERMINANT_H

#include "device/device.h"

/* tr A and tr A^2 of A = P^-1/2 (K - Q) P^-1/2, each with a bound of its rounding error. */
typedef struct oat_traces {
  double first, second, first_error, second_error;
} oat_traces;

/* Bounds of log|I + A|, the sum of log(1 + eigenvalue) over the n eigenvalues of A >= 0. */
typedef struct oat_determinant {
  double low, high;
} oat_determinant;

/* The rounding error of tr D^-1 (K - Q), whose terms are what the knots leave of the prior variance; `weights` is
 * tr D^-1. */
double oat_traces_lost(const oat_sparse *sparse, double weights);
/* From the sums over the rows; trace is tr D^-1 (K - Q), which has lost so much. */
oat_traces oat_traces_from(const oat_trace_sums *sums, double trace, double lost);
/* O(1). */
oat_determinant oat_determinant_bounds(size_t n, const oat_traces *traces);

#endif
