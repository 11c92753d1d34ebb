/* Data as a fitted model sees them: its inputs, scaled; the target about its prior mean, scaled; each row's noise. */
#ifndef OAT_MODEL_ROWS_H
#define OAT_MODEL_ROWS_H

#include "model/model.h"

/* Which input of the data each of the model's is: by name if both were given names, and then none may be missing; else
 * in order, if the number of inputs fits. */
oatgp_status oat_model_match_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t *column);
/* The model's inputs of the data, scaled, n x d, column-major. They are found as above. */
oatgp_status oat_model_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double **x);

/* Owns what the rows point to. */
typedef struct oat_model_rows {
  oat_rows rows; /* r: (y - centre) / scale, then the p columns of the mean's basis, whose coefficients are not yet taken off */
  double *x, *r, *noise_scale, *noise_add;
} oat_model_rows;

/* What the target is measured from, and in. */
typedef struct oat_target {
  double mean, scale;
} oat_target;

/* Fills r and the noise of rows whose x is there; rows.p says how many columns the mean's basis has. */
void oat_fill_targets(const oatgp_data *data, const oat_scaling *scaling, oat_target target, const oat_model_rows *out);
/* The data need a target. Rows of the training data are those that the fit had. */
oatgp_status oat_model_rows_make(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_model_rows *out);
void oat_model_rows_clear(oat_model_rows *rows);

#endif
