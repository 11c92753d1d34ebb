/* How much larger the determinant of C = K + D is than that of P = Q + D, from two traces. */
#ifndef OAT_TRACES_H
#define OAT_TRACES_H

#include "certify/system.h"

/* tr A and tr A^2 of A = P^-1/2 (K - Q) P^-1/2, each with a bound of its rounding error. */
typedef struct oat_traces {
  double first, second, first_error, second_error;
} oat_traces;

/* Bounds of log|I + A|, the sum of log(1 + eigenvalue) over the n eigenvalues of A >= 0. */
typedef struct oat_determinant {
  double low, high;
} oat_determinant;

/* O(1). */
oat_determinant oat_determinant_bounds(size_t n, const oat_traces *traces);

/* Working memory. The system must have kept V. */
typedef struct oat_traces_work {
  double *u;     /* block after block, rows x k each: D^-1 V^T LB^-T */
  double *lanes; /* lanes x stride: T of a block, U^T T, sums */
  size_t stride;
} oat_traces_work;

/* Doubles of it that do not depend on the number of rows. */
double oat_traces_room(const oat_system *system);
/* `work` must be zero before; free it by clear whatever happens. */
oatgp_status oat_traces_open(oatgp_context *ctx, const oat_system *system, oat_traces_work *work);
/* trace is tr D^-1 (K - Q). O(N^2 K). False if it was given up. */
bool oat_traces_sum(oat_system *system, oat_traces_work *work, double trace, oat_traces *out);
/* The rounding error of that trace, whose terms are what the knots leave of sigma^2. O(N). */
double oat_traces_lost(const oat_system *system);
/* About how many seconds the traces take, from a small part of it. */
double oat_traces_cost(oat_system *system, oat_traces_work *work);
void oat_traces_clear(oat_traces_work *work);

#endif
