/* oatgp cv: cross-validation with a fit for every fold. The first signal ends it with the finished folds. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "heldout.h"
#include "signals.h"
#include "trace.h"

/* The data of the two callbacks. */
typedef struct watch {
  cli *c;
  cJSON *folds; /* with --json */
  bool failed;  /* to put a fold into it */
  bool table;   /* of the folds, for the table */
  size_t done;
} watch;

static int monitor(void *user, const oatgp_event *event) {
  const watch *w = user;
  return cli_monitor(w->c, event);
}

static void put_fold(watch *w, const oatgp_fold *fold, const oatgp_model_info *info) {
  cli_json json = cli_json_begin();
  cli_json_whole(&json, "fold", (int64_t)fold->number);
  cli_json_whole(&json, "fitted", (int64_t)fold->fitted);
  cli_json_whole(&json, "knots", (int64_t)info->knots);
  cli_json_number(&json, "objective", info->objective);
  cli_json_number(&json, "seconds", info->seconds);
  cli_json_text(&json, "stop", oatgp_stop_word(info->stop));
  cli_put_scores(&json, &fold->scores);
  if (json.failed || w->folds == NULL || !cJSON_AddItemToArray(w->folds, json.object)) {
    cJSON_Delete(json.object);
    w->failed = true;
  }
}

/* The five columns of scores in the table, by the likelihood. */
typedef struct score_column {
  const char *name;
  size_t place; /* in oatgp_scores */
} score_column;

#define SCORE(name) \
  { #name, offsetof(oatgp_scores, name) }
enum { SCORES = 5 };

static const score_column *columns_for(const char *likelihood) {
  static const score_column gaussian[SCORES] = {SCORE(mean_nlp), SCORE(mnlp), SCORE(rmse), SCORE(srmse),
                                                SCORE(coverage95)};
  static const score_column classes[SCORES] = {SCORE(log_loss), SCORE(brier), SCORE(accuracy), SCORE(auc),
                                               SCORE(deviance)};
  static const score_column levels[SCORES] = {SCORE(mean_nlp), SCORE(accuracy), SCORE(rmse), SCORE(deviance),
                                              SCORE(coverage95)};
  static const score_column others[SCORES] = {SCORE(mean_nlp), SCORE(mnlp), SCORE(rmse), SCORE(deviance),
                                              SCORE(coverage95)};
  return strcmp(likelihood, "gaussian") == 0        ? gaussian
         : strncmp(likelihood, "bernoulli", 9) == 0 ? classes
         : strcmp(likelihood, "ordinal") == 0       ? levels
                                                    : others;
}

static void print_line(const watch *w, const char *name, size_t knots, const oatgp_scores *s, double seconds) {
  const score_column *columns = columns_for(w->c->settings.likelihood);
  printf("%-8s%8zu", name, s->n);
  if (knots > 0) {
    printf("%8zu", knots);
  } else {
    printf("%8s", "");
  }
  for (size_t i = 0; i < SCORES; i++) {
    double value;
    memcpy(&value, (const char *)s + columns[i].place, sizeof value);
    printf("%12.*g", strncmp(columns[i].name, "coverage", 8) == 0 ? 4 : 5, value);
  }
  printf("%10.2f\n", seconds);
}

static void print_head(const watch *w) {
  const score_column *columns = columns_for(w->c->settings.likelihood);
  printf("%-8s%8s%8s", "fold", "rows", "knots");
  for (size_t i = 0; i < SCORES; i++) {
    printf("%12s", columns[i].name);
  }
  printf("%10s\n", "seconds");
}

static int hear_fold(void *user, const oatgp_fold *fold) {
  watch *w = user;
  oatgp_model_info info;
  char name[24];
  oatgp_model_get_info(fold->model, &info);
  const bool first = w->done++ == 0;
  cli_trace_fold(w->c, fold);
  cli_progress_fold(w->c, fold->number < fold->count ? fold->number + 1 : 0);
  if (w->c->options.json) {
    put_fold(w, fold, &info);
  } else if (w->table) {
    cli_clear_line(w->c);
    if (first) {
      print_head(w);
    }
    snprintf(name, sizeof name, "%zu", fold->number);
    print_line(w, name, info.knots, &fold->scores, info.seconds);
    fflush(stdout);
  }
  return cli_signals_caught() != 0;
}

static oatgp_status print_total(watch *w, const oatgp_scores *scores) {
  if (!w->c->options.json) {
    if (w->table) {
      cli_clear_line(w->c);
      print_line(w, "all", 0, scores, cli_progress_seconds(w->c));
    }
    return OATGP_OK;
  }
  cli_json json = cli_json_begin();
  cli_put_scores(&json, scores);
  cli_json_item(&json, "folds", w->folds);
  w->folds = NULL;
  json.failed = json.failed || w->failed;
  return cli_json_end(w->c, &json, stdout, true);
}

static void begin(watch *w) {
  cli *c = w->c;
  w->folds = c->options.json ? cJSON_CreateArray() : NULL;
  w->table = !cli_held_out_alone(c) && !c->options.json;
  cli_signals_catch(1);
  cli_progress_fold(c, 1);
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_data *data = NULL, *knots = NULL;
  cli_held_out held = {0};
  oatgp_scores scores;
  watch w = {.c = c};
  const oatgp_cv_watch callbacks = {monitor, hear_fold, &w};
  TRY(cli_need(c, c->settings.target, "--target COL"));
  TRY(cli_held_out_check(c));
  TRY(oatgp_data_read(c->ctx, c->positionals[0], &c->settings, &data));
  TRY(cli_read_knots(c, data, &knots));
  TRY(cli_held_out_make(c, oatgp_data_rows(data), &held));
  begin(&w);
  TRY(oatgp_cv_sd(c->ctx, data, &c->settings, knots, &callbacks, &held.out, &scores));
  TRY(cli_held_out_write(c, &held));
  TRY(print_total(&w, &scores));
  if (w.done < (size_t)c->settings.folds) {
    c->interrupted = true;
    cli_fail(c, OATGP_OK, "interrupted; the scores cover %zu of %" PRId64 " folds", w.done, c->settings.folds);
  }
done:
  cJSON_Delete(w.folds);
  cli_held_out_free(&held);
  oatgp_data_free(knots);
  oatgp_data_free(data);
  return status;
}

const cli_verb cli_cv = {
    .name = "cv",
    .summary = "cross-validate: predict each part of the rows from a fit to the others",
    .positionals = {"DATA"},
    .usage = "--target COL [--folds K] [OPTIONS]",
    .details =
        "DATA and all options are those of fit, which runs once for every fold. --seed also decides how rows are "
        "assigned to folds. The line 'all' has the scores of all rows together, not means over folds. With -o, a table "
        "gives the mean, sd, nlp and standardised residual of every row. Ctrl-C stops the run, prints the scores of "
        "the finished folds and exits with 3 (with 1 if no fold is finished).",
    .example =
        "  oatgp cv train.csv --target y --folds 10\n"
        "  oatgp cv train.csv --target y --folds 5 --kernel matern52-ard --knots 100 --json -o rows.csv",
    .run = run,
};
