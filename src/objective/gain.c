/* The exact gain of one more knot at fixed parameters, for models with alpha = 0, in O(N K) for each candidate.
 *
 * A knot x* adds to V the row a = E / s*, E_i = k(x*, x_i) - v . v_i, s*^2 = k(x*, x*) + jitter - |v|^2, and to the
 * factors
 *   L: [v^T s*],   LB: [u^T gamma], u = LB^-1 sum w v a, gamma^2 = 1 + sum w a^2 - |u|^2,
 *   c: c* = (sum w r a - u . c) / gamma.
 * So F grows by -log gamma + c*^2 / 2, and by the decrease of the penalty, because g_i becomes g_i - a_i^2: sum w a^2 /
 * 2 for vfe, 1/2 sum log((n_i + g_i) / (n_i + g_i - a_i^2)) for tvfe. An estimated mean changes, too: with h the new
 * row of LB^-1 V W H for its basis H, and A = H^T S^-1 H, c*^2 becomes c*^2 / (1 - h^T A^-1 h). */
#include <math.h>
#include <string.h>

#include "objective/sparse.h"

#define COINCIDENT 1e-6 /* of sigma^2: below this a candidate sits on a knot, unless the jitter is soft */

/* The scratch for candidates, carved out of `work`. */
typedef struct bench {
  double *v, *s2, *ee, *er, *ve, *logs, *kernel;
  double *row;  /* 1 + p: the new row of LB^-1 V W R, R = [r, H] */
  double *pull; /* p: scratch, then A^-1 h */
} bench;

size_t oat_gain_work(const oat_objective *objective, size_t m) {
  const oat_objective_config *config = &objective->config;
  const size_t width = 1 + oat_rows_basis(config->rows);
  return m * (config->capacity + 1) + oat_candidates_count(m, config->capacity, width - 1) + 2 * width +
         oat_kernel_work(oat_kernel_size_of(config->kernel), m, config->capacity, oat_rows_inputs(config->rows));
}

static bench lay_out(const oat_objective *objective, size_t m, double *work) {
  const size_t k = objective->config.k, width = 1 + oat_rows_basis(objective->config.rows);
  bench b = {.v = work};
  b.s2 = b.v + m * k;
  b.ee = b.s2 + m;
  b.er = b.ee + m;
  b.ve = b.er + m * width;
  b.logs = b.ve + m * k;
  b.row = b.logs + m;
  b.pull = b.row + width;
  b.kernel = b.pull + width;
  return b;
}

/* v of every candidate and s*^2. */
static void whiten(const oat_objective *objective, const oat_sparse *sparse, oat_points candidates, double delta,
                   bench *b) {
  const size_t m = candidates.n, k = objective->config.k;
  oat_kernel_cross(&sparse->cov, candidates, oat_sparse_knots(sparse), b->v, m, b->kernel);
  oat_solve_right(sparse->l, k, OAT_TRANSPOSED, (oat_view){b->v, m, k, m});
  oat_kernel_diagonal(&sparse->cov, candidates, b->s2);
  for (size_t i = 0; i < m; i++) {
    b->s2[i] += delta;
  }
  for (size_t c = 0; c < k; c++) {
    for (size_t i = 0; i < m; i++) {
      b->s2[i] -= b->v[i + c * m] * b->v[i + c * m];
    }
  }
}

/* The new elements of the factors for one candidate, whose s* u is its column of ve; also its `row`. */
typedef struct border {
  double s, gamma, c, shrink, gain; /* shrink: 1 - h^T A^-1 h */
} border;

/* The decrease of the penalty, for sum w a^2 = aa. */
static double less_penalty(const oat_sparse_objective *o, const bench *b, size_t i, double aa) {
  const oat_penalty penalty = o->base.config.approx->penalty;
  return penalty == OAT_PENALISE_TRACE ? 0.5 * aa : penalty == OAT_PENALISE_LOG ? 0.5 * b->logs[i] : 0;
}

static border border_of(const oat_sparse_objective *o, const bench *b, size_t m, size_t i) {
  const size_t k = o->base.config.k, p = oat_rows_basis(o->base.config.rows);
  const double s = sqrt(b->s2[i]), *u = b->ve + i * k, aa = b->ee[i] / b->s2[i];
  const double gamma = sqrt(fmax(1 + aa - oat_dot(k, u, u) / b->s2[i], 1)), penalty = less_penalty(o, b, i, aa);
  for (size_t l = 0; l <= p; l++) {
    b->row[l] = (b->er[i + l * m] - oat_dot(k, u, o->c_all + l * k)) / s / gamma;
  }
  const double shrink = fmax(1 - oat_gls_quadratic(&o->gls, b->row + 1, b->pull), 1e-12);
  const double c = b->row[0] - oat_dot(p, b->row + 1, o->coefficient);
  return (border){s, gamma, c, shrink, -log(gamma) + 0.5 * c * c / shrink + penalty};
}

/* All sums over the rows, and ve <- LB^-1 ve. */
static oatgp_status weigh(oat_sparse_objective *o, const oat_sparse *sparse, oat_points candidates, double delta,
                          bench *b) {
  const size_t k = o->base.config.k;
  whiten(&o->base, sparse, candidates, delta, b);
  oat_candidates sums = {candidates, b->v, b->s2, b->ee, b->er, b->ve, b->logs};
  const oatgp_status status = o->base.device->table->gains(o->base.device, sparse, &sums);
  oat_solve_left(o->lb, k, OAT_PLAIN, (oat_view){b->ve, k, candidates.n, k}, o->base.config.where.threads);
  return status;
}

static double jitter_of(const oat_objective_config *config, const oat_sparse *sparse) {
  return oat_jitter_variance(config, &sparse->cov, oat_sparse_knots(sparse), sparse->tau);
}

/* Whether a candidate whose variance given the knots, with the jitter, is s2 sits on a knot: it is explained to the
 * jitter and, if that is soft, to a small part of the noise. */
static bool coincident(const oat_objective_config *config, const oat_sparse *sparse, double s2, double delta) {
  const oat_points z = oat_sparse_knots(sparse);
  const double least =
      config->soft ? oat_soft_variance(&sparse->cov, z, sparse->tau) : oat_kernel_share(&sparse->cov, z, COINCIDENT);
  return !(s2 - delta > delta + least);
}

void oat_objective_mark_coincident(oat_objective *objective, const oat_point *point, oat_points candidates,
                                   double *work, double *gain) {
  const oat_sparse sparse = oat_sparse_at((oat_sparse_objective *)objective, point, objective->config.k);
  const double delta = jitter_of(&objective->config, &sparse);
  bench b = lay_out(objective, candidates.n, work);
  whiten(objective, &sparse, candidates, delta, &b);
  for (size_t i = 0; i < candidates.n; i++) {
    gain[i] = coincident(&objective->config, &sparse, b.s2[i], delta) ? -HUGE_VAL : 0;
  }
}

oatgp_status oat_objective_gains(oat_objective *objective, const oat_point *point, oat_points candidates, double *work,
                                 double *gain) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const oat_sparse sparse = oat_sparse_at(o, point, objective->config.k);
  const double delta = jitter_of(&objective->config, &sparse);
  bench b = lay_out(objective, candidates.n, work);
  const oatgp_status status = weigh(o, &sparse, candidates, delta, &b);
  for (size_t i = 0; status == OATGP_OK && i < candidates.n; i++) {
    const bool sits_on_a_knot = coincident(&objective->config, &sparse, b.s2[i], delta);
    gain[i] = sits_on_a_knot ? -HUGE_VAL : border_of(o, &b, candidates.n, i).gain;
  }
  return status;
}

/* A k x k factor with leading dimension k becomes one of k + 1, whose new row is `row` (times scale) and `corner`. */
static void grow_factor(double *l, size_t k, const double *row, double scale, double corner) {
  const size_t n = k + 1;
  for (size_t j = k; j-- > 0;) {
    memmove(l + j * n, l + j * k, k * sizeof *l);
    l[k + j * n] = scale * row[j];
  }
  memset(l + k * n, 0, n * sizeof *l);
  l[k + k * n] = corner;
}

/* `pull` becomes A^-1 h, then A loses h h^T. */
static oatgp_status grow_gram(oat_sparse_objective *o, const bench *b) {
  const size_t width = 1 + o->gls.p;
  memcpy(b->pull, b->row + 1, o->gls.p * sizeof *b->pull);
  oat_gls_solve(&o->gls, b->pull);
  for (size_t i = 0; i < width * width; i++) {
    o->gram[i] -= b->row[i % width] * b->row[i / width];
  }
  return oat_gls_factorise(&o->gls, o->gram, NULL);
}

/* The new row of LB^-1 V W R; the mean's coefficients move by -c* A^-1 h / shrink, and c with them. */
static void grow_right_sides(oat_sparse_objective *o, const bench *b, const border *new) {
  const size_t k = o->base.config.k, p = oat_rows_basis(o->base.config.rows), n = k + 1;
  for (size_t l = p + 1; l-- > 0;) {
    memmove(o->c_all + l * n, o->c_all + l * k, k * sizeof *o->c_all);
    o->c_all[k + l * n] = b->row[l];
  }
  memcpy(o->c, o->c_all, n * sizeof *o->c);
  for (size_t l = 0; l < p; l++) {
    o->coefficient[l] -= new->c / new->shrink * b->pull[l];
    for (size_t i = 0; i < n; i++) {
      o->c[i] -= o->coefficient[l] * o->c_all[i + (1 + l) * n];
    }
  }
}

oatgp_status oat_objective_append(oat_objective *objective, const oat_point *point, double *work, double *gain) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const size_t k = objective->config.k;
  const oat_sparse sparse = oat_sparse_at(o, point, k + 1);
  const double delta = jitter_of(&objective->config, &sparse);
  const oat_points added = {point->z + k, 1, k + 1};
  bench b = lay_out(objective, 1, work);
  const oatgp_status status = weigh(o, &sparse, added, delta, &b);
  if (status != OATGP_OK || coincident(&objective->config, &sparse, b.s2[0], delta)) {
    return status != OATGP_OK ? status : OATGP_NUMERIC;
  }
  const border new = border_of(o, &b, 1, 0);
  if (grow_gram(o, &b) != OATGP_OK) {
    return OATGP_NUMERIC;
  }
  grow_factor(o->l, k, b.v, 1, new.s);
  grow_factor(o->lb, k, b.ve, 1 / new.s, new.gamma);
  grow_right_sides(o, &b, &new);
  *gain = new.gain;
  o->stamp++;
  oat_objective_resize(objective, k + 1);
  return OATGP_OK;
}
