/* Table 1: which prior variances and covariances a sparse model shares with the full GP. All moments come from the
 * library:
 *   training rows: -2 log p(y) is a quadratic form in y; the covariance of two rows follows from its values at a few y
 *   new rows:      with very large noise the data carry no information, and the joint covariance of a prediction is
 *                  that of the prior
 *   between them:  E f* = cov(f*, f) C^-1 y, for two y */
#include <math.h>
#include <string.h>

#include "paper.h"
#include "util/context.h"

const char *const moment_names[MOMENTS] = {"Var f(x)", "Cov f(x), f(x')", "Var f(x*)", "Cov f(x*), f(x*')",
                                           "Cov f(x), f(x*)"};
const char *const prior_names[PRIORS] = {"dic", "dtc", "vfe", "fic", "fitc", "full"};

enum { TWO = 2 };
#define SIGMA 1.5
#define LENGTH 0.7
#define TAU 0.5
#define LARGE_TAU 1e5

static const double knots_at[TWO] = {0, 1}, rows_at[TWO] = {0.4, 1.3}, new_at[TWO] = {0.6, 1.7};

typedef struct moments {
  double value[MOMENTS];
} moments;

/* A problem of two rows. */
typedef struct pair {
  oatgp_context *ctx;
  oatgp_settings settings;
  oatgp_data *knots, *fresh;
} pair;

static void set_up(pair *p, const char *approx) {
  oatgp_settings_default(&p->settings);
  p->settings.prior = "none"; /* the evidence alone */
  p->settings.average = 0;
  p->settings.approx = approx;
  p->settings.kernel = "se";
  p->settings.scale = 0;
  p->settings.mean = "0";
  p->settings.jitter = 0;
  p->settings.sigma = SIGMA;
  p->settings.tau = TAU;
  p->settings.lengthscale = "0.7";
  p->settings.select = "fixed";
  p->settings.fix = "sigma,tau,lengthscale";
  p->settings.max_iter = 0;
}

static oatgp_data *knots_of(const pair *p) { return strcmp(p->settings.approx, "full") == 0 ? NULL : p->knots; }

static oatgp_status log_p(pair *p, double y1, double y2, double *out) {
  oatgp_data *data = NULL;
  oatgp_evaluation e = {0};
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_create(p->ctx, TWO, 1, rows_at, (double[]){y1, y2}, &data));
  TRY(oatgp_evaluate(p->ctx, data, &p->settings, knots_of(p), 0, &e));
  *out = e.objective;
done:
  oatgp_evaluation_clear(&e);
  oatgp_data_free(data);
  return status;
}

/* C = cov(y) of the two rows: c11, c12, c22. */
static oatgp_status row_covariance(pair *p, double c[3]) {
  double f10 = 0, f20 = 0, f01 = 0, f11 = 0;
  oatgp_status status = OATGP_OK;
  TRY(log_p(p, 1, 0, &f10));
  TRY(log_p(p, 2, 0, &f20));
  TRY(log_p(p, 0, 1, &f01));
  TRY(log_p(p, 1, 1, &f11));
  const double p11 = 2 * (f10 - f20) / 3, constant = f10 + p11 / 2, p22 = -2 * (f01 - constant);
  const double p12 = (-2 * (f11 - constant) - p11 - p22) / 2, determinant = p11 * p22 - p12 * p12;
  c[0] = p22 / determinant;
  c[1] = -p12 / determinant;
  c[2] = p11 / determinant;
done:
  return status;
}

static oatgp_status fit_pair(pair *p, double y1, double y2, oatgp_model **out) {
  oatgp_data *data = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_create(p->ctx, TWO, 1, rows_at, (double[]){y1, y2}, &data));
  TRY(oatgp_fit(p->ctx, data, &p->settings, knots_of(p), NULL, NULL, out));
done:
  oatgp_data_free(data);
  return status;
}

/* Means at the first new row for y = (1, 0) and (0, 1). */
static oatgp_status new_mean(pair *p, double y1, double y2, double *out) {
  oatgp_model *model = NULL;
  double mean[TWO];
  oatgp_status status = OATGP_OK;
  TRY(fit_pair(p, y1, y2, &model));
  TRY(oatgp_predict(p->ctx, model, p->fresh, &(oatgp_prediction){.mean = mean}));
  *out = mean[0];
done:
  oatgp_model_free(model);
  return status;
}

static oatgp_status new_covariance(pair *p, double c[TWO * TWO]) {
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  p->settings.tau = LARGE_TAU;
  TRY(fit_pair(p, 1, -1, &model));
  TRY(oatgp_predict_covariance(p->ctx, model, p->fresh, c));
done:
  p->settings.tau = TAU;
  oatgp_model_free(model);
  return status;
}

static oatgp_status find_moments(pair *p, moments *m) {
  double c[3], new_c[TWO * TWO], m1 = 0, m2 = 0;
  oatgp_status status = OATGP_OK;
  TRY(row_covariance(p, c));
  TRY(new_covariance(p, new_c));
  TRY(new_mean(p, 1, 0, &m1));
  TRY(new_mean(p, 0, 1, &m2));
  *m = (moments){{c[0] - TAU * TAU, c[1], new_c[0], new_c[1], c[0] * m1 + c[1] * m2}};
done:
  return status;
}

static double covariance(double a, double b) { return SIGMA * SIGMA * exp(-0.5 * pow((a - b) / LENGTH, 2)); }

oatgp_status measure_priors(oatgp_context *ctx, double difference[PRIORS][MOMENTS]) {
  const moments exact = {{SIGMA * SIGMA, covariance(rows_at[0], rows_at[1]), SIGMA * SIGMA,
                          covariance(new_at[0], new_at[1]), covariance(rows_at[0], new_at[0])}};
  pair p = {.ctx = ctx};
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_create(ctx, TWO, 1, knots_at, NULL, &p.knots));
  TRY(oatgp_data_create(ctx, TWO, 1, new_at, NULL, &p.fresh));
  for (size_t i = 0; i < PRIORS; i++) {
    moments m = {{0}};
    set_up(&p, prior_names[i]);
    TRY(find_moments(&p, &m));
    for (size_t k = 0; k < MOMENTS; k++) {
      difference[i][k] = fabs(m.value[k] - exact.value[k]);
    }
  }
done:
  oatgp_data_free(p.knots);
  oatgp_data_free(p.fresh);
  return status;
}
