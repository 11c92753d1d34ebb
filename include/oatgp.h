/* oatgp: Gaussian-process regression that chooses its own knots. The library copies what it keeps. It never prints,
 * exits or aborts. Every function that can fail returns an oatgp_status; on failure, oatgp_last_error() returns one
 * sentence that says what is wrong. Pointers named `out` are set only on success. The caller owns every object that a
 * function returns through an `out` pointer, and frees it with the matching _free, which accepts NULL. Every `const
 * char *` that a function returns belongs to the library or to the object that was passed; do not free it. Matrices are
 * row-major unless a comment says otherwise; sizes count elements, not bytes. A context and the objects made with it
 * may be used by one thread at a time. Different contexts are independent, except that all share the number of threads
 * of the linear algebra. */
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

OATGP_API const char *oatgp_version(void); /* MAJOR.MINOR.PATCH */
/* Lists what the library was built with and what it found on this machine, one item per index from 0. Returns the name
 * of the item ("BLAS", "processor", "threads" ...), or NULL past the last one, and sets *value to its description. */
OATGP_API const char *oatgp_feature(size_t index, const char **value);
/* The number of threads that the value 0 stands for in oatgp_context_set_threads; at least 1. */
OATGP_API int oatgp_cores(void);
/* Limits the number of threads of this process from now on, for a shared machine; 0 means no limit. */
OATGP_API void oatgp_set_cores(int most);
/* A status or stop code in words. */
OATGP_API const char *oatgp_status_sentence(oatgp_status status);
OATGP_API const char *oatgp_stop_word(oatgp_stop stop); /* "objective" */
OATGP_API const char *oatgp_stop_sentence(oatgp_stop stop);

/* Writes the text as UTF-8 into the `room` bytes at `out`, with a terminating 0; characters that do not fit are cut
 * off. UTF-8 stays unchanged. Other text is read as Windows-1252 (which includes Latin-1), as column names are. Returns
 * the number of bytes that the whole text needs, without the 0. */
OATGP_API size_t oatgp_to_utf8(const char *text, char *out, size_t room);
/* Returns 1 and sets *out if the text is one number as in cells and settings, else 0: digits with an optional sign,
 * decimal point and exponent, the same in every locale; no blanks, no hexadecimal, not infinite. */
OATGP_API int oatgp_is_number(const char *text, double *out);

/* ---- context: the last error and where notes go --------------------------------------------------------------- */

typedef struct oatgp_context oatgp_context;

typedef enum oatgp_level { OATGP_NOTE, OATGP_WARNING } oatgp_level;
typedef void (*oatgp_message_fn)(void *user, oatgp_level level, const char *sentence);

OATGP_API oatgp_context *oatgp_context_create(void); /* NULL when out of memory */
OATGP_API void oatgp_context_free(oatgp_context *ctx);
/* The sentence about the last failure in this context, or "" if there was none. Valid until the next call with ctx. */
OATGP_API const char *oatgp_last_error(const oatgp_context *ctx);
/* Notes and warnings (dropped rows, a raised jitter ...) go to fn; NULL, the default, discards them. */
OATGP_API void oatgp_context_set_message(oatgp_context *ctx, oatgp_message_fn fn, void *user);
/* Sets how sentences name an option: --no-guard for the command (the default), guard=False for Python, guard = FALSE
 * for R. The field of oatgp_settings has the same name, with underscores. */
typedef enum oatgp_front { OATGP_FRONT_COMMAND, OATGP_FRONT_PYTHON, OATGP_FRONT_R } oatgp_front;
OATGP_API void oatgp_context_set_front(oatgp_context *ctx, oatgp_front front);
/* Sets the number of threads for reading, predicting and writing; oatgp_fit and oatgp_evaluate use settings->threads.
 * The default of both is 0: all cores that this process and its container may use, or the value of OMP_NUM_THREADS. A
 * forked child uses one thread. If several processes share a machine, give each its share. */
OATGP_API void oatgp_context_set_threads(oatgp_context *ctx, int threads);
/* Sets the device for predictions, scores, leave-one-out and updates: a value of the setting `device`. "auto", the
 * default, chooses the fastest one. oatgp_fit, oatgp_evaluate and oatgp_certify use settings->device. Returns
 * OATGP_ARGUMENT if no device has that name. The context keeps the memory of a prediction for the next one;
 * oatgp_context_free and the next fit free it. */
OATGP_API oatgp_status oatgp_context_set_device(oatgp_context *ctx, const char *name);
/* Sets the memory limit in bytes for joint covariances and draws (default 0: the free memory of the machine). A request
 * for more is refused before anything is allocated. */
OATGP_API void oatgp_context_set_memory(oatgp_context *ctx, int64_t bytes);
/* During long work, fn is called a few times a second, in the caller's thread, with the kind of work, how much is done,
 * and the total. "reading" counts bytes of the file (total 0: a pipe, whose length is unknown), "k-means" rounds
 * (total: the limit), "greedy variance" knots; "evaluation" (of the full GP), "value", "gradient", "gains",
 * "prediction", "leave-one-out", "product" and "determinant" count rows. fn must not use ctx. NULL, the default, turns
 * this off. */
typedef void (*oatgp_progress_fn)(void *user, const char *what, size_t done, size_t total);
OATGP_API void oatgp_context_set_progress(oatgp_context *ctx, oatgp_progress_fn fn, void *user);
/* What that kind of work counts: "bytes", "rounds", "knots" or "rows". */
OATGP_API const char *oatgp_progress_unit(const char *what);

/* ---- ranks: several processes that work on one problem --------------------------------------------------------- */

/* Opens liboatgp_mpi.so in a process that an MPI launcher started; call it before anything else. In other processes it
 * does nothing. From then on, oatgp_data_read, oatgp_fit and oatgp_evaluate share the work on rows that stay in files,
 * and the sums over other rows, among the ranks. All ranks must make the same calls. They get the same results, whose
 * bits do not depend on the number of ranks. At most 64 ranks can share rows. */
OATGP_API oatgp_status oatgp_ranks_begin(oatgp_context *ctx);
OATGP_API int oatgp_rank(void);       /* from 0 */
OATGP_API int oatgp_rank_count(void); /* 1 without MPI */
/* Call it at the end of the process. A code other than 0 ends all ranks with that code. */
OATGP_API void oatgp_ranks_end(int code);

/* ---- settings ------------------------------------------------------------------------------------------------- */

/* Every field is a row of oatgp_settings.def. Strings are borrowed: they must stay valid while the struct is in use. */
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

/* The rows of the table, numbered from 0, and whether a verb of the command has this option. */
OATGP_API size_t oatgp_setting_count(void);
OATGP_API const oatgp_setting *oatgp_setting_at(size_t index); /* NULL past the end */
OATGP_API int oatgp_setting_has_verb(const oatgp_setting *setting, const char *verb);
/* The setting whose name is most similar to this one, for a suggestion. It searches the options of a verb or, if verb
 * is NULL, the library's settings. */
OATGP_API const oatgp_setting *oatgp_setting_nearest(const char *name, const char *verb);

/* Sets every field to its default. Call it before anything else is done with the struct. */
OATGP_API void oatgp_settings_default(oatgp_settings *settings);
/* Sets one field from text ("1e-3", "yes", "512M"). Unknown names, malformed text and values out of range are
 * refused. */
OATGP_API oatgp_status oatgp_settings_set(oatgp_context *ctx, oatgp_settings *settings, const char *name,
                                          const char *value);
/* Checks every field against its range or choices. Every function that takes settings does this itself. */
OATGP_API oatgp_status oatgp_settings_check(oatgp_context *ctx, const oatgp_settings *settings);
/* 1 if a model with this kernel has the parameter ("sigma", "tau", "lengthscale", "shape"), else 0. Unknown kernels
 * have none. The parameters of an expression have names of their own (oatgp_model_info). */
OATGP_API int oatgp_kernel_has(const char *kernel, const char *parameter);

/* ---- data ----------------------------------------------------------------------------------------------------- */

typedef struct oatgp_data oatgp_data;

/* Copies n rows of d inputs (x, row-major) and n targets (y, or NULL for none). All values must be finite. */
OATGP_API oatgp_status oatgp_data_create(oatgp_context *ctx, size_t n, size_t d, const double *x, const double *y,
                                         oatgp_data **out);
/* Values in the caller's memory: input j of row i is x[i * row_step + j * input_step] (steps d and 1 for row-major, 1
 * and n for column-major); y holds n contiguous values, or is NULL. */
typedef struct oatgp_view {
  size_t n, d;
  const double *x, *y;
  size_t row_step, input_step;
} oatgp_view;

/* Makes data without copying: the values are borrowed. They must stay in place and unchanged while the data are in use.
 * All values must be finite. */
OATGP_API oatgp_status oatgp_data_borrow(oatgp_context *ctx, const oatgp_view *view, oatgp_data **out);
/* Sets the names of the d inputs (default x1, x2, ...) and of the target (may be NULL), in UTF-8. Names are copied. */
OATGP_API oatgp_status oatgp_data_set_names(oatgp_context *ctx, oatgp_data *data, const char *const *inputs,
                                            const char *target);
/* Makes an input, numbered from 0, a category: its values are the codes 0 .. count - 1 of these levels, which are
 * distinct UTF-8 strings. Models identify levels by their text, so the data of a prediction may have other levels, in
 * another order. Text inputs of a file are categories automatically. */
OATGP_API oatgp_status oatgp_data_set_levels(oatgp_context *ctx, oatgp_data *data, size_t input, size_t count,
                                             const char *const *levels);
/* The number of levels of an input, 0 if it holds numbers; the text of a level, NULL past the end. */
OATGP_API size_t oatgp_data_level_count(const oatgp_data *data, size_t input);
OATGP_API const char *oatgp_data_level(const oatgp_data *data, size_t input, size_t level);
/* Sets n positive weights: the noise variance of a row is tau^2 / weight. NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_weights(oatgp_context *ctx, oatgp_data *data, const double *weights);
/* Sets n known noise variances >= 0, which are added to tau^2. NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_noise_variance(oatgp_context *ctx, oatgp_data *data, const double *variance);
/* Sets the number of trials of each row, n whole numbers >= 1; the target counts the successes (likelihood
 * binomial-logit). NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_trials(oatgp_context *ctx, oatgp_data *data, const double *trials);
/* Sets n positive numbers that multiply the expected value of each row (likelihoods poisson, negative-binomial and
 * gamma). NULL removes them. */
OATGP_API oatgp_status oatgp_data_set_exposure(oatgp_context *ctx, oatgp_data *data, const double *exposure);
/* Names the classes of a target: its values are the codes 0 .. count - 1 of these levels, 2 to 50 distinct UTF-8
 * strings in their order. A text target of a file has levels automatically (likelihoods bernoulli-* and ordinal). */
OATGP_API oatgp_status oatgp_data_set_target_levels(oatgp_context *ctx, oatgp_data *data, size_t count,
                                                    const char *const *levels);
/* The number of levels of the target, 0 if it holds numbers; the text of a level, NULL past the end. */
OATGP_API size_t oatgp_data_target_level_count(const oatgp_data *data);
OATGP_API const char *oatgp_data_target_level(const oatgp_data *data, size_t level);

/* Copies some rows, numbered from 0, in the order given. */
OATGP_API oatgp_status oatgp_data_select(oatgp_context *ctx, const oatgp_data *data, size_t count, const size_t *rows,
                                         oatgp_data **out);
/* Copies the rows of `first`, followed by those of `second`. Both must have the same inputs in the same order, and the
 * same other columns. */
OATGP_API oatgp_status oatgp_data_join(oatgp_context *ctx, const oatgp_data *first, const oatgp_data *second,
                                       oatgp_data **out);

/* Reads CSV or TSV, plain or gzip, or .npy; "-" is standard input. Uses the settings target, inputs, weights,
 * noise_variance, trials, exposure, factors, header, missing. An empty target means that there is none. A target
 * holds numbers or, with a likelihood bernoulli-* or ordinal, texts, which become codes of its levels. With empty
 * inputs, every other column is an input. A column holds numbers if at least half of its values in the first 100 rows
 * are numbers; any other text in it is an error. Otherwise it is a category with its texts as levels: first numbers,
 * by value, then texts, by their bytes. A column with a different text in nearly every row (more than half as many
 * texts as rows) is left out, unless inputs or factors name it. Names of columns that are not UTF-8 are read as
 * Windows-1252, with a note. */
OATGP_API oatgp_status oatgp_data_read(oatgp_context *ctx, const char *path, const oatgp_settings *settings,
                                       oatgp_data **out);
/* Reads the columns that are the inputs of `like`, by name if the file has a header, else by position. */
OATGP_API oatgp_status oatgp_data_read_like(oatgp_context *ctx, const char *path, const oatgp_data *like,
                                            const oatgp_settings *settings, oatgp_data **out);
/* Reads the whole file as oatgp_data_read does, in little memory, but keeps only the columns and their levels: the
 * result has 0 rows. oatgp_stream_open_like then reads the rows in blocks. With missing=drop, it does not notice if
 * every row has a missing value. */
OATGP_API oatgp_status oatgp_data_look(oatgp_context *ctx, const char *path, const oatgp_settings *settings,
                                       oatgp_data **out);
OATGP_API size_t oatgp_data_rows(const oatgp_data *data);
OATGP_API size_t oatgp_data_inputs(const oatgp_data *data);
OATGP_API const char *oatgp_data_input_name(const oatgp_data *data, size_t input); /* NULL past the end */
OATGP_API size_t oatgp_data_dropped_rows(const oatgp_data *data);                  /* by missing = drop */
OATGP_API void oatgp_data_free(oatgp_data *data);
/* The columns, in the order inputs, target, weights, noise variances, trials, exposure; those that do not exist are
 * skipped. The role is "input", "target", "weights", "noise variance", "trials" or "exposure". Name and role are NULL
 * past the end. Of columns from memory, only inputs have a name. */
OATGP_API size_t oatgp_data_columns(const oatgp_data *data);
OATGP_API const char *oatgp_data_column_name(const oatgp_data *data, size_t column);
OATGP_API const char *oatgp_data_column_role(const oatgp_data *data, size_t column);
/* Copies the values of a column to `out`, which has room for one value per row. */
OATGP_API oatgp_status oatgp_data_copy_column(oatgp_context *ctx, const oatgp_data *data, size_t column, double *out);
/* Writes the rows as .npy, with the columns in the order of oatgp_data_columns. The file appears only when it is
 * complete. Reading it gives the same values back. */
OATGP_API oatgp_status oatgp_data_write_npy(oatgp_context *ctx, const oatgp_data *data, const char *path);

/* Writes an .npy file of this many columns in blocks of rows. It must be a regular file. The file appears when it is
 * closed, or never if keep is 0. oatgp_npy_close frees npy even if it fails. */
typedef struct oatgp_npy oatgp_npy;
OATGP_API oatgp_status oatgp_npy_open(oatgp_context *ctx, const char *path, size_t columns, oatgp_npy **out);
OATGP_API oatgp_status oatgp_npy_append(oatgp_context *ctx, oatgp_npy *npy, const oatgp_data *data);
OATGP_API oatgp_status oatgp_npy_close(oatgp_context *ctx, oatgp_npy *npy, int keep);

/* Finds the absolute path, with links resolved, of the file that writing to `path` would replace; the file need not
 * exist. Writes it into the `room` bytes at `out`. Fails if the folder does not exist or the path does not fit. The
 * library writes through links: a link stays, and the file it points to is replaced. */
OATGP_API oatgp_status oatgp_file_path(oatgp_context *ctx, const char *path, char *out, size_t room);

/* Writes columns of `rows` values each as CSV, with the digits that it takes to read the same values again; "-" is
 * standard output. The file appears only when it is complete. */
OATGP_API oatgp_status oatgp_write_csv(oatgp_context *ctx, const char *path, size_t rows, size_t columns,
                                       const char *const *names, const double *const *values);
/* Writes a rows x columns matrix as .npy. The file appears only when it is complete. */
OATGP_API oatgp_status oatgp_write_npy(oatgp_context *ctx, const char *path, size_t rows, size_t columns,
                                       const double *values);

/* Writes the same CSV in blocks of rows. Names are copied. The file appears when it is closed, or never if keep is 0.
 * oatgp_csv_close frees csv even if it fails. */
typedef struct oatgp_csv oatgp_csv;
OATGP_API oatgp_status oatgp_csv_open(oatgp_context *ctx, const char *path, size_t columns, const char *const *names,
                                      oatgp_csv **out);
/* Call it before the first rows: the values of this column (numbered from 0) are codes of levels, and the text of the
 * level is written. */
OATGP_API oatgp_status oatgp_csv_set_levels(oatgp_context *ctx, oatgp_csv *csv, size_t column, size_t count,
                                            const char *const *levels);
OATGP_API oatgp_status oatgp_csv_append(oatgp_context *ctx, oatgp_csv *csv, size_t rows, const double *const *values);
OATGP_API oatgp_status oatgp_csv_close(oatgp_context *ctx, oatgp_csv *csv, int keep);

/* ---- fit ------------------------------------------------------------------------------------------------------ */

typedef struct oatgp_model oatgp_model;

typedef enum oatgp_event_kind {
  OATGP_EVENT_SUBSET, /* an iteration on an auxiliary model of the automatic selection: the exact GP of a subset, which
                       * gives the first parameters, or a trial of knots and neighbours */
  OATGP_EVENT_START,  /* the first evaluation of a start */
  OATGP_EVENT_STEP,   /* an iteration of the optimiser */
  OATGP_EVENT_PROPOSAL, /* new knots will be tried */
  OATGP_EVENT_KEPT,     /* they were kept */
  OATGP_EVENT_DROPPED,  /* they were dropped */
  OATGP_EVENT_REFINE,   /* all knots and parameters will be optimised together */
  OATGP_EVENT_END
} oatgp_event_kind;

/* A parameter of a kernel that is an expression, or of a likelihood, with its value in the data's units. */
typedef struct oatgp_parameter {
  const char *name; /* "se(time).lengthscale" */
  const char *unit; /* "target", "input" or, for a plain number, "" */
  double value;
} oatgp_parameter;

/* What the monitor receives. Pointers are valid during the call. Everything is in the data's units, except
 * lengthscales, which are in scaled units. */
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
  int64_t candidates;      /* number of candidates examined */
  double predicted, gain;  /* gain predicted at fixed parameters; gain after optimisation (NaN in a proposal) */
  size_t max_knots;        /* in any event: the limit on knots of a growing fit; 0 if their number is fixed */
  size_t neighbours;       /* in any event: neighbours of each row besides the knots; 0 if there are none */
  size_t parameter_count; /* in any event of a kernel that is an expression; sigma and shape are then NaN, and there are
                             no lengthscales */
  const oatgp_parameter *parameters;
  size_t likelihood_count; /* in any event of a likelihood that is not Gaussian: the number of its own parameters; tau
                            * is then unused */
  const oatgp_parameter *likelihood_parameters;
  int64_t site_rounds; /* passes over the rows in the latest evaluation of such a likelihood */
} oatgp_event;

/* Called for every event. A nonzero result stops the fit, which then returns the best model so far. */
typedef int (*oatgp_monitor_fn)(void *user, const oatgp_event *event);

/* Fits a model. An automatic fit may return the exact GP, or fitc with neighbours (see oatgp_model_info); with
 * max_knots set it always uses knots. `knots` (may be NULL) holds starting knots in the data's units, or in scaled
 * units with knots_scaled, and replaces settings->knots. A fit stopped by the monitor or the time limit succeeds, and
 * its model records the reason. */
OATGP_API oatgp_status oatgp_fit(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                                 const oatgp_data *knots, oatgp_monitor_fn monitor, void *user, oatgp_model **out);

/* One evaluation of the objective at the parameters given in the settings. The struct owns its arrays;
 * oatgp_evaluation_clear frees them. */
typedef struct oatgp_evaluation {
  double objective, sigma, tau, shape, mean, jitter;
  size_t inputs, knots, lengthscale_count;
  double *lengthscales;
  double d_log_sigma, d_log_tau, d_log_shape;
  double *d_log_lengthscales; /* lengthscale_count */
  double *d_knots;            /* knots x inputs, with respect to scaled knots; NULL for the full GP */
  size_t parameter_count;     /* of a kernel that is an expression; sigma and shape are then NaN, and there are no
                                 lengthscales */
  oatgp_parameter *parameters;
  double *d_log_parameters; /* parameter_count */
  double d_mean;            /* with respect to the prior mean of f; 0 for a Gaussian likelihood */
  size_t likelihood_count;  /* number of parameters of a likelihood that is not Gaussian; tau is then 1 and unused */
  oatgp_parameter *likelihood_parameters;
  double *d_log_likelihood; /* likelihood_count */
  double log_prior;         /* the part of the objective that is the log density of the priors; 0 without any */
} oatgp_evaluation;

/* Evaluates the objective once; nothing is optimised. `knots` is as in oatgp_fit. Without with_gradient,
 * derivatives are 0 and d_knots is NULL. */
OATGP_API oatgp_status oatgp_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                                      const oatgp_data *knots, int with_gradient, oatgp_evaluation *out);
OATGP_API void oatgp_evaluation_clear(oatgp_evaluation *evaluation); /* frees its arrays */

/* ---- model ---------------------------------------------------------------------------------------------------- */

/* A description of a model and of its fit. Strings and arrays belong to the model. Everything is in the data's units,
 * except lengthscales, which are in scaled units. */
typedef struct oatgp_model_info {
  const char *version, *approx, *kernel, *optimizer, *select, *target, *mean_kind, *command, *settings, *fingerprint,
      *weights, *noise_variance;
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
  const double *selection; /* selection_count x (8 + d): kept, knots, objective, gain, predicted gain, candidates,
                              evaluations, seconds and the position of every knot that was proposed */
  double loo_mean_nlp, loo_rmse,
      loo_coverage95;  /* leave-one-out scores of the fit's rows (oatgp_loo); NaN if they are not known */
  double lower, upper; /* bounds of the log evidence (oatgp_certify); NaN if they are not known */
  size_t neighbours, predict_neighbours; /* neighbours of each row and of each prediction, besides the knots; 0: none. A
                                            model with neighbours holds its rows */
  size_t parameter_count; /* of a kernel that is an expression; sigma and shape are then NaN, and there are no
                             lengthscales */
  const oatgp_parameter *parameters;
  const char *likelihood;  /* "gaussian" or another value of the setting; tau is meaningful for "gaussian" only */
  size_t likelihood_count; /* of its own parameters */
  const oatgp_parameter *likelihood_parameters;
  size_t answer_levels; /* of an ordinal answer; 0 for others */
  const char *prior;    /* the prior of every parameter by name, in the syntax of the setting `prior`; or "none" */
  double log_prior;     /* the log density of these priors: objective - log_prior is the log evidence or its bound */
  const char *kernel_candidates; /* of a fit with kernel auto, a line for each: the kernel, a tab, and the mean negative
                                  * log density of the rows left out; "" for others */
  const char *trials, *exposure; /* names of those columns; "" if there are none */
  size_t average; /* draws of the parameters that predictions are averaged over (oatgp_model_draw); 0: none */
} oatgp_model_info;

/* Fills *info, which stays valid until the model is changed or freed. */
OATGP_API void oatgp_model_get_info(const oatgp_model *model, oatgp_model_info *info);
OATGP_API const char *oatgp_model_input_name(const oatgp_model *model, size_t input); /* NULL past the end */
/* The number of levels of an input, 0 if it holds numbers; the text of a level, NULL past the end. Knots hold the codes
 * of levels. */
OATGP_API size_t oatgp_model_level_count(const oatgp_model *model, size_t input);
OATGP_API const char *oatgp_model_level(const oatgp_model *model, size_t input, size_t level);
/* The same for the target. */
OATGP_API size_t oatgp_model_target_level_count(const oatgp_model *model);
OATGP_API const char *oatgp_model_target_level(const oatgp_model *model, size_t level);
/* Stores a text in the model and its file, such as the command line that made it. The text is copied. */
OATGP_API oatgp_status oatgp_model_set_command(oatgp_context *ctx, oatgp_model *model, const char *command);
/* Copies the knots in the data's units (knots x d) and the posterior mean and sd of f at each; each array may be NULL.
 * Knots given to the fit come first, in the given order. */
OATGP_API oatgp_status oatgp_model_knots(oatgp_context *ctx, const oatgp_model *model, double *knots, double *mean,
                                         double *sd);

/* An averaged model (setting `average`) has draws of its parameters. At each draw there is a member, a model of the
 * same rows, and predictions are those of the mixture of the members by their weights: the mean of the means; the mean
 * of the variances plus the variance of the means; quantiles, densities and joint draws of the mixture. Everything that
 * describes the model itself is at the best parameters: oatgp_model_info, oatgp_model_knots, oatgp_certify and the
 * objective. Returns the member, which belongs to the model, and its weight (may be NULL); NULL past the
 * end. */
OATGP_API const oatgp_model *oatgp_model_draw(const oatgp_model *model, size_t draw, double *weight);

/* Saves a model. The file appears only when it is complete (it is written, synced, then renamed). It holds the rows of
 * the fit if the model has neighbours, is averaged, or is the full GP. */
OATGP_API oatgp_status oatgp_model_save(oatgp_context *ctx, const oatgp_model *model, const char *path);
OATGP_API oatgp_status oatgp_model_load(oatgp_context *ctx, const char *path, oatgp_model **out);
OATGP_API void oatgp_model_free(oatgp_model *model);
/* Copies the model. The factor of a full GP is copied, too, so nothing is computed again unless the model is
 * averaged. */
OATGP_API oatgp_status oatgp_model_copy(oatgp_context *ctx, const oatgp_model *model, oatgp_model **out);
/* The model file in memory, for front ends that store models themselves. The caller frees *bytes with
 * oatgp_bytes_free. */
OATGP_API oatgp_status oatgp_model_to_bytes(oatgp_context *ctx, const oatgp_model *model, unsigned char **bytes,
                                            size_t *size);
OATGP_API oatgp_status oatgp_model_from_bytes(oatgp_context *ctx, const unsigned char *bytes, size_t size,
                                              oatgp_model **out);
OATGP_API void oatgp_bytes_free(unsigned char *bytes);

/* Reads the model's inputs from a file: by name if it has a header, else by position. The target is read if
 * settings->target names one or the file has a column with the model's target name; if need_target is 1, its absence is
 * an error; if it is -1, the target is never read. A text target gets its codes from the model; unknown texts are an
 * error. Weights, noise variances, trials and exposure are read if the model has them and the file has their columns;
 * without such columns, rows have one trial and exposure 1, and a note says so. */
OATGP_API oatgp_status oatgp_data_read_for(oatgp_context *ctx, const char *path, const oatgp_model *model,
                                           const oatgp_settings *settings, int need_target, oatgp_data **out);

/* Reads the same in blocks of rows, for files larger than memory (an .npy file in Fortran order is read as a whole).
 * The model must outlive the stream. */
typedef struct oatgp_stream oatgp_stream;
OATGP_API oatgp_status oatgp_stream_open(oatgp_context *ctx, const char *path, const oatgp_model *model,
                                         const oatgp_settings *settings, int need_target, oatgp_stream **out);
/* Reads all columns of `like`, which comes from oatgp_data_look and must outlive the stream. */
OATGP_API oatgp_status oatgp_stream_open_like(oatgp_context *ctx, const char *path, const oatgp_data *like,
                                              const oatgp_settings *settings, oatgp_stream **out);
/* Reads the next `rows` rows, or fewer at the end. Sets *out to NULL when none is left. */
OATGP_API oatgp_status oatgp_stream_next(oatgp_context *ctx, oatgp_stream *stream, size_t rows, oatgp_data **out);
/* The share of the file whose rows have been returned so far, from 0 to 1; NaN if it is unknown (a pipe). */
OATGP_API double oatgp_stream_share(const oatgp_stream *stream);
OATGP_API void oatgp_stream_free(oatgp_stream *stream);

/* ---- prediction and scores ------------------------------------------------------------------------------------ */

/* Here and below, the model's inputs are found in the data by name if both have names (from a header or
 * oatgp_data_set_names). Other columns are ignored, the order does not matter, and a missing input returns OATGP_DATA.
 * Data without names are matched by position and need the right number of inputs. */

/* Each array has as many values as data has rows, or is NULL. variance is variance_latent plus the noise variance.
 * Variances are in squared units of the target: for targets below about 1e-154 or above 1e154 they become 0 or
 * infinite; standard deviations do not. */
typedef struct oatgp_prediction {
  double *mean, *variance_latent, *variance;
} oatgp_prediction;

/* Predicts at the rows of data, in O(rows x knots^2) time, or O(rows x m^2 x (knots + m)) with m predict_neighbours.
 * Far from the inputs of the fit the prediction becomes the prior. A prediction that is not finite (a linear mean far
 * away) is refused, and the sentence names the row. Data in parts give the same bits if all parts but the last have a
 * multiple of 512 rows. */
OATGP_API oatgp_status oatgp_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                     const oatgp_prediction *out);
/* The same with standard deviations instead of variances. */
typedef struct oatgp_prediction_sd {
  double *mean, *sd_latent, *sd;
} oatgp_prediction_sd;
OATGP_API oatgp_status oatgp_predict_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                        const oatgp_prediction_sd *out);
/* The same, and the ends of the central interval of y with the probability `interval`, or of f if `latent` is not 0:
 * mean -+ a number of standard deviations, or for an averaged model the quantiles of the mixture. With a likelihood
 * other than the Gaussian it describes f, as oatgp_predict_sd does. Each array may be NULL. */
typedef struct oatgp_prediction_interval {
  double *mean, *sd_latent, *sd, *lower, *upper;
  double interval; /* such as 0.95; in (0, 1) */
  int latent;
} oatgp_prediction_interval;
OATGP_API oatgp_status oatgp_predict_interval(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                              const oatgp_prediction_interval *out);
/* Predicts only the mean, in O(rows x knots) time, or with neighbours in the time of oatgp_predict. It differs from the
 * mean of oatgp_predict by rounding. The rule on parts holds here, too. */
OATGP_API oatgp_status oatgp_predict_mean(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                          double *mean);
/* The same with derivatives with respect to the inputs, in the data's units. Arrays of derivatives are row-major,
 * with one row for each row of the data and one column for each input of the model; each array may be NULL.
 * Derivatives are 0 for a category. The derivative of a standard deviation that is 0 is 0. With neighbours,
 * derivatives hold the set of neighbours fixed. Where a kernel has a cusp (matern12), a knot or row of the fit at the
 * same place contributes nothing. About twice the time of oatgp_predict_sd. */
typedef struct oatgp_prediction_gradient {
  double *mean, *sd_latent;
  double *d_mean, *d_sd_latent;
} oatgp_prediction_gradient;
OATGP_API oatgp_status oatgp_predict_gradient(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                              const oatgp_prediction_gradient *out);
/* Predicts as if further rows were known: the posterior of f also given the rows `given`, which have a target and may
 * have weights and noise variances. The model is neither copied nor changed; its parameters and its mean stay. A sparse
 * model is conditioned as exactly as the full GP. O(rows x knots (knots + given)) and given^3. A model with neighbours,
 * or with a likelihood that is not Gaussian, is refused. The members of an averaged model keep their weights. */
OATGP_API oatgp_status oatgp_predict_given(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                           const oatgp_data *given, const oatgp_prediction_sd *out);
/* Computes the joint covariance of f at the rows, n x n; with neighbours, the covariance of the prediction errors.
 * Refused if the target is so small or so large that its square underflows or overflows. */
OATGP_API oatgp_status oatgp_predict_covariance(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                                double *covariance);
/* Draws f jointly at the rows `count` times: n values for each draw, one draw after the other. */
OATGP_API oatgp_status oatgp_predict_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                             size_t count, uint64_t seed, double *samples);

/* Functions drawn from the posterior of f. They can be evaluated anywhere, and each stays the same function in all
 * calls, whereas oatgp_predict_samples draws values at the rows of one call. Over many draws they have the mean and
 * covariance of the posterior (for fic only the variances, because the part of f that the knots do not explain is a
 * function here, not white noise). The prior is represented by random waves, so the kernel needs a spectral form: all
 * named kernels, and expressions without linear and polynomial. Other kernels and models with neighbours are refused.
 * Function i is the same for any count. Functions do not change when rows are added to the model. The model must
 * outlive them. */
typedef struct oatgp_function oatgp_function;
OATGP_API oatgp_status oatgp_function_create(oatgp_context *ctx, const oatgp_model *model, size_t count, uint64_t seed,
                                             oatgp_function **out);
/* values: functions x rows; gradient: functions x rows x inputs of the model, in the data's units. Either may be
 * NULL. */
OATGP_API oatgp_status oatgp_function_evaluate(oatgp_context *ctx, const oatgp_function *function,
                                               const oatgp_data *data, double *values, double *gradient);
OATGP_API void oatgp_function_free(oatgp_function *function);

/* ---- sensitivity: which inputs the function varies with -------------------------------------------------------- */

/* Sobol' indices of f where inputs vary independently of each other: `first` is the share of the variance of f that an
 * input explains alone, `total` the share that it explains alone or together with others. Each is the median over
 * functions drawn from the posterior. lower and upper are the ends of the band. It comes from the quantiles over these
 * draws, which include the error of the integration, and from how the indices of the mean change when groups of rows
 * (of a sparse model: knots) are left out. Each array has one value per input of the model, or is NULL. If functions
 * cannot be drawn from the model (neighbours; linear and polynomial kernels), the indices are those of its mean, and a
 * note says so. Parameters are taken as known, unless the model is averaged. With a likelihood that is not Gaussian, f
 * is the latent function. */
typedef struct oatgp_indices {
  double *first, *first_lower, *first_upper;
  double *total, *total_lower, *total_upper;
  double sd; /* of f over the inputs, the median over the draws; in the target's unit */
} oatgp_indices;
/* How to compute them. */
typedef struct oatgp_indices_of {
  const oatgp_data *over; /* inputs vary as they do in these rows, but independently of each other; NULL: uniformly over
                           * their ranges in the fit, with all levels of a category equally likely */
  size_t draws;           /* number of functions: at least 2, such as 128 */
  uint64_t seed;
  double interval; /* probability of the bands, such as 0.95 */
} oatgp_indices_of;
/* Fills the arrays of `out`. It takes about 1000 (inputs + 2) evaluations of each function. */
OATGP_API oatgp_status oatgp_sensitivity(oatgp_context *ctx, const oatgp_model *model, const oatgp_indices_of *of,
                                         oatgp_indices *out);

/* ---- answers: predictions of y for any likelihood -------------------------------------------------------------- */

/* With a likelihood other than the Gaussian, everything above describes the latent f, without the logarithm of an
 * exposure and without noise: variance is variance_latent. The functions here predict the target itself, integrated
 * over f. They accept Gaussian models, too. Each array has as many values as data has rows, or is NULL. Exposure and
 * trials come from the data, or are 1. */
typedef struct oatgp_answers {
  double *mean, *sd; /* of y: the probability of 1, the expected count, the expected level ...; sd may be infinite */
  double *lower, *upper; /* quantiles of y; the interval between them has at least the probability `interval`. For a
                          * Bernoulli answer, whose quantiles are 0 or 1, they are quantiles of its probability: the
                          * inverse link at the quantiles of f */
  double *latent_mean, *latent_sd; /* of f, including the logarithm of the exposure */
  double *levels;  /* rows x answer_levels, row after row: the probability of each level of an ordinal answer */
  double interval; /* such as 0.95; must be in (0, 1) where lower or upper is wanted */
} oatgp_answers;
OATGP_API oatgp_status oatgp_predict_answers(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                             const oatgp_answers *out);
/* Draws y jointly at the rows `count` times, n values for each draw, one draw after the other: first f from its joint
 * posterior, then y given f, row by row. */
OATGP_API oatgp_status oatgp_predict_answer_samples(oatgp_context *ctx, const oatgp_model *model,
                                                    const oatgp_data *data, size_t count, uint64_t seed,
                                                    double *samples);

/* ---- effects: the summands of a kernel that is a sum ----------------------------------------------------------- */

/* One term. A kernel that is not a sum has one effect, the whole kernel. Everything belongs to the model. */
typedef struct oatgp_effect {
  const char *name;     /* as the kernel's text has it: "se(time)", "periodic(time) * se(time)" */
  size_t input_count;   /* the inputs it depends on, as indices of the model's inputs */
  const size_t *inputs; /* input_count */
} oatgp_effect;
OATGP_API int oatgp_effect_at(const oatgp_model *model, size_t index, oatgp_effect *out); /* 0 past the end */

/* Posterior of the effects at n rows; each array may be NULL. An effect is centred: it is the term minus its average
 * over some rows, and its sd is that of this difference. The prediction is the sum of the prior mean, all centres and
 * all effects. */
typedef struct oatgp_effect_values {
  double *mean, *sd; /* n for each effect, one effect after the other */
  double *centre;    /* for each effect: the average that was subtracted */
  double *share; /* for each effect: the variance of its mean over the rows of the average, as a share of the sum over
                    all effects */
} oatgp_effect_values;
/* Computes the effects at the rows of data. Averages are over the rows of `over`, or over those of data if it is NULL.
 * With more than 2000 rows, evenly spaced rows represent all of them in the sd of the average. O(rows x knots^2) for
 * each effect. A model with neighbours is refused. */
OATGP_API oatgp_status oatgp_predict_effects(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                             const oatgp_data *over, const oatgp_effect_values *out);

typedef struct oatgp_scores {
  size_t n;
  double rmse, srmse;    /* srmse = rmse / sd(y of these rows); NaN for fewer than two rows or a constant y */
  double mnlp, mean_nlp; /* median and mean of -log p(y_i) */
  double coverage50, coverage80, coverage90, coverage95, coverage99;
  double aukl_latent, aukl_observation; /* mean KL(against || model) of f and of y; NaN without `against` */
  /* For likelihoods other than the Gaussian; NaN where they have no meaning. With such a likelihood, mean_nlp and mnlp
   * use the predictive probability (or density) of y, integrated over f; rmse is that of the expected y; coverages are
   * those of intervals between quantiles, and NaN for Bernoulli. */
  double log_loss, brier, accuracy,
      auc;         /* Bernoulli: log_loss is mean_nlp; accuracy also for ordinal, the likeliest level */
  double deviance; /* mean of 2 (log p(y) of the saturated model - log predictive probability of y) */
} oatgp_scores;

/* Scores the predictions at the rows of data, which need a target. `against` may be NULL; otherwise it must have the
 * same input names, and both models must be Gaussian. The predictions of an averaged model then count as normal ones.
 */
OATGP_API oatgp_status oatgp_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                   const oatgp_model *against, oatgp_scores *out);

/* ---- rows held out, and rows that come later ------------------------------------------------------------------- */

/* Predictions of rows by a model that has not seen them. Each array has as many values as data has rows, or is NULL.
 * variance is that of an observation, nlp is -log p(y), residual is (y - mean) / sd; for a likelihood other than the
 * Gaussian, residual is the normal quantile of P(Y < y) + P(Y = y) / 2; in cross-validation with `average`, that of
 * P(Y < y). */
typedef struct oatgp_held_out {
  double *mean, *variance, *nlp, *residual;
} oatgp_held_out;

/* Leave-one-out in closed form: each row is predicted from all the others, at the model's parameters and knots (which
 * were chosen with all rows). This is exact for the model's joint distribution of all rows. With a likelihood other
 * than the Gaussian it is exact for the Gaussian sites that represent the rows, held at their values with all rows; a
 * real refit would change the sites a little. Such a model is refused after oatgp_update. The draws of an averaged
 * model keep their places without the row, but not their weights. data must be the rows of the
 * fit: in any order for a sparse model, in the order of the fit for the full GP. It takes O(rows x knots^2) time, with
 * neighbours that of an evaluation, and O(rows^3) for the full GP. rows and scores may be NULL. */
OATGP_API oatgp_status oatgp_loo(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                 const oatgp_held_out *rows, oatgp_scores *scores);

/* The same with standard deviations instead of variances, as in oatgp_predict_sd. */
typedef struct oatgp_held_out_sd {
  double *mean, *sd, *nlp, *residual;
} oatgp_held_out_sd;
OATGP_API oatgp_status oatgp_loo_sd(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    const oatgp_held_out_sd *rows, oatgp_scores *scores);

/* A finished fold: the model was fitted to the other rows and scored on these. The model is valid during the call. */
typedef struct oatgp_fold {
  size_t number, count; /* from 1, of how many */
  size_t fitted;        /* rows of its fit */
  oatgp_scores scores;  /* of its own rows */
  const oatgp_model *model;
} oatgp_fold;

/* Callbacks of a cross-validation; each may be NULL. A nonzero result of either ends the cross-validation. */
typedef struct oatgp_cv_watch {
  oatgp_monitor_fn monitor; /* of each fit */
  int (*fold)(void *user, const oatgp_fold *fold);
  void *user;
} oatgp_cv_watch;

/* Cross-validation: rows are assigned at random (settings->seed) to settings->folds folds. Each fold is predicted by a
 * model that oatgp_fit fits to the others. checkpoint and resume are ignored. The scores are of all rows together, not
 * means over folds. After an early end, they are those of the finished folds (scores->n rows; the others are NaN in
 * `rows`), or the result is OATGP_STOPPED if no fold is finished. */
OATGP_API oatgp_status oatgp_cv(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                                const oatgp_data *knots, const oatgp_cv_watch *watch, const oatgp_held_out *rows,
                                oatgp_scores *scores);
OATGP_API oatgp_status oatgp_cv_sd(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                                   const oatgp_data *knots, const oatgp_cv_watch *watch, const oatgp_held_out_sd *rows,
                                   oatgp_scores *scores);

/* Adds rows to a model at its parameters, knots and scaling. The result is the model of all rows, including an
 * estimated mean and the objective (a mean computed from the fit's targets stays). A sparse model adds the rows to
 * its sums in O(rows x knots^2). The full GP appends them in O(n^2) per row: its factor grows. A model with
 * neighbours appends them, too, and computes all sums again. An averaged model keeps its draws and their weights. With
 * a likelihood other than the Gaussian, the new rows of a sparse model get sites while the old sites stay, with a note,
 * and the objective is then an estimate; the full GP is refused. Leave-one-out scores are unknown after an update. On
 * failure the model is unchanged. */
OATGP_API oatgp_status oatgp_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data);
/* Removes rows from the full GP, given by their numbers from 0 in the order in which they were added, in O(n^2) per
 * row. The rules of oatgp_update apply. A sparse model is refused, because it does not keep its rows. */
OATGP_API oatgp_status oatgp_model_remove_rows(oatgp_context *ctx, oatgp_model *model, size_t count,
                                               const size_t *rows);
/* Continues the fit of a model; data are all rows, old and new. The kind of model (approx, neighbours, kernel, mean,
 * scaling, jitter, fixed parameters) comes from the model; of the settings only optimizer, max_iter, max_eval,
 * obj_tol, patience, grad_tol, time_limit, threads, device, memory and block are used. Knots move, unless select was
 * fixed, or variance without refine. */
OATGP_API oatgp_status oatgp_refit(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                   const oatgp_settings *settings, oatgp_monitor_fn monitor, void *user,
                                   oatgp_model **out);

OATGP_API double oatgp_normal_quantile(double p); /* of the standard normal; NaN outside (0, 1) */

/* ---- certificate ---------------------------------------------------------------------------------------------- */

/* Bounds of the exact log evidence at a model's parameters, in the data's units:
 *   elbo <= lower <= log p(y) <= upper
 * elbo is the objective of vfe at the model's parameters and knots. lower is the best lower bound found, at least the
 * objective of tvfe. The Kullback-Leibler divergence of the sparse posterior (of vfe, dtc and tvfe, which share it)
 * from the exact one is at most kl_at_most = upper - elbo nats. */
typedef struct oatgp_certificate {
  size_t n;
  double elbo, lower, upper, kl_at_most, kl_per_row;
  double exact; /* the log evidence itself, with settings->exact or for the full GP (whose bounds all equal it); else
                   NaN */
  int64_t iterations;
  double seconds, seconds_per_iteration;
  oatgp_stop stop; /* NONE for the full GP */
} oatgp_certificate;

/* Receives the bounds so far after every iteration and a few times a second during one; a nonzero result ends the
 * work with these bounds. */
typedef int (*oatgp_bracket_fn)(void *user, const oatgp_certificate *so_far);

/* Data are the rows that the model was fitted to, with their weights and noise variances. Other rows cause a warning.
 * A model with a likelihood other than the Gaussian is refused. Uses the settings tol, max_iter, time_limit,
 * determinant, threads, device, memory, exact. Conjugate gradients take O(n^2 d) time per iteration. Then, if wanted
 * and if 2 n x knots numbers fit into memory, traces in O(n^2 knots) tighten the determinant. A note announces the
 * cost. The bounds are valid from the first iteration on, so a certificate that was stopped is a success. An
 * estimated mean is treated as known. Results, apart from times, have the same bits for any number of threads. */
OATGP_API oatgp_status oatgp_certify(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                     const oatgp_settings *settings, oatgp_bracket_fn monitor, void *user,
                                     oatgp_certificate *out);
/* Stores the bounds in the model and its file. */
OATGP_API oatgp_status oatgp_model_set_certificate(oatgp_context *ctx, oatgp_model *model,
                                                   const oatgp_certificate *certificate);

/* ---- figures and the report ------------------------------------------------------------------------------------- */

/* A kind of figure. */
typedef struct oatgp_figure {
  const char *name, *help;
  int needs_data; /* it needs rows with a target; for other figures data may be NULL, and if they are given, their rows
                   * are drawn, too */
} oatgp_figure;
OATGP_API int oatgp_figure_at(size_t index, oatgp_figure *out); /* 0 past the end */

typedef struct oatgp_drawing {
  const char *figure; /* its name */
  const char *path;   /* output file; "-" is standard output. The file appears only when it is complete */
  size_t width,
      height; /* both 0: SVG; otherwise text for a terminal, with this size for each panel (at least 24 x 8) */
  int utf8;   /* the text may use characters beyond ASCII */
} oatgp_drawing;
/* Draws a figure of the model. If data are the rows of the fit, each is predicted from the others (oatgp_loo); other
 * rows are predicted directly. Returns OATGP_DATA if the figure does not exist for this model; the sentence says
 * why. */
OATGP_API oatgp_status oatgp_draw(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  const oatgp_drawing *drawing);
/* Writes all figures, scores and a description of the fit as one self-contained HTML page. The data need a target;
 * `from` names their source (NULL: "the data"). Each figure has at most 1500 points, so that the page stays small. */
OATGP_API oatgp_status oatgp_report(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                    const char *from, const char *path);

#ifdef __cplusplus
}
#endif
#endif
