/* What the optimisers share: the state and its layout, evaluation with counting, bounds. */
#include "optim/optim.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "util/memory.h"

extern const oat_optim_method oat_optim_lbfgs, oat_optim_adadelta;

static const oat_optim_method *const methods[] = {&oat_optim_lbfgs, &oat_optim_adadelta};

const oat_optim_method *oat_optim_find(const char *name) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (strcmp(methods[i]->name, name) == 0) {
      return methods[i];
    }
  }
  return NULL;
}

oatgp_status oat_optim_create(oatgp_context *ctx, const oat_optim_method *method, const oat_problem *problem,
                              const oat_optim_settings *settings, oat_optim **out) {
  oat_optim *optim = NULL;
  oatgp_status status = OATGP_OK;
  const size_t n = problem->n, common = OAT_COUNTERS + 3 * n + settings->patience + 1;
  TRY(oat_new(ctx, 1, sizeof *optim, &optim));
  optim->method = method;
  optim->problem = problem;
  optim->settings = settings;
  optim->state_count = common + method->state_size(n, settings);
  TRY(oat_new_matrix(ctx, optim->state_count + method->scratch_size(n, settings), 1, &optim->state));
  optim->counter = optim->state;
  optim->x = optim->counter + OAT_COUNTERS;
  optim->gradient = optim->x + n;
  optim->best = optim->gradient + n;
  optim->recent = optim->best + n;
  optim->own = optim->recent + settings->patience + 1;
  optim->scratch = optim->state + optim->state_count;
  *out = optim;
  return OATGP_OK;
done:
  oat_optim_free(optim);
  return status;
}

void oat_optim_free(oat_optim *optim) {
  if (optim != NULL) {
    free(optim->state);
    free(optim);
  }
}

double oat_optim_clamp(const oat_problem *problem, size_t i, double x) {
  return fmin(fmax(x, problem->lower[i]), problem->upper[i]);
}

bool oat_optim_held(const oat_optim *optim, size_t i) {
  const double x = optim->x[i], g = optim->gradient[i];
  return (x <= optim->problem->lower[i] && g < 0) || (x >= optim->problem->upper[i] && g > 0);
}

static bool are_counts(const double *counter) {
  for (size_t i = OAT_ITERATIONS; i < OAT_COUNTERS; i++) {
    const double most = i == OAT_STALLED ? 1 : 0x1p53;
    if (!(counter[i] >= 0 && counter[i] <= most && counter[i] == floor(counter[i]))) {
      return false;
    }
  }
  return true;
}

static bool is_inside(const oat_problem *problem, const double *x) {
  for (size_t i = 0; i < problem->n; i++) {
    if (!(x[i] >= problem->lower[i] && x[i] <= problem->upper[i])) {
      return false;
    }
  }
  return true;
}

bool oat_optim_sound(const oat_optim *optim) {
  const size_t common = (size_t)(optim->own - optim->state);
  return oat_all_finite(common, optim->state, -DBL_MAX) && are_counts(optim->counter) &&
         is_inside(optim->problem, optim->x) && is_inside(optim->problem, optim->best) && optim->method->sound(optim);
}

/* Evaluates even if the budget is used up. */
static bool evaluate(oat_optim *optim, const double *x, double *value, double *gradient) {
  const oat_problem *problem = optim->problem;
  double *counter = optim->counter;
  counter[OAT_EVALUATIONS]++;
  if (problem->evaluate(problem->self, x, value, gradient) != OATGP_OK || !isfinite(*value) ||
      !oat_all_finite(problem->n, gradient, -DBL_MAX)) {
    counter[OAT_REJECTED]++;
    return false;
  }
  if (*value > counter[OAT_BEST]) {
    counter[OAT_BEST] = *value;
    memcpy(optim->best, x, problem->n * sizeof *x);
  }
  return true;
}

bool oat_optim_evaluate(oat_optim *optim, const double *x, double *value, double *gradient) {
  return !oat_optim_out_of_budget(optim) && evaluate(optim, x, value, gradient);
}

/* The start is evaluated even if the time is up already, so that there is a best point. */
oatgp_status oat_optim_start(oat_optim *optim, const double *x) {
  memset(optim->state, 0, optim->state_count * sizeof *optim->state);
  for (size_t i = 0; i < optim->problem->n; i++) {
    optim->x[i] = oat_optim_clamp(optim->problem, i, x[i]);
  }
  optim->counter[OAT_BEST] = -HUGE_VAL;
  if (!evaluate(optim, optim->x, &optim->counter[OAT_VALUE], optim->gradient)) {
    return OATGP_NUMERIC;
  }
  optim->recent[0] = optim->counter[OAT_VALUE];
  return OATGP_OK;
}

void oat_optim_inherit(oat_optim *optim, const oat_optim *earlier) {
  if (earlier != NULL && earlier->method == optim->method && earlier->state_count == optim->state_count) {
    memcpy(optim->own, earlier->own, (size_t)(optim->state + optim->state_count - optim->own) * sizeof *optim->own);
  }
}

void oat_optim_step(oat_optim *optim) {
  optim->counter[OAT_STALLED] = !optim->method->step(optim);
  optim->counter[OAT_ITERATIONS]++;
  const size_t iteration = (size_t)optim->counter[OAT_ITERATIONS];
  optim->recent[iteration % (optim->settings->patience + 1)] = optim->counter[OAT_VALUE];
}
