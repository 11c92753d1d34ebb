/* The threads that a call may use: those that were asked for, or as many as the address space has room for. */
#include <limits.h>

#include "api/api.h"
#include "linalg/linalg.h"
#include "util/machine.h"
#include "util/threads.h"

/* In MiB. */
static double size_of(double bytes) { return bytes / 1048576; }

oatgp_status oat_take_threads(oatgp_context *ctx, int threads) {
  const int fit = oat_reserve_blas(threads);
  REFUSE_IF(fit < 1, ctx, OATGP_MEMORY,
            "the address space is limited to %.0f MiB (ulimit -v), and of that too little is left: the linear algebra needs %.0f MiB for "
            "one thread, besides the data",
            size_of((double)oat_machine_address_limit()), size_of((double)oat_blas_buffer()));
  if (oat_limit_threads(fit < threads ? fit : INT_MAX) && fit < threads) {
    oat_say(ctx, OATGP_NOTE, "the address space is limited to %.0f MiB (ulimit -v), which has room for %d of %d threads (%.0f MiB each)",
            size_of((double)oat_machine_address_limit()), fit, threads, size_of((double)oat_blas_buffer()));
  }
  oat_set_blas_threads(1);
  return OATGP_OK;
}
