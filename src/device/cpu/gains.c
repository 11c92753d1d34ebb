/* What the rows say of candidates for a new knot: 4 N K m flops and the kernel, with the log penalty
 * N m logarithms more.
 *
 * Panels of candidates are shared out among the lanes, so each one's sums run over the rows in their order. With V at
 * hand a panel goes through all rows; without it V is made for some blocks at a time, one for each worker. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

enum { LEAST_PANEL = 32, PANELS = 16 };

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  oat_candidates *all;
  size_t panel;                       /* candidates at a time */
  size_t first, end;                  /* blocks */
  oat_cpu_block made[OAT_MOST_LANES]; /* these, where V is not kept */
} job;

/* Of a block's rows: n_i + g_i in row[3], n_i in row[4], of which a candidate leaves at least that. */
static void take_variances(const job *j, const oat_cpu_block *b) {
  double *const *row = oat_cpu_own(j->cpu)->row, *whole = row[3], *noise = row[4];
  const double *q = oat_cpu_squares(j->cpu, b), *prior = oat_cpu_prior(j->cpu, j->sparse, &b->rows);
  for (size_t i = 0; i < b->rows.n; i++) {
    noise[i] = oat_block_noise(&b->rows, j->sparse->tau, i);
    whole[i] = noise[i] + oat_cpu_left(prior[i], q[i]);
  }
}

/* sum log(n_i + g_i) - log(n_i + g_i - E_i^2 / s2), a column of E given. */
static double log_drops(const job *j, size_t n, double s2, const double *e) {
  double *const *row = oat_cpu_own(j->cpu)->row, *drop = row[2];
  oat_drops(n, 1 / s2, e, row[3], row[4], drop);
  oat_log1p(n, 1, drop, drop);
  return oat_sum(n, drop);
}

/* E of a panel of candidates, then their sums. */
static void add_block(const job *j, const oat_cpu_block *b, size_t first) {
  oat_candidates *all = j->all;
  const oat_cpu_worker *l = oat_cpu_own(j->cpu);
  const size_t m = all->points.n, count = m - first < j->panel ? m - first : j->panel, k = j->sparse->k, n = b->rows.n;
  const oat_points panel = {all->points.a + first, count, all->points.ld};
  const oat_view e = {l->panel, n, count, n};
  const bool logs = j->sparse->penalty == OAT_PENALISE_LOG;
  oat_cpu_weights(j->cpu, j->sparse, &b->rows);
  if (logs) {
    take_variances(j, b);
  }
  oat_kernel_cross(&j->sparse->cov, b->rows.x, panel, e.a, e.ld, l->work);
  oat_gemm(-1, oat_as_const(b->v), OAT_PLAIN, (oat_const_view){all->v + first, count, k, m}, OAT_TRANSPOSED, 1, e);
  for (size_t c = 0; c < count; c++) {
    double *column = e.a + c * e.ld;
    all->logs[first + c] += logs ? log_drops(j, n, all->s2[first + c], column) : 0;
    all->ee[first + c] += oat_weighted_squares(n, l->row[1], column); /* column becomes w E */
    for (size_t i = 0; i <= j->cpu->rows->p; i++) {
      all->er[first + c + i * m] += oat_sum_products(n, column, b->rows.r + i * b->rows.ldr);
    }
  }
  oat_gemm(1, oat_as_const(b->v), OAT_TRANSPOSED, oat_as_const(e), OAT_PLAIN, 1, (oat_view){all->ve + first * k, k, count, k});
}

static void add_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  for (size_t block = j->first; block < j->end; block++) {
    const bool kept = j->cpu->cached != 0;
    const oat_cpu_block b = kept ? oat_cpu_block_of(j->cpu, j->sparse, block) : j->made[block - j->first];
    add_block(j, &b, item * j->panel);
  }
}

/* Each in the memory of another worker, whoever makes it. */
static void make_block(void *self, size_t lane, size_t item) {
  job *j = self;
  (void)lane;
  j->made[item] = oat_cpu_block_in(j->cpu, &j->cpu->worker[item], j->sparse, j->first + item);
}

/* V of the blocks from the first on. */
static void make_blocks(job *j) {
  oat_loop loop = oat_cpu_loop(j->cpu, NULL, make_block, j);
  loop.items = loop.lanes = j->end - j->first;
  oat_loop_run(&loop);
}

/* Candidates at a time: few enough that there are panels for threads. */
static size_t panel_of(size_t candidates) {
  const size_t even = (candidates / PANELS + 7) & ~(size_t)7;
  return even < LEAST_PANEL ? LEAST_PANEL : even > OAT_CPU_PANEL ? OAT_CPU_PANEL : even;
}

oatgp_status oat_cpu_gains(oat_device *device, const oat_sparse *sparse, oat_candidates *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t m = out->points.n;
  job j = {.cpu = cpu, .sparse = sparse, .all = out, .panel = panel_of(m)};
  memset(out->ee, 0, oat_candidates_count(m, sparse->k, cpu->rows->p) * sizeof(double));
  oat_cpu_take_factor(cpu, sparse);
  oat_cpu_fill_cache(cpu, sparse);
  const bool kept = cpu->cached != 0;
  const size_t step = kept ? cpu->blocks : cpu->workers;
  oat_loop loop = oat_cpu_loop(cpu, kept ? "gains" : NULL, add_panel, &j);
  loop.items = (m + j.panel - 1) / j.panel;
  loop.lanes = oat_lanes_for(loop.items);
  for (; j.first < cpu->blocks; j.first = j.end) {
    j.end = j.first + step < cpu->blocks ? j.first + step : cpu->blocks;
    if (!kept) {
      make_blocks(&j);
    }
    oat_loop_run(&loop);
    if (!kept) {
      oat_tell_progress(cpu->ctx, "gains", j.end, cpu->blocks);
    }
  }
  return OATGP_OK;
}
