/* Predictions. The public functions check their arguments first. */
#ifndef OAT_PREDICT_H
#define OAT_PREDICT_H

#include "model/model.h"

oatgp_status oat_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction *out);
oatgp_status oat_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction_sd *out);
oatgp_status oat_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean);
oatgp_status oat_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *covariance);
oatgp_status oat_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count, uint64_t seed,
                                 double *samples);
/* The knots of a sparse model in the order that the user sees, in the data's units, and the posterior of f there: into
 * whichever of these is not NULL. */
oatgp_status oat_predict_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd);

#endif
