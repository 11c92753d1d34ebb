/* Where periods start that are not given. The likelihood has many peaks in a period, each about as wide as what one cycle more over the
 * range of the input makes of it, so that an optimiser finds the right one only from nearby. Here the strongest wave of the target along the
 * input is found by least squares over a grid of cycles, a cubic trend taken off. For periodic its first harmonic counts, too: a season need
 * not be a sine. Several leaves on one input take the waves one after the other. O(rows x cycles), of 2000 rows at most. */
#include <math.h>
#include <string.h>

#include "fit/setup.h"

enum { MOST_ROWS = 2000, FEWEST_ROWS = 8, MOST_CYCLES = 1000, FEWEST_CYCLES = 2, STEPS = 4, FINER = 16, TREND = 4 };

#define SLIGHTLY 1.0001 /* of two waves that explain as much, as on a regular grid, the slower one */

/* The rows along one input. */
typedef struct series {
  size_t n, count;             /* rows; places on the grid, STEPS for each cycle from FEWEST_CYCLES on */
  double range;                /* of the input, scaled */
  double *t, *r;               /* n: the input from 0 to 1, and what is left of the target */
  double *cosine, *sine, *one; /* n: a wave, and the step to the next */
  double *other;               /* n */
  double *power;               /* count: the sum of squares that the wave explains */
} series;

/* A wave's two coefficients by least squares; returns the sum of squares that it explains. */
static double project(const series *s, double *a, double *b) {
  double cc = 0, cs = 0, ss = 0, rc = 0, rs = 0;
  for (size_t i = 0; i < s->n; i++) {
    cc += s->cosine[i] * s->cosine[i];
    cs += s->cosine[i] * s->sine[i];
    ss += s->sine[i] * s->sine[i];
    rc += s->r[i] * s->cosine[i];
    rs += s->r[i] * s->sine[i];
  }
  const double determinant = cc * ss - cs * cs, size = (double)s->n;
  const bool good = determinant > 1e-3 * size * size;
  *a = good ? (ss * rc - cs * rs) / determinant : 0;
  *b = good ? (cc * rs - cs * rc) / determinant : 0;
  return *a * rc + *b * rs;
}

static void set_wave(series *s, double cycles) {
  for (size_t i = 0; i < s->n; i++) {
    const double angle = 2 * acos(-1) * cycles * s->t[i];
    s->cosine[i] = cos(angle);
    s->sine[i] = sin(angle);
  }
}

static double power_at(series *s, double cycles) {
  double a, b;
  set_wave(s, cycles);
  return project(s, &a, &b);
}

/* On the grid each wave is the one before, turned by the same angle. */
static void scan(series *s) {
  double a, b;
  set_wave(s, 1.0 / STEPS);
  memcpy(s->one, s->cosine, s->n * sizeof *s->one);
  memcpy(s->other, s->sine, s->n * sizeof *s->other);
  set_wave(s, FEWEST_CYCLES);
  for (size_t k = 0; k < s->count; k++) {
    s->power[k] = project(s, &a, &b);
    for (size_t i = 0; i < s->n; i++) {
      const double c = s->cosine[i];
      s->cosine[i] = c * s->one[i] - s->sine[i] * s->other[i];
      s->sine[i] = s->sine[i] * s->one[i] + c * s->other[i];
    }
  }
}

/* The place on the grid of twice the cycles. */
static size_t harmonic(size_t k) { return FEWEST_CYCLES * STEPS + 2 * k; }

static double strength(const series *s, size_t k, bool season) {
  return s->power[k] + (season && harmonic(k) < s->count ? s->power[harmonic(k)] : 0);
}

static double strongest(series *s, bool season) {
  size_t best = 0;
  scan(s);
  for (size_t k = 1; k < s->count; k++) {
    best = strength(s, k, season) > SLIGHTLY * strength(s, best, season) ? k : best;
  }
  const double near = FEWEST_CYCLES + (double)best / STEPS;
  double cycles = near, most = -1;
  for (int i = -FINER; i <= FINER; i++) {
    const double at = near + (double)i / (FINER * STEPS), power = power_at(s, at) + (season ? power_at(s, 2 * at) : 0);
    cycles = power > most ? at : cycles;
    most = fmax(most, power);
  }
  return cycles;
}

static void take_off(series *s, double cycles) {
  double a, b;
  set_wave(s, cycles);
  project(s, &a, &b);
  for (size_t i = 0; i < s->n; i++) {
    s->r[i] -= a * s->cosine[i] + b * s->sine[i];
  }
}

/* Polynomials are made orthogonal one after the other. */
static void take_off_trend(series *s, double *basis) {
  for (size_t p = 0; p < TREND; p++) {
    double *q = basis + p * s->n, size = 0, share = 0;
    for (size_t i = 0; i < s->n; i++) {
      q[i] = pow(2 * s->t[i] - 1, (double)p);
    }
    for (size_t other = 0; other < p; other++) {
      const double *o = basis + other * s->n;
      double inner = 0;
      for (size_t i = 0; i < s->n; i++) {
        inner += o[i] * q[i];
      }
      for (size_t i = 0; i < s->n; i++) {
        q[i] -= inner * o[i];
      }
    }
    for (size_t i = 0; i < s->n; i++) {
      size += q[i] * q[i];
    }
    for (size_t i = 0; i < s->n; i++) {
      q[i] = size > 1e-12 * (double)s->n ? q[i] / sqrt(size) : 0;
      share += q[i] * s->r[i];
    }
    for (size_t i = 0; i < s->n; i++) {
      s->r[i] -= share * q[i];
    }
  }
}

static void fill(const oat_setup *setup, size_t input, series *s) {
  const oatgp_data *data = setup->data;
  const oat_column x = oat_data_input(data, setup->scaling.column[input]);
  const oat_scaling *scaling = &setup->scaling;
  oat_rng rng;
  oat_rng_seed(&rng, (uint64_t)setup->settings->seed);
  for (size_t i = 0; i < s->n; i++) {
    const size_t row = s->n == data->n ? i : oat_rng_below(&rng, data->n); /* at random: every third month would look like another season */
    s->t[i] = ((x.a[row * x.step] - scaling->centre[input]) / scaling->scale[input] - scaling->lowest[input]) / s->range;
    s->r[i] = data->y[row] / setup->y_scale - setup->mean / setup->y_scale;
  }
}

/* All periods of one input that have no start yet, NaN. */
static oatgp_status start_along(oatgp_context *ctx, oat_setup *setup, size_t input) {
  const oat_expression *e = setup->kernel->expression;
  const size_t n = setup->data->n < MOST_ROWS ? setup->data->n : MOST_ROWS, cycles = n / 2 < MOST_CYCLES ? n / 2 : MOST_CYCLES;
  const size_t count = cycles > FEWEST_CYCLES ? (cycles - FEWEST_CYCLES) * STEPS + 1 : 1;
  oat_scratch memory = {.ctx = ctx};
  double *all = oat_take_doubles(&memory, n, 6 + TREND), *power = oat_take_doubles(&memory, count, 1);
  if (all == NULL || power == NULL) {
    oat_scratch_free(&memory);
    return memory.status;
  }
  series s = {
      n,           count, setup->scaling.highest[input] - setup->scaling.lowest[input], all, all + n, all + 2 * n, all + 3 * n, all + 4 * n,
      all + 5 * n, power};
  fill(setup, input, &s);
  take_off_trend(&s, all + 6 * n);
  for (size_t i = 0; i < e->leaves; i++) {
    const oat_leaf *leaf = &e->leaf[i];
    double *period = &setup->start.theta[OAT_LENGTHSCALE + leaf->parameter];
    const bool season = leaf->kind == OAT_LEAF_periodic;
    if ((season || leaf->kind == OAT_LEAF_cosine) && leaf->input[0] == input && isnan(*period)) {
      const double found = strongest(&s, season);
      *period = s.range / found;
      take_off(&s, found);
      take_off(&s, season ? 2 * found : found);
    }
  }
  oat_scratch_free(&memory);
  return OATGP_OK;
}

void oat_start_forget_periods(oat_setup *setup) {
  const oat_expression *e = setup->kernel->expression;
  for (size_t i = 0; setup->data->n >= FEWEST_ROWS && i < e->parameters; i++) {
    if (e->parameter[i].quantity == OAT_IS_PERIOD) {
      setup->start.theta[OAT_LENGTHSCALE + i] = NAN;
    }
  }
}

oatgp_status oat_start_find_periods(oatgp_context *ctx, oat_setup *setup) {
  const oat_expression *e = setup->kernel->expression;
  for (size_t i = 0; i < e->parameters; i++) {
    if (isnan(setup->start.theta[OAT_LENGTHSCALE + i])) {
      PASS_ON(start_along(ctx, setup, e->parameter[i].is.input));
    }
  }
  return OATGP_OK;
}
