/* Groups of numbers for vector units, inside functions marked OAT_CLONES. All vector units have groups of four. Groups
 * of eight pay off only with AVX-512, which has a clone of its own. */
#ifndef OAT_GROUPS_H
#define OAT_GROUPS_H

#include "oat_config.h"
#include "util/machine.h"

typedef double four __attribute__((vector_size(32)));
typedef double eight __attribute__((vector_size(64)));
/* The same anywhere in an array. */
typedef double four_anywhere __attribute__((vector_size(32), aligned(8), may_alias));
typedef double eight_anywhere __attribute__((vector_size(64), aligned(8), may_alias));
#define AT(p) (*(const four_anywhere *)(p))
#define PUT(p) (*(four_anywhere *)(p))

/* Compiled anew into each of the instruction sets of its callers. */
#define INLINE static inline __attribute__((always_inline))

/* Whether the clone that runs here is the one for AVX-512. */
static inline bool oat_wide_groups(void) { return OAT_HAVE_CLONES && oat_machine_processor().simd == OAT_SIMD_AVX512; }

#endif
