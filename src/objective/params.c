/* Converts a point to the optimiser's vector and back. */
#include "objective/params.h"

#include <math.h>

#define LOGIT_LIMIT 30.0
#define PARAMETER_SIGN_WEIGHT 0.5
#define KNOT_SIGN_WEIGHT 1.0

static size_t theta_count(const oat_mapping *mapping) { return oat_theta_count(mapping->kernel, mapping->d); }

static size_t free_count(const oat_mapping *mapping) {
  size_t count = 0;
  for (size_t i = 0; i < theta_count(mapping); i++) {
    count += mapping->free[i];
  }
  return count;
}

static size_t moving_count(const oat_mapping *mapping) { return (mapping->k - mapping->first) * mapping->d; }

size_t oat_mapping_count(const oat_mapping *mapping) { return free_count(mapping) + moving_count(mapping); }

/* Where the free knots' coordinate number i (input by input) is in an array of all knots, and which input it is of. */
static size_t place_of(const oat_mapping *mapping, size_t i) {
  const size_t moving = mapping->k - mapping->first;
  return mapping->first + i % moving + i / moving * mapping->k;
}

static size_t input_of(const oat_mapping *mapping, size_t i) { return i / (mapping->k - mapping->first); }

/* Converts coordinate j of a knot to the vector and back, with the derivative of the way back. */
static double knot_in(const oat_mapping *mapping, size_t j, double z) {
  if (mapping->box == OAT_BOX_LOGIT) {
    const double t = log((z - mapping->low[j]) / (mapping->high[j] - z));
    return fmin(fmax(t, -LOGIT_LIMIT), LOGIT_LIMIT);
  }
  return z / mapping->spread[j];
}

static double knot_out(const oat_mapping *mapping, size_t j, double x) {
  if (mapping->box == OAT_BOX_LOGIT) {
    return mapping->low[j] + (mapping->high[j] - mapping->low[j]) / (1 + exp(-x));
  }
  return x * mapping->spread[j];
}

static double knot_slope(const oat_mapping *mapping, size_t j, double x) {
  if (mapping->box == OAT_BOX_LOGIT) {
    const double share = 1 / (1 + exp(-x));
    return (mapping->high[j] - mapping->low[j]) * share * (1 - share);
  }
  return mapping->spread[j];
}

/* The given limits of a parameter. */
static double least_of(const oat_mapping *mapping, size_t i) { return mapping->least != NULL ? mapping->least[i] : 0; }
static double most_of(const oat_mapping *mapping, size_t i) {
  return mapping->most != NULL ? mapping->most[i] : HUGE_VAL;
}

void oat_mapping_pack(const oat_mapping *mapping, const oat_point *point, double *x) {
  for (size_t i = 0; i < theta_count(mapping); i++) {
    if (mapping->free[i]) {
      *x++ = log(fmin(fmax(point->theta[i], least_of(mapping, i)), most_of(mapping, i)));
    }
  }
  for (size_t i = 0; i < moving_count(mapping); i++) {
    *x++ = knot_in(mapping, input_of(mapping, i), point->z[place_of(mapping, i)]);
  }
}

void oat_mapping_unpack(const oat_mapping *mapping, const double *x, oat_point *point) {
  for (size_t i = 0; i < theta_count(mapping); i++) {
    if (mapping->free[i]) {
      point->theta[i] = exp(*x++);
    }
  }
  for (size_t i = 0; i < moving_count(mapping); i++) {
    point->z[place_of(mapping, i)] = knot_out(mapping, input_of(mapping, i), *x++);
  }
}

void oat_mapping_gradient(const oat_mapping *mapping, const double *x, const oat_gradient *gradient, double *g) {
  for (size_t i = 0; i < theta_count(mapping); i++) {
    if (mapping->free[i]) {
      *g++ = gradient->theta[i];
      x++;
    }
  }
  for (size_t i = 0; i < moving_count(mapping); i++) {
    *g++ = gradient->z[place_of(mapping, i)] * knot_slope(mapping, input_of(mapping, i), *x++);
  }
}

void oat_mapping_bounds(const oat_mapping *mapping, const double *x, double *lower, double *upper,
                        double *sign_weight) {
  const oat_units units = {1, mapping->d, mapping->spread};
  size_t at = 0;
  for (size_t i = 0; i < theta_count(mapping); i++) {
    if (mapping->free[i]) {
      const oat_parameter parameter = oat_parameter_at(mapping->kernel, i);
      const double unit = oat_parameter_unit(&parameter, &units);
      const double least = least_of(mapping, i), most = most_of(mapping, i);
      lower[at] = fmin(log(least > 0 ? least : unit * parameter.low), x[at]);
      upper[at] = fmax(log(most < HUGE_VAL ? most : unit * parameter.high), x[at]);
      sign_weight[at++] = PARAMETER_SIGN_WEIGHT;
    }
  }
  for (size_t i = 0; i < moving_count(mapping); i++, at++) {
    const size_t j = input_of(mapping, i);
    const bool bound = mapping->box == OAT_BOX_BOUND, logit = mapping->box == OAT_BOX_LOGIT;
    lower[at] = bound ? fmin(mapping->low[j] / mapping->spread[j], x[at]) : logit ? -LOGIT_LIMIT : -HUGE_VAL;
    upper[at] = bound ? fmax(mapping->high[j] / mapping->spread[j], x[at]) : logit ? LOGIT_LIMIT : HUGE_VAL;
    sign_weight[at] = KNOT_SIGN_WEIGHT;
  }
}
