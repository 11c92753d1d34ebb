/* The CPU backend: rows in blocks that stay in cache, BLAS inside a block.
 *
 * A block is rows x K with the row index fastest, so that V = Kfu L^-T is the right-side solve.
 * Pass 1: N K^2 (solve) + N K^2 (syrk). Pass 2, collapsed: 2 N K^2 (gemm), and the solve again if V was not kept.
 * Memory: lanes x ((3 K + about 150) x block + K^2) doubles, and 2 N x K for V and the kernel's slopes if the budget allows. */
#include "device/cpu/cpu.h"

#include <string.h>

#include "kernel/vector.h"

static void predict_lane(oat_lane *l, size_t index, const oat_sparse *sparse, bool whiten, const double *c,
                         const oat_row_predictions *out) {
  const oat_backend *backend = l->backend;
  for (size_t first = index * backend->block; first < backend->rows.n; first += backend->lanes * backend->block) {
    const oat_block b = oat_cpu_block_with_q(l, sparse, first);
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
    oat_cpu_count(l, &b, "prediction");
  }
}

static oatgp_status cpu_predict(oat_backend *backend, const oat_sparse *sparse, const double *lb, const double *c,
                                const oat_row_predictions *out) {
  backend->cached = 0;
  oat_cpu_take_factor(backend, sparse);
  if (lb != NULL) {
    backend->b = oat_triangle_make(lb, sparse->k, backend->room + oat_triangle_room(sparse->k));
  }
  backend->done = 0;
#pragma omp parallel for num_threads(oat_cpu_threads(backend)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    predict_lane(&backend->lane[i], i, sparse, lb != NULL, c, out);
  }
  return OATGP_OK;
}

const oat_backend_table oat_backend_cpu = {"cpu",         oat_cpu_open,  oat_cpu_load_rows, oat_cpu_pass1,
                                           oat_cpu_pass2, oat_cpu_weigh, cpu_predict,       oat_cpu_close};
