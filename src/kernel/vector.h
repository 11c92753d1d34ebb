/* The inner loops of the kernels over arrays, written so that the compiler can vectorise them. */
#ifndef OAT_VECTOR_H
#define OAT_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* y_i = exp(a x_i); y may be x. Within 2 ulp of exp of the rounded product for |a x| <= 708; 0 below -708; above 709 it stays exp(709),
 * which no kernel needs. NaN stays NaN. */
void oat_exp(size_t n, double a, const double *x, double *y);

/* Points x (input j at x + j * ldx) and one other point z (input j at z[j * ldz]); w are weights of the d inputs, or one for all. */
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
/* sum x_i y_i */
double oat_sum_products(size_t n, const double *x, const double *y);
/* y_i *= a x_i */
void oat_multiply(size_t n, double a, const double *x, double *y);
/* sum w_i y_i^2; y_i becomes w_i y_i */
double oat_weighted_squares(size_t n, const double *w, double *y);
/* y_i *= a */
void oat_scale(size_t n, double a, double *y);
/* y_i += x_i^2 */
void oat_add_squares(size_t n, const double *x, double *y);
/* y_i = w_i (y_i + a x_i) */
void oat_weigh_sum(size_t n, const double *w, double a, const double *x, double *y);

#endif
