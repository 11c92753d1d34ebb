/* Tables as text, plain or packed by gzip here, whole and some rows at a time; the first byte says how they are
 * read. */
#include <zlib.h>

#include "fuzz.h"

/* The bytes in a gzip file; the caller frees them. */
static uint8_t *pack(const uint8_t *data, size_t size, size_t *packed) {
  z_stream stream = {0};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    abort();
  }
  const size_t most = deflateBound(&stream, size) + 64;
  uint8_t *out = malloc(most);
  stream.next_in = (Bytef *)(uintptr_t)data;
  stream.avail_in = (uInt)size;
  stream.next_out = out;
  stream.avail_out = (uInt)most;
  if (out == NULL || deflate(&stream, Z_FINISH) != Z_STREAM_END) {
    abort();
  }
  *packed = stream.total_out;
  deflateEnd(&stream);
  return out;
}

static void read_table(const char *path, uint8_t how) {
  oatgp_context *ctx = oatgp_context_create();
  oatgp_settings settings;
  oatgp_data *data = NULL;
  oatgp_settings_default(&settings);
  settings.header = how & 1 ? "yes" : how & 2 ? "no" : "auto";
  settings.missing = how & 4 ? "drop" : "error";
  settings.target = how & 8 ? "y" : how & 16 ? "1" : "";
  settings.inputs = how & 32 ? "a,b" : "";
  settings.threads = how & 64 ? 2 : 1;
  const oatgp_status status = oatgp_data_read(ctx, path, &settings, &data);
  fuzz_check(ctx, status);
  if (status == OATGP_OK && (oatgp_data_rows(data) == 0 || oatgp_data_inputs(data) == 0)) {
    abort();
  }
  oatgp_data_free(data);
  oatgp_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) {
    return 0;
  }
  if (*data & 128) {
    size_t packed;
    uint8_t *bytes = pack(data + 1, size - 1, &packed);
    read_table(fuzz_file(bytes, packed), *data);
    free(bytes);
  } else {
    read_table(fuzz_file(data + 1, size - 1), *data);
  }
  return 0;
}
