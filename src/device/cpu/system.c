/* The system behind the exact evidence: products with C = K + D, and P^-1 by the Woodbury identity,
 *   P^-1 u = D^-1 u - D^-1 V^T B^-1 V D^-1 u.
 *
 * Tiles of K are computed block by block, used and discarded. Memory: six vectors of n numbers, one for each slot, and
 * N x K for V if the budget allows. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "util/clock.h"

enum { PROBED = 2 }; /* tiles of each lane that are timed */

typedef struct job {
  oat_cpu *cpu;
  const double *from; /* n */
  double *to;         /* n */
} job;

static double *lane_t(const oat_cpu *cpu, size_t lane) { return oat_cpu_sums_of(cpu, lane) + cpu->rows->n; }

/* ---- C p ------------------------------------------------------------------------------------------------------- */

static size_t tiles_of(const oat_cpu *cpu) { return cpu->blocks * (cpu->blocks + 1) / 2; }

/* Tile t of the upper half, row of blocks by row of blocks. */
static void find_tile(const oat_cpu *cpu, size_t t, size_t *i, size_t *j) {
  *i = 0;
  while (t >= cpu->blocks - *i) {
    t -= cpu->blocks - *i;
    (*i)++;
  }
  *j = *i + t;
}

/* K is symmetric, so a tile above the diagonal is used twice. */
static void multiply_tile(void *self, size_t lane, size_t item) {
  const job *m = self;
  const oat_cpu *cpu = m->cpu;
  const oat_cpu_worker *l = oat_cpu_own(cpu);
  double *y = oat_cpu_sums_of(cpu, lane);
  size_t i, j;
  find_tile(cpu, item, &i, &j);
  const oat_row_block a = oat_rows_block(cpu->rows, cpu->block, i), b = oat_rows_block(cpu->rows, cpu->block, j);
  const oat_const_view k = {l->v, a.n, b.n, a.n};
  if (item == lane) {
    memset(y, 0, cpu->rows->n * sizeof *y);
  }
  oat_kernel_cross(&cpu->system.given.sparse.cov, a.x, b.x, l->v, a.n, l->work);
  oat_gemv(1, k, OAT_PLAIN, m->from + b.first, 1, y + a.first);
  if (i != j) {
    oat_gemv(1, k, OAT_TRANSPOSED, m->from + a.first, 1, y + b.first);
  }
}

static void join_products(void *self, size_t first, size_t count) {
  const job *m = self;
  oat_cpu_join(m->cpu, first, count, 0, m->cpu->rows->n, m->to);
}

/* cp <- the first `count` tiles of K times the vector. False if it was given up. */
static bool multiply(oat_cpu *cpu, size_t count, const double *from) {
  const double n = (double)cpu->block;
  job m = {.cpu = cpu, .from = from, .to = cpu->system.cp};
  oat_loop loop = oat_cpu_loop(cpu, "product", multiply_tile, &m);
  loop.items = count;
  loop.flops = (double)count * n * n * (3 * (double)cpu->rows->d + 25);
  loop.join = join_products;
  loop.ask = cpu->system.given.ask;
  loop.asker = cpu->system.given.asker;
  return oat_loop_run(&loop);
}

oatgp_status oat_cpu_system_product(oat_device *device, double turn, double *curvature) {
  oat_cpu *cpu = oat_cpu_of(device);
  const oat_cpu_system *s = &cpu->system;
  const size_t n = cpu->rows->n;
  for (size_t i = 0; i < n; i++) {
    s->p[i] = s->z[i] + turn * s->p[i];
  }
  const bool whole = multiply(cpu, tiles_of(cpu), s->p);
  for (size_t i = 0; i < n; i++) {
    s->cp[i] += s->p[i] / s->w[i];
  }
  *curvature = oat_dot(n, s->p, s->cp);
  return whole ? OATGP_OK : OATGP_STOPPED;
}

oatgp_status oat_cpu_system_cost(oat_device *device, double *product, double *traces) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t tiles = tiles_of(cpu), count = tiles < PROBED * cpu->slots ? tiles : PROBED * cpu->slots;
  multiply(cpu, cpu->slots, cpu->system.w); /* touches all memory for the first time */
  const double began = oat_seconds();
  multiply(cpu, count, cpu->system.w);
  *product = (oat_seconds() - began) * (double)tiles / (double)count;
  *traces = oat_cpu_traces_cost(cpu);
  return OATGP_OK;
}

/* ---- P^-1 e ---------------------------------------------------------------------------------------------------- */

/* D^-1 u goes to z, and V D^-1 u to the sums of the lane. */
static void gather(void *self, size_t lane, size_t item) {
  const job *m = self;
  const oat_cpu_system *s = &m->cpu->system;
  const oat_cpu_block b = oat_cpu_block_of(m->cpu, &s->given.sparse, item);
  const size_t first = b.rows.first;
  if (item == lane) {
    memset(lane_t(m->cpu, lane), 0, b.v.columns * sizeof(double));
  }
  for (size_t i = first; i < first + b.rows.n; i++) {
    m->to[i] = s->w[i] * m->from[i];
  }
  oat_gemv(1, oat_as_const(b.v), OAT_TRANSPOSED, m->to + first, 1, lane_t(m->cpu, lane));
}

/* z = D^-1 (u - V^T t) */
static void scatter(void *self, size_t lane, size_t item) {
  const job *m = self;
  (void)lane;
  const oat_cpu_system *s = &m->cpu->system;
  const oat_cpu_block b = oat_cpu_block_of(m->cpu, &s->given.sparse, item);
  const size_t first = b.rows.first;
  memcpy(m->to + first, m->from + first, b.rows.n * sizeof *m->to);
  oat_gemv(-1, oat_as_const(b.v), OAT_PLAIN, s->t, 1, m->to + first);
  for (size_t i = first; i < first + b.rows.n; i++) {
    m->to[i] *= s->w[i];
  }
}

static void join_gathered(void *self, size_t first, size_t count) {
  const job *m = self;
  oat_cpu_join(m->cpu, first, count, m->cpu->rows->n, m->cpu->system.given.sparse.k, m->cpu->system.t);
}

/* z = P^-1 e, and the numbers that follow from it. */
static void precondition(oat_cpu *cpu, oat_iterate *out) {
  const oat_cpu_system *s = &cpu->system;
  const size_t n = cpu->rows->n, k = s->given.sparse.k;
  const oat_view t = {s->t, k, 1, k};
  job m = {cpu, s->e, s->z};
  oat_loop loop = oat_cpu_loop(cpu, NULL, gather, &m);
  loop.join = join_gathered;
  oat_loop_run(&loop);
  oat_solve_left(s->given.lb, k, OAT_PLAIN, t, cpu->config.where.threads);
  oat_solve_left(s->given.lb, k, OAT_TRANSPOSED, t, cpu->config.where.threads);
  oat_cpu_run(cpu, NULL, scatter, &m);
  out->ez = oat_dot(n, s->e, s->z);
  out->whole = 0;
  for (size_t i = 0; i < n; i++) {
    out->whole += s->w[i] * s->e[i] * s->e[i];
  }
}

oatgp_status oat_cpu_system_step(oat_device *device, double length, oat_iterate *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const oat_cpu_system *s = &cpu->system;
  const size_t n = cpu->rows->n;
  for (size_t i = 0; i < n; i++) {
    s->x[i] += length * s->p[i];
    s->e[i] -= length * s->cp[i];
  }
  out->q = oat_dot(n, cpu->rows->r, s->x) + oat_dot(n, s->e, s->x);
  precondition(cpu, out);
  return OATGP_OK;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static oatgp_status take_vectors(oat_cpu *cpu, const oat_system *system) {
  oat_cpu_system *s = &cpu->system;
  const size_t n = cpu->rows->n;
  oat_scratch_free(&s->memory);
  *s = (oat_cpu_system){.memory = {.ctx = cpu->ctx}, .given = *system};
  s->w = oat_take_doubles(&s->memory, n, 1);
  s->x = oat_take_doubles(&s->memory, n, 1);
  s->e = oat_take_doubles(&s->memory, n, 1);
  s->z = oat_take_doubles(&s->memory, n, 1);
  s->p = oat_take_doubles(&s->memory, n, 1);
  s->cp = oat_take_doubles(&s->memory, n, 1);
  s->t = oat_take_doubles(&s->memory, system->sparse.k, 1);
  return s->memory.status;
}

oatgp_status oat_cpu_system_open(oat_device *device, oat_system *system, oat_iterate *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  oat_cpu_system *s = &cpu->system;
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  oatgp_status status = OATGP_OK;
  TRY(take_vectors(cpu, system));
  s->given.sparse.stamp = 1; /* V is kept as long as the system is open */
  system->weights = 0;
  for (size_t i = 0; i < all.n; i++) {
    s->w[i] = 1 / oat_block_noise(&all, s->given.sparse.tau, i);
    system->weights += s->w[i];
  }
  cpu->cached = 0;
  oat_cpu_take_factor(cpu, &s->given.sparse);
  oat_cpu_fill_cache(cpu, &s->given.sparse);
  TRY(system->traces ? oat_cpu_make_traces(cpu) : OATGP_OK);
  system->traces = s->u != NULL;
  memcpy(s->e, all.r, all.n * sizeof *s->e);
  out->q = 0;
  precondition(cpu, out);
done:
  return status;
}
