/* Threads of OpenBLAS. */
#include "linalg/linalg.h"
#include "util/threads.h"

extern void openblas_set_num_threads(int threads);

void oat_set_blas_threads(int threads) { openblas_set_num_threads(oat_lane_threads(threads)); }

extern const char *openblas_get_config(void);

const char *oat_blas_name(void) { return openblas_get_config(); }
