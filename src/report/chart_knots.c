/* Where the knots are. One input: on the fit with its bands. Two: on a map of the predictive standard deviation. More: among the rows, for the
 * pairs of the three most relevant inputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "predict/predict.h"
#include "report/chart.h"

enum { POINTS = 301, CELLS = 44, LEVELS = 7, PAIRS = 3 };

static const oat_style knot_style = {.colour = OAT_VERMILION, .shape = OAT_PLUS, .size = 6, .label = "knots"};

/* The two inputs of a pair of the most relevant three: 0 1, 0 2, 1 2. */
static size_t input_of(const oat_facts *f, size_t pair, oat_direction direction) {
  const size_t place = direction == OAT_X ? (pair == 2 ? 1 : 0) : (pair == 0 ? 1 : 2);
  return f->d == 2 ? (size_t)direction : f->order[place];
}

static const char *name_of(const oat_facts *f, size_t pair, oat_direction direction) {
  return f->name[f->d == 1 ? 0 : input_of(f, pair, direction)];
}

/* Of the full GP there are no knots, but with one or two inputs its fit can be seen all the same. */
static size_t panels(const oat_facts *f) { return f->d <= 2 ? 1 : f->info.knots > 0 ? PAIRS : 0; }

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  if (f->d == 1) {
    oat_string_print(out, f->info.knots > 0 ? "The fit and its knots" : "The fit");
    return;
  }
  oat_string_print(out, f->info.knots > 0 ? "Knots: %s and %s" : "Uncertainty: %s and %s", name_of(f, panel, OAT_X),
                   name_of(f, panel, OAT_Y));
}

/* ---- one input --------------------------------------------------------------------------------------------------------- */

typedef struct curve {
  double x[POINTS], mean[POINTS], latent[POINTS], whole[POINTS]; /* the last two are standard deviations */
} curve;

static oatgp_status predict_curve(const oat_facts *f, curve *c) {
  oatgp_data *rows = NULL;
  oatgp_status status;
  oat_spread_evenly(POINTS, f->lowest[0], f->highest[0], c->x);
  TRY(oat_facts_rows(f, POINTS, c->x, &rows));
  TRY(oat_predict_sd(f->ctx, f->model, rows, &(oatgp_prediction_sd){c->mean, c->latent, c->whole}));
done:
  oatgp_data_free(rows);
  return status;
}

static oatgp_status draw_band(const curve *c, const double *sd, const oat_style *style, oat_panel *out) {
  double low[POINTS], high[POINTS];
  const double width = oat_normal_quantile(0.975);
  for (size_t i = 0; i < POINTS; i++) {
    low[i] = c->mean[i] - width * sd[i];
    high[i] = c->mean[i] + width * sd[i];
  }
  return oat_panel_band(out, style, POINTS, c->x, (oat_limits){low, high});
}

static oatgp_status draw_fit(const oat_facts *f, oat_panel *out) {
  curve *c = NULL;
  oatgp_status status;
  TRY(oat_new(f->ctx, 1, sizeof *c, &c));
  TRY(predict_curve(f, c));
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->full_name[0]}));
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->full_target}));
  TRY(draw_band(c, c->whole, &(oat_style){.colour = OAT_SKY, .opacity = 0.25, .label = "95 % of rows"}, out));
  TRY(draw_band(c, c->latent, &(oat_style){.colour = OAT_BLUE, .opacity = 0.3, .label = "95 % of the function"}, out));
  if (f->data != NULL && f->data->y != NULL) {
    TRY(oat_draw_rows(f, OAT_GREY, f->input[0], f->data->y, out));
  }
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_BLUE, .width = 1.5, .label = "mean"}, POINTS, c->x, c->mean));
  if (f->info.knots > 0) {
    TRY(oat_panel_rug(out, &knot_style, OAT_BOTTOM, f->info.knots, f->knots));
  }
done:
  free(c);
  return status;
}

/* ---- two inputs -------------------------------------------------------------------------------------------------------- */

/* The value of an input at so many cells from the lowest. */
static double at_cell(const oat_facts *f, size_t input, double cells) {
  return oat_between(f->lowest[input], f->highest[input], cells / CELLS);
}

/* The sd of f in the middle of CELLS x CELLS cells, row by row of the map from below. */
static oatgp_status predict_map(const oat_facts *f, double *sd) {
  const size_t n = CELLS * CELLS;
  double *x = NULL;
  oatgp_data *rows = NULL;
  oatgp_status status;
  TRY(oat_new_matrix(f->ctx, n, 2, &x));
  for (size_t i = 0; i < n; i++) {
    x[i] = at_cell(f, 0, (double)(i % CELLS) + 0.5);
    x[i + n] = at_cell(f, 1, (double)(i / CELLS) + 0.5);
  }
  TRY(oat_facts_rows(f, n, x, &rows));
  TRY(oat_predict_sd(f->ctx, f->model, rows, &(oatgp_prediction_sd){NULL, sd, NULL}));
done:
  free(x);
  oatgp_data_free(rows);
  return status;
}

typedef struct tiles {
  size_t n;
  double left[CELLS * CELLS], right[CELLS * CELLS], low[CELLS * CELLS], high[CELLS * CELLS];
  double sides[2 * CELLS * CELLS];
} tiles;

typedef struct levels {
  const double *sd;
  double low, step;
} levels;

/* The least of 1, 2 and 5 times a power of ten that takes no more than LEVELS levels. */
static double round_step(double low, double high) {
  double step = pow(10, floor(log10(fmax(high - low, 1e-9 * high + 1e-300) / LEVELS)));
  for (size_t i = 0; floor(high / step) - floor(low / step) >= LEVELS; i++) {
    step *= i % 3 == 1 ? 2.5 : 2;
  }
  return step;
}

static size_t level_of(const levels *l, size_t cell) {
  const double level = floor((l->sd[cell] - l->low) / l->step);
  return level < 0 ? 0 : level < LEVELS - 1 ? (size_t)level : LEVELS - 1;
}

/* The cells of a level, those that are side by side as one. */
static void collect(const oat_facts *f, const levels *l, size_t level, tiles *t) {
  t->n = 0;
  for (size_t i = 0; i < CELLS * CELLS; i++) {
    if (level_of(l, i) != level) {
      continue;
    }
    if (t->n == 0 || i % CELLS == 0 || level_of(l, i - 1) != level) {
      t->left[t->n] = at_cell(f, 0, (double)(i % CELLS));
      t->low[t->n] = at_cell(f, 1, (double)(i / CELLS));
      t->high[t->n] = at_cell(f, 1, (double)(i / CELLS + 1));
      t->n++;
    }
    t->right[t->n - 1] = at_cell(f, 0, (double)(i % CELLS + 1));
  }
  for (size_t i = 0; i < t->n; i++) {
    t->sides[i] = t->left[i];
    t->sides[t->n + i] = t->right[i];
  }
}

static oatgp_status draw_level(const oat_facts *f, const levels *l, size_t level, tiles *t, oat_panel *out) {
  const oat_digits low = oat_value(l->low + l->step * (double)level, 6), high = oat_value(l->low + l->step * (double)(level + 1), 6);
  char label[2 * sizeof low + 8];
  const oat_style style = {.colour = OAT_BLUE, .opacity = 0.06 + 0.12 * (double)level, .label = label};
  collect(f, l, level, t);
  snprintf(label, sizeof label, "%s%s\xe2\x80\x93%s", level == 0 ? "sd " : "", low.text, high.text);
  return t->n > 0 ? oat_panel_tiles(out, &style, t->n, t->sides, (oat_limits){t->low, t->high}) : OATGP_OK;
}

static oatgp_status draw_map(const oat_facts *f, oat_panel *out) {
  oat_scratch memory = {.ctx = f->ctx};
  double *const sd = oat_take_doubles(&memory, CELLS, CELLS);
  tiles *const t = oat_take(&memory, 1, sizeof *t);
  oatgp_status status;
  TRY(memory.status);
  TRY(predict_map(f, sd));
  levels l = {sd, sd[0], 0};
  double highest = sd[0];
  for (size_t i = 0; i < CELLS * CELLS; i++) {
    l.low = fmin(l.low, sd[i]);
    highest = fmax(highest, sd[i]);
  }
  l.step = round_step(l.low, highest);
  l.low = l.step * floor(l.low / l.step);
  for (size_t level = 0; level < LEVELS; level++) {
    TRY(draw_level(f, &l, level, t, out));
  }
done:
  oat_scratch_free(&memory);
  return status;
}

/* ---- two inputs or more ------------------------------------------------------------------------------------------------ */

static oatgp_status draw_knots(const oat_facts *f, size_t pair, oat_panel *out) {
  const size_t k = f->info.knots;
  oat_scratch memory = {.ctx = f->ctx};
  double *const x = oat_take_doubles(&memory, k, 1), *const y = oat_take_doubles(&memory, k, 1);
  oatgp_status status;
  TRY(memory.status);
  for (size_t i = 0; i < k; i++) {
    x[i] = f->knots[i * f->d + input_of(f, pair, OAT_X)];
    y[i] = f->knots[i * f->d + input_of(f, pair, OAT_Y)];
  }
  TRY(k > 0 ? oat_panel_points(out, &knot_style, k, x, y) : OATGP_OK);
done:
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  if (f->d == 1) {
    return draw_fit(f, out);
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->full_name[input_of(f, panel, OAT_X)]}));
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = f->full_name[input_of(f, panel, OAT_Y)]}));
  if (f->d == 2) {
    PASS_ON(draw_map(f, out));
  }
  if (f->data != NULL) {
    PASS_ON(oat_draw_rows(f, OAT_GREY, f->input[input_of(f, panel, OAT_X)], f->input[input_of(f, panel, OAT_Y)], out));
  }
  return draw_knots(f, panel, out);
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  if (f->d == 1) {
    oat_string_add(out, "The mean of the fit, where the function itself lies with 95 % probability, and where 95 % of new rows would.");
    if (f->info.knots > 0) {
      oat_string_print(out, " The marks at the bottom are the %zu knots.", f->info.knots);
    }
  } else if (f->d == 2) {
    oat_string_add(out, "The darker, the less is known of the function: its standard deviation over the range of the inputs.");
    if (f->info.knots > 0) {
      oat_string_print(out, " The crosses are the %zu knots.", f->info.knots);
    }
  } else {
    oat_string_print(out, "The %zu knots among the rows, seen along %s and %s (of %zu inputs).", f->info.knots, name_of(f, panel, OAT_X),
                     name_of(f, panel, OAT_Y), f->d);
  }
  oat_tell_thinned(f, out);
}

const oat_chart oat_chart_knots = {
    .name = "knots",
    .help = "where the knots are: on the fit (one input), on a map of its uncertainty (two), or among the rows (more)",
    .why = "the full Gaussian process has no knots, and more than two inputs cannot be seen as a whole",
    .tall = true,
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
