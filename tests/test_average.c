/* Predictions averaged over draws of the parameters: against separate models at these draws, in files, for any number
 * of threads, after updates; and refusals. */
#include "fits.h"

#include "predict/predict.h"
#include "util/threads.h"

enum { ROWS = 40, INPUTS = 2, DRAWS = 5, TEST = 30 };

/* What is averaged: the model, its mean, and whether rows have weights and known noise. */
typedef struct variant {
  const char *approx, *mean;
  bool noise;
} variant;

static const variant variants[] = {{"full", "mean", false},
                                   {"full", "linear", true},
                                   {"vfe", "mean", false},
                                   {"vfe", "fit", true},
                                   {"fitc", "mean", false}};

static oatgp_data *make_rows(scratch *s, size_t n, uint64_t seed, bool noise) {
  oatgp_data *data = wavy_data(s, n, INPUTS, 0.3, seed);
  double weight[ROWS + TEST], variance[ROWS + TEST];
  assert_true(n <= LENGTH(weight));
  for (size_t i = 0; i < n; i++) {
    weight[i] = 1 + (double)(i % 3);
    variance[i] = 0.01 * (double)(i % 5);
  }
  if (noise) {
    must(s, oatgp_data_set_weights(s->ctx, data, weight));
    must(s, oatgp_data_set_noise_variance(s->ctx, data, variance));
  }
  return data;
}

static oatgp_model *fit_averaged(scratch *s, const oatgp_data *data, const variant *v) {
  s->settings.approx = v->approx;
  s->settings.mean = v->mean;
  s->settings.prior = "weak";
  s->settings.select = "fixed";
  s->settings.knots = strcmp(v->approx, "full") == 0 ? "" : "kmeans:10";
  s->settings.average = DRAWS;
  return must_fit(s, data, NULL);
}

/* The model of the same rows with the parameters of one draw, by a fit in which all is fixed. */
static oatgp_model *make_alone(scratch *s, const oatgp_data *data, const oatgp_model *model, size_t draw) {
  const oatgp_settings before = s->settings;
  const oatgp_model_info whole = info_of(model), at = info_of(oatgp_model_draw(model, draw, NULL));
  double place[ROWS * INPUTS];
  oatgp_data *knots = NULL;
  char text[64];
  snprintf(text, sizeof text, "%.17g,%.17g", at.lengthscales[0], at.lengthscales[1]);
  s->settings.average = 0;
  s->settings.prior = "none";
  s->settings.fix = "sigma,tau,lengthscale";
  s->settings.sigma = at.sigma;
  s->settings.tau = at.tau;
  s->settings.lengthscale = text;
  s->settings.max_iter = 0;
  if (whole.knots > 0) {
    must(s, oatgp_model_knots(s->ctx, model, place, NULL, NULL));
    knots = make_data(s, whole.knots, INPUTS, place, NULL);
    s->settings.jitter = whole.jitter;
  }
  oatgp_model *alone = must_fit(s, data, knots);
  oatgp_data_free(knots);
  s->settings = before;
  return alone;
}

static double density(double y, double mean, double sd) {
  return exp(-0.5 * (y - mean) * (y - mean) / (sd * sd)) / (sd * sqrt(2 * acos(-1)));
}

static double below(double y, double mean, double sd) { return 0.5 * erfc((mean - y) / sd / sqrt(2)); }

/* Predictions of the test rows, by the average and by the separate models. */
typedef struct truth {
  double weight[DRAWS], *one[DRAWS]; /* must_predict of each */
  double mean[TEST], latent[TEST], variance[TEST];
} truth;

static truth find_truth(scratch *s, const oatgp_data *data, const oatgp_data *test, const oatgp_model *model) {
  truth t = {0};
  double sum = 0;
  for (size_t m = 0; m < DRAWS; m++) {
    assert_non_null(oatgp_model_draw(model, m, &t.weight[m]));
    sum += t.weight[m];
    oatgp_model *alone = make_alone(s, data, model, m);
    t.one[m] = must_predict(s, alone, test);
    oatgp_model_free(alone);
  }
  assert_near(sum, 1, 1e-14);
  assert_null(oatgp_model_draw(model, DRAWS, NULL));
  for (size_t i = 0; i < TEST; i++) {
    double square = 0;
    for (size_t m = 0; m < DRAWS; m++) {
      t.mean[i] += t.weight[m] * t.one[m][i];
      square += t.weight[m] * t.one[m][i] * t.one[m][i];
      t.latent[i] += t.weight[m] * t.one[m][TEST + i];
      t.variance[i] += t.weight[m] * t.one[m][2 * TEST + i];
    }
    t.latent[i] += square - t.mean[i] * t.mean[i];
    t.variance[i] += square - t.mean[i] * t.mean[i];
  }
  return t;
}

static void free_truth(truth *t) {
  for (size_t m = 0; m < DRAWS; m++) {
    free(t->one[m]);
  }
}

/* The share of the mixture below a value of row i, of f or of y. */
static double share_below(const truth *t, size_t i, double y, bool latent) {
  double share = 0;
  for (size_t m = 0; m < DRAWS; m++) {
    share += t->weight[m] * below(y, t->one[m][i], sqrt(t->one[m][(latent ? (size_t)TEST : (size_t)2 * TEST) + i]));
  }
  return share;
}

static void expect_intervals(scratch *s, const oatgp_model *model, const oatgp_data *test, const truth *t) {
  double lower[TEST], upper[TEST], answer[2][TEST], mean[TEST], latent[TEST], sd[TEST];
  for (int of_f = 0; of_f < 2; of_f++) {
    must(s, oatgp_predict_interval(s->ctx, model, test,
                                   &(oatgp_prediction_interval){mean, latent, sd, lower, upper, 0.9, of_f}));
    for (size_t i = 0; i < TEST; i++) {
      assert_near(share_below(t, i, lower[i], of_f), 0.05, 1e-9);
      assert_near(share_below(t, i, upper[i], of_f), 0.95, 1e-9);
      assert_near(mean[i], t->mean[i], 1e-10);
      assert_near(latent[i] * latent[i], t->latent[i], 1e-10);
      assert_near(sd[i] * sd[i], t->variance[i], 1e-10);
    }
  }
  must(s, oatgp_predict_interval(s->ctx, model, test,
                                 &(oatgp_prediction_interval){.lower = lower, .upper = upper, .interval = 1 - 1e-12}));
  must(s, oatgp_predict_answers(s->ctx, model, test,
                                &(oatgp_answers){.lower = answer[0], .upper = answer[1], .interval = 1 - 1e-12}));
  assert_memory_equal(lower, answer[0], sizeof lower);
  assert_memory_equal(upper, answer[1], sizeof upper);
  assert_near(share_below(t, 0, lower[0], false) / 5e-13, 1, 1e-3);
}

static void expect_scores(scratch *s, const oatgp_model *model, const oatgp_data *test, const truth *t) {
  oatgp_scores scores;
  double nlp = 0, inside = 0, square = 0;
  must(s, oatgp_score(s->ctx, model, test, NULL, &scores));
  for (size_t i = 0; i < TEST; i++) {
    double p = 0;
    for (size_t m = 0; m < DRAWS; m++) {
      p += t->weight[m] * density(test->y[i], t->one[m][i], sqrt(t->one[m][2 * TEST + i]));
    }
    nlp -= log(p) / TEST;
    inside += fabs(share_below(t, i, test->y[i], false) - 0.5) <= 0.4 ? 1.0 / TEST : 0;
    square += (test->y[i] - t->mean[i]) * (test->y[i] - t->mean[i]) / TEST;
  }
  assert_near(scores.mean_nlp, nlp, 1e-10);
  assert_near(scores.coverage80, inside, 1e-12);
  assert_near(scores.rmse, sqrt(square), 1e-10);
  assert_true(isnan(scores.deviance) && isnan(scores.accuracy) && isnan(scores.auc));
}

static void mixture_of_separate_models(void **state) {
  scratch *s = *state;
  for (size_t v = 0; v < LENGTH(variants); v++) {
    oatgp_data *data = make_rows(s, ROWS, 3, variants[v].noise), *test = make_rows(s, TEST, 4, variants[v].noise);
    oatgp_model *model = fit_averaged(s, data, &variants[v]);
    assert_int_equal(info_of(model).average, DRAWS);
    truth t = find_truth(s, data, test, model);
    double *all = must_predict(s, model, test), mean[TEST];
    must(s, oatgp_predict_mean(s->ctx, model, test, mean));
    for (size_t i = 0; i < TEST; i++) {
      assert_near(all[i], t.mean[i], 1e-10);
      assert_near(mean[i], t.mean[i], 1e-10);
      assert_near(all[TEST + i], t.latent[i], 1e-10);
      assert_near(all[2 * TEST + i], t.variance[i], 1e-10);
    }
    expect_intervals(s, model, test, &t);
    expect_scores(s, model, test, &t);
    free(all);
    free_truth(&t);
    oatgp_model_free(model);
    oatgp_data_free(data);
    oatgp_data_free(test);
  }
}

/* ---- other predictions ----------------------------------------------------------------------------------------- */

static void derivatives_are_differences(void **state) {
  scratch *s = *state;
  const double h = 1e-5, x[] = {0.3, -0.7};
  double mean[5], sd[5], slope[INPUTS], sd_slope[INPUTS], rows[5 * INPUTS];
  oatgp_data *data = make_rows(s, ROWS, 3, false);
  oatgp_model *model = fit_averaged(s, data, &variants[0]);
  for (size_t i = 0; i < 5 * INPUTS; i++) {
    rows[i] = x[i % INPUTS];
  }
  rows[2] += h;
  rows[4] -= h;
  rows[7] += h;
  rows[9] -= h;
  oatgp_data *beside = make_data(s, 5, INPUTS, rows, NULL), *at = make_data(s, 1, INPUTS, x, NULL);
  must(s, oatgp_predict_sd(s->ctx, model, beside, &(oatgp_prediction_sd){mean, sd, NULL}));
  double m, v;
  must(s, oatgp_predict_gradient(s->ctx, model, at, &(oatgp_prediction_gradient){&m, &v, slope, sd_slope}));
  assert_near(m, mean[0], 1e-12);
  assert_near(v, sd[0], 1e-12);
  for (size_t j = 0; j < INPUTS; j++) {
    assert_near(slope[j], (mean[1 + 2 * j] - mean[2 + 2 * j]) / (2 * h), 1e-7);
    assert_near(sd_slope[j], (sd[1 + 2 * j] - sd[2 + 2 * j]) / (2 * h), 1e-7);
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(beside);
  oatgp_data_free(at);
}

/* The joint covariance has the variances on its diagonal, and is that of many joint draws. */
static void joint_draws(void **state) {
  scratch *s = *state;
  enum { FEW = 3, COUNT = 20000 };
  oatgp_data *data = make_rows(s, ROWS, 3, false), *at = make_rows(s, FEW, 4, false);
  oatgp_model *model = fit_averaged(s, data, &variants[2]);
  double covariance[FEW * FEW], *all = must_predict(s, model, at), *draws = calloc(2 * FEW * COUNT, sizeof *draws);
  must(s, oatgp_predict_covariance(s->ctx, model, at, covariance));
  must(s, oatgp_predict_samples(s->ctx, model, at, COUNT, 7, draws));
  must(s, oatgp_predict_samples(s->ctx, model, at, COUNT, 7, draws + FEW * COUNT));
  assert_memory_equal(draws, draws + FEW * COUNT, FEW * COUNT * sizeof *draws);
  for (size_t i = 0; i < FEW; i++) {
    assert_near(covariance[i * (FEW + 1)], all[FEW + i], 1e-10);
    for (size_t j = 0; j < FEW; j++) {
      double sum = 0;
      for (size_t d = 0; d < COUNT; d++) {
        sum += (draws[d * FEW + i] - all[i]) * (draws[d * FEW + j] - all[j]) / COUNT;
      }
      const double size = sqrt(all[FEW + i] * all[FEW + j]);
      assert_true(fabs(sum - covariance[i + j * FEW]) < 0.05 * size);
      assert_true(covariance[i + j * FEW] == covariance[j + i * FEW]);
    }
  }
  must(s, oatgp_predict_answer_samples(s->ctx, model, at, COUNT, 7, draws));
  for (size_t i = 0; i < FEW; i++) {
    double sum = 0;
    for (size_t d = 0; d < COUNT; d++) {
      sum += (draws[d * FEW + i] - all[i]) * (draws[d * FEW + i] - all[i]) / COUNT;
    }
    assert_true(fabs(sum / all[2 * FEW + i] - 1) < 0.05);
  }
  free(all);
  free(draws);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(at);
}

/* Functions have the moments of the mixture, and each stays the same function: for any count, with derivatives that are
 * its own, and after an update. */
static void functions_of_the_mixture(void **state) {
  scratch *s = *state;
  enum { FEW = 3, COUNT = 3000, SOME = 20 };
  oatgp_data *data = make_rows(s, ROWS, 3, false), *at = make_rows(s, FEW, 4, false), *more = make_rows(s, 5, 8, false);
  oatgp_model *model = fit_averaged(s, data, &variants[0]);
  double *all = must_predict(s, model, at), *values = calloc(COUNT * FEW, sizeof *values), few[SOME * FEW];
  double slopes[SOME * FEW * INPUTS];
  oatgp_function *many = NULL, *some = NULL;
  must(s, oatgp_function_create(s->ctx, model, COUNT, 5, &many));
  must(s, oatgp_function_create(s->ctx, model, SOME, 5, &some));
  must(s, oatgp_function_evaluate(s->ctx, many, at, values, NULL));
  must(s, oatgp_update(s->ctx, model, more));
  must(s, oatgp_function_evaluate(s->ctx, some, at, few, slopes));
  for (size_t i = 0; i < SOME * FEW; i++) {
    assert_near(few[i], values[i], 1e-9);
  }
  for (size_t i = 0; i < FEW; i++) {
    double mean = 0, square = 0;
    for (size_t f = 0; f < COUNT; f++) {
      mean += values[f * FEW + i] / COUNT;
      square += (values[f * FEW + i] - all[i]) * (values[f * FEW + i] - all[i]) / COUNT;
    }
    assert_true(fabs(mean - all[i]) < 4 * sqrt(all[FEW + i] / COUNT));
    assert_true(fabs(square / all[FEW + i] - 1) < 0.15);
  }
  oatgp_function_free(many);
  oatgp_function_free(some);
  free(all);
  free(values);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(at);
  oatgp_data_free(more);
}

/* Predictions as if rows were known: the mixture of those of the members. Effects add up to the mean. */
static void given_rows_and_effects(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, ROWS, 3, false), *test = make_rows(s, TEST, 4, false),
             *more = make_rows(s, 4, 5, false);
  s->settings.kernel = "se(x1) + se(x2)";
  oatgp_model *model = fit_averaged(s, data, &variants[0]);
  double mean[TEST], sd[TEST], one[TEST], own[TEST], middle[TEST] = {0}, square[TEST] = {0};
  must(s, oatgp_predict_given(s->ctx, model, test, more, &(oatgp_prediction_sd){mean, NULL, sd}));
  for (size_t m = 0; m < DRAWS; m++) {
    double weight = 0;
    const oatgp_model *member = oatgp_model_draw(model, m, &weight);
    must(s, oatgp_predict_given(s->ctx, member, test, more, &(oatgp_prediction_sd){one, NULL, own}));
    for (size_t i = 0; i < TEST; i++) {
      middle[i] += weight * one[i];
      square[i] += weight * (own[i] * own[i] + one[i] * one[i]);
    }
  }
  double effect[2 * TEST], effect_sd[2 * TEST], centre[2], share[2];
  must(s, oatgp_predict_effects(s->ctx, model, test, NULL, &(oatgp_effect_values){effect, effect_sd, centre, share}));
  must(s, oatgp_predict_mean(s->ctx, model, test, one));
  assert_near(share[0] + share[1], 1, 1e-12);
  for (size_t i = 0; i < TEST; i++) {
    assert_near(mean[i], middle[i], 1e-10);
    assert_near(sd[i] * sd[i], square[i] - middle[i] * middle[i], 1e-10);
    assert_near(effect[i] + effect[TEST + i] + centre[0] + centre[1] + info_of(model).mean, one[i], 1e-9);
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(test);
  oatgp_data_free(more);
}

/* ---- files, seeds, threads, resumed ---------------------------------------------------------------------------- */

static void expect_same_draws(scratch *s, const oatgp_model *a, const oatgp_model *b, const oatgp_data *at) {
  const size_t n = 3 * oatgp_data_rows(at);
  double *first = must_predict(s, a, at), *second = must_predict(s, b, at);
  assert_int_equal(info_of(a).average, info_of(b).average);
  assert_memory_equal(first, second, n * sizeof *first);
  for (size_t m = 0; m < info_of(a).average; m++) {
    double mine, other;
    const oatgp_model_info p = info_of(oatgp_model_draw(a, m, &mine)), q = info_of(oatgp_model_draw(b, m, &other));
    assert_true(mine == other && p.sigma == q.sigma && p.tau == q.tau && p.objective == q.objective);
    assert_memory_equal(p.lengthscales, q.lengthscales, INPUTS * sizeof(double));
  }
  free(first);
  free(second);
}

static void files_hold_the_draws(void **state) {
  scratch *s = *state;
  for (size_t v = 0; v < LENGTH(variants); v++) {
    oatgp_data *data = make_rows(s, ROWS, 3, variants[v].noise);
    oatgp_model *model = fit_averaged(s, data, &variants[v]), *again = NULL, *copy = NULL, *none = NULL;
    unsigned char *bytes = NULL, *twice = NULL;
    size_t size = 0, size_again = 0;
    must(s, oatgp_model_save(s->ctx, model, s->path));
    must(s, oatgp_model_load(s->ctx, s->path, &again));
    must(s, oatgp_model_copy(s->ctx, model, &copy));
    expect_same_draws(s, model, again, data);
    expect_same_draws(s, model, copy, data);
    must(s, oatgp_model_to_bytes(s->ctx, model, &bytes, &size));
    must(s, oatgp_model_to_bytes(s->ctx, again, &twice, &size_again));
    assert_int_equal(size, size_again);
    assert_memory_equal(bytes, twice, size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 97) {
      assert_int_equal(oatgp_model_from_bytes(s->ctx, bytes, cut, &none), OATGP_FORMAT);
      assert_null(none);
    }
    bytes[size - 5] ^= 1; /* in one of the last numbers */
    assert_int_equal(oatgp_model_from_bytes(s->ctx, bytes, size, &none), OATGP_FORMAT);
    oatgp_bytes_free(bytes);
    oatgp_bytes_free(twice);
    oatgp_model_free(model);
    oatgp_model_free(again);
    oatgp_model_free(copy);
    oatgp_data_free(data);
  }
}

static void seeds_and_threads(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, ROWS, 3, false);
  s->settings.threads = 1;
  oatgp_model *one = fit_averaged(s, data, &variants[2]);
  s->settings.threads = 3;
  oatgp_model *three = fit_averaged(s, data, &variants[2]);
  s->settings.seed = 2;
  oatgp_model *other = fit_averaged(s, data, &variants[2]);
  expect_same_draws(s, one, three, data);
  assert_true(info_of(oatgp_model_draw(one, 0, NULL)).tau != info_of(oatgp_model_draw(other, 0, NULL)).tau);
  oatgp_context_set_threads(s->ctx, 1);
  double *first = must_predict(s, one, data);
  oatgp_context_set_threads(s->ctx, 4);
  double *second = must_predict(s, one, data);
  assert_memory_equal(first, second, 3 * ROWS * sizeof *first);
  free(first);
  free(second);
  oatgp_model_free(one);
  oatgp_model_free(three);
  oatgp_model_free(other);
  oatgp_data_free(data);
}

static int stop_soon(void *user, const oatgp_event *event) {
  (void)user;
  return event->iteration >= 3;
}

static void resumed_fits_have_the_same_draws(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, ROWS, 3, false);
  oatgp_model *whole = fit_averaged(s, data, &variants[2]), *half = NULL;
  s->settings.checkpoint = s->path;
  s->settings.checkpoint_seconds = 0;
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, stop_soon, NULL, &half));
  assert_int_equal(info_of(half).average, DRAWS);
  s->settings.checkpoint = "";
  s->settings.resume = s->path;
  oatgp_model *resumed = must_fit(s, data, NULL);
  expect_same_draws(s, whole, resumed, data);
  oatgp_model_free(whole);
  oatgp_model_free(half);
  oatgp_model_free(resumed);
  oatgp_data_free(data);
}

/* ---- rows that come later -------------------------------------------------------------------------------------- */

/* Members that are updated separately predict like the members of the updated model. */
static void expect_members(scratch *s, const oatgp_model *before, const oatgp_model *after, const oatgp_data *more,
                           const oatgp_data *at) {
  static const size_t gone[] = {3, 11};
  for (size_t m = 0; m < DRAWS; m++) {
    oatgp_model *alone = NULL;
    must(s, oatgp_model_copy(s->ctx, oatgp_model_draw(before, m, NULL), &alone));
    if (more != NULL) {
      must(s, oatgp_update(s->ctx, alone, more));
    } else {
      must(s, oatgp_model_remove_rows(s->ctx, alone, LENGTH(gone), gone));
    }
    const oatgp_model *member = oatgp_model_draw(after, m, NULL);
    double *p = must_predict(s, alone, at), *q = must_predict(s, member, at);
    for (size_t i = 0; i < 3 * TEST; i++) {
      assert_near(p[i], q[i], 1e-9);
    }
    assert_int_equal(info_of(member).n, info_of(after).n);
    free(p);
    free(q);
    oatgp_model_free(alone);
  }
}

static void updates_keep_the_draws(void **state) {
  scratch *s = *state;
  static const size_t gone[] = {3, 11};
  for (size_t v = 0; v < LENGTH(variants); v++) {
    oatgp_data *data = make_rows(s, ROWS, 3, variants[v].noise), *more = make_rows(s, 7, 9, variants[v].noise);
    oatgp_data *at = make_rows(s, TEST, 4, false);
    oatgp_model *model = fit_averaged(s, data, &variants[v]), *changed = NULL, *again = NULL;
    must(s, oatgp_model_copy(s->ctx, model, &changed));
    must(s, oatgp_update(s->ctx, changed, more));
    assert_int_equal(info_of(changed).n, ROWS + 7);
    expect_members(s, model, changed, more, at);
    must(s, oatgp_model_save(s->ctx, changed, s->path));
    must(s, oatgp_model_load(s->ctx, s->path, &again));
    expect_same_draws(s, changed, again, at);
    oatgp_model_free(changed);
    if (strcmp(variants[v].approx, "full") == 0) {
      must(s, oatgp_model_copy(s->ctx, model, &changed));
      must(s, oatgp_model_remove_rows(s->ctx, changed, LENGTH(gone), gone));
      expect_members(s, model, changed, NULL, at);
      oatgp_model_free(changed);
    }
    oatgp_model *refitted = NULL;
    must(s, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, &refitted));
    assert_int_equal(info_of(refitted).average, DRAWS);
    oatgp_model_free(refitted);
    oatgp_model_free(model);
    oatgp_model_free(again);
    oatgp_data_free(data);
    oatgp_data_free(more);
    oatgp_data_free(at);
  }
}

/* ---- leave-one-out --------------------------------------------------------------------------------------------- */

/* What the members predict for each row without it. */
typedef struct left {
  double mean[DRAWS][ROWS], sd[DRAWS][ROWS];
} left;

static void leave_with_members(scratch *s, const oatgp_model *model, const oatgp_data *data, left *l) {
  for (size_t m = 0; m < DRAWS; m++) {
    const oatgp_held_out_sd rows = {l->mean[m], l->sd[m], NULL, NULL};
    must(s, oatgp_loo_sd(s->ctx, oatgp_model_draw(model, m, NULL), data, &rows, NULL));
  }
}

/* The same row by row, by models that have lost the row. */
static void leave_by_removal(scratch *s, const oatgp_model *model, const oatgp_data *data, left *l) {
  for (size_t m = 0; m < DRAWS; m++) {
    for (size_t i = 0; i < ROWS; i++) {
      oatgp_model *member = NULL;
      oatgp_data *row = NULL;
      double variance, latent;
      must(s, oatgp_data_select(s->ctx, data, 1, &i, &row));
      must(s, oatgp_model_copy(s->ctx, oatgp_model_draw(model, m, NULL), &member));
      must(s, oatgp_model_remove_rows(s->ctx, member, 1, &i));
      must(s, oatgp_predict(s->ctx, member, row, &(oatgp_prediction){&l->mean[m][i], &latent, &variance}));
      l->sd[m][i] = sqrt(variance);
      oatgp_data_free(row);
      oatgp_model_free(member);
    }
  }
}

/* Bayes' theorem for the weights of the draws, and sums over them. */
static void expect_left(scratch *s, const oatgp_model *model, const oatgp_data *data, const left *l, double near) {
  double mean[ROWS], sd[ROWS], nlp[ROWS], residual[ROWS], total = 0;
  oatgp_scores scores;
  must(s, oatgp_loo_sd(s->ctx, model, data, &(oatgp_held_out_sd){mean, sd, nlp, residual}, &scores));
  for (size_t i = 0; i < ROWS; i++) {
    double without[DRAWS], sum = 0, p = 0, middle = 0, square = 0, share = 0;
    for (size_t m = 0; m < DRAWS; m++) {
      double weight;
      oatgp_model_draw(model, m, &weight);
      sum += without[m] = weight / density(data->y[i], l->mean[m][i], l->sd[m][i]);
    }
    for (size_t m = 0; m < DRAWS; m++) {
      const double v = without[m] / sum, a = l->mean[m][i], b = l->sd[m][i];
      p += v * density(data->y[i], a, b);
      share += v * below(data->y[i], a, b);
      middle += v * a;
      square += v * (b * b + a * a);
    }
    assert_near(mean[i], middle, near);
    assert_near(sd[i], sqrt(square - middle * middle), near);
    assert_near(nlp[i], -log(p), near);
    assert_near(0.5 * erfc(-residual[i] / sqrt(2)), share, near);
    total += nlp[i] / ROWS;
  }
  assert_near(scores.mean_nlp, total, 1e-12);
  assert_near(info_of(model).loo_mean_nlp, total, 1e-12);
}

static void rows_left_out(void **state) {
  scratch *s = *state;
  left *l = malloc(sizeof *l);
  for (size_t v = 0; v < LENGTH(variants); v++) {
    oatgp_data *data = make_rows(s, ROWS, 3, variants[v].noise);
    oatgp_model *model = fit_averaged(s, data, &variants[v]);
    leave_with_members(s, model, data, l);
    expect_left(s, model, data, l, 1e-9);
    if (v == 0) {
      leave_by_removal(s, model, data, l);
      expect_left(s, model, data, l, 1e-7);
    }
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
  free(l);
}

/* ---- cross-validation ------------------------------------------------------------------------------------------ */

typedef struct folds {
  double nlp;
  size_t rows;
} folds;

static int watch_fold(void *user, const oatgp_fold *fold) {
  folds *f = user;
  assert_int_equal(info_of(fold->model).average, DRAWS);
  f->nlp += fold->scores.mean_nlp * (double)fold->scores.n;
  f->rows += fold->scores.n;
  return 0;
}

static void cross_validation(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, ROWS, 3, false);
  double mean[ROWS], sd[ROWS], nlp[ROWS], residual[ROWS], sum = 0;
  folds f = {0};
  oatgp_scores scores;
  s->settings.approx = "full";
  s->settings.prior = "weak";
  s->settings.average = DRAWS;
  s->settings.folds = 4;
  must(s, oatgp_cv_sd(s->ctx, data, &s->settings, NULL, &(oatgp_cv_watch){NULL, watch_fold, &f},
                      &(oatgp_held_out_sd){mean, sd, nlp, residual}, &scores));
  for (size_t i = 0; i < ROWS; i++) {
    sum += nlp[i] / ROWS;
    assert_true(sd[i] > 0 && isfinite(residual[i]));
  }
  assert_int_equal(f.rows, ROWS);
  assert_near(f.nlp / ROWS, scores.mean_nlp, 1e-12);
  assert_near(sum, scores.mean_nlp, 1e-12);
  oatgp_data_free(data);
}

/* ---- the draws themselves -------------------------------------------------------------------------------------- */

static double evidence_at(scratch *s, const oatgp_data *data, double tau) {
  oatgp_evaluation found;
  const double before = s->settings.tau;
  s->settings.tau = tau;
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &found));
  const double value = found.objective;
  oatgp_evaluation_clear(&found);
  s->settings.tau = before;
  return value;
}

/* If only tau is free, the variance of its logarithm follows from the curvature of the log evidence. */
static void draws_have_the_spread_of_the_posterior(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 200, INPUTS, 0.3, 5);
  const double h = 0.01;
  double centre = 0, spread = 0;
  s->settings.approx = "full";
  s->settings.select = "fixed";
  s->settings.average = 64;
  s->settings.sigma = 1;
  s->settings.lengthscale = "0.8";
  s->settings.fix = "sigma,lengthscale";
  oatgp_model *model = must_fit(s, data, NULL);
  const double best = info_of(model).tau, up = evidence_at(s, data, best * exp(h));
  const double curvature = (2 * evidence_at(s, data, best) - up - evidence_at(s, data, best * exp(-h))) / (h * h);
  for (size_t m = 0; m < 64; m++) {
    double weight;
    const oatgp_model_info at = info_of(oatgp_model_draw(model, m, &weight));
    centre += weight * log(at.tau / best);
    spread += weight * log(at.tau / best) * log(at.tau / best);
    assert_near(at.sigma, 1, 1e-15);
  }
  assert_true(fabs(centre) * sqrt(curvature) < 0.2);
  assert_true(spread * curvature > 0.5 && spread * curvature < 1.7); /* of 32 pairs: 1 +- 0.25 */
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Rows that say nothing of a lengthscale leave it its prior, whose logarithm has mean 0.3 and sd 0.75: not the mode of
 * the lengthscale itself, which is at exp(0.3 - 0.75^2). */
static void draws_of_the_prior(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, 1, 0.3, 5);
  double centre = 0, spread = 0, least = 1;
  s->settings.approx = "full";
  s->settings.select = "fixed";
  s->settings.average = 64;
  s->settings.sigma = 1e-6;
  s->settings.tau = 1;
  s->settings.lengthscale = "0.8";
  s->settings.fix = "sigma,tau";
  s->settings.prior = "lengthscale ~ lognormal(0.3, 0.75)";
  oatgp_model *model = must_fit(s, data, NULL);
  assert_near(info_of(model).lengthscales[0], exp(0.3 - 0.75 * 0.75), 1e-3);
  for (size_t m = 0; m < 64; m++) {
    double weight;
    const double at = log(info_of(oatgp_model_draw(model, m, &weight)).lengthscales[0]);
    centre += at / 64;
    spread += (at - 0.3) * (at - 0.3) / 64;
    least = fmin(least, 64 * weight);
  }
  assert_near(centre, 0.3, 1e-3);
  assert_true(sqrt(spread) > 0.6 && sqrt(spread) < 0.9);
  assert_true(least > 0.999); /* the Gaussian is the posterior */
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Few rows leave much open; ranges are kept to. */
static void draws_keep_to_ranges(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, 8, 5, false);
  bool at_an_end = false;
  s->settings.approx = "full";
  s->settings.select = "fixed";
  s->settings.average = 64;
  s->settings.range = "lengthscale=0.5:1";
  oatgp_model *model = must_fit(s, data, NULL);
  for (size_t m = 0; m < 64; m++) {
    const oatgp_model_info at = info_of(oatgp_model_draw(model, m, NULL));
    for (size_t j = 0; j < INPUTS; j++) {
      assert_true(at.lengthscales[j] >= 0.5 * (1 - 1e-12) && at.lengthscales[j] <= 1 + 1e-12);
      at_an_end = at_an_end || fabs(at.lengthscales[j] - 1) < 1e-12;
    }
  }
  assert_true(at_an_end);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void expect_refused(scratch *s, const oatgp_data *data, const char *words) {
  oatgp_model *model = NULL;
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(s->ctx), words));
  assert_null(model);
}

static void what_is_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, ROWS, 3, false), *many = wavy_data(s, 2001, 1, 0.1, 4);
  oatgp_model *averaged = fit_averaged(s, data, &variants[0]);
  assert_int_equal(oatgp_predict_interval(s->ctx, averaged, data, &(oatgp_prediction_interval){.interval = 1}),
                   OATGP_ARGUMENT);
  oatgp_model_free(averaged);
  expect_refused(s, many, "at most 2000 rows");
  s->settings.fix = "sigma,tau,lengthscale";
  expect_refused(s, data, "no parameter is free");
  s->settings.fix = "";
  s->settings.approx = "fitc";
  s->settings.neighbours = 5;
  expect_refused(s, data, "does not work with neighbours");
  s->settings.neighbours = 0;
  s->settings.approx = "vfe";
  s->settings.likelihood = "student-t";
  expect_refused(s, data, "needs Gaussian noise");
  s->settings.likelihood = "gaussian";
  s->settings.average = 65;
  expect_refused(s, data, "average");
  oatgp_data_free(data);
  oatgp_data_free(many);
}

/* ---- averages without being asked for -------------------------------------------------------------------------- */

/* The draws of a fit of rows with two inputs. If it chose them itself, it says so. */
static size_t draws_of(scratch *s, size_t rows) {
  oatgp_data *data = wavy_data(s, rows, INPUTS, 0.3, 5);
  s->said[0] = '\0';
  oatgp_model *model = must_fit(s, data, NULL);
  const size_t draws = info_of(model).average;
  const bool said = strstr(s->said, "rows are few for the parameters") != NULL;
  assert_int_equal(said, draws > 0 && s->settings.average < 0);
  oatgp_model_free(model);
  oatgp_data_free(data);
  return draws;
}

static void few_rows_are_averaged(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "full", "fitc"};
  s->settings.prior = "weak";
  assert_int_equal(s->settings.average, -1);
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    assert_int_equal(draws_of(s, 30), 8);
    assert_int_equal(draws_of(s, 150), 0); /* 50 rows for each of three parameters */
  }
  s->settings.average = 2;
  assert_int_equal(draws_of(s, 30), 2);
  s->settings.average = 0;
  assert_int_equal(draws_of(s, 30), 0);
  must(s, oatgp_settings_set(s->ctx, &s->settings, "average", "auto"));
  s->settings.fix = "tau";
  assert_int_equal(draws_of(s, 30), 0);
  s->settings.fix = "";
  s->settings.max_iter = 0;
  assert_int_equal(draws_of(s, 30), 0);
  s->settings.max_iter = 100;
  s->settings.select = "fixed";
  assert_int_equal(draws_of(s, 30), 0);
  s->settings.select = "auto";
  s->settings.approx = "vfe";
  s->settings.likelihood = "student-t";
  assert_int_equal(draws_of(s, 30), 0);
  s->settings.likelihood = "gaussian";
  s->settings.approx = "fitc";
  s->settings.neighbours = 5;
  assert_int_equal(draws_of(s, 30), 0);
}

/* A refit averages if the model did, however many draws it chose; a model without averages stays one. */
static void refits_average_as_before(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, INPUTS, 0.3, 5), *more = wavy_data(s, 90, INPUTS, 0.3, 6);
  s->settings.prior = "weak";
  for (int64_t average = -1; average <= 0; average++) {
    s->settings.average = average;
    oatgp_model *model = must_fit(s, data, NULL), *refitted = NULL;
    must(s, oatgp_refit(s->ctx, model, more, &s->settings, NULL, NULL, &refitted));
    assert_int_equal(info_of(refitted).average, average < 0 ? 8 : 0);
    oatgp_model_free(model);
    oatgp_model_free(refitted);
  }
  oatgp_data_free(data);
  oatgp_data_free(more);
}

/* 78 rows are few for one lengthscale, but 102 are not: a fold may be averaged or not, and the results are those of
 * separate fits either way. */
static int count_averaged(void *user, const oatgp_fold *fold) {
  *(size_t *)user += info_of(fold->model).average > 0;
  return 0;
}

static void folds_choose_for_themselves(void **state) {
  scratch *s = *state;
  enum { N = 104 };
  static const int64_t counts[] = {4, 52};
  oatgp_data *data = wavy_data(s, N, 1, 0.3, 5);
  s->settings.prior = "weak";
  for (size_t f = 0; f < LENGTH(counts); f++) {
    double mean[N], sd[N], nlp[N], residual[N], sum = 0;
    size_t averaged = 0;
    oatgp_scores scores;
    s->settings.folds = counts[f];
    must(s, oatgp_cv_sd(s->ctx, data, &s->settings, NULL, &(oatgp_cv_watch){NULL, count_averaged, &averaged},
                        &(oatgp_held_out_sd){mean, sd, nlp, residual}, &scores));
    assert_int_equal(averaged, f == 0 ? 4 : 0);
    for (size_t i = 0; i < N; i++) {
      const double error = data->y[i] - mean[i];
      sum += nlp[i] / N;
      if (averaged == 0) { /* one normal distribution */
        assert_near(residual[i], error / sd[i], 1e-12);
        assert_near(nlp[i], -log(density(data->y[i], mean[i], sd[i])), 1e-12);
      }
    }
    assert_near(sum, scores.mean_nlp, 1e-12);
  }
  oatgp_data_free(data);
}

/* With folds of both kinds, those of one normal distribution have the same numbers as alone. */
static void folds_of_both_kinds(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 48, INPUTS, 0.3, 5);
  const oat_held_form form = {NULL, true};
  double columns[OAT_HELD_COLUMNS * 48], *all;
  oatgp_scores mixed, alone;
  s->settings.average = 0;
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oat_held_predict(s->ctx, model, data, form, columns));
  must(s, oat_held_report(s->ctx, form, data, columns, NULL, &mixed));
  must(s, oatgp_score(s->ctx, model, data, NULL, &alone));
  all = must_predict(s, model, data);
  assert_near(mixed.mean_nlp, alone.mean_nlp, 1e-12);
  assert_near(mixed.rmse, alone.rmse, 1e-14);
  assert_near(mixed.coverage80, alone.coverage80, 1e-14);
  assert_near(columns[OAT_HELD_BELOW * 48 + 5], below(data->y[5], all[5], sqrt(all[2 * 48 + 5])), 1e-12);
  free(all);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* A divergence takes the mixture as a normal distribution with the same mean and variance. */
static void divergence_of_mixtures(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_rows(s, ROWS, 3, false), *test = make_rows(s, TEST, 4, false);
  oatgp_model *averaged = fit_averaged(s, data, &variants[0]);
  s->settings.average = 0;
  oatgp_model *single = must_fit(s, data, NULL);
  double *p = must_predict(s, single, test), *q = must_predict(s, averaged, test), divergence = 0;
  oatgp_scores scores, plain;
  must(s, oatgp_score(s->ctx, averaged, test, single, &scores));
  must(s, oatgp_score(s->ctx, averaged, test, NULL, &plain));
  for (size_t i = 0; i < TEST; i++) {
    const double v = p[2 * TEST + i], w = q[2 * TEST + i], apart = p[i] - q[i];
    divergence += 0.5 * (log(w / v) + (v + apart * apart) / w - 1) / TEST;
  }
  assert_near(scores.aukl_observation, divergence, 1e-10);
  assert_true(scores.mean_nlp == plain.mean_nlp && isnan(plain.aukl_latent));
  must(s, oatgp_score(s->ctx, averaged, test, averaged, &scores));
  assert_near(scores.aukl_latent, 0, 1e-12);
  free(p);
  free(q);
  oatgp_model_free(averaged);
  oatgp_model_free(single);
  oatgp_data_free(data);
  oatgp_data_free(test);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(mixture_of_separate_models),
      WITH_SCRATCH(derivatives_are_differences),
      WITH_SCRATCH(joint_draws),
      WITH_SCRATCH(functions_of_the_mixture),
      WITH_SCRATCH(given_rows_and_effects),
      WITH_SCRATCH(files_hold_the_draws),
      WITH_SCRATCH(seeds_and_threads),
      WITH_SCRATCH(resumed_fits_have_the_same_draws),
      WITH_SCRATCH(updates_keep_the_draws),
      WITH_SCRATCH(rows_left_out),
      WITH_SCRATCH(cross_validation),
      WITH_SCRATCH(draws_have_the_spread_of_the_posterior),
      WITH_SCRATCH(draws_of_the_prior),
      WITH_SCRATCH(draws_keep_to_ranges),
      WITH_SCRATCH(what_is_refused),
      WITH_SCRATCH(few_rows_are_averaged),
      WITH_SCRATCH(refits_average_as_before),
      WITH_SCRATCH(folds_choose_for_themselves),
      WITH_SCRATCH(folds_of_both_kinds),
      WITH_SCRATCH(divergence_of_mixtures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
