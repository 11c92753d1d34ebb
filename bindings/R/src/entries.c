/* The entries that R calls: one for each thing that the library does. Their arguments are checked in R. */
#include "entries.h"

#include <math.h>

#include <R_ext/Arith.h>

#include "linalg/blas.h"

/* Ends a work function early when a call failed. */
#define NEED(call)                     \
  do {                                 \
    const oatgp_status need_ = (call); \
    if (need_ != OATGP_OK) {           \
      return need_;                    \
    }                                  \
  } while (0)

/* A new vector of n values, protected as the value of the entry. */
static double *new_vector(R_xlen_t n, SEXP *value) {
  *value = PROTECT(Rf_allocVector(REALSXP, n));
  return REAL(*value);
}

/* ---- fit, refit, update ---------------------------------------------------------------------------------------- */

/* Bounds of the log evidence, kept in the model, in what is left of the time and with a limit of iterations of their
 * own. The fit is worth more than they are, so that a failure is a warning. */
static void keep_certificate(job *j) {
  oatgp_certificate certificate;
  oatgp_settings settings = j->settings, defaults;
  oatgp_model_info info;
  oatgp_model_get_info(j->model, &info);
  oatgp_settings_default(&defaults);
  settings.max_iter = defaults.max_iter;
  settings.time_limit = settings.time_limit > 0 ? fmax(settings.time_limit - info.seconds, 1e-9) : 0;
  if (oatgp_certify(j->ctx, j->model, j->data, &settings, watch_bracket, j, &certificate) == OATGP_OK) {
    oatgp_model_set_certificate(j->ctx, j->model, &certificate);
  } else {
    keep_sentence(j, OATGP_WARNING, oatgp_last_error(j->ctx));
  }
}

/* frame, settings, knots (a frame or NULL), control: progress, certify, command */
static oatgp_status fit_work(job *j, SEXP *value) {
  SEXP knots = j->argument[2], control = j->argument[3];
  NEED(settings_from_texts(j, j->argument[1]));
  NEED(data_from_frame(j, j->argument[0], &j->data));
  if (knots != R_NilValue) {
    NEED(data_from_frame(j, knots, &j->knots));
  }
  NEED(oatgp_fit(j->ctx, j->data, &j->settings, j->knots, watch_fit, j, &j->model));
  if (is_true(list_element(control, "certify")) && !j->interrupted) {
    keep_certificate(j);
  }
  NEED(oatgp_model_set_command(j->ctx, j->model, text_or_null(list_element(control, "command"))));
  return hand_over_model(j, value);
}

SEXP entry_fit(SEXP frame, SEXP settings, SEXP knots, SEXP control) {
  job j = {.argument = {frame, settings, knots, control}, .progress = is_true(list_element(control, "progress"))};
  return run_job(&j, fit_work);
}

/* model, frame of all rows, settings */
static oatgp_status refit_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  NEED(settings_from_texts(j, j->argument[2]));
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  NEED(oatgp_refit(j->ctx, model, j->data, &j->settings, watch_fit, j, &j->model));
  return hand_over_model(j, value);
}

SEXP entry_refit(SEXP model, SEXP frame, SEXP settings, SEXP progress) {
  job j = {.argument = {model, frame, settings}, .progress = is_true(progress)};
  return run_job(&j, refit_work);
}

static oatgp_status update_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  NEED(model_behind(j, j->argument[0], &model));
  NEED(oatgp_model_copy(j->ctx, model, &j->model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  NEED(oatgp_update(j->ctx, j->model, j->data));
  return hand_over_model(j, value);
}

SEXP entry_update(SEXP model, SEXP frame) {
  job j = {.argument = {model, frame}};
  return run_job(&j, update_work);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static oatgp_status save_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  (void)value;
  NEED(model_behind(j, j->argument[0], &model));
  return oatgp_model_save(j->ctx, model, text_or_null(j->argument[1]));
}

SEXP entry_save(SEXP model, SEXP path) {
  job j = {.argument = {model, path}};
  return run_job(&j, save_work);
}

static oatgp_status load_work(job *j, SEXP *value) {
  NEED(oatgp_model_load(j->ctx, text_or_null(j->argument[0]), &j->model));
  return hand_over_model(j, value);
}

SEXP entry_load(SEXP path) {
  job j = {.argument = {path}};
  return run_job(&j, load_work);
}

/* ---- prediction ------------------------------------------------------------------------------------------------ */

/* model, frame, settings, level, latent. A matrix of five columns: mean, sd of f, sd of y, and the bounds of the
 * interval of y, or of f if latent; NA where the level is. */
static oatgp_status predict_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  NEED(settings_from_texts(j, j->argument[2]));
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  const int n = (int)oatgp_data_rows(j->data);
  const double level = Rf_asReal(j->argument[3]);
  *value = PROTECT(Rf_allocMatrix(REALSXP, n, 5));
  double *mean = REAL(*value), *latent = mean + n, *sd = latent + n, *lower = sd + n, *upper = lower + n;
  if (!ISNAN(level)) {
    return oatgp_predict_interval(
        j->ctx, model, j->data,
        &(oatgp_prediction_interval){mean, latent, sd, lower, upper, level, Rf_asLogical(j->argument[4])});
  }
  for (size_t i = 0; i < 2 * (size_t)n; i++) {
    lower[i] = NA_REAL;
  }
  return oatgp_predict_sd(j->ctx, model, j->data, &(oatgp_prediction_sd){mean, latent, sd});
}

SEXP entry_predict(SEXP model, SEXP frame, SEXP settings, SEXP level, SEXP latent) {
  job j = {.argument = {model, frame, settings, level, latent}};
  return run_job(&j, predict_work);
}

/* model, frame, settings, level. list(values, a matrix of six columns: mean and sd of y, the bounds of its interval,
 * mean and sd of f; levels, the probabilities of the levels of an ordinal answer, a matrix without columns for
 * others). */
static oatgp_status answers_work(job *j, SEXP *value) {
  static const char *const names[] = {"values", "levels"};
  const oatgp_model *model = NULL;
  oatgp_model_info info;
  NEED(settings_from_texts(j, j->argument[2]));
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  oatgp_model_get_info(model, &info);
  const size_t n = oatgp_data_rows(j->data), count = info.answer_levels;
  double *levels = count > 0 ? (double *)R_alloc(n * count + 1, sizeof *levels) : NULL;
  *value = PROTECT(named_list(2, names));
  SET_VECTOR_ELT(*value, 0, Rf_allocMatrix(REALSXP, (int)n, 6));
  double *at = REAL(VECTOR_ELT(*value, 0));
  NEED(oatgp_predict_answers(j->ctx, model, j->data,
                             &(oatgp_answers){.mean = at,
                                              .sd = at + n,
                                              .lower = at + 2 * n,
                                              .upper = at + 3 * n,
                                              .latent_mean = at + 4 * n,
                                              .latent_sd = at + 5 * n,
                                              .levels = levels,
                                              .interval = Rf_asReal(j->argument[3])}));
  SET_VECTOR_ELT(*value, 1, real_matrix(n, count, levels));
  return OATGP_OK;
}

SEXP entry_answers(SEXP model, SEXP frame, SEXP settings, SEXP level) {
  job j = {.argument = {model, frame, settings, level}};
  return run_job(&j, answers_work);
}

/* A list of two matrices with a column for each input: derivatives of the mean, and of the sd of f. The library has
 * them row after row. */
static oatgp_status gradient_work(job *j, SEXP *value) {
  static const char *const names[] = {"mean", "se.fit"};
  const oatgp_model *model = NULL;
  oatgp_model_info info;
  NEED(settings_from_texts(j, j->argument[2]));
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  oatgp_model_get_info(model, &info);
  const size_t n = oatgp_data_rows(j->data);
  SEXP list = *value = PROTECT(named_list(2, names)),
       room = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(2 * n * info.d)));
  double *d_mean = REAL(room), *d_sd = d_mean + n * info.d;
  const oatgp_status status =
      oatgp_predict_gradient(j->ctx, model, j->data, &(oatgp_prediction_gradient){NULL, NULL, d_mean, d_sd});
  SET_VECTOR_ELT(list, 0, real_matrix(n, info.d, d_mean));
  SET_VECTOR_ELT(list, 1, real_matrix(n, info.d, d_sd));
  UNPROTECT(1);
  return status;
}

SEXP entry_gradient(SEXP model, SEXP frame, SEXP settings) {
  job j = {.argument = {model, frame, settings}};
  return run_job(&j, gradient_work);
}

static int count_effects(const oatgp_model *model) {
  oatgp_effect effect;
  int count = 0;
  while (oatgp_effect_at(model, (size_t)count, &effect)) {
    count++;
  }
  return count;
}

/* Their names, and the numbers of their inputs, from 1. */
static void name_effects(const oatgp_model *model, int count, SEXP names, SEXP inputs) {
  oatgp_effect effect;
  for (int a = 0; a < count; a++) {
    oatgp_effect_at(model, (size_t)a, &effect);
    SET_STRING_ELT(names, a, Rf_mkCharCE(effect.name, CE_UTF8));
    SET_VECTOR_ELT(inputs, a, Rf_allocVector(INTSXP, (R_xlen_t)effect.input_count));
    for (size_t j = 0; j < effect.input_count; j++) {
      INTEGER(VECTOR_ELT(inputs, a))[j] = (int)effect.inputs[j] + 1;
    }
  }
}

/* model, frame, frame of the rows that averages are over or NULL, settings. The other rows are in the place of knots,
 * which there are none of. */
static oatgp_status effects_work(job *j, SEXP *value) {
  static const char *const names[] = {"mean", "sd", "centre", "share", "name", "inputs"};
  const oatgp_model *model = NULL;
  NEED(settings_from_texts(j, j->argument[3]));
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  if (j->argument[2] != R_NilValue) {
    NEED(data_from_frame(j, j->argument[2], &j->knots));
  }
  const int n = (int)oatgp_data_rows(j->data), count = count_effects(model);
  SEXP list = *value = PROTECT(named_list(6, names));
  for (int i = 0; i < 4; i++) {
    SET_VECTOR_ELT(list, i, i < 2 ? Rf_allocMatrix(REALSXP, n, count) : Rf_allocVector(REALSXP, count));
  }
  SET_VECTOR_ELT(list, 4, Rf_allocVector(STRSXP, count));
  SET_VECTOR_ELT(list, 5, Rf_allocVector(VECSXP, count));
  name_effects(model, count, VECTOR_ELT(list, 4), VECTOR_ELT(list, 5));
  return oatgp_predict_effects(j->ctx, model, j->data, j->knots,
                               &(oatgp_effect_values){REAL(VECTOR_ELT(list, 0)), REAL(VECTOR_ELT(list, 1)),
                                                      REAL(VECTOR_ELT(list, 2)), REAL(VECTOR_ELT(list, 3))});
}

SEXP entry_effects(SEXP model, SEXP frame, SEXP over, SEXP settings) {
  job j = {.argument = {model, frame, over, settings}};
  return run_job(&j, effects_work);
}

/* model, frame of the rows that inputs vary as or NULL, draws, seed, probability of the bands. A list: a matrix with a
 * row for each input and the columns of oatgp_indices, and the standard deviation of f. */
static oatgp_status sensitivity_work(job *j, SEXP *value) {
  static const char *const names[] = {"indices", "sd"};
  const oatgp_model *model = NULL;
  oatgp_model_info info;
  NEED(model_behind(j, j->argument[0], &model));
  if (j->argument[1] != R_NilValue) {
    NEED(data_from_frame(j, j->argument[1], &j->data));
  }
  oatgp_model_get_info(model, &info);
  *value = PROTECT(named_list(2, names));
  SET_VECTOR_ELT(*value, 0, Rf_allocMatrix(REALSXP, (int)info.d, 6));
  double *const v = REAL(VECTOR_ELT(*value, 0));
  const size_t d = info.d;
  oatgp_indices out = {v, v + d, v + 2 * d, v + 3 * d, v + 4 * d, v + 5 * d, 0};
  const oatgp_indices_of of = {j->data, (size_t)Rf_asReal(j->argument[2]), (uint64_t)Rf_asReal(j->argument[3]),
                               Rf_asReal(j->argument[4])};
  NEED(oatgp_sensitivity(j->ctx, model, &of, &out));
  SET_VECTOR_ELT(*value, 1, Rf_ScalarReal(out.sd));
  return OATGP_OK;
}

SEXP entry_sensitivity(SEXP model, SEXP frame, SEXP draws, SEXP seed, SEXP interval) {
  job j = {.argument = {model, frame, draws, seed, interval}};
  return run_job(&j, sensitivity_work);
}

static oatgp_status covariance_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  const int n = (int)oatgp_data_rows(j->data);
  *value = PROTECT(Rf_allocMatrix(REALSXP, n, n));
  return oatgp_predict_covariance(j->ctx, model, j->data, REAL(*value));
}

SEXP entry_covariance(SEXP model, SEXP frame) {
  job j = {.argument = {model, frame}};
  return run_job(&j, covariance_work);
}

/* model, frame, count, seed, whether they are draws of y. A matrix with a draw of f or y in each column. */
static oatgp_status samples_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  const bool answers = is_true(j->argument[4]);
  const int count = Rf_asInteger(j->argument[2]);
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  *value = PROTECT(Rf_allocMatrix(REALSXP, (int)oatgp_data_rows(j->data), count));
  return (answers ? oatgp_predict_answer_samples : oatgp_predict_samples)(
      j->ctx, model, j->data, (size_t)count, (uint64_t)Rf_asReal(j->argument[3]), REAL(*value));
}

SEXP entry_samples(SEXP model, SEXP frame, SEXP count, SEXP seed, SEXP answers) {
  job j = {.argument = {model, frame, count, seed, answers}};
  return run_job(&j, samples_work);
}

/* ---- scores and rows held out ---------------------------------------------------------------------------------- */

static oatgp_status score_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  oatgp_scores scores;
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  NEED(oatgp_score(j->ctx, model, j->data, NULL, &scores));
  *value = PROTECT(scores_list(&scores));
  return OATGP_OK;
}

SEXP entry_score(SEXP model, SEXP frame) {
  job j = {.argument = {model, frame}};
  return run_job(&j, score_work);
}

/* list(rows = n x 4: mean, sd, nlp, residual; scores), protected as the value; *rows are to be filled. */
static void new_held_out(R_xlen_t n, SEXP *value, oatgp_held_out_sd *rows) {
  static const char *const names[] = {"rows", "scores"};
  *value = PROTECT(named_list(2, names));
  SEXP matrix = Rf_allocMatrix(REALSXP, (int)n, 4);
  SET_VECTOR_ELT(*value, 0, matrix);
  double *at = REAL(matrix);
  *rows = (oatgp_held_out_sd){at, at + n, at + 2 * n, at + 3 * n};
}

static oatgp_status loo_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  oatgp_held_out_sd rows;
  oatgp_scores scores;
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  new_held_out((R_xlen_t)oatgp_data_rows(j->data), value, &rows);
  NEED(oatgp_loo_sd(j->ctx, model, j->data, &rows, &scores));
  SET_VECTOR_ELT(*value, 1, scores_list(&scores));
  return OATGP_OK;
}

SEXP entry_loo(SEXP model, SEXP frame) {
  job j = {.argument = {model, frame}};
  return run_job(&j, loo_work);
}

/* frame, settings, knots (a frame or NULL) */
static oatgp_status cv_work(job *j, SEXP *value) {
  oatgp_held_out_sd rows;
  oatgp_scores scores;
  NEED(settings_from_texts(j, j->argument[1]));
  NEED(data_from_frame(j, j->argument[0], &j->data));
  if (j->argument[2] != R_NilValue) {
    NEED(data_from_frame(j, j->argument[2], &j->knots));
  }
  new_held_out((R_xlen_t)oatgp_data_rows(j->data), value, &rows);
  const oatgp_cv_watch watch = {.monitor = watch_fit, .user = j};
  NEED(oatgp_cv_sd(j->ctx, j->data, &j->settings, j->knots, &watch, &rows, &scores));
  SET_VECTOR_ELT(*value, 1, scores_list(&scores));
  return OATGP_OK;
}

SEXP entry_cv(SEXP frame, SEXP settings, SEXP knots, SEXP progress) {
  job j = {.argument = {frame, settings, knots}, .progress = is_true(progress)};
  return run_job(&j, cv_work);
}

/* ---- certificate ----------------------------------------------------------------------------------------------- */

static SEXP certificate_list(const oatgp_certificate *c) {
  static const char *const names[] = {"n",          "elbo",  "lower",      "upper",   "kl_at_most",
                                      "kl_per_row", "exact", "iterations", "seconds", "seconds_per_iteration",
                                      "stop"};
  const double values[] = {(double)c->n,  c->elbo,
                           c->lower,      c->upper,
                           c->kl_at_most, c->kl_per_row,
                           c->exact,      (double)c->iterations,
                           c->seconds,    c->seconds_per_iteration};
  SEXP list = PROTECT(named_list(11, names));
  for (int i = 0; i < 10; i++) {
    SET_VECTOR_ELT(list, i, Rf_ScalarReal(ISNAN(values[i]) ? NA_REAL : values[i]));
  }
  SET_VECTOR_ELT(list, 10, Rf_mkString(oatgp_stop_word(c->stop)));
  UNPROTECT(1);
  return list;
}

static oatgp_status certify_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  oatgp_certificate certificate;
  NEED(settings_from_texts(j, j->argument[2]));
  NEED(model_behind(j, j->argument[0], &model));
  NEED(data_from_frame(j, j->argument[1], &j->data));
  NEED(oatgp_certify(j->ctx, model, j->data, &j->settings, watch_bracket, j, &certificate));
  *value = PROTECT(certificate_list(&certificate));
  return OATGP_OK;
}

SEXP entry_certify(SEXP model, SEXP frame, SEXP settings, SEXP progress) {
  job j = {.argument = {model, frame, settings}, .progress = is_true(progress)};
  return run_job(&j, certify_work);
}

/* ---- what a model is ------------------------------------------------------------------------------------------- */

/* Knots, and the mean and sd of f there, as the columns of a matrix. */
static oatgp_status knots_work(job *j, SEXP *value) {
  const oatgp_model *model = NULL;
  oatgp_model_info info;
  NEED(model_behind(j, j->argument[0], &model));
  oatgp_model_get_info(model, &info);
  const size_t k = info.knots, d = info.d;
  double *places = (double *)R_alloc(k * d + 1, sizeof *places);
  double *columns = new_vector((R_xlen_t)(k * (d + 2)), value);
  NEED(oatgp_model_knots(j->ctx, model, places, columns + k * d, columns + k * (d + 1)));
  for (size_t i = 0; i < k; i++) {
    for (size_t c = 0; c < d; c++) {
      columns[i + c * k] = places[i * d + c];
    }
  }
  SEXP size = PROTECT(Rf_allocVector(INTSXP, 2));
  INTEGER(size)[0] = (int)k;
  INTEGER(size)[1] = (int)d + 2;
  Rf_setAttrib(*value, R_DimSymbol, size);
  UNPROTECT(1);
  return OATGP_OK;
}

SEXP entry_knots(SEXP model) {
  job j = {.argument = {model}};
  return run_job(&j, knots_work);
}

/* model -> list(weight, pointer): the members of an averaged model. They are valid as long as the model's own pointer,
 * which each of them keeps. */
static oatgp_status members_work(job *j, SEXP *value) {
  static const char *const names[] = {"weight", "pointer"};
  const oatgp_model *model = NULL;
  oatgp_model_info info;
  NEED(model_behind(j, j->argument[0], &model));
  oatgp_model_get_info(model, &info);
  SEXP list = *value = PROTECT(named_list(2, names));
  SET_VECTOR_ELT(list, 0, Rf_allocVector(REALSXP, (R_xlen_t)info.average));
  SET_VECTOR_ELT(list, 1, Rf_allocVector(VECSXP, (R_xlen_t)info.average));
  for (size_t m = 0; m < info.average; m++) {
    const oatgp_model *member = oatgp_model_draw(model, m, &REAL(VECTOR_ELT(list, 0))[m]);
    SET_VECTOR_ELT(VECTOR_ELT(list, 1), (R_xlen_t)m, R_MakeExternalPtr((void *)member, R_NilValue, j->argument[0]));
  }
  return OATGP_OK;
}

SEXP entry_members(SEXP model) {
  job j = {.argument = {model}};
  return run_job(&j, members_work);
}

/* One element of the description of a model. */
typedef struct item {
  const char *name;
  SEXP value;
} item;

static SEXP input_names(const oatgp_model *model, size_t d) {
  SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)d));
  for (size_t i = 0; i < d; i++) {
    SET_STRING_ELT(names, (R_xlen_t)i, Rf_mkCharCE(oatgp_model_input_name(model, i), CE_UTF8));
  }
  UNPROTECT(1);
  return names;
}

static void put_texts(SEXP list, const oatgp_model_info *info, int at) {
  const char *const texts[] = {info->version,
                               info->approx,
                               info->kernel,
                               info->optimizer,
                               info->select,
                               info->target,
                               info->mean_kind,
                               info->command,
                               info->settings,
                               info->weights,
                               info->noise_variance,
                               info->likelihood,
                               info->trials,
                               info->exposure,
                               info->fingerprint,
                               info->prior,
                               oatgp_stop_word(info->stop),
                               oatgp_stop_sentence(info->stop)};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    SET_VECTOR_ELT(list, at + (int)i, text_value(texts[i] != NULL ? texts[i] : ""));
  }
}

static void put_numbers(SEXP list, const oatgp_model_info *info, int at) {
  const double numbers[] = {info->alpha,
                            info->objective,
                            info->log_prior,
                            info->sigma,
                            info->tau,
                            info->shape,
                            oatgp_kernel_has(info->kernel, "shape"),
                            info->jitter,
                            info->jitter_absolute,
                            info->mean,
                            info->seconds,
                            (double)info->n,
                            (double)info->d,
                            (double)info->knots,
                            (double)info->iterations,
                            (double)info->evaluations,
                            (double)info->rejected,
                            (double)info->restarts,
                            (double)info->seed,
                            info->loo_mean_nlp,
                            info->loo_rmse,
                            info->loo_coverage95,
                            info->lower,
                            info->upper,
                            (double)info->neighbours,
                            (double)info->predict_neighbours,
                            (double)info->average};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    SET_VECTOR_ELT(list, at + (int)i, Rf_ScalarReal(ISNAN(numbers[i]) ? NA_REAL : numbers[i]));
  }
}

/* In the order of put_texts, put_numbers and the arrays of info_work. */
static const char *const info_names[] = {"version",
                                         "approx",
                                         "kernel",
                                         "optimizer",
                                         "select",
                                         "target",
                                         "mean_kind",
                                         "command",
                                         "settings",
                                         "weights",
                                         "noise_variance",
                                         "likelihood",
                                         "trials",
                                         "exposure",
                                         "fingerprint",
                                         "prior",
                                         "stop",
                                         "stop_sentence",
                                         "alpha",
                                         "objective",
                                         "log_prior",
                                         "sigma",
                                         "tau",
                                         "shape",
                                         "has_shape",
                                         "jitter",
                                         "jitter_absolute",
                                         "mean",
                                         "seconds",
                                         "n",
                                         "d",
                                         "knots",
                                         "iterations",
                                         "evaluations",
                                         "rejected",
                                         "restarts",
                                         "seed",
                                         "loo_mean_nlp",
                                         "loo_rmse",
                                         "loo_coverage95",
                                         "lower",
                                         "upper",
                                         "neighbours",
                                         "predict_neighbours",
                                         "average",
                                         "inputs",
                                         "lengthscales",
                                         "slopes",
                                         "input_centre",
                                         "input_scale",
                                         "history",
                                         "selection",
                                         "parameters",
                                         "levels",
                                         "likelihood_parameters",
                                         "classes"};

/* Parameters as a vector with names. */
static SEXP parameter_vector(size_t parameter_count, const oatgp_parameter *parameters) {
  const R_xlen_t count = (R_xlen_t)parameter_count;
  SEXP values = PROTECT(Rf_allocVector(REALSXP, count)), names = PROTECT(Rf_allocVector(STRSXP, count));
  for (R_xlen_t i = 0; i < count; i++) {
    REAL(values)[i] = parameters[i].value;
    SET_STRING_ELT(names, i, Rf_mkCharCE(parameters[i].name, CE_UTF8));
  }
  Rf_setAttrib(values, R_NamesSymbol, names);
  UNPROTECT(2);
  return values;
}

typedef const char *(*level_fn)(const oatgp_model *model, size_t input, size_t level);

static const char *class_at(const oatgp_model *model, size_t unused, size_t level) {
  (void)unused;
  return oatgp_model_target_level(model, level);
}

/* The texts of so many levels; NULL for 0 of them. */
static SEXP level_texts(const oatgp_model *model, size_t input, size_t count, level_fn level) {
  SEXP levels = count > 0 ? PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count)) : R_NilValue;
  for (size_t i = 0; i < count; i++) {
    SET_STRING_ELT(levels, (R_xlen_t)i, Rf_mkCharCE(level(model, input, i), CE_UTF8));
  }
  UNPROTECT(count > 0 ? 1 : 0);
  return levels;
}

/* For each input its levels; NULL if it holds numbers. */
static SEXP level_list(const oatgp_model *model, size_t d) {
  SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)d));
  for (size_t j = 0; j < d; j++) {
    SET_VECTOR_ELT(list, (R_xlen_t)j, level_texts(model, j, oatgp_model_level_count(model, j), oatgp_model_level));
  }
  UNPROTECT(1);
  return list;
}

static oatgp_status info_work(job *j, SEXP *value) {
  const int count = sizeof info_names / sizeof *info_names, arrays = count - 11;
  const oatgp_model *model = NULL;
  oatgp_model_info info;
  NEED(model_behind(j, j->argument[0], &model));
  oatgp_model_get_info(model, &info);
  SEXP list = *value = PROTECT(named_list(count, info_names));
  put_texts(list, &info, 0);
  put_numbers(list, &info, 18);
  SET_VECTOR_ELT(list, arrays, input_names(model, info.d));
  SET_VECTOR_ELT(list, arrays + 1, real_vector(info.lengthscale_count, info.lengthscales));
  SET_VECTOR_ELT(list, arrays + 2, info.slopes != NULL ? real_vector(info.d, info.slopes) : R_NilValue);
  SET_VECTOR_ELT(list, arrays + 3, real_vector(info.d, info.input_centre));
  SET_VECTOR_ELT(list, arrays + 4, real_vector(info.d, info.input_scale));
  SET_VECTOR_ELT(list, arrays + 5, real_matrix(info.history_count, 3, info.history));
  SET_VECTOR_ELT(list, arrays + 6, real_matrix(info.selection_count, 8 + info.d, info.selection));
  SET_VECTOR_ELT(list, arrays + 7, parameter_vector(info.parameter_count, info.parameters));
  SET_VECTOR_ELT(list, arrays + 8, level_list(model, info.d));
  SET_VECTOR_ELT(list, arrays + 9, parameter_vector(info.likelihood_count, info.likelihood_parameters));
  SET_VECTOR_ELT(list, arrays + 10, level_texts(model, 0, oatgp_model_target_level_count(model), class_at));
  return OATGP_OK;
}

SEXP entry_info(SEXP model) {
  job j = {.argument = {model}};
  return run_job(&j, info_work);
}

/* ---- the table of settings ------------------------------------------------------------------------------------- */

enum { TABLE_TEXTS = 6 };

static oatgp_status settings_work(job *j, SEXP *value) {
  static const char *const names[] = {"name", "type",   "default", "choices",     "verbs",
                                      "help", "lowest", "highest", "command_only"};
  static const char *const types[] = {"number", "whole number", "bytes", "flag", "choice", "text"};
  const size_t count = oatgp_setting_count();
  (void)j;
  SEXP list = *value = PROTECT(named_list(TABLE_TEXTS + 3, names));
  for (int c = 0; c < TABLE_TEXTS + 3; c++) {
    const SEXPTYPE type = c < TABLE_TEXTS ? STRSXP : c == TABLE_TEXTS + 2 ? LGLSXP : REALSXP;
    SET_VECTOR_ELT(list, c, Rf_allocVector(type, (R_xlen_t)count));
  }
  for (size_t i = 0; i < count; i++) {
    const oatgp_setting *s = oatgp_setting_at(i);
    const char *const texts[TABLE_TEXTS] = {s->name, types[s->type], s->value, s->choices, s->verbs, s->help};
    for (int c = 0; c < TABLE_TEXTS; c++) {
      SET_STRING_ELT(VECTOR_ELT(list, c), (R_xlen_t)i, Rf_mkChar(texts[c] != NULL ? texts[c] : ""));
    }
    REAL(VECTOR_ELT(list, TABLE_TEXTS))[i] = s->lowest;
    REAL(VECTOR_ELT(list, TABLE_TEXTS + 1))[i] = s->highest;
    LOGICAL(VECTOR_ELT(list, TABLE_TEXTS + 2))[i] = s->in_command_only;
  }
  return OATGP_OK;
}

SEXP entry_settings(void) {
  job j = {.ctx = NULL};
  return run_job(&j, settings_work);
}

SEXP entry_blas_threads(void) { return Rf_ScalarInteger(oat_blas_threads()); }
