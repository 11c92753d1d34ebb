/* The sums over rows for candidate knots: panels of candidates, with E = K(x, candidates) - V v^T for one block of rows
 * at a time.
 *
 * If V is kept, a panel goes through all blocks and its sums come back once. Otherwise all panels go through a block,
 * and its sums are added on the host. */
#include <string.h>

#include "device/cuda/cuda.h"

enum { PARTS = 16, THREADS = 128, COLUMNS = 4 }; /* of the rows of a block; a block of threads and some columns of R */

struct job {
  oat_cuda *cuda;
  oat_cuda_kernel kernel;
  const oat_sparse *sparse;
  oat_candidates *all;
  size_t width; /* sums of a candidate beside ve: ee, er, logs */
  bool logs;
};

/* Sums of a panel on the GPU, one behind the other; `width` of them for each candidate, then k for ve. */
static double *ve_of(const job &j) { return j.cuda->gains.sums + j.width * OAT_CUDA_PANEL; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

void oat_cuda_take_gains(oat_cuda *cuda) {
  oat_cuda_gains_room *g = &cuda->gains;
  const size_t k = cuda->config.max_knots, width = 3 + cuda->p;
  g->e = oat_cuda_take_doubles(cuda, cuda->ld, OAT_CUDA_PANEL);
  g->points = oat_cuda_take_doubles(cuda, cuda->d, OAT_CUDA_PANEL);
  g->v = oat_cuda_take_doubles(cuda, k, OAT_CUDA_PANEL);
  g->s2 = oat_cuda_take_doubles(cuda, 1, OAT_CUDA_PANEL);
  g->parts = oat_cuda_take_doubles(cuda, PARTS * width, OAT_CUDA_PANEL);
  g->sums = oat_cuda_take_doubles(cuda, width + k, OAT_CUDA_PANEL);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* w_i = 1 / n_i; with q = |v|^2: n_i + g_i, too. */
__global__ void take_weights(size_t n, oat_cuda_noise noise, double prior, const double *q, double *w, double *whole) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    w[i] = 1 / noise.of(i);
    if (q != nullptr) {
      whole[i] = noise.of(i) + fmax(prior - q[i], 0.0);
    }
  }
}

/* Of a panel in a block of rows. */
struct panel_rows {
  size_t n, ld;
  const double *e, *w, *whole, *s2; /* whole is NULL without the log penalty */
  const double *r;
  size_t ldr, count; /* candidates */
  int columns;       /* of r */
  bool first;        /* the contents of the parts are meaningless */
};

/* log(n_i + g_i) - log(n_i + g_i - E_i^2 / s2), no less than n_i being left. */
__device__ __forceinline__ double drop_of(double e, double s2, double whole, double w) {
  const double t = fmin(e * e / s2, whole - 1 / w);
  return log1p(t / (whole - t));
}

/* parts[part][sum][candidate] += sums over a part of the rows; a block of threads has a candidate, and some columns of
 * r. The sums: ee, er of each column, logs. */
__global__ void __launch_bounds__(THREADS) add_candidates(panel_rows at, double *parts) {
  __shared__ double room[THREADS];
  const size_t c = blockIdx.x, part = blockIdx.y, each = (at.n + PARTS - 1) / PARTS, to = min(at.n, (part + 1) * each);
  const int begin = blockIdx.z * COLUMNS, count = min((int)COLUMNS, at.columns - begin);
  const double *e = at.e + c * at.ld, s2 = at.s2[c];
  double sums[COLUMNS + 2] = {0}; /* er, then ee, logs */
  for (size_t i = part * each + threadIdx.x; i < to; i += THREADS) {
    const double own = e[i], w = at.w[i], weighted = w * own;
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      if (j < count) {
        sums[j] = fma(weighted, at.r[i + (size_t)(begin + j) * at.ldr], sums[j]);
      }
    }
    if (begin == 0) {
      sums[COLUMNS] = fma(weighted, own, sums[COLUMNS]);
      sums[COLUMNS + 1] += at.whole != nullptr ? drop_of(own, s2, at.whole[i], w) : 0;
    }
  }
#pragma unroll
  for (int j = 0; j < COLUMNS + 2; j++) {
    const bool wanted = j < COLUMNS ? j < count : begin == 0; /* the same for all threads */
    if (wanted) {
      __syncthreads();
      room[threadIdx.x] = sums[j];
      for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
          room[threadIdx.x] += room[threadIdx.x + half];
        }
      }
      const size_t place = j < COLUMNS ? 1 + begin + j : j == COLUMNS ? 0 : 1 + at.columns;
      double *out = parts + (part * (2 + at.columns) + place) * OAT_CUDA_PANEL + c;
      if (threadIdx.x == 0) {
        *out = (at.first ? 0 : *out) + room[0];
      }
    }
  }
}

__global__ void join_parts(size_t count, const double *parts, double *out) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < count) {
    double sum = 0;
    for (int part = 0; part < PARTS; part++) {
      sum += parts[part * count + i];
    }
    out[i] = sum;
  }
}

/* ---- panels ---------------------------------------------------------------------------------------------------- */

static unsigned grid_of(size_t n) { return (unsigned)((n + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS); }

/* Some columns of candidates that are m apart on the host, and PANEL on the GPU. */
static void upload_columns(oat_cuda *cuda, size_t count, size_t columns, const double *from, size_t ld, double *to) {
  if (oat_cuda_fine(cuda) && columns > 0) {
    oat_cuda_check(cuda,
                   cudaMemcpy2DAsync(to, OAT_CUDA_PANEL * sizeof *to, from, ld * sizeof *to, count * sizeof *to,
                                     columns, cudaMemcpyHostToDevice, cuda->session->stream),
                   "a copy to it");
  }
}

/* Its sums over the rows of a block are added to the parts; v is V of the block. */
static void add_block(const job &j, const double *v, size_t item, size_t count, bool first) {
  oat_cuda *cuda = j.cuda;
  const oat_cuda_gains_room *g = &cuda->gains;
  const size_t n = oat_cuda_rows_of(cuda, item), k = j.sparse->k, ld = cuda->ld;
  double *q = cuda->row[0], *w = cuda->row[1], *whole = cuda->row[2];
  if (j.logs) {
    oat_cuda_row_dots(cuda, n, k, v, v, q);
  }
  oat_cuda_cross(cuda, j.kernel, oat_cuda_inputs(cuda, item), {g->points, count, OAT_CUDA_PANEL}, g->e, ld, ld);
  if (k > 0) {
    oat_cuda_gemm(cuda, -1, {v, n, k, ld}, OAT_PLAIN, {g->v, count, k, OAT_CUDA_PANEL}, OAT_TRANSPOSED, 1,
                  {g->e, n, count, ld});
  }
  if (!oat_cuda_fine(cuda)) {
    return;
  }
  const panel_rows at = {
      n,    ld, g->e, w, j.logs ? whole : nullptr, g->s2, oat_cuda_r(cuda, item, 0), cuda->n, count, (int)(1 + cuda->p),
      first};
  const cudaStream_t stream = cuda->session->stream;
  take_weights<<<grid_of(n), OAT_CUDA_THREADS, 0, stream>>>(n, oat_cuda_noise_of(cuda, j.sparse->tau, item),
                                                            j.kernel.sigma2, j.logs ? q : nullptr, w, whole);
  add_candidates<<<dim3((unsigned)count, PARTS, (unsigned)((cuda->p + COLUMNS) / COLUMNS)), THREADS, 0, stream>>>(
      at, g->parts);
  oat_cuda_scale_rows(cuda, n, count, w, g->e, g->e);
  oat_cuda_gemm(cuda, 1, {v, n, k, ld}, OAT_TRANSPOSED, {g->e, n, count, ld}, OAT_PLAIN, first ? 0 : 1,
                {ve_of(j), k, count, k});
}

static void upload_panel(const job &j, size_t from, size_t count) {
  const oat_cuda_gains_room *g = &j.cuda->gains;
  const oat_candidates *all = j.all;
  upload_columns(j.cuda, count, j.cuda->d, all->points.a + from, all->points.ld, g->points);
  upload_columns(j.cuda, count, j.sparse->k, all->v + from, all->points.n, g->v);
  oat_cuda_upload(j.cuda, count, all->s2 + from, g->s2);
}

static void add_to(size_t count, const double *from, double *to) {
  for (size_t i = 0; i < count; i++) {
    to[i] += from[i];
  }
}

/* Adds the parts to the sums on the host. */
static void download_panel(const job &j, size_t from, size_t count) {
  oat_cuda *cuda = j.cuda;
  const oat_candidates *all = j.all;
  const size_t m = all->points.n, k = j.sparse->k, sums = j.width * OAT_CUDA_PANEL;
  if (oat_cuda_fine(cuda)) {
    join_parts<<<grid_of(sums), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(sums, cuda->gains.parts,
                                                                              cuda->gains.sums);
  }
  oat_cuda_download(cuda, sums + k * count, cuda->gains.sums, cuda->back);
  if (!oat_cuda_fine(cuda)) {
    return;
  }
  const double *back = cuda->back, *er = back + OAT_CUDA_PANEL;
  add_to(count, back, all->ee + from);
  for (size_t c = 0; c <= cuda->p; c++) {
    add_to(count, er + c * OAT_CUDA_PANEL, all->er + from + c * m);
  }
  if (j.logs) {
    add_to(count, er + (1 + cuda->p) * OAT_CUDA_PANEL, all->logs + from);
  }
  add_to(k * count, back + sums, all->ve + from * k);
}

/* All candidates, in blocks of rows from `first` to `end`: those that are kept, or one whose V is given. */
static void add_panels(const job &j, size_t first, size_t end, const double *v) {
  const size_t m = j.all->points.n;
  for (size_t from = 0; from < m && oat_cuda_fine(j.cuda); from += OAT_CUDA_PANEL) {
    const size_t count = least(OAT_CUDA_PANEL, m - from);
    upload_panel(j, from, count);
    for (size_t item = first; item < end; item++) {
      add_block(j, v != nullptr ? v : oat_cuda_v(j.cuda, j.kernel, j.sparse, item), item, count, item == first);
    }
    download_panel(j, from, count);
    if (v == nullptr) {
      oat_tell_progress(j.cuda->ctx, "gains", from + count, m);
    }
  }
}

oatgp_status oat_cuda_gains(oat_device *device, const oat_sparse *sparse, oat_candidates *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  cuda->cached = cuda->cached == sparse->stamp ? cuda->cached : 0;
  const job j = {cuda,        oat_cuda_take_point(cuda, sparse),  sparse, out,
                 3 + cuda->p, sparse->penalty == OAT_PENALISE_LOG};
  const bool kept = cuda->keeps && sparse->stamp != 0;
  memset(out->ee, 0, oat_candidates_count(out->points.n, sparse->k, cuda->p) * sizeof(double));
  for (size_t item = 0; item < cuda->blocks && oat_cuda_fine(cuda); item++) {
    const double *v = oat_cuda_v(cuda, j.kernel, sparse, item);
    if (!kept) {
      add_panels(j, item, item + 1, v);
      oat_tell_progress(cuda->ctx, "gains", item + 1, cuda->blocks);
    }
  }
  if (kept) {
    oat_cuda_keep_v(cuda, sparse);
    add_panels(j, 0, cuda->blocks, nullptr);
  }
  return oat_cuda_end(cuda);
}
