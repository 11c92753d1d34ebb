/* A file on its way into data, all at once or some rows at a time. */
#ifndef OAT_READER_H
#define OAT_READER_H

#include "tables/csv.h"
#include "tables/npy.h"

typedef struct oat_reader {
  oat_source source;
  bool is_npy;
  oat_csv csv; /* of a text table, or */
  oat_npy npy; /* of an .npy file */
  oat_layout layout;
  oat_table table;
  bool settled;    /* every column is known to be one of numbers, so that rows can be dropped before the file ends */
  bool told;       /* of levels that the model has not seen */
  bool more;       /* the file goes on behind the rows of the table */
  size_t rows;     /* read, with those that were dropped */
  size_t reported; /* dropped rows that data have been told of */
} oat_reader;

/* Opens the file and chooses the columns: those wanted or, with NULL, those of the settings. The wanted names must live as long as the
 * reader, which must stay where it is and is to be closed after a failure too. */
oatgp_status oat_reader_open(oatgp_context *ctx, const char *path, const oat_columns *wanted, const oatgp_settings *settings,
                             oat_reader *reader);
/* The next `rows` rows, or all that are left if they are fewer; NULL if none is. Only with columns that were wanted may it be called before
 * the end of the file with fewer rows than it has. */
oatgp_status oat_reader_next(oatgp_context *ctx, oat_reader *reader, size_t rows, oatgp_data **out);
void oat_reader_close(oat_reader *reader); /* takes {0} too */

#endif
