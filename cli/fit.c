/* oatgp fit: reads data, fits a model, saves it and says what it is. A first signal ends the fit with the best model. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "json.h"
#include "progress.h"
#include "signals.h"

/* What the monitor needs. */
typedef struct watch {
  cli *c;
  FILE *trace; /* NULL without --trace */
  cli_progress progress;
} watch;

/* ---- monitor ----------------------------------------------------------------------------------------------------- */

static const char *event_word(oatgp_event_kind kind) {
  static const char *const words[] = {
      [OATGP_EVENT_SUBSET] = "subset",     [OATGP_EVENT_START] = "start", [OATGP_EVENT_STEP] = "step",
      [OATGP_EVENT_PROPOSAL] = "proposal", [OATGP_EVENT_KEPT] = "kept",   [OATGP_EVENT_DROPPED] = "dropped",
      [OATGP_EVENT_REFINE] = "refine",     [OATGP_EVENT_END] = "end",
  };
  return words[kind];
}

/* What an event about new knots has besides. */
static void put_knots(cli_json *json, const oatgp_event *event) {
  cli_json_whole(json, "candidates", event->candidates);
  cli_json_number(json, "predicted", event->predicted);
  cli_json_number(json, "gain", event->gain);
  cli_json_matrix(json, "positions", &(cli_matrix){event->added, event->inputs, event->positions});
}

/* A line of the trace. A trace that cannot be written is given up with a warning; the fit goes on. */
static void write_trace(watch *w, const oatgp_event *event) {
  cli_json json = cli_json_begin();
  cli_json_text(&json, "event", event_word(event->kind));
  cli_json_whole(&json, "restart", event->restart);
  cli_json_whole(&json, "iteration", event->iteration);
  cli_json_whole(&json, "evaluations", event->evaluations);
  cli_json_whole(&json, "rejected", event->rejected);
  cli_json_number(&json, "objective", event->objective);
  cli_json_number(&json, "best", event->best);
  cli_json_number(&json, "gradient", event->gradient);
  cli_json_number(&json, "seconds", event->seconds);
  cli_json_number(&json, "sigma", event->sigma);
  cli_json_number(&json, "tau", event->tau);
  cli_json_number(&json, "shape", event->shape);
  cli_json_numbers(&json, "lengthscales", event->lengthscale_count, event->lengthscales);
  cli_json_whole(&json, "knots", (int64_t)event->knots);
  cli_json_text(&json, "stop", event->stop);
  if (event->positions != NULL) {
    put_knots(&json, event);
  }
  if (cli_json_end(w->c, &json, w->trace, false) != OATGP_OK || fflush(w->trace) != 0) {
    cli_warn(w->c, "cannot write '%s': %s; the trace ends here", w->c->options.trace, strerror(errno));
    fclose(w->trace);
    w->trace = NULL;
  }
}

static int monitor(void *user, const oatgp_event *event) {
  watch *w = user;
  if (w->trace != NULL) {
    write_trace(w, event);
  }
  cli_progress_show(&w->progress, event);
  return cli_signals_caught() != 0;
}

/* ---- before the fit ---------------------------------------------------------------------------------------------- */

static oatgp_status open_trace(watch *w) {
  const char *path = w->c->options.trace;
  if (*path == '\0') {
    return OATGP_OK;
  }
  w->trace = fopen(path, *w->c->settings.resume != '\0' ? "a" : "w"); /* a resumed fit goes on with its trace */
  return w->trace != NULL ? OATGP_OK : cli_fail(w->c, OATGP_WRITE, "cannot write '%s': %s", path, strerror(errno));
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* The bounds of --certify go into the model. They get what is left of the time, and their iterations have a limit of their own. */
static oatgp_status certify(cli *c, const oatgp_data *data, oatgp_model *model) {
  oatgp_settings settings = c->settings, defaults;
  oatgp_certificate certificate;
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  if (!c->options.certify || info.stop == OATGP_STOP_USER) {
    return OATGP_OK;
  }
  oatgp_settings_default(&defaults);
  settings.max_iter = defaults.max_iter;
  settings.time_limit = settings.time_limit > 0 ? fmax(settings.time_limit - info.seconds, 1e-9) : 0;
  const oatgp_status status = cli_bound(c, model, data, &settings, &certificate);
  return status == OATGP_OK ? oatgp_model_set_certificate(c->ctx, model, &certificate) : status;
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_data *data = NULL, *knots = NULL;
  oatgp_model *model = NULL;
  watch w = {.c = c};
  TRY(cli_need(c, c->settings.target, "--target COL"));
  TRY(cli_need(c, c->options.output, "-o FILE for the model"));
  TRY(cli_check_output(c));
  TRY(open_trace(&w));
  TRY(oatgp_data_read(c->ctx, c->positionals[0], &c->settings, &data));
  TRY(cli_read_knots(c, data, &knots));
  cli_signals_catch(1);
  cli_progress_begin(&w.progress, c);
  cli_progress_look_inside(&w.progress);
  status = oatgp_fit(c->ctx, data, &c->settings, knots, monitor, &w, &model);
  cli_progress_end(&w.progress);
  TRY(status);
  if (certify(c, data, model) != OATGP_OK) { /* the fit is worth more than its bounds */
    cli_warn(c, "no bounds: %s", oatgp_last_error(c->ctx));
  }
  TRY(cli_save_model(c, model));
done:
  if (w.trace != NULL && fclose(w.trace) != 0) {
    cli_warn(c, "cannot write '%s': %s", c->options.trace, strerror(errno));
  }
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
        "DATA is CSV or TSV, plain or gzip, or .npy; '-' is standard input. The parameters and the places of the knots are "
        "found by maximising the model's objective. Ctrl-C ends the fit, saves the best model so far and exits with 3.",
    .example =
        "  oatgp fit train.csv --target y -o model.oatgp\n"
        "  oatgp fit train.csv.gz --target y --inputs lon,lat --approx pep --alpha 0.5 --knots 200 \\\n"
        "        --kernel matern32-ard --time-limit 600 --trace steps.jsonl --json -o model.oatgp",
    .run = run,
};
