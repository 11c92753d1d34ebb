/* What the automatic selection (auto.c) and its incumbent (incumbent.c) share. */
#ifndef OAT_AUTO_H
#define OAT_AUTO_H

#include "knots/strategy.h"

static inline size_t oat_auto_rows(const oat_search *search) { return oat_rows_total(search->objective->config.rows); }

/* Whether an exact GP of as many rows as there are is to be the measure, which is so up to `most` of them. With answers that are not
 * Gaussian, it is one with a knot on every row. */
static inline bool oat_auto_exact(const oat_search *search, size_t most) {
  const size_t rows = oat_auto_rows(search);
  return rows <= most && (!oat_rows_have_answers(search->objective->config.rows) || rows <= OAT_ANSWER_KNOTS);
}

/* Nats of all rows together. */
static inline double oat_auto_tolerance(const oat_search *search) { return search->given->tol_row * (double)oat_auto_rows(search); }

/* Evaluates the current model. Knots that cannot be factorised get as little more jitter as that takes. */
oatgp_status oat_auto_evaluate(oat_search *search);

/* Offers the current model, or the exact GP at its parameters: it becomes the incumbent unless an earlier stage
 * predicted the rows clearly better. A model that cannot be evaluated is none. */
oatgp_status oat_incumbent_offer(oat_search *search);
void oat_incumbent_offer_exact(oat_search *search, const oat_optimum *found);
void oat_incumbent_forget(oat_search *search);
/* Whether the exact GP has no more over a constant with noise than chance gives. */
bool oat_incumbent_is_chance(const oat_search *search, const oat_optimum *found);
/* Makes a constant with noise the model, holds its parameters and says so. *evidence becomes that of the constant. */
void oat_incumbent_call_noise(oat_search *search, double *evidence);
/* The incumbent is the result, or a constant if that predicts better. */
oatgp_status oat_incumbent_conclude(oat_search *search);

/* Tries knots and neighbours at the parameters of the exact GP of a subset; they become the incumbent if they predict rows
 * left out better, by the tolerance. *taken: they did. */
oatgp_status oat_auto_neighbours(oat_search *search, bool *taken);

#endif
