/* The models of the paper as rows of a table: they differ in alpha, in the penalty and in what prediction adds. */
#ifndef OAT_APPROX_H
#define OAT_APPROX_H

#include "device/device.h"

typedef struct oat_approx {
  const char *name;
  bool sparse;  /* has knots */
  bool power;   /* alpha is the setting, not the number below */
  double alpha; /* lambda_i = n_i + alpha g_i */
  bool trace;   /* penalty -1/2 sum g_i / n_i, which makes the objective a lower bound of the log evidence */
  oat_residual residual;
} oat_approx;

/* Whether the noise of the rows is theirs alone (alpha = 0). Elsewhere what the knots leave adds to it, so that tau may go to 0. */
static inline bool oat_approx_plain_noise(const oat_approx *approx) { return approx->sparse && !approx->power && approx->alpha == 0; }

const oat_approx *oat_approx_find(const char *name); /* NULL if there is none */
const oat_approx *oat_approx_at(size_t index);       /* NULL past the end */

#endif
