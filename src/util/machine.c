/* Facts about the machine. */
#include "util/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int64_t oat_machine_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_C(4) << 30;
}

/* Linux says it in kB, on a line of /proc/meminfo. */
int64_t oat_machine_available(void) {
  char line[128];
  int64_t available = oat_machine_memory(), kilobytes;
  FILE *file = fopen("/proc/meminfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "MemAvailable: %" SCNd64, &kilobytes) == 1) {
      available = kilobytes * 1024;
      break;
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  return available;
}
