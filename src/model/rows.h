/* Data as a fitted model sees them: its inputs, scaled; the target about its prior mean, scaled; each row's noise. */
#ifndef OAT_MODEL_ROWS_H
#define OAT_MODEL_ROWS_H

#include "model/model.h"

/* Which input of the data each of the model's is: by name if both were given names, and then none may be missing; else
 * in order, if the number of inputs fits. */
oatgp_status oat_model_match_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t *column);
/* The model's inputs of the data, scaled, as rows without a target. They are found as above. */
oatgp_status oat_model_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out);
/* With target (about the prior mean, in the model's unit; the estimated part of the mean is not taken off), the mean's basis and noise. The
 * data need a target. Rows of the training data are those that the fit had. */
oatgp_status oat_model_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out);

#endif
