/* oatgp convert: a table as .npy, which is read many times faster, or as CSV. */
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* Prints the option that names a column of this role in the new file: "noise variance" has --noise-variance. */
static void print_option(const char *role, size_t number) {
  printf(" --");
  for (const char *at = role; *at != '\0'; at++) {
    putchar(*at == ' ' ? '-' : *at);
  }
  printf(" %zu", number);
}

static bool to_csv(const cli *c) { return cli_has_ending(c->options.output, ".csv"); }

/* The target comes after the inputs. */
static const char *level_of(const void *of, size_t column, size_t level) {
  return column == oatgp_data_inputs(of) ? oatgp_data_target_level(of, level) : oatgp_data_level(of, column, level);
}

/* All columns, with their names. */
static oatgp_status write_csv(cli *c, const oatgp_data *data) {
  const size_t rows = oatgp_data_rows(data), columns = oatgp_data_columns(data);
  oatgp_status status;
  const char **names = NULL;
  const double **values = NULL;
  double *block = cli_new(c, rows, columns * sizeof *block, &status);
  TRY(status);
  names = cli_new(c, columns, sizeof *names, &status);
  TRY(status);
  values = cli_new(c, columns, sizeof *values, &status);
  TRY(status);
  for (size_t k = 0; k < columns; k++) {
    names[k] = oatgp_data_column_name(data, k);
    values[k] = block + k * rows;
    TRY(oatgp_data_copy_column(c->ctx, data, k, block + k * rows));
  }
  TRY(cli_write_table(c, &(cli_table){c->options.output, rows, columns, names, values, level_of, data}));
done:
  free(block);
  free(names);
  free(values);
  return status;
}

static oatgp_status print_json(cli *c, const oatgp_data *data) {
  cli_json json = cli_json_begin(), columns = cli_json_begin();
  cli_json_text(&json, "output", c->options.output);
  cli_json_whole(&json, "n", (int64_t)oatgp_data_rows(data));
  for (size_t k = 0; k < oatgp_data_columns(data); k++) {
    cli_json column = cli_json_begin();
    char number[24];
    snprintf(number, sizeof number, "V%zu", k + 1);
    cli_json_text(&column, "name", oatgp_data_column_name(data, k));
    cli_json_text(&column, "role", oatgp_data_column_role(data, k));
    cli_json_object(&columns, number, &column);
  }
  cli_json_object(&json, "columns", &columns);
  return cli_json_end(c, &json, stdout, true);
}

/* Numbers that are categories must be named. */
static void print_factors(const oatgp_data *data) {
  const char *before = " --factors ";
  for (size_t k = 0; k < oatgp_data_inputs(data); k++) {
    if (oatgp_data_level_count(data, k) > 0) {
      printf("%s%zu", before, k + 1);
      before = ",";
    }
  }
}

/* Which column is which, and how to fit what was written. */
static void print_columns(const cli *c, const oatgp_data *data) {
  const size_t inputs = oatgp_data_inputs(data), columns = oatgp_data_columns(data);
  printf("%s: %zu rows\n", c->options.output, oatgp_data_rows(data));
  for (size_t k = 0; k < columns; k++) {
    const char *role = oatgp_data_level_count(data, k) > 0 ? "category" : oatgp_data_column_role(data, k);
    printf("%s%-5zu%-16s%s\n", to_csv(c) ? "" : "V", k + 1, role, oatgp_data_column_name(data, k));
  }
  if (columns > inputs) {
    printf("to fit it: oatgp fit %s", c->options.output);
    for (size_t k = inputs; k < columns; k++) {
      print_option(oatgp_data_column_role(data, k), k + 1);
    }
    if (strcmp(c->settings.likelihood, "gaussian") != 0) {
      printf(" --likelihood %s", c->settings.likelihood);
    }
    print_factors(data);
    printf(" -o MODEL\n");
  }
}

static oatgp_status run(cli *c) {
  oatgp_status status;
  oatgp_data *data = NULL;
  TRY(cli_need(c, c->options.output, "-o FILE.npy or FILE.csv"));
  TRY(strcmp(c->options.output, "-") != 0 ? OATGP_OK : cli_usage_error(c, "the table cannot go to standard output; give a file by -o"));
  TRY(oatgp_data_read(c->ctx, c->positionals[0], &c->settings, &data));
  TRY(to_csv(c) ? write_csv(c, data) : oatgp_data_write_npy(c->ctx, data, c->options.output));
  if (c->options.json) {
    TRY(print_json(c, data));
  } else if (!c->options.quiet) {
    cli_clear_line(c);
    print_columns(c, data);
  }
done:
  oatgp_data_free(data);
  return status;
}

const cli_verb cli_convert = {
    .name = "convert",
    .summary = "write a table as .npy, for repeated work, or as CSV",
    .positionals = {"DATA"},
    .usage = "-o FILE.npy|FILE.csv [--target COL] [OPTIONS]",
    .details =
        "DATA is what fit reads. FILE.npy has the same rows, with the inputs first, then the target, the weights, the noise variances, the "
        "trials and the exposure, as far as they are asked for; without --target every column is an input that fit would use. Categories "
        "and "
        "the classes of a target become the numbers of their levels in FILE.npy. The columns of an .npy file have no "
        "names: they are called V1, V2, .. and chosen by number. A model of FILE.npy has the numbers of a model of DATA, bit for bit, but "
        "those names; predict with it from files in the same order of columns. FILE.csv has the same columns under their names.",
    .example =
        "  oatgp convert train.csv --target y -o train.npy\n"
        "  oatgp fit train.npy --target last -o model.oatgp",
    .run = run,
};
