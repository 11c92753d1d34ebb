/* A fitted model: everything that prediction needs, and a record of the fit. A sparse model holds no training rows
 * unless it has neighbours or is averaged. The full GP holds its scaled inputs and residuals, and is factorised when it
 * is made or loaded.
 *
 * An averaged model has draws of its parameters, too. Its predictions are those of the mixture of its members, the
 * models at these draws; they are made from the rows that it keeps. */
#ifndef OAT_MODEL_H
#define OAT_MODEL_H

#include "data/scaling.h"
#include "tensors/tensors.h"
#include "objective/objective.h"
#include "util/memory.h"

#define OAT_MOST_ROWS 0x1p53 /* up to here a double holds every whole number */

/* Texts kept with a model, and their names in its file. */
#define OAT_MODEL_TEXTS(TEXT)           \
  TEXT(VERSION, "version")              \
  TEXT(APPROX, "approx")                \
  TEXT(KERNEL, "kernel")                \
  TEXT(OPTIMIZER, "optimizer")          \
  TEXT(SELECT, "select")                \
  TEXT(TARGET, "target")                \
  TEXT(MEAN, "mean")                    \
  TEXT(COMMAND, "command")              \
  TEXT(SETTINGS, "settings")            \
  TEXT(FINGERPRINT, "data_fingerprint") \
  TEXT(WEIGHTS, "weights")              \
  TEXT(NOISE, "noise_variance")         \
  TEXT(TRIALS, "trials")                \
  TEXT(EXPOSURE, "exposure")            \
  TEXT(CANDIDATES, "kernel_candidates") \
  TEXT(LIKELIHOOD, "likelihood")        \
  TEXT(PRIOR, "prior")

/* Numbers kept with a model, and their names in its file. MEAN is subtracted from y, which is then divided by Y_SCALE;
 * HEADER: whether input names came from a header; COLUMNS: of the training file, or 0; the column of the target is its
 * place there, from 1; LOWER and UPPER bound the log evidence. OBJECTIVE has LOG_PRIOR in it, which is that of the
 * priors. */
#define OAT_MODEL_NUMBERS(NUMBER)               \
  NUMBER(N, "n")                                \
  NUMBER(ALPHA, "alpha")                        \
  NUMBER(JITTER, "jitter")                      \
  NUMBER(JITTER_ABSOLUTE, "jitter_absolute")    \
  NUMBER(OBJECTIVE, "objective")                \
  NUMBER(SECONDS, "seconds")                    \
  NUMBER(ITERATIONS, "iterations")              \
  NUMBER(EVALUATIONS, "evaluations")            \
  NUMBER(REJECTED, "rejected")                  \
  NUMBER(RESTARTS, "restarts")                  \
  NUMBER(SEED, "seed")                          \
  NUMBER(STOP, "stop")                          \
  NUMBER(MEAN, "target_centre")                 \
  NUMBER(Y_SCALE, "target_scale")               \
  NUMBER(HEADER, "has_header")                  \
  NUMBER(COLUMNS, "file_columns")               \
  NUMBER(TARGET_COLUMN, "target_column")        \
  NUMBER(WEIGHTS_COLUMN, "weights_column")      \
  NUMBER(NOISE_COLUMN, "noise_variance_column") \
  NUMBER(TRIALS_COLUMN, "trials_column")        \
  NUMBER(EXPOSURE_COLUMN, "exposure_column")    \
  NUMBER(NEIGHBOURS, "neighbours")              \
  NUMBER(NEAR, "predict_neighbours")            \
  NUMBER(ANSWER_LEVELS, "answer_levels")        \
  NUMBER(LOG_PRIOR, "log_prior")                \
  NUMBER(LOO_MEAN_NLP, "loo_mean_nlp")          \
  NUMBER(LOO_RMSE, "loo_rmse")                  \
  NUMBER(LOO_COVERAGE95, "loo_coverage95")      \
  NUMBER(LOWER, "lower")                        \
  NUMBER(UPPER, "upper")

#define OAT_PLACE_OF_TEXT(NAME, name) OAT_TEXT_##NAME,
#define OAT_PLACE_OF_NUMBER(NAME, name) OAT_NUMBER_##NAME,
enum { OAT_MODEL_TEXTS(OAT_PLACE_OF_TEXT) OAT_TEXTS };
enum {
  OAT_MODEL_NUMBERS(OAT_PLACE_OF_NUMBER) OAT_NUMBERS,
  OAT_NUMBER_OPTIONAL =
      OAT_NUMBER_TARGET_COLUMN,                /* from here on: NaN where it is not known, and then not in the file */
  OAT_NUMBER_OF_ROWS = OAT_NUMBER_LOO_MEAN_NLP /* from here on: about the rows of the fit, not known after an update */
};

/* One for each row of the table of stop codes, and then how many there are. */
enum {
#define OATGP_STOP(NAME, word, sentence) OAT_STOP_##NAME,
#include "oatgp_status.def"
  OAT_STOP_COUNT
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

enum { OAT_MOST_DRAWS = 64 }; /* of the parameters, in an averaged model */

struct oatgp_model {
  oat_scratch memory; /* of all but the texts, the names among them, the two records of the fit and the draws */
  const oat_approx *approx;
  const oat_kernel *kernel;         /* its own */
  const oat_likelihood *likelihood; /* of its answers; NULL: Gaussian */
  char *text[OAT_TEXTS];            /* NULL: none */
  double number[OAT_NUMBERS];
  size_t d, k, p;           /* inputs, knots (rows for the full GP), coefficients of the mean */
  oat_scaling scaling;      /* of d inputs; column is 0, 1, .. */
  char **names;             /* d */
  oat_levels *levels;       /* d: of the inputs that are categories; NULL if none is */
  oat_levels target_levels; /* of a target of classes; count 0 if it holds numbers */
  double *positions;        /* d: columns in the training file, from 1, or NULL */
  double *theta;            /* scaled target */
  double *z;                /* k x d, scaled: knots, or all rows of the full GP */
  double *order;            /* k: the place of each knot in the order that the user sees; NULL if it is this one */
  double *l, *lb, *c;       /* factors; lb NULL for the full GP */
  double *coefficient;      /* p */
  double *sums;             /* over its rows (oat_sums), NULL for the full GP */
  size_t sums_count;
  double *r, *noise;          /* full GP only, n: residual and the row's noise variance, scaled */
  size_t neighbours;          /* of each row beside the knots; 0: none */
  size_t near;                /* of a point that is predicted */
  oat_kept_rows kept;         /* with neighbours or draws: the rows in their order */
  oat_rows *rows, *residuals; /* with neighbours: the same as rows, and less the mean; made by oat_model_finish */
  size_t mark;                /* tells such models apart: made there, too */
  size_t draw_count;          /* 0: predictions are at theta alone */
  double *draws;              /* draw_count x theta */
  double *draw_weights;       /* draw_count, in the same block: their sum is 1 */
  oatgp_model **members;      /* draw_count: the model at each draw; made by oat_model_finish */
  double *history;            /* history_count x 3 */
  size_t history_count;
  double *selection; /* selection_count x (OAT_SELECTION_WIDTH + d): every knot that was proposed, kept or dropped */
  size_t selection_count;
  size_t effect_count;         /* the summands of the kernel */
  oatgp_effect *effects;       /* for the user */
  double *slopes;              /* for the user: made by oat_model_finish */
  oatgp_parameter *parameters; /* of an expression, likewise */
  oatgp_parameter *own;        /* of the likelihood, likewise */
};

/* Levels of an ordinal answer, else 0. */
/* The part of the objective that is the log density of the priors; 0 without any. */
static inline double oat_model_log_prior(const oatgp_model *model) {
  return isnan(model->number[OAT_NUMBER_LOG_PRIOR]) ? 0 : model->number[OAT_NUMBER_LOG_PRIOR];
}

static inline size_t oat_model_answer_levels(const oatgp_model *model) {
  const double levels = model->number[OAT_NUMBER_ANSWER_LEVELS];
  return levels > 0 ? (size_t)levels : 0; /* NaN: none */
}
/* The likelihood with its parameters; not used if it is Gaussian. */
oat_response oat_model_response(const oatgp_model *model);
/* The further parameters of a kernel with this likelihood: names and ranges, no starts. The array has room for the most
 * that there can be. */
oat_further oat_answer_parameters(const oat_likelihood *likelihood, size_t levels, size_t first, oat_parameter *is,
                                  double *start);
/* The likelihood's own parameters for the user: `unit` is that of the target. */
void oat_answer_show(const oat_likelihood *likelihood, size_t levels, const double *own, double unit,
                     oatgp_parameter *out);

/* Allocates the arrays for d, k, p, kernel and approx, which are set already. */
oatgp_status oat_model_allocate(oatgp_context *ctx, oatgp_model *model);
/* Sets the number of neighbours, and of the rows that the model keeps, from its numbers and draw_count. */
void oat_model_count_neighbours(oatgp_model *model);
/* Whether it keeps rows. */
static inline bool oat_model_keeps(const oatgp_model *model) { return model->neighbours > 0 || model->draw_count > 0; }
/* Copies the rows that the model keeps from now on. */
oatgp_status oat_model_keep_rows(oatgp_context *ctx, oatgp_model *model, const oat_rows *rows);
/* Parameters, factors and coefficients of an evaluation of the objective at this point. */
void oat_model_take(const oat_objective *objective, const oat_point *point, oatgp_model *model);
/* Checks the model and computes what is derived: slopes, the factor of the full GP, and the members of an averaged
 * model. Called after a fit and after loading. */
oatgp_status oat_model_finish(oatgp_context *ctx, oatgp_model *model);
/* Room for so many draws; it frees those that the model has. */
oatgp_status oat_model_allocate_draws(oatgp_context *ctx, oatgp_model *model, size_t count);
/* The same draws with the same weights. */
oatgp_status oat_model_copy_draws(oatgp_context *ctx, const oatgp_model *from, oatgp_model *to);
/* The members, from the draws and the rows that it keeps: an evaluation for each. */
oatgp_status oat_model_make_members(oatgp_context *ctx, oatgp_model *model);
void oat_model_free_draws(oatgp_model *model);
/* Sets the slopes and the parameters for the user from the model's own. */
void oat_model_translate(oatgp_model *model);
/* The full GP with room for this many rows: a copy of the other except for its rows, their factor and c. */
oatgp_status oat_model_like(oatgp_context *ctx, const oatgp_model *from, size_t rows, oatgp_model **out);
/* The same model again, in the time that copying takes. */
oatgp_status oat_model_copy(oatgp_context *ctx, const oatgp_model *from, oatgp_model **out);
/* Room for the scaling of d inputs, to be cleared by the caller also after a failure; column is 0, 1, .. */
oatgp_status oat_model_allocate_scaling(oatgp_context *ctx, oat_scaling *scaling, size_t d);
/* All but the columns; both have the same d. */
void oat_model_copy_scaling(const oat_scaling *from, oat_scaling *to);
/* The prior mean at rows, in the data's units. */
oatgp_status oat_model_prior_mean(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, double *mean);
/* A device that predicts with the model. Its block is a power of two, so that rows in multiples of 512 fall into the
 * same blocks, and have the same bits, wherever the data are divided. */
static inline oat_device_config oat_model_device(const oatgp_model *model, oat_where where) {
  return (oat_device_config){.max_knots = model->k,
                             .block = model->k < 64 ? 512 : 256,
                             .where = where,
                             .kernel = oat_kernel_size_of(model->kernel)};
}
/* The same with the rows of a model that has neighbours. */
static inline oat_device_config oat_model_rows_device(const oatgp_model *model, oat_where where) {
  return (oat_device_config){.max_knots = model->k,
                             .where = where,
                             .neighbours = model->near,
                             .kernel = oat_kernel_size_of(model->kernel),
                             .predicts = true,
                             .of = model->mark};
}
/* The sparse model (or the full GP as one whose knots are its rows) for a device. */
oat_sparse oat_model_sparse(const oatgp_model *model);

/* Data prepared for the model: its inputs, scaled; the target minus its prior mean, scaled; the noise of each row.
 * Inputs are matched by name if both have names, and then none may be missing; otherwise by position, if the number of
 * inputs is the same. */
oatgp_status oat_model_match_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    size_t *column);
/* For each input of the model, the new code of each code of the data, in *out, or NULL if the codes are already the
 * model's. Levels that the model does not know come after those that it knows, with a warning. Numbers instead of a
 * category, and the reverse, are refused. */
oatgp_status oat_model_recode(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                              const size_t *column, double ***out);
void oat_model_recode_free(double **recode, size_t d); /* may be called with NULL */
/* The model's levels and, behind them, those of the data that are new; NULL if it has no category. */
oatgp_status oat_model_levels_with(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                   oat_levels **out);
/* A target of classes must have those of the model, in the same order; other data are refused. Codes without names are
 * used unchanged. */
oatgp_status oat_model_match_target(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data);
/* Refuses a target that the likelihood does not allow (NULL: Gaussian, which allows any). */
oatgp_status oat_check_answers(oatgp_context *ctx, const oat_likelihood *likelihood, size_t levels,
                               const oatgp_data *data);
/* Refuses trials and exposures that the likelihood (NULL: Gaussian) does not take. */
oatgp_status oat_check_columns(oatgp_context *ctx, const oat_likelihood *likelihood, const oatgp_data *data);
/* The model's inputs of the data, scaled, as rows without a target. They are found as above. */
oatgp_status oat_model_inputs(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out);
/* Points with the model's inputs and names, from x, n x d column-major in the data's units, which must live as long. */
oatgp_status oat_model_points(oatgp_context *ctx, const oatgp_model *model, size_t n, const double *x,
                              oatgp_data **out);
/* Rows with the target, the basis of the mean and the noise. The target is in the model's unit, minus the prior mean
 * without its estimated part. The data need a target. For the training data, these are exactly the rows of the fit. */
oatgp_status oat_model_rows(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out);

/* The model file, on disk and in memory. */
oatgp_status oat_model_write(oatgp_context *ctx, const oatgp_model *model, const char *path);
oatgp_status oat_model_read(oatgp_context *ctx, const char *path, oatgp_model **out);
oatgp_status oat_model_pack(oatgp_context *ctx, const oatgp_model *model, oat_bytes *out);
oatgp_status oat_model_unpack(oatgp_context *ctx, size_t size, const unsigned char *bytes, oatgp_model **out);

#endif
