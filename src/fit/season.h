/* Finds seasons in the data, to start the period of a kernel there. */
#ifndef OAT_SEASON_H
#define OAT_SEASON_H

#include "fit/setup.h"

/* Sets the start of each period of the kernel from the data, if they show a season. Leaves that share an input get
 * successive peaks. */
oatgp_status oat_season_start(oatgp_context *ctx, oat_setup *setup);

#endif
