/* Public entries for rows that come after a fit. */
#include "model/update.h"

#include "api/api.h"
#include "data/data.h"
#include "linalg/linalg.h"

oatgp_status oatgp_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  OAT_NEED_CONTEXT(ctx);
  if (model == NULL || data == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "the model and the data must not be NULL");
  }
  if (data->y == NULL) {
    return oat_fail(ctx, OATGP_DATA, "the new rows have no target");
  }
  oat_set_blas_threads(1);
  return oat_update(ctx, model, data);
}

oatgp_status oatgp_refit(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_settings *settings,
                         oatgp_monitor_fn monitor, void *user, oatgp_model **out) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status =
      model != NULL ? oat_check_problem(ctx, data, settings, out) : oat_fail(ctx, OATGP_ARGUMENT, "the model must not be NULL");
  if (status != OATGP_OK) {
    return status;
  }
  oat_set_fit_threads(model->approx->name, settings);
  const oat_fit_request request = {
      .data = data, .settings = settings, .monitor = monitor, .user = user, .settings_text = "", .from = model};
  return oat_refit(ctx, &request, out);
}
