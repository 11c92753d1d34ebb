/* Tables larger than memory, and rows that come later: streams, a CSV written in blocks of rows, update, leave-one-out.
 *
 * usage: 04_stream data/mcycle.csv MODEL */
#include <math.h>
#include <oatgp.h>
#include <stdio.h>

enum { ROWS_AT_A_TIME = 512 }; /* a multiple of 512: the same bits as all rows at once */

/* Reads, predicts and writes in blocks of rows, so that memory does not grow with the file. */
static oatgp_status predict_file(oatgp_context *ctx, const oatgp_model *model, const oatgp_settings *settings,
                                 const char *path, oatgp_csv *csv) {
  double mean[ROWS_AT_A_TIME], sd[ROWS_AT_A_TIME];
  const double *const columns[2] = {mean, sd};
  oatgp_stream *stream = NULL;
  oatgp_data *rows = NULL;
  oatgp_status status = oatgp_stream_open(ctx, path, model, settings, -1, &stream);
  do {
    oatgp_data_free(rows);
    rows = NULL;
    if (status == OATGP_OK) {
      status = oatgp_stream_next(ctx, stream, ROWS_AT_A_TIME, &rows); /* NULL when none is left */
    }
    if (status == OATGP_OK && rows != NULL) {
      const size_t n = oatgp_data_rows(rows);
      status = oatgp_predict(ctx, model, rows, &(oatgp_prediction){.mean = mean, .variance = sd});
      for (size_t i = 0; i < n; i++) {
        sd[i] = sqrt(sd[i]);
      }
      status = status == OATGP_OK ? oatgp_csv_append(ctx, csv, n, columns) : status;
    }
  } while (status == OATGP_OK && rows != NULL);
  oatgp_data_free(rows);
  oatgp_stream_free(stream);
  return status;
}

static oatgp_status write_predictions(oatgp_context *ctx, const oatgp_model *model, const oatgp_settings *settings,
                                      const char *path) {
  static const char *const names[2] = {"mean", "sd"};
  oatgp_csv *csv = NULL;
  oatgp_status status = oatgp_csv_open(ctx, "/dev/null", 2, names, &csv);
  if (status == OATGP_OK) {
    status = predict_file(ctx, model, settings, path, csv);
    const oatgp_status closed = oatgp_csv_close(ctx, csv, status == OATGP_OK); /* the file appears now, or never */
    status = status == OATGP_OK ? closed : status;
  }
  return status;
}

/* The first half of the rows is fitted, the other half comes later. */
static oatgp_status fit_and_update(oatgp_context *ctx, const oatgp_settings *settings, const oatgp_data *all,
                                   oatgp_model **model) {
  size_t first[1000], second[1000], half = oatgp_data_rows(all) / 2;
  oatgp_data *before = NULL, *after = NULL;
  for (size_t i = 0; i < half; i++) {
    first[i] = 2 * i;
    second[i] = 2 * i + 1;
  }
  oatgp_status status = oatgp_data_select(ctx, all, half, first, &before);
  if (status == OATGP_OK) {
    status = oatgp_data_select(ctx, all, half, second, &after);
  }
  if (status == OATGP_OK) {
    status = oatgp_fit(ctx, before, settings, NULL, NULL, NULL, model);
  }
  if (status == OATGP_OK) {
    status = oatgp_update(ctx, *model, after); /* the model of all rows at these parameters and knots */
  }
  oatgp_data_free(before);
  oatgp_data_free(after);
  return status;
}

static oatgp_status run(oatgp_context *ctx, char **paths) {
  oatgp_settings settings;
  oatgp_data *data = NULL;
  oatgp_model *model = NULL, *again = NULL;
  oatgp_model_info info;
  oatgp_settings_default(&settings);
  settings.target = "accel";
  settings.select = "simultaneous";
  settings.knots = "12";
  oatgp_status status = oatgp_data_read(ctx, paths[0], &settings, &data);
  if (status == OATGP_OK) {
    status = fit_and_update(ctx, &settings, data, &model);
  }
  if (status == OATGP_OK) {
    status = oatgp_model_save(ctx, model, paths[1]);
  }
  if (status == OATGP_OK) {
    status = oatgp_model_load(ctx, paths[1], &again); /* predicts bit for bit like the saved model */
  }
  if (status == OATGP_OK) {
    oatgp_model_get_info(again, &info);
    printf("%zu rows, %zu knots\n", info.n, info.knots);
    status = write_predictions(ctx, again, &settings, paths[0]);
  }
  oatgp_model_free(again);
  oatgp_model_free(model);
  oatgp_data_free(data);
  return status;
}

int main(int argc, char **argv) {
  oatgp_context *ctx = oatgp_context_create();
  const oatgp_status status = ctx != NULL && argc > 2 ? run(ctx, argv + 1) : OATGP_ARGUMENT;
  if (status != OATGP_OK) {
    fprintf(stderr, "%s\n", ctx != NULL && argc > 2 ? oatgp_last_error(ctx) : "usage: 04_stream DATA.csv MODEL");
  }
  oatgp_context_free(ctx);
  return status == OATGP_OK ? 0 : 1;
}
