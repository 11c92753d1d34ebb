/* --kernel auto: chooses the covariance from the data.
 *
 * The candidates, in this order: se-ard, matern52-ard and matern32-ard; with several inputs, a sum of one curve for
 * each, and that sum plus the best of the three; with one input, a trend and a season. Categories multiply each, as
 * with a named kernel. Each candidate is the exact GP of the same rows, at most MOST_ROWS of them, with the parameters
 * that an automatic fit finds. A candidate replaces the best before it if its mean leave-one-out log density is higher
 * by more than LEAST, by more than ERRORS standard errors of the difference, and in total by more than NATS for each
 * additional parameter, because the parameters were fitted to the same rows. A season must also gain the logarithm of
 * the number of rows, because its period was searched for among about that many frequencies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/fit.h"
#include "predict/predict.h"
#include "text/number.h"
#include "util/clock.h"
#include "util/ranks.h"

#define LEAST 0.005 /* nats a row */
#define ERRORS 2.0
#define NATS 2.0
#define TIME_SHARE 0.5 /* share of the time limit for the choice */
#define TOLERANCE 1e-3 /* nats: the objective of a candidate */
enum { MOST_ROWS = 500, MOST_SUMMANDS = 20, LONGEST_LINE = 40 };

typedef enum form { SE, MATERN52, MATERN32, SUM, SUM_AND_JOINT, SEASON, FORMS } form;

static const char *const by_name[] = {[SE] = "se-ard", [MATERN52] = "matern52-ard", [MATERN32] = "matern32-ard"};

typedef struct choosing {
  oatgp_context *ctx, quiet; /* `quiet`: drops the messages of candidates */
  oat_scratch memory;
  const oat_fit_request *request;
  oatgp_data *some;        /* the rows */
  oatgp_settings settings; /* of a candidate */
  double began, deadline;  /* deadline 0: none */
  bool stopped;            /* by the user */
  form best, joint;
  double *nlp, *best_nlp; /* of the rows */
  double mean[FORMS];     /* of nlp for each form, NaN if there is none */
  double parameters[FORMS];
  char *name[FORMS]; /* the kernels, as models have them */
} choosing;

/* ---- texts ----------------------------------------------------------------------------------------------------- */

/* A text under construction, in a buffer that is large enough. */
typedef struct writing {
  char *text;
  size_t used, room;
} writing;

static void write_words(writing *w, const char *words) {
  w->used += (size_t)snprintf(w->text + w->used, w->room - w->used, "%s", words);
}

/* se("name") */
static void write_leaf(writing *w, const char *leaf, const char *input) {
  write_words(w, leaf);
  write_words(w, "(");
  w->used += oat_quote_name(input, w->text + w->used);
  write_words(w, ")");
}

/* The leaf of a kernel by name, over all inputs. */
static void write_joint(writing *w, form of) {
  w->used +=
      (size_t)snprintf(w->text + w->used, w->room - w->used, "%.*s()", (int)strcspn(by_name[of], "-"), by_name[of]);
}

static void write_sum(writing *w, const oatgp_data *data, const oat_scaling *scaling) {
  const size_t before = w->used;
  for (size_t j = 0; j < scaling->d; j++) {
    if (!scaling->category[j]) {
      write_words(w, w->used > before ? " + " : "");
      write_leaf(w, "se", data->names[scaling->column[j]]);
    }
  }
}

static void write_season(writing *w, const oatgp_data *data, const oat_scaling *scaling) {
  size_t j = 0;
  while (scaling->category[j]) {
    j++;
  }
  const char *name = data->names[scaling->column[j]];
  write_leaf(w, "se", name);
  write_words(w, " + ");
  write_leaf(w, "periodic", name);
  write_words(w, " * ");
  write_leaf(w, "se", name);
}

static size_t count_numbers(const oat_scaling *scaling) {
  size_t numbers = 0;
  for (size_t j = 0; j < scaling->d; j++) {
    numbers += scaling->category[j] ? 0 : 1;
  }
  return numbers;
}

/* The form as an expression of the inputs. */
static void write_expression(const choosing *c, form of, const oatgp_data *data, const oat_scaling *scaling,
                             writing *w) {
  write_words(w, "(");
  if (of == SEASON) {
    write_season(w, data, scaling);
  } else {
    write_sum(w, data, scaling);
  }
  if (of == SUM_AND_JOINT) {
    write_words(w, " + ");
    write_joint(w, c->joint);
  }
  write_words(w, ")");
  for (size_t j = 0; j < scaling->d; j++) {
    if (scaling->category[j]) {
      write_words(w, " * ");
      write_leaf(w, "categorical", data->names[scaling->column[j]]);
    }
  }
}

/* The kernel of a form for the inputs of the data that vary. "" if the form does not suit them. */
static oatgp_status text_of(choosing *c, form of, const oatgp_data *data, char **out) {
  oat_scaling scaling = {0};
  oatgp_status status;
  TRY(oat_scaling_make(&c->quiet, data, false, &scaling));
  const size_t numbers = count_numbers(&scaling);
  const bool fits =
      of == SEASON ? numbers == 1 : of == SE || (of < SUM ? numbers > 0 : numbers > 1 && numbers <= MOST_SUMMANDS);
  writing w = {.room = 64};
  for (size_t j = 0; j < data->d; j++) {
    w.room += 64 + 6 * strlen(data->names[j]);
  }
  TRY(oat_new(&c->quiet, w.room, 1, &w.text));
  *out = w.text;
  if (fits && of < SUM) {
    write_words(&w, by_name[of]);
  } else if (fits) {
    write_expression(c, of, data, &scaling, &w);
  }
done:
  oat_scaling_clear(&scaling);
  return status;
}

/* ---- a candidate ----------------------------------------------------------------------------------------------- */

/* Forwards the steps on a subset to the user's monitor, which may stop them. */
static int watch(void *self, const oatgp_event *event) {
  choosing *c = self;
  const oat_fit_request *request = c->request;
  oatgp_event told = *event;
  told.seconds = oat_seconds() - c->began;
  if (event->kind == OATGP_EVENT_SUBSET && request->monitor != NULL && request->monitor(request->user, &told) != 0) {
    c->stopped = true;
  }
  return c->stopped;
}

static void set_up(choosing *c) {
  const oatgp_settings *given = c->request->settings;
  oatgp_settings *own = &c->settings;
  oatgp_settings_default(own);
  own->scale = given->scale;
  own->mean = given->mean;
  own->sigma = given->sigma;
  own->tau = given->tau;
  own->lengthscale = given->lengthscale;
  own->fix = given->fix;
  own->prior = given->prior;
  own->guard = given->guard;
  own->seed = given->seed;
  own->threads = given->threads;
  own->device = given->device;
  own->approx = "full";
  own->obj_tol = TOLERANCE;
  own->max_iter = OAT_SUBSET_ITERATIONS;
  own->average = 0;
  c->quiet = *c->ctx;
  c->quiet.message = NULL;
  c->quiet.kept = (oat_kept){0};
}

/* The same rows for every candidate. */
static oatgp_status take_rows(choosing *c) {
  const oatgp_data *data = c->request->data;
  const oatgp_settings *given = c->request->settings;
  const size_t wanted = given->subset_rows < MOST_ROWS ? (size_t)given->subset_rows : MOST_ROWS,
               n = data->n < wanted ? data->n : wanted;
  size_t *row = oat_take(&c->memory, n, sizeof *row);
  oat_rng rng;
  PASS_ON(c->memory.status);
  oat_rng_seed(&rng, (uint64_t)given->seed);
  oat_rng_sample(&rng, data->n, n, row);
  for (size_t i = 0; n == data->n && i < n; i++) {
    row[i] = i;
  }
  c->nlp = oat_take_doubles(&c->memory, n, 1);
  c->best_nlp = oat_take_doubles(&c->memory, n, 1);
  PASS_ON(c->memory.status);
  return oatgp_data_select(c->ctx, data, n, row, &c->some);
}

/* The number of parameters of the covariance, without the noise. */
static double count_parameters(const oatgp_model *model) {
  const oat_expression *expression = model->kernel->expression;
  return expression != NULL ? (double)expression->parameters : 1 + (double)model->d;
}

/* Fits it and predicts each row without itself. Leaves its mean unset if the time is over before it is fitted. */
static oatgp_status fit_candidate(choosing *c, form of, const char *text) {
  const oat_fit_request request = {
      .data = c->some, .settings = &c->settings, .monitor = watch, .user = c, .settings_text = "", .unscored = true};
  oatgp_model *model = NULL;
  oatgp_scores scores = {0};
  oatgp_status status;
  c->settings.kernel = text;
  c->settings.time_limit = c->deadline > 0 ? fmax(c->deadline - oat_seconds(), 1e-9) : 0;
  TRY(oat_fit(&c->quiet, &request, &model));
  c->stopped = oat_ranks_any(c->stopped);
  if (of != SE && (c->stopped || model->number[OAT_NUMBER_STOP] == OATGP_STOP_TIME)) {
    goto done;
  }
  TRY(oat_loo_report(&c->quiet, model, c->some, &(oatgp_held_out_sd){.nlp = c->nlp}, &scores));
  c->mean[of] = scores.mean_nlp;
  c->parameters[of] = count_parameters(model);
  c->name[of] = oat_take_text(&c->memory, model->kernel->name);
  TRY(c->memory.status);
done:
  oatgp_model_free(model);
  return status;
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

/* Whether the leave-one-out density of the latest candidate is better by more than chance. */
static bool is_better(const choosing *c, form of) {
  const double n = (double)c->some->n, gain = c->mean[c->best] - c->mean[of];
  double square = 0;
  for (size_t i = 0; i < c->some->n; i++) {
    const double apart = c->best_nlp[i] - c->nlp[i] - gain;
    square += apart * apart;
  }
  const double more = fmax(NATS * (c->parameters[of] - c->parameters[c->best]), 0) + (of == SEASON ? log(n) : 0);
  return gain > fmax(LEAST, more / n) && gain > ERRORS * sqrt(square / n / fmax(n - 1, 1));
}

static void take(choosing *c, form of) {
  c->best = of;
  c->joint = of < SUM ? of : c->joint;
  memcpy(c->best_nlp, c->nlp, c->some->n * sizeof *c->nlp);
}

/* A candidate that cannot be fitted is skipped, except the first: it is the default kernel, and if it fails, the fit
 * fails. */
static oatgp_status try_form(choosing *c, form of) {
  char *text = NULL;
  oatgp_status status;
  TRY(text_of(c, of, c->some, &text));
  if (*text == '\0') {
    goto done;
  }
  status = fit_candidate(c, of, text);
  if (of == SE && status == OATGP_OK) {
    take(c, of);
  } else if (status == OATGP_OK && !isnan(c->mean[of]) && is_better(c, of)) {
    take(c, of);
  }
  status = of == SE || status == OATGP_MEMORY ? status : OATGP_OK;
done:
  free(text);
  return status;
}

static oatgp_status try_all(choosing *c) {
  oatgp_status status = OATGP_OK;
  for (form of = SE; status == OATGP_OK && of < FORMS; of++) {
    c->mean[of] = NAN;
    const bool late = c->stopped || (c->deadline > 0 && oat_ranks_first(oat_seconds() > c->deadline));
    status = of == SE || !late ? try_form(c, of) : OATGP_OK;
  }
  return status == OATGP_OK ? OATGP_OK : oat_fail(c->ctx, status, "%s", c->quiet.error);
}

/* A line for each candidate: its kernel, a tab and its mean leave-one-out NLP. */
static oatgp_status write_table(choosing *c, char **out) {
  oat_plain plain = {0};
  writing w = {.room = 1};
  oatgp_status status;
  for (form of = SE; of < FORMS; of++) {
    w.room += c->name[of] != NULL ? strlen(c->name[of]) + LONGEST_LINE : 0;
  }
  TRY(oat_plain_begin(c->ctx, &plain));
  TRY(oat_new(c->ctx, w.room, 1, &w.text));
  for (form of = SE; of < FORMS; of++) {
    if (c->name[of] != NULL) {
      w.used += (size_t)snprintf(w.text + w.used, w.room - w.used, "%s\t%.6g\n", c->name[of], c->mean[of]);
    }
  }
  *out = w.text;
done:
  oat_plain_end(&plain);
  return status;
}

static void tell(const choosing *c) {
  size_t others = 0;
  for (form of = MATERN52; of < FORMS; of++) {
    others += c->name[of] != NULL;
  }
  if (c->request->unscored) {
    return;
  }
  if (c->best == SE) {
    oat_say(c->ctx, OATGP_NOTE,
            "kernel auto keeps %s: none of %zu others predicts held-out rows clearly better (exact GP of %zu rows)",
            c->name[SE], others, c->some->n);
  } else {
    oat_say(c->ctx, OATGP_NOTE,
            "kernel auto chose %s: held-out rows have a mean nlp of %.4g, against %.4g with %s (exact GP of %zu rows, "
            "%zu kernels compared)",
            c->name[c->best], c->mean[c->best], c->mean[SE], c->name[SE], c->some->n, others + 1);
  }
}

static oatgp_status choose(choosing *c, oat_chosen *chosen) {
  const oatgp_settings *given = c->request->settings;
  oatgp_status status;
  c->deadline = given->time_limit > 0 ? c->began + TIME_SHARE * given->time_limit : 0;
  set_up(c);
  TRY(take_rows(c));
  TRY(try_all(c));
  TRY(write_table(c, &chosen->candidates));
  TRY(text_of(c, c->best, c->request->data, &chosen->kernel));
  tell(c);
done:
  oat_context_drop(&c->quiet);
  oatgp_data_free(c->some);
  oat_scratch_free(&c->memory);
  return status;
}

/* Once the user has stopped the choice, the fit ends at its first step. */
static int watch_rest(void *self, const oatgp_event *event) {
  const choosing *c = self;
  const bool stop = c->request->monitor != NULL && c->request->monitor(c->request->user, event) != 0;
  return stop || c->stopped;
}

oatgp_status oat_fit_choosing(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out) {
  choosing c = {.ctx = ctx, .memory = {.ctx = ctx}, .request = request, .began = oat_seconds()};
  oat_fit_request rest = *request;
  oatgp_settings settings = *request->settings;
  oat_chosen chosen = {0};
  oatgp_status status;
  TRY(*settings.resume != '\0' ? oat_checkpoint_chosen(ctx, settings.resume, &chosen) : choose(&c, &chosen));
  chosen.seconds = oat_seconds() - c.began;
  settings.kernel = chosen.kernel;
  rest.settings = &settings;
  rest.chosen = &chosen;
  rest.monitor = watch_rest;
  rest.user = &c;
  TRY(oat_fit(ctx, &rest, out));
  (*out)->text[OAT_TEXT_CANDIDATES] = chosen.candidates;
  chosen.candidates = NULL;
done:
  free(chosen.kernel);
  free(chosen.candidates);
  return status;
}
