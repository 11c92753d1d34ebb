/* A BLAS whose threads are its own affair. */
#include "linalg/linalg.h"

void oat_set_blas_threads(int threads) { (void)threads; }
