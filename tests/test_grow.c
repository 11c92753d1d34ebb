/* The full GP with more rows and with fewer, copies of models, and predictions as if rows were known. */
#include "fixed_fits.h"

#include "model/model.h"
#include "util/threads.h"

enum { ROWS = 60, INPUTS = 2 };

static oatgp_data *choose(scratch *s, const oatgp_data *data, size_t count, const size_t *rows) {
  oatgp_data *out = NULL;
  must(s, oatgp_data_select(s->ctx, data, count, rows, &out));
  return out;
}

static oatgp_data *slice(scratch *s, const oatgp_data *data, size_t first, size_t count) {
  size_t rows[ROWS];
  for (size_t i = 0; i < count; i++) {
    rows[i] = first + i;
  }
  return choose(s, data, count, rows);
}

static void expect_same_gp(scratch *s, const oatgp_model *a, const oatgp_model *b, const oatgp_data *at,
                           double tolerance) {
  const size_t n = oatgp_data_rows(at);
  double *mine = must_predict(s, a, at), *truth = must_predict(s, b, at);
  assert_near(largest_error(3 * n, mine, truth), 0, tolerance);
  assert_nats(info_of(a).objective, info_of(b).objective, 1e-9);
  assert_int_equal(info_of(a).n, info_of(b).n);
  free(mine);
  free(truth);
}

/* The full GP of a kernel with everything fixed. */
static oatgp_model *fixed_full(scratch *s, const oat_kernel *kernel, const problem *p, const oatgp_data *data,
                               size_t basis) {
  char text[256];
  fix_everything(s, kernel, (variant){oat_approx_find("full"), 0}, p, text);
  s->settings.mean = mean_for(basis);
  return must_fit(s, data, NULL);
}

/* ---- rows out -------------------------------------------------------------------------------------------------- */

/* One, the first and the last, several in any order, and more than a factor is changed for. */
static void removing_equals_never_having_seen(void **state) {
  scratch *s = *state;
  static const size_t some[][3] = {{17}, {0, ROWS - 1}, {30, 2, 31}}, counts[] = {1, 2, 3, 25};
  problem p = make_problem(ROWS, INPUTS, 3, 61);
  oatgp_data *all = problem_data(s, &p, NOISE_BOTH);
  for (size_t c = 0; c < LENGTH(counts); c++) {
    for (size_t basis = 0; basis <= 1 + INPUTS; basis += basis == 0 ? 1 : INPUTS) {
      size_t gone[ROWS], left[ROWS], kept = 0;
      bool is_gone[ROWS] = {false};
      for (size_t i = 0; i < counts[c]; i++) {
        gone[i] = c < LENGTH(some) ? some[c][i] : 2 * i + 1;
        is_gone[gone[i]] = true;
      }
      for (size_t i = 0; i < ROWS; i++) {
        left[kept] = i;
        kept += !is_gone[i];
      }
      oatgp_data *rest = choose(s, all, kept, left);
      oatgp_model *model = fixed_full(s, oat_kernel_find("matern52-ard"), &p, all, basis);
      oatgp_model *truth = fixed_full(s, oat_kernel_find("matern52-ard"), &p, rest, basis);
      must(s, oatgp_model_remove_rows(s->ctx, model, counts[c], gone));
      expect_same_gp(s, model, truth, all, 1e-10);
      assert_true(isnan(info_of(model).loo_mean_nlp));
      oatgp_scores mine, others; /* the model knows its rows, and in which order they are */
      must(s, oatgp_loo(s->ctx, model, rest, NULL, &mine));
      must(s, oatgp_loo(s->ctx, truth, rest, NULL, &others));
      assert_nats(mine.mean_nlp, others.mean_nlp, 1e-9);
      oatgp_model_free(model);
      oatgp_model_free(truth);
      oatgp_data_free(rest);
    }
  }
  oatgp_data_free(all);
  free_problem(&p);
}

/* In and out again, many times, with a prior variance that is not the same everywhere and a jitter that is a share of
 * it. */
static void a_window_moves_on(void **state) {
  scratch *s = *state;
  enum { WIDTH = 20 };
  problem p = make_problem(ROWS, INPUTS, 3, 62);
  oat_expression *e = read_expression("se(x1, x2) + linear(x2)", INPUTS);
  const oat_kernel kernel = oat_kernel_of_expression(e);
  oat_rng rng;
  oat_rng_seed(&rng, 62);
  random_theta(&rng, e, p.theta[OAT_TAU], p.theta);
  oatgp_data *all = problem_data(s, &p, NOISE_SCALED), *first = slice(s, all, 0, WIDTH),
             *last = slice(s, all, ROWS - WIDTH, WIDTH);
  for (int jitter = 0; jitter < 2; jitter++) {
    char text[256];
    fix_everything(s, &kernel, (variant){oat_approx_find("full"), 0}, &p, text);
    s->settings.jitter = jitter * 1e-3;
    s->settings.mean = "fit";
    oatgp_model *model = must_fit(s, first, NULL), *truth = must_fit(s, last, NULL);
    for (size_t i = WIDTH; i < ROWS; i++) {
      oatgp_data *one = slice(s, all, i, 1);
      must(s, oatgp_update(s->ctx, model, one));
      must(s, oatgp_model_remove_rows(s->ctx, model, 1, &(size_t){0}));
      oatgp_data_free(one);
    }
    expect_same_gp(s, model, truth, all, 1e-10);
    oatgp_model_free(model);
    oatgp_model_free(truth);
  }
  oat_expression_free(e);
  oatgp_data_free(all);
  oatgp_data_free(first);
  oatgp_data_free(last);
  free_problem(&p);
}

/* ---- files, copies, levels ------------------------------------------------------------------------------------- */

/* Saved, loaded and saved again: the same bytes. Found by the fuzz target of models: a copy had an empty record. */
static void expect_same_bytes(scratch *s, const oatgp_model *model, const oatgp_model *loaded) {
  unsigned char *first = NULL, *second = NULL;
  size_t size = 0, again = 0;
  must(s, oatgp_model_to_bytes(s->ctx, model, &first, &size));
  must(s, oatgp_model_to_bytes(s->ctx, loaded, &second, &again));
  assert_int_equal(size, again);
  assert_memory_equal(first, second, size);
  oatgp_bytes_free(first);
  oatgp_bytes_free(second);
}

static void files_and_copies(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"full", "vfe"};
  oatgp_data *all = wavy_data(s, ROWS, INPUTS, 0.2, 63), *first = slice(s, all, 0, 40), *rest = slice(s, all, 40, 20);
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    s->settings.mean = "linear";
    s->settings.knots = "8";
    s->settings.max_iter = 5;
    oatgp_model *model = must_fit(s, first, NULL), *copy = NULL, *loaded = NULL;
    must(s, oatgp_model_copy(s->ctx, model, &copy));
    expect_same_model(s, all, copy, model);
    must(s, oatgp_update(s->ctx, copy, rest));
    assert_int_equal(info_of(model).n, 40);
    assert_string_not_equal(info_of(copy).fingerprint, info_of(model).fingerprint);
    assert_string_equal(info_of(copy).settings, info_of(model).settings);
    must(s, oatgp_model_save(s->ctx, copy, s->path));
    must(s, oatgp_model_load(s->ctx, s->path, &loaded));
    expect_same_gp(s, loaded, copy, all, 1e-10);
    expect_same_bytes(s, copy, loaded);
    oatgp_model_free(model); /* a copy stands alone */
    double *again = must_predict(s, copy, all);
    free(again);
    oatgp_model_free(copy);
    oatgp_model_free(loaded);
  }
  oatgp_data_free(all);
  oatgp_data_free(first);
  oatgp_data_free(rest);
}

static void new_levels(void **state) {
  scratch *s = *state;
  static const char *const old[] = {"red", "blue"}, *const added[] = {"green", "red"};
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.1, 64), *first = slice(s, data, 0, 40),
             *rest = slice(s, data, 40, 20);
  oatgp_data *const both[] = {first, rest};
  for (size_t k = 0; k < 2; k++) {
    const size_t n = oatgp_data_rows(both[k]);
    for (size_t i = 0; i < n; i++) {
      both[k]->own_x[i + n] = (double)(i % 2);
    }
    must(s, oatgp_data_set_levels(s->ctx, both[k], 1, 2, k == 0 ? old : added));
  }
  s->settings.approx = "full";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, first, NULL);
  assert_int_equal(oatgp_model_level_count(model, 1), 2);
  must(s, oatgp_update(s->ctx, model, rest));
  assert_int_equal(oatgp_model_level_count(model, 1), 3);
  assert_string_equal(oatgp_model_level(model, 1, 2), "green");
  double mean[20];
  s->said[0] = '\0';
  must(s, oatgp_predict_mean(s->ctx, model, rest, mean)); /* no level is new any more */
  assert_string_equal(s->said, "");
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(first);
  oatgp_data_free(rest);
}

static void threads_change_no_bit(void **state) {
  scratch *s = *state;
  enum { OLD = 600, NEW = 300 };
  oatgp_data *old = wavy_data(s, OLD, INPUTS, 0.2, 65), *added = wavy_data(s, NEW, INPUTS, 0.2, 66);
  s->settings.approx = "full";
  s->settings.select = "fixed";
  s->settings.mean = "fit";
  s->settings.max_iter = 0;
  oatgp_model *model = must_fit(s, old, NULL);
  double *first = NULL;
  for (int threads = 1; threads < 8; threads += 3) {
    oatgp_model *copy = NULL;
    oatgp_context_set_threads(s->ctx, threads);
    must(s, oatgp_model_copy(s->ctx, model, &copy));
    must(s, oatgp_update(s->ctx, copy, added));
    must(s, oatgp_model_remove_rows(s->ctx, copy, 2, (const size_t[]){5, 700}));
    double *found = must_predict(s, copy, added);
    if (first != NULL) {
      assert_memory_equal(first, found, 3 * NEW * sizeof *first);
      free(found);
    } else {
      first = found;
    }
    oatgp_model_free(copy);
  }
  free(first);
  oatgp_model_free(model);
  oatgp_data_free(old);
  oatgp_data_free(added);
}

/* ---- predictions as if rows were known ------------------------------------------------------------------------- */

/* Of the full GP it is the update with those rows, where the mean does not change. */
static void given_is_an_update(void **state) {
  scratch *s = *state;
  problem p = make_problem(ROWS, INPUTS, 3, 67);
  oatgp_data *all = problem_data(s, &p, NOISE_BOTH), *first = slice(s, all, 0, 40), *rest = slice(s, all, 40, 20);
  oatgp_model *model = fixed_full(s, oat_kernel_find("rq-ard"), &p, first, 0);
  double mean[ROWS], latent[ROWS], sd[ROWS], only[ROWS];
  must(s, oatgp_predict_given(s->ctx, model, all, rest, &(oatgp_prediction_sd){mean, latent, sd}));
  must(s, oatgp_predict_given(s->ctx, model, all, rest, &(oatgp_prediction_sd){only, NULL, NULL}));
  assert_memory_equal(mean, only, sizeof mean);
  must(s, oatgp_update(s->ctx, model, rest));
  double true_mean[ROWS], true_latent[ROWS], true_sd[ROWS];
  must(s, oatgp_predict_sd(s->ctx, model, all, &(oatgp_prediction_sd){true_mean, true_latent, true_sd}));
  assert_near(largest_error(ROWS, mean, true_mean), 0, 1e-10);
  assert_near(largest_error(ROWS, latent, true_latent), 0, 1e-10);
  assert_near(largest_error(ROWS, sd, true_sd), 0, 1e-10);
  oatgp_model_free(model);
  oatgp_data_free(all);
  oatgp_data_free(first);
  oatgp_data_free(rest);
  free_problem(&p);
}

/* For any model, it follows from the joint posterior: one row h, in closed form. */
static void given_follows_from_the_joint_posterior(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.3, 68), *at = wavy_data(s, 9, INPUTS, 0.3, 69), *one = NULL,
             *both = NULL;
  must(s, oatgp_data_select(s->ctx, data, 1, &(size_t){7}, &one));
  one->own_x[0] += 0.03;
  one->own_y[0] = 3;
  must(s, oatgp_data_join(s->ctx, at, one, &both));
  s->settings.average = 0;
  variant v;
  for (size_t m = 0; variant_at(m, &v); m++) {
    s->settings.approx = v.approx->name;
    s->settings.alpha = v.approx->power ? v.alpha : 0.5;
    s->settings.knots = "10";
    s->settings.mean = "fit";
    s->settings.max_iter = 4;
    oatgp_model *model = must_fit(s, data, NULL);
    double c[100], mean[10], sd[10], found[9], spread[9];
    const double tau = info_of(model).tau;
    must(s, oatgp_predict_covariance(s->ctx, model, both, c));
    must(s, oatgp_predict_sd(s->ctx, model, both, &(oatgp_prediction_sd){mean, sd, NULL}));
    must(s, oatgp_predict_given(s->ctx, model, at, one, &(oatgp_prediction_sd){found, spread, NULL}));
    for (size_t i = 0; i < 9; i++) {
      const double pull = c[i * 10 + 9] / (c[99] + tau * tau);
      assert_near(found[i], mean[i] + pull * (3 - mean[9]), 1e-9);
      assert_near(spread[i] * spread[i], sd[i] * sd[i] - pull * c[i * 10 + 9], 1e-9);
    }
    oatgp_model_free(model);
  }
  oatgp_data *const used[] = {data, at, one, both};
  for (size_t i = 0; i < LENGTH(used); i++) {
    oatgp_data_free(used[i]);
  }
}

/* Answers that are not Gaussian have sites, which depend on all rows. */
static void other_likelihoods_are_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.2, 72);
  for (size_t i = 0; i < ROWS; i++) {
    data->own_y[i] = floor(3 + data->y[i]);
  }
  s->settings.likelihood = "poisson";
  s->settings.approx = "full";
  s->settings.max_iter = 2;
  oatgp_model *model = must_fit(s, data, NULL), *copy = NULL;
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, model, data),
                  "the full GP with likelihood poisson cannot add or remove rows");
  expect_sentence(s, OATGP_DATA, oatgp_model_remove_rows(s->ctx, model, 1, &(size_t){0}),
                  "with likelihood poisson cannot");
  expect_sentence(s, OATGP_DATA,
                  oatgp_predict_given(s->ctx, model, data, data, &(oatgp_prediction_sd){NULL, NULL, NULL}),
                  "a model with likelihood poisson");
  must(s, oatgp_model_copy(s->ctx, model, &copy));
  expect_same_model(s, data, copy, model);
  oatgp_model_free(model);
  oatgp_model_free(copy);
  oatgp_data_free(data);
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static void what_is_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, ROWS, INPUTS, 0.2, 70), *bare = slice(s, data, 0, 5),
             *narrow = wavy_data(s, 5, 1, 0.2, 71);
  s->settings.approx = "full";
  s->settings.max_iter = 2;
  oatgp_model *full = must_fit(s, data, NULL), *copy = NULL;
  s->settings.approx = "fitc";
  s->settings.knots = "5";
  s->settings.neighbours = 4;
  oatgp_model *near = must_fit(s, data, NULL);
  const size_t twice[] = {3, 3}, beyond[] = {ROWS}, all[ROWS] = {0};
  const oatgp_prediction_sd out = {NULL, NULL, NULL};
  const double objective = info_of(full).objective;
  free(bare->own_y);
  bare->own_y = NULL;
  bare->y = NULL;
  expect_sentence(s, OATGP_ARGUMENT, oatgp_model_remove_rows(s->ctx, full, 2, twice), "row 3 is given twice");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_model_remove_rows(s->ctx, full, 1, beyond),
                  "row 60 does not exist; the model has rows 0 to 59");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_model_remove_rows(s->ctx, full, ROWS, all), "at least one must stay");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_model_remove_rows(s->ctx, full, 1, NULL), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_model_remove_rows(s->ctx, near, 1, twice),
                  "cannot be removed from a sparse model");
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, full, narrow), "the data have 1 inputs");
  expect_sentence(s, OATGP_DATA, oatgp_predict_given(s->ctx, full, data, bare, &out), "the given rows have no target");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_given(s->ctx, full, data, NULL, &out), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_predict_given(s->ctx, near, data, data, &out), "a model with neighbours");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_model_copy(s->ctx, NULL, &copy), "must not be NULL");
  for (size_t i = 0; i < ROWS; i++) {
    data->own_y[i] = 1e200;
  }
  expect_sentence(s, OATGP_NUMERIC, oatgp_update(s->ctx, full, data), "could not be factorised");
  assert_true(info_of(full).objective == objective && info_of(full).n == ROWS);
  assert_int_equal(oatgp_model_remove_rows(NULL, full, 1, twice), OATGP_ARGUMENT);
  assert_int_equal(oatgp_predict_given(NULL, full, data, data, &out), OATGP_ARGUMENT);
  assert_int_equal(oatgp_model_copy(NULL, full, &copy), OATGP_ARGUMENT);
  oatgp_model_free(full);
  oatgp_model_free(near);
  oatgp_data_free(data);
  oatgp_data_free(bare);
  oatgp_data_free(narrow);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(removing_equals_never_having_seen),
      WITH_SCRATCH(a_window_moves_on),
      WITH_SCRATCH(files_and_copies),
      WITH_SCRATCH(new_levels),
      WITH_SCRATCH(threads_change_no_bit),
      WITH_SCRATCH(given_is_an_update),
      WITH_SCRATCH(given_follows_from_the_joint_posterior),
      WITH_SCRATCH(other_likelihoods_are_refused),
      WITH_SCRATCH(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
