/* The records of a text table: lines split at a delimiter into cells, with quotes. */
#ifndef OAT_RECORDS_H
#define OAT_RECORDS_H

#include "data/layout.h"
#include "data/source.h"

typedef struct oat_cell {
  char *text; /* without quotes and the blanks around it */
  size_t length;
  bool quoted, escaped; /* escaped: holds doubled quotes, until the record is complete */
} oat_cell;

typedef struct oat_records {
  oat_source *source;
  unsigned char ends_cell[256]; /* the delimiter and both line ends */
  char delimiter;
  bool again;             /* the next record is the present one once more */
  size_t line, next_line; /* physical lines, from 1, where this record and the next begin */
  const char *start;      /* of the present record */
  oat_cell *cells;        /* valid until the next record */
  size_t count, capacity;
} oat_records;

/* Skips a byte order mark and finds the delimiter: in the first line that is not blank, outside quotes, a tab if there is
 * one, else a semicolon if there is one, else a comma. A tab beside a comma, a semicolon or a line end is only a blank. */
oatgp_status oat_records_open(oatgp_context *ctx, oat_source *source, oat_records *records);
/* Goes to the next record that is not a blank line. Lines end with LF, CRLF or CR. */
oatgp_status oat_records_next(oatgp_context *ctx, oat_records *records, bool *found);
/* The physical line of a cell: that of the record, unless cells before it have line ends in quotes. */
size_t oat_records_line_of(const oat_records *records, const oat_cell *cell);
void oat_records_free(oat_records *records); /* takes {0} too */

#endif
