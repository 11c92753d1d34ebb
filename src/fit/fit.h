/* A fit as it runs: shared by fit.c (the pipeline), events.c (what is told and recorded) and checkpoint.c (what is saved). */
#ifndef OAT_FIT_H
#define OAT_FIT_H

#include "fit/request.h"
#include "fit/setup.h"
#include "knots/strategy.h"

/* Evaluates at the point and makes the model there. What the optimiser did is left to the caller to fill in. */
oatgp_status oat_model_build(oatgp_context *ctx, const oat_setup *setup, oat_objective *objective, const oat_point *point,
                             oatgp_model **out);

/* A text that tells data apart: a hash of inputs, target, weights and noise variances. */
#define OAT_FINGERPRINT 32
void oat_fingerprint(const oatgp_data *data, int threads, char *text);

/* Tells updated models apart, as it does data: from what the model was and the new rows. */
void oat_chain_fingerprint(const oatgp_model *model, const oatgp_data *data, int threads, char *text);
/* The full GP with further rows: what oat_update does for it. */
oatgp_status oat_update_full(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data);

/* Rows of numbers that grow. */
typedef struct oat_log {
  double *row;
  size_t width, count, capacity; /* in rows */
} oat_log;

enum { OAT_HISTORY_WIDTH = 3 };

/* What was tried, iteration by iteration and knot by knot. */
typedef struct oat_trail {
  oat_log history;   /* evaluations, objective, seconds */
  oat_log selection; /* OAT_SELECTION_WIDTH numbers and the position, see model.h */
} oat_trail;

/* The best of all starts. */
typedef struct oat_best {
  double value;
  size_t k;
  bool exact;        /* it is the exact GP at the point's parameters */
  size_t neighbours; /* of a fitc model, which it is if there are any */
  oat_point point;
  oatgp_stop stop;
  oat_trail trail;
} oat_best;

typedef struct oat_fit_run {
  oatgp_context *ctx;
  oat_scratch memory;
  const oat_fit_request *request;
  oat_setup setup;
  oat_objective *objective;
  oat_search search;
  oat_point start;                                   /* of the present start */
  bool started;                                      /* the present start has reported */
  double began;                                      /* on the clock, earlier parts of a resumed fit taken off */
  double saved;                                      /* when the checkpoint was written */
  oatgp_status trouble;                              /* of a report */
  double restart, iterations, evaluations, rejected; /* the counts: of all starts before this one */
  oat_best best;
  oat_trail trail;
  double *positions;                 /* scratch for events */
  oatgp_parameter *parameters;       /* the same, for an expression */
  oatgp_parameter *own;              /* and for the likelihood's own */
  char fingerprint[OAT_FINGERPRINT]; /* of the data; made for the first checkpoint */
} oat_fit_run;

/* The search's report: records, tells the monitor, saves the checkpoint when it is due. */
bool oat_fit_report(void *self, const oat_search *search, oat_search_event event);
/* Tells the monitor of the end. */
void oat_fit_tell_end(oat_fit_run *fit);
double oat_fit_seconds(const oat_fit_run *fit);

/* The fit as it is now, into settings->checkpoint. */
oatgp_status oat_checkpoint_write(oat_fit_run *fit);
/* Puts the fit where settings->resume left it; the data and all settings but limits of time must be the same. */
oatgp_status oat_checkpoint_read(oat_fit_run *fit);
/* The choice of --kernel auto in a checkpoint; the caller frees the texts. */
oatgp_status oat_checkpoint_chosen(oatgp_context *ctx, const char *path, oat_chosen *chosen);

/* A fit with --kernel auto: chooses the kernel, and fits with it. */
oatgp_status oat_fit_choosing(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out);

/* What the data suggest that the user should know: a constant target, more inputs than rows, rows that differ in the target
 * alone (what the noise should be), numbers far from all others. It warns and never stops the fit. Looks at the first million rows. O(n (d + log n)). */
oatgp_status oat_advise(oatgp_context *ctx, const oat_setup *setup);

#endif
