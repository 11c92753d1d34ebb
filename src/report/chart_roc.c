/* The receiver operating characteristic of two classes: for every threshold above which a row is assigned to the second
 * class, how many rows of that class are found, against how many of the other are mistaken for it. */
#include <math.h>
#include <stdlib.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "report/chart.h"

#define NEAR 1e-3 /* points nearer than this to the last one are not drawn */

typedef struct curve {
  size_t n;
  double *x, *y;
} curve;

static size_t count_ones(const oat_facts *f) {
  size_t ones = 0;
  for (size_t i = 0; i < f->data->n; i++) {
    ones += f->data->y[i] == 1;
  }
  return ones;
}

static size_t panels(const oat_facts *f) {
  const size_t ones = f->data != NULL && f->data->y != NULL ? count_ones(f) : 0;
  return ones > 0 && ones < f->data->n;
}

static int by_falling_probability(const void *a, const void *b) {
  const double p = ((const oat_scored *)a)->p, q = ((const oat_scored *)b)->p;
  return (p < q) - (p > q);
}

static void add_point(curve *c, double x, double y, bool always) {
  if (always || c->n == 0 || x - c->x[c->n - 1] > NEAR || y - c->y[c->n - 1] > NEAR) {
    c->x[c->n] = x;
    c->y[c->n++] = y;
  }
}

/* Rows with the same probability come together. */
static void trace(const oat_facts *f, const oat_scored *row, curve *c) {
  const double ones = (double)count_ones(f), zeros = (double)f->data->n - ones;
  double right = 0, wrong = 0;
  add_point(c, 0, 0, true);
  for (size_t i = 0; i < f->data->n; i++) {
    right += row[i].y == 1;
    wrong += row[i].y != 1;
    const bool last = i + 1 == f->data->n;
    if (last || row[i + 1].p != row[i].p) {
      add_point(c, wrong / zeros, right / ones, last);
    }
  }
}

/* Where the limit is 0.5: the share of class 0 that is taken for 1, and that of class 1 that is found. */
static void find_middle(const oat_facts *f, double *x, double *y) {
  const double ones = (double)count_ones(f), zeros = (double)f->data->n - ones;
  *x = *y = 0;
  for (size_t i = 0; i < f->data->n; i++) {
    *(f->data->y[i] == 1 ? y : x) += f->mean[i] > 0.5;
  }
  *x /= zeros;
  *y /= ones;
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  const double ends[] = {0, 1};
  double middle[2];
  oat_scratch memory = {.ctx = f->ctx};
  oat_scored *const row = oat_take(&memory, f->data->n, sizeof *row);
  curve c = {0, oat_take_doubles(&memory, f->data->n + 1, 1), oat_take_doubles(&memory, f->data->n + 1, 1)};
  oatgp_status status;
  (void)panel;
  TRY(memory.status);
  for (size_t i = 0; i < f->data->n; i++) {
    row[i] = (oat_scored){f->mean[i], f->data->y[i]};
  }
  qsort(row, f->data->n, sizeof *row, by_falling_probability);
  trace(f, row, &c);
  find_middle(f, &middle[0], &middle[1]);
  TRY(oat_panel_axis(out, OAT_X,
                     &(oat_axis){.label = "share of the other class mistaken for it", .low = 0, .high = 1}));
  TRY(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "share found", .low = 0, .high = 1}));
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_INK, .dash = OAT_DASHED, .width = 0.8, .label = "by chance"}, 2,
                     ends, ends));
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_BLUE, .width = 1.6, .label = "the model"}, c.n, c.x, c.y));
  TRY(oat_panel_points(out, &(oat_style){.colour = OAT_VERMILION, .shape = OAT_RING, .size = 7, .label = "limit 0.5"},
                       1, &middle[0], &middle[1]));
done:
  oat_scratch_free(&memory);
  return status;
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  double x, y;
  (void)panel;
  find_middle(f, &x, &y);
  oat_string_print(out,
                   "For every threshold above which a row is called %s: how many of the %zu rows of class %s are "
                   "found, and how many of the %zu others are mistaken for it. ",
                   f->classes[1], count_ones(f), f->classes[1], f->data->n - count_ones(f));
  oat_string_print(out, "At the threshold 0.5 these are %s %% and %s %%. ", oat_number(100 * y, 3).text,
                   oat_number(100 * x, 3).text);
  oat_string_print(out,
                   "The area under the curve (AUC) is %s: that is how often a random row of class %s gets a higher "
                   "probability than a random other row.",
                   oat_number(f->scores.auc, 3).text, f->classes[1]);
}

const oat_chart oat_chart_roc = {
    .name = "roc",
    .help =
        "for two classes: at every threshold, how many rows of one class are found and how many of the other are "
        "mistaken for it",
    .needs_data = true,
    .suits = oat_facts_two_classes,
    .wants = "two classes",
    .why = "the curve needs rows of both classes",
    .panels = panels,
    .title = "Telling the classes apart (ROC)",
    .draw = draw,
    .explain = explain,
};
