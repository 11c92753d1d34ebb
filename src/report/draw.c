/* One figure to a file: as SVG, or in letters. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "data/data.h"
#include "report/chart.h"

static oatgp_status refuse_name(oatgp_context *ctx, const char *name) {
  char list[256] = "";
  for (size_t i = 0; oat_chart_at(i) != NULL; i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", oat_chart_at(i)->name);
  }
  return oat_fail(ctx, OATGP_ARGUMENT, "there is no figure '%s'; the figures are %s", name, list);
}

static oatgp_status check(const oat_chart *chart, const oat_facts *f) {
  REFUSE_IF(chart->needs_data && (f->data == NULL || f->data->y == NULL), f->ctx, OATGP_DATA,
            "the figure '%s' needs rows with a target: give data", chart->name);
  return chart->panels(f) > 0 ? OATGP_OK
                              : oat_fail(f->ctx, OATGP_DATA, "there is no figure '%s' of this model: %s", chart->name, chart->why);
}

static oatgp_status add_figure(oat_figure *figure, const oatgp_drawing *drawing, oat_string *out) {
  if (drawing->width == 0 && drawing->height == 0) {
    return oat_figure_svg(figure, "figure", out);
  }
  return oat_figure_letters(figure, (oat_letters){drawing->width, drawing->height, drawing->utf8 != 0}, out);
}

oatgp_status oat_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_drawing *drawing) {
  const oat_chart *const chart = oat_chart_find(drawing->figure);
  oat_facts facts = {0};
  oat_figure *figure = NULL;
  oat_string text = {.ctx = ctx};
  oatgp_status status;
  if (chart == NULL) {
    return refuse_name(ctx, drawing->figure);
  }
  TRY(oat_facts_make(ctx, model, data, &facts));
  TRY(check(chart, &facts));
  TRY(oat_chart_figure(chart, &facts, SIZE_MAX, &figure));
  TRY(add_figure(figure, drawing, &text));
  TRY(oat_string_write(&text, drawing->path));
done:
  oat_figure_free(figure);
  oat_string_free(&text);
  oat_scratch_free(&facts.memory);
  return status;
}
