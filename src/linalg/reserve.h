/* Buffers of OpenBLAS. It maps one for each thread that is in a call of it, keeps it for later calls, and asks again without end where the
 * address space has no room. So they are made before the work, as many as there is room for. */
#ifndef OAT_RESERVE_H
#define OAT_RESERVE_H

#include <stddef.h>

#define OAT_BLAS_BUFFER ((size_t)128 << 20) /* its largest, that of x86-64 */

/* Holds as many buffers as there are threads, or as fit, at the same time, and gives them back; returns how many. Without a limit of the
 * address space it does nothing. */
int oat_reserve_buffers(int threads, void *(*take)(int which), void (*give_back)(void *buffer));

#endif
