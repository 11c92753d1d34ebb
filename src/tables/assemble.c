/* From a table to data: text columns become categories or are left out, rows with missing values are dropped, columns
 * become a matrix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/shown.h"
#include "tables/table.h"
#include "util/lanes.h"
#include "util/memory.h"
#include "util/threads.h"

/* Columns of categories and classes have texts from their first row on, of which all may be missing. */
static bool has_no_value(const oat_table *table, size_t k) {
  const oat_content content = table->series[k].content;
  return content == OAT_CONTENT_UNSEEN || (content == OAT_CONTENT_WORDS && table->levels[k].count == 0);
}

/* A column without values is refused. If it has no name either, it comes from delimiters at the line ends and is
 * allowed. */
static oatgp_status check_values(oatgp_context *ctx, const oat_table *table) {
  const oat_layout *layout = table->layout;
  for (size_t k = 0; k < table->count; k++) {
    const oat_series *series = &table->series[k];
    REFUSE_IF(has_no_value(table, k) && (series->asked || !layout->unnamed[series->column]), ctx, OATGP_DATA,
              "'%s': column '%s' has no value in any row; fill it in%s", layout->file,
              oat_show_text(layout->names[series->column]).text,
              series->role == OAT_INPUT ? ", or leave it out with --inputs" : "");
  }
  return OATGP_OK;
}

/* ---- categories ------------------------------------------------------------------------------------------------ */

/* Warns of a column of text in which some values are numbers. */
static void warn_of_mixture(oatgp_context *ctx, const oat_table *table, const oat_series *series,
                            const oat_doubt *doubt) {
  oat_say(ctx, OATGP_WARNING,
          "'%s': column '%s' is treated as text: %zu of its first %zu values are not numbers, such as '%s' in %s %zu",
          table->layout->file, oat_show_text(table->layout->names[series->column]).text, doubt->texts,
          doubt->texts + doubt->numbers, doubt->text.text, table->layout->unit, doubt->place);
}

static size_t count_values(const oat_table *table, const oat_series *series) {
  size_t values = series->forgotten;
  for (size_t i = 0; i < table->rows; i++) {
    values += isnan(series->values[i]) ? 0 : 1;
  }
  return values;
}

/* Whether nearly every row has a different text, so that the column identifies rows instead of grouping them. */
static bool names_rows(const oat_table *table, size_t k) {
  const oat_series *series = &table->series[k];
  return !series->asked && (series->crowded || 2 * table->levels[k].count > count_values(table, series));
}

/* Sorts the levels and replaces the values by the new codes. */
static oatgp_status sort_levels(oatgp_context *ctx, const oat_table *table, size_t k) {
  double *values = table->series[k].values;
  size_t *to = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, table->levels[k].count, sizeof *to, &to));
  TRY(oat_levels_sort(ctx, &table->levels[k], to));
  for (size_t i = 0; i < table->rows; i++) {
    values[i] = isnan(values[i]) ? NAN : (double)to[(size_t)values[i]];
  }
done:
  free(to);
  return status;
}

/* Moves series k to the place `kept`, which is not behind it. */
static void keep_series(oat_table *table, size_t k, size_t kept) {
  const oat_series series = table->series[k];
  const oat_levels levels = table->levels[k];
  table->series[k].values = NULL;
  table->levels[k] = (oat_levels){0};
  oat_levels_clear(&table->levels[kept]);
  table->series[kept] = series;
  table->levels[kept] = levels;
}

/* The columns by what happens to them, for one message each. */
typedef struct fates {
  oat_list categories, names, empty;
  size_t n_categories, n_names, n_empty;
} fates;

static bool leaves_out(oatgp_context *ctx, const oat_table *table, size_t k, fates *told) {
  const oat_series *series = &table->series[k];
  const char *name = table->layout->names[series->column];
  const bool words = series->content == OAT_CONTENT_WORDS, named = words && names_rows(table, k);
  if (words && table->doubts[k].numbers > 0) {
    warn_of_mixture(ctx, table, series, &table->doubts[k]);
  }
  if (named) {
    oat_list_add(&told->names, name);
    told->n_names++;
  } else if (series->content == OAT_CONTENT_UNSEEN) {
    oat_list_add(&told->empty, name);
    told->n_empty++;
  } else if (words && series->role == OAT_INPUT) {
    oat_list_add_levels(&told->categories, name, table->levels[k].count);
    told->n_categories++;
  }
  return named || series->content == OAT_CONTENT_UNSEEN;
}

static void tell_of_fates(oatgp_context *ctx, const oat_table *table, fates *told) {
  const oat_layout *layout = table->layout;
  if (told->n_empty > 0) {
    oat_say(ctx, OATGP_NOTE, "'%s': %zu of %zu columns have no value and are not used: %s", layout->file, told->n_empty,
            layout->columns, oat_list_end(&told->empty));
  }
  if (told->n_names > 0) {
    oat_say(ctx, OATGP_NOTE,
            "'%s': %zu of %zu columns have a different text in nearly every row and are not used: %s; to use them as "
            "categories, name them with --factors",
            layout->file, told->n_names, layout->columns, oat_list_end(&told->names));
  }
  if (told->n_categories > 0) {
    oat_say(ctx, OATGP_NOTE, "'%s': %zu of %zu columns are categories: %s", layout->file, told->n_categories,
            layout->columns, oat_list_end(&told->categories));
  }
}

/* Whether all texts are numbers; the first of the sorted ones are. */
static bool all_numbers(const oat_levels *levels) {
  double value;
  const char *last = levels->name[levels->count - 1];
  return oat_read_number(last, strlen(last), &value) == OAT_NUMBER;
}

/* Checks the number of classes of the target, and tells which class has which code. */
static oatgp_status settle_classes(oatgp_context *ctx, const oat_table *table, size_t k) {
  const oat_levels *levels = &table->levels[k];
  const size_t most = table->series[k].classes;
  const oat_shown target = oat_show_text(table->layout->names[table->series[k].column]);
  const char *file = table->layout->file;
  oat_list names = {{0}, 0, 0, 0};
  for (size_t i = 0; i < levels->count; i++) {
    oat_list_add(&names, levels->name[i]);
  }
  REFUSE_IF(levels->count > most, ctx, OATGP_DATA,
            "'%s': the target '%s' has %zu different values: %s; at most %zu are allowed: %s", file, target.text,
            levels->count, oat_list_end(&names), most,
            most == 2 ? "correct them, or use --likelihood=ordinal if they have an order"
                      : "merge some of them, or use a likelihood for numbers");
  REFUSE_IF(levels->count < 2, ctx, OATGP_DATA,
            "'%s': the target '%s' is '%s' in all rows; two classes or more are needed", file, target.text,
            levels->name[0]);
  if (most == 2) {
    oat_say(ctx, OATGP_NOTE, "'%s': the target '%s' has two classes; 0 stands for '%s' and 1 for '%s'", file,
            target.text, oat_show_text(levels->name[0]).text, oat_show_text(levels->name[1]).text);
  } else {
    oat_say(ctx, OATGP_NOTE, "'%s': the target '%s' has %zu classes in this order: %s%s", file, target.text,
            levels->count, oat_list_end(&names),
            all_numbers(levels)
                ? ""
                : "; the order is alphabetical; for another order name them 1, 2, .. or '1 low', '2 high'");
  }
  return OATGP_OK;
}

/* Numbers of rows, as pandas and R write them, are a column without a name. */
static void warn_of_no_name(oatgp_context *ctx, const oat_table *table, const oat_series *series) {
  if (series->role == OAT_INPUT && !series->asked && table->layout->unnamed[series->column]) {
    oat_say(
        ctx, OATGP_WARNING,
        "'%s': column %zu has no name, like the row numbers that pandas and R write, and is used as input '%s'; if it "
        "is not an input, name the others with --inputs",
        table->layout->file, series->column + 1, oat_show_text(table->layout->names[series->column]).text);
  }
}

/* Leaves out the columns without a value and texts that name rows, and brings levels into their order. */
static oatgp_status settle_categories(oatgp_context *ctx, oat_table *table) {
  fates told = {0};
  size_t kept = 0;
  if (table->like) { /* nothing is left out, and levels have their codes */
    return OATGP_OK;
  }
  for (size_t k = 0; k < table->count; k++) {
    oat_series *series = &table->series[k];
    if (leaves_out(ctx, table, k, &told)) {
      free(series->values);
      series->values = NULL;
      continue;
    }
    const bool category = series->content == OAT_CONTENT_WORDS;
    warn_of_no_name(ctx, table, series);
    PASS_ON(category && !table->drop && series->first_missing > 0 ? oat_table_missing(ctx, table, series) : OATGP_OK);
    PASS_ON(category ? sort_levels(ctx, table, k) : OATGP_OK);
    PASS_ON(category && series->role == OAT_TARGET ? settle_classes(ctx, table, k) : OATGP_OK);
    keep_series(table, k, kept++);
  }
  table->count = kept;
  tell_of_fates(ctx, table, &told);
  return OATGP_OK;
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
    REFUSE_IF(
        before != NULL && strcmp(before, named->name) == 0, ctx, OATGP_DATA,
        "'%s': several of the columns in use have the name '%s', among them column %zu; rename them, or use only one",
        layout->file, oat_show_text(before).text, named->column + 1);
    before = named->name;
  }
  return OATGP_OK;
}

void oat_table_forget(oat_table *table) {
  for (size_t k = 0; !table->looking && k < table->count; k++) {
    table->series[k].forgotten = count_values(table, &table->series[k]);
  }
  table->rows = table->looking ? table->rows : 0;
}

oatgp_status oat_table_check(oatgp_context *ctx, oat_table *table, size_t rows_read) {
  const oat_layout *layout = table->layout;
  REFUSE_IF(rows_read == 0, ctx, OATGP_DATA, "'%s' has no rows%s", layout->file,
            layout->header ? " below its header" : "");
  const bool looking = table->looking;
  PASS_ON(looking ? oat_table_settle(ctx, table, rows_read) : OATGP_OK);
  PASS_ON(looking ? oat_table_recall(ctx, table) : OATGP_OK);
  PASS_ON(check_values(ctx, table));
  PASS_ON(settle_categories(ctx, table));
  REFUSE_IF(count_inputs(table) == 0, ctx, OATGP_DATA,
            "'%s' has no input column: no column of numbers or categories is left (columns are separated by commas, "
            "tabs or semicolons, decimals have a point)",
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

/* How many of the first rows have a level that is not among the known ones. */
static size_t count_unseen(const oat_series *series, size_t rows, size_t known) {
  size_t unseen = 0;
  for (size_t i = 0; i < rows; i++) {
    unseen += series->values[i] >= (double)known;
  }
  return unseen;
}

void oat_table_tell_unseen(oatgp_context *ctx, const oat_table *table) {
  for (size_t k = 0; k < table->count; k++) {
    if (table->series[k].unseen > 0) {
      const oat_unseen unseen = {table->names[k], &table->levels[k], table->known[k].count, table->series[k].unseen};
      oat_levels_tell(ctx, &unseen);
    }
  }
}

/* Moves the first values of a column to their place in the data; the others move up. A column that is used up is freed
 * at once, so that each thread has no more than one column in memory twice. */
static void take_values(const oat_table *table, oat_series *series, size_t rows) {
  const size_t input = (size_t)(series - table->series);
  if (series->role == OAT_INPUT && series->content == OAT_CONTENT_WORDS && table->known != NULL) {
    series->unseen += count_unseen(series, rows, table->known[input].count);
  }
  if (rows > 0) {
    memcpy(series->place, series->values, rows * sizeof *series->values);
  }
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
    PASS_ON(data->levels != NULL ? oat_levels_copy(ctx, &table->levels[k], &data->levels[j]) : OATGP_OK);
    series->place = data->own_x + j * data->n;
    data->positions[j] = series->column + 1;
    return oat_copy_text(ctx, table->names != NULL ? table->names[j] : name, &data->names[j]);
  }
  const bool classes = series->role == OAT_TARGET && series->content == OAT_CONTENT_WORDS;
  PASS_ON(classes ? oat_levels_copy(ctx, &table->levels[k], &data->target_levels) : OATGP_OK);
#define EXTRA_VALUES(column) , &data->column
#define EXTRA_NAME(column) , &data->column##_name
#define EXTRA_POSITION(column) , &data->column##_position
  double **const values[OAT_ROLES] = {NULL, &data->own_y OAT_EXTRA_COLUMNS(EXTRA_VALUES)};
  char **const names[OAT_ROLES] = {NULL, &data->target OAT_EXTRA_COLUMNS(EXTRA_NAME)};
  size_t *const positions[OAT_ROLES] = {NULL, &data->target_position OAT_EXTRA_COLUMNS(EXTRA_POSITION)};
#undef EXTRA_VALUES
#undef EXTRA_NAME
#undef EXTRA_POSITION
  *positions[series->role] = series->column + 1;
  const oatgp_status status = oat_new(ctx, data->n, sizeof(double), values[series->role]);
  series->place = *values[series->role];
  return status == OATGP_OK ? oat_copy_text(ctx, name, names[series->role]) : status;
}

static bool has_categories(const oat_table *table) {
  bool has = false;
  for (size_t k = 0; k < table->count; k++) {
    has = has || (table->series[k].role == OAT_INPUT && table->series[k].content == OAT_CONTENT_WORDS);
  }
  return has;
}

static oatgp_status make_room(oatgp_context *ctx, const oat_table *table, oatgp_data *data) {
  size_t j = 0;
  data->header = table->layout->header;
  data->columns = table->layout->columns;
  PASS_ON(oat_new(ctx, count_inputs(table), sizeof *data->names, &data->names));
  data->d = count_inputs(table);
  PASS_ON(oat_new(ctx, data->d, sizeof *data->positions, &data->positions));
  PASS_ON(oat_data_own_inputs(ctx, data));
  PASS_ON(has_categories(table) ? oat_new(ctx, data->d, sizeof *data->levels, &data->levels) : OATGP_OK);
  data->told = table->known != NULL;
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
