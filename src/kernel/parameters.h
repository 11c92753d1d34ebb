/* The parameters of a problem as a table: what each element of theta is. All are positive, and the optimiser works with
 * their logarithms. Model files store theta itself. */
#ifndef OAT_PARAMETERS_H
#define OAT_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

struct oat_kernel;

/* Positions in theta. From OAT_LENGTHSCALE on there are d lengthscales (ard) or one. An expression has its parameters
 * there, in order, and an unused 1 for sigma and shape. The further parameters of the problem come after them. */
enum { OAT_SIGMA, OAT_TAU, OAT_SHAPE, OAT_LENGTHSCALE };

/* What a parameter is measured in. */
typedef enum oat_unit { OAT_UNIT_NONE, OAT_UNIT_TARGET, OAT_UNIT_INPUT } oat_unit;

#define OAT_ALL_INPUTS ((size_t)-1)

typedef struct oat_parameter {
  const char *name; /* also that of the setting it starts from */
  oat_unit unit;
  size_t input;     /* the input that it belongs to, or OAT_ALL_INPUTS */
  double low, high; /* range in its unit: beyond it, predictions no longer change in any digit */
  bool used;        /* the kernel has it; an unused one keeps its start value */
} oat_parameter;

/* Spreads, in the numbers that a fit works with. */
typedef struct oat_units {
  double target;
  size_t d;
  const double *input; /* d */
} oat_units;

/* Length of theta, and of its part that is the covariance's, with tau. */
size_t oat_theta_count(const struct oat_kernel *kernel, size_t d);
size_t oat_covariance_count(const struct oat_kernel *kernel, size_t d);
/* The parameter in a place of theta. */
oat_parameter oat_parameter_at(const struct oat_kernel *kernel, size_t place);
/* Whether it is the standard deviation of the function, or of a term. */
bool oat_parameter_is_sigma(const struct oat_kernel *kernel, size_t place);
/* Whether it is a period. */
bool oat_parameter_is_period(const struct oat_kernel *kernel, size_t place);
/* The parameter's unit as a number: the spread of the target, of its input, or the mean of all inputs' spreads. */
double oat_parameter_unit(const oat_parameter *parameter, const oat_units *units);
/* The default start of a fit: half of the target's variance is noise, and the rows are about a lengthscale apart. */
double oat_parameter_start(const struct oat_kernel *kernel, size_t place, const oat_units *units);

/* theta, or derivatives in its logarithms, by name, as the public structs have it. */
typedef struct oat_theta_fields {
  double sigma, tau, shape;
  size_t lengthscale_count;
  const double *lengthscales; /* in theta */
} oat_theta_fields;

/* Parameters in the target's unit are multiplied by `unit`. For an expression, only tau is set; oat_expression_show has
 * the others. */
oat_theta_fields oat_theta_named(const struct oat_kernel *kernel, size_t d, const double *theta, double unit);

#endif
