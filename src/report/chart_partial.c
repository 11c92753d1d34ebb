/* Partial dependence: the prediction as one input changes, averaged over rows, with the band of that average; and
 * single lines for some of the rows. */
#include "data/data.h"
#include "predict/predict.h"
#include "report/chart.h"
#include "text/shown.h"
#include "util/rng.h"

enum {
  VALUES = 33,
  MOST_ROWS = 64,
  MOST_LINES = 12,
  MOST_INPUTS = 24,
  MOST_LEVELS = 12 /* of a category */
};

typedef struct sweep {
  oat_scratch memory;
  size_t rows;                                                /* in the average */
  size_t values;                                              /* of the input: as many as there are of at, mean ... */
  double at[VALUES], mean[VALUES], low[VALUES], high[VALUES]; /* low: first the sd */
  double *each; /* prediction of every row at every value: values x rows */
} sweep;

static size_t panels(const oat_facts *f) { return f->d == 1 ? 0 : f->d < MOST_INPUTS ? f->d : MOST_INPUTS; }

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  oat_string_print(out, "Effect of %s", f->name[f->order[panel]]);
}

static bool is_category(const oat_facts *f, size_t input) { return f->model->scaling.category[input]; }

/* How many levels of a category are drawn. */
static size_t levels_of(const oat_facts *f, size_t input) {
  const size_t count = f->model->levels[input].count;
  return count < MOST_LEVELS ? count : MOST_LEVELS;
}

/* Where the input goes: over its range, or through its levels. */
static void choose_values(const oat_facts *f, size_t input, sweep *s) {
  if (!is_category(f, input)) {
    s->values = VALUES;
    oat_spread_evenly(VALUES, f->lowest[input], f->highest[input], s->at);
    return;
  }
  s->values = levels_of(f, input);
  for (size_t i = 0; i < s->values; i++) {
    s->at[i] = (double)i;
  }
}

/* Every chosen row with every value of the input, value by value; column-major. */
static oatgp_status make_rows(const oat_facts *f, size_t input, sweep *s, oatgp_data **out) {
  const size_t n = s->values * s->rows;
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
  return oat_model_points(f->ctx, f->model, n, x, out);
}

/* The average over the rows of the expected target, with f of each row moved by `move`. */
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

/* Expected values of a non-Gaussian target. On entry, `low` has the sd of the average of f, in the target's unit. The
 * band comes from moving f of all rows to the ends of the 95 % interval of that average. */
static oatgp_status expect_answers(const oat_facts *f, const oatgp_data *rows, sweep *s) {
  const double reach = oat_normal_quantile(0.975) / f->model->number[OAT_NUMBER_Y_SCALE];
  double *const m = oat_take_doubles(&s->memory, rows->n, 1), *const variance =
                                                                  oat_take_doubles(&s->memory, rows->n, 1);
  PASS_ON(s->memory.status);
  PASS_ON(oat_held_latent(f->ctx, f->model, rows, m, variance));
  oat_facts_expect(f, rows->n, (oat_latent){m, variance}, s->each);
  for (size_t i = 0; i < s->values; i++) {
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
  for (size_t i = 0; i < s->values; i++) {
    const double sd = s->low[i];
    s->low[i] = s->mean[i] - width * sd;
    s->high[i] = s->mean[i] + width * sd;
  }
}

static oatgp_status make_sweep(const oat_facts *f, size_t input, sweep *s) {
  oatgp_data *rows = NULL;
  oatgp_status status;
  s->rows = f->data->n < MOST_ROWS ? f->data->n : MOST_ROWS;
  choose_values(f, input, s);
  TRY(make_rows(f, input, s, &rows));
  s->each = oat_take_doubles(&s->memory, s->values, s->rows);
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
    for (size_t i = 0; i < s->values; i++) {
      y[i] = s->each[i * s->rows + row];
    }
    PASS_ON(oat_panel_line(out, &(oat_style){.colour = OAT_GREY, .width = 0.7, .opacity = 0.5, .label = "some rows"},
                           s->values, s->at, y));
  }
  return OATGP_OK;
}

static oatgp_status draw_curve(const sweep *s, oat_panel *out) {
  PASS_ON(oat_panel_band(out, &(oat_style){.colour = OAT_BLUE, .opacity = 0.3, .label = "95 % band"}, s->values, s->at,
                         (oat_limits){s->low, s->high}));
  return oat_panel_line(out, &(oat_style){.colour = OAT_BLUE, .width = 1.6, .label = "average"}, s->values, s->at,
                        s->mean);
}

/* A point and a bar for each level. */
static oatgp_status draw_levels(const sweep *s, oat_panel *out) {
  const oat_style bar = {.colour = OAT_BLUE, .width = 1.4, .label = "95 % band"};
  for (size_t i = 0; i < s->values; i++) {
    const double x[] = {s->at[i], s->at[i]}, ends[] = {s->low[i], s->high[i]};
    PASS_ON(oat_panel_line(out, &bar, 2, x, ends));
  }
  return oat_panel_points(out, &(oat_style){.colour = OAT_BLUE, .shape = OAT_CIRCLE, .label = "average"}, s->values,
                          s->at, s->mean);
}

/* Names stand at 1, 2 and so on. */
static oatgp_status draw_axes(const oat_facts *f, size_t input, sweep *s, oat_panel *out) {
  oat_axis x = {.label = f->full_name[input]};
  if (is_category(f, input)) {
    x.kind = OAT_NAMES;
    x.n_names = s->values;
    x.names = (const char *const *)f->model->levels[input].name;
    for (size_t i = 0; i < s->values; i++) {
      s->at[i] += 1;
    }
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &x));
  return oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->model->likelihood != NULL ? f->expected : f->full_target});
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  const size_t input = f->order[panel];
  sweep s = {.memory = {.ctx = f->ctx}};
  oatgp_status status;
  TRY(make_sweep(f, input, &s));
  TRY(draw_axes(f, input, &s, out));
  TRY(draw_each(&s, out));
  TRY(is_category(f, input) ? draw_levels(&s, out) : draw_curve(&s, out));
done:
  oat_scratch_free(&s.memory);
  return status;
}

/* Describes the band of a non-Gaussian target. */
static void tell_answers(const oat_facts *f, oat_string *out) {
  oat_string_print(out,
                   "%s. The band shows the average at the two ends of the 95 %% interval of f (%s), averaged over "
                   "rows%s. Thin lines are single rows",
                   oat_tell_size(f), f->link, f->info.neighbours > 0 ? ", from the knots alone" : "");
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  const size_t input = f->order[panel], rows = f->data->n < MOST_ROWS ? f->data->n : MOST_ROWS;
  oat_string_print(out, "%s%s as %s changes and all else stays, on average over %zu%s row%s",
                   f->link == NULL            ? "Predicted "
                   : oat_facts_two_classes(f) ? "Probability of "
                                              : "Expected ",
                   oat_facts_two_classes(f) ? f->classes[1] : f->target, f->name[input], rows,
                   rows < f->data->n ? " random" : "", oat_plural(rows));
  if (panel == 0 && f->link != NULL) {
    tell_answers(f, out);
  } else if (panel == 0) {
    oat_string_print(out,
                     "; the band holds that average with %s95 %% probability%s. Thin lines are single rows: where they "
                     "differ in shape, inputs act together",
                     f->info.neighbours > 0 ? "at least " : "", f->info.neighbours > 0 ? ", from the knots alone" : "");
  }
  oat_string_add(out, ".");
  if (is_category(f, input) && levels_of(f, input) < f->model->levels[input].count) {
    oat_string_print(out, " Shown are the first %zu of %zu levels.", levels_of(f, input),
                     f->model->levels[input].count);
  }
  if (panel + 1 == panels(f) && panels(f) < f->d) {
    oat_string_print(out, " Shown are the %zu most relevant of %zu inputs.", panels(f), f->d);
  }
}

const oat_chart oat_chart_partial = {
    .name = "partial",
    .help = "partial dependence: the prediction as each input changes, on average over rows, with its band",
    .needs_data = true,
    .why = "the model has one input, and the figure 'knots' shows the whole function",
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
