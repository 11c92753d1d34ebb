/* Greedy variance (Burt, Rasmussen and van der Wilk 2020): the knots are the rows that a pivoted Cholesky factorisation of the kernel
 * takes first, each the one that those before it explain least. */
#ifndef OAT_KNOTS_GREEDY_H
#define OAT_KNOTS_GREEDY_H

#include "knots/search.h"

/* Makes the greedy choice of k rows, of at most `rows` random ones, the knots of the current model, at its parameters and without
 * evaluating it. It ends with fewer when they leave every row less than `least` times sigma^2. O(rows k^2). */
#define OAT_GREEDY_ROWS 20000 /* enough: with more, the choice hardly changes */
typedef struct oat_greedy {
  size_t k, rows;
  double least;
} oat_greedy;

oatgp_status oat_knots_greedy(oat_search *search, const oat_greedy *greedy);

#endif
