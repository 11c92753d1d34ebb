/* The joint posterior of rows: K** - V V^T + U U^T, the middle as the model says. */
#include <string.h>

#include "device/cpu/cpu.h"

/* What the knots leave of the prior variance, on the diagonal alone; `prior` has k(x, x). */
static void leave_diagonal(const double *prior, oat_const_view v, double *covariance) {
  for (size_t i = 0; i < v.rows; i++) {
    double q = 0;
    for (size_t c = 0; c < v.columns; c++) {
      q += v.a[i + c * v.ld] * v.a[i + c * v.ld];
    }
    covariance[i * (v.rows + 1)] = oat_cpu_left(prior[i], q);
  }
}

oatgp_status oat_cpu_joint(oat_device *device, const oat_sparse *sparse, const double *lb, oat_residual residual, double *covariance) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  const size_t n = all.n, k = sparse->k;
  oat_scratch memory = {.ctx = cpu->ctx};
  const oat_view v = {oat_take_doubles(&memory, n, k), n, k, n};
  double *work = oat_take_doubles(&memory, oat_kernel_work(n, n > k ? n : k, cpu->rows->d), 1);
  oatgp_status status;
  TRY(memory.status);
  oat_kernel_cross(&sparse->cov, all.x, oat_sparse_knots(sparse), v.a, n, work);
  oat_solve_right(sparse->l, k, OAT_TRANSPOSED, v);
  memset(covariance, 0, n * n * sizeof *covariance);
  if (residual == OAT_RESIDUAL_FULL) {
    oat_kernel_cross(&sparse->cov, all.x, all.x, covariance, n, work);
    oat_gemm(-1, oat_as_const(v), OAT_PLAIN, oat_as_const(v), OAT_TRANSPOSED, 1, oat_square(covariance, n));
  } else if (residual == OAT_RESIDUAL_DIAGONAL) {
    oat_kernel_diagonal(&sparse->cov, all.x, work);
    leave_diagonal(work, oat_as_const(v), covariance);
  }
  if (lb != NULL) {
    oat_solve_right(lb, k, OAT_TRANSPOSED, v);
    oat_gemm(1, oat_as_const(v), OAT_PLAIN, oat_as_const(v), OAT_TRANSPOSED, 1, oat_square(covariance, n));
  }
  oat_symmetrise(n, covariance, cpu->config.where.threads);
done:
  oat_scratch_free(&memory);
  return status;
}
