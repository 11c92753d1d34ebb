/* oatgp objective: one evaluation at given parameters, for checking and teaching. */
#include <stdio.h>
#include <string.h>

#include "json.h"

#define LABEL_WIDTH 20

static bool has_shape(const cli *c) { return oatgp_kernel_has(c->settings.kernel, "shape") != 0; }

static bool is_gaussian(const cli *c) { return strcmp(c->settings.likelihood, "gaussian") == 0; }

/* ---- as JSON --------------------------------------------------------------------------------------------------- */

static void put_answer_gradient(cli_json *gradient, const oatgp_evaluation *e) {
  cli_json own = cli_json_begin();
  char name[64];
  for (size_t i = 0; i < e->likelihood_count; i++) {
    snprintf(name, sizeof name, "log_%s", e->likelihood_parameters[i].name);
    cli_json_number(&own, name, e->d_log_likelihood[i]);
  }
  cli_json_number(gradient, "mean", e->d_mean);
  cli_json_object(gradient, "likelihood", &own);
}

static void put_gradient(cli *c, cli_json *json, const oatgp_evaluation *e) {
  cli_json gradient = cli_json_begin();
  if (e->parameter_count > 0) {
    cli_json_numbers(&gradient, "log_parameters", e->parameter_count, e->d_log_parameters);
  } else {
    cli_json_number(&gradient, "log_sigma", e->d_log_sigma);
    cli_json_numbers(&gradient, "log_lengthscales", e->lengthscale_count, e->d_log_lengthscales);
  }
  if (is_gaussian(c)) {
    cli_json_number(&gradient, "log_tau", e->d_log_tau);
  } else {
    put_answer_gradient(&gradient, e);
  }
  if (has_shape(c)) {
    cli_json_number(&gradient, "log_shape", e->d_log_shape);
  }
  if (e->d_knots != NULL) {
    cli_json_matrix(&gradient, "knots", &(cli_matrix){e->knots, e->inputs, e->d_knots});
  }
  cli_json_object(json, "gradient", &gradient);
}

static void put_answers(const cli *c, cli_json *json, const oatgp_evaluation *e) {
  cli_json_text(json, "likelihood", c->settings.likelihood);
  cli_json_likelihood(json, e->likelihood_count, e->likelihood_parameters);
}

static oatgp_status put_evaluation(cli *c, const oatgp_data *data, const oatgp_evaluation *e) {
  cli_json json = cli_json_begin();
  cli_json_number(&json, "objective", e->objective);
  cli_json_number(&json, "log_prior", e->log_prior);
  cli_json_text(&json, "approx", c->settings.approx);
  cli_json_text(&json, "kernel", c->settings.kernel);
  cli_json_whole(&json, "n", (int64_t)oatgp_data_rows(data));
  cli_json_whole(&json, "d", (int64_t)oatgp_data_inputs(data));
  cli_json_whole(&json, "knots", (int64_t)e->knots);
  if (e->parameter_count > 0) {
    cli_json_parameters(&json, e->parameter_count, e->parameters);
  } else {
    cli_json_number(&json, "sigma", e->sigma);
    cli_json_numbers(&json, "lengthscales", e->lengthscale_count, e->lengthscales);
  }
  if (is_gaussian(c)) {
    cli_json_number(&json, "tau", e->tau);
  } else {
    put_answers(c, &json, e);
  }
  if (has_shape(c)) {
    cli_json_number(&json, "shape", e->shape);
  }
  cli_json_number(&json, "mean", e->mean);
  cli_json_number(&json, "jitter", e->jitter);
  if (c->options.gradient) {
    put_gradient(c, &json, e);
  }
  return cli_json_end(c, &json, stdout, true);
}

/* ---- as text --------------------------------------------------------------------------------------------------- */

static void print_number(const char *label, double value) { printf("%-*s%.10g\n", LABEL_WIDTH, label, value); }

static void print_numbers(const char *label, size_t count, const double *values) {
  printf("%-*s", LABEL_WIDTH, label);
  for (size_t i = 0; i < count; i++) {
    printf("%s%.10g", i > 0 ? " " : "", values[i]);
  }
  printf("\n");
}

static void print_parameters(const oatgp_evaluation *e) {
  for (size_t i = 0; i < e->parameter_count; i++) {
    printf("%-*s%-16.10g %s\n", LABEL_WIDTH, i == 0 ? "parameters" : "", e->parameters[i].value, e->parameters[i].name);
  }
  if (e->parameter_count == 0) {
    print_number("sigma", e->sigma);
    print_numbers("lengthscales", e->lengthscale_count, e->lengthscales);
  }
}

static void print_answer_gradient(const oatgp_evaluation *e) {
  char label[64];
  for (size_t i = 0; i < e->likelihood_count; i++) {
    snprintf(label, sizeof label, "  log %s", e->likelihood_parameters[i].name);
    print_number(label, e->d_log_likelihood[i]);
  }
  print_number("  mean", e->d_mean);
}

static void print_gradient(const cli *c, const oatgp_evaluation *e) {
  printf("gradient with respect to\n");
  if (e->parameter_count > 0) {
    print_numbers("  log parameters", e->parameter_count, e->d_log_parameters);
  } else {
    print_number("  log sigma", e->d_log_sigma);
    print_numbers("  log lengthscales", e->lengthscale_count, e->d_log_lengthscales);
  }
  if (is_gaussian(c)) {
    print_number("  log tau", e->d_log_tau);
  } else {
    print_answer_gradient(e);
  }
  if (has_shape(c)) {
    print_number("  log shape", e->d_log_shape);
  }
  for (size_t i = 0; e->d_knots != NULL && i < e->knots; i++) {
    print_numbers(i == 0 ? "  knots (scaled)" : "", e->inputs, e->d_knots + i * e->inputs);
  }
}

static void print_evaluation(const cli *c, const oatgp_data *data, const oatgp_evaluation *e) {
  print_number("objective", e->objective);
  if (e->log_prior != 0) {
    print_number("  log prior", e->log_prior);
  }
  const size_t n = oatgp_data_rows(data), d = oatgp_data_inputs(data);
  printf("%-*s%zu row%s, %zu input%s\n", LABEL_WIDTH, "data", n, cli_plural(n), d, cli_plural(d));
  printf("%-*s%zu\n", LABEL_WIDTH, "knots", e->knots);
  print_parameters(e);
  if (is_gaussian(c)) {
    print_number("tau", e->tau);
  }
  for (size_t i = 0; i < e->likelihood_count; i++) {
    print_number(e->likelihood_parameters[i].name, e->likelihood_parameters[i].value);
  }
  if (has_shape(c)) {
    print_number("shape", e->shape);
  }
  print_number("mean", e->mean);
  print_number("jitter", e->jitter);
  if (c->options.gradient) {
    print_gradient(c, e);
  }
}

/* ---------------------------------------------------------------------------------------------------------------- */

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_data *data = NULL, *knots = NULL;
  oatgp_evaluation evaluation = {0};
  TRY(cli_need(c, c->settings.target, "--target COL"));
  if (!oatgp_kernel_has(c->settings.kernel, "sigma")) {
    c->settings.scale = 0; /* an expression is used as written */
  }
  TRY(oatgp_data_read(c->ctx, c->positionals[0], &c->settings, &data));
  TRY(cli_read_knots(c, data, &knots));
  TRY(oatgp_evaluate(c->ctx, data, &c->settings, knots, c->options.gradient, &evaluation));
  if (c->options.json) {
    TRY(put_evaluation(c, data, &evaluation));
  } else {
    cli_clear_line(c);
    print_evaluation(c, data, &evaluation);
  }
done:
  oatgp_evaluation_clear(&evaluation);
  oatgp_data_free(knots);
  oatgp_data_free(data);
  return status;
}

const cli_verb cli_objective = {
    .name = "objective",
    .summary = "evaluate the objective once at given parameters",
    .positionals = {"DATA"},
    .usage =
        "--target COL [--approx A] [--kernel K] [--knots FILE] [--sigma S] [--lengthscale L[,L..]] [--parameters "
        "P[,P..]] [--tau T] [OPTIONS]",
    .details =
        "Nothing is optimised; the verb is for checking and teaching. Parameters that are not given are chosen from "
        "the data, as at the start of a fit. The gradient is with respect to the logarithms of the parameters and to "
        "the scaled knots.",
    .example =
        "  oatgp objective train.csv --target y --approx vfe --kernel se --knots knots.csv \\\n"
        "        --sigma 1 --lengthscale 0.5 --tau 0.1 --no-scale --gradient --json",
    .run = run,
};
