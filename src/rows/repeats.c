/* Rows with the same inputs. */
#include <stdlib.h>

#include "rows/layout.h"
#include "util/hash.h"
#include "util/memory.h"

typedef struct marked {
  uint64_t mark; /* of the inputs */
  size_t row;
} marked;

static int by_mark(const void *a, const void *b) {
  const marked *x = a, *y = b;
  return x->mark != y->mark ? (x->mark > y->mark) - (x->mark < y->mark) : (x->row > y->row) - (x->row < y->row);
}

static uint64_t mark_of(const oat_rows *rows, size_t row) {
  uint64_t mark = OAT_HASH_START;
  for (size_t j = 0; j < rows->d; j++) {
    const double value = rows->x[row + j * rows->n] + 0.0; /* no -0 */
    mark = oat_hash(mark, &value, sizeof value);
  }
  return mark;
}

static void add_group(const oat_rows *rows, const marked *list, size_t count, oat_repeats *found) {
  const double first = rows->r[list[0].row];
  double mean = first; /* exactly, if all are the same */
  for (size_t i = 1; i < count; i++) {
    mean += (rows->r[list[i].row] - first) / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    found->squares += (rows->r[list[i].row] - mean) * (rows->r[list[i].row] - mean);
  }
  found->rows += count;
  found->groups++;
}

oatgp_status oat_rows_repeats(oatgp_context *ctx, const oat_rows *rows, size_t most, oat_repeats *out) {
  const size_t n = rows->n < most ? rows->n : most;
  marked *list = NULL;
  const oatgp_status status = oat_new(ctx, n, sizeof *list, &list);
  if (status != OATGP_OK) {
    return status;
  }
  *out = (oat_repeats){0};
  for (size_t i = 0; i < n; i++) {
    list[i] = (marked){mark_of(rows, i), i};
  }
  qsort(list, n, sizeof *list, by_mark);
  for (size_t first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && list[end].mark == list[first].mark; end++) {
    }
    if (end - first > 1) {
      add_group(rows, list + first, end - first, out);
    }
  }
  free(list);
  return OATGP_OK;
}
