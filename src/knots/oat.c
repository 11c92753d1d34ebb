/* One-at-a-time knot selection (OAT), the algorithm of the paper:
 *   1. optimise the parameters with the starting knots fixed;
 *   2. propose a new knot (or a batch);
 *   3. optimise the parameters and the new knot together, with the old knots fixed;
 *   4. keep it if the objective rose by more than tol_knot, else drop it and stop; repeat from 2 up to max_knots.
 * It does not depend on how knots are proposed. */
#include <stdlib.h>

#include "knots/strategy.h"

/* With few knots the optimum of the parameters can be one where everything is noise, and a model grown from there never
 * recovers. If the first optimisation ends there, the parameters are held at their start values until there are this
 * many knots; should the end be lower all the same, the optimum that was left is the result. */
enum { GUARD_KNOTS = 20 };
#define NOISE_NATS 1e-3 /* per row: the most that such a model gains over a constant with noise */

static bool all_is_noise(const oat_search *s) {
  const oat_rows *rows = s->objective->config.rows;
  return !oat_rows_known_noise(rows) &&
         s->state.value < oat_objective_constant(s->objective, rows, s->point.theta, NULL) +
                              oat_objective_log_prior(s->objective, s->point.theta) +
                              NOISE_NATS * (double)oat_rows_total(rows);
}

static oatgp_status fit_parameters(oat_search *s) {
  oatgp_status status = OATGP_OK;
  TRY(oat_search_optimise(s, s->state.k, &s->limits));
  if (s->given->guard && !oat_search_halted(s) && all_is_noise(s)) {
    oat_search_put_aside(s);
    oat_search_copy(s, s->start, s->state.k, &s->point);
    TRY(oat_search_evaluate(s));
    s->state.held = true;
  }
  s->state.phase = s->state.k < s->settings.max_knots ? OAT_PHASE_PROPOSE : OAT_PHASE_POLISH;
done:
  return status;
}

/* Adds the proposed knots to the current model, on trial. */
static oatgp_status propose(oat_search *s) {
  const size_t room = s->settings.max_knots - s->state.k;
  oat_batch batch = {.wanted = (size_t)s->given->batch < room ? (size_t)s->given->batch : room};
  oatgp_status status = OATGP_OK;
  if (s->state.k >= s->settings.max_knots) { /* no room for a candidate */
    s->state.phase = OAT_PHASE_POLISH;
    s->state.stop = OATGP_STOP_MAX_KNOTS;
    return OATGP_OK;
  }
  TRY(oat_new_matrix(s->ctx, batch.wanted, s->mapping.d, &batch.position));
  TRY(oat_search_evaluate(s));
  TRY(s->proposal->propose(s, &batch));
  oat_search_mark(s);
  s->state.tried = batch.tried;
  s->state.predicted = batch.predicted;
  for (size_t i = 0; i < batch.count; i++) {
    oat_search_add_knot(s, batch.position + i * s->mapping.d);
  }
  if (batch.count > 0) {
    s->state.phase = OAT_PHASE_GROW;
    oat_search_tell(s, OAT_SEARCH_PROPOSAL);
  } else {
    s->state.phase = OAT_PHASE_POLISH;
    s->state.stop = OATGP_STOP_CANDIDATES;
  }
done:
  free(batch.position);
  return status;
}

/* Keeps the knots on trial or goes back to the model before them; returns whether they were kept. */
static bool decide(oat_search *s) {
  const size_t added = s->state.k - s->state.kept;
  const bool keep = s->state.value > s->state.value_before + s->given->tol_knot * (double)added;
  oat_search_tell(s, keep ? OAT_SEARCH_KEPT : OAT_SEARCH_DROPPED);
  if (!keep) {
    oat_search_revert(s);
  }
  s->state.kept = s->state.k;
  return keep;
}

static oatgp_status grow(oat_search *s) {
  const oatgp_status status = oat_search_optimise(s, s->state.kept, &s->inner);
  if (status != OATGP_OK) {
    return status;
  }
  const bool kept = decide(s), full = s->state.k >= s->settings.max_knots;
  if (!oat_search_halted(s) && (full || !kept)) {
    s->state.stop = full ? OATGP_STOP_MAX_KNOTS : OATGP_STOP_TOL_KNOT;
  }
  s->state.phase = kept && !full ? OAT_PHASE_PROPOSE : OAT_PHASE_POLISH;
  return OATGP_OK;
}

static oatgp_status release(oat_search *s) {
  const oatgp_status status = oat_search_settle(s);
  s->state.phase = s->state.next;
  return status;
}

/* Frees the held parameters when there are enough knots or growing is over. A knot that was dropped while they were
 * held does not count against later ones. */
static void release_when_due(oat_search *s) {
  if (!s->state.held || (s->state.k < GUARD_KNOTS && s->state.phase != OAT_PHASE_POLISH)) {
    return;
  }
  const bool dropped = s->state.phase == OAT_PHASE_POLISH && s->state.stop == OATGP_STOP_TOL_KNOT;
  s->state.held = false;
  s->state.next = dropped ? OAT_PHASE_PROPOSE : s->state.phase;
  s->state.phase = OAT_PHASE_RELEASE;
}

/* What each phase of growing does; there are no others. */
static oatgp_status (*const steps[])(oat_search *s) = {
    [OAT_PHASE_PARAMETERS] = fit_parameters,
    [OAT_PHASE_PROPOSE] = propose,
    [OAT_PHASE_GROW] = grow,
    [OAT_PHASE_RELEASE] = release,
};

oatgp_status oat_run_growing(oat_search *s) {
  oatgp_status status = OATGP_OK;
  while (!oat_search_halted(s) && s->state.phase < OAT_PHASE_POLISH) {
    TRY(steps[s->state.phase](s));
    release_when_due(s);
  }
  if (s->state.phase == OAT_PHASE_GROW) { /* halted with knots on trial */
    decide(s);
  }
  TRY(oat_run_polish(s));
  oat_search_fall_back(s);
done:
  return status;
}
