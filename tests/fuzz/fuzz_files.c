/* Rows that stay in .npy files: two files in a list, or the first one alone. The first byte says how they are read, the
 * second how long the first file is. One file must give the same result with its rows in memory. */
#include "fuzz.h"

enum { MOST_ROWS = 64 };

/* A file with the bytes, where the magic ones begin it if there are so many. */
static const char *write_part(unsigned number, uint8_t *data, size_t size) {
  static const uint8_t magic[] = "\x93NUMPY";
  if (size >= sizeof magic - 1) {
    memcpy(data, magic, sizeof magic - 1);
  }
  fuzz_write(fuzz_name(number), data, size);
  return fuzz_name(number);
}

static oatgp_settings settings_for(uint8_t how) {
  static const char *const likelihoods[] = {"gaussian", "bernoulli-logit", "poisson", "ordinal"};
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  settings.target = how & 1 ? "last" : "1";
  settings.missing = how & 2 ? "drop" : "error";
  settings.weights = how & 4 ? "2" : "";
  settings.likelihood = likelihoods[how / 8 % 4];
  settings.select = "fixed";
  settings.knots = "1";
  settings.threads = 1;
  return settings;
}

/* The objective where a fit would begin; false if it has none. */
static bool evaluate(oatgp_context *ctx, const char *path, const oatgp_settings *settings, double *value) {
  oatgp_data *data = NULL;
  oatgp_evaluation evaluation = {0};
  oatgp_status status = oatgp_data_read(ctx, path, settings, &data);
  fuzz_check(ctx, status);
  if (status == OATGP_OK && oatgp_data_rows(data) <= MOST_ROWS) {
    status = oatgp_evaluate(ctx, data, settings, NULL, 1, &evaluation);
    fuzz_check(ctx, status);
    *value = evaluation.objective;
  } else {
    status = OATGP_DATA;
  }
  oatgp_evaluation_clear(&evaluation);
  oatgp_data_free(data);
  return status == OATGP_OK;
}

static void compare(oatgp_context *ctx, const char *path, oatgp_settings settings) {
  double in_file = 0, in_memory = 0;
  settings.memory = 1;
  if (evaluate(ctx, path, &settings, &in_file)) {
    settings.memory = 0;
    if (!evaluate(ctx, path, &settings, &in_memory) || memcmp(&in_file, &in_memory, sizeof in_file) != 0) {
      fprintf(stderr, "%.17g in the file, %.17g in memory: %s\n", in_file, in_memory, oatgp_last_error(ctx));
      abort();
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static oatgp_context *ctx = NULL;
  if (size < 10) {
    return 0;
  }
  if (ctx == NULL) {
    ctx = oatgp_context_create();
  }
  const oatgp_settings settings = settings_for(data[0]);
  const size_t rest = size - 2, wanted = 2 * (size_t)data[1], length = wanted == 0 || wanted > rest ? rest : wanted;
  uint8_t *bytes = malloc(rest);
  if (bytes == NULL) {
    abort();
  }
  memcpy(bytes, data + 2, rest);
  const char *first = write_part(1, bytes, length), *second = write_part(2, bytes + length, rest - length);
  if (length == rest) {
    compare(ctx, first, settings);
  } else {
    char names[160], list[80];
    double value;
    snprintf(names, sizeof names, "%s\r\n\n%s%s", first, second, data[0] & 64 ? "\n" : "");
    snprintf(list, sizeof list, "@%s", fuzz_file((const uint8_t *)names, strlen(names)));
    evaluate(ctx, list, &settings, &value);
  }
  free(bytes);
  return 0;
}
