/* The records of a text table. A record is scanned where it lies in the window; if it does not end there, more of the file is
 * read and it is scanned again from its start, which costs little as windows are long and grow by half. */
#include "data/records.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

enum { LONGEST_RECORD = 1 << 26, BYTES_PER_MIB = 1 << 20 };

typedef enum scan {
  SCAN_CELL,        /* the end of a cell, not of the record */
  SCAN_RECORD,      /* the end of the record */
  SCAN_NOTHING,     /* the end of the file, no record before it */
  SCAN_MORE,        /* the window ends within the record */
  SCAN_OPEN_QUOTE,  /* the file ends within quotes */
  SCAN_AFTER_QUOTE, /* text between a closing quote and the end of the cell */
  SCAN_TOO_MANY     /* cells */
} scan;

typedef struct scan_cursor {
  char *at, *end;
  bool last;    /* the file ends at `end` */
  size_t lines; /* line ends passed */
} scan_cursor;

static bool is_blank(const oat_records *records, char c) { return c == ' ' || (c == '\t' && records->delimiter != '\t'); }

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
  if (c == records->delimiter) {
    cursor->at++;
    return SCAN_CELL;
  }
  if (c != '\n' && c != '\r') {
    return SCAN_AFTER_QUOTE;
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
  while (at < cursor->end && !records->ends_cell[(unsigned char)*at]) {
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

/* Scans the record at the window's begin and, if it is complete, steps over it. */
static oatgp_status scan_record(oatgp_context *ctx, oat_records *records, scan *outcome) {
  oat_source *source = records->source;
  scan_cursor cursor = {source->window + source->begin, source->window + source->end, source->at_end, 0};
  records->count = 0;
  *outcome = cursor.at == cursor.end && cursor.last ? SCAN_NOTHING : SCAN_CELL;
  while (*outcome == SCAN_CELL) {
    const oatgp_status status = oat_grow(ctx, records->count + 1, sizeof *records->cells, &records->capacity, &records->cells);
    if (status != OATGP_OK) {
      return status;
    }
    *outcome = records->count < OAT_MOST_COLUMNS ? scan_cell(records, &cursor) : SCAN_TOO_MANY;
  }
  if (*outcome == SCAN_RECORD) {
    records->start = source->window + source->begin;
    source->begin = (size_t)(cursor.at - source->window);
    records->next_line = records->line + cursor.lines;
  }
  return OATGP_OK;
}

/* Doubled quotes become single ones; the bytes that are left become blanks, as the lines of cells are counted here. */
static void unescape(oat_cell *cell) {
  size_t kept = 0;
  for (size_t i = 0; i < cell->length; i++) {
    cell->text[kept++] = cell->text[i];
    i += cell->text[i] == '"';
  }
  memset(cell->text + kept, ' ', cell->length - kept);
  cell->length = kept;
  cell->escaped = false;
}

static oatgp_status refuse_nul(oatgp_context *ctx, const oat_source *source, size_t from) {
  const char *nul = memchr(source->window + from, '\0', source->end - from);
  if (nul == NULL) {
    return OATGP_OK;
  }
  const uint64_t offset = source->offset + (uint64_t)(nul - source->window);
  return oat_fail(ctx, OATGP_DATA, "'%s' is not a table: its byte %llu is 0, so it is neither text (as UTF-8) nor .npy", source->name,
                  (unsigned long long)offset + 1);
}

static oatgp_status read_more(oatgp_context *ctx, oat_records *records) {
  oat_source *source = records->source;
  const size_t before = source->end - source->begin;
  if (before >= LONGEST_RECORD) {
    return oat_fail(ctx, OATGP_DATA, "%s, line %zu: the record is longer than %d MiB; look for a quote that is not closed", source->name,
                    records->line, LONGEST_RECORD / BYTES_PER_MIB);
  }
  const oatgp_status status = oat_source_more(ctx, source);
  return status != OATGP_OK ? status : refuse_nul(ctx, source, before);
}

static oatgp_status refuse(oatgp_context *ctx, const oat_records *records, scan outcome) {
  const char *problem = outcome == SCAN_OPEN_QUOTE    ? "a quote is opened in this record and not closed before the end of the file"
                        : outcome == SCAN_AFTER_QUOTE ? "there is text after a closing quote; a quote within quotes must be doubled"
                                                      : "there are too many columns";
  return oat_fail(ctx, OATGP_DATA, "%s, line %zu: %s", records->source->name, records->line, problem);
}

static bool is_blank_line(const oat_records *records) {
  return records->count == 1 && records->cells[0].length == 0 && !records->cells[0].quoted;
}

oatgp_status oat_records_next(oatgp_context *ctx, oat_records *records, bool *found) {
  oatgp_status status = OATGP_OK;
  scan outcome = SCAN_RECORD;
  *found = true;
  if (records->again) {
    records->again = false;
    return OATGP_OK;
  }
  do {
    records->line = records->next_line;
    TRY(scan_record(ctx, records, &outcome));
    if (outcome == SCAN_MORE) {
      TRY(read_more(ctx, records));
    } else if (outcome != SCAN_RECORD && outcome != SCAN_NOTHING) {
      return refuse(ctx, records, outcome);
    }
  } while (outcome == SCAN_MORE || (outcome == SCAN_RECORD && is_blank_line(records)));
  *found = outcome == SCAN_RECORD;
  for (size_t k = 0; k < records->count; k++) {
    if (records->cells[k].escaped) {
      unescape(&records->cells[k]);
    }
  }
done:
  return status;
}

size_t oat_records_line_of(const oat_records *records, const oat_cell *cell) {
  const bool one_line = records->next_line - records->line <= 1;
  return one_line ? records->line : records->line + count_line_ends(records->start, cell->text);
}

/* Looks for the delimiter. False if the first line with text does not end within the text given. */
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
    if (line_end && before != '\n') {
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

static void set_delimiter(oat_records *records, char delimiter) {
  records->delimiter = delimiter;
  records->ends_cell[(unsigned char)delimiter] = 1;
  records->ends_cell['\r'] = 1;
  records->ends_cell['\n'] = 1;
}

oatgp_status oat_records_open(oatgp_context *ctx, oat_source *source, oat_records *records) {
  oatgp_status status = OATGP_OK;
  char delimiter = ',';
  *records = (oat_records){.source = source, .line = 1, .next_line = 1};
  TRY(refuse_nul(ctx, source, source->begin));
  if (source->end - source->begin >= 3 && memcmp(source->window + source->begin, "\xEF\xBB\xBF", 3) == 0) {
    source->begin += 3;
  }
  while (!find_delimiter(source->window + source->begin, source->end - source->begin, &delimiter) && !source->at_end) {
    TRY(read_more(ctx, records));
  }
  set_delimiter(records, delimiter);
done:
  return status;
}

void oat_records_free(oat_records *records) {
  free(records->cells);
  *records = (oat_records){0};
}
