/* What is said of predictions of rows whose target is known. */
#ifndef OAT_SCORE_H
#define OAT_SCORE_H

#include "predict/metrics.h"
#include "model/model.h"

/* Predicts and scores; `against` may be NULL. */
oatgp_status oat_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_model *against, oatgp_scores *out);
/* All scores but those against another model; nlp has room for n values. */
void oat_score_rows(size_t n, const double *y, oat_gaussian observed, double *nlp, oatgp_scores *out);
/* Rows that were held out when they were predicted: fills the arrays of `rows` that are not NULL, and the scores. Both may be NULL. */
oatgp_status oat_held_out_report(oatgp_context *ctx, const oatgp_data *data, oat_gaussian observed, const oatgp_held_out_sd *rows,
                                 oatgp_scores *scores);

#endif
