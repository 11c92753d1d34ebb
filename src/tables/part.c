/* Reads a part of a text table. Most records are plain: numbers, and unused cells, with a delimiter between them. Those
 * are read in one go; any other record is first split into its cells. */
#include "tables/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

oatgp_status oat_part_begin(oatgp_context *ctx, oat_part *part, const oat_table *table) {
  oat_series *series = part->table.series;
  if (series == NULL) {
    PASS_ON(oat_new(ctx, table->count, sizeof *part->levels, &part->levels));
    PASS_ON(oat_new(ctx, table->count, sizeof *series, &series));
  }
  for (size_t k = 0; k < table->count; k++) {
    oat_levels_clear(&part->levels[k]);
  }
  memcpy(series, table->series, table->count * sizeof *series);
  part->table = *table;
  part->table.series = series;
  part->table.levels = part->levels;
  part->rows = 0;
  part->status = OATGP_OK;
  part->cut_off = false;
  return OATGP_OK;
}

void oat_part_free(oat_part *part) {
  oat_records_free(&part->records);
  oat_levels_free_list(part->levels, part->table.count);
  free(part->table.series);
  free(part->block);
  *part = (oat_part){0};
}

/* ---- plain records --------------------------------------------------------------------------------------------- */

/* The end of a cell that is not used. NULL if it is not plain: text after its quotes, line ends or quotes in them, or
 * tabs before them. */
static char *skip_cell(const oat_form *form, char *at) {
  while (*at == ' ') {
    at++;
  }
  if (*at == '"') {
    do {
      at++;
    } while (*at != '"' && *at != '\n' && *at != '\r' && *at != '\0');
    return *at == '"' && form->ends_cell[(unsigned char)at[1]] ? at + 1 : NULL;
  }
  const bool blank = *at == '\t' && form->delimiter != '\t';
  while (!form->ends_cell[(unsigned char)*at]) {
    at++;
  }
  return blank ? NULL : at;
}

/* The end of a cell whose number is stored in the slot. NULL if the cell has anything else in it. */
static const char *take_cell(const oat_series *series, const char *at, const char *end, double *slot) {
  while (*at == ' ') {
    at++;
  }
  const char *after = oat_scan_number(at, end, slot);
  return after != NULL && oat_series_takes(series, *slot) ? after : NULL;
}

/* The end of a cell whose code is stored in the slot. NULL if it is missing or not plain. */
static char *take_word(oat_part *part, size_t k, char *at, double *slot) {
  char *after = skip_cell(part->records.form, at);
  char *text = at, *end = after;
  while (after != NULL && text < end && *text == ' ') {
    text++;
  }
  while (after != NULL && end > text && end[-1] == ' ') {
    end--;
  }
  if (after == NULL || text == end) {
    return NULL;
  }
  if (*text == '"') {
    text++;
    end = after - 1;
  }
  const size_t code = oat_levels_find(&part->levels[k], text, (size_t)(end - text));
  *slot = (double)code;
  return code != OAT_NO_LEVEL ? after : NULL;
}

/* The place after a line end. NULL if it is not certain that this is one. */
static char *plain_line_end(const oat_source *source, char *at) {
  const char *end = source->window + source->end;
  if (at == end) {
    return source->at_end ? at : NULL;
  }
  if (*at == '\r') {
    at++;
    return at < end ? at + (*at == '\n') : NULL;
  }
  return *at == '\n' ? at + 1 : NULL;
}

/* The end of the record at `at` if it is plain and has a value for each number column; else NULL. */
static char *plain_record(oat_part *part, double *row) {
  const oat_source *source = part->records.source;
  const oat_form *form = part->records.form;
  const size_t columns = part->table.layout->columns;
  const char *end = source->window + source->end;
  char *at = part->records.at;
  for (size_t c = 0; c < columns; c++) {
    const size_t k = part->series_of[c];
    const oat_series *series = &part->table.series[k != OAT_NOT_USED ? k : 0];
    if (k != OAT_NOT_USED && series->content == OAT_CONTENT_WORDS && !series->crowded) {
      at = take_word(part, k, at, &row[k]);
    } else if (k == OAT_NOT_USED || series->content == OAT_CONTENT_WORDS) {
      at = columns > 1 ? skip_cell(form, at) : NULL; /* alone it could be a blank line */
    } else if (series->content == OAT_CONTENT_UNSEEN && series->first_missing > 0 &&
               form->ends_cell[(unsigned char)*at]) {
      row[k] = NAN;
    } else {
      const char *after = take_cell(series, at, end, &row[k]);
      at = after != NULL ? at + (after - at) : NULL;
    }
    if (at == NULL || (c + 1 < columns && *at++ != form->delimiter)) {
      return NULL;
    }
  }
  return at > part->records.at ? plain_line_end(source, at) : NULL;
}

/* ---- any record ------------------------------------------------------------------------------------------------ */

/* A cell with doubled quotes, which is no number. */
static oatgp_status put_escaped(oat_part *part, oat_series *series, oat_entry *entry, const oat_cell *cell) {
  char *plain = NULL;
  PASS_ON(oat_new(&part->ctx, cell->length, 1, &plain));
  entry->kind = OAT_TEXT;
  entry->cell = (oat_piece){plain, oat_cell_unescape(cell, cell->length, plain)};
  const oatgp_status status = oat_table_put(&part->ctx, &part->table, series, entry);
  free(plain);
  return status;
}

static oatgp_status put_cell(oat_part *part, oat_series *series, double *slot) {
  const oat_cell *cell = &part->records.cells[series->column];
  oat_entry entry = {.slot = slot,
                     .place = oat_records_line_of(&part->records, cell),
                     .row = part->table.rows + part->rows - 1,
                     .cell = {cell->text, cell->length}};
  if (cell->escaped) {
    return put_escaped(part, series, &entry, cell);
  }
  entry.kind = oat_read_number(cell->text, cell->length, &entry.value);
  return oat_table_put(&part->ctx, &part->table, series, &entry);
}

static oatgp_status put_record(oat_part *part, double *row) {
  const oat_records *records = &part->records;
  const oat_layout *layout = part->table.layout;
  REFUSE_IF(records->count != layout->columns, &part->ctx, OATGP_DATA,
            "%s, line %zu: %zu cell%s, but the first record has %zu (cells are separated by %s)", layout->file,
            records->number, records->count, records->count == 1 ? "" : "s", layout->columns,
            oat_form_delimiters(records->form));
  part->rows++;
  for (size_t k = 0; k < part->table.count; k++) {
    PASS_ON(put_cell(part, &part->table.series[k], &row[k]));
  }
  return OATGP_OK;
}

static oatgp_status read_record(oat_part *part, double *row) {
  oat_found found = OAT_BLANK_LINE;
  const oatgp_status status = oat_records_next(&part->ctx, &part->records, &found);
  part->cut_off = status == OATGP_OK && found == OAT_CUT_OFF;
  return status == OATGP_OK && found == OAT_RECORD ? put_record(part, row) : status;
}

void oat_part_read(oat_part *part) {
  const size_t count = part->table.count;
  while (part->status == OATGP_OK && !part->cut_off && part->records.at < part->stop) {
    part->status = oat_grow(&part->ctx, (part->rows + 1) * count, sizeof *part->block, &part->capacity, &part->block);
    if (part->status != OATGP_OK) {
      return;
    }
    double *row = part->block + part->rows * count;
    char *after = plain_record(part, row);
    if (after != NULL) {
      part->records.at = after;
      part->records.line++;
      part->rows++;
    } else {
      part->status = read_record(part, row);
    }
    if (part->table.looking && part->status == OATGP_OK && part->table.rows + part->rows == OAT_LOOK_ROWS) {
      part->status = oat_table_settle(&part->ctx, &part->table, OAT_LOOK_ROWS);
    }
  }
}

/* ---- results --------------------------------------------------------------------------------------------------- */

bool oat_part_has_learnt(const oat_part *part, const oat_table *table) {
  for (size_t k = 0; k < table->count; k++) {
    const oat_series *before = &table->series[k], *after = &part->table.series[k];
    const bool missing = after->content == OAT_CONTENT_UNSEEN && before->first_missing == 0 && after->first_missing > 0;
    if (before->content != after->content || missing) {
      return true;
    }
  }
  return false;
}

void oat_part_tell(const oat_part *part, size_t lines, oat_table *table) {
  table->looking = part->table.looking;
  for (size_t k = 0; k < table->count; k++) {
    const oat_series *learnt = &part->table.series[k];
    oat_series *series = &table->series[k];
    series->content = learnt->content;
    series->crowded = series->crowded || learnt->crowded;
    if (series->first_missing == 0 && learnt->first_missing > 0) {
      series->first_missing = learnt->first_missing + lines;
    }
  }
}

/* Converts the codes of one column: `to` has the table's code for each code of the part. Rows in which the column was
 * open have no codes. */
static void recode(const oat_part *part, size_t k, const double *to) {
  const size_t open = part->table.doubts[k].place > 0 && part->first < OAT_LOOK_ROWS ? OAT_LOOK_ROWS - part->first : 0;
  for (size_t i = open; i < part->rows; i++) {
    double *value = &part->block[k + i * part->table.count];
    *value = isnan(*value) ? NAN : to[(size_t)*value];
  }
}

static oatgp_status recode_series(oatgp_context *ctx, oat_part *part, oat_table *table, size_t k) {
  const oat_levels *own = &part->levels[k];
  oatgp_status status = OATGP_OK;
  double *to = NULL;
  TRY(oat_new(ctx, own->count, sizeof *to, &to));
  for (size_t i = 0; i < own->count; i++) {
    oat_series *series = &table->series[k];
    const oat_entry entry = {.slot = &to[i], .kind = OAT_TEXT, .cell = {own->name[i], strlen(own->name[i])}};
    TRY(oat_table_put(ctx, table, series, &entry));
  }
  recode(part, k, to);
done:
  free(to);
  return status;
}

oatgp_status oat_part_recode(oatgp_context *ctx, oat_part *part, oat_table *table) {
  for (size_t k = 0; k < table->count; k++) {
    const bool codes =
        table->series[k].content == OAT_CONTENT_WORDS && !table->series[k].crowded && part->levels[k].count > 0;
    PASS_ON(codes ? recode_series(ctx, part, table, k) : OATGP_OK);
  }
  return OATGP_OK;
}

void oat_part_copy(const oat_part *part, const oat_table *table) {
  for (size_t k = 0; k < table->count; k++) {
    if (part->rows == 0) { /* their block may not have been allocated */
      continue;
    }
    const double *from = part->block + k;
    double *to = table->series[k].values + part->first;
    for (size_t i = 0; i < part->rows; i++) {
      to[i] = from[i * table->count];
    }
  }
}
