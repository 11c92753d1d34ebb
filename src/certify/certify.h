/* A bracket of the exact log evidence at a model's parameters, and with it a bound on how far the sparse posterior is from the exact
 * one. */
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

#endif
