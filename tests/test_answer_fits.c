/* Fits with answers that are not Gaussian: what an automatic fit finds, knots one at a time, parameters that stay, fits
 * that are stopped and resumed, threads, and answers that are hard or wrong. */
#include "fits.h"

#include "likelihood/likelihood.h"

enum { ROWS = 180, LEVELS = 4, MOST_OWN = LEVELS - 2 };

/* A likelihood and the parameters that answers are drawn with. */
typedef struct example {
  const char *likelihood;
  double own[MOST_OWN];
} example;

static const example examples[] = {
    {"bernoulli-logit", {0}},   {"bernoulli-probit", {0}},
    {"binomial-logit", {0}},    {"poisson", {0}},
    {"negative-binomial", {3}}, {"gamma", {3}},
    {"student-t", {0.2, 3}},    {"beta", {9}},
    {"ordinal", {0.8, 1.1}},
};

/* Where time is short: every so many of the examples, and how many rows of so many. */
static size_t every(size_t step) { return amount(step, 2 * step, LENGTH(examples)); }
static size_t rows_of(size_t n) {
  const size_t most = amount(n, 200, 40);
  return n < most ? n : most;
}

static oatgp_data *example_data(scratch *s, const example *e, size_t most, uint64_t seed) {
  const size_t n = rows_of(most);
  const oat_response response = {oat_likelihood_find(e->likelihood), e->own, LEVELS};
  double *x = calloc(2 * n, sizeof *x), *y = calloc(2 * n, sizeof *y), *trials = y + n;
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    x[2 * i] = 4 * oat_rng_uniform(&rng) - 2;
    x[2 * i + 1] = 4 * oat_rng_uniform(&rng) - 2;
    trials[i] = response.likelihood->has_trials ? 10 : 1;
    y[i] = oat_response_draw(&response, 1.6 * sin(1.5 * x[2 * i]) + 0.5 * x[2 * i + 1] + 0.5, trials[i], &rng);
  }
  oatgp_data *data = make_data(s, n, 2, x, y);
  must(s, response.likelihood->has_trials ? oatgp_data_set_trials(s->ctx, data, trials) : OATGP_OK);
  s->settings.likelihood = e->likelihood;
  free(x);
  free(y);
  return data;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* The fit finds approximately the parameters that the targets were drawn with, and predicts rows left out better than a
 * constant, or there is a warning. */
static void finds_parameters(void **state) {
  scratch *s = *state;
  for (size_t i = 0; i < LENGTH(examples); i += every(1)) {
    oatgp_data *data = example_data(s, &examples[i], ROWS, 3 + i);
    oatgp_model *model = must_fit(s, data, NULL);
    const oatgp_model_info info = info_of(model);
    assert_string_equal(info.likelihood, examples[i].likelihood);
    for (size_t j = 0; j < info.likelihood_count; j++) {
      const double ratio = info.likelihood_parameters[j].value / examples[i].own[j];
      if (!(ratio > 0.4 && ratio < 2.5)) {
        fail_msg("%s: %s is %g and not about %g", info.likelihood, info.likelihood_parameters[j].name,
                 info.likelihood_parameters[j].value, examples[i].own[j]);
      }
    }
    assert_true(isfinite(info.loo_mean_nlp) && info.knots > 0);
    assert_null(strstr(s->said, "rows worse than"));
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
}

/* ---- one at a time --------------------------------------------------------------------------------------------- */

typedef struct climb {
  double objective;
  size_t kept;
  bool fell;
} climb;

static int watch_climb(void *user, const oatgp_event *event) {
  climb *c = user;
  if (event->kind == OATGP_EVENT_KEPT) {
    c->fell = c->fell || event->objective < c->objective;
    c->objective = event->objective;
    c->kept++;
  }
  return 0;
}

/* The bound never falls when a knot is kept. */
static void never_falls(void **state) {
  scratch *s = *state;
  const char *const ways[] = {"oat-gain", "oat-rs", "oat-bo"};
  size_t kept = 0;
  for (size_t i = 0; i < LENGTH(examples); i += every(3)) {
    for (size_t w = 0; w < LENGTH(ways); w++) {
      climb c = {.objective = -HUGE_VAL};
      oatgp_data *data = example_data(s, &examples[i], 80, 7 + i);
      oatgp_model *model = NULL;
      s->settings.select = ways[w];
      s->settings.max_knots = 9;
      must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, watch_climb, &c, &model));
      if (c.fell) {
        fail_msg("%s with %s: the bound fell", ways[w], examples[i].likelihood);
      }
      kept += c.kept;
      oatgp_model_free(model);
      oatgp_data_free(data);
    }
  }
  assert_true(kept > 0 || under_valgrind());
}

/* ---- parameters that stay -------------------------------------------------------------------------------------- */

static void stays_fixed(void **state) {
  scratch *s = *state;
  oatgp_data *data = example_data(s, &examples[6], 80, 5);
  s->settings.select = "oat-gain";
  s->settings.max_knots = 8;
  s->settings.degrees = 4;
  s->settings.fix = "degrees";
  s->settings.range = "likelihood_scale=0.3:0.5";
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_parameter *own = info_of(model).likelihood_parameters;
  assert_true(own[1].value == 4);
  assert_true(own[0].value >= 0.3 * (1 - 1e-12) && own[0].value <= 0.5 * (1 + 1e-12));
  s->settings.fix = "tau";
  oatgp_model *none = NULL;
  const oatgp_status status =
      oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &none); /* tau is there, and not used */
  assert_true(status == OATGP_OK || status == OATGP_ARGUMENT);
  oatgp_model_free(none);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* ---- stopped and resumed --------------------------------------------------------------------------------------- */

typedef struct stopper {
  int left;
} stopper;

static int stop_later(void *user, const oatgp_event *event) {
  stopper *p = user;
  (void)event;
  return p->left-- <= 0;
}

static void expect_same_fit(scratch *s, const oatgp_data *data, const oatgp_model *a, const oatgp_model *b) {
  const size_t n = oatgp_data_rows(data);
  double *of_a = must_predict(s, a, data), *of_b = must_predict(s, b, data);
  assert_memory_equal(of_a, of_b, 3 * n * sizeof *of_a);
  assert_true(info_of(a).objective == info_of(b).objective);
  free(of_a);
  free(of_b);
}

/* A fit that is stopped at some event and resumed goes through the same numbers as one that was never stopped: sites
 * are saved, too. */
static void resumes(void **state) {
  scratch *s = *state;
  const char *const ways[] = {"auto", "oat-gain"};
  for (size_t i = 0; i < LENGTH(examples); i += every(4)) {
    for (size_t w = 0; w < LENGTH(ways); w++) {
      oatgp_data *data = example_data(s, &examples[i], 130, 11 + i);
      oatgp_model *whole = NULL, *part = NULL, *resumed = NULL;
      s->settings.select = ways[w];
      s->settings.max_knots = 12;
      s->settings.checkpoint = s->settings.resume = "";
      whole = must_fit(s, data, NULL);
      for (int after = 3; after < 60; after *= 4) {
        s->settings.checkpoint = s->path;
        s->settings.resume = "";
        must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, stop_later, &(stopper){after}, &part));
        s->settings.resume = s->path;
        s->settings.checkpoint = "";
        if (info_of(part).stop == OATGP_STOP_USER) {
          must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &resumed));
          expect_same_fit(s, data, whole, resumed);
        }
        oatgp_model_free(part);
        oatgp_model_free(resumed);
        part = resumed = NULL;
      }
      oatgp_model_free(whole);
      oatgp_data_free(data);
    }
  }
}

static void same_bits_for_any_threads(void **state) {
  scratch *s = *state;
  for (size_t i = 0; i < LENGTH(examples); i += every(2)) {
    oatgp_data *data = example_data(s, &examples[i], 700, 17 + i);
    s->settings.knots = "12";
    s->settings.max_iter = 4;
    s->settings.threads = 1;
    oatgp_model *one = must_fit(s, data, NULL);
    s->settings.threads = 3;
    oatgp_model *three = must_fit(s, data, NULL);
    expect_same_fit(s, data, one, three);
    oatgp_model_free(one);
    oatgp_model_free(three);
    oatgp_data_free(data);
  }
}

/* ---- hard and wrong answers ------------------------------------------------------------------------------------ */

/* One class, parted classes, no count at all, counts of all sizes: y by its kind. */
static double hard_answer(const example *e, int kind, double x, double u) {
  const oat_likelihood *likelihood = oat_likelihood_find(e->likelihood);
  const bool right = x > 0;
  switch (likelihood->id) {
    case OAT_BINOMIAL_LOGIT:
      return kind == 0 ? 0 : kind == 1 ? (right ? 10 : 0) : floor(11 * u);
    case OAT_POISSON:
    case OAT_NEGATIVE_BINOMIAL:
      return kind == 0 ? 0 : kind == 1 ? floor(1e7 * u) : right ? floor(1e5 * u) : 0;
    case OAT_ORDINAL:
      return kind == 0 ? u < 0.1 : kind == 1 ? (right ? 3 : 0) : floor(4 * u);
    case OAT_BETA:
      return kind == 0 ? 1e-9 : kind == 1 ? (right ? 1 - 1e-9 : 1e-9) : 0.001 + 0.998 * u;
    case OAT_GAMMA:
      return kind == 0 ? 1e-8 : kind == 1 ? 1e9 * (u + 1e-9) : exp(20 * (u - 0.5));
    case OAT_STUDENT_T:
      return kind == 0 ? 5 : kind == 1 ? (u < 0.1 ? 1e6 * u : sin(x)) : tan(3.1 * (u - 0.5));
    default:
      return kind == 0 ? 0 : kind == 1 ? right : u < 0.5;
  }
}

static void hard_answers(void **state) {
  scratch *s = *state;
  const size_t n = 50;
  for (size_t i = 0; i < LENGTH(examples); i += every(1)) {
    for (int kind = 0; kind < 3; kind++) {
      oatgp_data *data = example_data(s, &examples[i], n, 23 + i);
      double x[100], y[50], trials[50];
      oat_rng rng;
      oat_rng_seed(&rng, 100 * i + (size_t)kind);
      for (size_t j = 0; j < n; j++) {
        x[2 * j] = oat_rng_normal(&rng);
        x[2 * j + 1] = oat_rng_normal(&rng);
        y[j] = hard_answer(&examples[i], kind, x[2 * j], oat_rng_uniform(&rng));
        trials[j] = 10;
      }
      oatgp_data_free(data);
      data = make_data(s, n, 2, x, y);
      const bool tried = oat_likelihood_find(examples[i].likelihood)->has_trials;
      must(s, tried ? oatgp_data_set_trials(s->ctx, data, trials) : OATGP_OK);
      oatgp_model_free(fit_sanely(s, data, NULL));
      oatgp_data_free(data);
    }
  }
}

static void expect_refused(scratch *s, const char *likelihood, double answer, const char *sentence) {
  const double x[] = {1, 2, 3, 4, 5}, y[] = {0, 1, answer, 1, 0};
  oatgp_data *data = make_data(s, 5, 1, x, y);
  oatgp_model *model = NULL;
  s->settings.likelihood = likelihood;
  expect_sentence(s, OATGP_DATA, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), sentence);
  oatgp_data_free(data);
}

static void wrong_answers(void **state) {
  scratch *s = *state;
  expect_refused(s, "bernoulli-logit", 2, "of row 3 is 2, but likelihood bernoulli-logit needs 0 or 1");
  expect_refused(s, "poisson", 1.5, "of row 3 is 1.5");
  expect_refused(s, "poisson", -1, "of row 3 is -1");
  expect_refused(s, "gamma", 0, "of row 1 is 0");
  expect_refused(s, "beta", 1, "row 1 is 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(finds_parameters),
      WITH_SCRATCH(never_falls),
      WITH_SCRATCH(stays_fixed),
      WITH_SCRATCH(resumes),
      WITH_SCRATCH(same_bits_for_any_threads),
      WITH_SCRATCH(hard_answers),
      WITH_SCRATCH(wrong_answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
