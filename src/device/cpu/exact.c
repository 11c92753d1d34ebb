/* The exact GP of the rows: S = K + D in one n x n matrix, which its factor and then its inverse take the place of.
 *
 * The BLAS has threads of its own here; the rest is small beside it. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"

/* How much of an evaluation with its gradient is done after each of its parts, about. */
#define BUILT 0.05
#define FACTORISED 0.35
#define INVERTED 0.95

void oat_cpu_take_exact(oat_cpu *cpu) {
  const size_t n = cpu->rows->n, p = cpu->rows->p, work = oat_kernel_work(n, OAT_CPU_COLUMNS, cpu->rows->d);
  oat_scratch *memory = &cpu->memory;
  cpu->exact = (oat_cpu_exact){.s = oat_take_doubles(memory, n, n),
                               .panel = oat_take_doubles(memory, n, OAT_CPU_COLUMNS),
                               .cross = oat_take_doubles(memory, n, OAT_CPU_COLUMNS),
                               .slope = oat_take_doubles(memory, n, OAT_CPU_COLUMNS),
                               .solved = oat_take_doubles(memory, n, 1 + p),
                               .c = oat_take_doubles(memory, n, 1),
                               .a = oat_take_doubles(memory, n, 1),
                               .basis = oat_take_doubles(memory, p, 1),
                               .work = oat_take_doubles(memory, work, 1)};
}

/* ---- columns of the matrix --------------------------------------------------------------------------------------- */

/* Some columns of the lower triangle: those of the rows z, from the first of them down. */
typedef struct columns {
  size_t first, count, height;
  oat_points x, z;
} columns;

static columns columns_from(const oat_rows *rows, size_t first) {
  const size_t height = rows->n - first, count = height < OAT_CPU_COLUMNS ? height : OAT_CPU_COLUMNS;
  const double *x = rows->x + first;
  return (columns){first, count, height, {x, height, rows->n}, {x, count, rows->n}};
}

static void tell(const oat_cpu *cpu, double share) {
  const size_t n = cpu->rows->n;
  oat_tell_progress(cpu->ctx, "evaluation", (size_t)(share * (double)n + 0.5), n);
}

/* The lower triangle of K. It is that much of what progress is told of; 0: of nothing. */
static void build(const oat_cpu *cpu, const oat_covariance *cov, double share, double *k, double *work) {
  const size_t n = cpu->rows->n;
  for (size_t first = 0; first < n; first += OAT_CPU_COLUMNS) {
    const columns at = columns_from(cpu->rows, first);
    oat_kernel_cross(cov, at.x, at.z, k + first * (n + 1), n, work);
    if (share > 0) {
      tell(cpu, share * (double)(first + at.count) / (double)n);
    }
  }
}

/* solved <- L^-1 R, gram <- R^T S^-1 R */
static void solve_right_sides(const oat_cpu *cpu, const double *l, double *solved, double *gram) {
  const size_t n = cpu->rows->n, width = 1 + cpu->rows->p;
  const oat_view all = {solved, n, width, n};
  memcpy(solved, cpu->rows->r, n * width * sizeof *solved);
  oat_solve_left(l, n, OAT_PLAIN, all, cpu->config.where.threads);
  oat_gemm(1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 0, oat_square(gram, width));
}

/* ---- the value --------------------------------------------------------------------------------------------------- */

oatgp_status oat_cpu_exact_sums(oat_device *device, const oat_exact *exact, oat_exact_sums *out) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  const double jitter = oat_kernel_share(&exact->cov, all.x, exact->jitter);
  double *s = cpu->exact.s;
  build(cpu, &exact->cov, BUILT, s, cpu->exact.work);
  for (size_t i = 0; i < all.n; i++) {
    s[i * (all.n + 1)] += jitter + oat_block_noise(&all, exact->tau, i);
  }
  out->pivot = oat_cholesky(all.n, s, cpu->config.where.threads);
  tell(cpu, exact->gradient ? FACTORISED : 1);
  if (out->pivot != 0) {
    return OATGP_NUMERIC;
  }
  out->log_diagonal = oat_log_diagonal(all.n, s);
  solve_right_sides(cpu, s, cpu->exact.solved, out->gram);
  return OATGP_OK;
}

oatgp_status oat_cpu_exact_quadratic(oat_device *device, const double *coefficient, double *quadratic) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const oat_cpu_exact *e = &cpu->exact;
  const size_t n = cpu->rows->n;
  memcpy(e->c, e->solved, n * sizeof *e->c);
  for (size_t j = 0; j < cpu->rows->p; j++) {
    for (size_t i = 0; i < n; i++) {
      e->c[i] -= coefficient[j] * e->solved[i + (1 + j) * n];
    }
  }
  *quadratic = oat_dot(n, e->c, e->c);
  return OATGP_OK;
}

/* ---- the gradient ------------------------------------------------------------------------------------------------ */

/* panel = dF/dS for the lower triangle of these columns, twice off the diagonal and nothing above it. */
static void fill_panel(const oat_cpu *cpu, const columns *at) {
  const oat_cpu_exact *e = &cpu->exact;
  for (size_t c = 0; c < at->count; c++) {
    const double *inverse = e->s + at->first + (at->first + c) * cpu->rows->n, *a = e->a + at->first;
    double *column = e->panel + c * at->height;
    memset(column, 0, c * sizeof *column);
    for (size_t i = c; i < at->height; i++) {
      column[i] = a[i] * a[c] - inverse[i];
    }
    column[c] *= 0.5;
  }
}

static void add_panel(const oat_cpu *cpu, const oat_covariance *cov, const columns *at, oat_exact_gradient *out) {
  const oat_cpu_exact *e = &cpu->exact;
  fill_panel(cpu, at);
  oat_kernel_cross_slopes(cov, at->x, at->z, e->cross, e->slope, at->height, e->work);
  out->signal += oat_dot(at->height * at->count, e->panel, e->cross);
  oat_kernel_cross_adjoint(cov, at->x, at->z, e->panel, e->slope, at->height, e->work, &out->kernel);
}

/* What is on the diagonal besides K. */
static void add_diagonal(const oat_cpu *cpu, const oat_exact *exact, oat_exact_gradient *out) {
  const oat_cpu_exact *e = &cpu->exact;
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  double sum = 0;
  for (size_t i = 0; i < all.n; i++) {
    const double slope = 0.5 * (e->a[i] * e->a[i] - e->s[i * (all.n + 1)]);
    out->noise += slope * oat_block_noise_scale(&all, i);
    sum += slope;
  }
  out->signal += exact->jitter * oat_kernel_share(&exact->cov, all.x, 1) * sum;
}

oatgp_status oat_cpu_exact_gradient(oat_device *device, const oat_exact *exact, oat_exact_gradient *out) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const oat_cpu_exact *e = &cpu->exact;
  const size_t n = cpu->rows->n;
  memcpy(e->a, e->c, n * sizeof *e->a);
  oat_solve_left(e->s, n, OAT_TRANSPOSED, (oat_view){e->a, n, 1, n}, cpu->config.where.threads);
  oat_solve_left(e->s, n, OAT_TRANSPOSED, (oat_view){e->solved, n, 1 + cpu->rows->p, n}, cpu->config.where.threads);
  oat_cholesky_inverse(n, e->s, cpu->config.where.threads);
  tell(cpu, INVERTED);
  out->signal = out->noise = 0;
  for (size_t first = 0; first < n; first += OAT_CPU_COLUMNS) {
    const columns at = columns_from(cpu->rows, first);
    add_panel(cpu, &exact->cov, &at, out);
    tell(cpu, INVERTED + (1 - INVERTED) * (double)(first + at.count) / (double)n);
  }
  add_diagonal(cpu, exact, out);
  return OATGP_OK;
}

/* ---- rows left out ----------------------------------------------------------------------------------------------- */

oatgp_status oat_cpu_exact_left_out(oat_device *device, const oat_gls *gls, double *density) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const oat_cpu_exact *e = &cpu->exact;
  const size_t n = cpu->rows->n;
  *density = 0;
  for (size_t i = 0; i < n; i++) {
    const double precision = e->s[i * (n + 1)];
    for (size_t j = 0; j < cpu->rows->p; j++) {
      e->basis[j] = e->solved[i + (1 + j) * n];
    }
    const double left = fmax(1 - oat_gls_quadratic(gls, e->basis, e->basis) / precision, DBL_EPSILON);
    const double error = e->a[i] / left; /* times the precision */
    *density += 0.5 * (log(precision / OAT_TWO_PI) - error * error / precision);
  }
  return OATGP_OK;
}

/* The squared columns of L^-1, some columns at a time. */
static void inverse_diagonal(const oat_cpu *cpu, const double *l, double *panel, double *diagonal) {
  const size_t n = cpu->rows->n;
  for (size_t first = 0; first < n; first += OAT_CPU_COLUMNS) {
    const size_t count = columns_from(cpu->rows, first).count;
    memset(panel, 0, n * count * sizeof *panel);
    for (size_t c = 0; c < count; c++) {
      panel[first + c + c * n] = 1;
    }
    oat_solve_left(l, n, OAT_PLAIN, (oat_view){panel, n, count, n}, cpu->config.where.threads);
    for (size_t c = 0; c < count; c++) {
      diagonal[first + c] = oat_dot(n, panel + c * n, panel + c * n);
    }
    oat_tell_progress(cpu->ctx, "leave-one-out", first + count, n);
  }
}

oatgp_status oat_cpu_exact_rows(oat_device *device, const double *l, const oat_exact_rows *out) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = cpu->rows->n;
  double *panel = NULL;
  const oatgp_status status = oat_new_matrix(cpu->ctx, n, OAT_CPU_COLUMNS, &panel);
  if (status == OATGP_OK) {
    solve_right_sides(cpu, l, out->solved, out->gram);
    oat_solve_left(l, n, OAT_TRANSPOSED, (oat_view){out->solved, n, 1 + cpu->rows->p, n}, cpu->config.where.threads);
    inverse_diagonal(cpu, l, panel, out->precision);
  }
  free(panel);
  return status;
}

/* ---- the factor alone -------------------------------------------------------------------------------------------- */

oatgp_status oat_cpu_factor(oat_device *device, const oat_covariance *cov, const double *diagonal, double *l, size_t *pivot) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = cpu->rows->n;
  double *work = NULL;
  const oatgp_status status = oat_new_matrix(cpu->ctx, oat_kernel_work(n, OAT_CPU_COLUMNS, cpu->rows->d), 1, &work);
  if (status != OATGP_OK) {
    return status;
  }
  build(cpu, cov, 0, l, work);
  free(work);
  for (size_t i = 0; i < n; i++) {
    l[i * (n + 1)] += diagonal[i];
  }
  *pivot = oat_cholesky(n, l, cpu->config.where.threads);
  return *pivot == 0 ? OATGP_OK : OATGP_NUMERIC;
}
