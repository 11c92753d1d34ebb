/* Allocation with overflow checks. All memory of the library comes from here, so that one test can make any call
 * fail. */
#ifndef OAT_MEMORY_H
#define OAT_MEMORY_H

#include "util/context.h"

/* count elements of size bytes, zeroed, aligned for any type. On failure *out is NULL and the error is set. count 0
 * gives a valid pointer. Free with free(). */
oatgp_status oat_new(oatgp_context *ctx, size_t count, size_t size, void *out);
/* Makes *block hold at least `count` elements (contents kept); capacity grows by half. */
oatgp_status oat_grow(oatgp_context *ctx, size_t count, size_t size, size_t *capacity, void *block);
/* A copy of text (NULL gives NULL). */
oatgp_status oat_copy_text(oatgp_context *ctx, const char *text, char **out);

/* Memory of a function or an object that is freed as a whole. Begin with {.ctx = ctx}. */
typedef struct oat_scratch {
  oatgp_context *ctx;
  oatgp_status status; /* of everything that was taken; check it before you use the memory */
  void *blocks;
} oat_scratch;

/* Like oat_new. NULL if this call or an earlier one failed. */
void *oat_take(oat_scratch *scratch, size_t count, size_t size);
double *oat_take_doubles(oat_scratch *scratch, size_t rows, size_t columns);
/* A copy of text (NULL gives NULL). */
char *oat_take_text(oat_scratch *scratch, const char *text);
void oat_scratch_free(oat_scratch *scratch);

/* A rows x columns matrix of zeros. */
oatgp_status oat_new_matrix(oatgp_context *ctx, size_t rows, size_t columns, double **out);

#endif
