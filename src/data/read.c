/* Reading a file: open it, see what columns it has, choose some, fill a table, make data of it. */
#include "data/csv.h"
#include "data/npy.h"
#include "data/select.h"

#include <string.h>

/* Everything between the file and the data. */
typedef struct file_reading {
  oat_source source;
  oat_records records; /* of a text table, or */
  oat_npy npy;         /* of an .npy file */
  oat_layout layout;
  oat_table table;
  oat_plain plain;
} file_reading;

static void end_reading(file_reading *reading) {
  oat_table_free(&reading->table);
  oat_layout_free(&reading->layout);
  oat_npy_free(&reading->npy);
  oat_records_free(&reading->records);
  oat_source_close(&reading->source);
  oat_plain_end(&reading->plain);
}

static const char *or_default(const char *choice, const char *value) { return choice != NULL ? choice : value; }

/* With wanted NULL the settings choose the columns. */
static oatgp_status read_file(oatgp_context *ctx, const char *path, const oat_columns *wanted, const oatgp_settings *settings,
                              oatgp_data **out) {
  oatgp_status status = OATGP_OK;
  file_reading now = {0};
  TRY(oat_plain_begin(ctx, &now.plain));
  TRY(oat_source_open(ctx, path, &now.source));
  const bool npy = oat_npy_is(&now.source);
  TRY(npy ? oat_npy_open(ctx, &now.source, &now.npy, &now.layout)
          : oat_csv_open(ctx, &now.source, or_default(settings->header, "auto"), &now.records, &now.layout));
  TRY(oat_table_open(ctx, &now.layout, &now.table));
  now.table.drop = strcmp(or_default(settings->missing, "error"), "drop") == 0;
  TRY(wanted != NULL ? oat_select_like(ctx, wanted, &now.table) : oat_select_by_settings(ctx, settings, &now.table));
  TRY(npy ? oat_npy_rows(ctx, &now.npy, &now.table) : oat_csv_rows(ctx, &now.records, &now.table));
  TRY(oat_table_to_data(ctx, &now.table, out));
done:
  end_reading(&now);
  return status;
}

static oatgp_status check_arguments(oatgp_context *ctx, const char *path, const oatgp_settings *settings, oatgp_data **out) {
  if (path == NULL || settings == NULL || out == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "reading data needs a path, settings and out, which are not NULL");
  }
  return path[0] != '\0' ? oatgp_settings_check(ctx, settings) : oat_fail(ctx, OATGP_ARGUMENT, "the path of the data is empty");
}

oatgp_status oatgp_data_read(oatgp_context *ctx, const char *path, const oatgp_settings *settings, oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_arguments(ctx, path, settings, out);
  return status != OATGP_OK ? status : read_file(ctx, path, NULL, settings, out);
}

oatgp_status oatgp_data_read_like(oatgp_context *ctx, const char *path, const oatgp_data *like, const oatgp_settings *settings,
                                  oatgp_data **out) {
  OAT_NEED_CONTEXT(ctx);
  const oatgp_status status = check_arguments(ctx, path, settings, out);
  if (status != OATGP_OK) {
    return status;
  }
  if (like == NULL) {
    return oat_fail(ctx, OATGP_ARGUMENT, "oatgp_data_read_like needs data to be like, which are not NULL");
  }
  const oat_columns wanted = {
      .d = like->d, .names = like->names, .positions = like->positions, .columns = like->columns, .header = like->header};
  return read_file(ctx, path, &wanted, settings, out);
}

oatgp_status oat_data_read_columns(oatgp_context *ctx, const char *path, const oat_columns *wanted, const oatgp_settings *settings,
                                   oatgp_data **out) {
  return read_file(ctx, path, wanted, settings, out);
}
