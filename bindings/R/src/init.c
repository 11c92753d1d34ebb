/* What R may call, by name and number of arguments. */
#include <stdlib.h>
#include <strings.h>

#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#include "entries.h"

#define ENTRY(name, arguments) \
  { "entry_" #name, (DL_FUNC)&entry_##name, arguments }

static const R_CallMethodDef entries[] = {
    ENTRY(fit, 4),          ENTRY(refit, 4),   ENTRY(update, 2),   ENTRY(save, 2),    ENTRY(load, 1),
    ENTRY(predict, 5),      ENTRY(answers, 4), ENTRY(gradient, 3), ENTRY(effects, 4), ENTRY(sensitivity, 5),
    ENTRY(covariance, 2),   ENTRY(samples, 5), ENTRY(score, 2),    ENTRY(loo, 2),     ENTRY(cv, 4),
    ENTRY(certify, 4),      ENTRY(knots, 1),   ENTRY(members, 1),  ENTRY(info, 1),    ENTRY(settings, 0),
    ENTRY(blas_threads, 0), {NULL, NULL, 0},
};

/* Checks of packages may use two cores; R says so by this name, CRAN also by OMP_THREAD_LIMIT. */
static void keep_to_limits(void) {
  const char *limit = getenv("_R_CHECK_LIMIT_CORES_");
  if (limit != NULL && *limit != '\0' && strcasecmp(limit, "false") != 0) {
    oatgp_set_cores(2);
  }
}

void attribute_visible R_init_oatgp(DllInfo *dll) {
  keep_to_limits();
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
