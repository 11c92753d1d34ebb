/* A seeded random generator (xoshiro256**), always passed explicitly; its state is four numbers that can be saved. */
#ifndef OAT_RNG_H
#define OAT_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct oat_rng {
  uint64_t state[4];
} oat_rng;

void oat_rng_seed(oat_rng *rng, uint64_t seed);
uint64_t oat_rng_next(oat_rng *rng);
double oat_rng_uniform(oat_rng *rng);             /* in [0, 1) */
size_t oat_rng_below(oat_rng *rng, size_t bound); /* in 0 .. bound-1, bound > 0, without bias */
double oat_rng_normal(oat_rng *rng);              /* standard normal */
/* `count` distinct numbers of 0 .. bound-1 in random order; count <= bound. O(bound) time, no memory beyond
 * `chosen`. */

void oat_rng_sample(oat_rng *rng, size_t bound, size_t count, size_t *chosen);

#endif
