/* What the rows say of candidates for a new knot. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

/* E of a panel of candidates, then their sums; w of the block is in row[1]. */
static void weigh_panel(oat_lane *l, const oat_sparse *sparse, const oat_block *b, size_t first, oat_candidates *all) {
  const size_t m = all->points.n, count = m - first < OAT_CPU_PANEL ? m - first : OAT_CPU_PANEL, k = sparse->k;
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
#pragma omp parallel for num_threads(oat_cpu_threads(backend)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    for (size_t first = i * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
      oat_cpu_block(&backend->lane[i], sparse, first);
    }
  }
  oat_cpu_keep_v(backend, sparse);
}

/* The panels of candidates that begin at start, start + step, .. for the rows of one block. */
static void weigh_block(oat_lane *l, const oat_sparse *sparse, const oat_block *b, size_t start, oat_candidates *all) {
  oat_cpu_weights(l, sparse, b);
  for (size_t c = start; c < all->points.n; c += l->backend->lanes * OAT_CPU_PANEL) {
    weigh_panel(l, sparse, b, c, all);
  }
  if (start == 0) {
    oat_tell_progress(l->backend->ctx, "gains", b->first + b->n, l->backend->rows.n);
  }
}

/* 4 N K m flops and the kernel. The candidates are shared out among the lanes, so each one's sums run over the rows in their order. With V at
 * hand a lane goes through all rows; without it V is made for a block at a time. */
oatgp_status oat_cpu_weigh(oat_backend *backend, const oat_sparse *sparse, oat_candidates *candidates) {
  const size_t step = backend->cache != NULL ? backend->rows.n : backend->block;
  memset(candidates->ee, 0, candidates->points.n * (2 + backend->rows.p + sparse->k) * sizeof(double));
  oat_cpu_take_factor(backend, sparse);
  if (backend->cache != NULL) {
    fill_cache(backend, sparse);
  }
  for (size_t from = 0; from < backend->rows.n; from += step) {
    const size_t end = from + step < backend->rows.n ? from + step : backend->rows.n;
    const oat_block made = oat_cpu_block(&backend->lane[0], sparse, from);
#pragma omp parallel for num_threads(oat_cpu_threads(backend)) schedule(static, 1)
    for (size_t i = 0; i < backend->lanes; i++) {
      for (size_t first = from; first < end; first += backend->block) {
        const oat_block b = first == from ? made : oat_cpu_block(&backend->lane[i], sparse, first);
        weigh_block(&backend->lane[i], sparse, &b, i * OAT_CPU_PANEL, candidates);
      }
    }
  }
  return OATGP_OK;
}
