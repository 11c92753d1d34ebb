/* The inner loops of the kernels over arrays, written so that the compiler can vectorise them. */
#ifndef OAT_VECTOR_H
#define OAT_VECTOR_H

#include <stddef.h>

/* y_i = exp(x_i); y may be x. Within 2 ulp for |x| <= 708; 0 below -708; above 709 it stays exp(709), which no kernel
 * needs. NaN stays NaN. */
void oat_exp(size_t n, const double *x, double *y);
/* s_i += w (x_i - z)^2 */
void oat_add_squares(size_t n, const double *x, double z, double w, double *s);
/* sums[0] += sum h (x - z), sums[1] += sum h (x - z)^2 */
void oat_moments(size_t n, const double *x, double z, const double *h, double *sums);
/* sum x_i y_i */
double oat_sum_products(size_t n, const double *x, const double *y);

#endif
