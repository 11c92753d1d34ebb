/* The data behind figures and the report: a model, the rows, and its predictions of them. */
#ifndef OAT_FACTS_H
#define OAT_FACTS_H

#include "model/model.h"
#include "util/memory.h"

enum { OAT_MOST_POINTS = 1500, OAT_MOST_WORST = 20 };

typedef struct oat_facts {
  oatgp_context *ctx;
  oat_scratch memory; /* of all arrays and names */
  const oatgp_model *model;
  oatgp_model_info info;
  const char *const *full_name; /* d inputs: for the axes of figures, which shorten what does not fit */
  const char *full_target;      /* the target's name, or "target" */
  const char *expected; /* the predicted quantity, for axes: "predicted", "probability of yes", "expected sales" */
  const char *link;     /* what f is: "the log odds of yes"; NULL for Gaussian answers */
  size_t n_classes;     /* of answers that are classes, else 0 */
  char **classes;       /* their names, shortened */
  char **name, *target; /* for sentences: shortened where they are long */
  size_t d;
  size_t *order;            /* d inputs, the most relevant first; as in the model where one lengthscale serves all */
  double *knots;            /* knots x d in the data's units; NULL for the full GP */
  double *lowest, *highest; /* d: range of the training inputs and the given rows, in the data's units */
  const oatgp_data *data;   /* NULL: no rows, and the fields below are unset */
  const double **input;     /* d columns of the data: copies, since borrowed data have other orders */
  double *mean, *sd, *residual,
      *nlp;              /* n each, of an observation; residual over sd, or the quantile. NULL without a target */
  double *quantile;      /* n: residuals that are standard normal if the model is right; often the same */
  double *below, *up_to; /* n: P(Y < y), P(Y <= y); this and the next not for Gaussian answers */
  double *m, *s;         /* n: mean and variance of f in the model's unit, with the logarithm of the exposure */
  bool left_out;         /* the rows are those of the fit, each predicted without itself */
  oatgp_scores scores;   /* with a target */
  double *effect_share;  /* of each summand of the kernel; NULL if there is one, or there are neighbours */
  oatgp_indices indices; /* Sobol' indices of the inputs, and the inputs by falling total; */
  size_t *by_total;      /* NULL before oat_facts_indices, and where there are none */
  size_t n_shown, n_worst, *shown, *worst; /* rows that are drawn; rows by falling nlp (with a target) */
} oat_facts;

/* The caller frees its memory, even after a failure. The model and the data must outlive it. */
oatgp_status oat_facts_make(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_facts *facts);

/* Computes Sobol' indices if there are several inputs; not with neighbours, which would take long. */
oatgp_status oat_facts_indices(oat_facts *facts);
/* Expected targets of n rows with the given f, in the data's unit and for one trial each; not for Gaussian targets. */
void oat_facts_expect(const oat_facts *facts, size_t n, oat_latent latent, double *mean);
/* Whether the target has two classes. */
bool oat_facts_two_classes(const oat_facts *facts);
/* Whether the target is a whole number or a class. */
bool oat_facts_discrete(const oat_facts *facts);
/* The value at this share of the way from low to high, also where their difference is too large for a number. */
double oat_between(double low, double high, double share);
/* n values from low to high. */
void oat_spread_evenly(size_t n, double low, double high, double *out);
/* A quantile of a binomial distribution, for the band in which a count should be: the least k with P(X <= k) >= level,
 * X ~ Binomial(n, p); 0 < p < 1, 0 < level < 1. O(sqrt n). */
size_t oat_binomial_quantile(size_t n, double p, double level);

#endif
