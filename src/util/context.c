/* The context, for callers and for the library. */
#include "util/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/front.h"

#define PROGRESS_PAUSE 0.25 /* seconds */

/* ---- public ---------------------------------------------------------------------------------------------------- */

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

void oatgp_context_set_front(oatgp_context *ctx, oatgp_front front) {
  if (ctx != NULL) {
    ctx->front = front;
  }
}

void oatgp_context_set_threads(oatgp_context *ctx, int threads) {
  if (ctx != NULL) {
    ctx->threads = threads > 0 ? threads : 0;
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
    ctx->told = oat_seconds(); /* short work is not reported */
  }
}

const char *oatgp_progress_unit(const char *what) {
  static const char *const units[][2] = {{"reading", "bytes"}, {"k-means", "rounds"}, {"greedy variance", "knots"}};
  for (size_t i = 0; what != NULL && i < sizeof units / sizeof units[0]; i++) {
    if (strcmp(what, units[i][0]) == 0) {
      return units[i][1];
    }
  }
  return "rows";
}

/* ---- internal -------------------------------------------------------------------------------------------------- */

oatgp_status oat_fail(oatgp_context *ctx, oatgp_status status, const char *format, ...) {
  char sentence[OAT_SENTENCE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  oat_in_front(ctx->front, sentence, ctx->error, sizeof ctx->error);
  return status;
}

oatgp_status oat_no_memory(oatgp_context *ctx, size_t bytes) {
  return oat_fail(ctx, OATGP_MEMORY, "out of memory: could not get %zu bytes", bytes);
}

void oat_context_drop(oatgp_context *ctx) {
  if (ctx->kept.object != NULL) {
    ctx->kept.close(ctx->kept.object);
    ctx->kept.object = NULL;
  }
}

void oat_say(oatgp_context *ctx, oatgp_level level, const char *format, ...) {
  if (ctx->message == NULL) {
    return;
  }
  char sentence[OAT_SENTENCE], shown[OAT_SENTENCE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  oat_in_front(ctx->front, sentence, shown, sizeof shown);
  ctx->message(ctx->message_user, level, shown);
}

void oat_tell_progress(oatgp_context *ctx, const char *what, size_t done, size_t total) {
  if (ctx->progress == NULL) {
    return;
  }
  const double now = oat_seconds();
  if (now - ctx->told >= PROGRESS_PAUSE) {
    ctx->told = now;
    ctx->progress(ctx->progress_user, what, done, total);
  }
}
