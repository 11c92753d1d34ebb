/* Random numbers of some distributions. */
#ifndef OAT_DRAW_H
#define OAT_DRAW_H

#include "util/rng.h"

/* log of a draw of Gamma(shape) with rate 1: a shape near 0 has draws that are smaller than any double. */
double oat_draw_log_gamma(double shape, oat_rng *rng);
double oat_draw_beta(double a, double b, oat_rng *rng);
double oat_draw_poisson(double mean, oat_rng *rng);
double oat_draw_binomial(double trials, double p, oat_rng *rng);

#endif
