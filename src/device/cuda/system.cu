/* The system behind the exact evidence: products with C = K + D, conjugate gradients preconditioned by P (Woodbury),
 * and the traces of P^-1 G and of its square; src/device/cpu/system.c and traces.c have the formulas.
 *
 * K is never kept: a thread has a row, and computes its elements one after the other to multiply them. Slabs of rows
 * follow each other, and after each the caller is asked whether to continue. For the traces, tiles of G are computed
 * one at a time. */
#include "device/cuda/profiles.cuh"

extern "C" {
#include "util/clock.h"
}

enum {
  BLOCKS = 4096,    /* of threads, about, that a slab is worth */
  MOST_SPLIT = 256, /* parts of the columns */
  PROBED = 2,       /* tiles that are timed */
  STAMP = 1         /* of V, as long as the system is open */
};

#define SLAB_PAIRS ((size_t)1 << 32) /* elements of K between two checks whether to stop */
#define SPARE 0.9                    /* of the free memory that may be spent on U */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }
static size_t over(size_t a, size_t b) { return (a + b - 1) / b; }
static unsigned grid_of(size_t n) { return (unsigned)over(n, OAT_CUDA_THREADS); }

/* ---- vectors --------------------------------------------------------------------------------------------------- */

/* Sums in a fixed order: cuBLAS adds without atomic operations. */
static double dot(oat_cuda *cuda, const double *a, const double *b) {
  double sum = 0;
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check_blas(cuda, cublasDdot_64(cuda->session->blas, (int64_t)cuda->n, a, 1, b, 1, &sum),
                        "a sum of products");
  }
  return sum;
}

/* y <- alpha op(V) x + beta y, `rows` rows of a block. */
static void multiply_v(oat_cuda *cuda, oat_op op, size_t rows, const double *v, double alpha, const double *x,
                       double beta, double *y) {
  const size_t k = cuda->system.given.sparse.k;
  if (oat_cuda_fine(cuda) && k > 0) {
    oat_cuda_check_blas(cuda,
                        cublasDgemv_64(cuda->session->blas, op == OAT_PLAIN ? CUBLAS_OP_N : CUBLAS_OP_T, (int64_t)rows,
                                       (int64_t)k, &alpha, v, (int64_t)cuda->ld, x, 1, &beta, y, 1),
                        "a product");
  }
}

__global__ void take_w(size_t n, oat_cuda_noise noise, double *w) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    w[i] = 1 / noise.of(i);
  }
}

/* out_i = w_i a_i */
__global__ void weigh_each(size_t n, const double *w, const double *a, double *out) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = w[i] * a[i];
  }
}

/* p = z + turn p */
__global__ void turn_direction(size_t n, double turn, const double *z, double *p) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    p[i] = z[i] + turn * p[i];
  }
}

/* x += length p, e -= length cp */
__global__ void walk(size_t n, double length, const double *p, const double *cp, double *x, double *e) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] += length * p[i];
    e[i] -= length * cp[i];
  }
}

/* ---- C p ------------------------------------------------------------------------------------------------------- */

/* out[row + part * x.n] = sum over the columns of a part of k(x, z) p. */
template <int PROFILE>
__global__ void __launch_bounds__(OAT_CUDA_THREADS)
    multiply_rows(oat_cuda_kernel kernel, oat_cuda_points x, oat_cuda_points z, const double *p, size_t each,
                  double *out) {
  __shared__ near_shared shared;
  const size_t row = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x, from = blockIdx.y * each,
               to = min(z.n, from + each);
  double s[OAT_CUDA_TILE], sum = 0;
  for (size_t first = from; first < to; first += OAT_CUDA_TILE) {
    distances(kernel, x, z, row, first, shared, s);
#pragma unroll
    for (int c = 0; c < OAT_CUDA_TILE; c++) {
      if (first + c < to) {
        sum = fma(profile<PROFILE>(s[c], kernel.sigma2, kernel.shape).k, p[first + c], sum);
      }
    }
  }
  if (row < x.n) {
    out[row + blockIdx.y * x.n] = sum;
  }
}

/* cp = the sum of the parts, and D p */
__global__ void join_rows(size_t n, size_t parts, const double *products, const double *w, const double *p,
                          double *cp) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    double sum = 0;
    for (size_t part = 0; part < parts; part++) {
      sum += products[i + part * n];
    }
    cp[i] = sum + p[i] / w[i];
  }
}

/* Rows of a slab, and parts of the columns that make enough blocks of threads of it. */
static size_t slab_of(size_t n) { return least(n, most(SLAB_PAIRS / n / OAT_CUDA_THREADS, 1) * OAT_CUDA_THREADS); }
static size_t split_of(size_t n) {
  return most(least(least(BLOCKS / grid_of(slab_of(n)), MOST_SPLIT), over(n, OAT_CUDA_TILE)), 1);
}

/* cp of a slab of rows from `first` on, of which there are so many. */
static void multiply_slab(oat_cuda *cuda, size_t first, const double *p, double *cp) {
  const oat_cuda_system *s = &cuda->system;
  const size_t n = cuda->n, rows = least(slab_of(n), n - first);
  const size_t each = over(over(n, split_of(n)), OAT_CUDA_TILE) * OAT_CUDA_TILE, parts = over(n, each);
  const dim3 grid(grid_of(rows), (unsigned)parts);
  const cudaStream_t stream = cuda->session->stream;
  if (!oat_cuda_fine(cuda)) {
    return;
  }
#define MULTIPLY(P)                                                                                                  \
  multiply_rows<P><<<grid, OAT_CUDA_THREADS, 0, stream>>>(s->kernel, {cuda->x + first, rows, n}, {cuda->x, n, n}, p, \
                                                          each, s->products)
  FOR_PROFILE(s->kernel, MULTIPLY)
#undef MULTIPLY
  join_rows<<<grid_of(rows), OAT_CUDA_THREADS, 0, stream>>>(rows, parts, s->products, s->w + first, p + first,
                                                            cp + first);
}

/* Waits, and asks whether to go on. */
static bool go_on(oat_cuda *cuda, const char *what, size_t rows) {
  const oat_system *given = &cuda->system.given;
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaStreamSynchronize(cuda->session->stream), "a computation");
  }
  oat_tell_progress(cuda->ctx, what, rows, cuda->n);
  return given->ask == NULL || given->ask(given->asker);
}

oatgp_status oat_cuda_system_product(oat_device *device, double turn, double *curvature) {
  oat_cuda *cuda = oat_cuda_of(device);
  const oat_cuda_system *s = &cuda->system;
  const size_t n = cuda->n, slab = slab_of(n);
  bool whole = true;
  turn_direction<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, turn, s->z, s->p);
  for (size_t first = 0; first < n && whole && oat_cuda_fine(cuda); first += slab) {
    multiply_slab(cuda, first, s->p, s->cp);
    whole = go_on(cuda, "product", least(first + slab, n));
  }
  *curvature = dot(cuda, s->p, s->cp);
  const oatgp_status status = oat_cuda_end(cuda);
  return status == OATGP_OK && !whole ? OATGP_STOPPED : status;
}

/* ---- P^-1 e ---------------------------------------------------------------------------------------------------- */

/* V of a block; it is made again where it is not kept. */
static double *v_of(oat_cuda *cuda, size_t item) {
  return oat_cuda_v(cuda, cuda->system.point, &cuda->system.given.sparse, item);
}

static void take_point(oat_cuda *cuda) {
  if (cuda->cached != STAMP) {
    cuda->system.point = oat_cuda_take_point(cuda, &cuda->system.given.sparse);
  }
}

/* t = B^-1 V D^-1 e, D^-1 e being in z. The K x K work is done on the host. */
static void gather(oat_cuda *cuda) {
  const oat_cuda_system *s = &cuda->system;
  const size_t k = s->given.sparse.k;
  for (size_t item = 0; item < cuda->blocks; item++) {
    multiply_v(cuda, OAT_TRANSPOSED, oat_cuda_rows_of(cuda, item), v_of(cuda, item), 1, s->z + item * cuda->block,
               item == 0 ? 0 : 1, s->t);
  }
  oat_cuda_keep_v(cuda, &s->given.sparse);
  oat_cuda_download(cuda, k, s->t, cuda->back);
  if (oat_cuda_fine(cuda)) {
    const oat_view t = {cuda->back, k, 1, k};
    oat_solve_left(s->given.lb, k, OAT_PLAIN, t, cuda->config.where.threads);
    oat_solve_left(s->given.lb, k, OAT_TRANSPOSED, t, cuda->config.where.threads);
  }
  oat_cuda_upload(cuda, k, cuda->back, s->t);
}

/* z = D^-1 (e - V^T t) */
static void scatter(oat_cuda *cuda) {
  const oat_cuda_system *s = &cuda->system;
  const size_t n = cuda->n;
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaMemcpyAsync(s->z, s->e, n * sizeof *s->z, cudaMemcpyDeviceToDevice, cuda->session->stream),
                   "a copy");
  }
  for (size_t item = 0; item < cuda->blocks; item++) {
    multiply_v(cuda, OAT_PLAIN, oat_cuda_rows_of(cuda, item), v_of(cuda, item), -1, s->t, 1, s->z + item * cuda->block);
  }
  if (oat_cuda_fine(cuda)) {
    weigh_each<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, s->w, s->z, s->z);
  }
}

/* z = P^-1 e, and the numbers that follow from it. */
static void precondition(oat_cuda *cuda, oat_iterate *out) {
  const oat_cuda_system *s = &cuda->system;
  take_point(cuda);
  if (oat_cuda_fine(cuda)) {
    weigh_each<<<grid_of(cuda->n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(cuda->n, s->w, s->e, s->z);
  }
  out->whole = dot(cuda, s->e, s->z);
  gather(cuda);
  scatter(cuda);
  out->ez = dot(cuda, s->e, s->z);
}

oatgp_status oat_cuda_system_step(oat_device *device, double length, oat_iterate *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  const oat_cuda_system *s = &cuda->system;
  walk<<<grid_of(cuda->n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(cuda->n, length, s->p, s->cp, s->x, s->e);
  out->q = dot(cuda, cuda->r, s->x) + dot(cuda, s->e, s->x);
  precondition(cuda, out);
  return oat_cuda_end(cuda);
}

/* ---- the traces ------------------------------------------------------------------------------------------------ */

/* Rows of a block that are worked on together: a side of tiles. */
struct slice {
  size_t item, offset, first, rows; /* offset in the block; first of all rows; 0 rows: past the end of the last block */
};

static size_t tile_of(const oat_cuda *cuda) { return least(OAT_CUDA_TRACED, cuda->block); }

static size_t slices_of(const oat_cuda *cuda) { return cuda->blocks * over(cuda->block, tile_of(cuda)); }

static slice slice_at(const oat_cuda *cuda, size_t number) {
  const size_t tile = tile_of(cuda), each = over(cuda->block, tile), item = number / each,
               offset = number % each * tile;
  const size_t rows = oat_cuda_rows_of(cuda, item);
  return {item, offset, item * cuda->block + offset, offset < rows ? least(tile, rows - offset) : 0};
}

static oat_const_view v_slice(oat_cuda *cuda, const slice &a) {
  return {v_of(cuda, a.item) + a.offset, a.rows, cuda->system.given.sparse.k, cuda->ld};
}

static oat_const_view u_slice(const oat_cuda *cuda, const slice &a) {
  const size_t k = cuda->system.given.sparse.k;
  return {cuda->system.u + a.item * cuda->ld * k + a.offset, a.rows, k, cuda->ld};
}

/* sums[c] += by_c sum_i w_i a_ic^2, by NULL for 1; a block of threads has a column. */
__global__ void __launch_bounds__(OAT_CUDA_THREADS)
    add_squares(size_t rows, const double *a, size_t ld, const double *w, const double *by, double *sums) {
  __shared__ double room[OAT_CUDA_THREADS];
  const size_t c = blockIdx.x;
  double sum = 0;
  for (size_t i = threadIdx.x; i < rows; i += OAT_CUDA_THREADS) {
    const double own = a[i + c * ld];
    sum = fma(w[i] * own, own, sum);
  }
  room[threadIdx.x] = sum;
  for (int half = OAT_CUDA_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) {
      room[threadIdx.x] += room[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    sums[c] += (by != nullptr ? by[c] : 1) * room[0];
  }
}

/* G of a tile, its squares, and its part of T. */
static void add_tile(oat_cuda *cuda, const slice &i, const slice &j, bool first) {
  const oat_cuda_system *s = &cuda->system;
  const size_t n = cuda->n, k = s->given.sparse.k, tile = tile_of(cuda);
  const oat_view g = {s->tile, i.rows, j.rows, tile};
  oat_cuda_cross(cuda, s->kernel, {cuda->x + i.first, i.rows, n}, {cuda->x + j.first, j.rows, n}, g.a, g.ld, i.rows);
  oat_cuda_gemm(cuda, -1, v_slice(cuda, i), OAT_PLAIN, v_slice(cuda, j), OAT_TRANSPOSED, 1, g);
  if (oat_cuda_fine(cuda)) {
    add_squares<<<(unsigned)j.rows, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(i.rows, g.a, g.ld, s->w + i.first,
                                                                                  s->w + j.first, s->squares);
  }
  oat_cuda_gemm(cuda, 1, oat_as_const(g), OAT_PLAIN, u_slice(cuda, j), OAT_PLAIN, first ? 0 : 1,
                {s->traced, i.rows, k, tile});
}

/* With T of the slice complete. */
static void add_slice(oat_cuda *cuda, const slice &i) {
  const oat_cuda_system *s = &cuda->system;
  const size_t k = s->given.sparse.k, tile = tile_of(cuda);
  oat_cuda_gemm(cuda, 1, u_slice(cuda, i), OAT_TRANSPOSED, {s->traced, i.rows, k, tile}, OAT_PLAIN, 1,
                oat_square(s->ut, k));
  if (oat_cuda_fine(cuda)) {
    add_squares<<<(unsigned)k, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(i.rows, s->traced, tile, s->w + i.first,
                                                                             nullptr, s->tw);
  }
}

/* Of the first slices of rows, and so many tiles of each. False if it was given up. */
static bool add_tiles(oat_cuda *cuda, size_t height, size_t width) {
  const oat_cuda_system *s = &cuda->system;
  const size_t k = s->given.sparse.k;
  bool whole = true;
  take_point(cuda);
  oat_cuda_clear(cuda, tile_of(cuda) + k + k * k, s->squares); /* and tw, ut */
  for (size_t row = 0; row < height && whole && oat_cuda_fine(cuda); row++) {
    const slice i = slice_at(cuda, row);
    for (size_t column = 0; i.rows > 0 && column < width; column++) {
      const slice j = slice_at(cuda, column);
      if (j.rows > 0) {
        add_tile(cuda, i, j, column == 0);
      }
    }
    if (i.rows > 0) {
      add_slice(cuda, i);
      whole = go_on(cuda, "determinant", i.first + i.rows);
    }
  }
  return whole;
}

static double sum_of(size_t n, const double *a) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += a[i];
  }
  return sum;
}

oatgp_status oat_cuda_system_traces(oat_device *device, oat_trace_sums *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t k = cuda->system.given.sparse.k, tile = tile_of(cuda);
  const bool whole = add_tiles(cuda, slices_of(cuda), slices_of(cuda));
  oat_cuda_download(cuda, tile + k + k * k, cuda->system.squares, cuda->back);
  const oatgp_status status = oat_cuda_end(cuda);
  const double *tw = cuda->back + tile, *ut = tw + k;
  *out = {};
  if (status == OATGP_OK) {
    *out = {sum_of(tile, cuda->back), sum_of(k, tw), 0, oat_dot(k * k, ut, ut)};
    for (size_t i = 0; i < k; i++) {
      out->ut += ut[i * (k + 1)];
    }
  }
  return status == OATGP_OK && !whole ? OATGP_STOPPED : status;
}

/* U = D^-1 V^T LB^-T, block by block. */
static void make_u(oat_cuda *cuda) {
  const oat_cuda_system *s = &cuda->system;
  const size_t k = s->given.sparse.k;
  const oat_cuda_triangle b = oat_cuda_take_lb(cuda, k, s->given.lb);
  for (size_t item = 0; item < cuda->blocks && oat_cuda_fine(cuda); item++) {
    double *u = s->u + item * cuda->ld * k;
    oat_cuda_check(cuda,
                   cudaMemcpyAsync(cuda->t, v_of(cuda, item), cuda->ld * k * sizeof *u, cudaMemcpyDeviceToDevice,
                                   cuda->session->stream),
                   "a copy");
    oat_cuda_solve(cuda, b, OAT_TRANSPOSED, oat_cuda_view(cuda, cuda->t, k), oat_cuda_view(cuda, u, k));
    oat_cuda_scale_rows(cuda, oat_cuda_rows_of(cuda, item), k, s->w + item * cuda->block, u, u);
  }
}

/* With V in place, U is made if there is enough memory. */
static void make_traces(oat_cuda *cuda) {
  oat_cuda_system *s = &cuda->system;
  const size_t k = s->given.sparse.k, tile = tile_of(cuda), all = cuda->blocks * cuda->ld;
  const size_t sums = tile + k + k * k, room = tile * tile + tile * k + sums;
  const double bytes = ((double)all * (double)k + (double)room) * sizeof(double),
               v = (double)all * (double)k * sizeof(double);
  if (!cuda->keeps || k == 0 || bytes + v > (double)cuda->config.memory ||
      bytes > SPARE * (double)oat_cuda_free_bytes(cuda)) {
    return;
  }
  s->u = oat_cuda_take_doubles(cuda, all, k);
  s->tile = oat_cuda_take_doubles(cuda, room, 1);
  s->traced = s->tile + tile * tile;
  s->squares = s->traced + tile * k;
  s->tw = s->squares + tile;
  s->ut = s->tw + k;
  if (oat_cuda_fine(cuda)) {
    make_u(cuda);
  }
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static void take_vectors(oat_cuda *cuda, const oat_system *system) {
  oat_cuda_system *s = &cuda->system;
  const size_t n = cuda->n;
  for (double *memory : {s->w, s->products, s->u, s->tile}) {
    oat_cuda_give(cuda, memory);
  }
  *s = {};
  s->given = *system;
  s->given.sparse.stamp = STAMP;
  s->w = oat_cuda_take_doubles(cuda, 6 * n + system->sparse.k + cuda->d, 1);
  s->products = oat_cuda_take_doubles(cuda, slab_of(n), split_of(n));
  double **const vectors[] = {&s->x, &s->e, &s->z, &s->p, &s->cp};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    *vectors[i] = s->w + (1 + i) * n;
  }
  s->t = s->w + 6 * n;
  oat_cuda_clear(cuda, 6 * n, s->w);
  s->kernel = oat_cuda_take_kernel(cuda, &s->given.sparse.cov, s->t + system->sparse.k);
}

/* sum 1 / n_i in the order of the rows. */
static double sum_weights(const oat_cuda *cuda, double tau) {
  const oat_row_block all = oat_rows_block(cuda->rows, cuda->n, 0);
  double sum = 0;
  for (size_t i = 0; i < all.n; i++) {
    sum += 1 / oat_block_noise(&all, tau, i);
  }
  return sum;
}

oatgp_status oat_cuda_system_open(oat_device *device, oat_system *system, oat_iterate *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  oat_cuda_system *s = &cuda->system;
  const size_t n = cuda->n;
  cuda->cached = 0;
  take_vectors(cuda, system);
  system->weights = sum_weights(cuda, system->sparse.tau);
  if (oat_cuda_fine(cuda)) {
    take_w<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(
        n, oat_cuda_noise_of(cuda, system->sparse.tau, 0), s->w);
    oat_cuda_check(cuda,
                   cudaMemcpyAsync(s->e, cuda->r, n * sizeof *s->e, cudaMemcpyDeviceToDevice, cuda->session->stream),
                   "a copy");
  }
  out->q = 0;
  precondition(cuda, out);
  if (system->traces) {
    make_traces(cuda);
  }
  system->traces = s->u != NULL;
  return oat_cuda_end(cuda);
}

/* ---- its cost -------------------------------------------------------------------------------------------------- */

/* Seconds of the second of two runs: the first loads what is needed. */
static double seconds_of(oat_cuda *cuda, void (*run)(oat_cuda *cuda)) {
  double began = 0;
  for (int i = 0; i < 2; i++) {
    began = oat_seconds();
    run(cuda);
    if (oat_cuda_fine(cuda)) {
      oat_cuda_check(cuda, cudaStreamSynchronize(cuda->session->stream), "a computation");
    }
  }
  return oat_seconds() - began;
}

/* x is not touched by a product that goes to cp. */
static void probe_product(oat_cuda *cuda) { multiply_slab(cuda, 0, cuda->system.w, cuda->system.cp); }

static void probe_traces(oat_cuda *cuda) { add_tiles(cuda, 1, PROBED); }

oatgp_status oat_cuda_system_cost(oat_device *device, double *product, double *traces) {
  oat_cuda *cuda = oat_cuda_of(device);
  const double n = (double)cuda->n;
  size_t columns = 0;
  for (size_t i = 0; i < least(PROBED, slices_of(cuda)); i++) {
    columns += slice_at(cuda, i).rows;
  }
  *product = seconds_of(cuda, probe_product) * n / (double)slab_of(cuda->n);
  *traces = cuda->system.u != NULL
                ? seconds_of(cuda, probe_traces) * n / (double)columns * n / (double)slice_at(cuda, 0).rows
                : 0;
  return oat_cuda_end(cuda);
}
