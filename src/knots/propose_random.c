/* OAT-RS: the best of `candidates` training rows drawn at random. */
#include <math.h>
#include <stdlib.h>

#include "knots/proposal.h"
#include "util/memory.h"

static oatgp_status propose(oat_search *s, size_t wanted, oat_batch *batch) {
  const size_t n = oat_rows_total(s->objective->config.rows), m = s->settings.candidates < n ? s->settings.candidates : n;
  size_t *row = NULL, best = 0;
  double *gain = NULL;
  oatgp_status status = OATGP_OK;
  (void)wanted;
  TRY(oat_new(s->ctx, m, sizeof *row, &row));
  TRY(oat_new_matrix(s->ctx, m, 1, &gain));
  oat_rng_sample(&s->state.rng, n, m, row);
  TRY(oat_proposal_score(s, m, row, gain));
  for (size_t i = 1; i < m; i++) {
    best = gain[i] > gain[best] ? i : best;
  }
  batch->tried = (double)m;
  batch->predicted = gain[best];
  batch->count = gain[best] > -HUGE_VAL;
  oat_proposal_position(s, row[best], batch->position);
done:
  free(row);
  free(gain);
  return status;
}

const oat_proposal oat_proposal_random = {.propose = propose};
