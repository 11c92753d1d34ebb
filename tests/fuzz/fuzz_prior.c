/* Priors as text. What can be read is written back, and that is read as the same priors. The first byte says which
 * kernel and likelihood the parameters are of. */
#include "fit/setup.h"
#include "fuzz.h"

enum { ROWS = 6 };

static oatgp_data *make_data(oatgp_context *ctx) {
  const double x[2 * ROWS] = {0, 1, 1, 3, 2, 2, 3, 5, 4, 4, 5, 0}, y[ROWS] = {0, 1, 1, 0, 1, 0};
  const char *const names[] = {"x", "mean temperature"};
  oatgp_data *data = NULL;
  if (oatgp_data_create(ctx, ROWS, 2, x, y, &data) != OATGP_OK ||
      oatgp_data_set_names(ctx, data, names, "y") != OATGP_OK) {
    abort();
  }
  return data;
}

/* The priors as the library would have them in a file; NULL if they are refused. The caller frees it. */
static char *read_priors(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings) {
  oat_setup setup = {0};
  char *text = NULL;
  oatgp_status status = oat_setup_make(ctx, data, settings, NULL, &setup);
  if (status == OATGP_OK) {
    status = oat_setup_prior_text(ctx, &setup, &text);
  }
  fuzz_check(ctx, status);
  oat_setup_clear(&setup);
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const kernels[] = {"se-ard", "rq", "se(x) + periodic(\"mean temperature\") * rq(x)",
                                        "constant * linear(x)^2 + matern32"};
  static const char *const likelihoods[] = {"gaussian", "bernoulli-logit", "student-t", "poisson"};
  static oatgp_context *ctx = NULL;
  static oatgp_data *rows = NULL;
  if (size == 0) {
    return 0;
  }
  if (ctx == NULL) {
    ctx = oatgp_context_create();
    rows = make_data(ctx);
  }
  oatgp_settings settings;
  char *given = calloc(size, 1);
  memcpy(given, data + 1, size - 1);
  oatgp_settings_default(&settings);
  settings.kernel = kernels[*data % 4];
  settings.likelihood = likelihoods[*data / 4 % 4];
  settings.fix = *data & 16 ? "tau" : "";
  settings.select = "fixed";
  settings.knots = "2";
  settings.prior = given;
  char *first = read_priors(ctx, rows, &settings);
  if (first != NULL) {
    settings.prior = first;
    char *again = read_priors(ctx, rows, &settings);
    if (again == NULL || strcmp(first, again) != 0) {
      fprintf(stderr, "%s comes back as %s: %s\n", first, again != NULL ? again : "none", oatgp_last_error(ctx));
      abort();
    }
    free(again);
  }
  free(first);
  free(given);
  return 0;
}
