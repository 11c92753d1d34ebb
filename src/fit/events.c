/* What a fit reports to its monitor and records for the model file. */
#include <math.h>
#include <string.h>

#include "fit/fit.h"
#include "model/model.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/ranks.h"

double oat_fit_seconds(const oat_fit_run *f) { return oat_seconds() - f->began; }

static oatgp_status new_row(oatgp_context *ctx, oat_log *log, double **row) {
  const oatgp_status status = oat_grow(ctx, log->count + 1, log->width * sizeof *log->row, &log->capacity, &log->row);
  if (status == OATGP_OK) {
    *row = log->row + log->width * log->count++;
  }
  return status;
}

/* ---- numbers of a search in the middle of an optimisation or between two --------------------------------------- */

static double counted(const oat_search *s, double total, int counter) {
  return total + (s->optim != NULL ? s->optim->counter[counter] : 0);
}

static double value_now(const oat_search *s) {
  return s->optim != NULL ? s->optim->counter[OAT_VALUE] : s->state.value;
}

static double best_now(const oat_fit_run *f) {
  const oat_search *s = &f->search;
  const double behind =
      fmax(s->state.value_before, s->state.fallback_value); /* of the models that the search can return to */
  return fmax(fmax(f->best.value, behind), s->optim != NULL ? s->optim->counter[OAT_BEST] : s->state.value);
}

/* ---- records --------------------------------------------------------------------------------------------------- */

static oatgp_status record_step(oat_fit_run *f) {
  const oat_search *s = &f->search;
  double *row;
  const oatgp_status status = new_row(f->ctx, &f->trail.history, &row);
  if (status == OATGP_OK) {
    row[0] = counted(s, s->state.evaluations, OAT_EVALUATIONS);
    row[1] = oat_setup_objective_value(&f->setup, value_now(s));
    row[2] = oat_fit_seconds(f);
  }
  return status;
}

/* The knots on trial in the data's units, one after the other; returns how many. */
static size_t trial_positions(oat_fit_run *f) {
  const oat_search *s = &f->search;
  const oat_scaling *scaling = &f->setup.scaling;
  const size_t k = s->state.k, added = k - s->state.kept;
  for (size_t i = 0; i < added; i++) {
    for (size_t j = 0; j < scaling->d; j++) {
      f->positions[i * scaling->d + j] = s->point.z[s->state.kept + i + j * k] * scaling->scale[j] + scaling->centre[j];
    }
  }
  return added;
}

static oatgp_status record_knots(oat_fit_run *f, bool kept) {
  const oat_search_state *state = &f->search.state;
  const size_t d = f->setup.scaling.d, added = trial_positions(f);
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < added; i++) {
    double *row;
    TRY(new_row(f->ctx, &f->trail.selection, &row));
    row[OAT_SELECTION_KEPT] = kept;
    row[OAT_SELECTION_KNOTS] = (double)(state->kept + i + 1);
    row[OAT_SELECTION_OBJECTIVE] = oat_setup_objective_value(&f->setup, state->value);
    row[OAT_SELECTION_GAIN] = state->value - state->value_before;
    row[OAT_SELECTION_PREDICTED] = state->predicted;
    row[OAT_SELECTION_TRIED] = state->tried;
    row[OAT_SELECTION_EVALUATIONS] = state->evaluations;
    row[OAT_SELECTION_SECONDS] = oat_fit_seconds(f);
    memcpy(row + OAT_SELECTION_WIDTH, f->positions + i * d, d * sizeof *row);
  }
done:
  return status;
}

/* ---- the monitor ----------------------------------------------------------------------------------------------- */

/* The event's parameters at theta. */
static void put_parameters(const oat_fit_run *f, const double *theta, oatgp_event *event) {
  const oat_theta_fields at = oat_theta_named(f->setup.kernel, f->setup.scaling.d, theta, f->setup.y_scale);
  const oat_expression *expression = f->setup.kernel->expression;
  event->sigma = at.sigma;
  event->tau = at.tau;
  event->shape = at.shape;
  event->lengthscale_count = at.lengthscale_count;
  event->lengthscales = at.lengthscales;
  if (expression != NULL) {
    const oat_units units = {f->setup.y_scale, f->setup.scaling.d, f->setup.scaling.scale};
    oat_expression_show(expression, theta, &units, f->parameters);
    event->parameter_count = expression->parameters;
    event->parameters = f->parameters;
  }
  if (f->setup.likelihood != NULL) {
    const oat_further *own = &f->setup.kernel->further;
    oat_answer_show(f->setup.likelihood, f->setup.levels, theta + own->first, f->setup.y_scale, f->own);
    event->likelihood_count = own->count;
    event->likelihood_parameters = f->own;
  }
}

static oatgp_event basic_event(const oat_fit_run *f, const oat_search *s, oatgp_event_kind kind) {
  oatgp_event event = {
      .kind = kind,
      .restart = (int64_t)f->restart,
      .iteration = (int64_t)counted(s, s->state.iterations, OAT_ITERATIONS),
      .evaluations = (int64_t)(f->evaluations + counted(s, s->state.evaluations, OAT_EVALUATIONS)),
      .rejected = (int64_t)(f->rejected + counted(s, s->state.rejected, OAT_REJECTED)),
      .objective = oat_setup_objective_value(&f->setup, value_now(s)),
      .best = oat_setup_objective_value(&f->setup, best_now(f)),
      .gradient = s->derivative,
      .seconds = oat_fit_seconds(f),
      .knots = s->objective->config.approx->sparse ? s->state.k : 0,
      .inputs = f->setup.scaling.d,
      .rows = oat_rows_total(f->setup.rows),
      .neighbours = s->objective->config.neighbours,
      .site_rounds = (int64_t)s->objective->rounds,
      .max_knots = f->setup.strategy->grows && f->setup.approx->sparse ? f->setup.capacity : 0,
  };
  put_parameters(f, s->optim != NULL ? s->trial.theta : s->point.theta, &event);
  return event;
}

static bool tell(const oat_fit_run *f, const oatgp_event *event) {
  return oat_ranks_any(f->request->monitor != NULL && f->request->monitor(f->request->user, event) != 0);
}

/* A proposal, or the knots on trial kept or dropped. */
static bool tell_knots(oat_fit_run *f, oatgp_event_kind kind) {
  const oat_search_state *state = &f->search.state;
  oatgp_event event = basic_event(f, &f->search, kind);
  event.added = trial_positions(f);
  event.positions = f->positions;
  event.candidates = (int64_t)state->tried;
  event.predicted = state->predicted;
  event.gain = kind == OATGP_EVENT_PROPOSAL ? NAN : state->value - state->value_before;
  return tell(f, &event);
}

void oat_fit_tell_end(oat_fit_run *f) {
  oatgp_event event = basic_event(f, &f->search, OATGP_EVENT_END);
  event.iteration = (int64_t)f->iterations;
  event.evaluations = (int64_t)f->evaluations;
  event.rejected = (int64_t)f->rejected;
  event.objective = event.best = oat_setup_objective_value(&f->setup, f->best.value);
  put_parameters(f, f->best.point.theta, &event);
  event.knots = f->setup.approx->sparse && !f->best.exact ? f->best.k : 0;
  event.neighbours = f->best.neighbours > 0 ? f->best.neighbours : event.neighbours;
  event.stop = oatgp_stop_word(f->best.stop);
  tell(f, &event);
}

static bool report_step(oat_fit_run *f) {
  const oatgp_event event = basic_event(f, &f->search, f->started ? OATGP_EVENT_STEP : OATGP_EVENT_START);
  f->started = true;
  f->trouble = f->trouble == OATGP_OK ? record_step(f) : f->trouble;
  return tell(f, &event);
}

/* The log evidence of the subset; nothing of it is recorded. */
static bool report_subset(oat_fit_run *f, const oat_search *sub) {
  oatgp_event event = basic_event(f, sub, OATGP_EVENT_SUBSET);
  event.rows = oat_rows_total(sub->objective->config.rows);
  const double others = (double)(oat_rows_total(f->setup.rows) - event.rows) *
                        log(f->setup.y_scale); /* the target's unit for the rows outside the subset */
  event.objective += others;
  event.best = oat_setup_objective_value(&f->setup, sub->optim->counter[OAT_BEST]) + others;
  return tell(f, &event);
}

/* A checkpoint is due when its time has come, and when the fit is about to stop. */
static void save_when_due(oat_fit_run *f, bool stopping) {
  const oatgp_settings *settings = f->setup.settings;
  if (*settings->checkpoint == '\0' || f->trouble != OATGP_OK) {
    return;
  }
  const double now = oat_seconds();
  if (stopping || now - f->saved >= settings->checkpoint_seconds || f->search.late) {
    if (oat_checkpoint_write(f) != OATGP_OK) { /* the fit is worth more than its checkpoint */
      oat_say(f->ctx, OATGP_WARNING, "no checkpoint: %s", f->ctx->error);
    }
    f->saved = now;
  }
}

bool oat_fit_report(void *self, const oat_search *s, oat_search_event event) {
  oat_fit_run *f = self;
  bool stop = false;
  if (event == OAT_SEARCH_STEP) {
    stop = report_step(f);
  } else if (event == OAT_SEARCH_SUBSET) {
    stop = report_subset(f, s);
  } else if (event == OAT_SEARCH_PROPOSAL) {
    stop = tell_knots(f, OATGP_EVENT_PROPOSAL);
  } else if (event == OAT_SEARCH_REFINE) {
    const oatgp_event refine = basic_event(f, s, OATGP_EVENT_REFINE);
    stop = tell(f, &refine);
  } else if (event != OAT_SEARCH_HALT) {
    f->trouble = f->trouble == OATGP_OK ? record_knots(f, event == OAT_SEARCH_KEPT) : f->trouble;
    stop = tell_knots(f, event == OAT_SEARCH_KEPT ? OATGP_EVENT_KEPT : OATGP_EVENT_DROPPED);
  }
  if (event == OAT_SEARCH_STEP || event == OAT_SEARCH_PROPOSAL || event == OAT_SEARCH_HALT) {
    save_when_due(f, stop || event == OAT_SEARCH_HALT);
  }
  return stop || f->trouble != OATGP_OK;
}
