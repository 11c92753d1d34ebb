/* What all kernels share: scaled squared distances, and the adjoint of k = sigma^2 phi(s) in all parameters and points.
 *
 * With h = g sigma^2 phi'(s):  d log l_j = -2 sum h (x_j - z_j)^2 / l_j^2,  d z_j = -2 sum h (x_j - z_j) / l_j^2.
 * Differences are formed first and squared then: no digits are lost for points far from the origin. */
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/vector.h"

static double lengthscale_of(const oat_covariance *cov, size_t j) { return cov->lengthscale[cov->kernel->ard ? j : 0]; }

static void distances(const oat_covariance *cov, oat_points x, oat_points z, size_t c, double *s) {
  memset(s, 0, x.n * sizeof *s);
  for (size_t j = 0; j < cov->d; j++) {
    const double inverse = 1 / lengthscale_of(cov, j);
    oat_add_squares(x.n, x.a + j * x.ld, z.a[c + j * z.ld], inverse * inverse, s);
  }
}

void oat_kernel_cross(const oat_covariance *cov, oat_points x, oat_points z, double *k, size_t ldk, double *work) {
  const double sigma2 = cov->sigma * cov->sigma;
  for (size_t c = 0; c < z.n; c++) {
    double *column = k + c * ldk;
    distances(cov, x, z, c, work);
    cov->kernel->profile(x.n, cov->shape, work, column);
    for (size_t i = 0; i < x.n; i++) {
      column[i] *= sigma2;
    }
  }
}

/* The part of one column (one z): h is g sigma^2 phi'. */
static void add_point(const oat_covariance *cov, oat_points x, oat_points z, size_t c, const double *h, oat_kernel_gradient *gradient) {
  for (size_t j = 0; j < cov->d; j++) {
    const double inverse = 1 / lengthscale_of(cov, j), factor = -2 * inverse * inverse;
    double sums[2] = {0, 0};
    oat_moments(x.n, x.a + j * x.ld, z.a[c + j * z.ld], h, sums);
    if (gradient->z != NULL) {
      gradient->z[c + j * z.n] += factor * sums[0];
    }
    gradient->log_lengthscale[cov->kernel->ard ? j : 0] += factor * sums[1];
  }
}

void oat_kernel_cross_adjoint(const oat_covariance *cov, oat_points x, oat_points z, const double *g, size_t ldg, double *work,
                              oat_kernel_gradient *gradient) {
  const double sigma2 = cov->sigma * cov->sigma;
  double *s = work, *phi = work + x.n, *d_s = work + 2 * x.n, *d_shape = work + 3 * x.n;
  for (size_t c = 0; c < z.n; c++) {
    const double *column = g + c * ldg;
    distances(cov, x, z, c, s);
    cov->kernel->slopes(x.n, cov->shape, s, phi, d_s, d_shape);
    gradient->log_sigma += 2 * sigma2 * oat_sum_products(x.n, column, phi);
    if (cov->kernel->has_shape) {
      gradient->log_shape += sigma2 * oat_sum_products(x.n, column, d_shape);
    }
    for (size_t i = 0; i < x.n; i++) {
      d_s[i] *= sigma2 * column[i];
    }
    add_point(cov, x, z, c, d_s, gradient);
  }
}
