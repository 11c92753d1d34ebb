/* The list of charts; a chart as a figure, and written to a file. */
#include "report/chart.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "data/data.h"

static const oat_chart *const charts[] = {
    &oat_chart_observed,  &oat_chart_residuals,   &oat_chart_quantiles, &oat_chart_calibration, &oat_chart_reliability,
    &oat_chart_roc,       &oat_chart_rootogram,   &oat_chart_classes,   &oat_chart_objective,   &oat_chart_knots,
    &oat_chart_relevance, &oat_chart_sensitivity, &oat_chart_partial,   &oat_chart_effects,     &oat_chart_evidence};

const oat_chart *oat_chart_at(size_t index) { return index < sizeof charts / sizeof *charts ? charts[index] : NULL; }

/* NULL if there is none. */
static const oat_chart *find(const char *name) {
  for (size_t i = 0; oat_chart_at(i) != NULL; i++) {
    if (strcmp(charts[i]->name, name) == 0) {
      return charts[i];
    }
  }
  return NULL;
}

const char *oat_plural(size_t n) { return n == 1 ? "" : "s"; }

size_t oat_one_panel(const oat_facts *f) {
  (void)f;
  return 1;
}

bool oat_suits_numbers(const oat_facts *f) { return !oat_facts_two_classes(f); }

const char *oat_tell_size(const oat_facts *f) {
  const bool exposed = *f->info.exposure != '\0' || (f->data != NULL && f->data->exposure != NULL);
  const bool tried = f->model->likelihood != NULL && f->model->likelihood->has_trials;
  return exposed ? ", for an exposure of 1" : tried ? ", of one trial" : "";
}

size_t oat_chart_panels(const oat_chart *chart, const oat_facts *f) {
  return chart->suits == NULL || chart->suits(f) ? chart->panels(f) : 0;
}

void oat_chart_title(const oat_chart *chart, const oat_facts *f, size_t panel, oat_string *out) {
  if (chart->title != NULL) {
    oat_string_add(out, chart->title);
  } else {
    chart->name_panel(f, panel, out);
  }
}

oatgp_status oat_draw_rows(const oat_facts *f, oat_colour colour, const double *x, const double *y, oat_panel *out) {
  const oat_style style = {.colour = colour, .size = 2.8, .opacity = f->n_shown < 300 ? 0.85 : 0.55, .label = "rows"};
  oat_scratch memory = {.ctx = f->ctx};
  double *const shown_x = oat_take_doubles(&memory, f->n_shown, 1), *const shown_y =
                                                                        oat_take_doubles(&memory, f->n_shown, 1);
  double *const number = oat_take_doubles(&memory, f->n_shown, 1);
  oatgp_status status;
  TRY(memory.status);
  for (size_t i = 0; i < f->n_shown; i++) {
    shown_x[i] = x[f->shown[i]];
    shown_y[i] = y[f->shown[i]];
    number[i] = (double)f->shown[i] + 1;
  }
  TRY(oat_panel_numbered(out, &style, f->n_shown, (const double *const[]){shown_x, shown_y}, number));
done:
  oat_scratch_free(&memory);
  return status;
}

void oat_tell_thinned(const oat_facts *f, oat_string *out) {
  if (f->data == NULL || f->n_shown == f->data->n) {
    return;
  }
  oat_string_print(out, " Drawn are %zu of the %zu rows", f->n_shown, f->data->n);
  if (f->n_worst > 0) {
    oat_string_print(out, ", the %zu worst predicted among them", f->n_worst);
  }
  oat_string_add(out, ".");
}

/* Titles and descriptions of all panels, or of one. */
static void tell(const oat_chart *chart, const oat_facts *f, size_t panel, oat_string text[2]) {
  const size_t first = panel == SIZE_MAX ? 0 : panel, end = panel == SIZE_MAX ? oat_chart_panels(chart, f) : panel + 1;
  for (size_t i = first; i < end; i++) {
    oat_string_add(&text[0], i > first ? "; " : "");
    oat_chart_title(chart, f, i, &text[0]);
    oat_string_add(&text[1], i > first ? " " : "");
    chart->explain(f, i, &text[1]);
  }
}

static oatgp_status draw_panels(const oat_chart *chart, const oat_facts *f, size_t panel, oat_figure *figure,
                                size_t columns) {
  if (panel != SIZE_MAX) {
    return chart->draw(f, panel, oat_figure_panel(figure, 0, 0));
  }
  for (size_t i = 0; i < oat_chart_panels(chart, f); i++) {
    PASS_ON(chart->draw(f, i, oat_figure_panel(figure, i / columns, i % columns)));
  }
  return OATGP_OK;
}

/* In mm; each name has a line. */
static double height(const oat_chart *chart, const oat_facts *f, bool whole, size_t rows) {
  const double usual = whole ? 12 + (rows == 1 ? 75 : 62) * (double)rows : chart->tall ? 84 : 72;
  return chart->names == NULL ? usual : fmax(usual, 24 + 3.6 * (double)chart->names(f));
}

oatgp_status oat_chart_figure(const oat_chart *chart, const oat_facts *f, size_t panel, oat_figure **out) {
  const bool whole = panel == SIZE_MAX;
  const size_t count = whole ? oat_chart_panels(chart, f) : 1,
               columns = count < 3    ? count
                         : count == 4 ? 2
                                      : 3,
               rows = (count + columns - 1) / columns;
  oat_string text[2] = {{.ctx = f->ctx}, {.ctx = f->ctx}};
  oat_figure *figure = NULL;
  oatgp_status status;
  tell(chart, f, panel, text);
  TRY(text[0].status);
  TRY(text[1].status);
  TRY(oat_figure_create(f->ctx,
                        &(oat_figure_spec){.title = text[0].text,
                                           .description = text[1].text,
                                           .rows = rows,
                                           .columns = columns,
                                           .width_mm = whole ? fmax(120, 75 * (double)columns) : 92,
                                           .height_mm = height(chart, f, whole, rows),
                                           .legend = {.place = OAT_LEGEND_BELOW},
                                           .in_page = !whole},
                        &figure));
  TRY(draw_panels(chart, f, panel, figure, columns));
  *out = figure;
  figure = NULL;
done:
  oat_figure_free(figure);
  oat_string_free(&text[0]);
  oat_string_free(&text[1]);
  return status;
}

/* ---- one figure to a file: as SVG, or in letters --------------------------------------------------------------- */

static oatgp_status refuse_name(oatgp_context *ctx, const char *name) {
  char list[512] = "";
  for (size_t i = 0; oat_chart_at(i) != NULL; i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", oat_chart_at(i)->name);
  }
  return oat_fail(ctx, OATGP_ARGUMENT, "there is no figure '%s'; the figures are %s", name, list);
}

static oatgp_status check(const oat_chart *chart, const oat_facts *f) {
  REFUSE_IF(chart->needs_data && (f->data == NULL || f->data->y == NULL), f->ctx, OATGP_DATA,
            "the figure '%s' needs data with a target", chart->name);
  REFUSE_IF(chart->suits != NULL && !chart->suits(f), f->ctx, OATGP_DATA,
            "this model has no figure '%s': that figure is for %s, and the model's likelihood is %s", chart->name,
            chart->wants, f->info.likelihood);
  REFUSE_IF(chart->panels(f) == 0, f->ctx, OATGP_DATA, "this model has no figure '%s': %s", chart->name, chart->why);
  return OATGP_OK;
}

static oatgp_status add_figure(oat_figure *figure, const oatgp_drawing *drawing, oat_string *out) {
  if (drawing->width == 0 && drawing->height == 0) {
    return oat_figure_svg(figure, "figure", out);
  }
  return oat_figure_letters(figure, (oat_letters){drawing->width, drawing->height, drawing->utf8 != 0}, out);
}

oatgp_status oat_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                      const oatgp_drawing *drawing) {
  const oat_chart *const chart = find(drawing->figure);
  oat_facts facts = {0};
  oat_figure *figure = NULL;
  oat_string text = {.ctx = ctx};
  oatgp_status status;
  if (chart == NULL) {
    return refuse_name(ctx, drawing->figure);
  }
  TRY(oat_facts_make(ctx, model, data, &facts));
  TRY(chart->indices ? oat_facts_indices(&facts) : OATGP_OK);
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
