/* The mean of the posterior without some of its rows or knots. How far it moves shows how well the rows determine it,
 * whether or not the prior suits them.
 *
 * The mean is m(x) + k(x, Z) a with a = P t. P is the inverse of the covariance of what is known at the knots, and t
 * that itself (with the full GP: of the rows, and their residuals):
 *   full GP: P = S^-1 = (L L^T)^-1
 *   sparse:  P = L^-T (I - (LB LB^T)^-1) L^-1, as if each knot had been observed, with noise of the covariance that
 *            makes the posterior the same
 * Without the members of a group g it has the weights a - P[:, g] P[g, g]^-1 a[g], which are 0 in the group. Groups are
 * random, and each knot is in one of them. Parameters and the coefficients of the mean stay.
 *
 * O(K^3) and K x K numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/predict.h"
#include "util/rng.h"

typedef struct leaving {
  oatgp_context *ctx;
  oat_scratch memory;
  const oatgp_model *model;
  int threads;
  size_t k;
  double *p;     /* K x K */
  size_t *order; /* K: knots in random order; those of a group follow each other */
  size_t count;  /* of the group */
  size_t *group; /* its knots, in `order` */
  double *block; /* P[g, g], then its factor, and the sides of it; each has room for the largest group */
  double *factor, *column;
} leaving;

static oatgp_status allocate(leaving *l, size_t groups) {
  const size_t most = (l->k + groups - 1) / groups;
  l->p = oat_take_doubles(&l->memory, l->k, l->k);
  l->order = oat_take(&l->memory, l->k, sizeof *l->order);
  l->block = oat_take_doubles(&l->memory, most, most);
  l->factor = oat_take_doubles(&l->memory, most, most);
  l->column = oat_take_doubles(&l->memory, most, 1);
  return l->memory.status;
}

/* P in full. */
static void find_precision(leaving *l) {
  const oatgp_model *model = l->model;
  const size_t k = l->k;
  const oat_view p = {l->p, k, k, k};
  oat_cholesky_inverse(k, model->approx->sparse ? model->lb : model->l, l->p, l->threads);
  oat_symmetrise(k, l->p, l->threads);
  if (!model->approx->sparse) {
    return;
  }
  for (size_t i = 0; i < k * k; i++) {
    l->p[i] = (i % (k + 1) == 0) - l->p[i];
  }
  for (size_t side = 0; side < 2; side++) {
    oat_solve_left(model->l, k, OAT_TRANSPOSED, p, l->threads);
    for (size_t j = 0; j < k; j++) {
      for (size_t i = 0; i < j; i++) {
        const double value = l->p[i + j * k];
        l->p[i + j * k] = l->p[j + i * k];
        l->p[j + i * k] = value;
      }
    }
  }
}

/* P[g, g]^-1 a[g], to `column`. In a direction that the rows hardly determine, P is 0 up to rounding. */
static oatgp_status solve_group(leaving *l, const double *a) {
  const size_t n = l->count;
  double trace = 0;
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < n; i++) {
      l->block[i + j * n] = l->p[l->group[i] + l->group[j] * l->k];
    }
    trace += l->block[j * (n + 1)];
    l->column[j] = a[l->group[j]];
  }
  const double scale = trace / (double)n;
  if (scale <= 0) { /* P is only rounding error, so the mean does not depend on the group */
    memset(l->column, 0, n * sizeof *l->column);
    return OATGP_OK;
  }
  const oat_lifts lifts = {.plain = !l->model->approx->sparse, .least = 1e-12 * scale, .factor = 10, .most = scale};
  REFUSE_IF(!(scale > 0) || oat_cholesky_lifted(n, l->block, &lifts, l->factor, l->threads).pivot != 0, l->ctx,
            OATGP_NUMERIC, "the model cannot be divided into groups of rows: it is damaged");
  const oat_view column = {l->column, n, 1, n};
  oat_solve_left(l->factor, n, OAT_PLAIN, column, l->threads);
  oat_solve_left(l->factor, n, OAT_TRANSPOSED, column, l->threads);
  return OATGP_OK;
}

/* The weights without the group, from those of all. */
static oatgp_status leave_out(leaving *l, const double *a, double *without) {
  PASS_ON(solve_group(l, a));
  memcpy(without, a, l->k * sizeof *without);
  for (size_t j = 0; j < l->count; j++) {
    const double *const p = l->p + l->group[j] * l->k;
    for (size_t i = 0; i < l->k; i++) {
      without[i] -= p[i] * l->column[j];
    }
  }
  for (size_t j = 0; j < l->count; j++) {
    without[l->group[j]] = 0;
  }
  return OATGP_OK;
}

oatgp_status oat_means_without(oatgp_context *ctx, const oatgp_model *model, size_t groups, uint64_t seed,
                               oatgp_function **out) {
  const size_t k = model->k;
  leaving l = {.ctx = ctx, .memory = {.ctx = ctx}, .model = model, .k = k};
  l.threads = oat_where_known(oat_where_of(ctx)).threads;
  double *const weights = oat_take_doubles(&l.memory, k, groups + 1);
  oat_rng rng;
  oatgp_status status;
  TRY(allocate(&l, groups));
  oat_rng_seed(&rng, seed);
  oat_rng_sample(&rng, k, k, l.order);
  oat_predict_weights(model, l.threads, weights);
  find_precision(&l);
  for (size_t g = 0; g < groups; g++) {
    const size_t first = k * g / groups;
    l.group = l.order + first;
    l.count = k * (g + 1) / groups - first;
    TRY(leave_out(&l, weights, weights + (g + 1) * k));
  }
  TRY(oat_functions_of(ctx, model, groups + 1, weights, out));
done:
  oat_scratch_free(&l.memory);
  return status;
}
