/* See models.h. The isotropic squared-exponential covariance and the paper's five starting knots are the same for both
 * presets; everything else is the paper's (`--preset paper` with its absolute jitter) or oatgp's default. */
#include "models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Where knots and parameters start. */
typedef enum start {
  FIVE_KNOTS, /* k-means, to grow from */
  AS_MANY,    /* k-means, as many as OBVk has */
  OAT_KNOTS,  /* those of OBVk */
  OAT_ALL,    /* those of OBVk and its parameters */
  OWN         /* the full GP, and `oatgp fit --knots 50` */
} start;

typedef struct model_kind {
  const char *name, *meaning, *approx, *kernel, *select;
  start start;
  bool defaults_only;
} model_kind;

static const model_kind kinds[] = {
    {"FGP", "the full GP", "full", "se", "simultaneous", OWN, false},
    {"OBVk", "VFE, one knot at a time, Bayesian optimisation", "vfe", "se", "oat-bo", FIVE_KNOTS, false},
    {"ORVk", "VFE, one knot at a time, best of random rows", "vfe", "se", "oat-rs", FIVE_KNOTS, false},
    {"OBFk", "FIC, one knot at a time, Bayesian optimisation", "fic", "se", "oat-bo", FIVE_KNOTS, false},
    {"SVk", "VFE, all knots at once, from k-means with the K of OBVk", "vfe", "se", "simultaneous", AS_MANY, false},
    {"SVO", "VFE, all knots at once, from the knots of OBVk (parameters start afresh, as in the paper)", "vfe", "se",
     "simultaneous", OAT_KNOTS, false},
    {"SVOp", "the same, from the parameters of OBVk", "vfe", "se", "simultaneous", OAT_ALL, false},
    {"SFk", "FIC, all knots at once, from k-means with the K of OBVk", "fic", "se", "simultaneous", AS_MANY, false},
    {"plain", "`oatgp fit --knots 50`: VFE, a lengthscale for each input, all knots at once", "vfe", "se-ard",
     "simultaneous", OWN, true}};

enum { KINDS = sizeof kinds / sizeof *kinds, QUICK_KNOTS = 12 };

size_t model_count(void) { return KINDS; }
const char *model_name(size_t i) { return kinds[i].name; }
const char *model_meaning(size_t i) { return kinds[i].meaning; }

/* One fit: its start, and the model that it is compared to. The two models belong to the trial of this preset. */
typedef struct job {
  trial *t;
  const model_kind *kind;
  const char *preset;
  const oatgp_model *full, *oat; /* NULL until they are fitted */
} job;

static bool is_paper(const job *j) { return strcmp(j->preset, PAPER) == 0; }

static oatgp_status make_settings(const job *j, oatgp_settings *s) {
  oatgp_status status = OATGP_OK;
  oatgp_settings_default(s);
  s->prior = "none"; /* the evidence alone */
  s->average = 0;
  if (is_paper(j)) {
    TRY(oatgp_settings_set(j->t->ctx, s, "preset", "paper"));
    s->jitter_absolute = j->t->set->jitter;
  }
  s->approx = j->kind->approx;
  s->kernel = j->kind->kernel;
  s->select = j->kind->select;
  s->seed = j->t->run;
  if (j->kind->start == OWN) {
    s->knots = "";
  }
  if (j->t->quick) {
    s->max_knots = QUICK_KNOTS;
    s->candidates = 10;
    s->max_iter = 100;
  }
done:
  return status;
}

static oatgp_status knots_of_model(const job *j, oatgp_data **out) {
  oatgp_model_info info;
  double *knots = NULL;
  oatgp_status status = OATGP_OK;
  oatgp_model_get_info(j->oat, &info);
  TRY(oat_new_matrix(j->t->ctx, info.knots, info.d, &knots));
  TRY(oatgp_model_knots(j->t->ctx, j->oat, knots, NULL, NULL));
  TRY(oatgp_data_create(j->t->ctx, info.knots, info.d, knots, NULL, out));
done:
  free(knots);
  return status;
}

static oatgp_status make_knots(const job *j, oatgp_data **out) {
  oatgp_model_info info;
  switch (j->kind->start) {
    case FIVE_KNOTS:
      return split_knots(j->t->ctx, &j->t->data, START_KNOTS, out);
    case AS_MANY:
      oatgp_model_get_info(j->oat, &info);
      return split_knots(j->t->ctx, &j->t->data, info.knots, out);
    case OAT_KNOTS:
    case OAT_ALL:
      return knots_of_model(j, out);
    default:
      return OATGP_OK;
  }
}

/* ---- the records ----------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(size_t n, double *values) {
  qsort(values, n, sizeof *values, compare);
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

/* The published MNLP: the variance that already includes the noise gets it once more. */
static oatgp_status score_noise_twice(const job *j, const oatgp_model *model, result *row) {
  const size_t n = j->t->data.test_rows;
  const double two_pi = 6.283185307179586;
  double *mean = NULL, *variance = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(j->t->ctx, n, 1, &mean));
  TRY(oat_new_matrix(j->t->ctx, n, 1, &variance));
  TRY(oatgp_predict(j->t->ctx, model, j->t->data.test, &(oatgp_prediction){.mean = mean, .variance = variance}));
  for (size_t i = 0; i < n; i++) {
    const double v = variance[i] + row->number[R_TAU] * row->number[R_TAU], e = j->t->data.test_y[i] - mean[i];
    mean[i] = 0.5 * log(two_pi * v) + 0.5 * e * e / v;
  }
  row->number[R_MNLP_TWICE] = median(n, mean);
done:
  free(mean);
  free(variance);
  return status;
}

static oatgp_status score(const job *j, const oatgp_model *model, result *row) {
  oatgp_scores s;
  const oatgp_status status = oatgp_score(j->t->ctx, model, j->t->data.test, j->full, &s);
  if (status != OATGP_OK) {
    return status;
  }
  row->number[R_TEST_ROWS] = (double)s.n;
  row->number[R_MNLP] = s.mnlp;
  row->number[R_MEAN_NLP] = s.mean_nlp;
  row->number[R_SRMSE] = s.srmse;
  row->number[R_COVERAGE] = s.coverage95;
  if (j->full != NULL) {
    row->number[R_AUKL_LATENT] = log10(s.aukl_latent);
    row->number[R_AUKL_Y] = log10(s.aukl_observation);
  }
  return score_noise_twice(j, model, row);
}

/* The distances between the knots, in lengthscales. */
static oatgp_status look_at_knots(const job *j, const oatgp_model *model, result *row) {
  const double close = 0.01;
  oatgp_model_info info;
  oatgp_model_get_info(model, &info);
  if (info.knots < 2) {
    return OATGP_OK;
  }
  double *knots = NULL, least = INFINITY;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(j->t->ctx, info.knots, info.d, &knots));
  TRY(oatgp_model_knots(j->t->ctx, model, knots, NULL, NULL));
  row->number[R_KNOTS_CLOSE] = 0;
  for (size_t a = 0; a < info.knots; a++) {
    double nearest = INFINITY;
    for (size_t b = 0; b < info.knots; b++) {
      double sum = 0;
      for (size_t i = 0; i < info.d; i++) {
        const double l = info.lengthscales[info.lengthscale_count > 1 ? i : 0] * info.input_scale[i];
        sum += pow((knots[a * info.d + i] - knots[b * info.d + i]) / l, 2);
      }
      nearest = a == b ? nearest : fmin(nearest, sqrt(sum));
    }
    row->number[R_KNOTS_CLOSE] += nearest < close;
    least = fmin(least, nearest);
  }
  row->number[R_CLOSEST] = least;
done:
  free(knots);
  return status;
}

static void note_model(const oatgp_model_info *info, result *row) {
  row->number[R_ROWS] = (double)info->n;
  row->number[R_KNOTS] = info->knots > 0 ? (double)info->knots : NAN;
  row->number[R_OBJECTIVE] = info->objective;
  row->number[R_SECONDS] = info->seconds;
  row->number[R_EVALUATIONS] = (double)info->evaluations;
  row->number[R_ITERATIONS] = (double)info->iterations;
  row->number[R_SIGMA] = info->sigma;
  row->number[R_LENGTHSCALE] = info->lengthscale_count == 1 ? info->lengthscales[0] : NAN;
  row->number[R_TAU] = info->tau;
  row->number[R_JITTER] = info->jitter_absolute > 0 ? info->jitter_absolute : info->jitter * info->sigma * info->sigma;
}

/* The steps of a growing fit. The columns of `selection` are in oatgp.h. */
static oatgp_status note_growth(const job *j, const oatgp_model_info *info, result *row) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; status == OATGP_OK && i < info->selection_count; i++) {
    const double *step = info->selection + i * (8 + info->d);
    row->number[R_LEAST_GAIN] = fmin(row->number[R_LEAST_GAIN], step[4]); /* of NaN and a number, the number */
    if (step[0] > 0) {
      const growth g = {.key = row->key, .knots = (int)step[1], .objective = step[2], .seconds = step[7]};
      status = results_add_growth(&j->t->found, &g);
    }
  }
  return status;
}

static oatgp_status note_fit(const job *j, const oatgp_model *model) {
  oatgp_model_info info;
  result row = {.key = {.run = j->t->run}};
  oatgp_model_get_info(model, &info);
  snprintf(row.key.set, sizeof row.key.set, "%s", j->t->set->name);
  snprintf(row.key.model, sizeof row.key.model, "%s", j->kind->name);
  snprintf(row.key.preset, sizeof row.key.preset, "%s", j->preset);
  snprintf(row.stop, sizeof row.stop, "%s", oatgp_stop_word(info.stop));
  for (size_t i = 0; i < R_NUMBERS; i++) {
    row.number[i] = NAN;
  }
  oatgp_status status = OATGP_OK;
  note_model(&info, &row);
  TRY(score(j, model, &row));
  TRY(look_at_knots(j, model, &row));
  TRY(note_growth(j, &info, &row));
  TRY(results_add(&j->t->found, &row));
  fprintf(stderr, "%-8s run %d  %-5s %-8s  K %3.0f  objective %.3f  SRMSE %.4f  %.2f s\n", row.key.set, row.key.run,
          row.key.model, row.key.preset, isnan(row.number[R_KNOTS]) ? 0 : row.number[R_KNOTS], row.number[R_OBJECTIVE],
          row.number[R_SRMSE], row.number[R_SECONDS]);
done:
  return status;
}

static oatgp_status fit(const job *j, oatgp_model **out) {
  oatgp_settings settings;
  oatgp_data *knots = NULL;
  char lengthscale[40];
  oatgp_status status = OATGP_OK;
  TRY(make_settings(j, &settings));
  TRY(make_knots(j, &knots));
  if (j->kind->start == OAT_ALL) {
    oatgp_model_info info;
    oatgp_model_get_info(j->oat, &info);
    snprintf(lengthscale, sizeof lengthscale, "%.17g", info.lengthscales[0]);
    settings.sigma = info.sigma;
    settings.tau = info.tau;
    settings.lengthscale = lengthscale;
  }
  TRY(oatgp_fit(j->t->ctx, j->t->data.train, &settings, knots, NULL, NULL, out));
done:
  oatgp_data_free(knots);
  return status;
}

/* ---- all models ------------------------------------------------------------------------------------------------ */

/* The models that others start from or are compared to, kept as long as they are needed. */
typedef struct kept {
  oatgp_model *full, *oat;
} kept;

static bool wanted(const trial *t, const model_kind *kind, const char *preset) {
  const bool paper = strcmp(preset, PAPER) == 0, full = strcmp(kind->approx, "full") == 0;
  return !(paper && (kind->defaults_only || (full && !t->set->small)));
}

static oatgp_status run_preset(trial *t, const char *preset, kept *k) {
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < KINDS && status == OATGP_OK; i++) {
    if (!wanted(t, &kinds[i], preset)) {
      continue;
    }
    const bool full = strcmp(kinds[i].name, "FGP") == 0, oat = strcmp(kinds[i].name, "OBVk") == 0;
    const job j = {t, &kinds[i], preset, full ? NULL : k->full, oat ? NULL : k->oat};
    oatgp_model *model = NULL;
    TRY(fit(&j, &model));
    status = note_fit(&j, model);
    oatgp_model **keep = full ? &k->full : &k->oat;
    if (full || oat) {
      oatgp_model *old = *keep;
      *keep = model;
      model = old;
    }
    oatgp_model_free(model);
  }
done:
  return status;
}

/* The defaults come first: if the paper's optimiser has no full GP, theirs is used for the comparison. */
oatgp_status trial_run(trial *t) {
  kept k = {0};
  oatgp_status status = OATGP_OK;
  TRY(run_preset(t, DEFAULTS, &k));
  TRY(run_preset(t, PAPER, &k));
done:
  oatgp_model_free(k.full);
  oatgp_model_free(k.oat);
  return status;
}
