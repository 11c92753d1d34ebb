/* The backend: everything that touches the rows. It is coarse on purpose: only K x K and shorter sums leave it, so that
 * threads, other devices, several machines or rows from a disk change nothing above it.
 *
 * The two passes evaluate one objective for every sparse model (notation of the paper; V = L^-1 Kuf, L L^T = Kuu):
 *   q_i = |v_i|^2, g_i = k(x_i, x_i) - q_i, lambda_i = n_i + alpha g_i, w_i = 1 / lambda_i,
 * n_i = tau^2 * noise_scale_i + noise_add_i the row's noise variance. */
#ifndef OAT_DEVICE_H
#define OAT_DEVICE_H

#include <stdint.h>

#include "kernel/kernel.h"
#include "util/context.h"

/* Rows, borrowed until close. r holds the residual y - m and then p columns, the basis of an estimated mean. */
typedef struct oat_rows {
  size_t n, d, p;
  const double *x;           /* n x d, column-major */
  const double *r;           /* n x (1 + p), column-major */
  const double *noise_scale; /* n, or NULL for 1 */
  const double *noise_add;   /* n, or NULL for 0 */
} oat_rows;

/* What tau^2 is multiplied by in the noise variance of row i, and that variance. */
static inline double oat_noise_scale(const oat_rows *rows, size_t i) { return rows->noise_scale != NULL ? rows->noise_scale[i] : 1; }

static inline double oat_noise_variance(const oat_rows *rows, double tau, size_t i) {
  return tau * tau * oat_noise_scale(rows, i) + (rows->noise_add != NULL ? rows->noise_add[i] : 0);
}

typedef struct oat_backend_config {
  size_t max_knots; /* most knots of any pass */
  size_t block;     /* rows at a time, 0 = chosen from max_knots */
  int64_t memory;   /* bytes that may be spent on keeping V between the passes */
  int threads;
  bool predicts; /* and does nothing else: needs less memory */
} oat_backend_config;

/* A sparse model at one point: what both passes and prediction need. */
typedef struct oat_sparse {
  oat_covariance cov;
  size_t k;
  const double *z; /* k x d, column-major with leading dimension ldz */
  size_t ldz;
  const double *l; /* k x k, Cholesky factor of Kuu */
  double tau, alpha;
  bool trace;  /* vfe: penalty -1/2 sum g_i / n_i (with alpha 0) */
  bool slopes; /* a pass 2 will follow: pass 1 may keep what that needs */
} oat_sparse;

static inline oat_points oat_sparse_knots(const oat_sparse *sparse) { return (oat_points){sparse->z, sparse->k, sparse->ldz}; }

/* Sums of pass 1. The arrays are one block of `count` doubles that starts at vwv. */
typedef struct oat_sums {
  size_t count;
  double *vwv;    /* k x k, lower triangle: sum w_i v_i v_i^T */
  double *vwr;    /* k x (1 + p): sum w_i v_i r_i^T */
  double *rwr;    /* (1 + p) x (1 + p): sum w_i r_i r_i^T */
  double *scalar; /* OAT_SCALARS, below */
} oat_sums;

enum { OAT_LOG_LAMBDA, OAT_PENALTY, OAT_G_OVER_N, OAT_SUM_W, OAT_SCALARS };

/* What pass 2 needs of the K x K work between the passes. Collapsed (alpha = 0 and noise proportional to tau^2): the rows'
 * terms have closed sums, and dKfu = diag(w) (V product + r le^T). */
typedef struct oat_adjoint {
  bool collapsed;
  const double *product;     /* k x k; collapsed: (gamma I - B^-1 - e e^T) L^-1, else B^-1 */
  const double *e;           /* k: B^-1 b */
  const double *le;          /* k: L^-T e */
  const double *coefficient; /* p: of the mean's basis, subtracted from r */
} oat_adjoint;

/* Sums of pass 2. The arrays are one block of `count` doubles that starts at kernel.theta; collapsed it ends before s. */
typedef struct oat_gradient_sums {
  size_t count;
  oat_kernel_gradient kernel; /* through Kfu; .z is NULL when the knots' derivative is not wanted */
  double *s;                  /* k x k: sum dv_i v_i^T; not collapsed only */
  double dg, dn;              /* sum dg_i; sum dn_i tau^2 noise_scale_i; not collapsed only */
} oat_gradient_sums;

/* Prediction from K x K factors: v = L^-1 k(Z, x), u = LB^-1 v, or u = v where lb is NULL (the full GP, with Z the training
 * rows and L the factor of K + noise). Each output has as many values as there are rows, or is NULL. */
typedef struct oat_row_predictions {
  double *mean; /* u . c, without the prior mean */
  double *q;    /* |v|^2 */
  double *u2;   /* |u|^2 */
} oat_row_predictions;

/* Candidates for a new knot, and what the rows say of each: with E = k(x, candidate) - V v, the part of the candidate that the
 * knots do not explain, weighted by w = 1 / n. For models with alpha = 0. The arrays of sums are one block that starts at ee. */
typedef struct oat_candidates {
  oat_points points; /* m of them */
  const double *v;   /* m x k, leading dimension m: L^-1 k(Z, candidate), row by row */
  double *ee;        /* m: sum w E^2 */
  double *er;        /* m x (1 + p): sum w r E, for the residual and the columns of the mean's basis */
  double *ve;        /* k x m: sum w V E */
} oat_candidates;

typedef struct oat_backend oat_backend;

typedef struct oat_backend_table {
  const char *name;
  oatgp_status (*open)(oatgp_context *ctx, const oat_backend_config *config, oat_backend **out);
  oatgp_status (*load_rows)(oatgp_context *ctx, oat_backend *backend, const oat_rows *rows);
  oatgp_status (*pass1)(oat_backend *backend, const oat_sparse *sparse, oat_sums *sums);
  oatgp_status (*pass2)(oat_backend *backend, const oat_sparse *sparse, const oat_adjoint *adjoint, oat_gradient_sums *sums);
  oatgp_status (*weigh)(oat_backend *backend, const oat_sparse *sparse, oat_candidates *candidates);
  oatgp_status (*predict)(oat_backend *backend, const oat_sparse *sparse, const double *lb, const double *c,
                          const oat_row_predictions *out);
  void (*close)(oat_backend *backend);
} oat_backend_table;

extern const oat_backend_table oat_backend_cpu;

#endif
