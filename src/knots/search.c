/* A fit in progress. */
#include "knots/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define FAR 0.1            /* share of the distances that may come from other inputs than where neighbours were found, in an optimisation */
#define NEAR 0.01          /* and at its end */
enum { MOST_ROUNDS = 20 }; /* of neighbours found again */
#define LAST_STEPS 2.0     /* evaluations with gradient that the last steps of a fit are worth: the model and its leave-one-out scores */

static size_t theta_count(const oat_search *s) { return oat_theta_count(s->mapping.kernel, s->mapping.d); }

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static oat_point new_point(oat_search *s) {
  return (oat_point){oat_take_doubles(&s->memory, theta_count(s), 1), oat_take_doubles(&s->memory, s->settings.max_knots, s->mapping.d)};
}

oatgp_status oat_search_open(oat_search *s) {
  const size_t n = theta_count(s) + s->settings.max_knots * s->mapping.d;
  s->memory = (oat_scratch){.ctx = s->ctx};
  s->point = new_point(s);
  s->backup = new_point(s);
  s->fallback = new_point(s);
  s->best = new_point(s);
  s->trial = new_point(s);
  s->gradient = new_point(s);
  s->lower = oat_take_doubles(&s->memory, n, 1);
  s->upper = oat_take_doubles(&s->memory, n, 1);
  s->sign_weight = oat_take_doubles(&s->memory, n, 1);
  s->x = oat_take_doubles(&s->memory, n, 1);
  s->subset = oat_take_doubles(&s->memory, theta_count(s), 1);
  s->near = oat_take_doubles(&s->memory, theta_count(s), 1);
  s->share = oat_take_doubles(&s->memory, s->mapping.d, 1);
  return s->memory.status;
}

void oat_search_close(oat_search *s) {
  oat_scratch_free(&s->memory);
  free(s->resumed);
  oat_optim_free(s->optim);
}

void oat_search_copy(const oat_search *s, const oat_point *from, size_t k, oat_point *to) {
  memcpy(to->theta, from->theta, theta_count(s) * sizeof(double));
  if (k > 0) {
    memcpy(to->z, from->z, k * s->mapping.d * sizeof(double));
  }
}

/* ---- knots --------------------------------------------------------------------------------------------------------- */

void oat_search_add_knot(oat_search *s, const double *position) {
  const size_t k = s->state.k++;
  for (size_t j = s->mapping.d; j-- > 0;) {
    memmove(s->point.z + j * (k + 1), s->point.z + j * k, k * sizeof(double));
    s->point.z[k + j * (k + 1)] = position[j];
  }
}

void oat_search_truncate(oat_search *s, size_t k) {
  for (size_t j = 1; j < s->mapping.d; j++) {
    memmove(s->point.z + j * k, s->point.z + j * s->state.k, k * sizeof(double));
  }
  s->state.k = k;
}

static void use_knots(oat_search *s) {
  if (s->objective->config.approx->sparse) {
    oat_objective_resize(s->objective, s->state.k);
  }
}

oatgp_status oat_search_evaluate(oat_search *s) {
  use_knots(s);
  s->state.evaluations++;
  const oatgp_status status = oat_objective_evaluate(s->objective, &s->point, &s->state.value, NULL);
  s->state.rejected += status == OATGP_NUMERIC;
  return status == OATGP_NUMERIC ? oat_objective_rejected(s->ctx, s->objective, &s->point) : status;
}

void oat_search_place(oat_search *s, const oat_point *from, size_t k) {
  oat_search_copy(s, from, k, &s->point);
  s->state.k = k;
  s->state.kept = k;
  s->state.value = -HUGE_VAL;
  s->state.value_before = -HUGE_VAL;
  s->state.fallback_value = -HUGE_VAL;
  s->state.best_value = -HUGE_VAL;
  s->state.evidence = -HUGE_VAL;
  s->state.left_out = -HUGE_VAL;
}

void oat_search_mark(oat_search *s) {
  oat_search_copy(s, &s->point, s->state.k, &s->backup);
  s->state.kept = s->state.k;
  s->state.value_before = s->state.value;
}

void oat_search_revert(oat_search *s) {
  oat_search_copy(s, &s->backup, s->state.kept, &s->point);
  s->state.k = s->state.kept;
  s->state.value = s->state.value_before;
}

void oat_search_put_aside(oat_search *s) {
  oat_search_copy(s, &s->point, s->state.k, &s->fallback);
  s->state.fallback_value = s->state.value;
  s->state.fallback_k = s->state.k;
}

void oat_search_fall_back(oat_search *s) {
  if (s->state.fallback_value > s->state.value) {
    oat_search_copy(s, &s->fallback, s->state.fallback_k, &s->point);
    s->state.k = s->state.fallback_k;
    s->state.value = s->state.fallback_value;
  }
}

/* ---- optimisation -------------------------------------------------------------------------------------------------- */

bool oat_search_halted(const oat_search *s) {
  return s->state.stop == OATGP_STOP_TIME || s->state.stop == OATGP_STOP_EVALUATIONS || s->state.stop == OATGP_STOP_USER;
}

bool oat_search_late(const oat_search *s, double evaluations) {
  return s->limits.deadline > 0 && oat_seconds() + (evaluations + LAST_STEPS) * s->pace >= s->limits.deadline;
}

void oat_search_tell(oat_search *s, oat_search_event event) {
  if (s->report(s->self, s, event)) {
    s->state.stop = OATGP_STOP_USER;
  }
}

static oatgp_status evaluate(void *self, const double *x, double *value, double *gradient) {
  oat_search *s = self;
  oat_gradient derivatives = {s->gradient.theta, s->mapping.first < s->mapping.k ? s->gradient.z : NULL, !s->mapping.free[OAT_TAU]};
  const double began = oat_seconds();
  oat_mapping_unpack(&s->mapping, x, &s->trial);
  const oatgp_status status = oat_objective_evaluate(s->objective, &s->trial, value, &derivatives);
  s->pace = oat_seconds() - began;
  if (status == OATGP_OK) {
    oat_mapping_gradient(&s->mapping, x, &derivatives, gradient);
  }
  return status;
}

/* Goes on where a checkpoint left off, or starts at the current model. */
static oatgp_status begin(oat_search *s) {
  const size_t n = s->problem.n, bytes = n * sizeof(double);
  if (s->resumed == NULL) {
    oat_mapping_pack(&s->mapping, &s->point, s->x);
    oat_mapping_bounds(&s->mapping, s->x, s->lower, s->upper, s->sign_weight);
    return oat_optim_start(s->optim, s->x);
  }
  if (s->resumed_count != s->optim->state_count + 2 * n) {
    return oat_fail(s->ctx, OATGP_FORMAT, "the checkpoint does not fit these settings");
  }
  oat_mapping_bounds(&s->mapping, s->resumed + s->optim->state_count, s->lower, s->upper, s->sign_weight);
  memcpy(s->lower, s->resumed + s->optim->state_count, bytes);
  memcpy(s->upper, s->resumed + s->optim->state_count + n, bytes);
  memcpy(s->optim->state, s->resumed, s->optim->state_count * sizeof(double));
  free(s->resumed);
  s->resumed = NULL;
  oat_mapping_unpack(&s->mapping, s->optim->x, &s->trial);
  return oat_optim_sound(s->optim)
             ? OATGP_OK
             : oat_fail(s->ctx, OATGP_FORMAT, "the checkpoint is damaged: no optimiser can be in the state that it has");
}

/* The optimiser's best point becomes the current model. */
static void conclude(oat_search *s, oatgp_stop stop) {
  const double *counter = s->optim->counter;
  if (counter[OAT_BEST] > -HUGE_VAL) {
    oat_mapping_unpack(&s->mapping, s->optim->best, &s->point);
    s->state.value = counter[OAT_BEST];
  }
  s->state.stop = stop;
  s->state.iterations += counter[OAT_ITERATIONS];
  s->state.evaluations += counter[OAT_EVALUATIONS];
  s->state.rejected += counter[OAT_REJECTED];
}

/* What a report and the end of the optimisation look at. */
static void look(oat_search *s) {
  s->derivative = oat_optim_largest_derivative(s->optim);
  s->late = oat_search_late(s, 1);
}

/* ---- neighbours ------------------------------------------------------------------------------------------------------ */

/* The share of an input in the squared distances between rows and their neighbours at theta, times what all inputs have in
 * common. */
static double share_at(const oat_search *s, const double *theta, size_t input) {
  const oat_covariance now = oat_covariance_at(s->mapping.kernel, s->mapping.d, theta);
  const oat_covariance then = oat_covariance_at(s->mapping.kernel, s->mapping.d, s->near);
  const double ratio = oat_kernel_lengthscale(&then, input) / oat_kernel_lengthscale(&now, input);
  return s->share[input] > 0 ? s->share[input] * ratio * ratio : 0; /* an input of no leaf has no lengthscale */
}

/* How much of these distances is due to other inputs at theta than where the neighbours were found: 0 to 1. What all
 * lengthscales have in common changes no neighbour. */
static double strayed(const oat_search *s, const double *theta) {
  double total = 0, sum = 0;
  for (size_t j = 0; j < s->mapping.d && s->objective->config.neighbours > 0; j++) {
    total += share_at(s, theta, j);
  }
  for (size_t j = 0; j < s->mapping.d && total > 0; j++) {
    sum += fabs(share_at(s, theta, j) / total - s->share[j]);
  }
  return sum / 2;
}

/* At the current parameters; in a resumed optimisation, where they were found before. */
static oatgp_status find_neighbours(oat_search *s) {
  if (s->objective->config.neighbours == 0) {
    return OATGP_OK;
  }
  if (s->resumed == NULL) {
    memcpy(s->near, s->point.theta, theta_count(s) * sizeof *s->near);
  }
  return oat_objective_find_neighbours(s->objective, &(oat_point){.theta = s->near}, s->share);
}

/* ---- one optimisation, or several ------------------------------------------------------------------------------------ */

/* A resumed optimisation has reported where it is before it was saved. It ends, to go on with other neighbours, where
 * these are too far from what they should be. */
static oatgp_stop run(oat_search *s, bool resumed) {
  oatgp_stop stop = OATGP_STOP_NONE;
  look(s);
  bool interrupted = !resumed && s->report(s->self, s, OAT_SEARCH_STEP);
  while (!interrupted && strayed(s, s->trial.theta) < FAR &&
         (stop = s->late ? OATGP_STOP_TIME : oat_optim_stop(s->optim)) == OATGP_STOP_NONE) {
    oat_optim_step(s->optim);
    oat_mapping_unpack(&s->mapping, s->optim->x, &s->trial);
    look(s);
    interrupted = s->report(s->self, s, OAT_SEARCH_STEP);
  }
  if (s->problem.n == 0 && stop == OATGP_STOP_GRADIENT) {
    stop = OATGP_STOP_NONE; /* there was nothing to optimise */
  }
  return interrupted ? OATGP_STOP_USER : stop;
}

/* With the neighbours as they are. */
static oatgp_status optimise(oat_search *s, const oat_optim_settings *limits) {
  oat_optim_settings left = *limits; /* of max_eval, which is for the whole search, and of max_iter */
  oatgp_status status = OATGP_OK;
  const bool resumed = s->resumed != NULL;
  left.max_eval = limits->max_eval > 0 ? fmax(limits->max_eval - s->state.evaluations, 1) : 0;
  left.max_iter = limits->max_iter - s->state.spent;
  oat_search_copy(s, &s->point, s->state.k, &s->trial);
  TRY(oat_optim_create(s->ctx, s->method, &s->problem, &left, &s->optim));
  TRY(begin(s));
  conclude(s, run(s, resumed));
done:
  if (status == OATGP_NUMERIC) { /* rejected at its start: nothing was gained, and that is all */
    s->state.rejected++;
    s->state.evaluations++;
    s->state.stop = OATGP_STOP_STALLED;
    status = OATGP_OK;
  }
  oat_optim_free(s->optim);
  s->optim = NULL;
  return status;
}

/* Whether the optimisation has come to its end with neighbours that are no longer right, and may go on with others. */
static bool goes_on(const oat_search *s, const oat_optim_settings *limits) {
  return !oat_search_halted(s) && s->state.spent < limits->max_iter && s->state.round_of_neighbours < MOST_ROUNDS &&
         strayed(s, s->point.theta) > NEAR;
}

oatgp_status oat_search_optimise(oat_search *s, size_t first, const oat_optim_settings *limits) {
  oatgp_status status = OATGP_OK;
  const bool *free_parameters = s->mapping.free;
  const oatgp_stop before_all = s->state.stop; /* which a resumed search must find again, in whatever round it was halted */
  bool more = false;
  use_knots(s);
  s->mapping.k = s->state.k;
  s->mapping.first = s->settings.move ? first : s->state.k;
  s->mapping.free = s->state.held ? s->none_free : free_parameters;
  s->problem = (oat_problem){oat_mapping_count(&s->mapping), s->lower, s->upper, s->sign_weight, evaluate, s};
  if (s->resumed == NULL) {
    s->state.spent = 0;
    s->state.round_of_neighbours = 0;
  }
  do {
    const double before = s->state.iterations;
    TRY(find_neighbours(s));
    TRY(optimise(s, limits));
    s->state.spent += s->state.iterations - before;
    s->state.round_of_neighbours++;
    more = goes_on(s, limits);
    s->state.stop = more ? before_all : s->state.stop;
  } while (more);
done:
  s->mapping.free = free_parameters;
  return status;
}

oatgp_status oat_search_settle(oat_search *s) {
  const oatgp_stop stop = s->state.stop;
  const oatgp_status status = oat_search_optimise(s, s->state.k, &s->limits);
  s->state.stop = oat_search_halted(s) ? s->state.stop : stop;
  return status;
}
