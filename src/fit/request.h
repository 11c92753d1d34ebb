/* What a fit is asked for. The public functions check their arguments first. */
#ifndef OAT_REQUEST_H
#define OAT_REQUEST_H

#include "model/model.h"

/* A fit, as the public function got it; settings_text has all settings as lines. */
typedef struct oat_fit_request {
  const oatgp_data *data;
  const oatgp_settings *settings;
  const oatgp_data *knots; /* or NULL */
  oatgp_monitor_fn monitor;
  void *user;
  const char *settings_text;
  const oatgp_model *from; /* a model to begin with, or NULL */
  bool unscored;           /* one of many: no advice before it and no leave-one-out scores at the end */
} oat_fit_request;

oatgp_status oat_fit(oatgp_context *ctx, const oat_fit_request *request, oatgp_model **out);
oatgp_status oat_evaluate(oatgp_context *ctx, const oatgp_data *data, const oatgp_settings *settings, const oatgp_data *knots,
                          int with_gradient, oatgp_evaluation *out);

#endif
