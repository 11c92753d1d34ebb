/* Scaling of the inputs. */
#include "data/scaling.h"

#include <math.h>
#include <stdlib.h>

#include "util/memory.h"

/* A power of two near the largest value, by which all are divided exactly. */
static double size_of(size_t n, oat_column x) {
  double largest = 0;
  int exponent = 0;
  for (size_t i = 0; i < n; i++) {
    largest = fmax(largest, fabs(x.a[i * x.step]));
  }
  frexp(largest, &exponent);
  return ldexp(1, exponent > -1000 ? exponent - 1 : -1000);
}

void oat_mean_sd(size_t n, oat_column x, double *mean, double *sd) {
  const double size = size_of(n, x);
  double sum = 0, rest = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    sum += x.a[i * x.step] / size;
  }
  const double first = sum / (double)n;
  for (size_t i = 0; i < n; i++) {
    const double deviation = x.a[i * x.step] / size - first;
    rest += deviation;
    squares += deviation * deviation;
  }
  const double correction = rest / (double)n;
  *mean = (first + correction) * size;
  *sd = n > 1 ? sqrt(fmax(squares - rest * correction, 0) / (double)(n - 1)) * size : 0;
}

void oat_scaling_clear(oat_scaling *scaling) {
  free(scaling->column);
  double *const arrays[] = {scaling->centre, scaling->scale, scaling->middle, scaling->spread, scaling->lowest, scaling->highest};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
  *scaling = (oat_scaling){0};
}

static oatgp_status allocate(oatgp_context *ctx, size_t d, oat_scaling *scaling) {
  double **const arrays[] = {&scaling->centre, &scaling->scale, &scaling->middle, &scaling->spread, &scaling->lowest, &scaling->highest};
  PASS_ON(oat_new(ctx, d, sizeof *scaling->column, &scaling->column));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    PASS_ON(oat_new_matrix(ctx, d, 1, arrays[i]));
  }
  return OATGP_OK;
}

/* Adds input j to those that are kept, unless it is constant. */
static bool add_input(const oatgp_data *data, size_t j, bool standardise, oat_scaling *scaling) {
  const oat_column x = oat_data_input(data, j);
  double lowest = x.a[0], highest = x.a[0], mean, sd;
  for (size_t i = 1; i < data->n; i++) {
    lowest = fmin(lowest, x.a[i * x.step]);
    highest = fmax(highest, x.a[i * x.step]);
  }
  oat_mean_sd(data->n, x, &mean, &sd);
  if (lowest == highest || !(sd > 0)) {
    return false;
  }
  const size_t at = scaling->d++;
  const double centre = standardise ? mean : 0, scale = standardise ? sd : 1;
  scaling->column[at] = j;
  scaling->centre[at] = centre;
  scaling->scale[at] = scale;
  scaling->middle[at] = standardise ? 0 : mean;
  scaling->spread[at] = standardise ? 1 : sd;
  scaling->lowest[at] = (lowest - centre) / scale;
  scaling->highest[at] = (highest - centre) / scale;
  return true;
}

oatgp_status oat_scaling_make(oatgp_context *ctx, const oatgp_data *data, bool standardise, oat_scaling *out) {
  oat_scaling scaling = {0};
  oatgp_status status = OATGP_OK;
  TRY(allocate(ctx, data->d, &scaling));
  for (size_t j = 0; j < data->d; j++) {
    if (!add_input(data, j, standardise, &scaling)) {
      oat_say(ctx, OATGP_NOTE, "input '%s' is constant and is left out", data->names[j]);
    }
  }
  if (scaling.d == 0) {
    status = oat_fail(ctx, OATGP_DATA, "no input varies over the %zu rows: there is nothing to predict from", data->n);
  }
done:
  if (status != OATGP_OK) {
    oat_scaling_clear(&scaling);
  }
  *out = scaling;
  return status;
}

void oat_scaling_apply(const oat_scaling *scaling, const size_t *column, const oatgp_data *data, double *out) {
  for (size_t j = 0; j < scaling->d; j++) {
    const oat_column x = oat_data_input(data, column != NULL ? column[j] : j);
    for (size_t i = 0; i < data->n; i++) {
      out[i + j * data->n] = (x.a[i * x.step] - scaling->centre[j]) / scaling->scale[j];
    }
  }
}
