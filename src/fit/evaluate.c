/* One evaluation of the objective, for checking and teaching. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/request.h"
#include "fit/setup.h"

#define SITE_TOL 1e-11 /* of the sites of non-Gaussian targets: about as small as rounding allows */
/* Unless one is given; a plain number, so that tau does not act on the value through the jitter. */
#define PLAIN_JITTER 1e-6

/* Derivatives and parameters as the user sees them; knots become row-major. */
static oatgp_status describe(oatgp_context *ctx, const oat_setup *setup, const oat_objective *objective,
                             const oat_gradient *gradient, oatgp_evaluation *out) {
  const size_t d = setup->scaling.d, k = setup->k;
  const double unit = setup->y_scale;
  const oat_theta_fields at = oat_theta_named(setup->kernel, d, setup->start.theta, unit);
  const size_t bytes = at.lengthscale_count * sizeof(double);
  oatgp_status status = OATGP_OK;
  out->sigma = at.sigma;
  out->tau = at.tau;
  out->shape = at.shape;
  out->mean = setup->mean + (oat_rows_basis(setup->rows) > 0 ? unit * objective->factors.coefficient[0] : 0);
  out->jitter = objective->config.jitter;
  out->inputs = d;
  out->knots = k;
  out->lengthscale_count = at.lengthscale_count;
  TRY(oat_new_matrix(ctx, at.lengthscale_count, 1, &out->lengthscales));
  TRY(oat_new_matrix(ctx, at.lengthscale_count, 1, &out->d_log_lengthscales));
  memcpy(out->lengthscales, at.lengthscales, bytes);
  if (gradient->theta != NULL) {
    const oat_theta_fields slope = oat_theta_named(setup->kernel, d, gradient->theta, 1);
    out->d_log_sigma = slope.sigma;
    out->d_log_tau = slope.tau;
    out->d_log_shape = slope.shape;
    memcpy(out->d_log_lengthscales, slope.lengthscales, bytes);
  }
  if (gradient->z != NULL) {
    TRY(oat_new_matrix(ctx, k, d, &out->d_knots));
    for (size_t i = 0; i < k * d; i++) {
      const size_t place = setup->order != NULL ? setup->order[i % k] : i % k;
      out->d_knots[place * d + i / k] = gradient->z[i];
    }
  }
done:
  return status;
}

/* The parameters of an expression. Their names are copied behind them in the same memory, because the kernel is
 * freed. */
static oatgp_status describe_expression(oatgp_context *ctx, const oat_setup *setup, const oat_gradient *gradient,
                                        oatgp_evaluation *out) {
  const oat_expression *expression = setup->kernel->expression;
  const oat_units units = {setup->y_scale, setup->scaling.d, setup->scaling.scale};
  size_t bytes = expression->parameters * sizeof *out->parameters;
  for (size_t i = 0; i < expression->parameters; i++) {
    bytes += strlen(expression->parameter[i].is.name) + 1;
  }
  PASS_ON(oat_new(ctx, bytes, 1, &out->parameters));
  PASS_ON(oat_new_matrix(ctx, expression->parameters, 1, &out->d_log_parameters));
  oat_expression_show(expression, setup->start.theta, &units, out->parameters);
  out->parameter_count = expression->parameters;
  char *name = (char *)(out->parameters + expression->parameters);
  for (size_t i = 0; i < expression->parameters; i++) {
    out->parameters[i].name = strcpy(name, out->parameters[i].name);
    name += strlen(name) + 1;
    out->d_log_parameters[i] = gradient->theta != NULL ? gradient->theta[OAT_LENGTHSCALE + i] : 0;
  }
  return OATGP_OK;
}

/* The parameters of a non-Gaussian likelihood, and the derivatives with respect to them. */
static oatgp_status describe_answers(oatgp_context *ctx, const oat_setup *setup, const oat_objective *objective,
                                     const oat_gradient *gradient, oatgp_evaluation *out) {
  const size_t count = setup->kernel->further.count, first = setup->kernel->further.first;
  PASS_ON(oat_new(ctx, count + 1, sizeof *out->likelihood_parameters, &out->likelihood_parameters));
  PASS_ON(oat_new_matrix(ctx, count + 1, 1, &out->d_log_likelihood));
  oat_answer_show(setup->likelihood, setup->levels, setup->start.theta + first, setup->y_scale,
                  out->likelihood_parameters);
  out->likelihood_count = count;
  if (gradient->theta != NULL) {
    memcpy(out->d_log_likelihood, gradient->theta + first, count * sizeof(double));
    out->d_mean = objective->look.slope / setup->y_scale;
  }
  return OATGP_OK;
}

oatgp_status oat_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                          const oatgp_data *knots, int with_gradient, oatgp_evaluation *out) {
  oat_setup setup = {0};
  oat_objective *objective = NULL;
  oat_scratch memory = {.ctx = ctx};
  oat_gradient gradient = {0};
  oatgp_evaluation result = {0};
  double value = 0;
  oatgp_status status = OATGP_OK;
  oatgp_settings as_they_are = *settings; /* nothing is selected */
  as_they_are.select = "fixed";
  as_they_are.prior = strcmp(settings->prior, "auto") == 0 ? "none" : settings->prior;
  as_they_are.jitter = isnan(settings->jitter) ? PLAIN_JITTER : settings->jitter;
  TRY(oat_setup_make(ctx, data, &as_they_are, knots, &setup));
  oat_objective_config config = oat_setup_objective(&setup);
  config.site_tol = SITE_TOL;
  TRY(oat_objective_create(ctx, &config, &objective));
  if (with_gradient) {
    gradient.theta = oat_take_doubles(&memory, oat_theta_count(setup.kernel, setup.scaling.d), 1);
    gradient.z = setup.approx->sparse ? oat_take_doubles(&memory, setup.k, setup.scaling.d) : NULL;
    TRY(memory.status);
    TRY(oat_setup_check_moving(ctx, &setup));
  }
  TRY(oat_objective_settle(ctx, objective, &setup.start, &value, with_gradient ? &gradient : NULL));
  TRY(describe(ctx, &setup, objective, &gradient, &result));
  TRY(setup.kernel->expression != NULL ? describe_expression(ctx, &setup, &gradient, &result) : OATGP_OK);
  TRY(setup.likelihood != NULL ? describe_answers(ctx, &setup, objective, &gradient, &result) : OATGP_OK);
  result.objective = oat_setup_objective_value(&setup, value);
  result.log_prior = oat_objective_log_prior(objective, setup.start.theta);
  *out = result;
  result = (oatgp_evaluation){0};
done:
  oatgp_evaluation_clear(&result);
  oat_scratch_free(&memory);
  oat_objective_free(objective);
  oat_setup_clear(&setup);
  return status;
}

void oatgp_evaluation_clear(oatgp_evaluation *evaluation) {
  if (evaluation != NULL) {
    free(evaluation->lengthscales);
    free(evaluation->d_log_lengthscales);
    free(evaluation->d_knots);
    free(evaluation->parameters);
    free(evaluation->d_log_parameters);
    free(evaluation->likelihood_parameters);
    free(evaluation->d_log_likelihood);
    *evaluation = (oatgp_evaluation){0};
  }
}
