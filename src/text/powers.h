/* Powers of five to 128 bits, for reading and writing numbers. */
#ifndef OAT_POWERS_H
#define OAT_POWERS_H

#include <stdint.h>

enum { OAT_LOWEST_POWER = -96, OAT_HIGHEST_POWER = 64 };

/* 5^q, q = OAT_LOWEST_POWER + index, times the power of two that brings it to 2^127 .. 2^128: upper and lower 64 bits.
 * For q >= 0 it is cut off (exact up to q = 55); for q < 0 it is floor(2^b / 5^-q) + 1, where b = bits(5^-q) + 127 for
 * q >= -27 and b = 2 bits(5^-q) + 128 below, then cut off; bits(m) is the least z with 2^z >= m. */
extern const uint64_t oat_powers_of_five[OAT_HIGHEST_POWER - OAT_LOWEST_POWER + 1][2];

/* floor(log2(5^q)), so that 5^q is the number in the table times 2^(this - 127). 217706 / 2^16 is just above
 * log2(10). */
static inline int oat_power_exponent(int q) { return (217706 * q >> 16) - q; }

typedef struct oat_wide {
  uint64_t high, low;
} oat_wide;

/* All 128 bits of a product. */
static inline oat_wide oat_wide_product(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xFFFFFFFF, a1 = a >> 32, b0 = b & 0xFFFFFFFF, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xFFFFFFFF);
  return (oat_wide){a1 * b1 + (middle >> 32) + (other >> 32), a * b};
}

#endif
