/* The simulated one-dimensional set of figures 1 and 2, drawn as the authors' script does: x uniform on 0 to 10, f from
 * a GP with sigma 2 and lengthscale 1, noise of standard deviation 1. */
#ifndef EXPERIMENTS_ONE_D_H
#define EXPERIMENTS_ONE_D_H

#include "draw.h"
#include "paper.h"

typedef struct one_d {
  size_t n;
  double *x, *y;
  oatgp_data *data;
} one_d;

oatgp_status one_d_make(oatgp_context *ctx, bool quick, one_d *out);
void one_d_free(one_d *set);

/* Settings that both figures share: no scaling, mean 0, the true parameters as start. */
void one_d_settings(oatgp_settings *settings);

enum { ONE_D_SEED = 1308, GRID = 401 };

/* Mean and 95 % band of y on GRID points from 0 to 10. */
typedef struct curve {
  double x[GRID], mean[GRID], low[GRID], high[GRID];
} curve;
oatgp_status one_d_predict(oatgp_context *ctx, const oatgp_model *model, curve *out);

#endif
