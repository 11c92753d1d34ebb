/* Data as a fitted model sees them. */
#include "model/rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tables/columns.h"
#include "text/shown.h"
#include "util/memory.h"

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

/* A finite input may leave the range of a number when it is scaled. It is then as far from the knots as a number can be; but a linear mean
 * has no value there. */
static oatgp_status bound_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const size_t *column, double *x) {
  for (size_t i = 0; i < data->n * model->d; i++) {
    if (!isfinite(x[i]) && model->p <= 1) {
      x[i] = copysign(DBL_MAX, x[i]);
    } else if (!isfinite(x[i])) {
      const size_t row = i % data->n, j = i / data->n;
      const oat_column input = oat_data_input(data, column[j]);
      return oat_fail(ctx, OATGP_DATA, "input '%s' of row %zu is %g, which is too far from the fit's values of about %g for a linear mean",
                      model->names[j], data->before + row + 1, input.a[row * input.step], model->scaling.centre[j]);
    }
  }
  return OATGP_OK;
}

oatgp_status oat_model_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double **x) {
  size_t *column = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, model->d, sizeof *column, &column));
  TRY(oat_model_match_inputs(ctx, model, data, column));
  TRY(oat_new_matrix(ctx, data->n, model->d, x));
  oat_scaling_apply(&model->scaling, column, data, *x);
  TRY(bound_inputs(ctx, model, data, column, *x));
done:
  if (status != OATGP_OK) {
    free(*x);
    *x = NULL;
  }
  free(column);
  return status;
}

/* ---- target and noise ---------------------------------------------------------------------------------------------- */

void oat_fill_targets(const oatgp_data *data, const oat_scaling *scaling, oat_target target, const oat_model_rows *out) {
  const size_t n = data->n;
  for (size_t i = 0; i < n; i++) {
    out->r[i] = (data->y[i] - target.mean) / target.scale;
  }
  for (size_t j = 0; j < out->rows.p; j++) {
    for (size_t i = 0; i < n; i++) {
      out->r[i + (1 + j) * n] = j == 0 ? 1 : (out->x[i + (j - 1) * n] - scaling->middle[j - 1]) / scaling->spread[j - 1];
    }
  }
  for (size_t i = 0; out->noise_scale != NULL && i < n; i++) {
    out->noise_scale[i] = 1 / data->weight[i];
  }
  for (size_t i = 0; out->noise_add != NULL && i < n; i++) {
    out->noise_add[i] = data->noise[i] / target.scale / target.scale;
  }
}

oatgp_status oat_model_rows_make(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_model_rows *out) {
  oatgp_status status = OATGP_OK;
  *out = (oat_model_rows){0};
  TRY(oat_model_inputs(ctx, model, data, &out->x));
  TRY(oat_new_matrix(ctx, data->n, 1 + model->p, &out->r));
  if (data->weight != NULL) {
    TRY(oat_new_matrix(ctx, data->n, 1, &out->noise_scale));
  }
  if (data->noise != NULL) {
    TRY(oat_new_matrix(ctx, data->n, 1, &out->noise_add));
  }
  out->rows = (oat_rows){data->n, model->d, model->p, out->x, out->r, out->noise_scale, out->noise_add};
  oat_fill_targets(data, &model->scaling, (oat_target){model->number[OAT_NUMBER_MEAN], model->number[OAT_NUMBER_Y_SCALE]}, out);
done:
  if (status != OATGP_OK) {
    oat_model_rows_clear(out);
  }
  return status;
}

void oat_model_rows_clear(oat_model_rows *rows) {
  free(rows->x);
  free(rows->r);
  free(rows->noise_scale);
  free(rows->noise_add);
  *rows = (oat_model_rows){0};
}
