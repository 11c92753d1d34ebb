/* The nearest of some points, by the distance of their inputs divided by lengthscales.
 *
 * The squared distance is the sum over the inputs, in their order, of the squared differences of the scaled inputs,
 * each step rounded to double; a NaN counts as infinite. Points are sorted by it, and of equal distances the point with
 * the smaller number comes first. So a list depends only on the points, and not on the method (a tree or all distances)
 * or the number of threads. */
#ifndef OAT_NEAR_H
#define OAT_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"
#include "util/context.h"

#define OAT_NEAR_NONE UINT32_MAX

typedef struct oat_near oat_near;

/* The method of a search. By default, it tries the tree for a few points, and uses it if it seems faster. */
typedef enum oat_near_way { OAT_NEAR_BY_ITSELF, OAT_NEAR_BY_TREE, OAT_NEAR_BY_ALL } oat_near_way;

/* The points (n x d, n < UINT32_MAX), whose input j is multiplied by inverse[j], 1 / lengthscale; they are copied. The
 * context is for errors and progress ("neighbours"), and lives longer. O(n d log n), and up to 5 n d doubles while a
 * search runs. */
oatgp_status oat_near_open(oatgp_context *ctx, oat_points points, size_t d, const double *inverse, int threads,
                           oat_near **out);
/* The same with the lengthscales of a kernel. */
oatgp_status oat_near_open_for(oatgp_context *ctx, oat_points points, const oat_covariance *cov, int threads,
                               oat_near **out);
void oat_near_close(oat_near *near); /* NULL is allowed */
/* For tests and measurements. */
void oat_near_force(oat_near *near, oat_near_way way);
/* For each point i, the m nearest of the points before it, nearest first: list[i * m + j], OAT_NEAR_NONE if there are
 * fewer. */
oatgp_status oat_near_before(const oat_near *near, size_t m, uint32_t *list);
/* For each of other points x (not scaled yet), the m nearest of all points, in the same form. `without` is NULL, or has
 * for each x the number of a point to exclude, or OAT_NEAR_NONE. */
oatgp_status oat_near_of(const oat_near *near, oat_points x, const uint32_t *without, size_t m, uint32_t *list);
/* Points, row after row, in an order in which neighbours are often close to each other: n numbers. */
oatgp_status oat_near_order(oatgp_context *ctx, const double *rows, size_t n, size_t d, uint32_t *order);

/* Neighbours of points among those before them: list[i * most + j], as many as there are earlier points, at most
 * `most`. The points may be stored in a different order from the one that defines the earlier points: rank[i] is the
 * position there; NULL: the same order. */
typedef struct oat_near_lists {
  size_t n, most;
  const uint32_t *list, *rank;
} oat_near_lists;

/* Where input j of point i is: x[i * point + j * input]. */
typedef struct oat_near_inputs {
  const double *x;
  size_t point, input;
} oat_near_inputs;

/* For each point, the places of the list where it is a neighbour, in the order of the points that have it:
 * entry[start[i]] to entry[start[i + 1] - 1]. start has n + 1 numbers, entry n x most. */
void oat_near_turn(const oat_near_lists *lists, size_t *start, size_t *entry);
/* The share of each input in the squared distances between points and their neighbours, the mean over some points;
 * `room` has d doubles, as `share` has. */
void oat_near_shares(const oat_near_lists *lists, const oat_covariance *cov, const oat_near_inputs *inputs,
                     double *room, double *share);

#endif
