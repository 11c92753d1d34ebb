/* L-BFGS with bounds and a line search for the strong Wolfe conditions (Nocedal and Wright 2006, chapters 3 and 7).
 *
 * Coordinates that are held at a bound are left out of the direction; a step that leaves the box is cut off coordinate
 * by coordinate. A rejected evaluation is the far end of the bracket. Directions are ascent directions. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "optim/optim.h"

/* Sufficient increase and curvature; the longest first step and the longest step, in the largest coordinate. */
#define INCREASE 1e-4
#define CURVATURE 0.9
#define FIRST_STEP 0.5
#define LONGEST_STEP 2.0
#define LEAST_CURVATURE 1e-12 /* s.y of a pair, relative to y.y */

/* The state is a ring of the latest pairs: how many there are, the slot of the newest, then for each slot s.y, s and y
 * (n each). */
typedef struct memory {
  double *pairs, *newest, *products, *s, *y;
} memory;

static memory memory_of(const oat_optim *optim) {
  const size_t n = optim->problem->n, history = optim->settings->history;
  double *own = optim->own, *products = own + 2, *s = products + history;
  return (memory){own, own + 1, products, s, s + history * n};
}

static size_t state_size(size_t n, const oat_optim_settings *settings) { return 2 + settings->history * (2 * n + 1); }

static size_t scratch_size(size_t n, const oat_optim_settings *settings) {
  return 5 * n + 2 * settings->history; /* direction, trial x and gradient, kept x and gradient; the recursion's factors
                                           and products */
}

/* Where the pair is that came `age` pairs before the newest. */
static size_t slot(const oat_optim *optim, size_t age) {
  const size_t history = optim->settings->history;
  return ((size_t)*memory_of(optim).newest + history - age) % history;
}

/* y += a x */
static void add(size_t n, double a, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += a * x[i];
  }
}

/* A direction in the coordinates that no bound holds. Returns whether any is held. */
static bool keep_free(const oat_optim *optim, double *direction) {
  bool any = false;
  for (size_t i = 0; i < optim->problem->n; i++) {
    const bool held = oat_optim_held(optim, i);
    direction[i] = held ? 0 : direction[i];
    any = any || held;
  }
  return any;
}

/* a . b in these coordinates. */
static double free_dot(const oat_optim *optim, const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < optim->problem->n; i++) {
    sum += oat_optim_held(optim, i) ? 0 : a[i] * b[i];
  }
  return sum;
}

/* s.y of a pair over the free coordinates; 0 if F would bend upwards or there is no such pair. */
static double free_product(const oat_optim *optim, size_t p, bool any_held) {
  const memory m = memory_of(optim);
  const double *s = m.s + p * optim->problem->n, *y = m.y + p * optim->problem->n;
  if (!any_held) {
    return m.products[p];
  }
  const double product = free_dot(optim, s, y);
  return product > LEAST_CURVATURE * free_dot(optim, y, y) ? product : 0;
}

/* The two-loop recursion: direction = H g, over the free coordinates only, because the held ones would distort the
 * direction. O(pairs n). */
static void multiply(const oat_optim *optim, bool any_held, double *direction, double *factor) {
  const memory m = memory_of(optim);
  const size_t n = optim->problem->n, pairs = (size_t)*m.pairs;
  double *product = factor + optim->settings->history, scale = 1;
  for (size_t age = pairs; age-- > 0;) {
    const size_t p = slot(optim, age);
    const double *y = m.y + p * n;
    product[age] = free_product(optim, p, any_held);
    scale = product[age] > 0 ? product[age] / (any_held ? free_dot(optim, y, y) : oat_dot(n, y, y)) : scale;
  }
  for (size_t age = 0; age < pairs; age++) {
    const size_t p = slot(optim, age);
    factor[age] = product[age] > 0 ? oat_dot(n, m.s + p * n, direction) / product[age] : 0;
    add(n, -factor[age], m.y + p * n, direction);
    keep_free(optim, direction);
  }
  for (size_t i = 0; i < n; i++) {
    direction[i] *= scale;
  }
  for (size_t age = pairs; age-- > 0;) {
    const size_t p = slot(optim, age);
    const double back = product[age] > 0 ? oat_dot(n, m.y + p * n, direction) / product[age] : 0;
    add(n, factor[age] - back, m.s + p * n, direction);
    keep_free(optim, direction);
  }
}

/* An ascent direction; drops the pairs if they give none. Returns its slope, 0 at a stationary point. */
static double choose_direction(oat_optim *optim, double *direction, double *factor) {
  const size_t n = optim->problem->n;
  memcpy(direction, optim->gradient, n * sizeof *direction);
  const bool any_held = keep_free(optim, direction);
  const double plain = oat_dot(n, direction, direction);
  multiply(optim, any_held, direction, factor);
  const double slope = oat_dot(n, direction, optim->gradient);
  if (slope > 1e-12 * sqrt(plain * oat_dot(n, direction, direction))) {
    return slope;
  }
  *memory_of(optim).pairs = 0;
  memcpy(direction, optim->gradient, n * sizeof *direction);
  keep_free(optim, direction);
  return plain;
}

static double largest_element(size_t n, const double *x) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    largest = fmax(largest, fabs(x[i]));
  }
  return largest;
}

/* A point on the line: its distance, value and slope there; slope is NaN for a rejected point. */
typedef struct trial {
  double t, value, slope;
} trial;

typedef struct search {
  oat_optim *optim;
  const double *direction;
  double *x, *gradient;           /* of the latest trial */
  double *kept_x, *kept_gradient; /* of `low` */
  trial start, low, high;         /* low: best point so far that rose enough; high: the other end of the bracket */
  bool bracketed;
} search;

/* Evaluates at distance t; coordinates that leave the box stay on its face and add nothing to the slope. */
static trial try_length(search *s, double t) {
  const oat_problem *problem = s->optim->problem;
  trial result = {t, -HUGE_VAL, NAN};
  for (size_t i = 0; i < problem->n; i++) {
    s->x[i] = oat_optim_clamp(problem, i, s->optim->x[i] + t * s->direction[i]);
  }
  if (!oat_optim_evaluate(s->optim, s->x, &result.value, s->gradient)) {
    result.value = -HUGE_VAL;
    return result;
  }
  result.slope = 0;
  for (size_t i = 0; i < problem->n; i++) {
    const bool inside = s->x[i] > problem->lower[i] && s->x[i] < problem->upper[i];
    result.slope += inside ? s->gradient[i] * s->direction[i] : 0;
  }
  return result;
}

/* Maximum of the cubic through both ends' values and slopes, kept well inside the bracket; its middle if an end was
 * rejected. */
static double interpolate(trial a, trial b) {
  const double width = b.t - a.t, middle = 0.5;
  double fraction = middle;
  if (isfinite(b.value) && isfinite(b.slope)) {
    const double d1 = a.slope + b.slope - 3 * (b.value - a.value) / width, under = d1 * d1 - a.slope * b.slope;
    if (under >= 0) {
      const double d2 = width > 0 ? sqrt(under) : -sqrt(under);
      fraction = 1 - (d1 + d2 - b.slope) / (a.slope - b.slope + 2 * d2);
    }
  }
  if (!isfinite(fraction)) {
    fraction = middle;
  }
  return a.t + width * fmin(fmax(fraction, 0.1), 0.9);
}

static void keep(search *s, trial t) {
  const size_t bytes = s->optim->problem->n * sizeof(double);
  s->low = t;
  memcpy(s->kept_x, s->x, bytes);
  memcpy(s->kept_gradient, s->gradient, bytes);
}

/* Puts a trial into the bracket; true when it satisfies both Wolfe conditions. */
static bool place(search *s, trial t) {
  const bool rose = t.value >= s->start.value + INCREASE * t.t * s->start.slope && t.value > s->low.value;
  if (!rose) {
    s->high = t;
    s->bracketed = true;
    return false;
  }
  if ((t.slope < 0) == (t.t > s->low.t)) { /* the maximum lies between low and here */
    s->high = s->low;
    s->bracketed = true;
  }
  keep(s, t);
  return fabs(t.slope) <= CURVATURE * s->start.slope;
}

/* Leaves the accepted point in low; false if no trial rose enough. Ends early if a step cannot raise F by more than its
 * rounding error, or if a step shorter than the first cannot raise it by more than least_gain. */
static bool search_line(search *s) {
  const oat_optim *optim = s->optim;
  const double largest = largest_element(optim->problem->n, s->direction), longest = LONGEST_STEP / largest;
  const double rounding = 1e-14 * fabs(s->start.value);
  double length = *memory_of(optim).pairs > 0 ? fmin(1, longest) : FIRST_STEP / largest;
  for (size_t i = 0; i < optim->settings->line_search; i++) {
    if (length * s->start.slope <= fmax(rounding, i > 0 ? optim->settings->least_gain : 0)) {
      break;
    }
    const trial t = try_length(s, length);
    if (!isfinite(t.value) && oat_optim_out_of_budget(optim)) {
      break;
    }
    if (place(s, t) || (!s->bracketed && length >= longest)) {
      break;
    }
    length = s->bracketed ? interpolate(s->low, s->high) : fmin(2.5 * length, longest);
  }
  return s->low.t > 0;
}

/* Stores s = x' - x and y = g - g' (the curvature of -F), in place of the oldest pair if all places are taken. The pair
 * is not stored if F bends upwards along it. */
static void remember(oat_optim *optim, const double *x, const double *gradient) {
  const memory m = memory_of(optim);
  const size_t n = optim->problem->n, history = optim->settings->history, next = ((size_t)*m.newest + 1) % history;
  double *s = m.s + next * n, *y = m.y + next * n, product = 0, square = 0;
  for (size_t i = 0; i < n; i++) {
    const double change = optim->gradient[i] - gradient[i];
    product += (x[i] - optim->x[i]) * change;
    square += change * change;
  }
  if (!(product > LEAST_CURVATURE * square)) {
    return;
  }
  for (size_t i = 0; i < n; i++) {
    s[i] = x[i] - optim->x[i];
    y[i] = optim->gradient[i] - gradient[i];
  }
  m.products[next] = product;
  *m.newest = (double)next;
  *m.pairs = fmin(*m.pairs + 1, (double)history);
}

static bool lbfgs_step(oat_optim *optim) {
  const size_t n = optim->problem->n;
  double *direction = optim->scratch, *x = direction + n, *factor = x + 4 * n;
  for (;;) {
    const double slope = choose_direction(optim, direction, factor);
    const trial start = {0, optim->counter[OAT_VALUE], slope};
    search s = {optim, direction, x, x + n, x + 2 * n, x + 3 * n, start, start, start, false};
    if (slope > 0 && search_line(&s)) {
      remember(optim, s.kept_x, s.kept_gradient);
      memcpy(optim->x, s.kept_x, n * sizeof *x);
      memcpy(optim->gradient, s.kept_gradient, n * sizeof *x);
      optim->counter[OAT_VALUE] = s.low.value;
      return true;
    }
    if (*memory_of(optim).pairs == 0 || oat_optim_out_of_budget(optim)) {
      return false;
    }
    *memory_of(optim).pairs = 0; /* once more along the gradient */
  }
}

/* The products of pairs that are not there yet are 0. */
static bool lbfgs_sound(const oat_optim *optim) {
  const memory m = memory_of(optim);
  const size_t n = optim->problem->n, history = optim->settings->history;
  const double most = (double)history;
  const bool whole = *m.pairs == floor(*m.pairs) && *m.newest == floor(*m.newest);
  if (!whole || !(*m.pairs >= 0 && *m.pairs <= most && *m.newest >= 0 && *m.newest < most)) {
    return false;
  }
  for (size_t age = 0; age < (size_t)*m.pairs; age++) {
    if (!(m.products[slot(optim, age)] > 0)) {
      return false;
    }
  }
  return oat_all_finite(history, m.products, 0) && oat_all_finite(2 * history * n, m.s, -DBL_MAX);
}

extern const oat_optim_method oat_optim_lbfgs;
const oat_optim_method oat_optim_lbfgs = {"lbfgs", true, state_size, scratch_size, lbfgs_step, lbfgs_sound};
