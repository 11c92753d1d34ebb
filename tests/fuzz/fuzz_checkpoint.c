/* Checkpoints: a tiny fit continues from one. The first byte selects strategy, model and optimiser, the second
 * likelihood, neighbours, kernel and priors. With OATGP_FUZZ_SEEDS=FOLDER the target writes checkpoints of all of them
 * there, and ends. */
#include "fuzz.h"
#include "knots/strategy.h"

enum { ROWS = 14, MANY_ROWS = 45, SUBSET_ROWS = 20, MOST_EVENTS = 400 };

/* Whether the automatic fit has more rows than those whose exact GP it begins with. */
static bool has_many(uint8_t how) { return (how & 64) != 0; }

/* Asks to stop after so many events. */
typedef struct watch {
  size_t calls, most;
} watch;

static int count(void *user, const oatgp_event *event) {
  watch *w = user;
  (void)event;
  return ++w->calls >= w->most;
}

static oatgp_data *make_data(oatgp_context *ctx, uint8_t how, uint8_t more) {
  const size_t rows = has_many(how) ? MANY_ROWS : ROWS;
  double x[MANY_ROWS], y[MANY_ROWS];
  oatgp_data *data = NULL;
  for (size_t i = 0; i < rows; i++) {
    x[i] = (double)(i * i % 17);
    y[i] = more & 1 ? (double)(i % 3 == 0) : sin(x[i]) + 0.1 * (double)(i % 3);
  }
  if (oatgp_data_create(ctx, rows, 1, x, y, &data) != OATGP_OK) {
    abort();
  }
  return data;
}

static oatgp_settings settings_for(uint8_t how, uint8_t more) {
  static const char *const approx[] = {"vfe", "fic", "full", "pep"};
  size_t strategies = 0;
  oatgp_settings settings;
  while (oat_strategy_at(strategies) != NULL) {
    strategies++;
  }
  oatgp_settings_default(&settings);
  settings.select = oat_strategy_at(how % strategies)->name;
  settings.approx = approx[how / strategies % 4];
  settings.optimizer = how & 128 ? "adadelta" : "lbfgs";
  settings.likelihood = more & 1 ? more & 2 ? "poisson" : "bernoulli-logit" : "gaussian";
  settings.neighbours = more & 4 ? 2 : 0;
  settings.kernel = more & 8 ? "se(x1) + linear(x1)" : "se-ard";
  settings.prior = more & 16 ? "none" : "weak";
  settings.max_knots = 5;
  settings.subset_rows = SUBSET_ROWS;
  settings.candidates = 3;
  settings.first_candidates = 2;
  settings.max_iter = 3;
  settings.inner_iter = 2;
  settings.line_search = 3;
  settings.lbfgs_history = 2;
  settings.restarts = how & 1;
  settings.refine = 1;
  settings.knots = strcmp(settings.select, "auto") == 0 ? "" : "random:2";
  return settings;
}

static void write_seed(const char *folder, uint8_t how, uint8_t more, size_t events) {
  oatgp_context *ctx = oatgp_context_create();
  oatgp_data *data = make_data(ctx, how, more);
  oatgp_settings settings = settings_for(how, more);
  oatgp_model *model = NULL;
  watch w = {.most = events};
  static char bytes[1 << 16];
  char path[4096];
  settings.checkpoint = fuzz_file((const uint8_t *)"", 0);
  oatgp_fit(ctx, data, &settings, NULL, count, &w, &model);
  FILE *from = fopen(settings.checkpoint, "rb");
  const size_t size = from != NULL ? fread(bytes, 1, sizeof bytes, from) : 0;
  if (size > 0) {
    snprintf(path, sizeof path, "%s/%u.%u.%zu", folder, how, more, events);
    FILE *to = fopen(path, "wb");
    if (to == NULL || fputc(how, to) == EOF || fputc(more, to) == EOF || fwrite(bytes, 1, size, to) != size ||
        fclose(to) != 0) {
      abort();
    }
  }
  if (from != NULL) {
    fclose(from);
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_context_free(ctx);
}

/* After some events, and after some more. */
static void write_seeds(const char *folder, uint8_t how, uint8_t more) {
  const bool automatic =
      strcmp(settings_for(how, more).select, "auto") == 0; /* most of its events are those of subsets */
  const size_t often = automatic ? 7 : 4, step = more > 0 ? 5 * often : often;
  for (size_t events = more > 0 ? 9 : 1; events < (automatic ? 200 : 40); events += step) {
    write_seed(folder, how, more, events);
  }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *folder = getenv("OATGP_FUZZ_SEEDS");
  (void)argc;
  (void)argv;
  for (unsigned how = 0; folder != NULL && how < 256; how += how < 28 || (how >= 84 && how < 112) ? 1 : 8) {
    write_seeds(folder, (uint8_t)how, 0);
  }
  for (unsigned more = 1; folder != NULL && more < 32; more++) {
    for (unsigned how = 0; how < 14; how++) {
      write_seeds(folder, (uint8_t)(64 + how), (uint8_t)more);
    }
  }
  if (folder != NULL) {
    exit(0);
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) {
    return 0;
  }
  uint8_t *bytes = malloc(size);
  oatgp_context *ctx = oatgp_context_create();
  oatgp_data *rows = make_data(ctx, data[0], data[1]);
  oatgp_settings settings = settings_for(data[0], data[1]);
  oatgp_model *model = NULL;
  watch w = {.most = MOST_EVENTS};
  if (bytes == NULL) {
    abort();
  }
  memcpy(bytes, data + 2, size - 2);
  fuzz_seal(bytes, size - 2);
  settings.resume = fuzz_file(bytes, size - 2);
  fuzz_check(ctx, oatgp_fit(ctx, rows, &settings, NULL, count, &w, &model));
  if (w.calls >= w.most) {
    fprintf(stderr, "the fit goes on for ever\n");
    abort();
  }
  oatgp_model_free(model);
  oatgp_data_free(rows);
  oatgp_context_free(ctx);
  free(bytes);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  return fuzz_mutate_tensors(data, size, most, 2, seed);
}
