/* Knots and neighbours: the lists of neighbours, V, and the value. The processor searches for neighbours. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/neighbours.cuh"

extern "C" {
#include "device/cpu/near.h"
}

#define MOST_LIFTS 1e6 /* rounding errors of C that may be added to its diagonal */

/* ---- memory ---------------------------------------------------------------------------------------------------- */
/* Rows of the matrices of all rows: as many as products in parts, over all rows or over those of the last block, look
 * at. */
static size_t height_of(const oat_cuda *cuda) {
  const size_t parts = cuda->parts * cuda->near.part, blocks = (cuda->blocks - 1) * cuda->block + cuda->ld;
  return parts > blocks ? parts : blocks;
}

void oat_cuda_take_neighbours(oat_cuda *cuda) {
  oat_cuda_near *near = &cuda->near;
  const size_t n = cuda->n, k = cuda->config.max_knots, others = n > 0 ? n - 1 : 0;
  *near = {};
  near->most = !cuda->config.fits ? 0 : cuda->config.neighbours < others ? cuda->config.neighbours : others;
  if (near->most == 0) {
    return;
  }
  near->part = (n + cuda->parts - 1) / cuda->parts;
  const size_t height = height_of(cuda);
  near->list = (uint32_t *)oat_cuda_take(cuda, n * near->most, sizeof *near->list);
  near->start = (size_t *)oat_cuda_take(cuda, n + 1, sizeof *near->start);
  near->entry = (size_t *)oat_cuda_take(cuda, n * near->most, sizeof *near->entry);
  near->v = oat_cuda_take_doubles(cuda, height, k);
  near->y = oat_cuda_take_doubles(cuda, height, k + 1 + cuda->p);
  near->b = oat_cuda_take_doubles(cuda, n, near->most);
  near->d = oat_cuda_take_doubles(cuda, n, 1);
  near->lift = oat_cuda_take_doubles(cuda, n, 1);
  near->a = oat_cuda_take_doubles(cuda, n, k);
  near->z = oat_cuda_take_doubles(cuda, n, near->most);
  near->factor = oat_cuda_take_doubles(cuda, n, packed(near->most));
  near->sums = oat_cuda_take_doubles(cuda, BLOCKS, cuda->d + FURTHER);
}

/* ---- who is near ----------------------------------------------------------------------------------------------- */

static void copy(oat_cuda *cuda, void *to, const void *from, size_t bytes) {
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cuda->session->stream),
                   "a copy to it");
  }
}

/* The lists of the search, turned round and on the GPU. */
static oatgp_status take_lists(oat_cuda *cuda, const oat_covariance *cov, const uint32_t *list, double *share) {
  const oat_near_lists lists = {cuda->n, cuda->near.most, list, NULL};
  const size_t n = cuda->n, entries = n * lists.most;
  size_t *start = (size_t *)malloc((n + 1 + entries) * sizeof *start);
  double *room = (double *)malloc(cov->d * sizeof *room);
  oatgp_status status = OATGP_OK;
  if (start == NULL || room == NULL) {
    status = oat_no_memory(cuda->ctx, (n + 1 + entries) * sizeof *start);
  } else {
    oat_near_turn(&lists, start, start + n + 1);
    if (share != NULL) {
      const oat_near_inputs inputs = {cuda->rows->x, 1, n};
      oat_near_shares(&lists, cov, &inputs, room, share);
    }
    copy(cuda, cuda->near.list, list, entries * sizeof *list);
    copy(cuda, cuda->near.start, start, (n + 1) * sizeof *start);
    copy(cuda, cuda->near.entry, start + n + 1, entries * sizeof *start);
    status = oat_cuda_end(cuda);
  }
  free(start);
  free(room);
  return status;
}

oatgp_status oat_cuda_find_neighbours(oat_device *device, const oat_covariance *cov, double *share) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t count = cuda->n * cuda->near.most;
  oat_near *search = NULL;
  if (count == 0) {
    return OATGP_OK;
  }
  uint32_t *list = (uint32_t *)malloc(count * sizeof *list);
  oatgp_status status = list == NULL ? oat_no_memory(cuda->ctx, count * sizeof *list) : OATGP_OK;
  if (status == OATGP_OK) {
    status = oat_near_open_for(cuda->ctx, {cuda->rows->x, cuda->n, cuda->n}, cov, cuda->config.where.threads, &search);
  }
  if (status == OATGP_OK) {
    status = oat_near_before(search, cuda->near.most, list);
  }
  if (status == OATGP_OK) {
    status = take_lists(cuda, cov, list, share);
  }
  oat_near_close(search);
  free(list);
  return status;
}

/* ---- V, row after row ------------------------------------------------------------------------------------------ */

/* to[j + i * ld_to] = from[i + j * ld_from] for i < rows; 0 from `from_rows` on. */
__global__ void turn(size_t rows, size_t from_rows, size_t columns, const double *from, size_t ld_from, double *to,
                     size_t ld_to) {
  __shared__ double tile[WARP][WARP + 1];
  const size_t row = blockIdx.x * (size_t)WARP, column = blockIdx.y * (size_t)WARP;
  for (int j = threadIdx.y; j < WARP; j += 8) {
    const size_t i = row + threadIdx.x, c = column + j;
    tile[j][threadIdx.x] = i < from_rows && c < columns ? from[i + c * ld_from] : 0;
  }
  __syncthreads();
  for (int i = threadIdx.y; i < WARP; i += 8) {
    const size_t r = row + i, c = column + threadIdx.x;
    if (r < rows && c < columns) {
      to[c + r * ld_to] = tile[threadIdx.x][i];
    }
  }
}

static unsigned tiles_of(size_t n) { return (unsigned)((n + WARP - 1) / WARP); }

void oat_cuda_turn_rows(oat_cuda *cuda, size_t rows, size_t from_rows, size_t columns, const double *from,
                        size_t ld_from, double *to, size_t ld_to) {
  if (oat_cuda_fine(cuda)) {
    turn<<<dim3(tiles_of(rows), tiles_of(columns)), dim3(WARP, 8), 0, cuda->session->stream>>>(
        rows, from_rows, columns, from, ld_from, to, ld_to);
  }
}

static void make_v(oat_cuda *cuda, const oat_cuda_kernel &kernel, size_t k) {
  const oat_cuda_near *near = &cuda->near;
  for (size_t item = 0; item < cuda->blocks; item++) {
    const size_t n = oat_cuda_rows_of(cuda, item), first = item * cuda->block, last = item + 1 == cuda->blocks;
    oat_cuda_cross(cuda, kernel, oat_cuda_inputs(cuda, item), {cuda->z, k, k}, cuda->t, cuda->ld, cuda->ld);
    oat_cuda_solve(cuda, {k, cuda->l, cuda->inverse}, OAT_TRANSPOSED, oat_cuda_view(cuda, cuda->t, k),
                   oat_cuda_view(cuda, cuda->u, k));
    oat_cuda_turn_rows(cuda, last ? cuda->ld : n, n, k, cuda->u, cuda->ld, near->v + first * k, k);
  }
}

/* ---- a row and its neighbours ---------------------------------------------------------------------------------- */

near_rows oat_cuda_near_rows_of(const oat_cuda *cuda, const oat_cuda_kernel &kernel, const oat_sparse *sparse) {
  const oat_cuda_near *near = &cuda->near;
  return {cuda->n,
          sparse->k,
          (int)near->most,
          (int)(1 + cuda->p),
          kernel,
          oat_cuda_noise_of(cuda, sparse->tau, 0),
          cuda->x,
          cuda->r,
          near->v,
          near->list,
          near->y,
          near->b,
          near->d,
          near->lift,
          sparse->gradient ? near->factor : nullptr,
          near->a,
          near->z};
}

/* c <- the covariance of the neighbours and the row that the knots leave, plus their noise. Only the neighbours get the
 * lift. */
template <int PROFILE>
__device__ __forceinline__ void make_c(const near_rows &at, const desk &t, double lift) {
  make_distances(at, t);
  over_pairs(t, [&](int a, int b, double &c) {
    c = profile<PROFILE>(c, at.kernel.sigma2, at.kernel.shape).k;
    if (a == b) {
      c += at.noise.of(t.who[a]) + (a < t.m ? lift : 0);
    }
  });
  for (size_t first = 0; first < at.k; first += COLUMNS) {
    const int count = (int)min((size_t)COLUMNS, at.k - first);
    load_strip(t, at.v, at.k, 1, first, count);
    add_strip(t, count, [](double sum, double x, double y, int) { return fma(-x, y, sum); });
  }
  __syncthreads();
}

/* The first m columns of the factor; what is on the diagonal goes to `inverse`, inverted. False: a pivot is not
 * positive. */
__device__ __forceinline__ bool factorise(const desk &t, double *inverse) {
  for (int j = 0; j < t.m; j++) {
    const double pivot = t.c[j + j * t.ld];
    if (!(pivot > 0 && isfinite(pivot))) {
      return false; /* all threads see the same */
    }
    const double one = 1 / sqrt(pivot);
    if (threadIdx.x == 0) {
      inverse[j] = one;
    }
    for (int i = j + 1 + threadIdx.x; i < t.points; i += THREADS) {
      t.c[i + j * t.ld] *= one;
    }
    __syncthreads();
    for (int l = j + 1 + threadIdx.x / 8; l < t.points; l += THREADS / 8) {
      const double by = t.c[l + j * t.ld];
      for (int i = l + threadIdx.x % 8; i < t.points; i += 8) {
        t.c[i + l * t.ld] = fma(-by, t.c[i + j * t.ld], t.c[i + l * t.ld]);
      }
    }
    __syncthreads();
  }
  return true;
}

/* C with its border, lifted until it has a factor. Returns the lift, or infinity; `left` is k_ii - |v_i|^2 + n_i. */
template <int PROFILE>
__device__ __forceinline__ double factorise_lifted(const near_rows &at, const desk &t, double *inverse, double *left) {
  const double rounding = (double)(at.k + t.m) * DBL_EPSILON * at.kernel.sigma2;
  for (double lift = 0; lift <= MOST_LIFTS * rounding; lift = lift > 0 ? 10 * lift : rounding) {
    make_c<PROFILE>(at, t, lift);
    *left = t.c[t.m + t.m * t.ld];
    __syncthreads();
    if (factorise(t, inverse)) {
      return lift;
    }
    __syncthreads();
  }
  return HUGE_VAL;
}

/* The factor of C, packed by rows, with the inverted diagonal; 0 where there is none. */
__device__ __forceinline__ void keep_factor(const near_rows &at, const desk &t, size_t row, const double *inverse,
                                            bool done) {
  double *factor = at.factor + row * ((size_t)at.most * (at.most + 1) / 2);
  for (int i = threadIdx.x; i < t.m * t.m; i += THREADS) {
    const int a = i / t.m, c = i % t.m;
    if (c <= a) {
      factor[a * (a + 1) / 2 + c] = !done ? 0 : a == c ? inverse[a] : t.c[a + c * t.ld];
    }
  }
}

/* b, D, y of a row. */
template <int PROFILE>
__global__ void __launch_bounds__(THREADS) value_rows(near_rows at) {
  extern __shared__ double shared[];
  __shared__ uint32_t who[MOST + 1];
  __shared__ double inverse[MOST], b[MOST];
  const size_t row = blockIdx.x, step = at.k + at.width;
  const desk t = sit_down(at, row, shared, who);
  double left;
  const double lift = factorise_lifted<PROFILE>(at, t, inverse, &left), noise = at.noise.of(row);
  const bool done = isfinite(lift);
  const double most = fmax(done ? t.c[t.m + t.m * t.ld] : left, fmax(noise, DBL_EPSILON * at.kernel.sigma2)),
               root = 1 / sqrt(most);
  for (int a = threadIdx.x; a < t.m; a += THREADS) {
    b[a] = done ? t.c[t.m + a * t.ld] : 0;
  }
  __syncthreads();
  if (done && threadIdx.x < WARP) {
    solve_back(t.m, inverse, b, [&](int i, int a) { return t.c[i + a * t.ld]; });
  }
  __syncthreads();
  for (size_t c = threadIdx.x; c < at.k; c += THREADS) {
    double w = at.v[row * at.k + c];
    for (int a = 0; a < t.m; a++) {
      w = fma(-b[a], at.v[who[a] * at.k + c], w);
    }
    at.y[row * step + c] = root * w;
  }
  for (int j = threadIdx.x; j < at.width; j += THREADS) {
    const double *r = at.r + j * at.n;
    double rho = r[row];
    for (int a = 0; a < t.m; a++) {
      rho = fma(-b[a], r[who[a]], rho);
    }
    at.y[row * step + at.k + j] = root * rho;
  }
  for (int a = threadIdx.x; a < at.most; a += THREADS) {
    at.b[row * at.most + a] = a < t.m ? b[a] : 0;
  }
  if (threadIdx.x == 0) {
    at.d[row] = most;
    at.lift[row] = lift / at.kernel.sigma2;
  }
  if (at.factor != nullptr) {
    keep_factor(at, t, row, inverse, done);
  }
}

/* ---- the value ------------------------------------------------------------------------------------------------- */

__global__ void add_scalars(size_t n, const double *d, const double *lift, double *parts) {
  __shared__ double room[OAT_CUDA_THREADS];
  double sums[VALUE_SUMS] = {0};
  for (size_t i = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x; i < n;
       i += (size_t)OAT_CUDA_THREADS * OAT_CUDA_PARTS) {
    sums[LOG_D] += log(d[i]);
    sums[ONE_OVER_D] += 1 / d[i];
    sums[WITHOUT] += isinf(lift[i]) ? 1 : 0;
    if (lift[i] > 0 && !isinf(lift[i])) {
      sums[LIFTED] += 1;
      sums[LIFT] = fmax(sums[LIFT], lift[i]);
    }
  }
  for (int j = 0; j < VALUE_SUMS; j++) {
    const double all = j == LIFT ? over_block<true>(sums[j], room) : over_block<false>(sums[j], room);
    if (threadIdx.x == 0) {
      parts[blockIdx.x * OAT_CUDA_SCALARS + j] = all;
    }
  }
}

void oat_cuda_add_products(oat_cuda *cuda, size_t k, const double *a, const double *b, size_t part, double beta) {
  const double one = 1;
  if (oat_cuda_fine(cuda) && k > 0) {
    oat_cuda_check_blas(cuda,
                        cublasDgemmStridedBatched_64(
                            cuda->session->blas, CUBLAS_OP_N, CUBLAS_OP_T, (int64_t)k, (int64_t)k, (int64_t)part, &one,
                            a, (int64_t)k, (long long)(part * k), b, (int64_t)k, (long long)(part * k), &beta,
                            cuda->products, (int64_t)k, (long long)(k * k), (int64_t)cuda->parts),
                        "a product");
  }
}

static void launch_values(oat_cuda *cuda, const near_rows &at, double *scalars) {
  const size_t bytes = desk_room(cuda->near.most, 0) * sizeof(double);
  if (!oat_cuda_fine(cuda)) {
    return;
  }
#define VALUES(P)                                                                                                    \
  oat_cuda_check(cuda, cudaFuncSetAttribute(value_rows<P>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), \
                 "a launch");                                                                                        \
  value_rows<P><<<(unsigned)at.n, THREADS, bytes, cuda->session->stream>>>(at)
  FOR_PROFILE(at.kernel, VALUES)
#undef VALUES
  add_scalars<<<OAT_CUDA_PARTS, OAT_CUDA_THREADS, 0, cuda->session->stream>>>(at.n, at.d, at.lift, scalars);
}

near_rows oat_cuda_make_near_rows(oat_cuda *cuda, const oat_sparse *sparse) {
  const oat_cuda_kernel kernel = oat_cuda_take_point(cuda, sparse);
  const near_rows at = oat_cuda_near_rows_of(cuda, kernel, sparse);
  const size_t step = at.k + at.width;
  make_v(cuda, kernel, at.k);
  oat_cuda_clear(cuda, (cuda->parts * cuda->near.part - at.n) * step, cuda->near.y + at.n * step);
  launch_values(cuda, at, cuda->result + scalars_at(at));
  return at;
}

void oat_cuda_take_near_scalars(oat_cuda *cuda, const double *parts, double *out) {
  for (size_t j = 0; j < VALUE_SUMS; j++) {
    out[j] = 0;
    for (size_t part = 0; part < OAT_CUDA_PARTS; part++) {
      const double own = parts[part * OAT_CUDA_SCALARS + j];
      out[j] = j != LIFT ? out[j] + own : own > out[j] ? own : out[j];
    }
  }
  cuda->near.trouble = {(size_t)out[LIFTED], (size_t)out[WITHOUT], out[LIFT]};
  cuda->near.latest = true;
}

/* From Y^T Y, whose side is k + width. */
static void lay_out(const double *products, size_t k, size_t width, oat_sums *out) {
  const size_t side = k + width;
  for (size_t c = 0; c < k; c++) {
    for (size_t i = 0; i < k; i++) {
      out->vwv[i + c * k] = i < c ? 0 : products[i + c * side];
    }
  }
  for (size_t j = 0; j < width; j++) {
    for (size_t c = 0; c < k; c++) {
      out->vwr[c + j * k] = products[c + (k + j) * side];
    }
    for (size_t i = 0; i < width; i++) {
      out->rwr[i + j * width] = products[k + i + (k + j) * side];
    }
  }
}

oatgp_status oat_cuda_neighbour_sums(oat_cuda *cuda, const oat_sparse *sparse, oat_sums *out) {
  const near_rows at = oat_cuda_make_near_rows(cuda, sparse);
  const size_t side = at.k + at.width, products = scalars_at(at);
  oat_cuda_add_products(cuda, side, at.y, at.y, cuda->near.part, 0);
  oat_cuda_join_products(cuda, side, cuda->result, true);
  oat_cuda_download(cuda, products + OAT_CUDA_PARTS * OAT_CUDA_SCALARS, cuda->result, cuda->back);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    double scalars[VALUE_SUMS];
    oat_cuda_take_near_scalars(cuda, cuda->back + products, scalars);
    lay_out(cuda->back, at.k, at.width, out);
    memset(out->scalar, 0, OAT_SCALARS * sizeof *out->scalar);
    out->scalar[OAT_LOG_LAMBDA] = scalars[LOG_D];
    out->scalar[OAT_SUM_W] = scalars[ONE_OVER_D];
  }
  return status;
}
