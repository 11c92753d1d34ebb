/* E log(1 + exp(f)) for f ~ N(m, s): shared by the likelihoods with a logit. */
#ifndef OAT_HINGE_H
#define OAT_HINGE_H

#include <stdbool.h>

/* Of the function log(1 + exp(f)) and its first two derivatives, at -|m|: there none of them cancels. */
typedef struct oat_hinge {
  double value, first, second; /* all positive */
} oat_hinge;

enum { OAT_HINGE_HALF = 104, OAT_HINGE_COUNT = 2 * OAT_HINGE_HALF, OAT_HINGE_FEW = 24 };

/* The rests of the three functions at f = 0.375 (k - 104), and the nodes for small s with their weights, see
 * hinge.c. */
typedef struct oat_hinge_table {
  bool ready; /* false at first */
  double rest[OAT_HINGE_COUNT], slope[OAT_HINGE_COUNT], curve[OAT_HINGE_COUNT];
  double z[OAT_HINGE_FEW], weight[OAT_HINGE_FEW];
} oat_hinge_table;

oat_hinge oat_hinge_at(oat_hinge_table *table, double m, double s);
/* E of the logistic function. */
double oat_logistic_mean(oat_hinge_table *table, double m, double s);
/* The same from the hinge at m. */
static inline double oat_hinge_share(const oat_hinge *hinge, double m) {
  return m > 0 ? 1 - hinge->first : hinge->first;
}

#endif
