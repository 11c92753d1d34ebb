/* Prediction from K x K factors only: v = L^-1 k(Z, x), u = LB^-1 v;
 *   mean = m + u . c,  latent variance = k(x, x) - |v|^2 + |u|^2 (|u|^2 alone for dic, k(x, x) - |v|^2 for the full GP).
 * The variance of an observation adds the noise, once. The mean alone is m + k(x, Z) . (L^-T LB^-T c), in O(K) instead of O(K^2) a row. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/rows.h"
#include "predict/predict.h"
#include "util/machine.h"
#include "util/memory.h"
#include "util/rng.h"
#include "util/threads.h"

/* ---- row by row ---------------------------------------------------------------------------------------------------- */

/* Prior variance that the knots leave, and the variance of what they explain. */
static double latent_variance(const oatgp_model *model, double q, double u2) {
  const double sigma = model->theta[OAT_SIGMA];
  const double left = model->approx->residual == OAT_RESIDUAL_NONE ? 0 : fmax(sigma * sigma - q, 0);
  return left + (model->approx->sparse ? u2 : 0);
}

/* At n scaled points the mean, in the data's units, and the latent variance in squares of the model's unit: in those of the data it may
 * leave the range of a double, where the standard deviation does not. */
static oatgp_status predict_points(oatgp_context *ctx, const oatgp_model *model, size_t n, const double *x, double *mean,
                                   double *variance) {
  const oat_backend_table *table = &oat_backend_cpu;
  const oat_backend_config config = {model->k, oat_model_block(model), 0, ctx->threads, true};
  const oat_rows rows = {n, model->d, 0, x, NULL, NULL, NULL};
  const oat_sparse sparse = oat_model_sparse(model);
  oat_backend *backend = NULL;
  double *q = NULL, *u2 = NULL, *pull = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, n, 1, &q));
  TRY(oat_new_matrix(ctx, n, 1, &u2));
  TRY(oat_new_matrix(ctx, n, 1, &pull));
  TRY(table->open(ctx, &config, &backend));
  TRY(table->load_rows(ctx, backend, &rows));
  const oat_row_predictions out = {pull, q, u2};
  TRY(table->predict(backend, &sparse, model->lb, model->c, &out));
  oat_model_prior_mean(model, n, x, mean);
  for (size_t i = 0; i < n; i++) {
    mean[i] += model->number[OAT_NUMBER_Y_SCALE] * pull[i];
    variance[i] = latent_variance(model, q[i], u2[i]);
  }
done:
  table->close(backend);
  free(q);
  free(u2);
  free(pull);
  return status;
}

/* Refuses the first of n values that is not finite. */
static oatgp_status check_finite(oatgp_context *ctx, const oatgp_data *data, const double *values, const char *what) {
  for (size_t i = 0; i < data->n; i++) {
    if (!isfinite(values[i])) {
      return oat_fail(ctx, OATGP_NUMERIC,
                      "the %s of row %zu is not a finite number: its inputs are too far from those of the fit, or the model is damaged",
                      what, data->before + i + 1);
    }
  }
  return OATGP_OK;
}

/* weights <- L^-T LB^-T c, without LB for the full GP. */
static void mean_weights(const oatgp_model *model, double *weights) {
  const oat_view view = {weights, model->k, 1, model->k};
  memcpy(weights, model->c, model->k * sizeof *weights);
  if (model->approx->sparse) {
    oat_solve_left(model->lb, model->k, OAT_TRANSPOSED, view);
  }
  oat_solve_left(model->l, model->k, OAT_TRANSPOSED, view);
}

/* The blocks of the mean are dealt out to lanes, each with its own buffer; a row's bits depend on its block alone. */
typedef struct mean_lanes {
  oatgp_context *ctx; /* for progress alone */
  size_t n, block, count;
  const double *x, *weights;
  double *buffer; /* count x stride */
  size_t stride;
} mean_lanes;

static void mean_of_lane(const oatgp_model *model, const mean_lanes *lanes, size_t lane, double *mean) {
  const oat_sparse sparse = oat_model_sparse(model);
  const oat_points knots = {model->z, model->k, model->k};
  double *k = lanes->buffer + lane * lanes->stride, *work = k + lanes->block * model->k;
  for (size_t first = lane * lanes->block; first < lanes->n; first += lanes->count * lanes->block) {
    const size_t rows = lanes->n - first < lanes->block ? lanes->n - first : lanes->block;
    const oat_points points = {lanes->x + first, rows, lanes->n};
    oat_kernel_cross(&sparse.cov, points, knots, k, rows, work);
    oat_gemv(model->number[OAT_NUMBER_Y_SCALE], (oat_const_view){k, rows, model->k, rows}, OAT_PLAIN, lanes->weights, 1, mean + first);
    if (oat_in_first_thread()) {
      const size_t done = first + lanes->count * lanes->block; /* the others are about as far */
      oat_tell_progress(lanes->ctx, "prediction", done < lanes->n ? done : lanes->n, lanes->n);
    }
  }
}

/* O(n k d) time; a block of k columns for each thread. */
oatgp_status oat_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean) {
  const size_t n = data->n, block = oat_model_block(model), blocks = (n + block - 1) / block;
  const size_t threads = (size_t)oat_lane_threads(ctx->threads), count = blocks < threads ? blocks : threads;
  mean_lanes lanes = {ctx, n, block, count, NULL, NULL, NULL, block * model->k + oat_kernel_work(block, model->k, model->d)};
  double *weights = NULL, *x = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_model_inputs(ctx, model, data, &x));
  TRY(oat_new_matrix(ctx, model->k, 1, &weights));
  TRY(oat_new_matrix(ctx, count, lanes.stride, &lanes.buffer));
  mean_weights(model, weights);
  lanes.x = x;
  lanes.weights = weights;
  oat_model_prior_mean(model, n, x, mean);
#pragma omp parallel for num_threads(oat_lane_threads(ctx->threads)) schedule(static, 1) if (count > 1)
  for (size_t lane = 0; lane < count; lane++) {
    mean_of_lane(model, &lanes, lane, mean);
  }
  TRY(check_finite(ctx, data, mean, "mean"));
done:
  free(x);
  free(weights);
  free(lanes.buffer);
  return status;
}

/* In squares of the model's unit. */
static double noise_variance(const oatgp_model *model, const oatgp_data *data, size_t i) {
  const double tau = model->theta[OAT_TAU], unit = model->number[OAT_NUMBER_Y_SCALE];
  return tau * tau / (data->weight != NULL ? data->weight[i] : 1) + (data->noise != NULL ? data->noise[i] / unit / unit : 0);
}

/* What becomes of a variance in the model's unit. The unit is a power of two, so that no digit changes. */
static double as_variance(double variance, double unit) { return variance * unit * unit; }
static double as_sd(double variance, double unit) { return sqrt(variance) * unit; }

/* A prediction whose spreads are written as variances or as standard deviations. */
typedef struct spreads {
  double *mean, *latent, *observed; /* each may be NULL */
  double (*convert)(double variance, double unit);
} spreads;

static oatgp_status predict_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const spreads *out) {
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  double *x = NULL, *mean = NULL, *variance = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_model_inputs(ctx, model, data, &x));
  TRY(oat_new_matrix(ctx, data->n, 1, &mean));
  TRY(oat_new_matrix(ctx, data->n, 1, &variance));
  TRY(predict_points(ctx, model, data->n, x, mean, variance));
  TRY(check_finite(ctx, data, mean, "mean"));
  TRY(check_finite(ctx, data, variance, "variance"));
  if (out->mean != NULL) {
    memcpy(out->mean, mean, data->n * sizeof *mean);
  }
  for (size_t i = 0; i < data->n; i++) {
    if (out->latent != NULL) {
      out->latent[i] = out->convert(variance[i], unit);
    }
    if (out->observed != NULL) {
      out->observed[i] = out->convert(variance[i] + noise_variance(model, data, i), unit);
    }
  }
done:
  free(x);
  free(mean);
  free(variance);
  return status;
}

oatgp_status oat_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction *out) {
  return predict_rows(ctx, model, data, &(spreads){out->mean, out->variance_latent, out->variance, as_variance});
}

oatgp_status oat_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction_sd *out) {
  return predict_rows(ctx, model, data, &(spreads){out->mean, out->sd_latent, out->sd, as_sd});
}

/* The place of knot i among those that the user sees. */
static size_t knot_place(const oatgp_model *model, size_t i) { return model->order != NULL ? (size_t)model->order[i] : i; }

static oatgp_status knot_posterior(oatgp_context *ctx, const oatgp_model *model, double *mean, double *sd) {
  double *means = NULL, *variances = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, model->k, 1, &means));
  TRY(oat_new_matrix(ctx, model->k, 1, &variances));
  TRY(predict_points(ctx, model, model->k, model->z, means, variances));
  for (size_t i = 0; i < model->k; i++) {
    if (mean != NULL) {
      mean[knot_place(model, i)] = means[i];
    }
    if (sd != NULL) {
      sd[knot_place(model, i)] = as_sd(variances[i], model->number[OAT_NUMBER_Y_SCALE]);
    }
  }
done:
  free(means);
  free(variances);
  return status;
}

oatgp_status oat_predict_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd) {
  const oatgp_status status = mean != NULL || sd != NULL ? knot_posterior(ctx, model, mean, sd) : OATGP_OK;
  for (size_t i = 0; status == OATGP_OK && knots != NULL && i < model->k; i++) {
    for (size_t j = 0; j < model->d; j++) {
      knots[knot_place(model, i) * model->d + j] = model->z[i + j * model->k] * model->scaling.scale[j] + model->scaling.centre[j];
    }
  }
  return status;
}

/* ---- jointly ------------------------------------------------------------------------------------------------------- */

/* covariance <- K** - V V^T + U U^T, with the middle as the model says; v is n x k and is used up. */
static void join(const oatgp_model *model, size_t n, oat_view v, oat_view covariance) {
  const oat_residual residual = model->approx->residual;
  const double sigma = model->theta[OAT_SIGMA];
  if (residual == OAT_RESIDUAL_FULL) {
    oat_gemm(-1, oat_as_const(v), OAT_PLAIN, oat_as_const(v), OAT_TRANSPOSED, 1, covariance);
  } else {
    memset(covariance.a, 0, n * n * sizeof(double));
    for (size_t i = 0; residual == OAT_RESIDUAL_DIAGONAL && i < n; i++) {
      double q = 0;
      for (size_t c = 0; c < v.columns; c++) {
        q += v.a[i + c * v.ld] * v.a[i + c * v.ld];
      }
      covariance.a[i * (n + 1)] = fmax(sigma * sigma - q, 0);
    }
  }
  if (model->approx->sparse) {
    oat_solve_right(model->lb, model->k, OAT_TRANSPOSED, v);
    oat_gemm(1, oat_as_const(v), OAT_PLAIN, oat_as_const(v), OAT_TRANSPOSED, 1, covariance);
  }
}

static size_t joint_work(const oatgp_model *model, size_t n) { return oat_kernel_work(n, n > model->k ? n : model->k, model->d); }

/* Refuses what would not fit, before anything is allocated: so many matrices of n x n, the rows' kernel values and scratch. */
static oatgp_status check_joint(oatgp_context *ctx, const oatgp_model *model, size_t n, size_t matrices) {
  const double bytes = 8 * ((double)matrices * (double)n * (double)n + (double)n * (double)model->k + (double)joint_work(model, n));
  const double most = (double)(ctx->memory > 0 ? ctx->memory : oat_machine_available());
  if (n > OAT_LARGEST_SIDE) {
    return oat_fail(ctx, OATGP_DATA, "a joint covariance of %zu rows is too large: at most %d rows", n, OAT_LARGEST_SIDE);
  }
  if (bytes > most) {
    return oat_fail(ctx, OATGP_MEMORY,
                    "the joint covariance of %zu rows needs %.3g GiB, and %.3g GiB may be used: take fewer rows at a time%s", n,
                    bytes / 1073741824, most / 1073741824, ctx->memory > 0 ? " or raise --memory" : "");
  }
  return OATGP_OK;
}

/* In squares of the model's unit. */
static oatgp_status join_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *covariance) {
  const size_t n = data->n;
  const oat_sparse sparse = oat_model_sparse(model);
  double *x = NULL, *v = NULL, *work = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_model_inputs(ctx, model, data, &x));
  TRY(oat_new_matrix(ctx, n, model->k, &v));
  TRY(oat_new_matrix(ctx, joint_work(model, n), 1, &work));
  const oat_points points = {x, n, n}, knots = {model->z, model->k, model->k};
  oat_kernel_cross(&sparse.cov, points, points, covariance, n, work);
  oat_kernel_cross(&sparse.cov, points, knots, v, n, work);
  const oat_view view = {v, n, model->k, n};
  oat_solve_right(model->l, model->k, OAT_TRANSPOSED, view);
  join(model, n, view, oat_square(covariance, n));
  oat_symmetrise(n, covariance);
done:
  free(x);
  free(v);
  free(work);
  return status;
}

/* A covariance has the square of the target's unit, and so a smaller range. */
static oatgp_status check_unit(oatgp_context *ctx, const oatgp_model *model) {
  const double sigma = model->theta[OAT_SIGMA], unit = model->number[OAT_NUMBER_Y_SCALE], prior = sigma * sigma * unit * unit;
  if (isfinite(prior) && prior >= DBL_MIN / DBL_EPSILON) {
    return OATGP_OK;
  }
  return oat_fail(
      ctx, OATGP_NUMERIC,
      "the function has a standard deviation of %g, whose square is too %s for a number: standard deviations and draws can be had, "
      "but for a covariance the target must be %s",
      sigma * unit, unit > 1 ? "large" : "small", unit > 1 ? "divided by some power of ten" : "multiplied by some power of ten");
}

oatgp_status oat_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *covariance) {
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  oatgp_status status = OATGP_OK;
  TRY(check_unit(ctx, model));
  TRY(check_joint(ctx, model, data->n, 1));
  TRY(join_rows(ctx, model, data, covariance));
  for (size_t i = 0; i < data->n * data->n; i++) {
    covariance[i] *= unit * unit;
  }
done:
  return status;
}

/* Factor of a covariance that may be singular: the smallest diagonal lift that lets it through. As what is left of the prior
 * variance, the covariance has the rounding error of that, which may be larger than itself. Where the
 * prior has none, the factor is 0. */
static oatgp_status factorise_posterior(oatgp_context *ctx, size_t n, const double *covariance, double prior, double *l) {
  double largest = 0;
  if (prior == 0) {
    memset(l, 0, n * n * sizeof *l);
    return OATGP_OK;
  }
  for (size_t i = 0; i < n; i++) {
    largest = fmax(largest, covariance[i * (n + 1)]);
  }
  const oat_lifts lifts = {.plain = true, .least = fmax(1e-14 * largest, 1e-20 * prior), .factor = 10, .most = 1e-4 * prior};
  if (oat_cholesky_lifted(n, covariance, &lifts, l).pivot == 0) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_NUMERIC,
                  "the posterior covariance of the %zu rows could not be factorised for draws, even with 1e-4 of the prior variance added",
                  n);
}

oatgp_status oat_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count, uint64_t seed,
                                 double *samples) {
  const size_t n = data->n;
  const double sigma = model->theta[OAT_SIGMA];
  double *mean = NULL, *covariance = NULL, *l = NULL, *draw = NULL;
  oat_rng rng;
  oatgp_status status = OATGP_OK;
  oat_rng_seed(&rng, seed);
  TRY(check_joint(ctx, model, n, 2));
  TRY(oat_new_matrix(ctx, n, 1, &mean));
  TRY(oat_new_matrix(ctx, n, n, &covariance));
  TRY(oat_new_matrix(ctx, n, n, &l));
  TRY(oat_new_matrix(ctx, n, 1, &draw));
  const oatgp_prediction out = {mean, NULL, NULL};
  TRY(oat_predict(ctx, model, data, &out));
  TRY(join_rows(ctx, model, data, covariance));
  TRY(factorise_posterior(ctx, n, covariance, sigma * sigma, l));
  for (size_t s = 0; s < count; s++) {
    for (size_t i = 0; i < n; i++) {
      draw[i] = oat_rng_normal(&rng);
      samples[s * n + i] = mean[i];
    }
    oat_gemv(model->number[OAT_NUMBER_Y_SCALE], oat_const_square(l, n), OAT_PLAIN, draw, 1, samples + s * n);
  }
done:
  free(mean);
  free(covariance);
  free(l);
  free(draw);
  return status;
}
