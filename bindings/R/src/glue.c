/* Jobs: a context, what it says, and clearing up; conversions between R and the library. */
#include "glue.h"

#include <stdlib.h>
#include <string.h>

#include <R_ext/Print.h>

#include "linalg/blas.h"
#include "linalg/linalg.h"

static const char *const status_names[] = {
#define OATGP_STATUS(NAME, sentence) #NAME,
#include "oatgp_status.def"
};

/* ---- jobs ------------------------------------------------------------------------------------------------------ */

/* A sentence that there is no memory or room for is lost; it is no reason to fail. */
void keep_sentence(void *user, oatgp_level level, const char *sentence) {
  job *j = user;
  sentences *said = &j->said[level];
  if (said->count < MAX_SENTENCES) {
    char *copy = malloc(strlen(sentence) + 1);
    if (copy != NULL) {
      strcpy(copy, sentence);
      said->text[said->count++] = copy;
    }
  }
}

static SEXP sentences_vector(const sentences *said) {
  SEXP texts = PROTECT(Rf_allocVector(STRSXP, said->count));
  for (int i = 0; i < said->count; i++) {
    SET_STRING_ELT(texts, i, Rf_mkCharCE(said->text[i], CE_UTF8));
  }
  UNPROTECT(1);
  return texts;
}

typedef struct run {
  job *j;
  work_fn work;
} run;

static SEXP do_job(void *data) {
  const run *r = data;
  job *j = r->j;
  static const char *const names[] = {"status", "sentence", "warnings", "notes", "interrupted", "value"};
  SEXP value = R_NilValue;
  const oatgp_status status = r->work(j, &value); /* which leaves its value protected, one object at most */
  const int protected = value != R_NilValue ? 1 : 0;
  if (j->line_is_open) {
    REprintf("\r%78s\r", "");
  }
  if (status == OATGP_OK && j->watched) {
    take_late_interrupt(j);
  }
  SEXP result = PROTECT(named_list(6, names));
  SET_VECTOR_ELT(result, 0, Rf_mkString(status_names[status]));
  SET_VECTOR_ELT(result, 1, text_value(status == OATGP_OK ? "" : oatgp_last_error(j->ctx)));
  SET_VECTOR_ELT(result, 2, sentences_vector(&j->said[OATGP_WARNING]));
  SET_VECTOR_ELT(result, 3, sentences_vector(&j->said[OATGP_NOTE]));
  SET_VECTOR_ELT(result, 4, Rf_ScalarLogical(j->interrupted));
  SET_VECTOR_ELT(result, 5, value);
  UNPROTECT(1 + protected);
  return result;
}

static void clear_job(void *data) {
  job *j = data;
  for (size_t level = 0; level < 2; level++) {
    for (int i = 0; i < j->said[level].count; i++) {
      free(j->said[level].text[i]);
    }
  }
  oatgp_bytes_free(j->bytes);
  oatgp_model_free(j->model);
  oatgp_data_free(j->data);
  oatgp_data_free(j->knots);
  oatgp_context_free(j->ctx);
  if (j->blas_threads > 0) {
    oat_set_blas_threads(j->blas_threads);
  }
}

SEXP run_job(job *j, work_fn work) {
  run r = {j, work};
  j->ctx = oatgp_context_create();
  if (j->ctx == NULL) {
    Rf_error("out of memory");
  }
  j->blas_threads = oat_blas_threads();
  oatgp_settings_default(&j->settings);
  oatgp_context_set_message(j->ctx, keep_sentence, j);
  oatgp_context_set_front(j->ctx, OATGP_FRONT_R);
  return R_ExecWithCleanup(do_job, &r, clear_job, j);
}

/* ---- R's values ------------------------------------------------------------------------------------------------ */

SEXP list_element(SEXP list, const char *name) {
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++) {
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) {
      return VECTOR_ELT(list, i);
    }
  }
  return R_NilValue;
}

bool is_true(SEXP value) { return Rf_asLogical(value) == TRUE; }

const char *text_or_null(SEXP value) {
  return TYPEOF(value) == STRSXP && Rf_xlength(value) == 1 ? Rf_translateCharUTF8(STRING_ELT(value, 0)) : NULL;
}

SEXP named_list(int count, const char *const *names) {
  SEXP list = PROTECT(Rf_allocVector(VECSXP, count)), labels = PROTECT(Rf_allocVector(STRSXP, count));
  for (int i = 0; i < count; i++) {
    SET_STRING_ELT(labels, i, Rf_mkChar(names[i]));
  }
  Rf_setAttrib(list, R_NamesSymbol, labels);
  UNPROTECT(2);
  return list;
}

SEXP text_value(const char *text) {
  SEXP value = PROTECT(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(value, 0, Rf_mkCharCE(text, CE_UTF8));
  UNPROTECT(1);
  return value;
}

SEXP real_vector(size_t count, const double *values) {
  SEXP vector = Rf_allocVector(REALSXP, (R_xlen_t)count);
  if (count > 0) {
    memcpy(REAL(vector), values, count * sizeof *values);
  }
  return vector;
}

SEXP real_matrix(size_t rows, size_t columns, const double *row_major_values) {
  SEXP matrix = Rf_allocMatrix(REALSXP, (int)rows, (int)columns);
  double *to = REAL(matrix);
  for (size_t i = 0; i < rows; i++) {
    for (size_t c = 0; c < columns; c++) {
      to[i + c * rows] = row_major_values[i * columns + c];
    }
  }
  return matrix;
}

SEXP scores_list(const oatgp_scores *s) {
  static const char *const names[] = {"n",          "rmse",       "srmse",      "mnlp",       "mean_nlp",
                                      "log_loss",   "brier",      "accuracy",   "auc",        "deviance",
                                      "coverage50", "coverage80", "coverage90", "coverage95", "coverage99"};
  const double values[] = {(double)s->n,  s->rmse,       s->srmse,      s->mnlp,       s->mean_nlp,
                           s->log_loss,   s->brier,      s->accuracy,   s->auc,        s->deviance,
                           s->coverage50, s->coverage80, s->coverage90, s->coverage95, s->coverage99};
  const int count = sizeof values / sizeof *values;
  SEXP list = PROTECT(named_list(count, names));
  for (int i = 0; i < count; i++) {
    SET_VECTOR_ELT(list, i, Rf_ScalarReal(values[i]));
  }
  UNPROTECT(1);
  return list;
}

/* ---- data and settings ----------------------------------------------------------------------------------------- */

static const double *reals_or_null(SEXP value) { return TYPEOF(value) == REALSXP ? REAL(value) : NULL; }

/* Texts of a character vector, in R's memory. */
static const char **texts_of(SEXP vector) {
  const char **texts = (const char **)R_alloc((size_t)Rf_xlength(vector) + 1, sizeof *texts);
  for (R_xlen_t i = 0; i < Rf_xlength(vector); i++) {
    texts[i] = Rf_translateCharUTF8(STRING_ELT(vector, i));
  }
  return texts;
}

/* By the names of the columns of x, so that the library finds the model's inputs among them. */
static oatgp_status name_columns(job *j, SEXP frame, oatgp_data *data) {
  SEXP both = Rf_getAttrib(list_element(frame, "x"), R_DimNamesSymbol);
  SEXP names = both != R_NilValue ? VECTOR_ELT(both, 1) : R_NilValue;
  if (names == R_NilValue) {
    return OATGP_OK;
  }
  return oatgp_data_set_names(j->ctx, data, texts_of(names), text_or_null(list_element(frame, "target")));
}

/* frame$levels is a list with a name for each column that is a category. */
static oatgp_status set_levels(job *j, SEXP frame, oatgp_data *data) {
  SEXP list = list_element(frame, "levels"), names = Rf_getAttrib(list, R_NamesSymbol);
  for (size_t input = 0; input < oatgp_data_inputs(data); input++) {
    for (R_xlen_t k = 0; k < Rf_xlength(names); k++) {
      SEXP texts = VECTOR_ELT(list, k);
      if (strcmp(Rf_translateCharUTF8(STRING_ELT(names, k)), oatgp_data_input_name(data, input)) != 0 ||
          texts == R_NilValue) {
        continue;
      }
      const oatgp_status status =
          oatgp_data_set_levels(j->ctx, data, input, (size_t)Rf_xlength(texts), texts_of(texts));
      if (status != OATGP_OK) {
        return status;
      }
    }
  }
  return OATGP_OK;
}

typedef oatgp_status (*column_setter)(oatgp_context *ctx, oatgp_data *data, const double *values);

/* What belongs to the rows beside inputs and target, and the classes of the target. */
static oatgp_status set_columns(job *j, SEXP frame, oatgp_data *data) {
  static const struct {
    const char *name;
    column_setter set;
  } columns[] = {{"weights", oatgp_data_set_weights},
                 {"noise_variance", oatgp_data_set_noise_variance},
                 {"trials", oatgp_data_set_trials},
                 {"exposure", oatgp_data_set_exposure}};
  SEXP classes = list_element(frame, "classes");
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < sizeof columns / sizeof *columns && status == OATGP_OK; i++) {
    const double *values = reals_or_null(list_element(frame, columns[i].name));
    status = values != NULL ? columns[i].set(j->ctx, data, values) : OATGP_OK;
  }
  if (status == OATGP_OK && classes != R_NilValue) {
    status = oatgp_data_set_target_levels(j->ctx, data, (size_t)Rf_xlength(classes), texts_of(classes));
  }
  return status;
}

/* R's own values are borrowed: the frame is an argument of the entry, and nobody changes it meanwhile. *out is the
 * job's, so that it is freed whatever happens from here on. */
oatgp_status data_from_frame(job *j, SEXP frame, oatgp_data **out) {
  SEXP x = list_element(frame, "x");
  const size_t n = (size_t)Rf_nrows(x), d = (size_t)Rf_ncols(x);
  const oatgp_view view = {n, d, REAL(x), reals_or_null(list_element(frame, "y")), 1, n};
  oatgp_status status = oatgp_data_borrow(j->ctx, &view, out);
  if (status == OATGP_OK) {
    status = name_columns(j, frame, *out);
  }
  if (status == OATGP_OK) {
    status = set_levels(j, frame, *out);
  }
  return status == OATGP_OK ? set_columns(j, frame, *out) : status;
}

oatgp_status settings_from_texts(job *j, SEXP texts) {
  SEXP names = Rf_getAttrib(texts, R_NamesSymbol);
  oatgp_status status = OATGP_OK;
  for (R_xlen_t i = 0; status == OATGP_OK && i < Rf_xlength(texts); i++) {
    status = oatgp_settings_set(j->ctx, &j->settings, CHAR(STRING_ELT(names, i)),
                                Rf_translateCharUTF8(STRING_ELT(texts, i)));
  }
  oatgp_context_set_threads(j->ctx, (int)j->settings.threads);
  return status == OATGP_OK ? oatgp_context_set_device(j->ctx, j->settings.device) : status;
}

/* ---- models ---------------------------------------------------------------------------------------------------- */

static void free_model(SEXP pointer) {
  oatgp_model_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

/* From the bytes of the pointer, for this job: j->model. What is no pointer has none, and is refused like damaged
 * bytes. */
static oatgp_status read_model(job *j, SEXP pointer) {
  static const unsigned char none[1] = {0};
  SEXP bytes = TYPEOF(pointer) == EXTPTRSXP ? R_ExternalPtrTag(pointer) : R_NilValue;
  const bool has_bytes = TYPEOF(bytes) == RAWSXP;
  return oatgp_model_from_bytes(j->ctx, has_bytes ? RAW(bytes) : none, has_bytes ? (size_t)Rf_xlength(bytes) : 0,
                                &j->model);
}

oatgp_status model_behind(job *j, SEXP pointer, const oatgp_model **out) {
  if (TYPEOF(pointer) != EXTPTRSXP || R_ExternalPtrAddr(pointer) == NULL) {
    const oatgp_status status = read_model(j, pointer);
    if (status != OATGP_OK) {
      return status;
    }
    R_RegisterCFinalizerEx(pointer, free_model, TRUE);
    R_SetExternalPtrAddr(pointer, j->model);
    j->model = NULL;
  }
  *out = R_ExternalPtrAddr(pointer);
  return OATGP_OK;
}

oatgp_status hand_over_model(job *j, SEXP *value) {
  size_t size = 0;
  const oatgp_status status = oatgp_model_to_bytes(j->ctx, j->model, &j->bytes, &size);
  if (status != OATGP_OK) {
    return status;
  }
  SEXP bytes = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
  memcpy(RAW(bytes), j->bytes, size);
  SEXP pointer = R_MakeExternalPtr(NULL, bytes, R_NilValue);
  UNPROTECT(1);
  *value = PROTECT(pointer);
  R_RegisterCFinalizerEx(pointer, free_model, TRUE);
  R_SetExternalPtrAddr(pointer, j->model);
  j->model = NULL;
  return OATGP_OK;
}
