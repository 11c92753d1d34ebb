/* Fit, predict, save: the library in one page.
 *
 * Reads a table, fits a sparse Gaussian process with 15 knots to it, predicts at five new places, and keeps the model.
 * usage: 01_fit_predict data/mcycle.csv mcycle.model */
#include <math.h>
#include <oatgp.h>
#include <stdio.h>

enum { PLACES = 5 };

/* Every call that can fail returns a status; the context holds the error message. */
static int give_up(const oatgp_context *ctx) {
  fprintf(stderr, "%s\n", oatgp_last_error(ctx));
  return 1;
}

static void describe(const oatgp_model *model) {
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  printf("%s with %s kernel, %zu rows, %zu knots\n", info.approx, info.kernel, info.n, info.knots);
  printf("objective %.2f\n", info.objective);
  printf("noise sd %.2f\n", info.tau);
}

static int predict(oatgp_context *ctx, const oatgp_model *model) {
  const double times[PLACES] = {10, 20, 30, 40, 50};
  double mean[PLACES], variance[PLACES];
  const oatgp_prediction prediction = {.mean = mean, .variance_latent = NULL, .variance = variance};
  oatgp_data *places = NULL;
  if (oatgp_data_create(ctx, PLACES, 1, times, NULL, &places) != OATGP_OK) {
    return give_up(ctx);
  }
  const oatgp_status status = oatgp_predict(ctx, model, places, &prediction);
  oatgp_data_free(places);
  if (status != OATGP_OK) {
    return give_up(ctx);
  }
  printf("times mean sd\n");
  for (int i = 0; i < PLACES; i++) {
    printf("%.0f %.1f %.1f\n", times[i], mean[i], sqrt(variance[i]));
  }
  return 0;
}

/* main owns everything in the arguments and frees it. */
static int run(oatgp_context *ctx, char **paths, oatgp_data **data, oatgp_model **model) {
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  settings.target = "accel"; /* the other columns are the inputs */
  settings.knots = "kmeans:15";
  if (oatgp_data_read(ctx, paths[0], &settings, data) != OATGP_OK) {
    return give_up(ctx);
  }
  if (oatgp_fit(ctx, *data, &settings, NULL, NULL, NULL, model) != OATGP_OK) {
    return give_up(ctx);
  }
  describe(*model);
  if (oatgp_model_save(ctx, *model, paths[1]) != OATGP_OK) {
    return give_up(ctx);
  }
  return predict(ctx, *model);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: 01_fit_predict DATA.csv MODEL\n");
    return 2;
  }
  oatgp_context *ctx = oatgp_context_create();
  if (ctx == NULL) {
    fprintf(stderr, "out of memory\n");
    return 1;
  }
  oatgp_data *data = NULL;
  oatgp_model *model = NULL;
  const int code = run(ctx, argv + 1, &data, &model);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_context_free(ctx);
  return code;
}
