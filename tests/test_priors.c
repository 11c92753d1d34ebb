/* Priors of parameters: their densities, their part of the objective and its gradient, and models and checkpoints that
 * have them. */
#include "watch.h"

#include "objective/prior.h"

/* ---- families -------------------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  double argument[OAT_MOST_ARGUMENTS];
} examples[] = {
    {"lognormal", {0.3, 0.8}}, {"normal", {0.5, 1.5}},      {"half-normal", {0.7}},    {"half-cauchy", {0.4}},
    {"gamma", {2.5, 3}},       {"inverse-gamma", {3, 1.5}}, {"uniform", {0.25, 2.75}},
};

static const oat_family *family_of(size_t i) {
  const oat_family *family = oat_family_find(examples[i].name, strlen(examples[i].name));
  assert_non_null(family);
  assert_true(family->allows(examples[i].argument));
  return family;
}

/* The integral over log x, by the trapezoidal rule. */
static void densities_integrate_to_one(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const oat_family *family = family_of(i);
    const double step = 1e-4;
    double sum = 0, slope;
    for (double t = -20; t < 20; t += step) {
      sum += step * exp(family->log_density(examples[i].argument, exp(t), &slope) + t);
    }
    if (!(fabs(sum - 1) < 1e-3)) {
      fail_msg("%s has the integral %.10g", family->name, sum);
    }
  }
  assert_null(oat_family_at(LENGTH(examples))); /* all families are here */
}

static void slopes_are_those_of_the_densities(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(examples); i++) {
    const oat_family *family = family_of(i);
    for (double x = 0.3; x < 2.7; x += 0.3) {
      const double step = 1e-5;
      double slope, other;
      family->log_density(examples[i].argument, x, &slope);
      const double above = family->log_density(examples[i].argument, x * exp(step), &other),
                   below = family->log_density(examples[i].argument, x * exp(-step), &other);
      assert_true(fabs((above - below) / (2 * step) - slope) < 1e-8 * fmax(1, fabs(slope)));
    }
  }
}

/* ---- the objective --------------------------------------------------------------------------------------------- */

static oatgp_evaluation evaluate(scratch *s, const oatgp_data *data) {
  oatgp_evaluation e;
  must(s, oatgp_evaluate(s->ctx, data, &s->settings, NULL, 1, &e));
  return e;
}

/* In the data's units: tau and sigma in those of the target, the named kernel's lengthscales scaled. */
static void objective_has_the_prior(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"full", "vfe", "fitc"};
  oatgp_data *data = wavy_data(s, 30, 2, 0.1, 5);
  s->settings.sigma = 3;
  s->settings.tau = 0.7;
  s->settings.lengthscale = "0.8,1.3";
  s->settings.knots = "6";
  for (size_t i = 0; i < LENGTH(models); i++) {
    const double log_two_pi = log(2 * acos(-1));
    s->settings.approx = models[i];
    s->settings.prior = "auto";
    oatgp_evaluation plain = evaluate(s, data);
    assert_true(plain.log_prior == 0);
    s->settings.prior = "tau ~ lognormal(-1, 0.5), lengthscale~gamma(2,4)";
    oatgp_evaluation with = evaluate(s, data);
    const double z = (log(0.7) + 1) / 0.5;
    const double expected =
        -z * z / 2 - log_two_pi / 2 - log(0.5) - log(0.7) + 2 * 2 * log(4) + log(0.8) + log(1.3) - 4 * (0.8 + 1.3);
    assert_near(with.log_prior, expected, 1e-12);
    assert_near(with.objective, plain.objective + expected, 1e-12);
    assert_near(with.d_log_tau - plain.d_log_tau, -z / 0.5 - 1, 1e-9);
    assert_near(with.d_log_lengthscales[1] - plain.d_log_lengthscales[1], 1 - 4 * 1.3, 1e-9);
    assert_true(with.d_log_sigma == plain.d_log_sigma);
    oatgp_evaluation_clear(&plain);
    oatgp_evaluation_clear(&with);
  }
  oatgp_data_free(data);
}

/* By the names of an expression, and of a likelihood. */
static void parameters_by_name(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 30, 2, 0.1, 5);
  s->settings.approx = "full";
  s->settings.kernel = "se(x1) + matern32(x2)";
  s->settings.prior = "se(x1).lengthscale ~ half-normal(2), sigma ~ half-cauchy(1)";
  oatgp_model *model = must_fit(s, data, NULL);
  assert_string_equal(
      info_of(model).prior,
      "se(x1).lengthscale ~ half-normal(2), se(x1).sigma ~ half-cauchy(1), matern32(x2).sigma ~ half-cauchy(1)");
  oatgp_model_free(model);
  s->settings.kernel = "se-ard";
  s->settings.likelihood = "student-t";
  s->settings.approx = "vfe";
  s->settings.prior = "degrees ~ gamma(2, 0.1)";
  model = must_fit(s, data, NULL);
  assert_string_equal(info_of(model).prior, "degrees ~ gamma(2, 0.1)");
  assert_true(isfinite(info_of(model).log_prior) && info_of(model).log_prior != 0);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* ---- fits ------------------------------------------------------------------------------------------------------ */

/* A narrow prior holds a parameter, a fixed parameter has none, and a uniform one is a range. */
static void priors_pull(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 2, 0.1, 5);
  s->settings.approx = "full";
  s->settings.prior = "tau ~ lognormal(0, 0.001)";
  oatgp_model *model = must_fit(s, data, NULL);
  assert_near(info_of(model).tau, 1, 0.01);
  oatgp_model_free(model);
  s->settings.prior = "tau ~ uniform(0.5, 0.6)";
  model = must_fit(s, data, NULL);
  assert_near(info_of(model).tau, 0.5, 1e-6);
  assert_near(info_of(model).log_prior, -log(0.1), 1e-12);
  oatgp_model_free(model);
  s->settings.fix = "tau";
  s->settings.tau = 0.3;
  model = must_fit(s, data, NULL);
  assert_near(info_of(model).tau, 0.3, 1e-12);
  assert_string_equal(info_of(model).prior, "none");
  assert_true(info_of(model).log_prior == 0);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* What a certificate bounds is the objective without its prior, also after rows have been added, and in the file. */
static void evidence_is_without_the_prior(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"full", "vfe"};
  oatgp_data *data = wavy_data(s, 60, 2, 0.1, 5), *more = wavy_data(s, 20, 2, 0.1, 6);
  for (size_t i = 0; i < LENGTH(models); i++) {
    s->settings.approx = models[i];
    s->settings.prior = "auto";
    s->settings.knots = i == 0 ? "" : "20";
    oatgp_model *model = must_fit(s, data, NULL), *again = NULL;
    oatgp_certificate c;
    must(s, oatgp_certify(s->ctx, model, data, &s->settings, NULL, NULL, &c));
    const double log_prior = info_of(model).log_prior;
    assert_true(log_prior != 0);
    assert_near(c.elbo, info_of(model).objective - log_prior, 1e-7);
    must(s, oatgp_model_save(s->ctx, model, s->path));
    must(s, oatgp_model_load(s->ctx, s->path, &again));
    assert_true(info_of(again).log_prior == log_prior);
    assert_string_equal(info_of(again).prior, info_of(model).prior);
    must(s, oatgp_update(s->ctx, again, more));
    assert_true(info_of(again).log_prior == log_prior);
    oatgp_model_free(again);
    again = NULL;
    s->settings.max_iter = 0; /* the same priors, number for number */
    must(s, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, &again));
    assert_string_equal(info_of(again).prior, info_of(model).prior);
    assert_near(info_of(again).log_prior, log_prior, 1e-9);
    s->settings.max_iter = 1000;
    oatgp_model_free(again);
    oatgp_model_free(model);
  }
  oatgp_data_free(more);
  oatgp_data_free(data);
}

/* Few rows of noise and many inputs: maximum likelihood may find anything, the weak priors do not. */
static void weak_priors_fade(void **state) {
  scratch *s = *state;
  static const size_t rows[] = {30, 300};
  double difference[LENGTH(rows)];
  s->settings.approx = "full";
  for (size_t i = 0; i < LENGTH(rows); i++) {
    oatgp_data *data = wavy_data(s, rows[i], 2, 0.3, 8);
    s->settings.prior = "auto";
    oatgp_model *with = must_fit(s, data, NULL);
    s->settings.prior = "none";
    oatgp_model *without = must_fit(s, data, NULL);
    assert_string_equal(info_of(without).prior, "none");
    assert_non_null(strstr(info_of(with).prior, "tau ~ gamma(3, "));
    assert_non_null(strstr(info_of(with).prior, "lengthscale ~ lognormal("));
    assert_true(info_of(without).objective > info_of(with).objective - info_of(with).log_prior);
    difference[i] = fabs(log(info_of(with).tau / info_of(without).tau));
    oatgp_model_free(with);
    oatgp_model_free(without);
    oatgp_data_free(data);
  }
  assert_true(difference[1] < 0.05 && difference[1] < difference[0] + 1e-9);
}

/* An input that does not matter has a very long lengthscale, which costs less and less: 2000 rows are four times 500,
 * so the width is twice that of few rows. */
static void long_lengthscales_cost_less_with_many_rows(void **state) {
  scratch *s = *state;
  oatgp_data *few = wavy_data(s, 400, 1, 0.3, 8), *many = wavy_data(s, 2000, 1, 0.3, 8);
  s->settings.prior = "auto";
  s->settings.select = "fixed";
  s->settings.knots = "5";
  s->settings.max_iter = 0;
  oatgp_model *of_few = must_fit(s, few, NULL), *of_many = must_fit(s, many, NULL);
  assert_non_null(strstr(info_of(of_few).prior, ", 0.75)"));
  assert_non_null(strstr(info_of(of_many).prior, ", 1.5)"));
  oatgp_model_free(of_few);
  oatgp_model_free(of_many);
  oatgp_data_free(few);
  oatgp_data_free(many);
}

/* Stopped at some event and resumed: the same bits. */
static void resumed_with_the_same_bits(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 80, 2, 0.1, 5);
  s->settings.prior = "weak, sigma ~ half-normal(1)";
  s->settings.select = "oat-gain";
  s->settings.max_knots = 8;
  oatgp_model *whole = must_fit(s, data, NULL), *model = NULL;
  watch w = {.stop_after = 12};
  s->settings.checkpoint = s->path;
  model = fit_watched(s, data, &w);
  assert_int_equal(info_of(model).stop, OATGP_STOP_USER);
  oatgp_model_free(model);
  s->settings.checkpoint = "";
  s->settings.resume = s->path;
  model = must_fit(s, data, NULL);
  expect_same_model(s, data, whole, model);
  assert_true(info_of(model).objective == info_of(whole).objective);
  oatgp_model_free(model);
  s->settings.prior = "none";
  expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model),
                  "now it is 'prior = none'");
  oatgp_model_free(whole);
  oatgp_data_free(data);
}

/* Of two priors of one parameter the later one counts, ranges of uniform ones included; none takes back those before.
 */
static void later_priors_count(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 2, 0.1, 5);
  s->settings.approx = "full";
  s->settings.prior = "tau ~ lognormal(0, 1)";
  oatgp_model *plain = must_fit(s, data, NULL);
  s->settings.prior = "tau ~ uniform(2, 3), tau ~ lognormal(0, 1)";
  oatgp_model *later = must_fit(s, data, NULL);
  assert_true(info_of(later).tau == info_of(plain).tau && info_of(plain).tau < 2);
  oatgp_model_free(later);
  s->settings.prior = "weak, tau ~ uniform(2, 3), none, tau ~ lognormal(0, 1)";
  later = must_fit(s, data, NULL);
  assert_string_equal(info_of(later).prior, info_of(plain).prior);
  assert_true(info_of(later).tau == info_of(plain).tau);
  oatgp_model_free(later);
  oatgp_model_free(plain);
  oatgp_data_free(data);
}

/* A uniform prior and a range of the same parameter both hold. */
static void uniform_priors_within_ranges(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 2, 0.1, 5);
  s->settings.approx = "full";
  s->settings.range = "tau=0.8:5";
  s->settings.prior = "tau ~ uniform(0.5, 0.9)";
  oatgp_model *model = must_fit(s, data, NULL);
  assert_near(info_of(model).tau, 0.8, 1e-6);
  oatgp_model_free(model);
  s->settings.prior = "tau ~ uniform(0.5, 0.7)";
  expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model),
                  "prior: tau ~ uniform(0.5, 0.7) lies outside the range of the parameter; set another one by --range");
  oatgp_data_free(data);
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static void priors_that_are_none(void **state) {
  scratch *s = *state;
  static const struct {
    const char *prior, *piece;
  } cases[] = {
      {"tau", "prior: 'tau' must be none, weak or NAME ~ FAMILY(NUMBERS)"},
      {"tau ~ ", "must be none, weak or"},
      {"tau ~ gamma(1, 2", "must be none, weak or"},
      {"tau ~ gama(1, 2)",
       "prior: 'gama' is not one of the families lognormal, normal, half-normal, half-cauchy, gamma, inverse-gamma, "
       "uniform"},
      {"tau ~ (1, 2)", "prior: '' is not one of the families"},
      {"tua ~ gamma(1, 2)", "prior: 'tua' is not one of sigma, tau, shape, lengthscale"},
      {"tau ~ gamma(1)", "prior: 'gamma(1)' needs a shape and a rate above 0"},
      {"tau ~ gamma(1, 2, 3)", "needs a shape and a rate above 0"},
      {"tau ~ gamma(1, x)", "needs a shape and a rate above 0"},
      {"tau ~ gamma()", "needs a shape and a rate above 0"},
      {"tau ~ half-normal(-1)", "prior: 'half-normal(-1)' needs a scale above 0"},
      {"tau ~ uniform(2, 1)", "needs two numbers above 0, the smaller first"},
      {"weak, tau ~ lognormal(0, 0)", "needs the mean of the logarithm and its standard deviation, above 0"},
  };
  oatgp_data *data = wavy_data(s, 20, 2, 0.1, 5);
  for (size_t i = 0; i < LENGTH(cases); i++) {
    oatgp_model *model = NULL;
    s->settings.prior = cases[i].prior;
    expect_sentence(s, OATGP_ARGUMENT, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model), cases[i].piece);
  }
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(densities_integrate_to_one),
      cmocka_unit_test(slopes_are_those_of_the_densities),
      WITH_SCRATCH(objective_has_the_prior),
      WITH_SCRATCH(parameters_by_name),
      WITH_SCRATCH(priors_pull),
      WITH_SCRATCH(evidence_is_without_the_prior),
      WITH_SCRATCH(weak_priors_fade),
      WITH_SCRATCH(long_lengthscales_cost_less_with_many_rows),
      WITH_SCRATCH(resumed_with_the_same_bits),
      WITH_SCRATCH(later_priors_count),
      WITH_SCRATCH(uniform_priors_within_ranges),
      WITH_SCRATCH(priors_that_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
