/* The results. results.csv: one row for each set, run, model and preset; growth.csv: the knots of the growing fits;
 * facts.csv: single numbers by name; about.csv: how they were obtained. The pages are computed from these alone, so
 * they can be made again without fitting anything. */
#ifndef EXPERIMENTS_RESULTS_H
#define EXPERIMENTS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "oatgp.h"

/* Columns that are numbers. knots_close: those within 1 % of a lengthscale of another knot; closest: the least distance
 * of two knots in lengthscales; least_gain: the least gain of a proposed knot at fixed parameters. */
#define RESULT_NUMBERS(X)             \
  X(ROWS, "rows")                     \
  X(TEST_ROWS, "test_rows")           \
  X(KNOTS, "knots")                   \
  X(OBJECTIVE, "objective")           \
  X(MNLP, "mnlp")                     \
  X(MNLP_TWICE, "mnlp_noise_twice")   \
  X(MEAN_NLP, "mean_nlp")             \
  X(SRMSE, "srmse")                   \
  X(AUKL_LATENT, "log10_aukl_latent") \
  X(AUKL_Y, "log10_aukl_y")           \
  X(COVERAGE, "coverage95")           \
  X(SECONDS, "seconds")               \
  X(EVALUATIONS, "evaluations")       \
  X(ITERATIONS, "iterations")         \
  X(SIGMA, "sigma")                   \
  X(LENGTHSCALE, "lengthscale")       \
  X(TAU, "tau")                       \
  X(JITTER, "jitter")                 \
  X(CLOSEST, "closest_knots")         \
  X(KNOTS_CLOSE, "knots_close")       \
  X(LEAST_GAIN, "least_gain")

enum {
#define X(name, text) R_##name,
  RESULT_NUMBERS(X)
#undef X
      R_NUMBERS
};

enum { NAME_LENGTH = 24 };

/* Identifies the fit. */
typedef struct key {
  char set[NAME_LENGTH], model[NAME_LENGTH], preset[NAME_LENGTH];
  int run;
} key;

typedef struct result {
  key key;
  char stop[NAME_LENGTH];   /* why the fit ended */
  double number[R_NUMBERS]; /* NaN where there is none */
} result;

typedef struct fact {
  char name[64];
  double value;
} fact;

/* A kept knot of a growing fit: the state of the fit at that point, and the time. */
typedef struct growth {
  key key;
  int knots;
  double objective, seconds;
} growth;

typedef struct results {
  oatgp_context *ctx;
  char commit[128], machine[256];
  result *row;
  size_t count, capacity;
  fact *facts;
  size_t fact_count, fact_capacity;
  growth *grown;
  size_t grown_count, grown_capacity;
} results;

void results_free(results *r);
oatgp_status results_add(results *r, const result *row);
oatgp_status results_add_growth(results *r, const growth *step);
/* Sets a fact, even if it already exists. */
oatgp_status results_set_fact(results *r, const char *name, double value);
double results_fact(const results *r, const char *name); /* NaN if it does not exist */

/* Writes and reads the four files in a folder. */
oatgp_status results_write(const results *r, const char *folder);
oatgp_status results_read(results *r, const char *folder);

/* Which rows: NULL for any model. */
typedef struct pick {
  const char *set, *model, *preset;
} pick;

/* The row, or NULL. */
const result *results_row(const results *r, pick p, int run);
bool results_has(const results *r, pick p);
/* Over the runs; NaN without rows, or when a value is NaN. */
double results_mean(const results *r, pick p, int number);
double results_least(const results *r, pick p, int number);
double results_most(const results *r, pick p, int number);
/* Time and objective when a growing fit had so many knots; false if there is no such step. */
bool results_grown(const results *r, pick p, int run, growth *step);

#endif
