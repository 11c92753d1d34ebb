/* The incumbent is the model that an automatic fit would return now. A constant with noise replaces it if that predicts
 * better. */
#include "knots/auto.h"

#include <math.h>

#define CHANCE 2.0       /* nats: random targets with 3 inputs gave up to 5.4 in 25 trials */
#define SURE 0.3         /* nats times the square root of the number of rows: the gain in density that counts as sure */
#define NOISE_SIGMA 1e-3 /* sigma of a model without signal, relative to tau */
#define LEFT_OUT \
  0.01 /* nats a row: how much worse the leave-one-out density of a later stage may be than that of an earlier one */
#define HIGHEST_FLOOR 1e-9 /* of the jitter that is raised when knots cannot be factorised */

oatgp_status oat_auto_evaluate(oat_search *s) {
  oatgp_status status = oat_search_evaluate(s);
  while (status == OATGP_NUMERIC && s->objective->config.soft && s->objective->config.jitter < HIGHEST_FLOOR) {
    oat_objective_raise_jitter(s->objective);
    status = oat_search_evaluate(s);
  }
  return status;
}

/* ---- the incumbent --------------------------------------------------------------------------------------------- */

static void offer_with(oat_search *s, double left_out, bool exact) {
  oat_search_state *state = &s->state;
  const bool far = state->best_exact && !exact && state->value < state->evidence - oat_auto_tolerance(s);
  if (far || !(left_out >= state->left_out - LEFT_OUT * (double)oat_auto_rows(s))) {
    return;
  }
  oat_search_copy(s, &s->point, state->k, &s->best);
  state->best_k = state->k;
  state->best_value = state->value;
  state->best_exact = exact;
  state->best_neighbours = 0;
  state->left_out = fmax(state->left_out, left_out);
}

void oat_incumbent_offer_exact(oat_search *s, const oat_optimum *found) {
  s->state.value = found->evidence;
  offer_with(s, found->left_out, true);
}

oatgp_status oat_incumbent_offer(oat_search *s) {
  double left_out;
  oatgp_status status = OATGP_OK;
  if (oat_auto_evaluate(s) == OATGP_OK) {
    TRY(oat_objective_left_out(s->objective, &s->point, &left_out));
    offer_with(s, left_out, false);
  }
done:
  return status;
}

void oat_incumbent_forget(oat_search *s) {
  s->state.best_value = -HUGE_VAL;
  s->state.best_exact = false;
  s->state.best_neighbours = 0;
  s->state.left_out = -HUGE_VAL;
}

/* ---- nothing but noise ----------------------------------------------------------------------------------------- */

/* Whether the function may vanish: all its sigmas are free. */
static bool may_vanish(const oat_mapping *mapping) {
  bool free = true;
  for (size_t i = 0; i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    free = free && (mapping->free[i] || !oat_parameter_is_sigma(mapping->kernel, i));
  }
  return free;
}

/* Whether a constant with noise can be the result. *value is then its objective, which is close to its leave-one-out
 * density, too. */
static bool has_constant(const oat_search *s, double *value) {
  const oat_mapping *mapping = &s->mapping;
  const oat_rows *rows = s->objective->config.rows;
  double tau;
  *value = oat_objective_constant(s->objective, rows, s->point.theta, &tau);
  /* with a non-Gaussian target, the basis of the mean contains the constant, and there is no noise */
  const bool possible = oat_rows_have_answers(rows) || (oat_rows_basis(rows) == 0 && mapping->free[OAT_TAU]);
  return s->given->guard && !oat_rows_known_noise(rows) && possible && may_vanish(mapping) && tau > 0;
}

/* Chance alone gains up to CHANCE nats for sigma and for each input in use. */
static double gain_by_chance(const oat_search *s) { return CHANCE * oat_subset_used(s, s->point.theta); }

bool oat_incumbent_may_be_chance(const oat_search *s, const oat_optimum *found) {
  double constant;
  return has_constant(s, &constant) && found->evidence - found->prior < found->constant + gain_by_chance(s);
}

/* Few rows without noise may have no more evidence than chance gives. If a prior kept the parameters from overfitting
 * these rows, their leave-one-out density decides. It is compared with the evidence of a constant, which is close to
 * the constant's own leave-one-out density. They must be better by SURE and, because the parameters were fitted to the
 * same rows, by what chance gains. */
static bool predicts(const oat_search *s, const oat_optimum *found) {
  const double rows = (double)oat_auto_rows(s);
  return s->objective->config.prior != NULL && oat_subset_few_rows(s, s->point.theta, rows) &&
         found->left_out > found->constant + SURE * sqrt(rows) + gain_by_chance(s);
}

bool oat_incumbent_is_chance(const oat_search *s, const oat_optimum *found) {
  return oat_incumbent_may_be_chance(s, found) && !predicts(s, found);
}

/* Sets the parameters to those of a constant with noise, and fixes them. */
static void become_constant(oat_search *s) {
  oat_objective_constant(s->objective, s->objective->config.rows, s->point.theta, &s->point.theta[OAT_TAU]);
  for (size_t i = 0; i < oat_theta_count(s->mapping.kernel, s->mapping.d); i++) {
    if (oat_parameter_is_sigma(s->mapping.kernel, i)) {
      s->point.theta[i] = NOISE_SIGMA * s->point.theta[OAT_TAU];
    }
  }
  s->state.held = true;
}

void oat_incumbent_call_noise(oat_search *s, oat_optimum *found) {
  const double noise = oat_objective_constant(s->objective, s->objective->config.rows, s->point.theta, NULL);
  oat_say(s->ctx, OATGP_WARNING,
          "the inputs explain the target no better than chance: the exact GP gains %.2g nats over a constant with "
          "noise, and its parameters may gain %.2g by chance; the model is that constant (--no-guard fits anyway)",
          fmax(found->evidence - found->prior - noise, 0), gain_by_chance(s));
  oat_incumbent_forget(s);
  become_constant(s);
  found->prior = oat_objective_log_prior(s->objective, s->point.theta);
  found->evidence = noise + found->prior;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* Tells how far the result is from the exact GP, if that is known. A bound is above what the exact GP has reached only
 * if its parameters are better. */
static void tell_gap(const oat_search *s) {
  const double gap = (s->state.evidence - s->state.value) / (double)oat_auto_rows(s);
  const bool bound = oat_approx_bound(s->objective->config.approx);
  if (s->state.exact && oat_search_halted(s)) {
    oat_say(s->ctx, OATGP_NOTE,
            "the fit was stopped before it chose knots; the model is the exact GP at the best parameters so far");
  } else if (s->state.exact) {
    oat_say(s->ctx, OATGP_NOTE,
            "the model is the exact GP, because knots did not come within --tol-row of its log evidence (--max-knots=K "
            "uses knots anyway)");
  } else if (s->state.neighbours > 0) {
    oat_say(s->ctx, OATGP_NOTE,
            "the model uses neighbours as well as knots, because they predict held-out rows better than more knots do; "
            "its file holds the rows (--max-knots=K uses knots alone)");
  } else if (isfinite(s->state.evidence) && !s->state.held && (bound ? gap : fabs(gap)) > s->given->tol_row) {
    oat_say(s->ctx, OATGP_WARNING,
            "the objective is %.3g nats per row %s the log evidence of the exact GP; allow more knots (--max-knots) or "
            "use --approx=full",
            fabs(gap), gap > 0 ? "below" : "above");
  }
}

/* Makes a constant the result, because no stage was better. */
static oatgp_status fall_to_constant(oat_search *s) {
  oat_say(s->ctx, OATGP_WARNING,
          oat_search_halted(s)
              ? "the fit was stopped before any model predicted better than a constant; the model is that constant"
              : "no model predicts held-out rows better than a constant; the model is that constant (--no-guard keeps "
                "the best model anyway)");
  become_constant(s);
  return oat_auto_evaluate(s);
}

oatgp_status oat_incumbent_conclude(oat_search *s) {
  oat_search_state *state = &s->state;
  const bool calibrated =
      s->objective->config.approx->residual != OAT_RESIDUAL_NONE; /* dic is not, so its density says little */
  double constant;
  oatgp_status status = OATGP_OK;
  if (state->held) { /* the model is already a constant */
    return OATGP_OK;
  }
  if (calibrated && has_constant(s, &constant) && !(state->left_out > constant)) {
    TRY(fall_to_constant(s));
  } else if (state->best_value > -HUGE_VAL) {
    oat_search_copy(s, &s->best, state->best_k, &s->point);
    state->k = state->best_k;
    state->value = state->best_value;
    state->exact = state->best_exact;
    state->neighbours = state->best_neighbours;
  } else {
    TRY(oat_auto_evaluate(s));
  }
  tell_gap(s);
done:
  return status;
}
