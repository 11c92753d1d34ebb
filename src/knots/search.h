/* A fit in progress: the current model, and the one way to improve it with an optimiser. A strategy (strategy.h)
 * decides what a search does, and a proposal (also there) suggests knots. Everything that must survive an interruption
 * is in `state`. */
#ifndef OAT_SEARCH_H
#define OAT_SEARCH_H

#include "objective/params.h"
#include "optim/optim.h"
#include "util/memory.h"
#include "util/rng.h"

/* Where a search is. Between two phases, and within an optimisation between two steps, it can be saved and resumed. */
typedef enum oat_phase {
  OAT_PHASE_PARAMETERS, /* the parameters alone */
  OAT_PHASE_PROPOSE,    /* about to propose knots */
  OAT_PHASE_GROW,       /* the proposed knots are on trial */
  OAT_PHASE_RELEASE,    /* parameters that were held are optimised */
  OAT_PHASE_COMPARE,    /* other knots, as many, are on trial */
  OAT_PHASE_NEIGHBOURS, /* about to try knots and neighbours */
  OAT_PHASE_SUBSET,     /* about to find the parameters from the exact GP of many rows */
  OAT_PHASE_POLISH,     /* the last optimisation */
  OAT_PHASE_DONE
} oat_phase;

typedef enum oat_search_event {
  OAT_SEARCH_STEP,
  OAT_SEARCH_PROPOSAL,
  OAT_SEARCH_KEPT,
  OAT_SEARCH_DROPPED,
  OAT_SEARCH_REFINE,
  OAT_SEARCH_SUBSET, /* a step of another search, for the parameters of a subset of the rows */
  OAT_SEARCH_HALT    /* halted between two steps: the search can continue from this state */
} oat_search_event;

/* What follows from the settings and the problem. */
typedef struct oat_search_settings {
  size_t max_knots;
  bool move;   /* knots can be moved */
  bool exact;  /* the result may be the exact GP, or knots and neighbours, if knots alone do not come near it */
  bool finish; /* optimise the parameters again after growing */
  bool learns; /* an optimisation begins with what the latest one has learnt of the curvature */
} oat_search_settings;

/* The part of a search that a checkpoint saves, besides points and the optimiser's state. */
typedef struct oat_search_state {
  oat_phase phase, next;      /* next: after OAT_PHASE_RELEASE */
  size_t k, kept;             /* knots now; those before the ones on trial */
  size_t round;               /* counter of a strategy that works in rounds */
  bool held;                  /* the parameters keep their start values for now */
  double value, value_before; /* the objective now, and that of the model to go back to */
  size_t fallback_k;          /* of a model that was set aside */
  double fallback_value;      /* -HUGE_VAL if there is none */
  size_t best_k;              /* the incumbent: the model that an automatic fit would return now */
  double best_value;          /* its objective, -HUGE_VAL if there is none yet */
  size_t best_neighbours;     /* of each row, beside its knots, in a fitc model */
  bool best_exact;            /* it is the exact GP at its parameters, without knots */
  bool other;                 /* the parameters were not found from the given start */
  size_t neighbours;          /* the result is a fitc model with so many, if there are any */
  bool exact;                 /* the result is the exact GP at the point's parameters */
  double evidence;            /* the log evidence that the exact GP of all rows has, -HUGE_VAL if it is not known */
  double left_out;            /* the highest log density of the rows left out that any stage had */
  double spent;               /* iterations of the current optimisation in earlier rounds of neighbours */
  size_t round_of_neighbours; /* how often they were found for it */
  size_t idle;                /* rounds of it since one began better than all before */
  double own_value;        /* its best value at a point with the point's own neighbours, -HUGE_VAL if there is none */
  double tried, predicted; /* the latest proposal: candidates looked at, gain that it promised */
  double iterations, evaluations, rejected;
  oatgp_stop stop;
  oat_rng rng;
} oat_search_state;

typedef struct oat_search oat_search;

struct oat_search {
  oatgp_context *ctx;
  oat_objective *objective;
  oat_mapping mapping; /* k and first are set for each optimisation */
  const oat_optim_method *method;
  const struct oat_proposal *proposal; /* of a strategy that grows (strategy.h) */
  oat_optim_settings limits, inner;    /* of a whole optimisation, and of one after each proposal */
  const oatgp_settings *given;         /* by the user */
  oat_search_settings settings;
  const oat_point *start; /* parameters to restart from */
  const bool *none_free;  /* as many as theta, all false */
  /* Reports an event; returns true to request a stop. */
  bool (*report)(void *self, const oat_search *search, oat_search_event event);
  /* All rows in the order that neighbours need, to be freed by the caller; NULL where they stay in files. */
  oatgp_status (*ordered)(void *self, oat_rows **out);
  void *self;

  oat_scratch memory;
  oat_search_state state;
  oat_point point, backup,
      fallback;        /* the current model, the one to go back to, the one that was left; capacity max_knots */
  oat_point best;      /* the incumbent */
  oat_point own;       /* where own_value was found */
  oat_optim *optim;    /* the optimisation under way, or NULL */
  oat_optim *latest;   /* the one before, or NULL */
  double derivative;   /* the largest derivative after the latest step */
  double pace;         /* seconds of the latest evaluation with its gradient */
  bool late;           /* after the latest step: there is no time for another */
  oatgp_status failed; /* of an evaluation that would fail at every point, for example because a file cannot be read */
  double *lower, *upper, *sign_weight, *x;
  oat_problem problem;
  oat_point gradient; /* where derivatives go */
  oat_point trial;    /* the point under evaluation */
  double *subset;     /* theta of the exact GP of a subset */
  double *near;       /* theta where neighbours were found */
  double *share;      /* of each input in the squared distances between rows and their neighbours there */
  double *resumed;    /* state of the optimiser and its bounds to go on from, or NULL */
  size_t resumed_count;
};

/* Allocates for max_knots; the fields up to `self` are set already. */
oatgp_status oat_search_open(oat_search *search);
void oat_search_close(oat_search *search);

/* Makes `from` with k knots the current model, without evaluating it. */
void oat_search_place(oat_search *search, const oat_point *from, size_t k);
/* Optimises the parameters and the knots from `first` on, starting at the current model, which becomes the best point
 * found. With neighbours, that is the best one with the neighbours of its own parameters. */
oatgp_status oat_search_optimise(oat_search *search, size_t first, const oat_optim_settings *limits);
/* Optimises only the parameters, after growing. The reason to stop remains that of growing. */
oatgp_status oat_search_settle(oat_search *search);
/* The value at the current model, and its factors. */
oatgp_status oat_search_evaluate(oat_search *search);
/* The first saves the current model; the knots from state.kept on are then on trial. The second returns to the saved
 * model. */
void oat_search_mark(oat_search *search);
void oat_search_revert(oat_search *search);
/* Sets the current model aside while another is tried; it is restored if the other is not better. */
void oat_search_put_aside(oat_search *search);
void oat_search_fall_back(oat_search *search);
/* Reports; a request to stop halts the search. */
void oat_search_tell(oat_search *search, oat_search_event event);
/* Whether time, evaluations or the user end the search. */
bool oat_search_halted(const oat_search *search);
/* Whether this many evaluations with gradient and the last steps of the fit would take longer than the deadline
 * allows. */
bool oat_search_late(const oat_search *search, double evaluations);

/* Adds a knot (d coordinates) to the current model, without evaluating it; removes knots from the end. */
void oat_search_add_knot(oat_search *search, const double *position);
void oat_search_truncate(oat_search *search, size_t k);
void oat_search_copy(const oat_search *search, const oat_point *from, size_t k, oat_point *to);

#endif
