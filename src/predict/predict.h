/* Predictions and their scores. The public functions check their arguments first. */
#ifndef OAT_PREDICT_H
#define OAT_PREDICT_H

#include "model/model.h"
#include "predict/metrics.h"

oatgp_status oat_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                         const oatgp_prediction *out);
oatgp_status oat_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                            const oatgp_prediction_sd *out);
oatgp_status oat_predict_interval(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  const oatgp_prediction_interval *out);
oatgp_status oat_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean);
oatgp_status oat_predict_gradient(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  const oatgp_prediction_gradient *out);
/* Predicts as if the rows `given`, which have a target, were also known, with the model's parameters and mean. */
oatgp_status oat_predict_given(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                               const oatgp_data *given, const oatgp_prediction_sd *out);
oatgp_status oat_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    double *covariance);
oatgp_status oat_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count,
                                 uint64_t seed, double *samples);
/* Functions drawn from the posterior; `functions` contains their number. */
oatgp_status oat_functions_draw(oatgp_context *ctx, const oatgp_model *model, size_t count, uint64_t seed,
                                oatgp_function **out);
oatgp_status oat_functions_evaluate(oatgp_context *ctx, const oatgp_function *f, const oatgp_data *data, double *values,
                                    double *gradient);
/* The functions m(x) + k(x, Z) w, for columns w of weights (K x count), without neighbours; at the model's own
 * parameters. */
oatgp_status oat_functions_of(oatgp_context *ctx, const oatgp_model *model, size_t count, const double *weights,
                              oatgp_function **out);
/* The mean, and the mean without each of `groups` random groups of the rows or knots: groups + 1 functions. There must
 * be at least as many rows or knots as groups. */
oatgp_status oat_means_without(oatgp_context *ctx, const oatgp_model *model, size_t groups, uint64_t seed,
                               oatgp_function **out);
size_t oat_functions_count(const oatgp_function *f);
/* Why no functions can be drawn from the model, as the end of a sentence; NULL if they can. */
const char *oat_functions_without(const oatgp_model *model);
oatgp_status oat_sensitivity(oatgp_context *ctx, const oatgp_model *model, const oatgp_indices_of *of,
                             oatgp_indices *out);
/* The latent f at the model's own parameters: its mean in the data's unit and its variance in squared units of the
 * model, so that it cannot overflow. `rows` are those of the data in the model's units. */
oatgp_status oat_predict_points(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                                const oatgp_data *data, double *mean, double *variance);
/* The same from the data. */
oatgp_status oat_predict_latent(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean,
                                double *variance);
/* The variance of the noise of a row, in squares of the model's unit; 0 where the likelihood is not Gaussian. */
double oat_predict_noise(const oatgp_model *model, const oatgp_data *data, size_t i);
/* Predictions and draws of the answers themselves, for any likelihood. */
oatgp_status oat_predict_answers(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                 const oatgp_answers *out);
oatgp_status oat_predict_answer_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                        size_t count, uint64_t seed, double *samples);
/* Which effects, and where: `count` of them, beginning with `first`. */
typedef struct oat_effects_of {
  const oatgp_data *data, *over; /* over: NULL for data */
  size_t first, count;
} oat_effects_of;

oatgp_status oat_predict_effects(oatgp_context *ctx, const oatgp_model *model, const oat_effects_of *of,
                                 const oatgp_effect_values *out);
/* weights <- L^-T LB^-T c, without LB for the full GP: the mean is k(x, Z) . weights. */
void oat_predict_weights(const oatgp_model *model, int threads, double *weights);
/* Refuses the first of the rows' values that is not finite. */
oatgp_status oat_predict_check(oatgp_context *ctx, const oatgp_data *data, const double *values, const char *what);
/* The knots of a sparse model in the order that the user sees, in the data's units, and the posterior of f there: into
 * whichever of these is not NULL. */
oatgp_status oat_predict_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd);

/* ---- the posterior of averages of f over groups of points: what a partial dependence is ------------------------ */

/* One value for each group, in the data's units. */
typedef struct oat_averages {
  double *mean, *sd;
} oat_averages;

/* The rows of the data in groups of `size` that follow on one another; their number is a multiple of it. The part of
 * the prior that fic has for each point by itself averages out and is not counted. */
oatgp_status oat_predict_averages(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t size,
                                  const oat_averages *out);

/* ---- scores of predictions of rows whose target is known ------------------------------------------------------- */

/* Predicts and scores; `against` may be NULL. */
oatgp_status oat_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_model *against,
                       oatgp_scores *out);

/* Predictions of held-out rows, in columns of n values: everything that scores need, so that rows predicted by several
 * models can be scored together. Gaussian targets have only the first two columns, unless the model is averaged. */
enum {
  OAT_HELD_MEAN, /* of an observation, as sd */
  OAT_HELD_SD,
  OAT_HELD_GAUSSIAN,
  OAT_HELD_NLP = OAT_HELD_GAUSSIAN, /* -log p(y), integrated over f */
  OAT_HELD_BELOW,                   /* P(Y < y) */
  OAT_HELD_UP_TO,                   /* P(Y <= y) */
  OAT_HELD_DEVIANCE,                /* 2 (log p(y) of the saturated model + nlp) */
  OAT_HELD_RIGHT,                   /* of classes: 1 if the likeliest of them is y, else 0; NaN for other answers */
  OAT_HELD_COLUMNS
};

/* How many columns there are, and how they are scored. */
typedef struct oat_held_form {
  const oat_likelihood *likelihood; /* NULL: Gaussian */
  bool averaged;                    /* by a mixture of Gaussian predictions */
} oat_held_form;
static inline oat_held_form oat_held_form_of(const oatgp_model *model) {
  return (oat_held_form){model->likelihood, model->draw_count > 0};
}
/* Sets the columns of row i of n. */
void oat_held_fill(double *columns, size_t n, size_t i, const double values[OAT_HELD_COLUMNS]);
static inline size_t oat_held_columns(oat_held_form form) {
  return form.likelihood != NULL || form.averaged ? OAT_HELD_COLUMNS : OAT_HELD_GAUSSIAN;
}
/* Predicts rows with a target and fills the columns of the form, which is that of the model, or averaged for a Gaussian
 * model. The target must be possible under the likelihood. */
oatgp_status oat_held_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_held_form form,
                              double *columns);
/* The mean and the variance of f at rows, in the model's unit, the logarithm of the exposure included; for answers that
 * are not Gaussian. */
oatgp_status oat_held_latent(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *m,
                             double *s);
/* The columns of such answers, with f as it is given. */
oatgp_status oat_held_judge(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_latent latent,
                            double *columns);
/* Fill the arrays of `rows` that are not NULL, and the scores. Both arguments may be NULL. The second function is for
 * Gaussian targets. */
oatgp_status oat_held_report(oatgp_context *ctx, oat_held_form form, const oatgp_data *data, const double *columns,
                             const oatgp_held_out_sd *rows, oatgp_scores *scores);
oatgp_status oat_held_gaussian(oatgp_context *ctx, const oatgp_data *data, oat_gaussian observed,
                               const oatgp_held_out_sd *rows, oatgp_scores *scores);

/* ---- leave-one-out: every row as the model predicts it without that row, at the same parameters and knots ------ */

/* The data must be the rows that the model was fitted to; the full GP needs them in the same order. Closed form: O(N
 * K^2), O(N^3) for the full GP, nothing is fitted again. The same bits for any number of threads. */
oatgp_status oat_loo_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                            const oatgp_held_out_sd *rows, oatgp_scores *scores);
/* The same, for answers that are not Gaussian: f at each row without that row, as oat_held_latent gives it with all of
 * them. */
oatgp_status oat_loo_latent(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *m, double *s);
/* The scores that a model keeps, after a fit to these rows of the data; rows with answers have the sites of the fit. */
oatgp_status oat_loo_keep(oatgp_context *ctx, oatgp_model *model, oat_where where, const oat_rows *rows,
                          const oatgp_data *data);

#endif
