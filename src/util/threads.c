/* Threads of parallel loops. */
#include "util/threads.h"

#include <pthread.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

/* Set once, in a child, before it has threads of its own. */
static volatile bool forked = false;

static void note_fork(void) { forked = true; }

/* When the library is loaded, so that a child which is forked before the first call counts as one, too. */
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, note_fork); }

int oat_lane_threads(int wanted) { return forked || wanted < 1 ? 1 : wanted; }

const char *oat_threads_name(void) {
#if defined(_OPENMP)
  return "OpenMP";
#else
  return "one: built without OpenMP";
#endif
}

bool oat_in_first_thread(void) {
#if defined(_OPENMP)
  return omp_get_thread_num() == 0;
#else
  return true;
#endif
}
