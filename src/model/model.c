/* The model as an object: memory, derived parts, prior mean. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "util/memory.h"

void oatgp_model_free(oatgp_model *model) {
  if (model == NULL) {
    return;
  }
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    free(model->text[i]);
  }
  for (size_t j = 0; model->names != NULL && j < model->d; j++) {
    free(model->names[j]);
  }
  free(model->names);
  oat_scaling_clear(&model->scaling);
  double *const arrays[] = {model->positions, model->theta,       model->z,     model->l,     model->lb,
                            model->c,         model->coefficient, model->sums,  model->r,     model->noise,
                            model->history,   model->selection,   model->order, model->slopes};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
  free(model);
}

oatgp_status oat_model_allocate_scaling(oatgp_context *ctx, oat_scaling *scaling, size_t d) {
  oatgp_status status = OATGP_OK;
  scaling->d = d;
  TRY(oat_new(ctx, d, sizeof *scaling->column, &scaling->column));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->centre));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->scale));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->middle));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->spread));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->lowest));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->highest));
  for (size_t j = 0; j < d; j++) {
    scaling->column[j] = j;
  }
done:
  return status;
}

oatgp_status oat_model_allocate(oatgp_context *ctx, oatgp_model *model) {
  const size_t d = model->d, k = model->k, p = model->p, theta = oat_theta_count(model->kernel, d);
  oatgp_status status = OATGP_OK;
  TRY(oat_model_allocate_scaling(ctx, &model->scaling, d));
  TRY(oat_new(ctx, d, sizeof *model->names, &model->names));
  TRY(oat_new_matrix(ctx, theta, 1, &model->theta));
  TRY(oat_new_matrix(ctx, k, d, &model->z));
  TRY(oat_new_matrix(ctx, k, k, &model->l));
  TRY(oat_new_matrix(ctx, k, 1, &model->c));
  TRY(oat_new_matrix(ctx, p, 1, &model->coefficient));
  if (p > 1) {
    TRY(oat_new_matrix(ctx, d, 1, &model->slopes));
  }
  if (model->approx->sparse) {
    TRY(oat_new_matrix(ctx, k, k, &model->lb));
    model->sums_count = oat_sums_count(k, p);
    TRY(oat_new_matrix(ctx, model->sums_count, 1, &model->sums));
  } else {
    TRY(oat_new_matrix(ctx, k, 1, &model->r));
    TRY(oat_new_matrix(ctx, k, 1, &model->noise));
  }
done:
  return status;
}

void oat_model_copy_scaling(const oat_scaling *from, oat_scaling *to) {
  const size_t bytes = from->d * sizeof(double);
  memcpy(to->centre, from->centre, bytes);
  memcpy(to->scale, from->scale, bytes);
  memcpy(to->middle, from->middle, bytes);
  memcpy(to->spread, from->spread, bytes);
  memcpy(to->lowest, from->lowest, bytes);
  memcpy(to->highest, from->highest, bytes);
}

oat_sparse oat_model_sparse(const oatgp_model *model) {
  return (oat_sparse){oat_covariance_at(model->kernel, model->d, model->theta),
                      model->k,
                      model->z,
                      model->k,
                      model->l,
                      model->theta[OAT_TAU],
                      model->number[OAT_NUMBER_ALPHA],
                      false,
                      false,
                      0};
}

/* L L^T = K and the diagonal in c, by a device with the model's rows. */
static oatgp_status factorise_rows(oatgp_context *ctx, oatgp_model *model, const oat_covariance *cov, size_t *pivot) {
  const oat_device_config config = {.where = oat_where_of(ctx)};
  oat_rows *rows = NULL;
  oat_device *device = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_rows_from_points(ctx, (oat_points){model->z, model->k, model->k}, model->d, &rows));
  TRY(oat_device_open(ctx, &config, &device));
  TRY(device->table->load(ctx, device, rows));
  TRY(device->table->factor(device, cov, model->c, model->l, pivot));
done:
  oat_device_close(device);
  oat_rows_free(rows);
  return status;
}

/* L L^T = K + jitter + noise, c = L^-1 r */
static oatgp_status factorise_full(oatgp_context *ctx, oatgp_model *model) {
  const size_t n = model->k;
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  const double jitter = oat_kernel_share(&cov, (oat_points){model->z, n, n}, model->number[OAT_NUMBER_JITTER]);
  size_t pivot = 0;
  for (size_t i = 0; i < n; i++) {
    model->c[i] = jitter + model->noise[i];
  }
  const oatgp_status status = factorise_rows(ctx, model, &cov, &pivot);
  if (pivot != 0) {
    return oat_fail(ctx, OATGP_NUMERIC, "the covariance of the %zu rows could not be factorised (pivot %zu)", n, pivot);
  }
  memcpy(model->c, model->r, n * sizeof *model->c);
  if (status == OATGP_OK) {
    oat_solve_left(model->l, n, OAT_PLAIN, (oat_view){model->c, n, 1, n});
  }
  return status;
}

oatgp_status oat_model_finish(oatgp_context *ctx, oatgp_model *model) {
  for (size_t j = 0; model->slopes != NULL && j < model->d; j++) {
    model->slopes[j] = model->number[OAT_NUMBER_Y_SCALE] * model->coefficient[1 + j] / (model->scaling.spread[j] * model->scaling.scale[j]);
  }
  return model->approx->sparse ? OATGP_OK : factorise_full(ctx, model);
}

oatgp_status oat_model_prior_mean(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, double *mean) {
  const double scale = model->number[OAT_NUMBER_Y_SCALE];
  const double constant = model->number[OAT_NUMBER_MEAN] + (model->p > 0 ? scale * model->coefficient[0] : 0);
  double *slope = NULL;
  oatgp_status status = OATGP_OK;
  if (model->p > 1) {
    TRY(oat_new_matrix(ctx, model->d, 1, &slope));
    for (size_t j = 0; j < model->d; j++) {
      slope[j] = scale * model->coefficient[1 + j] / model->scaling.spread[j];
    }
  }
  oat_rows_plane(rows, constant, slope, model->scaling.middle, mean);
done:
  free(slope);
  return status;
}
