/* Builds the model from a fit: copies everything that prediction needs at one point from the objective. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oat_config.h"
#include "util/hash.h"
#include "util/lanes.h"

/* ---- the fingerprint ------------------------------------------------------------------------------------------- */

/* A hash of every column of a chunk. */
static void hash_chunk(const void *self, const oatgp_data *data, const oat_data_part *part, void *result) {
  const size_t columns = oatgp_data_columns(data);
  uint64_t *hash = result;
  (void)self;
  for (size_t c = 0; c < columns; c++) {
    const oat_column x = oat_part_column(data, part, c);
    hash[c] = OAT_HASH_START;
    for (size_t i = 0; i < part->n; i++) {
      hash[c] = oat_hash(hash[c], &x.a[i * x.step], sizeof(double));
    }
  }
}

oatgp_status oat_fingerprint(oatgp_context *ctx, const oatgp_data *data, char *text) {
  const size_t chunks = oat_data_chunks(data), columns = oatgp_data_columns(data);
  uint64_t *of_chunk = NULL, hash = OAT_HASH_START;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, chunks * columns, sizeof *of_chunk, &of_chunk));
  TRY(oat_data_pass(ctx, data,
                    &(oat_pass){.look = hash_chunk,
                                .flops = 5 * OAT_FLOPS_OF_MEMORY * (double)columns,
                                .threads = ctx->at_work,
                                .bytes = columns * sizeof *of_chunk,
                                .results = of_chunk}));
  for (size_t i = 0; i < chunks * columns; i++) { /* column after column */
    hash = oat_hash(hash, &of_chunk[i % chunks * columns + i / chunks], sizeof *of_chunk);
  }
  snprintf(text, OAT_FINGERPRINT, "fnv1a-%016llx", (unsigned long long)hash);
done:
  free(of_chunk);
  return status;
}

/* ---- the model ------------------------------------------------------------------------------------------------- */

/* The levels of the data. If the fit continues a model, the model's levels come first and then the new ones of the
 * data. */
static oatgp_status copy_levels(oatgp_context *ctx, const oat_setup *setup, oatgp_model *model) {
  bool any = false;
  if (setup->from != NULL) {
    return oat_model_levels_with(ctx, setup->from, setup->data, &model->levels);
  }
  for (size_t j = 0; j < model->d; j++) {
    any = any || setup->scaling.category[j];
  }
  PASS_ON(any ? oat_new(ctx, model->d, sizeof *model->levels, &model->levels) : OATGP_OK);
  for (size_t j = 0; any && j < model->d; j++) {
    PASS_ON(oat_levels_copy(ctx, &setup->data->levels[setup->scaling.column[j]], &model->levels[j]));
  }
  return OATGP_OK;
}

static oatgp_status copy_texts(oatgp_context *ctx, const oat_setup *setup, oatgp_model *model) {
  const oatgp_data *data = setup->data;
  const oatgp_settings *settings = setup->settings;
  oatgp_status status = OATGP_OK;
  const char *const texts[OAT_TEXTS] = {
      [OAT_TEXT_VERSION] = OAT_VERSION,
      [OAT_TEXT_APPROX] = setup->approx->name,
      [OAT_TEXT_KERNEL] = model->kernel->name,
      [OAT_TEXT_OPTIMIZER] = settings->optimizer,
      [OAT_TEXT_SELECT] = setup->strategy->name,
      [OAT_TEXT_TARGET] = data->target,
      [OAT_TEXT_MEAN] = settings->mean,
      [OAT_TEXT_WEIGHTS] = data->weight_name,
      [OAT_TEXT_NOISE] = data->noise_name,
      [OAT_TEXT_TRIALS] = data->trials_name,
      [OAT_TEXT_EXPOSURE] = data->exposure_name,
      [OAT_TEXT_LIKELIHOOD] = setup->likelihood != NULL ? setup->likelihood->name : NULL,
  };
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    TRY(oat_copy_text(ctx, texts[i], &model->text[i]));
  }
  TRY(oat_setup_prior_text(ctx, setup, &model->text[OAT_TEXT_PRIOR]));
  for (size_t j = 0; j < model->d; j++) {
    TRY(oat_copy_text(ctx, data->names[setup->scaling.column[j]], &model->names[j]));
  }
  TRY(copy_levels(ctx, setup, model));
  TRY(oat_levels_copy(ctx, setup->from != NULL ? &setup->from->target_levels : &data->target_levels,
                      &model->target_levels));
  if (data->positions != NULL) {
    model->positions = oat_take_doubles(&model->memory, model->d, 1);
    TRY(model->memory.status);
    for (size_t j = 0; j < model->d; j++) {
      model->positions[j] = (double)data->positions[setup->scaling.column[j]];
    }
  }
done:
  return status;
}

/* Given knots keep the order in which they were given; added knots follow. */
static oatgp_status copy_order(const oat_setup *setup, oatgp_model *model) {
  const double *before = setup->from != NULL ? setup->from->order : NULL;
  const bool given = setup->order != NULL && model->k >= setup->knots->n;
  if (before == NULL && !given) {
    return OATGP_OK;
  }
  model->order = oat_take_doubles(&model->memory, model->k, 1);
  for (size_t i = 0; model->order != NULL && i < model->k; i++) {
    model->order[i] = before != NULL ? before[i] : (double)(i < setup->knots->n ? setup->order[i] : i);
  }
  return model->memory.status;
}

/* `value` is the objective, and `log_prior` a part of it. */
static void copy_numbers(const oat_setup *setup, const oat_objective_config *config, double value, double log_prior,
                         oatgp_model *model) {
  const oat_approx *approx = setup->approx;
  double *number = model->number;
  number[OAT_NUMBER_N] = (double)oat_rows_total(setup->rows);
  number[OAT_NUMBER_ALPHA] = approx->power ? setup->settings->alpha : approx->alpha;
  number[OAT_NUMBER_JITTER] = config->jitter;
  number[OAT_NUMBER_JITTER_ABSOLUTE] = setup->approx->sparse ? setup->settings->jitter_absolute : 0;
  number[OAT_NUMBER_OBJECTIVE] = oat_setup_objective_value(setup, value);
  number[OAT_NUMBER_RESTARTS] = (double)setup->settings->restarts;
  number[OAT_NUMBER_SEED] = (double)setup->settings->seed;
  number[OAT_NUMBER_MEAN] = setup->mean;
  number[OAT_NUMBER_Y_SCALE] = setup->y_scale;
  number[OAT_NUMBER_HEADER] = setup->data->header;
  number[OAT_NUMBER_COLUMNS] = (double)setup->data->columns;
  for (size_t i = OAT_NUMBER_OPTIONAL; i < OAT_NUMBERS; i++) {
    number[i] = NAN;
  }
  if (setup->levels > 0) {
    number[OAT_NUMBER_ANSWER_LEVELS] = (double)setup->levels;
  }
  if (config->prior != NULL) {
    number[OAT_NUMBER_LOG_PRIOR] = log_prior;
  }
  if (config->neighbours > 0) {
    number[OAT_NUMBER_NEIGHBOURS] = (double)config->neighbours;
    number[OAT_NUMBER_NEAR] = (double)oat_setup_near(setup);
  }
#define EXTRA_PLACE(column) , setup->data->column##_position
  const size_t places[] = {setup->data->target_position OAT_EXTRA_COLUMNS(EXTRA_PLACE)};
#undef EXTRA_PLACE
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    number[OAT_NUMBER_TARGET_COLUMN + i] = places[i] > 0 ? (double)places[i] : NAN;
  }
}

oatgp_status oat_model_build(oatgp_context *ctx, const oat_setup *setup, oat_objective *objective,
                             const oat_point *point, oatgp_model **out) {
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  double value;
  TRY(oat_objective_find_neighbours(objective, point, NULL)); /* the neighbours at the model's own lengthscales */
  const oatgp_status evaluated = oat_objective_evaluate(objective, point, &value, NULL);
  TRY(evaluated == OATGP_NUMERIC ? oat_objective_rejected(ctx, objective, point) : evaluated);
  if (objective->config.neighbours > 0) {
    oat_device_tell_trouble(ctx, objective->device, oat_rows_total(setup->rows), "rows");
  }
  TRY(oat_new(ctx, 1, sizeof *model, &model));
  model->approx = setup->approx;
  model->likelihood = setup->likelihood;
  TRY(oat_setup_copy_kernel(ctx, setup, &model->kernel));
  model->d = setup->scaling.d;
  model->k = setup->approx->sparse ? setup->k : oat_rows_total(setup->rows);
  model->p = oat_rows_basis(setup->rows);
  copy_numbers(setup, &objective->config, value, oat_objective_log_prior(objective, point->theta), model);
  oat_model_count_neighbours(model);
  TRY(oat_model_allocate(ctx, model));
  TRY(copy_texts(ctx, setup, model));
  TRY(copy_order(setup, model));
  oat_model_copy_scaling(&setup->scaling, &model->scaling);
  oat_model_take(objective, point, model);
  if (model->neighbours > 0) {
    oat_rows_keep(objective->config.rows, &model->kept);
  }
  TRY(oat_model_finish(ctx, model));
  *out = model;
  return OATGP_OK;
done:
  oatgp_model_free(model);
  return status;
}
