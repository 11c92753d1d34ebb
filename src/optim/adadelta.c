/* ADADELTA as the paper uses it: per coordinate
 *   G = rho G + (1 - rho) g^2,  step = eta^-s sqrt(D + eps) / sqrt(G + eps) g,  D = rho D + (1 - rho) step^2,
 * and, with the gradient g' at the new point, s = rho s + (1 - rho) weight |sign g' - sign g|: a coordinate whose
 * derivative keeps changing sign takes ever smaller steps. A rejected point halves the step. */
#include <math.h>

#include "linalg/linalg.h"
#include "optim/optim.h"

enum { VECTORS = 3, HALVINGS = 30 }; /* G, D, s; within a step: the step, the new point, its gradient */

/* Of its state, and of its scratch. */
static size_t vectors_size(size_t n, const oat_optim_settings *settings) {
  (void)settings;
  return VECTORS * n;
}

static double sign(double x) { return (double)((x > 0) - (x < 0)); }

static void propose(oat_optim *optim, double *step) {
  const oat_optim_settings *settings = optim->settings;
  const size_t n = optim->problem->n;
  double *g2 = optim->own, *d2 = g2 + n, *s = d2 + n;
  const double rho = settings->decay, epsilon = settings->epsilon;
  for (size_t i = 0; i < n; i++) {
    const double g = optim->gradient[i];
    g2[i] = rho * g2[i] + (1 - rho) * g * g;
    step[i] = pow(settings->eta, -s[i]) * sqrt(d2[i] + epsilon) / sqrt(g2[i] + epsilon) * g;
    d2[i] = rho * d2[i] + (1 - rho) * step[i] * step[i];
  }
}

static bool take(oat_optim *optim, const double *step, double *x, double *gradient, double *value) {
  double fraction = 1;
  for (int i = 0; i < HALVINGS; i++, fraction /= 2) {
    for (size_t j = 0; j < optim->problem->n; j++) {
      x[j] = oat_optim_clamp(optim->problem, j, optim->x[j] + fraction * step[j]);
    }
    if (oat_optim_evaluate(optim, x, value, gradient)) {
      return true;
    }
    if (oat_optim_out_of_budget(optim)) {
      return false;
    }
  }
  return false;
}

static bool adadelta_step(oat_optim *optim) {
  const size_t n = optim->problem->n;
  double *step = optim->scratch, *x = step + n, *gradient = x + n, *s = optim->own + 2 * n, value;
  const double rho = optim->settings->decay;
  propose(optim, step);
  if (!take(optim, step, x, gradient, &value)) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    s[i] = rho * s[i] + (1 - rho) * optim->problem->sign_weight[i] * fabs(sign(gradient[i]) - sign(optim->gradient[i]));
    optim->x[i] = x[i];
    optim->gradient[i] = gradient[i];
  }
  optim->counter[OAT_VALUE] = value;
  return true;
}

static bool adadelta_sound(const oat_optim *optim) {
  return oat_all_finite(VECTORS * optim->problem->n, optim->own, 0);
}

extern const oat_optim_method oat_optim_adadelta;
const oat_optim_method oat_optim_adadelta = {"adadelta",   false,         vectors_size,
                                             vectors_size, adadelta_step, adadelta_sound};
