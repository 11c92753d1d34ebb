/* Forged checkpoints: every number, array and text is checked before it is used. A forged file is refused with an
 * error, or the fit continues to a model; it never crashes, never runs forever and never fails silently. */
#include "watch.h"

#include "tensors/tensors.h"
#include "knots/strategy.h"
#include "util/memory.h"

enum { NUMBERS = 64, PHASE = 0, NEXT, K, KEPT, ROUND, STOP = 6, VALUE, RESTART = 16, BEST_K = 21 };
enum { INCUMBENT_EXACT = 27, EXACT = 29, BEST_EXACT = 32, IDLE = 37, RANDOM = 39 };

static void small_settings(scratch *s, const char *select) {
  oatgp_settings_default(&s->settings);
  s->settings.select = select;
  s->settings.max_knots = 6;
  s->settings.candidates = 4;
  s->settings.first_candidates = 2;
  s->settings.max_iter = 4;
  s->settings.inner_iter = 2;
  s->settings.lbfgs_history = 3;
  s->settings.restarts = 1;
  s->settings.refine = 1;
  s->settings.knots = strcmp(select, "auto") == 0 ? "" : "kmeans:3";
}

/* Leaves a checkpoint in s->path, made after so many events. */
static bool interrupt(scratch *s, const oatgp_data *data, size_t events) {
  watch w = {.stop_after = events};
  s->settings.checkpoint = s->path;
  s->settings.resume = "";
  oatgp_model *model = fit_watched(s, data, &w);
  const bool stopped = info_of(model).stop == OATGP_STOP_USER;
  oatgp_model_free(model);
  s->settings.checkpoint = "";
  s->settings.resume = s->path;
  return stopped && access(s->path, R_OK) == 0;
}

/* Continues from it, with a limit of events as a time limit. */
static oatgp_status resume(scratch *s, const oatgp_data *data, oatgp_model **model) {
  watch w = {.stop_after = 3000};
  s->ctx->error[0] = '\0';
  *model = NULL;
  const oatgp_status status = oatgp_fit(s->ctx, data, &s->settings, NULL, observe, &w, model);
  assert_true(w.calls < w.stop_after);
  if (status != OATGP_OK && strlen(oatgp_last_error(s->ctx)) < 10) {
    fail_msg("status %d has no sentence: '%s'", (int)status, oatgp_last_error(s->ctx));
  }
  return status;
}

static double *values_of(const oat_tensors *file, const char *name) {
  const oat_tensor *tensor = oat_tensors_find(file, name);
  assert_non_null(tensor);
  return tensor->values;
}

/* ---- one number ------------------------------------------------------------------------------------------------ */

static void forged_numbers_are_refused(void **state) {
  scratch *s = *state;
  static const struct {
    size_t place;
    double value;
    const char *piece;
  } cases[] = {
      {PHASE, OAT_PHASE_PROPOSE, "never saves its phase"},
      {PHASE, OAT_PHASE_DONE, "never saves its phase"},
      {PHASE, OAT_PHASE_COMPARE, "never saves its phase"},
      {PHASE, 9, "phase is 9 but should be a whole number from 0 to 8"},
      {PHASE, 4294967296.0, "phase is 4.29497e+09"},
      {PHASE, NAN, "phase is"},
      {NEXT, -1, "next is -1"},
      {K, 0, "k is 0 but should be a whole number from 1 to 6"},
      {K, 7, "k is 7"},
      {K, 1e300, "k is 1e+300"},
      {K, 2.5, "k is 2.5 but should be a whole number"},
      {KEPT, 6, "it has fewer knots than it kept"},
      {ROUND, 1, "round is 1"},
      {STOP, 99, "stop is 99"},
      {RESTART, -1e300, "restart is -1e+300 but should be a whole number from 0 to 1"},
      {RESTART, 2, "restart is 2"},
      {BEST_K, 1e19, "best_k is 1e+19"},
      {INCUMBENT_EXACT, 1, "incumbent_exact is 1"},
      {EXACT, 1, "exact is 1"},
      {BEST_EXACT, 1, "best_exact is 1"},
      {IDLE, 0.5, "idle is 0.5 but should be a whole number"},
      {RANDOM, 0.5, "random generator"},
      {RANDOM, INFINITY, "random generator"},
  };
  oatgp_data *data = wavy_data(s, 30, 1, 0.1, 5);
  small_settings(s, "oat-rs");
  assert_true(interrupt(s, data, 3));
  size_t size = 0;
  char *bytes = read_bytes_back(s, &size);
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_tensors file = {0};
    oatgp_model *model = NULL;
    write_bytes(s, bytes, size);
    must(s, oat_tensors_read(s->ctx, s->path, &file));
    values_of(&file, "numbers")[cases[i].place] = cases[i].value;
    must(s, oat_tensors_write(s->ctx, &file, s->path));
    expect_sentence(s, OATGP_FORMAT, resume(s, data, &model), cases[i].piece);
    oat_tensors_clear(&file);
  }
  free(bytes);
  oatgp_data_free(data);
}

/* ---- arrays, the optimiser, texts ------------------------------------------------------------------------------ */

typedef void edit(scratch *s, oat_tensors *file);

static void no_parameters(scratch *s, oat_tensors *file) { *values_of(file, "point_theta") = 0, (void)s; }
static void endless_knot(scratch *s, oat_tensors *file) { *values_of(file, "point_knots") = INFINITY, (void)s; }
static void negative_start(scratch *s, oat_tensors *file) { *values_of(file, "start_theta") = -1, (void)s; }
static void endless_history(scratch *s, oat_tensors *file) { values_of(file, "history")[1] = NAN, (void)s; }
static void negative_seconds(scratch *s, oat_tensors *file) { *values_of(file, "seconds") = -1e300, (void)s; }
static void endless_value(scratch *s, oat_tensors *file) { values_of(file, "optimiser")[0] = NAN, (void)s; }
static void half_an_iteration(scratch *s, oat_tensors *file) { values_of(file, "optimiser")[2] = 0.5, (void)s; }
static void endless_iterations(scratch *s, oat_tensors *file) { values_of(file, "optimiser")[2] = -1e300, (void)s; }
static void far_away(scratch *s, oat_tensors *file) { values_of(file, "optimiser")[6] = 1e300, (void)s; }

/* The pairs of L-BFGS are behind 6 counters, 3 vectors and 6 recent values. */
static double *pairs_of(const oat_tensors *file) {
  const size_t n = oat_tensors_find(file, "point_theta")->size - 1; /* there is no shape */
  return values_of(file, "optimiser") + 6 + 3 * n + 6;
}

static void too_many_pairs(scratch *s, oat_tensors *file) { pairs_of(file)[0] = 4, (void)s; }
static void newest_elsewhere(scratch *s, oat_tensors *file) { pairs_of(file)[1] = 1e18, (void)s; }
static void negative_product(scratch *s, oat_tensors *file) { pairs_of(file)[2] = -1, (void)s; }

static void short_optimiser(scratch *s, oat_tensors *file) {
  (void)s;
  oat_tensor *tensor = &file->tensor[oat_tensors_find(file, "optimiser") - file->tensor];
  tensor->shape[0] = tensor->size = 3;
}

static void set_settings(scratch *s, oat_tensors *file, const char *text) {
  for (size_t i = 0; i < file->text_count; i++) {
    if (strcmp(file->text[i].key, "settings") == 0) {
      free(file->text[i].value);
      must(s, oat_copy_text(s->ctx, text, &file->text[i].value));
    }
  }
}

static void no_settings(scratch *s, oat_tensors *file) { set_settings(s, file, ""); }
static void other_settings(scratch *s, oat_tensors *file) { set_settings(s, file, "colour = red\n"); }

static void forged_parts_are_refused(void **state) {
  scratch *s = *state;
  static const struct {
    edit *change;
    const char *piece;
  } cases[] = {
      {no_parameters, "'point_theta' holds a number that is not finite and above 0"},
      {endless_knot, "'point_knots' holds a number that is not finite"},
      {negative_start, "'start_theta' holds a number that is not finite and above 0"},
      {endless_history, "'history' holds a number that is not finite"},
      {negative_seconds, "the seconds that it took"},
      {endless_value, "its optimiser is in an impossible state"},
      {half_an_iteration, "its optimiser is in an impossible state"},
      {endless_iterations, "its optimiser is in an impossible state"},
      {far_away, "its optimiser is in an impossible state"},
      {too_many_pairs, "its optimiser is in an impossible state"},
      {newest_elsewhere, "its optimiser is in an impossible state"},
      {negative_product, "its optimiser is in an impossible state"},
      {short_optimiser, "the checkpoint does not fit these settings"},
      {no_settings, "another version of oatgp"},
      {other_settings, "another version of oatgp"},
  };
  oatgp_data *data = wavy_data(s, 30, 1, 0.1, 5);
  small_settings(s, "fixed");
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_tensors file = {0};
    oatgp_model *model = NULL;
    assert_true(interrupt(s, data, 3));
    must(s, oat_tensors_read(s->ctx, s->path, &file));
    cases[i].change(s, &file);
    must(s, oat_tensors_write(s->ctx, &file, s->path));
    expect_sentence(s, OATGP_FORMAT, resume(s, data, &model), cases[i].piece);
    oat_tensors_clear(&file);
  }
  oatgp_data_free(data);
}

/* ---- anything anywhere ----------------------------------------------------------------------------------------- */

/* Alters one to three values of any tensor. */
static void forge(oat_rng *rng, const oat_tensors *file) {
  static const double values[] = {0,     -1,     1,      2,      3,   4,    5,   6,        0.5,
                                  1e300, -1e300, 1e-300, 5e-324, 2e9, 1e19, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i <= oat_rng_below(rng, 3); i++) {
    const oat_tensor *tensor = &file->tensor[oat_rng_below(rng, 2) == 0 ? 0 : oat_rng_below(rng, file->count)];
    if (tensor->size > 0) {
      tensor->values[oat_rng_below(rng, tensor->size)] = values[oat_rng_below(rng, LENGTH(values))];
    }
  }
}

static void forged_files_do_no_harm(void **state) {
  scratch *s = *state;
  static const size_t events[] = {1, 3, 6, 11, 17, 26};
  oatgp_data *data = wavy_data(s, 30, 1, 0.1, 5);
  size_t refused = 0, models = 0;
  oat_rng rng;
  oat_rng_seed(&rng, 77);
  for (size_t i = 0; oat_strategy_at(i) != NULL; i++) {
    for (size_t j = 0; j < LENGTH(events); j++) {
      small_settings(s, oat_strategy_at(i)->name);
      s->settings.optimizer = j % 2 == 0 ? "lbfgs" : "adadelta";
      if (!interrupt(s, data, events[j])) {
        continue;
      }
      size_t size = 0;
      char *bytes = read_bytes_back(s, &size);
      for (size_t round = 0; round < (under_valgrind() ? 2 : 25); round++) {
        oat_tensors file = {0};
        oatgp_model *model = NULL;
        write_bytes(s, bytes, size);
        must(s, oat_tensors_read(s->ctx, s->path, &file));
        forge(&rng, &file);
        must(s, oat_tensors_write(s->ctx, &file, s->path));
        if (resume(s, data, &model) == OATGP_OK) {
          free(must_predict(s, model, data));
          models++;
        } else {
          refused++;
        }
        oatgp_model_free(model);
        oat_tensors_clear(&file);
      }
      free(bytes);
    }
  }
  print_message("%zu forged checkpoints refused, %zu harmless\n", refused, models);
  assert_true(refused > 20 && models > 5);
  oatgp_data_free(data);
}

/* ---- the exact GP of some rows --------------------------------------------------------------------------------- */

/* Asks to stop at the first event of a subset after the first model. */
static int stop_after_the_race(void *user, const oatgp_event *event) {
  bool *started = user;
  *started = *started || event->kind == OATGP_EVENT_START;
  return *started && event->kind == OATGP_EVENT_SUBSET;
}

/* Leaves a checkpoint from which the parameters of the race are still to be improved. */
static void interrupt_after_the_race(scratch *s, const oatgp_data *data) {
  oatgp_model *model = NULL;
  bool started = false;
  s->settings.checkpoint = s->path;
  s->settings.resume = "";
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, stop_after_the_race, &started, &model));
  oatgp_model_free(model);
  s->settings.checkpoint = "";
  s->settings.resume = s->path;
}

static void no_parameters_of_the_race(scratch *s, oat_tensors *file) {
  const oat_tensor *theta = oat_tensors_find(file, "backup_theta");
  memset(theta->values, 0, theta->size * sizeof *theta->values);
  (void)s;
}

/* No row has a variance to be chosen by, and the first model is worse: without any knot, the number of rows for each
 * was a division by 0. */
static void sigma_out_of_range(scratch *s, oat_tensors *file) {
  *values_of(file, "backup_theta") = *values_of(file, "start_theta") = 1e-300;
  values_of(file, "numbers")[VALUE] = -1e9;
  (void)s;
}

static void forged_parameters_of_the_race(void **state) {
  scratch *s = *state;
  static const struct {
    edit *change;
    oatgp_status status;
    const char *piece;
  } cases[] = {{no_parameters_of_the_race, OATGP_FORMAT, "a model that it could return to has no parameters"},
               {sigma_out_of_range, OATGP_NUMERIC, "no finite value"}};
  oatgp_data *data = wavy_data(s, 90, 1, 0.1, 5);
  small_settings(s, "auto");
  s->settings.subset_rows = 30;
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_tensors file = {0};
    oatgp_model *model = NULL;
    interrupt_after_the_race(s, data);
    must(s, oat_tensors_read(s->ctx, s->path, &file));
    assert_true(values_of(&file, "numbers")[PHASE] == OAT_PHASE_SUBSET);
    cases[i].change(s, &file);
    must(s, oat_tensors_write(s->ctx, &file, s->path));
    expect_sentence(s, cases[i].status, resume(s, data, &model), cases[i].piece);
    oatgp_model_free(model);
    oat_tensors_clear(&file);
  }
  oatgp_data_free(data);
}

/* ---- settings that may differ ---------------------------------------------------------------------------------- */

/* The result does not depend on these. */
static void settings_that_change_nothing(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 300, 2, 0.1, 5);
  small_settings(s, "oat-gain");
  oatgp_model *whole = must_fit(s, data, NULL), *model = NULL;
  assert_true(interrupt(s, data, 5));
  s->settings.threads = 2;
  s->settings.time_limit = 1000;
  s->settings.checkpoint_seconds = 7;
  s->settings.folds = 3;
  s->settings.tol = 1;
  must(s, resume(s, data, &model));
  expect_same_model(s, data, whole, model);
  oatgp_model_free(model);
  s->settings.seed = 2;
  expect_sentence(s, OATGP_ARGUMENT, resume(s, data, &model), "made with 'seed = 1', now it is 'seed = 2'");
  oatgp_model_free(whole);
  oatgp_data_free(data);
}

/* Rows enough for several tiles and threads. */
static void threads_of_the_full_gp(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, under_valgrind() ? 30 : 300, 1, 0.1, 5);
  small_settings(s, "fixed");
  s->settings.approx = "full";
  s->settings.threads = 1;
  oatgp_model *whole = must_fit(s, data, NULL), *model = NULL;
  assert_true(interrupt(s, data, 2));
  s->settings.threads = 3;
  must(s, resume(s, data, &model));
  expect_same_model(s, data, whole, model);
  oatgp_model_free(whole);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(forged_numbers_are_refused), WITH_SCRATCH(forged_parts_are_refused),
      WITH_SCRATCH(forged_files_do_no_harm),    WITH_SCRATCH(settings_that_change_nothing),
      WITH_SCRATCH(threads_of_the_full_gp),     WITH_SCRATCH(forged_parameters_of_the_race),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
