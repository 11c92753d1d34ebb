/* The library's work against the floor that BLAS sets: gemm + syrk + gemm of the same rows and knots, 5 N K^2 flops,
 * which one value with its gradient needs at least. Every line has both, timed in turn in this process; medians. The
 * floor is the same for everything that is timed, so a value alone may be below 1, and 1000 gains (4000 N K flops)
 * above it by 800 / K.
 *
 * With M neighbours the floor is the product of M x K and K x M for each row.
 *
 * With several threads each has its share of the rows for the floor. BLAS has one thread inside.
 *
 * Usage: floor [--json] [--quick] [--only N,K,D[,M]] [--what WHAT] [--threads T] [--approx MODEL] [--kernel KERNEL]
 * [--noise NOISE]. A line is printed when it has been measured. Noise: plain; known: each row also has a known
 * variance; known-alone: the same, and the gradient is without tau. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "subject.h"
#include "util/clock.h"

enum { MOST_ROUNDS = 101 };
#define SHORTEST_TIMING 2e-3 /* seconds; shorter operations are repeated within a timing */

/* ---- what is measured ------------------------------------------------------------------------------------------ */

static const shape shapes[] = {{392, 40, 3},     {4784, 80, 4},   {20000, 200, 8},     {20000, 512, 8},
                               {100000, 100, 8}, {5000, 100, 50}, {15000, 200, 18, 30}};
static const shape shapes_of_all_models[] = {{4784, 80, 4}, {20000, 200, 8}};

/* The first is measured completely for every shape. */
static const struct {
  const char *approx, *kernel;
} models[] = {{"vfe", "se-ard"},  {"fitc", "se-ard"},      {"dtc", "se-ard"},
              {"tvfe", "se-ard"}, {"vfe", "matern52-ard"}, {"vfe", "rq-ard"}};

static const int thread_counts[] = {1, 2}; /* of the first model; the others take the first count */

typedef struct what {
  const char *name;
  void (*run)(subject *s);
  bool of_all_models; /* and of models with neighbours */
} what;

static const what whats[] = {{"value", subject_value, true},
                             {"value+gradient", subject_gradient, true},
                             {"gains", subject_gains, false},
                             {"predict", subject_predict, false}};

static const char *const noises[] = {"plain", "known", "known-alone"}; /* in the order of subject_noise */

/* ---- what the caller wants ------------------------------------------------------------------------------------- */

typedef struct options {
  bool json;
  size_t least_rounds;
  double seconds;     /* seconds of a line, unless the minimum number of rounds takes longer */
  shape only;         /* n is 0: all */
  const char *what;   /* or NULL */
  const char *approx; /* or NULL: those of the models */
  const char *kernel; /* or NULL: those of the models; such as "se(x1) + se(x2)" */
  int threads;        /* or 0 */
  subject_noise noise;
} options;

static bool read_value(options *o, const char *name, const char *value) {
  char rest;
  if (strcmp(name, "--only") == 0) {
    shape *s = &o->only;
    const int read = sscanf(value, "%zu,%zu,%zu,%zu%c", &s->n, &s->k, &s->d, &s->m, &rest);
    return (read == 3 || read == 4) && s->d > 0 && s->k > 0 && s->k <= s->n && s->m < s->n;
  }
  if (strcmp(name, "--approx") == 0) {
    o->approx = value;
    return oat_approx_find(value) != NULL && oat_approx_find(value)->sparse;
  }
  if (strcmp(name, "--kernel") == 0) {
    o->kernel = value;
    return true;
  }
  if (strcmp(name, "--threads") == 0) {
    return sscanf(value, "%d%c", &o->threads, &rest) == 1 && o->threads > 0;
  }
  for (size_t i = 0; strcmp(name, "--noise") == 0 && i < LENGTH(noises); i++) {
    if (strcmp(value, noises[i]) == 0) {
      o->noise = (subject_noise)i;
      return true;
    }
  }
  for (size_t i = 0; strcmp(name, "--what") == 0 && i < LENGTH(whats); i++) {
    if (strcmp(value, whats[i].name) == 0) {
      o->what = whats[i].name;
      return true;
    }
  }
  return false;
}

static bool read_options(options *o, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      o->json = true;
    } else if (strcmp(argv[i], "--quick") == 0) {
      o->least_rounds = 3;
      o->seconds = 0.2;
    } else if (i + 1 < argc && read_value(o, argv[i], argv[i + 1])) {
      i++;
    } else {
      fprintf(stderr, "floor: '%s' is not an option, or its value cannot be taken\n", argv[i]);
      return false;
    }
  }
  return true;
}

/* ---- timing ---------------------------------------------------------------------------------------------------- */

/* Threads wait for more work in a busy loop for a while, and could compete for processors. This waits until they sleep,
 * which is when the process uses no more processor time. */
static void let_threads_sleep(void) {
  const struct timespec nap = {0, 5000000};
  clock_t before, used;
  do {
    before = clock();
    nanosleep(&nap, NULL);
    used = clock() - before;
  } while (used > CLOCKS_PER_SEC / 2000);
}

typedef struct timing {
  void (*run)(subject *s);
  size_t repeats;
  double seconds[MOST_ROUNDS];
} timing;

static double run_once(subject *s, timing *t) {
  if (s->choice.threads > 1) {
    let_threads_sleep();
  }
  const double began = oat_seconds();
  for (size_t i = 0; i < t->repeats; i++) {
    t->run(s);
  }
  const double seconds = oat_seconds() - began;
  return seconds / (double)t->repeats;
}

/* Warms up, and determines how often to repeat short operations. */
static void prepare(subject *s, timing *t) {
  t->repeats = 1;
  run_once(s, t);
  t->repeats += (size_t)(SHORTEST_TIMING / run_once(s, t));
}

static void print_head(void) {
  printf("%7s %5s %3s %4s  %-6s %-13s %-12s %-15s %7s %11s %11s %7s\n", "rows", "knots", "d", "near", "model", "kernel",
         "noise", "what", "threads", "ms", "floor, ms", "ratio");
}

static void print_row(const subject_choice *c, const char *name, double seconds, double least) {
  printf("%7zu %5zu %3zu %4zu  %-6s %-13s %-12s %-15s %7d %11.3f %11.3f %7.2f\n", c->shape.n, c->shape.k, c->shape.d,
         c->shape.m, c->approx, c->kernel, noises[c->noise], name, c->threads, 1e3 * seconds, 1e3 * least,
         seconds / least);
}

static void print_json(const subject_choice *c, const char *name, double seconds, double least) {
  printf(
      "{\"n\": %zu, \"k\": %zu, \"d\": %zu, \"m\": %zu, \"approx\": \"%s\", \"kernel\": \"%s\", \"noise\": \"%s\", "
      "\"what\": \"%s\", ",
      c->shape.n, c->shape.k, c->shape.d, c->shape.m, c->approx, c->kernel, noises[c->noise], name);
  printf("\"threads\": %d, \"seconds\": %.6g, \"floor_seconds\": %.6g, \"ratio\": %.3f}\n", c->threads, seconds, least,
         seconds / least);
}

static void measure(subject *s, const what *w, const options *o) {
  timing ours = {.run = w->run}, floor = {.run = subject_floor};
  size_t rounds = 0;
  prepare(s, &floor);
  prepare(s, &ours);
  const double began = oat_seconds();
  while (rounds < MOST_ROUNDS && (rounds < o->least_rounds || oat_seconds() - began < o->seconds)) {
    floor.seconds[rounds] = run_once(s, &floor);
    ours.seconds[rounds] = run_once(s, &ours);
    rounds++;
  }
  (o->json ? print_json : print_row)(&s->choice, w->name, bench_median(ours.seconds, rounds),
                                     bench_median(floor.seconds, rounds));
  fflush(stdout);
}

/* ---- the grid -------------------------------------------------------------------------------------------------- */

static void measure_model(const subject_choice *choice, bool first, const options *o) {
  subject s;
  subject_open(&s, choice);
  subject_equip(&s);
  for (size_t i = 0; i < LENGTH(whats); i++) {
    if ((first || whats[i].of_all_models) && (o->what == NULL || o->what == whats[i].name)) {
      measure(&s, &whats[i], o);
    }
  }
  subject_close(&s);
}

static bool same(shape a, shape b) { return a.n == b.n && a.k == b.k && a.d == b.d && a.m == b.m; }

static bool has_all_models(shape s) {
  bool found = false;
  for (size_t i = 0; i < LENGTH(shapes_of_all_models); i++) {
    found = found || same(s, shapes_of_all_models[i]);
  }
  return found;
}

static void measure_shape(shape s, const options *o) {
  for (size_t i = 0; i < LENGTH(models) && (i == 0 || (o->kernel == NULL && o->approx == NULL && has_all_models(s)));
       i++) {
    const size_t counts = o->threads > 0 || i > 0 ? 1 : LENGTH(thread_counts);
    for (size_t j = 0; j < counts; j++) {
      const subject_choice choice = {s,
                                     s.m > 0             ? "fitc"
                                     : o->approx != NULL ? o->approx
                                                         : models[i].approx,
                                     o->kernel != NULL ? o->kernel : models[i].kernel,
                                     o->threads > 0 ? o->threads : thread_counts[j], o->noise};
      measure_model(&choice, i == 0 && s.m == 0, o);
    }
  }
}

int main(int argc, char **argv) {
  options o = {.least_rounds = 5, .seconds = 1};
  if (!read_options(&o, argc, argv)) {
    fprintf(stderr,
            "usage: floor [--json] [--quick] [--only N,K,D[,M]] [--what value|value+gradient|gains|predict] [--threads "
            "T] [--approx MODEL] "
            "[--kernel "
            "KERNEL] [--noise plain|known|known-alone]\n");
    return 2;
  }
  if (!o.json) {
    print_head();
  }
  for (size_t i = 0; i < LENGTH(shapes) && o.only.n == 0; i++) {
    measure_shape(shapes[i], &o);
  }
  if (o.only.n > 0) {
    measure_shape(o.only, &o);
  }
  return 0;
}
