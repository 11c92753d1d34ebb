/* From a full table to data: text columns are left out, rows with missing values are dropped, columns become a matrix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/shown.h"
#include "data/table.h"
#include "util/memory.h"

/* A column without any value is refused, unless it has no name either: then it comes from delimiters at the line ends. */
static oatgp_status check_values(oatgp_context *ctx, const oat_table *table) {
  const oat_layout *layout = table->layout;
  for (size_t k = 0; k < table->count; k++) {
    const oat_series *series = &table->series[k];
    if (series->content == OAT_UNSEEN && !layout->unnamed[series->column]) {
      return oat_fail(ctx, OATGP_DATA, "'%s': column '%s' has no value in any row; fill it in, or leave it out with --inputs", layout->file,
                      oat_show_text(layout->names[series->column]).text);
    }
  }
  return OATGP_OK;
}

/* Takes the columns without numbers out of the table, and says so. */
static void leave_out_text(oatgp_context *ctx, oat_table *table) {
  oat_list list = {{0}, 0, 0, 0};
  size_t kept = 0;
  for (size_t k = 0; k < table->count; k++) {
    oat_series *series = &table->series[k];
    if (series->content == OAT_NUMBERS) {
      table->series[kept++] = *series;
    } else {
      oat_list_add(&list, table->layout->names[series->column]);
      free(series->values);
    }
  }
  const size_t left_out = table->count - kept;
  table->count = kept;
  if (left_out > 0) {
    oat_say(ctx, OATGP_NOTE, "'%s': %zu of %zu columns hold no numbers and are not used: %s", table->layout->file, left_out,
            table->layout->columns, oat_list_end(&list));
  }
}

static size_t count_inputs(const oat_table *table) {
  size_t inputs = 0;
  for (size_t k = 0; k < table->count; k++) {
    inputs += table->series[k].role == OAT_INPUT;
  }
  return inputs;
}

/* Names that occur twice among the columns used could not be told apart in another file. */
static oatgp_status check_names(oatgp_context *ctx, const oat_table *table) {
  const oat_layout *layout = table->layout;
  memset(table->used, 0, layout->columns);
  for (size_t k = 0; k < table->count; k++) {
    table->used[table->series[k].column] = 1;
  }
  const char *before = NULL;
  for (size_t k = 0; k < layout->columns; k++) {
    const oat_named *named = &layout->sorted[k];
    if (!table->used[named->column]) {
      continue;
    }
    if (before != NULL && strcmp(before, named->name) == 0) {
      return oat_fail(ctx, OATGP_DATA,
                      "'%s': several of the columns used have the name '%s', one of them column %zu; rename them, or use one", layout->file,
                      oat_show_text(before).text, named->column + 1);
    }
    before = named->name;
  }
  return OATGP_OK;
}

static oatgp_status check_table(oatgp_context *ctx, oat_table *table) {
  const oat_layout *layout = table->layout;
  if (table->rows == 0) {
    return oat_fail(ctx, OATGP_DATA, "'%s' has no rows%s", layout->file, layout->header ? " below its header" : "");
  }
  const oatgp_status status = check_values(ctx, table);
  if (status != OATGP_OK) {
    return status;
  }
  leave_out_text(ctx, table);
  if (count_inputs(table) == 0) {
    return oat_fail(ctx, OATGP_DATA,
                    "'%s' has no input column: no column of numbers is left (columns are separated by commas, tabs or semicolons, "
                    "decimals have a point)",
                    layout->file);
  }
  return table->names != NULL ? OATGP_OK : check_names(ctx, table);
}

/* Marks the rows with a missing value and returns how many there are. */
static size_t mark_incomplete(const oat_table *table, unsigned char *incomplete) {
  size_t marked = 0;
  for (size_t k = 0; k < table->count; k++) {
    const oat_series *series = &table->series[k];
    for (size_t i = 0; series->first_missing > 0 && i < table->rows; i++) {
      if (isnan(series->values[i]) && !incomplete[i]) {
        incomplete[i] = 1;
        marked++;
      }
    }
  }
  return marked;
}

static void keep_complete(const oat_table *table, const unsigned char *incomplete) {
  for (size_t k = 0; k < table->count; k++) {
    double *values = table->series[k].values;
    size_t kept = 0;
    for (size_t i = 0; i < table->rows; i++) {
      values[kept] = values[i];
      kept += !incomplete[i];
    }
  }
}

static oatgp_status drop_rows(oatgp_context *ctx, oat_table *table, size_t *dropped) {
  unsigned char *incomplete = NULL;
  oatgp_status status = oat_new(ctx, table->rows, sizeof *incomplete, &incomplete);
  if (status != OATGP_OK) {
    return status;
  }
  const size_t rows = table->rows;
  *dropped = mark_incomplete(table, incomplete);
  if (*dropped == rows) {
    status = oat_fail(ctx, OATGP_DATA, "'%s' has no rows left: each of its %zu rows has a missing value in a column that is used",
                      table->layout->file, rows);
  } else if (*dropped > 0) {
    keep_complete(table, incomplete);
    table->rows -= *dropped;
    oat_say(ctx, OATGP_NOTE, "'%s': dropped %zu of %zu rows, which have missing values", table->layout->file, *dropped, rows);
  }
  free(incomplete);
  return status;
}

/* Values are copied one column after the other and freed at once, so that they are in memory twice one column at a time. */
static oatgp_status take_input(oatgp_context *ctx, const oat_table *table, oat_series *series, oatgp_data *data, size_t j) {
  const char *name = table->names != NULL ? table->names[j] : table->layout->names[series->column];
  memcpy(data->x + j * data->n, series->values, data->n * sizeof *data->x);
  free(series->values);
  series->values = NULL;
  data->positions[j] = series->column + 1;
  return oat_copy_text(ctx, name, &data->names[j]);
}

static oatgp_status take_other(oatgp_context *ctx, const oat_table *table, oat_series *series, oatgp_data *data) {
  double **const values[OAT_ROLES] = {NULL, &data->y, &data->weight, &data->noise};
  char **const names[OAT_ROLES] = {NULL, &data->target, &data->weight_name, &data->noise_name};
  *values[series->role] = series->values;
  series->values = NULL;
  return oat_copy_text(ctx, table->layout->names[series->column], names[series->role]);
}

static oatgp_status fill_data(oatgp_context *ctx, const oat_table *table, oatgp_data *data) {
  oatgp_status status = OATGP_OK;
  size_t j = 0;
  data->header = table->layout->header;
  data->columns = table->layout->columns;
  data->n = table->rows;
  TRY(oat_new(ctx, count_inputs(table), sizeof *data->names, &data->names));
  data->d = count_inputs(table);
  TRY(oat_new(ctx, data->d, sizeof *data->positions, &data->positions));
  TRY(oat_new_matrix(ctx, data->n, data->d, &data->x));
  for (size_t k = 0; k < table->count; k++) {
    oat_series *series = &table->series[k];
    TRY(series->role == OAT_INPUT ? take_input(ctx, table, series, data, j++) : take_other(ctx, table, series, data));
  }
done:
  return status;
}

oatgp_status oat_table_to_data(oatgp_context *ctx, oat_table *table, oatgp_data **out) {
  oatgp_status status = OATGP_OK;
  oatgp_data *data = NULL;
  TRY(check_table(ctx, table));
  TRY(oat_new(ctx, 1, sizeof *data, &data));
  TRY(drop_rows(ctx, table, &data->dropped));
  TRY(fill_data(ctx, table, data));
  *out = data;
  data = NULL;
done:
  oatgp_data_free(data);
  return status;
}
