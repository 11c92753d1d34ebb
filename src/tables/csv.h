/* Text tables: header or not, and rows into the table, in parts that threads read side by side. */
#ifndef OAT_CSV_H
#define OAT_CSV_H

#include "tables/records.h"
#include "tables/table.h"

/* ---- a part (part.c) ------------------------------------------------------------------------------------------- */

/* A part begins and ends at line ends, which are assumed to be ends of records. It starts with what was known about the
 * columns before the first of the parts. oat_csv_more checks whether this was right. */
typedef struct oat_part {
  oatgp_context ctx;       /* its own, because threads must not share an error */
  oat_records records;     /* its own place and cells */
  const char *stop;        /* records that begin before this are its records */
  const size_t *series_of; /* for each column of the file, the number of its series or OAT_NOT_USED */
  oat_table table;         /* a copy, whose series have no values of their own */
  oat_levels *levels;      /* of each series that holds words, as far as they occur in this part */
  double *block;           /* rows x table.count, row by row */
  size_t capacity;         /* of the block, in values */
  size_t rows, first;      /* first: the position of its first row in the table, once that is known */
  oatgp_status status;
  bool cut_off; /* the last record does not end within the window */
} oat_part;

#define OAT_NOT_USED SIZE_MAX

/* Copies what is known about the columns, without rows. */
oatgp_status oat_part_begin(oatgp_context *ctx, oat_part *part, const oat_table *table);
/* Reads its records, up to the first failure. */
void oat_part_read(oat_part *part);
/* Whether the part has found out something about a column that could change how later cells are read. */
bool oat_part_has_learnt(const oat_part *part, const oat_table *table);
/* Adds what the part has found out to the table; `lines` must be added to its line numbers. */
void oat_part_tell(const oat_part *part, size_t lines, oat_table *table);
/* Converts the codes of its own levels to those of the table. */
oatgp_status oat_part_recode(oatgp_context *ctx, oat_part *part, oat_table *table);
/* Copies its rows to their position in the table, which has room for them. */
void oat_part_copy(const oat_part *part, const oat_table *table);
void oat_part_free(oat_part *part); /* may be called with {0} */

/* ---- the whole (csv.c) ----------------------------------------------------------------------------------------- */

typedef struct oat_csv {
  oat_source *source;
  oat_form form;
  oat_records records; /* where the next row begins */
  size_t part_bytes;   /* of text in a part */
  size_t needed;       /* bytes that must be visible before the next step */
  size_t width;        /* parts that are read side by side in it */
  size_t part_count;
  oat_part *part;
  size_t *series_of; /* as in oat_part */
} oat_csv;

/* Reads the first record and sets the layout. header is "yes", "no" or "auto": the first record is a header if one of
 * its cells is neither a number nor missing. */
oatgp_status oat_csv_open(oatgp_context *ctx, oat_source *source, const char *header, oat_csv *csv, oat_layout *layout);
/* Adds more rows to the table; *more says whether the file continues. The result does not depend on the number of
 * threads. */
oatgp_status oat_csv_more(oatgp_context *ctx, oat_csv *csv, oat_table *table, bool *more);
void oat_csv_free(oat_csv *csv); /* may be called with {0} */

#endif
