/* Saves a model that a verb has made, with the command line, and reports on it. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

oatgp_status cli_check_output(cli *c) {
  return strcmp(c->options.output, "-") != 0
             ? OATGP_OK
             : cli_usage_error(c, "the model cannot go to standard output; name a file with -o");
}

/* ---- the command line, kept in the model ----------------------------------------------------------------------- */

static bool is_plain(const char *argument) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  return *argument != '\0' && argument[strspn(argument, plain)] == '\0';
}

/* Appends the argument, quoted for a shell where it has to be; returns the new end. */
static char *append_quoted(char *end, const char *argument) {
  if (is_plain(argument)) {
    const size_t length = strlen(argument);
    memcpy(end, argument, length);
    return end + length;
  }
  *end++ = '\'';
  for (; *argument != '\0'; argument++) {
    if (*argument == '\'') {
      memcpy(end, "'\\'", 3);
      end += 3;
    }
    *end++ = *argument;
  }
  *end++ = '\'';
  return end;
}

/* Appends the command to those that made the model, each on a line. */
static oatgp_status keep_command(cli *c, oatgp_model *model) {
  oatgp_status status;
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  size_t size = strlen(info.command) + sizeof "\noatgp";
  for (int i = 0; i < c->argument_count; i++) {
    size += 4 * strlen(c->arguments[i]) + 3;
  }
  char *command = cli_new(c, size, 1, &status);
  if (command == NULL) {
    return status;
  }
  char *end = command + snprintf(command, size, "%s%soatgp", info.command, *info.command != '\0' ? "\n" : "");
  for (int i = 0; i < c->argument_count; i++) {
    *end++ = ' ';
    end = append_quoted(end, c->arguments[i]);
  }
  *end = '\0';
  status = oatgp_model_set_command(c->ctx, model, command);
  free(command);
  return status;
}

/* ---------------------------------------------------------------------------------------------------------------- */

oatgp_status cli_save_model(cli *c, oatgp_model *model) {
  oatgp_status status;
  TRY(keep_command(c, model));
  TRY(oatgp_model_save(c->ctx, model, c->options.output));
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  if (info.stop == OATGP_STOP_USER) {
    c->interrupted = true;
    if (oatgp_rank() == 0) {
      cli_fail(c, OATGP_OK, "interrupted; the best model so far is in '%s'", c->options.output);
    }
  }
  TRY(cli_report_model(c, model, c->options.output, false));
done:
  return status;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static oatgp_status set_levels(cli *c, const cli_table *table, oatgp_csv *csv, size_t column) {
  const char **levels = NULL;
  size_t count = 0;
  oatgp_status status = OATGP_OK;
  while (table->level(table->of, column, count) != NULL) {
    count++;
  }
  if (count == 0) {
    return OATGP_OK;
  }
  levels = cli_new(c, count, sizeof *levels, &status);
  TRY(status);
  for (size_t i = 0; i < count; i++) {
    levels[i] = table->level(table->of, column, i);
  }
  TRY(oatgp_csv_set_levels(c->ctx, csv, column, count, levels));
done:
  free(levels);
  return status;
}

oatgp_status cli_write_table(cli *c, const cli_table *table) {
  oatgp_csv *csv = NULL;
  oatgp_status status;
  TRY(oatgp_csv_open(c->ctx, table->path, table->columns, table->names, &csv));
  for (size_t k = 0; k < table->columns; k++) {
    TRY(set_levels(c, table, csv, k));
  }
  TRY(oatgp_csv_append(c->ctx, csv, table->rows, table->values));
done:;
  const oatgp_status closed = oatgp_csv_close(c->ctx, csv, status == OATGP_OK);
  return status == OATGP_OK ? closed : status;
}
