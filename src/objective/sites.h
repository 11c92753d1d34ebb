/* The fixed point of the sites of targets that are not Gaussian (../device/cpu/sites.c has its formulas). At the fixed
 * point, the gradient of the evidence lower bound with respect to the parameters of the covariance and the knots is
 * that of the Gaussian model of the sites. */
#ifndef OAT_SITES_H
#define OAT_SITES_H

#include "objective/objective.h"

/* The likelihood with its parameters from theta. */
oat_response oat_objective_response(const oat_objective *objective, const double *theta);
/* One round: the value at the posterior q of the current sites, and the sums over rows under q. */
typedef oatgp_status (*oat_site_round)(oat_objective *objective, void *self, oat_site_look *look, double *value);

/* Moves the sites to their fixed point; objective->look belongs to the last round. They start where the last evaluation
 * left them. OATGP_NUMERIC: the bound has no finite value, or the sites do not settle. */
oatgp_status oat_sites_settle(oat_objective *objective, const oat_point *point, oat_site_round round, void *self,
                              double *value);
/* For a non-Gaussian target: sets the derivatives in the likelihood's own parameters, which the Gaussian rows do not
 * have, and sets that in tau to 0. */
void oat_sites_add_own(const oat_objective *objective, oat_gradient *gradient);

#endif
