/* How well a sparse model predicts its own rows, each without itself: one pass over the rows after an evaluation. src/predict/loo.c has the
 * formulas, and what each row has; here the coefficients of an estimated mean stay as they are. */
#include <math.h>
#include <stdlib.h>

#include "objective/sparse.h"
#include "util/memory.h"

/* What is left of the target at row i once the mean's basis is taken off. */
static double residual(const oat_rows *rows, const double *coefficient, size_t i) {
  double r = rows->r[i];
  for (size_t j = 0; j < rows->p; j++) {
    r -= coefficient[j] * rows->r[i + (1 + j) * rows->n];
  }
  return r;
}

/* The log density of row i, whose k(x, x) is prior[i]. */
static double density(const oat_sparse_objective *o, const oat_sparse *sparse, size_t i, const double *prior,
                      const oat_row_predictions *at) {
  const oat_rows *rows = o->base.config.rows;
  const double fit = at->mean[i], q = at->q[i], u2 = at->u2[i];
  const double noise = oat_noise_variance(rows, sparse->tau, i), g = fmax(prior[i] - q, 0);
  const double w = 1 / (noise + sparse->alpha * g), leave = fmax(1 - w * u2, 1 / (1 + w * q));
  const double error = (residual(rows, o->coefficient, i) - fit) / leave;
  const double variance = u2 / leave + noise + (o->base.config.approx->residual == OAT_RESIDUAL_NONE ? 0 : g);
  return -0.5 * (log(OAT_TWO_PI * variance) + error * error / variance);
}

oatgp_status oat_objective_left_out(oatgp_context *ctx, oat_objective *objective, const oat_point *point, double *sum) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const size_t n = objective->config.rows->n;
  const oat_sparse sparse = oat_sparse_at(o, point, objective->config.k);
  double *work = NULL;
  oatgp_status status = OATGP_OK;
  *sum = 0;
  TRY(oat_new_matrix(ctx, n, 4, &work));
  const oat_row_predictions out = {work, work + n, work + 2 * n};
  TRY(o->backend_table->predict(o->backend, &sparse, o->lb, o->c, &out));
  double *prior = work + 3 * n;
  oat_kernel_diagonal(&sparse.cov, (oat_points){objective->config.rows->x, n, n}, prior);
  for (size_t i = 0; i < n; i++) {
    *sum += density(o, &sparse, i, prior, &out);
  }
done:
  free(work);
  return status;
}
