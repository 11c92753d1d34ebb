/* Quantiles of y by root finding on its distribution function: first a bracket, which then shrinks by at least a
 * constant factor in each step. */
#include <float.h>
#include <math.h>

#include "likelihood/rows.h"
#include "likelihood/special.h"

static double cdf_at(const oat_row_call *call, oat_answer answer, oat_belief f) {
  return call->response->likelihood->rows->cdf(call, answer, f);
}

/* ---- counts ---------------------------------------------------------------------------------------------------- */

/* The smallest whole y above `low`, where the cdf is below p, and up to `high`, where it is not. */
static double smallest_count(const oat_row_call *call, double trials, oat_belief f, double p, double low, double high) {
  while (high - low > 1) {
    const double middle = low + floor(0.5 * (high - low));
    if (!(middle > low && middle < high)) {
      break; /* beyond 2^53 not all whole numbers are doubles */
    }
    *(cdf_at(call, (oat_answer){middle, trials}, f) < p ? &low : &high) = middle;
  }
  return high;
}

double oat_quantile_count(const oat_row_call *call, double trials, oat_belief f, double p) {
  const bool bounded = call->response->likelihood->has_trials;
  const double most = bounded ? trials : 1e300;
  const double guess = floor(bounded ? trials * oat_logistic(f.m) : exp(fmin(f.m, 690)));
  double step = 1 + floor(0.5 * (sqrt(guess) + guess * fmin(sqrt(f.s), 1))), edge = guess;
  if (cdf_at(call, (oat_answer){guess, trials}, f) >= p) {
    for (double low; edge >= 0; edge = low, step *= 2) {
      low = fmax(edge - step, -1);
      if (low < 0 || cdf_at(call, (oat_answer){low, trials}, f) < p) {
        return smallest_count(call, trials, f, p, low, edge);
      }
    }
  }
  for (double high; edge < most; edge = high, step *= 2) {
    high = fmin(edge + step, most);
    if (high >= most || cdf_at(call, (oat_answer){high, trials}, f) >= p) {
      return smallest_count(call, trials, f, p, edge, high);
    }
  }
  return edge;
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* y as a function of x, which may be any number. */
static double number_at(const oat_row_call *call, double x) {
  const oat_likelihood_id id = call->response->likelihood->id;
  return id == OAT_GAMMA ? exp(x) : id == OAT_BETA ? oat_logistic(x) : x;
}

typedef struct search {
  const oat_row_call *call;
  oat_belief f;
  double p;
} search;

static double excess(const search *s, double x) {
  return cdf_at(s->call, (oat_answer){number_at(s->call, x), 1}, s->f) - s->p;
}

/* An x on the side of `direction` where the sign of the excess has changed; ends where y is at an end of its range. */
static double bracket(const search *s, double direction) {
  double step = fmax(1e-3, sqrt(s->f.s)), x = s->f.m;
  for (int k = 0; k < 1100; k++) {
    x = s->f.m + direction * step;
    if (excess(s, x) * direction >= 0) {
      break;
    }
    const double y = number_at(s->call, x);
    if (!(fabs(y) < DBL_MAX) || (s->call->response->likelihood->id != OAT_STUDENT_T && !(y > 0))) {
      break;
    }
    step *= 2;
  }
  return x;
}

/* Regula falsi in which the value of an end that stays is halved (Illinois); every third step halves the interval. */
static double root(const search *s, double low, double high) {
  double at_low = excess(s, low), at_high = excess(s, high), last = 0;
  if (!(at_low < 0)) {
    return low;
  }
  for (int k = 0; k < 300 && high - low > 1e-12 * fmax(1, fmax(fabs(low), fabs(high))); k++) {
    const double share = at_high > at_low ? at_low / (at_low - at_high) : 0.5;
    const double guess = low + share * (high - low),
                 x = k % 3 < 2 && guess > low && guess < high ? guess : 0.5 * (low + high);
    const double value = excess(s, x);
    if (!(x > low && x < high) || fabs(value) < 1e-15) {
      return x;
    }
    if (value < 0) {
      at_high *= last < 0 ? 0.5 : 1;
      low = x;
      at_low = value;
    } else {
      at_low *= last > 0 ? 0.5 : 1;
      high = x;
      at_high = value;
    }
    last = value < 0 ? -1 : 1;
  }
  return high;
}

double oat_quantile_number(const oat_row_call *call, oat_belief f, double p) {
  const search s = {call, f, p};
  const bool up = excess(&s, f.m) < 0;
  const double other = bracket(&s, up ? 1 : -1);
  return number_at(call, up ? root(&s, f.m, other) : root(&s, other, f.m));
}
