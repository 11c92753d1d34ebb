/* The context: last error and message sink. */
#include "util/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"

#define PROGRESS_PAUSE 0.25 /* seconds */

oatgp_status oat_fail(oatgp_context *ctx, oatgp_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(ctx->error, sizeof ctx->error, format, arguments);
  va_end(arguments);
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
  char sentence[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  ctx->message(ctx->message_user, level, sentence);
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
