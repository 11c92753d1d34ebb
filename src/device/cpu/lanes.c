/* Lanes and blocks: their memory, and V of a block. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"
#include "util/memory.h"
#include "util/threads.h"

#define LANE_DOUBLES ((size_t)1 << 26) /* room for all lanes: half a gigabyte */

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Rows at a time: many, so that each product is worth its overhead, but enough blocks for threads. No power of two, whose columns would
 * fall on the same places of a cache. */
static size_t choose_block(size_t wanted, size_t n) {
  const size_t eighth = (n / 8 + 8) & ~(size_t)7, chosen = eighth < 400 ? 400 : eighth > 632 ? 632 : eighth;
  return wanted > 0 ? wanted : chosen == 512 ? 520 : chosen;
}

/* As many as there are blocks, at most OAT_CPU_MOST_LANES, and fewer when there are not many rows for each K x K sum, or they need much memory. */
static size_t choose_lanes(const oat_backend *backend) {
  const size_t n = backend->rows.n, k = backend->max_knots, blocks = (n + backend->block - 1) / backend->block;
  size_t lanes = OAT_CPU_MOST_LANES;
  const size_t each = backend->predicts ? k * backend->block : k * (k + 3 * backend->block);
  while (lanes > 1 && (lanes > blocks || (lanes * 2 * k > n && !backend->predicts) || lanes * each > LANE_DOUBLES)) {
    lanes /= 2;
  }
  return lanes;
}

static void free_lanes(oat_backend *backend) {
  for (size_t i = 0; backend->lane != NULL && i < backend->lanes; i++) {
    oat_lane *l = &backend->lane[i];
    double *const arrays[] = {l->v, l->slope, l->t, l->panel, l->work, l->sums};
    for (size_t j = 0; j < sizeof arrays / sizeof *arrays; j++) {
      free(arrays[j]);
    }
    for (int j = 0; j < OAT_CPU_ROW_VECTORS; j++) {
      free(l->row[j]);
    }
  }
  free(backend->lane);
  backend->lane = NULL;
}

void oat_cpu_close(oat_backend *backend) {
  if (backend != NULL) {
    free_lanes(backend);
    free(backend->cache);
    free(backend->room);
    free(backend);
  }
}

oatgp_status oat_cpu_open(oatgp_context *ctx, const oat_backend_config *config, oat_backend **out) {
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
  oat_cpu_close(backend);
  return status;
}

static oatgp_status make_lane(oatgp_context *ctx, oat_backend *backend, oat_lane *l) {
  const size_t k = backend->max_knots, d = backend->rows.d, width = 1 + backend->rows.p;
  const size_t first = k * width + width * width + OAT_SCALARS, second = oat_theta_most(d) + k * d;
  oatgp_status status = OATGP_OK;
  l->backend = backend;
  TRY(oat_new_matrix(ctx, backend->block, k, &l->v));
  TRY(oat_new_matrix(ctx, oat_kernel_work(backend->block, k > OAT_CPU_PANEL ? k : OAT_CPU_PANEL, d), 1, &l->work));
  for (int i = 0; i < OAT_CPU_ROW_VECTORS; i++) {
    TRY(oat_new_matrix(ctx, backend->block, 1, &l->row[i]));
  }
  if (!backend->predicts) {
    TRY(oat_new_matrix(ctx, backend->block, k, &l->slope));
    TRY(oat_new_matrix(ctx, backend->block, k, &l->t));
    TRY(oat_new_matrix(ctx, backend->block, OAT_CPU_PANEL, &l->panel));
    TRY(oat_new_matrix(ctx, k * k + (first > second ? first : second), 1, &l->sums));
  }
done:
  return status;
}

/* V and slopes of all rows are kept between the passes when they fit the budget; without them pass 2 makes them again. */
oatgp_status oat_cpu_load_rows(oatgp_context *ctx, oat_backend *backend, const oat_rows *rows) {
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

int oat_cpu_threads(const oat_backend *backend) {
  const int threads = oat_lane_threads(backend->threads);
  return (size_t)threads < backend->lanes ? threads : (int)backend->lanes;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------- */

void oat_cpu_take_factor(oat_backend *backend, const oat_sparse *sparse) {
  backend->kuu = oat_triangle_make(sparse->l, sparse->k, backend->room);
}

/* Kfu of the block and, if a pass 2 will follow, its slopes, then V = Kfu L^-T. */
static void make_v(const oat_lane *l, const oat_sparse *sparse, const oat_block *b) {
  const oat_points x = {l->backend->rows.x + b->first, b->n, l->backend->rows.n};
  const oat_points z = {sparse->z, sparse->k, sparse->ldz};
  oat_kernel_cross_slopes(&sparse->cov, x, z, b->v.a, sparse->slopes ? b->slope : NULL, b->v.ld, l->work);
  oat_triangle_solve(&l->backend->kuu, OAT_TRANSPOSED, b->v);
}

oat_block oat_cpu_block(const oat_lane *l, const oat_sparse *sparse, size_t first) {
  const oat_backend *backend = l->backend;
  const size_t left = backend->rows.n - first, n = left < backend->block ? left : backend->block, k = sparse->k;
  double *v = backend->cache != NULL ? backend->cache + 2 * first * k : l->v;
  const oat_block b = {first, n, {v, n, k, n}, backend->cache != NULL ? v + n * k : l->slope, l->row[0]};
  if (backend->cached != k || (sparse->slopes && !backend->slopes)) {
    make_v(l, sparse, &b);
  }
  return b;
}

oat_block oat_cpu_block_with_q(const oat_lane *l, const oat_sparse *sparse, size_t first) {
  const oat_block b = oat_cpu_block(l, sparse, first);
  oat_row_squares(b.n, b.v.columns, b.v.a, b.v.ld, l->row[0]);
  return b;
}

void oat_cpu_keep_v(oat_backend *backend, const oat_sparse *sparse) {
  backend->cached = backend->cache != NULL ? sparse->k : 0;
  backend->slopes = sparse->slopes;
}

const double *oat_cpu_prior(oat_lane *l, const oat_sparse *sparse, const oat_block *b) {
  const oat_points x = {l->backend->rows.x + b->first, b->n, l->backend->rows.n};
  oat_kernel_diagonal(&sparse->cov, x, l->row[5]);
  return l->row[5];
}

void oat_cpu_weights(oat_lane *l, const oat_sparse *sparse, const oat_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    l->row[1][i] = 1 / oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i);
  }
}

bool oat_cpu_uniform(const oat_rows *rows) { return rows->noise_scale == NULL && rows->noise_add == NULL; }

void oat_cpu_count(const oat_lane *l, const oat_block *b, const char *what) {
  oat_backend *backend = l->backend;
  size_t done;
#pragma omp atomic capture
  done = backend->done += b->n;
  if (oat_in_first_thread()) {
    oat_tell_progress(backend->ctx, what, done, backend->rows.n);
  }
}

void oat_cpu_add(size_t n, const double *x, double *y) {
  for (size_t i = 0; i < n; i++) {
    y[i] += x[i];
  }
}
