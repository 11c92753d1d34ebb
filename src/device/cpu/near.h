/* The nearest of some points, by the distance of their inputs divided by lengthscales.
 *
 * The squared distance is the sum over the inputs, in their order, of the squared differences of the scaled inputs,
 * each step rounded to double; one that is no number counts as infinite. Points are sorted by it, and of equals the one
 * with the smaller number comes first. So a list is a function of the points alone: how it was found, by a tree or by
 * all distances, and by how many threads, changes nothing. */
#ifndef OAT_NEAR_H
#define OAT_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"
#include "util/context.h"

#define OAT_NEAR_NONE UINT32_MAX

typedef struct oat_near oat_near;

/* Which way a search goes: by itself it tries the tree for a few points, and takes it if that promises to be the faster
 * one. */
typedef enum oat_near_way { OAT_NEAR_BY_ITSELF, OAT_NEAR_BY_TREE, OAT_NEAR_BY_ALL } oat_near_way;

/* The points (n x d, n < UINT32_MAX), whose input j is multiplied by inverse[j], 1 / lengthscale; they are copied. The
 * context is for errors and progress ("neighbours"), and lives longer. O(n d log n), and up to 5 n d doubles while a
 * search runs. */
oatgp_status oat_near_open(oatgp_context *ctx, oat_points points, size_t d, const double *inverse, int threads, oat_near **out);
void oat_near_close(oat_near *near); /* may be NULL */
/* Searches from now on ask whether they may go on. */
void oat_near_ask(oat_near *near, bool (*ask)(void *asker), void *asker);
/* For tests and measurements. */
void oat_near_force(oat_near *near, oat_near_way way);
/* Of each point i the m nearest of the points before it, nearest first: list[i * m + j], OAT_NEAR_NONE where there are
 * not so many. OATGP_STOPPED (no sentence is stored): given up. */
oatgp_status oat_near_before(const oat_near *near, size_t m, uint32_t *list);
/* Of each of other points x (not scaled yet) the m nearest of all points, in the same form. `without` is NULL, or has
 * for each of x the number of a point that is not taken, or OAT_NEAR_NONE. OATGP_STOPPED as above. */
oatgp_status oat_near_of(const oat_near *near, oat_points x, const uint32_t *without, size_t m, uint32_t *list);
/* Points, row after row, in an order in which neighbours are often close to each other: n numbers. */
oatgp_status oat_near_order(oatgp_context *ctx, const double *rows, size_t n, size_t d, uint32_t *order);

#endif
