/* Levels of a category: 1 for equal levels, else nothing in common. */
#include "kernel/leaf.h"

extern const oat_leaf_table oat_leaf_table_categorical;

static void values(const oat_leaf_at *at, const oat_leaf_desk *desk, double *k) {
  const size_t input = at->leaf->input[0];
  const double *x = at->x + input * at->ldx, z = at->z[input * at->ldz];
  (void)desk;
  for (size_t i = 0; i < at->n; i++) {
    k[i] = x[i] == z ? at->scale : 0;
  }
}

/* A level has no derivative. */
static void adjoint(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k, oat_leaf_gradient *gradient) {
  (void)at, (void)desk, (void)g, (void)k, (void)gradient;
}

static long double formula(const oat_leaf_at *at, size_t row) {
  const size_t input = at->leaf->input[0];
  return at->x[row + input * at->ldx] == at->z[input * at->ldz];
}

const oat_leaf_table oat_leaf_table_categorical = {.smooth = true, .formula = formula, .values = values, .adjoint = adjoint};
