/* Rows that come after the fit. */
#ifndef OAT_UPDATE_H
#define OAT_UPDATE_H

#include "fit/request.h"

/* Adds the rows to the sums of a sparse model and solves again: O(n K^2 + K^3). A failure leaves the model as it was. */
oatgp_status oat_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data);
/* Fits on from request->from, with the settings of its fit but for how long and on what machine; request->settings gives those. */
oatgp_status oat_refit(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out);

#endif
