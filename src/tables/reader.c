/* Reading a file: open it, see what columns it has, choose some, fill a table, make data of it. */
#include "tables/reader.h"

#include <stdint.h>
#include <string.h>

static oatgp_status open_file(oatgp_context *ctx, const char *path, const oat_columns *wanted, const oatgp_settings *settings,
                              oat_reader *reader) {
  PASS_ON(oat_source_open(ctx, path, &reader->source));
  reader->is_npy = oat_npy_is(&reader->source);
  PASS_ON(reader->is_npy ? oat_npy_open(ctx, &reader->source, &reader->npy, &reader->layout)
                         : oat_csv_open(ctx, &reader->source, settings->header, &reader->csv, &reader->layout));
  PASS_ON(oat_table_open(ctx, &reader->layout, &reader->table));
  reader->table.drop = strcmp(settings->missing, "drop") == 0;
  return wanted != NULL ? oat_select_like(ctx, wanted, &reader->table) : oat_select_by_settings(ctx, settings, &reader->table);
}

oatgp_status oat_reader_open(oatgp_context *ctx, const char *path, const oat_columns *wanted, const oatgp_settings *settings,
                             oat_reader *reader) {
  *reader = (oat_reader){.settled = wanted != NULL, .more = true};
  oat_plain plain;
  PASS_ON(oat_plain_begin(ctx, &plain));
  const oatgp_status status = open_file(ctx, path, wanted, settings, reader);
  oat_plain_end(&plain);
  return status;
}

void oat_reader_close(oat_reader *reader) {
  oat_table_free(&reader->table);
  oat_layout_free(&reader->layout);
  oat_npy_free(&reader->npy);
  oat_csv_free(&reader->csv);
  oat_source_close(&reader->source);
}

/* After the last row. */
static oatgp_status finish(oatgp_context *ctx, oat_reader *reader) {
  oat_table *table = &reader->table;
  PASS_ON(oat_table_check(ctx, table, reader->rows));
  PASS_ON(oat_table_drop(ctx, table));
  REFUSE_IF(table->dropped == reader->rows, ctx, OATGP_DATA,
            "'%s' has no rows left: each of its %zu rows has a missing value in a column that is used", reader->layout.file, reader->rows);
  if (table->dropped > 0) {
    oat_say(ctx, OATGP_NOTE, "'%s': dropped %zu of %zu rows, which have missing values", reader->layout.file, table->dropped, reader->rows);
  }
  return OATGP_OK;
}

/* One step of the file's own reader. */
static oatgp_status read_on(oatgp_context *ctx, oat_reader *reader) {
  oat_table *table = &reader->table;
  const size_t before = table->rows;
  PASS_ON(reader->is_npy ? oat_npy_more(ctx, &reader->npy, table, &reader->more) : oat_csv_more(ctx, &reader->csv, table, &reader->more));
  reader->rows += table->rows - before;
  if (reader->settled) {
    PASS_ON(oat_table_drop(ctx, table));
  }
  return reader->more ? OATGP_OK : finish(ctx, reader);
}

/* When all rows are given out. */
static void tell_once(oatgp_context *ctx, oat_reader *reader) {
  if (!reader->more && reader->table.rows == 0 && !reader->told) {
    reader->told = true;
    oat_table_tell_unseen(ctx, &reader->table);
  }
}

oatgp_status oat_reader_next(oatgp_context *ctx, oat_reader *reader, size_t rows, oatgp_data **out) {
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

/* ---- all of a file ------------------------------------------------------------------------------------------------- */

static oatgp_status read_file(oatgp_context *ctx, const char *path, const oat_columns *wanted, const oatgp_settings *settings,
                              oatgp_data **out) {
  oat_reader reader;
  oatgp_status status = oat_reader_open(ctx, path, wanted, settings, &reader);
  if (status == OATGP_OK) {
    status = oat_reader_next(ctx, &reader, SIZE_MAX, out);
  }
  oat_reader_close(&reader);
  return status;
}

static oatgp_status check_arguments(oatgp_context *ctx, const char *path, const oatgp_settings *settings, oatgp_data **out) {
  REFUSE_IF(path == NULL || settings == NULL || out == NULL, ctx, OATGP_ARGUMENT,
            "reading data needs a path, settings and out, which are not NULL");
  return path[0] != '\0' ? oatgp_settings_check(ctx, settings) : oat_fail(ctx, OATGP_ARGUMENT, "the path of the data is empty");
}

oatgp_status oatgp_data_read(oatgp_context *ctx, const char *path, const oatgp_settings *settings, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_arguments(ctx, path, settings, out));
  return read_file(ctx, path, NULL, settings, out);
}

oatgp_status oatgp_data_read_like(oatgp_context *ctx, const char *path, const oatgp_data *like, const oatgp_settings *settings,
                                  oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  PASS_ON(check_arguments(ctx, path, settings, out));
  REFUSE_IF(like == NULL, ctx, OATGP_ARGUMENT, "oatgp_data_read_like needs data to be like, which are not NULL");
  const oat_columns wanted = {.d = like->d,
                              .names = like->names,
                              .positions = like->positions,
                              .columns = like->columns,
                              .header = like->header,
                              .levels = like->levels};
  return read_file(ctx, path, &wanted, settings, out);
}
