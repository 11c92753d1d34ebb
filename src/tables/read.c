/* Reading all of a file. */
#include <stdint.h>

#include "tables/reader.h"

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
  const oat_columns wanted = {
      .d = like->d, .names = like->names, .positions = like->positions, .columns = like->columns, .header = like->header};
  return read_file(ctx, path, &wanted, settings, out);
}
