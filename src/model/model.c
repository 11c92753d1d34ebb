/* The model as an object: memory, derived parts, prior mean. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

static void free_rows(oatgp_model *model) {
  oat_rows_free(model->residuals);
  oat_rows_free(model->rows);
  model->rows = model->residuals = NULL;
}

void oatgp_model_free(oatgp_model *model) {
  if (model == NULL) {
    return;
  }
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    free(model->text[i]);
  }
  for (size_t j = 0; model->names != NULL && j < model->d; j++) {
    free(model->names[j]);
  }
  oat_levels_free_list(model->levels, model->d);
  oat_levels_clear(&model->target_levels);
  oat_scaling_clear(&model->scaling);
  free_rows(model);
  oat_model_free_draws(model);
  free(model->kept.x);
  free(model->history);
  free(model->selection);
  oat_kernel_release(model->kernel);
  oat_scratch_free(&model->memory);
  free(model);
}

oatgp_status oat_model_allocate_scaling(oatgp_context *ctx, oat_scaling *scaling, size_t d) {
  oatgp_status status = OATGP_OK;
  scaling->d = d;
  TRY(oat_new(ctx, d, sizeof *scaling->column, &scaling->column));
  TRY(oat_new(ctx, d, sizeof *scaling->category, &scaling->category));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->centre));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->scale));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->middle));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->spread));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->lowest));
  TRY(oat_new_matrix(ctx, d, 1, &scaling->highest));
  for (size_t j = 0; j < d; j++) {
    scaling->column[j] = j;
  }
done:
  return status;
}

void oat_model_count_neighbours(oatgp_model *model) {
  const double *number = model->number;
  const bool any = number[OAT_NUMBER_NEIGHBOURS] >= 1;
  model->neighbours = any ? (size_t)number[OAT_NUMBER_NEIGHBOURS] : 0;
  model->near = any ? (size_t)number[OAT_NUMBER_NEAR] : 0;
  model->kept.n = oat_model_keeps(model) ? (size_t)number[OAT_NUMBER_N] : 0;
}

/* Room for n rows to keep. */
static oatgp_status allocate_rows(oatgp_context *ctx, oatgp_model *model, size_t n) {
  double *x = NULL;
  PASS_ON(oat_new_matrix(ctx, n, model->d + 3, &x));
  double *const r = x + n * model->d;
  free(model->kept.x);
  model->kept = (oat_kept_rows){n, x, r, r + n, r + 2 * n};
  return OATGP_OK;
}

oatgp_status oat_model_keep_rows(oatgp_context *ctx, oatgp_model *model, const oat_rows *rows) {
  PASS_ON(allocate_rows(ctx, model, oat_rows_total(rows)));
  oat_rows_keep(rows, &model->kept);
  return OATGP_OK;
}

static void take_effect_inputs(oat_scratch *memory, size_t d, const bool *used, oatgp_effect *effect) {
  size_t *const inputs = oat_take(memory, d, sizeof *inputs);
  effect->inputs = inputs;
  for (size_t j = 0; inputs != NULL && j < d; j++) {
    if (used == NULL || used[j]) {
      inputs[effect->input_count++] = j;
    }
  }
}

/* Name and inputs of a summand of an expression. */
static oatgp_status name_effect(oatgp_model *model, size_t node, bool *used, oatgp_effect *effect) {
  const oat_expression *whole = model->kernel->expression;
  oat_scratch *memory = &model->memory;
  oat_expression *part = NULL;
  char *name = NULL;
  oatgp_status status;
  TRY(oat_expression_of_node(memory->ctx, whole, node, &part));
  TRY(oat_expression_part(memory->ctx, whole, node, &name));
  oat_expression_inputs(part, model->d, used);
  effect->name = oat_take_text(memory, name);
  take_effect_inputs(memory, model->d, used, effect);
  TRY(memory->status);
done:
  oat_expression_free(part);
  free(name);
  return status;
}

/* The summands of the kernel, for the user. */
static oatgp_status name_effects(oatgp_model *model) {
  const oat_expression *expression = model->kernel->expression;
  size_t node[OAT_MOST_LEAVES];
  model->effect_count = expression != NULL ? oat_expression_summands(expression, node) : 1;
  model->effects = oat_take(&model->memory, model->effect_count, sizeof *model->effects);
  bool *const used = oat_take(&model->memory, model->d, sizeof *used);
  PASS_ON(model->memory.status);
  if (expression == NULL) {
    model->effects[0].name = model->kernel->name;
    take_effect_inputs(&model->memory, model->d, NULL, &model->effects[0]);
  }
  for (size_t i = 0; expression != NULL && i < model->effect_count; i++) {
    PASS_ON(name_effect(model, node[i], used, &model->effects[i]));
  }
  return model->memory.status;
}

oatgp_status oat_model_allocate(oatgp_context *ctx, oatgp_model *model) {
  const size_t d = model->d, k = model->k, p = model->p;
  oat_scratch *memory = &model->memory;
  *memory = (oat_scratch){.ctx = ctx, .status = oat_model_allocate_scaling(ctx, &model->scaling, d)};
  model->names = oat_take(memory, d, sizeof *model->names);
  model->theta = oat_take_doubles(memory, oat_theta_count(model->kernel, d), 1);
  model->z = oat_take_doubles(memory, k, d);
  model->l = oat_take_doubles(memory, k, k);
  model->c = oat_take_doubles(memory, k, 1);
  model->coefficient = oat_take_doubles(memory, p, 1);
  model->slopes = p > 1 ? oat_take_doubles(memory, d, 1) : NULL;
  if (model->kernel->expression != NULL) {
    model->parameters = oat_take(memory, model->kernel->expression->parameters, sizeof *model->parameters);
  }
  if (model->likelihood != NULL) {
    model->own = oat_take(memory, model->kernel->further.count + 1, sizeof *model->own);
  }
  if (model->approx->sparse) {
    model->lb = oat_take_doubles(memory, k, k);
    model->sums_count = oat_sums_count(k, p);
    model->sums = oat_take_doubles(memory, model->sums_count, 1);
  } else {
    model->r = oat_take_doubles(memory, k, 1);
    model->noise = oat_take_doubles(memory, k, 1);
  }
  memory->status = memory->status == OATGP_OK ? allocate_rows(ctx, model, model->kept.n) : memory->status;
  return memory->status == OATGP_OK ? name_effects(model) : memory->status;
}

void oat_model_copy_scaling(const oat_scaling *from, oat_scaling *to) {
  const size_t bytes = from->d * sizeof(double);
  memcpy(to->category, from->category, from->d * sizeof *from->category);
  memcpy(to->centre, from->centre, bytes);
  memcpy(to->scale, from->scale, bytes);
  memcpy(to->middle, from->middle, bytes);
  memcpy(to->spread, from->spread, bytes);
  memcpy(to->lowest, from->lowest, bytes);
  memcpy(to->highest, from->highest, bytes);
}

/* ---- answers that are not Gaussian ----------------------------------------------------------------------------- */

oat_response oat_model_response(const oatgp_model *model) {
  return (oat_response){model->likelihood, model->theta + oat_covariance_count(model->kernel, model->d),
                        oat_model_answer_levels(model)};
}

/* The setting with the parameter's start, which is also its name for --fix. It differs from `shape`, because a kernel
 * may have a shape, too. */
static const char *setting_name(const char *name) {
  return strcmp(name, "shape") == 0 ? "likelihood_shape" : strcmp(name, "scale") == 0 ? "likelihood_scale" : name;
}

oat_further oat_answer_parameters(const oat_likelihood *likelihood, size_t levels, size_t first, oat_parameter *is,
                                  double *start) {
  const size_t count = oat_likelihood_count(likelihood, levels);
  for (size_t i = 0; i < count; i++) {
    is[i] = oat_likelihood_parameter(likelihood, i);
    is[i].name = setting_name(is[i].name);
    start[i] = oat_likelihood_parameter_start(likelihood, i);
  }
  return (oat_further){true, first, count, is, start};
}

void oat_answer_show(const oat_likelihood *likelihood, size_t levels, const double *own, double unit,
                     oatgp_parameter *out) {
  for (size_t i = 0; i < oat_likelihood_count(likelihood, levels); i++) {
    const oat_parameter is = oat_likelihood_parameter(likelihood, i);
    const bool target = is.unit == OAT_UNIT_TARGET;
    out[i] = (oatgp_parameter){is.name, target ? "target" : "", own[i] * (target ? unit : 1)};
  }
}

oat_sparse oat_model_sparse(const oatgp_model *model) {
  return (oat_sparse){.cov = oat_covariance_at(model->kernel, model->d, model->theta),
                      .k = model->k,
                      .z = model->z,
                      .ldz = model->k,
                      .l = model->l,
                      .tau = model->theta[OAT_TAU],
                      .alpha = model->number[OAT_NUMBER_ALPHA],
                      .exact = !model->approx->sparse};
}

/* L L^T = K and the diagonal in c, by a device with the model's rows. */
static oatgp_status factorise_rows(oatgp_context *ctx, oatgp_model *model, const oat_covariance *cov, size_t *pivot) {
  const oat_device_config config = {.where = oat_where_of(ctx), .kernel = oat_kernel_size_of(model->kernel)};
  oat_rows *rows = NULL;
  oat_device *device = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_rows_from_points(ctx, (oat_points){model->z, model->k, model->k}, model->d, &rows));
  TRY(oat_device_open(ctx, &config, rows, &device));
  TRY(device->table->factor(device, cov, model->c, model->l, pivot));
done:
  oat_device_close(device);
  oat_rows_free(rows);
  return status;
}

/* L L^T = K + jitter + noise, c = L^-1 r */
static oatgp_status factorise_full(oatgp_context *ctx, oatgp_model *model) {
  const size_t n = model->k;
  const oat_covariance cov = oat_covariance_at(model->kernel, model->d, model->theta);
  const double jitter = oat_kernel_share(&cov, (oat_points){model->z, n, n}, model->number[OAT_NUMBER_JITTER]);
  size_t pivot = 0;
  for (size_t i = 0; i < n; i++) {
    model->c[i] = jitter + model->noise[i];
  }
  const oatgp_status status = factorise_rows(ctx, model, &cov, &pivot);
  if (pivot != 0) {
    return oat_fail(ctx, OATGP_NUMERIC, "the covariance of the %zu rows could not be factorised (pivot %zu)", n, pivot);
  }
  memcpy(model->c, model->r, n * sizeof *model->c);
  if (status == OATGP_OK) {
    oat_solve_left(model->l, n, OAT_PLAIN, (oat_view){model->c, n, 1, n}, oat_where_of(ctx).threads);
  }
  return status;
}

/* A hash of the model's contents and of the address of its rows, to tell models apart; never 0. */
static size_t mark_of(const oatgp_model *model) {
  uint64_t mark =
      oat_hash(OAT_HASH_START, model->theta, oat_theta_count(model->kernel, model->d) * sizeof *model->theta);
  mark = oat_hash(mark, model->c, model->k * sizeof *model->c);
  mark = oat_hash(mark, model->z, model->k * model->d * sizeof *model->z);
  mark = oat_hash(mark, model->kept.x, model->kept.n * model->d * sizeof *model->kept.x);
  return (size_t)(mark ^ (uintptr_t)model->residuals) | 1;
}

/* The rows that it keeps, as rows. */
static oatgp_status take_rows(oatgp_context *ctx, oatgp_model *model) {
  oatgp_status status = OATGP_OK;
  free_rows(model);
  TRY(oat_rows_from_kept(ctx, &model->kept, &model->scaling, model->p, &model->rows));
  TRY(oat_rows_less_mean(ctx, model->rows, model->coefficient, &model->residuals));
  model->mark = mark_of(model);
done:
  return status;
}

void oat_model_translate(oatgp_model *model) {
  const oat_units units = {model->number[OAT_NUMBER_Y_SCALE], model->d, model->scaling.scale};
  for (size_t j = 0; model->slopes != NULL && j < model->d; j++) {
    model->slopes[j] = model->number[OAT_NUMBER_Y_SCALE] * model->coefficient[1 + j] /
                       (model->scaling.spread[j] * model->scaling.scale[j]);
  }
  if (model->parameters != NULL) {
    oat_expression_show(model->kernel->expression, model->theta, &units, model->parameters);
  }
  if (model->likelihood != NULL) {
    const oat_response response = oat_model_response(model);
    oat_answer_show(response.likelihood, response.levels, response.parameters, units.target, model->own);
  }
}

void oat_model_take(const oat_objective *objective, const oat_point *point, oatgp_model *model) {
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
}

oatgp_status oat_model_finish(oatgp_context *ctx, oatgp_model *model) {
  oat_model_translate(model);
  PASS_ON(!model->approx->sparse ? factorise_full(ctx, model) : OATGP_OK);
  PASS_ON(model->neighbours > 0 ? take_rows(ctx, model) : OATGP_OK);
  return model->draw_count > 0 ? oat_model_make_members(ctx, model) : OATGP_OK;
}

oatgp_status oat_model_prior_mean(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, double *mean) {
  const double scale = model->number[OAT_NUMBER_Y_SCALE];
  const double constant = model->number[OAT_NUMBER_MEAN] + (model->p > 0 ? scale * model->coefficient[0] : 0);
  double *slope = NULL;
  oatgp_status status = OATGP_OK;
  if (model->p > 1) {
    TRY(oat_new_matrix(ctx, model->d, 1, &slope));
    for (size_t j = 0; j < model->d; j++) {
      slope[j] = scale * model->coefficient[1 + j] / model->scaling.spread[j];
    }
  }
  oat_rows_plane(rows, ctx->at_work, constant, slope, model->scaling.middle, mean);
done:
  free(slope);
  return status;
}
