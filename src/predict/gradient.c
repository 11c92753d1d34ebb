/* Predictions with their derivatives with respect to the inputs. The device computes the derivatives of the mean,
 * without the prior mean, and of the latent variance, in scaled inputs and the model's unit. Here they become
 * derivatives of the mean and of the standard deviation in the data's units. */
#include <math.h>

#include "predict/mixture.h"
#include "util/lanes.h"
#include "util/memory.h"

typedef struct gradient {
  const oatgp_model *model;
  size_t n;
  double *prior; /* n: the prior mean */
  oat_row_predictions at;
  oat_row_slopes slopes;
  const oatgp_prediction_gradient *out;
} gradient;

static oatgp_status find(oatgp_context *ctx, const gradient *g, const oat_rows *rows) {
  const oatgp_model *model = g->model;
  const oat_sparse sparse = oat_model_sparse(model);
  const bool near = model->neighbours > 0;
  const oat_device_config config =
      near ? oat_model_rows_device(model, oat_where_of(ctx)) : oat_model_device(model, oat_where_of(ctx));
  oat_device *device = NULL;
  PASS_ON(oat_device_keep(ctx, &config, near ? model->residuals : rows, &device));
  if (!near) {
    return device->table->prediction_slopes(device, &sparse, model->lb, model->c, &g->at, &g->slopes);
  }
  PASS_ON(device->table->point_slopes_from_rows(device, &sparse, model->lb, model->c, rows, &g->at, &g->slopes));
  oat_device_tell_trouble(ctx, device, g->n, "predictions");
  return OATGP_OK;
}

/* In squares of the model's unit. */
static double variance_of(const gradient *g, size_t i) {
  const oat_approx *approx = g->model->approx;
  return (approx->residual == OAT_RESIDUAL_NONE ? 0 : g->at.left[i]) + (approx->sparse ? g->at.u2[i] : 0);
}

/* What a derivative in scaled input j is multiplied by; 0 for a category. */
static double per_input(const gradient *g, size_t j) {
  const oat_scaling *scaling = &g->model->scaling;
  return scaling->category[j] ? 0 : g->model->number[OAT_NUMBER_Y_SCALE] / scaling->scale[j];
}

static void hand_over_slopes(const gradient *g, size_t i, double sd) {
  const oatgp_prediction_gradient *out = g->out;
  const oatgp_model *model = g->model;
  for (size_t j = 0; j < model->d; j++) {
    const size_t from = i + j * g->n, to = i * model->d + j;
    const double scale = per_input(g, j);
    if (out->d_mean != NULL) {
      out->d_mean[to] = scale * g->slopes.mean[from] + (model->slopes != NULL ? model->slopes[j] : 0);
    }
    if (out->d_sd_latent != NULL) {
      out->d_sd_latent[to] = sd > 0 ? scale * g->slopes.variance[from] / (2 * sd) : 0;
    }
  }
}

static void hand_over(void *self, size_t lane, size_t item) {
  const gradient *g = self;
  const oat_span part = oat_chunk(g->n, item);
  const double unit = g->model->number[OAT_NUMBER_Y_SCALE];
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    const double sd = sqrt(variance_of(g, i));
    if (g->out->mean != NULL) {
      g->out->mean[i] = g->prior[i] + unit * g->at.mean[i];
    }
    if (g->out->sd_latent != NULL) {
      g->out->sd_latent[i] = unit * sd;
    }
    hand_over_slopes(g, i, sd);
  }
}

static oatgp_status check(oatgp_context *ctx, const gradient *g, const oatgp_data *data) {
  PASS_ON(oat_predict_check(ctx, data, g->prior, "mean"));
  PASS_ON(oat_predict_check(ctx, data, g->at.mean, "mean"));
  PASS_ON(oat_predict_check(ctx, data, g->at.u2, "variance"));
  for (size_t j = 0; j < g->model->d; j++) {
    PASS_ON(g->slopes.mean != NULL ? oat_predict_check(ctx, data, g->slopes.mean + j * g->n, "derivative of the mean")
                                   : OATGP_OK);
    PASS_ON(g->slopes.variance != NULL
                ? oat_predict_check(ctx, data, g->slopes.variance + j * g->n, "derivative of the variance")
                : OATGP_OK);
  }
  return OATGP_OK;
}

/* At the model's own parameters. */
static oatgp_status gradient_at(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                                const oatgp_data *data, const oatgp_prediction_gradient *out) {
  const size_t n = data->n, d = model->d;
  oat_scratch memory = {.ctx = ctx};
  gradient g = {.model = model, .n = n, .out = out};
  oatgp_status status;
  g.prior = oat_take_doubles(&memory, n, 1);
  g.at = (oat_row_predictions){oat_take_doubles(&memory, n, 1), oat_take_doubles(&memory, n, 1),
                               oat_take_doubles(&memory, n, 1)};
  g.slopes = (oat_row_slopes){model->approx->residual, out->d_mean != NULL ? oat_take_doubles(&memory, n, d) : NULL,
                              out->d_sd_latent != NULL ? oat_take_doubles(&memory, n, d) : NULL};
  TRY(memory.status);
  TRY(find(ctx, &g, rows));
  TRY(oat_model_prior_mean(ctx, model, rows, g.prior));
  TRY(check(ctx, &g, data));
  oat_loop loop = oat_chunks(n, (double)(2 + d) * OAT_FLOPS_OF_MEMORY, ctx->at_work);
  loop.item = hand_over;
  loop.self = &g;
  oat_loop_run(&loop);
done:
  oat_scratch_free(&memory);
  return status;
}

/* ---- mixtures -------------------------------------------------------------------------------------------------- */

/* Of the members, n values and n x d derivatives for each. */
typedef struct mixed {
  const oatgp_model *model;
  size_t n;
  double *mean, *sd, *d_mean, *d_sd;
} mixed;

/* The variance of row i is the mean of v + (m - mean)^2 over members; this is half of its derivative in input j. */
static double half_slope(const mixed *x, size_t i, size_t j, double mean) {
  const size_t n = x->n, d = x->model->d;
  double sum = 0;
  for (size_t m = 0; m < x->model->draw_count; m++) {
    const size_t at = i + m * n, slope = (i + m * n) * d + j;
    sum += x->model->draw_weights[m] * (x->sd[at] * x->d_sd[slope] + (x->mean[at] - mean) * x->d_mean[slope]);
  }
  return sum;
}

static void mix(const mixed *x, const oatgp_prediction_gradient *out) {
  const size_t n = x->n, d = x->model->d;
  const double *w = x->model->draw_weights;
  for (size_t i = 0; i < n; i++) {
    const double mean = oat_mixture_mean(x->model, n, x->mean + i);
    double variance = 0;
    for (size_t m = 0; m < x->model->draw_count; m++) {
      const double sd = x->sd[i + m * n], apart = x->mean[i + m * n] - mean;
      variance += w[m] * (sd * sd + apart * apart);
    }
    if (out->mean != NULL) {
      out->mean[i] = mean;
    }
    if (out->sd_latent != NULL) {
      out->sd_latent[i] = sqrt(variance);
    }
    for (size_t j = 0; out->d_sd_latent != NULL && j < d; j++) {
      out->d_sd_latent[i * d + j] = variance > 0 ? half_slope(x, i, j, mean) / sqrt(variance) : 0;
    }
    for (size_t j = 0; out->d_mean != NULL && j < d; j++) {
      out->d_mean[i * d + j] = oat_mixture_mean(x->model, n * d, x->d_mean + i * d + j);
    }
  }
}

/* In the model's unit no square leaves the range of a double. */
static void change_unit(size_t n, double by, double *values) {
  for (size_t i = 0; values != NULL && i < n; i++) {
    values[i] *= by;
  }
}

static oatgp_status mix_gradients(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                                  const oatgp_data *data, const oatgp_prediction_gradient *out) {
  const size_t n = data->n, d = model->d, count = model->draw_count;
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  oat_scratch memory = {.ctx = ctx};
  const mixed x = {model,
                   n,
                   oat_take_doubles(&memory, n, count),
                   oat_take_doubles(&memory, n, count),
                   oat_take_doubles(&memory, n, d * count),
                   oat_take_doubles(&memory, n, d * count)};
  oatgp_status status;
  TRY(memory.status);
  for (size_t m = 0; m < count; m++) {
    const oatgp_prediction_gradient one = {x.mean + m * n, x.sd + m * n, x.d_mean + m * n * d, x.d_sd + m * n * d};
    TRY(gradient_at(ctx, model->members[m], rows, data, &one));
  }
  change_unit(n * count, 1 / unit, x.mean);
  change_unit(n * count, 1 / unit, x.sd);
  change_unit(n * d * count, 1 / unit, x.d_mean);
  change_unit(n * d * count, 1 / unit, x.d_sd);
  mix(&x, out);
  change_unit(n, unit, out->mean);
  change_unit(n, unit, out->sd_latent);
  change_unit(n * d, unit, out->d_mean);
  change_unit(n * d, unit, out->d_sd_latent);
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_gradient(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  const oatgp_prediction_gradient *out) {
  oat_rows *rows = NULL;
  oatgp_status status;
  TRY(oat_model_inputs(ctx, model, data, &rows));
  TRY((model->draw_count > 0 ? mix_gradients : gradient_at)(ctx, model, rows, data, out));
done:
  oat_rows_free(rows);
  return status;
}
