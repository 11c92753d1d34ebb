/* oatgp update: adds new rows to a model and, with --refit, continues its fit. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "signals.h"

/* Continues the fit with the old and the new rows. */
static oatgp_status refit(cli *c, oatgp_model **model, const oatgp_data *added) {
  oatgp_status status;
  oatgp_data *old = NULL, *all = NULL;
  oatgp_model *again = NULL;
  TRY(oatgp_data_read_for(c->ctx, c->options.data, *model, &c->settings, 1, &old));
  TRY(oatgp_data_join(c->ctx, old, added, &all));
  cli_signals_catch(1);
  TRY(oatgp_refit(c->ctx, *model, all, &c->settings, cli_monitor, c, &again));
  oatgp_model_info info;
  oatgp_model_get_info(*model, &info);
  TRY(oatgp_model_set_command(c->ctx, again, info.command));
  oatgp_model_free(*model);
  *model = again;
  again = NULL;
done:
  oatgp_model_free(again);
  oatgp_data_free(old);
  oatgp_data_free(all);
  return status;
}

/* Options of the optimisation without --refit. */
static void note_effects(cli *c) {
  const oatgp_settings *s = &c->settings;
  oatgp_settings base;
  oatgp_settings_default(&base);
  const struct {
    const char *option;
    bool given;
  } options[] = {{"--optimizer", strcmp(s->optimizer, base.optimizer) != 0},
                 {"--max-iter", s->max_iter != base.max_iter},
                 {"--max-eval", s->max_eval != base.max_eval},
                 {"--obj-tol", s->obj_tol != base.obj_tol},
                 {"--patience", s->patience != base.patience},
                 {"--grad-tol", s->grad_tol != base.grad_tol},
                 {"--time-limit", s->time_limit != base.time_limit}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    char sentence[100];
    snprintf(sentence, sizeof sentence, "%s has no effect here: only --refit optimises", options[i].option);
    if (options[i].given) {
      cli_message(c, OATGP_NOTE, sentence);
    }
  }
}

static oatgp_status check_options(cli *c) {
  oatgp_status status;
  TRY(cli_need(c, c->options.output, "-o FILE for the model"));
  if (c->options.refit != (*c->options.data != '\0')) {
    TRY(cli_usage_error(c, "--refit needs --data OLD (the rows that the model already has), and --data needs --refit"));
  }
  TRY(cli_check_output(c));
  if (!c->options.refit) {
    note_effects(c);
  }
done:
  return status;
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL;
  oatgp_data *added = NULL;
  TRY(check_options(c));
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  TRY(oatgp_data_read_for(c->ctx, c->positionals[1], model, &c->settings, 1, &added));
  TRY(c->options.refit ? refit(c, &model, added) : oatgp_update(c->ctx, model, added));
  TRY(cli_save_model(c, model));
done:
  oatgp_data_free(added);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_update = {
    .name = "update",
    .summary = "add new rows to a model, without the old ones",
    .positionals = {"MODEL", "NEWDATA"},
    .usage = "-o MODEL2 [--refit --data OLD] [OPTIONS]",
    .details =
        "A sparse model adds the new rows to the sums that it keeps, at its parameters, knots and scaling. MODEL2 is "
        "then the model of all rows, and the time depends on the new rows only. The full GP keeps its rows and extends "
        "the factor of its covariance, in time proportional to the square of the number of rows for each new one. "
        "MODEL2 may be MODEL, which is then replaced. The new model has no leave-one-out scores; 'oatgp loo' computes "
        "them from all rows. With --refit, parameters and knots are optimised further with old and new rows; the "
        "model's kind (approx, kernel, mean, scaling, fixed parameters) stays. With a likelihood other than the "
        "Gaussian, the new rows are added without revising the fit to the old ones; only --refit fits all rows again. "
        "The options of the optimisation apply to --refit.",
    .example =
        "  oatgp update model.oatgp monday.csv -o model2.oatgp\n"
        "  oatgp update model.oatgp monday.csv --refit --data train.csv --max-iter 50 -o model2.oatgp",
    .run = run,
};
