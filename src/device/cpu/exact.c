/* The exact GP of the rows: S = K + D in one n x n matrix, which is overwritten by its factor and then by its inverse.
 *
 * K, and the sums with it, are computed in lanes, tile by tile of the lower triangle. linalg/tiles.c works on the
 * matrix itself. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/cpu.h"

/* The approximate share of an evaluation with gradient that is done after each part. */
#define BUILT 0.05
#define FACTORISED 0.35
#define INVERTED 0.95

enum { ROWS = 256, COLUMNS = 64 }; /* of a tile */

/* ---- tiles of the lower triangle ------------------------------------------------------------------------------- */

/* Columns below the diagonal, in parts; the first part has the square on the diagonal at its top. */
typedef struct tile {
  size_t row, column; /* of its first element */
  oat_points x, z;
} tile;

static size_t parts_of(size_t n, size_t column) { return (n - column + ROWS - 1) / ROWS; }

static size_t tiles_of(size_t n) {
  size_t tiles = 0;
  for (size_t column = 0; column < n; column += COLUMNS) {
    tiles += parts_of(n, column);
  }
  return tiles;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static tile tile_at(const oat_rows *rows, size_t item) {
  const size_t n = rows->n;
  size_t column = 0;
  while (item >= parts_of(n, column)) {
    item -= parts_of(n, column);
    column += COLUMNS;
  }
  const size_t row = column + item * ROWS;
  return (tile){
      row, column, {rows->x + row, least(ROWS, n - row), n}, {rows->x + column, least(COLUMNS, n - column), n}};
}

static size_t workers_of(const oat_cpu *cpu) {
  return oat_workers_for(oat_lanes_for(tiles_of(cpu->rows->n)), cpu->config.where.threads);
}

static size_t work_of_tile(const oat_cpu *cpu) {
  return oat_kernel_work(cpu->config.kernel, ROWS, COLUMNS, cpu->rows->d);
}

/* A loop over the tiles; returns its lanes. */
static size_t run_tiles(const oat_cpu *cpu, void (*item)(void *self, size_t lane, size_t item), void *self) {
  const size_t n = cpu->rows->n, tiles = tiles_of(n), lanes = oat_lanes_for(tiles);
  oat_loop_run(&(oat_loop){.items = tiles,
                           .lanes = lanes,
                           .workers = workers_of(cpu),
                           .threads = cpu->config.where.threads,
                           .flops = (double)n * (double)n / 2 * (3 * (double)cpu->rows->d + 25),
                           .item = item,
                           .self = self});
  return lanes;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* The scratch of one worker. */
typedef struct place {
  double *panel, *cross, *slope; /* ROWS x COLUMNS each: dF/dS, and of the kernel k and phi' */
  double *work;                  /* of the kernel */
} place;

static size_t place_size(const oat_cpu *cpu) { return 3 * ROWS * COLUMNS + work_of_tile(cpu); }

static place place_of(const oat_cpu *cpu) {
  double *room = cpu->exact.room + oat_worker() * place_size(cpu);
  const size_t each = ROWS * COLUMNS;
  return (place){room, room + each, room + 2 * each, room + 3 * each};
}

/* Sums of a lane: derivatives in theta and in the signal; or the leave-one-out density, with its scratch. */
static size_t sums_size(const oat_cpu *cpu) {
  const size_t slopes = oat_cpu_thetas(cpu) + 1, density = 1 + cpu->rows->p;
  return slopes > density ? slopes : density;
}

static double *sums_of(const oat_cpu *cpu, size_t lane) { return cpu->exact.sums + lane * sums_size(cpu); }

void oat_cpu_take_exact(oat_cpu *cpu) {
  const size_t n = cpu->rows->n, p = cpu->rows->p;
  oat_scratch *memory = &cpu->memory;
  cpu->exact = (oat_cpu_exact){.s = oat_take_doubles(memory, n, n),
                               .solved = oat_take_doubles(memory, n, 2 + p),
                               .c = oat_take_doubles(memory, n, 1),
                               .sums = oat_take_doubles(memory, OAT_MOST_LANES, sums_size(cpu)),
                               .room = oat_take_doubles(memory, workers_of(cpu), place_size(cpu))};
  cpu->exact.a = memory->status == OATGP_OK ? cpu->exact.solved + n * (1 + p) : NULL;
}

static void tell(const oat_cpu *cpu, double share) {
  const size_t n = cpu->rows->n;
  oat_tell_progress(cpu->ctx, "evaluation", (size_t)(share * (double)n + 0.5), n);
}

/* ---- the matrix ------------------------------------------------------------------------------------------------ */

typedef struct building {
  const oat_cpu *cpu;
  oat_covariance cov;
  double *k;
  double *work; /* of the kernel, for each worker */
  size_t stride;
} building;

static void build_tile(void *self, size_t lane, size_t item) {
  const building *b = self;
  (void)lane;
  const size_t n = b->cpu->rows->n;
  const tile at = tile_at(b->cpu->rows, item);
  oat_kernel_cross(&b->cov, at.x, at.z, b->k + at.row + at.column * n, n, b->work + oat_worker() * b->stride);
}

/* Rows may almost coincide. */
static oat_covariance among_rows(const oat_covariance *cov) {
  oat_covariance same = *cov;
  same.among = true;
  return same;
}

/* The lower triangle of K; `stride` doubles for each worker in `work`. */
static void build(const oat_cpu *cpu, const oat_covariance *cov, double *k, double *work, size_t stride) {
  building b = {cpu, among_rows(cov), k, work, stride};
  run_tiles(cpu, build_tile, &b);
}

/* solved <- L^-1 R, gram <- R^T S^-1 R */
static void solve_right_sides(const oat_cpu *cpu, const double *l, double *solved, double *gram) {
  const size_t n = cpu->rows->n, width = 1 + cpu->rows->p;
  const oat_view all = {solved, n, width, n};
  memcpy(solved, cpu->rows->r, n * width * sizeof *solved);
  oat_solve_left(l, n, OAT_PLAIN, all, cpu->config.where.threads);
  oat_gemm(1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 0, oat_square(gram, width));
}

/* ---- the value ------------------------------------------------------------------------------------------------- */

oatgp_status oat_cpu_exact_sums(oat_device *device, const oat_exact *exact, oat_exact_sums *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  const double jitter = oat_kernel_share(&exact->cov, all.x, exact->jitter);
  double *s = cpu->exact.s;
  cpu->exact.inverted = false;
  build(cpu, &exact->cov, s, cpu->exact.room, place_size(cpu));
  tell(cpu, BUILT);
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

/* ---- the gradient ---------------------------------------------------------------------------------------------- */

/* panel = dF/dS for a tile of the lower triangle, twice off the diagonal and nothing above it. */
static void fill_panel(const oat_cpu *cpu, const tile *at, double *panel) {
  const bool diagonal = at->row == at->column;
  const double *a = cpu->exact.a + at->row;
  for (size_t c = 0; c < at->z.n; c++) {
    const double *inverse = cpu->exact.s + at->row + (at->column + c) * cpu->rows->n,
                 other = cpu->exact.a[at->column + c];
    double *column = panel + c * at->x.n;
    const size_t first = diagonal ? c : 0;
    memset(column, 0, first * sizeof *column);
    for (size_t i = first; i < at->x.n; i++) {
      column[i] = a[i] * other - inverse[i];
    }
    column[c] *= diagonal ? 0.5 : 1;
  }
}

typedef struct slopes {
  const oat_cpu *cpu;
  oat_covariance cov;
} slopes;

/* Behind its derivatives in theta, a lane has that in the signal. */
static void add_tile(void *self, size_t lane, size_t item) {
  const slopes *g = self;
  const oat_cpu *cpu = g->cpu;
  const size_t count = oat_cpu_thetas(cpu);
  const tile at = tile_at(cpu->rows, item);
  const place own = place_of(cpu);
  oat_kernel_gradient sums = {.theta = sums_of(cpu, lane)};
  if (item == lane) {
    memset(sums.theta, 0, (count + 1) * sizeof *sums.theta);
  }
  fill_panel(cpu, &at, own.panel);
  if (!oat_covariance_is_tree(&g->cov)) { /* because it needs neither the slopes nor the signal */
    oat_kernel_cross_slopes(&g->cov, at.x, at.z, own.cross, own.slope, at.x.n, own.work);
    sums.theta[count] += oat_dot(at.x.n * at.z.n, own.panel, own.cross);
  }
  oat_kernel_cross_adjoint(&g->cov, at.x, at.z, own.panel, own.slope, at.x.n, own.work, &sums);
}

static void add_tiles(const oat_cpu *cpu, const oat_covariance *cov, oat_exact_gradient *out) {
  const oat_kernel kernel = oat_covariance_kernel(cov);
  const size_t most = oat_cpu_thetas(cpu), count = oat_theta_count(&kernel, cpu->rows->d);
  slopes g = {cpu, among_rows(cov)};
  const size_t lanes = run_tiles(cpu, add_tile, &g);
  for (size_t lane = 0; lane < lanes; lane++) {
    const double *own = sums_of(cpu, lane);
    for (size_t i = 0; i < count; i++) {
      out->kernel.theta[i] += own[i];
    }
    out->signal += own[most];
  }
}

/* The diagonal besides K. */
static void add_diagonal(const oat_cpu *cpu, const oat_exact *exact, oat_exact_gradient *out) {
  const oat_cpu_exact *e = &cpu->exact;
  const oat_row_block all = oat_rows_block(cpu->rows, cpu->rows->n, 0);
  double sum = 0;
  for (size_t i = 0; i < all.n; i++) {
    const double slope = 0.5 * (e->a[i] * e->a[i] - e->s[i * (all.n + 1)]);
    out->noise += slope * oat_block_noise_scale(&all, i);
    sum += slope;
  }
  if (!oat_covariance_is_tree(&exact->cov)) {
    out->signal += exact->jitter * oat_kernel_share(&exact->cov, all.x, 1) * sum;
    return;
  }
  for (size_t i = 0; i < all.n; i++) {
    e->c[i] = exact->jitter * sum / (double)all.n;
  }
  oat_kernel_diagonal_adjoint(&exact->cov, all.x, e->c, &out->kernel);
}

void oat_cpu_invert(oat_cpu *cpu) {
  oat_cpu_exact *e = &cpu->exact;
  const size_t n = cpu->rows->n;
  const int threads = cpu->config.where.threads;
  if (e->inverted) {
    return;
  }
  memcpy(e->a, e->c, n * sizeof *e->a);
  oat_solve_left(e->s, n, OAT_TRANSPOSED, (oat_view){e->solved, n, 2 + cpu->rows->p, n}, threads);
  oat_cholesky_inverse(n, e->s, e->s, threads);
  e->inverted = true;
}

oatgp_status oat_cpu_exact_gradient(oat_device *device, const oat_exact *exact, oat_exact_gradient *out) {
  oat_cpu *cpu = oat_cpu_of(device);
  oat_cpu_invert(cpu);
  tell(cpu, INVERTED);
  out->signal = out->noise = 0;
  add_tiles(cpu, &exact->cov, out);
  add_diagonal(cpu, exact, out);
  tell(cpu, 1);
  return OATGP_OK;
}

/* ---- rows left out --------------------------------------------------------------------------------------------- */

typedef struct leaving {
  const oat_cpu *cpu;
  const oat_gls *gls;
  const oat_response *response;
} leaving;

/* The log density of a row. `error` is that of its site's target, predicted with this precision. */
static double answer_density(const leaving *l, size_t i, double error, double precision) {
  const oat_row_block all = oat_rows_block(l->cpu->rows, l->cpu->rows->n, 0);
  return oat_cpu_answer_density(l->response, &all, i, all.r[i] - error, 1 / precision - all.noise_scale[i]);
}

/* The log density of some rows, each given all others. */
static void leave_rows(void *self, size_t lane, size_t item) {
  const leaving *l = self;
  const oat_cpu_exact *e = &l->cpu->exact;
  const size_t n = l->cpu->rows->n, first = item * ROWS, end = first + least(ROWS, n - first);
  double *density = sums_of(l->cpu, lane), *basis = density + 1;
  if (item == lane) {
    *density = 0;
  }
  for (size_t i = first; i < end; i++) {
    const double precision = e->s[i * (n + 1)];
    for (size_t j = 0; j < l->cpu->rows->p; j++) {
      basis[j] = e->solved[i + (1 + j) * n];
    }
    const double left = fmax(1 - oat_gls_quadratic(l->gls, basis, basis) / precision, DBL_EPSILON);
    const double error = e->a[i] / left; /* times the precision */
    *density += l->response != NULL ? answer_density(l, i, error / precision, precision)
                                    : 0.5 * (log(precision / OAT_TWO_PI) - error * error / precision);
  }
}

oatgp_status oat_cpu_exact_left_out(oat_device *device, const oat_gls *gls, const oat_response *response,
                                    double *density) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = cpu->rows->n, p = cpu->rows->p, items = (n + ROWS - 1) / ROWS, lanes = oat_lanes_for(items);
  leaving l = {cpu, gls, response};
  oat_loop_run(&(oat_loop){.items = items,
                           .lanes = lanes,
                           .threads = cpu->config.where.threads,
                           .flops = (double)n * (double)(p * p + 1000),
                           .item = leave_rows,
                           .self = &l});
  *density = 0;
  for (size_t lane = 0; lane < lanes; lane++) {
    *density += *sums_of(cpu, lane);
  }
  return OATGP_OK;
}

typedef struct inverting {
  const oat_cpu *cpu;
  const double *l;
  double *panels; /* n x COLUMNS for each worker */
  size_t workers;
  double *diagonal;
} inverting;

/* The squares of some columns of L^-1, which has nothing above its diagonal. */
static void invert_columns(void *self, size_t lane, size_t item) {
  const inverting *v = self;
  (void)lane;
  const size_t n = v->cpu->rows->n, first = item * COLUMNS, height = n - first, count = least(COLUMNS, height);
  double *panel = v->panels + oat_worker() * n * COLUMNS;
  memset(panel, 0, height * count * sizeof *panel);
  for (size_t c = 0; c < count; c++) {
    panel[c * (height + 1)] = 1;
  }
  oat_trsm(OAT_FROM_LEFT, (oat_const_view){v->l + first * (n + 1), height, height, n}, OAT_PLAIN,
           (oat_view){panel, height, count, height});
  for (size_t c = 0; c < count; c++) {
    v->diagonal[first + c] = oat_dot(height, panel + c * height, panel + c * height);
  }
}

static oatgp_status inverse_diagonal(const oat_cpu *cpu, const double *l, double *diagonal) {
  const size_t n = cpu->rows->n, items = (n + COLUMNS - 1) / COLUMNS, lanes = oat_lanes_for(items);
  inverting v = {
      .cpu = cpu, .l = l, .workers = oat_workers_for(lanes, cpu->config.where.threads), .diagonal = diagonal};
  const oatgp_status status = oat_new_matrix(cpu->ctx, n, v.workers * COLUMNS, &v.panels);
  if (status == OATGP_OK) {
    oat_loop_run(&(oat_loop){.ctx = cpu->ctx,
                             .what = "leave-one-out",
                             .items = items,
                             .lanes = lanes,
                             .workers = v.workers,
                             .rows = n,
                             .threads = cpu->config.where.threads,
                             .flops = (double)n * (double)n * (double)n / 3,
                             .item = invert_columns,
                             .self = &v});
  }
  free(v.panels);
  return status;
}

oatgp_status oat_cpu_exact_rows(oat_device *device, const double *l, const oat_exact_rows *out) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = cpu->rows->n;
  solve_right_sides(cpu, l, out->solved, out->gram);
  oat_solve_left(l, n, OAT_TRANSPOSED, (oat_view){out->solved, n, 1 + cpu->rows->p, n}, cpu->config.where.threads);
  return inverse_diagonal(cpu, l, out->precision);
}

/* ---- the factor alone ------------------------------------------------------------------------------------------ */

oatgp_status oat_cpu_factor(oat_device *device, const oat_covariance *cov, const double *diagonal, double *l,
                            size_t *pivot) {
  const oat_cpu *cpu = oat_cpu_of(device);
  const size_t n = cpu->rows->n, stride = work_of_tile(cpu);
  double *work = NULL;
  const oatgp_status status = oat_new_matrix(cpu->ctx, workers_of(cpu), stride, &work);
  if (status != OATGP_OK) {
    return status;
  }
  build(cpu, cov, l, work, stride);
  free(work);
  for (size_t i = 0; i < n; i++) {
    l[i * (n + 1)] += diagonal[i];
  }
  *pivot = oat_cholesky(n, l, cpu->config.where.threads);
  return *pivot == 0 ? OATGP_OK : OATGP_NUMERIC;
}
