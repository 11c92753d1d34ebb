/* OAT-RS: the best of `candidates` training rows drawn at random. */
#include <math.h>

#include "knots/strategy.h"

static oatgp_status propose(oat_search *s, oat_batch *batch) {
  const size_t n = oat_rows_total(s->objective->config.rows),
               m = (size_t)s->given->candidates < n ? (size_t)s->given->candidates : n;
  oat_scratch memory = {.ctx = s->ctx};
  size_t *row = oat_take(&memory, m, sizeof *row), best = 0;
  double *gain = oat_take_doubles(&memory, m, 1);
  oatgp_status status;
  TRY(memory.status);
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
  oat_scratch_free(&memory);
  return status;
}

const oat_proposal oat_proposal_random = {.propose = propose};
