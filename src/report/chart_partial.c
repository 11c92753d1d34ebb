/* Partial dependence: the prediction as one input changes, averaged over rows, with the band in which the average of the function lies; and for
 * some of the rows, each by itself. */
#include "data/data.h"
#include "predict/predict.h"
#include "report/chart.h"
#include "text/shown.h"
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

/* The average over the rows of a value, with the f of each moved by so many of its units. */
static double average_moved(const oat_facts *f, const oat_latent *of, size_t rows, double move) {
  double m[MOST_ROWS], mean[MOST_ROWS], sum = 0;
  for (size_t i = 0; i < rows; i++) {
    m[i] = of->m[i] + move;
  }
  oat_facts_expect(f, rows, (oat_latent){m, of->s}, mean);
  for (size_t i = 0; i < rows; i++) {
    sum += mean[i] / (double)rows;
  }
  return sum;
}

/* Answers that are not Gaussian: their expected values. `low` has the sd of the average of f, in the target's unit; the band is where the
 * average goes when f of all rows moves as far as its average does with 95 % probability. */
static oatgp_status expect_answers(const oat_facts *f, const oatgp_data *rows, sweep *s) {
  const double reach = oat_normal_quantile(0.975) / f->model->number[OAT_NUMBER_Y_SCALE];
  double *const m = oat_take_doubles(&s->memory, rows->n, 1), *const variance = oat_take_doubles(&s->memory, rows->n, 1);
  PASS_ON(s->memory.status);
  PASS_ON(oat_held_latent(f->ctx, f->model, rows, m, variance));
  oat_facts_expect(f, rows->n, (oat_latent){m, variance}, s->each);
  for (size_t i = 0; i < VALUES; i++) {
    const oat_latent of = {m + i * s->rows, variance + i * s->rows};
    const double move = reach * s->low[i];
    s->mean[i] = average_moved(f, &of, s->rows, 0);
    s->low[i] = average_moved(f, &of, s->rows, -move);
    s->high[i] = average_moved(f, &of, s->rows, move);
  }
  return OATGP_OK;
}

static void make_band(sweep *s) {
  const double width = oat_normal_quantile(0.975);
  for (size_t i = 0; i < VALUES; i++) {
    const double sd = s->low[i];
    s->low[i] = s->mean[i] - width * sd;
    s->high[i] = s->mean[i] + width * sd;
  }
}

static oatgp_status make_sweep(const oat_facts *f, size_t input, sweep *s) {
  oatgp_data *rows = NULL;
  oatgp_status status;
  s->rows = f->data->n < MOST_ROWS ? f->data->n : MOST_ROWS;
  oat_spread_evenly(VALUES, f->lowest[input], f->highest[input], s->at);
  TRY(make_rows(f, input, s, &rows));
  s->each = oat_take_doubles(&s->memory, VALUES, s->rows);
  TRY(s->memory.status);
  TRY(oat_predict_averages(f->ctx, f->model, rows, s->rows, &(oat_averages){s->mean, s->low}));
  if (f->model->likelihood != NULL) {
    TRY(expect_answers(f, rows, s));
  } else {
    TRY(oat_predict_mean(f->ctx, f->model, rows, s->each));
    make_band(s);
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
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->model->likelihood != NULL ? f->expected : f->full_target}));
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
    oat_string_print(out, "%s%zu %s", i > 0 ? ", " : " Its levels: ", i, oat_show_text(oatgp_model_level(f->model, input, i)).text);
  }
  oat_string_add(out, count > SHOWN ? " and so on." : count > 0 ? "." : "");
}

/* What the band is, of answers that are not Gaussian. */
static void tell_answers(const oat_facts *f, oat_string *out) {
  oat_string_print(out,
                   "%s. The band shows where that average goes when f, %s, is moved for all rows as far as its average%s lies with 95 %% "
                   "probability. Thin lines are single rows",
                   oat_tell_size(f), f->link, f->info.neighbours > 0 ? ", as it is known of the knots alone," : "");
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  const size_t input = f->order[panel], rows = f->data->n < MOST_ROWS ? f->data->n : MOST_ROWS;
  oat_string_print(out, "%s%s when %s changes and all else stays, on average over %zu%s row%s",
                   f->link == NULL            ? "Predicted "
                   : oat_facts_two_classes(f) ? "Probability of "
                                              : "Expected ",
                   oat_facts_two_classes(f) ? f->classes[1] : f->target, f->name[input], rows, rows < f->data->n ? " random" : "",
                   oat_plural(rows));
  if (panel == 0 && f->link != NULL) {
    tell_answers(f, out);
  } else if (panel == 0) {
    oat_string_print(out,
                     "; the band holds that average with %s95 %% probability%s. Thin lines are single rows: where they differ in shape, "
                     "inputs act together",
                     f->info.neighbours > 0 ? "at least " : "", f->info.neighbours > 0 ? ", as it knows of the knots alone" : "");
  }
  oat_string_add(out, ".");
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
