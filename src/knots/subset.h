/* Parameters from the exact GP of a random subset of the rows, or of all: a start that few knots cannot spoil, since it has none. */
#ifndef OAT_KNOTS_SUBSET_H
#define OAT_KNOTS_SUBSET_H

#include "knots/search.h"

/* Parameters of the covariance that say something: sigma, and the lengthscales of inputs in use. */
double oat_subset_used(const oat_search *search, const double *theta);
#define OAT_SUBSET_ITERATIONS 100 /* at most */

/* What was found at the parameters that the search's point then has. */
typedef struct oat_optimum {
  double evidence; /* log evidence of the rows in use; -HUGE_VAL if it could not be evaluated */
  double left_out; /* sum of the log densities of these rows, each given the others */
  double constant; /* log evidence of a constant with noise, for these rows */
  double highest;  /* the highest log evidence of all optima: higher than `evidence` where the rows left out chose another */
  bool other;      /* it was not found from the given start */
} oat_optimum;

/* Both replace the parameters of the search's point by those of the exact GP of some rows (all, if there are no more); knots stay.
 * O(rows^3) an evaluation. The race tries several starts on few rows. */
size_t oat_subset_race_rows(const oat_search *search);
oatgp_status oat_subset_race(oat_search *search, oat_optimum *found);
/* Optimises on `rows` rows from the point's parameters and, if found->other, from the search's start. *found: of the race on the way in
 * (its highest evidence only if that is of the same rows, else -HUGE_VAL), of these rows on the way out. */
oatgp_status oat_subset_settle(oat_search *search, size_t rows, oat_optimum *found);

#endif
