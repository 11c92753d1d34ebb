/* Scaling of the inputs, kept with a model and applied to all its data: x' = (x - centre) / scale. */
#ifndef OAT_SCALING_H
#define OAT_SCALING_H

#include "data/data.h"
#include "util/lanes.h"

typedef struct oat_scaling {
  size_t d;                 /* inputs that are kept: those that vary */
  size_t *column;           /* d: which of the data's inputs each is */
  bool *category;           /* d: a category, whose codes are not scaled */
  double *centre, *scale;   /* d */
  double *middle, *spread;  /* d: mean and sd of x' over the training rows: 0 and 1 when inputs are standardised */
  double *lowest, *highest; /* d: range of x' */
} oat_scaling;

/* Of n values, without overflow or loss for values of any size. */
void oat_describe(size_t n, oat_column x, int threads, oat_description *out);
/* The same for a column, as oatgp_data_columns counts them; for data in files it is already known. */
void oat_describe_column(const oatgp_data *data, size_t column, int threads, oat_description *out);
/* Computes it once for all columns of data in files, in three passes over the files. */
oatgp_status oat_describe_streamed(oatgp_context *ctx, oatgp_data *data, int threads);

/* From the training data: by mean and sd (n - 1), or, with standardise false, left as they are. Constant inputs are
 * dropped with a note; if no input varies, it is an error. */
oatgp_status oat_scaling_make(oatgp_context *ctx, const oatgp_data *data, bool standardise, oat_scaling *out);
/* x' of these rows, column-major with columns ld apart; input j of the scaling is input column[j] of the data, or input
 * j if column is NULL. recode has the new codes for each input whose codes differ from those of the scaling; NULL:
 * there is no such input. */
void oat_scaling_apply(const oat_scaling *scaling, const size_t *column, double *const *recode,
                       const oat_data_part *rows, double *out, size_t ld);
void oat_scaling_clear(oat_scaling *scaling);

#endif
