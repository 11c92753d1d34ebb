/* The joint posterior of rows: K** - V V^T + U U^T, where the model decides about the middle part. V and U are computed
 * in panels of rows, the rest in tiles of the lower triangle; both are divided among lanes. */
#include <string.h>

#include "device/cpu/cpu.h"

enum { SIDE = 128 }; /* rows of a panel, rows and columns of a tile */

typedef struct job {
  const oat_cpu *cpu;
  const oat_sparse *sparse;
  oat_covariance among; /* between rows, which may almost coincide */
  oat_view v;           /* V, then U */
  const double *factor; /* that the rows of v are solved with */
  double sign;          /* of V V^T or U U^T */
  bool kernel;          /* K** is made first */
  double *covariance;
  double *work; /* of the kernel, for each worker */
  size_t stride;
} job;

static size_t panels_of(const job *j) { return (j->v.rows + SIDE - 1) / SIDE; }

/* For the largest number of items. */
static size_t workers_of(size_t n, int threads) {
  const size_t panels = (n + SIDE - 1) / SIDE;
  return oat_workers_for(oat_lanes_for(panels * (panels + 1) / 2), threads);
}

static void run(job *j, size_t items, double flops, void (*item)(void *self, size_t lane, size_t item)) {
  const int threads = j->cpu->config.where.threads;
  oat_loop_run(&(oat_loop){.items = items,
                           .lanes = oat_lanes_for(items),
                           .workers = workers_of(j->v.rows, threads),
                           .threads = threads,
                           .flops = flops,
                           .item = item,
                           .self = j});
}

static double *work_of(const job *j) { return j->work + oat_worker() * j->stride; }

static oat_view panel_of(const job *j, size_t item) {
  const size_t first = item * SIDE, left = j->v.rows - first;
  return (oat_view){j->v.a + first, left < SIDE ? left : SIDE, j->v.columns, j->v.ld};
}

/* V <- Kfu, of a panel */
static void fill_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  const oat_view v = panel_of(j, item);
  const oat_points x = {j->cpu->rows->x + item * SIDE, v.rows, j->cpu->rows->n};
  oat_kernel_cross(&j->sparse->cov, x, oat_sparse_knots(j->sparse), v.a, v.ld, work_of(j));
}

static void solve_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  oat_solve_right(j->factor, j->sparse->k, OAT_TRANSPOSED, panel_of(j, item));
}

/* Tile by tile of the lower triangle, row of tiles by row of tiles. */
static void add_tile(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  const size_t n = j->v.rows;
  size_t row = 0;
  while (item > row) {
    item -= ++row;
  }
  const oat_view a = panel_of(j, row), b = panel_of(j, item),
                 c = {j->covariance + row * SIDE + item * SIDE * n, a.rows, b.rows, n};
  if (j->kernel) {
    const double *x = j->cpu->rows->x;
    oat_kernel_cross(&j->among, (oat_points){x + row * SIDE, a.rows, n}, (oat_points){x + item * SIDE, b.rows, n}, c.a,
                     n, work_of(j));
  }
  oat_gemm(j->sign, oat_as_const(a), OAT_PLAIN, oat_as_const(b), OAT_TRANSPOSED, 1, c);
}

static void solve_panels(job *j, const double *factor) {
  const double n = (double)j->v.rows, k = (double)j->v.columns;
  j->factor = factor;
  run(j, panels_of(j), n * k * k, solve_panel);
}

static void add_tiles(job *j, double sign, bool kernel) {
  const double n = (double)j->v.rows, k = (double)j->v.columns;
  const size_t panels = panels_of(j);
  j->sign = sign;
  j->kernel = kernel;
  run(j, panels * (panels + 1) / 2, n * n * k, add_tile);
}

/* The prior variance that the knots leave, only on the diagonal; `prior` has k(x, x). */
static void leave_diagonal(const double *prior, oat_const_view v, double *covariance) {
  for (size_t i = 0; i < v.rows; i++) {
    double q = 0;
    for (size_t c = 0; c < v.columns; c++) {
      q += v.a[i + c * v.ld] * v.a[i + c * v.ld];
    }
    covariance[i * (v.rows + 1)] = oat_cpu_left(prior[i], q);
  }
}

oatgp_status oat_cpu_joint(oat_device *device, const oat_sparse *sparse, const double *lb, oat_residual residual,
                           double *covariance) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  const size_t n = all.n, k = sparse->k;
  const int threads = cpu->config.where.threads;
  oat_scratch memory = {.ctx = cpu->ctx};
  job j = {.cpu = cpu,
           .sparse = sparse,
           .among = sparse->cov,
           .v = {oat_take_doubles(&memory, n, k), n, k, n},
           .covariance = covariance};
  oatgp_status status;
  j.among.among = true;
  j.stride = oat_kernel_work(cpu->config.kernel, SIDE, SIDE > k ? SIDE : k, cpu->rows->d);
  j.work = oat_take_doubles(&memory, workers_of(n, threads), j.stride);
  double *prior = oat_take_doubles(&memory, n, 1);
  TRY(memory.status);
  run(&j, panels_of(&j), (double)n * (double)k * (3 * (double)cpu->rows->d + 25), fill_panel);
  solve_panels(&j, sparse->l);
  memset(covariance, 0, n * n * sizeof *covariance);
  if (residual == OAT_RESIDUAL_FULL) {
    add_tiles(&j, -1, true);
  } else if (residual == OAT_RESIDUAL_DIAGONAL) {
    oat_kernel_diagonal(&sparse->cov, all.x, prior);
    leave_diagonal(prior, oat_as_const(j.v), covariance);
  }
  if (lb != NULL) {
    solve_panels(&j, lb);
    add_tiles(&j, 1, false);
  }
  oat_symmetrise(n, covariance, threads);
done:
  oat_scratch_free(&memory);
  return status;
}
