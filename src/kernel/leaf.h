/* What a leaf of a kernel expression computes. Each kind of leaf is one file that ends with its table (the stationary
 * leaves share one); oatgp_leaves.def lists them, and tree.c combines them into sums, products and powers. */
#ifndef OAT_LEAF_H
#define OAT_LEAF_H

#include "kernel/expression.h"
#include "kernel/kernel.h"

/* A leaf between n points x (input j at x + j * ldx) and one point z (input j at z[j * ldz]), times `scale`. */
typedef struct oat_leaf_at {
  const oat_leaf *leaf;
  const double *parameter; /* its own */
  const double *weight;    /* 1 / parameter^2 */
  double scale;
  size_t n;
  const double *x;
  size_t ldx;
  const double *z;
  size_t ldz;
} oat_leaf_at;

enum { OAT_LEAF_KEPT = 2, OAT_LEAF_ROOM = 2 };

/* Data for the adjoint: computed with the values, and scratch. */
typedef struct oat_leaf_desk {
  double *kept[OAT_LEAF_KEPT]; /* n each */
  double *room[OAT_LEAF_ROOM]; /* n each, for one call */
  double *moments;             /* two for each input */
} oat_leaf_desk;

/* Sums that the adjoint adds to. */
typedef struct oat_leaf_gradient {
  double *parameter; /* in the logarithms of its own parameters */
  double *z;         /* input j at z[j * ldz], or NULL if it is not wanted */
  size_t ldz;
} oat_leaf_gradient;

typedef struct oat_leaf_table {
  bool smooth; /* differentiable where two points meet, so that knots can be moved by their gradient */
  bool varies; /* k(x, x) is not the same for all points; else it is 1 */
  /* the formula of the list, without the scale, for tests; x and z are points with inputs ldx and ldz apart */
  long double (*formula)(const oat_leaf_at *at, size_t row);
  /* k_i, and the data for the adjoint if desk->kept[0] is not NULL */
  void (*values)(const oat_leaf_at *at, const oat_leaf_desk *desk, double *k);
  /* adds sum g_i dk_i, from the values and the kept data */
  void (*adjoint)(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k,
                  oat_leaf_gradient *gradient);
  /* adds g_i dk_i / d x_i to dx, which is laid out as x; NULL where that is 0 */
  void (*in_x)(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k, double *dx);
  /* if it varies: k(x_i, x_i), with the data for its adjoint in `kept`; and the adjoint, whose gradient->z is laid out
   * as x */
  void (*diagonal)(const oat_leaf_at *at, double *k, double *kept);
  void (*diagonal_adjoint)(const oat_leaf_at *at, const double *kept, const double *g, oat_leaf_gradient *gradient);
  const oat_profile
      *profile; /* of a stationary leaf, which has a lengthscale for each input behind its shape; else NULL */
} oat_leaf_table;

const oat_leaf_table *oat_leaf_of(oat_leaf_kind kind);

/* Between point `row` of x and z. */
static inline long double oat_leaf_product(const oat_leaf_at *at, size_t row) {
  long double sum = 0;
  for (size_t j = 0; j < at->leaf->inputs; j++) {
    const size_t input = at->leaf->input[j];
    sum += (long double)at->x[row + input * at->ldx] * at->z[input * at->ldz];
  }
  return sum;
}

#endif
