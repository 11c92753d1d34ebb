/* Numbers as text. What a cell holds does not depend on the locale of the process. */
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

/* Reads the number at the beginning of the text: digits with an optional sign, decimal point and exponent (no hexadecimal). Returns its
 * end, or NULL if there is none; *value is the nearest double, infinite if it is too large for one. *end must be readable and must not
 * continue a number. Between oat_plain_begin and oat_plain_end. */
const char *oat_scan_number(const char *text, const char *end, double *value);
/* Says what a cell without blanks around it is, and sets *value if it is a number. As above, with end = text + length. */
oat_kind oat_read_number(const char *text, size_t length, double *value);

/* Writes the value as printf's %.17g does, with no 0 behind it, and returns the number of bytes, at most OAT_LONGEST_NUMBER. Between
 * oat_plain_begin and oat_plain_end. */
enum { OAT_LONGEST_NUMBER = 24 };
size_t oat_write_number(double value, char *out);

/* While numbers are read or written the thread has the "C" locale: strtod and printf then use a decimal point. */
typedef struct oat_plain {
  locale_t plain, before;
} oat_plain;

oatgp_status oat_plain_begin(oatgp_context *ctx, oat_plain *plain);
void oat_plain_end(oat_plain *plain); /* takes {0} too */

#endif
