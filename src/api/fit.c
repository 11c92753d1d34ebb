/* Public functions for fitting and evaluating: they check their arguments and forward. */
#include <math.h>
#include <stdlib.h>

#include "api/api.h"
#include "data/scaling.h"
#include "fit/request.h"
#include "util/lanes.h"
#include "util/ranks.h"

enum { LONGEST_PATH = 4096 };
#define LARGEST_TARGET 1e301 /* leaves room for multiples in predictions, such as mean + 2 sd */

static oatgp_status check_target(oatgp_context *ctx, const oatgp_data *data) {
  if (data->y == NULL) { /* in files: the range is known */
    oat_description y;
    oat_describe_column(data, oat_data_number_of(data, OAT_OTHER_TARGET), ctx->threads, &y);
    const double largest = fabs(y.lowest) > fabs(y.highest) ? y.lowest : y.highest;
    REFUSE_IF(fabs(largest) > LARGEST_TARGET, ctx, OATGP_DATA,
              "the target is %g in some row, and beyond %g its predictions would overflow; divide the target by a "
              "power of ten",
              largest, LARGEST_TARGET);
    return OATGP_OK;
  }
  for (size_t i = 0; i < data->n; i++) {
    REFUSE_IF(fabs(data->y[i]) > LARGEST_TARGET, ctx, OATGP_DATA,
              "the target is %g in row %zu, and beyond %g its predictions would overflow; divide the target by a power "
              "of ten",
              data->y[i], i + 1, LARGEST_TARGET);
  }
  return OATGP_OK;
}

oatgp_status oat_check_problem(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                               const void *out) {
  REFUSE_IF(data == NULL || settings == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "data, settings and the output pointer must not be NULL");
  REFUSE_IF(!oat_data_has_target(data), ctx, OATGP_DATA, "the data have no target; name it with --target");
  PASS_ON(oatgp_settings_check(ctx, settings));
  REFUSE_IF(oat_rank_count() > OAT_MOST_LANES, ctx, OATGP_ARGUMENT,
            "%d ranks are too many: at most %d can share the rows; give each of them more --threads", oat_rank_count(),
            OAT_MOST_LANES);
  PASS_ON(oat_data_is_streamed(data) ? OATGP_OK : oat_data_check_ranks(ctx, data)); /* the reader has done it */
  return check_target(ctx, data);
}

oatgp_status oatgp_fit(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                       const oatgp_data *knots, oatgp_monitor_fn monitor, void *user, oatgp_model **out) {
  char *text = NULL, path[LONGEST_PATH];
  oatgp_status status = OATGP_OK;
  OAT_NEED_CONTEXT(ctx);
  TRY(oat_check_problem(ctx, data, settings, out));
  TRY(*settings->checkpoint != '\0' ? oatgp_file_path(ctx, settings->checkpoint, path, sizeof path)
                                    : OATGP_OK); /* not after minutes */
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

oatgp_status oatgp_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                            const oatgp_data *knots, int with_gradient, oatgp_evaluation *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(oat_check_problem(ctx, data, settings, out));
  PASS_ON(oat_take_threads(ctx, (int)settings->threads));
  PASS_ON(oat_note_effects(ctx, data, settings, knots, "objective"));
  return oat_evaluate(ctx, data, settings, knots, with_gradient, out);
}
