/* Public entries for fitting and evaluating: they check their arguments and forward. */
#include <math.h>
#include <stdlib.h>

#include "api/api.h"
#include "data/data.h"
#include "fit/request.h"

enum { LONGEST_PATH = 4096 };
#define LARGEST_TARGET 1e301 /* room for what predictions are made of, such as several times sigma */

static oatgp_status check_target(oatgp_context *ctx, const oatgp_data *data) {
  for (size_t i = 0; i < data->n; i++) {
    REFUSE_IF(fabs(data->y[i]) > LARGEST_TARGET, ctx, OATGP_DATA,
              "the target is %g in row %zu; beyond %g its predictions would be no numbers: divide it by some power of ten", data->y[i],
              i + 1, LARGEST_TARGET);
  }
  return OATGP_OK;
}

oatgp_status oat_check_problem(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const void *out) {
  REFUSE_IF(data == NULL || settings == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "data, settings and the place of the result must not be NULL");
  REFUSE_IF(data->y == NULL, ctx, OATGP_DATA, "the data have no target: name it by --target");
  PASS_ON(oatgp_settings_check(ctx, settings));
  return check_target(ctx, data);
}

oatgp_status oatgp_fit(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                       oatgp_monitor_fn monitor, void *user, oatgp_model **out) {
  char *text = NULL, path[LONGEST_PATH];
  oatgp_status status = OATGP_OK;
  OAT_NEED_CONTEXT(ctx);
  TRY(oat_check_problem(ctx, data, settings, out));
  TRY(*settings->checkpoint != '\0' ? oatgp_file_path(ctx, settings->checkpoint, path, sizeof path) : OATGP_OK); /* not after minutes */
  TRY(oat_settings_text(ctx, settings, &text));
  TRY(oat_note_effects(ctx, data, settings, knots, "fit"));
  TRY(oat_take_threads(ctx, (int)settings->threads));
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
  PASS_ON(oat_check_problem(ctx, data, settings, out));
  PASS_ON(oat_take_threads(ctx, (int)settings->threads));
  PASS_ON(oat_note_effects(ctx, data, settings, knots, "objective"));
  return oat_evaluate(ctx, data, settings, knots, with_gradient, out);
}
