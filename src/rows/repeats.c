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

static uint64_t mark_of(const oat_row_block *b, size_t d, size_t i) {
  uint64_t mark = OAT_HASH_START;
  for (size_t j = 0; j < d; j++) {
    const double value = b->x.a[i + j * b->x.ld] + 0.0; /* no -0 */
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
  OAT_IN_ORDER(rows, b) {
    for (size_t i = 0; i < b.n && b.first + i < n; i++) {
      list[b.first + i] = (marked){mark_of(&b, rows->d, i), b.first + i};
    }
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
