/* Parameters from the exact GP of a subset. */
#include "knots/strategy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Steps of this search are told as such of the one that it is for. */
static bool report(void *self, const oat_search *sub, oat_search_event event) {
  const oat_search *s = self;
  (void)event;
  return s->report(s->self, sub, OAT_SEARCH_SUBSET);
}

static oat_search search_for(oat_search *s, double iterations) {
  oat_search sub = {.ctx = s->ctx,
                    .mapping = s->mapping,
                    .method = oat_optim_find("lbfgs"),
                    .limits = s->limits,
                    .given = s->given,
                    .settings = {.max_knots = 1},
                    .none_free = s->none_free,
                    .report = report,
                    .self = s};
  sub.mapping.k = sub.mapping.first = 0;
  sub.limits.max_iter = fmin(iterations, s->limits.max_iter);
  sub.limits.max_eval = 0; /* is for the model's own objective */
  sub.limits.obj_tol = fmax(SUBSET_TOL, s->limits.obj_tol);
  sub.state.value = -HUGE_VAL;
  return sub;
}

/* The objective of the exact GP. Its matrix is small, and whether it is made must not depend on --memory. */
static oatgp_status make_objective(oat_search *s, const oat_rows *rows, oat_objective **out) {
  oat_objective_config config = s->objective->config;
  config.approx = oat_approx_find("full");
  config.rows = rows;
  config.jitter = oat_full_rounding(oat_rows_total(rows));
  config.soft = false;
  config.memory = INT64_MAX;
  return oat_objective_create(s->ctx, &config, out);
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

/* Optimises from the parameters that `t` has. */
static oatgp_status optimise(oat_search *s, const oat_rows *rows, double iterations, trial *t) {
  const size_t bytes = oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *t->theta;
  oat_search sub = search_for(s, iterations);
  oatgp_status status = OATGP_OK;
  TRY(make_objective(s, rows, &sub.objective));
  TRY(oat_search_open(&sub));
  memcpy(sub.point.theta, t->theta, bytes);
  TRY(begin_with_noise(&sub));
  TRY(push_on(&sub));
  memcpy(t->theta, sub.point.theta, bytes);
  t->at.evidence = t->at.left_out = -HUGE_VAL;
  oat_gradient gradient = {sub.gradient.theta, NULL};
  if (oat_objective_evaluate(sub.objective, &sub.point, &t->at.evidence, &gradient) == OATGP_OK) {
    TRY(oat_full_left_out(sub.objective, &t->at.left_out));
  }
  s->state.stop = oat_search_halted(&sub) ? sub.state.stop : s->state.stop;
done:
  oat_objective_free(sub.objective);
  oat_search_close(&sub);
  return status;
}

/* ---- starts -------------------------------------------------------------------------------------------------------------- */

/* What the starts of the race multiply the given one's free parameters by. */
static const struct handicap { double lengthscale, tau; } handicaps[] = {{1, 1}, {1, 0.1}, {0.25, 0.3}, {4, 0.3}, {0.5, 0.003}};
enum { STARTS = sizeof handicaps / sizeof *handicaps };

static void handicap_start(const oat_search *s, const struct handicap *by, double *theta) {
  const size_t count = oat_theta_count(s->mapping.kernel, s->mapping.d);
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
    memcpy(best->theta, t->theta, oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *t->theta);
  }
  best->at.highest = highest;
}

/* Optimises `t` and makes it the best if it is. */
static oatgp_status compare(oat_search *s, const oat_rows *a, double iterations, trial *t, trial *best) {
  if (oat_search_halted(s)) { /* what t says is that of another point */
    return OATGP_OK;
  }
  const oatgp_status status = optimise(s, a, iterations, t);
  if (status == OATGP_OK) {
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
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < STARTS && !oat_search_halted(s); i++) {
    field[i].at.other = i > 0;
    handicap_start(s, &handicaps[i], field[i].theta);
    TRY(optimise(s, a, HEAT_ITERATIONS, &field[i]));
  }
  const double constant = oat_rows_constant(a, NULL);
  if (!oat_search_halted(s) && highest(field) < constant && s->mapping.free[OAT_TAU]) { /* too little noise: as much as signal */
    handicap_start(s, &handicaps[0], field[0].theta);
    field[0].theta[OAT_TAU] = field[0].theta[OAT_SIGMA];
    TRY(optimise(s, a, HEAT_ITERATIONS, &field[0]));
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

oatgp_status oat_subset_race(oat_search *s, oat_optimum *found) {
  const size_t count = oat_theta_count(s->mapping.kernel, s->mapping.d);
  oat_rows *a = NULL;
  double *theta = NULL;
  trial field[STARTS], best = {s->point.theta, nothing_yet};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, count, STARTS, &theta));
  for (size_t i = 0; i < STARTS; i++) {
    field[i] = (trial){theta + i * count, nothing_yet};
  }
  TRY(oat_rows_sample(s->ctx, s->objective->config.rows, oat_subset_race_rows(s), &s->state.rng, &a));
  TRY(run_heats(s, a, field));
  bool finalist[STARTS];
  for (size_t i = 0; i < STARTS; i++) {
    finalist[i] =
        is_finalist(field, i, oat_rows_total(a) == oat_rows_total(s->objective->config.rows) ? STARTS : FINALISTS); /* of all rows: all */
  }
  for (size_t i = 0; i < STARTS; i++) {
    take_if_better(s, &field[i], &best, (double)oat_rows_total(a));
    if (finalist[i]) {
      TRY(compare(s, a, RACE_ITERATIONS - HEAT_ITERATIONS, &field[i], &best));
    }
  }
  *found = best.at;
  found->constant = oat_rows_constant(a, NULL);
done:
  oat_rows_free(a);
  free(theta);
  return status;
}

/* What needs more rows than the race had to be seen is rough: so the starts with short lengthscales are tried again. One that is not far
 * behind after a few iterations goes on. */
static oatgp_status try_short(oat_search *s, const oat_rows *a, trial *t, trial *best) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < STARTS; i++) {
    if (handicaps[i].lengthscale < 1) {
      handicap_start(s, &handicaps[i], t->theta);
      t->at.other = true;
      TRY(compare(s, a, HEAT_ITERATIONS, t, best));
      if (t->at.evidence > best->at.evidence - NOT_FAR * (double)oat_rows_total(a)) {
        TRY(compare(s, a, ITERATIONS, t, best));
      }
    }
  }
done:
  return status;
}

/* From the given start, if the point's parameters are of another that must be better by a margin; from these; and from the better of the
 * two with the inputs revived that it makes nothing of. */
oatgp_status oat_subset_settle(oat_search *s, size_t rows, oat_optimum *found) {
  const size_t all = oat_rows_total(s->objective->config.rows), count = oat_theta_count(s->mapping.kernel, s->mapping.d);
  oat_scratch memory = {.ctx = s->ctx};
  double *here = oat_take_doubles(&memory, count, 1);
  oat_rows *a = NULL;
  trial t = {.theta = oat_take_doubles(&memory, count, 1)}, best = {s->point.theta, nothing_yet};
  oatgp_status status;
  best.at.highest = found->highest;
  TRY(memory.status);
  TRY(oat_rows_sample(s->ctx, s->objective->config.rows, sample_rows(s, rows), &s->state.rng, &a));
  memcpy(here, s->point.theta, count * sizeof *here);
  if (found->other && has_few_rows(s, here, (double)oat_rows_total(a))) {
    memcpy(t.theta, s->start->theta, count * sizeof *here);
    TRY(compare(s, a, ITERATIONS, &t, &best));
  }
  t.at.other = found->other;
  memcpy(t.theta, here, count * sizeof *here);
  revive(s, t.theta);
  TRY(compare(s, a, ITERATIONS, &t, &best));
  if (oat_rows_total(a) == all && all > oat_subset_race_rows(s)) {
    TRY(try_short(s, a, &t, &best));
  }
  memcpy(t.theta, best.theta, count * sizeof *here);
  if (revive(s, t.theta)) {
    TRY(compare(s, a, ITERATIONS, &t, &best));
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
