/* The terms f_a of a function whose kernel is a sum, k = sum of k_a, given the data.
 *
 * The terms are independent a priori, so f_a(x) has the covariance k_a(x, Z) with the function at the knots, and k_a(x,
 * x') with itself. Conditioning is that of predict.c, with k_a instead of k between points and knots, and with the
 * factors of the whole model. With v = L^-1 k_a(Z, x) and u = LB^-1 v,
 *   mean_a(x) = k_a(x, Z) . weights, weights = L^-T LB^-T c,
 *   cov_a(x, x') = k_a(x, x') - v . v' + u . u',
 * where the first two parts are absent if the model has no variance beyond the knots, and the last if it is not sparse.
 * The means of all terms and the prior mean add up to the prediction.
 *
 * An effect is f_a minus its average over some rows r = 1 .. m, so its variance is
 *   cov_a(x, x) - 2 t(x) + (average of t over r), t(x) = average over r of cov_a(x, x_r).
 * t(x) = (average over r of k_a(x, x_r)) + k_a(x, Z) . w, w = L^-T (LB^-T LB^-1 - I) vbar, vbar = L^-1 (average over r
 * of k_a(Z, x_r)): both are products of a kernel with one vector, an operation of devices. O(n (K^2 + m)) for each
 * term. */
#include <math.h>
#include <string.h>

#include "predict/mixture.h"
#include "util/memory.h"

enum { MOST_AVERAGED = 2000 }; /* rows from which the sd of an average is computed */

typedef struct work {
  oatgp_context *ctx;
  oat_scratch memory;
  const oatgp_model *model;
  oat_device_config config;
  oat_sparse sparse; /* the model with the covariance of the current summand */
  oat_sparse few;    /* the same, with the rows of the average as knots */
  oat_rows *rows, *others, *few_rows, *knots;
  const oat_rows *over; /* rows of the averages */
  double *weights;      /* K: of the mean */
  double *equal;        /* m: 1 / m */
  double *pull;         /* K: w */
  double *at_few;       /* m: t there */
  double *at_rows;      /* n: t there */
  double *left, *u2, *averaged;
} work;

static double mean_of(size_t n, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  return sum / (double)n;
}

/* out <- scale k_a(x, Z) . weights, x the rows and Z the points of `by`. */
static oatgp_status multiply(work *w, const oat_rows *rows, const oat_sparse *by, const double *weights, double scale,
                             double *out) {
  oat_device *device = NULL;
  PASS_ON(oat_device_keep(w->ctx, &w->config, rows, &device));
  memset(out, 0, oat_rows_total(rows) * sizeof *out);
  return device->table->means(device, by, weights, scale, out);
}

/* ---- means ----------------------------------------------------------------------------------------------------- */

/* The mean over rows that averages are of, its centre, and its variance over these rows. */
static oatgp_status find_centre(work *w, double *centre, double *variance) {
  const size_t n = oat_rows_total(w->over);
  double sum = 0;
  PASS_ON(multiply(w, w->over, &w->sparse, w->weights, w->model->number[OAT_NUMBER_Y_SCALE], w->averaged));
  *centre = mean_of(n, w->averaged);
  for (size_t i = 0; i < n; i++) {
    const double off = w->averaged[i] - *centre;
    sum += off * off;
  }
  *variance = sum / (double)n;
  return OATGP_OK;
}

static oatgp_status find_mean(work *w, double centre, double *mean) {
  PASS_ON(multiply(w, w->rows, &w->sparse, w->weights, w->model->number[OAT_NUMBER_Y_SCALE], mean));
  for (size_t i = 0; i < oat_rows_total(w->rows); i++) {
    mean[i] -= centre;
  }
  return OATGP_OK;
}

/* ---- bands ----------------------------------------------------------------------------------------------------- */

/* pull <- w, from the average of k_a(Z, x_r). */
static oatgp_status find_pull(work *w) {
  const oatgp_model *model = w->model;
  const size_t k = model->k;
  const int threads = oat_where_of(w->ctx).threads;
  const oat_view pull = {w->pull, k, 1, k};
  oat_scratch memory = {.ctx = w->ctx};
  double *const v = oat_take_doubles(&memory, k, 1);
  oatgp_status status;
  TRY(memory.status);
  TRY(multiply(w, w->knots, &w->few, w->equal, 1, v));
  oat_solve_left(model->l, k, OAT_PLAIN, (oat_view){v, k, 1, k}, threads);
  memset(w->pull, 0, k * sizeof *w->pull);
  if (model->approx->sparse) {
    memcpy(w->pull, v, k * sizeof *v);
    oat_solve_left(model->lb, k, OAT_PLAIN, pull, threads);
    oat_solve_left(model->lb, k, OAT_TRANSPOSED, pull, threads);
  }
  for (size_t i = 0; i < k && model->approx->residual == OAT_RESIDUAL_FULL; i++) {
    w->pull[i] -= v[i];
  }
  oat_solve_left(model->l, k, OAT_TRANSPOSED, pull, threads);
done:
  oat_scratch_free(&memory);
  return status;
}

/* t <- the covariance of the rows with the average. */
static oatgp_status with_average(work *w, const oat_rows *rows, double *t) {
  oat_device *device = NULL;
  PASS_ON(multiply(w, rows, &w->sparse, w->pull, 1, t));
  if (w->model->approx->residual != OAT_RESIDUAL_FULL) {
    return OATGP_OK;
  }
  PASS_ON(oat_device_keep(w->ctx, &w->config, rows, &device));
  return device->table->means(device, &w->few, w->equal, 1, t);
}

static oatgp_status find_sd(work *w, double *sd) {
  const oatgp_model *model = w->model;
  const oat_row_predictions found = {.left = w->left, .u2 = w->u2};
  oat_device *device = NULL;
  PASS_ON(find_pull(w));
  PASS_ON(with_average(w, w->few_rows, w->at_few));
  PASS_ON(with_average(w, w->rows, w->at_rows));
  PASS_ON(oat_device_keep(w->ctx, &w->config, w->rows, &device));
  PASS_ON(device->table->predictions(device, &w->sparse, model->lb, model->c, &found));
  const double average = mean_of(w->few.k, w->at_few);
  for (size_t i = 0; i < oat_rows_total(w->rows); i++) {
    const double own =
        (model->approx->residual == OAT_RESIDUAL_NONE ? 0 : w->left[i]) + (model->approx->sparse ? w->u2[i] : 0);
    sd[i] = sqrt(fmax(own - 2 * w->at_rows[i] + average, 0)) * model->number[OAT_NUMBER_Y_SCALE];
  }
  return OATGP_OK;
}

/* ---- all summands ---------------------------------------------------------------------------------------------- */

/* The rows of the average, or of many some that are spread evenly over them. */
static oatgp_status choose_few(work *w) {
  const size_t all = oat_rows_total(w->over), few = all < MOST_AVERAGED ? all : MOST_AVERAGED, d = w->model->d;
  size_t *const index = oat_take(&w->memory, few, sizeof *index);
  double *const x = oat_take_doubles(&w->memory, few, d);
  w->equal = oat_take_doubles(&w->memory, few, 1);
  w->at_few = oat_take_doubles(&w->memory, few, 1);
  PASS_ON(w->memory.status);
  for (size_t i = 0; i < few; i++) {
    index[i] = (size_t)((double)i * (double)all / (double)few);
    w->equal[i] = 1 / (double)few;
  }
  oat_rows_inputs_of(w->over, few, index, x);
  w->few = (oat_sparse){.k = few, .z = x, .ldz = few};
  PASS_ON(oat_rows_from_points(w->ctx, (oat_points){x, few, few}, d, &w->few_rows));
  return oat_rows_from_points(w->ctx, (oat_points){w->model->z, w->model->k, w->model->k}, d, &w->knots);
}

static oatgp_status prepare(work *w, const oatgp_data *data, const oatgp_data *over) {
  const oatgp_model *model = w->model;
  PASS_ON(oat_model_inputs(w->ctx, model, data, &w->rows));
  PASS_ON(over != NULL ? oat_model_inputs(w->ctx, model, over, &w->others) : OATGP_OK);
  w->over = over != NULL ? w->others : w->rows;
  PASS_ON(choose_few(w));
  w->weights = oat_take_doubles(&w->memory, model->k, 1);
  w->pull = oat_take_doubles(&w->memory, model->k, 1);
  w->averaged = oat_take_doubles(&w->memory, oat_rows_total(w->over), 1);
  w->at_rows = oat_take_doubles(&w->memory, data->n, 1);
  w->left = oat_take_doubles(&w->memory, data->n, 1);
  w->u2 = oat_take_doubles(&w->memory, data->n, 1);
  PASS_ON(w->memory.status);
  oat_predict_weights(model, oat_where_of(w->ctx).threads, w->weights);
  w->config = oat_model_device(model, oat_where_of(w->ctx));
  w->config.max_knots = model->k > w->few.k ? model->k : w->few.k;
  w->sparse = oat_model_sparse(model);
  return OATGP_OK;
}

/* Computes effect number a, whose covariance has been set. Its variance is stored in the place of its share. */
static oatgp_status find_effect(work *w, const oatgp_data *data, size_t a, const oatgp_effect_values *out) {
  double centre = 0, variance = 0;
  PASS_ON(find_centre(w, &centre, &variance));
  if (out->mean != NULL) {
    PASS_ON(find_mean(w, centre, out->mean + a * data->n));
    PASS_ON(oat_predict_check(w->ctx, data, out->mean + a * data->n, "effect"));
  }
  if (out->sd != NULL) {
    PASS_ON(find_sd(w, out->sd + a * data->n));
    PASS_ON(oat_predict_check(w->ctx, data, out->sd + a * data->n, "standard deviation of an effect"));
  }
  if (out->centre != NULL) {
    out->centre[a] = centre;
  }
  if (out->share != NULL) {
    out->share[a] = variance;
  }
  return OATGP_OK;
}

/* Computes the effect of a summand, with the covariance of that summand in place. */
static oatgp_status find_part(work *w, size_t node, const oatgp_data *data, size_t a, const oatgp_effect_values *out) {
  oat_expression *part = NULL;
  oatgp_status status;
  TRY(oat_expression_of_node(w->ctx, w->model->kernel->expression, node, &part));
  w->sparse.cov.expression = part;
  w->few.cov = w->sparse.cov;
  TRY(find_effect(w, data, a, out));
done:
  oat_expression_free(part);
  return status;
}

static void share_out(size_t count, double *share) {
  double total = 0;
  for (size_t a = 0; a < count; a++) {
    total += share[a];
  }
  for (size_t a = 0; a < count && total > 0; a++) {
    share[a] /= total;
  }
}

/* ---- mixtures -------------------------------------------------------------------------------------------------- */

typedef struct effect_mixture {
  oatgp_context *ctx;
  const oat_effects_of *of;
  oatgp_effect_values found; /* of the members, one after the other */
} effect_mixture;

static oatgp_status find_member(void *self, const oatgp_model *member, size_t which) {
  const effect_mixture *x = self;
  const size_t one = x->of->count, all = which * one * x->of->data->n;
  return oat_predict_effects(x->ctx, member, x->of,
                             &(oatgp_effect_values){x->found.mean + all, x->found.sd + all,
                                                    x->found.centre + which * one, x->found.share + which * one});
}

static void put(size_t count, const double *from, double *to) {
  if (to != NULL) {
    memcpy(to, from, count * sizeof *to);
  }
}

/* Centres and shares are means over the members, as the effects are. */
static oatgp_status mix_effects(oatgp_context *ctx, const oatgp_model *model, const oat_effects_of *of,
                                const oatgp_effect_values *out) {
  const size_t all = of->count * of->data->n;
  oat_scratch memory = {.ctx = ctx};
  effect_mixture x = {
      ctx,
      of,
      {oat_take_doubles(&memory, all, model->draw_count), oat_take_doubles(&memory, all, model->draw_count),
       oat_take_doubles(&memory, of->count, model->draw_count),
       oat_take_doubles(&memory, of->count, model->draw_count)}};
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_mixture_each(ctx, model, find_member, &x));
  oat_mixture_join(model, all, x.found.mean, x.found.sd);
  oat_mixture_join(model, of->count, x.found.centre, NULL);
  oat_mixture_join(model, of->count, x.found.share, NULL);
  put(all, x.found.mean, out->mean);
  put(all, x.found.sd, out->sd);
  put(of->count, x.found.centre, out->centre);
  put(of->count, x.found.share, out->share);
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_effects(oatgp_context *ctx, const oatgp_model *model, const oat_effects_of *of,
                                 const oatgp_effect_values *out) {
  if (model->draw_count > 0) {
    return mix_effects(ctx, model, of, out);
  }
  const oat_expression *expression = model->kernel->expression;
  work w = {.ctx = ctx, .memory = {.ctx = ctx}, .model = model};
  size_t node[OAT_MOST_LEAVES] = {0};
  oatgp_status status;
  REFUSE_IF(model->neighbours > 0, ctx, OATGP_DATA,
            "effects need a model without neighbours; fit again with --max-knots=K or without --neighbours");
  TRY(prepare(&w, of->data, of->over));
  w.few.cov = w.sparse.cov;
  if (expression != NULL) {
    oat_expression_summands(expression, node);
  }
  for (size_t a = 0; a < of->count; a++) {
    TRY(expression != NULL ? find_part(&w, node[of->first + a], of->data, a, out) : find_effect(&w, of->data, a, out));
  }
  if (out->share != NULL) {
    share_out(of->count, out->share);
  }
done:
  oat_rows_free(w.rows);
  oat_rows_free(w.others);
  oat_rows_free(w.few_rows);
  oat_rows_free(w.knots);
  oat_scratch_free(&w.memory);
  return status;
}
