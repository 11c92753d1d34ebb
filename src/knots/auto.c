/* The automatic selection: knots, their number and the parameters, from one tolerance in nats a row (settings.tol_row).
 *
 * The parameters come from an exact GP. Of few rows it is that of all, so the largest log evidence is known: the knots are the first of
 * the greedy order with which the objective, at these parameters, comes within tol_row a row of it. Of many rows it is that of a random
 * subset: then the knots are chosen greedily, the parameters optimised, and their number doubled for as long as that gains tol_row a
 * row. Once, when there are many knots, random rows are tried in their place, both moved for a while: where these are better, as for
 * inputs with heavy tails, whose far rows the greedy choice takes first, knots are from then on added at random and moved. At the end
 * everything is moved together for a while, unless the evidence is reached. docs/selection.md has what was tried. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knots/greedy.h"
#include "knots/strategy.h"
#include "knots/subset.h"
#include "util/clock.h"
#include "util/memory.h"

enum {
  EXACT_ROWS = 2000,  /* up to here the exact GP of all rows costs no more than the rest */
  SUBSET_ROWS = 1000, /* else it is that of so many */
  FIRST_KNOTS = 50,   /* of the doubling, or a few more */
  FEWEST_KNOTS = 8,   /* of the way to the evidence */
  ROUND_ITERATIONS = 20,
  TRIAL_ITERATIONS = 40,
  MOVE_ITERATIONS = 40,
  TRIAL_SHARE = 4, /* the trial is when there is this part of the most knots */
  POLISH_ITERATIONS = 30,
  PATIENCE = 3
};
#define LEAST_VARIANCE 1e-10 /* relative to sigma^2: rows with less left are explained to rounding */
#define CHANCE 2.0           /* nats: random targets with 3 inputs gave up to 5.4 in 25 trials */
#define NOISE_SIGMA 1e-3     /* of a model that is all noise, relative to tau */
#define REST 30.0            /* an optimisation ends when the objective rises by less than tol_row / REST a row */

/* What state.round says: where new knots come from, and how far the trial is. */
enum { GREEDY, TRIAL_OF_GREEDY, TRIAL_OF_RANDOM, RANDOM, GREEDY_FOR_GOOD };

static double tolerance(const oat_search *s) { return s->settings.tol_row * (double)s->objective->config.rows->n; }

static oat_optim_settings limits_of(const oat_search *s, double iterations) {
  oat_optim_settings limits = s->limits;
  limits.max_iter = fmin(iterations, limits.max_iter);
  limits.obj_tol = fmax(tolerance(s) / REST, limits.obj_tol);
  limits.patience = PATIENCE;
  return limits;
}

/* Whether the search is to end, by the clock too; that is looked at between long steps. */
static bool is_over(oat_search *s) {
  if (s->limits.deadline > 0 && oat_seconds() >= s->limits.deadline) {
    s->state.stop = OATGP_STOP_TIME;
  }
  return oat_search_halted(s);
}

static size_t at_most(size_t k, size_t most) { return k < most ? k : most; }

/* Such that doubling it ends at max_knots. */
static size_t first_knots(const oat_search *s) {
  size_t k = s->settings.max_knots;
  while (k >= 2 * FIRST_KNOTS) {
    k = (k + 1) / 2;
  }
  return k;
}

static oatgp_status choose_knots(oat_search *s, size_t k) {
  const oat_greedy greedy = {at_most(k, s->settings.max_knots), OAT_GREEDY_ROWS, LEAST_VARIANCE};
  return oat_knots_greedy(s, &greedy);
}

/* ---- nothing but noise --------------------------------------------------------------------------------------------------- */

/* Whether the exact GP has no more over a constant with noise than chance gives: CHANCE nats for sigma and for each input that it uses. */
static bool is_chance(const oat_search *s, double evidence) {
  const oat_mapping *mapping = &s->mapping;
  const oat_rows *rows = s->objective->config.rows;
  const bool comparable = rows->noise_add == NULL && rows->p == 0 && mapping->free[OAT_SIGMA] && mapping->free[OAT_TAU];
  double tau;
  const double most = oat_search_noise(s, &tau) + CHANCE * oat_subset_used(s, s->point.theta);
  return s->settings.guard && comparable && tau > 0 && evidence < most;
}

/* The parameters of a constant with noise, which are then held. */
static void call_it_noise(oat_search *s, double *evidence) {
  const double noise = oat_search_noise(s, &s->point.theta[OAT_TAU]);
  oat_say(s->ctx, OATGP_WARNING,
          "the inputs say nothing of the target that chance would not: the exact GP has only %.2g nats over a constant with noise; the "
          "model is that constant (--no-guard fits all the same)",
          fmax(*evidence - noise, 0));
  s->point.theta[OAT_SIGMA] = NOISE_SIGMA * s->point.theta[OAT_TAU];
  s->state.held = true;
  *evidence = noise;
}

/* ---- few rows: up to the evidence -------------------------------------------------------------------------------------- */

/* The objective with the first k of `count` knots in s->fallback. */
static oatgp_status try_first(oat_search *s, size_t k, size_t count) {
  for (size_t j = 0; j < s->mapping.d; j++) {
    memcpy(s->point.z + j * k, s->fallback.z + j * count, k * sizeof(double));
  }
  s->state.k = k;
  return oat_search_evaluate(s);
}

/* From both sides: only vfe is a bound. */
static bool is_near(const oat_search *s, double evidence) { return fabs(s->state.value - evidence) <= tolerance(s); }

/* The smallest number of knots, in the greedy order, that comes within the tolerance of the evidence; all if none does. */
static oatgp_status reach_evidence(oat_search *s, double evidence) {
  oatgp_status status = OATGP_OK;
  TRY(choose_knots(s, s->settings.max_knots));
  const size_t count = s->state.k;
  oat_search_copy(s, &s->point, count, &s->fallback);
  size_t low = 0, k = at_most(FEWEST_KNOTS, count);
  TRY(try_first(s, k, count));
  while (!is_near(s, evidence) && k < count && !is_over(s)) {
    low = k;
    k = at_most(2 * k, count);
    TRY(try_first(s, k, count));
  }
  const oatgp_stop settled = is_near(s, evidence)                                             ? OATGP_STOP_EVIDENCE
                             : k < s->objective->config.rows->n && k == s->settings.max_knots ? OATGP_STOP_MAX_KNOTS
                                                                                              : OATGP_STOP_CANDIDATES;
  s->state.stop = oat_search_halted(s) ? s->state.stop : settled;
  while (settled == OATGP_STOP_EVIDENCE && k - low > 1 + k / 32 && !is_over(s)) { /* reached with k, not with low */
    const size_t middle = low + (k - low) / 2;
    TRY(try_first(s, middle, count));
    if (is_near(s, evidence)) {
      k = middle;
    } else {
      low = middle;
    }
  }
  TRY(try_first(s, k, count));
done:
  return status;
}

/* ---- many rows: doubling ------------------------------------------------------------------------------------------------- */

static oatgp_status first_choice(oat_search *s) {
  const oatgp_status status = choose_knots(s, first_knots(s));
  return status == OATGP_OK ? oat_search_evaluate(s) : status;
}

/* Enough knots that the objective, at the subset's parameters, is above that of a constant with noise: an optimisation from there
 * cannot end where everything is noise. At most as many as the trial has. */
static oatgp_status rise_above_noise(oat_search *s) {
  const double noise = oat_search_noise(s, NULL);
  oatgp_status status = OATGP_OK;
  size_t before = 0;
  TRY(first_choice(s));
  while (s->state.value < noise && TRIAL_SHARE * s->state.k < s->settings.max_knots && s->state.k > before && !is_over(s)) {
    before = s->state.k;
    TRY(choose_knots(s, 2 * s->state.k));
    TRY(oat_search_evaluate(s));
  }
done:
  return status;
}

/* The parameters, and the first knots. A search that is halted here has a model. */
static oatgp_status begin(oat_search *s) {
  const size_t n = s->objective->config.rows->n;
  const bool few = n <= at_most(EXACT_ROWS, oat_subset_most(s));
  double evidence;
  oatgp_status status = OATGP_OK;
  TRY(oat_subset_parameters(s, few ? n : SUBSET_ROWS, &evidence));
  const bool exact = few && isfinite(evidence);
  const bool halted = oat_search_halted(s); /* then the evidence is that of no optimum, or of fewer rows */
  if (exact && !halted && s->limits.max_iter >= OAT_SUBSET_ITERATIONS && is_chance(s, evidence)) {
    call_it_noise(s, &evidence);
  }
  TRY(halted ? first_choice(s) : exact ? reach_evidence(s, evidence) : rise_above_noise(s));
  s->state.kept = 0;
  s->state.value_before = oat_search_noise(s, NULL);
  s->state.tried = (double)at_most(n, OAT_GREEDY_ROWS);
  s->state.predicted = 0; /* the choice promises nothing */
  s->state.phase = OAT_PHASE_GROW;
done:
  return status;
}

/* Adds random rows to the knots, up to k. */
static oatgp_status add_random(oat_search *s, size_t k) {
  const oat_rows *rows = s->objective->config.rows;
  const size_t added = k - s->state.k;
  size_t *row = NULL;
  double *position = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(s->ctx, added, sizeof *row, &row));
  TRY(oat_new_matrix(s->ctx, rows->d, 1, &position));
  oat_rng_sample(&s->state.rng, rows->n, added, row);
  for (size_t i = 0; i < added; i++) {
    oat_proposal_position(s, row[i], position);
    oat_search_add_knot(s, position);
  }
done:
  free(row);
  free(position);
  return status;
}

/* Twice as many knots: all chosen again at the parameters as they are now, or random ones beside those that were moved. */
static oatgp_status propose(oat_search *s) {
  oatgp_status status = OATGP_OK;
  oat_search_mark(s);
  TRY(s->state.round == RANDOM ? add_random(s, at_most(2 * s->state.k, s->settings.max_knots)) : choose_knots(s, 2 * s->state.k));
  s->state.phase = OAT_PHASE_GROW;
  if (s->state.k > s->state.kept) {
    oat_search_tell(s, OAT_SEARCH_PROPOSAL);
  } else {
    oat_search_revert(s);
    s->state.stop = OATGP_STOP_CANDIDATES;
    s->state.phase = OAT_PHASE_POLISH;
  }
done:
  return status;
}

static bool decide(oat_search *s) {
  const bool keep = s->state.kept == 0 || s->state.value > s->state.value_before + tolerance(s);
  oat_search_tell(s, keep ? OAT_SEARCH_KEPT : OAT_SEARCH_DROPPED);
  if (!keep) {
    oat_search_revert(s);
  }
  s->state.kept = s->state.k;
  return keep;
}

static bool trial_is_due(const oat_search *s) {
  return s->state.round == GREEDY && s->settings.move && TRIAL_SHARE * s->state.k >= s->settings.max_knots;
}

/* Optimises the parameters with the new knots (random ones: all knots, too), and decides. `stop` has been set if the number of knots is settled. */
static oatgp_status grow(oat_search *s) {
  const oatgp_stop settled = s->state.stop;
  const bool moves = s->state.round == RANDOM;
  const oat_optim_settings limits = limits_of(s, moves ? MOVE_ITERATIONS : ROUND_ITERATIONS);
  const oatgp_status status = oat_search_optimise(s, moves ? 0 : s->state.k, &limits);
  if (status != OATGP_OK) {
    return status;
  }
  const bool kept = decide(s);
  s->state.phase = OAT_PHASE_POLISH;
  if (oat_search_halted(s)) {
    return OATGP_OK;
  }
  s->state.stop = settled != OATGP_STOP_NONE                   ? settled
                  : !kept                                      ? OATGP_STOP_TOL_ROW
                  : s->state.k >= s->objective->config.rows->n ? OATGP_STOP_CANDIDATES
                  : s->state.k >= s->settings.max_knots        ? OATGP_STOP_MAX_KNOTS
                                                               : OATGP_STOP_NONE;
  s->state.phase = s->state.stop != OATGP_STOP_NONE ? OAT_PHASE_POLISH : trial_is_due(s) ? OAT_PHASE_COMPARE : OAT_PHASE_PROPOSE;
  return OATGP_OK;
}

/* ---- greedy or random ------------------------------------------------------------------------------------------------------ */

/* The greedy model waits in s->fallback while random rows, at its parameters, take the place of its knots. */
static oatgp_status put_random(oat_search *s) {
  const size_t k = s->state.k;
  oatgp_status status = OATGP_OK;
  oat_search_copy(s, &s->point, k, &s->fallback);
  s->state.fallback_value = s->state.value;
  s->state.fallback_k = k;
  s->state.k = 0;
  TRY(add_random(s, k));
  if (oat_search_evaluate(s) != OATGP_OK) {
    s->state.value = -HUGE_VAL;
  }
done:
  return status;
}

static void choose_side(oat_search *s) {
  if (s->state.value > s->state.fallback_value) {
    s->state.round = RANDOM;
  } else {
    oat_search_copy(s, &s->fallback, s->state.fallback_k, &s->point);
    s->state.value = s->state.fallback_value;
    s->state.round = GREEDY_FOR_GOOD;
    s->state.phase = OAT_PHASE_PROPOSE;
  }
  s->state.fallback_value = -HUGE_VAL;
}

/* One step of the trial: the greedy knots are moved for a while, then as many random ones, which, if they win, are moved on. */
static oatgp_status compare(oat_search *s) {
  const oat_optim_settings limits = limits_of(s, s->state.round == RANDOM ? MOVE_ITERATIONS : TRIAL_ITERATIONS);
  oatgp_status status = OATGP_OK;
  s->state.round = s->state.round == GREEDY ? TRIAL_OF_GREEDY : s->state.round;
  TRY(oat_search_optimise(s, 0, &limits));
  if (s->state.round == TRIAL_OF_GREEDY && !oat_search_halted(s)) {
    s->state.round = TRIAL_OF_RANDOM;
    TRY(put_random(s));
  } else if (s->state.round == TRIAL_OF_RANDOM) {
    choose_side(s);
  } else if (s->state.round == RANDOM) {
    s->state.phase = OAT_PHASE_PROPOSE;
  }
  s->state.stop = oat_search_halted(s) ? s->state.stop : OATGP_STOP_NONE;
  s->state.kept = s->state.k;
done:
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------ */

/* All knots and parameters together, as far as it goes if that is asked for; why the number of knots was settled stays the reason of the
 * stop. */
static oatgp_status polish(oat_search *s) {
  const oatgp_stop settled = s->state.stop;
  const oat_optim_settings limits = s->settings.refine ? s->limits : limits_of(s, POLISH_ITERATIONS);
  oatgp_status status = OATGP_OK;
  if (s->settings.refine || (settled != OATGP_STOP_EVIDENCE && s->state.round != RANDOM)) {
    if (s->resumed == NULL) {
      oat_search_tell(s, OAT_SEARCH_REFINE);
    }
    TRY(oat_search_halted(s) ? OATGP_OK : oat_search_optimise(s, 0, &limits));
    s->state.stop = oat_search_halted(s) ? s->state.stop : settled;
  }
  s->state.phase = OAT_PHASE_DONE;
done:
  return status;
}

static oatgp_status step(oat_search *s) {
  switch (s->state.phase) {
    case OAT_PHASE_PARAMETERS:
      return begin(s);
    case OAT_PHASE_PROPOSE:
      return propose(s);
    case OAT_PHASE_GROW:
      return grow(s);
    case OAT_PHASE_COMPARE:
      return compare(s);
    default:
      return polish(s);
  }
}

oatgp_status oat_run_auto(const oat_strategy *strategy, oat_search *s) {
  oatgp_status status = OATGP_OK;
  (void)strategy;
  while (!oat_search_halted(s) && s->state.phase != OAT_PHASE_DONE) {
    TRY(step(s));
  }
  if (s->state.phase == OAT_PHASE_GROW && s->state.kept > 0) { /* halted with knots on trial that were not evaluated */
    oat_search_revert(s);
  }
done:
  return status;
}
