/* Converts a point (parameters and knots) to the optimiser's vector and back. All transforms are here: logarithms of
 * the parameters, and knots in units of the standard deviations of the inputs, kept in a box by bounds or by a logit
 * map. */
#ifndef OAT_PARAMS_H
#define OAT_PARAMS_H

#include "objective/objective.h"

typedef enum oat_box { OAT_BOX_NONE, OAT_BOX_BOUND, OAT_BOX_LOGIT } oat_box;

/* Which parts of a point are free, and the scale of the problem. The target is scaled so that its spread is about 1;
 * `spread` is that of each input (d), low and high the box of its knots (d). */
typedef struct oat_mapping {
  const oat_kernel *kernel;
  size_t d, k;
  const bool *free; /* as many as theta */
  const double *least,
      *most;    /* limits of theta; 0 and infinity: the parameter's own range; NULL: their own range for all */
  size_t first; /* knots from here on are free, those before it stay; k: none is free */
  oat_box box;
  const double *spread, *low, *high;
} oat_mapping;

/* Length of the vector: the free elements of log theta, then the free knots input by input. */
size_t oat_mapping_count(const oat_mapping *mapping);
void oat_mapping_pack(const oat_mapping *mapping, const oat_point *point,
                      double *x); /* a value outside its range moves to the nearest end */
void oat_mapping_unpack(const oat_mapping *mapping, const double *x,
                        oat_point *point); /* parameters that are not free stay */
/* Derivatives in the vector from those in the point. */
void oat_mapping_gradient(const oat_mapping *mapping, const double *x, const oat_gradient *gradient, double *g);
/* Bounds, wide enough to contain x, and ADADELTA's weights of a change of sign. */
void oat_mapping_bounds(const oat_mapping *mapping, const double *x, double *lower, double *upper, double *sign_weight);

#endif
