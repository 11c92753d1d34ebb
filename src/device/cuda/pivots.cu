/* Greedy residuals, as in src/device/cpu/pivots.c, for all rows at a time. A pivot is eliminated when the next one is
 * requested. Each elimination reads the factor once, and this determines its cost. */
#include <stdlib.h>

#include "device/cuda/cuda.h"

enum { ROWS = 32, GROUPS = 8, THREADS = ROWS * GROUPS, PIECE = 256, CHOOSING = 1024 };

/* The largest value and its first position; NaN is ignored. */
struct largest {
  double value;
  size_t at;
};

__device__ __forceinline__ void take_larger(largest &own, const largest &other) {
  if (other.value > own.value || (other.value == own.value && other.at < own.at)) {
    own = other;
  }
}

struct oat_pivots {
  oat_cuda *cuda;
  oat_cuda_kernel kernel;
  size_t count;   /* pivots so far */
  size_t pivot;   /* the latest */
  double root;    /* root of its remaining variance */
  double *scale;  /* on the GPU, as all but the last: d, of the kernel */
  double *left;   /* n */
  double *factor; /* n x most */
  double *row;    /* most: the latest pivot's row of the factor */
  double *found;  /* 2 + d: value, row and inputs of a pivot */
  largest *best;  /* of each block of threads */
  double *back;   /* 2 + d, on the host */
};

static unsigned blocks_of(size_t n) { return (unsigned)((n + ROWS - 1) / ROWS); }

/* The largest of a block's rows: those of the first group of threads, which are one warp. */
__device__ __forceinline__ void put_best(double left, size_t i, bool is_row, largest *best) {
  largest own = {is_row ? left : -INFINITY, i};
  if (!(own.value == own.value)) {
    own = {-INFINITY, i};
  }
  for (int half = ROWS / 2; half > 0; half /= 2) {
    const largest other = {__shfl_down_sync(0xffffffffu, own.value, half),
                           (size_t)__shfl_down_sync(0xffffffffu, (unsigned long long)own.at, half)};
    take_larger(own, other);
  }
  if (threadIdx.x == 0) {
    best[blockIdx.x] = own;
  }
}

__global__ void __launch_bounds__(ROWS) begin_left(size_t n, double prior, double *left, largest *best) {
  const size_t i = blockIdx.x * (size_t)ROWS + threadIdx.x;
  if (i < n) {
    left[i] = prior;
  }
  put_best(prior, i, i < n, best);
}

/* Column c of the factor, in which there is k(x, pivot) on entry, and what it leaves of the rows. A group of threads
 * has every eighth of the columns before it. */
__global__ void __launch_bounds__(THREADS) eliminate(size_t n, size_t c, double *factor, const double *row, double root,
                                                     size_t pivot, double *left, largest *best) {
  __shared__ double pieces[PIECE], sums[GROUPS][ROWS];
  const int lane = threadIdx.x % ROWS, group = threadIdx.x / ROWS;
  const size_t i = blockIdx.x * (size_t)ROWS + lane;
  double sum = 0;
  for (size_t first = 0; first < c; first += PIECE) {
    const int count = (int)min((size_t)PIECE, c - first);
    __syncthreads();
    if ((int)threadIdx.x < count) {
      pieces[threadIdx.x] = row[first + threadIdx.x];
    }
    __syncthreads();
    if (i < n) {
#pragma unroll 8
      for (int j = group; j < count; j += GROUPS) {
        sum = fma(factor[i + (first + j) * n], pieces[j], sum);
      }
    }
  }
  sums[group][lane] = sum;
  __syncthreads();
  if (group == 0) {
    double rest = 0;
    if (i < n) {
      double all = 0;
      for (int g = 0; g < GROUPS; g++) {
        all += sums[g][lane];
      }
      const double element = (factor[i + c * n] - all) / root;
      factor[i + c * n] = element;
      rest = i == pivot ? 0 : left[i] - element * element;
      left[i] = rest;
    }
    put_best(rest, i, i < n, best);
  }
}

/* One block of threads: the best of all, its row of the factor, and its inputs. If the remaining variance of the first
 * row is NaN, no other row counts as larger. */
__global__ void __launch_bounds__(CHOOSING)
    choose(size_t blocks, const largest *best, size_t n, size_t count, const double *factor, const double *left,
           const double *x, size_t d, double *row, double *found) {
  __shared__ largest shared[CHOOSING];
  largest own = {left[0], 0};
  for (size_t b = threadIdx.x; b < blocks; b += CHOOSING) {
    take_larger(own, best[b]);
  }
  shared[threadIdx.x] = own;
  for (int half = CHOOSING / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) {
      take_larger(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
  }
  __syncthreads();
  const size_t at = shared[0].at;
  for (size_t j = threadIdx.x; j < count; j += CHOOSING) {
    row[j] = factor[at + j * n];
  }
  for (size_t j = threadIdx.x; j < d; j += CHOOSING) {
    found[2 + j] = x[at + j * n];
  }
  if (threadIdx.x == 0) {
    found[0] = shared[0].value;
    found[1] = (double)at;
  }
}

static void look_at_rows(oat_pivots *p) {
  oat_cuda *cuda = p->cuda;
  const size_t n = cuda->n, c = p->count - 1;
  const cudaStream_t stream = cuda->session->stream;
  if (p->count == 0) {
    begin_left<<<blocks_of(n), ROWS, 0, stream>>>(n, p->kernel.sigma2, p->left, p->best);
  } else {
    oat_cuda_cross(cuda, p->kernel, {cuda->x, n, n}, {cuda->x + p->pivot, 1, n}, p->factor + c * n, n, n);
    eliminate<<<blocks_of(n), THREADS, 0, stream>>>(n, c, p->factor, p->row, p->root, p->pivot, p->left, p->best);
  }
  choose<<<1, CHOOSING, 0, stream>>>(blocks_of(n), p->best, n, p->count, p->factor, p->left, cuda->x, cuda->d, p->row,
                                     p->found);
}

oatgp_status oat_cuda_pivots_next(oat_pivots *p, oat_pivot *out) {
  oat_cuda *cuda = p->cuda;
  look_at_rows(p);
  oat_cuda_download(cuda, 2 + cuda->d, p->found, p->back);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    p->pivot = (size_t)p->back[1];
    p->root = sqrt(p->back[0]);
    p->count++;
    *out = {p->pivot, p->back[0], p->back + 2};
  }
  return status;
}

void oat_cuda_pivots_end(oat_pivots *p) {
  if (p != NULL) {
    for (void *memory :
         {(void *)p->scale, (void *)p->left, (void *)p->factor, (void *)p->row, (void *)p->found, (void *)p->best}) {
      oat_cuda_give(p->cuda, memory);
    }
    free(p->back);
    free(p);
  }
}

oatgp_status oat_cuda_pivots_begin(oat_device *device, const oat_covariance *cov, size_t most, oat_pivots **out) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t n = cuda->n, d = cuda->d;
  oat_pivots *p = (oat_pivots *)calloc(1, sizeof *p);
  double *back = (double *)calloc(2 + d, sizeof *back);
  if (p == NULL || back == NULL) {
    free(p);
    free(back);
    return oat_no_memory(cuda->ctx, sizeof *p);
  }
  *out = p;
  p->cuda = cuda;
  p->back = back;
  p->scale = oat_cuda_take_doubles(cuda, d, 1);
  p->left = oat_cuda_take_doubles(cuda, n, 1);
  p->factor = oat_cuda_take_doubles(cuda, n, most);
  p->row = oat_cuda_take_doubles(cuda, most, 1);
  p->found = oat_cuda_take_doubles(cuda, 2 + d, 1);
  p->best = (largest *)oat_cuda_take(cuda, blocks_of(n), sizeof *p->best);
  p->kernel = oat_cuda_take_kernel(cuda, cov, p->scale);
  return oat_cuda_end(cuda);
}
