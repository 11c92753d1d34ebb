/* Lower and upper bounds of the exact log evidence at a model's parameters, and with them a bound on how far the sparse
 * posterior is from the exact one. */
#ifndef OAT_CERTIFY_H
#define OAT_CERTIFY_H

#include "model/model.h"

/* As the public function got it. */
typedef struct oat_certify_request {
  const oatgp_model *model;
  const oatgp_data *data;
  const oatgp_settings *settings; /* tol, max_iter, time_limit, determinant, threads, memory, exact */
  oatgp_bracket_fn monitor;       /* or NULL */
  void *user;
} oat_certify_request;

oatgp_status oat_certify(oatgp_context *ctx, const oat_certify_request *request, oatgp_certificate *out);

/* ---- how much larger the determinant of C = K + D is than that of P = Q + D, from two traces ------------------- */

/* tr A and tr A^2 of A = P^-1/2 (K - Q) P^-1/2, each with a bound of its rounding error. */
typedef struct oat_traces {
  double first, second, first_error, second_error;
} oat_traces;

/* Bounds of log|I + A|, the sum of log(1 + eigenvalue) over the n eigenvalues of A >= 0. */
typedef struct oat_determinant {
  double low, high;
} oat_determinant;

/* The rounding error of tr D^-1 (K - Q), whose terms are the prior variances that the knots do not explain; `weights`
 * is tr D^-1. */
double oat_traces_lost(const oat_sparse *sparse, double weights);
/* From the sums over the rows; `trace` is tr D^-1 (K - Q) and `lost` its rounding error. */
oat_traces oat_traces_from(const oat_trace_sums *sums, double trace, double lost);
/* O(1). */
oat_determinant oat_determinant_bounds(size_t n, const oat_traces *traces);

#endif
