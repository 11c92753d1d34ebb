/* Targets and inputs near the ends of what a double can hold: the same model in another unit, the prior far from all
 * knots, or a sentence. */
#include "fits.h"

#include "model/model.h"

enum { N = 60, D = 2 };

/* Powers of two, so that a fit in that unit has the same bits; variances have left the range of a double. */
static const double units[] = {0x1p-1010, 0x1p-565, 0x1p532, 0x1p990};

static oatgp_data *in_unit(scratch *s, double unit) {
  oatgp_data *data = wavy_data(s, N, D, 0.1, 11);
  for (size_t i = 0; i < N; i++) {
    data->own_y[i] *= unit;
  }
  return data;
}

static void expect_multiple(size_t n, const double *values, double unit, const double *expected, double tolerance) {
  for (size_t i = 0; i < n; i++) {
    assert_true(values[i] != 0);
    assert_near(values[i] / unit, expected[i], tolerance);
  }
}

/* ---- the target's unit ----------------------------------------------------------------------------------------- */

typedef struct told {
  double mean[N], latent[N], sd[N], held_mean[N], held_sd[N], nlp[N], residual[N], draws[2 * N];
  oatgp_scores scores, held;
} told;

static void ask(scratch *s, const oatgp_model *model, const oatgp_data *data, told *t) {
  must(s, oatgp_predict_sd(s->ctx, model, data, &(oatgp_prediction_sd){t->mean, t->latent, t->sd}));
  must(s, oatgp_predict_samples(s->ctx, model, data, 2, 7, t->draws));
  must(s, oatgp_score(s->ctx, model, data, model, &t->scores));
  must(s, oatgp_loo_sd(s->ctx, model, data, &(oatgp_held_out_sd){t->held_mean, t->held_sd, t->nlp, t->residual},
                       &t->held));
}

static void expect_same_scores(const oatgp_scores *a, double unit, const oatgp_scores *b) {
  assert_near(a->rmse / unit, b->rmse, 1e-9);
  assert_near(a->srmse, b->srmse, 1e-9);
  assert_nats(a->mean_nlp - log(unit), b->mean_nlp, 1e-9);
  assert_nats(a->mnlp - log(unit), b->mnlp, 1e-9);
  assert_near(a->coverage95, b->coverage95, 1e-9);
}

static void unit_of_the_target(void **state) {
  scratch *s = *state;
  static const char *const models[] = {"vfe", "fitc", "dic", "full"};
  static told plain, here;
  s->settings.knots = "15";
  for (size_t m = 0; m < LENGTH(models); m++) {
    s->settings.approx = models[m];
    oatgp_data *data = in_unit(s, 1);
    oatgp_model *model = must_fit(s, data, NULL);
    ask(s, model, data, &plain);
    oatgp_model_free(model);
    oatgp_data_free(data);
    for (size_t u = 0; u < LENGTH(units); u++) {
      data = in_unit(s, units[u]);
      model = must_fit(s, data, NULL);
      ask(s, model, data, &here);
      expect_multiple(N, here.mean, units[u], plain.mean, 1e-9);
      expect_multiple(N, here.latent, units[u], plain.latent, 1e-9);
      expect_multiple(N, here.sd, units[u], plain.sd, 1e-9);
      expect_multiple(N, here.held_mean, units[u], plain.held_mean, 1e-9);
      expect_multiple(N, here.held_sd, units[u], plain.held_sd, 1e-9);
      expect_multiple(N, here.residual, 1, plain.residual, 1e-9);
      expect_multiple(2 * N, here.draws, units[u], plain.draws, 1e-9);
      expect_same_scores(&here.scores, units[u], &plain.scores);
      expect_same_scores(&here.held, units[u], &plain.held);
      assert_true(here.scores.aukl_latent == 0 && here.scores.aukl_observation == 0);
      assert_nats(info_of(model).loo_mean_nlp - log(units[u]), plain.held.mean_nlp, 1e-9);
      oatgp_model_free(model);
      oatgp_data_free(data);
    }
  }
}

static void cross_validation_in_any_unit(void **state) {
  scratch *s = *state;
  double mean[N], sd[N], variance[N];
  oatgp_scores plain, scores;
  s->settings.knots = "10";
  s->settings.folds = 3;
  oatgp_data *data = in_unit(s, 1), *tiny = in_unit(s, units[1]);
  must(s, oatgp_cv(s->ctx, data, &s->settings, NULL, NULL, &(oatgp_held_out){mean, variance, NULL, NULL}, &plain));
  must(s, oatgp_cv_sd(s->ctx, tiny, &s->settings, NULL, NULL, &(oatgp_held_out_sd){mean, sd, NULL, NULL}, &scores));
  for (size_t i = 0; i < N; i++) {
    variance[i] = sqrt(variance[i]);
  }
  expect_multiple(N, sd, units[1], variance, 1e-9);
  expect_same_scores(&scores, units[1], &plain);
  oatgp_data_free(data);
  oatgp_data_free(tiny);
}

/* In squared units there is no number for it. */
static void covariance_out_of_range(void **state) {
  scratch *s = *state;
  static double covariance[N * N];
  s->settings.knots = "10";
  for (size_t u = 0; u < LENGTH(units); u++) {
    oatgp_data *data = in_unit(s, units[u]);
    oatgp_model *model = must_fit(s, data, NULL);
    expect_sentence(s, OATGP_NUMERIC, oatgp_predict_covariance(s->ctx, model, data, covariance),
                    units[u] < 1 ? "too small for a number" : "too large for a number");
    oatgp_model_free(model);
    oatgp_data_free(data);
  }
}

/* A prior whose variance is 0 in numbers: draws are the mean, and come to an end. */
static void draws_without_variance(void **state) {
  scratch *s = *state;
  double draws[2 * N], mean[N];
  s->settings.knots = "10";
  oatgp_data *data = in_unit(s, 1);
  oatgp_model *model = must_fit(s, data, NULL);
  model->theta[OAT_SIGMA] = 1e-170;
  must(s, oatgp_predict_mean(s->ctx, model, data, mean));
  must(s, oatgp_predict_samples(s->ctx, model, data, 2, 1, draws));
  for (size_t i = 0; i < N; i++) {
    assert_near(draws[i], mean[i], 1e-12);
  }
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* Too near the largest number. */
static void target_at_the_end(void **state) {
  scratch *s = *state;
  oatgp_model *model = NULL;
  oatgp_data *data = in_unit(s, 1);
  data->own_y[6] = -1.7e308;
  expect_sentence(s, OATGP_DATA, oatgp_fit(s->ctx, data, &s->settings, NULL, NULL, NULL, &model),
                  "the target is -1.7e+308 in row 7");
  assert_null(model);
  oatgp_data_free(data);
}

/* ---- inputs far away ------------------------------------------------------------------------------------------- */

/* Where the square of a distance is infinite, the covariance is 0 and the prediction the prior. */
static void prior_far_away(void **state) {
  scratch *s = *state;
  s->settings.select = "auto"; /* knots stay, whatever the kernel */
  const double far[] = {1e155, 0, 0, -1e200, 1e300, 1e300, 1.7e308, -1.7e308};
  enum { ROWS = 4 };
  double mean[ROWS], latent[ROWS], sd[ROWS], alone[ROWS], covariance[ROWS * ROWS];
  oatgp_data *data = in_unit(s, 1), *rows = make_data(s, ROWS, D, far, NULL);
  s->settings.knots = "8";
  s->settings.max_iter = 10;
  for (size_t k = 0; oat_kernel_at(k) != NULL; k++) {
    s->settings.kernel = oat_kernel_at(k)->name;
    oatgp_model *model = must_fit(s, data, NULL);
    const oatgp_model_info info = info_of(model);
    must(s, oatgp_predict_sd(s->ctx, model, rows, &(oatgp_prediction_sd){mean, latent, sd}));
    must(s, oatgp_predict_mean(s->ctx, model, rows, alone));
    must(s, oatgp_predict_covariance(s->ctx, model, rows, covariance));
    for (size_t i = 0; i < ROWS; i++) {
      assert_near(mean[i], info.mean, 1e-12);
      assert_near(alone[i], info.mean, 1e-12);
      assert_near(latent[i], info.sigma, 1e-12);
      assert_near(sd[i], hypot(info.sigma, info.tau), 1e-12);
      for (size_t j = 0; j < ROWS; j++) {
        assert_near(covariance[i * ROWS + j], i == j ? info.sigma * info.sigma : 0, 1e-12);
      }
    }
    oatgp_model_free(model);
  }
  oatgp_data_free(data);
  oatgp_data_free(rows);
}

/* A linear mean has no limit there. */
static void linear_mean_far_away(void **state) {
  scratch *s = *state;
  const double far[] = {0, 0, 1, 1.7e308};
  double mean[2];
  s->settings.knots = "8";
  s->settings.mean = "linear";
  oatgp_data *data = in_unit(s, 1000), *rows = make_data(s, 2, D, far, NULL);
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_prediction_sd out = {mean, NULL, NULL};
  expect_sentence(s, OATGP_NUMERIC, oatgp_predict_sd(s->ctx, model, rows, &out), "the mean of row 2 is not finite");
  expect_sentence(s, OATGP_NUMERIC, oatgp_predict_mean(s->ctx, model, rows, mean), "the mean of row 2 is not finite");
  model->scaling.scale[1] = 0.1;
  expect_sentence(s, OATGP_DATA, oatgp_predict_sd(s->ctx, model, rows, &out), "input 'x2' of row 2 is 1.7e+308");
  oatgp_model_free(model);
  oatgp_data_free(data);
  oatgp_data_free(rows);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void joint_predictions_within_memory(void **state) {
  scratch *s = *state;
  static double covariance[N * N];
  s->settings.knots = "8";
  oatgp_data *data = in_unit(s, 1);
  oatgp_model *model = must_fit(s, data, NULL);
  oatgp_context_set_memory(s->ctx, 50000); /* one matrix of 60 x 60, but not two */
  must(s, oatgp_predict_covariance(s->ctx, model, data, covariance));
  expect_sentence(s, OATGP_MEMORY, oatgp_predict_samples(s->ctx, model, data, 1, 1, covariance),
                  "the joint covariance of 60 rows needs 6.26e-05 GiB, but only 4.66e-05 GiB may be used");
  oatgp_context_set_memory(s->ctx, 20000);
  expect_sentence(s, OATGP_MEMORY, oatgp_predict_covariance(s->ctx, model, data, covariance),
                  "use fewer rows at a time or raise --memory");
  oatgp_context_set_memory(s->ctx, 0);
  must(s, oatgp_predict_samples(s->ctx, model, data, 1, 1, covariance));
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCRATCH(unit_of_the_target),      WITH_SCRATCH(cross_validation_in_any_unit),
      WITH_SCRATCH(covariance_out_of_range), WITH_SCRATCH(draws_without_variance),
      WITH_SCRATCH(target_at_the_end),       WITH_SCRATCH(prior_far_away),
      WITH_SCRATCH(linear_mean_far_away),    WITH_SCRATCH(joint_predictions_within_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
