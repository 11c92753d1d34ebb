/* Which columns of a file are used, and as what. */
#ifndef OAT_SELECT_H
#define OAT_SELECT_H

#include "data/table.h"

/* By the settings target, inputs, weights, noise_variance. */
oatgp_status oat_select_by_settings(oatgp_context *ctx, const oatgp_settings *settings, oat_table *table);
/* Those of earlier data, by name or place; see oat_data_read_columns. */
oatgp_status oat_select_like(oatgp_context *ctx, const oat_columns *wanted, oat_table *table);

#endif
