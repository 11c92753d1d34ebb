/* Random numbers and k-means as the R scripts of the paper draw them, so that its splits, starting knots and simulated
 * data are made here from their seeds: R's Mersenne Twister with inversion and rejection sampling (R 3.6 and later),
 * and the algorithm of Hartigan and Wong (1979), which kmeans() uses. */
#ifndef EXPERIMENTS_DRAW_H
#define EXPERIMENTS_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "oatgp.h"

enum { DRAW_WORDS = 624 };

typedef struct draw {
  uint32_t word[DRAW_WORDS];
  size_t next;
} draw;

void draw_seed(draw *d, uint32_t seed); /* set.seed(seed) */
double draw_uniform(draw *d);           /* runif(1) */
double draw_normal(draw *d);            /* rnorm(1) */
/* sample.int(bound, count), from 0; `room` has `bound` elements and begins with the result. */
void draw_sample(draw *d, size_t bound, size_t count, size_t *room);

/* n points of p coordinates, row after row. */
typedef struct points {
  size_t n, p;
  const double *x;
} points;

/* kmeans(x, k)$centers, k x p. */
oatgp_status draw_kmeans(oatgp_context *ctx, draw *d, points x, size_t k, double *centres);

#endif
