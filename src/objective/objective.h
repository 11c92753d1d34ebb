/* The objective: log evidence of the full GP, or that of a sparse model (a lower bound of it for vfe and tvfe), plus
 * the log density of the priors, if there are any, with its gradient with respect to all covariance parameters and all
 * knots. An estimated mean is profiled out: at every point its coefficients are those of generalised least squares, so
 * the gradient with respect to the rest is the total gradient. */
#ifndef OAT_OBJECTIVE_H
#define OAT_OBJECTIVE_H

#include <float.h>
#include <math.h>

#include "device/device.h"
#include "objective/prior.h"
#include "util/memory.h"

/* The models of the paper as rows of a table: they differ in alpha, in the penalty and in the variance that predictions
 * add. */
typedef struct oat_approx {
  const char *name;
  bool sparse;         /* has knots */
  bool power;          /* alpha is the setting, not the number below */
  double alpha;        /* lambda_i = n_i + alpha g_i */
  oat_penalty penalty; /* for alpha = 0; that of pep follows from its alpha */
  oat_residual residual;
  bool neighbours; /* rows may have neighbours beside the knots */
} oat_approx;

/* Whether the rows have only their own noise (alpha = 0). Otherwise the variance that the knots leave adds to it, so
 * tau may go to 0. */
static inline bool oat_approx_plain_noise(const oat_approx *approx) {
  return approx->sparse && !approx->power && approx->alpha == 0;
}

/* Whether the objective is a lower bound of the log evidence. */
static inline bool oat_approx_bound(const oat_approx *approx) { return approx->penalty != OAT_PENALISE_NOTHING; }

const oat_approx *oat_approx_find(const char *name); /* NULL if there is none */
const oat_approx *oat_approx_at(size_t index);       /* NULL past the end */

/* Where to evaluate: all positive parameters, and k x d knots, column-major. */
typedef struct oat_point {
  double *theta, *z;
} oat_point;

/* Derivatives in log theta and in the knots, laid out as the point; z is NULL if not wanted. */
typedef struct oat_gradient {
  double *theta, *z;
  bool without_tau; /* the derivative with respect to log tau is not wanted; its value is then meaningless */
} oat_gradient;

typedef struct oat_objective_config {
  const oat_approx *approx;
  const oat_kernel *kernel;
  const oat_rows *rows; /* borrowed */
  double alpha;         /* of pep */
  double jitter;        /* relative to sigma^2, on Kuu (sparse) or on K (full) */
  size_t k, block;
  int64_t memory;
  bool any_memory; /* device.h */
  size_t capacity; /* most knots it can be resized to; 0 = k */
  oat_where where;
  double jitter_absolute;           /* added to Kuu as it is; sparse only */
  size_t neighbours;                /* of each row, beside the knots: fitc only; 0: none */
  bool soft;                        /* Kuu also has a jitter that never exceeds a small part of the noise (sparse.h) */
  const oat_likelihood *likelihood; /* of the rows' answers, with its own parameters behind the covariance's; NULL:
                                       Gaussian, with noise tau */
  size_t levels;                    /* of an ordinal answer */
  double site_tol;                  /* sites are settled when no row would change by more (oat_site_look.change) */
  const oat_prior *prior;           /* of the parameters, borrowed; NULL: none */
} oat_objective_config;

/* The results of the latest evaluation that prediction needs, borrowed from the objective. The full GP has only the
 * coefficients. */
typedef struct oat_factors {
  size_t k;
  const double *l;           /* factor of Kuu */
  const double *lb;          /* factor of B */
  const double *c;           /* LB^-1 b */
  const double *coefficient; /* p coefficients of the mean's basis */
  const oat_sums *sums;      /* over the rows, NULL for full */
} oat_factors;

typedef struct oat_objective oat_objective;

typedef struct oat_objective_table {
  size_t size; /* of the objective. When it is opened, only its common part is set; the rest is 0 */
  oatgp_status (*open)(oatgp_context *ctx, oat_objective *objective);
  oatgp_status (*evaluate)(oat_objective *objective, const oat_point *point, double *value, oat_gradient *gradient);
} oat_objective_table;

extern const oat_objective_table oat_objective_sparse, oat_objective_full;

/* The common part; each of the two objectives extends it. */
struct oat_objective {
  const oat_objective_table *table;
  oat_objective_config config;
  oat_scratch memory;
  oat_device *device; /* with the rows */
  size_t pivot;       /* of the latest failed factorisation, from 1 */
  oat_factors factors;
  /* Rows with answers that are not Gaussian. */
  oat_rows *own_rows; /* with sites; config.rows is the same then. NULL for others */
  bool sited;         /* the sites are those of an evaluation */
  size_t rounds;      /* rounds of the sites in the latest evaluation */
  oat_site_look look; /* of its last one */
};

oatgp_status oat_objective_create(oatgp_context *ctx, const oat_objective_config *config, oat_objective **out);
/* Value and, if gradient is not NULL, gradient. OATGP_NUMERIC (no sentence is stored): a factorisation failed, or the
 * value or a derivative is not finite; for an optimiser, a rejected step. Allocates nothing. */
oatgp_status oat_objective_evaluate(oat_objective *objective, const oat_point *point, double *value,
                                    oat_gradient *gradient);
/* The part of such a value that is the log density of the priors. */
double oat_objective_log_prior(const oat_objective *objective, const double *theta);
/* Stores an error message for such an evaluation, for a caller that cannot continue without it. Returns
 * OATGP_NUMERIC. */
oatgp_status oat_objective_rejected(oatgp_context *ctx, const oat_objective *objective, const oat_point *point);
/* Changes the number of knots of a sparse model, up to the capacity. The next evaluation must have that many. */
void oat_objective_resize(oat_objective *objective, size_t k);
/* The exact gain of the objective from each candidate as one more knot at these parameters, without evaluating it
 * again: for dic, dtc, vfe and tvfe after an evaluation (or an append) at this point. -HUGE_VAL for a candidate that
 * sits on a knot (its variance given the knots is at most the jitter plus 1e-6 sigma^2). O(N K m). `gain` has m values;
 * `work` oat_gain_work doubles. */
oatgp_status oat_objective_gains(oat_objective *objective, const oat_point *point, oat_points candidates, double *work,
                                 double *gain);
size_t oat_gain_work(const oat_objective *objective, size_t m);
/* For any sparse model: sets `gain` to -HUGE_VAL for the candidates that sit on a knot in that sense, to 0 for the
 * others. O(K^2 m). */
void oat_objective_mark_coincident(oat_objective *objective, const oat_point *point, oat_points candidates,
                                   double *work, double *gain);
/* Adds the last knot of the point, which has one more than the latest evaluation, to the factors: one new row each for
 * L, LB and c, O(N K), nothing is factorised. The objective then has that many knots. OATGP_NUMERIC if it sits on a
 * knot, or if the normal equations of the mean cannot be factorised with it: the factors are then as before. */
oatgp_status oat_objective_append(oat_objective *objective, const oat_point *point, double *work, double *gain);
/* Finds the neighbours of the rows at these parameters, if the model has any. The first evaluation does this itself.
 * `share` is NULL or as device.h has it. */
oatgp_status oat_objective_find_neighbours(oat_objective *objective, const oat_point *point, double *share);
/* The jitter ladder: evaluates at the start of a fit, with the gradient if it is not NULL, and, only if that fails,
 * raises the jitter for the whole fit, by factors of 10 from at least 1e-12 to at most 1e-2, until it succeeds. It
 * warns that it did. */
oatgp_status oat_objective_settle(oatgp_context *ctx, oat_objective *objective, const oat_point *start, double *value,
                                  oat_gradient *gradient);
/* A sparse model, after an evaluation at this point: the sum of the log densities of the rows, each predicted from all
 * others (the coefficients of a mean as they are). O(N K^2). */
oatgp_status oat_objective_left_out(oat_objective *objective, const oat_point *point, double *sum);
/* The log density of each row. Allocates. */
oatgp_status oat_objective_left_out_rows(oat_objective *objective, const oat_point *point, double *density);
/* The largest log density of the rows (some of those of the objective, or all) under a constant, with noise or with the
 * likelihood at these parameters; tau as in oat_rows_constant. */
double oat_objective_constant(const oat_objective *objective, const oat_rows *rows, const double *theta, double *tau);
/* The full GP, after an evaluation with its gradient: the sum of the log densities of each row given all others, with
 * the coefficients of a mean estimated without it. O(n). */
oatgp_status oat_full_left_out(oat_objective *objective, double *sum);
/* The full GP's jitter in a fit: the rounding error of its factor. Without it, data with almost no noise lead to
 * parameters at which predictions are rounding errors that look exact. */
static inline double oat_full_rounding(size_t n) { return 2 * sqrt((double)n) * DBL_EPSILON; }
/* Raises the jitter by one step of that ladder. Returns false at the top. */
bool oat_objective_raise_jitter(oat_objective *objective);
void oat_objective_free(oat_objective *objective);

#endif
