/* Likelihoods whose logarithm is y x - n log(1 + exp(x)) plus a constant: bernoulli-logit and binomial-logit (x = f, n
 * the trials), negative-binomial (x = f - log shape, n = y + shape). */
#include <math.h>

#include "util/draw.h"
#include "likelihood/quadrature.h"
#include "likelihood/special.h"
#include "likelihood/threshold.h"

/* E of y x - n log(1 + exp(x)). For m > 0 it is (y - n) x - n log(1 + exp(-x)), in which nothing cancels where y is
 * about n. */
static oat_curve expected(oat_hinge_table *table, double y, double n, oat_belief x) {
  const oat_hinge h = oat_hinge_at(table, x.m, x.s);
  if (x.m > 0) {
    return (oat_curve){(y - n) * x.m - n * h.value, (y - n) + n * h.first, -n * h.second};
  }
  return (oat_curve){y * x.m - n * h.value, y - n * h.first, -n * h.second};
}

/* The same at one x. */
static oat_curve curve_at(double y, double n, double x) {
  const double e = exp(-fabs(x)), small = e / (1 + e), second = -n * small / (1 + e), rest = n * log1p(e);
  if (x > 0) {
    return (oat_curve){(y - n) * x - rest, (y - n) + n * small, second};
  }
  return (oat_curve){y * x - rest, y - n * small, second};
}

/* ---- bernoulli and binomial ------------------------------------------------------------------------------------ */

static void binomial_expect(const oat_expect_call *call) {
  oat_hinge_table table = {.ready = false};
  for (size_t i = 0; i < call->answers->n; i++) {
    const oat_answer a = oat_answer_of(call->answers, i);
    oat_curve e = expected(&table, a.y, a.trials, (oat_belief){call->latent->m[i], call->latent->s[i]});
    e.value += a.trials > 1 ? oat_log_choose(a.trials, a.y) : 0;
    oat_expect_set(call, i, e);
  }
}

static oat_curve binomial_curve(const oat_row_call *call, oat_answer a, double f) {
  (void)call;
  oat_curve c = curve_at(a.y, a.trials, f);
  c.value += a.trials > 1 ? oat_log_choose(a.trials, a.y) : 0;
  return c;
}

/* A probability that is not small is accurate to all digits from the average. */
static double bernoulli_predictive(const oat_row_call *call, oat_answer a, oat_belief f) {
  const double p = oat_logistic_mean(call->hinge, a.y > 0 ? f.m : -f.m, f.s);
  return p > 1e-4 ? log(p) : oat_predictive_by_curve(call, a, f);
}

static oat_spread binomial_moments(const oat_row_call *call, double trials, oat_belief f) {
  const oat_hinge h = oat_hinge_at(call->hinge, f.m, f.s);
  const double of_share = fmax(h.first * (1 - h.first) - h.second, 0); /* the variance of p(f) */
  return (oat_spread){trials * oat_hinge_share(&h, f.m), trials * h.second + trials * trials * of_share};
}

static double bernoulli_cdf(const oat_row_call *call, oat_answer a, oat_belief f) {
  return a.y < 1 ? oat_logistic_mean(call->hinge, -f.m, f.s) : 1;
}

static double bernoulli_quantile(const oat_row_call *call, double trials, oat_belief f, double p) {
  return bernoulli_cdf(call, (oat_answer){0, trials}, f) >= p ? 0 : 1;
}

static double binomial_cdf(const oat_row_call *call, oat_answer a, oat_belief f) {
  (void)call;
  if (a.y >= a.trials) {
    return 1;
  }
  const oat_threshold threshold = {a.y + 1, a.trials - a.y, 0, 1};
  return oat_threshold_cdf(&threshold, f);
}

static double binomial_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  (void)response;
  return oat_draw_binomial(trials, oat_logistic(f), rng);
}

/* As if half a success and half a failure had also been observed. */
static oat_spread binomial_site(const oat_row_call *call, oat_answer a) {
  (void)call;
  const double p = (a.y + 0.5) / (a.trials + 1);
  return (oat_spread){log(p / (1 - p)), 1 / (a.trials * p * (1 - p))};
}

static double binomial_saturated(const oat_row_call *call, oat_answer a) {
  return a.y > 0 && a.y < a.trials ? binomial_curve(call, a, log(a.y / (a.trials - a.y))).value : 0;
}

static bool bernoulli_valid(size_t levels, double y, double trials) {
  (void)levels;
  (void)trials;
  return y == 0 || y == 1;
}

static bool binomial_valid(size_t levels, double y, double trials) {
  (void)levels;
  return oat_is_whole(y) && y <= trials;
}

static double binomial_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  (void)levels;
  (void)parameters;
  return oat_safe_logit(moments->mean / moments->trials);
}

const struct oat_row_functions oat_rows_bernoulli_logit = {
    .expect = binomial_expect,
    .curve = binomial_curve,
    .predictive = bernoulli_predictive,
    .moments = binomial_moments,
    .cdf = bernoulli_cdf,
    .quantile = bernoulli_quantile,
    .draw = binomial_draw,
    .site = binomial_site,
    .saturated = binomial_saturated,
    .valid = bernoulli_valid,
    .start = binomial_start,
};

const struct oat_row_functions oat_rows_binomial_logit = {
    .expect = binomial_expect,
    .curve = binomial_curve,
    .predictive = oat_predictive_by_curve,
    .moments = binomial_moments,
    .cdf = binomial_cdf,
    .quantile = oat_quantile_count,
    .draw = binomial_draw,
    .site = binomial_site,
    .saturated = binomial_saturated,
    .valid = binomial_valid,
    .start = binomial_start,
};

/* ---- negative binomial ----------------------------------------------------------------------------------------- */

/* log of Gamma(y + k) / (Gamma(k) y!) */
static double log_ways(double y, double k) { return log(k / (y + k)) + oat_log_choose(y + k, y); }

/* d/d log k of all: k (psi(y + k) - psi(k)) - y - k log(1 + exp(x)) + n d log(1 + exp(x)) / dx */
static double shape_slope(double y, double k, double hinge, double share) {
  const double digammas = log1p(y / k) - oat_log_less_digamma(y + k) + oat_log_less_digamma(k);
  return k * (digammas - hinge) - y + (y + k) * share;
}

static void negative_expect(const oat_expect_call *call) {
  oat_hinge_table table = {.ready = false};
  const double k = call->response->parameters[0], log_k = log(k);
  for (size_t i = 0; i < call->answers->n; i++) {
    const double y = call->answers->y[i], n = y + k;
    const oat_belief x = {call->latent->m[i] - log_k, call->latent->s[i]};
    oat_curve e = expected(&table, y, n, x);
    if (call->out->parameters != NULL) {
      const double share = (y - e.first) / n, hinge = (y * x.m - e.value) / n;
      oat_expect_add(call, i, 0, shape_slope(y, k, hinge, share));
    }
    e.value += log_ways(y, k);
    oat_expect_set(call, i, e);
  }
}

static oat_curve negative_curve(const oat_row_call *call, oat_answer a, double f) {
  const double k = call->response->parameters[0];
  oat_curve c = curve_at(a.y, a.y + k, f - log(k));
  c.value += log_ways(a.y, k);
  return c;
}

static oat_spread negative_moments(const oat_row_call *call, double trials, oat_belief f) {
  (void)trials;
  return oat_log_moments(f, 1, 1 / call->response->parameters[0]);
}

static double negative_cdf(const oat_row_call *call, oat_answer a, oat_belief f) {
  const double k = call->response->parameters[0];
  const oat_threshold threshold = {a.y + 1, k, log(k), 1};
  return oat_threshold_cdf(&threshold, f);
}

static double negative_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  (void)trials;
  const double k = response->parameters[0];
  return oat_draw_poisson(exp(fmin(f - log(k) + oat_draw_log_gamma(k, rng), 690)), rng);
}

static oat_spread negative_site(const oat_row_call *call, oat_answer a) {
  const double f = log(a.y + 0.5);
  return (oat_spread){f, -1 / negative_curve(call, a, f).second};
}

static double negative_saturated(const oat_row_call *call, oat_answer a) {
  return a.y > 0 ? negative_curve(call, a, log(a.y)).value : 0;
}

static bool count_valid(size_t levels, double y, double trials) {
  (void)levels;
  (void)trials;
  return oat_is_whole(y);
}

static double negative_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  (void)levels;
  const double mean = moments->mean, more = moments->variance - mean;
  parameters[0] = more > 0 ? oat_clip(mean * mean / more, 0.1, 100) : 100;
  return log(fmax(mean, 1e-3) / moments->exposure);
}

const struct oat_row_functions oat_rows_negative_binomial = {
    .expect = negative_expect,
    .curve = negative_curve,
    .predictive = oat_predictive_by_curve,
    .moments = negative_moments,
    .cdf = negative_cdf,
    .quantile = oat_quantile_count,
    .draw = negative_draw,
    .site = negative_site,
    .saturated = negative_saturated,
    .valid = count_valid,
    .start = negative_start,
};
