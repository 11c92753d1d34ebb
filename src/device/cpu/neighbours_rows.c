/* Predictions from knots and neighbours, and each row as the others predict it.
 *
 * The covariance of the rows in the model is S = A^-1 (D + W W^T) A^-T, row i of A having 1 at i and -b_i at its
 * neighbours. So S^-1 = A^T (D^-1 - D^-1 W B^-1 W^T D^-1) A, and what leaves row i out needs the rows that have i as a
 * neighbour beside its own: with t_i = sum a_ci w_c / D_c over row i and those, u = LB^-1 t_i,
 *   kappa_i = (S^-1)_ii = sum a_ci^2 / D_c - |u|^2,   (S^-1 R)_i = sum a_ci rho_c / D_c - u . LB^-1 W D^-1 rho. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/neighbours.h"
#include "kernel/vector.h"

/* ---- other points ------------------------------------------------------------------------------------------------ */

typedef struct points_job {
  oat_near_job rows;
  const oat_rows *points;
  const uint32_t *list; /* points x most */
  const double *c;
  const oat_row_predictions *out;   /* or NULL */
  const oat_point_weights *weights; /* or NULL */
} points_job;

/* V of a block of points, rows x K, column-major, at the desk. */
static oat_view make_points(const points_job *p, const oat_row_block *block, const oat_desk *at) {
  const oat_sparse *sparse = p->rows.sparse;
  const oat_view v = {at->points, block->n, sparse->k, block->n};
  oat_kernel_cross(&sparse->cov, block->x, oat_sparse_knots(sparse), v.a, v.ld, at->cross);
  oat_triangle_solve(&p->rows.cpu->kuu, OAT_TRANSPOSED, v);
  return v;
}

/* b.r and what is left of the variance; or the weights themselves. */
static void keep_point(const points_job *p, const oat_seat *s, size_t place, double left) {
  const size_t k = p->rows.sparse->k, most = p->rows.cpu->near.most;
  if (p->out == NULL) {
    memcpy(p->weights->b + place * most, s->at.b, most * sizeof(double));
    memcpy(p->weights->w + place * k, s->at.w, k * sizeof(double));
    return;
  }
  double mean = 0;
  for (size_t a = 0; a < most; a++) {
    mean += s->at.b[a] * p->rows.all.r[s->list[a]];
  }
  p->out->mean[place] = mean;
  p->out->left[place] = left;
}

/* Point i of a block: its v gives way to w. */
static void predict_point(const points_job *p, const oat_row_block *block, size_t i, oat_view v, const oat_desk *at) {
  const oat_near_job *j = &p->rows;
  const size_t k = j->sparse->k, place = block->first + i, most = j->cpu->near.most;
  double *own = at->cross; /* the kernel has done its work */
  for (size_t c = 0; c < k; c++) {
    own[c] = v.a[i + c * v.ld];
  }
  const uint32_t *list = p->list + place * most;
  const oat_seat s = {.m = most,
                      .list = list,
                      .next = place + 1 < p->points->n ? list + most : list,
                      .x = block->x.a + i,
                      .ldx = block->x.ld,
                      .v = own,
                      .noise = 0,
                      .at = *at};
  keep_point(p, &s, place, oat_near_predict(j, &s, at->b, at->w));
  for (size_t c = 0; c < k; c++) {
    v.a[i + c * v.ld] = at->w[c];
  }
}

static void predict_points(void *self, size_t lane, size_t item) {
  const points_job *p = self;
  const oat_cpu *cpu = p->rows.cpu;
  const oat_row_block block = oat_rows_block(p->points, OAT_NEAR_POINTS, item);
  const oat_desk at = oat_desk_own(cpu);
  (void)lane;
  const oat_view v = make_points(p, &block, &at);
  for (size_t i = 0; i < block.n; i++) {
    predict_point(p, &block, i, v, &at);
  }
  if (p->out == NULL) {
    return;
  }
  oat_triangle_solve(&cpu->b, OAT_TRANSPOSED, v);
  oat_gemv(1, oat_as_const(v), OAT_PLAIN, p->c, 1, p->out->mean + block.first);
  oat_row_squares(block.n, v.columns, v.a, v.ld, p->out->u2 + block.first);
}

/* What the rows give to every point: made once. */
static oatgp_status prepare_rows(oat_cpu *cpu, const oat_sparse *sparse) {
  oatgp_status status = OATGP_OK;
  if (cpu->near.search == NULL) {
    TRY(oat_near_search(cpu, &sparse->cov, &cpu->near.search));
    oat_near_make_v(cpu, sparse);
  }
done:
  return status;
}

oatgp_status oat_near_pass_over(oat_near_job *rows, const double *lb, const oat_near_pass *pass) {
  oat_cpu *cpu = rows->cpu;
  const oat_row_block all = oat_rows_block(pass->points, pass->points->n, 0);
  oatgp_status status = OATGP_OK;
  oat_cpu_take_factors(cpu, rows->sparse, lb);
  TRY(prepare_rows(cpu, rows->sparse));
  TRY(oat_near_of(cpu->near.search, all.x, NULL, cpu->near.most, pass->list));
  oat_near_forget_trouble(cpu);
  oat_loop loop = oat_near_loop(rows, "prediction", pass->item);
  loop.self = pass->self;
  loop.items = oat_rows_blocks(pass->points, OAT_NEAR_POINTS);
  loop.rows = pass->points->n;
  loop.flops *= (double)pass->points->n / (double)cpu->rows->n;
  oat_loop_run(&loop);
done:
  return status;
}

static oatgp_status run_points(const double *lb, points_job *p, uint32_t *list) {
  p->list = list;
  return oat_near_pass_over(&p->rows, lb, &(oat_near_pass){p->points, list, predict_points, p});
}

oatgp_status oat_near_weights(oat_cpu *cpu, const oat_sparse *sparse, const double *lb, const oat_rows *points,
                              const oat_point_weights *out) {
  points_job p = {.rows = oat_near_job_of(cpu, sparse), .points = points, .weights = out};
  return run_points(lb, &p, out->list);
}

oatgp_status oat_cpu_points_from_rows(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                      const oat_rows *points, const oat_row_predictions *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  points_job p = {.rows = oat_near_job_of(cpu, sparse), .points = points, .c = c, .out = out};
  uint32_t *list = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(cpu->ctx, points->n * cpu->near.most, sizeof *list, &list));
  TRY(run_points(lb, &p, list));
done:
  free(list);
  return status;
}

/* ---- rows left out ----------------------------------------------------------------------------------------------- */

enum { DENSITY, SQUARES, PRODUCTS, SUMS };

typedef struct leave_job {
  oat_near_job rows;
  const oat_left_out *out;
  double *scratch; /* workers x stride: a row's t, then what its columns come to */
  size_t stride;
  double sums[OAT_MOST_LANES * SUMS];
} leave_job;

static void row_block(void *self, size_t lane, size_t item) {
  const oat_near_job *j = self;
  const oat_row_block rows = oat_rows_block(oat_near_rows(j->cpu), j->cpu->block, item);
  (void)lane;
  for (size_t i = 0; i < rows.n; i++) {
    const oat_seat s = oat_seat_take(j, rows.first + i);
    oat_near_row(j, &s);
  }
}

/* A row of A^T D^-1 [W, rho]: t and as many further numbers as there are columns. Returns the diagonal of A^T D^-1 A. */
static double gather_row(const leave_job *l, size_t row, double *t) {
  const oat_cpu_neighbours *near = &l->rows.cpu->near;
  const size_t k = l->rows.sparse->k, width = 1 + l->rows.cpu->rows->p;
  double diagonal = 1 / near->d[row];
  memset(t, 0, (k + width) * sizeof *t);
  oat_add_scaled(k, diagonal, oat_row_of(near->w, row, k), t);
  oat_add_scaled(width, diagonal, near->rho + row * width, t + k);
  for (size_t e = near->start[row]; e < near->start[row + 1]; e++) {
    const size_t place = near->entry[e], c = place / near->most;
    const double share = near->b[place] / near->d[c];
    diagonal += share * near->b[place];
    oat_add_scaled(k, -share, oat_row_of(near->w, c, k), t);
    oat_add_scaled(width, -share, near->rho + c * width, t + k);
  }
  return diagonal;
}

/* (S^-1 R)_i of each column less those of the mean where it stays as it is; `e` has the columns of A^T D^-1 rho. */
static double error_of(const leave_job *l, const double *u, double kappa, double *e) {
  const oat_left_out *out = l->out;
  const size_t k = l->rows.sparse->k, p = l->rows.cpu->rows->p;
  if (out->columns == 1) {
    for (size_t c = 0; c < p; c++) {
      e[0] -= out->coefficient[c] * e[1 + c];
    }
    return (e[0] - oat_sum_products(k, u, out->c)) / kappa;
  }
  for (size_t c = 0; c <= p; c++) {
    e[c] = (e[c] - oat_sum_products(k, u, out->c + c * k)) / kappa;
  }
  return oat_gls_error(out->gls, out->coefficient, e, kappa);
}

/* The sums by which the rows are recognised: those of rho, and of rho with what the knots make of it; u = LB^-1 w. */
static void add_sums(const leave_job *l, size_t row, const double *u, double *sums) {
  const oat_cpu_neighbours *near = &l->rows.cpu->near;
  const double rho = near->rho[row * (1 + l->rows.cpu->rows->p)], om = 1 / near->d[row];
  sums[SQUARES] += om * rho * rho;
  sums[PRODUCTS] += om * rho * oat_sum_products(l->rows.sparse->k, u, l->out->c);
}

static void leave_row(leave_job *l, size_t lane, size_t row, double *t) {
  const oat_left_out *out = l->out;
  const size_t k = l->rows.sparse->k;
  const oat_view u = {t, k, 1, k};
  double *sums = l->sums + lane * SUMS;
  memcpy(t, oat_row_of(l->rows.cpu->near.w, row, k), k * sizeof *t);
  oat_solve_left(out->lb, k, OAT_PLAIN, u, 1);
  add_sums(l, row, t, sums);
  const double diagonal = gather_row(l, row, t);
  oat_solve_left(out->lb, k, OAT_PLAIN, u, 1);
  const double kappa = fmax(diagonal - oat_sum_products(k, t, t), 1e-12 * diagonal), variance = 1 / kappa;
  const double error = error_of(l, t, kappa, t + k);
  sums[DENSITY] -= 0.5 * (log(OAT_TWO_PI * variance) + error * error / variance);
  if (out->error != NULL) {
    out->error[l->rows.cpu->near.rank[row]] = error;
    out->variance[l->rows.cpu->near.rank[row]] = variance;
  }
}

static void leave_block(void *self, size_t lane, size_t item) {
  leave_job *l = self;
  const oat_row_block rows = oat_rows_block(oat_near_rows(l->rows.cpu), l->rows.cpu->block, item);
  for (size_t i = 0; i < rows.n; i++) {
    leave_row(l, lane, rows.first + i, l->scratch + oat_worker() * l->stride);
  }
}

oatgp_status oat_cpu_neighbours_left_out(oat_cpu *cpu, const oat_sparse *sparse, oat_left_out *out) {
  leave_job l = {.rows = oat_near_job_of(cpu, sparse), .out = out, .stride = sparse->k + 2 * (1 + cpu->rows->p)};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(cpu->ctx, l.stride, cpu->workers, &l.scratch));
  oat_cpu_take_factor(cpu, sparse);
  oat_near_forget_trouble(cpu);
  oat_near_make_v(cpu, sparse);
  oat_loop loop = oat_near_loop(&l.rows, "leave-one-out", row_block);
  oat_loop_run(&loop);
  loop.item = leave_block;
  loop.self = &l;
  oat_loop_run(&loop);
  oat_lanes_add(&(oat_lane_sums){cpu->lanes, SUMS, SUMS, l.sums, l.sums});
  out->density = l.sums[DENSITY];
  out->squares = l.sums[SQUARES];
  out->products = l.sums[PRODUCTS];
done:
  free(l.scratch);
  return status;
}
