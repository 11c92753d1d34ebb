/* Requests to src/fit. The public functions check their arguments first. */
#ifndef OAT_REQUEST_H
#define OAT_REQUEST_H

#include "model/model.h"

/* The choice of --kernel auto. */
typedef struct oat_chosen {
  char *kernel, *candidates; /* candidates: a line for each, with a tab and its score behind the kernel */
  double seconds;
} oat_chosen;

/* A fit, as the public function got it; settings_text has all settings as lines. */
typedef struct oat_fit_request {
  const oatgp_data *data;
  const oatgp_settings *settings;
  const oatgp_data *knots; /* or NULL */
  oatgp_monitor_fn monitor;
  void *user;
  const char *settings_text;
  const oatgp_model *from;  /* a model to begin with, or NULL */
  bool unscored;            /* one of many fits: no advice before it and no leave-one-out scores at the end */
  const oat_chosen *chosen; /* where the settings' kernel was auto, else NULL */
} oat_fit_request;

oatgp_status oat_fit(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out);
oatgp_status oat_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings,
                          const oatgp_data *knots, int with_gradient, oatgp_evaluation *out);

/* Cross-validation with a fit for every fold. The fit has the data, settings (its checkpoint and resume empty), knots
 * and settings_text; watch may be NULL. */
oatgp_status oat_cv(oatgp_context *ctx, const oat_fit_request *fit, const oatgp_cv_watch *watch,
                    const oatgp_held_out_sd *rows, oatgp_scores *scores);

/* Adds the rows to the sums of a sparse model and solves again: O(n K^2 + K^3). A failure leaves the model as it
 * was. */
oatgp_status oat_update(oatgp_context *ctx, oatgp_model *model, const oatgp_data *data);
/* Removes rows from the full GP, numbered from 0 in the order in which they were added. A failure leaves it
 * unchanged. */
oatgp_status oat_remove_rows(oatgp_context *ctx, oatgp_model *model, size_t count, const size_t *rows);
/* Continues the fit of request->from, with the settings of that fit, except for limits and the machine, which
 * request->settings gives. */
oatgp_status oat_refit(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out);

#endif
