/* Checkpoints: a tiny fit goes on from one. The first byte says of which strategy, model and optimiser it is. With OATGP_FUZZ_SEEDS=FOLDER
 * the target writes checkpoints of all of them there, and ends. */
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

static oatgp_data *make_data(oatgp_context *ctx, uint8_t how) {
  const size_t rows = has_many(how) ? MANY_ROWS : ROWS;
  double x[MANY_ROWS], y[MANY_ROWS];
  oatgp_data *data = NULL;
  for (size_t i = 0; i < rows; i++) {
    x[i] = (double)(i * i % 17);
    y[i] = sin(x[i]) + 0.1 * (double)(i % 3);
  }
  if (oatgp_data_create(ctx, rows, 1, x, y, &data) != OATGP_OK) {
    abort();
  }
  return data;
}

static oatgp_settings settings_for(uint8_t how) {
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

static void write_seed(const char *folder, uint8_t how, size_t events) {
  oatgp_context *ctx = oatgp_context_create();
  oatgp_data *data = make_data(ctx, how);
  oatgp_settings settings = settings_for(how);
  oatgp_model *model = NULL;
  watch w = {.most = events};
  static char bytes[1 << 16];
  char path[4096];
  settings.checkpoint = fuzz_file(NULL, 0);
  oatgp_fit(ctx, data, &settings, NULL, count, &w, &model);
  FILE *from = fopen(settings.checkpoint, "rb");
  const size_t size = from != NULL ? fread(bytes, 1, sizeof bytes, from) : 0;
  if (size > 0) {
    snprintf(path, sizeof path, "%s/%u.%zu", folder, how, events);
    FILE *to = fopen(path, "wb");
    if (to == NULL || fputc(how, to) == EOF || fwrite(bytes, 1, size, to) != size || fclose(to) != 0) {
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

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *folder = getenv("OATGP_FUZZ_SEEDS");
  (void)argc;
  (void)argv;
  for (unsigned how = 0; folder != NULL && how < 256; how += how < 28 || (how >= 84 && how < 112) ? 1 : 8) {
    const bool automatic = strcmp(settings_for((uint8_t)how).select, "auto") == 0; /* most of its events are those of subsets */
    for (size_t events = 1; events < (automatic ? 200 : 40); events += automatic ? 7 : 4) {
      write_seed(folder, (uint8_t)how, events);
    }
  }
  if (folder != NULL) {
    unlink(fuzz_file(NULL, 0));
    exit(0);
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) {
    return 0;
  }
  uint8_t *bytes = malloc(size);
  oatgp_context *ctx = oatgp_context_create();
  oatgp_data *rows = make_data(ctx, *data);
  oatgp_settings settings = settings_for(*data);
  oatgp_model *model = NULL;
  watch w = {.most = MOST_EVENTS};
  if (bytes == NULL) {
    abort();
  }
  memcpy(bytes, data + 1, size - 1);
  fuzz_seal(bytes, size - 1);
  settings.resume = fuzz_file(bytes, size - 1);
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
  return fuzz_mutate_tensors(data, size, most, 1, seed);
}
