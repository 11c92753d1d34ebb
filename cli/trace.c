/* The lines of --trace. */
#include "trace.h"

#include <errno.h>
#include <string.h>

#include "json.h"

oatgp_status cli_trace_open(cli *c) {
  const char *path = c->options.trace;
  if (*path == '\0') {
    return OATGP_OK;
  }
  c->trace = fopen(path, *c->settings.resume != '\0' ? "a" : "w"); /* a resumed fit continues its trace */
  return c->trace != NULL ? OATGP_OK : cli_fail(c, OATGP_WRITE, "cannot write '%s': %s", path, strerror(errno));
}

void cli_trace_close(cli *c) {
  if (c->trace != NULL && fclose(c->trace) != 0) {
    cli_warn(c, "cannot write '%s': %s", c->options.trace, strerror(errno));
  }
  c->trace = NULL;
}

static cli_json begin(const char *event) {
  cli_json json = cli_json_begin();
  cli_json_text(&json, "event", event);
  return json;
}

/* A whole line at once, so that the trace can be followed. The buffer may have been written before the end of a long
 * line, so earlier errors count, too. */
static void end(cli *c, cli_json *json) {
  if (cli_json_end(c, json, c->trace, false) != OATGP_OK || fflush(c->trace) != 0 || ferror(c->trace)) {
    cli_warn(c, "cannot write '%s': %s; the trace ends here", c->options.trace, strerror(errno));
    fclose(c->trace);
    c->trace = NULL;
  }
}

/* A Gaussian target has noise. Others may have their own parameters, and their sites settle in rounds. */
static void put_likelihood(cli_json *json, const oatgp_event *event) {
  if (event->likelihood_parameters == NULL) {
    cli_json_number(json, "tau", event->tau);
    return;
  }
  cli_json_likelihood(json, event->likelihood_count, event->likelihood_parameters);
  cli_json_whole(json, "site_rounds", event->site_rounds);
}

static void put_parameters(cli_json *json, const oatgp_event *event) {
  if (event->parameter_count > 0) {
    cli_json_parameters(json, event->parameter_count, event->parameters);
    put_likelihood(json, event);
    return;
  }
  cli_json_number(json, "sigma", event->sigma);
  put_likelihood(json, event);
  cli_json_number(json, "shape", event->shape);
  cli_json_numbers(json, "lengthscales", event->lengthscale_count, event->lengthscales);
}

/* The additional data of an event about new knots. */
static void put_knots(cli_json *json, const oatgp_event *event) {
  cli_json_whole(json, "candidates", event->candidates);
  cli_json_number(json, "predicted", event->predicted);
  cli_json_number(json, "gain", event->gain);
  cli_json_matrix(json, "positions", &(cli_matrix){event->added, event->inputs, event->positions});
}

void cli_trace_event(cli *c, const oatgp_event *event) {
  static const char *const words[] = {
      [OATGP_EVENT_SUBSET] = "subset",     [OATGP_EVENT_START] = "start", [OATGP_EVENT_STEP] = "step",
      [OATGP_EVENT_PROPOSAL] = "proposal", [OATGP_EVENT_KEPT] = "kept",   [OATGP_EVENT_DROPPED] = "dropped",
      [OATGP_EVENT_REFINE] = "refine",     [OATGP_EVENT_END] = "end",
  };
  if (c->trace == NULL) {
    return;
  }
  cli_json json = begin(words[event->kind]);
  cli_json_whole(&json, "restart", event->restart);
  cli_json_whole(&json, "iteration", event->iteration);
  cli_json_whole(&json, "evaluations", event->evaluations);
  cli_json_whole(&json, "rejected", event->rejected);
  cli_json_number(&json, "objective", event->objective);
  cli_json_number(&json, "best", event->best);
  cli_json_number(&json, "gradient", event->gradient);
  cli_json_number(&json, "seconds", event->seconds);
  put_parameters(&json, event);
  cli_json_whole(&json, "rows", (int64_t)event->rows);
  cli_json_whole(&json, "knots", (int64_t)event->knots);
  cli_json_whole(&json, "neighbours", (int64_t)event->neighbours);
  cli_json_text(&json, "stop", event->stop);
  if (event->positions != NULL) {
    put_knots(&json, event);
  }
  end(c, &json);
}

void cli_trace_step(cli *c, const cli_step *step) {
  if (c->trace == NULL) {
    return;
  }
  cli_json json = begin("progress");
  cli_json_text(&json, "what", step->what);
  cli_json_text(&json, "unit", step->unit);
  cli_json_whole(&json, "done", (int64_t)step->done);
  if (step->total > 0) {
    cli_json_whole(&json, "total", (int64_t)(step->total + 0.5));
  }
  cli_json_number(&json, "seconds", cli_progress_seconds(c));
  end(c, &json);
}

void cli_trace_bracket(cli *c, const oatgp_certificate *so_far) {
  if (c->trace == NULL) {
    return;
  }
  cli_json json = begin("bracket");
  cli_json_whole(&json, "iteration", so_far->iterations);
  cli_json_number(&json, "elbo", so_far->elbo);
  cli_json_number(&json, "lower", so_far->lower);
  cli_json_number(&json, "upper", so_far->upper);
  cli_json_number(&json, "seconds", so_far->seconds);
  end(c, &json);
}

void cli_trace_fold(cli *c, const oatgp_fold *fold) {
  if (c->trace == NULL) {
    return;
  }
  cli_json json = begin("fold");
  cli_json_whole(&json, "fold", (int64_t)fold->number);
  cli_json_whole(&json, "folds", (int64_t)fold->count);
  cli_json_whole(&json, "rows", (int64_t)fold->scores.n);
  cli_json_number(&json, "mean_nlp", fold->scores.mean_nlp);
  cli_json_number(&json, "rmse", fold->scores.rmse);
  cli_json_number(&json, "seconds", cli_progress_seconds(c));
  end(c, &json);
}
