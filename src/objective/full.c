/* The full GP: F = log N(y; m, K + noise), its own objective by a Cholesky factorisation of the N x N matrix.
 *
 * dF/dK = 1/2 (a a^T - K^-1), a = K^-1 r; all parameters follow by the kernel's adjoint. O(N^3) time, one N x N matrix. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rows/layout.h"
#include "linalg/linalg.h"
#include "linalg/gls.h"
#include "objective/objective.h"
#include "util/memory.h"

enum { PANEL = 64 }; /* columns of K at a time in the adjoint */

/* How much of an evaluation with its gradient is done after each of its parts, about. */
#define BUILT 0.05
#define FACTORISED 0.35
#define INVERTED 0.95

typedef struct full_objective {
  oat_objective base;
  oatgp_context *ctx;            /* for progress alone */
  double *k;                     /* n x n: K + noise, then its factor, then its inverse */
  double *panel, *cross, *slope; /* n x PANEL each: dF/dK, and of the kernel k and phi' */
  double *c_all;                 /* n x (1 + p): L^-1 R */
  double *c, *a;                 /* n: L^-1 r, K^-1 r */
  double *gram, *coefficient;    /* (1 + p) square: R^T K^-1 R; p */
  double *gls_room, *row;        /* row: p, of K^-1 H */
  oat_gls gls;                   /* of gram */
  double *work;
} full_objective;

static full_objective *own(oat_objective *objective) { return (full_objective *)objective; }

static void full_destroy(oat_objective *objective) {
  full_objective *o = own(objective);
  double *const blocks[] = {o->k, o->panel, o->cross,       o->slope,    o->c_all, o->c,
                            o->a, o->gram,  o->coefficient, o->gls_room, o->row,   o->work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    free(blocks[i]);
  }
  free(o);
}

static oatgp_status check_size(oatgp_context *ctx, const oat_objective_config *config) {
  const double n = (double)config->rows->n, bytes = 8 * n * n;
  if (bytes > (double)config->memory || n > OAT_LARGEST_SIDE) {
    return oat_fail(
        ctx, OATGP_DATA,
        "the full GP of %.0f rows needs %.2f GiB for its matrix, and %.2f GiB may be used: raise --memory or take a sparse model, "
        "such as --approx vfe",
        n, bytes / 1073741824, (double)config->memory / 1073741824);
  }
  return OATGP_OK;
}

static oatgp_status full_create(oatgp_context *ctx, const oat_objective_config *config, oat_objective **out) {
  full_objective *o = NULL;
  oatgp_status status = OATGP_OK;
  const size_t n = config->rows->n, width = 1 + config->rows->p;
  TRY(check_size(ctx, config));
  TRY(oat_new(ctx, 1, sizeof *o, &o));
  o->ctx = ctx;
  o->base.table = &oat_objective_full;
  o->base.config = *config;
  o->base.config.k = 0;
  TRY(oat_new_matrix(ctx, n, n, &o->k));
  TRY(oat_new_matrix(ctx, n, PANEL, &o->panel));
  TRY(oat_new_matrix(ctx, n, PANEL, &o->cross));
  TRY(oat_new_matrix(ctx, n, PANEL, &o->slope));
  TRY(oat_new_matrix(ctx, n, width, &o->c_all));
  TRY(oat_new_matrix(ctx, n, 1, &o->c));
  TRY(oat_new_matrix(ctx, n, 1, &o->a));
  TRY(oat_new_matrix(ctx, width, width, &o->gram));
  TRY(oat_new_matrix(ctx, oat_gls_room(config->rows->p), 1, &o->gls_room));
  TRY(oat_new_matrix(ctx, config->rows->p, 1, &o->row));
  TRY(oat_new_matrix(ctx, width, 1, &o->coefficient));
  TRY(oat_new_matrix(ctx, oat_kernel_work(n, PANEL, config->rows->d), 1, &o->work));
  o->gls = oat_gls_over(o->gls_room, config->rows->p);
  o->base.factors = (oat_factors){n, o->k, NULL, o->c, o->coefficient, NULL};
  *out = &o->base;
  return OATGP_OK;
done:
  if (o != NULL) {
    full_destroy(&o->base);
  }
  return status;
}

/* Columns first .. first + count - 1, rows from `first` on: the part of the lower triangle in these columns. */
static oat_points rows_from(const oat_rows *rows, size_t first, size_t count) { return (oat_points){rows->x + first, count, rows->n}; }

static size_t panel_width(size_t n, size_t first) { return n - first < PANEL ? n - first : PANEL; }

static void tell(const full_objective *o, double share) {
  const size_t n = o->base.config.rows->n;
  oat_tell_progress(o->ctx, "evaluation", (size_t)(share * (double)n + 0.5), n);
}

static void build(full_objective *o, const oat_covariance *cov, const oat_point *point) {
  const oat_rows *rows = o->base.config.rows;
  const size_t n = rows->n;
  for (size_t first = 0; first < n; first += PANEL) {
    const size_t columns = panel_width(n, first);
    oat_kernel_cross(cov, rows_from(rows, first, n - first), rows_from(rows, first, columns), o->k + first * (n + 1), n, o->work);
    tell(o, BUILT * (double)(first + columns) / (double)n);
  }
  const double jitter = oat_kernel_share(cov, rows_from(rows, 0, n), o->base.config.jitter);
  for (size_t i = 0; i < n; i++) {
    o->k[i * (n + 1)] += jitter + oat_noise_variance(rows, point->theta[OAT_TAU], i);
  }
}

/* The mean's coefficients by generalised least squares, then c = L^-1 (y - m - H coefficient). */
static oatgp_status solve_right_sides(full_objective *o) {
  const oat_rows *rows = o->base.config.rows;
  const size_t n = rows->n, width = 1 + rows->p;
  const oat_view all = {o->c_all, n, width, n};
  memcpy(o->c_all, rows->r, n * width * sizeof *o->c_all);
  oat_solve_left(o->k, n, OAT_PLAIN, all);
  oat_gemm(1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 0, oat_square(o->gram, width));
  const oatgp_status status = oat_gls_factorise(&o->gls, o->gram, o->gram);
  if (status != OATGP_OK) {
    return status;
  }
  memcpy(o->coefficient, o->gram + 1, rows->p * sizeof *o->coefficient);
  oat_gls_solve(&o->gls, o->coefficient);
  memcpy(o->c, o->c_all, n * sizeof *o->c);
  for (size_t j = 0; j < rows->p; j++) {
    for (size_t i = 0; i < n; i++) {
      o->c[i] -= o->coefficient[j] * o->c_all[i + (1 + j) * n];
    }
  }
  return OATGP_OK;
}

/* panel = dF/dK for the lower triangle of these columns, twice off the diagonal and nothing above it. */
static void fill_panel(full_objective *o, size_t first, size_t columns) {
  const size_t n = o->base.config.rows->n, height = n - first;
  for (size_t c = 0; c < columns; c++) {
    const double *inverse = o->k + first + (first + c) * n, *a = o->a + first;
    double *column = o->panel + c * height;
    memset(column, 0, c * sizeof *column);
    for (size_t i = c; i < height; i++) {
      column[i] = a[i] * a[c] - inverse[i];
    }
    column[c] *= 0.5;
  }
}

static void differentiate(full_objective *o, const oat_covariance *cov, const oat_point *point, oat_gradient *gradient) {
  const oat_rows *rows = o->base.config.rows;
  const size_t n = rows->n;
  oat_kernel_gradient sums = {gradient->theta, NULL};
  memset(sums.theta, 0, oat_theta_count(o->base.config.kernel, rows->d) * sizeof *sums.theta);
  memcpy(o->a, o->c, n * sizeof *o->a);
  oat_solve_left(o->k, n, OAT_TRANSPOSED, (oat_view){o->a, n, 1, n});
  oat_solve_left(o->k, n, OAT_TRANSPOSED, (oat_view){o->c_all, n, 1 + rows->p, n}); /* K^-1 R, for oat_full_left_out */
  oat_cholesky_inverse(n, o->k);
  tell(o, INVERTED);
  double d_noise = 0, d_diagonal = 0, d_sigma2 = 0;
  for (size_t first = 0; first < n; first += PANEL) {
    const size_t columns = panel_width(n, first), height = n - first;
    fill_panel(o, first, columns);
    for (size_t c = 0; c < columns; c++) {
      d_noise += o->panel[c * (height + 1)] * oat_noise_scale(rows, first + c);
      d_diagonal += o->panel[c * (height + 1)];
    }
    const oat_points x = rows_from(rows, first, height), z = rows_from(rows, first, columns);
    oat_kernel_cross_slopes(cov, x, z, o->cross, o->slope, height, o->work);
    d_sigma2 += oat_dot(height * columns, o->panel, o->cross);
    oat_kernel_cross_adjoint(cov, x, z, o->panel, o->slope, height, o->work, &sums);
    tell(o, INVERTED + (1 - INVERTED) * (double)(first + columns) / (double)n);
  }
  const double sigma2 = oat_kernel_share(cov, rows_from(rows, 0, n), 1);
  gradient->theta[OAT_SIGMA] = 2 * (d_sigma2 + o->base.config.jitter * sigma2 * d_diagonal);
  gradient->theta[OAT_TAU] = 2 * point->theta[OAT_TAU] * point->theta[OAT_TAU] * d_noise;
}

static oatgp_status full_evaluate(oat_objective *objective, const oat_point *point, double *value, oat_gradient *gradient) {
  full_objective *o = own(objective);
  const oat_rows *rows = objective->config.rows;
  const oat_covariance cov = oat_covariance_at(objective->config.kernel, rows->d, point->theta);
  build(o, &cov, point);
  objective->pivot = oat_cholesky(rows->n, o->k);
  tell(o, gradient != NULL ? FACTORISED : 1);
  if (objective->pivot != 0 || solve_right_sides(o) != OATGP_OK) {
    return OATGP_NUMERIC;
  }
  *value = -0.5 * ((double)rows->n * log(OAT_TWO_PI) + oat_dot(rows->n, o->c, o->c)) - oat_log_diagonal(rows->n, o->k);
  if (gradient != NULL) {
    differentiate(o, &cov, point, gradient);
  }
  return OATGP_OK;
}

double oat_full_left_out(const oat_objective *objective) {
  const full_objective *o = (const full_objective *)objective;
  const size_t n = objective->config.rows->n, p = objective->config.rows->p;
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    const double precision = o->k[i * (n + 1)];
    for (size_t j = 0; j < p; j++) {
      o->row[j] = o->c_all[i + (1 + j) * n];
    }
    const double left = fmax(1 - oat_gls_quadratic(&o->gls, o->row, o->row) / precision, DBL_EPSILON), error = o->a[i] / left;
    /* `error` is that times the precision */
    sum += 0.5 * (log(precision / OAT_TWO_PI) - error * error / precision);
  }
  return sum;
}

const oat_objective_table oat_objective_full = {full_create, full_evaluate, full_destroy, NULL};
