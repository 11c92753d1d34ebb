/* Greedy variance (Burt, Rasmussen and van der Wilk 2020): the knots are the rows that a pivoted Cholesky factorisation of the kernel
 * takes first, each the one that those before it explain least. */
#ifndef OAT_KNOTS_GREEDY_H
#define OAT_KNOTS_GREEDY_H

#include "knots/search.h"

/* Makes the greedy choice of k rows, of at most OAT_GREEDY_ROWS random ones, the knots of the current model, at its parameters and without
 * evaluating it. It ends with fewer when they explain all other rows to a small part of the noise (or to rounding), and when the time is
 * over, but never without any. O(rows k^2) time, rows k doubles. */
#define OAT_GREEDY_ROWS ((size_t)20000) /* enough: with more, the choice hardly changes */
oatgp_status oat_knots_greedy(oat_search *search, size_t k);

#endif
