/* The entries that R calls. Each but the last returns the list of run_job (glue.h). */
#ifndef OATGP_R_ENTRIES_H
#define OATGP_R_ENTRIES_H

#include "glue.h"

SEXP entry_fit(SEXP frame, SEXP settings, SEXP knots, SEXP control);
SEXP entry_refit(SEXP model, SEXP frame, SEXP settings, SEXP progress);
SEXP entry_update(SEXP model, SEXP frame);
SEXP entry_save(SEXP model, SEXP path);
SEXP entry_load(SEXP path);
SEXP entry_predict(SEXP model, SEXP frame, SEXP settings, SEXP level, SEXP latent);
SEXP entry_answers(SEXP model, SEXP frame, SEXP settings, SEXP level);
SEXP entry_gradient(SEXP model, SEXP frame, SEXP settings);
SEXP entry_effects(SEXP model, SEXP frame, SEXP over, SEXP settings);
SEXP entry_sensitivity(SEXP model, SEXP frame, SEXP draws, SEXP seed, SEXP interval);
SEXP entry_covariance(SEXP model, SEXP frame);
SEXP entry_samples(SEXP model, SEXP frame, SEXP count, SEXP seed, SEXP answers);
SEXP entry_score(SEXP model, SEXP frame);
SEXP entry_loo(SEXP model, SEXP frame);
SEXP entry_cv(SEXP frame, SEXP settings, SEXP knots, SEXP progress);
SEXP entry_certify(SEXP model, SEXP frame, SEXP settings, SEXP progress);
SEXP entry_knots(SEXP model);
SEXP entry_members(SEXP model);
SEXP entry_info(SEXP model);
SEXP entry_settings(void);
SEXP entry_blas_threads(void); /* a number, for a test */

#endif
