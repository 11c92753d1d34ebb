/* The posterior covariance between the rows and other points: K(x, points) - V V_p^T + U U_p^T, where the model decides
 * about the first two parts. V and U of the points are computed first; then blocks of rows follow. */
#include <string.h>

#include "device/cpu/cpu.h"

typedef struct job {
  const oat_cpu *cpu;
  const oat_sparse *sparse;
  oat_points points;
  const double *v, *u; /* points x K; u is NULL for the full GP */
  bool residual;
  double *covariance;
} job;

/* k(x, points) of a block: some points at a time, for which a worker has room. */
static void cross(const job *j, const oat_row_block *rows, oat_view to) {
  for (size_t first = 0; first < j->points.n; first += OAT_CPU_PANEL) {
    const size_t left = j->points.n - first;
    const oat_points some = {j->points.a + first, left < OAT_CPU_PANEL ? left : OAT_CPU_PANEL, j->points.ld};
    oat_kernel_cross(&j->sparse->cov, rows->x, some, to.a + first * to.ld, to.ld, oat_cpu_own(j->cpu)->work);
  }
}

/* The part of the prior that the knots leave: 0 between different points if the model has it for each point
 * separately. */
static void cover_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  const oat_cpu_block b = oat_cpu_block_of(j->cpu, j->sparse, item);
  const size_t m = j->points.n, k = j->sparse->k;
  const oat_view to = {j->covariance + b.rows.first, b.rows.n, m, j->cpu->rows->n};
  const oat_const_view v = {j->v, m, k, m}, u = {j->u, m, k, m};
  (void)lane;
  if (b.rows.n == 0) {
    return;
  }
  if (j->residual) {
    cross(j, &b.rows, to);
    oat_gemm(-1, oat_as_const(b.v), OAT_PLAIN, v, OAT_TRANSPOSED, 1, to);
  }
  if (j->u != NULL) {
    oat_triangle_solve(&j->cpu->b, OAT_TRANSPOSED, b.v);
    oat_gemm(1, oat_as_const(b.v), OAT_PLAIN, u, OAT_TRANSPOSED, j->residual ? 1 : 0, to);
  }
}

oatgp_status oat_cpu_joint_with(oat_device *device, const oat_sparse *sparse, const double *lb, oat_residual residual,
                                const oat_rows *points, double *covariance) {
  oat_cpu *cpu = oat_cpu_of(device);
  const oat_row_block all = oat_rows_block(points, points->n, 0);
  const size_t m = points->n, k = sparse->k;
  oat_scratch memory = {.ctx = cpu->ctx};
  double *v = oat_take_doubles(&memory, m, k), *u = lb != NULL ? oat_take_doubles(&memory, m, k) : NULL;
  double *work = oat_take_doubles(&memory, oat_kernel_work(cpu->config.kernel, m, k, points->d), 1);
  oatgp_status status;
  TRY(memory.status);
  oat_cpu_take_factors(cpu, sparse, lb);
  oat_kernel_cross(&sparse->cov, all.x, oat_sparse_knots(sparse), v, m, work);
  oat_triangle_solve(&cpu->kuu, OAT_TRANSPOSED, (oat_view){v, m, k, m});
  if (lb != NULL) {
    memcpy(u, v, m * k * sizeof *u);
    oat_triangle_solve(&cpu->b, OAT_TRANSPOSED, (oat_view){u, m, k, m});
  }
  job j = {cpu, sparse, all.x, v, u, residual == OAT_RESIDUAL_FULL, covariance};
  oat_cpu_run(cpu, "prediction", cover_block, &j);
done:
  oat_scratch_free(&memory);
  return status;
}
