/* The posterior of averages of f over groups of points: what a partial dependence is. */
#ifndef OAT_AVERAGE_H
#define OAT_AVERAGE_H

#include "model/model.h"

/* One value for each group, in the data's units. */
typedef struct oat_averages {
  double *mean, *sd;
} oat_averages;

/* The rows of the data in groups of `size` that follow on one another; their number is a multiple of it. The part of the prior that fic has
 * for each point by itself averages out and is not counted. */
oatgp_status oat_predict_averages(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t size,
                                  const oat_averages *out);

#endif
