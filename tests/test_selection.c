/* Knot selection through the public functions: every strategy with every sparse model, the rule by which a knot is
 * kept, records, interruption and resumption. */
#include "knots/strategy.h"
#include "objective/objective.h"
#include "watch.h"

/* Small enough for all combinations. */
static void small_settings(scratch *s) {
  oatgp_settings_default(&s->settings);
  s->settings.prior = "none";
  s->settings.max_knots = 9;
  s->settings.candidates = 8;
  s->settings.first_candidates = 3;
  s->settings.max_iter = 15;
  s->settings.inner_iter = 5;
}

/* One input, every strategy and every sparse model: a model no worse than its start, within its limits. */
static void every_strategy_with_every_model(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  for (size_t i = 0; oat_strategy_at(i) != NULL; i++) {
    for (size_t m = 0; oat_approx_at(m) != NULL; m++) {
      small_settings(s);
      s->settings.select = oat_strategy_at(i)->name;
      s->settings.approx = oat_approx_at(m)->name;
      s->settings.knots = oat_strategy_at(i)->grows ? "kmeans:3" : "kmeans:7";
      s->settings.refine = i % 2 == 0;
      oatgp_model *model = fit_sanely(s, data, NULL);
      const oatgp_model_info info = info_of(model);
      assert_true(info.knots <= 9);
      assert_true(!oat_approx_at(m)->sparse || info.knots >= 3);
      assert_true(info.objective >= info.history[1] - 1e-9);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(data);
}

/* The monitor gets the number of knots that a fit may grow to, or 0 if the number is fixed. */
static void monitors_hear_of_the_most_knots(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  static const struct {
    const char *select, *knots, *approx;
    size_t most;
  } cases[] = {{"oat-gain", "3", "vfe", 9}, {"auto", "", "vfe", 9},          {"auto", "3", "vfe", 0},
               {"variance", "3", "vfe", 0}, {"simultaneous", "3", "vfe", 0}, {"auto", "", "full", 0}};
  for (size_t i = 0; i < LENGTH(cases); i++) {
    watch w = (watch){0};
    small_settings(s);
    s->settings.select = cases[i].select;
    s->settings.knots = cases[i].knots;
    s->settings.approx = cases[i].approx;
    oatgp_model_free(fit_watched(s, data, &w));
    assert_int_equal(w.max_knots, cases[i].most);
  }
  oatgp_data_free(data);
}

/* Kernels that are not smooth keep proposed knots on rows of the data. */
static void exponential_kernel_does_not_move_knots(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  small_settings(s);
  s->settings.kernel = "exponential";
  s->settings.select = "oat-gain";
  s->settings.knots = "random:2";
  oatgp_model *model = fit_sanely(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  double knots[16];
  must(s, oatgp_model_knots(s->ctx, model, knots, NULL, NULL));
  for (size_t i = 0; i < info.knots; i++) {
    double nearest = HUGE_VAL;
    for (size_t j = 0; j < data->n; j++) {
      nearest = fmin(nearest, fabs(data->x[j] - knots[i]));
    }
    assert_true(nearest < 1e-12 * 100);
  }
  oatgp_model_free(model);
  s->settings.refine = 1;
  model = NULL;
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(s->ctx), "not differentiable"));
  oatgp_data_free(data);
}

static void knots_are_kept_by_the_rule(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  static const char *const growing[] = {"oat-bo", "oat-rs", "oat-gain"};
  for (size_t i = 0; i < LENGTH(growing); i++) {
    watch w = {0};
    small_settings(s);
    s->settings.select = growing[i];
    s->settings.knots = "kmeans:4";
    s->settings.tol_knot = 1e6;
    oatgp_model *model = fit_watched(s, data, &w);
    assert_int_equal(info_of(model).knots, 4);
    assert_int_equal(info_of(model).stop, OATGP_STOP_TOL_KNOT);
    assert_int_equal(w.seen[OATGP_EVENT_PROPOSAL], 1);
    assert_int_equal(w.seen[OATGP_EVENT_DROPPED], 1);
    assert_int_equal(w.seen[OATGP_EVENT_KEPT], 0);
    assert_int_equal(info_of(model).selection_count, 1);
    assert_true(info_of(model).selection[0] == 0);
    oatgp_model_free(model);

    s->settings.tol_knot = 1e-3;
    model = fit_watched(s, data, &w);
    assert_int_equal(info_of(model).stop, OATGP_STOP_MAX_KNOTS);
    assert_int_equal(info_of(model).knots, 9);
    assert_int_equal(w.knots_kept, 5);
    assert_true(!w.fell && !w.disorder);
    assert_int_equal(info_of(model).selection_count, w.knots_kept + w.seen[OATGP_EVENT_DROPPED]);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* A batch is kept or dropped as a whole, and one more row of the record stands for each of its knots. */
static void batches(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  watch w = {0};
  small_settings(s);
  s->settings.select = "oat-gain";
  s->settings.knots = "kmeans:3";
  s->settings.max_knots = 20;
  s->settings.batch = 4;
  oatgp_model *model = fit_watched(s, data, &w);
  const oatgp_model_info info = info_of(model);
  assert_int_equal(w.seen[OATGP_EVENT_PROPOSAL], 5);
  assert_int_equal(info.knots, 20);
  assert_int_equal(info.selection_count, 17);
  assert_false(w.fell);
  for (size_t i = 0; i < info.selection_count; i++) {
    const double *row = info.selection + i * (8 + info.d);
    assert_true(row[0] == 1 && row[1] == (double)(4 + i));
    assert_true(row[3] >= row[4] - 1e-6); /* optimising never loses what the proposal promised */
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void refinement_raises_the_objective(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  watch w = {0};
  small_settings(s);
  s->settings.select = "oat-rs";
  s->settings.max_iter = 60;
  oatgp_model *plain = fit_watched(s, data, &w);
  assert_int_equal(w.seen[OATGP_EVENT_REFINE], 0);
  s->settings.refine = 1;
  oatgp_model *refined = fit_watched(s, data, &w);
  assert_int_equal(w.seen[OATGP_EVENT_REFINE], 1);
  assert_true(info_of(refined).objective > info_of(plain).objective);
  s->settings.restart_parameters = 1;
  oatgp_model *restarted = fit_watched(s, data, &w);
  assert_true(info_of(restarted).objective > info_of(plain).objective); /* from wherever, knots that move gain */
  oatgp_model_free(plain);
  oatgp_model_free(refined);
  oatgp_model_free(restarted);
  oatgp_data_free(data);
}

/* Duplicate rows: no two knots of the result coincide, nothing fails. */
static void duplicate_rows_give_no_coincident_knots(void **state) {
  scratch *s = *state;
  double x[90], y[90], knots[16];
  for (size_t i = 0; i < 90; i++) {
    x[i] = (double)(i / 3);
    y[i] = sin(0.4 * x[i]) + 0.1 * (double)(i % 3);
  }
  oatgp_data *data = make_data(s, 90, 1, x, y);
  for (size_t m = 0; oat_approx_at(m) != NULL; m++) {
    small_settings(s);
    s->settings.approx = oat_approx_at(m)->name;
    s->settings.select = m % 2 == 0 ? "oat-gain" : "oat-rs";
    s->settings.candidates = 90;
    s->settings.batch = 3;
    oatgp_model *model = fit_sanely(s, data, NULL);
    const size_t k = info_of(model).knots;
    if (oat_approx_at(m)->sparse) {
      must(s, oatgp_model_knots(s->ctx, model, knots, NULL, NULL));
    }
    for (size_t i = 0; i < k; i++) {
      for (size_t j = 0; j < i; j++) {
        assert_true(fabs(knots[i] - knots[j]) > 1e-6);
      }
    }
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* A fast wave on few knots: without the guard everything becomes noise. */
static void guard_against_all_noise(void **state) {
  scratch *s = *state;
  enum { N = 300 };
  double x[N], y[N];
  oat_rng rng;
  oat_rng_seed(&rng, 7);
  for (size_t i = 0; i < N; i++) {
    x[i] = 10 * oat_rng_uniform(&rng);
    y[i] = sin(6 * x[i]) + 0.1 * oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, N, 1, x, y);
  oatgp_settings_default(&s->settings);
  s->settings.select = "oat-gain";
  s->settings.knots = "kmeans:2";
  s->settings.lengthscale = "0.1";
  s->settings.max_knots = 60;
  s->settings.guard = 0;
  oatgp_model *without = must_fit(s, data, NULL);
  s->settings.guard = 1;
  oatgp_model *with = must_fit(s, data, NULL);
  assert_true(info_of(with).objective > info_of(without).objective - 1e-6);
  assert_true(info_of(with).tau < 0.2);
  oatgp_model_free(without);
  oatgp_model_free(with);
  oatgp_data_free(data);
}

/* Pure noise: held parameters are freed wherever the search ends, and the noise optimum is not lost. */
static void held_parameters_are_let_go(void **state) {
  scratch *s = *state;
  enum { N = 200 };
  double x[N], y[N];
  oat_rng rng;
  oat_rng_seed(&rng, 11);
  for (size_t i = 0; i < N; i++) {
    x[i] = oat_rng_uniform(&rng);
    y[i] = oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, N, 1, x, y);
  static const int64_t most[] = {5, 8, 30};
  for (size_t i = 0; i < LENGTH(most); i++) {
    watch w = {0};
    oatgp_settings_default(&s->settings);
    s->settings.select = "oat-gain";
    s->settings.max_knots = most[i];
    s->settings.guard = 0;
    oatgp_model *without = must_fit(s, data, NULL);
    s->settings.guard = 1;
    oatgp_model *with = must_fit(s, data, NULL);
    assert_true(info_of(with).objective > info_of(without).objective - 0.5);
    w.stop_after = 60; /* somewhere in the middle */
    oatgp_model *stopped = fit_watched(s, data, &w);
    assert_true(info_of(stopped).objective > info_of(without).objective - 0.5);
    oatgp_model_free(without);
    oatgp_model_free(with);
    oatgp_model_free(stopped);
  }
  oatgp_data_free(data);
}

/* The guard does not depend on the size of the weights: with a start of tau that follows them every search takes the
 * same way, but for rounding. A guard that is misled costs 2 nats. */
static void weights_do_not_mislead_the_guard(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  double weight[512], objective[3];
  static const double sizes[] = {0x1p-10, 1, 0x1p10};
  for (size_t i = 0; i < LENGTH(sizes); i++) {
    for (size_t j = 0; j < data->n; j++) {
      weight[j] = sizes[i];
    }
    must(s, oatgp_data_set_weights(s->ctx, data, weight));
    oatgp_settings_default(&s->settings);
    s->settings.select = "oat-gain";
    s->settings.kernel = "se";
    s->settings.tau = 4 * sqrt(sizes[i]);
    s->settings.jitter = 1e-6; /* else it follows tau */
    s->settings.max_knots = 20;
    oatgp_model *model = must_fit(s, data, NULL);
    assert_int_equal(info_of(model).knots, 20);
    objective[i] = info_of(model).objective - info_of(model).log_prior; /* a density of tau has its unit */
    oatgp_model_free(model);
  }
  assert_nats(objective[0], objective[1], 0.1);
  assert_nats(objective[2], objective[1], 0.1);
  oatgp_data_free(data);
}

/* Greedy variance gets back to the number of knots asked for when the lengthscale has become short. */
static void variance_keeps_its_number_of_knots(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  oatgp_settings_default(&s->settings);
  s->settings.select = "variance";
  s->settings.knots = "30";
  oatgp_model *model = must_fit(s, data, NULL);
  assert_true(info_of(model).knots > 20);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Limits hold for the whole search, also when there is nothing to optimise. */
static void limits_hold_for_the_search(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  oatgp_settings_default(&s->settings);
  s->settings.select = "oat-gain";
  s->settings.max_eval = 40;
  oatgp_model *model = must_fit(s, data, NULL);
  assert_int_equal(info_of(model).stop, OATGP_STOP_EVALUATIONS);
  assert_true(info_of(model).evaluations <= 45);
  oatgp_model_free(model);
  oatgp_settings_default(&s->settings);
  s->settings.select = "oat-rs";
  s->settings.kernel = "exponential";
  s->settings.fix = "sigma, tau, lengthscale";
  s->settings.time_limit = 1e-9;
  model = must_fit(s, data, NULL);
  assert_int_equal(info_of(model).stop, OATGP_STOP_TIME);
  assert_int_equal(info_of(model).knots, 5);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* More than there is: limits that exceed the data cost nothing. */
static void generous_limits(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 12, 1, 0.1, 3);
  static const char *const growing[] = {"oat-bo", "oat-gain"};
  for (size_t i = 0; i < LENGTH(growing); i++) {
    oatgp_settings_default(&s->settings);
    s->settings.select = growing[i];
    s->settings.max_knots = 100000;
    s->settings.candidates = 1000000;
    s->settings.tol_knot = 0;
    oatgp_model *model = fit_sanely(s, data, NULL);
    assert_true(info_of(model).knots <= 12);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void more_start_knots_than_allowed(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  oatgp_model *model = NULL;
  small_settings(s);
  s->settings.select = "oat-rs";
  s->settings.knots = "kmeans:10";
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(s->ctx), "max-knots"));
  oatgp_data_free(data);
}

/* ---- the same again -------------------------------------------------------------------------------------------- */

static void same_seed_same_bits(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  for (size_t i = 0; oat_strategy_at(i) != NULL; i++) {
    small_settings(s);
    s->settings.select = oat_strategy_at(i)->name;
    s->settings.knots = "kmeans:4";
    oatgp_model *first = must_fit(s, data, NULL), *second = must_fit(s, data, NULL);
    expect_same_model(s, data, first, second);
    oatgp_model_free(first);
    oatgp_model_free(second);
  }
  oatgp_data_free(data);
}

/* Stopped after any number of events, a fit goes on from its checkpoint to the very same model. */
static void resumed_fit_is_the_same(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  static const size_t stops[] = {1, 2, 9, 17, 30, 47};
  for (size_t i = 0; oat_strategy_at(i) != NULL; i++) {
    small_settings(s);
    s->settings.select = oat_strategy_at(i)->name;
    s->settings.knots = "kmeans:4";
    s->settings.refine = 1;
    s->settings.restarts = 1;
    s->settings.sigma = 0.11; /* exp(log(0.11)) is another number */
    s->settings.optimizer = i % 2 == 0 ? "lbfgs" : "adadelta";
    oatgp_model *whole = must_fit(s, data, NULL);
    for (size_t j = 0; j < LENGTH(stops); j += amount(1, 3, 4)) {
      watch w = {.stop_after = stops[j]};
      s->settings.checkpoint = s->path;
      s->settings.resume = "";
      oatgp_model *part = fit_watched(s, data, &w);
      const bool stopped = info_of(part).stop == OATGP_STOP_USER;
      oatgp_model_free(part);
      if (!stopped) {
        continue;
      }
      s->settings.checkpoint = "";
      s->settings.resume = s->path;
      oatgp_model *resumed = must_fit(s, data, NULL);
      expect_same_model(s, data, whole, resumed);
      oatgp_model_free(resumed);
    }
    oatgp_model_free(whole);
  }
  oatgp_data_free(data);
}

static void checkpoint_of_something_else(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s), *other = motorcycle(s);
  oatgp_model *model = NULL;
  watch w = {.stop_after = 5};
  small_settings(s);
  s->settings.select = "oat-rs";
  s->settings.checkpoint = s->path;
  oatgp_model_free(fit_watched(s, data, &w));
  s->settings.checkpoint = "";
  s->settings.resume = s->path;
  assert_int_equal(oatgp_fit(s->ctx, other, &s->settings, NULL, NULL, NULL, &model), OATGP_DATA);
  assert_non_null(strstr(oatgp_last_error(s->ctx), "other data"));
  s->settings.tol_knot = 0.5;
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(s->ctx), "tol_knot = 0.5"));
  s->settings.tol_knot = 1e-3;
  write_text(s, "not a checkpoint");
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_FORMAT);
  s->settings.resume = "";
  oatgp_model *saved = must_fit(s, data, NULL);
  must(s, oatgp_model_save(s->ctx, saved, s->path));
  s->settings.resume = s->path;
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_FORMAT);
  assert_non_null(strstr(oatgp_last_error(s->ctx), "not a checkpoint"));
  oatgp_model_free(saved);
  oatgp_data_free(data);
  oatgp_data_free(other);
}

/* A checkpoint that cannot be written costs a warning, not the fit. */
static void checkpoint_on_a_full_disk(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  small_settings(s);
  s->settings.select = "oat-rs";
  s->settings.checkpoint = "/dev/full";
  s->settings.checkpoint_seconds = 0;
  s->said[0] = '\0';
  oatgp_model *model = must_fit(s, data, NULL);
  assert_non_null(strstr(s->said, "warning no checkpoint"));
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* The record of the selection survives the model file. */
static void record_is_stored(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  small_settings(s);
  s->settings.select = "oat-gain";
  oatgp_model *model = must_fit(s, data, NULL), *loaded = NULL;
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &loaded));
  const oatgp_model_info a = info_of(model), b = info_of(loaded);
  assert_true(a.selection_count > 0);
  assert_int_equal(a.selection_count, b.selection_count);
  assert_memory_equal(a.selection, b.selection, a.selection_count * (8 + a.d) * sizeof *a.selection);
  oatgp_model_free(model);
  oatgp_model_free(loaded);
  oatgp_data_free(data);
}

/* --preset paper sets what the paper's experiments had, and what is set after it wins. */
static void preset_of_the_paper(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  oatgp_settings_default(&s->settings);
  must(s, oatgp_settings_set(s->ctx, &s->settings, "preset", "paper"));
  assert_string_equal(s->settings.select, "oat-bo");
  assert_string_equal(s->settings.optimizer, "adadelta");
  assert_true(s->settings.epsilon == 1e-4 && s->settings.obj_tol == 1e-3 && s->settings.max_knots == 80);
  must(s, oatgp_settings_set(s->ctx, &s->settings, "max_knots", "7"));
  must(s, oatgp_settings_set(s->ctx, &s->settings, "jitter_absolute", "1e-3"));
  oatgp_model *model = fit_sanely(s, data, NULL);
  assert_true(info_of(model).knots <= 7);
  assert_true(info_of(model).jitter == 0 && info_of(model).jitter_absolute == 1e-3);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(every_strategy_with_every_model),
      WITH_SCRATCH(monitors_hear_of_the_most_knots),
      WITH_SCRATCH(exponential_kernel_does_not_move_knots),
      WITH_SCRATCH(knots_are_kept_by_the_rule),
      WITH_SCRATCH(batches),
      WITH_SCRATCH(refinement_raises_the_objective),
      WITH_SCRATCH(duplicate_rows_give_no_coincident_knots),
      WITH_SCRATCH(guard_against_all_noise),
      WITH_SCRATCH(held_parameters_are_let_go),
      WITH_SCRATCH(weights_do_not_mislead_the_guard),
      WITH_SCRATCH(variance_keeps_its_number_of_knots),
      WITH_SCRATCH(limits_hold_for_the_search),
      WITH_SCRATCH(generous_limits),
      WITH_SCRATCH(more_start_knots_than_allowed),
      WITH_SCRATCH(same_seed_same_bits),
      WITH_SCRATCH(resumed_fit_is_the_same),
      WITH_SCRATCH(checkpoint_of_something_else),
      WITH_SCRATCH(checkpoint_on_a_full_disk),
      WITH_SCRATCH(record_is_stored),
      WITH_SCRATCH(preset_of_the_paper),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
