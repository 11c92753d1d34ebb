/* Facts about the machine. */
#ifndef OAT_MACHINE_H
#define OAT_MACHINE_H

#include <stdint.h>

int64_t oat_machine_memory(void);    /* bytes of physical memory; 4 GiB if the system does not say */
int64_t oat_machine_available(void); /* bytes that can still be had: free memory, and what limits of the process and its container leave */
int64_t oat_machine_address_limit(void); /* bytes of the address space (ulimit -v); -1 where there is no limit */

#endif
