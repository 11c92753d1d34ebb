/* The numbers behind the figures and the report. */
#include "report/facts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "predict/predict.h"
#include "model/model.h"
#include "plot/svg.h"
#include "util/lanes.h"
#include "util/rng.h"

/* ---- sorting: row or input numbers by falling value ------------------------------------------------------------ */

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

/* The ranks of the `most` largest of n values, in `out`. NaN comes last. The list has room for twice as many; when it
 * is full, the worse half is dropped. */
static oatgp_status rank(oatgp_context *ctx, size_t n, const double *values, size_t most, size_t *out) {
  ranked *list = NULL;
  size_t count = 0;
  PASS_ON(oat_new(ctx, 2 * most, sizeof *list, &list));
  for (size_t i = 0; i < n; i++) {
    const ranked next = {isnan(values[i]) ? -INFINITY : values[i], i};
    if (count == 2 * most) {
      qsort(list, count, sizeof *list, by_falling_value);
      count = most;
    }
    if (count < most || by_falling_value(&next, &list[most - 1]) < 0) {
      list[count++] = next;
    }
  }
  qsort(list, count, sizeof *list, by_falling_value);
  for (size_t i = 0; i < most; i++) {
    out[i] = list[i].number;
  }
  free(list);
  return OATGP_OK;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* A name in a sentence is cut to about 25 letters. */
static oatgp_status shorten(oat_scratch *memory, const char *name, char **out) {
  oat_string copy = {.ctx = memory->ctx};
  oat_string_shortened(&copy, name, 16 * OAT_LABEL_SIZE, OAT_LABEL_FONT);
  *out = oat_take_text(memory, copy.text);
  const oatgp_status status = copy.status != OATGP_OK ? copy.status : memory->status;
  oat_string_free(&copy);
  return status;
}

static size_t count_classes(const oat_facts *f) {
  return oat_facts_two_classes(f) ? 2 : f->model->likelihood != NULL ? oat_model_answer_levels(f->model) : 0;
}

static oatgp_status name_classes(oat_facts *f) {
  const oat_levels *const levels = &f->model->target_levels;
  f->n_classes = count_classes(f);
  f->classes = oat_take(&f->memory, f->n_classes, sizeof *f->classes);
  PASS_ON(f->memory.status);
  for (size_t i = 0; i < f->n_classes; i++) {
    PASS_ON(shorten(&f->memory, i < levels->count ? levels->name[i] : oat_value((double)i, 3).text, &f->classes[i]));
  }
  return OATGP_OK;
}

/* What a prediction is. */
static oatgp_status name_expected(oat_facts *f) {
  oat_string text = {.ctx = f->ctx};
  if (f->model->likelihood == NULL) {
    oat_string_add(&text, "predicted");
  } else if (oat_facts_two_classes(f)) {
    oat_string_print(&text, "probability of %s", f->classes[1]);
  } else {
    oat_string_print(&text, f->model->likelihood->has_levels ? "expected level of %s" : "expected %s", f->full_target);
  }
  f->expected = oat_take_text(&f->memory, text.text);
  const oatgp_status status = text.status != OATGP_OK ? text.status : f->memory.status;
  oat_string_free(&text);
  return status;
}

/* The words for two classes end with "of 1". */
static oatgp_status name_link(oat_facts *f) {
  const char *const words = f->model->likelihood != NULL ? f->model->likelihood->link : NULL;
  oat_string text = {.ctx = f->ctx};
  if (words == NULL || !oat_facts_two_classes(f)) {
    f->link = words;
    return OATGP_OK;
  }
  oat_string_print(&text, "%.*s%s", (int)strlen(words) - 1, words, f->classes[1]);
  f->link = oat_take_text(&f->memory, text.text);
  const oatgp_status status = text.status != OATGP_OK ? text.status : f->memory.status;
  oat_string_free(&text);
  return status;
}

static oatgp_status copy_names(oat_facts *f) {
  f->full_target = *f->info.target != '\0' ? f->info.target : "target";
  f->full_name = (const char *const *)f->model->names;
  f->name = oat_take(&f->memory, f->d, sizeof *f->name);
  PASS_ON(shorten(&f->memory, f->full_target, &f->target));
  for (size_t j = 0; j < f->d; j++) {
    PASS_ON(shorten(&f->memory, f->full_name[j], &f->name[j]));
  }
  PASS_ON(name_classes(f));
  PASS_ON(name_link(f));
  return name_expected(f);
}

/* ---- the model ------------------------------------------------------------------------------------------------- */

static oatgp_status order_inputs(oat_facts *f) {
  double *const relevance = oat_take_doubles(&f->memory, f->d, 1);
  f->order = oat_take(&f->memory, f->d, sizeof *f->order);
  PASS_ON(f->memory.status);
  for (size_t j = 0; j < f->d; j++) {
    relevance[j] = f->info.lengthscale_count == f->d ? 1 / f->info.lengthscales[j] : 0;
  }
  return rank(f->ctx, f->d, relevance, f->d, f->order);
}

static oatgp_status find_knots(oat_facts *f) {
  if (f->info.knots == 0) {
    return OATGP_OK;
  }
  f->knots = oat_take_doubles(&f->memory, f->info.knots, f->d);
  PASS_ON(f->memory.status);
  return oat_predict_knots(f->ctx, f->model, f->knots, NULL, NULL);
}

/* Of the rows of the fit. */
static oatgp_status find_ranges(oat_facts *f) {
  const oat_scaling *const scaling = &f->model->scaling;
  f->lowest = oat_take_doubles(&f->memory, f->d, 1);
  f->highest = oat_take_doubles(&f->memory, f->d, 1);
  PASS_ON(f->memory.status);
  for (size_t j = 0; j < f->d; j++) {
    f->lowest[j] = scaling->lowest[j] * scaling->scale[j] + scaling->centre[j];
    f->highest[j] = scaling->highest[j] * scaling->scale[j] + scaling->centre[j];
  }
  return OATGP_OK;
}

/* ---- the rows -------------------------------------------------------------------------------------------------- */

typedef struct inputs_job {
  oat_facts *facts;
  const size_t *column; /* of the data, for each input */
  double **recode;      /* codes of categories to those of the model, or NULL */
  double *values;       /* rows x inputs */
} inputs_job;

/* Copies input j of the rows, and widens its range to theirs. */
static void take_input(void *self, size_t lane, size_t j) {
  const inputs_job *job = self;
  oat_facts *f = job->facts;
  const oat_column x = oat_data_input(f->data, job->column[j]);
  double *const values = job->values + j * f->data->n;
  double lowest = f->lowest[j], highest = f->highest[j];
  const double *const codes = job->recode != NULL ? job->recode[j] : NULL;
  (void)lane;
  for (size_t i = 0; i < f->data->n; i++) {
    const double value = values[i] = codes != NULL ? codes[(size_t)x.a[i * x.step]] : x.a[i * x.step];
    lowest = value < lowest ? value : lowest;
    highest = value > highest ? value : highest;
  }
  f->lowest[j] = lowest;
  f->highest[j] = highest;
}

static oatgp_status find_inputs(oat_facts *f) {
  size_t *const column = oat_take(&f->memory, f->d, sizeof *column);
  double *const values = oat_take_doubles(&f->memory, f->data->n, f->d);
  f->input = oat_take(&f->memory, f->d, sizeof *f->input);
  PASS_ON(f->memory.status);
  double **recode = NULL;
  PASS_ON(oat_model_match_inputs(f->ctx, f->model, f->data, column));
  PASS_ON(oat_model_recode(f->ctx, f->model, f->data, column, &recode));
  for (size_t j = 0; j < f->d; j++) {
    f->input[j] = values + j * f->data->n;
  }
  oat_loop_run(&(oat_loop){.items = f->d,
                           .lanes = oat_lanes_for(f->d),
                           .threads = f->ctx->at_work,
                           .flops = OAT_FLOPS_OF_MEMORY * (double)f->data->n * (double)f->d,
                           .item = take_input,
                           .self = &(inputs_job){f, column, recode, values}});
  oat_model_recode_free(recode, f->d);
  return OATGP_OK;
}

/* A whole number has a stretch of probabilities, from P(Y < y) to P(Y <= y); one of these is drawn, always the same. */
static void draw_quantiles(oat_facts *f) {
  oat_rng rng;
  oat_rng_seed(&rng, 3);
  for (size_t i = 0; i < f->data->n; i++) {
    const double p = oat_between(f->below[i], f->up_to[i], oat_rng_uniform(&rng));
    f->quantile[i] = oat_normal_quantile(fmin(fmax(p, DBL_MIN), 1 - DBL_EPSILON / 2));
  }
}

/* Predictions of a non-Gaussian target: from f without each row of the fit; for other rows, from f as it is. */
static oatgp_status predict_answers(oat_facts *f, const oatgp_held_out_sd *rows) {
  const size_t n = f->data->n;
  double *const columns = oat_take_doubles(&f->memory, n, OAT_HELD_COLUMNS);
  oatgp_status status = OATGP_DATA;
  f->m = oat_take_doubles(&f->memory, n, 1);
  f->s = oat_take_doubles(&f->memory, n, 1);
  f->quantile = oat_take_doubles(&f->memory, n, 1);
  PASS_ON(f->memory.status);
  if (n == f->info.n) {
    status = oat_loo_latent(f->ctx, f->model, f->data, f->m, f->s);
    f->left_out = status == OATGP_OK;
  }
  if (status == OATGP_DATA) {
    status = oat_held_latent(f->ctx, f->model, f->data, f->m, f->s);
  }
  PASS_ON(status);
  PASS_ON(oat_held_judge(f->ctx, f->model, f->data, (oat_latent){f->m, f->s}, columns));
  f->below = columns + OAT_HELD_BELOW * n;
  f->up_to = columns + OAT_HELD_UP_TO * n;
  PASS_ON(oat_held_report(f->ctx, oat_held_form_of(f->model), f->data, columns, rows, &f->scores));
  draw_quantiles(f);
  return OATGP_OK;
}

/* Rows of the fit are predicted by leave-one-out, which shows how well new rows will be predicted. Other rows are
 * predicted by the model as it is. */
static oatgp_status predict_rows(oat_facts *f) {
  const oatgp_held_out_sd rows = {f->mean, f->sd, f->nlp, f->residual};
  oatgp_status status = OATGP_DATA;
  if (f->model->likelihood != NULL) {
    return predict_answers(f, &rows);
  }
  f->quantile = f->residual;
  if (f->data->n == f->info.n) {
    status = oat_loo_report(f->ctx, f->model, f->data, &rows, &f->scores);
    f->left_out = status == OATGP_OK;
  }
  if (status != OATGP_DATA) {
    return status;
  }
  const oat_held_form form = oat_held_form_of(f->model);
  double *const columns = oat_take_doubles(&f->memory, f->data->n, oat_held_columns(form));
  PASS_ON(f->memory.status);
  PASS_ON(oat_held_predict(f->ctx, f->model, f->data, form, columns));
  return oat_held_report(f->ctx, form, f->data, columns, &rows, &f->scores);
}

/* The rows that are drawn: all, or, if there are many, the worst predicted ones and a random choice, which is always
 * the same. A row in both is drawn twice at the same place. */
static oatgp_status choose_shown(oat_facts *f) {
  const size_t n = f->data->n;
  oat_rng rng;
  f->n_shown = n < OAT_MOST_POINTS ? n : OAT_MOST_POINTS;
  f->shown = oat_take(&f->memory, f->n_shown, sizeof *f->shown);
  PASS_ON(f->memory.status);
  oat_rng_seed(&rng, 1);
  oat_rng_sample(&rng, n, f->n_shown, f->shown);
  if (f->n_shown < n && f->n_worst > 0) {
    memcpy(f->shown, f->worst, f->n_worst * sizeof *f->shown);
  }
  return OATGP_OK;
}

static oatgp_status share_effects(oat_facts *f) {
  const size_t count = f->model->effect_count;
  if (count < 2 || f->model->neighbours > 0) {
    return OATGP_OK;
  }
  f->effect_share = oat_take_doubles(&f->memory, count, 1);
  PASS_ON(f->memory.status);
  return oat_predict_effects(f->ctx, f->model, &(oat_effects_of){f->data, NULL, 0, count},
                             &(oatgp_effect_values){.share = f->effect_share});
}

static oatgp_status look_at_rows(oat_facts *f) {
  const size_t n = f->data->n;
  if (f->data->y != NULL) {
    double **const arrays[] = {&f->mean, &f->sd, &f->residual, &f->nlp};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
      *arrays[i] = oat_take_doubles(&f->memory, n, 1);
    }
    f->n_worst = n < OAT_MOST_WORST ? n : OAT_MOST_WORST;
    f->worst = oat_take(&f->memory, f->n_worst, sizeof *f->worst);
    PASS_ON(f->memory.status);
    PASS_ON(predict_rows(f));
    PASS_ON(rank(f->ctx, n, f->nlp, f->n_worst, f->worst));
  }
  PASS_ON(share_effects(f));
  return choose_shown(f);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

oatgp_status oat_facts_make(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, oat_facts *facts) {
  *facts = (oat_facts){.ctx = ctx, .memory = {.ctx = ctx}, .model = model, .data = data, .d = model->d};
  oatgp_model_get_info(model, &facts->info);
  PASS_ON(copy_names(facts));
  PASS_ON(order_inputs(facts));
  PASS_ON(find_knots(facts));
  PASS_ON(find_ranges(facts));
  if (data != NULL) {
    PASS_ON(find_inputs(facts));
    PASS_ON(look_at_rows(facts));
  }
  return OATGP_OK;
}

/* ---- Sobol' indices -------------------------------------------------------------------------------------------- */

oatgp_status oat_facts_indices(oat_facts *f) {
  const oatgp_indices_of of = {.draws = 64, .seed = 1, .interval = 0.95};
  double *const v = oat_take_doubles(&f->memory, 6, f->d);
  size_t *const order = oat_take(&f->memory, f->d, sizeof *order);
  PASS_ON(f->memory.status);
  if (f->d < 2 || f->model->neighbours > 0) {
    return OATGP_OK;
  }
  f->indices = (oatgp_indices){v, v + f->d, v + 2 * f->d, v + 3 * f->d, v + 4 * f->d, v + 5 * f->d, 0};
  PASS_ON(oat_sensitivity(f->ctx, f->model, &of, &f->indices));
  f->by_total = order;
  return rank(f->ctx, f->d, f->indices.total, f->d, order);
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

bool oat_facts_two_classes(const oat_facts *f) {
  return f->model->likelihood != NULL && oat_likelihood_is_bernoulli(f->model->likelihood);
}

bool oat_facts_discrete(const oat_facts *f) { return f->model->likelihood != NULL && f->model->likelihood->discrete; }

void oat_facts_expect(const oat_facts *f, size_t n, oat_latent latent, double *mean) {
  const oat_response response = oat_model_response(f->model);
  oat_response_moments(&response, &(oat_answers){.n = n}, &latent, mean, NULL);
  for (size_t i = 0; i < n; i++) {
    mean[i] *= f->model->number[OAT_NUMBER_Y_SCALE];
  }
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

double oat_between(double low, double high, double share) {
  return fmin(fmax(low * (1 - share) + high * share, low), high);
}

void oat_spread_evenly(size_t n, double low, double high, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = n > 1 ? oat_between(low, high, (double)i / (double)(n - 1)) : low;
  }
}

/* Its probabilities are added up from the first that matters. */
size_t oat_binomial_quantile(size_t n, double p, double level) {
  const double count = (double)n, reach = 12 * sqrt(count * p * (1 - p)) + 12; /* less than 1e-30 lies below */
  double k = fmax(0, floor(count * p - reach));
  double log_probability =
      lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) + k * log(p) + (count - k) * log1p(-p);
  double sum = exp(log_probability);
  while (sum < level && k < count) {
    log_probability += log((count - k) / (k + 1)) + log(p) - log1p(-p);
    k++;
    sum += exp(log_probability);
  }
  return (size_t)k;
}
