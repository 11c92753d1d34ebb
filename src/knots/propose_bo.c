/* OAT-BO: Bayesian optimisation of the new knot over the training rows. `first_candidates` random rows are evaluated.
 * Then, until `candidates` rows have been evaluated, the surrogate is fitted to the known values, and the row with the
 * largest expected improvement is evaluated next. The best row is the proposal. The surrogate is not conditioned on the
 * objective at existing knots (the change that the paper made for vfe) unless `condition` is set (the earlier method,
 * for fic). */
#include <math.h>

#include "knots/strategy.h"
#include "knots/surrogate.h"
#include "util/lanes.h"

enum { BLOCK = 256 }; /* rows that the surrogate looks at in one go */

typedef struct hunt {
  oat_search *search;
  oat_surrogate surrogate;
  bool *known;      /* rows that were evaluated */
  double *position; /* d */
  double *scratch;  /* OAT_MOST_LANES x stride: a position, and what the surrogate works in */
  size_t stride;
  oat_largest promising[OAT_MOST_LANES]; /* improvement and row */
  size_t tried, best;
  double best_gain;
} hunt;

/* Evaluates rows; one that sits on a knot is known, but tells the surrogate nothing. */
static oatgp_status look_at(hunt *h, size_t m, const size_t *row, double *gain) {
  const oatgp_status status = oat_proposal_score(h->search, m, row, gain);
  for (size_t i = 0; status == OATGP_OK && i < m; i++) {
    h->known[row[i]] = true;
    h->tried++;
    if (gain[i] > -HUGE_VAL) {
      oat_proposal_position(h->search, row[i], h->position);
      oat_surrogate_add(&h->surrogate, h->position, gain[i]);
    }
    if (gain[i] > h->best_gain) {
      h->best_gain = gain[i];
      h->best = row[i];
    }
  }
  return status;
}

static oatgp_status look_at_random(hunt *h, size_t m) {
  const size_t n = oat_rows_total(h->search->objective->config.rows);
  oat_scratch memory = {.ctx = h->search->ctx};
  size_t *row = oat_take(&memory, m, sizeof *row);
  double *gain = oat_take_doubles(&memory, m, 1);
  oatgp_status status;
  TRY(memory.status);
  oat_rng_sample(&h->search->state.rng, n, m, row);
  TRY(look_at(h, m, row, gain));
done:
  oat_scratch_free(&memory);
  return status;
}

static void look_ahead(void *self, size_t lane, size_t first, oat_points x) {
  hunt *h = self;
  const size_t d = h->surrogate.d;
  double *position = h->scratch + lane * h->stride;
  for (size_t i = 0; i < x.n; i++) {
    if (!h->known[first + i]) {
      for (size_t j = 0; j < d; j++) {
        position[j] = x.a[i + j * x.ld];
      }
      oat_largest_take(&h->promising[lane], oat_surrogate_predict(&h->surrogate, position, position + d).improvement,
                       first + i);
    }
  }
}

/* The unknown row with the largest expected improvement; n if all are known. */
static oatgp_status most_promising(hunt *h, size_t *row) {
  const oat_objective_config *config = &h->search->objective->config;
  const double known = (double)h->surrogate.n, flops = known * (2 * known + 3 * (double)h->surrogate.d + 25);
  const oat_each each = {
      .block = BLOCK, .threads = config->where.threads, .flops = flops, .visit = look_ahead, .self = h};
  oat_largest_clear(h->promising);
  PASS_ON(oat_rows_each(h->search->ctx, config->rows, &each));
  *row = oat_largest_join((oat_largest){-1, oat_rows_total(config->rows)}, h->promising).at;
  return OATGP_OK;
}

/* The earlier paper's way: an existing knot gains nothing. */
static void add_existing_knots(hunt *h) {
  const oat_search *s = h->search;
  for (size_t i = 0; i < s->state.k; i++) {
    for (size_t j = 0; j < s->mapping.d; j++) {
      h->position[j] = s->point.z[i + j * s->state.k];
    }
    oat_surrogate_add(&h->surrogate, h->position, 0);
  }
}

static oatgp_status search_rows(hunt *h) {
  const oatgp_settings *settings = h->search->given;
  const size_t n = oat_rows_total(h->search->objective->config.rows),
               most = (size_t)settings->candidates < n ? (size_t)settings->candidates : n;
  oatgp_status status = OATGP_OK;
  TRY(look_at_random(h, (size_t)settings->first_candidates < most ? (size_t)settings->first_candidates : most));
  if (settings->condition) {
    add_existing_knots(h);
  }
  while (h->tried < most) {
    if (h->surrogate.n == 0) { /* only rows on knots are known so far */
      TRY(look_at_random(h, 1));
      continue;
    }
    TRY(oat_surrogate_fit(&h->surrogate, settings->surrogate_sigma, settings->surrogate_lengthscale));
    size_t row;
    TRY(most_promising(h, &row));
    double gain;
    if (row == n) {
      break;
    }
    TRY(look_at(h, 1, &row, &gain));
  }
done:
  return status;
}

static oatgp_status propose(oat_search *s, oat_batch *batch) {
  hunt h = {.search = s, .best_gain = -HUGE_VAL};
  oat_scratch memory = {.ctx = s->ctx};
  oatgp_status status;
  const size_t n = oat_rows_total(s->objective->config.rows),
               most = (size_t)s->given->candidates < n ? (size_t)s->given->candidates : n;
  const size_t capacity = most + (s->given->condition ? s->state.k : 0);
  TRY(oat_surrogate_open(s->ctx, capacity, s->mapping.d, &h.surrogate));
  h.surrogate.jitter = s->given->surrogate_jitter;
  h.stride = s->mapping.d + capacity;
  h.known = oat_take(&memory, n, sizeof *h.known);
  h.position = oat_take_doubles(&memory, s->mapping.d, 1);
  h.scratch = oat_take_doubles(&memory, h.stride, OAT_MOST_LANES);
  TRY(memory.status);
  TRY(search_rows(&h));
  batch->tried = (double)h.tried;
  batch->predicted = h.best_gain;
  batch->count = h.best_gain > -HUGE_VAL;
  oat_proposal_position(s, h.best, batch->position);
done:
  oat_surrogate_close(&h.surrogate);
  oat_scratch_free(&memory);
  return status;
}

const oat_proposal oat_proposal_bo = {.surrogate = true, .propose = propose};
