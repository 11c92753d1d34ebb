/* Every row as the others predict it. With u = LB^-1 v, s = |u|^2 and leave = 1 - w s: kappa = (S^-1)_ii = w leave, and
 * the error of each column of R = [r, H] is (R_i - u^T LB^-1 V W R) / leave; predict/loo.c has the rest. */
#include <stdlib.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

/* Sums of a lane. */
enum { DENSITY, SQUARES, PRODUCTS, SUMS };

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  const oat_left_out *out;
  double *scratch; /* slots x stride: what the model makes of the columns in a block, and a row's errors */
  size_t stride;
  double sums[OAT_MOST_LANES * SUMS];
} job;

/* One row: what the model makes of it from all others. */
typedef struct term {
  double noise, left, s; /* n_i, g_i, |u|^2 */
  double w, leave;
} term;

/* leave is at least 1 / (1 + w q), which it would be if there were no other row. (The site of an answer may have a negative w.) */
static term term_of(const job *j, double noise, double prior, double q, double s) {
  const double left = oat_cpu_left(prior, q), w = 1 / (noise + j->sparse->alpha * left);
  return (term){noise, left, s, w, w > 0 ? fmax(1 - w * s, 1 / (1 + w * q)) : 1 - w * s};
}

/* y - mean of row i; `fit` has what the model makes of each column, n apart, and `e` room for as many. */
static double error_of(const job *j, const oat_row_block *b, size_t i, const double *fit, const term *t, double *e) {
  const oat_left_out *out = j->out;
  const size_t p = j->cpu->rows->p;
  if (out->columns == 1) { /* less a mean that stays as it is */
    double r = b->r[i];
    for (size_t c = 0; c < p; c++) {
      r -= out->coefficient[c] * b->r[i + (1 + c) * b->ldr];
    }
    return (r - fit[i]) / t->leave;
  }
  for (size_t c = 0; c <= p; c++) {
    e[c] = (b->r[i + c * b->ldr] - fit[i + c * b->n]) / t->leave;
  }
  return oat_gls_error(out->gls, out->coefficient, e, t->w * t->leave);
}

static void leave_row(job *j, size_t lane, const oat_row_block *b, size_t i, const double *fit, const term *t, double *e) {
  const oat_left_out *out = j->out;
  const double error = error_of(j, b, i, fit, t, e), left = out->explained ? 0 : t->left;
  const double variance = t->s / t->leave + left + t->noise;
  double *sums = j->sums + lane * SUMS;
  sums[DENSITY] += out->response != NULL ? oat_cpu_answer_density(out->response, b, i, b->r[i] - error, variance - t->noise)
                                         : -0.5 * (log(OAT_TWO_PI * variance) + error * error / variance);
  sums[SQUARES] += t->w * b->r[i] * b->r[i];
  sums[PRODUCTS] += t->w * b->r[i] * fit[i];
  if (out->error != NULL) {
    out->error[b->first + i] = error;
    out->variance[b->first + i] = out->latent ? t->s / t->leave + left : variance;
  }
}

static void leave_block(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_cpu *cpu = j->cpu;
  const oat_cpu_block b = oat_cpu_block_of(cpu, j->sparse, item);
  const size_t n = b.rows.n, columns = j->out->columns, k = b.v.columns;
  const double *q = oat_cpu_squares(cpu, &b), *prior = oat_cpu_prior(cpu, j->sparse, &b.rows);
  double *s = oat_cpu_own(cpu)->row[1], *fit = j->scratch + oat_worker() * j->stride, *e = fit + cpu->block * columns;
  oat_triangle_solve(&cpu->b, OAT_TRANSPOSED, b.v);
  oat_row_squares(n, k, b.v.a, b.v.ld, s);
  oat_gemm(1, oat_as_const(b.v), OAT_PLAIN, (oat_const_view){j->out->c, k, columns, k}, OAT_PLAIN, 0, (oat_view){fit, n, columns, n});
  for (size_t i = 0; i < n; i++) {
    const term t = term_of(j, oat_block_noise(&b.rows, j->sparse->tau, i), prior[i], q[i], s[i]);
    leave_row(j, lane, &b.rows, i, fit, &t, e);
  }
}

/* Allocates what the lanes need besides V. */
oatgp_status oat_cpu_left_out(oat_device *device, const oat_sparse *sparse, oat_left_out *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  if (cpu->near.most > 0) {
    return oat_cpu_neighbours_left_out(cpu, sparse, out);
  }
  job j = {.cpu = cpu, .sparse = sparse, .out = out, .stride = (cpu->block + 1) * out->columns};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(cpu->ctx, j.stride, cpu->slots, &j.scratch));
  oat_cpu_take_factors(cpu, sparse, out->lb);
  oat_cpu_run(cpu, "leave-one-out", leave_block, &j);
  oat_lanes_add(&(oat_lane_sums){cpu->lanes, SUMS, SUMS, j.sums, j.sums});
  out->density = j.sums[DENSITY];
  out->squares = j.sums[SQUARES];
  out->products = j.sums[PRODUCTS];
done:
  free(j.scratch);
  return status;
}
