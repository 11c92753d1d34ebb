/* Generalised least squares for the basis of an estimated mean. */
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>

#define FIRST_RIDGE 1e-13 /* for each column, relative to a unit diagonal */
#define LARGEST_RIDGE 1e4

size_t oat_gls_room(size_t p) { return 2 * p * (1 + p); }

oat_gls oat_gls_over(double *room, size_t p) {
  return (oat_gls){p, room, room + p, room + 2 * p, room + 2 * p + p * p};
}

oatgp_status oat_gls_factorise(oat_gls *gls, const double *gram, const double *size) {
  const size_t p = gls->p, width = 1 + p;
  if (p == 0) {
    return OATGP_OK;
  }
  for (size_t j = 0; j < p; j++) {
    const size_t diagonal = (1 + j) * (1 + width);
    gls->size[j] = size != NULL ? size[diagonal] : gls->size[j];
    gls->root[j] = sqrt(fmax(gram[diagonal], DBL_EPSILON * gls->size[j]));
  }
  for (size_t i = 0; i < p * p; i++) {
    const size_t row = i % p, column = i / p;
    gls->scaled[i] = row == column ? 1 : gram[1 + row + (1 + column) * width] / (gls->root[row] * gls->root[column]);
  }
  const oat_lifts lifts = {.least = FIRST_RIDGE * (double)p, .factor = 10, .most = LARGEST_RIDGE};
  return oat_cholesky_lifted(p, gls->scaled, &lifts, gls->factor, 1).pivot == 0 ? OATGP_OK : OATGP_NUMERIC;
}

static void divide(size_t p, const double *root, double *x) {
  for (size_t j = 0; j < p; j++) {
    x[j] /= root[j];
  }
}

void oat_gls_solve(const oat_gls *gls, double *x) {
  const oat_view right = {x, gls->p, 1, gls->p};
  divide(gls->p, gls->root, x);
  oat_solve_left(gls->factor, gls->p, OAT_PLAIN, right, 1);
  oat_solve_left(gls->factor, gls->p, OAT_TRANSPOSED, right, 1);
  divide(gls->p, gls->root, x);
}

double oat_gls_quadratic(const oat_gls *gls, const double *x, double *work) {
  for (size_t j = 0; j < gls->p; j++) {
    work[j] = x[j] / gls->root[j];
  }
  oat_solve_left(gls->factor, gls->p, OAT_PLAIN, (oat_view){work, gls->p, 1, gls->p}, 1);
  return oat_dot(gls->p, work, work);
}

double oat_gls_error(const oat_gls *gls, const double *coefficient, double *e, double kappa) {
  double error = e[0];
  for (size_t j = 0; j < gls->p; j++) {
    error -= coefficient[j] * e[1 + j];
  }
  return gls->p == 0 ? error : error / fmax(1 - kappa * oat_gls_quadratic(gls, e + 1, e + 1), DBL_EPSILON);
}
