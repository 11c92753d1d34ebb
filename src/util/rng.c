/* xoshiro256** of Blackman and Vigna (2018), seeded by splitmix64. */
#include "util/rng.h"

#include <math.h>

static uint64_t rotate_left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void oat_rng_seed(oat_rng *rng, uint64_t seed) {
  for (int i = 0; i < 4; i++) {
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    rng->state[i] = z ^ (z >> 31);
  }
}

uint64_t oat_rng_next(oat_rng *rng) {
  uint64_t *s = rng->state;
  const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
  const uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

double oat_rng_uniform(oat_rng *rng) { return (double)(oat_rng_next(rng) >> 11) * 0x1p-53; }

size_t oat_rng_below(oat_rng *rng, size_t bound) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t x;
  do {
    x = oat_rng_next(rng);
  } while (x >= limit);
  return (size_t)(x % bound);
}

/* Box and Muller; the second value is not kept, so that the state is the generator's alone. */
double oat_rng_normal(oat_rng *rng) {
  const double radius = sqrt(-2 * log(1 - oat_rng_uniform(rng)));
  return radius * cos(6.283185307179586476925 * oat_rng_uniform(rng));
}

/* Selection sampling (Knuth's algorithm S) gives a sorted sample in O(bound); then a shuffle. */
void oat_rng_sample(oat_rng *rng, size_t bound, size_t count, size_t *chosen) {
  size_t taken = 0;
  for (size_t i = 0; taken < count; i++) {
    if (oat_rng_below(rng, bound - i) < count - taken) {
      chosen[taken++] = i;
    }
  }
  for (size_t i = count; i > 1; i--) {
    const size_t j = oat_rng_below(rng, i);
    const size_t swap = chosen[i - 1];
    chosen[i - 1] = chosen[j];
    chosen[j] = swap;
  }
}
