/* Starting knots: k-means or random rows. Everything is in the scaled units of the fit; distances are in units of the
 * inputs' spread, so that they mean the same with and without scaling. */
#ifndef OAT_KNOTS_INIT_H
#define OAT_KNOTS_INIT_H

#include "device/device.h"
#include "util/rng.h"

typedef struct oat_knot_start {
  const oat_rows *rows;
  size_t k;             /* knots wanted */
  const double *spread; /* d: of the inputs */
  const bool *category; /* d: whether it is a category, for which a knot has the code of a row; NULL: none is */
  oat_where where;
} oat_knot_start;

/* k-means: k-means++ seeding, then Lloyd's iterations until no row changes its knot. More than OAT_KMEANS_ROWS rows are
 * represented by a random subset. z is k x d, column-major with leading dimension k; with fewer distinct rows than k,
 * only *found knots are made. O(rows k d) an iteration. */
#define OAT_KMEANS_ROWS 50000
oatgp_status oat_knots_kmeans(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, double *z, size_t *found);
/* k different rows at random. */
oatgp_status oat_knots_random(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, double *z, size_t *found);

/* An order in which each knot is far from those before it: order[i] is the knot that comes i-th, beginning with the one
 * nearest to the middle. In that order the Cholesky factor of Kuu is well conditioned; in a sorted order its early
 * pivots are small, and knot gradients lose digits. z is k x d, column-major. O(k^2 d). */
oatgp_status oat_knots_spread(oatgp_context *ctx, const double *z, size_t k, size_t d, const double *spread,
                              size_t *order);

#endif
