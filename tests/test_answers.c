/* After the fit, with answers that are not Gaussian: predictions and densities against integrals computed here, scores
 * against their formulas, leave-one-out against fits without the row, draws, cross-validation, updates and files. */
#include "fits.h"

#include "predict/metrics.h"
#include "likelihood/likelihood.h"

enum { INPUTS = 2, ROWS = 40, KNOTS = 9, LEVELS = 4 };

/* A likelihood with what its rows have. */
typedef struct example {
  const char *likelihood;
  bool trials, exposure;
  double own[LEVELS - 2]; /* that answers are drawn with */
} example;

static const example examples[] = {
    {"bernoulli-logit", false, false, {0}},  {"bernoulli-probit", false, false, {0}},
    {"binomial-logit", true, false, {0}},    {"poisson", false, true, {0}},
    {"negative-binomial", false, true, {3}}, {"gamma", false, true, {2.5}},
    {"student-t", false, false, {0.5, 4}},   {"beta", false, false, {9}},
    {"ordinal", false, false, {0.8, 1.1}},
};

static bool is(const example *e, const char *likelihood) { return strcmp(e->likelihood, likelihood) == 0; }

static bool is_bernoulli(const example *e) { return strncmp(e->likelihood, "bernoulli", 9) == 0; }

static bool is_discrete(const example *e) { return !is(e, "gamma") && !is(e, "student-t") && !is(e, "beta"); }

/* Answers of a smooth function, with trials and exposure where the example has them; student-t's unit is large. */
static oatgp_data *example_data(scratch *s, const example *e, size_t n, uint64_t seed) {
  const oat_response response = {oat_likelihood_find(e->likelihood), e->own, LEVELS};
  const double unit = is(e, "student-t") ? 100 : 1;
  double *x = calloc(n * INPUTS, sizeof *x), *y = calloc(3 * n, sizeof *y), *trials = y + n, *exposure = y + 2 * n;
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    x[i * INPUTS] = 4 * oat_rng_uniform(&rng) - 2;
    x[i * INPUTS + 1] = 4 * oat_rng_uniform(&rng) - 2;
    trials[i] = e->trials ? 1 + floor(8 * oat_rng_uniform(&rng)) : 1;
    exposure[i] = e->exposure ? 0.5 + 3 * oat_rng_uniform(&rng) : 1;
    const double f = 1.3 * sin(2 * x[i * INPUTS]) + 0.5 * x[i * INPUTS + 1] + 0.4 + log(exposure[i]);
    y[i] = unit * oat_response_draw(&response, f, trials[i], &rng);
  }
  oatgp_data *data = make_data(s, n, INPUTS, x, y);
  must(s, e->trials ? oatgp_data_set_trials(s->ctx, data, trials) : OATGP_OK);
  must(s, e->exposure ? oatgp_data_set_exposure(s->ctx, data, exposure) : OATGP_OK);
  free(x);
  free(y);
  return data;
}

/* Settings of a fit that only evaluates. */
static void fix_all(scratch *s, const example *e, const char *approx) {
  s->settings.likelihood = e->likelihood;
  s->settings.approx = approx;
  s->settings.select = "fixed";
  s->settings.kernel = "se-ard";
  s->settings.sigma = is(e, "student-t") ? 130 : 1.3;
  s->settings.lengthscale = "0.8,1.6";
  s->settings.max_iter = 0;
  s->settings.mean = "fit";
  s->settings.jitter = 1e-6;
}

static oatgp_model *fixed_model(scratch *s, const example *e, const char *approx, const oatgp_data *data) {
  size_t rows[KNOTS];
  oatgp_data *knots = NULL;
  for (size_t i = 0; i < KNOTS; i++) {
    rows[i] = i;
  }
  fix_all(s, e, approx);
  must(s, oatgp_data_select(s->ctx, data, KNOTS, rows, &knots));
  oatgp_model *model = must_fit(s, data, strcmp(approx, "full") == 0 ? NULL : knots);
  oatgp_data_free(knots);
  return model;
}

static oatgp_data *rows_from(scratch *s, const oatgp_data *data, size_t first, size_t count) {
  size_t rows[8 * ROWS];
  oatgp_data *out = NULL;
  for (size_t i = 0; i < count; i++) {
    rows[i] = first + i;
  }
  must(s, oatgp_data_select(s->ctx, data, count, rows, &out));
  return out;
}

/* ---- likelihoods once more ------------------------------------------------------------------------------------- */

static double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2)); }

static double logistic(double f) { return 1 / (1 + exp(-f)); }

static double log_choose(double n, double k) { return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1); }

/* A row of an example, with the parameters of the model. */
typedef struct row {
  const example *e;
  double own[LEVELS - 2], trials, m, sd; /* of f */
} row;

static double cut(const row *r, int j) {
  double sum = 0;
  for (int i = 0; i < j && i < LEVELS - 2; i++) {
    sum += r->own[i];
  }
  return j < 0 ? -HUGE_VAL : j < LEVELS - 1 ? sum : HUGE_VAL;
}

/* p(y | f), mean and variance given f. */
static double density(const row *r, double y, double f) {
  const double a = r->own[0], mean = exp(f), p = logistic(f);
  if (is(r->e, "bernoulli-probit")) {
    return normal_cdf(y == 1 ? f : -f);
  } else if (is(r->e, "bernoulli-logit") || is(r->e, "binomial-logit")) {
    return exp(log_choose(r->trials, y) + y * log(p) + (r->trials - y) * log(1 - p));
  } else if (is(r->e, "poisson")) {
    return exp(y * f - mean - lgamma(y + 1));
  } else if (is(r->e, "negative-binomial")) {
    return exp(lgamma(y + a) - lgamma(a) - lgamma(y + 1) + a * log(a / (a + mean)) + y * log(mean / (a + mean)));
  } else if (is(r->e, "gamma")) {
    return exp(a * log(a / mean) + (a - 1) * log(y) - a * y / mean - lgamma(a));
  } else if (is(r->e, "beta")) {
    return exp(lgamma(a) - lgamma(p * a) - lgamma((1 - p) * a) + (p * a - 1) * log(y) + ((1 - p) * a - 1) * log1p(-y));
  } else if (is(r->e, "student-t")) {
    const double degrees = r->own[1], z = (y - f) / a;
    return exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - 0.5 * log(acos(-1) * degrees) - log(a) -
               (degrees + 1) / 2 * log1p(z * z / degrees));
  }
  return normal_cdf(cut(r, (int)y) - f) - normal_cdf(cut(r, (int)y - 1) - f);
}

static double mean_given(const row *r, double f) {
  if (is(r->e, "ordinal")) {
    double sum = 0;
    for (int j = 1; j < LEVELS; j++) {
      sum += j * density(r, j, f);
    }
    return sum;
  }
  return is(r->e, "student-t")          ? f
         : is(r->e, "bernoulli-probit") ? normal_cdf(f)
         : r->e->exposure               ? exp(f)
                                        : r->trials * logistic(f);
}

static double square_given(const row *r, double f) {
  const double mean = mean_given(r, f), a = r->own[0], p = logistic(f);
  if (is(r->e, "ordinal")) {
    double sum = 0;
    for (int j = 1; j < LEVELS; j++) {
      sum += j * j * density(r, j, f);
    }
    return sum;
  }
  const double variance = is(r->e, "student-t")           ? a * a * r->own[1] / (r->own[1] - 2)
                          : is(r->e, "bernoulli-probit")  ? mean * (1 - mean)
                          : is(r->e, "poisson")           ? mean
                          : is(r->e, "negative-binomial") ? mean + mean * mean / a
                          : is(r->e, "gamma")             ? mean * mean / a
                          : is(r->e, "beta")              ? p * (1 - p) / (1 + a)
                                                          : r->trials * p * (1 - p);
  return variance + mean * mean;
}

/* The average over f of a function of it. */
enum { MEAN, SQUARE, DENSITY };

static double average(const row *r, int what, double y) {
  enum { NODES = 1200 };
  const double step = 20.0 / NODES;
  double sum = 0;
  for (int i = 0; i <= NODES; i++) {
    const double z = -10 + i * step, f = r->m + r->sd * z;
    const double value = what == MEAN ? mean_given(r, f) : what == SQUARE ? square_given(r, f) : density(r, y, f);
    sum += step * exp(-0.5 * z * z) / sqrt(2 * acos(-1)) * value;
  }
  return sum;
}

/* P(Y <= y): a sum, or Simpson's rule from where it is known; from 0 in the cube root of y, as the density may be steep
 * there. */
static double cdf(const row *r, double y) {
  enum { PANELS = 200 };
  const bool symmetric = is(r->e, "student-t");
  const double step = (symmetric ? y - r->m : cbrt(y)) / PANELS;
  double sum = 0;
  for (double k = 0; is_discrete(r->e) && k <= y; k++) {
    sum += average(r, DENSITY, k);
  }
  for (int i = 0; !is_discrete(r->e) && i <= PANELS; i++) {
    const double t = i * step, at = symmetric ? r->m + t : t * t * t;
    const double value = symmetric ? average(r, DENSITY, at) : i > 0 ? 3 * t * t * average(r, DENSITY, at) : 0;
    sum += step / 3 * (i == 0 || i == PANELS ? 1 : i % 2 == 1 ? 4 : 2) * value;
  }
  return symmetric ? 0.5 + sum : sum;
}

/* ---- predictions ----------------------------------------------------------------------------------------------- */

/* All that oatgp_predict_answers has. */
typedef struct predicted {
  double *all;
  oatgp_answers out;
} predicted;

static predicted predict_answers(scratch *s, const oatgp_model *model, const oatgp_data *data, double interval) {
  const size_t n = oatgp_data_rows(data);
  double *all = calloc((6 + LEVELS) * n, sizeof *all);
  const predicted p = {all, {all, all + n, all + 2 * n, all + 3 * n, all + 4 * n, all + 5 * n, all + 6 * n, interval}};
  must(s, oatgp_predict_answers(s->ctx, model, data, &p.out));
  return p;
}

static row row_of(const example *e, const oatgp_model *model, const oatgp_data *data, const predicted *p, size_t i) {
  const oatgp_model_info info = info_of(model);
  row r = {.e = e,
           .trials = data->trials != NULL ? data->trials[i] : 1,
           .m = p->out.latent_mean[i],
           .sd = p->out.latent_sd[i]};
  for (size_t j = 0; j < info.likelihood_count; j++) {
    r.own[j] = info.likelihood_parameters[j].value;
  }
  return r;
}

static void check_quantile(const row *r, double y, double p) {
  if (is_bernoulli(r->e)) {
    assert_near(y, mean_given(r, r->m + oatgp_normal_quantile(p) * r->sd), 1e-9);
  } else if (is_discrete(r->e)) {
    assert_true(cdf(r, y) >= p - 1e-9);
    assert_true(y == 0 || cdf(r, y - 1) < p + 1e-9);
  } else {
    assert_near(cdf(r, y), p, 1e-4);
  }
}

static void check_row(const row *r, const predicted *p, size_t i) {
  const double mean = average(r, MEAN, 0), sd = sqrt(average(r, SQUARE, 0) - mean * mean);
  assert_near(p->out.mean[i], mean, 1e-8);
  assert_near(p->out.sd[i], sd, 1e-8);
  check_quantile(r, p->out.lower[i], 0.1);
  check_quantile(r, p->out.upper[i], 0.9);
  for (size_t j = 0; is(r->e, "ordinal") && j < LEVELS; j++) {
    assert_near(p->out.levels[i * LEVELS + j], average(r, DENSITY, (double)j), 1e-9);
  }
}

static void predictions_are_integrals(void **state) {
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(examples); k++) {
    const example *e = &examples[k];
    oatgp_data *data = example_data(s, e, ROWS, 5 + k), *few = rows_from(s, data, 3, 3);
    oatgp_model *model = fixed_model(s, e, "vfe", data);
    const predicted p = predict_answers(s, model, few, 0.8);
    double *latent = must_predict(s, model, few);
    assert_string_equal(info_of(model).likelihood, e->likelihood);
    assert_int_equal(info_of(model).answer_levels, is(e, "ordinal") ? LEVELS : 0);
    for (size_t i = 0; i < few->n; i++) {
      const row r = row_of(e, model, few, &p, i);
      assert_near(r.m, latent[i] + (e->exposure ? log(few->exposure[i]) : 0), 1e-13);
      assert_near(r.sd * r.sd, latent[few->n + i], 1e-12);
      assert_true(latent[few->n + i] == latent[2 * few->n + i]); /* no noise is added to f */
      check_row(&r, &p, i);
    }
    free(latent);
    free(p.all);
    oatgp_model_free(model);
    oatgp_data_free(few);
    oatgp_data_free(data);
  }
}

static void gaussian_answers_are_observations(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, INPUTS, 0.3, 1);
  s->settings.max_iter = 5;
  s->settings.max_knots = 12;
  s->settings.average = 0;
  oatgp_model *model = must_fit(s, data, NULL);
  const predicted p = predict_answers(s, model, data, 0.9);
  double *all = must_predict(s, model, data);
  const double reach = oatgp_normal_quantile(0.95);
  for (size_t i = 0; i < data->n; i++) {
    const double sd = sqrt(all[2 * data->n + i]);
    assert_true(p.out.mean[i] == all[i] && p.out.latent_mean[i] == all[i]);
    assert_near(p.out.sd[i], sd, 1e-14);
    assert_near(p.out.latent_sd[i], sqrt(all[data->n + i]), 1e-14);
    assert_near(p.out.lower[i], all[i] - reach * sd, 1e-13);
    assert_near(p.out.upper[i], all[i] + reach * sd, 1e-13);
  }
  free(all);
  free(p.all);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Mean and standard deviation of many draws, and their kind. */
static void draws_have_the_moments(void **state) {
  enum { DRAWS = 4000, SHOWN = 2 };
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(examples); k++) {
    const example *e = &examples[k];
    oatgp_data *data = example_data(s, e, ROWS, 9 + k), *few = rows_from(s, data, 7, SHOWN);
    oatgp_model *model = fixed_model(s, e, "vfe", data);
    const predicted p = predict_answers(s, model, few, 0.8);
    double *draws = calloc(DRAWS * SHOWN, sizeof *draws);
    must(s, oatgp_predict_answer_samples(s->ctx, model, few, DRAWS, 3, draws));
    for (size_t i = 0; i < SHOWN; i++) {
      double mean = 0;
      for (size_t j = 0; j < DRAWS; j++) {
        assert_true(!is_discrete(e) || draws[j * SHOWN + i] == floor(draws[j * SHOWN + i]));
        mean += draws[j * SHOWN + i] / DRAWS;
      }
      assert_true(fabs(mean - p.out.mean[i]) <= 4.5 * p.out.sd[i] / sqrt(DRAWS));
    }
    free(draws);
    free(p.all);
    oatgp_model_free(model);
    oatgp_data_free(few);
    oatgp_data_free(data);
  }
}

/* Many rows in any number of threads, and from a file: the same bits. */
static void threads_and_files_change_no_bit(void **state) {
  enum { MANY = 700 };
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(examples); k += 4) {
    const example *e = &examples[k];
    oatgp_data *data = example_data(s, e, MANY, 3), *rows = rows_from(s, data, 0, ROWS);
    oatgp_model *model = fixed_model(s, e, k == 4 ? "full" : "vfe", rows), *again = NULL;
    unsigned char *bytes = NULL;
    size_t size = 0;
    oatgp_context_set_threads(s->ctx, 1);
    const predicted one = predict_answers(s, model, data, 0.8);
    oatgp_context_set_threads(s->ctx, 3);
    must(s, oatgp_model_to_bytes(s->ctx, model, &bytes, &size));
    must(s, oatgp_model_from_bytes(s->ctx, bytes, size, &again));
    const predicted three = predict_answers(s, again, data, 0.8);
    assert_memory_equal(one.all, three.all, 6 * MANY * sizeof(double));
    const oatgp_model_info a = info_of(model), b = info_of(again);
    assert_string_equal(a.likelihood, b.likelihood);
    assert_int_equal(a.likelihood_count, b.likelihood_count);
    for (size_t j = 0; j < a.likelihood_count; j++) {
      assert_string_equal(a.likelihood_parameters[j].name, b.likelihood_parameters[j].name);
      assert_true(a.likelihood_parameters[j].value == b.likelihood_parameters[j].value);
    }
    oatgp_bytes_free(bytes);
    free(one.all);
    free(three.all);
    oatgp_model_free(model);
    oatgp_model_free(again);
    oatgp_data_free(rows);
    oatgp_data_free(data);
  }
}

/* ---- scores ---------------------------------------------------------------------------------------------------- */

static void ties_count_half(void **state) {
  (void)state;
  const double y[] = {0, 1, 0, 1, 1}, p[] = {0.1, 0.4, 0.4, 0.8, 0.1}, ones[] = {1, 1}, below[] = {0, 0.2, 0.96},
               up_to[] = {0.02, 0.4, 1};
  oat_scored order[5];
  assert_near(oat_auc(4, y, p, order), 3.5 / 4, 1e-15);
  assert_near(oat_auc(5, y, p, order), 4.0 / 6, 1e-15);
  assert_true(isnan(oat_auc(2, ones, p, order)));
  assert_near(oat_brier(3, y, p), (0.01 + 0.36 + 0.16) / 3, 1e-15);
  assert_near(oat_quantile_coverage(3, below, up_to, 0.9), 1.0 / 3, 1e-15);
  assert_near(oat_quantile_coverage(3, below, up_to, 0.97), 1, 1e-15);
}

/* The log density of the model that fits y best; of an ordinal answer in the middle, f is between its cuts. */
static double saturated(const row *r, double y) {
  if (is(r->e, "student-t")) {
    return log(density(r, y, y));
  } else if (is(r->e, "poisson") || is(r->e, "gamma") || is(r->e, "negative-binomial")) {
    return y == 0 ? 0 : log(density(r, y, log(y)));
  } else if (is(r->e, "binomial-logit")) {
    return log_choose(r->trials, y) + (y > 0 ? y * log(y / r->trials) : 0) +
           (y < r->trials ? (r->trials - y) * log1p(-y / r->trials) : 0);
  } else if (is(r->e, "ordinal") && y > 0 && y < LEVELS - 1) {
    return log(density(r, y, 0.5 * (cut(r, (int)y) + cut(r, (int)y - 1))));
  } else if (is(r->e, "beta")) {
    double best = -HUGE_VAL; /* by search */
    for (double f = -12; f <= 12; f += 1e-3) {
      best = fmax(best, log(density(r, y, f)));
    }
    return best;
  }
  return 0;
}

/* Scores of rows against sums over them. */
static void check_scores(const example *e, const oatgp_model *model, const oatgp_data *data, const predicted *p,
                         const oatgp_scores *got) {
  const double n = (double)data->n;
  double nlp = 0, deviance = 0, squares = 0, right = 0, inside = 0;
  for (size_t i = 0; i < data->n; i++) {
    const row r = row_of(e, model, data, p, i);
    const double log_p = log(average(&r, DENSITY, data->y[i])), error = data->y[i] - p->out.mean[i];
    size_t best = 0;
    for (size_t j = 1; is(e, "ordinal") && j < LEVELS; j++) {
      best = p->out.levels[i * LEVELS + j] > p->out.levels[i * LEVELS + best] ? j : best;
    }
    best = is_bernoulli(e) ? p->out.mean[i] > 0.5 : best;
    nlp -= log_p / n;
    deviance += 2 * (saturated(&r, data->y[i]) - log_p) / n;
    squares += error * error / n;
    right += (data->y[i] == (double)best) / n;
    inside += (data->y[i] >= p->out.lower[i] && data->y[i] <= p->out.upper[i]) / n;
  }
  assert_near(got->mean_nlp, nlp, 1e-8);
  assert_near(got->deviance, deviance, is(e, "beta") ? 1e-5 : 1e-8);
  assert_near(got->rmse, sqrt(squares), 1e-10);
  assert_true(is_bernoulli(e) ? got->log_loss == got->mean_nlp && fabs(got->brier - squares) < 1e-12 && got->auc > 0.5
                              : isnan(got->log_loss) && isnan(got->brier) && isnan(got->auc));
  assert_true(is_bernoulli(e) || is(e, "ordinal") ? fabs(got->accuracy - right) < 1e-12 : isnan(got->accuracy));
  assert_true(is_bernoulli(e) ? isnan(got->coverage80) && isnan(got->coverage95)
                              : fabs(got->coverage80 - inside) < 1e-12);
  assert_true(isnan(got->aukl_latent) && isnan(got->aukl_observation));
}

static void scores_are_their_formulas(void **state) {
  enum { SCORED = 12 };
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(examples); k++) {
    const example *e = &examples[k];
    oatgp_data *data = example_data(s, e, ROWS, 25 + k), *few = rows_from(s, data, 6, SCORED);
    oatgp_model *model = fixed_model(s, e, "vfe", data);
    const predicted p = predict_answers(s, model, few, 0.8);
    oatgp_scores scores;
    must(s, oatgp_score(s->ctx, model, few, NULL, &scores));
    check_scores(e, model, few, &p, &scores);
    free(p.all);
    oatgp_model_free(model);
    oatgp_data_free(few);
    oatgp_data_free(data);
  }
}

/* ---- rows held out --------------------------------------------------------------------------------------------- */

typedef struct held {
  size_t n;
  oatgp_held_out_sd out;
} held;

static held new_held(size_t n) {
  double *all = calloc(4 * n, sizeof *all);
  return (held){n, {all, all + n, all + 2 * n, all + 3 * n}};
}

/* Every row is predicted by a model without that row, at the same parameters and knots, with its own sites. */
static held really_left_out(scratch *s, const example *e, const oatgp_model *model, const oatgp_data *data) {
  held h = new_held(data->n);
  for (size_t i = 0; i < data->n; i++) {
    size_t rows[ROWS], count = 0;
    oatgp_data *others = NULL, *one = rows_from(s, data, i, 1);
    oatgp_model *without = NULL;
    for (size_t j = 0; j < data->n; j++) {
      rows[count] = j;
      count += j != i;
    }
    must(s, oatgp_data_select(s->ctx, data, count, rows, &others));
    must(s, oatgp_refit(s->ctx, model, others, &s->settings, NULL, NULL, &without));
    const predicted p = predict_answers(s, without, one, 0.8);
    const row r = row_of(e, without, one, &p, 0);
    h.out.mean[i] = p.out.mean[0];
    h.out.sd[i] = p.out.sd[0];
    h.out.nlp[i] = -log(average(&r, DENSITY, one->y[0]));
    free(p.all);
    oatgp_model_free(without);
    oatgp_data_free(others);
    oatgp_data_free(one);
  }
  return h;
}

/* Without a row, the sites of others would move. For an outlier, that may change its nlp by a tenth; for most rows it
 * changes almost nothing. */
static void compare_left_out(scratch *s, const example *e, const char *approx) {
  oatgp_data *data = example_data(s, e, 24, 11);
  oatgp_model *model = fixed_model(s, e, approx, data);
  const held expected = really_left_out(s, e, model, data), got = new_held(data->n);
  oatgp_scores scores;
  double apart = 0;
  must(s, oatgp_loo_sd(s->ctx, model, data, &got.out, &scores));
  for (size_t i = 0; i < data->n; i++) {
    assert_nats(got.out.nlp[i], expected.out.nlp[i], 0.05 + 0.12 * fabs(expected.out.nlp[i]));
    assert_true(fabs(got.out.mean[i] - expected.out.mean[i]) <= 0.6 * expected.out.sd[i]);
    assert_true(isfinite(got.out.residual[i]) && got.out.sd[i] > 0);
    apart += (got.out.nlp[i] - expected.out.nlp[i]) / (double)data->n;
  }
  assert_nats(apart, 0, 0.035);
  assert_nats(oat_mean(data->n, got.out.nlp), scores.mean_nlp, 1e-12);
  assert_nats(info_of(model).loo_mean_nlp, scores.mean_nlp, 1e-5); /* by the sites of the fit */
  free(got.out.mean);
  free(expected.out.mean);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

static void leave_one_out_is_near_refits(void **state) {
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(examples); k++) {
    compare_left_out(s, &examples[k], "vfe");
    compare_left_out(s, &examples[k], "full");
  }
}

/* The residual is the normal quantile of the middle of P(Y < y) and P(Y <= y). */
static void residuals_are_quantiles(void **state) {
  scratch *s = *state;
  const example *e = &examples[3];
  oatgp_data *data = example_data(s, e, ROWS, 2);
  oatgp_model *model = fixed_model(s, e, "vfe", data);
  const held got = new_held(data->n);
  must(s, oatgp_loo_sd(s->ctx, model, data, &got.out, NULL));
  for (size_t i = 0; i < data->n; i += 7) {
    const double mean = got.out.mean[i],
                 s2 = log1p((got.out.sd[i] * got.out.sd[i] - mean) / mean / mean); /* of a log-normal mean */
    const row r = {.e = e, .trials = 1, .m = log(mean) - 0.5 * s2, .sd = sqrt(s2)};
    const double p = cdf(&r, data->y[i]) - 0.5 * average(&r, DENSITY, data->y[i]);
    assert_near(got.out.residual[i], oatgp_normal_quantile(p), 1e-6);
    assert_nats(got.out.nlp[i], -log(average(&r, DENSITY, data->y[i])), 1e-7);
  }
  free(got.out.mean);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* A fold is predicted by a fit to the others, with their trials and weights; scores are of all rows. */
static void folds_carry_what_rows_have(void **state) {
  scratch *s = *state;
  const example *e = &examples[2];
  double weights[ROWS];
  oatgp_data *data = example_data(s, e, ROWS, 8), *knots = rows_from(s, data, 0, KNOTS);
  const held got = new_held(ROWS);
  oatgp_scores scores;
  for (size_t i = 0; i < ROWS; i++) {
    weights[i] = 1 + (double)(i % 3);
  }
  must(s, oatgp_data_set_weights(s->ctx, data, weights));
  fix_all(s, e, "vfe");
  s->settings.folds = ROWS;
  must(s, oatgp_cv_sd(s->ctx, data, &s->settings, knots, NULL, &got.out, &scores));
  assert_int_equal(scores.n, ROWS);
  assert_nats(scores.mean_nlp, oat_mean(ROWS, got.out.nlp), 1e-12);
  for (size_t i = 0; i < ROWS; i += 13) {
    size_t rows[ROWS], count = 0;
    oatgp_data *others = NULL, *one = rows_from(s, data, i, 1);
    for (size_t j = 0; j < ROWS; j++) {
      rows[count] = j;
      count += j != i;
    }
    must(s, oatgp_data_select(s->ctx, data, count, rows, &others));
    oatgp_model *model = must_fit(s, others, knots);
    oatgp_scores alone;
    must(s, oatgp_score(s->ctx, model, one, NULL, &alone));
    assert_nats(got.out.nlp[i], alone.mean_nlp, 1e-9);
    oatgp_model_free(model);
    oatgp_data_free(others);
    oatgp_data_free(one);
  }
  free(got.out.mean);
  oatgp_data_free(knots);
  oatgp_data_free(data);
}

/* ---- rows that come later -------------------------------------------------------------------------------------- */

/* f of an updated model is near that of all rows, and its objective, too; a refit without steps is that of all rows. */
static void update_one(scratch *s, const example *e) {
  oatgp_data *data = example_data(s, e, ROWS, 31), *old = rows_from(s, data, 0, 30),
             *later = rows_from(s, data, 30, ROWS - 30);
  oatgp_model *model = fixed_model(s, e, "vfe", old), *all = NULL;
  const double before = info_of(model).objective;
  must(s, oatgp_refit(s->ctx, model, data, &s->settings, NULL, NULL, &all));
  double *first = must_predict(s, model, data);
  must(s, oatgp_update(s->ctx, model, later));
  expect_said(s, "the 10 new rows were added, but the fit to the old rows was not revised");
  double *got = must_predict(s, model, data), *expected = must_predict(s, all, data);
  double far = 0, near = 0;
  for (size_t i = 0; i < ROWS; i++) {
    const double sd = sqrt(expected[ROWS + i]);
    far = fmax(far, fabs(first[i] - expected[i]) / sd);
    near = fmax(near, fabs(got[i] - expected[i]) / sd);
  }
  assert_true(near < 0.25 && near < 0.35 * far);
  assert_nats(info_of(model).objective, info_of(all).objective, 0.1);
  assert_true(fabs(info_of(model).objective - before) > 0.1);
  assert_int_equal(info_of(model).n, ROWS);
  assert_true(isnan(info_of(model).loo_mean_nlp) && !isnan(info_of(all).loo_mean_nlp));
  free(first);
  free(got);
  free(expected);
  oatgp_model_free(model);
  oatgp_model_free(all);
  oatgp_data_free(data);
  oatgp_data_free(old);
  oatgp_data_free(later);
}

static void updates_are_near_all_rows(void **state) {
  scratch *s = *state;
  for (size_t k = 0; k < LENGTH(examples); k++) {
    update_one(s, &examples[k]);
  }
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

/* Data with one answer changed, or with rows in another order. */
static oatgp_data *with_answer(scratch *s, const oatgp_data *data, size_t i, double y) {
  size_t rows[ROWS];
  oatgp_data *out = NULL;
  for (size_t j = 0; j < data->n; j++) {
    rows[j] = j;
  }
  must(s, oatgp_data_select(s->ctx, data, data->n, rows, &out));
  out->own_y[i] = y;
  return out;
}

static void refuse_rows_of(scratch *s, const char *approx) {
  const example *e = &examples[3];
  oatgp_data *data = example_data(s, e, ROWS, 4), *other = with_answer(s, data, 5, data->y[5] + 4),
             *few = rows_from(s, data, 0, 9);
  oatgp_model *model = fixed_model(s, e, approx, data);
  oatgp_scores scores;
  must(s, oatgp_loo(s->ctx, model, data, NULL, &scores));
  expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, other, NULL, &scores), "targets differ");
  expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, few, NULL, &scores),
                  "was fitted to 40 rows, but these data have 9");
  other->own_y[5] = 2.5;
  expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, other, NULL, &scores),
                  "of row 6 is 2.5, but likelihood poisson needs");
  expect_sentence(s, OATGP_DATA, oatgp_score(s->ctx, model, other, NULL, &scores), "of row 6 is 2.5");
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(other);
  oatgp_data_free(few);
}

static void refusals_say_why(void **state) {
  scratch *s = *state;
  const example *e = &examples[0];
  oatgp_data *data = example_data(s, e, ROWS, 4), *later = rows_from(s, data, 30, 10),
             *other = with_answer(s, later, 3, 0.5);
  oatgp_model *model = fixed_model(s, e, "vfe", data), *full = fixed_model(s, e, "full", data), *refitted = NULL;
  oatgp_scores scores;
  oatgp_certificate certificate;
  double values[ROWS];
  refuse_rows_of(s, "vfe");
  refuse_rows_of(s, "full");
  expect_sentence(s, OATGP_ARGUMENT,
                  oatgp_predict_answers(s->ctx, model, data, &(oatgp_answers){.lower = values, .interval = 1}),
                  "the interval is 1 but must be a number above 0 and below 1");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_answers(s->ctx, model, data, NULL), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_predict_answer_samples(s->ctx, model, data, 1, 1, NULL), "must not be NULL");
  expect_sentence(s, OATGP_ARGUMENT, oatgp_score(s->ctx, model, data, full, &scores),
                  "this model has likelihood bernoulli-logit");
  expect_sentence(s, OATGP_DATA, oatgp_certify(s->ctx, model, data, &s->settings, NULL, NULL, &certificate),
                  "exist only for Gaussian targets; this model has the likelihood bernoulli-logit");
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, model, other), "of row 4 is 0.5");
  expect_sentence(s, OATGP_DATA, oatgp_refit(s->ctx, model, other, &s->settings, NULL, NULL, &refitted),
                  "of row 4 is 0.5");
  expect_sentence(s, OATGP_DATA, oatgp_update(s->ctx, full, later),
                  "the full GP with likelihood bernoulli-logit cannot add or remove rows");
  must(s, oatgp_update(s->ctx, model, later));
  oatgp_data *all = NULL;
  must(s, oatgp_data_join(s->ctx, data, later, &all));
  expect_sentence(s, OATGP_DATA, oatgp_loo(s->ctx, model, all, NULL, &scores), "some were added by an update");
  oatgp_data_free(all);
  oatgp_model_free(model);
  oatgp_model_free(full);
  oatgp_data_free(data);
  oatgp_data_free(later);
  oatgp_data_free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(predictions_are_integrals, set_up, tear_down),
      cmocka_unit_test_setup_teardown(gaussian_answers_are_observations, set_up, tear_down),
      cmocka_unit_test_setup_teardown(draws_have_the_moments, set_up, tear_down),
      cmocka_unit_test_setup_teardown(threads_and_files_change_no_bit, set_up, tear_down),
      cmocka_unit_test(ties_count_half),
      cmocka_unit_test_setup_teardown(scores_are_their_formulas, set_up, tear_down),
      cmocka_unit_test_setup_teardown(leave_one_out_is_near_refits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(residuals_are_quantiles, set_up, tear_down),
      cmocka_unit_test_setup_teardown(folds_carry_what_rows_have, set_up, tear_down),
      cmocka_unit_test_setup_teardown(updates_are_near_all_rows, set_up, tear_down),
      cmocka_unit_test_setup_teardown(refusals_say_why, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
