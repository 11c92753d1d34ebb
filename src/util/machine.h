/* Facts about the machine. */
#ifndef OAT_MACHINE_H
#define OAT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t oat_machine_memory(void);    /* bytes of physical memory; 4 GiB if the system does not say */
int64_t oat_machine_available(void); /* bytes that can still be had: free memory, and what limits of the process and its container leave */
int64_t oat_machine_address_limit(void); /* bytes of the address space (ulimit -v, -d); -1 where there is no limit */

/* Asks for large pages in a block that nobody has written to yet: reading here and there in it is faster then. The system need not heed
 * it. */
void oat_machine_large_pages(void *block, size_t bytes);

/* The cores that are there for this process, at least 1: those that it may run on, and no more than its container has the
 * time of. OMP_NUM_THREADS, if it is set, stands in their place; OMP_THREAD_LIMIT is an upper limit of both, and so is
 * the address space where it is limited (ulimit -v, -d). */
int oat_machine_cores(void);
/* The same, whatever anybody wants: how many threads can run at the same time. As it was when they were last looked up. */
int oat_machine_processors(void);
/* They are no more than this from now on; 0: no such limit. */
void oat_machine_set_cores(int most);
/* The cores whose time a container (cgroup v1 or v2) leaves to this process, rounded up; INT_MAX where there is no limit.
 * `root` is put before the names of the system's files: "" but in tests. */
int oat_machine_share(const char *root);

/* What a processor can do with several numbers at once, as far as linear algebra asks. */
typedef enum oat_simd { OAT_SIMD_UNKNOWN, OAT_SIMD_SSE, OAT_SIMD_AVX, OAT_SIMD_AVX2, OAT_SIMD_AVX512 } oat_simd;
typedef struct oat_processor {
  oat_simd simd;
  bool amd;
} oat_processor;
oat_processor oat_machine_processor(void);
const char *oat_simd_word(oat_simd simd); /* "AVX2" */
const char *oat_processor_name(void);     /* the word for the processor here */

#endif
