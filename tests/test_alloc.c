/* Memory: the n-th allocation fails, for all n, in everything that the library does. Each time there must be a status
 * and an error message, no leak and no crash. Also, evaluations of the objective allocate nothing.
 *
 * The linker puts the functions __wrap_X in the place of X (test_alloc.link) in this program and the library; calls
 * within shared libraries (the BLAS, cJSON, libc) stay as they are. */
#include "rows/layout.h"
#include "fits.h"

#include <errno.h>
#include <stdatomic.h>

#include "objective/objective.h"

/* ---- the allocator --------------------------------------------------------------------------------------------- */

static struct {
  atomic_size_t count;     /* allocations since the start of the count */
  size_t fail_at;          /* the one that fails, from 1; 0: none */
  bool needed;             /* whether the one that failed was one that the library cannot do without */
  atomic_ptrdiff_t blocks; /* that are not freed yet */
} memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
void __wrap_free(void *block);
ssize_t __real_getline(char **line, size_t *room, FILE *file);
ssize_t __wrap_getline(char **line, size_t *room, FILE *file);
int __wrap_fsync(int descriptor);

/* The library gets all memory that it needs by calloc and realloc (util/memory.c). The others are for optional work: a
 * cache, and the sync of a folder. */
static bool must_fail(bool needed) {
  if (++memory.count != memory.fail_at) {
    return false;
  }
  memory.needed = needed;
  errno = ENOMEM;
  return true;
}

static void *counted(void *block) {
  memory.blocks += block != NULL;
  return block;
}

void *__wrap_malloc(size_t size) { return must_fail(false) ? NULL : counted(__real_malloc(size)); }

void *__wrap_calloc(size_t count, size_t size) { return must_fail(true) ? NULL : counted(__real_calloc(count, size)); }

void *__wrap_realloc(void *block, size_t size) {
  if (must_fail(true)) {
    return NULL;
  }
  memory.blocks += block == NULL;
  return __real_realloc(block, size);
}

char *__wrap_strdup(const char *text) { return must_fail(false) ? NULL : counted(__real_strdup(text)); }

char *__wrap_strndup(const char *text, size_t length) {
  return must_fail(false) ? NULL : counted(__real_strndup(text, length));
}

void __wrap_free(void *block) {
  memory.blocks -= block != NULL;
  __real_free(block);
}

/* libc gets the memory of a line, which the library frees. */
ssize_t __wrap_getline(char **line, size_t *room, FILE *file) {
  const bool had = *line != NULL;
  const ssize_t length = __real_getline(line, room, file);
  memory.blocks += !had && *line != NULL;
  return length;
}

/* Thousands of files are written here, and none has to survive a power cut. */
int __wrap_fsync(int descriptor) {
  (void)descriptor;
  return 0;
}

/* ---- the scripts that are repeated ----------------------------------------------------------------------------- */

enum { ROWS = 12, KNOTS = 3, DRAWS = 2 };

/* What a script starts from, made before allocations begin to fail. */
typedef struct world {
  scratch *s;
  oatgp_data *data;
  oatgp_model *sparse, *full;
  const oatgp_model *reported;
  const oatgp_data *reported_data;
  char files[4096]; /* a file beside that of the scratch, or a list of files */
  double x[ROWS * 2], y[ROWS], weights[ROWS];
  double room[ROWS * ROWS];
} world;

/* Does something with the library, frees all that it made, and returns the first failure. */
typedef oatgp_status script(world *w);

static int make_world(void **state) {
  world *w = calloc(1, sizeof *w);
  if (w == NULL || set_up((void **)&w->s) != 0) {
    free(w);
    return -1;
  }
  scratch *s = w->s;
  w->data = wavy_data(s, ROWS, 2, 0.1, 1);
  for (size_t i = 0; i < ROWS; i++) {
    w->x[2 * i] = w->data->x[i];
    w->x[2 * i + 1] = w->data->x[i + ROWS];
    w->y[i] = w->data->y[i];
    w->weights[i] = 1 + (double)(i % 3);
  }
  const char *const names[] = {"a", "b"};
  must(s, oatgp_data_set_names(s->ctx, w->data, names, "y"));
  s->settings.knots = "3";
  s->settings.max_iter = 2;
  s->settings.mean = "linear";
  s->settings.target = "y";
  w->sparse = must_fit(s, w->data, NULL);
  s->settings.approx = "full";
  w->full = must_fit(s, w->data, NULL);
  s->settings.approx = "vfe";
  *state = w;
  return 0;
}

static int free_world(void **state) {
  world *w = *state;
  oatgp_data_free(w->data);
  oatgp_model_free(w->sparse);
  oatgp_model_free(w->full);
  void *inner = w->s;
  const int result = tear_down(&inner);
  free(w);
  return result;
}

/* Runs a script with the n-th allocation failing, for n = 1, 2, ... until one run needs fewer than n. If time is short,
 * only some fail after the first few. */
static void fail_each_allocation(world *w, script *run) {
  const size_t step = amount(1, 5, 7);
  size_t needed = 0;
  oat_context_drop(w->s->ctx);
  for (size_t n = 1;; n += n < 20 ? 1 : step) {
    const ptrdiff_t before = memory.blocks;
    w->s->ctx->error[0] = '\0';
    memory.count = 0;
    memory.fail_at = n;
    const oatgp_status status = run(w);
    const bool reached = memory.count >= n;
    memory.fail_at = 0;
    oat_context_drop(w->s->ctx); /* memory that a call keeps for the next */
    if (memory.blocks != before) {
      fail_msg("allocation %zu failed and %td blocks were not freed", n, memory.blocks - before);
    }
    if (!reached) {
      assert_int_equal(status, OATGP_OK);
      break;
    }
    if (memory.needed) {
      needed++;
      expect_sentence(w->s, OATGP_MEMORY, status, "out of memory: could not get");
    } else {
      assert_int_equal(status, OATGP_OK);
    }
  }
  assert_true(needed > 0);
}

/* ---- the scripts ----------------------------------------------------------------------------------------------- */

static oatgp_status make_data_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  const char *const names[] = {"a", "b"};
  oatgp_data *data = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_create(ctx, ROWS, 2, w->x, w->y, &data));
  TRY(oatgp_data_set_names(ctx, data, names, "target"));
  TRY(oatgp_data_set_weights(ctx, data, w->weights));
  TRY(oatgp_data_set_noise_variance(ctx, data, w->weights));
done:
  oatgp_data_free(data);
  return status;
}

static oatgp_status read_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  const oatgp_settings *settings = &w->s->settings;
  oatgp_data *data = NULL, *like = NULL, *for_model = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_read(ctx, w->s->path, settings, &data));
  TRY(oatgp_data_read_like(ctx, w->s->path, data, settings, &like));
  TRY(oatgp_data_read_for(ctx, w->s->path, w->sparse, settings, *settings->target != '\0', &for_model));
done:
  oatgp_data_free(data);
  oatgp_data_free(like);
  oatgp_data_free(for_model);
  return status;
}

static oatgp_status write_script(world *w) {
  const char *const names[] = {"a", "b, c"};
  const double *const values[] = {w->x, w->y};
  oatgp_status status = OATGP_OK;
  TRY(oatgp_write_csv(w->s->ctx, w->s->path, ROWS, 2, names, values));
  TRY(oatgp_write_npy(w->s->ctx, w->s->path, ROWS, 2, w->x));
done:
  return status;
}

static oatgp_status fit_script(world *w) {
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_fit(w->s->ctx, w->data, &w->s->settings, NULL, NULL, NULL, &model));
  TRY(oatgp_model_set_command(w->s->ctx, model, "a command"));
done:
  oatgp_model_free(model);
  return status;
}

static oatgp_status fit_given_knots_script(world *w) {
  oatgp_data *knots = NULL;
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_create(w->s->ctx, KNOTS, 2, w->x, NULL, &knots));
  TRY(oatgp_fit(w->s->ctx, w->data, &w->s->settings, knots, NULL, NULL, &model));
done:
  oatgp_model_free(model);
  oatgp_data_free(knots);
  return status;
}

static oatgp_status evaluate_script(world *w) {
  oatgp_evaluation evaluation = {0};
  const oatgp_status status = oatgp_evaluate(w->s->ctx, w->data, &w->s->settings, NULL, 1, &evaluation);
  oatgp_evaluation_clear(&evaluation);
  return status;
}

static oatgp_status save_and_load(world *w, const oatgp_model *model) {
  oatgp_model *loaded = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_model_save(w->s->ctx, model, w->s->path));
  TRY(oatgp_model_load(w->s->ctx, w->s->path, &loaded));
done:
  oatgp_model_free(loaded);
  return status;
}

static oatgp_status bytes_script(world *w) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  oatgp_model *loaded = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_model_to_bytes(w->s->ctx, w->sparse, &bytes, &size));
  TRY(oatgp_model_from_bytes(w->s->ctx, bytes, size, &loaded));
done:
  oatgp_model_free(loaded);
  oatgp_bytes_free(bytes);
  return status;
}

static oatgp_status save_sparse_script(world *w) { return save_and_load(w, w->sparse); }

static oatgp_status save_full_script(world *w) { return save_and_load(w, w->full); }

static oatgp_status predict_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  const oatgp_model *const models[] = {w->sparse, w->full};
  double *room = w->room;
  const oatgp_prediction out = {room, room + ROWS, room + 2 * ROWS};
  oatgp_scores scores;
  oatgp_status status = OATGP_OK;
  for (size_t m = 0; m < LENGTH(models); m++) {
    TRY(oatgp_predict(ctx, models[m], w->data, &out));
    TRY(oatgp_predict_effects(ctx, models[m], w->data, w->data,
                              &(oatgp_effect_values){.mean = room, .sd = room + ROWS}));
    TRY(oatgp_predict_covariance(ctx, models[m], w->data, room));
    TRY(oatgp_predict_samples(ctx, models[m], w->data, DRAWS, 1, room));
    TRY(oatgp_score(ctx, models[m], w->data, w->full, &scores));
  }
  TRY(oatgp_model_knots(ctx, w->sparse, room, room + 2 * KNOTS, room + 3 * KNOTS));
done:
  return status;
}

/* Functions of the posterior and what is made of them, slopes, and predictions as if rows were known. */
static oatgp_status function_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  double *room = w->room;
  const oatgp_prediction_gradient slopes = {room, room + ROWS, room + 2 * ROWS, room + 4 * ROWS};
  oatgp_function *function = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_function_create(ctx, w->reported, DRAWS, 1, &function));
  TRY(oatgp_function_evaluate(ctx, function, w->data, room, room + DRAWS * ROWS));
  TRY(oatgp_predict_gradient(ctx, w->reported, w->data, &slopes));
  TRY(oatgp_predict_given(ctx, w->reported, w->data, w->data, &(oatgp_prediction_sd){.mean = room}));
done:
  oatgp_function_free(function);
  return status;
}

static oatgp_status sensitivity_script(world *w) {
  return oatgp_sensitivity(w->s->ctx, w->reported,
                           &(oatgp_indices_of){.over = w->reported_data, .draws = DRAWS, .interval = 0.9},
                           &(oatgp_indices){.first = w->room, .total = w->room + 2});
}

/* Rows that stay in their files: whatever is read, fitted, scored, updated and held out. */
static oatgp_status streamed_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  oatgp_data *data = NULL;
  oatgp_model *model = NULL;
  oatgp_scores scores;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_read(ctx, w->files, &w->s->settings, &data));
  TRY(oatgp_fit(ctx, data, &w->s->settings, NULL, NULL, NULL, &model));
  TRY(oatgp_loo(ctx, model, data, NULL, &scores));
  TRY(oatgp_score(ctx, model, data, NULL, &scores));
  TRY(oatgp_update(ctx, model, data));
done:
  oatgp_model_free(model);
  oatgp_data_free(data);
  return status;
}

/* As convert does: a look, and then some rows at a time, to both kinds of files. */
static oatgp_status convert_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  const char *const names[] = {"a", "b", "c"};
  const double *const values[] = {w->x, w->y, w->weights};
  oatgp_data *shape = NULL, *part = NULL;
  oatgp_stream *stream = NULL;
  oatgp_npy *npy = NULL;
  oatgp_csv *csv = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_look(ctx, w->s->path, &w->s->settings, &shape));
  TRY(oatgp_stream_open_like(ctx, w->s->path, shape, &w->s->settings, &stream));
  TRY(oatgp_npy_open(ctx, w->files, oatgp_data_columns(shape), &npy));
  do {
    oatgp_data_free(part);
    part = NULL;
    TRY(oatgp_stream_next(ctx, stream, 2, &part));
    TRY(part != NULL ? oatgp_npy_append(ctx, npy, part) : OATGP_OK);
  } while (part != NULL);
  status = oatgp_npy_close(ctx, npy, 1);
  npy = NULL;
  TRY(status);
  TRY(oatgp_csv_open(ctx, w->files, LENGTH(names), names, &csv));
  TRY(oatgp_csv_set_levels(ctx, csv, 2, LENGTH(names), names));
  TRY(oatgp_csv_append(ctx, csv, 1, values));
done:
  oatgp_csv_close(ctx, csv, 0);
  if (npy != NULL) {
    oatgp_npy_close(ctx, npy, 0);
  }
  oatgp_data_free(part);
  oatgp_data_free(shape);
  oatgp_stream_free(stream);
  return status;
}

static oatgp_status answer_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  const oatgp_model *const models[] = {w->sparse, w->full};
  double *room = w->room;
  const oatgp_answers out = {.mean = room, .lower = room + ROWS, .interval = 0.9};
  oatgp_scores scores;
  oatgp_status status = OATGP_OK;
  for (size_t m = 0; m < LENGTH(models); m++) {
    TRY(oatgp_predict_answers(ctx, models[m], w->data, &out));
    TRY(oatgp_predict_answer_samples(ctx, models[m], w->data, DRAWS, 1, room));
    TRY(oatgp_score(ctx, models[m], w->data, NULL, &scores));
  }
done:
  return status;
}

static oatgp_status hold_out_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  const oatgp_held_out rows = {w->room, w->room + ROWS, w->room + 2 * ROWS, w->room + 3 * ROWS};
  oatgp_scores scores;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_loo(ctx, w->sparse, w->data, &rows, &scores));
  TRY(oatgp_loo(ctx, w->full, w->data, &rows, &scores));
  TRY(oatgp_cv(ctx, w->data, &w->s->settings, NULL, NULL, &rows, &scores));
done:
  return status;
}

static oatgp_status certify_script(world *w) {
  oatgp_certificate certificate;
  oatgp_status status = OATGP_OK;
  w->s->settings.exact = 1;
  TRY(oatgp_certify(w->s->ctx, w->sparse, w->data, &w->s->settings, NULL, NULL, &certificate));
  TRY(oatgp_certify(w->s->ctx, w->full, w->data, &w->s->settings, NULL, NULL, &certificate));
done:
  return status;
}

/* The model has more rows afterwards, but only if all went well. */
static oatgp_status update_script(world *w) {
  oatgp_context *ctx = w->s->ctx;
  const size_t rows[] = {1, 3, 5};
  const size_t before = info_of(w->sparse).n;
  oatgp_data *some = NULL, *both = NULL;
  oatgp_model *again = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_select(ctx, w->data, LENGTH(rows), rows, &some));
  TRY(oatgp_data_join(ctx, w->data, some, &both));
  TRY(oatgp_refit(ctx, w->full, both, &w->s->settings, NULL, NULL, &again));
  TRY(oatgp_update(ctx, w->sparse, some));
done:
  assert_int_equal(info_of(w->sparse).n, before + (status == OATGP_OK ? LENGTH(rows) : 0));
  oatgp_model_free(again);
  oatgp_data_free(some);
  oatgp_data_free(both);
  return status;
}

static oatgp_status report_script(world *w) {
  return oatgp_report(w->s->ctx, w->reported, w->reported_data, "data", w->s->path);
}

static oatgp_status draw_script(world *w) {
  const oatgp_drawing letters = {"calibration", w->s->path, 30, 10, 1}, svg = {.figure = "partial", .path = w->s->path},
                      bars = {.figure = "sensitivity", .path = w->s->path};
  oatgp_status status;
  TRY(oatgp_draw(w->s->ctx, w->sparse, w->data, &letters));
  TRY(oatgp_draw(w->s->ctx, w->sparse, w->data, &svg));
  TRY(oatgp_draw(w->s->ctx, w->sparse, w->data, &bars));
done:
  return status;
}

/* ---- the tests ------------------------------------------------------------------------------------------------- */

static void without_a_context(void **state) {
  (void)state;
  memory.count = 0;
  memory.fail_at = 1;
  assert_null(oatgp_context_create());
  memory.fail_at = 0;
}

static void making_data(void **state) { fail_each_allocation(*state, make_data_script); }

static void reading(void **state) {
  world *w = *state;
  const char *const tables[] = {"a,b,y\n1,2,3\n2,1,4\n3,5,1\n", "name,b,y,a\nu,2,3,1\nv,1,4,2\n\"w,w\",NA,1,3\n"};
  w->s->settings.missing = "drop";
  for (size_t i = 0; i < LENGTH(tables); i++) {
    write_text(w->s, tables[i]);
    fail_each_allocation(w, read_script);
    write_gzip(w->s, tables[i], strlen(tables[i]));
    fail_each_allocation(w, read_script);
  }
}

static void reading_npy(void **state) {
  world *w = *state;
  must(w->s, oatgp_write_npy(w->s->ctx, w->s->path, ROWS, 2, w->x));
  w->s->settings.target = "";
  fail_each_allocation(w, read_script);
}

static void writing(void **state) { fail_each_allocation(*state, write_script); }

static void fitting_sparse_models(void **state) {
  world *w = *state;
  const char *const models[] = {"vfe", "pep"}, *const optimizers[] = {"lbfgs", "adadelta"};
  for (size_t m = 0; m < LENGTH(models); m++) {
    w->s->settings.approx = models[m];
    w->s->settings.optimizer = optimizers[m];
    w->s->settings.restarts = 1;
    fail_each_allocation(w, fit_script);
    w->s->settings.knots = "random:3";
    fail_each_allocation(w, fit_script);
    fail_each_allocation(w, fit_given_knots_script);
  }
}

static void selecting_knots(void **state) {
  world *w = *state;
  static const char *const strategies[] = {"oat-bo", "oat-rs", "oat-gain", "variance"};
  for (size_t i = 0; i < LENGTH(strategies); i++) {
    w->s->settings.select = strategies[i];
    w->s->settings.knots = "2";
    w->s->settings.max_knots = 5;
    w->s->settings.candidates = 4;
    w->s->settings.first_candidates = 2;
    w->s->settings.batch = 2;
    w->s->settings.inner_iter = 2;
    w->s->settings.refine = 1;
    fail_each_allocation(w, fit_script);
  }
}

/* With several threads, starts run in parallel, and the allocation of any of them may fail. */
static void fitting_automatically(void **state) {
  world *w = *state;
  static const int64_t threads[] = {1, 3};
  oatgp_settings defaults;
  oatgp_settings_default(&defaults);
  w->s->settings.knots = defaults.knots;
  for (size_t i = 0; i < LENGTH(threads); i++) {
    w->s->settings.threads = threads[i];
    fail_each_allocation(w, fit_script);
  }
}

static void fitting_the_full_model(void **state) {
  world *w = *state;
  w->s->settings.approx = "full";
  w->s->settings.restarts = 1;
  fail_each_allocation(w, fit_script);
}

static void fitting_with_weights(void **state) {
  world *w = *state;
  must(w->s, oatgp_data_set_weights(w->s->ctx, w->data, w->weights));
  must(w->s, oatgp_data_set_noise_variance(w->s->ctx, w->data, w->weights));
  fail_each_allocation(w, fit_script);
}

static void evaluating(void **state) {
  world *w = *state;
  const char *const models[] = {"vfe", "fitc", "full"};
  for (size_t m = 0; m < LENGTH(models); m++) {
    w->s->settings.approx = models[m];
    fail_each_allocation(w, evaluate_script);
  }
}

/* Kernels that are expressions are made, copied and named. */
static void expressions(void **state) {
  world *w = *state;
  w->s->settings.kernel = "se(a) * (linear() + constant)^2 + periodic(b)";
  w->s->settings.parameters = "se(a).lengthscale=2,tau=0.3";
  w->s->settings.fix = "se(a).lengthscale";
  fail_each_allocation(w, fit_script);
  fail_each_allocation(w, evaluate_script);
  oatgp_model_free(w->sparse);
  w->sparse = must_fit(w->s, w->data, NULL);
  fail_each_allocation(w, bytes_script);
}

static void saving_and_loading(void **state) {
  fail_each_allocation(*state, save_sparse_script);
  fail_each_allocation(*state, save_full_script);
  fail_each_allocation(*state, bytes_script);
}

static void predicting(void **state) { fail_each_allocation(*state, predict_script); }

static void holding_out(void **state) {
  world *w = *state;
  w->s->settings.folds = 2;
  fail_each_allocation(w, hold_out_script);
}

static void certifying(void **state) { fail_each_allocation(*state, certify_script); }

static void report(world *w, const oatgp_data *data, const char *approx) {
  w->s->settings.approx = approx;
  oatgp_model *model = must_fit(w->s, data, NULL);
  w->reported = model;
  w->reported_data = data;
  fail_each_allocation(w, report_script);
  oatgp_model_free(model);
}

/* These models have no Sobol' indices, which take a while and have a figure of their own. */
static void reporting(void **state) {
  world *w = *state;
  oatgp_data *line = wavy_data(w->s, ROWS, 1, 0.1, 1);
  report(w, line, "full");
  w->s->settings.neighbours = 2;
  report(w, w->data, "fitc");
  oatgp_data_free(line);
  fail_each_allocation(w, draw_script);
}

static void drawing_functions(void **state) {
  world *w = *state;
  const oatgp_model *const models[] = {w->sparse, w->full};
  for (size_t m = 0; m < LENGTH(models); m++) {
    w->reported = models[m];
    w->reported_data = m == 0 ? w->data : NULL;
    fail_each_allocation(w, function_script);
    fail_each_allocation(w, sensitivity_script);
  }
}

/* A file by itself, and two of them in a list. */
static void rows_in_files(void **state) {
  world *w = *state;
  double rows[ROWS * 3];
  char list[4096];
  for (size_t i = 0; i < ROWS; i++) {
    rows[3 * i] = w->x[2 * i];
    rows[3 * i + 1] = w->x[2 * i + 1];
    rows[3 * i + 2] = w->y[i];
  }
  must(w->s, oatgp_write_npy(w->s->ctx, w->s->path, ROWS, 3, rows));
  w->s->settings.memory = 1;
  w->s->settings.target = "last";
  w->s->settings.mean = "mean";
  snprintf(w->files, sizeof w->files, "%s", w->s->path);
  oatgp_data *data = NULL;
  must(w->s, oatgp_data_read(w->s->ctx, w->files, &w->s->settings, &data));
  assert_non_null(data->in_files.stream);
  oatgp_data_free(data);
  fail_each_allocation(w, streamed_script);
  snprintf(list, sizeof list, "%s.list", w->s->path);
  FILE *file = fopen(list, "w");
  assert_non_null(file);
  fprintf(file, "%s\n%s\n", w->s->path, w->s->path);
  assert_int_equal(fclose(file), 0);
  snprintf(w->files, sizeof w->files, "@%s.list", w->s->path);
  fail_each_allocation(w, streamed_script);
  assert_int_equal(unlink(list), 0);
}

static void converting(void **state) {
  world *w = *state;
  write_text(w->s, "c,x,y\nred,1,2\nblue,2,3\nred,NA,4\nblue,4,5\nred,5,6\n");
  w->s->settings.missing = "drop";
  snprintf(w->files, sizeof w->files, "%s.out", w->s->path);
  fail_each_allocation(w, convert_script);
  assert_int_equal(unlink(w->files), 0);
}

static void priors(void **state) {
  world *w = *state;
  w->s->settings.prior = "weak, tau ~ gamma(2, 3), lengthscale ~ uniform(0.01, 100)";
  fail_each_allocation(w, fit_script);
  fail_each_allocation(w, evaluate_script);
}

static void updating(void **state) { fail_each_allocation(*state, update_script); }

/* All of it once more with counts. */
static void answers(void **state) {
  world *w = *state;
  scratch *s = w->s;
  oatgp_model_free(w->sparse);
  oatgp_model_free(w->full);
  for (size_t i = 0; i < ROWS; i++) {
    w->data->own_y[i] = floor(3 + w->y[i]);
  }
  s->settings.likelihood = "poisson";
  s->settings.select = "fixed";
  s->settings.max_iter = 1;
  s->settings.folds = 2;
  w->sparse = must_fit(s, w->data, NULL);
  s->settings.approx = "full";
  w->full = must_fit(s, w->data, NULL);
  s->settings.approx = "vfe";
  fail_each_allocation(w, fit_script);
  fail_each_allocation(w, answer_script);
  fail_each_allocation(w, hold_out_script);
  fail_each_allocation(w, update_script);
}

/* ---- nothing in the loop --------------------------------------------------------------------------------------- */

static void evaluate_without_memory(world *w, const oat_approx *approx, const oat_kernel *kernel,
                                    const oat_rows *rows) {
  double theta[OAT_LENGTHSCALE + 2] = {1, 0.3, 1, 0.8, 0.9}, d_theta[OAT_LENGTHSCALE + 2],
                                 z[KNOTS * 2] = {-1, 0, 1, 0.5, -0.5, 1}, d_z[KNOTS * 2];
  const oat_objective_config config = {.approx = approx,
                                       .kernel = kernel,
                                       .rows = rows,
                                       .alpha = 0.5,
                                       .jitter = approx->sparse ? 1e-6 : 0,
                                       .k = KNOTS,
                                       .memory = 1 << 20};
  const oat_point point = {theta, z};
  oat_gradient gradient = {d_theta, approx->sparse ? d_z : NULL};
  oat_objective *objective = NULL;
  double value = 0;
  must(w->s, oat_objective_create(w->s->ctx, &config, &objective));
  memory.count = 0;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(oat_objective_evaluate(objective, &point, &value, NULL), OATGP_OK);
    assert_int_equal(oat_objective_evaluate(objective, &point, &value, &gradient), OATGP_OK);
    theta[OAT_SIGMA] *= 1.5;
  }
  assert_int_equal(memory.count, 0);
  oat_objective_free(objective);
}

static void evaluations_allocate_nothing(void **state) {
  world *w = *state;
  double ones[ROWS];
  for (size_t i = 0; i < ROWS; i++) {
    ones[i] = 1;
  }
  for (size_t a = 0; oat_approx_at(a) != NULL; a++) {
    for (size_t k = 0; oat_kernel_at(k) != NULL; k++) {
      const oat_rows plain = {ROWS, 2, 0, w->data->x, w->data->y, NULL, NULL},
                     noisy = {ROWS, 2, 0, w->data->x, w->data->y, w->weights, ones};
      evaluate_without_memory(w, oat_approx_at(a), oat_kernel_at(k), &plain);
      evaluate_without_memory(w, oat_approx_at(a), oat_kernel_at(k), &noisy);
    }
  }
}

/* From the first evaluation to the last: the history of up to 15 iterations was allocated with its first row. */
static int count_between(void *user, const oatgp_event *event) {
  size_t *counts = user;
  if (event->kind != OATGP_EVENT_END) {
    counts[event->kind == OATGP_EVENT_START ? 0 : 1] = memory.count;
  }
  return 0;
}

static void iterations_allocate_nothing(void **state) {
  world *w = *state;
  const char *const models[] = {"vfe", "fitc", "full"}, *const optimizers[] = {"lbfgs", "adadelta"};
  w->s->settings.max_iter = 12;
  w->s->settings.obj_tol = 0;
  for (size_t c = 0; c < 6; c++) {
    size_t counts[2] = {0, 0};
    oatgp_model *model = NULL;
    w->s->settings.approx = models[c % 3];
    w->s->settings.optimizer = optimizers[c / 3];
    memory.count = 0;
    must(w->s, oatgp_fit(w->s->ctx, w->data, &w->s->settings, NULL, count_between, counts, &model));
    assert_true(info_of(model).iterations > 5);
    assert_true(counts[0] > 0);
    assert_int_equal(counts[1], counts[0]);
    oatgp_model_free(model);
  }
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, free_world)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_context),
      WITH_WORLD(making_data),
      WITH_WORLD(reading),
      WITH_WORLD(reading_npy),
      WITH_WORLD(writing),
      WITH_WORLD(fitting_sparse_models),
      WITH_WORLD(selecting_knots),
      WITH_WORLD(fitting_automatically),
      WITH_WORLD(fitting_the_full_model),
      WITH_WORLD(fitting_with_weights),
      WITH_WORLD(evaluating),
      WITH_WORLD(expressions),
      WITH_WORLD(saving_and_loading),
      WITH_WORLD(predicting),
      WITH_WORLD(holding_out),
      WITH_WORLD(certifying),
      WITH_WORLD(reporting),
      WITH_WORLD(updating),
      WITH_WORLD(drawing_functions),
      WITH_WORLD(rows_in_files),
      WITH_WORLD(converting),
      WITH_WORLD(priors),
      WITH_WORLD(answers),
      WITH_WORLD(evaluations_allocate_nothing),
      WITH_WORLD(iterations_allocate_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
