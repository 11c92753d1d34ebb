/* Reads a file into data, all at once or in blocks of rows. */
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
  size_t reported; /* dropped rows that earlier data objects have counted */
  oatgp_data *streamed; /* rows that stay in their files, or NULL; then `rows` counts those that were returned */
} oat_reader;

/* The files of one table: a path; a pattern such as part-*.npy; or @LIST, a file with a path on each line. */
typedef struct oat_paths {
  size_t count, capacity;
  char **name;
} oat_paths;

oatgp_status oat_paths_find(oatgp_context *ctx, const char *path, oat_paths *paths);
void oat_paths_free(oat_paths *paths);

/* Whether the rows of an .npy file stay in it: because they need more memory than they may use, or for ranks to share.
 */
bool oat_reader_is_large(const oat_reader *reader, const oatgp_settings *settings);
/* Called after the columns were chosen: the rows stay in their files. `describe`: oat_describe_column will be called.
 * `answers`: the target is not Gaussian. */
oatgp_status oat_reader_leave_in_files(oatgp_context *ctx, oat_reader *reader, const oat_paths *paths, bool describe,
                                       bool answers);

/* Opens the file and chooses the columns: those in `wanted` or, if it is NULL, those of the settings. The wanted names
 * must live as long as the reader. The reader must not move, and must be closed even after a failure. */
oatgp_status oat_reader_open(oatgp_context *ctx, const char *path, const oat_columns *wanted,
                             const oatgp_settings *settings, oat_reader *reader);
/* Returns the next `rows` rows, or all remaining rows if there are fewer; NULL if there are none. With SIZE_MAX, rows
 * that stay in files stay there. Reading in blocks is possible only with `wanted` columns. */
oatgp_status oat_reader_next(oatgp_context *ctx, oat_reader *reader, size_t rows, oatgp_data **out);
/* The share of the file whose rows have been returned, from 0 to 1; NaN for a pipe. */
double oat_reader_share(const oat_reader *reader);
void oat_reader_close(oat_reader *reader); /* may be called with {0} */

#endif
