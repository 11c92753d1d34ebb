/* What the proposals share: the gain of training rows as knots. */
#include "knots/proposal.h"

#include <math.h>
#include <stdlib.h>

#include "util/memory.h"

void oat_proposal_position(const oat_search *s, size_t row, double *position) {
  const oat_rows *rows = s->objective->config.rows;
  for (size_t j = 0; j < rows->d; j++) {
    position[j] = rows->x[row + j * rows->n];
  }
}

bool oat_proposal_exact(const oat_search *s) {
  const oat_approx *approx = s->objective->config.approx;
  return !approx->power && approx->alpha == 0;
}

/* All at once by the rank-one formula. */
static oatgp_status score_exactly(oat_search *s, size_t m, const size_t *row, double *gain) {
  const oat_rows *rows = s->objective->config.rows;
  double *points = NULL, *work = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, m, rows->d, &points));
  TRY(oat_new_matrix(s->ctx, oat_gain_work(s->objective, m), 1, &work));
  for (size_t j = 0; j < rows->d; j++) {
    for (size_t i = 0; i < m; i++) {
      points[i + j * m] = rows->x[row[i] + j * rows->n];
    }
  }
  TRY(oat_objective_gains(s->objective, &s->point, (oat_points){points, m, m}, work, gain));
done:
  free(points);
  free(work);
  return status;
}

/* One evaluation of the objective for each; the current model is evaluated again at the end. */
static oatgp_status score_by_evaluation(oat_search *s, size_t m, const size_t *row, double *gain) {
  const double before = s->state.value;
  double *position = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, s->mapping.d, 1, &position));
  for (size_t i = 0; i < m; i++) {
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
  return oat_proposal_exact(s) ? score_exactly(s, m, row, gain) : score_by_evaluation(s, m, row, gain);
}
