/* What all kernels share: scaled squared distances, and the adjoint of k = sigma^2 phi(s) in all parameters and points.
 *
 * With h = g sigma^2 phi'(s):  d log l_j = -2 sum h (x_j - z_j)^2 / l_j^2,  d z_j = -2 sum h (x_j - z_j) / l_j^2.
 * Differences are formed first and squared then: no digits are lost for points far from the origin. */
#include "kernel/kernel.h"
#include "kernel/vector.h"

static size_t lengthscales_of(const oat_covariance *cov) { return cov->kernel->ard ? cov->d : 1; }

/* The inputs of x and z with weights 1 / l^2, which go into `weight`. */
static oat_axes axes_of(const oat_covariance *cov, oat_points x, oat_points z, double *weight) {
  for (size_t j = 0; j < lengthscales_of(cov); j++) {
    weight[j] = 1 / (cov->lengthscale[j] * cov->lengthscale[j]);
  }
  return (oat_axes){cov->d, x.a, x.ld, z.a, z.ld, weight, !cov->kernel->ard};
}

void oat_kernel_cross(const oat_covariance *cov, oat_points x, oat_points z, double *k, size_t ldk, double *work) {
  const double sigma2 = cov->sigma * cov->sigma;
  double *s = work, *weight = work + 4 * x.n;
  oat_axes axes = axes_of(cov, x, z, weight);
  for (size_t c = 0; c < z.n; c++) {
    double *column = k + c * ldk;
    axes.z = z.a + c;
    oat_distances(x.n, &axes, s);
    cov->kernel->profile(x.n, cov->shape, s, column);
    oat_scale(x.n, sigma2, column);
  }
}

/* What point c adds, given the sums over x of h (x - z) and h (x - z)^2. */
static void add_point(const oat_covariance *cov, const oat_axes *axes, size_t c, const double *moments, oat_kernel_gradient *gradient) {
  const size_t d = cov->d;
  for (size_t j = 0; j < d; j++) {
    const size_t l = axes->single ? 0 : j;
    if (gradient->z != NULL) {
      gradient->z[c + j * axes->ldz] -= 2 * axes->w[l] * moments[j];
    }
    gradient->log_lengthscale[l] -= 2 * axes->w[l] * moments[d + j];
  }
}

void oat_kernel_cross_adjoint(const oat_covariance *cov, oat_points x, oat_points z, const double *g, size_t ldg, double *work,
                              oat_kernel_gradient *gradient) {
  const double sigma2 = cov->sigma * cov->sigma;
  double *s = work, *phi = s + x.n, *d_s = phi + x.n, *d_shape = d_s + x.n, *weight = d_shape + x.n, *moments = weight + cov->d;
  oat_axes axes = axes_of(cov, x, z, weight);
  for (size_t c = 0; c < z.n; c++) {
    const double *column = g + c * ldg;
    axes.z = z.a + c;
    oat_distances(x.n, &axes, s);
    cov->kernel->slopes(x.n, cov->shape, s, phi, d_s, d_shape);
    gradient->log_sigma += 2 * sigma2 * oat_sum_products(x.n, column, phi);
    if (cov->kernel->has_shape) {
      gradient->log_shape += sigma2 * oat_sum_products(x.n, column, d_shape);
    }
    oat_multiply(x.n, sigma2, column, d_s);
    oat_moments(x.n, &axes, d_s, moments, moments + cov->d);
    add_point(cov, &axes, c, moments, gradient);
  }
}
