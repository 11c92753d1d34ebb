/* Data as a fitted model sees them. */
#include "model/model.h"

#include <stdlib.h>

#include "tables/columns.h"
#include "text/shown.h"

/* ---- where the model's inputs are in the data ---------------------------------------------------------------------- */

/* Finds each input by its name, in O(d log d). *missing is the first that is not there, or d. */
static oatgp_status find_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t *column, size_t *missing) {
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
  return oat_fail(ctx, OATGP_DATA,
                  "the data have no input '%s', which the model needs; they have %s; give them the names of the model's "
                  "inputs",
                  oat_show_text(model->names[missing]).text, oat_list_end(&present));
}

/* Names that somebody gave decide. Where the data or the model have none, their automatic names x1, x2, ... say which
 * input was meant when a constant one was left out of the model, and the order says it otherwise. */
oatgp_status oat_model_match_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t *column) {
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
    return oat_fail(ctx, OATGP_DATA, "the data have %zu inputs, none of them '%s', and the model has %zu", data->d, model->names[missing],
                    model->d);
  }
  for (size_t j = 0; j < model->d; j++) {
    column[j] = j;
  }
  return OATGP_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------------------------- */

static oatgp_status make_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oat_target *target,
                              oat_rows **out) {
  size_t *column = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, model->d, sizeof *column, &column));
  TRY(oat_model_match_inputs(ctx, model, data, column));
  TRY(oat_rows_from_data(ctx, data, &model->scaling, column, target, model->p, out));
done:
  free(column);
  return status;
}

oatgp_status oat_model_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out) {
  return make_rows(ctx, model, data, NULL, out);
}

oatgp_status oat_model_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out) {
  const oat_target target = {model->number[OAT_NUMBER_MEAN], model->number[OAT_NUMBER_Y_SCALE]};
  return make_rows(ctx, model, data, &target, out);
}
