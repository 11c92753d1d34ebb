/* Problems of problem.h through the public functions, with every parameter and knot fixed, so the result is known. */
#ifndef TEST_FIXED_FITS_H
#define TEST_FIXED_FITS_H

#include "expressions.h"
#include "fits.h"
#include "problem.h"

/* n x d points, column-major, as data. */
static inline oatgp_data *data_of(scratch *s, size_t n, size_t d, const double *columns, const double *y) {
  double *x = new_doubles(n * d);
  for (size_t i = 0; i < n * d; i++) {
    x[i % n * d + i / n] = columns[i];
  }
  oatgp_data *data = make_data(s, n, d, x, y);
  free(x);
  return data;
}

/* Gives the first rows of p's noise to data. */
static inline void give_noise(scratch *s, oatgp_data *data, const problem *p, row_noise noise) {
  double *weight = new_doubles(p->n);
  for (size_t i = 0; i < p->n; i++) {
    weight[i] = 1 / p->noise_scale[i];
  }
  if (noise & NOISE_SCALED) {
    must(s, oatgp_data_set_weights(s->ctx, data, weight));
  }
  if (noise & NOISE_ADDED) {
    must(s, oatgp_data_set_noise_variance(s->ctx, data, p->noise_add));
  }
  free(weight);
}

static inline oatgp_data *problem_data(scratch *s, const problem *p, row_noise noise) {
  oatgp_data *data = data_of(s, p->n, p->d, p->x, p->r);
  give_noise(s, data, p, noise);
  return data;
}

/* Settings under which oatgp_fit only evaluates; the text of the lengthscales, or of an expression's parameters, goes
 * to `text`. */
static inline void fix_everything(scratch *s, const oat_kernel *kernel, variant v, const problem *p, char text[256]) {
  oatgp_settings *settings = &s->settings;
  const bool listed = kernel->expression == NULL;
  text[0] = '\0';
  for (size_t j = 0; j < oat_theta_count(kernel, p->d) - OAT_LENGTHSCALE; j++) {
    snprintf(text + strlen(text), 256 - strlen(text), "%s%.17g", j > 0 ? "," : "", p->theta[OAT_LENGTHSCALE + j]);
  }
  settings->approx = v.approx->name;
  settings->alpha = v.approx->power ? v.alpha : 0.5;
  settings->kernel = kernel->name;
  settings->sigma = listed ? p->theta[OAT_SIGMA] : 0;
  settings->tau = p->theta[OAT_TAU];
  settings->shape = p->theta[OAT_SHAPE];
  settings->lengthscale = listed ? text : "";
  settings->parameters = listed ? "" : text;
  settings->fix = listed ? "sigma,tau,lengthscale,shape" : "";
  settings->select = "fixed";
  settings->max_iter = 0;
  settings->jitter = 1e-6;
  settings->scale = 0;
  settings->mean = "0";
}

/* The setting of the mean for a basis of so many columns. */
static inline const char *mean_for(size_t basis) { return basis == 0 ? "0" : basis == 1 ? "fit" : "linear"; }

/* The model of a problem by the settings of the scratch. */
static inline oatgp_model *fixed_model(scratch *s, const problem *p, row_noise noise) {
  oatgp_data *data = problem_data(s, p, noise), *knots = data_of(s, p->k, p->d, p->z, NULL);
  oatgp_model *model = must_fit(s, data, knots);
  oatgp_data_free(data);
  oatgp_data_free(knots);
  return model;
}

/* Largest |a - b| of n numbers, relative to the larger of them or 1. */
static inline double largest_error(size_t n, const double *a, const double *b) {
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    worst = worse_of(worst, relative_error(a[i], b[i]));
  }
  return worst;
}

#endif
