/* The incumbent is the model that an automatic fit would end with now. A constant with noise takes its place if that
 * predicts better. */
#include "knots/auto.h"

#include <math.h>

#define CHANCE 2.0         /* nats: random targets with 3 inputs gave up to 5.4 in 25 trials */
#define NOISE_SIGMA 1e-3   /* of a model that is all noise, relative to tau */
#define LEFT_OUT 0.01      /* nats a row: by so much a later stage may predict the rows left out worse than an earlier one did */
#define HIGHEST_FLOOR 1e-9 /* of the jitter that is raised when knots cannot be factorised */

oatgp_status oat_auto_evaluate(oat_search *s) {
  oatgp_status status = oat_search_evaluate(s);
  while (status == OATGP_NUMERIC && s->objective->config.soft && s->objective->config.jitter < HIGHEST_FLOOR) {
    oat_objective_raise_jitter(s->objective);
    status = oat_search_evaluate(s);
  }
  return status;
}

/* ---- the incumbent ----------------------------------------------------------------------------------------------- */

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

/* ---- nothing but noise ------------------------------------------------------------------------------------------- */

/* Whether the function may become nothing: all its sigmas are free. */
static bool may_vanish(const oat_mapping *mapping) {
  bool free = true;
  for (size_t i = 0; i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    free = free && (mapping->free[i] || !oat_parameter_is_sigma(mapping->kernel, i));
  }
  return free;
}

/* Whether a constant with noise can be the result; then its objective, which is also about what the rows left out have,
 * is *value. */
static bool has_constant(const oat_search *s, double *value) {
  const oat_mapping *mapping = &s->mapping;
  const oat_rows *rows = s->objective->config.rows;
  double tau;
  *value = oat_objective_constant(s->objective, rows, s->point.theta, &tau);
  /* of answers that are not Gaussian the constant is estimated with the mean's basis, and there is no noise to be free */
  const bool possible = oat_rows_have_answers(rows) || (oat_rows_basis(rows) == 0 && mapping->free[OAT_TAU]);
  return s->given->guard && !oat_rows_known_noise(rows) && possible && may_vanish(mapping) && tau > 0;
}

/* Chance gives CHANCE nats for sigma and for each input that is used. */
bool oat_incumbent_is_chance(const oat_search *s, const oat_optimum *found) {
  double constant;
  return has_constant(s, &constant) && found->evidence < found->constant + CHANCE * oat_subset_used(s, s->point.theta);
}

/* The parameters of a constant with noise, which are then held. */
static void become_constant(oat_search *s) {
  oat_objective_constant(s->objective, s->objective->config.rows, s->point.theta, &s->point.theta[OAT_TAU]);
  for (size_t i = 0; i < oat_theta_count(s->mapping.kernel, s->mapping.d); i++) {
    if (oat_parameter_is_sigma(s->mapping.kernel, i)) {
      s->point.theta[i] = NOISE_SIGMA * s->point.theta[OAT_TAU];
    }
  }
  s->state.held = true;
}

void oat_incumbent_call_noise(oat_search *s, double *evidence) {
  const double noise = oat_objective_constant(s->objective, s->objective->config.rows, s->point.theta, NULL);
  oat_say(s->ctx, OATGP_WARNING,
          "the inputs say nothing of the target that chance would not: the exact GP has only %.2g nats over a constant with noise; the "
          "model is that constant (--no-guard fits all the same)",
          fmax(*evidence - noise, 0));
  oat_incumbent_forget(s);
  become_constant(s);
  *evidence = noise;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* What the result is beside the exact GP, where that is known. */
static void tell_gap(const oat_search *s) {
  const double gap = (s->state.evidence - s->state.value) / (double)oat_auto_rows(s);
  if (s->state.exact && oat_search_halted(s)) {
    oat_say(s->ctx, OATGP_NOTE, "the fit was stopped before it had chosen knots: the model is the exact GP at the best parameters so far");
  } else if (s->state.exact) {
    oat_say(s->ctx, OATGP_NOTE,
            "the model is the exact GP: knots did not come within --tol-row of its log evidence (--max-knots K keeps to knots)");
  } else if (s->state.neighbours > 0) {
    oat_say(
        s->ctx, OATGP_NOTE,
        "the model has neighbours beside its knots, since rows left out are predicted better by them than by more knots; its file holds "
        "the rows (--max-knots K keeps to knots)");
  } else if (isfinite(s->state.evidence) && fabs(gap) > s->given->tol_row) {
    oat_say(s->ctx, OATGP_WARNING,
            "the objective is %.3g nats a row %s the log evidence of the exact GP: allow more knots (--max-knots), or take --approx full",
            fabs(gap), gap > 0 ? "below" : "above");
  }
}

/* The constant, where no stage is better. */
static oatgp_status fall_to_constant(oat_search *s) {
  oat_say(s->ctx, OATGP_WARNING,
          oat_search_halted(s)
              ? "the fit was stopped before it had a model that predicts better than a constant: the model is that constant"
              : "no model predicts rows that are left out better than a constant does: the model is that constant "
                "(--no-guard takes the best model all the same)");
  become_constant(s);
  return oat_auto_evaluate(s);
}

oatgp_status oat_incumbent_conclude(oat_search *s) {
  oat_search_state *state = &s->state;
  const bool calibrated = s->objective->config.approx->residual != OAT_RESIDUAL_NONE; /* dic is not, and so says little by its density */
  double constant;
  oatgp_status status = OATGP_OK;
  if (state->held) { /* it is a constant already */
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
