/* The threads that a call may use: those that were asked for, or as many as the address space has room for. */
#include <limits.h>

#include "api/api.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"
#include "model/model.h"
#include "util/machine.h"
#include "util/threads.h"

/* In MiB. */
static double size_of(double bytes) { return bytes / 1048576; }

oatgp_status oat_take_threads(oatgp_context *ctx, int threads, int blas_threads) {
  const int wanted = threads > blas_threads ? threads : blas_threads, fit = oat_reserve_blas(wanted);
  REFUSE_IF(fit < 1, ctx, OATGP_MEMORY,
            "the address space is limited to %.0f MiB (ulimit -v), and of that too little is left: the linear algebra needs %.0f MiB for "
            "one thread, besides the data",
            size_of((double)oat_machine_address_limit()), size_of((double)oat_blas_buffer()));
  if (oat_limit_threads(fit < wanted ? fit : INT_MAX) && fit < wanted) {
    oat_say(ctx, OATGP_NOTE, "the address space is limited to %.0f MiB (ulimit -v), which has room for %d of %d threads (%.0f MiB each)",
            size_of((double)oat_machine_address_limit()), fit, wanted, size_of((double)oat_blas_buffer()));
  }
  const char *news = oat_blas_news();
  if (news != NULL) {
    oat_say(ctx, OATGP_WARNING, "%s", news);
  }
  oat_set_blas_threads(blas_threads);
  return OATGP_OK;
}

/* A sparse model works in threads over blocks of rows, with one thread of the BLAS in each; the full GP is the BLAS's own work. */
oatgp_status oat_take_model_threads(oatgp_context *ctx, const oat_approx *approx, int threads) {
  return oat_take_threads(ctx, threads, approx->sparse ? 1 : threads);
}
