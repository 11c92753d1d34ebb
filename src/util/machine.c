/* Facts about the machine. */
#include "util/machine.h"

#include <unistd.h>

int64_t oat_machine_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_C(4) << 30;
}
