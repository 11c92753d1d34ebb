/* Scores of a model's predictions on data with a target. */
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Predictions of one model at all rows: means and standard deviations. */
typedef struct predictions {
  double *mean, *latent, *observed;
} predictions;

static oatgp_status predict_all(oat_scratch *memory, const oatgp_model *model, const oatgp_data *data, predictions *p) {
  double *room = oat_take_doubles(memory, data->n, 3);
  if (room == NULL) {
    return memory->status;
  }
  *p = (predictions){room, room + data->n, room + 2 * data->n};
  return oat_predict_sd(memory->ctx, model, data, &(oatgp_prediction_sd){p->mean, p->latent, p->observed});
}

/* All scores but those against another model; nlp has room for n values. */
static void score_rows(size_t n, const double *y, oat_gaussian observed, double *nlp, oatgp_scores *out) {
  out->n = n;
  out->rmse = oat_rmse(n, y, observed.mean);
  out->srmse = oat_srmse(n, y, observed.mean);
  oat_nlp(n, y, observed, nlp);
  out->mean_nlp = oat_mean(n, nlp);
  out->mnlp = oat_median(n, nlp);
  out->coverage50 = oat_coverage(n, y, observed, 0.50);
  out->coverage80 = oat_coverage(n, y, observed, 0.80);
  out->coverage90 = oat_coverage(n, y, observed, 0.90);
  out->coverage95 = oat_coverage(n, y, observed, 0.95);
  out->coverage99 = oat_coverage(n, y, observed, 0.99);
  out->aukl_latent = NAN;
  out->aukl_observation = NAN;
}

oatgp_status oat_held_out_report(oatgp_context *ctx, const oatgp_data *data, oat_gaussian observed, const oatgp_held_out_sd *rows,
                                 oatgp_scores *scores) {
  const size_t n = data->n;
  double *nlp = NULL;
  const oatgp_status status = oat_new_matrix(ctx, n, 1, &nlp);
  if (status != OATGP_OK) {
    return status;
  }
  oat_nlp(n, data->y, observed, nlp);
  for (size_t i = 0; rows != NULL && i < n; i++) {
    const double values[] = {observed.mean[i], observed.sd[i], nlp[i], (data->y[i] - observed.mean[i]) / observed.sd[i]};
    double *const places[] = {rows->mean, rows->sd, rows->nlp, rows->residual};
    for (size_t j = 0; j < sizeof places / sizeof *places; j++) {
      if (places[j] != NULL) {
        places[j][i] = values[j];
      }
    }
  }
  if (scores != NULL) {
    score_rows(n, data->y, observed, nlp, scores);
  }
  free(nlp);
  return status;
}

static bool has_input(const oatgp_model *model, const char *name) {
  size_t j = 0;
  while (j < model->d && strcmp(model->names[j], name) != 0) {
    j++;
  }
  return j < model->d;
}

/* Rows mean the same to both models only if their inputs have the same names. */
static oatgp_status check_against(oatgp_context *ctx, const oatgp_model *model, const oatgp_model *against) {
  if (against->d != model->d) {
    return oat_fail(ctx, OATGP_DATA, "the model has %zu inputs and the one to compare with has %zu", model->d, against->d);
  }
  for (size_t j = 0; j < against->d; j++) {
    if (!has_input(model, against->names[j])) {
      return oat_fail(ctx, OATGP_DATA, "the model to compare with has an input '%s', which this model does not have", against->names[j]);
    }
  }
  return OATGP_OK;
}

oatgp_status oat_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_model *against,
                       oatgp_scores *out) {
  oat_scratch memory = {.ctx = ctx};
  double *nlp = oat_take_doubles(&memory, data->n, 1);
  predictions own = {0}, other = {0};
  oatgp_scores scores;
  oatgp_status status;
  TRY(predict_all(&memory, model, data, &own));
  score_rows(data->n, data->y, (oat_gaussian){own.mean, own.observed}, nlp, &scores);
  if (against != NULL) {
    TRY(check_against(ctx, model, against));
    TRY(predict_all(&memory, against, data, &other));
    scores.aukl_latent = oat_mean_kl(data->n, (oat_gaussian){other.mean, other.latent}, (oat_gaussian){own.mean, own.latent});
    scores.aukl_observation = oat_mean_kl(data->n, (oat_gaussian){other.mean, other.observed}, (oat_gaussian){own.mean, own.observed});
  }
  *out = scores;
done:
  oat_scratch_free(&memory);
  return status;
}
