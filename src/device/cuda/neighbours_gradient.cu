/* Knots and neighbours: the gradient. */
#include <string.h>

#include "device/cuda/neighbours.cuh"

/* ---- the gradient of a row ------------------------------------------------------------------------------------- */

struct gradient_rows {
  near_rows rows;
  const double *e, *coefficient;
  double *sums; /* of each block of threads: d, and FURTHER */
};

/* The adjoints of D and rho. */
struct row_adjoint {
  double d, rho;
};

/* dw in the place of B^-1 y. */
__device__ __forceinline__ row_adjoint begin_row(const gradient_rows &g, size_t row, double root, double *room) {
  const near_rows &at = g.rows;
  const double *y = at.y + row * (at.k + at.width), om = 1 / at.d[row];
  double *dw = at.a + row * at.k, ye = 0, yb = 0;
  for (size_t c = threadIdx.x; c < at.k; c += THREADS) {
    ye = fma(y[c], g.e[c], ye);
    yb = fma(y[c], dw[c], yb);
  }
  ye = over_block<false>(ye, room);
  yb = over_block<false>(yb, room);
  double rest = y[at.k] - ye;
  for (int j = 1; j < at.width; j++) {
    rest -= g.coefficient[j - 1] * y[at.k + j];
  }
  rest *= root;
  for (size_t c = threadIdx.x; c < at.k; c += THREADS) {
    dw[c] = om * (rest * g.e[c] - root * dw[c]);
  }
  return {-0.5 * om * (1 - (yb + om * rest * rest)), -om * rest};
}

/* -z = C^-1 (V_J dw + drho r_J), then a in the place of dw. */
__device__ __forceinline__ void solve_row(const gradient_rows &g, const desk &t, size_t row, row_adjoint d, double root,
                                          double *z) {
  const near_rows &at = g.rows;
  const double *y = at.y + row * (at.k + at.width), *factor = at.factor + row * ((size_t)at.most * (at.most + 1) / 2);
  double *a = at.a + row * at.k, *own = t.more, *inverse = t.strip;
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  for (int i = threadIdx.x; i < t.m * (t.m + 1) / 2; i += THREADS) {
    own[i] = factor[i];
  }
  __syncthreads();
  for (int j = warp; j < t.m; j += THREADS / WARP) {
    const double *v = at.v + t.who[j] * at.k;
    double sum = 0;
    for (size_t c = lane; c < at.k; c += WARP) {
      sum = fma(v[c], a[c], sum);
    }
    for (int half = WARP / 2; half > 0; half /= 2) {
      sum += __shfl_down_sync(0xffffffff, sum, half);
    }
    if (lane == 0) {
      double r = at.r[t.who[j]];
      for (int column = 1; column < at.width; column++) {
        r -= g.coefficient[column - 1] * at.r[t.who[j] + column * at.n];
      }
      z[j] = fma(d.rho, r, sum);
      inverse[j] = own[j * (j + 1) / 2 + j];
    }
  }
  __syncthreads();
  if (threadIdx.x < WARP) {
    const auto l = [&](int i, int c) { return own[i * (i + 1) / 2 + c]; };
    solve(t.m, inverse, z, l);
    solve_back(t.m, inverse, z, l);
  }
  __syncthreads();
  for (size_t c = threadIdx.x; c < at.k; c += THREADS) {
    double sum = a[c] - 2 * d.d * root * y[c];
    for (int j = 0; j < t.m; j++) {
      sum = fma(z[j], at.v[t.who[j] * at.k + c], sum);
    }
    a[c] = sum;
  }
  __syncthreads();
  for (int j = threadIdx.x; j < t.m; j += THREADS) {
    z[j] = -z[j];
    at.z[row * at.most + j] = root * z[j];
  }
  __syncthreads();
}

/* The adjoint of k between two of the points, each pair standing for two elements of a symmetric matrix. */
__device__ __forceinline__ double pair_adjoint(const desk &t, int a, int c, double dd, const double *b,
                                               const double *z) {
  if (a < t.m) {
    return (2 * dd * b[a] * b[c] - z[a] * b[c] - b[a] * z[c]) * (a == c ? 0.5 : 1);
  }
  return c < t.m ? z[c] - 2 * dd * b[c] : dd;
}

/* The part through the kernel between the points, and through their noise. */
template <int PROFILE>
__device__ __forceinline__ void add_pairs(const gradient_rows &g, const desk &t, double dd, const double *b,
                                          const double *z, double *sums, double *inputs) {
  const near_rows &at = g.rows;
  const int lane = threadIdx.x % COLUMNS, group = threadIdx.x / COLUMNS;
  make_distances(at, t);
  over_pairs(t, [&](int a, int c, double &s) {
    const double own = pair_adjoint(t, a, c, dd, b, z);
    const at_distance k = profile<PROFILE>(s, at.kernel.sigma2, at.kernel.shape);
    sums[PAIRS] = fma(own, k.k, sums[PAIRS]);
    sums[SHAPE] = fma(own, k.shape, sums[SHAPE]);
    if (a == c) {
      sums[DN] = fma(own, at.noise.tau2 * at.noise.scale_of(t.who[a]), sums[DN]);
    }
    s = a == c ? 0 : own * k.slope;
  });
  for (int first = 0; first < at.kernel.d; first += COLUMNS) {
    double sum = 0;
    load_strip(t, at.x, 1, at.n, first, min((int)COLUMNS, at.kernel.d - first));
    for (int c = group; c < t.m; c += THREADS / COLUMNS) {
      const double own = t.strip[c * (COLUMNS + 1) + lane];
      for (int a = c + 1; a < t.points; a++) {
        const double u = t.strip[a * (COLUMNS + 1) + lane] - own;
        sum = fma(t.c[a + c * t.ld] * u, u, sum);
      }
    }
    inputs[first / COLUMNS * THREADS + threadIdx.x] += sum;
  }
}

template <int PROFILE>
__global__ void __launch_bounds__(THREADS) gradient_rows_of(gradient_rows g) {
  extern __shared__ double shared[];
  __shared__ uint32_t who[MOST + 1];
  __shared__ double z[MOST], b[MOST], room[THREADS];
  const near_rows &at = g.rows;
  const int d = at.kernel.d, strips = (d + COLUMNS - 1) / COLUMNS;
  const int side = whole(at.most + 1);
  double *inputs = shared + side * (side + 1) + side * (COLUMNS + 1) + at.most * (at.most + 1) / 2, sums[FURTHER] = {0};
  for (int i = 0; i < strips; i++) {
    inputs[i * THREADS + threadIdx.x] = 0;
  }
  for (size_t row = blockIdx.x; row < at.n; row += gridDim.x) {
    const desk t = sit_down(at, row, shared, who);
    const double root = sqrt(at.d[row]);
    for (int a = threadIdx.x; a < t.m; a += THREADS) {
      b[a] = at.b[row * at.most + a];
    }
    const row_adjoint adjoint = begin_row(g, row, root, room);
    __syncthreads();
    solve_row(g, t, row, adjoint, root, z);
    add_pairs<PROFILE>(g, t, adjoint.d, b, z, sums, inputs);
  }
  double *out = g.sums + blockIdx.x * (size_t)(d + FURTHER);
  for (int j = 0; j < FURTHER; j++) {
    const double all = over_block<false>(sums[j], room);
    if (threadIdx.x == 0) {
      out[d + j] = all;
    }
  }
  for (int j = threadIdx.x; j < d; j += THREADS) {
    double sum = 0;
    for (int group = 0; group < THREADS / COLUMNS; group++) {
      sum += inputs[j / COLUMNS * THREADS + group * COLUMNS + j % COLUMNS];
    }
    out[j] = sum;
  }
}

/* ---- the gradient of all rows ---------------------------------------------------------------------------------- */

/* out_j = a_j - sum over the rows i that have j as a neighbour of (b_ij a_i + z_ij w_i); 0 beyond the rows. */
__global__ void __launch_bounds__(GATHER) gather(gathering at, size_t first, size_t rows, double *out) {
  __shared__ double b[GATHER], z[GATHER];
  __shared__ size_t from[GATHER];
  const size_t row = first + blockIdx.x, c = blockIdx.y * (size_t)GATHER + threadIdx.x;
  const bool there = blockIdx.x < rows, own = there && c < at.k;
  const size_t begin = there ? at.start[row] : 0, end = there ? at.start[row + 1] : 0;
  double sum = own ? at.a[row * at.k + c] : 0;
  for (size_t e = begin; e < end; e += GATHER) {
    const int count = (int)min((size_t)GATHER, end - e);
    __syncthreads();
    if ((int)threadIdx.x < count) {
      const size_t place = at.entry[e + threadIdx.x];
      from[threadIdx.x] = place / at.most;
      b[threadIdx.x] = at.b[place];
      z[threadIdx.x] = at.z[place];
    }
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < count && own; i++) {
      sum = fma(-b[i], at.a[from[i] * at.k + c], sum);
      sum = fma(-z[i], at.y[from[i] * at.step + c], sum);
    }
  }
  if (c < at.k) {
    out[blockIdx.x * at.k + c] = sum;
  }
}

/* The sums of all blocks of threads, in a fixed order; one block for each of them. */
__global__ void join_sums(size_t blocks, size_t count, const double *sums, double *out) {
  __shared__ double room[OAT_CUDA_THREADS];
  double sum = 0;
  for (size_t i = threadIdx.x; i < blocks; i += OAT_CUDA_THREADS) {
    sum += sums[i * count + blockIdx.x];
  }
  sum = over_block<false>(sum, room);
  if (threadIdx.x == 0) {
    out[blockIdx.x] = sum;
  }
}

static void launch_gradient(oat_cuda *cuda, const gradient_rows &g, double *out) {
  const size_t d = cuda->d, strips = (d + COLUMNS - 1) / COLUMNS, count = d + FURTHER;
  const size_t bytes = desk_room(cuda->near.most, packed(cuda->near.most) + strips * THREADS) * sizeof(double);
  const size_t blocks = g.rows.n < BLOCKS ? g.rows.n : BLOCKS;
  if (!oat_cuda_fine(cuda)) {
    return;
  }
#define GRADIENT(P)                                                                                                  \
  oat_cuda_check(cuda,                                                                                               \
                 cudaFuncSetAttribute(gradient_rows_of<P>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), \
                 "a launch");                                                                                        \
  gradient_rows_of<P><<<(unsigned)blocks, THREADS, bytes, cuda->session->stream>>>(g)
  FOR_PROFILE(g.rows.kernel, GRADIENT)
#undef GRADIENT
  join_sums<<<(unsigned)count, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(blocks, count, g.sums, out);
}

/* dV of a block, and what goes through Kfu. */
static void gather_block(oat_cuda *cuda, const near_rows &at, size_t item, const oat_cuda_adjoint &sums) {
  const oat_cuda_near *near = &cuda->near;
  const size_t k = at.k, n = oat_cuda_rows_of(cuda, item), first = item * cuda->block;
  const gathering from = {at.n, k, k + at.width, at.most, near->start, near->entry, near->a, near->b, near->z, near->y};
  if (oat_cuda_fine(cuda)) {
    gather<<<dim3((unsigned)cuda->ld, (unsigned)((k + GATHER - 1) / GATHER)), GATHER, 0, cuda->session->stream>>>(
        from, first, n, cuda->u);
  }
  oat_cuda_add_products(cuda, k, cuda->u, near->v + first * k, cuda->part, item == 0 ? 0 : 1);
  oat_cuda_turn_rows(cuda, k, k, cuda->ld, cuda->u, k, cuda->t, cuda->ld);
  oat_cuda_solve(cuda, {k, cuda->l, cuda->inverse}, OAT_PLAIN, oat_cuda_view(cuda, cuda->t, k),
                 oat_cuda_view(cuda, cuda->u, k));
  oat_cuda_cross_adjoint(cuda, at.kernel, oat_cuda_inputs(cuda, item), {cuda->z, k, k},
                         {cuda->u, cuda->ld, nullptr, nullptr, nullptr, 1}, sums, cuda->session->stream);
}

/* The sums of the pairs, on the host. */
static void use_pairs(const oat_covariance *cov, const double *sums, oat_gradient_sums *out) {
  const size_t d = cov->d;
  const oat_kernel *kernel = oat_kernel_at(cov->id);
  for (size_t j = 0; j < d; j++) {
    const double l = oat_kernel_lengthscale(cov, j);
    out->kernel.theta[cov->lengthscale + (kernel->ard ? j : 0)] += -2 / (l * l) * sums[j];
  }
  if (kernel->profile->has_shape) {
    out->kernel.theta[cov->shape] += sums[d + SHAPE];
  }
  out->dg = 0;
  out->pairs = sums[d + PAIRS];
  out->dn = sums[d + DN];
}

oatgp_status oat_cuda_neighbour_gradient(oat_cuda *cuda, const oat_sparse *sparse, const oat_cuda_near_adjoint &on_gpu,
                                         oat_gradient_sums *out) {
  const near_rows at = oat_cuda_near_rows_of(cuda, on_gpu.kernel, sparse);
  const size_t k = sparse->k, d = cuda->d, step = k + at.width, moments = oat_cuda_joined_count(d, k),
               pairs = d + FURTHER;
  oat_cuda_gemm(cuda, 1, oat_const_square(on_gpu.product, k), OAT_PLAIN, {at.y, k, at.n, step}, OAT_PLAIN, 0,
                {at.a, k, at.n, k});
  launch_gradient(cuda, {at, on_gpu.e, on_gpu.coefficient, cuda->near.sums}, cuda->result + moments);
  for (size_t item = 0; item < cuda->blocks; item++) {
    gather_block(cuda, at, item, on_gpu.sums);
  }
  oat_cuda_join_moments(cuda, d, on_gpu.sums, cuda->result);
  oat_cuda_join_products(cuda, k, cuda->result + moments + pairs, true);
  oat_cuda_download(cuda, moments + pairs + k * k, cuda->result, cuda->back);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    memset(out->kernel.theta, 0, out->count * sizeof *out->kernel.theta);
    oat_cuda_use_moments(&sparse->cov, k, cuda->back, &out->kernel, nullptr);
    use_pairs(&sparse->cov, cuda->back + moments, out);
    memcpy(out->s, cuda->back + moments + pairs, k * k * sizeof *out->s);
  }
  return status;
}
