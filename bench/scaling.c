/* One value with its gradient, for several numbers of threads: the objective of vfe, or of the exact GP for 0 knots, on
 * random rows. For 0 rows, the speed-up of the machine itself: PRODUCTS products of D x K and K x K matrices, each
 * thread with its own.
 *
 * Usage: scaling N,K,D T,T.. SECONDS. The numbers of threads take turns, for at least three rounds and so many seconds,
 * and the shortest time of each counts. Prints one JSON object for each number of threads; "same" says whether value
 * and gradient have the bits of the first. bench/scaling.py runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "linalg/linalg.h"
#include "subject.h"
#include "util/clock.h"
#include "util/lanes.h"

enum { MOST_COUNTS = 16, LEAST_ROUNDS = 3, PRODUCTS = 1024 };
#define SHORTEST_TIMING 1e-2 /* seconds; shorter operations are repeated within a timing */

typedef struct runner {
  subject s;      /* or, for 0 rows: */
  double *memory; /* of the products, for each thread */
  size_t repeats;
  double shortest;
} runner;

static void multiply(void *self, size_t lane, size_t item) {
  const runner *r = self;
  const size_t rows = r->s.choice.shape.d, k = r->s.choice.shape.k;
  double *a = r->memory + oat_worker() * (2 * rows + k) * k, *c = a + rows * k, *b = c + rows * k;
  (void)lane;
  (void)item;
  oat_gemm(1, (oat_const_view){a, rows, k, rows}, OAT_PLAIN, oat_const_square(b, k), OAT_PLAIN, 0,
           (oat_view){c, rows, k, rows});
}

static void act(runner *r) {
  if (r->memory == NULL) {
    subject_gradient(&r->s);
    return;
  }
  oat_loop_run(&(oat_loop){
      .items = PRODUCTS, .lanes = OAT_MOST_LANES, .threads = r->s.choice.threads, .item = multiply, .self = r});
}

/* Repeated operations are short. They run once before, because threads may have to be started. */
static double time_once(runner *r) {
  if (r->repeats > 1) {
    act(r);
  }
  const double began = oat_seconds();
  for (size_t i = 0; i < r->repeats; i++) {
    act(r);
  }
  return (oat_seconds() - began) / (double)r->repeats;
}

static void open_runner(runner *r, shape size, int threads) {
  const subject_choice choice = {size, size.k > 0 ? "vfe" : "full", "se-ard", threads};
  if (size.n > 0) {
    subject_open(&r->s, &choice);
  } else {
    r->s.choice = choice;
    r->memory = calloc((size_t)threads * (2 * size.d + size.k) * size.k, sizeof *r->memory);
    if (r->memory == NULL) {
      fprintf(stderr, "scaling: out of memory\n");
      exit(1);
    }
  }
  r->repeats = 1;
  r->repeats += (size_t)(SHORTEST_TIMING / time_once(r));
  r->shortest = time_once(r);
}

static void run_rounds(runner *runners, size_t count, double seconds) {
  const double began = oat_seconds();
  for (size_t round = 0; round < LEAST_ROUNDS || oat_seconds() - began < seconds; round++) {
    for (size_t i = 0; i < count; i++) {
      const double now = time_once(&runners[i]);
      runners[i].shortest = now < runners[i].shortest ? now : runners[i].shortest;
    }
  }
}

static bool same_bits(const subject *a, const subject *b) {
  if (a->choice.shape.n == 0) {
    return true;
  }
  const size_t theta = oat_theta_count(a->setup.kernel, a->choice.shape.d), z = a->choice.shape.k * a->choice.shape.d;
  return memcmp(&a->value, &b->value, sizeof a->value) == 0 &&
         memcmp(a->gradient.theta, b->gradient.theta, theta * sizeof *a->gradient.theta) == 0 &&
         (z == 0 || memcmp(a->gradient.z, b->gradient.z, z * sizeof *a->gradient.z) == 0);
}

static bool read_shape(const char *text, shape *s) {
  char rest;
  return sscanf(text, "%zu,%zu,%zu%c", &s->n, &s->k, &s->d, &rest) == 3 && s->d > 0 &&
         (s->n > 0 ? s->k <= s->n : s->k > 0);
}

/* The number of entries; 0 if it is not a list of numbers of threads. */
static size_t read_threads(const char *text, int threads[MOST_COUNTS]) {
  char *end = NULL;
  size_t count = 0;
  for (const char *at = text; count < MOST_COUNTS; at = end + 1) {
    const long number = strtol(at, &end, 10);
    if (end == at || number < 1 || number > 1024 || (*end != ',' && *end != '\0')) {
      return 0;
    }
    threads[count++] = (int)number;
    if (*end == '\0') {
      return count;
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  static runner runners[MOST_COUNTS];
  int threads[MOST_COUNTS];
  shape size;
  char *end = NULL;
  const size_t count = argc == 4 && read_shape(argv[1], &size) ? read_threads(argv[2], threads) : 0;
  const double seconds = argc == 4 ? strtod(argv[3], &end) : 0;
  if (count == 0 || *end != '\0') {
    fprintf(stderr, "usage: scaling N,K,D T,T.. SECONDS\n");
    return 2;
  }
  for (size_t i = 0; i < count; i++) {
    open_runner(&runners[i], size, threads[i]);
  }
  run_rounds(runners, count, seconds);
  for (size_t i = 0; i < count; i++) {
    printf("{\"threads\": %d, \"seconds\": %.6g, \"same\": %s}\n", threads[i], runners[i].shortest,
           same_bits(&runners[0].s, &runners[i].s) ? "true" : "false");
  }
  for (size_t i = 0; i < count; i++) {
    if (runners[i].memory == NULL) {
      subject_close(&runners[i].s);
    }
    free(runners[i].memory);
  }
  return 0;
}
