/* What the entries called from R share.
 *
 * R leaves C by a long jump when it runs out of memory or is interrupted. So everything that is not R's own memory
 * belongs to a `job`, which R_ExecWithCleanup clears whatever happens; nothing that can jump is called from the
 * library's callbacks but inside R_ToplevelExec. An entry never raises an R error of its own: it returns a list with
 * status, sentence, warnings, notes and value, and R/call.R makes conditions of it. */
#ifndef OATGP_R_GLUE_H
#define OATGP_R_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oatgp.h"

#define R_NO_REMAP
#include <Rinternals.h>

enum { MAX_SENTENCES = 50, MAX_ARGUMENTS = 5 };

/* Sentences of one level, copied when they come. */
typedef struct sentences {
  char *text[MAX_SENTENCES];
  int count;
} sentences;

typedef struct job {
  SEXP argument[MAX_ARGUMENTS];
  oatgp_context *ctx;
  oatgp_settings settings;
  oatgp_data *data, *knots;
  oatgp_model *model; /* made by this job, and its own */
  unsigned char *bytes;
  sentences said[2]; /* by oatgp_level */
  bool progress;     /* shown in the console */
  bool watched;      /* long work, which an interrupt ends with its best so far */
  bool interrupted;
  bool line_is_open;
  double next_look, next_line;
  int blas_threads; /* of the rest of R, given back at the end */
} job;

/* What an entry does: fills *value with an R object that it has left protected, and counts that. */
typedef oatgp_status (*work_fn)(job *j, SEXP *value);

/* Runs the work with a context and clears up. Returns the list that R/call.R knows. */
SEXP run_job(job *j, work_fn work);
/* The library's messages come here; `user` is the job. */
void keep_sentence(void *user, oatgp_level level, const char *sentence);

/* ---- conversions: each may jump ------------------------------------------------------------------------------- */

SEXP list_element(SEXP list, const char *name); /* R_NilValue if absent */
bool is_true(SEXP value);
const char *text_or_null(SEXP value);
/* A list of `count` elements with these names; fill it by SET_VECTOR_ELT. Unprotected. */
SEXP named_list(int count, const char *const *names);
SEXP text_value(const char *text);                                             /* UTF-8; unprotected */
SEXP real_vector(size_t count, const double *values);                          /* unprotected */
SEXP real_matrix(size_t rows, size_t columns, const double *row_major_values); /* unprotected */
SEXP scores_list(const oatgp_scores *scores);                                  /* unprotected */

/* A frame is a list with x (n x d, its columns named), y, weights, noise_variance, trials, exposure (each NULL or n
 * values), target (a name or NULL) and classes (the texts that the target has codes of, or NULL). */
oatgp_status data_from_frame(job *j, SEXP frame, oatgp_data **out);
/* Settings are a named character vector. */
oatgp_status settings_from_texts(job *j, SEXP texts);

/* ---- models as external pointers, whose tag has the bytes of the model file, so that they survive saveRDS ------ */

/* The model behind a pointer, made anew from its bytes where the pointer was read from a file. It belongs to the
 * pointer. */
oatgp_status model_behind(job *j, SEXP pointer, const oatgp_model **out);
/* A pointer that owns j->model from now on. Left protected in *value. */
oatgp_status hand_over_model(job *j, SEXP *value);

/* ---- what happens meanwhile ------------------------------------------------------------------------------------ */

int watch_fit(void *user, const oatgp_event *event);
int watch_bracket(void *user, const oatgp_certificate *so_far);
/* An interrupt that came after the last look, or a second one, would lose the result on its way to R's variable. */
void take_late_interrupt(job *j);

#endif
