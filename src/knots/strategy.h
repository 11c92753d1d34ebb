/* Strategies: how a fit finds its knots. One row each in strategy.c. */
#ifndef OAT_STRATEGY_H
#define OAT_STRATEGY_H

#include "knots/proposal.h"

typedef struct oat_strategy {
  const char *name;
  bool automatic;               /* it chooses where the knots begin and how many there are */
  bool moves;                   /* it moves knots by their gradient where the kernel has one, also without refine */
  bool needs_moving;            /* it is nothing without moving all knots at once */
  bool compares;                /* it compares one knot with another by tol_knot */
  bool grows;                   /* from the start up to max_knots */
  size_t most;                  /* knots of one that grows, unless max_knots is given */
  const oat_proposal *proposal; /* of one that grows */
  unsigned phases;              /* in which it can be saved: the sum of 1u << phase */
  size_t rounds;                /* the largest state.round that it is saved with */
  /* Runs the search from its phase to the end. */
  oatgp_status (*run)(const struct oat_strategy *strategy, oat_search *search);
} oat_strategy;

enum { OAT_COMPARE_ROUNDS = 6 }; /* auto: in OAT_PHASE_COMPARE state.round is below this */

const oat_strategy *oat_strategy_find(const char *name); /* NULL if there is none */
const oat_strategy *oat_strategy_at(size_t index);       /* NULL past the end */

/* One knot (or batch) at a time: the algorithm of the paper (oat.c). */
oatgp_status oat_run_growing(const oat_strategy *strategy, oat_search *search);
/* Greedy variance: the rows that the others explain least, chosen again when the parameters have moved (variance.c). */
oatgp_status oat_run_variance(const oat_strategy *strategy, oat_search *search);
/* Everything chosen from one tolerance (auto.c). */
oatgp_status oat_run_auto(const oat_strategy *strategy, oat_search *search);
/* The last phase of every strategy: all knots and parameters together if asked for, else the parameters alone after growing. */
oatgp_status oat_run_polish(oat_search *search);

#endif
