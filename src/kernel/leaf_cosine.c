/* A pure wave: k = cos(2 pi r / p) = 1 - 2 sin^2(pi r / p), r = x - z, p the period.
 * d k / d z = 4 pi sin cos / p,  d k / d log p = r d k / d z. */
#include <math.h>

#include "kernel/leaf.h"
#include "kernel/vector.h"
#include "oat_config.h"

extern const oat_leaf_table oat_leaf_table_cosine;

OAT_CLONES
static void from_squares(size_t n, double scale, double *k) {
  for (size_t i = 0; i < n; i++) {
    k[i] = scale * (1 - 2 * k[i]);
  }
}

static void values(const oat_leaf_at *at, const oat_leaf_desk *desk, double *k) {
  const size_t input = at->leaf->input[0];
  oat_waves(at->n, 1 / at->parameter[0], at->x + input * at->ldx, at->z[input * at->ldz], k, desk->kept[0]);
  from_squares(at->n, at->scale, k);
}

static void adjoint(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k,
                    oat_leaf_gradient *gradient) {
  const size_t input = at->leaf->input[0];
  const oat_axes axes = {1, at->x + input * at->ldx, at->ldx, at->z + input * at->ldz, at->ldz, NULL, false};
  const double each = 4 * OAT_PI * at->scale / at->parameter[0];
  double *h = desk->room[0], *first = desk->moments, *second = first + 1;
  (void)k;
  oat_product(at->n, each, g, desk->kept[0], h);
  if (gradient->z != NULL) {
    gradient->z[input * gradient->ldz] += oat_sum(at->n, h);
  }
  oat_moments(at->n, &axes, h, first, second);
  gradient->parameter[0] += *first;
}

/* The derivative in x is minus that in z. */
static void in_x(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k, double *dx) {
  double *h = desk->room[0];
  (void)k;
  oat_product(at->n, -4 * OAT_PI * at->scale / at->parameter[0], g, desk->kept[0], h);
  oat_add_scaled(at->n, 1, h, dx + at->leaf->input[0] * at->ldx);
}

static long double formula(const oat_leaf_at *at, size_t row) {
  const size_t input = at->leaf->input[0];
  const long double r = (long double)at->x[row + input * at->ldx] - at->z[input * at->ldz];
  return cosl(2 * acosl(-1) * r / at->parameter[0]);
}

const oat_leaf_table oat_leaf_table_cosine = {
    .smooth = true, .formula = formula, .values = values, .adjoint = adjoint, .in_x = in_x};
