/* The exact GP of some rows (or, for targets that are not Gaussian, a model with knots on some of them) is optimised in
 * a search of its own, which reports its steps through a job (util/jobs.h). */
#include "knots/attempts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SITE_TOL 3e-4   /* of sites: keeps the bound within about 1e-7 nats a row of its maximum at these parameters */
#define SUBSET_TOL 1e-3 /* nats; coarse, because the parameters are only a start or are optimised again with knots */
/* Evaluations that an attempt makes after the time is over: the one that has begun, and one at the last step. */
#define LAST_EVALUATIONS 2.0
enum { PUSHES = 4, MORE_NOISE = 8 };

/* ---- one ------------------------------------------------------------------------------------------------------- */

/* The report of one step of an attempt: the optimiser's numbers, the current parameters, and the best so far. */
typedef struct oat_attempt_step {
  oat_said said;
  oat_search_state state;
  double counter[OAT_COUNTERS], derivative, pace, *theta, *best;
  double room[];
} step;

static bool report(void *self, const oat_search *sub, oat_search_event event) {
  oat_attempt *a = self;
  const size_t count = oat_attempt_parameters(sub), bytes = count * sizeof(double);
  step *now = NULL;
  (void)event;
  a->status = oat_new(a->ctx, 1, sizeof *now + 2 * bytes, &now);
  if (a->status != OATGP_OK) {
    return true;
  }
  now->state = sub->state;
  now->derivative = sub->derivative;
  now->pace = sub->pace;
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

/* The number of knots; 0 for the exact GP. With a non-Gaussian target, an evaluation takes several rounds, and each
 * would cost as much as an evaluation of the exact GP, so knots are used. */
static size_t knots_of(const oat_attempt *a) {
  const size_t n = oat_rows_total(a->rows);
  return !oat_rows_have_answers(a->rows) ? 0 : n < OAT_ANSWER_KNOTS ? n : OAT_ANSWER_KNOTS;
}

static oat_search search_for(oat_attempt *a) {
  const oat_search *s = a->s;
  oat_search sub = {.ctx = a->ctx,
                    .mapping = s->mapping,
                    .method = oat_optim_find("lbfgs"),
                    .limits = s->limits,
                    .given = s->given,
                    .settings = {.max_knots = knots_of(a) > 0 ? knots_of(a) : 1},
                    .none_free = s->none_free,
                    .report = report,
                    .self = a};
  sub.mapping.k = sub.mapping.first = sub.state.k = knots_of(a);
  sub.limits.max_iter = fmin(a->iterations, s->limits.max_iter);
  sub.limits.max_eval = 0; /* the limit applies to the model's own objective */
  sub.limits.deadline = 0; /* the caller's thread checks the clock at every reported step */
  sub.limits.obj_tol = fmax(a->obj_tol, s->limits.obj_tol);
  sub.state.value = -HUGE_VAL;
  return sub;
}

/* The objective of the exact GP. Its matrix is small, and the result must not depend on --memory. */
static oat_objective_config objective_config(const oat_attempt *a) {
  oat_objective_config config = a->s->objective->config;
  config.rows = a->rows;
  config.where.threads = a->threads;
  config.site_tol = fmax(SITE_TOL, config.site_tol);
  config.memory = INT64_MAX;
  if (knots_of(a) > 0) {
    config.approx = oat_approx_find("vfe");
    config.k = config.capacity = knots_of(a);
    return config;
  }
  config.approx = oat_approx_find("full");
  config.jitter = oat_full_rounding(oat_rows_total(a->rows));
  config.soft = false;
  return config;
}

/* The knots of the search: rows from all over. */
static oatgp_status place_knots(const oat_attempt *a, oat_search *sub) {
  const size_t k = knots_of(a), n = oat_rows_total(a->rows);
  size_t *row = NULL;
  if (k == 0) {
    return OATGP_OK;
  }
  PASS_ON(oat_new(a->ctx, k, sizeof *row, &row));
  for (size_t i = 0; i < k; i++) {
    row[i] = i * n / k;
  }
  oat_rows_inputs_of(a->rows, k, row, sub->point.z);
  free(row);
  return OATGP_OK;
}

static oatgp_status open_search(oat_attempt *a, oat_search *sub) {
  const oat_objective_config config = objective_config(a);
  oatgp_status status;
  *sub = search_for(a);
  TRY(oat_objective_create(a->ctx, &config, &sub->objective));
  TRY(oat_search_open(sub));
  memcpy(sub->point.theta, a->t->theta, oat_attempt_parameters(sub) * sizeof *a->t->theta);
  TRY(place_knots(a, sub));
done:
  return status;
}

static void close_search(oat_search *sub) {
  oat_objective_free(sub->objective);
  oat_search_close(sub);
}

/* Parameters at which the matrix of some rows can be factorised may need more noise with other rows. */
static oatgp_status evaluate_with_noise(oat_search *sub, double *value, oat_gradient *gradient) {
  oatgp_status status = oat_objective_evaluate(sub->objective, &sub->point, value, gradient);
  for (int i = 0; status == OATGP_NUMERIC && sub->mapping.free[OAT_TAU] && i < MORE_NOISE; i++) {
    sub->point.theta[OAT_TAU] *= 3;
    status = oat_objective_evaluate(sub->objective, &sub->point, value, gradient);
  }
  return status;
}

static oatgp_status begin_with_noise(oat_search *sub) {
  double value;
  const oatgp_status status = evaluate_with_noise(sub, &value, NULL);
  return status == OATGP_NUMERIC ? OATGP_OK : status; /* the optimisation will report it */
}

/* Optimises. With little noise the derivatives have few digits, and a line search can fail where a new one finds its
 * way. */
static oatgp_status push_on(oat_search *sub) {
  oatgp_status status = OATGP_OK;
  double before;
  int push = 0;
  do {
    before = sub->state.value;
    status = oat_search_optimise(sub, 0, &sub->limits);
  } while (status == OATGP_OK && sub->state.stop == OATGP_STOP_STALLED && sub->state.value > before + SUBSET_TOL &&
           ++push < PUSHES);
  return status;
}

/* Copies the search's point to the trial, and measures it there. */
static oatgp_status appraise(const oat_attempt *a, oat_search *sub) {
  oat_trial *t = a->t;
  oat_gradient gradient = {sub->gradient.theta, NULL};
  t->at.evidence = t->at.left_out = -HUGE_VAL;
  const bool known = evaluate_with_noise(sub, &t->at.evidence, &gradient) == OATGP_OK;
  memcpy(t->theta, sub->point.theta, oat_attempt_parameters(sub) * sizeof *t->theta);
  t->at.prior = oat_objective_log_prior(sub->objective, t->theta);
  return !known            ? OATGP_OK
         : knots_of(a) > 0 ? oat_objective_left_out(sub->objective, &sub->point, &t->at.left_out)
                           : oat_full_left_out(sub->objective, &t->at.left_out);
}

/* If it is asked to end, it leaves its trial unchanged. */
static oatgp_status optimise(oat_attempt *a) {
  oat_search sub;
  oatgp_status status;
  TRY(open_search(a, &sub));
  if (a->iterations > 0) { /* else the point is only appraised */
    TRY(begin_with_noise(&sub));
    TRY(push_on(&sub));
    TRY(a->status);
  }
  if (sub.state.stop != OATGP_STOP_USER) {
    TRY(appraise(a, &sub));
  }
  a->stop = oat_search_halted(&sub) ? sub.state.stop : OATGP_STOP_NONE;
done:
  close_search(&sub);
  return status;
}

/* ---- side by side ---------------------------------------------------------------------------------------------- */

oat_attempt oat_attempt_new(oat_search *s, const oat_rows *rows, double iterations, oat_trial *t) {
  return (oat_attempt){.s = s, .rows = rows, .iterations = iterations, .obj_tol = SUBSET_TOL, .t = t, .before = t->at};
}

static void run_attempt(void *self, size_t which, oat_job *job) {
  oat_attempt *a = (oat_attempt *)self + which;
  a->job = job;
  a->status = optimise(a);
}

/* Reports a step of an attempt as a step of the search that it belongs to. Returns the reason if it must be the last
 * one. */
static oatgp_stop tell_step(const oat_attempt *a, step *now) {
  oat_optim optim = {.counter = now->counter};
  oat_objective objective = {.config = objective_config(a)};
  const oat_search sub = {.objective = &objective,
                          .optim = &optim,
                          .state = now->state,
                          .limits = a->s->limits,
                          .derivative = now->derivative,
                          .pace = now->pace,
                          .trial = {.theta = now->theta}};
  return a->s->report(a->s->self, &sub, OAT_SEARCH_SUBSET) ? OATGP_STOP_USER
         : oat_search_late(&sub, LAST_EVALUATIONS)         ? OATGP_STOP_TIME
                                                           : OATGP_STOP_NONE;
}

static bool hear(void *self, size_t which, oat_said *said) {
  oat_attempt *a = (oat_attempt *)self + which;
  if (said == NULL) {
    a->counts = true;
    return a->status == OATGP_OK && a->stop == OATGP_STOP_NONE;
  }
  a->stopped = tell_step(a, (step *)said);
  if (a->stopped != OATGP_STOP_NONE) {
    a->cut = (step *)said;
    return false;
  }
  free(said);
  return true;
}

/* The attempt may have gone on beyond the step at which it was stopped. */
static oatgp_status go_back_to_cut(oat_attempt *a) {
  oat_search sub;
  oatgp_status status;
  memcpy(a->t->theta, a->cut->best, oat_attempt_parameters(a->s) * sizeof *a->t->theta);
  TRY(open_search(a, &sub));
  TRY(appraise(a, &sub));
  a->stop = a->stopped;
  a->counts = true;
done:
  close_search(&sub);
  return status;
}

/* The result of an attempt whose reports have been passed on. */
static oatgp_status conclude(oat_search *s, oat_attempt *a) {
  oatgp_status status = a->cut != NULL ? go_back_to_cut(a) : a->status;
  if (status != OATGP_OK && a->ctx != s->ctx) {
    status = oat_fail(s->ctx, status, "%s", a->ctx->error);
  }
  s->state.stop = a->stop != OATGP_STOP_NONE ? a->stop : s->state.stop;
  return status;
}

/* Each gets its share of the threads. The number that run at once is limited so that their matrices fit into
 * --memory. */
static size_t share_out(const oat_search *s, oat_attempt *all, size_t count) {
  const oat_objective_config *config = &s->objective->config;
  const double n = (double)oat_rows_total(all->rows), room = (double)config->memory / (8 * n * n);
  const size_t most = oat_jobs_at_once(count, config->where.threads),
               at_once = room < (double)most ? (size_t)fmax(room, 1) : most;
  const int share = config->where.threads / (int)at_once;
  for (size_t i = 0; i < count; i++) {
    oat_attempt *a = &all[i];
    a->threads = share > 1 ? share : 1;
    a->ctx = at_once > 1 ? &a->own : a->s->ctx;
  }
  return at_once;
}

oatgp_status oat_attempts_run(oat_search *s, oat_attempt *all, size_t count) {
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
