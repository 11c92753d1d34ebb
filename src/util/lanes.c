/* Items to lanes, lanes to threads. */
#include "util/lanes.h"

#include <stdatomic.h>
#include <string.h>

#include "util/threads.h"

/* Doubles of a sum that are added at a time. OAT_CHUNK is too long here: the sums of up to 127 knots would be one
 * chunk, which one thread adds for all lanes while the others wait. */
enum { CHUNK = 4096 };

/* Shared by the threads of a loop. */
typedef struct progress {
  size_t done; /* items */
  bool given_up;
} progress;

static _Thread_local size_t current_worker = 0; /* the caller's thread is 0 */

size_t oat_worker(void) { return current_worker; }

/* In the caller's thread: reports the progress of the loop, and asks whether to continue. */
static void look(const oat_loop *loop, progress *p, size_t done) {
  if (loop->what != NULL) {
    oat_tell_progress(loop->ctx, loop->what, (size_t)((double)loop->rows * (double)done / (double)loop->items),
                      loop->rows);
  }
  if (loop->ask != NULL && !loop->ask(loop->asker)) {
#pragma omp atomic write
    p->given_up = true;
  }
}

static bool goes_on(const oat_loop *loop, progress *p) {
  size_t done;
  bool given_up;
#pragma omp atomic capture
  done = ++p->done;
  if (current_worker == 0 && done < loop->items) {
    look(loop, p, done);
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

/* Some lanes, which workers share. */
typedef struct turns {
  const oat_loop *loop;
  size_t first, count;
  progress *progress;
  atomic_bool taken[OAT_MOST_LANES];
} turns;

/* The worker's own lanes, then those of others that are not taken yet. */
static void work(turns *r, size_t worker, size_t workers) {
  const size_t before = current_worker; /* loops may be nested */
  current_worker = worker;
  for (size_t i = 0; i < workers; i++) {
    for (size_t lane = (worker + i) % workers; lane < r->count; lane += workers) {
      if (!atomic_exchange_explicit(&r->taken[lane], true, memory_order_relaxed)) {
        run_lane(r->loop, r->first + lane, r->progress);
      }
    }
  }
  current_worker = before;
}

/* Threads that are not needed wait: a team that shrinks would lose them (threads.h). */
static void run_round(const oat_loop *loop, size_t first, size_t count, progress *p) {
  const int threads = count > 1 && loop->workers != 1 ? oat_threads_for(loop->threads, loop->flops) : 1;
  const size_t workers = loop->workers > 0 && (size_t)threads > loop->workers ? loop->workers : (size_t)threads;
  turns r = {.loop = loop, .first = first, .count = count, .progress = p};
  if (threads == 1) {
    work(&r, 0, 1);
    return;
  }
  const int place = oat_place();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (size_t worker = 0; worker < workers; worker++) {
    oat_leave_place(place);
    work(&r, worker, workers);
  }
}

bool oat_loop_run(const oat_loop *loop) {
  const size_t lanes = loop->lanes < loop->items ? loop->lanes : loop->items; /* at most OAT_MOST_LANES */
  const size_t slots = loop->slots > 0 && loop->slots < lanes ? loop->slots : lanes;
  progress p = {0, false};
  for (size_t first = 0; first < lanes && !p.given_up; first += slots) {
    const size_t count = lanes - first < slots ? lanes - first : slots;
    run_round(loop, first, count, &p);
    look(loop, &p, p.done); /* the caller's thread may have had no items of its own */
    if (loop->join != NULL) {
      loop->join(loop->self, first, count);
    }
  }
  return !p.given_up;
}

size_t oat_lanes_for(size_t items) { return items < 1 ? 1 : items < OAT_MOST_LANES ? items : OAT_MOST_LANES; }

oat_loop oat_chunks(size_t n, double flops, int threads) {
  const size_t items = (n + OAT_CHUNK - 1) / OAT_CHUNK;
  return (oat_loop){.items = items, .lanes = oat_lanes_for(items), .threads = threads, .flops = (double)n * flops};
}

static void add_chunk(void *self, size_t lane, size_t item) {
  const oat_lane_sums *s = self;
  const size_t first = item * CHUNK, count = s->count - first < CHUNK ? s->count - first : CHUNK;
  double *total = s->total + first;
  (void)lane;
  if (!s->more) {
    memmove(total, s->sums + first, count * sizeof *total);
  }
  for (size_t other = s->more ? 0 : 1; other < s->lanes; other++) {
    const double *own = s->sums + other * s->stride + first;
    for (size_t i = 0; i < count; i++) {
      total[i] += own[i];
    }
  }
}

void oat_lanes_add(const oat_lane_sums *sums) {
  const size_t chunks = (sums->count + CHUNK - 1) / CHUNK;
  oat_lane_sums copy = *sums;
  oat_loop_run(&(oat_loop){.items = chunks,
                           .lanes = oat_lanes_for(chunks),
                           .threads = sums->threads,
                           .flops = OAT_FLOPS_OF_MEMORY * (double)sums->count * (double)sums->lanes,
                           .item = add_chunk,
                           .self = &copy});
}
