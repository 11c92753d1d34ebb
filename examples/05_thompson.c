/* Minimises a function that is expensive to evaluate, by Thompson sampling: draws a function from the posterior,
 * evaluates the true one where the draw is lowest, and adds the result to the model.
 *
 * usage: 05_thompson */
#include <math.h>
#include <oatgp.h>
#include <stdio.h>

enum { BEGIN = 6, STEPS = 14, PLACES = 401 };

/* The experiment; its lowest value is -6.02074 at 0.757249. */
static double experiment(double x) { return (6 * x - 2) * (6 * x - 2) * sin(12 * x - 4); }

static oatgp_status fit_first(oatgp_context *ctx, oatgp_model **model) {
  double x[BEGIN], y[BEGIN];
  oatgp_data *data = NULL;
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  settings.approx = "full";
  settings.kernel = "matern52";
  settings.lengthscale = "0.8"; /* prior knowledge helps while there are few rows */
  settings.sigma = 5;
  settings.tau = 0.1;
  settings.fix = "sigma,tau,lengthscale";
  for (int i = 0; i < BEGIN; i++) {
    x[i] = (double)i / (BEGIN - 1);
    y[i] = experiment(x[i]);
  }
  oatgp_status status = oatgp_data_create(ctx, BEGIN, 1, x, y, &data);
  if (status == OATGP_OK) {
    status = oatgp_fit(ctx, data, &settings, NULL, NULL, NULL, model);
  }
  oatgp_data_free(data);
  return status;
}

/* The place, among some, where a function of the posterior is lowest. */
static oatgp_status draw_place(oatgp_context *ctx, const oatgp_model *model, uint64_t seed, double *place) {
  double x[PLACES], value[PLACES];
  oatgp_data *places = NULL;
  oatgp_function *function = NULL;
  int lowest = 0;
  for (int i = 0; i < PLACES; i++) {
    x[i] = (double)i / (PLACES - 1);
  }
  oatgp_status status = oatgp_data_create(ctx, PLACES, 1, x, NULL, &places);
  if (status == OATGP_OK) {
    status = oatgp_function_create(ctx, model, 1, seed, &function);
  }
  if (status == OATGP_OK) {
    status = oatgp_function_evaluate(ctx, function, places, value,
                                     NULL); /* the last argument: derivatives, for a finer search */
  }
  for (int i = 0; i < PLACES && status == OATGP_OK; i++) {
    lowest = value[i] < value[lowest] ? i : lowest;
  }
  *place = x[lowest];
  oatgp_function_free(function);
  oatgp_data_free(places);
  return status;
}

/* The factor of the full GP gains a row; nothing is fitted again. */
static oatgp_status take_in(oatgp_context *ctx, oatgp_model *model, double x, double y) {
  oatgp_data *row = NULL;
  oatgp_status status = oatgp_data_create(ctx, 1, 1, &x, &y, &row);
  if (status == OATGP_OK) {
    status = oatgp_update(ctx, model, row);
  }
  oatgp_data_free(row);
  return status;
}

int main(void) {
  oatgp_context *ctx = oatgp_context_create();
  oatgp_model *model = NULL;
  double best = HUGE_VAL;
  oatgp_status status = fit_first(ctx, &model);
  for (int step = 1; step <= STEPS && status == OATGP_OK; step++) {
    double x = 0;
    status = draw_place(ctx, model, (uint64_t)step, &x);
    if (status == OATGP_OK) {
      best = fmin(best, experiment(x));
      status = take_in(ctx, model, x, experiment(x));
    }
  }
  if (status == OATGP_OK) {
    oatgp_model_info info;
    oatgp_model_get_info(model, &info);
    printf("after %zu rows the lowest value is %s\n", info.n,
           best < -6.01 ? "within 0.01 of the least there is" : "still far away");
  } else {
    fprintf(stderr, "%s\n", oatgp_last_error(ctx));
  }
  oatgp_model_free(model);
  oatgp_context_free(ctx);
  return status == OATGP_OK ? 0 : 1;
}
