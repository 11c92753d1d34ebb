/* The levels of a category: texts with the codes 0, 1, 2, .. in the order in which they were added, and a hash table
 * from texts to codes. */
#ifndef OAT_LEVELS_H
#define OAT_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/context.h"

/* A column with more of them is not a category. */
enum { OAT_MOST_LEVELS = 1 << 16 };

typedef struct oat_levels {
  size_t count; /* 0: an input that holds numbers */
  size_t capacity;
  char **name;
  size_t places;   /* of the table, a power of two or 0 */
  uint32_t *place; /* 1 + the code, or 0: from the hash of a text, the first free place ends the search */
} oat_levels;

#define OAT_NO_LEVEL SIZE_MAX

/* The code of a text, or OAT_NO_LEVEL. */
size_t oat_levels_find(const oat_levels *levels, const char *text, size_t length);
/* The same, but a new text becomes the last level, as UTF-8. If there are already OAT_MOST_LEVELS levels, a new text
 * gets OAT_NO_LEVEL. */
oatgp_status oat_levels_take(oatgp_context *ctx, oat_levels *levels, const char *text, size_t length, size_t *code);
/* Sorts the levels: first numbers by their values, then texts by their bytes. to[code] is the new code of each; it has
 * room for all. */
oatgp_status oat_levels_sort(oatgp_context *ctx, oat_levels *levels, size_t *to);
oatgp_status oat_levels_copy(oatgp_context *ctx, const oat_levels *levels, oat_levels *out);
void oat_levels_clear(oat_levels *levels); /* may be called with {0} */

/* Warns of rows with levels that a model has not seen: those after the first `known`. */
typedef struct oat_unseen {
  const char *input;
  const oat_levels *levels;
  size_t known, rows;
} oat_unseen;

/* Warns of them. */
void oat_levels_tell(oatgp_context *ctx, const oat_unseen *unseen);

/* The same for d inputs; NULL: all inputs hold numbers. */
oatgp_status oat_levels_copy_list(oatgp_context *ctx, const oat_levels *list, size_t d, oat_levels **out);
void oat_levels_free_list(oat_levels *list, size_t d);

#endif
