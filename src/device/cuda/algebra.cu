/* Products, solves with a triangle whose diagonal blocks are inverted, and sums over rows in parts. */
#include "device/cuda/cuda.h"

void oat_cuda_gemm(oat_cuda *cuda, double alpha, oat_const_view a, oat_op op_a, oat_const_view b, oat_op op_b,
                   double beta, oat_view c) {
  const size_t inner = op_a == OAT_PLAIN ? a.columns : a.rows;
  if (oat_cuda_fine(cuda) && c.rows > 0 && c.columns > 0) {
    oat_cuda_check_blas(
        cuda,
        cublasDgemm_64(cuda->session->blas, op_a == OAT_PLAIN ? CUBLAS_OP_N : CUBLAS_OP_T,
                       op_b == OAT_PLAIN ? CUBLAS_OP_N : CUBLAS_OP_T, (int64_t)c.rows, (int64_t)c.columns,
                       (int64_t)inner, &alpha, a.a, (int64_t)a.ld, b.a, (int64_t)b.ld, &beta, c.a, (int64_t)c.ld),
        "a product");
  }
}

/* ---- a triangle ------------------------------------------------------------------------------------------------ */

enum { HALF = OAT_CUDA_LEAF / 2, PAD = HALF + 1 };

/* Element (i, j) of the block on the diagonal from `first` on; outside of L it is that of the identity. */
__device__ static double leaf_element(int k, const double *l, size_t ldl, int first, int i, int j) {
  return first + i < k && first + j < k ? (j <= i ? l[first + i + (size_t)(first + j) * ldl] : 0) : i == j ? 1 : 0;
}

/* x <- the inverse of a lower triangle of order HALF, both in shared memory: thread c < HALF has column c. */
__device__ static void invert_half(const double (*l)[PAD], double (*x)[PAD], int c) {
  for (int i = 0; i < HALF; i++) {
    double sum = i == c ? 1 : 0;
    for (int j = c; j < i; j++) {
      sum -= l[i][j] * x[j][c];
    }
    x[i][c] = i < c ? 0 : sum / l[i][i];
  }
}

/* out <- a b, all of order HALF in shared memory: a thread has a row and a part of the columns. */
__device__ static void multiply_halves(const double (*a)[PAD], const double (*b)[PAD], double (*out)[PAD],
                                       double sign) {
  const int i = threadIdx.x % HALF, parts = blockDim.x / HALF;
  for (int c = threadIdx.x / HALF; c < HALF; c += parts) {
    double sum = 0;
    for (int j = 0; j < HALF; j++) {
      sum += a[i][j] * b[j][c];
    }
    out[i][c] = sign * sum;
  }
}

/* A block of threads inverts a leaf [A 0; B C]: A and C by columns, then -C^-1 B A^-1. */
__global__ void __launch_bounds__(4 * OAT_CUDA_LEAF)
    invert_leaf(int k, const double *l, size_t ldl, double *inverse, size_t ld, size_t stride) {
  extern __shared__ double room[][PAD];
  double(*const la)[PAD] = room, (*const lc)[PAD] = room + HALF, (*const b)[PAD] = room + 2 * HALF,
                (*const a)[PAD] = room + 3 * HALF, (*const c)[PAD] = room + 4 * HALF;
  const int first = blockIdx.x * OAT_CUDA_LEAF;
  for (int at = threadIdx.x; at < HALF * HALF; at += blockDim.x) {
    const int i = at % HALF, j = at / HALF;
    la[i][j] = leaf_element(k, l, ldl, first, i, j);
    lc[i][j] = leaf_element(k, l, ldl, first + HALF, i, j);
    b[i][j] = leaf_element(k, l, ldl, first, HALF + i, j);
  }
  __syncthreads();
  if (threadIdx.x < OAT_CUDA_LEAF) {
    const bool upper = threadIdx.x < HALF;
    invert_half(upper ? la : lc, upper ? a : c, threadIdx.x % HALF);
  }
  __syncthreads();
  multiply_halves(c, b, la, -1);
  __syncthreads();
  multiply_halves(la, a, b, 1);
  __syncthreads();
  double *out = inverse + (size_t)blockIdx.x * stride;
  for (int at = threadIdx.x; at < HALF * HALF; at += blockDim.x) {
    const int i = at % HALF, j = at / HALF;
    out[i + j * ld] = a[i][j];
    out[HALF + i + (HALF + j) * ld] = c[i][j];
    out[HALF + i + j * ld] = b[i][j];
    out[i + (HALF + j) * ld] = 0;
  }
}

void oat_cuda_invert_leaves(oat_cuda *cuda, size_t k, const double *l, size_t ldl, double *inverse, size_t ld,
                            size_t stride) {
  const size_t bytes = 5 * HALF * PAD * sizeof(double);
  if (oat_cuda_fine(cuda) && k > 0) {
    oat_cuda_check(cuda, cudaFuncSetAttribute(invert_leaf, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                   "a launch");
    invert_leaf<<<(unsigned)((k + OAT_CUDA_LEAF - 1) / OAT_CUDA_LEAF), 4 * OAT_CUDA_LEAF, bytes,
                  cuda->session->stream>>>((int)k, l, ldl, inverse, ld, stride);
  }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Blocks of columns in the order in which each needs those before it. */
void oat_cuda_solve(oat_cuda *cuda, const oat_cuda_triangle &t, oat_op op, oat_view b, oat_view out) {
  const size_t leaves = (t.k + OAT_CUDA_LEAF - 1) / OAT_CUDA_LEAF;
  for (size_t step = 0; step < leaves; step++) {
    const size_t leaf = op == OAT_TRANSPOSED ? step : leaves - 1 - step, first = leaf * OAT_CUDA_LEAF;
    const size_t width = least(OAT_CUDA_LEAF, t.k - first), next = first + width;
    const oat_view own = {b.a + first * b.ld, b.rows, width, b.ld},
                   to = {out.a + first * out.ld, out.rows, width, out.ld};
    if (op == OAT_TRANSPOSED && first > 0) {
      oat_cuda_gemm(cuda, -1, {out.a, out.rows, first, out.ld}, OAT_PLAIN, {t.l + first, width, first, t.k},
                    OAT_TRANSPOSED, 1, own);
    } else if (op == OAT_PLAIN && next < t.k) {
      oat_cuda_gemm(cuda, -1, {out.a + next * out.ld, out.rows, t.k - next, out.ld}, OAT_PLAIN,
                    {t.l + next + first * t.k, t.k - next, width, t.k}, OAT_PLAIN, 1, own);
    }
    oat_cuda_gemm(cuda, 1, {own.a, own.rows, width, own.ld}, OAT_PLAIN,
                  {t.inverse + leaf * OAT_CUDA_LEAF * OAT_CUDA_LEAF, width, width, OAT_CUDA_LEAF}, op, 0, to);
  }
}

/* ---- products over rows ---------------------------------------------------------------------------------------- */

enum { PRODUCT_COLUMNS = 128 };

void oat_cuda_add_products(oat_cuda *cuda, double alpha, size_t k, const double *a, const double *b, double beta,
                           bool whole) {
  for (size_t first = 0; first < k && oat_cuda_fine(cuda); first += PRODUCT_COLUMNS) {
    const size_t width = least(PRODUCT_COLUMNS, k - first), top = whole ? 0 : first;
    oat_cuda_check_blas(cuda,
                        cublasDgemmStridedBatched_64(
                            cuda->session->blas, CUBLAS_OP_T, CUBLAS_OP_N, (int64_t)(k - top), (int64_t)width,
                            (int64_t)cuda->part, &alpha, a + top * cuda->ld, (int64_t)cuda->ld, (long long)cuda->part,
                            b + first * cuda->ld, (int64_t)cuda->ld, (long long)cuda->part, &beta,
                            cuda->products + top + first * k, (int64_t)k, (long long)(k * k), (int64_t)cuda->parts),
                        "a product");
  }
}

__global__ void join_products(size_t k, size_t parts, bool whole, const double *products, double *out) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < k * k) {
    double sum = 0;
    for (size_t part = 0; (whole || i % k >= i / k) && part < parts; part++) {
      sum += products[part * k * k + i];
    }
    out[i] = sum;
  }
}

void oat_cuda_join_products(oat_cuda *cuda, size_t k, double *out, bool whole) {
  if (oat_cuda_fine(cuda) && k > 0) {
    join_products<<<(unsigned)((k * k + 255) / 256), 256, 0, cuda->session->stream>>>(k, cuda->parts, whole,
                                                                                      cuda->products, out);
  }
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

__global__ void row_dots(size_t n, size_t k, size_t ld, const double *a, const double *b, double *q) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    double sum[4] = {0, 0, 0, 0};
    size_t c = 0;
    for (; c + 4 <= k; c += 4) {
      for (int j = 0; j < 4; j++) {
        sum[j] += a[i + (c + j) * ld] * b[i + (c + j) * ld];
      }
    }
    for (; c < k; c++) {
      sum[0] += a[i + c * ld] * b[i + c * ld];
    }
    q[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

static unsigned grid_of(size_t n) { return (unsigned)((n + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS); }

void oat_cuda_row_dots(oat_cuda *cuda, size_t n, size_t k, const double *a, const double *b, double *q) {
  if (oat_cuda_fine(cuda)) {
    row_dots<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, k, cuda->ld, a, b, q);
  }
}

__global__ void scale_rows(size_t n, size_t height, size_t ld, const double *by, const double *a, double *out) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i < height) {
    out[i + c * ld] = i < n ? by[i] * a[i + c * ld] : 0;
  }
}

void oat_cuda_scale_rows(oat_cuda *cuda, size_t n, size_t k, const double *by, const double *a, double *out) {
  if (oat_cuda_fine(cuda) && k > 0) {
    scale_rows<<<dim3(grid_of(cuda->ld), (unsigned)k), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(
        n, cuda->ld, cuda->ld, by, a, out);
  }
}

/* ---- right sides: a block of threads has a column of a, some of y, and a part of the rows ---------------------- */

enum { RIGHT_COLUMNS = 4, RIGHT_THREADS = 256 };

__global__ void add_right(size_t n, const double *a, size_t ld, int width, const double *y, size_t ldy, bool first,
                          double *right) {
  __shared__ double shared[RIGHT_COLUMNS][RIGHT_THREADS];
  const size_t c = blockIdx.x, k = gridDim.x, part = blockIdx.y,
               rows = (n + OAT_CUDA_RIGHT_PARTS - 1) / OAT_CUDA_RIGHT_PARTS;
  const size_t from = part * rows, to = min(n, from + rows);
  const int begin = blockIdx.z * RIGHT_COLUMNS, count = min(RIGHT_COLUMNS, width - begin);
  double sum[RIGHT_COLUMNS] = {0};
  for (size_t i = from + threadIdx.x; i < to; i += RIGHT_THREADS) {
    const double value = a[i + c * ld];
    for (int j = 0; j < count; j++) {
      sum[j] += value * y[i + (begin + j) * ldy];
    }
  }
  for (int j = 0; j < RIGHT_COLUMNS; j++) {
    shared[j][threadIdx.x] = sum[j];
  }
  for (int half = RIGHT_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    for (int j = 0; (int)threadIdx.x < half && j < count; j++) {
      shared[j][threadIdx.x] += shared[j][threadIdx.x + half];
    }
  }
  __syncthreads();
  if ((int)threadIdx.x < count) {
    double *out = right + (part * width + begin + threadIdx.x) * k + c;
    *out = (first ? 0 : *out) + shared[threadIdx.x][0];
  }
}

void oat_cuda_add_right(oat_cuda *cuda, size_t n, oat_const_view a, oat_const_view y, bool first, double *parts,
                        cudaStream_t stream) {
  if (oat_cuda_fine(cuda) && a.columns > 0 && y.columns > 0) {
    const dim3 grid((unsigned)a.columns, OAT_CUDA_RIGHT_PARTS,
                    (unsigned)((y.columns + RIGHT_COLUMNS - 1) / RIGHT_COLUMNS));
    add_right<<<grid, RIGHT_THREADS, 0, stream>>>(n, a.a, a.ld, (int)y.columns, y.a, y.ld, first, parts);
  }
}

__global__ void join_parts(size_t count, size_t parts, size_t stride, const double *from, double *out) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < count) {
    double sum = 0;
    for (size_t part = 0; part < parts; part++) {
      sum += from[part * stride + i];
    }
    out[i] = sum;
  }
}

void oat_cuda_join_parts(oat_cuda *cuda, size_t count, size_t parts, size_t stride, const double *from, double *out) {
  if (oat_cuda_fine(cuda) && count > 0) {
    join_parts<<<grid_of(count), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(count, parts, stride, from, out);
  }
}
