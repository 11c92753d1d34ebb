/* oatgp: Gaussian-process regression that chooses its own knots.
 *
 * The library copies what it keeps and never prints, exits or aborts. Every function that can fail returns an
 * oatgp_status; oatgp_last_error() then holds one sentence with the numbers. Pointers named `out` are set only on
 * success. Matrices are row-major unless a comment says otherwise; sizes are in elements. A context and the objects
 * made with it belong to one thread at a time; different contexts are independent, but for the number of threads of the
 * linear algebra, which is one number for the process. Every _free takes NULL. */
#ifndef OATGP_H
#define OATGP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OATGP_API __attribute__((visibility("default")))
#else
#define OATGP_API
#endif

/* ---- status and stop codes ---------------------------------------------------------------------------------- */

typedef enum oatgp_status {
#define OATGP_STATUS(NAME, sentence) OATGP_##NAME,
#include "oatgp_status.def"
} oatgp_status;

/* Why an optimisation ended. */
typedef enum oatgp_stop {
#define OATGP_STOP(NAME, word, sentence) OATGP_STOP_##NAME,
#include "oatgp_status.def"
} oatgp_stop;

OATGP_API const char *oatgp_version(void); /* "0.1.0" */
/* What the library was built with and has found here, one thing at a time: its name ("BLAS", "processor", "threads" ...), or NULL past the
 * last one, and in words what it is. */
OATGP_API const char *oatgp_feature(size_t index, const char **value);
/* What 0 threads stand for (oatgp_context_set_threads), at least 1. */
OATGP_API int oatgp_cores(void);
/* From now on no more than so many in this process, for one that shares the machine with others; 0: no such limit. */
OATGP_API void oatgp_set_cores(int most);
OATGP_API const char *oatgp_status_sentence(oatgp_status status);
OATGP_API const char *oatgp_stop_word(oatgp_stop stop); /* "objective" */
OATGP_API const char *oatgp_stop_sentence(oatgp_stop stop);

/* The text as UTF-8, in `room` bytes with the 0 at its end, without the characters at the end that do not fit:
 * unchanged if it is UTF-8, else read as Windows-1252 (of which Latin-1 is a part), as names of columns are. Returns
 * the bytes that all of it takes, without the 0. */
OATGP_API size_t oatgp_to_utf8(const char *text, char *out, size_t room);
/* Whether the text is one number, as cells and settings have it: digits with an optional sign, decimal point and
 * exponent, whatever the locale; no blanks, no hexadecimal, not infinite. */
OATGP_API int oatgp_is_number(const char *text, double *out);

/* ---- context: the last error and where notes go --------------------------------------------------------------- */

typedef struct oatgp_context oatgp_context;

typedef enum oatgp_level { OATGP_NOTE, OATGP_WARNING } oatgp_level;
typedef void (*oatgp_message_fn)(void *user, oatgp_level level, const char *sentence);

OATGP_API oatgp_context *oatgp_context_create(void); /* NULL when out of memory */
OATGP_API void oatgp_context_free(oatgp_context *ctx);
/* The sentence of the last failure in this context, "" if there was none. Valid until the next call with ctx. */
OATGP_API const char *oatgp_last_error(const oatgp_context *ctx);
/* Notes and warnings (dropped rows, a raised jitter ...) go to fn; NULL, the default, discards them. */
OATGP_API void oatgp_context_set_message(oatgp_context *ctx, oatgp_message_fn fn, void *user);
/* Threads that read, predict and write; oatgp_fit and oatgp_evaluate use settings->threads. 0, the default of both, stands
 * for the cores there are: those that this process may run on and its container has the time of, or what OMP_NUM_THREADS
 * says. A forked child uses one. Processes that work side by side should each be told their part. */
OATGP_API void oatgp_context_set_threads(oatgp_context *ctx, int threads);
/* The device on which predictions, scores, leave-one-out and updates work: a name of --device. "auto", the default, is the
 * fastest one. oatgp_fit, oatgp_evaluate and oatgp_certify use settings->device. OATGP_ARGUMENT if no device has that name.
 * The context keeps the memory of a prediction for the next one. oatgp_context_free and the next fit free it. */
OATGP_API oatgp_status oatgp_context_set_device(oatgp_context *ctx, const char *name);
/* Bytes that joint covariances and draws may take (default 0: what the machine has free). More is refused before it is allocated. */
OATGP_API void oatgp_context_set_memory(oatgp_context *ctx, int64_t bytes);
/* Whatever takes long says a few times a second, in the thread of the caller, how far it is: what is done, and how much of how much.
 * "reading" is in bytes of the file (total 0: a pipe, whose end is not known), "k-means" in rounds (total: the most there can be),
 * "greedy variance" in knots; "evaluation" (of the full GP), "value", "gradient", "gains", "prediction", "leave-one-out", "product" and "determinant" are in
 * rows. fn must not use ctx. NULL, the default: nobody listens. */
typedef void (*oatgp_progress_fn)(void *user, const char *what, size_t done, size_t total);
OATGP_API void oatgp_context_set_progress(oatgp_context *ctx, oatgp_progress_fn fn, void *user);

/* ---- settings ------------------------------------------------------------------------------------------------- */

/* Every field is a row of oatgp_settings.def. Texts are borrowed: they must live as long as the struct is used. */
typedef struct oatgp_settings {
#define OATGP_REAL(name, value, lowest, highest, verbs, argument, help) double name;
#define OATGP_INT(name, value, lowest, highest, verbs, argument, help) int64_t name;
#define OATGP_BYTES(name, value, verbs, argument, help) int64_t name;
#define OATGP_FLAG(name, value, verbs, help) int name;
#define OATGP_CHOICE(name, value, choices, verbs, help) const char *name;
#define OATGP_TEXT(name, value, verbs, argument, help) const char *name;
#include "oatgp_settings.def"
} oatgp_settings;

typedef enum oatgp_type {
  OATGP_TYPE_REAL,
  OATGP_TYPE_INT,
  OATGP_TYPE_BYTES,
  OATGP_TYPE_FLAG,
  OATGP_TYPE_CHOICE,
  OATGP_TYPE_TEXT
} oatgp_type;

/* One row of the table, for front ends. */
typedef struct oatgp_setting {
  const char *name; /* with underscores */
  oatgp_type type;
  int in_command_only; /* an option of the command, not a field of the struct */
  const char *value;   /* default, as text */
  double lowest, highest;
  const char *choices;  /* "a|b|c" or NULL */
  const char *verbs;    /* "fit,objective" */
  const char *argument; /* "COL", NULL for a flag */
  const char *help;
} oatgp_setting;

OATGP_API size_t oatgp_setting_count(void);
OATGP_API const oatgp_setting *oatgp_setting_at(size_t index); /* NULL past the end */
OATGP_API int oatgp_setting_has_verb(const oatgp_setting *setting, const char *verb);
/* The setting whose name is most like this one, for a suggestion: among the options of a verb, or, with NULL, the library's. */
OATGP_API const oatgp_setting *oatgp_setting_nearest(const char *name, const char *verb);

OATGP_API void oatgp_settings_default(oatgp_settings *settings);
/* Sets one field from text ("1e-3", "yes", "512M"). Unknown names, malformed text and values out of range are refused. */
OATGP_API oatgp_status oatgp_settings_set(oatgp_context *ctx, oatgp_settings *settings, const char *name, const char *value);
/* Checks every field against its range or choices. Done by every function that takes settings. */
OATGP_API oatgp_status oatgp_settings_check(oatgp_context *ctx, const oatgp_settings *settings);
/* 1 if a model with this kernel has the parameter ("sigma", "tau", "lengthscale", "shape"), else 0. Unknown kernels and
 * expressions have none: theirs have names of their own (oatgp_model_info). */
OATGP_API int oatgp_kernel_has(const char *kernel, const char *parameter);

/* ---- data ----------------------------------------------------------------------------------------------------- */

typedef struct oatgp_data oatgp_data;

/* n rows of d inputs, x row-major, y of n values or NULL. Everything must be finite. */
OATGP_API oatgp_status oatgp_data_create(oatgp_context *ctx, size_t n, size_t d, const double *x, const double *y, oatgp_data **out);
/* Values that stay where they are: input j of row i is x[i * row_step + j * input_step] (row-major: d and 1; column-major: 1 and n); y of n
 * values, one after the other, or NULL. */
typedef struct oatgp_view {
  size_t n, d;
  const double *x, *y;
  size_t row_step, input_step;
} oatgp_view;

/* Data without a copy: the values are borrowed and must neither go nor change as long as the data are used. Everything must be finite. */
OATGP_API oatgp_status oatgp_data_borrow(oatgp_context *ctx, const oatgp_view *view, oatgp_data **out);
/* Names of the d inputs (default x1, x2, ...) and of the target (may be NULL), in UTF-8. */
OATGP_API oatgp_status oatgp_data_set_names(oatgp_context *ctx, oatgp_data *data, const char *const *inputs, const char *target);
/* Makes an input, numbered from 0, a category: its values are the codes 0 .. count - 1 of these levels, texts in UTF-8 that differ. Models
 * know levels by their texts: the data of a prediction may have others, in another order. Inputs of text in a file are categories by
 * themselves. */
OATGP_API oatgp_status oatgp_data_set_levels(oatgp_context *ctx, oatgp_data *data, size_t input, size_t count, const char *const *levels);
/* How many levels the input has, 0 if it holds numbers; the text of a level, NULL past the end. */
OATGP_API size_t oatgp_data_level_count(const oatgp_data *data, size_t input);
OATGP_API const char *oatgp_data_level(const oatgp_data *data, size_t input, size_t level);
/* n positive weights: the row's noise variance is tau^2 / weight. NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_weights(oatgp_context *ctx, oatgp_data *data, const double *weights);
/* n known noise variances >= 0, added to tau^2. NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_noise_variance(oatgp_context *ctx, oatgp_data *data, const double *variance);
/* n whole numbers >= 1: how many trials the target counts the successes of (likelihood binomial-logit). NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_trials(oatgp_context *ctx, oatgp_data *data, const double *trials);
/* n positive numbers that the row's expected value is multiplied by (likelihoods poisson, negative-binomial, gamma). NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_exposure(oatgp_context *ctx, oatgp_data *data, const double *exposure);
/* Gives the classes of a target names: its values are the codes 0 .. count - 1 of these levels, texts in UTF-8 that differ, 2 to 50 of them,
 * in their order. A target of texts in a file has them by itself (likelihoods bernoulli-* and ordinal). */
OATGP_API oatgp_status oatgp_data_set_target_levels(oatgp_context *ctx, oatgp_data *data, size_t count, const char *const *levels);
/* How many levels the target has, 0 if it holds numbers; the text of a level, NULL past the end. */
OATGP_API size_t oatgp_data_target_level_count(const oatgp_data *data);
OATGP_API const char *oatgp_data_target_level(const oatgp_data *data, size_t level);

/* A copy of some rows, numbered from 0, in the order given. */
OATGP_API oatgp_status oatgp_data_select(oatgp_context *ctx, const oatgp_data *data, size_t count, const size_t *rows, oatgp_data **out);
/* The rows of one and then those of the other, which has the same number of inputs, in the same order, and the same other columns. */
OATGP_API oatgp_status oatgp_data_join(oatgp_context *ctx, const oatgp_data *first, const oatgp_data *second, oatgp_data **out);

/* Reads CSV or TSV, plain or gzip, or .npy; "-" is standard input. Uses the settings target, inputs, weights,
 * noise_variance, trials, exposure, factors, header, missing. An empty target means that there is none; it holds numbers or, with a
 * likelihood bernoulli-* or ordinal, texts, which become codes of its levels. With empty inputs, every other column
 * is an input. A column holds numbers if at least half of its values in the first 100 rows are numbers; any other text in it is
 * an error. Else it is a category, with its texts as levels: numbers first, by their values, then texts, by their bytes. A
 * column of which nearly every row has a text of its own (more than half as many texts as rows) is left out, unless inputs or
 * factors name it. Names of columns that are not UTF-8 are read as Windows-1252, with a note. */
OATGP_API oatgp_status oatgp_data_read(oatgp_context *ctx, const char *path, const oatgp_settings *settings, oatgp_data **out);
/* Reads the columns that are the inputs of `like`, by name if the file has a header, else by place. */
OATGP_API oatgp_status oatgp_data_read_like(oatgp_context *ctx, const char *path, const oatgp_data *like, const oatgp_settings *settings,
                                            oatgp_data **out);
OATGP_API size_t oatgp_data_rows(const oatgp_data *data);
OATGP_API size_t oatgp_data_inputs(const oatgp_data *data);
OATGP_API const char *oatgp_data_input_name(const oatgp_data *data, size_t input); /* NULL past the end */
OATGP_API size_t oatgp_data_dropped_rows(const oatgp_data *data);                  /* by missing = drop */
OATGP_API void oatgp_data_free(oatgp_data *data);
/* All columns in the order inputs, target, weights, noise variances, trials, exposure, as far as there are. Name and role ("input", "target",
 * "weights", "noise variance", "trials", "exposure") are NULL past the end; all but inputs have no name either if they are from memory. */
OATGP_API size_t oatgp_data_columns(const oatgp_data *data);
OATGP_API const char *oatgp_data_column_name(const oatgp_data *data, size_t column);
OATGP_API const char *oatgp_data_column_role(const oatgp_data *data, size_t column);
/* The values of that column, as many as there are rows. */
OATGP_API oatgp_status oatgp_data_copy_column(oatgp_context *ctx, const oatgp_data *data, size_t column, double *out);
/* Writes the rows, with their columns in this order, as .npy, whole or not at all; reading it again gives the same values. */
OATGP_API oatgp_status oatgp_data_write_npy(oatgp_context *ctx, const oatgp_data *data, const char *path);

/* The path of the file that would be written under this name, which need not be there: absolute, with no link in it. It
 * fails if the folder is not there or the path does not fit into `room` bytes. Whatever the library writes whole goes
 * there: links stay. */
OATGP_API oatgp_status oatgp_file_path(oatgp_context *ctx, const char *path, char *out, size_t room);

/* Writes a table of columns, each of `rows` values with 17 digits, as CSV; "-" is standard output. The file appears whole
 * or not at all. */
OATGP_API oatgp_status oatgp_write_csv(oatgp_context *ctx, const char *path, size_t rows, size_t columns, const char *const *names,
                                       const double *const *values);
/* Writes a rows x columns matrix as .npy, whole or not at all. */
OATGP_API oatgp_status oatgp_write_npy(oatgp_context *ctx, const char *path, size_t rows, size_t columns, const double *values);

/* The same CSV, some rows at a time. The file appears when it is closed; with keep 0 it never does. Names are copied; close frees the table
 * whatever happens. */
typedef struct oatgp_csv oatgp_csv;
OATGP_API oatgp_status oatgp_csv_open(oatgp_context *ctx, const char *path, size_t columns, const char *const *names, oatgp_csv **out);
/* Before the first rows: the values of this column, numbered from 0, are codes of levels, and are written as their texts. */
OATGP_API oatgp_status oatgp_csv_set_levels(oatgp_context *ctx, oatgp_csv *csv, size_t column, size_t count, const char *const *levels);
OATGP_API oatgp_status oatgp_csv_append(oatgp_context *ctx, oatgp_csv *csv, size_t rows, const double *const *values);
OATGP_API oatgp_status oatgp_csv_close(oatgp_context *ctx, oatgp_csv *csv, int keep);

/* ---- fit ------------------------------------------------------------------------------------------------------ */

typedef struct oatgp_model oatgp_model;

typedef enum oatgp_event_kind {
  OATGP_EVENT_SUBSET,   /* an iteration of the automatic selection for another model: the exact GP of some rows, whose parameters it
                         * begins with, or knots and neighbours */
  OATGP_EVENT_START,    /* of a start: its first evaluation */
  OATGP_EVENT_STEP,     /* an iteration of the optimiser */
  OATGP_EVENT_PROPOSAL, /* new knots are going to be tried */
  OATGP_EVENT_KEPT,     /* they were kept */
  OATGP_EVENT_DROPPED,  /* they were dropped */
  OATGP_EVENT_REFINE,   /* all knots and parameters are going to be optimised together */
  OATGP_EVENT_END
} oatgp_event_kind;

/* A parameter of a kernel that is an expression, or of a likelihood, with its value in the data's units. */
typedef struct oatgp_parameter {
  const char *name; /* "se(time).lengthscale" */
  const char *unit; /* "target", "input" or, for a plain number, "" */
  double value;
} oatgp_parameter;

/* What the monitor sees. Pointers are valid during the call. All in the data's units, lengthscales in scaled units. */
typedef struct oatgp_event {
  oatgp_event_kind kind;
  int64_t restart, iteration, evaluations, rejected; /* rejected: evaluations that failed */
  double objective, best, gradient, seconds;         /* gradient: largest free derivative */
  double sigma, tau, shape;
  size_t lengthscale_count;
  const double *lengthscales;
  size_t rows, knots; /* rows: fewer than those of the data in a subset */
  const char *stop;   /* at the end: the word of the stop code, else NULL */
  /* proposal, kept, dropped: */
  size_t added, inputs;
  const double *positions; /* added x inputs: the new knots in the data's units */
  int64_t candidates;      /* looked at for the proposal */
  double predicted, gain;  /* gain promised at fixed parameters; gain after optimisation (NaN in a proposal) */
  size_t max_knots;        /* in any event: most knots of a fit that grows; 0 if the number of knots does not change */
  size_t neighbours;       /* in any event: of each row, beside the knots; 0 if there are none */
  size_t parameter_count;  /* in any event of a kernel that is an expression; sigma and shape are then NaN, and there are no lengthscales */
  const oatgp_parameter *parameters;
  size_t likelihood_count; /* in any event of a likelihood that is not Gaussian: its own parameters; tau is not used then */
  const oatgp_parameter *likelihood_parameters;
  int64_t site_rounds; /* passes over the rows that the latest evaluation of such a likelihood took to settle */
} oatgp_event;

/* Called for every event; a result other than 0 stops the fit with the best so far. */
typedef int (*oatgp_monitor_fn)(void *user, const oatgp_event *event);

/* Fits a model. That of an automatic fit may be the exact GP, or fitc with neighbours (oatgp_model_info); max_knots keeps to
 * knots. `knots` (may be NULL) holds starting knots in the data's units, or in scaled units with knots_scaled, and
 * then settings->knots is not used. A fit that the monitor or the time limit stopped is a success: its model says so. */
OATGP_API oatgp_status oatgp_fit(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                                 oatgp_monitor_fn monitor, void *user, oatgp_model **out);

/* One evaluation of the objective at the parameters given in the settings. Arrays belong to the struct. */
typedef struct oatgp_evaluation {
  double objective, sigma, tau, shape, mean, jitter;
  size_t inputs, knots, lengthscale_count;
  double *lengthscales;
  double d_log_sigma, d_log_tau, d_log_shape;
  double *d_log_lengthscales; /* lengthscale_count */
  double *d_knots;            /* knots x inputs, with respect to scaled knots; NULL for the full GP */
  size_t parameter_count;     /* of a kernel that is an expression; sigma and shape are then NaN, and there are no lengthscales */
  oatgp_parameter *parameters;
  double *d_log_parameters; /* parameter_count */
  double d_mean;            /* in the prior mean of f; 0 for a Gaussian likelihood */
  size_t likelihood_count;  /* of the parameters of a likelihood that is not Gaussian; tau is then 1, and not used */
  oatgp_parameter *likelihood_parameters;
  double *d_log_likelihood; /* likelihood_count */
} oatgp_evaluation;

OATGP_API oatgp_status oatgp_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                                      int with_gradient, oatgp_evaluation *out);
OATGP_API void oatgp_evaluation_clear(oatgp_evaluation *evaluation); /* frees its arrays */

/* ---- model ---------------------------------------------------------------------------------------------------- */

/* What a model is and how it came about. Texts and arrays belong to the model. Everything is in the data's units;
 * lengthscales are in scaled units. */
typedef struct oatgp_model_info {
  const char *version, *approx, *kernel, *optimizer, *select, *target, *mean_kind, *command, *settings, *fingerprint, *weights,
      *noise_variance;
  double alpha, objective, sigma, tau, shape, jitter, seconds;
  double mean;          /* prior mean; of a linear mean, its value at the mean of the inputs */
  const double *slopes; /* of a linear mean, one for each input, else NULL */
  size_t n, d, knots, lengthscale_count;
  const double *lengthscales;
  const double *input_centre, *input_scale; /* inputs are centred and divided by these */
  int64_t iterations, evaluations, rejected, restarts, seed;
  oatgp_stop stop;
  size_t history_count;
  const double *history; /* history_count x 3: evaluations, objective, seconds after each iteration of the best start */
  double jitter_absolute;
  size_t selection_count;
  const double *selection; /* selection_count x (8 + d): kept, knots, objective, gain, predicted gain, candidates, evaluations, seconds
                                 and the position of every knot that was proposed */
  double loo_mean_nlp, loo_rmse, loo_coverage95; /* leave-one-out scores of the fit's rows (oatgp_loo); NaN if they are not known */
  double lower, upper;                           /* bounds of the log evidence (oatgp_certify); NaN if they are not known */
  size_t neighbours, predict_neighbours;         /* rows that each row and each prediction is made from beside the knots; 0: none. With
                                            them the model holds its rows */
  size_t parameter_count; /* of a kernel that is an expression; sigma and shape are then NaN, and there are no lengthscales */
  const oatgp_parameter *parameters;
  const char *likelihood;  /* "gaussian" or another name of the setting; tau has a meaning with the first alone */
  size_t likelihood_count; /* of its own parameters */
  const oatgp_parameter *likelihood_parameters;
  size_t answer_levels;          /* of an ordinal answer; 0 for others */
  const char *kernel_candidates; /* of a fit with kernel auto, a line for each: the kernel, a tab, and the mean negative log density of the
                                  * rows left out; "" for others */
  const char *trials, *exposure; /* names of those columns; "" if there are none */
} oatgp_model_info;

OATGP_API void oatgp_model_get_info(const oatgp_model *model, oatgp_model_info *info);
OATGP_API const char *oatgp_model_input_name(const oatgp_model *model, size_t input); /* NULL past the end */
/* How many levels the input has, 0 if it holds numbers; the text of a level, NULL past the end. Codes of knots are numbers of levels. */
OATGP_API size_t oatgp_model_level_count(const oatgp_model *model, size_t input);
OATGP_API const char *oatgp_model_level(const oatgp_model *model, size_t input, size_t level);
/* The same for the target. */
OATGP_API size_t oatgp_model_target_level_count(const oatgp_model *model);
OATGP_API const char *oatgp_model_target_level(const oatgp_model *model, size_t level);
/* A text kept in the model file, such as the command line that made it. */
OATGP_API oatgp_status oatgp_model_set_command(oatgp_context *ctx, oatgp_model *model, const char *command);
/* Knots in the data's units (knots x d) with posterior mean and sd of f there; each may be NULL. Knots that were given to the fit
 * come first, in the order in which they were given. */
OATGP_API oatgp_status oatgp_model_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean, double *sd);

/* The file appears whole or not at all (written, synced, then given its name). It holds the rows of the fit if the model has
 * neighbours or is the full GP. */
OATGP_API oatgp_status oatgp_model_save(oatgp_context *ctx, const oatgp_model *model, const char *path);
OATGP_API oatgp_status oatgp_model_load(oatgp_context *ctx, const char *path, oatgp_model **out);
OATGP_API void oatgp_model_free(oatgp_model *model);
/* The same model again, without a file; of the full GP with its factor, so that nothing is computed. */
OATGP_API oatgp_status oatgp_model_copy(oatgp_context *ctx, const oatgp_model *model, oatgp_model **out);
/* The same file in memory, for front ends that keep models in files of their own. */
OATGP_API oatgp_status oatgp_model_to_bytes(oatgp_context *ctx, const oatgp_model *model, unsigned char **bytes, size_t *size);
OATGP_API oatgp_status oatgp_model_from_bytes(oatgp_context *ctx, const unsigned char *bytes, size_t size, oatgp_model **out);
OATGP_API void oatgp_bytes_free(unsigned char *bytes);

/* Reads the model's inputs from a file: by name if it has a header, else by place. The target is read when
 * settings->target names one or the file has a column of the model's target name; with need_target 1 its absence is an
 * error, with -1 it is left alone, whatever its column holds. Texts of a target get the codes that they have in the model; others are an
 * error. Read are also weights, noise variances, trials and exposure, when the model has them and the file has their columns; rows of a
 * file without count as rows of one trial and of exposure 1, with a note. */
OATGP_API oatgp_status oatgp_data_read_for(oatgp_context *ctx, const char *path, const oatgp_model *model, const oatgp_settings *settings,
                                           int need_target, oatgp_data **out);

/* The same, some rows at a time, for files that are larger than the memory (an .npy file in Fortran's order is read as a whole). The model
 * must live as long as the stream. */
typedef struct oatgp_stream oatgp_stream;
OATGP_API oatgp_status oatgp_stream_open(oatgp_context *ctx, const char *path, const oatgp_model *model, const oatgp_settings *settings,
                                         int need_target, oatgp_stream **out);
/* The next `rows` rows, fewer only at the end; NULL when none is left. */
OATGP_API oatgp_status oatgp_stream_next(oatgp_context *ctx, oatgp_stream *stream, size_t rows, oatgp_data **out);
/* How much of the file has been read, from 0 to 1, NaN where that cannot be known (a pipe): for progress. */
OATGP_API double oatgp_stream_share(const oatgp_stream *stream);
OATGP_API void oatgp_stream_free(oatgp_stream *stream);

/* ---- prediction and scores ------------------------------------------------------------------------------------ */

/* Here and below, the model's inputs are found in the data by name if both have names that were given (by a header or
 * oatgp_data_set_names): others are not looked at, their order does not matter, and a missing one is OATGP_DATA. Data
 * without names go by place, if the number of inputs is right. */

/* Each array has as many values as data has rows, or is NULL. variance adds the noise to variance_latent, once. Variances have the square of
 * the target's unit: where that is below about 1e-154 or above 1e154 they are 0 or infinite, and standard deviations are not. */
typedef struct oatgp_prediction {
  double *mean, *variance_latent, *variance;
} oatgp_prediction;

/* O(rows x knots^2); with m predict_neighbours O(rows x m^2 x (knots + m)). At inputs ever farther from those of the fit the
 * prediction becomes the prior. One that is not a finite number (a linear mean there) is refused, and the sentence names the row. Rows have the same bits when the data come in parts, if all but the last have a multiple of 512 rows. */
OATGP_API oatgp_status oatgp_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_prediction *out);
/* The same with standard deviations in place of variances. */
typedef struct oatgp_prediction_sd {
  double *mean, *sd_latent, *sd;
} oatgp_prediction_sd;
OATGP_API oatgp_status oatgp_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                        const oatgp_prediction_sd *out);
/* The mean alone, in O(rows x knots), or with neighbours in the time of oatgp_predict; it differs from that of oatgp_predict by
 * rounding. The same for parts. */
OATGP_API oatgp_status oatgp_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *mean);
/* The same with derivatives in the inputs of the rows, in the data's units. Arrays of derivatives have a row for each row of the data, one
 * after the other, with a column for each input of the model in its order; each array may be NULL. In a category derivatives are 0. Those of
 * the standard deviation are 0 where it is 0 itself, and with neighbours all are for the neighbours that the row has. Where a kernel has a
 * cusp (matern12), a row that sits on a knot or a row of the fit takes nothing from it. About twice the time of oatgp_predict_sd. */
typedef struct oatgp_prediction_gradient {
  double *mean, *sd_latent;
  double *d_mean, *d_sd_latent;
} oatgp_prediction_gradient;
OATGP_API oatgp_status oatgp_predict_gradient(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                              const oatgp_prediction_gradient *out);
/* Predictions as if further rows were known, which exist in thought alone: the posterior of f given `given`, which has a target and may have
 * weights and noise variances. The model is not copied and does not change; its parameters and its mean stay as they are. Of a sparse model
 * it is the posterior of the model that is conditioned, as exactly as that of the full GP. O(rows x knots (knots + given)) and given^3.
 * A model with neighbours, or with a likelihood that is not Gaussian, is refused. */
OATGP_API oatgp_status oatgp_predict_given(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_data *given,
                                           const oatgp_prediction_sd *out);
/* Joint covariance of f at the rows, n x n; with neighbours, that of the errors of their predictions. It is refused where the
 * target's unit is so small or large that its square is not a number. */
OATGP_API oatgp_status oatgp_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *covariance);
/* `count` joint draws of f, each of n values, one after the other. */
OATGP_API oatgp_status oatgp_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count,
                                             uint64_t seed, double *samples);

/* Functions drawn from the posterior of f, which can be evaluated anywhere: the same function at all rows of all calls, whereas
 * oatgp_predict_samples has values at the rows of one call. Over many draws they have the mean and the covariance of the posterior (of fic the
 * variances: what the knots leave of the prior is not white, but a function, too). Waves stand for the prior, so that the kernel needs a
 * spectral form: those of the list, and expressions of se, matern*, rq, periodic, cosine and constant; others are refused, and so are models
 * with neighbours. Function number i is the same for any count. The functions stay as they are when the model takes rows in; the model must
 * live as long as they do. */
typedef struct oatgp_function oatgp_function;
OATGP_API oatgp_status oatgp_function_create(oatgp_context *ctx, const oatgp_model *model, size_t count, uint64_t seed,
                                             oatgp_function **out);
/* values: those of one function at all rows after those of the other; gradient: the same with a derivative in each input of the model for
 * each row, in the data's units. Either may be NULL. */
OATGP_API oatgp_status oatgp_function_evaluate(oatgp_context *ctx, const oatgp_function *function, const oatgp_data *data, double *values,
                                               double *gradient);
OATGP_API void oatgp_function_free(oatgp_function *function);

/* ---- answers: predictions of y for any likelihood --------------------------------------------------------------- */

/* With a likelihood other than the Gaussian, everything above is of the latent f, without the logarithm of an exposure, and has no noise:
 * variance is variance_latent. These functions have the answers themselves, integrated over f. They also take Gaussian models.
 * Each array has as many values as data has rows, or is NULL. Exposure and trials are those of the data, or 1. */
typedef struct oatgp_answers {
  double *mean, *sd;               /* of y: the probability of 1, the expected count, the expected level ...; sd infinite where it is */
  double *lower, *upper;           /* quantiles of y, the interval between them having at least the probability `interval`; of a Bernoulli
                                    * answer, whose quantiles are 0 or 1, those of its probability: the link at the quantiles of f */
  double *latent_mean, *latent_sd; /* of f, with the logarithm of the exposure */
  double *levels;                  /* rows x answer_levels, row after row: the probability of each level of an ordinal answer */
  double interval;                 /* such as 0.95; must be in (0, 1) where lower or upper is wanted */
} oatgp_answers;
OATGP_API oatgp_status oatgp_predict_answers(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                             const oatgp_answers *out);
/* `count` joint draws of y, each of n values, one after the other: f from its joint posterior, then y given f, row by row. */
OATGP_API oatgp_status oatgp_predict_answer_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, size_t count,
                                                    uint64_t seed, double *samples);

/* ---- effects: the summands of a kernel that is a sum ------------------------------------------------------------- */

/* One of them. A kernel that is no sum has one effect, which is all of it. Everything belongs to the model. */
typedef struct oatgp_effect {
  const char *name;     /* as the kernel's text has it: "se(time)", "periodic(time) * se(time)" */
  size_t input_count;   /* the inputs that it looks at, as numbers of the model's inputs */
  const size_t *inputs; /* input_count */
} oatgp_effect;
OATGP_API int oatgp_effect_at(const oatgp_model *model, size_t index, oatgp_effect *out); /* 0 past the end */

/* Posterior of the effects at n rows; each array may be NULL. An effect is centred: it is the summand less its average over some rows, and
 * its sd is that of this difference. The prediction is the prior mean, all centres and all effects added up. */
typedef struct oatgp_effect_values {
  double *mean, *sd; /* n for each effect, one effect after the other */
  double *centre;    /* for each effect: the average that was taken off */
  double *share;     /* for each effect: the variance of its mean over the rows of the average, as a share of the sum over all effects */
} oatgp_effect_values;
/* Averages are over the rows of `over`; NULL: those of data. Of more than 2000 rows, every so many of them stand for all in the sd of the
 * average. O(rows x knots^2) for each effect. A model with neighbours is refused. */
OATGP_API oatgp_status oatgp_predict_effects(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_data *over,
                                             const oatgp_effect_values *out);

typedef struct oatgp_scores {
  size_t n;
  double rmse, srmse;    /* srmse = rmse / sd(y of these rows); NaN for fewer than two rows or a constant y */
  double mnlp, mean_nlp; /* median and mean of -log p(y_i) */
  double coverage50, coverage80, coverage90, coverage95, coverage99;
  double aukl_latent, aukl_observation; /* mean KL(against || model) of f and of y; NaN without `against` */
  /* Of answers that are not Gaussian; NaN where they have no meaning. With them mean_nlp and mnlp are of the predictive probability (or
   * density) of y, integrated over f, rmse is that of the expected y, and coverages, of intervals between quantiles, are NaN for Bernoulli. */
  double log_loss, brier, accuracy, auc; /* Bernoulli: log_loss is mean_nlp; accuracy also for ordinal, the likeliest level */
  double deviance;                       /* mean of 2 (log p(y) of the saturated model - log predictive probability of y) */
} oatgp_scores;

/* data needs a target. against may be NULL; it must have been trained on the same input names, and both models must be Gaussian. */
OATGP_API oatgp_status oatgp_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_model *against,
                                   oatgp_scores *out);

/* ---- rows held out, and rows that come later --------------------------------------------------------------------- */

/* Predictions of rows by a model that has not seen them. Each array has as many values as data has rows, or is NULL. variance is that of an
 * observation, nlp its -log p(y), residual (y - mean) / sd; of a likelihood that is not Gaussian it is the normal quantile of P(Y < y) and
 * half of P(Y = y). */
typedef struct oatgp_held_out {
  double *mean, *variance, *nlp, *residual;
} oatgp_held_out;

/* Leave-one-out in closed form: every row as the model predicts it when that row is left out, at the model's parameters and knots (those
 * were chosen with it). It is exact for the model's joint distribution of all rows; with a likelihood that is not Gaussian, for that of the
 * Gaussian sites which stand for the rows, at their values with all rows (really without a row, those of its neighbours would move a
 * little). A model that rows were added to by oatgp_update then is refused. data are the rows of the fit, in any order for a
 * sparse model, in theirs for the full GP; others are refused.
 * O(rows x knots^2), with neighbours that of an evaluation, O(rows^3) for the full GP. rows and scores may be NULL. */
OATGP_API oatgp_status oatgp_loo(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_held_out *rows,
                                 oatgp_scores *scores);

/* The same with standard deviations in place of variances, as in oatgp_predict_sd. */
typedef struct oatgp_held_out_sd {
  double *mean, *sd, *nlp, *residual;
} oatgp_held_out_sd;
OATGP_API oatgp_status oatgp_loo_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_held_out_sd *rows,
                                    oatgp_scores *scores);

/* A fold that has been fitted without and scored. The model lives during the call. */
typedef struct oatgp_fold {
  size_t number, count; /* from 1, of how many */
  size_t fitted;        /* rows of its fit */
  oatgp_scores scores;  /* of its own rows */
  const oatgp_model *model;
} oatgp_fold;

/* Who hears of a cross-validation: each may be NULL. A result other than 0 of one of them ends it. */
typedef struct oatgp_cv_watch {
  oatgp_monitor_fn monitor; /* of each fit */
  int (*fold)(void *user, const oatgp_fold *fold);
  void *user;
} oatgp_cv_watch;

/* Cross-validation: rows are dealt out at random (settings->seed) to settings->folds folds; each is predicted by a model that is fitted, as
 * oatgp_fit does, to the others. checkpoint and resume are not used. The scores are of all rows, not means over folds. When it was ended
 * early they are of the folds that were done (scores->n rows; the others are NaN in `rows`), or OATGP_STOPPED if there was none. */
OATGP_API oatgp_status oatgp_cv(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                                const oatgp_cv_watch *watch, const oatgp_held_out *rows, oatgp_scores *scores);
OATGP_API oatgp_status oatgp_cv_sd(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                                   const oatgp_cv_watch *watch, const oatgp_held_out_sd *rows, oatgp_scores *scores);

/* Takes further rows into a model at its parameters, knots and scaling: the model is then that of all rows, estimated mean and objective
 * included (a mean that was that of the fit's targets stays). A sparse model adds them to its sums in O(rows x knots^2). The full GP puts them
 * behind the rows that it has, in O(n^2) a row: its factor grows. A model with neighbours puts them last, too, and makes the sums of all rows
 * again. With a likelihood that is not Gaussian, the new rows of a sparse model get sites beside those of the old ones, which stay as they
 * are, with a note; the objective then is the old one and the change of the bound in which the old sites stand for their answers: an
 * estimate. The full GP is refused there. Its leave-one-out scores are no longer known. A failure leaves it as it was. */
OATGP_API oatgp_status oatgp_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data);
/* Takes rows out of the full GP again: their numbers, from 0, in the order in which it took them in. O(n^2) a row. What is said above holds. A
 * sparse model is refused: it does not hold its rows. */
OATGP_API oatgp_status oatgp_model_remove_rows(oatgp_context *ctx, oatgp_model *model, size_t count, const size_t *rows);
/* Fits on from a model: data are all rows, old and new. What the model is (approx, neighbours, kernel, mean, scaling, jitter, what is
 * fixed) comes from the model; of the settings only optimizer, max_iter, max_eval, obj_tol, patience, grad_tol, time_limit, threads, device,
 * memory and block are used. Knots move, unless they were selected as fixed or by variance and not refined. */
OATGP_API oatgp_status oatgp_refit(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_settings *settings,
                                   oatgp_monitor_fn monitor, void *user, oatgp_model **out);

OATGP_API double oatgp_normal_quantile(double p); /* of the standard normal; NaN outside (0, 1) */

/* ---- certificate ---------------------------------------------------------------------------------------------- */

/* A bracket of the exact log evidence at a model's parameters, in the data's units:
 *   elbo <= lower <= log p(y) <= upper
 * elbo is the objective of vfe at the model's parameters and knots, lower the best lower bound that was found, which is at least the
 * objective of tvfe there. The Kullback-Leibler divergence of the sparse posterior of vfe (and dtc and tvfe, which have the same) from the
 * exact one is at most kl_at_most = upper - elbo nats. */
typedef struct oatgp_certificate {
  size_t n;
  double elbo, lower, upper, kl_at_most, kl_per_row;
  double exact; /* the log evidence itself, with settings->exact or for the full GP, whose bounds are all the same; else NaN */
  int64_t iterations;
  double seconds, seconds_per_iteration;
  oatgp_stop stop; /* NONE for the full GP */
} oatgp_certificate;

/* Sees the bounds so far after every iteration and some times a second during one; a result other than 0 ends it with them. */
typedef int (*oatgp_bracket_fn)(void *user, const oatgp_certificate *so_far);

/* Data are the rows that the model was fitted to, weights and noise variances included; other rows get a warning, and a model with a
 * likelihood that is not Gaussian is refused. Uses the settings tol,
 * max_iter, time_limit, determinant, threads, device, memory, exact. Conjugate gradients of which each iteration takes
 * O(n^2 d) time, then, if wanted and if 2 n x knots numbers fit the memory, traces in O(n^2 knots) that tighten the determinant; the cost is said in a note before.
 * The bounds are valid from the first iteration on, so that a certificate which was stopped is a success. An estimated mean counts as
 * known. The same bits (but for times) for any number of threads. */
OATGP_API oatgp_status oatgp_certify(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_settings *settings,
                                     oatgp_bracket_fn monitor, void *user, oatgp_certificate *out);
/* Keeps the bounds in the model, and so in its file. */
OATGP_API oatgp_status oatgp_model_set_certificate(oatgp_context *ctx, oatgp_model *model, const oatgp_certificate *certificate);

/* ---- figures and the report ----------------------------------------------------------------------------------------- */

/* A kind of figure. */
typedef struct oatgp_figure {
  const char *name, *help;
  int needs_data; /* rows with a target; for the others data may be NULL, and add rows where they are given */
} oatgp_figure;
OATGP_API int oatgp_figure_at(size_t index, oatgp_figure *out); /* 0 past the end */

typedef struct oatgp_drawing {
  const char *figure;   /* its name */
  const char *path;     /* where it goes; "-" is standard output. A file appears whole or not at all */
  size_t width, height; /* both 0: SVG; else letters for a terminal, so many for each panel (at least 24 x 8) */
  int utf8;             /* letters may be others than ASCII */
} oatgp_drawing;
/* Draws a figure of the model. Rows of the fit are predicted without themselves (oatgp_loo), others as they are. OATGP_DATA if the model has
 * no such figure; the sentence then says why. */
OATGP_API oatgp_status oatgp_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_drawing *drawing);
/* Writes all of them, with scores and what the model file tells of the fit, as one page of HTML that loads nothing. The data need a target;
 * `from` says where they come from (NULL: "the data"). At most 1500 points a figure, so that the page stays small. */
OATGP_API oatgp_status oatgp_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const char *from,
                                    const char *path);

#ifdef __cplusplus
}
#endif
#endif
