/* Text tables: header or not, and rows into the table. */
#include "data/csv.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Whether the present record is a header by its looks. A doubtful one, with text and numbers, is worth a warning. */
static bool looks_like_header(oatgp_context *ctx, const oat_records *records) {
  size_t texts = 0, numbers = 0;
  for (size_t k = 0; k < records->count; k++) {
    double value;
    const oat_kind kind = oat_read_number(records->cells[k].text, records->cells[k].length, &value);
    texts += kind == OAT_TEXT;
    numbers += kind == OAT_NUMBER || kind == OAT_INFINITE;
  }
  if (texts > 0 && numbers > 0) {
    oat_say(ctx, OATGP_WARNING,
            "%s, line %zu: taken as a header, although %zu of its %zu cells are numbers; settle it with --header yes or no",
            records->source->name, records->line, numbers, records->count);
  }
  return texts > 0;
}

static oatgp_status set_layout(oatgp_context *ctx, const oat_records *records, bool header, oat_layout *layout) {
  oat_piece *names = NULL;
  oatgp_status status = OATGP_OK;
  if (header) {
    TRY(oat_new(ctx, records->count, sizeof *names, &names));
    for (size_t k = 0; k < records->count; k++) {
      names[k] = (oat_piece){records->cells[k].text, records->cells[k].length};
    }
  }
  TRY(oat_layout_set(ctx, layout, records->count, names));
done:
  free(names);
  return status;
}

oatgp_status oat_csv_open(oatgp_context *ctx, oat_source *source, const char *header, oat_records *records, oat_layout *layout) {
  oatgp_status status = OATGP_OK;
  bool found = false;
  *layout = (oat_layout){.file = source->name, .unit = "line"};
  TRY(oat_records_open(ctx, source, records));
  TRY(oat_records_next(ctx, records, &found));
  if (!found) {
    return oat_fail(ctx, OATGP_DATA, "'%s' is empty", source->name);
  }
  const bool has_header = strcmp(header, "auto") == 0 ? looks_like_header(ctx, records) : strcmp(header, "yes") == 0;
  records->again = !has_header;
  TRY(set_layout(ctx, records, has_header, layout));
done:
  return status;
}

static const char *delimiter_name(char delimiter) { return delimiter == '\t' ? "tabs" : delimiter == ';' ? "semicolons" : "commas"; }

static oatgp_status put_record(oatgp_context *ctx, const oat_records *records, const oat_table *table) {
  for (size_t k = 0; k < table->count; k++) {
    oat_series *series = &table->series[k];
    if (series->content == OAT_WORDS) {
      continue;
    }
    const oat_cell *cell = &records->cells[series->column];
    oat_entry entry = {.row = table->rows, .place = oat_records_line_of(records, cell), .cell = {cell->text, cell->length}};
    entry.kind = oat_read_number(cell->text, cell->length, &entry.value);
    const oatgp_status status = oat_table_put(ctx, table, series, &entry);
    if (status != OATGP_OK) {
      return status;
    }
  }
  return OATGP_OK;
}

oatgp_status oat_csv_rows(oatgp_context *ctx, oat_records *records, oat_table *table) {
  const size_t columns = table->layout->columns;
  oatgp_status status = OATGP_OK;
  bool found = false;
  TRY(oat_records_next(ctx, records, &found));
  while (found) {
    if (records->count != columns) {
      return oat_fail(ctx, OATGP_DATA, "%s, line %zu: %zu cell%s, but the first record has %zu (cells are separated by %s)",
                      table->layout->file, records->line, records->count, records->count == 1 ? "" : "s", columns,
                      delimiter_name(records->delimiter));
    }
    TRY(put_record(ctx, records, table));
    table->rows++;
    TRY(oat_records_next(ctx, records, &found));
  }
done:
  return status;
}
