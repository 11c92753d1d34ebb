/* Likelihoods of answers that are not Gaussian: y given a latent f, row by row. The Gaussian is not in this table:
 * code that may have either has NULL for it.
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
 * An exposure is not seen here: its logarithm is an offset, which the caller adds to m or f.
 *
 * The functions over rows allocate nothing, need no scratch and keep nothing: lanes may call them side by side,
 * each for its own rows. Arrays of results may not overlap with the arguments. Weights of rows are the caller's,
 * except in oat_response_expect's sums. A number that is beyond the range of a double is cut off at OAT_LOG_LEAST,
 * so that an optimiser sees a very bad point and no NaN. */
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
/* No log density and no expectation of one is below this, nor is a derivative larger than its size. */
#define OAT_LOG_LEAST (-1e300)

struct oat_row_functions;

/* What is known of a likelihood without its parameters. */
typedef struct oat_likelihood {
  oat_likelihood_id id;
  const char *name; /* as in the table above */
  const char *link; /* what f is, in words: "the log odds of 1" */
  /* log p(y | f) is concave in f for every y: dE/ds <= 0, and full steps of the fixed point are safe. All but student-t
   * and beta. */
  bool log_concave;
  bool has_trials;                      /* y counts successes out of trials */
  bool discrete;                        /* y is a whole number */
  bool has_levels;                      /* the number of levels is a part of the model: ordinal */
  bool takes_exposure;                  /* the mean is exp(f), so that the logarithm of an exposure may be added to f */
  const char *wanted;                   /* what an answer has to be, as the end of a sentence: "0 or 1", "a whole number from 0 on" */
  const struct oat_row_functions *rows; /* for src/likelihood alone */
} oat_likelihood;

const oat_likelihood *oat_likelihood_find(const char *name); /* NULL if there is none */
const oat_likelihood *oat_likelihood_at(size_t index);       /* NULL past the end */

/* Parameters of its own, each positive: the optimiser sees their logarithms. `levels` counts for ordinal alone:
 * levels - 2 gaps. */
size_t oat_likelihood_count(const oat_likelihood *likelihood, size_t levels);
/* The own parameter in a place: "shape"; "scale" (in the target's unit) and "degrees"; "gap1", "gap2" ... Its names
 * last for ever. */
oat_parameter oat_likelihood_parameter(const oat_likelihood *likelihood, size_t place);
/* Where a fit starts that knows nothing of the answers, in the parameter's unit. */
double oat_likelihood_parameter_start(const oat_likelihood *likelihood, size_t place);

/* Whether y is an answer that the likelihood can have. `trials` is 1 without any. What is wanted is
 * likelihood->wanted. */
bool oat_answer_valid(const oat_likelihood *likelihood, size_t levels, double y, double trials);
/* Whether a number of trials is: a whole number from 1 on, up to 2^53. */
bool oat_trials_valid(double trials);

/* A likelihood with its parameters: a value that a device can copy, with the oat_likelihood_count numbers behind it. */
typedef struct oat_response {
  const oat_likelihood *likelihood;
  const double *parameters; /* positive, in the order of their places; NULL if there are none */
  size_t levels;            /* of an ordinal answer, else not looked at */
} oat_response;

/* Answers of n rows. They are valid: a caller has looked at them with oat_answer_valid. */
typedef struct oat_answers {
  size_t n;
  const double *y;      /* not looked at where a function gives y */
  const double *trials; /* or NULL for 1 */
} oat_answers;

/* The latent f of n rows: f_i ~ N(m_i, s_i), s_i >= 0 (s_i = 0: f_i is m_i). */
typedef struct oat_latent {
  const double *m, *s;
} oat_latent;

/* Results of oat_response_expect: for each row E(m, s) = E log p(y | f) and its derivatives in m and s. These are
 * averages of the first derivative of log p in f, and of half the second: for a log-concave likelihood ds <= 0 in
 * floating point, too. ds may be 0 by underflow where a row says nothing (a Bernoulli answer with |m| > 700), so that a
 * caller who divides by it limits the noise. */
typedef struct oat_expectations {
  double *value, *dm, *ds; /* n each */
  double *parameters;      /* to which sum_i weight_i dE_i / d log(parameter_j) is added, or NULL if that is not wanted */
  const double *weights;   /* n, for `parameters` alone; NULL for 1 */
} oat_expectations;

/* A row takes about 0.1 to 0.4 microseconds with a logit or a log, 0.2 to 1.5 for student-t, 0.4 for probit and
 * ordinal, 3 for beta; the last three take more where s is above 1, in proportion to its root. Errors are below
 * 1e-11 of 1 + |value| for s <= 400. For larger s that is so, too, except for probit, ordinal and beta, whose nodes
 * are then further apart. All results are finite. */
void oat_response_expect(const oat_response *response, const oat_answers *answers, const oat_latent *latent, const oat_expectations *out);

/* log p(y_i | f_i) of n rows. */
void oat_response_log_density(const oat_response *response, const oat_answers *answers, const double *f, double *out);
/* The predictive log density: log of the integral of p(y_i | f) N(f; m_i, s_i) df, to 1e-10 also in the far tails. */
void oat_response_predictive(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double *out);

/* Mean and variance of y, integrated over f; either may be NULL. Of a Bernoulli answer the mean is P(y = 1), of an
 * ordinal one the expected level. A mean of exp(f) may be infinite where s is huge; student-t's variance is for
 * degrees <= 2. (Where student-t has no mean, it is the location.) */
void oat_response_moments(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double *mean,
                          double *variance);
/* P(Y_i <= y_i), integrated over f. Here y may be any number, also one that is no valid answer. */
void oat_response_cdf(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double *out);
/* The smallest y with P(Y <= y) >= p, for 0 < p < 1. Root finding within a bracket: it always ends. */
void oat_response_quantile(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double p, double *y);
/* Of an ordinal answer: P(Y_i = j) at out[i + j * n], j = 0 .. levels - 1. */
void oat_response_levels(const oat_response *response, size_t n, const oat_latent *latent, double *out);

/* One answer drawn given f. */
double oat_response_draw(const oat_response *response, double f, double trials, oat_rng *rng);

/* Where the fixed point may begin: a target and a noise for each row. The target is near the f at which log p(y |
 * f) is largest. Where that is infinite (no success, a count of 0, the first or the last level), it is moved back
 * as if half an answer of the other kind had been seen. The noise is the inverse of minus the second derivative
 * there, or of what is expected of it (beta). Both are finite, and the noise is positive. An offset is part of f:
 * the caller takes it off the target. */
void oat_response_sites(const oat_response *response, const oat_answers *answers, double *target, double *noise);

/* log p(y_i | f) at the f that suits row i best: the log density of the saturated model, for deviances. (Its limit
 * where that f is infinite: 0 for a Bernoulli answer.) */
void oat_response_saturated(const oat_response *response, const oat_answers *answers, double *out);
/* The deviance residual at f: sign(y - its mean or location given f) sqrt(2 (saturated - log p(y | f))). */
void oat_response_residuals(const oat_response *response, const oat_answers *answers, const double *f, double *out);

/* What a start is found from: weighted means over the rows. */
typedef struct oat_answer_moments {
  double mean, variance; /* of y */
  double trials;         /* mean number of trials, 1 without */
  double exposure;       /* mean exposure, 1 without */
  const double *shares;  /* the share of each level, for ordinal alone */
} oat_answer_moments;

/* The constant f and the own parameters that suit such answers, by the method of moments, clipped to where a fit
 * can begin: f is finite also where all answers are alike. `parameters` has oat_likelihood_count numbers, or is
 * NULL. */
void oat_likelihood_start(const oat_likelihood *likelihood, size_t levels, const oat_answer_moments *moments, double *f,
                          double *parameters);

#endif
