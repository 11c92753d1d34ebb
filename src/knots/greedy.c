/* Greedy variance. */
#include "rows/layout.h"
#include "knots/greedy.h"

#include <math.h>
#include <stdlib.h>

#include "linalg/linalg.h"
#include "objective/sparse.h"
#include "util/memory.h"
#include "util/threads.h"

#define FACTOR_DOUBLES ((size_t)1 << 26) /* most of the factor: half a gigabyte */
#define ROUNDING 1e-13                   /* of sigma^2: the variance that is left to a row has no digits below this */
enum { CHUNK = 2048 }; /* rows that a thread works on at a time: always the same, so that all threads give the same bits */

typedef struct pivots {
  oatgp_context *ctx; /* for progress alone */
  size_t n, d, k;
  int threads;
  double *x;      /* n x d, column-major: the rows that take part */
  double *left;   /* n: variance not explained yet */
  double *factor; /* n x k */
  double *column, *work, *row;
  size_t work_size; /* of each chunk */
} pivots;

static void free_pivots(pivots *p) {
  double *const arrays[] = {p->x, p->left, p->factor, p->column, p->work, p->row};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
}

/* Rows that take part: as many as the factor has room for, but some for each knot. This does not depend on --memory, as no choice does. */
static size_t rows_for(const oat_search *s, size_t k) {
  const size_t n = s->objective->config.rows->n, fit = FACTOR_DOUBLES / k, least = 4 * k, room = fit > least ? fit : least;
  const size_t most = OAT_GREEDY_ROWS < room ? OAT_GREEDY_ROWS : room;
  return n < most ? n : most;
}

static oatgp_status make_pivots(oat_search *s, size_t k, pivots *p) {
  const oat_rows *rows = s->objective->config.rows;
  size_t *chosen = NULL;
  oatgp_status status = OATGP_OK;
  *p = (pivots){.ctx = s->ctx, .n = rows_for(s, k), .d = rows->d, .k = k, .threads = s->objective->config.where.threads};
  p->work_size = oat_kernel_work(CHUNK, 1, p->d);
  TRY(oat_new_matrix(s->ctx, p->n, p->d, &p->x));
  TRY(oat_new_matrix(s->ctx, p->n, 1, &p->left));
  TRY(oat_new_matrix(s->ctx, p->n, p->k, &p->factor));
  TRY(oat_new_matrix(s->ctx, p->n, 1, &p->column));
  TRY(oat_new_matrix(s->ctx, p->work_size, p->n / CHUNK + 1, &p->work));
  TRY(oat_new_matrix(s->ctx, p->k, 1, &p->row));
  TRY(oat_new(s->ctx, p->n, sizeof *chosen, &chosen));
  oat_rng_sample(&s->state.rng, rows->n, p->n, chosen);
  for (size_t i = 0; i < p->n * p->d; i++) {
    p->x[i] = rows->x[chosen[i % p->n] + i / p->n * rows->n];
  }
done:
  free(chosen);
  return status;
}

/* Column number c of the factor in the rows of a chunk, for the row `pivot`. */
static void eliminate_chunk(pivots *p, const oat_covariance *cov, size_t pivot, size_t c, size_t chunk) {
  const size_t first = chunk * CHUNK, count = p->n - first < CHUNK ? p->n - first : CHUNK;
  const oat_points x = {p->x + first, count, p->n}, z = {p->x + pivot, 1, p->n};
  const double root = sqrt(p->left[pivot]);
  double *column = p->column + first, *factor = p->factor + first;
  oat_kernel_cross(cov, x, z, column, count, p->work + chunk * p->work_size);
  oat_gemv(-1, (oat_const_view){factor, count, c, p->n}, OAT_PLAIN, p->row, 1, column);
  for (size_t i = 0; i < count; i++) {
    factor[i + c * p->n] = column[i] / root;
  }
}

static void eliminate(pivots *p, const oat_covariance *cov, size_t pivot, size_t c) {
  const size_t chunks = (p->n + CHUNK - 1) / CHUNK;
  for (size_t j = 0; j < c; j++) {
    p->row[j] = p->factor[pivot + j * p->n];
  }
#pragma omp parallel for schedule(static) num_threads(oat_lane_threads(p->threads))
  for (size_t chunk = 0; chunk < chunks; chunk++) {
    eliminate_chunk(p, cov, pivot, c, chunk);
  }
  for (size_t i = 0; i < p->n; i++) {
    const double element = p->factor[i + c * p->n];
    p->left[i] -= element * element;
  }
  p->left[pivot] = 0;
}

/* Chooses rows as knots of the point; returns how many. */
static size_t choose(const oat_search *s, pivots *p, const oat_covariance *cov, oat_point *point) {
  const oat_points rows = {p->x, p->n, p->n};
  const double least = fmax(oat_soft_variance(cov, rows, point->theta[OAT_TAU]), oat_kernel_share(cov, rows, ROUNDING));
  size_t found = 0;
  oat_kernel_diagonal(cov, rows, p->left);
  for (; found < p->k && (found == 0 || !oat_search_late(s, 0)); found++) {
    size_t pivot = 0;
    for (size_t i = 1; i < p->n; i++) {
      pivot = p->left[i] > p->left[pivot] ? i : pivot;
    }
    if (found > 0 && !(p->left[pivot] > least)) { /* the first is taken even where sigma^2 is out of range */
      break;
    }
    for (size_t j = 0; j < p->d; j++) {
      point->z[found + j * p->k] = p->x[pivot + j * p->n];
    }
    if (found + 1 < p->k) {
      eliminate(p, cov, pivot, found);
    } else {
      p->left[pivot] = 0;
    }
    oat_tell_progress(p->ctx, "greedy variance", found + 1, p->k);
  }
  return found;
}

oatgp_status oat_knots_greedy(oat_search *s, size_t k) {
  const oat_covariance cov = oat_covariance_at(s->mapping.kernel, s->mapping.d, s->point.theta);
  pivots p = {0};
  oatgp_status status = OATGP_OK;
  TRY(make_pivots(s, k, &p));
  s->state.k = p.k;
  oat_search_truncate(s, choose(s, &p, &cov, &s->point));
done:
  free_pivots(&p);
  return status;
}
