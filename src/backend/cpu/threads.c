/* Threads of the CPU backend. */
#include "backend/cpu/threads.h"

#include <pthread.h>
#include <stdbool.h>

/* Set once, in a child, before it has threads of its own. */
static volatile bool forked = false;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void note_fork(void) { forked = true; }

static void watch_forks(void) { pthread_atfork(NULL, NULL, note_fork); }

int oat_lane_threads(int wanted) {
  pthread_once(&once, watch_forks);
  return forked || wanted < 1 ? 1 : wanted;
}
