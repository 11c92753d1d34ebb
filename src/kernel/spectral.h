/* Random frequencies of stationary kernels (Bochner): k(x, z) = k(0) E p cos(w . (x - z)) over the w that are drawn
 * here in turn, with their weights p. */
#ifndef OAT_SPECTRAL_H
#define OAT_SPECTRAL_H

#include "kernel/kernel.h"
#include "util/rng.h"

/* NULL if the covariance has a spectral form here: a kernel of the list, or an expression of se, matern*, rq, periodic,
 * cosine and constant. Else the name of a leaf that has none. */
const char *oat_spectral_without(const oat_covariance *cov);
/* w <- random frequency number 0, 1 .., d numbers, in radians for each unit of the inputs. Returns its weight, between
 * 0 and 2. Each whole turn of OAT_SPECTRAL_TURN numbers has the same distributions. */
enum { OAT_SPECTRAL_TURN = 32 };
double oat_spectral_draw(const oat_covariance *cov, size_t number, oat_rng *rng, double *w);

#endif
