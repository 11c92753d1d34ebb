/* Predictions as if further rows h were known. The posterior of f is a Gaussian process with mean m and covariance C
 * for any model, so
 *   m(x) + C(x, h) (C(h, h) + noise)^-1 (y - m(h)),   C(x, x) - C(x, h) (C(h, h) + noise)^-1 C(h, x)
 * is that posterior given y at h. The model does not change. */
#include <math.h>
#include <string.h>

#include "predict/mixture.h"
#include "util/memory.h"

typedef struct given_rows {
  oatgp_context *ctx;
  const oatgp_model *model;
  const oatgp_data *data, *given;
  oat_rows *rows, *known; /* rows of both, in the model's units */
  size_t n, h;
  double *l;      /* h x h: C(h, h) + noise, then its factor */
  double *pull;   /* h: L^-1 (y - m(h)), in the model's unit */
  double *cross;  /* n x h: C(x, h), then that times L^-T */
  double *mean_h; /* h */
} given_rows;

static oatgp_status check(const given_rows *g) {
  REFUSE_IF(g->model->neighbours > 0, g->ctx, OATGP_DATA,
            "a model with neighbours cannot predict as if further rows were known");
  REFUSE_IF(g->model->likelihood != NULL, g->ctx, OATGP_DATA,
            "a model with likelihood %s cannot predict as if further rows were known", g->model->likelihood->name);
  REFUSE_IF(g->h > OAT_LARGEST_SIDE, g->ctx, OATGP_DATA, "%zu given rows are too many; the limit is %d", g->h,
            OAT_LARGEST_SIDE);
  return OATGP_OK;
}

static double noise_of(const given_rows *g, size_t i) {
  const double tau = g->model->theta[OAT_TAU], unit = g->model->number[OAT_NUMBER_Y_SCALE];
  return tau * tau / (g->given->weight != NULL ? g->given->weight[i] : 1) +
         (g->given->noise != NULL ? g->given->noise[i] / unit / unit : 0);
}

/* C(h, h) and C(x, h) */
static oatgp_status cover(const given_rows *g) {
  const oatgp_model *model = g->model;
  const oat_sparse sparse = oat_model_sparse(model);
  const oat_device_config small = {.where = oat_where_of(g->ctx), .kernel = oat_kernel_size_of(model->kernel)};
  const oat_device_config config = oat_model_device(model, oat_where_of(g->ctx));
  oat_device *device = NULL, *kept = NULL;
  oatgp_status status;
  TRY(oat_device_open(g->ctx, &small, g->known, &device));
  TRY(device->table->joint(device, &sparse, model->lb, model->approx->residual, g->l));
  TRY(oat_device_keep(g->ctx, &config, g->rows, &kept));
  TRY(kept->table->joint_with(kept, &sparse, model->lb, model->approx->residual, g->known, g->cross));
done:
  oat_device_close(device);
  return status;
}

static oatgp_status condition(const given_rows *g) {
  const size_t h = g->h;
  const double unit = g->model->number[OAT_NUMBER_Y_SCALE];
  const int threads = oat_where_of(g->ctx).threads;
  for (size_t i = 0; i < h; i++) {
    g->l[i * (h + 1)] += noise_of(g, i);
    g->pull[i] = (g->given->y[i] - g->mean_h[i]) / unit;
  }
  REFUSE_IF(oat_cholesky(h, g->l, threads) != 0, g->ctx, OATGP_NUMERIC,
            "the covariance of the %zu given rows could not be factorised; without noise, no row may appear twice", h);
  oat_solve_left(g->l, h, OAT_PLAIN, (oat_view){g->pull, h, 1, h}, threads);
  oat_solve_right(g->l, h, OAT_TRANSPOSED, (oat_view){g->cross, g->n, h, g->n});
  return OATGP_OK;
}

/* Lowers the variance behind a standard deviation by `less`, in squares of the model's unit. */
static double lessened(double sd, double unit, double less) {
  return unit * sqrt(fmax(sd / unit * (sd / unit) - less, 0));
}

/* Turns the prediction without the rows into the one with them; the noise stays. */
static void move(const given_rows *g, const oatgp_prediction_sd *p) {
  const double unit = g->model->number[OAT_NUMBER_Y_SCALE];
  for (size_t i = 0; i < g->n; i++) {
    double less = 0, more = 0;
    for (size_t j = 0; j < g->h; j++) {
      const double w = g->cross[i + j * g->n];
      less += w * w;
      more += w * g->pull[j];
    }
    const double noise2 =
        fmax(p->sd[i] / unit * (p->sd[i] / unit) - p->sd_latent[i] / unit * (p->sd_latent[i] / unit), 0);
    p->mean[i] += unit * more;
    p->sd_latent[i] = lessened(p->sd_latent[i], unit, less);
    p->sd[i] = unit * sqrt(p->sd_latent[i] / unit * (p->sd_latent[i] / unit) + noise2);
  }
}

static void hand_over(const given_rows *g, const oatgp_prediction_sd *found, const oatgp_prediction_sd *out) {
  const double *const from[] = {found->mean, found->sd_latent, found->sd};
  double *const to[] = {out->mean, out->sd_latent, out->sd};
  for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
    if (to[i] != NULL) {
      memcpy(to[i], from[i], g->n * sizeof *to[i]);
    }
  }
}

/* ---- mixtures: the rows are known to every member; the weights stay --------------------------------------------- */

typedef struct given_mixture {
  oatgp_context *ctx;
  const oatgp_data *data, *given;
  oatgp_prediction_sd found; /* n for each member */
} given_mixture;

static oatgp_status give_member(void *self, const oatgp_model *member, size_t which) {
  const given_mixture *g = self;
  const size_t first = which * g->data->n;
  return oat_predict_given(
      g->ctx, member, g->data, g->given,
      &(oatgp_prediction_sd){g->found.mean + first, g->found.sd_latent + first, g->found.sd + first});
}

static oatgp_status give_members(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                 const oatgp_data *given, const oatgp_prediction_sd *out) {
  const size_t n = data->n, all = n * model->draw_count;
  oat_scratch memory = {.ctx = ctx};
  given_mixture g = {
      ctx,
      data,
      given,
      {oat_take_doubles(&memory, all, 1), oat_take_doubles(&memory, all, 1), oat_take_doubles(&memory, all, 1)}};
  double *again = oat_take_doubles(&memory, all, 1);
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_mixture_each(ctx, model, give_member, &g));
  memcpy(again, g.found.mean, all * sizeof *again);
  oat_mixture_join(model, n, again, g.found.sd_latent);
  oat_mixture_join(model, n, g.found.mean, g.found.sd);
  hand_over(&(given_rows){.n = n}, &g.found, out);
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_given(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                               const oatgp_data *given, const oatgp_prediction_sd *out) {
  if (model->draw_count > 0) {
    return give_members(ctx, model, data, given, out);
  }
  given_rows g = {.ctx = ctx, .model = model, .data = data, .given = given, .n = data->n, .h = given->n};
  oat_scratch memory = {.ctx = ctx};
  oatgp_status status;
  TRY(check(&g));
  g.l = oat_take_doubles(&memory, g.h, g.h);
  g.pull = oat_take_doubles(&memory, g.h, 1);
  g.cross = oat_take_doubles(&memory, g.n, g.h);
  g.mean_h = oat_take_doubles(&memory, g.h, 1);
  const oatgp_prediction_sd found = {oat_take_doubles(&memory, g.n, 1), oat_take_doubles(&memory, g.n, 1),
                                     oat_take_doubles(&memory, g.n, 1)};
  TRY(memory.status);
  TRY(oat_model_inputs(ctx, model, data, &g.rows));
  TRY(oat_model_inputs(ctx, model, given, &g.known));
  TRY(oat_predict_sd(ctx, model, data, &found));
  TRY(oat_predict(ctx, model, given, &(oatgp_prediction){g.mean_h, NULL, NULL}));
  TRY(cover(&g));
  TRY(condition(&g));
  move(&g, &found);
  hand_over(&g, &found, out);
done:
  oat_rows_free(g.rows);
  oat_rows_free(g.known);
  oat_scratch_free(&memory);
  return status;
}
