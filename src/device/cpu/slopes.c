/* Predictions and their derivatives with respect to the inputs of the rows.
 *
 * With a = L^-T LB^-T c the mean is k(x, Z) . a. The derivative of the variance is b . d k(Z, x) + d k(x, x), where
 *   b = 2 L^-T (LB^-T u - v),
 * without the parts that the model lacks: -v and k(x, x) if the residual is NONE, u if LB is NULL. So both go back
 * through the two factors, and the kernel's slopes give the rest. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  const double *lb, *c, *weights;
  const oat_row_predictions *at;
  const oat_row_slopes *out;
  double *room; /* of each worker: two matrices of block x K */
} job;

/* a */
static void find_weights(const oat_sparse *sparse, const double *lb, const double *c, int threads, double *weights) {
  const oat_view a = {weights, sparse->k, 1, sparse->k};
  memcpy(weights, c, sparse->k * sizeof *weights);
  if (lb != NULL) {
    oat_solve_left(lb, sparse->k, OAT_TRANSPOSED, a, threads);
  }
  oat_solve_left(sparse->l, sparse->k, OAT_TRANSPOSED, a, threads);
}

/* b <- -2 V if the model has that part, else 0 */
static void begin_variance(const job *j, oat_const_view v, oat_view b) {
  if (j->out->residual == OAT_RESIDUAL_NONE) {
    memset(b.a, 0, b.rows * b.columns * sizeof *b.a);
  } else {
    oat_scaled_copy(b.rows * b.columns, -2, v.a, b.a);
  }
}

static void find_left(const job *j, const oat_row_block *rows, oat_const_view v) {
  const double *prior = oat_cpu_prior(j->cpu, j->sparse, rows);
  double *left = j->at->left + rows->first;
  oat_row_squares(v.rows, v.columns, v.a, v.ld, left);
  for (size_t i = 0; i < v.rows; i++) {
    left[i] = oat_cpu_left(prior[i], left[i]);
  }
}

/* Kfu in v becomes V, then U, then U LB^-1, and b its own. */
static void find_variance(const job *j, const oat_row_block *rows, oat_view v, oat_view b) {
  const oat_cpu *cpu = j->cpu;
  oat_triangle_solve(&cpu->kuu, OAT_TRANSPOSED, v);
  find_left(j, rows, oat_as_const(v));
  begin_variance(j, oat_as_const(v), b);
  if (j->lb != NULL) {
    oat_triangle_solve(&cpu->b, OAT_TRANSPOSED, v);
  }
  oat_gemv(1, oat_as_const(v), OAT_PLAIN, j->c, 0, j->at->mean + rows->first);
  oat_row_squares(v.rows, v.columns, v.a, v.ld, j->at->u2 + rows->first);
  if (j->out->variance == NULL) {
    return;
  }
  if (j->lb != NULL) {
    oat_triangle_solve(&cpu->b, OAT_PLAIN, v);
    oat_add_scaled(v.rows * v.columns, 2, v.a, b.a);
  }
  oat_triangle_solve(&cpu->kuu, OAT_PLAIN, b);
}

/* Of a column-major n x d matrix, the rows of the block. */
static void clear(const job *j, const oat_row_block *rows, double *slopes) {
  for (size_t input = 0; input < j->cpu->rows->d; input++) {
    memset(slopes + rows->first + input * rows->x.ld, 0, rows->n * sizeof *slopes);
  }
}

static void slope_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  const oat_row_block rows = oat_cpu_rows(j->cpu, item);
  const size_t n = rows.n, k = j->sparse->k, room = j->cpu->block * k;
  const oat_points z = oat_sparse_knots(j->sparse);
  double *slope = j->room + 2 * oat_worker() * room, *work = oat_cpu_own(j->cpu)->work;
  const oat_view v = {oat_cpu_own(j->cpu)->v, n, k, n}, b = {slope + room, n, k, n};
  oat_kernel_side side[2];
  oat_kernel_sides sides = {0, side};
  (void)lane;
  if (n == 0) {
    return;
  }
  oat_kernel_cross_slopes(&j->sparse->cov, rows.x, z, v.a, slope, n, work);
  find_variance(j, &rows, v, b);
  if (j->out->mean != NULL) {
    clear(j, &rows, j->out->mean);
    side[sides.count++] = (oat_kernel_side){j->weights, 0, 1, j->out->mean + rows.first};
  }
  if (j->out->variance != NULL) {
    clear(j, &rows, j->out->variance);
    side[sides.count++] = (oat_kernel_side){b.a, 1, n, j->out->variance + rows.first};
    if (j->out->residual != OAT_RESIDUAL_NONE) {
      oat_kernel_diagonal_in_x(&j->sparse->cov, rows.x, j->out->variance + rows.first, work);
    }
  }
  oat_kernel_cross_in_x(&j->sparse->cov, rows.x, z, slope, n, sides, work);
}

oatgp_status oat_cpu_prediction_slopes(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                       const oat_row_predictions *at, const oat_row_slopes *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  oat_scratch memory = {.ctx = cpu->ctx};
  double *weights = oat_take_doubles(&memory, sparse->k, 1);
  double *room = oat_take_doubles(&memory, 2 * cpu->workers, cpu->block * sparse->k);
  job j = {.cpu = cpu, .sparse = sparse, .lb = lb, .c = c, .weights = weights, .at = at, .out = out, .room = room};
  if (memory.status == OATGP_OK) {
    find_weights(sparse, lb, c, cpu->config.where.threads, weights);
    oat_cpu_take_factors(cpu, sparse, lb);
    oat_loop loop = oat_cpu_loop(cpu, "prediction", slope_block, &j);
    loop.flops *= 2;
    oat_loop_run(&loop);
  }
  oat_scratch_free(&memory);
  return memory.status;
}
