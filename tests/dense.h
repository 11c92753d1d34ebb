/* A second, slow implementation of every kernel and model to test the library against: dense N x N formulas, plain
 * loops and long double. From the library it uses only the formula of each kernel's profile, which nothing else uses.
 * It shares no other code and no table, so a model that is registered there needs a row here.
 *
 *   S = Q + diag(lambda), Q = Kfu Kuu^-1 Kuf (full GP: S = K + noise);  F = log N(r - H beta; 0, S) + penalty
 *   beta = (H^T S^-1 H)^-1 H^T S^-1 r;  posterior of f*: Q*f S^-1 (r - H beta) and P - Q*f S^-1 Qf*, where P is what
 * the model takes for the prior covariance: K**, Q** or Q** + diag(K** - Q**). All matrices are column-major.
 *
 * With neighbours, S = Q + A^-1 D A^-T: row i of the unit lower matrix A subtracts the regression on its nearest
 * earlier rows from the part of row i that the knots leave, and D_i is the variance that remains. S is the covariance
 * that these regressions imply for all rows. */
#ifndef TEST_DENSE_H
#define TEST_DENSE_H

#include "kernel/leaf.h"
#include "objective/objective.h"
#include "rows/layout.h"
#include "support.h"

typedef long double real;

/* ---- tables ---------------------------------------------------------------------------------------------------- */

typedef enum dense_prior { PRIOR_K, PRIOR_Q, PRIOR_Q_DIAGONAL } dense_prior;
typedef enum dense_penalty { PENALTY_NONE, PENALTY_TRACE, PENALTY_LOG, PENALTY_POWER } dense_penalty;

typedef struct dense_model {
  const char *name;
  bool sparse;
  double alpha; /* negative: the setting */
  dense_penalty penalty;
  dense_prior prior;
} dense_model;

static inline const dense_model *dense_model_of(const oat_approx *approx) {
  static const dense_model rows[] = {
      {"full", false, 0, PENALTY_NONE, PRIOR_K},        {"dic", true, 0, PENALTY_NONE, PRIOR_Q},
      {"dtc", true, 0, PENALTY_NONE, PRIOR_K},          {"vfe", true, 0, PENALTY_TRACE, PRIOR_K},
      {"fitc", true, 1, PENALTY_NONE, PRIOR_K},         {"pep", true, -1, PENALTY_POWER, PRIOR_K},
      {"fic", true, 1, PENALTY_NONE, PRIOR_Q_DIAGONAL}, {"tvfe", true, 0, PENALTY_LOG, PRIOR_K},
  };
  for (size_t i = 0; i < LENGTH(rows); i++) {
    if (strcmp(rows[i].name, approx->name) == 0) {
      return &rows[i];
    }
  }
  fail_msg("model %s has no row in tests/dense.h: add it", approx->name);
  return NULL;
}

/* ---- linear algebra -------------------------------------------------------------------------------------------- */

static inline real *dense_new(size_t rows, size_t columns) {
  real *a = calloc(rows * columns + 1, sizeof *a);
  assert_non_null(a);
  return a;
}

/* Lower factor in place. */
static inline void dense_cholesky(size_t n, real *a) {
  for (size_t j = 0; j < n; j++) {
    for (size_t i = j; i < n; i++) {
      real sum = a[i + j * n];
      for (size_t l = 0; l < j; l++) {
        sum -= a[i + l * n] * a[j + l * n];
      }
      if (i == j && !(sum > 0)) {
        fail_msg("the reference met pivot %zu of %zu, which is %Lg", j + 1, n, sum);
      }
      a[i + j * n] = i == j ? sqrtl(sum) : sum / a[j + j * n];
    }
  }
}

/* b <- (L L^T)^-1 b for each of `columns` columns. */
static inline void dense_solve(size_t n, const real *l, real *b, size_t columns) {
  for (real *x = b; x < b + n * columns; x += n) {
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < i; j++) {
        x[i] -= l[i + j * n] * x[j];
      }
      x[i] /= l[i + i * n];
    }
    for (size_t i = n; i-- > 0;) {
      for (size_t j = i + 1; j < n; j++) {
        x[i] -= l[j + i * n] * x[j];
      }
      x[i] /= l[i + i * n];
    }
  }
}

static inline real dense_dot(size_t n, const real *a, const real *b) {
  real sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* A^T B, of n rows each. */
static inline real *dense_product(size_t n, const real *a, size_t rows, const real *b, size_t columns) {
  real *c = dense_new(rows, columns);
  for (size_t j = 0; j < columns; j++) {
    for (size_t i = 0; i < rows; i++) {
      c[i + j * rows] = dense_dot(n, a + i * n, b + j * n);
    }
  }
  return c;
}

/* ---- the model at one point ------------------------------------------------------------------------------------ */

/* A node of an expression between point i of x and point c of z. */
static inline real dense_node(const oat_covariance *cov, size_t at, oat_points x, size_t i, oat_points z, size_t c) {
  const oat_expression *e = cov->expression;
  const oat_node *node = &e->node[at];
  const double *parameter = cov->theta + OAT_LENGTHSCALE;
  const real sigma = node->sigma != OAT_NO_PLACE ? parameter[node->sigma] : 1;
  real value = 1;
  if (node->kind == OAT_NODE_LEAF) {
    const oat_leaf *leaf = &e->leaf[node->leaf];
    const oat_leaf_at one = {
        .leaf = leaf, .parameter = parameter + leaf->parameter, .x = x.a, .ldx = x.ld, .z = z.a + c, .ldz = z.ld};
    value = oat_leaf_of(leaf->kind)->formula(&one, i);
  } else if (node->kind == OAT_NODE_POWER) {
    for (unsigned p = 0; p < node->power; p++) {
      value *= dense_node(cov, node->left, x, i, z, c);
    }
  } else {
    const real left = dense_node(cov, node->left, x, i, z, c), right = dense_node(cov, node->right, x, i, z, c);
    value = node->kind == OAT_NODE_SUM ? left + right : left * right;
  }
  return sigma * sigma * value;
}

static inline real dense_stationary(const oat_covariance *cov, oat_points x, size_t i, oat_points z, size_t c) {
  const oat_kernel *kernel = oat_kernel_at(cov->id);
  const real sigma = cov->theta[OAT_SIGMA];
  real s = 0;
  for (size_t j = 0; j < cov->d; j++) {
    const real t = ((real)x.a[i + j * x.ld] - z.a[c + j * z.ld]) / cov->theta[OAT_LENGTHSCALE + (kernel->ard ? j : 0)];
    s += t * t;
  }
  return sigma * sigma * kernel->profile->formula(s, cov->theta[OAT_SHAPE]);
}

static inline real dense_kernel(const oat_covariance *cov, oat_points x, size_t i, oat_points z, size_t c) {
  return cov->expression != NULL ? dense_node(cov, cov->expression->nodes - 1, x, i, z, c)
                                 : dense_stationary(cov, x, i, z, c);
}

/* k(x_i, z_c) as x.n x z.n matrix. */
static inline real *dense_cross(const oat_covariance *cov, oat_points x, oat_points z) {
  real *k = dense_new(x.n, z.n);
  for (size_t c = 0; c < z.n; c++) {
    for (size_t i = 0; i < x.n; i++) {
      k[i + c * x.n] = dense_kernel(cov, x, i, z, c);
    }
  }
  return k;
}

/* The mean of k(x, x). */
static inline real dense_share(const oat_covariance *cov, oat_points x) {
  real sum = 0;
  for (size_t i = 0; i < x.n; i++) {
    sum += dense_kernel(cov, x, i, x, i);
  }
  return sum / (real)x.n;
}

typedef struct dense {
  const dense_model *model;
  oat_covariance cov;
  oat_points knots, rows;
  size_t n, k, p;  /* k = 0 for the full GP */
  real *kuu, *kuf; /* factor of Kuu with its jitter; k x n */
  real *a;         /* k x n: Kuu^-1 Kuf */
  real *noise;     /* n */
  real *local;     /* n x n, with neighbours: A^-1 D A^-T */
  real *s;         /* n x n: factor of S */
  real *pull;      /* n: S^-1 (r - H beta) */
  real *beta;      /* p */
  real value;
} dense;

static inline void dense_free(dense *m) {
  real *const blocks[] = {m->kuu, m->kuf, m->a, m->noise, m->local, m->s, m->pull, m->beta};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
}

static inline void dense_add_diagonal(size_t n, real *a, real value) {
  for (size_t i = 0; i < n; i++) {
    a[i * (n + 1)] += value;
  }
}

/* Q or, for the full GP, K; not yet with the noise. */
static inline void dense_explain(dense *m, double jitter) {
  const real delta = jitter * dense_share(&m->cov, m->k == 0 ? m->rows : m->knots);
  if (m->k == 0) {
    m->s = dense_cross(&m->cov, m->rows, m->rows);
    dense_add_diagonal(m->n, m->s, delta);
    return;
  }
  m->kuu = dense_cross(&m->cov, m->knots, m->knots);
  dense_add_diagonal(m->k, m->kuu, delta);
  dense_cholesky(m->k, m->kuu);
  m->kuf = dense_cross(&m->cov, m->knots, m->rows);
  m->a = dense_cross(&m->cov, m->knots, m->rows);
  dense_solve(m->k, m->kuu, m->a, m->n);
  m->s = dense_product(m->k, m->kuf, m->n, m->a, m->n);
}

/* Adds lambda to the diagonal of S; returns the penalty. */
static inline real dense_add_noise(dense *m, const oat_rows *rows, double tau, real alpha) {
  real penalty = 0;
  m->noise = dense_new(m->n, 1);
  for (size_t i = 0; i < m->n; i++) {
    real *diagonal = m->s + i * (m->n + 1);
    const real g = m->k > 0 ? dense_kernel(&m->cov, m->rows, i, m->rows, i) - *diagonal : 0;
    const real n = (real)tau * tau * (rows->noise_scale != NULL ? rows->noise_scale[i] : 1) +
                   (rows->noise_add != NULL ? rows->noise_add[i] : 0);
    m->noise[i] = n;
    *diagonal += n + alpha * g;
    if (m->model->penalty == PENALTY_TRACE) {
      penalty -= g / (2 * n);
    } else if (m->model->penalty == PENALTY_LOG) {
      penalty -= log1pl(g / n) / 2;
    } else if (m->model->penalty == PENALTY_POWER) {
      penalty -= (1 - alpha) / (2 * alpha) * log1pl(alpha * g / n);
    }
  }
  return penalty;
}

/* ---- neighbours ------------------------------------------------------------------------------------------------ */

/* The nearest of the first `count` rows to a point, by inputs divided by lengthscales; of equals the first. Returns how
 * many. */
static inline size_t dense_nearest(const dense *m, const double *x, size_t ldx, size_t count, size_t most,
                                   size_t *list) {
  real *distance = dense_new(count, 1);
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < m->cov.d; j++) {
      const real t = ((real)x[j * ldx] - m->rows.a[i + j * m->rows.ld]) / oat_kernel_lengthscale(&m->cov, j);
      distance[i] += t * t;
    }
  }
  for (; found < most && found < count; found++) {
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
      best = distance[i] >= 0 && (best == count || distance[i] < distance[best]) ? i : best;
    }
    distance[best] = -1; /* taken */
    list[found] = best;
  }
  free(distance);
  return found;
}

/* K - Q between the rows, the part that the knots leave, with the noise on the diagonal. `q` is Q. */
static inline real *dense_left(const dense *m, const real *q) {
  real *left = dense_cross(&m->cov, m->rows, m->rows);
  for (size_t i = 0; i < m->n * m->n; i++) {
    left[i] += (i % (m->n + 1) == 0 ? m->noise[i / (m->n + 1)] : 0) - q[i];
  }
  return left;
}

/* b <- the regression on some rows of a variable with the covariance c (n) with all rows; returns b . c. */
static inline real dense_regress(const dense *m, const real *left, const real *c, size_t count, const size_t *list,
                                 real *b) {
  real *inner = dense_new(count, count), sum = 0;
  for (size_t i = 0; i < count * count; i++) {
    inner[i] = left[list[i % count] + list[i / count] * m->n];
  }
  for (size_t i = 0; i < count; i++) {
    b[i] = c[list[i]];
  }
  dense_cholesky(count, inner);
  dense_solve(count, inner, b, 1);
  for (size_t i = 0; i < count; i++) {
    sum += b[i] * c[list[i]];
  }
  free(inner);
  return sum;
}

/* local: row i is its regression on earlier rows and D_i of its own, so its covariance with row j < i is that of the
 * regression. */
static inline void dense_chain(dense *m, const real *left, size_t most) {
  const size_t n = m->n;
  size_t *list = calloc(n, sizeof *list);
  real *b = dense_new(n, 1);
  m->local = dense_new(n, n);
  for (size_t i = 0; i < n; i++) {
    const size_t count = dense_nearest(m, m->rows.a + i, m->rows.ld, i, most, list);
    m->local[i * (n + 1)] = left[i * (n + 1)] - dense_regress(m, left, left + i * n, count, list, b);
    for (size_t j = 0; j < i; j++) {
      for (size_t a = 0; a < count; a++) {
        m->local[i + j * n] += b[a] * m->local[list[a] + j * n];
      }
      m->local[j + i * n] = m->local[i + j * n];
    }
    for (size_t a = 0; a < count; a++) {
      m->local[i * (n + 1)] += b[a] * m->local[i + list[a] * n];
    }
  }
  free(list);
  free(b);
}

/* S from Q alone, which is in its place. */
static inline void dense_add_neighbours(dense *m, const real *q, size_t most) {
  real *left = dense_left(m, q);
  dense_chain(m, left, most);
  for (size_t i = 0; i < m->n * m->n; i++) {
    m->s[i] = q[i] + m->local[i];
  }
  free(left);
}

/* beta, then pull; returns r'^T S^-1 r' of r' = r - H beta. S is a factor by now. */
static inline real dense_least_squares(dense *m, const oat_rows *rows) {
  const size_t n = m->n, p = m->p;
  real *h = dense_new(n, 1 + p), *sh = dense_new(n, 1 + p);
  for (size_t i = 0; i < n * (1 + p); i++) {
    h[i] = sh[i] = rows->r[i];
  }
  dense_solve(n, m->s, sh, 1 + p);
  real *gram = dense_product(n, h + n, p, sh + n, p);
  m->beta = dense_product(n, h + n, p, sh, 1);
  dense_cholesky(p, gram);
  dense_solve(p, gram, m->beta, 1);
  m->pull = dense_new(n, 1);
  real sum = 0;
  for (size_t i = 0; i < n; i++) {
    real residual = h[i];
    m->pull[i] = sh[i];
    for (size_t j = 0; j < p; j++) {
      residual -= m->beta[j] * h[i + (1 + j) * n];
      m->pull[i] -= m->beta[j] * sh[i + (1 + j) * n];
    }
    sum += residual * m->pull[i];
  }
  free(h);
  free(sh);
  free(gram);
  return sum;
}

static inline dense dense_make(const oat_objective_config *config, const oat_point *point) {
  const oat_rows *rows = config->rows;
  dense m = {.model = dense_model_of(config->approx), .n = rows->n, .p = rows->p, .rows = {rows->x, rows->n, rows->n}};
  m.cov = oat_covariance_at(config->kernel, rows->d, point->theta);
  m.k = m.model->sparse ? config->k : 0;
  m.knots = (oat_points){point->z, m.k, m.k};
  dense_explain(&m, config->jitter);
  real *q = dense_new(m.n, m.n);
  memcpy(q, m.s, m.n * m.n * sizeof *q);
  const real penalty =
      dense_add_noise(&m, rows, point->theta[OAT_TAU], m.model->alpha < 0 ? config->alpha : m.model->alpha);
  if (config->neighbours > 0) {
    dense_add_neighbours(&m, q, config->neighbours);
  }
  free(q);
  dense_cholesky(m.n, m.s);
  m.value = penalty - dense_least_squares(&m, rows) / 2;
  for (size_t i = 0; i < m.n; i++) {
    m.value -= logl(m.s[i * (m.n + 1)]) + logl(2 * acosl(-1)) / 2;
  }
  return m;
}

/* ---- posterior ------------------------------------------------------------------------------------------------- */

/* k(x_i, points) in the model: Qf*, n x m; and in *q, if that is not NULL, Q** (or K** for the full GP). */
static inline real *dense_towards(const dense *m, oat_points points, real **q) {
  if (m->k == 0) {
    *q = dense_cross(&m->cov, points, points);
    return dense_cross(&m->cov, m->rows, points);
  }
  real *kus = dense_cross(&m->cov, m->knots, points), *solved = dense_cross(&m->cov, m->knots, points);
  dense_solve(m->k, m->kuu, solved, points.n);
  *q = dense_product(m->k, kus, points.n, solved, points.n);
  real *qfs = dense_product(m->k, m->kuf, m->n, solved, points.n);
  free(kus);
  free(solved);
  return qfs;
}

/* Mean of f without H beta, and its variance, at a point that is predicted from its nearest rows and the knots: the
 * part that the knots leave is a regression on these rows, from which its covariances with all rows follow. */
static inline void dense_predict_near(const dense *m, const double *x, size_t ldx, size_t most, real *mean,
                                      real *variance) {
  const size_t n = m->n;
  const oat_points point = {x, 1, ldx};
  size_t *list = calloc(n, sizeof *list), count = dense_nearest(m, x, ldx, n, most, list);
  real *prior = dense_cross(&m->cov, point, point), *q = NULL, *c = dense_towards(m, point, &q),
       *k = dense_cross(&m->cov, m->rows, point), *b = dense_new(n, 1), *own = dense_product(m->k, m->kuf, n, m->a, n),
       *left = dense_left(m, own), *with = dense_new(n, 1);
  for (size_t i = 0; i < n; i++) {
    k[i] -= c[i];
  }
  *variance = *prior - dense_regress(m, left, k, count, list, b);
  for (size_t a = 0; a < count; a++) {
    for (size_t i = 0; i < n; i++) {
      c[i] += b[a] * m->local[i + list[a] * n];
    }
    for (size_t j = 0; j < count; j++) {
      *variance += b[a] * b[j] * m->local[list[a] + list[j] * n];
    }
  }
  memcpy(with, c, n * sizeof *c);
  dense_solve(n, m->s, with, 1);
  *mean = dense_dot(n, c, m->pull);
  *variance -= dense_dot(n, c, with);
  real *const blocks[] = {prior, q, c, k, b, own, left, with};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
  free(list);
}

/* For each of some points, -b at the rows from which it is predicted: n x points.n. */
static inline real *dense_row_weights(const dense *m, oat_points points, size_t most) {
  size_t *list = calloc(m->n, sizeof *list);
  real *own = dense_product(m->k, m->kuf, m->n, m->a, m->n), *left = dense_left(m, own),
       *weight = dense_new(m->n, points.n), *q = NULL;
  real *towards = dense_towards(m, points, &q), *c = dense_cross(&m->cov, m->rows, points), *b = dense_new(m->n, 1);
  for (size_t i = 0; i < points.n; i++) {
    const size_t count = dense_nearest(m, points.a + i, points.ld, m->n, most, list);
    for (size_t j = 0; j < m->n; j++) {
      c[j + i * m->n] -= towards[j + i * m->n];
    }
    dense_regress(m, left, c + i * m->n, count, list, b);
    for (size_t a = 0; a < count; a++) {
      weight[list[a] + i * m->n] = -b[a];
    }
  }
  real *const blocks[] = {own, left, q, towards, c, b};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
  free(list);
  return weight;
}

/* The covariance of the errors of such predictions: with A the weights of f at the points (1) and of the rows' targets
 * (-b), and P their product with the kernel between rows and knots, A^T (K + noise) A - P^T Kuu^-1 P + P^T (Kuu + Kuf
 * local^-1 Kfu)^-1 P. */
static inline void dense_joint_near(const dense *m, oat_points points, size_t most, real *covariance) {
  const size_t n = m->n, k = m->k, count = points.n;
  real *weight = dense_row_weights(m, points, most), *kuu = dense_cross(&m->cov, m->knots, m->knots),
       *local = dense_new(n, n), *pull = dense_new(n, k), *cross = dense_cross(&m->cov, m->rows, points),
       *knots = dense_cross(&m->cov, m->knots, points), *with = dense_cross(&m->cov, m->rows, m->rows),
       *prior = dense_cross(&m->cov, points, points);
  memcpy(local, m->local, n * n * sizeof *local);
  dense_cholesky(n, local);
  for (size_t i = 0; i < n * k; i++) {
    pull[i] = m->kuf[i / n + i % n * k];
  }
  dense_solve(n, local, pull, k);
  for (size_t i = 0; i < k * k; i++) { /* kuu: the posterior precision of the knots */
    const size_t a = i % k, b = i / k;
    real product = 0;
    for (size_t j = 0; j < n; j++) {
      product += m->kuf[a + j * k] * pull[j + b * n];
    }
    for (size_t j = 0; j <= (a < b ? a : b); j++) { /* the knots' own, with its jitter, from its factor */
      product += m->kuu[a + j * k] * m->kuu[b + j * k];
    }
    kuu[i] = product;
  }
  dense_cholesky(k, kuu);
  for (size_t i = 0; i < n; i++) {
    with[i * (n + 1)] += m->noise[i];
  }
  for (size_t i = 0; i < count; i++) { /* P */
    for (size_t j = 0; j < n; j++) {
      for (size_t c = 0; c < k; c++) {
        knots[c + i * k] += weight[j + i * n] * m->kuf[c + j * k];
      }
    }
  }
  real *before = dense_new(k, count), *after = dense_new(k, count);
  memcpy(before, knots, k * count * sizeof *before);
  memcpy(after, knots, k * count * sizeof *after);
  dense_solve(k, m->kuu, before, count);
  dense_solve(k, kuu, after, count);
  for (size_t i = 0; i < count * count; i++) {
    const real *a = weight + i % count * n, *b = weight + i / count * n;
    covariance[i] = prior[i] + dense_dot(n, a, cross + i / count * n) + dense_dot(n, b, cross + i % count * n) -
                    dense_dot(k, knots + i % count * k, before + i / count * k) +
                    dense_dot(k, knots + i % count * k, after + i / count * k);
    for (size_t j = 0; j < n; j++) {
      covariance[i] += b[j] * dense_dot(n, with + j * n, a);
    }
  }
  real *const blocks[] = {weight, kuu, local, pull, cross, knots, with, prior, before, after};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
}

/* Leave-one-out of each row, with the coefficients of the mean estimated without it: y - mean, and the variance of an
 * observation. */
static inline void dense_leave_out(const dense *m, const oat_rows *rows, real *error, real *variance) {
  const size_t n = m->n, p = m->p;
  real *inverse = dense_new(n, n), *h = dense_new(n, p), *sh = dense_new(n, p);
  for (size_t i = 0; i < n; i++) {
    inverse[i * (n + 1)] = 1;
  }
  for (size_t i = 0; i < n * p; i++) {
    h[i] = sh[i] = rows->r[i + n];
  }
  dense_solve(n, m->s, inverse, n);
  dense_solve(n, m->s, sh, p);
  real *gram = dense_product(n, h, p, sh, p), *row = dense_new(p, 1);
  dense_cholesky(p, gram);
  for (size_t i = 0; i < n; i++) {
    real projected = inverse[i * (n + 1)];
    for (size_t j = 0; j < p; j++) {
      row[j] = sh[i + j * n];
    }
    dense_solve(p, gram, row, 1);
    for (size_t j = 0; j < p; j++) {
      projected -= row[j] * sh[i + j * n];
    }
    error[i] = m->pull[i] / projected;
    variance[i] = 1 / inverse[i * (n + 1)];
  }
  real *const blocks[] = {inverse, h, sh, gram, row};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
}

/* Mean of f without H beta, and covariance, at the points. */
static inline void dense_predict(const dense *m, oat_points points, real *mean, real *covariance) {
  const size_t count = points.n;
  real *q = NULL, *qfs = dense_towards(m, points, &q), *solved = dense_new(m->n, count),
       *prior = dense_cross(&m->cov, points, points);
  memcpy(solved, qfs, m->n * count * sizeof *solved);
  dense_solve(m->n, m->s, solved, count);
  for (size_t j = 0; j < count; j++) {
    mean[j] = dense_dot(m->n, qfs + j * m->n, m->pull);
    for (size_t i = 0; i < count; i++) {
      const bool whole = m->model->prior == PRIOR_K || (m->model->prior == PRIOR_Q_DIAGONAL && i == j);
      covariance[i + j * count] =
          (whole ? prior : q)[i + j * count] - dense_dot(m->n, qfs + i * m->n, solved + j * m->n);
    }
  }
  free(q);
  free(qfs);
  free(solved);
  free(prior);
}

#endif
