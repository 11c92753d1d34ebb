/* Devices: everything that is computed from rows. A device is opened once for a model and kept. It is given rows and
 * then performs the operations of this header. Only sums of K x K numbers or fewer leave it, and results with one value
 * per row. So a different processor, several machines or rows in a file change nothing above.
 *
 * Contract of every operation: to the last bit, the result depends only on the rows, the given numbers and the
 * configured block. It does not depend on the number of threads. An operation allocates nothing unless it says so.
 *
 * Notation of the paper; V = L^-1 Kuf, L L^T = Kuu:
 *   q_i = |v_i|^2, g_i = k(x_i, x_i) - q_i, lambda_i = n_i + alpha g_i, w_i = 1 / lambda_i,
 * n_i = tau^2 * noise_scale_i + noise_add_i the row's noise variance. */
#ifndef OAT_DEVICE_H
#define OAT_DEVICE_H

#include <stdint.h>

#include "kernel/kernel.h"
#include "likelihood/likelihood.h"
#include "linalg/linalg.h"
#include "rows/rows.h"

/* Where rows are processed. */
typedef struct oat_where {
  const char *device; /* its name; NULL: auto */
  int threads;        /* 0: as there are cores */
} oat_where;

typedef struct oat_device_config {
  size_t max_knots;  /* most knots of any operation */
  size_t block;      /* rows at a time; 0: chosen by the device */
  int64_t memory;    /* bytes that may be used to keep intermediate results of the rows */
  bool any_memory;   /* that number is the default for the processor; other devices may use all their memory */
  size_t neighbours; /* the most earlier rows from which a row is predicted, besides the knots; 0: none, which needs
                        less memory */
  oat_where where;
  bool fits;              /* sums, gradients and gains will be requested; if not, it needs less memory */
  oat_kernel_size kernel; /* of the covariances that operations will be given */
  size_t of; /* for a device that is kept: 0, or the number of the model that its rows belong to; it then has only these
                rows */
  bool predicts; /* with neighbours: only points_from_rows will be requested */
  bool exact;    /* exact_sums will be requested: it keeps an n x n matrix */
  bool system;   /* system_open will be requested */
  bool shared;   /* ranks, if there are any, share the rows, if there are many: all make the same calls (util/ranks.h).
                  * For sums,   gradient_sums, sites_* and left_out */
} oat_device_config;

/* How a joint prediction uses K** - Q**, the prior variance that the knots do not explain. */
typedef enum oat_residual { OAT_RESIDUAL_NONE, OAT_RESIDUAL_DIAGONAL, OAT_RESIDUAL_FULL } oat_residual;

/* The penalty of a model with alpha = 0 for g, the prior variance of the rows that the knots do not explain. */
typedef enum oat_penalty {
  OAT_PENALISE_NOTHING,
  OAT_PENALISE_TRACE, /* -1/2 sum g_i / n_i: vfe */
  OAT_PENALISE_LOG    /* -1/2 sum log(1 + g_i / n_i): tvfe */
} oat_penalty;

/* A sparse model at one point. */
typedef struct oat_sparse {
  oat_covariance cov;
  size_t k;
  const double *z; /* k x d, column-major with leading dimension ldz */
  size_t ldz;
  const double *l; /* k x k, Cholesky factor of Kuu */
  double tau, alpha;
  oat_penalty penalty;
  bool exact;     /* the points are the rows of an exact GP, and L has their noise on its diagonal */
  bool gradient;  /* gradient sums will be requested at this point */
  uint64_t stamp; /* identifies the point: equal stamps mean equal numbers above. 0: unique */
} oat_sparse;

static inline oat_points oat_sparse_knots(const oat_sparse *sparse) {
  return (oat_points){sparse->z, sparse->k, sparse->ldz};
}

/* Bytes that neighbours need for n rows, k knots and m of them, besides what may be kept. */
static inline double oat_neighbour_bytes(double n, double k, double m) { return n * (8 * (3 * k + 2 * m) + 12 * m); }

/* ---- sums ------------------------------------------------------------------------------------------------------ */

/* With neighbours, sums and gradient sums use w, rho and D instead of v, r and lambda (fitc, no penalty). For row i
 * with neighbours J: C = K_JJ - V_J V_J^T + diag(n_J), b = C^-1 (k_Ji - V_J v_i), w_i = v_i - V_J^T b, rho_i = r_i - b
 * . r_J, D_i = n_i + g_i - b . (k_Ji - V_J v_i). */

/* The arrays are one block of `count` doubles that starts at vwv. */
typedef struct oat_sums {
  size_t count;
  double *vwv;    /* k x k, lower triangle: sum w_i v_i v_i^T */
  double *vwr;    /* k x (1 + p): sum w_i v_i r_i^T */
  double *rwr;    /* (1 + p) x (1 + p): sum w_i r_i r_i^T */
  double *scalar; /* OAT_SCALARS, below */
} oat_sums;

enum { OAT_LOG_LAMBDA, OAT_PENALTY, OAT_G_OVER_N, OAT_SUM_W, OAT_SCALARS };

/* The number of doubles in the sums of k knots and a basis of p columns, and the sums as views of a block of that
 * size. */
size_t oat_sums_count(size_t k, size_t p);
oat_sums oat_sums_over(double *block, size_t k, size_t p);
/* For devices, at the end of sums with alpha = 0: computes OAT_G_OVER_N, which so far is the sum of w_i k(x_i, x_i) if
 * k(x, x) varies, and adds the penalty if it is on the trace. */
void oat_sums_finish(const oat_sparse *sparse, oat_sums *sums);

/* The results of the K x K work that the gradient needs. With alpha = 0, s and dg below have closed forms for any noise
 * of the rows. Collapsed (alpha = 0, and dn is not needed): dKfu = diag(w) (V product + r le^T). The log penalty adds
 * diag(h) V L^-1; its dg_i is -h_i / 2 with h_i = 1 / (n_i + g_i). */
typedef struct oat_adjoint {
  bool collapsed;
  const double *product; /* k x k; collapsed: (gamma I - B^-1 - e e^T) L^-1, gamma 1 where the trace is penalised, else
                            B^-1. NULL: the device computes it from lb (only if collapsed, see `products`) */
  const double *lb;      /* k x k: the factor of B */
  double gamma;
  const double *e;           /* k: B^-1 b */
  const double *le;          /* k: L^-T e */
  const double *coefficient; /* p: of the mean's basis, subtracted from r */
  /* Work of the caller that does not depend on these sums. A device whose own processors are busy with the rows may
   * call it once, in the caller's thread; it may change `product` and lb, which the device has copied by then. */
  void (*meanwhile)(void *self);
  void *self;
} oat_adjoint;

/* The arrays are one block of `count` doubles that starts at kernel.theta; without s it ends before it. */
typedef struct oat_gradient_sums {
  size_t count;
  oat_kernel_gradient kernel; /* through Kfu; .z is NULL when the knots' derivative is not wanted */
  double *s;     /* k x k, the lower triangle: sum dv_i v_i^T; with the log penalty sum h_i v_i v_i^T alone, the rest
                    having a closed form. NULL when it is not wanted, and collapsed without that penalty */
  double dg, dn; /* sum dg_i (for a tree, the derivatives through k(x, x) are in kernel.theta, even if collapsed); sum
                    dn_i tau^2 noise_scale_i; collapsed: the part of the log penalty in each, or 0 */
  double pairs;  /* with neighbours: sum dk k over a row, its neighbours and all pairs of them; dg is 0 then */
} oat_gradient_sums;

/* The same for k knots in d dimensions, with all parts; `theta` is oat_theta_most. */
size_t oat_gradient_sums_count(size_t theta, size_t k, size_t d);
oat_gradient_sums oat_gradient_sums_over(double *block, size_t theta, size_t k, size_t d);

/* Candidates for a new knot, and the sums over rows for each: with E = k(x, candidate) - V v, the part of the candidate
 * that the knots do not explain, weighted by w = 1 / n. For models with alpha = 0. The arrays of sums are one block
 * that starts at ee. With the candidate g_i becomes g_i - E_i^2 / s2, or 0 if that is negative. */
typedef struct oat_candidates {
  oat_points points; /* m of them */
  const double *v;   /* m x k, leading dimension m: L^-1 k(Z, candidate), row by row */
  const double *s2;  /* m: its variance given the knots */
  double *ee;        /* m: sum w E^2 */
  double *er;        /* m x (1 + p): sum w r E, for the residual and the columns of the mean's basis */
  double *ve;        /* k x m: sum w V E */
  double *logs;      /* m: sum of the logarithms of n_i + g_i before over after; 0 without the log penalty */
} oat_candidates;

/* How many doubles the sums take. */
static inline size_t oat_candidates_count(size_t m, size_t k, size_t p) { return m * (3 + p + k); }

/* ---- a value for each row -------------------------------------------------------------------------------------- */

/* Predictions from K x K factors: v = L^-1 k(Z, x), u = LB^-1 v, or u = v if lb is NULL (the full GP, with Z the
 * training rows and L the factor of K + noise). Each output has as many values as there are rows, or is NULL. */
typedef struct oat_row_predictions {
  double *mean; /* u . c, without the prior mean */
  double *left; /* k(x, x) - |v|^2, not below 0: the prior variance that the knots do not explain */
  double *u2;   /* |u|^2 */
} oat_row_predictions;

/* Derivatives of these predictions in the inputs of their rows: n x d each, column-major, or NULL. The variance is the
 * one on the diagonal of joint predictions: left + u2, u2 alone where the residual is NONE, left alone where lb is
 * NULL. */
typedef struct oat_row_slopes {
  oat_residual residual;
  double *mean, *variance;
} oat_row_slopes;

/* Every row of a sparse model, predicted from the others (formulas: predict/loo.c). */
typedef struct oat_left_out {
  const double *lb;          /* factor of B */
  const double *c;           /* k x columns: LB^-1 V W R, or LB^-1 V W (R less the mean), which has one column */
  size_t columns;            /* 1 + p: the mean's coefficients are estimated without the row; 1: they stay fixed */
  const double *coefficient; /* p */
  const oat_gls *gls;        /* their normal equations; NULL for one column */
  bool explained;            /* the variance is only that of the part that the knots explain (dic) */
  bool latent;               /* the variance is that of f, without the row's noise */
  const oat_response
      *response; /* of rows with answers, whose densities are those of the answers; NULL for Gaussian ones */
  double *error; /* a value for each row, or NULL: y - mean; of rows with answers: of the site's target */
  double *variance;
  double reach;             /* in standard deviations, for `inside` */
  double density;           /* sums: of the log densities */
  double squares, products; /* sum w r^2; sum w r times the prediction of r */
  double errors, inside; /* sum of the squared errors; how many are within `reach` of their mean. 0 with neighbours */
} oat_left_out;

/* Averages over groups of `block` rows that follow each other: the configured block. */
typedef struct oat_group_averages {
  double *prior; /* for each group: the average of k(x, x') within it */
  double *k;     /* groups x k, column-major: the averages of k(x, Z) */
} oat_group_averages;

/* ---- answers that are not Gaussian ----------------------------------------------------------------------------- */

/* If the likelihood is not Gaussian, each row has a site (rows/rows.h): a Gaussian target and variance, which all
 * operations use for the row. The rows of the device own their sites, and these operations change them. */

/* The posterior q of f given the sites, from the K x K work. */
typedef struct oat_site_q {
  const double *lb, *c;      /* factor of B; LB^-1 b */
  const double *coefficient; /* p: of the mean's basis */
} oat_site_q;

/* Sums over rows at the current q: under it f_i ~ N(m_i, s_i), and E_i is the expectation of log p(y_i | f_i), times
 * the weight of the row. */
typedef struct oat_site_look {
  oat_response response;
  size_t count;       /* of the response's own parameters */
  double *parameters; /* as many: sum dE_i / d log parameter; NULL if not wanted */
  double value;  /* sum E_i, and the part of -KL(q || p) that is a sum over rows: sparse: 1/2 sum |LB^-1 v_i|^2 / n_i;
                    exact: 1/2 sum (log n_i + n_i a_i^2 + 1 - n_i (S^-1)_ii), a = S^-1 (r - H coefficient) */
  double slope;  /* sum dE_i / dm_i: the derivative in a constant that is added to f */
  double change; /* the distance of the sites that follow from q from the current ones: the largest difference of
                    dE_i/dm_i times the standard deviation of f_i, and of the precision times its variance */
  double size;   /* sum of |f_i|^2 times the new precision: the size of the terms whose difference is E_i */
  double turn;   /* sum of these differences times those of the q that was accepted last, over the sum of the squares of
                    the latter: 0 where that is 0 */
} oat_site_look;

/* ---- the exact GP ---------------------------------------------------------------------------------------------- */

/* The covariance of the rows at one point: S = K + J + diag(n_i), J the jitter on the diagonal; S = L L^T. R = [r, H],
 * H the mean's basis. */
typedef struct oat_exact {
  oat_covariance cov;
  double tau;
  double jitter; /* share of the prior variance */
  bool gradient; /* exact_gradient will follow, so progress is reported for both together */
} oat_exact;

typedef struct oat_exact_sums {
  size_t pivot;        /* 0, or the number (from 1) of the pivot that was not positive; the rest is then meaningless */
  double log_diagonal; /* sum log L_ii */
  double *gram;        /* (1 + p) x (1 + p): R^T S^-1 R */
} oat_exact_sums;

/* With F = log N(r; H coefficient, S) and dF/dS = 1/2 (a a^T - S^-1), a = S^-1 (r - H coefficient). */
typedef struct oat_exact_gradient {
  oat_kernel_gradient kernel; /* of K: sums that are added to; .z is NULL */
  double signal;              /* sum dF/dS_ij (K + J)_ij; 0 for a tree, for which it is in `kernel` */
  double noise;               /* sum dF/dS_ii noise_scale_i */
} oat_exact_gradient;

/* The data of each row for leave-one-out. */
typedef struct oat_exact_rows {
  double *gram;      /* (1 + p) x (1 + p): R^T S^-1 R */
  double *solved;    /* n x (1 + p): S^-1 R */
  double *precision; /* n: the diagonal of S^-1 */
} oat_exact_rows;

/* The factor of S = K + diag, which is known for the first rows, and the results that follow for all rows. */
typedef struct oat_grown_factor {
  size_t known;         /* rows; 0: none */
  const double *before; /* known x known: their factor; NULL if all are known and l has it */
  double *l;            /* n x n, with 0 above the diagonal from the beginning */
  double *solved;       /* n x (1 + p): L^-1 R */
  double *gram;         /* (1 + p) x (1 + p): R^T S^-1 R */
  size_t pivot;         /* as of exact_sums */
} oat_grown_factor;

/* ---- the system behind the exact evidence ---------------------------------------------------------------------- */

/* C = K + D over all rows, D their noise variances, and its sparse approximation P = Q + D, Q = V^T V. C is never kept
 * as a whole. */
typedef struct oat_system {
  oat_sparse sparse;
  const double *lb;         /* factor of B = I + V D^-1 V^T */
  bool (*ask)(void *asker); /* called from time to time in the caller's thread; false: stop */
  void *asker;
  bool traces;    /* system_traces will be requested; becomes false if it would need more than the configured memory */
  double weights; /* becomes sum 1 / n_i */
} oat_system;

/* Conjugate gradients on C x = r, preconditioned by P, are at some x; e = r - C x. */
typedef struct oat_iterate {
  double q;     /* r . x + e . x */
  double ez;    /* e . P^-1 e */
  double whole; /* e . D^-1 e */
} oat_iterate;

/* With G = K - Q, U = LB^-1 V D^-1 and T = G U^T. */
typedef struct oat_trace_sums {
  double square;     /* sum G_ij^2 / (n_i n_j) */
  double tw;         /* sum |T_i|^2 / n_i */
  double ut;         /* tr U T */
  double ut_squares; /* |U T|^2 */
} oat_trace_sums;

/* ---- chosen rows ----------------------------------------------------------------------------------------------- */

/* Greedy residuals: the variance of each row that chosen rows, the pivots, do not explain. It comes from a pivoted
 * Cholesky factorisation of the kernel between the rows, which each device stores in its own way. */
typedef struct oat_pivots oat_pivots;

typedef struct oat_pivot {
  size_t row;
  double left;          /* its variance given the pivots before it */
  const double *inputs; /* d, borrowed until the next pivot */
} oat_pivot;

/* The nearest of some points to each row, by the plain squared distance of the inputs. */
typedef struct oat_nearest {
  oat_points points;
  size_t before;    /* points that `distance` and `which` know already; 0: both are outputs only */
  double *distance; /* a value for each row: to its nearest point */
  size_t *which; /* a value for each row: the number of that point, counted after those before; the first of equals */
  double total;  /* the sum of the distances */
  bool changed;  /* whether the point of any row differs from `which`; meaningless if that was not set */
} oat_nearest;

/* Trouble with neighbours: rounding may make C = K_JJ - V_J V_J^T + diag(n_J) indefinite. */
typedef struct oat_near_trouble {
  size_t lifted;  /* rows or points for which something was added to the diagonal of C */
  size_t without; /* rows or points whose C still has no factor; they are predicted from the knots alone */
  double lift;    /* the most that was added, as a share of the prior variance */
} oat_near_trouble;

/* ---- the table ------------------------------------------------------------------------------------------------- */

typedef struct oat_device_table oat_device_table;

/* The common beginning of every device. */
typedef struct oat_device {
  const oat_device_table *table;
  bool told; /* of trouble with neighbours */
} oat_device;

struct oat_device_table {
  const char *name;
  size_t products; /* from this many knots on, gradient_sums can compute a collapsed product itself; 0: never */
  oatgp_status (*open)(oatgp_context *ctx, const oat_device_config *config, oat_device **out);
  /* Loads rows, which are borrowed until others are loaded or the device is closed. Allocates. */
  oatgp_status (*load)(oatgp_context *ctx, oat_device *device, const oat_rows *rows);
  void (*close)(oat_device *device);

  /* Finds the neighbours of each row, at most as many as configured: the nearest of the rows before it, by inputs
   * divided by lengthscales. They are kept until the next search. Call it before the first sums. `share` is NULL, or
   * gets for each input its share in the squared distances between rows and their neighbours, the mean over some rows
   * (0 if all of these are 0). Allocates. */
  oatgp_status (*find_neighbours)(oat_device *device, const oat_covariance *cov, double *share);
  /* The sums that give the value: 2 N K^2 flops, with neighbours N M^2 (K + M / 3) more. */
  oatgp_status (*sums)(oat_device *device, const oat_sparse *sparse, oat_sums *out);
  /* After sums at the same point: 2 N K^2; not collapsed 3 N K^2, and 2 N K^2 more for s; with the log penalty N K^2
   * more collapsed, and N K^2 more for s. */
  oatgp_status (*gradient_sums)(oat_device *device, const oat_sparse *sparse, const oat_adjoint *adjoint,
                                oat_gradient_sums *out);
  /* The first sites: for each row at its most likely f or, if level is not NaN, for all rows at f = level plus the
   * given offset. */
  oatgp_status (*sites_begin)(oat_device *device, const oat_response *response, double level);
  /* After sums at this point: computes and keeps m, s and the sites that follow from q. N K^2, and the expectations. */
  oatgp_status (*sites_look)(oat_device *device, const oat_sparse *sparse, const oat_site_q *q, oat_site_look *look);
  /* The same for the exact GP, after exact_quadratic: 2 N^3 / 3. */
  oatgp_status (*exact_sites_look)(oat_device *device, oat_site_look *look);
  /* Moves from the sites of the last accepted q by `step` towards the sites that follow from it, in natural parameters.
   * `accept`: the q of the last sites_look is accepted first. */
  oatgp_status (*sites_move)(oat_device *device, double step, bool accept);
  /* 4 N K m. */
  oatgp_status (*gains)(oat_device *device, const oat_sparse *sparse, oat_candidates *out);
  /* N K^2 each for v and u. */
  oatgp_status (*predictions)(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                              const oat_row_predictions *out);
  /* The same for all of `at`, with derivatives. N K^2 more for each of v and u. Allocates. */
  oatgp_status (*prediction_slopes)(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                    const oat_row_predictions *at, const oat_row_slopes *out);
  /* The same for other points, from the rows of this device and the knots. The neighbours are the nearest of all rows,
   * whose r is without the mean. Data of the rows are kept for the first model that calls this. M^2 (K + M / 3) a
   * point. Allocates. */
  oatgp_status (*points_from_rows)(oat_device *device, const oat_sparse *sparse, const double *lb, const double *c,
                                   const oat_rows *points, const oat_row_predictions *out);
  /* The same with derivatives, at fixed neighbours. */
  oatgp_status (*point_slopes_from_rows)(oat_device *device, const oat_sparse *sparse, const double *lb,
                                         const double *c, const oat_rows *points, const oat_row_predictions *at,
                                         const oat_row_slopes *out);
  /* The trouble with neighbours in the latest sums, left_out, points_from_rows, point_slopes_from_rows or
   * joint_from_rows. */
  oat_near_trouble (*near_trouble)(const oat_device *device);
  /* The posterior covariance of such points, n x n: of the errors of these predictions. Allocates. */
  oatgp_status (*joint_from_rows)(oat_device *device, const oat_sparse *sparse, const double *lb,
                                  const oat_rows *points, double *covariance);
  /* mean_i += scale k(x_i, Z) . weights: 2 N K. */
  oatgp_status (*means)(oat_device *device, const oat_sparse *sparse, const double *weights, double scale,
                        double *mean);
  /* Allocates memory for the columns of a block. */
  oatgp_status (*left_out)(oat_device *device, const oat_sparse *sparse, oat_left_out *out);
  oatgp_status (*averages)(oat_device *device, const oat_sparse *sparse, const oat_group_averages *out);
  /* The posterior covariance of the rows, n x n; lb NULL for the full GP. Allocates. */
  oatgp_status (*joint)(oat_device *device, const oat_sparse *sparse, const double *lb, oat_residual residual,
                        double *covariance);

  /* The posterior covariance of the rows with other points, which are not among the rows: n x points. Allocates. K^2 a
   * row and a point. */
  oatgp_status (*joint_with)(oat_device *device, const oat_sparse *sparse, const double *lb, oat_residual residual,
                             const oat_rows *points, double *covariance);

  /* The exact GP, in one n x n matrix that stays in the device. OATGP_NUMERIC (no sentence is stored): a pivot is not
   * positive. N^3 / 3. */
  oatgp_status (*exact_sums)(oat_device *device, const oat_exact *exact, oat_exact_sums *out);
  /* After exact_sums: |L^-1 (r - H coefficient)|^2. */
  oatgp_status (*exact_quadratic)(oat_device *device, const double *coefficient, double *quadratic);
  /* After exact_quadratic at the same point. 2 N^3 / 3. */
  oatgp_status (*exact_gradient)(oat_device *device, const oat_exact *exact, oat_exact_gradient *out);
  /* After exact_gradient: the sum of the log densities of each row given all others, with the mean's coefficients
   * estimated without it. gls is made from the gram of exact_sums, and response is NULL for Gaussian targets. */
  oatgp_status (*exact_left_out)(oat_device *device, const oat_gls *gls, const oat_response *response, double *density);
  /* l <- the factor of K and `diagonal`, n x n. pivot and status as of exact_sums. Allocates. N^3 / 3. */
  oatgp_status (*factor)(oat_device *device, const oat_covariance *cov, const double *diagonal, double *l,
                         size_t *pivot);
  /* The same if the last b rows are new. Allocates. N^2 (b + 1 + p) + b^3 / 3. */
  oatgp_status (*factor_more)(oat_device *device, const oat_covariance *cov, const double *diagonal,
                              oat_grown_factor *out);
  /* From such a factor. Allocates. N^3. */
  oatgp_status (*exact_rows)(oat_device *device, const double *l, const oat_exact_rows *out);

  /* Conjugate gradients begin at x = 0. What `system` points to is borrowed. Allocates. */
  oatgp_status (*system_open)(oat_device *device, oat_system *system, oat_iterate *out);
  /* p <- P^-1 e + turn p, and p . C p. OATGP_STOPPED (no sentence is stored): stopped by the caller. N^2 d / 2. */
  oatgp_status (*system_product)(oat_device *device, double turn, double *curvature);
  /* After system_product: x <- x + length p. N K. */
  oatgp_status (*system_step)(oat_device *device, double length, oat_iterate *out);
  /* Only if traces were requested. OATGP_STOPPED as above. N^2 K. */
  oatgp_status (*system_traces)(oat_device *device, oat_trace_sums *out);
  /* Estimates the seconds of a product and of the traces, from a small part of each; 0 if there are no traces. */
  oatgp_status (*system_cost)(oat_device *device, double *product, double *traces);

  /* Allocates rows x most doubles. The covariance and the rows are borrowed until pivots_end, which must be called even
   * after a failure. */
  oatgp_status (*pivots_begin)(oat_device *device, const oat_covariance *cov, size_t most, oat_pivots **out);
  /* The row with the most variance left, the first of equals: up to `most` times. 2 N c and the kernel after c
   * pivots. */
  oatgp_status (*pivots_next)(oat_pivots *pivots, oat_pivot *out);
  void (*pivots_end)(oat_pivots *pivots); /* may be NULL */

  /* 3 N d for each point. */
  oatgp_status (*nearest)(oat_device *device, oat_nearest *out);
  /* Of each of k points: how many rows have it as `which`, and the mean of their inputs (k x d, column-major), 0
   * without any. Allocates. */
  oatgp_status (*centres)(oat_device *device, const size_t *which, size_t k, double *size, double *mean);
};

/* ---- the registry ---------------------------------------------------------------------------------------------- */

const oat_device_table *oat_device_at(size_t index); /* of the devices that can be used here; NULL past the end */
/* All devices, with the name of a GPU or why there is none. */
const char *oat_device_names(void);
/* Opens the device of that name, with these rows; "auto" is a GPU if there is one and enough work for it. If the GPU
 * cannot work on such rows, the processor is used, and a note says so. Close it even after a failure. */
oatgp_status oat_device_open(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows,
                             oat_device **out);
void oat_device_close(oat_device *device); /* may be NULL */
/* Whether a GPU would be opened for them. */
bool oat_device_on_gpu(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows);
/* The same for the exact GP of all rows, whose matrix has to fit there. */
bool oat_device_exact_on_gpu(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows);
/* For predictions: a device with these rows, which the context keeps until another configuration is requested. */
oatgp_status oat_device_keep(oatgp_context *ctx, const oat_device_config *config, const oat_rows *rows,
                             oat_device **out);
/* Reports trouble with the neighbours of this many rows or points (`what`, such as "rows"), if there was any: once for
 * each device. */
void oat_device_tell_trouble(oatgp_context *ctx, oat_device *device, size_t count, const char *what);
/* The context's settings for predictions. */
oat_where oat_where_of(const oatgp_context *ctx);
/* With the actual number of threads in place of 0. */
oat_where oat_where_known(oat_where where);

#endif
