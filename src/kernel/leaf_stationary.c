/* The stationary leaves: phi(s), s = sum_j ((x_j - z_j) / l_j)^2 over their own inputs, with the profiles of the
 * kernels. Differences are formed first, so that no digits are lost wherever the points are. Adjacent inputs in x are
 * handled together. */
#include "kernel/leaf.h"
#include "kernel/vector.h"

extern const oat_profile oat_profile_se, oat_profile_exponential, oat_profile_matern32, oat_profile_matern52,
    oat_profile_rq;
extern const oat_leaf_table oat_leaf_table_se, oat_leaf_table_matern12, oat_leaf_table_matern32,
    oat_leaf_table_matern52, oat_leaf_table_rq;

static const oat_profile *profile_of(const oat_leaf_at *at) { return oat_leaf_of(at->leaf->kind)->profile; }

/* Places of the lengthscales among its own parameters. */
static size_t lengthscales_of(const oat_leaf_at *at) { return profile_of(at)->has_shape ? 1 : 0; }

static oat_profile_at profile_at(const oat_leaf_at *at) {
  return (oat_profile_at){at->scale, profile_of(at)->has_shape ? at->parameter[0] : 1};
}

/* The inputs from number `first` of the leaf on that follow each other. */
static oat_axes run_of(const oat_leaf_at *at, size_t first) {
  const size_t *input = at->leaf->input + first, most = at->leaf->inputs - first;
  size_t d = 1;
  while (d < most && input[d] == input[0] + d) {
    d++;
  }
  return (oat_axes){d,       at->x + input[0] * at->ldx,
                    at->ldx, at->z + input[0] * at->ldz,
                    at->ldz, at->weight + lengthscales_of(at) + first,
                    false};
}

static void find_distances(const oat_leaf_at *at, double *s, double *room) {
  for (size_t first = 0; first < at->leaf->inputs;) {
    const oat_axes axes = run_of(at, first);
    oat_distances(at->n, &axes, first == 0 ? s : room);
    if (first > 0) {
      oat_add_scaled(at->n, 1, room, s);
    }
    first += axes.d;
  }
}

static void values(const oat_leaf_at *at, const oat_leaf_desk *desk, double *k) {
  const oat_profile *profile = profile_of(at);
  double *s = desk->room[0];
  find_distances(at, s, desk->room[1]);
  if (desk->kept[0] != NULL) {
    profile->slopes(at->n, profile_at(at), s, k, desk->kept[0], profile->has_shape ? desk->kept[1] : NULL);
  } else {
    profile->values(at->n, profile_at(at), s, k);
  }
}

static void adjoint(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k,
                    oat_leaf_gradient *gradient) {
  double *h = desk->room[0], *first = desk->moments, *second = first + at->leaf->inputs;
  const size_t lengthscales = lengthscales_of(at);
  (void)k;
  if (lengthscales > 0) {
    gradient->parameter[0] += oat_sum_products(at->n, g, desk->kept[1]);
  }
  oat_product(at->n, 1, g, desk->kept[0], h);
  for (size_t from = 0; from < at->leaf->inputs;) {
    const oat_axes axes = run_of(at, from);
    oat_moments(at->n, &axes, h, first + from, second + from);
    from += axes.d;
  }
  for (size_t j = 0; j < at->leaf->inputs; j++) {
    const double weight = at->weight[lengthscales + j];
    gradient->parameter[lengthscales + j] -= 2 * weight * second[j];
    if (gradient->z != NULL) {
      gradient->z[at->leaf->input[j] * gradient->ldz] -= 2 * weight * first[j];
    }
  }
}

static void in_x(const oat_leaf_at *at, const oat_leaf_desk *desk, const double *g, const double *k, double *dx) {
  double *h = desk->room[0];
  (void)k;
  oat_product(at->n, 2, g, desk->kept[0], h);
  for (size_t j = 0; j < at->leaf->inputs; j++) {
    const size_t input = at->leaf->input[j];
    oat_add_differences(at->n, at->weight[lengthscales_of(at) + j], h, at->x + input * at->ldx, at->z[input * at->ldz],
                        dx + input * at->ldx);
  }
}

static long double formula(const oat_leaf_at *at, size_t row) {
  long double s = 0;
  for (size_t j = 0; j < at->leaf->inputs; j++) {
    const size_t input = at->leaf->input[j];
    const long double t =
        ((long double)at->x[row + input * at->ldx] - at->z[input * at->ldz]) / at->parameter[lengthscales_of(at) + j];
    s += t * t;
  }
  return profile_of(at)->formula(s, profile_of(at)->has_shape ? at->parameter[0] : 1);
}

#define STATIONARY(name, of, is_smooth)                              \
  const oat_leaf_table oat_leaf_table_##name = {.smooth = is_smooth, \
                                                .formula = formula,  \
                                                .values = values,    \
                                                .adjoint = adjoint,  \
                                                .in_x = in_x,        \
                                                .profile = &oat_profile_##of}

STATIONARY(se, se, true);
STATIONARY(matern12, exponential, false);
STATIONARY(matern32, matern32, true);
STATIONARY(matern52, matern52, true);
STATIONARY(rq, rq, true);
