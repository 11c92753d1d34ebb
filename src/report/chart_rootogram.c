/* A hanging rootogram for targets that are whole numbers or levels. The curve is the square root of the expected number
 * of rows with each value. Bars hang from it, as long as the square root of the observed number, so that they end near
 * 0 where the two agree. A band shows where 95 of 100 bars would end by chance alone. */
#include <math.h>
#include <stdlib.h>

#include "data/data.h"
#include "report/chart.h"
#include "util/lanes.h"
#include "util/rng.h"

enum { MOST_BINS = 40, MOST_ROWS = 2000, PART = 100 };

/* Bins of `width` numbers each, the first from 0 on, for some of the rows. */
typedef struct bars {
  oat_scratch memory;
  const oat_facts *f;
  size_t rows, *row, bins, above; /* above: rows beyond the last bin */
  double width;
  double observed[MOST_BINS], expected[MOST_BINS];
  double lane[OAT_MOST_LANES][MOST_BINS];
} bars;

static bool suits(const oat_facts *f) { return oat_facts_discrete(f) && !oat_facts_two_classes(f); }

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The largest number that is shown: the largest there is, unless a few are far beyond the others. */
static oatgp_status find_largest(bars *b, double *largest) {
  double *const y = oat_take_doubles(&b->memory, b->rows, 1);
  PASS_ON(b->memory.status);
  for (size_t i = 0; i < b->rows; i++) {
    y[i] = b->f->data->y[b->row[i]];
  }
  qsort(y, b->rows, sizeof *y, by_size);
  *largest = fmin(y[b->rows - 1], 10 + 2 * y[(size_t)(0.99 * (double)(b->rows - 1))]);
  return OATGP_OK;
}

/* The smallest of 1, 2 and 5 times a power of ten that makes at most MOST_BINS bins. */
static void choose_bins(bars *b, double largest) {
  b->width = 1;
  for (size_t i = 0; floor(largest / b->width) >= MOST_BINS; i++) {
    b->width *= i % 3 == 1 ? 2.5 : 2;
  }
  b->bins = (size_t)floor(largest / b->width) + 1;
}

static oatgp_status choose_rows(bars *b) {
  const size_t n = b->f->data->n;
  oat_rng rng;
  b->rows = n < MOST_ROWS ? n : MOST_ROWS;
  b->row = oat_take(&b->memory, b->rows, sizeof *b->row);
  PASS_ON(b->memory.status);
  oat_rng_seed(&rng, 4);
  oat_rng_sample(&rng, n, b->rows, b->row);
  return OATGP_OK;
}

static double count_below(const bars *b, size_t bin) { return b->width * (double)bin - 1; }

/* The probability of each bin, added up over some of the rows. */
static void add_part(void *self, size_t lane, size_t item) {
  bars *b = self;
  const oat_facts *const f = b->f;
  const oat_response response = oat_model_response(f->model);
  const size_t first = item * PART, end = first + PART < b->rows ? first + PART : b->rows;
  for (size_t i = first; i < end; i++) {
    const size_t row = b->row[i];
    const oat_latent latent = {f->m + row, f->s + row};
    double before = 0;
    for (size_t bin = 0; bin < b->bins; bin++) {
      const double y = count_below(b, bin + 1);
      double up_to;
      oat_response_cdf(&response, &(oat_answers){1, &y, f->data->trials != NULL ? f->data->trials + row : NULL},
                       &latent, &up_to);
      b->lane[lane][bin] += fmax(up_to - before, 0);
      before = up_to;
    }
  }
}

static void expect_bins(bars *b) {
  const size_t parts = (b->rows + PART - 1) / PART;
  oat_loop_run(&(oat_loop){
      .items = parts, .lanes = oat_lanes_for(parts), .threads = b->f->ctx->at_work, .item = add_part, .self = b});
  for (size_t bin = 0; bin < b->bins; bin++) {
    for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
      b->expected[bin] += b->lane[lane][bin];
    }
  }
}

static void observe_bins(bars *b) {
  for (size_t i = 0; i < b->rows; i++) {
    const double bin = floor(b->f->data->y[b->row[i]] / b->width);
    if (bin < (double)b->bins) {
      b->observed[(size_t)bin]++;
    } else {
      b->above++;
    }
  }
}

static oatgp_status make_bars(const oat_facts *f, bars **out) {
  bars *b = NULL;
  double largest = 0;
  oatgp_status status;
  TRY(oat_new(f->ctx, 1, sizeof *b, &b));
  b->memory.ctx = f->ctx;
  b->f = f;
  TRY(choose_rows(b));
  TRY(find_largest(b, &largest));
  choose_bins(b, largest);
  expect_bins(b);
  observe_bins(b);
  *out = b;
  b = NULL;
done:
  if (b != NULL) {
    oat_scratch_free(&b->memory);
    free(b);
  }
  return status;
}

static void free_bars(bars *b) {
  oat_scratch_free(&b->memory);
  free(b);
}

/* The quantile `level` of the number of rows in the bin, by chance alone. */
static double chance_of(const bars *b, size_t bin, double level) {
  const double p = fmin(fmax(b->expected[bin] / (double)b->rows, 1e-12), 1 - 1e-12);
  return (double)oat_binomial_quantile(b->rows, p, level);
}

/* ---- the drawing ----------------------------------------------------------------------------------------------- */

static oatgp_status draw_axes(const bars *b, oat_panel *out) {
  const oat_facts *const f = b->f;
  oat_axis x = {.label = f->full_target, .whole = true};
  if (f->n_classes > 0 && f->n_classes <= OAT_MAX_NAMES / 2) {
    x = (oat_axis){
        .label = f->full_target, .kind = OAT_NAMES, .n_names = f->n_classes, .names = (const char *const *)f->classes};
  }
  PASS_ON(oat_panel_axis(out, OAT_X, &x));
  return oat_panel_axis(out, OAT_Y, &(oat_axis){.label = "root of the number of rows"});
}

static oatgp_status draw_bars(const bars *b, oat_panel *out) {
  const double shift = b->f->n_classes > 0 && b->f->n_classes <= OAT_MAX_NAMES / 2 ? 1 : 0.5 * (b->width - 1);
  double at[MOST_BINS], sides[2 * MOST_BINS], top[MOST_BINS], end[MOST_BINS], low[MOST_BINS], high[MOST_BINS];
  for (size_t i = 0; i < b->bins; i++) {
    at[i] = b->width * (double)i + shift;
    sides[i] = at[i] - 0.42 * b->width;
    sides[b->bins + i] = at[i] + 0.42 * b->width;
    top[i] = sqrt(b->expected[i]);
    end[i] = top[i] - sqrt(b->observed[i]);
    low[i] = top[i] - sqrt(chance_of(b, i, 0.975));
    high[i] = top[i] - sqrt(chance_of(b, i, 0.025));
  }
  PASS_ON(oat_panel_tiles(out, &(oat_style){.colour = OAT_SKY, .opacity = 0.75, .label = "rows"}, b->bins, sides,
                          (oat_limits){end, top}));
  PASS_ON(oat_panel_band(out, &(oat_style){.colour = OAT_GREY, .opacity = 0.28, .label = "ends by chance alone"},
                         b->bins, at, (oat_limits){low, high}));
  PASS_ON(oat_panel_rule(out, &(oat_style){.colour = OAT_INK, .width = 0.8}, OAT_Y, 0));
  return oat_panel_line(
      out, &(oat_style){.colour = OAT_VERMILION, .shape = OAT_CIRCLE, .size = 3, .width = 1.4, .label = "expected"},
      b->bins, at, top);
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  bars *b = NULL;
  oatgp_status status;
  (void)panel;
  PASS_ON(make_bars(f, &b));
  TRY(draw_axes(b, out));
  TRY(draw_bars(b, out));
done:
  free_bars(b);
  return status;
}

/* ---- the description ------------------------------------------------------------------------------------------- */

static void tell_bars(const bars *b, oat_string *out) {
  size_t outside = 0;
  for (size_t i = 0; i < b->bins; i++) {
    outside += b->observed[i] < chance_of(b, i, 0.025) || b->observed[i] > chance_of(b, i, 0.975);
  }
  oat_string_print(out,
                   "How many rows have each %s (bars) and how many should (curve), as square roots. Bars hang from the "
                   "curve: a bar that ends below 0 means more rows than expected, above 0 fewer. %zu of %zu bars %s in "
                   "the band that holds 95 of 100 by chance alone.",
                   b->f->n_classes > 0 ? "level"
                   : b->width > 1      ? "range of numbers"
                                       : "number",
                   outside, b->bins, outside == 1 ? "does not end" : "do not end");
  oat_string_print(out, " %s of %zu rows have %s", oat_value(b->observed[0], 6).text, b->rows,
                   b->f->n_classes > 0 ? b->f->classes[0] : "0");
  if (b->width > 1) {
    oat_string_print(out, " to %s", oat_value(b->width - 1, 17).text);
  }
  oat_string_print(out, ", where %s were expected.", oat_number(b->expected[0], 3).text);
  if (b->above > 0) {
    oat_string_print(out, " Not shown: %zu row%s with larger numbers.", b->above, oat_plural(b->above));
  }
  if (b->rows < b->f->data->n) {
    oat_string_print(out, " These are %zu random rows of %zu.", b->rows, b->f->data->n);
  }
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  bars *b = NULL;
  (void)panel;
  const oatgp_status status = make_bars(f, &b);
  if (status != OATGP_OK) {
    out->status = status;
    return;
  }
  tell_bars(b, out);
  free_bars(b);
}

const oat_chart oat_chart_rootogram = {
    .name = "rootogram",
    .help =
        "for whole numbers: how many rows have each value, hanging from how many should, as square roots, with a band",
    .needs_data = true,
    .suits = suits,
    .wants = "counts or levels",
    .panels = oat_one_panel,
    .title = "Rootogram: observed and expected",
    .draw = draw,
    .explain = explain,
};
