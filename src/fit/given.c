/* Reads the parameters from the settings: lengthscales, the parameters of an expression, which ones are fixed, and the
 * ranges of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/setup.h"
#include "text/number.h"

void oat_list_trim(const char **text, size_t *length) {
  while (*length > 0 && **text == ' ') {
    ++*text;
    --*length;
  }
  while (*length > 0 && (*text)[*length - 1] == ' ') {
    --*length;
  }
}

bool oat_is_number(const char *text, size_t length, double *value) {
  oat_list_trim(&text, &length);
  return oat_read_number(text, length, value) == OAT_NUMBER;
}

size_t oat_list_span(const char *text, size_t length, char stop) {
  size_t depth = 0, i = 0;
  bool quoted = false;
  for (; i < length && (quoted || depth > 0 || text[i] != stop); i++) {
    quoted = quoted != (text[i] == '"');
    depth += !quoted && text[i] == '(';
    depth -= !quoted && depth > 0 && text[i] == ')';
  }
  return i;
}

bool oat_list_next(const char *list, const char **part, size_t *length) {
  if (*part == NULL ? *list == '\0' : (*part)[*length] == '\0') {
    return false;
  }
  *part = *part == NULL ? list : *part + *length + 1;
  *length = oat_list_span(*part, strlen(*part), ',');
  return true;
}

static size_t theta_count(const oat_setup *setup) { return oat_theta_count(setup->kernel, setup->scaling.d); }

/* One value for all, or one for each. */
oatgp_status oat_given_lengthscales(oatgp_context *ctx, oat_setup *setup) {
  const size_t wanted = oat_covariance_count(setup->kernel, setup->scaling.d) - OAT_LENGTHSCALE;
  double value, *lengthscale = setup->start.theta + OAT_LENGTHSCALE;
  const char *part = NULL;
  size_t length, count = 0;
  while (oat_list_next(setup->settings->lengthscale, &part, &length)) {
    if (!oat_is_number(part, length, &value) || !(value > 0)) {
      return oat_fail(ctx, OATGP_ARGUMENT, "lengthscale '%.*s' is not a positive number", (int)length, part);
    }
    if (count < wanted) {
      lengthscale[count] = value;
    }
    count++;
  }
  if (count > 1 && count != wanted) {
    return oat_fail(ctx, OATGP_ARGUMENT,
                    "%zu lengthscales were given, but kernel %s with %zu inputs has %zu; give that many, or one", count,
                    setup->kernel->name, setup->scaling.d, wanted);
  }
  for (size_t j = 1; count == 1 && j < wanted; j++) {
    lengthscale[j] = lengthscale[0];
  }
  return OATGP_OK;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

enum { LONGEST_LIST = 480 };

/* The names of the parameters that the kernel has, each once, with commas between them, as far as there is room. */
static void list_names(const oat_setup *setup, char *text) {
  const char *last = "";
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < theta_count(setup); i++) {
    const oat_parameter parameter = oat_parameter_at(setup->kernel, i);
    const bool own = setup->kernel->expression == NULL || parameter.used;
    if (own && strcmp(parameter.name, last) != 0 && used + strlen(parameter.name) + sizeof ", ..." < LONGEST_LIST) {
      used += (size_t)snprintf(text + used, LONGEST_LIST - used, "%s%s", used > 0 ? ", " : "", parameter.name);
      last = parameter.name;
    } else if (own && strcmp(parameter.name, last) != 0) {
      snprintf(text + used, LONGEST_LIST - used, ", ...");
      return;
    }
  }
}

static oatgp_status none_of(oatgp_context *ctx, const oat_setup *setup, const char *setting, const char *part,
                            size_t length) {
  char names[LONGEST_LIST];
  list_names(setup, names);
  return oat_fail(ctx, OATGP_ARGUMENT, "%s: '%.*s' is not one of %s", setting, (int)length, part, names);
}

/* The place in theta of a parameter of an expression, tau among them, or OAT_NO_PLACE. */
static oatgp_status find_place(oatgp_context *ctx, const oat_setup *setup, const char *part, size_t length,
                               size_t *place) {
  char *name = NULL;
  PASS_ON(oat_new(ctx, length + 1, 1, &name));
  memcpy(name, part, length);
  const size_t found = oat_expression_find(setup->kernel->expression, name);
  *place = strcmp(name, "tau") == 0 ? (size_t)OAT_TAU : found != OAT_NO_PLACE ? OAT_LENGTHSCALE + found : OAT_NO_PLACE;
  free(name);
  return OATGP_OK;
}

/* ---- parameters of an expression ------------------------------------------------------------------------------- */

/* Sets one, which is given in the data's units. */
static oatgp_status set_parameter(oatgp_context *ctx, oat_setup *setup, size_t place, const char *text, size_t length) {
  const oat_units units = {setup->y_scale, setup->scaling.d, setup->scaling.scale};
  const oat_parameter parameter = oat_parameter_at(setup->kernel, place);
  double value = 0;
  REFUSE_IF(!oat_is_number(text, length, &value) || !(value > 0), ctx, OATGP_ARGUMENT,
            "parameters: '%.*s' for %s is not a positive number", (int)length, text, parameter.name);
  setup->start.theta[place] = value / oat_parameter_unit(&parameter, &units);
  return OATGP_OK;
}

/* NAME=P */
static oatgp_status set_named(oatgp_context *ctx, oat_setup *setup, const char *part, size_t length, size_t equals) {
  const char *name = part;
  size_t place = OAT_NO_PLACE, of_name = equals;
  oat_list_trim(&name, &of_name);
  PASS_ON(find_place(ctx, setup, name, of_name, &place));
  if (place == OAT_NO_PLACE) {
    return none_of(ctx, setup, "parameters", name, of_name);
  }
  return set_parameter(ctx, setup, place, part + equals + 1, length - equals - 1);
}

oatgp_status oat_given_parameters(oatgp_context *ctx, oat_setup *setup) {
  const oat_expression *expression = setup->kernel->expression;
  const char *part = NULL, *list = setup->settings->parameters;
  size_t length, count = 0;
  REFUSE_IF(expression == NULL && *list != '\0', ctx, OATGP_ARGUMENT,
            "parameters are for kernel expressions; kernel %s has the settings sigma, lengthscale, tau and shape",
            setup->kernel->name);
  while (expression != NULL && oat_list_next(list, &part, &length)) {
    const size_t equals = oat_list_span(part, length, '=');
    if (equals < length) {
      PASS_ON(set_named(ctx, setup, part, length, equals));
    } else if (count < expression->parameters) {
      PASS_ON(set_parameter(ctx, setup, OAT_LENGTHSCALE + count, part, length));
    }
    count += equals == length;
  }
  char names[LONGEST_LIST];
  list_names(setup, names);
  REFUSE_IF(count > 0 && count != expression->parameters, ctx, OATGP_ARGUMENT,
            "parameters: %zu values were given, but the kernel has %zu parameters: %s", count, expression->parameters,
            strncmp(names, "tau, ", 5) == 0 ? names + 5 : names);
  return OATGP_OK;
}

/* ---- parameters that stay -------------------------------------------------------------------------------------- */

static bool is_word(const char *word, const char *part, size_t length) {
  return strlen(word) == length && strncmp(word, part, length) == 0;
}

/* A name of a kind, such as sigma, stands for all parameters of that kind. */
static bool is_of_kind(const oat_kernel *kernel, size_t place, const char *part, size_t length) {
  const oat_parameter parameter = oat_parameter_at(kernel, place);
  const bool of_expression = kernel->expression != NULL && place >= OAT_LENGTHSCALE &&
                             place < OAT_LENGTHSCALE + kernel->expression->parameters;
  if (!of_expression) {
    return (parameter.used || kernel->expression == NULL) && is_word(parameter.name, part, length);
  }
  return is_word(oat_quantity_name(kernel->expression->parameter[place - OAT_LENGTHSCALE].quantity), part, length);
}

oatgp_status oat_given_each(oatgp_context *ctx, oat_setup *setup, const char *setting, const char *part, size_t length,
                            oat_act act, const void *with) {
  bool found = false;
  size_t place = OAT_NO_PLACE;
  oat_list_trim(&part, &length);
  if (setup->kernel->expression != NULL) {
    PASS_ON(find_place(ctx, setup, part, length, &place));
  }
  for (size_t i = 0; i < theta_count(setup); i++) {
    if (i == place || is_of_kind(setup->kernel, i, part, length)) {
      PASS_ON(act(setup, i, with));
      found = true;
    }
  }
  return found ? OATGP_OK : none_of(ctx, setup, setting, part, length);
}

static oatgp_status fix(oat_setup *setup, size_t place, const void *with) {
  (void)with;
  setup->free[place] = false;
  return OATGP_OK;
}

oatgp_status oat_given_freedom(oatgp_context *ctx, oat_setup *setup) {
  const char *part = NULL;
  size_t length;
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < theta_count(setup); i++) {
    setup->free[i] = oat_parameter_at(setup->kernel, i).used;
  }
  while (status == OATGP_OK && oat_list_next(setup->settings->fix, &part, &length)) {
    status = oat_given_each(ctx, setup, "fix", part, length, fix, NULL);
  }
  return status;
}

/* ---- parameters in a range ------------------------------------------------------------------------------------- */

/* In the units in which the parameter is set: those of the data, but lengthscales of kernels by name are scaled. */
double oat_given_unit(const oat_setup *setup, size_t place) {
  const oat_units units = {setup->y_scale, setup->scaling.d, setup->scaling.scale};
  const oat_parameter parameter = oat_parameter_at(setup->kernel, place);
  const bool scaled = setup->kernel->expression == NULL && parameter.unit == OAT_UNIT_INPUT;
  return scaled ? 1 : oat_parameter_unit(&parameter, &units);
}

static oatgp_status keep_between(oat_setup *setup, size_t place, const void *with) {
  const double *limits = with, unit = oat_given_unit(setup, place);
  setup->least[place] = limits[0] / unit;
  setup->most[place] = limits[1] / unit;
  return OATGP_OK;
}

/* NAME=A:B */
static oatgp_status set_range(oatgp_context *ctx, oat_setup *setup, const char *part, size_t length) {
  const size_t equals = oat_list_span(part, length, '='), rest = equals < length ? length - equals - 1 : 0;
  const char *from = part + length - rest;
  const size_t colon = oat_list_span(from, rest, ':');
  double limits[2] = {0, 0};
  REFUSE_IF(colon >= rest || !oat_is_number(from, colon, &limits[0]) ||
                !oat_is_number(from + colon + 1, rest - colon - 1, &limits[1]) || !(limits[0] > 0) ||
                !(limits[0] < limits[1]),
            ctx, OATGP_ARGUMENT, "range: '%.*s' is not NAME=A:B with two positive numbers, the smaller first",
            (int)length, part);
  return oat_given_each(ctx, setup, "range", part, equals, keep_between, limits);
}

/* The largest sigma where f goes through a link. The expected count of a row that no knot is near grows as exp(sigma^2
 * / 2), and log odds of 30 are certainty. */
static double most_of_sigma(const oat_setup *setup, size_t place) {
  const oat_likelihood *likelihood = setup->likelihood;
  if (!oat_likelihood_is_linked(likelihood) || !oat_parameter_is_sigma(setup->kernel, place)) {
    return HUGE_VAL;
  }
  return likelihood->takes_exposure ? 10 : 30;
}

oatgp_status oat_given_ranges(oatgp_context *ctx, oat_setup *setup) {
  const char *part = NULL;
  size_t length;
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < theta_count(setup); i++) {
    setup->least[i] = 0;
    setup->most[i] = most_of_sigma(setup, i);
  }
  while (status == OATGP_OK && oat_list_next(setup->settings->range, &part, &length)) {
    status = set_range(ctx, setup, part, length);
  }
  return status;
}
