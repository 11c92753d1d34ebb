/* How well a sparse model predicts each of its own rows from the others: one pass over the rows after an evaluation.
 * The coefficients of an estimated mean stay fixed; src/predict/loo.c has the values of each row, and estimates the
 * coefficients without it. */
#include <stdlib.h>

#include "objective/sites.h"
#include "objective/sparse.h"

/* `rows`: errors, or NULL; the variances follow behind them. */
static oatgp_status leave_out(oat_objective *objective, const oat_point *point, double *rows, double *sum) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const oat_sparse sparse = oat_sparse_at(o, point, objective->config.k);
  const oat_response response = oat_objective_response(objective, point->theta);
  oat_left_out out = {.lb = o->lb,
                      .c = o->c,
                      .columns = 1,
                      .coefficient = o->coefficient,
                      .explained = objective->config.approx->residual == OAT_RESIDUAL_NONE,
                      .response = objective->config.likelihood != NULL ? &response : NULL,
                      .error = rows,
                      .variance = rows != NULL ? rows + oat_rows_total(objective->config.rows) : NULL};
  const oatgp_status status = o->base.device->table->left_out(o->base.device, &sparse, &out);
  *sum = out.density;
  return status;
}

oatgp_status oat_objective_left_out(oat_objective *objective, const oat_point *point, double *sum) {
  return leave_out(objective, point, NULL, sum);
}

oatgp_status oat_objective_left_out_rows(oat_objective *objective, const oat_point *point, double *density) {
  const size_t n = oat_rows_total(objective->config.rows);
  double *rows = NULL, sum;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(objective->memory.ctx, n, 2, &rows));
  TRY(leave_out(objective, point, rows, &sum));
  for (size_t i = 0; i < n; i++) {
    const double error = rows[i], variance = rows[n + i];
    density[i] = -0.5 * (log(OAT_TWO_PI * variance) + error * error / variance);
  }
done:
  free(rows);
  return status;
}
