/* A fitted model: all that prediction needs, and how it came about. A sparse model holds no training row; the full GP holds
 * its scaled inputs and residuals and factorises when it is made or loaded. */
#ifndef OAT_MODEL_H
#define OAT_MODEL_H

#include "data/scaling.h"
#include "tensors/tensors.h"
#include "objective/objective.h"

/* Texts kept with a model. */
enum {
  OAT_TEXT_VERSION,
  OAT_TEXT_APPROX,
  OAT_TEXT_KERNEL,
  OAT_TEXT_OPTIMIZER,
  OAT_TEXT_SELECT,
  OAT_TEXT_TARGET,
  OAT_TEXT_MEAN,
  OAT_TEXT_COMMAND,
  OAT_TEXT_SETTINGS,
  OAT_TEXT_FINGERPRINT,
  OAT_TEXT_WEIGHTS,
  OAT_TEXT_NOISE,
  OAT_TEXTS
};

/* Numbers kept with a model. */
enum {
  OAT_NUMBER_N,
  OAT_NUMBER_ALPHA,
  OAT_NUMBER_JITTER,
  OAT_NUMBER_JITTER_ABSOLUTE,
  OAT_NUMBER_OBJECTIVE,
  OAT_NUMBER_SECONDS,
  OAT_NUMBER_ITERATIONS,
  OAT_NUMBER_EVALUATIONS,
  OAT_NUMBER_REJECTED,
  OAT_NUMBER_RESTARTS,
  OAT_NUMBER_SEED,
  OAT_NUMBER_STOP,
  OAT_NUMBER_MEAN,                                /* subtracted from y */
  OAT_NUMBER_Y_SCALE,                             /* then y was divided by this */
  OAT_NUMBER_HEADER,                              /* whether input names came from a header */
  OAT_NUMBER_COLUMNS,                             /* of the training file, or 0 */
  OAT_NUMBER_OPTIONAL,                            /* from here on: NaN where it is not known, and then not in the file */
  OAT_NUMBER_TARGET_COLUMN = OAT_NUMBER_OPTIONAL, /* in the training file, from 1 */
  OAT_NUMBER_WEIGHTS_COLUMN,
  OAT_NUMBER_NOISE_COLUMN,
  OAT_NUMBER_OF_ROWS, /* from here on: about the rows of the fit, not known after an update */
  OAT_NUMBER_LOO_MEAN_NLP = OAT_NUMBER_OF_ROWS,
  OAT_NUMBER_LOO_RMSE,
  OAT_NUMBER_LOO_COVERAGE95,
  OAT_NUMBER_LOWER, /* bounds of the log evidence */
  OAT_NUMBER_UPPER,
  OAT_NUMBERS
};

/* Numbers of each row of the selection's record; the knot's position in the data's units follows. */
enum {
  OAT_SELECTION_KEPT,
  OAT_SELECTION_KNOTS, /* that the model has with it */
  OAT_SELECTION_OBJECTIVE,
  OAT_SELECTION_GAIN,
  OAT_SELECTION_PREDICTED, /* gain at fixed parameters that the proposal promised */
  OAT_SELECTION_TRIED,     /* candidates looked at */
  OAT_SELECTION_EVALUATIONS,
  OAT_SELECTION_SECONDS,
  OAT_SELECTION_WIDTH
};

struct oatgp_model {
  const oat_approx *approx;
  const oat_kernel *kernel;
  char *text[OAT_TEXTS]; /* may be NULL */
  double number[OAT_NUMBERS];
  size_t d, k, p;      /* inputs, knots (rows for the full GP), coefficients of the mean */
  oat_scaling scaling; /* of d inputs; column is 0, 1, .. */
  char **names;        /* d */
  double *positions;   /* d: columns in the training file, from 1, or NULL */
  double *theta;       /* scaled target */
  double *z;           /* k x d, scaled: knots, or all rows of the full GP */
  double *order;       /* k: the place of each knot in the order that the user sees; NULL if it is this one */
  double *l, *lb, *c;  /* factors; lb NULL for the full GP */
  double *coefficient; /* p */
  double *sums;        /* over its rows (oat_sums), NULL for the full GP */
  size_t sums_count;
  double *r, *noise; /* full GP only, n: residual and the row's noise variance, scaled */
  double *history;   /* history_count x 3 */
  size_t history_count;
  double *selection; /* selection_count x (OAT_SELECTION_WIDTH + d): every knot that was proposed, kept or dropped */
  size_t selection_count;
  double *slopes; /* for the user: made by oat_model_finish */
};

/* Allocates the arrays for d, k, p, kernel and approx, which are set already. */
oatgp_status oat_model_allocate(oatgp_context *ctx, oatgp_model *model);
/* Checks and makes what is derived: slopes and, for the full GP, its factor. The same after a fit and after loading. */
oatgp_status oat_model_finish(oatgp_context *ctx, oatgp_model *model);
/* Room for the scaling of d inputs, to be cleared by the caller also after a failure; column is 0, 1, .. */
oatgp_status oat_model_allocate_scaling(oatgp_context *ctx, oat_scaling *scaling, size_t d);
/* All but the columns; both have the same d. */
void oat_model_copy_scaling(const oat_scaling *from, oat_scaling *to);
/* The prior mean at rows, in the data's units. */
oatgp_status oat_model_prior_mean(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, double *mean);
/* Rows that are predicted together. A power of two, so that rows which come in multiples of 512 fall into the same blocks, and have the
 * same bits, wherever the data are cut. */
static inline size_t oat_model_block(const oatgp_model *model) { return model->k < 64 ? 512 : 256; }
/* A device that predicts with the model. */
static inline oat_device_config oat_model_device(const oatgp_model *model, oat_where where) {
  return (oat_device_config){.max_knots = model->k, .block = oat_model_block(model), .where = where};
}
/* The sparse model (or the full GP as one whose knots are its rows) for a device. */
oat_sparse oat_model_sparse(const oatgp_model *model);

/* The model file, on disk and in memory. */
oatgp_status oat_model_write(oatgp_context *ctx, const oatgp_model *model, const char *path);
oatgp_status oat_model_read(oatgp_context *ctx, const char *path, oatgp_model **out);
oatgp_status oat_model_pack(oatgp_context *ctx, const oatgp_model *model, oat_bytes *out);
oatgp_status oat_model_unpack(oatgp_context *ctx, size_t size, const unsigned char *bytes, oatgp_model **out);

#endif
