/* The columns that are used, as they fill up. */
#include "tables/table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/memory.h"

static const char *const role_names[OAT_ROLES] = {"input", "target", "weights", "noise variance"};

oatgp_status oat_table_open(oatgp_context *ctx, const oat_layout *layout, oat_table *table) {
  table->layout = layout;
  PASS_ON(oat_new(ctx, layout->columns, sizeof *table->series, &table->series));
  PASS_ON(oat_new(ctx, layout->columns, sizeof *table->used, &table->used));
  return oat_new(ctx, layout->columns, sizeof *table->doubts, &table->doubts);
}

void oat_table_free(oat_table *table) {
  for (size_t k = 0; k < table->count; k++) {
    free(table->series[k].values);
  }
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
  return oat_fail(ctx, OATGP_DATA, "'%s': column '%s' is used twice, as %s and as %s; give every column one use", table->layout->file,
                  oat_show_text(table->layout->names[column]).text, role_names[table->series[k].role], role_names[role]);
}

oatgp_status oat_table_use(oatgp_context *ctx, oat_table *table, size_t column, oat_role role, bool asked) {
  if (table->used[column]) {
    return used_twice(ctx, table, column, role);
  }
  table->used[column] = 1;
  table->series[table->count++] = (oat_series){.column = column, .role = role, .content = asked ? OAT_CONTENT_NUMBERS : OAT_CONTENT_OPEN};
  table->looking = table->looking || !asked;
  return OATGP_OK;
}

/* The text of the cell, or its value where there is no text. */
static oat_shown show_entry(const oat_entry *entry) {
  if (entry->cell.text != NULL) {
    return oat_show(entry->cell.text, entry->cell.length);
  }
  oat_shown shown;
  snprintf(shown.text, sizeof shown.text, "%.17g", entry->value);
  return shown;
}

/* "FILE, line 7, column 'b': PROBLEM; REMEDY" */
static oatgp_status bad_text(oatgp_context *ctx, const oat_table *table, const oat_series *series, size_t place, const oat_shown *shown,
                             const char *problem) {
  const oat_layout *layout = table->layout;
  const bool may_leave_out = table->free_inputs && series->role == OAT_INPUT;
  return oat_fail(ctx, OATGP_DATA, "%s, %s %zu, column '%s': '%s' %s; correct it%s", layout->file, layout->unit, place,
                  oat_show_text(layout->names[series->column]).text, shown->text, problem,
                  may_leave_out ? ", or leave the column out with --inputs" : "");
}

static oatgp_status bad_cell(oatgp_context *ctx, const oat_table *table, const oat_series *series, const oat_entry *entry,
                             const char *problem) {
  const oat_shown shown = show_entry(entry);
  return bad_text(ctx, table, series, entry->place, &shown, problem);
}

static const char *problem_of(oat_kind kind) { return kind == OAT_TEXT ? "is not a number" : "is infinite or too large"; }

static oatgp_status missing_cell(oatgp_context *ctx, const oat_table *table, const oat_series *series) {
  const oat_layout *layout = table->layout;
  return oat_fail(ctx, OATGP_DATA, "%s, %s %zu, column '%s': the value is missing; fill it in, or drop such rows with --missing drop",
                  layout->file, layout->unit, series->first_missing, oat_show_text(layout->names[series->column]).text);
}

static oatgp_status put_missing(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  if (series->first_missing == 0) {
    series->first_missing = entry->place;
  }
  *entry->slot = NAN;
  const bool wrong = series->content == OAT_CONTENT_NUMBERS && !table->drop;
  return wrong ? missing_cell(ctx, table, series) : OATGP_OK;
}

static oatgp_status put_number(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  if (series->role == OAT_WEIGHT && !(entry->value > 0)) {
    return bad_cell(ctx, table, series, entry, "is not a weight, which must be above 0");
  }
  if (series->role == OAT_NOISE && !(entry->value >= 0)) {
    return bad_cell(ctx, table, series, entry, "is not a noise variance, which must not be below 0");
  }
  *entry->slot = entry->value;
  return OATGP_OK;
}

/* ---- what a column holds ----------------------------------------------------------------------------------------- */

/* A cell of a column that is still being looked at: what is wrong with it is kept for later. */
static void put_open(const oat_table *table, oat_series *series, const oat_entry *entry) {
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
}

/* Where the column has its first wrong cell, or SIZE_MAX. */
static size_t settle_series(const oat_table *table, size_t k, size_t rows) {
  oat_series *series = &table->series[k];
  oat_doubt *doubt = &table->doubts[k];
  const size_t values = rows - doubt->missing, missing = table->drop ? 0 : series->first_missing;
  doubt->numbers = values - doubt->texts;
  series->content = values == 0 ? OAT_CONTENT_UNSEEN : doubt->numbers >= doubt->texts ? OAT_CONTENT_NUMBERS : OAT_CONTENT_WORDS;
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
                               : missing_cell(ctx, table, series);
}

/* The first rows had no value: the first that comes decides. Values missing before it count only now. */
static oatgp_status settle_content(oatgp_context *ctx, const oat_table *table, oat_series *series, oat_kind kind) {
  series->content = kind == OAT_TEXT ? OAT_CONTENT_WORDS : OAT_CONTENT_NUMBERS;
  const bool wrong = series->content == OAT_CONTENT_NUMBERS && series->first_missing > 0 && !table->drop;
  return wrong ? missing_cell(ctx, table, series) : OATGP_OK;
}

oatgp_status oat_table_put(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry) {
  if (series->content == OAT_CONTENT_WORDS || series->content == OAT_CONTENT_OPEN) {
    if (series->content == OAT_CONTENT_OPEN) {
      put_open(table, series, entry);
    }
    return OATGP_OK;
  }
  if (entry->kind == OAT_MISSING) {
    return put_missing(ctx, table, series, entry);
  }
  if (series->content == OAT_CONTENT_UNSEEN) {
    const oatgp_status status = settle_content(ctx, table, series, entry->kind);
    if (status != OATGP_OK || series->content == OAT_CONTENT_WORDS) {
      return status;
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
    if (series->content != OAT_CONTENT_WORDS) {
      PASS_ON(oat_grow(ctx, table->rows + rows, sizeof *series->values, &series->capacity, &series->values));
    }
  }
  return OATGP_OK;
}
