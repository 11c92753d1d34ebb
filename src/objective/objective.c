/* What the sparse and the full objective share. */
#include "objective/objective.h"

#include <math.h>
#include <stdlib.h>

#define LOWEST_RUNG 1e-12
#define HIGHEST_RUNG 1e-2
#define UNTOLD_RUNG 1e-9 /* up to here, a jitter that the fit itself has chosen is raised without a message */

/* Every objective has sites of its own, so that several can be optimised side by side. */
static oatgp_status take_sites(oatgp_context *ctx, oat_objective *objective) {
  oat_objective_config *config = &objective->config;
  oat_site_look *look = &objective->look;
  PASS_ON(oat_rows_with_sites(ctx, config->rows, &objective->own_rows));
  config->rows = objective->own_rows;
  look->count = oat_likelihood_count(config->likelihood, config->levels);
  look->parameters = oat_take_doubles(&objective->memory, look->count + 1, 1);
  return objective->memory.status;
}

oatgp_status oat_objective_create(oatgp_context *ctx, const oat_objective_config *config, oat_objective **out) {
  const oat_objective_table *table = config->approx->sparse ? &oat_objective_sparse : &oat_objective_full;
  oat_objective *objective = NULL;
  oatgp_status status;
  TRY(oat_new(ctx, 1, table->size, &objective));
  *objective = (oat_objective){.table = table, .config = *config, .memory = {.ctx = ctx}};
  objective->config.where = oat_where_known(config->where);
  objective->config.neighbours = config->approx->neighbours
                                     ? config->neighbours
                                     : 0; /* an exact GP may be part of a search for a model with neighbours */
  TRY(config->likelihood != NULL ? take_sites(ctx, objective) : OATGP_OK);
  TRY(table->open(ctx, objective));
  *out = objective;
  return OATGP_OK;
done:
  oat_objective_free(objective);
  return status;
}

void oat_objective_free(oat_objective *objective) {
  if (objective != NULL) {
    oat_device_close(objective->device);
    oat_rows_free(objective->own_rows);
    oat_scratch_free(&objective->memory);
    free(objective);
  }
}

static bool gradient_finite(const oat_objective_config *config, const oat_gradient *gradient) {
  return oat_all_finite(oat_theta_count(config->kernel, oat_rows_inputs(config->rows)), gradient->theta, -DBL_MAX) &&
         (gradient->z == NULL || oat_all_finite(config->k * oat_rows_inputs(config->rows), gradient->z, -DBL_MAX));
}

/* Adds the share of the priors that belongs to the rows of the objective. */
static double add_prior(const oat_objective_config *config, const double *theta, double *slope) {
  const oat_prior *prior = config->prior;
  return prior == NULL ? 0
                       : oat_prior_add(prior, (double)oat_rows_total(config->rows) / (double)prior->rows, theta, slope);
}

double oat_objective_log_prior(const oat_objective *objective, const double *theta) {
  return add_prior(&objective->config, theta, NULL);
}

oatgp_status oat_objective_evaluate(oat_objective *objective, const oat_point *point, double *value,
                                    oat_gradient *gradient) {
  objective->pivot = 0;
  const oatgp_status status = objective->table->evaluate(objective, point, value, gradient);
  if (status == OATGP_OK) {
    *value += add_prior(&objective->config, point->theta, gradient != NULL ? gradient->theta : NULL);
  }
  if (status == OATGP_OK &&
      (!isfinite(*value) || (gradient != NULL && !gradient_finite(&objective->config, gradient)))) {
    return OATGP_NUMERIC;
  }
  return status;
}

oatgp_status oat_objective_rejected(oatgp_context *ctx, const oat_objective *objective, const oat_point *point) {
  return oat_fail(ctx, OATGP_NUMERIC,
                  "the objective has no finite value at sigma %g, tau %g (scaled), jitter %g (pivot %zu); try other "
                  "start values or a larger --jitter",
                  oat_kernel_amplitude(objective->config.kernel, point->theta), point->theta[OAT_TAU],
                  objective->config.jitter, objective->pivot);
}

bool oat_objective_raise_jitter(oat_objective *objective) {
  double *jitter = &objective->config.jitter;
  const bool can = *jitter < HIGHEST_RUNG;
  *jitter = can ? fmin(fmax(10 * *jitter, LOWEST_RUNG), HIGHEST_RUNG) : *jitter;
  return can;
}

oatgp_status oat_objective_settle(oatgp_context *ctx, oat_objective *objective, const oat_point *start, double *value,
                                  oat_gradient *gradient) {
  const double given = objective->config.jitter, *jitter = &objective->config.jitter;
  oatgp_status status;
  do {
    status = oat_objective_evaluate(objective, start, value, gradient);
  } while (status == OATGP_NUMERIC && oat_objective_raise_jitter(objective));
  if (status == OATGP_OK && *jitter > given && (!objective->config.soft || *jitter > UNTOLD_RUNG)) {
    oat_say(ctx, OATGP_WARNING, "the covariance could not be factorised with jitter %g: raised to %g for this fit",
            given, *jitter);
  }
  if (status == OATGP_NUMERIC) {
    return oat_fail(ctx, OATGP_NUMERIC,
                    "the objective has no finite value%s at sigma %g, tau %g (scaled), even with jitter %g (pivot "
                    "%zu); try other start values",
                    gradient != NULL ? " and gradient" : "",
                    oat_kernel_amplitude(objective->config.kernel, start->theta), start->theta[OAT_TAU], *jitter,
                    objective->pivot);
  }
  return status;
}
