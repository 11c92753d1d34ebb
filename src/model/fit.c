/* The fit, from data to model: set up, settle the jitter, optimise from the start (and from others), keep the best. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "model/model.h"
#include "model/setup.h"
#include "oat_config.h"
#include "optim/optim.h"
#include "util/clock.h"
#include "util/hash.h"
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
  f->mapping = (oat_mapping){setup->kernel, setup->scaling.d,     setup->k,   setup->free, move, box_named(settings->knot_box),
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

static int notify(fit *f, oatgp_event_kind kind, const char *stop) {
  const double *counter = f->optim->counter, *theta = f->point.theta;
  const double unit = f->setup.y_scale;
  if (f->monitor == NULL) {
    return 0;
  }
  const oatgp_event event = {
      .kind = kind,
      .restart = f->restart,
      .iteration = (int64_t)counter[OAT_ITERATIONS],
      .evaluations = f->evaluations + (int64_t)counter[OAT_EVALUATIONS],
      .rejected = f->rejected + (int64_t)counter[OAT_REJECTED],
      .objective = oat_setup_objective_value(&f->setup, counter[OAT_VALUE]),
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

/* Optimises from the point given; *interrupted when the monitor asks to stop. */
static oatgp_status optimise(fit *f, const oat_point *start, bool *interrupted) {
  oatgp_status status = OATGP_OK;
  oatgp_stop stop = OATGP_STOP_NONE;
  f->history.count = 0;
  copy_point(f, start, &f->point);
  oat_mapping_pack(&f->mapping, start, f->x);
  oat_mapping_bounds(&f->mapping, f->x, f->lower, f->upper, f->sign_weight);
  TRY(oat_optim_start(f->optim, f->x));
  TRY(record(f));
  *interrupted = notify(f, OATGP_EVENT_START, NULL) != 0;
  while (!*interrupted && f->problem.n > 0 && (stop = oat_optim_stop(f->optim)) == OATGP_STOP_NONE) {
    oat_optim_step(f->optim);
    oat_mapping_unpack(&f->mapping, f->optim->x, &f->point);
    TRY(record(f));
    *interrupted = notify(f, OATGP_EVENT_STEP, NULL) != 0;
  }
  conclude(f, *interrupted ? OATGP_STOP_USER : stop);
done:
  return status;
}

/* The start, then the further starts; one that is rejected at its first evaluation is passed over. */
static oatgp_status optimise_all(fit *f) {
  oat_point start = {0};
  bool interrupted = false;
  oatgp_status status = OATGP_OK;
  f->best_value = -HUGE_VAL;
  TRY(optimise(f, &f->setup.start, &interrupted));
  TRY(new_point(f->ctx, oat_theta_count(f->setup.kernel, f->setup.scaling.d), f->setup.k * f->setup.scaling.d, &start));
  for (f->restart = 1; f->restart <= f->setup.settings->restarts && !interrupted && f->stop != OATGP_STOP_TIME; f->restart++) {
    TRY(oat_setup_shake(f->ctx, &f->setup, &start));
    status = optimise(f, &start, &interrupted);
    if (status == OATGP_NUMERIC) {
      f->rejected++;
      f->evaluations++;
      status = OATGP_OK;
    }
    TRY(status);
  }
  if (interrupted) {
    f->stop = OATGP_STOP_USER;
  }
  notify(f, OATGP_EVENT_END, oatgp_stop_word(f->stop));
done:
  free(start.theta);
  free(start.z);
  return status;
}

/* ---- the model ---------------------------------------------------------------------------------------------------- */

static oatgp_status copy_texts(const fit *f, oatgp_model *model) {
  const oat_setup *setup = &f->setup;
  const oatgp_data *data = setup->data;
  const oatgp_settings *settings = setup->settings;
  oatgp_status status = OATGP_OK;
  char fingerprint[32];
  uint64_t hash = oat_hash(OAT_HASH_START, data->x, data->n * data->d * sizeof(double));
  hash = oat_hash(hash, data->y, data->n * sizeof(double));
  snprintf(fingerprint, sizeof fingerprint, "fnv1a-%016llx", (unsigned long long)hash);
  const char *const texts[OAT_TEXTS] = {
      [OAT_TEXT_VERSION] = OAT_VERSION,          [OAT_TEXT_APPROX] = setup->approx->name,
      [OAT_TEXT_KERNEL] = setup->kernel->name,   [OAT_TEXT_OPTIMIZER] = settings->optimizer,
      [OAT_TEXT_SELECT] = settings->select,      [OAT_TEXT_TARGET] = data->target,
      [OAT_TEXT_MEAN] = settings->mean,          [OAT_TEXT_FINGERPRINT] = fingerprint,
      [OAT_TEXT_WEIGHTS] = data->weight_name,    [OAT_TEXT_NOISE] = data->noise_name,
  };
  for (size_t i = 0; i < OAT_TEXTS; i++) {
    TRY(oat_copy_text(f->ctx, texts[i], &model->text[i]));
  }
  for (size_t j = 0; j < model->d; j++) {
    TRY(oat_copy_text(f->ctx, data->names[setup->scaling.column[j]], &model->names[j]));
  }
  if (data->positions != NULL) {
    TRY(oat_new_matrix(f->ctx, model->d, 1, &model->positions));
    for (size_t j = 0; j < model->d; j++) {
      model->positions[j] = (double)data->positions[setup->scaling.column[j]];
    }
  }
done:
  return status;
}

static void copy_numbers(const fit *f, oatgp_model *model, double value) {
  const oat_setup *setup = &f->setup;
  const oat_approx *approx = setup->approx;
  double *number = model->number;
  number[OAT_NUMBER_N] = (double)setup->rows.n;
  number[OAT_NUMBER_ALPHA] = approx->power ? setup->settings->alpha : approx->alpha;
  number[OAT_NUMBER_JITTER] = f->objective->config.jitter;
  number[OAT_NUMBER_OBJECTIVE] = oat_setup_objective_value(setup, value);
  number[OAT_NUMBER_ITERATIONS] = (double)f->iterations;
  number[OAT_NUMBER_EVALUATIONS] = (double)f->evaluations;
  number[OAT_NUMBER_REJECTED] = (double)f->rejected;
  number[OAT_NUMBER_RESTARTS] = (double)setup->settings->restarts;
  number[OAT_NUMBER_SEED] = (double)setup->settings->seed;
  number[OAT_NUMBER_STOP] = f->stop;
  number[OAT_NUMBER_MEAN] = setup->mean;
  number[OAT_NUMBER_Y_SCALE] = setup->y_scale;
  number[OAT_NUMBER_HEADER] = setup->data->header;
  number[OAT_NUMBER_COLUMNS] = (double)setup->data->columns;
}

static void copy_scaling(const oat_scaling *from, oat_scaling *to) {
  const size_t bytes = from->d * sizeof(double);
  memcpy(to->centre, from->centre, bytes);
  memcpy(to->scale, from->scale, bytes);
  memcpy(to->middle, from->middle, bytes);
  memcpy(to->spread, from->spread, bytes);
  memcpy(to->lowest, from->lowest, bytes);
  memcpy(to->highest, from->highest, bytes);
}

/* The full GP keeps its rows: inputs, residuals from the prior mean, noise. */
static void copy_rows(const fit *f, oatgp_model *model) {
  const oat_rows *rows = &f->setup.rows;
  const double tau2 = model->theta[OAT_TAU] * model->theta[OAT_TAU];
  memcpy(model->z, rows->x, rows->n * rows->d * sizeof *model->z);
  for (size_t i = 0; i < rows->n; i++) {
    model->r[i] = rows->r[i];
    for (size_t j = 0; j < rows->p; j++) {
      model->r[i] -= model->coefficient[j] * rows->r[i + (1 + j) * rows->n];
    }
    model->noise[i] = tau2 * (rows->noise_scale != NULL ? rows->noise_scale[i] : 1) + (rows->noise_add != NULL ? rows->noise_add[i] : 0);
  }
}

static void copy_factors(const fit *f, oatgp_model *model) {
  const oat_factors *factors = &f->objective->factors;
  const size_t k = model->k;
  memcpy(model->theta, f->best.theta, oat_theta_count(model->kernel, model->d) * sizeof *model->theta);
  memcpy(model->coefficient, factors->coefficient, model->p * sizeof *model->coefficient);
  if (!model->approx->sparse) {
    copy_rows(f, model);
    return;
  }
  memcpy(model->z, f->best.z, k * model->d * sizeof *model->z);
  memcpy(model->l, factors->l, k * k * sizeof *model->l);
  memcpy(model->lb, factors->lb, k * k * sizeof *model->lb);
  memcpy(model->c, factors->c, k * sizeof *model->c);
  memcpy(model->sums, factors->sums->vwv, model->sums_count * sizeof *model->sums);
}

static oatgp_status make_model(fit *f, oatgp_model **out) {
  const oat_setup *setup = &f->setup;
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  double value;
  TRY(oat_objective_evaluate(f->objective, &f->best, &value, NULL));
  TRY(oat_new(f->ctx, 1, sizeof *model, &model));
  model->approx = setup->approx;
  model->kernel = setup->kernel;
  model->d = setup->scaling.d;
  model->k = setup->approx->sparse ? setup->k : setup->rows.n;
  model->p = setup->rows.p;
  TRY(oat_model_allocate(f->ctx, model));
  TRY(copy_texts(f, model));
  copy_numbers(f, model, value);
  copy_scaling(&setup->scaling, &model->scaling);
  copy_factors(f, model);
  model->history = f->best_history.row;
  model->history_count = f->best_history.count;
  f->best_history = (history){0};
  TRY(oat_model_finish(f->ctx, model));
  model->number[OAT_NUMBER_SECONDS] = oat_seconds() - f->began;
  *out = model;
  return OATGP_OK;
done:
  oatgp_model_free(model);
  return status;
}

static oatgp_status refuse_moving_knots(oatgp_context *ctx, const oatgp_settings *settings) {
  return oat_fail(ctx, OATGP_ARGUMENT,
                  "kernel %s is not differentiable where two points meet, so its knots cannot be moved by their gradient: "
                  "use --select fixed, or another kernel",
                  settings->kernel);
}

oatgp_status oat_fit(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                     oatgp_monitor_fn monitor, void *user, oatgp_model **out) {
  fit f = {.ctx = ctx, .monitor = monitor, .user = user, .began = oat_seconds()};
  oatgp_status status = OATGP_OK;
  TRY(oat_setup_make(ctx, data, settings, knots, &f.setup));
  if (f.setup.approx->sparse && !f.setup.kernel->smooth && strcmp(settings->select, "simultaneous") == 0) {
    TRY(refuse_moving_knots(ctx, settings));
  }
  const oat_objective_config config = oat_setup_objective(&f.setup);
  TRY(oat_objective_create(ctx, &config, &f.objective));
  TRY(make_optimiser(&f));
  TRY(oat_objective_settle(ctx, f.objective, &f.setup.start));
  TRY(optimise_all(&f));
  TRY(make_model(&f, out));
done:
  free_fit(&f);
  return status;
}

/* ---- one evaluation ----------------------------------------------------------------------------------------------- */

/* Derivatives and parameters as the user sees them; knots become row-major. */
static oatgp_status describe(oatgp_context *ctx, const oat_setup *setup, const oat_objective *objective, const oat_gradient *gradient,
                             oatgp_evaluation *out) {
  const size_t d = setup->scaling.d, k = setup->k, count = oat_theta_count(setup->kernel, d) - OAT_LENGTHSCALE;
  const double *theta = setup->start.theta, unit = setup->y_scale;
  oatgp_status status = OATGP_OK;
  out->sigma = theta[OAT_SIGMA] * unit;
  out->tau = theta[OAT_TAU] * unit;
  out->shape = theta[OAT_SHAPE];
  out->mean = setup->mean + (setup->rows.p > 0 ? unit * objective->factors.coefficient[0] : 0);
  out->jitter = objective->config.jitter;
  out->inputs = d;
  out->knots = k;
  out->lengthscale_count = count;
  TRY(oat_new_matrix(ctx, count, 1, &out->lengthscales));
  TRY(oat_new_matrix(ctx, count, 1, &out->d_log_lengthscales));
  memcpy(out->lengthscales, theta + OAT_LENGTHSCALE, count * sizeof(double));
  if (gradient->theta != NULL) {
    out->d_log_sigma = gradient->theta[OAT_SIGMA];
    out->d_log_tau = gradient->theta[OAT_TAU];
    out->d_log_shape = gradient->theta[OAT_SHAPE];
    memcpy(out->d_log_lengthscales, gradient->theta + OAT_LENGTHSCALE, count * sizeof(double));
  }
  if (gradient->z != NULL) {
    TRY(oat_new_matrix(ctx, k, d, &out->d_knots));
    for (size_t i = 0; i < k * d; i++) {
      out->d_knots[(i % k) * d + i / k] = gradient->z[i];
    }
  }
done:
  return status;
}

oatgp_status oat_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                          int with_gradient, oatgp_evaluation *out) {
  oat_setup setup = {0};
  oat_objective *objective = NULL;
  oat_gradient gradient = {0};
  double value = 0;
  oatgp_status status = OATGP_OK;
  *out = (oatgp_evaluation){0};
  TRY(oat_setup_make(ctx, data, settings, knots, &setup));
  const oat_objective_config config = oat_setup_objective(&setup);
  TRY(oat_objective_create(ctx, &config, &objective));
  TRY(oat_objective_settle(ctx, objective, &setup.start));
  if (with_gradient) {
    TRY(oat_new_matrix(ctx, oat_theta_count(setup.kernel, setup.scaling.d), 1, &gradient.theta));
    if (setup.approx->sparse && !setup.kernel->smooth) {
      TRY(refuse_moving_knots(ctx, settings));
    }
    if (setup.approx->sparse) {
      TRY(oat_new_matrix(ctx, setup.k, setup.scaling.d, &gradient.z));
    }
  }
  status = oat_objective_evaluate(objective, &setup.start, &value, with_gradient ? &gradient : NULL);
  if (status == OATGP_NUMERIC) {
    oat_fail(ctx, status, "the objective or its gradient is not finite at these parameters");
  }
  TRY(status);
  TRY(describe(ctx, &setup, objective, &gradient, out));
  out->objective = oat_setup_objective_value(&setup, value);
done:
  if (status != OATGP_OK) {
    oatgp_evaluation_clear(out);
  }
  free(gradient.theta);
  free(gradient.z);
  oat_objective_free(objective);
  oat_setup_clear(&setup);
  return status;
}
