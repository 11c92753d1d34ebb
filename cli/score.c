/* oatgp score: how well a model predicts rows whose target is known. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "heldout.h"

typedef struct line {
  const char *name; /* key in JSON and label in the table */
  size_t place;     /* in oatgp_scores */
  const char *meaning;
} line;

#define LINE(name, meaning) \
  { #name, offsetof(oatgp_scores, name), meaning }

static const line gaussian[] = {
    LINE(rmse, "root mean squared error of the mean"),
    LINE(srmse, "rmse / standard deviation of the target here"),
    LINE(mnlp, "median of -log p(y) over the rows"),
    LINE(mean_nlp, "mean of -log p(y) over the rows"),
    LINE(coverage50, "share of rows inside their central 50 % interval"),
    LINE(coverage80, "the same for 80 %"),
    LINE(coverage90, "the same for 90 %"),
    LINE(coverage95, "the same for 95 %"),
    LINE(coverage99, "the same for 99 %"),
};
static const line against[] = {
    LINE(aukl_latent, "mean KL divergence from the other model, of the function"),
    LINE(aukl_observation, "mean KL divergence from the other model, of an observation"),
};
/* For a non-Gaussian target: the table shows only the scores that have a meaning. */
static const line answers[] = {
    LINE(log_loss, "mean of -log probability of the observed class"),
    LINE(brier, "mean of (probability - answer)^2"),
    LINE(accuracy, "share of rows whose most likely class is the observed one"),
    LINE(auc, "how often a row of class 1 has a higher probability than a row of class 0"),
    LINE(mean_nlp, "mean of -log p(y) over the rows"),
    LINE(mnlp, "median of -log p(y) over the rows"),
    LINE(deviance, "mean of 2 (largest possible log p(y) - log p(y))"),
    LINE(rmse, "root mean squared error of the expected answer"),
    LINE(srmse, "rmse / standard deviation of the target here"),
    LINE(coverage50, "share of rows between their quantiles 0.25 and 0.75"),
    LINE(coverage80, "the same for 80 %"),
    LINE(coverage90, "the same for 90 %"),
    LINE(coverage95, "the same for 95 %"),
    LINE(coverage99, "the same for 99 %"),
};

#define COUNT(lines) (sizeof(lines) / sizeof *(lines))

static double value_of(const oatgp_scores *scores, const line *of) {
  double value;
  memcpy(&value, (const char *)scores + of->place, sizeof value);
  return value;
}

/* A Gaussian target has no deviance. */
static bool is_gaussian(const oatgp_scores *scores) { return isnan(scores->deviance); }

static void put_lines(cli_json *json, const oatgp_scores *scores, const line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) {
    cli_json_number(json, lines[i].name, value_of(scores, &lines[i]));
  }
}

/* For other targets, the scores that are not NaN. The log loss of 0 and 1 is their mean nlp, and the Brier score their
 * squared error. */
static void print_lines(const oatgp_scores *scores, const line *lines, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const double value = value_of(scores, &lines[i]);
    const bool again =
        !isnan(scores->log_loss) && (strstr(lines[i].name, "rmse") != NULL || strcmp(lines[i].name, "mean_nlp") == 0);
    if (!isnan(value) && !again) {
      printf("%-18s%-16.8g%s\n", lines[i].name, value, lines[i].meaning);
    }
  }
}

void cli_put_scores(cli_json *json, const oatgp_scores *scores) {
  cli_json_whole(json, "n", (int64_t)scores->n);
  if (is_gaussian(scores)) {
    put_lines(json, scores, gaussian, COUNT(gaussian));
  } else {
    put_lines(json, scores, answers, COUNT(answers));
  }
}

void cli_print_scores(const oatgp_scores *scores) {
  printf("%-18s%-16zu%s\n", "n", scores->n, "rows");
  if (is_gaussian(scores)) {
    print_lines(scores, gaussian, COUNT(gaussian));
  } else {
    print_lines(scores, answers, COUNT(answers));
  }
}

static oatgp_status print_scores(cli *c, const oatgp_scores *scores, bool with_other) {
  const size_t further = with_other ? COUNT(against) : 0;
  if (!c->options.json) {
    cli_clear_line(c);
    cli_print_scores(scores);
    print_lines(scores, against, further);
    return OATGP_OK;
  }
  cli_json json = cli_json_begin();
  cli_put_scores(&json, scores);
  put_lines(&json, scores, against, further);
  return cli_json_end(c, &json, stdout, true);
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL, *other = NULL;
  oatgp_data *data = NULL;
  oatgp_scores scores;
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  if (*c->options.against != '\0') {
    TRY(oatgp_model_load(c->ctx, c->options.against, &other));
  }
  TRY(oatgp_data_read_for(c->ctx, c->positionals[1], model, &c->settings, 1, &data));
  TRY(oatgp_score(c->ctx, model, data, other, &scores));
  TRY(print_scores(c, &scores, other != NULL));
done:
  oatgp_data_free(data);
  oatgp_model_free(other);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_score = {
    .name = "score",
    .summary = "score predictions against known targets",
    .positionals = {"MODEL", "DATA"},
    .usage = "[--target COL] [--against MODEL2] [OPTIONS]",
    .details =
        "DATA has the model's inputs and its target, found by name if it has a header, else by position; '-' is "
        "standard input. With a likelihood other than the Gaussian, scores use the probability (or density) of the "
        "target, integrated over the function: log loss, Brier score, accuracy and AUC for 0 and 1, deviance and "
        "coverage for others.",
    .example =
        "  oatgp score model.oatgp test.csv\n"
        "  oatgp score sparse.oatgp test.csv --against full.oatgp --json",
    .run = run,
};
