/* A model on random rows, as bench/floor and bench/scaling time it: the library's own work at the start of a fit, and
 * the matrix products that every evaluation needs. */
#ifndef OAT_SUBJECT_H
#define OAT_SUBJECT_H

#include "fit/setup.h"

typedef struct shape {
  size_t n, k, d; /* no knots: the exact GP */
  size_t m;       /* neighbours, for fitc */
} shape;

/* Noise of the rows: tau^2, or also a known variance for each row. In that case, tau may be fixed. */
typedef enum subject_noise { SUBJECT_PLAIN, SUBJECT_KNOWN, SUBJECT_KNOWN_ALONE } subject_noise;

typedef struct subject_choice {
  shape shape;
  const char *approx, *kernel;
  int threads;
  subject_noise noise;
  const char *device; /* NULL: the processor */
  int64_t memory;     /* 0: the default of the setting */
} subject_choice;

typedef struct subject {
  oatgp_context *ctx;
  subject_choice choice;
  oat_rng rng;
  char knots[32];
  oatgp_settings settings;
  oatgp_data *data;
  oat_setup setup;
  oat_objective *objective;
  double value; /* and gradient of the latest evaluation */
  oat_gradient gradient;
  oatgp_model *model;
  oat_points candidates; /* as many random rows as oat-gain looks at */
  double *points, *gain_work, *gain;
  oatgp_prediction prediction;
  double *tall, *product, *square, *gram; /* of the floor: two of n x k, k x k, and k x k for each thread */
} subject;

/* The rows, and the objective with its gradient. */
void subject_open(subject *s, const subject_choice *choice);
/* The additional data for gains, predictions and the floor. */
void subject_equip(subject *s);
void subject_close(subject *s);

/* The timed operations. Each is the whole call that a fit or a user makes. */
void subject_value(subject *s);
void subject_gradient(subject *s); /* with the value */
void subject_gains(subject *s);
void subject_predict(subject *s);
/* gemm + syrk + gemm with matrices of n x k and k x k: 2 + 1 + 2 times n k^2 flops; with neighbours, n times the
 * product of m x k and k x m, whose result is symmetric: n m^2 k flops. Each thread has its share of the rows. */
void subject_floor(subject *s);

#endif
