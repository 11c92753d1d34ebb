/* Derivatives of predictions from knots and neighbours with respect to the inputs of the point. Its neighbours J are
 * held fixed.
 *
 * In the notation of neighbours.c, with e = LB^-T LB^-1 W D^-1 rho, u = LB^-1 w and q = LB^-T u:
 *   mean = b . r_J + w . e
 *   d mean = beta . dc + e . dv,  beta = C^-1 (r_J - V_J e)
 *   variance = k(x, x) - |v|^2 - b . c + |u|^2
 *   d variance = gamma . dc + 2 (q - v) . dv + d k(x, x),  gamma = -2 C^-1 (c + V_J q)
 * and dc = d k_Jx - V_J dv. So the adjoint of k(Z, x) is L^-T (e - V_J^T beta), or L^-T (2 (q - v) - V_J^T gamma), and
 * that of k_Jx is beta or gamma. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/neighbours.h"
#include "kernel/vector.h"

typedef struct job {
  oat_near_job rows;
  const oat_rows *points;
  const uint32_t *list;
  const double *lb, *e;
  const oat_row_predictions *at;
  const oat_row_slopes *out;
  double *room; /* `stride` doubles for each worker */
  size_t stride;
} job;

/* The scratch of one worker, besides its desk. */
typedef struct place {
  double *slope, *mean, *variance; /* OAT_NEAR_POINTS x K: of the kernel; adjoints of k(Z, x) */
  double *v, *q;                   /* k */
  double *beta, *gamma, *k, *own; /* m: the last two of the kernel between a point and its neighbours, and its slopes */
  double *work;                   /* of the kernel */
} place;

/* Lays a place over memory; without memory, only its size counts, which is returned. */
static size_t lay(const oat_cpu *cpu, size_t k, double *memory, place *out) {
  const size_t m = oat_few_side(cpu->near.most), wide = k > m ? k : m;
  double **const parts[] = {&out->slope, &out->mean,  &out->variance, &out->v,   &out->q,
                            &out->beta,  &out->gamma, &out->k,        &out->own, &out->work};
  const size_t sizes[] = {OAT_NEAR_POINTS * k,
                          OAT_NEAR_POINTS * k,
                          OAT_NEAR_POINTS * k,
                          k,
                          k,
                          m,
                          m,
                          m,
                          m,
                          oat_kernel_work(cpu->config.kernel, OAT_NEAR_POINTS, wide, cpu->rows->d)};
  size_t used = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    *parts[i] = memory != NULL ? memory + used : NULL;
    used += sizes[i];
  }
  return used;
}

/* x <- C^-1 x, m numbers and 0 behind them */
static void solve(const oat_seat *s, double *x) {
  memset(x + s->m, 0, (oat_few_side(s->m) - s->m) * sizeof *x);
  oat_few_solve(s->m, s->at.factor, x);
  oat_few_solve_back(s->m, s->at.factor, x);
}

/* Row i of a block's adjoint: x - V_J^T y */
static void set_adjoint(const job *j, const oat_seat *s, const place *p, const double *y, oat_view to, size_t i) {
  oat_scaled_copy(s->m, -1, y, p->k);
  oat_few_add(oat_near_v(&j->rows, s), p->k, p->q);
  for (size_t c = 0; c < to.columns; c++) {
    to.a[i + c * to.ld] = p->q[c];
  }
}

/* beta, and with it row i of the adjoint of the mean; returns the mean. */
static double slope_mean(const job *j, const oat_seat *s, const place *p, oat_view to, size_t i) {
  const size_t k = j->rows.sparse->k;
  double mean = oat_sum_products(k, s->at.w, j->e);
  oat_few_dots(oat_near_v(&j->rows, s), j->e, p->beta);
  for (size_t a = 0; a < s->m; a++) {
    const double r = j->rows.all.r[s->list[a]];
    p->beta[a] = r - p->beta[a];
    mean += s->at.b[a] * r;
  }
  solve(s, p->beta);
  memcpy(p->q, j->e, k * sizeof *p->q);
  set_adjoint(j, s, p, p->beta, to, i);
  return mean;
}

/* gamma, likewise; returns |u|^2. */
static double slope_variance(const job *j, const oat_seat *s, const place *p, oat_view to, size_t i) {
  const size_t k = j->rows.sparse->k;
  const oat_view q = {p->q, k, 1, k};
  memcpy(p->q, s->at.w, k * sizeof *p->q);
  oat_solve_left(j->lb, k, OAT_PLAIN, q, 1);
  const double u2 = oat_sum_products(k, p->q, p->q);
  oat_solve_left(j->lb, k, OAT_TRANSPOSED, q, 1);
  oat_few_dots(oat_near_v(&j->rows, s), p->q, p->gamma);
  solve(s, p->gamma);
  for (size_t a = 0; a < s->m; a++) {
    p->gamma[a] = -2 * (p->gamma[a] + s->at.b[a]);
  }
  for (size_t c = 0; c < k; c++) {
    p->q[c] = 2 * (p->q[c] - p->v[c]);
  }
  set_adjoint(j, s, p, p->gamma, to, i);
  return u2;
}

/* Adds the part through the kernel between the point and its neighbours, which are at the desk. */
static void add_neighbours(const job *j, const oat_seat *s, const place *p, size_t point) {
  const oat_points x = {j->points->x + point, 1, j->points->n}, near = {s->at.x, s->m, s->m + 1};
  oat_covariance cov = j->rows.sparse->cov;
  oat_kernel_side side[2];
  oat_kernel_sides sides = {0, side};
  cov.among = true;
  if (j->out->mean != NULL) {
    side[sides.count++] = (oat_kernel_side){p->beta, 0, 1, j->out->mean + point};
  }
  if (j->out->variance != NULL) {
    side[sides.count++] = (oat_kernel_side){p->gamma, 0, 1, j->out->variance + point};
  }
  oat_kernel_cross_slopes(&cov, x, near, p->k, p->own, 1, p->work);
  oat_kernel_cross_in_x(&cov, x, near, p->own, 1, sides, p->work);
}

static void slope_point(const job *j, const oat_row_block *block, size_t i, oat_view v, const place *p) {
  const size_t k = j->rows.sparse->k, point = block->first + i, most = j->rows.cpu->near.most;
  const oat_view mean = {p->mean, block->n, k, block->n}, variance = {p->variance, block->n, k, block->n};
  for (size_t c = 0; c < k; c++) {
    p->v[c] = v.a[i + c * v.ld];
  }
  const uint32_t *list = j->list + point * most;
  const oat_seat s = {.m = most,
                      .list = list,
                      .next = point + 1 < j->points->n ? list + most : list,
                      .x = block->x.a + i,
                      .ldx = block->x.ld,
                      .v = p->v,
                      .at = oat_desk_own(j->rows.cpu)};
  j->at->left[point] = oat_near_predict(&j->rows, &s, s.at.b, s.at.w);
  j->at->mean[point] = slope_mean(j, &s, p, mean, i);
  j->at->u2[point] = slope_variance(j, &s, p, variance, i);
  add_neighbours(j, &s, p, point);
}

/* The part through the kernel between the points of a block and the knots. */
static void add_knots(const job *j, const oat_row_block *block, const place *p) {
  const oat_sparse *sparse = j->rows.sparse;
  const double *adjoint[] = {p->mean, p->variance};
  double *const to[] = {j->out->mean, j->out->variance};
  oat_kernel_side side[2];
  oat_kernel_sides sides = {0, side};
  for (size_t a = 0; a < 2; a++) {
    oat_triangle_solve(&j->rows.cpu->kuu, OAT_PLAIN,
                       (oat_view){a == 0 ? p->mean : p->variance, block->n, sparse->k, block->n});
    if (to[a] != NULL) {
      side[sides.count++] = (oat_kernel_side){adjoint[a], 1, block->n, to[a] + block->first};
    }
  }
  oat_kernel_cross_in_x(&sparse->cov, block->x, oat_sparse_knots(sparse), p->slope, block->n, sides, p->work);
  if (j->out->variance != NULL) {
    oat_kernel_diagonal_in_x(&sparse->cov, block->x, j->out->variance + block->first, p->work);
  }
}

static void slope_points(void *self, size_t lane, size_t item) {
  const job *j = self;
  const oat_sparse *sparse = j->rows.sparse;
  const oat_row_block block = oat_rows_block(j->points, OAT_NEAR_POINTS, item);
  const oat_view v = {oat_desk_own(j->rows.cpu).points, block.n, sparse->k, block.n};
  place p;
  (void)lane;
  lay(j->rows.cpu, sparse->k, j->room + oat_worker() * j->stride, &p);
  oat_kernel_cross_slopes(&sparse->cov, block.x, oat_sparse_knots(sparse), v.a, p.slope, block.n, p.work);
  oat_triangle_solve(&j->rows.cpu->kuu, OAT_TRANSPOSED, v);
  for (size_t i = 0; i < block.n; i++) {
    slope_point(j, &block, i, v, &p);
  }
  add_knots(j, &block, &p);
}

oatgp_status oat_cpu_point_slopes_from_rows(oat_device *device, const oat_sparse *sparse, const double *lb,
                                            const double *c, const oat_rows *points, const oat_row_predictions *at,
                                            const oat_row_slopes *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = points->n, k = sparse->k;
  oat_scratch memory = {.ctx = cpu->ctx};
  place none;
  const size_t stride = lay(cpu, k, NULL, &none);
  uint32_t *list = oat_take(&memory, n * cpu->near.most, sizeof *list);
  double *e = oat_take_doubles(&memory, k, 1), *room = oat_take_doubles(&memory, cpu->workers, stride);
  oatgp_status status;
  TRY(memory.status);
  job j = {oat_near_job_of(cpu, sparse), points, list, lb, e, at, out, room, stride};
  memcpy(e, c, k * sizeof *e);
  oat_solve_left(lb, k, OAT_TRANSPOSED, (oat_view){e, k, 1, k}, cpu->config.where.threads);
  for (size_t a = 0; a < 2; a++) {
    double *slopes = a == 0 ? out->mean : out->variance;
    if (slopes != NULL) {
      memset(slopes, 0, n * points->d * sizeof *slopes);
    }
  }
  TRY(oat_near_pass_over(&j.rows, lb, &(oat_near_pass){points, list, slope_points, &j}));
done:
  oat_scratch_free(&memory);
  return status;
}
