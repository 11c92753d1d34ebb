/* The fixed point of the sites of rows with answers that are not Gaussian (../device/cpu/sites.c has its formulas). At the fixed point the
 * gradient of the evidence lower bound in the covariance's parameters and in the knots is that of the Gaussian rows which the sites are. */
#ifndef OAT_SITES_H
#define OAT_SITES_H

#include "objective/objective.h"

/* The answers' likelihood with the parameters that theta has. */
oat_response oat_objective_response(const oat_objective *objective, const double *theta);
/* One round: the value at the posterior q of the present sites, and what the rows say of it. */
typedef oatgp_status (*oat_site_round)(oat_objective *objective, void *self, oat_site_look *look, double *value);

/* Moves the sites until q asks for no others; objective->look is of the last round. They begin where the last evaluation left them.
 * OATGP_NUMERIC: the bound has no finite value, or the sites do not settle. */
oatgp_status oat_sites_settle(oat_objective *objective, const oat_point *point, oat_site_round round, void *self, double *value);
/* Of rows with answers: the derivatives in the likelihood's own parameters, of which the Gaussian rows know nothing, and none in tau. */
void oat_sites_add_own(const oat_objective *objective, oat_gradient *gradient);

#endif
