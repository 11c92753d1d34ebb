/* OAT-gain: the exact gain of every training row (or of gain_rows of them, drawn at random, when there are more; or, for models
 * with alpha > 0, of `candidates` rows), the best is the proposal. For a batch the gain is taken again among the best rows after each
 * choice, with the factors grown by one row, before any parameter moves. */
#include <math.h>
#include <stdlib.h>

#include "knots/proposal.h"
#include "util/memory.h"

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

/* The rows to look at. */
static size_t choose_rows(oat_search *s, size_t *row) {
  const size_t n = oat_rows_total(s->objective->config.rows), most = oat_proposal_exact(s) ? s->settings.gain_rows : s->settings.candidates;
  if (n <= most) {
    for (size_t i = 0; i < n; i++) {
      row[i] = i;
    }
    return n;
  }
  oat_rng_sample(&s->state.rng, n, most, row);
  return most;
}

/* Adds the best of the list to the batch and takes the gains of the others again. */
static oatgp_status take_best(oat_search *s, ranked *list, size_t length, double *work, oat_batch *batch) {
  double gain;
  size_t *row = NULL;
  double *gains = NULL, *position = batch->position + batch->count * s->mapping.d;
  oatgp_status status = OATGP_OK;
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
  TRY(oat_new(s->ctx, length, sizeof *row, &row));
  TRY(oat_new_matrix(s->ctx, length, 1, &gains));
  for (size_t i = 0; i < length; i++) {
    row[i] = list[i].row;
  }
  TRY(oat_proposal_score(s, length, row, gains));
  for (size_t i = 0; i < length; i++) {
    list[i].gain = gains[i];
  }
  qsort(list, length, sizeof *list, by_gain);
done:
  free(row);
  free(gains);
  return status;
}

/* One after the other from the short list, with grown factors; the current model is as before afterwards. */
static oatgp_status fill_batch(oat_search *s, ranked *list, size_t length, size_t wanted, oat_batch *batch) {
  const size_t k = s->state.k;
  double *work = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, oat_gain_work(s->objective, 1), 1, &work));
  while (batch->count < wanted && list[0].gain > -HUGE_VAL) {
    TRY(take_best(s, list, length, work, batch));
  }
done:
  oat_search_truncate(s, k);
  oat_objective_resize(s->objective, k);
  free(work);
  return status;
}

static oatgp_status propose(oat_search *s, size_t wanted, oat_batch *batch) {
  const size_t n = oat_rows_total(s->objective->config.rows);
  size_t *row = NULL, m = 0;
  double *gain = NULL;
  ranked *list = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(s->ctx, n, sizeof *row, &row));
  m = choose_rows(s, row);
  TRY(oat_new_matrix(s->ctx, m, 1, &gain));
  TRY(oat_new(s->ctx, m, sizeof *list, &list));
  TRY(oat_proposal_score(s, m, row, gain));
  for (size_t i = 0; i < m; i++) {
    list[i] = (ranked){row[i], gain[i]};
  }
  qsort(list, m, sizeof *list, by_gain);
  batch->tried = (double)m;
  if (wanted > 1 && oat_proposal_exact(s)) {
    TRY(fill_batch(s, list, m < short_list(wanted) ? m : short_list(wanted), wanted, batch));
  } else if (list[0].gain > -HUGE_VAL) {
    batch->count = 1;
    batch->predicted = list[0].gain;
    oat_proposal_position(s, list[0].row, batch->position);
  }
done:
  free(row);
  free(gain);
  free(list);
  return status;
}

const oat_proposal oat_proposal_gain = {.exact = true, .propose = propose};
