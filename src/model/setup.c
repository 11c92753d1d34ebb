/* From data and settings to a problem that can be optimised. */
#include "model/setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/number.h"
#include "knots/init.h"
#include "knots/strategy.h"
#include "model/rows.h"
#include "util/machine.h"
#include "util/memory.h"

/* ---- settings that are texts ------------------------------------------------------------------------------------- */

static bool is_number(const char *text, size_t length, double *value) {
  while (length > 0 && *text == ' ') {
    text++;
    length--;
  }
  while (length > 0 && text[length - 1] == ' ') {
    length--;
  }
  return oat_read_number(text, length, value) == OAT_NUMBER;
}

/* Calls visit for each part of a list separated by commas; stops at the first failure. */
static oatgp_status for_each(const char *list, oatgp_status (*visit)(void *self, const char *part, size_t length), void *self) {
  oatgp_status status = OATGP_OK;
  for (const char *part = list; status == OATGP_OK && *list != '\0';) {
    const size_t length = strcspn(part, ",");
    status = visit(self, part, length);
    if (part[length] == '\0') {
      break;
    }
    part += length + 1;
  }
  return status;
}

typedef struct list_reader {
  oatgp_context *ctx;
  oat_setup *setup;
  size_t count;
} list_reader;

static size_t lengthscale_count(const oat_setup *setup) { return oat_theta_count(setup->kernel, setup->scaling.d) - OAT_LENGTHSCALE; }

static oatgp_status read_lengthscale(void *self, const char *part, size_t length) {
  list_reader *reader = self;
  double value;
  if (!is_number(part, length, &value) || !(value > 0)) {
    return oat_fail(reader->ctx, OATGP_ARGUMENT, "lengthscale '%.*s' is not a positive number", (int)length, part);
  }
  if (reader->count < lengthscale_count(reader->setup)) {
    reader->setup->start.theta[OAT_LENGTHSCALE + reader->count] = value;
  }
  reader->count++;
  return OATGP_OK;
}

/* One value for all, or one for each. */
static oatgp_status read_lengthscales(oatgp_context *ctx, oat_setup *setup) {
  const size_t wanted = lengthscale_count(setup);
  list_reader reader = {ctx, setup, 0};
  double *lengthscale = setup->start.theta + OAT_LENGTHSCALE;
  const oatgp_status status = for_each(setup->settings->lengthscale, read_lengthscale, &reader);
  if (status != OATGP_OK) {
    return status;
  }
  if (reader.count > 1 && reader.count != wanted) {
    return oat_fail(ctx, OATGP_ARGUMENT, "%zu lengthscales were given, but kernel %s with %zu inputs has %zu: give that many, or one",
                    reader.count, setup->kernel->name, setup->scaling.d, wanted);
  }
  for (size_t j = 1; reader.count == 1 && j < wanted; j++) {
    lengthscale[j] = lengthscale[0];
  }
  return OATGP_OK;
}

static oatgp_status read_fixed(void *self, const char *part, size_t length) {
  static const char *const names[] = {[OAT_SIGMA] = "sigma", [OAT_TAU] = "tau", [OAT_SHAPE] = "shape", [OAT_LENGTHSCALE] = "lengthscale"};
  list_reader *reader = self;
  oat_setup *setup = reader->setup;
  while (length > 0 && *part == ' ') {
    part++;
    length--;
  }
  while (length > 0 && part[length - 1] == ' ') {
    length--;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i]) == length && strncmp(names[i], part, length) == 0) {
      const size_t end = i < OAT_LENGTHSCALE ? i + 1 : oat_theta_count(setup->kernel, setup->scaling.d);
      for (size_t j = i; j < end; j++) {
        setup->free[j] = false;
      }
      return OATGP_OK;
    }
  }
  return oat_fail(reader->ctx, OATGP_ARGUMENT, "fix: '%.*s' is none of sigma, tau, lengthscale, shape", (int)length, part);
}

static oatgp_status read_mean(oatgp_context *ctx, oat_setup *setup, double data_mean) {
  const char *text = setup->settings->mean;
  setup->mean = data_mean;
  if (strcmp(text, "mean") == 0) {
    setup->mean_kind = OAT_MEAN_DATA;
  } else if (strcmp(text, "fit") == 0) {
    setup->mean_kind = OAT_MEAN_FIT;
  } else if (strcmp(text, "linear") == 0) {
    setup->mean_kind = OAT_MEAN_LINEAR;
  } else if (is_number(text, strlen(text), &setup->mean)) {
    setup->mean_kind = OAT_MEAN_VALUE;
  } else {
    return oat_fail(ctx, OATGP_ARGUMENT, "mean '%s' is neither a number nor one of mean, fit, linear", text);
  }
  return OATGP_OK;
}

typedef struct knot_spec {
  oatgp_status (*place)(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, double *z, size_t *found);
  size_t k;
} knot_spec;

/* N, kmeans:N or random:N; the default depends on whether the knots are a start to grow from. */
static oatgp_status read_knot_spec(oatgp_context *ctx, const oat_setup *setup, knot_spec *spec) {
  const char *given = setup->settings->knots,
             *text = *given != '\0'           ? given
                     : setup->strategy->grows ? "kmeans:5"
                                              : "kmeans:50",
             *number = text;
  double value = 0;
  spec->place = oat_knots_kmeans;
  if (strncmp(text, "kmeans:", 7) == 0) {
    number = text + 7;
  } else if (strncmp(text, "random:", 7) == 0) {
    number = text + 7;
    spec->place = oat_knots_random;
  }
  if (!is_number(number, strlen(number), &value) || value < 1 || value > 1e6 || value != floor(value)) {
    return oat_fail(ctx, OATGP_ARGUMENT, "knots '%s' is neither a number of knots (1 to 1000000), kmeans:N, random:N nor a file", text);
  }
  spec->k = (size_t)value;
  const size_t most = (size_t)setup->settings->max_knots;
  if (*given == '\0' && setup->strategy->grows && most > 0 && most < spec->k) {
    spec->k = most;
  }
  return OATGP_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The spread of y about the prior mean; 1 if there is none. */
static double target_spread(const oatgp_data *data, double centre, double size) {
  double sum = 0;
  for (size_t i = 0; i < data->n; i++) {
    const double r = (data->y[i] - centre) / size;
    sum += r * r;
  }
  const double spread = sqrt(sum / (double)(data->n > 1 ? data->n - 1 : 1)) * size;
  return spread > 0 ? spread : 1;
}

static double power_of_two(double x) {
  int exponent;
  frexp(x, &exponent);
  return ldexp(1, exponent - 1);
}

/* Columns of the mean's basis: none; 1; or 1 and the inputs. */
static size_t basis_size(const oat_setup *setup) {
  return setup->mean_kind == OAT_MEAN_LINEAR ? 1 + setup->scaling.d : setup->mean_kind == OAT_MEAN_FIT ? 1 : 0;
}

static void fill_rows(oat_setup *setup) {
  const oatgp_data *data = setup->data;
  const oat_scaling *scaling = &setup->scaling;
  const oat_model_rows all = {setup->rows, setup->x, setup->r, setup->noise_scale, setup->noise_add};
  oat_scaling_apply(scaling, scaling->column, data, setup->x);
  oat_fill_targets(data, scaling, (oat_target){setup->mean, setup->y_scale}, &all);
}

static oatgp_status check_basis(oatgp_context *ctx, const oat_setup *setup) {
  const size_t n = setup->data->n, p = basis_size(setup);
  if (p >= n && p > 0) {
    return oat_fail(ctx, OATGP_DATA, "an estimated mean with %zu coefficients needs more than %zu rows, and there are %zu", p, p, n);
  }
  return OATGP_OK;
}

static oatgp_status make_rows(oatgp_context *ctx, oat_setup *setup) {
  const oatgp_data *data = setup->data;
  const size_t n = data->n, d = setup->scaling.d, p = basis_size(setup);
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, n, d, &setup->x));
  TRY(oat_new_matrix(ctx, n, 1 + p, &setup->r));
  if (data->weight != NULL) {
    TRY(oat_new_matrix(ctx, n, 1, &setup->noise_scale));
  }
  if (data->noise != NULL) {
    TRY(oat_new_matrix(ctx, n, 1, &setup->noise_add));
  }
  setup->rows = (oat_rows){n, d, p, setup->x, setup->r, setup->noise_scale, setup->noise_add};
  fill_rows(setup);
done:
  return status;
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static oatgp_status start_parameters(oatgp_context *ctx, oat_setup *setup, double spread) {
  const oatgp_settings *settings = setup->settings;
  const oat_scaling *scaling = &setup->scaling;
  const size_t d = scaling->d;
  double *theta = setup->start.theta, mean_spread = 0;
  for (size_t j = 0; j < d; j++) {
    mean_spread += scaling->spread[j] / (double)d;
  }
  theta[OAT_SIGMA] = settings->sigma > 0 ? settings->sigma / setup->y_scale : spread / setup->y_scale / sqrt(2);
  theta[OAT_TAU] = settings->tau > 0 ? settings->tau / setup->y_scale : spread / setup->y_scale / sqrt(2);
  theta[OAT_SHAPE] = settings->shape;
  for (size_t j = 0; j < lengthscale_count(setup); j++) {
    theta[OAT_LENGTHSCALE + j] = sqrt((double)d) * (setup->kernel->ard ? scaling->spread[j] : mean_spread);
  }
  return read_lengthscales(ctx, setup);
}

static void start_freedom(oat_setup *setup) {
  for (size_t i = 0; i < oat_theta_count(setup->kernel, setup->scaling.d); i++) {
    setup->free[i] = i != OAT_SHAPE || setup->kernel->has_shape;
  }
}

static void make_box(oat_setup *setup) {
  for (size_t j = 0; j < setup->scaling.d; j++) {
    const double low = setup->scaling.lowest[j], high = setup->scaling.highest[j];
    setup->low[j] = low - setup->settings->knot_margin * (high - low);
    setup->high[j] = high + setup->settings->knot_margin * (high - low);
  }
}

static oatgp_status draw_knots(oatgp_context *ctx, oat_setup *setup, double *z, size_t *found) {
  const size_t n = setup->data->n;
  knot_spec spec = {0};
  const oatgp_status status = read_knot_spec(ctx, setup, &spec);
  if (status != OATGP_OK) {
    return status;
  }
  const oat_knot_start start = {{setup->x, n, n}, setup->scaling.d, setup->k, setup->scaling.spread};
  return spec.place(ctx, &start, &setup->rng, z, found);
}

/* Moves the first `found` of k knots together. */
static void shrink_knots(double *z, size_t k, size_t found, size_t d) {
  for (size_t j = 1; j < d; j++) {
    memmove(z + j * found, z + j * k, found * sizeof *z);
  }
}

static oatgp_status drawn_knots(oatgp_context *ctx, oat_setup *setup) {
  knot_spec spec = {0};
  oatgp_status status = OATGP_OK;
  size_t found = 0;
  TRY(read_knot_spec(ctx, setup, &spec));
  setup->k = spec.k < setup->data->n ? spec.k : setup->data->n;
  TRY(oat_new_matrix(ctx, setup->k, setup->scaling.d, &setup->start.z));
  TRY(draw_knots(ctx, setup, setup->start.z, &found));
  shrink_knots(setup->start.z, setup->k, found, setup->scaling.d);
  if (found < spec.k) {
    oat_say(ctx, OATGP_NOTE, "%zu knots instead of %zu: there are no more different rows", found, spec.k);
  }
  setup->k = found;
done:
  return status;
}

static oatgp_status given_knots(oatgp_context *ctx, oat_setup *setup) {
  const oatgp_data *knots = setup->knots;
  const oat_scaling *scaling = &setup->scaling;
  if (knots->d != setup->data->d) {
    return oat_fail(ctx, OATGP_DATA, "the knots have %zu inputs and the data %zu", knots->d, setup->data->d);
  }
  setup->k = knots->n;
  const oatgp_status status = oat_new_matrix(ctx, setup->k, scaling->d, &setup->start.z);
  if (status != OATGP_OK) {
    return status;
  }
  if (!setup->settings->knots_scaled) {
    oat_scaling_apply(scaling, scaling->column, knots, setup->start.z);
    return OATGP_OK;
  }
  for (size_t j = 0; j < scaling->d; j++) {
    const oat_column x = oat_data_input(knots, scaling->column[j]);
    for (size_t i = 0; i < knots->n; i++) {
      setup->start.z[i + j * setup->k] = x.a[i * x.step];
    }
  }
  return OATGP_OK;
}

/* The box reaches as far as the given knots do. */
static void widen_box(oat_setup *setup) {
  for (size_t i = 0; i < setup->k * setup->scaling.d; i++) {
    const size_t j = i / setup->k;
    const double edge = 1e-3 * setup->scaling.spread[j];
    setup->low[j] = fmin(setup->low[j], setup->start.z[i] - edge);
    setup->high[j] = fmax(setup->high[j], setup->start.z[i] + edge);
  }
}

/* Puts the knots into an order that is good for the factor of Kuu; who gave them will see them in his own. */
static oatgp_status order_knots(oatgp_context *ctx, oat_setup *setup) {
  const size_t k = setup->k, d = setup->scaling.d;
  size_t *order = NULL;
  double *z = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, k, sizeof *order, &order));
  TRY(oat_new_matrix(ctx, k, d, &z));
  TRY(oat_knots_spread(ctx, setup->start.z, k, d, setup->scaling.spread, order));
  for (size_t i = 0; i < k * d; i++) {
    z[i] = setup->start.z[order[i % k] + i / k * k];
  }
  memcpy(setup->start.z, z, k * d * sizeof *z);
  if (setup->knots != NULL) {
    setup->order = order;
    order = NULL;
  }
done:
  free(order);
  free(z);
  return status;
}

static oatgp_status set_capacity(oatgp_context *ctx, oat_setup *setup) {
  const size_t given = (size_t)setup->settings->max_knots, most = given > 0 ? given : setup->strategy->most;
  const size_t rows = setup->data->n > setup->k ? setup->data->n : setup->k;
  setup->capacity = !setup->strategy->grows ? setup->k : most < rows ? most : rows;
  if (setup->k > setup->capacity) {
    return oat_fail(ctx, OATGP_ARGUMENT, "%zu knots to start from are more than the %zu of max-knots: raise max-knots or start from fewer",
                    setup->k, most);
  }
  return OATGP_OK;
}

/* Room for the parameters, what is free of them, and the box of the knots. */
static oatgp_status frame_start(oatgp_context *ctx, oat_setup *setup) {
  const size_t d = setup->scaling.d, count = oat_theta_count(setup->kernel, d);
  oatgp_status status = OATGP_OK;
  list_reader reader = {ctx, setup, 0};
  TRY(oat_new_matrix(ctx, count, 1, &setup->start.theta));
  TRY(oat_new(ctx, count, sizeof *setup->free, &setup->free));
  TRY(oat_new_matrix(ctx, d, 1, &setup->low));
  TRY(oat_new_matrix(ctx, d, 1, &setup->high));
  start_freedom(setup);
  TRY(for_each(setup->settings->fix, read_fixed, &reader));
  make_box(setup);
done:
  return status;
}

static oatgp_status make_start(oatgp_context *ctx, oat_setup *setup, double spread) {
  oatgp_status status = OATGP_OK;
  TRY(frame_start(ctx, setup));
  TRY(start_parameters(ctx, setup, spread));
  if (setup->approx->sparse) {
    TRY(setup->knots != NULL ? given_knots(ctx, setup) : drawn_knots(ctx, setup));
    TRY(set_capacity(ctx, setup));
    TRY(order_knots(ctx, setup));
    widen_box(setup);
  }
done:
  return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* The full GP has no knots to choose: whatever the strategy, its parameters are optimised. Where knots were given (by a model, too), nothing
 * is left to choose automatically: they are moved, if the kernel allows that. */
static const oat_strategy *choose_strategy(const oat_setup *setup) {
  const char *name = setup->settings->select;
  if (!setup->approx->sparse) {
    name = "fixed";
  } else if (strcmp(name, "auto") == 0 && (setup->knots != NULL || setup->from != NULL || *setup->settings->knots != '\0')) {
    name = setup->kernel->smooth ? "simultaneous" : "fixed";
  }
  return oat_strategy_find(name);
}

oatgp_status oat_setup_make(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                            oat_setup *setup) {
  oatgp_status status = OATGP_OK;
  oat_plain plain = {0};
  double mean, sd;
  *setup = (oat_setup){.data = data, .settings = settings, .knots = knots};
  setup->approx = oat_approx_find(settings->approx);
  setup->kernel = oat_kernel_find(settings->kernel);
  setup->strategy = choose_strategy(setup);
  oat_rng_seed(&setup->rng, (uint64_t)settings->seed);
  TRY(oat_plain_begin(ctx, &plain));
  TRY(oat_scaling_make(ctx, data, settings->scale != 0, &setup->scaling));
  oat_mean_sd(data->n, (oat_column){data->y, 1}, &mean, &sd);
  TRY(read_mean(ctx, setup, mean));
  const double spread = target_spread(data, setup->mean, power_of_two(fmax(sd, fabs(mean - setup->mean))));
  setup->y_scale = power_of_two(spread);
  TRY(check_basis(ctx, setup));
  TRY(make_rows(ctx, setup));
  TRY(make_start(ctx, setup, spread));
done:
  oat_plain_end(&plain);
  if (status != OATGP_OK) {
    oat_setup_clear(setup);
  }
  return status;
}

/* ---- from a model ------------------------------------------------------------------------------------------------ */

/* Rows with the model's scaling, mean and unit. */
static oatgp_status rows_as(oatgp_context *ctx, const oatgp_model *model, oat_setup *setup) {
  oatgp_status status = OATGP_OK;
  setup->mean_kind = model->p == 0 ? OAT_MEAN_VALUE : model->p == 1 ? OAT_MEAN_FIT : OAT_MEAN_LINEAR;
  setup->mean = model->number[OAT_NUMBER_MEAN];
  setup->y_scale = model->number[OAT_NUMBER_Y_SCALE];
  TRY(oat_model_allocate_scaling(ctx, &setup->scaling, model->d));
  oat_model_copy_scaling(&model->scaling, &setup->scaling);
  TRY(oat_model_match_inputs(ctx, model, setup->data, setup->scaling.column));
  TRY(check_basis(ctx, setup));
  TRY(make_rows(ctx, setup));
done:
  return status;
}

/* The ranges of the inputs, which the box of the knots is made of, may be wider than those of the model's rows. */
static void widen_ranges(oat_setup *setup) {
  oat_scaling *scaling = &setup->scaling;
  for (size_t i = 0; i < setup->rows.n * scaling->d; i++) {
    const size_t j = i / setup->rows.n;
    scaling->lowest[j] = fmin(scaling->lowest[j], setup->x[i]);
    scaling->highest[j] = fmax(scaling->highest[j], setup->x[i]);
  }
}

static oatgp_status start_at(oatgp_context *ctx, const oatgp_model *model, oat_setup *setup) {
  const size_t d = setup->scaling.d;
  oatgp_status status = OATGP_OK;
  TRY(frame_start(ctx, setup));
  memcpy(setup->start.theta, model->theta, oat_theta_count(setup->kernel, d) * sizeof *model->theta);
  if (setup->approx->sparse) {
    setup->k = setup->capacity = model->k;
    TRY(oat_new_matrix(ctx, model->k, d, &setup->start.z));
    memcpy(setup->start.z, model->z, model->k * d * sizeof *model->z);
    widen_box(setup);
  }
done:
  return status;
}

oatgp_status oat_setup_again(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_settings *settings,
                             oat_setup *setup) {
  oatgp_status status = OATGP_OK;
  *setup = (oat_setup){.data = data, .settings = settings, .approx = model->approx, .kernel = model->kernel, .from = model};
  setup->strategy = choose_strategy(setup);
  oat_rng_seed(&setup->rng, (uint64_t)settings->seed);
  TRY(rows_as(ctx, model, setup));
  widen_ranges(setup);
  TRY(start_at(ctx, model, setup));
done:
  if (status != OATGP_OK) {
    oat_setup_clear(setup);
  }
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
      return draw_knots(ctx, setup, start->z, &found);
    }
  }
  return OATGP_OK;
}

int64_t oat_memory_for(const oatgp_settings *settings, bool sparse) {
  const int64_t most = oat_machine_memory() / 2;
  return settings->memory > 0 ? settings->memory : sparse && most > OAT_CACHE ? OAT_CACHE : most;
}

oat_objective_config oat_setup_objective(const oat_setup *setup) {
  const oatgp_settings *settings = setup->settings;
  const double jitter = setup->approx->sparse ? settings->jitter : 0;
  return (oat_objective_config){
      .approx = setup->approx,
      .kernel = setup->kernel,
      .rows = &setup->rows,
      .alpha = settings->alpha,
      .jitter = settings->jitter_absolute > 0 ? 0 : jitter,
      .k = setup->k,
      .block = (size_t)settings->block,
      .memory = oat_memory_for(settings, setup->approx->sparse),
      .threads = (int)settings->threads,
      .capacity = setup->capacity,
      .jitter_absolute = setup->approx->sparse ? settings->jitter_absolute / setup->y_scale / setup->y_scale : 0,
  };
}

oatgp_status oat_setup_check_moving(oatgp_context *ctx, const oat_setup *setup) {
  if (!setup->approx->sparse || setup->kernel->smooth) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_ARGUMENT,
                  "kernel %s is not differentiable where two points meet, so its knots cannot be moved by their gradient: "
                  "use --select fixed, or another kernel",
                  setup->kernel->name);
}

double oat_setup_objective_value(const oat_setup *setup, double scaled) { return scaled - (double)setup->rows.n * log(setup->y_scale); }

void oat_setup_clear(oat_setup *setup) {
  oat_scaling_clear(&setup->scaling);
  double *const arrays[] = {setup->x,   setup->r,    setup->noise_scale, setup->noise_add,
                            setup->low, setup->high, setup->start.theta, setup->start.z};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
  free(setup->free);
  free(setup->order);
  *setup = (oat_setup){0};
}
