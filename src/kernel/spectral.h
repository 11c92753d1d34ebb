/* Random frequencies of stationary kernels (Bochner): k(x, z) = k(0) E cos(w . (x - z)) over the w that are drawn here. */
#ifndef OAT_SPECTRAL_H
#define OAT_SPECTRAL_H

#include "kernel/kernel.h"
#include "util/rng.h"

/* NULL if the covariance has a spectral form here: a kernel of the list, or an expression of se, matern*, rq, periodic, cosine and constant.
 * Else the name of a leaf that has none. */
const char *oat_spectral_without(const oat_covariance *cov);
/* w <- a random frequency, d numbers, in radians for each unit of the inputs. */
void oat_spectral_draw(const oat_covariance *cov, oat_rng *rng, double *w);

#endif
