/* Optimisers behind one step interface. They maximise. An evaluation may be rejected (if a matrix cannot be
 * factorised); it then counts as a step that was too long, never as the end. Everything that must survive between two
 * steps is in one array of doubles. */
#ifndef OAT_OPTIM_H
#define OAT_OPTIM_H

#include <stdbool.h>

#include "util/context.h"

/* What is maximised, within bounds (which may be infinite). */
typedef struct oat_problem {
  size_t n;
  const double *lower, *upper; /* n each */
  const double
      *sign_weight; /* n: weight of a change of sign in ADADELTA, 1/2 for parameters and 1 for knots in the paper */
  /* Value and gradient. OATGP_NUMERIC, or a number that is not finite, rejects the point. */
  oatgp_status (*evaluate)(void *self, const double *x, double *value, double *gradient);
  void *self;
} oat_problem;

typedef struct oat_optim_settings {
  size_t history, line_search; /* L-BFGS */
  double least_gain;           /* L-BFGS: the smallest gain worth a shorter step, for a rough F; 0: any gain */
  double decay, epsilon, eta;  /* ADADELTA */
  double max_iter, max_eval;   /* max_eval 0: no limit */
  double obj_tol, grad_tol;
  size_t patience;
  double deadline; /* on the clock of oat_seconds, 0: none */
} oat_optim_settings;

typedef struct oat_optim oat_optim;

typedef struct oat_optim_method {
  const char *name;
  bool curvature; /* it has a history and a line search (else running averages) */
  size_t (*state_size)(size_t n, const oat_optim_settings *settings);   /* doubles of its own between steps */
  size_t (*scratch_size)(size_t n, const oat_optim_settings *settings); /* doubles within a step */
  /* One iteration; false when no step raises the objective (or, within ADADELTA, none can be taken). */
  bool (*step)(oat_optim *optim);
  /* Whether its own state, read from a file, is possible. */
  bool (*sound)(const oat_optim *optim);
} oat_optim_method;

const oat_optim_method *oat_optim_find(const char *name); /* NULL if there is none */

/* The numbers at the beginning of the state. */
enum { OAT_VALUE, OAT_BEST, OAT_ITERATIONS, OAT_EVALUATIONS, OAT_REJECTED, OAT_STALLED, OAT_COUNTERS };

struct oat_optim {
  const oat_optim_method *method;
  const oat_problem *problem;
  const oat_optim_settings *settings;
  size_t state_count;
  double *state;               /* copy it out and in to save and resume; the rest points into it */
  double *counter;             /* OAT_COUNTERS */
  double *x, *gradient, *best; /* n each: the iterate, its gradient, the best point so far */
  double *recent;              /* patience + 1 latest objective values, newest at iteration % (patience + 1) */
  double *own;                 /* the method's */
  double *scratch;             /* behind the state */
};

oatgp_status oat_optim_create(oatgp_context *ctx, const oat_optim_method *method, const oat_problem *problem,
                              const oat_optim_settings *settings, oat_optim **out);
/* Evaluates at x (moved into the bounds) and makes it the start. OATGP_NUMERIC: the start itself is rejected. */
oatgp_status oat_optim_start(oat_optim *optim, const double *x);
/* Starts with the history of `earlier`, an optimisation of a similar function with the same settings; NULL: none. */
void oat_optim_inherit(oat_optim *optim, const oat_optim *earlier);
/* Whether a state that was read from a file is possible for an optimisation within these bounds. */
bool oat_optim_sound(const oat_optim *optim);
/* One iteration. */
void oat_optim_step(oat_optim *optim);
void oat_optim_free(oat_optim *optim);

/* For the methods: evaluates, counts, remembers the best; false if rejected, or if the evaluations are used up. */
bool oat_optim_evaluate(oat_optim *optim, const double *x, double *value, double *gradient);
/* x moved into the bounds. */
double oat_optim_clamp(const oat_problem *problem, size_t i, double x);
/* Whether a bound keeps coordinate i of the current point from following its gradient. */
bool oat_optim_held(const oat_optim *optim, size_t i);

/* The reason to stop now, or OATGP_STOP_NONE: every rule except the user's request is here (stop.c). */
oatgp_stop oat_optim_stop(const oat_optim *optim);
double oat_optim_largest_derivative(const oat_optim *optim); /* of those not held by a bound */
bool oat_optim_out_of_budget(const oat_optim *optim);        /* of evaluations; the time is looked at between steps */

#endif
