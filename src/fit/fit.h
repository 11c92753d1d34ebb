/* A running fit: shared by fit.c (the pipeline), events.c (what is reported and recorded) and checkpoint.c (what is
 * saved). */
#ifndef OAT_FIT_H
#define OAT_FIT_H

#include "fit/request.h"
#include "fit/setup.h"
#include "knots/strategy.h"

/* Evaluates at the point and builds the model there. The caller fills in the fingerprint of the data and what the
 * optimiser did. */
oatgp_status oat_model_build(oatgp_context *ctx, const oat_setup *setup, oat_objective *objective,
                             const oat_point *point, oatgp_model **out);

/* A string that identifies data: a hash of inputs, target, weights and noise variances. */
#define OAT_FINGERPRINT 32
oatgp_status oat_fingerprint(oatgp_context *ctx, const oatgp_data *data, char *text);

/* The same for an updated model, from its previous fingerprint and the new rows. */
oatgp_status oat_chain_fingerprint(oatgp_context *ctx, const oatgp_model *model, const oatgp_data *data, char *text);
/* Swaps the contents of the two models. */
void oat_change_places(oatgp_model *model, oatgp_model *other);
/* The full GP with further rows: what oat_update does for it. */
oatgp_status oat_update_full(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data);

/* A growing table of numbers, row by row. */
typedef struct oat_log {
  double *row;
  size_t width, count, capacity; /* in rows */
} oat_log;

enum { OAT_HISTORY_WIDTH = 3 };

/* The record of what was tried, by iteration and by knot. */
typedef struct oat_trail {
  oat_log history;   /* evaluations, objective, seconds */
  oat_log selection; /* OAT_SELECTION_WIDTH numbers and the position, see model.h */
} oat_trail;

/* The best of all starts. */
typedef struct oat_best {
  double value;
  size_t k;
  bool exact;        /* the model is the exact GP at the point's parameters */
  size_t neighbours; /* of a fitc model; 0: the model has knots alone */
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
  oat_point start;      /* of the present start */
  bool started;         /* the present start has reported */
  double began;         /* on the clock, minus the time of earlier parts of a resumed fit */
  double saved;         /* when the checkpoint was written */
  oatgp_status trouble; /* the status of the latest report */
  double restart, iterations, evaluations, rejected; /* the three counts cover all starts before this one */
  oat_best best;
  oat_trail trail;
  double *positions;                 /* scratch for events */
  oatgp_parameter *parameters;       /* the same, for an expression */
  oatgp_parameter *own;              /* and for the likelihood's own */
  char fingerprint[OAT_FINGERPRINT]; /* of the data */
} oat_fit_run;

/* The search's report: records, tells the monitor, saves the checkpoint when it is due. */
bool oat_fit_report(void *self, const oat_search *search, oat_search_event event);
/* Reports the end to the monitor. */
void oat_fit_tell_end(oat_fit_run *fit);
double oat_fit_seconds(const oat_fit_run *fit);

/* The fit as it is now, into settings->checkpoint. */
oatgp_status oat_checkpoint_write(oat_fit_run *fit);
/* Restores the fit from settings->resume; the data and all settings except time limits must be the same. */
oatgp_status oat_checkpoint_read(oat_fit_run *fit);
/* The choice of --kernel auto in a checkpoint; the caller frees the texts. */
oatgp_status oat_checkpoint_chosen(oatgp_context *ctx, const char *path, oat_chosen *chosen);

/* A fit with --kernel auto: chooses the kernel and fits with it. */
oatgp_status oat_fit_choosing(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out);

/* Refuses a fit that cannot be averaged, if the setting asks for it. */
oatgp_status oat_average_check(oatgp_context *ctx, const oat_setup *setup);
/* Makes the model an average over as many draws of its parameters as the setting says. */
oatgp_status oat_average(oat_fit_run *fit, oatgp_model *model);

/* Warns of unusual data: a constant target, more inputs than rows, rows that differ only in the target (which shows
 * what the noise should be), numbers far from all others. It never stops the fit. It checks the first million rows. O(n
 * (d + log n)). */
oatgp_status oat_advise(oatgp_context *ctx, const oat_setup *setup);

#endif
