/* Describes a model as text and as JSON, in the same way for fit and info. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define LABEL_WIDTH 14

typedef struct report {
  const oatgp_model *model;
  const char *path;
  oatgp_model_info info;
} report;

static bool is_gaussian(const oatgp_model_info *info) { return strcmp(info->likelihood, "gaussian") == 0; }

static bool is_bernoulli(const oatgp_model_info *info) { return strncmp(info->likelihood, "bernoulli", 9) == 0; }

static bool has_shape(const oatgp_model_info *info) { return oatgp_kernel_has(info->kernel, "shape") != 0; }

/* ---- as JSON --------------------------------------------------------------------------------------------------- */

/* NULL if there is no memory. */
static cJSON *add_text(cJSON *array, const char *text) {
  cJSON *item = array != NULL ? cJSON_CreateString(text) : NULL;
  if (item == NULL || !cJSON_AddItemToArray(array, item)) {
    cJSON_Delete(item);
    cJSON_Delete(array);
    return NULL;
  }
  return array;
}

static cJSON *input_names(const report *r) {
  cJSON *names = cJSON_CreateArray();
  for (size_t i = 0; i < r->info.d; i++) {
    names = add_text(names, oatgp_model_input_name(r->model, i));
  }
  return names;
}

/* Reads one of the lines that --kernel auto has stored: the length of the kernel's text, and the score after it. */
static size_t read_candidate(const char *line, double *score) {
  const size_t length = strcspn(line, "\t\n");
  char text[32] = "";
  if (line[length] == '\t') {
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
  }
  *score = NAN;
  oatgp_is_number(text, score);
  return length;
}

static const char *next_line(const char *line) {
  line += strcspn(line, "\n");
  return line + (*line == '\n');
}

/* {"se-ard": 2.5, ..}: kernels and the mean nlp of the rows left out. */
static cJSON *candidates(const char *lines) {
  cli_json json = cli_json_begin();
  for (const char *line = lines; *line != '\0'; line = next_line(line)) {
    double score;
    const size_t length = read_candidate(line, &score);
    char *name = calloc(length + 1, 1);
    if (name != NULL) {
      memcpy(name, line, length);
      cli_json_number(&json, name, score);
    }
    json.failed = json.failed || name == NULL;
    free(name);
  }
  if (json.failed) {
    cJSON_Delete(json.object);
  }
  return json.failed ? NULL : json.object;
}

/* An object from the names of categories to their levels; absent without categories. */
static void put_levels(cli_json *json, const report *r) {
  cli_json all = cli_json_begin();
  bool any = false;
  for (size_t j = 0; j < r->info.d; j++) {
    const size_t count = oatgp_model_level_count(r->model, j);
    cJSON *levels = count > 0 ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; i < count; i++) {
      levels = add_text(levels, oatgp_model_level(r->model, j, i));
    }
    if (count > 0) {
      cli_json_item(&all, oatgp_model_input_name(r->model, j), levels);
      any = true;
    }
  }
  if (any) {
    cli_json_object(json, "levels", &all);
  } else {
    cJSON_Delete(all.object);
  }
}

/* The classes of the target in their order; absent if it holds numbers. */
static void put_classes(cli_json *json, const report *r) {
  const size_t count = oatgp_model_target_level_count(r->model);
  cJSON *levels = count > 0 ? cJSON_CreateArray() : NULL;
  for (size_t i = 0; i < count; i++) {
    levels = add_text(levels, oatgp_model_target_level(r->model, i));
  }
  if (count > 0) {
    cli_json_item(json, "classes", levels);
  }
}

/* A Gaussian target has noise, any other a likelihood with its own parameters. */
static void put_likelihood(cli_json *json, const oatgp_model_info *info) {
  if (is_gaussian(info)) {
    cli_json_number(json, "tau", info->tau);
    return;
  }
  cli_json_text(json, "likelihood", info->likelihood);
  cli_json_likelihood(json, info->likelihood_count, info->likelihood_parameters);
  if (info->answer_levels > 0) {
    cli_json_whole(json, "answer_levels", (int64_t)info->answer_levels);
  }
}

static void put_parameters(cli_json *json, const oatgp_model_info *info) {
  if (info->parameter_count > 0) {
    cli_json_parameters(json, info->parameter_count, info->parameters);
    put_likelihood(json, info);
    return;
  }
  cli_json_number(json, "sigma", info->sigma);
  cli_json_numbers(json, "lengthscales", info->lengthscale_count, info->lengthscales);
  put_likelihood(json, info);
  if (has_shape(info)) {
    cli_json_number(json, "shape", info->shape);
  }
}

/* [{"weight": 0.2, "sigma": 1, ..}, ..]: the draws that predictions are averaged over. */
static cJSON *draws(const report *r) {
  cJSON *all = cJSON_CreateArray();
  for (size_t i = 0; i < r->info.average; i++) {
    cli_json one = cli_json_begin();
    oatgp_model_info info;
    double weight = 0;
    oatgp_model_get_info(oatgp_model_draw(r->model, i, &weight), &info);
    cli_json_number(&one, "weight", weight);
    put_parameters(&one, &info);
    if (all == NULL || one.failed || !cJSON_AddItemToArray(all, one.object)) {
      cJSON_Delete(one.object);
      cJSON_Delete(all);
      return NULL;
    }
  }
  return all;
}

static void put_model(cli_json *json, const report *r) {
  const oatgp_model_info *info = &r->info;
  cli_json_text(json, "approx", info->approx);
  cli_json_number(json, "alpha", info->alpha);
  cli_json_text(json, "kernel", info->kernel);
  if (*info->kernel_candidates != '\0') {
    cli_json_item(json, "kernel_candidates", candidates(info->kernel_candidates));
  }
  cli_json_whole(json, "n", (int64_t)info->n);
  cli_json_whole(json, "d", (int64_t)info->d);
  cli_json_item(json, "inputs", input_names(r));
  put_levels(json, r);
  cli_json_text(json, "target", info->target);
  put_classes(json, r);
  cli_json_whole(json, "knots", (int64_t)info->knots);
  cli_json_whole(json, "neighbours", (int64_t)info->neighbours);
  cli_json_whole(json, "predict_neighbours", (int64_t)info->predict_neighbours);
  cli_json_number(json, "objective", info->objective);
  cli_json_number(json, "log_prior", info->log_prior);
  cli_json_text(json, "prior", info->prior);
  put_parameters(json, info);
  if (info->average > 0) {
    cli_json_item(json, "average", draws(r));
  }
  cli_json_number(json, "mean", info->mean);
  cli_json_text(json, "mean_kind", info->mean_kind);
  if (info->slopes != NULL) {
    cli_json_numbers(json, "slopes", info->d, info->slopes);
  }
  cli_json_number(json, "jitter", info->jitter);
  cli_json_number(json, "jitter_absolute", info->jitter_absolute);
}

/* Leave-one-out scores, null in a model that does not have them. */
static void put_loo(cli_json *json, const report *r) {
  cli_json_number(json, "loo_mean_nlp", r->info.loo_mean_nlp);
  cli_json_number(json, "loo_rmse", r->info.loo_rmse);
  cli_json_number(json, "loo_coverage95", r->info.loo_coverage95);
}

/* The same for the bounds of a certificate. */
static void put_bounds(cli_json *json, const report *r) {
  cli_json_number(json, "lower", r->info.lower);
  cli_json_number(json, "upper", r->info.upper);
}

static void put_training(cli_json *json, const report *r) {
  const oatgp_model_info *info = &r->info;
  cli_json_text(json, "optimizer", info->optimizer);
  cli_json_text(json, "select", info->select);
  cli_json_whole(json, "iterations", info->iterations);
  cli_json_whole(json, "evaluations", info->evaluations);
  cli_json_whole(json, "rejected", info->rejected);
  cli_json_whole(json, "restarts", info->restarts);
  cli_json_number(json, "seconds", info->seconds);
  cli_json_text(json, "stop", oatgp_stop_word(info->stop));
  cli_json_whole(json, "seed", info->seed);
  cli_json_text(json, "version", info->version);
  cli_json_text(json, "model", r->path);
}

/* A column that was not used is null. */
static void put_column(cli_json *json, const char *key, const char *name) {
  cli_json_text(json, key, name != NULL && *name != '\0' ? name : NULL);
}

static void put_origin(cli_json *json, const report *r) {
  const oatgp_model_info *info = &r->info;
  cli_json scaling = cli_json_begin();
  cli_json_numbers(&scaling, "centre", info->d, info->input_centre);
  cli_json_numbers(&scaling, "scale", info->d, info->input_scale);
  cli_json_text(json, "command", info->command);
  cli_json_text(json, "fingerprint", info->fingerprint);
  put_column(json, "weights", info->weights);
  put_column(json, "noise_variance", info->noise_variance);
  put_column(json, "trials", info->trials);
  put_column(json, "exposure", info->exposure);
  cli_json_object(json, "scaling", &scaling);
  cli_json_matrix(json, "selection", &(cli_matrix){info->selection_count, 8 + info->d, info->selection});
  cli_json_matrix(json, "history", &(cli_matrix){info->history_count, 3, info->history});
}

/* ---- as text --------------------------------------------------------------------------------------------------- */

static void print_label(const char *label) { printf("%-*s", LABEL_WIDTH, label); }

static void print_text(const char *label, const char *text) {
  if (text != NULL && *text != '\0') {
    print_label(label);
    printf("%s\n", text);
  }
}

/* One for each line of the text: how the model was fitted, then each update. */
static void print_commands(const char *text) {
  for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
    length = strcspn(text, "\n");
    print_label("command");
    printf("%.*s\n", (int)length, text);
  }
}

static void print_number(const char *label, double value) {
  print_label(label);
  printf("%.8g\n", value);
}

/* One value for each input, a line each. */
static void print_by_input(const char *label, const report *r, size_t count, const double *values) {
  size_t width = 0;
  for (size_t i = 0; i < r->info.d; i++) {
    const size_t length = cli_name_width(oatgp_model_input_name(r->model, i));
    width = length > width ? length : width;
  }
  for (size_t i = 0; i < count; i++) {
    print_label(i == 0 ? label : "");
    if (count == r->info.d) {
      cli_print_name(oatgp_model_input_name(r->model, i), width);
      printf("  %.8g\n", values[i]);
    } else {
      printf("%.8g\n", values[i]);
    }
  }
}

/* "student-t, scale 0.3, degrees 4.1"; or tau. */
static void print_likelihood(const oatgp_model_info *info) {
  if (is_gaussian(info)) {
    print_number("tau", info->tau);
    return;
  }
  print_label("likelihood");
  printf("%s", info->likelihood);
  for (size_t i = 0; i < info->likelihood_count; i++) {
    printf(", %s %.8g", info->likelihood_parameters[i].name, info->likelihood_parameters[i].value);
  }
  printf("\n");
}

/* Those of an expression, a line each. */
static void print_named(const oatgp_model_info *info) {
  size_t width = 0;
  for (size_t i = 0; i < info->parameter_count; i++) {
    const size_t length = cli_name_width(info->parameters[i].name);
    width = length > width ? length : width;
  }
  for (size_t i = 0; i < info->parameter_count; i++) {
    print_label(i == 0 ? "parameters" : "");
    cli_print_name(info->parameters[i].name, width);
    printf("  %.8g\n", info->parameters[i].value);
  }
  print_likelihood(info);
}

static void print_parameters(const report *r) {
  const oatgp_model_info *info = &r->info;
  if (info->parameter_count > 0) {
    print_named(info);
    return;
  }
  print_number("sigma", info->sigma);
  print_likelihood(info);
  if (has_shape(info)) {
    print_number("shape", info->shape);
  }
  print_by_input("lengthscales", r, info->lengthscale_count, info->lengthscales);
}

/* "8 draws of the parameters, tau from 0.2 to 0.31"; these are the range of the draws. */
static void print_average(const report *r) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (size_t i = 0; i < r->info.average; i++) {
    oatgp_model_info info;
    oatgp_model_get_info(oatgp_model_draw(r->model, i, NULL), &info);
    low = fmin(low, info.tau);
    high = fmax(high, info.tau);
  }
  if (r->info.average > 0) {
    print_label("average");
    printf("%zu draws of the parameters, tau from %.4g to %.4g; the file holds the rows\n", r->info.average, low, high);
  }
}

static void print_candidates(const char *lines) {
  for (const char *line = lines; *line != '\0'; line = next_line(line)) {
    double score;
    const size_t length = read_candidate(line, &score);
    print_label(line == lines ? "compared" : "");
    printf("mean nlp %.6g, %.*s\n", score, (int)length, line);
  }
}

/* All classes of the target. With two, the probability is that of the second. */
static void print_classes(const report *r) {
  const size_t count = oatgp_model_target_level_count(r->model);
  if (count == 0) {
    return;
  }
  print_label("classes");
  for (size_t i = 0; i < count; i++) {
    cli_print_name(oatgp_model_target_level(r->model, i), 0);
    printf("%s", i + 1 < count ? ", " : "");
  }
  if (is_bernoulli(&r->info) && count == 2) {
    printf("; the probability is that of ");
    cli_print_name(oatgp_model_target_level(r->model, 1), 0);
  }
  printf("\n");
}

/* The first levels of each category. */
static void print_levels(const report *r) {
  enum { SHOWN = 8 };
  bool first = true;
  for (size_t j = 0; j < r->info.d; j++) {
    const size_t count = oatgp_model_level_count(r->model, j);
    if (count == 0) {
      continue;
    }
    print_label(first ? "levels" : "");
    cli_print_name(oatgp_model_input_name(r->model, j), 0);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
      printf("%s ", i > 0 ? "," : ":");
      cli_print_name(oatgp_model_level(r->model, j, i), 0);
    }
    printf(count > SHOWN ? " and %zu more\n" : "\n", count - SHOWN);
    first = false;
  }
}

static void print_model(const report *r) {
  const oatgp_model_info *info = &r->info;
  print_label("model");
  printf("%s", info->approx);
  if (strcmp(info->approx, "pep") == 0) {
    printf(", alpha %.8g", info->alpha);
  }
  printf("\n");
  print_text("kernel", info->kernel);
  print_candidates(info->kernel_candidates);
  print_label("data");
  printf("%zu row%s, %zu input%s, target ", info->n, cli_plural(info->n), info->d, cli_plural(info->d));
  cli_print_name(info->target != NULL ? info->target : "(no name)", 0);
  printf("\n");
  print_classes(r);
  print_levels(r);
  print_text("weights", info->weights);
  print_text("noise", info->noise_variance);
  print_text("trials", info->trials);
  print_text("exposure", info->exposure);
  print_label("knots");
  printf("%zu\n", info->knots);
  if (info->neighbours > 0) {
    print_label("neighbours");
    printf("%zu of each row, %zu of each prediction; the file holds the rows\n", info->neighbours,
           info->predict_neighbours);
  }
  print_number("objective", info->objective);
  if (info->log_prior != 0) {
    print_number("  log prior", info->log_prior);
  }
  print_parameters(r);
  print_average(r);
  print_label("mean");
  printf("%.8g (%s)\n", info->mean, info->mean_kind);
  if (info->slopes != NULL) {
    print_by_input("slopes", r, info->d, info->slopes);
  }
  print_number("jitter", info->jitter);
  if (info->jitter_absolute > 0) {
    print_number("  absolute", info->jitter_absolute);
  }
}

static void print_loo(const report *r) {
  const oatgp_model_info *info = &r->info;
  if (!isnan(info->loo_mean_nlp) && is_bernoulli(info)) {
    print_label("leave-one-out");
    printf("log loss %.6g, Brier score %.6g\n", info->loo_mean_nlp, info->loo_rmse * info->loo_rmse);
  } else if (!isnan(info->loo_mean_nlp)) {
    print_label("leave-one-out");
    printf("mean nlp %.6g, rmse %.6g, %.1f %% of rows in their 95 %% interval\n", info->loo_mean_nlp, info->loo_rmse,
           100 * info->loo_coverage95);
  }
}

static void print_bounds(const report *r) {
  if (!isnan(r->info.lower)) {
    print_label("log evidence");
    printf("from %.10g to %.10g\n", r->info.lower, r->info.upper);
  }
}

static void print_training(const report *r) {
  const oatgp_model_info *info = &r->info;
  print_label("optimiser");
  printf("%s, knots %s\n", info->optimizer, info->select);
  print_label("evaluations");
  printf("%" PRId64 " in %" PRId64 " iterations, %" PRId64 " rejected\n", info->evaluations, info->iterations,
         info->rejected);
  print_label("seconds");
  printf("%.3f\n", info->seconds);
  print_text("stopped", oatgp_stop_sentence(info->stop));
  print_text("file", r->path);
}

static void print_origin(const report *r) {
  print_text("prior", r->info.prior);
  print_label("seed");
  printf("%" PRId64 "\n", r->info.seed);
  print_text("version", r->info.version);
  print_commands(r->info.command);
  print_text("fingerprint", r->info.fingerprint);
}

/* ---------------------------------------------------------------------------------------------------------------- */

oatgp_status cli_report_model(cli *c, const oatgp_model *model, const char *path, bool full) {
  report r = {.model = model, .path = path};
  oatgp_model_get_info(model, &r.info);
  if (c->options.json) {
    cli_json json = cli_json_begin();
    put_model(&json, &r);
    put_loo(&json, &r);
    put_bounds(&json, &r);
    put_training(&json, &r);
    if (full) {
      put_origin(&json, &r);
    }
    return cli_json_end(c, &json, stdout, true);
  }
  cli_clear_line(c);
  print_model(&r);
  print_loo(&r);
  print_bounds(&r);
  print_training(&r);
  if (full) {
    print_origin(&r);
  }
  return OATGP_OK;
}
