/* Parameters from the exact GP of a random subset of the rows: a start that few knots cannot spoil, since it has none. */
#ifndef OAT_KNOTS_SUBSET_H
#define OAT_KNOTS_SUBSET_H

#include "knots/search.h"

/* Lengthscale beyond which an input says next to nothing, in its spreads; a start has none that is longer. */
#define OAT_LONGEST 5.0
/* Parameters of the covariance that say something: sigma, and the lengthscales of inputs in use. */
double oat_subset_used(const oat_search *search, const double *theta);
#define OAT_SUBSET_ITERATIONS 100 /* at most */

/* Replaces the parameters of the search's point by those of the exact GP of `rows` random rows (all, if there are no more; fewer, if memory
 * is short); knots stay. Races several starts on fewer rows first. *evidence: the log evidence of these rows. O(rows^3) an evaluation. */
oatgp_status oat_subset_parameters(oat_search *search, size_t rows, double *evidence);
/* The most rows that the memory of the fit allows. */
size_t oat_subset_most(const oat_search *search);

#endif
