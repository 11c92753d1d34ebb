/* Effects: each term of a kernel that is a sum, minus its average over the rows, with its band. A term of one input is
 * a curve, or a point with a bar for each level of a category. A term of several inputs is drawn along the first
 * numeric one, for some values of one other; the remaining inputs stay at their medians. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "predict/predict.h"
#include "report/chart.h"

enum {
  FEW_VALUES = 65,
  MOST_VALUES = 1025,
  MOST_SERIES = 6,
  MOST_PANELS = 24,
  MOST_LEVELS = OAT_MAX_NAMES / 2,
  PERIODS = 2
};

/* One panel. */
typedef struct view {
  oat_scratch memory;
  const oat_facts *f;
  const oatgp_effect *effect;
  size_t along, by;          /* inputs; by OAT_NO_PLACE: no other */
  size_t values, series;     /* of `along`, of `by` */
  double *at, *by_values;    /* these */
  double *mean, *low, *high; /* series after series; low: first the sd */
} view;

static bool is_category(const oat_facts *f, size_t input) { return f->model->scaling.category[input]; }

/* ---- which summands -------------------------------------------------------------------------------------------- */

/* The summand of a panel. Summands without an input have no panel. */
static size_t summand_of(const oat_facts *f, size_t panel) {
  size_t effect = 0;
  for (;; effect++) {
    if (f->model->effects[effect].input_count > 0 && panel-- == 0) {
      return effect;
    }
  }
}

static size_t panels(const oat_facts *f) {
  size_t count = 0;
  for (size_t a = 0; f->effect_share != NULL && a < f->model->effect_count; a++) {
    count += f->model->effects[a].input_count > 0 ? 1 : 0;
  }
  return count < MOST_PANELS ? count : MOST_PANELS;
}

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  oat_string_print(out, "Effect of %s", f->model->effects[summand_of(f, panel)].name);
}

/* ---- the values at which it is drawn --------------------------------------------------------------------------- */

static void choose_inputs(view *v) {
  const oatgp_effect *e = v->effect;
  v->along = e->inputs[0];
  for (size_t j = e->input_count; j-- > 0;) {
    v->along = is_category(v->f, e->inputs[j]) ? v->along : e->inputs[j];
  }
  v->by = OAT_NO_PLACE;
  for (size_t j = e->input_count; j-- > 0;) { /* a category before others, and of equals the first */
    const size_t input = e->inputs[j];
    if (input != v->along && (v->by == OAT_NO_PLACE || is_category(v->f, input) || !is_category(v->f, v->by))) {
      v->by = input;
    }
  }
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The values of an input in their order. */
static double *sorted(view *v, size_t input) {
  double *const values = oat_take_doubles(&v->memory, v->f->data->n, 1);
  if (values != NULL) {
    memcpy(values, v->f->input[input], v->f->data->n * sizeof *values);
    qsort(values, v->f->data->n, sizeof *values, by_size);
  }
  return values;
}

static double quantile(const oat_facts *f, const double *in_order, double p) {
  return in_order[(size_t)(p * (double)(f->data->n - 1))];
}

/* The period of a leaf that is a season or a wave, in the data's units, else 0. */
static double period_of_leaf(const oat_facts *f, const oat_leaf *leaf) {
  return leaf->kind == OAT_LEAF_periodic || leaf->kind == OAT_LEAF_cosine ? f->model->parameters[leaf->parameter].value
                                                                          : 0;
}

/* The same of a summand that is such a leaf alone. */
static double period_of(const view *v) {
  const oat_expression *e = v->f->model->kernel->expression;
  size_t node[OAT_MOST_LEAVES];
  oat_expression_summands(e, node);
  const oat_node *root = &e->node[node[v->effect - v->f->model->effects]];
  return root->kind == OAT_NODE_LEAF ? period_of_leaf(v->f, &e->leaf[root->leaf]) : 0;
}

/* The lowest value that is drawn: the lowest of the input or, if the effect has many periods, the start of the last
 * ones. */
static double lowest_of(const view *v) {
  const double low = v->f->lowest[v->along], shown = PERIODS * period_of(v);
  return shown > 0 && v->f->highest[v->along] - shown > low ? v->f->highest[v->along] - shown : low;
}

/* Enough values to draw a period smoothly. */
static size_t count_values(const view *v) {
  const oat_facts *const f = v->f;
  const oat_expression *e = f->model->kernel->expression;
  const oat_covariance cov = oat_model_sparse(f->model).cov;
  double length = oat_kernel_lengthscale(&cov, v->along) * f->model->scaling.scale[v->along];
  for (size_t i = 0; i < e->leaves; i++) {
    const double period = period_of_leaf(f, &e->leaf[i]);
    length = period > 0 && e->leaf[i].input[0] == v->along ? fmin(length, period / 4) : length;
  }
  const double wanted = 6 * (f->highest[v->along] - lowest_of(v)) / length;
  return wanted > MOST_VALUES ? MOST_VALUES : wanted > FEW_VALUES ? (size_t)wanted : FEW_VALUES;
}

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

static void count_up(size_t n, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = (double)i;
  }
}

static oatgp_status choose_values(view *v) {
  const oat_facts *const f = v->f;
  const bool levels = is_category(f, v->along);
  v->values = levels ? least_of(f->model->levels[v->along].count, MOST_LEVELS) : count_values(v);
  v->at = oat_take_doubles(&v->memory, v->values, 1);
  v->by_values = oat_take_doubles(&v->memory, MOST_SERIES, 1);
  PASS_ON(v->memory.status);
  if (levels) {
    count_up(v->values, v->at);
  } else {
    oat_spread_evenly(v->values, lowest_of(v), f->highest[v->along], v->at);
  }
  v->series = 1;
  if (v->by != OAT_NO_PLACE && is_category(f, v->by)) {
    v->series = least_of(f->model->levels[v->by].count, MOST_SERIES);
    count_up(v->series, v->by_values);
  } else if (v->by != OAT_NO_PLACE) {
    const double *const in_order = sorted(v, v->by);
    PASS_ON(v->memory.status);
    for (v->series = 0; v->series < 3; v->series++) {
      v->by_values[v->series] = quantile(f, in_order, 0.1 + 0.4 * (double)v->series);
    }
  }
  return OATGP_OK;
}

/* Every value for every series; column-major. */
static oatgp_status make_rows(view *v, oatgp_data **out) {
  const size_t n = v->values * v->series;
  double *const x = oat_take_doubles(&v->memory, n, v->f->d);
  for (size_t j = 0; j < v->f->d; j++) {
    const double *const in_order = sorted(v, j);
    PASS_ON(v->memory.status);
    for (size_t i = 0; i < n; i++) {
      x[i + j * n] = j == v->along ? v->at[i % v->values]
                     : j == v->by  ? v->by_values[i / v->values]
                                   : quantile(v->f, in_order, 0.5);
    }
  }
  return oat_model_points(v->f->ctx, v->f->model, n, x, out);
}

static oatgp_status find_effect(view *v) {
  const size_t n = v->values * v->series, effect = (size_t)(v->effect - v->f->model->effects);
  const double width = oat_normal_quantile(0.975);
  oatgp_data *rows = NULL;
  oatgp_status status;
  v->mean = oat_take_doubles(&v->memory, n, 1);
  v->low = oat_take_doubles(&v->memory, n, 1);
  v->high = oat_take_doubles(&v->memory, n, 1);
  TRY(v->memory.status);
  TRY(make_rows(v, &rows));
  TRY(oat_predict_effects(v->f->ctx, v->f->model, &(oat_effects_of){rows, v->f->data, effect, 1},
                          &(oatgp_effect_values){.mean = v->mean, .sd = v->low}));
  for (size_t i = 0; i < n; i++) {
    const double half = width * v->low[i];
    v->low[i] = v->mean[i] - half;
    v->high[i] = v->mean[i] + half;
  }
done:
  oatgp_data_free(rows);
  return status;
}

/* ---- the drawing ----------------------------------------------------------------------------------------------- */

/* "region = north"; "effect" where there is one series. */
static const char *label_of(view *v, size_t series) {
  oat_string text = {.ctx = v->f->ctx};
  if (v->by == OAT_NO_PLACE) {
    return "effect";
  }
  oat_string_print(
      &text, "%s = %s", v->f->name[v->by],
      is_category(v->f, v->by) ? v->f->model->levels[v->by].name[series] : oat_number(v->by_values[series], 3).text);
  const char *const label = oat_take_text(&v->memory, text.text);
  v->memory.status = text.status != OATGP_OK ? text.status : v->memory.status;
  oat_string_free(&text);
  return label;
}

static oat_style style_of(view *v, size_t series) {
  oat_style style = oat_series_style(v->by == OAT_NO_PLACE ? 0 : series + 1, label_of(v, series));
  style.shape = OAT_NO_SHAPE;
  style.width = 1.6;
  return style;
}

static oatgp_status draw_curves(view *v, oat_panel *out) {
  for (size_t s = 0; s < v->series; s++) {
    const size_t first = s * v->values;
    const oat_style line = style_of(v, s);
    const oat_style band = {
        .colour = line.colour, .opacity = v->series > 1 ? 0.12 : 0.3, .label = v->series > 1 ? NULL : "95 % band"};
    PASS_ON(v->memory.status);
    PASS_ON(oat_panel_band(out, &band, v->values, v->at, (oat_limits){v->low + first, v->high + first}));
    PASS_ON(oat_panel_line(out, &line, v->values, v->at, v->mean + first));
  }
  return OATGP_OK;
}

static oatgp_status draw_levels(view *v, oat_panel *out) {
  for (size_t i = 0; i < v->values * v->series; i++) {
    const size_t series = i / v->values;
    const double x = 1 + (double)(i % v->values) + 0.14 * ((double)series - 0.5 * (double)(v->series - 1));
    const oat_style bar = {
        .colour = style_of(v, series).colour, .width = 1.4, .label = v->series > 1 ? NULL : "95 % interval"};
    oat_style point = style_of(v, series);
    point.shape = OAT_CIRCLE;
    PASS_ON(v->memory.status);
    PASS_ON(oat_panel_line(out, &bar, 2, (const double[]){x, x}, (const double[]){v->low[i], v->high[i]}));
    PASS_ON(oat_panel_points(out, &point, 1, &x, &v->mean[i]));
  }
  return OATGP_OK;
}

/* Marks the rows within the drawn range. */
static oatgp_status draw_rug(view *v, oat_panel *out) {
  const oat_facts *const f = v->f;
  double *const at = oat_take_doubles(&v->memory, f->n_shown, 1);
  size_t count = 0;
  PASS_ON(v->memory.status);
  for (size_t i = 0; i < f->n_shown; i++) {
    const double x = f->input[v->along][f->shown[i]];
    at[count] = x;
    count += x >= v->at[0] ? 1 : 0;
  }
  return oat_panel_rug(out, &(oat_style){.colour = OAT_GREY, .opacity = 0.5, .size = 2, .label = "rows"}, OAT_BOTTOM,
                       count, at);
}

static oatgp_status draw_axes(view *v, oat_panel *out) {
  oat_axis x = {.label = v->f->full_name[v->along]};
  if (is_category(v->f, v->along)) {
    x.kind = OAT_NAMES;
    x.n_names = v->values;
    x.names = (const char *const *)v->f->model->levels[v->along].name;
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &x));
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = v->effect->name}));
  return oat_panel_rule(out, &(oat_style){.colour = OAT_GREY, .dash = OAT_DASHED, .width = 0.7}, OAT_Y, 0);
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  view v = {.memory = {.ctx = f->ctx}, .f = f, .effect = &f->model->effects[summand_of(f, panel)]};
  oatgp_status status;
  choose_inputs(&v);
  TRY(choose_values(&v));
  TRY(find_effect(&v));
  TRY(draw_axes(&v, out));
  if (is_category(f, v.along)) {
    TRY(draw_levels(&v, out));
  } else {
    TRY(draw_rug(&v, out));
    TRY(draw_curves(&v, out));
  }
done:
  oat_scratch_free(&v.memory);
  return status;
}

/* ---- the description ------------------------------------------------------------------------------------------- */

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  const size_t effect = summand_of(f, panel);
  view v = {.f = f, .effect = &f->model->effects[effect]};
  choose_inputs(&v);
  oat_string_print(out, "What %s adds to %s: %s %% of the variance of all effects.", v.effect->name,
                   f->link != NULL ? f->link : f->target, oat_number(100 * f->effect_share[effect], 3).text);
  if (panel == 0) {
    oat_string_add(out,
                   " Effects are centred: the average of each over the rows is subtracted. The band holds that "
                   "difference with 95 % probability.");
  }
  if (v.by != OAT_NO_PLACE) {
    oat_string_print(out, " It depends on %zu inputs, and is drawn for some values of %s.", v.effect->input_count,
                     f->name[v.by]);
  }
  if (!is_category(f, v.along) && lowest_of(&v) > f->lowest[v.along]) {
    oat_string_print(out, " It repeats itself; the last %d periods are shown.", PERIODS);
  }
}

const oat_chart oat_chart_effects = {
    .name = "effects",
    .help = "effects: each term of a covariance that is a sum, centred, with its band",
    .needs_data = true,
    .why = "effects exist for a covariance that is a sum, such as se(a) + se(b), in a model without neighbours",
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
