/* The predictive log density of a log-concave likelihood: log of the integral of exp(g(f)) N(f; m, s), g = log p(y | .).
 *
 * The integrand is log-concave, too. Its mode is found first: the sum begins there, with steps by the curvature there, and is relative to the
 * value there, so that it neither misses nor overflows. */
#include <math.h>

#include "likelihood/quadrature.h"
#include "likelihood/special.h"

typedef struct product {
  const oat_row_call *call;
  oat_answer answer;
  oat_belief f;
} product;

static oat_curve curve_of(const product *p, double f) { return p->call->response->likelihood->rows->curve(p->call, p->answer, f); }

static double log_product(const void *with, double f) {
  const product *p = with;
  const double distance = f - p->f.m;
  return curve_of(p, f).value - 0.5 * distance * distance / p->f.s;
}

static double slope_of(const product *p, double f) { return curve_of(p, f).first - (f - p->f.m) / p->f.s; }

/* The first place in a direction from m, in growing steps, that has a slope of the other sign: beyond the mode. */
static double beyond(const product *p, double direction) {
  double step = fmin(1, sqrt(p->f.s));
  while (slope_of(p, p->f.m + direction * step) * direction > 0 && step < 1e300) {
    step *= 2;
  }
  return p->f.m + direction * step;
}

/* Newton's method, and halving where it leaves the interval or does not halve it in two steps. */
static double mode_of(const product *p) {
  const double direction = slope_of(p, p->f.m) > 0 ? 1 : -1, far = beyond(p, direction);
  double low = fmin(p->f.m, far), high = fmax(p->f.m, far), f = p->f.m, before = high - low;
  for (int k = 0; k < 200; k++) {
    const oat_curve c = curve_of(p, f);
    const double slope = c.first - (f - p->f.m) / p->f.s, step = slope / (1 / p->f.s - c.second);
    *(slope > 0 ? &low : &high) = f;
    const double next = f + step;
    const bool slow = k % 3 == 2 && high - low > 0.5 * before;
    if (fabs(step) <= 1e-3 * sqrt(p->f.s) / sqrt(1 - c.second * p->f.s)) {
      return f;
    }
    before = k % 3 == 2 ? high - low : before;
    f = slow || !(next > low && next < high) ? 0.5 * (low + high) : next;
  }
  return f;
}

double oat_predictive_by_curve(const oat_row_call *call, oat_answer answer, oat_belief f) {
  const product p = {call, answer, f};
  if (!(f.s > 0)) {
    return curve_of(&p, f.m).value;
  }
  const double mode = mode_of(&p), curvature = 1 / f.s - curve_of(&p, mode).second;
  const oat_integrand integrand = {log_product, &p, mode, mode, mode, 0.7 / sqrt(curvature)};
  return oat_log_integral(&integrand) - OAT_LOG_ROOT_2PI - 0.5 * log(f.s);
}
