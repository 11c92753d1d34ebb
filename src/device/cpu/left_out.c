/* Predicts every row from the others: V and what is needed from it, block by block. device/left_out.c has the
 * formulas. */
#include <stdlib.h>

#include "device/cpu/cpu.h"
#include "device/left_out.h"
#include "kernel/vector.h"

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  const oat_left_out *out;
  double *scratch; /* slots x stride: predictions of the columns in a block, and the errors of a row */
  size_t stride;
  double sums[OAT_MOST_LANES * OAT_LEFT_SUMS];
} job;

static void leave_block(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_cpu *cpu = j->cpu;
  const oat_cpu_block b = oat_cpu_block_of(cpu, j->sparse, item);
  const size_t n = b.rows.n, columns = j->out->columns, k = b.v.columns;
  const double *q = oat_cpu_squares(cpu, &b), *prior = oat_cpu_prior(cpu, j->sparse, &b.rows);
  double *s = oat_cpu_own(cpu)->row[1], *fit = j->scratch + oat_worker() * j->stride, *e = fit + cpu->block * columns;
  if (n == 0) {
    return;
  }
  oat_triangle_solve(&cpu->b, OAT_TRANSPOSED, b.v);
  oat_row_squares(n, k, b.v.a, b.v.ld, s);
  oat_gemm(1, oat_as_const(b.v), OAT_PLAIN, (oat_const_view){j->out->c, k, columns, k}, OAT_PLAIN, 0,
           (oat_view){fit, n, columns, n});
  const oat_left_rows rows = {prior, q, s, fit, n, cpu->rows->p};
  oat_left_out_rows(j->out, j->sparse, &b.rows, &rows, e, j->sums + lane * OAT_LEFT_SUMS);
}

/* Allocates what the lanes need besides V. */
oatgp_status oat_cpu_left_out(oat_device *device, const oat_sparse *sparse, oat_left_out *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  if (cpu->near.most > 0) {
    return oat_cpu_neighbours_left_out(cpu, sparse, out);
  }
  job j = {.cpu = cpu, .sparse = sparse, .out = out, .stride = (cpu->block + 1) * out->columns};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(cpu->ctx, j.stride, cpu->slots, &j.scratch));
  oat_cpu_take_factors(cpu, sparse, out->lb);
  oat_cpu_run(cpu, "leave-one-out", leave_block, &j);
  oat_lanes_add(
      &(oat_lane_sums){oat_cpu_all_lanes(cpu, j.sums, OAT_LEFT_SUMS), OAT_LEFT_SUMS, OAT_LEFT_SUMS, j.sums, j.sums});
  oat_cpu_all_rows(cpu, out->error);
  oat_cpu_all_rows(cpu, out->variance);
  oat_left_out_take(j.sums, out);
  TRY(oat_rows_check(cpu->ctx, cpu->rows));
done:
  free(j.scratch);
  return status;
}
