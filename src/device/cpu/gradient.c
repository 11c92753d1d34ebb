/* The sums of the gradient. Collapsed 2 N K^2 (gemm), else 3 N K^2 (gemm, solve) and 2 N K^2 for S (gemm). With the log
 * penalty N K^2 more collapsed (solve), and N K^2 for S (syrk). And the solve for V again if it was not kept. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

typedef struct job {
  oat_cpu *cpu;
  const oat_sparse *sparse;
  const oat_adjoint *adjoint;
  oat_gradient_sums *out;
  oat_gradient_sums own[OAT_MOST_LANES];
} job;

/* r_i - h_i . coefficient */
static void residuals(const oat_row_block *b, size_t p, const double *coefficient, double *r) {
  memcpy(r, b->r, b->n * sizeof *r);
  for (size_t j = 0; j < p; j++) {
    const double *h = b->r + (1 + j) * b->ldr;
    for (size_t i = 0; i < b->n; i++) {
      r[i] -= coefficient[j] * h[i];
    }
  }
}

/* ---- the log penalty ------------------------------------------------------------------------------------------- */

static bool log_penalty(const job *j) { return j->sparse->penalty == OAT_PENALISE_LOG; }

/* S += V^T diag(h) V, by T = diag(sqrt(h)) V in t; sqrt(h) stays in row[3]. */
static void add_log_s(job *j, size_t lane, const oat_cpu_block *b, oat_view t) {
  const double *q = oat_cpu_squares(j->cpu, b), *prior = oat_cpu_prior(j->cpu, j->sparse, &b->rows);
  double *root = oat_cpu_own(j->cpu)->row[3];
  for (size_t i = 0; i < t.rows; i++) {
    root[i] = 1 / sqrt(oat_block_noise(&b->rows, j->sparse->tau, i) + oat_cpu_left(prior[i], q[i]));
  }
  for (size_t c = 0; c < t.columns; c++) {
    oat_product(t.rows, 1, root, b->v.a + c * b->v.ld, t.a + c * t.ld);
  }
  if (j->own[lane].s != NULL) {
    oat_syrk(1, oat_as_const(t), 1, oat_square(j->own[lane].s, t.columns));
  }
}

/* After add_log_s: t = common (diag(h / w) V L^-1 + r le^T), with w in row[1] and r in row[2]. Also dg_i in row[4], and
 * the sums of dg and dn. */
static void begin_with_log(job *j, size_t lane, const oat_row_block *b, double common, oat_view t) {
  double *const *row = oat_cpu_own(j->cpu)->row, *factor = row[3], *dg = row[4];
  const double *w = row[1], tau = j->sparse->tau;
  oat_gradient_sums *own = &j->own[lane];
  for (size_t i = 0; i < t.rows; i++) {
    const double h = factor[i] * factor[i];
    dg[i] = -0.5 * h;
    own->dg += dg[i];
    own->dn += 0.5 * (w[i] - h) * (tau * tau) * oat_block_noise_scale(b, i);
    factor[i] *= common / w[i];
  }
  oat_triangle_solve(&j->cpu->kuu, OAT_PLAIN, t);
  for (size_t c = 0; c < t.columns; c++) {
    oat_multiply_add(t.rows, factor, common * j->adjoint->le[c], row[2], t.a + c * t.ld);
  }
}

/* t = common r le^T, with r in row[2]. */
static void begin_without(const job *j, double common, oat_view t) {
  for (size_t c = 0; c < t.columns; c++) {
    oat_scaled_copy(t.rows, common * j->adjoint->le[c], oat_cpu_own(j->cpu)->row[2], t.a + c * t.ld);
  }
}

/* ---- a block --------------------------------------------------------------------------------------------------- */

/* dKfu = diag(w) (V product + r le^T) of a block when alpha = 0: one product with a K x K matrix. With the log penalty
 * also diag(h) V L^-1. */
static void collapsed_block(job *j, size_t lane, const oat_cpu_block *b, oat_view t) {
  const oat_cpu_worker *l = oat_cpu_own(j->cpu);
  const bool uniform = oat_rows_plain_noise(j->cpu->rows);
  double *w = l->row[1];
  oat_cpu_weights(j->cpu, j->sparse, &b->rows);
  residuals(&b->rows, j->cpu->rows->p, j->adjoint->coefficient, l->row[2]);
  const double common = uniform ? w[0] : 1;
  if (log_penalty(j)) {
    add_log_s(j, lane, b, t);
    begin_with_log(j, lane, &b->rows, common, t);
  } else {
    begin_without(j, common, t);
  }
  oat_gemm(common, oat_as_const(b->v), OAT_PLAIN, oat_const_square(j->adjoint->product, t.columns), OAT_PLAIN, 1, t);
  for (size_t c = 0; !uniform && c < t.columns; c++) {
    oat_multiply_each(t.rows, w, t.a + c * t.ld);
  }
}

/* The derivative of the penalty in g_i with alpha = 0. */
static double penalty_slope(oat_penalty penalty, double n, double g) {
  return penalty == OAT_PENALISE_TRACE ? -0.5 / n : penalty == OAT_PENALISE_LOG ? -0.5 / (n + g) : 0;
}

/* Per row: the derivatives in g_i and n_i (method: through lambda and through the penalty), given |LB^-1 v|^2 in
 * vbv. */
static void row_adjoints(job *j, size_t lane, const oat_row_block *b, const double *q, const double *vbv) {
  double *const *row = oat_cpu_own(j->cpu)->row, *w = row[1], *r = row[2], *ve = row[3], *dg = row[4];
  const double alpha = j->sparse->alpha, tau = j->sparse->tau, *prior = oat_cpu_prior(j->cpu, j->sparse, b);
  oat_gradient_sums *own = &j->own[lane];
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_block_noise(b, tau, i), g = oat_cpu_left(prior[i], q[i]);
    const double lambda = n + alpha * g, rest = r[i] - ve[i];
    w[i] = 1 / lambda;
    const double d_lambda = -0.5 * w[i] * (1 - w[i] * (vbv[i] + rest * rest));
    const double pen_g = alpha > 0 ? -0.5 * (1 - alpha) * w[i] : penalty_slope(j->sparse->penalty, n, g);
    dg[i] = alpha * d_lambda + pen_g;
    const double dn = d_lambda - pen_g * g / n;
    own->dg += dg[i];
    own->dn += dn * (tau * tau) * oat_block_noise_scale(b, i);
  }
}

/* dV of a block, for any alpha and noise: -W V B^-1 + w (r - ve) e^T - 2 diag(dg) V; t holds V B^-1 on entry. */
static void finish_general(const oat_cpu_worker *l, const oat_cpu_block *b, const double *e, oat_view t) {
  const double *w = l->row[1], *r = l->row[2], *ve = l->row[3], *dg = l->row[4];
  for (size_t c = 0; c < t.columns; c++) {
    double *column = t.a + c * t.ld;
    const double *v = b->v.a + c * b->v.ld;
    for (size_t i = 0; i < t.rows; i++) {
      column[i] = w[i] * ((r[i] - ve[i]) * e[c] - column[i]) - 2 * dg[i] * v[i];
    }
  }
}

static void row_dots(oat_const_view a, oat_const_view b, double *dots) {
  memset(dots, 0, a.rows * sizeof *dots);
  for (size_t c = 0; c < a.columns; c++) {
    for (size_t i = 0; i < a.rows; i++) {
      dots[i] += a.a[i + c * a.ld] * b.a[i + c * b.ld];
    }
  }
}

/* dKfu of a block with the terms of its rows, for any alpha and noise. */
static void general_block(job *j, size_t lane, const oat_cpu_block *b, oat_view t) {
  const oat_cpu_worker *l = oat_cpu_own(j->cpu);
  const double *q = oat_cpu_squares(j->cpu, b);
  double *vbv = l->work;
  if (log_penalty(j)) {
    add_log_s(j, lane, b, t);
  }
  oat_gemm(1, oat_as_const(b->v), OAT_PLAIN, oat_const_square(j->adjoint->product, t.columns), OAT_PLAIN, 0, t);
  row_dots(oat_as_const(b->v), oat_as_const(t), vbv);
  residuals(&b->rows, j->cpu->rows->p, j->adjoint->coefficient, l->row[2]);
  oat_gemv(1, oat_as_const(b->v), OAT_PLAIN, j->adjoint->e, 0, l->row[3]);
  row_adjoints(j, lane, &b->rows, q, vbv);
  finish_general(l, b, j->adjoint->e, t);
  if (j->own[lane].s != NULL && !log_penalty(j)) {
    oat_gemm_lower(1, oat_as_const(t), OAT_TRANSPOSED, oat_as_const(b->v), OAT_PLAIN, 1,
                   oat_square(j->own[lane].s, t.columns));
  }
  oat_triangle_solve(&j->cpu->kuu, OAT_PLAIN, t);
}

/* The part through k(x, x) of a tree. Collapsed, dg_i is -w_i / 2 if the trace is penalised, and 0 without a
 * penalty. */
static void add_prior(const job *j, size_t lane, const oat_row_block *b) {
  const oat_cpu_worker *l = oat_cpu_own(j->cpu);
  double *dg = l->row[4];
  if (!oat_covariance_is_tree(&j->sparse->cov) ||
      (j->adjoint->collapsed && j->sparse->penalty == OAT_PENALISE_NOTHING)) {
    return;
  }
  if (j->adjoint->collapsed && !log_penalty(j)) {
    oat_scaled_copy(b->n, -0.5, l->row[1], dg);
  }
  oat_kernel_gradient only = {.theta = j->own[lane].kernel.theta};
  oat_kernel_diagonal_adjoint(&j->sparse->cov, b->x, dg, &only);
}

/* Empty sums in the memory of a lane, with the shape of those that are asked for. */
static oat_gradient_sums sums_of(const job *j, size_t lane) {
  double *base = oat_cpu_sums_of(j->cpu, lane);
  oat_gradient_sums own = oat_gradient_sums_over(base, oat_cpu_thetas(j->cpu), j->sparse->k, j->cpu->rows->d);
  memset(base, 0, j->out->count * sizeof *base);
  own.kernel.z = j->out->kernel.z != NULL ? own.kernel.z : NULL;
  own.s = j->out->s != NULL ? own.s : NULL;
  return own;
}

static void add_block(void *self, size_t lane, size_t item) {
  job *j = self;
  const oat_cpu_worker *l = oat_cpu_own(j->cpu);
  if (item + j->cpu->lanes >= j->cpu->items) { /* the first of its lane */
    j->own[lane] = sums_of(j, lane);
  }
  const oat_cpu_block b = oat_cpu_block_of(j->cpu, j->sparse, item);
  const oat_view t = {l->t, b.v.rows, b.v.columns, b.v.rows};
  if (b.rows.n == 0) {
    return;
  }
  if (j->adjoint->collapsed) {
    collapsed_block(j, lane, &b, t);
  } else {
    general_block(j, lane, &b, t);
  }
  add_prior(j, lane, &b.rows);
  oat_kernel_cross_adjoint(&j->sparse->cov, b.rows.x, oat_sparse_knots(j->sparse), t.a, b.slope, t.ld, l->work,
                           &j->own[lane].kernel);
}

static void join(void *self, size_t first, size_t count) {
  const job *j = self;
  oat_cpu_join(j->cpu, first, count, 0, j->out->count, j->out->kernel.theta);
}

/* Backwards, because the latest blocks of the sums may still be in the processor's cache. */
oatgp_status oat_cpu_gradient_sums(oat_device *device, const oat_sparse *sparse, const oat_adjoint *adjoint,
                                   oat_gradient_sums *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  if (cpu->near.most > 0) {
    return oat_cpu_neighbour_gradient(cpu, sparse, adjoint, out);
  }
  job j = {.cpu = cpu, .sparse = sparse, .adjoint = adjoint, .out = out};
  oat_loop loop = oat_cpu_loop(cpu, "gradient", add_block, &j);
  loop.backwards = true;
  loop.join = join;
  oat_loop_run(&loop);
  double scalars[2 * OAT_MOST_LANES] = {0};
  for (size_t lane = 0; lane < cpu->lanes; lane++) {
    scalars[2 * lane] = j.own[lane].dg;
    scalars[2 * lane + 1] = j.own[lane].dn;
  }
  const size_t lanes = oat_cpu_all_lanes(cpu, scalars, 2);
  out->dg = out->dn = out->pairs = 0;
  for (size_t lane = 0; lane < lanes; lane++) {
    out->dg += scalars[2 * lane];
    out->dn += scalars[2 * lane + 1];
  }
  return oat_rows_check(cpu->ctx, cpu->rows);
}
