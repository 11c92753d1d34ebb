/* Rows that were held out, as a table. */
#include "heldout.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4 };

oatgp_status cli_held_out_make(cli *c, size_t rows, cli_held_out *held) {
  oatgp_status status = OATGP_OK;
  double *values = cli_new(c, rows, COLUMNS * sizeof *values, &status);
  if (values != NULL) {
    *held = (cli_held_out){rows, {values, values + rows, values + 2 * rows, values + 3 * rows}};
  }
  return status;
}

void cli_held_out_free(cli_held_out *held) { free(held->out.mean); }

bool cli_held_out_alone(const cli *c) { return strcmp(c->options.output, "-") == 0; }

oatgp_status cli_held_out_check(cli *c) {
  return cli_held_out_alone(c) && c->options.json
             ? cli_usage_error(c, "-o - and --json cannot both write to standard output")
             : OATGP_OK;
}

oatgp_status cli_held_out_write(cli *c, const cli_held_out *held) {
  static const char *const names[COLUMNS] = {"mean", "sd", "nlp", "residual"};
  if (*c->options.output == '\0') {
    return OATGP_OK;
  }
  cli_clear_line(c);
  const double *const values[COLUMNS] = {held->out.mean, held->out.sd, held->out.nlp, held->out.residual};
  return oatgp_write_csv(c->ctx, c->options.output, held->rows, COLUMNS, names, values);
}
