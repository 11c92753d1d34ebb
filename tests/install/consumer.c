/* A program that uses an installed oatgp: fits 20 points of a sine, saves, loads, predicts. Prints the version. */
#include <math.h>
#include <oatgp.h>
#include <stdio.h>

enum { ROWS = 20 };

static int fit(oatgp_context *ctx, const oatgp_data *data, const char *path) {
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  settings.knots = "5";
  settings.max_iter = 50;
  oatgp_model *model = NULL;
  const int failed = oatgp_fit(ctx, data, &settings, NULL, NULL, NULL, &model) != OATGP_OK ||
                     oatgp_model_save(ctx, model, path) != OATGP_OK;
  oatgp_model_free(model);
  return failed;
}

static int predict(oatgp_context *ctx, const oatgp_data *data, const char *path, const double *y) {
  double mean[ROWS], variance[ROWS];
  const oatgp_prediction prediction = {.mean = mean, .variance_latent = NULL, .variance = variance};
  oatgp_model *model = NULL;
  int failed =
      oatgp_model_load(ctx, path, &model) != OATGP_OK || oatgp_predict(ctx, model, data, &prediction) != OATGP_OK;
  for (int i = 0; i < ROWS && !failed; i++) {
    failed = !(fabs(mean[i] - y[i]) < 0.2 && variance[i] > 0);
  }
  oatgp_model_free(model);
  return failed;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: consumer MODEL\n");
    return 2;
  }
  double x[ROWS], y[ROWS];
  for (int i = 0; i < ROWS; i++) {
    x[i] = 0.3 * i;
    y[i] = sin(x[i]);
  }
  oatgp_context *ctx = oatgp_context_create();
  oatgp_data *data = NULL;
  const int failed = ctx == NULL || oatgp_data_create(ctx, ROWS, 1, x, y, &data) != OATGP_OK ||
                     fit(ctx, data, argv[1]) || predict(ctx, data, argv[1], y);
  if (failed) {
    fprintf(stderr, "failed: %s\n", ctx != NULL ? oatgp_last_error(ctx) : "no context");
  } else {
    printf("%s\n", oatgp_version());
  }
  oatgp_data_free(data);
  oatgp_context_free(ctx);
  return failed;
}
