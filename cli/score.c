/* oatgp score: how well a model predicts rows whose target is known. */
#include "heldout.h"

typedef struct line {
  const char *name; /* key in JSON and label for people */
  double value;
  const char *meaning;
} line;

#define SCORE_LINES 11
#define AGAINST_LINES 2 /* the last ones, only with --against */

static void list_scores(const oatgp_scores *s, line lines[SCORE_LINES]) {
  const line filled[SCORE_LINES] = {
      {"rmse", s->rmse, "root mean squared error of the mean"},
      {"srmse", s->srmse, "rmse / standard deviation of the target here"},
      {"mnlp", s->mnlp, "median of -log p(y) over the rows"},
      {"mean_nlp", s->mean_nlp, "mean of -log p(y) over the rows"},
      {"coverage50", s->coverage50, "share of rows inside their central 50 % interval"},
      {"coverage80", s->coverage80, "the same for 80 %"},
      {"coverage90", s->coverage90, "the same for 90 %"},
      {"coverage95", s->coverage95, "the same for 95 %"},
      {"coverage99", s->coverage99, "the same for 99 %"},
      {"aukl_latent", s->aukl_latent, "mean KL divergence from the other model, of the function"},
      {"aukl_observation", s->aukl_observation, "mean KL divergence from the other model, of an observation"},
  };
  for (size_t i = 0; i < SCORE_LINES; i++) {
    lines[i] = filled[i];
  }
}

static void put(cli_json *json, const oatgp_scores *scores, size_t count) {
  line lines[SCORE_LINES];
  list_scores(scores, lines);
  cli_json_whole(json, "n", (int64_t)scores->n);
  for (size_t i = 0; i < count; i++) {
    cli_json_number(json, lines[i].name, lines[i].value);
  }
}

static void print(const oatgp_scores *scores, size_t count) {
  line lines[SCORE_LINES];
  list_scores(scores, lines);
  printf("%-18s%-16zu%s\n", "n", scores->n, "rows");
  for (size_t i = 0; i < count; i++) {
    printf("%-18s%-16.8g%s\n", lines[i].name, lines[i].value, lines[i].meaning);
  }
}

void cli_put_scores(cli_json *json, const oatgp_scores *scores) { put(json, scores, SCORE_LINES - AGAINST_LINES); }

void cli_print_scores(const oatgp_scores *scores) { print(scores, SCORE_LINES - AGAINST_LINES); }

static oatgp_status print_scores(cli *c, const oatgp_scores *scores, size_t count) {
  if (!c->options.json) {
    cli_clear_line(c);
    print(scores, count);
    return OATGP_OK;
  }
  cli_json json = cli_json_begin();
  put(&json, scores, count);
  return cli_json_end(c, &json, stdout, true);
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL, *against = NULL;
  oatgp_data *data = NULL;
  oatgp_scores scores;
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  if (*c->options.against != '\0') {
    TRY(oatgp_model_load(c->ctx, c->options.against, &against));
  }
  TRY(oatgp_data_read_for(c->ctx, c->positionals[1], model, &c->settings, 1, &data));
  TRY(oatgp_score(c->ctx, model, data, against, &scores));
  TRY(print_scores(c, &scores, against != NULL ? SCORE_LINES : SCORE_LINES - AGAINST_LINES));
done:
  oatgp_data_free(data);
  oatgp_model_free(against);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_score = {
    .name = "score",
    .summary = "score predictions against known targets",
    .positionals = {"MODEL", "DATA"},
    .usage = "[--target COL] [--against MODEL2] [OPTIONS]",
    .details = "DATA has the model's inputs and its target, found by name if it has a header, else by place; '-' is standard input.",
    .example =
        "  oatgp score model.oatgp test.csv\n"
        "  oatgp score sparse.oatgp test.csv --against full.oatgp --json",
    .run = run,
};
