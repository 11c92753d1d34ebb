/* Kernel expressions: the functions of kernel.h, for any tree. */
#ifndef OAT_TREE_H
#define OAT_TREE_H

#include "kernel/kernel.h"

/* Doubles of scratch that the functions below need, for any number of points. */
size_t oat_tree_work(const oat_expression *expression);
/* Differentiable where two points meet. */
bool oat_tree_smooth(const oat_expression *expression);

void oat_tree_cross(const oat_covariance *cov, oat_points x, oat_points z, double *k, size_t ld, double *work);
/* Adds the derivatives in all parameters, the sigmas, too, and in z. */
void oat_tree_cross_adjoint(const oat_covariance *cov, oat_points x, oat_points z, const double *g, size_t ld,
                            double *work, oat_kernel_gradient *gradient);
/* Derivatives in x: kernel.h. They need x.n doubles behind oat_tree_work. */
void oat_tree_cross_in_x(const oat_covariance *cov, oat_points x, oat_points z, oat_kernel_sides sides, double *work);
void oat_tree_diagonal_in_x(const oat_covariance *cov, oat_points x, double *dx, double *work);
void oat_tree_diagonal(const oat_covariance *cov, oat_points x, double *prior);
void oat_tree_diagonal_adjoint(const oat_covariance *cov, oat_points x, const double *g, oat_kernel_gradient *gradient);
double oat_tree_mean_diagonal(const oat_covariance *cov, oat_points x);
/* For pairs of points: kernel.h. */
void oat_tree_pairs(const oat_covariance *cov, oat_points x, double *k, double *work);
void oat_tree_pairs_adjoint(const oat_covariance *cov, oat_points x, const double *g, double *work,
                            oat_kernel_gradient *gradient);
/* The length scale of an input: the shortest of those of its leaves; infinite if none of them has one. */
double oat_tree_lengthscale(const oat_covariance *cov, size_t input);

#endif
