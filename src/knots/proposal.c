/* What the proposals share: the gain of training rows as knots. */
#include "knots/strategy.h"

#include <math.h>
#include <stdlib.h>

void oat_proposal_position(const oat_search *s, size_t row, double *position) {
  oat_rows_inputs_of(s->objective->config.rows, 1, &row, position);
}

bool oat_proposal_exact(const oat_search *s) { return oat_approx_plain_noise(s->objective->config.approx); }

/* One evaluation of the objective for each that is not on a knot; the current model is evaluated again at the end. */
static oatgp_status evaluate_each(oat_search *s, size_t m, const size_t *row, double *gain) {
  const double before = s->state.value;
  double *position = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, s->mapping.d, 1, &position));
  for (size_t i = 0; i < m; i++) {
    if (gain[i] == -HUGE_VAL) {
      continue;
    }
    oat_proposal_position(s, row[i], position);
    oat_search_add_knot(s, position);
    gain[i] = oat_search_evaluate(s) == OATGP_OK ? s->state.value - before : -HUGE_VAL;
    oat_search_truncate(s, s->state.k - 1);
  }
  TRY(oat_search_evaluate(s));
done:
  free(position);
  return status;
}

oatgp_status oat_proposal_score(oat_search *s, size_t m, const size_t *row, double *gain) {
  const oat_rows *rows = s->objective->config.rows;
  oat_scratch memory = {.ctx = s->ctx};
  double *points = oat_take_doubles(&memory, m, oat_rows_inputs(rows));
  double *work = oat_take_doubles(&memory, oat_gain_work(s->objective, m), 1);
  oatgp_status status;
  TRY(memory.status);
  oat_rows_inputs_of(rows, m, row, points);
  const oat_points candidates = {points, m, m};
  if (oat_proposal_exact(s)) {
    TRY(oat_objective_gains(s->objective, &s->point, candidates, work, gain));
  } else {
    oat_objective_mark_coincident(s->objective, &s->point, candidates, work, gain);
    TRY(evaluate_each(s, m, row, gain));
  }
done:
  oat_scratch_free(&memory);
  return status;
}
