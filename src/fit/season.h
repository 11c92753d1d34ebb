/* Seasons that data show, for where the period of a kernel starts. */
#ifndef OAT_SEASON_H
#define OAT_SEASON_H

#include "fit/setup.h"

/* Puts into the start of each period of the kernel what the data say of its input, if they say anything. Leaves that share an input get the
 * peaks in their order. */
oatgp_status oat_season_start(oatgp_context *ctx, oat_setup *setup);

#endif
