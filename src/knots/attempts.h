/* Optimisations of the exact GP of some rows (or of one with knots on them, see attempts.c), for the parameters of a
 * search; several of them run side by side. */
#ifndef OAT_ATTEMPTS_H
#define OAT_ATTEMPTS_H

#include "knots/strategy.h"
#include "util/jobs.h"

/* An optimum with its parameters. */
typedef struct oat_trial {
  double *theta;
  oat_optimum at;
} oat_trial;

/* An optimisation. Those that run side by side only read the search that they belong to. */
typedef struct oat_attempt {
  oat_search *s;
  const oat_rows *rows;
  double iterations, obj_tol;
  oat_trial *t; /* on entry the parameters to start from, afterwards those found */
  oat_optimum before;
  oatgp_context *ctx, own;
  int threads;
  oat_job *job;
  oatgp_status status;
  oatgp_stop stop;              /* if it was halted */
  oatgp_stop stopped;           /* by the user or the clock, at the step `cut` */
  struct oat_attempt_step *cut; /* or NULL */
  bool counts;
} oat_attempt;

/* Parameters of the kernel and the noise, of which a trial has room for all. */
static inline size_t oat_attempt_parameters(const oat_search *search) {
  return oat_theta_count(search->mapping.kernel, search->mapping.d);
}

oat_attempt oat_attempt_new(oat_search *search, const oat_rows *rows, double iterations, oat_trial *t);
/* Runs all of them side by side, on the same rows. If one is halted or fails, it and those before it count and those
 * after it do not, as if they had run one after the other. None is started if the search has been halted. A trial that
 * does not count is unchanged, except for its parameters. */
oatgp_status oat_attempts_run(oat_search *search, oat_attempt *all, size_t count);

#endif
