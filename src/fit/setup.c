/* From data and settings to a problem that can be optimised. */
#include "fit/setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "knots/strategy.h"
#include "model/model.h"
#include "objective/sparse.h"

/* Of sites in a fit: the bound is then within about 1e-10 nats a row of its largest value at these parameters. */
#define SITE_TOL 1e-5
enum { PREDICT_SHARE = 2 }; /* neighbours of a prediction for each neighbour of a row in the fit */

/* ---- the mean -------------------------------------------------------------------------------------------------- */

static oatgp_status read_mean(oatgp_context *ctx, oat_setup *setup, double data_mean) {
  const char *text = setup->settings->mean;
  const bool constant = strcmp(text, "fit") == 0, linear = strcmp(text, "linear") == 0;
  const bool plain = strcmp(text, "mean") == 0, answers = setup->likelihood != NULL;
  setup->p = linear                           ? 1 + setup->scaling.d
             : constant || (plain && answers) ? 1
                                              : 0; /* f is not on the scale of y, so its level is estimated */
  setup->mean = data_mean;
  for (size_t j = 0; linear && j < setup->scaling.d; j++) {
    REFUSE_IF(setup->scaling.category[j], ctx, OATGP_ARGUMENT,
              "a linear mean needs numbers, but '%s' is a category; use --mean=fit",
              setup->data->names[setup->scaling.column[j]]);
  }
  if (constant || linear || plain || oat_is_number(text, strlen(text), &setup->mean)) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_ARGUMENT, "mean is '%s' but must be mean, fit, linear or a number", text);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------ */

/* The names of the inputs that are not constant; `names` has room for all. */
static oat_names kept_names(const oat_setup *setup, const char **names) {
  for (size_t j = 0; j < setup->scaling.d; j++) {
    names[j] = setup->data->names[setup->scaling.column[j]];
  }
  return (oat_names){setup->scaling.d, names, setup->scaling.category};
}

/* Reads the kernel of the settings. */
static oatgp_status read_kernel(oatgp_context *ctx, oat_setup *setup) {
  const char **names = oat_take(&setup->memory, setup->scaling.d, sizeof *names);
  PASS_ON(setup->memory.status);
  const oat_names inputs = kept_names(setup, names);
  PASS_ON(oat_kernel_read(ctx, setup->settings->kernel, &inputs, &setup->kernel));
  if (setup->kernel->expression != NULL && oat_kernel_find(setup->settings->kernel) != NULL) {
    oat_say(ctx, OATGP_NOTE,
            "with categories, kernel %s is %s: each level has a function of its own, and the data decide how similar "
            "they are",
            setup->settings->kernel, setup->kernel->name);
  }
  return OATGP_OK;
}

oatgp_status oat_setup_copy_kernel(oatgp_context *ctx, const oat_setup *setup, const oat_kernel **out) {
  const char **names = NULL;
  oatgp_status status;
  TRY(oat_new(ctx, setup->scaling.d, sizeof *names, &names));
  const oat_names inputs = kept_names(setup, names);
  TRY(oat_kernel_copy(ctx, setup->kernel, &inputs, out));
done:
  free(names);
  return status;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static double power_of_two(double x) {
  int exponent;
  frexp(x, &exponent);
  return ldexp(1, exponent - 1);
}

/* The spread of n values about the prior mean: sum (y - centre)^2 = (n - 1) sd^2 + n (mean - centre)^2. 1 if there is
 * none. */
static double target_spread(size_t n, const oat_description *y, double centre) {
  const double size = power_of_two(fmax(y->sd, fabs(y->mean - centre)));
  const double within = y->sd / size, apart = (y->mean - centre) / size;
  const double spread = sqrt(within * within + apart * apart * (double)n / (double)(n > 1 ? n - 1 : 1)) * size;
  return spread > 0 ? spread : 1;
}

static oatgp_status check_basis(oatgp_context *ctx, const oat_setup *setup) {
  const size_t n = setup->data->n, p = setup->p;
  if (p >= n && p > 0) {
    return oat_fail(ctx, OATGP_DATA, "an estimated mean with %zu coefficients needs more than %zu rows; there are %zu",
                    p, p, n);
  }
  return OATGP_OK;
}

static oatgp_status make_rows(oatgp_context *ctx, oat_setup *setup) {
  const oat_target target = {setup->mean, setup->y_scale};
  const oat_seen_as as = {&setup->scaling, setup->scaling.column,    setup->recode, &target,
                          setup->p,        setup->likelihood != NULL};
  return oat_rows_from_data(ctx, setup->data, &as, &setup->rows);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* The full GP has no knots to choose, so its parameters are optimised directly; only the automatic selection finds a
 * start for them first. If knots are given, also by a model, there is nothing left to choose automatically: they are
 * moved, if the kernel allows that. */
const oat_strategy *oat_setup_strategy(const oat_setup *setup) {
  const oat_strategy *asked = oat_strategy_find(setup->settings->select);
  const bool given = setup->knots != NULL || setup->from != NULL || *setup->settings->knots != '\0';
  if (!setup->approx->sparse) {
    return asked->automatic && setup->from == NULL ? asked : oat_strategy_find("fixed");
  }
  return asked->automatic && given ? oat_strategy_find(oat_kernel_is_smooth(setup->kernel) ? "simultaneous" : "fixed")
                                   : asked;
}

size_t oat_setup_neighbours(const oat_setup *setup) {
  const size_t given = setup->from != NULL ? setup->from->neighbours : (size_t)setup->settings->neighbours;
  return !setup->approx->neighbours ? 0 : setup->neighbours > 0 ? setup->neighbours : given;
}

/* Predictions use more neighbours, because a prediction is made once and an evaluation often. */
size_t oat_setup_near(const oat_setup *setup) {
  if (setup->from != NULL) {
    return setup->from->near;
  }
  const size_t given = (size_t)setup->settings->predict_neighbours, fitted = oat_setup_neighbours(setup);
  return fitted == 0 ? 0 : given > 0 ? given : PREDICT_SHARE * fitted;
}

oatgp_status oat_setup_ordered(oatgp_context *ctx, const oat_setup *setup, oat_rows **out) {
  const size_t n = setup->data->n;
  size_t *order = NULL;
  oatgp_status status = OATGP_OK;
  PASS_ON(oat_data_need_memory(ctx, setup->data, "a model with neighbours"));
  TRY(oat_new(ctx, n, sizeof *order, &order));
  if (strcmp(setup->settings->order, "file") == 0) {
    oat_rows_choose(setup->rows, n, NULL, order);
  } else {
    TRY(oat_data_order(ctx, setup->data, (uint64_t)setup->settings->seed, order));
  }
  TRY(oat_rows_take(ctx, setup->rows, n, order, out));
done:
  free(order);
  return status;
}

/* Only neighbours depend on the order of the rows. */
static oatgp_status put_in_order(oatgp_context *ctx, oat_setup *setup) {
  oat_rows *ordered = NULL;
  if (oat_setup_neighbours(setup) == 0) {
    return OATGP_OK;
  }
  PASS_ON(oat_setup_ordered(ctx, setup, &ordered));
  oat_rows_free(setup->rows);
  setup->rows = ordered;
  return OATGP_OK;
}

oatgp_status oat_setup_make(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                            const oatgp_data *knots, oat_setup *setup) {
  oatgp_status status = OATGP_OK;
  oat_plain plain = {0};
  oat_description y;
  *setup = (oat_setup){.memory = {.ctx = ctx}, .data = data, .settings = settings, .knots = knots};
  setup->approx = oat_approx_find(settings->approx);
  oat_rng_seed(&setup->rng, (uint64_t)settings->seed);
  TRY(oat_plain_begin(ctx, &plain));
  TRY(oat_scaling_make(ctx, data, settings->scale != 0, &setup->scaling));
  TRY(read_kernel(ctx, setup));
  TRY(oat_setup_likelihood(ctx, setup));
  setup->strategy = oat_setup_strategy(setup);
  oat_describe_column(data, oat_data_number_of(data, OAT_OTHER_TARGET), ctx->at_work, &y);
  const bool linked = oat_likelihood_is_linked(setup->likelihood);
  TRY(read_mean(ctx, setup, linked ? 0 : y.mean));
  const double spread = linked ? 1 : target_spread(data->n, &y, setup->mean);
  setup->y_scale = power_of_two(spread);
  TRY(oat_setup_own_parameters(ctx, setup, spread));
  TRY(check_basis(ctx, setup));
  TRY(make_rows(ctx, setup));
  TRY(put_in_order(ctx, setup));
  TRY(oat_start_make(ctx, setup, spread));
done:
  oat_plain_end(&plain);
  return status;
}

/* ---- from a model ---------------------------------------------------------------------------------------------- */

/* Rows with the model's scaling, mean and unit. */
static oatgp_status rows_as(oatgp_context *ctx, const oatgp_model *model, oat_setup *setup) {
  oatgp_status status = OATGP_OK;
  setup->p = model->p;
  setup->mean = model->number[OAT_NUMBER_MEAN];
  setup->y_scale = model->number[OAT_NUMBER_Y_SCALE];
  TRY(oat_model_allocate_scaling(ctx, &setup->scaling, model->d));
  oat_model_copy_scaling(&model->scaling, &setup->scaling);
  TRY(oat_model_match_inputs(ctx, model, setup->data, setup->scaling.column));
  TRY(oat_model_match_target(ctx, model, setup->data));
  TRY(oat_check_columns(ctx, setup->likelihood, setup->data));
  TRY(oat_check_answers(ctx, setup->likelihood, setup->levels, setup->data));
  TRY(oat_model_recode(ctx, model, setup->data, setup->scaling.column, &setup->recode));
  TRY(check_basis(ctx, setup));
  TRY(make_rows(ctx, setup));
done:
  return status;
}

/* The prior that the model was found with, number for number. */
static oatgp_status prior_of(oatgp_context *ctx, const oatgp_model *model, oat_setup *setup) {
  oat_plain plain = {0};
  oatgp_status status;
  TRY(oat_plain_begin(ctx, &plain));
  TRY(oat_given_priors(ctx, setup, model->text[OAT_TEXT_PRIOR] != NULL ? model->text[OAT_TEXT_PRIOR] : "none", 1));
done:
  oat_plain_end(&plain);
  return status;
}

static oatgp_status start_at(oatgp_context *ctx, const oatgp_model *model, oat_setup *setup) {
  const size_t d = setup->scaling.d;
  oatgp_status status = OATGP_OK;
  TRY(oat_start_frame(ctx, setup));
  TRY(prior_of(ctx, model, setup));
  memcpy(setup->start.theta, model->theta, oat_theta_count(setup->kernel, d) * sizeof *model->theta);
  if (setup->approx->sparse) {
    setup->k = setup->capacity = model->k;
    setup->start.z = oat_take_doubles(&setup->memory, model->k, d);
    TRY(setup->memory.status);
    memcpy(setup->start.z, model->z, model->k * d * sizeof *model->z);
    oat_start_widen(setup);
  }
done:
  return status;
}

oatgp_status oat_setup_again(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                             const oatgp_settings *settings, oat_setup *setup) {
  oatgp_status status = OATGP_OK;
  *setup = (oat_setup){.memory = {.ctx = ctx},
                       .data = data,
                       .settings = settings,
                       .approx = model->approx,
                       .kernel = model->kernel,
                       .from = model,
                       .likelihood = model->likelihood,
                       .levels = oat_model_answer_levels(model)};
  setup->strategy = oat_setup_strategy(setup);
  oat_rng_seed(&setup->rng, (uint64_t)settings->seed);
  TRY(rows_as(ctx, model, setup));
  TRY(put_in_order(ctx, setup));
  oat_rows_range(setup->rows, setup->scaling.lowest,
                 setup->scaling.highest); /* the range may be wider than that of the model's rows */
  TRY(start_at(ctx, model, setup));
done:
  return status;
}

oatgp_status oat_setup_shake(oatgp_context *ctx, oat_setup *setup, oat_point *start) {
  size_t found = setup->k;
  for (size_t i = 0; i < oat_theta_count(setup->kernel, setup->scaling.d); i++) {
    start->theta[i] = setup->start.theta[i] * (setup->free[i] ? exp(oat_rng_normal(&setup->rng)) : 1);
  }
  if (setup->approx->sparse) {
    memcpy(start->z, setup->start.z, setup->k * setup->scaling.d * sizeof *start->z);
    if (setup->knots == NULL) {
      return oat_start_draw(ctx, setup, start->z, &found);
    }
  }
  return OATGP_OK;
}

/* Relative to sigma^2. If the fit continues a model, the jitter that the model was raised to. */
static double starting_jitter(const oat_setup *setup, bool soft) {
  const oatgp_settings *settings = setup->settings;
  const bool automatic = isnan(settings->jitter);
  if (setup->from == NULL && !setup->approx->sparse) {
    return automatic ? oat_full_rounding(oat_rows_total(setup->rows)) : 0;
  }
  if (setup->from == NULL && settings->jitter_absolute > 0) {
    return 0;
  }
  return soft ? OAT_SOFT_FLOOR : automatic ? OAT_SOFT_SIGMA : settings->jitter;
}

oat_objective_config oat_setup_objective(const oat_setup *setup) {
  const oatgp_settings *settings = setup->settings;
  const bool soft = isnan(settings->jitter) && settings->jitter_absolute == 0 && oat_approx_plain_noise(setup->approx);
  return (oat_objective_config){
      .approx = setup->approx,
      .kernel = setup->kernel,
      .rows = setup->rows,
      .alpha = settings->alpha,
      .jitter = starting_jitter(setup, soft),
      .soft = soft,
      .neighbours = oat_setup_neighbours(setup),
      .k = setup->k,
      .block = (size_t)settings->block,
      .memory = oat_memory_for(settings, setup->approx->sparse),
      .any_memory = settings->memory == 0,
      .where = {settings->device, (int)settings->threads},
      .capacity = setup->capacity,
      .likelihood = setup->likelihood,
      .levels = setup->levels,
      .site_tol = SITE_TOL,
      .prior = setup->prior.count > 0 ? &setup->prior : NULL,
      .jitter_absolute = setup->approx->sparse ? settings->jitter_absolute / setup->y_scale / setup->y_scale : 0,
  };
}

oatgp_status oat_setup_check_moving(oatgp_context *ctx, const oat_setup *setup) {
  if (!setup->approx->sparse || oat_kernel_is_smooth(setup->kernel)) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_ARGUMENT,
                  "kernel %s is not differentiable where two points meet, so its knots cannot follow a gradient; use "
                  "--select=fixed or another kernel",
                  setup->kernel->name);
}

double oat_setup_objective_value(const oat_setup *setup, double scaled) {
  return scaled - (double)oat_rows_total(setup->rows) * log(setup->y_scale);
}

void oat_setup_clear(oat_setup *setup) {
  oat_model_recode_free(setup->recode, setup->scaling.d);
  oat_kernel_release(setup->from == NULL ? setup->kernel : NULL);
  oat_scaling_clear(&setup->scaling);
  oat_rows_free(setup->rows);
  oat_scratch_free(&setup->memory);
  *setup = (oat_setup){0};
}
