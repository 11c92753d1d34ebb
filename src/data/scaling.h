/* Scaling of the inputs, kept with a model and applied to everything it sees: x' = (x - centre) / scale. */
#ifndef OAT_SCALING_H
#define OAT_SCALING_H

#include "data/data.h"
#include "util/lanes.h"

typedef struct oat_scaling {
  size_t d;                 /* inputs that are kept: those that vary */
  size_t *column;           /* d: which of the data's inputs each is */
  bool *category;           /* d: a category, whose codes are left as they are */
  double *centre, *scale;   /* d */
  double *middle, *spread;  /* d: mean and sd of x' over the training rows: 0 and 1 when inputs are standardised */
  double *lowest, *highest; /* d: range of x' */
} oat_scaling;

/* The range of n values, their mean and sd (n - 1; 0 for n = 1), without overflow or loss for values of any size. */
typedef struct oat_description {
  double lowest, highest, mean, sd;
} oat_description;

void oat_describe(size_t n, oat_column x, int threads, oat_description *out);

/* From the training data: by mean and sd (n - 1), or, with standardise false, left as they are. Constant inputs are dropped with a
 * note; that no input varies is an error. */
oatgp_status oat_scaling_make(oatgp_context *ctx, const oatgp_data *data, bool standardise, oat_scaling *out);
/* x' of these rows, in their places of n x d, column-major; input j of the scaling is input column[j] of the data, or
 * input j if column is NULL. recode has, for each input whose codes are not those of the scaling, what becomes of a code; it is NULL if
 * there is none. */
void oat_scaling_apply(const oat_scaling *scaling, const size_t *column, double *const *recode, const oatgp_data *data, oat_span rows,
                       double *out);
void oat_scaling_clear(oat_scaling *scaling);

#endif
