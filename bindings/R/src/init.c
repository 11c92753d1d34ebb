/* What R may call, by name and number of arguments. */
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#include "entries.h"

#define ENTRY(name, arguments) \
  { "entry_" #name, (DL_FUNC)&entry_##name, arguments }

static const R_CallMethodDef entries[] = {
    ENTRY(fit, 4),        ENTRY(refit, 4),   ENTRY(update, 2),   ENTRY(save, 2),         ENTRY(load, 1),  ENTRY(predict, 3),
    ENTRY(covariance, 2), ENTRY(samples, 4), ENTRY(score, 2),    ENTRY(loo, 2),          ENTRY(cv, 4),    ENTRY(certify, 4),
    ENTRY(knots, 1),      ENTRY(info, 1),    ENTRY(settings, 0), ENTRY(blas_threads, 0), {NULL, NULL, 0},
};

void attribute_visible R_init_oatgp(DllInfo *dll) {
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
