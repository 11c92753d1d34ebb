/* Knots and neighbours: each row is predicted from its nearest earlier rows within what the knots leave of the
 * covariance. For row i with the neighbours J:
 *   C = K_JJ - V_J V_J^T + diag(n_J),  c = k_Ji - V_J v_i,  b = C^-1 c,  D_i = k_ii - |v_i|^2 + n_i - b.c
 *   w_i = v_i - V_J^T b,  rho_i = r_i - b.r_J
 * and the sums are those of fitc with w, rho, D in the places of v, r, lambda. N (M^2 K + M^3 + K^2) in all.
 *
 * The gradient, with om = 1 / D, dw = om ((rho - w.e) e - B^-1 w), drho = -om (rho - w.e) and dD as of lambda in fitc:
 *   z = C^-1 db,  db = -V_J dw - r_J drho,  a_i = dw - 2 dD w_i - V_J^T z
 *   dV_j = a_j - sum over the rows i that have j as a neighbour of (b_ij a_i + z_ij w_i)
 *   dk_Ji = z - 2 dD b,  dK_JJ = dD b b^T - (z b^T + b z^T) / 2,  dk_ii = dD,  dn likewise
 * Since dK_JJ has rank two, the gradient has no product of M^2 K. dV_j is gathered by row j from those that have it as a
 * neighbour, in their order, so that threads change no bit. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "device/cpu/near.h"
#include "kernel/vector.h"

#define MOST_LIFTS 1e6 /* rounding errors of C that may be added to its diagonal */

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* What one worker works in. */
typedef struct desk {
  double *vj;       /* k x m: V_J^T */
  double *c, *l;    /* m x m: C and its factor */
  double *x;        /* (m + 1) x d: the neighbours, and the row behind them */
  double *pairs[4]; /* of these points: k, slopes, d_shape; and the adjoint */
  double *work;     /* of the kernel */
  double *db, *dw;  /* m, k */
} desk;

/* Lays a desk over memory; without memory, only its size counts, which is returned. */
static size_t lay(const oat_cpu *cpu, double *memory, desk *out) {
  const size_t m = cpu->near.most, k = cpu->config.max_knots, d = cpu->rows->d, pairs = oat_pairs(m + 1);
  double **const parts[] = {&out->vj,       &out->c,        &out->l,        &out->x,    &out->pairs[0],
                            &out->pairs[1], &out->pairs[2], &out->pairs[3], &out->work, &out->db,       &out->dw};
  const size_t sizes[] = {k * m, m * m, m * m, (m + 1) * d, pairs, pairs, pairs, pairs, pairs + 3 * d, m, k};
  size_t used = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    *parts[i] = memory != NULL ? memory + used : NULL;
    used += sizes[i];
  }
  return used;
}

static desk own_desk(const oat_cpu *cpu) {
  desk out;
  lay(cpu, cpu->near.desks + oat_worker() * cpu->near.desk, &out);
  return out;
}

/* Rows x K numbers are unavoidable here: neighbours may be anywhere. The factors of C are kept if the budget allows. */
void oat_cpu_take_neighbours(oat_cpu *cpu) {
  oat_cpu_neighbours *near = &cpu->near;
  const size_t n = cpu->rows->n, k = cpu->config.max_knots;
  const size_t most = n > 0 && cpu->config.neighbours >= n ? n - 1 : cpu->config.neighbours;
  *near = (oat_cpu_neighbours){.most = most};
  if (most == 0) {
    return;
  }
  const double bytes = (double)n * (double)most * (double)most * sizeof(double);
  oat_scratch *memory = &cpu->memory;
  near->list = oat_take(memory, n * most, sizeof *near->list);
  near->start = oat_take(memory, n + 1, sizeof *near->start);
  near->entry = oat_take(memory, n * most, sizeof *near->entry);
  near->v = oat_take_doubles(memory, n, k);
  near->w = oat_take_doubles(memory, n, k);
  near->a = cpu->config.fits ? oat_take_doubles(memory, n, k) : NULL;
  near->b = oat_take_doubles(memory, n, most);
  near->z = cpu->config.fits ? oat_take_doubles(memory, n, most) : NULL;
  near->d = oat_take_doubles(memory, n, 1);
  near->rho = oat_take_doubles(memory, n, 1 + cpu->rows->p);
  near->theta = oat_take_doubles(memory, oat_theta_most(cpu->rows->d), OAT_MOST_LANES);
  near->factor = cpu->config.fits && bytes <= (double)cpu->config.memory ? oat_take_doubles(memory, n, most * most) : NULL;
  desk none;
  near->desk = lay(cpu, NULL, &none);
  near->desks = oat_take_doubles(memory, near->desk, cpu->workers);
}

/* ---- who is near ------------------------------------------------------------------------------------------------- */

static size_t count_of(const oat_cpu_neighbours *near, size_t i) { return i < near->most ? i : near->most; }

/* For each row, the places of the list where it is a neighbour, in the order of the rows that have it. */
static void turn_round(oat_cpu_neighbours *near, size_t n) {
  memset(near->start, 0, (n + 1) * sizeof *near->start);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < count_of(near, i); j++) {
      near->start[near->list[i * near->most + j] + 1]++;
    }
  }
  for (size_t i = 0; i < n; i++) {
    near->start[i + 1] += near->start[i];
  }
  for (size_t i = n; i-- > 0;) { /* from the end, so that each start ends where it belongs */
    for (size_t j = count_of(near, i); j-- > 0;) {
      const size_t place = i * near->most + j, of = near->list[place];
      near->entry[--near->start[of + 1]] = place;
    }
  }
  memmove(near->start, near->start + 1, n * sizeof *near->start);
  near->start[n] = 0;
  for (size_t i = 0; i < n; i++) {
    near->start[n] += count_of(near, i);
  }
}

oatgp_status oat_cpu_find_neighbours(oat_device *device, const oat_covariance *cov) {
  oat_cpu *cpu = oat_cpu_of(device);
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  oat_near *near = NULL;
  double *inverse = NULL;
  oatgp_status status = OATGP_OK;
  if (cpu->near.most == 0) {
    return OATGP_OK;
  }
  TRY(oat_new_matrix(cpu->ctx, cov->d, 1, &inverse));
  for (size_t j = 0; j < cov->d; j++) {
    inverse[j] = 1 / oat_kernel_lengthscale(cov, j);
  }
  TRY(oat_near_open(cpu->ctx, all.x, cov->d, inverse, cpu->config.where.threads, &near));
  TRY(oat_near_before(near, cpu->near.most, cpu->near.list));
  turn_round(&cpu->near, cpu->rows->n);
done:
  oat_near_close(near);
  free(inverse);
  return status;
}

/* ---- a row and its neighbours ------------------------------------------------------------------------------------ */

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  oat_row_block all;
  const oat_adjoint *adjoint;
  oat_sums *sums;
  oat_gradient_sums *out;
  oat_gradient_sums own[OAT_MOST_LANES];
} job;

/* A row at a desk. */
typedef struct seat {
  size_t i, m;          /* the row, and how many neighbours it has */
  const uint32_t *list; /* which */
  desk at;
} seat;

static seat take_seat(const job *j, size_t i) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  return (seat){i, count_of(near, i), near->list + i * near->most, own_desk(j->cpu)};
}

static double noise_of(const job *j, size_t i) { return oat_block_noise(&j->all, j->sparse->tau, i); }

static const double *row_of(const double *matrix, size_t i, size_t k) { return matrix + i * k; }

/* The inputs of the neighbours and of the row behind them, and the kernel between all of these. */
static void make_pairs(const job *j, const seat *s, bool slopes) {
  const size_t d = j->cpu->rows->d, points = s->m + 1;
  for (size_t input = 0; input < d; input++) {
    const double *x = j->all.x.a + input * j->all.x.ld;
    double *to = s->at.x + input * points;
    for (size_t a = 0; a < s->m; a++) {
      to[a] = x[s->list[a]];
    }
    to[s->m] = x[s->i];
  }
  double *const *pairs = s->at.pairs;
  const oat_pair_values values = {pairs[0], slopes ? pairs[1] : NULL, slopes ? pairs[2] : NULL};
  oat_kernel_pairs(&j->sparse->cov, (oat_points){s->at.x, points, points}, &values, s->at.work);
}

/* C in the lower triangle of a square, from the kernel of the pairs. */
static void make_c(const job *j, const seat *s) {
  const size_t m = s->m, k = j->sparse->k;
  for (size_t b = 0; b < m; b++) {
    memcpy(s->at.vj + b * k, row_of(j->cpu->near.v, s->list[b], k), k * sizeof *s->at.vj);
    memcpy(s->at.c + b + b * m, s->at.pairs[0] + oat_pair(m + 1, b, b), (m - b) * sizeof *s->at.c);
    s->at.c[b + b * m] += noise_of(j, s->list[b]);
  }
  oat_syrk(-1, (oat_const_view){s->at.vj, k, m, k}, 1, oat_square(s->at.c, m));
}

/* The factor of C. As the difference of two matrices it has the rounding errors of these, which are added to its
 * diagonal where there is next to no noise. */
static bool factorise(const job *j, const seat *s) {
  const double prior = s->at.pairs[0][oat_pair(s->m + 1, s->m, s->m)];
  const double rounding = (double)(j->sparse->k + s->m) * DBL_EPSILON * prior;
  const oat_lifts lifts = {.plain = true, .least = rounding, .factor = 10, .most = MOST_LIFTS * rounding};
  return oat_cholesky_lifted(s->m, s->at.c, &lifts, s->at.l, 1).pivot == 0;
}

static void solve(const seat *s, oat_op op, double *x) { oat_solve_left(s->at.l, s->m, op, (oat_view){x, s->m, 1, s->m}, 1); }

/* b, D, w and rho of a row. A C without a factor is passed over: the row has no neighbours then. */
static void predict_row(const job *j, const seat *s) {
  oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k, m = s->m, width = 1 + j->cpu->rows->p;
  const double *v = row_of(near->v, s->i, k), noise = noise_of(j, s->i);
  double *b = near->b + s->i * near->most, *w = near->w + s->i * k, *rho = near->rho + s->i * width;
  make_pairs(j, s, false);
  make_c(j, s);
  const double prior = s->at.pairs[0][oat_pair(m + 1, m, m)];
  double left = prior - oat_sum_products(k, v, v) + noise;
  for (size_t a = 0; a < m; a++) {
    b[a] = s->at.pairs[0][oat_pair(m + 1, m, a)];
  }
  oat_gemv(-1, (oat_const_view){s->at.vj, k, m, k}, OAT_TRANSPOSED, v, 1, b);
  if (factorise(j, s)) {
    solve(s, OAT_PLAIN, b);
    left -= oat_sum_products(m, b, b);
    solve(s, OAT_TRANSPOSED, b);
  } else {
    memset(b, 0, m * sizeof *b);
  }
  near->d[s->i] = fmax(left, fmax(noise, DBL_EPSILON * prior));
  memcpy(w, v, k * sizeof *w);
  oat_gemv(-1, (oat_const_view){s->at.vj, k, m, k}, OAT_PLAIN, b, 1, w);
  for (size_t column = 0; column < width; column++) {
    const double *r = j->all.r + column * j->all.ldr;
    rho[column] = r[s->i];
    for (size_t a = 0; a < m; a++) {
      rho[column] -= b[a] * r[s->list[a]];
    }
  }
  if (near->factor != NULL && j->sparse->gradient) {
    memcpy(near->factor + s->i * near->most * near->most, s->at.l, m * m * sizeof *s->at.l);
  }
}

/* ---- the value --------------------------------------------------------------------------------------------------- */

/* V of a block, row after row. */
static void keep_v(void *self, size_t lane, size_t item) {
  const job *j = self;
  const size_t k = j->sparse->k;
  const oat_cpu_block b = oat_cpu_block_of(j->cpu, j->sparse, item);
  (void)lane;
  for (size_t i = 0; i < b.v.rows; i++) {
    double *v = j->cpu->near.v + (b.rows.first + i) * k;
    for (size_t c = 0; c < k; c++) {
      v[c] = b.v.a[i + c * b.v.ld];
    }
  }
}

/* vwv += W^T diag(1 / D) W, vwr and rwr likewise, of a block. */
static void add_products(const job *j, const oat_row_block *rows, bool first, oat_sums *sums) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k, width = 1 + j->cpu->rows->p;
  const oat_cpu_worker *own = oat_cpu_own(j->cpu);
  for (size_t i = 0; i < rows->n; i++) {
    const size_t row = rows->first + i;
    const double om = 1 / near->d[row], root = sqrt(om), *w = row_of(near->w, row, k), *rho = near->rho + row * width;
    for (size_t c = 0; c < k; c++) {
      own->t[i + c * rows->n] = root * w[c];
    }
    for (size_t column = 0; column < width; column++) {
      oat_add_scaled(k, om * rho[column], w, sums->vwr + column * k);
      oat_add_scaled(width, om * rho[column], rho, sums->rwr + column * width);
    }
    sums->scalar[OAT_LOG_LAMBDA] += log(near->d[row]);
    sums->scalar[OAT_SUM_W] += om;
  }
  oat_syrk(1, (oat_const_view){own->t, rows->n, k, rows->n}, first ? 0 : 1, oat_square(sums->vwv, k));
}

static void add_block(void *self, size_t lane, size_t item) {
  const job *j = self;
  const size_t k = j->sparse->k;
  const oat_row_block rows = oat_rows_block(j->cpu->rows, j->cpu->block, item);
  oat_sums sums = oat_sums_over(oat_cpu_sums_of(j->cpu, lane), k, j->cpu->rows->p);
  if (item == lane) { /* the first of its lane */
    memset(sums.vwr, 0, (sums.count - k * k) * sizeof *sums.vwr);
  }
  for (size_t i = 0; i < rows.n; i++) {
    const seat s = take_seat(j, rows.first + i);
    predict_row(j, &s);
  }
  add_products(j, &rows, item == lane, &sums);
}

static void join_sums(void *self, size_t first, size_t count) {
  const job *j = self;
  oat_cpu_join(j->cpu, first, count, 0, j->sums->count, j->sums->vwv);
}

/* About, of a pass that goes through the neighbours. */
static double flops_of(const job *j) {
  const double n = (double)j->cpu->rows->n, m = (double)j->cpu->near.most, k = (double)j->sparse->k;
  return n * (m * m * (k + m / 3 + 2 * (double)j->cpu->rows->d + 12) + k * k);
}

static oat_loop loop_over(const job *j, const char *what, void (*item)(void *self, size_t lane, size_t item), void *self) {
  oat_loop loop = oat_cpu_loop(j->cpu, what, item, self);
  loop.flops = flops_of(j);
  return loop;
}

oatgp_status oat_cpu_neighbour_sums(oat_cpu *cpu, const oat_sparse *sparse, oat_sums *out) {
  job j = {.cpu = cpu, .sparse = sparse, .all = oat_rows_block(cpu->rows, cpu->rows->n, 0), .sums = out};
  oat_sparse values = *sparse;
  values.gradient = false;
  oat_cpu_run(cpu, NULL, keep_v, &(job){.cpu = cpu, .sparse = &values});
  oat_loop loop = loop_over(&j, "value", add_block, &j);
  loop.join = join_sums;
  oat_loop_run(&loop);
  return OATGP_OK;
}

/* ---- the gradient ------------------------------------------------------------------------------------------------ */

/* The adjoints of one row: those of its prediction. */
typedef struct row_adjoint {
  double d, rho; /* of D and of rho */
} row_adjoint;

/* dw into the desk, from B^-1 w. */
static row_adjoint adjoint_of(const job *j, const seat *s, const double *bw) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k, p = j->cpu->rows->p;
  const double *w = row_of(near->w, s->i, k), *rho = near->rho + s->i * (1 + p), *e = j->adjoint->e;
  const double om = 1 / near->d[s->i];
  double rest = rho[0] - oat_sum_products(k, w, e);
  for (size_t column = 0; column < p; column++) {
    rest -= j->adjoint->coefficient[column] * rho[1 + column];
  }
  for (size_t c = 0; c < k; c++) {
    s->at.dw[c] = om * (rest * e[c] - bw[c]);
  }
  return (row_adjoint){-0.5 * om * (1 - om * (oat_sum_products(k, w, bw) + rest * rest)), -om * rest};
}

/* The residual of a row, less the mean. */
static double residual_of(const job *j, size_t i) {
  double r = j->all.r[i];
  for (size_t column = 0; column < j->cpu->rows->p; column++) {
    r -= j->adjoint->coefficient[column] * j->all.r[i + (1 + column) * j->all.ldr];
  }
  return r;
}

/* z = C^-1 db, and a. */
static void solve_adjoint(const job *j, const seat *s, const row_adjoint *d) {
  oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k;
  const double *w = row_of(near->w, s->i, k);
  double *z = near->z + s->i * near->most, *a = near->a + s->i * k;
  for (size_t b = 0; b < s->m; b++) {
    z[b] = -oat_sum_products(k, row_of(near->v, s->list[b], k), s->at.dw) - d->rho * residual_of(j, s->list[b]);
  }
  solve(s, OAT_PLAIN, z);
  solve(s, OAT_TRANSPOSED, z);
  memcpy(a, s->at.dw, k * sizeof *a);
  oat_add_scaled(k, -2 * d->d, w, a);
  for (size_t b = 0; b < s->m; b++) {
    oat_add_scaled(k, -z[b], row_of(near->v, s->list[b], k), a);
  }
}

/* The part of the gradient that goes through the kernel between neighbours, and through their noise. */
static void add_pairs(const job *j, const seat *s, double dd, oat_gradient_sums *own) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t m = s->m;
  const double *b = near->b + s->i * near->most, *z = near->z + s->i * near->most, tau2 = j->sparse->tau * j->sparse->tau;
  double *const *pairs = s->at.pairs, *g = pairs[3];
  for (size_t c = 0; c < m; c++) {
    double *column = g + oat_pair(m + 1, c, c);
    for (size_t a = c; a < m; a++) { /* each pair stands for two elements of a symmetric matrix */
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

/* The factor of C that the value left, or made again. */
static void find_factor(const job *j, seat *s) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  if (near->factor != NULL) {
    s->at.l = near->factor + s->i * near->most * near->most;
  } else {
    make_c(j, s);
    factorise(j, s);
  }
}

static void adjoint_block(void *self, size_t lane, size_t item) {
  job *j = self;
  const size_t k = j->sparse->k;
  const oat_cpu_worker *worker = oat_cpu_own(j->cpu);
  const oat_row_block rows = oat_rows_block(j->cpu->rows, j->cpu->block, item);
  const oat_const_view w = {j->cpu->near.w + rows.first * k, k, rows.n, k};
  oat_gemm(1, oat_const_square(j->adjoint->product, k), OAT_PLAIN, w, OAT_PLAIN, 0, (oat_view){worker->t, k, rows.n, k});
  for (size_t i = 0; i < rows.n; i++) {
    seat s = take_seat(j, rows.first + i);
    make_pairs(j, &s, true);
    find_factor(j, &s);
    const row_adjoint d = adjoint_of(j, &s, worker->t + i * k);
    solve_adjoint(j, &s, &d);
    add_pairs(j, &s, d.d, &j->own[lane]);
  }
}

/* dV of a row, gathered from the rows that have it as a neighbour. */
static void gather(const job *j, size_t row, double *dv) {
  const oat_cpu_neighbours *near = &j->cpu->near;
  const size_t k = j->sparse->k;
  memcpy(dv, row_of(near->a, row, k), k * sizeof *dv);
  for (size_t e = near->start[row]; e < near->start[row + 1]; e++) {
    const size_t place = near->entry[e], i = place / near->most;
    oat_add_scaled(k, -near->b[place], row_of(near->a, i, k), dv);
    oat_add_scaled(k, -near->z[place], row_of(near->w, i, k), dv);
  }
}

/* S = sum dv v^T and what goes through Kfu. */
static void gather_block(void *self, size_t lane, size_t item) {
  job *j = self;
  const size_t k = j->sparse->k;
  const oat_cpu_worker *worker = oat_cpu_own(j->cpu);
  const oat_row_block rows = oat_rows_block(j->cpu->rows, j->cpu->block, item);
  const oat_view t = {worker->t, rows.n, k, rows.n}, dv = {worker->v, k, rows.n, k};
  if (item == lane) {
    memset(oat_cpu_sums_of(j->cpu, lane), 0, j->out->count * sizeof(double));
  }
  oat_gradient_sums sums = oat_gradient_sums_over(oat_cpu_sums_of(j->cpu, lane), k, j->cpu->rows->d);
  sums.kernel.z = j->out->kernel.z != NULL ? sums.kernel.z : NULL;
  for (size_t i = 0; i < rows.n; i++) {
    gather(j, rows.first + i, dv.a + i * k);
    for (size_t c = 0; c < k; c++) {
      t.a[i + c * t.ld] = dv.a[c + i * k];
    }
  }
  const oat_const_view v = {j->cpu->near.v + rows.first * k, k, rows.n, k};
  oat_gemm(1, oat_as_const(dv), OAT_PLAIN, v, OAT_TRANSPOSED, 1, oat_square(sums.s, k));
  oat_triangle_solve(&j->cpu->kuu, OAT_PLAIN, t);
  oat_kernel_cross_slopes(&j->sparse->cov, rows.x, oat_sparse_knots(j->sparse), dv.a, worker->slope, rows.n, worker->work);
  oat_kernel_cross_adjoint(&j->sparse->cov, rows.x, oat_sparse_knots(j->sparse), t.a, worker->slope, t.ld, worker->work, &sums.kernel);
}

static void join_gradient(void *self, size_t first, size_t count) {
  const job *j = self;
  oat_cpu_join(j->cpu, first, count, 0, j->out->count, j->out->kernel.theta);
}

oatgp_status oat_cpu_neighbour_gradient(oat_cpu *cpu, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *out) {
  const size_t theta = oat_theta_most(cpu->rows->d);
  job j = {.cpu = cpu, .sparse = sparse, .all = oat_rows_block(cpu->rows, cpu->rows->n, 0), .adjoint = adjoint, .out = out};
  memset(cpu->near.theta, 0, theta * cpu->lanes * sizeof *cpu->near.theta);
  for (size_t lane = 0; lane < cpu->lanes; lane++) {
    j.own[lane].kernel.theta = cpu->near.theta + lane * theta;
  }
  oat_loop loop = loop_over(&j, "gradient", adjoint_block, &j);
  oat_loop_run(&loop);
  loop = loop_over(&j, "gradient", gather_block, &j);
  loop.join = join_gradient;
  oat_loop_run(&loop);
  out->dg = out->dn = out->pairs = 0;
  for (size_t lane = 0; lane < cpu->lanes; lane++) {
    out->dn += j.own[lane].dn;
    out->pairs += j.own[lane].pairs;
    for (size_t i = 0; i < oat_theta_count(oat_kernel_at(sparse->cov.id), sparse->cov.d); i++) {
      out->kernel.theta[i] += j.own[lane].kernel.theta[i];
    }
  }
  return OATGP_OK;
}
