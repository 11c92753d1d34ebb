/* Public functions for figures and the report. */
#include "report/chart.h"

#include "api/api.h"
#include "data/data.h"

int oatgp_figure_at(size_t index, oatgp_figure *out) {
  const oat_chart *const chart = oat_chart_at(index);
  if (chart == NULL || out == NULL) {
    return 0;
  }
  *out = (oatgp_figure){chart->name, chart->help, chart->needs_data};
  return 1;
}

oatgp_status oatgp_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                        const oatgp_drawing *drawing) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || drawing == NULL || drawing->figure == NULL || drawing->path == NULL, ctx, OATGP_ARGUMENT,
            "the model, the drawing, its figure and its path must not be NULL");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  PASS_ON(data != NULL ? oat_data_need_memory(ctx, data, "a figure") : OATGP_OK);
  return oat_draw(ctx, model, data, drawing);
}

oatgp_status oatgp_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const char *from,
                          const char *path) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || data == NULL || path == NULL, ctx, OATGP_ARGUMENT,
            "the model, the data and the path must not be NULL");
  REFUSE_IF(!oat_data_has_target(data) || data->n == 0, ctx, OATGP_DATA,
            "the data have no target or no rows; a report needs both");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  PASS_ON(oat_data_need_memory(ctx, data, "a report"));
  return oat_report(ctx, model, data, from != NULL ? from : "the data", path);
}
