/* The exact GP of the rows, in one n x n matrix: S, then its factor L, then L^-1, then the lower triangle of S^-1.
 * Factor: cuSOLVER. Inverse: products of panels of rows, in place. The kernel matrix is computed again for the
 * gradient, panel by panel.
 *
 * Blocks of BLOCK rows have 0 above their diagonal as far as a product reads there: WIDE columns at a time. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "device/cuda/cuda.h"

extern "C" {
#include "device/cpu/sites.h"
}

enum { BLOCK = 1024, WIDE = 4096 };

/* The approximate share of an evaluation with gradient that is done after each part. */
#define FACTORISED 0.35
#define INVERTED 0.95

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t block_of(const oat_cuda *cuda, size_t first) { return least(BLOCK, cuda->n - first); }

static oat_view part_of(const oat_cuda *cuda, size_t row, size_t column, size_t rows, size_t columns) {
  return {cuda->exact.s + row + column * cuda->n, rows, columns, cuda->n};
}

static size_t blocks_of(const oat_cuda *cuda) { return (cuda->n + BLOCK - 1) / BLOCK; }

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void take_solver_room(oat_cuda *cuda) {
  oat_cuda_exact *e = &cuda->exact;
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check_solver(
        cuda,
        cusolverDnXpotrf_bufferSize(cuda->session->solver, NULL, CUBLAS_FILL_MODE_LOWER, (int64_t)cuda->n, CUDA_R_64F,
                                    e->s, (int64_t)cuda->n, CUDA_R_64F, &e->room_bytes, &e->host_bytes),
        "preparing a factorisation");
    e->room = oat_cuda_take(cuda, e->room_bytes, 1);
    e->info = (int *)oat_cuda_take(cuda, 1, sizeof *e->info);
    e->host_room = malloc(e->host_bytes + 1);
  }
}

void oat_cuda_take_exact(oat_cuda *cuda) {
  oat_cuda_exact *e = &cuda->exact;
  const size_t n = cuda->n, columns = least(BLOCK, n);
  e->s = oat_cuda_take_doubles(cuda, n, n);
  e->solved = oat_cuda_take_doubles(cuda, n, 2 + cuda->p);
  e->c = oat_cuda_take_doubles(cuda, n, 2);
  e->panel = oat_cuda_take_doubles(cuda, n, columns);
  e->inverse = oat_cuda_take_doubles(cuda, blocks_of(cuda) * BLOCK, BLOCK);
  e->segments = (n + OAT_CUDA_SEGMENT - 1) / OAT_CUDA_SEGMENT;
  e->moments = oat_cuda_take_doubles(cuda, oat_cuda_moments_count(e->segments, columns, cuda->d), 1);
  e->scalars = oat_cuda_take_doubles(cuda, 2, 1);
  e->joined = oat_cuda_take_doubles(cuda, oat_cuda_joined_count(cuda->d, columns), 1);
  e->sums = oat_cuda_take_doubles(cuda, 2 * (n / OAT_CUDA_THREADS + 1), columns / OAT_CUDA_TILE + 1);
  e->gram = oat_cuda_take_doubles(cuda, 1 + cuda->p, 1 + cuda->p);
  e->scale = oat_cuda_take_doubles(cuda, cuda->d, 1);
  take_solver_room(cuda);
}

static void tell(const oat_cuda *cuda, double share) {
  oat_tell_progress(cuda->ctx, "evaluation", (size_t)(share * (double)cuda->n + 0.5), cuda->n);
}

/* ---- the matrix ------------------------------------------------------------------------------------------------ */

__global__ void add_diagonal(size_t n, oat_cuda_noise noise, double jitter, double *s) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    s[i * (n + 1)] += jitter + noise.of(i);
  }
}

/* 0 above the diagonal, within squares of WIDE. */
__global__ void clear_above(size_t n, double *s) {
  const size_t c = blockIdx.x, first = c / WIDE * WIDE;
  for (size_t i = first + threadIdx.x; i < c; i += blockDim.x) {
    s[i + c * n] = 0;
  }
}

/* out_i = s_ii */
__global__ void take_diagonal(size_t n, const double *s, double *out) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = s[i * (n + 1)];
  }
}

static unsigned grid_of(size_t n) { return (unsigned)((n + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS); }

/* The lower triangle of K, in panels of columns from the diagonal down. */
static void build(oat_cuda *cuda, const oat_cuda_kernel &kernel) {
  const size_t n = cuda->n;
  for (size_t first = 0; first < n; first += BLOCK) {
    oat_cuda_cross(cuda, kernel, {cuda->x + first, n - first, n}, {cuda->x + first, block_of(cuda, first), n},
                   part_of(cuda, first, first, 0, 0).a, n, n - first);
  }
}

static size_t factorise(oat_cuda *cuda) {
  oat_cuda_exact *e = &cuda->exact;
  int info = 0;
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check_solver(
        cuda,
        cusolverDnXpotrf(cuda->session->solver, NULL, CUBLAS_FILL_MODE_LOWER, (int64_t)cuda->n, CUDA_R_64F, e->s,
                         (int64_t)cuda->n, CUDA_R_64F, e->room, e->room_bytes, e->host_room, e->host_bytes, e->info),
        "a factorisation");
    oat_cuda_check(cuda, cudaMemcpyAsync(&info, e->info, sizeof info, cudaMemcpyDeviceToHost, cuda->session->stream),
                   "a copy from it");
    oat_cuda_check(cuda, cudaStreamSynchronize(cuda->session->stream), "a factorisation");
    clear_above<<<(unsigned)cuda->n, 256, 0, cuda->session->stream>>>(cuda->n, e->s);
  }
  return info > 0 ? (size_t)info : 0;
}

static void copy_part(oat_cuda *cuda, oat_const_view from, oat_view to) {
  if (oat_cuda_fine(cuda) && from.columns > 0) {
    oat_cuda_check(
        cuda,
        cudaMemcpy2DAsync(to.a, to.ld * sizeof(double), from.a, from.ld * sizeof(double), from.rows * sizeof(double),
                          from.columns, cudaMemcpyDeviceToDevice, cuda->session->stream),
        "a copy");
  }
}

/* The inverse of block number `block` on the diagonal of L. */
static oat_const_view inverse_of(const oat_cuda *cuda, size_t block) {
  const size_t rows = block_of(cuda, block * BLOCK);
  return {cuda->exact.inverse + block * BLOCK * BLOCK, rows, rows, BLOCK};
}

/* All of them at once, from leaves up: the inverse of [A 0; B C] has -C^-1 B A^-1 below A^-1. The panel is room for
 * C^-1 B. A last block that is smaller is completed by the identity. */
static void invert_blocks(oat_cuda *cuda) {
  const size_t n = cuda->n, blocks = blocks_of(cuda);
  oat_cuda_exact *e = &cuda->exact;
  oat_cuda_clear(cuda, blocks * BLOCK * BLOCK, e->inverse);
  for (size_t block = 0; block < blocks; block++) {
    const size_t first = block * BLOCK;
    oat_cuda_invert_leaves(cuda, block_of(cuda, first), part_of(cuda, first, first, 0, 0).a, n,
                           e->inverse + first * BLOCK, BLOCK, OAT_CUDA_LEAF * (BLOCK + 1));
  }
  for (size_t size = OAT_CUDA_LEAF; size < BLOCK; size *= 2) {
    for (size_t block = 0; block < blocks; block++) {
      double *inverse = e->inverse + block * BLOCK * BLOCK;
      for (size_t at = 0; at + size < block_of(cuda, block * BLOCK) && oat_cuda_fine(cuda); at += 2 * size) {
        const size_t first = block * BLOCK + at, rows = least(size, n - first - size);
        const oat_view below = part_of(cuda, first + size, first, rows, size), room = {e->panel, rows, size, rows};
        oat_cuda_gemm(cuda, 1, {inverse + (at + size) * (BLOCK + 1), rows, rows, BLOCK}, OAT_PLAIN, oat_as_const(below),
                      OAT_PLAIN, 0, room);
        oat_cuda_gemm(cuda, -1, oat_as_const(room), OAT_PLAIN, {inverse + at * (BLOCK + 1), size, size, BLOCK},
                      OAT_PLAIN, 0, {inverse + at * (BLOCK + 1) + size, rows, size, BLOCK});
      }
    }
  }
}

/* B <- op(L)^-1 B, blocks of rows one after the other. */
static void solve_left(oat_cuda *cuda, oat_op op, double *b, size_t columns) {
  const size_t n = cuda->n, blocks = blocks_of(cuda);
  for (size_t step = 0; step < blocks && oat_cuda_fine(cuda); step++) {
    const size_t block = op == OAT_PLAIN ? step : blocks - 1 - step, first = block * BLOCK,
                 rows = block_of(cuda, first), next = first + rows;
    const oat_view own = {b + first, rows, columns, n}, room = {cuda->exact.panel, rows, columns, rows};
    oat_cuda_gemm(cuda, 1, inverse_of(cuda, block), op, oat_as_const(own), OAT_PLAIN, 0, room);
    copy_part(cuda, oat_as_const(room), own);
    if (op == OAT_PLAIN && next < n) {
      const oat_view below = part_of(cuda, next, first, n - next, rows);
      oat_cuda_gemm(cuda, -1, oat_as_const(below), OAT_PLAIN, oat_as_const(own), OAT_PLAIN, 1,
                    {b + next, n - next, columns, n});
    } else if (op == OAT_TRANSPOSED && first > 0) {
      const oat_view left = part_of(cuda, first, 0, rows, first);
      oat_cuda_gemm(cuda, -1, oat_as_const(left), OAT_TRANSPOSED, oat_as_const(own), OAT_PLAIN, 1,
                    {b, first, columns, n});
    }
  }
}

/* ---- the value ------------------------------------------------------------------------------------------------- */

oatgp_status oat_cuda_exact_sums(oat_device *device, const oat_exact *exact, oat_exact_sums *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  oat_cuda_exact *e = &cuda->exact;
  const size_t n = cuda->n, width = 1 + cuda->p;
  const oat_cuda_kernel kernel = oat_cuda_take_kernel(cuda, &exact->cov, e->scale);
  e->inverted = false;
  oat_cuda_take_sites(cuda);
  build(cuda, kernel);
  if (oat_cuda_fine(cuda)) {
    add_diagonal<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, oat_cuda_noise_of(cuda, exact->tau, 0),
                                                                             exact->jitter * kernel.sigma2, e->s);
  }
  out->pivot = factorise(cuda);
  tell(cuda, exact->gradient ? FACTORISED : 1);
  if (oat_cuda_fine(cuda) && out->pivot != 0) {
    return OATGP_NUMERIC;
  }
  if (oat_cuda_fine(cuda)) {
    take_diagonal<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, e->s, e->c);
    oat_cuda_check(cuda,
                   cudaMemcpyAsync(e->solved, cuda->r, n * width * sizeof(double), cudaMemcpyDeviceToDevice,
                                   cuda->session->stream),
                   "a copy");
  }
  invert_blocks(cuda);
  solve_left(cuda, OAT_PLAIN, e->solved, width);
  const oat_const_view solved = {e->solved, n, width, n};
  oat_cuda_gemm(cuda, 1, solved, OAT_TRANSPOSED, solved, OAT_PLAIN, 0, oat_square(e->gram, width));
  oat_cuda_download(cuda, n, e->c, cuda->back);
  out->log_diagonal = 0;
  for (size_t i = 0; oat_cuda_fine(cuda) && i < n; i++) {
    out->log_diagonal += log(cuda->back[i]);
  }
  oat_cuda_download(cuda, width * width, e->gram, out->gram);
  return oat_cuda_end(cuda);
}

__global__ void less_basis(size_t n, size_t p, const double *coefficient, const double *solved, double *c) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    double sum = solved[i];
    for (size_t j = 0; j < p; j++) {
      sum -= coefficient[j] * solved[i + (1 + j) * n];
    }
    c[i] = sum;
  }
}

oatgp_status oat_cuda_exact_quadratic(oat_device *device, const double *coefficient, double *quadratic) {
  oat_cuda *cuda = oat_cuda_of(device);
  oat_cuda_exact *e = &cuda->exact;
  const size_t n = cuda->n;
  oat_cuda_upload(cuda, cuda->p, coefficient, e->gram);
  if (oat_cuda_fine(cuda)) {
    less_basis<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, cuda->p, e->gram, e->solved, e->c);
  }
  oat_cuda_download(cuda, n, e->c, cuda->back);
  *quadratic = oat_cuda_fine(cuda) ? oat_dot(n, cuda->back, cuda->back) : 0;
  return oat_cuda_end(cuda);
}

/* ---- the inverse ----------------------------------------------------------------------------------------------- */

/* L^-1 in the place of L, a panel of rows at a time: (L^-1)_i = -(L_ii)^-1 L_i (L^-1) of the rows above. */
static void invert_factor(oat_cuda *cuda) {
  oat_cuda_exact *e = &cuda->exact;
  for (size_t first = 0; first < cuda->n; first += BLOCK) {
    const size_t rows = block_of(cuda, first);
    const oat_view product = {e->panel, rows, first, rows};
    for (size_t at = 0; at < first; at += WIDE) { /* these columns have nothing above row `at` */
      const size_t width = least(WIDE, first - at);
      oat_cuda_gemm(cuda, 1, oat_as_const(part_of(cuda, first, at, rows, first - at)), OAT_PLAIN,
                    oat_as_const(part_of(cuda, at, at, first - at, width)), OAT_PLAIN, 0,
                    {product.a + at * rows, rows, width, rows});
    }
    const oat_const_view inverse = inverse_of(cuda, first / BLOCK);
    if (first > 0) {
      oat_cuda_gemm(cuda, -1, inverse, OAT_PLAIN, oat_as_const(product), OAT_PLAIN, 0,
                    part_of(cuda, first, 0, rows, first));
    }
    copy_part(cuda, inverse, part_of(cuda, first, first, rows, rows));
  }
}

/* The lower triangle of L^-T L^-1 in the place of L^-1, a panel of rows at a time: those below are still L^-1. */
static void multiply_factor(oat_cuda *cuda) {
  oat_cuda_exact *e = &cuda->exact;
  for (size_t first = 0; first < cuda->n; first += BLOCK) {
    const size_t rows = block_of(cuda, first), width = first + rows, next = first + rows, below = cuda->n - next;
    const oat_view product = {e->panel, rows, width, rows};
    oat_cuda_gemm(cuda, 1, oat_as_const(part_of(cuda, first, first, rows, rows)), OAT_TRANSPOSED,
                  oat_as_const(part_of(cuda, first, 0, rows, width)), OAT_PLAIN, 0, product);
    if (below > 0) {
      oat_cuda_gemm(cuda, 1, oat_as_const(part_of(cuda, next, first, below, rows)), OAT_TRANSPOSED,
                    oat_as_const(part_of(cuda, next, 0, below, width)), OAT_PLAIN, 1, product);
    }
    copy_part(cuda, oat_as_const(product), part_of(cuda, first, 0, rows, width));
  }
}

void oat_cuda_invert(oat_cuda *cuda) {
  oat_cuda_exact *e = &cuda->exact;
  const size_t n = cuda->n;
  if (e->inverted) {
    return;
  }
  double *a = e->solved + n * (1 + cuda->p);
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaMemcpyAsync(a, e->c, n * sizeof *a, cudaMemcpyDeviceToDevice, cuda->session->stream),
                   "a copy");
  }
  solve_left(cuda, OAT_TRANSPOSED, e->solved, 2 + cuda->p);
  invert_factor(cuda);
  multiply_factor(cuda);
  if (oat_cuda_fine(cuda)) {
    take_diagonal<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, e->s, e->c + n);
  }
  e->inverted = oat_cuda_fine(cuda);
}

/* ---- the gradient ---------------------------------------------------------------------------------------------- */

/* panel = dF/dS of some columns from the diagonal down, twice off the diagonal and nothing above it. */
__global__ void fill_panel(size_t rows, const double *s, size_t n, const double *a, double *panel) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i < rows) {
    panel[i + c * rows] = i < c ? 0 : (i == c ? 0.5 : 1) * (a[i] * a[c] - s[i + c * n]);
  }
}

static void add_panels(oat_cuda *cuda, const oat_cuda_kernel &kernel) {
  oat_cuda_exact *e = &cuda->exact;
  const size_t n = cuda->n;
  const double *a = e->solved + n * (1 + cuda->p);
  for (size_t first = 0; first < n && oat_cuda_fine(cuda); first += BLOCK) {
    const size_t rows = n - first, columns = block_of(cuda, first);
    fill_panel<<<dim3(grid_of(rows), (unsigned)columns), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(
        rows, part_of(cuda, first, first, 0, 0).a, n, a + first, e->panel);
    oat_cuda_cross_adjoint(cuda, kernel, {cuda->x + first, rows, n}, {cuda->x + first, columns, n},
                           {e->panel, rows, nullptr, nullptr, nullptr, 1},
                           {e->moments, e->scalars, e->sums, e->segments, least(BLOCK, n)}, cuda->session->stream);
  }
}

/* The diagonal besides K. */
static void finish_gradient(const oat_cuda *cuda, const oat_exact *exact, double prior, oat_exact_gradient *out) {
  const oat_row_block all = oat_rows_block(cuda->rows, cuda->n, 0);
  const double *diagonal = cuda->back, *a = cuda->back + cuda->n;
  double sum = 0;
  for (size_t i = 0; i < cuda->n; i++) {
    const double slope = 0.5 * (a[i] * a[i] - diagonal[i]);
    out->noise += slope * oat_block_noise_scale(&all, i);
    sum += slope;
  }
  out->signal += exact->jitter * prior * sum;
}

oatgp_status oat_cuda_exact_gradient(oat_device *device, const oat_exact *exact, oat_exact_gradient *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  oat_cuda_exact *e = &cuda->exact;
  const size_t n = cuda->n, points = least(BLOCK, n);
  const oat_cuda_kernel kernel = oat_cuda_take_kernel(cuda, &exact->cov, e->scale);
  const oat_cuda_adjoint sums = {e->moments, e->scalars, e->sums, e->segments, points};
  oat_cuda_invert(cuda);
  oat_cuda_clear(cuda, oat_cuda_moments_count(e->segments, points, cuda->d), e->moments);
  oat_cuda_clear(cuda, 2, e->scalars);
  add_panels(cuda, kernel);
  oat_cuda_join_moments(cuda, cuda->d, sums, e->joined);
  const size_t count = oat_cuda_joined_count(cuda->d, points);
  oat_cuda_download(cuda, n, e->c + n, cuda->back);
  oat_cuda_download(cuda, n, e->solved + n * (1 + cuda->p), cuda->back + n);
  oat_cuda_download(cuda, count, e->joined, cuda->back + 2 * n);
  tell(cuda, 1);
  const oatgp_status status = oat_cuda_end(cuda);
  out->signal = out->noise = 0;
  if (status == OATGP_OK) {
    oat_cuda_use_moments(&exact->cov, points, cuda->back + 2 * n, &out->kernel, &out->signal);
    finish_gradient(cuda, exact, kernel.sigma2, out);
  }
  return status;
}

/* ---- rows left out --------------------------------------------------------------------------------------------- */

/* The log density of a row. `error` is that of its site's target, predicted with this precision. */
static double answer_density(const oat_cuda *cuda, const oat_response *response, size_t i, double error,
                             double precision) {
  const oat_row_block all = oat_rows_block(cuda->rows, cuda->n, 0);
  return oat_cpu_answer_density(response, &all, i, all.r[i] - error, 1 / precision - all.noise_scale[i]);
}

oatgp_status oat_cuda_exact_left_out(oat_device *device, const oat_gls *gls, const oat_response *response,
                                     double *density) {
  oat_cuda *cuda = oat_cuda_of(device);
  oat_cuda_exact *e = &cuda->exact;
  const size_t n = cuda->n, p = cuda->p;
  oat_cuda_invert(cuda);
  oat_cuda_download(cuda, n * (2 + p), e->solved, cuda->back);
  oat_cuda_download(cuda, n, e->c + n, cuda->back + n * (2 + p));
  const oatgp_status status = oat_cuda_end(cuda);
  const double *solved = cuda->back, *a = solved + n * (1 + p), *diagonal = a + n;
  double *basis = cuda->lengths;
  *density = 0;
  for (size_t i = 0; status == OATGP_OK && i < n; i++) {
    for (size_t j = 0; j < p; j++) {
      basis[j] = solved[i + (1 + j) * n];
    }
    const double left = fmax(1 - oat_gls_quadratic(gls, basis, basis) / diagonal[i], DBL_EPSILON), error = a[i] / left;
    *density += response != NULL ? answer_density(cuda, response, i, error / diagonal[i], diagonal[i])
                                 : 0.5 * (log(diagonal[i] / OAT_TWO_PI) - error * error / diagonal[i]);
  }
  return status;
}

/* ---- the factor alone ------------------------------------------------------------------------------------------ */

__global__ void add_given(size_t n, const double *diagonal, double *s) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    s[i * (n + 1)] += diagonal[i];
  }
}

/* The columns from the diagonal down: above it there is what the caller has there. */
static void download_factor(oat_cuda *cuda, double *l) {
  const size_t n = cuda->n;
  for (size_t first = 0; first < n && oat_cuda_fine(cuda); first += BLOCK) {
    const size_t columns = block_of(cuda, first);
    oat_cuda_check(
        cuda,
        cudaMemcpy2DAsync(l + first * (n + 1), n * sizeof(double), cuda->exact.s + first * (n + 1), n * sizeof(double),
                          (n - first) * sizeof(double), columns, cudaMemcpyDeviceToHost, cuda->session->stream),
        "a copy from it");
  }
}

oatgp_status oat_cuda_factor(oat_device *device, const oat_covariance *cov, const double *diagonal, double *l,
                             size_t *pivot) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t n = cuda->n;
  if (cuda->exact.s == NULL) {
    oat_cuda_take_exact(cuda);
  }
  const oat_cuda_kernel kernel = oat_cuda_take_kernel(cuda, cov, cuda->exact.scale);
  build(cuda, kernel);
  oat_cuda_upload(cuda, n, diagonal, cuda->exact.c);
  if (oat_cuda_fine(cuda)) {
    add_given<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, cuda->exact.c, cuda->exact.s);
  }
  *pivot = factorise(cuda);
  download_factor(cuda, l);
  const oatgp_status status = oat_cuda_end(cuda);
  return status == OATGP_OK && *pivot != 0 ? OATGP_NUMERIC : status;
}
