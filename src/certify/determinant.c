/* How much larger the determinant of C = K + D is than that of P = Q + D, from two traces.
 *
 * With G = K - Q and P^-1 = D^-1 - U^T U, U = LB^-1 V D^-1, and T = G U^T, which is made block by block and not kept:
 *   tr P^-1 G = tr D^-1 G - tr U T,   tr (P^-1 G)^2 = sum G_ij^2 / (n_i n_j) - 2 sum |T_i|^2 / n_i + |U T|^2 */
#include "rows/layout.h"
#include "certify/determinant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/vector.h"
#include "util/clock.h"
#include "util/memory.h"

enum { BLOCK = OAT_SYSTEM_BLOCK, PROBED = 2, SUMS = 2 };
#define ROUNDING 1e-13          /* of the sums of which a trace is the difference */
#define VARIANCE_ROUNDING 1e-15 /* of sigma^2, of which G is what is left */

/* ---- bounds from the traces ------------------------------------------------------------------------------------------ */

/* The largest sum of log(1 + x) over n numbers from 0 to `most` whose sum and sum of squares are given: some are `most`, the others equal.
 * For the parabola h that touches log(1 + x) at the others and meets it at `most`, log(1 + x) - h(x) = f''' (x - others)^2 (x - most) / 6,
 * f''' > 0, which is never positive; and the sum of h depends on the two sums alone. */
static double largest_sum(double n, double sum, double squares, double most) {
  const double mean = sum / n, square = squares / n;
  if (!(most > mean && square > mean * mean && most * mean >= square)) {
    return n * log1p(mean);
  }
  const double others = (most * mean - square) / (most - mean);
  const double share = (square - mean * mean) / (most * most - 2 * mean * most + square);
  return n * ((1 - share) * log1p(others) + share * log1p(most));
}

/* The smallest sum: some are equal, the others 0, by the parabola that touches at the former and meets log(1 + x) at 0. Of the rounding
 * errors the bad end is taken: both bounds rise with the sum and fall with the squares. */
oat_determinant oat_determinant_bounds(size_t n, const oat_traces *m) {
  const double least = m->first - m->first_error, squares = m->second + m->second_error;
  const double low = least > 0 ? least * least / squares * log1p(squares / least) : 0;
  const double high = largest_sum((double)n, fmax(m->first, 0) + m->first_error, m->second - m->second_error, sqrt(fmax(squares, 0)));
  return (oat_determinant){low, high};
}

/* ---- the traces ------------------------------------------------------------------------------------------------------ */

/* A lane's part of the memory; `square` = sum G_ij^2 / (n_i n_j), `tw` = sum |T_i|^2 / n_i. */
typedef struct sums {
  double *t, *ut, *square, *tw;
} sums;

static sums sums_of(const oat_system *s, const oat_traces_work *work, size_t lane) {
  const size_t k = s->config.sparse.k;
  double *base = work->lanes + lane * work->stride;
  return (sums){base, base + BLOCK * k, base + BLOCK * k + k * k, base + BLOCK * k + k * k + 1};
}

static oat_view u_of(const oat_system *s, const oat_traces_work *work, size_t block) {
  const size_t k = s->config.sparse.k, rows = oat_system_part(s, block).n;
  return (oat_view){work->u + block * BLOCK * k, rows, k, rows};
}

/* U of the lane's blocks. */
static void make_u(const oat_system *s, const oat_traces_work *work, size_t lane) {
  for (size_t block = lane; block < s->blocks; block += s->lanes) {
    const oat_const_view v = oat_system_v(s, &s->lane[lane], block);
    const oat_view u = u_of(s, work, block);
    memcpy(u.a, v.a, v.rows * v.columns * sizeof *u.a);
    oat_solve_right(s->config.lb, v.columns, OAT_TRANSPOSED, u);
    for (size_t c = 0; c < u.columns; c++) {
      oat_multiply_each(u.rows, s->w + block * BLOCK, u.a + c * u.ld);
    }
  }
}

static size_t stride_of(const oat_system *s) { return BLOCK * s->config.sparse.k + s->config.sparse.k * s->config.sparse.k + SUMS; }

double oat_traces_room(const oat_system *s) { return (double)s->lanes * (double)stride_of(s); }

oatgp_status oat_traces_open(oatgp_context *ctx, const oat_system *s, oat_traces_work *work) {
  const size_t k = s->config.sparse.k;
  oatgp_status status = OATGP_OK;
  work->stride = stride_of(s);
  TRY(oat_new_matrix(ctx, s->config.rows->n, k, &work->u));
  TRY(oat_new_matrix(ctx, s->lanes, work->stride, &work->lanes));
#pragma omp parallel for num_threads(oat_system_threads(s)) schedule(static, 1)
  for (size_t lane = 0; lane < s->lanes; lane++) {
    make_u(s, work, lane);
  }
done:
  return status;
}

/* G of blocks i and j in the lane's tile, its squares, and T of block i. */
static void add_tile(const oat_system *s, const oat_traces_work *work, size_t lane, size_t i, size_t j) {
  const oat_points a = oat_system_part(s, i), b = oat_system_part(s, j);
  const oat_const_view vi = oat_system_v(s, &s->lane[lane], i), vj = oat_system_v(s, &s->lane[lane], j);
  const oat_view g = {s->lane[lane].tile, a.n, b.n, a.n};
  const sums own = sums_of(s, work, lane);
  oat_kernel_cross(&s->config.sparse.cov, a, b, g.a, g.ld, s->lane[lane].work);
  oat_gemm(-1, vi, OAT_PLAIN, vj, OAT_TRANSPOSED, 1, g);
  for (size_t c = 0; c < b.n; c++) {
    *own.square += s->w[j * BLOCK + c] * oat_sum_squares(a.n, s->w + i * BLOCK, g.a + c * g.ld);
  }
  oat_gemm(1, oat_as_const(g), OAT_PLAIN, oat_as_const(u_of(s, work, j)), OAT_PLAIN, 1, (oat_view){own.t, a.n, vi.columns, a.n});
}

/* The lane's blocks among the first `height` ones, the first `width` tiles of each. */
static void sum_lane(oat_system *s, const oat_traces_work *work, size_t lane, size_t height, size_t width) {
  const size_t k = s->config.sparse.k;
  const sums own = sums_of(s, work, lane);
  memset(own.t, 0, work->stride * sizeof *own.t);
  for (size_t i = lane; i < height; i += s->lanes) {
    const oat_view u = u_of(s, work, i), t = {own.t, u.rows, k, u.rows};
    memset(own.t, 0, BLOCK * k * sizeof *own.t);
    for (size_t j = 0; j < width; j++) {
      add_tile(s, work, lane, i, j);
      if (!oat_system_goes_on(s)) {
        return;
      }
    }
    oat_gemm(1, oat_as_const(u), OAT_TRANSPOSED, oat_as_const(t), OAT_PLAIN, 1, oat_square(own.ut, k));
    for (size_t c = 0; c < k; c++) {
      *own.tw += oat_sum_squares(t.rows, s->w + i * BLOCK, t.a + c * t.ld);
    }
  }
}

static void sum_lanes(oat_system *s, const oat_traces_work *work, size_t height, size_t width) {
  oat_system_begin(s, "determinant", height * width);
#pragma omp parallel for num_threads(oat_system_threads(s)) schedule(static, 1)
  for (size_t lane = 0; lane < s->lanes; lane++) {
    sum_lane(s, work, lane, height, width);
  }
}

static double sum(size_t n, const double *x) {
  double total = 0;
  for (size_t i = 0; i < n; i++) {
    total += x[i];
  }
  return total;
}

double oat_traces_lost(const oat_system *s) {
  const oat_points x = {s->config.rows->x, s->config.rows->n, s->config.rows->n};
  return oat_kernel_share(&s->config.sparse.cov, x, VARIANCE_ROUNDING) * sum(s->config.rows->n, s->w);
}

bool oat_traces_sum(oat_system *s, oat_traces_work *work, double trace, oat_traces *out) {
  const size_t k = s->config.sparse.k;
  const sums all = sums_of(s, work, 0);
  sum_lanes(s, work, s->blocks, s->blocks);
  for (size_t lane = 1; lane < s->lanes; lane++) {
    const sums own = sums_of(s, work, lane);
    for (size_t i = 0; i < k * k + SUMS; i++) {
      all.ut[i] += own.ut[i];
    }
  }
  double ut_trace = 0;
  for (size_t i = 0; i < k; i++) {
    ut_trace += all.ut[i * (k + 1)];
  }
  const double ut_squares = oat_dot(k * k, all.ut, all.ut);
  out->first = trace - ut_trace;
  out->second = *all.square - 2 * *all.tw + ut_squares;
  const double lost = oat_traces_lost(s);
  out->first_error = ROUNDING * trace + lost;
  out->second_error = ROUNDING * (*all.square + ut_squares) + lost * (2 * sqrt(*all.square) + lost);
  return !s->given_up;
}

double oat_traces_cost(oat_system *s, oat_traces_work *work) {
  const size_t width = s->blocks < PROBED ? s->blocks : PROBED, height = s->blocks < s->lanes ? s->blocks : s->lanes;
  const double began = oat_seconds();
  sum_lanes(s, work, height, width);
  return (oat_seconds() - began) * (double)s->blocks / (double)width * (double)s->blocks / (double)height;
}

void oat_traces_clear(oat_traces_work *work) {
  free(work->u);
  free(work->lanes);
}
