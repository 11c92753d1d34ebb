/* Shared by the files of the CUDA device. They form a separate shared object, which the library opens when a GPU is
 * requested (opening.c): the library itself needs no CUDA.
 *
 * Rows are on the GPU from `load` on. Blocks of rows are processed one after the other, each by a few launches that
 * fill the GPU: the kernel matrix, V by products with the inverted diagonal blocks of L, sums by products. Only sums of
 * K x K numbers or fewer come back. Sums of many terms are computed in parts whose number depends only on the data and
 * are added in order, never by atomic additions, so that each run has the same bits.
 *
 * A failed call is recorded (`trouble`), and later calls do nothing. An operation ends with oat_cuda_end, which waits
 * for the GPU and reports the failure. */
#ifndef OAT_CUDA_H
#define OAT_CUDA_H

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

extern "C" {
#include "device/cuda/opening.h"
#include "device/device.h"
#include "rows/layout.h"
#include "util/context.h"
}

enum {
  OAT_CUDA_LEAF = 128,      /* order of the blocks on the diagonal of L that are inverted */
  OAT_CUDA_THREADS = 128,   /* rows of a block of threads, where a thread has a row */
  OAT_CUDA_TILE = 16,       /* points z at a time, there */
  OAT_CUDA_PARTS = 128,     /* of a sum over the rows of a block */
  OAT_CUDA_SCALARS = 8,     /* sums of such parts at a time */
  OAT_CUDA_CHUNK = 8,       /* inputs at a time in the sums of the kernel's adjoint */
  OAT_CUDA_SEGMENT = 1024,  /* rows of a part of these */
  OAT_CUDA_STAGED = 4096,   /* most knots whose L goes to the GPU by way of memory that is not paged */
  OAT_CUDA_RIGHT_PARTS = 8, /* of a sum of right sides */
  OAT_CUDA_PRODUCTS = 64,   /* most parts of a product over the rows of a block */
  OAT_CUDA_PANEL = 128,     /* candidates for a knot at a time */
  OAT_CUDA_TRACED = 4096    /* rows and columns of a tile of the traces, at most */
};

/* What is opened once and used by one device after another. */
struct oat_cuda_session {
  int gpu;
  cudaDeviceProp facts;
  cudaStream_t stream;
  cudaStream_t aside;           /* for work that can be done in parallel */
  cudaEvent_t made[2], used[2]; /* of two buffers that `stream` fills in turn and `aside` uses */
  cublasHandle_t blas;
  cusolverDnHandle_t solver;
  oat_cuda_session *next;
};

/* Points on the GPU: coordinate j of point i is a[i + j * ld]. */
struct oat_cuda_points {
  const double *a;
  size_t n, ld;
};

/* A kernel as functions on the GPU see it. */
struct oat_cuda_kernel {
  int profile; /* oat_kernel_id of the one without ARD */
  double sigma2, shape;
  int d;
  const double *scale; /* d: 1 / lengthscale; on the GPU */
};

/* The exact GP: exact.cu. */
struct oat_cuda_exact {
  double *s;       /* n x n */
  double *solved;  /* n x (2 + p): L^-1 R, then S^-1 R; then a */
  double *c;       /* n x 2: L^-1 (r - H coefficient); the diagonal of S^-1 */
  double *panel;   /* n x a block of columns */
  double *inverse; /* n x a block: the inverted blocks on the diagonal of L, and room for making them */
  double *moments, *scalars, *sums, *joined; /* of the adjoint of a panel, in parts; their sums */
  size_t segments;
  double *gram, *scale;
  void *room, *host_room; /* of the factorisation */
  size_t room_bytes, host_bytes;
  int *info;
  bool inverted;
};

/* Neighbours: neighbours*.cu. Matrices of rows have them row after row. */
struct oat_cuda_near {
  size_t most;           /* of a row; 0: there are none */
  size_t part;           /* rows of a part of products over all rows */
  uint32_t *list;        /* n x most: which rows, nearest first */
  size_t *start, *entry; /* n + 1, n x most: where in `entry` the places of `list` are that name a row */
  double *v;             /* n x k */
  double *y;             /* n x (k + 1 + p): (w, rho) / sqrt(D) */
  double *a;             /* n x k, for gradients; before that B^-1 y */
  double *b, *z;         /* n x most; z times sqrt(D) */
  double *d, *lift; /* n: D; what was added to the diagonal of C, as a share of the prior variance, infinite where that
                       did not help */
  double *factor;   /* of C, packed */
  double *sums;     /* of the gradient, in parts */
  oat_near_trouble trouble;
  bool latest; /* that is of the latest pass, which was not the processor's */
};

/* Candidates for a knot, a panel at a time: gains.cu. */
struct oat_cuda_gains_room {
  double *e;               /* ld x panel */
  double *points, *v, *s2; /* panel x d, panel x k, panel */
  double *parts, *sums;    /* of the panel */
};

/* The nearest points of rows: nearest.cu. NULL before the first search. */
struct oat_cuda_nearest {
  double *distance, *totals; /* n, and a sum of each block of threads */
  size_t *which;             /* n */
  double *points, *unit;     /* room x d; d times 1 */
  size_t room;
  int *changed;
};

/* The system behind the exact evidence: system.cu. NULL before it is opened. */
struct oat_cuda_system {
  oat_system given;
  oat_cuda_kernel kernel, point;  /* with lengthscales of its own; with those of what makes V */
  double *w, *x, *e, *z, *p, *cp; /* n: 1 / n_i; of conjugate gradients */
  double *t;                      /* k */
  double *products;               /* of a slab of rows, in parts */
  double *u;                      /* of the traces: as V; or NULL */
  double *tile, *traced;          /* of G; T of its rows */
  double *squares, *tw, *ut;      /* one behind the other: sums of each column of a tile, of T, and U T */
};

struct oat_cuda {
  oat_device base;
  oatgp_context *ctx;
  oat_device_config config;
  const oat_rows *rows;
  size_t n, d, p;
  size_t block, blocks,
      ld; /* rows at a time, how many such blocks, and rows of a block with what is added to it: all of them 0 */
  size_t parts, part; /* of a product over the rows of a block, and rows of each */
  oat_cuda_session *session;
  oatgp_status status; /* of the first call that failed */
  char trouble[512];
  oat_device *cpu; /* for what is not here; opened when it is asked for */

  void *taken; /* memory on the GPU, in a list */
  double *x, *r, *noise_scale, *noise_add;
  double *v;        /* V of all blocks, or of one */
  bool keeps;       /* of all */
  bool negative;    /* a site has a negative variance */
  uint64_t cached;  /* the stamp of the point whose V that is; 0: none */
  double *t, *u;    /* ld x k each; u for what is not collapsed, and for predictions */
  double *products; /* parts x k x k */
  double *point; /* z, L, 1 / lengthscales: they go there at once, and stay for the next operation at the same point */
  double *z, *l, *scale;            /* k x d, k x k, d: in `point` */
  uint64_t pointed;                 /* the stamp of what is there; 0: none */
  double *inverse, *lb, *inverse_b; /* what oat_cuda_invert_leaves makes of L; k x k; the same of it */
  double *squares;                  /* 2 x k x k and inverted leaves, for making a product */
  double *given;                    /* vectors and a k x k matrix of an operation, at once, too */
  double *row[6];                   /* ld each */
  double *sums;                     /* small sums in parts */
  double *moments;                  /* of the kernel's adjoint, in parts */
  size_t segments;                  /* of a block */
  double *right, *gram;             /* k x (1 + p) and (1 + p) x (1 + p) in parts */
  double *weighted;                 /* ld x (1 + p): W R of a block */
  double *scalars;                  /* OAT_CUDA_PARTS x OAT_CUDA_SCALARS: of the rows of a block */
  double *result;                   /* what comes back: the sums of an operation, one behind the other */
  double *back, *stage;             /* on the host, in memory that is not paged: what comes back, and what goes there */
  double *lengths;                  /* d + p, on the host */
  oat_cuda_exact exact;
  oat_cuda_near near;
  oat_cuda_gains_room gains;
  oat_cuda_nearest nearest;
  oat_cuda_system system;
};

static inline oat_cuda *oat_cuda_of(oat_device *device) { return (oat_cuda *)device; }

/* ---- session.cu: calls that may fail, memory ------------------------------------------------------------------- */

bool oat_cuda_fine(const oat_cuda *cuda); /* nothing has failed yet */
void oat_cuda_check(oat_cuda *cuda, cudaError_t error, const char *what);
void oat_cuda_check_blas(oat_cuda *cuda, cublasStatus_t status, const char *what);
void oat_cuda_check_solver(oat_cuda *cuda, cusolverStatus_t status, const char *what);
/* Waits; OATGP_OK, or the first failure with its sentence in the context. */
oatgp_status oat_cuda_end(oat_cuda *cuda);
/* Memory until the device gets other rows. NULL after a failure. */
void *oat_cuda_take(oat_cuda *cuda, size_t count, size_t size);
double *oat_cuda_take_doubles(oat_cuda *cuda, size_t rows, size_t columns);
void oat_cuda_give(oat_cuda *cuda, void *memory); /* before that */
void oat_cuda_give_all(oat_cuda *cuda);
size_t oat_cuda_free_bytes(oat_cuda *cuda);
void oat_cuda_upload(oat_cuda *cuda, size_t count, const double *from, double *to);
void oat_cuda_download(oat_cuda *cuda, size_t count, const double *from, double *to); /* waits */
void oat_cuda_clear(oat_cuda *cuda, size_t count, double *at);
/* Arrays of doubles that go to the GPU together. */
struct oat_cuda_part {
  const double *from; /* count x columns, ld apart */
  size_t count, columns, ld;
};
/* Puts them one behind the other at `to`, by way of `stage`. The GPU must have nothing to do. */
void oat_cuda_pack(oat_cuda *cuda, size_t parts, const oat_cuda_part *part, double *to);
const char *oat_cuda_open_session(oat_cuda_session **out); /* NULL, or why there is none */
void oat_cuda_close_session(oat_cuda_session *session);

/* ---- device.cu ------------------------------------------------------------------------------------------------- */

extern const oat_device_table oat_cuda_table;

/* The same device on the processor, for operations that the GPU does not do. NULL after a failure, which oat_cuda_end
 * reports. */
oat_device *oat_cuda_host(oat_cuda *cuda);

/* An operation of the table, on the processor. */
template <auto OPERATION>
struct oat_cuda_on_host;

template <typename... A, oatgp_status (*oat_device_table::*OPERATION)(oat_device *, A...)>
struct oat_cuda_on_host<OPERATION> {
  static oatgp_status call(oat_device *device, A... a) {
    oat_cuda *cuda = oat_cuda_of(device);
    oat_device *host = oat_cuda_host(cuda);
    if (host == NULL) { /* whose sentence is in the context */
      const oatgp_status status = cuda->status;
      cuda->status = OATGP_OK;
      return status;
    }
    cuda->near.latest = false;
    return (host->table->*OPERATION)(host, a...);
  }
};

/* Rows of block `item`. */
static inline size_t oat_cuda_rows_of(const oat_cuda *cuda, size_t item) {
  const size_t left = cuda->n - item * cuda->block;
  return left < cuda->block ? left : cuda->block;
}
static inline oat_cuda_points oat_cuda_inputs(const oat_cuda *cuda, size_t item) {
  return {cuda->x + item * cuda->block, oat_cuda_rows_of(cuda, item), cuda->n};
}
/* Of the rows of a block: column `j` of r. */
static inline const double *oat_cuda_r(const oat_cuda *cuda, size_t item, size_t j) {
  return cuda->r + item * cuda->block + j * cuda->n;
}
/* The noise of a row, on the GPU. */
struct oat_cuda_noise {
  const double *scale, *add; /* or NULL */
  double tau2;
  __device__ double scale_of(size_t i) const { return scale != nullptr ? scale[i] : 1; }
  __device__ double of(size_t i) const { return tau2 * scale_of(i) + (add != nullptr ? add[i] : 0); }
};
oat_cuda_noise oat_cuda_noise_of(const oat_cuda *cuda, double tau, size_t item);
/* The kernel; 1 / lengthscales go to `scale` on the GPU. */
oat_cuda_kernel oat_cuda_take_kernel(oat_cuda *cuda, const oat_covariance *cov, double *scale);

/* ---- kernel.cu: the kernel matrix and its adjoint -------------------------------------------------------------- */

/* k[i + c * ld] = k(x_i, z_c); rows from x.n to `height` are 0. */
void oat_cuda_cross(oat_cuda *cuda, const oat_cuda_kernel &kernel, oat_cuda_points x, oat_cuda_points z, double *k,
                    size_t ld, size_t height);

/* What the adjoint of a block adds to, in parts: sums of h (x - z) and of h (x - z)^2 for each point z and input; sum g
 * k and sum g dk / d log shape. */
struct oat_cuda_adjoint {
  double *moments; /* segments x 2 x d x points */
  double *scalars; /* 2, or NULL if nobody asks */
  double *room;    /* for these */
  size_t segments, points;
};
/* g = w_i (t_ic + r_i le_c), w or r NULL for 1 or 0; t becomes g times the slope. Then its moments are added. */
struct oat_cuda_side {
  double *t;
  size_t ld;
  const double *w, *r, *le;
  double common; /* times everything */
};
void oat_cuda_cross_adjoint(oat_cuda *cuda, const oat_cuda_kernel &kernel, oat_cuda_points x, oat_cuda_points z,
                            const oat_cuda_side &side, const oat_cuda_adjoint &sums, cudaStream_t stream);
/* Doubles of the moments for m points z and rows of one block. */
static inline size_t oat_cuda_moments_count(size_t segments, size_t m, size_t d) { return segments * 2 * m * d; }
/* out <- the sums of all parts: 2 x d x points, then the two scalars, 0 if nobody asked. */
void oat_cuda_join_moments(oat_cuda *cuda, size_t d, const oat_cuda_adjoint &sums, double *out);
static inline size_t oat_cuda_joined_count(size_t d, size_t points) { return 2 * d * points + 2; }
/* What these are for the gradient; on the host. `signal` may be NULL. */
void oat_cuda_use_moments(const oat_covariance *cov, size_t points, const double *joined, oat_kernel_gradient *gradient,
                          double *signal);

/* ---- algebra.cu ------------------------------------------------------------------------------------------------ */

void oat_cuda_gemm(oat_cuda *cuda, double alpha, oat_const_view a, oat_op op_a, oat_const_view b, oat_op op_b,
                   double beta, oat_view c);
/* inverse <- the inverted blocks on the diagonal of L (leading dimension ldl), each with leading dimension `ld`,
 * `stride` apart. */
void oat_cuda_invert_leaves(oat_cuda *cuda, size_t k, const double *l, size_t ldl, double *inverse, size_t ld,
                            size_t stride);
static inline size_t oat_cuda_leaves_room(size_t k) {
  return (k + OAT_CUDA_LEAF - 1) / OAT_CUDA_LEAF * OAT_CUDA_LEAF * OAT_CUDA_LEAF;
}
/* out <- b op(L)^-1; b is destroyed. */
struct oat_cuda_triangle {
  size_t k;
  const double *l, *inverse;
};
void oat_cuda_solve(oat_cuda *cuda, const oat_cuda_triangle &triangle, oat_op op, oat_view b, oat_view out);
/* products (parts of k x k) <- alpha a^T b + beta products over the rows of a block; unless `whole`, of no meaning
 * above the diagonal. */
void oat_cuda_add_products(oat_cuda *cuda, double alpha, size_t k, const double *a, const double *b, double beta,
                           bool whole);
/* out <- their sum; 0 above the diagonal unless `whole`. */
void oat_cuda_join_products(oat_cuda *cuda, size_t k, double *out, bool whole);
/* q_i = sum_c a_ic b_ic */
void oat_cuda_row_dots(oat_cuda *cuda, size_t n, size_t k, const double *a, const double *b, double *q);
/* out <- diag(by) a */
void oat_cuda_scale_rows(oat_cuda *cuda, size_t n, size_t k, const double *by, const double *a, double *out);
/* parts (each a.columns x y.columns) += sum over n rows of a_ic y_ij. */
void oat_cuda_add_right(oat_cuda *cuda, size_t n, oat_const_view a, oat_const_view y, bool first, double *parts,
                        cudaStream_t stream);
/* out <- the sum of so many parts, `count` doubles each, `stride` apart. */
void oat_cuda_join_parts(oat_cuda *cuda, size_t count, size_t parts, size_t stride, const double *from, double *out);

/* ---- blocks of rows: blocks.cu --------------------------------------------------------------------------------- */

/* At the beginning of what makes V: uploads the point. */
oat_cuda_kernel oat_cuda_take_point(oat_cuda *cuda, const oat_sparse *sparse);
oat_cuda_triangle oat_cuda_take_lb(oat_cuda *cuda, size_t k, const double *lb);
/* V of a block: ld x k. */
double *oat_cuda_v(oat_cuda *cuda, const oat_cuda_kernel &kernel, const oat_sparse *sparse, size_t item);
void oat_cuda_keep_v(oat_cuda *cuda, const oat_sparse *sparse);
static inline oat_view oat_cuda_view(const oat_cuda *cuda, double *a, size_t k) { return {a, cuda->ld, k, cuda->ld}; }
static inline oat_const_view oat_cuda_const_view(const oat_cuda *cuda, const double *a, size_t k) {
  return {a, cuda->ld, k, cuda->ld};
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

oatgp_status oat_cuda_sums(oat_device *device, const oat_sparse *sparse, oat_sums *out);
oatgp_status oat_cuda_gradient_sums(oat_device *device, const oat_sparse *sparse, const oat_adjoint *adjoint,
                                    oat_gradient_sums *out);
oatgp_status oat_cuda_predictions(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                  const oat_row_predictions *out);
oatgp_status oat_cuda_means(oat_device *device, const oat_sparse *sparse, const double *weights, double scale,
                            double *mean);
oatgp_status oat_cuda_exact_sums(oat_device *device, const oat_exact *exact, oat_exact_sums *out);
oatgp_status oat_cuda_exact_quadratic(oat_device *device, const double *coefficient, double *quadratic);
oatgp_status oat_cuda_exact_gradient(oat_device *device, const oat_exact *exact, oat_exact_gradient *out);
oatgp_status oat_cuda_exact_left_out(oat_device *device, const oat_gls *gls, const oat_response *response,
                                     double *density);
oatgp_status oat_cuda_factor(oat_device *device, const oat_covariance *cov, const double *diagonal, double *l,
                             size_t *pivot);
void oat_cuda_take_exact(oat_cuda *cuda);
oatgp_status oat_cuda_gains(oat_device *device, const oat_sparse *sparse, oat_candidates *out);
void oat_cuda_take_gains(oat_cuda *cuda);
oatgp_status oat_cuda_left_out(oat_device *device, const oat_sparse *sparse, oat_left_out *out);
oatgp_status oat_cuda_system_open(oat_device *device, oat_system *system, oat_iterate *out);
oatgp_status oat_cuda_system_product(oat_device *device, double turn, double *curvature);
oatgp_status oat_cuda_system_step(oat_device *device, double length, oat_iterate *out);
oatgp_status oat_cuda_system_traces(oat_device *device, oat_trace_sums *out);
oatgp_status oat_cuda_system_cost(oat_device *device, double *product, double *traces);
oatgp_status oat_cuda_pivots_begin(oat_device *device, const oat_covariance *cov, size_t most, oat_pivots **out);
oatgp_status oat_cuda_pivots_next(oat_pivots *pivots, oat_pivot *out);
void oat_cuda_pivots_end(oat_pivots *pivots);
oatgp_status oat_cuda_nearest_points(oat_device *device, oat_nearest *out);
oatgp_status oat_cuda_centres(oat_device *device, const size_t *which, size_t k, double *size, double *mean);
/* After exact_quadratic: S^-1, its diagonal behind `c`, and solved and a with it, unless they are there. */
void oat_cuda_invert(oat_cuda *cuda);
/* The sites of rows with answers, which may have moved: at the beginning of what depends on them. */
void oat_cuda_take_sites(oat_cuda *cuda);
oatgp_status oat_cuda_sites_begin(oat_device *device, const oat_response *response, double level);
oatgp_status oat_cuda_sites_move(oat_device *device, double step, bool accept);
oatgp_status oat_cuda_sites_look(oat_device *device, const oat_sparse *sparse, const oat_site_q *q,
                                 oat_site_look *look);
oatgp_status oat_cuda_exact_sites_look(oat_device *device, oat_site_look *look);

/* ---- neighbours*.cu -------------------------------------------------------------------------------------------- */

/* What the gradient has on the GPU already. */
struct oat_cuda_near_adjoint {
  oat_cuda_kernel kernel;
  const double *e, *coefficient, *product;
  oat_cuda_adjoint sums;
};
void oat_cuda_take_neighbours(oat_cuda *cuda);
oatgp_status oat_cuda_find_neighbours(oat_device *device, const oat_covariance *cov, double *share);
oatgp_status oat_cuda_neighbour_sums(oat_cuda *cuda, const oat_sparse *sparse, oat_sums *out);
oatgp_status oat_cuda_neighbour_gradient(oat_cuda *cuda, const oat_sparse *sparse, const oat_cuda_near_adjoint &on_gpu,
                                         oat_gradient_sums *out);
oatgp_status oat_cuda_neighbours_left_out(oat_cuda *cuda, const oat_sparse *sparse, oat_left_out *out);

#endif
