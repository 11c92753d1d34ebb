/* oatgp certify: bounds of the exact log evidence, and how far the sparse posterior can be from the exact one. */
#include <inttypes.h>
#include <math.h>

#include "json.h"
#include "signals.h"

typedef struct line {
  const char *name; /* key in JSON and label in the table */
  double value;
  const char *meaning;
} line;

#define LINES 7
#define EXACT_LINE 3 /* shown if it is known */

static void list_bounds(const oatgp_certificate *c, line lines[LINES]) {
  const line filled[LINES] = {
      {"elbo", c->elbo, "evidence lower bound of vfe at the model's parameters and knots"},
      {"lower", c->lower, "best lower bound of the log evidence"},
      {"upper", c->upper, "upper bound of the log evidence"},
      {"exact", c->exact, "the log evidence"},
      {"kl_at_most", c->kl_at_most, "upper - elbo: KL divergence from the exact posterior, in nats"},
      {"kl_per_row", c->kl_per_row, "the same per row"},
      {"seconds", c->seconds, "in all"},
  };
  for (size_t i = 0; i < LINES; i++) {
    lines[i] = filled[i];
  }
}

static oatgp_status print_json(cli *c, const oatgp_certificate *certificate, const line lines[LINES]) {
  cli_json json = cli_json_begin();
  cli_json_whole(&json, "n", (int64_t)certificate->n);
  for (size_t i = 0; i < LINES; i++) {
    cli_json_number(&json, lines[i].name, lines[i].value);
  }
  cli_json_number(&json, "seconds_per_iteration", certificate->seconds_per_iteration);
  cli_json_whole(&json, "iterations", certificate->iterations);
  cli_json_text(&json, "stop", oatgp_stop_word(certificate->stop));
  return cli_json_end(c, &json, stdout, true);
}

static oatgp_status print_certificate(cli *c, const oatgp_certificate *certificate) {
  line lines[LINES];
  list_bounds(certificate, lines);
  if (c->options.json) {
    return print_json(c, certificate, lines);
  }
  cli_clear_line(c);
  printf("%-14s%-18zu%s\n", "n", certificate->n, "rows");
  for (size_t i = 0; i < LINES; i++) {
    if (i != EXACT_LINE || !isnan(certificate->exact)) {
      printf("%-14s%-18.10g%s\n", lines[i].name, lines[i].value, lines[i].meaning);
    }
  }
  printf("%-14s%-18" PRId64 "%s\n", "iterations", certificate->iterations,
         certificate->stop == OATGP_STOP_NONE ? "not needed for the full GP" : oatgp_stop_sentence(certificate->stop));
  return OATGP_OK;
}

oatgp_status cli_bound(cli *c, const oatgp_model *model, const oatgp_data *data, oatgp_certificate *out) {
  const oatgp_status status = oatgp_certify(c->ctx, model, data, &c->settings, cli_bracket_monitor, c, out);
  if (status == OATGP_OK && out->stop == OATGP_STOP_USER) {
    c->interrupted = true;
    cli_fail(c, OATGP_OK, "interrupted; these are the bounds so far");
  }
  return status;
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL;
  oatgp_data *data = NULL;
  oatgp_certificate certificate;
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  TRY(oatgp_data_read_for(c->ctx, c->positionals[1], model, &c->settings, 1, &data));
  cli_signals_catch(1);
  TRY(cli_bound(c, model, data, &certificate));
  TRY(print_certificate(c, &certificate));
done:
  oatgp_data_free(data);
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_certify = {
    .name = "certify",
    .summary = "bound the distance from the exact GP",
    .positionals = {"MODEL", "DATA"},
    .usage = "[--time-limit S] [--tol T] [OPTIONS]",
    .details =
        "Says how far the model can be from the exact GP with the same parameters. DATA are the rows that MODEL was "
        "fitted to. The log evidence of the exact GP is bounded from both sides: elbo <= lower <= log evidence <= "
        "upper. None of these includes the priors. The KL divergence of the sparse posterior from the exact one is at "
        "most upper - elbo nats. The time of an iteration grows with the square of the number of rows; it is announced "
        "before the work begins. The bounds are valid after every iteration; Ctrl-C prints the bounds so far and exits "
        "with 3. The bounds exist only for models with a Gaussian likelihood.",
    .example =
        "  oatgp certify model.oatgp train.csv\n"
        "  oatgp certify model.oatgp train.csv --time-limit 60 --threads 4 --json",
    .run = run,
};
