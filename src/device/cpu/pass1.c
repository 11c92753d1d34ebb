/* Pass 1: the sums of which the value is made. N K^2 (solve) + N K^2 (syrk). */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

/* For alpha = 0: w_i of the block's rows, and the scalar sums that need no |v_i|^2. */
static void add_noise_scalars(oat_lane *l, const oat_sparse *sparse, const oat_block *b, double *scalar) {
  const double *w = l->row[1];
  oat_cpu_weights(l, sparse, b);
  if (oat_cpu_uniform(&l->backend->rows)) { /* equal terms would have equal rounding errors, which add up */
    scalar[OAT_SUM_W] += (double)b->n * w[0];
    scalar[OAT_LOG_LAMBDA] -= (double)b->n * log(w[0]);
    return;
  }
  for (size_t i = 0; i < b->n; i++) {
    scalar[OAT_SUM_W] += w[i];
    scalar[OAT_LOG_LAMBDA] -= log(w[i]);
  }
}

/* For alpha = 0, at the end: sum g_i / n_i = k(x, x) sum w_i - trace of sum w_i v_i v_i^T, never negative but for
 * rounding. All kernels are stationary: k(x, x) is the same for all rows. */
static void finish_noise_scalars(const oat_sparse *sparse, oat_sums *sums) {
  const double prior = oat_kernel_share(&sparse->cov, oat_sparse_knots(sparse), 1);
  double *scalar = sums->scalar, trace = 0;
  for (size_t i = 0; i < sparse->k; i++) {
    trace += sums->vwv[i * (sparse->k + 1)];
  }
  scalar[OAT_G_OVER_N] = fmax(prior * scalar[OAT_SUM_W] - trace, 0);
  scalar[OAT_PENALTY] = sparse->trace ? -0.5 * scalar[OAT_G_OVER_N] : 0;
}

/* For alpha > 0: w_i of the block's rows, and the scalar sums. */
static void add_scalars(oat_lane *l, const oat_sparse *sparse, const oat_block *b, double *scalar) {
  const double alpha = sparse->alpha, *prior = oat_cpu_prior(l, sparse, b);
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i);
    const double g = oat_cpu_residual(prior[i], b->q[i]), lambda = n + alpha * g;
    l->row[1][i] = 1 / lambda;
    scalar[OAT_LOG_LAMBDA] += log(lambda);
    scalar[OAT_PENALTY] -= (1 - alpha) / (2 * alpha) * log1p(alpha * g / n);
    scalar[OAT_G_OVER_N] += g / n;
    scalar[OAT_SUM_W] += l->row[1][i];
  }
}

static void add_right_sides(oat_lane *l, const oat_block *b, const double *w, oat_sums *sums) {
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
static void add_products(oat_lane *l, const oat_sparse *sparse, const oat_block *b, double beta, oat_sums *sums) {
  const double *w = l->row[1];
  if (sparse->alpha == 0 && oat_cpu_uniform(&l->backend->rows)) {
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

/* All blocks of a lane. */
static void pass1_lane(oat_lane *l, size_t index, const oat_sparse *sparse, oat_sums *sums) {
  const oat_backend *backend = l->backend;
  const size_t begin = index * backend->block;
  memset(sums->vwr, 0, (sums->count - sparse->k * sparse->k) * sizeof *sums->vwr);
  for (size_t first = begin; first < backend->rows.n; first += backend->lanes * backend->block) {
    const oat_block b = sparse->alpha > 0 ? oat_cpu_block_with_q(l, sparse, first) : oat_cpu_block(l, sparse, first);
    if (sparse->alpha > 0) {
      add_scalars(l, sparse, &b, sums->scalar);
    } else {
      add_noise_scalars(l, sparse, &b, sums->scalar);
    }
    add_right_sides(l, &b, l->row[1], sums);
    add_products(l, sparse, &b, first == begin ? 0 : 1, sums);
    oat_cpu_count(l, &b, "value");
  }
}

/* The same shape as `sums`, in the memory of a lane. */
static oat_sums sums_of(const oat_lane *l, const oat_sums *sums) {
  double *base = l->sums;
  return (oat_sums){sums->count, base, base + (sums->vwr - sums->vwv), base + (sums->rwr - sums->vwv), base + (sums->scalar - sums->vwv)};
}

/* Of vwv the lower triangle. */
static void add_lane(const oat_lane *l, oat_sums *sums) {
  const size_t square = (size_t)(sums->vwr - sums->vwv), k = l->backend->kuu.k;
  for (size_t j = 0; j < k; j++) {
    oat_cpu_add(k - j, l->sums + j * (k + 1), sums->vwv + j * (k + 1));
  }
  oat_cpu_add(sums->count - square, l->sums + square, sums->vwr);
}

oatgp_status oat_cpu_pass1(oat_backend *backend, const oat_sparse *sparse, oat_sums *sums) {
  backend->cached = 0;
  oat_cpu_take_factor(backend, sparse);
  backend->done = 0;
#pragma omp parallel for num_threads(oat_cpu_threads(backend)) schedule(static, 1)
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
  oat_cpu_keep_v(backend, sparse);
  return OATGP_OK;
}
