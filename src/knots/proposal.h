/* Proposals: where the next knots could be. One file each, ending with its table; strategy.c lists them. */
#ifndef OAT_PROPOSAL_H
#define OAT_PROPOSAL_H

#include "knots/search.h"

/* Knots that are proposed: count of them, d coordinates each, one knot after the other. */
typedef struct oat_batch {
  size_t count;
  double *position; /* room for `wanted` knots */
  double tried;     /* candidates looked at */
  double predicted; /* gain at fixed parameters, all of them together */
} oat_batch;

typedef struct oat_proposal {
  bool surrogate; /* it models the gain, beginning with random rows */
  bool exact;     /* it takes the exact gain where that has a formula, and can add several knots at once */
  /* Fills in up to `wanted` knots (one that is not exact: at most one) for the current model, which has been
   * evaluated; count 0 if there is no candidate. */
  oatgp_status (*propose)(oat_search *search, size_t wanted, oat_batch *batch);
} oat_proposal;

extern const oat_proposal oat_proposal_bo, oat_proposal_random, oat_proposal_gain;

/* Whether the exact gain has a formula: alpha = 0. */
bool oat_proposal_exact(const oat_search *search);
/* For the proposals: the gain of a knot at each of the m training rows at the current parameters, -HUGE_VAL for one that sits on a
 * knot or cannot be evaluated. By the exact formula in O(N K m), or, for models with alpha > 0, by evaluating each. */
oatgp_status oat_proposal_score(oat_search *search, size_t m, const size_t *row, double *gain);
/* The coordinates of a training row. */
void oat_proposal_position(const oat_search *search, size_t row, double *position);

#endif
