/* oatgp info: describes a model and its fit, and writes its knots as a table. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Knots come as rows; a table is written by columns, with mean and sd as the last two. */
typedef struct knot_table {
  size_t rows, inputs;
  double *knots;   /* rows x inputs */
  double *columns; /* (inputs + 2) columns of `rows` values */
  const char **names;
  const double **values;
} knot_table;

static oatgp_status make_table(cli *c, const oatgp_model *model, knot_table *t) {
  oatgp_status status;
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  *t = (knot_table){.rows = info.knots, .inputs = info.d};
  t->knots = cli_new(c, t->rows, t->inputs * sizeof(double), &status);
  TRY(status);
  t->columns = cli_new(c, t->rows, (t->inputs + 2) * sizeof(double), &status);
  TRY(status);
  t->names = cli_new(c, t->inputs + 2, sizeof *t->names, &status);
  TRY(status);
  t->values = cli_new(c, t->inputs + 2, sizeof *t->values, &status);
  TRY(status);
  for (size_t j = 0; j < t->inputs + 2; j++) {
    t->names[j] = j < t->inputs ? oatgp_model_input_name(model, j) : j == t->inputs ? "mean" : "sd";
    t->values[j] = t->columns + j * t->rows;
  }
done:
  return status;
}

static void free_table(knot_table *t) {
  free(t->knots);
  free(t->columns);
  free(t->names);
  free(t->values);
}

static const char *level_of(const void *of, size_t column, size_t level) {
  return oatgp_model_level(of, column, level);
}

static oatgp_status write_knots(cli *c, const oatgp_model *model) {
  oatgp_status status;
  knot_table t = {0};
  TRY(make_table(c, model, &t));
  if (t.rows == 0) {
    TRY(cli_fail(c, OATGP_DATA, "'%s' is a full GP, which has no knots to write", c->positionals[0]));
  }
  double *mean = t.columns + t.inputs * t.rows;
  TRY(oatgp_model_knots(c->ctx, model, t.knots, mean, mean + t.rows));
  for (size_t i = 0; i < t.rows * t.inputs; i++) {
    t.columns[(i % t.inputs) * t.rows + i / t.inputs] = t.knots[i];
  }
  TRY(cli_write_table(c, &(cli_table){c->options.knots, t.rows, t.inputs + 2, t.names, t.values, level_of, model}));
done:
  free_table(&t);
  return status;
}

/* If the knots go to standard output, they are the only output. */
static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_model *model = NULL;
  const bool knots_only = strcmp(c->options.knots, "-") == 0;
  if (knots_only && c->options.json) {
    return cli_usage_error(c, "--knots - and --json cannot both write to standard output");
  }
  TRY(oatgp_model_load(c->ctx, c->positionals[0], &model));
  if (*c->options.knots != '\0') {
    TRY(write_knots(c, model));
  }
  if (!knots_only) {
    TRY(cli_report_model(c, model, c->positionals[0], true));
  }
done:
  oatgp_model_free(model);
  return status;
}

const cli_verb cli_info = {
    .name = "info",
    .summary = "describe a model and write its knots",
    .positionals = {"MODEL"},
    .usage = "[--knots FILE.csv] [OPTIONS]",
    .details = "Lengthscales are in scaled units, everything else is in the data's units.",
    .example =
        "  oatgp info model.oatgp\n"
        "  oatgp info model.oatgp --knots knots.csv --json",
    .run = run,
};
