/* Pass 2: the sums of the gradient. Collapsed 2 N K^2 (gemm), and the solve again if V was not kept. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "kernel/vector.h"

/* How many blocks a lane has. */
static size_t turns_of(const oat_backend *backend, size_t index) {
  const size_t blocks = (backend->rows.n + backend->block - 1) / backend->block;
  return blocks > index ? (blocks - index - 1) / backend->lanes + 1 : 0;
}

/* r_i - h_i . coefficient */
static void residuals(const oat_lane *l, const oat_block *b, const double *coefficient, double *r) {
  const oat_rows *rows = &l->backend->rows;
  memcpy(r, rows->r + b->first, b->n * sizeof *r);
  for (size_t j = 0; j < rows->p; j++) {
    const double *h = rows->r + (1 + j) * rows->n + b->first;
    for (size_t i = 0; i < b->n; i++) {
      r[i] -= coefficient[j] * h[i];
    }
  }
}

/* dKfu = diag(w) (V product + r le^T) of a block when alpha = 0: one product with a K x K matrix. */
static void collapsed_block(oat_lane *l, const oat_sparse *sparse, const oat_adjoint *adjoint, const oat_block *b, oat_view t) {
  const bool uniform = oat_cpu_uniform(&l->backend->rows);
  double *w = l->row[1], *r = l->row[2];
  oat_cpu_weights(l, sparse, b);
  residuals(l, b, adjoint->coefficient, r);
  const double common = uniform ? w[0] : 1;
  for (size_t c = 0; c < t.columns; c++) {
    oat_scaled_copy(b->n, common * adjoint->le[c], r, t.a + c * t.ld);
  }
  oat_gemm(common, oat_as_const(b->v), OAT_PLAIN, oat_const_square(adjoint->product, sparse->k), OAT_PLAIN, 1, t);
  for (size_t c = 0; !uniform && c < t.columns; c++) {
    oat_multiply_each(b->n, w, t.a + c * t.ld);
  }
}

/* Per row: the derivatives in g_i and n_i (method: through lambda and through the penalty), given |LB^-1 v|^2 in vbv. */
static void row_adjoints(oat_lane *l, const oat_sparse *sparse, const oat_block *b, const double *vbv, oat_gradient_sums *sums) {
  double *w = l->row[1], *r = l->row[2], *ve = l->row[3], *dg = l->row[4];
  const double alpha = sparse->alpha, tau2 = sparse->tau * sparse->tau;
  for (size_t i = 0; i < b->n; i++) {
    const double n = oat_noise_variance(&l->backend->rows, sparse->tau, b->first + i), g = oat_cpu_residual(sparse, b->q[i]);
    const double lambda = n + alpha * g, rest = r[i] - ve[i];
    w[i] = 1 / lambda;
    const double d_lambda = -0.5 * w[i] * (1 - w[i] * (vbv[i] + rest * rest));
    const double pen_g = alpha > 0 ? -0.5 * (1 - alpha) * w[i] : sparse->trace ? -0.5 / n : 0;
    dg[i] = alpha * d_lambda + pen_g;
    const double dn = d_lambda - pen_g * g / n;
    sums->dg += dg[i];
    sums->dn += dn * tau2 * oat_noise_scale(&l->backend->rows, b->first + i);
  }
}

/* dV of a block, for any alpha and noise: -W V B^-1 + w (r - ve) e^T - 2 diag(dg) V; t holds V B^-1 on entry. */
static void finish_general(oat_lane *l, const oat_block *b, const double *e, oat_view t) {
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

/* dKfu of a block for any alpha and noise: about twice the work of the collapsed one. */
static void general_block(oat_lane *l, const oat_sparse *sparse, const oat_adjoint *adjoint, const oat_block *b, oat_view t,
                          oat_gradient_sums *sums) {
  const size_t k = sparse->k;
  double *vbv = l->work;
  oat_gemm(1, oat_as_const(b->v), OAT_PLAIN, oat_const_square(adjoint->product, k), OAT_PLAIN, 0, t);
  row_dots(oat_as_const(b->v), oat_as_const(t), vbv);
  residuals(l, b, adjoint->coefficient, l->row[2]);
  oat_gemv(1, oat_as_const(b->v), OAT_PLAIN, adjoint->e, 0, l->row[3]);
  row_adjoints(l, sparse, b, vbv, sums);
  finish_general(l, b, adjoint->e, t);
  oat_gemm(1, oat_as_const(t), OAT_TRANSPOSED, oat_as_const(b->v), OAT_PLAIN, 1, oat_square(sums->s, k));
  oat_triangle_solve(&l->backend->kuu, OAT_PLAIN, t);
}

static void clear_gradient(oat_gradient_sums *sums) {
  memset(sums->kernel.log_lengthscale, 0, sums->count * sizeof(double));
  sums->kernel.log_shape = 0;
  sums->dg = 0;
  sums->dn = 0;
}

/* Backwards, since the latest blocks of pass 1 may still be in the processor's cache. */
static void pass2_lane(oat_lane *l, size_t index, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums) {
  const oat_backend *backend = l->backend;
  clear_gradient(sums);
  for (size_t turn = turns_of(backend, index); turn-- > 0;) {
    const size_t first = (index + turn * backend->lanes) * backend->block;
    const oat_block b = adjoint->collapsed ? oat_cpu_block(l, sparse, first) : oat_cpu_block_with_q(l, sparse, first);
    const oat_view t = {l->t, b.n, sparse->k, b.n};
    if (adjoint->collapsed) {
      collapsed_block(l, sparse, adjoint, &b, t);
    } else {
      general_block(l, sparse, adjoint, &b, t, sums);
    }
    const oat_points x = {backend->rows.x + first, b.n, backend->rows.n}, z = {sparse->z, sparse->k, sparse->ldz};
    oat_kernel_cross_adjoint(&sparse->cov, x, z, t.a, b.slope, t.ld, l->work, &sums->kernel);
    oat_cpu_count(l, &b, "gradient");
  }
}

static oat_gradient_sums gradient_sums_of(const oat_lane *l, const oat_gradient_sums *sums) {
  oat_gradient_sums own = oat_gradient_sums_over(l->sums, l->backend->kuu.k, l->backend->rows.d);
  own.count = sums->count;
  own.kernel.z = sums->kernel.z != NULL ? own.kernel.z : NULL;
  return own;
}

oatgp_status oat_cpu_pass2(oat_backend *backend, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums) {
  oat_gradient_sums own[OAT_CPU_MOST_LANES];
  backend->done = 0;
#pragma omp parallel for num_threads(oat_cpu_threads(backend)) schedule(static, 1)
  for (size_t i = 0; i < backend->lanes; i++) {
    own[i] = gradient_sums_of(&backend->lane[i], sums);
    pass2_lane(&backend->lane[i], i, sparse, adjoint, &own[i]);
  }
  clear_gradient(sums);
  for (size_t i = 0; i < backend->lanes; i++) {
    oat_cpu_add(sums->count, backend->lane[i].sums, sums->kernel.log_lengthscale);
    sums->kernel.log_shape += own[i].kernel.log_shape;
    sums->dg += own[i].dg;
    sums->dn += own[i].dn;
  }
  return OATGP_OK;
}
