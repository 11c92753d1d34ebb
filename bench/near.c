/* The search for neighbours by the tree, by all distances and by itself: seconds of each (the shortest of some rounds,
 * in turn) for several sets of points, and how much memory the process had at most.
 *
 * Usage: near [--only SET,N] [--threads T] [--near M] [--rounds R] [--way tree|all|itself] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "device/cpu/near.h"
#include "linalg/linalg.h"
#include "util/clock.h"
#include "util/rng.h"

typedef struct set {
  const char *name;
  size_t d;
  bool uniform;
  size_t relevant; /* inputs; the others have a lengthscale of 100 */
} set;

static const set sets[] = {{"uniform-2", 2, true, 2},
                           {"uniform-8", 8, true, 8},
                           {"normal-18", 18, false, 18},
                           {"normal-18-ard-4", 18, false, 4},
                           {"normal-50", 50, false, 50}};
static const size_t sizes[] = {5000, 15000, 50000};
static const char *const ways[] = {"itself", "tree", "all"}; /* in the order of oat_near_way */

typedef struct options {
  char set[32]; /* "": all */
  size_t n, m, rounds;
  int threads, way; /* way is -1: all */
} options;

/* ---- what is measured ------------------------------------------------------------------------------------------ */

static double *points_of(oatgp_context *ctx, const set *s, size_t n) {
  double *x = bench_numbers(ctx, n * s->d);
  oat_rng rng;
  oat_rng_seed(&rng, 1);
  for (size_t i = 0; i < n * s->d; i++) {
    x[i] = s->uniform ? oat_rng_uniform(&rng) : oat_rng_normal(&rng);
  }
  return x;
}

typedef struct seconds {
  double before, of; /* the points before each; those without itself */
} seconds;

static double shorter(double a, double b) { return a < b ? a : b; }

static void measure_way(oatgp_context *ctx, oat_near *near, oat_points x, size_t m, seconds *out) {
  uint32_t *list = calloc(x.n * m, sizeof *list), *without = calloc(x.n, sizeof *without);
  for (size_t i = 0; i < x.n; i++) {
    without[i] = (uint32_t)i;
  }
  double began = oat_seconds();
  bench_check(ctx, oat_near_before(near, m, list));
  out->before = shorter(out->before, oat_seconds() - began);
  began = oat_seconds();
  bench_check(ctx, oat_near_of(near, x, without, m, list));
  out->of = shorter(out->of, oat_seconds() - began);
  free(list);
  free(without);
}

static void measure(const set *s, size_t n, const options *o) {
  oatgp_context *ctx = oatgp_context_create();
  double *x = points_of(ctx, s, n), inverse[64], opened = HUGE_VAL;
  seconds best[LENGTH(ways)];
  for (size_t j = 0; j < s->d; j++) {
    inverse[j] = j < s->relevant ? 1 : 0.01;
  }
  for (size_t w = 0; w < LENGTH(ways); w++) {
    best[w] = (seconds){HUGE_VAL, HUGE_VAL};
  }
  for (size_t round = 0; round < o->rounds; round++) {
    oat_near *near = NULL;
    const double began = oat_seconds();
    bench_check(ctx, oat_near_open(ctx, (oat_points){x, n, n}, s->d, inverse, o->threads, &near));
    opened = shorter(opened, oat_seconds() - began);
    for (size_t w = 0; w < LENGTH(ways); w++) {
      if (o->way < 0 || o->way == (int)w) {
        oat_near_force(near, (oat_near_way)w);
        measure_way(ctx, near, (oat_points){x, n, n}, o->m, &best[w]);
      }
    }
    oat_near_close(near);
  }
  printf("%-16s %8zu %8.3f", s->name, n, opened);
  for (size_t w = 0; w < LENGTH(ways); w++) {
    printf("  %8.3f %8.3f", best[w].before, best[w].of);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf(" %8ld\n", usage.ru_maxrss / 1024);
  fflush(stdout);
  free(x);
  oatgp_context_free(ctx);
}

/* ---- what the caller wants ------------------------------------------------------------------------------------- */

static bool read_way(options *o, const char *value) {
  for (size_t w = 0; w < LENGTH(ways); w++) {
    if (strcmp(value, ways[w]) == 0) {
      o->way = (int)w;
      return true;
    }
  }
  return false;
}

static bool read_options(options *o, int argc, char **argv) {
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    char rest;
    const bool known =
        strcmp(argv[i], "--only") == 0      ? sscanf(value, "%31[^,],%zu%c", o->set, &o->n, &rest) == 2 && o->n > 0
        : strcmp(argv[i], "--threads") == 0 ? sscanf(value, "%d%c", &o->threads, &rest) == 1 && o->threads > 0
        : strcmp(argv[i], "--near") == 0    ? sscanf(value, "%zu%c", &o->m, &rest) == 1
        : strcmp(argv[i], "--rounds") == 0  ? sscanf(value, "%zu%c", &o->rounds, &rest) == 1
        : strcmp(argv[i], "--way") == 0     ? read_way(o, value)
                                            : false;
    if (!known) {
      fprintf(stderr, "near: '%s' is not an option, or its value cannot be taken\n", argv[i]);
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  options o = {.m = 30, .rounds = 3, .threads = 1, .way = -1};
  if (!read_options(&o, argc, argv)) {
    fprintf(stderr, "usage: near [--only SET,N] [--threads T] [--near M] [--rounds R] [--way tree|all|itself]\n");
    return 2;
  }
  oat_set_blas_threads(1);
  printf("seconds: before each point, and of all without it\n%-16s %8s %8s  %17s  %17s  %17s %8s\n", "points", "n",
         "open", "by itself", "tree", "all", "MB");
  for (size_t i = 0; i < LENGTH(sets); i++) {
    for (size_t j = 0; j < LENGTH(sizes) && o.set[0] == '\0'; j++) {
      measure(&sets[i], sizes[j], &o);
    }
    if (strcmp(o.set, sets[i].name) == 0) {
      measure(&sets[i], o.n, &o);
    }
  }
  return 0;
}
