/* Targets that are not Gaussian: checks that the data have them, and adds the parameters of their likelihood. */
#include <math.h>

#include "fit/setup.h"
#include "model/model.h"

/* ---- the answers ----------------------------------------------------------------------------------------------- */

static double trials_of(const oatgp_data *data, size_t i) { return data->trials != NULL ? data->trials[i] : 1; }

/* The number of levels of an ordinal answer: those that the target's texts have, or up to its largest number. */
static size_t count_levels(const oatgp_data *data) {
  double most = 1;
  for (size_t i = 0; data->y != NULL && i < data->n; i++) { /* data without a target are refused later */
    most = fmax(most, data->y[i]);
  }
  return data->target_levels.count > 0 ? data->target_levels.count
         : most < OAT_LEVELS_MOST      ? (size_t)most + 1
                                       : OAT_LEVELS_MOST;
}

oatgp_status oat_setup_likelihood(oatgp_context *ctx, oat_setup *setup) {
  setup->likelihood = oat_likelihood_find(setup->settings->likelihood);
  if (setup->likelihood == NULL) {
    return OATGP_OK;
  }
  setup->levels = setup->likelihood->has_levels ? count_levels(setup->data) : 0;
  return oat_check_answers(ctx, setup->likelihood, setup->levels, setup->data);
}

/* ---- parameters of their own ----------------------------------------------------------------------------------- */

/* Weighted means over the rows, with the target in units of y_scale. */
static oat_answer_moments moments_of(const oat_setup *setup, double *shares) {
  const oatgp_data *data = setup->data;
  oat_answer_moments m = {.shares = shares};
  double weights = 0;
  for (size_t i = 0; i < data->n; i++) {
    const double weight = data->weight != NULL ? data->weight[i] : 1, y = data->y[i] / setup->y_scale;
    const double delta = y - m.mean;
    weights += weight;
    m.mean += weight / weights * delta;
    m.variance += weight * delta * (y - m.mean);
    m.trials += weight * trials_of(data, i);
    m.exposure += weight * (data->exposure != NULL ? data->exposure[i] : 1);
    if (setup->levels > 0) {
      shares[(size_t)data->y[i]] += weight;
    }
  }
  for (size_t i = 0; i < setup->levels; i++) {
    shares[i] /= weights;
  }
  m.variance /= weights;
  m.trials /= weights;
  m.exposure /= weights;
  return m;
}

oatgp_status oat_setup_own_parameters(oatgp_context *ctx, oat_setup *setup, double spread) {
  oat_parameter is[OAT_OWN_MOST];
  double start[OAT_OWN_MOST], shares[OAT_LEVELS_MOST] = {0}, f;
  if (setup->likelihood == NULL) {
    return OATGP_OK;
  }
  const size_t first = oat_covariance_count(setup->kernel, setup->scaling.d);
  const oat_further further = oat_answer_parameters(setup->likelihood, setup->levels, first, is, start);
  const oat_units units = {spread / setup->y_scale, setup->scaling.d, setup->scaling.spread};
  const oat_answer_moments moments = moments_of(setup, shares);
  const oat_kernel *made = NULL;
  oat_likelihood_start(setup->likelihood, setup->levels, &moments, &f, start);
  for (size_t i = 0; i < further.count; i++) {
    start[i] /= oat_parameter_unit(&is[i], &units);
  }
  PASS_ON(oat_kernel_with(ctx, setup->kernel, &further, &made));
  setup->kernel = made;
  return OATGP_OK;
}
