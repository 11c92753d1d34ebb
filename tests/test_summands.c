/* Effects: the summands of models whose kernel is a sum, against the dense formula in long double, what they add up to,
 * how they are centred, their names, files, threads, and who is refused. */
#include "dense.h"
#include "expressions.h"
#include "fixed_fits.h"
#include "model/model.h"

enum { INPUTS = 3, ROWS = 24, KNOTS = 7, POINTS = 9, OTHERS = 11, TEXT = 4096, MOST_PARTS = 16 };

/* ---- random sums ----------------------------------------------------------------------------------------------- */

static void random_sum(oat_rng *rng, char *text) {
  for (size_t i = 0, count = 2 + random_below(rng, 2); i < count; i++) {
    strcat(text, i > 0 ? " + " : "");
    random_tree(rng, INPUTS, false, 1, text + strlen(text));
  }
}

/* Points in and beyond the range of the rows. */
static void random_points(oat_rng *rng, size_t n, double *points) {
  for (size_t i = 0; i < n * INPUTS; i++) {
    points[i] = 5 * oat_rng_uniform(rng) - 2.5;
  }
}

typedef struct sum {
  char text[TEXT], parameters[TEXT];
  oat_expression *e;
  oat_kernel kernel;
  problem p;
  double points[POINTS * INPUTS], others[OTHERS * INPUTS];
} sum;

static sum *make_sum(uint64_t seed) {
  sum *t = calloc(1, sizeof *t);
  oat_rng rng;
  assert_non_null(t);
  oat_rng_seed(&rng, seed);
  random_sum(&rng, t->text);
  t->e = read_expression(t->text, INPUTS);
  t->kernel = oat_kernel_of_expression(t->e);
  t->p = make_problem(ROWS, INPUTS, KNOTS, seed + 1);
  assert_true(OAT_LENGTHSCALE + t->e->parameters <= MAX_THETA);
  random_theta(&rng, t->e, 0.4, t->p.theta);
  for (size_t i = 0; i < t->e->parameters; i++) {
    sprintf(t->parameters + strlen(t->parameters), "%s%.17g", i > 0 ? "," : "", t->p.theta[OAT_LENGTHSCALE + i]);
  }
  random_points(&rng, POINTS, t->points);
  random_points(&rng, OTHERS, t->others);
  return t;
}

static void free_sum(sum *t) {
  oat_expression_free(t->e);
  free_problem(&t->p);
  free(t);
}

static oatgp_model *fit_sum(scratch *s, const sum *t, variant v, size_t basis) {
  oatgp_settings_default(&s->settings);
  s->settings.kernel = t->text;
  s->settings.parameters = t->parameters;
  s->settings.tau = t->p.theta[OAT_TAU];
  s->settings.approx = v.approx->name;
  s->settings.alpha = v.approx->power ? v.alpha : 0.5;
  s->settings.select = "fixed";
  s->settings.max_iter = 0;
  s->settings.jitter = v.approx->sparse ? 1e-6 : 0;
  s->settings.scale = 0;
  s->settings.mean = mean_for(basis);
  return fixed_model(s, &t->p, NOISE_BOTH);
}

/* ---- the dense formula ----------------------------------------------------------------------------------------- */

/* Mean and sd of a summand less its average over the points from `first` on; nodes before the summand's are left
 * out. */
static void dense_effect(const dense *whole, size_t node, const double *all, size_t points, size_t n, real *mean,
                         real *sd) {
  oat_expression part = *whole->cov.expression;
  dense m = *whole;
  real *covariance = dense_new(n, n), centre = 0, average = 0;
  const size_t first = points < n ? points : 0, over = n - first;
  part.nodes = node + 1;
  m.cov.expression = &part;
  dense_predict(&m, (oat_points){all, n, n}, mean, covariance);
  for (size_t i = first; i < n; i++) {
    centre += mean[i] / (real)over;
    for (size_t j = first; j < n; j++) {
      average += covariance[i + j * n] / (real)over / (real)over;
    }
  }
  for (size_t i = 0; i < points; i++) {
    real with = 0;
    for (size_t j = first; j < n; j++) {
      with += covariance[i + j * n] / (real)over;
    }
    mean[i] -= centre;
    sd[i] = sqrtl(fmaxl(covariance[i * (n + 1)] - 2 * with + average, 0));
  }
  free(covariance);
}

/* Both sets of points one after the other, or the first alone. */
static size_t join_points(const sum *t, bool with_others, double *all) {
  const size_t n = POINTS + (with_others ? OTHERS : 0);
  for (size_t j = 0; j < INPUTS; j++) {
    for (size_t i = 0; i < n; i++) {
      all[i + j * n] = i < POINTS ? t->points[i + j * POINTS] : t->others[i - POINTS + j * OTHERS];
    }
  }
  return n;
}

static double check_dense(scratch *s, const sum *t, const oatgp_model *model, const dense *m, bool with_others) {
  double all[(POINTS + OTHERS) * INPUTS], mean[POINTS * MOST_PARTS], sd[POINTS * MOST_PARTS], worst = 0;
  const size_t n = join_points(t, with_others, all);
  real exact[POINTS + OTHERS], band[POINTS + OTHERS];
  const double size = sqrt((double)dense_share(&m->cov, (oat_points){all, n, n}));
  size_t node[OAT_MOST_LEAVES];
  oatgp_effect effect;
  assert_int_equal(oatgp_effect_at(model, oat_expression_summands(t->e, node), &effect), 0);
  oatgp_data *data = data_of(s, POINTS, INPUTS, t->points, NULL), *over = data_of(s, OTHERS, INPUTS, t->others, NULL);
  must(s, oatgp_predict_effects(s->ctx, model, data, with_others ? over : NULL,
                                &(oatgp_effect_values){.mean = mean, .sd = sd}));
  for (size_t a = 0; oatgp_effect_at(model, a, &effect); a++) {
    dense_effect(m, node[a], all, POINTS, n, exact, band);
    for (size_t i = 0; i < POINTS; i++) {
      worst = worse_of(worst, (double)fabsl(mean[i + a * POINTS] - exact[i]) / size);
      worst = worse_of(worst, (double)fabsl(sd[i + a * POINTS] * sd[i + a * POINTS] - band[i] * band[i]) / size / size);
    }
  }
  oatgp_data_free(data);
  oatgp_data_free(over);
  return worst;
}

static void dense_formula(void **state) {
  scratch *s = *state;
  const size_t sums = amount(40, 10, 1), bases[] = {0, 1, 1 + INPUTS};
  variant v;
  need_long_double();
  for (size_t i = 0; variant_at(i, &v); i++) {
    double worst = 0;
    if (v.approx->residual ==
        OAT_RESIDUAL_DIAGONAL) { /* what it has for each point by itself averages out, and is not counted */
      continue;
    }
    for (size_t a = 0; a < sums; a++) {
      sum *t = make_sum(900 + 10 * a);
      const oat_rows rows = rows_of(&t->p, NOISE_BOTH, bases[a % LENGTH(bases)]);
      const oat_objective_config config = config_of(&rows, &t->kernel, v, KNOTS);
      oatgp_model *model = fit_sum(s, t, v, rows.p);
      dense m = dense_make(&config, &(oat_point){t->p.theta, t->p.z});
      for (int others = 0; others < 2; others++) {
        const double error = check_dense(s, t, model, &m, others != 0);
        if (!(error <= 1e-10)) {
          fail_msg("%s, %s: off by %g", v.approx->name, t->text, error);
        }
        worst = worse_of(worst, error);
      }
      dense_free(&m);
      oatgp_model_free(model);
      free_sum(t);
    }
    print_message("%-4s (alpha %g): effects within %.1e of the dense formula\n", v.approx->name, v.alpha, worst);
  }
}

/* ---- what they add up to --------------------------------------------------------------------------------------- */

/* The effects, their centres and the prior mean are the prediction; each effect has mean 0 over the rows; shares add up
 * to 1. */
static void check_sums(scratch *s, const sum *t, const oatgp_model *model) {
  double mean[POINTS * MOST_PARTS], centre[MOST_PARTS], share[MOST_PARTS], whole[POINTS], prior[POINTS], total = 0;
  oatgp_data *data = data_of(s, POINTS, INPUTS, t->points, NULL);
  oat_rows *rows = NULL;
  oatgp_effect effect;
  must(s, oatgp_predict_effects(s->ctx, model, data, NULL,
                                &(oatgp_effect_values){.mean = mean, .centre = centre, .share = share}));
  must(s, oatgp_predict_mean(s->ctx, model, data, whole));
  must(s, oat_model_inputs(s->ctx, model, data, &rows));
  must(s, oat_model_prior_mean(s->ctx, model, rows, prior));
  for (size_t a = 0; oatgp_effect_at(model, a, &effect); a++) {
    double sum_of = 0;
    for (size_t i = 0; i < POINTS; i++) {
      prior[i] += centre[a] + mean[i + a * POINTS];
      sum_of += mean[i + a * POINTS];
    }
    assert_near(sum_of / (1 + fabs(centre[a])), 0, 1e-12);
    assert_true(share[a] >= 0 && share[a] <= 1);
    total += share[a];
  }
  assert_near(total, 1, 1e-12);
  for (size_t i = 0; i < POINTS; i++) {
    assert_near(prior[i], whole[i], 1e-10);
  }
  oat_rows_free(rows);
  oatgp_data_free(data);
}

static void sums(void **state) {
  scratch *s = *state;
  variant v;
  for (size_t i = 0; variant_at(i, &v); i++) {
    for (size_t a = 0; a < amount(10, 4, 1); a++) {
      sum *t = make_sum(2000 + 10 * a);
      oatgp_model *model = fit_sum(s, t, v, a % 2 == 0 ? 1 : 1 + INPUTS);
      check_sums(s, t, model);
      oatgp_model_free(model);
      free_sum(t);
    }
  }
}

/* A kernel that is no sum has one effect: the prediction less its average. */
static void one_effect(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 60, 2, 0.1, 51);
  static const char *const kernels[] = {"se-ard", "se() * matern52(x1)"};
  for (size_t i = 0; i < LENGTH(kernels); i++) {
    double mean[60], whole[60], centre = 0, share = 0;
    oatgp_effect effect;
    oatgp_settings_default(&s->settings);
    s->settings.kernel = kernels[i];
    s->settings.knots = "8";
    s->settings.max_iter = 3;
    s->settings.mean = "1.5";
    oatgp_model *model = must_fit(s, data, NULL);
    must(s, oatgp_predict_mean(s->ctx, model, data, whole));
    must(s, oatgp_predict_effects(s->ctx, model, data, NULL, &(oatgp_effect_values){mean, NULL, &centre, &share}));
    assert_int_equal(oatgp_effect_at(model, 0, &effect), 1);
    assert_int_equal(effect.input_count, 2);
    assert_string_equal(effect.name, i == 0 ? "se-ard" : info_of(model).kernel);
    assert_int_equal(oatgp_effect_at(model, 1, &effect), 0);
    assert_true(share == 1);
    for (size_t r = 0; r < 60; r++) {
      assert_near(mean[r] + centre + 1.5, whole[r], 1e-12);
    }
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
}

/* ---- names, files, threads ------------------------------------------------------------------------------------- */

static oatgp_model *fit_three(scratch *s, const oatgp_data *data) {
  oatgp_settings_default(&s->settings);
  s->settings.kernel = "(se(x3) + linear(x1) * periodic(x3)) + se(x3) + constant";
  s->settings.knots = "9";
  s->settings.max_iter = 2;
  return must_fit(s, data, NULL);
}

static void names_and_inputs(void **state) {
  scratch *s = *state;
  static const char *const names[] = {"se(x3)", "linear(x1) * periodic(x3)", "se(x3)#2", "constant"};
  static const size_t counts[] = {1, 2, 1, 0};
  oatgp_data *data = wavy_data(s, 50, 3, 0.1, 52);
  oatgp_model *model = fit_three(s, data);
  oatgp_effect effect;
  for (size_t a = 0; a < LENGTH(names); a++) {
    assert_int_equal(oatgp_effect_at(model, a, &effect), 1);
    assert_string_equal(effect.name, names[a]);
    assert_int_equal(effect.input_count, counts[a]);
    assert_true(counts[a] == 0 || effect.inputs[counts[a] - 1] == 2);
    assert_true(counts[a] < 2 || effect.inputs[0] == 0);
  }
  assert_int_equal(oatgp_effect_at(model, LENGTH(names), &effect), 0);
  assert_int_equal(oatgp_effect_at(NULL, 0, &effect), 0);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* A model from a file, and any number of threads, give the same bits; more rows than averages are made from, too. */
static void same_bits(void **state) {
  scratch *s = *state;
  enum { PARTS = 4 };
  const size_t n = amount(2300, 1000, 70);
  oatgp_data *data = wavy_data(s, 50, 3, 0.1, 53), *many = wavy_data(s, n, 3, 0.1, 54);
  oatgp_model *models[2] = {fit_three(s, data), NULL};
  unsigned char *bytes = NULL;
  size_t size = 0;
  double *out[2] = {new_doubles(2 * PARTS * n), new_doubles(2 * PARTS * n)};
  must(s, oatgp_model_to_bytes(s->ctx, models[0], &bytes, &size));
  must(s, oatgp_model_from_bytes(s->ctx, bytes, size, &models[1]));
  for (int i = 0; i < 2; i++) {
    oatgp_context_set_threads(s->ctx, 1 + 2 * i);
    must(s, oatgp_predict_effects(s->ctx, models[i], many, NULL,
                                  &(oatgp_effect_values){out[i], out[i] + PARTS * n, NULL, NULL}));
    oatgp_model_free(models[i]);
  }
  assert_memory_equal(out[0], out[1], 2 * PARTS * n * sizeof(double));
  assert_true(isfinite(out[0][PARTS * n]) && out[0][PARTS * n] > 0);
  oatgp_bytes_free(bytes);
  free(out[0]), free(out[1]);
  oatgp_data_free(data);
  oatgp_data_free(many);
}

static void refusals(void **state) {
  scratch *s = *state;
  oatgp_data *data = wavy_data(s, 50, 2, 0.1, 55);
  double mean[100];
  oatgp_settings_default(&s->settings);
  s->settings.kernel = "se(x1) + se(x2)";
  s->settings.approx = "fitc";
  s->settings.neighbours = 5;
  s->settings.knots = "4";
  s->settings.max_iter = 1;
  oatgp_model *model = must_fit(s, data, NULL);
  assert_int_equal(oatgp_predict_effects(s->ctx, model, data, NULL, &(oatgp_effect_values){.mean = mean}), OATGP_DATA);
  assert_string_equal(oatgp_last_error(s->ctx),
                      "effects need a model without neighbours; fit again with --max-knots K or without --neighbours");
  assert_int_equal(oatgp_predict_effects(s->ctx, model, NULL, NULL, &(oatgp_effect_values){.mean = mean}),
                   OATGP_ARGUMENT);
  assert_string_equal(oatgp_last_error(s->ctx), "model, data and the output pointer must not be NULL");
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(dense_formula),    WITH_SCRATCH(sums),      WITH_SCRATCH(one_effect),
      WITH_SCRATCH(names_and_inputs), WITH_SCRATCH(same_bits), WITH_SCRATCH(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
