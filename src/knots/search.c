/* A fit in progress. */
#include "knots/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/ranks.h"

/* The largest share of the squared distances that may have moved between inputs since the neighbours were found: within
 * an optimisation, at its end, and below which nothing has changed. */
#define FAR 0.1
#define NEAR 0.03
#define ALIKE 1e-9
enum {
  MOST_ROUNDS = 50, /* of neighbours found again */
  PATIENCE = 3, /* rounds that may begin no better than an earlier one before the optimisation has converged: the value
                   often rises again */
  LAST_PATIENCE = 0 /* the same after it has converged: two sets of neighbours may lead to each other */
};
/* Cost of the last steps of a fit (the model and its leave-one-out scores), in evaluations with gradient. */
#define LAST_STEPS 2.0

static size_t theta_count(const oat_search *s) { return oat_theta_count(s->mapping.kernel, s->mapping.d); }

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static oat_point new_point(oat_search *s) {
  return (oat_point){oat_take_doubles(&s->memory, theta_count(s), 1),
                     oat_take_doubles(&s->memory, s->settings.max_knots, s->mapping.d)};
}

oatgp_status oat_search_open(oat_search *s) {
  const size_t n = theta_count(s) + s->settings.max_knots * s->mapping.d;
  s->memory = (oat_scratch){.ctx = s->ctx};
  s->point = new_point(s);
  s->backup = new_point(s);
  s->fallback = new_point(s);
  s->best = new_point(s);
  s->own = new_point(s);
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
  oat_optim_free(s->latest);
}

void oat_search_copy(const oat_search *s, const oat_point *from, size_t k, oat_point *to) {
  memcpy(to->theta, from->theta, theta_count(s) * sizeof(double));
  if (k > 0) {
    memcpy(to->z, from->z, k * s->mapping.d * sizeof(double));
  }
}

/* ---- knots ----------------------------------------------------------------------------------------------------- */

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
  s->state.own_value = -HUGE_VAL;
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

/* ---- optimisation ---------------------------------------------------------------------------------------------- */

bool oat_search_halted(const oat_search *s) {
  return s->state.stop == OATGP_STOP_TIME || s->state.stop == OATGP_STOP_EVALUATIONS ||
         s->state.stop == OATGP_STOP_USER;
}

bool oat_search_late(const oat_search *s, double evaluations) {
  return s->limits.deadline > 0 &&
         oat_ranks_first(oat_seconds() + (evaluations + LAST_STEPS) * s->pace >= s->limits.deadline);
}

void oat_search_tell(oat_search *s, oat_search_event event) {
  if (s->report(s->self, s, event)) {
    s->state.stop = OATGP_STOP_USER;
  }
}

static oatgp_status evaluate(void *self, const double *x, double *value, double *gradient) {
  oat_search *s = self;
  oat_gradient derivatives = {s->gradient.theta, s->mapping.first < s->mapping.k ? s->gradient.z : NULL,
                              !s->mapping.free[OAT_TAU]};
  const double began = oat_seconds();
  if (s->failed != OATGP_OK) { /* other ranks may not know of the failure, so nothing is shared with them any more */
    return s->failed;
  }
  oat_mapping_unpack(&s->mapping, x, &s->trial);
  const oatgp_status status = oat_objective_evaluate(s->objective, &s->trial, value, &derivatives);
  s->pace = oat_seconds() - began;
  if (status == OATGP_OK) {
    oat_mapping_gradient(&s->mapping, x, &derivatives, gradient);
  } else if (status != OATGP_NUMERIC) {
    s->failed = status;
  }
  return status;
}

/* Continues from a checkpoint, or starts at the current model. */
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
             : oat_fail(s->ctx, OATGP_FORMAT, "the checkpoint is damaged: its optimiser is in an impossible state");
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

/* Updates what reports and the stopping rules use. */
static void look(oat_search *s) {
  s->derivative = oat_optim_largest_derivative(s->optim);
  s->late = oat_search_late(
      s, s->objective->config.neighbours > 0 ? 2 : 1); /* with neighbours, the end needs one more evaluation */
}

/* ---- neighbours ------------------------------------------------------------------------------------------------ */

/* The share of an input in the squared distances between rows and their neighbours at theta, up to a factor common to
 * all inputs. */
static double share_at(const oat_search *s, const double *theta, size_t input) {
  const oat_covariance now = oat_covariance_at(s->mapping.kernel, s->mapping.d, theta);
  const oat_covariance then = oat_covariance_at(s->mapping.kernel, s->mapping.d, s->near);
  const double ratio = oat_kernel_lengthscale(&then, input) / oat_kernel_lengthscale(&now, input);
  return s->share[input] > 0 ? s->share[input] * ratio * ratio : 0; /* an input that no leaf uses has no lengthscale */
}

/* How much of these distances has moved between inputs since the neighbours were found: 0 to 1. A factor common to all
 * lengthscales changes no neighbour. */
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

/* Finds them at the current parameters or, in a resumed optimisation, where they were found before. */
static oatgp_status find_neighbours(oat_search *s) {
  if (s->objective->config.neighbours == 0) {
    return OATGP_OK;
  }
  if (s->resumed == NULL) {
    memcpy(s->near, s->point.theta, theta_count(s) * sizeof *s->near);
  }
  return oat_objective_find_neighbours(s->objective, &(oat_point){.theta = s->near}, s->share);
}

/* A round begins at a point with its own neighbours. The best of these points is kept, so that the optimisation can
 * return to it. */
static void note_start(oat_search *s, double tolerance) {
  const double value = s->optim->counter[OAT_BEST], before = s->state.own_value;
  if (s->objective->config.neighbours == 0) {
    return;
  }
  if (value > before) {
    oat_search_copy(s, &s->point, s->state.k, &s->own);
    s->state.own_value = value;
  }
  s->state.idle = before == -HUGE_VAL || value > before + tolerance ? 0 : s->state.idle + 1;
}

/* The value of the last point with its own neighbours, which may differ slightly from the optimiser's. -HUGE_VAL: it
 * cannot be evaluated. */
static oatgp_status look_at_end(oat_search *s) {
  if (strayed(s, s->point.theta) > ALIKE) {
    PASS_ON(find_neighbours(s));
    const oatgp_status status = oat_search_evaluate(s);
    s->state.value = status == OATGP_OK ? s->state.value : -HUGE_VAL;
    return status == OATGP_NUMERIC ? OATGP_OK : status;
  }
  return OATGP_OK;
}

/* An optimisation can gain with outdated neighbours. So only values of points with their own neighbours count. */
static oatgp_status end_at_best(oat_search *s) {
  if (s->objective->config.neighbours > 0 && s->state.own_value > -HUGE_VAL) {
    PASS_ON(look_at_end(s));
    if (s->state.value < s->state.own_value) {
      oat_search_copy(s, &s->own, s->state.k, &s->point);
      s->state.value = s->state.own_value;
    }
  }
  return OATGP_OK;
}

/* ---- one optimisation, or several ------------------------------------------------------------------------------ */

/* A resumed optimisation reported its position before it was saved. It ends if its neighbours are too outdated, to
 * continue with new ones. */
static oatgp_stop run(oat_search *s, bool resumed) {
  oatgp_stop stop = OATGP_STOP_NONE;
  look(s);
  bool interrupted = !resumed && s->report(s->self, s, OAT_SEARCH_STEP);
  while (!interrupted && strayed(s, s->trial.theta) < FAR &&
         (stop = s->late ? OATGP_STOP_TIME : oat_optim_stop(s->optim)) == OATGP_STOP_NONE) {
    oat_optim_step(s->optim);
    if (s->failed != OATGP_OK) {
      break;
    }
    oat_mapping_unpack(&s->mapping, s->optim->x, &s->trial);
    look(s);
    interrupted = s->report(s->self, s, OAT_SEARCH_STEP);
  }
  if (s->problem.n == 0 && stop == OATGP_STOP_GRADIENT) {
    stop = OATGP_STOP_NONE; /* there was nothing to optimise */
  }
  return interrupted ? OATGP_STOP_USER : stop;
}

/* Optimises with fixed neighbours. The curvature that the round before has learnt is kept, because new neighbours
 * change the objective only a little. */
static oatgp_status optimise(oat_search *s, const oat_optim_settings *limits) {
  oat_optim_settings left = *limits; /* the rest of max_eval, which is for the whole search, and of max_iter */
  oatgp_status status = OATGP_OK;
  const bool resumed = s->resumed != NULL;
  const double at_end = s->objective->config.neighbours > 0; /* evaluations reserved for the end */
  left.max_eval = limits->max_eval > 0 ? fmax(limits->max_eval - s->state.evaluations - at_end, 1) : 0;
  left.max_iter = limits->max_iter - s->state.spent;
  oat_search_copy(s, &s->point, s->state.k, &s->trial);
  TRY(oat_optim_create(s->ctx, s->method, &s->problem, &left, &s->optim));
  TRY(begin(s));
  if (!resumed) {
    note_start(s, limits->obj_tol);
  }
  oat_optim_inherit(s->optim, s->latest);
  conclude(s, run(s, resumed));
done:
  if (s->failed != OATGP_OK) {
    status = s->failed;
  } else if (status == OATGP_NUMERIC) { /* rejected at its start, so nothing was gained */
    s->state.value = s->state.own_value > -HUGE_VAL ? -HUGE_VAL : s->state.value; /* nor by the round before */
    s->state.rejected++;
    s->state.evaluations++;
    s->state.stop = OATGP_STOP_STALLED;
    status = OATGP_OK;
  }
  oat_optim_free(s->latest);
  s->latest = s->optim;
  s->optim = NULL;
  return status;
}

/* Whether the optimisation continues with new neighbours: its neighbours became outdated on the way, or it converged
 * with outdated ones. It ends if the last rounds gained nothing. */
static bool goes_on(const oat_search *s, const oat_optim_settings *limits) {
  const bool on_its_way = s->state.stop == OATGP_STOP_NONE;
  return !oat_search_halted(s) && s->state.spent < limits->max_iter && s->state.round_of_neighbours < MOST_ROUNDS &&
         s->state.idle <= (on_its_way ? PATIENCE : LAST_PATIENCE) && strayed(s, s->point.theta) > NEAR;
}

oatgp_status oat_search_optimise(oat_search *s, size_t first, const oat_optim_settings *limits) {
  oatgp_status status = OATGP_OK;
  const bool *free_parameters = s->mapping.free;
  const oatgp_stop before_all =
      s->state.stop; /* a resumed search must have the same value, in whatever round it was halted */
  bool more = false;
  use_knots(s);
  s->mapping.k = s->state.k;
  s->mapping.first = s->settings.move ? first : s->state.k;
  s->mapping.free = s->state.held ? s->none_free : free_parameters;
  s->problem = (oat_problem){oat_mapping_count(&s->mapping), s->lower, s->upper, s->sign_weight, evaluate, s};
  if (s->resumed == NULL) {
    s->state.spent = 0;
    s->state.round_of_neighbours = 0;
    s->state.idle = 0;
    s->state.own_value = -HUGE_VAL;
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
  TRY(end_at_best(s));
done:
  if (!s->settings.learns) {
    oat_optim_free(s->latest);
    s->latest = NULL;
  }
  s->mapping.free = free_parameters;
  return status;
}

oatgp_status oat_search_settle(oat_search *s) {
  const oatgp_stop stop = s->state.stop;
  const oatgp_status status = oat_search_optimise(s, s->state.k, &s->limits);
  s->state.stop = oat_search_halted(s) ? s->state.stop : stop;
  return status;
}
