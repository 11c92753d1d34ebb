/* The automatic selection of knots, their number and the parameters, from one tolerance in nats per row
 * (settings.tol_row).
 *
 * The parameters come from an exact GP. Several starts race on few rows. If there are few rows, the exact GP then uses
 * all of them, so the largest log evidence is known: the knots are the first K of the greedy order with which the
 * objective, at these parameters, comes within tol_row per row of it. If no K is enough, the result is the exact GP
 * itself. If there are many rows, the exact GP uses a random subset. The knots are then chosen greedily, the parameters
 * optimised, and the number of knots doubled as long as that gains tol_row per row. Once, when there are many knots,
 * random rows are tried instead, and both sets are moved for a while. If the random rows are better, as for
 * heavy-tailed inputs, where the greedy choice takes the far rows first, knots are from then on added at random and
 * moved. At the end everything is moved together for a while, unless the evidence is reached.
 *
 * A fit may be stopped at any moment. Every stage offers its model as the incumbent, the model that the fit would
 * return now; leave-one-out densities decide whether it becomes that. The first stage has few knots at the parameters
 * of the race, and is ready early. No result is worse than a constant with noise. docs/notes/selection.md has what was
 * tried. */
#include <math.h>
#include <string.h>

#include "knots/auto.h"

enum {
  EXACT_SUBSETS = 2, /* with at most this many times subset_rows rows, the exact GP of all rows costs no more than the
                        rest of the fit */
  FIRST_KNOTS = 50,  /* at the start of the doubling, or a few more */
  DUE_KNOTS = 100,   /* neighbours are tried once, from this number of knots on */
  FEWEST_KNOTS = 8,  /* first number tried on the way to the evidence */
  FIRST_ITERATIONS = 8, /* of the model that is ready early */
  ROUND_ITERATIONS = 20,
  TRIAL_ITERATIONS = 40,
  MOVE_ITERATIONS = 40,
  TRIAL_SHARE = 4, /* random rows are tried at max_knots / TRIAL_SHARE knots */
  POLISH_ITERATIONS = 30,
  PATIENCE = 3
};
#define REST 30.0         /* an optimisation ends when the objective rises by less than tol_row / REST a row */
#define LARGEST_RATIO 3e5 /* of sigma and tau: beyond it the derivatives of the exact GP have few digits left */
/* Share of the rows; with more knots, evaluations and predictions cost as much as with the exact GP. */
#define WORTHWHILE 0.5
#define DOUBLING 4.0 /* how many times longer an evaluation takes with twice as many knots */

/* The values of state.round: where new knots come from, and the stage of the trial. */
enum { FIRST, AGAIN, GREEDY, TRIAL_OF_GREEDY, TRIAL_OF_RANDOM, RANDOM, GREEDY_FOR_GOOD };

static oat_optim_settings limits_of(const oat_search *s, double iterations) {
  oat_optim_settings limits = s->limits;
  limits.max_iter = fmin(iterations, limits.max_iter);
  limits.obj_tol = fmax(oat_auto_tolerance(s) / REST, limits.obj_tol);
  limits.patience = PATIENCE;
  return limits;
}

/* Whether the search must end now, or before this many more evaluations. It is checked between long steps. */
static bool is_over(oat_search *s, double evaluations) {
  if (!oat_search_halted(s) && oat_search_late(s, evaluations)) {
    s->state.stop = OATGP_STOP_TIME;
  }
  return oat_search_halted(s);
}

static size_t at_most(size_t k, size_t most) { return k < most ? k : most; }

/* The first number of knots, such that doubling it ends at max_knots. */
static size_t first_knots(const oat_search *s) {
  size_t k = s->settings.max_knots;
  while (k >= 2 * FIRST_KNOTS) {
    k = (k + 1) / 2;
  }
  return k;
}

static oatgp_status choose_knots(oat_search *s, size_t k) {
  return oat_knots_greedy(s, at_most(k, s->settings.max_knots));
}

/* ---- few rows: up to the evidence ------------------------------------------------------------------------------ */

/* The objective with the first k of `count` knots in s->fallback; -HUGE_VAL if it has none. */
static void try_first(oat_search *s, size_t k, size_t count) {
  for (size_t j = 0; j < s->mapping.d; j++) {
    memcpy(s->point.z + j * k, s->fallback.z + j * count, k * sizeof(double));
  }
  s->state.k = k;
  if (oat_auto_evaluate(s) != OATGP_OK) {
    s->state.value = -HUGE_VAL;
  }
}

/* Both sides are checked, because only vfe and tvfe are bounds. */
static bool is_near(const oat_search *s, double evidence) {
  return fabs(s->state.value - evidence) <= oat_auto_tolerance(s);
}

/* The smallest number of knots, in the greedy order, that comes within the tolerance of the evidence; `most` if none
 * does. Sets the stop. */
static oatgp_status reach_evidence(oat_search *s, double evidence, size_t most) {
  oatgp_status status = OATGP_OK;
  TRY(choose_knots(s, most));
  const size_t count = s->state.k;
  oat_search_copy(s, &s->point, count, &s->fallback);
  s->state.fallback_value = -HUGE_VAL;
  size_t low = 0, k = at_most(FEWEST_KNOTS, count);
  try_first(s, k, count);
  while (!is_near(s, evidence) && k < count && !is_over(s, 0)) {
    low = k;
    k = at_most(2 * k, count);
    try_first(s, k, count);
  }
  const oatgp_stop settled = is_near(s, evidence)                                 ? OATGP_STOP_EVIDENCE
                             : k < oat_auto_rows(s) && k == s->settings.max_knots ? OATGP_STOP_MAX_KNOTS
                                                                                  : OATGP_STOP_CANDIDATES;
  s->state.stop = oat_search_halted(s) ? s->state.stop : settled;
  while (settled == OATGP_STOP_EVIDENCE && k - low > 1 + k / 32 && !is_over(s, 0)) { /* reached with k, not with low */
    const size_t middle = low + (k - low) / 2;
    try_first(s, middle, count);
    if (is_near(s, evidence)) {
      k = middle;
    } else {
      low = middle;
    }
  }
  try_first(s, k, count);
done:
  return status;
}

/* Describes in words what the exact GP of all rows has found. */
static void tell_choice(const oat_search *s, const oat_optimum *found) {
  const double ratio = oat_kernel_amplitude(s->mapping.kernel, s->point.theta) / s->point.theta[OAT_TAU];
  const oat_rows *rows = s->objective->config.rows;
  if (ratio > LARGEST_RATIO && !oat_rows_known_noise(rows) && !oat_rows_have_answers(rows)) {
    oat_say(s->ctx, OATGP_WARNING,
            "sigma is %.1e times tau, so rounding limits the optimisation and the log evidence may be a few nats below "
            "its maximum; if the target has a strong trend, model it with --mean=linear",
            ratio);
  }
  if (oat_incumbent_may_be_chance(s, found)) {
    oat_say(s->ctx, OATGP_WARNING,
            "the inputs may explain nothing: the exact GP gains only %.2g nats over a constant with noise, and so few "
            "rows cannot rule out chance; predictions may be worse than the mean of the target",
            fmax(found->evidence - found->prior - found->constant, 0));
  }
  if (found->highest - found->evidence > oat_auto_tolerance(s)) {
    oat_say(s->ctx, OATGP_NOTE,
            "another optimum has a log evidence %.4g nats higher (%.2g per row); it was rejected because it predicts "
            "held-out rows worse, or because so few rows cannot rule out chance",
            found->highest - found->evidence, (found->highest - found->evidence) / (double)oat_auto_rows(s));
  }
}

/* Finds knots that come near the exact GP of all rows, at its parameters, which are those of the point. If no number of
 * knots does, the exact GP itself has been offered as the result. */
static oatgp_status approach(oat_search *s, const oat_optimum *found) {
  const bool exact = s->settings.exact && !s->state.held;
  const size_t worthwhile = (size_t)ceil(WORTHWHILE * (double)oat_auto_rows(s));
  oatgp_status status = OATGP_OK;
  s->state.evidence = found->evidence;
  if (exact) {
    oat_incumbent_forget(s); /* from here on, models are compared with the exact GP */
    oat_incumbent_offer_exact(s, found);
  }
  TRY(reach_evidence(s, found->evidence, exact ? at_most(worthwhile, s->settings.max_knots) : s->settings.max_knots));
  if (exact && !oat_search_halted(s) && s->state.stop != OATGP_STOP_EVIDENCE) {
    s->state.stop = OATGP_STOP_EVIDENCE;
    s->state.phase = OAT_PHASE_DONE;
  }
done:
  return status;
}

/* ---- many rows: doubling --------------------------------------------------------------------------------------- */

/* Enough knots that the objective, at the parameters of the exact GP, is above that of a constant with noise: an
 * optimisation from there cannot end where everything is noise. At most as many as in the trial of random rows; only
 * the first number if the data look like noise. */
static oatgp_status rise_above_noise(oat_search *s, const oat_optimum *found) {
  const double noise = oat_auto_constant(s);
  oatgp_status status = OATGP_OK;
  size_t before = 0;
  TRY(choose_knots(s, first_knots(s)));
  TRY(oat_auto_evaluate(s));
  while (s->state.value < noise && !oat_incumbent_is_chance(s, found) &&
         TRIAL_SHARE * s->state.k < s->settings.max_knots && s->state.k > before && !is_over(s, 0)) {
    before = s->state.k;
    TRY(choose_knots(s, 2 * s->state.k));
    TRY(oat_auto_evaluate(s));
  }
done:
  return status;
}

/* The knots are about to be optimised for the first time. */
static void begin_growing(oat_search *s) {
  s->state.kept = 0;
  s->state.value_before = oat_auto_constant(s);
  s->state.tried = (double)at_most(oat_auto_rows(s), OAT_GREEDY_ROWS);
  s->state.predicted = 0; /* a greedy choice predicts no gain */
  s->state.phase = OAT_PHASE_GROW;
}

/* The steps after the exact GP of all rows was optimised. The point has its parameters. */
static oatgp_status take_exact(oat_search *s, oat_optimum *found) {
  const bool sparse = s->objective->config.approx->sparse;
  s->state.round = GREEDY;
  if (s->limits.max_iter >= OAT_SUBSET_ITERATIONS && oat_incumbent_is_chance(s, found)) {
    oat_incumbent_call_noise(s, found);
  } else {
    tell_choice(s, found);
  }
  begin_growing(s);
  s->state.phase = sparse ? OAT_PHASE_GROW : OAT_PHASE_POLISH;
  return sparse ? approach(s, found) : OATGP_OK;
}

/* If the search is halted while the exact GP is optimised, it resumes from before that. So this reports the state as it
 * was then, with the model `from`. */
static void tell_halt(oat_search *s, const oat_rng *rng, const oat_point *from) {
  const oat_search_state state = s->state;
  s->state.rng = *rng;
  s->state.stop = OATGP_STOP_NONE;
  oat_search_copy(s, &s->point, state.k, &s->trial);
  oat_search_copy(s, from, state.k, &s->point);
  s->report(s->self, s, OAT_SEARCH_HALT);
  oat_search_copy(s, &s->trial, state.k, &s->point);
  s->state = state;
}

/* Optimises the parameters on more rows than in the race. If the search is halted here, its result is the incumbent. */
static oatgp_status settle(oat_search *s, const oat_rng *before, oat_optimum *found) {
  const bool few = oat_auto_exact(s, EXACT_SUBSETS * (size_t)s->given->subset_rows);
  oatgp_status status = OATGP_OK;
  TRY(oat_subset_settle(s, few ? oat_auto_rows(s) : (size_t)s->given->subset_rows, found));
  if (oat_search_halted(s)) {
    tell_halt(s, before, s->state.phase == OAT_PHASE_SUBSET ? &s->fallback : s->start);
    if (few && s->settings.exact) {
      oat_incumbent_offer_exact(s, found);
    }
  } else if (few && isfinite(found->evidence)) {
    TRY(take_exact(s, found));
  } else if (!s->objective->config.approx->sparse) {
    s->state.phase = OAT_PHASE_POLISH;
  } else {
    s->state.round = AGAIN;
    memcpy(s->subset, s->point.theta, oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *s->subset);
    TRY(rise_above_noise(s, found));
    begin_growing(s);
  }
done:
  return status;
}

/* Races for the parameters. If the race used all rows, it continues with their exact GP; otherwise it makes the first
 * model. */
static oatgp_status begin(oat_search *s) {
  const bool at_once = oat_auto_exact(s, oat_subset_race_rows(s)), sparse = s->objective->config.approx->sparse;
  const oat_rng before = s->state.rng;
  oat_optimum found;
  oatgp_status status = OATGP_OK;
  TRY(oat_subset_race(s, &found));
  s->state.round = FIRST;
  s->state.other = found.other;
  if (oat_search_halted(s)) {
    tell_halt(s, &before, s->start);
    if (at_once && s->settings.exact) {
      oat_incumbent_offer_exact(s, &found);
    }
  } else if (at_once) {
    TRY(settle(s, &before, &found));
  } else {
    s->state.phase = OAT_PHASE_SUBSET;
    oat_search_copy(
        s, &s->point, 0,
        &s->backup); /* keeps the race's parameters, since those optimised with few knots would be a bad start */
    if (sparse) {
      TRY(rise_above_noise(s, &found));
      begin_growing(s);
    }
  }
done:
  return status;
}

/* Sets the first model aside while knots are chosen at better parameters. */
static oatgp_status settle_again(oat_search *s) {
  const oat_rng before = s->state.rng;
  oat_optimum found = {.highest = -HUGE_VAL, .other = s->state.other};
  oat_search_put_aside(s);
  oat_search_copy(s, &s->backup, 0, &s->point);
  return settle(s, &before, &found);
}

/* Adds random rows to the knots, up to k. */
static oatgp_status add_random(oat_search *s, size_t k) {
  const oat_rows *rows = s->objective->config.rows;
  const size_t added = k - s->state.k;
  oat_scratch memory = {.ctx = s->ctx};
  size_t *row = oat_take(&memory, added, sizeof *row);
  double *position = oat_take_doubles(&memory, oat_rows_inputs(rows), 1);
  oatgp_status status;
  TRY(memory.status);
  oat_rng_sample(&s->state.rng, oat_rows_total(rows), added, row);
  for (size_t i = 0; i < added; i++) {
    oat_proposal_position(s, row[i], position);
    oat_search_add_knot(s, position);
  }
done:
  oat_scratch_free(&memory);
  return status;
}

/* Doubles the knots: all are chosen again at the current parameters, or random ones are added to those that were
 * moved. */
static oatgp_status propose(oat_search *s) {
  oatgp_status status = OATGP_OK;
  if (is_over(s, DOUBLING * (ROUND_ITERATIONS / 4.0))) { /* there is no time to optimise with them */
    return OATGP_OK;
  }
  oat_search_mark(s);
  TRY(s->state.round == RANDOM ? add_random(s, at_most(2 * s->state.k, s->settings.max_knots))
                               : choose_knots(s, 2 * s->state.k));
  s->state.phase = OAT_PHASE_GROW;
  if (is_over(s, 0)) {
    oat_search_revert(s);
  } else if (s->state.k > s->state.kept) {
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
  const bool keep = s->state.kept == 0 || s->state.value > s->state.value_before + oat_auto_tolerance(s);
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

/* Whether to try neighbours: many knots are needed, so the remaining detail may be local. */
static bool neighbours_are_due(const oat_search *s) {
  return s->settings.exact && s->state.round == GREEDY && s->state.k >= DUE_KNOTS && *s->subset > 0 &&
         s->state.best_value > -HUGE_VAL;
}

/* The better of the models at the parameters of the race and of the subset. */
static void choose_parameters(oat_search *s) {
  oat_search_fall_back(s);
  s->state.fallback_value = -HUGE_VAL;
  s->state.kept = s->state.k;
  s->state.round = GREEDY;
}

/* Why the number of knots is settled now, if it is. */
static oatgp_stop reason_to_stop(const oat_search *s, bool kept) {
  return !kept                                 ? OATGP_STOP_TOL_ROW
         : s->state.k >= oat_auto_rows(s)      ? OATGP_STOP_CANDIDATES
         : s->state.k >= s->settings.max_knots ? OATGP_STOP_MAX_KNOTS
                                               : OATGP_STOP_NONE;
}

/* Optimises the parameters with the new knots (with random ones, all knots, too), and decides how to go on. On entry,
 * `stop` is set if the number of knots is already settled. */
static oatgp_status grow(oat_search *s) {
  const oatgp_stop settled = s->state.stop;
  const bool first = s->state.round == FIRST, again = s->state.round == AGAIN, moves = s->state.round == RANDOM;
  const oat_optim_settings limits = limits_of(s, moves ? MOVE_ITERATIONS : first ? FIRST_ITERATIONS : ROUND_ITERATIONS);
  oatgp_status status = OATGP_OK;
  TRY(oat_search_optimise(s, moves ? 0 : s->state.k, &limits));
  const bool kept = again || decide(s);
  if (again) {
    choose_parameters(s);
  }
  TRY(oat_incumbent_offer(s));
  s->state.phase = OAT_PHASE_POLISH;
  if (oat_search_halted(s)) {
    return OATGP_OK;
  }
  s->state.stop = first ? OATGP_STOP_NONE : settled != OATGP_STOP_NONE ? settled : reason_to_stop(s, kept);
  s->state.phase = first                              ? OAT_PHASE_SUBSET
                   : s->state.stop != OATGP_STOP_NONE ? OAT_PHASE_POLISH
                   : neighbours_are_due(s)            ? OAT_PHASE_NEIGHBOURS
                   : trial_is_due(s)                  ? OAT_PHASE_COMPARE
                                                      : OAT_PHASE_PROPOSE;
done:
  return status;
}

/* Tries knots and neighbours; if they are better, the search ends. */
static oatgp_status try_neighbours(oat_search *s) {
  bool taken = false;
  oatgp_status status = OATGP_OK;
  TRY(oat_auto_neighbours(s, &taken));
  memset(s->subset, 0, oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *s->subset); /* once */
  s->state.phase = taken ? OAT_PHASE_DONE : trial_is_due(s) ? OAT_PHASE_COMPARE : OAT_PHASE_PROPOSE;
done:
  return status;
}

/* ---- greedy or random ------------------------------------------------------------------------------------------ */

/* The greedy model is set aside in s->fallback while random rows replace its knots, at its parameters. */
static oatgp_status put_random(oat_search *s) {
  const size_t k = s->state.k;
  oatgp_status status = OATGP_OK;
  oat_search_put_aside(s);
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

/* One step of the trial: moves the greedy knots for a while, then the same number of random ones. If these win, they
 * are moved further. */
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
  TRY(oat_search_halted(s) || s->state.phase == OAT_PHASE_PROPOSE ? oat_incumbent_offer(s) : OATGP_OK);
done:
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* Optimises all knots and parameters together, to convergence if asked for; for the full GP, only the parameters. The
 * reason to stop remains the one that settled the number of knots. */
static oatgp_status polish(oat_search *s) {
  const oatgp_stop settled = s->state.stop;
  const bool sparse = s->objective->config.approx->sparse;
  const oat_optim_settings limits = s->given->refine || !sparse ? s->limits : limits_of(s, POLISH_ITERATIONS);
  oatgp_status status = OATGP_OK;
  if (!sparse) {
    TRY(oat_search_optimise(s, 0, &limits));
  } else if (s->given->refine || (settled != OATGP_STOP_EVIDENCE && s->state.round != RANDOM)) {
    if (s->resumed == NULL) {
      oat_search_tell(s, OAT_SEARCH_REFINE);
    }
    TRY(oat_search_halted(s) ? OATGP_OK : oat_search_optimise(s, 0, &limits));
    s->state.stop = oat_search_halted(s) ? s->state.stop : settled;
    TRY(oat_incumbent_offer(s));
  }
  s->state.phase = OAT_PHASE_DONE;
done:
  return status;
}

/* What each phase does; there are no others. */
static oatgp_status (*const steps[])(oat_search *s) = {
    [OAT_PHASE_PARAMETERS] = begin, [OAT_PHASE_SUBSET] = settle_again,
    [OAT_PHASE_PROPOSE] = propose,  [OAT_PHASE_NEIGHBOURS] = try_neighbours,
    [OAT_PHASE_GROW] = grow,        [OAT_PHASE_COMPARE] = compare,
    [OAT_PHASE_POLISH] = polish,
};

oatgp_status oat_run_auto(oat_search *s) {
  oatgp_status status = OATGP_OK;
  if (!s->objective->config.approx->sparse && s->limits.max_iter < 1) { /* the full GP, by the user's choice */
    s->state.phase = OAT_PHASE_POLISH;
  }
  while (!oat_search_halted(s) && s->state.phase != OAT_PHASE_DONE) {
    TRY(steps[s->state.phase](s));
  }
  if (s->objective->config.approx->sparse) {
    TRY(oat_incumbent_conclude(s));
  } else if (s->state.value == -HUGE_VAL) {
    TRY(oat_search_evaluate(s));
  }
done:
  return status;
}
