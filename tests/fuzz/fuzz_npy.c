/* .npy files; the magic bytes are always there. The first byte says how the columns are chosen. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t magic[] = "\x93NUMPY";
  if (size < 8) {
    return 0;
  }
  uint8_t *bytes = malloc(size - 1);
  if (bytes == NULL) {
    abort();
  }
  memcpy(bytes, data + 1, size - 1);
  memcpy(bytes, magic, sizeof magic - 1);
  oatgp_context *ctx = oatgp_context_create();
  oatgp_settings settings;
  oatgp_data *table = NULL;
  oatgp_settings_default(&settings);
  settings.missing = *data & 1 ? "drop" : "error";
  settings.target = *data & 2 ? "1" : "";
  const oatgp_status status = oatgp_data_read(ctx, fuzz_file(bytes, size - 1), &settings, &table);
  fuzz_check(ctx, status);
  if (status == OATGP_OK && (oatgp_data_rows(table) == 0 || oatgp_data_inputs(table) == 0)) {
    abort();
  }
  oatgp_data_free(table);
  oatgp_context_free(ctx);
  free(bytes);
  return 0;
}
