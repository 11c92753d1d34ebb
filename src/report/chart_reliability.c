/* Whether probabilities of two classes are right: rows in bins of equal width by their probability, how many rows of
 * each bin have the second class, and how many rows each bin has. */
#include <math.h>
#include <string.h>

#include "data/data.h"
#include "report/chart.h"

enum { CURVE, COUNTS, PANELS };
enum { BINS = 10 };

/* Of the rows of a bin: how many, how many have class 1, and the mean of their probabilities. */
typedef struct bins {
  size_t rows[BINS], ones[BINS];
  double mean[BINS];
} bins;

static size_t panels(const oat_facts *f) {
  (void)f;
  return PANELS;
}

static void name_panel(const oat_facts *f, size_t panel, oat_string *out) {
  oat_string_print(out, panel == CURVE ? "Reliability of the probabilities" : "Rows by their probability of %s",
                   f->classes[1]);
}

static void fill_bins(const oat_facts *f, bins *b) {
  memset(b, 0, sizeof *b);
  for (size_t i = 0; i < f->data->n; i++) {
    const double p = f->mean[i];
    const size_t bin = p < 1 ? (size_t)(p * BINS) : BINS - 1;
    b->rows[bin]++;
    b->ones[bin] += f->data->y[i] == 1;
    b->mean[bin] += p;
  }
  for (size_t i = 0; i < BINS; i++) {
    b->mean[i] /= (double)b->rows[i]; /* NaN without rows: nothing is drawn there */
  }
}

/* The quantile `level` of the share of class 1 in the bin, if its mean probability is right. */
static double chance_of(const bins *b, size_t bin, double level) {
  const double p = fmin(fmax(b->mean[bin], 1e-12), 1 - 1e-12);
  return (double)oat_binomial_quantile(b->rows[bin], p, level) / (double)b->rows[bin];
}

static double share_of(const bins *b, size_t bin) { return (double)b->ones[bin] / (double)b->rows[bin]; }

static oatgp_status draw_curve(const bins *b, const oat_facts *f, oat_panel *out) {
  double x[BINS], y[BINS], low[BINS], high[BINS];
  const double ends[] = {0, 1};
  size_t n = 0;
  for (size_t i = 0; i < BINS; i++) {
    if (b->rows[i] > 0) {
      x[n] = b->mean[i];
      y[n] = share_of(b, i);
      low[n] = chance_of(b, i, 0.025);
      high[n++] = chance_of(b, i, 0.975);
    }
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->expected, .low = 0, .high = 1}));
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "share of rows", .low = 0, .high = 1}));
  PASS_ON(oat_panel_band(out, &(oat_style){.colour = OAT_GREY, .opacity = 0.3, .label = "chance alone"}, n, x,
                         (oat_limits){low, high}));
  PASS_ON(oat_panel_line(out,
                         &(oat_style){.colour = OAT_INK, .dash = OAT_DASHED, .width = 0.8, .label = "as it should be"},
                         2, ends, ends));
  return oat_panel_line(
      out, &(oat_style){.colour = OAT_BLUE, .shape = OAT_CIRCLE, .size = 5, .width = 1.4, .label = "rows in bins"}, n,
      x, y);
}

static oatgp_status draw_counts(const bins *b, const oat_facts *f, const char *label, oat_panel *out) {
  double x[BINS], sides[2 * BINS], all[BINS], ones[BINS];
  const double none[BINS] = {0};
  for (size_t i = 0; i < BINS; i++) {
    x[i] = ((double)i + 0.5) / BINS;
    sides[i] = x[i] - 0.47 / BINS;
    sides[BINS + i] = x[i] + 0.47 / BINS;
    all[i] = (double)b->rows[i];
    ones[i] = (double)b->ones[i];
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &(oat_axis){.label = f->expected, .low = 0, .high = 1}));
  PASS_ON(oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "rows", .whole = true}));
  PASS_ON(oat_panel_tiles(out, &(oat_style){.colour = OAT_SKY, .opacity = 0.55, .label = "all rows"}, BINS, sides,
                          (oat_limits){none, all}));
  return oat_panel_columns(out, &(oat_style){.colour = OAT_BLUE, .opacity = 0.85, .width = 0.5 / BINS, .label = label},
                           BINS, x, ones);
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  oat_string label = {.ctx = f->ctx};
  oatgp_status status;
  bins b;
  fill_bins(f, &b);
  oat_string_print(&label, "class %s", f->classes[1]);
  TRY(label.status);
  TRY(panel == CURVE ? draw_curve(&b, f, out) : draw_counts(&b, f, label.text, out));
done:
  oat_string_free(&label);
  return status;
}

static void explain_curve(const bins *b, const oat_facts *f, oat_string *out) {
  size_t outside = 0, used = 0;
  for (size_t i = 0; i < BINS; i++) {
    used += b->rows[i] > 0;
    outside += b->rows[i] > 0 && (share_of(b, i) < chance_of(b, i, 0.025) || share_of(b, i) > chance_of(b, i, 0.975));
  }
  oat_string_print(
      out,
      "Among rows with about the same probability of %s, the share that has class %s. On the dashed line the "
      "probabilities are right; above it %s is more frequent than predicted. %zu of %zu bins %s the band that holds 95 "
      "of 100 by chance alone.",
      f->classes[1], f->classes[1], f->classes[1], outside, used, outside == 1 ? "leaves" : "leave");
}

static void explain_counts(const bins *b, const oat_facts *f, oat_string *out) {
  size_t ones = 0;
  for (size_t i = 0; i < BINS; i++) {
    ones += b->ones[i];
  }
  oat_string_print(out,
                   "How many rows have each probability of %s, and how many of them have class %s: %zu of %zu in all.",
                   f->classes[1], f->classes[1], ones, f->data->n);
  oat_string_print(
      out, " The more certain the model, the more rows are at the two ends: %zu below 0.1 and %zu at 0.9 or above.",
      b->rows[0], b->rows[BINS - 1]);
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  bins b;
  fill_bins(f, &b);
  if (panel == CURVE) {
    explain_curve(&b, f, out);
  } else {
    explain_counts(&b, f, out);
  }
}

const oat_chart oat_chart_reliability = {
    .name = "reliability",
    .help =
        "for two classes: the observed share of one class against its predicted probability, with a band, and how many "
        "rows have each probability",
    .needs_data = true,
    .suits = oat_facts_two_classes,
    .wants = "two classes ('calibration' is for other targets)",
    .panels = panels,
    .name_panel = name_panel,
    .draw = draw,
    .explain = explain,
};
