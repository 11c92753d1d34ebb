/* Figures of models and the report: every figure of every sort of model and of every likelihood, averages of the
 * posterior against its joint covariance, the band of a binomial count against its sum, what the page holds, and every
 * refusal. What a reader sees is looked at by test_browser. */
#include "fits.h"

#include <locale.h>

#include "predict/predict.h"
#include "plot/plot.h"
#include "report/facts.h"

static size_t count(const char *text, const char *piece) {
  size_t n = 0;
  for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + 1, piece)) {
    n++;
  }
  return n;
}

/* ---- averages of the posterior --------------------------------------------------------------------------------- */

static void expect_averages(scratch *s, const oatgp_model *model, const oatgp_data *data, size_t size) {
  const size_t n = oatgp_data_rows(data), groups = n / size;
  double *mean = calloc(groups, sizeof *mean), *sd = calloc(groups, sizeof *sd),
         *covariance = calloc(n * n, sizeof *covariance);
  double *all = must_predict(s, model, data);
  must(s, oat_predict_averages(s->ctx, model, data, size, &(oat_averages){mean, sd}));
  must(s, oatgp_predict_covariance(s->ctx, model, data, covariance));
  for (size_t g = 0; g < groups; g++) {
    double expected_mean = 0, expected_variance = 0;
    for (size_t i = g * size; i < (g + 1) * size; i++) {
      expected_mean += all[i] / (double)size;
      for (size_t j = g * size; j < (g + 1) * size; j++) {
        expected_variance += covariance[i * n + j] / (double)(size * size);
      }
    }
    assert_near(mean[g], expected_mean, 1e-9);
    assert_near(sd[g] * sd[g], expected_variance, 1e-9);
  }
  free(mean);
  free(sd);
  free(covariance);
  free(all);
}

static void averages_are_those_of_the_joint_posterior(void **state) {
  static const char *const models[] = {"full", "dic", "dtc", "vfe", "tvfe", "fitc", "pep"};
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 2, 0.2, 3), *points = wavy_data(s, 24, 2, 0, 4);
  s->settings.knots = "8";
  s->settings.max_iter = 5;
  s->settings.mean = "linear";
  for (size_t i = 0; i < LENGTH(models); i++) {
    s->settings.approx = models[i];
    oatgp_model *model = must_fit(s, data, NULL);
    expect_averages(s, model, points, 6);
    expect_averages(s, model, points, 1);
    oatgp_model_free(model);
  }
  oatgp_data_free(points);
  oatgp_data_free(data);
}

/* ---- the band of a count --------------------------------------------------------------------------------------- */

static void binomial_quantiles_are_those_of_the_sum(void **state) {
  const size_t sizes[] = {1, 7, 133, 2000};
  const double chances[] = {0.01, 0.05, 0.5, 0.97}, levels[] = {0.025, 0.45, 0.975};
  (void)state;
  for (size_t i = 0; i < LENGTH(sizes); i++) {
    for (size_t j = 0; j < LENGTH(chances); j++) {
      for (size_t l = 0; l < LENGTH(levels); l++) {
        const double n = (double)sizes[i], p = chances[j];
        double sum = 0, k = -1;
        while (sum < levels[l]) {
          k++;
          sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p));
        }
        assert_int_equal(oat_binomial_quantile(sizes[i], p, levels[l]), (size_t)k);
      }
    }
  }
  /* far more rows than can be summed from 0: the normal distribution is near */
  const double expected = 1e8 * 0.3 + 1.959964 * sqrt(1e8 * 0.3 * 0.7);
  assert_true(fabs((double)oat_binomial_quantile(100000000, 0.3, 0.975) - expected) < 20);
}

/* ---- figures --------------------------------------------------------------------------------------------------- */

static char *draw(scratch *s, const oatgp_model *model, const oatgp_data *data, const char *figure) {
  size_t size = 0;
  must(s, oatgp_draw(s->ctx, model, data, &(oatgp_drawing){.figure = figure, .path = s->path}));
  return read_bytes_back(s, &size);
}

static void expect_svg(scratch *s, const oatgp_model *model, const oatgp_data *data, const char *figure) {
  char *const text = draw(s, model, data, figure);
  assert_int_equal(strncmp(text, "<svg ", 5), 0);
  assert_non_null(strstr(text, "</svg>\n"));
  assert_non_null(strstr(text, "<title id=\"figure-title\">"));
  assert_non_null(strstr(text, "<desc id=\"figure-desc\">"));
  assert_null(strstr(text, "NaN"));
  assert_null(strstr(text, "-1000000000")); /* where a value that is none would stand */
  free(text);
}

/* Figures that Gaussian answers have not. */
static int is_of_other_answers(const char *figure) {
  return strcmp(figure, "reliability") == 0 || strcmp(figure, "roc") == 0 || strcmp(figure, "rootogram") == 0 ||
         strcmp(figure, "classes") == 0;
}

/* What may be told apart: how many inputs, knots or none, a lengthscale for each input or one for all. */
typedef struct sort {
  size_t inputs;
  const char *approx, *kernel, *select;
  const char *missing; /* figures that there are none of, between blanks */
} sort;

static void every_figure_of_every_sort_of_model(void **state) {
  static const sort sorts[] = {
      {1, "vfe", "se-ard", "oat-gain", " relevance partial effects evidence sensitivity "},
      {2, "vfe", "se-ard", "simultaneous", " effects evidence "},
      {2, "full", "se", "simultaneous", " relevance effects evidence "},
      {4, "fitc", "matern52-ard", "simultaneous", " effects evidence "},
      {4, "full", "matern32-ard", "simultaneous", " knots effects evidence "},
      {2, "vfe", "se(x1) + linear(x2)", "simultaneous", " relevance evidence "},
      {1, "full", "se(x1) + periodic(x1)", "simultaneous", " relevance partial evidence sensitivity "},
      {4, "dtc", "se(x1, x2, x4) + constant + se(x3) * linear(x1)", "simultaneous", " relevance evidence "},
      {2, "vfe", "se(x1) * se(x2)", "simultaneous", " relevance effects evidence "},
  };
  scratch *s = *state;
  s->settings.knots = "6";
  s->settings.max_knots = 8;
  s->settings.max_iter = 4;
  for (size_t i = 0; i < LENGTH(sorts); i += amount(1, 2, 4)) {
    oatgp_data *data = wavy_data(s, 50, sorts[i].inputs, 0.2, 5), *other = wavy_data(s, 20, sorts[i].inputs, 0.2, 6);
    s->settings.approx = sorts[i].approx;
    s->settings.kernel = sorts[i].kernel;
    s->settings.select = sorts[i].select;
    oatgp_model *model = must_fit(s, data, NULL);
    oatgp_figure figure;
    for (size_t k = 0; oatgp_figure_at(k, &figure); k++) {
      char word[40];
      snprintf(word, sizeof word, " %s ", figure.name);
      if (strstr(sorts[i].missing, word) != NULL || is_of_other_answers(figure.name)) {
        expect_sentence(s, OATGP_DATA,
                        oatgp_draw(s->ctx, model, data, &(oatgp_drawing){.figure = figure.name, .path = s->path}),
                        "this model has no figure ");
        continue;
      }
      expect_svg(s, model, data, figure.name);
      expect_svg(s, model, other, figure.name);
      if (!figure.needs_data) {
        expect_svg(s, model, NULL, figure.name);
      }
    }
    must(s, oatgp_report(s->ctx, model, other, NULL, s->path));
    oatgp_model_free(model);
    oatgp_data_free(data);
    oatgp_data_free(other);
  }
}

/* Two inputs with long names, and bounds of the evidence: a model that has every figure but that of a sum. */
static oatgp_model *with_all_figures(scratch *s, oatgp_data *data) {
  static const char *const names[] = {"an input of many letters", "the other"};
  oatgp_certificate certificate;
  s->settings.knots = "6";
  s->settings.max_iter = 4;
  must(s, oatgp_data_set_names(s->ctx, data, names, "target"));
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_certify(s->ctx, model, data, &s->settings, NULL, NULL, &certificate));
  must(s, oatgp_model_set_certificate(s->ctx, model, &certificate));
  return model;
}

static void the_evidence_when_it_is_known(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.2, 5);
  oatgp_model *model = with_all_figures(s, data);
  expect_svg(s, model, NULL, "evidence");
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Rows so far apart that the difference is no number, though each value is one. */
static void rows_at_the_ends_of_all_numbers(void **state) {
  scratch *s = *state;
  for (size_t d = 1; d <= 3; d++) {
    oatgp_data *data = wavy_data(s, 40, d, 0.2, 5);
    const double x[] = {1e308, 1e308, 1e308, -1e308, -1e308, -1e308}, y[] = {1, 2};
    oatgp_data *far = make_data(s, 2, d, x + 3 - d, y);
    s->settings.knots = "6";
    s->settings.max_iter = 4;
    oatgp_model *model = must_fit(s, data, NULL);
    oatgp_figure figure;
    for (size_t i = 0; oatgp_figure_at(i, &figure); i++) {
      if (strcmp(figure.name, "evidence") != 0 && strcmp(figure.name, "effects") != 0 &&
          !is_of_other_answers(figure.name) &&
          (d > 1 || strstr(" relevance partial sensitivity ", figure.name) == NULL)) {
        expect_svg(s, model, far, figure.name);
      }
    }
    must(s, oatgp_report(s->ctx, model, far, NULL, s->path));
    oatgp_model_free(model);
    oatgp_data_free(far);
    oatgp_data_free(data);
  }
}

/* Every kept and every dropped knot is a point of the figure. */
static void the_history_has_every_knot(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  s->settings.select = "oat-gain";
  s->settings.tol_knot = 0.5;
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  size_t kept = 0;
  char expected[80];
  for (size_t i = 0; i < info.selection_count; i++) {
    kept += info.selection[i * (8 + info.d)] > 0;
  }
  assert_true(kept > 3 && kept < info.selection_count);
  char *const text = draw(s, model, NULL, "objective");
  snprintf(expected, sizeof expected, "%zu kept and %zu dropped. The model has %zu knots", kept,
           info.selection_count - kept, info.knots);
  assert_non_null(strstr(text, expected));
  const char *const points =
      strstr(text, "<path class=\"f1\" d=\""); /* those on the line: the start and all that were kept */
  assert_non_null(points);
  char *const path = strndup(points, strcspn(points, ">"));
  assert_int_equal(count(path, "M"), kept + 1);
  free(path);
  free(text);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Knots that come together are one point, where all of them are there. */
static void knots_in_batches_are_one_point(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  s->settings.select = "oat-gain";
  s->settings.batch = 4;
  s->settings.max_knots = 17;
  s->settings.tol_knot = 0;
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  const size_t width = 8 + info.d, evaluations = 6; /* columns of the record */
  size_t proposals = 1, dropped = 0;
  char expected[80];
  for (size_t i = 1; i < info.selection_count; i++) {
    proposals += info.selection[i * width + evaluations] != info.selection[(i - 1) * width + evaluations];
    dropped += info.selection[i * width] == 0;
  }
  assert_int_equal(dropped, 0);
  assert_true(proposals > 1 && proposals < info.selection_count);
  char *const text = draw(s, model, NULL, "objective");
  snprintf(expected, sizeof expected, "Every proposal: %zu kept (%zu knots) and 0 dropped.", proposals,
           info.selection_count);
  assert_non_null(strstr(text, expected));
  free(text);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* An automatic fit tries whole sets of knots, which are not added up. */
static void sets_of_knots_are_told_apart(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  s->settings.max_knots = 14;
  s->settings.tol_row = 1e-6;
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  const size_t width = 8 + info.d, number = 1; /* columns of the record */
  char expected[100];
  assert_int_equal(info.selection[number], 1);
  size_t at = (size_t)snprintf(expected, sizeof expected, "The fit tried ");
  for (size_t i = 1; i <= info.selection_count; i++) {
    if (i == info.selection_count || info.selection[i * width + number] == 1) {
      const bool first = at < sizeof "The fit tried ", last = i == info.selection_count;
      at += (size_t)snprintf(expected + at, sizeof expected - at, "%s%.0f",
                             !first ? (last ? " and " : ", ") : (last ? "one set of " : "sets of "),
                             info.selection[(i - 1) * width + number]);
    }
  }
  snprintf(expected + at, sizeof expected - at, " knots. The model has %zu knots", info.knots);
  char *const text = draw(s, model, NULL, "objective");
  assert_non_null(strstr(text, expected));
  free(text);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Whether the figure says so of this objective, with the digits that it has there. */
static int says_of(scratch *s, const char *text, const char *before, double objective) {
  oat_string sentence = {.ctx = s->ctx};
  oat_string_add(&sentence, before);
  oat_string_add(&sentence, oat_number(objective, 6).text);
  const int found = strstr(text, sentence.text) != NULL;
  oat_string_free(&sentence);
  return found;
}

/* Of a model that has taken rows in since, the history is that of the fit, and the objective is told apart. */
static void the_history_of_an_updated_model(void **state) {
  static const char *const selections[] = {"simultaneous", "oat-gain"};
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 1, 0.2, 5), *more = wavy_data(s, 40, 1, 0.2, 6);
  s->settings.knots = "4";
  s->settings.max_knots = 8;
  for (size_t i = 0; i < LENGTH(selections); i++) {
    s->settings.select = selections[i];
    oatgp_model *model = must_fit(s, data, NULL);
    const double fitted = info_of(model).objective;
    const char *const sentence = i == 0 ? "The objective rose to " : "knots and the objective ";
    char *const before = draw(s, model, NULL, "objective");
    must(s, oatgp_update(s->ctx, model, more));
    char *const after = draw(s, model, NULL, "objective");
    assert_true(says_of(s, before, sentence, fitted));
    assert_null(strstr(before, "it has now"));
    assert_int_equal(says_of(s, after, sentence, fitted), i == 0);
    assert_true(says_of(s, after, "With the 100 rows that it has now, the objective of the model is ",
                        info_of(model).objective));
    assert_int_equal(count(before, ">the model<"), i);
    assert_int_equal(count(after, ">the model<"), 0);
    free(before);
    free(after);
    oatgp_model_free(model);
  }
  s->settings.select = "fixed";
  s->settings.max_iter = 0;
  oatgp_model *model = must_fit(s, data, NULL);
  char *const text = draw(s, model, NULL, "objective");
  assert_true(says_of(s, text, "No step of the fit raised the objective, which was ", info_of(model).objective));
  assert_null(strstr(text, "rose"));
  free(text);
  oatgp_model_free(model);
  oatgp_data_free(more);
  oatgp_data_free(data);
}

static void figures_in_letters(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  size_t size = 0, lines = 0;
  s->settings.knots = "10";
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_draw(s->ctx, model, data,
                     &(oatgp_drawing){.figure = "knots", .path = s->path, .width = 60, .height = 20}));
  char *const ascii = read_bytes_back(s, &size);
  for (size_t i = 0; i < size; i++) {
    assert_true(ascii[i] == '\n' || ((unsigned char)ascii[i] >= 0x20 && (unsigned char)ascii[i] < 0x7f));
    lines += ascii[i] == '\n';
  }
  assert_int_equal(lines, 20);
  assert_true(count(ascii, "^") > 5); /* knots */
  assert_true(count(ascii, "*") > 40 && count(ascii, "o") > 20 && count(ascii, ".") > 40);
  must(s, oatgp_draw(s->ctx, model, data,
                     &(oatgp_drawing){.figure = "knots", .path = s->path, .width = 60, .height = 20, .utf8 = 1}));
  char *const utf8 = read_bytes_back(s, &size);
  assert_true(count(utf8, "\xe2\x96\xb2") > 5);
  assert_true(count(utf8, "\xe2\xa0") + count(utf8, "\xe2\xa1") + count(utf8, "\xe2\xa2") + count(utf8, "\xe2\xa3") >
              40); /* Braille */
  free(ascii);
  free(utf8);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* The axis of every line, in all panels, stands where it does in the first. */
static void expect_straight(char *text) {
  long axis = -1;
  for (char *rest = text, *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    const char *const bar = strstr(line, " |"), *const plus = strstr(line, " +");
    const char *const at = bar == NULL || (plus != NULL && plus < bar) ? plus : bar;
    axis = axis < 0 && at != NULL ? at - line : axis;
    assert_true(at == NULL || at - line == axis);
  }
  assert_true(axis > 0);
}

static void every_figure_in_letters(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 2, 0.2, 5);
  oatgp_model *model = with_all_figures(s, data);
  oatgp_figure figure;
  for (size_t i = 0; oatgp_figure_at(i, &figure); i++) {
    for (size_t width = 24; width <= 78 && strcmp(figure.name, "effects") != 0 && !is_of_other_answers(figure.name);
         width += 54) {
      size_t size = 0;
      must(s, oatgp_draw(s->ctx, model, data,
                         &(oatgp_drawing){.figure = figure.name, .path = s->path, .width = width, .height = 12}));
      char *const text = read_bytes_back(s, &size);
      assert_int_equal(count(text, " some rows"), strcmp(figure.name, "partial") == 0 ? 2 : 0); /* panels */
      assert_int_equal(count(text, "\nexact evidence +"), strcmp(figure.name, "evidence") == 0 && width == 78);
      assert_int_equal(count(text, "\nan input ~ +"),
                       strstr("relevance sensitivity", figure.name) != NULL && width == 24);
      expect_straight(text);
      free(text);
    }
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* A curve for each summand of numbers, a point and a bar for each level, a series for each level beside numbers; a
 * season shows two periods, and what looks at no input nothing. */
static void effects_of_a_sum(void **state) {
  scratch *s = *state;
  enum { N = 60 };
  static const char *const names[] = {"time", "kind"}, *const levels[] = {"low", "mid", "top"};
  double x[2 * N], y[N];
  size_t size = 0;
  for (size_t i = 0; i < N; i++) {
    x[2 * i] = 0.2 * (double)i;
    x[2 * i + 1] = (double)(i * 7 % 3);
    y[i] = sin(6.2831853 * x[2 * i]) + 0.3 * x[2 * i] * x[2 * i + 1] + x[2 * i + 1] + 0.01 * (double)(i * i % 7);
  }
  oatgp_data *data = make_data(s, N, 2, x, y);
  must(s, oatgp_data_set_names(s->ctx, data, names, "sales"));
  must(s, oatgp_data_set_levels(s->ctx, data, 1, LENGTH(levels), levels));
  s->settings.kernel = "periodic(time) + categorical(kind) + linear(time) * categorical(kind) + constant";
  s->settings.parameters = "periodic(time).period=1";
  s->settings.fix = "period";
  s->settings.approx = "full";
  s->settings.max_iter = 20;
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_draw(s->ctx, model, data, &(oatgp_drawing){.figure = "effects", .path = s->path}));
  char *text = read_bytes_back(s, &size);
  assert_int_equal(count(text, "What periodic(time) adds to sales: "), 1);
  assert_int_equal(count(text, "What constant adds"), 0);
  assert_int_equal(count(text, "the last 2 periods are shown"), 1);
  assert_int_equal(count(text, ">kind = low<"), 1);
  assert_int_equal(count(text, ">kind = top<"), 1);
  assert_int_equal(count(text, "drawn for some values of kind"), 1);
  assert_int_equal(count(text, ">mid<"), 1);
  free(text);
  must(s, oatgp_report(s->ctx, model, data, NULL, s->path));
  text = read_bytes_back(s, &size);
  assert_int_equal(count(text, "<h3>Effect of categorical(kind)</h3>"), 1);
  assert_int_equal(count(text, "<h2 id=\"effects\">What the inputs do</h2>"), 1);
  free(text);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

static char *report(scratch *s, const oatgp_model *model, const oatgp_data *data, const char *from) {
  size_t size = 0;
  must(s, oatgp_report(s->ctx, model, data, from, s->path));
  return read_bytes_back(s, &size);
}

/* Nothing from elsewhere, and every id once. */
static void expect_page(const char *page) {
  assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
  assert_non_null(strstr(page, "</html>\n"));
  assert_int_equal(count(page, "://"), count(page, "http://www.w3.org/2000/svg\""));
  assert_int_equal(count(page, "<figure>"), count(page, "</svg>"));
  assert_int_equal(count(page, "<figure>"), count(page, "<figcaption>"));
  for (size_t i = 1; i <= count(page, "<figure>"); i++) {
    char id[40];
    snprintf(id, sizeof id, " id=\"figure%zu\"", i);
    assert_int_equal(count(page, id), 1);
  }
}

/* Whatever the table of settings offers for the selection of knots has a history that can be drawn. */
static void every_selection_has_a_history(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  const oatgp_setting *select = NULL;
  for (size_t i = 0; select == NULL && oatgp_setting_at(i) != NULL; i++) {
    select = strcmp(oatgp_setting_at(i)->name, "select") == 0 ? oatgp_setting_at(i) : NULL;
  }
  assert_non_null(select);
  s->settings.max_knots = 12;
  char *const choices = strdup(select->choices);
  for (char *rest = choices, *choice = strtok_r(choices, "|", &rest); choice != NULL;
       choice = strtok_r(NULL, "|", &rest)) {
    must(s, oatgp_settings_set(s->ctx, &s->settings, "select", choice));
    oatgp_model *model = must_fit(s, data, NULL);
    expect_svg(s, model, NULL, "objective");
    char *const page = report(s, model, data, choice);
    expect_page(page);
    assert_non_null(strstr(page, choice));
    assert_null(strstr(page, "that it has now")); /* it ends with the objective of the model */
    free(page);
    oatgp_model_free(model);
  }
  free(choices);
  oatgp_data_free(data);
}

static void the_page_has_it_all(void **state) {
  scratch *s = *state;
  oatgp_data *data = boston(s);
  s->settings.knots = "20";
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oatgp_model_set_command(s->ctx, model, "oatgp fit 'a <b>.csv' --target medv"));
  char *const page = report(s, model, data, "a <b>.csv");
  expect_page(page);
  const char *const pieces[] = {"a &lt;b&gt;.csv",
                                "leave-one-out",
                                "RMSE",
                                "SRMSE",
                                "mean NLP",
                                "coverage 99&nbsp;%",
                                "Observed against predicted",
                                "Residuals",
                                "Quantiles of the residuals",
                                "Coverage of the intervals",
                                "(PIT)",
                                "Effect of lstat",
                                "Relevance of the inputs",
                                "Knots: ",
                                "Objective during the fit",
                                "Rows predicted worst",
                                "certify finds them",
                                "max_iter = "};
  for (size_t i = 0; i < LENGTH(pieces); i++) {
    if (strstr(page, pieces[i]) == NULL) {
      fail_msg("the page lacks '%s'", pieces[i]);
    }
  }
  assert_int_equal(count(page, "<figure>"), 5 + 1 + 3 + 3 + 1 + 1);
  assert_int_equal(count(page, "<b>.csv"), 0);
  free(page);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* New rows are predicted as they are, and the page is that of any other locale. */
static void new_rows_and_other_locales(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 80, 2, 0.2, 1), *other = wavy_data(s, 80, 2, 0.2, 2);
  s->settings.knots = "8";
  oatgp_model *model = must_fit(s, data, NULL);
  char *const known = report(s, model, data, NULL), *const page = report(s, model, other, NULL);
  expect_page(page);
  assert_non_null(strstr(known, "leave-one-out"));
  assert_null(strstr(page, "leave-one-out"));
  assert_non_null(strstr(page, "as the model predicts them"));
  if (setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL) {
    char *const comma = report(s, model, other, NULL);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(comma, page);
    free(comma);
  }
  free(known);
  free(page);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(other);
}

/* Rows that are borrowed one after the other give the page of those that lie column by column. */
static void borrowed_rows(void **state) {
  scratch *s = *state;
  enum { N = 60, D = 2 };
  double x[N * D];
  oatgp_data *data = wavy_data(s, N, D, 0.2, 1), *borrowed = NULL;
  for (size_t i = 0; i < N * D; i++) {
    x[i] = data->x[i / D + i % D * N];
  }
  const oatgp_view view = {.n = N, .d = D, .x = x, .y = data->y, .row_step = D, .input_step = 1};
  must(s, oatgp_data_borrow(s->ctx, &view, &borrowed));
  s->settings.knots = "8";
  oatgp_model *model = must_fit(s, data, NULL);
  char *const page = report(s, model, data, NULL), *const other = report(s, model, borrowed, NULL);
  assert_string_equal(other, page);
  free(other);
  free(page);
  oatgp_model_free(model);
  oatgp_data_free(borrowed);
  oatgp_data_free(data);
}

static void many_rows_are_thinned(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 10000, 13, 0.2, 1);
  s->settings.knots = "30";
  s->settings.max_iter = 2;
  oatgp_model *model = must_fit(s, data, NULL);
  char *const page = report(s, model, data, NULL);
  expect_page(page);
  assert_true(strlen(page) < 2000000);
  assert_non_null(strstr(page, "Drawn are 1500 of the 10000 rows, the 20 worst predicted among them."));
  free(page);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Those rows that no other row is worse than, the first of equals first. */
static void the_worst_rows_are_found(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 3000, 2, 0.2, 1);
  oat_facts facts;
  s->settings.knots = "10";
  s->settings.max_iter = 2;
  oatgp_model *model = must_fit(s, data, NULL);
  must(s, oat_facts_make(s->ctx, model, data, &facts));
  assert_int_equal(facts.n_worst, OAT_MOST_WORST);
  for (size_t i = 0; i < facts.n_worst; i++) {
    size_t worse = 0;
    for (size_t row = 0; row < data->n; row++) {
      worse += facts.nlp[row] > facts.nlp[facts.worst[i]] ||
               (facts.nlp[row] == facts.nlp[facts.worst[i]] && row < facts.worst[i]);
    }
    assert_int_equal(worse, i);
  }
  oat_scratch_free(&facts.memory);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* The figure of relevances is as high as its names need: each of the 30 that are shown has its name. */
static void many_inputs_have_names(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 40, 0.2, 1);
  s->settings.knots = "3";
  s->settings.max_iter = 2;
  oatgp_model *model = must_fit(s, data, NULL);
  char *const page = report(s, model, data, NULL);
  const char *const start = strstr(page, "Relevance of the inputs"), *const end = strstr(start, ">1 / lengthscale");
  size_t names = 0;
  for (const char *at = strstr(start, ">x"); at != NULL && at < end; at = strstr(at + 1, ">x")) {
    names++;
  }
  assert_int_equal(names, 30);
  assert_non_null(strstr(page, "Shown are the 30 most relevant of 40 inputs."));
  free(page);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* One row, names that are markup: nothing to break the page. */
static void odd_data(void **state) {
  static const char *const names[] = {
      "<script>alert(1)</script>",
      "\xc3\xa4 very long name \xf0\x9f\x98\x80 that goes on and on and on and on and on and on & on"};
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, 2, 0.2, 1);
  const double x[] = {0.5, -1700000500}, y = 1;
  oatgp_data *one = make_data(s, 1, 2, x, &y);
  must(s, oatgp_data_set_names(s->ctx, data, names, "a<b"));
  must(s, oatgp_data_set_names(s->ctx, one, names, "a<b"));
  s->settings.knots = "5";
  oatgp_model *model = must_fit(s, data, NULL);
  char *const page = report(s, model, one, NULL);
  expect_page(page);
  assert_int_equal(count(page, "<script>"), 1); /* its own */
  assert_non_null(strstr(page, "Predicting a&lt;b"));
  assert_non_null(strstr(page, "<p>On the 1 row of "));
  assert_non_null(strstr(page, "<p>The 1 row with "));
  assert_non_null(strstr(page, "on average over 1 row;"));
  assert_non_null(strstr(page, "<b>1</b><span>row predicted"));
  assert_null(strstr(page, "</b>, where the standard deviation"));
  assert_non_null(strstr(page, "data-value=\"-1700000500\">&minus;1700000500</td>"));
  /* shortened in sentences, on axes and in the table, each of which tells the whole name somewhere */
  assert_non_null(strstr(page,
                         ">Effect of \xc3\xa4 very long name\xe2\x80\xa6"
                         "and on &amp; on<"));
  assert_int_equal(count(page, "on and on &amp; on</title></text>"), 4);
  assert_non_null(strstr(
      page,
      " title=\"\xc3\xa4 very long name \xf0\x9f\x98\x80 that goes on and on and on and on and on and on &amp; on\">"));
  free(page);
  oatgp_model_free(model);
  oatgp_data_free(one);
  oatgp_data_free(data);
}

/* A target that is the same in all rows has no standard deviation to compare errors with. */
static void a_constant_target(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, 2, 0.2, 1);
  double y[30];
  for (size_t i = 0; i < LENGTH(y); i++) {
    y[i] = 7;
  }
  double x[60];
  for (size_t i = 0; i < LENGTH(x); i++) {
    x[i] = data->x[i / 2 + i % 2 * 30];
  }
  oatgp_data *same = make_data(s, 30, 2, x, y);
  s->settings.knots = "5";
  const oatgp_data *const fitted[] = {data, same};
  for (size_t i = 0; i < LENGTH(fitted); i++) {
    oatgp_model *model = must_fit(s, fitted[i], NULL);
    char *const page = report(s, model, same, NULL);
    expect_page(page);
    assert_null(strstr(page, "</b>, where the standard deviation"));
    assert_non_null(strstr(page, "There is none here, because target is the same in all rows."));
    free(page);
    oatgp_model_free(model);
  }
  oatgp_data_free(same);
  oatgp_data_free(data);
}

/* A model file as it was written by 0.1.0 (its command is in it): later versions read it, with its history, and make
 * the same figures of it. */
static void a_model_file_of_before(void **state) {
  scratch *s = *state;
  oatgp_data *data = motorcycle(s);
  oatgp_model *model = NULL;
  must(s, oatgp_model_load(s->ctx, TEST_DATA_DIR "/golden/mcycle.oatgp", &model));
  const oatgp_model_info info = info_of(model);
  assert_int_equal(info.n, 133);
  assert_int_equal(info.knots, 12);
  assert_nats(info.objective, -621.9961842891719, 0);
  assert_string_equal(
      info.command,
      "oatgp fit mcycle.csv --target accel --select oat-gain --max-knots 12 --tol-knot 0.5 --seed 7 -o mcycle.oatgp");
  char *const page = report(s, model, data, "mcycle.csv");
  expect_page(page);
  assert_non_null(strstr(page, "leave-one-out"));
  assert_non_null(strstr(page, "Every proposed knot: "));
  assert_non_null(strstr(page, info.command));
  free(page);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* ---- answers that are not Gaussian ----------------------------------------------------------------------------- */

/* An answer for a wave, of each likelihood. */
static double answer_of(const char *likelihood, double wave) {
  const double share = 1 / (1 + exp(-wave));
  switch (likelihood[0]) {
    case 'b':
      return likelihood[1] == 'i' ? floor(6 * share) : likelihood[3] == 'a' ? 0.02 + 0.96 * share : wave > 0;
    case 'o':
      return floor(2.99 * share);
    case 'g':
      return exp(wave);
    case 's':
      return wave;
    default:
      return floor(2 * exp(wave));
  }
}

/* Rows of wavy_data with such answers, trials or an exposure where the likelihood takes them. */
static oatgp_data *answers_data(scratch *s, const char *likelihood, size_t n, size_t d, uint64_t seed) {
  oatgp_data *waves = wavy_data(s, n, d, 0.5, seed);
  double *x = calloc(n * d, sizeof *x), *y = calloc(n, sizeof *y), *size = calloc(n, sizeof *size);
  for (size_t i = 0; i < n; i++) {
    y[i] = answer_of(likelihood, waves->y[i]);
    size[i] = 5 + (double)(i % 3);
    for (size_t j = 0; j < d; j++) {
      x[i * d + j] = waves->x[i + j * n];
    }
  }
  oatgp_data *data = make_data(s, n, d, x, y);
  if (strcmp(likelihood, "binomial-logit") == 0) {
    must(s, oatgp_data_set_trials(s->ctx, data, size));
  }
  if (strcmp(likelihood, "negative-binomial") == 0) {
    must(s, oatgp_data_set_exposure(s->ctx, data, size));
  }
  oatgp_data_free(waves);
  free(x);
  free(y);
  free(size);
  return data;
}

static oatgp_model *fit_answers(scratch *s, const char *likelihood, const oatgp_data *data) {
  s->settings.likelihood = likelihood;
  s->settings.select = "simultaneous";
  s->settings.knots = "6";
  s->settings.max_iter = 6;
  return must_fit(s, data, NULL);
}

/* What there is of each: two classes have other figures than numbers, and whole numbers one that others have not. */
typedef struct answers {
  const char *likelihood;
  const char *missing;
  const char *page[4]; /* what the page must say */
} answers;

static const answers all_answers[] = {
    {"bernoulli-logit",
     " observed calibration rootogram ",
     {"log loss", "Brier score", "AUC", "f is the log odds of 1"}},
    {"bernoulli-probit",
     " observed calibration rootogram ",
     {"log loss", "Telling the classes apart (ROC)", "always saying class ", "accuracy"}},
    {"binomial-logit",
     " reliability roc classes ",
     {"deviance", "Rootogram", "of one trial", "f is the log odds of a success"}},
    {"poisson",
     " reliability roc classes ",
     {"deviance", "Rootogram", "f is the logarithm of the mean", "coverage 95&nbsp;%"}},
    {"negative-binomial",
     " reliability roc classes ",
     {"shape</th>", "Rootogram", "for an exposure of 1", "mean + mean&sup2; / shape"}},
    {"gamma",
     " reliability roc rootogram classes ",
     {"shape</th>", "deviance", "expected target", "the variance is mean&sup2; / shape"}},
    {"student-t",
     " reliability roc rootogram classes ",
     {"scale</th>", "degrees</th>", "f is the location", "deviance"}},
    {"beta", " reliability roc rootogram classes ", {"shape</th>", "deviance", "(PIT)", "Quantiles of the residuals"}},
    {"ordinal",
     " reliability roc ",
     {"the most likely level is the observed one", "accuracy", "gap1</th>", "Rootogram"}},
};

static void expect_letters(scratch *s, const oatgp_model *model, const oatgp_data *data, const char *figure) {
  for (size_t width = 24; width <= 78; width += 54) {
    size_t size = 0;
    must(s, oatgp_draw(s->ctx, model, data,
                       &(oatgp_drawing){.figure = figure, .path = s->path, .width = width, .height = 12}));
    char *const text = read_bytes_back(s, &size);
    expect_straight(text);
    free(text);
  }
}

static void expect_answer_figures(scratch *s, const answers *a, const oatgp_model *model, const oatgp_data *data) {
  const size_t d = oatgp_data_inputs(data);
  oatgp_figure figure;
  for (size_t k = 0; oatgp_figure_at(k, &figure); k++) {
    char word[40];
    snprintf(word, sizeof word, " %s ", figure.name);
    if (strstr(a->missing, word) != NULL ||
        strstr(d == 1 ? " effects evidence relevance partial classes sensitivity " : " effects evidence ", word) !=
            NULL) {
      expect_sentence(s, OATGP_DATA,
                      oatgp_draw(s->ctx, model, data, &(oatgp_drawing){.figure = figure.name, .path = s->path}),
                      "this model has no figure ");
      continue;
    }
    expect_svg(s, model, data, figure.name);
    expect_letters(s, model, data, figure.name);
    if (!figure.needs_data) {
      expect_svg(s, model, NULL, figure.name);
    }
  }
}

static void every_figure_of_every_answer(void **state) {
  scratch *s = *state;
  for (size_t i = 0; i < 2 * LENGTH(all_answers); i += amount(1, 3, 7)) {
    const answers *a = &all_answers[i / 2];
    const size_t d = 1 + i % 2;
    oatgp_data *data = answers_data(s, a->likelihood, 60, d, 5), *other = answers_data(s, a->likelihood, 40, d, 6);
    oatgp_model *model = fit_answers(s, a->likelihood, data);
    expect_answer_figures(s, a, model, data);
    expect_answer_figures(s, a, model, other);
    char *const page = report(s, model, data, NULL), *const new_page = report(s, model, other, NULL);
    expect_page(page);
    expect_page(new_page);
    assert_non_null(strstr(page, "leave-one-out"));
    assert_non_null(strstr(new_page, "as the model predicts them"));
    for (size_t k = 0; k < LENGTH(a->page); k++) {
      if (strstr(page, a->page[k]) == NULL) {
        fail_msg("the page of %s for %zu inputs lacks '%s'", a->likelihood, d, a->page[k]);
      }
    }
    assert_null(strstr(page, ">tau<")); /* what is Gaussian alone */
    assert_null(strstr(page, "--certify"));
    assert_int_equal(strstr(page, ">RMSE<") == NULL, strncmp(a->likelihood, "bernoulli", 9) == 0);
    free(page);
    free(new_page);
    oatgp_model_free(model);
    oatgp_data_free(data);
    oatgp_data_free(other);
  }
}

/* The drawn residuals lie in the stretch that the answer has, and are spread over it. */
static void quantile_residuals(void **state) {
  scratch *s = *state;
  oatgp_data *data = answers_data(s, "poisson", 400, 1, 5);
  oatgp_model *model = fit_answers(s, "poisson", data);
  oat_facts facts;
  double sum = 0, squares = 0;
  must(s, oat_facts_make(s->ctx, model, data, &facts));
  assert_true(facts.left_out);
  for (size_t i = 0; i < data->n; i++) {
    assert_true(facts.up_to[i] > facts.below[i]);
    assert_near(facts.up_to[i] - facts.below[i], exp(-facts.nlp[i]), 1e-9);
    assert_true(facts.quantile[i] >= oat_normal_quantile(fmax(facts.below[i], 1e-300)) - 1e-9);
    assert_true(facts.quantile[i] <= oat_normal_quantile(fmin(facts.up_to[i], 1 - 1e-16)) + 1e-9);
    sum += facts.quantile[i] / (double)data->n;
    squares += facts.quantile[i] * facts.quantile[i] / (double)data->n;
  }
  assert_true(fabs(sum) < 0.2 && squares > 0.5 && squares < 1.5);
  oat_scratch_free(&facts.memory);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* The expected number of rows that have 0 is the sum of its probabilities. */
static void the_rootogram_has_the_sums(void **state) {
  scratch *s = *state;
  enum { N = 90 };
  oatgp_data *data = answers_data(s, "negative-binomial", N, 1, 5),
             *other = answers_data(s, "negative-binomial", N, 1, 6), *zeros = NULL;
  const double none[N] = {0};
  double nlp[N], expected = 0;
  size_t seen = 0;
  char sentence[128];
  oat_facts facts;
  oatgp_model *model = fit_answers(s, "negative-binomial", data);
  zeros = make_data(s, N, 1, other->x, none);
  must(s, oatgp_data_set_exposure(s->ctx, zeros, other->exposure));
  must(s, oat_facts_make(s->ctx, model, zeros, &facts));
  memcpy(nlp, facts.nlp, sizeof nlp);
  oat_scratch_free(&facts.memory);
  for (size_t i = 0; i < N; i++) {
    expected += exp(-nlp[i]);
    seen += other->y[i] == 0;
  }
  char *const text = draw(s, model, other, "rootogram");
  snprintf(sentence, sizeof sentence, " %zu of 90 rows have 0, where %s were expected.", seen,
           oat_number(expected, 3).text);
  if (strstr(text, sentence) == NULL) {
    fail_msg("no '%s' in %s", sentence, strstr(text, "<desc"));
  }
  free(text);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(other);
  oatgp_data_free(zeros);
}

/* Two classes with names that are markup: their words are everywhere, as text. */
static void classes_have_their_names(void **state) {
  static const char *const names[] = {"<no>", "yes & more"};
  scratch *s = *state;
  oatgp_data *data = answers_data(s, "bernoulli-logit", 120, 2, 5);
  oatgp_scores scores;
  char sentence[160];
  size_t ones = 0;
  must(s, oatgp_data_set_target_levels(s->ctx, data, 2, names));
  oatgp_model *model = fit_answers(s, "bernoulli-logit", data);
  must(s, oatgp_loo(s->ctx, model, data, NULL, &scores));
  for (size_t i = 0; i < data->n; i++) {
    ones += data->y[i] == 1;
  }
  char *const page = report(s, model, data, NULL);
  expect_page(page);
  assert_null(strstr(page, "<no>"));
  assert_non_null(
      strstr(page, "A row of class yes &amp; more has a larger probability of it than one of class &lt;no&gt;"));
  assert_non_null(strstr(page, ">probability of yes &amp; more"));
  assert_non_null(strstr(page, "f is the log odds of yes &amp; more"));
  assert_non_null(strstr(page, "data-value=\"0\">&lt;no&gt;</td>"));
  free(page);
  char *const roc = draw(s, model, data, "roc"), *const reliability = draw(s, model, data, "reliability");
  snprintf(sentence, sizeof sentence,
           "how many of the %zu rows of class yes &amp; more are found, and how many of the %zu others", ones,
           data->n - ones);
  assert_non_null(strstr(roc, sentence));
  snprintf(sentence, sizeof sentence, "The area under the curve (AUC) is %s: ", oat_number(scores.auc, 3).text);
  assert_non_null(strstr(roc, sentence));
  snprintf(sentence, sizeof sentence, "have class yes &amp; more: %zu of %zu in all", ones, data->n);
  assert_non_null(strstr(reliability, sentence));
  free(roc);
  free(reliability);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Rows of one class have no ROC, and the page says so; one row alone has a page, too. Counts may be huge, and one far
 * beyond the others. */
static void odd_answers(void **state) {
  scratch *s = *state;
  oatgp_data *data = answers_data(s, "bernoulli-logit", 60, 1, 5), *counts = answers_data(s, "poisson", 60, 1, 5);
  const double x[] = {-1, 0, 1}, same[] = {1, 1, 1}, far[] = {3, 9007199254740991, 1};
  oatgp_data *ones = make_data(s, 3, 1, x, same), *one = make_data(s, 1, 1, x, same),
             *huge = make_data(s, 3, 1, x, far);
  const struct {
    const char *likelihood;
    const oatgp_data *fitted, *shown;
  } cases[] = {{"bernoulli-logit", data, ones},
               {"bernoulli-logit", data, one},
               {"poisson", counts, one},
               {"poisson", counts, huge}};
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oatgp_model *model = fit_answers(s, cases[i].likelihood, cases[i].fitted);
    char *const page = report(s, model, cases[i].shown, NULL);
    expect_page(page);
    assert_int_equal(count(page, "needs rows of both classes.</p>"), i < 2);
    assert_int_equal(count(page, "All rows here have the same class."), i < 2);
    assert_null(strstr(page, "NaN"));
    free(page);
    oatgp_model_free(model);
  }
  oatgp_data_free(huge);
  oatgp_data_free(one);
  oatgp_data_free(ones);
  oatgp_data_free(counts);
  oatgp_data_free(data);
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static void senseless_figures_are_refused(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, 2, 0.2, 1), *blind = make_data(s, 2, 2, (const double[]){0, 1, 1, 0}, NULL);
  s->settings.knots = "5";
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_drawing unknown = {.figure = "pie", .path = s->path}, observed = {.figure = "observed", .path = s->path};
  expect_sentence(s, OATGP_ARGUMENT, oatgp_draw(s->ctx, model, data, &unknown),
                  "there is no figure 'pie'; the figures are observed, ");
  expect_sentence(s, OATGP_DATA, oatgp_draw(s->ctx, model, NULL, &observed),
                  "the figure 'observed' needs data with a target");
  expect_sentence(s, OATGP_DATA, oatgp_draw(s->ctx, model, blind, &observed),
                  "the figure 'observed' needs data with a target");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_draw(s->ctx, model, data, &(oatgp_drawing){"observed", s->path, 23, 9, 0}),
                  "at least 24 wide and 8 high, not 23 and 9");
  expect_sentence(s, OATGP_WRITE,
                  oatgp_draw(s->ctx, model, data, &(oatgp_drawing){.figure = "observed", .path = "/no/folder/f.svg"}),
                  "cannot write '/no/folder/f.svg'");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_draw(s->ctx, NULL, data, &observed), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_draw(s->ctx, model, data, NULL), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_report(s->ctx, model, NULL, NULL, s->path), "must not be NULL");
  expect_sentence(s, OATGP_DATA, oatgp_report(s->ctx, model, blind, NULL, s->path), "the data have no target");
  expect_sentence(s, OATGP_WRITE, oatgp_report(s->ctx, model, data, NULL, "/no/folder/f.html"),
                  "cannot write '/no/folder/f.html'");
  assert_int_equal(oatgp_draw(NULL, model, data, &observed), OATGP_ARGUMENT);
  assert_int_equal(oatgp_report(NULL, model, data, NULL, s->path), OATGP_ARGUMENT);
  assert_int_equal(oatgp_figure_at(1000, NULL), 0);
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(blind);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(averages_are_those_of_the_joint_posterior),
      cmocka_unit_test(binomial_quantiles_are_those_of_the_sum),
      WITH_SCRATCH(every_figure_of_every_sort_of_model),
      WITH_SCRATCH(the_evidence_when_it_is_known),
      WITH_SCRATCH(rows_at_the_ends_of_all_numbers),
      WITH_SCRATCH(the_history_has_every_knot),
      WITH_SCRATCH(knots_in_batches_are_one_point),
      WITH_SCRATCH(sets_of_knots_are_told_apart),
      WITH_SCRATCH(every_selection_has_a_history),
      WITH_SCRATCH(the_history_of_an_updated_model),
      WITH_SCRATCH(figures_in_letters),
      WITH_SCRATCH(every_figure_in_letters),
      WITH_SCRATCH(effects_of_a_sum),
      WITH_SCRATCH(the_page_has_it_all),
      WITH_SCRATCH(new_rows_and_other_locales),
      WITH_SCRATCH(borrowed_rows),
      WITH_SCRATCH(many_rows_are_thinned),
      WITH_SCRATCH(the_worst_rows_are_found),
      WITH_SCRATCH(many_inputs_have_names),
      WITH_SCRATCH(odd_data),
      WITH_SCRATCH(a_constant_target),
      WITH_SCRATCH(a_model_file_of_before),
      WITH_SCRATCH(every_figure_of_every_answer),
      WITH_SCRATCH(quantile_residuals),
      WITH_SCRATCH(the_rootogram_has_the_sums),
      WITH_SCRATCH(classes_have_their_names),
      WITH_SCRATCH(odd_answers),
      WITH_SCRATCH(senseless_figures_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
