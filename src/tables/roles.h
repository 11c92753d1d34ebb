/* Which columns of a file are used, and as what. */
#ifndef OAT_SELECT_H
#define OAT_SELECT_H

#include "tables/table.h"

/* By the settings target, inputs, weights, noise_variance. */
oatgp_status oat_select_by_settings(oatgp_context *ctx, const oatgp_settings *settings, oat_table *table);
/* Those of earlier data. In a file with a header by name; a file without header must have either exactly d columns
 * (taken in order, no target) or as many as the file that they are from (the same places, of the target, weights and
 * noise variances too). */
oatgp_status oat_select_like(oatgp_context *ctx, const oat_columns *wanted, oat_table *table);

#endif
