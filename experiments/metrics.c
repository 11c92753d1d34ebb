/* Figures 3, 4 and 5: metrics in facets, runs on the x axis, models as coloured lines. The left column is fitted as in
 * the paper, the right one with oatgp's defaults. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper.h"
#include "util/context.h"

typedef struct metric {
  const char *label;
  int number;
  oat_scale_kind scale;
} metric;

static const metric metrics[] = {{"MNLP", R_MNLP, OAT_LINEAR},
                                 {"SRMSE", R_SRMSE, OAT_LINEAR},
                                 {"log10 AUKL of y", R_AUKL_Y, OAT_LINEAR},
                                 {"seconds", R_SECONDS, OAT_LOG10},
                                 {"knots", R_KNOTS, OAT_LINEAR}};
enum { METRICS = sizeof metrics / sizeof *metrics, PRESETS = 2 };
static const char *const presets[PRESETS] = {PAPER, DEFAULTS};
static const char *const titles[PRESETS] = {"as in the paper (ADADELTA)", "oatgp's defaults (L-BFGS)"};

/* Lines as the paper draws them: the full GP solid, one at a time dashed, all at once dotted. */
static oat_style style_of(size_t model) {
  static const oat_dash dashes[PAPER_MODELS] = {OAT_SOLID, OAT_DASHED, OAT_DASHED, OAT_DASHED, OAT_DOTTED, OAT_DOTTED};
  oat_style style = oat_series_style(model, model_name(model));
  style.dash = dashes[model];
  return style;
}

static oatgp_status draw_line(oat_panel *panel, const results *r, pick p, const metric *m, size_t model) {
  double x[RUNS], y[RUNS];
  size_t n = 0;
  for (int run = 1; run <= RUNS; run++) {
    const result *row = results_row(r, p, run);
    if (row != NULL && !isnan(row->number[m->number])) {
      x[n] = run;
      y[n++] = row->number[m->number];
    }
  }
  const oat_style style = style_of(model);
  if (n == 0) { /* nothing to see, but a place in the legend */
    x[n] = 1;
    y[n++] = NAN;
  }
  return oat_panel_line(panel, &style, n, x, y);
}

static oatgp_status draw_metric(oat_figure *figure, const results *r, const set_info *set, size_t m) {
  oatgp_status status = OATGP_OK;
  for (size_t c = 0; c < PRESETS; c++) {
    oat_panel *panel = oat_figure_panel(figure, m, c);
    TRY(oat_panel_axis(panel, OAT_Y,
                       &(oat_axis){.label = c == 0 ? metrics[m].label : NULL,
                                   .kind = metrics[m].scale,
                                   .whole = metrics[m].number == R_KNOTS}));
    for (size_t i = 0; i < PAPER_MODELS; i++) {
      TRY(draw_line(panel, r, (pick){set->name, model_name(i), presets[c]}, &metrics[m], i));
    }
  }
done:
  return status;
}

oatgp_status make_metrics_figure(const results *r, const set_info *set, oat_figure **out) {
  char title[128];
  oat_figure *figure = NULL;
  oatgp_status status = OATGP_OK;
  snprintf(title, sizeof title, "%s: metrics of five runs", set->title);
  TRY(oat_figure_create(
      r->ctx,
      &(oat_figure_spec){
          .title = title,
          .description = "Rows: MNLP, SRMSE, log10 of the average divergence from the full GP, training seconds and "
                         "number of knots, over the runs, a line for each model. Columns: the paper's settings and "
                         "oatgp's defaults.",
          .rows = METRICS,
          .columns = PRESETS,
          .height_mm = 200,
          .share = {OAT_SHARE_ALL, OAT_SHARE_LINE},
          .legend = {.place = OAT_LEGEND_BELOW}},
      &figure));
  TRY(oat_figure_axis(figure, OAT_X, &(oat_axis){.label = "run", .whole = true}));
  for (size_t c = 0; c < PRESETS; c++) {
    TRY(oat_figure_column_title(figure, c, titles[c]));
  }
  for (size_t m = 0; m < METRICS; m++) {
    TRY(draw_metric(figure, r, set, m));
  }
  *out = figure;
  figure = NULL;
done:
  oat_figure_free(figure);
  return status;
}
