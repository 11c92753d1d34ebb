/* Parameters from the exact GP of a subset. */
#include "knots/subset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

#define SUBSET_TOL 1e-3 /* nats: the parameters are a start, or are optimised again with knots */
#define MARGIN 4.0      /* nats for sigma and each input in use: by so much an optimum must be better than that of the given start */
enum { RACE_ROWS = 300, RACE_ITERATIONS = 40, ITERATIONS = OAT_SUBSET_ITERATIONS };

/* Random rows, copied. */
typedef struct sample {
  oat_rows rows;
  double *x, *r, *noise_scale, *noise_add;
} sample;

static void free_sample(sample *a) {
  free(a->x);
  free(a->r);
  free(a->noise_scale);
  free(a->noise_add);
}

static void gather(const size_t *row, size_t n, const double *from, size_t all, double *to, size_t columns) {
  for (size_t j = 0; to != NULL && j < columns; j++) {
    for (size_t i = 0; i < n; i++) {
      to[i + j * n] = from[row[i] + j * all];
    }
  }
}

static oatgp_status make_sample(oat_search *s, size_t n, sample *a) {
  const oat_rows *all = s->objective->config.rows;
  size_t *row = NULL;
  oatgp_status status = OATGP_OK;
  *a = (sample){0};
  TRY(oat_new_matrix(s->ctx, n, all->d, &a->x));
  TRY(oat_new_matrix(s->ctx, n, 1 + all->p, &a->r));
  if (all->noise_scale != NULL) {
    TRY(oat_new_matrix(s->ctx, n, 1, &a->noise_scale));
  }
  if (all->noise_add != NULL) {
    TRY(oat_new_matrix(s->ctx, n, 1, &a->noise_add));
  }
  TRY(oat_new(s->ctx, n, sizeof *row, &row));
  oat_rng_sample(&s->state.rng, all->n, n, row);
  gather(row, n, all->x, all->n, a->x, all->d);
  gather(row, n, all->r, all->n, a->r, 1 + all->p);
  gather(row, n, all->noise_scale, all->n, a->noise_scale, 1);
  gather(row, n, all->noise_add, all->n, a->noise_add, 1);
  a->rows = (oat_rows){n, all->d, all->p, a->x, a->r, a->noise_scale, a->noise_add};
done:
  free(row);
  return status;
}

/* ---- the exact GP of a sample ------------------------------------------------------------------------------------------ */

/* Parameters, the log evidence of the sample there, and the log density of its rows, each given the others. */
typedef struct optimum {
  double *theta;
  double evidence, left_out; /* -HUGE_VAL if it could not be evaluated */
  double margin;             /* of a trial: nats of left_out, for sigma and each input in use, that it must be better by */
} optimum;

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

/* Optimises from the parameters that `at` has. */
static oatgp_status optimise(oat_search *s, const oat_rows *rows, double iterations, optimum *at) {
  const size_t bytes = oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *at->theta;
  oat_objective_config config = s->objective->config;
  oat_search sub = search_for(s, iterations);
  oatgp_status status = OATGP_OK;
  config.approx = oat_approx_find("full");
  config.rows = rows;
  config.jitter = 0;
  TRY(oat_objective_create(s->ctx, &config, &sub.objective));
  TRY(oat_search_open(&sub));
  memcpy(sub.point.theta, at->theta, bytes);
  TRY(oat_search_optimise(&sub, 0, &sub.limits));
  memcpy(at->theta, sub.point.theta, bytes);
  at->evidence = at->left_out = -HUGE_VAL;
  oat_gradient gradient = {sub.gradient.theta, NULL};
  if (oat_objective_evaluate(sub.objective, &sub.point, &at->evidence, &gradient) == OATGP_OK) {
    at->left_out = oat_full_left_out(sub.objective);
  }
  s->state.stop = oat_search_halted(&sub) ? sub.state.stop : s->state.stop;
done:
  oat_objective_free(sub.objective);
  oat_search_close(&sub);
  return status;
}

/* ---- starts -------------------------------------------------------------------------------------------------------------- */

/* What the starts of the race multiply the given one's free parameters by. */
static const struct handicap { double lengthscale, tau; } handicaps[] = {{1, 1}, {1, 0.1}, {0.25, 0.3}, {4, 0.3}};

static void handicap_start(const oat_search *s, const struct handicap *by, double *theta) {
  const size_t count = oat_theta_count(s->mapping.kernel, s->mapping.d);
  memcpy(theta, s->start->theta, count * sizeof *theta);
  theta[OAT_TAU] *= s->mapping.free[OAT_TAU] ? by->tau : 1;
  for (size_t i = OAT_LENGTHSCALE; i < count; i++) {
    theta[i] *= s->mapping.free[i] ? by->lengthscale : 1;
  }
}

/* An input that few rows make nothing of may matter with more, but a lengthscale far beyond the data has no slope to come back by. Returns
 * whether there was any. */
static bool revive(const oat_search *s, double *theta) {
  const oat_mapping *mapping = &s->mapping;
  bool any = false;
  for (size_t i = OAT_LENGTHSCALE; mapping->kernel->ard && i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    const double longest = OAT_LONGEST * mapping->spread[i - OAT_LENGTHSCALE];
    if (mapping->free[i] && theta[i] > longest) {
      theta[i] = longest;
      any = true;
    }
  }
  return any;
}

/* ---- the choice ------------------------------------------------------------------------------------------------------------ */

/* Optimises `trial` and makes it the best if it is. Between optima the rows left out decide, not the evidence: it is they that are like
 * rows to come. */
static oatgp_status compare(oat_search *s, const sample *a, double iterations, optimum *trial, optimum *best) {
  const size_t bytes = oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *trial->theta;
  if (oat_search_halted(s)) { /* what trial says is that of another point */
    return OATGP_OK;
  }
  const oatgp_status status = optimise(s, &a->rows, iterations, trial);
  if (status == OATGP_OK && trial->left_out > best->left_out + trial->margin * oat_subset_used(s, trial->theta)) {
    best->evidence = trial->evidence;
    best->left_out = trial->left_out;
    memcpy(best->theta, trial->theta, bytes);
  }
  return status;
}

static oatgp_status race(oat_search *s, const sample *a, optimum *trial, optimum *best) {
  oatgp_status status = OATGP_OK;
  best->left_out = -HUGE_VAL;
  for (size_t i = 0; i < sizeof handicaps / sizeof *handicaps; i++) {
    handicap_start(s, &handicaps[i], trial->theta);
    TRY(compare(s, a, RACE_ITERATIONS, trial, best));
  }
  if (best->left_out == -HUGE_VAL && s->mapping.free[OAT_TAU]) { /* too little noise for a factor: as much as signal */
    memcpy(trial->theta, s->start->theta, oat_theta_count(s->mapping.kernel, s->mapping.d) * sizeof *trial->theta);
    trial->theta[OAT_TAU] = trial->theta[OAT_SIGMA];
    TRY(compare(s, a, RACE_ITERATIONS, trial, best));
  }
done:
  return status;
}

double oat_subset_used(const oat_search *s, const double *theta) {
  const oat_mapping *mapping = &s->mapping;
  double used = 1;
  for (size_t i = OAT_LENGTHSCALE; i < oat_theta_count(mapping->kernel, mapping->d); i++) {
    used += !mapping->kernel->ard || theta[i] < OAT_LONGEST * mapping->spread[i - OAT_LENGTHSCALE];
  }
  return used;
}

/* From the given start; from the winner of the race; and from the better of these with the inputs revived that it makes nothing of. Of few
 * rows with many inputs there are optima that are better by chance, so that another than the first must be better by a margin. */
static oatgp_status settle(oat_search *s, const sample *a, optimum *trial, optimum *best) {
  const size_t count = oat_theta_count(s->mapping.kernel, s->mapping.d);
  double *winner = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(s->ctx, count, 1, &winner));
  memcpy(winner, best->theta, count * sizeof *winner);
  memcpy(trial->theta, s->start->theta, count * sizeof *winner);
  best->left_out = -HUGE_VAL;
  TRY(compare(s, a, ITERATIONS, trial, best));
  trial->margin = MARGIN;
  memcpy(trial->theta, winner, count * sizeof *winner);
  revive(s, trial->theta);
  TRY(compare(s, a, ITERATIONS, trial, best));
  memcpy(trial->theta, best->theta, count * sizeof *winner);
  if (revive(s, trial->theta)) {
    TRY(compare(s, a, ITERATIONS, trial, best));
  }
done:
  free(winner);
  return status;
}

size_t oat_subset_most(const oat_search *s) { return (size_t)sqrt((double)s->objective->config.memory / sizeof(double)); }

/* A sample must be larger than the basis of an estimated mean. */
static size_t race_rows(const oat_search *s, size_t n) {
  const size_t basis = 2 * (1 + s->objective->config.rows->p), rows = basis > RACE_ROWS ? basis : RACE_ROWS;
  return rows < n ? rows : n;
}

oatgp_status oat_subset_parameters(oat_search *s, size_t rows, double *evidence) {
  const size_t all = s->objective->config.rows->n, most = oat_subset_most(s), wanted = rows < most ? rows : most;
  const size_t n = wanted < all ? wanted : all, count = oat_theta_count(s->mapping.kernel, s->mapping.d);
  sample few = {0}, many = {0};
  optimum trial = {0}, best = {.theta = s->point.theta, .evidence = -HUGE_VAL};
  oatgp_status status = OATGP_OK;
  if (n <= s->objective->config.rows->p) { /* there is no memory for more: the start is what there is */
    *evidence = -HUGE_VAL;
    return OATGP_OK;
  }
  TRY(oat_new_matrix(s->ctx, count, 1, &trial.theta));
  TRY(make_sample(s, race_rows(s, n), &few));
  TRY(make_sample(s, n, &many));
  TRY(race(s, &few, &trial, &best));
  TRY(settle(s, &many, &trial, &best));
  if (n < all) {
    revive(s, best.theta);
  }
  *evidence = best.evidence;
done:
  free_sample(&few);
  free_sample(&many);
  free(trial.theta);
  return status;
}
