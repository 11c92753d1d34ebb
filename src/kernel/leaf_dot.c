/* The leaves that depend on t = x . z over their own inputs: linear, t, and polynomial, (offset + t)^degree. */
#include "kernel/leaf.h"
#include "kernel/vector.h"
#include "oat_config.h"

extern const oat_leaf_table oat_leaf_table_linear, oat_leaf_table_polynomial;

static bool is_linear(const oat_leaf_at *at) { return at->leaf->kind == OAT_LEAF_linear; }

/* k = scale b^degree for b = offset + t, in place of t, and slope = scale degree b^(degree - 1); slope may be NULL. */
OAT_CLONES
static void raise(size_t n, unsigned degree, double offset, double scale, double *k, double *slope) {
  for (size_t i = 0; i < n; i++) {
    const double b = offset + k[i];
    double power = scale;
    for (unsigned p = 1; p < degree; p++) {
      power *= b;
    }
    if (slope != NULL) {
      slope[i] = degree * power;
    }
    k[i] = power * b;
  }
}

/* Turns t into k and its slope. */
static void apply(const oat_leaf_at *at, double *k, double *slope) {
  raise(at->n, is_linear(at) ? 1 : at->leaf->degree, is_linear(at) ? 0 : at->parameter[0], at->scale, k, slope);
}

static void values(const oat_leaf_at *at, const oat_leaf_desk *desk, double *k) {
  for (size_t j = 0; j < at->leaf->inputs; j++) {
    const size_t input = at->leaf->input[j];
    (j == 0 ? oat_scaled_copy : oat_add_scaled)(at->n, at->z[input * at->ldz], at->x + input * at->ldx, k);
  }
  apply(at, k, desk->kept[0]);
}

static void diagonal(const oat_leaf_at *at, double *k, double *kept) {
  for (size_t i = 0; i < at->n; i++) {
    k[i] = 0;
  }
  for (size_t j = 0; j < at->leaf->inputs; j++) {
    oat_add_squares(at->n, at->x + at->leaf->input[j] * at->ldx, k);
  }
  apply(at, k, kept);
}

/* t = x . x has the derivative 2 x. */
static void diagonal_adjoint(const oat_leaf_at *at, const double *kept, const double *g, oat_leaf_gradient *gradient) {
  for (size_t i = 0; i < at->n; i++) {
    const double h = g[i] * kept[i];
    if (!is_linear(at)) {
      gradient->parameter[0] += at->parameter[0] * h;
    }
    for (size_t j = 0; gradient->z != NULL && j < at->leaf->inputs; j++) {
      const size_t input = at->leaf->input[j];
      gradient->z[i + input * gradient->ldz] += 2 * h * at->x[i + input * at->ldx];
    }
  }
}

static void adjoint(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k,
                    oat_leaf_gradient *gradient) {
  double *h = desk->room[0];
  (void)k;
  oat_product(at->n, 1, g, desk->kept[0], h);
  if (!is_linear(at)) {
    gradient->parameter[0] += at->parameter[0] * oat_sum(at->n, h);
  }
  for (size_t j = 0; gradient->z != NULL && j < at->leaf->inputs; j++) {
    const size_t input = at->leaf->input[j];
    gradient->z[input * gradient->ldz] += oat_sum_products(at->n, h, at->x + input * at->ldx);
  }
}

static void in_x(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k, double *dx) {
  double *h = desk->room[0];
  (void)k;
  oat_product(at->n, 1, g, desk->kept[0], h);
  for (size_t j = 0; j < at->leaf->inputs; j++) {
    const size_t input = at->leaf->input[j];
    oat_add_scaled(at->n, at->z[input * at->ldz], h, dx + input * at->ldx);
  }
}

static long double formula(const oat_leaf_at *at, size_t row) {
  const long double t = oat_leaf_product(at, row), b = is_linear(at) ? t : at->parameter[0] + t;
  long double power = 1;
  for (unsigned p = 0; p < (is_linear(at) ? 1 : at->leaf->degree); p++) {
    power *= b;
  }
  return power;
}

#define DOT(name)                                                     \
  const oat_leaf_table oat_leaf_table_##name = {.smooth = true,       \
                                                .varies = true,       \
                                                .formula = formula,   \
                                                .values = values,     \
                                                .adjoint = adjoint,   \
                                                .in_x = in_x,         \
                                                .diagonal = diagonal, \
                                                .diagonal_adjoint = diagonal_adjoint}

DOT(linear);
DOT(polynomial);
