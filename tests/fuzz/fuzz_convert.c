/* Tables with categories, classes, counts, trials and exposure, as `convert` reads them: first the whole file without
 * its rows, then the rows in blocks. They must equal those of the file read as a whole. The first two bytes select the
 * options. */
#include "fuzz.h"

static oatgp_settings settings_for(uint8_t how, uint8_t more) {
  static const char *const likelihoods[] = {"gaussian", "bernoulli-logit",   "poisson", "ordinal",
                                            "beta",     "negative-binomial", "gamma",   "binomial-logit"};
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  settings.header = how & 1 ? "yes" : how & 2 ? "no" : "auto";
  settings.missing = how & 4 ? "drop" : "error";
  settings.target = how & 8 ? "y" : how & 16 ? "last" : "";
  settings.factors = how & 32 ? "1" : "";
  settings.threads = how & 64 ? 2 : 1;
  settings.weights = how & 128 ? "w" : "";
  settings.likelihood = likelihoods[more % 8];
  settings.trials = more & 8 ? "n" : "";
  settings.exposure = more & 16 ? "t" : "";
  settings.noise_variance = more & 32 ? "v" : "";
  return settings;
}

static void fail(const oatgp_context *ctx, const char *what) {
  fprintf(stderr, "%s: %s\n", what, oatgp_last_error(ctx));
  abort();
}

/* The rows of the part are those of the whole from `first` on. */
static void compare(oatgp_context *ctx, const oatgp_data *whole, const oatgp_data *part, size_t first) {
  const size_t rows = oatgp_data_rows(whole), count = oatgp_data_rows(part);
  double *all = calloc(rows, sizeof *all), *some = calloc(count, sizeof *some);
  for (size_t k = 0; k < oatgp_data_columns(whole); k++) {
    if (first + count > rows || oatgp_data_copy_column(ctx, whole, k, all) != OATGP_OK ||
        oatgp_data_copy_column(ctx, part, k, some) != OATGP_OK ||
        memcmp(all + first, some, count * sizeof *some) != 0) {
      fail(ctx, "some rows are not those of the whole");
    }
  }
  free(all);
  free(some);
}

static void compare_levels(const oatgp_context *ctx, const oatgp_data *whole, const oatgp_data *shape) {
  if (oatgp_data_columns(whole) != oatgp_data_columns(shape) ||
      oatgp_data_target_level_count(whole) != oatgp_data_target_level_count(shape)) {
    fail(ctx, "a look sees other columns");
  }
  for (size_t k = 0; k < oatgp_data_inputs(whole); k++) {
    if (oatgp_data_level_count(whole, k) != oatgp_data_level_count(shape, k)) {
      fail(ctx, "a look sees other levels");
    }
    for (size_t i = 0; i < oatgp_data_level_count(whole, k); i++) {
      if (strcmp(oatgp_data_level(whole, k, i), oatgp_data_level(shape, k, i)) != 0) {
        fail(ctx, "a look sees another level");
      }
    }
  }
}

static void read_in_parts(oatgp_context *ctx, const char *path, const oatgp_settings *settings, const oatgp_data *whole,
                          const oatgp_data *shape) {
  char out[80];
  oatgp_stream *stream = NULL;
  oatgp_data *part = NULL;
  oatgp_npy *npy = NULL;
  size_t rows = 0;
  snprintf(out, sizeof out, "%s.npy", path);
  if (oatgp_stream_open_like(ctx, path, shape, settings, &stream) != OATGP_OK ||
      oatgp_npy_open(ctx, out, oatgp_data_columns(shape), &npy) != OATGP_OK) {
    fail(ctx, "rows that were read once cannot be read again");
  }
  for (;;) {
    if (oatgp_stream_next(ctx, stream, 3, &part) != OATGP_OK) {
      fail(ctx, "a part that was read once cannot be read again");
    }
    if (part == NULL) {
      break;
    }
    compare(ctx, whole, part, rows);
    rows += oatgp_data_rows(part);
    fuzz_check(ctx, oatgp_npy_append(ctx, npy, part));
    oatgp_data_free(part);
    part = NULL;
  }
  if (rows != oatgp_data_rows(whole) || oatgp_npy_close(ctx, npy, 0) != OATGP_OK) {
    fail(ctx, "rows are missing");
  }
  oatgp_stream_free(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static oatgp_context *ctx = NULL;
  if (size < 2) {
    return 0;
  }
  if (ctx == NULL) {
    ctx = oatgp_context_create();
  }
  const oatgp_settings settings = settings_for(data[0], data[1]);
  const char *path = fuzz_file(data + 2, size - 2);
  oatgp_data *whole = NULL, *shape = NULL;
  const oatgp_status status = oatgp_data_read(ctx, path, &settings, &whole);
  fuzz_check(ctx, status);
  /* which a look does not notice */
  const bool all_dropped = status != OATGP_OK && strstr(oatgp_last_error(ctx), "has no rows left") != NULL;
  const oatgp_status looked = oatgp_data_look(ctx, path, &settings, &shape);
  fuzz_check(ctx, looked);
  if (looked != status && !all_dropped) {
    fail(ctx, "a look says something else than a reading");
  }
  if (status == OATGP_OK) {
    compare_levels(ctx, whole, shape);
    read_in_parts(ctx, path, &settings, whole, shape);
  }
  oatgp_data_free(whole);
  oatgp_data_free(shape);
  return 0;
}
