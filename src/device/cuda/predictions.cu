/* Predictions of rows. */
#include "device/cuda/cuda.h"

static unsigned grid_of(size_t n) { return (unsigned)((n + OAT_CUDA_THREADS - 1) / OAT_CUDA_THREADS); }

__global__ void take_left(size_t n, double prior, double *q) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    q[i] = fmax(prior - q[i], 0.0);
  }
}

/* The results of a block, of which some are not wanted. */
static void predict_block(oat_cuda *cuda, const oat_cuda_kernel &kernel, const oat_sparse *sparse,
                          const oat_cuda_triangle *b, const double *c, const oat_row_predictions *out, size_t item) {
  const size_t n = oat_cuda_rows_of(cuda, item), k = sparse->k, first = item * cuda->block;
  double *u = oat_cuda_v(cuda, kernel, sparse, item), *q = cuda->row[0], *mean = cuda->row[1];
  if (out->left != NULL) {
    oat_cuda_row_dots(cuda, n, k, u, u, q);
    if (oat_cuda_fine(cuda)) {
      take_left<<<grid_of(n), OAT_CUDA_THREADS, 0, cuda->session->stream>>>(n, kernel.sigma2, q);
    }
    oat_cuda_download(cuda, n, q, out->left + first);
  }
  if (b != nullptr) {
    oat_cuda_solve(cuda, *b, OAT_TRANSPOSED, oat_cuda_view(cuda, u, k), oat_cuda_view(cuda, cuda->u, k));
    u = cuda->u;
  }
  if (out->mean != NULL) {
    oat_cuda_gemm(cuda, 1, {u, n, k, cuda->ld}, OAT_PLAIN, {c, k, 1, k}, OAT_PLAIN, 0, {mean, n, 1, n});
    oat_cuda_download(cuda, n, mean, out->mean + first);
  }
  if (out->u2 != NULL) {
    oat_cuda_row_dots(cuda, n, k, u, u, q);
    oat_cuda_download(cuda, n, q, out->u2 + first);
  }
}

oatgp_status oat_cuda_predictions(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                  const oat_row_predictions *out) {
  oat_cuda *cuda = oat_cuda_of(device);
  const oat_cuda_kernel kernel = oat_cuda_take_point(cuda, sparse);
  oat_cuda_triangle b = {};
  cuda->cached = 0;
  if (lb != NULL) {
    b = oat_cuda_take_lb(cuda, sparse->k, lb);
  }
  if (out->mean != NULL) {
    oat_cuda_upload(cuda, sparse->k, c, cuda->given);
  }
  for (size_t item = 0; item < cuda->blocks && oat_cuda_fine(cuda); item++) {
    predict_block(cuda, kernel, sparse, lb != NULL ? &b : nullptr, cuda->given, out, item);
    oat_tell_progress(cuda->ctx, "prediction", item + 1, cuda->blocks);
  }
  return oat_cuda_end(cuda);
}

oatgp_status oat_cuda_means(oat_device *device, const oat_sparse *sparse, const double *weights, double scale,
                            double *mean) {
  oat_cuda *cuda = oat_cuda_of(device);
  const size_t k = sparse->k;
  const size_t d = sparse->cov.d;
  cuda->scale = cuda->point;
  cuda->z = cuda->scale + d;
  cuda->pointed = 0;
  const oat_cuda_kernel kernel = oat_cuda_take_kernel(cuda, &sparse->cov, cuda->scale);
  for (size_t j = 0; j < d; j++) {
    oat_cuda_upload(cuda, k, sparse->z + j * sparse->ldz, cuda->z + j * k);
  }
  oat_cuda_upload(cuda, k, weights, cuda->given);
  for (size_t item = 0; item < cuda->blocks && oat_cuda_fine(cuda); item++) {
    const size_t n = oat_cuda_rows_of(cuda, item), first = item * cuda->block;
    oat_cuda_cross(cuda, kernel, oat_cuda_inputs(cuda, item), {cuda->z, k, k}, cuda->t, cuda->ld, n);
    oat_cuda_upload(cuda, n, mean + first, cuda->row[0]);
    oat_cuda_gemm(cuda, scale, {cuda->t, n, k, cuda->ld}, OAT_PLAIN, {cuda->given, k, 1, k}, OAT_PLAIN, 1,
                  {cuda->row[0], n, 1, n});
    oat_cuda_download(cuda, n, cuda->row[0], mean + first);
    oat_tell_progress(cuda->ctx, "prediction", item + 1, cuda->blocks);
  }
  return oat_cuda_end(cuda);
}
