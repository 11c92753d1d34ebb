/* Greedy variance as a strategy: the rows are chosen, the parameters are optimised, and the rows are chosen again as
 * long as that raises the objective. */
#include "knots/strategy.h"

enum { MAX_ROUNDS = 20 };

oatgp_status oat_run_variance(oat_search *s) {
  oatgp_status status = OATGP_OK;
  while (!oat_search_halted(s) && s->state.phase == OAT_PHASE_PARAMETERS && s->state.round < MAX_ROUNDS) {
    if (s->resumed == NULL) {
      oat_search_mark(s);
      TRY(oat_knots_greedy(s, s->settings.max_knots)); /* on trial */
      const oatgp_status evaluated = oat_search_evaluate(s);
      if (s->state.round > 0 &&
          (evaluated != OATGP_OK || s->state.value <= s->state.value_before + s->given->tol_knot)) {
        oat_search_revert(s);
        break;
      }
      TRY(evaluated);
    }
    TRY(oat_search_optimise(s, s->state.k, &s->limits));
    s->state.round++;
  }
  s->state.phase = oat_search_halted(s) ? s->state.phase : OAT_PHASE_POLISH;
  if (s->state.k < s->settings.max_knots) {
    oat_say(s->ctx, OATGP_NOTE,
            "%zu knots instead of %zu: they already explain all other rows to a small fraction of the noise",
            s->state.k, s->settings.max_knots);
  }
  TRY(oat_run_polish(s));
done:
  return status;
}
