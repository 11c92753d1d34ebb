/* Leave-one-out: every row as the model predicts it without that row, at the same parameters and knots. */
#ifndef OAT_LOO_H
#define OAT_LOO_H

#include "model/model.h"

/* One value for each row, in the data's units: y - mean, and the standard deviation of an observation there. */
typedef struct oat_loo_rows {
  double *error, *sd;
  bool known; /* the rows are those of the fit for sure, and need no check */
} oat_loo_rows;

/* rows are those that the model was fitted to, as it sees them; the full GP needs them in their order. Closed form:
 * O(N K^2), O(N^3) for the full GP, nothing is fitted again. The same bits for any number of threads (but for the full GP's BLAS). */
oatgp_status oat_loo(oatgp_context *ctx, const oatgp_model *model, oat_where where, const oat_rows *rows, const oat_loo_rows *out);
/* The whole, for data. */
oatgp_status oat_loo_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_held_out_sd *rows,
                            oatgp_scores *scores);
/* The scores that a model keeps, after a fit to these rows of the data. */
oatgp_status oat_loo_keep(oatgp_context *ctx, oatgp_model *model, oat_where where, const oat_rows *rows, const oatgp_data *data);

#endif
