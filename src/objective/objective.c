/* What the sparse and the full objective share. */
#include "objective/objective.h"

#include <float.h>
#include <math.h>

#include "linalg/linalg.h"

#define LOWEST_RUNG 1e-12
#define HIGHEST_RUNG 1e-2

oatgp_status oat_objective_create(oatgp_context *ctx, const oat_objective_config *config, oat_objective **out) {
  const oat_objective_table *table = config->approx->sparse ? &oat_objective_sparse : &oat_objective_full;
  return table->create(ctx, config, out);
}

void oat_objective_free(oat_objective *objective) {
  if (objective != NULL) {
    objective->table->destroy(objective);
  }
}

static bool all_finite(size_t n, const double *x) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

static bool gradient_finite(const oat_objective_config *config, const oat_gradient *gradient) {
  return all_finite(oat_theta_count(config->kernel, config->rows->d), gradient->theta) &&
         (gradient->z == NULL || all_finite(config->k * config->rows->d, gradient->z));
}

oatgp_status oat_objective_evaluate(oat_objective *objective, const oat_point *point, double *value, oat_gradient *gradient) {
  objective->pivot = 0;
  const oatgp_status status = objective->table->evaluate(objective, point, value, gradient);
  if (status == OATGP_OK && (!isfinite(*value) || (gradient != NULL && !gradient_finite(&objective->config, gradient)))) {
    return OATGP_NUMERIC;
  }
  return status;
}

oatgp_status oat_objective_settle(oatgp_context *ctx, oat_objective *objective, const oat_point *start) {
  double value;
  const double given = objective->config.jitter;
  double *jitter = &objective->config.jitter;
  oatgp_status status;
  while ((status = oat_objective_evaluate(objective, start, &value, NULL)) == OATGP_NUMERIC && *jitter < HIGHEST_RUNG) {
    *jitter = fmax(10 * *jitter, LOWEST_RUNG);
  }
  if (status == OATGP_OK && *jitter > given) {
    oat_say(ctx, OATGP_WARNING, "the covariance could not be factorised with jitter %g: raised to %g for this fit", given, *jitter);
  }
  if (status == OATGP_NUMERIC) {
    return oat_fail(ctx, OATGP_NUMERIC,
                    "the objective has no finite value at sigma %g, tau %g (scaled), even with jitter %g (pivot %zu); try other start values",
                    start->theta[OAT_SIGMA], start->theta[OAT_TAU], *jitter, objective->pivot);
  }
  return status;
}

/* Solves the normal equations scaled to a unit diagonal, with a ridge at rounding level for collinear columns. */
oatgp_status oat_gls(size_t p, double *gram, double *coefficient) {
  const size_t width = p + 1;
  double *root = gram; /* the diagonal's roots go where gram's first column was needed only for its right side */
  for (size_t j = 0; j < p; j++) {
    coefficient[j] = gram[j + 1];
  }
  for (size_t j = 0; j < p; j++) {
    root[j] = sqrt(fmax(gram[(j + 1) * (width + 1)], DBL_MIN));
  }
  double *a = gram + width; /* p x p, packed in place column after column */
  for (size_t j = 0; j < p; j++) {
    for (size_t i = 0; i < p; i++) {
      a[i + j * p] = gram[(i + 1) + (j + 1) * width] / (root[i] * root[j]);
    }
    a[j + j * p] = 1 + 1e-13 * (double)p;
    coefficient[j] /= root[j];
  }
  if (p > 0 && oat_cholesky(p, a) != 0) {
    return OATGP_NUMERIC;
  }
  const oat_view right = {coefficient, p, 1, p > 0 ? p : 1};
  oat_solve_left(a, p, OAT_PLAIN, right);
  oat_solve_left(a, p, OAT_TRANSPOSED, right);
  for (size_t j = 0; j < p; j++) {
    coefficient[j] /= root[j];
  }
  return OATGP_OK;
}
