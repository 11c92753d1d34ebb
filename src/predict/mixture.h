/* Predictions of an averaged model: at each row, a mixture of the normal distributions of its members. */
#ifndef OAT_MIXTURE_H
#define OAT_MIXTURE_H

#include "predict/predict.h"

/* What the members predict at n rows, n values for each member: means in the data's unit, variances of f in squares of
 * the model's unit. */
typedef struct oat_mixture {
  const oatgp_model *model;
  const oatgp_data *data;
  double *mean, *variance;
} oat_mixture;

/* Its arrays belong to `memory`. */
oatgp_status oat_mixture_predict(oat_scratch *memory, const oatgp_model *model, const oatgp_data *data,
                                 oat_mixture *out);
/* The weighted mean of a value of each member, which are n apart. It is exact if all are the same, so a large constant
 * adds no variance. */
double oat_mixture_mean(const oatgp_model *model, size_t n, const double *values);
/* Mean of row i and variances of f and of y, the latter two in squares of the model's unit. */
typedef struct oat_mixture_moments {
  double mean, latent, observed;
} oat_mixture_moments;
oat_mixture_moments oat_mixture_moments_at(const oat_mixture *mixture, size_t i);
/* The ends of the central interval of row i, of f if `latent`, else of y. */
void oat_mixture_interval(const oat_mixture *mixture, size_t i, double probability, bool latent, double *lower,
                          double *upper);
/* For y of the data: -log p(y) and P(Y < y). */
void oat_mixture_judge(const oat_mixture *mixture, size_t i, double *nlp, double *below);

/* Leave-one-out, as oat_loo_report. */
oatgp_status oat_loo_mixture(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                             const oatgp_held_out_sd *rows, oatgp_scores *scores);

/* Draws at rows, as oat_predict_samples makes them. Each is drawn from one member, chosen with probability equal to its
 * weight. */
typedef oatgp_status oat_draw_fn(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count,
                                 uint64_t seed, double *samples);
oatgp_status oat_mixture_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_draw_fn *by,
                                 size_t count, uint64_t seed, double *samples);
/* Chooses the member of each draw. */
void oat_mixture_choose(const oatgp_model *model, size_t count, uint64_t seed, size_t *member);

/* Calls `of` for each member; only the first may send messages. */
typedef oatgp_status oat_member_fn(void *self, const oatgp_model *member, size_t which);
oatgp_status oat_mixture_each(oatgp_context *ctx, const oatgp_model *model, oat_member_fn *of, void *self);
/* Mean and standard deviation of the mixture at each of n places, from those of the members (n x members); in place for
 * the first of them. */
void oat_mixture_join(const oatgp_model *model, size_t n, double *mean, double *sd);

#endif
