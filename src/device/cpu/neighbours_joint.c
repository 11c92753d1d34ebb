/* The covariance of points that are predicted from knots and neighbours. A prediction is the sum of w.u and b.r_J. The
 * uncertainty of the first is that of u. The second differs from f by an error whose covariance follows from the
 * kernel: with x_i the coefficients of f at point i (1) and of its neighbours' targets (-b),
 *   cov_ij = u_i.u_j - w_i.w_j + x_i^T K x_j + the noise of common neighbours,  u = LB^-1 w.
 * Its diagonal is the variance of each prediction. Information that the neighbours of one point have about another is
 * not used. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/neighbours.h"

enum { SIDE = 16 }; /* points of a tile */

typedef struct joint_job {
  oat_near_job rows;
  const oat_rows *points;
  const oat_point_weights *weights;
  double *covariance;
  double *room; /* workers x stride */
  size_t stride;
} joint_job;

/* Points of one side of a tile, and the rows that are neighbours of any of them. */
typedef struct side {
  size_t first, n; /* points */
  size_t count;    /* of these and of the rows behind them */
  uint32_t *row;   /* numbers of the rows, from place n on, in their order */
  double *x;       /* count x d */
  double *weight;  /* n x count */
} side;

static size_t most_of(const oat_cpu *cpu) { return SIDE * (1 + cpu->near.most); }

static int compare(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The rows, each once, behind the points. */
static void find_rows(const joint_job *j, side *s) {
  const size_t most = j->rows.cpu->near.most;
  uint32_t *row = s->row + s->n;
  memcpy(row, j->weights->list + s->first * most, s->n * most * sizeof *row);
  qsort(row, s->n * most, sizeof *row, compare);
  size_t count = 0;
  for (size_t i = 0; i < s->n * most; i++) {
    if (i == 0 || row[i] != row[i - 1]) {
      row[count++] = row[i];
    }
  }
  s->count = s->n + count;
}

static void gather_inputs(const joint_job *j, const side *s) {
  const oat_row_block points = oat_rows_block(j->points, j->points->n, 0);
  for (size_t input = 0; input < j->points->d; input++) {
    for (size_t i = 0; i < s->count; i++) {
      s->x[i + input * s->count] = i < s->n ? points.x.a[s->first + i + input * points.x.ld]
                                            : j->rows.all.x.a[s->row[i] + input * j->rows.all.x.ld];
    }
  }
}

static void gather_weights(const joint_job *j, const side *s) {
  const size_t most = j->rows.cpu->near.most;
  memset(s->weight, 0, s->n * s->count * sizeof *s->weight);
  for (size_t i = 0; i < s->n; i++) {
    const uint32_t *list = j->weights->list + (s->first + i) * most;
    const double *b = j->weights->b + (s->first + i) * most;
    s->weight[i + i * s->n] = 1;
    for (size_t a = 0; a < most; a++) {
      const uint32_t *at = bsearch(&list[a], s->row + s->n, s->count - s->n, sizeof *at, compare);
      s->weight[i + (size_t)(at - s->row) * s->n] = -b[a];
    }
  }
}

static side make_side(const joint_job *j, size_t item, double *room) {
  const size_t first = item * SIDE, left = j->points->n - first, most = most_of(j->rows.cpu);
  side s = {.first = first, .n = left < SIDE ? left : SIDE, .row = (uint32_t *)room, .x = room + most};
  s.weight = s.x + most * j->points->d;
  find_rows(j, &s);
  gather_inputs(j, &s);
  gather_weights(j, &s);
  return s;
}

static size_t side_room(const joint_job *j) { return most_of(j->rows.cpu) * (1 + j->points->d + SIDE); }

/* The noise of rows that both sides have. */
static void add_noise(const joint_job *j, const side *a, const side *b, double *k) {
  for (size_t i = a->n, c = b->n; i < a->count && c < b->count;) {
    if (a->row[i] == b->row[c]) {
      k[i + c * a->count] += oat_block_noise(&j->rows.all, j->rows.sparse->tau, a->row[i]);
    }
    const bool next = a->row[i] <= b->row[c];
    c += a->row[i] >= b->row[c];
    i += next;
  }
}

/* x_i^T (K + noise) x_j of the points of two sides is added on both halves. */
static void add_tile(const joint_job *j, const side *a, const side *b, double *room) {
  const size_t n = j->points->n, most = most_of(j->rows.cpu);
  double *k = room, *half = k + most * most, *tile = half + most * SIDE, *work = tile + SIDE * SIDE;
  oat_covariance cov = j->rows.sparse->cov;
  cov.among = true;
  oat_kernel_cross(&cov, (oat_points){a->x, a->count, a->count}, (oat_points){b->x, b->count, b->count}, k, a->count,
                   work);
  add_noise(j, a, b, k);
  oat_gemm(1, (oat_const_view){a->weight, a->n, a->count, a->n}, OAT_PLAIN,
           (oat_const_view){k, a->count, b->count, a->count}, OAT_PLAIN, 0, (oat_view){half, a->n, b->count, a->n});
  oat_gemm(1, (oat_const_view){half, a->n, b->count, a->n}, OAT_PLAIN,
           (oat_const_view){b->weight, b->n, b->count, b->n}, OAT_TRANSPOSED, 0, (oat_view){tile, a->n, b->n, a->n});
  for (size_t c = 0; c < b->n; c++) {
    for (size_t i = a->first == b->first ? c : 0; i < a->n; i++) {
      double *lower = &j->covariance[a->first + i + (b->first + c) * n],
             *upper = &j->covariance[b->first + c + (a->first + i) * n];
      *lower += tile[i + c * a->n];
      *upper = *lower;
    }
  }
}

static void join_item(void *self, size_t lane, size_t item) {
  const joint_job *j = self;
  double *room = j->room + oat_worker() * j->stride;
  size_t a = 0;
  (void)lane;
  while ((a + 1) * (a + 2) / 2 <= item) {
    a++;
  }
  const size_t b = item - a * (a + 1) / 2;
  const side rows = make_side(j, a, room), columns = make_side(j, b, room + side_room(j));
  add_tile(j, &rows, &columns, room + 2 * side_room(j));
}

/* u_i.u_j - w_i.w_j */
static void add_knots(const joint_job *j, const double *lb, double *w) {
  const size_t n = j->points->n, k = j->rows.sparse->k;
  const int threads = j->rows.cpu->config.where.threads;
  const oat_view all = {w, k, n, k}, covariance = oat_square(j->covariance, n);
  oat_gemm(-1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 0, covariance);
  oat_solve_left(lb, k, OAT_PLAIN, all, threads);
  oat_gemm(1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 1, covariance);
}

oatgp_status oat_cpu_joint_from_rows(oat_device *device, const oat_sparse *sparse, const double *lb,
                                     const oat_rows *points, double *covariance) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = points->n, k = sparse->k, m = cpu->near.most, most = most_of(cpu), sides = (n + SIDE - 1) / SIDE;
  oat_scratch memory = {.ctx = cpu->ctx};
  const oat_point_weights weights = {oat_take(&memory, n * m, sizeof(uint32_t)), oat_take_doubles(&memory, n, m),
                                     oat_take_doubles(&memory, n, k)};
  joint_job j = {oat_near_job_of(cpu, sparse), points, &weights, covariance};
  j.stride = 2 * side_room(&j) + most * most + most * SIDE + SIDE * SIDE +
             oat_kernel_work(cpu->config.kernel, most, most, points->d);
  j.room = oat_take_doubles(&memory, j.stride, cpu->workers);
  oatgp_status status;
  TRY(memory.status);
  TRY(oat_near_weights(cpu, sparse, lb, points, &weights));
  add_knots(&j, lb, weights.w);
  oat_loop_run(&(oat_loop){.ctx = cpu->ctx,
                           .what = "covariance",
                           .items = sides * (sides + 1) / 2,
                           .lanes = oat_lanes_for(sides * (sides + 1) / 2),
                           .workers = cpu->workers,
                           .rows = n,
                           .threads = cpu->config.where.threads,
                           .item = join_item,
                           .self = &j});
done:
  oat_scratch_free(&memory);
  return status;
}
