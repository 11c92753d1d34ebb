/* The CPU backend: rows in blocks that stay in cache, BLAS inside a block.
 *
 * A block is rows x K with the row index fastest, so that V = Kfu L^-T is the right-side solve.
 * Pass 1: N K^2 (solve) + N K^2 (syrk). Pass 2, collapsed: 2 N K^2 (gemm), and the solve again if V was not kept.
 * Memory: lanes x ((2 K + about 150) x block + K^2) doubles, and N x K for V if the budget allows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cpu/threads.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"
#include "util/memory.h"

enum { ROW_VECTORS = 5, PANEL = 128, MOST_LANES = 16 }; /* PANEL: candidates at a time */
#define LANE_DOUBLES ((size_t)1 << 26)                  /* room for the K x K sums of all lanes: half a gigabyte */

/* Where one thread works: its own buffers and sums. Rows are dealt out to lanes block by block, in a way that depends on the data and the
 * number of knots alone, and the lanes' sums are added in their order: so the number of threads changes no bit. */
typedef struct lane {
  const oat_backend *backend;
  double *v, *t;            /* block x K each */
  double *panel;            /* block x PANEL */
  double *work;             /* of the kernel */
  double *row[ROW_VECTORS]; /* block each */
  double *sums;             /* of either pass */
} lane;

struct oat_backend {
  size_t block, max_knots;
  int64_t memory;
  int threads;
  oat_rows rows;
  double *cache; /* V of all rows, block after block, or NULL */
  size_t cached; /* number of knots of the V that the cache holds, 0 for none */
  size_t lanes;
  lane *lane;
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
  const size_t fitting = 32768 / (config->max_knots + 1) & ~(size_t)7; /* a quarter of a megabyte for V, if that is not too few rows */
  return fitting < 256 ? 256 : fitting > 512 ? 512 : fitting;
}

/* As many as there are blocks, at most MOST_LANES, and fewer when their K x K sums would be large. */
static size_t choose_lanes(const oat_backend *backend, const oat_rows *rows) {
  const size_t blocks = (rows->n + backend->block - 1) / backend->block, k = backend->max_knots;
  const size_t fitting = LANE_DOUBLES / (k * k + 1) + 1, most = fitting < MOST_LANES ? fitting : MOST_LANES;
  return blocks < most ? blocks : most;
}

static void free_lanes(oat_backend *backend) {
  for (size_t i = 0; backend->lane != NULL && i < backend->lanes; i++) {
    lane *l = &backend->lane[i];
    double *const arrays[] = {l->v, l->t, l->panel, l->work, l->sums};
    for (size_t j = 0; j < sizeof arrays / sizeof *arrays; j++) {
      free(arrays[j]);
    }
    for (int j = 0; j < ROW_VECTORS; j++) {
      free(l->row[j]);
    }
  }
  free(backend->lane);
  backend->lane = NULL;
}

static void cpu_close(oat_backend *backend) {
  if (backend != NULL) {
    free_lanes(backend);
    free(backend->cache);
    free(backend);
  }
}

static oatgp_status cpu_open(oatgp_context *ctx, const oat_backend_config *config, oat_backend **out) {
  const oatgp_status status = oat_new(ctx, 1, sizeof **out, out);
  if (status == OATGP_OK) {
    (*out)->block = choose_block(config);
    (*out)->max_knots = config->max_knots;
    (*out)->memory = config->memory;
    (*out)->threads = config->threads;
  }
  return status;
}

static oatgp_status make_lane(oatgp_context *ctx, const oat_backend *backend, lane *l) {
  const size_t k = backend->max_knots, d = backend->rows.d, width = 1 + backend->rows.p;
  const size_t first = k * width + width * width + OAT_SCALARS, second = d + k * d;
  oatgp_status status = OATGP_OK;
  l->backend = backend;
  TRY(oat_new_matrix(ctx, backend->block, k, &l->v));
  TRY(oat_new_matrix(ctx, backend->block, k, &l->t));
  TRY(oat_new_matrix(ctx, backend->block, PANEL, &l->panel));
  TRY(oat_new_matrix(ctx, oat_kernel_work(backend->block, d), 1, &l->work));
  TRY(oat_new_matrix(ctx, k * k + (first > second ? first : second), 1, &l->sums));
  for (int i = 0; i < ROW_VECTORS; i++) {
    TRY(oat_new_matrix(ctx, backend->block, 1, &l->row[i]));
  }
done:
  return status;
}

/* V of all rows is kept between the passes when it fits the budget; without it pass 2 makes it again. */
static oatgp_status cpu_load_rows(oatgp_context *ctx, oat_backend *backend, const oat_rows *rows) {
  oatgp_status status = OATGP_OK;
  free_lanes(backend);
  free(backend->cache);
  backend->cache = NULL;
  backend->cached = 0;
  backend->rows = *rows;
  backend->lanes = choose_lanes(backend, rows);
  TRY(oat_new(ctx, backend->lanes, sizeof *backend->lane, &backend->lane));
  for (size_t i = 0; i < backend->lanes; i++) {
    TRY(make_lane(ctx, backend, &backend->lane[i]));
  }
  const double bytes = (double)rows->n * (double)backend->max_knots * sizeof(double);
  if (bytes <= (double)backend->memory) {
    backend->cache = malloc(rows->n * backend->max_knots * sizeof(double) + 1);
  }
done:
  return status;
}

static void row_squares(oat_const_view v, double *q) {
  memset(q, 0, v.rows * sizeof *q);
  for (size_t c = 0; c < v.columns; c++) {
    oat_add_squares(v.rows, v.a + c * v.ld, q);
  }
}

/* Kfu of the block, then V = Kfu L^-T. */
static void make_v(const lane *l, const oat_sparse *sparse, oat_view v, size_t first) {
  const oat_points x = {l->backend->rows.x + first, v.rows, l->backend->rows.n};
  const oat_points z = {sparse->z, sparse->k, sparse->ldz};
  oat_kernel_cross(&sparse->cov, x, z, v.a, v.ld, l->work);
  oat_solve_right(sparse->l, sparse->k, OAT_TRANSPOSED, v);
}

static block get_block(const lane *l, const oat_sparse *sparse, size_t first) {
  const size_t left = l->backend->rows.n - first, n = left < l->backend->block ? left : l->backend->block;
  double *v = l->backend->cache != NULL ? l->backend->cache + first * sparse->k : l->v;
  block b = {first, n, {v, n, sparse->k, n}, l->row[0]};
  if (l->backend->cached != sparse->k) {
    make_v(l, sparse, b.v, first);
  }
  return b;
}

/* The same with |v_i|^2. */
static block get_block_with_q(const lane *l, const oat_sparse *sparse, size_t first) {
  const block b = get_block(l, sparse, first);
  row_squares(oat_as_const(b.v), l->row[0]);
  return b;
}

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
static void add_scalars(const lane *l, const oat_sparse *sparse, const block *b, double *w, double *scalar) {
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i);
    const double g = residual_variance(sparse, b->q[i]), lambda = n + sparse->alpha * g;
    w[i] = 1 / lambda;
    scalar[OAT_LOG_LAMBDA] += log(lambda);
    scalar[OAT_PENALTY] += penalty(sparse, g, n);
    scalar[OAT_G_OVER_N] += g / n;
    scalar[OAT_SUM_W] += w[i];
  }
}

static void add_right_sides(lane *l, const block *b, const double *w, oat_sums *sums) {
  const oat_rows *rows = &l->backend->rows;
  const size_t width = 1 + rows->p, k = b->v.columns;
  double *wr = l->row[2];
  for (size_t j = 0; j < width; j++) {
    const double *r = rows->r + j * rows->n + b->first;
    for (size_t i = 0; i < b->n; i++) {
      wr[i] = w[i] * r[i];
    }
    oat_gemv(1, oat_as_const(b->v), OAT_TRANSPOSED, wr, 1, sums->vwr + j * k);
    for (size_t i = 0; i < width; i++) {
      sums->rwr[i + j * width] += oat_dot(b->n, rows->r + i * rows->n + b->first, wr);
    }
  }
}

/* vwv += V^T W V: as T^T T with T = diag(sqrt(w)) V, or directly when all w are the same. */
static void add_products(lane *l, const oat_sparse *sparse, const block *b, const double *w, oat_sums *sums) {
  if (sparse->alpha == 0 && l->backend->rows.noise_scale == NULL && l->backend->rows.noise_add == NULL) {
    oat_syrk(w[0], oat_as_const(b->v), 1, oat_square(sums->vwv, sparse->k));
    return;
  }
  oat_view t = {l->t, b->n, b->v.columns, b->n};
  double *root = l->row[2];
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

/* All blocks of a lane. */
static void pass1_lane(lane *l, size_t index, const oat_sparse *sparse, oat_sums *sums) {
  const oat_backend *backend = l->backend;
  double *w = l->row[1];
  memset(sums->vwv, 0, sums->count * sizeof *sums->vwv);
  for (size_t first = index * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
    const block b = get_block_with_q(l, sparse, first);
    add_scalars(l, sparse, &b, w, sums->scalar);
    add_right_sides(l, &b, w, sums);
    add_products(l, sparse, &b, w, sums);
  }
}

/* The same shape as `sums`, in the memory of a lane. */
static oat_sums sums_of(const lane *l, const oat_sums *sums) {
  double *base = l->sums;
  return (oat_sums){sums->count, base, base + (sums->vwr - sums->vwv), base + (sums->rwr - sums->vwv), base + (sums->scalar - sums->vwv)};
}

static void add(size_t n, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += x[i];
  }
}

/* After a loop over all blocks: V is there for the next one, until knots or parameters change. */
static void keep_v(oat_backend *backend, const oat_sparse *sparse) { backend->cached = backend->cache != NULL ? sparse->k : 0; }

static oatgp_status cpu_pass1(oat_backend *backend, const oat_sparse *sparse, oat_sums *sums) {
  backend->cached = 0;
#pragma omp parallel for num_threads(oat_lane_threads(backend->threads)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    oat_sums own = sums_of(&backend->lane[i], sums);
    pass1_lane(&backend->lane[i], i, sparse, &own);
  }
  memcpy(sums->vwv, backend->lane[0].sums, sums->count * sizeof(double));
  for (size_t i = 1; i < backend->lanes; i++) {
    add(sums->count, backend->lane[i].sums, sums->vwv);
  }
  keep_v(backend, sparse);
  return OATGP_OK;
}

/* r_i - h_i . coefficient */
static void residuals(const lane *l, const block *b, const double *coefficient, double *r) {
  const oat_rows *rows = &l->backend->rows;
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
static void row_weights(lane *l, const oat_sparse *sparse, const block *b) {
  for (size_t i = 0; i < b->n; i++) {
    l->row[1][i] = 1 / oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i);
  }
}

/* dKfu of a block when alpha = 0: one product with a K x K matrix. */
static void collapsed_block(lane *l, const oat_sparse *sparse, const oat_adjoint *adjoint, const block *b, oat_view t) {
  double *w = l->row[1], *r = l->row[2];
  row_weights(l, sparse, b);
  residuals(l, b, adjoint->coefficient, r);
  oat_gemm(1, oat_as_const(b->v), OAT_PLAIN, oat_const_square(adjoint->product, sparse->k), OAT_PLAIN, 0, t);
  finish_collapsed(t, w, r, adjoint->le);
}

/* Per row: the derivatives in g_i and n_i (method: through lambda and through the penalty), given |LB^-1 v|^2 in vbv. */
static void row_adjoints(lane *l, const oat_sparse *sparse, const block *b, const double *vbv, oat_gradient_sums *sums) {
  double *w = l->row[1], *r = l->row[2], *ve = l->row[3], *dg = l->row[4];
  const double alpha = sparse->alpha, tau2 = sparse->tau * sparse->tau;
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i), g = residual_variance(sparse, b->q[i]);
    const double lambda = n + alpha * g, rest = r[i] - ve[i];
    w[i] = 1 / lambda;
    const double d_lambda = -0.5 * w[i] * (1 - w[i] * (vbv[i] + rest * rest));
    const double pen_g = alpha > 0 ? -0.5 * (1 - alpha) * w[i] : sparse->trace ? -0.5 / n : 0;
    dg[i] = alpha * d_lambda + pen_g;
    const double dn = d_lambda - pen_g * g / n;
    sums->dg += dg[i];
    sums->dn += dn * tau2 * oat_noise_scale(&l->backend->rows, b->first + i);
  }
}

/* dV of a block, for any alpha and noise: -W V B^-1 + w (r - ve) e^T - 2 diag(dg) V; t holds V B^-1 on entry. */
static void finish_general(lane *l, const block *b, const double *e, oat_view t) {
  const double *w = l->row[1], *r = l->row[2], *ve = l->row[3], *dg = l->row[4];
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
static void general_block(lane *l, const oat_sparse *sparse, const oat_adjoint *adjoint, const block *b, oat_view t,
                          oat_gradient_sums *sums) {
  const size_t k = sparse->k;
  double *vbv = l->work;
  oat_gemm(1, oat_as_const(b->v), OAT_PLAIN, oat_const_square(adjoint->product, k), OAT_PLAIN, 0, t);
  row_dots(oat_as_const(b->v), oat_as_const(t), vbv);
  residuals(l, b, adjoint->coefficient, l->row[2]);
  oat_gemv(1, oat_as_const(b->v), OAT_PLAIN, adjoint->e, 0, l->row[3]);
  row_adjoints(l, sparse, b, vbv, sums);
  finish_general(l, b, adjoint->e, t);
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

static void pass2_lane(lane *l, size_t index, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums) {
  const oat_backend *backend = l->backend;
  clear_gradient(sums);
  for (size_t first = index * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
    const block b = adjoint->collapsed ? get_block(l, sparse, first) : get_block_with_q(l, sparse, first);
    const oat_view t = {l->t, b.n, sparse->k, b.n};
    if (adjoint->collapsed) {
      collapsed_block(l, sparse, adjoint, &b, t);
    } else {
      general_block(l, sparse, adjoint, &b, t, sums);
    }
    const oat_points x = {backend->rows.x + first, b.n, backend->rows.n}, z = {sparse->z, sparse->k, sparse->ldz};
    oat_kernel_cross_adjoint(&sparse->cov, x, z, t.a, t.ld, l->work, &sums->kernel);
  }
}

static oat_gradient_sums gradient_sums_of(const lane *l, const oat_gradient_sums *sums) {
  const double *from = sums->kernel.log_lengthscale;
  oat_gradient_sums own = *sums;
  own.kernel.log_lengthscale = l->sums;
  own.kernel.z = sums->kernel.z != NULL ? l->sums + (sums->kernel.z - from) : NULL;
  own.s = l->sums + (sums->s - from);
  return own;
}

static oatgp_status cpu_pass2(oat_backend *backend, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums) {
  oat_gradient_sums own[MOST_LANES];
#pragma omp parallel for num_threads(oat_lane_threads(backend->threads)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    own[i] = gradient_sums_of(&backend->lane[i], sums);
    pass2_lane(&backend->lane[i], i, sparse, adjoint, &own[i]);
  }
  clear_gradient(sums);
  for (size_t i = 0; i < backend->lanes; i++) {
    add(sums->count, backend->lane[i].sums, sums->kernel.log_lengthscale);
    sums->kernel.log_sigma += own[i].kernel.log_sigma;
    sums->kernel.log_shape += own[i].kernel.log_shape;
    sums->dg += own[i].dg;
    sums->dn += own[i].dn;
  }
  return OATGP_OK;
}

/* E of a panel of candidates, then their sums; w of the block is in row[1]. */
static void weigh_panel(lane *l, const oat_sparse *sparse, const block *b, size_t first, oat_candidates *all) {
  const size_t m = all->points.n, count = m - first < PANEL ? m - first : PANEL, k = sparse->k;
  const oat_rows *rows = &l->backend->rows;
  const oat_points x = {rows->x + b->first, b->n, rows->n}, panel = {all->points.a + first, count, all->points.ld};
  const oat_view e = {l->panel, b->n, count, b->n};
  oat_kernel_cross(&sparse->cov, x, panel, e.a, e.ld, l->work);
  oat_gemm(-1, oat_as_const(b->v), OAT_PLAIN, (oat_const_view){all->v + first, count, k, m}, OAT_TRANSPOSED, 1, e);
  for (size_t c = 0; c < count; c++) {
    double *column = e.a + c * e.ld;
    all->ee[first + c] += oat_weighted_squares(b->n, l->row[1], column); /* column becomes w E */
    for (size_t j = 0; j <= rows->p; j++) {
      all->er[first + c + j * m] += oat_sum_products(b->n, column, rows->r + j * rows->n + b->first);
    }
  }
  oat_gemm(1, oat_as_const(b->v), OAT_TRANSPOSED, oat_as_const(e), OAT_PLAIN, 1, (oat_view){all->ve + first * k, k, count, k});
}

/* V of all rows into the cache, if it is not there. */
static void fill_cache(oat_backend *backend, const oat_sparse *sparse) {
  if (backend->cached == sparse->k) {
    return;
  }
#pragma omp parallel for num_threads(oat_lane_threads(backend->threads)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    for (size_t first = i * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
      get_block(&backend->lane[i], sparse, first);
    }
  }
  keep_v(backend, sparse);
}

/* Candidates first, first + step, .. of all, panel by panel, over all rows. */
static void weigh_candidates(lane *l, const oat_sparse *sparse, size_t start, size_t step, oat_candidates *all) {
  const oat_backend *backend = l->backend;
  for (size_t first = 0; first < backend->rows.n; first += backend->block) {
    const block b = get_block(l, sparse, first);
    row_weights(l, sparse, &b);
    for (size_t c = start; c < all->points.n; c += step) {
      weigh_panel(l, sparse, &b, c, all);
    }
  }
}

/* 4 N K m flops and the kernel. With V at hand the candidates are shared out, and each one's sums run over the rows in their order; without
 * it one lane makes V block by block. */
static oatgp_status cpu_weigh(oat_backend *backend, const oat_sparse *sparse, oat_candidates *candidates) {
  memset(candidates->ee, 0, candidates->points.n * (2 + backend->rows.p + sparse->k) * sizeof(double));
  if (backend->cache == NULL) {
    weigh_candidates(&backend->lane[0], sparse, 0, PANEL, candidates);
    return OATGP_OK;
  }
  fill_cache(backend, sparse);
#pragma omp parallel for num_threads(oat_lane_threads(backend->threads)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    weigh_candidates(&backend->lane[i], sparse, i * PANEL, backend->lanes * PANEL, candidates);
  }
  return OATGP_OK;
}

static void predict_lane(lane *l, size_t index, const oat_sparse *sparse, const double *lb, const double *c,
                         const oat_row_predictions *out) {
  const oat_backend *backend = l->backend;
  for (size_t first = index * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
    const block b = get_block_with_q(l, sparse, first);
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
}

static oatgp_status cpu_predict(oat_backend *backend, const oat_sparse *sparse, const double *lb, const double *c,
                                const oat_row_predictions *out) {
  backend->cached = 0;
#pragma omp parallel for num_threads(oat_lane_threads(backend->threads)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    predict_lane(&backend->lane[i], i, sparse, lb, c, out);
  }
  return OATGP_OK;
}

const oat_backend_table oat_backend_cpu = {"cpu", cpu_open, cpu_load_rows, cpu_pass1, cpu_pass2, cpu_weigh, cpu_predict, cpu_close};
