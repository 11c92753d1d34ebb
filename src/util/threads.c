/* Threads of parallel loops. */
#define _GNU_SOURCE /* sched_getcpu, sched_setaffinity */
#include "util/threads.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "util/machine.h"

#define FLOPS_OF_THREAD 3e5 /* about ten microseconds: less is not worth waking a thread, */
#define FLOPS_OF_BIRTH 3e6  /* or making one */

/* Set once, in a child, before it has threads of its own. */
static volatile bool forked = false;

/* For the whole process, like the threads of the BLAS. */
static atomic_int most_threads = INT_MAX;
static atomic_bool always = false;

static void note_fork(void) { forked = true; }

/* Called when the library is loaded, so that a child that is forked before the first call is recognised, too. */
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, note_fork); }

int oat_lane_threads(int wanted) {
  const int most = atomic_load(&most_threads);
  if (forked || most < 1) {
    return 1;
  }
  const int threads = wanted > 0 ? wanted : oat_machine_cores();
  return threads < most ? threads : most;
}

/* With more threads than cores, the threads wait for each other, in proportion to their number. */
static double crowd(int threads) {
  const int cores = oat_machine_processors();
  return threads > cores ? (double)threads / cores : 1;
}

int oat_threads_for(int threads, double flops) {
  static _Thread_local double seen =
      0; /* the sum of the flops worth waking threads for; threads are created once it is large enough */
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

#if defined(__linux__) && defined(_OPENMP)

int oat_place(void) { return sched_getcpu(); }

void oat_leave_place(int of_team) {
  static _Thread_local int left = -1; /* the processor that this thread stays away from */
  cpu_set_t may;
  if (omp_get_thread_num() == 0 || of_team < 0 || of_team >= CPU_SETSIZE || sched_getcpu() != of_team ||
      sched_getaffinity(0, sizeof may, &may) != 0) {
    return;
  }
  if (left >= 0) {
    CPU_SET((size_t)left, &may);
  }
  CPU_CLR((size_t)of_team, &may);
  if (CPU_COUNT(&may) > 0 && sched_setaffinity(0, sizeof may, &may) == 0) {
    left = of_team;
  }
}

#else

int oat_place(void) { return -1; }

void oat_leave_place(int of_team) { (void)of_team; }

#endif

void oat_threads_always(void) { atomic_store(&always, true); }

bool oat_limit_threads(int most) { return atomic_exchange(&most_threads, most) != most; }

const char *oat_threads_name(void) {
#if defined(_OPENMP)
  return "OpenMP";
#else
  return "one: built without OpenMP";
#endif
}
