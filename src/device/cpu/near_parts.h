/* Shared by the methods of a search for neighbours: the request, the result, and the one distance. */
#ifndef OAT_NEAR_PARTS_H
#define OAT_NEAR_PARTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cpu/near.h"
#include "util/memory.h"

/* A distance has the same bits on all processors and with all methods: its products are rounded before they are
 * added. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* Compiled anew into each of the instruction sets of its callers. */
#define OAT_NEAR_INLINE static inline __attribute__((always_inline))

typedef struct oat_near_query {
  const double *x;  /* d, scaled */
  uint32_t limit;   /* only smaller numbers are taken, */
  uint32_t without; /* except this one */
} oat_near_query;

/* ---- results --------------------------------------------------------------------------------------------------- */

typedef struct oat_near_found {
  double distance; /* squared */
  uint32_t number;
} oat_near_found;

OAT_NEAR_INLINE bool oat_near_is_nearer(oat_near_found a, oat_near_found b) {
  return a.distance < b.distance || (a.distance == b.distance && a.number < b.number);
}

/* The m nearest so far, as a heap whose first is the farthest of them. `f` takes the place of the first. */
OAT_NEAR_INLINE void oat_near_replace(size_t m, oat_near_found *heap, oat_near_found f) {
  size_t at = 0;
  for (size_t below = 1; below < m; below = 2 * at + 1) {
    below += below + 1 < m && oat_near_is_nearer(heap[below], heap[below + 1]);
    if (!oat_near_is_nearer(f, heap[below])) {
      break;
    }
    heap[at] = heap[below];
    at = below;
  }
  heap[at] = f;
}

OAT_NEAR_INLINE void oat_near_offer(const oat_near_query *q, size_t m, oat_near_found *heap, double distance,
                                    uint32_t number) {
  const oat_near_found f = {distance < HUGE_VAL ? distance : HUGE_VAL, number};
  if (number < q->limit && number != q->without && oat_near_is_nearer(f, heap[0])) {
    oat_near_replace(m, heap, f);
  }
}

/* ---- the tree (near_tree.c) ------------------------------------------------------------------------------------ */

/* How many points are in a leaf, and how many nodes have one parent: a multiple of what a vector holds. */
enum { OAT_NEAR_LEAF = 16, OAT_NEAR_WIDE = 8, OAT_NEAR_MOST_LEVELS = 11 };

/* A k-d tree without pointers. Leaves are full but for the last one. Eight leaves that follow each other are below one
 * node of level 1, eight of these below one of level 2, up to at most eight nodes at the top. */
typedef struct oat_near_tree {
  oat_scratch memory; /* of what follows */
  size_t n, d, levels;
  size_t first[OAT_NEAR_MOST_LEVELS]; /* of the nodes of a level, leaves being level 0, among all nodes; a multiple of
                                         OAT_NEAR_WIDE */
  double *x;                          /* leaf after leaf: d x LEAF, the points of a leaf side by side */
  uint32_t *number;                   /* of the points in that order; OAT_NEAR_NONE after the last */
  double *box;                        /* eight nodes after eight nodes: d x (least, largest) x WIDE */
  uint32_t *least;                    /* of each node: the smallest number below it */
} oat_near_tree;

/* Over n points, row after row. Free it even after a failure. */
oatgp_status oat_near_tree_make(oatgp_context *ctx, const double *rows, size_t n, size_t d, oat_near_tree *tree);
void oat_near_tree_free(oat_near_tree *tree);
/* Adds to the heap the points that are near enough. Returns how many points and nodes it has visited. */
size_t oat_near_tree_search(const oat_near_tree *tree, const oat_near_query *q, size_t m, oat_near_found *heap);

/* ---- all distances (near_all.c) -------------------------------------------------------------------------------- */

/* Distances by products around a middle, which select the points that may be near enough. */
typedef struct oat_near_all {
  size_t n, d;
  const double *rows; /* borrowed */
  double *middle;     /* d */
  double *centred;    /* n x d, row after row */
  double *norm;       /* n: their squared norms, minus the possible rounding error */
} oat_near_all;

enum { OAT_NEAR_QUERIES = 64 }; /* at a time */

oatgp_status oat_near_all_make(oatgp_context *ctx, const double *rows, size_t n, size_t d, oat_near_all *all);
void oat_near_all_free(oat_near_all *all);
/* Doubles of scratch for a search. */
size_t oat_near_all_work(size_t d);
/* `count` queries at most OAT_NEAR_QUERIES, each with m of the heaps. */
void oat_near_all_search(const oat_near_all *all, const oat_near_query *q, size_t count, size_t m,
                         oat_near_found *heaps, double *work);

#endif
