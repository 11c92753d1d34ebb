/* Models with neighbours as a user meets them: fits, the order of the rows, files, leave-one-out, checkpoints, and data
 * that are hard. */
#include "fits.h"
#include "model/model.h"
#include "tensors/tensors.h"
#include "util/threads.h"
#include "watch.h"

enum { ROWS = 60, NEIGHBOURS = 6 };

/* Fits that take no time. */
static void small_settings(scratch *s) {
  oatgp_settings_default(&s->settings);
  s->settings.approx = "fitc";
  s->settings.neighbours = NEIGHBOURS;
  s->settings.select = "simultaneous";
  s->settings.knots = "7";
  s->settings.max_iter = 8;
}

static oatgp_data *reordered(scratch *s, const oatgp_data *data, const size_t *rows) {
  oatgp_data *out = NULL;
  must(s, oatgp_data_select(s->ctx, data, data->n, rows, &out));
  return out;
}

/* A permutation of the rows. */
static void shuffle(size_t n, uint64_t seed, size_t *rows) {
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    const size_t j = oat_rng_below(&rng, i + 1);
    rows[i] = rows[j];
    rows[j] = i;
  }
}

/* ---- the order ------------------------------------------------------------------------------------------------- */

static double objective_of(scratch *s, const oatgp_data *data, int64_t seed) {
  s->settings.seed = seed;
  oatgp_data *knots = wavy_data(s, 7, 2, 0, 302);
  s->settings.max_iter = 0;
  oatgp_model *model = must_fit(s, data, knots);
  const double value = info_of(model).objective;
  oatgp_model_free(model);
  oatgp_data_free(knots);
  return value;
}

/* The random order depends on the values of the rows, so the order of the file does not matter, but the seed does. */
static void the_order_of_the_file_does_not_matter(void **state) {
  scratch *s = *state;
  size_t rows[ROWS];
  shuffle(ROWS, 4, rows);
  small_settings(s);
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 301), *other = reordered(s, data, rows);
  const double value = objective_of(s, data, 1);
  assert_nats(objective_of(s, other, 1), value, 1e-10);
  assert_true(fabs(objective_of(s, data, 2) - value) > 1e-6);
  s->settings.order = "file";
  const double in_file = objective_of(s, data, 1);
  assert_true(fabs(in_file - value) > 1e-6);
  assert_true(objective_of(s, data, 2) == in_file);
  assert_true(fabs(objective_of(s, other, 1) - in_file) > 1e-6);
  oatgp_data_free(data);
  oatgp_data_free(other);
}

/* ---- fits ------------------------------------------------------------------------------------------------------ */

/* Whatever finds the knots: the fit improves, and threads change no bit of it. */
static void every_selection_fits(void **state) {
  scratch *s = *state;
  static const char *const selections[] = {"simultaneous", "fixed", "oat-rs", "oat-bo", "oat-gain", "variance", "auto"};
  oatgp_data *data = wavy_data(s, 150, 2, 0.1, 303);
  for (size_t i = under_valgrind() ? 5 : 0; i < LENGTH(selections); i++) {
    small_settings(s);
    s->settings.select = selections[i];
    s->settings.knots = i == LENGTH(selections) - 1 ? "" : "5";
    s->settings.max_knots = 9;
    s->settings.threads = 1;
    oatgp_model *one = fit_sanely(s, data, NULL);
    s->settings.threads = 3;
    oatgp_model *three = must_fit(s, data, NULL);
    expect_same_model(s, data, one, three);
    assert_true(info_of(one).objective > -0.5 * 150 * (1 + log(2 * acos(-1)))); /* that of a constant of variance 1 */
    oatgp_model_free(one);
    oatgp_model_free(three);
  }
  oatgp_data_free(data);
}

/* Two inputs of which only one matters: the lengthscales part, the neighbours are found again, and where the fit ends
 * they are those of its lengthscales. So a model that is evaluated there has the same objective. */
static void neighbours_are_those_of_the_last_lengthscales(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 200, 3, 0.1, 304);
  for (size_t i = 0; i < data->n; i++) {
    data->own_y[i] = sin(3 * data->x[i]) + 0.05 * data->y[i];
  }
  small_settings(s);
  s->settings.max_iter = 60;
  s->settings.order = "file";
  oatgp_model *model = must_fit(s, data, NULL), *again = NULL;
  s->settings.max_iter = 0;
  must(s, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, &again));
  assert_true(info_of(model).lengthscales[1] > 3 * info_of(model).lengthscales[0]);
  print_message("the objective is %.6f, with neighbours found where it ends %.6f\n", info_of(model).objective,
                info_of(again).objective);
  assert_nats(info_of(again).objective, info_of(model).objective, 1e-7);
  oatgp_model_free(model);
  oatgp_model_free(again);
  oatgp_data_free(data);
}

/* ---- rounds of neighbours -------------------------------------------------------------------------------------- */

/* The target is the sum of two inputs with whole numbers, and noise; the others are groups. So many rows are
 * equally near, and a small change of the lengthscales changes the neighbours a lot. */
static oatgp_data *counted_data(scratch *s, size_t n, double noise, uint64_t seed) {
  enum { GROUPS = 6, INPUTS = GROUPS + 2 };
  static const size_t levels[GROUPS] = {2, 4, 7, 12, 2, 3};
  double *x = calloc(n * INPUTS, sizeof *x), *y = calloc(n, sizeof *y);
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    double *row = x + i * INPUTS;
    for (size_t j = 0; j < GROUPS; j++) {
      row[j] = (double)oat_rng_below(&rng, levels[j]);
    }
    row[GROUPS] = round(-20 * log(1 - oat_rng_uniform(&rng)));
    row[GROUPS + 1] = round(-100 * (1 + row[1]) * log(1 - oat_rng_uniform(&rng)));
    y[i] = (row[GROUPS] + row[GROUPS + 1]) / 100 + noise * oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, n, INPUTS, x, y);
  free(x);
  free(y);
  return data;
}

/* A round begins at the iteration at which the one before ended, with the neighbours of its own start. */
typedef struct rounds {
  int64_t iteration;        /* of the latest event */
  size_t count, idle, most; /* rounds; those since the best start, now and at most */
  double best, last;        /* objective at the best start and at the last one */
} rounds;

static int observe_rounds(void *user, const oatgp_event *event) {
  rounds *r = user;
  if (event->kind == OATGP_EVENT_START || (event->kind == OATGP_EVENT_STEP && event->iteration == r->iteration)) {
    const bool better = r->count == 0 || event->objective > r->best;
    r->count++;
    r->idle = better ? 0 : r->idle + 1;
    r->most = r->idle > r->most ? r->idle : r->most;
    r->best = better ? event->objective : r->best;
    r->last = event->objective;
  }
  r->iteration = event->iteration;
  return 0;
}

static void rounds_settings(scratch *s) {
  small_settings(s);
  s->settings.select = "fixed";
  s->settings.knots = "10";
  s->settings.neighbours = 8;
  s->settings.max_iter = 200;
  s->settings.prior = "none";
}

/* What the fit ends with, and its rounds. */
static oatgp_model_info fit_rounds(scratch *s, double noise, uint64_t seed, rounds *r) {
  oatgp_data *data = counted_data(s, 250, noise, seed);
  oatgp_model *model = NULL;
  rounds_settings(s);
  *r = (rounds){.iteration = -1};
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, observe_rounds, r, &model));
  const oatgp_model_info info = info_of(model);
  print_message(
      "%zu rounds, at most %zu idle, in %g iterations; the best start %.3f, the last one %.3f, the end %.3f\n",
      r->count, r->most, (double)info.iterations, r->best, r->last, info.objective);
  oatgp_model_free(model);
  oatgp_data_free(data);
  return info; /* its pointers are gone */
}

/* An optimisation may gain with neighbours of earlier lengthscales and lose with those of its own. The model is the
 * best one with its own neighbours, and rounds that lead nowhere have an end. */
static void the_best_start_is_not_lost(void **state) {
  scratch *s = *state;
  double fell = 0;
  size_t most = 0;
  if (under_valgrind()) {
    skip();
  }
  for (uint64_t seed = 1; seed <= 4; seed += 3) {
    rounds r;
    const oatgp_model_info info = fit_rounds(s, 0.02, seed, &r);
    assert_true(info.objective > r.best - 1e-3);
    assert_true(r.count < 50);
    fell = fmax(fell, r.best - r.last);
    most = r.most > most ? r.most : most;
  }
  assert_true(fell > 0.1); /* or there was nothing to see */
  assert_in_range(most, 2, 21);
}

/* With this much noise the optimisation comes to rest in each round, and the neighbours of one place lead to another
 * that is no better. */
static void places_that_lead_to_each_other_are_left(void **state) {
  scratch *s = *state;
  static const uint64_t seeds[] = {1, 2, 3, 5};
  int64_t iterations = 0;
  if (under_valgrind()) {
    skip();
  }
  for (size_t i = 0; i < LENGTH(seeds); i++) {
    rounds r;
    const oatgp_model_info info = fit_rounds(s, 0.3, seeds[i], &r);
    assert_true(info.objective > r.best - 1e-3);
    iterations += (int64_t)info.iterations;
  }
  assert_true(iterations < 450); /* 800 are allowed, and nearly all would be used up */
}

/* ---- predictions ----------------------------------------------------------------------------------------------- */

/* The mean alone, standard deviations, the diagonal of the covariance and scores are those of the predictions. */
static void predictions_agree(void **state) {
  scratch *s = *state;
  enum { POINTS = 40 };
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 305), *points = wavy_data(s, POINTS, 2, 0.2, 306);
  double mean[POINTS], sd[3 * POINTS], covariance[POINTS * POINTS];
  oatgp_scores scores;
  small_settings(s);
  s->settings.mean = "linear";
  oatgp_model *model = must_fit(s, data, NULL);
  double *all = must_predict(s, model, points), nlp = 0;
  const oatgp_prediction_sd out = {sd, sd + POINTS, sd + 2 * POINTS};
  must(s, oatgp_predict_mean(s->ctx, model, points, mean));
  must(s, oatgp_predict_sd(s->ctx, model, points, &out));
  must(s, oatgp_score(s->ctx, model, points, NULL, &scores));
  assert_memory_equal(mean, all, sizeof mean);
  for (size_t i = 0; i < POINTS; i++) {
    const double variance = all[2 * POINTS + i], error = points->y[i] - mean[i];
    assert_near(sd[POINTS + i] * sd[POINTS + i], all[POINTS + i], 1e-14);
    assert_near(sd[2 * POINTS + i] * sd[2 * POINTS + i], variance, 1e-14);
    nlp += (log(2 * acos(-1) * variance) + error * error / variance) / 2 / POINTS;
  }
  assert_near(scores.mean_nlp, nlp, 1e-12);
  must(s, oatgp_predict_covariance(s->ctx, model, points, covariance));
  for (size_t i = 0; i < POINTS * POINTS; i++) {
    assert_true(covariance[i] == covariance[i % POINTS * POINTS + i / POINTS]);
  }
  for (size_t i = 0; i < POINTS; i++) {
    assert_near(covariance[i * (POINTS + 1)], all[POINTS + i], 1e-12);
  }
  must(s, oatgp_predict_samples(s->ctx, model, points, POINTS, 1, covariance));
  free(all);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(points);
}

/* Two models take turns in one context, which keeps what one of them needs; threads and the number of points change no
 * bit. */
static void models_take_turns(void **state) {
  scratch *s = *state;
  enum { POINTS = 150 };
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 307), *other = wavy_data(s, ROWS, 2, 0.2, 308),
             *points = wavy_data(s, POINTS, 2, 0.2, 309);
  small_settings(s);
  oatgp_model *a = must_fit(s, data, NULL), *b = must_fit(s, other, NULL);
  double *of_a = must_predict(s, a, points), *of_b = must_predict(s, b, points);
  assert_true(memcmp(of_a, of_b, POINTS * sizeof *of_a) != 0);
  for (int threads = 1; threads < 6; threads += 2) {
    double *again = must_predict(s, a, points), *back = must_predict(s, b, points);
    assert_memory_equal(again, of_a, 3 * POINTS * sizeof *again);
    assert_memory_equal(back, of_b, 3 * POINTS * sizeof *back);
    free(again);
    free(back);
    oatgp_context_set_threads(s->ctx, threads);
  }
  for (size_t i = 0; i < POINTS; i++) {
    oatgp_data *one = NULL;
    must(s, oatgp_data_select(s->ctx, points, 1, &i, &one));
    double *alone = must_predict(s, a, one);
    assert_near(alone[0], of_a[i], 1e-12);
    assert_near(alone[1], of_a[POINTS + i], 1e-12);
    free(alone);
    oatgp_data_free(one);
  }
  must(s, oatgp_update(s->ctx, a, other)); /* what the context kept of it is no longer right */
  double *updated = must_predict(s, a, points);
  assert_true(memcmp(of_a, updated, POINTS * sizeof *of_a) != 0);
  oatgp_model_free(b);
  oatgp_model_free(a);
  free(of_a);
  free(of_b);
  free(updated);
  oatgp_data_free(data);
  oatgp_data_free(other);
  oatgp_data_free(points);
}

/* ---- leave-one-out --------------------------------------------------------------------------------------------- */

/* The model knows its rows and their order: the data may have them in any. Other rows are refused. */
static void rows_are_left_out_in_any_order(void **state) {
  scratch *s = *state;
  double first[4 * ROWS], second[4 * ROWS];
  size_t rows[ROWS], few[ROWS];
  shuffle(ROWS, 5, rows);
  shuffle(ROWS, 6, few);
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 310), *other = reordered(s, data, rows), *fewer = NULL, *strange = NULL;
  small_settings(s);
  s->settings.mean = "fit";
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_held_out a = {first, first + ROWS, first + 2 * ROWS, first + 3 * ROWS},
                       b = {second, second + ROWS, second + 2 * ROWS, second + 3 * ROWS};
  must(s, oatgp_loo(s->ctx, model, data, &a, NULL));
  must(s, oatgp_loo(s->ctx, model, other, &b, NULL));
  for (size_t i = 0; i < 4 * ROWS; i++) {
    assert_true(second[i] == first[rows[i % ROWS] + i / ROWS * ROWS]);
  }
  must(s, oatgp_data_select(s->ctx, data, ROWS - 1, few, &fewer));
  expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, fewer, NULL, NULL), "their number, inputs or targets differ");
  strange = reordered(s, data, few);
  strange->own_y[3] += 1e-9;
  expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, strange, NULL, NULL),
                  "their number, inputs or targets differ");
  few[0] = few[1]; /* one row twice in the place of another */
  oatgp_data *twice = reordered(s, data, few);
  expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, twice, NULL, NULL), "their number, inputs or targets differ");
  oatgp_data *const all[] = {data, other, fewer, strange, twice};
  for (size_t i = 0; i < LENGTH(all); i++) {
    oatgp_data_free(all[i]);
  }
  oatgp_model_free(model);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static oatgp_model *saved_model(scratch *s, const oatgp_data *data) {
  small_settings(s);
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_model_save(s->ctx, model, s->path));
  return model;
}

static void files_change_no_bit(void **state) {
  scratch *s = *state;
  static const char *const means[] = {"mean", "fit", "linear"};
  double weights[ROWS], variance[ROWS];
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 311), *more = wavy_data(s, 9, 2, 0.2, 312);
  for (size_t i = 0; i < ROWS; i++) {
    weights[i] = 0.5 + (double)(i % 4);
    variance[i] = 0.01 * (double)(i % 3);
  }
  for (size_t m = 0; m < LENGTH(means); m++) {
    oatgp_model *loaded = NULL;
    oatgp_scores before, after;
    if (m > 0) {
      must(s, oatgp_data_set_weights(s->ctx, data, weights));
    }
    if (m > 1) {
      must(s, oatgp_data_set_noise_variance(s->ctx, data, variance));
    }
    small_settings(s);
    s->settings.mean = means[m];
    oatgp_model *model = must_fit(s, data, NULL);
    must(s, oatgp_model_save(s->ctx, model, s->path));
    must(s, oatgp_model_load(s->ctx, s->path, &loaded));
    expect_same_model(s, data, model, loaded);
    must(s, oatgp_loo(s->ctx, model, data, NULL, &before));
    must(s, oatgp_loo(s->ctx, loaded, data, NULL, &after));
    assert_memory_equal(&before, &after, sizeof before);
    must(s, oatgp_update(s->ctx, model, more));
    must(s, oatgp_update(s->ctx, loaded, more));
    expect_same_model(s, data, model, loaded);
    oatgp_model_free(model);
    oatgp_model_free(loaded);
  }
  oatgp_data_free(data);
  oatgp_data_free(more);
}

static oat_tensor *tensor_of(oat_tensors *file, const char *name) {
  const oat_tensor *tensor = oat_tensors_find(file, name);
  assert_non_null(tensor);
  return &file->tensor[tensor - file->tensor];
}

static void set_number(oat_tensors *file, const char *name, double value) { tensor_of(file, name)->values[0] = value; }

static void rename_tensor(oat_tensors *file, const char *name) { tensor_of(file, name)->name[0] = 'X'; }

static void no_rows(oat_tensors *file) { rename_tensor(file, "rows"); }
static void no_targets(oat_tensors *file) { rename_tensor(file, "targets"); }
static void no_noise(oat_tensors *file) { rename_tensor(file, "noise_add"); }
static void no_near(oat_tensors *file) { rename_tensor(file, "predict_neighbours"); }
static void no_neighbours(oat_tensors *file) { rename_tensor(file, "neighbours"); }
static void fewer_rows(oat_tensors *file) {
  oat_tensor *rows = tensor_of(file, "rows");
  rows->shape[0]--;
  rows->size -= 2;
}
static void negative(oat_tensors *file) { set_number(file, "neighbours", -1); }
static void zero(oat_tensors *file) { set_number(file, "neighbours", 0); }
static void half(oat_tensors *file) { set_number(file, "neighbours", 1.5); }
static void endless(oat_tensors *file) { set_number(file, "predict_neighbours", INFINITY); }
static void endless_input(oat_tensors *file) { set_number(file, "rows", INFINITY); }
static void no_number(oat_tensors *file) { set_number(file, "targets", NAN); }
static void negative_noise(oat_tensors *file) { set_number(file, "noise_add", -1); }
static void no_weight(oat_tensors *file) { set_number(file, "noise_scale", -0.5); }

static void many_rows(oat_tensors *file) { set_number(file, "n", 1e15); }

/* vfe has no neighbours. */
static void other_approx(oat_tensors *file) {
  set_number(file, "alpha", 0);
  for (size_t i = 0; i < file->text_count; i++) {
    if (strcmp(file->text[i].key, "approx") == 0) {
      memcpy(file->text[i].value, "vfe", sizeof "vfe");
    }
  }
}

static void forged_files_are_refused(void **state) {
  scratch *s = *state;
  static const struct {
    void (*change)(oat_tensors *file);
    const char *piece;
  } cases[] = {
      {no_rows, "has no tensor 'rows'"},
      {no_targets, "has no tensor 'targets'"},
      {no_noise, "has no tensor 'noise_add'"},
      {no_near, "out of range"},
      {no_neighbours, "out of range"},
      {fewer_rows, "shape [59, 2] where [60, 2] is expected"},
      {negative, "out of range"},
      {zero, "out of range"},
      {half, "out of range"},
      {endless, "predict_neighbours"},
      {endless_input, "'rows' holds a number that is not finite"},
      {no_number, "'targets' holds a number that is not finite"},
      {negative_noise, "that must be positive is not"},
      {no_weight, "that must be positive is not"},
      {many_rows, "'rows'"},
      {other_approx, "out of range"},
  };
  oatgp_data *data = wavy_data(s, ROWS, 2, 0.2, 313);
  oatgp_model_free(saved_model(s, data));
  size_t size = 0;
  char *bytes = read_bytes_back(s, &size);
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_tensors file = {0};
    oatgp_model *model = NULL;
    write_bytes(s, bytes, size);
    must(s, oat_tensors_read(s->ctx, s->path, &file));
    cases[i].change(&file);
    must(s, oat_tensors_write(s->ctx, &file, s->path));
    expect_sentence(s, OATGP_FORMAT, oatgp_model_load(s->ctx, s->path, &model), cases[i].piece);
    assert_null(model);
    oat_tensors_clear(&file);
  }
  for (size_t cut = 1; cut < size; cut += 1 + size / 40) { /* a file that ends early */
    oatgp_model *model = NULL;
    write_bytes(s, bytes, size - cut);
    assert_int_equal(oatgp_model_load(s->ctx, s->path, &model), OATGP_FORMAT);
  }
  free(bytes);
  oatgp_data_free(data);
}

/* ---- checkpoints ----------------------------------------------------------------------------------------------- */

/* Stopped after so many events and resumed, the fit is the one that was never stopped. False if it ended before. */
static bool resumes_to(scratch *s, const oatgp_data *data, size_t events, const oatgp_model *whole) {
  watch w = {.stop_after = events};
  s->settings.checkpoint = s->path;
  oatgp_model *part = fit_watched(s, data, &w), *model = NULL;
  const bool stopped = info_of(part).stop == OATGP_STOP_USER;
  oatgp_model_free(part);
  s->settings.checkpoint = "";
  if (stopped) {
    s->settings.resume = s->path;
    must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model));
    s->settings.resume = "";
    expect_same_model(s, data, whole, model);
    oatgp_model_free(model);
  }
  return stopped;
}

static void resumed_fits_have_the_same_bits(void **state) {
  scratch *s = *state;
  static const char *const selections[] = {"simultaneous", "oat-rs", "fixed"};
  oatgp_data *data = wavy_data(s, 120, 3, 0.1, 314);
  for (size_t i = 0; i < data->n; i++) { /* so that lengthscales part and neighbours are found again */
    data->own_y[i] = sin(3 * data->x[i]) + 0.05 * data->y[i];
  }
  for (size_t k = 0; k < LENGTH(selections); k++) {
    small_settings(s);
    s->settings.select = selections[k];
    s->settings.max_iter = 40;
    s->settings.inner_iter = 5;
    s->settings.max_knots = 9;
    s->settings.restarts = 1;
    oatgp_model *whole = must_fit(s, data, NULL);
    for (size_t events = 2; events < 100 && resumes_to(s, data, events, whole); events += amount(19, 33, 40)) {
    }
    oatgp_model_free(whole);
  }
  oatgp_data_free(data);
}

/* Stopped in a round that begins worse than an earlier one, it remembers that one. */
static void resumed_rounds_have_the_same_bits(void **state) {
  scratch *s = *state;
  if (under_valgrind()) {
    skip();
  }
  oatgp_data *data = counted_data(s, 250, 0.02, 1);
  rounds_settings(s);
  oatgp_model *whole = must_fit(s, data, NULL);
  for (size_t events = 40; resumes_to(s, data, events, whole); events += 17) {
  }
  oatgp_model_free(whole);
  oatgp_data_free(data);
}

/* The same for an automatic fit that tries neighbours, and takes them: one that is stopped meanwhile has the better of
 * what there is, and goes on from before. */
static void resumed_trials_have_the_same_bits(void **state) {
  scratch *s = *state;
  if (under_valgrind()) {
    skip();
  }
  oatgp_data *data = wavy_data(s, 400, 2, 0.02, 318);
  for (size_t i = 0; i < data->n; i++) { /* rough: far more waves than knots */
    const double a = data->x[i], b = data->x[i + data->n];
    data->own_y[i] +=
        0.7 * sin(9 * a + 5 * b) + 0.5 * sin(17 * b - 7 * a) + 0.4 * sin(31 * a + 11 * b) + 0.3 * sin(23 * a - 29 * b);
  }
  oatgp_settings_default(&s->settings);
  s->settings.kernel = "matern32-ard";
  s->settings.subset_rows = 100;
  oatgp_model *whole = must_fit(s, data, NULL);
  assert_true(whole->neighbours > 0);
  assert_int_equal(info_of(whole).stop, OATGP_STOP_NEIGHBOURS);
  for (size_t events = 20; resumes_to(s, data, events, whole); events += amount(47, 190, 0)) {
  }
  oatgp_model_free(whole);
  oatgp_data_free(data);
}

/* ---- hard data ------------------------------------------------------------------------------------------------- */

static void check_hard(scratch *s, const oatgp_data *data) {
  oatgp_scores scores;
  oatgp_model *model = must_fit(s, data, NULL);
  double *all = must_predict(s, model, data);
  expect_sane_predictions(all, data->n);
  assert_true(isfinite(info_of(model).objective));
  must(s, oatgp_loo(s->ctx, model, data, NULL, &scores));
  assert_true(isfinite(scores.mean_nlp) && isfinite(scores.rmse));
  must(s, oatgp_update(s->ctx, model, data));
  free(all);
  all = must_predict(s, model, data);
  expect_sane_predictions(all, data->n);
  free(all);
  oatgp_model_free(model);
}

/* Changes of wavy data. */
static void as_they_are(oatgp_data *data) { (void)data; }
static void in_pairs(oatgp_data *data) {
  for (size_t i = 1; i + 1 < data->n; i += 2) { /* two rows remain two */
    data->own_x[i] = data->own_x[i - 1];
    data->own_x[i + data->n] = data->own_x[i - 1 + data->n];
  }
}
static void all_equal_but_one(oatgp_data *data) {
  for (size_t i = 0; i < 2 * data->n; i++) {
    data->own_x[i] = i == 0 ? 2 : 1;
  }
}
static void constant_input(oatgp_data *data) {
  for (size_t i = 0; i < data->n; i++) {
    data->own_x[i] = 3;
  }
}
static void far_apart(oatgp_data *data) {
  for (size_t i = 0; i < data->n; i++) {
    data->own_x[i] += 1e6 * (double)i;
  }
}
static void constant_target(oatgp_data *data) {
  for (size_t i = 0; i < data->n; i++) {
    data->own_y[i] = -4;
  }
}
static void huge_target(oatgp_data *data) {
  for (size_t i = 0; i < data->n; i++) {
    data->own_y[i] *= 1e150;
  }
}

static void hard_data(void **state) {
  scratch *s = *state;
  static void (*const changes[])(oatgp_data * data) = {as_they_are, in_pairs,        all_equal_but_one, constant_input,
                                                       far_apart,   constant_target, huge_target};
  static const size_t sizes[] = {1, 2, 3, 41};
  for (size_t c = 0; c < LENGTH(changes); c++) {
    for (size_t n = 0; n < LENGTH(sizes); n++) {
      for (size_t neighbours = 1; neighbours < 100; neighbours += amount(49, 98, 98)) {
        oatgp_data *data = wavy_data(s, sizes[n], 2, 0.1, 315);
        changes[c](data);
        small_settings(s);
        s->settings.neighbours = (int64_t)neighbours;
        s->settings.select = n % 2 == 0 ? "simultaneous" : "auto";
        s->settings.knots = n % 2 == 0 ? "3" : "";
        if (sizes[n] > 1) {
          check_hard(s, data);
        } else {
          oatgp_model *model = NULL;
          expect_sentence(s, OATGP_DATA, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model),
                          "no input varies over the 1 row:");
        }
        oatgp_data_free(data);
      }
    }
  }
}

/* Hardly any noise, given and fitted. */
static void hardly_any_noise(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 100, 2, 0, 316);
  in_pairs(data);
  for (size_t i = 1; i < data->n; i += 2) {
    data->own_y[i] = data->own_y[i - 1];
  }
  for (int fixed = 0; fixed < 2; fixed++) {
    small_settings(s);
    s->settings.neighbours = 20;
    s->settings.tau = 1e-8;
    s->settings.fix = fixed ? "tau" : "";
    check_hard(s, data);
  }
  oatgp_data_free(data);
}

/* Whatever the time, there is a model. */
static void time_limits(void **state) {
  scratch *s = *state;
  static const double limits[] = {1e-6, 0.05};
  oatgp_data *data = wavy_data(s, 400, 2, 0.1, 317);
  for (size_t i = 0; i < 2 * LENGTH(limits); i++) {
    small_settings(s);
    s->settings.select = i < 2 ? "simultaneous" : "auto";
    s->settings.knots = i < 2 ? "20" : "";
    s->settings.max_iter = 1000;
    s->settings.obj_tol = 0;
    s->settings.time_limit = limits[i % 2];
    oatgp_model *model = fit_sanely(s, data, NULL);
    assert_int_equal(model->neighbours, NEIGHBOURS);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(the_order_of_the_file_does_not_matter),
      WITH_SCRATCH(every_selection_fits),
      WITH_SCRATCH(neighbours_are_those_of_the_last_lengthscales),
      WITH_SCRATCH(the_best_start_is_not_lost),
      WITH_SCRATCH(places_that_lead_to_each_other_are_left),
      WITH_SCRATCH(predictions_agree),
      WITH_SCRATCH(models_take_turns),
      WITH_SCRATCH(rows_are_left_out_in_any_order),
      WITH_SCRATCH(files_change_no_bit),
      WITH_SCRATCH(forged_files_are_refused),
      WITH_SCRATCH(resumed_fits_have_the_same_bits),
      WITH_SCRATCH(resumed_rounds_have_the_same_bits),
      WITH_SCRATCH(resumed_trials_have_the_same_bits),
      WITH_SCRATCH(hard_data),
      WITH_SCRATCH(hardly_any_noise),
      WITH_SCRATCH(time_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
