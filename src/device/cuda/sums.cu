/* The sums that give the value and the gradient: device.h has the formulas, src/device/cpu the same on the
 * processor. */
#include <string.h>

#include "device/cuda/cuda.h"

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* The results of a block's rows. */
struct weighing {
  oat_cuda_noise noise;
  double alpha, prior;
  oat_penalty penalty;
  const double *q; /* |v|^2, where it is needed */
  double *w, *root;
};

__device__ static void put_sums(double *own, int count, double *parts) {
  __shared__ double room[OAT_CUDA_THREADS];
  for (int j = 0; j < count; j++) {
    __syncthreads();
    room[threadIdx.x] = own[j];
    for (int half = OAT_CUDA_THREADS / 2; half > 0; half /= 2) {
      __syncthreads();
      if ((int)threadIdx.x < half) {
        room[threadIdx.x] += room[threadIdx.x + half];
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      parts[blockIdx.x * OAT_CUDA_SCALARS + j] += room[0];
    }
  }
}

__global__ void weigh(size_t n, weighing at, double *parts) {
  double sums[OAT_SCALARS] = {0};
  for (size_t i = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x; i < n;
       i += (size_t)OAT_CUDA_THREADS * OAT_CUDA_PARTS) {
    const double noise = at.noise.of(i), g = at.q != nullptr ? fmax(at.prior - at.q[i], 0.0) : 0,
                 lambda = noise + at.alpha * g;
    at.w[i] = 1 / lambda;
    at.root[i] = sqrt(at.w[i]);
    sums[OAT_LOG_LAMBDA] += log(fabs(lambda));
    sums[OAT_SUM_W] += at.w[i];
    if (at.alpha > 0) {
      sums[OAT_PENALTY] -= (1 - at.alpha) / (2 * at.alpha) * log1p(at.alpha * g / noise);
      sums[OAT_G_OVER_N] += g / noise;
    } else if (at.penalty == OAT_PENALISE_LOG) {
      sums[OAT_PENALTY] -= 0.5 * log1p(g / noise);
    }
  }
  put_sums(sums, OAT_SCALARS, parts);
}

/* out_ij = w_i r_ij */
__global__ void weigh_right(size_t n, const double *w, const double *r, size_t ldr, double *out, size_t ld) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i < n) {
    out[i + j * ld] = w[i] * r[i + j * ldr];
  }
}

static unsigned grid_of(size_t n) { return (unsigned)((n + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS); }

/* out <- the sums of the scalars of all parts, in their order. */
static void join_scalars(oat_cuda *cuda, size_t count, double *out) {
  oat_cuda_join_parts(cuda, count, OAT_CUDA_PARTS, OAT_CUDA_SCALARS, cuda->scalars, out);
}

/* ---- work beside the main stream ------------------------------------------------------------------------------- */

/* The stream for work that only needs earlier results of the main stream: the one aside, or the main one. */
static cudaStream_t leave_main(oat_cuda *cuda, bool apart, size_t turn) {
  oat_cuda_session *s = cuda->session;
  if (!apart) {
    return s->stream;
  }
  oat_cuda_check(cuda, cudaEventRecord(s->made[turn], s->stream), "an event");
  oat_cuda_check(cuda, cudaStreamWaitEvent(s->aside, s->made[turn], 0), "an event");
  return s->aside;
}

static void end_aside(oat_cuda *cuda, size_t turn) {
  oat_cuda_check(cuda, cudaEventRecord(cuda->session->used[turn], cuda->session->aside), "an event");
}

static void wait_for_aside(oat_cuda *cuda, size_t turn) {
  oat_cuda_check(cuda, cudaStreamWaitEvent(cuda->session->stream, cuda->session->used[turn], 0), "an event");
}

/* ---- the value ------------------------------------------------------------------------------------------------- */

/* Whether weights and right sides of a block can be computed aside: the main stream does not need them, and V is
 * kept. */
static bool is_apart(const oat_cuda *cuda, const oat_sparse *sparse) {
  return cuda->keeps && sparse->alpha == 0 && sparse->penalty != OAT_PENALISE_LOG && oat_rows_plain_noise(cuda->rows);
}

static bool needs_squares(const oat_sparse *sparse) { return sparse->alpha > 0 || sparse->penalty == OAT_PENALISE_LOG; }

static void add_value_block(oat_cuda *cuda, const oat_cuda_kernel &kernel, const oat_sparse *sparse, size_t item) {
  const size_t n = oat_cuda_rows_of(cuda, item), k = sparse->k, width = 1 + cuda->p;
  const bool squares = needs_squares(sparse), uniform = sparse->alpha == 0 && oat_rows_plain_noise(cuda->rows);
  double *v = oat_cuda_v(cuda, kernel, sparse, item), *q = cuda->row[0], *w = cuda->row[1], *root = cuda->row[2];
  if (squares) {
    oat_cuda_row_dots(cuda, n, k, v, v, q);
  }
  if (!oat_cuda_fine(cuda)) {
    return;
  }
  const weighing at = {oat_cuda_noise_of(cuda, sparse->tau, item),
                       sparse->alpha,
                       kernel.sigma2,
                       sparse->penalty,
                       squares ? q : nullptr,
                       w,
                       root};
  const cudaStream_t stream = leave_main(cuda, is_apart(cuda, sparse), 0);
  weigh<<<OAT_CUDA_PARTS, OAT_CUDA_THREADS, 0, stream>>>(n, at, cuda->scalars);
  weigh_right<<<dim3(grid_of(n), (unsigned)width), OAT_CUDA_THREADS, 0, stream>>>(n, w, oat_cuda_r(cuda, item, 0),
                                                                                  cuda->n, cuda->weighted, cuda->ld);
  const oat_const_view weighted = {cuda->weighted, n, width, cuda->ld};
  oat_cuda_add_right(cuda, n, {v, n, k, cuda->ld}, weighted, item == 0, cuda->right, stream);
  oat_cuda_add_right(cuda, n, {oat_cuda_r(cuda, item, 0), n, width, cuda->n}, weighted, item == 0, cuda->gram, stream);
  const double *from = v;
  if (!uniform) { /* sites of answers whose likelihood is not log-concave may have a negative w, which has no root */
    oat_cuda_scale_rows(cuda, n, k, cuda->negative ? w : root, v, cuda->t);
    from = cuda->t;
  }
  const double alpha = uniform ? 1 / (sparse->tau * sparse->tau) : 1;
  oat_cuda_add_products(cuda, alpha, k, from, cuda->negative ? v : from, item == 0 ? 0 : 1, false);
}

oatgp_status oat_cuda_sums(oat_device *device, const oat_sparse *sparse, oat_sums *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t k = sparse->k, width = 1 + cuda->p;
  if (cuda->near.most > 0) {
    return oat_cuda_neighbour_sums(cuda, sparse, out);
  }
  cuda->cached = cuda->cached == sparse->stamp ? cuda->cached : 0;
  const oat_cuda_kernel kernel = oat_cuda_take_point(cuda, sparse);
  oat_cuda_clear(cuda, OAT_CUDA_PARTS * OAT_CUDA_SCALARS, cuda->scalars);
  for (size_t item = 0; item < cuda->blocks; item++) {
    add_value_block(cuda, kernel, sparse, item);
  }
  if (is_apart(cuda, sparse)) {
    end_aside(cuda, 0);
    wait_for_aside(cuda, 0);
  }
  const oat_sums there = oat_sums_over(cuda->result, k, cuda->p);
  oat_cuda_join_products(cuda, k, there.vwv, false);
  oat_cuda_join_parts(cuda, k * width, OAT_CUDA_RIGHT_PARTS, k * width, cuda->right, there.vwr);
  oat_cuda_join_parts(cuda, width * width, OAT_CUDA_RIGHT_PARTS, width * width, cuda->gram, there.rwr);
  join_scalars(cuda, OAT_SCALARS, there.scalar);
  oat_cuda_download(cuda, there.count, cuda->result, cuda->back);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    memcpy(out->vwv, cuda->back, there.count * sizeof *out->vwv);
    oat_sums_finish(sparse, out);
    oat_cuda_keep_v(cuda, sparse);
  }
  return status;
}

/* ---- the gradient ---------------------------------------------------------------------------------------------- */

/* Sums of the rows. */
enum { DG, DN, ROW_SUMS };

/* Of the rows of a block: w_i and r_i - h_i . coefficient. */
__global__ void take_residuals(size_t n, oat_cuda_noise noise, const double *r, size_t ldr, size_t p,
                               const double *coefficient, double *w, double *out) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    double sum = r[i];
    for (size_t j = 0; j < p; j++) {
      sum -= coefficient[j] * r[i + (1 + j) * ldr];
    }
    out[i] = sum;
    w[i] = 1 / noise.of(i);
  }
}

/* With the log penalty: root of h_i, h_i = 1 / (n_i + g_i). */
__global__ void take_roots(size_t n, oat_cuda_noise noise, double prior, const double *q, double *root) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    root[i] = 1 / sqrt(noise.of(i) + fmax(prior - q[i], 0.0));
  }
}

/* Collapsed, with the log penalty: factor_i = root_i / w_i, and the sums of dg and dn. */
__global__ void log_rows(size_t n, oat_cuda_noise noise, const double *w, const double *root, double *factor,
                         double *parts) {
  double sums[ROW_SUMS] = {0};
  for (size_t i = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x; i < n;
       i += (size_t)OAT_CUDA_THREADS * OAT_CUDA_PARTS) {
    const double h = root[i] * root[i];
    sums[DG] -= 0.5 * h;
    sums[DN] += 0.5 * (w[i] - h) * noise.tau2 * noise.scale_of(i);
    factor[i] = root[i] / w[i];
  }
  put_sums(sums, ROW_SUMS, parts);
}

/* a = a + diag(by) b, element by element */
__global__ void add_scaled_rows(size_t n, size_t ld, const double *by, const double *b, double *a) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i < n) {
    a[i + c * ld] = fma(by[i], b[i + c * ld], a[i + c * ld]);
  }
}

/* The terms of a block's rows in the general case; vbv and ve are |LB^-1 v|^2 and v . e. */
struct row_terms {
  oat_cuda_noise noise;
  double alpha, prior;
  oat_penalty penalty;
  const double *q, *vbv, *ve, *r;
  double *w, *dg;
};

__global__ void row_adjoints(size_t n, row_terms at, double *parts) {
  double sums[ROW_SUMS] = {0};
  for (size_t i = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x; i < n;
       i += (size_t)OAT_CUDA_THREADS * OAT_CUDA_PARTS) {
    const double noise = at.noise.of(i), g = fmax(at.prior - at.q[i], 0.0), w = 1 / (noise + at.alpha * g),
                 rest = at.r[i] - at.ve[i];
    const double d_lambda = -0.5 * w * (1 - w * (at.vbv[i] + rest * rest));
    const double penalty = at.alpha > 0                       ? -0.5 * (1 - at.alpha) * w
                           : at.penalty == OAT_PENALISE_TRACE ? -0.5 / noise
                           : at.penalty == OAT_PENALISE_LOG   ? -0.5 / (noise + g)
                                                              : 0;
    at.w[i] = w;
    at.dg[i] = at.alpha * d_lambda + penalty;
    sums[DG] += at.dg[i];
    sums[DN] += (d_lambda - penalty * g / noise) * at.noise.tau2 * at.noise.scale_of(i);
  }
  put_sums(sums, ROW_SUMS, parts);
}

/* dV = -W V B^-1 + w (r - ve) e^T - 2 diag(dg) V; t holds V B^-1 on entry. Rows that were added are 0. */
__global__ void finish_general(size_t n, size_t ld, row_terms at, const double *e, const double *v, double *t) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i < ld) {
    const size_t place = i + c * ld;
    t[place] = i < n ? at.w[i] * ((at.r[i] - at.ve[i]) * e[c] - t[place]) - 2 * at.dg[i] * v[place] : 0;
  }
}

/* The data for the gradient. */
struct gradient_job {
  oat_cuda *cuda;
  oat_cuda_kernel kernel;
  const oat_sparse *sparse;
  const oat_adjoint *adjoint;
  oat_gradient_sums *out;
  double *e, *le, *coefficient, *product; /* on the GPU */
  oat_cuda_adjoint sums;
};

static void take_rows(const gradient_job &j, size_t item, double *w, double *r) {
  oat_cuda *cuda = j.cuda;
  const size_t n = oat_cuda_rows_of(cuda, item);
  if (oat_cuda_fine(cuda)) {
    take_residuals<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(
        n, oat_cuda_noise_of(cuda, j.sparse->tau, item), oat_cuda_r(cuda, item, 0), cuda->n, cuda->p, j.coefficient, w,
        r);
  }
}

/* Products for S, with T = diag(root) V in t: of the log penalty. */
static void add_log_s(const gradient_job &j, size_t item, const double *v, double *q, double *root) {
  oat_cuda *cuda = j.cuda;
  const size_t n = oat_cuda_rows_of(cuda, item), k = j.sparse->k;
  oat_cuda_row_dots(cuda, n, k, v, v, q);
  if (oat_cuda_fine(cuda)) {
    take_roots<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(
        n, oat_cuda_noise_of(cuda, j.sparse->tau, item), j.kernel.sigma2, q, root);
  }
  oat_cuda_scale_rows(cuda, n, k, root, v, cuda->t);
  if (j.out->s != NULL) {
    oat_cuda_add_products(cuda, 1, k, cuda->t, cuda->t, item == 0 ? 0 : 1, false);
  }
}

static void collapsed_block(const gradient_job &j, size_t item) {
  oat_cuda *cuda = j.cuda;
  const size_t n = oat_cuda_rows_of(cuda, item), k = j.sparse->k;
  const bool logs = j.sparse->penalty == OAT_PENALISE_LOG, uniform = oat_rows_plain_noise(cuda->rows);
  const bool apart = cuda->keeps && !logs; /* else t or u are needed for V or for the penalty */
  const size_t turn = apart ? item % 2 : 0;
  double *v = oat_cuda_v(cuda, j.kernel, j.sparse, item), *t = turn == 0 ? cuda->t : cuda->u,
         *w = cuda->row[1 + 2 * turn], *r = cuda->row[2 + 2 * turn], *root = cuda->row[3], *factor = cuda->row[4];
  if (apart && item >= 2) {
    wait_for_aside(cuda, turn);
  }
  take_rows(j, item, w, r);
  if (logs) { /* u = T L^-1 */
    add_log_s(j, item, v, cuda->row[0], root);
    oat_cuda_solve(cuda, {k, cuda->l, cuda->inverse}, OAT_PLAIN, oat_cuda_view(cuda, cuda->t, k),
                   oat_cuda_view(cuda, cuda->u, k));
  }
  oat_cuda_gemm(cuda, 1, oat_cuda_const_view(cuda, v, k), OAT_PLAIN, oat_const_square(j.product, k), OAT_PLAIN, 0,
                oat_cuda_view(cuda, t, k));
  if (logs && oat_cuda_fine(cuda)) {
    log_rows<<<OAT_CUDA_PARTS, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(
        n, oat_cuda_noise_of(cuda, j.sparse->tau, item), w, root, factor, cuda->scalars);
    add_scaled_rows<<<dim3(grid_of(n), (unsigned)k), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, cuda->ld, factor,
                                                                                                   cuda->u, t);
  }
  const double common = uniform ? 1 / (j.sparse->tau * j.sparse->tau) : 1;
  oat_cuda_cross_adjoint(cuda, j.kernel, oat_cuda_inputs(cuda, item), {cuda->z, k, k},
                         {t, cuda->ld, uniform ? nullptr : w, r, j.le, common}, j.sums, leave_main(cuda, apart, turn));
  if (apart) {
    end_aside(cuda, turn);
  }
}

static void general_block(const gradient_job &j, size_t item) {
  oat_cuda *cuda = j.cuda;
  const size_t n = oat_cuda_rows_of(cuda, item), k = j.sparse->k;
  double *v = oat_cuda_v(cuda, j.kernel, j.sparse, item), *const *row = cuda->row;
  const bool logs = j.sparse->penalty == OAT_PENALISE_LOG;
  if (logs) {
    add_log_s(j, item, v, row[0], row[3]);
  }
  oat_cuda_row_dots(cuda, n, k, v, v, row[0]);
  oat_cuda_gemm(cuda, 1, oat_cuda_const_view(cuda, v, k), OAT_PLAIN, oat_const_square(j.product, k), OAT_PLAIN, 0,
                oat_cuda_view(cuda, cuda->t, k));
  oat_cuda_row_dots(cuda, n, k, v, cuda->t, row[5]);
  take_rows(j, item, row[1], row[2]);
  oat_cuda_gemm(cuda, 1, oat_cuda_const_view(cuda, v, k), OAT_PLAIN, {j.e, k, 1, k}, OAT_PLAIN, 0,
                oat_cuda_view(cuda, row[3], 1));
  if (!oat_cuda_fine(cuda)) {
    return;
  }
  const row_terms at = {oat_cuda_noise_of(cuda, j.sparse->tau, item),
                        j.sparse->alpha,
                        j.kernel.sigma2,
                        j.sparse->penalty,
                        row[0],
                        row[5],
                        row[3],
                        row[2],
                        row[1],
                        row[4]};
  row_adjoints<<<OAT_CUDA_PARTS, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, at, cuda->scalars);
  finish_general<<<dim3(grid_of(cuda->ld), (unsigned)k), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, cuda->ld, at,
                                                                                                       j.e, v, cuda->t);
  if (j.out->s != NULL && !logs) {
    oat_cuda_add_products(cuda, 1, k, cuda->t, v, item == 0 ? 0 : 1, true);
  }
  oat_cuda_solve(cuda, {k, cuda->l, cuda->inverse}, OAT_PLAIN, oat_cuda_view(cuda, cuda->t, k),
                 oat_cuda_view(cuda, cuda->u, k));
  oat_cuda_cross_adjoint(cuda, j.kernel, oat_cuda_inputs(cuda, item), {cuda->z, k, k},
                         {cuda->u, cuda->ld, nullptr, nullptr, nullptr, 1}, j.sums, cuda->session->stream);
}

__global__ void make_identity(size_t k, double *a) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i < k) {
    a[i + c * k] = i == c ? 1 : 0;
  }
}

/* a = gamma I - a - e e^T, k x k */
__global__ void combine_product(size_t k, double gamma, const double *e, double *a) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i < k) {
    a[i + c * k] = (i == c ? gamma : 0) - a[i + c * k] - e[i] * e[c];
  }
}

/* product <- (gamma I - B^-1 - e e^T) L^-1, from the factor of B that is there. */
static void make_product(const gradient_job &j) {
  oat_cuda *cuda = j.cuda;
  const size_t k = j.sparse->k;
  const oat_view one = oat_square(cuda->squares, k), other = oat_square(cuda->squares + k * k, k);
  double *const inverse = cuda->squares + 2 * k * k;
  const dim3 grid(grid_of(k), (unsigned)k);
  oat_cuda_invert_leaves(cuda, k, j.product, k, inverse, OAT_CUDA_LEAF, OAT_CUDA_LEAF * OAT_CUDA_LEAF);
  if (oat_cuda_fine(cuda)) {
    make_identity<<<grid, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(k, one.a);
  }
  oat_cuda_solve(cuda, {k, j.product, inverse}, OAT_PLAIN, one, other);
  oat_cuda_gemm(cuda, 1, oat_as_const(other), OAT_TRANSPOSED, oat_as_const(other), OAT_PLAIN, 0, one);
  if (oat_cuda_fine(cuda)) {
    combine_product<<<grid, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(k, j.adjoint->gamma, j.e, one.a);
  }
  oat_cuda_solve(cuda, {k, cuda->l, cuda->inverse}, OAT_PLAIN, one, oat_square(j.product, k));
}

static void take_adjoint(gradient_job &j) {
  oat_cuda *cuda = j.cuda;
  const size_t k = j.sparse->k;
  j.e = cuda->given;
  j.le = j.e + k;
  j.coefficient = j.le + k;
  j.product = j.coefficient + cuda->p;
  const bool own = j.adjoint->product == NULL;
  const oat_cuda_part parts[] = {{j.adjoint->e, k, 1, k},
                                 {j.adjoint->le, k, 1, k},
                                 {j.adjoint->coefficient, cuda->p, 1, cuda->p},
                                 {own ? j.adjoint->lb : j.adjoint->product, k * k, 1, k * k}};
  oat_cuda_check(cuda, cudaStreamSynchronize(cuda->session->stream), "a computation");
  oat_cuda_pack(cuda, 4, parts, cuda->given);
  if (own) {
    make_product(j);
  }
  const bool shape = oat_kernel_at(j.sparse->cov.id)->profile->has_shape;
  j.sums = {cuda->moments, shape ? cuda->scalars + OAT_CUDA_PARTS * OAT_CUDA_SCALARS : nullptr, cuda->sums,
            cuda->segments, k};
  oat_cuda_clear(cuda, oat_cuda_moments_count(cuda->segments, k, cuda->d), cuda->moments);
  oat_cuda_clear(cuda, OAT_CUDA_PARTS * OAT_CUDA_SCALARS + 2, cuda->scalars);
}

oatgp_status oat_cuda_gradient_sums(oat_device *device, const oat_sparse *sparse, const oat_adjoint *adjoint,
                                    oat_gradient_sums *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t k = sparse->k;
  gradient_job j = {cuda, oat_cuda_take_point(cuda, sparse), sparse, adjoint, out};
  take_adjoint(j);
  if (cuda->near.most > 0) {
    return oat_cuda_neighbour_gradient(cuda, sparse, {j.kernel, j.e, j.coefficient, j.product, j.sums}, out);
  }
  for (size_t item = 0; item < cuda->blocks; item++) {
    (adjoint->collapsed ? collapsed_block : general_block)(j, item);
  }
  if (adjoint->collapsed) {
    wait_for_aside(cuda, 0);
    wait_for_aside(cuda, 1);
  }
  if (adjoint->meanwhile != NULL) {
    adjoint->meanwhile(adjoint->self);
  }
  for (size_t i = 0; i < out->count; i++) {
    out->kernel.theta[i] = 0;
  }
  const size_t moments = oat_cuda_joined_count(cuda->d, k), squares = out->s != NULL ? k * k : 0;
  double *const scalars = cuda->result + moments, *const s = scalars + ROW_SUMS;
  oat_cuda_join_moments(cuda, cuda->d, j.sums, cuda->result);
  join_scalars(cuda, ROW_SUMS, scalars);
  if (out->s != NULL) {
    oat_cuda_join_products(cuda, k, s, sparse->penalty != OAT_PENALISE_LOG);
  }
  oat_cuda_download(cuda, moments + ROW_SUMS + squares, cuda->result, cuda->back);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    oat_cuda_use_moments(&sparse->cov, k, cuda->back, &out->kernel, nullptr);
    out->dg = cuda->back[moments + DG];
    out->dn = cuda->back[moments + DN];
    out->pairs = 0;
    if (out->s != NULL) {
      memcpy(out->s, cuda->back + moments + ROW_SUMS, squares * sizeof *out->s);
    }
  }
  return status;
}
