/* Fits through the public functions: free and fixed parameters, stopping, results. */
#include "watch.h"

#include <time.h>

static const char *const all_models[] = {"full", "dic", "dtc", "vfe", "tvfe", "fic", "fitc", "pep"};

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The objective of another model at the parameters of a fitted one with one lengthscale. */
static double evaluate_at(scratch *s, const oatgp_data *data, const char *approx, const oatgp_model_info *info) {
  oatgp_settings settings = s->settings;
  oatgp_evaluation evaluation = {0};
  char lengthscale[64];
  assert_int_equal(info->lengthscale_count, 1);
  snprintf(lengthscale, sizeof lengthscale, "%.17g", info->lengthscales[0]);
  settings.approx = approx;
  settings.sigma = info->sigma;
  settings.tau = info->tau;
  settings.lengthscale = lengthscale;
  must(s, oatgp_evaluate(s->ctx, data, &settings, NULL, 0, &evaluation));
  const double objective = evaluation.objective;
  oatgp_evaluation_clear(&evaluation);
  return objective;
}

/* The knots of a model as data, in the data's units. */
static oatgp_data *knots_of(scratch *s, const oatgp_model *model) {
  const oatgp_model_info info = info_of(model);
  double *knots = calloc(info.knots * info.d, sizeof *knots);
  must(s, oatgp_model_knots(s->ctx, model, knots, NULL, NULL));
  oatgp_data *data = make_data(s, info.knots, info.d, knots, NULL);
  free(knots);
  return data;
}

/* ---- what is optimised ----------------------------------------------------------------------------------------- */

static void bound_below_evidence(scratch *s, const oatgp_data *data, const char *knots, double gap) {
  s->settings.kernel = "se";
  s->settings.knots = knots;
  oatgp_model *sparse = must_fit(s, data, NULL);
  s->settings.approx = "full";
  oatgp_model *full = must_fit(s, data, NULL);
  const oatgp_model_info info = info_of(sparse);
  const double evidence = evaluate_at(s, data, "full", &info), best = info_of(full).objective;
  assert_true(info.objective <= evidence + 1e-6);
  assert_true(evidence <= best + 1e-4);
  if (!(best - info.objective < gap)) {
    fail_msg("the bound %.6f is more than %g below the evidence %.6f", info.objective, gap, best);
  }
  oatgp_model_free(sparse);
  oatgp_model_free(full);
}

static void vfe_comes_close_to_the_evidence_on_motorcycle(void **state) {
  oatgp_data *data = motorcycle(*state);
  bound_below_evidence(*state, data, "20", 0.01);
  oatgp_data_free(data);
}

static void vfe_comes_close_to_the_evidence_on_boston(void **state) {
  oatgp_data *data = boston(*state);
  bound_below_evidence(*state, data, "60", 0.5);
  oatgp_data_free(data);
}

/* From the start on the objective rises; without a bound to hold it, its derivative vanishes at the end. */
static void every_model_and_kernel_fits(void **state) {
  scratch *s = *state;
  const char *const kernels[] = {"se", "matern32-ard", "matern52", "rq-ard", "exponential"};
  oatgp_data *data = motorcycle(s);
  s->settings.knots = "9";
  s->settings.max_iter = 40;
  for (size_t k = 0; k < LENGTH(kernels); k++) {
    for (size_t a = 0; a < LENGTH(all_models); a++) {
      s->settings.kernel = kernels[k];
      s->settings.approx = all_models[a];
      s->settings.select = strcmp(kernels[k], "exponential") == 0 ? "fixed" : "simultaneous";
      oatgp_model *model = fit_sanely(s, data, NULL);
      const oatgp_model_info info = info_of(model);
      assert_string_equal(info.approx, all_models[a]);
      assert_string_equal(info.kernel, kernels[k]);
      assert_int_equal(info.knots, strcmp(all_models[a], "full") == 0 ? 0 : 9);
      assert_true(info.iterations > 3);
      assert_true(info.objective > info.history[1] + 1);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(data);
}

static void knots_of_the_exponential_cannot_move(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  oatgp_model *model = NULL;
  s->settings.kernel = "exponential";
  s->settings.select = "simultaneous";
  expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), "--select fixed");
  assert_null(model);
  oatgp_data_free(data);
}

/* pep is between vfe and fitc. */
static void powers_join_vfe_and_fitc(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  s->settings.knots = "12";
  s->settings.select = "fixed";
  double objective[4];
  const char *const models[] = {"vfe", "pep", "pep", "fitc"};
  const double alphas[] = {0.5, 1e-7, 1, 0.5};
  for (size_t i = 0; i < LENGTH(models); i++) {
    s->settings.approx = models[i];
    s->settings.alpha = alphas[i];
    oatgp_model *model = must_fit(s, data, NULL);
    objective[i] = info_of(model).objective;
    oatgp_model_free(model);
  }
  assert_nats(objective[0], objective[1], 1e-3); /* two optimisations of what differs by about 100 alpha */
  assert_nats(objective[2], objective[3], 1e-9);
  assert_true(fabs(objective[0] - objective[3]) > 0.1);
  oatgp_data_free(data);
}

/* ---- what is fixed --------------------------------------------------------------------------------------------- */

static void fixed_parameters_keep_their_values(void **state) {
  scratch *s = *state;
  const char *const names[] = {"sigma", "tau", "lengthscale", "shape", "sigma,tau,lengthscale,shape"};
  oatgp_data *data = boston(s);
  s->settings.kernel = "rq-ard";
  s->settings.knots = "8";
  s->settings.sigma = 11;
  s->settings.tau = 2.5;
  s->settings.lengthscale = "1.25,2.5,0.75";
  s->settings.shape = 1.5;
  s->settings.max_iter = 10;
  for (size_t i = 0; i < LENGTH(names); i++) {
    s->settings.fix = names[i];
    oatgp_model *model = must_fit(s, data, NULL);
    const oatgp_model_info info = info_of(model);
    const double expected[] = {11, 2.5, 1.25, 1.5}, got[] = {info.sigma, info.tau, info.lengthscales[0], info.shape};
    for (size_t j = 0; j < LENGTH(expected); j++) {
      assert_int_equal(got[j] == expected[j], i == j || i == 4);
    }
    assert_int_equal(info.lengthscales[1] == 2.5 && info.lengthscales[2] == 0.75, i == 2 || i == 4);
    oatgp_model_free(model);
  }
  s->settings.fix = "sigma,length";
  oatgp_model *model = NULL;
  expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model),
                  "'length' is not one of sigma, tau, shape, lengthscale");
  oatgp_data_free(data);
}

/* Parameters and knots fixed: there is nothing to optimise, and the model is the one asked for. */
static void nothing_free_is_an_evaluation(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  oatgp_evaluation evaluation = {0};
  s->settings.kernel = "se";
  s->settings.knots = "15";
  s->settings.select = "fixed";
  s->settings.jitter = 1e-6;
  s->settings.fix = "sigma,tau,lengthscale";
  s->settings.sigma = 50;
  s->settings.tau = 20;
  s->settings.lengthscale = "0.4";
  oatgp_model *model = fit_sanely(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &evaluation));
  assert_true(info.objective == evaluation.objective);
  assert_int_equal(info.stop, OATGP_STOP_NONE);
  assert_int_equal(info.iterations, 0);
  assert_int_equal(info.evaluations, 1);
  oatgp_evaluation_clear(&evaluation);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void fixed_knots_stay(void **state) {
  scratch *s = *state;
  const double knots[] = {4, 12.5, 20, 28, 41, 60}; /* one outside the data */
  oatgp_data *data = motorcycle(s), *given = make_data(s, LENGTH(knots), 1, knots, NULL);
  double fixed[LENGTH(knots)], moved[LENGTH(knots)];
  oatgp_model *model = NULL;
  s->settings.select = "fixed";
  model = must_fit(s, data, given);
  must(s, oatgp_model_knots(s->ctx, model, fixed, NULL, NULL));
  oatgp_model_free(model);
  s->settings.select = "simultaneous";
  model = must_fit(s, data, given);
  must(s, oatgp_model_knots(s->ctx, model, moved, NULL, NULL));
  oatgp_model_free(model);
  for (size_t i = 0; i < LENGTH(knots); i++) {
    assert_near(fixed[i], knots[i], 1e-14);
    assert_true(fabs(moved[i] - knots[i]) > 1e-3);
  }
  oatgp_data_free(given);
  oatgp_data_free(data);
}

/* ---- knots ----------------------------------------------------------------------------------------------------- */

static void given_knots_come_back(void **state) {
  scratch *s = *state;
  const double knots[] = {5, 6.2, 15.3, 20, 5.9, 21, 35, 7.5, 13, 12, 6.6, 18};
  const char *const boxes[] = {"none", "bound", "logit"};
  oatgp_data *data = boston(s), *given = make_data(s, 4, 3, knots, NULL);
  s->settings.max_iter = 0;
  for (size_t b = 0; b < LENGTH(boxes); b++) {
    for (int scale = 0; scale < 2; scale++) {
      double back[LENGTH(knots)], mean[4], sd[4];
      s->settings.knot_box = boxes[b];
      s->settings.scale = scale;
      oatgp_model *model = must_fit(s, data, given);
      assert_int_equal(info_of(model).knots, 4);
      assert_int_equal(info_of(model).stop, OATGP_STOP_ITERATIONS);
      must(s, oatgp_model_knots(s->ctx, model, back, mean, sd));
      for (size_t i = 0; i < LENGTH(knots); i++) {
        assert_near(back[i], knots[i], 1e-12);
      }
      double *at_knots = must_predict(s, model, given);
      for (size_t i = 0; i < 4; i++) {
        assert_near(mean[i], at_knots[i], 1e-9);
        assert_near(sd[i] * sd[i], at_knots[4 + i], 1e-9);
      }
      free(at_knots);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(given);
  oatgp_data_free(data);
}

/* Knots from a sorted grid: inside they get a better order, so that their derivatives do not depend on the one they
 * were given in. */
static void order_of_given_knots_does_not_matter(void **state) {
  scratch *s = *state;
  enum { K = 30 };
  double up[K], down[K];
  oatgp_data *data = wavy_data(s, 300, 1, 0.2, 5);
  for (size_t i = 0; i < K; i++) {
    up[i] = -2 + 4 * (double)i / (K - 1);
    down[K - 1 - i] = up[i];
  }
  oatgp_data *first = make_data(s, K, 1, up, NULL), *second = make_data(s, K, 1, down, NULL);
  oatgp_evaluation a, b;
  s->settings.jitter = 1e-8;
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, first, 1, &a));
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, second, 1, &b));
  assert_nats(a.objective, b.objective, 1e-9);
  for (size_t i = 0; i < K; i++) {
    assert_near(a.d_knots[i], b.d_knots[K - 1 - i], 1e-5);
  }
  oatgp_evaluation_clear(&a);
  oatgp_evaluation_clear(&b);
  oatgp_data_free(first);
  oatgp_data_free(second);
  oatgp_data_free(data);
}

static void scaled_knots_are_taken_as_they_are(void **state) {
  scratch *s = *state;
  const double knots[] = {-1, 0, 0.5, 1, 1.5, -0.5};
  double back[LENGTH(knots)];
  oatgp_data *data = boston(s), *given = make_data(s, 2, 3, knots, NULL);
  s->settings.max_iter = 0;
  s->settings.knots_scaled = 1;
  oatgp_model *model = must_fit(s, data, given);
  const oatgp_model_info info = info_of(model);
  must(s, oatgp_model_knots(s->ctx, model, back, NULL, NULL));
  for (size_t i = 0; i < LENGTH(knots); i++) {
    assert_near(back[i], knots[i] * info.input_scale[i % 3] + info.input_centre[i % 3], 1e-12);
  }
  oatgp_model_free(model);
  oatgp_data_free(given);
  oatgp_data_free(data);
}

static void knots_need_the_inputs_of_the_data(void **state) {
  scratch *s = *state;
  const double knots[] = {1, 2, 3, 4};
  oatgp_data *data = boston(s), *given = make_data(s, 2, 2, knots, NULL);
  oatgp_model *model = NULL;
  expect_sentence(s, OATGP_DATA, oatgp_fit(s->ctx, data, &s->settings, given, NULL, NULL, &model),
                  "the knots have 2 inputs and the data 3");
  oatgp_data_free(given);
  oatgp_data_free(data);
}

/* How far a model's knots are outside the range of the data, in ranges. */
static double farthest_knot(scratch *s, const oatgp_model *model, const oatgp_data *data) {
  const size_t n = data->n, d = data->d, k = info_of(model).knots;
  double *knots = calloc(k * d, sizeof *knots), farthest = 0;
  must(s, oatgp_model_knots(s->ctx, model, knots, NULL, NULL));
  for (size_t j = 0; j < d; j++) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
      low = fmin(low, data->x[i + j * n]);
      high = fmax(high, data->x[i + j * n]);
    }
    for (size_t i = 0; i < k; i++) {
      farthest = fmax(farthest, fmax(low - knots[i * d + j], knots[i * d + j] - high) / (high - low));
    }
  }
  free(knots);
  return farthest;
}

/* The same numbers, whoever owns them and in whatever order they lie. */
static void borrowed_data_fit_alike(void **state) {
  scratch *s = *state;
  oatgp_data *own = wavy_data(s, 80, 2, 0.1, 5), *borrowed = NULL;
  double rows[160];
  for (size_t i = 0; i < LENGTH(rows); i++) {
    rows[i] = own->x[i / 2 + i % 2 * own->n];
  }
  s->settings.knots = "random:6";
  s->settings.max_iter = 20;
  must(s, oatgp_data_borrow(s->ctx, &(oatgp_view){own->n, 2, rows, own->y, 2, 1}, &borrowed));
  oatgp_model *const models[] = {must_fit(s, own, NULL), must_fit(s, borrowed, NULL)};
  oatgp_model_info infos[2];
  oatgp_model_get_info(models[0], &infos[0]);
  oatgp_model_get_info(models[1], &infos[1]);
  assert_string_equal(infos[0].fingerprint, infos[1].fingerprint);
  assert_true(infos[0].objective == infos[1].objective);
  double *all = must_predict(s, models[0], own), *again = must_predict(s, models[1], borrowed);
  assert_memory_equal(all, again, 3 * own->n * sizeof *all);
  free(all);
  free(again);
  oatgp_model_free(models[0]);
  oatgp_model_free(models[1]);
  oatgp_data_free(borrowed);
  oatgp_data_free(own);
}

/* For a plane, the knots would leave the data: with a box they stop at its edge, without one they leave. */
static void knots_stay_in_their_box(void **state) {
  scratch *s = *state;
  const char *const boxes[] = {"none", "bound", "logit"};
  const double margins[] = {0, 0.1};
  oatgp_data *data = wavy_data(s, 60, 2, 0, 1);
  for (size_t i = 0; i < data->n; i++) {
    data->own_y[i] = data->x[i] + data->x[i + data->n];
  }
  s->settings.knots = "random:5";
  s->settings.jitter = 1e-6;
  s->settings.max_iter = 200;
  for (size_t b = 0; b < LENGTH(boxes); b++) {
    for (size_t m = 0; m < LENGTH(margins); m++) {
      s->settings.knot_box = boxes[b];
      s->settings.knot_margin = margins[m];
      oatgp_model *model = fit_sanely(s, data, NULL);
      const double farthest = farthest_knot(s, model, data);
      assert_true(b == 0 ? farthest > 0.15 : farthest > margins[m] - 0.01 && farthest < margins[m] + 0.001);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(data);
}

static void knot_words_are_checked(void **state) {
  scratch *s = *state;
  const char *const wrong[] = {"0", "-3", "2.5", "kmeans:", "random:x", "kmean:5", "1000001"};
  oatgp_data *data = motorcycle(s);
  for (size_t i = 0; i < LENGTH(wrong); i++) {
    oatgp_model *model = NULL;
    s->settings.knots = wrong[i];
    expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model),
                    "but must be a number of knots");
    assert_null(model);
  }
  oatgp_data_free(data);
}

/* ---- starts ---------------------------------------------------------------------------------------------------- */

static void restarts_are_never_worse(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 80, 2, 0.3, 8);
  double before = -HUGE_VAL;
  s->settings.knots = "6";
  for (int64_t restarts = 0; restarts <= 4; restarts++) {
    s->settings.restarts = restarts;
    oatgp_model *model = must_fit(s, data, NULL);
    const oatgp_model_info info = info_of(model);
    assert_int_equal(info.restarts, restarts);
    assert_true(info.objective >= before);
    before = info.objective;
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void same_seed_same_bits(void **state) {
  scratch *s = *state;
  const char *const starts[] = {"kmeans:10", "random:10"};
  oatgp_data *data = boston(s);
  s->settings.restarts = 1;
  s->settings.max_iter = 15;
  for (size_t i = 0; i < LENGTH(starts); i++) {
    s->settings.knots = starts[i];
    s->settings.seed = 5;
    oatgp_model *first = must_fit(s, data, NULL), *second = must_fit(s, data, NULL);
    expect_same_model(s, data, first, second);
    s->settings.seed = 6;
    oatgp_model *other = must_fit(s, data, NULL);
    assert_true(info_of(first).objective != info_of(other).objective);
    oatgp_model_free(first);
    oatgp_model_free(second);
    oatgp_model_free(other);
  }
  oatgp_data_free(data);
}

/* A short fit, so that rounding has no time to grow. */
static void threads_and_blocks_change_rounding_only(void **state) {
  scratch *s = *state;
  const char *const models[] = {"vfe", "fitc", "full"};
  oatgp_data *data = boston(s);
  s->settings.knots = "20";
  s->settings.max_iter = 3;
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    s->settings.threads = 1;
    s->settings.block = 0;
    oatgp_model *first = must_fit(s, data, NULL);
    s->settings.threads = 2;
    s->settings.block = 37;
    oatgp_model *second = must_fit(s, data, NULL);
    assert_nats(info_of(first).objective, info_of(second).objective, 1e-9);
    assert_near(info_of(first).sigma, info_of(second).sigma, 1e-7);
    double *a = must_predict(s, first, data), *b = must_predict(s, second, data);
    for (size_t i = 0; i < 3 * oatgp_data_rows(data); i++) {
      assert_near(a[i], b[i], 1e-6);
    }
    free(a);
    free(b);
    oatgp_model_free(first);
    oatgp_model_free(second);
  }
  s->settings.threads = 1;
  oatgp_data_free(data);
}

/* ---- stopping -------------------------------------------------------------------------------------------------- */

static void expect_stop(scratch *s, const oatgp_data *data, oatgp_stop expected) {
  oatgp_model *model = fit_sanely(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  if (info.stop != expected) {
    fail_msg("stopped by %s, not by %s", oatgp_stop_word(info.stop), oatgp_stop_word(expected));
  }
  assert_true(info.history_count >= 1 && info.objective >= info.history[1]);
  oatgp_model_free(model);
}

static void limits_stop_with_their_code(void **state) {
  scratch *s = *state;
  const char *const optimizers[] = {"lbfgs", "adadelta"}, *const models[] = {"vfe", "full"};
  oatgp_data *data = motorcycle(s);
  const oatgp_settings plain = s->settings;
  for (size_t c = 0; c < 4; c++) {
    oatgp_settings base = plain;
    base.optimizer = optimizers[c / 2];
    base.approx = models[c % 2];
    base.select =
        c % 2 == 0 ? "simultaneous" : "fixed"; /* with the automatic selection the full GP begins near its optimum */
    base.knots = "8";
    s->settings = base;
    s->settings.max_iter = 3;
    expect_stop(s, data, OATGP_STOP_ITERATIONS);
    s->settings.max_iter = 0;
    expect_stop(s, data, OATGP_STOP_ITERATIONS);
    s->settings = base;
    s->settings.max_eval = 1;
    expect_stop(s, data, OATGP_STOP_EVALUATIONS);
    s->settings.max_eval = 5;
    expect_stop(s, data, OATGP_STOP_EVALUATIONS);
    s->settings = base;
    s->settings.time_limit = 1e-9;
    expect_stop(s, data, OATGP_STOP_TIME);
    s->settings = base;
    s->settings.obj_tol = 1;
    expect_stop(s, data, OATGP_STOP_OBJECTIVE);
    s->settings = base;
    s->settings.grad_tol = 1e6;
    expect_stop(s, data, OATGP_STOP_GRADIENT);
  }
  oatgp_data_free(data);
}

static void evaluations_are_counted_and_limited(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  s->settings.knots = "8";
  for (int64_t most = 1; most <= 12; most++) {
    s->settings.max_eval = most;
    oatgp_model *model = must_fit(s, data, NULL);
    assert_int_equal(info_of(model).evaluations, most);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* Longer than one evaluation, shorter than the fit; the restarts that are left are not begun. */
static void time_is_kept(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  const double limits[] = {1e-9, 0.2};
  s->settings.knots = "60";
  s->settings.restarts = 20000;
  s->settings.obj_tol = 0;
  for (size_t i = 0; i < LENGTH(limits); i++) {
    s->settings.time_limit = limits[i];
    const double began = now_seconds();
    oatgp_model *model = fit_sanely(s, data, NULL);
    assert_true(now_seconds() - began < 10);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* ---- the monitor ----------------------------------------------------------------------------------------------- */

/* A watch that looks at every event, too. */
typedef struct watcher {
  watch watch;
  bool rising;    /* whether the objective must rise within a start */
  double ceiling; /* the evidence of the exact GP, which no bound is above */
  oatgp_event last;
  double best;
  const char *stop;
} watcher;

static int look(void *user, const oatgp_event *event) {
  watcher *w = user;
  assert_true(event->objective > -HUGE_VAL && event->gradient >= 0 && event->gradient < HUGE_VAL);
  assert_true(event->best >= event->objective && event->best >= w->best && event->best <= w->ceiling + 1e-6);
  assert_true(event->sigma > 0 && event->tau > 0 && event->shape > 0);
  assert_true(event->seconds >= w->last.seconds && event->evaluations >= w->last.evaluations);
  assert_int_equal(event->lengthscale_count, 1);
  assert_true(event->lengthscales[0] > 0);
  assert_int_equal(event->knots, 7);
  if (event->kind == OATGP_EVENT_STEP) {
    assert_int_equal(event->iteration, w->last.iteration + 1);
    assert_true(!w->rising || event->objective >= w->last.objective);
    assert_null(event->stop);
  }
  if (event->kind == OATGP_EVENT_START) {
    assert_int_equal(event->iteration, 0);
    assert_int_equal(event->restart, w->watch.seen[OATGP_EVENT_START]);
    assert_null(event->stop);
  }
  w->last = *event;
  w->best = event->best;
  w->stop = event->stop;
  return observe(&w->watch, event);
}

static oatgp_model *watched_fit(scratch *s, const oatgp_data *data, watcher *w) {
  oatgp_model *model = NULL;
  w->best = -HUGE_VAL;
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, look, w, &model));
  return model;
}

static void monitor_sees_every_step(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  const double evidence = exact_from_starts(s, data);
  s->settings.knots = "7";
  for (int64_t restarts = 0; restarts <= 2; restarts++) {
    watcher w = {.rising = true, .ceiling = evidence};
    s->settings.restarts = restarts;
    oatgp_model *model = watched_fit(s, data, &w);
    const oatgp_model_info info = info_of(model);
    assert_int_equal(w.watch.seen[OATGP_EVENT_START], restarts + 1);
    assert_int_equal(w.watch.seen[OATGP_EVENT_END], 1);
    assert_int_equal(w.watch.seen[OATGP_EVENT_STEP], info.iterations);
    assert_string_equal(w.stop, oatgp_stop_word(info.stop));
    assert_true(w.best == info.objective);
    assert_int_equal(w.last.evaluations, info.evaluations);
    assert_int_equal(w.last.rejected, info.rejected);
    assert_true(w.last.restart <= restarts);
    assert_true(w.last.objective == info.objective);
    assert_true(w.last.sigma == info.sigma && w.last.tau == info.tau);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* Stopped at any call, the model is the best so far. */
static void monitor_can_stop(void **state) {
  scratch *s = *state;
  const char *const optimizers[] = {"lbfgs", "adadelta"};
  oatgp_data *data = motorcycle(s);
  const double evidence = exact_from_starts(s, data);
  s->settings.knots = "7";
  s->settings.restarts = 1;
  s->settings.max_iter = 12;
  for (size_t o = 0; o < LENGTH(optimizers); o++) {
    for (size_t call = 1; call <= 20; call++) {
      watcher w = {.watch.stop_after = call, .rising = o == 0, .ceiling = evidence};
      s->settings.optimizer = optimizers[o];
      oatgp_model *model = watched_fit(s, data, &w);
      const oatgp_model_info info = info_of(model);
      assert_int_equal(info.stop, OATGP_STOP_USER);
      assert_int_equal(w.watch.calls, call + 1); /* the end is told too */
      assert_string_equal(w.stop, "user");
      assert_true(info.objective == w.best);
      double *all = must_predict(s, model, data);
      expect_sane_predictions(all, oatgp_data_rows(data));
      free(all);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(data);
}

/* ADADELTA may fall behind its best point: that one is the model. */
static void best_point_is_returned(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  s->settings.optimizer = "adadelta";
  s->settings.knots = "7";
  s->settings.epsilon = 1; /* long steps, which overshoot and are not shortened */
  s->settings.eta = 1;
  s->settings.max_iter = 60;
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  double best = -HUGE_VAL;
  for (size_t i = 0; i < info.history_count; i++) {
    best = fmax(best, info.history[3 * i + 1]);
  }
  const double last = info.history[3 * (info.history_count - 1) + 1];
  assert_true(info.objective == best);
  assert_true(last < best);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void history_ends_with_the_objective(void **state) {
  scratch *s = *state;
  const char *const models[] = {"vfe", "full"};
  oatgp_data *data = motorcycle(s);
  s->settings.knots = "7";
  s->settings.restarts = 2;
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    s->settings.select = m == 0 ? "simultaneous" : "fixed";
    oatgp_model *model = must_fit(s, data, NULL);
    const oatgp_model_info info = info_of(model);
    const double *h = info.history;
    assert_true(info.history_count > 3);
    assert_true(h[3 * (info.history_count - 1) + 1] == info.objective);
    for (size_t i = 1; i < info.history_count; i++) {
      assert_true(h[3 * i] > h[3 * i - 3] && h[3 * i + 1] >= h[3 * i - 2] && h[3 * i + 2] >= h[3 * i - 1]);
    }
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* ---- mean, weights, noise -------------------------------------------------------------------------------------- */

/* y = 5 + 3 x1 - 2 x2 and a little noise: the linear mean finds it. */
static void means_are_found(void **state) {
  scratch *s = *state;
  enum { N = 150 };
  double x[2 * N], y[N];
  oat_rng rng;
  oat_rng_seed(&rng, 31);
  for (size_t i = 0; i < N; i++) {
    x[2 * i] = 10 + 4 * oat_rng_uniform(&rng);
    x[2 * i + 1] = 100 * oat_rng_uniform(&rng);
    y[i] = 5 + 3 * x[2 * i] - 0.2 * x[2 * i + 1] + 0.01 * oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, N, 2, x, y);
  const char *const models[] = {"vfe", "full", "fitc"};
  s->settings.knots = "10";
  s->settings.mean = "linear";
  for (size_t m = 0; m < LENGTH(models); m++) {
    for (int scale = 0; scale < 2; scale++) {
      s->settings.approx = models[m];
      s->settings.scale = scale;
      oatgp_model *model = fit_sanely(s, data, NULL);
      const oatgp_model_info info = info_of(model);
      assert_string_equal(info.mean_kind, "linear");
      assert_true(fabs(info.slopes[0] - 3) < 0.02 && fabs(info.slopes[1] + 0.2) < 0.001);
      const double expected = 5 + 3 * 12.0 - 0.2 * 50.0; /* at about the mean of the inputs */
      assert_true(fabs(info.mean - expected) < 2);
      oatgp_model_free(model);
    }
  }
  oatgp_data_free(data);
}

static void mean_kinds(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  double average = 0, objective[4];
  for (size_t i = 0; i < data->n; i++) {
    average += data->y[i] / (double)data->n;
  }
  const char *const kinds[] = {"mean", "fit", "-12.5", "0"};
  s->settings.approx = "full";
  s->settings.kernel = "se";
  for (size_t k = 0; k < LENGTH(kinds); k++) {
    s->settings.mean = kinds[k];
    oatgp_model *model = fit_sanely(s, data, NULL);
    const oatgp_model_info info = info_of(model);
    objective[k] = info.objective;
    assert_string_equal(info.mean_kind, kinds[k]);
    assert_null(info.slopes);
    if (k != 1) {
      assert_near(info.mean, k == 0 ? average : strtod(kinds[k], NULL), 1e-13);
    }
    oatgp_model_free(model);
  }
  assert_true(objective[1] >= fmax(objective[0], fmax(objective[2], objective[3])) - 1e-4);
  s->settings.mean = "median";
  oatgp_model *model = NULL;
  expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model),
                  "mean is 'median' but must be");
  oatgp_data_free(data);
}

/* A row of weight 3 is like three rows but for the normalisation: predictions are the same at the same parameters. */
static void weights_count_like_copies(void **state) {
  scratch *s = *state;
  enum { N = 40, COPIES = 3 };
  double x[N * COPIES], y[N * COPIES], weights[N], new_x[] = {-1.5, -0.3, 0.4, 1.9};
  oatgp_data *plain = wavy_data(s, N, 1, 0.2, 77);
  for (size_t i = 0; i < N * COPIES; i++) {
    x[i] = plain->x[i % N];
    y[i] = plain->y[i % N];
    weights[i % N] = COPIES;
  }
  oatgp_data *copies = make_data(s, N * COPIES, 1, x, y), *new_rows = make_data(s, LENGTH(new_x), 1, new_x, NULL);
  oatgp_data *knots = make_data(s, LENGTH(new_x), 1, new_x, NULL);
  must(s, oatgp_data_set_weights(s->ctx, plain, weights));
  s->settings.scale = 0;
  s->settings.sigma = 1.5;
  s->settings.tau = 0.4;
  s->settings.lengthscale = "0.7";
  s->settings.max_iter = 0;
  for (size_t a = 0; a < LENGTH(all_models); a++) {
    s->settings.approx = all_models[a];
    oatgp_model *weighted = must_fit(s, plain, knots), *copied = must_fit(s, copies, knots);
    double *first = must_predict(s, weighted, new_rows), *second = must_predict(s, copied, new_rows);
    const bool same =
        strncmp(all_models[a], "fi", 2) != 0 && strcmp(all_models[a], "pep") != 0; /* these add to the noise */
    for (size_t i = 0; same && i < 3 * LENGTH(new_x); i++) {
      assert_near(first[i], second[i], 1e-9);
    }
    free(first);
    free(second);
    oatgp_model_free(weighted);
    oatgp_model_free(copied);
  }
  oatgp_data_free(knots);
  oatgp_data_free(new_rows);
  oatgp_data_free(copies);
  oatgp_data_free(plain);
}

/* Half of the rows have a noise of known variance: those rows pull less, and tau is the noise of the others. */
static void known_noise_is_not_in_tau(void **state) {
  scratch *s = *state;
  enum { N = 300 };
  double variance[N];
  const char *const models[] = {"vfe", "fitc", "full"};
  oat_rng rng;
  oat_rng_seed(&rng, 13);
  oatgp_data *data = wavy_data(s, N, 1, 0.1, 19);
  for (size_t i = 0; i < N; i++) {
    variance[i] = i % 2 == 0 ? 4 : 0;
    data->own_y[i] += sqrt(variance[i]) * oat_rng_normal(&rng);
  }
  s->settings.knots = "15";
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    must(s, oatgp_data_set_noise_variance(s->ctx, data, variance));
    oatgp_model *told = fit_sanely(s, data, NULL);
    must(s, oatgp_data_set_noise_variance(s->ctx, data, NULL));
    oatgp_model *untold = fit_sanely(s, data, NULL);
    assert_true(fabs(info_of(told).tau - 0.1) < 0.03);
    assert_true(info_of(untold).tau > 1);
    assert_true(info_of(told).objective > info_of(untold).objective + 50);
    oatgp_model_free(told);
    oatgp_model_free(untold);
  }
  oatgp_data_free(data);
}

/* The starting point by hand: the objective of a fit of no iterations is that of oatgp_evaluate with the same knots. */
static void fit_and_evaluate_agree(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  s->settings.knots = "9";
  s->settings.jitter = 1e-6; /* that of an evaluation */
  s->settings.max_iter = 0;
  for (size_t a = 0; a < LENGTH(all_models); a++) {
    oatgp_evaluation evaluation = {0}, at_knots = {0};
    s->settings.approx = all_models[a];
    oatgp_model *model = must_fit(s, data, NULL);
    must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 1, &evaluation));
    assert_nats(evaluation.objective, info_of(model).objective, 1e-12);
    if (info_of(model).knots > 0) {
      oatgp_data *knots = knots_of(s, model);
      must(s, oatgp_evaluate(s->ctx, data, &s->settings, knots, 1, &at_knots));
      assert_nats(evaluation.objective, at_knots.objective, 1e-9);
      assert_near(evaluation.d_knots[26], at_knots.d_knots[26], 1e-7);
      oatgp_data_free(knots);
    }
    oatgp_evaluation_clear(&at_knots);
    oatgp_evaluation_clear(&evaluation);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(vfe_comes_close_to_the_evidence_on_motorcycle),
      WITH_SCRATCH(vfe_comes_close_to_the_evidence_on_boston),
      WITH_SCRATCH(every_model_and_kernel_fits),
      WITH_SCRATCH(knots_of_the_exponential_cannot_move),
      WITH_SCRATCH(powers_join_vfe_and_fitc),
      WITH_SCRATCH(fixed_parameters_keep_their_values),
      WITH_SCRATCH(nothing_free_is_an_evaluation),
      WITH_SCRATCH(fixed_knots_stay),
      WITH_SCRATCH(given_knots_come_back),
      WITH_SCRATCH(order_of_given_knots_does_not_matter),
      WITH_SCRATCH(scaled_knots_are_taken_as_they_are),
      WITH_SCRATCH(knots_need_the_inputs_of_the_data),
      WITH_SCRATCH(borrowed_data_fit_alike),
      WITH_SCRATCH(knots_stay_in_their_box),
      WITH_SCRATCH(knot_words_are_checked),
      WITH_SCRATCH(restarts_are_never_worse),
      WITH_SCRATCH(same_seed_same_bits),
      WITH_SCRATCH(threads_and_blocks_change_rounding_only),
      WITH_SCRATCH(limits_stop_with_their_code),
      WITH_SCRATCH(evaluations_are_counted_and_limited),
      WITH_SCRATCH(time_is_kept),
      WITH_SCRATCH(monitor_sees_every_step),
      WITH_SCRATCH(monitor_can_stop),
      WITH_SCRATCH(best_point_is_returned),
      WITH_SCRATCH(history_ends_with_the_objective),
      WITH_SCRATCH(means_are_found),
      WITH_SCRATCH(mean_kinds),
      WITH_SCRATCH(weights_count_like_copies),
      WITH_SCRATCH(known_noise_is_not_in_tau),
      WITH_SCRATCH(fit_and_evaluate_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
