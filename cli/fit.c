/* oatgp fit: reads data, fits a model, saves it and describes it. The first signal ends the fit with the best model so
 * far. */
#include <math.h>

#include "cli.h"
#include "signals.h"

/* The bounds of --certify go into the model. They get the rest of the time, and their iterations have a separate
 * limit. */
static oatgp_status certify(cli *c, const oatgp_data *data, oatgp_model *model) {
  oatgp_settings defaults;
  oatgp_certificate certificate;
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  if (!c->options.certify || info.stop == OATGP_STOP_USER || oatgp_rank() > 0) { /* the first rank saves the model */
    return OATGP_OK;
  }
  oatgp_settings_default(&defaults);
  c->settings.max_iter = defaults.max_iter;
  c->settings.time_limit = c->settings.time_limit > 0 ? fmax(c->settings.time_limit - info.seconds, 1e-9) : 0;
  const oatgp_status status = cli_bound(c, model, data, &certificate);
  return status == OATGP_OK ? oatgp_model_set_certificate(c->ctx, model, &certificate) : status;
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_data *data = NULL, *knots = NULL;
  oatgp_model *model = NULL;
  TRY(cli_need(c, c->settings.target, "--target COL"));
  TRY(cli_need(c, c->options.output, "-o FILE for the model"));
  TRY(cli_check_output(c));
  TRY(oatgp_data_read(c->ctx, c->positionals[0], &c->settings, &data));
  TRY(cli_read_knots(c, data, &knots));
  cli_signals_catch(1);
  if (c->settings.time_limit > 0) { /* the time for reading counts */
    c->settings.time_limit = fmax(c->settings.time_limit - cli_progress_seconds(c), 1e-9);
  }
  TRY(oatgp_fit(c->ctx, data, &c->settings, knots, cli_monitor, c, &model));
  if (certify(c, data, model) != OATGP_OK) { /* a fit without bounds is better than no fit */
    cli_warn(c, "no bounds: %s", oatgp_last_error(c->ctx));
  }
  TRY(cli_save_model(c, model));
done:
  oatgp_model_free(model);
  oatgp_data_free(knots);
  oatgp_data_free(data);
  return status;
}

const cli_verb cli_fit = {
    .name = "fit",
    .summary = "fit a model to data and save it",
    .positionals = {"DATA"},
    .usage = "--target COL -o MODEL [OPTIONS]",
    .details =
        "DATA is CSV or TSV, plain or gzip, or .npy; '-' is standard input. Column names that are not UTF-8 are read "
        "as Windows-1252. The parameters and the places of the knots are found by maximising the model's objective. "
        "Ctrl-C ends the fit, saves the best model so far and exits with 3.",
    .example =
        "  oatgp fit train.csv --target y -o model.oatgp\n"
        "  oatgp fit train.csv.gz --target y --inputs lon,lat --approx pep --alpha 0.5 --knots 200 \\\n"
        "        --kernel matern32-ard --time-limit 600 --trace steps.jsonl --json -o model.oatgp",
    .run = run,
};
