/* What the public entries share. */
#ifndef OAT_API_H
#define OAT_API_H

#include "util/context.h"

static inline int oat_threads(const oatgp_context *ctx) { return ctx->threads > 0 ? ctx->threads : 1; }

/* All settings as lines "name = value", as a config file has them. */
oatgp_status oat_settings_text(oatgp_context *ctx, const oatgp_settings *settings, char **out);

#endif
