/* Reads a file: opens it, finds its columns, chooses some, fills a table and makes data from it. */
#include "tables/reader.h"

#include <stdint.h>
#include <string.h>

#include "util/hash.h"
#include "util/ranks.h"

static oatgp_status open_file(oatgp_context *ctx, const char *path, const oat_columns *wanted,
                              const oatgp_settings *settings, oat_reader *reader) {
  PASS_ON(oat_source_open(ctx, path, &reader->source));
  reader->is_npy = oat_npy_is(&reader->source);
  PASS_ON(reader->is_npy ? oat_npy_open(ctx, &reader->source, &reader->npy, &reader->layout)
                         : oat_csv_open(ctx, &reader->source, settings->header, &reader->csv, &reader->layout));
  PASS_ON(oat_table_open(ctx, &reader->layout, &reader->table));
  reader->table.drop = strcmp(settings->missing, "drop") == 0;
  return wanted != NULL ? oat_select_like(ctx, wanted, &reader->table)
                        : oat_select_by_settings(ctx, settings, &reader->table);
}

oatgp_status oat_reader_open(oatgp_context *ctx, const char *path, const oat_columns *wanted,
                             const oatgp_settings *settings, oat_reader *reader) {
  *reader = (oat_reader){.settled = wanted != NULL, .more = true};
  oat_plain plain;
  PASS_ON(oat_plain_begin(ctx, &plain));
  oat_paths paths = {0};
  oatgp_status status = oat_paths_find(ctx, path, &paths);
  status = status == OATGP_OK ? open_file(ctx, paths.name[0], wanted, settings, reader) : status;
  const bool stay = status == OATGP_OK && (paths.count > 1 || oat_reader_is_large(reader, settings));
  const size_t shape[] = {paths.count, reader->is_npy, reader->npy.rows, reader->npy.columns, stay};
  status = status == OATGP_OK ? oat_ranks_check(ctx, oat_hash(OAT_HASH_START, shape, sizeof shape)) : status;
  if (status == OATGP_OK && stay) {
    const bool answers = wanted != NULL ? wanted->answers : strcmp(settings->likelihood, "gaussian") != 0;
    status = oat_reader_leave_in_files(ctx, reader, &paths, wanted == NULL, answers);
  }
  oat_paths_free(&paths);
  oat_plain_end(&plain);
  return status;
}

void oat_reader_close(oat_reader *reader) {
  oatgp_data_free(reader->streamed);
  oat_table_free(&reader->table);
  oat_layout_free(&reader->layout);
  oat_npy_free(&reader->npy);
  oat_csv_free(&reader->csv);
  oat_source_close(&reader->source);
}

/* The checks after the last row. */
static oatgp_status finish(oatgp_context *ctx, oat_reader *reader) {
  oat_table *table = &reader->table;
  PASS_ON(oat_table_check(ctx, table, reader->rows));
  PASS_ON(oat_table_drop(ctx, table));
  REFUSE_IF(table->dropped == reader->rows, ctx, OATGP_DATA,
            "'%s' has no rows left: each of its %zu rows has a missing value in a column in use", reader->layout.file,
            reader->rows);
  if (table->dropped > 0) {
    oat_say(ctx, OATGP_NOTE, "'%s': dropped %zu of %zu rows, which have missing values", reader->layout.file,
            table->dropped, reader->rows);
  }
  return OATGP_OK;
}

/* One step of the file's own reader. */
static oatgp_status read_on(oatgp_context *ctx, oat_reader *reader) {
  oat_table *table = &reader->table;
  const size_t before = table->rows;
  PASS_ON(reader->is_npy ? oat_npy_more(ctx, &reader->npy, table, &reader->more)
                         : oat_csv_more(ctx, &reader->csv, table, &reader->more));
  reader->rows += table->rows - before;
  if (reader->settled) {
    PASS_ON(oat_table_drop(ctx, table));
  }
  return reader->more ? OATGP_OK : finish(ctx, reader);
}

/* The messages after all rows were returned. */
static void tell_once(oatgp_context *ctx, oat_reader *reader) {
  if (!reader->more && reader->table.rows == 0 && !reader->told) {
    reader->told = true;
    oat_table_tell_unseen(ctx, &reader->table);
  }
}

/* Rows that stay in their files, or some of them in memory. */
static oatgp_status next_streamed(oatgp_context *ctx, oat_reader *reader, size_t rows, oatgp_data **out) {
  const size_t left = reader->streamed->n - reader->rows;
  *out = NULL;
  if (rows == SIZE_MAX && reader->rows == 0) {
    *out = reader->streamed;
    reader->streamed = NULL;
    return OATGP_OK;
  }
  PASS_ON(left > 0 ? oat_data_copy_rows(ctx, reader->streamed, (oat_span){reader->rows, left < rows ? left : rows}, out)
                   : OATGP_OK);
  reader->rows += left < rows ? left : rows;
  oat_tell_progress(ctx, "reading", reader->rows, reader->streamed->n);
  return OATGP_OK;
}

oatgp_status oat_reader_next(oatgp_context *ctx, oat_reader *reader, size_t rows, oatgp_data **out) {
  if (reader->streamed != NULL) {
    return next_streamed(ctx, reader, rows, out);
  }
  oat_table *table = &reader->table;
  oat_plain plain;
  oatgp_data *data = NULL;
  oatgp_status status = oat_plain_begin(ctx, &plain);
  while (status == OATGP_OK && reader->more && table->rows < rows) {
    status = read_on(ctx, reader);
  }
  if (status == OATGP_OK && table->rows > 0) {
    status = oat_table_to_data(ctx, table, rows < table->rows ? rows : table->rows, &data);
  }
  if (status == OATGP_OK) {
    if (data != NULL) {
      data->dropped = table->dropped - reader->reported;
      reader->reported = table->dropped;
    }
    *out = data;
    tell_once(ctx, reader);
  }
  oat_plain_end(&plain);
  return status;
}

/* Rows in the table have been read, but not yet returned. */
double oat_reader_share(const oat_reader *reader) {
  if (reader->streamed != NULL) {
    return (double)reader->rows / (double)reader->streamed->n;
  }
  const double waiting = reader->rows > 0 ? (double)reader->table.rows / (double)reader->rows : 0;
  return oat_source_share(&reader->source) * (1 - waiting);
}

/* ---- all of a file --------------------------------------------------------------------------------------------- */

static oatgp_status read_file(oatgp_context *ctx, const char *path, const oat_columns *wanted,
                              const oatgp_settings *settings, oatgp_data **out) {
  oat_reader reader;
  oatgp_status status = oat_reader_open(ctx, path, wanted, settings, &reader);
  if (status == OATGP_OK) {
    status = oat_reader_next(ctx, &reader, SIZE_MAX, out);
  }
  oat_reader_close(&reader);
  return status;
}

static oatgp_status check_arguments(oatgp_context *ctx, const char *path, const oatgp_settings *settings,
                                    oatgp_data **out) {
  REFUSE_IF(path == NULL || settings == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "reading data needs a path, settings and out, which must not be NULL");
  return path[0] != '\0' ? oatgp_settings_check(ctx, settings)
                         : oat_fail(ctx, OATGP_ARGUMENT, "the path of the data is empty");
}

oatgp_status oatgp_data_read(oatgp_context *ctx, const char *path, const oatgp_settings *settings, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_arguments(ctx, path, settings, out));
  return read_file(ctx, path, NULL, settings, out);
}

oatgp_status oatgp_data_read_like(oatgp_context *ctx, const char *path, const oatgp_data *like,
                                  const oatgp_settings *settings, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_arguments(ctx, path, settings, out));
  REFUSE_IF(like == NULL, ctx, OATGP_ARGUMENT, "oatgp_data_read_like needs reference data, which must not be NULL");
  const oat_columns wanted = {.d = like->d,
                              .names = like->names,
                              .positions = like->positions,
                              .columns = like->columns,
                              .header = like->header,
                              .levels = like->levels};
  return read_file(ctx, path, &wanted, settings, out);
}

/* ---- the columns alone ----------------------------------------------------------------------------------------- */

/* All rows are read, and none is kept. */
static oatgp_status look_through(oatgp_context *ctx, oat_reader *reader, oatgp_data **out) {
  oat_table *table = &reader->table;
  oat_plain plain;
  oatgp_status status = oat_plain_begin(ctx, &plain);
  while (status == OATGP_OK && reader->more) {
    const size_t before = table->rows;
    status = reader->is_npy ? oat_npy_more(ctx, &reader->npy, table, &reader->more)
                            : oat_csv_more(ctx, &reader->csv, table, &reader->more);
    reader->rows += table->rows - before;
    oat_table_forget(table);
  }
  status = status == OATGP_OK ? oat_table_check(ctx, table, reader->rows) : status;
  table->rows = table->complete = 0;
  status = status == OATGP_OK ? oat_table_to_data(ctx, table, 0, out) : status;
  oat_plain_end(&plain);
  return status;
}

oatgp_status oatgp_data_look(oatgp_context *ctx, const char *path, const oatgp_settings *settings, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  oat_reader reader;
  PASS_ON(check_arguments(ctx, path, settings, out));
  oatgp_status status = oat_reader_open(ctx, path, NULL, settings, &reader);
  if (status == OATGP_OK && reader.streamed != NULL) {
    status = oat_fail(ctx, OATGP_ARGUMENT, "'%s' is a table of .npy files already", path);
  }
  status = status == OATGP_OK ? look_through(ctx, &reader, out) : status;
  oat_reader_close(&reader);
  return status;
}
