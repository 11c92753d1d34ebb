/* Facts about the machine. */
#ifndef OAT_MACHINE_H
#define OAT_MACHINE_H

#include <stdint.h>

int64_t oat_machine_memory(void);    /* bytes of physical memory; 4 GiB if the system does not say */
int64_t oat_machine_available(void); /* bytes that can still be had: free memory, and what limits of the process and its container leave */
int64_t oat_machine_address_limit(void); /* bytes of the address space (ulimit -v, -d); -1 where there is no limit */

/* The cores that are there for this process, at least 1: those that it may run on, and no more than its container has the
 * time of. OMP_NUM_THREADS, if it is set, stands in their place; OMP_THREAD_LIMIT is an upper limit of both, and so is
 * the address space where it is limited (ulimit -v, -d). */
int oat_machine_cores(void);
/* They are no more than this from now on; 0: no such limit. */
void oat_machine_set_cores(int most);
/* The cores whose time a container (cgroup v1 or v2) leaves to this process, rounded up; INT_MAX where there is no limit.
 * `root` is put before the names of the system's files: "" but in tests. */
int oat_machine_share(const char *root);

#endif
