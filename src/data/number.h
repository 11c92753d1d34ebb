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

/* Says what a cell without blanks around it is, and sets *value to the nearest double if it is a number: digits with an
 * optional sign, decimal point and exponent (no hexadecimal). text[length] must be readable and must not continue a
 * number. Between oat_plain_begin and oat_plain_end. */
oat_kind oat_read_number(const char *text, size_t length, double *value);

/* While numbers are read or written the thread has the "C" locale: strtod and printf then use a decimal point. */
typedef struct oat_plain {
  locale_t plain, before;
} oat_plain;

oatgp_status oat_plain_begin(oatgp_context *ctx, oat_plain *plain);
void oat_plain_end(oat_plain *plain); /* takes {0} too */

#endif
