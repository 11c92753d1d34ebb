/* The CPU backend: rows in blocks that stay in cache, BLAS inside a block.
 *
 * A block is rows x K with the row index fastest, so that V = Kfu L^-T is the right-side solve.
 * Pass 1: N K^2 (solve) + N K^2 (syrk). Pass 2, collapsed: 2 N K^2 (gemm), and the solve again if V was not kept.
 * Memory: lanes x ((3 K + about 150) x block + K^2) doubles, and 2 N x K for V and the kernel's slopes if the budget allows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"
#include "util/memory.h"
#include "util/threads.h"

enum { ROW_VECTORS = 5, PANEL = 128, MOST_LANES = 16 }; /* PANEL: candidates at a time */
#define LANE_DOUBLES ((size_t)1 << 26)                  /* room for all lanes: half a gigabyte */

/* Where one thread works: its own buffers and sums. Rows are dealt out to lanes block by block, in a way that depends on the data and the
 * number of knots alone, and the lanes' sums are added in their order: so the number of threads changes no bit. */
typedef struct lane {
  oat_backend *backend;
  double *v, *slope, *t;    /* block x K each: V, phi' of the kernel, and what the adjoint of Kfu is made in */
  double *panel;            /* block x PANEL */
  double *work;             /* of the kernel */
  double *row[ROW_VECTORS]; /* block each */
  double *sums;             /* of either pass */
} lane;

struct oat_backend {
  oatgp_context *ctx;                    /* for progress alone */
  size_t done;                           /* rows of the loop that is under way */
  size_t wanted_block, block, max_knots; /* wanted: 0 to choose */
  int64_t memory;
  int threads;
  bool predicts;
  oat_rows rows;
  double *cache; /* of all rows, block after block, V and then the slopes; or NULL */
  size_t cached; /* number of knots of the V that the cache holds, 0 for none */
  bool slopes;   /* it holds their slopes, too */
  size_t lanes;
  lane *lane;
  double *room; /* for the two triangles: L, and LB in predictions */
  oat_triangle kuu, b;
};

/* The rows first .. first + n - 1 under work. */
typedef struct block {
  size_t first, n;
  oat_view v;
  double *slope;   /* with the leading dimension of v */
  const double *q; /* |v_i|^2, if asked for */
} block;

/* Rows at a time: many, so that each product is worth its overhead, but enough blocks for threads. No power of two, whose columns would
 * fall on the same places of a cache. */
static size_t choose_block(size_t wanted, size_t n) {
  const size_t eighth = (n / 8 + 8) & ~(size_t)7, chosen = eighth < 400 ? 400 : eighth > 632 ? 632 : eighth;
  return wanted > 0 ? wanted : chosen == 512 ? 520 : chosen;
}

/* As many as there are blocks, at most MOST_LANES, and fewer when there are not many rows for each K x K sum, or they need much memory. */
static size_t choose_lanes(const oat_backend *backend) {
  const size_t n = backend->rows.n, k = backend->max_knots, blocks = (n + backend->block - 1) / backend->block;
  size_t lanes = MOST_LANES;
  const size_t each = backend->predicts ? k * backend->block : k * (k + 3 * backend->block);
  while (lanes > 1 && (lanes > blocks || (lanes * 2 * k > n && !backend->predicts) || lanes * each > LANE_DOUBLES)) {
    lanes /= 2;
  }
  return lanes;
}

static void free_lanes(oat_backend *backend) {
  for (size_t i = 0; backend->lane != NULL && i < backend->lanes; i++) {
    lane *l = &backend->lane[i];
    double *const arrays[] = {l->v, l->slope, l->t, l->panel, l->work, l->sums};
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
    free(backend->room);
    free(backend);
  }
}

static int lane_threads(const oat_backend *backend) {
  const int threads = oat_lane_threads(backend->threads);
  return (size_t)threads < backend->lanes ? threads : (int)backend->lanes;
}

static oatgp_status cpu_open(oatgp_context *ctx, const oat_backend_config *config, oat_backend **out) {
  oat_backend *backend = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 1, sizeof *backend, &backend));
  TRY(oat_new_matrix(ctx, 2 * oat_triangle_room(config->max_knots), 1, &backend->room));
  backend->ctx = ctx;
  backend->wanted_block = config->block;
  backend->max_knots = config->max_knots;
  backend->memory = config->memory;
  backend->threads = config->threads;
  backend->predicts = config->predicts;
  *out = backend;
  return OATGP_OK;
done:
  cpu_close(backend);
  return status;
}

static oatgp_status make_lane(oatgp_context *ctx, oat_backend *backend, lane *l) {
  const size_t k = backend->max_knots, d = backend->rows.d, width = 1 + backend->rows.p;
  const size_t first = k * width + width * width + OAT_SCALARS, second = d + k * d;
  oatgp_status status = OATGP_OK;
  l->backend = backend;
  TRY(oat_new_matrix(ctx, backend->block, k, &l->v));
  TRY(oat_new_matrix(ctx, oat_kernel_work(backend->block, k > PANEL ? k : PANEL, d), 1, &l->work));
  for (int i = 0; i < ROW_VECTORS; i++) {
    TRY(oat_new_matrix(ctx, backend->block, 1, &l->row[i]));
  }
  if (!backend->predicts) {
    TRY(oat_new_matrix(ctx, backend->block, k, &l->slope));
    TRY(oat_new_matrix(ctx, backend->block, k, &l->t));
    TRY(oat_new_matrix(ctx, backend->block, PANEL, &l->panel));
    TRY(oat_new_matrix(ctx, k * k + (first > second ? first : second), 1, &l->sums));
  }
done:
  return status;
}

/* V and slopes of all rows are kept between the passes when they fit the budget; without them pass 2 makes them again. */
static oatgp_status cpu_load_rows(oatgp_context *ctx, oat_backend *backend, const oat_rows *rows) {
  oatgp_status status = OATGP_OK;
  free_lanes(backend);
  free(backend->cache);
  backend->cache = NULL;
  backend->cached = 0;
  backend->rows = *rows;
  backend->block = choose_block(backend->wanted_block, rows->n);
  backend->lanes = choose_lanes(backend);
  TRY(oat_new(ctx, backend->lanes, sizeof *backend->lane, &backend->lane));
  for (size_t i = 0; i < backend->lanes; i++) {
    TRY(make_lane(ctx, backend, &backend->lane[i]));
  }
  const double bytes = 2 * (double)rows->n * (double)backend->max_knots * sizeof(double);
  if (bytes <= (double)backend->memory) {
    backend->cache = malloc(2 * rows->n * backend->max_knots * sizeof(double) + 1);
  }
done:
  return status;
}

/* Kfu of the block and, if a pass 2 will follow, its slopes, then V = Kfu L^-T. */
static void make_v(const lane *l, const oat_sparse *sparse, const block *b) {
  const oat_points x = {l->backend->rows.x + b->first, b->n, l->backend->rows.n};
  const oat_points z = {sparse->z, sparse->k, sparse->ldz};
  oat_kernel_cross_slopes(&sparse->cov, x, z, b->v.a, sparse->slopes ? b->slope : NULL, b->v.ld, l->work);
  oat_triangle_solve(&l->backend->kuu, OAT_TRANSPOSED, b->v);
}

static block get_block(const lane *l, const oat_sparse *sparse, size_t first) {
  const oat_backend *backend = l->backend;
  const size_t left = backend->rows.n - first, n = left < backend->block ? left : backend->block, k = sparse->k;
  double *v = backend->cache != NULL ? backend->cache + 2 * first * k : l->v;
  const block b = {first, n, {v, n, k, n}, backend->cache != NULL ? v + n * k : l->slope, l->row[0]};
  if (backend->cached != k || (sparse->slopes && !backend->slopes)) {
    make_v(l, sparse, &b);
  }
  return b;
}

/* The same with |v_i|^2. */
static block get_block_with_q(const lane *l, const oat_sparse *sparse, size_t first) {
  const block b = get_block(l, sparse, first);
  oat_row_squares(b.n, b.v.columns, b.v.a, b.v.ld, l->row[0]);
  return b;
}

/* g_i is never negative but for rounding. */
static double residual_variance(const oat_sparse *sparse, double q) { return fmax(sparse->cov.sigma * sparse->cov.sigma - q, 0); }

/* w_i = 1 / n_i, for alpha = 0 */
static void row_weights(lane *l, const oat_sparse *sparse, const block *b) {
  for (size_t i = 0; i < b->n; i++) {
    l->row[1][i] = 1 / oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i);
  }
}

static bool uniform_noise(const oat_rows *rows) { return rows->noise_scale == NULL && rows->noise_add == NULL; }

/* For alpha = 0: w_i of the block's rows, and the scalar sums that need no |v_i|^2. */
static void add_noise_scalars(lane *l, const oat_sparse *sparse, const block *b, double *scalar) {
  const double *w = l->row[1];
  row_weights(l, sparse, b);
  if (uniform_noise(&l->backend->rows)) { /* equal terms would have equal rounding errors, which add up */
    scalar[OAT_SUM_W] += (double)b->n * w[0];
    scalar[OAT_LOG_LAMBDA] -= (double)b->n * log(w[0]);
    return;
  }
  for (size_t i = 0; i < b->n; i++) {
    scalar[OAT_SUM_W] += w[i];
    scalar[OAT_LOG_LAMBDA] -= log(w[i]);
  }
}

/* For alpha = 0, at the end: sum g_i / n_i = sigma^2 sum w_i - trace of sum w_i v_i v_i^T, never negative but for rounding. */
static void finish_noise_scalars(const oat_sparse *sparse, oat_sums *sums) {
  double *scalar = sums->scalar, trace = 0;
  for (size_t i = 0; i < sparse->k; i++) {
    trace += sums->vwv[i * (sparse->k + 1)];
  }
  scalar[OAT_G_OVER_N] = fmax(sparse->cov.sigma * sparse->cov.sigma * scalar[OAT_SUM_W] - trace, 0);
  scalar[OAT_PENALTY] = sparse->trace ? -0.5 * scalar[OAT_G_OVER_N] : 0;
}

/* For alpha > 0: w_i of the block's rows, and the scalar sums. */
static void add_scalars(lane *l, const oat_sparse *sparse, const block *b, double *scalar) {
  const double alpha = sparse->alpha;
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i);
    const double g = residual_variance(sparse, b->q[i]), lambda = n + alpha * g;
    l->row[1][i] = 1 / lambda;
    scalar[OAT_LOG_LAMBDA] += log(lambda);
    scalar[OAT_PENALTY] -= (1 - alpha) / (2 * alpha) * log1p(alpha * g / n);
    scalar[OAT_G_OVER_N] += g / n;
    scalar[OAT_SUM_W] += l->row[1][i];
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
    for (size_t c = 0; c < k; c++) {
      sums->vwr[c + j * k] += oat_sum_products(b->n, b->v.a + c * b->v.ld, wr);
    }
    for (size_t i = 0; i < width; i++) {
      sums->rwr[i + j * width] += oat_dot(b->n, rows->r + i * rows->n + b->first, wr);
    }
  }
}

/* vwv = V^T W V + beta vwv: as T^T T with T = diag(sqrt(w)) V, or directly when all w are the same. */
static void add_products(lane *l, const oat_sparse *sparse, const block *b, double beta, oat_sums *sums) {
  const double *w = l->row[1];
  if (sparse->alpha == 0 && uniform_noise(&l->backend->rows)) {
    oat_syrk(w[0], oat_as_const(b->v), beta, oat_square(sums->vwv, sparse->k));
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
  oat_syrk(1, oat_as_const(t), beta, oat_square(sums->vwv, t.columns));
}

/* After each block. */
static void count_rows(const lane *l, const block *b, const char *what) {
  oat_backend *backend = l->backend;
  size_t done;
#pragma omp atomic capture
  done = backend->done += b->n;
  if (oat_in_first_thread()) {
    oat_tell_progress(backend->ctx, what, done, backend->rows.n);
  }
}

/* How many blocks a lane has. */
static size_t turns_of(const oat_backend *backend, size_t index) {
  const size_t blocks = (backend->rows.n + backend->block - 1) / backend->block;
  return blocks > index ? (blocks - index - 1) / backend->lanes + 1 : 0;
}

/* All blocks of a lane. */
static void pass1_lane(lane *l, size_t index, const oat_sparse *sparse, oat_sums *sums) {
  const oat_backend *backend = l->backend;
  const size_t begin = index * backend->block;
  memset(sums->vwr, 0, (sums->count - sparse->k * sparse->k) * sizeof *sums->vwr);
  for (size_t first = begin; first < backend->rows.n; first += backend->lanes * backend->block) {
    const block b = sparse->alpha > 0 ? get_block_with_q(l, sparse, first) : get_block(l, sparse, first);
    if (sparse->alpha > 0) {
      add_scalars(l, sparse, &b, sums->scalar);
    } else {
      add_noise_scalars(l, sparse, &b, sums->scalar);
    }
    add_right_sides(l, &b, l->row[1], sums);
    add_products(l, sparse, &b, first == begin ? 0 : 1, sums);
    count_rows(l, &b, "value");
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

/* Of vwv the lower triangle. */
static void add_lane(const lane *l, oat_sums *sums) {
  const size_t square = (size_t)(sums->vwr - sums->vwv), k = l->backend->kuu.k;
  for (size_t j = 0; j < k; j++) {
    add(k - j, l->sums + j * (k + 1), sums->vwv + j * (k + 1));
  }
  add(sums->count - square, l->sums + square, sums->vwr);
}

/* After a loop over all blocks: V is there for the next one, until knots or parameters change. */
static void keep_v(oat_backend *backend, const oat_sparse *sparse) {
  backend->cached = backend->cache != NULL ? sparse->k : 0;
  backend->slopes = sparse->slopes;
}

/* For what makes V; pass 2 follows a pass 1 at the same point. */
static void take_factor(oat_backend *backend, const oat_sparse *sparse) {
  backend->kuu = oat_triangle_make(sparse->l, sparse->k, backend->room);
}

static oatgp_status cpu_pass1(oat_backend *backend, const oat_sparse *sparse, oat_sums *sums) {
  backend->cached = 0;
  take_factor(backend, sparse);
  backend->done = 0;
#pragma omp parallel for num_threads(lane_threads(backend)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    oat_sums own = sums_of(&backend->lane[i], sums);
    pass1_lane(&backend->lane[i], i, sparse, &own);
  }
  memcpy(sums->vwv, backend->lane[0].sums, sums->count * sizeof(double));
  for (size_t i = 1; i < backend->lanes; i++) {
    add_lane(&backend->lane[i], sums);
  }
  for (size_t j = 0; j < sparse->k; j++) {
    memset(sums->vwv + j * sparse->k, 0, j * sizeof *sums->vwv); /* what lanes have there is of no meaning, and goes into no file */
  }
  if (sparse->alpha == 0) {
    finish_noise_scalars(sparse, sums);
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

/* dKfu = diag(w) (V product + r le^T) of a block when alpha = 0: one product with a K x K matrix. */
static void collapsed_block(lane *l, const oat_sparse *sparse, const oat_adjoint *adjoint, const block *b, oat_view t) {
  const bool uniform = uniform_noise(&l->backend->rows);
  double *w = l->row[1], *r = l->row[2];
  row_weights(l, sparse, b);
  residuals(l, b, adjoint->coefficient, r);
  const double common = uniform ? w[0] : 1;
  for (size_t c = 0; c < t.columns; c++) {
    oat_scaled_copy(b->n, common * adjoint->le[c], r, t.a + c * t.ld);
  }
  oat_gemm(common, oat_as_const(b->v), OAT_PLAIN, oat_const_square(adjoint->product, sparse->k), OAT_PLAIN, 1, t);
  for (size_t c = 0; !uniform && c < t.columns; c++) {
    oat_weigh(b->n, w, t.a + c * t.ld);
  }
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
  oat_triangle_solve(&l->backend->kuu, OAT_PLAIN, t);
}

static void clear_gradient(oat_gradient_sums *sums) {
  memset(sums->kernel.log_lengthscale, 0, sums->count * sizeof(double));
  sums->kernel.log_shape = 0;
  sums->dg = 0;
  sums->dn = 0;
}

/* Backwards, since the latest blocks of pass 1 may still be in the processor's cache. */
static void pass2_lane(lane *l, size_t index, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums) {
  const oat_backend *backend = l->backend;
  clear_gradient(sums);
  for (size_t turn = turns_of(backend, index); turn-- > 0;) {
    const size_t first = (index + turn * backend->lanes) * backend->block;
    const block b = adjoint->collapsed ? get_block(l, sparse, first) : get_block_with_q(l, sparse, first);
    const oat_view t = {l->t, b.n, sparse->k, b.n};
    if (adjoint->collapsed) {
      collapsed_block(l, sparse, adjoint, &b, t);
    } else {
      general_block(l, sparse, adjoint, &b, t, sums);
    }
    const oat_points x = {backend->rows.x + first, b.n, backend->rows.n}, z = {sparse->z, sparse->k, sparse->ldz};
    oat_kernel_cross_adjoint(&sparse->cov, x, z, t.a, b.slope, t.ld, l->work, &sums->kernel);
    count_rows(l, &b, "gradient");
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
  backend->done = 0;
#pragma omp parallel for num_threads(lane_threads(backend)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    own[i] = gradient_sums_of(&backend->lane[i], sums);
    pass2_lane(&backend->lane[i], i, sparse, adjoint, &own[i]);
  }
  clear_gradient(sums);
  for (size_t i = 0; i < backend->lanes; i++) {
    add(sums->count, backend->lane[i].sums, sums->kernel.log_lengthscale);
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
#pragma omp parallel for num_threads(lane_threads(backend)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    for (size_t first = i * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
      get_block(&backend->lane[i], sparse, first);
    }
  }
  keep_v(backend, sparse);
}

/* The panels of candidates that begin at start, start + step, .. for the rows of one block. */
static void weigh_block(lane *l, const oat_sparse *sparse, const block *b, size_t start, oat_candidates *all) {
  row_weights(l, sparse, b);
  for (size_t c = start; c < all->points.n; c += l->backend->lanes * PANEL) {
    weigh_panel(l, sparse, b, c, all);
  }
  if (start == 0) {
    oat_tell_progress(l->backend->ctx, "gains", b->first + b->n, l->backend->rows.n);
  }
}

/* 4 N K m flops and the kernel. The candidates are shared out among the lanes, so each one's sums run over the rows in their order. With V at
 * hand a lane goes through all rows; without it V is made for a block at a time. */
static oatgp_status cpu_weigh(oat_backend *backend, const oat_sparse *sparse, oat_candidates *candidates) {
  const size_t step = backend->cache != NULL ? backend->rows.n : backend->block;
  memset(candidates->ee, 0, candidates->points.n * (2 + backend->rows.p + sparse->k) * sizeof(double));
  take_factor(backend, sparse);
  if (backend->cache != NULL) {
    fill_cache(backend, sparse);
  }
  for (size_t from = 0; from < backend->rows.n; from += step) {
    const size_t end = from + step < backend->rows.n ? from + step : backend->rows.n;
    const block made = get_block(&backend->lane[0], sparse, from);
#pragma omp parallel for num_threads(lane_threads(backend)) schedule(static, 1)
    for (size_t i = 0; i < backend->lanes; i++) {
      for (size_t first = from; first < end; first += backend->block) {
        const block b = first == from ? made : get_block(&backend->lane[i], sparse, first);
        weigh_block(&backend->lane[i], sparse, &b, i * PANEL, candidates);
      }
    }
  }
  return OATGP_OK;
}

static void predict_lane(lane *l, size_t index, const oat_sparse *sparse, bool whiten, const double *c, const oat_row_predictions *out) {
  const oat_backend *backend = l->backend;
  for (size_t first = index * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
    const block b = get_block_with_q(l, sparse, first);
    if (out->q != NULL) {
      memcpy(out->q + first, b.q, b.n * sizeof(double));
    }
    if (whiten) {
      oat_triangle_solve(&backend->b, OAT_TRANSPOSED, b.v);
    }
    if (out->mean != NULL) {
      oat_gemv(1, oat_as_const(b.v), OAT_PLAIN, c, 0, out->mean + first);
    }
    if (out->u2 != NULL) {
      oat_row_squares(b.n, b.v.columns, b.v.a, b.v.ld, out->u2 + first);
    }
    count_rows(l, &b, "prediction");
  }
}

static oatgp_status cpu_predict(oat_backend *backend, const oat_sparse *sparse, const double *lb, const double *c,
                                const oat_row_predictions *out) {
  backend->cached = 0;
  take_factor(backend, sparse);
  if (lb != NULL) {
    backend->b = oat_triangle_make(lb, sparse->k, backend->room + oat_triangle_room(sparse->k));
  }
  backend->done = 0;
#pragma omp parallel for num_threads(lane_threads(backend)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    predict_lane(&backend->lane[i], i, sparse, lb != NULL, c, out);
  }
  return OATGP_OK;
}

const oat_backend_table oat_backend_cpu = {"cpu", cpu_open, cpu_load_rows, cpu_pass1, cpu_pass2, cpu_weigh, cpu_predict, cpu_close};
