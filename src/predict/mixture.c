/* Mixtures of normal distributions: moments, quantiles and densities. All sums over members are in their order, so that
 * results have the same bits for any number of threads. */
#include "predict/mixture.h"

#include <math.h>

#define ROOT_HALF 0.70710678118654752440
#define LOG_ROOT_TWO_PI 0.91893853320467274178

static double unit_of(const oatgp_model *model) { return model->number[OAT_NUMBER_Y_SCALE]; }

/* ---- what the members predict ---------------------------------------------------------------------------------- */

oatgp_status oat_mixture_each(oatgp_context *ctx, const oatgp_model *model, oat_member_fn *of, void *self) {
  const oatgp_message_fn message = ctx->message;
  oatgp_status status = OATGP_OK;
  for (size_t m = 0; status == OATGP_OK && m < model->draw_count; m++) {
    status = of(self, model->members[m], m);
    ctx->message = NULL; /* the others would only repeat its messages */
  }
  ctx->message = message;
  return status;
}

oatgp_status oat_mixture_predict(oat_scratch *memory, const oatgp_model *model, const oatgp_data *data,
                                 oat_mixture *out) {
  const size_t n = data->n;
  oat_rows *rows = NULL;
  oatgp_status status;
  *out = (oat_mixture){model, data, oat_take_doubles(memory, n, model->draw_count),
                       oat_take_doubles(memory, n, model->draw_count)};
  TRY(memory->status);
  TRY(oat_model_inputs(memory->ctx, model, data, &rows)); /* the members have the same scaling */
  for (size_t m = 0; m < model->draw_count; m++) {
    TRY(oat_predict_points(memory->ctx, model->members[m], rows, data, out->mean + m * n, out->variance + m * n));
  }
done:
  oat_rows_free(rows);
  return status;
}

/* ---- moments --------------------------------------------------------------------------------------------------- */

static double noise_of(const oat_mixture *x, size_t i, size_t m) {
  return oat_predict_noise(x->model->members[m], x->data, i);
}

double oat_mixture_mean(const oatgp_model *model, size_t n, const double *values) {
  double mean = values[0];
  for (size_t m = 1; m < model->draw_count; m++) {
    mean += model->draw_weights[m] * (values[m * n] - values[0]);
  }
  return mean;
}

oat_mixture_moments oat_mixture_moments_at(const oat_mixture *x, size_t i) {
  const oatgp_model *model = x->model;
  const size_t n = x->data->n;
  oat_mixture_moments at = {.mean = oat_mixture_mean(model, n, x->mean + i)};
  for (size_t m = 0; m < model->draw_count; m++) {
    const double apart = (x->mean[i + m * n] - at.mean) / unit_of(model), variance = x->variance[i + m * n];
    at.latent += model->draw_weights[m] * (variance + apart * apart);
    at.observed += model->draw_weights[m] * (variance + noise_of(x, i, m) + apart * apart);
  }
  return at;
}

void oat_mixture_join(const oatgp_model *model, size_t n, double *mean, double *sd) {
  const double *w = model->draw_weights;
  for (size_t i = 0; i < n; i++) {
    const double middle = oat_mixture_mean(model, n, mean + i);
    double variance = 0;
    for (size_t m = 0; sd != NULL && m < model->draw_count; m++) {
      const double apart = (mean[i + m * n] - middle) / unit_of(model), own = sd[i + m * n] / unit_of(model);
      variance += w[m] * (own * own + apart * apart);
    }
    mean[i] = middle;
    if (sd != NULL) {
      sd[i] = unit_of(model) * sqrt(variance);
    }
  }
}

/* ---- quantiles ------------------------------------------------------------------------------------------------- */

/* The distribution of one row, in the model's unit. */
typedef struct normals {
  size_t count;
  const double *weight;
  double mean[OAT_MOST_DRAWS], sd[OAT_MOST_DRAWS];
} normals;

static normals normals_at(const oat_mixture *x, size_t i, bool latent) {
  const size_t n = x->data->n;
  normals at = {.count = x->model->draw_count, .weight = x->model->draw_weights};
  for (size_t m = 0; m < at.count; m++) {
    at.mean[m] = x->mean[i + m * n] / unit_of(x->model);
    at.sd[m] = sqrt(x->variance[i + m * n] + (latent ? 0 : noise_of(x, i, m)));
  }
  return at;
}

/* P(Y < y), and its derivative. */
static double distribution(const normals *at, double y, double *density) {
  double below = 0;
  *density = 0;
  for (size_t m = 0; m < at->count; m++) {
    if (at->sd[m] > 0) {
      const double z = (y - at->mean[m]) / at->sd[m];
      below += at->weight[m] * 0.5 * erfc(-z * ROOT_HALF);
      *density += at->weight[m] * exp(-0.5 * z * z - LOG_ROOT_TWO_PI) / at->sd[m];
    } else {
      below += y > at->mean[m] ? at->weight[m] : 0;
    }
  }
  return below;
}

/* The y below which a small share of the mixture lies, by Newton's method within a bracket. It is between the least
 * and the greatest of the members' own. */
static double lower_quantile(const normals *at, double share) {
  enum { MOST = 200 };
  const double reach = oat_normal_quantile(share);
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (size_t m = 0; m < at->count; m++) {
    low = fmin(low, at->mean[m] + reach * at->sd[m]);
    high = fmax(high, at->mean[m] + reach * at->sd[m]);
  }
  double y = 0.5 * low + 0.5 * high;
  for (int i = 0; i < MOST && low < high; i++) {
    double density;
    const double excess = distribution(at, y, &density) - share;
    if (excess < 0) {
      low = y;
    } else {
      high = y;
    }
    const double next = density > 0 ? y - excess / density : low;
    const double to = next > low && next < high ? next : 0.5 * low + 0.5 * high;
    if (to == y || fabs(excess) <= 1e-15 * share) {
      break;
    }
    y = to;
  }
  return y;
}

/* The upper end is the lower one of the mirror image, which keeps the digits of a small share. */
void oat_mixture_interval(const oat_mixture *mixture, size_t i, double probability, bool latent, double *lower,
                          double *upper) {
  const double share = 0.5 - 0.5 * probability, unit = unit_of(mixture->model);
  normals at = normals_at(mixture, i, latent);
  *lower = unit * lower_quantile(&at, share);
  for (size_t m = 0; m < at.count; m++) {
    at.mean[m] = -at.mean[m];
  }
  *upper = -unit * lower_quantile(&at, share);
}

/* ---- densities ------------------------------------------------------------------------------------------------- */

void oat_mixture_judge(const oat_mixture *mixture, size_t i, double *nlp, double *below) {
  const double unit = unit_of(mixture->model), y = mixture->data->y[i] / unit;
  const normals at = normals_at(mixture, i, false);
  double log_density[OAT_MOST_DRAWS], largest = -HUGE_VAL, sum = 0;
  *below = 0;
  for (size_t m = 0; m < at.count; m++) {
    const double z = (y - at.mean[m]) / at.sd[m];
    log_density[m] = log(at.weight[m]) - 0.5 * z * z - LOG_ROOT_TWO_PI - log(at.sd[m]);
    largest = fmax(largest, log_density[m]);
    *below += at.weight[m] * 0.5 * erfc(-z * ROOT_HALF);
  }
  for (size_t m = 0; m < at.count; m++) {
    sum += exp(log_density[m] - largest);
  }
  *nlp = log(unit) - largest - log(sum);
}
