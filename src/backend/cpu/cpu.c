/* The CPU backend: rows in blocks that stay in cache, BLAS inside a block.
 *
 * A block is rows x K with the row index fastest, so that V = Kfu L^-T is the right-side solve.
 * Pass 1: N K^2 (solve) + N K^2 (syrk). Pass 2, collapsed: 2 N K^2 (gemm), and the solve again if V was not kept.
 * Memory: (2 K + about 20) x block doubles, and N x K for V if the budget allows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"
#include "util/memory.h"

enum { ROW_VECTORS = 5, PANEL = 128 }; /* PANEL: candidates at a time */

struct oat_backend {
  size_t block, max_knots;
  int64_t memory;
  oat_rows rows;
  double *cache;            /* V of all rows, block after block, or NULL */
  size_t cached;            /* number of knots of the V that the cache holds, 0 for none */
  double *v, *t;            /* block x K each */
  double *panel;            /* block x PANEL */
  double *work;             /* of the kernel */
  double *row[ROW_VECTORS]; /* block each */
};

/* The rows first .. first + n - 1 under work. */
typedef struct block {
  size_t first, n;
  oat_view v;
  const double *q; /* |v_i|^2, if asked for */
} block;

static size_t choose_block(const oat_backend_config *config) {
  if (config->block > 0) {
    return config->block;
  }
  const size_t fitting = 65536 / (config->max_knots + 1) & ~(size_t)7; /* half a megabyte for V */
  return fitting < 128 ? 128 : fitting > 1024 ? 1024 : fitting;
}

static void cpu_close(oat_backend *backend) {
  if (backend == NULL) {
    return;
  }
  free(backend->cache);
  free(backend->v);
  free(backend->t);
  free(backend->panel);
  free(backend->work);
  for (int i = 0; i < ROW_VECTORS; i++) {
    free(backend->row[i]);
  }
  free(backend);
}

static oatgp_status cpu_open(oatgp_context *ctx, const oat_backend_config *config, oat_backend **out) {
  oat_backend *backend = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 1, sizeof *backend, &backend));
  backend->block = choose_block(config);
  backend->max_knots = config->max_knots;
  backend->memory = config->memory;
  TRY(oat_new_matrix(ctx, backend->block, config->max_knots, &backend->v));
  TRY(oat_new_matrix(ctx, backend->block, config->max_knots, &backend->t));
  TRY(oat_new_matrix(ctx, backend->block, PANEL, &backend->panel));
  for (int i = 0; i < ROW_VECTORS; i++) {
    TRY(oat_new_matrix(ctx, backend->block, 1, &backend->row[i]));
  }
  *out = backend;
  return OATGP_OK;
done:
  cpu_close(backend);
  return status;
}

/* V of all rows is kept between the passes when it fits the budget; without it pass 2 makes it again. */
static oatgp_status cpu_load_rows(oatgp_context *ctx, oat_backend *backend, const oat_rows *rows) {
  free(backend->cache);
  free(backend->work);
  backend->cache = NULL;
  backend->work = NULL;
  backend->cached = 0;
  backend->rows = *rows;
  const double bytes = (double)rows->n * (double)backend->max_knots * sizeof(double);
  if (bytes <= (double)backend->memory) {
    backend->cache = malloc(rows->n * backend->max_knots * sizeof(double) + 1);
  }
  return oat_new_matrix(ctx, oat_kernel_work(backend->block, rows->d), 1, &backend->work);
}

static void row_squares(oat_const_view v, double *q) {
  memset(q, 0, v.rows * sizeof *q);
  for (size_t c = 0; c < v.columns; c++) {
    oat_add_squares(v.rows, v.a + c * v.ld, q);
  }
}

/* Kfu of the block, then V = Kfu L^-T. */
static void make_v(const oat_backend *backend, const oat_sparse *sparse, oat_view v, size_t first) {
  const oat_points x = {backend->rows.x + first, v.rows, backend->rows.n};
  const oat_points z = {sparse->z, sparse->k, sparse->ldz};
  oat_kernel_cross(&sparse->cov, x, z, v.a, v.ld, backend->work);
  oat_solve_right(sparse->l, sparse->k, OAT_TRANSPOSED, v);
}

static block get_block(const oat_backend *backend, const oat_sparse *sparse, size_t first) {
  const size_t left = backend->rows.n - first, n = left < backend->block ? left : backend->block;
  double *v = backend->cache != NULL ? backend->cache + first * sparse->k : backend->v;
  block b = {first, n, {v, n, sparse->k, n}, backend->row[0]};
  if (backend->cached != sparse->k) {
    make_v(backend, sparse, b.v, first);
  }
  return b;
}

/* The same with |v_i|^2. */
static block get_block_with_q(const oat_backend *backend, const oat_sparse *sparse, size_t first) {
  const block b = get_block(backend, sparse, first);
  row_squares(oat_as_const(b.v), backend->row[0]);
  return b;
}

/* After a loop over all blocks: V is there for the next one, until knots or parameters change. */
static void keep_v(oat_backend *backend, const oat_sparse *sparse) { backend->cached = backend->cache != NULL ? sparse->k : 0; }

/* g_i is never negative but for rounding. */
static double residual_variance(const oat_sparse *sparse, double q) { return fmax(sparse->cov.sigma * sparse->cov.sigma - q, 0); }

static double penalty(const oat_sparse *sparse, double g, double n) {
  const double alpha = sparse->alpha;
  if (alpha > 0) {
    return -(1 - alpha) / (2 * alpha) * log1p(alpha * g / n);
  }
  return sparse->trace ? -0.5 * g / n : 0;
}

/* w_i of the block's rows, and the scalar sums. */
static void add_scalars(const oat_backend *backend, const oat_sparse *sparse, const block *b, double *w, double *scalar) {
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_noise_variance(&backend->rows, sparse->tau, b->first + i);
    const double g = residual_variance(sparse, b->q[i]), lambda = n + sparse->alpha * g;
    w[i] = 1 / lambda;
    scalar[OAT_LOG_LAMBDA] += log(lambda);
    scalar[OAT_PENALTY] += penalty(sparse, g, n);
    scalar[OAT_G_OVER_N] += g / n;
    scalar[OAT_SUM_W] += w[i];
  }
}

static void add_right_sides(oat_backend *backend, const block *b, const double *w, oat_sums *sums) {
  const oat_rows *rows = &backend->rows;
  const size_t width = 1 + rows->p, k = b->v.columns;
  double *wr = backend->row[2];
  for (size_t j = 0; j < width; j++) {
    const double *r = rows->r + j * rows->n + b->first;
    for (size_t i = 0; i < b->n; i++) {
      wr[i] = w[i] * r[i];
    }
    oat_gemv(1, oat_as_const(b->v), OAT_TRANSPOSED, wr, 1, sums->vwr + j * k);
    for (size_t l = 0; l < width; l++) {
      sums->rwr[l + j * width] += oat_dot(b->n, rows->r + l * rows->n + b->first, wr);
    }
  }
}

/* vwv += V^T W V: as T^T T with T = diag(sqrt(w)) V, or directly when all w are the same. */
static void add_products(oat_backend *backend, const oat_sparse *sparse, const block *b, const double *w, oat_sums *sums) {
  if (sparse->alpha == 0 && backend->rows.noise_scale == NULL && backend->rows.noise_add == NULL) {
    oat_syrk(w[0], oat_as_const(b->v), 1, oat_square(sums->vwv, sparse->k));
    return;
  }
  oat_view t = {backend->t, b->n, b->v.columns, b->n};
  double *root = backend->row[2];
  for (size_t i = 0; i < b->n; i++) {
    root[i] = sqrt(w[i]);
  }
  for (size_t c = 0; c < t.columns; c++) {
    for (size_t i = 0; i < b->n; i++) {
      t.a[i + c * t.ld] = root[i] * b->v.a[i + c * b->v.ld];
    }
  }
  oat_syrk(1, oat_as_const(t), 1, oat_square(sums->vwv, t.columns));
}

static oatgp_status cpu_pass1(oat_backend *backend, const oat_sparse *sparse, oat_sums *sums) {
  memset(sums->vwv, 0, sums->count * sizeof *sums->vwv);
  backend->cached = 0;
  double *w = backend->row[1];
  for (size_t first = 0; first < backend->rows.n; first += backend->block) {
    const block b = get_block_with_q(backend, sparse, first);
    add_scalars(backend, sparse, &b, w, sums->scalar);
    add_right_sides(backend, &b, w, sums);
    add_products(backend, sparse, &b, w, sums);
  }
  keep_v(backend, sparse);
  return OATGP_OK;
}

/* r_i - h_i . coefficient */
static void residuals(const oat_backend *backend, const block *b, const double *coefficient, double *r) {
  const oat_rows *rows = &backend->rows;
  memcpy(r, rows->r + b->first, b->n * sizeof *r);
  for (size_t j = 0; j < rows->p; j++) {
    const double *h = rows->r + (1 + j) * rows->n + b->first;
    for (size_t i = 0; i < b->n; i++) {
      r[i] -= coefficient[j] * h[i];
    }
  }
}

/* T <- diag(w) (T + r le^T) */
static void finish_collapsed(oat_view t, const double *w, const double *r, const double *le) {
  for (size_t c = 0; c < t.columns; c++) {
    oat_weigh_sum(t.rows, w, le[c], r, t.a + c * t.ld);
  }
}

/* w_i = 1 / n_i, for alpha = 0 */
static void row_weights(oat_backend *backend, const oat_sparse *sparse, const block *b) {
  for (size_t i = 0; i < b->n; i++) {
    backend->row[1][i] = 1 / oat_noise_variance(&backend->rows, sparse->tau, b->first + i);
  }
}

/* dKfu of a block when alpha = 0: one product with a K x K matrix. */
static void collapsed_block(oat_backend *backend, const oat_sparse *sparse, const oat_adjoint *adjoint, const block *b, oat_view t) {
  double *w = backend->row[1], *r = backend->row[2];
  row_weights(backend, sparse, b);
  residuals(backend, b, adjoint->coefficient, r);
  oat_gemm(1, oat_as_const(b->v), OAT_PLAIN, oat_const_square(adjoint->product, sparse->k), OAT_PLAIN, 0, t);
  finish_collapsed(t, w, r, adjoint->le);
}

/* Per row: the derivatives in g_i and n_i (method: through lambda and through the penalty), given |LB^-1 v|^2 in vbv. */
static void row_adjoints(oat_backend *backend, const oat_sparse *sparse, const block *b, const double *vbv, oat_gradient_sums *sums) {
  double *w = backend->row[1], *r = backend->row[2], *ve = backend->row[3], *dg = backend->row[4];
  const double alpha = sparse->alpha, tau2 = sparse->tau * sparse->tau;
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_noise_variance(&backend->rows, sparse->tau, b->first + i), g = residual_variance(sparse, b->q[i]);
    const double lambda = n + alpha * g, rest = r[i] - ve[i];
    w[i] = 1 / lambda;
    const double d_lambda = -0.5 * w[i] * (1 - w[i] * (vbv[i] + rest * rest));
    const double pen_g = alpha > 0 ? -0.5 * (1 - alpha) * w[i] : sparse->trace ? -0.5 / n : 0;
    dg[i] = alpha * d_lambda + pen_g;
    const double dn = d_lambda - pen_g * g / n;
    sums->dg += dg[i];
    sums->dn += dn * tau2 * oat_noise_scale(&backend->rows, b->first + i);
  }
}

/* dV of a block, for any alpha and noise: -W V B^-1 + w (r - ve) e^T - 2 diag(dg) V; t holds V B^-1 on entry. */
static void finish_general(oat_backend *backend, const block *b, const double *e, oat_view t) {
  const double *w = backend->row[1], *r = backend->row[2], *ve = backend->row[3], *dg = backend->row[4];
  for (size_t c = 0; c < t.columns; c++) {
    double *column = t.a + c * t.ld;
    const double *v = b->v.a + c * b->v.ld;
    for (size_t i = 0; i < t.rows; i++) {
      column[i] = w[i] * ((r[i] - ve[i]) * e[c] - column[i]) - 2 * dg[i] * v[i];
    }
  }
}

static void row_dots(oat_const_view a, oat_const_view b, double *dots) {
  memset(dots, 0, a.rows * sizeof *dots);
  for (size_t c = 0; c < a.columns; c++) {
    for (size_t i = 0; i < a.rows; i++) {
      dots[i] += a.a[i + c * a.ld] * b.a[i + c * b.ld];
    }
  }
}

/* dKfu of a block for any alpha and noise: about twice the work of the collapsed one. */
static void general_block(oat_backend *backend, const oat_sparse *sparse, const oat_adjoint *adjoint, const block *b, oat_view t,
                          oat_gradient_sums *sums) {
  const size_t k = sparse->k;
  double *vbv = backend->work;
  oat_gemm(1, oat_as_const(b->v), OAT_PLAIN, oat_const_square(adjoint->product, k), OAT_PLAIN, 0, t);
  row_dots(oat_as_const(b->v), oat_as_const(t), vbv);
  residuals(backend, b, adjoint->coefficient, backend->row[2]);
  oat_gemv(1, oat_as_const(b->v), OAT_PLAIN, adjoint->e, 0, backend->row[3]);
  row_adjoints(backend, sparse, b, vbv, sums);
  finish_general(backend, b, adjoint->e, t);
  oat_gemm(1, oat_as_const(t), OAT_TRANSPOSED, oat_as_const(b->v), OAT_PLAIN, 1, oat_square(sums->s, k));
  oat_solve_right(sparse->l, k, OAT_PLAIN, t);
}

static void clear_gradient(oat_gradient_sums *sums) {
  memset(sums->kernel.log_lengthscale, 0, sums->count * sizeof(double));
  sums->kernel.log_sigma = 0;
  sums->kernel.log_shape = 0;
  sums->dg = 0;
  sums->dn = 0;
}

static oatgp_status cpu_pass2(oat_backend *backend, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums) {
  clear_gradient(sums);
  for (size_t first = 0; first < backend->rows.n; first += backend->block) {
    const block b = adjoint->collapsed ? get_block(backend, sparse, first) : get_block_with_q(backend, sparse, first);
    const oat_view t = {backend->t, b.n, sparse->k, b.n};
    if (adjoint->collapsed) {
      collapsed_block(backend, sparse, adjoint, &b, t);
    } else {
      general_block(backend, sparse, adjoint, &b, t, sums);
    }
    const oat_points x = {backend->rows.x + first, b.n, backend->rows.n}, z = {sparse->z, sparse->k, sparse->ldz};
    oat_kernel_cross_adjoint(&sparse->cov, x, z, t.a, t.ld, backend->work, &sums->kernel);
  }
  return OATGP_OK;
}

/* E of a panel of candidates, then their sums; w of the block is in row[1]. */
static void weigh_panel(oat_backend *backend, const oat_sparse *sparse, const block *b, size_t first, oat_candidates *all) {
  const size_t m = all->points.n, count = m - first < PANEL ? m - first : PANEL, k = sparse->k;
  const oat_rows *rows = &backend->rows;
  const oat_points x = {rows->x + b->first, b->n, rows->n}, panel = {all->points.a + first, count, all->points.ld};
  const oat_view e = {backend->panel, b->n, count, b->n};
  oat_kernel_cross(&sparse->cov, x, panel, e.a, e.ld, backend->work);
  oat_gemm(-1, oat_as_const(b->v), OAT_PLAIN, (oat_const_view){all->v + first, count, k, m}, OAT_TRANSPOSED, 1, e);
  for (size_t c = 0; c < count; c++) {
    double *column = e.a + c * e.ld;
    all->ee[first + c] += oat_weighted_squares(b->n, backend->row[1], column); /* column becomes w E */
    for (size_t l = 0; l <= rows->p; l++) {
      all->er[first + c + l * m] += oat_sum_products(b->n, column, rows->r + l * rows->n + b->first);
    }
  }
  oat_gemm(1, oat_as_const(b->v), OAT_TRANSPOSED, oat_as_const(e), OAT_PLAIN, 1, (oat_view){all->ve + first * k, k, count, k});
}

/* 4 N K m flops and the kernel. V is that of the latest pass if it was kept and has as many knots. */
static oatgp_status cpu_weigh(oat_backend *backend, const oat_sparse *sparse, oat_candidates *candidates) {
  const size_t m = candidates->points.n;
  memset(candidates->ee, 0, m * (2 + backend->rows.p + sparse->k) * sizeof(double));
  for (size_t first = 0; first < backend->rows.n; first += backend->block) {
    const block b = get_block(backend, sparse, first);
    row_weights(backend, sparse, &b);
    for (size_t c = 0; c < m; c += PANEL) {
      weigh_panel(backend, sparse, &b, c, candidates);
    }
  }
  keep_v(backend, sparse);
  return OATGP_OK;
}

static oatgp_status cpu_predict(oat_backend *backend, const oat_sparse *sparse, const double *lb, const double *c,
                                const oat_row_predictions *out) {
  backend->cached = 0;
  for (size_t first = 0; first < backend->rows.n; first += backend->block) {
    const block b = get_block_with_q(backend, sparse, first);
    if (out->q != NULL) {
      memcpy(out->q + first, b.q, b.n * sizeof(double));
    }
    if (lb != NULL) {
      oat_solve_right(lb, sparse->k, OAT_TRANSPOSED, b.v);
    }
    if (out->mean != NULL) {
      oat_gemv(1, oat_as_const(b.v), OAT_PLAIN, c, 0, out->mean + first);
    }
    if (out->u2 != NULL) {
      row_squares(oat_as_const(b.v), out->u2 + first);
    }
  }
  return OATGP_OK;
}

const oat_backend_table oat_backend_cpu = {"cpu", cpu_open, cpu_load_rows, cpu_pass1, cpu_pass2, cpu_weigh, cpu_predict, cpu_close};
