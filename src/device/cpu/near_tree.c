/* The nearest points by a k-d tree.
 *
 * Each node has the bounding box of its points. The distance of a box from a point is computed like a distance between
 * points, input by input in the same order. Rounding preserves the order of numbers, so no point of the box is nearer
 * than that, to the last bit. So a node is skipped only if none of its points can be among the nearest. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/near_parts.h"
#include "oat_config.h"
#include "util/machine.h"
#include "util/rng.h"

enum { LEAF = OAT_NEAR_LEAF, WIDE = OAT_NEAR_WIDE, LINE = 8 }; /* numbers in a line of the cache */

/* ---- the order of the points ----------------------------------------------------------------------------------- */

/* A point with its coordinate on the side that is split. */
typedef struct keyed {
  double key;
  uint32_t number;
} keyed;

static bool is_less(keyed a, keyed b) { return a.key < b.key || (a.key == b.key && a.number < b.number); }

static keyed middle_of(keyed a, keyed b, keyed c) {
  const bool ab = is_less(a, b), bc = is_less(b, c), ac = is_less(a, c);
  return ab == bc ? b : ab == ac ? c : a;
}

/* The `left` smallest of them come first. Pivots are random, so that no order of points makes it slow; all are
 * different by their numbers. */
static void part(keyed *p, size_t count, size_t left, oat_rng *rng) {
  while (count > 1 && left > 0 && left < count) {
    const keyed pivot =
        middle_of(p[oat_rng_below(rng, count)], p[oat_rng_below(rng, count)], p[oat_rng_below(rng, count)]);
    size_t low = 0, high = count - 1;
    for (;;) {
      while (is_less(p[low], pivot)) {
        low++;
      }
      while (is_less(pivot, p[high])) {
        high--;
      }
      if (low >= high) {
        break;
      }
      const keyed swapped = p[low];
      p[low++] = p[high];
      p[high--] = swapped;
    }
    low += low == high && left > low; /* the pivot, in its place: it goes to either side */
    if (left <= low) {
      count = low;
    } else {
      p += low;
      count -= low;
      left -= low;
    }
  }
}

/* The widest side of the box of some points. */
static size_t widest(const double *rows, size_t d, const keyed *p, size_t count, double *box) {
  size_t side = 0;
  double width = -1;
  for (size_t j = 0; j < d; j++) {
    box[j] = HUGE_VAL;
    box[d + j] = -HUGE_VAL;
  }
  for (size_t i = 0; i < count; i++) {
    const double *x = rows + p[i].number * d;
    for (size_t j = 0; j < d; j++) {
      box[j] = x[j] < box[j] ? x[j] : box[j];
      box[d + j] = x[j] > box[d + j] ? x[j] : box[d + j];
    }
  }
  for (size_t j = 0; j < d; j++) {
    if (box[d + j] - box[j] > width) {
      width = box[d + j] - box[j];
      side = j;
    }
  }
  return side;
}

/* The largest power of two of leaves such that the right part is not empty. */
static size_t left_of(size_t count) {
  size_t left = LEAF;
  while (2 * left < count) {
    left *= 2;
  }
  return left;
}

typedef struct range {
  size_t first, count;
} range;

/* Splits until each part is a leaf. Few left parts wait at a time, because none is smaller than the part after it. */
static void split(const double *rows, size_t n, size_t d, keyed *p, double *box) {
  range waiting[64] = {{0, n}};
  size_t depth = 1;
  oat_rng rng;
  oat_rng_seed(&rng, 1);
  while (depth > 0) {
    const range r = waiting[--depth];
    if (r.count <= LEAF) {
      continue;
    }
    const size_t side = widest(rows, d, p + r.first, r.count, box), left = left_of(r.count);
    for (size_t i = r.first; i < r.first + r.count; i++) {
      p[i].key = rows[p[i].number * d + side];
    }
    part(p + r.first, r.count, left, &rng);
    waiting[depth++] = (range){r.first, left};
    waiting[depth++] = (range){r.first + left, r.count - left};
  }
}

oatgp_status oat_near_order(oatgp_context *ctx, const double *rows, size_t n, size_t d, uint32_t *order) {
  oatgp_status status = OATGP_OK;
  oat_scratch scratch = {.ctx = ctx};
  keyed *p = oat_take(&scratch, n, sizeof *p);
  double *box = oat_take_doubles(&scratch, d, 2);
  TRY(scratch.status);
  for (size_t i = 0; i < n; i++) {
    p[i].number = (uint32_t)i;
  }
  split(rows, n, d, p, box);
  for (size_t i = 0; i < n; i++) {
    order[i] = p[i].number;
  }
done:
  oat_scratch_free(&scratch);
  return status;
}

/* ---- the tree -------------------------------------------------------------------------------------------------- */

static size_t in_parts(size_t count, size_t size) { return (count + size - 1) / size; }

/* The levels and where their nodes are; returns the number of places. */
static size_t lay_out(oat_near_tree *tree) {
  size_t places = 0, nodes = in_parts(tree->n, LEAF), parents;
  do {
    parents = in_parts(nodes, WIDE);
    tree->first[tree->levels++] = places;
    places += parents * WIDE;
    nodes = parents;
  } while (parents > 1);
  return places;
}

/* Where the box of a node begins: its smallest coordinates are WIDE * 2 apart, the largest WIDE after each. */
static double *box_of(const oat_near_tree *tree, size_t node) {
  return tree->box + node / WIDE * WIDE * 2 * tree->d + node % WIDE;
}

static void widen(double *box, size_t j, double low, double high) {
  double *at = box + j * 2 * WIDE;
  at[0] = low < at[0] ? low : at[0];
  at[WIDE] = high > at[WIDE] ? high : at[WIDE];
}

static void clear_boxes(const oat_near_tree *tree, size_t places) {
  for (size_t node = 0; node < places; node++) {
    tree->least[node] = OAT_NEAR_NONE;
    for (size_t j = 0; j < tree->d; j++) {
      box_of(tree, node)[j * 2 * WIDE] = HUGE_VAL;
      box_of(tree, node)[j * 2 * WIDE + WIDE] = -HUGE_VAL;
    }
  }
}

/* Copies its points into a leaf; places after the last one are never used as points. */
static void fill_leaf(const oat_near_tree *tree, const double *rows, size_t leaf) {
  for (size_t c = 0; c < LEAF; c++) {
    const uint32_t number = tree->number[leaf * LEAF + c];
    for (size_t j = 0; number != OAT_NEAR_NONE && j < tree->d; j++) {
      const double x = rows[number * tree->d + j];
      tree->x[(leaf * tree->d + j) * LEAF + c] = x;
      widen(box_of(tree, leaf), j, x, x);
    }
    tree->least[leaf] = number < tree->least[leaf] ? number : tree->least[leaf];
  }
}

/* Extends a node to contain its child. */
static void fill_node(const oat_near_tree *tree, size_t node, size_t child) {
  const double *box = box_of(tree, child);
  for (size_t j = 0; j < tree->d; j++) {
    widen(box_of(tree, node), j, box[j * 2 * WIDE], box[j * 2 * WIDE + WIDE]);
  }
  tree->least[node] = tree->least[child] < tree->least[node] ? tree->least[child] : tree->least[node];
}

oatgp_status oat_near_tree_make(oatgp_context *ctx, const double *rows, size_t n, size_t d, oat_near_tree *tree) {
  oatgp_status status = OATGP_OK;
  *tree = (oat_near_tree){.memory = {.ctx = ctx}, .n = n, .d = d};
  const size_t leaves = in_parts(n, LEAF), places = lay_out(tree);
  tree->x = oat_take_doubles(&tree->memory, leaves * LEAF, d);
  tree->box = oat_take_doubles(&tree->memory, 2 * places, d);
  tree->number = oat_take(&tree->memory, leaves * LEAF, sizeof *tree->number);
  tree->least = oat_take(&tree->memory, places, sizeof *tree->least);
  TRY(tree->memory.status);
  oat_machine_large_pages(tree->x, leaves * LEAF * d * sizeof *tree->x);
  oat_machine_large_pages(tree->box, 2 * places * d * sizeof *tree->box);
  TRY(oat_near_order(ctx, rows, n, d, tree->number));
  for (size_t i = n; i < leaves * LEAF; i++) {
    tree->number[i] = OAT_NEAR_NONE;
  }
  clear_boxes(tree, places);
  for (size_t leaf = 0; leaf < leaves; leaf++) {
    fill_leaf(tree, rows, leaf);
  }
  for (size_t level = 1, nodes = leaves; level < tree->levels; level++, nodes = in_parts(nodes, WIDE)) {
    for (size_t child = 0; child < nodes; child++) {
      fill_node(tree, tree->first[level] + child / WIDE, tree->first[level - 1] + child);
    }
  }
done:
  return status;
}

void oat_near_tree_free(oat_near_tree *tree) {
  oat_scratch_free(&tree->memory);
  *tree = (oat_near_tree){0};
}

/* ---- a search -------------------------------------------------------------------------------------------------- */

/* A waiting node, with the distance of its box. */
typedef struct waiting_node {
  oat_near_found box; /* with its smallest number: a bound of the nearest point of the node */
  uint32_t node;      /* within its level */
  uint32_t level;
} waiting_node;

/* The distances of eight boxes. A side of which the point is within counts as 0, and so does infinity less itself. */
OAT_NEAR_INLINE void distances_of_boxes(size_t d, const double *box, const double *x, double *s) {
  for (size_t c = 0; c < WIDE; c++) {
    s[c] = 0;
  }
  for (size_t j = 0; j < d; j++) {
    const double *at = box + j * 2 * WIDE;
#pragma omp simd
    for (size_t c = 0; c < WIDE; c++) {
      const double below = at[c] - x[j], above = x[j] - at[WIDE + c], out = below > above ? below : above,
                   gap = out > 0 ? out : 0;
      s[c] += gap * gap;
    }
  }
}

OAT_NEAR_INLINE void distances_of_leaf(size_t d, const double *leaf, const double *x, double *s) {
  for (size_t c = 0; c < LEAF; c++) {
    s[c] = 0;
  }
  for (size_t j = 0; j < d; j++) {
#pragma omp simd
    for (size_t c = 0; c < LEAF; c++) {
      const double t = leaf[j * LEAF + c] - x[j];
      s[c] += t * t;
    }
  }
}

/* The nodes that wait; the last one is the next. */
typedef struct stack {
  size_t depth;
  waiting_node node[OAT_NEAR_MOST_LEVELS * WIDE];
} stack;

/* Adds the nodes below a parent to those that wait, unless they are too far; the nearest comes last. */
OAT_NEAR_INLINE void open_node(const oat_near_tree *tree, const oat_near_query *q, waiting_node parent,
                               oat_near_found farthest, stack *s) {
  const uint32_t level = parent.level - 1, child = parent.node * WIDE;
  const size_t first = tree->first[level] + child, bottom = s->depth;
  double distance[WIDE];
  distances_of_boxes(tree->d, tree->box + first * 2 * tree->d, q->x, distance);
  for (uint32_t c = 0; c < WIDE; c++) {
    const waiting_node w = {{distance[c], tree->least[first + c]}, child + c, level};
    if (w.box.number < q->limit && oat_near_is_nearer(w.box, farthest)) {
      size_t at = s->depth++;
      for (; at > bottom && oat_near_is_nearer(s->node[at - 1].box, w.box); at--) {
        s->node[at] = s->node[at - 1];
      }
      s->node[at] = w;
    }
  }
}

OAT_NEAR_INLINE void look_at_leaf(const oat_near_tree *tree, const oat_near_query *q, size_t leaf, size_t m,
                                  oat_near_found *heap) {
  const uint32_t *number = tree->number + leaf * LEAF;
  double s[LEAF];
  distances_of_leaf(tree->d, tree->x + leaf * LEAF * tree->d, q->x, s);
  for (size_t c = 0; c < LEAF; c++) {
    if (!(s[c] > heap[0].distance)) {
      oat_near_offer(q, m, heap, s[c], number[c]);
    }
  }
}

/* Prefetches the next node while a leaf is searched. */
OAT_NEAR_INLINE void fetch_next(const oat_near_tree *tree, const stack *s) {
  if (s->depth > 0) {
    const waiting_node *next = &s->node[s->depth - 1];
    const double *x = tree->x + (size_t)next->node * LEAF * tree->d;
    if (next->level == 0) {
      for (size_t i = 0; i < LEAF * tree->d; i += LINE) {
        __builtin_prefetch(x + i);
      }
    }
  }
}

OAT_CLONES
size_t oat_near_tree_search(const oat_near_tree *tree, const oat_near_query *q, size_t m, oat_near_found *heap) {
  stack s;
  size_t seen = WIDE;
  s.depth = 0;
  open_node(tree, q, (waiting_node){.level = (uint32_t)tree->levels}, heap[0], &s);
  while (s.depth > 0) {
    const waiting_node w = s.node[--s.depth];
    if (!oat_near_is_nearer(w.box, heap[0])) {
      continue;
    }
    if (w.level == 0) {
      fetch_next(tree, &s);
      look_at_leaf(tree, q, w.node, m, heap);
      seen += LEAF;
    } else {
      open_node(tree, q, w, heap[0], &s);
      seen += WIDE;
    }
  }
  return seen;
}
