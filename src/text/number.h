/* Numbers as text. The value of a cell does not depend on the locale of the process. */
#ifndef OAT_NUMBER_H
#define OAT_NUMBER_H

#include <locale.h>

#include "util/context.h"

typedef enum oat_kind {
  OAT_NUMBER,   /* finite */
  OAT_MISSING,  /* empty, NA, N/A, NaN, null or a single point, in any case */
  OAT_INFINITE, /* inf, infinity, or too large for a double */
  OAT_TEXT      /* anything else */
} oat_kind;

/* Reads the number at the beginning of the text: digits with an optional sign, decimal point and exponent (no
 * hexadecimal). Returns its end, or NULL if there is none; *value is the nearest double, infinite if it is too large
 * for one. *end must be readable and must not continue a number. Between oat_plain_begin and oat_plain_end. */
const char *oat_scan_number(const char *text, const char *end, double *value);
/* Classifies a cell without blanks around it, and sets *value if it is a number. As above, with end = text + length. */
oat_kind oat_read_number(const char *text, size_t length, double *value);

/* Writes the value with the fewest of 15, 16 and 17 digits that read back to it, in the form of printf's %.17g, without
 * a terminating 0. Returns the number of bytes, at most OAT_LONGEST_NUMBER. Between oat_plain_begin and oat_plain_end.
 */
enum { OAT_LONGEST_NUMBER = 24 };
size_t oat_write_number(double value, char *out);

/* While numbers are read or written, the thread uses the "C" locale, so that strtod and printf use a decimal point. */
typedef struct oat_plain {
  locale_t plain, before;
} oat_plain;

oatgp_status oat_plain_begin(oatgp_context *ctx, oat_plain *plain);
void oat_plain_end(oat_plain *plain); /* may be called with {0} */

#endif
