/* Numbers to text: the fewest of 15, 16 and 17 digits that read back to the value, ten times as fast as printf.
 *
 * With k such that N = value 10^k has 17 digits before the point, the 64 bits of the value times 128 bits of 5^k give N
 * and 70 bits of its fraction. If these do not determine the digits, or the power is not in the table, printf is
 * used. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "text/powers.h"

enum { DIGITS = 17, MOST_FIXED = 17, LEAST_FIXED = -4, UNCERTAIN = 4 /* units of the last bit */ };

#define TOO_CLOSE 1e-6 /* to half a unit of the last bit, in units of the 17th digit */
#define LEAST_SCALED UINT64_C(10000000000000000)
#define MOST_SCALED UINT64_C(100000000000000000)

/* 17 digits d.ddd times 10^exponent. */
typedef struct scaled {
  uint64_t digits;
  int exponent;
} scaled;

/* The whole part of mantissa 2^exponent 10^power, the mantissa's top bit set, and its fraction in units of 2^-64. */
static oat_wide scale(uint64_t mantissa, int exponent, int power) {
  const uint64_t *five = oat_powers_of_five[power - OAT_LOWEST_POWER];
  const oat_wide upper = oat_wide_product(mantissa, five[0]), lower = oat_wide_product(mantissa, five[1]);
  const uint64_t low = upper.low + lower.high, high = upper.high + (low < lower.high);
  const int shift = 63 - 64 - exponent - power - oat_power_exponent(power); /* bits of `high` behind the point */
  return (oat_wide){high >> shift, high << (64 - shift) | low >> shift};
}

/* Leaves digits out if the result is still within half a unit of the value's last bit. False if that, or the direction
 * of rounding, is too close to tell. Below a power of two, the unit is another. */
static bool shorten(oat_wide number, uint64_t mantissa, uint64_t *digits) {
  const double half = (double)number.high / (double)(mantissa >> 10);
  bool found = false, clear = mantissa != UINT64_C(1) << 63;
  for (uint64_t unit = 100; unit > 1 && clear && !found; unit /= 10) {
    const uint64_t rounded = (number.high + unit / 2) / unit * unit;
    const double apart = fabs((double)(int64_t)(rounded - number.high) - ldexp((double)number.low, -64));
    clear = fabs(apart - half) > TOO_CLOSE && apart < 0.5 * (double)unit - TOO_CLOSE;
    found = apart < half;
    *digits = found ? rounded : *digits;
  }
  return clear;
}

/* False where printf is needed. */
static bool scale_value(double value, scaled *out) {
  int exponent = 0;
  const uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), 64);
  int power = DIGITS - 1 - (int)floor((exponent - 1) * 0.30102999566398120); /* log10(2); it may be one too large */
  oat_wide number = {0, 0};
  for (int tries = 0; tries < 2; tries++) {
    if (power < OAT_LOWEST_POWER || power > OAT_HIGHEST_POWER) {
      return false;
    }
    number = scale(mantissa, exponent - 64, power);
    if (number.high < MOST_SCALED) {
      break;
    }
    power--;
  }
  const uint64_t half = UINT64_C(1) << 63;
  if (number.low - (half - UNCERTAIN) <= 2 * UNCERTAIN) {
    return false;
  }
  out->digits = number.high + (number.low > half);
  out->exponent = DIGITS - 1 - power;
  if (!shorten(number, mantissa, &out->digits)) {
    return false;
  }
  if (out->digits == MOST_SCALED) {
    out->digits = LEAST_SCALED;
    out->exponent++;
  }
  return true;
}

/* The same by printf. */
static void print_value(double value, scaled *out) {
  char text[OAT_LONGEST_NUMBER + 1], *end = text;
  for (int digits = DIGITS - 2; digits <= DIGITS; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    if (strtod(text, NULL) == value) {
      break;
    }
  }
  out->digits = 0;
  for (size_t i = 0; i < DIGITS; i++) {
    end += *end == '.';
    out->digits = 10 * out->digits + (*end == 'e' ? 0 : (uint64_t)(*end++ - '0'));
  }
  out->exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* The digits without the zeros at their end; returns how many are left. */
static size_t write_digits(uint64_t number, char *digits) {
  size_t count = DIGITS;
  for (size_t i = DIGITS; i-- > 0; number /= 10) {
    digits[i] = (char)('0' + number % 10);
  }
  while (count > 1 && digits[count - 1] == '0') {
    count--;
  }
  return count;
}

/* 0.00123, 123000 or 12.3 */
static char *write_fixed(const char *digits, size_t count, int exponent, char *out) {
  const size_t before = exponent >= 0 ? (size_t)exponent + 1 : 0; /* digits before the point */
  if (before == 0) {
    memcpy(out, "0.0000", 6);
    out += 1 - exponent;
  }
  for (size_t i = 0; i < count || i < before; i++) {
    if (i == before && before > 0) {
      *out++ = '.';
    }
    *out++ = i < count ? digits[i] : '0';
  }
  return out;
}

/* 1.23e-05 */
static char *write_scientific(const char *digits, size_t count, int exponent, char *out) {
  const int size = exponent < 0 ? -exponent : exponent;
  out = write_fixed(digits, count, 0, out);
  *out++ = 'e';
  *out++ = exponent < 0 ? '-' : '+';
  if (size >= 100) {
    *out++ = (char)('0' + size / 100);
  }
  *out++ = (char)('0' + size / 10 % 10);
  *out++ = (char)('0' + size % 10);
  return out;
}

size_t oat_write_number(double value, char *out) {
  scaled number;
  char digits[DIGITS], *at = out;
  if (value == 0 || !isfinite(value)) {
    char text[OAT_LONGEST_NUMBER + 1];
    const int length = snprintf(text, sizeof text, "%g", value);
    memcpy(out, text, (size_t)length);
    return (size_t)length;
  }
  if (!scale_value(fabs(value), &number)) {
    print_value(fabs(value), &number);
  }
  if (value < 0) {
    *at++ = '-';
  }
  const size_t count = write_digits(number.digits, digits);
  const bool fixed = number.exponent >= LEAST_FIXED && number.exponent < MOST_FIXED;
  at = fixed ? write_fixed(digits, count, number.exponent, at) : write_scientific(digits, count, number.exponent, at);
  return (size_t)(at - out);
}
