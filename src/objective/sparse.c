/* The objective of every sparse model, by two passes over the rows (device.h: sums and gradient sums) with K x K work
 * between and after them.
 *
 *   B = I + sum w v v^T,  LB LB^T = B,  b = sum w v r,  c = LB^-1 b,  e = B^-1 b
 *   F = -N/2 log 2 pi - 1/2 sum log lambda - sum log diag LB - 1/2 sum w r^2 + 1/2 |c|^2 + penalty
 * The gradient uses adjoints: dKfu row by row in the second pass, dKuu through the Cholesky factor from S = sum dv v^T.
 * Time O(N K^2 + N K d), memory O(block K + K^2); nothing is allocated during an evaluation. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "objective/sites.h"
#include "objective/sparse.h"
#include "util/ranks.h"
#include "util/lanes.h"
#include "util/machine.h"

#define MOST_ROUNDINGS 64 /* rounding errors of B that may be added to its diagonal */

static oat_sparse_objective *own(oat_objective *objective) { return (oat_sparse_objective *)objective; }

static int threads_of(const oat_sparse_objective *o) { return o->base.config.where.threads; }

/* The sums are contiguous for the number of knots that there are now. */
static void shape_sums(oat_sparse_objective *o) {
  const oat_rows *rows = o->base.config.rows;
  const size_t theta = oat_theta_most(oat_kernel_size_of(o->base.config.kernel), oat_rows_inputs(rows));
  o->sums = oat_sums_over(o->sums.vwv, o->base.config.k, oat_rows_basis(rows));
  o->gradient_sums =
      oat_gradient_sums_over(o->gradient_sums.kernel.theta, theta, o->base.config.k, oat_rows_inputs(rows));
}

/* Takes all memory, for the capacity. */
static oatgp_status take_all(oat_sparse_objective *o) {
  const size_t k = o->base.config.capacity, d = oat_rows_inputs(o->base.config.rows),
               p = oat_rows_basis(o->base.config.rows);
  const oat_kernel_size size = oat_kernel_size_of(o->base.config.kernel);
  oat_scratch *memory = &o->base.memory;
  double **const squares[] = {&o->l, &o->lb, &o->binv, &o->m, &o->s, &o->slope};
  for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
    *squares[i] = oat_take_doubles(memory, k, k);
  }
  double **const vectors[] = {&o->rhs, &o->c, &o->e, &o->le};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    *vectors[i] = oat_take_doubles(memory, k, 1);
  }
  o->c_all = oat_take_doubles(memory, k, 1 + p);
  o->gram = oat_take_doubles(memory, 1 + p, 1 + p);
  double *gls = oat_take_doubles(memory, oat_gls_room(p), 1);
  o->coefficient = oat_take_doubles(memory, 1 + p, 1);
  o->mix = oat_take_doubles(memory, 1 + p, 1);
  o->z_grad = oat_take_doubles(memory, k, d);
  o->theta_grad = oat_take_doubles(memory, oat_theta_most(size, d), 1);
  o->room = oat_take_doubles(memory, oat_triangle_room(k), 1);
  o->team.threads = threads_of(o);
  o->team.work = oat_take_doubles(memory, oat_kernel_team_work(size, k, d, o->team.threads), 1);
  o->sums.vwv = oat_take_doubles(memory, oat_sums_count(k, p), 1);
  o->gradient_sums.kernel.theta = oat_take_doubles(memory, oat_gradient_sums_count(oat_theta_most(size, d), k, d), 1);
  o->gls = memory->status == OATGP_OK ? oat_gls_over(gls, p) : o->gls;
  return memory->status;
}

void oat_objective_resize(oat_objective *objective, size_t k) {
  objective->config.k = k;
  objective->factors.k = k;
  shape_sums(own(objective));
}

/* Neighbours may be any rows, so the results for all rows must be kept. */
static oatgp_status check_neighbours(oatgp_context *ctx, const oat_objective_config *config) {
  const double n = (double)oat_rows_total(config->rows), k = (double)config->capacity, m = (double)config->neighbours;
  const double bytes = oat_neighbour_bytes(n, k, m), most = (double)oat_machine_available();
  if (m == 0 || bytes <= most) {
    return OATGP_OK;
  }
  return oat_fail(ctx, OATGP_MEMORY,
                  "%.0f rows with %.0f knots and %.0f neighbours need %.3g GiB, but this machine has only %.3g GiB "
                  "free; use fewer knots or neighbours, or none",
                  n, k, m, bytes / 1073741824, most / 1073741824);
}

static oatgp_status sparse_open(oatgp_context *ctx, oat_objective *objective) {
  oat_sparse_objective *o = own(objective);
  oat_objective_config *config = &objective->config;
  oatgp_status status;
  config->capacity = config->capacity > config->k ? config->capacity : config->k;
  TRY(check_neighbours(ctx, config));
  TRY(take_all(o));
  shape_sums(o);
  const oat_device_config device = {.max_knots = config->capacity,
                                    .block = config->block,
                                    .memory = config->memory,
                                    .shared = oat_rank_count() > 1,
                                    .any_memory = config->any_memory,
                                    .neighbours = config->neighbours,
                                    .where = config->where,
                                    .kernel = oat_kernel_size_of(config->kernel),
                                    .fits = true};
  TRY(oat_device_open(ctx, &device, config->rows, &objective->device));
  objective->factors = (oat_factors){config->k, o->l, o->lb, o->c, o->coefficient, &o->sums};
done:
  return status;
}

/* ---- the value ------------------------------------------------------------------------------------------------- */

static oat_points knots_of(const oat_objective_config *config, const oat_point *point) {
  return (oat_points){point->z, config->k, config->k};
}

/* L L^T = K(Z, Z) + jitter I */
static oatgp_status factorise_kuu(oat_sparse_objective *o, const oat_point *point) {
  const oat_objective_config *config = &o->base.config;
  const oat_covariance cov = oat_covariance_at(config->kernel, oat_rows_inputs(config->rows), point->theta);
  const oat_points z = knots_of(config, point);
  oat_kernel_square_slopes(&cov, z, o->l, o->slope, &o->team);
  for (size_t i = 0; i < config->k; i++) {
    o->l[i * (config->k + 1)] += oat_jitter_variance(config, &cov, z, point->theta[OAT_TAU]);
  }
  o->base.pivot = oat_cholesky(config->k, o->l, threads_of(o));
  return o->base.pivot == 0 ? OATGP_OK : OATGP_NUMERIC;
}

/* LB LB^T = B. B is at least I, but when the signal is over 1e15 times the noise its sum has lost the I to rounding;
 * then the rounding error that the sum already has is added to its diagonal, and doubled until the factorisation goes
 * through. */
static oatgp_status factorise_b(oat_sparse_objective *o) {
  const size_t k = o->base.config.k;
  double largest = 0;
  for (size_t i = 0; i < k; i++) {
    largest = fmax(largest, 1 + o->sums.vwv[i * (k + 1)]);
  }
  const double rounding = (double)k * DBL_EPSILON * largest;
  const oat_lifts lifts = {.base = 1, .plain = true, .least = rounding, .factor = 2, .most = MOST_ROUNDINGS * rounding};
  o->base.pivot = oat_cholesky_lifted(k, o->sums.vwv, &lifts, o->lb, threads_of(o)).pivot;
  return o->base.pivot == 0 ? OATGP_OK : OATGP_NUMERIC;
}

/* The mean's coefficients by generalised least squares: R^T S^-1 R = rwr - C^T C for C = LB^-1 vwr. Then rhs = b and c
 * for the residual y - m - H coefficient; returns sum w r^2 of that residual. */
static oatgp_status solve_right_sides(oat_sparse_objective *o, double *rwr) {
  const size_t k = o->base.config.k, p = oat_rows_basis(o->base.config.rows), width = 1 + p;
  const oat_view all = {o->c_all, k, width, k};
  memcpy(o->c_all, o->sums.vwr, k * width * sizeof *o->c_all);
  oat_solve_left(o->lb, k, OAT_PLAIN, all, threads_of(o));
  memcpy(o->gram, o->sums.rwr, width * width * sizeof *o->gram);
  oat_gemm(-1, oat_as_const(all), OAT_TRANSPOSED, oat_as_const(all), OAT_PLAIN, 1, oat_square(o->gram, width));
  const oatgp_status status = oat_gls_factorise(&o->gls, o->gram, o->sums.rwr);
  if (status != OATGP_OK) {
    return status;
  }
  memcpy(o->coefficient, o->gram + 1, p * sizeof *o->coefficient);
  oat_gls_solve(&o->gls, o->coefficient);
  double *mix = o->mix;
  mix[0] = 1;
  for (size_t j = 0; j < p; j++) {
    mix[1 + j] = -o->coefficient[j];
  }
  oat_gemv(1, oat_as_const(all), OAT_PLAIN, mix, 0, o->c);
  oat_gemv(1, (oat_const_view){o->sums.vwr, k, width, k}, OAT_PLAIN, mix, 0, o->rhs);
  *rwr = 0;
  for (size_t j = 0; j < width; j++) {
    for (size_t i = 0; i < width; i++) {
      *rwr += mix[i] * o->sums.rwr[i + j * width] * mix[j];
    }
  }
  return OATGP_OK;
}

/* e = B^-1 b, le = L^-T e */
static void solve_e(oat_sparse_objective *o) {
  const size_t k = o->base.config.k;
  memcpy(o->e, o->c, k * sizeof *o->e);
  oat_solve_left(o->lb, k, OAT_TRANSPOSED, (oat_view){o->e, k, 1, k}, threads_of(o));
  memcpy(o->le, o->e, k * sizeof *o->e);
  oat_solve_left(o->l, k, OAT_TRANSPOSED, (oat_view){o->le, k, 1, k}, threads_of(o));
}

/* The leaves of L and binv = B^-1 */
static void invert(oat_sparse_objective *o) {
  const size_t k = o->base.config.k;
  o->triangle = oat_triangle_make(o->l, k, o->room, threads_of(o));
  oat_cholesky_inverse(k, o->lb, o->binv, threads_of(o));
  oat_symmetrise(k, o->binv, threads_of(o));
}

/* m = (gamma I - B^-1 - e e^T) L^-1, gamma 1 for vfe and 0 for dic, dtc and tvfe, whose rows differ in it */
static void rows_of_m(void *self, size_t first, oat_view rows) {
  const oat_sparse_objective *o = self;
  const double *e = o->e + first;
  for (size_t j = 0; j < rows.columns; j++) {
    const double *binv = o->binv + first + j * rows.ld;
    double *m = rows.a + j * rows.ld;
    for (size_t i = 0; i < rows.rows; i++) {
      m[i] = -binv[i] - e[i] * o->e[j];
    }
    if (j >= first && j - first < rows.rows) {
      m[j - first] += o->gamma;
    }
  }
}

static void collapsed_product(oat_sparse_objective *o) {
  oat_triangle_solve_rows(&o->triangle, OAT_PLAIN, oat_square(o->m, o->triangle.k), rows_of_m, o, threads_of(o));
}

/* The lower triangle of S = sum dv v^T with alpha = 0: B^-1 - I + e e^T (dic, dtc), and plus the part of the penalty: B
 * - I (vfe), a sum over rows (tvfe). */
static void column_of_s(void *self, size_t lane, size_t item) {
  const oat_sparse_objective *o = self;
  const size_t k = o->base.config.k;
  const double *binv = o->binv + item * k;
  double *s = o->s + item * k;
  (void)lane;
  for (size_t i = item; i < k; i++) {
    s[i] = (o->explained != NULL ? o->explained[i + item * k] : 0) + binv[i] + o->e[i] * o->e[item];
  }
  s[item] -= 1;
}

static void collapsed_s(oat_sparse_objective *o) {
  const size_t k = o->base.config.k;
  oat_loop_run(&(oat_loop){.items = k,
                           .lanes = oat_lanes_for(k),
                           .threads = threads_of(o),
                           .flops = OAT_FLOPS_OF_MEMORY * (double)k * (double)k,
                           .item = column_of_s,
                           .self = o});
}

/* P^T, P the lower triangle of -S with half its diagonal. */
static void rows_of_p(void *self, size_t first, oat_view rows) {
  const oat_sparse_objective *o = self;
  for (size_t j = 0; j < rows.columns; j++) {
    const double *s = o->s + j + first * rows.ld;
    double *p = rows.a + j * rows.ld;
    for (size_t i = 0; i < rows.rows; i++) {
      p[i] = first + i < j ? -s[i * rows.ld] : first + i == j ? -0.5 * s[i * rows.ld] : 0;
    }
  }
}

static void rows_of_m_transposed(void *self, size_t first, oat_view rows) {
  const oat_sparse_objective *o = self;
  for (size_t j = 0; j < rows.columns; j++) {
    const double *m = o->m + j + first * rows.ld;
    double *s = rows.a + j * rows.ld;
    for (size_t i = 0; i < rows.rows; i++) {
      s[i] = m[i * rows.ld];
    }
  }
}

/* dKuu = sym(L^-T P L^-1) in the place of S; m is free by now. */
static void cholesky_adjoint(oat_sparse_objective *o) {
  const oat_triangle *l = &o->triangle;
  const size_t k = l->k;
  oat_triangle_solve_rows(l, OAT_PLAIN, oat_square(o->m, k), rows_of_p, o, threads_of(o));
  oat_triangle_solve_rows(l, OAT_PLAIN, oat_square(o->s, k), rows_of_m_transposed, o, threads_of(o));
  oat_average_halves(k, o->s, threads_of(o));
}

static double trace(size_t k, const double *a) {
  double sum = 0;
  for (size_t i = 0; i < k; i++) {
    sum += a[i * (k + 1)];
  }
  return sum;
}

/* The change of the derivatives in log sigma and log tau by a jitter that is not just proportional to sigma^2. The soft
 * jitter h has the derivative 2 h^2 / (c tau^2) in log tau, and 2 h minus that in log sigma. */
typedef struct jitter_slopes {
  double log_sigma, log_tau;
} jitter_slopes;

static jitter_slopes slopes_of_jitter(const oat_objective_config *config, const oat_covariance *cov,
                                      const oat_point *point) {
  const double tau = point->theta[OAT_TAU], h = config->soft ? oat_soft_variance(cov, knots_of(config, point), tau) : 0;
  const double log_tau = h > 0 ? 2 * h * (h / (OAT_SOFT_TAU * tau * tau)) : 0;
  return (jitter_slopes){-2 * config->jitter_absolute - log_tau, log_tau};
}

/* The jitter of a tree is relative to the mean of k(z, z), which has derivatives of its own. The soft one has the
 * derivative (h / m)^2 in its part m that is relative to it. */
static void add_jitter(const oat_sparse_objective *o, const oat_covariance *cov, oat_points z, double d_jitter,
                       oat_kernel_gradient *total) {
  const oat_objective_config *config = &o->base.config;
  const double most = oat_kernel_share(cov, z, OAT_SOFT_SIGMA), tau = cov->theta[OAT_TAU];
  const double kept = config->soft && most > 0 ? oat_soft_variance(cov, z, tau) / most : 0;
  const double each = d_jitter * (config->jitter + OAT_SOFT_SIGMA * kept * kept) / (double)z.n;
  double *g = o->m; /* free by now */
  for (size_t i = 0; i < z.n; i++) {
    g[i] = each;
  }
  oat_kernel_diagonal_adjoint(cov, z, g, total);
}

/* The K x K work of a gradient that does not affect the input of the second pass. */
typedef struct square_work {
  oat_sparse_objective *o;
  const oat_point *point;
  bool inverse;             /* B^-1 is not computed yet */
  bool early;               /* S has a closed form: all of this may be done during the second pass */
  bool knots;               /* their derivative is wanted */
  bool begun;               /* the work that may be done during that pass is done */
  double trace_s, d_jitter; /* tr S; the derivative in the jitter */
} square_work;

/* Computes the part of the gradient through K(Z, Z), from S. */
static void differentiate_kuu(square_work *rest) {
  oat_sparse_objective *o = rest->o;
  const oat_objective_config *config = &o->base.config;
  const size_t k = config->k, d = oat_rows_inputs(config->rows);
  const oat_covariance cov = oat_covariance_at(config->kernel, d, rest->point->theta);
  oat_kernel_gradient part = {o->theta_grad, rest->knots ? o->z_grad : NULL};
  rest->trace_s = trace(k, o->s);
  cholesky_adjoint(o);
  rest->d_jitter = trace(k, o->s);
  memset(o->theta_grad, 0, oat_theta_count(config->kernel, d) * sizeof *o->theta_grad);
  memset(o->z_grad, 0, k * d * sizeof *o->z_grad);
  oat_kernel_square_adjoint(&cov, knots_of(config, rest->point), o->s, o->slope, &o->team, &part);
}

/* Adds that part, in which a knot is both arguments of K(Z, Z), and the jitter. Returns that in log sigma, of both K(X,
 * Z) and K(Z, Z), and in log tau: sum dKfu Kfu = tr S and sum dKuu (Kuu + jitter) = -1/2 tr S, because V depends on it
 * only through L. */
static jitter_slopes add_kuu(const square_work *rest, oat_kernel_gradient *total) {
  const oat_sparse_objective *o = rest->o;
  const oat_objective_config *config = &o->base.config;
  const size_t d = oat_rows_inputs(config->rows), count = config->k * d;
  const oat_covariance cov = oat_covariance_at(config->kernel, d, rest->point->theta);
  const jitter_slopes slopes = slopes_of_jitter(config, &cov, rest->point);
  for (size_t i = 0; i < oat_theta_count(config->kernel, d); i++) {
    total->theta[i] += o->theta_grad[i];
  }
  for (size_t i = 0; total->z != NULL && i < count; i++) {
    total->z[i] += 2 * o->z_grad[i];
  }
  if (oat_covariance_is_tree(&cov)) {
    add_jitter(o, &cov, knots_of(config, rest->point), rest->d_jitter, total);
  }
  return (jitter_slopes){rest->trace_s + slopes.log_sigma * rest->d_jitter, slopes.log_tau * rest->d_jitter};
}

static void begin_rest(void *self) {
  square_work *rest = self;
  rest->begun = true;
  if (rest->inverse) {
    invert(rest->o);
  }
  if (rest->early) {
    collapsed_s(rest->o);
    differentiate_kuu(rest);
  }
}

/* d F / d log tau when alpha = 0 and every n_i is proportional to tau^2: all sums are known but that of a log penalty.
 * Meaningless for other noise. */
static double collapsed_log_tau(const oat_sparse_objective *o, double rwr) {
  const size_t k = o->base.config.k;
  const double quadratic = rwr - oat_dot(k, o->e, o->rhs) - oat_dot(k, o->e, o->e);
  return (double)k - trace(k, o->binv) - (double)oat_rows_total(o->base.config.rows) + quadratic +
         o->gamma * o->sums.scalar[OAT_G_OVER_N];
}

/* The input of the second pass; the device may compute the product itself, or B^-1 follows later. */
static oat_adjoint prepare_adjoint(square_work *rest, bool collapsed) {
  oat_sparse_objective *o = rest->o;
  const size_t own = o->base.device->table->products;
  rest->inverse = collapsed && own > 0 && o->base.config.k >= own;
  solve_e(o);
  if (!rest->inverse) {
    invert(o);
  }
  if (collapsed && !rest->inverse) {
    collapsed_product(o);
  }
  return (oat_adjoint){.collapsed = collapsed,
                       .product = rest->inverse ? NULL
                                  : collapsed   ? o->m
                                                : o->binv,
                       .lb = o->lb,
                       .gamma = o->gamma,
                       .e = o->e,
                       .le = o->le,
                       .coefficient = o->coefficient,
                       .meanwhile = begin_rest,
                       .self = rest};
}

/* After the second pass. */
static void end_rest(square_work *rest, bool closed, const oat_gradient_sums *sums) {
  oat_sparse_objective *o = rest->o;
  if (!rest->begun) {
    begin_rest(rest);
  }
  if (rest->early) {
    return;
  }
  if (closed) {
    collapsed_s(o);
  } else {
    memcpy(o->s, sums->s, o->base.config.k * o->base.config.k * sizeof *o->s);
  }
  differentiate_kuu(rest);
}

/* With alpha = 0 and any noise, S and sum dg are known except for the part of a log penalty. The terms of each row are
 * requested only if sum dn is not known. */
static oatgp_status differentiate(oat_sparse_objective *o, const oat_sparse *sparse, const oat_point *point, double rwr,
                                  oat_gradient *gradient) {
  const size_t k = sparse->k, d = oat_rows_inputs(o->base.config.rows);
  const bool closed = sparse->alpha == 0, sums_s = !closed || sparse->penalty == OAT_PENALISE_LOG;
  const bool collapsed = closed && (gradient->without_tau || !oat_rows_known_noise(o->base.config.rows));
  square_work rest = {.o = o, .point = point, .early = !sums_s, .knots = gradient->z != NULL};
  oat_gradient_sums sums = o->gradient_sums;
  sums.kernel.z = gradient->z != NULL ? sums.kernel.z : NULL;
  sums.count -= sums_s ? 0 : k * k;
  sums.s = sums_s ? sums.s : NULL;
  o->gamma = sparse->penalty == OAT_PENALISE_TRACE ? 1 : 0;
  o->explained = o->gamma > 0 ? o->sums.vwv : sums.s;
  const oat_adjoint adjoint = prepare_adjoint(&rest, collapsed);
  PASS_ON(o->base.device->table->gradient_sums(o->base.device, sparse, &adjoint, &sums));
  end_rest(&rest, closed, &sums);
  sums.dg = closed && o->gamma > 0 ? -0.5 * o->sums.scalar[OAT_SUM_W] : sums.dg;
  const jitter_slopes kuu = add_kuu(&rest, &sums.kernel);
  memcpy(gradient->theta, sums.kernel.theta, oat_theta_count(o->base.config.kernel, d) * sizeof *gradient->theta);
  if (!oat_covariance_is_tree(&sparse->cov)) {
    gradient->theta[sparse->cov.sigma] =
        kuu.log_sigma + oat_kernel_share(&sparse->cov, oat_sparse_knots(sparse), 2) * sums.dg + 2 * sums.pairs;
  }
  gradient->theta[OAT_TAU] = kuu.log_tau + (collapsed ? collapsed_log_tau(o, rwr) : 0) + 2 * sums.dn;
  if (gradient->z != NULL) {
    memcpy(gradient->z, sums.kernel.z, k * d * sizeof *gradient->z);
  }
  return OATGP_OK;
}

oat_sparse oat_sparse_at(const oat_sparse_objective *o, const oat_point *point, size_t ldz) {
  const oat_objective_config *config = &o->base.config;
  const oat_approx *approx = config->approx;
  return (oat_sparse){.cov = oat_covariance_at(config->kernel, oat_rows_inputs(config->rows), point->theta),
                      .k = config->k,
                      .z = point->z,
                      .ldz = ldz,
                      .l = o->l,
                      .tau = point->theta[OAT_TAU],
                      .alpha = approx->power ? config->alpha : approx->alpha,
                      .penalty = approx->penalty,
                      .stamp = o->stamp};
}

oatgp_status oat_sparse_solve(oat_sparse_objective *o, double n, double *rwr, double *value) {
  const double *scalar = o->sums.scalar;
  const size_t k = o->base.config.k;
  oatgp_status status = OATGP_OK;
  TRY(factorise_b(o));
  TRY(solve_right_sides(o, rwr));
  *value = -0.5 * (n * log(OAT_TWO_PI) + scalar[OAT_LOG_LAMBDA] + *rwr) - oat_log_diagonal(k, o->lb) +
           0.5 * oat_dot(k, o->c, o->c) + scalar[OAT_PENALTY];
done:
  return status;
}

oatgp_status oat_objective_find_neighbours(oat_objective *objective, const oat_point *point, double *share) {
  const oat_objective_config *config = &objective->config;
  if (config->neighbours == 0) {
    return OATGP_OK;
  }
  const oat_covariance cov = oat_covariance_at(config->kernel, oat_rows_inputs(config->rows), point->theta);
  own(objective)->found = true;
  return objective->device->table->find_neighbours(objective->device, &cov, share);
}

/* ---- answers that are not Gaussian ----------------------------------------------------------------------------- */

/* ELBO = sum E_i - KL(q || p), KL = 1/2 (tr B^-1 + |e|^2 - K + log det B), and tr B^-1 - K = -sum |LB^-1 v_i|^2 /
 * n_i. */
static oatgp_status look_at_sites(oat_objective *objective, void *self, oat_site_look *look, double *value) {
  oat_sparse_objective *o = own(objective);
  const oat_sparse *sparse = self;
  const size_t k = sparse->k;
  double rwr, gaussian;
  oatgp_status status = OATGP_OK;
  TRY(objective->device->table->sums(objective->device, sparse, &o->sums));
  TRY(oat_sparse_solve(o, 0, &rwr, &gaussian));
  TRY(objective->device->table->sites_look(objective->device, sparse, &(oat_site_q){o->lb, o->c, o->coefficient},
                                           look));
  memcpy(o->e, o->c, k * sizeof *o->e);
  oat_solve_left(o->lb, k, OAT_TRANSPOSED, (oat_view){o->e, k, 1, k}, threads_of(o));
  *value = look->value - oat_log_diagonal(k, o->lb) - 0.5 * oat_dot(k, o->e, o->e);
done:
  return status;
}

/* ---- an evaluation --------------------------------------------------------------------------------------------- */

static oatgp_status sparse_value(oat_objective *objective, const oat_point *point, oat_sparse *sparse, double *rwr,
                                 double *value) {
  oat_sparse_objective *o = own(objective);
  if (objective->config.likelihood != NULL) {
    return oat_sites_settle(objective, point, look_at_sites, sparse, value);
  }
  PASS_ON(objective->device->table->sums(objective->device, sparse, &o->sums));
  return oat_sparse_solve(o, (double)oat_rows_total(objective->config.rows), rwr, value);
}

static oatgp_status sparse_evaluate(oat_objective *objective, const oat_point *point, double *value,
                                    oat_gradient *gradient) {
  oat_sparse_objective *o = own(objective);
  const oat_objective_config *config = &objective->config;
  o->stamp++;
  oat_sparse sparse = oat_sparse_at(o, point, config->k);
  double rwr = 0;
  sparse.gradient = gradient != NULL;
  oatgp_status status = OATGP_OK;
  TRY(o->found ? OATGP_OK : oat_objective_find_neighbours(objective, point, NULL));
  TRY(factorise_kuu(o, point));
  TRY(sparse_value(objective, point, &sparse, &rwr, value));
  if (gradient != NULL) {
    TRY(differentiate(o, &sparse, point, rwr, gradient));
    oat_sites_add_own(objective, gradient);
  }
done:
  return status;
}

const oat_objective_table oat_objective_sparse = {sizeof(oat_sparse_objective), sparse_open, sparse_evaluate};
