/* Levels of a category, given by their codes: k = 1 for equal levels, else exp(-1 / l), with l the lengthscale. Any two
 * levels have the same correlation: near 0 for a small l, near 1 for a large one. As a matrix over levels it is (1 - c)
 * I + c 1 1^T with 0 < c < 1, so it is positive definite, also with new levels. A product of such leaves counts the
 * categories in which two rows differ.
 *
 * Knots are moved as numbers, so their codes may have a rounding error: a code stands for the nearest whole number. So
 * k has no derivative with respect to z. d k / d log l = k / l for different levels. */
#include <math.h>

#include "kernel/leaf.h"
#include "kernel/vector.h"
#include "oat_config.h"

extern const oat_leaf_table oat_leaf_table_categorical;

static double level_of(double code) { return floor(code + 0.5); }

OAT_CLONES
static void compare(size_t n, const double *x, double level, double equal, double other, double *k) {
  for (size_t i = 0; i < n; i++) {
    k[i] = floor(x[i] + 0.5) == level ? equal : other;
  }
}

static void values(const oat_leaf_at *at, const oat_leaf_desk *desk, double *k) {
  const size_t input = at->leaf->input[0];
  (void)desk;
  compare(at->n, at->x + input * at->ldx, level_of(at->z[input * at->ldz]), at->scale,
          at->scale * exp(-1 / at->parameter[0]), k);
}

OAT_CLONES
static double sum_others(size_t n, const double *g, const double *x, double level) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += floor(x[i] + 0.5) == level ? 0 : g[i];
  }
  return sum;
}

static void adjoint(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k,
                    oat_leaf_gradient *gradient) {
  const size_t input = at->leaf->input[0];
  const double slope = at->scale * exp(-1 / at->parameter[0]) / at->parameter[0];
  (void)desk, (void)k;
  gradient->parameter[0] += slope * sum_others(at->n, g, at->x + input * at->ldx, level_of(at->z[input * at->ldz]));
}

static long double formula(const oat_leaf_at *at, size_t row) {
  const size_t input = at->leaf->input[0];
  const long double x = floorl(at->x[row + input * at->ldx] + 0.5L), z = floorl(at->z[input * at->ldz] + 0.5L);
  return x == z ? 1 : expl(-1 / (long double)at->parameter[0]);
}

const oat_leaf_table oat_leaf_table_categorical = {
    .smooth = true, .formula = formula, .values = values, .adjoint = adjoint};
