/* The functions of a likelihood, only for src/likelihood: those of one row, and the expectation over many. */
#ifndef OAT_LIKELIHOOD_ROWS_H
#define OAT_LIKELIHOOD_ROWS_H

#include <math.h>

#include "likelihood/hinge.h"
#include "likelihood/likelihood.h"

typedef struct oat_answer {
  double y, trials;
} oat_answer;

/* f ~ N(m, s) */
typedef struct oat_belief {
  double m, s;
} oat_belief;

/* A function of f and its first two derivatives. */
typedef struct oat_curve {
  double value, first, second;
} oat_curve;

typedef struct oat_spread {
  double mean, variance;
} oat_spread;

/* One call of a public function: the response, and a table that is made when the first row needs it. */
typedef struct oat_row_call {
  const oat_response *response;
  oat_hinge_table *hinge;
} oat_row_call;

/* Arrays of one call of oat_response_expect. */
typedef struct oat_expect_call {
  const oat_response *response;
  const oat_answers *answers;
  const oat_latent *latent;
  const oat_expectations *out;
} oat_expect_call;

struct oat_row_functions {
  void (*expect)(const oat_expect_call *call);
  oat_curve (*curve)(const oat_row_call *call, oat_answer answer, double f); /* log p(y | f) */
  double (*predictive)(const oat_row_call *call, oat_answer answer, oat_belief f);
  oat_spread (*moments)(const oat_row_call *call, double trials, oat_belief f);
  double (*cdf)(const oat_row_call *call, oat_answer answer,
                oat_belief f); /* y is at least the smallest answer; whole if discrete */
  double (*quantile)(const oat_row_call *call, double trials, oat_belief f, double p);
  double (*draw)(const oat_response *response, double f, double trials, oat_rng *rng);
  oat_spread (*site)(const oat_row_call *call, oat_answer answer); /* target and noise */
  double (*saturated)(const oat_row_call *call, oat_answer answer);
  bool (*valid)(size_t levels, double y, double trials);
  double (*start)(size_t levels, const oat_answer_moments *moments,
                  double *parameters); /* returns f; has room for the parameters */
};

extern const struct oat_row_functions oat_rows_bernoulli_logit, oat_rows_bernoulli_probit, oat_rows_binomial_logit,
    oat_rows_poisson, oat_rows_negative_binomial, oat_rows_gamma, oat_rows_student_t, oat_rows_beta, oat_rows_ordinal;

/* Shared by several likelihoods. */

static inline oat_answer oat_answer_of(const oat_answers *answers, size_t i) {
  return (oat_answer){answers->y != NULL ? answers->y[i] : NAN, answers->trials != NULL ? answers->trials[i] : 1};
}

static inline double oat_bounded(double x) { return fmin(fmax(x, OAT_LOG_LEAST), -OAT_LOG_LEAST); }

/* Writes the results of a row. */
static inline void oat_expect_set(const oat_expect_call *call, size_t i, oat_curve e) {
  call->out->value[i] = oat_bounded(e.value);
  call->out->dm[i] = oat_bounded(e.first);
  call->out->ds[i] = oat_bounded(0.5 * e.second);
}

/* Adds a row's derivative in the logarithm of a parameter. */
static inline void oat_expect_add(const oat_expect_call *call, size_t i, size_t place, double derivative) {
  if (call->out->parameters != NULL) {
    call->out->parameters[place] += oat_bounded(derivative) * (call->out->weights != NULL ? call->out->weights[i] : 1);
  }
}

static inline bool oat_is_whole(double y) { return y >= 0 && y == floor(y) && y <= 0x1p53; }

static inline double oat_clip(double x, double low, double high) { return fmin(fmax(x, low), high); }

/* The logit of a share that is kept away from 0 and 1. */
static inline double oat_safe_logit(double share) {
  const double p = oat_clip(share, 1e-3, 1 - 1e-3);
  return log(p / (1 - p));
}

/* Mean and variance of y whose mean is exp(f) and whose variance given f is `linear` mean + `square` mean^2. */
static inline oat_spread oat_log_moments(oat_belief f, double linear, double square) {
  const double mean = exp(f.m + 0.5 * f.s), factor = square - expm1(-f.s);
  return (oat_spread){mean, (linear > 0 ? linear * mean : 0) + (factor > 0 ? exp(2 * f.m + 2 * f.s) * factor : 0)};
}

/* The predictive log density of a log-concave likelihood by its curve, see predictive.c. */
double oat_predictive_by_curve(const oat_row_call *call, oat_answer answer, oat_belief f);
/* Quantiles by root finding on the cdf, see quantile.c: of counts, and of y > 0 or 0 < y < 1 or any y, where y is
 * increasing in x. */
double oat_quantile_count(const oat_row_call *call, double trials, oat_belief f, double p);
double oat_quantile_number(const oat_row_call *call, oat_belief f, double p);

#endif
