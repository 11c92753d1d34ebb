/* The traces of P^-1 G and of its square, G = K - Q, as sums over tiles: with U and T of device.h
 *   tr P^-1 G = tr D^-1 G - tr U T,   tr (P^-1 G)^2 = sum G_ij^2 / (n_i n_j) - 2 sum |T_i|^2 / n_i + |U T|^2
 *
 * T = G U^T is computed block by block and not kept. A lane has whole rows of tiles. Memory: N x K for U, besides V,
 * which must be kept. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"
#include "util/clock.h"

enum { PROBED = 2, SUMS = 2 };

typedef struct job {
  oat_cpu *cpu;
  size_t lanes;
  size_t height, width; /* the first blocks of rows, and the first tiles of each, that are summed */
} job;

/* A lane's part of the memory. */
typedef struct sums {
  double *t, *ut, *square, *tw;
} sums;

static sums sums_of(const oat_cpu *cpu, size_t lane) {
  const size_t k = cpu->system.given.sparse.k;
  double *t = cpu->system.traces + lane % cpu->slots * cpu->system.trace_stride, *ut = t + cpu->block * k;
  return (sums){t, ut, ut + k * k, ut + k * k + 1};
}

static oat_cpu_block block_of(const oat_cpu *cpu, size_t block) {
  return oat_cpu_block_of(cpu, &cpu->system.given.sparse, block);
}

static oat_view u_of(const oat_cpu *cpu, const oat_cpu_block *b) {
  return (oat_view){cpu->system.u + b->rows.first * b->v.columns, b->rows.n, b->v.columns, b->rows.n};
}

/* ---- U --------------------------------------------------------------------------------------------------------- */

static void make_u(void *self, size_t lane, size_t item) {
  const oat_cpu *cpu = self;
  (void)lane;
  const oat_cpu_block b = block_of(cpu, item);
  const oat_view u = u_of(cpu, &b);
  memcpy(u.a, b.v.a, u.rows * u.columns * sizeof *u.a);
  oat_solve_right(cpu->system.given.lb, u.columns, OAT_TRANSPOSED, u);
  for (size_t c = 0; c < u.columns; c++) {
    oat_multiply_each(u.rows, cpu->system.w + b.rows.first, u.a + c * u.ld);
  }
}

oatgp_status oat_cpu_make_traces(oat_cpu *cpu) {
  oat_cpu_system *s = &cpu->system;
  const size_t n = cpu->rows->n, k = s->given.sparse.k, stride = cpu->block * k + k * k + SUMS;
  const double bytes = (2 * (double)n * (double)k + (double)(cpu->slots + 1) * (double)stride) * sizeof(double);
  if (cpu->cache == NULL || bytes > (double)cpu->config.memory) {
    return OATGP_OK;
  }
  s->trace_stride = stride;
  s->u = oat_take_doubles(&s->memory, n, k);
  s->traces = oat_take_doubles(&s->memory, cpu->slots + 1, stride);
  if (s->memory.status == OATGP_OK) {
    oat_cpu_run(cpu, NULL, make_u, cpu);
  }
  return s->memory.status;
}

/* ---- the sums -------------------------------------------------------------------------------------------------- */

/* Computes G of blocks i and j in the place of V, adds its squares, and adds to T of block i. */
static void add_products(const oat_cpu *cpu, size_t lane, const oat_cpu_block *i, const oat_cpu_block *j) {
  const oat_cpu_worker *l = oat_cpu_own(cpu);
  const oat_view g = {l->v, i->rows.n, j->rows.n, i->rows.n};
  const double *wi = cpu->system.w + i->rows.first, *wj = cpu->system.w + j->rows.first;
  const sums own = sums_of(cpu, lane);
  oat_kernel_cross(&cpu->system.given.sparse.cov, i->rows.x, j->rows.x, g.a, g.ld, l->work);
  oat_gemm(-1, oat_as_const(i->v), OAT_PLAIN, oat_as_const(j->v), OAT_TRANSPOSED, 1, g);
  for (size_t c = 0; c < g.columns; c++) {
    *own.square += wj[c] * oat_sum_squares(g.rows, wi, g.a + c * g.ld);
  }
  const oat_view t = {own.t, g.rows, i->v.columns, g.rows};
  oat_gemm(1, oat_as_const(g), OAT_PLAIN, oat_as_const(u_of(cpu, j)), OAT_PLAIN, 1, t);
}

/* Called when T of block i is complete. */
static void add_row(const oat_cpu *cpu, size_t lane, const oat_cpu_block *i) {
  const oat_view u = u_of(cpu, i);
  const sums own = sums_of(cpu, lane);
  const oat_const_view t = {own.t, u.rows, u.columns, u.rows};
  oat_gemm(1, oat_as_const(u), OAT_TRANSPOSED, t, OAT_PLAIN, 1, oat_square(own.ut, u.columns));
  for (size_t c = 0; c < u.columns; c++) {
    *own.tw += oat_sum_squares(t.rows, cpu->system.w + i->rows.first, t.a + c * t.ld);
  }
}

/* A lane computes the tiles of its first block, then those of its next. The last lane may have no next one. */
static void add_tile(void *self, size_t lane, size_t item) {
  const job *m = self;
  const oat_cpu *cpu = m->cpu;
  const size_t turn = item / m->lanes, row = lane + m->lanes * (turn / m->width), column = turn % m->width;
  const sums own = sums_of(cpu, lane);
  if (turn == 0) {
    memset(own.t, 0, cpu->system.trace_stride * sizeof *own.t);
  }
  if (row >= m->height) {
    return;
  }
  if (column == 0) {
    memset(own.t, 0, (size_t)(own.ut - own.t) * sizeof *own.t);
  }
  const oat_cpu_block i = block_of(cpu, row), j = block_of(cpu, column);
  add_products(cpu, lane, &i, &j);
  if (column == m->width - 1) {
    add_row(cpu, lane, &i);
  }
}

/* U T and the sums of all lanes, behind the slots. */
static sums total_of(const oat_cpu *cpu) {
  const size_t k = cpu->system.given.sparse.k;
  double *ut = cpu->system.traces + cpu->slots * cpu->system.trace_stride;
  return (sums){NULL, ut, ut + k * k, ut + k * k + 1};
}

static void join(void *self, size_t first, size_t count) {
  const oat_cpu *cpu = ((const job *)self)->cpu;
  const size_t k = cpu->system.given.sparse.k;
  oat_lanes_add(&(oat_lane_sums){.lanes = count,
                                 .count = k * k + SUMS,
                                 .stride = cpu->system.trace_stride,
                                 .sums = sums_of(cpu, 0).ut,
                                 .total = total_of(cpu).ut,
                                 .more = first > 0,
                                 .threads = cpu->config.where.threads});
}

/* False if it was given up. */
static bool add_tiles(oat_cpu *cpu, size_t height, size_t width) {
  job m = {cpu, cpu->lanes < height ? cpu->lanes : height, height, width};
  oat_loop loop = oat_cpu_loop(cpu, "determinant", add_tile, &m);
  loop.lanes = m.lanes;
  loop.items = (height + m.lanes - 1) / m.lanes * m.lanes * width;
  loop.flops = 0; /* always many */
  loop.join = join;
  loop.ask = cpu->system.given.ask;
  loop.asker = cpu->system.given.asker;
  return oat_loop_run(&loop);
}

oatgp_status oat_cpu_system_traces(oat_device *device, oat_trace_sums *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t k = cpu->system.given.sparse.k;
  const sums all = total_of(cpu);
  const bool whole = add_tiles(cpu, cpu->blocks, cpu->blocks);
  *out = (oat_trace_sums){.square = *all.square, .tw = *all.tw, .ut_squares = oat_dot(k * k, all.ut, all.ut)};
  for (size_t i = 0; i < k; i++) {
    out->ut += all.ut[i * (k + 1)];
  }
  return whole ? OATGP_OK : OATGP_STOPPED;
}

double oat_cpu_traces_cost(oat_cpu *cpu) {
  const double blocks = (double)cpu->blocks;
  const size_t width = cpu->blocks < PROBED ? cpu->blocks : PROBED;
  const size_t height = cpu->blocks < cpu->slots ? cpu->blocks : cpu->slots;
  if (cpu->system.u == NULL) {
    return 0;
  }
  const double began = oat_seconds();
  add_tiles(cpu, height, width);
  return (oat_seconds() - began) * blocks / (double)width * blocks / (double)height;
}
