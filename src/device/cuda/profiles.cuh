/* Values of the kernels of the list, for functions on the GPU: k = sigma^2 phi(s), s = sum_j ((x_j - z_j) / l_j)^2. */
#ifndef OAT_CUDA_PROFILES_CUH
#define OAT_CUDA_PROFILES_CUH

#include "device/cuda/cuda.h"

/* ---- profiles: src/kernel has the formulas --------------------------------------------------------------------------------------- */

struct at_distance {
  double k, slope, shape; /* k, dk / ds, dk / d log shape */
};

#define FAR(a) fmin(a, OAT_FARTHEST)

template <int PROFILE>
__device__ __forceinline__ at_distance profile(double s, double sigma2, double shape) {
  if (PROFILE == OAT_KERNEL_se) {
    const double k = sigma2 * exp(-0.5 * s);
    return {k, -0.5 * k, 0};
  }
  if (PROFILE == OAT_KERNEL_matern32) {
    const double a = sqrt(3 * s), decay = sigma2 * exp(-a);
    return {(1 + FAR(a)) * decay, -1.5 * decay, 0};
  }
  if (PROFILE == OAT_KERNEL_matern52) {
    const double root = sqrt(5 * s), decay = sigma2 * exp(-root), a = FAR(root);
    return {(1 + a + a * a / 3) * decay, -(5.0 / 6) * (1 + a) * decay, 0};
  }
  if (PROFILE == OAT_KERNEL_rq) {
    const double u = s / (2 * shape), logarithm = log1p(u), k = sigma2 * exp(-shape * logarithm);
    const double share = u > 0x1p60 ? 1 : u / (1 + u);
    return {k, -0.5 * k / (1 + u), shape * k * (share - logarithm)};
  }
  const double root = sqrt(s), k = sigma2 * exp(-root);
  return {k, s > 0 ? -0.5 * k / root : 0, 0};
}

#define FOR_PROFILE(kernel, LAUNCH)                          \
  switch ((kernel).profile) {                                \
    case OAT_KERNEL_se: LAUNCH(OAT_KERNEL_se); break;             \
    case OAT_KERNEL_matern32: LAUNCH(OAT_KERNEL_matern32); break; \
    case OAT_KERNEL_matern52: LAUNCH(OAT_KERNEL_matern52); break; \
    case OAT_KERNEL_rq: LAUNCH(OAT_KERNEL_rq); break;             \
    default: LAUNCH(OAT_KERNEL_exponential); break;          \
  }

/* ---- distances ------------------------------------------------------------------------------------------------------------- */

enum { INPUTS = 32 }; /* at a time in shared memory */

struct near_shared {
  double z[INPUTS][OAT_CUDA_TILE], scale[INPUTS];
};

/* s[c] of this thread's row and the points z of the tile from `first` on. All threads of the block come here. */
__device__ __forceinline__ void distances(const oat_cuda_kernel &kernel, oat_cuda_points x, oat_cuda_points z, size_t row, size_t first,
                                          near_shared &shared, double *s) {
  for (int c = 0; c < OAT_CUDA_TILE; c++) {
    s[c] = 0;
  }
  for (int begin = 0; begin < kernel.d; begin += INPUTS) {
    const int count = min(INPUTS, kernel.d - begin);
    __syncthreads();
    for (int at = threadIdx.x; at < count * OAT_CUDA_TILE; at += blockDim.x) {
      const int j = at / OAT_CUDA_TILE, c = at % OAT_CUDA_TILE;
      shared.z[j][c] = first + c < z.n ? z.a[first + c + (size_t)(begin + j) * z.ld] : 0;
    }
    for (int j = threadIdx.x; j < count; j += blockDim.x) {
      shared.scale[j] = kernel.scale[begin + j];
    }
    __syncthreads();
    if (row < x.n) {
      for (int j = 0; j < count; j++) {
        const double own = x.a[row + (size_t)(begin + j) * x.ld], scale = shared.scale[j];
#pragma unroll
        for (int c = 0; c < OAT_CUDA_TILE; c++) {
          const double t = (own - shared.z[j][c]) * scale;
          s[c] = fma(t, t, s[c]);
        }
      }
    }
  }
}

#endif
