/* OAT-gain: computes the exact gain of every training row (or of gain_rows random rows if there are more; or, for
 * models with alpha > 0, of `candidates` rows) and proposes the best. For a batch, the gain is computed again among the
 * best rows after each choice, with the factors grown by one row, before any parameter moves. */
#include <math.h>
#include <stdlib.h>

#include "knots/strategy.h"

/* Candidates whose gain is taken again after each choice of a batch. */
static size_t short_list(size_t wanted) { return 16 + 2 * wanted; }

typedef struct ranked {
  size_t row;
  double gain;
} ranked;

/* Larger gains first; rows break ties, so that the order is the same everywhere. */
static int by_gain(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return x->gain != y->gain ? (x->gain < y->gain) - (x->gain > y->gain) : (x->row > y->row) - (x->row < y->row);
}

/* How many rows are looked at. */
static size_t rows_for(const oat_search *s) {
  const size_t n = oat_rows_total(s->objective->config.rows),
               most = oat_proposal_exact(s) ? (size_t)s->given->gain_rows : (size_t)s->given->candidates;
  return n < most ? n : most;
}

/* Adds the best of the list to the batch and takes the gains of the others again. */
static oatgp_status take_best(oat_search *s, ranked *list, size_t length, double *work, oat_batch *batch) {
  oat_scratch memory = {.ctx = s->ctx};
  double gain, *position = batch->position + batch->count * s->mapping.d;
  oatgp_status status;
  oat_proposal_position(s, list[0].row, position);
  oat_search_add_knot(s, position);
  status = oat_objective_append(s->objective, &s->point, work, &gain);
  if (status == OATGP_NUMERIC) {
    oat_search_truncate(s, s->state.k - 1);
    list[0].gain = -HUGE_VAL;
    return OATGP_OK;
  }
  TRY(status);
  batch->count++;
  batch->predicted += gain;
  size_t *row = oat_take(&memory, length, sizeof *row);
  double *gains = oat_take_doubles(&memory, length, 1);
  TRY(memory.status);
  for (size_t i = 0; i < length; i++) {
    row[i] = list[i].row;
  }
  TRY(oat_proposal_score(s, length, row, gains));
  for (size_t i = 0; i < length; i++) {
    list[i].gain = gains[i];
  }
  qsort(list, length, sizeof *list, by_gain);
done:
  oat_scratch_free(&memory);
  return status;
}

/* Chooses knots one after the other from the short list, with grown factors, and restores the current model. */
static oatgp_status fill_batch(oat_search *s, ranked *list, size_t length, oat_batch *batch) {
  const size_t k = s->state.k;
  double *work = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, oat_gain_work(s->objective, 1), 1, &work));
  while (batch->count < batch->wanted && list[0].gain > -HUGE_VAL) {
    TRY(take_best(s, list, length, work, batch));
  }
done:
  oat_search_truncate(s, k);
  oat_objective_resize(s->objective, k);
  free(work);
  return status;
}

static oatgp_status propose(oat_search *s, oat_batch *batch) {
  const size_t m = rows_for(s);
  oat_scratch memory = {.ctx = s->ctx};
  size_t *row = oat_take(&memory, m, sizeof *row);
  double *gain = oat_take_doubles(&memory, m, 1);
  ranked *list = oat_take(&memory, m, sizeof *list);
  oatgp_status status;
  TRY(memory.status);
  oat_rows_choose(s->objective->config.rows, m, &s->state.rng, row);
  TRY(oat_proposal_score(s, m, row, gain));
  for (size_t i = 0; i < m; i++) {
    list[i] = (ranked){row[i], gain[i]};
  }
  qsort(list, m, sizeof *list, by_gain);
  batch->tried = (double)m;
  if (batch->wanted > 1 && oat_proposal_exact(s)) {
    TRY(fill_batch(s, list, m < short_list(batch->wanted) ? m : short_list(batch->wanted), batch));
  } else if (list[0].gain > -HUGE_VAL) {
    batch->count = 1;
    batch->predicted = list[0].gain;
    oat_proposal_position(s, list[0].row, batch->position);
  }
done:
  oat_scratch_free(&memory);
  return status;
}

const oat_proposal oat_proposal_gain = {.exact = true, .propose = propose};
