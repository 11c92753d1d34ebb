/* Public entries for models: they check their arguments and forward. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "predict/metrics.h"
#include "util/memory.h"
#include "util/utf8.h"

static const char *text_of(const oatgp_model *model, size_t which) { return model->text[which] != NULL ? model->text[which] : ""; }

void oatgp_model_get_info(const oatgp_model *model, oatgp_model_info *info) {
  if (model == NULL || info == NULL) {
    return;
  }
  const double *number = model->number, unit = number[OAT_NUMBER_Y_SCALE];
  const oat_theta_fields at = oat_theta_named(model->kernel, model->d, model->theta, unit);
  *info = (oatgp_model_info){
      .version = text_of(model, OAT_TEXT_VERSION),
      .approx = model->approx->name,
      .kernel = model->kernel->name,
      .optimizer = text_of(model, OAT_TEXT_OPTIMIZER),
      .select = text_of(model, OAT_TEXT_SELECT),
      .target = text_of(model, OAT_TEXT_TARGET),
      .mean_kind = text_of(model, OAT_TEXT_MEAN),
      .command = text_of(model, OAT_TEXT_COMMAND),
      .settings = text_of(model, OAT_TEXT_SETTINGS),
      .fingerprint = text_of(model, OAT_TEXT_FINGERPRINT),
      .weights = text_of(model, OAT_TEXT_WEIGHTS),
      .noise_variance = text_of(model, OAT_TEXT_NOISE),
      .alpha = number[OAT_NUMBER_ALPHA],
      .objective = number[OAT_NUMBER_OBJECTIVE],
      .sigma = at.sigma,
      .tau = at.tau,
      .shape = at.shape,
      .jitter = number[OAT_NUMBER_JITTER],
      .seconds = number[OAT_NUMBER_SECONDS],
      .mean = number[OAT_NUMBER_MEAN] + (model->p > 0 ? unit * model->coefficient[0] : 0),
      .slopes = model->slopes,
      .n = (size_t)number[OAT_NUMBER_N],
      .d = model->d,
      .knots = model->approx->sparse ? model->k : 0,
      .lengthscale_count = at.lengthscale_count,
      .lengthscales = at.lengthscales,
      .input_centre = model->scaling.centre,
      .input_scale = model->scaling.scale,
      .iterations = (int64_t)number[OAT_NUMBER_ITERATIONS],
      .evaluations = (int64_t)number[OAT_NUMBER_EVALUATIONS],
      .rejected = (int64_t)number[OAT_NUMBER_REJECTED],
      .restarts = (int64_t)number[OAT_NUMBER_RESTARTS],
      .seed = (int64_t)number[OAT_NUMBER_SEED],
      .stop = (oatgp_stop)number[OAT_NUMBER_STOP],
      .history_count = model->history_count,
      .history = model->history,
      .jitter_absolute = number[OAT_NUMBER_JITTER_ABSOLUTE],
      .selection_count = model->selection_count,
      .selection = model->selection,
      .loo_mean_nlp = number[OAT_NUMBER_LOO_MEAN_NLP],
      .loo_rmse = number[OAT_NUMBER_LOO_RMSE],
      .loo_coverage95 = number[OAT_NUMBER_LOO_COVERAGE95],
      .lower = number[OAT_NUMBER_LOWER],
      .upper = number[OAT_NUMBER_UPPER],
  };
}

const char *oatgp_model_input_name(const oatgp_model *model, size_t input) {
  return model != NULL && input < model->d ? model->names[input] : NULL;
}

oatgp_status oatgp_model_set_command(oatgp_context *ctx, oatgp_model *model, const char *command) {
  char *copy = NULL;
  OAT_NEED_CONTEXT(ctx);
  if (model == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "the model is NULL");
  }
  const oatgp_status status = oat_copy_text_utf8(ctx, command, &copy);
  if (status == OATGP_OK) {
    free(model->text[OAT_TEXT_COMMAND]);
    model->text[OAT_TEXT_COMMAND] = copy;
  }
  return status;
}

/* The place of knot i among those that the user sees. */
static size_t knot_place(const oatgp_model *model, size_t i) { return model->order != NULL ? (size_t)model->order[i] : i; }

/* Posterior mean and sd of f at the knots, into whichever of the two is wanted. */
static oatgp_status knot_posterior(oatgp_context *ctx, const oatgp_model *model, double *mean, double *sd) {
  double *means = NULL, *sds = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, model->k, 1, &means));
  TRY(oat_new_matrix(ctx, model->k, 1, &sds));
  TRY(oat_take_threads(ctx, oat_threads(ctx), 1));
  TRY(oat_predict_knots(ctx, model, means, sds));
  for (size_t i = 0; i < model->k; i++) {
    if (mean != NULL) {
      mean[knot_place(model, i)] = means[i];
    }
    if (sd != NULL) {
      sd[knot_place(model, i)] = sds[i];
    }
  }
done:
  free(means);
  free(sds);
  return status;
}

oatgp_status oatgp_model_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd) {
  OAT_NEED_CONTEXT(ctx);
  if (model == NULL || !model->approx->sparse) {
    return oat_fail(ctx, OATGP_ARGUMENT, model == NULL ? "the model is NULL" : "the full GP has no knots");
  }
  const oatgp_status status = mean != NULL || sd != NULL ? knot_posterior(ctx, model, mean, sd) : OATGP_OK;
  for (size_t i = 0; status == OATGP_OK && knots != NULL && i < model->k; i++) {
    for (size_t j = 0; j < model->d; j++) {
      knots[knot_place(model, i) * model->d + j] = model->z[i + j * model->k] * model->scaling.scale[j] + model->scaling.centre[j];
    }
  }
  return status;
}

oatgp_status oatgp_model_save(oatgp_context *ctx, const oatgp_model *model, const char *path) {
  OAT_NEED_CONTEXT(ctx);
  if (model == NULL || path == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "the model and the path must not be NULL");
  }
  return oat_model_write(ctx, model, path);
}

oatgp_status oatgp_model_load(oatgp_context *ctx, const char *path, oatgp_model **out) {
  OAT_NEED_CONTEXT(ctx);
  if (path == NULL || out == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "the path and the place of the model must not be NULL");
  }
  const oatgp_status status = oat_take_threads(ctx, oat_threads(ctx), oat_threads(ctx));
  return status == OATGP_OK ? oat_model_read(ctx, path, out) : status;
}

oatgp_status oatgp_model_to_bytes(oatgp_context *ctx, const oatgp_model *model, unsigned char **bytes, size_t *size) {
  oat_bytes file = {0};
  OAT_NEED_CONTEXT(ctx);
  if (model == NULL || bytes == NULL || size == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "the model and the places of its bytes and of their number must not be NULL");
  }
  const oatgp_status status = oat_model_pack(ctx, model, &file);
  if (status == OATGP_OK) {
    *bytes = file.bytes;
    *size = file.size;
  }
  return status;
}

oatgp_status oatgp_model_from_bytes(oatgp_context *ctx, const unsigned char *bytes, size_t size, oatgp_model **out) {
  OAT_NEED_CONTEXT(ctx);
  if (bytes == NULL || out == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "the bytes and the place of the model must not be NULL");
  }
  const oatgp_status status = oat_take_threads(ctx, oat_threads(ctx), oat_threads(ctx));
  return status == OATGP_OK ? oat_model_unpack(ctx, size, bytes, out) : status;
}

void oatgp_bytes_free(unsigned char *bytes) { free(bytes); }

static oatgp_status check_prediction(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const void *out) {
  if (model == NULL || data == NULL || out == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "model, data and the place of the result must not be NULL");
  }
  return oat_take_threads(ctx, oat_threads(ctx), 1);
}

oatgp_status oatgp_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction *out) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_prediction(ctx, model, data, out);
  return status == OATGP_OK ? oat_predict(ctx, model, data, out) : status;
}

oatgp_status oatgp_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction_sd *out) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_prediction(ctx, model, data, out);
  return status == OATGP_OK ? oat_predict_sd(ctx, model, data, out) : status;
}

oatgp_status oatgp_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_prediction(ctx, model, data, mean);
  return status == OATGP_OK ? oat_predict_mean(ctx, model, data, mean) : status;
}

oatgp_status oatgp_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *covariance) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_prediction(ctx, model, data, covariance);
  return status == OATGP_OK ? oat_predict_covariance(ctx, model, data, covariance) : status;
}

oatgp_status oatgp_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count, uint64_t seed,
                                   double *samples) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_prediction(ctx, model, data, samples);
  return status == OATGP_OK ? oat_predict_samples(ctx, model, data, count, seed, samples) : status;
}

oatgp_status oatgp_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_model *against,
                         oatgp_scores *out) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_prediction(ctx, model, data, out);
  if (status != OATGP_OK) {
    return status;
  }
  if (data->y == NULL) {
    return oat_fail(ctx, OATGP_DATA, "the data have no target to score against");
  }
  return oat_score(ctx, model, data, against, out);
}

double oatgp_normal_quantile(double p) { return oat_normal_quantile(p); }
