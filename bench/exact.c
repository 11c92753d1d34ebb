/* The exact GP and the dense linear algebra below it, for several numbers of threads: seconds, GF/s, and how many times
 * as fast as one thread.
 *
 * Usage: exact [--only N] [--threads T,T..] [--seconds S]. The numbers of threads take turns, for at least three rounds
 * and so many seconds, and the shortest time of each counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "fit/setup.h"
#include "linalg/linalg.h"
#include "util/clock.h"

enum { INPUTS = 8, LEAST_ROUNDS = 3, MOST_COUNTS = 16 };
static const size_t sizes[] = {300, 1000, 2000, 5000};

typedef struct options {
  size_t only; /* 0: all sizes */
  size_t counts;
  int threads[MOST_COUNTS];
  double seconds; /* for a line of each number of threads */
} options;

/* ---- what is measured ------------------------------------------------------------------------------------------ */

typedef struct subject {
  oatgp_context *ctx;
  size_t n;
  int threads;
  oatgp_data *data;
  oatgp_settings settings;
  oat_setup setup;
  oat_objective *objective[MOST_COUNTS];
  double *theta;                        /* of the gradient */
  double *matrix, *factor, *work, *one; /* n x n: positive definite, its factor, the argument that a call changes; n */
} subject;

static void make_data(subject *s) {
  oat_rng rng;
  double *x = bench_numbers(s->ctx, s->n * INPUTS), *y = bench_numbers(s->ctx, s->n);
  oat_rng_seed(&rng, 1);
  for (size_t i = 0; i < s->n * INPUTS; i++) {
    x[i] = oat_rng_normal(&rng);
    y[i / INPUTS] += sin(x[i]) + 0.1 * oat_rng_normal(&rng);
  }
  bench_check(s->ctx, oatgp_data_create(s->ctx, s->n, INPUTS, x, y, &s->data));
  free(x);
  free(y);
}

static void make_objectives(subject *s, const options *o) {
  oatgp_settings_default(&s->settings);
  s->settings.prior = "none"; /* the evidence alone */
  s->settings.approx = "full";
  s->settings.memory = 8 * (int64_t)(s->n * s->n);
  bench_check(s->ctx, oat_setup_make(s->ctx, s->data, &s->settings, NULL, &s->setup));
  for (size_t i = 0; i < o->counts; i++) {
    oat_objective_config config = oat_setup_objective(&s->setup);
    config.where.threads = o->threads[i];
    bench_check(s->ctx, oat_objective_create(s->ctx, &config, &s->objective[i]));
  }
  s->theta = bench_numbers(s->ctx, oat_theta_count(s->setup.kernel, INPUTS));
}

static void make_matrices(subject *s) {
  const size_t n = s->n;
  double **const squares[] = {&s->matrix, &s->factor, &s->work};
  for (size_t i = 0; i < LENGTH(squares); i++) {
    *squares[i] = bench_numbers(s->ctx, n * n);
  }
  s->one = bench_numbers(s->ctx, n);
  for (size_t i = 0; i < n * n; i++) {
    const double apart = fabs((double)(i % n) - (double)(i / n));
    s->matrix[i] = s->factor[i] = exp(-0.01 * apart) + (apart == 0 ? 1 : 0);
  }
  oat_cholesky(n, s->factor, 1);
}

static void evaluate(subject *s, size_t which) {
  double value;
  oat_gradient gradient = {.theta = s->theta};
  bench_check(s->ctx, oat_objective_evaluate(s->objective[which], &s->setup.start, &value, &gradient));
}

static void factorise(subject *s, size_t which) {
  (void)which;
  oat_cholesky(s->n, s->work, s->threads);
}

static void invert(subject *s, size_t which) {
  (void)which;
  oat_cholesky_inverse(s->n, s->work, s->work, s->threads);
}

static void solve(subject *s, size_t which) {
  (void)which;
  oat_solve_left(s->factor, s->n, OAT_TRANSPOSED, (oat_view){s->one, s->n, 1, s->n}, s->threads);
}

static void take_matrix(subject *s) { memcpy(s->work, s->matrix, s->n * s->n * sizeof *s->work); }

static void take_factor(subject *s) { memcpy(s->work, s->factor, s->n * s->n * sizeof *s->work); }

static void take_ones(subject *s) {
  for (size_t i = 0; i < s->n; i++) {
    s->one[i] = 1;
  }
}

typedef struct what {
  const char *name;
  void (*prepare)(subject *s); /* not timed; or NULL */
  void (*run)(subject *s, size_t which);
  double cubes, squares; /* flops, in n^3 and n^2 */
} what;

static const what whats[] = {{"value+gradient", NULL, evaluate, 1, 0},
                             {"Cholesky", take_matrix, factorise, 1.0 / 3, 0},
                             {"inverse", take_factor, invert, 2.0 / 3, 0},
                             {"solve", take_ones, solve, 0, 1}};

/* ---- timing ---------------------------------------------------------------------------------------------------- */

/* Runs once before, because threads may have to be started. */
static double time_once(subject *s, const what *w, size_t which, int threads) {
  double began = 0;
  s->threads = threads;
  for (int turn = 0; turn < 2; turn++) {
    if (w->prepare != NULL) {
      w->prepare(s);
    }
    began = oat_seconds();
    w->run(s, which);
  }
  return oat_seconds() - began;
}

static void measure(subject *s, const what *w, const options *o) {
  double shortest[MOST_COUNTS];
  const double began = oat_seconds(), n = (double)s->n, flops = (w->cubes * n + w->squares) * n * n;
  for (size_t round = 0; round < LEAST_ROUNDS || oat_seconds() - began < o->seconds * (double)o->counts; round++) {
    for (size_t i = 0; i < o->counts; i++) {
      const double now = time_once(s, w, i, o->threads[i]);
      shortest[i] = round == 0 || now < shortest[i] ? now : shortest[i];
    }
  }
  for (size_t i = 0; i < o->counts; i++) {
    printf("%6zu  %-15s %7d %11.3f %8.1f %9.2f\n", s->n, w->name, o->threads[i], 1e3 * shortest[i],
           1e-9 * flops / shortest[i], shortest[0] / shortest[i]);
  }
  fflush(stdout);
}

static void measure_size(size_t n, const options *o) {
  subject s = {.ctx = oatgp_context_create(), .n = n};
  make_data(&s);
  make_objectives(&s, o);
  make_matrices(&s);
  for (size_t i = 0; i < LENGTH(whats); i++) {
    measure(&s, &whats[i], o);
  }
  double *const arrays[] = {s.theta, s.matrix, s.factor, s.work, s.one};
  for (size_t i = 0; i < LENGTH(arrays); i++) {
    free(arrays[i]);
  }
  for (size_t i = 0; i < o->counts; i++) {
    oat_objective_free(s.objective[i]);
  }
  oat_setup_clear(&s.setup);
  oatgp_data_free(s.data);
  oatgp_context_free(s.ctx);
}

/* ---- what the caller wants ------------------------------------------------------------------------------------- */

static bool read_threads(options *o, const char *text) {
  char *end = NULL;
  o->counts = 0;
  for (const char *at = text; o->counts < MOST_COUNTS; at = end + 1) {
    const long number = strtol(at, &end, 10);
    if (end == at || number < 1 || number > 1024 || (*end != ',' && *end != '\0')) {
      return false;
    }
    o->threads[o->counts++] = (int)number;
    if (*end == '\0') {
      return true;
    }
  }
  return false;
}

static bool read_options(options *o, int argc, char **argv) {
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    char rest;
    const bool known = strcmp(argv[i], "--only") == 0      ? sscanf(value, "%zu%c", &o->only, &rest) == 1 && o->only > 0
                       : strcmp(argv[i], "--threads") == 0 ? read_threads(o, value)
                       : strcmp(argv[i], "--seconds") == 0 ? sscanf(value, "%lf%c", &o->seconds, &rest) == 1
                                                           : false;
    if (!known) {
      fprintf(stderr, "exact: '%s' is not an option, or its value cannot be taken\n", argv[i]);
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  options o = {.counts = 2, .threads = {1, 2}, .seconds = 1};
  if (!read_options(&o, argc, argv)) {
    fprintf(stderr, "usage: exact [--only N] [--threads T,T..] [--seconds S]\n");
    return 2;
  }
  oat_set_blas_threads(1);
  printf("%6s  %-15s %7s %11s %8s %9s\n", "rows", "what", "threads", "ms", "GF/s", "speed-up");
  for (size_t i = 0; i < LENGTH(sizes) && o.only == 0; i++) {
    measure_size(sizes[i], &o);
  }
  if (o.only > 0) {
    measure_size(o.only, &o);
  }
  return 0;
}
