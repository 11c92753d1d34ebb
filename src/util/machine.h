/* Facts about the machine. */
#ifndef OAT_MACHINE_H
#define OAT_MACHINE_H

#include <stdint.h>

int64_t oat_machine_memory(void);    /* bytes of physical memory; 4 GiB if the system does not say */
int64_t oat_machine_available(void); /* what can be had of it now without swapping; all of it if the system does not say */

#endif
