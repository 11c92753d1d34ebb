/* oatgp predict: mean, standard deviations and an interval for each row, and joint draws and covariance on request.
 * With a likelihood that is not Gaussian, they describe the target, or the function with --latent.
 *
 * Rows are read, predicted and written in blocks, so that memory does not grow with their number. All rows are read at
 * once only for joint draws, a covariance, or one JSON object with all rows. */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "signals.h"

#define NAME_SIZE 32
#define ROWS_AT_A_TIME 65536 /* a multiple of 512: the bits are those of all rows at once */

/* The first columns of a table: for Gaussian models, for targets with a different likelihood, and for the function of
 * these. */
enum gaussian_column { MEAN, SD_LATENT, SD, LOWER, UPPER, GAUSSIAN_COLUMNS };
enum answer_column { ANSWER_MEAN, ANSWER_SD, ANSWER_LOWER, ANSWER_UPPER, LATENT_MEAN, LATENT_SD, ANSWER_COLUMNS };
enum function_column { FUNCTION_MEAN, FUNCTION_SD, FUNCTION_LOWER, FUNCTION_UPPER, FUNCTION_COLUMNS };
typedef enum kind { GAUSSIAN, ANSWERS, FUNCTION } kind;

/* The table that is written, column after column in one block. levels: of ordinal answers; parts: effects; inputs:
 * those with derivatives. */
typedef struct table {
  kind kind;
  size_t rows, capacity, fixed, levels, parts, inputs, samples, columns;
  double *block;
  double **values;
  char (*sample_names)[NAME_SIZE];
  char **level_names, **part_names, **slope_names;
  const char **names;
} table;

/* The values of --interval and --samples. */
typedef struct wishes {
  double interval;
  size_t samples;
} wishes;

/* A prediction in progress. */
typedef struct work {
  cli *c;
  wishes wanted;
  oatgp_model *model;
  oatgp_stream *stream;
  oatgp_csv *csv; /* NULL before the first row, and if only JSON is wanted */
  table t;
  oatgp_data *over;       /* rows of --over, or NULL */
  double *centre, *share; /* for each effect */
  size_t rows;            /* done */
} work;

static oatgp_status read_wishes(cli *c, wishes *out) {
  const oatgp_status status = cli_read_interval(c, &out->interval);
  if (c->options.mean_only && strcmp(c->options.interval, "0.95") != 0) {
    cli_message(c, OATGP_NOTE, "--interval has no effect here: --mean-only gives no interval");
  }
  return status == OATGP_OK ? cli_read_count(c, "samples", c->options.samples, 0, &out->samples) : status;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* How many of the columns are of effects: means, and then standard deviations. */
static size_t part_columns(const cli *c, const table *t) { return t->parts * (c->options.mean_only ? 1 : 2); }

static oatgp_status name_parts(cli *c, const oatgp_model *model, table *t) {
  oatgp_status status;
  oatgp_effect effect;
  t->part_names = cli_new(c, part_columns(c, t), sizeof *t->part_names, &status);
  for (size_t j = 0; status == OATGP_OK && j < part_columns(c, t); j++) {
    oatgp_effect_at(model, j % t->parts, &effect);
    const size_t room = sizeof "mean_" + strlen(effect.name);
    t->part_names[j] = cli_new(c, room, 1, &status);
    if (status == OATGP_OK) {
      snprintf(t->part_names[j], room, "%s_%s", j < t->parts ? "mean" : "sd", effect.name);
      t->names[t->fixed + t->levels + j] = t->part_names[j];
    }
  }
  return status;
}

/* p_LEVEL: by the level's name, or its number. */
static oatgp_status name_levels(cli *c, const oatgp_model *model, table *t) {
  oatgp_status status;
  char number[NAME_SIZE];
  t->level_names = cli_new(c, t->levels, sizeof *t->level_names, &status);
  for (size_t j = 0; status == OATGP_OK && j < t->levels; j++) {
    const char *name = oatgp_model_target_level(model, j);
    snprintf(number, sizeof number, "%zu", j);
    name = name != NULL ? name : number;
    const size_t room = sizeof "p_" + strlen(name);
    t->level_names[j] = cli_new(c, room, 1, &status);
    if (status == OATGP_OK) {
      snprintf(t->level_names[j], room, "p_%s", name);
      t->names[t->fixed + j] = t->level_names[j];
    }
  }
  return status;
}

/* Where the derivatives begin. */
static size_t slopes_begin(const cli *c, const table *t) { return t->fixed + t->levels + part_columns(c, t); }

/* How many of the columns are derivatives: those of the mean, and then those of sd_latent. */
static size_t slope_columns(const cli *c, const table *t) { return t->inputs * (c->options.mean_only ? 1 : 2); }

static oatgp_status name_slopes(cli *c, const oatgp_model *model, table *t) {
  oatgp_status status;
  t->slope_names = cli_new(c, slope_columns(c, t), sizeof *t->slope_names, &status);
  for (size_t j = 0; status == OATGP_OK && j < slope_columns(c, t); j++) {
    const char *input = oatgp_model_input_name(model, j % t->inputs);
    const size_t room = sizeof "d_mean_" + strlen(input);
    t->slope_names[j] = cli_new(c, room, 1, &status);
    if (status == OATGP_OK) {
      snprintf(t->slope_names[j], room, "d_%s_%s", j < t->inputs ? "mean" : "sd", input);
      t->names[slopes_begin(c, t) + j] = t->slope_names[j];
    }
  }
  return status;
}

static size_t count_inputs(const oatgp_model *model) {
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  return info.d;
}

static size_t count_parts(const oatgp_model *model) {
  oatgp_effect effect;
  size_t count = 0;
  while (oatgp_effect_at(model, count, &effect)) {
    count++;
  }
  return count;
}

/* The first columns of the table; with --mean-only, only the mean. */
static void choose_columns(const cli *c, const oatgp_model *model, table *t, const char *const **names) {
  static const char *const gaussian[GAUSSIAN_COLUMNS] = {"mean", "sd_latent", "sd", "lower", "upper"};
  static const char *const answers[ANSWER_COLUMNS] = {"mean", "sd", "lower", "upper", "latent_mean", "latent_sd"};
  static const char *const classes[ANSWER_COLUMNS] = {"probability", "sd",          "lower",
                                                      "upper",       "latent_mean", "latent_sd"};
  static const char *const function[FUNCTION_COLUMNS] = {"mean", "sd", "lower", "upper"};
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  t->kind = strcmp(info.likelihood, "gaussian") == 0 ? GAUSSIAN : c->options.latent ? FUNCTION : ANSWERS;
  const size_t counts[] = {[GAUSSIAN] = GAUSSIAN_COLUMNS, [ANSWERS] = ANSWER_COLUMNS, [FUNCTION] = FUNCTION_COLUMNS};
  const bool binary = strncmp(info.likelihood, "bernoulli", 9) == 0;
  t->fixed = c->options.mean_only ? 1 : counts[t->kind];
  t->levels = t->kind == ANSWERS && !c->options.mean_only ? info.answer_levels : 0;
  *names = t->kind == GAUSSIAN ? gaussian : t->kind == FUNCTION ? function : binary ? classes : answers;
}

static oatgp_status make_table(cli *c, const oatgp_model *model, size_t samples, table *t) {
  const char *const *fixed;
  oatgp_status status;
  *t = (table){.samples = samples};
  choose_columns(c, model, t, &fixed);
  t->parts = c->options.parts ? count_parts(model) : 0;
  t->inputs = c->options.gradient ? count_inputs(model) : 0;
  const size_t before = slopes_begin(c, t) + slope_columns(c, t);
  t->columns = before + samples;
  t->values = cli_new(c, t->columns, sizeof *t->values, &status);
  TRY(status);
  t->names = cli_new(c, t->columns, sizeof *t->names, &status);
  TRY(status);
  t->sample_names = cli_new(c, samples, sizeof *t->sample_names, &status);
  TRY(status);
  TRY(name_levels(c, model, t));
  TRY(name_parts(c, model, t));
  TRY(name_slopes(c, model, t));
  for (size_t j = 0; j < t->fixed; j++) {
    t->names[j] = fixed[j];
  }
  for (size_t j = 0; j < samples; j++) {
    snprintf(t->sample_names[j], NAME_SIZE, "sample%zu", j + 1);
    t->names[before + j] = t->sample_names[j];
  }
done:
  return status;
}

static void free_names(char **names, size_t count) {
  for (size_t j = 0; names != NULL && j < count; j++) {
    free(names[j]);
  }
  free(names);
}

static void free_table(const cli *c, table *t) {
  free_names(t->part_names, part_columns(c, t));
  free_names(t->level_names, t->levels);
  free_names(t->slope_names, slope_columns(c, t));
  free(t->block);
  free(t->values);
  free(t->names);
  free(t->sample_names);
}

/* Makes room for so many rows. */
static oatgp_status size_table(cli *c, size_t rows, table *t) {
  oatgp_status status = OATGP_OK;
  if (rows > t->capacity) {
    free(t->block);
    t->block = cli_new(c, rows, t->columns * sizeof(double), &status);
    t->capacity = status == OATGP_OK ? rows : 0;
  }
  t->rows = rows;
  for (size_t j = 0; status == OATGP_OK && j < t->columns; j++) {
    t->values[j] = t->block + j * rows;
  }
  return status;
}

static oatgp_status check_interval(work *w, const double *lower, const double *upper) {
  const double *mean = w->t.values[MEAN];
  for (size_t i = 0; i < w->t.rows; i++) {
    if (!isfinite(lower[i]) || !isfinite(upper[i])) {
      return cli_fail(
          w->c, OATGP_NUMERIC,
          "the interval of row %zu, %g +- %g, is too wide for a number; divide the target by a power of ten",
          w->rows + i + 1, mean[i], fmax(upper[i] - mean[i], mean[i] - lower[i]));
    }
  }
  return OATGP_OK;
}

/* Probabilities of levels come row after row. */
static oatgp_status fill_answers(work *w, const oatgp_data *data) {
  const table *t = &w->t;
  double *const *v = t->values;
  oatgp_status status = OATGP_OK;
  if (w->c->options.mean_only) {
    return oatgp_predict_answers(w->c->ctx, w->model, data, &(oatgp_answers){.mean = v[ANSWER_MEAN]});
  }
  double *levels = cli_new(w->c, t->rows, t->levels * sizeof *levels + 1, &status);
  TRY(status);
  const oatgp_answers out = {.mean = v[ANSWER_MEAN],
                             .sd = v[ANSWER_SD],
                             .lower = v[ANSWER_LOWER],
                             .upper = v[ANSWER_UPPER],
                             .latent_mean = v[LATENT_MEAN],
                             .latent_sd = v[LATENT_SD],
                             .levels = levels,
                             .interval = w->wanted.interval};
  TRY(oatgp_predict_answers(w->c->ctx, w->model, data, &out));
  for (size_t i = 0; i < t->rows * t->levels; i++) {
    v[ANSWER_COLUMNS + i % t->levels][i / t->levels] = levels[i];
  }
done:
  free(levels);
  return status;
}

/* Fills the columns of normal distributions, or mixtures of them: observations of Gaussian models, and the function of
 * others. */
static oatgp_status fill_normal(work *w, const oatgp_data *data) {
  double *const *v = w->t.values;
  const bool function = w->t.kind == FUNCTION;
  if (w->c->options.mean_only) {
    return oatgp_predict_mean(w->c->ctx, w->model, data, v[MEAN]);
  }
  double *const lower = v[function ? (int)FUNCTION_LOWER : (int)LOWER],
                *const upper = v[function ? (int)FUNCTION_UPPER : (int)UPPER];
  const oatgp_prediction_interval out = {.mean = v[MEAN],
                                         .sd_latent = v[function ? (int)FUNCTION_SD : (int)SD_LATENT],
                                         .sd = function ? NULL : v[SD],
                                         .lower = lower,
                                         .upper = upper,
                                         .interval = w->wanted.interval,
                                         .latent = function || w->c->options.latent};
  const oatgp_status status = oatgp_predict_interval(w->c->ctx, w->model, data, &out);
  return status == OATGP_OK ? check_interval(w, lower, upper) : status;
}

static oatgp_status fill_samples(work *w, const oatgp_data *data) {
  const table *t = &w->t;
  double *samples = t->values[t->columns - t->samples];
  const uint64_t seed = (uint64_t)w->c->settings.seed;
  return t->kind == ANSWERS ? oatgp_predict_answer_samples(w->c->ctx, w->model, data, t->samples, seed, samples)
                            : oatgp_predict_samples(w->c->ctx, w->model, data, t->samples, seed, samples);
}

static oatgp_status fill_parts(work *w, const oatgp_data *data) {
  table *t = &w->t;
  double **v = t->values + t->fixed + t->levels;
  if (t->parts == 0) {
    return OATGP_OK;
  }
  const oatgp_effect_values out = {v[0], w->c->options.mean_only ? NULL : v[t->parts], w->centre, w->share};
  return oatgp_predict_effects(w->c->ctx, w->model, data, w->over, &out);
}

/* Row after row, as the library has them, then column after column. */
static oatgp_status fill_slopes(work *w, const oatgp_data *data) {
  table *t = &w->t;
  double **v = t->values + slopes_begin(w->c, t);
  const size_t n = t->rows, d = t->inputs, count = slope_columns(w->c, t);
  oatgp_status status = OATGP_OK;
  if (count == 0) {
    return OATGP_OK;
  }
  double *slopes = cli_new(w->c, n, count * sizeof *slopes, &status);
  TRY(status);
  TRY(oatgp_predict_gradient(
      w->c->ctx, w->model, data,
      &(oatgp_prediction_gradient){.d_mean = slopes, .d_sd_latent = count > d ? slopes + n * d : NULL}));
  for (size_t j = 0; j < count; j++) {
    for (size_t i = 0; i < n; i++) {
      v[j][i] = slopes[j / d * n * d + i * d + j % d];
    }
  }
done:
  free(slopes);
  return status;
}

static oatgp_status fill_table(work *w, const oatgp_data *data) {
  cli *c = w->c;
  table *t = &w->t;
  oatgp_status status;
  TRY(size_table(c, oatgp_data_rows(data), t));
  TRY(t->kind == ANSWERS ? fill_answers(w, data) : fill_normal(w, data));
  TRY(fill_parts(w, data));
  TRY(fill_slopes(w, data));
  TRY(t->samples > 0 ? fill_samples(w, data) : OATGP_OK);
done:
  return status;
}

/* ---- output ---------------------------------------------------------------------------------------------------- */

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

static const char *output_path(const cli *c) { return *c->options.output != '\0' ? c->options.output : "-"; }

static bool to_file(const cli *c) { return strcmp(output_path(c), "-") != 0; }

/* With --json a file still gets the table as CSV; standard output then says what was written. */
static bool wants_csv(const cli *c) { return to_file(c) || !c->options.json; }

/* Opened with the first rows, so that there is no output if the data are refused. */
static oatgp_status write_rows(work *w) {
  oatgp_status status = OATGP_OK;
  if (w->csv == NULL) {
    TRY(oatgp_csv_open(w->c->ctx, output_path(w->c), w->t.columns, w->t.names, &w->csv));
  }
  TRY(oatgp_csv_append(w->c->ctx, w->csv, w->t.rows, (const double *const *)w->t.values));
done:
  return status;
}

/* "parts": for each effect, the average that was subtracted and its share of the variance. */
static void add_parts(const work *w, cli_json *json) {
  cli_json parts = cli_json_begin();
  oatgp_effect effect;
  for (size_t a = 0; a < w->t.parts; a++) {
    cli_json one = cli_json_begin();
    oatgp_effect_at(w->model, a, &effect);
    cli_json_number(&one, "centre", w->centre[a]);
    cli_json_number(&one, "share", w->share[a]);
    cli_json_object(&parts, effect.name, &one);
  }
  cli_json_object(json, "parts", &parts);
}

static oatgp_status print_json(const work *w) {
  cli *c = w->c;
  const table *t = &w->t;
  cli_json json = cli_json_begin();
  cli_json_whole(&json, "n", (int64_t)w->rows);
  if (to_file(c)) {
    cli_json_text(&json, "output", c->options.output);
  }
  for (size_t j = 0; j < t->columns && !to_file(c); j++) {
    cli_json_numbers(&json, t->names[j], t->rows, t->values[j]);
  }
  if (*c->options.cov != '\0') {
    cli_json_text(&json, "cov", c->options.cov);
  }
  if (w->t.parts > 0) {
    add_parts(w, &json);
  }
  return cli_json_end(c, &json, stdout, true);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* Predicts everything for these rows. */
static oatgp_status predict_rows(work *w, const oatgp_data *data) {
  oatgp_status status;
  TRY(fill_table(w, data));
  TRY(write_covariance(w->c, w->model, data));
  TRY(wants_csv(w->c) ? write_rows(w) : OATGP_OK);
  w->rows += w->t.rows;
  cli_progress_rows(w->c, w->rows, oatgp_stream_share(w->stream));
done:
  return status;
}

static bool needs_all_rows(const work *w) {
  return w->t.samples > 0 || *w->c->options.cov != '\0' || !wants_csv(w->c) || (w->t.parts > 0 && w->over == NULL);
}

static oatgp_status predict_stream(work *w) {
  const size_t rows = needs_all_rows(w) ? SIZE_MAX : ROWS_AT_A_TIME;
  oatgp_status status = OATGP_OK;
  oatgp_data *data = NULL;
  do {
    oatgp_data_free(data);
    data = NULL;
    TRY(oatgp_stream_next(w->c->ctx, w->stream, rows, &data));
    TRY(data != NULL ? predict_rows(w, data) : OATGP_OK);
    TRY(cli_signals_caught() == 0 ? OATGP_OK : OATGP_STOPPED);
  } while (data != NULL);
done:
  oatgp_data_free(data);
  return status;
}

/* Ends as the signal would have ended it, after cleaning up. */
static void end_by_signal(cli *c) {
  cli_clear_line(c);
  signal(cli_signals_caught(), SIG_DFL);
  raise(cli_signals_caught());
}

/* Reads the rows of --over, and allocates the results of each effect. */
static oatgp_status prepare_parts(work *w) {
  cli *c = w->c;
  oatgp_status status;
  w->centre = cli_new(c, w->t.parts, sizeof *w->centre, &status);
  TRY(status);
  w->share = cli_new(c, w->t.parts, sizeof *w->share, &status);
  TRY(status);
  if (*c->options.over != '\0') {
    TRY(oatgp_data_read_for(c->ctx, c->options.over, w->model, &c->settings, -1, &w->over));
  }
done:
  return status;
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  work w = {.c = c};
  TRY(read_wishes(c, &w.wanted));
  if (*c->options.over != '\0' && !c->options.parts) {
    return cli_usage_error(c, "--over needs --parts");
  }
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &w.model));
  TRY(oatgp_stream_open(c->ctx, c->positionals[1], w.model, &c->settings, -1, &w.stream));
  TRY(make_table(c, w.model, w.wanted.samples, &w.t));
  TRY(prepare_parts(&w));
  cli_signals_catch(0);
  cli_progress_rows(c, 0, NAN);
  if (wants_csv(c) && !to_file(c) && isatty(STDOUT_FILENO) == 1) {
    cli_progress_hush(c);
  }
  status = predict_stream(&w);
  const oatgp_status closed = oatgp_csv_close(c->ctx, w.csv, status == OATGP_OK);
  if (cli_signals_caught() != 0 && status != OATGP_OK) {
    end_by_signal(c);
  }
  TRY(status);
  TRY(closed);
  TRY(c->options.json ? print_json(&w) : OATGP_OK);
done:
  free_table(c, &w.t);
  free(w.centre);
  free(w.share);
  oatgp_data_free(w.over);
  oatgp_stream_free(w.stream);
  oatgp_model_free(w.model);
  return status;
}

const cli_verb cli_predict = {
    .name = "predict",
    .summary = "predict at the rows of a file",
    .positionals = {"MODEL", "DATA"},
    .usage = "[-o OUT.csv] [OPTIONS]",
    .details =
        "DATA has the model's inputs, by name if it has a header, else by position; '-' is standard input. The result "
        "has the columns mean, sd_latent (of the function), sd (of an observation), lower and upper, with one row for "
        "each row of DATA, in the same order. With a likelihood other than the Gaussian, the columns are mean (for a "
        "target of 0 and 1: the probability), sd, lower and upper of the target, then latent_mean and latent_sd of the "
        "function; an ordinal target also has the probability of each level, p_LEVEL. lower and upper are quantiles of "
        "the target or, for 0 and 1, of the probability. With --latent the columns are mean, sd, lower and upper of "
        "the function, without the exposure. Rows are read, predicted and written in blocks, so DATA may be larger "
        "than "
        "memory (but not with --samples, --cov, --parts without --over, or --json without -o). With --parts, mean_PART "
        "and sd_PART are the effects of "
        "a covariance that is a sum: the posterior of each term minus its average over rows. The effects and one "
        "constant add up to "
        "the mean. With --gradient, d_mean_INPUT and d_sd_INPUT are the derivatives of mean and sd_latent with respect "
        "to each input (for any "
        "likelihood, those of the function; 0 for a category). The output file appears when it is complete; an "
        "interrupted run "
        "leaves none.",
    .example =
        "  oatgp predict model.oatgp new.csv -o predictions.csv\n"
        "  oatgp predict model.oatgp new.csv --interval 0.9 --latent --samples 20 --seed 7 > draws.csv\n"
        "  oatgp predict sum.oatgp new.csv --parts --over train.csv -o effects.csv",
    .run = run,
};
