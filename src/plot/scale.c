/* Scales and ticks. A tick is a whole number of steps, and a step is 1, 2 or 5 times a power of ten, so labels are
 * written with whole numbers: exactly, and the same in every locale. */
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUS "\xe2\x88\x92"
#define TIMES_TEN \
  "\xc3\x97"      \
  "10"

static const double largest = 1e300, smallest_span = 1e-290;

/* ---- values to places ------------------------------------------------------------------------------------------ */

double oat_scale_transform(oat_scale_kind kind, double value) {
  if (!(fabs(value) <= largest) || (kind == OAT_LOG10 && value <= 0)) {
    return NAN;
  }
  return kind == OAT_LOG10 ? log10(value) : value;
}

static double place_transformed(const oat_scale *scale, double value) {
  return scale->from + (value - scale->low) / (scale->high - scale->low) * (scale->to - scale->from);
}

double oat_scale_place(const oat_scale *scale, double value) {
  return place_transformed(scale, oat_scale_transform(scale->kind, value));
}

void oat_range_take(oat_range *range, oat_scale_kind kind, size_t n, const double *values) {
  for (size_t i = 0; i < n; i++) {
    const double value = oat_scale_transform(kind, values[i]);
    if (!isnan(value)) {
      range->low = fmin(range->low, value);
      range->high = fmax(range->high, value);
    }
  }
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

/* If all values are the same, or almost, the axis still needs ticks that differ within ten digits. */
static oat_range widened(oat_scale_kind kind, oat_range range) {
  if (range.low > range.high) {
    return (oat_range){0, 1, false};
  }
  const double size = fmax(fabs(range.low), fabs(range.high));
  const double least =
      range.low == range.high ? (kind == OAT_LINEAR && size > 0 ? 0.2 * size : 1) : fmax(1e-9 * size, smallest_span);
  if (range.high - range.low < least) {
    const double middle = range.low + (range.high - range.low) / 2;
    range.low = middle - least / 2;
    range.high = middle + least / 2;
  }
  return range;
}

oat_range oat_axis_limits(const oat_axis *axis, oat_direction direction, oat_range data) {
  if (axis->kind == OAT_NAMES) {
    const double end = (double)axis->n_names + 0.5;
    return direction == OAT_X ? (oat_range){0.5, end, false} : (oat_range){end, 0.5, false};
  }
  const bool set = axis->low != axis->high; /* true where one is NaN */
  const double low = set ? oat_scale_transform(axis->kind, axis->low) : NAN;
  const double high = set ? oat_scale_transform(axis->kind, axis->high) : NAN;
  /* A limit that is set must hold, even if data lie beyond it. */
  if (!isnan(low)) {
    data.low = low;
    data.high = fmax(data.high, low);
  }
  if (!isnan(high)) {
    data.high = high;
    data.low = fmin(data.low, high);
  }
  oat_range wide = widened(axis->kind, data);
  const double room = 0.04 * (wide.high - wide.low);
  wide.low -= data.base && data.low == 0 ? 0 : room;
  wide.high += data.base && data.high == 0 ? 0 : room;
  if (!isnan(low)) {
    wide.low = low;
  }
  if (!isnan(high)) {
    wide.high = high;
  }
  return wide;
}

/* ---- labels ---------------------------------------------------------------------------------------------------- */

/* whole * 10^exponent, with one rounding where the power is exact. */
static double decimal(double whole, int exponent) {
  return exponent < 0 ? whole / pow(10, -exponent) : whole * pow(10, exponent);
}

/* whole / 10^decimals in digits, then so many zeros. */
static void write_digits(oat_tick *tick, long long whole, int decimals, int zeros) {
  const char *const sign = whole < 0 ? MINUS : "";
  long long unit = 1;
  for (int i = 0; i < decimals; i++) {
    unit *= 10;
  }
  const int written = snprintf(tick->digits, sizeof tick->digits, "%s%lld", sign, llabs(whole) / unit);
  size_t end = (size_t)written;
  if (decimals > 0) {
    tick->digits[end++] = '.';
  }
  while (unit > 1 && end + 1 < sizeof tick->digits) {
    unit /= 10;
    tick->digits[end++] = (char)('0' + llabs(whole) / unit % 10);
  }
  for (int i = 0; whole != 0 && i < zeros && end + 1 < sizeof tick->digits; i++) {
    tick->digits[end++] = '0';
  }
  tick->digits[end] = '\0';
}

static void write_power(oat_tick *tick, int exponent) {
  snprintf(tick->power, sizeof tick->power, "%s%d", exponent < 0 ? MINUS : "", abs(exponent) % 1000);
}

/* The label of whole * 10^exponent on an axis whose largest tick has its first digit at 10^top: plain, or as m x 10^top
 * where that is shorter. */
static void write_label(oat_tick *tick, long long whole, int exponent, int top) {
  const int decimals = exponent < 0 ? -exponent : 0;
  const int plain = (top > 0 ? top : 0) + 1 + (decimals > 0 ? decimals + 1 : 0);
  const int scientific = top - exponent + 5;
  if (plain <= 6 || plain <= scientific) {
    write_digits(tick, whole, decimals, exponent > 0 ? exponent : 0);
  } else if (whole == 0) {
    snprintf(tick->digits, sizeof tick->digits, "0");
  } else {
    write_digits(tick, whole, top - exponent, 0);
    strncat(tick->digits, TIMES_TEN, sizeof tick->digits - strlen(tick->digits) - 1);
    write_power(tick, top);
  }
}

double oat_tick_width(const oat_tick *tick) {
  if (tick->name != NULL) {
    const double width = oat_svg_width(tick->name, OAT_TICK_FONT);
    return tick->room > 0 ? fmin(width, tick->room) : width;
  }
  return oat_svg_width(tick->digits, OAT_TICK_FONT) + 0.7 * oat_svg_width(tick->power, OAT_TICK_FONT);
}

static bool has_label(const oat_tick *tick) { return tick->name != NULL || tick->digits[0] != '\0'; }

/* Room that a label takes along the axis, with the gap to the next. */
static double label_room(const oat_ticks *ticks, const oat_tick *tick, bool side_by_side) {
  return ticks->tilted ? 1.6 * OAT_TICK_SIZE : side_by_side ? oat_tick_width(tick) + 5 : 1.2 * OAT_TICK_SIZE;
}

/* The first label that touches the one before it, or the number of ticks. */
static size_t first_touching(const oat_ticks *ticks, bool side_by_side) {
  const oat_tick *last = NULL;
  for (size_t i = 0; i < ticks->n; i++) {
    const oat_tick *const tick = &ticks->tick[i];
    if (!has_label(tick)) {
      continue;
    }
    if (last != NULL && fabs(tick->at - last->at) <
                            (label_room(ticks, tick, side_by_side) + label_room(ticks, last, side_by_side)) / 2) {
      return i;
    }
    last = tick;
  }
  return ticks->n;
}

static bool labels_touch(const oat_ticks *ticks, bool side_by_side) {
  return first_touching(ticks, side_by_side) < ticks->n;
}

/* The last resort: labels that touch the one before them are left out. */
static void thin_out(oat_ticks *ticks, bool side_by_side) {
  for (size_t i; (i = first_touching(ticks, side_by_side)) < ticks->n;) {
    ticks->tick[i].name = NULL;
    ticks->tick[i].digits[0] = ticks->tick[i].power[0] = '\0';
  }
}

/* ---- ticks of numbers ------------------------------------------------------------------------------------------ */

/* A request for ticks. */
typedef struct request {
  const oat_scale *scale;
  double low, high; /* limits, not transformed */
  size_t most;      /* ticks with labels */
  bool side_by_side, whole;
} request;

typedef struct step {
  int mantissa, exponent;
} step;

static step next_step(step s) {
  return s.mantissa == 1 ? (step){2, s.exponent} : s.mantissa == 2 ? (step){5, s.exponent} : (step){1, s.exponent + 1};
}

static oat_tick *add_tick(oat_ticks *ticks, double at) {
  oat_tick *const tick = &ticks->tick[ticks->n++];
  *tick = (oat_tick){.at = at};
  return tick;
}

static void ticks_by_step(const request *r, step s, oat_ticks *ticks) {
  const double size = decimal(s.mantissa, s.exponent);
  const double first = ceil(r->low / size - 1e-9), last = floor(r->high / size + 1e-9);
  const double far = fmax(fabs(first), fabs(last)) * s.mantissa;
  const int top = far > 0 ? (int)floor(log10(far) + 1e-12) + s.exponent : s.exponent;
  ticks->n = 0;
  for (double i = first; i <= last && ticks->n < OAT_MAX_TICKS; i++) {
    const double whole = i * s.mantissa,
                 at = decimal(
                     whole,
                     s.exponent); /* data at the limit of 1e300 have room beside them, with ticks beyond that limit */
    const double place = place_transformed(r->scale, r->scale->kind == OAT_LOG10 ? log10(at) : at);
    write_label(add_tick(ticks, place), (long long)whole, s.exponent, top);
  }
}

/* How many ticks a step gives. */
static double count_ticks(const request *r, step s) {
  const double size = decimal(s.mantissa, s.exponent);
  return floor(r->high / size + 1e-9) - ceil(r->low / size - 1e-9) + 1;
}

/* The smallest step that gives no more ticks than asked for and labels that do not touch, but two ticks at least where
 * a larger step leaves fewer. */
static void linear_ticks(const request *r, oat_ticks *ticks) {
  step s = {1, (int)floor(log10((r->high - r->low) / (double)r->most)) - 1};
  while (count_ticks(r, s) > (double)r->most || (r->whole && s.exponent < 0)) {
    s = next_step(s);
  }
  ticks_by_step(r, s, ticks);
  while (labels_touch(ticks, r->side_by_side) && count_ticks(r, next_step(s)) >= 2) {
    s = next_step(s);
    ticks_by_step(r, s, ticks);
  }
}

/* ---- ticks of a logarithmic axis ------------------------------------------------------------------------------- */

/* Exponents whose powers of ten are written out. */
static bool is_plain(int low, int high) { return low >= -3 && high <= 4; }

/* 1, 2 and 5 times each power of ten, or each `stride`-th power alone (stride > 0). */
static void decade_ticks(const request *r, int stride, oat_ticks *ticks) {
  const int low = (int)floor(r->scale->low + 1e-9), high = (int)floor(r->scale->high + 1e-9);
  ticks->n = 0;
  for (int e = low; e <= high && ticks->n < OAT_MAX_TICKS - 3; e++) {
    for (int mantissa = 1; mantissa <= (stride > 0 ? 1 : 5); mantissa += mantissa == 1 ? 1 : 3) {
      const double at = e + log10(mantissa);
      if ((stride > 0 && e % stride != 0) || at < r->scale->low - 1e-9 || at > r->scale->high + 1e-9) {
        continue;
      }
      oat_tick *const tick = add_tick(ticks, place_transformed(r->scale, at));
      if (is_plain(low, high)) {
        write_digits(tick, mantissa, e < 0 ? -e : 0, e > 0 ? e : 0);
      } else {
        snprintf(tick->digits, sizeof tick->digits, mantissa == 1 ? "10" : "%d" TIMES_TEN, mantissa);
        write_power(tick, e);
      }
    }
  }
}

/* Short strokes at 2 to 9 times each power of ten that has a tick. */
static void add_minor_ticks(const request *r, oat_ticks *ticks) {
  for (int e = (int)floor(r->scale->low); e <= (int)floor(r->scale->high); e++) {
    for (int mantissa = 2; mantissa <= 9 && ticks->n < OAT_MAX_TICKS; mantissa++) {
      const double at = e + log10(mantissa);
      if (at > r->scale->low && at < r->scale->high) {
        add_tick(ticks, place_transformed(r->scale, at))->minor = true;
      }
    }
  }
}

static bool fits(const request *r, const oat_ticks *ticks) {
  return ticks->n <= r->most + 2 && !labels_touch(ticks, r->side_by_side);
}

static void log_ticks(const request *r, oat_ticks *ticks) {
  const double span = r->scale->high - r->scale->low;
  const bool few = floor(r->scale->high + 1e-9) - ceil(r->scale->low - 1e-9) < 1;
  const bool plain = is_plain((int)floor(r->scale->low + 1e-9), (int)floor(r->scale->high + 1e-9));
  decade_ticks(r, 0, ticks);
  if ((few || plain) && ticks->n >= 3 && fits(r, ticks)) {
    return;
  }
  if (few) {
    linear_ticks(r, ticks);
    return;
  }
  static const int strides[] = {1, 2, 3, 5, 10, 20, 50, 100, 200};
  size_t i = 0;
  decade_ticks(r, strides[0], ticks);
  while (ticks->n > 2 && !fits(r, ticks) && i + 1 < sizeof strides / sizeof *strides) {
    decade_ticks(r, strides[++i], ticks);
  }
  if (i == 0 && span <= 8 && fabs(r->scale->to - r->scale->from) / span >= 28) {
    add_minor_ticks(r, ticks);
  }
}

/* ---- names, and the choice ------------------------------------------------------------------------------------- */

static void name_ticks(const oat_axis *axis, const request *r, oat_ticks *ticks) {
  for (size_t i = 0; i < axis->n_names; i++) {
    oat_tick *const tick = add_tick(ticks, oat_scale_place(r->scale, (double)i + 1));
    tick->name = axis->names[i];
    tick->room = r->scale->name_room;
  }
  ticks->tilted = r->side_by_side && labels_touch(ticks, true);
}

void oat_axis_ticks(const oat_axis *axis, const oat_scale *scale, oat_direction direction, oat_ticks *ticks) {
  const double length = fabs(scale->to - scale->from), most = length / (direction == OAT_X ? 28 : 15);
  const bool is_log = scale->kind == OAT_LOG10;
  const request r = {.scale = scale,
                     .low = is_log ? pow(10, scale->low) : scale->low,
                     .high = is_log ? pow(10, scale->high) : scale->high,
                     .most = most < 2   ? 2
                             : most > 8 ? 8
                                        : (size_t)most,
                     .side_by_side = direction == OAT_X,
                     .whole = axis->whole};
  ticks->n = 0;
  ticks->tilted = false;
  if (scale->kind == OAT_NAMES) {
    name_ticks(axis, &r, ticks);
  } else if (is_log) {
    log_ticks(&r, ticks);
  } else {
    linear_ticks(&r, ticks);
  }
  thin_out(ticks, r.side_by_side);
}
