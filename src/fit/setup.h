/* Turns data and settings into a problem that can be optimised: scaled rows, the start, the free parameters. The target
 * is divided by a power of two near its standard deviation, so that limits and tolerances mean the same in any unit;
 * this changes no digit. */
#ifndef OAT_SETUP_H
#define OAT_SETUP_H

#include "data/scaling.h"
#include "objective/params.h"
#include "settings/settings.h"
#include "util/memory.h"
#include "util/rng.h"

typedef struct oat_setup {
  oat_scratch memory;
  const oatgp_data *data; /* borrowed */
  const oatgp_settings *settings;
  const oat_approx *approx;
  const oat_kernel *kernel;         /* its own, or that of `from` */
  const oat_likelihood *likelihood; /* NULL: Gaussian */
  size_t levels;                    /* of an ordinal answer, else 0 */
  oat_scaling scaling;
  double **recode; /* if the fit continues a model: new codes of the categories, else NULL */
  size_t p;        /* columns of the mean's basis: none; 1; or 1 and the inputs */
  double mean;     /* subtracted from y before anything is estimated */
  double y_scale;  /* power of two */
  oat_rows *rows;
  double *low, *high;   /* d: box of the knots */
  bool *free;           /* as many as theta */
  double *least, *most; /* as many: limits from the settings; 0 and infinity: none */
  oat_prior prior;      /* of the parameters that are free */
  oat_point start;
  const struct oat_strategy *strategy;
  size_t neighbours;       /* chosen by the fit; 0: those of the settings */
  size_t k, capacity;      /* knots of the start, and the most that the fit may have */
  const oatgp_data *knots; /* given by the caller, or NULL */
  const oatgp_model *from; /* that the fit continues, or NULL */
  size_t *order;           /* the position of each given knot among the given knots; NULL if none were given */
  oat_rng rng;
} oat_setup;

/* data needs a target. knots may be NULL: then settings->knots says how many and how. Clear it even after a failure. */
oatgp_status oat_setup_make(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                            const oatgp_data *knots, oat_setup *setup);
/* To continue the fit of a model: with its approx, kernel, scaling, mean and unit, starting at its parameters and
 * knots. */
oatgp_status oat_setup_again(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                             const oatgp_settings *settings, oat_setup *setup);
/* The strategy that finds the knots; it depends only on settings, approx, kernel, knots and from. */
const struct oat_strategy *oat_setup_strategy(const oat_setup *setup);
/* The rows, copied, in the order that neighbours need. */
oatgp_status oat_setup_ordered(oatgp_context *ctx, const oat_setup *setup, oat_rows **out);
/* The kernel with the names that the inputs have in the data. The caller releases it. */
oatgp_status oat_setup_copy_kernel(oatgp_context *ctx, const oat_setup *setup, const oat_kernel **out);
/* Neighbours of each row beside the knots. */
size_t oat_setup_neighbours(const oat_setup *setup);
/* Those of a point that is predicted. */
size_t oat_setup_near(const oat_setup *setup);
/* A new start for a restart: random parameters around the first ones, and newly drawn knots. */
oatgp_status oat_setup_shake(oatgp_context *ctx, oat_setup *setup, oat_point *start);
oat_objective_config oat_setup_objective(const oat_setup *setup);
void oat_setup_clear(oat_setup *setup);

/* An error if the knots cannot be moved by their gradient with this kernel. */
oatgp_status oat_setup_check_moving(oatgp_context *ctx, const oat_setup *setup);

/* ---- answers that are not Gaussian (answers.c) ----------------------------------------------------------------- */

/* Finds the likelihood that the settings name, and its levels, and checks that every target of the data is possible
 * under it. */
oatgp_status oat_setup_likelihood(oatgp_context *ctx, oat_setup *setup);
/* The kernel with the likelihood's own parameters behind its own; `spread` is that of the target. */
oatgp_status oat_setup_own_parameters(oatgp_context *ctx, oat_setup *setup, double spread);

/* The objective in the data's units. */
double oat_setup_objective_value(const oat_setup *setup, double scaled);

/* ---- the start of a fit: needs the rows, their scaling and the strategy ---------------------------------------- */

/* Parameters (`spread` is that of the target), knots and room for more, from the settings. */
oatgp_status oat_start_make(oatgp_context *ctx, oat_setup *setup, double spread);
/* Room for the parameters, the flags of the free ones, and the box of the knots. */
oatgp_status oat_start_frame(oatgp_context *ctx, oat_setup *setup);
/* Widens the box to contain the starting knots. */
void oat_start_widen(oat_setup *setup);
/* As many knots as the start has, drawn anew as the settings say. */
oatgp_status oat_start_draw(oatgp_context *ctx, oat_setup *setup, double *z, size_t *found);

/* Reads the parameters from the settings: their starts, which are free (all that the kernel uses, except those that
 * `fix` names), and the limits that `range` sets. */
oatgp_status oat_given_lengthscales(oatgp_context *ctx, oat_setup *setup);
oatgp_status oat_given_parameters(oatgp_context *ctx, oat_setup *setup);
oatgp_status oat_given_freedom(oatgp_context *ctx, oat_setup *setup);
oatgp_status oat_given_ranges(oatgp_context *ctx, oat_setup *setup);

/* The priors of free parameters, by the setting or the default ones; `spread` is that of the target. `text`: "auto", or
 * what a person gives. */
oatgp_status oat_given_priors(oatgp_context *ctx, oat_setup *setup, const char *text, double spread);
/* The priors as such a text, to be freed by the caller. */
oatgp_status oat_setup_prior_text(oatgp_context *ctx, const oat_setup *setup, char **out);

/* ---- lists of names (given.c) ---------------------------------------------------------------------------------- */

/* The part of a list separated by commas that follows *part, the first one after NULL; false at the end. */
bool oat_list_next(const char *list, const char **part, size_t *length);
/* Bytes before the first `stop` that is in no parentheses and no quotes. */
size_t oat_list_span(const char *text, size_t length, char stop);
/* The same part without the blanks around it. */
void oat_list_trim(const char **text, size_t *length);
/* Calls a function for each parameter that a name or a kind stands for; it is an error, which names the setting, if
 * there is none. */
typedef oatgp_status (*oat_act)(oat_setup *setup, size_t place, const void *with);
oatgp_status oat_given_each(oatgp_context *ctx, oat_setup *setup, const char *setting, const char *part, size_t length,
                            oat_act act, const void *with);
/* The divisor that turns a user's value of a parameter into an internal one. */
double oat_given_unit(const oat_setup *setup, size_t place);

/* A setting that is a number, spaces around it allowed. */
bool oat_is_number(const char *text, size_t length, double *value);

#endif
