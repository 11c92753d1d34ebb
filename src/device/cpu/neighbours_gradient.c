/* The gradient with neighbours (neighbours.c has the formulas). */
#include <string.h>

#include "device/cpu/neighbours.h"
#include "kernel/vector.h"

enum { GATHERED = 64, AHEAD = 8 }; /* rows at a time, and rows that are prefetched */

/* The adjoints of one row: those of its prediction. */
typedef struct row_adjoint {
  double d, rho; /* of D and of rho */
} row_adjoint;

/* dw into the desk, from B^-1 w. */
static row_adjoint adjoint_of(const oat_near_job *j, const oat_seat *s, const double *bw) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k, p = j->cpu->rows->p;
  const double *w = oat_row_of(near->w, s->i, k), *rho = near->rho + s->i * (1 + p), *e = j->adjoint->e;
  const double om = 1 / near->d[s->i];
  double rest = rho[0] - oat_sum_products(k, w, e);
  for (size_t column = 0; column < p; column++) {
    rest -= j->adjoint->coefficient[column] * rho[1 + column];
  }
  for (size_t c = 0; c < k; c++) {
    s->at.w[c] = om * (rest * e[c] - bw[c]);
  }
  return (row_adjoint){-0.5 * om * (1 - om * (oat_sum_products(k, w, bw) + rest * rest)), -om * rest};
}

/* The residual of a row, minus the mean. */
static double residual_of(const oat_near_job *j, size_t i) {
  double r = j->all.r[i];
  for (size_t column = 0; column < j->cpu->rows->p; column++) {
    r -= j->adjoint->coefficient[column] * j->all.r[i + (1 + column) * j->all.ldr];
  }
  return r;
}

/* z = C^-1 db, and a. */
static void solve_adjoint(const oat_near_job *j, const oat_seat *s, const row_adjoint *d) {
  oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k, m = s->m;
  const double *w = oat_row_of(near->w, s->i, k);
  double *z = s->at.b, *a = near->a + s->i * k;
  memset(z, 0, oat_few_side(m) * sizeof *z);
  oat_few_dots(oat_near_v(j, s), s->at.w, z);
  for (size_t b = 0; b < m; b++) {
    z[b] += d->rho * residual_of(j, s->list[b]);
  }
  oat_few_solve(m, s->at.factor, z); /* which is still -z */
  oat_few_solve_back(m, s->at.factor, z);
  for (size_t c = 0; c < k; c++) {
    a[c] = s->at.w[c] - 2 * d->d * w[c];
  }
  oat_few_add(oat_near_v(j, s), z, a);
  for (size_t b = 0; b < m; b++) {
    near->z[s->i * near->most + b] = -z[b];
  }
}

/* The part of the gradient through the kernel between neighbours and through their noise. */
static void add_pairs(const oat_near_job *j, const oat_seat *s, double dd, oat_gradient_sums *own) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t m = s->m;
  const double *b = near->b + s->i * near->most, *z = near->z + s->i * near->most,
               tau2 = j->sparse->tau * j->sparse->tau;
  double *const *pairs = s->at.pairs, *g = pairs[3];
  for (size_t c = 0; c < m; c++) {
    double *column = g + oat_pair(m + 1, c, c);
    for (size_t a = c; a < m; a++) { /* each pair is two elements of a symmetric matrix */
      column[a - c] = 2 * dd * b[a] * b[c] - z[a] * b[c] - b[a] * z[c];
    }
    column[0] *= 0.5;
    column[m - c] = z[c] - 2 * dd * b[c];
    own->dn += column[0] * tau2 * oat_block_noise_scale(&j->all, s->list[c]);
  }
  g[oat_pair(m + 1, m, m)] = dd;
  own->dn += dd * tau2 * oat_block_noise_scale(&j->all, s->i);
  own->pairs += oat_sum_products(oat_pairs(m + 1), g, pairs[0]);
  const oat_pair_values values = {pairs[0], pairs[1], pairs[2]};
  oat_kernel_pairs_adjoint(&j->sparse->cov, (oat_points){s->at.x, m + 1, m + 1}, g, &values, s->at.work, &own->kernel);
}

static void adjoint_block(void *self, size_t lane, size_t item) {
  oat_near_job *j = self;
  const size_t k = j->sparse->k;
  const oat_cpu_worker *worker = oat_cpu_own(j->cpu);
  const oat_row_block rows = oat_rows_block(oat_near_rows(j->cpu), j->cpu->block, item);
  const oat_const_view w = {j->cpu->near.w + rows.first * k, k, rows.n, k};
  oat_gemm(1, oat_const_square(j->adjoint->product, k), OAT_PLAIN, w, OAT_PLAIN, 0,
           (oat_view){worker->t, k, rows.n, k});
  for (size_t i = 0; i < rows.n; i++) {
    oat_seat s = oat_seat_take(j, rows.first + i);
    oat_near_pairs(j, &s, true);
    oat_near_take_v(j, &s);
    if (j->cpu->near.factor == NULL) { /* otherwise it is there since the value was computed */
      oat_near_factorise(j, &s);
    }
    const row_adjoint d = adjoint_of(j, &s, worker->t + i * k);
    solve_adjoint(j, &s, &d);
    add_pairs(j, &s, d.d, &j->own[lane]);
  }
}

/* dV of a row, gathered from the rows that have it as a neighbour, a few at a time. */
static void gather(const oat_near_job *j, size_t row, double *dv) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k;
  const double *rows[2 * GATHERED + AHEAD];
  const size_t last = near->start[j->cpu->rows->n] - 1;
  double factor[2 * GATHERED];
  memcpy(dv, oat_row_of(near->a, row, k), k * sizeof *dv);
  for (size_t e = near->start[row], end = near->start[row + 1]; e < end;) {
    size_t count = 0;
    for (; e < end && count < 2 * GATHERED; e++) {
      const size_t place = near->entry[e], i = place / near->most;
      rows[count] = oat_row_of(near->a, i, k);
      factor[count++] = -near->b[place];
      rows[count] = oat_row_of(near->w, i, k);
      factor[count++] = -near->z[place];
    }
    for (size_t ahead = 0; ahead < AHEAD; ahead++) { /* prefetches at least the next row */
      const size_t place = near->entry[e + ahead / 2 < last ? e + ahead / 2 : last];
      rows[count + ahead] = oat_row_of(ahead % 2 == 0 ? near->a : near->w, place / near->most, k);
    }
    oat_few_add((oat_few){count, k, rows, rows + AHEAD}, factor, dv);
  }
}

/* S = sum dv v^T and what goes through Kfu. */
static void gather_block(void *self, size_t lane, size_t item) {
  oat_near_job *j = self;
  const size_t k = j->sparse->k;
  const oat_cpu_worker *worker = oat_cpu_own(j->cpu);
  const oat_row_block rows = oat_rows_block(oat_near_rows(j->cpu), j->cpu->block, item);
  const oat_view t = {worker->t, rows.n, k, rows.n}, dv = {worker->v, k, rows.n, k};
  if (item == lane) {
    memset(oat_cpu_sums_of(j->cpu, lane), 0, j->out->count * sizeof(double));
  }
  oat_gradient_sums sums =
      oat_gradient_sums_over(oat_cpu_sums_of(j->cpu, lane), oat_cpu_thetas(j->cpu), k, j->cpu->rows->d);
  sums.kernel.z = j->out->kernel.z != NULL ? sums.kernel.z : NULL;
  for (size_t i = 0; i < rows.n; i++) {
    gather(j, rows.first + i, dv.a + i * k);
  }
  oat_transpose(k, rows.n, dv.a, k, t.a, t.ld);
  const oat_const_view v = {j->cpu->near.v + rows.first * k, k, rows.n, k};
  oat_gemm_lower(1, oat_as_const(dv), OAT_PLAIN, v, OAT_TRANSPOSED, 1, oat_square(sums.s, k));
  oat_triangle_solve(&j->cpu->kuu, OAT_PLAIN, t);
  if (!oat_covariance_is_tree(&j->sparse->cov)) { /* because it needs no slopes */
    oat_kernel_cross_slopes(&j->sparse->cov, rows.x, oat_sparse_knots(j->sparse), dv.a, worker->slope, rows.n,
                            worker->work);
  }
  oat_kernel_cross_adjoint(&j->sparse->cov, rows.x, oat_sparse_knots(j->sparse), t.a, worker->slope, t.ld, worker->work,
                           &sums.kernel);
}

static void join_gradient(void *self, size_t first, size_t count) {
  const oat_near_job *j = self;
  oat_cpu_join(j->cpu, first, count, 0, j->out->count, j->out->kernel.theta);
}

oatgp_status oat_cpu_neighbour_gradient(oat_cpu *cpu, const oat_sparse *sparse, const oat_adjoint *adjoint,
                                        oat_gradient_sums *out) {
  const oat_kernel kernel = oat_covariance_kernel(&sparse->cov);
  const size_t theta = oat_cpu_thetas(cpu), count = oat_theta_count(&kernel, sparse->cov.d);
  oat_near_job j = oat_near_job_of(cpu, sparse);
  j.adjoint = adjoint;
  j.out = out;
  memset(cpu->near.theta, 0, theta * cpu->lanes * sizeof *cpu->near.theta);
  for (size_t lane = 0; lane < cpu->lanes; lane++) {
    j.own[lane].kernel.theta = cpu->near.theta + lane * theta;
  }
  oat_loop loop = oat_near_loop(&j, "gradient", adjoint_block);
  oat_loop_run(&loop);
  loop = oat_near_loop(&j, "gradient", gather_block);
  loop.join = join_gradient;
  oat_loop_run(&loop);
  out->dg = out->dn = out->pairs = 0;
  for (size_t lane = 0; lane < cpu->lanes; lane++) {
    out->dn += j.own[lane].dn;
    out->pairs += j.own[lane].pairs;
    for (size_t i = 0; i < count; i++) {
      out->kernel.theta[i] += j.own[lane].kernel.theta[i];
    }
  }
  return OATGP_OK;
}
