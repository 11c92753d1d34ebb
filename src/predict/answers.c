/* Predictions of y for any likelihood. The f of a row is normal with a mean m and a variance s, and every statement
 * about y is integrated over it; likelihood/ has the integrals. This file has the rows, their exposure and trials, and
 * the unit of the target. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "likelihood/special.h"
#include "predict/mixture.h"
#include "util/lanes.h"
#include "util/memory.h"

enum { PART = 256, SOME = 16 }; /* rows at a time; of those with the probabilities of all levels */
#define ROW_FLOPS 1e4           /* relative error of the integrals of a row, about */

static double unit_of(const oatgp_model *model) { return model->number[OAT_NUMBER_Y_SCALE]; }

static double log_exposure(const oatgp_data *data, size_t i) {
  return data->exposure != NULL ? log(data->exposure[i]) : 0;
}

static const double *trials_from(const oatgp_data *data, size_t first) {
  return data->trials != NULL ? data->trials + first : NULL;
}

static double *from(double *values, size_t first) { return values != NULL ? values + first : NULL; }

static oat_span part_of(size_t n, size_t item) {
  const size_t first = item * PART, left = n - first;
  return (oat_span){first, left < PART ? left : PART};
}

static void over_parts(const oatgp_context *ctx, size_t n, void (*item)(void *self, size_t lane, size_t item),
                       void *self) {
  const size_t parts = (n + PART - 1) / PART;
  oat_loop_run(&(oat_loop){.items = parts,
                           .lanes = oat_lanes_for(parts),
                           .threads = ctx->at_work,
                           .flops = ROW_FLOPS * (double)n,
                           .item = item,
                           .self = self});
}

oatgp_status oat_held_latent(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, double *m,
                             double *s) {
  PASS_ON(oat_predict_latent(ctx, model, data, m, s));
  for (size_t i = 0; i < data->n; i++) {
    m[i] = m[i] / unit_of(model) + log_exposure(data, i);
  }
  return OATGP_OK;
}

/* ---- predictions ----------------------------------------------------------------------------------------------- */

typedef struct answering {
  const oatgp_model *model;
  const oatgp_data *data;
  oat_response response;
  const double *m, *s;
  const oatgp_answers *out;
} answering;

/* In the data's unit. */
static void put_moments(const answering *a, oat_span part, const oat_answers *answers, const oat_latent *latent) {
  const double unit = unit_of(a->model);
  double *mean = from(a->out->mean, part.first), *sd = from(a->out->sd, part.first);
  oat_response_moments(&a->response, answers, latent, mean, sd);
  for (size_t i = 0; mean != NULL && i < part.count; i++) {
    mean[i] *= unit;
  }
  for (size_t i = 0; sd != NULL && i < part.count; i++) {
    sd[i] = unit * sqrt(sd[i]);
  }
}

/* The probability of 1 where f is at a quantile. */
static void put_probability(const answering *a, oat_span part, double p, double *out) {
  double f[PART];
  const double zero[PART] = {0}, reach = oat_normal_quantile(p);
  for (size_t i = 0; i < part.count; i++) {
    f[i] = a->m[part.first + i] + reach * sqrt(a->s[part.first + i]);
  }
  oat_response_moments(&a->response, &(oat_answers){.n = part.count}, &(oat_latent){f, zero}, out, NULL);
}

static void put_quantile(const answering *a, oat_span part, const oat_latent *latent, double p, double *out) {
  const oat_answers answers = {part.count, NULL, trials_from(a->data, part.first)};
  if (out == NULL) {
    return;
  }
  if (oat_likelihood_is_bernoulli(a->response.likelihood)) {
    put_probability(a, part, p, out);
    return;
  }
  oat_response_quantile(&a->response, &answers, latent, p, out);
  for (size_t i = 0; i < part.count; i++) {
    out[i] *= unit_of(a->model);
  }
}

/* Level after level for some rows, then row after row. */
static void put_levels(const answering *a, oat_span part) {
  const size_t levels = a->response.levels;
  double some[SOME * OAT_LEVELS_MOST];
  for (size_t first = part.first; first < part.first + part.count; first += SOME) {
    const size_t left = part.first + part.count - first, n = left < SOME ? left : SOME;
    oat_response_levels(&a->response, n, &(oat_latent){a->m + first, a->s + first}, some);
    for (size_t i = 0; i < n * levels; i++) {
      a->out->levels[first * levels + i] = some[i / levels + i % levels * n];
    }
  }
}

static void answer_part(void *self, size_t lane, size_t item) {
  const answering *a = self;
  const oatgp_answers *out = a->out;
  const oat_span part = part_of(a->data->n, item);
  const oat_answers answers = {part.count, NULL, trials_from(a->data, part.first)};
  const oat_latent latent = {a->m + part.first, a->s + part.first};
  (void)lane;
  if (out->mean != NULL || out->sd != NULL) {
    put_moments(a, part, &answers, &latent);
  }
  put_quantile(a, part, &latent, 0.5 - 0.5 * out->interval, from(out->lower, part.first));
  put_quantile(a, part, &latent, 0.5 + 0.5 * out->interval, from(out->upper, part.first));
  for (size_t i = part.first; i < part.first + part.count; i++) {
    if (out->latent_mean != NULL) {
      out->latent_mean[i] = unit_of(a->model) * a->m[i];
    }
    if (out->latent_sd != NULL) {
      out->latent_sd[i] = unit_of(a->model) * sqrt(a->s[i]);
    }
  }
  if (out->levels != NULL && a->response.levels > 0) {
    put_levels(a, part);
  }
}

/* y has mean and spread of f and noise. */
static oatgp_status predict_gaussian(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                     const oatgp_answers *out) {
  oat_scratch memory = {.ctx = ctx};
  double *mean = oat_take_doubles(&memory, data->n, 1);
  double *const means[] = {out->mean, out->latent_mean};
  const bool bounded = out->lower != NULL || out->upper != NULL;
  oatgp_status status;
  TRY(memory.status);
  TRY(bounded ? oat_predict_interval(ctx, model, data,
                                     &(oatgp_prediction_interval){.mean = mean,
                                                                  .sd_latent = out->latent_sd,
                                                                  .sd = out->sd,
                                                                  .lower = out->lower,
                                                                  .upper = out->upper,
                                                                  .interval = out->interval})
              : oat_predict_sd(ctx, model, data, &(oatgp_prediction_sd){mean, out->latent_sd, out->sd}));
  for (size_t j = 0; j < sizeof means / sizeof *means; j++) {
    if (means[j] != NULL) {
      memcpy(means[j], mean, data->n * sizeof *mean);
    }
  }
done:
  oat_scratch_free(&memory);
  return status;
}

oatgp_status oat_predict_answers(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                 const oatgp_answers *out) {
  oat_scratch memory = {.ctx = ctx};
  oatgp_status status;
  if (model->likelihood == NULL) {
    return predict_gaussian(ctx, model, data, out);
  }
  double *m = oat_take_doubles(&memory, data->n, 1), *s = oat_take_doubles(&memory, data->n, 1);
  TRY(memory.status);
  TRY(oat_held_latent(ctx, model, data, m, s));
  over_parts(ctx, data->n, answer_part, &(answering){model, data, oat_model_response(model), m, s, out});
done:
  oat_scratch_free(&memory);
  return status;
}

/* ---- draws ----------------------------------------------------------------------------------------------------- */

/* An answer given f, both in the data's unit. */
static double draw_answer(const oatgp_model *model, const oatgp_data *data, size_t i, double f, oat_rng *rng) {
  const double unit = unit_of(model), trials = data->trials != NULL ? data->trials[i] : 1;
  if (model->likelihood == NULL) {
    return f + unit * sqrt(oat_predict_noise(model, data, i)) * oat_rng_normal(rng);
  }
  const oat_response response = oat_model_response(model);
  return unit * oat_response_draw(&response, f / unit + log_exposure(data, i), trials, rng);
}

oatgp_status oat_predict_answer_samples(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                        size_t count, uint64_t seed, double *samples) {
  oat_rng rng;
  if (model->draw_count > 0) {
    return oat_mixture_samples(ctx, model, data, oat_predict_answer_samples, count, seed, samples);
  }
  PASS_ON(oat_predict_samples(ctx, model, data, count, seed, samples));
  oat_rng_seed(&rng, ~seed); /* an independent stream from that of f */
  for (size_t i = 0; i < count * data->n; i++) {
    samples[i] = draw_answer(model, data, i % data->n, samples[i], &rng);
  }
  return OATGP_OK;
}

/* ---- held-out rows: the columns that scores are computed from -------------------------------------------------- */

typedef struct judging {
  const oatgp_model *model;
  const oatgp_data *data;
  oat_response response;
  oat_latent latent;
  double *columns;
} judging;

static double *column_of(const judging *j, size_t column, size_t first) {
  return j->columns + column * j->data->n + first;
}

/* In the data's unit. */
static void judge_moments(const judging *j, oat_span part, const oat_answers *answers, const oat_latent *latent) {
  const double unit = unit_of(j->model);
  double *mean = column_of(j, OAT_HELD_MEAN, part.first), *sd = column_of(j, OAT_HELD_SD, part.first);
  oat_response_moments(&j->response, answers, latent, mean, sd);
  for (size_t i = 0; i < part.count; i++) {
    mean[i] *= unit;
    sd[i] = unit * sqrt(sd[i]);
  }
}

/* The density has the inverse of the target's unit, the deviance none. */
static void judge_density(const judging *j, oat_span part, const oat_answers *answers, const oat_latent *latent) {
  const double log_unit = log(unit_of(j->model));
  double *nlp = column_of(j, OAT_HELD_NLP, part.first), *deviance = column_of(j, OAT_HELD_DEVIANCE, part.first);
  oat_response_predictive(&j->response, answers, latent, nlp);
  oat_response_saturated(&j->response, answers, deviance);
  for (size_t i = 0; i < part.count; i++) {
    deviance[i] = 2 * (deviance[i] - nlp[i]);
    nlp[i] = log_unit - nlp[i];
  }
}

/* Whole numbers have P(Y = y), which is the density, between the two. */
static void judge_place(const judging *j, oat_span part, const oat_answers *answers, const oat_latent *latent) {
  const bool discrete = j->response.likelihood->discrete;
  const double *nlp = column_of(j, OAT_HELD_NLP, part.first);
  double *below = column_of(j, OAT_HELD_BELOW, part.first), *up_to = column_of(j, OAT_HELD_UP_TO, part.first), y[PART];
  for (size_t i = 0; i < part.count; i++) {
    y[i] = answers->y[i] - discrete;
  }
  oat_response_cdf(&j->response, &(oat_answers){part.count, y, answers->trials}, latent, below);
  for (size_t i = 0; i < part.count; i++) {
    up_to[i] = discrete ? fmin(below[i] + exp(-nlp[i]), 1) : below[i];
  }
}

/* The first of levels that are equally likely. */
static double likeliest(size_t levels, const double *probability) {
  size_t best = 0;
  for (size_t i = 1; i < levels; i++) {
    best = probability[i] > probability[best] ? i : best;
  }
  return (double)best;
}

static void judge_class(const judging *j, oat_span part, const oat_answers *answers, const oat_latent *latent) {
  const oat_likelihood *likelihood = j->response.likelihood;
  const double *mean = column_of(j, OAT_HELD_MEAN, part.first);
  double *right = column_of(j, OAT_HELD_RIGHT, part.first), probability[OAT_LEVELS_MOST];
  for (size_t i = 0; i < part.count; i++) {
    right[i] = NAN;
    if (oat_likelihood_is_bernoulli(likelihood)) {
      right[i] = (mean[i] > 0.5) == (answers->y[i] == 1);
    } else if (likelihood->has_levels) {
      oat_response_levels(&j->response, 1, &(oat_latent){latent->m + i, latent->s + i}, probability);
      right[i] = likeliest(j->response.levels, probability) == answers->y[i];
    }
  }
}

static void judge_part(void *self, size_t lane, size_t item) {
  const judging *j = self;
  const oat_span part = part_of(j->data->n, item);
  double y[PART];
  (void)lane;
  for (size_t i = 0; i < part.count; i++) {
    y[i] = j->data->y[part.first + i] / unit_of(j->model);
  }
  const oat_answers answers = {part.count, y, trials_from(j->data, part.first)};
  const oat_latent latent = {j->latent.m + part.first, j->latent.s + part.first};
  judge_moments(j, part, &answers, &latent);
  judge_density(j, part, &answers, &latent);
  judge_place(j, part, &answers, &latent);
  judge_class(j, part, &answers, &latent);
}

oatgp_status oat_held_judge(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_latent latent,
                            double *columns) {
  PASS_ON(oat_check_answers(ctx, model->likelihood, oat_model_answer_levels(model), data));
  over_parts(ctx, data->n, judge_part, &(judging){model, data, oat_model_response(model), latent, columns});
  return OATGP_OK;
}

void oat_held_fill(double *columns, size_t n, size_t i, const double values[OAT_HELD_COLUMNS]) {
  for (size_t j = 0; j < OAT_HELD_COLUMNS; j++) {
    columns[i + j * n] = values[j];
  }
}

/* The columns of a mixture of Gaussian predictions. */
static oatgp_status judge_mixture(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                  double *columns) {
  const size_t n = data->n;
  oat_scratch memory = {.ctx = ctx};
  oat_mixture mixture;
  oatgp_status status;
  TRY(oat_mixture_predict(&memory, model, data, &mixture));
  for (size_t i = 0; i < n; i++) {
    const oat_mixture_moments at = oat_mixture_moments_at(&mixture, i);
    double nlp, below;
    oat_mixture_judge(&mixture, i, &nlp, &below);
    const double values[] = {[OAT_HELD_MEAN] = at.mean, [OAT_HELD_SD] = unit_of(model) * sqrt(at.observed),
                             [OAT_HELD_NLP] = nlp,      [OAT_HELD_BELOW] = below,
                             [OAT_HELD_UP_TO] = below,  [OAT_HELD_DEVIANCE] = NAN,
                             [OAT_HELD_RIGHT] = NAN};
    oat_held_fill(columns, n, i, values);
  }
done:
  oat_scratch_free(&memory);
  return status;
}

/* The columns of one Gaussian prediction of each row, as those of a mixture. */
static oatgp_status judge_gaussian(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data,
                                   double *columns) {
  const size_t n = data->n;
  double *mean = columns + OAT_HELD_MEAN * n, *sd = columns + OAT_HELD_SD * n;
  PASS_ON(oat_predict_sd(ctx, model, data, &(oatgp_prediction_sd){mean, NULL, sd}));
  for (size_t i = 0; i < n; i++) {
    const double below = oat_normal_cdf((data->y[i] - mean[i]) / sd[i]);
    double nlp;
    oat_nlp(1, &data->y[i], (oat_gaussian){&mean[i], &sd[i]}, &nlp);
    const double values[] = {
        [OAT_HELD_MEAN] = mean[i], [OAT_HELD_SD] = sd[i],     [OAT_HELD_NLP] = nlp,  [OAT_HELD_BELOW] = below,
        [OAT_HELD_UP_TO] = below,  [OAT_HELD_DEVIANCE] = NAN, [OAT_HELD_RIGHT] = NAN};
    oat_held_fill(columns, n, i, values);
  }
  return OATGP_OK;
}

oatgp_status oat_held_predict(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_held_form form,
                              double *columns) {
  oat_scratch memory = {.ctx = ctx};
  oatgp_status status;
  if (model->draw_count > 0) {
    return judge_mixture(ctx, model, data, columns);
  }
  if (form.averaged) {
    return judge_gaussian(ctx, model, data, columns);
  }
  if (model->likelihood == NULL) {
    return oat_predict_sd(ctx, model, data, &(oatgp_prediction_sd){columns, NULL, columns + data->n});
  }
  double *m = oat_take_doubles(&memory, data->n, 1), *s = oat_take_doubles(&memory, data->n, 1);
  TRY(memory.status);
  TRY(oat_held_latent(ctx, model, data, m, s));
  TRY(oat_held_judge(ctx, model, data, (oat_latent){m, s}, columns));
done:
  oat_scratch_free(&memory);
  return status;
}

/* The normal quantile of the middle of P(Y < y) and P(Y <= y), kept away from 0 and 1 by their rounding error. NaN for
 * a row that was not predicted. */
static double residual_of(double below, double up_to) {
  const double p = 0.5 * below + 0.5 * up_to;
  return isnan(p) ? NAN : oat_normal_quantile(fmin(fmax(p, DBL_MIN), 1 - DBL_EPSILON / 2));
}

static void report_rows(size_t n, const double *columns, const oatgp_held_out_sd *rows) {
  double *const places[] = {[OAT_HELD_MEAN] = rows->mean, [OAT_HELD_SD] = rows->sd, [OAT_HELD_NLP] = rows->nlp};
  for (size_t j = 0; j < sizeof places / sizeof *places; j++) {
    if (places[j] != NULL) {
      memcpy(places[j], columns + j * n, n * sizeof *columns);
    }
  }
  for (size_t i = 0; rows->residual != NULL && i < n; i++) {
    rows->residual[i] = residual_of(columns[OAT_HELD_BELOW * n + i], columns[OAT_HELD_UP_TO * n + i]);
  }
}

static oatgp_status score_classes(oatgp_context *ctx, const oat_likelihood *likelihood, const oatgp_data *data,
                                  const double *columns, oatgp_scores *out) {
  const size_t n = data->n;
  oat_scored *order = NULL;
  out->accuracy = oat_mean(n, columns + OAT_HELD_RIGHT * n);
  out->log_loss = out->brier = out->auc = NAN;
  if (oat_likelihood_is_bernoulli(likelihood)) {
    PASS_ON(oat_new(ctx, n, sizeof *order, &order));
    out->log_loss = out->mean_nlp;
    out->brier = oat_brier(n, data->y, columns + OAT_HELD_MEAN * n);
    out->auc = oat_auc(n, data->y, columns + OAT_HELD_MEAN * n, order);
    free(order);
  }
  return OATGP_OK;
}

static oatgp_status score_answers(oatgp_context *ctx, const oat_likelihood *likelihood, const oatgp_data *data,
                                  const double *columns, oatgp_scores *out) {
  const size_t n = data->n;
  const double *mean = columns + OAT_HELD_MEAN * n, *nlp = columns + OAT_HELD_NLP * n;
  const double *below = columns + OAT_HELD_BELOW * n, *up_to = columns + OAT_HELD_UP_TO * n;
  const struct {
    double p, *coverage;
  } shares[] = {{0.50, &out->coverage50},
                {0.80, &out->coverage80},
                {0.90, &out->coverage90},
                {0.95, &out->coverage95},
                {0.99, &out->coverage99}};
  double *ordered = NULL;
  PASS_ON(oat_new_matrix(ctx, n, 1, &ordered));
  memcpy(ordered, nlp, n * sizeof *nlp);
  *out = (oatgp_scores){.n = n,
                        .mean_nlp = oat_mean(n, nlp),
                        .mnlp = oat_median(n, ordered),
                        .aukl_latent = NAN,
                        .aukl_observation = NAN};
  free(ordered);
  out->rmse = oat_rmse(n, data->y, mean);
  out->srmse = oat_srmse(n, data->y, mean);
  out->deviance = oat_mean(n, columns + OAT_HELD_DEVIANCE * n);
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
    *shares[i].coverage =
        oat_likelihood_is_bernoulli(likelihood) ? NAN : oat_quantile_coverage(n, below, up_to, shares[i].p);
  }
  return score_classes(ctx, likelihood, data, columns, out);
}

oatgp_status oat_held_report(oatgp_context *ctx, oat_held_form form, const oatgp_data *data, const double *columns,
                             const oatgp_held_out_sd *rows, oatgp_scores *scores) {
  if (oat_held_columns(form) == OAT_HELD_GAUSSIAN) {
    return oat_held_gaussian(ctx, data, (oat_gaussian){columns, columns + data->n}, rows, scores);
  }
  if (rows != NULL) {
    report_rows(data->n, columns, rows);
  }
  return scores != NULL ? score_answers(ctx, form.likelihood, data, columns, scores) : OATGP_OK;
}
