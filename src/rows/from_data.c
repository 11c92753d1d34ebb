/* Rows from data: inputs scaled, the target about its prior mean, the mean's basis, each row's noise. */
#include <float.h>
#include <math.h>

#include "rows/layout.h"

/* A finite input may leave the range of a number when it is scaled. It is then as far from all others as a number can
 * be; but a linear mean has no value there. */
static oatgp_status bound_inputs(oatgp_context *ctx, const oatgp_data *data, const oat_scaling *scaling, const size_t *column, size_t p,
                                 double *x) {
  for (size_t i = 0; i < data->n * scaling->d; i++) {
    if (!isfinite(x[i]) && p <= 1) {
      x[i] = copysign(DBL_MAX, x[i]);
    } else if (!isfinite(x[i])) {
      const size_t row = i % data->n, j = i / data->n;
      const oat_column input = oat_data_input(data, column[j]);
      return oat_fail(ctx, OATGP_DATA, "input '%s' of row %zu is %g, which is too far from the fit's values of about %g for a linear mean",
                      data->names[column[j]], data->before + row + 1, input.a[row * input.step], scaling->centre[j]);
    }
  }
  return OATGP_OK;
}

static void fill_targets(const oatgp_data *data, const oat_scaling *scaling, oat_target target, const oat_rows *rows) {
  const size_t n = rows->n;
  double *r = oat_writable(rows, rows->r);
  for (size_t i = 0; i < n; i++) {
    r[i] = (data->y[i] - target.mean) / target.scale;
  }
  for (size_t j = 0; j < rows->p; j++) {
    for (size_t i = 0; i < n; i++) {
      r[i + (1 + j) * n] = j == 0 ? 1 : (rows->x[i + (j - 1) * n] - scaling->middle[j - 1]) / scaling->spread[j - 1];
    }
  }
}

static void fill_noise(const oatgp_data *data, oat_target target, const oat_rows *rows) {
  double *scale = oat_writable(rows, rows->noise_scale), *add = oat_writable(rows, rows->noise_add);
  for (size_t i = 0; scale != NULL && i < rows->n; i++) {
    scale[i] = 1 / data->weight[i];
  }
  for (size_t i = 0; add != NULL && i < rows->n; i++) {
    add[i] = data->noise[i] / target.scale / target.scale;
  }
}

oatgp_status oat_rows_from_data(oatgp_context *ctx, const oatgp_data *data, const oat_scaling *scaling, const size_t *column,
                                const oat_target *target, size_t p, oat_rows **out) {
  oat_rows shape = {.n = data->n, .d = scaling->d, .p = p};
  if (target != NULL) {
    shape.r = data->y;
    shape.noise_scale = data->weight;
    shape.noise_add = data->noise;
  }
  oat_rows *rows = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_rows_allocate(ctx, &shape, &rows));
  oat_scaling_apply(scaling, column, data, oat_writable(rows, rows->x));
  TRY(bound_inputs(ctx, data, scaling, column, p, oat_writable(rows, rows->x)));
  if (target != NULL) {
    fill_targets(data, scaling, *target, rows);
    fill_noise(data, *target, rows);
  }
  *out = rows;
  return OATGP_OK;
done:
  oat_rows_free(rows);
  return status;
}
