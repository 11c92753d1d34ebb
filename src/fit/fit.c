/* The fit, from data to model: sets up, settles the jitter, searches from the start (and from others), and keeps the
 * best. */
#include "fit/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/predict.h"
#include "objective/sparse.h"
#include "util/clock.h"

#define MODEL_SITE_TOL 1e-10 /* of the sites of the model: about as small as rounding allows */
#define LOO_LOSS 0.02        /* nats a row; if leave-one-out is worse than a constant by more, the fit warns */

/* ---- making and freeing ---------------------------------------------------------------------------------------- */

static void free_trail(oat_trail *trail) {
  free(trail->history.row);
  free(trail->selection.row);
}

static oat_box box_named(const char *name) {
  return strcmp(name, "none") == 0 ? OAT_BOX_NONE : strcmp(name, "logit") == 0 ? OAT_BOX_LOGIT : OAT_BOX_BOUND;
}

static oat_optim_settings optimiser_limits(const oat_fit_run *f) {
  const oatgp_settings *s = f->setup.settings;
  return (oat_optim_settings){
      .history = (size_t)s->lbfgs_history,
      .line_search = (size_t)s->line_search,
      .decay = s->decay,
      .epsilon = s->epsilon,
      .eta = s->eta,
      .max_iter = (double)s->max_iter,
      .max_eval = (double)s->max_eval,
      .obj_tol = s->obj_tol,
      .grad_tol = s->grad_tol,
      .patience = (size_t)s->patience,
      .deadline = s->time_limit > 0 ? f->began + s->time_limit : 0,
  };
}

static oat_search_settings search_settings(const oat_fit_run *f) {
  const oatgp_settings *s = f->setup.settings;
  return (oat_search_settings){
      .max_knots = f->setup.capacity,
      .move = f->setup.approx->sparse && oat_kernel_is_smooth(f->setup.kernel),
      .exact = oat_approx_bound(f->setup.approx) && s->max_knots == 0 && f->objective->config.soft &&
               f->setup.likelihood == NULL,
      .finish = f->setup.strategy->grows && f->setup.approx->sparse && s->inner_iter < s->max_iter,
  };
}

static oatgp_status ordered_rows(void *self, oat_rows **out) {
  const oat_fit_run *f = self;
  return oat_setup_ordered(f->ctx, &f->setup, out);
}

static oatgp_status make_search(oat_fit_run *f) {
  const oat_setup *setup = &f->setup;
  const size_t d = setup->scaling.d, theta = oat_theta_count(setup->kernel, d);
  oat_search *s = &f->search;
  oat_scratch *memory = &f->memory;
  f->start = (oat_point){oat_take_doubles(memory, theta, 1), oat_take_doubles(memory, setup->capacity, d)};
  f->best.point = (oat_point){oat_take_doubles(memory, theta, 1), oat_take_doubles(memory, setup->capacity, d)};
  f->positions = oat_take_doubles(memory, setup->capacity, d);
  f->parameters = oat_take(memory, oat_theta_count(setup->kernel, d), sizeof *f->parameters);
  f->own = oat_take(memory, setup->kernel->further.count + 1, sizeof *f->own);
  s->none_free = oat_take(memory, theta, sizeof *s->none_free);
  s->ctx = f->ctx;
  s->objective = f->objective;
  s->mapping = (oat_mapping){.kernel = setup->kernel,
                             .d = d,
                             .free = setup->free,
                             .least = setup->least,
                             .most = setup->most,
                             .box = box_named(setup->settings->knot_box),
                             .spread = setup->scaling.spread,
                             .low = setup->low,
                             .high = setup->high};
  s->method = oat_optim_find(setup->settings->optimizer);
  s->proposal = f->setup.strategy->proposal;
  s->limits = optimiser_limits(f);
  s->inner = s->limits;
  s->inner.max_iter = fmin((double)setup->settings->inner_iter, s->limits.max_iter);
  s->given = setup->settings;
  s->settings = search_settings(f);
  s->start = &f->start;
  s->report = oat_fit_report;
  s->ordered = oat_data_is_streamed(setup->data) || setup->settings->average > 0 ? NULL : ordered_rows;
  s->self = f;
  const oat_trail empty = {{.width = OAT_HISTORY_WIDTH}, {.width = OAT_SELECTION_WIDTH + d}};
  f->trail = empty;
  f->best.trail = empty;
  f->best.value = -HUGE_VAL;
  return memory->status == OATGP_OK ? oat_search_open(s) : memory->status;
}

/* ---- the starts ------------------------------------------------------------------------------------------------ */

/* Whether the reason to stop ends the whole fit, not only the current start. */
static bool ends_all(const oat_fit_run *f) {
  return f->search.state.stop == OATGP_STOP_TIME || f->search.state.stop == OATGP_STOP_USER;
}

/* After one start: counts, and keeps its model if it is the best so far. */
static void conclude(oat_fit_run *f) {
  const oat_search_state *state = &f->search.state;
  f->iterations += state->iterations;
  f->evaluations += state->evaluations;
  f->rejected += state->rejected;
  if (state->value > f->best.value) {
    const oat_trail trail = f->best.trail;
    f->best.value = state->value;
    f->best.k = state->k;
    f->best.exact = state->exact;
    f->best.neighbours = state->neighbours;
    f->best.stop = state->stop;
    oat_search_copy(&f->search, &f->search.point, state->k, &f->best.point);
    f->best.trail = f->trail;
    f->trail = trail;
  } else if (ends_all(f)) {
    f->best.stop = state->stop;
  }
}

/* Puts the search at the beginning of a start. */
static void begin(oat_fit_run *f) {
  f->trail.history.count = 0;
  f->trail.selection.count = 0;
  f->started = false;
  f->search.state = (oat_search_state){.phase = OAT_PHASE_PARAMETERS, .rng = f->setup.rng};
  oat_search_place(&f->search, &f->start, f->setup.k);
}

/* Runs the search from its current phase to the end of this start. A start that cannot be evaluated is skipped. */
static oatgp_status run(oat_fit_run *f) {
  oatgp_status status = f->setup.strategy->run(&f->search);
  if (status == OATGP_NUMERIC && f->search.state.value == -HUGE_VAL) {
    status = OATGP_OK;
  }
  status = status == OATGP_OK ? f->trouble : status;
  f->setup.rng = f->search.state.rng;
  if (status == OATGP_OK) {
    conclude(f);
  }
  return status;
}

/* If a factorisation barely succeeded when the jitter was settled, it may fail at the same start with a different
 * rounding error. */
static oatgp_status run_again_with_jitter(oat_fit_run *f) {
  oatgp_status status = OATGP_OK;
  while (status == OATGP_OK && f->best.value == -HUGE_VAL && !ends_all(f) && oat_objective_raise_jitter(f->objective)) {
    oat_say(f->ctx, OATGP_WARNING, "the start could not be evaluated again: jitter raised to %g for this fit",
            f->objective->config.jitter);
    begin(f);
    status = run(f);
  }
  return status;
}

/* The start, then the further starts. */
static oatgp_status run_all(oat_fit_run *f, bool resumed) {
  oatgp_status status = OATGP_OK;
  if (!resumed) {
    oat_search_copy(&f->search, &f->setup.start, f->setup.k, &f->start);
    begin(f);
  }
  TRY(run(f));
  TRY(run_again_with_jitter(f));
  while (f->restart < (double)f->setup.settings->restarts && !ends_all(f)) {
    f->restart++;
    TRY(oat_setup_shake(f->ctx, &f->setup, &f->start));
    begin(f);
    TRY(run(f));
  }
  if (f->best.value == -HUGE_VAL) {
    TRY(oat_fail(f->ctx, OATGP_NUMERIC, "the objective could not be evaluated at any start; try other start values"));
  }
  oat_fit_tell_end(f);
done:
  return status;
}

/* ---- the fit --------------------------------------------------------------------------------------------------- */

/* The log's rows become the model's. */
static double *hand_over(oat_log *log, size_t *count) {
  double *rows = log->row;
  *count = log->count;
  log->row = NULL;
  return rows;
}

/* Approximate mean NLP of the rows, each predicted from the mean and variance of the others. For a non-Gaussian target:
 * with the constant f that fits best. */
static double constant_nlp(const oat_fit_run *f) {
  const oatgp_data *data = f->setup.data;
  const double n = (double)data->n;
  oat_description y;
  if (f->setup.likelihood != NULL) {
    return log(f->setup.y_scale) - oat_objective_constant(f->objective, f->setup.rows, f->best.point.theta, NULL) / n;
  }
  oat_describe_column(data, oat_data_number_of(data, OAT_OTHER_TARGET), f->ctx->at_work, &y);
  return log(y.sd) + 0.5 * (log(OAT_TWO_PI) + n / (n - 1));
}

/* Warns if the model predicts worse than a constant, which the objective need not show. */
static void compare_with_constant(const oat_fit_run *f, const oatgp_model *model) {
  const bool plain = !oat_data_has(f->setup.data, OAT_OTHER_WEIGHT) && !oat_data_has(f->setup.data, OAT_OTHER_NOISE);
  const double nlp = model->number[OAT_NUMBER_LOO_MEAN_NLP], constant = constant_nlp(f);
  if (plain && oat_rows_total(f->setup.rows) > 2 && isfinite(constant) && nlp > constant + LOO_LOSS) {
    oat_say(f->ctx, OATGP_WARNING,
            "the model predicts held-out rows worse than a constant does (mean NLP %.4g against %.4g); look for "
            "outliers in the target, or choose fewer inputs with --inputs",
            nlp, constant);
  }
}

/* Leave-one-out scores. If they cannot be computed, the fit still succeeds. */
static oatgp_status score(const oat_fit_run *f, oatgp_model *model) {
  const oatgp_status status =
      oat_loo_keep(f->ctx, model, f->objective->config.where, f->objective->config.rows, f->setup.data);
  if (status == OATGP_NUMERIC) {
    oat_say(f->ctx, OATGP_WARNING, "no leave-one-out scores: %s", f->ctx->error);
  } else if (status == OATGP_OK) {
    compare_with_constant(f, model);
  }
  return status == OATGP_NUMERIC ? OATGP_OK : status;
}

/* The exact GP takes the place of the sparse model. */
static oatgp_status become_exact(oat_fit_run *f) {
  oat_objective_free(f->objective);
  f->objective = f->search.objective = NULL;
  f->setup.approx = oat_approx_find("full");
  oat_objective_config config = oat_setup_objective(&f->setup);
  config.memory = INT64_MAX; /* the search has already factorised a matrix of this size */
  return oat_objective_create(f->ctx, &config, &f->objective);
}

/* A model with neighbours takes the place of one with knots alone. */
static oatgp_status take_neighbours(oat_fit_run *f) {
  oat_rows *rows = NULL;
  PASS_ON(oat_setup_ordered(f->ctx, &f->setup, &rows));
  oat_objective_free(f->objective);
  f->objective = f->search.objective = NULL;
  oat_rows_free(f->setup.rows);
  f->setup.rows = rows;
  f->setup.approx = oat_approx_find("fitc");
  f->setup.neighbours = f->best.neighbours;
  f->setup.capacity = f->setup.k;
  const oat_objective_config config = oat_setup_objective(&f->setup);
  return oat_objective_create(f->ctx, &config, &f->objective);
}

/* The full GP has jitter on its diagonal against rounding. It acts like noise, so it becomes a part of tau and of the
 * predictions. If a factorisation barely succeeded, the jitter may have to be raised again. */
static oatgp_status call_rounding_noise(oat_fit_run *f) {
  double *theta = f->best.point.theta, *jitter = &f->objective->config.jitter, value;
  if (f->setup.free[OAT_TAU] && oat_rows_plain_noise(f->setup.rows) && f->setup.from == NULL &&
      f->setup.kernel->expression == NULL) { /* the diagonal of an expression varies, so its model keeps the jitter */
    theta[OAT_TAU] = hypot(theta[OAT_TAU], sqrt(*jitter) * theta[OAT_SIGMA]);
    *jitter = 0;
  }
  return oat_objective_settle(f->ctx, f->objective, &f->best.point, &value, NULL);
}

/* From here on the jitter is a fixed number, which the model stores. */
static void harden_jitter(oat_fit_run *f) {
  oat_objective_config *config = &f->objective->config;
  const oat_covariance cov = oat_covariance_at(config->kernel, oat_rows_inputs(config->rows), f->best.point.theta);
  const oat_points z = {f->best.point.z, f->best.k, f->best.k};
  config->jitter = oat_jitter_variance(config, &cov, z, f->best.point.theta[OAT_TAU]) / oat_kernel_share(&cov, z, 1);
  config->soft = false;
}

/* The objective for the result. */
static oatgp_status prepare_result(oat_fit_run *f) {
  f->setup.k = f->best.k;
  if (f->best.exact) {
    const oatgp_status status = become_exact(f);
    return status == OATGP_OK ? call_rounding_noise(f) : status;
  }
  if (!f->setup.approx->sparse) {
    return call_rounding_noise(f);
  }
  if (f->best.neighbours > 0) {
    return take_neighbours(f);
  }
  oat_objective_resize(f->objective, f->best.k);
  if (f->objective->config.soft) {
    harden_jitter(f);
  }
  return OATGP_OK;
}

/* The model at the best point, and how it came about. */
static oatgp_status make_model(oat_fit_run *f, oatgp_model **out) {
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  TRY(prepare_result(f));
  f->objective->config.site_tol = fmin(MODEL_SITE_TOL, f->objective->config.site_tol);
  TRY(oat_model_build(f->ctx, &f->setup, f->objective, &f->best.point, &model));
  TRY(oat_copy_text(f->ctx, f->fingerprint, &model->text[OAT_TEXT_FINGERPRINT]));
  double *number = model->number;
  number[OAT_NUMBER_ITERATIONS] = f->iterations;
  number[OAT_NUMBER_EVALUATIONS] = f->evaluations;
  number[OAT_NUMBER_REJECTED] = f->rejected;
  number[OAT_NUMBER_STOP] = f->best.stop;
  model->history = hand_over(&f->best.trail.history, &model->history_count);
  model->selection = hand_over(&f->best.trail.selection, &model->selection_count);
  TRY(oat_average(f, model));
  TRY(f->request->unscored ? OATGP_OK : score(f, model));
  number[OAT_NUMBER_SECONDS] = oat_fit_seconds(f);
  *out = model;
  model = NULL;
done:
  oatgp_model_free(model);
  return status;
}

/* Settles the jitter at the start as the optimiser will see it. Taking logarithms and back costs a rounding error,
 * which matters if a factorisation barely succeeds. */
static oatgp_status settle(oat_fit_run *f, bool resumed) {
  oat_search *s = &f->search;
  const size_t k = f->setup.k;
  const bool moving = f->setup.strategy->needs_moving && f->setup.approx->sparse;
  oat_gradient gradient = {s->gradient.theta, moving ? s->gradient.z : NULL, !s->mapping.free[OAT_TAU]};
  s->mapping.k = k;
  s->mapping.first = moving ? 0 : k;
  oat_mapping_pack(&s->mapping, &f->setup.start, s->x);
  oat_mapping_unpack(&s->mapping, s->x, &f->setup.start);
  double value;
  return resumed ? OATGP_OK : oat_objective_settle(f->ctx, f->objective, &f->setup.start, &value, &gradient);
}

oatgp_status oat_fit(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out) {
  if (request->from == NULL && request->chosen == NULL && oat_kernel_is_automatic(request->settings->kernel)) {
    return oat_fit_choosing(ctx, request, out);
  }
  const double now = oat_seconds(), before = request->chosen != NULL ? request->chosen->seconds : 0;
  oat_fit_run f = {.ctx = ctx, .memory = {.ctx = ctx}, .request = request, .began = now - before, .saved = now};
  const bool resumed = *request->settings->resume != '\0';
  oatgp_status status = OATGP_OK;
  TRY(request->from != NULL ? oat_setup_again(ctx, request->from, request->data, request->settings, &f.setup)
                            : oat_setup_make(ctx, request->data, request->settings, request->knots, &f.setup));
  TRY(oat_average_check(ctx, &f.setup));
  TRY(oat_fingerprint(ctx, request->data, f.fingerprint));
  TRY(request->unscored ? OATGP_OK : oat_advise(ctx, &f.setup));
  const bool moving = f.setup.strategy->needs_moving || (request->settings->refine && f.setup.approx->sparse);
  TRY(moving ? oat_setup_check_moving(ctx, &f.setup) : OATGP_OK);
  const oat_objective_config config = oat_setup_objective(&f.setup);
  TRY(oat_objective_create(ctx, &config, &f.objective));
  TRY(make_search(&f));
  TRY(settle(&f, resumed)); /* restarts of a resumed fit begin at the same start */
  TRY(resumed ? oat_checkpoint_read(&f) : OATGP_OK);
  TRY(run_all(&f, resumed));
  TRY(make_model(&f, out));
done:
  oat_search_close(&f.search);
  oat_objective_free(f.objective);
  oat_setup_clear(&f.setup);
  free_trail(&f.trail);
  free_trail(&f.best.trail);
  oat_scratch_free(&f.memory);
  return status;
}
