/* Every rule that ends an optimisation, in the order in which they are checked. */
#include <math.h>

#include "optim/optim.h"
#include "util/clock.h"
#include "util/ranks.h"

double oat_optim_largest_derivative(const oat_optim *optim) {
  double largest = 0;
  for (size_t i = 0; i < optim->problem->n; i++) {
    if (!oat_optim_held(optim, i)) {
      largest = fmax(largest, fabs(optim->gradient[i]));
    }
  }
  return largest;
}

static bool out_of_time(const oat_optim *optim) {
  return optim->settings->deadline > 0 && oat_ranks_first(oat_seconds() >= optim->settings->deadline);
}

bool oat_optim_out_of_budget(const oat_optim *optim) {
  return optim->settings->max_eval > 0 && optim->counter[OAT_EVALUATIONS] >= optim->settings->max_eval;
}

/* The objective moved by less than obj_tol over the last `back` iterations. */
static bool objective_rests(const oat_optim *optim, size_t back) {
  const size_t kept = optim->settings->patience + 1, iteration = (size_t)optim->counter[OAT_ITERATIONS];
  if (iteration < back) {
    return false;
  }
  return fabs(optim->counter[OAT_VALUE] - optim->recent[(iteration - back) % kept]) < optim->settings->obj_tol;
}

/* If no step can be taken, the previous step decides: if it was small, the optimum was reached. */
static oatgp_stop stalled(const oat_optim *optim) {
  const size_t patience = optim->settings->patience;
  return objective_rests(optim, patience < 2 ? patience : 2) ? OATGP_STOP_OBJECTIVE : OATGP_STOP_STALLED;
}

oatgp_stop oat_optim_stop(const oat_optim *optim) {
  if (out_of_time(optim)) {
    return OATGP_STOP_TIME;
  }
  if (oat_optim_out_of_budget(optim)) {
    return OATGP_STOP_EVALUATIONS;
  }
  if (optim->counter[OAT_ITERATIONS] >= optim->settings->max_iter) {
    return OATGP_STOP_ITERATIONS;
  }
  if (oat_optim_largest_derivative(optim) <= optim->settings->grad_tol) {
    return OATGP_STOP_GRADIENT;
  }
  if (optim->counter[OAT_STALLED] != 0) {
    return stalled(optim);
  }
  return objective_rests(optim, optim->settings->patience) ? OATGP_STOP_OBJECTIVE : OATGP_STOP_NONE;
}
