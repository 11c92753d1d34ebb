/* Rows that come after the fit: a sparse model is its sums over the rows, so new rows are added to them and the K x K work is done again. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objective/sites.h"
#include "objective/sparse.h"
#include "util/hash.h"

#define SITE_TOL 1e-8 /* of the sites of new rows: there are few rounds, and no search waits for them */

static oatgp_status make_objective(oatgp_context *ctx, const oatgp_model *model, const oat_rows *rows, oat_objective **out) {
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

/* The sums over the new rows with the model's own factor, and over the old ones; then what an evaluation does with them. With neighbours,
 * the objective has all rows. */
static oatgp_status sum_up(const oatgp_model *model, double n, const oat_sparse *sparse, oat_sparse_objective *o, double *value) {
  double rwr = 0;
  PASS_ON(o->base.device->table->sums(o->base.device, sparse, &o->sums));
  for (size_t i = 0; model->neighbours == 0 && i < model->sums_count; i++) {
    o->sums.vwv[i] += model->sums[i];
  }
  return oat_sparse_solve(o, n, &rwr, value);
}

/* ---- answers that are not Gaussian: new rows get sites, those of the old rows stay as they are ------------------------- */

/* A posterior q of f: whitened f at the knots is N(e, B^-1), e = LB^-T c. */
typedef struct posterior {
  const double *lb, *c, *coefficient;
} posterior;

/* What old rows and the prior say of q, but for a constant: -1/2 sum (t_i - m_i)^2 / n_i of the old rows' sites, -1/2 |e|^2 and -1/2 log|B|.
 * The variances of f that are in E_q log N(t_i; f_i, n_i) and in the divergence from the prior cancel. `e` has room for k numbers. */
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
  PASS_ON(objective->device->table->sites_look(objective->device, &a->sparse, &(oat_site_q){o->lb, o->c, o->coefficient}, look));
  *value = look->value + old_value(a->model, &(posterior){o->lb, o->c, o->coefficient}, o->e);
  return OATGP_OK;
}

/* The objective is known only as far as the old rows' sites stand for their answers: its change is that of the bound in which they do. */
static oatgp_status add_answers(const oatgp_model *model, const oat_sparse *sparse, oat_objective *objective, double *value) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const oat_point point = {model->theta, model->z};
  addition a = {model, *sparse};
  PASS_ON(oat_sites_settle(objective, &point, look_at_new, &a, value));
  *value += model->number[OAT_NUMBER_OBJECTIVE] + model->number[OAT_NUMBER_N] * log(model->number[OAT_NUMBER_Y_SCALE]) -
            old_value(model, &(posterior){model->lb, model->c, model->coefficient}, o->e);
  return OATGP_OK;
}

static oatgp_status add_rows(const oatgp_model *model, double n, oat_objective *objective, double *value) {
  oat_sparse_objective *o = (oat_sparse_objective *)objective;
  const oat_point point = {model->theta, model->z};
  memcpy(o->l, model->l, model->k * model->k * sizeof *o->l);
  const oat_sparse sparse = oat_sparse_at(o, &point, model->k);
  PASS_ON(oat_objective_find_neighbours(objective, &point, NULL));
  return model->likelihood != NULL ? add_answers(model, &sparse, objective, value) : sum_up(model, n, &sparse, o, value);
}

/* ---- the model of all rows -------------------------------------------------------------------------------------------- */

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

void oat_chain_fingerprint(const oatgp_model *model, const oatgp_data *data, int threads, char *text) {
  const char *before = model->text[OAT_TEXT_FINGERPRINT] != NULL ? model->text[OAT_TEXT_FINGERPRINT] : "";
  char added[OAT_FINGERPRINT];
  oat_fingerprint(data, threads, added);
  const uint64_t hash = oat_hash(oat_hash(OAT_HASH_START, before, strlen(before)), added, strlen(added));
  snprintf(text, OAT_FINGERPRINT, "fnv1a-%016llx", (unsigned long long)hash);
}

/* What the model takes over, with the memory. */
typedef struct oat_news {
  char *fingerprint;
  oat_levels *levels;
} oat_news;

/* Nothing can fail any more. The leave-one-out scores and whatever else may be unknown was about the rows of the fit. */
static void take_over(oatgp_model *model, double n, const oat_objective *objective, double value, const oat_news *news) {
  const size_t k = model->k;
  double *number = model->number;
  const oat_factors *factors = &objective->factors;
  memcpy(model->sums, factors->sums->vwv, model->sums_count * sizeof *model->sums);
  memcpy(model->lb, factors->lb, k * k * sizeof *model->lb);
  memcpy(model->c, factors->c, k * sizeof *model->c);
  memcpy(model->coefficient, factors->coefficient, model->p * sizeof *model->coefficient);
  number[OAT_NUMBER_N] = n;
  number[OAT_NUMBER_OBJECTIVE] = value - number[OAT_NUMBER_N] * log(number[OAT_NUMBER_Y_SCALE]);
  for (size_t i = OAT_NUMBER_OF_ROWS; i < OAT_NUMBERS; i++) {
    number[i] = NAN;
  }
  free(model->text[OAT_TEXT_FINGERPRINT]);
  model->text[OAT_TEXT_FINGERPRINT] = news->fingerprint;
  oat_levels_free_list(model->levels, model->d);
  model->levels = news->levels;
}

oatgp_status oat_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data) {
  oat_rows *rows = NULL;
  oat_objective *objective = NULL;
  char text[OAT_FINGERPRINT];
  oat_news news = {0};
  double value = NAN;
  oatgp_status status = OATGP_OK;
  if (!model->approx->sparse) {
    return oat_update_full(ctx, model, data);
  }
  const double n = model->number[OAT_NUMBER_N] + (double)data->n;
  TRY(rows_for(ctx, model, data, &rows));
  TRY(make_objective(ctx, model, rows, &objective));
  const oatgp_status added = add_rows(model, n, objective, &value);
  if (added != OATGP_OK || !isfinite(value)) {
    TRY(oat_fail(ctx, OATGP_NUMERIC, "with the %zu new rows the model could not be factorised", data->n));
  }
  oat_chain_fingerprint(model, data, ctx->at_work, text);
  TRY(oat_copy_text(ctx, text, &news.fingerprint));
  TRY(oat_model_levels_with(ctx, model, data, &news.levels));
  TRY(model->neighbours > 0 ? oat_model_keep_rows(ctx, model, rows) : OATGP_OK);
  take_over(model, n, objective, value, &news);
  news = (oat_news){0};
  if (model->likelihood != NULL) {
    oat_say(ctx, OATGP_NOTE,
            "what the old rows say of the function stays as it was before the %zu new ones came, and the objective is an estimate; --refit "
            "looks at all answers again",
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

/* ---- fitting on ------------------------------------------------------------------------------------------------------ */

/* The settings of the model's fit, from the lines kept with it; the texts point into `lines`, which is cut up. Settings that this version
 * does not know are passed over. */
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

/* What the model is comes from the model, how it is improved from the caller. */
static void merge(const oatgp_model *model, const oatgp_settings *given, oatgp_settings *merged) {
  const double *number = model->number;
  const bool moves = oat_kernel_is_smooth(model->kernel) && (merged->refine || oat_strategy_find(merged->select)->moves);
  merged->approx = model->approx->name;
  merged->kernel = model->kernel->name;
  merged->alpha = model->approx->power ? number[OAT_NUMBER_ALPHA] : merged->alpha;
  merged->jitter = number[OAT_NUMBER_JITTER];
  merged->jitter_absolute = number[OAT_NUMBER_JITTER_ABSOLUTE];
  merged->select = moves ? "simultaneous" : "fixed";
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
