/* Which BLAS this process has, and for which processors its kernels are.
 *
 * OpenBLAS has kernels for many processors and chooses by a list of models. It takes its oldest kernels for a processor that is newer than
 * the list: Debian 12's does so on Intel's Emerald Rapids, and everything takes 4.7 times as long. So the library looks at the choice when it
 * is loaded, and puts it right. */
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

/* What is known of it. Texts are "" where it does not say. */
typedef struct oat_blas {
  oat_blas_kind kind;
  char version[32];
  char file[64];   /* where its functions are */
  char core[32];   /* the processor that its kernels are for */
  char before[32]; /* the one of its own choice, where that was changed */
  bool by_user;    /* OPENBLAS_CORETYPE is set, and stays */
  bool dynamic;    /* it has kernels for several processors */
  bool tried;      /* to change its choice */
} oat_blas;

/* What kernels for this processor use; OAT_SIMD_UNKNOWN for a name that is not in the table, which counts as good. */
oat_simd oat_core_simd(const char *core);
/* The kernels to ask OpenBLAS for in place of `core`; NULL where these are good. AVX2 will do on AMD's processors with AVX-512, as long as
 * nobody has measured which is faster there. */
const char *oat_better_core(const char *core, oat_processor processor);
/* For people: one line, and the one sentence about what is wrong, "" where nothing is. */
void oat_blas_line(const oat_blas *blas, oat_processor processor, char *out, size_t room);
void oat_blas_complaint(const oat_blas *blas, oat_processor processor, char *out, size_t room);

/* Looks at the BLAS and puts it right. It happens when the library is loaded, so that no call of the BLAS can be under way. */
void oat_blas_look(void);
/* What was found then. */
const oat_blas *oat_blas_found(void);
const char *oat_blas_name(void); /* its line */
/* The sentence for the first who asks, NULL for all others and where nothing is wrong. */
const char *oat_blas_news(void);

/* Threads of the BLAS outside of the library's own; 0: it does not say. */
int oat_blas_threads(void);

#endif
