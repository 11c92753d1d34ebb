/* The posterior of averages of f over groups of points, from averaged kernel values alone. With kbar_g the mean of k(Z,
 * x) over the points of group g, v = L^-1 kbar_g and u = LB^-1 v,
 *   mean = average of the prior mean + u . c,
 *   variance = average of k(x, x') over the group - |v|^2 + |u|^2, the first two parts as in predict.c.
 * O(rows x (knots + group) x d + groups x knots^2). */
#include "predict/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

typedef struct averaging {
  oat_scratch memory;
  const oatgp_model *model;
  size_t size, groups;
  double *prior, *prior_mean;
  oat_view v; /* groups x knots: averages of k(x, Z) */
} averaging;

static double mean_of(size_t n, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  return sum / (double)n;
}

static oatgp_status average_kernels(oatgp_context *ctx, averaging *a, const oat_rows *rows) {
  const oatgp_model *model = a->model;
  const oat_sparse sparse = oat_model_sparse(model);
  oat_device *device = NULL;
  oat_device_config config = oat_model_device(model, oat_where_of(ctx));
  config.block = a->size;
  config.max_knots = a->size > model->k ? a->size : model->k;
  const oatgp_status status = oat_device_keep(ctx, &config, rows, &device);
  return status == OATGP_OK ? device->table->averages(device, &sparse, &(oat_group_averages){a->prior, a->v.a})
                            : status;
}

static double row_square(oat_view v, size_t row) {
  double sum = 0;
  for (size_t c = 0; c < v.columns; c++) {
    sum += v.a[row + c * v.ld] * v.a[row + c * v.ld];
  }
  return sum;
}

/* prior <- what the knots leave of the prior variance; v becomes L^-1 kbar and then LB^-1 of that. */
static void condition(averaging *a) {
  const oatgp_model *model = a->model;
  oat_solve_right(model->l, model->k, OAT_TRANSPOSED, a->v);
  for (size_t g = 0; g < a->groups; g++) {
    a->prior[g] = model->approx->residual == OAT_RESIDUAL_FULL ? fmax(a->prior[g] - row_square(a->v, g), 0) : 0;
  }
  if (model->approx->sparse) {
    oat_solve_right(model->lb, model->k, OAT_TRANSPOSED, a->v);
  }
}

/* With neighbours, the mean is the average of the predictions. The band is the one from the knots alone, which is
 * wider. */
static oatgp_status average_predictions(oatgp_context *ctx, const averaging *a, const oatgp_data *data,
                                        const oat_averages *out) {
  double *mean = NULL;
  oatgp_status status = OATGP_OK;
  if (a->model->neighbours == 0) {
    return OATGP_OK;
  }
  TRY(oat_new_matrix(ctx, data->n, 1, &mean));
  TRY(oat_predict_mean(ctx, a->model, data, mean));
  for (size_t g = 0; g < a->groups; g++) {
    out->mean[g] = mean_of(a->size, mean + g * a->size);
  }
done:
  free(mean);
  return status;
}

static void fill(const averaging *a, const oat_averages *out) {
  const oatgp_model *model = a->model;
  const double scale = model->number[OAT_NUMBER_Y_SCALE];
  for (size_t g = 0; g < a->groups; g++) {
    double pull = 0;
    for (size_t c = 0; c < model->k; c++) {
      pull += a->v.a[g + c * a->groups] * model->c[c];
    }
    out->mean[g] = mean_of(a->size, a->prior_mean + g * a->size) + scale * pull;
    out->sd[g] = scale * sqrt(a->prior[g] + (model->approx->sparse ? row_square(a->v, g) : 0));
  }
}

/* ---- mixtures -------------------------------------------------------------------------------------------------- */

typedef struct average_mixture {
  oatgp_context *ctx;
  const oatgp_data *data;
  size_t size;
  oat_averages found; /* of the members, one after the other */
} average_mixture;

static oatgp_status average_member(void *self, const oatgp_model *member, size_t which) {
  const average_mixture *x = self;
  const size_t first = which * (x->data->n / x->size);
  return oat_predict_averages(x->ctx, member, x->data, x->size,
                              &(oat_averages){x->found.mean + first, x->found.sd + first});
}

static oatgp_status average_members(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t size,
                                    const oat_averages *out) {
  const size_t groups = data->n / size;
  oat_scratch memory = {.ctx = ctx};
  average_mixture x = {
      ctx,
      data,
      size,
      {oat_take_doubles(&memory, groups, model->draw_count), oat_take_doubles(&memory, groups, model->draw_count)}};
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_mixture_each(ctx, model, average_member, &x));
  oat_mixture_join(model, groups, x.found.mean, x.found.sd);
  memcpy(out->mean, x.found.mean, groups * sizeof *out->mean);
  memcpy(out->sd, x.found.sd, groups * sizeof *out->sd);
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_averages(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t size,
                                  const oat_averages *out) {
  if (model->draw_count > 0) {
    return average_members(ctx, model, data, size, out);
  }
  averaging a = {.memory = {.ctx = ctx}, .model = model, .size = size, .groups = data->n / size};
  oat_rows *rows = NULL;
  oatgp_status status;
  TRY(oat_model_inputs(ctx, model, data, &rows));
  a.prior_mean = oat_take_doubles(&a.memory, data->n, 1);
  a.prior = oat_take_doubles(&a.memory, a.groups, 1);
  a.v = (oat_view){oat_take_doubles(&a.memory, a.groups, model->k), a.groups, model->k, a.groups};
  TRY(a.memory.status);
  TRY(oat_model_prior_mean(ctx, model, rows, a.prior_mean));
  TRY(average_kernels(ctx, &a, rows));
  condition(&a);
  fill(&a, out);
  TRY(average_predictions(ctx, &a, data, out));
done:
  oat_rows_free(rows);
  oat_scratch_free(&a.memory);
  return status;
}
