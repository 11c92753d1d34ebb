/* Public functions for held-out rows: leave-one-out and cross-validation. */
#include "predict/predict.h"

#include <stdlib.h>

#include "api/api.h"
#include "data/data.h"
#include "fit/request.h"

/* The caller's array of variances receives standard deviations first, since those stay within the range of a double in
 * any unit. */
static oatgp_held_out_sd with_sd(const oatgp_held_out *rows) {
  return rows != NULL ? (oatgp_held_out_sd){rows->mean, rows->variance, rows->nlp, rows->residual}
                      : (oatgp_held_out_sd){0};
}

static void square(size_t n, double *values) {
  for (size_t i = 0; values != NULL && i < n; i++) {
    values[i] *= values[i];
  }
}

oatgp_status oatgp_loo_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                          const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || data == NULL, ctx, OATGP_ARGUMENT, "the model and the data must not be NULL");
  REFUSE_IF(!oat_data_has_target(data), ctx, OATGP_DATA, "the data have no target; leave-one-out needs one");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_loo_report(ctx, model, data, rows, scores);
}

oatgp_status oatgp_loo(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_held_out *rows,
                       oatgp_scores *scores) {
  const oatgp_held_out_sd out = with_sd(rows);
  PASS_ON(oatgp_loo_sd(ctx, model, data, &out, scores));
  square(data->n, out.sd);
  return OATGP_OK;
}

oatgp_status oatgp_cv_sd(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                         const oatgp_data *knots, const oatgp_cv_watch *watch, const oatgp_held_out_sd *rows,
                         oatgp_scores *scores) {
  char *text = NULL;
  oatgp_status status = OATGP_OK;
  OAT_NEED_CONTEXT(ctx);
  TRY(oat_check_problem(ctx, data, settings, data));
  TRY(oat_settings_text(ctx, settings, &text));
  TRY(oat_note_effects(ctx, data, settings, knots, "cv"));
  oatgp_settings own = *settings;
  own.checkpoint = "";
  own.resume = "";
  TRY(oat_take_threads(ctx, (int)settings->threads));
  const oat_fit_request fit = {.data = data, .settings = &own, .knots = knots, .settings_text = text};
  TRY(oat_cv(ctx, &fit, watch, rows, scores));
done:
  free(text);
  return status;
}

oatgp_status oatgp_cv(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                      const oatgp_data *knots, const oatgp_cv_watch *watch, const oatgp_held_out *rows,
                      oatgp_scores *scores) {
  const oatgp_held_out_sd out = with_sd(rows);
  PASS_ON(oatgp_cv_sd(ctx, data, settings, knots, watch, &out, scores));
  square(data->n, out.sd);
  return OATGP_OK;
}
