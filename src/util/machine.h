/* Facts about the machine. */
#ifndef OAT_MACHINE_H
#define OAT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t oat_machine_memory(void); /* bytes of physical memory; 4 GiB if the system does not say */
int64_t oat_machine_available(
    void); /* bytes that are still available: free memory, within the limits of the process and its container */
int64_t oat_machine_address_limit(void); /* bytes of the address space (ulimit -v, -d); -1 where there is no limit */

/* Asks for large pages in a block that has not been written to yet, which makes scattered reads faster. The system may
 * ignore it. */
void oat_machine_large_pages(void *block, size_t bytes);

/* The number of cores for this process, at least 1: those that it may run on, and no more than its container allows.
 * OMP_NUM_THREADS, if it is set, replaces this number. OMP_THREAD_LIMIT and a limit of the address space (ulimit -v,
 * -d) are upper limits of both. */
int oat_machine_cores(void);
/* The same without these variables: how many threads can run at the same time, as of the last lookup. */
int oat_machine_processors(void);
/* Limits them to this number from now on; 0: no limit. */
void oat_machine_set_cores(int most);
/* The number of cores that a container (cgroup v1 or v2) allows this process, rounded up; INT_MAX if there is no limit.
 * `root` is put before the names of the system's files: "" except in tests. */
int oat_machine_share(const char *root);

/* The vector instructions of a processor, as far as they matter for linear algebra. */
typedef enum oat_simd { OAT_SIMD_UNKNOWN, OAT_SIMD_SSE, OAT_SIMD_AVX, OAT_SIMD_AVX2, OAT_SIMD_AVX512 } oat_simd;
typedef struct oat_processor {
  oat_simd simd;
  bool amd;
} oat_processor;
oat_processor oat_machine_processor(void);
const char *oat_simd_word(oat_simd simd); /* "AVX2" */
const char *oat_processor_name(void);     /* the word for the processor here */

#endif
