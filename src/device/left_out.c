/* Predicts every row from the others. With u = LB^-1 v, s = |u|^2 and leave = 1 - w s: kappa = (S^-1)_ii = w leave, and
 * the error of each column of R = [r, H] is (R_i - u^T LB^-1 V W R) / leave; predict/loo.c has the rest. */
#include "device/left_out.h"

#include <math.h>

#include "device/cpu/cpu.h"

/* One row: its prediction from all others. */
typedef struct term {
  double noise, left, s; /* n_i, g_i, |u|^2 */
  double w, leave;
} term;

/* leave is at least 1 / (1 + w q), its value if there were no other row. (A site may have a negative w.) */
static term term_of(const oat_sparse *sparse, double noise, double prior, double q, double s) {
  const double left = fmax(prior - q, 0),
               w = 1 / (noise + sparse->alpha * left); /* left is negative only by rounding */
  return (term){noise, left, s, w, w > 0 ? fmax(1 - w * s, 1 / (1 + w * q)) : 1 - w * s};
}

/* A block in use. */
typedef struct job {
  const oat_left_out *out;
  const oat_row_block *b;
  const oat_left_rows *rows;
  double *e, *sums;
} job;

/* y - mean of row i. */
static double error_of(const job *j, size_t i, const term *t) {
  const oat_left_out *out = j->out;
  const oat_row_block *b = j->b;
  const double *fit = j->rows->fit;
  double *e = j->e;
  const size_t p = j->rows->p;
  if (out->columns == 1) { /* without a mean that stays fixed */
    double r = b->r[i];
    for (size_t c = 0; c < p; c++) {
      r -= out->coefficient[c] * b->r[i + (1 + c) * b->ldr];
    }
    return (r - fit[i]) / t->leave;
  }
  for (size_t c = 0; c <= p; c++) {
    e[c] = (b->r[i + c * b->ldr] - fit[i + c * j->rows->apart]) / t->leave;
  }
  return oat_gls_error(out->gls, out->coefficient, e, t->w * t->leave);
}

static void leave_row(const job *j, size_t i, const term *t) {
  const oat_left_out *out = j->out;
  const oat_row_block *b = j->b;
  const double error = error_of(j, i, t), left = out->explained ? 0 : t->left;
  const double variance = t->s / t->leave + left + t->noise;
  double *sums = j->sums;
  sums[OAT_LEFT_DENSITY] += out->response != NULL
                                ? oat_cpu_answer_density(out->response, b, i, b->r[i] - error, variance - t->noise)
                                : -0.5 * (log(OAT_TWO_PI * variance) + error * error / variance);
  sums[OAT_LEFT_SQUARES] += t->w * b->r[i] * b->r[i];
  sums[OAT_LEFT_PRODUCTS] += t->w * b->r[i] * j->rows->fit[i];
  sums[OAT_LEFT_ERRORS] += error * error;
  sums[OAT_LEFT_INSIDE] += fabs(error) <= out->reach * sqrt(variance);
  if (out->error != NULL) {
    out->error[b->first + i] = error;
    out->variance[b->first + i] = out->latent ? t->s / t->leave + left : variance;
  }
}

void oat_left_out_rows(const oat_left_out *out, const oat_sparse *sparse, const oat_row_block *b,
                       const oat_left_rows *rows, double *e, double *sums) {
  const job j = {out, b, rows, e, sums};
  for (size_t i = 0; i < b->n; i++) {
    const term t = term_of(sparse, oat_block_noise(b, sparse->tau, i), rows->prior[i], rows->q[i], rows->s[i]);
    leave_row(&j, i, &t);
  }
}

void oat_left_out_take(const double *sums, oat_left_out *out) {
  out->density = sums[OAT_LEFT_DENSITY];
  out->squares = sums[OAT_LEFT_SQUARES];
  out->products = sums[OAT_LEFT_PRODUCTS];
  out->errors = sums[OAT_LEFT_ERRORS];
  out->inside = sums[OAT_LEFT_INSIDE];
}
