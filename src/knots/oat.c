/* One-at-a-time knot selection (OAT), the algorithm of the paper:
 *   1. optimise the parameters with the starting knots fixed;
 *   2. propose a new knot (or a batch);
 *   3. optimise the parameters and the new knot together, the old knots fixed;
 *   4. keep it if the objective rose by more than tol_knot, else drop it and stop; go on at 2 until there are max_knots.
 * It knows nothing of how knots are proposed. */
#include <math.h>
#include <stdlib.h>

#include "knots/strategy.h"
#include "util/memory.h"

/* With few knots the optimum of the parameters can be one where everything is noise; a model grown from there never
 * recovers. If the first optimisation ends there, the parameters are held at their start values until there are this many knots. */
enum { GUARD_KNOTS = 20 };
#define NOISE_NATS 1e-3 /* per row: all that such a model has over a constant with noise */

/* The largest objective of a constant with noise, at its best tau. */
static double noise_objective(const oat_search *s) {
  const oat_rows *rows = s->objective->config.rows;
  double sum = 0;
  for (size_t i = 0; i < rows->n; i++) {
    sum += rows->r[i] * rows->r[i] / (rows->noise_scale != NULL ? rows->noise_scale[i] : 1);
  }
  const double n = (double)rows->n, variance = fmax(sum / n, 1e-300);
  return -0.5 * n * (log(2 * 3.14159265358979323846 * variance) + 1);
}

static oatgp_status fit_parameters(oat_search *s) {
  oatgp_status status = OATGP_OK;
  const double noise = noise_objective(s), margin = NOISE_NATS * (double)s->objective->config.rows->n;
  TRY(oat_search_optimise(s, s->state.k, &s->limits));
  if (s->settings.guard && s->objective->config.rows->noise_add == NULL && s->state.value < noise + margin) {
    oat_search_copy(s, s->start, s->state.k, &s->point);
    TRY(oat_search_evaluate(s));
    s->state.held = true;
  }
done:
  return status;
}

/* Adds the proposed knots to the current model, on trial. */
static oatgp_status propose(const oat_proposal *proposal, oat_search *s) {
  const size_t room = s->settings.max_knots - s->state.k, wanted = s->settings.batch < room ? s->settings.batch : room;
  oat_batch batch = {0};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, wanted, s->mapping.d, &batch.position));
  TRY(oat_search_evaluate(s));
  TRY(proposal->propose(s, wanted, &batch));
  oat_search_copy(s, &s->point, s->state.k, &s->backup);
  s->state.kept = s->state.k;
  s->state.value_before = s->state.value;
  s->state.tried = batch.tried;
  s->state.predicted = batch.predicted;
  for (size_t i = 0; i < batch.count; i++) {
    oat_search_add_knot(s, batch.position + i * s->mapping.d);
  }
  s->state.phase = batch.count > 0 ? OAT_PHASE_GROW : OAT_PHASE_POLISH;
  if (batch.count > 0) {
    oat_search_tell(s, OAT_SEARCH_PROPOSAL);
  }
done:
  free(batch.position);
  return status;
}

/* Keeps the knots on trial or goes back to the model before them; returns whether they were kept. */
static bool decide(oat_search *s) {
  const size_t added = s->state.k - s->state.kept;
  const bool keep = s->state.value > s->state.value_before + s->settings.tol_knot * (double)added;
  oat_search_tell(s, keep ? OAT_SEARCH_KEPT : OAT_SEARCH_DROPPED);
  if (!keep) {
    oat_search_copy(s, &s->backup, s->state.kept, &s->point);
    s->state.k = s->state.kept;
    s->state.value = s->state.value_before;
  }
  s->state.kept = s->state.k;
  return keep;
}

static oatgp_status grow(oat_search *s) {
  oatgp_status status = OATGP_OK;
  TRY(oat_search_optimise(s, s->state.kept, &s->inner));
  const oatgp_stop stop = s->state.stop;
  const bool kept = decide(s);
  const bool full = s->state.k >= s->settings.max_knots;
  s->state.stop = oat_search_halted(s) ? s->state.stop : full ? OATGP_STOP_MAX_KNOTS : !kept ? OATGP_STOP_TOL_KNOT : stop;
  s->state.phase = kept && !full ? OAT_PHASE_PROPOSE : OAT_PHASE_POLISH;
  if (s->state.held && (s->state.k >= GUARD_KNOTS || s->state.phase == OAT_PHASE_POLISH)) {
    s->state.held = false;
    s->state.next = s->state.phase;
    s->state.phase = OAT_PHASE_RELEASE;
  }
done:
  return status;
}

static oatgp_status release(oat_search *s) {
  const oatgp_status status = oat_search_settle(s);
  s->state.phase = s->state.next;
  return status;
}

oatgp_status oat_run_growing(const oat_strategy *strategy, oat_search *s) {
  oatgp_status status = OATGP_OK;
  if (s->state.phase == OAT_PHASE_PARAMETERS) {
    TRY(fit_parameters(s));
    s->state.phase = s->state.k < s->settings.max_knots ? OAT_PHASE_PROPOSE : OAT_PHASE_POLISH;
  }
  while (!oat_search_halted(s) && s->state.phase < OAT_PHASE_POLISH) {
    TRY(s->state.phase == OAT_PHASE_PROPOSE ? propose(strategy->proposal, s) : s->state.phase == OAT_PHASE_GROW ? grow(s) : release(s));
  }
  if (oat_search_halted(s) && s->state.phase == OAT_PHASE_GROW) {
    decide(s);
  }
  TRY(oat_run_polish(s));
done:
  return status;
}
