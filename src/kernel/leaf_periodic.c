/* The periodic leaf: k = exp(-2 sin^2(pi r / p) / l^2), r = x - z, p the period, l the lengthscale. d k / d log l = 4 k
 * sin^2 / l^2,  d k / d z = 4 pi k sin cos / (l^2 p),  d k / d log p = r d k / d z. */
#include <math.h>

#include "kernel/leaf.h"
#include "kernel/vector.h"

extern const oat_leaf_table oat_leaf_table_periodic;

enum { PERIOD, LENGTHSCALE };

static void values(const oat_leaf_at *at, const oat_leaf_desk *desk, double *k) {
  const size_t input = at->leaf->input[0];
  double *square = desk->kept[0] != NULL ? desk->kept[0] : k;
  oat_waves(at->n, 1 / at->parameter[PERIOD], at->x + input * at->ldx, at->z[input * at->ldz], square, desk->kept[1]);
  oat_exp(at->n, -2 * at->weight[LENGTHSCALE], at->scale, square, k);
}

static void adjoint(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k,
                    oat_leaf_gradient *gradient) {
  const size_t input = at->leaf->input[0];
  const oat_axes axes = {1, at->x + input * at->ldx, at->ldx, at->z + input * at->ldz, at->ldz, NULL, false};
  const double each = 4 * at->weight[LENGTHSCALE];
  double *h = desk->room[0], *first = desk->moments, *second = first + 1;
  oat_product(at->n, each, g, k, h);
  gradient->parameter[LENGTHSCALE] += oat_sum_products(at->n, h, desk->kept[0]);
  if (gradient->z != NULL) {
    gradient->z[input * gradient->ldz] += OAT_PI / at->parameter[PERIOD] * oat_sum_products(at->n, h, desk->kept[1]);
  }
  oat_multiply_each(at->n, desk->kept[1], h);
  oat_moments(at->n, &axes, h, first, second);
  gradient->parameter[PERIOD] += OAT_PI / at->parameter[PERIOD] * *first;
}

/* The derivative in x is minus that in z. */
static void in_x(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k, double *dx) {
  double *h = desk->room[0];
  oat_product(at->n, 1, g, k, h);
  oat_multiply_each(at->n, desk->kept[1], h);
  oat_add_scaled(at->n, -4 * at->weight[LENGTHSCALE] * OAT_PI / at->parameter[PERIOD], h,
                 dx + at->leaf->input[0] * at->ldx);
}

static long double formula(const oat_leaf_at *at, size_t row) {
  const size_t input = at->leaf->input[0];
  const long double r = (long double)at->x[row + input * at->ldx] - at->z[input * at->ldz];
  const long double wave = sinl(acosl(-1) * r / at->parameter[PERIOD]) / at->parameter[LENGTHSCALE];
  return expl(-2 * wave * wave);
}

const oat_leaf_table oat_leaf_table_periodic = {
    .smooth = true, .formula = formula, .values = values, .adjoint = adjoint, .in_x = in_x};
