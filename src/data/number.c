/* Numbers as text: an exact short way for what files mostly hold, strtod for the rest.
 *
 * The short way (Clinger 1990): a mantissa up to 2^53 and a power of ten up to 10^22 are both exact doubles, so that one
 * multiplication or division rounds once and hence correctly. */
#include "data/number.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MANTISSA ((UINT64_C(1) << 53) / 10 - 1) /* one more digit still fits */

enum {
  MOST_POWER = 22,
  MOST_EXPONENT = 100000,                   /* larger ones are left to strtod */
  SHORT_WAY_IS_EXACT = FLT_EVAL_METHOD == 0 /* no wider intermediate results, which would round twice */
};

typedef struct decimal {
  uint64_t mantissa;
  int64_t exponent;
  size_t digits;
  bool negative, fits; /* fits: no digit was left out */
} decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *scan_digits(const char *at, const char *end, decimal *number) {
  const char *start = at;
  for (; at < end && is_digit(*at); at++) {
    if (number->mantissa > MOST_MANTISSA) {
      number->fits = false;
      continue;
    }
    number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
  }
  number->digits += (size_t)(at - start);
  return at;
}

/* Returns NULL if there is no digit after the e. */
static const char *scan_exponent(const char *at, const char *end, decimal *number) {
  const bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) {
    at++;
  }
  if (at == end) {
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

/* True if the whole text is a number. */
static bool scan_decimal(const char *at, const char *end, decimal *number) {
  *number = (decimal){.fits = true};
  number->negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) {
    at++;
  }
  at = scan_digits(at, end, number);
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    at = scan_digits(at, end, number);
    number->exponent = -(int64_t)(at - fraction);
  }
  if (number->digits > 0 && at < end && (*at == 'e' || *at == 'E')) {
    at = scan_exponent(at + 1, end, number);
  }
  return number->digits > 0 && at == end;
}

static double short_way(const decimal *number) {
  static const double powers[MOST_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const double mantissa = (double)number->mantissa;
  const double value = number->exponent < 0 ? mantissa / powers[-number->exponent] : mantissa * powers[number->exponent];
  return number->negative ? -value : value;
}

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
  } words[] = {{"", OAT_MISSING, false},     {"na", OAT_MISSING, false}, {"n/a", OAT_MISSING, false}, {"nan", OAT_MISSING, true},
               {"null", OAT_MISSING, false}, {".", OAT_MISSING, false},  {"inf", OAT_INFINITE, true}, {"infinity", OAT_INFINITE, true}};
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
  decimal number;
  if (!scan_decimal(text, text + length, &number)) {
    return kind_of_word(text, length);
  }
  if (SHORT_WAY_IS_EXACT && number.fits && number.exponent >= -MOST_POWER && number.exponent <= MOST_POWER) {
    *value = short_way(&number);
    return OAT_NUMBER;
  }
  *value = strtod(text, NULL);
  return isfinite(*value) ? OAT_NUMBER : OAT_INFINITE;
}

oatgp_status oat_plain_begin(oatgp_context *ctx, oat_plain *plain) {
  *plain = (oat_plain){0};
  plain->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain->plain == (locale_t)0) {
    return oat_fail(ctx, OATGP_MEMORY, "the \"C\" locale cannot be had: %s", strerror(errno));
  }
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
