/* What the rows say of candidates for a new knot: 4 N K m flops and the kernel.
 *
 * Panels of candidates are shared out among the lanes, so each one's sums run over the rows in their order. With V at
 * hand a panel goes through all rows; without it V is made for a block at a time. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  oat_candidates *all;
  size_t first, end;  /* blocks */
  oat_cpu_block made; /* the first of them */
} job;

/* E of a panel of candidates, then their sums. */
static void add_block(const job *j, size_t lane, const oat_cpu_block *b, size_t first) {
  oat_candidates *all = j->all;
  const oat_cpu_lane *l = &j->cpu->lane[lane];
  const size_t m = all->points.n, count = m - first < OAT_CPU_PANEL ? m - first : OAT_CPU_PANEL, k = j->sparse->k, n = b->rows.n;
  const oat_points panel = {all->points.a + first, count, all->points.ld};
  const oat_view e = {l->panel, n, count, n};
  oat_cpu_weights(j->cpu, lane, j->sparse, &b->rows);
  oat_kernel_cross(&j->sparse->cov, b->rows.x, panel, e.a, e.ld, l->work);
  oat_gemm(-1, oat_as_const(b->v), OAT_PLAIN, (oat_const_view){all->v + first, count, k, m}, OAT_TRANSPOSED, 1, e);
  for (size_t c = 0; c < count; c++) {
    double *column = e.a + c * e.ld;
    all->ee[first + c] += oat_weighted_squares(n, l->row[1], column); /* column becomes w E */
    for (size_t i = 0; i <= j->cpu->rows->p; i++) {
      all->er[first + c + i * m] += oat_sum_products(n, column, b->rows.r + i * b->rows.ldr);
    }
  }
  oat_gemm(1, oat_as_const(b->v), OAT_TRANSPOSED, oat_as_const(e), OAT_PLAIN, 1, (oat_view){all->ve + first * k, k, count, k});
}

static void add_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  for (size_t block = j->first; block < j->end; block++) {
    const oat_cpu_block b = block == j->first ? j->made : oat_cpu_block_of(j->cpu, lane, j->sparse, block);
    add_block(j, lane, &b, item * OAT_CPU_PANEL);
  }
}

oatgp_status oat_cpu_gains(oat_device *device, const oat_sparse *sparse, oat_candidates *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t m = out->points.n;
  job j = {.cpu = cpu, .sparse = sparse, .all = out};
  memset(out->ee, 0, m * (2 + cpu->rows->p + sparse->k) * sizeof(double));
  oat_cpu_take_factor(cpu, sparse);
  oat_cpu_fill_cache(cpu, sparse);
  const size_t step = cpu->cached != 0 ? cpu->blocks : 1;
  oat_loop loop = oat_cpu_loop(cpu, cpu->cached != 0 ? "gains" : NULL, add_panel, &j);
  loop.items = (m + OAT_CPU_PANEL - 1) / OAT_CPU_PANEL;
  for (; j.first < cpu->blocks; j.first += step) {
    j.end = j.first + step;
    j.made = oat_cpu_block_of(cpu, 0, sparse, j.first);
    oat_loop_run(&loop);
    if (cpu->cached == 0) {
      oat_tell_progress(cpu->ctx, "gains", j.made.rows.first + j.made.rows.n, cpu->rows->n);
    }
  }
  return OATGP_OK;
}
