/* Model files: a saved model predicts as before, damage is detected, and other files are matched to the model's
 * columns. */
#include "fits.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "tensors/tensors.h"
#include "model/model.h"

static const char *const all_models[] = {"full", "dic", "dtc", "vfe", "tvfe", "fic", "fitc", "pep"};

static oatgp_model *must_load(scratch *s) {
  oatgp_model *model = NULL;
  must(s, oatgp_model_load(s->ctx, s->path, &model));
  assert_non_null(model);
  return model;
}

static void refuse_load(scratch *s, const char *path, oatgp_status expected, const char *piece) {
  oatgp_model *const before = (oatgp_model *)s;
  oatgp_model *model = before;
  expect_sentence(s, expected, oatgp_model_load(s->ctx, path, &model), piece);
  assert_ptr_equal(model, before);
}

/* A model of few rows and knots. */
static oatgp_model *small_model(scratch *s) {
  oatgp_data *data = wavy_data(s, 25, 2, 0.1, 9);
  s->settings.knots = "4";
  s->settings.max_iter = 3;
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_data_free(data);
  return model;
}

static void save_small_model(scratch *s) {
  oatgp_model *model = small_model(s);
  must(s, oatgp_model_save(s->ctx, model, s->path));
  oatgp_model_free(model);
}

/* ---- there and back -------------------------------------------------------------------------------------------- */

static void expect_same_texts(const oatgp_model_info *a, const oatgp_model_info *b) {
  const char *const left[] = {a->version,   a->approx,  a->kernel,   a->optimizer,   a->select,  a->target,
                              a->mean_kind, a->command, a->settings, a->fingerprint, a->weights, a->noise_variance};
  const char *const right[] = {b->version,   b->approx,  b->kernel,   b->optimizer,   b->select,  b->target,
                               b->mean_kind, b->command, b->settings, b->fingerprint, b->weights, b->noise_variance};
  for (size_t i = 0; i < LENGTH(left); i++) {
    assert_string_equal(left[i], right[i]);
  }
}

static void expect_same_array(const double *a, const double *b, size_t count) {
  assert_int_equal(a == NULL, b == NULL);
  if (a != NULL) {
    assert_memory_equal(a, b, count * sizeof *a);
  }
}

static void expect_same_info(const oatgp_model *first, const oatgp_model *second) {
  const oatgp_model_info a = info_of(first), b = info_of(second);
  expect_same_texts(&a, &b);
  const double left[] = {a.alpha, a.objective, a.sigma, a.tau, a.shape, a.jitter, a.seconds, a.mean};
  const double right[] = {b.alpha, b.objective, b.sigma, b.tau, b.shape, b.jitter, b.seconds, b.mean};
  assert_memory_equal(left, right, sizeof left);
  const int64_t counts[] = {a.iterations,    a.evaluations, a.rejected,   a.restarts,      a.seed,
                            (int64_t)a.stop, (int64_t)a.n,  (int64_t)a.d, (int64_t)a.knots};
  const int64_t others[] = {b.iterations,    b.evaluations, b.rejected,   b.restarts,      b.seed,
                            (int64_t)b.stop, (int64_t)b.n,  (int64_t)b.d, (int64_t)b.knots};
  assert_memory_equal(counts, others, sizeof counts);
  assert_int_equal(a.lengthscale_count, b.lengthscale_count);
  assert_int_equal(a.history_count, b.history_count);
  expect_same_array(a.lengthscales, b.lengthscales, a.lengthscale_count);
  expect_same_array(a.history, b.history, 3 * a.history_count);
  expect_same_array(a.slopes, b.slopes, a.d);
  expect_same_array(a.input_centre, b.input_centre, a.d);
  expect_same_array(a.input_scale, b.input_scale, a.d);
  for (size_t j = 0; j < a.d; j++) {
    assert_string_equal(oatgp_model_input_name(first, j), oatgp_model_input_name(second, j));
  }
}

/* Everything that a model can say about rows, in one block. The caller frees it. */
static double *ask_everything(scratch *s, const oatgp_model *model, const oatgp_data *data, size_t *count) {
  const size_t n = oatgp_data_rows(data), k = info_of(model).knots, d = info_of(model).d;
  *count = 3 * n + n * n + 2 * n + k * (d + 2);
  double *all = calloc(*count, sizeof *all), *covariance = all + 3 * n, *samples = covariance + n * n,
         *knots = samples + 2 * n;
  const oatgp_prediction out = {all, all + n, all + 2 * n};
  must(s, oatgp_predict(s->ctx, model, data, &out));
  must(s, oatgp_predict_covariance(s->ctx, model, data, covariance));
  must(s, oatgp_predict_samples(s->ctx, model, data, 2, 5, samples));
  if (k > 0) {
    must(s, oatgp_model_knots(s->ctx, model, knots, knots + k * d, knots + k * (d + 1)));
  }
  return all;
}

static void check_round_trip(scratch *s, const oatgp_data *data, const oatgp_data *new_rows) {
  size_t count = 0;
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_model_set_command(s->ctx, model, "oatgp fit \"a file.csv\" --target y\n\t\xc3\xa9"));
  double *before = ask_everything(s, model, new_rows, &count);
  must(s, oatgp_model_save(s->ctx, model, s->path));
  oatgp_model *loaded = must_load(s);
  double *after = ask_everything(s, loaded, new_rows, &count);
  assert_memory_equal(before, after, count * sizeof *before);
  expect_same_info(model, loaded);
  must(s, oatgp_model_save(s->ctx, loaded, s->path)); /* once more: a loaded model is as good as a fitted one */
  oatgp_model *again = must_load(s);
  expect_same_info(model, again);
  free(before);
  free(after);
  oatgp_model_free(model);
  oatgp_model_free(loaded);
  oatgp_model_free(again);
}

static void saved_models_predict_bit_for_bit(void **state) {
  scratch *s = *state;
  const char *const means[] = {"mean", "fit", "linear", "-0.75"}, *const kernels[] = {"se-ard", "rq", "matern52-ard",
                                                                                      "exponential"};
  enum { N = 60 };
  double weights[N], variance[N];
  oatgp_data *data = wavy_data(s, N, 2, 0.1, 1), *new_rows = wavy_data(s, 9, 2, 0, 2);
  const char *const names[] = {"a", "b, with \"quotes\""};
  for (size_t i = 0; i < N; i++) {
    weights[i] = 0.5 + (double)(i % 4);
    variance[i] = 0.01 * (double)(i % 3);
  }
  must(s, oatgp_data_set_names(s->ctx, data, names, "y"));
  s->settings.knots = "7";
  s->settings.max_iter = 4;
  s->settings.restarts = 1;
  for (size_t a = 0; a < LENGTH(all_models); a++) {
    for (size_t i = 0; i < 4; i++) {
      s->settings.approx = all_models[a];
      s->settings.mean = means[i];
      s->settings.kernel = kernels[i];
      s->settings.select = i == 3 ? "fixed" : "simultaneous";
      s->settings.scale = (int)(i % 2);
      must(s, oatgp_data_set_weights(s->ctx, data, i % 2 == 1 ? weights : NULL));
      must(s, oatgp_data_set_noise_variance(s->ctx, data, i > 1 ? variance : NULL));
      check_round_trip(s, data, new_rows);
    }
  }
  oatgp_data_free(new_rows);
  oatgp_data_free(data);
}

static size_t total_size(const oat_tensors *file) {
  size_t sum = 0;
  for (size_t i = 0; i < file->count; i++) {
    sum += file->tensor[i].size;
  }
  return sum;
}

static bool holds_value(const oat_tensors *file, double value) {
  for (size_t i = 0; i < file->count; i++) {
    for (size_t j = 0; j < file->tensor[i].size; j++) {
      if (file->tensor[i].values[j] == value) {
        return true;
      }
    }
  }
  return false;
}

/* Saves a model of n rows and gives back what is in its file; knots that are no rows. */
static void save_rows(scratch *s, size_t n, oat_tensors *file) {
  const double knots[] = {-1.51, 0.31, 0.11, -0.71, 1.31, 1.71};
  oatgp_data *data = wavy_data(s, n, 2, 0.1, 3), *given = make_data(s, 3, 2, knots, NULL);
  s->settings.max_iter = 0;
  s->settings.scale = 0; /* so that rows would be found as they are */
  s->settings.mean = "0";
  oatgp_model *model = must_fit(s, data, given);
  must(s, oatgp_model_save(s->ctx, model, s->path));
  must(s, oat_tensors_read(s->ctx, s->path, file));
  const double unit = model->number[OAT_NUMBER_Y_SCALE];
  for (size_t i = 0; i < n; i++) {
    const bool row =
        holds_value(file, data->x[i]) && holds_value(file, data->x[i + n]) && holds_value(file, data->y[i] / unit);
    assert_int_equal(row, !model->approx->sparse);
  }
  oatgp_model_free(model);
  oatgp_data_free(given);
  oatgp_data_free(data);
}

static void sparse_file_holds_no_row(void **state) {
  scratch *s = *state;
  for (size_t a = 0; a < LENGTH(all_models); a++) {
    oat_tensors few = {0}, many = {0};
    struct stat small, large;
    s->settings.approx = all_models[a];
    save_rows(s, 200, &few);
    assert_int_equal(stat(s->path, &small), 0);
    save_rows(s, a == 0 ? 300 : 2000, &many);
    assert_int_equal(stat(s->path, &large), 0);
    assert_int_equal(few.count, many.count);
    assert_int_equal(total_size(&few) == total_size(&many), a > 0);
    assert_int_equal(large.st_size - small.st_size<64, a> 0); /* the header may hold numbers of other lengths */
    oat_tensors_clear(&few);
    oat_tensors_clear(&many);
  }
}

/* ---- damage ---------------------------------------------------------------------------------------------------- */

static bool is_clear(const scratch *s, oatgp_status status) {
  const char *sentence = oatgp_last_error(s->ctx);
  return (status == OATGP_FORMAT || status == OATGP_READ) && strlen(sentence) > 20 && strstr(sentence, s->path) != NULL;
}

static void expect_damage_is_found(scratch *s, const char *bytes, size_t size, const char *what, size_t at) {
  oatgp_model *model = NULL;
  write_bytes(s, bytes, size);
  s->ctx->error[0] = '\0';
  const oatgp_status status = oatgp_model_load(s->ctx, s->path, &model);
  if (!is_clear(s, status) || model != NULL) {
    fail_msg("%s %zu: status %d, '%s'", what, at, (int)status, oatgp_last_error(s->ctx));
  }
}

static void truncated_files_are_found(void **state) {
  scratch *s = *state;
  size_t size = 0;
  save_small_model(s);
  char *bytes = read_bytes_back(s, &size);
  for (size_t length = 0; length < size; length += length < 64 ? 1 : 61) {
    expect_damage_is_found(s, bytes, length, "cut at", length);
  }
  expect_damage_is_found(s, bytes, size - 1, "cut at", size - 1);
  expect_damage_is_found(s, bytes, size + 1, "longer by", 1); /* the 0 that follows */
  free(bytes);
}

static void changed_bytes_are_found(void **state) {
  scratch *s = *state;
  size_t size = 0;
  save_small_model(s);
  char *bytes = read_bytes_back(s, &size);
  for (size_t at = 0; at < size; at += 17) {
    bytes[at] = (char)(bytes[at] ^ (1 << (at % 8)));
    expect_damage_is_found(s, bytes, size, "byte", at);
    bytes[at] = (char)(bytes[at] ^ (1 << (at % 8)));
  }
  write_bytes(s, bytes, size);
  oatgp_model_free(must_load(s)); /* undamaged again */
  free(bytes);
}

static void refuse_bytes(scratch *s, const unsigned char *bytes, size_t size, const char *piece) {
  oatgp_model *model = NULL;
  expect_sentence(s, OATGP_FORMAT, oatgp_model_from_bytes(s->ctx, bytes, size, &model), piece);
  assert_null(model);
}

static void bytes_in_memory_are_those_of_the_file(void **state) {
  scratch *s = *state;
  for (size_t a = 0; a < LENGTH(all_models); a++) {
    unsigned char *bytes = NULL;
    size_t size = 0, file_size = 0;
    oatgp_model *loaded = NULL;
    s->settings.approx = all_models[a];
    oatgp_model *model = small_model(s);
    must(s, oatgp_model_save(s->ctx, model, s->path));
    must(s, oatgp_model_to_bytes(s->ctx, model, &bytes, &size));
    char *file = read_bytes_back(s, &file_size);
    assert_int_equal(size, file_size);
    assert_memory_equal(bytes, file, size);
    must(s, oatgp_model_from_bytes(s->ctx, bytes, size, &loaded));
    expect_same_info(model, loaded);
    for (size_t length = 0; length < size; length += length < 64 ? 1 : 997) {
      refuse_bytes(s, bytes, length, "(in memory)");
    }
    bytes[size - 9] ^= 1;
    refuse_bytes(s, bytes, size, "'(in memory)' was altered");
    oatgp_bytes_free(bytes);
    oatgp_bytes_free(NULL);
    free(file);
    oatgp_model_free(loaded);
    oatgp_model_free(model);
  }
}

static void other_files_are_refused(void **state) {
  scratch *s = *state;
  char path[256];
  const double values[] = {1, 2, 3};
  write_text(s, "times,accel\n2.4,0\n2.6,-1.3\n");
  refuse_load(s, s->path, OATGP_FORMAT, "is not an oatgp model file");
  write_text(s, "");
  refuse_load(s, s->path, OATGP_FORMAT, s->path);
  oat_tensors other = {0}; /* a tensor file of someone else */
  must(s, oat_tensors_add(s->ctx, &other, "weight", 3, 0, values));
  must(s, oat_tensors_write(s->ctx, &other, s->path));
  refuse_load(s, s->path, OATGP_FORMAT, "is not an oatgp model file");
  oat_tensors_clear(&other);
  refuse_load(s, s->folder, OATGP_READ, "not a regular file");
  snprintf(path, sizeof path, "%s/missing.oatgp", s->folder);
  refuse_load(s, path, OATGP_READ, "No such file");
}

/* ---- files whose checksum is right and whose contents are not -------------------------------------------------- */

typedef void edit(scratch *s, oat_tensors *file);

static void replace_text(scratch *s, oat_tensors *file, const char *key, const char *value) {
  for (size_t i = 0; i < file->text_count; i++) {
    if (strcmp(file->text[i].key, key) == 0) {
      free(file->text[i].value);
      file->text[i].value = strdup(value);
      return;
    }
  }
  must(s, oat_tensors_set(s->ctx, file, key, value));
}

static double *values_of(const oat_tensors *file, const char *name) {
  for (size_t i = 0; i < file->count; i++) {
    if (strcmp(file->tensor[i].name, name) == 0) {
      return file->tensor[i].values;
    }
  }
  fail_msg("there is no '%s'", name);
  return NULL;
}

static void remove_tensor(oat_tensors *file, const char *name) {
  for (size_t i = 0; i < file->count; i++) {
    if (strcmp(file->tensor[i].name, name) == 0) {
      free(file->tensor[i].name);
      free(file->tensor[i].values);
      file->tensor[i] = file->tensor[--file->count];
      return;
    }
  }
  fail_msg("there is no '%s'", name);
}

static void replace_tensor(scratch *s, oat_tensors *file, const char *name, size_t rows, size_t columns) {
  double *zeros = calloc(rows * (columns > 0 ? columns : 1) + 1, sizeof *zeros);
  remove_tensor(file, name);
  must(s, oat_tensors_add(s->ctx, file, name, rows, columns, zeros));
  free(zeros);
}

static void another_version(scratch *s, oat_tensors *file) { replace_text(s, file, "format_version", "3"); }
static void another_format(scratch *s, oat_tensors *file) { replace_text(s, file, "format", "gpml"); }
static void unknown_model(scratch *s, oat_tensors *file) { replace_text(s, file, "approx", "svgp"); }
static void unknown_kernel(scratch *s, oat_tensors *file) { replace_text(s, file, "kernel", "periodic"); }
static void no_names(scratch *s, oat_tensors *file) { replace_text(s, file, "inputs", "x1,x2"); }
static void numbers_for_names(scratch *s, oat_tensors *file) { replace_text(s, file, "inputs", "[1, 2]"); }
static void too_few_names(scratch *s, oat_tensors *file) { replace_text(s, file, "inputs", "[\"x1\"]"); }
static void no_name(scratch *s, oat_tensors *file) { replace_text(s, file, "inputs", "[]"); }
static void no_theta(scratch *s, oat_tensors *file) { remove_tensor(file, "theta"), (void)s; }
static void no_knots(scratch *s, oat_tensors *file) { remove_tensor(file, "knots"), (void)s; }
static void no_seed(scratch *s, oat_tensors *file) { remove_tensor(file, "seed"), (void)s; }
static void short_theta(scratch *s, oat_tensors *file) { replace_tensor(s, file, "theta", 4, 0); }
static void other_factor(scratch *s, oat_tensors *file) { replace_tensor(s, file, "factor_b", 3, 4); }
static void other_history(scratch *s, oat_tensors *file) { replace_tensor(s, file, "history", 7, 0); }
static void empty_knots(scratch *s, oat_tensors *file) { replace_tensor(s, file, "knots", 0, 2); }
static void flat_knots(scratch *s, oat_tensors *file) { replace_tensor(s, file, "knots", 8, 0); }
static void other_coefficients(scratch *s, oat_tensors *file) { replace_tensor(s, file, "coefficients", 2, 0); }
static void negative_sigma(scratch *s, oat_tensors *file) { *values_of(file, "theta") = -1, (void)s; }
static void zero_scale(scratch *s, oat_tensors *file) { values_of(file, "input_scale")[1] = 0, (void)s; }
static void zero_pivot(scratch *s, oat_tensors *file) { values_of(file, "factor_kuu")[5] = 0, (void)s; }
static void infinite_c(scratch *s, oat_tensors *file) { values_of(file, "c")[2] = INFINITY, (void)s; }
static void no_number_rows(scratch *s, oat_tensors *file) { *values_of(file, "n") = NAN, (void)s; }
static void no_rows(scratch *s, oat_tensors *file) { *values_of(file, "n") = 0, (void)s; }
static void unknown_stop(scratch *s, oat_tensors *file) { *values_of(file, "stop") = 99, (void)s; }
static void negative_target_scale(scratch *s, oat_tensors *file) { *values_of(file, "target_scale") = -2, (void)s; }
static void endless_iterations(scratch *s, oat_tensors *file) { *values_of(file, "iterations") = 1e300, (void)s; }
static void negative_columns(scratch *s, oat_tensors *file) { *values_of(file, "file_columns") = -3, (void)s; }
static void target_elsewhere(scratch *s, oat_tensors *file) {
  const double column = 3;
  must(s, oat_tensors_add(s->ctx, file, "target_column", 1, 0, &column)); /* of a file that has none */
}
static void negative_jitter(scratch *s, oat_tensors *file) { *values_of(file, "jitter") = -1, (void)s; }
static void negative_jitter_absolute(scratch *s, oat_tensors *file) {
  *values_of(file, "jitter_absolute") = -1, (void)s;
}
static void alpha_of_another_model(scratch *s, oat_tensors *file) { *values_of(file, "alpha") = 0.5, (void)s; }

static void positions_elsewhere(scratch *s, oat_tensors *file) {
  const double positions[] = {1, -5};
  must(s, oat_tensors_add(s->ctx, file, "positions", 2, 0, positions));
}

static void set_classes(scratch *s, oat_tensors *file, const char *text) {
  must(s, oat_tensors_set(s->ctx, file, "target_levels", text));
}
static void classes_are_no_list(scratch *s, oat_tensors *file) { set_classes(s, file, "{\"a\": 1}"); }
static void classes_are_numbers(scratch *s, oat_tensors *file) { set_classes(s, file, "[0, 1]"); }
static void a_class_twice(scratch *s, oat_tensors *file) { set_classes(s, file, "[\"a\", \"a\"]"); }
static void one_class(scratch *s, oat_tensors *file) { set_classes(s, file, "[\"a\"]"); }
static void exposure_elsewhere(scratch *s, oat_tensors *file) {
  const double place = 3;
  must(s, oat_tensors_add(s->ctx, file, "exposure_column", 1, 0, &place));
}

static void crafted_files_are_refused(void **state) {
  scratch *s = *state;
  const struct {
    edit *change;
    const char *piece;
  } cases[] = {
      {another_version, "has format version 3, and this oatgp reads versions 1 and 2"},
      {another_format, "is not an oatgp model file"},
      {unknown_model, "'svgp' with kernel"},
      {unknown_kernel, "with kernel 'periodic', which this oatgp does not know"},
      {no_names, "no list of inputs"},
      {numbers_for_names, "its input names are not strings"},
      {too_few_names, "the sizes of its parts do not agree"},
      {no_name, "the sizes of its parts do not agree"},
      {no_theta, "theta"},
      {no_knots, "the sizes of its parts do not agree"},
      {no_seed, "seed"},
      {short_theta, "theta"},
      {other_factor, "factor_b"},
      {other_history, "history"},
      {empty_knots, "the sizes of its parts do not agree"},
      {flat_knots, "the sizes of its parts do not agree"},
      {other_coefficients, "the sizes of its parts do not agree"},
      {negative_sigma, "a number that must be positive is not"},
      {zero_scale, "a number that must be positive is not"},
      {zero_pivot, "a number that must be positive is not"},
      {infinite_c, "'c' holds a number that is not finite"},
      {no_number_rows, "is damaged: n"},
      {no_rows, "a number is out of range"},
      {unknown_stop, "a number is out of range"},
      {negative_target_scale, "a number is out of range"},
      {endless_iterations, "a number is out of range"},
      {negative_columns, "a number is out of range"},
      {target_elsewhere, "a number is out of range"},
      {negative_jitter, "a number is out of range"},
      {negative_jitter_absolute, "a number is out of range"},
      {alpha_of_another_model, "a number is out of range"},
      {exposure_elsewhere, "a number is out of range"},
      {classes_are_no_list, "the levels of a column are not a list"},
      {classes_are_numbers, "its levels are not strings"},
      {a_class_twice, "it has a duplicate level"},
      {one_class, "its target has too few or too many classes"},
      {positions_elsewhere, "an input refers to a column that its file does not have"},
  };
  oatgp_model *model = small_model(s);
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_tensors file = {0};
    must(s, oatgp_model_save(s->ctx, model, s->path));
    must(s, oat_tensors_read(s->ctx, s->path, &file));
    cases[i].change(s, &file);
    must(s, oat_tensors_write(s->ctx, &file, s->path));
    refuse_load(s, s->path, OATGP_FORMAT, cases[i].piece);
    oat_tensors_clear(&file);
  }
  oatgp_model_free(model);
}

/* The memory that a full GP needs is reported before it is allocated. */
static void too_many_rows_for_a_full_model(void **state) {
  scratch *s = *state;
  oat_tensors file = {0};
  s->settings.approx = "full";
  s->settings.average = 0;
  save_small_model(s);
  must(s, oat_tensors_read(s->ctx, s->path, &file));
  replace_tensor(s, &file, "rows", 46341, 2);
  replace_tensor(s, &file, "residuals", 46341, 0);
  replace_tensor(s, &file, "noise", 46341, 0);
  *values_of(&file, "n") = 46341;
  must(s, oat_tensors_write(s->ctx, &file, s->path));
  refuse_load(s, s->path, OATGP_MEMORY, "the full GP of 46341 rows, whose matrix needs 16.00 GiB");
  oat_tensors_clear(&file);
}

/* Sizes that the rest of the file does not back are refused before memory is asked for. */
static void sizes_without_their_parts(void **state) {
  scratch *s = *state;
  static const struct {
    const char *approx, *part, *piece;
  } cases[] = {{"full", "rows", "residuals"}, {"vfe", "knots", "factor_kuu"}};
  struct rlimit unlimited, limited;
  assert_int_equal(getrlimit(RLIMIT_AS, &unlimited), 0);
  limited = unlimited;
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes of addresses */
  limited.rlim_cur = (rlim_t)3 << 30;
#endif
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oat_tensors file = {0};
    s->settings.approx = cases[i].approx;
    save_small_model(s);
    must(s, oat_tensors_read(s->ctx, s->path, &file));
    replace_tensor(s, &file, cases[i].part, 40000, 2);
    *values_of(&file, "n") = 40000;
    must(s, oat_tensors_write(s->ctx, &file, s->path));
    assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
    refuse_load(s, s->path, OATGP_FORMAT, cases[i].piece);
    assert_int_equal(setrlimit(RLIMIT_AS, &unlimited), 0);
    oat_tensors_clear(&file);
  }
}

/* Any number in any place: the file is refused, or the model can predict; predictions that are not finite are refused,
 * too. */
static void crafted_numbers_do_no_harm(void **state) {
  scratch *s = *state;
  const double numbers[] = {0, -1, 1, 0.5, 1e300, -1e300, 1e-300, 5e-324, 2e9, 1e19, NAN, INFINITY};
  const char *const models[] = {"vfe", "full", "fic"};
  oatgp_data *rows = wavy_data(s, 4, 2, 0, 2);
  size_t refused = 0;
  oat_rng rng;
  oat_rng_seed(&rng, 2024);
  for (size_t round = 0; round < 300; round++) {
    oat_tensors file = {0};
    oatgp_model *loaded = NULL;
    if (round % 100 == 0) {
      s->settings.approx = models[round / 100];
      save_small_model(s);
    }
    size_t size = 0;
    char *bytes = read_bytes_back(s, &size);
    must(s, oat_tensors_read(s->ctx, s->path, &file));
    const oat_tensor *tensor = &file.tensor[oat_rng_below(&rng, file.count)];
    if (tensor->size > 0) {
      tensor->values[oat_rng_below(&rng, tensor->size)] = numbers[oat_rng_below(&rng, LENGTH(numbers))];
    }
    must(s, oat_tensors_write(s->ctx, &file, s->path));
    if (oatgp_model_load(s->ctx, s->path, &loaded) == OATGP_OK) {
      double mean[4];
      const oatgp_status asked = oatgp_predict_sd(s->ctx, loaded, rows, &(oatgp_prediction_sd){mean, NULL, NULL});
      assert_true(asked == OATGP_OK ||
                  (asked == OATGP_NUMERIC && strstr(oatgp_last_error(s->ctx), "is not finite") != NULL));
      assert_true(info_of(loaded).n > 0);
    } else {
      refused++;
    }
    oatgp_model_free(loaded);
    oat_tensors_clear(&file);
    write_bytes(s, bytes, size);
    free(bytes);
  }
  assert_true(refused > 50 && refused < 250);
  oatgp_data_free(rows);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void unwritable_places(void **state) {
  scratch *s = *state;
  char path[256];
  oatgp_model *model = small_model(s);
  snprintf(path, sizeof path, "%s/no/such/folder/model", s->folder);
  expect_sentence(s, OATGP_WRITE, oatgp_model_save(s->ctx, model, path), "No such file");
  expect_sentence(s, OATGP_WRITE, oatgp_model_save(s->ctx, model, s->folder), "cannot write");
  if (geteuid() != 0) {
    assert_int_equal(chmod(s->folder, 0500), 0);
    const oatgp_status status = oatgp_model_save(s->ctx, model, s->path);
    assert_int_equal(chmod(s->folder, 0700), 0);
    expect_sentence(s, OATGP_WRITE, status, "Permission denied");
  }
  oatgp_model_free(model);
}

/* The disk is full in the middle: the old file stays, and nothing else is left in the folder (tear_down looks). */
static void failing_write_keeps_the_old_file(void **state) {
  scratch *s = *state;
  size_t size = 0, size_after = 0;
  save_small_model(s);
  char *before = read_bytes_back(s, &size);
  oatgp_data *data = wavy_data(s, 50, 2, 0.1, 10);
  s->settings.knots = "20";
  oatgp_model *larger = must_fit(s, data, NULL);
  const size_t limits[] = {0, 100, 5000};
  for (size_t i = 0; i < LENGTH(limits); i++) {
    struct rlimit unlimited, limited;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    limited = unlimited;
    limited.rlim_cur = limits[i];
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
    const oatgp_status status = oatgp_model_save(s->ctx, larger, s->path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    signal(SIGXFSZ, handler);
    expect_sentence(s, OATGP_WRITE, status, "File too large");
    char *after = read_bytes_back(s, &size_after);
    assert_int_equal(size, size_after);
    assert_memory_equal(before, after, size);
    free(after);
  }
  must(s, oatgp_model_save(s->ctx, larger, s->path));
  oatgp_model *loaded = must_load(s);
  assert_int_equal(info_of(loaded).knots, 20);
  oatgp_model_free(loaded);
  oatgp_model_free(larger);
  oatgp_data_free(data);
  free(before);
}

/* ---- columns of other files ------------------------------------------------------------------------------------ */

/* Fits to the text of a table; the target is the column named by the settings. */
static oatgp_model *fit_text(scratch *s, const char *text) {
  write_text(s, text);
  oatgp_data *data = must_read(s);
  s->settings.knots = "2";
  s->settings.max_iter = 1;
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_data_free(data);
  return model;
}

static const char named_table[] = "a,y,b,c\n1,10,5,7\n2,13,3,7\n3,11,8,7\n4,19,6,7\n5,15,1,7\n"; /* c is constant */
static const char plain_table[] = "1,10,5\n2,13,3\n3,11,8\n4,19,6\n5,15,1\n";

/* Reads the text for the model and compares the inputs, row-major with d = 2. */
static oatgp_data *read_for(scratch *s, const char *text, const oatgp_model *model, const double *x, size_t n) {
  oatgp_data *data = NULL;
  write_text(s, text);
  s->said[0] = '\0';
  must(s, oatgp_data_read_for(s->ctx, s->path, model, &s->settings, 0, &data));
  expect_inputs(data, n, 2, x);
  double *all = must_predict(s, model, data);
  expect_sane_predictions(all, n);
  free(all);
  return data;
}

static void refuse_for(scratch *s, const char *text, const oatgp_model *model, int need_target, const char *piece) {
  oatgp_data *const before = (oatgp_data *)s;
  oatgp_data *data = before;
  write_text(s, text);
  const oatgp_status status = oatgp_data_read_for(s->ctx, s->path, model, &s->settings, need_target, &data);
  assert_true(status == OATGP_DATA || status == OATGP_ARGUMENT);
  expect_sentence(s, status, status, piece);
  assert_ptr_equal(data, before);
}

static void columns_are_found_by_name(void **state) {
  scratch *s = *state;
  const double x[] = {1, 5, 2, 3};
  s->settings.target = "y";
  oatgp_model *model = fit_text(s, named_table);
  s->settings.target = "";
  assert_int_equal(info_of(model).d, 2);
  const char *const same[] = {"a,b\n1,5\n2,3\n", "b,a\n5,1\n3,2\n", "id,b,zz,a\nu,5,0,1\nv,3,0,2\n"};
  for (size_t i = 0; i < LENGTH(same); i++) {
    oatgp_data *data = read_for(s, same[i], model, x, 2);
    assert_null(data->y);
    oatgp_data_free(data);
  }
  oatgp_data *blank = NULL; /* the rows to be predicted, with a target that is not known yet */
  write_text(s, "a,y,b\n1,,5\n2,?,3\n");
  must(s, oatgp_data_read_for(s->ctx, s->path, model, &s->settings, -1, &blank));
  expect_inputs(blank, 2, 2, x);
  assert_null(blank->y);
  oatgp_data_free(blank);
  refuse_for(s, "a,y,b\n1,,5\n2,?,3\n", model, 0, "the value is missing");
  refuse_for(s, "a,B\n1,5\n2,3\n", model, 0, "has no column for 1 of the 2 inputs: 'b'");
  refuse_for(s, "u,v\n1,5\n2,3\n", model, 0, "has no column for 2 of the 2 inputs: 'a', 'b'");
  oatgp_model_free(model);
}

static void columns_without_names_are_found_by_place(void **state) {
  scratch *s = *state;
  const double x[] = {1, 5, 2, 3};
  s->settings.target = "y";
  oatgp_model *model = fit_text(s, named_table);
  s->settings.target = "";
  oatgp_data_free(read_for(s, "1,5\n2,3\n", model, x, 2));           /* the inputs in order */
  oatgp_data_free(read_for(s, "1,10,5,7\n2,13,3,7\n", model, x, 2)); /* the places of the training file */
  refuse_for(s, "1,5,3\n2,3,1\n", model, 0, "it needs the 2 inputs in order, or all 4 columns");
  refuse_for(s, "1\n2\n", model, 0, "it needs the 2 inputs in order");
  oatgp_model_free(model);
}

static void models_without_names(void **state) {
  scratch *s = *state;
  const double x[] = {1, 5, 2, 3};
  s->settings.target = "2";
  oatgp_model *model = fit_text(s, plain_table);
  s->settings.target = "";
  oatgp_data_free(read_for(s, "1,5\n2,3\n", model, x, 2));
  oatgp_data_free(read_for(s, "1,10,5\n2,13,3\n", model, x, 2));
  oatgp_data_free(read_for(s, "u,v\n1,5\n2,3\n", model, x, 2)); /* a header that says nothing: in order */
  refuse_for(s, "u,v,w\n1,10,5\n2,13,3\n", model, 0, "has no column for 2 of the 2 inputs");
  oatgp_model_free(model);
}

static void targets_are_found(void **state) {
  scratch *s = *state;
  const double x[] = {1, 5, 2, 3}, y[] = {10, 13}, z[] = {4, 4.5};
  s->settings.target = "y";
  oatgp_model *model = fit_text(s, named_table);
  s->settings.target = "";
  oatgp_data *data = read_for(s, "a,b,y,z\n1,5,10,4\n2,3,13,4.5\n", model, x, 2); /* the model's target */
  expect_column(data->y, 2, y);
  oatgp_data_free(data);
  s->settings.target = "z"; /* another one */
  data = read_for(s, "a,b,y,z\n1,5,10,4\n2,3,13,4.5\n", model, x, 2);
  expect_column(data->y, 2, z);
  oatgp_data_free(data);
  s->settings.target = "";
  refuse_for(s, "a,b\n1,5\n2,3\n", model, 1, "no target 'y'");
  refuse_for(s, "a,b,z\n1,5,4\n2,3,4.5\n", model, 1, "y");
  s->settings.target = "w";
  refuse_for(s, "a,b,z\n1,5,4\n2,3,4.5\n", model, 1, "w");
  oatgp_model_free(model);
  s->settings.target = "";
  oatgp_data *without = wavy_data(s, 10, 2, 0.1, 1); /* a model whose target has no name */
  model = must_fit(s, without, NULL);
  refuse_for(s, "x1,x2\n1,5\n2,3\n", model, 1, "the target is missing");
  oatgp_model_free(model);
  oatgp_data_free(without);
}

static void noise_columns_are_found(void **state) {
  scratch *s = *state;
  const double x[] = {1, 5, 2, 3}, w[] = {2, 0.5}, v[] = {0.25, 0};
  s->settings.target = "y";
  s->settings.weights = "w";
  s->settings.noise_variance = "v";
  oatgp_model *model = fit_text(s, "a,b,y,w,v\n1,5,10,1,0\n2,3,13,2,1\n3,8,11,1,0\n4,6,19,4,0.5\n5,1,15,1,1\n");
  assert_string_equal(info_of(model).weights, "w");
  assert_string_equal(info_of(model).noise_variance, "v");
  oatgp_data *data = read_for(s, "v,w,b,a\n0.25,2,5,1\n0,0.5,3,2\n", model, x, 2);
  expect_column(data->weight, 2, w);
  expect_column(data->noise, 2, v);
  double *all = must_predict(s, model, data);
  const double tau2 = info_of(model).tau * info_of(model).tau;
  assert_near(all[4] - all[2], tau2 / 2 + 0.25, 1e-12);
  assert_near(all[5] - all[3], tau2 / 0.5, 1e-12);
  free(all);
  oatgp_data_free(data);
  data = read_for(s, "a,b\n1,5\n2,3\n", model, x, 2);
  assert_null(data->weight);
  assert_non_null(strstr(s->said, "has no column 'w' (weights)"));
  assert_non_null(strstr(s->said, "has no column 'v' (noise variance)"));
  oatgp_data_free(data);
  oatgp_model_free(model);
}

/* All of this after the model was on a disk. */
static void matching_survives_saving(void **state) {
  scratch *s = *state;
  const double x[] = {1, 5, 2, 3};
  const struct {
    const char *training, *target, *text;
  } cases[] = {{named_table, "y", "1,10,5,7\n2,13,3,7\n"},
               {named_table, "y", "b,a\n5,1\n3,2\n"},
               {plain_table, "2", "1,10,5\n2,13,3\n"},
               {plain_table, "2", "u,v\n1,5\n2,3\n"}};
  for (size_t i = 0; i < LENGTH(cases); i++) {
    s->settings.target = cases[i].target;
    oatgp_model *model = fit_text(s, cases[i].training);
    s->settings.target = "";
    must(s, oatgp_model_save(s->ctx, model, s->path));
    oatgp_model *loaded = must_load(s);
    oatgp_data_free(read_for(s, cases[i].text, loaded, x, 2));
    oatgp_model_free(loaded);
    oatgp_model_free(model);
  }
}

/* Data from memory: by name if they have names, and none may be missing; else in order, when the number is right. */
static void data_in_memory_are_matched(void **state) {
  scratch *s = *state;
  const double in_order[] = {1, 5, 2, 3}, swapped[] = {5, 1, 3, 2}, three[] = {1, 5, 0, 2, 3, 0};
  const char *const names[] = {"b", "a"}, *const others[] = {"a", "v"}, *const more[] = {"u", "v", "w"};
  const char *const wrong_order[] = {"x2", "x1"}, *const all[] = {"b", "more", "a"};
  s->settings.target = "y";
  oatgp_model *model = fit_text(s, named_table);
  oatgp_data *plain = make_data(s, 2, 2, in_order, NULL), *named = make_data(s, 2, 2, swapped, NULL),
             *wide = make_data(s, 2, 3, three, NULL);
  must(s, oatgp_data_set_names(s->ctx, named, names, NULL));
  double *first = must_predict(s, model, plain), *second = must_predict(s, model, named);
  assert_memory_equal(first, second, 6 * sizeof *first);
  const oatgp_prediction out = {first, NULL, NULL};
  expect_sentence(s, OATGP_DATA, oatgp_predict(s->ctx, model, wide, &out),
                  "the data have 3 inputs, none of them 'a'; the model has 2");
  must(s, oatgp_data_set_names(s->ctx, wide, more, NULL));
  expect_sentence(s, OATGP_DATA, oatgp_predict(s->ctx, model, wide, &out),
                  "the data have no input 'a', which the model needs; they have 'u', 'v', 'w'; rename the columns");
  must(s, oatgp_data_set_names(s->ctx, plain, others, NULL));
  expect_sentence(s, OATGP_DATA, oatgp_predict(s->ctx, model, plain, &out),
                  "no input 'b', which the model needs; they have 'a', 'v'");

  oatgp_data *tall = make_data(s, 2, 3, (const double[]){5, 0, 1, 3, 0, 2}, NULL);
  must(s, oatgp_data_set_names(s->ctx, tall, all, NULL));
  double *third = must_predict(s, model, tall);
  assert_memory_equal(second, third, 6 * sizeof *second);
  oatgp_data_free(tall);
  free(third);

  /* x1 of data without names is the first input, whatever the model calls it */
  oatgp_data *training = make_data(s, 4, 2, (const double[]){1, 5, 2, 3, 3, 7, 4, 4}, (const double[]){1, 2, 4, 3});
  must(s, oatgp_data_set_names(s->ctx, training, wrong_order, NULL));
  oatgp_data *same = make_data(s, 2, 2, in_order, NULL), *by_name = make_data(s, 2, 2, swapped, NULL);
  must(s, oatgp_data_set_names(s->ctx, by_name, (const char *const[]){"x1", "x2"}, NULL));
  oatgp_model *crossed = must_fit(s, training, NULL);
  third = must_predict(s, crossed, same);
  double *fourth = must_predict(s, crossed, by_name);
  assert_memory_equal(third, fourth, 6 * sizeof *third);
  oatgp_data_free(training);
  oatgp_data_free(same);
  oatgp_data_free(by_name);
  oatgp_model_free(crossed);
  free(fourth);
  free(first);
  free(second);
  free(third);
  oatgp_data_free(plain);
  oatgp_data_free(named);
  oatgp_data_free(wide);
  oatgp_model_free(model);
}

/* Files of earlier versions may have names as they were in a Latin-1 header. */
static void names_are_read_as_utf8(void **state) {
  scratch *s = *state;
  oat_tensors file = {0};
  save_small_model(s);
  must(s, oat_tensors_read(s->ctx, s->path, &file));
  replace_text(s, &file, "inputs",
               "[\"gr\xF6\xDF"
               "e\", \"x2\"]");
  replace_text(s, &file, "target", "h\xF6he");
  must(s, oat_tensors_write(s->ctx, &file, s->path));
  oat_tensors_clear(&file);
  oatgp_model *model = must_load(s);
  assert_string_equal(oatgp_model_input_name(model, 0),
                      "gr\xC3\xB6\xC3\x9F"
                      "e");
  assert_string_equal(info_of(model).target, "h\xC3\xB6he");
  must(s, oatgp_model_set_command(s->ctx, model, "oatgp fit \x80.csv"));
  assert_string_equal(info_of(model).command, "oatgp fit \xE2\x82\xAC.csv");
  oatgp_model_free(model);
}

static double seconds_now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
}

/* Loads a model of so many inputs and predicts, with the columns in the opposite order; returns the seconds that this
 * took. */
static double use_wide_model(scratch *s, size_t d) {
  enum { ROWS = 3, LONGEST = 24 };
  double *x = calloc(ROWS * d, sizeof *x), mean[ROWS], y[ROWS] = {1, 2, 4};
  char(*text)[LONGEST] = calloc(2 * d, LONGEST);
  const char **names = calloc(2 * d, sizeof *names);
  assert_true(x != NULL && text != NULL && names != NULL);
  for (size_t j = 0; j < d; j++) {
    snprintf(text[j], LONGEST, "x%zu", j);
    names[j] = text[j];
    names[2 * d - 1 - j] = text[j];
    x[j] = (double)(j % 7);
    x[d + j] = (double)(j % 5);
  }
  oatgp_data *data = make_data(s, ROWS, d, x, y);
  must(s, oatgp_data_set_names(s->ctx, data, names, "y"));
  s->settings.approx = "full";
  s->settings.kernel = "se";
  s->settings.max_iter = 0;
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_model_save(s->ctx, model, s->path));
  oatgp_model_free(model);
  must(s, oatgp_data_set_names(s->ctx, data, names + d, "y"));
  const double begin = seconds_now();
  model = must_load(s);
  must(s, oatgp_predict_mean(s->ctx, model, data, mean));
  const double seconds = seconds_now() - begin;
  oatgp_model_free(model);
  oatgp_data_free(data);
  free(names);
  free(text);
  free(x);
  return seconds;
}

/* The seconds that it takes to find so many of d names, evenly among them, by going through them. */
static double look_through_names(size_t d, size_t count) {
  enum { LONGEST = 24 };
  char(*text)[LONGEST] = calloc(d, LONGEST);
  volatile size_t found = 0; /* that the search is not left out */
  assert_non_null(text);
  for (size_t j = 0; j < d; j++) {
    snprintf(text[j], LONGEST, "x%zu", j);
  }
  const double begin = seconds_now();
  for (size_t i = 0; i < count; i++) {
    size_t j = 0;
    while (strcmp(text[j], text[i * (d / count)]) != 0) {
      j++;
    }
    found = found + j;
  }
  const double seconds = seconds_now() - begin;
  free(text);
  return seconds;
}

/* Looking up every name by going through all names takes 40 times as long as it does for every fortieth name; this must
 * take much less. Time of the processor, so other programs do not count. */
static void many_inputs_take_little_time(void **state) {
  if (under_valgrind()) {
    skip();
  }
  scratch *s = *state;
  enum { INPUTS = 40000, SHARE = 40 };
  const double seconds = use_wide_model(s, INPUTS), some = look_through_names(INPUTS, INPUTS / SHARE);
  if (seconds > SHARE / 4. * some) {
    fail_msg("%g s for %d inputs, and %g s to look for a share of them", seconds, INPUTS, some);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(saved_models_predict_bit_for_bit),
      WITH_SCRATCH(sparse_file_holds_no_row),
      WITH_SCRATCH(truncated_files_are_found),
      WITH_SCRATCH(changed_bytes_are_found),
      WITH_SCRATCH(bytes_in_memory_are_those_of_the_file),
      WITH_SCRATCH(other_files_are_refused),
      WITH_SCRATCH(crafted_files_are_refused),
      WITH_SCRATCH(too_many_rows_for_a_full_model),
      WITH_SCRATCH(sizes_without_their_parts),
      WITH_SCRATCH(crafted_numbers_do_no_harm),
      WITH_SCRATCH(unwritable_places),
      WITH_SCRATCH(failing_write_keeps_the_old_file),
      WITH_SCRATCH(columns_are_found_by_name),
      WITH_SCRATCH(columns_without_names_are_found_by_place),
      WITH_SCRATCH(models_without_names),
      WITH_SCRATCH(targets_are_found),
      WITH_SCRATCH(noise_columns_are_found),
      WITH_SCRATCH(matching_survives_saving),
      WITH_SCRATCH(data_in_memory_are_matched),
      cmocka_unit_test_setup_teardown(names_are_read_as_utf8, set_up, tear_down),
      cmocka_unit_test_setup_teardown(many_inputs_take_little_time, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
