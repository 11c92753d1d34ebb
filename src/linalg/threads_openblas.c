/* Threads of OpenBLAS. */
#include "linalg/linalg.h"
#include "util/threads.h"

extern void openblas_set_num_threads(int threads);

void oat_set_blas_threads(int threads) { openblas_set_num_threads(oat_lane_threads(threads)); }
