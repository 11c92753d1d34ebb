/* The models of the paper, each fitted with two presets, and what is recorded about each fit. */
#ifndef EXPERIMENTS_MODELS_H
#define EXPERIMENTS_MODELS_H

#include "sets.h"

/* One run of one set. */
typedef struct trial {
  oatgp_context *ctx;
  const set_info *set;
  int run;
  bool quick;
  split data;
  results found; /* rows of this trial */
} trial;

/* Fits all models with both presets. */
oatgp_status trial_run(trial *t);

#endif
