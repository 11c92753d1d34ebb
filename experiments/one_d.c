/* See one_d.h. */
#include "one_d.h"

#include <math.h>
#include <stdlib.h>

#include "util/memory.h"

enum { FULL_SIZE = 300, QUICK_SIZE = 100, SWEEPS = 40 };
#define SIGMA 2.0
#define TAU 1.0
#define LENGTHSCALE 1.0
#define JITTER 1e-6

/* Rotates rows and columns p and q of the symmetric matrix a, so that a_pq becomes 0, and the columns of v with
 * them. */
static void rotate(size_t n, double *a, double *v, size_t p, size_t q) {
  const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
  const double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
  for (size_t i = 0; i < n; i++) {
    const double x = a[i * n + p], y = a[i * n + q];
    a[i * n + p] = c * x - s * y;
    a[i * n + q] = s * x + c * y;
  }
  for (size_t i = 0; i < n; i++) {
    const double x = a[p * n + i], y = a[q * n + i], vx = v[i * n + p], vy = v[i * n + q];
    a[p * n + i] = c * x - s * y;
    a[q * n + i] = s * x + c * y;
    v[i * n + p] = c * vx - s * vy;
    v[i * n + q] = s * vx + c * vy;
  }
}

/* Eigenvalues on the diagonal of a, eigenvectors in the columns of v: Jacobi's method, a few sweeps of O(n^3). */
static void eigen(size_t n, double *a, double *v) {
  for (size_t i = 0; i < n; i++) {
    v[i * n + i] = 1;
  }
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < SWEEPS; sweep++) {
    rotated = false;
    for (size_t p = 0; p < n; p++) {
      for (size_t q = p + 1; q < n; q++) {
        if (fabs(a[p * n + q]) > 1e-16 * SIGMA * SIGMA) {
          rotate(n, a, v, p, q);
          rotated = true;
        }
      }
    }
  }
}

/* f = A^1/2 z with the symmetric root of A = V diag V^T, which is the one that R's rmvnorm uses. */
static void root_times(size_t n, const double *a, const double *v, const double *z, double *f) {
  for (size_t l = 0; l < n; l++) {
    double weight = 0;
    for (size_t i = 0; i < n; i++) {
      weight += v[i * n + l] * z[i];
    }
    weight *= sqrt(fmax(a[l * n + l], 0));
    for (size_t i = 0; i < n; i++) {
      f[i] += weight * v[i * n + l];
    }
  }
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void fill_covariance(const one_d *set, double *a) {
  for (size_t i = 0; i < set->n; i++) {
    for (size_t j = 0; j < set->n; j++) {
      const double e = (set->x[i] - set->x[j]) / LENGTHSCALE;
      a[i * set->n + j] = SIGMA * SIGMA * exp(-0.5 * e * e) + (i == j ? JITTER : 0);
    }
  }
}

oatgp_status one_d_make(oatgp_context *ctx, bool quick, one_d *out) {
  one_d set = {.n = quick ? QUICK_SIZE : FULL_SIZE};
  const size_t n = set.n;
  double *a = NULL, *v = NULL, *z = NULL;
  draw d;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, n, 1, &set.x));
  TRY(oat_new_matrix(ctx, n, 1, &set.y));
  TRY(oat_new_matrix(ctx, n, n, &a));
  TRY(oat_new_matrix(ctx, n, n, &v));
  TRY(oat_new_matrix(ctx, n, 1, &z));
  draw_seed(&d, ONE_D_SEED);
  for (size_t i = 0; i < n; i++) {
    set.x[i] = 10 * draw_uniform(&d);
  }
  qsort(set.x, n, sizeof *set.x, compare);
  for (size_t i = 0; i < n; i++) {
    z[i] = draw_normal(&d);
  }
  fill_covariance(&set, a);
  eigen(n, a, v);
  root_times(n, a, v, z, set.y);
  for (size_t i = 0; i < n; i++) {
    set.y[i] += TAU * draw_normal(&d);
  }
  TRY(oatgp_data_create(ctx, n, 1, set.x, set.y, &set.data));
  *out = set;
done:
  if (status != OATGP_OK) {
    one_d_free(&set);
  }
  free(a);
  free(v);
  free(z);
  return status;
}

void one_d_free(one_d *set) {
  free(set->x);
  free(set->y);
  oatgp_data_free(set->data);
  *set = (one_d){0};
}

void one_d_settings(oatgp_settings *settings) {
  settings->kernel = "se";
  settings->scale = 0;
  settings->mean = "0";
  settings->sigma = SIGMA;
  settings->tau = TAU;
  settings->lengthscale = "1";
  settings->jitter_absolute = JITTER;
}

oatgp_status one_d_predict(oatgp_context *ctx, const oatgp_model *model, curve *out) {
  oatgp_data *data = NULL;
  double variance[GRID];
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < GRID; i++) {
    out->x[i] = 10.0 * (double)i / (GRID - 1);
  }
  TRY(oatgp_data_create(ctx, GRID, 1, out->x, NULL, &data));
  TRY(oatgp_predict(ctx, model, data, &(oatgp_prediction){.mean = out->mean, .variance = variance}));
  const double width = oatgp_normal_quantile(0.975);
  for (size_t i = 0; i < GRID; i++) {
    out->low[i] = out->mean[i] - width * sqrt(variance[i]);
    out->high[i] = out->mean[i] + width * sqrt(variance[i]);
  }
done:
  oatgp_data_free(data);
  return status;
}
