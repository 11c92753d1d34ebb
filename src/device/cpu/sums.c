/* The sums that give the value. N K^2 (solve) + N K^2 (syrk). */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

static oat_sums sums_of(const oat_cpu_job *j, size_t lane) {
  return oat_sums_over(oat_cpu_sums_of(j->cpu, lane), j->sparse->k, j->cpu->rows->p);
}

/* For alpha = 0: w_i of the block's rows, and the scalar sums that need no |v_i|^2. If k(x, x) varies, OAT_G_OVER_N is
 * the sum of w_i k(x_i, x_i) until the end. */
static void add_noise_scalars(const oat_cpu_job *j, const oat_row_block *b, double *scalar) {
  const double *w = oat_cpu_own(j->cpu)->row[1];
  oat_cpu_weights(j->cpu, j->sparse, b);
  if (oat_covariance_is_tree(&j->sparse->cov)) {
    scalar[OAT_G_OVER_N] += oat_sum_products(b->n, w, oat_cpu_prior(j->cpu, j->sparse, b));
  }
  if (oat_rows_plain_noise(j->cpu->rows)) { /* equal terms would have equal rounding errors, which would add up */
    scalar[OAT_SUM_W] += (double)b->n * w[0];
    scalar[OAT_LOG_LAMBDA] -= (double)b->n * log(w[0]);
    return;
  }
  for (size_t i = 0; i < b->n; i++) {
    scalar[OAT_SUM_W] += w[i];
    scalar[OAT_LOG_LAMBDA] -= log(fabs(w[i]));
  }
}

/* -1/2 sum log(1 + g_i / n_i), given w_i. */
static void add_log_penalty(const oat_cpu_job *j, const oat_cpu_block *b, double *scalar) {
  double *const *row = oat_cpu_own(j->cpu)->row, *ratio = row[2];
  const double *q = oat_cpu_squares(j->cpu, b), *prior = oat_cpu_prior(j->cpu, j->sparse, &b->rows), *w = row[1];
  for (size_t i = 0; i < b->rows.n; i++) {
    ratio[i] = oat_cpu_left(prior[i], q[i]) * w[i];
  }
  oat_log1p(b->rows.n, 1, ratio, ratio);
  scalar[OAT_PENALTY] -= 0.5 * oat_sum(b->rows.n, ratio);
}

/* For alpha > 0: w_i of the block's rows, and the scalar sums. */
static void add_scalars(const oat_cpu_job *j, const oat_cpu_block *b, double *scalar) {
  const double alpha = j->sparse->alpha, *q = oat_cpu_squares(j->cpu, b);
  const double *prior = oat_cpu_prior(j->cpu, j->sparse, &b->rows);
  double *w = oat_cpu_own(j->cpu)->row[1];
  for (size_t i = 0; i < b->rows.n; i++) {
    const double n = oat_block_noise(&b->rows, j->sparse->tau, i), g = oat_cpu_left(prior[i], q[i]),
                 lambda = n + alpha * g;
    w[i] = 1 / lambda;
    scalar[OAT_LOG_LAMBDA] += log(lambda);
    scalar[OAT_PENALTY] -= (1 - alpha) / (2 * alpha) * log1p(alpha * g / n);
    scalar[OAT_G_OVER_N] += g / n;
    scalar[OAT_SUM_W] += w[i];
  }
}

static void add_right_sides(const oat_cpu_job *j, const oat_cpu_block *b, oat_sums *sums) {
  const size_t width = 1 + j->cpu->rows->p, k = b->v.columns, n = b->rows.n;
  const double *w = oat_cpu_own(j->cpu)->row[1];
  double *wr = oat_cpu_own(j->cpu)->row[2];
  for (size_t column = 0; column < width; column++) {
    const double *r = b->rows.r + column * b->rows.ldr;
    for (size_t i = 0; i < n; i++) {
      wr[i] = w[i] * r[i];
    }
    for (size_t c = 0; c < k; c++) {
      sums->vwr[c + column * k] += oat_sum_products(n, b->v.a + c * b->v.ld, wr);
    }
    for (size_t i = 0; i < width; i++) {
      sums->rwr[i + column * width] += oat_dot(n, b->rows.r + i * b->rows.ldr, wr);
    }
  }
}

static bool any_negative(size_t n, const double *w) {
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    any = any || w[i] < 0;
  }
  return any;
}

/* T = diag(by) V */
static oat_view scale_rows(const oat_cpu_job *j, const oat_cpu_block *b, const double *by) {
  const oat_view t = {oat_cpu_own(j->cpu)->t, b->v.rows, b->v.columns, b->v.rows};
  for (size_t c = 0; c < t.columns; c++) {
    for (size_t i = 0; i < t.rows; i++) {
      t.a[i + c * t.ld] = by[i] * b->v.a[i + c * b->v.ld];
    }
  }
  return t;
}

/* vwv = V^T W V + beta vwv: as T^T T with T = diag(sqrt(w)) V, or directly when all w are the same. With a likelihood
 * that is not log-concave, sites may have a negative w: then as T^T V with T = W V. */
static void add_products(const oat_cpu_job *j, const oat_cpu_block *b, double beta, oat_sums *sums) {
  const oat_cpu_worker *l = oat_cpu_own(j->cpu);
  const double *w = l->row[1];
  if (j->sparse->alpha == 0 && oat_rows_plain_noise(j->cpu->rows)) {
    oat_syrk(w[0], oat_as_const(b->v), beta, oat_square(sums->vwv, j->sparse->k));
    return;
  }
  if (any_negative(b->v.rows, w)) {
    oat_gemm(1, oat_as_const(scale_rows(j, b, w)), OAT_TRANSPOSED, oat_as_const(b->v), OAT_PLAIN, beta,
             oat_square(sums->vwv, j->sparse->k));
    return;
  }
  double *root = l->row[2];
  for (size_t i = 0; i < b->v.rows; i++) {
    root[i] = sqrt(w[i]);
  }
  oat_syrk(1, oat_as_const(scale_rows(j, b, root)), beta, oat_square(sums->vwv, j->sparse->k));
}

static void add_block(void *self, size_t lane, size_t item) {
  const oat_cpu_job *j = self;
  const bool first = item == lane; /* of the lane */
  oat_sums sums = sums_of(j, lane);
  if (first) {
    memset(sums.vwr, 0, (sums.count - j->sparse->k * j->sparse->k) * sizeof *sums.vwr);
  }
  const oat_cpu_block b = oat_cpu_block_of(j->cpu, j->sparse, item);
  if (b.rows.n == 0) {
    return;
  }
  if (j->sparse->alpha > 0) {
    add_scalars(j, &b, sums.scalar);
  } else {
    add_noise_scalars(j, &b.rows, sums.scalar);
  }
  if (j->sparse->penalty == OAT_PENALISE_LOG) {
    add_log_penalty(j, &b, sums.scalar);
  }
  add_right_sides(j, &b, &sums);
  add_products(j, &b, first ? 0 : 1, &sums);
}

typedef struct sums_job {
  oat_cpu_job base;
  oat_sums *out;
} sums_job;

/* Column `item` of V^T W V. The part above the diagonal is meaningless in the lanes, and must not reach a file. */
static void clear_above(void *self, size_t lane, size_t item) {
  const sums_job *j = self;
  (void)lane;
  memset(j->out->vwv + item * j->base.sparse->k, 0, item * sizeof *j->out->vwv);
}

static void join(void *self, size_t first, size_t count) {
  const sums_job *j = self;
  oat_cpu_join(j->base.cpu, first, count, 0, j->out->count, j->out->vwv);
}

oatgp_status oat_cpu_sums(oat_device *device, const oat_sparse *sparse, oat_sums *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  cpu->cached = cpu->cached == sparse->stamp
                    ? cpu->cached
                    : 0; /* V is still valid if the sites have moved, on which it does not depend */
  oat_cpu_take_factor(cpu, sparse);
  sums_job j = {{cpu, sparse}, out};
  oat_loop loop = oat_cpu_loop(cpu, "value", add_block, &j);
  loop.join = join;
  if (cpu->near.most > 0) {
    oat_cpu_neighbour_sums(cpu, sparse, out);
  } else {
    oat_loop_run(&loop);
  }
  oat_loop_run(&(oat_loop){.items = sparse->k,
                           .lanes = oat_lanes_for(sparse->k),
                           .threads = cpu->config.where.threads,
                           .flops = OAT_FLOPS_OF_MEMORY * (double)sparse->k * (double)sparse->k / 2,
                           .item = clear_above,
                           .self = &j});
  oat_sums_finish(sparse, out);
  oat_cpu_keep_v(cpu, sparse);
  return oat_rows_check(cpu->ctx, cpu->rows);
}
