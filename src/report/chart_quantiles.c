/* Sorted residuals, each against the quantile of the standard normal distribution at its rank, with the band that holds
 * that order statistic 95 times out of 100. */
#include <math.h>
#include <stdlib.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "report/chart.h"

enum { BAND = 33, HALVINGS = 24 };

typedef struct ordered {
  double value;
  size_t row;
} ordered;

static int by_value(const void *a, const void *b) {
  const ordered *const p = a, *const q = b;
  return p->value != q->value ? (p->value > q->value ? 1 : -1) : (p->row > q->row) - (p->row < q->row);
}

/* The finite residuals in their order; returns how many. */
static size_t put_in_order(const oat_facts *f, ordered *list) {
  size_t n = 0;
  for (size_t i = 0; i < f->data->n; i++) {
    if (isfinite(f->quantile[i])) {
      list[n++] = (ordered){f->quantile[i], i};
    }
  }
  qsort(list, n, sizeof *list, by_value);
  return n;
}

/* The normal quantile for rank `place` of n, from 0. */
static double quantile_at(size_t place, size_t n) { return oat_normal_quantile(((double)place + 0.5) / (double)n); }

/* The value z that the residual at this rank (from 0 to n - 1) is below with probability p. The number of residuals
 * below z is binomial, and the residual is below z if more than `place` of them are. */
static double limit_at(size_t place, size_t n, double p) {
  double low = -9, high = 9;
  for (size_t i = 0; i < HALVINGS; i++) {
    const double z = 0.5 * (low + high), below = 0.5 * erfc(-z / sqrt(2));
    if (oat_binomial_quantile(n, below, 1 - p) > place) { /* P(at most `place` of n are below z) < 1 - p */
      high = z;
    } else {
      low = z;
    }
  }
  return 0.5 * (low + high);
}

/* The rank whose quantile is nearest to the i-th of `count` equally spaced ones. */
static size_t place_at(size_t i, size_t count, size_t n) {
  const double end = quantile_at(n - 1, n), z = count > 1 ? end * (2 * (double)i / (double)(count - 1) - 1) : 0;
  const double place = 0.5 * erfc(-z / sqrt(2)) * (double)n - 0.5;
  return place < 0.5 ? 0 : place > (double)(n - 1) - 0.5 ? n - 1 : (size_t)(place + 0.5);
}

static oatgp_status draw_band(size_t n, oat_panel *out) {
  double x[BAND], low[BAND], high[BAND];
  for (size_t i = 0; i < BAND; i++) {
    const size_t place = place_at(i, BAND, n);
    x[i] = quantile_at(place, n);
    low[i] = limit_at(place, n, 0.025);
    high[i] = limit_at(place, n, 0.975);
  }
  return oat_panel_band(out, &(oat_style){.colour = OAT_GREY, .opacity = 0.3, .label = "chance alone"}, BAND, x,
                        (oat_limits){low, high});
}

/* All residuals, or some with equally spaced quantiles. */
static oatgp_status draw_points(oatgp_context *ctx, const ordered *list, size_t n, oat_panel *out) {
  const size_t most = n < OAT_MOST_POINTS ? n : OAT_MOST_POINTS;
  oat_scratch memory = {.ctx = ctx};
  double *const x = oat_take_doubles(&memory, most, 1), *const y = oat_take_doubles(&memory, most, 1);
  double *const number = oat_take_doubles(&memory, most, 1);
  size_t count = 0;
  oatgp_status status;
  TRY(memory.status);
  for (size_t i = 0, last = SIZE_MAX; i < most; i++) {
    const size_t place = most == n ? i : place_at(i, most, n);
    if (place != last) {
      x[count] = quantile_at(place, n);
      y[count] = list[place].value;
      number[count++] = (double)list[place].row + 1;
    }
    last = place;
  }
  TRY(oat_panel_numbered(out, &(oat_style){.colour = OAT_BLUE, .size = 2.8, .opacity = 0.7, .label = "rows"}, count,
                         (const double *const[]){x, y}, number));
done:
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status draw(const oat_facts *f, size_t panel, oat_panel *out) {
  ordered *list = NULL;
  oatgp_status status;
  (void)panel;
  TRY(oat_new(f->ctx, f->data->n, sizeof *list, &list));
  const size_t n = put_in_order(f, list);
  const double end = n > 0 ? fmax(quantile_at(n - 1, n), 1) : 1, ends[] = {-end, end};
  TRY(oat_panel_axis(out, OAT_X, &(oat_axis){.label = "quantile of the standard normal"}));
  TRY(oat_panel_axis(out, OAT_Y,
                     &(oat_axis){.label = f->model->likelihood == NULL ? "residual / its sd" : "quantile residual"}));
  TRY(n > 1 ? draw_band(n, out) : OATGP_OK);
  TRY(oat_panel_line(out, &(oat_style){.colour = OAT_INK, .dash = OAT_DASHED, .width = 1, .label = "as it should be"},
                     2, ends, ends));
  TRY(n > 0 ? draw_points(f->ctx, list, n, out) : OATGP_OK);
done:
  free(list);
  return status;
}

static void explain(const oat_facts *f, size_t panel, oat_string *out) {
  size_t beyond = 0;
  const double width = oat_normal_quantile(0.975);
  (void)panel;
  for (size_t i = 0; i < f->data->n; i++) {
    beyond += fabs(f->quantile[i]) > width;
  }
  oat_string_print(out,
                   "The sorted residuals against the quantiles of the standard normal distribution. On the dashed line "
                   "the predictive distributions are right. Steeper ends mean more extreme rows than predicted, a "
                   "shift means a bias. %s %% of the rows are beyond %s; it should be 5 %%.",
                   oat_number(100 * (double)beyond / (double)f->data->n, 2).text, oat_number(width, 3).text);
}

const oat_chart oat_chart_quantiles = {
    .name = "quantiles",
    .help = "sorted residuals against the quantiles of the standard normal distribution, with a band",
    .needs_data = true,
    .panels = oat_one_panel,
    .title = "Quantiles of the residuals",
    .draw = draw,
    .explain = explain,
};
