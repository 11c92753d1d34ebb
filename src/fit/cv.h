/* Cross-validation with a fit for every fold. */
#ifndef OAT_CV_H
#define OAT_CV_H

#include "fit/request.h"

/* The fit has the data, settings (its checkpoint and resume empty), knots and settings_text; watch may be NULL. */
oatgp_status oat_cv(oatgp_context *ctx, const oat_fit_request *fit, const oatgp_cv_watch *watch, const oatgp_held_out_sd *rows,
                    oatgp_scores *scores);

#endif
