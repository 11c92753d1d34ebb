/* Facts about the machine. */
#include "util/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* What a limit leaves of itself. */
static int64_t left_of(int64_t limit, int64_t used) { return limit < 0 ? INT64_MAX : limit > used && used >= 0 ? limit - used : 0; }

int64_t oat_machine_address_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < INT64_MAX ? (int64_t)limit.rlim_cur : -1;
}

int64_t oat_machine_available(void) {
  const int64_t free_kb = number_in("/proc/meminfo", "MemAvailable:"), mapped_pages = number_in("/proc/self/statm", "");
  const int64_t mapped = mapped_pages > 0 ? mapped_pages * sysconf(_SC_PAGESIZE) : 0;
  const int64_t container = number_in("/sys/fs/cgroup/memory.max", ""), in_container = number_in("/sys/fs/cgroup/memory.current", "");
  const int64_t available = free_kb >= 0 ? free_kb * 1024 : oat_machine_memory();
  return smaller(available, smaller(left_of(oat_machine_address_limit(), mapped), left_of(container, in_container)));
}

oat_processor oat_machine_processor(void) {
  oat_processor found = {OAT_SIMD_UNKNOWN, false};
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init(); /* this may be called before main */
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  found.simd = v4 && v3 ? OAT_SIMD_AVX512 : v3 ? OAT_SIMD_AVX2 : __builtin_cpu_supports("avx") ? OAT_SIMD_AVX : OAT_SIMD_SSE;
  found.amd = __builtin_cpu_is("amd");
#endif
  return found;
}

const char *oat_simd_word(oat_simd simd) {
  static const char *const words[] = {"of another kind than x86-64", "SSE", "AVX", "AVX2", "AVX-512"};
  return words[simd];
}

const char *oat_processor_name(void) { return oat_simd_word(oat_machine_processor().simd); }
