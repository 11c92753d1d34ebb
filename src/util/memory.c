/* Allocation with overflow checks. */
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

static void set_pointer(void *out, void *block) { memcpy(out, &block, sizeof block); }

oatgp_status oat_new(oatgp_context *ctx, size_t count, size_t size, void *out) {
  void *block = NULL;
  if (count <= SIZE_MAX / size) {
    block = calloc(count > 0 ? count : 1, size);
  }
  set_pointer(out, block);
  if (block == NULL) {
    return oat_no_memory(ctx, count <= SIZE_MAX / size ? count * size : SIZE_MAX);
  }
  return OATGP_OK;
}

oatgp_status oat_grow(oatgp_context *ctx, size_t count, size_t size, size_t *capacity, void *block) {
  if (count <= *capacity) {
    return OATGP_OK;
  }
  size_t wanted = *capacity + *capacity / 2 + 16;
  if (wanted < count) {
    wanted = count;
  }
  if (wanted > SIZE_MAX / size) {
    return oat_no_memory(ctx, SIZE_MAX);
  }
  void *old = NULL;
  memcpy(&old, block, sizeof old);
  void *grown = realloc(old, wanted * size);
  if (grown == NULL) {
    return oat_no_memory(ctx, wanted * size);
  }
  set_pointer(block, grown);
  *capacity = wanted;
  return OATGP_OK;
}

oatgp_status oat_copy_text(oatgp_context *ctx, const char *text, char **out) {
  *out = NULL;
  if (text == NULL) {
    return OATGP_OK;
  }
  size_t length = strlen(text) + 1;
  PASS_ON(oat_new(ctx, length, 1, out));
  memcpy(*out, text, length);
  return OATGP_OK;
}

oatgp_status oat_new_matrix(oatgp_context *ctx, size_t rows, size_t columns, double **out) {
  if (columns > 0 && rows > SIZE_MAX / columns) {
    *out = NULL;
    return oat_no_memory(ctx, SIZE_MAX);
  }
  return oat_new(ctx, rows * columns, sizeof(double), out);
}

/* Each block begins with a pointer to the one before it. The memory that is returned begins at a cache line, so that no
 * vector of numbers crosses a line. */
enum { LINE = 64, LINK = 2 * LINE };

static void *line_behind(unsigned char *block) { return block + (LINK - (uintptr_t)block % LINE); }

void *oat_take(oat_scratch *scratch, size_t count, size_t size) {
  unsigned char *block = NULL;
  if (scratch->status != OATGP_OK) {
    return NULL;
  }
  scratch->status = size > 0 && count > (SIZE_MAX - LINK) / size
                        ? oat_no_memory(scratch->ctx, SIZE_MAX)
                        : oat_new(scratch->ctx, LINK + count * size, 1, &block);
  if (block == NULL) {
    return NULL;
  }
  memcpy(block, &scratch->blocks, sizeof scratch->blocks);
  scratch->blocks = block;
  return line_behind(block);
}

double *oat_take_doubles(oat_scratch *scratch, size_t rows, size_t columns) {
  return oat_take(scratch, rows, columns > SIZE_MAX / sizeof(double) ? SIZE_MAX : columns * sizeof(double));
}

char *oat_take_text(oat_scratch *scratch, const char *text) {
  char *const copy = text != NULL ? oat_take(scratch, strlen(text) + 1, 1) : NULL;
  return copy != NULL ? strcpy(copy, text) : NULL;
}

void oat_scratch_free(oat_scratch *scratch) {
  for (void *block = scratch->blocks, *before; block != NULL; block = before) {
    memcpy(&before, block, sizeof before);
    free(block);
  }
  scratch->blocks = NULL;
}
