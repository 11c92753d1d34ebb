/* What figures and the report are made of. */
#include "report/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "predict/predict.h"
#include "model/model.h"
#include "plot/svg.h"
#include "util/memory.h"
#include "util/rng.h"

/* ---- sorting: row or input numbers by falling value ------------------------------------------------------------------ */

typedef struct ranked {
  double value;
  size_t number;
} ranked;

static int by_falling_value(const void *a, const void *b) {
  const ranked *const p = a, *const q = b;
  if (p->value != q->value) {
    return p->value < q->value ? 1 : -1;
  }
  return (p->number > q->number) - (p->number < q->number);
}

/* All n numbers into `out`, or the first `most` of them. A value that is none comes last. */
static oatgp_status rank(oatgp_context *ctx, size_t n, const double *values, size_t most, size_t *out) {
  ranked *list = NULL;
  const oatgp_status status = oat_new(ctx, n, sizeof *list, &list);
  if (status == OATGP_OK) {
    for (size_t i = 0; i < n; i++) {
      list[i] = (ranked){isnan(values[i]) ? -INFINITY : values[i], i};
    }
    qsort(list, n, sizeof *list, by_falling_value);
    for (size_t i = 0; i < most; i++) {
      out[i] = list[i].number;
    }
  }
  free(list);
  return status;
}

/* ---- names ------------------------------------------------------------------------------------------------------------- */

/* A sentence has some 25 letters for a name. */
static oatgp_status shorten(oatgp_context *ctx, const char *name, char **out) {
  oat_string copy = {.ctx = ctx};
  oat_string_shortened(&copy, name, 16 * OAT_LABEL_SIZE, OAT_LABEL_FONT);
  *out = copy.text;
  return copy.status;
}

static oatgp_status copy_names(oat_facts *f) {
  oatgp_status status;
  f->full_target = *f->info.target != '\0' ? f->info.target : "target";
  f->full_name = (const char *const *)f->model->names;
  TRY(shorten(f->ctx, f->full_target, &f->target));
  TRY(oat_new(f->ctx, f->d, sizeof *f->name, &f->name));
  for (size_t j = 0; j < f->d; j++) {
    TRY(shorten(f->ctx, f->full_name[j], &f->name[j]));
  }
done:
  return status;
}

/* ---- the model --------------------------------------------------------------------------------------------------------- */

static oatgp_status order_inputs(oat_facts *f) {
  double *relevance = NULL;
  oatgp_status status;
  TRY(oat_new_matrix(f->ctx, f->d, 1, &relevance));
  TRY(oat_new(f->ctx, f->d, sizeof *f->order, &f->order));
  for (size_t j = 0; j < f->d; j++) {
    relevance[j] = f->info.lengthscale_count == f->d ? 1 / f->info.lengthscales[j] : 0;
  }
  TRY(rank(f->ctx, f->d, relevance, f->d, f->order));
done:
  free(relevance);
  return status;
}

static oatgp_status find_knots(oat_facts *f) {
  oatgp_status status = OATGP_OK;
  if (f->info.knots > 0) {
    TRY(oat_new_matrix(f->ctx, f->info.knots, f->d, &f->knots));
    TRY(oat_new_matrix(f->ctx, f->info.knots, 1, &f->knot_mean));
    TRY(oat_predict_knots(f->ctx, f->model, f->knots, f->knot_mean, NULL));
  }
done:
  return status;
}

static oatgp_status find_ranges(oat_facts *f) {
  const oat_scaling *const scaling = &f->model->scaling;
  oatgp_status status;
  TRY(oat_new_matrix(f->ctx, f->d, 1, &f->lowest));
  TRY(oat_new_matrix(f->ctx, f->d, 1, &f->highest));
  for (size_t j = 0; j < f->d; j++) {
    f->lowest[j] = scaling->lowest[j] * scaling->scale[j] + scaling->centre[j];
    f->highest[j] = scaling->highest[j] * scaling->scale[j] + scaling->centre[j];
    for (size_t i = 0; f->data != NULL && i < f->data->n; i++) {
      f->lowest[j] = fmin(f->lowest[j], f->input[j][i]);
      f->highest[j] = fmax(f->highest[j], f->input[j][i]);
    }
  }
done:
  return status;
}

/* ---- the rows ---------------------------------------------------------------------------------------------------------- */

static oatgp_status find_inputs(oat_facts *f) {
  size_t *column = NULL;
  oatgp_status status;
  TRY(oat_new(f->ctx, f->d, sizeof *column, &column));
  TRY(oat_new(f->ctx, f->d, sizeof *f->input, &f->input));
  TRY(oat_new_matrix(f->ctx, f->data->n, f->d, &f->columns));
  TRY(oat_model_match_inputs(f->ctx, f->model, f->data, column));
  for (size_t j = 0; j < f->d; j++) {
    const oat_column x = oat_data_input(f->data, column[j]);
    double *values = f->columns + j * f->data->n;
    for (size_t i = 0; i < f->data->n; i++) {
      values[i] = x.a[i * x.step];
    }
    f->input[j] = values;
  }
done:
  free(column);
  return status;
}

/* Rows of the fit are predicted without themselves, which says how well others will be; where they are others, by the model as it is. */
static oatgp_status predict_rows(oat_facts *f) {
  const oatgp_held_out_sd rows = {f->mean, f->sd, f->nlp, f->residual};
  oatgp_status status = OATGP_DATA;
  if (f->data->n == f->info.n) {
    status = oat_loo_report(f->ctx, f->model, f->data, &rows, &f->scores);
    f->left_out = status == OATGP_OK;
  }
  if (status == OATGP_DATA) {
    TRY(oat_predict_sd(f->ctx, f->model, f->data, &(oatgp_prediction_sd){f->mean, NULL, f->sd}));
    TRY(oat_held_out_report(f->ctx, f->data, (oat_gaussian){f->mean, f->sd}, &rows, &f->scores));
  }
done:
  return status;
}

/* All rows; of many, the worst predicted and a random choice of the others, always the same. A worst one that is drawn again lies on itself. */
static oatgp_status choose_shown(oat_facts *f) {
  const size_t n = f->data->n;
  oat_rng rng;
  oatgp_status status;
  f->n_shown = n < OAT_MOST_POINTS ? n : OAT_MOST_POINTS;
  TRY(oat_new(f->ctx, f->n_shown, sizeof *f->shown, &f->shown));
  oat_rng_seed(&rng, 1);
  oat_rng_sample(&rng, n, f->n_shown, f->shown);
  if (f->n_shown < n && f->n_worst > 0) {
    memcpy(f->shown, f->worst, f->n_worst * sizeof *f->shown);
  }
done:
  return status;
}

static oatgp_status look_at_rows(oat_facts *f) {
  const size_t n = f->data->n;
  oatgp_status status;
  if (f->data->y != NULL) {
    double **const arrays[] = {&f->mean, &f->sd, &f->residual, &f->nlp};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
      TRY(oat_new_matrix(f->ctx, n, 1, arrays[i]));
    }
    TRY(predict_rows(f));
    f->n_worst = n < OAT_MOST_WORST ? n : OAT_MOST_WORST;
    TRY(oat_new(f->ctx, f->n_worst, sizeof *f->worst, &f->worst));
    TRY(rank(f->ctx, n, f->nlp, f->n_worst, f->worst));
  }
  TRY(choose_shown(f));
done:
  return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------------- */

oatgp_status oat_facts_make(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_facts *facts) {
  oatgp_status status;
  *facts = (oat_facts){.ctx = ctx, .model = model, .data = data, .d = model->d};
  oatgp_model_get_info(model, &facts->info);
  TRY(copy_names(facts));
  TRY(order_inputs(facts));
  TRY(find_knots(facts));
  if (data != NULL) {
    TRY(find_inputs(facts));
    TRY(look_at_rows(facts));
  }
  TRY(find_ranges(facts));
done:
  return status;
}

void oat_facts_clear(oat_facts *facts) {
  double *const arrays[] = {facts->knots, facts->knot_mean, facts->lowest, facts->highest, facts->mean,
                            facts->sd,    facts->residual,  facts->nlp,    facts->columns};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    free(arrays[i]);
  }
  for (size_t j = 0; facts->name != NULL && j < facts->d; j++) {
    free(facts->name[j]);
  }
  free(facts->name);
  free(facts->target);
  free(facts->order);
  free(facts->shown);
  free(facts->worst);
  free(facts->input);
  *facts = (oat_facts){0};
}

oatgp_status oat_facts_rows(const oat_facts *facts, size_t n, const double *x, oatgp_data **out) {
  const size_t d = facts->d;
  double *by_rows = NULL;
  oatgp_data *data = NULL;
  oatgp_status status;
  TRY(oat_new_matrix(facts->ctx, n, d, &by_rows));
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < d; j++) {
      by_rows[i * d + j] = x[i + j * n];
    }
  }
  TRY(oatgp_data_create(facts->ctx, n, d, by_rows, NULL, &data));
  TRY(oatgp_data_set_names(facts->ctx, data, (const char *const *)facts->model->names, NULL));
  *out = data;
  data = NULL;
done:
  oatgp_data_free(data);
  free(by_rows);
  return status;
}

double oat_between(double low, double high, double share) { return fmin(fmax(low * (1 - share) + high * share, low), high); }

void oat_spread_evenly(size_t n, double low, double high, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = n > 1 ? oat_between(low, high, (double)i / (double)(n - 1)) : low;
  }
}
