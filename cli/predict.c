/* oatgp predict: mean, standard deviations and an interval for each row, and joint draws and covariance if asked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define FIXED_COLUMNS 5
#define MOST_SAMPLES 1000000
#define NAME_SIZE 32

enum column { MEAN, SD_LATENT, SD, LOWER, UPPER };

/* The table that is written, column after column in one block. */
typedef struct table {
  size_t rows, samples, columns;
  double *block;
  double **values;
  char (*sample_names)[NAME_SIZE];
  const char **names;
} table;

/* What --interval and --samples say. */
typedef struct wishes {
  double interval;
  size_t samples;
} wishes;

static oatgp_status read_wishes(cli *c, wishes *out) {
  double samples = 0;
  if (!cli_parse_number(c->options.interval, &out->interval) || !(out->interval > 0 && out->interval < 1)) {
    return cli_usage_error(c, "--interval is '%s' but must be a number above 0 and below 1", c->options.interval);
  }
  if (!cli_parse_number(c->options.samples, &samples) || !(samples >= 0 && samples <= MOST_SAMPLES) || floor(samples) != samples) {
    return cli_usage_error(c, "--samples is '%s' but must be a whole number from 0 to %d", c->options.samples, MOST_SAMPLES);
  }
  out->samples = (size_t)samples;
  return OATGP_OK;
}

static oatgp_status make_table(cli *c, size_t rows, size_t samples, table *t) {
  static const char *const fixed[FIXED_COLUMNS] = {"mean", "sd_latent", "sd", "lower", "upper"};
  oatgp_status status;
  *t = (table){.rows = rows, .samples = samples, .columns = FIXED_COLUMNS + samples};
  t->values = cli_new(c, t->columns, sizeof *t->values, &status);
  TRY(status);
  t->names = cli_new(c, t->columns, sizeof *t->names, &status);
  TRY(status);
  t->sample_names = cli_new(c, samples, sizeof *t->sample_names, &status);
  TRY(status);
  t->block = cli_new(c, rows, t->columns * sizeof(double), &status);
  TRY(status);
  for (size_t j = 0; j < t->columns; j++) {
    t->values[j] = t->block + j * rows;
    t->names[j] = j < FIXED_COLUMNS ? fixed[j] : t->sample_names[j - FIXED_COLUMNS];
  }
  for (size_t j = 0; j < samples; j++) {
    snprintf(t->sample_names[j], NAME_SIZE, "sample%zu", j + 1);
  }
done:
  return status;
}

static void free_table(table *t) {
  free(t->block);
  free(t->values);
  free(t->names);
  free(t->sample_names);
}

static oatgp_status fill_table(cli *c, const oatgp_model *model, const oatgp_data *data, double interval, table *t) {
  double **v = t->values;
  oatgp_status status;
  TRY(oatgp_predict(c->ctx, model, data, &(oatgp_prediction){v[MEAN], v[SD_LATENT], v[SD]}));
  const double width = -oatgp_normal_quantile((1 - interval) / 2);
  for (size_t i = 0; i < t->rows; i++) {
    v[SD_LATENT][i] = sqrt(v[SD_LATENT][i]);
    v[SD][i] = sqrt(v[SD][i]);
    const double half = width * v[c->options.latent ? SD_LATENT : SD][i];
    v[LOWER][i] = v[MEAN][i] - half;
    v[UPPER][i] = v[MEAN][i] + half;
  }
  if (t->samples > 0) {
    TRY(oatgp_predict_samples(c->ctx, model, data, t->samples, (uint64_t)c->settings.seed, v[FIXED_COLUMNS]));
  }
done:
  return status;
}

static oatgp_status write_covariance(cli *c, const oatgp_model *model, const oatgp_data *data) {
  const size_t n = oatgp_data_rows(data);
  oatgp_status status;
  if (*c->options.cov == '\0') {
    return OATGP_OK;
  }
  double *covariance = cli_new(c, n, n * sizeof *covariance, &status);
  TRY(status);
  TRY(oatgp_predict_covariance(c->ctx, model, data, covariance));
  TRY(oatgp_write_npy(c->ctx, c->options.cov, n, n, covariance));
done:
  free(covariance);
  return status;
}

/* With --json a file still gets the table as CSV; standard output then says what was written. */
static oatgp_status write_table(cli *c, const table *t) {
  const char *path = *c->options.output != '\0' ? c->options.output : "-";
  const bool to_file = strcmp(path, "-") != 0;
  if (to_file || !c->options.json) {
    const oatgp_status status = oatgp_write_csv(c->ctx, path, t->rows, t->columns, t->names, (const double *const *)t->values);
    if (status != OATGP_OK || !c->options.json) {
      return status;
    }
  }
  cli_json json = cli_json_begin();
  cli_json_whole(&json, "n", (int64_t)t->rows);
  if (to_file) {
    cli_json_text(&json, "output", path);
  }
  for (size_t j = 0; j < t->columns && !to_file; j++) {
    cli_json_numbers(&json, t->names[j], t->rows, t->values[j]);
  }
  if (*c->options.cov != '\0') {
    cli_json_text(&json, "cov", c->options.cov);
  }
  return cli_json_end(c, &json, stdout, true);
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  wishes wanted;
  oatgp_model *model = NULL;
  oatgp_data *data = NULL;
  table t = {0};
  TRY(read_wishes(c, &wanted));
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  TRY(oatgp_data_read_for(c->ctx, c->positionals[1], model, &c->settings, 0, &data));
  TRY(make_table(c, oatgp_data_rows(data), wanted.samples, &t));
  TRY(fill_table(c, model, data, wanted.interval, &t));
  TRY(write_covariance(c, model, data));
  TRY(write_table(c, &t));
done:
  free_table(&t);
  oatgp_data_free(data);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_predict = {
    .name = "predict",
    .summary = "predict at the rows of a file",
    .positionals = {"MODEL", "DATA"},
    .usage = "[-o OUT.csv] [OPTIONS]",
    .details =
        "DATA has the model's inputs, by name if it has a header, else by place; '-' is standard input. The result has the "
        "columns mean, sd_latent (of the function), sd (of an observation), lower and upper, and a row for each row of DATA "
        "in its order.",
    .example =
        "  oatgp predict model.oatgp new.csv -o predictions.csv\n"
        "  oatgp predict model.oatgp new.csv --interval 0.9 --latent --samples 20 --seed 7 > draws.csv",
    .run = run,
};
