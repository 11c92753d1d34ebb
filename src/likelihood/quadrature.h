/* Integrals over f.
 *
 * All of them are sums over equidistant nodes. For a function that is analytic in a strip |Im f| < d around the real
 * line and decays at both ends, the error falls as exp(-2 pi d / step), and for a Gaussian factor of deviation sd as
 * exp(-2 (pi sd / step)^2): with a step of 0.7 sd that is 1e-17. Gauss-Hermite nodes are far apart where sd is large,
 * and hundreds of them are needed where dozens of these suffice: log(1 + exp(f)) has its singularities at +-i pi for
 * any sd. */
#ifndef OAT_QUADRATURE_H
#define OAT_QUADRATURE_H

#include <stddef.h>

#include "likelihood/rows.h"

/* Nodes are at most 8.4 deviations from the mean, beyond which there is 5e-17 of the probability, and at most 0.4
 * apart in f: for functions that are analytic for |Im f| < 2.8. Their number is a multiple of 8, for the inner
 * loops. */
enum { OAT_NODES_AT_ONCE = 64, OAT_NODES_MOST = 1024 };
#define OAT_REACH 8.4

/* A function and its derivatives at some nodes f; `extra` is any other function. */
typedef struct oat_nodes {
  double f[OAT_NODES_AT_ONCE], value[OAT_NODES_AT_ONCE], first[OAT_NODES_AT_ONCE], second[OAT_NODES_AT_ONCE],
      extra[OAT_NODES_AT_ONCE];
} oat_nodes;

typedef void (*oat_nodes_fn)(const void *row, size_t n, oat_nodes *at);

typedef struct oat_expected {
  oat_curve curve; /* of the value, and of the derivatives */
  double extra;
} oat_expected;

/* Expectations over N(m, s) of the four arrays that fn fills in for the nodes f. */
oat_expected oat_expect_nodes(oat_belief belief, oat_nodes_fn fn, const void *row);

/* An integrand that is positive, by its logarithm. Outside [low, high] it only falls. The sum starts at `middle`,
 * inside, and ends on both sides when the terms are negligible. The step is halved until the result does not change. */
typedef struct oat_integrand {
  double (*log_value)(const void *with, double x);
  const void *with;
  double low, middle, high, step;
} oat_integrand;

/* log of the integral over the real line. */
double oat_log_integral(const oat_integrand *integrand);

#endif
