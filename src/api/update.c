/* Public functions for rows that come after a fit. */
#include "fit/request.h"

#include "api/api.h"
#include "data/data.h"

oatgp_status oatgp_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || data == NULL, ctx, OATGP_ARGUMENT, "the model and the data must not be NULL");
  REFUSE_IF(!oat_data_has_target(data), ctx, OATGP_DATA, "the new rows have no target");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_update(ctx, model, data);
}

oatgp_status oatgp_model_remove_rows(oatgp_context *ctx, oatgp_model *model, size_t count, const size_t *rows) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || (rows == NULL && count > 0), ctx, OATGP_ARGUMENT,
            "the model and the row numbers must not be NULL");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_remove_rows(ctx, model, count, rows);
}

oatgp_status oatgp_refit(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                         const oatgp_settings *settings, oatgp_monitor_fn monitor, void *user, oatgp_model **out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(model != NULL ? oat_check_problem(ctx, data, settings, out)
                        : oat_fail(ctx, OATGP_ARGUMENT, "the model must not be NULL"));
  PASS_ON(oat_take_threads(ctx, (int)settings->threads));
  const oat_fit_request request = {
      .data = data, .settings = settings, .monitor = monitor, .user = user, .settings_text = "", .from = model};
  return oat_refit(ctx, &request, out);
}
