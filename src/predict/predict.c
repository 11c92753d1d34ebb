/* Prediction from K x K factors only: v = L^-1 k(Z, x), u = LB^-1 v;
 *   mean = m + u . c
 *   latent variance = k(x, x) - |v|^2 + |u|^2 (|u|^2 alone for dic, k(x, x) - |v|^2 for the full GP)
 * The variance of an observation adds the noise, once. The mean alone is m + k(x, Z) . (L^-T LB^-T c), in O(K) instead
 * of O(K^2) a row. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/mixture.h"
#include "util/lanes.h"
#include "util/machine.h"
#include "util/memory.h"
#include "util/rng.h"

enum { PANEL = 64, DRAWS = 32 }; /* rows of a factor, and draws, per block */

static double prior_variance(const oatgp_model *model) {
  const oat_sparse sparse = oat_model_sparse(model);
  return oat_kernel_share(&sparse.cov, oat_sparse_knots(&sparse), 1);
}

/* ---- row by row ------------------------------------------------------------------------------------------------ */

/* The rows on the device that predicts. */
static oatgp_status load(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, oat_device **out) {
  const oat_device_config config = oat_model_device(model, oat_where_of(ctx));
  return oat_device_keep(ctx, &config, rows, out);
}

static oatgp_status find(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                         const oat_row_predictions *found) {
  const oat_sparse sparse = oat_model_sparse(model);
  oat_device *device = NULL;
  oatgp_status status = OATGP_OK;
  if (model->neighbours > 0) {
    const oat_device_config config = oat_model_rows_device(model, oat_where_of(ctx));
    TRY(oat_device_keep(ctx, &config, model->residuals, &device));
    TRY(device->table->points_from_rows(device, &sparse, model->lb, model->c, rows, found));
    oat_device_tell_trouble(ctx, device, oat_rows_total(rows), "predictions");
  } else {
    TRY(load(ctx, model, rows, &device));
    TRY(device->table->predictions(device, &sparse, model->lb, model->c, found));
  }
done:
  return status;
}

/* The results of the device, and the arrays that they are turned into. */
typedef struct parts {
  const oatgp_model *model;
  const oat_row_predictions *found;
  size_t n;
  double *mean, *variance;
} parts;

static void put_together(void *self, size_t lane, size_t item) {
  const parts *p = self;
  const oatgp_model *model = p->model;
  const oat_span part = oat_chunk(p->n, item);
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    p->mean[i] += model->number[OAT_NUMBER_Y_SCALE] * p->found->mean[i];
    /* the prior variance that the knots leave, and the posterior variance of the part that they explain */
    p->variance[i] = (model->approx->residual == OAT_RESIDUAL_NONE ? 0 : p->found->left[i]) +
                     (model->approx->sparse ? p->found->u2[i] : 0);
  }
}

/* The mean in the data's units, and the latent variance in squares of the model's unit. In the data's units, a variance
 * may leave the range of a double even if the standard deviation does not. */
static oatgp_status predict_points(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, double *mean,
                                   double *variance) {
  const size_t n = oat_rows_total(rows);
  oat_scratch memory = {.ctx = ctx};
  const oat_row_predictions found = {oat_take_doubles(&memory, n, 1), oat_take_doubles(&memory, n, 1),
                                     oat_take_doubles(&memory, n, 1)};
  oatgp_status status;
  TRY(memory.status);
  TRY(find(ctx, model, rows, &found));
  TRY(oat_model_prior_mean(ctx, model, rows, mean));
  oat_loop loop = oat_chunks(n, 2 * OAT_FLOPS_OF_MEMORY, ctx->at_work);
  loop.item = put_together;
  loop.self = &(parts){model, &found, n, mean, variance};
  oat_loop_run(&loop);
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_check(oatgp_context *ctx, const oatgp_data *data, const double *values, const char *what) {
  for (size_t i = 0; i < data->n; i++) {
    if (!isfinite(values[i])) {
      return oat_fail(
          ctx, OATGP_NUMERIC,
          "the %s of row %zu is not finite; its inputs are too far from those of the fit, or the model is damaged",
          what, data->before + i + 1);
    }
  }
  return OATGP_OK;
}

void oat_predict_weights(const oatgp_model *model, int threads, double *weights) {
  const oat_view view = {weights, model->k, 1, model->k};
  memcpy(weights, model->c, model->k * sizeof *weights);
  if (model->approx->sparse) {
    oat_solve_left(model->lb, model->k, OAT_TRANSPOSED, view, threads);
  }
  oat_solve_left(model->l, model->k, OAT_TRANSPOSED, view, threads);
}

/* At the model's own parameters. */
static oatgp_status mean_at(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, const oatgp_data *data,
                            double *mean) {
  const oat_sparse sparse = oat_model_sparse(model);
  oat_device *device = NULL;
  double *weights = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, model->k, 1, &weights));
  TRY(load(ctx, model, rows, &device));
  oat_predict_weights(model, oat_where_of(ctx).threads, weights);
  TRY(oat_model_prior_mean(ctx, model, rows, mean));
  TRY(device->table->means(device, &sparse, weights, model->number[OAT_NUMBER_Y_SCALE], mean));
  TRY(oat_predict_check(ctx, data, mean, "mean"));
done:
  free(weights);
  return status;
}

/* As oat_mixture_mean, without all members in memory at once. */
static oatgp_status average_means(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                                  const oatgp_data *data, double *mean) {
  const size_t n = data->n;
  double *first = NULL;
  oatgp_status status;
  TRY(oat_new_matrix(ctx, n, 2, &first));
  TRY(mean_at(ctx, model->members[0], rows, data, first));
  memcpy(mean, first, n * sizeof *mean);
  for (size_t m = 1; m < model->draw_count; m++) {
    double *one = first + n;
    TRY(mean_at(ctx, model->members[m], rows, data, one));
    for (size_t i = 0; i < n; i++) {
      mean[i] += model->draw_weights[m] * (one[i] - first[i]);
    }
  }
done:
  free(first);
  return status;
}

/* O(n k d) time; with neighbours, no less than the variances need. */
oatgp_status oat_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean) {
  oat_rows *rows = NULL;
  oatgp_status status = OATGP_OK;
  if (model->neighbours > 0) {
    return oat_predict(ctx, model, data, &(oatgp_prediction){mean, NULL, NULL});
  }
  TRY(oat_model_inputs(ctx, model, data, &rows));
  TRY((model->draw_count > 0 ? average_means : mean_at)(ctx, model, rows, data, mean));
done:
  oat_rows_free(rows);
  return status;
}

/* In squares of the model's unit. A likelihood that is not Gaussian has no noise that is added to f. */
double oat_predict_noise(const oatgp_model *model, const oatgp_data *data, size_t i) {
  const double tau = model->theta[OAT_TAU], unit = model->number[OAT_NUMBER_Y_SCALE];
  if (model->likelihood != NULL) {
    return 0;
  }
  return tau * tau / (data->weight != NULL ? data->weight[i] : 1) +
         (data->noise != NULL ? data->noise[i] / unit / unit : 0);
}

/* Converts a variance from the model's unit. The unit is a power of two, so no digit changes. */
static double as_variance(double variance, double unit) { return variance * unit * unit; }
static double as_sd(double variance, double unit) { return sqrt(variance) * unit; }

/* A prediction whose spreads are written as variances or as standard deviations. */
typedef struct spreads {
  double *mean, *latent, *observed; /* each may be NULL */
  double (*convert)(double variance, double unit);
} spreads;

/* The caller's arrays, during a prediction. */
typedef struct handing_over {
  const oatgp_model *model;
  const oatgp_data *data;
  const double *mean, *variance;
  const spreads *out;
} handing_over;

static void hand_over(void *self, size_t lane, size_t item) {
  const handing_over *h = self;
  const spreads *out = h->out;
  const oat_span part = oat_chunk(h->data->n, item);
  const double unit = h->model->number[OAT_NUMBER_Y_SCALE];
  (void)lane;
  if (out->mean != NULL) {
    memcpy(out->mean + part.first, h->mean + part.first, part.count * sizeof *h->mean);
  }
  for (size_t i = part.first; i < part.first + part.count; i++) {
    if (out->latent != NULL) {
      out->latent[i] = out->convert(h->variance[i], unit);
    }
    if (out->observed != NULL) {
      out->observed[i] = out->convert(h->variance[i] + oat_predict_noise(h->model, h->data, i), unit);
    }
  }
}

oatgp_status oat_predict_points(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                                const oatgp_data *data, double *mean, double *variance) {
  PASS_ON(predict_points(ctx, model, rows, mean, variance));
  PASS_ON(oat_predict_check(ctx, data, mean, "mean"));
  return oat_predict_check(ctx, data, variance, "variance");
}

oatgp_status oat_predict_latent(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean,
                                double *variance) {
  oat_rows *rows = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_model_inputs(ctx, model, data, &rows));
  TRY(oat_predict_points(ctx, model, rows, data, mean, variance));
done:
  oat_rows_free(rows);
  return status;
}

/* The same of the mixture of an averaged model; with the ends of an interval, if they are wanted. */
typedef struct mixing {
  const oat_mixture *mixture;
  const spreads *out;
  double interval, *lower, *upper;
  bool latent;
} mixing;

static void mix_chunk(void *self, size_t lane, size_t item) {
  const mixing *x = self;
  const spreads *out = x->out;
  const oat_span part = oat_chunk(x->mixture->data->n, item);
  const double unit = x->mixture->model->number[OAT_NUMBER_Y_SCALE];
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    const oat_mixture_moments at = oat_mixture_moments_at(x->mixture, i);
    if (out->mean != NULL) {
      out->mean[i] = at.mean;
    }
    if (out->latent != NULL) {
      out->latent[i] = out->convert(at.latent, unit);
    }
    if (out->observed != NULL) {
      out->observed[i] = out->convert(at.observed, unit);
    }
    if (x->lower != NULL) {
      oat_mixture_interval(x->mixture, i, x->interval, x->latent, &x->lower[i], &x->upper[i]);
    }
  }
}

static oatgp_status mix_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, mixing x) {
  oat_scratch memory = {.ctx = ctx};
  oat_mixture mixture;
  const oatgp_status status = oat_mixture_predict(&memory, model, data, &mixture);
  if (status == OATGP_OK) {
    const double flops = (x.lower != NULL ? 1000 : 20) * (double)model->draw_count;
    oat_loop loop = oat_chunks(data->n, flops, ctx->at_work);
    x.mixture = &mixture;
    loop.item = mix_chunk;
    loop.self = &x;
    oat_loop_run(&loop);
  }
  oat_scratch_free(&memory);
  return status;
}

static oatgp_status predict_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                 const spreads *out) {
  if (model->draw_count > 0) {
    return mix_rows(ctx, model, data, (mixing){.out = out});
  }
  oat_scratch memory = {.ctx = ctx};
  double *mean = oat_take_doubles(&memory, data->n, 1), *variance = oat_take_doubles(&memory, data->n, 1);
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_predict_latent(ctx, model, data, mean, variance));
  oat_loop loop = oat_chunks(data->n, 5 * OAT_FLOPS_OF_MEMORY, ctx->at_work);
  loop.item = hand_over;
  loop.self = &(handing_over){model, data, mean, variance, out};
  oat_loop_run(&loop);
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                         const oatgp_prediction *out) {
  return predict_rows(ctx, model, data, &(spreads){out->mean, out->variance_latent, out->variance, as_variance});
}

oatgp_status oat_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                            const oatgp_prediction_sd *out) {
  return predict_rows(ctx, model, data, &(spreads){out->mean, out->sd_latent, out->sd, as_sd});
}

/* One of the caller's arrays, or room for it. */
static double *wanted(oat_scratch *memory, double *given, size_t n) {
  return given != NULL ? given : oat_take_doubles(memory, n, 1);
}

oatgp_status oat_predict_interval(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  const oatgp_prediction_interval *out) {
  const double width = -oat_normal_quantile((1 - out->interval) / 2);
  oat_scratch memory = {.ctx = ctx};
  const spreads into = {wanted(&memory, out->mean, data->n), wanted(&memory, out->sd_latent, data->n),
                        wanted(&memory, out->sd, data->n), as_sd};
  double *lower = wanted(&memory, out->lower, data->n), *upper = wanted(&memory, out->upper, data->n);
  const double *sd = out->latent ? into.latent : into.observed;
  oatgp_status status;
  TRY(memory.status);
  if (model->draw_count > 0) {
    TRY(mix_rows(
        ctx, model, data,
        (mixing){.out = &into, .interval = out->interval, .lower = lower, .upper = upper, .latent = out->latent != 0}));
    goto done;
  }
  TRY(predict_rows(ctx, model, data, &into));
  for (size_t i = 0; i < data->n; i++) {
    const double half = width * sd[i];
    lower[i] = into.mean[i] - half;
    upper[i] = into.mean[i] + half;
  }
done:
  oat_scratch_free(&memory);
  return status;
}

/* The place of knot i among those that the user sees. */
static size_t knot_place(const oatgp_model *model, size_t i) {
  return model->order != NULL ? (size_t)model->order[i] : i;
}

static oatgp_status knot_posterior(oatgp_context *ctx, const oatgp_model *model, double *mean, double *sd) {
  oat_scratch memory = {.ctx = ctx};
  double *means = oat_take_doubles(&memory, model->k, 1), *variances = oat_take_doubles(&memory, model->k, 1);
  oat_rows *rows = NULL;
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_rows_from_points(ctx, (oat_points){model->z, model->k, model->k}, model->d, &rows));
  TRY(predict_points(ctx, model, rows, means, variances));
  for (size_t i = 0; i < model->k; i++) {
    if (mean != NULL) {
      mean[knot_place(model, i)] = means[i];
    }
    if (sd != NULL) {
      sd[knot_place(model, i)] = as_sd(variances[i], model->number[OAT_NUMBER_Y_SCALE]);
    }
  }
done:
  oat_rows_free(rows);
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd) {
  const oatgp_status status = mean != NULL || sd != NULL ? knot_posterior(ctx, model, mean, sd) : OATGP_OK;
  for (size_t i = 0; status == OATGP_OK && knots != NULL && i < model->k; i++) {
    for (size_t j = 0; j < model->d; j++) {
      const double z = model->z[i + j * model->k];
      const bool category = model->scaling.category[j]; /* its code may have a rounding error */
      knots[knot_place(model, i) * model->d + j] =
          category ? floor(z + 0.5) : z * model->scaling.scale[j] + model->scaling.centre[j];
    }
  }
  return status;
}

/* ---- jointly --------------------------------------------------------------------------------------------------- */

static size_t joint_work(const oatgp_model *model, size_t n) {
  return oat_kernel_work(oat_kernel_size_of(model->kernel), n, n > model->k ? n : model->k, model->d);
}

/* Refuses too many rows before anything is allocated: it counts the n x n matrices, the kernel values and the
 * scratch. */
static oatgp_status check_joint(oatgp_context *ctx, const oatgp_model *model, size_t n, size_t matrices) {
  const double bytes =
      8 * ((double)matrices * (double)n * (double)n + (double)n * (double)model->k + (double)joint_work(model, n));
  const double most = (double)(ctx->memory > 0 ? ctx->memory : oat_machine_available());
  if (n > OAT_LARGEST_SIDE) {
    return oat_fail(ctx, OATGP_DATA, "a joint covariance of %zu rows is too large; the limit is %d rows", n,
                    OAT_LARGEST_SIDE);
  }
  if (bytes > most) {
    return oat_fail(
        ctx, OATGP_MEMORY,
        "the joint covariance of %zu rows needs %.3g GiB, but only %.3g GiB may be used; use fewer rows at a time%s", n,
        bytes / 1073741824, most / 1073741824, ctx->memory > 0 ? " or raise --memory" : "");
  }
  return OATGP_OK;
}

/* In squares of the model's unit. */
static oatgp_status join_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                              double *covariance) {
  const oat_sparse sparse = oat_model_sparse(model);
  oat_device *device = NULL;
  oat_rows *rows = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_model_inputs(ctx, model, data, &rows));
  if (model->neighbours > 0) {
    const oat_device_config config = oat_model_rows_device(model, oat_where_of(ctx));
    TRY(oat_device_open(ctx, &config, model->residuals, &device));
    TRY(device->table->joint_from_rows(device, &sparse, model->lb, rows, covariance));
    goto done;
  }
  TRY(oat_device_open(ctx,
                      &(oat_device_config){.where = oat_where_of(ctx), .kernel = oat_kernel_size_of(model->kernel)},
                      rows, &device));
  TRY(device->table->joint(device, &sparse, model->lb, model->approx->residual, covariance));
done:
  oat_device_close(device);
  oat_rows_free(rows);
  return status;
}

/* A covariance has the square of the target's unit, and so a smaller range. */
static oatgp_status check_unit(oatgp_context *ctx, const oatgp_model *model) {
  const double sigma = oat_kernel_amplitude(model->kernel, model->theta), unit = model->number[OAT_NUMBER_Y_SCALE];
  const double prior = prior_variance(model) * unit * unit;
  if (isfinite(prior) && prior >= DBL_MIN / DBL_EPSILON) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_NUMERIC,
                  "the function has a standard deviation of %g, and its square is too %s for a number; standard "
                  "deviations and draws work, but for a covariance the target must be %s",
                  sigma * unit, unit > 1 ? "large" : "small",
                  unit > 1 ? "divided by a power of ten" : "multiplied by a power of ten");
}

typedef struct multiplication {
  size_t n;
  double by, *values;
} multiplication;

static void multiply_chunk(void *self, size_t lane, size_t item) {
  const multiplication *m = self;
  const oat_span part = oat_chunk(m->n, item);
  (void)lane;
  for (size_t i = part.first; i < part.first + part.count; i++) {
    m->values[i] *= m->by;
  }
}

/* The mixture's covariance: the mean of those of the members, and that of their means. */
typedef struct joining {
  oatgp_context *ctx;
  const oatgp_model *model;
  const oatgp_data *data;
  double *mean;  /* n: of the mixture */
  double *apart; /* n: a member's mean minus the mixture's, in the model's unit */
  double *one;   /* n x n: of a member */
  double *covariance;
} joining;

static oatgp_status join_member(void *self, const oatgp_model *member, size_t which) {
  const joining *j = self;
  const size_t n = j->data->n;
  const double weight = j->model->draw_weights[which];
  PASS_ON(join_rows(j->ctx, member, j->data, j->one));
  PASS_ON(oat_predict_mean(j->ctx, member, j->data, j->apart));
  for (size_t i = 0; i < n; i++) {
    j->apart[i] = (j->apart[i] - j->mean[i]) / j->model->number[OAT_NUMBER_Y_SCALE];
  }
  for (size_t i = 0; i < n * n; i++) {
    j->covariance[i] = (which > 0 ? j->covariance[i] : 0) + weight * (j->one[i] + j->apart[i % n] * j->apart[i / n]);
  }
  return OATGP_OK;
}

static oatgp_status join_members(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                 double *covariance) {
  oat_scratch memory = {.ctx = ctx};
  joining j = {ctx,
               model,
               data,
               oat_take_doubles(&memory, data->n, 1),
               oat_take_doubles(&memory, data->n, 1),
               oat_take_doubles(&memory, data->n, data->n),
               covariance};
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_predict_mean(ctx, model, data, j.mean));
  TRY(oat_mixture_each(ctx, model, join_member, &j));
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    double *covariance) {
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  const bool averaged = model->draw_count > 0;
  oatgp_status status = OATGP_OK;
  TRY(check_unit(ctx, model));
  TRY(check_joint(ctx, model, data->n, averaged ? 2 : 1));
  TRY((averaged ? join_members : join_rows)(ctx, model, data, covariance));
  oat_loop loop = oat_chunks(data->n * data->n, OAT_FLOPS_OF_MEMORY, ctx->at_work);
  loop.item = multiply_chunk;
  loop.self = &(multiplication){data->n * data->n, unit * unit, covariance};
  oat_loop_run(&loop);
done:
  return status;
}

/* Factorises a covariance that may be singular, with the smallest addition to its diagonal that makes that possible.
 * The covariance is a difference, so its rounding error is relative to the prior variance and may exceed the result. If
 * the prior variance is 0, so is the factor. */
static oatgp_status factorise_posterior(oatgp_context *ctx, size_t n, const double *covariance, double prior,
                                        double *l) {
  double largest = 0;
  if (prior == 0) {
    memset(l, 0, n * n * sizeof *l);
    return OATGP_OK;
  }
  for (size_t i = 0; i < n; i++) {
    largest = fmax(largest, covariance[i * (n + 1)]);
  }
  const oat_lifts lifts = {
      .plain = true, .least = fmax(1e-14 * largest, 1e-20 * prior), .factor = 10, .most = 1e-4 * prior};
  if (oat_cholesky_lifted(n, covariance, &lifts, l, oat_where_of(ctx).threads).pivot == 0) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_NUMERIC,
                  "the posterior covariance of the %zu rows could not be factorised for draws, even with 1e-4 of the "
                  "prior variance added",
                  n);
}

/* Makes the draws in blocks: each is the mean plus L times normal numbers. L is used in panels of rows, without the
 * columns beyond the panel, which are 0. */
typedef struct drawing {
  size_t n, count;
  const double *l;
  const double *normal; /* n x count */
  double scale, *samples;
} drawing;

static void draw_panel(void *self, size_t lane, size_t item) {
  const drawing *d = self;
  const size_t first = item * PANEL, left = d->n - first, rows = left < PANEL ? left : PANEL;
  const oat_const_view panel = {d->l + first, rows, first + rows, d->n};
  (void)lane;
  for (size_t s = 0; s < d->count; s++) {
    oat_gemv(d->scale, panel, OAT_PLAIN, d->normal + s * d->n, 1, d->samples + s * d->n + first);
  }
}

static void draw(const drawing *d, int threads) {
  const size_t panels = (d->n + PANEL - 1) / PANEL;
  drawing copy = *d;
  oat_loop_run(&(oat_loop){.items = panels,
                           .lanes = oat_lanes_for(panels),
                           .threads = threads,
                           .flops = (double)d->n * (double)d->n * (double)d->count,
                           .backwards = true,
                           .item = draw_panel,
                           .self = &copy});
}

/* ---- draws from a mixture: each is one of a member, which is drawn first ---------------------------------------- */

typedef struct deal {
  oatgp_context *ctx;
  const oatgp_data *data;
  oat_draw_fn *by;
  size_t count, *member; /* of each draw */
  uint64_t seed;
  double *one, *samples; /* n x count: of a member; of all */
} deal;

static oatgp_status deal_member(void *self, const oatgp_model *member, size_t which) {
  const deal *d = self;
  const size_t n = d->data->n;
  size_t own = 0;
  for (size_t s = 0; s < d->count; s++) {
    own += d->member[s] == which;
  }
  PASS_ON(own > 0 ? d->by(d->ctx, member, d->data, own, d->seed + which, d->one) : OATGP_OK);
  own = 0;
  for (size_t s = 0; s < d->count; s++) {
    if (d->member[s] == which) {
      memcpy(d->samples + s * n, d->one + n * own++, n * sizeof *d->one);
    }
  }
  return OATGP_OK;
}

void oat_mixture_choose(const oatgp_model *model, size_t count, uint64_t seed, size_t *member) {
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t s = 0; s < count; s++) {
    double left = oat_rng_uniform(&rng);
    member[s] = 0;
    while (member[s] + 1 < model->draw_count && left >= model->draw_weights[member[s]]) {
      left -= model->draw_weights[member[s]++];
    }
  }
}

oatgp_status oat_mixture_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_draw_fn *by,
                                 size_t count, uint64_t seed, double *samples) {
  oat_scratch memory = {.ctx = ctx};
  deal d = {.ctx = ctx,
            .data = data,
            .by = by,
            .count = count,
            .member = oat_take(&memory, count, sizeof *d.member),
            .seed = seed,
            .one = oat_take_doubles(&memory, data->n, count),
            .samples = samples};
  oatgp_status status;
  TRY(memory.status);
  oat_mixture_choose(model, count, seed, d.member);
  TRY(oat_mixture_each(ctx, model, deal_member, &d));
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count,
                                 uint64_t seed, double *samples) {
  if (model->draw_count > 0) {
    return oat_mixture_samples(ctx, model, data, oat_predict_samples, count, seed, samples);
  }
  const size_t n = data->n;
  oat_scratch memory = {.ctx = ctx};
  oat_rng rng;
  oatgp_status status;
  oat_rng_seed(&rng, seed);
  TRY(check_joint(ctx, model, n, 2));
  double *mean = oat_take_doubles(&memory, n, 1), *normal = oat_take_doubles(&memory, n, count < DRAWS ? count : DRAWS);
  double *covariance = oat_take_doubles(&memory, n, n), *l = oat_take_doubles(&memory, n, n);
  TRY(memory.status);
  TRY(oat_predict(ctx, model, data, &(oatgp_prediction){mean, NULL, NULL}));
  TRY(join_rows(ctx, model, data, covariance));
  TRY(factorise_posterior(ctx, n, covariance, prior_variance(model), l));
  for (size_t done = 0; done < count; done += DRAWS) {
    const size_t now = count - done < DRAWS ? count - done : DRAWS;
    for (size_t i = 0; i < n * now; i++) {
      normal[i] = oat_rng_normal(&rng);
      samples[done * n + i] = mean[i % n];
    }
    draw(&(drawing){n, now, l, normal, model->number[OAT_NUMBER_Y_SCALE], samples + done * n}, ctx->at_work);
  }
done:
  oat_scratch_free(&memory);
  return status;
}
