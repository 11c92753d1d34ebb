/* The sums over rows for candidate knots: 4 N K m flops and the kernel; the log penalty takes N m logarithms more.
 *
 * Panels of candidates are divided among the lanes, so the sums of each candidate run over the rows in order. If V is
 * kept, a panel goes through all rows; otherwise V is computed for some blocks at a time, one for each worker. Ranks
 * share the panels as well: each computes V of all rows for its own. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"
#include "util/ranks.h"

enum { LEAST_PANEL = 32, PANELS = 16 };

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  oat_candidates *all;
  size_t panel;                       /* candidates at a time */
  size_t own, others;                 /* the first panel of this rank, and that of the next one */
  size_t first, end;                  /* blocks */
  oat_cpu_block made[OAT_MOST_LANES]; /* these, if V is not kept */
} job;

/* For a block's rows: n_i + g_i in row[3], n_i in row[4]. No candidate reduces n_i + g_i below n_i. */
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
  oat_gemm(1, oat_as_const(b->v), OAT_TRANSPOSED, oat_as_const(e), OAT_PLAIN, 1,
           (oat_view){all->ve + first * k, k, count, k});
}

static void add_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  for (size_t block = j->first; block < j->end; block++) {
    const bool kept = j->cpu->cached != 0;
    const oat_cpu_block b = kept ? oat_cpu_block_of(j->cpu, j->sparse, block) : j->made[block - j->first];
    if (b.rows.n > 0) {
      add_block(j, &b, (j->own + item) * j->panel);
    }
  }
}

/* Each block uses the memory of a different worker, whichever worker makes it. */
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

/* Candidates of a panel: few enough that all threads have panels. */
static size_t panel_of(size_t candidates) {
  const size_t even = (candidates / PANELS + 7) & ~(size_t)7;
  return even < LEAST_PANEL ? LEAST_PANEL : even > OAT_CPU_PANEL ? OAT_CPU_PANEL : even;
}

/* ---- ranks ----------------------------------------------------------------------------------------------------- */

/* The device as in a single process: with the lanes of all ranks, and without V, of which this rank has only a part. */
static oat_cpu with_all_lanes(const oat_cpu *cpu) {
  oat_cpu all = *cpu;
  if (oat_cpu_is_shared(cpu)) {
    all.items = cpu->items / cpu->lanes * cpu->all_lanes;
    all.lanes = cpu->all_lanes;
    all.first_lane = 0;
    all.cached = 0;
    all.cache = NULL;
  }
  return all;
}

static void choose_panels(job *j, bool shared) {
  const size_t panels = (j->all->points.n + j->panel - 1) / j->panel;
  j->own = shared ? oat_rank_first(panels, oat_rank()) : 0;
  j->others = shared ? oat_rank_first(panels, oat_rank() + 1) : panels;
}

/* Every rank gets the sums of all candidates; those of one candidate are `each` consecutive doubles. */
static void complete(const job *j, double *sums, size_t each) {
  const size_t m = j->all->points.n, panels = (m + j->panel - 1) / j->panel;
  size_t first[OAT_MOST_LANES + 1];
  for (int rank = 0; rank <= oat_rank_count(); rank++) {
    const size_t candidate = oat_rank_first(panels, rank) * j->panel;
    first[rank] = (candidate < m ? candidate : m) * each * sizeof *sums;
  }
  oat_ranks_complete(sums, first);
}

static void complete_all(const job *j) {
  const oat_candidates *all = j->all;
  complete(j, all->ee, 1);
  complete(j, all->logs, 1);
  complete(j, all->ve, j->sparse->k);
  for (size_t i = 0; i <= j->cpu->rows->p; i++) {
    complete(j, all->er + i * all->points.n, 1);
  }
}

/* ---- the operation --------------------------------------------------------------------------------------------- */

/* The candidates of this rank. */
static void add_rows(job *j) {
  const oat_cpu *cpu = j->cpu;
  const bool kept = cpu->cached != 0;
  const size_t step = kept ? cpu->items : cpu->workers;
  oat_loop loop = oat_cpu_loop(cpu, kept ? "gains" : NULL, add_panel, j);
  loop.items = j->others - j->own;
  loop.lanes = oat_lanes_for(loop.items);
  for (; loop.items > 0 && j->first < cpu->items; j->first = j->end) {
    j->end = j->first + step < cpu->items ? j->first + step : cpu->items;
    if (!kept) {
      make_blocks(j);
    }
    oat_loop_run(&loop);
    if (!kept) {
      oat_tell_progress(cpu->ctx, "gains", j->end, cpu->items);
    }
  }
}

oatgp_status oat_cpu_gains(oat_device *device, const oat_sparse *sparse, oat_candidates *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t m = out->points.n;
  const bool shared = oat_cpu_is_shared(cpu);
  memset(out->ee, 0, oat_candidates_count(m, sparse->k, cpu->rows->p) * sizeof(double));
  oat_cpu_take_factor(cpu, sparse);
  if (!shared) {
    oat_cpu_fill_cache(cpu, sparse);
  }
  oat_cpu all = with_all_lanes(cpu);
  job j = {.cpu = &all, .sparse = sparse, .all = out, .panel = panel_of(m)};
  choose_panels(&j, shared);
  add_rows(&j);
  if (shared) {
    complete_all(&j);
  }
  return oat_rows_check(cpu->ctx, cpu->rows);
}
