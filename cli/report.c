/* oatgp report: a model and how well it predicts, as one HTML page. */
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
    .summary = "write a page with scores, figures and the fitted model",
    .positionals = {"MODEL", "DATA"},
    .usage = "-o FILE.html [OPTIONS]",
    .details =
        "Writes one self-contained HTML page that loads nothing; you can read it on a phone, print it or mail it. DATA "
        "has the model's inputs and its target. New rows are predicted directly. If DATA are the rows of the fit, each "
        "row is predicted from all the others, as 'oatgp loo' does. The figures are those of 'oatgp plot'.",
    .example =
        "  oatgp report model.oatgp test.csv -o report.html\n"
        "  oatgp report model.oatgp train.csv -o report.html",
    .run = run,
};
