/* Periods: their starts, and a fit without options to data with a season. */
#include "fit/season.h"
#include "fits.h"
#include "model/model.h"

#define PI 3.14159265358979323846

enum { ROWS = 240 };

/* A series of places in no order, with a trend, a season with overtones and noise. */
static oatgp_data *make_series(scratch *s, double period, double trend, uint64_t seed) {
  double x[ROWS], y[ROWS];
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < ROWS; i++) {
    const double t = 60 * oat_rng_uniform(&rng), turn = 2 * PI * t / period;
    x[i] = 1950 + t;
    y[i] = 3 + trend * t + 0.003 * t * t + sin(turn) + 0.6 * cos(2 * turn) + 0.15 * oat_rng_normal(&rng);
  }
  return make_data(s, ROWS, 1, x, y);
}

/* The start of a parameter by its place, in the data's unit. */
static double start_of(scratch *s, const oatgp_data *data, size_t place) {
  oat_setup setup;
  must(s, oat_setup_make(s->ctx, data, &s->settings, NULL, &setup));
  const double start = setup.start.theta[OAT_LENGTHSCALE + place] * setup.scaling.scale[0];
  oat_setup_clear(&setup);
  return start;
}

/* Near enough for an optimiser to find it: within a part of 1 / (turns over the range). */
static void starts(void **state) {
  scratch *s = *state;
  static const double periods[] = {1, 2.7, 7.3, 13};
  for (size_t i = 0; i < LENGTH(periods); i++) {
    oatgp_data *data = make_series(s, periods[i], 0.05, 5 + i);
    s->settings.kernel = "periodic(x1) + se(x1)";
    assert_near(start_of(s, data, 1) / periods[i], 1, 0.3 * periods[i] / 60);
    s->settings.parameters = "periodic(x1).period=2.5"; /* what is given stays */
    assert_near(start_of(s, data, 1), 2.5, 1e-12);
    s->settings.parameters = "";
    oatgp_data_free(data);
  }
}

/* Two leaves of one input do not start at the same period; without rows enough to see a season they start somewhere. */
static void several_and_none(void **state) {
  scratch *s = *state;
  oatgp_data *data = make_series(s, 4, 0, 9),
             *few = make_data(s, 3, 1, (const double[]){1, 2, 4}, (const double[]){1, 3, 2});
  s->settings.kernel = "cosine(x1) + cosine(x1)";
  const double one = start_of(s, data, 1), other = start_of(s, data, 3);
  assert_near(one, 4, 0.1); /* sin(t) is stronger than its overtone */
  assert_near(other, 2, 0.1);
  assert_true(start_of(s, few, 1) > 0);
  oatgp_data_free(few);
  oatgp_data_free(data);
}

/* The default fit finds the season, with its knots. Under valgrind it would take too long. */
static void fits(void **state) {
  scratch *s = *state;
  if (under_valgrind()) {
    return;
  }
  oatgp_data *data = make_series(s, 2.7, 0.05, 31);
  s->settings.kernel = "periodic(x1) + se(x1) + linear(x1)";
  oatgp_model *model = must_fit(s, data, NULL);
  const oatgp_model_info info = info_of(model);
  assert_near(model->theta[OAT_LENGTHSCALE + 1] * model->scaling.scale[0], 2.7, 0.01);
  assert_near(model->theta[OAT_TAU] * model->number[OAT_NUMBER_Y_SCALE], 0.15, 0.03);
  assert_true(info.knots < ROWS / 2 && info.loo_rmse < 0.2);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

/* With pure noise, every term vanishes. Under valgrind, fits do not choose knots automatically. */
static void noise(void **state) {
  scratch *s = *state;
  if (under_valgrind()) {
    return;
  }
  double x[2 * ROWS], y[ROWS];
  oat_rng rng;
  oat_rng_seed(&rng, 77);
  for (size_t i = 0; i < ROWS; i++) {
    x[2 * i] = oat_rng_uniform(&rng);
    x[2 * i + 1] = oat_rng_uniform(&rng);
    y[i] = oat_rng_normal(&rng);
  }
  oatgp_data *data = make_data(s, ROWS, 2, x, y);
  s->settings.kernel = "se(x1) + matern52(x2)";
  *s->said = '\0';
  oatgp_model *model = must_fit(s, data, NULL);
  assert_non_null(strstr(s->said, "the inputs explain the target no better"));
  assert_true(oat_kernel_amplitude(model->kernel, model->theta) < 0.01 * model->theta[OAT_TAU]);
  oatgp_model_free(model);
  oatgp_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {WITH_SCRATCH(starts), WITH_SCRATCH(several_and_none), WITH_SCRATCH(fits),
                                     WITH_SCRATCH(noise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
