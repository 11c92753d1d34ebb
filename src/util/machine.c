/* Facts about the machine. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity, madvise */
#endif

#include "util/machine.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

void oat_machine_large_pages(void *block, size_t bytes) {
#if defined(__linux__)
  const uintptr_t large = (uintptr_t)2 << 20, begin = ((uintptr_t)block + large - 1) / large * large;
  const uintptr_t end = ((uintptr_t)block + bytes) / large * large;
  if (block != NULL && end > begin) {
    madvise((char *)block + (begin - (uintptr_t)block), end - begin, MADV_HUGEPAGE);
  }
#else
  (void)block;
  (void)bytes;
#endif
}

int64_t oat_machine_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_C(4) << 30;
}

/* The number after `name` in a file of the system; -1 if there is none. */
static int64_t number_in(const char *path, const char *name) {
  char line[256];
  long long value = -1;
  FILE *file = fopen(path, "r");
  while (file != NULL && value < 0 && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%lld", &value) != 1) {
      value = -1;
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  return value;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The unused part of a limit. */
static int64_t left_of(int64_t limit, int64_t used) {
  return limit < 0 ? INT64_MAX : limit > used && used >= 0 ? limit - used : 0;
}

int64_t oat_machine_address_limit(void) {
  struct rlimit all, data;
  const bool is_known = getrlimit(RLIMIT_AS, &all) == 0 && getrlimit(RLIMIT_DATA, &data) == 0;
  const rlim_t limit = !is_known ? RLIM_INFINITY : all.rlim_cur < data.rlim_cur ? all.rlim_cur : data.rlim_cur;
  return limit < INT64_MAX ? (int64_t)limit : -1;
}

int64_t oat_machine_available(void) {
  const int64_t free_kb = number_in("/proc/meminfo", "MemAvailable:"), mapped_pages = number_in("/proc/self/statm", "");
  const int64_t mapped = mapped_pages > 0 ? mapped_pages * sysconf(_SC_PAGESIZE) : 0;
  const int64_t container = number_in("/sys/fs/cgroup/memory.max", ""),
                in_container = number_in("/sys/fs/cgroup/memory.current", "");
  const int64_t available = free_kb >= 0 ? free_kb * 1024 : oat_machine_memory();
  return smaller(available, smaller(left_of(oat_machine_address_limit(), mapped), left_of(container, in_container)));
}

/* ---- cores ----------------------------------------------------------------------------------------------------- */

enum { LONGEST_PATH = 4096, THREAD_BYTES = 128 << 20 };

static int fewer(int a, int b) { return a < b ? a : b; }

/* A quota of so much time in each period, as cores; -1 and the like are no limit. */
static int cores_of(double quota, double period) {
  return quota > 0 && period > 0 && quota / period < INT_MAX ? (int)ceil(quota / period) : INT_MAX;
}

/* "200000 100000" or "max 100000"; INT_MAX if there is no such file. */
static int share_v2(const char *folder) {
  char path[LONGEST_PATH + 32];
  double quota = 0, period = 0;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  FILE *file = fopen(path, "r");
  const bool limited = file != NULL && fscanf(file, "%lf %lf", &quota, &period) == 2;
  if (file != NULL) {
    fclose(file);
  }
  return limited ? cores_of(quota, period) : INT_MAX;
}

static int share_v1(const char *folder) {
  char quota[LONGEST_PATH + 32], period[LONGEST_PATH + 32];
  snprintf(quota, sizeof quota, "%s/cpu.cfs_quota_us", folder);
  snprintf(period, sizeof period, "%s/cpu.cfs_period_us", folder);
  return cores_of((double)number_in(quota, ""), (double)number_in(period, ""));
}

/* The least share of a group and of those that it is in, up to where they are mounted. A container may see its own
 * group as the root, under the path of the host. A path that does not exist sets no limit. */
static int share_upwards(const char *mounted, const char *group, int (*share)(const char *folder)) {
  char folder[LONGEST_PATH];
  const size_t top = strlen(mounted);
  int least = INT_MAX;
  if (snprintf(folder, sizeof folder, "%s%s", mounted, group) >= (int)sizeof folder) {
    return least;
  }
  for (char *end = folder + strlen(folder); end != NULL && end >= folder + top; end = strrchr(folder, '/')) {
    *end = '\0';
    least = fewer(least, share(folder));
    if (end == folder + top) {
      break;
    }
  }
  return least;
}

/* Whether the list "cpu,cpuacct" has the controller. */
static bool has_controller(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
      return true;
    }
  }
  return false;
}

/* A line of /proc/self/cgroup: "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1). */
static int share_of_line(const char *root, char *line) {
  char mounted[LONGEST_PATH];
  char *const controllers = strchr(line, ':'), *const group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
  if (group == NULL) {
    return INT_MAX;
  }
  *group = '\0';
  group[1 + strcspn(group + 1, "\n")] = '\0';
  if (controllers[1] == '\0') {
    snprintf(mounted, sizeof mounted, "%s/sys/fs/cgroup", root);
    return share_upwards(mounted, group + 1, share_v2);
  }
  if (!has_controller(controllers + 1, "cpu")) {
    return INT_MAX;
  }
  snprintf(mounted, sizeof mounted, "%s/sys/fs/cgroup/%s", root, controllers + 1);
  const int named = share_upwards(mounted, group + 1, share_v1);
  snprintf(mounted, sizeof mounted, "%s/sys/fs/cgroup/cpu", root);
  return fewer(named, share_upwards(mounted, group + 1, share_v1));
}

int oat_machine_share(const char *root) {
  char line[LONGEST_PATH];
  int least = INT_MAX;
  snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
  FILE *file = fopen(line, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    least = fewer(least, share_of_line(root, line));
  }
  if (file != NULL) {
    fclose(file);
  }
  return least;
}

/* The cores that the system would run this thread on; 0 if unknown. */
static int cores_allowed(void) {
#if defined(__linux__)
  cpu_set_t sets[64]; /* one has 1024 cores, too few for some machines */
  return sched_getaffinity(0, sizeof sets, sets) == 0 ? CPU_COUNT_S(sizeof sets, sets) : 0;
#else
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 && online < INT_MAX ? (int)online : 0;
#endif
}

/* If OpenMP has bound this thread to one core (OMP_PROC_BIND), it knows the real number. */
static int processors(void) {
  int cores = cores_allowed();
#if defined(_OPENMP)
  const int known = omp_get_num_procs();
  cores = known > cores ? known : cores;
#endif
  return cores > 0 ? cores : 1;
}

/* OpenMP may have been told to use fewer (omp_set_num_threads). */
static int cores_wanted(int cores) {
#if defined(_OPENMP)
  return fewer(cores, omp_get_max_threads());
#else
  return cores;
#endif
}

/* The first whole number of a list in the environment; `otherwise` if there is none above 0. */
static int number_set(const char *name, int otherwise) {
  const char *const text = getenv(name);
  const long value = text != NULL ? strtol(text, NULL, 10) : 0;
  return value > 0 ? (int)(value < INT_MAX ? value : INT_MAX) : otherwise;
}

/* If the address space is limited, each thread needs a part of it: for its stack, and for a buffer of the BLAS. */
static int threads_with_room(void) {
  const int64_t limit = oat_machine_address_limit(), room = limit / THREAD_BYTES;
  return limit < 0 || room > INT_MAX ? INT_MAX : room < 1 ? 1 : (int)room;
}

/* Facts of the process: the share of its container and its processors, once they were looked up, and the limit of
 * oatgp_set_cores. */
static atomic_int share = 0, last_seen = 0, most_cores = INT_MAX;

static int look_up(void) {
  int left = atomic_load(&share);
  if (left == 0) {
    left = oat_machine_share("");
    atomic_store(&share, left);
  }
  const int cores = fewer(processors(), left);
  atomic_store(&last_seen, cores);
  return cores;
}

int oat_machine_processors(void) {
  const int cores = atomic_load(&last_seen);
  return cores > 0 ? cores : look_up();
}

int oat_machine_cores(void) {
  const int cores = number_set("OMP_NUM_THREADS", cores_wanted(look_up()));
  const int most = fewer(number_set("OMP_THREAD_LIMIT", INT_MAX), atomic_load(&most_cores));
  return fewer(fewer(cores, most), threads_with_room());
}

void oat_machine_set_cores(int most) { atomic_store(&most_cores, most > 0 ? most : INT_MAX); }

/* ---- the processor --------------------------------------------------------------------------------------------- */

oat_processor oat_machine_processor(void) {
  oat_processor found = {OAT_SIMD_UNKNOWN, false};
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init(); /* this may be called before main */
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  found.simd = v4 && v3                        ? OAT_SIMD_AVX512
               : v3                            ? OAT_SIMD_AVX2
               : __builtin_cpu_supports("avx") ? OAT_SIMD_AVX
                                               : OAT_SIMD_SSE;
  found.amd = __builtin_cpu_is("amd");
#endif
  return found;
}

const char *oat_simd_word(oat_simd simd) {
  static const char *const words[] = {"of another kind than x86-64", "SSE", "AVX", "AVX2", "AVX-512"};
  return words[simd];
}

const char *oat_processor_name(void) { return oat_simd_word(oat_machine_processor().simd); }
