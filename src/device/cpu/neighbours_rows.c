/* Predictions from knots and neighbours, and predictions of each row from the others.
 *
 * The covariance of the rows in the model is S = A^-1 (D + W W^T) A^-T, row i of A having 1 at i and -b_i at its
 * neighbours. So S^-1 = A^T (D^-1 - D^-1 W B^-1 W^T D^-1) A, and leaving out row i needs the rows that have i as a
 * neighbour, besides its own: with t_i = sum a_ci w_c / D_c over row i and those, u = LB^-1 t_i,
 *   kappa_i = (S^-1)_ii = sum a_ci^2 / D_c - |u|^2,   (S^-1 R)_i = sum a_ci rho_c / D_c - u . LB^-1 W D^-1 rho. */
#include <stdlib.h>
#include <string.h>

#include "device/cpu/neighbours.h"
#include "kernel/vector.h"

/* ---- other points ---------------------------------------------------------------------------------------------- */

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

/* b.r and the rest of the variance, or the weights themselves. */
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

/* Replaces v of point i of a block by w. */
static void predict_point(const points_job *p, const oat_row_block *block, size_t i, oat_view v, const oat_desk *at) {
  const oat_near_job *j = &p->rows;
  const size_t k = j->sparse->k, place = block->first + i, most = j->cpu->near.most;
  double *own = at->cross; /* the kernel is no longer needed */
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

/* The quantities of the rows that all points share, computed once. */
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

/* ---- rows left out --------------------------------------------------------------------------------------------- */

enum { DENSITY, SQUARES, PRODUCTS, SUMS };

typedef struct leave_job {
  oat_near_job rows;
  const oat_left_out *out;
  double *scratch; /* workers x stride: a left_block */
  size_t stride;
  double sums[OAT_MOST_LANES * SUMS];
} leave_job;

/* The numbers of a block of rows. */
typedef struct left_block {
  oat_row_block rows;
  double *t;   /* k for each row */
  double *e;   /* a number of each column for each row */
  double *fit; /* rows x columns: the products of u with the columns */
} left_block;

static size_t left_block_size(const oat_cpu *cpu, size_t k) { return cpu->block * (k + 2 * (1 + cpu->rows->p)); }

static left_block left_block_of(const leave_job *l, size_t item) {
  const oat_cpu *cpu = l->rows.cpu;
  double *t = l->scratch + oat_worker() * l->stride, *e = t + cpu->block * l->rows.sparse->k;
  return (left_block){oat_rows_block(oat_near_rows(cpu), cpu->block, item), t, e, e + cpu->block * (1 + cpu->rows->p)};
}

static void row_block(void *self, size_t lane, size_t item) {
  const oat_near_job *j = self;
  const oat_row_block rows = oat_rows_block(oat_near_rows(j->cpu), j->cpu->block, item);
  (void)lane;
  for (size_t i = 0; i < rows.n; i++) {
    const oat_seat s = oat_seat_take(j, rows.first + i);
    oat_near_row(j, &s);
  }
}

/* A row of A^T D^-1 [W, rho]: t, and a number of each column in e. Returns the diagonal of A^T D^-1 A. */
static double gather_row(const leave_job *l, size_t row, double *t, double *e) {
  const oat_cpu_neighbours *near = &l->rows.cpu->near;
  const size_t k = l->rows.sparse->k, width = 1 + l->rows.cpu->rows->p;
  double diagonal = 1 / near->d[row];
  oat_scaled_copy(k, diagonal, oat_row_of(near->w, row, k), t);
  oat_scaled_copy(width, diagonal, near->rho + row * width, e);
  for (size_t place = near->start[row]; place < near->start[row + 1]; place++) {
    const size_t entry = near->entry[place], c = entry / near->most;
    const double share = near->b[entry] / near->d[c];
    diagonal += share * near->b[entry];
    oat_add_scaled(k, -share, oat_row_of(near->w, c, k), t);
    oat_add_scaled(width, -share, near->rho + c * width, e);
  }
  return diagonal;
}

/* U = LB^-1 of the rows in `from`, k numbers for each, in the worker's V; and its products with the columns. */
static oat_view solve_block(const leave_job *l, const left_block *b, const double *from) {
  const size_t n = b->rows.n, k = l->rows.sparse->k, columns = l->out->columns;
  const oat_view u = {oat_cpu_own(l->rows.cpu)->v, n, k, n};
  oat_transpose(k, n, from, k, u.a, n);
  oat_triangle_solve(&l->rows.cpu->b, OAT_TRANSPOSED, u);
  oat_gemm(1, oat_as_const(u), OAT_PLAIN, (oat_const_view){l->out->c, k, columns, k}, OAT_PLAIN, 0,
           (oat_view){b->fit, n, columns, n});
  return u;
}

/* The sums by which the rows are recognised: those of rho^2, and of rho times its prediction from the knots. */
static void add_sums(const leave_job *l, const left_block *b, double *sums) {
  const oat_cpu_neighbours *near = &l->rows.cpu->near;
  solve_block(l, b, near->w + b->rows.first * l->rows.sparse->k);
  for (size_t i = 0; i < b->rows.n; i++) {
    const size_t row = b->rows.first + i;
    const double rho = near->rho[row * (1 + l->rows.cpu->rows->p)], om = 1 / near->d[row];
    sums[SQUARES] += om * rho * rho;
    sums[PRODUCTS] += om * rho * b->fit[i];
  }
}

/* (S^-1 R)_i of each column, minus those of the mean if that stays fixed. */
static double error_of(const leave_job *l, const left_block *b, size_t i, double kappa) {
  const oat_left_out *out = l->out;
  const size_t p = l->rows.cpu->rows->p;
  double *e = b->e + i * (1 + p);
  if (out->columns == 1) {
    for (size_t c = 0; c < p; c++) {
      e[0] -= out->coefficient[c] * e[1 + c];
    }
    return (e[0] - b->fit[i]) / kappa;
  }
  for (size_t c = 0; c <= p; c++) {
    e[c] = (e[c] - b->fit[i + c * b->rows.n]) / kappa;
  }
  return oat_gls_error(out->gls, out->coefficient, e, kappa);
}

static void leave_block(void *self, size_t lane, size_t item) {
  leave_job *l = self;
  const oat_left_out *out = l->out;
  const oat_cpu *cpu = l->rows.cpu;
  const size_t k = l->rows.sparse->k;
  const left_block b = left_block_of(l, item);
  double *diagonal = oat_cpu_own(cpu)->row[0], *squares = oat_cpu_own(cpu)->row[1], *sums = l->sums + lane * SUMS;
  add_sums(l, &b, sums);
  for (size_t i = 0; i < b.rows.n; i++) {
    diagonal[i] = gather_row(l, b.rows.first + i, b.t + i * k, b.e + i * (1 + cpu->rows->p));
  }
  const oat_view u = solve_block(l, &b, b.t);
  oat_row_squares(u.rows, k, u.a, u.ld, squares);
  for (size_t i = 0; i < b.rows.n; i++) {
    const double kappa = fmax(diagonal[i] - squares[i], 1e-12 * diagonal[i]), variance = 1 / kappa;
    const double error = error_of(l, &b, i, kappa);
    sums[DENSITY] -= 0.5 * (log(OAT_TWO_PI * variance) + error * error / variance);
    if (out->error != NULL) {
      out->error[cpu->near.rank[b.rows.first + i]] = error;
      out->variance[cpu->near.rank[b.rows.first + i]] = variance;
    }
  }
}

oatgp_status oat_cpu_neighbours_left_out(oat_cpu *cpu, const oat_sparse *sparse, oat_left_out *out) {
  leave_job l = {.rows = oat_near_job_of(cpu, sparse), .out = out, .stride = left_block_size(cpu, sparse->k)};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(cpu->ctx, l.stride, cpu->workers, &l.scratch));
  oat_cpu_take_factors(cpu, sparse, out->lb);
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
