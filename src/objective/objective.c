/* What the sparse and the full objective share. */
#include "objective/objective.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/linalg.h"

#define LOWEST_RUNG 1e-12
#define HIGHEST_RUNG 1e-2
#define UNTOLD_RUNG 1e-9 /* up to here a jitter that the fit chooses itself is raised without a word */

oatgp_status oat_objective_create(oatgp_context *ctx, const oat_objective_config *config, oat_objective **out) {
  const oat_objective_table *table = config->approx->sparse ? &oat_objective_sparse : &oat_objective_full;
  return table->create(ctx, config, out);
}

void oat_objective_free(oat_objective *objective) {
  if (objective != NULL) {
    objective->table->destroy(objective);
  }
}

void oat_objective_resize(oat_objective *objective, size_t k) { objective->table->resize(objective, k); }

static bool all_finite(size_t n, const double *x) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

static bool gradient_finite(const oat_objective_config *config, const oat_gradient *gradient) {
  return all_finite(oat_theta_count(config->kernel, oat_rows_inputs(config->rows)), gradient->theta) &&
         (gradient->z == NULL || all_finite(config->k * oat_rows_inputs(config->rows), gradient->z));
}

oatgp_status oat_objective_evaluate(oat_objective *objective, const oat_point *point, double *value, oat_gradient *gradient) {
  objective->pivot = 0;
  const oatgp_status status = objective->table->evaluate(objective, point, value, gradient);
  if (status == OATGP_OK && (!isfinite(*value) || (gradient != NULL && !gradient_finite(&objective->config, gradient)))) {
    return OATGP_NUMERIC;
  }
  return status;
}

oatgp_status oat_objective_rejected(oatgp_context *ctx, const oat_objective *objective, const oat_point *point) {
  return oat_fail(
      ctx, OATGP_NUMERIC,
      "the objective has no finite value at sigma %g, tau %g (scaled), jitter %g (pivot %zu); try other start values or a larger "
      "--jitter",
      point->theta[OAT_SIGMA], point->theta[OAT_TAU], objective->config.jitter, objective->pivot);
}

bool oat_objective_raise_jitter(oat_objective *objective) {
  double *jitter = &objective->config.jitter;
  const bool can = *jitter < HIGHEST_RUNG;
  *jitter = can ? fmin(fmax(10 * *jitter, LOWEST_RUNG), HIGHEST_RUNG) : *jitter;
  return can;
}

oatgp_status oat_objective_settle(oatgp_context *ctx, oat_objective *objective, const oat_point *start, double *value,
                                  oat_gradient *gradient) {
  const double given = objective->config.jitter, *jitter = &objective->config.jitter;
  oatgp_status status;
  do {
    status = oat_objective_evaluate(objective, start, value, gradient);
  } while (status == OATGP_NUMERIC && oat_objective_raise_jitter(objective));
  if (status == OATGP_OK && *jitter > given && (!objective->config.soft || *jitter > UNTOLD_RUNG)) {
    oat_say(ctx, OATGP_WARNING, "the covariance could not be factorised with jitter %g: raised to %g for this fit", given, *jitter);
  }
  if (status == OATGP_NUMERIC) {
    return oat_fail(
        ctx, OATGP_NUMERIC,
        "the objective has no finite value%s at sigma %g, tau %g (scaled), even with jitter %g (pivot %zu); try other start values",
        gradient != NULL ? " and gradient" : "", start->theta[OAT_SIGMA], start->theta[OAT_TAU], *jitter, objective->pivot);
  }
  return status;
}

/* L^-T L^-1 x, in place. */
static void solve_both(size_t p, const double *l, double *x) {
  const oat_view right = {x, p, 1, p};
  oat_solve_left(l, p, OAT_PLAIN, right);
  oat_solve_left(l, p, OAT_TRANSPOSED, right);
}

/* Solves the normal equations scaled to a unit diagonal. The ridge is at rounding level, and is raised until the factorisation goes
 * through: where gram is a small difference of large sums, collinear columns have lost more digits than that. */
oatgp_status oat_gls(size_t p, double *gram, const double *size, double *coefficient) {
  const size_t width = p + 1;
  double *root = gram; /* the diagonal's roots go where gram's first column was needed only for its right side */
  double *a = gram + width, *l = gram + width * width; /* p x p each, the first packed in place column after column */
  for (size_t j = 0; j < p; j++) {
    coefficient[j] = gram[j + 1];
  }
  for (size_t j = 0; j < p; j++) {
    const size_t diagonal = (j + 1) * (width + 1);
    root[j] = sqrt(fmax(gram[diagonal], DBL_EPSILON * size[diagonal]));
    coefficient[j] /= root[j];
  }
  for (size_t i = 0; i < p * p; i++) {
    a[i] = gram[(i % p + 1) + (i / p + 1) * width] / (root[i % p] * root[i / p]);
  }
  oatgp_status status = p > 0 ? OATGP_NUMERIC : OATGP_OK;
  for (double ridge = 1e-13 * (double)p; status != OATGP_OK && ridge < 1e4; ridge *= 10) {
    memcpy(l, a, p * p * sizeof *l);
    for (size_t j = 0; j < p; j++) {
      l[j * (p + 1)] = 1 + ridge;
    }
    status = oat_cholesky(p, l) == 0 ? OATGP_OK : OATGP_NUMERIC;
  }
  if (status == OATGP_OK) {
    solve_both(p, l, coefficient);
  }
  for (size_t j = 0; j < p; j++) {
    coefficient[j] /= root[j];
  }
  return status;
}
