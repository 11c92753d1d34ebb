/* The one parallel loop. Work consists of items (blocks of rows, tiles of a matrix between rows, panels of candidates),
 * which are assigned to lanes in turn. Each lane has its own sums, which are added in the order of the lanes. The
 * assignment depends only on the data, so results have the same bits for any number of threads.
 *
 * A thread, or worker, first takes its own lanes, the same in every loop, so that it works on memory that it has
 * touched before; then it helps the others. Buffers that lanes need only while they run belong to the worker. Large
 * sums use slots: lanes then run in rounds of one lane per slot, and after each round the sums are added to those of
 * earlier rounds. */
#ifndef OAT_LANES_H
#define OAT_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/context.h"

enum { OAT_MOST_LANES = 64 };
/* One number that is read from memory and written back counts as this many flops of a product. */
#define OAT_FLOPS_OF_MEMORY 20

typedef struct oat_loop {
  oatgp_context *ctx;  /* only for progress */
  const char *what;    /* the kind of work, for progress; NULL for work that is too short to report */
  size_t items, lanes; /* lane l has the items l, l + lanes, l + 2 lanes, .. */
  size_t slots;        /* lanes of a round: lane l has slot l % slots; 0: all lanes run in one round */
  size_t workers;      /* that have buffers; 0: any number */
  size_t rows;         /* the total of all items in rows, because progress is reported in rows */
  int threads;
  double flops;   /* of all items, approximately, to decide whether threads pay off; 0: they do */
  bool backwards; /* each lane begins with its last item */
  void (*item)(void *self, size_t lane, size_t item);
  void (*join)(void *self, size_t first, size_t count); /* NULL, or called after each round with its lanes */
  void *self;
  bool (*ask)(
      void *asker); /* NULL, or called in the caller's thread after its items and after each round; false: stop */
  void *asker;
} oat_loop;

/* The largest value and its first position: the same for any order of values and lanes. */
typedef struct oat_largest {
  double value;
  size_t at;
} oat_largest;

static inline void oat_largest_take(oat_largest *largest, double value, size_t at) {
  if (value > largest->value || (value == largest->value && at < largest->at)) {
    *largest = (oat_largest){value, at};
  }
}

/* Before a loop: no lane has one yet. */
static inline void oat_largest_clear(oat_largest own[OAT_MOST_LANES]) {
  for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
    own[lane] = (oat_largest){-HUGE_VAL, SIZE_MAX};
  }
}

/* After it: the largest of all lanes, if it is larger than `least` or equal and before it; else `least`. */
static inline oat_largest oat_largest_join(oat_largest least, const oat_largest own[OAT_MOST_LANES]) {
  for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
    oat_largest_take(&least, own[lane].value, own[lane].at);
  }
  return least;
}

/* In an item: the number of the worker that runs it, less than the loop's threads and workers. */
size_t oat_worker(void);
/* Returns false if the loop was stopped. */
bool oat_loop_run(const oat_loop *loop);
/* The largest useful number of lanes for this many items. */
size_t oat_lanes_for(size_t items);
/* The largest useful number of workers for these lanes. */
static inline size_t oat_workers_for(size_t lanes, int threads) {
  const size_t useful = threads > 1 ? (size_t)threads : 1;
  return useful < lanes ? useful : lanes;
}
/* Chunks of equal size, for loops that do little with each element of an array. Item c is the chunk oat_chunk(n, c). */
typedef struct oat_span {
  size_t first, count;
} oat_span;

enum { OAT_CHUNK = 16384 };

static inline oat_span oat_chunk(size_t n, size_t item) {
  const size_t first = item * OAT_CHUNK, left = first < n ? n - first : 0;
  return (oat_span){first, left < OAT_CHUNK ? left : OAT_CHUNK};
}

/* A loop over the chunks of n elements, with about this many flops per element. */
oat_loop oat_chunks(size_t n, double flops, int threads);

/* total += the sums of lanes, `count` doubles each and `stride` apart, in their order; without `more`, total is only
 * written, and may be the sums of the first lane. */
typedef struct oat_lane_sums {
  size_t lanes, count, stride;
  const double *sums;
  double *total;
  bool more;
  int threads;
} oat_lane_sums;

void oat_lanes_add(const oat_lane_sums *sums);

#endif
