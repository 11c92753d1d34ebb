/* The context: the last error and the callback for messages. Also the macros that every function uses to report
 * failures and clean up. */
#ifndef OAT_CONTEXT_H
#define OAT_CONTEXT_H

#include <stdbool.h>

#include "oatgp.h"

#if defined(__GNUC__)
#define OAT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define OAT_PRINTF(text, first)
#endif

/* An object that is shared by calls with this context, so that it is not made again for each. It is freed with the
 * context. */
enum { OAT_KEPT_KEY = 7 };
typedef struct oat_kept {
  void *object; /* or NULL */
  void (*close)(void *object);
  size_t key[OAT_KEPT_KEY]; /* identifies what it was made for */
} oat_kept;

enum { OAT_SENTENCE = 1024 }; /* bytes of a sentence, with the zero at its end */

struct oatgp_context {
  char error[OAT_SENTENCE];
  oatgp_front front; /* the syntax of options in messages */
  oatgp_message_fn message;
  void *message_user;
  oatgp_progress_fn progress;
  void *progress_user;
  double told;      /* when progress was last reported */
  int threads;      /* 0: as many as cores */
  int at_work;      /* number of threads of the current call: those of its settings, or `threads` (oat_take_threads) */
  int64_t memory;   /* limit for matrices of rows x rows in predictions; 0: the machine's memory */
  char device[16];  /* of predictions; "": auto */
  bool told_device; /* a note has said that another device is used */
  oat_kept kept;
};

/* Stores the sentence and returns the status: `return oat_fail(ctx, OATGP_DATA, "...", ...)`. Options in it are written
 * as described in front.h: --max-knots, --mean=linear, --no-guard. */
oatgp_status oat_fail(oatgp_context *ctx, oatgp_status status, const char *format, ...) OAT_PRINTF(3, 4);
/* The same for a failed allocation of this many bytes. */
oatgp_status oat_no_memory(oatgp_context *ctx, size_t bytes);
/* Passes a note or a warning to the message callback. */
void oat_say(oatgp_context *ctx, oatgp_level level, const char *format, ...) OAT_PRINTF(3, 4);

/* Frees the kept object. */
void oat_context_drop(oatgp_context *ctx);

/* Reports progress; passed on a few times a second. Call it only in the caller's thread. */
void oat_tell_progress(oatgp_context *ctx, const char *what, size_t done, size_t total);

/* At the beginning of a public function: without a context there is nowhere to put a sentence. */
#define OAT_NEED_CONTEXT(ctx) \
  do {                        \
    if ((ctx) == NULL) {      \
      return OATGP_ARGUMENT;  \
    }                         \
  } while (0)

/* In a function with a local `status` and a label `done:` that frees what is not NULL. */
#define TRY(call)             \
  do {                        \
    status = (call);          \
    if (status != OATGP_OK) { \
      goto done;              \
    }                         \
  } while (0)

/* In a function that has nothing to free: returns the status of a failed call. */
#define PASS_ON(call)                    \
  do {                                   \
    const oatgp_status failed_ = (call); \
    if (failed_ != OATGP_OK) {           \
      return failed_;                    \
    }                                    \
  } while (0)

/* In such a function, too: returns oat_fail(...) if something is wrong. */
#define REFUSE_IF(wrong, ...)       \
  do {                              \
    if (wrong) {                    \
      return oat_fail(__VA_ARGS__); \
    }                               \
  } while (0)

#endif
