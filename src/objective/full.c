/* The full GP: F = log N(y; m, K + noise), with its own objective by a Cholesky factorisation of the N x N matrix.
 *
 * The device has the matrix and its derivative. This file has the value, the coefficients of the mean and the chain
 * rule for the parameters. O(N^3) time, one N x N matrix. */
#include <math.h>
#include <string.h>

#include "objective/sites.h"

typedef struct full_objective {
  oat_objective base;
  double *gram, *coefficient; /* (1 + p) square: R^T S^-1 R; p */
  oat_gls gls;                /* of gram */
} full_objective;

static full_objective *own(oat_objective *objective) { return (full_objective *)objective; }

static double bytes_of(const oat_objective_config *config) {
  const double n = (double)oat_rows_total(config->rows);
  return 8 * n * n;
}

static bool fits_processor(const oat_objective_config *config) {
  return bytes_of(config) <= (double)config->memory && oat_rows_total(config->rows) <= OAT_LARGEST_SIDE;
}

/* If the matrix does not fit into --memory, a GPU may still have room for it. It is then the only device to try, and it
 * reports if its memory is too small. */
static oatgp_status check_size(oatgp_context *ctx, const oat_objective_config *config, oat_device_config *device) {
  const double n = (double)oat_rows_total(config->rows), bytes = bytes_of(config);
  if (!fits_processor(config) && oat_device_on_gpu(ctx, device, config->rows)) {
    device->where.device = "cuda";
  } else if (!fits_processor(config)) {
    return oat_fail(ctx, OATGP_DATA,
                    "the full GP of %.0f rows needs %.3g GiB for its matrix, but only %.3g GiB may be used; raise "
                    "--memory or use a sparse model such as --approx=vfe",
                    n, bytes / 1073741824, (double)config->memory / 1073741824);
  }
  return OATGP_OK;
}

static oatgp_status full_open(oatgp_context *ctx, oat_objective *objective) {
  full_objective *o = own(objective);
  const size_t p = oat_rows_basis(objective->config.rows);
  oat_device_config device = {
      .where = objective->config.where, .kernel = oat_kernel_size_of(objective->config.kernel), .exact = true};
  oatgp_status status;
  TRY(check_size(ctx, &objective->config, &device));
  objective->config.k = 0;
  o->gram = oat_take_doubles(&objective->memory, 1 + p, 1 + p);
  o->coefficient = oat_take_doubles(&objective->memory, 1 + p, 1);
  double *gls = oat_take_doubles(&objective->memory, oat_gls_room(p), 1);
  TRY(objective->memory.status);
  o->gls = oat_gls_over(gls, p);
  TRY(oat_device_open(ctx, &device, objective->config.rows, &objective->device));
  objective->factors.coefficient = o->coefficient;
done:
  return status;
}

/* The factor, then the mean's coefficients by generalised least squares; *value is log N(r; H coefficient, S) without
 * its 2 pi. */
static oatgp_status find_density(full_objective *o, const oat_exact *exact, double *value) {
  oat_exact_sums sums = {.gram = o->gram};
  double quadratic;
  oatgp_status status = OATGP_OK;
  TRY(o->base.device->table->exact_sums(o->base.device, exact, &sums));
  TRY(oat_gls_factorise(&o->gls, o->gram, o->gram));
  memcpy(o->coefficient, o->gram + 1, o->gls.p * sizeof *o->coefficient);
  oat_gls_solve(&o->gls, o->coefficient);
  TRY(o->base.device->table->exact_quadratic(o->base.device, o->coefficient, &quadratic));
  *value = -0.5 * quadratic - sums.log_diagonal;
done:
  o->base.pivot = sums.pivot;
  return status;
}

/* ELBO = sum E_i - KL(q || p) = log N(t; ..., S) + sum (E_i - E_q log N(t_i; f_i, n_i)). */
static oatgp_status look_at_sites(oat_objective *objective, void *self, oat_site_look *look, double *value) {
  PASS_ON(find_density(own(objective), self, value));
  PASS_ON(objective->device->table->exact_sites_look(objective->device, look));
  *value += look->value;
  return OATGP_OK;
}

static oatgp_status find_value(oat_objective *objective, const oat_point *point, oat_exact *exact, double *value) {
  if (objective->config.likelihood != NULL) {
    return oat_sites_settle(objective, point, look_at_sites, exact, value);
  }
  const oatgp_status status = find_density(own(objective), exact, value);
  *value -= 0.5 * (double)oat_rows_total(objective->config.rows) * log(OAT_TWO_PI);
  return status;
}

static oatgp_status differentiate(full_objective *o, const oat_exact *exact, oat_gradient *gradient) {
  oat_exact_gradient sums = {.kernel = {.theta = gradient->theta}};
  memset(gradient->theta, 0, oat_theta_count(o->base.config.kernel, exact->cov.d) * sizeof *gradient->theta);
  const oatgp_status status = o->base.device->table->exact_gradient(o->base.device, exact, &sums);
  if (!oat_covariance_is_tree(&exact->cov)) {
    gradient->theta[exact->cov.sigma] = 2 * sums.signal;
  }
  gradient->theta[OAT_TAU] = 2 * exact->tau * exact->tau * sums.noise;
  oat_sites_add_own(&o->base, gradient);
  return status;
}

static oatgp_status full_evaluate(oat_objective *objective, const oat_point *point, double *value,
                                  oat_gradient *gradient) {
  full_objective *o = own(objective);
  const size_t d = oat_rows_inputs(objective->config.rows);
  oat_exact exact = {.cov = oat_covariance_at(objective->config.kernel, d, point->theta),
                     .tau = point->theta[OAT_TAU],
                     .jitter = objective->config.jitter,
                     .gradient = gradient != NULL};
  const oatgp_status status = find_value(objective, point, &exact, value);
  return status == OATGP_OK && gradient != NULL ? differentiate(o, &exact, gradient) : status;
}

oatgp_status oat_full_left_out(oat_objective *objective, double *sum) {
  full_objective *o = own(objective);
  const oat_response *response = objective->config.likelihood != NULL ? &objective->look.response : NULL;
  return o->base.device->table->exact_left_out(o->base.device, &o->gls, response, sum);
}

const oat_objective_table oat_objective_full = {sizeof(full_objective), full_open, full_evaluate};
