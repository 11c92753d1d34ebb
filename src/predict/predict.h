/* Predictions, and what is said of them. The public functions check their arguments first. */
#ifndef OAT_PREDICT_H
#define OAT_PREDICT_H

#include "model/model.h"
#include "predict/metrics.h"

oatgp_status oat_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction *out);
oatgp_status oat_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction_sd *out);
oatgp_status oat_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean);
oatgp_status oat_predict_gradient(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  const oatgp_prediction_gradient *out);
/* As if the rows `given`, which have a target, were known, too: at the model's parameters and mean. */
oatgp_status oat_predict_given(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_data *given,
                               const oatgp_prediction_sd *out);
oatgp_status oat_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *covariance);
oatgp_status oat_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count, uint64_t seed,
                                 double *samples);
/* Functions of the posterior; the count is in them. */
oatgp_status oat_functions_draw(oatgp_context *ctx, const oatgp_model *model, size_t count, uint64_t seed, oatgp_function **out);
oatgp_status oat_functions_evaluate(oatgp_context *ctx, const oatgp_function *f, const oatgp_data *data, double *values, double *gradient);
/* Which effects, and where: from `first` on `count` of them. */
typedef struct oat_effects_of {
  const oatgp_data *data, *over; /* over: NULL for data */
  size_t first, count;
} oat_effects_of;

oatgp_status oat_predict_effects(oatgp_context *ctx, const oatgp_model *model, const oat_effects_of *of, const oatgp_effect_values *out);
/* weights <- L^-T LB^-T c, without LB for the full GP: the mean is k(x, Z) . weights. */
void oat_predict_weights(const oatgp_model *model, int threads, double *weights);
/* Refuses the first of the rows' values that is not finite. */
oatgp_status oat_predict_check(oatgp_context *ctx, const oatgp_data *data, const double *values, const char *what);
/* The knots of a sparse model in the order that the user sees, in the data's units, and the posterior of f there: into
 * whichever of these is not NULL. */
oatgp_status oat_predict_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd);

/* ---- the posterior of averages of f over groups of points: what a partial dependence is ------------------------- */

/* One value for each group, in the data's units. */
typedef struct oat_averages {
  double *mean, *sd;
} oat_averages;

/* The rows of the data in groups of `size` that follow on one another; their number is a multiple of it. The part of
 * the prior that fic has for each point by itself averages out and is not counted. */
oatgp_status oat_predict_averages(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t size,
                                  const oat_averages *out);

/* ---- scores of predictions of rows whose target is known -------------------------------------------------------- */

/* Predicts and scores; `against` may be NULL. */
oatgp_status oat_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_model *against, oatgp_scores *out);
/* Rows that were held out when they were predicted: fills the arrays of `rows` that are not NULL, and the scores. Both
 * may be NULL. */
oatgp_status oat_held_out_report(oatgp_context *ctx, const oatgp_data *data, oat_gaussian observed, const oatgp_held_out_sd *rows,
                                 oatgp_scores *scores);

/* ---- leave-one-out: every row as the model predicts it without that row, at the same parameters and knots ------- */

/* Rows of the data are those that the model was fitted to; the full GP needs them in their order. Closed form: O(N
 * K^2), O(N^3) for the full GP, nothing is fitted again. The same bits for any number of threads. */
oatgp_status oat_loo_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_held_out_sd *rows,
                            oatgp_scores *scores);
/* The scores that a model keeps, after a fit to these rows of the data. */
oatgp_status oat_loo_keep(oatgp_context *ctx, oatgp_model *model, oat_where where, const oat_rows *rows, const oatgp_data *data);

#endif
