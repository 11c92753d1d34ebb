/* Partial dependence: the prediction as one input changes, averaged over rows, with the band in which the average of the function lies; and for
 * some of the rows, each by itself. */
#include "data/data.h"
#include "predict/predict.h"
#include "report/chart.h"
#include "util/rng.h"

enum { VALUES = 33, MOST_ROWS = 64, MOST_LINES = 12, MOST_INPUTS = 24 };

typedef struct sweep {
  oat_scratch memory;
  size_t rows;                                                /* that are averaged over */
  double at[VALUES], mean[VALUES], low[VALUES], high[VALUES]; /* low: first the sd */
  double *each;                                               /* prediction of every row at every value: values x rows */
} sweep;

static size_t panels(const oat_facts *f) { return f->d == 1 ? 0 : f->d < MOST_INPUTS ? f->d : MOST_INPUTS; }

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  oat_string_print(out, "Effect of %s", f->name[f->order[panel]]);
}

/* Every chosen row with every value of the input, value by value; column-major. */
static oatgp_status make_rows(const oat_facts *f, size_t input, sweep *s, oatgp_data **out) {
  const size_t n = VALUES * s->rows;
  double *const x = oat_take_doubles(&s->memory, n, f->d);
  size_t chosen[MOST_ROWS];
  oat_rng rng;
  PASS_ON(s->memory.status);
  oat_rng_seed(&rng, 2);
  oat_rng_sample(&rng, f->data->n, s->rows, chosen);
  for (size_t j = 0; j < f->d; j++) {
    for (size_t i = 0; i < n; i++) {
      x[i + j * n] = j == input ? s->at[i / s->rows] : f->input[j][chosen[i % s->rows]];
    }
  }
  return oat_facts_rows(f, n, x, out);
}

static oatgp_status make_sweep(const oat_facts *f, size_t input, sweep *s) {
  const double width = oat_normal_quantile(0.975);
  oatgp_data *rows = NULL;
  oatgp_status status;
  s->rows = f->data->n < MOST_ROWS ? f->data->n : MOST_ROWS;
  oat_spread_evenly(VALUES, f->lowest[input], f->highest[input], s->at);
  TRY(make_rows(f, input, s, &rows));
  s->each = oat_take_doubles(&s->memory, VALUES, s->rows);
  TRY(s->memory.status);
  TRY(oat_predict_mean(f->ctx, f->model, rows, s->each));
  TRY(oat_predict_averages(f->ctx, f->model, rows, s->rows, &(oat_averages){s->mean, s->low}));
  for (size_t i = 0; i < VALUES; i++) {
    const double sd = s->low[i];
    s->low[i] = s->mean[i] - width * sd;
    s->high[i] = s->mean[i] + width * sd;
  }
done:
  oatgp_data_free(rows);
  return status;
}

static oatgp_status draw_each(const sweep *s, oat_panel *out) {
  const size_t lines = s->rows < MOST_LINES ? s->rows : MOST_LINES;
  double y[VALUES];
  for (size_t row = 0; row < lines; row++) {
    for (size_t i = 0; i < VALUES; i++) {
      y[i] = s->each[i * s->rows + row];
    }
    PASS_ON(oat_panel_line(out, &(oat_style){.colour = OAT_GREY, .width = 0.7, .opacity = 0.5, .label = "some rows"}, VALUES, s->at, y));
  }
  return OATGP_OK;
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  const size_t input = f->order[panel];
  sweep s = {.memory = {.ctx = f->ctx}};
  oatgp_status status;
  TRY(make_sweep(f, input, &s));
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->full_name[input]}));
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->full_target}));
  TRY(draw_each(&s, out));
  TRY(oat_panel_band(out, &(oat_style){.colour = OAT_BLUE, .opacity = 0.3, .label = "95 % band"}, VALUES, s.at,
                     (oat_limits){s.low, s.high}));
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_BLUE, .width = 1.6, .label = "average"}, VALUES, s.at, s.mean));
done:
  oat_scratch_free(&s.memory);
  return status;
}

/* The levels behind the codes on the axis of a category. */
static void tell_levels(const oat_facts *f, size_t input, oat_string *out) {
  enum { SHOWN = 12 };
  const size_t count = oatgp_model_level_count(f->model, input);
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    oat_string_print(out, "%s%zu %s", i > 0 ? ", " : " Its levels: ", i, oatgp_model_level(f->model, input, i));
  }
  oat_string_add(out, count > SHOWN ? " and so on." : count > 0 ? "." : "");
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  const size_t input = f->order[panel], rows = f->data->n < MOST_ROWS ? f->data->n : MOST_ROWS;
  oat_string_print(out, "Predicted %s when %s changes and all else stays, on average over %zu%s row%s", f->target, f->name[input], rows,
                   rows < f->data->n ? " random" : "", oat_plural(rows));
  oat_string_add(out, panel == 0 ? "; the band holds that average with 95 % probability. Thin lines are single rows: where they differ in "
                                   "shape, inputs act together."
                                 : ".");
  tell_levels(f, input, out);
  if (panel + 1 == panels(f) && panels(f) < f->d) {
    oat_string_print(out, " Shown are the %zu most relevant of %zu inputs.", panels(f), f->d);
  }
}

const oat_chart oat_chart_partial = {
    .name = "partial",
    .help = "partial dependence: the prediction as each input changes, on average over rows, with its band",
    .needs_data = true,
    .why = "with one input the figure 'knots' shows the whole function",
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
