/* The start of a fit: parameters, which of them are free, knots and their box. */
#include "fit/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/season.h"
#include "text/number.h"
#include "text/shown.h"
#include "knots/init.h"
#include "knots/strategy.h"

static size_t theta_count(const oat_setup *setup) { return oat_theta_count(setup->kernel, setup->scaling.d); }

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
  if (!oat_is_number(number, strlen(number), &value) || value < 1 || value > 1e6 || value != floor(value)) {
    return oat_fail(ctx, OATGP_ARGUMENT,
                    "knots is '%s' but must be a number of knots (1 to 1000000), kmeans:N, random:N or a file", text);
  }
  spec->k = (size_t)value;
  const size_t most = (size_t)setup->settings->max_knots;
  if (*given == '\0' && setup->strategy->grows && most > 0 && most < spec->k) {
    spec->k = most;
  }
  return OATGP_OK;
}

/* A typical k(x, x) of a leaf at a row: 1, except for linear leaves, where it grows with the inputs. */
static double leaf_size(const oat_setup *setup, const oat_leaf *leaf) {
  const oat_scaling *scaling = &setup->scaling;
  double square = 0;
  for (size_t i = 0; i < leaf->inputs; i++) {
    const double size = hypot(scaling->middle[leaf->input[i]], scaling->spread[leaf->input[i]]);
    square += size * size;
  }
  if (leaf->kind == OAT_LEAF_polynomial) {
    return pow(setup->start.theta[OAT_LENGTHSCALE + leaf->parameter] + square, leaf->degree);
  }
  return leaf->kind == OAT_LEAF_linear ? square : 1;
}

/* The same for a node without its sigmas. The terms of a sum count as 1, because `temper` gives them that size. */
static double node_size(const oat_setup *setup, size_t at) {
  const oat_node *node = &setup->kernel->expression->node[at];
  switch (node->kind) {
    case OAT_NODE_LEAF:
      return leaf_size(setup, &setup->kernel->expression->leaf[node->leaf]);
    case OAT_NODE_PRODUCT:
      return node_size(setup, node->left) * node_size(setup, node->right);
    case OAT_NODE_POWER:
      return pow(node_size(setup, node->left), node->power);
    default:
      return 1;
  }
}

/* Divides the starting sigmas by the sizes of their terms, so that all terms start equally large whatever the inputs
 * are. `beside` is the size of the other factors of the product that has the node. */
static void temper(oat_setup *setup, size_t at, double beside) {
  const oat_node *node = &setup->kernel->expression->node[at];
  const bool product = node->kind == OAT_NODE_PRODUCT;
  if (node->sigma != OAT_NO_PLACE) {
    const double size = sqrt(node_size(setup, at) * beside);
    setup->start.theta[OAT_LENGTHSCALE + node->sigma] /= isfinite(size) && size > 0 ? size : 1;
  } else if (node->kind != OAT_NODE_LEAF) {
    temper(setup, node->left, product ? beside * node_size(setup, node->right) : beside);
    if (node->kind != OAT_NODE_POWER) {
      temper(setup, node->right, product ? beside * node_size(setup, node->left) : beside);
    }
  }
}

/* A parameter starts at the setting with its name, if that is given; lengthscales are a list of numbers. */
static oatgp_status start_parameters(oatgp_context *ctx, oat_setup *setup, double spread) {
  const oat_units units = {spread / setup->y_scale, setup->scaling.d, setup->scaling.spread};
  for (size_t i = 0; i < theta_count(setup); i++) {
    const oat_parameter parameter = oat_parameter_at(setup->kernel, i);
    const bool own = parameter.used || setup->kernel->expression == NULL;
    const double given = own ? oat_setting_real(setup->settings, parameter.name) : 0;
    const double unit = parameter.unit == OAT_UNIT_TARGET ? setup->y_scale : 1;
    setup->start.theta[i] = given > 0 ? given / unit : oat_parameter_start(setup->kernel, i, &units);
  }
  if (setup->kernel->expression != NULL) {
    temper(setup, setup->kernel->expression->nodes - 1, 1);
  }
  PASS_ON(oat_season_start(ctx, setup));
  PASS_ON(oat_given_parameters(ctx, setup));
  return setup->kernel->expression == NULL ? oat_given_lengthscales(ctx, setup) : OATGP_OK;
}

static void make_box(oat_setup *setup) {
  for (size_t j = 0; j < setup->scaling.d; j++) {
    const double low = setup->scaling.lowest[j], high = setup->scaling.highest[j];
    setup->low[j] = low - setup->settings->knot_margin * (high - low);
    setup->high[j] = high + setup->settings->knot_margin * (high - low);
  }
}

oatgp_status oat_start_draw(oatgp_context *ctx, oat_setup *setup, double *z, size_t *found) {
  knot_spec spec = {0};
  const oatgp_status status = read_knot_spec(ctx, setup, &spec);
  if (status != OATGP_OK) {
    return status;
  }
  const oat_where where = {setup->settings->device, (int)setup->settings->threads};
  const oat_knot_start start = {setup->rows, setup->k, setup->scaling.spread, setup->scaling.category, where};
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
  oatgp_status status;
  size_t found = 0;
  TRY(read_knot_spec(ctx, setup, &spec));
  setup->k = spec.k < setup->data->n ? spec.k : setup->data->n;
  setup->start.z = oat_take_doubles(&setup->memory, setup->k, setup->scaling.d);
  TRY(setup->memory.status);
  TRY(oat_start_draw(ctx, setup, setup->start.z, &found));
  shrink_knots(setup->start.z, setup->k, found, setup->scaling.d);
  if (found < spec.k && !setup->strategy->automatic) { /* that chooses their number */
    oat_say(ctx, OATGP_NOTE, "%zu knots instead of %zu: there are no more distinct rows", found, spec.k);
  }
  setup->k = found;
done:
  return status;
}

/* The levels of the knots are those of the data, with the same codes. */
static oatgp_status check_levels(oatgp_context *ctx, const oat_setup *setup) {
  for (size_t j = 0; j < setup->data->d; j++) {
    const oat_levels *has = oat_data_levels(setup->knots, j), *known = oat_data_levels(setup->data, j);
    REFUSE_IF(has == NULL && known != NULL, ctx, OATGP_DATA,
              "input '%s' is a category, but the knots hold numbers for it", setup->data->names[j]);
    for (size_t i = 0; has != NULL && i < has->count; i++) {
      const size_t code = known != NULL ? oat_levels_find(known, has->name[i], strlen(has->name[i])) : OAT_NO_LEVEL;
      REFUSE_IF(code != i, ctx, OATGP_DATA,
                "level '%s' of input '%s' has one code in the knots, and another or none in the data",
                oat_show_text(has->name[i]).text, setup->data->names[j]);
    }
  }
  return OATGP_OK;
}

static oatgp_status take_knots(oatgp_context *ctx, oat_setup *setup, const oatgp_data *knots) {
  const oat_scaling *scaling = &setup->scaling;
  if (knots->d != setup->data->d) {
    return oat_fail(ctx, OATGP_DATA, "the knots have %zu inputs and the data %zu", knots->d, setup->data->d);
  }
  setup->k = knots->n;
  setup->start.z = oat_take_doubles(&setup->memory, setup->k, scaling->d);
  if (setup->start.z == NULL) {
    return setup->memory.status;
  }
  PASS_ON(check_levels(ctx, setup));
  if (!setup->settings->knots_scaled) {
    const oat_data_part all = oat_data_part_of(knots, (oat_span){0, knots->n}, NULL);
    oat_scaling_apply(scaling, scaling->column, NULL, &all, setup->start.z, knots->n);
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

/* They may come from a file that is larger than --memory. */
static oatgp_status given_knots(oatgp_context *ctx, oat_setup *setup) {
  const oatgp_data *knots = setup->knots;
  oatgp_data *copy = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_data_is_streamed(knots) ? oat_data_copy_rows(ctx, knots, (oat_span){0, knots->n}, &copy) : OATGP_OK);
  TRY(take_knots(ctx, setup, copy != NULL ? copy : knots));
done:
  oatgp_data_free(copy);
  return status;
}

/* Widens the box to contain the given knots. */
void oat_start_widen(oat_setup *setup) {
  for (size_t i = 0; i < setup->k * setup->scaling.d; i++) {
    const size_t j = i / setup->k;
    const double edge = 1e-3 * setup->scaling.spread[j];
    setup->low[j] = fmin(setup->low[j], setup->start.z[i] - edge);
    setup->high[j] = fmax(setup->high[j], setup->start.z[i] + edge);
  }
}

/* Puts the knots into an order that is good for the factor of Kuu. The user still sees given knots in their own
 * order. */
static oatgp_status order_knots(oatgp_context *ctx, oat_setup *setup) {
  const size_t k = setup->k, d = setup->scaling.d;
  size_t *order = oat_take(&setup->memory, k, sizeof *order);
  double *z = NULL;
  oatgp_status status;
  TRY(setup->memory.status);
  TRY(oat_new_matrix(ctx, k, d, &z));
  TRY(oat_knots_spread(ctx, setup->start.z, k, d, setup->scaling.spread, order));
  for (size_t i = 0; i < k * d; i++) {
    z[i] = setup->start.z[order[i % k] + i / k * k];
  }
  memcpy(setup->start.z, z, k * d * sizeof *z);
  setup->order = setup->knots != NULL ? order : NULL;
done:
  free(z);
  return status;
}

static oatgp_status set_capacity(oatgp_context *ctx, oat_setup *setup) {
  const size_t given = (size_t)setup->settings->max_knots, most = given > 0 ? given : setup->strategy->most;
  const size_t rows = setup->data->n > setup->k ? setup->data->n : setup->k;
  setup->capacity = !setup->strategy->grows ? setup->k : most < rows ? most : rows;
  if (setup->k > setup->capacity) {
    return oat_fail(ctx, OATGP_ARGUMENT,
                    "%zu starting knots are more than the limit of %zu; raise --max-knots or start from fewer",
                    setup->k, most);
  }
  return OATGP_OK;
}

/* Room for the parameters, the flags of the free ones, and the box of the knots. */
oatgp_status oat_start_frame(oatgp_context *ctx, oat_setup *setup) {
  const size_t d = setup->scaling.d, count = theta_count(setup);
  oatgp_status status;
  setup->start.theta = oat_take_doubles(&setup->memory, count, 1);
  setup->free = oat_take(&setup->memory, count, sizeof *setup->free);
  setup->least = oat_take_doubles(&setup->memory, count, 1);
  setup->most = oat_take_doubles(&setup->memory, count, 1);
  setup->low = oat_take_doubles(&setup->memory, d, 1);
  setup->high = oat_take_doubles(&setup->memory, d, 1);
  TRY(setup->memory.status);
  TRY(oat_given_freedom(ctx, setup));
  TRY(oat_given_ranges(ctx, setup));
  make_box(setup);
done:
  return status;
}

oatgp_status oat_start_make(oatgp_context *ctx, oat_setup *setup, double spread) {
  oatgp_status status = OATGP_OK;
  TRY(oat_start_frame(ctx, setup));
  TRY(oat_given_priors(ctx, setup, setup->settings->prior, spread));
  TRY(start_parameters(ctx, setup, spread));
  if (setup->approx->sparse) {
    TRY(setup->knots != NULL ? given_knots(ctx, setup) : drawn_knots(ctx, setup));
    TRY(set_capacity(ctx, setup));
    TRY(order_knots(ctx, setup));
    oat_start_widen(setup);
  }
done:
  return status;
}
