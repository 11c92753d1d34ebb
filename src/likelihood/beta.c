/* beta: y ~ Beta(a, b), a = mean shape, b = (1 - mean) shape, mean = 1 / (1 + exp(-f)).
 * With p the mean and q = 1 - p,
 *
 *   g = log Gamma(shape) - log Gamma(a) - log Gamma(b) + (a - 1) log y + (b - 1) log(1 - y)
 *   dg/df = a q L,  L = logit y - psi(a) + psi(b);      d2g/df2 = a q (q - p) L - a^2 q^2 (psi'(a) + psi'(b))
 *   dg/d log shape = shape psi(shape) + a (log y - psi(a)) + b (log(1 - y) - psi(b))
 *
 * special.h computes a psi(a) and a^2 psi'(a), so no digits are lost however small a or b is. The singularities in f
 * are all on Im f = +-pi, and g falls like -|f|. */
#include <math.h>

#include "util/draw.h"
#include "likelihood/quadrature.h"
#include "likelihood/special.h"
#include "likelihood/threshold.h"

/* Terms that do not depend on f. */
typedef struct row {
  double shape, log_shape, log_y, log_rest; /* of y and 1 - y */
  double constant, constant_slope;          /* log Gamma(shape) - log y - log(1 - y); shape psi(shape) */
} row;

static row row_of(double shape, double y) {
  const oat_gamma_terms terms = oat_gamma_terms_at(shape);
  const double log_shape = log(shape), log_y = log(y), log_rest = log1p(-y);
  return (row){shape, log_shape, log_y, log_rest, terms.value - log_shape - log_y - log_rest, terms.first - 1};
}

/* The value, its derivatives in f, and that in log shape. */
static oat_expected terms_at(const row *r, double f) {
  const double e = exp(-fabs(f)), less = log1p(e), large = 1 / (1 + e), small = e * large;
  const double p = f > 0 ? large : small, q = f > 0 ? small : large, a = p * r->shape, b = q * r->shape;
  const double log_p = fmin(f, 0) - less, log_q = fmin(-f, 0) - less;
  const oat_gamma_terms ga = oat_gamma_terms_at(a), gb = oat_gamma_terms_at(b);
  /* q a L = q (a logit y - a psi(a)) + p b psi(b) */
  const double qal = q * (a * (r->log_y - r->log_rest) - (ga.first - 1)) + p * (gb.first - 1);
  const double value =
      r->constant - (ga.value - log_p) - (gb.value - log_q) + 2 * r->log_shape + a * r->log_y + b * r->log_rest;
  const double second = (q - p) * qal - q * q * (ga.second + 1) - p * p * (gb.second + 1);
  const double in_shape = r->constant_slope + a * r->log_y - (ga.first - 1) + b * r->log_rest - (gb.first - 1);
  return (oat_expected){{value, qal, second}, in_shape};
}

static void node_values(const void *with, size_t n, oat_nodes *at) {
  for (size_t k = 0; k < n; k++) {
    const oat_expected t = terms_at(with, at->f[k]);
    at->value[k] = t.curve.value;
    at->first[k] = t.curve.first;
    at->second[k] = t.curve.second;
    at->extra[k] = t.extra;
  }
}

static void beta_expect(const oat_expect_call *call) {
  for (size_t i = 0; i < call->answers->n; i++) {
    const row r = row_of(call->response->parameters[0], call->answers->y[i]);
    const oat_expected e = oat_expect_nodes((oat_belief){call->latent->m[i], call->latent->s[i]}, node_values, &r);
    oat_expect_set(call, i, e.curve);
    oat_expect_add(call, i, 0, e.extra);
  }
}

static oat_curve beta_curve(const oat_row_call *call, oat_answer answer, double f) {
  const row r = row_of(call->response->parameters[0], answer.y);
  return terms_at(&r, f).curve;
}

/* The f at which the log density is largest. Its slope changes sign once, since L falls with f. */
static double best_f(const row *r) {
  double low = -1, high = 1;
  while (terms_at(r, low).curve.first < 0 && low > -700) {
    low *= 2;
  }
  while (terms_at(r, high).curve.first > 0 && high < 700) {
    high *= 2;
  }
  for (int k = 0; k < 60; k++) {
    const double middle = 0.5 * (low + high);
    *(terms_at(r, middle).curve.first > 0 ? &low : &high) = middle;
  }
  return 0.5 * (low + high);
}

typedef struct product {
  row r;
  oat_belief f;
} product;

/* x = f - m */
static double log_product(const void *with, double x) {
  const product *p = with;
  return terms_at(&p->r, p->f.m + x).curve.value - 0.5 * x / p->f.s * x;
}

/* Not log-concave: there may be a mode near m and one near the best f, and none outside of these. The integrand is
 * negligible where the prior has fallen further than the log density can have risen. */
static double beta_predictive(const oat_row_call *call, oat_answer answer, oat_belief f) {
  const product p = {row_of(call->response->parameters[0], answer.y), f};
  const oat_curve at_m = terms_at(&p.r, f.m).curve;
  if (!(f.s > 0)) {
    return at_m.value;
  }
  const double best = best_f(&p.r),
               reach = sqrt(f.s) * sqrt(2 * (fmax(terms_at(&p.r, best).curve.value - at_m.value, 0) + 45));
  const double far = oat_clip(best - f.m, -reach, reach),
               width = 1 / sqrt(1 / f.s + fmax(-terms_at(&p.r, best).curve.second, 0));
  const oat_integrand integrand = {log_product, &p, fmin(far, 0), far, fmax(far, 0), 0.7 * fmin(width, 1)};
  return oat_log_integral(&integrand) - OAT_LOG_ROOT_2PI - 0.5 * log(f.s);
}

static oat_spread beta_moments(const oat_row_call *call, double trials, oat_belief f) {
  (void)trials;
  const oat_hinge h = oat_hinge_at(call->hinge, f.m, f.s);
  const double of_mean = fmax(h.first * (1 - h.first) - h.second, 0);
  return (oat_spread){oat_hinge_share(&h, f.m), of_mean + h.second / (1 + call->response->parameters[0])};
}

/* ---- distribution function ------------------------------------------------------------------------------------- */

/* P(Y <= y | f) falls from 1 to 0 around f = logit y, over a width by the deviation of y given f. */
typedef struct fall {
  double shape, y, middle, width;
} fall;

static double below_at(const fall *x, double f) {
  const double p = oat_logistic(f), q = oat_logistic(-f), least = 1e-300;
  return oat_beta_cdf(fmax(p * x->shape, least), fmax(q * x->shape, least), x->y, 1 - x->y);
}

static void below_each(const void *with, size_t n, oat_nodes *at) {
  for (size_t k = 0; k < n; k++) {
    at->value[k] = below_at(with, at->f[k]);
    at->first[k] = at->second[k] = at->extra[k] = 0;
  }
}

/* For uncertain f: Phi((middle - f) / width), whose average is known, is subtracted. The rest is small except near the
 * middle. */
static double below_wide(const fall *x, oat_belief f) {
  const double sd = sqrt(f.s), step = 0.4 * fmin(x->width, 1);
  double sum = 0;
  for (int side = -1; side <= 1; side += 2) {
    for (int k = side > 0 ? 0 : 1, quiet = 0; k < 20000 && quiet < 3; k++) {
      const double u = side * k * step, at = x->middle + u, z = (at - f.m) / sd;
      const double rest = below_at(x, at) - oat_normal_cdf(-u / x->width);
      sum += rest * exp(-0.5 * z * z);
      quiet = fabs(rest) < 1e-16 ? quiet + 1 : 0;
    }
  }
  return oat_normal_cdf((x->middle - f.m) / sqrt(f.s + x->width * x->width)) + sum * step / (OAT_ROOT_2PI * sd);
}

static double beta_cdf(const oat_row_call *call, oat_answer answer, oat_belief f) {
  const double y = answer.y, shape = call->response->parameters[0];
  if (!(y > 0 && y < 1)) {
    return y > 0 ? 1 : 0;
  }
  const fall x = {shape, y, log(y) - log1p(-y), fmin(1 / sqrt(y * (1 - y) * (1 + shape)), 1.7)};
  if (f.s > x.width * x.width) {
    return oat_clip(below_wide(&x, f), 0, 1);
  }
  return oat_clip(oat_expect_nodes(f, below_each, &x).curve.value, 0, 1);
}

static double beta_quantile(const oat_row_call *call, double trials, oat_belief f, double p) {
  (void)trials;
  return oat_quantile_number(call, f, p);
}

static double beta_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  (void)trials;
  const double shape = response->parameters[0], least = 1e-300;
  const double y = oat_draw_beta(fmax(shape * oat_logistic(f), least), fmax(shape * oat_logistic(-f), least), rng);
  return oat_clip(y, 0x1p-1022, 1 - 0x1p-53); /* 0 and 1 are not valid targets */
}

/* Uses the Fisher information about f, which is positive; the second derivative need not be negative. */
static oat_spread beta_site(const oat_row_call *call, oat_answer answer) {
  const double shape = call->response->parameters[0];
  const row r = row_of(shape, answer.y);
  const double f = oat_clip(best_f(&r), -10, 10), p = oat_logistic(f), q = oat_logistic(-f);
  const oat_gamma_terms ga = oat_gamma_terms_at(p * shape), gb = oat_gamma_terms_at(q * shape);
  return (oat_spread){f, 1 / (q * q * (ga.second + 1) + p * p * (gb.second + 1))};
}

static double beta_saturated(const oat_row_call *call, oat_answer answer) {
  const row r = row_of(call->response->parameters[0], answer.y);
  return terms_at(&r, best_f(&r)).curve.value;
}

static bool beta_valid(size_t levels, double y, double trials) {
  (void)levels;
  (void)trials;
  return y > 0 && y < 1;
}

static double beta_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  (void)levels;
  const double mean = moments->mean;
  parameters[0] = moments->variance > 0 ? oat_clip(mean * (1 - mean) / moments->variance - 1, 1, 100) : 100;
  return oat_safe_logit(mean);
}

const struct oat_row_functions oat_rows_beta = {
    .expect = beta_expect,
    .curve = beta_curve,
    .predictive = beta_predictive,
    .moments = beta_moments,
    .cdf = beta_cdf,
    .quantile = beta_quantile,
    .draw = beta_draw,
    .site = beta_site,
    .saturated = beta_saturated,
    .valid = beta_valid,
    .start = beta_start,
};
