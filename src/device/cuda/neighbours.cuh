/* Knots and neighbours on the GPU: what the files neighbours*.cu share. src/device/cpu/neighbours.c has the formulas.
 *
 * A block of threads has a row. The kernel between the row and its neighbours and the products of their rows of V are
 * computed tile by tile in shared memory, and so is the factor of C. Matrices of all rows are stored row after row, so
 * that a neighbour's row of V is read as a whole.
 *
 * Instead of w_i and rho_i, the rows y_i = (w_i, rho_i) / sqrt(D_i) are kept: all sums of products are then elements of
 * Y^T Y. */
#ifndef OAT_DEVICE_CUDA_NEIGHBOURS_CUH
#define OAT_DEVICE_CUDA_NEIGHBOURS_CUH

#include "device/cuda/profiles.cuh"

enum {
  THREADS = 64, /* of a row */
  WARP = 32,
  COLUMNS = 32,  /* of V or inputs at a time in shared memory */
  SIDE = 4,      /* of a tile of C */
  GATHER = 256,  /* threads that gather a row */
  BLOCKS = 4096, /* of threads that share out the rows in the gradient */
  MOST = OAT_CUDA_MOST_NEIGHBOURS
};

/* Behind the sums of the inputs, those of the gradient: of g k, g dk / d log shape and dn. */
enum { PAIRS, SHAPE, DN, FURTHER }; /* fewer than OAT_CUDA_SCALARS */
/* Sums of the value. */
enum { LOG_D, ONE_OVER_D, LIFTED, WITHOUT, LIFT, VALUE_SUMS };

static inline size_t packed(size_t m) { return m * (m + 1) / 2; }

/* The inputs and results of the rows. */
struct near_rows {
  size_t n, k;
  int most, width;
  oat_cuda_kernel kernel;
  oat_cuda_noise noise;
  const double *x, *r, *v;
  const uint32_t *list;
  double *y, *b, *d, *lift, *factor; /* factor: or NULL where no gradient follows */
  double *a, *z;                     /* of the gradient */
};

/* The shared memory for one row. The matrix is the lower triangle over the neighbours and the row behind them. */
struct desk {
  int m, points, side; /* neighbours, and the row; that in whole tiles */
  int ld;              /* of c */
  double *c;           /* side x ld */
  double *strip;       /* side x (COLUMNS + 1): some columns of V or inputs */
  double *more;        /* further room */
  uint32_t *who;       /* points: which rows */
};

__device__ __forceinline__ int whole(int points) { return (points + SIDE - 1) / SIDE * SIDE; }

/* Doubles of shared memory. */
static inline size_t desk_room(size_t most, size_t further) {
  const size_t side = (most + 1 + SIDE - 1) / SIDE * SIDE;
  return side * (side + 1) + side * (COLUMNS + 1) + further;
}

/* All threads must call this and the functions below. */
__device__ __forceinline__ desk sit_down(const near_rows &at, size_t row, double *shared, uint32_t *who) {
  desk t;
  const int most = whole(at.most + 1);
  t.m = row < (size_t)at.most ? (int)row : at.most;
  t.points = t.m + 1;
  t.side = whole(t.points);
  t.ld = most + 1;
  t.c = shared;
  t.strip = t.c + most * (most + 1);
  t.more = t.strip + most * (COLUMNS + 1);
  t.who = who;
  __syncthreads();
  for (int a = threadIdx.x; a < t.points; a += THREADS) {
    who[a] = a < t.m ? at.list[row * at.most + a] : (uint32_t)row;
  }
  __syncthreads();
  return t;
}

/* strip_ac = from[who_a * step + (first + c) * next]; 0 where there is nothing. */
__device__ __forceinline__ void load_strip(const desk &t, const double *from, size_t step, size_t next, size_t first,
                                           int count) {
  __syncthreads();
  for (int at = threadIdx.x; at < t.side * COLUMNS; at += THREADS) {
    const int a = at / COLUMNS, c = at % COLUMNS;
    t.strip[a * (COLUMNS + 1) + c] = a < t.points && c < count ? from[t.who[a] * step + (first + c) * next] : 0;
  }
  __syncthreads();
}

/* A function of each tile's first row and column, in the lower triangle. */
template <typename F>
__device__ __forceinline__ void over_tiles(const desk &t, F function) {
  const int tiles = t.side / SIDE;
  for (int at = threadIdx.x; at < tiles * (tiles + 1) / 2; at += THREADS) {
    int i = (int)((sqrtf(8.0f * at + 1) - 1) / 2);
    i += (i + 1) * (i + 2) / 2 <= at;
    i -= i * (i + 1) / 2 > at;
    function(i * SIDE, (at - i * (i + 1) / 2) * SIDE);
  }
}

/* c += by the columns of the strip: TERM(sum, x, y, column). */
template <typename F>
__device__ __forceinline__ void add_strip(const desk &t, int count, F term) {
  over_tiles(t, [&](int row, int column) {
    double sum[SIDE][SIDE];
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
#pragma unroll
      for (int i = 0; i < SIDE; i++) {
        sum[j][i] = t.c[row + i + (column + j) * t.ld];
      }
    }
    for (int c = 0; c < count; c++) {
      double x[SIDE], y[SIDE];
#pragma unroll
      for (int i = 0; i < SIDE; i++) {
        x[i] = t.strip[(row + i) * (COLUMNS + 1) + c];
        y[i] = t.strip[(column + i) * (COLUMNS + 1) + c];
      }
#pragma unroll
      for (int j = 0; j < SIDE; j++) {
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
          sum[j][i] = term(sum[j][i], x[i], y[j], c);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
#pragma unroll
      for (int i = 0; i < SIDE; i++) {
        t.c[row + i + (column + j) * t.ld] = sum[j][i];
      }
    }
  });
}

/* c <- squared distances */
__device__ __forceinline__ void make_distances(const near_rows &at, const desk &t) {
  for (int i = threadIdx.x; i < t.side * t.ld; i += THREADS) {
    t.c[i] = 0;
  }
  for (int first = 0; first < at.kernel.d; first += COLUMNS) {
    const int count = min((int)COLUMNS, at.kernel.d - first);
    const double *scale = at.kernel.scale + first;
    load_strip(t, at.x, 1, at.n, first, count);
    add_strip(t, count, [&](double sum, double x, double y, int c) {
      const double u = (x - y) * scale[c];
      return fma(u, u, sum);
    });
  }
  __syncthreads();
}

/* A function of each element of the lower triangle. */
template <typename F>
__device__ __forceinline__ void over_pairs(const desk &t, F function) {
  for (int i = threadIdx.x; i < t.points * t.points; i += THREADS) {
    const int a = i % t.points, b = i / t.points;
    if (a >= b) {
      function(a, b, t.c[a + b * t.ld]);
    }
  }
}

/* b <- L^-T b, m numbers; L_ia = l(i, a) below the diagonal, `inverse` of its diagonal. One warp. */
template <typename F>
__device__ __forceinline__ void solve_back(int m, const double *inverse, double *b, F l) {
  for (int a = m - 1; a >= 0; a--) {
    const double value = b[a] * inverse[a];
    __syncwarp();
    for (int j = threadIdx.x; j < a; j += WARP) {
      b[j] = fma(-l(a, j), value, b[j]);
    }
    if (threadIdx.x == 0) {
      b[a] = value;
    }
    __syncwarp();
  }
}

/* b <- L^-1 b, likewise. */
template <typename F>
__device__ __forceinline__ void solve(int m, const double *inverse, double *b, F l) {
  for (int a = 0; a < m; a++) {
    const double value = b[a] * inverse[a];
    __syncwarp();
    for (int j = a + 1 + threadIdx.x; j < m; j += WARP) {
      b[j] = fma(-l(j, a), value, b[j]);
    }
    if (threadIdx.x == 0) {
      b[a] = value;
    }
    __syncwarp();
  }
}

/* The sum or the largest over a block of threads, in all of them; the number of threads is a power of two. */
template <bool LARGEST>
__device__ double over_block(double value, double *room) {
  __syncthreads();
  room[threadIdx.x] = value;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) {
      const double other = room[threadIdx.x + half];
      room[threadIdx.x] = LARGEST ? fmax(room[threadIdx.x], other) : room[threadIdx.x] + other;
    }
  }
  __syncthreads();
  return room[0];
}

/* What a row gathers from the rows that have it as a neighbour. */
struct gathering {
  size_t n, k, step; /* rows; step of y */
  int most;
  const size_t *start, *entry;
  const double *a, *b, *z, *y;
};

near_rows oat_cuda_near_rows_of(const oat_cuda *cuda, const oat_cuda_kernel &kernel, const oat_sparse *sparse);
/* V, and b, D and y of all rows. The scalars of the value are in parts behind what else comes back. */
near_rows oat_cuda_make_near_rows(oat_cuda *cuda, const oat_sparse *sparse);
static inline size_t scalars_at(const near_rows &at) { return (at.k + at.width) * (at.k + at.width); }
/* Adds the parts of the scalars, and reports trouble with neighbours. */
void oat_cuda_take_near_scalars(oat_cuda *cuda, const double *parts, double *out);
/* to[j + i * ld_to] = from[i + j * ld_from] for i < rows; 0 from `from_rows` on. */
void oat_cuda_turn_rows(oat_cuda *cuda, size_t rows, size_t from_rows, size_t columns, const double *from,
                        size_t ld_from, double *to, size_t ld_to);
/* products <- a b^T + beta products over `part` rows for each part, rows after each other in a and b. */
void oat_cuda_add_products(oat_cuda *cuda, size_t k, const double *a, const double *b, size_t part, double beta);

#endif
