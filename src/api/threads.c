/* The number of threads that a call may use: as many as were requested, or as many as the address space has room
 * for. */
#include <limits.h>

#include "api/api.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"
#include "util/machine.h"
#include "util/threads.h"

/* In MiB. */
static double size_of(double bytes) { return bytes / 1048576; }

oatgp_status oat_take_threads(oatgp_context *ctx, int threads) {
  const int wanted = threads > 0 ? threads : oat_machine_cores(), fit = oat_reserve_blas(wanted);
  REFUSE_IF(fit < 1, ctx, OATGP_MEMORY,
            "the address space is limited to %.0f MiB (ulimit -v or -d), and too little of it is left: besides the "
            "data, linear algebra needs %.0f MiB for one thread",
            size_of((double)oat_machine_address_limit()), size_of((double)oat_blas_buffer()));
  if (oat_limit_threads(fit < wanted ? fit : INT_MAX) && fit < wanted) {
    oat_say(ctx, OATGP_NOTE,
            "the address space is limited to %.0f MiB (ulimit -v or -d), which has room for %d of %d threads (%.0f MiB "
            "each)",
            size_of((double)oat_machine_address_limit()), fit, wanted, size_of((double)oat_blas_buffer()));
  }
  const char *news = oat_blas_news();
  if (news != NULL) {
    oat_say(ctx, OATGP_WARNING, "%s", news);
  }
  oat_set_blas_threads(1);
  ctx->at_work = oat_lane_threads(wanted);
  return OATGP_OK;
}
