/* Seasons. The evidence of a GP has many maxima over a period, and an optimiser finds the nearest. So a period starts
 * at a peak of the Lomb-Scargle periodogram of the rows, or of some of them: the share of the variance that the best
 * wave of a frequency explains, after a parabola over the input is subtracted. Frequencies range from two periods over
 * the whole range to half as many periods as there are distinct places. */
#include "fit/season.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/vector.h"

enum { MOST_ROWS = 2000, FINE = 6, FEW_PLACES = 8, TREND = 3 }; /* FINE: frequencies for each turn over the range */

/* The rows as a series over one input. */
typedef struct series {
  size_t n;
  double *t, *r;          /* from 0 to 1; less the trend */
  double *square, *mixed; /* of the waves */
  double *power;          /* of each frequency */
  size_t frequencies;
} series;

static double frequency_of(size_t at) { return 2 + (double)at / FINE; }

/* ---- the trend ------------------------------------------------------------------------------------------------- */

/* Legendre polynomials, which are nearly orthogonal here. */
static double trend_at(double t, size_t degree) {
  const double u = 2 * t - 1;
  return degree == 0 ? 1 : degree == 1 ? u : 1.5 * u * u - 0.5;
}

/* A few sweeps of one coefficient at a time. */
static void take_trend_off(series *s) {
  for (int sweep = 0; sweep < 20; sweep++) {
    for (size_t degree = 0; degree < TREND; degree++) {
      double product = 0, square = 0;
      for (size_t i = 0; i < s->n; i++) {
        const double p = trend_at(s->t[i], degree);
        product += p * s->r[i];
        square += p * p;
      }
      for (size_t i = 0; i < s->n; i++) {
        s->r[i] -= product / square * trend_at(s->t[i], degree);
      }
    }
  }
}

/* ---- waves ----------------------------------------------------------------------------------------------------- */

/* By least squares of r on cos and sin of 2 pi f t. With square = sin^2(pi f t) and mixed = sin(pi f t) cos(pi f t),
 * the cosine is 1 - 2 square and the sine is 2 mixed. */
static double power_at(series *s, double f) {
  double rc = 0, rs = 0, cc = 0, cs = 0, ss = 0;
  oat_waves(s->n, f, s->t, 0, s->square, s->mixed);
  for (size_t i = 0; i < s->n; i++) {
    const double c = 1 - 2 * s->square[i], e = 2 * s->mixed[i];
    rc += s->r[i] * c;
    rs += s->r[i] * e;
    cc += c * c;
    cs += c * e;
    ss += e * e;
  }
  const double determinant = cc * ss - cs * cs;
  return determinant > 1e-6 * cc * ss ? (rc * rc * ss - 2 * rc * rs * cs + rs * rs * cc) / determinant : 0;
}

/* The place of twice the frequency. */
static size_t harmonic(size_t at) { return 2 * FINE + 2 * at; }

/* A season need not be a sine: the wave of twice its frequency counts, too. */
static double strength(const series *s, size_t at, bool season) {
  return s->power[at] + (season && harmonic(at) < s->frequencies ? s->power[harmonic(at)] : 0);
}

static void take_out(series *s, size_t at) {
  for (size_t i = at > FINE ? at - FINE : 0; i < s->frequencies && i <= at + FINE; i++) {
    s->power[i] = 0;
  }
}

/* The highest peak, which is then removed with its surroundings; -1 if there is none left. */
static double take_peak(series *s, bool season) {
  size_t best = s->frequencies;
  double most = 0;
  for (size_t i = 0; i < s->frequencies; i++) {
    best = strength(s, i, season) > most ? i : best;
    most = fmax(most, strength(s, i, season));
  }
  if (best == s->frequencies) {
    return -1;
  }
  take_out(s, best);
  if (season) {
    take_out(s, harmonic(best));
  }
  return frequency_of(best);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* How many different places there are. */
static size_t places_of(const series *s) {
  size_t places = s->n > 0;
  memcpy(s->square, s->t, s->n * sizeof *s->t);
  qsort(s->square, s->n, sizeof *s->square, compare);
  for (size_t i = 1; i < s->n; i++) {
    places += s->square[i] > s->square[i - 1];
  }
  return places;
}

/* The powers of one input; returns its range. */
static double look(series *s, const double *x, const double *r) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (size_t i = 0; i < s->n; i++) {
    low = fmin(low, x[i]);
    high = fmax(high, x[i]);
  }
  for (size_t i = 0; i < s->n; i++) {
    s->t[i] = high > low ? (x[i] - low) / (high - low) : 0;
    s->r[i] = r[i];
  }
  const size_t places = places_of(s);
  s->frequencies = places < FEW_PLACES || !isfinite(high - low) ? 0 : (places / 2 - 2) * FINE;
  take_trend_off(s);
  for (size_t i = 0; i < s->frequencies; i++) {
    s->power[i] = power_at(s, frequency_of(i));
  }
  return high - low;
}

/* Whether the parameter is of periodic, and not of cosine. */
static bool is_season(const oat_expression *e, size_t parameter) {
  bool season = false;
  for (size_t i = 0; i < e->leaves; i++) {
    season = season || (e->leaf[i].kind == OAT_LEAF_periodic && e->leaf[i].parameter == parameter);
  }
  return season;
}

static void start_periods(oat_setup *setup, series *s, size_t input, const double *x, const double *r) {
  double range = 0;
  bool looked = false;
  for (size_t i = OAT_LENGTHSCALE; i < oat_theta_count(setup->kernel, setup->scaling.d); i++) {
    if (!oat_parameter_is_period(setup->kernel, i) || oat_parameter_at(setup->kernel, i).input != input) {
      continue;
    }
    range = looked ? range : look(s, x, r);
    looked = true;
    const double peak = take_peak(s, is_season(setup->kernel->expression, i - OAT_LENGTHSCALE));
    setup->start.theta[i] = peak > 0 ? range / peak : setup->start.theta[i];
  }
}

static bool has_period(const oat_kernel *kernel) {
  bool any = false;
  for (size_t i = 0; kernel->expression != NULL && i < kernel->expression->parameters; i++) {
    any = any || oat_parameter_is_period(kernel, OAT_LENGTHSCALE + i);
  }
  return any;
}

oatgp_status oat_season_start(oatgp_context *ctx, oat_setup *setup) {
  const size_t d = setup->scaling.d, rows = oat_rows_total(setup->rows), n = rows < MOST_ROWS ? rows : MOST_ROWS;
  oat_scratch memory = {.ctx = ctx};
  oat_rows *some = NULL;
  oatgp_status status = OATGP_OK;
  if (!has_period(setup->kernel)) {
    return OATGP_OK;
  }
  TRY(oat_rows_sample(ctx, setup->rows, n, &setup->rng, &some));
  series s = {.n = n,
              .t = oat_take_doubles(&memory, n, 1),
              .r = oat_take_doubles(&memory, n, 1),
              .square = oat_take_doubles(&memory, n, 1),
              .mixed = oat_take_doubles(&memory, n, 1),
              .power = oat_take_doubles(&memory, n + 1, FINE)};
  const oat_kept_rows all = {n, oat_take_doubles(&memory, n, d), oat_take_doubles(&memory, n, 1),
                             oat_take_doubles(&memory, n, 1), oat_take_doubles(&memory, n, 1)};
  TRY(memory.status);
  oat_rows_keep(some, &all);
  for (size_t j = 0; j < d; j++) {
    start_periods(setup, &s, j, all.x + j * n, all.r);
  }
done:
  oat_rows_free(some);
  oat_scratch_free(&memory);
  return status;
}
