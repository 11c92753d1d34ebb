/* Likelihoods with normal probabilities: P = Phi(b - f) - Phi(a - f), where a or b may be infinite. bernoulli-probit
 * has Phi(f) and Phi(-f); ordinal has the cuts below and above its level. Over f ~ N(m, s) everything has a closed
 * form, except E log P. */
#include <math.h>

#include "kernel/vector.h"
#include "util/draw.h"
#include "likelihood/quadrature.h"
#include "likelihood/special.h"
#include "oat_config.h"
#include "util/normal.h"

/* The cuts of a level; infinite at the ends. */
typedef struct cuts {
  double below, above;
} cuts;

/* ---- log P and its derivatives at nodes ------------------------------------------------------------------------ */

/* log Phi(t), t = sign (f - cut). With u = |t| / sqrt(2) and e = erfcx(u), Phi(t) is exp(-u^2) e / 2 for t < 0, and one
 * minus that else. oat_log1p takes numbers from 0 on, so it is called with the inverse minus 1. The second derivative
 * is -h (t + h) with the hazard h = phi(t) / Phi(t), for far t by its series. */
typedef struct tail {
  double sign, cut;
} tail;

OAT_CLONES
static void tail_values(const void *row, size_t n, oat_nodes *at) {
  const tail *side = row;
  double *u = at->extra, *e = at->first, *q = at->second, *above_one = at->extra; /* until they have their own values */
  for (size_t k = 0; k < n; k++) {
    u[k] = fabs(at->f[k] - side->cut) * OAT_ROOT_HALF;
    at->value[k] = q[k] = -u[k] * u[k];
  }
  oat_erfcx_each(n, u, e);
  oat_exp(n, 1, 1, q, q);
  for (size_t k = 0; k < n; k++) {
    const double t = side->sign * (at->f[k] - side->cut), rest = 0.5 * q[k] * e[k],
                 inverse = 1 / (t < 0 ? e[k] : 1 - rest);
    const double hazard = inverse * (t < 0 ? 2 : q[k]) / OAT_ROOT_2PI, v = 1 / (t * t);
    const double series = 1 - v * (1 - v * (6 - 50 * v)), exact = hazard * (t + hazard),
                 product = exact < 0 ? 0 : exact;
    above_one[k] = t < 0 ? 2 * inverse - 1 : rest * inverse;
    at->value[k] = t < 0 ? at->value[k] : 0;
    at->first[k] = side->sign * hazard;
    at->second[k] = -(t < -50 ? series : product);
  }
  oat_log1p(n, 1, above_one, above_one);
  for (size_t k = 0; k < n; k++) {
    at->value[k] -= above_one[k];
  }
}

/* Between two cuts: P = Phi(hi) - Phi(lo) with lo <= -|hi|, mirrored if need be, so that both are tails. */
typedef struct sides {
  double hi, lo;
  bool mirrored;
} sides;

static inline sides sides_of(const cuts *c, double f) {
  const double a = c->below - f, b = c->above - f;
  const bool mirrored = a + b > 0;
  return (sides){mirrored ? -a : b, mirrored ? -b : a, mirrored};
}

/* The arguments of erfcx and exp: |hi| and |lo| over sqrt(2), and minus their squares, that of lo relative to that
 * of hi where hi <= 0. */
OAT_CLONES
static void between_arguments(const cuts *c, size_t n, const double *f, double *u, double *q) {
  for (size_t k = 0; k < n; k++) {
    const sides s = sides_of(c, f[k]);
    const double hi = fabs(s.hi) * OAT_ROOT_HALF, lo = -s.lo * OAT_ROOT_HALF;
    u[k] = hi;
    u[k + n] = lo;
    q[k] = -hi * hi;
    q[k + n] = s.hi > 0 ? -lo * lo : (hi - lo) * (hi + lo);
  }
}

/* extra is d log P / d above; that in `below` is minus the sum of it and the derivative in f. */
OAT_CLONES
static void between_values(const void *row, size_t n, oat_nodes *at) {
  const cuts *c = row;
  double u[2 * OAT_NODES_AT_ONCE] = {0}, e[2 * OAT_NODES_AT_ONCE], q[2 * OAT_NODES_AT_ONCE] = {0},
               above_one[OAT_NODES_AT_ONCE];
  between_arguments(c, n, at->f, u, q);
  oat_erfcx_each(2 * n, u, e);
  oat_exp(2 * n, 1, 1, q, q);
  for (size_t k = 0; k < n; k++) {
    const sides s = sides_of(c, at->f[k]);
    const bool split = s.hi > 0;
    /* P, relative to exp(-hi^2 / 2) unless split, and both densities in the same unit */
    const double p = 0.5 * (split ? (2 - q[k] * e[k]) - q[k + n] * e[k + n] : e[k] - q[k + n] * e[k + n]),
                 inverse = 1 / p;
    const double at_hi = (split ? q[k] : 1) * inverse / OAT_ROOT_2PI, at_lo = q[k + n] * inverse / OAT_ROOT_2PI;
    const double slope = at_hi - at_lo, second = s.lo * at_lo - s.hi * at_hi - slope * slope;
    above_one[k] = inverse - 1;
    at->first[k] = s.mirrored ? slope : -slope;
    at->second[k] = second > 0 ? 0 : second < -1 ? -1 : second;
    at->extra[k] = s.mirrored ? at_lo : at_hi;
    at->value[k] = split ? 0 : -u[k] * u[k];
  }
  oat_log1p(n, 1, above_one, above_one);
  for (size_t k = 0; k < n; k++) {
    at->value[k] -= above_one[k];
  }
}

/* E log P over N(m, s), for each kind of level. */
static oat_expected expected(const cuts *c, oat_belief f) {
  if (isinf(c->below)) {
    const tail side = {-1, c->above};
    return oat_expect_nodes(f, tail_values, &side);
  }
  if (isinf(c->above)) {
    const tail side = {1, c->below};
    return oat_expect_nodes(f, tail_values, &side);
  }
  return oat_expect_nodes(f, between_values, c);
}

/* log P at one f. */
static oat_curve curve_at(const cuts *c, double f) {
  oat_nodes at;
  at.f[0] = f;
  if (isinf(c->below) || isinf(c->above)) {
    const tail side = isinf(c->below) ? (tail){-1, c->above} : (tail){1, c->below};
    tail_values(&side, 1, &at);
  } else {
    between_values(c, 1, &at);
  }
  return (oat_curve){at.value[0], at.first[0], at.second[0]};
}

/* ---- the two likelihoods as cuts ------------------------------------------------------------------------------- */

static bool is_ordinal(const oat_response *response) { return response->likelihood->id == OAT_ORDINAL; }

static size_t levels_of(const oat_response *response) { return is_ordinal(response) ? response->levels : 2; }

/* A probit target is an ordinal one with two levels. */
static double cut_above(const oat_response *response, size_t level) {
  double cut = 0;
  if (level + 1 >= levels_of(response)) {
    return HUGE_VAL;
  }
  for (size_t j = 0; j < level; j++) {
    cut += response->parameters[j];
  }
  return cut;
}

static cuts cuts_of(const oat_response *response, double y) {
  const size_t level = (size_t)y;
  return (cuts){level > 0 ? cut_above(response, level - 1) : -HUGE_VAL, cut_above(response, level)};
}

/* d E / d log gap_j: a cut moves with all gaps up to it. */
static void add_gaps(const oat_expect_call *call, size_t i, const cuts *c, const oat_expected *e) {
  const size_t level = (size_t)call->answers->y[i];
  const double above = isinf(c->above)   ? 0
                       : isinf(c->below) ? -e->curve.first
                                         : e->extra,
               below = -e->curve.first - above;
  for (size_t j = 0; j < level && j + 2 < call->response->levels; j++) {
    const double slope = above + (j + 1 < level ? below : 0);
    oat_expect_add(call, i, j, call->response->parameters[j] * slope);
  }
}

static void cuts_expect(const oat_expect_call *call) {
  const bool gaps = is_ordinal(call->response) && call->out->parameters != NULL;
  for (size_t i = 0; i < call->answers->n; i++) {
    const cuts c = cuts_of(call->response, call->answers->y[i]);
    const oat_expected e = expected(&c, (oat_belief){call->latent->m[i], call->latent->s[i]});
    oat_expect_set(call, i, e.curve);
    if (gaps) {
      add_gaps(call, i, &c, &e);
    }
  }
}

static oat_curve cuts_curve(const oat_row_call *call, oat_answer a, double f) {
  const cuts c = cuts_of(call->response, a.y);
  return curve_at(&c, f);
}

static double cuts_predictive(const oat_row_call *call, oat_answer a, oat_belief f) {
  const cuts c = cuts_of(call->response, a.y);
  const double sd = sqrt(1 + f.s);
  return oat_log_normal_between((c.below - f.m) / sd, (c.above - f.m) / sd);
}

static double cuts_cdf(const oat_row_call *call, oat_answer a, oat_belief f) {
  const double top = (double)levels_of(call->response) - 1;
  return a.y >= top ? 1 : oat_normal_cdf((cut_above(call->response, (size_t)a.y) - f.m) / sqrt(1 + f.s));
}

/* Sums over the levels of P(Y > j) and (2 j + 1) P(Y > j): the mean and the mean square. */
static oat_spread cuts_moments(const oat_row_call *call, double trials, oat_belief f) {
  (void)trials;
  double mean = 0, square = 0;
  for (size_t j = 0; j + 1 < levels_of(call->response); j++) {
    const double more = oat_normal_cdf((f.m - cut_above(call->response, j)) / sqrt(1 + f.s));
    mean += more;
    square += (2 * (double)j + 1) * more;
  }
  return (oat_spread){mean, fmax(square - mean * mean, 0)};
}

static double cuts_quantile(const oat_row_call *call, double trials, oat_belief f, double p) {
  double y = 0;
  while (cuts_cdf(call, (oat_answer){y, trials}, f) < p) {
    y++;
  }
  return y;
}

static double cuts_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  (void)trials;
  const double hidden = f + oat_rng_normal(rng);
  size_t level = 0;
  while (hidden > cut_above(response, level)) {
    level++;
  }
  return (double)level;
}

/* The middle of a level; at an end, where the level has probability 3/4. */
static oat_spread cuts_site(const oat_row_call *call, oat_answer a) {
  const cuts c = cuts_of(call->response, a.y);
  const double beside = 0.67448975019608174;
  const double f = isinf(c.below) ? c.above - beside : isinf(c.above) ? c.below + beside : 0.5 * (c.below + c.above);
  return (oat_spread){f, -1 / fmin(curve_at(&c, f).second, -1e-6)};
}

static double cuts_saturated(const oat_row_call *call, oat_answer a) {
  const cuts c = cuts_of(call->response, a.y);
  return isinf(c.below) || isinf(c.above) ? 0 : curve_at(&c, 0.5 * (c.below + c.above)).value;
}

static bool probit_valid(size_t levels, double y, double trials) {
  (void)levels;
  (void)trials;
  return y == 0 || y == 1;
}

static bool ordinal_valid(size_t levels, double y, double trials) {
  (void)trials;
  return oat_is_whole(y) && y < (double)levels;
}

static double probit_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  (void)levels;
  (void)parameters;
  return oat_normal_quantile(oat_clip(moments->mean, 1e-3, 1 - 1e-3));
}

/* Cuts at the quantiles of the shares up to each level, the first moved to 0. */
static double ordinal_start(size_t levels, const oat_answer_moments *moments, double *parameters) {
  double share = moments->shares[0], first = oat_normal_quantile(oat_clip(share, 1e-3, 1 - 1e-3)), last = first;
  for (size_t j = 1; j + 1 < levels; j++) {
    share += moments->shares[j];
    const double cut = oat_normal_quantile(oat_clip(share, 1e-3, 1 - 1e-3));
    parameters[j - 1] = oat_clip(cut - last, 0.02, 10);
    last = cut;
  }
  return -first;
}

const struct oat_row_functions oat_rows_bernoulli_probit = {
    .expect = cuts_expect,
    .curve = cuts_curve,
    .predictive = cuts_predictive,
    .moments = cuts_moments,
    .cdf = cuts_cdf,
    .quantile = cuts_quantile,
    .draw = cuts_draw,
    .site = cuts_site,
    .saturated = cuts_saturated,
    .valid = probit_valid,
    .start = probit_start,
};

const struct oat_row_functions oat_rows_ordinal = {
    .expect = cuts_expect,
    .curve = cuts_curve,
    .predictive = cuts_predictive,
    .moments = cuts_moments,
    .cdf = cuts_cdf,
    .quantile = cuts_quantile,
    .draw = cuts_draw,
    .site = cuts_site,
    .saturated = cuts_saturated,
    .valid = ordinal_valid,
    .start = ordinal_start,
};
