/* Model files: one that is taken predicts some rows, describes itself and is saved again to the same bytes once more. */
#include "fuzz.h"

static void save_twice(oatgp_context *ctx, const oatgp_model *model) {
  unsigned char *first = NULL, *second = NULL;
  size_t size = 0, again = 0;
  oatgp_model *loaded = NULL;
  const oatgp_status status = oatgp_model_to_bytes(ctx, model, &first, &size);
  fuzz_check(ctx, status);
  if (status != OATGP_OK || oatgp_model_from_bytes(ctx, first, size, &loaded) != OATGP_OK ||
      oatgp_model_to_bytes(ctx, loaded, &second, &again) != OATGP_OK || size != again || memcmp(first, second, size) != 0) {
    fprintf(stderr, "a model that was loaded cannot be saved and loaded: %s\n", oatgp_last_error(ctx));
    abort();
  }
  oatgp_model_free(loaded);
  oatgp_bytes_free(first);
  oatgp_bytes_free(second);
}

static void predict(oatgp_context *ctx, const oatgp_model *model, size_t d) {
  enum { ROWS = 3 };
  double *x = calloc(ROWS * d, sizeof *x), out[3][ROWS];
  oatgp_data *rows = NULL;
  if (x == NULL) {
    abort();
  }
  for (size_t i = 0; i < ROWS * d; i++) {
    x[i] = (double)i - 1.5;
  }
  oatgp_status status = oatgp_data_create(ctx, ROWS, d, x, NULL, &rows);
  if (status == OATGP_OK) {
    status = oatgp_predict(ctx, model, rows, &(oatgp_prediction){out[0], out[1], out[2]});
  }
  fuzz_check(ctx, status);
  oatgp_data_free(rows);
  free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size + 1);
  oatgp_context *ctx = oatgp_context_create();
  oatgp_model *model = NULL;
  oatgp_model_info info;
  if (bytes == NULL || ctx == NULL) {
    abort();
  }
  memcpy(bytes, data, size);
  fuzz_seal(bytes, size);
  const oatgp_status status = oatgp_model_from_bytes(ctx, bytes, size, &model);
  fuzz_check(ctx, status);
  if (status == OATGP_OK) {
    oatgp_model_get_info(model, &info);
    predict(ctx, model, info.d);
    save_twice(ctx, model);
  }
  oatgp_model_free(model);
  oatgp_context_free(ctx);
  free(bytes);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return fuzz_mutate_tensors(data, size, most, 0, seed);
}
