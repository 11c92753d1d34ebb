/* The inner loops of the kernels over arrays, written so that the compiler can vectorise them. */
#ifndef OAT_VECTOR_H
#define OAT_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* y_i = b exp(a x_i); y may be x. The exponential is within 2 ulp of that of the rounded product for |a x| <= 708, and
 * 0 below -708; products above 709 are not allowed. NaN stays NaN. */
void oat_exp(size_t n, double a, double b, const double *x, double *y);
/* The same, and y2_i = c exp(a x_i); neither is x. */
void oat_exp_twice(size_t n, double a, double b, double c, const double *x, double *y, double *y2);

/* y_i = log(1 + a x_i) for a x_i >= 0, within 3 ulp; y may be x. NaN stays NaN. */
void oat_log1p(size_t n, double a, const double *x, double *y);

#define OAT_PI 3.141592653589793238463
/* For r = a (x_i - z): square_i = sin^2(pi r) and, unless mixed is NULL, mixed_i = sin(pi r) cos(pi r). Within 2 ulp of
 * 1 of those of the rounded r, and the same for r and r + 1. None of them is x. */
void oat_waves(size_t n, double a, const double *x, double z, double *square, double *mixed);

/* Points x (input j at x + j * ldx) and one other point z (input j at z[j * ldz]); w are weights of the d inputs, or
 * one for all, or NULL for 1. */
typedef struct oat_axes {
  size_t d;
  const double *x;
  size_t ldx;
  const double *z;
  size_t ldz;
  const double *w;
  bool single;
} oat_axes;

/* s_i = sum_j w_j (x_ij - z_j)^2 */
void oat_distances(size_t n, const oat_axes *axes, double *s);
/* first_j = sum_i h_i (x_ij - z_j), second_j = sum_i h_i (x_ij - z_j)^2 */
void oat_moments(size_t n, const oat_axes *axes, const double *h, double *first, double *second);
/* A few points in units of the lengthscales. Behind the last one there is room for OAT_PAIR_GROUP more, which may hold
 * any finite numbers. */
enum { OAT_PAIR_GROUP = 8 };
typedef struct oat_scaled_points {
  size_t n, d;
  const double *x; /* input j at x + j * ld, ld >= n + OAT_PAIR_GROUP */
  size_t ld;
} oat_scaled_points;

/* Over all pairs, column after column of the lower triangle with its diagonal:
 * s_ab = |x_a - x_b|^2; s has OAT_PAIR_GROUP numbers more than there are pairs, which are overwritten */
void oat_pair_distances(oat_scaled_points points, double *s);
/* second_j = sum h_ab (x_aj - x_bj)^2; work has n + (1 + d) OAT_PAIR_GROUP numbers */
void oat_pair_moments(oat_scaled_points points, const double *h, double *work, double *second);
/* sum x_i y_i */
double oat_sum_products(size_t n, const double *x, const double *y);
/* y_i *= x_i, sum_i += y_i; returns the sum of all y_i */
double oat_multiply(size_t n, const double *x, double *y, double *sum);
/* y_i = a (x_i - middle); returns the largest |y_i| */
double oat_standardise(size_t n, double middle, double a, const double *x, double *y);
/* s_i = y_i + z2 + x2_i, but not below 0 */
void oat_add_norms(size_t n, const double *y, double z2, const double *x2, double *s);
/* sum w_i x_i^2 */
double oat_sum_squares(size_t n, const double *w, const double *x);
/* sum w_i y_i^2; y_i becomes w_i y_i */
double oat_weighted_squares(size_t n, const double *w, double *y);
/* q_i = sum_c v_ic^2, v with leading dimension ld */
void oat_row_squares(size_t n, size_t columns, const double *v, size_t ld, double *q);
/* y_i += x_i^2 */
void oat_add_squares(size_t n, const double *x, double *y);
/* y_i = a x_i */
void oat_scaled_copy(size_t n, double a, const double *x, double *y);
/* y_i += a x_i */
void oat_add_scaled(size_t n, double a, const double *x, double *y);
/* y_i += a h_i (x_i - z) */
void oat_add_differences(size_t n, double a, const double *h, const double *x, double z, double *y);
/* y_i *= w_i */
void oat_multiply_each(size_t n, const double *w, double *y);
/* y_i = w_i y_i + a x_i */
void oat_multiply_add(size_t n, const double *w, double a, const double *x, double *y);
/* p_i = a x_i y_i */
void oat_product(size_t n, double a, const double *x, const double *y, double *p);
/* y_i = t_i / (whole_i - t_i), t_i = a x_i^2 but no more than whole_i - least_i */
void oat_drops(size_t n, double a, const double *x, const double *whole, const double *least, double *y);
/* sum x_i */
double oat_sum(size_t n, const double *x);

/* The instruction set, among those compiled, that the loops use on this processor. */
const char *oat_simd_name(void);

#endif
