/* Text tables: header or not, and rows into the table. */
#ifndef OAT_CSV_H
#define OAT_CSV_H

#include "tables/part.h"

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

/* Reads the first record and sets the layout. header is "yes", "no" or "auto": the first record is a header if one of its
 * cells is neither a number nor missing. */
oatgp_status oat_csv_open(oatgp_context *ctx, oat_source *source, const char *header, oat_csv *csv, oat_layout *layout);
/* Puts further rows into the table; *more says whether the file goes on. What comes out does not depend on the number of threads. */
oatgp_status oat_csv_more(oatgp_context *ctx, oat_csv *csv, oat_table *table, bool *more);
void oat_csv_free(oat_csv *csv); /* takes {0} too */

#endif
