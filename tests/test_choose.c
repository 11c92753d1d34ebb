/* --kernel auto: its choice, that the choice is repeatable, what the model stores about it, and how it ends early. */
#include "watch.h"

/* A line, a wave of period 1 and little noise at n places, as a series has them. */
static oatgp_data *season(scratch *s, size_t n) {
  double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
  oat_rng rng;
  oat_rng_seed(&rng, 5);
  for (size_t i = 0; i < n; i++) {
    x[i] = (double)i / 8;
    y[i] = 0.2 * x[i] + sin(6.2831853 * x[i]) + 0.1 * oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, n, 1, x, y);
  free(x);
  free(y);
  return data;
}

/* A function of two inputs that is no sum, the second of them only a level of a category where `levels` is set. */
static oatgp_data *product(scratch *s, size_t n, bool levels) {
  static const char *const names[] = {"a", "b"};
  double *x = calloc(2 * n, sizeof *x), *y = calloc(n, sizeof *y);
  oat_rng rng;
  oat_rng_seed(&rng, 6);
  for (size_t i = 0; i < n; i++) {
    x[2 * i] = 4 * oat_rng_uniform(&rng) - 2;
    x[2 * i + 1] = levels ? (double)(i % 2) : 4 * oat_rng_uniform(&rng) - 2;
    y[i] = sin(2 * x[2 * i] * (1 + x[2 * i + 1])) + 0.1 * oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, n, 2, x, y);
  if (levels) {
    must(s, oatgp_data_set_levels(s->ctx, data, 1, 2, names));
  }
  free(x);
  free(y);
  return data;
}

static void settings_for(scratch *s) {
  oatgp_settings_default(&s->settings);
  s->settings.kernel = "auto";
  s->settings.approx = "full";
}

static size_t rows_for(size_t usual) { return under_valgrind() ? 16 : usual; }

static size_t count_lines(const char *text) {
  size_t lines = 0;
  for (; *text != '\0'; text++) {
    lines += *text == '\n';
  }
  return lines;
}

/* Models of kernels that are expressions, bit for bit. */
static void expect_same(scratch *s, const oatgp_data *data, const oatgp_model *a, const oatgp_model *b) {
  const oatgp_model_info first = info_of(a), second = info_of(b);
  double *p = must_predict(s, a, data), *q = must_predict(s, b, data);
  assert_string_equal(first.kernel, second.kernel);
  assert_int_equal(first.knots, second.knots);
  assert_int_equal(first.evaluations, second.evaluations);
  assert_true(first.objective == second.objective && first.tau == second.tau);
  assert_memory_equal(p, q, 3 * oatgp_data_rows(data) * sizeof *p);
  free(p);
  free(q);
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

static void a_season_is_found(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, rows_for(80));
  oatgp_model *model = must_fit(s, data, NULL);
  if (!under_valgrind()) {
    assert_string_equal(info_of(model).kernel, "se(x1) + periodic(x1) * se(x1)");
    assert_non_null(
        strstr(s->said, "note kernel auto chose se(x1) + periodic(x1) * se(x1): held-out rows have a mean nlp of "));
    assert_non_null(strstr(s->said, "with se-ard (exact GP of 80 rows, 4 kernels compared)"));
  }
  assert_int_equal(count_lines(info_of(model).kernel_candidates), 4);
  assert_int_equal(strncmp(info_of(model).kernel_candidates, "se-ard\t", 7), 0);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Two curves cannot represent it, and se-ard needs no more than it has. */
static void no_sum_where_inputs_act_together(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = product(s, rows_for(90), false);
  oatgp_model *model = must_fit(s, data, NULL);
  assert_string_not_equal(info_of(model).kernel, "se(x1) + se(x2)");
  assert_int_equal(count_lines(info_of(model).kernel_candidates), 5);
  assert_non_null(strstr(info_of(model).kernel_candidates, "\nse(x1) + se(x2)\t"));
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void categories_multiply_each(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = product(s, rows_for(60), true);
  oatgp_model *model = must_fit(s, data, NULL);
  const char *line = info_of(model).kernel_candidates;
  assert_int_equal(count_lines(line), 4); /* one number: a season is tried, and no sum */
  for (; *line != '\0'; line = strchr(line, '\n') + 1) {
    const char *leaf = strstr(line, "categorical(x2)");
    assert_true(leaf != NULL && leaf < strchr(line, '\t'));
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* The same seed, any number of threads; the model that a fit by the chosen name has. */
static void the_choice_is_the_same_again(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, rows_for(60));
  s->settings.threads = 1;
  oatgp_model *one = must_fit(s, data, NULL);
  s->settings.threads = 2;
  oatgp_model *two = must_fit(s, data, NULL);
  assert_string_equal(info_of(one).kernel_candidates, info_of(two).kernel_candidates);
  expect_same(s, data, one, two);
  s->settings.kernel = info_of(one).kernel;
  oatgp_model *named = must_fit(s, data, NULL);
  expect_same(s, data, one, named);
  assert_string_equal(info_of(named).kernel_candidates, "");
  oatgp_model_free(one);
  oatgp_model_free(two);
  oatgp_model_free(named);
  oatgp_data_free(data);
}

/* ---- what is kept ---------------------------------------------------------------------------------------------- */

static void a_file_has_the_candidates(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, 16);
  oatgp_model *model = must_fit(s, data, NULL), *read = NULL;
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oatgp_model_load(s->ctx, s->path, &read));
  assert_string_equal(info_of(read).kernel_candidates, info_of(model).kernel_candidates);
  oatgp_model_free(model);
  oatgp_model_free(read);
  oatgp_data_free(data);
}

/* The choice is in the checkpoint: the fit goes on to the same model, and compares nothing again. */
static void a_resumed_fit_has_chosen(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, rows_for(60));
  s->settings.approx = "vfe";
  oatgp_model *whole = must_fit(s, data, NULL);
  watch w = {.stops_at_kind = true, .stop_at = OATGP_EVENT_START};
  s->settings.checkpoint = s->path;
  oatgp_model *half = fit_watched(s, data, &w), *model = NULL;
  assert_int_equal(info_of(half).stop, OATGP_STOP_USER);
  s->settings.checkpoint = "";
  s->settings.resume = s->path;
  s->said[0] = '\0';
  model = must_fit(s, data, NULL);
  assert_null(strstr(s->said, "kernel auto"));
  assert_string_equal(info_of(model).kernel, info_of(whole).kernel);
  assert_string_equal(info_of(model).kernel_candidates, info_of(whole).kernel_candidates);
  expect_same(s, data, model, whole);
  s->settings.kernel = "se-ard"; /* of another fit */
  oatgp_model *none = NULL;
  assert_int_not_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &none), OATGP_OK);
  oatgp_model_free(whole);
  oatgp_model_free(half);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void another_checkpoint_has_no_choice(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, 16);
  oatgp_model *model = NULL;
  s->settings.kernel = "se";
  s->settings.select = "fixed";
  s->settings.max_iter = 2;
  s->settings.checkpoint = s->path;
  s->settings.checkpoint_seconds = 0;
  oatgp_model_free(must_fit(s, data, NULL));
  s->settings.kernel = "auto";
  s->settings.checkpoint = "";
  s->settings.resume = s->path;
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_ARGUMENT);
  assert_non_null(strstr(oatgp_last_error(s->ctx), "is not a checkpoint of a fit with --kernel auto"));
  oatgp_data_free(data);
}

/* ---- early ends and refusals ----------------------------------------------------------------------------------- */

/* Stopping the choice stops the fit, which still has a model. */
static void the_user_stops_it(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, rows_for(60));
  watch w = {.stop_after = 3};
  oatgp_model *model = fit_watched(s, data, &w);
  assert_int_equal(info_of(model).stop, OATGP_STOP_USER);
  assert_string_equal(info_of(model).kernel, "se-ard");
  assert_int_equal(count_lines(info_of(model).kernel_candidates), 1);
  assert_int_equal(w.calls, 5); /* one more, and the end */
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void time_ends_it(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, rows_for(60));
  s->settings.time_limit = 1e-9;
  oatgp_model *model = must_fit(s, data, NULL);
  assert_int_equal(info_of(model).stop, OATGP_STOP_TIME);
  assert_string_equal(info_of(model).kernel, "se-ard");
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void what_needs_a_kernel_refuses(void **state) {
  scratch *s = *state;
  settings_for(s);
  oatgp_data *data = season(s, 16);
  oatgp_model *model = NULL;
  oatgp_evaluation e = {0};
  assert_int_equal(oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &e), OATGP_ARGUMENT);
  assert_string_equal(oatgp_last_error(s->ctx), "--kernel auto works only in a fit; name a kernel here");
  s->settings.parameters = "1,2";
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), OATGP_ARGUMENT);
  assert_string_equal(oatgp_last_error(s->ctx), "parameters belong to one kernel; name that kernel instead of auto");
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_season_is_found, set_up, tear_down),
      cmocka_unit_test_setup_teardown(no_sum_where_inputs_act_together, set_up, tear_down),
      cmocka_unit_test_setup_teardown(categories_multiply_each, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_choice_is_the_same_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_file_has_the_candidates, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_resumed_fit_has_chosen, set_up, tear_down),
      cmocka_unit_test_setup_teardown(another_checkpoint_has_no_choice, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_user_stops_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(time_ends_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_needs_a_kernel_refuses, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
