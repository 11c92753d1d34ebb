/* The context: last error and message sink. And the macros by which every function reports and cleans up. */
#ifndef OAT_CONTEXT_H
#define OAT_CONTEXT_H

#include "oatgp.h"

#if defined(__GNUC__)
#define OAT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define OAT_PRINTF(text, first)
#endif

/* Something that calls with this context share, so that it is not made again for each; freed with the context. */
enum { OAT_KEPT_KEY = 7 };
typedef struct oat_kept {
  void *object; /* or NULL */
  void (*close)(void *object);
  size_t key[OAT_KEPT_KEY]; /* what it was made for */
} oat_kept;

struct oatgp_context {
  char error[1024];
  oatgp_message_fn message;
  void *message_user;
  oatgp_progress_fn progress;
  void *progress_user;
  double told;     /* when progress was told for the last time */
  int threads;     /* 0: the cores there are */
  int at_work;     /* threads of the call under way, a number: those of its settings, or these (oat_take_threads) */
  int64_t memory;  /* for matrices of rows x rows in predictions; 0: what the machine has */
  char device[16]; /* of predictions; "": auto */
  oat_kept kept;
};

/* Stores the sentence and returns the status: `return oat_fail(ctx, OATGP_DATA, "...", ...)`. */
oatgp_status oat_fail(oatgp_context *ctx, oatgp_status status, const char *format, ...) OAT_PRINTF(3, 4);
/* The same for a failed allocation of so many bytes. */
oatgp_status oat_no_memory(oatgp_context *ctx, size_t bytes);
/* A note or a warning to the message sink. */
void oat_say(oatgp_context *ctx, oatgp_level level, const char *format, ...) OAT_PRINTF(3, 4);

/* Frees what is kept. */
void oat_context_drop(oatgp_context *ctx);

/* How far it is; passed on a few times a second. For the thread of the caller only. */
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

/* In a function that has nothing to free: a call that fails is passed on to the caller. */
#define PASS_ON(call)                    \
  do {                                   \
    const oatgp_status failed_ = (call); \
    if (failed_ != OATGP_OK) {           \
      return failed_;                    \
    }                                    \
  } while (0)

/* There, too: leaves with the sentence of oat_fail(...) if something is wrong. */
#define REFUSE_IF(wrong, ...)       \
  do {                              \
    if (wrong) {                    \
      return oat_fail(__VA_ARGS__); \
    }                               \
  } while (0)

#endif
