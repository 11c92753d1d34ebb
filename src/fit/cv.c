/* Cross-validation: the rows are put in a random order, and row i of that order belongs to fold i mod folds, so that
 * sizes differ by at most one. */
#include "fit/request.h"

#include <math.h>

#include "linalg/linalg.h"
#include "predict/predict.h"
#include "util/memory.h"
#include "util/rng.h"

typedef struct validation {
  oatgp_context *ctx;
  oat_scratch memory;
  const oat_fit_request *fit;
  const oatgp_cv_watch *watch;
  size_t folds;
  size_t *order, *chosen; /* n: all rows; rows of a part */
  oat_held_form form;     /* of the columns: that of an average, if a fold may be one */
  bool averaged;          /* whether a fold was */
  size_t width;           /* columns of the predictions of held-out rows */
  double *held, *part;    /* n x width: of all rows, NaN before they are predicted; of the rows of a part */
  size_t done;            /* rows predicted */
  bool stopped;
} validation;

static oatgp_status open_validation(validation *v) {
  const oatgp_data *data = v->fit->data;
  oat_rng rng;
  if (v->folds > data->n) {
    return oat_fail(v->ctx, OATGP_ARGUMENT, "folds is %zu, but there are only %zu rows; use fewer folds", v->folds,
                    data->n);
  }
  v->order = oat_take(&v->memory, data->n, sizeof *v->order);
  v->chosen = oat_take(&v->memory, data->n, sizeof *v->chosen);
  v->form.likelihood = oat_likelihood_find(v->fit->settings->likelihood);
  v->form.averaged = v->form.likelihood == NULL && v->fit->settings->average != 0;
  v->width = oat_held_columns(v->form);
  v->held = oat_take_doubles(&v->memory, data->n, v->width);
  v->part = oat_take_doubles(&v->memory, data->n, v->width);
  if (v->memory.status != OATGP_OK) {
    return v->memory.status;
  }
  oat_rng_seed(&rng, (uint64_t)v->fit->settings->seed);
  oat_rng_sample(&rng, data->n, data->n, v->order);
  for (size_t i = 0; i < data->n * v->width; i++) {
    v->held[i] = NAN;
  }
  return OATGP_OK;
}

/* The rows of a fold or, with `others`, all rows outside it; returns how many. */
static size_t choose(validation *v, size_t fold, bool others) {
  size_t count = 0;
  for (size_t i = 0; i < v->fit->data->n; i++) {
    if ((i % v->folds == fold) != others) {
      v->chosen[count++] = v->order[i];
    }
  }
  return count;
}

static int watch_fit(void *self, const oatgp_event *event) {
  validation *v = self;
  if (v->watch->monitor != NULL && v->watch->monitor(v->watch->user, event) != 0) {
    v->stopped = true;
  }
  return v->stopped;
}

static oatgp_status fit_others(validation *v, size_t fold, oatgp_model **out) {
  oatgp_data *data = NULL;
  oat_fit_request request = *v->fit;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_select(v->ctx, v->fit->data, choose(v, fold, true), v->chosen, &data));
  request.data = data;
  request.monitor = watch_fit;
  request.user = v;
  request.unscored = true;
  TRY(oat_fit(v->ctx, &request, out));
done:
  oatgp_data_free(data);
  return status;
}

static oatgp_status predict_fold(validation *v, size_t fold, const oatgp_model *model) {
  oatgp_fold told = {fold + 1, v->folds, (size_t)model->number[OAT_NUMBER_N], {0}, model};
  const size_t count = choose(v, fold, false);
  oatgp_data *data = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oatgp_data_select(v->ctx, v->fit->data, count, v->chosen, &data));
  TRY(oat_held_predict(v->ctx, model, data, v->form, v->part));
  for (size_t i = 0; i < count * v->width; i++) {
    v->held[v->chosen[i % count] + i / count * v->fit->data->n] = v->part[i];
  }
  v->done += count;
  v->averaged = v->averaged || model->draw_count > 0;
  TRY(oat_held_report(v->ctx, oat_held_form_of(model), data, v->part, NULL, &told.scores));
  if (v->watch->fold != NULL && v->watch->fold(v->watch->user, &told) != 0) {
    v->stopped = true;
  }
done:
  oatgp_data_free(data);
  return status;
}

/* The fit of a fold that was stopped is not used. */
static oatgp_status run_fold(validation *v, size_t fold) {
  oatgp_model *model = NULL;
  oatgp_status status = OATGP_OK;
  TRY(fit_others(v, fold, &model));
  if (!v->stopped) {
    TRY(predict_fold(v, fold, model));
  }
done:
  oatgp_model_free(model);
  return status;
}

/* The scores are of the rows that were predicted. */
static oatgp_status conclude(validation *v, const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  const oatgp_data *data = v->fit->data;
  const oat_held_form form = {v->form.likelihood, v->averaged};
  oatgp_data *predicted = NULL;
  size_t count = 0;
  oatgp_status status = OATGP_OK;
  if (v->done == 0) {
    return oat_fail(v->ctx, OATGP_STOPPED, "the cross-validation was stopped before the first fold was finished");
  }
  TRY(oat_held_report(v->ctx, form, data, v->held, rows, NULL));
  for (size_t i = 0; i < data->n; i++) {
    if (!isnan(v->held[i])) {
      v->chosen[count++] = i;
    }
  }
  for (size_t i = 0; i < count * v->width; i++) {
    v->part[i] = v->held[v->chosen[i % count] + i / count * data->n];
  }
  if (scores != NULL) {
    TRY(oatgp_data_select(v->ctx, data, count, v->chosen, &predicted));
    TRY(oat_held_report(v->ctx, form, predicted, v->part, NULL, scores));
  }
done:
  oatgp_data_free(predicted);
  return status;
}

oatgp_status oat_cv(oatgp_context *ctx, const oat_fit_request *fit, const oatgp_cv_watch *watch,
                    const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  const oatgp_cv_watch nobody = {NULL, NULL, NULL};
  validation v = {.ctx = ctx,
                  .memory = {.ctx = ctx},
                  .fit = fit,
                  .watch = watch != NULL ? watch : &nobody,
                  .folds = (size_t)fit->settings->folds};
  oatgp_status status = OATGP_OK;
  TRY(oat_data_need_memory(ctx, fit->data, "cross-validation"));
  TRY(open_validation(&v));
  for (size_t fold = 0; fold < v.folds && !v.stopped; fold++) {
    TRY(run_fold(&v, fold));
  }
  TRY(conclude(&v, rows, scores));
done:
  oat_scratch_free(&v.memory);
  return status;
}
