/* Searches for neighbours: the points, what is asked of them, and which way is the faster one. */
#include "device/cpu/near.h"

#include <stdlib.h>

#include "device/cpu/near_parts.h"
#include "util/lanes.h"

enum { TRIED = 32, BLOCK = OAT_NEAR_QUERIES };

struct oat_near {
  oatgp_context *ctx;
  size_t n, d;
  int threads;
  double *inverse; /* d */
  double *rows;    /* n x d, row after row, scaled */
  oat_near_tree tree;
  oat_near_way way;
  bool (*ask)(void *asker);
  void *asker;
};

/* What the threads of a search share. */
typedef struct search {
  const oat_near *near;
  size_t count;            /* of the queries */
  const double *rows;      /* of the queries */
  const uint32_t *order;   /* in which they are taken */
  bool before;             /* they are the points themselves, each with those before it */
  const uint32_t *without; /* or NULL */
  size_t m, kept;          /* wanted, and as many of them as there can be */
  uint32_t *list;
  size_t workers;
  oat_near_found *heaps; /* workers x BLOCK x kept */
  double *work;          /* workers x oat_near_all_work, for `all` */
  oat_near_all all;
} search;

/* ---- the points -------------------------------------------------------------------------------------------------- */

/* Row after row, scaled. What is no number is far from everything, as infinity is. */
static void scale(oat_points points, size_t d, const double *inverse, double *rows) {
  for (size_t i = 0; i < points.n; i++) {
    for (size_t j = 0; j < d; j++) {
      const double x = points.a[i + j * points.ld] * inverse[j];
      rows[i * d + j] = isnan(x) ? HUGE_VAL : x;
    }
  }
}

oatgp_status oat_near_open(oatgp_context *ctx, oat_points points, size_t d, const double *inverse, int threads, oat_near **out) {
  oatgp_status status = OATGP_OK;
  oat_near *near = NULL;
  TRY(oat_new(ctx, 1, sizeof *near, &near));
  *near = (oat_near){.ctx = ctx, .n = points.n, .d = d, .threads = threads};
  TRY(oat_new_matrix(ctx, d, 1, &near->inverse));
  TRY(oat_new_matrix(ctx, d, points.n, &near->rows));
  for (size_t j = 0; j < d; j++) {
    near->inverse[j] = inverse[j];
  }
  scale(points, d, inverse, near->rows);
  TRY(oat_near_tree_make(ctx, near->rows, near->n, d, &near->tree));
  *out = near;
  near = NULL;
done:
  oat_near_close(near);
  return status;
}

void oat_near_close(oat_near *near) {
  if (near != NULL) {
    oat_near_tree_free(&near->tree);
    free(near->inverse);
    free(near->rows);
    free(near);
  }
}

void oat_near_ask(oat_near *near, bool (*ask)(void *asker), void *asker) {
  near->ask = ask;
  near->asker = asker;
}

void oat_near_force(oat_near *near, oat_near_way way) { near->way = way; }

/* ---- queries ----------------------------------------------------------------------------------------------------- */

static oat_near_query query_of(const search *s, size_t number) {
  return (oat_near_query){s->rows + number * s->near->d, (uint32_t)(s->before ? number : s->near->n),
                          s->without != NULL ? s->without[number] : OAT_NEAR_NONE};
}

static void clear(size_t m, oat_near_found *heap) {
  for (size_t j = 0; j < m; j++) {
    heap[j] = (oat_near_found){HUGE_VAL, OAT_NEAR_NONE};
  }
}

/* The heap is used up: its farthest goes to the end, and so on. */
static void write_list(const search *s, oat_near_found *heap, size_t number) {
  uint32_t *list = s->list + number * s->m;
  for (size_t j = s->kept; j < s->m; j++) {
    list[j] = OAT_NEAR_NONE;
  }
  for (size_t left = s->kept; left > 0; left--) {
    list[left - 1] = heap[0].number;
    oat_near_replace(left - 1, heap, heap[left - 1]);
  }
}

static size_t block_size(const search *s, size_t item) {
  const size_t left = s->count - item * BLOCK;
  return left < BLOCK ? left : BLOCK;
}

static void search_by_tree(void *self, size_t lane, size_t item) {
  const search *s = self;
  oat_near_found *heap = s->heaps + oat_worker() * BLOCK * s->kept;
  (void)lane;
  for (size_t i = 0; i < block_size(s, item); i++) {
    const size_t number = s->order[item * BLOCK + i];
    const oat_near_query q = query_of(s, number);
    clear(s->kept, heap);
    oat_near_tree_search(&s->near->tree, &q, s->kept, heap);
    write_list(s, heap, number);
  }
}

static void search_by_all(void *self, size_t lane, size_t item) {
  const search *s = self;
  const size_t count = block_size(s, item);
  oat_near_found *heaps = s->heaps + oat_worker() * BLOCK * s->kept;
  oat_near_query q[BLOCK];
  (void)lane;
  for (size_t i = 0; i < count; i++) {
    q[i] = query_of(s, item * BLOCK + i);
  }
  clear(count * s->kept, heaps);
  oat_near_all_search(&s->all, q, count, s->kept, heaps, s->work + oat_worker() * oat_near_all_work(s->near->d));
  for (size_t i = 0; i < count; i++) {
    write_list(s, heaps + i * s->kept, item * BLOCK + i);
  }
}

/* ---- the way ----------------------------------------------------------------------------------------------------- */

/* What a point or a node costs in the tree, and a point among all: about, in the time of one flop of a product. */
static double tree_cost(size_t d) { return 10 + 3 * (double)d; }
static double all_cost(size_t d) { return 10 + (double)d; }

/* The tree, if it has to look at few points of those that are asked for: counted, not timed, for some of the queries. */
static oat_near_way choose(const search *s) {
  const size_t tried = s->count < TRIED ? s->count : TRIED;
  double seen = 0, all = 0;
  if (s->near->way != OAT_NEAR_BY_ITSELF) {
    return s->near->way;
  }
  for (size_t i = 0; i < tried; i++) {
    const oat_near_query q = query_of(s, s->count * i / tried);
    clear(s->kept, s->heaps);
    seen += (double)oat_near_tree_search(&s->near->tree, &q, s->kept, s->heaps);
    all += (double)q.limit;
  }
  return seen * tree_cost(s->near->d) < all * all_cost(s->near->d) ? OAT_NEAR_BY_TREE : OAT_NEAR_BY_ALL;
}

/* ---- searches ---------------------------------------------------------------------------------------------------- */

static oat_loop loop_of(search *s) {
  const oat_near *near = s->near;
  const size_t items = (s->count + BLOCK - 1) / BLOCK;
  return (oat_loop){.ctx = near->ctx,
                    .what = "neighbours",
                    .items = items,
                    .lanes = oat_lanes_for(items),
                    .workers = s->workers,
                    .rows = s->count,
                    .threads = near->threads,
                    .self = s,
                    .ask = near->ask,
                    .asker = near->asker};
}

static oatgp_status run(search *s) {
  oatgp_status status = OATGP_OK;
  oat_scratch scratch = {.ctx = s->near->ctx};
  s->kept = s->m < s->near->n ? s->m : s->near->n;
  s->workers = oat_workers_for(oat_lanes_for((s->count + BLOCK - 1) / BLOCK), s->near->threads);
  s->heaps = oat_take(&scratch, s->workers * BLOCK * s->kept, sizeof *s->heaps);
  TRY(scratch.status);
  oat_loop loop = loop_of(s);
  loop.item = search_by_tree;
  if (choose(s) == OAT_NEAR_BY_ALL) {
    s->work = oat_take_doubles(&scratch, oat_near_all_work(s->near->d), s->workers);
    TRY(scratch.status);
    TRY(oat_near_all_make(s->near->ctx, s->near->rows, s->near->n, s->near->d, &s->all));
    loop.item = search_by_all;
  }
  status = oat_loop_run(&loop) ? OATGP_OK : OATGP_STOPPED;
done:
  oat_near_all_free(&s->all);
  oat_scratch_free(&scratch);
  return status;
}

static void write_none(size_t count, uint32_t *list) {
  for (size_t i = 0; i < count; i++) {
    list[i] = OAT_NEAR_NONE;
  }
}

oatgp_status oat_near_before(const oat_near *near, size_t m, uint32_t *list) {
  search s = {.near = near, .count = near->n, .rows = near->rows, .order = near->tree.number, .before = true, .m = m, .list = list};
  return m > 0 && near->n > 0 ? run(&s) : OATGP_OK;
}

oatgp_status oat_near_of(const oat_near *near, oat_points x, const uint32_t *without, size_t m, uint32_t *list) {
  oatgp_status status = OATGP_OK;
  oat_scratch scratch = {.ctx = near->ctx};
  if (m == 0 || x.n == 0 || near->n == 0) {
    write_none(x.n * m, list);
    return OATGP_OK;
  }
  double *rows = oat_take_doubles(&scratch, near->d, x.n);
  uint32_t *order = oat_take(&scratch, x.n, sizeof *order);
  TRY(scratch.status);
  scale(x, near->d, near->inverse, rows);
  TRY(oat_near_order(near->ctx, rows, x.n, near->d, order));
  search s = {.near = near, .count = x.n, .rows = rows, .order = order, .without = without, .m = m, .list = list};
  TRY(run(&s));
done:
  oat_scratch_free(&scratch);
  return status;
}
