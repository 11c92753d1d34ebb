/* Parameters from the exact GP of a subset: which starts are tried, and which optimum is used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knots/attempts.h"

/* With few rows for each parameter, some optima are better by chance. A different optimum replaces the one from the
 * given start only if it gains this many nats for sigma and for each input in use. */
#define MARGIN 4.0
#define FEW_ROWS 15.0 /* for sigma and for each input in use */
/* The lengthscale, in spreads of the input, beyond which an input has almost no effect; no start has a longer one. */
#define LONGEST 5.0
#define CLEARLY 0.02 /* nats a row: the difference in leave-one-out density that overrules the evidence */
enum { RACE_ROWS = 300 };
enum { HEAT_ITERATIONS = 12, RACE_ITERATIONS = 40, FINALISTS = 3, ITERATIONS = OAT_SUBSET_ITERATIONS };

/* ---- starts ---------------------------------------------------------------------------------------------------- */

/* What the starts of the race multiply the given one's free parameters by. A season has overtones, so that its period
 * may be twice what the highest peak of the data says. */
static const struct handicap {
  double lengthscale, tau, period;
  double sigma; /* used instead of tau for a non-Gaussian target */
} handicaps[] = {{1, 1, 1, 1}, {1, 0.1, 1, 3}, {0.25, 0.3, 1, 1}, {4, 0.3, 2, 3}, {0.5, 0.003, 0.5, 2}};
enum { STARTS = sizeof handicaps / sizeof *handicaps };

static void handicap_start(const oat_search *s, const struct handicap *by, double *theta) {
  const size_t count = oat_attempt_parameters(s);
  memcpy(theta, s->start->theta, count * sizeof *theta);
  theta[OAT_TAU] *= s->mapping.free[OAT_TAU] ? by->tau : 1;
  for (size_t i = 0; i < count; i++) {
    const bool stretched = s->mapping.free[i] && oat_parameter_at(s->mapping.kernel, i).unit == OAT_UNIT_INPUT;
    const bool raised =
        s->mapping.free[i] && s->mapping.kernel->further.answers && oat_parameter_is_sigma(s->mapping.kernel, i);
    theta[i] *= raised                                          ? by->sigma
                : !stretched                                    ? 1
                : oat_parameter_is_period(s->mapping.kernel, i) ? by->period
                                                                : by->lengthscale;
  }
}

/* The value of an input's parameter from which on the input does not matter. */
static double longest_of(const oat_mapping *mapping, size_t place) {
  const oat_parameter parameter = oat_parameter_at(mapping->kernel, place);
  return parameter.input != OAT_ALL_INPUTS ? LONGEST * mapping->spread[parameter.input] : HUGE_VAL;
}

/* An input without effect on few rows may matter with more rows. But at a lengthscale far beyond the data the slope is
 * 0, so the optimiser could not return; it is reduced to LONGEST times `further`. Returns whether there was any. */
static bool revive(const oat_search *s, double further, double *theta) {
  const oat_mapping *mapping = &s->mapping;
  bool any = false;
  for (size_t i = 0; i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    const double longest = further * longest_of(mapping, i);
    if (mapping->free[i] && theta[i] > longest) {
      theta[i] = longest;
      any = true;
    }
  }
  return any;
}

/* How much longer than LONGEST a lengthscale must be to change the function by no more than the noise. If sigma is much
 * larger than tau, as for a nearly linear function, shorter lengthscales would swamp the function, and with many rows
 * the slope is not 0 even there. */
static double harmless(const oat_search *s, const double *theta) {
  const double ratio = oat_kernel_amplitude(s->mapping.kernel, theta) / theta[OAT_TAU];
  return oat_rows_have_answers(s->objective->config.rows) || !(ratio > LONGEST) ? 1 : ratio / LONGEST;
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

double oat_subset_used(const oat_search *s, const double *theta) {
  const oat_mapping *mapping = &s->mapping;
  double used = 0;
  for (size_t i = 0; i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    const bool stretches = oat_parameter_at(mapping->kernel, i).unit == OAT_UNIT_INPUT;
    used += oat_parameter_is_sigma(mapping->kernel, i) || (stretches && theta[i] < longest_of(mapping, i));
  }
  return used;
}

bool oat_subset_few_rows(const oat_search *s, const double *theta, double rows) {
  return rows < FEW_ROWS * oat_subset_used(s, theta);
}

/* Whether `t` is the better optimum. The evidence decides, unless the leave-one-out density differs clearly and by more
 * than the evidence. Leave-one-out resembles the prediction of new rows, but a few rows may differ by chance or have
 * duplicates. */
static bool is_better(const oat_search *s, const oat_trial *t, const oat_trial *best, double rows) {
  const double margin =
      t->at.other && oat_subset_few_rows(s, t->theta, rows) ? MARGIN * oat_subset_used(s, t->theta) : 0;
  if (best->at.left_out == -HUGE_VAL) {
    return t->at.left_out > -HUGE_VAL;
  }
  const double left_out = t->at.left_out - best->at.left_out, evidence = t->at.evidence - best->at.evidence;
  return evidence + (fabs(left_out) > CLEARLY * rows ? left_out : 0) > margin;
}

static void take_if_better(const oat_search *s, const oat_trial *t, oat_trial *best, double rows) {
  const double highest = fmax(best->at.highest, t->at.evidence);
  if (is_better(s, t, best, rows)) {
    best->at = t->at;
    memcpy(best->theta, t->theta, oat_attempt_parameters(s) * sizeof *t->theta);
  }
  best->at.highest = highest;
}

/* Optimises `t` and makes it the best if it is. */
static oatgp_status compare(oat_search *s, const oat_rows *a, oat_trial *t, oat_trial *best) {
  oat_attempt only = oat_attempt_new(s, a, ITERATIONS, t);
  const oatgp_status status = oat_attempts_run(s, &only, 1);
  if (status == OATGP_OK && only.counts) {
    take_if_better(s, t, best, (double)oat_rows_total(a));
  }
  return status;
}

/* The highest log evidence of the starts, without the prior. */
static double highest(const oat_trial *field) {
  double evidence = -HUGE_VAL;
  for (size_t i = 0; i < STARTS; i++) {
    evidence = fmax(evidence, field[i].at.evidence - field[i].at.prior);
  }
  return evidence;
}

/* A sample must be larger than the basis of an estimated mean. A sample of all rows keeps their order, so that a matrix
 * that can be factorised here can also be factorised for the model. */
static size_t sample_rows(const oat_search *s, size_t wanted) {
  const size_t all = oat_rows_total(s->objective->config.rows),
               basis = 2 * (1 + oat_rows_basis(s->objective->config.rows));
  const size_t rows = basis > wanted ? basis : wanted;
  return rows < all ? rows : all;
}

size_t oat_subset_race_rows(const oat_search *s) {
  return sample_rows(s, RACE_ROWS < (size_t)s->given->subset_rows ? RACE_ROWS : (size_t)s->given->subset_rows);
}

static const oat_optimum nothing_yet = {-HUGE_VAL, 0, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, false};

/* All starts for a few iterations, in `field`. */
static oatgp_status run_heats(oat_search *s, const oat_rows *a, oat_trial *field) {
  oat_attempt all[STARTS];
  oatgp_status status;
  for (size_t i = 0; i < STARTS; i++) {
    field[i].at.other = i > 0;
    handicap_start(s, &handicaps[i], field[i].theta);
    all[i] = oat_attempt_new(s, a, HEAT_ITERATIONS, &field[i]);
  }
  TRY(oat_attempts_run(s, all, STARTS));
  const double constant = oat_objective_constant(s->objective, a, s->start->theta, NULL);
  if (!oat_search_halted(s) && highest(field) < constant &&
      s->mapping.free[OAT_TAU]) { /* there was too little noise: start with as much noise as signal */
    handicap_start(s, &handicaps[0], field[0].theta);
    field[0].theta[OAT_TAU] = oat_kernel_amplitude(s->mapping.kernel, field[0].theta);
    all[0] = oat_attempt_new(s, a, HEAT_ITERATIONS, &field[0]);
    TRY(oat_attempts_run(s, all, 1));
  }
done:
  return status;
}

/* Whether fewer than `most` others are ahead. The given start is always a finalist. */
static bool is_finalist(const oat_trial *field, size_t i, size_t most) {
  size_t ahead = 0;
  for (size_t j = 0; j < STARTS; j++) {
    ahead += field[j].at.evidence > field[i].at.evidence || (j < i && field[j].at.evidence == field[i].at.evidence);
  }
  return i == 0 || ahead < most;
}

/* The finalists continue from where they are, in `final`; then all optima are compared. */
static oatgp_status run_finals(oat_search *s, const oat_rows *a, oat_trial *field, oat_trial *final, oat_trial *best) {
  const size_t bytes = oat_attempt_parameters(s) * sizeof *best->theta,
               most = oat_rows_total(a) == oat_rows_total(s->objective->config.rows)
                          ? STARTS
                          : FINALISTS; /* if these are all rows, every start */
  oat_attempt all[STARTS];
  size_t count = 0;
  oatgp_status status;
  for (size_t i = 0; i < STARTS; i++) {
    if (is_finalist(field, i, most)) {
      memcpy(final[i].theta, field[i].theta, bytes);
      final[i].at = field[i].at;
      all[count++] = oat_attempt_new(s, a, RACE_ITERATIONS - HEAT_ITERATIONS, &final[i]);
    }
  }
  TRY(oat_attempts_run(s, all, count));
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
  const size_t count = oat_attempt_parameters(s);
  oat_rows *a = NULL;
  double *theta = NULL;
  oat_trial field[2 * STARTS], best = {s->point.theta, nothing_yet};
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, count, 2 * STARTS, &theta));
  for (size_t i = 0; i < 2 * STARTS; i++) {
    field[i] = (oat_trial){theta + i * count, nothing_yet};
  }
  TRY(oat_rows_sample(s->ctx, s->objective->config.rows, oat_subset_race_rows(s), &s->state.rng, &a));
  TRY(run_heats(s, a, field));
  TRY(run_finals(s, a, field, field + STARTS, &best));
  *found = best.at;
  found->constant = oat_objective_constant(s->objective, a, s->start->theta, NULL);
done:
  oat_rows_free(a);
  free(theta);
  return status;
}

/* ---- more rows ------------------------------------------------------------------------------------------------- */

/* The optimisations on more rows. */
typedef struct settling {
  const oat_rows *rows;
  oat_trial t[1 + 1 + STARTS];
  oat_attempt all[1 + 1 + STARTS];
  size_t count;
} settling;

static oat_trial *add_attempt(oat_search *s, settling *g, const double *theta, bool other) {
  oat_trial *t = &g->t[g->count];
  memcpy(t->theta, theta, oat_attempt_parameters(s) * sizeof *theta);
  t->at = nothing_yet;
  t->at.other = other;
  g->all[g->count++] = oat_attempt_new(s, g->rows, ITERATIONS, t);
  return t;
}

/* Adds the point's parameters and, if they come from a different start and so must win by a margin, the given start. */
static void add_whole(oat_search *s, settling *g, bool other) {
  if (other && oat_subset_few_rows(s, s->point.theta, (double)oat_rows_total(g->rows))) {
    add_attempt(s, g, s->start->theta, false);
  }
  revive(s, 1, add_attempt(s, g, s->point.theta, other)->theta);
}

/* Detail that appears only with more rows than the race had is rough, so the starts with short lengthscales are tried
 * again. The first iterations do not show which of them ends highest. */
static void add_short(oat_search *s, settling *g) {
  for (size_t i = 0; i < STARTS; i++) {
    if (handicaps[i].lengthscale < 1) {
      handicap_start(s, &handicaps[i], add_attempt(s, g, s->start->theta, true)->theta);
    }
  }
}

/* At last from the best with the inputs revived that it makes nothing of; more rows do that with all of theirs. */
oatgp_status oat_subset_settle(oat_search *s, size_t rows, oat_optimum *found) {
  const size_t all = oat_rows_total(s->objective->config.rows), count = oat_attempt_parameters(s);
  oat_scratch memory = {.ctx = s->ctx};
  oat_rows *a = NULL;
  settling g = {.count = 0};
  oat_trial best = {s->point.theta, nothing_yet};
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
  TRY(oat_attempts_run(s, g.all, g.count));
  for (size_t i = 0; i < g.count && g.all[i].counts; i++) {
    take_if_better(s, &g.t[i], &best, (double)oat_rows_total(a));
  }
  oat_trial *t = &g.t[g.count - 1];
  memcpy(t->theta, best.theta, count * sizeof *t->theta);
  if (oat_rows_total(a) < all) {
    revive(s, harmless(s, best.theta), best.theta);
  } else if (revive(s, 1, t->theta)) {
    TRY(compare(s, a, t, &best));
  }
  *found = best.at;
  found->constant = oat_objective_constant(s->objective, a, s->start->theta, NULL);
done:
  oat_rows_free(a);
  oat_scratch_free(&memory);
  return status;
}
