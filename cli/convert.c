/* oatgp convert: writes a table as .npy, which is read many times faster, or as CSV. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"

enum { ROWS_AT_A_TIME = 1 << 16 };

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

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* The file that is written in blocks of rows, in either format. */
typedef struct output {
  cli *c;
  oatgp_npy *npy;
  oatgp_csv *csv;
  size_t columns, rows;
  double *block;         /* columns x ROWS_AT_A_TIME, for CSV */
  const double **values; /* columns */
} output;

static oatgp_status set_levels(cli *c, const oatgp_data *shape, output *o) {
  const char **levels = NULL;
  oatgp_status status = OATGP_OK;
  for (size_t k = 0; k < o->columns; k++) {
    size_t count = 0;
    while (level_of(shape, k, count) != NULL) {
      count++;
    }
    free(levels);
    levels = cli_new(c, count + 1, sizeof *levels, &status);
    TRY(status);
    for (size_t i = 0; i < count; i++) {
      levels[i] = level_of(shape, k, i);
    }
    TRY(count > 0 ? oatgp_csv_set_levels(c->ctx, o->csv, k, count, levels) : OATGP_OK);
  }
done:
  free(levels);
  return status;
}

static oatgp_status open_csv(cli *c, const oatgp_data *shape, output *o) {
  oatgp_status status;
  const char **names = cli_new(c, o->columns, sizeof *names, &status);
  TRY(status);
  o->values = cli_new(c, o->columns, sizeof *o->values, &status);
  TRY(status);
  o->block = cli_new(c, ROWS_AT_A_TIME * o->columns, sizeof *o->block, &status);
  TRY(status);
  for (size_t k = 0; k < o->columns; k++) {
    names[k] = oatgp_data_column_name(shape, k);
    o->values[k] = o->block + k * ROWS_AT_A_TIME;
  }
  TRY(oatgp_csv_open(c->ctx, c->options.output, o->columns, names, &o->csv));
  TRY(set_levels(c, shape, o));
done:
  free(names);
  return status;
}

static oatgp_status write_rows(output *o, const oatgp_data *data) {
  oatgp_status status = OATGP_OK;
  o->rows += oatgp_data_rows(data);
  if (o->npy != NULL) {
    return oatgp_npy_append(o->c->ctx, o->npy, data);
  }
  for (size_t k = 0; k < o->columns; k++) {
    TRY(oatgp_data_copy_column(o->c->ctx, data, k, o->block + k * ROWS_AT_A_TIME));
  }
  TRY(oatgp_csv_append(o->c->ctx, o->csv, oatgp_data_rows(data), o->values));
done:
  return status;
}

static oatgp_status write_stream(output *o, oatgp_stream *stream) {
  cli *c = o->c;
  oatgp_status status = OATGP_OK;
  oatgp_data *data = NULL;
  do {
    oatgp_data_free(data);
    data = NULL;
    TRY(oatgp_stream_next(c->ctx, stream, ROWS_AT_A_TIME, &data));
    TRY(data != NULL ? write_rows(o, data) : OATGP_OK);
    cli_progress_rows(c, o->rows, oatgp_stream_share(stream));
  } while (data != NULL);
done:
  oatgp_data_free(data);
  return status;
}

static bool is_file(const char *path, struct stat *info) {
  return strcmp(path, "-") != 0 && stat(path, info) == 0 && S_ISREG(info->st_mode);
}

/* The file must not change between its two readings. */
static oatgp_status check_same(cli *c, const struct stat *was) {
  struct stat now;
  return is_file(c->positionals[0], &now) && now.st_ino == was->st_ino && now.st_size == was->st_size &&
                 now.st_mtim.tv_sec == was->st_mtim.tv_sec && now.st_mtim.tv_nsec == was->st_mtim.tv_nsec
             ? OATGP_OK
             : cli_fail(c, OATGP_READ, "'%s' has changed while it was read; do not change it before the work is done",
                        c->positionals[0]);
}

/* The file is read twice: first to find out about its columns, then for the rows. */
static oatgp_status convert_file(cli *c, const struct stat *was, oatgp_data **shape, size_t *rows) {
  oatgp_status status;
  oatgp_stream *stream = NULL;
  output o = {.c = c};
  TRY(oatgp_data_look(c->ctx, c->positionals[0], &c->settings, shape));
  o.columns = oatgp_data_columns(*shape);
  TRY(oatgp_stream_open_like(c->ctx, c->positionals[0], *shape, &c->settings, &stream));
  TRY(to_csv(c) ? open_csv(c, *shape, &o) : oatgp_npy_open(c->ctx, c->options.output, o.columns, &o.npy));
  status = write_stream(&o, stream);
  status = status == OATGP_OK ? check_same(c, was) : status;
  const oatgp_status closed = o.npy != NULL ? oatgp_npy_close(c->ctx, o.npy, status == OATGP_OK)
                                            : oatgp_csv_close(c->ctx, o.csv, status == OATGP_OK);
  o.csv = NULL;
  TRY(status);
  TRY(closed);
  *rows = o.rows;
done:
  oatgp_csv_close(c->ctx, o.csv, 0);
  free(o.block);
  free(o.values);
  oatgp_stream_free(stream);
  return status;
}

/* All columns, with their names. */
static oatgp_status write_csv(cli *c, const oatgp_data *data) {
  oatgp_status status;
  output o = {.c = c, .columns = oatgp_data_columns(data)};
  const size_t rows = oatgp_data_rows(data);
  const char **names = NULL;
  o.block = cli_new(c, rows, o.columns * sizeof *o.block, &status);
  TRY(status);
  names = cli_new(c, o.columns, sizeof *names, &status);
  TRY(status);
  o.values = cli_new(c, o.columns, sizeof *o.values, &status);
  TRY(status);
  for (size_t k = 0; k < o.columns; k++) {
    names[k] = oatgp_data_column_name(data, k);
    o.values[k] = o.block + k * rows;
    TRY(oatgp_data_copy_column(c->ctx, data, k, o.block + k * rows));
  }
  TRY(cli_write_table(c, &(cli_table){c->options.output, rows, o.columns, names, o.values, level_of, data}));
done:
  free(o.block);
  free(o.values);
  free(names);
  return status;
}

/* A pipe can be read only once, so it is read into memory. */
static oatgp_status convert_pipe(cli *c, oatgp_data **data, size_t *rows) {
  oatgp_status status;
  TRY(oatgp_data_read(c->ctx, c->positionals[0], &c->settings, data));
  TRY(to_csv(c) ? write_csv(c, *data) : oatgp_data_write_npy(c->ctx, *data, c->options.output));
  *rows = oatgp_data_rows(*data);
done:
  return status;
}

/* ---- the report ------------------------------------------------------------------------------------------------ */

static oatgp_status print_json(cli *c, const oatgp_data *data, size_t rows) {
  cli_json json = cli_json_begin(), columns = cli_json_begin();
  cli_json_text(&json, "output", c->options.output);
  cli_json_whole(&json, "n", (int64_t)rows);
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

/* The names of the numeric columns that are categories, for --factors. */
static void print_factors(const oatgp_data *data) {
  const char *before = " --factors ";
  for (size_t k = 0; k < oatgp_data_inputs(data); k++) {
    if (oatgp_data_level_count(data, k) > 0) {
      printf("%s%zu", before, k + 1);
      before = ",";
    }
  }
}

/* Prints the roles of the columns, and the command that fits the new file. */
static void print_columns(const cli *c, const oatgp_data *data, size_t rows) {
  const size_t inputs = oatgp_data_inputs(data), columns = oatgp_data_columns(data);
  printf("%s: %zu rows\n", c->options.output, rows);
  for (size_t k = 0; k < columns; k++) {
    const char *role = oatgp_data_level_count(data, k) > 0 ? "category" : oatgp_data_column_role(data, k);
    printf("%s%-5zu%-16s", to_csv(c) ? "" : "V", k + 1, role);
    cli_print_name(oatgp_data_column_name(data, k), 0);
    printf("\n");
  }
  if (columns > inputs) {
    printf("fit it with: oatgp fit %s", c->options.output);
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
  struct stat was;
  size_t rows = 0;
  TRY(cli_need(c, c->options.output, "-o FILE.npy or FILE.csv"));
  TRY(strcmp(c->options.output, "-") != 0
          ? OATGP_OK
          : cli_usage_error(c, "the table cannot go to standard output; name a file with -o"));
  TRY(is_file(c->positionals[0], &was) ? convert_file(c, &was, &data, &rows) : convert_pipe(c, &data, &rows));
  if (c->options.json) {
    TRY(print_json(c, data, rows));
  } else if (!c->options.quiet) {
    cli_clear_line(c);
    print_columns(c, data, rows);
  }
done:
  oatgp_data_free(data);
  return status;
}

const cli_verb cli_convert = {
    .name = "convert",
    .summary = "write a table as .npy (fast to read again) or CSV",
    .positionals = {"DATA"},
    .usage = "-o FILE.npy|FILE.csv [--target COL] [OPTIONS]",
    .details =
        "DATA is any file that fit reads. FILE.npy has the same rows: first the inputs, then the target, weights, "
        "noise variances, trials and exposure if you name them. Without --target, every column that fit would use is "
        "an input. In FILE.npy, categories and the classes of a target become the numbers of their levels. The columns "
        "of an .npy file have no names: they are called V1, V2, .. and are chosen by number. Apart from the names, a "
        "model of FILE.npy is the same as a model of DATA, bit for bit; files for its predictions need the same order "
        "of columns. FILE.csv has the same columns with their names. A file is read twice, a block of rows at a time, "
        "so DATA may be larger than memory. Standard input is read into memory.",
    .example =
        "  oatgp convert train.csv --target y -o train.npy\n"
        "  oatgp fit train.npy --target last -o model.oatgp",
    .run = run,
};
