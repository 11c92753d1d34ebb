/* Scores of a model's predictions on data with a target. */
#include "predict/parts.h"
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/lanes.h"
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

/* Scores that need a few passes over the rows each; they run in parallel. */
typedef struct scoring {
  size_t n;
  const double *y;
  oat_gaussian observed;
  double *nlp;
  double sd; /* of y */
  oatgp_scores *out;
} scoring;

static void score_part(void *self, size_t lane, size_t item) {
  scoring *s = self;
  oatgp_scores *out = s->out;
  const struct {
    double p, *coverage;
  } shares[] = {{0.50, &out->coverage50},
                {0.80, &out->coverage80},
                {0.90, &out->coverage90},
                {0.95, &out->coverage95},
                {0.99, &out->coverage99}};
  (void)lane;
  if (item == 0) {
    out->mean_nlp = oat_mean(s->n, s->nlp);
    out->mnlp = oat_median(s->n, s->nlp);
  } else if (item == 1) {
    out->rmse = oat_rmse(s->n, s->y, s->observed.mean);
  } else if (item == 2) {
    s->sd = oat_sd(s->n, s->y);
  } else {
    *shares[item - 3].coverage = oat_coverage(s->n, s->y, s->observed, shares[item - 3].p);
  }
}

/* All scores but those against another model. nlp has a value for each row, and its order changes. */
static void score_rows(int threads, size_t n, const double *y, oat_gaussian observed, double *nlp, oatgp_scores *out) {
  enum { PARTS = 8 };
  scoring s = {n, y, observed, nlp, 0, out};
  out->n = n;
  oat_loop_run(&(oat_loop){.items = PARTS,
                           .lanes = PARTS,
                           .threads = threads,
                           .flops = PARTS * OAT_FLOPS_OF_MEMORY * (double)n,
                           .item = score_part,
                           .self = &s});
  out->srmse = s.sd > 0 ? out->rmse / s.sd : NAN;
  out->aukl_latent = NAN;
  out->aukl_observation = NAN;
  out->log_loss = out->brier = out->accuracy = out->auc = out->deviance = NAN;
}

/* The results for each row. */
typedef struct row_report {
  const oatgp_data *data;
  oat_gaussian observed;
  const oatgp_held_out_sd *rows; /* or NULL */
  double *nlp;
} row_report;

static void report_chunk(void *self, size_t lane, size_t item) {
  const row_report *r = self;
  const oat_span part = oat_chunk(r->data->n, item);
  const double *mean = r->observed.mean, *sd = r->observed.sd, *y = r->data->y;
  (void)lane;
  oat_nlp(part.count, y + part.first, (oat_gaussian){mean + part.first, sd + part.first}, r->nlp + part.first);
  for (size_t i = part.first; r->rows != NULL && i < part.first + part.count; i++) {
    const double values[] = {mean[i], sd[i], r->nlp[i], (y[i] - mean[i]) / sd[i]};
    double *const places[] = {r->rows->mean, r->rows->sd, r->rows->nlp, r->rows->residual};
    for (size_t j = 0; j < sizeof places / sizeof *places; j++) {
      if (places[j] != NULL) {
        places[j][i] = values[j];
      }
    }
  }
}

oatgp_status oat_held_gaussian(oatgp_context *ctx, const oatgp_data *data, oat_gaussian observed,
                               const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  row_report r = {data, observed, rows, NULL};
  const oatgp_status status = oat_new_matrix(ctx, data->n, 1, &r.nlp);
  if (status != OATGP_OK) {
    return status;
  }
  oat_loop loop = oat_chunks(data->n, 10 * OAT_FLOPS_OF_MEMORY, ctx->at_work);
  loop.item = report_chunk;
  loop.self = &r;
  oat_loop_run(&loop);
  if (scores != NULL) {
    score_rows(ctx->at_work, data->n, data->y, observed, r.nlp, scores);
  }
  free(r.nlp);
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
    return oat_fail(ctx, OATGP_DATA, "the model has %zu inputs, but the model to compare with has %zu", model->d,
                    against->d);
  }
  for (size_t j = 0; j < against->d; j++) {
    if (!has_input(model, against->names[j])) {
      return oat_fail(ctx, OATGP_DATA, "the model to compare with has an input '%s', which this model does not have",
                      against->names[j]);
    }
  }
  return OATGP_OK;
}

static oatgp_status score_answers(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  const oatgp_held_out_sd *rows, oatgp_scores *out) {
  const oat_held_form form = oat_held_form_of(model);
  double *columns = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, data->n, OAT_HELD_COLUMNS, &columns));
  TRY(oat_held_predict(ctx, model, data, form, columns));
  TRY(oat_held_report(ctx, form, data, columns, rows, out));
done:
  free(columns);
  return status;
}

/* The models, and the results for each row, or NULL. */
typedef struct scored {
  oatgp_context *ctx;
  const oatgp_model *model, *against;
} scored;

/* Rows in memory. */
static oatgp_status score_data(void *self, const oatgp_data *data, const oatgp_held_out_sd *rows, oatgp_scores *out) {
  const scored *of = self;
  oatgp_context *ctx = of->ctx;
  const oatgp_model *model = of->model, *against = of->against;
  const bool gaussian = oat_held_columns(oat_held_form_of(model)) == OAT_HELD_GAUSSIAN;
  oat_scratch memory = {.ctx = ctx};
  predictions own = {0}, other = {0};
  oatgp_scores scores;
  oatgp_status status;
  TRY(gaussian || against != NULL ? predict_all(&memory, model, data, &own) : OATGP_OK);
  TRY(gaussian ? oat_held_gaussian(ctx, data, (oat_gaussian){own.mean, own.observed}, rows, &scores)
               : score_answers(ctx, model, data, rows, &scores));
  if (against != NULL) {
    TRY(check_against(ctx, model, against));
    TRY(predict_all(&memory, against, data, &other));
    scores.aukl_latent =
        oat_mean_kl(data->n, (oat_gaussian){other.mean, other.latent}, (oat_gaussian){own.mean, own.latent});
    scores.aukl_observation =
        oat_mean_kl(data->n, (oat_gaussian){other.mean, other.observed}, (oat_gaussian){own.mean, own.observed});
  }
  *out = scores;
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_score(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, const oatgp_model *against,
                       oatgp_scores *out) {
  const oatgp_model *special = model->likelihood != NULL || against == NULL ? model : against;
  scored of = {ctx, model, against};
  REFUSE_IF(against != NULL && special->likelihood != NULL, ctx, OATGP_ARGUMENT,
            "a divergence from another model needs Gaussian predictions, and this model has likelihood %s; score each "
            "model by itself",
            special->likelihood->name);
  return oat_data_is_streamed(data) ? oat_parts_score(ctx, data, score_data, &of, NULL, out)
                                    : score_data(&of, data, NULL, out);
}
