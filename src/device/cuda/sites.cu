/* Targets that are not Gaussian: the moments of f of all rows come from here, and the processor does the rest
 * (src/device/cpu/sites.c). */
#include "device/cuda/cuda.h"

extern "C" {
#include "device/cpu/sites.h"
}

void oat_cuda_take_sites(oat_cuda *cuda) {
  const oat_rows *rows = cuda->rows;
  cuda->negative = false;
  if (!oat_rows_have_answers(rows) || cuda->r == NULL || cuda->noise_scale == NULL) {
    return;
  }
  oat_cuda_upload(cuda, cuda->n, rows->r, cuda->r);
  oat_cuda_upload(cuda, cuda->n, rows->noise_scale, cuda->noise_scale);
  for (size_t i = 0; i < cuda->n; i++) {
    cuda->negative = cuda->negative || rows->noise_scale[i] < 0;
  }
}

oatgp_status oat_cuda_sites_begin(oat_device *device, const oat_response *response, double level) {
  const oat_cuda *cuda = oat_cuda_of(device);
  oat_sites_begin(cuda->rows, cuda->config.where.threads, response, level);
  return OATGP_OK;
}

oatgp_status oat_cuda_sites_move(oat_device *device, double step, bool accept) {
  const oat_cuda *cuda = oat_cuda_of(device);
  oat_sites_move(cuda->rows, cuda->config.where.threads, step, accept);
  return OATGP_OK;
}

/* left_i = k(x, x) - q_i, not below 0 */
__global__ void find_left(size_t n, double prior, double *q) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    q[i] = fmax(prior - q[i], 0.0);
  }
}

/* The moments of a block's rows go to the columns of their sites. V stays as it is. */
static void look_at_block(oat_cuda *cuda, const oat_cuda_kernel &kernel, const oat_sparse *sparse,
                          const oat_cuda_triangle &b, size_t item) {
  const size_t n = oat_cuda_rows_of(cuda, item), k = sparse->k, first = item * cuda->block;
  const double *v = oat_cuda_v(cuda, kernel, sparse, item);
  double *const *row = cuda->row, *site = cuda->rows->site + first;
  oat_cuda_row_dots(cuda, n, k, v, v, row[0]);
  if (oat_cuda_fine(cuda)) {
    find_left<<<(unsigned)((n + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS), OAT_CUDA_THREADS, 0,
                cuda->session->stream>>>(n, kernel.sigma2, row[0]);
    oat_cuda_check(
        cuda, cudaMemcpyAsync(cuda->t, v, cuda->ld * k * sizeof *v, cudaMemcpyDeviceToDevice, cuda->session->stream),
        "a copy");
  }
  oat_cuda_solve(cuda, b, OAT_TRANSPOSED, oat_cuda_view(cuda, cuda->t, k), oat_cuda_view(cuda, cuda->u, k));
  oat_cuda_gemm(cuda, 1, {cuda->u, n, k, cuda->ld}, OAT_PLAIN, {cuda->given, k, 1, k}, OAT_PLAIN, 0, {row[1], n, 1, n});
  oat_cuda_row_dots(cuda, n, k, cuda->u, cuda->u, row[2]);
  oat_cuda_download(cuda, n, row[0], site + OAT_SITE_VARIANCE * cuda->n);
  oat_cuda_download(cuda, n, row[1], site + OAT_SITE_MEAN * cuda->n);
  oat_cuda_download(cuda, n, row[2], site + OAT_SITE_NEXT * cuda->n);
}

oatgp_status oat_cuda_sites_look(oat_device *device, const oat_sparse *sparse, const oat_site_q *q,
                                 oat_site_look *look) {
  oat_cuda *cuda = oat_cuda_of(device);
  cuda->cached = cuda->cached == sparse->stamp ? cuda->cached : 0;
  const oat_cuda_kernel kernel = oat_cuda_take_point(cuda, sparse);
  const oat_cuda_triangle b = oat_cuda_take_lb(cuda, sparse->k, q->lb);
  oat_cuda_upload(cuda, sparse->k, q->c, cuda->given);
  for (size_t item = 0; item < cuda->blocks; item++) {
    look_at_block(cuda, kernel, sparse, b, item);
  }
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    oat_sites_look(cuda->rows, cuda->config.where.threads, false, q->coefficient, look);
  }
  return status;
}

oatgp_status oat_cuda_exact_sites_look(oat_device *device, oat_site_look *look) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t n = cuda->n;
  oat_cuda_invert(cuda);
  oat_cuda_download(cuda, n, cuda->exact.solved + n * (1 + cuda->p), cuda->rows->site + OAT_SITE_MEAN * n);
  oat_cuda_download(cuda, n, cuda->exact.c + n, cuda->rows->site + OAT_SITE_VARIANCE * n);
  const oatgp_status status = oat_cuda_end(cuda);
  if (status == OATGP_OK) {
    oat_sites_look(cuda->rows, cuda->config.where.threads, true, NULL, look);
  }
  return status;
}
