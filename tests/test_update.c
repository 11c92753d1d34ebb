/* New rows in a model: the same as if its sums had been computed from all rows at once. */
#include "fixed_fits.h"

#include "model/model.h"
#include "util/threads.h"

enum { ROWS = 60, FIRST = 41, KNOTS = 9 };

/* Rows first .. first + count - 1. */
static oatgp_data *slice(scratch *s, const oatgp_data *data, size_t first, size_t count) {
  size_t rows[ROWS];
  oatgp_data *out = NULL;
  for (size_t i = 0; i < count; i++) {
    rows[i] = first + i;
  }
  must(s, oatgp_data_select(s->ctx, data, count, rows, &out));
  return out;
}

static void expect_near_model(scratch *s, const oatgp_model *a, const oatgp_model *b, const oatgp_data *at,
                              double tolerance) {
  const size_t n = oatgp_data_rows(at);
  double *mine = must_predict(s, a, at), *truth = must_predict(s, b, at);
  assert_near(largest_error(3 * n, mine, truth), 0, tolerance);
  assert_nats(info_of(a).objective, info_of(b).objective, 1e-8);
  if (info_of(a).slopes != NULL) { /* the means are at the middles of different rows */
    assert_near(largest_error(info_of(a).d, info_of(a).slopes, info_of(b).slopes), 0, tolerance);
  } else {
    assert_near(info_of(a).mean, info_of(b).mean, tolerance);
  }
  assert_int_equal(info_of(a).n, info_of(b).n);
  free(mine);
  free(truth);
}

/* In parts of 41, 1 and 18 rows, against a fit to all rows that optimises nothing. */
static void check_parts(scratch *s, const problem *p, const oatgp_data *knots, row_noise noise) {
  oatgp_data *all = problem_data(s, p, noise), *first = slice(s, all, 0, FIRST), *one = slice(s, all, FIRST, 1),
             *rest = slice(s, all, FIRST + 1, ROWS - FIRST - 1);
  oatgp_model *model = must_fit(s, first, knots), *truth = must_fit(s, all, knots);
  must(s, oatgp_update(s->ctx, model, one));
  must(s, oatgp_update(s->ctx, model, rest));
  expect_near_model(s, model, truth, all, 1e-10);
  assert_true(isnan(info_of(model).loo_mean_nlp));
  oatgp_scores mine, others;
  must(s, oatgp_loo(s->ctx, model, all, NULL, &mine));
  must(s, oatgp_loo(s->ctx, truth, all, NULL, &others));
  assert_nats(mine.mean_nlp, others.mean_nlp, 1e-10);
  oatgp_model_free(model);
  oatgp_model_free(truth);
  oatgp_data *const used[] = {all, first, one, rest};
  for (size_t i = 0; i < LENGTH(used); i++) {
    oatgp_data_free(used[i]);
  }
}

/* For every noise and mean. */
static void check_variant(scratch *s, variant v, size_t neighbours) {
  problem p = make_problem(ROWS, 2, KNOTS, 31);
  oatgp_data *knots = data_of(s, p.k, p.d, p.z, NULL);
  char text[256];
  for (size_t noise = 0; noise < ROW_NOISES; noise++) {
    for (size_t basis = 0; basis <= 1 + p.d; basis += basis == 0 ? 1 : p.d) {
      fix_everything(s, oat_kernel_find("matern52-ard"), v, &p, text);
      s->settings.mean = mean_for(basis);
      s->settings.neighbours = (int64_t)neighbours;
      s->settings.order = "file";
      check_parts(s, &p, knots, (row_noise)noise);
    }
  }
  oatgp_data_free(knots);
  free_problem(&p);
}

/* The full GP has its factor in the place of sums. */
static void updating_equals_the_sums_of_all_rows(void **state) {
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    check_variant(*state, v, 0);
  }
}

/* New rows come last in the order of those that have neighbours. */
static void updating_with_neighbours(void **state) {
  static const size_t counts[] = {1, 8, ROWS + 5}; /* the last: more than the first rows are */
  for (size_t m = 0; m < LENGTH(counts); m++) {
    check_variant(*state, (variant){oat_approx_find("fitc"), 1}, counts[m]);
  }
}

/* With inputs and target that are scaled, the scaling stays: that is where a refit without iterations evaluates. */
static void the_scaling_stays(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "dic", "fitc", "pep", "fitc", "tvfe", "full", "full"};
  static const char *const means[] = {"mean", "fit", "linear", "0.3", "linear", "linear", "linear", "mean"};
  oatgp_data *all = wavy_data(s, ROWS, 3, 0.3, 32);
  for (size_t i = 0; i < ROWS; i++) {
    all->own_y[i] *= 37;
  }
  oatgp_data *first = slice(s, all, 0, FIRST), *rest = slice(s, all, FIRST, ROWS - FIRST);
  for (size_t i = 0; i < ROWS - FIRST; i++) {
    rest->own_x[i] = 10 * rest->x[i] + 3; /* far outside of what the model knows */
    rest->own_y[i] = 50 * rest->y[i];
  }
  oatgp_data *both = NULL;
  must(s, oatgp_data_join(s->ctx, first, rest, &both));
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    s->settings.mean = means[m];
    s->settings.knots = "9";
    s->settings.max_iter = 10;
    s->settings.neighbours = m == 4 ? 7 : 0;
    s->settings.order = "file";
    s->settings.average = 0; /* a refit draws again */
    oatgp_model *model = must_fit(s, first, NULL), *truth = NULL;
    s->settings.max_iter = 0;
    must(s, oatgp_refit(s->ctx, model, both, &s->settings, NULL, NULL, &truth));
    must(s, oatgp_update(s->ctx, model, rest));
    expect_near_model(s, model, truth, both, 1e-10);
    assert_memory_equal(info_of(model).input_scale, info_of(truth).input_scale, 3 * sizeof(double));
    oatgp_scores scores;
    must(s, oatgp_loo(s->ctx, model, both, NULL, &scores));
    assert_nats(info_of(truth).loo_mean_nlp, scores.mean_nlp, 1e-9);
    assert_string_equal(info_of(truth).mean_kind, means[m]);
    oatgp_model_free(model);
    oatgp_model_free(truth);
  }
  oatgp_data_free(all);
  oatgp_data_free(first);
  oatgp_data_free(rest);
  oatgp_data_free(both);
}

static void threads_and_files_change_no_bit(void **state) {
  scratch *s = *state;
  enum { MANY = 2500 };
  oatgp_data *old = wavy_data(s, 100, 2, 0.2, 33), *added = wavy_data(s, MANY, 2, 0.2, 34);
  s->settings.knots = "12";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, old, NULL);
  const char *const before = info_of(model).fingerprint;
  char kept[64];
  snprintf(kept, sizeof kept, "%s", before);
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_update(s->ctx, model, added));
  assert_string_not_equal(info_of(model).fingerprint, kept);
  double *first = must_predict(s, model, added);
  for (int threads = 2; threads < 9; threads += 3) {
    oatgp_model *loaded = NULL;
    must(s, oatgp_model_load(s->ctx, s->path, &loaded));
    oatgp_context_set_threads(s->ctx, threads);
    must(s, oatgp_update(s->ctx, loaded, added));
    double *other = must_predict(s, loaded, added);
    assert_memory_equal(first, other, 3 * MANY * sizeof *first);
    assert_true(info_of(loaded).objective == info_of(model).objective);
    free(other);
    oatgp_model_free(loaded);
  }
  free(first);
  oatgp_model_free(model);
  oatgp_data_free(old);
  oatgp_data_free(added);
}

/* A refit starts at the model and does not end lower; the kind of model stays the same. */
static void refitting_improves(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "fitc", "full"};
  oatgp_data *all = wavy_data(s, ROWS, 2, 0.2, 35), *first = slice(s, all, 0, FIRST);
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    s->settings.kernel = "matern32";
    s->settings.knots = "8";
    s->settings.max_iter = 4;
    s->settings.fix = "tau";
    s->settings.tau = 0.25;
    oatgp_model *model = must_fit(s, first, NULL), *start = NULL, *better = NULL;
    oatgp_settings_default(&s->settings);
    s->settings.max_iter = 0;
    must(s, oatgp_refit(s->ctx, model, all, &s->settings, NULL, NULL, &start));
    s->settings.max_iter = 60;
    must(s, oatgp_refit(s->ctx, model, all, &s->settings, NULL, NULL, &better));
    assert_near(info_of(start).sigma, info_of(model).sigma, 1e-14);
    assert_near(info_of(better).tau, 0.25, 1e-14);
    assert_true(info_of(better).objective > info_of(start).objective + 1e-3);
    assert_int_equal(info_of(better).knots, info_of(model).knots);
    assert_int_equal(info_of(better).n, ROWS);
    assert_string_equal(info_of(better).kernel, "matern32");
    assert_string_equal(info_of(better).approx, models[m]);
    oatgp_model_free(model);
    oatgp_model_free(start);
    oatgp_model_free(better);
  }
  oatgp_data_free(all);
  oatgp_data_free(first);
}

/* Fits on from the model with the default settings; returns how far a knot has moved. */
static double refit_and_compare(scratch *s, const oatgp_model *model, const oatgp_data *data, oatgp_model **again) {
  double before[2 * KNOTS], after[2 * KNOTS];
  oatgp_settings_default(&s->settings);
  must(s, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, again));
  must(s, oatgp_model_knots(s->ctx, model, before, NULL, NULL));
  must(s, oatgp_model_knots(s->ctx, *again, after, NULL, NULL));
  return largest_error(2 * KNOTS, before, after);
}

/* Knots that were kept where they are stay there, in the order in which they were given. */
static void fixed_knots_stay_fixed(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, 2, KNOTS, 36);
  oatgp_data *data = problem_data(s, &p, NOISE_PLAIN), *knots = data_of(s, p.k, p.d, p.z, NULL);
  s->settings.select = "fixed";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, data, knots), *again = NULL;
  assert_true(refit_and_compare(s, model, data, &again) == 0);
  assert_true(info_of(again).objective > info_of(model).objective);
  oatgp_model_free(model);
  oatgp_model_free(again);
  oatgp_data_free(data);
  oatgp_data_free(knots);
  free_problem(&p);
}

/* The neighbours are part of the model: settings without them do not change it. */
static void refitting_keeps_neighbours(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 40);
  s->settings.approx = "fitc";
  s->settings.neighbours = 6;
  s->settings.predict_neighbours = 11;
  s->settings.knots = "9";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, data, NULL), *same = NULL, *better = NULL;
  oatgp_settings_default(&s->settings);
  s->settings.max_iter = 0;
  must(s, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, &same));
  assert_int_equal(same->neighbours, 6);
  assert_int_equal(same->near, 11);
  expect_near_model(s, same, model, data, 1e-10);
  s->settings.max_iter = 60;
  must(s, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, &better));
  assert_int_equal(better->neighbours, 6);
  assert_true(info_of(better).objective > info_of(model).objective + 1e-3);
  oatgp_model_free(model);
  oatgp_model_free(same);
  oatgp_model_free(better);
  oatgp_data_free(data);
}

/* Those that were fixed and then refined move on. */
static void refined_knots_move(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 39);
  s->settings.select = "fixed";
  s->settings.refine = 1;
  s->settings.knots = "9";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, data, NULL), *again = NULL;
  assert_true(refit_and_compare(s, model, data, &again) > 1e-3);
  oatgp_model_free(model);
  oatgp_model_free(again);
  oatgp_data_free(data);
}

static void what_cannot_be_updated_is_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, 2, 0.2, 37), *narrow = wavy_data(s, 30, 1, 0.2, 38), *bare = slice(s, data, 0, 5);
  s->settings.knots = "5";
  s->settings.max_iter = 2;
  oatgp_model *model = must_fit(s, data, NULL), *out = NULL;
  free(bare->own_y);
  bare->own_y = NULL;
  bare->y = NULL;
  const double objective = info_of(model).objective;
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, model, bare), "have no target");
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, model, narrow), "the data have 1 inputs");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_update(s->ctx, model, NULL), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_refit(s->ctx, NULL, data, &s->settings, NULL, NULL, &out),
                  "the model must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_refit(s->ctx, model, bare, &s->settings, NULL, NULL, &out), "no target");
  expect_sentence(s, OATGP_DATA, oatgp_refit(s->ctx, model, narrow, &s->settings, NULL, NULL, &out),
                  "the data have 1 inputs");
  for (size_t i = 0; i < 30; i++) {
    data->own_y[i] = 1e200;
  }
  expect_sentence(s, OATGP_NUMERIC, oatgp_update(s->ctx, model, data), "could not be factorised");
  assert_true(info_of(model).objective == objective && info_of(model).n == 30);
  assert_int_equal(oatgp_update(NULL, model, data), OATGP_ARGUMENT);
  assert_int_equal(oatgp_refit(NULL, model, data, &s->settings, NULL, NULL, &out), OATGP_ARGUMENT);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(narrow);
  oatgp_data_free(bare);
}

static void parts_of_data(void **state) {
  scratch *s = *state;
  problem p = make_problem(10, 2, 3, 39);
  const size_t rows[] = {9, 0, 4}, beyond[] = {10};
  oatgp_data *data = problem_data(s, &p, NOISE_BOTH), *some = NULL, *both = NULL,
             *plain = problem_data(s, &p, NOISE_PLAIN), *narrow = data_of(s, p.n, 1, p.x, p.r),
             *named = problem_data(s, &p, NOISE_BOTH);
  const char *const here[] = {"a", "b"}, *const there[] = {"a", "c"};
  must(s, oatgp_data_select(s->ctx, data, 3, rows, &some));
  must(s, oatgp_data_join(s->ctx, some, data, &both));
  assert_int_equal(oatgp_data_rows(both), 13);
  for (size_t i = 0; i < 13; i++) {
    const size_t from = i < 3 ? rows[i] : i - 3;
    assert_true(both->x[i] == p.x[from] && both->x[i + 13] == p.x[from + p.n] && both->y[i] == p.r[from]);
    assert_true(both->weight[i] == 1 / p.noise_scale[from] && both->noise[i] == p.noise_add[from]);
  }
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_select(s->ctx, data, 1, beyond, &some), "row 10 does not exist");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_select(s->ctx, data, 0, rows, &some), "at least one row");
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, data, narrow, &both),
                  "2 inputs cannot be joined with data of 1");
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, data, plain, &both), "one has a target, weights");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_data_join(s->ctx, data, NULL, &both), "must not be NULL");
  must(s, oatgp_data_set_names(s->ctx, data, here, "y"));
  must(s, oatgp_data_set_names(s->ctx, named, there, "y"));
  expect_sentence(s, OATGP_DATA, oatgp_data_join(s->ctx, data, named, &both),
                  "input 2 is 'b' in one and 'c' in the other");
  oatgp_data *const all[] = {data, some, both, plain, narrow, named};
  for (size_t i = 0; i < LENGTH(all); i++) {
    oatgp_data_free(all[i]);
  }
  free_problem(&p);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(updating_equals_the_sums_of_all_rows),
      WITH_SCRATCH(updating_with_neighbours),
      WITH_SCRATCH(the_scaling_stays),
      WITH_SCRATCH(threads_and_files_change_no_bit),
      WITH_SCRATCH(refitting_improves),
      WITH_SCRATCH(fixed_knots_stay_fixed),
      WITH_SCRATCH(refined_knots_move),
      WITH_SCRATCH(refitting_keeps_neighbours),
      WITH_SCRATCH(what_cannot_be_updated_is_refused),
      WITH_SCRATCH(parts_of_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
