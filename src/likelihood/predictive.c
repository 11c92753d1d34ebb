/* The predictive log density of a log-concave likelihood: log of the integral of exp(g(f)) N(f; m, s), where g(f) is
 * log p(y | f).
 *
 * The integrand is log-concave, too. Its mode is found first. The sum starts there, its steps follow from the curvature
 * there, and it is relative to the value there, so that it neither misses the mass nor overflows. */
#include <math.h>

#include "likelihood/quadrature.h"
#include "likelihood/special.h"

typedef struct product {
  const oat_row_call *call;
  oat_answer answer;
  oat_belief f;
} product;

/* All positions are distances x = f - m, which keep their digits if s is small. */
static oat_curve curve_of(const product *p, double x) {
  return p->call->response->likelihood->rows->curve(p->call, p->answer, p->f.m + x);
}

static double log_product(const void *with, double x) {
  const product *p = with;
  return curve_of(p, x).value - 0.5 * x / p->f.s * x;
}

static double slope_of(const product *p, double x) { return curve_of(p, x).first - x / p->f.s; }

/* Goes from m in one direction, in growing steps, to the first point beyond the mode, where the slope has the opposite
 * sign. */
static double beyond(const product *p, double direction) {
  double step = fmin(1, sqrt(p->f.s));
  while (slope_of(p, direction * step) * direction > 0 && step < 1e300) {
    step *= 2;
  }
  return direction * step;
}

/* Newton's method, with bisection if a step leaves the interval or three steps have not halved it. The mode need not be
 * exact. */
static double mode_of(const product *p) {
  const double far = beyond(p, slope_of(p, 0) > 0 ? 1 : -1);
  double low = fmin(0, far), high = fmax(0, far), x = 0, before = high - low;
  for (int k = 0; k < 200; k++) {
    const oat_curve c = curve_of(p, x);
    const double slope = c.first - x / p->f.s, curvature = 1 / p->f.s - c.second, next = x + slope / curvature;
    if (fabs(slope) <= 1e-3 * sqrt(curvature)) {
      break;
    }
    *(slope > 0 ? &low : &high) = x;
    const bool third = k % 3 == 2, slow = third && high - low > 0.5 * before;
    before = third ? high - low : before;
    x = slow || !(next > low && next < high) ? 0.5 * (low + high) : next;
  }
  return x;
}

double oat_predictive_by_curve(const oat_row_call *call, oat_answer answer, oat_belief f) {
  const product p = {call, answer, f};
  if (!(f.s > 0)) {
    return curve_of(&p, 0).value;
  }
  const double mode = mode_of(&p), curvature = 1 / f.s - curve_of(&p, mode).second;
  const oat_integrand integrand = {log_product, &p, mode, mode, mode, 0.7 / sqrt(curvature)};
  return oat_log_integral(&integrand) - OAT_LOG_ROOT_2PI - 0.5 * log(f.s);
}
