/* The description of a model. */
#include "model/model.h"

static const char *text_of(const oatgp_model *model, size_t which) {
  return model->text[which] != NULL ? model->text[which] : "";
}

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
      .trials = text_of(model, OAT_TEXT_TRIALS),
      .exposure = text_of(model, OAT_TEXT_EXPOSURE),
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
      .neighbours = model->neighbours,
      .predict_neighbours = model->near,
      .parameter_count = model->parameters != NULL ? model->kernel->expression->parameters : 0,
      .parameters = model->parameters,
      .likelihood = model->likelihood != NULL ? model->likelihood->name : "gaussian",
      .likelihood_count = model->kernel->further.count,
      .likelihood_parameters = model->own,
      .answer_levels = oat_model_answer_levels(model),
      .prior = text_of(model, OAT_TEXT_PRIOR),
      .log_prior = oat_model_log_prior(model),
      .kernel_candidates = text_of(model, OAT_TEXT_CANDIDATES),
      .average = model->draw_count,
  };
}

const oatgp_model *oatgp_model_draw(const oatgp_model *model, size_t draw, double *weight) {
  const bool there = model != NULL && draw < model->draw_count;
  if (there && weight != NULL) {
    *weight = model->draw_weights[draw];
  }
  return there ? model->members[draw] : NULL;
}

const char *oatgp_model_input_name(const oatgp_model *model, size_t input) {
  return model != NULL && input < model->d ? model->names[input] : NULL;
}

size_t oatgp_model_level_count(const oatgp_model *model, size_t input) {
  return model != NULL && model->levels != NULL && input < model->d ? model->levels[input].count : 0;
}

const char *oatgp_model_level(const oatgp_model *model, size_t input, size_t level) {
  return level < oatgp_model_level_count(model, input) ? model->levels[input].name[level] : NULL;
}

size_t oatgp_model_target_level_count(const oatgp_model *model) {
  return model != NULL ? model->target_levels.count : 0;
}

const char *oatgp_model_target_level(const oatgp_model *model, size_t level) {
  return level < oatgp_model_target_level_count(model) ? model->target_levels.name[level] : NULL;
}
