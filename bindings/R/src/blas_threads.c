/* Threads of R's BLAS. Which BLAS that is can change after the package was built (Debian's alternatives), so OpenBLAS's functions are looked
 * for when the package is loaded: they are weak symbols, NULL with another BLAS, whose threads are then its own affair. */
#include "glue.h"
#include "linalg/linalg.h"
#include "util/threads.h"

extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));
extern void *blas_memory_alloc(int which) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

const char *oat_blas_name(void) { return openblas_get_config != NULL ? openblas_get_config() : "R's BLAS, which is not OpenBLAS"; }

int get_blas_threads(void) { return openblas_get_num_threads != NULL ? openblas_get_num_threads() : 0; }

void set_blas_threads(int threads) {
  if (threads > 0 && openblas_set_num_threads != NULL) {
    openblas_set_num_threads(oat_lane_threads(threads)); /* one in a forked child, such as mclapply makes */
  }
}

void oat_set_blas_threads(int threads) { set_blas_threads(threads); }

int oat_reserve_blas(int threads) {
  return blas_memory_alloc != NULL && blas_memory_free != NULL ? oat_reserve_buffers(threads, blas_memory_alloc, blas_memory_free)
                                                               : threads;
}

size_t oat_blas_buffer(void) { return OAT_BLAS_BUFFER; }
