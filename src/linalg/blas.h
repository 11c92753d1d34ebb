/* Which BLAS this process uses, and for which processors its kernels are made.
 *
 * OpenBLAS has kernels for many processors and chooses from a list of models. For a processor that is newer than the
 * list, it takes its oldest kernels: Debian 12's does so on Intel's Emerald Rapids, and everything takes 4.7 times as
 * long. So the library checks the choice when it is loaded, and corrects it. */
#ifndef OAT_BLAS_H
#define OAT_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/machine.h"

typedef enum oat_blas_kind {
  OAT_OPENBLAS,
  OAT_BLIS,
  OAT_MKL,
  OAT_ATLAS,
  OAT_FLEXIBLAS,
  OAT_REFERENCE_BLAS,
  OAT_UNKNOWN_BLAS
} oat_blas_kind;

/* Facts about it. Strings are "" if unknown. */
typedef struct oat_blas {
  oat_blas_kind kind;
  char version[32];
  char file[64];   /* the file with its functions */
  char core[32];   /* the processor that its kernels are for */
  char before[32]; /* the one that it chose itself, if that was changed */
  bool by_user;    /* OPENBLAS_CORETYPE is set, and stays */
  bool dynamic;    /* it has kernels for several processors */
  bool tried;      /* to change its choice */
} oat_blas;

/* The vector instructions that kernels for this processor use; OAT_SIMD_UNKNOWN for a name that is not in the table,
 * which counts as good. */
oat_simd oat_core_simd(const char *core);
/* The kernels to request from OpenBLAS instead of `core`; NULL if these are good. */
const char *oat_better_core(const char *core, oat_processor processor);
/* One line in words, and one sentence about what is wrong, or "" if nothing is. */
void oat_blas_line(const oat_blas *blas, oat_processor processor, char *out, size_t room);
void oat_blas_complaint(const oat_blas *blas, oat_processor processor, char *out, size_t room);

/* Checks the BLAS and corrects its choice. This happens when the library is loaded, so that no BLAS call can be
 * running. */
void oat_blas_look(void);
/* What was found then. */
const oat_blas *oat_blas_found(void);
const char *oat_blas_name(void); /* its line */
/* The sentence, on the first call only; NULL afterwards, or if nothing is wrong. */
const char *oat_blas_news(void);

/* The number of threads that the BLAS uses outside the library; 0 if unknown. */
int oat_blas_threads(void);

#endif
