/* The speed of a BLAS at the operations of an evaluation, on one thread: GF/s of a product, a symmetric product and a
 * triangular solve of a block of 600 rows, of a Cholesky factor, and of a whole value with its gradient.
 *
 * It is linked to the plain interface (libblas, liblapack), so that LD_LIBRARY_PATH selects the BLAS; bench/blas.sh
 * does so for several of them in turn. A line has the number of knots, the operation, and the GF/s of the best round.
 *
 * Usage: blas [--name] [ROUNDS]. --name only says which BLAS it is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "linalg/blas.h"
#include "linalg/linalg.h"
#include "subject.h"

enum { BLOCK = 600, ROWS = 2400, INPUTS = 8, DEFAULT_ROUNDS = 5 };
#define SHORTEST_TIMING 1e-2 /* seconds; shorter operations are repeated within a timing */

static const size_t knots[] = {80, 256, 512, 1000};

/* ---- what is measured ------------------------------------------------------------------------------------------ */

typedef struct material {
  subject s;
  size_t k;
  double *rows, *product; /* BLOCK x k */
  double *matrix, *factor, *square,
      *triangle_room; /* k x k: positive definite, its factor, room; and of the triangle */
  oat_triangle triangle;
} material;

static void run_gemm(material *m) {
  const oat_const_view rows = {m->rows, BLOCK, m->k, BLOCK};
  oat_gemm(1, rows, OAT_PLAIN, oat_const_square(m->matrix, m->k), OAT_PLAIN, 0,
           (oat_view){m->product, BLOCK, m->k, BLOCK});
}

static void run_syrk(material *m) {
  oat_syrk(1, (oat_const_view){m->rows, BLOCK, m->k, BLOCK}, 0, oat_square(m->square, m->k));
}

static void run_solve(material *m) {
  memcpy(m->product, m->rows, BLOCK * m->k * sizeof *m->rows);
  oat_triangle_solve(&m->triangle, OAT_TRANSPOSED, (oat_view){m->product, BLOCK, m->k, BLOCK});
}

static void run_cholesky(material *m) {
  memcpy(m->square, m->matrix, m->k * m->k * sizeof *m->square);
  oat_cholesky(m->k, m->square, 1);
}

static void run_evaluation(material *m) { subject_gradient(&m->s); }

/* Flops: rows k^2, and k^3. */
static const struct {
  const char *name;
  void (*run)(material *m);
  double rows, of_square, of_cube;
} works[] = {{"gemm", run_gemm, BLOCK, 2, 0},
             {"syrk", run_syrk, BLOCK, 1, 0},
             {"solve", run_solve, BLOCK, 1, 0},
             {"cholesky", run_cholesky, 0, 0, 1.0 / 3},
             {"value+gradient", run_evaluation, ROWS, 4, 4.3}};

/* ---- the material ---------------------------------------------------------------------------------------------- */

static void open_material(material *m, size_t k) {
  const subject_choice choice = {{ROWS, k, INPUTS}, "vfe", "se-ard", 1};
  memset(m, 0, sizeof *m);
  subject_open(&m->s, &choice);
  m->k = k;
  m->rows = bench_numbers(m->s.ctx, BLOCK * k);
  m->product = bench_numbers(m->s.ctx, BLOCK * k);
  m->matrix = bench_numbers(m->s.ctx, k * k);
  m->factor = bench_numbers(m->s.ctx, k * k);
  m->square = bench_numbers(m->s.ctx, k * k);
  m->triangle_room = bench_numbers(m->s.ctx, oat_triangle_room(k));
  for (size_t i = 0; i < BLOCK * k; i++) {
    m->rows[i] = sin((double)i);
  }
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < k; j++) {
      m->matrix[i + j * k] = exp(-fabs((double)i - (double)j) / 10);
    }
  }
  memcpy(m->factor, m->matrix, k * k * sizeof *m->factor);
  oat_cholesky(k, m->factor, 1);
  m->triangle = oat_triangle_make(m->factor, k, m->triangle_room, 1);
}

static void close_material(material *m) {
  double *const arrays[] = {m->rows, m->product, m->matrix, m->factor, m->square, m->triangle_room};
  for (size_t i = 0; i < LENGTH(arrays); i++) {
    free(arrays[i]);
  }
  subject_close(&m->s);
}

/* ---- timing ---------------------------------------------------------------------------------------------------- */

/* Processor time, because there is one thread and the machine may have other work. */
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_of(material *m, void (*run)(material *m), size_t repeats) {
  const double began = seconds();
  for (size_t i = 0; i < repeats; i++) {
    run(m);
  }
  return (seconds() - began) / (double)repeats;
}

static double best_time(material *m, void (*run)(material *m), int rounds) {
  const size_t repeats = 1 + (size_t)(SHORTEST_TIMING / time_of(m, run, 1));
  double best = INFINITY;
  for (int i = 0; i < rounds; i++) {
    best = fmin(best, time_of(m, run, repeats));
  }
  return best;
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : DEFAULT_ROUNDS;
  if (argc > 1 && strcmp(argv[1], "--name") == 0) {
    printf("%s\n", oat_blas_name());
    return 0;
  }
  for (size_t i = 0; i < LENGTH(knots); i++) {
    const double k = (double)knots[i];
    material m;
    open_material(&m, knots[i]);
    for (size_t j = 0; j < LENGTH(works); j++) {
      const double flops = works[j].of_square * works[j].rows * k * k + works[j].of_cube * k * k * k;
      printf("%zu %s %.4g\n", knots[i], works[j].name, 1e-9 * flops / best_time(&m, works[j].run, rounds));
      fflush(stdout);
    }
    close_material(&m);
  }
  return 0;
}
