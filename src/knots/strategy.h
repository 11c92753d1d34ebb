/* Strategies say how a fit finds its knots; each is one row in strategy.c. Proposals suggest the next knots; each is
 * one file that ends with its table. */
#ifndef OAT_STRATEGY_H
#define OAT_STRATEGY_H

#include "knots/search.h"

/* ---- proposals ------------------------------------------------------------------------------------------------- */

/* Knots that are proposed: count of them, d coordinates each, one knot after the other. */
typedef struct oat_batch {
  size_t wanted, count; /* the most that may be proposed; the number proposed */
  double *position;     /* room for `wanted` knots */
  double tried;         /* candidates looked at */
  double predicted;     /* gain at fixed parameters, all of them together */
} oat_batch;

typedef struct oat_proposal {
  bool surrogate; /* it models the gain, starting from random rows */
  bool exact;     /* it uses the exact gain if that has a formula, and can add several knots at once */
  /* Fills in up to `wanted` knots (one that is not exact: at most one) for the current model, which has been
   * evaluated; count 0 if there is no candidate. */
  oatgp_status (*propose)(oat_search *search, oat_batch *batch);
} oat_proposal;

extern const oat_proposal oat_proposal_bo, oat_proposal_random, oat_proposal_gain;

/* Whether the exact gain has a formula: alpha = 0. */
bool oat_proposal_exact(const oat_search *search);
/* For the proposals: the gain of a knot at each of the m training rows at the current parameters, -HUGE_VAL for one
 * that sits on a knot or cannot be evaluated. By the exact formula in O(N K m), or, for models with alpha > 0, by
 * evaluating each. */
oatgp_status oat_proposal_score(oat_search *search, size_t m, const size_t *row, double *gain);
/* The coordinates of a training row. */
void oat_proposal_position(const oat_search *search, size_t row, double *position);

/* ---- strategies ------------------------------------------------------------------------------------------------ */

typedef struct oat_strategy {
  const char *name;
  bool automatic;               /* it chooses where the knots begin and how many there are */
  bool moves;                   /* it moves knots by their gradient if the kernel has one, also without refine */
  bool needs_moving;            /* it always moves all knots at once */
  bool compares;                /* it compares one knot with another by tol_knot */
  bool grows;                   /* from the start up to max_knots */
  size_t most;                  /* knots of one that grows, unless max_knots is given */
  const oat_proposal *proposal; /* of one that grows */
  unsigned phases;              /* in which it can be saved: the sum of 1u << phase */
  size_t rounds;                /* the largest state.round that it is saved with */
  /* Runs the search from its phase to the end. */
  oatgp_status (*run)(oat_search *search);
} oat_strategy;

enum { OAT_COMPARE_ROUNDS = 6 }; /* auto: in OAT_PHASE_COMPARE state.round is below this */

const oat_strategy *oat_strategy_find(const char *name); /* NULL if there is none */
const oat_strategy *oat_strategy_at(size_t index);       /* NULL past the end */

/* One knot (or batch) at a time: the algorithm of the paper (oat.c). */
oatgp_status oat_run_growing(oat_search *search);
/* Greedy variance: the rows that the others explain least, chosen again when the parameters have moved (variance.c). */
oatgp_status oat_run_variance(oat_search *search);
/* Everything chosen from one tolerance (auto.c). */
oatgp_status oat_run_auto(oat_search *search);
/* The last phase of every strategy: all knots and parameters together if asked for, else the parameters alone after
 * growing. */
oatgp_status oat_run_polish(oat_search *search);

/* ---- greedy variance ------------------------------------------------------------------------------------------- */

/* Greedy variance (Burt, Rasmussen and van der Wilk 2020): the knots are the rows that a pivoted Cholesky factorisation
 * of the kernel takes first, each the row that the ones before it explain least. Makes the greedy choice of k rows,
 * among at most OAT_GREEDY_ROWS random ones, the knots of the current model, at its parameters and without evaluating
 * it. It ends with fewer if they explain all other rows to a small part of the noise (or to rounding), or if the time
 * is over, but always with at least one. O(rows k^2) time, rows k doubles. */
#define OAT_GREEDY_ROWS ((size_t)20000) /* enough: with more, the choice hardly changes */
oatgp_status oat_knots_greedy(oat_search *search, size_t k);

/* ---- parameters from the exact GP of a random subset of the rows, or of all: a start that few knots cannot spoil
 * -------------- */

/* The number of parameters of the covariance that matter: sigma, and the lengthscales of inputs in use. */
double oat_subset_used(const oat_search *search, const double *theta);
/* Whether there are few rows per such parameter, so that optima may be due to chance. */
bool oat_subset_few_rows(const oat_search *search, const double *theta, double rows);
#define OAT_SUBSET_ITERATIONS 100 /* at most */
/* Knots that stand for an exact GP of rows whose answers are not Gaussian. */
enum { OAT_ANSWER_KNOTS = 100 };

/* The optimum that was found. The search's point has its parameters. */
typedef struct oat_optimum {
  double
      evidence; /* objective of the rows in use: log evidence and log prior; -HUGE_VAL if it could not be evaluated */
  double prior; /* the log prior in it */
  double left_out; /* sum of the log densities of these rows, each given the others */
  double constant; /* log evidence of a constant with noise, for these rows */
  double highest;  /* the highest objective of all optima; higher than `evidence` if leave-one-out chose a different
                      optimum */
  bool other;      /* the optimum was not found from the given start */
} oat_optimum;

/* Both replace the parameters of the search's point by those of the exact GP of some rows (all, if there are no more);
 * knots stay. O(rows^3) an evaluation. The race tries several starts on few rows. */
size_t oat_subset_race_rows(const oat_search *search);
oatgp_status oat_subset_race(oat_search *search, oat_optimum *found);
/* Optimises on `rows` rows from the point's parameters and, if found->other, from the search's start. *found: of the
 * race on the way in (its highest evidence only if that is of the same rows, else -HUGE_VAL), of these rows on the way
 * out. */
oatgp_status oat_subset_settle(oat_search *search, size_t rows, oat_optimum *found);

#endif
