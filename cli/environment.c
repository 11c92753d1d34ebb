/* What the libraries below read from the environment when they are loaded, which is before main: the command sets it and begins again, once.
 *
 * OPENBLAS_NUM_THREADS=1: it has one thread, since ours are around its calls. Else it has one for each core of the machine from the start, and where the address space is limited they wait forever for room, which keeps the command from ending.
 * GOMP_SPINCOUNT=1000: a thread that waits for another turns so often, some microseconds, and then sleeps. By default it turns for some
 *   milliseconds; on a busy machine that is the time which the other one needs (docs/performance.md has the numbers).
 * MALLOC_ARENA_MAX=1, where the address space is limited: threads share what has been mapped.
 *
 * What the caller has set stays. Where OpenMP binds threads to cores it has done so with this one, and who began again would have no other
 * core: then all stays as it is, unless the address space is limited. */
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
  return (bind != NULL && strcasecmp(bind, "false") != 0) || getenv("OMP_PLACES") != NULL || getenv("GOMP_CPU_AFFINITY") != NULL;
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
    execv("/proc/self/exe", argv); /* where that cannot be done, all works as it is, but for the above */
  }
}
