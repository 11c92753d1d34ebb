/* Priors of parameters. A prior is the density of a parameter in the unit in which a person gives it. Its logarithm is
 * added to the log evidence, so a fit finds the mode of the posterior of the parameters. */
#ifndef OAT_PRIOR_H
#define OAT_PRIOR_H

#include <stdbool.h>
#include <stddef.h>

enum { OAT_MOST_ARGUMENTS = 2 };

typedef struct oat_family {
  const char *name;
  size_t arguments;
  const char *needs; /* describes the valid arguments, for an error message */
  bool (*allows)(const double *argument);
  /* The log density at x > 0; *slope is its derivative in log x. */
  double (*log_density)(const double *argument, double x, double *slope);
  bool bounded; /* the arguments are the ends of the parameter's range */
} oat_family;

const oat_family *oat_family_find(const char *name, size_t length); /* NULL if there is none */
const oat_family *oat_family_at(size_t index);                      /* NULL past the end */

typedef struct oat_prior_term {
  size_t place; /* in theta */
  double unit;  /* the factor from theta to the unit of the density */
  const oat_family *family;
  double argument[OAT_MOST_ARGUMENTS];
} oat_prior_term;

typedef struct oat_prior {
  size_t count;
  oat_prior_term *term;
  size_t rows; /* rows of the problem. An objective of some of them gets the same share of the prior, so that the prior
                  weighs the same relative to a row. */
} oat_prior;

/* The log density of all terms at theta, `share` times; `share` times its derivatives in log theta are added to
 * `slope`, if that is not NULL. */
double oat_prior_add(const oat_prior *prior, double share, const double *theta, double *slope);

#endif
