/* The model from a fit. */
#ifndef OAT_BUILD_H
#define OAT_BUILD_H

#include "model/model.h"
#include "fit/setup.h"

/* Evaluates at the point and makes the model there. What the optimiser did is left to the caller to fill in. */
oatgp_status oat_model_build(oatgp_context *ctx, const oat_setup *setup, oat_objective *objective, const oat_point *point,
                             oatgp_model **out);

/* A text that tells data apart: a hash of inputs, target, weights and noise variances. */
#define OAT_FINGERPRINT 32
void oat_fingerprint(const oatgp_data *data, char *text);

#endif
