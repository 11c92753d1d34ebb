/* From data and settings to a problem that can be optimised: scaled rows, the start, what is free. The target is divided by a
 * power of two near its spread, so that limits and tolerances mean the same in any unit; no digit changes by that. */
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
  const oat_kernel *kernel; /* its own, or that of `from` */
  const oat_likelihood *likelihood; /* NULL: Gaussian */
  size_t levels;                    /* of an ordinal answer, else 0 */
  oat_scaling scaling;
  double **recode; /* of a model that the fit goes on from: what becomes of the codes of categories, else NULL */
  size_t p;        /* columns of the mean's basis: none; 1; or 1 and the inputs */
  double mean;     /* subtracted from y before anything is estimated */
  double y_scale;  /* power of two */
  oat_rows *rows;
  double *low, *high;   /* d: box of the knots */
  bool *free;           /* as many as theta */
  double *least, *most; /* as many: what the settings keep it between; 0 and infinity: nothing */
  oat_point start;
  const struct oat_strategy *strategy;
  size_t neighbours;       /* that the fit has chosen; 0: those of the settings */
  size_t k, capacity;      /* knots of the start, and the most that the fit may have */
  const oatgp_data *knots; /* given by the caller, or NULL */
  const oatgp_model *from; /* that the fit goes on from, or NULL */
  size_t *order;           /* of knots that were given, as many: the place that each had there; NULL for others */
  oat_rng rng;
} oat_setup;

/* data needs a target. knots may be NULL: then settings->knots says how many and how. To be cleared after a failure, too. */
oatgp_status oat_setup_make(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                            oat_setup *setup);
/* To fit on from a model: its approx, kernel, scaling, mean and unit, starting where it is. */
oatgp_status oat_setup_again(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_settings *settings,
                             oat_setup *setup);
/* What finds the knots, of settings, approx, kernel, knots and from alone. */
const struct oat_strategy *oat_setup_strategy(const oat_setup *setup);
/* The rows, copied, in the order that neighbours need. */
oatgp_status oat_setup_ordered(oatgp_context *ctx, const oat_setup *setup, oat_rows **out);
/* The kernel with the names that the inputs have in the data. The caller releases it. */
oatgp_status oat_setup_copy_kernel(oatgp_context *ctx, const oat_setup *setup, const oat_kernel **out);
/* Neighbours of each row beside the knots. */
size_t oat_setup_neighbours(const oat_setup *setup);
/* Those of a point that is predicted. */
size_t oat_setup_near(const oat_setup *setup);
/* A new start for another try: random parameters around the first ones, knots drawn again. */
oatgp_status oat_setup_shake(oatgp_context *ctx, oat_setup *setup, oat_point *start);
oat_objective_config oat_setup_objective(const oat_setup *setup);
void oat_setup_clear(oat_setup *setup);

/* An error if the knots cannot be moved by their gradient with this kernel. */
oatgp_status oat_setup_check_moving(oatgp_context *ctx, const oat_setup *setup);

/* ---- answers that are not Gaussian (answers.c) ------------------------------------------------------------------------------------ */

/* The likelihood that the settings name, its levels, and whether every answer of the data is one that it can have. */
oatgp_status oat_setup_likelihood(oatgp_context *ctx, oat_setup *setup);
/* The kernel with the likelihood's own parameters behind its own; `spread` is that of the target. */
oatgp_status oat_setup_own_parameters(oatgp_context *ctx, oat_setup *setup, double spread);

/* The objective in the data's units. */
double oat_setup_objective_value(const oat_setup *setup, double scaled);

/* ---- where a fit begins: the part of a setup that is its start; the rows, their scaling and the strategy are there already ------ */

/* Parameters (`spread` is that of the target), knots and room for more, from the settings. */
oatgp_status oat_start_make(oatgp_context *ctx, oat_setup *setup, double spread);
/* Room for the parameters, what is free of them, and the box of the knots. */
oatgp_status oat_start_frame(oatgp_context *ctx, oat_setup *setup);
/* The box reaches as far as the knots of the start do. */
void oat_start_widen(oat_setup *setup);
/* As many knots as the start has, drawn anew as the settings say. */
oatgp_status oat_start_draw(oatgp_context *ctx, oat_setup *setup, double *z, size_t *found);

/* What settings say of parameters by themselves: where they start, and which are free (all that the kernel uses, but for those that `fix`
 * names), and what `range` keeps them between. */
oatgp_status oat_given_lengthscales(oatgp_context *ctx, oat_setup *setup);
oatgp_status oat_given_parameters(oatgp_context *ctx, oat_setup *setup);
oatgp_status oat_given_freedom(oatgp_context *ctx, oat_setup *setup);
oatgp_status oat_given_ranges(oatgp_context *ctx, oat_setup *setup);

/* A setting that is a number, spaces around it allowed. */
bool oat_is_number(const char *text, size_t length, double *value);

#endif
