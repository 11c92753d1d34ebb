/* oatgp update: takes new rows into a model, and fits on from there if asked for. */
#include "cli.h"
#include "signals.h"

/* Fits on with the old rows and the new ones. */
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

static oatgp_status check_options(cli *c) {
  oatgp_status status;
  TRY(cli_need(c, c->options.output, "-o FILE for the model"));
  if (c->options.refit != (*c->options.data != '\0')) {
    TRY(cli_usage_error(c, "--refit and --data OLD, the rows that the model has already, belong together"));
  }
  TRY(cli_check_output(c));
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
    .summary = "take new rows into a model, without the old ones",
    .positionals = {"MODEL", "NEWDATA"},
    .usage = "-o MODEL2 [--refit --data OLD] [OPTIONS]",
    .details =
        "The new rows are added to the sums that a sparse model keeps, at its parameters, knots and scaling: MODEL2 is what fitting these "
        "sums to all rows would give, in the time that the new rows take. The full GP, which holds its rows, puts the new ones behind them "
        "in the "
        "factor of its covariance: the square of their number for each. MODEL2 may be MODEL, which is "
        "then replaced. Its leave-one-out scores are not known until 'oatgp loo' sees "
        "all rows. With --refit, parameters and knots are optimised on from there, with the old rows, too; what the model is (approx, "
        "kernel, mean, scaling, fixed parameters) stays. With a likelihood other than the Gaussian, the new rows are found a place beside "
        "what "
        "the old ones say of the function, which stays as it was; only --refit looks at all answers again. The options of the optimisation "
        "are for --refit.",
    .example =
        "  oatgp update model.oatgp monday.csv -o model2.oatgp\n"
        "  oatgp update model.oatgp monday.csv --refit --data train.csv --max-iter 50 -o model2.oatgp",
    .run = run,
};
