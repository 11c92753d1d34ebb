/* Text to numbers: two exact fast paths for what files mostly contain, and strtod for the rest.
 *
 * The first (Clinger 1990): a mantissa up to 2^53 and a power of ten up to 10^22 are both exact doubles, so one
 * multiplication or division rounds once and therefore correctly. The second (Lemire 2021, "Number parsing at a
 * gigabyte per second", algorithm 1) multiplies the mantissa, up to 19 digits, by 128 bits of the power of five and
 * checks whether the unknown bits could matter. */
#include "text/number.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/powers.h"

enum {
  MOST_POWER = 22,
  MOST_DIGITS = 19,                         /* that a 64-bit mantissa holds */
  MOST_EXPONENT = 100000,                   /* larger ones are left to strtod */
  SHORT_WAY_IS_EXACT = FLT_EVAL_METHOD == 0 /* no wider intermediate results, which would round twice */
};

#define MOST_MANTISSA (UINT64_C(1) << 53)

typedef struct decimal {
  uint64_t mantissa;
  int64_t exponent;
  bool negative, fits; /* fits: no digit was lost */
} decimal;

/* ---- scanning -------------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Eight letters as one number, the first lowest. */
static uint64_t load_eight(const char *at) {
  const unsigned char *byte = (const unsigned char *)at;
  return (uint64_t)byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24 |
         (uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40 | (uint64_t)byte[6] << 48 | (uint64_t)byte[7] << 56;
}

/* Sets a bit in every byte that is not a digit, up to the first of them; bits above that one are meaningless. '0' ..
 * '9' are 0x30 .. 0x39: subtracting the one and adding 0x7F less the other leaves the upper bit of a digit clear, and
 * neither borrows nor carries. */
static uint64_t find_non_digits(uint64_t letters) {
  return ((letters - UINT64_C(0x3030303030303030)) | (letters + UINT64_C(0x4646464646464646))) &
         UINT64_C(0x8080808080808080);
}

/* Neighbours are joined three times: digits to pairs, pairs to fours, fours to eight. Bytes of 0 count as digits 0. */
static uint64_t join_eight_digits(uint64_t letters) {
  letters = (letters & UINT64_C(0x0F0F0F0F0F0F0F0F)) * (10 * 0x100 + 1) >> 8;
  letters = (letters & UINT64_C(0x00FF00FF00FF00FF)) * (100 * UINT64_C(0x10000) + 1) >> 16;
  return (letters & UINT64_C(0x0000FFFF0000FFFF)) * (10000 * UINT64_C(0x100000000) + 1) >> 32;
}

/* The end of the digits; a mantissa of more than MOST_DIGITS digits wraps around and is not used. There is no branch
 * for each digit, because their number is hard to predict. */
static const char *scan_digits(const char *at, const char *end, uint64_t *mantissa) {
  static const uint64_t powers[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  uint64_t value = *mantissa;
  while (end - at >= 8) {
    const uint64_t letters = load_eight(at), others = find_non_digits(letters);
    if (others != 0) {
      const unsigned digits = (unsigned)__builtin_ctzll(others) / 8;
      *mantissa = value * powers[digits] + join_eight_digits(letters << 8 << (56 - 8 * digits));
      return at + digits;
    }
    value = value * 100000000 + join_eight_digits(letters);
    at += 8;
  }
  for (; at < end && is_digit(*at); at++) {
    value = value * 10 + (uint64_t)(*at - '0');
  }
  *mantissa = value;
  return at;
}

/* Returns NULL if there is no digit after the e. */
static const char *scan_exponent(const char *at, const char *end, decimal *number) {
  const bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) {
    at++;
  }
  if (at == end || !is_digit(*at)) {
    return NULL;
  }
  int64_t exponent = 0;
  for (; at < end && is_digit(*at); at++) {
    if (exponent > MOST_EXPONENT) {
      number->fits = false;
      continue;
    }
    exponent = exponent * 10 + (*at - '0');
  }
  number->exponent += negative ? -exponent : exponent;
  return at;
}

/* Whether there are more digits, without the zeros before them, than a mantissa holds. */
static bool has_too_many_digits(const char *at, const char *end) {
  while (at < end && (*at == '0' || *at == '.')) {
    at++;
  }
  size_t digits = 0;
  for (; at < end; at++) {
    digits += *at != '.';
  }
  return digits > MOST_DIGITS;
}

/* The end of the number, or NULL if the text does not begin with one. */
static const char *scan_decimal(const char *at, const char *end, decimal *number) {
  *number = (decimal){.fits = true};
  if (at < end && (*at == '-' || *at == '+')) {
    number->negative = *at++ == '-';
  }
  const char *first = at;
  at = scan_digits(at, end, &number->mantissa);
  size_t digits = (size_t)(at - first);
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    at = scan_digits(at, end, &number->mantissa);
    number->exponent = fraction - at;
    digits += (size_t)(at - fraction);
  }
  if (digits == 0) {
    return NULL;
  }
  if (digits > MOST_DIGITS) {
    number->fits = !has_too_many_digits(first, at);
  }
  return at < end && (*at == 'e' || *at == 'E') ? scan_exponent(at + 1, end, number) : at;
}

/* ---- to a double ----------------------------------------------------------------------------------------------- */

static double short_way(const decimal *number) {
  static const double powers[MOST_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const double mantissa = (double)number->mantissa;
  return number->exponent < 0 ? mantissa / powers[-number->exponent] : mantissa * powers[number->exponent];
}

/* The upper 128 bits of mantissa (its top bit set) times the power of five; the lower 64 of the power are looked at
 * only if the bits below those of a double are all ones, so that a carry could change them. */
static oat_wide scale(uint64_t mantissa, int power) {
  const uint64_t *five = oat_powers_of_five[power - OAT_LOWEST_POWER];
  oat_wide product = oat_wide_product(mantissa, five[0]);
  if ((product.high & 0x1FF) == 0x1FF) {
    const oat_wide rest = oat_wide_product(mantissa, five[1]);
    product.low += rest.high;
    product.high += product.low < rest.high;
  }
  return product;
}

/* False if 128 bits do not settle the rounding. The power of ten is in the table, whose range keeps results normal. */
static bool long_way(uint64_t mantissa, int power, double *value) {
  const int shift = __builtin_clzll(mantissa);
  const oat_wide product = scale(mantissa << shift, power);
  if (product.low == UINT64_MAX && (power < -27 || power > 55)) {
    return false;
  }
  const int top = (int)(product.high >> 63);
  uint64_t bits = product.high >> (top + 9); /* 54: a double's and one to round by */
  int exponent = oat_power_exponent(power) + power + 63 + top - shift;
  const bool halfway =
      product.low <= 1 && power >= -4 && power <= 23 && (bits & 3) == 1 && bits << (top + 9) == product.high;
  bits = halfway ? bits >> 1 : (bits + 1) >> 1;
  if (bits >> 53 != 0) {
    bits >>= 1;
    exponent++;
  }
  bits = (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(exponent + 1023) << 52;
  memcpy(value, &bits, sizeof bits);
  return true;
}

/* False if only strtod can decide. */
static bool convert(const decimal *number, double *value) {
  if (!number->fits) {
    return false;
  }
  if (number->mantissa == 0) {
    *value = 0;
    return true;
  }
  if (SHORT_WAY_IS_EXACT && number->mantissa <= MOST_MANTISSA && number->exponent >= -MOST_POWER &&
      number->exponent <= MOST_POWER) {
    *value = short_way(number);
    return true;
  }
  return number->exponent >= OAT_LOWEST_POWER && number->exponent <= OAT_HIGHEST_POWER &&
         long_way(number->mantissa, (int)number->exponent, value);
}

const char *oat_scan_number(const char *text, const char *end, double *value) {
  decimal number;
  const char *after = scan_decimal(text, end, &number);
  if (after == NULL) {
    return NULL;
  }
  if (!convert(&number, value)) {
    *value = strtod(text, NULL);
  } else if (number.negative) {
    *value = -*value;
  }
  return after;
}

/* ---- cells ----------------------------------------------------------------------------------------------------- */

static bool same_word(const char *text, size_t length, const char *word) {
  if (length != strlen(word)) {
    return false;
  }
  for (size_t i = 0; i < length; i++) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    if (c != word[i]) {
      return false;
    }
  }
  return true;
}

static oat_kind kind_of_word(const char *text, size_t length) {
  static const struct {
    const char *word;
    oat_kind kind;
    bool may_have_sign;
  } words[] = {{"", OAT_MISSING, false},    {"na", OAT_MISSING, false},      {"n/a", OAT_MISSING, false},
               {"nan", OAT_MISSING, true},  {"null", OAT_MISSING, false},    {".", OAT_MISSING, false},
               {"inf", OAT_INFINITE, true}, {"infinity", OAT_INFINITE, true}};
  const size_t sign = length > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const size_t skip = words[i].may_have_sign ? sign : 0;
    if (same_word(text + skip, length - skip, words[i].word)) {
      return words[i].kind;
    }
  }
  return OAT_TEXT;
}

oat_kind oat_read_number(const char *text, size_t length, double *value) {
  if (oat_scan_number(text, text + length, value) != text + length) {
    return kind_of_word(text, length);
  }
  return isfinite(*value) ? OAT_NUMBER : OAT_INFINITE;
}

oatgp_status oat_plain_begin(oatgp_context *ctx, oat_plain *plain) {
  *plain = (oat_plain){0};
  plain->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  REFUSE_IF(plain->plain == (locale_t)0, ctx, OATGP_MEMORY, "the \"C\" locale is not available: %s", strerror(errno));
  plain->before = uselocale(plain->plain);
  return OATGP_OK;
}

void oat_plain_end(oat_plain *plain) {
  if (plain->plain != (locale_t)0) {
    uselocale(plain->before);
    freelocale(plain->plain);
    *plain = (oat_plain){0};
  }
}
