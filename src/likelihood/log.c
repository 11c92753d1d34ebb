/* Likelihoods with mean exp(f) whose expectations have closed forms: poisson and gamma. Both are
 *
 *   n (x - exp(x)) plus a constant,   x = f - log y and n = y (poisson),   x = log y - f and n = shape (gamma),
 *
 * and E exp(x) = exp(x at m, plus s / 2). Beyond exp(600) the exponential continues as its tangent, so that everything
 * stays finite and derivatives remain those of the value. */
#include <math.h>

#include "util/draw.h"
#include "likelihood/special.h"
#include "likelihood/threshold.h"

#define STEEPEST 600

/* exp(x), its tangent from STEEPEST on, and their slope. */
typedef struct exponential {
  double value, slope;
} exponential;

static exponential exp_line(double x) {
  const double e = exp(fmin(x, STEEPEST));
  return (exponential){x > STEEPEST ? e * (1 + x - STEEPEST) : e, e};
}

/* E of n (x - exp(x) + 1), x ~ N(m, s), and its derivatives in m. */
static oat_curve expected(double n, oat_belief x) {
  const double top = x.m + 0.5 * x.s;
  if (fabs(top) < 1) {
    return (oat_curve){n * ((top - expm1(top)) - 0.5 * x.s), -n * expm1(top), -n * exp(top)};
  }
  const exponential e = exp_line(top);
  return (oat_curve){n * (x.m + 1 - e.value), n * (1 - e.slope), -n * e.slope};
}

/* ---- poisson --------------------------------------------------------------------------------------------------- */

static oat_curve poisson_expected(double y, oat_belief f) {
  if (!(y > 0)) {
    const exponential e = exp_line(f.m + 0.5 * f.s);
    return (oat_curve){-e.value, -e.slope, -e.slope};
  }
  oat_curve c = expected(y, (oat_belief){f.m - log(y), f.s});
  c.value -= 0.5 * log(y) + OAT_LOG_ROOT_2PI + oat_stirling_rest(y); /* y log y - y - log y! */
  return c;
}

static void poisson_expect(const oat_expect_call *call) {
  for (size_t i = 0; i < call->answers->n; i++) {
    oat_expect_set(call, i,
                   poisson_expected(call->answers->y[i], (oat_belief){call->latent->m[i], call->latent->s[i]}));
  }
}

static oat_curve poisson_curve(const oat_row_call *call, oat_answer a, double f) {
  (void)call;
  return poisson_expected(a.y, (oat_belief){f, 0});
}

static oat_spread poisson_moments(const oat_row_call *call, double trials, oat_belief f) {
  (void)call;
  (void)trials;
  return oat_log_moments(f, 1, 0);
}

static double poisson_cdf(const oat_row_call *call, oat_answer a, oat_belief f) {
  (void)call;
  const oat_threshold threshold = {a.y + 1, 0, 0, 1};
  return oat_threshold_cdf(&threshold, f);
}

static double poisson_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  (void)response;
  (void)trials;
  return oat_draw_poisson(exp(fmin(f, 690)), rng);
}

static oat_spread poisson_site(const oat_row_call *call, oat_answer a) {
  (void)call;
  return (oat_spread){log(a.y + 0.5), 1 / (a.y + 0.5)};
}

static double poisson_saturated(const oat_row_call *call, oat_answer a) {
  return a.y > 0 ? poisson_curve(call, a, log(a.y)).value : 0;
}

static bool poisson_valid(size_t levels, double y, double trials) {
  (void)levels;
  (void)trials;
  return oat_is_whole(y);
}

static double poisson_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  (void)levels;
  (void)parameters;
  return log(fmax(moments->mean, 1e-3) / moments->exposure);
}

const struct oat_row_functions oat_rows_poisson = {
    .expect = poisson_expect,
    .curve = poisson_curve,
    .predictive = oat_predictive_by_curve,
    .moments = poisson_moments,
    .cdf = poisson_cdf,
    .quantile = oat_quantile_count,
    .draw = poisson_draw,
    .site = poisson_site,
    .saturated = poisson_saturated,
    .valid = poisson_valid,
    .start = poisson_start,
};

/* ---- gamma ----------------------------------------------------------------------------------------------------- */

/* k log k - k - log Gamma(k) */
static double gamma_constant(double k) { return 0.5 * log(k) - OAT_LOG_ROOT_2PI - oat_stirling_rest(k); }

/* Without the constant; derivatives are in f. */
static oat_curve gamma_expected(double k, double log_y, oat_belief f) {
  const oat_curve c = expected(k, (oat_belief){log_y - f.m, f.s});
  return (oat_curve){c.value, -c.first, c.second};
}

static void gamma_expect(const oat_expect_call *call) {
  const double k = call->response->parameters[0], constant = gamma_constant(k),
               constant_slope = k * oat_log_less_digamma(k);
  for (size_t i = 0; i < call->answers->n; i++) {
    const double log_y = log(call->answers->y[i]);
    oat_curve c = gamma_expected(k, log_y, (oat_belief){call->latent->m[i], call->latent->s[i]});
    oat_expect_add(call, i, 0, constant_slope + c.value);
    c.value += constant - log_y;
    oat_expect_set(call, i, c);
  }
}

static oat_curve gamma_curve(const oat_row_call *call, oat_answer a, double f) {
  const double k = call->response->parameters[0], log_y = log(a.y);
  oat_curve c = gamma_expected(k, log_y, (oat_belief){f, 0});
  c.value += gamma_constant(k) - log_y;
  return c;
}

static oat_spread gamma_moments(const oat_row_call *call, double trials, oat_belief f) {
  (void)trials;
  return oat_log_moments(f, 0, 1 / call->response->parameters[0]);
}

static double gamma_cdf(const oat_row_call *call, oat_answer a, oat_belief f) {
  const double k = call->response->parameters[0];
  if (!(a.y > 0)) {
    return 0;
  }
  const oat_threshold threshold = {k, 0, log(k) + log(a.y), -1};
  return oat_threshold_cdf(&threshold, f);
}

static double gamma_quantile(const oat_row_call *call, double trials, oat_belief f, double p) {
  (void)trials;
  return oat_quantile_number(call, f, p);
}

static double gamma_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  (void)trials;
  const double k = response->parameters[0];
  return exp(oat_clip(f - log(k) + oat_draw_log_gamma(k, rng), -708, 708)); /* 0 and infinity are not valid targets */
}

static oat_spread gamma_site(const oat_row_call *call, oat_answer a) {
  return (oat_spread){log(a.y), 1 / call->response->parameters[0]};
}

static double gamma_saturated(const oat_row_call *call, oat_answer a) { return gamma_curve(call, a, log(a.y)).value; }

static bool gamma_valid(size_t levels, double y, double trials) {
  (void)levels;
  (void)trials;
  return y > 0 && isfinite(y);
}

static double gamma_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  (void)levels;
  const double mean = moments->mean;
  parameters[0] = moments->variance > 0 ? oat_clip(mean / moments->variance * mean, 0.1, 100) : 100;
  return log(mean / moments->exposure);
}

const struct oat_row_functions oat_rows_gamma = {
    .expect = gamma_expect,
    .curve = gamma_curve,
    .predictive = oat_predictive_by_curve,
    .moments = gamma_moments,
    .cdf = gamma_cdf,
    .quantile = gamma_quantile,
    .draw = gamma_draw,
    .site = gamma_site,
    .saturated = gamma_saturated,
    .valid = gamma_valid,
    .start = gamma_start,
};
