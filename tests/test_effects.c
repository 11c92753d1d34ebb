/* Given settings without effect in combination with others: each of them has a note, and no other setting has. */
#include "fits.h"

/* A setting, others as "name=value" pairs, and whether it has an effect with them. */
typedef struct pair {
  const char *name, *value, *with[4];
  bool has_effect;
} pair;

static const pair pairs[] = {
    {"alpha", "0.3", {"approx=vfe"}, false},
    {"alpha", "0.3", {"approx=pep"}, true},
    {"shape", "2", {"kernel=se"}, false},
    {"shape", "2", {"kernel=rq", "approx=full"}, true},
    {"knots", "20", {"approx=full"}, false},
    {"knots", "20", {"approx=dtc"}, true},
    {"knots_scaled", "yes", {"knots=20"}, false},
    {"jitter", "1e-5", {"approx=full"}, false},
    {"jitter", "1e-5", {"jitter_absolute=1e-4"}, false},
    {"jitter", "1e-5", {NULL}, true},
    {"jitter_absolute", "1e-4", {"approx=full"}, false},
    {"select", "oat-bo", {"approx=full"}, false},
    {"select", "fixed", {"approx=full"}, true},
    {"subset_rows", "30", {"select=fixed"}, false},
    {"tol_row", "0.1", {"knots=20"}, false},
    {"tol_row", "0.1", {NULL}, true},
    {"max_knots", "15", {"approx=full"}, false},
    {"max_knots", "15", {"select=fixed"}, false},
    {"max_knots", "15", {"select=auto"}, true},
    {"max_knots", "9", {"select=oat-rs"}, true},
    {"tol_knot", "0.5", {"select=auto"}, false},
    {"tol_knot", "0.5", {"select=variance"}, true},
    {"candidates", "3", {"select=fixed"}, false},
    {"candidates", "3", {"select=oat-gain"}, false},
    {"candidates", "3", {"select=oat-gain", "approx=fitc", "max_knots=6"}, true},
    {"candidates", "3", {"select=oat-rs", "max_knots=6"}, true},
    {"first_candidates", "3", {"select=oat-rs", "max_knots=6"}, false},
    {"batch", "2", {"select=oat-rs", "max_knots=6"}, false},
    {"batch", "2", {"select=oat-gain", "max_knots=8"}, true},
    {"gain_rows", "20", {"select=oat-gain", "approx=pep", "max_knots=6"}, false},
    {"inner_iter", "3", {"select=fixed"}, false},
    {"refine", "yes", {"select=simultaneous"}, false},
    {"refine", "yes", {"select=fixed"}, true},
    {"restart_parameters", "yes", {"select=oat-rs", "max_knots=6"}, false},
    {"restart_parameters", "yes", {"select=oat-rs", "max_knots=6", "refine=yes"}, true},
    {"guard", "no", {"select=fixed"}, false},
    {"condition", "yes", {NULL}, false},
    {"surrogate_sigma", "2", {NULL}, false},
    {"surrogate_lengthscale", "2", {NULL}, false},
    {"surrogate_jitter", "1e-5", {"select=oat-gain", "max_knots=6"}, false},
    {"knot_box", "none", {"select=fixed"}, false},
    {"knot_margin", "0.3", {"select=variance"}, false},
    {"knot_margin", "0.3", {"select=simultaneous"}, true},
    {"lbfgs_history", "5", {"optimizer=adadelta", "knots=20"}, false},
    {"line_search", "5", {"optimizer=adadelta", "knots=20"}, false},
    {"decay", "0.9", {NULL}, false},
    {"epsilon", "1e-3", {NULL}, false},
    {"eta", "10", {NULL}, false},
    {"eta", "10", {"optimizer=adadelta"}, true},
    {"checkpoint_seconds", "3", {NULL}, false},
    {"trials", "n", {NULL}, false},
    {"exposure", "e", {NULL}, false},
    {"exposure", "e", {"likelihood=student-t"}, false},
    {"likelihood_shape", "2", {NULL}, false},
    {"likelihood_shape", "2", {"likelihood=student-t"}, false},
    {"likelihood_scale", "0.2", {NULL}, false},
    {"likelihood_scale", "0.2", {"likelihood=student-t"}, true},
    {"degrees", "5", {NULL}, false},
    {"degrees", "5", {"likelihood=student-t"}, true},
    {"tau", "0.3", {"likelihood=student-t"}, false},
    {"predict_neighbours", "7", {"likelihood=student-t"}, false},
    /* the values of a preset were not given, but values that differ from it were */
    {"max_knots", "6", {"preset=paper"}, true},
    {"max_knots", "6", {"preset=paper", "select=fixed"}, false},
};

static void set(scratch *s, const char *name, const char *value) {
  must(s, oatgp_settings_set(s->ctx, &s->settings, name, value));
}

static void set_pair(scratch *s, const char *text) {
  char name[64];
  const char *equals = strchr(text, '=');
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  set(s, name, equals + 1);
}

static size_t count_notes(const scratch *s) {
  size_t count = 0;
  for (const char *at = s->said; (at = strstr(at, "has no effect here")) != NULL; at++) {
    count++;
  }
  return count;
}

static void pairs_of_settings(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 1, 0.1, 3);
  for (size_t i = 0; i < LENGTH(pairs); i++) {
    const pair *p = &pairs[i];
    char option[64] = "--";
    oatgp_settings_default(&s->settings);
    for (size_t j = 0; j < LENGTH(p->with) && p->with[j] != NULL; j++) {
      set_pair(s, p->with[j]);
    }
    set(s, "max_iter", "2");
    set(s, p->name, p->value);
    s->said[0] = '\0';
    oatgp_model_free(must_fit(s, data, NULL));
    snprintf(option + 2, sizeof option - 2, "%s has no effect here: ", p->name);
    for (char *c = option; *c != ' '; c++) {
      *c = *c == '_' ? '-' : *c;
    }
    if ((strstr(s->said, option) == NULL) != p->has_effect || count_notes(s) != (p->has_effect ? 0 : 1)) {
      fail_msg("case %zu: %s = %s: said '%s'", i, p->name, p->value, s->said);
    }
  }
  oatgp_data_free(data);
}

/* The objective takes no setting of the selection, and is not asked about them. A cross-validation says it once. */
static void other_verbs(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 1, 0.1, 3);
  oatgp_evaluation evaluation;
  oatgp_scores scores;
  set(s, "select", "auto");
  set(s, "approx", "full");
  set(s, "knots", "20");
  set(s, "max_knots", "20");
  set(s, "max_iter", "2");
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &evaluation));
  oatgp_evaluation_clear(&evaluation);
  expect_said(s, "--knots has no effect here: the full GP has no knots");
  assert_int_equal(count_notes(s), 1);
  s->said[0] = '\0';
  must(s, oatgp_cv(s->ctx, data, &s->settings, NULL, NULL, NULL, &scores));
  assert_int_equal(count_notes(s), 2);
  oatgp_data_free(data);
}

/* Neither the defaults nor a preset cause notes. */
static void nothing_given(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 40, 1, 0.1, 3);
  static const char *const models[] = {"vfe", "full"};
  for (size_t i = 0; i < LENGTH(models); i++) {
    for (int preset = 0; preset < 2; preset++) {
      oatgp_settings_default(&s->settings);
      if (preset == 1) {
        set(s, "preset", "paper");
      }
      set(s, "approx", models[i]);
      set(s, "max_iter", "1");
      set(s, "inner_iter", preset == 1 ? "1000" : "15");
      s->said[0] = '\0';
      oatgp_model_free(must_fit(s, data, NULL));
      assert_int_equal(count_notes(s), 0);
    }
  }
  oatgp_data_free(data);
}

/* What a likelihood cannot have. */
static void likelihoods_refuse(void **state) {
  scratch *s = *state;
  const double ones[] = {1, 1, 1, 1, 1, 1}, x[] = {0, 1, 2, 3, 4, 5}, y[] = {0, 1, 1, 0, 1, 0};
  oatgp_data *data = make_data(s, 6, 1, x, y);
  oatgp_evaluation evaluation;
  const struct {
    const char *likelihood, *with, *piece;
  } cases[] = {
      {"poisson", "approx=fitc",
       "--likelihood poisson works with the models vfe and full, not fitc; leave out --approx"},
      {"bernoulli-logit", "approx=dtc", "--likelihood bernoulli-logit works with the models vfe and full, not dtc"},
      {"gamma", "neighbours=3", "--likelihood gamma does not work with neighbours; leave out --neighbours"},
      {"binomial-logit", "approx=vfe",
       "--likelihood binomial-logit needs the number of trials of each row; name its column with --trials"},
  };
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oatgp_settings_default(&s->settings);
    set(s, "likelihood", cases[i].likelihood);
    set_pair(s, cases[i].with);
    expect_sentence(s, OATGP_ARGUMENT, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &evaluation),
                    cases[i].piece);
  }
  oatgp_settings_default(&s->settings);
  set(s, "likelihood", "bernoulli-logit");
  must(s, oatgp_data_set_noise_variance(s->ctx, data, ones));
  expect_sentence(s, OATGP_ARGUMENT, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &evaluation),
                  "leave out --noise-variance");
  oatgp_data_free(data);
}

/* In a fit and in what is done with a model: they would change it, or be left out without a word. */
static void columns_of_other_likelihoods(void **state) {
  scratch *s = *state;
  const double x[] = {0, 1, 2, 3, 4, 5}, y[] = {0, 1, 1, 0, 1, 0}, threes[] = {3, 3, 3, 3, 3, 3};
  for (size_t i = 0; i < 4; i++) {
    const char *likelihood = i % 2 == 0 ? "gaussian" : "bernoulli-logit";
    const char *piece = i < 2 ? "has no trials, only binomial-logit does; leave out --trials"
                              : "has no exposure, only poisson, negative-binomial and gamma do; leave out --exposure";
    oatgp_data *data = make_data(s, 6, 1, x, y);
    oatgp_model *model = NULL, *refitted = NULL;
    oatgp_evaluation evaluation;
    double mean[6];
    set(s, "likelihood", likelihood);
    set(s, "knots", "2");
    must(s, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model));
    must(s, i < 2 ? oatgp_data_set_trials(s->ctx, data, threes) : oatgp_data_set_exposure(s->ctx, data, threes));
    expect_sentence(s, OATGP_ARGUMENT, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 0, &evaluation), piece);
    expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_mean(s->ctx, model, data, mean), piece);
    expect_sentence(s, OATGP_ARGUMENT, oatgp_score(s->ctx, model, data, NULL, &(oatgp_scores){0}), piece);
    expect_sentence(s, OATGP_ARGUMENT, oatgp_update(s->ctx, model, data), piece);
    expect_sentence(s, OATGP_ARGUMENT, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, &refitted), piece);
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(pairs_of_settings),
      WITH_SCRATCH(other_verbs),
      WITH_SCRATCH(nothing_given),
      WITH_SCRATCH(likelihoods_refuse),
      WITH_SCRATCH(columns_of_other_likelihoods),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
