/* Finds rows with the same inputs. Each row has a mark, a hash of its inputs. Marks are distributed to lists by their
 * first bits, and threads sort the lists: rows with the same mark are in the same list. */
#include <stdlib.h>

#include "rows/layout.h"
#include "util/hash.h"
#include "util/lanes.h"
#include "util/memory.h"

enum { LIST_BITS = 6, LISTS = 1 << LIST_BITS };

/* Rows are distributed in shares, one after the other, so that each list keeps their order. */
typedef struct sorting {
  const oat_rows *rows;
  size_t n, share;            /* rows that are checked, and rows of a share */
  uint64_t *mark;             /* of each row */
  oat_marked *list;           /* all lists, one after the other */
  size_t place[LISTS][LISTS]; /* by share and list: how many rows, then where the next one goes */
  size_t begin[LISTS + 1];    /* of the lists */
  oat_repeats found[LISTS];
} sorting;

static size_t list_of(uint64_t mark) { return (size_t)(mark >> (64 - LIST_BITS)); }

static uint64_t mark_of(const oat_row_block *b, size_t d, size_t i) {
  uint64_t mark = OAT_HASH_START;
  for (size_t j = 0; j < d; j++) {
    const double value = b->x.a[i + j * b->x.ld] + 0.0; /* turns -0 into 0 */
    mark = oat_hash(mark, &value, sizeof value);
  }
  return mark;
}

static void mark_share(void *self, size_t lane, size_t item) {
  sorting *s = self;
  const oat_row_block b = oat_rows_block(s->rows, s->share, item);
  (void)lane;
  for (size_t i = 0; i < b.n && b.first + i < s->n; i++) {
    const uint64_t mark = s->mark[b.first + i] = mark_of(&b, s->rows->d, i);
    s->place[item][list_of(mark)]++;
  }
}

/* Turns the counts into positions. */
static void lay_out(sorting *s, size_t shares) {
  size_t next = 0;
  for (size_t l = 0; l < LISTS; l++) {
    s->begin[l] = next;
    for (size_t share = 0; share < shares; share++) {
      const size_t count = s->place[share][l];
      s->place[share][l] = next;
      next += count;
    }
  }
  s->begin[LISTS] = next;
}

static void deal_share(void *self, size_t lane, size_t item) {
  sorting *s = self;
  const size_t first = item * s->share, left = s->n - first, end = first + (left < s->share ? left : s->share);
  (void)lane;
  for (size_t i = first; i < end; i++) {
    s->list[s->place[item][list_of(s->mark[i])]++] = (oat_marked){s->mark[i], i};
  }
}

static void add_group(const oat_rows *rows, const oat_marked *list, size_t count, oat_repeats *found) {
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

static void sort_list(void *self, size_t lane, size_t item) {
  sorting *s = self;
  oat_marked *const list = s->list + s->begin[item];
  const size_t count = s->begin[item + 1] - s->begin[item];
  (void)lane;
  if (count > 0) {
    qsort(list, count, sizeof *list, oat_by_mark);
  }
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && list[end].mark == list[first].mark; end++) {
    }
    if (end - first > 1) {
      add_group(s->rows, list + first, end - first, &s->found[item]);
    }
  }
}

static void work(oatgp_context *ctx, sorting *s) {
  const size_t shares = (s->n + s->share - 1) / s->share;
  oat_loop loop = {.items = shares,
                   .lanes = shares,
                   .threads = ctx->at_work,
                   .flops = 10 * OAT_FLOPS_OF_MEMORY * (double)s->n * (double)s->rows->d,
                   .self = s};
  loop.item = mark_share;
  oat_loop_run(&loop);
  lay_out(s, shares);
  loop.item = deal_share;
  oat_loop_run(&loop);
  loop.item = sort_list;
  loop.items = loop.lanes = LISTS;
  oat_loop_run(&loop);
}

oatgp_status oat_rows_repeats(oatgp_context *ctx, const oat_rows *rows, size_t most, oat_repeats *out) {
  oat_scratch memory = {.ctx = ctx};
  const size_t n = rows->n < most ? rows->n : most;
  sorting *const s = oat_take(&memory, 1, sizeof *s);
  uint64_t *const mark = oat_take(&memory, n, sizeof *mark);
  oat_marked *const list = oat_take(&memory, n, sizeof *list);
  *out = (oat_repeats){0};
  if (memory.status == OATGP_OK) {
    s->rows = rows;
    s->n = n;
    s->share = n / LISTS + 1;
    s->mark = mark;
    s->list = list;
    work(ctx, s);
    for (size_t l = 0; l < LISTS; l++) {
      out->rows += s->found[l].rows;
      out->groups += s->found[l].groups;
      out->squares += s->found[l].squares;
    }
  }
  oat_scratch_free(&memory);
  return memory.status;
}
