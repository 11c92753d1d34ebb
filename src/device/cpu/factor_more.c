/* Adds rows to a known factor: with S = [S11 S12; S21 S22] and S11 = L11 L11^T,
 *   L21^T = L11^-1 S12,  L22 L22^T = S22 - L21 L21^T. */
#include <string.h>

#include "device/cpu/cpu.h"

enum { ROWS = 256 }; /* of a panel */

typedef struct job {
  const oat_cpu *cpu;
  oat_covariance cov; /* rows may almost coincide */
  oat_points old, added;
  double *cross; /* old x (added + 1 + p): S12, then L21^T; and R of the old rows, then L11^-1 R */
  double *work;  /* of the kernel, for each worker */
  size_t stride;
} job;

static void cross_panel(void *self, size_t lane, size_t item) {
  const job *j = self;
  const size_t first = item * ROWS, left = j->old.n - first;
  const oat_points x = {j->old.a + first, left < ROWS ? left : ROWS, j->old.ld};
  (void)lane;
  oat_kernel_cross(&j->cov, x, j->added, j->cross + first, j->old.n, j->work + oat_worker() * j->stride);
}

static void fill_cross(job *j, size_t panels, size_t workers) {
  oat_loop_run(&(oat_loop){.items = panels,
                           .lanes = oat_lanes_for(panels),
                           .workers = workers,
                           .threads = j->cpu->config.where.threads,
                           .flops = (double)j->old.n * (double)j->added.n * (3 * (double)j->cov.d + 25),
                           .item = cross_panel,
                           .self = j});
}

/* L22 in `square`, added x added; returns the pivot that was not positive, or 0. */
static size_t factorise_added(job *j, const double *diagonal, double *square) {
  const size_t n = j->old.n, b = j->added.n;
  oat_kernel_cross(&j->cov, j->added, j->added, square, b, j->work);
  for (size_t i = 0; i < b; i++) {
    square[i * (b + 1)] += diagonal[n + i];
  }
  oat_syrk(-1, (oat_const_view){j->cross, n, b, n}, 1, oat_square(square, b));
  const size_t pivot = oat_cholesky(b, square, j->cpu->config.where.threads);
  return pivot > 0 ? n + pivot : 0;
}

/* Copies the parts to their places. */
static void put_together(const job *j, const double *before, const double *square, double *l) {
  const size_t old = j->old.n, b = j->added.n, n = old + b;
  for (size_t column = 0; column < old; column++) {
    memcpy(l + column * (n + 1), before + column * (old + 1), (old - column) * sizeof *l);
    for (size_t i = 0; i < b; i++) {
      l[old + i + column * n] = j->cross[column + i * old];
    }
  }
  for (size_t column = 0; column < b; column++) {
    memcpy(l + old + (old + column) * n, square + column * b, b * sizeof *l);
  }
}

/* L^-1 R: of the old rows it is behind `cross`; of the others L22^-1 (R2 - L21 that). */
static void put_solved(const job *j, const double *square, double *solved) {
  const size_t old = j->old.n, b = j->added.n, n = old + b, width = 1 + j->cpu->rows->p;
  const double *known = j->cross + old * b;
  const oat_view added = {solved + old, b, width, n};
  for (size_t column = 0; column < width; column++) {
    memcpy(solved + column * n, known + column * old, old * sizeof *solved);
    memcpy(added.a + column * n, j->cpu->rows->r + old + column * n, b * sizeof *solved);
  }
  oat_gemm(-1, (oat_const_view){j->cross, old, b, old}, OAT_TRANSPOSED, (oat_const_view){known, old, width, old},
           OAT_PLAIN, 1, added);
  oat_trsm(OAT_FROM_LEFT, oat_const_square(square, b), OAT_PLAIN, added);
}

/* Everything is solved with the factor of the old rows in one pass, because reading it takes the time. */
static oatgp_status append(oat_cpu *cpu, const oat_covariance *cov, const double *diagonal, oat_grown_factor *out) {
  const size_t old = out->known, n = cpu->rows->n, b = n - old, panels = (old + ROWS - 1) / ROWS,
               width = 1 + cpu->rows->p;
  const size_t workers = oat_workers_for(oat_lanes_for(panels), cpu->config.where.threads), tall = b > ROWS ? b : ROWS;
  oat_scratch memory = {.ctx = cpu->ctx};
  job j = {.cpu = cpu, .cov = *cov, .old = {cpu->rows->x, old, n}, .added = {cpu->rows->x + old, b, n}};
  j.cov.among = true;
  j.stride = oat_kernel_work(cpu->config.kernel, tall, b, cpu->rows->d);
  j.cross = oat_take_doubles(&memory, old, b + width);
  j.work = oat_take_doubles(&memory, workers, j.stride);
  double *square = oat_take_doubles(&memory, b, b);
  oatgp_status status;
  TRY(memory.status);
  fill_cross(&j, panels, workers);
  for (size_t column = 0; column < width; column++) {
    memcpy(j.cross + (b + column) * old, cpu->rows->r + column * n, old * sizeof *j.cross);
  }
  oat_solve_left(out->before, old, OAT_PLAIN, (oat_view){j.cross, old, b + width, old}, cpu->config.where.threads);
  out->pivot = factorise_added(&j, diagonal, square);
  TRY(out->pivot == 0 ? OATGP_OK : OATGP_NUMERIC);
  put_together(&j, out->before, square, out->l);
  put_solved(&j, square, out->solved);
done:
  oat_scratch_free(&memory);
  return status;
}

static void solve(const oat_cpu *cpu, const oat_grown_factor *out) {
  const size_t n = cpu->rows->n, width = 1 + cpu->rows->p;
  memcpy(out->solved, cpu->rows->r, n * width * sizeof *out->solved);
  oat_solve_left(out->l, n, OAT_PLAIN, (oat_view){out->solved, n, width, n}, cpu->config.where.threads);
}

oatgp_status oat_cpu_factor_more(oat_device *device, const oat_covariance *cov, const double *diagonal,
                                 oat_grown_factor *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = cpu->rows->n, width = 1 + cpu->rows->p;
  const oat_const_view solved = {out->solved, n, width, n};
  const bool more = out->known > 0 && out->known < n;
  out->pivot = 0;
  PASS_ON(out->known == 0 ? oat_cpu_factor(device, cov, diagonal, out->l, &out->pivot) : OATGP_OK);
  PASS_ON(more ? append(cpu, cov, diagonal, out) : OATGP_OK);
  if (!more) {
    solve(cpu, out);
  }
  oat_gemm(1, solved, OAT_TRANSPOSED, solved, OAT_PLAIN, 0, oat_square(out->gram, width));
  return OATGP_OK;
}
