/* Data prepared for a fitted model. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tables/columns.h"
#include "text/shown.h"

/* ---- where the model's inputs are in the data ------------------------------------------------------------------ */

/* Finds each input by its name, in O(d log d). *missing is the first that is not there, or d. */
static oatgp_status find_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t *column,
                                size_t *missing) {
  oat_named *sorted = NULL;
  const oatgp_status status = oat_new(ctx, data->d, sizeof *sorted, &sorted);
  if (status != OATGP_OK) {
    return status;
  }
  for (size_t j = 0; j < data->d; j++) {
    sorted[j] = (oat_named){data->names[j], j};
  }
  oat_named_sort(sorted, data->d);
  *missing = model->d;
  for (size_t j = model->d; j-- > 0;) {
    *missing = oat_named_find(sorted, data->d, model->names[j], &column[j]) == 0 ? j : *missing;
  }
  free(sorted);
  return OATGP_OK;
}

static oatgp_status not_found(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t missing) {
  oat_list present = {{0}, 0, 0, 0};
  for (size_t j = 0; j < data->d; j++) {
    oat_list_add(&present, data->names[j]);
  }
  return oat_fail(
      ctx, OATGP_DATA,
      "the data have no input '%s', which the model needs; they have %s; rename the columns as in the model",
      oat_show_text(model->names[missing]).text, oat_list_end(&present));
}

/* Inputs are matched by the names that the user gave. If the data or the model have none, their automatic names x1, x2,
 * ... decide if a constant input was left out of the model, and the order decides otherwise. */
oatgp_status oat_model_match_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    size_t *column) {
  const bool model_named = model->number[OAT_NUMBER_HEADER] != 0, same_number = data->d == model->d;
  const bool by_place = model_named && !data->header && same_number;
  size_t missing = 0;
  const oatgp_status status = find_inputs(ctx, model, data, column, &missing);
  if (status != OATGP_OK || (missing == model->d && !by_place)) {
    return status;
  }
  if (model_named && data->header) {
    return not_found(ctx, model, data, missing);
  }
  if (!same_number) {
    return oat_fail(ctx, OATGP_DATA, "the data have %zu inputs, none of them '%s'; the model has %zu", data->d,
                    model->names[missing], model->d);
  }
  for (size_t j = 0; j < model->d; j++) {
    column[j] = j;
  }
  return OATGP_OK;
}

/* ---- levels ---------------------------------------------------------------------------------------------------- */

/* The model's input j is in this column of the data: both are categories, or none is. */
static oatgp_status check_kind(oatgp_context *ctx, const oatgp_model *model, size_t j, const oatgp_data *data,
                               size_t column) {
  const bool category = model->scaling.category[j], levels = oat_data_levels(data, column) != NULL;
  REFUSE_IF(category && !levels, ctx, OATGP_DATA,
            "input '%s' is a category in the model, but holds plain numbers in the data",
            oat_show_text(model->names[j]).text);
  REFUSE_IF(!category && levels, ctx, OATGP_DATA,
            "input '%s' holds numbers in the model, but is a category in the data",
            oat_show_text(model->names[j]).text);
  return OATGP_OK;
}

/* Adds the levels of the data to those of the model; to[code] is the new code of a code. */
static oatgp_status join_levels(oatgp_context *ctx, const oat_levels *from, oat_levels *levels, double *to) {
  for (size_t i = 0; i < from->count; i++) {
    size_t code = OAT_NO_LEVEL;
    PASS_ON(oat_levels_take(ctx, levels, from->name[i], strlen(from->name[i]), &code));
    to[i] = (double)(code != OAT_NO_LEVEL ? code : OAT_MOST_LEVELS);
  }
  return OATGP_OK;
}

/* Rows whose level comes after the first `known`. */
static size_t count_unseen(const oatgp_data *data, size_t column, const double *to, size_t known) {
  const oat_column x = oat_data_input(data, column);
  size_t rows = 0;
  for (size_t i = 0; i < data->n; i++) {
    rows += to[(size_t)x.a[i * x.step]] >= (double)known;
  }
  return rows;
}

static oatgp_status recode_input(oatgp_context *ctx, const oatgp_model *model, size_t j, const oatgp_data *data,
                                 size_t column, double **out) {
  const oat_levels *from = oat_data_levels(data, column);
  oat_levels levels = {0};
  double *to = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_levels_copy(ctx, &model->levels[j], &levels));
  TRY(oat_new_matrix(ctx, from->count, 1, &to));
  TRY(join_levels(ctx, from, &levels, to));
  const oat_unseen unseen = {model->names[j], &levels, model->levels[j].count,
                             count_unseen(data, column, to, model->levels[j].count)};
  if (unseen.rows > 0 && !data->told) {
    oat_levels_tell(ctx, &unseen);
  }
  *out = to;
  to = NULL;
done:
  free(to);
  oat_levels_clear(&levels);
  return status;
}

void oat_model_recode_free(double **recode, size_t d) {
  for (size_t j = 0; recode != NULL && j < d; j++) {
    free(recode[j]);
  }
  free(recode);
}

oatgp_status oat_model_recode(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                              const size_t *column, double ***out) {
  double **recode = NULL;
  oatgp_status status = OATGP_OK;
  *out = NULL;
  for (size_t j = 0; j < model->d; j++) {
    PASS_ON(check_kind(ctx, model, j, data, column[j]));
  }
  if (model->levels == NULL) {
    return OATGP_OK;
  }
  TRY(oat_new(ctx, model->d, sizeof *recode, &recode));
  for (size_t j = 0; j < model->d; j++) {
    TRY(model->scaling.category[j] ? recode_input(ctx, model, j, data, column[j], &recode[j]) : OATGP_OK);
  }
  *out = recode;
  recode = NULL;
done:
  oat_model_recode_free(recode, model->d);
  return status;
}

oatgp_status oat_model_levels_with(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                   oat_levels **out) {
  oat_levels *levels = NULL;
  size_t *column = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_levels_copy_list(ctx, model->levels, model->d, &levels));
  TRY(oat_new(ctx, model->d, sizeof *column, &column));
  TRY(oat_model_match_inputs(ctx, model, data, column));
  for (size_t j = 0; levels != NULL && j < model->d; j++) {
    const oat_levels *from = oat_data_levels(data, column[j]);
    size_t code;
    for (size_t i = 0; from != NULL && i < from->count; i++) {
      TRY(oat_levels_take(ctx, &levels[j], from->name[i], strlen(from->name[i]), &code));
    }
  }
  *out = levels;
  levels = NULL;
done:
  free(column);
  oat_levels_free_list(levels, model->d);
  return status;
}

oatgp_status oat_model_match_target(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data) {
  const oat_levels *have = &data->target_levels, *know = &model->target_levels;
  const bool same_number = have->count == know->count;
  REFUSE_IF(have->count > 0 && know->count == 0, ctx, OATGP_DATA,
            "the target has classes in the data, but holds numbers in the model");
  for (size_t i = 0; i < have->count; i++) {
    REFUSE_IF(!same_number || strcmp(have->name[i], know->name[i]) != 0, ctx, OATGP_DATA,
              "the target's classes differ from the model's: class %zu of %zu is '%s' in the data; the model has %zu "
              "classes, the first of them '%s'; read the data for this model (oatgp_data_read_for)",
              i + 1, have->count, oat_show_text(have->name[i]).text, know->count, oat_show_text(know->name[0]).text);
  }
  return OATGP_OK;
}

oatgp_status oat_check_answers(oatgp_context *ctx, const oat_likelihood *likelihood, size_t levels,
                               const oatgp_data *data) {
  REFUSE_IF(likelihood != NULL && data->y == NULL, ctx, OATGP_ARGUMENT,
            "likelihood %s needs the targets in memory, and these rows stay in their file; read them with "
            "--likelihood=%s, or raise --memory",
            likelihood->name, likelihood->name);
  for (size_t i = 0; likelihood != NULL && i < data->n; i++) {
    const double trials = data->trials != NULL ? data->trials[i] : 1;
    REFUSE_IF(!oat_answer_valid(likelihood, levels, data->y[i], trials), ctx, OATGP_DATA,
              "target '%s' of row %zu is %g, but likelihood %s needs %s", data->target != NULL ? data->target : "y",
              data->before + i + 1, data->y[i], likelihood->name, likelihood->wanted);
  }
  return OATGP_OK;
}

oatgp_status oat_check_columns(oatgp_context *ctx, const oat_likelihood *likelihood, const oatgp_data *data) {
  const char *name = likelihood != NULL ? likelihood->name : "gaussian";
  const bool has_trials = likelihood != NULL && likelihood->has_trials;
  const bool takes_exposure = likelihood != NULL && likelihood->takes_exposure;
  REFUSE_IF(!has_trials && oat_data_has(data, OAT_OTHER_TRIALS), ctx, OATGP_ARGUMENT,
            "likelihood %s has no trials, only binomial-logit does; leave out --trials", name);
  REFUSE_IF(!takes_exposure && oat_data_has(data, OAT_OTHER_EXPOSURE), ctx, OATGP_ARGUMENT,
            "likelihood %s has no exposure, only poisson, negative-binomial and gamma do; leave out --exposure", name);
  return OATGP_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static oatgp_status make_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                              const oat_target *target, oat_rows **out) {
  size_t *column = NULL;
  double **recode = NULL;
  oatgp_status status = OATGP_OK;
  PASS_ON(oat_check_columns(ctx, model->likelihood, data));
  TRY(oat_new(ctx, model->d, sizeof *column, &column));
  TRY(oat_model_match_inputs(ctx, model, data, column));
  TRY(oat_model_recode(ctx, model, data, column, &recode));
  const oat_seen_as as = {&model->scaling, column, recode, target, model->p, model->likelihood != NULL};
  TRY(oat_rows_from_data(ctx, data, &as, out));
done:
  oat_model_recode_free(recode, model->d);
  free(column);
  return status;
}

oatgp_status oat_model_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out) {
  PASS_ON(oat_data_need_memory(ctx, data, "predicting all rows at once"));
  return make_rows(ctx, model, data, NULL, out);
}

oatgp_status oat_model_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out) {
  const oat_target target = {model->number[OAT_NUMBER_MEAN], model->number[OAT_NUMBER_Y_SCALE]};
  PASS_ON(oat_model_match_target(ctx, model, data));
  PASS_ON(oat_check_answers(ctx, model->likelihood, oat_model_answer_levels(model), data));
  return make_rows(ctx, model, data, &target, out);
}

/* ---- points in the units of the data --------------------------------------------------------------------------- */

/* Levels of the model, and for its categories the nearest codes that it has. */
static oatgp_status take_levels(oatgp_context *ctx, const oatgp_model *model, oatgp_data *data) {
  double *const x = data->own_x;
  PASS_ON(oat_levels_copy_list(ctx, model->levels, model->d, &data->levels));
  for (size_t j = 0; j < model->d; j++) {
    const double most = model->scaling.category[j] ? (double)(model->levels[j].count - 1) : HUGE_VAL;
    for (size_t i = j * data->n; model->scaling.category[j] && i < (j + 1) * data->n; i++) {
      x[i] = fmin(fmax(floor(x[i] + 0.5), 0), most);
    }
  }
  return OATGP_OK;
}

oatgp_status oat_model_points(oatgp_context *ctx, const oatgp_model *model, size_t n, const double *x,
                              oatgp_data **out) {
  const oatgp_view view = {n, model->d, x, NULL, 1, n};
  oatgp_data *data = NULL;
  oatgp_status status;
  TRY(oatgp_data_borrow(ctx, &view, &data));
  TRY(oatgp_data_set_names(ctx, data, (const char *const *)model->names, NULL));
  if (model->levels != NULL) {
    TRY(oat_data_own_inputs(ctx, data));
    memcpy(data->own_x, x, n * model->d * sizeof *x);
    TRY(take_levels(ctx, model, data));
  }
  *out = data;
  data = NULL;
done:
  oatgp_data_free(data);
  return status;
}
