/* Public entries for fitting and evaluating: they check their arguments and forward. */
#include <stdlib.h>

#include "api/api.h"
#include "data/data.h"
#include "linalg/linalg.h"
#include "model/model.h"

enum { LONGEST_PATH = 4096 };

/* A sparse model works in threads over blocks of rows, with one thread of the BLAS in each; the full GP is the BLAS's own work. */
void oat_set_fit_threads(const char *approx, const oatgp_settings *settings) {
  oat_set_blas_threads(oat_approx_find(approx)->sparse ? 1 : (int)settings->threads);
}

oatgp_status oat_check_problem(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const void *out) {
  if (data == NULL || settings == NULL || out == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "data, settings and the place of the result must not be NULL");
  }
  if (data->y == NULL) {
    return oat_fail(ctx, OATGP_DATA, "the data have no target: name it by --target");
  }
  return oatgp_settings_check(ctx, settings);
}

oatgp_status oatgp_fit(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                       oatgp_monitor_fn monitor, void *user, oatgp_model **out) {
  char *text = NULL, path[LONGEST_PATH];
  oatgp_status status = OATGP_OK;
  OAT_NEED_CONTEXT(ctx);
  TRY(oat_check_problem(ctx, data, settings, out));
  TRY(*settings->checkpoint != '\0' ? oatgp_file_path(ctx, settings->checkpoint, path, sizeof path) : OATGP_OK); /* not after minutes */
  TRY(oat_settings_text(ctx, settings, &text));
  oat_set_fit_threads(settings->approx, settings);
  const oat_fit_request request = {data, settings, knots, monitor, user, text, NULL, false};
  TRY(oat_fit(ctx, &request, out));
  (*out)->text[OAT_TEXT_SETTINGS] = text;
  return OATGP_OK;
done:
  free(text);
  return status;
}

oatgp_status oatgp_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                            int with_gradient, oatgp_evaluation *out) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = oat_check_problem(ctx, data, settings, out);
  if (status != OATGP_OK) {
    return status;
  }
  oat_set_fit_threads(settings->approx, settings);
  return oat_evaluate(ctx, data, settings, knots, with_gradient, out);
}

void oatgp_evaluation_clear(oatgp_evaluation *evaluation) {
  if (evaluation != NULL) {
    free(evaluation->lengthscales);
    free(evaluation->d_log_lengthscales);
    free(evaluation->d_knots);
    *evaluation = (oatgp_evaluation){0};
  }
}
