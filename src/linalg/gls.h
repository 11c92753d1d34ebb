/* Generalised least squares for the basis H of an estimated mean: A = H^T S^-1 H, S the covariance of the rows.
 *
 * A is scaled to a unit diagonal and factorised with a ridge at rounding level. The ridge is raised until the
 * factorisation goes through: where A is a small difference of large sums, collinear columns have lost more digits. */
#ifndef OAT_GLS_H
#define OAT_GLS_H

#include <stddef.h>

#include "oatgp.h"

/* The arrays are one block of oat_gls_room(p) doubles that the caller owns. */
typedef struct oat_gls {
  size_t p;
  double *size;   /* p: how large the sums were of which the diagonal of A is the difference */
  double *root;   /* p: roots of the diagonal of A */
  double *scaled; /* p x p */
  double *factor; /* p x p: the Cholesky factor of the scaled matrix and its ridge */
} oat_gls;

size_t oat_gls_room(size_t p);
oat_gls oat_gls_over(double *room, size_t p);
/* Takes A from gram = R^T S^-1 R of R = [r, H], (1 + p) square. `size` is a matrix of the same shape (it may be gram)
 * whose diagonal has the sizes; NULL keeps those of the latest call. OATGP_NUMERIC (no sentence is stored): no ridge
 * helps. */
oatgp_status oat_gls_factorise(oat_gls *gls, const double *gram, const double *size);
/* x <- A^-1 x, p numbers. The coefficients are what this makes of H^T S^-1 r. */
void oat_gls_solve(const oat_gls *gls, double *x);
/* x^T A^-1 x; work has p numbers and may be x. Without a row, A has kappa e e^T less, e the errors of the columns of H
 * there and kappa the row's precision given the others. So the error of the row grows by 1 / (1 - kappa e^T A^-1 e) when
 * the mean is estimated without it. */
double oat_gls_quadratic(const oat_gls *gls, const double *x, double *work);
/* The error of a row that was left out, with the mean estimated without it, from the errors e of the columns of R there (1 + p numbers,
 * which are used up). Where 1 - t is nothing but the ridge, a coefficient cannot be estimated without this row, and is what the ridge makes
 * of it. */
double oat_gls_error(const oat_gls *gls, const double *coefficient, double *e, double kappa);

#endif
