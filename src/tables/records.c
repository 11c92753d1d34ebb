/* The records of a text table. A record is scanned in place in the window. If it does not end there, more of the file
 * is read and the record is scanned again from its start. That costs little, because windows are long and grow by
 * half. */
#include "tables/records.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

enum { LONGEST_RECORD = 1 << 26, BYTES_PER_MIB = 1 << 20 };

typedef enum scan {
  SCAN_CELL,        /* the end of a cell, not of the record */
  SCAN_RECORD,      /* the end of the record */
  SCAN_MORE,        /* the window ends within the record */
  SCAN_OPEN_QUOTE,  /* the file ends within quotes */
  SCAN_AFTER_QUOTE, /* text between a closing quote and the end of the cell */
  SCAN_TOO_MANY,    /* cells */
  SCAN_NUL          /* no text */
} scan;

typedef struct scan_cursor {
  char *at, *end;
  bool last;    /* the file ends at `end` */
  size_t lines; /* line ends passed */
} scan_cursor;

static bool is_blank(const oat_records *records, char c) {
  return c == ' ' || (c == '\t' && records->form->delimiter != '\t');
}

static size_t count_line_ends(const char *at, const char *end) {
  size_t count = 0;
  for (; at < end; at++) {
    count += *at == '\n' || (*at == '\r' && !(at + 1 < end && at[1] == '\n'));
  }
  return count;
}

/* At the end of a cell: steps over a delimiter or a line end. */
static scan end_cell(const oat_records *records, scan_cursor *cursor) {
  if (cursor->at == cursor->end) {
    return cursor->last ? SCAN_RECORD : SCAN_MORE;
  }
  const char c = *cursor->at;
  if (c == records->form->delimiter) {
    cursor->at++;
    return SCAN_CELL;
  }
  if (c != '\n' && c != '\r') {
    return c == '\0' ? SCAN_NUL : SCAN_AFTER_QUOTE;
  }
  if (c == '\r' && cursor->at + 1 == cursor->end && !cursor->last) {
    return SCAN_MORE;
  }
  const bool pair = c == '\r' && cursor->at + 1 < cursor->end && cursor->at[1] == '\n';
  cursor->at += pair ? 2 : 1;
  cursor->lines++;
  return SCAN_RECORD;
}

static void add_cell(oat_records *records, char *start, char *end, bool quoted, bool escaped) {
  while (start < end && is_blank(records, *start)) {
    start++;
  }
  while (start < end && is_blank(records, end[-1])) {
    end--;
  }
  records->cells[records->count++] = (oat_cell){start, (size_t)(end - start), quoted, escaped};
}

static scan scan_plain(oat_records *records, scan_cursor *cursor) {
  char *start = cursor->at, *at = start;
  while (at < cursor->end && !records->form->ends_cell[(unsigned char)*at]) {
    at++;
  }
  cursor->at = at;
  add_cell(records, start, at, false, false);
  return end_cell(records, cursor);
}

/* The quote that closes the cell: not one of a pair. NULL if there is none in the window. */
static char *find_closing_quote(char *at, const scan_cursor *cursor, bool *escaped) {
  for (;;) {
    char *quote = memchr(at, '"', (size_t)(cursor->end - at));
    if (quote == NULL || (quote + 1 == cursor->end && !cursor->last)) {
      return NULL;
    }
    if (quote + 1 == cursor->end || quote[1] != '"') {
      return quote;
    }
    *escaped = true;
    at = quote + 2;
  }
}

static scan scan_quoted(oat_records *records, scan_cursor *cursor) {
  char *start = cursor->at + 1;
  bool escaped = false;
  char *close = find_closing_quote(start, cursor, &escaped);
  char *nul = memchr(start, '\0', (size_t)((close != NULL ? close : cursor->end) - start));
  if (nul != NULL) {
    cursor->at = nul;
    return SCAN_NUL;
  }
  if (close == NULL) {
    return cursor->last ? SCAN_OPEN_QUOTE : SCAN_MORE;
  }
  cursor->lines += count_line_ends(start, close);
  cursor->at = close + 1;
  while (cursor->at < cursor->end && is_blank(records, *cursor->at)) {
    cursor->at++;
  }
  add_cell(records, start, close, true, escaped);
  return end_cell(records, cursor);
}

static scan scan_cell(oat_records *records, scan_cursor *cursor) {
  while (cursor->at < cursor->end && is_blank(records, *cursor->at)) {
    cursor->at++;
  }
  const bool quote = cursor->at < cursor->end && *cursor->at == '"';
  return quote ? scan_quoted(records, cursor) : scan_plain(records, cursor);
}

static oatgp_status refuse(oatgp_context *ctx, const oat_records *records, scan outcome, const char *at) {
  const oat_source *source = records->source;
  if (outcome == SCAN_NUL) {
    const uint64_t offset = source->offset + (uint64_t)(at - source->window);
    return oat_fail(
        ctx, OATGP_DATA,
        "'%s' is not a table: its byte %llu is 0, so it is neither text (as UTF-8) nor .npy; save it as CSV in "
        "UTF-8",
        source->name, (unsigned long long)offset + 1);
  }
  const char *problem =
      outcome == SCAN_OPEN_QUOTE    ? "a quote is opened in this record and not closed before the end of the file"
      : outcome == SCAN_AFTER_QUOTE ? "there is text after a closing quote; a quote within quotes must be doubled"
                                    : "there are too many columns";
  return oat_fail(ctx, OATGP_DATA, "%s, line %zu: %s", source->name, records->line, problem);
}

static bool is_blank_line(const oat_records *records) {
  return records->count == 1 && records->cells[0].length == 0 && !records->cells[0].quoted;
}

void oat_records_begin(oat_records *records, size_t line) {
  records->at = records->source->window + records->source->begin;
  records->line = line;
}

oatgp_status oat_records_next(oatgp_context *ctx, oat_records *records, oat_found *found) {
  const oat_source *source = records->source;
  scan_cursor cursor = {records->at, source->window + source->end, source->at_end, 0};
  scan outcome = SCAN_CELL;
  records->count = 0;
  while (outcome == SCAN_CELL) {
    PASS_ON(oat_grow(ctx, records->count + 1, sizeof *records->cells, &records->capacity, &records->cells));
    outcome = records->count < OAT_MOST_COLUMNS ? scan_cell(records, &cursor) : SCAN_TOO_MANY;
  }
  *found = OAT_CUT_OFF;
  if (outcome == SCAN_RECORD) {
    *found = is_blank_line(records) ? OAT_BLANK_LINE : OAT_RECORD;
    records->start = records->at;
    records->number = records->line;
    records->at = cursor.at;
    records->line += cursor.lines;
  }
  return outcome == SCAN_RECORD || outcome == SCAN_MORE ? OATGP_OK : refuse(ctx, records, outcome, cursor.at);
}

size_t oat_records_line_of(const oat_records *records, const oat_cell *cell) {
  const bool one_line = records->line - records->number <= 1;
  return one_line ? records->number : records->number + count_line_ends(records->start, cell->text);
}

size_t oat_cell_unescape(const oat_cell *cell, size_t room, char *out) {
  size_t kept = 0;
  for (size_t i = 0; i < cell->length && kept < room; i++) {
    out[kept++] = cell->text[i];
    i += cell->text[i] == '"';
  }
  return kept;
}

oatgp_status oat_records_longer(oatgp_context *ctx, const oat_records *records, size_t *bytes) {
  const size_t visible = records->source->end - records->source->begin;
  REFUSE_IF(visible >= LONGEST_RECORD, ctx, OATGP_DATA,
            "%s, line %zu: the record is longer than %d MiB; look for a quote that is not closed",
            records->source->name, records->line, LONGEST_RECORD / BYTES_PER_MIB);
  *bytes = visible + visible / 2 + 1;
  return OATGP_OK;
}

void oat_records_free(oat_records *records) {
  free(records->cells);
  *records = (oat_records){0};
}

/* ---- the form of the file -------------------------------------------------------------------------------------- */

/* Looks for the delimiter. False if the first line with text does not end within the text given; a 0, which no text
 * has, ends it too. */
static bool find_delimiter(const char *text, size_t length, char *delimiter) {
  bool quoted = false, waiting = false, tab = false, semicolon = false;
  char before = '\n'; /* the last that is no blank; waiting: a tab came between it and what follows */
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    if (!quoted && (c == ' ' || c == '\t')) {
      waiting = waiting || (c == '\t' && strchr(",;\n", before) == NULL);
      continue;
    }
    const bool line_end = !quoted && (c == '\n' || c == '\r');
    if ((line_end && before != '\n') || c == '\0') {
      return true;
    }
    tab = tab || (waiting && !line_end && c != ',' && c != ';');
    semicolon = semicolon || (!quoted && c == ';');
    *delimiter = tab ? '\t' : semicolon ? ';' : ',';
    if (c == '"' && (quoted || waiting || strchr(",;\n\"", before) != NULL)) {
      quoted = !quoted;
    }
    waiting = false;
    before = line_end ? '\n' : c;
  }
  return false;
}

oatgp_status oat_form_find(oatgp_context *ctx, oat_source *source, oat_form *form) {
  *form = (oat_form){.delimiter = ','};
  if (source->end - source->begin >= 3 && memcmp(source->window + source->begin, "\xEF\xBB\xBF", 3) == 0) {
    source->begin += 3;
  }
  while (!find_delimiter(source->window + source->begin, source->end - source->begin, &form->delimiter) &&
         !source->at_end) {
    const oat_records records = {.source = source, .line = 1};
    size_t bytes = 0;
    PASS_ON(oat_records_longer(ctx, &records, &bytes));
    PASS_ON(oat_source_need(ctx, source, bytes));
  }
  const char ends[] = {form->delimiter, '\r', '\n', '\0'};
  for (size_t k = 0; k < sizeof ends; k++) {
    form->ends_cell[(unsigned char)ends[k]] = 1;
  }
  return OATGP_OK;
}

const char *oat_form_delimiters(const oat_form *form) {
  return form->delimiter == '\t' ? "tabs" : form->delimiter == ';' ? "semicolons" : "commas";
}
