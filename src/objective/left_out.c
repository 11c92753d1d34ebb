/* How well a sparse model predicts its own rows, each without itself: one pass over the rows after an evaluation. The
 * coefficients of an estimated mean stay as they are; src/predict/loo.c has what each row has, and estimates them
 * without it. */
#include "objective/sparse.h"

oatgp_status oat_objective_left_out(oat_objective *objective, const oat_point *point, double *sum) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const oat_sparse sparse = oat_sparse_at(o, point, objective->config.k);
  oat_left_out out = {.lb = o->lb,
                      .c = o->c,
                      .columns = 1,
                      .coefficient = o->coefficient,
                      .explained = objective->config.approx->residual == OAT_RESIDUAL_NONE};
  const oatgp_status status = o->base.device->table->left_out(o->base.device, &sparse, &out);
  *sum = out.density;
  return status;
}
