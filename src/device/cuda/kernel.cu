/* The kernel matrix and its adjoint, for the named kernels: k = sigma^2 phi(s), s = sum_j ((x_j - z_j) / l_j)^2.
 * Differences are formed first, so that no digits are lost wherever the points are.
 *
 * A thread has a row and some points z at a time, whose coordinates are in shared memory. g is replaced by h = g
 * sigma^2 phi'(s). Then the sums of h (x_j - z_j) and h (x_j - z_j)^2 over the rows of a segment follow; there, a
 * thread has a point z and every eighth row. */
#include "device/cuda/profiles.cuh"

/* ---- the matrix ------------------------------------------------------------------------------------------------ */

template <int PROFILE>
__global__ void __launch_bounds__(OAT_CUDA_THREADS)
    cross(oat_cuda_kernel kernel, oat_cuda_points x, oat_cuda_points z, double *k, size_t ld, size_t height) {
  __shared__ near_shared shared;
  const size_t row = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x, first = blockIdx.y * (size_t)OAT_CUDA_TILE;
  double s[OAT_CUDA_TILE];
  distances(kernel, x, z, row, first, shared, s);
#pragma unroll
  for (int c = 0; c < OAT_CUDA_TILE; c++) {
    if (row < height && first + c < z.n) {
      k[row + (first + c) * ld] = row < x.n ? profile<PROFILE>(s[c], kernel.sigma2, kernel.shape).k : 0;
    }
  }
}

static dim3 grid_of(size_t rows, size_t points) {
  return dim3((unsigned)((rows + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS),
              (unsigned)((points + OAT_CUDA_TILE - 1) / OAT_CUDA_TILE));
}

void oat_cuda_cross(oat_cuda *cuda, const oat_cuda_kernel &kernel, oat_cuda_points x, oat_cuda_points z, double *k,
                    size_t ld, size_t height) {
#define CROSS(P) \
  cross<P><<<grid_of(height, z.n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(kernel, x, z, k, ld, height)
  if (oat_cuda_fine(cuda) && z.n > 0) {
    FOR_PROFILE(kernel, CROSS)
  }
#undef CROSS
}

/* ---- the adjoint: g becomes h ---------------------------------------------------------------------------------- */

/* The sum over a block of threads, in thread 0. */
__device__ double block_sum(double value, double *shared) {
  __syncthreads();
  shared[threadIdx.x] = value;
  for (int half = OAT_CUDA_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) {
      shared[threadIdx.x] += shared[threadIdx.x + half];
    }
  }
  __syncthreads();
  return shared[0];
}

template <int PROFILE>
__global__ void __launch_bounds__(OAT_CUDA_THREADS)
    slopes(oat_cuda_kernel kernel, oat_cuda_points x, oat_cuda_points z, oat_cuda_side side, double *scalars) {
  __shared__ near_shared shared;
  __shared__ double room[OAT_CUDA_THREADS];
  const size_t row = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x, first = blockIdx.y * (size_t)OAT_CUDA_TILE;
  double s[OAT_CUDA_TILE], signal = 0, shape = 0;
  distances(kernel, x, z, row, first, shared, s);
  const double w = (side.w != nullptr && row < x.n ? side.w[row] : 1) * side.common,
               r = side.r != nullptr && row < x.n ? side.r[row] : 0;
#pragma unroll
  for (int c = 0; c < OAT_CUDA_TILE; c++) {
    if (row < x.n && first + c < z.n) {
      double *at = side.t + row + (first + c) * side.ld;
      const double g = w * (side.r != nullptr ? fma(r, side.le[first + c], *at) : *at);
      const at_distance d = profile<PROFILE>(s[c], kernel.sigma2, kernel.shape);
      signal += g * d.k;
      shape += g * d.shape;
      *at = g * d.slope;
    }
  }
  if (scalars != nullptr) {
    const size_t place = 2 * (blockIdx.x + (size_t)gridDim.x * blockIdx.y);
    const double sum = block_sum(signal, room), other = PROFILE == OAT_KERNEL_rq ? block_sum(shape, room) : 0;
    if (threadIdx.x == 0) {
      scalars[place] = sum;
      scalars[place + 1] = other;
    }
  }
}

/* total <- total and the sums of all blocks of threads, in a fixed order; one block of threads for each of the two. */
__global__ void join_scalars(size_t count, const double *scalars, double *total) {
  __shared__ double room[OAT_CUDA_THREADS];
  double sum = 0;
  for (size_t i = threadIdx.x; i < count; i += OAT_CUDA_THREADS) {
    sum += scalars[2 * i + blockIdx.x];
  }
  const double all = block_sum(sum, room);
  if (threadIdx.x == 0) {
    total[blockIdx.x] += all;
  }
}

/* ---- the adjoint: moments of h --------------------------------------------------------------------------------- */

enum { POINTS = 32, GROUPS = 8, TILE_ROWS = 64 };

__global__ void __launch_bounds__(POINTS *GROUPS)
    add_moments(oat_cuda_points x, oat_cuda_points z, int d, const double *h, size_t ld, size_t points,
                double *moments) {
  __shared__ double hs[POINTS][TILE_ROWS + 1], xs[OAT_CUDA_CHUNK][TILE_ROWS];
  const int point = threadIdx.x % POINTS, group = threadIdx.x / POINTS, begin = blockIdx.z * OAT_CUDA_CHUNK;
  const int count = min(OAT_CUDA_CHUNK, d - begin);
  const size_t c = blockIdx.x * (size_t)POINTS + point, from = blockIdx.y * (size_t)OAT_CUDA_SEGMENT;
  const size_t end = min(x.n, from + OAT_CUDA_SEGMENT);
  double own[OAT_CUDA_CHUNK], first[OAT_CUDA_CHUNK], second[OAT_CUDA_CHUNK];
  for (int j = 0; j < OAT_CUDA_CHUNK; j++) {
    own[j] = j < count && c < z.n ? z.a[c + (size_t)(begin + j) * z.ld] : 0;
    first[j] = second[j] = 0;
  }
  for (size_t row = from; row < end; row += TILE_ROWS) {
    __syncthreads();
    for (int at = threadIdx.x; at < POINTS * TILE_ROWS; at += POINTS * GROUPS) {
      const int i = at % TILE_ROWS, p = at / TILE_ROWS;
      const size_t column = blockIdx.x * (size_t)POINTS + p;
      hs[p][i] = row + i < end && column < z.n ? h[row + i + column * ld] : 0;
    }
    for (int at = threadIdx.x; at < count * TILE_ROWS; at += POINTS * GROUPS) {
      const int i = at % TILE_ROWS, j = at / TILE_ROWS;
      xs[j][i] = row + i < end ? x.a[row + i + (size_t)(begin + j) * x.ld] : x.a[row + (size_t)(begin + j) * x.ld];
    }
    __syncthreads();
    for (int i = group; i < TILE_ROWS; i += GROUPS) {
      const double value = hs[point][i];
#pragma unroll
      for (int j = 0; j < OAT_CUDA_CHUNK; j++) {
        if (j < count) {
          const double t = xs[j][i] - own[j], ht = value * t;
          first[j] += ht;
          second[j] = fma(ht, t, second[j]);
        }
      }
    }
  }
  /* the groups of a point, one after the other; indices are known when this is compiled, so that sums are in registers
   */
  double *const room = &hs[0][0];
#pragma unroll
  for (int j = 0; j < OAT_CUDA_CHUNK; j++) {
    __syncthreads();
    room[threadIdx.x] = first[j];
    room[POINTS * GROUPS + threadIdx.x] = second[j];
    __syncthreads();
    if (group < 2 && c < z.n && j < count) {
      double sum = 0;
      for (int g = 0; g < GROUPS; g++) {
        sum += room[group * POINTS * GROUPS + g * POINTS + point];
      }
      moments[((blockIdx.y * (size_t)2 + group) * d + begin + j) * points + c] += sum;
    }
  }
}

static size_t segments_of(size_t rows) { return (rows + OAT_CUDA_SEGMENT - 1) / OAT_CUDA_SEGMENT; }

void oat_cuda_cross_adjoint(oat_cuda *cuda, const oat_cuda_kernel &kernel, oat_cuda_points x, oat_cuda_points z,
                            const oat_cuda_side &side, const oat_cuda_adjoint &sums, cudaStream_t stream) {
  const dim3 grid = grid_of(x.n, z.n);
  double *scalars = sums.scalars != nullptr ? sums.room : nullptr;
  if (!oat_cuda_fine(cuda) || x.n == 0 || z.n == 0) {
    return;
  }
#define SLOPES(P) slopes<P><<<grid, OAT_CUDA_THREADS, 0, stream>>>(kernel, x, z, side, scalars)
  FOR_PROFILE(kernel, SLOPES)
#undef SLOPES
  if (scalars != nullptr) {
    join_scalars<<<2, OAT_CUDA_THREADS, 0, stream>>>((size_t)grid.x * grid.y, scalars, sums.scalars);
  }
  const dim3 tiles((unsigned)((z.n + POINTS - 1) / POINTS), (unsigned)segments_of(x.n),
                   (unsigned)((kernel.d + OAT_CUDA_CHUNK - 1) / OAT_CUDA_CHUNK));
  add_moments<<<tiles, POINTS * GROUPS, 0, stream>>>(x, z, kernel.d, side.t, side.ld, sums.points, sums.moments);
}

void oat_cuda_join_moments(oat_cuda *cuda, size_t d, const oat_cuda_adjoint &sums, double *out) {
  const size_t count = 2 * d * sums.points;
  oat_cuda_join_parts(cuda, count, sums.segments, count, sums.moments, out);
  if (sums.scalars != nullptr) {
    oat_cuda_join_parts(cuda, 2, 1, 2, sums.scalars, out + count);
  } else {
    oat_cuda_clear(cuda, 2, out + count);
  }
}

void oat_cuda_use_moments(const oat_covariance *cov, size_t points, const double *joined, oat_kernel_gradient *gradient,
                          double *signal) {
  const size_t d = cov->d;
  const oat_kernel *kernel = oat_kernel_at(cov->id);
  for (size_t j = 0; j < d; j++) {
    const double l = oat_kernel_lengthscale(cov, j), each = -2 / (l * l);
    double sum = 0;
    for (size_t c = 0; c < points; c++) {
      sum += joined[points * (d + j) + c];
      if (gradient->z != NULL) {
        gradient->z[c + j * points] += each * joined[points * j + c];
      }
    }
    gradient->theta[cov->lengthscale + (kernel->ard ? j : 0)] += each * sum;
  }
  if (kernel->profile->has_shape) {
    gradient->theta[cov->shape] += joined[2 * d * points + 1];
  }
  if (signal != nullptr) {
    *signal += joined[2 * d * points];
  }
}
