/* Covariance functions k(x, z) = sigma^2 phi(s), s = sum_j ((x_j - z_j) / l_j)^2.
 *
 * A kernel is one file that gives the profile phi and its derivatives over an array of s, and ends with its const
 * table; registry.c lists the tables. Everything else (distances, lengthscales, knots) is shared, in stationary.c. */
#ifndef OAT_KERNEL_H
#define OAT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct oat_kernel {
  const char *name;
  bool ard;       /* a lengthscale for each input */
  bool has_shape; /* has the parameter `shape` */
  bool smooth;    /* differentiable where two points meet, so that knots can be moved by their gradient */
  /* phi(s_i); phi may be s */
  void (*profile)(size_t n, double shape, const double *s, double *phi);
  /* also d phi / d s (its limit times s must be right at s = 0), and d phi / d log shape if has_shape */
  void (*slopes)(size_t n, double shape, const double *s, double *phi, double *d_s, double *d_shape);
} oat_kernel;

const oat_kernel *oat_kernel_find(const char *name); /* NULL if there is none */
const oat_kernel *oat_kernel_at(size_t index);       /* NULL past the end */

/* A kernel with its parameters; lengthscale has one element, or d of them for ard. */
typedef struct oat_covariance {
  const oat_kernel *kernel;
  size_t d;
  double sigma, shape;
  const double *lengthscale;
} oat_covariance;

/* Points, column-major: coordinate j of point i is a[i + j * ld]. */
typedef struct oat_points {
  const double *a;
  size_t n, ld;
} oat_points;

/* Sums that the adjoint adds to. */
typedef struct oat_kernel_gradient {
  double log_sigma, log_shape;
  double *log_lengthscale; /* as many as lengthscales */
  double *z;               /* laid out as the points z, or NULL if the derivative in z is not wanted */
} oat_kernel_gradient;

/* Doubles of scratch that the two functions below need for so many points x. */
static inline size_t oat_kernel_work(size_t n, size_t d) { return 4 * n + 3 * d; }

/* k[i + c * ldk] = k(x_i, z_c), x.n rows. O(x.n z.n d). */
void oat_kernel_cross(const oat_covariance *cov, oat_points x, oat_points z, double *k, size_t ldk, double *work);
/* Adds sum_ic g_ic d k(x_i, z_c) / d(parameters, z_c) for a given g (x.n x z.n). x is taken as fixed: for a symmetric
 * matrix K(Z, Z) with symmetric g the derivative in Z is twice what is added here. */
void oat_kernel_cross_adjoint(const oat_covariance *cov, oat_points x, oat_points z, const double *g, size_t ldg, double *work,
                              oat_kernel_gradient *gradient);

#endif
