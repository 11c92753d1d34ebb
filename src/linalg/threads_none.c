/* A BLAS whose threads are its own affair. */
#include "linalg/linalg.h"

void oat_set_blas_threads(int threads) { (void)threads; }

const char *oat_blas_name(void) { return "not OpenBLAS, which would be the fastest free one"; }

int oat_reserve_blas(int threads) { return threads; }

size_t oat_blas_buffer(void) { return 0; }
