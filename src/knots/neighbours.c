/* Knots and neighbours in the automatic selection. What many knots would be needed for may be local: then a row's
 * neighbours tell more than further knots do. Few knots are chosen greedily at the parameters of the exact GP of a
 * subset, and the parameters are optimised with neighbours: first with few knots and neighbours, then with more. Twice as many neighbours, or twice as many knots, are taken
 * for as long as the rows left out gain the tolerance by them; then the parameters are optimised again. Of a smooth function with
 * little noise neighbours tell less than all rows do: of some thousand rows the exact GP is tried, too, at the subset's parameters.
 *
 * The search that this is for stays as it was until the end, so that one that is halted can go on from before. */
#include <math.h>
#include <string.h>

#include "knots/attempts.h"
#include "knots/auto.h"
#include "objective/sparse.h"
#include "util/clock.h"
#include "util/machine.h"

enum {
  ROUGH_KNOTS = 100, /* for the first part of the way, at a fifth of the price */
  KNOTS = 200,
  MOST_KNOTS = 800,
  ROUGH_NEIGHBOURS = 15,
  NEIGHBOURS = 30,
  MOST_NEIGHBOURS = 120,
  ROUGH_ITERATIONS = 150,
  ITERATIONS = 60,
  LAST_ITERATIONS = 20, /* after there have become more */
  EXACT_ROWS = 5000,    /* at most, for the exact GP */
  EXACT_ITERATIONS = 30,
  PATIENCE = 3
};
#define REST 10.0       /* an optimisation ends when the objective rises by less than tol_row / REST a row */
#define OF_TIME 0.85    /* part of the time left that is theirs: the rest is for what ends the fit */
#define SURELY 2.0      /* standard errors that a gain must have */
#define SWING 0.01      /* nats a row: where more neighbours change so much, all rows may change more */
#define NOISE_SHARE 0.1 /* of the kernel's amplitude: where the exact GP begins then */
#define EVALUATIONS 8.0 /* that there must be time for, to try more of them */

/* The best so far. */
typedef struct candidate {
  oat_scratch memory;
  oat_point point;
  size_t k, neighbours; /* no neighbours: the incumbent, with knots alone */
  double value;
  double swing;     /* how far twice as many neighbours or knots have changed the sum of `left_out`, at most */
  oat_trial exact;  /* its evidence is finite: the exact GP is better */
  double *left_out; /* the log density of each row, given the others */
  double *trial;    /* as many, for another */
} candidate;

/* A search with neighbours beside the one that it is for. */
typedef struct with {
  oat_search *s;
  const oat_rows *rows;
  candidate *best;
  oat_search sub;
} with;

/* ---- one number of knots and of neighbours ------------------------------------------------------------------------ */

static bool report(void *self, const oat_search *sub, oat_search_event event) {
  const oat_search *s = self;
  return event == OAT_SEARCH_STEP && s->report(s->self, sub, OAT_SEARCH_SUBSET);
}

static oat_objective_config config_of(const with *w, size_t k, size_t m) {
  oat_objective_config config = w->s->objective->config;
  config.approx = oat_approx_find("fitc");
  config.rows = w->rows;
  config.neighbours = m;
  config.k = config.capacity = k;
  config.jitter = OAT_SOFT_SIGMA; /* costs nothing: neighbours have what knots leave, whatever that is */
  config.soft = false;
  return config;
}

static oat_optim_settings limits_of(const oat_search *s) {
  oat_optim_settings limits = s->limits;
  const double now = oat_seconds();
  limits.max_iter = fmin(ROUGH_ITERATIONS, limits.max_iter);
  limits.obj_tol = fmax(oat_auto_tolerance(s) / REST, limits.obj_tol);
  limits.patience = PATIENCE;
  limits.max_eval = limits.max_eval > 0 ? fmax(limits.max_eval - s->state.evaluations, 1) : 0;
  limits.deadline = limits.deadline > 0 ? now + OF_TIME * (limits.deadline - now) : 0;
  return limits;
}

/* With so many knots, chosen at the parameters theta, and neighbours. */
static oatgp_status open_with(with *w, const double *theta, size_t k, size_t m) {
  oat_search *s = w->s, *sub = &w->sub;
  const oat_objective_config config = config_of(w, k, m);
  oatgp_status status = OATGP_OK;
  *sub = (oat_search){.ctx = s->ctx,
                      .mapping = s->mapping,
                      .method = oat_optim_find("lbfgs"),
                      .limits = limits_of(s),
                      .given = s->given,
                      .settings = {.max_knots = k},
                      .none_free = s->none_free,
                      .report = report,
                      .self = s,
                      .state = {.value = -HUGE_VAL, .rng = s->state.rng}};
  TRY(oat_objective_create(s->ctx, &config, &sub->objective));
  TRY(oat_search_open(sub));
  memcpy(sub->point.theta, theta, oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *theta);
  TRY(oat_knots_greedy(sub, k));
done:
  return status;
}

static void close_with(with *w) {
  oat_objective_free(w->sub.objective);
  oat_search_close(&w->sub);
}

/* Whether `trial` is better by the tolerance, and by more than chance: a few rows may make all of the difference. */
static bool is_better(const with *w) {
  const size_t n = oat_rows_total(w->rows);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    const double gain = w->best->trial[i] - w->best->left_out[i];
    sum += gain;
    squares += gain * gain;
  }
  w->best->swing = w->best->neighbours > 0 ? fmax(w->best->swing, fabs(sum)) : 0;
  return sum > oat_auto_tolerance(w->s) && sum > SURELY * sqrt(squares);
}

/* The density of the rows left out, at the point with its neighbours. It becomes the best if it is. */
static oatgp_status appraise(with *w, bool *better) {
  const oat_search *sub = &w->sub;
  candidate *best = w->best;
  oatgp_status status = OATGP_OK;
  *better = false;
  TRY(oat_objective_find_neighbours(sub->objective, &sub->point, NULL));
  if (oat_search_evaluate(&w->sub) == OATGP_OK) {
    TRY(oat_objective_left_out_rows(sub->objective, &sub->point, best->trial));
    *better = is_better(w);
  }
  if (*better) {
    double *const left_out = best->left_out;
    oat_search_copy(w->s, &sub->point, sub->state.k, &best->point);
    best->k = sub->state.k;
    best->neighbours = sub->objective->config.neighbours;
    best->value = sub->state.value;
    best->left_out = best->trial;
    best->trial = left_out;
  }
done:
  return status;
}

static oatgp_status improve(with *w, double iterations, bool *better) {
  oat_optim_settings limits = w->sub.limits;
  oatgp_status status = OATGP_OK;
  limits.max_iter = fmin(iterations, limits.max_iter);
  TRY(oat_search_optimise(&w->sub, w->sub.state.k, &limits));
  TRY(appraise(w, better));
done:
  return status;
}

/* ---- more of them -------------------------------------------------------------------------------------------------- */

/* Whether they may take so much memory: half of what there is. */
static bool fits(const oat_search *s, size_t k, size_t m) {
  return 2 * oat_neighbour_bytes((double)oat_auto_rows(s), (double)k, (double)m) <= (double)oat_machine_available();
}

/* Whether there may be so many, and there is time to see. */
static bool may_have(with *w, size_t k, size_t m) {
  const bool may = k <= MOST_KNOTS && m <= MOST_NEIGHBOURS && k <= w->s->settings.max_knots && fits(w->s, k, m);
  if (may && oat_search_late(&w->sub, EVALUATIONS)) {
    w->sub.state.stop = OATGP_STOP_TIME;
  }
  return may && !oat_search_halted(&w->sub);
}

/* Another number of knots or of neighbours at the same parameters. */
static oatgp_status open_more(const with *w, size_t k, size_t m, with *more) {
  oatgp_status status = OATGP_OK;
  *more = (with){.s = w->s, .rows = w->rows, .best = w->best};
  TRY(open_with(more, w->sub.point.theta, k, m));
  more->sub.pace = w->sub.pace * (double)(k * m) / (double)(w->sub.state.k * w->sub.objective->config.neighbours);
done:
  return status;
}

static void go_on_with(with *w, with *more) {
  more->sub.state.iterations += w->sub.state.iterations;
  more->sub.state.evaluations += w->sub.state.evaluations;
  close_with(w);
  *w = *more;
  more->sub = (oat_search){0};
}

/* Goes on with them if they are better. */
static oatgp_status extend(with *w, size_t k, size_t m, bool *better) {
  with more = {0};
  oatgp_status status = OATGP_OK;
  *better = false;
  if (!may_have(w, k, m)) {
    return OATGP_OK;
  }
  TRY(open_more(w, k, m, &more));
  TRY(appraise(&more, better));
  if (*better) {
    go_on_with(w, &more);
  }
done:
  close_with(&more);
  return status;
}

/* Twice as many neighbours, or knots, for as long as that gains the tolerance. */
static oatgp_status grow(with *w, bool *grown) {
  bool knots, neighbours;
  oatgp_status status = OATGP_OK;
  do {
    TRY(extend(w, w->sub.state.k, 2 * w->sub.objective->config.neighbours, &neighbours));
    TRY(extend(w, 2 * w->sub.state.k, w->sub.objective->config.neighbours, &knots));
    *grown = *grown || knots || neighbours;
  } while (knots || neighbours);
done:
  return status;
}

/* Most of the way of the parameters. */
static oatgp_status begin(with *w, size_t k) {
  oatgp_status status = OATGP_OK;
  TRY(open_with(w, w->s->subset, k < ROUGH_KNOTS ? k : ROUGH_KNOTS, ROUGH_NEIGHBOURS));
  TRY(oat_search_optimise(&w->sub, w->sub.state.k, &w->sub.limits));
done:
  return status;
}

static oatgp_status try_all(with *w, size_t k) {
  with more = {0};
  bool better = false, grown = false;
  oatgp_status status = OATGP_OK;
  TRY(begin(w, k));
  if (oat_search_halted(&w->sub)) {
    return OATGP_OK;
  }
  TRY(open_more(w, k, NEIGHBOURS, &more));
  go_on_with(w, &more);
  TRY(improve(w, ITERATIONS, &better));
  if (better && !oat_search_halted(&w->sub)) {
    TRY(grow(w, &grown));
  }
  if (grown && !oat_search_halted(&w->sub)) {
    TRY(improve(w, LAST_ITERATIONS, &better));
  }
done:
  close_with(&more);
  return status;
}

/* ---- the exact GP ---------------------------------------------------------------------------------------------------- */

static double sum_of(size_t n, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  return sum;
}

/* The exact GP of all rows from the trial's parameters. One that is halted is as good as none. */
static oatgp_status run_exact(with *w, double iterations) {
  oat_search *s = w->s;
  oat_attempt attempt = oat_attempt_new(s, w->rows, iterations, &w->best->exact);
  const oatgp_status status = oat_attempts_run(s, &attempt, 1);
  if (oat_search_halted(s)) {
    w->sub.state.stop = s->state.stop;
    s->state.stop = OATGP_STOP_NONE;
    w->best->exact.at.evidence = -HUGE_VAL;
  }
  return status;
}

static bool is_exact_better(const with *w) {
  const oat_optimum *at = &w->best->exact.at;
  return at->evidence > -HUGE_VAL && at->left_out > sum_of(oat_rows_total(w->rows), w->best->left_out) + oat_auto_tolerance(w->s);
}

/* Too few neighbours may take all noise for function: an optimisation finds down from more of it, and hardly up from none. */
static void raise_noise(const oat_search *s, double *theta, bool raise) {
  if (raise && s->mapping.free[OAT_TAU]) {
    theta[OAT_TAU] = fmax(theta[OAT_TAU], NOISE_SHARE * oat_kernel_amplitude(s->mapping.kernel, theta));
  }
}

/* It is optimised if rows left out gain the tolerance by it even at the parameters of the subset, or if neighbours are so far from it that
 * twice as many change a lot, for better or worse. */
static oatgp_status try_exact(with *w) {
  oat_trial *exact = &w->best->exact;
  const size_t n = oat_rows_total(w->rows), bytes = oat_attempt_parameters(w->s) * sizeof *exact->theta;
  const bool unsettled = w->best->swing > SWING * (double)n;
  oatgp_status status = OATGP_OK;
  if (w->best->neighbours == 0 || n > EXACT_ROWS || oat_search_halted(&w->sub)) {
    return OATGP_OK;
  }
  memcpy(exact->theta, w->s->subset, bytes);
  TRY(run_exact(w, 0));
  const bool better = is_exact_better(w);
  if (better || unsettled) {
    memcpy(exact->theta, better ? w->s->subset : w->best->point.theta, bytes);
    raise_noise(w->s, exact->theta, !better);
    TRY(oat_search_halted(&w->sub) ? OATGP_OK : run_exact(w, EXACT_ITERATIONS));
  }
  if (!is_exact_better(w)) {
    exact->at.evidence = -HUGE_VAL;
  }
done:
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

static candidate new_candidate(const oat_search *s) {
  candidate best = {.memory = {.ctx = s->ctx}};
  best.point.theta = oat_take_doubles(&best.memory, oat_theta_count(s->mapping.kernel, s->mapping.d), 1);
  best.point.z = oat_take_doubles(&best.memory, MOST_KNOTS, s->mapping.d);
  best.exact.theta = oat_take_doubles(&best.memory, oat_theta_count(s->mapping.kernel, s->mapping.d), 1);
  best.exact.at.evidence = -HUGE_VAL;
  best.left_out = oat_take_doubles(&best.memory, oat_auto_rows(s), 1);
  best.trial = oat_take_doubles(&best.memory, oat_auto_rows(s), 1);
  return best;
}

/* What the rows left out are in the incumbent, in the order of the rows here. */
static oatgp_status measure_incumbent(const with *w) {
  const oat_search *s = w->s;
  oat_objective_config config = s->objective->config;
  oat_objective *objective = NULL;
  double value;
  oatgp_status status = OATGP_OK;
  config.rows = w->rows;
  config.k = config.capacity = s->state.best_k;
  TRY(oat_objective_create(s->ctx, &config, &objective));
  const oatgp_status evaluated = oat_objective_evaluate(objective, &s->best, &value, NULL);
  TRY(evaluated == OATGP_NUMERIC ? oat_objective_rejected(s->ctx, objective, &s->best) : evaluated);
  TRY(oat_objective_left_out_rows(objective, &s->best, w->best->left_out));
done:
  oat_objective_free(objective);
  return status;
}

/* The exact GP is the incumbent, and the end. */
static void take_exact(oat_search *s, const oat_trial *exact) {
  oat_search_state *state = &s->state;
  memcpy(s->best.theta, exact->theta, oat_attempt_parameters(s) * sizeof *exact->theta);
  state->best_neighbours = 0;
  state->best_exact = true;
  state->best_value = state->evidence = exact->at.evidence;
  state->left_out = exact->at.left_out;
  state->stop = OATGP_STOP_EVIDENCE;
}

/* What has been found becomes a part of the search. One that is halted tells first that it is where it was. */
static void hand_over(oat_search *s, const with *w, bool *taken) {
  const candidate *best = w->best;
  oat_search_state *state = &s->state;
  if (oat_search_halted(&w->sub)) {
    s->report(s->self, s, OAT_SEARCH_HALT);
    state->stop = w->sub.state.stop;
  }
  state->rng = w->sub.state.rng;
  state->iterations += w->sub.state.iterations;
  state->evaluations += w->sub.state.evaluations;
  *taken = best->neighbours > 0;
  if (*taken) {
    oat_search_copy(s, &best->point, best->k, &s->best);
    state->best_k = best->k;
    state->best_neighbours = best->neighbours;
    state->best_exact = false;
    state->best_value = best->value;
    state->left_out = sum_of(oat_rows_total(w->rows), best->left_out);
    state->stop = oat_search_halted(s) ? state->stop : OATGP_STOP_NEIGHBOURS;
  }
  if (best->exact.at.evidence > -HUGE_VAL) {
    take_exact(s, &best->exact);
  }
}

oatgp_status oat_auto_neighbours(oat_search *s, bool *taken) {
  const size_t k = KNOTS < s->settings.max_knots ? KNOTS : s->settings.max_knots;
  candidate best = new_candidate(s);
  with w = {.s = s, .best = &best};
  oat_rows *rows = NULL;
  oatgp_status status;
  *taken = false;
  TRY(best.memory.status);
  if (!fits(s, k, NEIGHBOURS)) {
    oat_say(s->ctx, OATGP_NOTE, "neighbours are not tried: the memory is too small for so many rows");
  } else {
    TRY(s->ordered(s->self, &rows));
    w.rows = rows;
    TRY(measure_incumbent(&w));
    TRY(try_all(&w, k));
    TRY(try_exact(&w));
    hand_over(s, &w, taken);
  }
done:
  close_with(&w);
  oat_rows_free(rows);
  oat_scratch_free(&best.memory);
  return status;
}
