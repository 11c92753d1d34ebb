/* Text tables: header or not, and rows into the table. */
#ifndef OAT_CSV_H
#define OAT_CSV_H

#include "data/records.h"
#include "data/table.h"

/* Reads the first record and sets the layout. header is "yes", "no" or "auto": the first record is a header if one of its
 * cells is neither a number nor missing. */
oatgp_status oat_csv_open(oatgp_context *ctx, oat_source *source, const char *header, oat_records *records, oat_layout *layout);
oatgp_status oat_csv_rows(oatgp_context *ctx, oat_records *records, oat_table *table);

#endif
