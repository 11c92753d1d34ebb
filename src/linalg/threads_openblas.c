/* Threads of OpenBLAS. */
#include "linalg/linalg.h"
#include "util/threads.h"

extern void openblas_set_num_threads(int threads);

void oat_set_blas_threads(int threads) { openblas_set_num_threads(oat_lane_threads(threads)); }

extern const char *openblas_get_config(void);

const char *oat_blas_name(void) { return openblas_get_config(); }

/* Not in its header, but exported by every build so far; without them nothing is reserved. */
extern void *blas_memory_alloc(int which) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

int oat_reserve_blas(int threads) {
  return blas_memory_alloc != NULL && blas_memory_free != NULL ? oat_reserve_buffers(threads, blas_memory_alloc, blas_memory_free)
                                                               : threads;
}

size_t oat_blas_buffer(void) { return OAT_BLAS_BUFFER; }
