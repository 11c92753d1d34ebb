/* oatgp loo: how well a model predicts each row of its fit when that row is left out. */
#include "heldout.h"

static oatgp_status print(cli *c, const oatgp_scores *scores) {
  if (!c->options.json) {
    cli_clear_line(c);
    cli_print_scores(scores);
    return OATGP_OK;
  }
  cli_json json = cli_json_begin();
  cli_put_scores(&json, scores);
  return cli_json_end(c, &json, stdout, true);
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL;
  oatgp_data *data = NULL;
  cli_held_out held = {0};
  oatgp_scores scores;
  TRY(cli_held_out_check(c));
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  TRY(oatgp_data_read_for(c->ctx, c->positionals[1], model, &c->settings, 1, &data));
  TRY(*c->options.output != '\0' ? cli_held_out_make(c, oatgp_data_rows(data), &held) : OATGP_OK);
  TRY(oatgp_loo_sd(c->ctx, model, data, &held.out, &scores));
  TRY(cli_held_out_write(c, &held));
  if (!cli_held_out_alone(c)) {
    TRY(print(c, &scores));
  }
done:
  cli_held_out_free(&held);
  oatgp_data_free(data);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_loo = {
    .name = "loo",
    .summary = "compute leave-one-out scores and residuals without refitting",
    .positionals = {"MODEL", "DATA"},
    .usage = "[-o OUT.csv] [OPTIONS]",
    .details =
        "DATA are the rows that the model was fitted to; other rows are refused. Every row is predicted from all the "
        "others, at the model's parameters and knots, in closed form. OUT.csv has the mean, sd, nlp (-log p(y)) and "
        "residual ((y - mean) / sd) of every row; look at rows whose residual is beyond 3 or 4. With a likelihood "
        "other than the Gaussian, each row is replaced by its Gaussian site, and sites are left out; residual is then "
        "the normal quantile of P(Y < y) + P(Y = y) / 2.",
    .example =
        "  oatgp loo model.oatgp train.csv\n"
        "  oatgp loo model.oatgp train.csv -o rows.csv --json",
    .run = run,
};
