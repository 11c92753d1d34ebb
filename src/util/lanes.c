/* Items to lanes, lanes to threads. */
#include "util/lanes.h"

#include <string.h>

#include "util/threads.h"

/* What the threads of a loop share. */
typedef struct progress {
  size_t done; /* items */
  bool given_up;
} progress;

static bool goes_on(const oat_loop *loop, progress *p) {
  size_t done;
  bool given_up;
#pragma omp atomic capture
  done = ++p->done;
  if (oat_in_first_thread()) {
    if (loop->what != NULL) {
      oat_tell_progress(loop->ctx, loop->what, (size_t)((double)loop->rows * (double)done / (double)loop->items), loop->rows);
    }
    if (loop->ask != NULL && !loop->ask(loop->asker)) {
#pragma omp atomic write
      p->given_up = true;
    }
  }
#pragma omp atomic read
  given_up = p->given_up;
  return !given_up;
}

static void run_lane(const oat_loop *loop, size_t lane, progress *p) {
  const size_t count = (loop->items - lane - 1) / loop->lanes + 1;
  for (size_t turn = 0; turn < count; turn++) {
    loop->item(loop->self, lane, lane + loop->lanes * (loop->backwards ? count - 1 - turn : turn));
    if (!goes_on(loop, p)) {
      return;
    }
  }
}

bool oat_loop_run(const oat_loop *loop) {
  const size_t lanes = loop->lanes < loop->items ? loop->lanes : loop->items;
  const int wanted = oat_lane_threads(loop->threads), threads = (size_t)wanted < lanes ? wanted : (int)lanes;
  progress p = {0, false};
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (size_t lane = 0; lane < lanes; lane++) {
    run_lane(loop, lane, &p);
  }
  return !p.given_up;
}

size_t oat_lanes_for(size_t items) { return items < 1 ? 1 : items < OAT_MOST_LANES ? items : OAT_MOST_LANES; }

void oat_lanes_add(size_t lanes, size_t count, size_t stride, const double *sums, double *total) {
  memmove(total, sums, count * sizeof *total);
  for (size_t lane = 1; lane < lanes; lane++) {
    const double *own = sums + lane * stride;
    for (size_t i = 0; i < count; i++) {
      total[i] += own[i];
    }
  }
}
