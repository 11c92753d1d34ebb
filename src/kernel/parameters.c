/* The table of parameters, see parameters.h. */
#include "kernel/parameters.h"

#include <math.h>

#include "kernel/kernel.h"

static const oat_parameter kinds[] = {
    [OAT_SIGMA] = {"sigma", OAT_UNIT_TARGET, OAT_ALL_INPUTS, 1e-5, 1e5, true},
    [OAT_TAU] = {"tau", OAT_UNIT_TARGET, OAT_ALL_INPUTS, 1e-5, 1e5, true},
    [OAT_SHAPE] = {"shape", OAT_UNIT_NONE, OAT_ALL_INPUTS, 1e-3, 1e5, true},
    [OAT_LENGTHSCALE] = {"lengthscale", OAT_UNIT_INPUT, OAT_ALL_INPUTS, 1e-3, 1e5, true},
};

size_t oat_theta_count(const oat_kernel *kernel, size_t d) {
  return oat_covariance_count(kernel, d) + kernel->further.count;
}

size_t oat_covariance_count(const oat_kernel *kernel, size_t d) {
  return OAT_LENGTHSCALE + (kernel->expression != NULL ? kernel->expression->parameters : kernel->ard ? d : 1);
}

/* The parameter of an expression, which has its own sigmas and shapes. */
static oat_parameter own_parameter(const oat_expression *expression, size_t place) {
  if (place >= OAT_LENGTHSCALE) {
    return expression->parameter[place - OAT_LENGTHSCALE].is;
  }
  oat_parameter parameter = kinds[place];
  parameter.used = place == OAT_TAU;
  parameter.unit = parameter.used ? parameter.unit : OAT_UNIT_NONE;
  return parameter;
}

/* Whether it is not a parameter of the covariance. */
static bool is_further(const oat_kernel *kernel, size_t place) {
  return kernel->further.count > 0 && place >= kernel->further.first;
}

/* The parameter of a named kernel. */
static oat_parameter listed_parameter(const oat_kernel *kernel, size_t place) {
  oat_parameter parameter = kinds[place < OAT_LENGTHSCALE ? place : OAT_LENGTHSCALE];
  parameter.used = place != OAT_SHAPE || kernel->profile->has_shape;
  parameter.input = place >= OAT_LENGTHSCALE && kernel->ard ? place - OAT_LENGTHSCALE : OAT_ALL_INPUTS;
  return parameter;
}

oat_parameter oat_parameter_at(const oat_kernel *kernel, size_t place) {
  if (is_further(kernel, place)) {
    return kernel->further.is[place - kernel->further.first];
  }
  oat_parameter parameter =
      kernel->expression != NULL ? own_parameter(kernel->expression, place) : listed_parameter(kernel, place);
  parameter.used = parameter.used && !(place == OAT_TAU && kernel->further.answers);
  return parameter;
}

static bool is_own(const oat_kernel *kernel, size_t place, oat_quantity quantity) {
  return kernel->expression != NULL && place >= OAT_LENGTHSCALE && !is_further(kernel, place) &&
         kernel->expression->parameter[place - OAT_LENGTHSCALE].quantity == quantity;
}

bool oat_parameter_is_sigma(const oat_kernel *kernel, size_t place) {
  return kernel->expression != NULL ? is_own(kernel, place, OAT_IS_SIGMA) : place == OAT_SIGMA;
}

bool oat_parameter_is_period(const oat_kernel *kernel, size_t place) { return is_own(kernel, place, OAT_IS_PERIOD); }

static double mean_spread(const oat_units *units) {
  double sum = 0;
  for (size_t j = 0; j < units->d; j++) {
    sum += units->input[j] / (double)units->d;
  }
  return sum;
}

double oat_parameter_unit(const oat_parameter *parameter, const oat_units *units) {
  if (parameter->unit != OAT_UNIT_INPUT) {
    return parameter->unit == OAT_UNIT_TARGET ? units->target : 1;
  }
  return parameter->input == OAT_ALL_INPUTS ? mean_spread(units) : units->input[parameter->input];
}

double oat_parameter_start(const oat_kernel *kernel, size_t place, const oat_units *units) {
  const oat_parameter parameter = oat_parameter_at(kernel, place);
  const double unit = oat_parameter_unit(&parameter, units);
  if (is_further(kernel, place)) {
    return kernel->further.start[place - kernel->further.first] * unit;
  }
  if (place == OAT_TAU && !parameter.used) {
    return 1;
  }
  if (kernel->expression != NULL && place >= OAT_LENGTHSCALE) {
    return kernel->expression->parameter[place - OAT_LENGTHSCALE].start * unit;
  }
  if (parameter.unit != OAT_UNIT_INPUT) {
    return parameter.unit == OAT_UNIT_TARGET ? unit / sqrt(2) : 1;
  }
  return sqrt((double)units->d) * unit;
}

oat_theta_fields oat_theta_named(const oat_kernel *kernel, size_t d, const double *theta, double unit) {
  if (kernel->expression != NULL) {
    return (oat_theta_fields){NAN, theta[OAT_TAU] * unit, NAN, 0, theta + OAT_LENGTHSCALE};
  }
  return (oat_theta_fields){theta[OAT_SIGMA] * unit, theta[OAT_TAU] * unit, theta[OAT_SHAPE],
                            oat_covariance_count(kernel, d) - OAT_LENGTHSCALE, theta + OAT_LENGTHSCALE};
}
