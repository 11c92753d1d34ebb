/* The public functions with NULL and with invalid arguments: a status and an error message, never a crash, and results
 * that are not changed. */
#include "fits.h"

#include <pthread.h>

/* A valid object of every kind, to be combined with invalid ones. */
typedef struct objects {
  scratch *s;
  oatgp_data *data, *no_target;
  oatgp_model *sparse, *full;
  double many[64];
} objects;

static int make_objects(void **state) {
  objects *o = calloc(1, sizeof *o);
  if (o == NULL || set_up((void **)&o->s) != 0) {
    free(o);
    return -1;
  }
  const double x[] = {1, 2, 3};
  o->data = wavy_data(o->s, 15, 1, 0.1, 1);
  o->no_target = make_data(o->s, 3, 1, x, NULL);
  o->s->settings.knots = "3";
  o->s->settings.max_iter = 2;
  o->sparse = must_fit(o->s, o->data, NULL);
  o->s->settings.approx = "full";
  o->full = must_fit(o->s, o->data, NULL);
  o->s->settings.approx = "vfe";
  *state = o;
  return 0;
}

static int free_objects(void **state) {
  objects *o = *state;
  oatgp_data_free(o->data);
  oatgp_data_free(o->no_target);
  oatgp_model_free(o->sparse);
  oatgp_model_free(o->full);
  void *inner = o->s;
  const int result = tear_down(&inner);
  free(o);
  return result;
}

/* The call must be refused as an argument, with a sentence of its own. */
#define refuse(o, call, piece)                                \
  do {                                                        \
    (o)->s->ctx->error[0] = '\0';                             \
    expect_sentence((o)->s, OATGP_ARGUMENT, (call), (piece)); \
  } while (0)

#define refuse_without_context(call) assert_int_equal((call), OATGP_ARGUMENT)

/* ---- texts, context -------------------------------------------------------------------------------------------- */

static void codes_have_texts(void **state) {
  (void)state;
#define OATGP_STATUS(NAME, sentence) assert_string_equal(oatgp_status_sentence(OATGP_##NAME), sentence);
#define OATGP_STOP(NAME, word, sentence)                         \
  assert_string_equal(oatgp_stop_word(OATGP_STOP_##NAME), word); \
  assert_string_equal(oatgp_stop_sentence(OATGP_STOP_##NAME), sentence);
#include "oatgp_status.def"
  assert_string_equal(oatgp_stop_word(OATGP_STOP_GRADIENT), "gradient");
  assert_string_equal(oatgp_status_sentence(OATGP_MEMORY), "out of memory");
  const int wrong[] = {1000, -1};
  for (size_t i = 0; i < LENGTH(wrong); i++) {
    assert_string_equal(oatgp_status_sentence((oatgp_status)wrong[i]), "unknown code");
    assert_string_equal(oatgp_stop_word((oatgp_stop)wrong[i]), "unknown code");
    assert_string_equal(oatgp_stop_sentence((oatgp_stop)wrong[i]), "unknown code");
  }
}

static void version_is_that_of_models(void **state) {
  const objects *o = *state;
  int major, minor, patch;
  assert_int_equal(sscanf(oatgp_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  assert_string_equal(info_of(o->sparse).version, oatgp_version());
}

static void everything_frees_nothing(void **state) {
  (void)state;
  oatgp_context_free(NULL);
  oatgp_data_free(NULL);
  oatgp_model_free(NULL);
  oatgp_evaluation_clear(NULL);
  oatgp_evaluation empty = {0};
  oatgp_evaluation_clear(&empty);
}

static void no_context_no_crash(void **state) {
  (void)state;
  assert_string_equal(oatgp_last_error(NULL), "");
  oatgp_context_set_message(NULL, keep_message, NULL);
  oatgp_context_set_threads(NULL, 2);
  oatgp_context_set_progress(NULL, NULL, NULL);
  oatgp_settings_default(NULL);
}

static void note_progress(void *user, const char *what, size_t done, size_t total) {
  size_t *heard = user;
  assert_string_equal(what, heard[0] == 0 ? "value" : what);
  assert_true(done > 0 && done <= total);
  heard[0]++;
  heard[1] = total;
}

/* Evaluations report their progress. */
static void progress_of_rows(void **state) {
  objects *o = *state;
  size_t heard[2] = {0, 0};
  oatgp_evaluation evaluation = {0};
  oatgp_context *ctx = oatgp_context_create();
  o->s->settings.knots = "random:5"; /* of which there is nothing to hear before the evaluation */
  oatgp_context_set_progress(ctx, note_progress, heard);
  ctx->told = 0; /* long ago */
  assert_int_equal(oatgp_evaluate(ctx, o->data, &o->s->settings, NULL, 1, &evaluation), OATGP_OK);
  assert_true(heard[0] > 0 && heard[1] == oatgp_data_rows(o->data));
  const size_t before = heard[0];
  oatgp_evaluation_clear(&evaluation);
  oatgp_context_set_progress(ctx, NULL, NULL);
  assert_int_equal(oatgp_evaluate(ctx, o->data, &o->s->settings, NULL, 1, &evaluation), OATGP_OK);
  assert_true(heard[0] == before);
  oatgp_evaluation_clear(&evaluation);
  oatgp_context_free(ctx);
}

static void features_have_names(void **state) {
  (void)state;
  const char *value = NULL;
  size_t count = 0;
  for (; oatgp_feature(count, &value) != NULL; count++) {
    assert_true(strlen(oatgp_feature(count, NULL)) > 0 && strlen(value) > 0);
  }
  assert_true(count >= 3);
  assert_string_equal(oatgp_feature(0, NULL), "BLAS");
  assert_true(oatgp_kernel_has("rq-ard", "shape") && !oatgp_kernel_has("se", "shape") &&
              oatgp_kernel_has("se", "lengthscale"));
  assert_true(!oatgp_kernel_has("se", "") && !oatgp_kernel_has("cubic", "sigma"));
  assert_true(!oatgp_kernel_has(NULL, "sigma") && !oatgp_kernel_has("se", NULL));
}

/* The sentence of a failure stays until the next one; a success leaves it. */
static void last_error_stays(void **state) {
  objects *o = *state;
  oatgp_context *fresh = oatgp_context_create();
  assert_non_null(fresh);
  assert_string_equal(oatgp_last_error(fresh), "");
  oatgp_context_free(fresh);
  refuse(o, oatgp_model_save(o->s->ctx, NULL, "x"), "must not be NULL");
  const char *sentence = oatgp_last_error(o->s->ctx);
  char copy[256];
  snprintf(copy, sizeof copy, "%s", sentence);
  must(o->s, oatgp_settings_check(o->s->ctx, &o->s->settings));
  assert_ptr_equal(oatgp_last_error(o->s->ctx), sentence);
  assert_string_equal(sentence, copy);
  expect_sentence(o->s, OATGP_ARGUMENT, oatgp_settings_set(o->s->ctx, &o->s->settings, "alphaa", "1"), "'alphaa'");
}

/* A sentence longer than the context has room for is cut, not written past the end. */
static void long_sentences_are_cut(void **state) {
  objects *o = *state;
  char name[4000];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  refuse(o, oatgp_settings_set(o->s->ctx, &o->s->settings, name, "1"), "there is no setting 'nnn");
  assert_true(strlen(oatgp_last_error(o->s->ctx)) < 1024);
}

static void contexts_are_independent(void **state) {
  objects *o = *state;
  oatgp_context *other = oatgp_context_create();
  refuse(o, oatgp_model_save(o->s->ctx, NULL, "x"), "must not be NULL");
  assert_string_equal(oatgp_last_error(other), "");
  assert_int_equal(oatgp_settings_set(other, &o->s->settings, "zzz", "1"), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(o->s->ctx), "must not be NULL"));
  const oatgp_prediction out = {o->many, NULL, NULL};
  assert_int_equal(oatgp_predict(other, o->sparse, o->no_target, &out), OATGP_OK); /* objects go with any context */
  oatgp_context_set_message(other, NULL, NULL);
  oatgp_context_free(other);
}

/* One fit in a context of its own, from the first call to the last. */
typedef struct worker {
  const objects *o;
  oatgp_status status;
  double mean[3];
} worker;

static void *work(void *argument) {
  worker *w = argument;
  oatgp_context *ctx = oatgp_context_create();
  oatgp_model *model = NULL;
  const oatgp_prediction out = {w->mean, NULL, NULL};
  w->status = oatgp_fit(ctx, w->o->data, &w->o->s->settings, NULL, NULL, NULL, &model);
  if (w->status == OATGP_OK) {
    w->status = oatgp_predict(ctx, model, w->o->no_target, &out);
  }
  oatgp_model_free(model);
  oatgp_context_free(ctx);
  return NULL;
}

static void contexts_run_side_by_side(void **state) {
  objects *o = *state;
  worker alone = {.o = o}, together[4];
  pthread_t threads[LENGTH(together)];
  o->s->settings.max_iter = 20;
  work(&alone);
  for (size_t i = 0; i < LENGTH(together); i++) {
    together[i] = (worker){.o = o};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &together[i]), 0);
  }
  for (size_t i = 0; i < LENGTH(together); i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(together[i].status, OATGP_OK);
    assert_memory_equal(together[i].mean, alone.mean, sizeof alone.mean);
  }
}

static void threads_of_a_context(void **state) {
  objects *o = *state;
  const int numbers[] = {2, 1, 0, -3};
  double first[3];
  const oatgp_prediction before = {first, NULL, NULL}, after = {o->many, NULL, NULL};
  must(o->s, oatgp_predict(o->s->ctx, o->sparse, o->no_target, &before));
  for (size_t i = 0; i < LENGTH(numbers); i++) {
    oatgp_context_set_threads(o->s->ctx, numbers[i]);
    must(o->s, oatgp_predict(o->s->ctx, o->sparse, o->no_target, &after));
    assert_near(o->many[1], first[1], 1e-12);
  }
}

/* ---- settings -------------------------------------------------------------------------------------------------- */

static void settings_refuse_null(void **state) {
  objects *o = *state;
  oatgp_settings *settings = &o->s->settings;
  refuse_without_context(oatgp_settings_set(NULL, settings, "alpha", "1"));
  refuse_without_context(oatgp_settings_check(NULL, settings));
  refuse(o, oatgp_settings_set(o->s->ctx, NULL, "alpha", "1"), "must not be NULL");
  refuse(o, oatgp_settings_set(o->s->ctx, settings, NULL, "1"), "must not be NULL");
  refuse(o, oatgp_settings_set(o->s->ctx, settings, "alpha", NULL), "must not be NULL");
  refuse(o, oatgp_settings_check(o->s->ctx, NULL), "settings are NULL");
  settings->kernel = NULL;
  refuse(o, oatgp_settings_check(o->s->ctx, settings), "kernel is NULL");
  assert_null(oatgp_setting_at(oatgp_setting_count()));
  assert_null(oatgp_setting_at(SIZE_MAX));
}

/* Every function that takes settings looks at all of them. */
static void settings_are_checked_by_all(void **state) {
  objects *o = *state;
  scratch *s = o->s;
  oatgp_model *model = NULL;
  oatgp_evaluation evaluation = {0};
  oatgp_data *data = NULL;
  write_text(s, "x1,y\n1,2\n3,4\n");
  const oatgp_settings good = s->settings;
  for (int which = 0; which < 3; which++) {
    s->settings = good;
    const char *piece = which == 0 ? "approx is 'sparse'" : which == 1 ? "jitter is -1" : "max_iter is -5";
    s->settings.approx = which == 0 ? "sparse" : good.approx;
    s->settings.jitter = which == 1 ? -1 : good.jitter;
    s->settings.max_iter = which == 2 ? -5 : good.max_iter;
    refuse(o, oatgp_fit(s->ctx, o->data, &s->settings, NULL, NULL, NULL, &model), piece);
    refuse(o, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 0, &evaluation), piece);
    refuse(o, oatgp_data_read(s->ctx, s->path, &s->settings, &data), piece);
    refuse(o, oatgp_data_read_like(s->ctx, s->path, o->data, &s->settings, &data), piece);
    refuse(o, oatgp_data_read_for(s->ctx, s->path, o->sparse, &s->settings, 0, &data), piece);
  }
  assert_null(model);
  assert_null(data);
}

/* ---- data ------------------------------------------------------------------------------------------------------ */

static void data_of_null(void **state) {
  (void)state;
  assert_int_equal(oatgp_data_rows(NULL), 0);
  assert_int_equal(oatgp_data_inputs(NULL), 0);
  assert_int_equal(oatgp_data_dropped_rows(NULL), 0);
  assert_null(oatgp_data_input_name(NULL, 0));
}

static void data_refuse_null(void **state) {
  objects *o = *state;
  oatgp_context *ctx = o->s->ctx;
  oatgp_data *out = NULL;
  const double x[] = {1, 2}, *const null_x = NULL;
  const char *const names[] = {"a"};
  refuse_without_context(oatgp_data_create(NULL, 1, 1, x, NULL, &out));
  refuse(o, oatgp_data_create(ctx, 1, 1, null_x, NULL, &out), "not be NULL");
  refuse(o, oatgp_data_create(ctx, 1, 1, x, NULL, NULL), "not be NULL");
  refuse(o, oatgp_data_create(ctx, 0, 1, x, NULL, &out), "0 rows");
  refuse(o, oatgp_data_create(ctx, 1, 0, x, NULL, &out), "0 inputs");
  refuse_without_context(oatgp_data_set_names(NULL, o->data, names, NULL));
  refuse(o, oatgp_data_set_names(ctx, NULL, names, NULL), "not be NULL");
  refuse(o, oatgp_data_set_names(ctx, o->data, NULL, NULL), "not be NULL");
  refuse_without_context(oatgp_data_set_weights(NULL, o->data, NULL));
  refuse(o, oatgp_data_set_weights(ctx, NULL, x), "not be NULL");
  refuse_without_context(oatgp_data_set_noise_variance(NULL, o->data, NULL));
  refuse(o, oatgp_data_set_noise_variance(ctx, NULL, x), "not be NULL");
  assert_null(out);
}

static void reading_refuses_null(void **state) {
  objects *o = *state;
  oatgp_context *ctx = o->s->ctx;
  const char *path = o->s->path;
  oatgp_settings *settings = &o->s->settings;
  oatgp_data *out = NULL;
  refuse_without_context(oatgp_data_read(NULL, path, settings, &out));
  refuse(o, oatgp_data_read(ctx, NULL, settings, &out), "not be NULL");
  refuse(o, oatgp_data_read(ctx, path, NULL, &out), "not be NULL");
  refuse(o, oatgp_data_read(ctx, path, settings, NULL), "not be NULL");
  refuse(o, oatgp_data_read(ctx, "", settings, &out), "empty");
  refuse_without_context(oatgp_data_read_like(NULL, path, o->data, settings, &out));
  refuse(o, oatgp_data_read_like(ctx, NULL, o->data, settings, &out), "not be NULL");
  refuse(o, oatgp_data_read_like(ctx, path, NULL, settings, &out), "not be NULL");
  refuse(o, oatgp_data_read_like(ctx, path, o->data, NULL, &out), "not be NULL");
  refuse(o, oatgp_data_read_like(ctx, path, o->data, settings, NULL), "not be NULL");
  refuse_without_context(oatgp_data_read_for(NULL, path, o->sparse, settings, 0, &out));
  refuse(o, oatgp_data_read_for(ctx, NULL, o->sparse, settings, 0, &out), "must not be NULL");
  refuse(o, oatgp_data_read_for(ctx, path, NULL, settings, 0, &out), "must not be NULL");
  refuse(o, oatgp_data_read_for(ctx, path, o->sparse, NULL, 0, &out), "must not be NULL");
  refuse(o, oatgp_data_read_for(ctx, path, o->sparse, settings, 0, NULL), "must not be NULL");
  expect_sentence(o->s, OATGP_READ, oatgp_data_read_for(ctx, "", o->sparse, settings, 0, &out), "cannot read");
  assert_null(out);
}

static void writing_refuses_null(void **state) {
  objects *o = *state;
  oatgp_context *ctx = o->s->ctx;
  const char *path = o->s->path, *const names[] = {"a", NULL};
  const double *const values[] = {o->many, NULL};
  refuse_without_context(oatgp_write_csv(NULL, path, 2, 1, names, values));
  refuse(o, oatgp_write_csv(ctx, NULL, 2, 1, names, values), "NULL");
  refuse(o, oatgp_write_csv(ctx, "", 2, 1, names, values), "empty");
  refuse(o, oatgp_write_csv(ctx, path, 2, 0, names, values), "at least one column");
  refuse(o, oatgp_write_csv(ctx, path, 2, 1, NULL, values), "names");
  refuse(o, oatgp_write_csv(ctx, path, 2, 1, names, NULL), "values");
  refuse(o, oatgp_write_csv(ctx, path, 2, 2, names, values), "column 2");
  refuse_without_context(oatgp_write_npy(NULL, path, 2, 1, o->many));
  refuse(o, oatgp_write_npy(ctx, NULL, 2, 1, o->many), "NULL");
  refuse(o, oatgp_write_npy(ctx, path, 2, 0, o->many), "2 x 0");
  refuse(o, oatgp_write_npy(ctx, path, 2, 1, NULL), "NULL");
  refuse(o, oatgp_write_npy(ctx, path, SIZE_MAX, 2, o->many), "cannot be written");
  assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- fit and evaluate ------------------------------------------------------------------------------------------ */

static void fit_refuses(void **state) {
  objects *o = *state;
  scratch *s = o->s;
  oatgp_model *const before = o->full;
  oatgp_model *out = before;
  refuse_without_context(oatgp_fit(NULL, o->data, &s->settings, NULL, NULL, NULL, &out));
  refuse(o, oatgp_fit(s->ctx, NULL, &s->settings, NULL, NULL, NULL, &out), "must not be NULL");
  refuse(o, oatgp_fit(s->ctx, o->data, NULL, NULL, NULL, NULL, &out), "must not be NULL");
  refuse(o, oatgp_fit(s->ctx, o->data, &s->settings, NULL, NULL, NULL, NULL), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_fit(s->ctx, o->no_target, &s->settings, NULL, NULL, NULL, &out), "no target");
  s->settings.lengthscale = "1,x";
  refuse(o, oatgp_fit(s->ctx, o->data, &s->settings, NULL, NULL, NULL, &out),
         "lengthscale 'x' is not a positive number");
  s->settings.lengthscale = "1,-2";
  refuse(o, oatgp_fit(s->ctx, o->data, &s->settings, NULL, NULL, NULL, &out),
         "lengthscale '-2' is not a positive number");
  s->settings.lengthscale = "1,2";
  refuse(o, oatgp_fit(s->ctx, o->data, &s->settings, NULL, NULL, NULL, &out), "2 lengthscales were given");
  assert_ptr_equal(out, before);
}

static void evaluate_refuses(void **state) {
  objects *o = *state;
  scratch *s = o->s;
  oatgp_evaluation out, before;
  memset(&out, 0x5a, sizeof out);
  memcpy(&before, &out, sizeof out);
  refuse_without_context(oatgp_evaluate(NULL, o->data, &s->settings, NULL, 1, &out));
  refuse(o, oatgp_evaluate(s->ctx, NULL, &s->settings, NULL, 1, &out), "must not be NULL");
  refuse(o, oatgp_evaluate(s->ctx, o->data, NULL, NULL, 1, &out), "must not be NULL");
  refuse(o, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 1, NULL), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_evaluate(s->ctx, o->no_target, &s->settings, NULL, 1, &out), "no target");
  s->settings.mean = "median";
  refuse(o, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 1, &out), "mean is 'median'");
  s->settings.mean = "mean";
  s->settings.sigma = 1e200;
  expect_sentence(s, OATGP_NUMERIC, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 1, &out), "no finite value");
  s->settings.sigma = 0;
  s->settings.kernel = "exponential";
  refuse(o, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 1, &out), "not differentiable");
  assert_memory_equal(&out, &before, sizeof out);
}

/* Without a gradient only the value is there; the full GP has no knots. */
static void evaluate_gives_what_is_asked(void **state) {
  objects *o = *state;
  scratch *s = o->s;
  oatgp_evaluation with = {0}, without = {0};
  must(s, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 1, &with));
  must(s, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 0, &without));
  assert_true(with.objective == without.objective);
  assert_int_equal(with.knots, 3);
  assert_int_equal(with.inputs, 1);
  assert_int_equal(with.lengthscale_count, 1);
  assert_true(with.d_log_sigma != 0 && with.d_log_tau != 0 && with.d_log_lengthscales[0] != 0 && with.d_knots[2] != 0);
  assert_true(without.d_log_sigma == 0 && without.d_log_tau == 0 && without.d_knots == NULL);
  oatgp_evaluation_clear(&with);
  oatgp_evaluation_clear(&without);
  assert_null(with.lengthscales);
  s->settings.approx = "full";
  must(s, oatgp_evaluate(s->ctx, o->data, &s->settings, NULL, 1, &with));
  assert_null(with.d_knots);
  assert_int_equal(with.knots, 0);
  oatgp_evaluation_clear(&with);
}

/* ---- model ----------------------------------------------------------------------------------------------------- */

static void model_of_null(void **state) {
  objects *o = *state;
  oatgp_model_info info;
  memset(&info, 0x5a, sizeof info);
  const oatgp_model_info before = info;
  oatgp_model_get_info(NULL, &info);
  assert_memory_equal(&info, &before, sizeof info);
  oatgp_model_get_info(o->sparse, NULL);
  assert_null(oatgp_model_input_name(NULL, 0));
  assert_null(oatgp_model_input_name(o->sparse, 1));
  assert_string_equal(oatgp_model_input_name(o->sparse, 0), "x1");
}

static void models_refuse_null(void **state) {
  objects *o = *state;
  oatgp_context *ctx = o->s->ctx;
  oatgp_model *out = NULL;
  refuse_without_context(oatgp_model_set_command(NULL, o->sparse, "x"));
  refuse(o, oatgp_model_set_command(ctx, NULL, "x"), "the model is NULL");
  must(o->s, oatgp_model_set_command(ctx, o->sparse, "a command"));
  assert_string_equal(info_of(o->sparse).command, "a command");
  must(o->s, oatgp_model_set_command(ctx, o->sparse, NULL));
  assert_string_equal(info_of(o->sparse).command, "");
  refuse_without_context(oatgp_model_knots(NULL, o->sparse, o->many, NULL, NULL));
  refuse(o, oatgp_model_knots(ctx, NULL, o->many, NULL, NULL), "the model is NULL");
  refuse(o, oatgp_model_knots(ctx, o->full, o->many, NULL, NULL), "the full GP has no knots");
  must(o->s, oatgp_model_knots(ctx, o->sparse, NULL, NULL, NULL));
  must(o->s, oatgp_model_knots(ctx, o->sparse, NULL, o->many, NULL));
  must(o->s, oatgp_model_knots(ctx, o->sparse, NULL, NULL, o->many));
  refuse_without_context(oatgp_model_save(NULL, o->sparse, o->s->path));
  refuse(o, oatgp_model_save(ctx, NULL, o->s->path), "must not be NULL");
  refuse(o, oatgp_model_save(ctx, o->sparse, NULL), "must not be NULL");
  expect_sentence(o->s, OATGP_WRITE, oatgp_model_save(ctx, o->sparse, ""), "cannot write ''");
  refuse_without_context(oatgp_model_load(NULL, o->s->path, &out));
  refuse(o, oatgp_model_load(ctx, NULL, &out), "must not be NULL");
  refuse(o, oatgp_model_load(ctx, o->s->path, NULL), "must not be NULL");
  expect_sentence(o->s, OATGP_READ, oatgp_model_load(ctx, "", &out), "cannot read ''");
  assert_null(out);
}

static void models_in_memory_refuse_null(void **state) {
  objects *o = *state;
  oatgp_context *ctx = o->s->ctx;
  oatgp_model *out = NULL;
  unsigned char *bytes = NULL;
  const unsigned char some[] = "bytes";
  size_t size = 0;
  refuse_without_context(oatgp_model_to_bytes(NULL, o->sparse, &bytes, &size));
  refuse(o, oatgp_model_to_bytes(ctx, NULL, &bytes, &size), "must not be NULL");
  refuse(o, oatgp_model_to_bytes(ctx, o->sparse, NULL, &size), "must not be NULL");
  refuse(o, oatgp_model_to_bytes(ctx, o->sparse, &bytes, NULL), "must not be NULL");
  refuse_without_context(oatgp_model_from_bytes(NULL, some, 5, &out));
  refuse(o, oatgp_model_from_bytes(ctx, NULL, 5, &out), "must not be NULL");
  refuse(o, oatgp_model_from_bytes(ctx, some, 5, NULL), "must not be NULL");
  expect_sentence(o->s, OATGP_FORMAT, oatgp_model_from_bytes(ctx, some, 5, &out), "'(in memory)'");
  assert_null(bytes);
  assert_null(out);
}

/* ---- prediction and scores ------------------------------------------------------------------------------------- */

static void prediction_refuses_null(void **state) {
  objects *o = *state;
  oatgp_context *ctx = o->s->ctx;
  double *many = o->many;
  const oatgp_prediction out = {many, many + 3, many + 6}, nothing = {NULL, NULL, NULL};
  refuse_without_context(oatgp_predict(NULL, o->sparse, o->no_target, &out));
  refuse(o, oatgp_predict(ctx, NULL, o->no_target, &out), "must not be NULL");
  refuse(o, oatgp_predict(ctx, o->sparse, NULL, &out), "must not be NULL");
  refuse(o, oatgp_predict(ctx, o->sparse, o->no_target, NULL), "must not be NULL");
  must(o->s, oatgp_predict(ctx, o->sparse, o->no_target, &nothing));
  refuse_without_context(oatgp_predict_covariance(NULL, o->sparse, o->no_target, many));
  refuse(o, oatgp_predict_covariance(ctx, NULL, o->no_target, many), "must not be NULL");
  refuse(o, oatgp_predict_covariance(ctx, o->sparse, NULL, many), "must not be NULL");
  refuse(o, oatgp_predict_covariance(ctx, o->sparse, o->no_target, NULL), "must not be NULL");
  refuse_without_context(oatgp_predict_samples(NULL, o->sparse, o->no_target, 1, 1, many));
  refuse(o, oatgp_predict_samples(ctx, NULL, o->no_target, 1, 1, many), "must not be NULL");
  refuse(o, oatgp_predict_samples(ctx, o->sparse, NULL, 1, 1, many), "must not be NULL");
  refuse(o, oatgp_predict_samples(ctx, o->sparse, o->no_target, 1, 1, NULL), "must not be NULL");
  for (size_t i = 0; i < LENGTH(o->many); i++) {
    assert_true(many[i] == 0);
  }
}

/* Each of the three results alone is the same as all together. */
static void predictions_can_be_asked_one_by_one(void **state) {
  objects *o = *state;
  double *all = must_predict(o->s, o->sparse, o->data);
  const size_t n = oatgp_data_rows(o->data);
  const oatgp_prediction one[] = {{o->many, NULL, NULL}, {NULL, o->many, NULL}, {NULL, NULL, o->many}};
  for (size_t i = 0; i < LENGTH(one); i++) {
    must(o->s, oatgp_predict(o->s->ctx, o->sparse, o->data, &one[i]));
    assert_memory_equal(o->many, all + i * n, n * sizeof *all);
  }
  free(all);
}

static void data_of_other_inputs_are_refused(void **state) {
  objects *o = *state;
  scratch *s = o->s;
  oatgp_data *wide = wavy_data(s, 3, 2, 0.1, 1);
  const char *const names[] = {"u", "v"};
  const oatgp_prediction out = {o->many, NULL, NULL};
  oatgp_scores scores;
  must(s, oatgp_data_set_names(s->ctx, wide, names, "y"));
  expect_sentence(s, OATGP_DATA, oatgp_predict(s->ctx, o->sparse, wide, &out), "none of them 'x1'");
  expect_sentence(s, OATGP_DATA, oatgp_predict_covariance(s->ctx, o->sparse, wide, o->many), "none of them 'x1'");
  expect_sentence(s, OATGP_DATA, oatgp_predict_samples(s->ctx, o->sparse, wide, 2, 1, o->many), "none of them 'x1'");
  expect_sentence(s, OATGP_DATA, oatgp_score(s->ctx, o->sparse, wide, NULL, &scores), "none of them 'x1'");
  for (size_t i = 0; i < LENGTH(o->many); i++) {
    assert_true(o->many[i] == 0);
  }
  oatgp_data_free(wide);
}

static void scores_refuse(void **state) {
  objects *o = *state;
  scratch *s = o->s;
  oatgp_scores out, before;
  memset(&out, 0x5a, sizeof out);
  memcpy(&before, &out, sizeof out);
  refuse_without_context(oatgp_score(NULL, o->sparse, o->data, NULL, &out));
  refuse(o, oatgp_score(s->ctx, NULL, o->data, NULL, &out), "must not be NULL");
  refuse(o, oatgp_score(s->ctx, o->sparse, NULL, NULL, &out), "must not be NULL");
  refuse(o, oatgp_score(s->ctx, o->sparse, o->data, NULL, NULL), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_score(s->ctx, o->sparse, o->no_target, NULL, &out),
                  "no target to score against");
  oatgp_data *wide = wavy_data(s, 15, 2, 0.1, 1), *renamed = wavy_data(s, 15, 1, 0.1, 1);
  const char *const name[] = {"u"};
  must(s, oatgp_data_set_names(s->ctx, renamed, name, "y"));
  oatgp_model *of_two = must_fit(s, wide, NULL), *of_u = must_fit(s, renamed, NULL);
  expect_sentence(s, OATGP_DATA, oatgp_score(s->ctx, o->sparse, o->data, of_two, &out),
                  "has 1 inputs, but the model to compare with has 2");
  expect_sentence(s, OATGP_DATA, oatgp_score(s->ctx, o->sparse, o->data, of_u, &out),
                  "has an input 'u', which this model does not have");
  assert_memory_equal(&out, &before, sizeof out);
  oatgp_model_free(of_two);
  oatgp_model_free(of_u);
  oatgp_data_free(wide);
  oatgp_data_free(renamed);
}

static void checkpoints_need_a_folder(void **state) {
  objects *o = *state;
  oatgp_model *out = NULL;
  o->s->settings.checkpoint = "no/such/folder";
  expect_sentence(o->s, OATGP_WRITE, oatgp_fit(o->s->ctx, o->data, &o->s->settings, NULL, NULL, NULL, &out),
                  "cannot write 'no/such/folder': No");
  assert_null(out);
}

static void quantiles_of_no_probability(void **state) {
  (void)state;
  const double wrong[] = {0, 1, -0.1, 1.1, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < LENGTH(wrong); i++) {
    assert_true(isnan(oatgp_normal_quantile(wrong[i])));
  }
  assert_near(oatgp_normal_quantile(0.975), 1.959963984540054, 1e-14);
  assert_true(oatgp_normal_quantile(0.5) == 0);
}

static void texts_become_utf8(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
  } cases[] = {{"", ""},
               {"plain", "plain"},
               {"\xC3\xB6", "\xC3\xB6"},
               {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
               {"\xF6", "\xC3\xB6"},
               {"a\xC3", "a\xC3\x83"},                                           /* cut off */
               {"\xC0\xAF", "\xC3\x80\xC2\xAF"},                                 /* longer than need be */
               {"\xED\xA0\x80", "\xC3\xAD\xC2\xA0\xE2\x82\xAC"},                 /* half of a pair */
               {"\xF4\x90\x80\x80", "\xC3\xB4\xC2\x90\xE2\x82\xAC\xE2\x82\xAC"}, /* past the last */
               {"\x80\x9F\x81", "\xE2\x82\xAC\xC5\xB8\xC2\x81"}};
  char out[32];
  for (size_t i = 0; i < LENGTH(cases); i++) {
    assert_int_equal(oatgp_to_utf8(cases[i].from, out, sizeof out), strlen(cases[i].to));
    assert_string_equal(out, cases[i].to);
    assert_int_equal(oatgp_to_utf8(cases[i].from, NULL, 0), strlen(cases[i].to));
  }
  assert_int_equal(oatgp_to_utf8("a\xF6"
                                 "b",
                                 out, 3),
                   4);
  assert_string_equal(out, "a"); /* never half a character, and nothing behind one that does not fit */
  assert_int_equal(oatgp_to_utf8(NULL, out, sizeof out), 0);
  assert_string_equal(out, "");
}

static void paths_are_found(void **state) {
  objects *o = *state;
  scratch *s = o->s;
  char path[200], wanted[4096], out[4096];
  refuse_without_context(oatgp_file_path(NULL, "x", out, sizeof out));
  refuse(o, oatgp_file_path(s->ctx, NULL, out, sizeof out), "must not be NULL");
  refuse(o, oatgp_file_path(s->ctx, "x", NULL, 0), "must not be NULL");
  expect_sentence(s, OATGP_WRITE, oatgp_file_path(s->ctx, "", out, sizeof out), "cannot write ''");
  expect_sentence(s, OATGP_WRITE, oatgp_file_path(s->ctx, "x", out, 3), "cannot write 'x': File name too long");
  snprintf(path, sizeof path, "%s/none/x", s->folder);
  expect_sentence(s, OATGP_WRITE, oatgp_file_path(s->ctx, path, out, sizeof out), "No such file");
  snprintf(path, sizeof path, "%s/../%s/./x", s->folder, strrchr(s->folder, '/') + 1);
  assert_int_equal(oatgp_file_path(s->ctx, path, wanted, sizeof wanted), OATGP_OK);
  assert_true(wanted[0] == '/' && strstr(wanted, "..") == NULL && strcmp(strrchr(wanted, '/'), "/x") == 0);
  assert_int_equal(symlink("x", s->path), 0); /* to what is not there */
  assert_int_equal(oatgp_file_path(s->ctx, s->path, out, sizeof out), OATGP_OK);
  assert_string_equal(out, wanted);
}

#define WITH_OBJECTS(test) cmocka_unit_test_setup_teardown(test, make_objects, free_objects)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(codes_have_texts),
      cmocka_unit_test(everything_frees_nothing),
      cmocka_unit_test(no_context_no_crash),
      cmocka_unit_test(data_of_null),
      cmocka_unit_test(quantiles_of_no_probability),
      WITH_OBJECTS(checkpoints_need_a_folder),
      cmocka_unit_test(texts_become_utf8),
      WITH_OBJECTS(paths_are_found),
      WITH_OBJECTS(version_is_that_of_models),
      WITH_OBJECTS(last_error_stays),
      WITH_OBJECTS(long_sentences_are_cut),
      WITH_OBJECTS(contexts_are_independent),
      WITH_OBJECTS(contexts_run_side_by_side),
      WITH_OBJECTS(threads_of_a_context),
      WITH_OBJECTS(progress_of_rows),
      cmocka_unit_test(features_have_names),
      WITH_OBJECTS(settings_refuse_null),
      WITH_OBJECTS(settings_are_checked_by_all),
      WITH_OBJECTS(data_refuse_null),
      WITH_OBJECTS(reading_refuses_null),
      WITH_OBJECTS(writing_refuses_null),
      WITH_OBJECTS(fit_refuses),
      WITH_OBJECTS(evaluate_refuses),
      WITH_OBJECTS(evaluate_gives_what_is_asked),
      WITH_OBJECTS(model_of_null),
      WITH_OBJECTS(models_refuse_null),
      WITH_OBJECTS(models_in_memory_refuse_null),
      WITH_OBJECTS(prediction_refuses_null),
      WITH_OBJECTS(predictions_can_be_asked_one_by_one),
      WITH_OBJECTS(data_of_other_inputs_are_refused),
      WITH_OBJECTS(scores_refuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
