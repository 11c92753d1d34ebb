/* Threads of parallel loops. */
#include "util/threads.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "util/machine.h"

#define FLOPS_OF_THREAD 3e5 /* some ten microseconds: less is not worth waking a thread for, */
#define FLOPS_OF_BIRTH 3e6  /* or making one */

/* Set once, in a child, before it has threads of its own. */
static volatile bool forked = false;

/* A number of the process, as the threads of the BLAS are. */
static atomic_int most_threads = INT_MAX;
static atomic_bool always = false;

static void note_fork(void) { forked = true; }

/* When the library is loaded, so that a child which is forked before the first call counts as one, too. */
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, note_fork); }

int oat_lane_threads(int wanted) {
  const int most = atomic_load(&most_threads);
  if (forked || most < 1) {
    return 1;
  }
  const int threads = wanted > 0 ? wanted : oat_machine_cores();
  return threads < most ? threads : most;
}

/* More threads than cores wait for each other, all the longer the more they are. */
static double crowd(int threads) {
  const int cores = oat_machine_processors();
  return threads > cores ? (double)threads / cores : 1;
}

int oat_threads_for(int threads, double flops) {
  static _Thread_local double seen = 0; /* flops that were worth waking threads for: their sum must be worth making them */
  const int most = oat_lane_threads(threads);
  if (most == 1 || flops <= 0 || atomic_load(&always)) {
    return most;
  }
  if (flops < FLOPS_OF_THREAD * most * crowd(most)) {
    return 1;
  }
  seen += seen < FLOPS_OF_BIRTH * most ? flops : 0;
  return seen < FLOPS_OF_BIRTH * most ? 1 : most;
}

void oat_threads_always(void) { atomic_store(&always, true); }

bool oat_limit_threads(int most) { return atomic_exchange(&most_threads, most) != most; }

const char *oat_threads_name(void) {
#if defined(_OPENMP)
  return "OpenMP";
#else
  return "one: built without OpenMP";
#endif
}
