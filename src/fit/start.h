/* Where a fit begins: the part of a setup (setup.h) that is its start. The rows, their scaling and the strategy are there already. */
#ifndef OAT_START_H
#define OAT_START_H

#include "fit/setup.h"

/* Parameters (`spread` is that of the target), knots and room for more, from the settings. */
oatgp_status oat_start_make(oatgp_context *ctx, oat_setup *setup, double spread);
/* Room for the parameters, what is free of them, and the box of the knots. */
oatgp_status oat_start_frame(oatgp_context *ctx, oat_setup *setup);
/* The box reaches as far as the knots of the start do. */
void oat_start_widen(oat_setup *setup);
/* As many knots as the start has, drawn anew as the settings say. */
oatgp_status oat_start_draw(oatgp_context *ctx, oat_setup *setup, double *z, size_t *found);

/* A setting that is a number, spaces around it allowed. */
bool oat_is_number(const char *text, size_t length, double *value);

#endif
