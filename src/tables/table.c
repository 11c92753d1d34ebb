/* The columns in use, while they are filled. */
#include "tables/table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

static const char *const role_names[OAT_ROLES] = {"input", "target", "weights", "noise variance", "trials", "exposure"};

oatgp_status oat_table_open(oatgp_context *ctx, const oat_layout *layout, oat_table *table) {
  table->layout = layout;
  PASS_ON(oat_new(ctx, layout->columns, sizeof *table->series, &table->series));
  PASS_ON(oat_new(ctx, layout->columns, sizeof *table->used, &table->used));
  PASS_ON(oat_new(ctx, layout->columns, sizeof *table->levels, &table->levels));
  return oat_new(ctx, layout->columns, sizeof *table->doubts, &table->doubts);
}

void oat_table_free(oat_table *table) {
  for (size_t k = 0; k < table->count; k++) {
    free(table->series[k].values);
  }
  for (size_t c = 0; table->doubts != NULL && c < table->layout->columns; c++) {
    oat_levels_clear(&table->doubts[c].levels);
    free(table->doubts[c].code);
  }
  oat_levels_free_list(table->levels, table->layout != NULL ? table->layout->columns : 0);
  free(table->series);
  free(table->used);
  free(table->doubts);
  *table = (oat_table){0};
}

static oatgp_status used_twice(oatgp_context *ctx, const oat_table *table, size_t column, oat_role role) {
  size_t k = 0;
  while (table->series[k].column != column) {
    k++;
  }
  const oat_shown name = oat_show_text(table->layout->names[column]);
  REFUSE_IF(table->series[k].role == role, ctx, OATGP_DATA, "'%s': column '%s' is named twice as %s; name it once",
            table->layout->file, name.text, role_names[role]);
  return oat_fail(ctx, OATGP_DATA, "'%s': column '%s' is used twice, as %s and as %s; use every column once",
                  table->layout->file, name.text, role_names[table->series[k].role], role_names[role]);
}

oatgp_status oat_table_use(oatgp_context *ctx, oat_table *table, size_t column, const oat_series *as) {
  if (table->used[column]) {
    return used_twice(ctx, table, column, as->role);
  }
  oat_series *series = &table->series[table->count++];
  table->used[column] = 1;
  *series = *as;
  series->column = column;
  table->looking = table->looking || as->content == OAT_CONTENT_OPEN;
  return OATGP_OK;
}

/* The text of the cell, or its value if it has no text. */
static oat_shown show_entry(const oat_entry *entry) {
  if (entry->cell.text != NULL) {
    return oat_show(entry->cell.text, entry->cell.length);
  }
  oat_shown shown;
  snprintf(shown.text, sizeof shown.text, "%.17g", entry->value);
  return shown;
}

/* Whether a target that should hold numbers has exactly two texts and nothing else in the rows checked so far. */
static bool seems_binary(const oat_table *table, const oat_series *series) {
  const oat_doubt *doubt = &table->doubts[series - table->series];
  return table->free_inputs && series->role == OAT_TARGET && series->classes == 0 && doubt->levels.count == 2 &&
         doubt->numbers == 0;
}

static const char not_a_number[] = "is not a number";

/* "FILE, line 7, column 'b': PROBLEM; REMEDY" */
static oatgp_status bad_text(oatgp_context *ctx, const oat_table *table, const oat_series *series, size_t place,
                             const oat_shown *shown, const char *problem) {
  const oat_layout *layout = table->layout;
  const bool may_leave_out = table->free_inputs && series->role == OAT_INPUT;
  const char *remedy = may_leave_out && problem == not_a_number
                           ? ", make the column a category with --factors, or leave it out with --inputs"
                       : may_leave_out ? ", or leave the column out with --inputs"
                       : seems_binary(table, series)
                           ? ", or use --likelihood=bernoulli-logit if the two texts are two classes"
                           : "";
  return oat_fail(ctx, OATGP_DATA, "%s, %s %zu, column '%s': '%s' %s; correct it%s", layout->file, layout->unit, place,
                  oat_show_text(layout->names[series->column]).text, shown->text, problem, remedy);
}

static oatgp_status bad_cell(oatgp_context *ctx, const oat_table *table, const oat_series *series,
                             const oat_entry *entry, const char *problem) {
  const oat_shown shown = show_entry(entry);
  return bad_text(ctx, table, series, entry->place, &shown, problem);
}

static const char *problem_of(oat_kind kind) { return kind == OAT_TEXT ? not_a_number : "is infinite or too large"; }

oatgp_status oat_table_missing(oatgp_context *ctx, const oat_table *table, const oat_series *series) {
  const oat_layout *layout = table->layout;
  const bool may_leave_out = series->content == OAT_CONTENT_WORDS && !series->asked;
  return oat_fail(ctx, OATGP_DATA,
                  "%s, %s %zu, column '%s': the value is missing; fill it in, or drop such rows with --missing=drop%s",
                  layout->file, layout->unit, series->first_missing, oat_show_text(layout->names[series->column]).text,
                  may_leave_out ? ", or leave the column out with --inputs" : "");
}

static oatgp_status put_missing(oatgp_context *ctx, const oat_table *table, oat_series *series,
                                const oat_entry *entry) {
  if (series->first_missing == 0) {
    series->first_missing = entry->place;
  }
  *entry->slot = NAN;
  const bool wrong = series->content == OAT_CONTENT_NUMBERS && !table->drop;
  return wrong ? oat_table_missing(ctx, table, series) : OATGP_OK;
}

/* The problem of a number in this role; NULL if there is none. */
static const char *problem_in_role(oat_role role, double value) {
  switch (role) {
    case OAT_WEIGHT:
      return value > 0 ? NULL : "is not a weight, which must be above 0";
    case OAT_NOISE:
      return value >= 0 ? NULL : "is not a noise variance, which must not be below 0";
    case OAT_TRIALS:
      return value >= 1 && value == floor(value) ? NULL
                                                 : "is not a number of trials, which must be a whole number, 1 or more";
    case OAT_EXPOSURE:
      return value > 0 ? NULL : "is not an exposure, which must be above 0";
    default:
      return NULL;
  }
}

static oatgp_status put_number(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  const char *problem = problem_in_role(series->role, entry->value);
  if (problem != NULL) {
    return bad_cell(ctx, table, series, entry, problem);
  }
  *entry->slot = entry->value;
  return OATGP_OK;
}

/* ---- categories ------------------------------------------------------------------------------------------------ */

/* A number as a level: 7 and 7.0 are the same. */
static size_t write_level(double value, char *out, size_t room) {
  int length = snprintf(out, room, "%.15g", value == 0 ? 0 : value);
  if (strtod(out, NULL) != value) {
    length = snprintf(out, room, "%.17g", value);
  }
  return (size_t)length;
}

/* A target of texts may also contain whole numbers; with a model, only classes that it knows. `name` is the text as
 * UTF-8. */
static oatgp_status check_class(oatgp_context *ctx, const oat_table *table, const oat_series *series,
                                const oat_entry *entry, const char *name) {
  const oat_levels *known = table->target_known;
  if (known == NULL) {
    return entry->kind != OAT_NUMBER || entry->value == floor(entry->value)
               ? OATGP_OK
               : bad_cell(ctx, table, series, entry, "cannot be a class: a class is a whole number or a text");
  }
  if (oat_levels_find(known, name, strlen(name)) != OAT_NO_LEVEL) {
    return OATGP_OK;
  }
  oat_list names = {{0}, 0, 0, 0};
  char problem[OAT_LIST_SIZE + 64];
  for (size_t i = 0; i < known->count; i++) {
    oat_list_add(&names, known->name[i]);
  }
  snprintf(problem, sizeof problem, "is not one of the target's classes, which are %s", oat_list_end(&names));
  return bad_cell(ctx, table, series, entry, problem);
}

/* *slot <- the code of the cell's level. */
static oatgp_status take_level(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  const bool number = entry->kind == OAT_NUMBER || entry->cell.text == NULL;
  char plain[OAT_LONGEST_NUMBER + 8];
  const oat_piece text = number ? (oat_piece){plain, write_level(entry->value, plain, sizeof plain)} : entry->cell;
  oat_levels *levels = &table->levels[series - table->series];
  size_t code = OAT_NO_LEVEL;
  PASS_ON(oat_levels_take(ctx, levels, text.text, text.length, &code));
  PASS_ON(series->role == OAT_TARGET && code != OAT_NO_LEVEL
              ? check_class(ctx, table, series, entry, levels->name[code])
              : OATGP_OK);
  REFUSE_IF(code == OAT_NO_LEVEL && series->asked, ctx, OATGP_DATA,
            "'%s': column '%s' has more than %d different values, too many for a %s", table->layout->file,
            oat_show_text(table->layout->names[series->column]).text, OAT_MOST_LEVELS,
            series->role == OAT_TARGET ? "target of classes" : "category; leave it out of the inputs");
  series->crowded = series->crowded || code == OAT_NO_LEVEL;
  *entry->slot = (double)(series->crowded ? 0 : code);
  return OATGP_OK;
}

/* In a column that may still be left out, a missing text is an error only if the column is used. */
static oatgp_status put_level(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  if (entry->kind != OAT_MISSING) {
    return series->crowded ? OATGP_OK : take_level(ctx, table, series, entry);
  }
  series->first_missing = series->first_missing > 0 ? series->first_missing : entry->place;
  *entry->slot = NAN;
  return series->asked && !table->drop ? oat_table_missing(ctx, table, series) : OATGP_OK;
}

/* Stores the level of row i, one of the first rows, in series k. If the cell was a number, it is in its slot. */
static oatgp_status recall_level(oatgp_context *ctx, oat_table *table, size_t k, size_t i) {
  oat_series *series = &table->series[k];
  const oat_doubt *doubt = &table->doubts[k];
  const size_t code = doubt->code != NULL ? doubt->code[i] : 0;
  oat_entry entry = {.slot = &series->values[i], .kind = OAT_TEXT, .value = series->values[i]};
  if (code == 0 && isnan(entry.value)) {
    return OATGP_OK;
  }
  if (code > 0) {
    entry.cell = (oat_piece){doubt->levels.name[code - 1], strlen(doubt->levels.name[code - 1])};
  }
  return take_level(ctx, table, series, &entry);
}

oatgp_status oat_table_recall(oatgp_context *ctx, oat_table *table) {
  const size_t rows = table->rows < OAT_LOOK_ROWS ? table->rows : OAT_LOOK_ROWS;
  for (size_t k = 0; k < table->count; k++) {
    const bool open_before = table->doubts[k].place > 0;
    for (size_t i = 0; table->series[k].content == OAT_CONTENT_WORDS && open_before && i < rows; i++) {
      PASS_ON(recall_level(ctx, table, k, i));
    }
  }
  return OATGP_OK;
}

/* ---- what a column holds --------------------------------------------------------------------------------------- */

/* Keeps a text that may turn out to be the level of a category. */
static oatgp_status keep_text(oatgp_context *ctx, oat_doubt *doubt, const oat_entry *entry) {
  size_t code = 0;
  PASS_ON(doubt->code == NULL ? oat_new(ctx, OAT_LOOK_ROWS, sizeof *doubt->code, &doubt->code) : OATGP_OK);
  PASS_ON(oat_levels_take(ctx, &doubt->levels, entry->cell.text, entry->cell.length, &code));
  doubt->code[entry->row] = 1 + code;
  return OATGP_OK;
}

/* A cell of a column whose content is still open. A problem with it is stored for later. */
static oatgp_status put_open(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  oat_doubt *doubt = &table->doubts[series - table->series];
  *entry->slot = entry->kind == OAT_NUMBER ? entry->value : NAN;
  doubt->missing += entry->kind == OAT_MISSING;
  doubt->texts += entry->kind == OAT_TEXT;
  if (entry->kind == OAT_MISSING && series->first_missing == 0) {
    series->first_missing = entry->place;
  }
  if ((entry->kind == OAT_TEXT || entry->kind == OAT_INFINITE) && doubt->place == 0) {
    doubt->place = entry->place;
    doubt->kind = entry->kind;
    doubt->text = show_entry(entry);
  }
  const bool is_text = entry->kind == OAT_TEXT || entry->kind == OAT_INFINITE;
  return is_text && entry->cell.text != NULL ? keep_text(ctx, doubt, entry) : OATGP_OK;
}

/* Settles what the column holds. Returns the row or line of its first wrong cell, or SIZE_MAX. */
static size_t settle_series(const oat_table *table, size_t k, size_t rows) {
  oat_series *series = &table->series[k];
  oat_doubt *doubt = &table->doubts[k];
  const size_t values = rows - doubt->missing, missing = table->drop ? 0 : series->first_missing;
  doubt->numbers = values - doubt->texts;
  series->content = !oat_series_may_hold_text(series) ? OAT_CONTENT_NUMBERS
                    : values == 0                     ? OAT_CONTENT_UNSEEN
                    : doubt->numbers >= doubt->texts  ? OAT_CONTENT_NUMBERS
                                                      : OAT_CONTENT_WORDS;
  if (series->content != OAT_CONTENT_NUMBERS || (missing == 0 && doubt->place == 0)) {
    return SIZE_MAX;
  }
  return doubt->place == 0 || (missing > 0 && missing < doubt->place) ? missing : doubt->place;
}

oatgp_status oat_table_settle(oatgp_context *ctx, oat_table *table, size_t rows) {
  size_t first = SIZE_MAX, wrong = 0;
  for (size_t k = 0; k < table->count; k++) {
    const size_t place = table->series[k].content == OAT_CONTENT_OPEN ? settle_series(table, k, rows) : SIZE_MAX;
    if (place < first) {
      first = place;
      wrong = k;
    }
  }
  table->looking = false;
  if (first == SIZE_MAX) {
    return OATGP_OK;
  }
  const oat_series *series = &table->series[wrong];
  const oat_doubt *doubt = &table->doubts[wrong];
  return first == doubt->place ? bad_text(ctx, table, series, first, &doubt->text, problem_of(doubt->kind))
                               : oat_table_missing(ctx, table, series);
}

/* The first rows had no value, so the first value decides. Missing values before it count only now. */
static oatgp_status settle_content(oatgp_context *ctx, const oat_table *table, oat_series *series, oat_kind kind) {
  series->content = kind == OAT_TEXT ? OAT_CONTENT_WORDS : OAT_CONTENT_NUMBERS;
  const bool wrong = series->content == OAT_CONTENT_NUMBERS && series->first_missing > 0 && !table->drop;
  return wrong ? oat_table_missing(ctx, table, series) : OATGP_OK;
}

oatgp_status oat_table_put(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  if (series->content == OAT_CONTENT_OPEN) {
    return put_open(ctx, table, series, entry);
  }
  if (series->content == OAT_CONTENT_WORDS) {
    return put_level(ctx, table, series, entry);
  }
  if (entry->kind == OAT_MISSING) {
    return put_missing(ctx, table, series, entry);
  }
  if (series->content == OAT_CONTENT_UNSEEN) {
    PASS_ON(settle_content(ctx, table, series, entry->kind));
    if (series->content == OAT_CONTENT_WORDS) {
      return put_level(ctx, table, series, entry);
    }
  }
  if (entry->kind == OAT_TEXT || entry->kind == OAT_INFINITE) {
    return bad_cell(ctx, table, series, entry, problem_of(entry->kind));
  }
  return put_number(ctx, table, series, entry);
}

oatgp_status oat_table_reserve(oatgp_context *ctx, oat_table *table, size_t rows) {
  for (size_t k = 0; k < table->count; k++) {
    oat_series *series = &table->series[k];
    PASS_ON(oat_grow(ctx, table->rows + rows, sizeof *series->values, &series->capacity, &series->values));
  }
  return OATGP_OK;
}
