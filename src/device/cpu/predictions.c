/* Predictions of rows: mean and variance, the mean alone, averages over groups of rows. */
#include "device/cpu/cpu.h"
#include "kernel/vector.h"

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  bool whiten;
  const double *c;
  const oat_row_predictions *out;
  double scale, *mean;
  const oat_group_averages *averages;
} job;

/* ---- mean and variance ----------------------------------------------------------------------------------------- */

static void predict_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  const oat_row_predictions *out = j->out;
  const oat_cpu_block b = oat_cpu_block_of(j->cpu, j->sparse, item);
  const size_t first = b.rows.first, n = b.rows.n;
  if (n == 0) {
    return;
  }
  if (out->left != NULL) {
    const double *prior = oat_cpu_prior(j->cpu, j->sparse, &b.rows), *q = oat_cpu_squares(j->cpu, &b);
    for (size_t i = 0; i < n; i++) {
      out->left[first + i] = oat_cpu_left(prior[i], q[i]);
    }
  }
  if (j->whiten) {
    oat_triangle_solve(&j->cpu->b, OAT_TRANSPOSED, b.v);
  }
  if (out->mean != NULL) {
    oat_gemv(1, oat_as_const(b.v), OAT_PLAIN, j->c, 0, out->mean + first);
  }
  if (out->u2 != NULL) {
    oat_row_squares(n, b.v.columns, b.v.a, b.v.ld, out->u2 + first);
  }
}

oatgp_status oat_cpu_predictions(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                 const oat_row_predictions *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .sparse = sparse, .whiten = lb != NULL, .c = c, .out = out};
  oat_cpu_take_factors(cpu, sparse, lb);
  oat_cpu_run(cpu, "prediction", predict_block, &j);
  return OATGP_OK;
}

/* ---- the mean alone -------------------------------------------------------------------------------------------- */

/* k(x, Z) of a block, in V's place. */
static oat_view cross(const job *j, const oat_row_block *b) {
  const oat_points z = oat_sparse_knots(j->sparse);
  const oat_view k = {oat_cpu_own(j->cpu)->v, b->n, z.n, b->n};
  oat_kernel_cross(&j->sparse->cov, b->x, z, k.a, k.ld, oat_cpu_own(j->cpu)->work);
  return k;
}

static void mean_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  const oat_row_block b = oat_cpu_rows(j->cpu, item);
  if (b.n == 0) {
    return;
  }
  oat_gemv(j->scale, oat_as_const(cross(j, &b)), OAT_PLAIN, j->c, 1, j->mean + b.first);
}

oatgp_status oat_cpu_means(oat_device *device, const oat_sparse *sparse, const double *weights, double scale,
                           double *mean) {
  oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .sparse = sparse, .c = weights, .scale = scale, .mean = mean};
  oat_cpu_run(cpu, "prediction", mean_block, &j);
  return OATGP_OK;
}

/* ---- averages over groups of rows ------------------------------------------------------------------------------ */

static double mean_of(size_t n, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  return sum / (double)n;
}

/* A group is a block. The matrix between its rows takes V's place, too. */
static void average_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  (void)lane;
  const oat_row_block b = oat_cpu_rows(j->cpu, item);
  double *tile = oat_cpu_own(j->cpu)->v;
  oat_kernel_cross(&j->sparse->cov, b.x, b.x, tile, b.n, oat_cpu_own(j->cpu)->work);
  j->averages->prior[item] = mean_of(b.n * b.n, tile);
  const oat_view k = cross(j, &b);
  for (size_t c = 0; c < k.columns; c++) {
    j->averages->k[item + c * j->cpu->blocks] = mean_of(b.n, k.a + c * k.ld);
  }
}

oatgp_status oat_cpu_averages(oat_device *device, const oat_sparse *sparse, const oat_group_averages *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  job j = {.cpu = cpu, .sparse = sparse, .averages = out};
  oat_cpu_run(cpu, NULL, average_block, &j);
  return OATGP_OK;
}
