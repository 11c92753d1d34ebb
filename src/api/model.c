/* Public functions for models: they check their arguments and forward. */
#include "model/model.h"

#include <stdlib.h>

#include "api/api.h"
#include "predict/predict.h"
#include "util/utf8.h"

oatgp_status oatgp_model_set_command(oatgp_context *ctx, oatgp_model *model, const char *command) {
  char *copy = NULL;
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL, ctx, OATGP_ARGUMENT, "the model is NULL");
  PASS_ON(oat_copy_text_utf8(ctx, command, &copy));
  free(model->text[OAT_TEXT_COMMAND]);
  model->text[OAT_TEXT_COMMAND] = copy;
  return OATGP_OK;
}

oatgp_status oatgp_model_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || !model->approx->sparse, ctx, OATGP_ARGUMENT,
            model == NULL ? "the model is NULL" : "the full GP has no knots");
  PASS_ON(mean != NULL || sd != NULL ? oat_take_threads(ctx, oat_threads(ctx)) : OATGP_OK);
  return oat_predict_knots(ctx, model, knots, mean, sd);
}

oatgp_status oatgp_model_save(oatgp_context *ctx, const oatgp_model *model, const char *path) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || path == NULL, ctx, OATGP_ARGUMENT, "the model and the path must not be NULL");
  return oat_model_write(ctx, model, path);
}

oatgp_status oatgp_model_load(oatgp_context *ctx, const char *path, oatgp_model **out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(path == NULL || out == NULL, ctx, OATGP_ARGUMENT, "the path and the output pointer must not be NULL");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_model_read(ctx, path, out);
}

oatgp_status oatgp_model_copy(oatgp_context *ctx, const oatgp_model *model, oatgp_model **out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || out == NULL, ctx, OATGP_ARGUMENT, "the model and the output pointer must not be NULL");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_model_copy(ctx, model, out);
}

oatgp_status oatgp_model_to_bytes(oatgp_context *ctx, const oatgp_model *model, unsigned char **bytes, size_t *size) {
  oat_bytes file = {0};
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || bytes == NULL || size == NULL, ctx, OATGP_ARGUMENT,
            "the model and the pointers for its bytes and their number must not be NULL");
  PASS_ON(oat_model_pack(ctx, model, &file));
  *bytes = file.bytes;
  *size = file.size;
  return OATGP_OK;
}

oatgp_status oatgp_model_from_bytes(oatgp_context *ctx, const unsigned char *bytes, size_t size, oatgp_model **out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(bytes == NULL || out == NULL, ctx, OATGP_ARGUMENT, "the bytes and the output pointer must not be NULL");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_model_unpack(ctx, size, bytes, out);
}

void oatgp_bytes_free(unsigned char *bytes) { free(bytes); }

static oatgp_status check_prediction(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                     const void *out) {
  REFUSE_IF(model == NULL || data == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "model, data and the output pointer must not be NULL");
  return oat_take_threads(ctx, oat_threads(ctx));
}

oatgp_status oatgp_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                           const oatgp_prediction *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  return oat_predict(ctx, model, data, out);
}

oatgp_status oatgp_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                              const oatgp_prediction_sd *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  return oat_predict_sd(ctx, model, data, out);
}

oatgp_status oatgp_predict_interval(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    const oatgp_prediction_interval *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  REFUSE_IF(!(out->interval > 0 && out->interval < 1), ctx, OATGP_ARGUMENT,
            "the interval is %g but must be a number above 0 and below 1", out->interval);
  return oat_predict_interval(ctx, model, data, out);
}

oatgp_status oatgp_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, mean));
  return oat_predict_mean(ctx, model, data, mean);
}

oatgp_status oatgp_predict_gradient(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    const oatgp_prediction_gradient *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  return oat_predict_gradient(ctx, model, data, out);
}

oatgp_status oatgp_predict_given(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                 const oatgp_data *given, const oatgp_prediction_sd *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  REFUSE_IF(given == NULL || given->y == NULL, ctx, given == NULL ? OATGP_ARGUMENT : OATGP_DATA,
            given == NULL ? "the given rows must not be NULL" : "the given rows have no target");
  return oat_predict_given(ctx, model, data, given, out);
}

oatgp_status oatgp_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                      double *covariance) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, covariance));
  return oat_predict_covariance(ctx, model, data, covariance);
}

oatgp_status oatgp_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count,
                                   uint64_t seed, double *samples) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, samples));
  return oat_predict_samples(ctx, model, data, count, seed, samples);
}

oatgp_status oatgp_function_create(oatgp_context *ctx, const oatgp_model *model, size_t count, uint64_t seed,
                                   oatgp_function **out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || out == NULL, ctx, OATGP_ARGUMENT, "the model and the output pointer must not be NULL");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_functions_draw(ctx, model, count, seed, out);
}

oatgp_status oatgp_function_evaluate(oatgp_context *ctx, const oatgp_function *function, const oatgp_data *data,
                                     double *values, double *gradient) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(function == NULL || data == NULL, ctx, OATGP_ARGUMENT, "the functions and the data must not be NULL");
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_functions_evaluate(ctx, function, data, values, gradient);
}

oatgp_status oatgp_sensitivity(oatgp_context *ctx, const oatgp_model *model, const oatgp_indices_of *of,
                               oatgp_indices *out) {
  OAT_NEED_CONTEXT(ctx);
  REFUSE_IF(model == NULL || of == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "the model, the options and the output pointer must not be NULL");
  REFUSE_IF(of->draws < 2, ctx, OATGP_ARGUMENT, "draws is %zu but must be at least 2", of->draws);
  REFUSE_IF(!(of->interval > 0 && of->interval < 1), ctx, OATGP_ARGUMENT,
            "the interval is %g but must be a number above 0 and below 1", of->interval);
  PASS_ON(oat_take_threads(ctx, oat_threads(ctx)));
  return oat_sensitivity(ctx, model, of, out);
}

oatgp_status oatgp_predict_answers(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                   const oatgp_answers *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  REFUSE_IF((out->lower != NULL || out->upper != NULL) && !(out->interval > 0 && out->interval < 1), ctx,
            OATGP_ARGUMENT, "the interval is %g but must be a number above 0 and below 1", out->interval);
  return oat_predict_answers(ctx, model, data, out);
}

oatgp_status oatgp_predict_answer_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                          size_t count, uint64_t seed, double *samples) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, samples));
  return oat_predict_answer_samples(ctx, model, data, count, seed, samples);
}

int oatgp_effect_at(const oatgp_model *model, size_t index, oatgp_effect *out) {
  if (model == NULL || out == NULL || index >= model->effect_count) {
    return 0;
  }
  *out = model->effects[index];
  return 1;
}

oatgp_status oatgp_predict_effects(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                   const oatgp_data *over, const oatgp_effect_values *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  return oat_predict_effects(ctx, model, &(oat_effects_of){data, over, 0, model->effect_count}, out);
}

oatgp_status oatgp_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                         const oatgp_model *against, oatgp_scores *out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_prediction(ctx, model, data, out));
  REFUSE_IF(!oat_data_has_target(data), ctx, OATGP_DATA, "the data have no target to score against");
  PASS_ON(oat_model_match_target(ctx, model, data));
  return oat_score(ctx, model, data, against, out);
}

double oatgp_normal_quantile(double p) { return oat_normal_quantile(p); }
