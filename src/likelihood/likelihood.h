/* Likelihoods that are not Gaussian: y given a latent f, row by row. The Gaussian is not in this table: where both are
 * possible, NULL stands for it.
 *
 *   name               y                     given f
 *   bernoulli-logit    0, 1                  P(y = 1) = 1 / (1 + exp(-f))
 *   bernoulli-probit   0, 1                  P(y = 1) = Phi(f)
 *   binomial-logit     0 .. trials           each of the trials as with bernoulli-logit
 *   poisson            0, 1, 2 ...           mean exp(f)
 *   negative-binomial  0, 1, 2 ...           mean exp(f), variance mean + mean^2 / shape
 *   gamma              above 0               mean exp(f), variance mean^2 / shape
 *   student-t          any number            location f, scale, degrees
 *   beta               between 0 and 1       mean = 1 / (1 + exp(-f)); Beta(mean shape, (1 - mean) shape)
 *   ordinal            0 .. levels - 1       P(y <= j) = Phi(c_j - f), c_0 = 0, c_j = c_(j-1) + gap_j
 *
 * Exposures are handled by the caller, who adds the logarithm as an offset to m or f.
 *
 * The functions over rows allocate nothing, need no scratch and keep nothing: lanes may call them side by side, each
 * for its own rows. Arrays of results may not overlap with the arguments. The caller applies the weights of rows,
 * except in the sums of oat_response_expect. A number beyond the range of a double is cut off at OAT_LOG_LEAST, so that
 * an optimiser gets a very bad value and not NaN. */
#ifndef OAT_LIKELIHOOD_H
#define OAT_LIKELIHOOD_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/parameters.h"
#include "util/rng.h"

/* Names of likelihoods that a device can copy: their places in the table. */
typedef enum oat_likelihood_id {
  OAT_BERNOULLI_LOGIT,
  OAT_BERNOULLI_PROBIT,
  OAT_BINOMIAL_LOGIT,
  OAT_POISSON,
  OAT_NEGATIVE_BINOMIAL,
  OAT_GAMMA,
  OAT_STUDENT_T,
  OAT_BETA,
  OAT_ORDINAL,
  OAT_LIKELIHOODS
} oat_likelihood_id;

/* The most levels of an ordinal answer; the fewest are 2. */
#define OAT_LEVELS_MOST 64
/* The most parameters of its own that a likelihood has. */
#define OAT_OWN_MOST (OAT_LEVELS_MOST - 2)
/* Log densities and their expectations are never below this, and derivatives never larger than its absolute value. */
#define OAT_LOG_LEAST (-1e300)

struct oat_row_functions;

/* A likelihood without its parameters. */
typedef struct oat_likelihood {
  oat_likelihood_id id;
  const char *name; /* as in the table above */
  const char *link; /* what f is, in words: "the log odds of 1" */
  /* log p(y | f) is concave in f for every y: dE/ds <= 0, and full steps of the fixed point are safe. All but student-t
   * and beta. */
  bool log_concave;
  bool has_trials;     /* y counts successes out of trials */
  bool discrete;       /* y is a whole number */
  bool has_levels;     /* the number of levels is a part of the model: ordinal */
  bool takes_exposure; /* the mean is exp(f), so that the logarithm of an exposure may be added to f */
  const char *wanted;  /* what a target must be, as the end of a sentence: "0 or 1", "a whole number, 0 or more" */
  const struct oat_row_functions *rows; /* only for src/likelihood */
} oat_likelihood;

/* Answers of two classes. */
static inline bool oat_likelihood_is_bernoulli(const oat_likelihood *likelihood) { /* NULL: Gaussian */
  return likelihood != NULL && (likelihood->id == OAT_BERNOULLI_LOGIT || likelihood->id == OAT_BERNOULLI_PROBIT);
}

/* Whether a link puts f on a different scale from the target, so that f does not have the target's unit. */
static inline bool oat_likelihood_is_linked(const oat_likelihood *likelihood) { /* NULL: Gaussian */
  return likelihood != NULL && likelihood->id != OAT_STUDENT_T;
}

const oat_likelihood *oat_likelihood_find(const char *name); /* NULL if there is none */
const oat_likelihood *oat_likelihood_at(size_t index);       /* NULL past the end */

/* The number of its own parameters. All are positive, and the optimiser works with their logarithms. `levels` matters
 * only for ordinal, which has levels - 2 gaps. */
size_t oat_likelihood_count(const oat_likelihood *likelihood, size_t levels);
/* The own parameter in a place: "shape"; "scale" (in the target's unit) and "degrees"; "gap1", "gap2" ... Its name is a
 * constant. */
oat_parameter oat_likelihood_parameter(const oat_likelihood *likelihood, size_t place);
/* The default start of a fit, in the parameter's unit. */
double oat_likelihood_parameter_start(const oat_likelihood *likelihood, size_t place);

/* Whether y is possible under the likelihood. `trials` is 1 if there are none. likelihood->wanted describes what is
 * possible. */
bool oat_answer_valid(const oat_likelihood *likelihood, size_t levels, double y, double trials);

/* A likelihood with its parameters: a value that a device can copy, with the oat_likelihood_count numbers behind it. */
typedef struct oat_response {
  const oat_likelihood *likelihood;
  const double *parameters; /* positive, in the order of their places; NULL if there are none */
  size_t levels;            /* of an ordinal target, else unused */
} oat_response;

/* Targets of n rows. The caller has checked them with oat_answer_valid. */
typedef struct oat_answers {
  size_t n;
  const double *y;      /* unused if the function returns y */
  const double *trials; /* or NULL for 1 */
} oat_answers;

/* The latent f of n rows: f_i ~ N(m_i, s_i), s_i >= 0 (s_i = 0: f_i is m_i). */
typedef struct oat_latent {
  const double *m, *s;
} oat_latent;

/* Results of oat_response_expect: for each row E(m, s) = E log p(y | f) and its derivatives in m and s. These are
 * averages of the first derivative of log p in f, and of half the second: for a log-concave likelihood ds <= 0 in
 * floating point, too. If a row has no information (a Bernoulli target with |m| > 700), ds may underflow to 0, so
 * callers that divide by it must limit the noise. */
typedef struct oat_expectations {
  double *value, *dm, *ds; /* n each */
  double *parameters;    /* to which sum_i weight_i dE_i / d log(parameter_j) is added, or NULL if that is not wanted */
  const double *weights; /* n, only for `parameters`; NULL for 1 */
} oat_expectations;

/* A row takes about 0.1 to 0.4 microseconds with a logit or a log, 0.2 to 1.5 for student-t, 0.4 for probit and
 * ordinal, 3 for beta; the last three take more where s is above 1, in proportion to its root. Errors are below 1e-11
 * of 1 + |value| for s <= 400. The same holds for larger s, except for probit, ordinal and beta, whose nodes are then
 * further apart. All results are finite. */
void oat_response_expect(const oat_response *response, const oat_answers *answers, const oat_latent *latent,
                         const oat_expectations *out);

/* log p(y_i | f_i) of n rows. */
void oat_response_log_density(const oat_response *response, const oat_answers *answers, const double *f, double *out);
/* The predictive log density: log of the integral of p(y_i | f) N(f; m_i, s_i) df, to 1e-10 also in the far tails. */
void oat_response_predictive(const oat_response *response, const oat_answers *answers, const oat_latent *latent,
                             double *out);

/* Mean and variance of y, integrated over f; either may be NULL. The mean of a Bernoulli target is P(y = 1), that of an
 * ordinal one the expected level. The mean of exp(f) may be infinite if s is huge, and the variance of student-t is
 * infinite for degrees <= 2. (If student-t has no mean, the location is returned.) */
void oat_response_moments(const oat_response *response, const oat_answers *answers, const oat_latent *latent,
                          double *mean, double *variance);
/* P(Y_i <= y_i), integrated over f. Here y may be any number, even an impossible one. */
void oat_response_cdf(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double *out);
/* The smallest y with P(Y <= y) >= p, for 0 < p < 1. It uses root finding within a bracket, which always ends. */
void oat_response_quantile(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double p,
                           double *y);
/* Of an ordinal answer: P(Y_i = j) at out[i + j * n], j = 0 .. levels - 1. */
void oat_response_levels(const oat_response *response, size_t n, const oat_latent *latent, double *out);

/* Draws one target given f. */
double oat_response_draw(const oat_response *response, double f, double trials, oat_rng *rng);

/* A start for the fixed point: a Gaussian target and its noise for each row. The target is near the f at which log p(y
 * | f) is largest. If that is infinite (no success, a count of 0, the first or the last level), it is moved back as if
 * half an observation of the other kind had been made. The noise is the inverse of minus the second derivative there,
 * or of its expectation (beta). Both are finite, and the noise is positive. An offset is part of f: the caller
 * subtracts it from the target. */
void oat_response_sites(const oat_response *response, const oat_answers *answers, double *target, double *noise);

/* log p(y_i | f) at the f that maximises it: the log density of the saturated model, for deviances. (Its limit where
 * that f is infinite: 0 for a Bernoulli answer.) */
void oat_response_saturated(const oat_response *response, const oat_answers *answers, double *out);

/* Weighted means over the rows, from which a start is computed. */
typedef struct oat_answer_moments {
  double mean, variance; /* of y */
  double trials;         /* mean number of trials, 1 without */
  double exposure;       /* mean exposure, 1 without */
  const double *shares;  /* the share of each level, only for ordinal */
} oat_answer_moments;

/* The constant f and the likelihood's own parameters that fit such targets, by the method of moments, limited to where
 * a fit can start: f is finite even if all targets are equal. `parameters` has oat_likelihood_count numbers, or is
 * NULL. */
void oat_likelihood_start(const oat_likelihood *likelihood, size_t levels, const oat_answer_moments *moments, double *f,
                          double *parameters);

#endif
