/* Environment variables that the libraries below read when they are loaded, which is before main. The command sets them
 * and restarts itself, once.
 *
 * OPENBLAS_NUM_THREADS=1: OpenBLAS gets one thread, because our threads call it. Otherwise it starts one for each core
 * of the machine; if the address space is limited, these threads wait forever for memory and keep the command from
 * ending. GOMP_SPINCOUNT=1000: a waiting thread spins for some microseconds and then sleeps. By default it spins for
 * some milliseconds; on a busy machine the other thread needs that time (docs/performance.md has the numbers).
 * MALLOC_ARENA_MAX=1, if the address space is limited: threads share what has been mapped.
 *
 * Variables that the caller has set stay. If OpenMP binds threads to cores, it has already bound this one, and a
 * restarted process would have no other core: then nothing is changed, unless the address space is limited. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"

/* Whether it had to be changed. */
static bool set(const char *name, const char *value, bool always) {
  const char *now = getenv(name);
  return (now == NULL || (always && strcmp(now, value) != 0)) && setenv(name, value, 1) == 0;
}

static bool is_limited(int resource) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static bool is_bound(void) {
  const char *bind = getenv("OMP_PROC_BIND");
  return (bind != NULL && strcasecmp(bind, "false") != 0) || getenv("OMP_PLACES") != NULL ||
         getenv("GOMP_CPU_AFFINITY") != NULL;
}

/* Restarts by the path of the program, so that lists of processes show its name and not "exe". */
static void restart(char **argv) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0) {
    path[length] = '\0';
    execv(path, argv);
  }
  execv("/proc/self/exe", argv); /* the file has been removed */
}

void cli_enter_environment(char **argv) {
  const bool limited = is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
  bool changed = set("OPENBLAS_NUM_THREADS", "1", limited);
  if (getenv("OMP_WAIT_POLICY") == NULL) {
    changed = set("GOMP_SPINCOUNT", "1000", false) || changed;
  }
  if (limited) {
    changed = set("MALLOC_ARENA_MAX", "1", false) || changed;
  }
  if (changed && (limited || !is_bound())) {
    restart(argv); /* if that is impossible, everything works except for the above */
  }
}
