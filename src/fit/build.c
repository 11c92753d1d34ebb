/* The model from a fit: everything that prediction needs at one point, copied out of the objective. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oat_config.h"
#include "util/hash.h"
#include "util/lanes.h"

/* ---- the fingerprint ------------------------------------------------------------------------------------------------- */

/* Chunks of the columns, one column after the other. Each lane has a hash of its chunks. */
typedef struct hashing {
  const oatgp_data *data;
  size_t chunks; /* of a column */
  uint64_t lane[OAT_MOST_LANES];
} hashing;

static void hash_chunk(void *self, size_t lane, size_t item) {
  hashing *h = self;
  const oat_column x = oat_data_column(h->data, item / h->chunks);
  const oat_span rows = oat_chunk(h->data->n, item % h->chunks);
  uint64_t hash = h->lane[lane];
  for (size_t i = rows.first; i < rows.first + rows.count; i++) {
    hash = oat_hash(hash, &x.a[i * x.step], sizeof(double));
  }
  h->lane[lane] = hash;
}

void oat_fingerprint(const oatgp_data *data, int threads, char *text) {
  hashing h = {.data = data, .chunks = (data->n + OAT_CHUNK - 1) / OAT_CHUNK};
  const size_t items = oatgp_data_columns(data) * h.chunks, lanes = oat_lanes_for(items);
  for (size_t lane = 0; lane < lanes; lane++) {
    h.lane[lane] = OAT_HASH_START;
  }
  oat_loop_run(&(oat_loop){.items = items,
                           .lanes = lanes,
                           .threads = threads,
                           .flops = 5 * OAT_FLOPS_OF_MEMORY * (double)data->n * (double)oatgp_data_columns(data),
                           .item = hash_chunk,
                           .self = &h});
  uint64_t hash = OAT_HASH_START;
  for (size_t lane = 0; lane < lanes; lane++) {
    hash = oat_hash(hash, &h.lane[lane], sizeof h.lane[lane]);
  }
  snprintf(text, OAT_FINGERPRINT, "fnv1a-%016llx", (unsigned long long)hash);
}

/* ---- the model ------------------------------------------------------------------------------------------------------- */

/* Those of the data or, of a model that was fitted on from, its own and then those of the data that are new. */
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
  char fingerprint[OAT_FINGERPRINT];
  oat_fingerprint(data, ctx->at_work, fingerprint);
  const char *const texts[OAT_TEXTS] = {
      [OAT_TEXT_VERSION] = OAT_VERSION,           [OAT_TEXT_APPROX] = setup->approx->name,   [OAT_TEXT_KERNEL] = model->kernel->name,
      [OAT_TEXT_OPTIMIZER] = settings->optimizer, [OAT_TEXT_SELECT] = setup->strategy->name, [OAT_TEXT_TARGET] = data->target,
      [OAT_TEXT_MEAN] = settings->mean,           [OAT_TEXT_FINGERPRINT] = fingerprint,      [OAT_TEXT_WEIGHTS] = data->weight_name,
      [OAT_TEXT_NOISE] = data->noise_name,        [OAT_TEXT_TRIALS] = data->trials_name,     [OAT_TEXT_EXPOSURE] = data->exposure_name,
      [OAT_TEXT_LIKELIHOOD] = setup->likelihood != NULL ? setup->likelihood->name : NULL,
  };
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    TRY(oat_copy_text(ctx, texts[i], &model->text[i]));
  }
  for (size_t j = 0; j < model->d; j++) {
    TRY(oat_copy_text(ctx, data->names[setup->scaling.column[j]], &model->names[j]));
  }
  TRY(copy_levels(ctx, setup, model));
  TRY(oat_levels_copy(ctx, setup->from != NULL ? &setup->from->target_levels : &data->target_levels, &model->target_levels));
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

/* Knots that were given keep the places that they had there; those that were added follow. */
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

static void copy_numbers(const oat_setup *setup, const oat_objective_config *config, double value, oatgp_model *model) {
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

static void copy_factors(const oat_objective *objective, const oat_point *point, oatgp_model *model) {
  const oat_factors *factors = &objective->factors;
  const size_t k = model->k;
  memcpy(model->theta, point->theta, oat_theta_count(model->kernel, model->d) * sizeof *model->theta);
  memcpy(model->coefficient, factors->coefficient, model->p * sizeof *model->coefficient);
  if (!model->approx->sparse) {
    oat_rows_copy(objective->config.rows, model->coefficient, model->theta[OAT_TAU], model->z, model->r, model->noise);
    return;
  }
  memcpy(model->z, point->z, k * model->d * sizeof *model->z);
  memcpy(model->l, factors->l, k * k * sizeof *model->l);
  memcpy(model->lb, factors->lb, k * k * sizeof *model->lb);
  memcpy(model->c, factors->c, k * sizeof *model->c);
  memcpy(model->sums, factors->sums->vwv, model->sums_count * sizeof *model->sums);
  if (model->neighbours > 0) {
    oat_rows_keep(objective->config.rows, &model->kept);
  }
}

oatgp_status oat_model_build(oatgp_context *ctx, const oat_setup *setup, oat_objective *objective, const oat_point *point,
                             oatgp_model **out) {
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  double value;
  TRY(oat_objective_find_neighbours(objective, point, NULL)); /* a model has those of its own lengthscales */
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
  copy_numbers(setup, &objective->config, value, model);
  oat_model_count_neighbours(model);
  TRY(oat_model_allocate(ctx, model));
  TRY(copy_texts(ctx, setup, model));
  TRY(copy_order(setup, model));
  oat_model_copy_scaling(&setup->scaling, &model->scaling);
  copy_factors(objective, point, model);
  TRY(oat_model_finish(ctx, model));
  *out = model;
  return OATGP_OK;
done:
  oatgp_model_free(model);
  return status;
}
