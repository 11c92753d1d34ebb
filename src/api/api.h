/* What the public entries share. */
#ifndef OAT_API_H
#define OAT_API_H

#include "util/context.h"

static inline int oat_threads(const oatgp_context *ctx) { return ctx->threads > 0 ? ctx->threads : 1; }

/* A problem with a target, settings that are in their ranges, and a place for the result. */
oatgp_status oat_check_problem(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const void *out);
/* Threads of the BLAS for a fit with this approximation. */
void oat_set_fit_threads(const char *approx, const oatgp_settings *settings);

/* All settings as lines "name = value", as a config file has them. */
oatgp_status oat_settings_text(oatgp_context *ctx, const oatgp_settings *settings, char **out);

#endif
