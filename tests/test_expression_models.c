/* Models whose kernel is an expression, as a user meets them: golden values, parameters by place and by name, what is
 * fixed, units, files, events, updates, and sentences where something is wrong. */
#include "fits.h"
#include "model/model.h"
#include "tensors/tensors.h"

#define KERNEL "se(x1) + linear(x2) * matern52(x1)"

/* Fits that take no time. */
static void small_settings(scratch *s) {
  oatgp_settings_default(&s->settings);
  s->settings.kernel = KERNEL;
  s->settings.knots = "7";
  s->settings.max_iter = 8;
}

static double value_of(const oatgp_model *model, const char *name) {
  const oatgp_model_info info = info_of(model);
  for (size_t i = 0; i < info.parameter_count; i++) {
    if (strcmp(info.parameters[i].name, name) == 0) {
      return info.parameters[i].value;
    }
  }
  fail_msg("there is no parameter '%s'", name);
  return NAN;
}

static void refuse_fit(scratch *s, const oatgp_data *data, oatgp_status status, const char *sentence) {
  oatgp_model *model = NULL;
  assert_int_equal(oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), status);
  assert_string_equal(oatgp_last_error(s->ctx), sentence);
}

/* ---- golden values --------------------------------------------------------------------------------------------- */

static oatgp_data *golden_data(scratch *s, const char *inputs, const char *target) {
  const table x = golden_table(inputs), y = target != NULL ? golden_table(target) : (table){0};
  double *rows = calloc(x.rows * x.columns, sizeof *rows);
  for (size_t i = 0; i < x.rows * x.columns; i++) {
    rows[i] = x.a[i / x.columns + i % x.columns * x.rows];
  }
  oatgp_data *data = make_data(s, x.rows, x.columns, rows, y.a);
  free(rows);
  free(x.a);
  free(y.a);
  return data;
}

static void check_array(const cJSON *expected, size_t count, const double *values) {
  assert_int_equal(cJSON_GetArraySize(expected), count);
  for (size_t i = 0; i < count; i++) {
    assert_near(values[i], cJSON_GetArrayItem(expected, (int)i)->valuedouble, 1e-7);
  }
}

static void check_record(scratch *s, const oatgp_data *data, const oatgp_data *knots, const cJSON *record) {
  oatgp_evaluation e = {0};
  char parameters[200] = "";
  const cJSON *value = NULL, *gradient = cJSON_GetObjectItemCaseSensitive(record, "gradient");
  cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(record, "parameters")) {
    snprintf(parameters + strlen(parameters), sizeof parameters - strlen(parameters), "%s%.17g",
             *parameters != '\0' ? "," : "", value->valuedouble);
  }
  oatgp_settings_default(&s->settings);
  s->settings.kernel = json_text(record, "kernel");
  s->settings.approx = json_text(record, "approx");
  s->settings.tau = json_number(record, "tau");
  s->settings.jitter = json_number(record, "jitter");
  s->settings.parameters = parameters;
  s->settings.scale = 0;
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, knots, 1, &e));
  assert_nats(e.objective, json_number(record, "objective"), 1e-9);
  check_array(cJSON_GetObjectItemCaseSensitive(gradient, "log_parameters"), e.parameter_count, e.d_log_parameters);
  assert_near(e.d_log_tau, json_number(gradient, "log_tau"), 1e-7);
  const cJSON *rows = cJSON_GetObjectItemCaseSensitive(gradient, "knots");
  assert_int_equal(rows != NULL, e.d_knots != NULL);
  for (size_t c = 0; rows != NULL && c < e.knots; c++) {
    check_array(cJSON_GetArrayItem(rows, (int)c), e.inputs, e.d_knots + c * e.inputs);
  }
  oatgp_evaluation_clear(&e);
}

static void golden_kernels(void **state) {
  scratch *s = *state;
  cJSON *all = read_json(TEST_DATA_DIR "/golden/beyond.json");
  const cJSON *records = cJSON_GetObjectItemCaseSensitive(all, "kernels"), *record = NULL;
  oatgp_data *data = golden_data(s, "X.csv", "y.csv"), *knots = golden_data(s, "Xu.csv", NULL);
  assert_int_equal(cJSON_GetArraySize(records), 10);
  cJSON_ArrayForEach(record, records) { check_record(s, data, knots, record); }
  oatgp_data_free(data);
  oatgp_data_free(knots);
  cJSON_Delete(all);
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

/* By place and by name they are the same, in the data's units whether these are scaled or not. */
static void parameters_by_place_and_name(void **state) {
  scratch *s = *state;
  static const char *const given[] = {
      "1.5,0.8,0.7,2",
      "matern52(x1).lengthscale=2, se( x1 ).sigma = 1.5,(linear(x2) * matern52(x1)).sigma=0.7,se(x1).lengthscale=0.8"};
  static const double expected[] = {1.5, 0.8, 0.7, 2};
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 401);
  for (size_t i = 0; i < 2 * LENGTH(given); i++) {
    oatgp_evaluation e = {0};
    small_settings(s);
    s->settings.parameters = given[i / 2];
    s->settings.scale = i % 2;
    must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &e));
    assert_int_equal(e.parameter_count, LENGTH(expected));
    for (size_t j = 0; j < LENGTH(expected); j++) {
      assert_near(e.parameters[j].value, expected[j], 1e-14);
    }
    assert_string_equal(e.parameters[2].name, "(linear(x2) * matern52(x1)).sigma");
    assert_string_equal(e.parameters[2].unit, "target");
    assert_string_equal(e.parameters[3].unit, "input");
    assert_true(isnan(e.sigma) && isnan(e.shape) && e.lengthscale_count == 0);
    oatgp_evaluation_clear(&e);
  }
  oatgp_data_free(data);
}

/* Scaling the inputs changes nothing for leaves that see differences only; linear is about the centre. */
static void scaled_inputs_have_the_data_s_units(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 402);
  double value[2];
  for (int scale = 0; scale < 2; scale++) {
    oatgp_evaluation e = {0};
    small_settings(s);
    s->settings.kernel = "periodic(x1) * rq(x2) + cosine(x2) + matern12(x1, x2)";
    s->settings.parameters = "1.2,3,0.8,2,1.5,0.6,2.5,0.9,1.1,1.3";
    s->settings.tau = 0.3;
    s->settings.approx = "full";
    s->settings.scale = scale;
    must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &e));
    value[scale] = e.objective;
    oatgp_evaluation_clear(&e);
  }
  assert_nats(value[1], value[0], 1e-9);
  oatgp_data_free(data);
}

static void fixed_parameters_stay(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 403);
  small_settings(s);
  s->settings.parameters = "se(x1).lengthscale=0.9,tau=0.2";
  s->settings.fix = "se(x1) .lengthscale, tau";
  oatgp_model *model = must_fit(s, data, NULL);
  assert_near(value_of(model, "se(x1).lengthscale"), 0.9, 1e-14);
  assert_near(info_of(model).tau, 0.2, 1e-14);
  const double moved = value_of(model, "matern52(x1).lengthscale");
  oatgp_model_free(model);
  s->settings.fix = "lengthscale"; /* all of them */
  model = must_fit(s, data, NULL);
  assert_near(value_of(model, "se(x1).lengthscale"), 0.9, 1e-14);
  assert_true(fabs(value_of(model, "matern52(x1).lengthscale") - moved) > 1e-6);
  assert_true(fabs(info_of(model).tau - 0.2) > 1e-6);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* However the parameters are found, they end within the range; at its end, if the optimum is beyond it. */
static void ranges_are_kept(void **state) {
  scratch *s = *state;
  static const char *const kernels[] = {"se(x1) + linear(x2) * matern52(x1)", "se-ard"}, *const selections[] = {
                                                                                             "auto", "simultaneous",
                                                                                             "oat-rs"};
  static const char *const ranges[] = {" se( x1 ).lengthscale = 0.01:0.02,tau=2 : 3", "lengthscale=0.01:0.02,tau=2:3"};
  oatgp_data *data = wavy_data(s, 60, 2, 0.1, 405);
  for (size_t i = 0; i < LENGTH(kernels) * LENGTH(selections); i++) {
    small_settings(s);
    s->settings.kernel = kernels[i % 2];
    s->settings.range = ranges[i % 2];
    s->settings.select = selections[i / 2];
    s->settings.optimizer = i % 3 == 0 ? "adadelta" : "lbfgs";
    oatgp_model *model = must_fit(s, data, NULL);
    const double l = i % 2 == 0 ? value_of(model, "se(x1).lengthscale") : info_of(model).lengthscales[1];
    assert_true(l >= 0.01 * (1 - 1e-12) && l <= 0.02 * (1 + 1e-12));
    assert_true(info_of(model).tau >= 2 * (1 - 1e-12) && info_of(model).tau <= 3 * (1 + 1e-12));
    oatgp_model_free(model);
  }
  s->settings.range = "tau=3:2";
  refuse_fit(s, data, OATGP_ARGUMENT, "range: 'tau=3:2' is not NAME=A:B with two positive numbers, the smaller first");
  s->settings.range = "tau=3";
  refuse_fit(s, data, OATGP_ARGUMENT, "range: 'tau=3' is not NAME=A:B with two positive numbers, the smaller first");
  s->settings.range = "tau";
  refuse_fit(s, data, OATGP_ARGUMENT, "range: 'tau' is not NAME=A:B with two positive numbers, the smaller first");
  s->settings.range = "period=1:2";
  refuse_fit(s, data, OATGP_ARGUMENT, "range: 'period' is not one of sigma, tau, shape, lengthscale");
  s->settings.kernel = "auto";
  refuse_fit(s, data, OATGP_ARGUMENT, "ranges belong to one kernel; name that kernel instead of auto");
  oatgp_data_free(data);
}

static void wrong_parameters_are_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 404);
  small_settings(s);
  s->settings.kernel = "se(x1) + linear(x3)";
  refuse_fit(s, data, OATGP_ARGUMENT,
             "kernel: there is no input 'x3'; expected one of 'x1', 'x2'\n  se(x1) + linear(x3)\n                  ^");
  s->settings.kernel = "se(x1) + linear(x2)";
  s->settings.parameters = "1,2";
  refuse_fit(s, data, OATGP_ARGUMENT,
             "parameters: 2 values were given, but the kernel has 3 parameters: se(x1).sigma, se(x1).lengthscale, "
             "linear(x2).sigma");
  s->settings.parameters = "1,2,3,4";
  refuse_fit(s, data, OATGP_ARGUMENT,
             "parameters: 4 values were given, but the kernel has 3 parameters: se(x1).sigma, se(x1).lengthscale, "
             "linear(x2).sigma");
  s->settings.parameters = "1,-2,3";
  refuse_fit(s, data, OATGP_ARGUMENT, "parameters: '-2' for se(x1).lengthscale is not a positive number");
  s->settings.parameters = "se(x2).sigma=1";
  refuse_fit(s, data, OATGP_ARGUMENT,
             "parameters: 'se(x2).sigma' is not one of tau, se(x1).sigma, se(x1).lengthscale, linear(x2).sigma");
  s->settings.parameters = "se(x1).sigma=a";
  refuse_fit(s, data, OATGP_ARGUMENT, "parameters: 'a' for se(x1).sigma is not a positive number");
  s->settings.parameters = "";
  s->settings.fix = "shape";
  refuse_fit(s, data, OATGP_ARGUMENT,
             "fix: 'shape' is not one of tau, se(x1).sigma, se(x1).lengthscale, linear(x2).sigma");
  s->settings.fix = "";
  s->settings.kernel = "se-ard";
  s->settings.parameters = "1,2";
  refuse_fit(s, data, OATGP_ARGUMENT,
             "parameters are for kernel expressions; kernel se-ard has the settings sigma, lengthscale, tau and shape");
  oatgp_data_free(data);
}

/* Terms start as large as the spread of the target, whatever the values of their inputs. */
static void linear_terms_start_at_the_size_of_the_target(void **state) {
  scratch *s = *state;
  enum { ROWS = 30 };
  double x[2 * ROWS], y[ROWS], start[2][4];
  for (size_t i = 0; i < ROWS; i++) {
    x[2 * i] = 2000 + (double)i;
    x[2 * i + 1] = 1e-3 * (double)(i % 7);
    y[i] = (double)(i % 5);
  }
  oatgp_data *data = make_data(s, ROWS, 2, x, y);
  for (int scale = 0; scale < 2; scale++) {
    oatgp_evaluation e = {0};
    small_settings(s);
    s->settings.kernel = "linear() + linear(x1)^2 * linear(x2) + linear(x1) * (constant + se(x2))";
    s->settings.scale = scale;
    must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &e));
    for (size_t j = 0; j < 4; j++) {
      start[scale][j] = e.parameters[j].value;
    }
    oatgp_evaluation_clear(&e);
  }
  const double size = start[1][2], far = 2014.5, near = 0.0035; /* about the roots of the mean squares */
  assert_near(start[1][0], size / sqrt(2), 1e-12);
  assert_near(start[1][1], size, 1e-12);
  assert_true(fabs(start[0][0] * far / size - 1) < 0.01);
  assert_true(fabs(start[0][1] * far * far * near / size - 1) < 0.2);
  assert_true(fabs(start[0][2] * far / size - 1) < 0.01 && start[0][3] == start[0][2]);
  oatgp_data_free(data);
}

/* A trend, a season of 1.25 that is no sine, and a slower wave of 4. */
static oatgp_data *seasons(scratch *s, size_t n) {
  double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
  oat_rng rng;
  oat_rng_seed(&rng, 410);
  for (size_t i = 0; i < n; i++) {
    const double t = 2000 + 30 * (double)i / (double)n, turn = 2 * acos(-1) * t;
    x[i] = t;
    y[i] = 1e3 + 5 * (t - 2000) + 4 * sin(turn / 1.25) + 6 * cos(2 * turn / 1.25) + 3 * sin(turn / 4) +
           oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, n, 1, x, y);
  free(x);
  free(y);
  return data;
}

/* Those that are not given start where the data show a wave, however many rows there are. */
static void periods_start_where_the_data_show_them(void **state) {
  scratch *s = *state;
  for (size_t i = 0; i < 4; i++) {
    oatgp_data *data = seasons(s, i < 2 ? 300 : 5000);
    oatgp_evaluation e = {0};
    small_settings(s);
    s->settings.kernel = "se(x1) + periodic(x1) + cosine(x1) + cosine(x1)";
    s->settings.parameters = "cosine(x1)#2.period=7";
    s->settings.scale = i % 2;
    must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &e));
    assert_string_equal(e.parameters[3].name, "periodic(x1).period");
    assert_near(e.parameters[3].value, 1.25, 0.01);
    assert_near(e.parameters[6].value, 4, 0.05);
    assert_near(e.parameters[8].value, 7, 1e-14); /* given */
    oatgp_evaluation_clear(&e);
    oatgp_data_free(data);
  }
}

/* ---- models ---------------------------------------------------------------------------------------------------- */

/* A file gives the same model, bit for bit: parameters, predictions, and the file again. */
static void files_come_back(void **state) {
  scratch *s = *state;
  static const char *const kernels[] = {KERNEL, "(se(\"mean temperature\") + constant)^2 * (rq + polynomial(x2, 2))",
                                        "constant()", "matern32()", "cosine(x2)^2 * se(x2) + (periodic(x2) + linear)"};
  static const char *const approx[] = {"vfe", "fitc", "full"};
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 405);
  for (size_t i = 0; i < LENGTH(kernels) * LENGTH(approx); i++) {
    const char *names[] = {i / LENGTH(approx) == 1 ? "mean temperature" : "x1", "x2"};
    must(s, oatgp_data_set_names(s->ctx, data, names, "y"));
    small_settings(s);
    s->settings.kernel = kernels[i / LENGTH(approx)];
    s->settings.approx = approx[i % LENGTH(approx)];
    s->settings.max_iter = 3;
    oatgp_model *model = must_fit(s, data, NULL), *again = NULL;
    must(s, oatgp_model_save(s->ctx, model, s->path));
    must(s, oatgp_model_load(s->ctx, s->path, &again));
    const oatgp_model_info a = info_of(model), b = info_of(again);
    assert_string_equal(b.kernel, a.kernel);
    assert_int_equal(b.parameter_count, a.parameter_count);
    for (size_t j = 0; j < a.parameter_count; j++) {
      assert_string_equal(b.parameters[j].name, a.parameters[j].name);
      assert_true(b.parameters[j].value == a.parameters[j].value);
    }
    double *before = must_predict(s, model, data), *after = must_predict(s, again, data);
    assert_memory_equal(after, before, 3 * data->n * sizeof *before);
    free(before);
    free(after);
    oatgp_model_free(model);
    oatgp_model_free(again);
  }
  oatgp_data_free(data);
}

static void replace(scratch *s, const char *key, const char *text) {
  oat_tensors file = {0};
  must(s, oat_tensors_read(s->ctx, s->path, &file));
  for (size_t i = 0; i < file.text_count; i++) {
    if (strcmp(file.text[i].key, key) == 0) {
      free(file.text[i].value);
      file.text[i].value = strdup(text);
    }
  }
  must(s, oat_tensors_write(s->ctx, &file, s->path));
  oat_tensors_clear(&file);
}

static void forged_files_are_refused(void **state) {
  scratch *s = *state;
  static const struct {
    const char *key, *text, *piece;
  } cases[] = {
      {"kernel", "se(x1) + linear(x2) * matern52(x3)",
       "with kernel 'se(x1) + linear(x2) * matern52(x3)', which this oatgp does not know"},
      {"kernel", "se(x1) + linear(x2) * matern52(x1", "which this oatgp does not know"},
      {"kernel", "se(x1)+linear(x2)*matern52(x1)", "which this oatgp does not know"}, /* not as it is written */
      {"kernel", "se(x1) + linear(x2)", "theta"},
      {"inputs", "[\"x1\", \"x3\"]", "which this oatgp does not know"},
  };
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 406);
  small_settings(s);
  oatgp_model *model = must_fit(s, data, NULL);
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oatgp_model *forged = NULL;
    must(s, oatgp_model_save(s->ctx, model, s->path));
    replace(s, cases[i].key, cases[i].text);
    assert_int_equal(oatgp_model_load(s->ctx, s->path, &forged), OATGP_FORMAT);
    assert_non_null(strstr(oatgp_last_error(s->ctx), cases[i].piece));
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* A refit with rows that have other names by place keeps its tree, under the names of the rows. */
static void refits_and_updates(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 407), *more = wavy_data(s, 60, 2, 0.1, 408);
  const char *names[] = {"a", "b"};
  oatgp_model *model, *again = NULL;
  must(s, oatgp_data_set_names(s->ctx, data, names, "y"));
  small_settings(s);
  s->settings.kernel = "se(a) + linear(b) * matern52(a)";
  model = must_fit(s, data, NULL);
  must(s, oatgp_refit(s->ctx, model, more, &s->settings, NULL, NULL, &again));
  assert_string_equal(info_of(again).kernel, KERNEL);
  must(s, oatgp_model_save(s->ctx, again, s->path));
  oatgp_model_free(again);
  must(s, oatgp_model_load(s->ctx, s->path, &again));
  must(s, oatgp_update(s->ctx, again, more));
  oatgp_model_free(again);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(more);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

typedef struct seen {
  size_t events;
  double last;
} seen;

static int look(void *user, const oatgp_event *event) {
  seen *w = user;
  assert_int_equal(event->parameter_count, 4);
  assert_string_equal(event->parameters[1].name, "se(x1).lengthscale");
  assert_true(event->lengthscale_count == 0 && isnan(event->sigma));
  w->events++;
  w->last = event->parameters[1].value;
  return 0;
}

static void events_name_parameters(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.1, 409);
  oatgp_model *model = NULL;
  seen w = {0};
  small_settings(s);
  must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, look, &w, &model));
  assert_true(w.events > 3);
  assert_true(w.last == value_of(model, "se(x1).lengthscale"));
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* A constant input is left out; a kernel that names it is refused after a note that says so. */
static void constant_inputs(void **state) {
  scratch *s = *state;
  const double x[] = {1, 5, 2, 5, 3, 5, 4, 5, 5, 5}, y[] = {1, 3, 2, 5, 4};
  oatgp_data *data = make_data(s, 5, 2, x, y);
  small_settings(s);
  s->settings.kernel = "se() + linear";
  s->settings.knots = "3";
  oatgp_model *model = must_fit(s, data, NULL);
  assert_string_equal(info_of(model).kernel, "se() + linear()");
  assert_string_equal(info_of(model).parameters[1].name, "se().lengthscale");
  oatgp_model_free(model);
  s->settings.kernel = "se(x1) + linear(x2)";
  refuse_fit(s, data, OATGP_ARGUMENT,
             "kernel: there is no input 'x2'; expected 'x1'\n  se(x1) + linear(x2)\n                  ^");
  assert_non_null(strstr(s->said, "note input 'x2' is constant and is left out\n"));
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(golden_kernels),
      WITH_SCRATCH(parameters_by_place_and_name),
      WITH_SCRATCH(scaled_inputs_have_the_data_s_units),
      WITH_SCRATCH(fixed_parameters_stay),
      WITH_SCRATCH(ranges_are_kept),
      WITH_SCRATCH(wrong_parameters_are_refused),
      WITH_SCRATCH(linear_terms_start_at_the_size_of_the_target),
      WITH_SCRATCH(periods_start_where_the_data_show_them),
      WITH_SCRATCH(files_come_back),
      WITH_SCRATCH(forged_files_are_refused),
      WITH_SCRATCH(refits_and_updates),
      WITH_SCRATCH(events_name_parameters),
      WITH_SCRATCH(constant_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
