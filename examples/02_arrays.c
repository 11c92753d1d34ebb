/* Arrays in, arrays out: rows from memory with weights, an interval for each new place, joint draws of the function.
 *
 * Here the rows come from a file, so that the example has something to show; they could come from anywhere. usage:
 * 02_arrays data/mcycle.csv */
#include <math.h>
#include <oatgp.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROWS = 1000, PLACES = 3, DRAWS = 500 };

/* times, accel: a header and two columns. */
static size_t read_rows(const char *path, double *x, double *y) {
  FILE *file = fopen(path, "r");
  size_t n = 0;
  if (file != NULL && fscanf(file, "%*s") != EOF) {
    while (n < MOST_ROWS && fscanf(file, "%lf,%lf", &x[n], &y[n]) == 2) {
      n++;
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  return n;
}

/* Matrices are row-major: with d inputs the inputs of row i are x[i * d] .. x[i * d + d - 1]. */
static oatgp_status fit_arrays(oatgp_context *ctx, size_t n, const double *x, const double *y, const double *weights,
                               oatgp_model **model) {
  oatgp_data *data = NULL;
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  settings.kernel = "matern52";
  settings.select = "simultaneous";
  settings.knots = "20";
  oatgp_status status = oatgp_data_create(ctx, n, 1, x, y, &data);
  if (status == OATGP_OK) {
    status = oatgp_data_set_weights(ctx, data, weights); /* noise variance tau^2 / weight */
  }
  if (status == OATGP_OK) {
    status = oatgp_fit(ctx, data, &settings, NULL, NULL, NULL, model);
  }
  oatgp_data_free(data); /* the model does not need it */
  return status;
}

static oatgp_status show_intervals(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *places) {
  double mean[PLACES], variance[PLACES];
  const double width = oatgp_normal_quantile(0.95);
  const oatgp_prediction prediction = {
      .mean = mean, .variance_latent = NULL, .variance = variance}; /* NULL: not wanted */
  const oatgp_status status = oatgp_predict(ctx, model, places, &prediction);
  for (int i = 0; i < PLACES && status == OATGP_OK; i++) {
    printf("place %d: %.2f to %.2f with probability 0.9\n", i + 1, mean[i] - width * sqrt(variance[i]),
           mean[i] + width * sqrt(variance[i]));
  }
  return status;
}

/* Joint draws answer what intervals cannot: how probable is it that the function rises from place 1 to place 2? */
static oatgp_status show_draws(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *places) {
  double draws[DRAWS * PLACES];
  const oatgp_status status = oatgp_predict_samples(ctx, model, places, DRAWS, 1, draws);
  int rises = 0;
  for (int s = 0; s < DRAWS && status == OATGP_OK; s++) {
    rises += draws[s * PLACES + 1] > draws[s * PLACES];
  }
  if (status == OATGP_OK) {
    printf("rises from place 1 to 2: %s\n", rises > DRAWS / 2 ? "probably" : "probably not");
  }
  return status;
}

static oatgp_status run(oatgp_context *ctx, const char *path) {
  static double x[MOST_ROWS], y[MOST_ROWS], weights[MOST_ROWS];
  const double at[PLACES] = {15, 21, 33};
  const size_t n = read_rows(path, x, y);
  for (size_t i = 0; i < n; i++) {
    weights[i] = x[i] < 13 ? 100 : 1; /* before the crash the measurements are a hundred times as precise */
  }
  oatgp_model *model = NULL;
  oatgp_data *places = NULL;
  oatgp_status status = fit_arrays(ctx, n, x, y, weights, &model);
  if (status == OATGP_OK) {
    status = oatgp_data_create(ctx, PLACES, 1, at, NULL, &places);
  }
  if (status == OATGP_OK) {
    status = show_intervals(ctx, model, places);
  }
  if (status == OATGP_OK) {
    status = show_draws(ctx, model, places);
  }
  oatgp_data_free(places); /* every _free takes NULL */
  oatgp_model_free(model);
  return status;
}

int main(int argc, char **argv) {
  oatgp_context *ctx = oatgp_context_create();
  const oatgp_status status = ctx != NULL && argc > 1 ? run(ctx, argv[1]) : OATGP_ARGUMENT;
  if (status != OATGP_OK) {
    fprintf(stderr, "%s\n", ctx != NULL && argc > 1 ? oatgp_last_error(ctx) : "usage: 02_arrays DATA.csv");
  }
  oatgp_context_free(ctx);
  return status == OATGP_OK ? 0 : 1;
}
