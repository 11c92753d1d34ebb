/* What the data of a fit suggest that its user should know. It warns and never stops the fit. */
#ifndef OAT_ADVICE_H
#define OAT_ADVICE_H

#include "fit/setup.h"

/* A constant target, more inputs than rows, rows that differ in the target alone (what the noise should be), numbers far from all others.
 * Looks at the first million rows. O(n (d + log n)). */
oatgp_status oat_advise(oatgp_context *ctx, const oat_setup *setup);

#endif
