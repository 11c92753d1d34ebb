/* What the public functions share. */
#ifndef OAT_API_H
#define OAT_API_H

#include "objective/objective.h"
#include "settings/settings.h"

static inline int oat_threads(const oatgp_context *ctx) { return ctx->threads; }

/* A problem with a target, settings that are in their ranges, and a place for the result. */
oatgp_status oat_check_problem(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                               const void *out);
/* Called before any work: sets the number of threads that it may use (0: as many as cores), with one thread of the BLAS
 * in each. If the address space has no room for all, fewer are used, with a note; if it has no room for one, it
 * fails. */
oatgp_status oat_take_threads(oatgp_context *ctx, int threads);

/* A note for each setting of the verb that was given and has no effect with the others. The settings are in their
 * ranges. */
oatgp_status oat_note_effects(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                              const oatgp_data *knots, const char *verb);
#endif
