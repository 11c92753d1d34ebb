/* The CUDA device: its memory, and the table of its operations. Operations that are not in this folder are done on the
 * processor, by the device cpu with the same rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"

#define BLOCK_DOUBLES ((size_t)1 << 25) /* of a block of V */
#define SPARE 0.9                       /* of the free memory that may be spent on keeping V */

enum {
  PRODUCTS_FROM = 192,
  MOST_ROWS = 1 << 16,
  LEAST_ROWS = 1 << 10,
  LEAST_PART = 64,
  LEAST_PARTS = 16,
  TILES = 320,
  SIDE = 128
};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void choose_block(oat_cuda *cuda) {
  const size_t k = most(cuda->config.max_knots, 1), room = most(least(BLOCK_DOUBLES / k, MOST_ROWS), LEAST_ROWS);
  const bool given =
      cuda->config.block > 0 && !cuda->config.system; /* that of a system suits the tiles of a processor */
  cuda->block = least(given ? cuda->config.block : room, cuda->n);
  cuda->blocks = (cuda->n + cuda->block - 1) / cuda->block;
  /* as many parts of products as keep the whole GPU busy */
  const size_t sides = (k + SIDE - 1) / SIDE, tiles = sides * (sides + 1) / 2;
  cuda->parts = most(least(least(most(TILES / tiles, LEAST_PARTS), OAT_CUDA_PRODUCTS), cuda->block / LEAST_PART), 1);
  cuda->part = ((cuda->block + cuda->parts - 1) / cuda->parts + 7) / 8 * 8;
  cuda->ld = cuda->parts * cuda->part;
  cuda->segments = (cuda->block + OAT_CUDA_SEGMENT - 1) / OAT_CUDA_SEGMENT;
}

static void upload_rows(oat_cuda *cuda) {
  const oat_rows *rows = cuda->rows;
  oat_cuda_upload(cuda, cuda->n * cuda->d, rows->x, cuda->x);
  if (rows->r != NULL) {
    oat_cuda_upload(cuda, cuda->n * (1 + cuda->p), rows->r, cuda->r);
  }
  if (rows->noise_scale != NULL) {
    oat_cuda_upload(cuda, cuda->n, rows->noise_scale, cuda->noise_scale);
  }
  if (rows->noise_add != NULL) {
    oat_cuda_upload(cuda, cuda->n, rows->noise_add, cuda->noise_add);
  }
}

static void take_rows(oat_cuda *cuda) {
  cuda->x = oat_cuda_take_doubles(cuda, cuda->n, cuda->d);
  cuda->r = cuda->rows->r != NULL ? oat_cuda_take_doubles(cuda, cuda->n, 1 + cuda->p) : NULL;
  cuda->noise_scale = cuda->rows->noise_scale != NULL ? oat_cuda_take_doubles(cuda, cuda->n, 1) : NULL;
  cuda->noise_add = cuda->rows->noise_add != NULL ? oat_cuda_take_doubles(cuda, cuda->n, 1) : NULL;
}

/* Of the largest product over rows: with neighbours one has all sums of the value. */
static size_t side_of(const oat_cuda *cuda) {
  return cuda->config.max_knots + (cuda->config.neighbours > 0 ? 1 + cuda->p : 0);
}

/* Doubles of what goes to the GPU at a time (blocks.cu, sums.cu), and of what comes back. */
static size_t point_count(const oat_cuda *cuda) {
  const size_t k = cuda->config.max_knots;
  return cuda->d + k * cuda->d + k * k;
}

static size_t stage_count(const oat_cuda *cuda) {
  const size_t k = cuda->config.max_knots, staged = k <= OAT_CUDA_STAGED ? k * k : 0;
  return (k + 1) * cuda->d + 2 * k + cuda->p + staged;
}

static size_t given_count(const oat_cuda *cuda) {
  const size_t k = cuda->config.max_knots;
  return 2 * k + cuda->p + (cuda->config.fits ? k * k : 0);
}

static size_t result_count(const oat_cuda *cuda) {
  const size_t k = cuda->config.max_knots;
  const size_t near =
      cuda->config.neighbours > 0 ? side_of(cuda) * side_of(cuda) + OAT_CUDA_PARTS * OAT_CUDA_SCALARS : 0;
  return most(near,
              most(oat_sums_count(k, cuda->p), oat_cuda_joined_count(cuda->d, k) + cuda->d + OAT_CUDA_SCALARS + k * k));
}

/* For operations on blocks of rows with V. */
static void take_blocks(oat_cuda *cuda) {
  const size_t k = cuda->config.max_knots, d = cuda->d, width = 1 + cuda->p;
  cuda->point = oat_cuda_take_doubles(cuda, point_count(cuda), 1);
  cuda->given = oat_cuda_take_doubles(cuda, given_count(cuda), 1);
  cuda->inverse = oat_cuda_take_doubles(cuda, oat_cuda_leaves_room(k), 1);
  cuda->t = oat_cuda_take_doubles(cuda, cuda->ld, k);
  cuda->u = oat_cuda_take_doubles(cuda, cuda->ld, k);
  for (double *&row : cuda->row) {
    row = oat_cuda_take_doubles(cuda, cuda->ld, 1);
  }
  if (cuda->config.fits) {
    cuda->result = oat_cuda_take_doubles(cuda, result_count(cuda), 1);
    cuda->products = oat_cuda_take_doubles(cuda, side_of(cuda) * side_of(cuda), cuda->parts);
    cuda->moments = oat_cuda_take_doubles(cuda, oat_cuda_moments_count(cuda->segments, k, d), 1);
    cuda->sums = oat_cuda_take_doubles(cuda, 2 * (cuda->ld / OAT_CUDA_THREADS + 1), k / OAT_CUDA_TILE + 1);
    cuda->right = oat_cuda_take_doubles(cuda, OAT_CUDA_RIGHT_PARTS * k, width);
    cuda->gram = oat_cuda_take_doubles(cuda, OAT_CUDA_RIGHT_PARTS * width, width);
    cuda->weighted = oat_cuda_take_doubles(cuda, cuda->ld, width);
    cuda->scalars = oat_cuda_take_doubles(cuda, OAT_CUDA_PARTS * OAT_CUDA_SCALARS + 2, 1);
    cuda->squares = oat_cuda_take_doubles(cuda, 2 * k * k + oat_cuda_leaves_room(k), 1);
    oat_cuda_take_gains(cuda);
  }
}

/* V of all rows if it fits the budget and the GPU, else of a block. */
static void take_v(oat_cuda *cuda) {
  const size_t k = cuda->config.max_knots, all = cuda->blocks * cuda->ld;
  const double bytes = (double)all * (double)k * sizeof(double);
  cuda->keeps = (cuda->config.fits || cuda->config.system) && cuda->near.most == 0 &&
                (cuda->config.any_memory || bytes <= (double)cuda->config.memory) &&
                bytes <= SPARE * (double)oat_cuda_free_bytes(cuda);
  cuda->v = oat_cuda_take_doubles(cuda, cuda->keeps ? all : cuda->ld, k);
}

/* Doubles of host memory for what comes back. */
static size_t back_count(const oat_cuda *cuda) {
  const size_t k = cuda->config.max_knots, width = 1 + cuda->p;
  const size_t exact = cuda->n * (3 + cuda->p) + oat_cuda_joined_count(cuda->d, cuda->n);
  const size_t fits = most(result_count(cuda), (2 + width + k) * OAT_CUDA_PANEL), system = OAT_CUDA_TRACED + k + k * k;
  return most(most(cuda->config.fits ? fits : 0, cuda->config.system ? system : 0), cuda->config.exact ? exact : 0);
}

static void drop_memory(oat_cuda *cuda) {
  oat_cuda_give_all(cuda);
  cudaFreeHost(cuda->back);
  cudaFreeHost(cuda->stage);
  free(cuda->lengths);
  cuda->back = cuda->stage = cuda->lengths = cuda->lb = NULL;
  cuda->pointed = 0;
  free(cuda->exact.host_room);
  cuda->exact = {};
  cuda->near = {};
  cuda->nearest = {};
  cuda->system = {};
  cuda->cached = 0;
}

static void take_memory(oat_cuda *cuda) {
  choose_block(cuda);
  take_rows(cuda);
  take_blocks(cuda);
  if (cuda->config.exact) {
    oat_cuda_take_exact(cuda);
  }
  oat_cuda_take_neighbours(cuda);
  take_v(cuda);
  cuda->lengths = (double *)calloc(cuda->d + cuda->p + 1, sizeof(double));
  if (oat_cuda_fine(cuda)) {
    oat_cuda_check(cuda, cudaMallocHost((void **)&cuda->back, (back_count(cuda) + 1) * sizeof(double)),
                   "taking memory of the host");
    oat_cuda_check(cuda, cudaMallocHost((void **)&cuda->stage, (stage_count(cuda) + 1) * sizeof(double)),
                   "taking memory of the host");
  }
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static void close_host(oat_cuda *cuda) {
  oat_device_close(cuda->cpu);
  cuda->cpu = NULL;
}

static void cuda_close(oat_device *device) {
  oat_cuda *cuda = oat_cuda_of(device);
  drop_memory(cuda);
  close_host(cuda);
  oat_cuda_close_session(cuda->session);
  free(cuda);
}

static oatgp_status cuda_open(oatgp_context *ctx, const oat_device_config *config, oat_device **out) {
  oat_cuda *cuda = (oat_cuda *)calloc(1, sizeof *cuda);
  if (cuda == NULL) {
    return oat_no_memory(ctx, sizeof *cuda);
  }
  const char *why = oat_cuda_open_session(&cuda->session);
  if (why != NULL) {
    free(cuda);
    return oat_fail(ctx, OATGP_ARGUMENT, "%s", why);
  }
  cuda->base.table = &oat_cuda_table;
  cuda->ctx = ctx;
  cuda->config = *config;
  *out = &cuda->base;
  return OATGP_OK;
}

static bool same_shape(const oat_cuda *cuda, const oat_rows *rows) {
  return cuda->back != NULL && cuda->n == rows->n && cuda->d == rows->d && cuda->p == rows->p &&
         (cuda->r != NULL) == (rows->r != NULL) && (cuda->noise_scale != NULL) == (rows->noise_scale != NULL) &&
         (cuda->noise_add != NULL) == (rows->noise_add != NULL);
}

static oatgp_status cuda_load(oatgp_context *ctx, oat_device *device, const oat_rows *rows) {
  oat_cuda *cuda = oat_cuda_of(device);
  const bool same = same_shape(cuda, rows);
  cuda->ctx = ctx;
  cuda->rows = rows;
  cuda->cached = cuda->pointed = 0;
  close_host(cuda);
  if (!same) {
    drop_memory(cuda);
    cuda->n = rows->n;
    cuda->d = rows->d;
    cuda->p = rows->p;
    take_memory(cuda);
  }
  upload_rows(cuda);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status != OATGP_OK) {
    drop_memory(cuda);
  }
  return status;
}

/* ---- what is done on the processor ----------------------------------------------------------------------------- */

oat_device *oat_cuda_host(oat_cuda *cuda) {
  if (cuda->cpu == NULL) {
    oat_device_config config = cuda->config;
    config.exact = false;
    config.where.device = "cpu";
    cuda->status = oat_device_open(cuda->ctx, &config, cuda->rows, &cuda->cpu);
    if (cuda->status != OATGP_OK) {
      close_host(cuda);
    }
  }
  return cuda->cpu;
}

static oat_near_trouble near_trouble(const oat_device *device) {
  const oat_cuda *cuda = (const oat_cuda *)device;
  return cuda->near.latest   ? cuda->near.trouble
         : cuda->cpu != NULL ? cuda->cpu->table->near_trouble(cuda->cpu)
                             : oat_near_trouble{};
}

static oatgp_status left_out(oat_device *device, const oat_sparse *sparse, oat_left_out *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  return cuda->near.most > 0                 ? oat_cuda_neighbours_left_out(cuda, sparse, out)
         : oat_rows_have_answers(cuda->rows) ? oat_cuda_on_host<&oat_device_table::left_out>::call(device, sparse, out)
                                             : oat_cuda_left_out(device, sparse, out);
}

static oatgp_status gains(oat_device *device, const oat_sparse *sparse, oat_candidates *out) {
  return oat_rows_have_answers(oat_cuda_of(device)->rows)
             ? oat_cuda_on_host<&oat_device_table::gains>::call(device, sparse, out)
             : oat_cuda_gains(device, sparse, out);
}

#define HOST(operation) .operation = oat_cuda_on_host<&oat_device_table::operation>::call

const oat_device_table oat_cuda_table = {
    .name = "cuda",
    .products = PRODUCTS_FROM,
    .open = cuda_open,
    .load = cuda_load,
    .close = cuda_close,
    .find_neighbours = oat_cuda_find_neighbours,
    .sums = oat_cuda_sums,
    .gradient_sums = oat_cuda_gradient_sums,
    .sites_begin = oat_cuda_sites_begin,
    .sites_look = oat_cuda_sites_look,
    .exact_sites_look = oat_cuda_exact_sites_look,
    .sites_move = oat_cuda_sites_move,
    .gains = gains,
    .predictions = oat_cuda_predictions,
    HOST(prediction_slopes),
    HOST(points_from_rows),
    HOST(point_slopes_from_rows),
    .near_trouble = near_trouble,
    HOST(joint_from_rows),
    .means = oat_cuda_means,
    .left_out = left_out,
    HOST(averages),
    HOST(joint),
    HOST(joint_with),
    .exact_sums = oat_cuda_exact_sums,
    .exact_quadratic = oat_cuda_exact_quadratic,
    .exact_gradient = oat_cuda_exact_gradient,
    .exact_left_out = oat_cuda_exact_left_out,
    .factor = oat_cuda_factor,
    HOST(factor_more),
    HOST(exact_rows),
    .system_open = oat_cuda_system_open,
    .system_product = oat_cuda_system_product,
    .system_step = oat_cuda_system_step,
    .system_traces = oat_cuda_system_traces,
    .system_cost = oat_cuda_system_cost,
    .pivots_begin = oat_cuda_pivots_begin,
    .pivots_next = oat_cuda_pivots_next,
    .pivots_end = oat_cuda_pivots_end,
    .nearest = oat_cuda_nearest_points,
    .centres = oat_cuda_centres,
};

/* ---- the functions that the library looks up in the shared object ---------------------------------------------- */

extern "C" {
/* Version and sizes of shared structures, to check that both sides are built from the same sources. */
__attribute__((visibility("default"))) const oat_device_table *oat_cuda_device(const char *version, size_t size) {
  return strcmp(version, oatgp_version()) == 0 && size == sizeof(oat_device_table) + sizeof(oat_device_config)
             ? &oat_cuda_table
             : NULL;
}

/* The name of the GPU, or NULL with the reason. */
__attribute__((visibility("default"))) const char *oat_cuda_gpu(const char **why) {
  static char name[320];
  oat_cuda_session *session = NULL;
  *why = oat_cuda_open_session(&session);
  if (*why != NULL) {
    return NULL;
  }
  snprintf(name, sizeof name, "%s, %.0f GiB", session->facts.name, (double)session->facts.totalGlobalMem / (1 << 30));
  oat_cuda_close_session(session);
  return name;
}

/* Bytes of its memory that are free; 0 without one. */
__attribute__((visibility("default"))) double oat_cuda_free(void) {
  size_t left = 0, all = 0;
  return cudaMemGetInfo(&left, &all) == cudaSuccess ? (double)left : 0;
}
}
