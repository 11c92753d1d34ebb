/* Searches for neighbours: the points, the request, and the choice of the faster method. */
#include "device/cpu/near.h"

#include <stdlib.h>

#include "device/cpu/near_parts.h"
#include "util/lanes.h"

enum {
  TRIED = 32,               /* queries whose cost decides the method */
  BLOCK = OAT_NEAR_QUERIES, /* queries of an item */
  MOST_TREES = 24,
  FEWEST_POINTS = 512 /* points that are worth a tree of their own */
};

#define FLOPS_OF_NANOSECOND 10 /* of a product, about */

struct oat_near {
  oatgp_context *ctx;
  size_t n, d;
  int threads;
  double *inverse; /* d */
  double *rows;    /* n x d, row after row, scaled */
  oat_near_tree tree;
  oat_near_way way;
};

/* Shared by the threads of a search. */
typedef struct search {
  const oat_near *near;
  size_t count;            /* of the queries */
  const double *rows;      /* of the queries */
  const uint32_t *order;   /* in which they are taken */
  bool before;             /* the queries are the points themselves, each searched among those before it */
  const uint32_t *without; /* or NULL */
  size_t m, kept;          /* wanted, and the number that there can be */
  uint32_t *list;
  size_t trees;
  oat_near_tree tree[MOST_TREES]; /* of the first half of the points, of the first half of these .. */
  size_t workers;
  oat_near_found *heaps; /* workers x BLOCK x kept */
  double *work;          /* workers x oat_near_all_work, for `all` */
  oat_near_all all;
} search;

/* ---- the points ------------------------------------------------------------------------------------------------ */

/* Row after row, scaled. A NaN is far from everything, like infinity. */
static void scale(oat_points points, size_t d, const double *inverse, double *rows) {
  for (size_t i = 0; i < points.n; i++) {
    for (size_t j = 0; j < d; j++) {
      const double x = points.a[i + j * points.ld] * inverse[j];
      rows[i * d + j] = isnan(x) ? HUGE_VAL : x;
    }
  }
}

oatgp_status oat_near_open(oatgp_context *ctx, oat_points points, size_t d, const double *inverse, int threads,
                           oat_near **out) {
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

void oat_near_force(oat_near *near, oat_near_way way) { near->way = way; }

/* ---- queries --------------------------------------------------------------------------------------------------- */

static oat_near_query query_of(const search *s, size_t number) {
  return (oat_near_query){s->rows + number * s->near->d, (uint32_t)(s->before ? number : s->near->n),
                          s->without != NULL ? s->without[number] : OAT_NEAR_NONE};
}

static void clear(size_t m, oat_near_found *heap) {
  for (size_t j = 0; j < m; j++) {
    heap[j] = (oat_near_found){HUGE_VAL, OAT_NEAR_NONE};
  }
}

/* Sorts the heap, which it destroys: the farthest goes to the end, and so on. */
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

/* The smallest tree with all points before this one, so that it has few others. */
static const oat_near_tree *tree_of(const search *s, size_t number) {
  const oat_near_tree *tree = &s->near->tree;
  for (size_t k = 0; k < s->trees && number < s->tree[k].n; k++) {
    tree = &s->tree[k];
  }
  return tree;
}

static void search_by_tree(void *self, size_t lane, size_t item) {
  const search *s = self;
  oat_near_found *heap = s->heaps + oat_worker() * BLOCK * s->kept;
  (void)lane;
  for (size_t i = 0; i < block_size(s, item); i++) {
    const size_t number = s->order[item * BLOCK + i];
    const oat_near_query q = query_of(s, number);
    clear(s->kept, heap);
    oat_near_tree_search(tree_of(s, number), &q, s->kept, heap);
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

/* ---- the way --------------------------------------------------------------------------------------------------- */

/* Approximate nanoseconds on one core for a neighbour, and for a point or node that is visited (bench/near.c). */
typedef struct cost {
  double tree, all;
} cost;

static cost cost_of(const search *s, double seen, double limit) {
  const double m = (double)s->kept, d = (double)s->near->d;
  return (cost){100 * m + seen * (3.5 + 0.2 * d), 300 * m + limit * (2.2 + 0.075 * d)};
}

/* The cost of all queries, estimated from the number of points that some of them visit in the tree. It is counted, not
 * timed. */
static cost expected_cost(const search *s) {
  const size_t tried = s->count < TRIED ? s->count : TRIED;
  const double times = (double)s->count / (double)tried;
  cost sum = {0, 0};
  for (size_t i = 0; i < tried; i++) {
    const size_t number = s->count * (i + 1) / (tried + 1);
    const oat_near_query q = query_of(s, number);
    clear(s->kept, s->heaps);
    const cost one =
        cost_of(s, (double)oat_near_tree_search(tree_of(s, number), &q, s->kept, s->heaps), (double)q.limit);
    sum = (cost){sum.tree + times * one.tree, sum.all + times * one.all};
  }
  return sum;
}

/* ---- searches -------------------------------------------------------------------------------------------------- */

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
                    .self = s};
}

static oatgp_status run(search *s) {
  oatgp_status status = OATGP_OK;
  oat_scratch scratch = {.ctx = s->near->ctx};
  s->kept = s->m < s->near->n ? s->m : s->near->n;
  s->workers = oat_workers_for(oat_lanes_for((s->count + BLOCK - 1) / BLOCK), s->near->threads);
  s->heaps = oat_take(&scratch, s->workers * BLOCK * s->kept, sizeof *s->heaps);
  TRY(scratch.status);
  const cost expected = expected_cost(s);
  const bool all = s->near->way == OAT_NEAR_BY_ITSELF ? expected.all < expected.tree : s->near->way == OAT_NEAR_BY_ALL;
  oat_loop loop = loop_of(s);
  loop.item = all ? search_by_all : search_by_tree;
  loop.flops = FLOPS_OF_NANOSECOND * (all ? expected.all : expected.tree);
  if (all) {
    s->work = oat_take_doubles(&scratch, oat_near_all_work(s->near->d), s->workers);
    TRY(scratch.status);
    TRY(oat_near_all_make(s->near->ctx, s->near->rows, s->near->n, s->near->d, &s->all));
  }
  oat_loop_run(&loop);
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

/* Makes trees of fewer and fewer of the points, and sorts the points by the trees in which they are searched. */
static oatgp_status make_trees(search *s, uint32_t *order) {
  const oat_near *near = s->near;
  size_t done = 0;
  for (size_t n = near->n / 2; n >= FEWEST_POINTS && s->trees < MOST_TREES; n /= 2) {
    PASS_ON(oat_near_tree_make(near->ctx, near->rows, n, near->d, &s->tree[s->trees++]));
  }
  for (size_t k = 0; k <= s->trees; k++) {
    const oat_near_tree *tree = k == 0 ? &near->tree : &s->tree[k - 1];
    for (size_t i = 0; i < tree->n; i++) {
      if (tree_of(s, tree->number[i]) == tree) {
        order[done++] = tree->number[i];
      }
    }
  }
  return OATGP_OK;
}

oatgp_status oat_near_before(const oat_near *near, size_t m, uint32_t *list) {
  oatgp_status status = OATGP_OK;
  uint32_t *order = NULL;
  search s = {.near = near, .count = near->n, .rows = near->rows, .before = true, .m = m, .list = list};
  if (m == 0 || near->n == 0) {
    return OATGP_OK;
  }
  TRY(oat_new(near->ctx, near->n, sizeof *order, &order));
  TRY(make_trees(&s, order));
  s.order = order;
  TRY(run(&s));
done:
  for (size_t k = 0; k < s.trees; k++) {
    oat_near_tree_free(&s.tree[k]);
  }
  free(order);
  return status;
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
