/* The state of the sparse objective, shared by sparse.c (evaluation) and gain.c (candidates for a new knot). */
#ifndef OAT_SPARSE_H
#define OAT_SPARSE_H

#include "objective/objective.h"

/* Arrays are laid out for the capacity; each is used with leading dimension k. */
typedef struct oat_sparse_objective {
  oat_objective base;
  uint64_t stamp;                /* of the latest point */
  double *l, *lb, *binv, *m, *s; /* k x k each: factor of Kuu, that of B, its inverse, two for scratch */
  double *slope;                 /* k x k: phi' of the kernel between knots */
  double *room;                  /* of the triangle of L */
  double *c_all;                 /* k x (1 + p): LB^-1 vwr */
  double *gram;                  /* (1 + p) square: R^T S^-1 R */
  oat_gls gls;                   /* of gram */
  double *coefficient;           /* p */
  double *mix;                   /* 1 + p: [1, -coefficient] */
  double *rhs, *c, *e, *le;      /* k each */
  double *z_grad, *theta_grad;   /* k x d, and as theta: through K(Z, Z) */
  oat_kernel_team team;          /* for the kernel between knots */
  bool found;                    /* the neighbours, if any, have been found */
  oat_triangle triangle;         /* of L */
  double gamma;                  /* 1 where the trace is penalised (vfe), else 0 */
  const double *explained;       /* k x k, the part of the penalty in S: sum v v^T / n_i (vfe), sum v v^T / (n_i + g_i)
                                    (tvfe), or NULL */
  oat_sums sums;
  oat_gradient_sums gradient_sums;
} oat_sparse_objective;

/* The soft jitter: 1 / (1 / (J sigma^2) + 1 / (c tau^2)), below both J sigma^2, which factorises any knots, and c
 * tau^2. A jitter delta costs vfe at most delta / (2 tau^2) nats per row, so c limits this cost. A jitter relative to
 * sigma^2 alone hides the signal if sigma^2 is more than 1 / J times the noise. */
#define OAT_SOFT_SIGMA 1e-6
#define OAT_SOFT_TAU 1e-4
/* A further part, relative to sigma^2, that a factorisation needs because of rounding. */
#define OAT_SOFT_FLOOR 1e-13

static inline double oat_soft_variance(const oat_covariance *cov, oat_points z, double tau) {
  const double most = oat_kernel_share(cov, z, OAT_SOFT_SIGMA);
  return most / (1 + most / (OAT_SOFT_TAU * tau * tau));
}

/* The jitter on the diagonal of Kuu for the knots z. */
static inline double oat_jitter_variance(const oat_objective_config *config, const oat_covariance *cov, oat_points z,
                                         double tau) {
  const double soft = config->soft ? oat_soft_variance(cov, z, tau) : 0;
  return oat_kernel_share(cov, z, config->jitter) + config->jitter_absolute + soft;
}

/* The model at a point, for the device; ldz is the leading dimension of the point's knots. */
oat_sparse oat_sparse_at(const oat_sparse_objective *o, const oat_point *point, size_t ldz);

/* Between the passes: computes the factors of B, the coefficients of the mean and the value from the sums over n rows.
 * *rwr is the sum of w r^2 of the residual minus the mean. */
oatgp_status oat_sparse_solve(oat_sparse_objective *o, double n, double *rwr, double *value);

#endif
