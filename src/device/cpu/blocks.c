/* Lanes and blocks: their memory, and V of a block. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "device/cpu/near.h"
#include "kernel/vector.h"
#include "util/ranks.h"

extern const oat_device_table oat_device_cpu;

#define WORK_DOUBLES \
  ((size_t)1 << 27) /* limits for all workers and for all slots: a gigabyte each, reached only with many of both */
#define SPARE_DOUBLES ((size_t)1 << 23) /* the same for slots beyond the number of workers */

enum {
  MOST_RANKS = OAT_MOST_LANES, /* that can share the lanes */
  MOST_ROWS = 632,             /* rows of a block: many, so that each product is worth its overhead */
  LEAST_ROWS = 256,            /* of a lane */
  /* If a K x K sum is far larger than a cache, a lane costs as much as some rows. So there are more lanes than most
   * machines have cores only if each lane has more rows. */
  USUAL_LANES = 16,
  MANY_ROWS = 450
};

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static size_t no_more(size_t a, size_t b) { return a < b ? a : b; }

static size_t at_least_one(size_t a) { return a > 0 ? a : 1; }

/* Lanes for n rows. If the size of a block is given, a lane has at least one block. */
static size_t lanes_of(const oat_cpu *cpu, size_t n) {
  const size_t k = cpu->config.fits ? cpu->config.max_knots : 0, given = cpu->config.block;
  const size_t least = given > 0 ? given : LEAST_ROWS, many = given > 0 ? given : MANY_ROWS;
  size_t lanes = OAT_MOST_LANES;
  while (lanes > 1 && (lanes * least > n || (lanes > USUAL_LANES && lanes * many > n) || lanes * k > 4 * n)) {
    lanes /= 2;
  }
  return lanes;
}

static size_t no_power_of_two(size_t rows) { return (rows & (rows - 1)) == 0 ? rows + 8 : rows; }

/* Chooses the rows of a lane and of a block: blocks of equal size, the same number for each lane. A block is not a
 * power of two, because its columns would share places of a cache. A lane has consecutive rows, so that a file is read
 * in order and ranks have whole lanes. Except for few rows and many knots, the division depends only on the number of
 * rows. Neighbours, tiles and given sizes of blocks count all blocks in order. */
static void choose_blocks(oat_cpu *cpu, size_t n) {
  const size_t lanes = lanes_of(cpu, n), given = cpu->config.block;
  const bool whole = given > 0 && !cpu->config.fits, shared = cpu->config.shared && n >= OAT_SPREAD_ROWS;
  const size_t of_lane = whole ? (n / (lanes * given) + 1) * given : no_power_of_two((n / lanes + 8) & ~(size_t)7);
  const size_t turns = of_lane / (MOST_ROWS + 8) + 1, even = no_power_of_two((of_lane / turns + 8) & ~(size_t)7);
  const bool in_order = cpu->config.system || cpu->config.neighbours > 0 || (whole && !shared);
  cpu->block = given > 0 ? given : turns > 1 ? even : of_lane;
  cpu->blocks = oat_rows_blocks(cpu->rows, cpu->block);
  cpu->lane_rows = in_order ? 0 : of_lane;
  cpu->lanes = cpu->config.system ? oat_lanes_for(cpu->blocks * (cpu->blocks + 1) / 2)
               : in_order         ? no_more(lanes, cpu->blocks)
                                  : (n + of_lane - 1) / of_lane;
  cpu->all_lanes = cpu->lanes;
  cpu->first_lane = 0;
  if (!in_order && shared && cpu->all_lanes >= (size_t)oat_rank_count()) {
    cpu->first_lane = oat_rank_first(cpu->all_lanes, oat_rank());
    cpu->lanes = oat_rank_first(cpu->all_lanes, oat_rank() + 1) - cpu->first_lane;
  }
  cpu->items = in_order ? cpu->blocks : cpu->lanes * ((of_lane + cpu->block - 1) / cpu->block);
}

/* Doubles of a lane's sums. */
static size_t choose_stride(const oat_cpu *cpu) {
  const size_t k = cpu->config.max_knots, sums = oat_sums_count(k, cpu->rows->p),
               slopes = oat_gradient_sums_count(oat_cpu_thetas(cpu), k, cpu->rows->d);
  const size_t fits = !cpu->config.fits ? 0
                      : sums > slopes   ? sums
                                        : slopes,
               system = cpu->config.system ? cpu->rows->n + k : 0;
  return fits > system ? fits : system;
}

/* The number of workers: limited by the threads for the lanes and by memory. Each has a slot. There are some more
 * slots, so that others need not wait for a late worker. */
static void choose_workers(oat_cpu *cpu) {
  const size_t k = cpu->config.max_knots, threads = (size_t)cpu->config.where.threads,
               tile = cpu->config.system ? cpu->block : k;
  const size_t each = cpu->block * (cpu->config.fits ? 3 * k : k > tile ? k : tile), stride = choose_stride(cpu);
  cpu->workers =
      no_more(no_more(threads, cpu->lanes), at_least_one(WORK_DOUBLES / at_least_one(no_more(each, WORK_DOUBLES))));
  cpu->workers = no_more(cpu->workers, at_least_one(WORK_DOUBLES / at_least_one(stride)));
  const size_t spare = no_more(4 * cpu->workers, SPARE_DOUBLES / at_least_one(stride));
  cpu->slots = oat_cpu_is_shared(cpu) ? cpu->lanes : no_more(cpu->lanes, spare > cpu->workers ? spare : cpu->workers);
}

static void free_lanes(oat_cpu *cpu) {
  oat_scratch_free(&cpu->memory);
  oat_scratch_free(&cpu->system.memory);
  free(cpu->cache);
  oat_near_close(cpu->near.search);
  oat_rows_free(cpu->near.rows);
  cpu->near.search = NULL;
  cpu->near.rows = NULL;
  cpu->worker = NULL;
  cpu->cache = NULL;
}

void oat_cpu_close(oat_device *device) {
  oat_cpu *cpu = oat_cpu_of(device);
  free_lanes(cpu);
  free(cpu);
}

oatgp_status oat_cpu_open(oatgp_context *ctx, const oat_device_config *config, oat_device **out) {
  oat_cpu *cpu = NULL;
  const oatgp_status status = oat_new(ctx, 1, sizeof *cpu, &cpu);
  if (status == OATGP_OK) {
    *cpu = (oat_cpu){.base = {&oat_device_cpu}, .ctx = ctx, .config = *config};
    *out = &cpu->base;
  }
  return status;
}

static void take_worker(oat_cpu *cpu, oat_cpu_worker *l) {
  const size_t k = cpu->config.max_knots, tile = cpu->config.system ? cpu->block : 0, wide = k > tile ? k : tile;
  const size_t widest = wide > OAT_CPU_PANEL ? wide : OAT_CPU_PANEL;
  l->v = oat_take_doubles(&cpu->memory, cpu->block, wide);
  l->rows = oat_take_doubles(&cpu->memory, oat_rows_room(cpu->rows, cpu->block), 1);
  l->work = oat_take_doubles(&cpu->memory, oat_kernel_work(cpu->config.kernel, cpu->block, widest, cpu->rows->d), 1);
  for (int i = 0; i < OAT_CPU_ROW_VECTORS; i++) {
    l->row[i] = oat_take_doubles(&cpu->memory, cpu->block, 1);
  }
  if (cpu->config.fits) {
    l->slope = oat_take_doubles(&cpu->memory, cpu->block, k);
    l->t = oat_take_doubles(&cpu->memory, cpu->block, k);
    l->panel = oat_take_doubles(&cpu->memory, cpu->block, OAT_CPU_PANEL);
  }
}

/* The number of rows x K matrices in the cache: V, and slopes if gradients are possible. */
static size_t cached_parts(const oat_cpu *cpu) { return cpu->config.fits ? 2 : 1; }

/* V and slopes of all rows are kept if they fit the budget; otherwise they are computed again. */
static oatgp_status make_lanes(oatgp_context *ctx, oat_cpu *cpu) {
  const size_t k = cpu->config.max_knots, parts = cached_parts(cpu);
  const double bytes = (double)parts * (double)cpu->rows->n * (double)k * sizeof(double);
  cpu->memory = (oat_scratch){.ctx = ctx};
  cpu->worker = oat_take(&cpu->memory, cpu->workers, sizeof *cpu->worker);
  for (size_t i = 0; cpu->worker != NULL && i < cpu->workers; i++) {
    take_worker(cpu, &cpu->worker[i]);
  }
  cpu->room = oat_take_doubles(&cpu->memory, 2 * oat_triangle_room(k), 1);
  cpu->stride = choose_stride(cpu);
  cpu->sums = oat_take_doubles(&cpu->memory, cpu->stride, cpu->slots);
  if (cpu->config.exact) {
    oat_cpu_take_exact(cpu);
  }
  oat_cpu_take_neighbours(cpu);
  if (cpu->memory.status != OATGP_OK) {
    free_lanes(cpu);
  } else if (cpu->near.most == 0 && bytes <= (double)cpu->config.memory) {
    cpu->cache = malloc(parts * cpu->rows->n * k * sizeof(double) + 1);
  }
  return cpu->memory.status;
}

/* Rows with the same sizes as before keep the lanes. */
oatgp_status oat_cpu_load(oatgp_context *ctx, oat_device *device, const oat_rows *rows) {
  oat_cpu *cpu = oat_cpu_of(device);
  const bool same = cpu->worker != NULL && cpu->n == rows->n && cpu->d == rows->d && cpu->p == rows->p &&
                    cpu->fed == (rows->feed != NULL);
  cpu->rows = rows;
  cpu->n = rows->n;
  cpu->d = rows->d;
  cpu->p = rows->p;
  cpu->fed = rows->feed != NULL;
  cpu->cached = 0;
  oat_near_close(cpu->near.search);
  cpu->near.search = NULL;
  choose_blocks(cpu, rows->n);
  if (!same) {
    free_lanes(cpu);
    choose_workers(cpu);
    PASS_ON(make_lanes(ctx, cpu));
  }
  return oat_cpu_arrange(ctx, cpu);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* Approximate flops of a block with V and a product of it. */
static double flops_of(const oat_cpu *cpu) {
  const double k = (double)cpu->kuu.k;
  return (double)cpu->rows->n * k * (2 * k + 3 * (double)cpu->rows->d + 25);
}

oat_loop oat_cpu_loop(const oat_cpu *cpu, const char *what, void (*item)(void *self, size_t lane, size_t item),
                      void *self) {
  return (oat_loop){.ctx = cpu->ctx,
                    .what = what,
                    .items = cpu->items,
                    .lanes = cpu->lanes,
                    .slots = cpu->slots,
                    .workers = cpu->workers,
                    .flops = flops_of(cpu),
                    .rows = cpu->rows->n,
                    .threads = cpu->config.where.threads,
                    .item = item,
                    .self = self};
}

void oat_cpu_run(const oat_cpu *cpu, const char *what, void (*item)(void *self, size_t lane, size_t item), void *self) {
  const oat_loop loop = oat_cpu_loop(cpu, what, item, self);
  oat_loop_run(&loop);
}

size_t oat_cpu_all_lanes(const oat_cpu *cpu, double *sums, size_t each) {
  size_t first[MOST_RANKS + 1];
  if (oat_cpu_is_shared(cpu)) {
    memmove(sums + cpu->first_lane * each, sums, cpu->lanes * each * sizeof *sums);
    for (int rank = 0; rank <= oat_rank_count(); rank++) {
      first[rank] = oat_rank_first(cpu->all_lanes, rank) * each * sizeof *sums;
    }
    oat_ranks_complete(sums, first);
  }
  return cpu->all_lanes;
}

void oat_cpu_all_rows(const oat_cpu *cpu, double *values) {
  size_t first[MOST_RANKS + 1];
  for (int rank = 0; oat_cpu_is_shared(cpu) && rank <= oat_rank_count(); rank++) {
    first[rank] = no_more(oat_rank_first(cpu->all_lanes, rank) * cpu->lane_rows, cpu->rows->n) * sizeof *values;
  }
  if (oat_cpu_is_shared(cpu) && values != NULL) {
    oat_ranks_complete(values, first);
  }
}

void oat_cpu_join(const oat_cpu *cpu, size_t first, size_t lanes, size_t offset, size_t count, double *total) {
  if (oat_cpu_is_shared(cpu)) { /* its lanes run in one round */
    oat_ranks_add(&(oat_rank_sums){lanes, count, cpu->stride, cpu->sums + offset, total});
    return;
  }
  oat_lanes_add(&(oat_lane_sums){.lanes = lanes,
                                 .count = count,
                                 .stride = cpu->stride,
                                 .sums = cpu->sums + offset,
                                 .total = total,
                                 .more = first > 0,
                                 .threads = cpu->config.where.threads});
}

void oat_cpu_take_factor(oat_cpu *cpu, const oat_sparse *sparse) {
  cpu->kuu = sparse->exact ? oat_triangle_plain(sparse->l, sparse->k)
                           : oat_triangle_make(sparse->l, sparse->k, cpu->room, cpu->config.where.threads);
}

void oat_cpu_take_factors(oat_cpu *cpu, const oat_sparse *sparse, const double *lb) {
  cpu->cached = 0;
  oat_cpu_take_factor(cpu, sparse);
  if (lb != NULL) {
    cpu->b = oat_triangle_make(lb, sparse->k, cpu->room + oat_triangle_room(sparse->k), cpu->config.where.threads);
  }
}

oat_row_block oat_cpu_rows_in(const oat_cpu *cpu, const oat_cpu_worker *memory, size_t item) {
  if (cpu->lane_rows == 0) {
    return oat_rows_block_in(cpu->rows, cpu->block, item, memory->rows);
  }
  const size_t lane = cpu->first_lane + item % cpu->lanes, turn = item / cpu->lanes, n = cpu->rows->n;
  const size_t end = no_more((lane + 1) * cpu->lane_rows, n),
               first = no_more(lane * cpu->lane_rows + turn * cpu->block, end);
  return oat_rows_span(cpu->rows, (oat_span){first, no_more(end - first, cpu->block)}, memory->rows);
}

/* Kfu of the block and, if a gradient will follow, its slopes, then V = Kfu L^-T. */
static void make_v(const oat_cpu *cpu, const oat_sparse *sparse, const oat_cpu_block *b) {
  oat_kernel_cross_slopes(&sparse->cov, b->rows.x, oat_sparse_knots(sparse), b->v.a, sparse->gradient ? b->slope : NULL,
                          b->v.ld, oat_cpu_own(cpu)->work);
  oat_triangle_solve(&cpu->kuu, OAT_TRANSPOSED, b->v);
}

static bool is_cached(const oat_cpu *cpu, const oat_sparse *sparse) {
  return cpu->cached != 0 && cpu->cached == sparse->stamp && (cpu->slopes || !sparse->gradient);
}

oat_cpu_block oat_cpu_block_in(const oat_cpu *cpu, const oat_cpu_worker *memory, const oat_sparse *sparse,
                               size_t item) {
  const oat_row_block rows = oat_cpu_rows_in(cpu, memory, item);
  const size_t n = rows.n, k = sparse->k;
  double *v = cpu->cache != NULL ? cpu->cache + cached_parts(cpu) * rows.first * k : memory->v;
  double *slope = cpu->cache != NULL && cpu->config.fits ? v + n * k : memory->slope;
  const oat_cpu_block b = {rows, {v, n, k, n}, slope};
  if (n > 0 && !is_cached(cpu, sparse)) {
    make_v(cpu, sparse, &b);
  }
  return b;
}

oat_cpu_block oat_cpu_block_of(const oat_cpu *cpu, const oat_sparse *sparse, size_t item) {
  return oat_cpu_block_in(cpu, oat_cpu_own(cpu), sparse, item);
}

const double *oat_cpu_squares(const oat_cpu *cpu, const oat_cpu_block *b) {
  double *q = oat_cpu_own(cpu)->row[0];
  oat_row_squares(b->v.rows, b->v.columns, b->v.a, b->v.ld, q);
  return q;
}

void oat_cpu_keep_v(oat_cpu *cpu, const oat_sparse *sparse) {
  cpu->cached = cpu->cache != NULL ? sparse->stamp : 0;
  cpu->slopes = sparse->gradient;
}

static void make_block(void *self, size_t lane, size_t item) {
  const oat_cpu_job *j = self;
  (void)lane;
  oat_cpu_block_of(j->cpu, j->sparse, item);
}

void oat_cpu_fill_cache(oat_cpu *cpu, const oat_sparse *sparse) {
  if (cpu->cache != NULL) {
    oat_cpu_run(cpu, NULL, make_block, &(oat_cpu_job){cpu, sparse});
    oat_cpu_keep_v(cpu, sparse);
  }
}

const double *oat_cpu_prior(const oat_cpu *cpu, const oat_sparse *sparse, const oat_row_block *b) {
  double *prior = oat_cpu_own(cpu)->row[5];
  oat_kernel_diagonal(&sparse->cov, b->x, prior);
  return prior;
}

void oat_cpu_weights(const oat_cpu *cpu, const oat_sparse *sparse, const oat_row_block *b) {
  double *w = oat_cpu_own(cpu)->row[1];
  for (size_t i = 0; i < b->n; i++) {
    w[i] = 1 / oat_block_noise(b, sparse->tau, i);
  }
}
