/* The table of likelihoods, and the functions over rows that use it. */
#include "likelihood/likelihood.h"

#include <math.h>
#include <string.h>

#include "likelihood/rows.h"
#include "likelihood/special.h"

#define WHOLE "a whole number, 0 or more"

static const oat_likelihood table[] = {
    {OAT_BERNOULLI_LOGIT, "bernoulli-logit", "the log odds of 1", true, false, true, false, false, "0 or 1",
     &oat_rows_bernoulli_logit},
    {OAT_BERNOULLI_PROBIT, "bernoulli-probit", "the normal quantile of the probability of 1", true, false, true, false,
     false, "0 or 1", &oat_rows_bernoulli_probit},
    {OAT_BINOMIAL_LOGIT, "binomial-logit", "the log odds of a success", true, true, true, false, false,
     "a whole number from 0 to its trials", &oat_rows_binomial_logit},
    {OAT_POISSON, "poisson", "the logarithm of the mean", true, false, true, false, true, WHOLE, &oat_rows_poisson},
    {OAT_NEGATIVE_BINOMIAL, "negative-binomial", "the logarithm of the mean", true, false, true, false, true, WHOLE,
     &oat_rows_negative_binomial},
    {OAT_GAMMA, "gamma", "the logarithm of the mean", true, false, false, false, true, "a number above 0",
     &oat_rows_gamma},
    {OAT_STUDENT_T, "student-t", "the location", false, false, false, false, false, "a finite number",
     &oat_rows_student_t},
    {OAT_BETA, "beta", "the log odds of the mean", false, false, false, false, false,
     "a number between 0 and 1, both excluded", &oat_rows_beta},
    {OAT_ORDINAL, "ordinal", "the position on the scale that the levels divide", true, false, true, true, false,
     "a whole number from 0 to one less than the number of levels", &oat_rows_ordinal},
};

_Static_assert(sizeof table / sizeof *table == OAT_LIKELIHOODS, "each likelihood has its row");

const oat_likelihood *oat_likelihood_at(size_t index) { return index < OAT_LIKELIHOODS ? &table[index] : NULL; }

const oat_likelihood *oat_likelihood_find(const char *name) {
  for (size_t i = 0; i < OAT_LIKELIHOODS; i++) {
    if (strcmp(table[i].name, name) == 0) {
      return &table[i];
    }
  }
  return NULL;
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

/* An own parameter and where it starts. */
typedef struct own {
  oat_parameter is;
  double start;
} own;

static const own shape = {{"shape", OAT_UNIT_NONE, OAT_ALL_INPUTS, 1e-3, 1e5, true}, 1};
static const own scale_and_degrees[] = {{{"scale", OAT_UNIT_TARGET, OAT_ALL_INPUTS, 1e-5, 1e5, true}, 0.5},
                                        {{"degrees", OAT_UNIT_NONE, OAT_ALL_INPUTS, 1, 1e4, true}, 4}};

#define TEN(tens)                                                                                                 \
  "gap" tens "0", "gap" tens "1", "gap" tens "2", "gap" tens "3", "gap" tens "4", "gap" tens "5", "gap" tens "6", \
      "gap" tens "7", "gap" tens "8", "gap" tens "9"
static const char *const gap_names[OAT_OWN_MOST] = {"gap1",   "gap2",   "gap3",  "gap4",   "gap5",   "gap6",
                                                    "gap7",   "gap8",   "gap9",  TEN("1"), TEN("2"), TEN("3"),
                                                    TEN("4"), TEN("5"), "gap60", "gap61",  "gap62"};

size_t oat_likelihood_count(const oat_likelihood *likelihood, size_t levels) {
  switch (likelihood->id) {
    case OAT_NEGATIVE_BINOMIAL:
    case OAT_GAMMA:
    case OAT_BETA:
      return 1;
    case OAT_STUDENT_T:
      return 2;
    case OAT_ORDINAL:
      return levels - 2;
    default:
      return 0;
  }
}

static own own_at(const oat_likelihood *likelihood, size_t place) {
  if (likelihood->id == OAT_ORDINAL) {
    return (own){{gap_names[place], OAT_UNIT_NONE, OAT_ALL_INPUTS, 1e-3, 1e3, true}, 1};
  }
  return likelihood->id == OAT_STUDENT_T ? scale_and_degrees[place] : shape;
}

oat_parameter oat_likelihood_parameter(const oat_likelihood *likelihood, size_t place) {
  return own_at(likelihood, place).is;
}

double oat_likelihood_parameter_start(const oat_likelihood *likelihood, size_t place) {
  return own_at(likelihood, place).start;
}

void oat_likelihood_start(const oat_likelihood *likelihood, size_t levels, const oat_answer_moments *moments, double *f,
                          double *parameters) {
  double unwanted[OAT_OWN_MOST];
  *f = likelihood->rows->start(levels, moments, parameters != NULL ? parameters : unwanted);
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

bool oat_answer_valid(const oat_likelihood *likelihood, size_t levels, double y, double trials) {
  return likelihood->rows->valid(levels, y, trials);
}

/* ---- functions over rows --------------------------------------------------------------------------------------- */

static oat_belief belief_of(const oat_latent *latent, size_t i) { return (oat_belief){latent->m[i], latent->s[i]}; }

static const struct oat_row_functions *rows_of(const oat_response *response) { return response->likelihood->rows; }

void oat_response_expect(const oat_response *response, const oat_answers *answers, const oat_latent *latent,
                         const oat_expectations *out) {
  const oat_expect_call call = {response, answers, latent, out};
  rows_of(response)->expect(&call);
}

void oat_response_log_density(const oat_response *response, const oat_answers *answers, const double *f, double *out) {
  oat_hinge_table hinge = {.ready = false};
  const oat_row_call call = {response, &hinge};
  for (size_t i = 0; i < answers->n; i++) {
    out[i] = oat_bounded(rows_of(response)->curve(&call, oat_answer_of(answers, i), f[i]).value);
  }
}

void oat_response_predictive(const oat_response *response, const oat_answers *answers, const oat_latent *latent,
                             double *out) {
  oat_hinge_table hinge = {.ready = false};
  const oat_row_call call = {response, &hinge};
  for (size_t i = 0; i < answers->n; i++) {
    out[i] = oat_bounded(rows_of(response)->predictive(&call, oat_answer_of(answers, i), belief_of(latent, i)));
  }
}

void oat_response_moments(const oat_response *response, const oat_answers *answers, const oat_latent *latent,
                          double *mean, double *variance) {
  oat_hinge_table hinge = {.ready = false};
  const oat_row_call call = {response, &hinge};
  for (size_t i = 0; i < answers->n; i++) {
    const oat_spread spread = rows_of(response)->moments(&call, oat_answer_of(answers, i).trials, belief_of(latent, i));
    if (mean != NULL) {
      mean[i] = spread.mean;
    }
    if (variance != NULL) {
      variance[i] = spread.variance;
    }
  }
}

void oat_response_cdf(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double *out) {
  oat_hinge_table hinge = {.ready = false};
  const oat_row_call call = {response, &hinge};
  const bool discrete = response->likelihood->discrete;
  for (size_t i = 0; i < answers->n; i++) {
    oat_answer answer = oat_answer_of(answers, i);
    answer.y = discrete ? floor(answer.y) : answer.y;
    out[i] = discrete && answer.y < 0 ? 0 : rows_of(response)->cdf(&call, answer, belief_of(latent, i));
  }
}

void oat_response_quantile(const oat_response *response, const oat_answers *answers, const oat_latent *latent, double p,
                           double *y) {
  oat_hinge_table hinge = {.ready = false};
  const oat_row_call call = {response, &hinge};
  for (size_t i = 0; i < answers->n; i++) {
    y[i] = rows_of(response)->quantile(&call, oat_answer_of(answers, i).trials, belief_of(latent, i), p);
  }
}

void oat_response_levels(const oat_response *response, size_t n, const oat_latent *latent, double *out) {
  const oat_row_call call = {response, NULL}; /* the levels need no table */
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < response->levels; j++) {
      out[i + j * n] = exp(rows_of(response)->predictive(&call, (oat_answer){(double)j, 1}, belief_of(latent, i)));
    }
  }
}

double oat_response_draw(const oat_response *response, double f, double trials, oat_rng *rng) {
  return rows_of(response)->draw(response, f, trials, rng);
}

void oat_response_sites(const oat_response *response, const oat_answers *answers, double *target, double *noise) {
  const oat_row_call call = {response, NULL};
  for (size_t i = 0; i < answers->n; i++) {
    const oat_spread site = rows_of(response)->site(&call, oat_answer_of(answers, i));
    target[i] = site.mean;
    noise[i] = site.variance;
  }
}

void oat_response_saturated(const oat_response *response, const oat_answers *answers, double *out) {
  const oat_row_call call = {response, NULL};
  for (size_t i = 0; i < answers->n; i++) {
    out[i] = rows_of(response)->saturated(&call, oat_answer_of(answers, i));
  }
}
