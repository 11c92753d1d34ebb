/* oatgp report: a model and how well it predicts, as one page of HTML. */
#include "cli.h"

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL;
  oatgp_data *data = NULL;
  TRY(cli_need(c, c->options.output, "-o FILE.html"));
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  TRY(oatgp_data_read_for(c->ctx, c->positionals[1], model, &c->settings, 1, &data));
  TRY(oatgp_report(c->ctx, model, data, c->positionals[1], c->options.output));
done:
  oatgp_data_free(data);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_report = {
    .name = "report",
    .summary = "a page with scores, figures and what was fitted",
    .positionals = {"MODEL", "DATA"},
    .usage = "-o FILE.html [OPTIONS]",
    .details =
        "Writes one page of HTML that holds all it needs and loads nothing; it can be read on a phone, printed and sent by mail. DATA has "
        "the "
        "model's inputs and its target. New rows are predicted as they are; the rows that the model was fitted to are predicted one by one "
        "without themselves (as 'oatgp loo' does). The figures are those of 'oatgp plot'.",
    .example =
        "  oatgp report model.oatgp test.csv -o report.html\n"
        "  oatgp report model.oatgp train.csv -o report.html",
    .run = run,
};
