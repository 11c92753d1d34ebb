/* The automatic selection: how many knots it uses and why it stops, on few rows (where the evidence of the exact GP is
 * known) and on many. A small --subset-rows makes few rows look like many: the exact GP is then one of a subset. */
#include "knots/strategy.h"
#include "rows/layout.h"
#include "watch.h"

#define NO_SUBSET 1000 /* subset_rows of which all of these data have their exact GP */
#define FIRST_KNOTS 50 /* doubling begins with so many or a few more, but less than twice as many */

static oatgp_model_info fit_info(scratch *s, const oatgp_data *data, watch *w) {
  oatgp_model *model = fit_watched(s, data, w);
  oatgp_model_info info = info_of(model);
  oatgp_model_free(model);
  return info; /* its pointers are gone */
}

/* The documented tolerance of a fit, in nats. */
static double allowed(const scratch *s, const oatgp_data *data) { return s->settings.tol_row * (double)data->n; }

/* The objective of a constant with noise, in nats. */
static double constant_objective(const oatgp_data *data) { return -(double)data->n * constant_nlp(data, data); }

static double held_out_nlp(scratch *s, const oatgp_model *model, const oatgp_data *test) {
  oatgp_scores scores;
  must(s, oatgp_score(s->ctx, model, test, NULL, &scores));
  return scores.mean_nlp;
}

/* Tests that need the optimum are too slow for valgrind, which runs all others with few iterations. */
static int set_up_auto(void **state) {
  const int result = set_up(state);
  if (result == 0) {
    scratch *s = *state;
    s->settings.select = "auto";
    s->settings.max_iter = under_valgrind() ? 3 : s->settings.max_iter;
  }
  return result;
}

static void skip_under_valgrind(void) {
  if (under_valgrind()) {
    skip();
  }
}

/* With few rows, there are enough knots to bring the bound within the tolerance of the exact evidence. */
static void few_rows_reach_the_evidence(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  const double evidence = exact_from_starts(s, data);
  size_t before = 0;
  static const double tolerances[] = {0.05, 0.002, 0.0001};
  for (size_t i = 0; i < LENGTH(tolerances); i++) {
    watch w = {0};
    s->settings.tol_row = tolerances[i];
    const oatgp_model_info info = fit_info(s, data, &w);
    assert_int_equal(info.stop, OATGP_STOP_EVIDENCE);
    assert_true(info.objective <= evidence + 1e-6);
    assert_true(info.objective >= evidence - allowed(s, data) - 1e-3); /* two optimisations differ by less than that */
    assert_true(info.knots > before && info.knots < data->n / 2);
    assert_true(w.seen[OATGP_EVENT_SUBSET] > 0 && w.seen[OATGP_EVENT_REFINE] == 0);
    assert_int_equal(w.smallest, oatgp_data_rows(data));
    before = info.knots;
  }
  oatgp_data_free(data);
}

/* With many, doubling ends when it gains nothing, with the knots that were enough. New rows are then predicted nearly
 * as well as by the true function and noise. Each of about 20 parameters and knots costs 1 / (2 n) nats a row; over
 * 2000 rows this has a standard deviation of 0.003. */
static void many_rows_double_until_nothing_is_gained(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 600, 1, 0.2, 3), *test = wavy_data(s, 2000, 1, 0.2, 33);
  watch w = {0};
  s->settings.subset_rows = 150;
  oatgp_model *model = fit_watched(s, data, &w);
  const oatgp_model_info info = info_of(model);
  assert_true(info.stop == OATGP_STOP_TOL_ROW || info.stop == OATGP_STOP_CANDIDATES);
  assert_int_equal(w.smallest, 150);
  assert_true(w.seen[OATGP_EVENT_KEPT] >= 1 && w.seen[OATGP_EVENT_REFINE] == 1);
  assert_true(info.knots < 150);
  const double evidence = exact_from_starts(s, data), worse = held_out_nlp(s, model, test) - wavy_nlp(test, 0.2);
  assert_true(info.objective <= evidence + 1e-6 && info.objective >= evidence - allowed(s, data));
  assert_true(worse > -0.01 && worse < 20.0 / 2 / 600 + 0.01);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(test);
}

static void most_knots_are_a_limit(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 400, 3, 0.05, 4);
  for (int many = 0; many < 2; many++) {
    watch w = {0};
    s->settings.max_knots = 20;
    s->settings.subset_rows = many ? 120 : NO_SUBSET;
    const oatgp_model_info info = fit_info(s, data, &w);
    assert_int_equal(info.stop, OATGP_STOP_MAX_KNOTS);
    assert_int_equal(info.knots, 20);
    assert_int_equal(w.seen[OATGP_EVENT_REFINE], 1);
  }
  oatgp_data_free(data);
}

/* A model at its start values can be the result, too. No result predicts left-out rows worse than a constant does. */
static void fit_and_keep(scratch *s, const oatgp_data *data, watch *w, oatgp_stop stop) {
  oatgp_model *model = fit_watched(s, data, w), *loaded = NULL;
  assert_int_equal(info_of(model).stop, stop);
  assert_true(info_of(model).knots > 0);
  assert_true(info_of(model).loo_mean_nlp <= constant_nlp(data, data) + 1e-3);
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &loaded));
  expect_same_model(s, data, model, loaded);
  oatgp_model_free(model);
  oatgp_model_free(loaded);
}

/* Wherever it is stopped there is a model, and the reason is the caller's. */
static void stopped_anywhere_there_is_a_model(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 300, 2, 0.05, 5);
  static const oatgp_event_kind kinds[] = {OATGP_EVENT_SUBSET, OATGP_EVENT_START, OATGP_EVENT_PROPOSAL,
                                           OATGP_EVENT_KEPT, OATGP_EVENT_REFINE};
  s->settings.subset_rows = 100;
  s->settings.max_knots = 200;
  for (size_t i = 0; i < LENGTH(kinds); i++) {
    watch w = {.stop_at = kinds[i], .stops_at_kind = true};
    fit_and_keep(s, data, &w, OATGP_STOP_USER);
  }
  watch w = {0};
  s->settings.max_eval = 3; /* of the model's own objective */
  fit_and_keep(s, data, &w, OATGP_STOP_EVALUATIONS);
  s->settings.time_limit = 1e-9;
  fit_and_keep(s, data, &w, OATGP_STOP_TIME);
  oatgp_data_free(data);
}

/* A fit that is stopped after any number of events, also while the exact GP of some rows is optimised, continues from
 * its checkpoint to the same model. */
static void resumed_it_is_the_same(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, under_valgrind() ? 80 : 200, 2, 0.05, 6);
  static const struct {
    int64_t subset_rows,
        max_knots; /* the exact GP of all rows at once; that of few and then of all; that of few, knots are doubled */
  } cases[] = {{NO_SUBSET, 30}, {100, 30}, {100, 0}, {60, 100}};
  for (size_t i = 0; i < LENGTH(cases); i++) {
    watch whole = {0};
    s->settings.subset_rows = under_valgrind() && i > 0 ? cases[i].subset_rows / 2 : cases[i].subset_rows;
    s->settings.max_knots = cases[i].max_knots;
    s->settings.checkpoint = s->settings.resume = "";
    oatgp_model *model = fit_watched(s, data, &whole);
    for (size_t at = 1; at < whole.calls; at += whole.calls / amount(8, 3, 3) + 1) {
      watch w = {.stop_after = at};
      s->settings.checkpoint = s->path;
      s->settings.resume = "";
      oatgp_model_free(fit_watched(s, data, &w));
      s->settings.checkpoint = "";
      s->settings.resume = s->path;
      oatgp_model *resumed = must_fit(s, data, NULL);
      expect_same_model(s, data, model, resumed);
      oatgp_model_free(resumed);
    }
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

static void threads_change_no_bit(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, amount(2500, 1000, 500), 2, 0.1, 7);
  s->settings.subset_rows = 100;
  s->settings.max_knots = 60;
  s->settings.max_iter = 5;
  oatgp_model *one = must_fit(s, data, NULL);
  s->settings.threads = 3;
  oatgp_model *three = must_fit(s, data, NULL);
  expect_same_model(s, data, one, three);
  oatgp_model_free(one);
  oatgp_model_free(three);
  oatgp_data_free(data);
}

/* Given knots leave nothing to choose. */
static void given_knots_are_moved(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  s->settings.knots = "kmeans:12";
  oatgp_model *automatic = must_fit(s, data, NULL);
  s->settings.select = "simultaneous";
  oatgp_model *simultaneous = must_fit(s, data, NULL);
  expect_same_model(s, data, automatic, simultaneous);
  assert_string_equal(info_of(automatic).select, "simultaneous");
  oatgp_model_free(automatic);
  oatgp_model_free(simultaneous);
  s->settings.select = "auto";
  s->settings.kernel = "exponential";
  oatgp_model *fixed = must_fit(s, data, NULL);
  assert_string_equal(info_of(fixed).select, "fixed");
  oatgp_model_free(fixed);
  oatgp_data_free(data);
}

/* Every kernel, sparse model and mean. A few iterations go most of the way from a constant to the function and the
 * noise that the rows were made of. */
static void everything_can_be_selected_automatically(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "tvfe", "dic", "dtc", "fic", "fitc", "pep"};
  static const char *const kernels[] = {"se", "rq-ard", "exponential", "matern32", "matern52-ard", "se-ard", "rq"};
  static const char *const means[] = {"mean", "linear", "fit", "0"};
  oatgp_data *data = wavy_data(s, 150, 2, 0.1, 8);
  const double halfway = (constant_nlp(data, data) + wavy_nlp(data, 0.1)) / 2;
  s->settings.max_iter = under_valgrind() ? 2 : 10;
  for (size_t i = 0; i < LENGTH(models); i++) {
    s->settings.approx = models[i];
    s->settings.kernel = kernels[i];
    s->settings.mean = means[i % LENGTH(means)];
    s->settings.subset_rows = i % 2 == 0 ? 60 : NO_SUBSET;
    oatgp_model *model = fit_sanely(s, data, NULL);
    assert_true(info_of(model).loo_mean_nlp < halfway);
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* Pure noise is recognised if the exact GP of all rows is known; otherwise, the knots at the start of the doubling give
 * the same result. Its objective is that of a constant with noise, up to the small remaining sigma. */
static void nothing_but_noise(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  enum { N = 500 };
  double x[N], y[N];
  oat_rng rng;
  oat_rng_seed(&rng, 9);
  for (size_t i = 0; i < N; i++) {
    x[i] = oat_rng_uniform(&rng);
    y[i] = 3 + oat_rng_normal(&rng);
  }
  static const struct {
    int64_t subset_rows, memory; /* all rows have their exact GP; 120 of them; none has */
    bool said;
  } cases[] = {{NO_SUBSET, 0, true}, {120, 0, false}, {120, 1, false}};
  oatgp_data *data = make_data(s, N, 1, x, y);
  const double constant = constant_objective(data);
  assert_nats(exact_from_starts(s, data), constant, 1e-3); /* on these rows the best GP is that constant */
  for (size_t i = 0; i < LENGTH(cases); i++) {
    watch w = {0};
    s->settings.subset_rows = cases[i].subset_rows;
    s->settings.memory = cases[i].memory > 0 ? cases[i].memory : s->settings.memory;
    s->said[0] = '\0';
    const oatgp_model_info info = fit_info(s, data, &w);
    assert_nats(info.objective, constant, 0.01);
    assert_int_equal(strstr(s->said, "the model is that constant") != NULL, cases[i].said);
    assert_true(info.knots >= 1 && info.knots < (cases[i].said ? 2 : 2 * FIRST_KNOTS));
    assert_near(info.tau * info.tau, exp(-2 * constant / N - 1) / (2 * acos(-1)), 1e-4); /* the variance of y */
  }
  oatgp_data_free(data);
}

/* An optimum that was not reached is no evidence of noise. However early a fit ends, and with however few knots, it
 * predicts new rows no worse than a constant does. A model that is not a bound comes near the evidence, and a message
 * says if it is above. */
static void signal_is_not_called_noise(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 200, 4, 0.1, 10), *test = wavy_data(s, 400, 4, 0.1, 34);
  static const struct {
    int64_t max_iter, max_knots;
    double time_limit;
  } cases[] = {{0, 0, 0}, {1000, 0, 1e-3}, {1000, 2, 0}};
  for (size_t i = 0; i < LENGTH(cases); i++) {
    s->settings.max_iter = cases[i].max_iter;
    s->settings.max_knots = cases[i].max_knots;
    s->settings.time_limit = cases[i].time_limit;
    oatgp_model *model = fit_sanely(s, data, NULL);
    assert_null(strstr(s->said, "chance"));
    assert_true(held_out_nlp(s, model, test) <= constant_nlp(data, test) + 0.01);
    assert_true(cases[i].max_knots == 0 || info_of(model).knots == 2);
    oatgp_model_free(model);
  }
  expect_said(s, "below the log evidence of the exact GP");
  s->settings.max_knots = 0;
  s->settings.approx = "dtc";
  oatgp_model *dtc = must_fit(s, data, NULL);
  const double above = info_of(dtc).objective - exact_from_starts(s, data);
  assert_true(fabs(above) < 2 * allowed(s, data));
  assert_int_equal(strstr(s->said, "above the log evidence of the exact GP") != NULL, above > allowed(s, data));
  oatgp_model_free(dtc);
  oatgp_data_free(data);
  oatgp_data_free(test);
}

/* A start at which the exact GP cannot be factorised is no evidence of noise either. */
static void a_hopeless_start_is_not_called_noise(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  oatgp_data *data = motorcycle(s); /* has rows with the same input */
  const double evidence = exact_from_starts(s, data);
  s->settings.tau = 1e-10;
  oatgp_model *model = must_fit(s, data, NULL);
  assert_null(strstr(s->said, "chance"));
  assert_true(info_of(model).objective <= evidence + 1e-6);
  assert_true(info_of(model).objective >= evidence - allowed(s, data) - 1e-3);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* --refine moves the knots of a fit that reached the evidence without. */
static void refined_if_asked_for(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  watch plain = {0}, refined = {0};
  const double before = fit_info(s, data, &plain).objective;
  s->settings.refine = 1;
  const oatgp_model_info info = fit_info(s, data, &refined);
  assert_true(plain.seen[OATGP_EVENT_REFINE] == 0 && refined.seen[OATGP_EVENT_REFINE] == 1);
  assert_true(info.objective > before && info.objective <= exact_from_starts(s, data) + 1e-6);
  assert_int_equal(info.stop, OATGP_STOP_EVIDENCE);
  oatgp_data_free(data);
}

/* ---- parameters of a subset ------------------------------------------------------------------------------------ */

/* Where the optimisation of all rows begins after the second part of the subset's, for two inputs. */
typedef struct beginning {
  size_t parts; /* of the subset, each with steps of all rows behind it */
  bool in_subset;
  double lengthscale[2], sigma, tau;
} beginning;

static int observe_beginning(void *user, const oatgp_event *event) {
  beginning *b = user;
  const bool in_subset = event->kind == OATGP_EVENT_SUBSET;
  b->parts += in_subset && !b->in_subset;
  if (b->in_subset && !in_subset && b->parts == 2) {
    memcpy(b->lengthscale, event->lengthscales, sizeof b->lengthscale);
    b->sigma = event->sigma;
    b->tau = event->tau;
  }
  b->in_subset = in_subset;
  return 0;
}

/* A nearly linear function of one of two inputs, with little noise: sigma is large beside tau. With a lengthscale of
 * five spreads the other input would move the function by far more than the noise; with sigma / tau it does not. */
static void idle_inputs_do_not_drown_the_function(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  enum { N = 400 };
  oatgp_data *data = wavy_data(s, N, 2, 0, 41);
  oatgp_model *model = NULL;
  beginning b = {0};
  oat_rng rng;
  oat_rng_seed(&rng, 42);
  for (size_t i = 0; i < N; i++) {
    data->own_y[i] = data->x[i] + 0.1 * sin(data->x[i]) + 0.002 * oat_rng_normal(&rng);
  }
  s->settings.subset_rows = 100;
  s->settings.prior = "none";
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, observe_beginning, &b, &model));
  assert_int_equal(b.parts, 2);
  assert_true(b.sigma > 500 * b.tau);
  assert_true(b.lengthscale[1] > 100 && b.lengthscale[1] < (1 + 1e-9) * b.sigma / b.tau);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Three of 160 rows are copies of others. If all noise is fitted as signal, the leave-one-out density of these six
 * gains so much that it may outweigh all other rows, but the evidence loses more. */
static void copies_do_not_outweigh_the_evidence(void **state) {
  skip_under_valgrind();
  scratch *s = *state;
  enum { N = 160, COPIES = 3 };
  for (uint64_t seed = 4; seed <= 10; seed += 2) {
    oatgp_data *data = wavy_data(s, N, 2, 0, 50 + seed);
    oat_rng rng;
    oat_rng_seed(&rng, seed);
    for (size_t i = 0; i < N; i++) {
      data->own_y[i] = sin(2 * data->x[i]) + 0.4 * oat_rng_normal(&rng);
    }
    for (size_t i = 0; i < COPIES; i++) {
      data->own_x[N - 1 - i] = data->x[i];
      data->own_x[2 * N - 1 - i] = data->x[N + i];
      data->own_y[N - 1 - i] = data->y[i];
    }
    oatgp_model *model = must_fit(s, data, NULL);
    assert_true(info_of(model).tau > 0.3);
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
}

/* The sum that decides between optima is that of oatgp_loo, with an estimated mean, too. */
static void rows_left_out(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  static const char *const means[] = {"0", "fit", "linear"};
  for (size_t p = 0; p < LENGTH(means); p++) {
    s->settings.approx = "full";
    s->settings.max_iter = 0;
    s->settings.scale = 0;
    s->settings.mean = means[p];
    s->settings.lengthscale = "5";
    oatgp_model *model = must_fit(s, data, NULL);
    const oatgp_model_info info = info_of(model);
    const size_t n = oatgp_data_rows(data);
    double theta[] = {info.sigma, info.tau, 1, 5}, *r = calloc(n * 3, sizeof *r);
    for (size_t i = 0; i < n; i++) {
      r[i] = data->y[i];
      r[i + n] = 1;
      r[i + 2 * n] = data->x[i];
    }
    const oat_rows rows = {.n = n, .d = 1, .p = p, .x = data->x, .r = r};
    const oat_objective_config config = {
        .approx = oat_approx_find("full"), .kernel = oat_kernel_find("se-ard"), .rows = &rows, .memory = INT64_MAX};
    oat_objective *objective = NULL;
    double value, sum, slopes[4];
    oat_gradient gradient = {slopes, NULL};
    must(s, oat_objective_create(s->ctx, &config, &objective));
    must(s, oat_objective_evaluate(objective, &(oat_point){theta, NULL}, &value, &gradient));
    assert_nats(value, info.objective, 1e-9);
    must(s, oat_full_left_out(objective, &sum));
    assert_nats(-sum / (double)n, info.loo_mean_nlp, 1e-9);
    oat_objective_free(objective);
    oatgp_model_free(model);
    free(r);
  }
  oatgp_data_free(data);
}

#define auto_test(test) cmocka_unit_test_setup_teardown(test, set_up_auto, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      auto_test(few_rows_reach_the_evidence),
      auto_test(many_rows_double_until_nothing_is_gained),
      auto_test(most_knots_are_a_limit),
      auto_test(stopped_anywhere_there_is_a_model),
      auto_test(resumed_it_is_the_same),
      auto_test(threads_change_no_bit),
      auto_test(given_knots_are_moved),
      auto_test(everything_can_be_selected_automatically),
      auto_test(nothing_but_noise),
      auto_test(signal_is_not_called_noise),
      auto_test(a_hopeless_start_is_not_called_noise),
      auto_test(refined_if_asked_for),
      auto_test(idle_inputs_do_not_drown_the_function),
      auto_test(copies_do_not_outweigh_the_evidence),
      auto_test(rows_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
