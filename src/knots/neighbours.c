/* Knots and neighbours in the automatic selection. If many knots would be needed, the detail may be local, and the
 * neighbours of a row then help more than further knots. A few knots are chosen greedily at the parameters of the exact
 * GP of a subset, and the parameters are optimised with neighbours: first with few knots and neighbours, then with
 * more. The number of neighbours, or of knots, is doubled as long as held-out rows gain the tolerance; then the
 * parameters are optimised again. For a smooth function with little noise, neighbours are worse than all rows together,
 * and twice as many change a lot. With up to some thousand rows the exact GP is then tried, too, at the subset's
 * parameters. If the growth ends at its limits and not because it gains no more, the exact GP is tried for more rows,
 * too: as long as its evaluation costs no more than a few of those that were just made.
 *
 * The search that this trial belongs to stays unchanged until the end, so that a halted fit can continue from before
 * it. */
#include <math.h>
#include <string.h>

#include "knots/attempts.h"
#include "knots/auto.h"
#include "objective/sparse.h"
#include "util/clock.h"
#include "util/machine.h"
#include "util/ranks.h"

enum {
  ROUGH_KNOTS = 100, /* for most of the optimisation, at a fifth of the cost */
  KNOTS = 200,
  MOST_KNOTS = 800,
  ROUGH_NEIGHBOURS = 15,
  NEIGHBOURS = 30,
  MOST_NEIGHBOURS = 120,
  GPU_NEIGHBOURS = 60, /* if a GPU can compute the exact GP, which is then cheaper than more neighbours */
  ROUGH_ITERATIONS = 150,
  ITERATIONS = 60,
  LAST_ITERATIONS = 20, /* after their number has grown */
  EXACT_ROWS = 5000,    /* at most, for the exact GP */
  GPU_ROWS = 40000,     /* the same where a GPU has room for its matrix */
  EXACT_ITERATIONS = 30,
  PATIENCE = 3
};
#define REST 10.0      /* an optimisation ends when the objective rises by less than tol_row / REST a row */
#define ROUGH_REST 3.0 /* the same for the first part of the way */
#define LEAST_GAIN 0.1 /* of that, for a shorter step: without noise, rounding makes the objective rough */
#define OF_TIME 0.85   /* their share of the time left; the rest is for the last steps of the fit */
#define SURELY 2.0     /* standard errors that a gain must have */
#define SWING \
  0.01 /* nats a row: if more neighbours change the density by this much, all rows may change it even more */
#define SWINGS 5.0      /* of these, by which rows left out may be worse at the start */
#define NOISE_SHARE 0.1 /* of the kernel's amplitude: the noise at which the exact GP then starts */
#define EVALUATIONS 8.0 /* for which there must be time before more of them are tried */
#define PRICE 6.0 /* the most that an evaluation of the exact GP may cost, in evaluations with knots and neighbours */

/* The best so far. */
typedef struct candidate {
  oat_scratch memory;
  oat_point point;
  size_t k, neighbours; /* no neighbours: the incumbent, with knots alone */
  double value;
  double gain;      /* of the latest comparison, per row */
  double grown;     /* gain of the latest increase of knots or neighbours that was kept; 0: none yet */
  bool capped;      /* such increases continued up to a limit */
  bool compared;    /* it was compared it was compared with the exact GP */
  double swing;     /* the largest change of the sum of `left_out` by doubling the neighbours or knots */
  oat_trial exact;  /* the exact GP, if it is better; then its evidence is finite */
  double *left_out; /* the log density of each row, given the others */
  double *trial;    /* the same for the model under trial */
} candidate;

/* A search with neighbours, separate from the one that it serves. */
typedef struct with {
  oat_search *s;
  const oat_rows *rows;
  candidate *best;
  oat_search sub;
} with;

/* ---- one number of knots and of neighbours --------------------------------------------------------------------- */

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
  config.jitter = OAT_SOFT_SIGMA; /* costs no accuracy, because neighbours explain whatever the knots leave */
  config.soft = false;
  return config;
}

static oat_optim_settings limits_of(const oat_search *s) {
  oat_optim_settings limits = s->limits;
  const double now = oat_seconds();
  limits.max_iter = fmin(ROUGH_ITERATIONS, limits.max_iter);
  limits.obj_tol = fmax(oat_auto_tolerance(s) / REST, limits.obj_tol);
  limits.least_gain = LEAST_GAIN * limits.obj_tol;
  limits.patience = PATIENCE;
  limits.max_eval = limits.max_eval > 0 ? fmax(limits.max_eval - s->state.evaluations, 1) : 0;
  limits.deadline = limits.deadline > 0 ? now + OF_TIME * (limits.deadline - now) : 0;
  return limits;
}

/* Opens a search with k knots, chosen at the parameters theta, and m neighbours. */
static oatgp_status open_with(with *w, const double *theta, size_t k, size_t m) {
  oat_search *s = w->s, *sub = &w->sub;
  const oat_objective_config config = config_of(w, k, m);
  oatgp_status status = OATGP_OK;
  *sub = (oat_search){.ctx = s->ctx,
                      .mapping = s->mapping,
                      .method = oat_optim_find("lbfgs"),
                      .limits = limits_of(s),
                      .given = s->given,
                      .settings = {.max_knots = k, .learns = true},
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

/* Whether `trial` is better by the tolerance and by more than chance, since the difference may come from a few rows. */
static bool is_better(const with *w) {
  const size_t n = oat_rows_total(w->rows);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    const double gain = w->best->trial[i] - w->best->left_out[i];
    sum += gain;
    squares += gain * gain;
  }
  w->best->swing = w->best->neighbours > 0 ? fmax(w->best->swing, fabs(sum)) : 0;
  w->best->gain = sum / (double)n;
  return sum > oat_auto_tolerance(w->s) && sum > SURELY * sqrt(squares);
}

/* Computes the leave-one-out density at the point with its neighbours. The point becomes the best if its density is. */
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

/* ---- more of them ---------------------------------------------------------------------------------------------- */

/* Whether they fit into half of the available memory. */
static bool fits(const oat_search *s, size_t k, size_t m) {
  const double bytes = 2 * oat_neighbour_bytes((double)oat_auto_rows(s), (double)k, (double)m);
  return oat_ranks_first(bytes <= (double)oat_machine_available());
}

/* Whether a GPU can compute the exact GP of all rows. */
static bool is_exact_on_gpu(const with *w) {
  const oat_objective_config *config = &w->s->objective->config;
  const oat_device_config device = {.where = config->where, .kernel = oat_kernel_size_of(config->kernel)};
  return oat_rows_total(w->rows) <= GPU_ROWS && oat_device_exact_on_gpu(w->s->ctx, &device, w->rows);
}

/* Whether this number is allowed, and there is time to try it. */
static bool may_have(with *w, size_t k, size_t m) {
  const bool may = k <= MOST_KNOTS && m <= (is_exact_on_gpu(w) ? GPU_NEIGHBOURS : MOST_NEIGHBOURS) &&
                   k <= w->s->settings.max_knots && fits(w->s, k, m);
  w->best->capped = w->best->capped || (!may && w->best->grown > 0);
  if (may && oat_search_late(&w->sub, EVALUATIONS)) {
    w->sub.state.stop = OATGP_STOP_TIME;
  }
  return may && !oat_search_halted(&w->sub);
}

/* Opens a search with more knots or neighbours at the same parameters. */
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
  more->sub.latest = w->sub.latest;
  w->sub.latest = NULL;
  close_with(w);
  *w = *more;
  more->sub = (oat_search){0};
}

/* Tries k knots and m neighbours, and continues with them if they are better. */
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
    w->best->grown = w->best->gain;
    go_on_with(w, &more);
  }
done:
  close_with(&more);
  return status;
}

/* Twice as many neighbours, or knots, for as long as that gains the tolerance. */
static oatgp_status grow(with *w) {
  bool knots, neighbours;
  oatgp_status status = OATGP_OK;
  do {
    w->best->capped = false;
    TRY(extend(w, w->sub.state.k, 2 * w->sub.objective->config.neighbours, &neighbours));
    TRY(extend(w, 2 * w->sub.state.k, w->sub.objective->config.neighbours, &knots));
  } while (knots || neighbours);
done:
  return status;
}

/* Does most of the optimisation of the parameters. */
static oatgp_status begin(with *w, size_t k) {
  oatgp_status status = OATGP_OK;
  TRY(open_with(w, w->s->subset, k < ROUGH_KNOTS ? k : ROUGH_KNOTS, ROUGH_NEIGHBOURS));
  oat_optim_settings limits = w->sub.limits;
  limits.obj_tol = fmax(oat_auto_tolerance(w->s) / ROUGH_REST, limits.obj_tol);
  TRY(oat_search_optimise(&w->sub, w->sub.state.k, &limits));
done:
  return status;
}

static oatgp_status try_neighbours(with *w, size_t k) {
  with more = {0};
  bool better = false;
  oatgp_status status = OATGP_OK;
  TRY(begin(w, k));
  if (oat_search_halted(&w->sub)) {
    return OATGP_OK;
  }
  TRY(open_more(w, k, NEIGHBOURS, &more));
  go_on_with(w, &more);
  TRY(improve(w, ITERATIONS, &better));
  if (better && !oat_search_halted(&w->sub)) {
    TRY(grow(w));
  }
done:
  close_with(&more);
  return status;
}

/* ---- the exact GP ---------------------------------------------------------------------------------------------- */

static double sum_of(size_t n, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  return sum;
}

/* Optimises the exact GP of all rows from the trial's parameters. If it is halted, it does not count. */
static oatgp_status run_exact(with *w, double iterations) {
  oat_search *s = w->s;
  oat_attempt attempt = oat_attempt_new(s, w->rows, iterations, &w->best->exact);
  attempt.obj_tol = oat_auto_tolerance(s) / REST;
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
  return at->evidence > -HUGE_VAL &&
         at->left_out > sum_of(oat_rows_total(w->rows), w->best->left_out) + oat_auto_tolerance(w->s);
}

/* With too few neighbours, all noise may have been fitted as signal. From too much noise, an optimisation finds its way
 * down; from none, hardly up. */
static void raise_noise(const oat_search *s, double *theta) {
  if (s->mapping.free[OAT_TAU]) {
    theta[OAT_TAU] = fmax(theta[OAT_TAU], NOISE_SHARE * oat_kernel_amplitude(s->mapping.kernel, theta));
  }
}

/* Flops of an evaluation of the exact GP over those of one with the best knots and neighbours. */
static double price_of_exact(const with *w) {
  const double n = (double)oat_rows_total(w->rows), k = (double)w->best->k, m = (double)w->best->neighbours;
  return n * n / (3 * m * m * (k + m / 3) + 5 * k * k);
}

/* Whether the exact GP is worth its cost for more rows than usual. */
static bool may_be_dear(const with *w) {
  const double n = (double)oat_rows_total(w->rows), price = price_of_exact(w);
  return w->best->capped && price <= PRICE && 2 * sizeof(double) * n * n <= (double)oat_machine_available() &&
         !oat_search_late(&w->sub, EVALUATIONS * price);
}

static bool may_be_exact(const with *w) {
  return oat_rows_total(w->rows) <= EXACT_ROWS || is_exact_on_gpu(w) || oat_ranks_first(may_be_dear(w));
}

/* Where the exact GP begins; it is at the parameters of the subset already. From those of knots and neighbours it would
 * hardly gain more than some times what twice as many of these change. */
static bool choose_start(const with *w) {
  oat_trial *exact = &w->best->exact;
  const bool better = is_exact_better(w);
  if (!better) {
    memcpy(exact->theta, w->best->point.theta, oat_attempt_parameters(w->s) * sizeof *exact->theta);
    raise_noise(w->s, exact->theta);
  }
  return better || sum_of(oat_rows_total(w->rows), w->best->left_out) - exact->at.left_out < SWINGS * w->best->swing;
}

/* It is tried where neighbours are so far from it that twice as many change a lot, for better or worse. */
static oatgp_status try_exact(with *w) {
  oat_trial *exact = &w->best->exact;
  const bool unsettled = w->best->swing > SWING * (double)oat_rows_total(w->rows) || w->best->capped;
  oatgp_status status = OATGP_OK;
  if (w->best->neighbours == 0 || !unsettled || !may_be_exact(w) || oat_search_halted(&w->sub)) {
    return OATGP_OK;
  }
  memcpy(exact->theta, w->s->subset, oat_attempt_parameters(w->s) * sizeof *exact->theta);
  TRY(run_exact(w, 0));
  if (choose_start(w) && !oat_search_halted(&w->sub)) {
    TRY(run_exact(w, EXACT_ITERATIONS));
  }
  w->best->compared = !oat_search_halted(&w->sub);
  if (!is_exact_better(w)) {
    exact->at.evidence = -HUGE_VAL;
  }
done:
  return status;
}

/* Optimises the parameters again with the final numbers, unless the exact GP is better. That is tried first if the
 * growth ended at its limits. */
static oatgp_status settle(with *w) {
  const bool first = w->best->capped && may_be_exact(w);
  bool better;
  oatgp_status status = OATGP_OK;
  TRY(first ? try_exact(w) : OATGP_OK);
  if (w->best->grown > 0 && w->best->exact.at.evidence == -HUGE_VAL && !oat_search_halted(&w->sub)) {
    TRY(improve(w, LAST_ITERATIONS, &better));
  }
  TRY(first ? OATGP_OK : try_exact(w));
done:
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

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

/* The leave-one-out densities of the incumbent, in the order of the rows here. */
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

/* Makes the exact GP the incumbent and ends the search. */
static void take_exact(oat_search *s, const oat_trial *exact) {
  oat_search_state *state = &s->state;
  memcpy(s->best.theta, exact->theta, oat_attempt_parameters(s) * sizeof *exact->theta);
  state->best_neighbours = 0;
  state->best_exact = true;
  state->best_value = state->evidence = exact->at.evidence;
  state->left_out = exact->at.left_out;
  state->stop = OATGP_STOP_EVIDENCE;
}

/* A note that more knots or neighbours would have helped, if the exact GP was not tried. */
static void tell_limits(const with *w) {
  const candidate *best = w->best;
  if (best->capped && !best->compared && !oat_search_halted(&w->sub)) {
    oat_say(
        w->s->ctx, OATGP_WARNING,
        "the automatic fit stopped at its limit of %zu knots and %zu neighbours; the latest increase still improved "
        "held-out rows by %.2g nats per row, so the exact GP (--approx=full) may be better",
        best->k, best->neighbours, best->grown);
  }
}

/* Hands the result to the search. If the trial was halted, reports the search's own unchanged state first. */
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
    state->stop = oat_search_halted(s) ? state->stop : best->capped ? OATGP_STOP_LIMITS : OATGP_STOP_NEIGHBOURS;
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
  if (s->ordered == NULL) {
    oat_say(s->ctx, OATGP_NOTE, "neighbours were not tried: they need all rows in memory");
  } else if (!fits(s, k, NEIGHBOURS)) {
    oat_say(s->ctx, OATGP_NOTE, "neighbours were not tried: with this many rows they need more memory");
  } else {
    TRY(s->ordered(s->self, &rows));
    w.rows = rows;
    TRY(measure_incumbent(&w));
    TRY(try_neighbours(&w, k));
    TRY(settle(&w));
    tell_limits(&w);
    hand_over(s, &w, taken);
  }
done:
  close_with(&w);
  oat_rows_free(rows);
  oat_scratch_free(&best.memory);
  return status;
}
