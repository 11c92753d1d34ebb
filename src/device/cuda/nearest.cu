/* Finds the nearest of some points to each row, and the means of the rows that share one. */
#include <cub/device/device_radix_sort.cuh>
#include <math.h>

#include "device/cuda/profiles.cuh"

/* ---- the nearest point ----------------------------------------------------------------------------------------- */

enum {
  HOST_WORK = 48
}; /* points times inputs for which moving the numbers of a row takes longer than the processor needs for them */

/* The known points of the rows, and the results. */
struct nearest_rows {
  double *distance;
  size_t *which;
  size_t before;
  double *totals; /* of each block of threads */
  int *changed;   /* becomes 1 if a row has another point */
};

/* A thread has a row. Equal points have equal distances, to the last bit, and the first stays. */
__global__ void __launch_bounds__(OAT_CUDA_THREADS)
    find_nearest(oat_cuda_kernel unit, oat_cuda_points x, oat_cuda_points z, nearest_rows rows) {
  __shared__ near_shared shared;
  __shared__ double room[OAT_CUDA_THREADS];
  const size_t row = blockIdx.x * (size_t)OAT_CUDA_THREADS + threadIdx.x;
  const bool is_row = row < x.n;
  const size_t old = is_row ? rows.which[row] : 0;
  double distance = rows.before > 0 && is_row ? rows.distance[row] : INFINITY, s[OAT_CUDA_TILE];
  size_t which = rows.before > 0 ? old : 0;
  for (size_t first = 0; first < z.n; first += OAT_CUDA_TILE) {
    distances(unit, x, z, row, first, shared, s);
#pragma unroll
    for (int c = 0; c < OAT_CUDA_TILE; c++) {
      if (first + c < z.n && s[c] < distance) {
        distance = s[c];
        which = rows.before + first + c;
      }
    }
  }
  if (is_row) {
    rows.distance[row] = distance;
    rows.which[row] = which;
    if (which != old) {
      *rows.changed = 1;
    }
  }
  room[threadIdx.x] = is_row ? distance : 0;
  for (int half = OAT_CUDA_THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) {
      room[threadIdx.x] += room[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    rows.totals[blockIdx.x] = room[0];
  }
}

__global__ void fill_ones(int d, double *scale) {
  for (int j = threadIdx.x; j < d; j += blockDim.x) {
    scale[j] = 1;
  }
}

static size_t blocks_of(size_t n) { return (n + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS; }

/* Memory for that, which is kept because k-means calls it repeatedly. */
static void take_room(oat_cuda *cuda, size_t points) {
  oat_cuda_nearest *s = &cuda->nearest;
  if (s->which == NULL) {
    s->distance = oat_cuda_take_doubles(cuda, cuda->n, 1);
    s->totals = oat_cuda_take_doubles(cuda, blocks_of(cuda->n), 1);
    s->unit = oat_cuda_take_doubles(cuda, cuda->d, 1);
    s->changed = (int *)oat_cuda_take(cuda, 1, sizeof *s->changed);
    s->which = (size_t *)oat_cuda_take(cuda, cuda->n, sizeof *s->which);
  }
  if (points > s->room) {
    oat_cuda_give(cuda, s->points);
    s->points = oat_cuda_take_doubles(cuda, points, cuda->d);
    s->room = s->points != NULL ? points : 0;
  }
}

static void copy(oat_cuda *cuda, size_t bytes, const void *from, void *to, cudaMemcpyKind kind) {
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaMemcpyAsync(to, from, bytes, kind, cuda->session->stream), "a copy");
  }
}

static void upload_search(oat_cuda *cuda, const oat_nearest *out) {
  oat_cuda_nearest *s = &cuda->nearest;
  for (size_t j = 0; j < cuda->d; j++) {
    oat_cuda_upload(cuda, out->points.n, out->points.a + j * out->points.ld, s->points + j * out->points.n);
  }
  copy(cuda, cuda->n * sizeof *s->which, out->which, s->which, cudaMemcpyHostToDevice);
  if (out->before > 0) {
    oat_cuda_upload(cuda, cuda->n, out->distance, s->distance);
  }
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaMemsetAsync(s->changed, 0, sizeof *s->changed, cuda->session->stream), "clearing memory");
  }
}

/* The sum of the distances, block by block of threads. */
static oatgp_status download_search(oat_cuda *cuda, oat_nearest *out) {
  oat_cuda_nearest *s = &cuda->nearest;
  int changed = 0;
  oat_cuda_download(cuda, blocks_of(cuda->n), s->totals, out->distance); /* for a moment */
  out->total = 0;
  for (size_t b = 0; oat_cuda_fine(cuda) && b < blocks_of(cuda->n); b++) {
    out->total += out->distance[b];
  }
  copy(cuda, cuda->n * sizeof *s->which, s->which, out->which, cudaMemcpyDeviceToHost);
  copy(cuda, sizeof changed, s->changed, &changed, cudaMemcpyDeviceToHost);
  oat_cuda_download(cuda, cuda->n, s->distance, out->distance);
  out->changed = changed != 0;
  return oat_cuda_end(cuda);
}

oatgp_status oat_cuda_nearest_points(oat_device *device, oat_nearest *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  oat_cuda_nearest *s = &cuda->nearest;
  const size_t m = out->points.n;
  if (m * cuda->d < HOST_WORK) {
    return oat_cuda_on_host<&oat_device_table::nearest>::call(device, out);
  }
  take_room(cuda, m);
  upload_search(cuda, out);
  if (oat_cuda_fine(cuda)) {
    const oat_cuda_kernel unit = {OAT_KERNEL_se, 1, 0, (int)cuda->d, s->unit};
    const cudaStream_t stream = cuda->session->stream;
    fill_ones<<<1, 256, 0, stream>>>((int)cuda->d, s->unit);
    find_nearest<<<(unsigned)blocks_of(cuda->n), OAT_CUDA_THREADS, 0, stream>>>(
        unit, {cuda->x, cuda->n, cuda->n}, {s->points, m, m},
        {s->distance, s->which, out->before, s->totals, s->changed});
  }
  return download_search(cuda, out);
}

/* ---- means ----------------------------------------------------------------------------------------------------- */

/* Rows are sorted by their points, those of a point in their order; then a block of threads has the sums of a point. */
enum { CENTRE_THREADS = 512, CENTRE_INPUTS = 8 };

struct centre_rows {
  uint32_t *key, *row, *sorted_key, *sorted_row; /* n each */
  void *room;                                    /* of the sort */
  size_t bytes;
  double *out; /* k, then k x d */
};

__global__ void number_rows(size_t n, const size_t *which, uint32_t *key, uint32_t *row) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    key[i] = (uint32_t)which[i];
    row[i] = (uint32_t)i;
  }
}

/* How many of the sorted keys are less. */
__device__ __forceinline__ size_t count_less(size_t n, const uint32_t *key, size_t than) {
  size_t low = 0, high = n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (key[middle] < than) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(CENTRE_THREADS)
    add_centre(size_t n, int d, const double *x, const uint32_t *key, const uint32_t *row, size_t k, double *out) {
  __shared__ double room[CENTRE_THREADS];
  const size_t c = blockIdx.x, from = count_less(n, key, c), to = count_less(n, key, c + 1);
  const int begin = blockIdx.y * CENTRE_INPUTS, count = min((int)CENTRE_INPUTS, d - begin);
  const double size = (double)(to - from);
  double sum[CENTRE_INPUTS] = {0};
  for (size_t i = from + threadIdx.x; i < to; i += CENTRE_THREADS) {
    const double *own = x + row[i] + (size_t)begin * n;
#pragma unroll
    for (int j = 0; j < CENTRE_INPUTS; j++) {
      if (j < count) {
        sum[j] += own[(size_t)j * n] / size;
      }
    }
  }
#pragma unroll
  for (int j = 0; j < CENTRE_INPUTS; j++) {
    if (j < count) {
      __syncthreads();
      room[threadIdx.x] = sum[j];
      for (int half = CENTRE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
          room[threadIdx.x] += room[threadIdx.x + half];
        }
      }
      if (threadIdx.x == 0) {
        out[k + c + (size_t)(begin + j) * k] = room[0];
      }
    }
  }
  if (begin == 0 && threadIdx.x == 0) {
    out[c] = size;
  }
}

static cudaError_t sort_rows(const oat_cuda *cuda, centre_rows *r) {
  return cub::DeviceRadixSort::SortPairs(r->room, r->bytes, r->key, r->sorted_key, r->row, r->sorted_row,
                                         (int64_t)cuda->n, 0, 32, cuda->session->stream);
}

static void take_centres(oat_cuda *cuda, size_t k, centre_rows *r) {
  for (uint32_t **column : {&r->key, &r->row, &r->sorted_key, &r->sorted_row}) {
    *column = (uint32_t *)oat_cuda_take(cuda, cuda->n, sizeof **column);
  }
  r->out = oat_cuda_take_doubles(cuda, k, 1 + cuda->d);
  oat_cuda_check(cuda, sort_rows(cuda, r), "preparing a sort"); /* without room: how much it takes */
  r->room = oat_cuda_take(cuda, r->bytes, 1);
}

static void give_centres(oat_cuda *cuda, const centre_rows *r) {
  for (void *memory :
       {(void *)r->key, (void *)r->row, (void *)r->sorted_key, (void *)r->sorted_row, (void *)r->out, r->room}) {
    oat_cuda_give(cuda, memory);
  }
}

oatgp_status oat_cuda_centres(oat_device *device, const size_t *which, size_t k, double *size, double *mean) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t n = cuda->n, d = cuda->d;
  centre_rows r = {};
  take_room(cuda, 0);
  take_centres(cuda, k, &r);
  copy(cuda, n * sizeof *which, which, cuda->nearest.which, cudaMemcpyHostToDevice);
  if (oat_cuda_fine(cuda) && k > 0) {
    const cudaStream_t stream = cuda->session->stream;
    number_rows<<<(unsigned)blocks_of(n), OAT_CUDA_THREADS, 0, stream>>>(n, cuda->nearest.which, r.key, r.row);
    oat_cuda_check(cuda, sort_rows(cuda, &r), "a sort");
    add_centre<<<dim3((unsigned)k, (unsigned)((d + CENTRE_INPUTS - 1) / CENTRE_INPUTS)), CENTRE_THREADS, 0, stream>>>(
        n, (int)d, cuda->x, r.sorted_key, r.sorted_row, k, r.out);
  }
  oat_cuda_download(cuda, k, r.out, size);
  oat_cuda_download(cuda, k * d, r.out + k, mean);
  const oatgp_status status = oat_cuda_end(cuda);
  give_centres(cuda, &r);
  return status;
}
