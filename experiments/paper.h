/* The paper's experiments: Garton, Niemi and Carriquiry, Knot Selection in Sparse Gaussian Processes with a Variational
 * Objective Function (2020). Everything is fitted, predicted and scored by the public functions of oatgp.h. */
#ifndef EXPERIMENTS_PAPER_H
#define EXPERIMENTS_PAPER_H

#include "plot/plot.h"
#include "results.h"

typedef struct options {
  const char *data, *out, *project; /* folders: of more data (may be NULL), of the results, of oatgp's sources */
  const char *commit, *machine;     /* for the head of the pages */
  int workers;                      /* fits that run at the same time, each on one thread */
  bool quick, report;               /* report: only make the pages again, from existing results */
  bool splits;                      /* print the rows and starting knots of all runs, and nothing else */
} options;

/* The two ways in which each model is fitted. */
#define PAPER "paper"
#define DEFAULTS "defaults"

/* ---- the sets and their models (sets.c, models.c, run.c) ------------------------------------------------------- */

typedef struct set_info {
  const char *name, *title;
  double share;  /* of the rows to train with */
  double jitter; /* the paper's, absolute */
  bool small;    /* the full GP by ADADELTA is a matter of minutes */
  const char *page, *convert;
} set_info;

enum { SETS = 3, RUNS = 5, QUICK_RUNS = 2 };
extern const set_info sets[SETS];

/* Prints training rows (from 1) and scaled starting knots of all sets that are there. */
oatgp_status print_splits(const options *o, oatgp_context *ctx);
/* Finds the file of a set; false if there is none. */
bool set_find(const options *o, const set_info *set, char *path, size_t size);

enum { PAPER_MODELS = 6 }; /* the first ones are those of the paper's figures */
size_t model_count(void);
const char *model_name(size_t i);
const char *model_meaning(size_t i);

/* Fits everything and adds the rows; reports on standard error. */
oatgp_status run_sets(const options *o, results *r);

/* ---- experiments without a data set: each adds its facts ------------------------------------------------------- */

oatgp_status make_figure1(const options *o, results *r, oat_figure **out);
oatgp_status make_figure2(const options *o, results *r, oat_figure **out);
oatgp_status measure_scaling(const options *o, results *r);
oatgp_status count_boston(const options *o, results *r);

/* Table 1: for each sparse model, by how much its prior moments differ from the full GP's. */
enum { MOMENTS = 5, PRIORS = 6 };
extern const char *const moment_names[MOMENTS];
extern const char *const prior_names[PRIORS];
oatgp_status measure_priors(oatgp_context *ctx, double difference[PRIORS][MOMENTS]);

/* ---- figures 3 to 5 and the pages ------------------------------------------------------------------------------ */

oatgp_status make_metrics_figure(const results *r, const set_info *set, oat_figure **out);
/* tables.md, index.html and the figures. */
oatgp_status write_report(const options *o, results *r);

#endif
