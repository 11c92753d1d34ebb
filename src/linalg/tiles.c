/* Dense factorisations and solves by tiles, in threads.
 *
 * A matrix is cut into square tiles. Each step reads up to two tiles and changes one, by one BLAS or LAPACK call on one
 * thread. Steps are listed in the order in which one thread would take them. With several threads, a step is an OpenMP
 * task that starts when the earlier steps on its tiles are done, so each tile goes through the same steps in any
 * schedule. The size of the tiles depends only on the order of the matrix. So results have the same bits for any number
 * of threads.
 *
 * The loops are the in-place tile algorithms of PLASMA (Buttari, Langou, Kurzak and Dongarra 2009; Agullo and others
 * 2010). */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "linalg/calls.h"
#include "util/threads.h"

enum { SMALLEST_TILE = 64, LARGEST_TILE = 384, FEW_COLUMNS = 4, LARGE_TILE = 96 };
/* Times n^(2/3): 9 tiles a side for 1000 rows, 16 for 5000. More tiles cost one thread more than they gain for many. */
#define TILE_GROWTH 1.1
#define SLOW_FLOPS 4 /* one flop that waits for memory counts as this many flops of a product */

/* ---- steps ----------------------------------------------------------------------------------------------------- */

/* Shared by the steps of one call. */
typedef struct crew {
  bool tasks;          /* steps are tasks */
  atomic_size_t pivot; /* the one that failed, from 1; 0 for none. No step is taken after that. */
} crew;

/* c changes, a and b are read. */
typedef struct step {
  void (*act)(const struct step *s);
  oat_view c;
  oat_const_view a, b;
  crew *crew;
  size_t first; /* the place of c on the diagonal */
  double lift;  /* of the diagonal of c */
} step;

static void perform(const step *s) {
  if (atomic_load_explicit(&s->crew->pivot, memory_order_relaxed) == 0) {
    s->act(s);
  }
}

/* Tiles are known by their first elements. */
static void submit(step s) {
  s.a = s.a.a != NULL ? s.a : oat_as_const(s.c);
  s.b = s.b.a != NULL ? s.b : s.a;
  if (!s.crew->tasks) {
    perform(&s);
    return;
  }
#pragma omp task firstprivate(s) depend(in : *s.a.a, *s.b.a) depend(inout : *s.c.a)
  perform(&s);
}

/* ---- a matrix in tiles ----------------------------------------------------------------------------------------- */

typedef struct tiling {
  size_t n, tile, count;
} tiling;

static tiling tiling_of(size_t n) {
  const double wanted = fmin(fmax(TILE_GROWTH * pow((double)n, 2.0 / 3), SMALLEST_TILE), LARGEST_TILE);
  const size_t count = n < 2 * SMALLEST_TILE ? 1 : (size_t)((double)n / wanted + 0.5);
  const size_t tile =
      count > 1 ? ((n + count - 1) / count + 7) & ~(size_t)7 : n; /* a multiple of 8 suits vector registers */
  return n > 0 ? (tiling){n, tile, (n + tile - 1) / tile} : (tiling){0, 1, 0};
}

static size_t rows_of(const tiling *t, size_t i) { return i + 1 < t->count ? t->tile : t->n - i * t->tile; }

static oat_const_view const_tile(const tiling *t, const double *a, size_t i, size_t j) {
  return (oat_const_view){a + i * t->tile + j * t->tile * t->n, rows_of(t, i), rows_of(t, j), t->n};
}

static oat_view tile(const tiling *t, double *a, size_t i, size_t j) {
  return (oat_view){a + i * t->tile + j * t->tile * t->n, rows_of(t, i), rows_of(t, j), t->n};
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* A job; `plan` submits its steps. */
typedef struct tile_job {
  void (*plan)(struct tile_job *job);
  double flops;
  tiling t;
  double *a;          /* n x n, changes */
  const double *from; /* n x n: what a is first copied from, or NULL; of a solve, the factor */
  double lift;        /* of the diagonal of that copy */
  oat_op op;          /* of a solve */
  oat_view b;         /* its right sides */
  crew crew;
} tile_job;

/* The first thread submits the steps. From any other thread, GNU's OpenMP could lose its table of dependences. */
static void run(tile_job *job, int threads) {
  const int useful = oat_threads_for(threads, job->flops);
  job->crew.tasks = useful > 1;
  if (!job->crew.tasks) {
    job->plan(job);
    return;
  }
  const int place = oat_place();
#pragma omp parallel num_threads(useful)
  {
    oat_leave_place(place);
#pragma omp master
    job->plan(job);
  }
}

/* ---- Cholesky -------------------------------------------------------------------------------------------------- */

static void act_clear(const step *s) {
  for (size_t j = 0; j < s->c.columns; j++) {
    memset(s->c.a + j * s->c.ld, 0, s->c.rows * sizeof *s->c.a);
  }
}

static void act_copy(const step *s) {
  for (size_t j = 0; j < s->c.columns; j++) {
    memcpy(s->c.a + j * s->c.ld, s->a.a + j * s->a.ld, s->c.rows * sizeof *s->c.a);
  }
}

static void act_copy_diagonal(const step *s) {
  act_copy(s);
  for (size_t j = 0; j < s->c.columns; j++) {
    s->c.a[j * (s->c.ld + 1)] += s->lift;
  }
}

/* Some LAPACKs let a NaN or an infinity through; then the diagonal shows it. */
static size_t first_bad_pivot(oat_view l, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    const double pivot = l.a[i * (l.ld + 1)];
    if (!(pivot > 0) || !isfinite(pivot)) {
      return i + 1;
    }
  }
  return 0;
}

static void act_factorise(const step *s) {
  const size_t failed = oat_potrf(s->c), bad = first_bad_pivot(s->c, failed > 0 ? failed - 1 : s->c.rows),
               pivot = bad > 0 ? bad : failed;
  for (size_t j = 0; j < s->c.columns; j++) {
    memset(s->c.a + j * s->c.ld, 0, j * sizeof *s->c.a);
  }
  if (pivot > 0) {
    atomic_store_explicit(&s->crew->pivot, s->first + pivot, memory_order_relaxed);
  }
}

static void act_solve_right(const step *s) { oat_trsm(OAT_FROM_RIGHT, s->a, OAT_TRANSPOSED, s->c); }

static void act_subtract_square(const step *s) { oat_syrk_of(OAT_PLAIN, -1, s->a, 1, s->c); }

static void act_subtract_outer(const step *s) { oat_gemm(-1, s->a, OAT_PLAIN, s->b, OAT_TRANSPOSED, 1, s->c); }

/* c -= a b^T of everything to the right of the columns k */
static void submit_updates(tile_job *job, size_t k) {
  const tiling *t = &job->t;
  for (size_t j = k + 1; j < t->count; j++) {
    const oat_const_view across = const_tile(t, job->a, j, k);
    submit((step){.act = act_subtract_square, .c = tile(t, job->a, j, j), .a = across, .crew = &job->crew});
    for (size_t i = j + 1; i < t->count; i++) {
      submit((step){.act = act_subtract_outer,
                    .c = tile(t, job->a, i, j),
                    .a = const_tile(t, job->a, i, k),
                    .b = across,
                    .crew = &job->crew});
    }
  }
}

static void submit_copies(tile_job *job) {
  const tiling *t = &job->t;
  for (size_t j = 0; j < t->count; j++) {
    for (size_t i = j; i < t->count; i++) {
      submit((step){.act = i == j ? act_copy_diagonal : act_copy,
                    .c = tile(t, job->a, i, j),
                    .a = const_tile(t, job->from, i, j),
                    .crew = &job->crew,
                    .lift = job->lift});
    }
  }
}

static void submit_clears(tile_job *job) {
  const tiling *t = &job->t;
  for (size_t j = 1; j < t->count; j++) {
    for (size_t i = 0; i < j; i++) {
      submit((step){.act = act_clear, .c = tile(t, job->a, i, j), .crew = &job->crew});
    }
  }
}

/* The part above the diagonal is cleared last, when threads run out of other work. */
static void plan_cholesky(tile_job *job) {
  const tiling *t = &job->t;
  if (job->from != NULL) {
    submit_copies(job);
  }
  for (size_t k = 0; k < t->count; k++) {
    const oat_view corner = tile(t, job->a, k, k);
    submit((step){.act = act_factorise, .c = corner, .crew = &job->crew, .first = k * t->tile});
    for (size_t i = k + 1; i < t->count; i++) {
      submit((step){.act = act_solve_right, .c = tile(t, job->a, i, k), .a = oat_as_const(corner), .crew = &job->crew});
    }
    submit_updates(job, k);
  }
  submit_clears(job);
}

static double cube(size_t n) { return (double)n * (double)n * (double)n; }

static size_t factorise(size_t n, const double *from, double lift, double *a, int threads) {
  tile_job job = {.plan = plan_cholesky, .flops = cube(n) / 3, .t = tiling_of(n), .a = a, .from = from, .lift = lift};
  run(&job, threads);
  return atomic_load(&job.crew.pivot);
}

size_t oat_cholesky(size_t n, double *a, int threads) { return factorise(n, NULL, 0, a, threads); }

oat_lifted oat_cholesky_lifted(size_t n, const double *a, const oat_lifts *lifts, double *l, int threads) {
  oat_lifted done = {0, 0};
  double next = lifts->plain ? 0 : lifts->least;
  do {
    done.lift = next;
    done.pivot = factorise(n, a, lifts->base + done.lift, l, threads);
    next = done.lift > 0 ? lifts->factor * done.lift : lifts->least;
  } while (done.pivot != 0 && next > done.lift && next <= lifts->most);
  return done;
}

/* ---- the inverse ----------------------------------------------------------------------------------------------- */

static void act_invert(const step *s) { oat_trtri(s->c); }

static void act_multiply_right(const step *s) { oat_trmm(OAT_FROM_RIGHT, -1, s->a, OAT_PLAIN, s->c); }

static void act_multiply_left(const step *s) { oat_trmm(OAT_FROM_LEFT, 1, s->a, OAT_PLAIN, s->c); }

static void act_multiply_transposed(const step *s) { oat_trmm(OAT_FROM_LEFT, 1, s->a, OAT_TRANSPOSED, s->c); }

static void act_add_product(const step *s) { oat_gemm(1, s->a, OAT_PLAIN, s->b, OAT_PLAIN, 1, s->c); }

static void act_add_inner(const step *s) { oat_gemm(1, s->a, OAT_TRANSPOSED, s->b, OAT_PLAIN, 1, s->c); }

static void act_add_square(const step *s) { oat_syrk_of(OAT_TRANSPOSED, 1, s->a, 1, s->c); }

static void act_square(const step *s) { oat_lauum(s->c); }

/* L <- L^-1. Before the columns k, tiles left of them are those of the inverse of the leading part, and below that part
 * L21 L11^-1, to be multiplied by L22^-1. */
static void plan_triangle_inverse(tile_job *job) {
  const tiling *t = &job->t;
  for (size_t k = 0; k < t->count; k++) {
    const oat_view corner = tile(t, job->a, k, k);
    submit((step){.act = act_invert, .c = corner, .crew = &job->crew});
    for (size_t i = k + 1; i < t->count; i++) {
      const oat_view below = tile(t, job->a, i, k);
      submit((step){.act = act_multiply_right, .c = below, .a = oat_as_const(corner), .crew = &job->crew});
      for (size_t j = 0; j < k; j++) {
        submit((step){.act = act_add_product,
                      .c = tile(t, job->a, i, j),
                      .a = oat_as_const(below),
                      .b = const_tile(t, job->a, k, j),
                      .crew = &job->crew});
      }
    }
    for (size_t j = 0; j < k; j++) {
      submit(
          (step){.act = act_multiply_left, .c = tile(t, job->a, k, j), .a = oat_as_const(corner), .crew = &job->crew});
    }
  }
}

/* L <- the lower triangle of L^T L. Row k of tiles is added to the rows above it, and then replaced by its own
 * result. */
static void plan_square(tile_job *job) {
  const tiling *t = &job->t;
  for (size_t k = 0; k < t->count; k++) {
    const oat_view corner = tile(t, job->a, k, k);
    for (size_t j = 0; j < k; j++) {
      const oat_const_view left = const_tile(t, job->a, k, j);
      submit((step){.act = act_add_square, .c = tile(t, job->a, j, j), .a = left, .crew = &job->crew});
      for (size_t i = j + 1; i < k; i++) {
        submit((step){.act = act_add_inner,
                      .c = tile(t, job->a, i, j),
                      .a = const_tile(t, job->a, k, i),
                      .b = left,
                      .crew = &job->crew});
      }
    }
    for (size_t j = 0; j < k; j++) {
      submit((step){
          .act = act_multiply_transposed, .c = tile(t, job->a, k, j), .a = oat_as_const(corner), .crew = &job->crew});
    }
    submit((step){.act = act_square, .c = corner, .crew = &job->crew});
  }
}

static void plan_inverse(tile_job *job) {
  if (job->from != NULL) {
    submit_copies(job);
  }
  plan_triangle_inverse(job);
  plan_square(job);
}

void oat_cholesky_inverse(size_t n, const double *l, double *inverse, int threads) {
  tile_job job = {
      .plan = plan_inverse, .flops = 2 * cube(n) / 3, .t = tiling_of(n), .a = inverse, .from = l != inverse ? l : NULL};
  run(&job, threads);
}

/* ---- solves from the left -------------------------------------------------------------------------------------- */

/* A few columns are faster one by one: a product of matrices would first copy the tile. */
static bool one_by_one(const step *s) {
  return s->c.columns == 1 || (s->c.columns <= FEW_COLUMNS && s->a.rows >= LARGE_TILE);
}

static void solve_tile(const step *s, oat_op op) {
  if (!one_by_one(s)) {
    oat_trsm(OAT_FROM_LEFT, s->a, op, s->c);
    return;
  }
  for (size_t j = 0; j < s->c.columns; j++) {
    oat_trsv(s->a, op, s->c.a + j * s->c.ld);
  }
}

static void subtract(const step *s, oat_op op) {
  if (!one_by_one(s)) {
    oat_gemm(-1, s->a, op, s->b, OAT_PLAIN, 1, s->c);
    return;
  }
  for (size_t j = 0; j < s->c.columns; j++) {
    oat_gemv(-1, s->a, op, s->b.a + j * s->b.ld, 1, s->c.a + j * s->c.ld);
  }
}

static void act_solve(const step *s) { solve_tile(s, OAT_PLAIN); }

static void act_solve_transposed(const step *s) { solve_tile(s, OAT_TRANSPOSED); }

static void act_subtract(const step *s) { subtract(s, OAT_PLAIN); }

static void act_subtract_transposed(const step *s) { subtract(s, OAT_TRANSPOSED); }

/* Rows i of some columns of the right sides */
static oat_view part(const tile_job *job, size_t i, size_t column) {
  const size_t left = job->b.columns - column, width = left < job->t.tile ? left : job->t.tile;
  return (oat_view){job->b.a + i * job->t.tile + column * job->b.ld, rows_of(&job->t, i), width, job->b.ld};
}

/* Some columns: forwards through L, or backwards through L^T. Each part is subtracted from those that follow once it is
 * solved. */
static void solve_columns(tile_job *job, size_t column) {
  const tiling *t = &job->t;
  const bool forwards = job->op == OAT_PLAIN;
  for (size_t turn = 0; turn < t->count; turn++) {
    const size_t k = forwards ? turn : t->count - 1 - turn;
    const oat_view solved = part(job, k, column);
    submit((step){.act = forwards ? act_solve : act_solve_transposed,
                  .c = solved,
                  .a = const_tile(t, job->from, k, k),
                  .crew = &job->crew});
    for (size_t later = turn + 1; later < t->count; later++) {
      const size_t i = forwards ? later : t->count - 1 - later;
      submit((step){.act = forwards ? act_subtract : act_subtract_transposed,
                    .c = part(job, i, column),
                    .a = forwards ? const_tile(t, job->from, i, k) : const_tile(t, job->from, k, i),
                    .b = oat_as_const(solved),
                    .crew = &job->crew});
    }
  }
}

static void plan_solve(tile_job *job) {
  for (size_t column = 0; column < job->b.columns; column += job->t.tile) {
    solve_columns(job, column);
  }
}

void oat_solve_left(const double *l, size_t k, oat_op op, oat_view b, int threads) {
  const double flops = (double)k * (double)k * (double)b.columns;
  tile_job job = {.plan = plan_solve,
                  .flops = b.columns > FEW_COLUMNS ? flops : SLOW_FLOPS * flops,
                  .t = tiling_of(k),
                  .from = l,
                  .op = op,
                  .b = b};
  run(&job, threads);
}
