/* Parameters from the exact GP of a subset. */
#include "knots/strategy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/jobs.h"

#define SUBSET_TOL 1e-3 /* nats: the parameters are a start, or are optimised again with knots */
/* With few rows for each parameter there are optima that are better by chance: one that is not that of the given start must be better
 * by so many nats for sigma and each input in use. */
#define MARGIN 4.0
#define FEW_ROWS 15.0 /* for each of them */
/* Lengthscale beyond which an input says next to nothing, in its spreads; a start has none that is longer. */
#define LONGEST 5.0
#define NOT_FAR 0.05 /* nats a row */
#define CLEARLY 0.02 /* nats a row: by so much the rows left out must differ to overrule the evidence */
enum { RACE_ROWS = 300 };
enum { HEAT_ITERATIONS = 12, RACE_ITERATIONS = 40, FINALISTS = 3, ITERATIONS = OAT_SUBSET_ITERATIONS, PUSHES = 4, MORE_NOISE = 8 };

/* ---- the exact GP of a sample ------------------------------------------------------------------------------------------ */

/* An optimum with its parameters. */
typedef struct trial {
  double *theta;
  oat_optimum at;
} trial;

/* An optimisation on some rows, one of several that run side by side. All of them only read the search that they are for. */
typedef struct attempt {
  oat_search *s;
  const oat_rows *rows;
  double iterations;
  trial *t; /* begins at its parameters, and ends with those found */
  oat_optimum before;
  oatgp_context *ctx, own;
  int threads;
  oat_job *job;
  oatgp_status status;
  oatgp_stop stop;  /* if it was halted */
  struct step *cut; /* the step at which the user stopped it, or NULL */
  bool counts;
} attempt;

/* What is told of one step of it: the optimiser's numbers, the parameters there, and the best so far. */
typedef struct step {
  oat_said said;
  oat_search_state state;
  double counter[OAT_COUNTERS], derivative, *theta, *best;
  double room[];
} step;

static size_t theta_count(const oat_search *s) { return oat_theta_count(s->mapping.kernel, s->mapping.d); }

static bool report(void *self, const oat_search *sub, oat_search_event event) {
  attempt *a = self;
  const size_t count = theta_count(sub), bytes = count * sizeof(double);
  step *now = NULL;
  (void)event;
  a->status = oat_new(a->ctx, 1, sizeof *now + 2 * bytes, &now);
  if (a->status != OATGP_OK) {
    return true;
  }
  now->state = sub->state;
  now->derivative = sub->derivative;
  now->theta = now->room;
  now->best = now->room + count;
  memcpy(now->counter, sub->optim->counter, sizeof now->counter);
  memcpy(now->theta, sub->trial.theta, bytes);
  memcpy(now->best, sub->point.theta, bytes);
  if (now->counter[OAT_BEST] > -HUGE_VAL) {
    oat_mapping_unpack(&sub->mapping, sub->optim->best, &(oat_point){now->best, NULL});
  }
  return oat_job_say(a->job, &now->said);
}

static oat_search search_for(attempt *a) {
  const oat_search *s = a->s;
  oat_search sub = {.ctx = a->ctx,
                    .mapping = s->mapping,
                    .method = oat_optim_find("lbfgs"),
                    .limits = s->limits,
                    .given = s->given,
                    .settings = {.max_knots = 1},
                    .none_free = s->none_free,
                    .report = report,
                    .self = a};
  sub.mapping.k = sub.mapping.first = 0;
  sub.limits.max_iter = fmin(a->iterations, s->limits.max_iter);
  sub.limits.max_eval = 0; /* is for the model's own objective */
  sub.limits.obj_tol = fmax(SUBSET_TOL, s->limits.obj_tol);
  sub.state.value = -HUGE_VAL;
  return sub;
}

/* The objective of the exact GP. Its matrix is small, and whether it is made must not depend on --memory. */
static oat_objective_config objective_config(const attempt *a) {
  oat_objective_config config = a->s->objective->config;
  config.approx = oat_approx_find("full");
  config.rows = a->rows;
  config.jitter = oat_full_rounding(oat_rows_total(a->rows));
  config.soft = false;
  config.memory = INT64_MAX;
  config.where.threads = a->threads;
  return config;
}

static oatgp_status open_search(attempt *a, oat_search *sub) {
  const oat_objective_config config = objective_config(a);
  oatgp_status status;
  *sub = search_for(a);
  TRY(oat_objective_create(a->ctx, &config, &sub->objective));
  TRY(oat_search_open(sub));
  memcpy(sub->point.theta, a->t->theta, theta_count(sub) * sizeof *a->t->theta);
done:
  return status;
}

static void close_search(oat_search *sub) {
  oat_objective_free(sub->objective);
  oat_search_close(sub);
}

/* Parameters that can be factorised with some rows need more noise with others. */
static oatgp_status begin_with_noise(oat_search *sub) {
  double value;
  oatgp_status status = oat_objective_evaluate(sub->objective, &sub->point, &value, NULL);
  for (int i = 0; status == OATGP_NUMERIC && sub->mapping.free[OAT_TAU] && i < MORE_NOISE; i++) {
    sub->point.theta[OAT_TAU] *= 3;
    status = oat_objective_evaluate(sub->objective, &sub->point, &value, NULL);
  }
  return status == OATGP_NUMERIC ? OATGP_OK : status; /* the optimisation will see it */
}

/* Optimises. With little noise the derivatives have few digits, and a line search can fail where a new one finds its way. */
static oatgp_status push_on(oat_search *sub) {
  oatgp_status status = OATGP_OK;
  double before;
  int push = 0;
  do {
    before = sub->state.value;
    status = oat_search_optimise(sub, 0, &sub->limits);
  } while (status == OATGP_OK && sub->state.stop == OATGP_STOP_STALLED && sub->state.value > before + SUBSET_TOL && ++push < PUSHES);
  return status;
}

/* What there is to say of the search's point, which is the trial's from now on. */
static oatgp_status appraise(const attempt *a, oat_search *sub) {
  trial *t = a->t;
  oat_gradient gradient = {sub->gradient.theta, NULL};
  memcpy(t->theta, sub->point.theta, theta_count(sub) * sizeof *t->theta);
  t->at.evidence = t->at.left_out = -HUGE_VAL;
  const bool known = oat_objective_evaluate(sub->objective, &sub->point, &t->at.evidence, &gradient) == OATGP_OK;
  return known ? oat_full_left_out(sub->objective, &t->at.left_out) : OATGP_OK;
}

/* One that is asked to end leaves its trial as it was. */
static oatgp_status optimise(attempt *a) {
  oat_search sub;
  oatgp_status status;
  TRY(open_search(a, &sub));
  TRY(begin_with_noise(&sub));
  TRY(push_on(&sub));
  TRY(a->status);
  if (sub.state.stop != OATGP_STOP_USER) {
    TRY(appraise(a, &sub));
  }
  a->stop = oat_search_halted(&sub) ? sub.state.stop : OATGP_STOP_NONE;
done:
  close_search(&sub);
  return status;
}

/* ---- side by side ------------------------------------------------------------------------------------------------------- */

static attempt new_attempt(oat_search *s, const oat_rows *rows, double iterations, trial *t) {
  return (attempt){.s = s, .rows = rows, .iterations = iterations, .t = t, .before = t->at};
}

static void run_attempt(void *self, size_t which, oat_job *job) {
  attempt *a = (attempt *)self + which;
  a->job = job;
  a->status = optimise(a);
}

/* A step of an attempt is told as such of the search that it is for; true asks to stop. */
static bool tell_step(const attempt *a, step *now) {
  oat_optim optim = {.counter = now->counter};
  oat_objective objective = {.config = objective_config(a)};
  const oat_search sub = {
      .objective = &objective, .optim = &optim, .state = now->state, .derivative = now->derivative, .trial = {.theta = now->theta}};
  return a->s->report(a->s->self, &sub, OAT_SEARCH_SUBSET);
}

static bool hear(void *self, size_t which, oat_said *said) {
  attempt *a = (attempt *)self + which;
  if (said == NULL) {
    a->counts = true;
    return a->status == OATGP_OK && a->stop == OATGP_STOP_NONE;
  }
  if (tell_step(a, (step *)said)) {
    a->cut = (step *)said;
    return false;
  }
  free(said);
  return true;
}

/* The attempt may have gone on beyond the step at which the user stopped it. */
static oatgp_status go_back_to_cut(attempt *a) {
  oat_search sub;
  oatgp_status status;
  memcpy(a->t->theta, a->cut->best, theta_count(a->s) * sizeof *a->t->theta);
  TRY(open_search(a, &sub));
  TRY(appraise(a, &sub));
  a->stop = OATGP_STOP_USER;
  a->counts = true;
done:
  close_search(&sub);
  return status;
}

/* What an attempt that was heard of ended with. */
static oatgp_status conclude(oat_search *s, attempt *a) {
  oatgp_status status = a->cut != NULL ? go_back_to_cut(a) : a->status;
  if (status != OATGP_OK && a->ctx != s->ctx) {
    status = oat_fail(s->ctx, status, "%s", a->ctx->error);
  }
  s->state.stop = a->stop != OATGP_STOP_NONE ? a->stop : s->state.stop;
  return status;
}

/* Each gets its share of the threads. They are never so many that their matrices need more than --memory. */
static size_t share_out(const oat_search *s, attempt *all, size_t count) {
  const oat_objective_config *config = &s->objective->config;
  const double n = (double)oat_rows_total(all->rows), room = (double)config->memory / (8 * n * n);
  const size_t most = oat_jobs_at_once(count, config->where.threads), at_once = room < (double)most ? (size_t)fmax(room, 1) : most;
  const int share = config->where.threads / (int)at_once;
  for (size_t i = 0; i < count; i++) {
    attempt *a = &all[i];
    a->threads = share > 1 ? share : 1;
    a->ctx = at_once > 1 ? &a->own : a->s->ctx;
  }
  return at_once;
}

/* All of them side by side, on the same rows. One that is halted or fails ends it: those before it count, and it does; those after it do
 * not, so that it is as if they had been run one after the other. None is begun if the search has been halted. */
static oatgp_status run_side_by_side(oat_search *s, attempt *all, size_t count) {
  oatgp_status status = OATGP_OK;
  if (count == 0 || oat_search_halted(s)) {
    return status;
  }
  const oat_jobs jobs = {count, share_out(s, all, count), run_attempt, hear, all};
  oat_jobs_run(&jobs);
  for (size_t i = 0; i < count && (all[i].counts || all[i].cut != NULL); i++) {
    TRY(conclude(s, &all[i]));
  }
done:
  for (size_t i = 0; i < count; i++) {
    all[i].t->at = all[i].counts ? all[i].t->at : all[i].before;
    free(all[i].cut);
  }
  return status;
}

/* ---- starts -------------------------------------------------------------------------------------------------------------- */

/* What the starts of the race multiply the given one's free parameters by. */
static const struct handicap { double lengthscale, tau; } handicaps[] = {{1, 1}, {1, 0.1}, {0.25, 0.3}, {4, 0.3}, {0.5, 0.003}};
enum { STARTS = sizeof handicaps / sizeof *handicaps };

static void handicap_start(const oat_search *s, const struct handicap *by, double *theta) {
  const size_t count = theta_count(s);
  memcpy(theta, s->start->theta, count * sizeof *theta);
  theta[OAT_TAU] *= s->mapping.free[OAT_TAU] ? by->tau : 1;
  for (size_t i = 0; i < count; i++) {
    const bool stretched = s->mapping.free[i] && oat_parameter_at(s->mapping.kernel, i).unit == OAT_UNIT_INPUT;
    theta[i] *= stretched ? by->lengthscale : 1;
  }
}

/* From which value on the parameter of one input says that the input does not matter. */
static double longest_of(const oat_mapping *mapping, size_t place) {
  const oat_parameter parameter = oat_parameter_at(mapping->kernel, place);
  return parameter.input != OAT_ALL_INPUTS ? LONGEST * mapping->spread[parameter.input] : HUGE_VAL;
}

/* An input that few rows make nothing of may matter with more, but a lengthscale far beyond the data has no slope to come back by. Returns
 * whether there was any. */
static bool revive(const oat_search *s, double *theta) {
  const oat_mapping *mapping = &s->mapping;
  bool any = false;
  for (size_t i = 0; i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    const double longest = longest_of(mapping, i);
    if (mapping->free[i] && theta[i] > longest) {
      theta[i] = longest;
      any = true;
    }
  }
  return any;
}

/* ---- the choice ------------------------------------------------------------------------------------------------------------ */

double oat_subset_used(const oat_search *s, const double *theta) {
  const oat_mapping *mapping = &s->mapping;
  double used = 1;
  for (size_t i = 0; i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    used += oat_parameter_at(mapping->kernel, i).unit == OAT_UNIT_INPUT && theta[i] < longest_of(mapping, i);
  }
  return used;
}

static bool has_few_rows(const oat_search *s, const double *theta, double rows) { return rows < FEW_ROWS * oat_subset_used(s, theta); }

/* Whether `t` is the better optimum. Where the rows left out differ clearly they decide, since it is they that are like rows to come;
 * else the evidence does. */
static bool is_better(const oat_search *s, const trial *t, const trial *best, double rows) {
  const double margin = t->at.other && has_few_rows(s, t->theta, rows) ? MARGIN * oat_subset_used(s, t->theta) : 0;
  if (best->at.left_out == -HUGE_VAL) {
    return t->at.left_out > -HUGE_VAL;
  }
  const double left_out = t->at.left_out - best->at.left_out;
  return (fabs(left_out) > CLEARLY * rows ? left_out : t->at.evidence - best->at.evidence) > margin;
}

static void take_if_better(const oat_search *s, const trial *t, trial *best, double rows) {
  const double highest = fmax(best->at.highest, t->at.evidence);
  if (is_better(s, t, best, rows)) {
    best->at = t->at;
    memcpy(best->theta, t->theta, theta_count(s) * sizeof *t->theta);
  }
  best->at.highest = highest;
}

/* Optimises `t` and makes it the best if it is. */
static oatgp_status compare(oat_search *s, const oat_rows *a, double iterations, trial *t, trial *best) {
  attempt only = new_attempt(s, a, iterations, t);
  const oatgp_status status = run_side_by_side(s, &only, 1);
  if (status == OATGP_OK && only.counts) {
    take_if_better(s, t, best, (double)oat_rows_total(a));
  }
  return status;
}

static double highest(const trial *field) {
  double evidence = -HUGE_VAL;
  for (size_t i = 0; i < STARTS; i++) {
    evidence = fmax(evidence, field[i].at.evidence);
  }
  return evidence;
}

/* A sample must be larger than the basis of an estimated mean. One that is no smaller than all rows has them in their order, so that what
 * can be factorised here can be factorised again for the model. */
static size_t sample_rows(const oat_search *s, size_t wanted) {
  const size_t all = oat_rows_total(s->objective->config.rows), basis = 2 * (1 + oat_rows_basis(s->objective->config.rows));
  const size_t rows = basis > wanted ? basis : wanted;
  return rows < all ? rows : all;
}

size_t oat_subset_race_rows(const oat_search *s) {
  return sample_rows(s, RACE_ROWS < (size_t)s->given->subset_rows ? RACE_ROWS : (size_t)s->given->subset_rows);
}

static const oat_optimum nothing_yet = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, false};

/* All starts for a few iterations, in `field`. */
static oatgp_status run_heats(oat_search *s, const oat_rows *a, trial *field) {
  attempt all[STARTS];
  oatgp_status status;
  for (size_t i = 0; i < STARTS; i++) {
    field[i].at.other = i > 0;
    handicap_start(s, &handicaps[i], field[i].theta);
    all[i] = new_attempt(s, a, HEAT_ITERATIONS, &field[i]);
  }
  TRY(run_side_by_side(s, all, STARTS));
  const double constant = oat_rows_constant(a, NULL);
  if (!oat_search_halted(s) && highest(field) < constant && s->mapping.free[OAT_TAU]) { /* too little noise: as much as signal */
    handicap_start(s, &handicaps[0], field[0].theta);
    field[0].theta[OAT_TAU] = field[0].theta[OAT_SIGMA];
    all[0] = new_attempt(s, a, HEAT_ITERATIONS, &field[0]);
    TRY(run_side_by_side(s, all, 1));
  }
done:
  return status;
}

/* Whether fewer than so many others are ahead; the given start is in any case. */
static bool is_finalist(const trial *field, size_t i, size_t most) {
  size_t ahead = 0;
  for (size_t j = 0; j < STARTS; j++) {
    ahead += field[j].at.evidence > field[i].at.evidence || (j < i && field[j].at.evidence == field[i].at.evidence);
  }
  return i == 0 || ahead < most;
}

/* Those ahead go on from where they are, in `final`; then all that was found is compared. */
static oatgp_status run_finals(oat_search *s, const oat_rows *a, trial *field, trial *final, trial *best) {
  const size_t bytes = theta_count(s) * sizeof *best->theta,
               most = oat_rows_total(a) == oat_rows_total(s->objective->config.rows) ? STARTS : FINALISTS; /* of all rows: all */
  attempt all[STARTS];
  size_t count = 0;
  oatgp_status status;
  for (size_t i = 0; i < STARTS; i++) {
    if (is_finalist(field, i, most)) {
      memcpy(final[i].theta, field[i].theta, bytes);
      final[i].at = field[i].at;
      all[count++] = new_attempt(s, a, RACE_ITERATIONS - HEAT_ITERATIONS, &final[i]);
    }
  }
  TRY(run_side_by_side(s, all, count));
  for (size_t i = 0, next = 0; i < STARTS; i++) {
    take_if_better(s, &field[i], best, (double)oat_rows_total(a));
    if (next < count && all[next].t == &final[i] && all[next++].counts) {
      take_if_better(s, &final[i], best, (double)oat_rows_total(a));
    }
  }
done:
  return status;
}

oatgp_status oat_subset_race(oat_search *s, oat_optimum *found) {
  const size_t count = theta_count(s);
  oat_rows *a = NULL;
  double *theta = NULL;
  trial field[2 * STARTS], best = {s->point.theta, nothing_yet};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, count, 2 * STARTS, &theta));
  for (size_t i = 0; i < 2 * STARTS; i++) {
    field[i] = (trial){theta + i * count, nothing_yet};
  }
  TRY(oat_rows_sample(s->ctx, s->objective->config.rows, oat_subset_race_rows(s), &s->state.rng, &a));
  TRY(run_heats(s, a, field));
  TRY(run_finals(s, a, field, field + STARTS, &best));
  *found = best.at;
  found->constant = oat_rows_constant(a, NULL);
done:
  oat_rows_free(a);
  free(theta);
  return status;
}

/* ---- more rows ------------------------------------------------------------------------------------------------------------- */

/* Where the optimisations on more rows begin. */
typedef struct settling {
  const oat_rows *rows;
  trial t[1 + 1 + STARTS];
  attempt all[1 + 1 + STARTS];
  size_t count, whole; /* so many of them go all the way; the others are heats */
} settling;

static trial *add_attempt(oat_search *s, settling *g, const double *theta, bool other, double iterations) {
  trial *t = &g->t[g->count];
  memcpy(t->theta, theta, theta_count(s) * sizeof *theta);
  t->at = nothing_yet;
  t->at.other = other;
  g->all[g->count++] = new_attempt(s, g->rows, iterations, t);
  return t;
}

/* From the given start, if the point's parameters are of another that must be better by a margin, and from these. */
static void add_whole(oat_search *s, settling *g, bool other) {
  if (other && has_few_rows(s, s->point.theta, (double)oat_rows_total(g->rows))) {
    add_attempt(s, g, s->start->theta, false, ITERATIONS);
  }
  revive(s, add_attempt(s, g, s->point.theta, other, ITERATIONS)->theta);
  g->whole = g->count;
}

/* What needs more rows than the race had to be seen is rough: so the starts with short lengthscales are tried again. */
static void add_short(oat_search *s, settling *g) {
  for (size_t i = 0; i < STARTS; i++) {
    if (handicaps[i].lengthscale < 1) {
      handicap_start(s, &handicaps[i], add_attempt(s, g, s->start->theta, true, HEAT_ITERATIONS)->theta);
    }
  }
}

/* The best of what they found. A heat that is not far behind goes on. */
static oatgp_status choose(oat_search *s, settling *g, trial *best) {
  const double n = (double)oat_rows_total(g->rows);
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < g->count && g->all[i].counts; i++) {
    take_if_better(s, &g->t[i], best, n);
    if (i >= g->whole && g->t[i].at.evidence > best->at.evidence - NOT_FAR * n) {
      TRY(compare(s, g->rows, ITERATIONS, &g->t[i], best));
    }
  }
done:
  return status;
}

/* At last from the best with the inputs revived that it makes nothing of. */
oatgp_status oat_subset_settle(oat_search *s, size_t rows, oat_optimum *found) {
  const size_t all = oat_rows_total(s->objective->config.rows), count = theta_count(s);
  oat_scratch memory = {.ctx = s->ctx};
  oat_rows *a = NULL;
  settling g = {.count = 0};
  trial best = {s->point.theta, nothing_yet};
  oatgp_status status;
  for (size_t i = 0; i < sizeof g.t / sizeof *g.t; i++) {
    g.t[i].theta = oat_take_doubles(&memory, count, 1);
  }
  best.at.highest = found->highest;
  TRY(memory.status);
  TRY(oat_rows_sample(s->ctx, s->objective->config.rows, sample_rows(s, rows), &s->state.rng, &a));
  g.rows = a;
  add_whole(s, &g, found->other);
  if (oat_rows_total(a) == all && all > oat_subset_race_rows(s)) {
    add_short(s, &g);
  }
  TRY(run_side_by_side(s, g.all, g.count));
  TRY(choose(s, &g, &best));
  trial *t = &g.t[g.count - 1];
  memcpy(t->theta, best.theta, count * sizeof *t->theta);
  if (revive(s, t->theta)) {
    TRY(compare(s, a, ITERATIONS, t, &best));
  }
  if (oat_rows_total(a) < all) {
    revive(s, best.theta);
  }
  *found = best.at;
  found->constant = oat_rows_constant(a, NULL);
done:
  oat_rows_free(a);
  oat_scratch_free(&memory);
  return status;
}
