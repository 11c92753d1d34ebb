/* The context as callers see it: made, freed, asked for the last error, told where messages go. */
#include "util/context.h"

#include <stdlib.h>

#include "util/clock.h"

/* Plain calloc: without a context there is nowhere to put the sentence of oat_new. */
oatgp_context *oatgp_context_create(void) { return calloc(1, sizeof(oatgp_context)); }

void oatgp_context_free(oatgp_context *ctx) {
  if (ctx != NULL) {
    oat_context_drop(ctx);
    free(ctx);
  }
}

const char *oatgp_last_error(const oatgp_context *ctx) { return ctx != NULL ? ctx->error : ""; }

void oatgp_context_set_message(oatgp_context *ctx, oatgp_message_fn fn, void *user) {
  if (ctx != NULL) {
    ctx->message = fn;
    ctx->message_user = user;
  }
}

void oatgp_context_set_threads(oatgp_context *ctx, int threads) {
  if (ctx != NULL) {
    ctx->threads = threads;
  }
}

void oatgp_context_set_memory(oatgp_context *ctx, int64_t bytes) {
  if (ctx != NULL) {
    ctx->memory = bytes;
  }
}

void oatgp_context_set_progress(oatgp_context *ctx, oatgp_progress_fn fn, void *user) {
  if (ctx != NULL) {
    ctx->progress = fn;
    ctx->progress_user = user;
    ctx->told = oat_seconds(); /* what takes no time is not told */
  }
}
