/* Predicts every row from the others: |v|^2, |u|^2 and u^T c of all rows come from the GPU, and the host does the rest
 * for each row (device/left_out.c). */
#include <stdlib.h>

#include "device/cuda/cuda.h"

extern "C" {
#include "device/left_out.h"
#include "util/lanes.h"
}

enum { PIECE = 2048 }; /* rows at a time on the host */

/* The rows on the host. */
struct finish {
  const oat_cuda *cuda;
  const oat_sparse *sparse;
  const oat_left_out *out;
  const double *numbers; /* n x (2 + columns): q, s, fit */
  double *prior, *e;     /* n; a row's errors in each lane */
  double sums[OAT_MOST_LANES][OAT_LEFT_SUMS];
};

static void finish_rows(void *self, size_t lane, size_t item) {
  finish *f = (finish *)self;
  const size_t n = f->cuda->n;
  const oat_row_block b = oat_rows_block(f->cuda->rows, PIECE, item);
  const double *q = f->numbers + b.first;
  double *prior = f->prior + b.first;
  oat_kernel_diagonal(&f->sparse->cov, b.x, prior);
  const oat_left_rows rows = {prior, q, q + n, q + 2 * n, n, f->cuda->p};
  oat_left_out_rows(f->out, f->sparse, &b, &rows, f->e + lane * f->out->columns, f->sums[lane]);
}

static void finish_all(finish *f, oat_left_out *out) {
  oat_loop loop = {};
  loop.ctx = f->cuda->ctx;
  loop.items = oat_rows_blocks(f->cuda->rows, PIECE);
  loop.lanes = oat_lanes_for(loop.items);
  loop.rows = f->cuda->n;
  loop.threads = f->cuda->config.where.threads;
  loop.flops = 100 * (double)f->cuda->n;
  loop.item = finish_rows;
  loop.self = f;
  oat_loop_run(&loop);
  double sums[OAT_LEFT_SUMS] = {0};
  for (size_t lane = 0; lane < loop.lanes; lane++) {
    for (int i = 0; i < OAT_LEFT_SUMS; i++) {
      sums[i] += f->sums[lane][i];
    }
  }
  oat_left_out_take(sums, out);
}

/* V of a block is used up to make U, unless it is kept. */
static double *room_for_u(oat_cuda *cuda, double *v, size_t k) {
  if (cuda->keeps && oat_cuda_fine(cuda)) {
    oat_cuda_check(
        cuda, cudaMemcpyAsync(cuda->t, v, cuda->ld * k * sizeof *v, cudaMemcpyDeviceToDevice, cuda->session->stream),
        "a copy");
    return cuda->t;
  }
  return v;
}

/* numbers: as above; on the GPU. */
static void look_at_blocks(oat_cuda *cuda, const oat_sparse *sparse, const oat_left_out *out, const double *c,
                           double *numbers) {
  const size_t k = sparse->k, n = cuda->n;
  cuda->cached = cuda->cached == sparse->stamp ? cuda->cached : 0;
  const oat_cuda_kernel kernel = oat_cuda_take_point(cuda, sparse);
  const oat_cuda_triangle b = oat_cuda_take_lb(cuda, k, out->lb);
  for (size_t item = 0; item < cuda->blocks && oat_cuda_fine(cuda); item++) {
    const size_t rows = oat_cuda_rows_of(cuda, item);
    double *v = oat_cuda_v(cuda, kernel, sparse, item), *to = numbers + item * cuda->block;
    oat_cuda_row_dots(cuda, rows, k, v, v, to);
    oat_cuda_solve(cuda, b, OAT_TRANSPOSED, oat_cuda_view(cuda, room_for_u(cuda, v, k), k),
                   oat_cuda_view(cuda, cuda->u, k));
    oat_cuda_row_dots(cuda, rows, k, cuda->u, cuda->u, to + n);
    oat_cuda_gemm(cuda, 1, {cuda->u, rows, k, cuda->ld}, OAT_PLAIN, {c, k, out->columns, k}, OAT_PLAIN, 0,
                  {to + 2 * n, rows, out->columns, n});
    oat_tell_progress(cuda->ctx, "leave-one-out", item + 1, cuda->blocks);
  }
}

oatgp_status oat_cuda_left_out(oat_device *device, const oat_sparse *sparse, oat_left_out *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t k = sparse->k, n = cuda->n, columns = out->columns;
  double *on_gpu = oat_cuda_take_doubles(cuda, n, 2 + columns), *c = oat_cuda_take_doubles(cuda, k, columns);
  double *numbers = (double *)malloc((n * (3 + columns) + OAT_MOST_LANES * columns) * sizeof *numbers);
  if (numbers == NULL) {
    oat_cuda_check(cuda, cudaErrorMemoryAllocation, "taking memory of the host");
  }
  oat_cuda_upload(cuda, k * columns, out->c, c);
  look_at_blocks(cuda, sparse, out, c, on_gpu);
  oat_cuda_download(cuda, n * (2 + columns), on_gpu, numbers);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    finish f = {cuda, sparse, out, numbers, numbers + n * (2 + columns), numbers + n * (3 + columns)};
    oat_cuda_keep_v(cuda, sparse);
    finish_all(&f, out);
  }
  oat_cuda_give(cuda, on_gpu);
  oat_cuda_give(cuda, c);
  free(numbers);
  return status;
}
