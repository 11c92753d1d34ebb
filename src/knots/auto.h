/* What the automatic selection (auto.c) and its incumbent (incumbent.c) share. */
#ifndef OAT_AUTO_H
#define OAT_AUTO_H

#include "knots/strategy.h"

static inline size_t oat_auto_rows(const oat_search *search) { return oat_rows_total(search->objective->config.rows); }

/* Whether the exact GP of all rows is the reference, which is so up to `most` rows. With targets that are not Gaussian,
 * the reference has a knot on every row. */
static inline bool oat_auto_exact(const oat_search *search, size_t most) {
  const size_t rows = oat_auto_rows(search);
  return rows <= most && (!oat_rows_have_answers(search->objective->config.rows) || rows <= OAT_ANSWER_KNOTS);
}

/* The tolerance for all rows together, in nats. */
static inline double oat_auto_tolerance(const oat_search *search) {
  return search->given->tol_row * (double)oat_auto_rows(search);
}

/* The objective that a constant with noise has at the current parameters: its log evidence, and their log prior. */
static inline double oat_auto_constant(const oat_search *search) {
  const double *theta = search->point.theta;
  return oat_objective_constant(search->objective, search->objective->config.rows, theta, NULL) +
         oat_objective_log_prior(search->objective, theta);
}

/* Evaluates the current model. If the knots cannot be factorised, the jitter is raised as little as possible. */
oatgp_status oat_auto_evaluate(oat_search *search);

/* Offers the current model, or the exact GP at its parameters: it becomes the incumbent unless an earlier stage
 * predicted the rows clearly better. A model that cannot be evaluated is ignored. */
oatgp_status oat_incumbent_offer(oat_search *search);
void oat_incumbent_offer_exact(oat_search *search, const oat_optimum *found);
void oat_incumbent_forget(oat_search *search);
/* Whether the exact GP gains no more over a constant with noise than chance would give. */
bool oat_incumbent_may_be_chance(const oat_search *search, const oat_optimum *found);
/* The same, and the rows left out are not predicted better than by chance either. */
bool oat_incumbent_is_chance(const oat_search *search, const oat_optimum *found);
/* Makes a constant with noise the model, fixes its parameters and tells the user. *found then describes the
 * constant. */
void oat_incumbent_call_noise(oat_search *search, oat_optimum *found);
/* Makes the incumbent the result, or a constant if that predicts better. */
oatgp_status oat_incumbent_conclude(oat_search *search);

/* Tries knots and neighbours at the parameters of the exact GP of a subset; they become the incumbent if they predict
 * held-out rows better by the tolerance. *taken: whether they did. */
oatgp_status oat_auto_neighbours(oat_search *search, bool *taken);

#endif
