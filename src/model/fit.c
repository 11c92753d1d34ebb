/* The fit, from data to model: set up, settle the jitter, optimise from the start (and from others), keep the best. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/build.h"
#include "optim/optim.h"
#include "util/clock.h"
#include "util/memory.h"

typedef struct history {
  double *row; /* count x 3: evaluations, objective, seconds */
  size_t count, capacity;
} history;

/* Everything that one fit keeps while it runs. */
typedef struct fit {
  oatgp_context *ctx;
  oat_setup setup;
  oat_objective *objective;
  oat_mapping mapping;
  oat_problem problem;
  oat_optim_settings limits;
  oat_optim *optim;
  oatgp_monitor_fn monitor;
  void *user;
  double began;
  oat_point point, best;        /* under evaluation; the best of all starts */
  oat_gradient gradient;
  double *x, *lower, *upper, *sign_weight;
  double best_value;
  history history, best_history;
  oatgp_stop stop;
  int64_t restart, iterations, evaluations, rejected; /* all but the current start's */
} fit;

/* ---- making and freeing ------------------------------------------------------------------------------------------- */

static void free_fit(fit *f) {
  oat_optim_free(f->optim);
  oat_objective_free(f->objective);
  oat_setup_clear(&f->setup);
  double *const arrays[] = {f->point.theta, f->point.z, f->best.theta,  f->best.z,        f->gradient.theta,   f->gradient.z, f->x,
                            f->lower,       f->upper,   f->sign_weight, f->history.row, f->best_history.row};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
}

static oatgp_status new_point(oatgp_context *ctx, size_t theta, size_t z, oat_point *point) {
  const oatgp_status status = oat_new_matrix(ctx, theta, 1, &point->theta);
  return status == OATGP_OK ? oat_new_matrix(ctx, z, 1, &point->z) : status;
}

static void copy_point(const fit *f, const oat_point *from, oat_point *to) {
  memcpy(to->theta, from->theta, oat_theta_count(f->setup.kernel, f->setup.scaling.d) * sizeof(double));
  if (f->setup.approx->sparse) {
    memcpy(to->z, from->z, f->setup.k * f->setup.scaling.d * sizeof(double));
  }
}

static oatgp_status evaluate(void *self, const double *x, double *value, double *gradient) {
  fit *f = self;
  oat_mapping_unpack(&f->mapping, x, &f->point);
  const oatgp_status status = oat_objective_evaluate(f->objective, &f->point, value, &f->gradient);
  if (status == OATGP_OK) {
    oat_mapping_gradient(&f->mapping, x, &f->gradient, gradient);
  }
  return status;
}

static oat_box box_named(const char *name) {
  return strcmp(name, "none") == 0 ? OAT_BOX_NONE : strcmp(name, "logit") == 0 ? OAT_BOX_LOGIT : OAT_BOX_BOUND;
}

static void set_limits(fit *f) {
  const oatgp_settings *s = f->setup.settings;
  f->limits = (oat_optim_settings){(size_t)s->lbfgs_history, (size_t)s->line_search, s->decay,    s->epsilon,
                                   s->eta,                   (double)s->max_iter,    (double)s->max_eval, s->obj_tol,
                                   s->grad_tol,              (size_t)s->patience,    s->time_limit > 0 ? f->began + s->time_limit : 0};
}

static oatgp_status make_optimiser(fit *f) {
  const oat_setup *setup = &f->setup;
  const oatgp_settings *settings = setup->settings;
  const size_t theta = oat_theta_count(setup->kernel, setup->scaling.d), z = setup->k * setup->scaling.d;
  const bool move = setup->approx->sparse && strcmp(settings->select, "simultaneous") == 0;
  oatgp_status status = OATGP_OK;
  f->mapping = (oat_mapping){setup->kernel, setup->scaling.d,     setup->k,   setup->free, move ? 0 : setup->k, box_named(settings->knot_box),
                             setup->scaling.spread, setup->low, setup->high};
  const size_t n = oat_mapping_count(&f->mapping);
  TRY(new_point(f->ctx, theta, z, &f->point));
  TRY(new_point(f->ctx, theta, z, &f->best));
  TRY(oat_new_matrix(f->ctx, theta, 1, &f->gradient.theta));
  if (move) {
    TRY(oat_new_matrix(f->ctx, z, 1, &f->gradient.z));
  }
  TRY(oat_new_matrix(f->ctx, n, 1, &f->x));
  TRY(oat_new_matrix(f->ctx, n, 1, &f->lower));
  TRY(oat_new_matrix(f->ctx, n, 1, &f->upper));
  TRY(oat_new_matrix(f->ctx, n, 1, &f->sign_weight));
  f->problem = (oat_problem){n, f->lower, f->upper, f->sign_weight, evaluate, f};
  set_limits(f);
  TRY(oat_optim_create(f->ctx, oat_optim_find(settings->optimizer), &f->problem, &f->limits, &f->optim));
done:
  return status;
}

/* ---- reporting ---------------------------------------------------------------------------------------------------- */

/* At the end the counts are those of all starts, and the point is the best. */
static int notify(fit *f, oatgp_event_kind kind, const char *stop) {
  const bool end = kind == OATGP_EVENT_END;
  const double *counter = f->optim->counter, *theta = end ? f->best.theta : f->point.theta;
  const double unit = f->setup.y_scale;
  if (f->monitor == NULL) {
    return 0;
  }
  const oatgp_event event = {
      .kind = kind,
      .restart = f->restart,
      .iteration = end ? f->iterations : (int64_t)counter[OAT_ITERATIONS],
      .evaluations = f->evaluations + (end ? 0 : (int64_t)counter[OAT_EVALUATIONS]),
      .rejected = f->rejected + (end ? 0 : (int64_t)counter[OAT_REJECTED]),
      .objective = oat_setup_objective_value(&f->setup, end ? f->best_value : counter[OAT_VALUE]),
      .best = oat_setup_objective_value(&f->setup, fmax(f->best_value, counter[OAT_BEST])),
      .gradient = oat_optim_largest_derivative(f->optim),
      .seconds = oat_seconds() - f->began,
      .sigma = theta[OAT_SIGMA] * unit,
      .tau = theta[OAT_TAU] * unit,
      .shape = theta[OAT_SHAPE],
      .lengthscale_count = oat_theta_count(f->setup.kernel, f->setup.scaling.d) - OAT_LENGTHSCALE,
      .lengthscales = theta + OAT_LENGTHSCALE,
      .knots = f->setup.k,
      .stop = stop,
  };
  return f->monitor(f->user, &event);
}

static oatgp_status record(fit *f) {
  history *h = &f->history;
  const oatgp_status status = oat_grow(f->ctx, h->count + 1, 3 * sizeof *h->row, &h->capacity, &h->row);
  if (status == OATGP_OK) {
    double *row = h->row + 3 * h->count++;
    row[0] = f->optim->counter[OAT_EVALUATIONS];
    row[1] = oat_setup_objective_value(&f->setup, f->optim->counter[OAT_VALUE]);
    row[2] = oat_seconds() - f->began;
  }
  return status;
}

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

/* After one start: counts, and keeps its best point if it is the best so far. */
static void conclude(fit *f, oatgp_stop stop) {
  const double *counter = f->optim->counter;
  f->iterations += (int64_t)counter[OAT_ITERATIONS];
  f->evaluations += (int64_t)counter[OAT_EVALUATIONS];
  f->rejected += (int64_t)counter[OAT_REJECTED];
  if (counter[OAT_BEST] > f->best_value) {
    const history swap = f->best_history;
    f->best_value = counter[OAT_BEST];
    oat_mapping_unpack(&f->mapping, f->optim->best, &f->point);
    copy_point(f, &f->point, &f->best);
    f->best_history = f->history;
    f->history = swap;
    f->stop = stop;
  }
}

/* Optimises from the point given until there is a reason to stop. */
static oatgp_status optimise(fit *f, const oat_point *start, oatgp_stop *stop) {
  oatgp_status status = OATGP_OK;
  *stop = OATGP_STOP_NONE;
  f->history.count = 0;
  copy_point(f, start, &f->point);
  oat_mapping_pack(&f->mapping, start, f->x);
  oat_mapping_bounds(&f->mapping, f->x, f->lower, f->upper, f->sign_weight);
  TRY(oat_optim_start(f->optim, f->x));
  TRY(record(f));
  bool interrupted = notify(f, OATGP_EVENT_START, NULL) != 0;
  while (!interrupted && f->problem.n > 0 && (*stop = oat_optim_stop(f->optim)) == OATGP_STOP_NONE) {
    oat_optim_step(f->optim);
    oat_mapping_unpack(&f->mapping, f->optim->x, &f->point);
    TRY(record(f));
    interrupted = notify(f, OATGP_EVENT_STEP, NULL) != 0;
  }
  *stop = interrupted ? OATGP_STOP_USER : *stop;
  conclude(f, *stop);
done:
  return status;
}

/* Ends the fit, not only a start of it. */
static bool ends_all(oatgp_stop stop) { return stop == OATGP_STOP_USER || stop == OATGP_STOP_TIME; }

/* One more start. If its first evaluation is rejected, it is passed over. */
static oatgp_status try_again(fit *f, oat_point *start, oatgp_stop *stop) {
  oatgp_status status = oat_setup_shake(f->ctx, &f->setup, start);
  if (status != OATGP_OK) {
    return status;
  }
  status = optimise(f, start, stop);
  if (status == OATGP_NUMERIC) {
    f->rejected++;
    f->evaluations++;
    status = OATGP_OK;
  }
  return status;
}

static oatgp_status optimise_all(fit *f) {
  oat_point start = {0};
  oatgp_stop stop;
  oatgp_status status = OATGP_OK;
  f->best_value = -HUGE_VAL;
  status = optimise(f, &f->setup.start, &stop);
  if (status == OATGP_NUMERIC) {
    oat_fail(f->ctx, status, "the gradient of the objective is not finite at the start values; try others");
  }
  TRY(status);
  TRY(new_point(f->ctx, oat_theta_count(f->setup.kernel, f->setup.scaling.d), f->setup.k * f->setup.scaling.d, &start));
  while (f->restart < f->setup.settings->restarts && !ends_all(stop)) {
    f->restart++;
    TRY(try_again(f, &start, &stop));
  }
  f->stop = ends_all(stop) ? stop : f->stop;
  notify(f, OATGP_EVENT_END, oatgp_stop_word(f->stop));
done:
  free(start.theta);
  free(start.z);
  return status;
}

/* ---- the fit ------------------------------------------------------------------------------------------------------ */

/* The jitter is settled at the start as the optimiser will see it: to take logarithms and back costs a rounding error, which
 * matters when a factorisation only just goes through. */
static oatgp_status settle(fit *f) {
  copy_point(f, &f->setup.start, &f->point);
  oat_mapping_pack(&f->mapping, &f->setup.start, f->x);
  oat_mapping_unpack(&f->mapping, f->x, &f->point);
  return oat_objective_settle(f->ctx, f->objective, &f->point, &f->gradient);
}

/* The model at the best point, and how it came about. */
static oatgp_status conclude_fit(fit *f, oatgp_model **out) {
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_model_build(f->ctx, &f->setup, f->objective, &f->best, &model));
  double *number = model->number;
  number[OAT_NUMBER_ITERATIONS] = (double)f->iterations;
  number[OAT_NUMBER_EVALUATIONS] = (double)f->evaluations;
  number[OAT_NUMBER_REJECTED] = (double)f->rejected;
  number[OAT_NUMBER_STOP] = f->stop;
  model->history = f->best_history.row;
  model->history_count = f->best_history.count;
  f->best_history = (history){0};
  number[OAT_NUMBER_SECONDS] = oat_seconds() - f->began;
  *out = model;
done:
  return status;
}

oatgp_status oat_fit(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                     oatgp_monitor_fn monitor, void *user, oatgp_model **out) {
  fit f = {.ctx = ctx, .monitor = monitor, .user = user, .began = oat_seconds()};
  oatgp_status status = OATGP_OK;
  TRY(oat_setup_make(ctx, data, settings, knots, &f.setup));
  if (strcmp(settings->select, "simultaneous") == 0) {
    TRY(oat_setup_check_moving(ctx, &f.setup));
  }
  const oat_objective_config config = oat_setup_objective(&f.setup);
  TRY(oat_objective_create(ctx, &config, &f.objective));
  TRY(make_optimiser(&f));
  TRY(settle(&f));
  TRY(optimise_all(&f));
  TRY(conclude_fit(&f, out));
done:
  free_fit(&f);
  return status;
}
