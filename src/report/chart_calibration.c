/* Whether the predictive distributions are right: for central intervals of every probability, the share of rows inside
 * minus the expected share (a difference that is visible for any number of rows), and the histogram of the probability
 * integral transform. Each has the band that holds a binomial count 95 times out of 100. */
#include <math.h>

#include "data/data.h"
#include "report/chart.h"
#include "util/lanes.h"

enum { COVERAGE, PIT, PANELS };
enum { STEPS = 101, MOST_BINS = 20, FEW_ROWS = 400 };

static size_t panels(const oat_facts *f) {
  (void)f;
  return PANELS;
}

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  (void)f;
  oat_string_add(out, panel == COVERAGE ? "Coverage of the intervals" : "Probability integral transform (PIT)");
}

/* ---- counting -------------------------------------------------------------------------------------------------- */

/* Rows by their places, from 0 to below `places`. A row may be in several of them, with parts that add up to 1. */
typedef struct counting {
  const oat_facts *facts;
  size_t places;
  void (*add)(const oat_facts *f, size_t row, size_t places, double *count);
  double lane[OAT_MOST_LANES][STEPS];
} counting;

static void count_chunk(void *self, size_t lane, size_t item) {
  counting *c = self;
  const oat_span rows = oat_chunk(c->facts->data->n, item);
  for (size_t row = rows.first; row < rows.first + rows.count; row++) {
    c->add(c->facts, row, c->places, c->lane[lane]);
  }
}

static void count_rows(counting *c, double count[STEPS]) {
  oat_loop loop = oat_chunks(c->facts->data->n, 10 * OAT_FLOPS_OF_MEMORY, c->facts->ctx->at_work);
  loop.item = count_chunk;
  loop.self = c;
  oat_loop_run(&loop);
  for (size_t i = 0; i < c->places; i++) {
    count[i] = 0;
    for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
      count[i] += c->lane[lane][i];
    }
  }
}

/* Counts a row at one place; NaN is not counted. */
static void add_at(double at, size_t places, double *count) {
  if (!isnan(at)) {
    count[at < (double)places ? (size_t)at : places - 1]++;
  }
}

/* The share of the range from P(Y < y) to P(Y <= y) that lies between two probabilities. A whole number counts evenly
 * over that range. */
static double part_between(const oat_facts *f, size_t row, double low, double high) {
  const double below = f->below[row], up_to = f->up_to[row];
  if (!(up_to > below)) { /* so far out that the range is a point */
    return below >= low && (below < high || high == 1);
  }
  return fmax(fmin(up_to, high) - fmax(below, low), 0) / (up_to - below);
}

/* ---- coverage -------------------------------------------------------------------------------------------------- */

/* Counts the row in the first central interval, of probability i / (STEPS - 1), that contains it. A whole number counts
 * in parts: in each interval, the part that the interval before does not contain. */
static void add_to_interval(const oat_facts *f, size_t row, size_t steps, double *count) {
  if (!oat_facts_discrete(f)) {
    add_at(ceil(erf(fabs(f->quantile[row]) / sqrt(2)) * (double)(steps - 1)), steps, count);
    return;
  }
  double before = 0;
  for (size_t i = 0; i < steps; i++) {
    const double p = (double)i / (double)(steps - 1), part = part_between(f, row, 0.5 - 0.5 * p, 0.5 + 0.5 * p);
    count[i] += part - before;
    before = part;
  }
}

/* inside[i]: the share of rows in their central interval of probability i / (STEPS - 1). */
static void count_inside(const oat_facts *f, double inside[STEPS]) {
  counting c = {.facts = f, .places = STEPS, .add = add_to_interval};
  count_rows(&c, inside);
  for (size_t i = 1; i < STEPS; i++) {
    inside[i] += inside[i - 1];
  }
  for (size_t i = 0; i < STEPS; i++) {
    inside[i] /= (double)f->data->n;
  }
}

static oatgp_status draw_coverage(const oat_facts *f, oat_panel *out) {
  double p[STEPS], inside[STEPS], low[STEPS], high[STEPS];
  const double n = (double)f->data->n;
  oat_spread_evenly(STEPS, 0, 1, p);
  count_inside(f, inside);
  for (size_t i = 0; i < STEPS; i++) {
    const bool between = i > 0 && i + 1 < STEPS;
    low[i] = between ? (double)oat_binomial_quantile(f->data->n, p[i], 0.025) / n - p[i] : 0;
    high[i] = between ? (double)oat_binomial_quantile(f->data->n, p[i], 0.975) / n - p[i] : 0;
    inside[i] -= p[i];
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "probability of the interval", .low = 0, .high = 1}));
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "share inside \xe2\x88\x92 probability"}));
  PASS_ON(oat_panel_band(out, &(oat_style){.colour = OAT_GREY, .opacity = 0.3, .label = "chance alone"}, STEPS, p,
                         (oat_limits){low, high}));
  PASS_ON(oat_panel_rule(out, &(oat_style){.colour = OAT_INK, .dash = OAT_DASHED, .width = 0.8}, OAT_Y, 0));
  return oat_panel_line(out, &(oat_style){.colour = OAT_BLUE, .width = 1.6, .label = "rows inside"}, STEPS, p, inside);
}

static void tell_spread(const oat_facts *f, oat_string *out) {
  oat_string_add(out,
                 oat_facts_discrete(f)
                     ? " Each whole number is spread over its range of probabilities, so the band is wider than needed."
                     : "");
}

static void explain_coverage(const oat_facts *f, oat_string *out) {
  double inside[STEPS];
  size_t outside = 0;
  count_inside(f, inside);
  for (size_t i = 1; i + 1 < STEPS; i++) {
    const double p = (double)i / (STEPS - 1), n = (double)f->data->n;
    outside += inside[i] * n + 0.5 < (double)oat_binomial_quantile(f->data->n, p, 0.025) ||
               inside[i] * n - 0.5 > (double)oat_binomial_quantile(f->data->n, p, 0.975);
  }
  oat_string_add(out,
                 "For central intervals of every probability: the share of rows inside minus the share that should be. "
                 "Above the dashed line the model is too cautious, below it overconfident. ");
  if (outside == 0) {
    oat_string_add(out, "The curve stays within what chance alone would do.");
  } else {
    oat_string_print(out, "It leaves the band of what chance alone would do at %zu of %d probabilities.", outside,
                     STEPS - 2);
  }
  tell_spread(f, out);
}

/* ---- the probability integral transform ------------------------------------------------------------------------ */

static size_t count_bins(const oat_facts *f) { return f->data->n < FEW_ROWS ? MOST_BINS / 2 : MOST_BINS; }

/* P(Y <= y) for a row, in bins. */
static void add_to_bin(const oat_facts *f, size_t row, size_t bins, double *count) {
  if (!oat_facts_discrete(f)) {
    add_at(0.5 * erfc(-f->quantile[row] / sqrt(2)) * (double)bins, bins, count);
    return;
  }
  for (size_t i = 0; i < bins; i++) {
    count[i] += part_between(f, row, (double)i / (double)bins, (double)(i + 1) / (double)bins);
  }
}

static void fill_bins(const oat_facts *f, size_t bins, double height[STEPS]) {
  counting c = {.facts = f, .places = bins, .add = add_to_bin};
  count_rows(&c, height);
}

static oatgp_status draw_pit(const oat_facts *f, oat_panel *out) {
  const size_t bins = count_bins(f);
  const double share = 1 / (double)bins, ends[] = {0, 1};
  double height[STEPS], middle[MOST_BINS];
  const double lowest = (double)oat_binomial_quantile(f->data->n, share, 0.025);
  const double highest = (double)oat_binomial_quantile(f->data->n, share, 0.975);
  const double low[] = {lowest, lowest}, high[] = {highest, highest};
  fill_bins(f, bins, height);
  for (size_t i = 0; i < bins; i++) {
    middle[i] = ((double)i + 0.5) * share;
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "P(prediction \xe2\x89\xa4 observed)", .low = 0, .high = 1}));
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "rows", .whole = true}));
  PASS_ON(oat_panel_columns(out,
                            &(oat_style){.colour = OAT_BLUE, .opacity = 0.75, .width = 0.94 * share, .label = "rows"},
                            bins, middle, height));
  PASS_ON(oat_panel_band(out, &(oat_style){.colour = OAT_GREY, .opacity = 0.4, .label = "chance alone"}, 2, ends,
                         (oat_limits){low, high}));
  return oat_panel_rule(out, &(oat_style){.colour = OAT_INK, .dash = OAT_DASHED, .width = 0.8}, OAT_Y,
                        (double)f->data->n * share);
}

static void explain_pit(const oat_facts *f, oat_string *out) {
  const size_t bins = count_bins(f);
  const double share = 1 / (double)bins;
  double height[STEPS];
  size_t outside = 0;
  fill_bins(f, bins, height);
  for (size_t i = 0; i < bins; i++) {
    outside += height[i] < (double)oat_binomial_quantile(f->data->n, share, 0.025) ||
               height[i] > (double)oat_binomial_quantile(f->data->n, share, 0.975);
  }
  oat_string_add(out,
                 "The probability that the model gave to values up to the observed one. The bars should be level. A "
                 "hill means intervals that are too wide, a valley too narrow, a slope a bias. ");
  oat_string_print(out, "%zu of %zu bars leave the band that holds 95 of 100 by chance alone.", outside, bins);
  tell_spread(f, out);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  return panel == COVERAGE ? draw_coverage(f, out) : draw_pit(f, out);
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  if (panel == COVERAGE) {
    explain_coverage(f, out);
  } else {
    explain_pit(f, out);
  }
}

const oat_chart oat_chart_calibration = {
    .name = "calibration",
    .help = "coverage of intervals of every probability, and the histogram of the probability integral transform",
    .needs_data = true,
    .suits = oat_suits_numbers,
    .wants = "targets other than two classes (those have 'reliability')",
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
