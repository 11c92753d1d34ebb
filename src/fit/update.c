/* Rows that come after the fit. A sparse model consists of sums over the rows, so new rows are added to them and the K
 * x K work is done again. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objective/sites.h"
#include "objective/sparse.h"
#include "util/hash.h"

#define SITE_TOL 1e-8 /* of the sites of new rows; can be small, as there are few rounds */

static oatgp_status make_objective(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows,
                                   oat_objective **out) {
  const oat_objective_config config = {.approx = model->approx,
                                       .kernel = model->kernel,
                                       .rows = rows,
                                       .alpha = model->number[OAT_NUMBER_ALPHA],
                                       .k = model->k,
                                       .neighbours = model->neighbours,
                                       .likelihood = model->likelihood,
                                       .levels = oat_model_answer_levels(model),
                                       .site_tol = SITE_TOL,
                                       .where = oat_where_of(ctx)};
  return oat_objective_create(ctx, &config, out);
}

/* Adds the model's sums over the old rows to those over the new ones, and solves as an evaluation does. With
 * neighbours, the objective already has all rows. */
static oatgp_status sum_up(const oatgp_model *model, double n, const oat_sparse *sparse, oat_sparse_objective *o,
                           double *value) {
  double rwr = 0;
  PASS_ON(o->base.device->table->sums(o->base.device, sparse, &o->sums));
  for (size_t i = 0; model->neighbours == 0 && i < model->sums_count; i++) {
    o->sums.vwv[i] += model->sums[i];
  }
  return oat_sparse_solve(o, n, &rwr, value);
}

/* ---- non-Gaussian targets: new rows get sites; the sites of old rows do not change ----------------------------- */

/* A posterior q of f: whitened f at the knots is N(e, B^-1), e = LB^-T c. */
typedef struct posterior {
  const double *lb, *c, *coefficient;
} posterior;

/* The part of the bound for q from old rows and the prior, up to a constant: -1/2 sum (t_i - m_i)^2 / n_i of the old
 * rows' sites, -1/2 |e|^2 and -1/2 log|B|. The variances of f that are in E_q log N(t_i; f_i, n_i) and in the
 * divergence from the prior cancel. `e` has room for k numbers. */
static double old_value(const oatgp_model *model, const posterior *q, double *e) {
  const size_t k = model->k, width = 1 + model->p;
  const oat_sums sums = oat_sums_over(model->sums, k, model->p);
  double misfit = 0;
  memcpy(e, q->c, k * sizeof *e);
  oat_solve_left(q->lb, k, OAT_TRANSPOSED, (oat_view){e, k, 1, k}, 1);
  for (size_t j = 0; j < width; j++) {
    const double mix = j == 0 ? 1 : -q->coefficient[j - 1];
    for (size_t i = 0; i < width; i++) {
      misfit += (i == 0 ? 1 : -q->coefficient[i - 1]) * sums.rwr[i + j * width] * mix;
    }
    misfit -= 2 * mix * oat_dot(k, e, sums.vwr + j * k);
  }
  for (size_t j = 0; j < k; j++) { /* the lower triangle has all */
    misfit += e[j] * (2 * oat_dot(k - j, e + j, sums.vwv + j * (k + 1)) - e[j] * sums.vwv[j * (k + 1)]);
  }
  return -0.5 * misfit - 0.5 * oat_dot(k, e, e) - oat_log_diagonal(k, q->lb);
}

typedef struct addition {
  const oatgp_model *model;
  oat_sparse sparse;
} addition;

/* One round of the fixed point. */
static oatgp_status look_at_new(oat_objective *objective, void *self, oat_site_look *look, double *value) {
  const addition *a = self;
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  double gaussian;
  PASS_ON(sum_up(a->model, 0, &a->sparse, o, &gaussian));
  PASS_ON(objective->device->table->sites_look(objective->device, &a->sparse,
                                               &(oat_site_q){o->lb, o->c, o->coefficient}, look));
  *value = look->value + old_value(a->model, &(posterior){o->lb, o->c, o->coefficient}, o->e);
  return OATGP_OK;
}

/* The old targets are known only through their sites, so the change of the objective is that of the bound with these
 * sites. */
static oatgp_status add_answers(const oatgp_model *model, const oat_sparse *sparse, oat_objective *objective,
                                double *value) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const oat_point point = {model->theta, model->z};
  addition a = {model, *sparse};
  PASS_ON(oat_sites_settle(objective, &point, look_at_new, &a, value));
  *value += model->number[OAT_NUMBER_OBJECTIVE] - oat_model_log_prior(model) +
            model->number[OAT_NUMBER_N] * log(model->number[OAT_NUMBER_Y_SCALE]) -
            old_value(model, &(posterior){model->lb, model->c, model->coefficient}, o->e);
  return OATGP_OK;
}

static oatgp_status add_rows(const oatgp_model *model, double n, oat_objective *objective, double *value) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const oat_point point = {model->theta, model->z};
  memcpy(o->l, model->l, model->k * model->k * sizeof *o->l);
  const oat_sparse sparse = oat_sparse_at(o, &point, model->k);
  PASS_ON(oat_objective_find_neighbours(objective, &point, NULL));
  return model->likelihood != NULL ? add_answers(model, &sparse, objective, value)
                                   : sum_up(model, n, &sparse, o, value);
}

/* ---- the model of all rows ------------------------------------------------------------------------------------- */

/* With neighbours, the new rows come last in the order. */
static oatgp_status rows_for(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_rows **out) {
  oat_rows *added = NULL;
  oatgp_status status = OATGP_OK;
  if (model->neighbours == 0) {
    return oat_model_rows(ctx, model, data, out);
  }
  TRY(oat_model_rows(ctx, model, data, &added));
  TRY(oat_rows_join(ctx, model->rows, added, out));
done:
  oat_rows_free(added);
  return status;
}

oatgp_status oat_chain_fingerprint(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, char *text) {
  const char *before = model->text[OAT_TEXT_FINGERPRINT] != NULL ? model->text[OAT_TEXT_FINGERPRINT] : "";
  char added[OAT_FINGERPRINT];
  PASS_ON(oat_fingerprint(ctx, data, added));
  const uint64_t hash = oat_hash(oat_hash(OAT_HASH_START, before, strlen(before)), added, strlen(added));
  snprintf(text, OAT_FINGERPRINT, "fnv1a-%016llx", (unsigned long long)hash);
  return OATGP_OK;
}

/* Memory that the model takes over. */
typedef struct oat_news {
  char *fingerprint;
  oat_levels *levels;
} oat_news;

/* From here on nothing can fail. Numbers that described only the rows of the fit, such as leave-one-out scores, become
 * unknown. */
static void take_over(oatgp_model *model, double n, const oat_objective *objective, double value,
                      const oat_news *news) {
  const size_t k = model->k;
  double *number = model->number;
  const oat_factors *factors = &objective->factors;
  memcpy(model->sums, factors->sums->vwv, model->sums_count * sizeof *model->sums);
  memcpy(model->lb, factors->lb, k * k * sizeof *model->lb);
  memcpy(model->c, factors->c, k * sizeof *model->c);
  memcpy(model->coefficient, factors->coefficient, model->p * sizeof *model->coefficient);
  number[OAT_NUMBER_N] = n;
  number[OAT_NUMBER_OBJECTIVE] =
      value - number[OAT_NUMBER_N] * log(number[OAT_NUMBER_Y_SCALE]) + oat_model_log_prior(model);
  for (size_t i = OAT_NUMBER_OF_ROWS; i < OAT_NUMBERS; i++) {
    number[i] = NAN;
  }
  free(model->text[OAT_TEXT_FINGERPRINT]);
  model->text[OAT_TEXT_FINGERPRINT] = news->fingerprint;
  oat_levels_free_list(model->levels, model->d);
  model->levels = news->levels;
}

/* An averaged model keeps the new rows, too. */
static oatgp_status keep_more(oatgp_context *ctx, oatgp_model *model, const oat_rows *rows) {
  oat_rows *old = NULL, *all = NULL;
  oatgp_status status;
  TRY(oat_rows_from_kept(ctx, &model->kept, &model->scaling, model->p, &old));
  TRY(oat_rows_join(ctx, old, rows, &all));
  TRY(oat_model_keep_rows(ctx, model, all));
done:
  oat_rows_free(old);
  oat_rows_free(all);
  return status;
}

static oatgp_status update_sparse(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  oat_rows *rows = NULL;
  oat_objective *objective = NULL;
  char text[OAT_FINGERPRINT];
  oat_news news = {0};
  double value = NAN;
  oatgp_status status = OATGP_OK;
  const double n = model->number[OAT_NUMBER_N] + (double)data->n;
  REFUSE_IF(n > OAT_MOST_ROWS, ctx, OATGP_DATA, "a model can have at most %.0f rows, and this one would have %.0f",
            OAT_MOST_ROWS, n);
  TRY(rows_for(ctx, model, data, &rows));
  TRY(make_objective(ctx, model, rows, &objective));
  const oatgp_status added = add_rows(model, n, objective, &value);
  if (added != OATGP_OK || !isfinite(value) ||
      !oat_all_finite(model->sums_count, objective->factors.sums->vwv, -INFINITY)) { /* too many for a model file */
    TRY(oat_fail(ctx, OATGP_NUMERIC, "the model could not be factorised with the %zu new rows", data->n));
  }
  TRY(oat_chain_fingerprint(ctx, model, data, text));
  TRY(oat_copy_text(ctx, text, &news.fingerprint));
  TRY(oat_model_levels_with(ctx, model, data, &news.levels));
  TRY(model->neighbours > 0 ? oat_model_keep_rows(ctx, model, rows) : OATGP_OK);
  TRY(model->draw_count > 0 ? keep_more(ctx, model, rows) : OATGP_OK);
  take_over(model, n, objective, value, &news);
  news = (oat_news){0};
  if (model->likelihood != NULL) {
    oat_say(ctx, OATGP_NOTE,
            "the %zu new rows were added, but the fit to the old rows was not revised and the objective is an "
            "estimate; --refit fits all rows again",
            data->n);
  }
  TRY(oat_model_finish(ctx, model));
done:
  free(news.fingerprint);
  oat_levels_free_list(news.levels, model->d);
  oat_objective_free(objective);
  oat_rows_free(rows);
  return status;
}

/* The members of an averaged model may fail, too, so a copy is updated. */
static oatgp_status update_copy(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  oatgp_model *copy = NULL;
  oatgp_status status;
  TRY(oat_model_copy(ctx, model, &copy));
  TRY(update_sparse(ctx, copy, data));
  oat_change_places(model, copy);
done:
  oatgp_model_free(copy);
  return status;
}

oatgp_status oat_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  return !model->approx->sparse  ? oat_update_full(ctx, model, data)
         : model->draw_count > 0 ? update_copy(ctx, model, data)
                                 : update_sparse(ctx, model, data);
}

/* ---- fitting on ------------------------------------------------------------------------------------------------ */

/* The settings of the model's fit, from the lines kept with it; the texts point into `lines`, which is cut up. Settings
 * that this version does not know are ignored. */
static oatgp_status read_lines(oatgp_context *ctx, char *lines, oatgp_settings *settings) {
  oatgp_status status = OATGP_OK;
  for (char *line = lines; line != NULL && *line != '\0' && status != OATGP_MEMORY;) {
    char *end = strchr(line, '\n'), *equals = strstr(line, " = ");
    if (end != NULL) {
      *end = '\0';
    }
    if (equals != NULL && (end == NULL || equals < end) && strncmp(line, "preset ", 7) != 0) {
      *equals = '\0';
      status = oatgp_settings_set(ctx, settings, line, equals + 3);
    }
    line = end != NULL ? end + 1 : NULL;
  }
  return status == OATGP_MEMORY ? status : OATGP_OK;
}

/* The approximation, the kernel and the jitter are the model's. How the fit is improved is for the caller to say. */
static void merge(const oatgp_model *model, const oatgp_settings *given, oatgp_settings *merged) {
  const double *number = model->number;
  const bool moves =
      oat_kernel_is_smooth(model->kernel) && (merged->refine || oat_strategy_find(merged->select)->moves);
  merged->approx = model->approx->name;
  merged->kernel = model->kernel->name;
  merged->alpha = model->approx->power ? number[OAT_NUMBER_ALPHA] : merged->alpha;
  merged->jitter = number[OAT_NUMBER_JITTER];
  merged->jitter_absolute = number[OAT_NUMBER_JITTER_ABSOLUTE];
  merged->select = moves ? "simultaneous" : "fixed";
  merged->average = (int64_t)model->draw_count;
  merged->refine = 0;
  merged->restarts = 0;
  merged->checkpoint = "";
  merged->resume = "";
  merged->optimizer = given->optimizer;
  merged->max_iter = given->max_iter;
  merged->max_eval = given->max_eval;
  merged->obj_tol = given->obj_tol;
  merged->patience = given->patience;
  merged->grad_tol = given->grad_tol;
  merged->time_limit = given->time_limit;
  merged->threads = given->threads;
  merged->device = given->device;
  merged->memory = given->memory;
  merged->block = given->block;
}

oatgp_status oat_refit(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out) {
  const oatgp_model *from = request->from;
  oat_fit_request again = *request;
  oatgp_settings merged;
  char *lines = NULL;
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  oatgp_settings_default(&merged);
  TRY(oat_copy_text(ctx, from->text[OAT_TEXT_SETTINGS], &lines));
  TRY(read_lines(ctx, lines, &merged));
  merge(from, request->settings, &merged);
  again.settings = &merged;
  TRY(oat_fit(ctx, &again, &model));
  TRY(oat_copy_text(ctx, from->text[OAT_TEXT_SETTINGS], &model->text[OAT_TEXT_SETTINGS]));
  *out = model;
  model = NULL;
done:
  oatgp_model_free(model);
  free(lines);
  return status;
}
