/* Blocks of rows: V = L^-1 Kuf, computed or kept. */
#include "device/cuda/cuda.h"

/* All but the lengthscales, which are, or will be, at `scale` on the GPU. */
static oat_cuda_kernel kernel_at(const oat_covariance *cov, const double *scale) {
  const oat_kernel *kernel = oat_kernel_at(cov->id);
  int profile = cov->id;
  for (size_t i = 0; kernel->ard && oat_kernel_at(i) != NULL; i++) { /* the one of the same profile without ARD */
    profile = !oat_kernel_at(i)->ard && oat_kernel_at(i)->profile == kernel->profile ? (int)i : profile;
  }
  const double sigma = cov->theta[cov->sigma];
  return {profile, sigma * sigma, kernel->profile->has_shape ? cov->theta[cov->shape] : 0, (int)cov->d, scale};
}

static void find_scales(oat_cuda *cuda, const oat_covariance *cov) {
  for (size_t j = 0; j < cov->d; j++) {
    cuda->lengths[j] = 1 / oat_kernel_lengthscale(cov, j);
  }
}

oat_cuda_kernel oat_cuda_take_kernel(oat_cuda *cuda, const oat_covariance *cov, double *scale) {
  find_scales(cuda, cov);
  oat_cuda_upload(cuda, cov->d, cuda->lengths, scale);
  return kernel_at(cov, scale);
}

oat_cuda_noise oat_cuda_noise_of(const oat_cuda *cuda, double tau, size_t item) {
  const size_t first = item * cuda->block;
  return {cuda->noise_scale != nullptr ? cuda->noise_scale + first : nullptr,
          cuda->noise_add != nullptr ? cuda->noise_add + first : nullptr, tau * tau};
}

oat_cuda_kernel oat_cuda_take_point(oat_cuda *cuda, const oat_sparse *sparse) {
  const size_t k = sparse->k, d = sparse->cov.d;
  cuda->scale = cuda->point;
  cuda->z = cuda->scale + d;
  cuda->l = cuda->z + k * d;
  if (sparse->stamp == 0 || cuda->pointed != sparse->stamp) {
    find_scales(cuda, &sparse->cov);
    const bool together = k <= OAT_CUDA_STAGED;
    const oat_cuda_part parts[] = {
        {cuda->lengths, d, 1, d}, {sparse->z, k, d, sparse->ldz}, {sparse->l, k * k, 1, k * k}};
    oat_cuda_pack(cuda, together ? 3 : 2, parts, cuda->point);
    if (!together) {
      oat_cuda_upload(cuda, k * k, sparse->l, cuda->l);
    }
    oat_cuda_invert_leaves(cuda, k, cuda->l, k, cuda->inverse, OAT_CUDA_LEAF, OAT_CUDA_LEAF * OAT_CUDA_LEAF);
    cuda->pointed = oat_cuda_fine(cuda) ? sparse->stamp : 0;
  }
  oat_cuda_take_sites(cuda);
  return kernel_at(&sparse->cov, cuda->scale);
}

oat_cuda_triangle oat_cuda_take_lb(oat_cuda *cuda, size_t k, const double *lb) {
  if (cuda->lb == NULL) { /* which the full GP never has */
    cuda->lb = oat_cuda_take_doubles(cuda, cuda->config.max_knots, cuda->config.max_knots);
    cuda->inverse_b = oat_cuda_take_doubles(cuda, oat_cuda_leaves_room(cuda->config.max_knots), 1);
  }
  oat_cuda_upload(cuda, k * k, lb, cuda->lb);
  oat_cuda_invert_leaves(cuda, k, cuda->lb, k, cuda->inverse_b, OAT_CUDA_LEAF, OAT_CUDA_LEAF * OAT_CUDA_LEAF);
  return {k, cuda->lb, cuda->inverse_b};
}

static bool is_cached(const oat_cuda *cuda, const oat_sparse *sparse) {
  return cuda->cached != 0 && cuda->cached == sparse->stamp;
}

double *oat_cuda_v(oat_cuda *cuda, const oat_cuda_kernel &kernel, const oat_sparse *sparse, size_t item) {
  const size_t k = sparse->k;
  double *v = cuda->keeps ? cuda->v + item * cuda->ld * k : cuda->v;
  if (!is_cached(cuda, sparse)) {
    oat_cuda_cross(cuda, kernel, oat_cuda_inputs(cuda, item), {cuda->z, k, k}, cuda->t, cuda->ld, cuda->ld);
    oat_cuda_solve(cuda, {k, cuda->l, cuda->inverse}, OAT_TRANSPOSED, oat_cuda_view(cuda, cuda->t, k),
                   oat_cuda_view(cuda, v, k));
  }
  return v;
}

void oat_cuda_keep_v(oat_cuda *cuda, const oat_sparse *sparse) { cuda->cached = cuda->keeps ? sparse->stamp : 0; }
