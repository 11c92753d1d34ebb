/* From a table to data: text columns are left out, rows with missing values are dropped, columns become a matrix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/shown.h"
#include "tables/table.h"
#include "util/lanes.h"
#include "util/memory.h"
#include "util/threads.h"

/* A column without any value is refused, unless it has no name either: then it comes from delimiters at the line ends. */
static oatgp_status check_values(oatgp_context *ctx, const oat_table *table) {
  const oat_layout *layout = table->layout;
  for (size_t k = 0; k < table->count; k++) {
    const oat_series *series = &table->series[k];
    REFUSE_IF(series->content == OAT_CONTENT_UNSEEN && !layout->unnamed[series->column], ctx, OATGP_DATA,
              "'%s': column '%s' has no value in any row; fill it in, or leave it out with --inputs", layout->file,
              oat_show_text(layout->names[series->column]).text);
  }
  return OATGP_OK;
}

/* A column of text with some numbers in it is no plain case. */
static void warn_of_mixture(oatgp_context *ctx, const oat_table *table, const oat_series *series, const oat_doubt *doubt) {
  oat_say(ctx, OATGP_WARNING,
          "'%s': column '%s' is taken as text and not used: %zu of its first %zu values are not numbers, such as '%s' in %s %zu",
          table->layout->file, oat_show_text(table->layout->names[series->column]).text, doubt->texts, doubt->texts + doubt->numbers,
          doubt->text.text, table->layout->unit, doubt->place);
}

/* Takes the columns without numbers out of the table, and says so. */
static void leave_out_text(oatgp_context *ctx, oat_table *table) {
  oat_list list = {{0}, 0, 0, 0};
  size_t kept = 0, left_out = 0;
  for (size_t k = 0; k < table->count; k++) {
    oat_series *series = &table->series[k];
    if (series->content == OAT_CONTENT_NUMBERS) {
      table->series[kept++] = *series;
      continue;
    }
    free(series->values);
    if (table->doubts[k].numbers > 0) {
      warn_of_mixture(ctx, table, series, &table->doubts[k]);
    } else {
      oat_list_add(&list, table->layout->names[series->column]);
      left_out++;
    }
  }
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
    REFUSE_IF(before != NULL && strcmp(before, named->name) == 0, ctx, OATGP_DATA,
              "'%s': several of the columns used have the name '%s', one of them column %zu; rename them, or use one", layout->file,
              oat_show_text(before).text, named->column + 1);
    before = named->name;
  }
  return OATGP_OK;
}

oatgp_status oat_table_check(oatgp_context *ctx, oat_table *table, size_t rows_read) {
  const oat_layout *layout = table->layout;
  REFUSE_IF(rows_read == 0, ctx, OATGP_DATA, "'%s' has no rows%s", layout->file, layout->header ? " below its header" : "");
  PASS_ON(table->looking ? oat_table_settle(ctx, table, rows_read) : OATGP_OK);
  PASS_ON(check_values(ctx, table));
  leave_out_text(ctx, table);
  REFUSE_IF(count_inputs(table) == 0, ctx, OATGP_DATA,
            "'%s' has no input column: no column of numbers is left (columns are separated by commas, tabs or semicolons, "
            "decimals have a point)",
            layout->file);
  return table->names != NULL ? OATGP_OK : check_names(ctx, table);
}

/* Marks the rows with a missing value, of those not yet looked at, and returns how many there are. */
static size_t mark_incomplete(const oat_table *table, unsigned char *incomplete) {
  size_t marked = 0;
  for (size_t k = 0; k < table->count; k++) {
    const oat_series *series = &table->series[k];
    const double *values = series->values + table->complete;
    for (size_t i = 0; series->first_missing > 0 && i < table->rows - table->complete; i++) {
      if (isnan(values[i]) && !incomplete[i]) {
        incomplete[i] = 1;
        marked++;
      }
    }
  }
  return marked;
}

static void keep_complete(const oat_table *table, const unsigned char *incomplete) {
  for (size_t k = 0; k < table->count; k++) {
    double *values = table->series[k].values + table->complete;
    size_t kept = 0;
    for (size_t i = 0; i < table->rows - table->complete; i++) {
      values[kept] = values[i];
      kept += !incomplete[i];
    }
  }
}

oatgp_status oat_table_drop(oatgp_context *ctx, oat_table *table) {
  unsigned char *incomplete = NULL;
  if (table->drop && table->rows > table->complete) {
    PASS_ON(oat_new(ctx, table->rows - table->complete, sizeof *incomplete, &incomplete));
    const size_t marked = mark_incomplete(table, incomplete);
    if (marked > 0) {
      keep_complete(table, incomplete);
    }
    free(incomplete);
    table->rows -= marked;
    table->dropped += marked;
  }
  table->complete = table->rows;
  return OATGP_OK;
}

/* Moves the first values of a column to their place in the data; the others move up. A column that is used up is freed at once, so
 * that each thread has no more than one column in memory twice. */
static void take_values(const oat_table *table, oat_series *series, size_t rows) {
  memcpy(series->place, series->values, rows * sizeof *series->values);
  if (rows == table->rows) {
    free(series->values);
    series->values = NULL;
    series->capacity = 0;
  } else {
    memmove(series->values, series->values + rows, (table->rows - rows) * sizeof *series->values);
  }
}

/* Gives series k, the j-th input if it is one, a place in the data, and its name. */
static oatgp_status place_series(oatgp_context *ctx, const oat_table *table, size_t k, size_t j, oatgp_data *data) {
  oat_series *series = &table->series[k];
  const char *name = table->layout->names[series->column];
  if (series->role == OAT_INPUT) {
    series->place = data->own_x + j * data->n;
    data->positions[j] = series->column + 1;
    return oat_copy_text(ctx, table->names != NULL ? table->names[j] : name, &data->names[j]);
  }
  double **const values[OAT_ROLES] = {NULL, &data->own_y, &data->weight, &data->noise};
  char **const names[OAT_ROLES] = {NULL, &data->target, &data->weight_name, &data->noise_name};
  size_t *const positions[OAT_ROLES] = {NULL, &data->target_position, &data->weight_position, &data->noise_position};
  *positions[series->role] = series->column + 1;
  const oatgp_status status = oat_new(ctx, data->n, sizeof(double), values[series->role]);
  series->place = *values[series->role];
  return status == OATGP_OK ? oat_copy_text(ctx, name, names[series->role]) : status;
}

static oatgp_status make_room(oatgp_context *ctx, const oat_table *table, oatgp_data *data) {
  size_t j = 0;
  data->header = table->layout->header;
  data->columns = table->layout->columns;
  PASS_ON(oat_new(ctx, count_inputs(table), sizeof *data->names, &data->names));
  data->d = count_inputs(table);
  PASS_ON(oat_new(ctx, data->d, sizeof *data->positions, &data->positions));
  PASS_ON(oat_data_own_inputs(ctx, data));
  for (size_t k = 0; k < table->count; k++) {
    PASS_ON(place_series(ctx, table, k, j, data));
    j += table->series[k].role == OAT_INPUT;
  }
  data->y = data->own_y;
  return OATGP_OK;
}

oatgp_status oat_table_to_data(oatgp_context *ctx, oat_table *table, size_t rows, oatgp_data **out) {
  oatgp_status status = OATGP_OK;
  oatgp_data *data = NULL;
  TRY(oat_new(ctx, 1, sizeof *data, &data));
  data->n = rows;
  TRY(make_room(ctx, table, data));
  const int threads = oat_threads_for(ctx->threads, OAT_FLOPS_OF_MEMORY * (double)rows * (double)table->count);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
  for (size_t k = 0; k < table->count; k++) {
    take_values(table, &table->series[k], rows);
  }
  table->rows -= rows;
  table->complete -= rows;
  *out = data;
  data = NULL;
done:
  oatgp_data_free(data);
  return status;
}
