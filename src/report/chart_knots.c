/* Where the knots are. With one input: on the fit with its bands. With two: on a map of the predictive standard
 * deviation. With more: among the rows, for the pairs of the three most relevant inputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "predict/predict.h"
#include "report/chart.h"
#include "report/map.h"
#include "text/shown.h"

enum { POINTS = 301, LEVELS = 7, PAIRS = 3, MOST_CODES = 12 };
#define HALF_STEP 0.35 /* of a level on the axis; 0.5 would touch the next */

static const oat_style knot_style = {.colour = OAT_VERMILION, .shape = OAT_PLUS, .size = 6, .label = "knots"};

/* The two inputs of a pair of the most relevant three: 0 1, 0 2, 1 2. */
static size_t input_of(const oat_facts *f, size_t pair, oat_direction direction) {
  const size_t place = direction == OAT_X ? (pair == 2 ? 1 : 0) : (pair == 0 ? 1 : 2);
  return f->d == 2 ? (size_t)direction : f->order[place];
}

static const char *name_of(const oat_facts *f, size_t pair, oat_direction direction) {
  return f->name[f->d == 1 ? 0 : input_of(f, pair, direction)];
}

/* The full GP has no knots, but with one or two inputs its fit is drawn, too. */
static size_t panels(const oat_facts *f) { return f->d <= 2 ? 1 : f->info.knots > 0 ? PAIRS : 0; }

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  if (f->d == 1) {
    oat_string_print(out, f->info.knots > 0 ? "The fit and its knots" : "The fit");
    return;
  }
  oat_string_print(out, f->info.knots > 0 ? "Knots: %s and %s" : "Uncertainty: %s and %s", name_of(f, panel, OAT_X),
                   name_of(f, panel, OAT_Y));
}

/* ---- one input ------------------------------------------------------------------------------------------------- */

enum { OF_FUNCTION, OF_ROWS, BANDS };

/* Whether the one input is a category whose levels have their names on the axis, at 1, 2 and so on. */
static bool has_names(const oat_facts *f) {
  return f->model->scaling.category[0] && f->model->levels[0].count <= OAT_MAX_NAMES;
}

typedef struct curve {
  double x[POINTS], mean[POINTS], low[BANDS][POINTS], high[BANDS][POINTS];
} curve;

static oatgp_status predict_gaussian(const oat_facts *f, const oatgp_data *rows, curve *c) {
  const double width = oat_normal_quantile(0.975);
  PASS_ON(
      oat_predict_sd(f->ctx, f->model, rows, &(oatgp_prediction_sd){c->mean, c->high[OF_FUNCTION], c->high[OF_ROWS]}));
  for (size_t i = 0; i < BANDS * POINTS; i++) {
    double *const high = &c->high[i / POINTS][i % POINTS];
    const double mean = c->mean[i % POINTS], half = width * *high;
    c->low[i / POINTS][i % POINTS] = mean - half;
    *high = mean + half;
  }
  return OATGP_OK;
}

/* The expected answer, its value where f is at its quantiles, and the quantiles of the answer itself. */
static oatgp_status predict_answers(const oat_facts *f, const oatgp_data *rows, curve *c) {
  const double width = oat_normal_quantile(0.975);
  double m[POINTS], s[POINTS], low[POINTS], high[POINTS];
  const double none[POINTS] = {0};
  PASS_ON(oat_held_latent(f->ctx, f->model, rows, m, s));
  for (size_t i = 0; i < POINTS; i++) {
    low[i] = m[i] - width * sqrt(s[i]);
    high[i] = m[i] + width * sqrt(s[i]);
  }
  oat_facts_expect(f, POINTS, (oat_latent){low, none}, c->low[OF_FUNCTION]);
  oat_facts_expect(f, POINTS, (oat_latent){high, none}, c->high[OF_FUNCTION]);
  return oat_predict_answers(
      f->ctx, f->model, rows,
      &(oatgp_answers){.mean = c->mean, .lower = c->low[OF_ROWS], .upper = c->high[OF_ROWS], .interval = 0.95});
}

/* A step for each level, apart from the next. */
static void stand_apart(curve *c) {
  for (size_t i = 0; i < POINTS; i++) {
    const bool between = fabs(c->x[i] - floor(c->x[i] + 0.5)) > HALF_STEP;
    c->x[i] = between ? NAN : c->x[i] + 1;
  }
}

static oatgp_status predict_curve(const oat_facts *f, curve *c) {
  oatgp_data *rows = NULL;
  oatgp_status status;
  const bool names = has_names(f);
  oat_spread_evenly(POINTS, names ? -0.5 : f->lowest[0],
                    names ? (double)f->model->levels[0].count - 0.5 : f->highest[0], c->x);
  TRY(oat_model_points(f->ctx, f->model, POINTS, c->x, &rows));
  TRY(f->model->likelihood == NULL ? predict_gaussian(f, rows, c) : predict_answers(f, rows, c));
  if (names) {
    stand_apart(c);
  }
done:
  oatgp_data_free(rows);
  return status;
}

/* There is no band of rows for two classes, or if rows have an exposure or trials. */
static bool has_row_band(const oat_facts *f) { return !oat_facts_two_classes(f) && *oat_tell_size(f) == '\0'; }

static oatgp_status draw_bands(const oat_facts *f, const curve *c, oat_panel *out) {
  static const oat_style styles[] = {{.colour = OAT_BLUE, .opacity = 0.3, .label = "95 % of the function"},
                                     {.colour = OAT_SKY, .opacity = 0.25, .label = "95 % of rows"}};
  for (size_t band = has_row_band(f) ? BANDS : OF_ROWS; band-- > 0;) {
    PASS_ON(oat_panel_band(out, &styles[band], POINTS, c->x, (oat_limits){c->low[band], c->high[band]}));
  }
  return OATGP_OK;
}

/* Each answer by its size: over its exposure or its trials. */
static oatgp_status draw_answers(const oat_facts *f, oat_panel *out) {
  const double *const size = f->data->exposure != NULL ? f->data->exposure : f->data->trials;
  oat_scratch memory = {.ctx = f->ctx};
  double *const x = oat_take_doubles(&memory, f->data->n, 1), *const y = oat_take_doubles(&memory, f->data->n, 1);
  oatgp_status status;
  TRY(memory.status);
  for (size_t i = 0; i < f->data->n; i++) {
    x[i] = f->input[0][i] + (has_names(f) ? 1 : 0);
    y[i] = size != NULL ? f->data->y[i] / size[i] : f->data->y[i];
  }
  TRY(oat_draw_rows(f, OAT_GREY, x, y, out));
done:
  oat_scratch_free(&memory);
  return status;
}

/* "deaths / years" where answers have sizes. */
static oatgp_status label_answers(const oat_facts *f, oat_panel *out) {
  const char *const name = *f->info.exposure != '\0' ? f->info.exposure : f->info.trials;
  oat_string text = {.ctx = f->ctx};
  oatgp_status status;
  oat_string_add(&text, oat_facts_two_classes(f) ? f->expected : f->full_target);
  if (*oat_tell_size(f) != '\0') {
    oat_string_print(&text, " / %s", *name != '\0' ? name : f->model->likelihood->has_trials ? "trials" : "exposure");
  }
  TRY(text.status);
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = text.text}));
done:
  oat_string_free(&text);
  return status;
}

static oatgp_status draw_input(const oat_facts *f, oat_panel *out) {
  oat_axis axis = {.label = f->full_name[0]};
  if (has_names(f)) {
    axis.kind = OAT_NAMES;
    axis.n_names = f->model->levels[0].count;
    axis.names = (const char *const *)f->model->levels[0].name;
  }
  return oat_panel_axis(out, OAT_X, &axis);
}

/* The knots of one input. */
static oatgp_status draw_marks(const oat_facts *f, oat_panel *out) {
  const size_t k = f->info.knots;
  oat_scratch memory = {.ctx = f->ctx};
  double *const at = oat_take_doubles(&memory, k, 1);
  oatgp_status status = memory.status;
  for (size_t i = 0; i < k && status == OATGP_OK; i++) {
    at[i] = f->knots[i] + (has_names(f) ? 1 : 0);
  }
  TRY(status);
  TRY(k > 0 ? oat_panel_rug(out, &knot_style, OAT_BOTTOM, k, at) : OATGP_OK);
done:
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status draw_fit(const oat_facts *f, oat_panel *out) {
  curve *c = NULL;
  oatgp_status status;
  TRY(oat_new(f->ctx, 1, sizeof *c, &c));
  TRY(predict_curve(f, c));
  TRY(draw_input(f, out));
  TRY(label_answers(f, out));
  TRY(draw_bands(f, c, out));
  if (f->data != NULL && f->data->y != NULL) {
    TRY(draw_answers(f, out));
  }
  TRY(oat_panel_line(
      out, &(oat_style){.colour = OAT_BLUE, .width = 1.5, .label = oat_facts_two_classes(f) ? "probability" : "mean"},
      POINTS, c->x, c->mean));
  TRY(draw_marks(f, out));
done:
  free(c);
  return status;
}

/* ---- two inputs ------------------------------------------------------------------------------------------------ */

/* The smallest step of 1, 2 or 5 times a power of ten that gives at most LEVELS levels. */
static double round_step(double low, double high) {
  double step = pow(10, floor(log10(fmax(high - low, 1e-9 * high + 1e-300) / LEVELS)));
  for (size_t i = 0; floor(high / step) - floor(low / step) >= LEVELS; i++) {
    step *= i % 3 == 1 ? 2.5 : 2;
  }
  return step;
}

typedef struct levels {
  double low, step;
} levels;

static size_t level_of(const levels *l, double sd) {
  const double level = floor((sd - l->low) / l->step);
  return level < 0 ? 0 : level < LEVELS - 1 ? (size_t)level : LEVELS - 1;
}

static levels make_levels(const double *sd) {
  double lowest = sd[0], highest = sd[0];
  for (size_t i = 0; i < OAT_CELLS * OAT_CELLS; i++) {
    lowest = fmin(lowest, sd[i]);
    highest = fmax(highest, sd[i]);
  }
  const double step = round_step(lowest, highest);
  return (levels){step * floor(lowest / step), step};
}

static oatgp_status draw_level(const oat_facts *f, const levels *l, const unsigned char *of_cell, size_t level,
                               oat_panel *out) {
  const oat_digits low = oat_value(l->low + l->step * (double)level, 6),
                   high = oat_value(l->low + l->step * (double)(level + 1), 6);
  char label[2 * sizeof low + 8];
  const oat_style style = {.colour = OAT_BLUE, .opacity = 0.06 + 0.12 * (double)level, .label = label};
  snprintf(label, sizeof label, "%s%s\xe2\x80\x93%s", level == 0 ? "sd " : "", low.text, high.text);
  return oat_map_draw(f, of_cell, level, &style, out);
}

/* The sd of f. */
static oatgp_status draw_map(const oat_facts *f, oat_panel *out) {
  oat_scratch memory = {.ctx = f->ctx};
  double *const sd = oat_take_doubles(&memory, OAT_CELLS, OAT_CELLS);
  unsigned char *const of_cell = oat_take(&memory, OAT_CELLS * OAT_CELLS, 1);
  oatgp_data *rows = NULL;
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_map_rows(f, &memory, &rows));
  TRY(oat_predict_sd(f->ctx, f->model, rows, &(oatgp_prediction_sd){NULL, sd, NULL}));
  const levels l = make_levels(sd);
  for (size_t i = 0; i < OAT_CELLS * OAT_CELLS; i++) {
    of_cell[i] = (unsigned char)level_of(&l, sd[i]);
  }
  for (size_t level = 0; level < LEVELS; level++) {
    TRY(draw_level(f, &l, of_cell, level, out));
  }
done:
  oatgp_data_free(rows);
  oat_scratch_free(&memory);
  return status;
}

/* ---- two inputs or more ---------------------------------------------------------------------------------------- */

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

static oatgp_status draw_axis(const oat_facts *f, size_t panel, oat_direction direction, oat_panel *out) {
  const size_t input = input_of(f, panel, direction);
  return oat_panel_axis(out, direction,
                        &(oat_axis){.label = f->full_name[input], .whole = f->model->scaling.category[input]});
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  if (f->d == 1) {
    return draw_fit(f, out);
  }
  PASS_ON(draw_axis(f, panel, OAT_X, out));
  PASS_ON(draw_axis(f, panel, OAT_Y, out));
  if (f->d == 2) {
    PASS_ON(draw_map(f, out));
  }
  if (f->data != NULL) {
    PASS_ON(oat_draw_rows(f, OAT_GREY, f->input[input_of(f, panel, OAT_X)], f->input[input_of(f, panel, OAT_Y)], out));
  }
  return draw_knots(f, panel, out);
}

static void tell_curve(const oat_facts *f, oat_string *out) {
  if (f->link == NULL) {
    oat_string_add(out,
                   "The mean of the fit, the band that holds the function with 95 % probability, and the band that "
                   "holds 95 % of new rows.");
  } else if (oat_facts_two_classes(f)) {
    oat_string_print(
        out, "The probability of class %s and its 95 %% band. Rows of this class are at 1, rows of class %s at 0.",
        f->classes[1], f->classes[0]);
  } else {
    oat_string_print(out, "The expected %s%s, with a band from the two ends of the 95 %% interval of f (%s)", f->target,
                     oat_tell_size(f), f->link);
    if (has_row_band(f)) {
      oat_string_add(out, "; the wide band holds at least 95 % of new rows.");
    } else {
      oat_string_print(out, ". Rows are divided by their %s.",
                       f->model->likelihood->has_trials ? "trials" : "exposure");
    }
  }
}

/* The levels behind the codes on an axis. */
static void tell_codes(const oat_facts *f, size_t input, oat_string *out) {
  const size_t count = oatgp_model_level_count(f->model, input);
  for (size_t i = 0; i < count && i < MOST_CODES; i++) {
    if (i == 0) {
      oat_string_print(out, " Of %s, ", f->name[input]);
    }
    oat_string_print(out, "%s%zu is %s", i > 0 ? ", " : "", i,
                     oat_show_text(oatgp_model_level(f->model, input, i)).text);
  }
  oat_string_add(out, count > MOST_CODES ? " and so on." : count > 0 ? "." : "");
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  if (f->d == 1) {
    tell_curve(f, out);
    if (f->info.knots > 0) {
      oat_string_print(out, " The marks at the bottom are the %zu knots.", f->info.knots);
    }
  } else if (f->d == 2) {
    oat_string_add(out, "The darker the colour, the less is known about the function");
    if (f->link != NULL) {
      oat_string_print(out, " f, %s", f->link);
    }
    oat_string_add(out, ": its standard deviation over the range of the inputs.");
    if (f->info.knots > 0) {
      oat_string_print(out, " The crosses are the %zu knots.", f->info.knots);
    }
  } else {
    oat_string_print(out, "The %zu knots among the rows, seen along %s and %s (of %zu inputs).", f->info.knots,
                     name_of(f, panel, OAT_X), name_of(f, panel, OAT_Y), f->d);
  }
  for (size_t i = 0; i < 2 && f->d > 1; i++) {
    tell_codes(f, input_of(f, panel, i == 0 ? OAT_X : OAT_Y), out);
  }
  oat_tell_thinned(f, out);
}

const oat_chart oat_chart_knots = {
    .name = "knots",
    .help = "where the knots are: on the fit (one input), on a map of its uncertainty (two), or among the rows (more)",
    .why = "the full Gaussian process has no knots, and more than two inputs cannot be drawn on one map",
    .tall = true,
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
