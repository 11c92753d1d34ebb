/* The records of a text table: lines split at a delimiter into cells, with quotes. */
#ifndef OAT_RECORDS_H
#define OAT_RECORDS_H

#include "tables/columns.h"
#include "tables/bytes.h"

/* How a text table is written. */
typedef struct oat_form {
  char delimiter;
  unsigned char ends_cell[256]; /* the delimiter, both line ends, and the 0 that no text has */
} oat_form;

typedef struct oat_cell {
  char *text; /* without quotes and the blanks around it */
  size_t length;
  bool quoted, escaped; /* escaped: holds doubled quotes */
} oat_cell;

/* The position in the window of the source at which records are read. The window itself does not change. */
typedef struct oat_records {
  const oat_source *source;
  const oat_form *form;
  char *at;        /* the next record */
  size_t line;     /* physical line, from 1, where it begins */
  char *start;     /* the present record, */
  size_t number;   /* its line */
  oat_cell *cells; /* and its cells */
  size_t count, capacity;
} oat_records;

typedef enum oat_found {
  OAT_RECORD,
  OAT_BLANK_LINE, /* which is no record */
  OAT_CUT_OFF     /* the record does not end within the window, and the file goes on */
} oat_found;

/* Skips a byte order mark and finds the delimiter: in the first line that is not blank, outside quotes, a tab if there
 * is one, else a semicolon if there is one, else a comma. A tab beside a comma, a semicolon or a line end is only a
 * blank. */
oatgp_status oat_form_find(oatgp_context *ctx, oat_source *source, oat_form *form);
/* What the delimiter is called: "commas". */
const char *oat_form_delimiters(const oat_form *form);

/* Starts, or restarts after the window has moved, at the first unused byte. */
void oat_records_begin(oat_records *records, size_t line);
/* Reads the record, or the blank line, at records->at and advances past it. Lines end with LF, CRLF or CR. Do not call
 * it at the end of the file. */
oatgp_status oat_records_next(oatgp_context *ctx, oat_records *records, oat_found *found);
/* The physical line of a cell: that of the record, unless cells before it have line ends in quotes. */
size_t oat_records_line_of(const oat_records *records, const oat_cell *cell);
/* Copies the first `room` bytes to `out`, which may be the cell's own text, and turns doubled quotes into single ones.
 * Returns the length. */
size_t oat_cell_unescape(const oat_cell *cell, size_t room, char *out);
/* How many bytes to ask for when the record at the beginning of the window is cut off; refuses records that are too
 * long. */
oatgp_status oat_records_longer(oatgp_context *ctx, const oat_records *records, size_t *bytes);
void oat_records_free(oat_records *records); /* may be called with {0} */

#endif
