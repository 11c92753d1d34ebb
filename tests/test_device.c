/* What any device must be able to do: every operation of its table against the formula that device.h states, written out row by row in
 * long double, for several kernels, noises, blocks and numbers of threads. The number of threads must not change a bit. A new
 * device passes by being in the registry. */
#include "dense.h"
#include "problem.h"

enum { ROWS = 331, INPUTS = 3, KNOTS = 9, BASIS = 1 + INPUTS, WIDTH = 1 + BASIS, CANDIDATES = 140, GROUP = 20, MOST = 120000 };
#define TOLERANCE 2e-10 /* of the largest number of a result */

/* A model at one point with rows, and everything that an operation may be given. */
typedef struct world {
  problem p;
  oat_rows rows;
  oat_sparse sparse;
  double l[KNOTS * KNOTS], lb[KNOTS * KNOTS];
  double square[KNOTS * KNOTS], e[KNOTS], le[KNOTS], c[KNOTS * WIDTH], coefficient[BASIS];
  double candidates[CANDIDATES * INPUTS], v[CANDIDATES * KNOTS];
  double gls_room[2 * BASIS * (1 + BASIS)];
  oat_gls gls;
  real *vf; /* KNOTS x n: L^-1 Kuf */
} world;

/* Numbers of an operation one after the other. */
typedef struct result {
  size_t count;
  double at[MOST];
} result;

static void put(result *r, size_t count, const double *values) {
  assert_true(r->count + count <= MOST);
  memcpy(r->at + r->count, values, count * sizeof *values);
  r->count += count;
}

static void put_one(result *r, real value) { put(r, 1, &(double){(double)value}); }

/* ---- the world ------------------------------------------------------------------------------------------------------------ */

/* x <- L^-1 x */
static void forward(size_t k, const double *l, real *x) {
  for (size_t i = 0; i < k; i++) {
    for (size_t j = 0; j < i; j++) {
      x[i] -= l[i + j * k] * x[j];
    }
    x[i] /= l[i * (k + 1)];
  }
}

static void random_lower(size_t k, oat_rng *rng, double *l) {
  for (size_t i = 0; i < k * k; i++) {
    l[i] = i % k < i / k ? 0 : i % k == i / k ? 1 + oat_rng_uniform(rng) : 0.3 * oat_rng_normal(rng);
  }
}

static void random_numbers(size_t n, oat_rng *rng, double *x) {
  for (size_t i = 0; i < n; i++) {
    x[i] = oat_rng_normal(rng);
  }
}

static void factorise_kuu(world *w) {
  real *kuu = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), oat_sparse_knots(&w->sparse));
  dense_add_diagonal(KNOTS, kuu, 1e-4L);
  dense_cholesky(KNOTS, kuu);
  for (size_t i = 0; i < KNOTS * KNOTS; i++) {
    w->l[i] = i % KNOTS < i / KNOTS ? 0 : (double)kuu[i];
  }
  free(kuu);
}

static void whiten_rows(world *w) {
  w->vf = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), (oat_points){w->p.x, ROWS, ROWS});
  for (size_t i = 0; i < ROWS; i++) {
    forward(KNOTS, w->l, w->vf + i * KNOTS);
  }
}

static void make_gls(world *w, oat_rng *rng) {
  double gram[WIDTH * WIDTH], l[WIDTH * WIDTH];
  random_lower(WIDTH, rng, l);
  for (size_t i = 0; i < WIDTH * WIDTH; i++) {
    gram[i] = 0;
    for (size_t c = 0; c < WIDTH; c++) {
      gram[i] += 1000 * l[i % WIDTH + c * WIDTH] * l[i / WIDTH + c * WIDTH];
    }
  }
  w->gls = oat_gls_over(w->gls_room, BASIS);
  assert_int_equal(oat_gls_factorise(&w->gls, gram, gram), OATGP_OK);
}

static world *make_world(const char *kernel, row_noise noise, double alpha) {
  world *w = calloc(1, sizeof *w);
  assert_non_null(w);
  oat_rng rng;
  oat_rng_seed(&rng, 17);
  w->p = make_problem(ROWS, INPUTS, KNOTS, 5);
  w->rows = rows_of(&w->p, noise, BASIS);
  w->sparse = (oat_sparse){.cov = oat_covariance_at(oat_kernel_find(kernel), INPUTS, w->p.theta),
                           .k = KNOTS,
                           .z = w->p.z,
                           .ldz = KNOTS,
                           .l = w->l,
                           .tau = w->p.theta[OAT_TAU],
                           .alpha = alpha,
                           .trace = alpha == 0,
                           .gradient = true,
                           .stamp = 1};
  factorise_kuu(w);
  whiten_rows(w);
  random_lower(KNOTS, &rng, w->lb);
  for (size_t i = 0; i < KNOTS; i++) {
    w->lb[i * (KNOTS + 1)] += 20; /* so that each row weighs little */
  }
  random_numbers(KNOTS * KNOTS, &rng, w->square);
  random_numbers(KNOTS, &rng, w->e);
  random_numbers(KNOTS, &rng, w->le);
  random_numbers(KNOTS * WIDTH, &rng, w->c);
  random_numbers(BASIS, &rng, w->coefficient);
  random_numbers(CANDIDATES * INPUTS, &rng, w->candidates);
  random_numbers(CANDIDATES * KNOTS, &rng, w->v);
  make_gls(w, &rng);
  return w;
}

static void free_world(world *w) {
  free_problem(&w->p);
  free(w->vf);
  free(w);
}

/* ---- a row in long double ------------------------------------------------------------------------------------------------- */

static real noise_of(const world *w, size_t i) {
  const oat_rows *r = &w->rows;
  return (real)w->sparse.tau * w->sparse.tau * (r->noise_scale != NULL ? r->noise_scale[i] : 1) +
         (r->noise_add != NULL ? r->noise_add[i] : 0);
}

static real prior_of(const world *w) { return (real)w->p.theta[OAT_SIGMA] * w->p.theta[OAT_SIGMA]; }

static const real *v_of(const world *w, size_t i) { return w->vf + i * KNOTS; }

static real left_of(const world *w, size_t i) { return prior_of(w) - dense_dot(KNOTS, v_of(w, i), v_of(w, i)); }

static real weight_of(const world *w, size_t i) { return 1 / (noise_of(w, i) + w->sparse.alpha * left_of(w, i)); }

static real r_of(const world *w, size_t i, size_t column) { return w->rows.r[i + column * ROWS]; }

/* LB^-1 v */
static void u_of(const world *w, size_t i, real *u) {
  memcpy(u, v_of(w, i), KNOTS * sizeof *u);
  forward(KNOTS, w->lb, u);
}

static real residual_of(const world *w, size_t i) {
  real r = r_of(w, i, 0);
  for (size_t j = 0; j < BASIS; j++) {
    r -= w->coefficient[j] * r_of(w, i, 1 + j);
  }
  return r;
}

static real dot(size_t n, const double *a, const real *b) {
  real sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* ---- sums ----------------------------------------------------------------------------------------------------------------- */

static oatgp_status compute_sums(world *w, oat_device *device, result *out) {
  double block[KNOTS * KNOTS + KNOTS * WIDTH + WIDTH * WIDTH + OAT_SCALARS];
  oat_sums sums = oat_sums_over(block, KNOTS, BASIS);
  const oatgp_status status = device->table->sums(device, &w->sparse, &sums);
  put(out, sums.count, block);
  return status;
}

static real penalty_of(const world *w, size_t i) {
  const real alpha = w->sparse.alpha, g = left_of(w, i), n = noise_of(w, i);
  return alpha > 0 ? -(1 - alpha) / (2 * alpha) * log1pl(alpha * g / n) : -g / (2 * n);
}

static void state_sums(world *w, result *out) {
  real all[KNOTS * KNOTS + KNOTS * WIDTH + WIDTH * WIDTH + OAT_SCALARS] = {0};
  real *vwr = all + KNOTS * KNOTS, *rwr = vwr + KNOTS * WIDTH, *scalar = rwr + WIDTH * WIDTH;
  for (size_t i = 0; i < ROWS; i++) {
    const real weight = weight_of(w, i), *v = v_of(w, i);
    for (size_t c = 0; c < KNOTS * KNOTS; c++) {
      all[c] += c % KNOTS < c / KNOTS ? 0 : weight * v[c % KNOTS] * v[c / KNOTS];
    }
    for (size_t c = 0; c < KNOTS * WIDTH; c++) {
      vwr[c] += weight * v[c % KNOTS] * r_of(w, i, c / KNOTS);
    }
    for (size_t c = 0; c < WIDTH * WIDTH; c++) {
      rwr[c] += weight * r_of(w, i, c % WIDTH) * r_of(w, i, c / WIDTH);
    }
    scalar[OAT_LOG_LAMBDA] -= logl(weight);
    scalar[OAT_PENALTY] += penalty_of(w, i);
    scalar[OAT_G_OVER_N] += left_of(w, i) / noise_of(w, i);
    scalar[OAT_SUM_W] += weight;
  }
  for (size_t i = 0; i < LENGTH(all); i++) {
    put_one(out, all[i]);
  }
}

/* ---- gradient sums ---------------------------------------------------------------------------------------------------------- */

static bool is_collapsed(const world *w) { return w->sparse.alpha == 0 && w->rows.noise_add == NULL; }

static oatgp_status compute_gradient(world *w, oat_device *device, result *out) {
  double sums_block[KNOTS * KNOTS + KNOTS * WIDTH + WIDTH * WIDTH + OAT_SCALARS];
  double block[OAT_LENGTHSCALE + INPUTS + KNOTS * INPUTS + KNOTS * KNOTS];
  oat_sums first = oat_sums_over(sums_block, KNOTS, BASIS);
  oat_gradient_sums sums = oat_gradient_sums_over(block, KNOTS, INPUTS);
  const oat_adjoint adjoint = {is_collapsed(w), w->square, w->e, w->le, w->coefficient};
  oatgp_status status = OATGP_OK;
  TRY(device->table->sums(device, &w->sparse, &first)); /* as the contract says */
  sums.count -= is_collapsed(w) ? KNOTS * KNOTS : 0;
  TRY(device->table->gradient_sums(device, &w->sparse, &adjoint, &sums));
  put(out, OAT_LENGTHSCALE + INPUTS + KNOTS * INPUTS, block);
  if (!is_collapsed(w)) {
    put(out, KNOTS * KNOTS, sums.s);
    put(out, 2, (double[]){sums.dg, sums.dn});
  }
done:
  return status;
}

/* Derivatives in g_i, n_i and v_i; `product` stands for B^-1. */
typedef struct row_slopes {
  real dg, dn, dv[KNOTS];
} row_slopes;

static row_slopes slopes_of(const world *w, size_t i) {
  const real *v = v_of(w, i), weight = weight_of(w, i), alpha = w->sparse.alpha, g = left_of(w, i), n = noise_of(w, i);
  const real rest = residual_of(w, i) - dot(KNOTS, w->e, v);
  row_slopes s = {0};
  real vbv = 0, product[KNOTS];
  for (size_t c = 0; c < KNOTS; c++) {
    product[c] = dot(KNOTS, w->square + c * KNOTS, v);
    vbv += product[c] * v[c];
  }
  const real d_lambda = -weight * (1 - weight * (vbv + rest * rest)) / 2, penalty = alpha > 0 ? -(1 - alpha) * weight / 2 : -1 / (2 * n);
  s.dg = alpha * d_lambda + penalty;
  s.dn = d_lambda - penalty * g / n;
  for (size_t c = 0; c < KNOTS; c++) {
    s.dv[c] = weight * (rest * w->e[c] - product[c]) - 2 * s.dg * v[c];
  }
  return s;
}

/* The derivative of what is differentiated in row i of Kfu. */
static void slopes_in_kernel(const world *w, size_t i, real *dk) {
  const real *v = v_of(w, i);
  if (is_collapsed(w)) {
    for (size_t c = 0; c < KNOTS; c++) {
      dk[c] = weight_of(w, i) * (dot(KNOTS, w->square + c * KNOTS, v) + residual_of(w, i) * w->le[c]);
    }
    return;
  }
  const row_slopes s = slopes_of(w, i);
  memcpy(dk, s.dv, sizeof s.dv);
  for (size_t c = KNOTS; c-- > 0;) { /* L^-T dv */
    for (size_t j = c + 1; j < KNOTS; j++) {
      dk[c] -= w->l[j + c * KNOTS] * dk[j];
    }
    dk[c] /= w->l[c * (KNOTS + 1)];
  }
}

/* sum_ic dk_ic k(x_i, z_c) as a function of theta and z. */
static real weighted_kernel(world *w, const real *dk) {
  real *k = dense_cross(&w->sparse.cov, (oat_points){w->p.x, ROWS, ROWS}, oat_sparse_knots(&w->sparse)), sum = 0;
  for (size_t i = 0; i < ROWS * KNOTS; i++) {
    sum += dk[i / ROWS + i % ROWS * KNOTS] * k[i];
  }
  free(k);
  return sum;
}

/* By central differences in the number at `at`, of its logarithm if that is asked for. */
static real slope_in(world *w, const real *dk, double *at, bool logarithm) {
  const double here = *at, h = 1e-5 * (logarithm ? here : 1);
  *at = here + h;
  const double above = *at;
  const real high = weighted_kernel(w, dk);
  *at = here - h;
  const double below = *at;
  const real low = weighted_kernel(w, dk);
  *at = here;
  return (high - low) / ((real)above - below) * (logarithm ? here : 1);
}

static void state_gradient(world *w, result *out) {
  const oat_kernel *kernel = oat_kernel_at(w->sparse.cov.id);
  real *dk = dense_new(KNOTS, ROWS), s[KNOTS * KNOTS] = {0}, dg = 0, dn = 0;
  for (size_t i = 0; i < ROWS; i++) {
    slopes_in_kernel(w, i, dk + i * KNOTS);
    const row_slopes row = slopes_of(w, i);
    for (size_t c = 0; c < KNOTS * KNOTS; c++) {
      s[c] += row.dv[c % KNOTS] * v_of(w, i)[c / KNOTS];
    }
    dg += row.dg;
    dn += row.dn * w->sparse.tau * w->sparse.tau * (w->rows.noise_scale != NULL ? w->rows.noise_scale[i] : 1);
  }
  for (size_t i = 0; i < OAT_LENGTHSCALE + INPUTS; i++) {
    const bool has =
        i < oat_theta_count(kernel, INPUTS) && i != OAT_SIGMA && i != OAT_TAU && (i != OAT_SHAPE || kernel->profile->has_shape);
    put_one(out, has ? slope_in(w, dk, &w->p.theta[i], true) : 0);
  }
  for (size_t i = 0; i < KNOTS * INPUTS; i++) {
    put_one(out, slope_in(w, dk, &w->p.z[i], false));
  }
  for (size_t i = 0; !is_collapsed(w) && i < KNOTS * KNOTS; i++) {
    put_one(out, s[i]);
  }
  if (!is_collapsed(w)) {
    put_one(out, dg);
    put_one(out, dn);
  }
  free(dk);
}

/* ---- gains of candidates -------------------------------------------------------------------------------------------------- */

static oatgp_status compute_gains(world *w, oat_device *device, result *out) {
  double block[CANDIDATES * (1 + WIDTH + KNOTS)];
  if (w->sparse.alpha > 0) {
    return OATGP_OK;
  }
  oat_candidates all = {{w->candidates, CANDIDATES, CANDIDATES}, w->v, block, block + CANDIDATES, block + CANDIDATES * (1 + WIDTH)};
  const oatgp_status status = device->table->gains(device, &w->sparse, &all);
  put(out, LENGTH(block), block);
  return status;
}

static void state_gains(world *w, result *out) {
  static real all[CANDIDATES * (1 + WIDTH + KNOTS)];
  real *er = all + CANDIDATES, *ve = er + CANDIDATES * WIDTH;
  if (w->sparse.alpha > 0) {
    return;
  }
  memset(all, 0, sizeof all);
  real *k = dense_cross(&w->sparse.cov, (oat_points){w->p.x, ROWS, ROWS}, (oat_points){w->candidates, CANDIDATES, CANDIDATES});
  for (size_t i = 0; i < ROWS * CANDIDATES; i++) {
    const size_t row = i % ROWS, m = i / ROWS;
    real e = k[i];
    for (size_t c = 0; c < KNOTS; c++) {
      e -= v_of(w, row)[c] * w->v[m + c * CANDIDATES];
    }
    all[m] += weight_of(w, row) * e * e;
    for (size_t j = 0; j < WIDTH; j++) {
      er[m + j * CANDIDATES] += weight_of(w, row) * e * r_of(w, row, j);
    }
    for (size_t c = 0; c < KNOTS; c++) {
      ve[c + m * KNOTS] += weight_of(w, row) * e * v_of(w, row)[c];
    }
  }
  free(k);
  for (size_t i = 0; i < LENGTH(all); i++) {
    put_one(out, all[i]);
  }
}

/* ---- a value for each row ---------------------------------------------------------------------------------------------------- */

static oatgp_status compute_predictions(world *w, oat_device *device, result *out) {
  double values[6 * ROWS];
  const oat_row_predictions with = {values, values + ROWS, values + 2 * ROWS};
  const oat_row_predictions without = {values + 3 * ROWS, values + 4 * ROWS, values + 5 * ROWS};
  oatgp_status status = OATGP_OK;
  TRY(device->table->predictions(device, &w->sparse, w->lb, w->c, &with));
  TRY(device->table->predictions(device, &w->sparse, NULL, w->c, &without));
  put(out, LENGTH(values), values);
done:
  return status;
}

static void state_predictions(world *w, result *out) {
  for (int whitened = 1; whitened >= 0; whitened--) {
    static real values[3 * ROWS];
    for (size_t i = 0; i < ROWS; i++) {
      real u[KNOTS];
      memcpy(u, v_of(w, i), sizeof u);
      if (whitened) {
        u_of(w, i, u);
      }
      values[i] = dot(KNOTS, w->c, u);
      values[i + ROWS] = left_of(w, i);
      values[i + 2 * ROWS] = dense_dot(KNOTS, u, u);
    }
    for (size_t i = 0; i < LENGTH(values); i++) {
      put_one(out, values[i]);
    }
  }
}

static oatgp_status compute_means(world *w, oat_device *device, result *out) {
  double mean[ROWS];
  for (size_t i = 0; i < ROWS; i++) {
    mean[i] = (double)i;
  }
  const oatgp_status status = device->table->means(device, &w->sparse, w->e, 3, mean);
  put(out, ROWS, mean);
  return status;
}

static void state_means(world *w, result *out) {
  real *k = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), (oat_points){w->p.x, ROWS, ROWS});
  for (size_t i = 0; i < ROWS; i++) {
    put_one(out, (real)i + 3 * dot(KNOTS, w->e, k + i * KNOTS));
  }
  free(k);
}

/* With the mean's coefficients estimated without the row, then as they are. */
static oatgp_status compute_left_out(world *w, oat_device *device, result *out) {
  oatgp_status status = OATGP_OK;
  for (int estimated = 1; estimated >= 0; estimated--) {
    double error[ROWS], variance[ROWS];
    oat_left_out left = {.lb = w->lb,
                         .c = w->c,
                         .columns = estimated ? WIDTH : 1,
                         .coefficient = w->coefficient,
                         .gls = estimated ? &w->gls : NULL,
                         .explained = estimated == 0,
                         .error = error,
                         .variance = variance};
    TRY(device->table->left_out(device, &w->sparse, &left));
    put(out, ROWS, error);
    put(out, ROWS, variance);
    put(out, 3, (double[]){left.density, left.squares, left.products});
  }
done:
  return status;
}

static real error_of(const world *w, size_t i, bool estimated, const real *u, real leave) {
  if (!estimated) {
    return (residual_of(w, i) - dot(KNOTS, w->c, u)) / leave;
  }
  real e[WIDTH], error;
  double columns[BASIS], work[BASIS];
  for (size_t j = 0; j < WIDTH; j++) {
    e[j] = (r_of(w, i, j) - dot(KNOTS, w->c + j * KNOTS, u)) / leave;
  }
  error = e[0];
  for (size_t j = 0; j < BASIS; j++) {
    error -= w->coefficient[j] * e[1 + j];
    columns[j] = (double)e[1 + j];
  }
  return error / (1 - weight_of(w, i) * leave * oat_gls_quadratic(&w->gls, columns, work));
}

static void state_left_out(world *w, result *out) {
  for (int estimated = 1; estimated >= 0; estimated--) {
    real error[ROWS], variance[ROWS], density = 0, squares = 0, products = 0;
    for (size_t i = 0; i < ROWS; i++) {
      real u[KNOTS];
      u_of(w, i, u);
      const real weight = weight_of(w, i), s = dense_dot(KNOTS, u, u), leave = 1 - weight * s;
      error[i] = error_of(w, i, estimated, u, leave);
      variance[i] = s / leave + noise_of(w, i) + (estimated ? left_of(w, i) : 0);
      density -= (logl(2 * acosl(-1) * variance[i]) + error[i] * error[i] / variance[i]) / 2;
      squares += weight * r_of(w, i, 0) * r_of(w, i, 0);
      products += weight * r_of(w, i, 0) * dot(KNOTS, w->c, u);
    }
    for (size_t i = 0; i < 2 * ROWS; i++) {
      put_one(out, i < ROWS ? error[i] : variance[i - ROWS]);
    }
    put_one(out, density);
    put_one(out, squares);
    put_one(out, products);
  }
}

static oatgp_status compute_joint(world *w, oat_device *device, result *out) {
  static double covariance[ROWS * ROWS];
  const oatgp_status status = device->table->joint(device, &w->sparse, w->lb, OAT_RESIDUAL_FULL, covariance);
  put(out, LENGTH(covariance), covariance);
  return status;
}

static void state_joint(world *w, result *out) {
  const oat_points x = {w->p.x, ROWS, ROWS};
  real *k = dense_cross(&w->sparse.cov, x, x), *u = dense_new(KNOTS, ROWS);
  for (size_t i = 0; i < ROWS; i++) {
    u_of(w, i, u + i * KNOTS);
  }
  for (size_t i = 0; i < ROWS * ROWS; i++) {
    const size_t a = i % ROWS, b = i / ROWS;
    put_one(out, k[i] - dense_dot(KNOTS, v_of(w, a), v_of(w, b)) + dense_dot(KNOTS, u + a * KNOTS, u + b * KNOTS));
  }
  free(k);
  free(u);
}

/* ---- the exact GP ----------------------------------------------------------------------------------------------- */

enum { SLOPES = OAT_LENGTHSCALE + INPUTS };
static const double jitter = 1e-3;

/* On a scale on which each number counts by its own size. */
static void put_scaled(result *out, size_t count, const real *values) {
  for (size_t i = 0; i < count; i++) {
    put_one(out, asinhl(values[i]));
  }
}

static void put_doubles(result *out, size_t count, const double *values) {
  for (size_t i = 0; i < count; i++) {
    put_scaled(out, 1, &(real){values[i]});
  }
}

/* The matrices themselves; R and S^-1 R. */
typedef struct exact_world {
  real *s, *l, *inverse, *r, *solved, gram[WIDTH * WIDTH];
} exact_world;

static exact_world make_exact(const world *w) {
  const oat_points x = {w->p.x, ROWS, ROWS};
  exact_world e = {.s = dense_cross(&w->sparse.cov, x, x), .inverse = dense_new(ROWS, ROWS)};
  e.l = dense_new(ROWS, ROWS);
  e.r = dense_new(ROWS, WIDTH);
  e.solved = dense_new(ROWS, WIDTH);
  for (size_t i = 0; i < ROWS; i++) {
    e.s[i * (ROWS + 1)] += jitter * prior_of(w) + noise_of(w, i);
  }
  memcpy(e.l, e.s, ROWS * ROWS * sizeof *e.l);
  dense_cholesky(ROWS, e.l);
  dense_add_diagonal(ROWS, e.inverse, 1);
  dense_solve(ROWS, e.l, e.inverse, ROWS);
  for (size_t i = 0; i < ROWS * WIDTH; i++) {
    e.r[i] = e.solved[i] = w->rows.r[i];
  }
  dense_solve(ROWS, e.l, e.solved, WIDTH);
  for (size_t i = 0; i < WIDTH * WIDTH; i++) {
    e.gram[i] = dense_dot(ROWS, e.r + i % WIDTH * ROWS, e.solved + i / WIDTH * ROWS);
  }
  return e;
}

static void free_exact(exact_world *e) {
  real *const arrays[] = {e->s, e->l, e->inverse, e->r, e->solved};
  for (size_t i = 0; i < LENGTH(arrays); i++) {
    free(arrays[i]);
  }
}

static oatgp_status compute_exact(world *w, oat_device *device, result *out) {
  const oat_exact exact = {.cov = w->sparse.cov, .tau = w->sparse.tau, .jitter = jitter, .gradient = true};
  double gram[WIDTH * WIDTH], slopes[SLOPES] = {0}, room[LENGTH(w->gls_room)], quadratic, density;
  oat_exact_sums sums = {.gram = gram};
  oat_exact_gradient gradient = {.kernel = {.theta = slopes}};
  oat_gls gls = oat_gls_over(room, BASIS);
  oatgp_status status = OATGP_OK;
  TRY(device->table->exact_sums(device, &exact, &sums));
  TRY(device->table->exact_quadratic(device, w->coefficient, &quadratic));
  TRY(device->table->exact_gradient(device, &exact, &gradient));
  TRY(oat_gls_factorise(&gls, gram, gram));
  TRY(device->table->exact_left_out(device, &gls, &density));
  put_doubles(out, LENGTH(gram), gram);
  put_doubles(out, SLOPES, slopes);
  put_doubles(out, 5, (double[]){sums.log_diagonal, quadratic, gradient.signal, gradient.noise, density});
done:
  return status;
}

/* sum_ij ds_ij k(x_i, x_j) as a function of theta, by central differences in its logarithm. */
static real slope_of_rows(world *w, const real *ds, double *at) {
  const double here = *at, places[] = {here * (1 + 1e-6), here * (1 - 1e-6)};
  real sum[] = {0, 0};
  for (int side = 0; side < 2; side++) {
    *at = places[side];
    real *k = dense_cross(&w->sparse.cov, (oat_points){w->p.x, ROWS, ROWS}, (oat_points){w->p.x, ROWS, ROWS});
    sum[side] = dense_dot(ROWS * ROWS, ds, k);
    free(k);
  }
  *at = here;
  return (sum[0] - sum[1]) / ((real)places[0] - places[1]) * here;
}

/* The density of each row given the others, with the mean's coefficients estimated without it. */
static real state_density(const exact_world *e, const real *a) {
  double gram[WIDTH * WIDTH], room[2 * BASIS * (1 + BASIS)], h[BASIS];
  oat_gls gls = oat_gls_over(room, BASIS);
  real density = 0;
  for (size_t i = 0; i < LENGTH(gram); i++) {
    gram[i] = (double)e->gram[i];
  }
  assert_int_equal(oat_gls_factorise(&gls, gram, gram), OATGP_OK);
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t j = 0; j < BASIS; j++) {
      h[j] = (double)e->solved[i + (1 + j) * ROWS];
    }
    const real precision = e->inverse[i * (ROWS + 1)], left = 1 - oat_gls_quadratic(&gls, h, h) / precision;
    const real error = a[i] / precision / left;
    density += (logl(precision / (2 * acosl(-1))) - error * error * precision) / 2;
  }
  return density;
}

/* dF/dS, and its sums over what is not K. */
static real *state_slopes(const world *w, const exact_world *e, const real *a, real *signal, real *noise) {
  real *ds = dense_new(ROWS, ROWS);
  *signal = *noise = 0;
  for (size_t i = 0; i < ROWS * ROWS; i++) {
    const size_t row = i % ROWS, column = i / ROWS;
    ds[i] = (a[row] * a[column] - e->inverse[i]) / 2;
    *signal += ds[i] * (e->s[i] - (row == column ? noise_of(w, row) : 0));
    *noise += row != column ? 0 : ds[i] * (w->rows.noise_scale != NULL ? w->rows.noise_scale[row] : 1);
  }
  return ds;
}

static void state_exact(world *w, result *out) {
  const oat_kernel *kernel = oat_kernel_at(w->sparse.cov.id);
  exact_world e = make_exact(w);
  real a[ROWS], slopes[SLOPES] = {0}, quadratic = 0, logarithms = 0, signal, noise;
  for (size_t i = 0; i < ROWS; i++) {
    a[i] = e.solved[i];
    for (size_t j = 0; j < BASIS; j++) {
      a[i] -= w->coefficient[j] * e.solved[i + (1 + j) * ROWS];
    }
    quadratic += a[i] * residual_of(w, i);
    logarithms += logl(e.l[i * (ROWS + 1)]);
  }
  real *ds = state_slopes(w, &e, a, &signal, &noise);
  for (size_t i = OAT_SHAPE; i < oat_theta_count(kernel, INPUTS); i++) {
    slopes[i] = i == OAT_SHAPE && !kernel->profile->has_shape ? 0 : slope_of_rows(w, ds, &w->p.theta[i]);
  }
  put_scaled(out, LENGTH(e.gram), e.gram);
  put_scaled(out, SLOPES, slopes);
  put_scaled(out, 5, (real[]){logarithms, quadratic, signal, noise, state_density(&e, a)});
  free(ds);
  free_exact(&e);
}

static void make_diagonal(const world *w, double *diagonal) {
  for (size_t i = 0; i < ROWS; i++) {
    diagonal[i] = (double)(jitter * prior_of(w) + noise_of(w, i));
  }
}

static oatgp_status compute_factor(world *w, oat_device *device, result *out) {
  static double l[ROWS * ROWS];
  double diagonal[ROWS];
  size_t pivot = 1;
  make_diagonal(w, diagonal);
  const oatgp_status status = device->table->factor(device, &w->sparse.cov, diagonal, l, &pivot);
  assert_int_equal(pivot, 0);
  put(out, LENGTH(l), l);
  diagonal[40] = -1000;
  assert_int_equal(device->table->factor(device, &w->sparse.cov, diagonal, l, &pivot), OATGP_NUMERIC);
  assert_int_equal(pivot, 41);
  return status;
}

static void state_factor(world *w, result *out) {
  exact_world e = make_exact(w);
  for (size_t i = 0; i < ROWS * ROWS; i++) {
    put_one(out, i % ROWS < i / ROWS ? 0 : e.l[i]);
  }
  free_exact(&e);
}

static oatgp_status compute_exact_rows(world *w, oat_device *device, result *out) {
  static double l[ROWS * ROWS];
  double diagonal[ROWS], gram[WIDTH * WIDTH], solved[ROWS * WIDTH], precision[ROWS];
  size_t pivot;
  oatgp_status status = OATGP_OK;
  make_diagonal(w, diagonal);
  TRY(device->table->factor(device, &w->sparse.cov, diagonal, l, &pivot));
  TRY(device->table->exact_rows(device, l, &(oat_exact_rows){gram, solved, precision}));
  put_doubles(out, LENGTH(gram), gram);
  put_doubles(out, LENGTH(solved), solved);
  put_doubles(out, LENGTH(precision), precision);
done:
  return status;
}

static void state_exact_rows(world *w, result *out) {
  exact_world e = make_exact(w);
  put_scaled(out, LENGTH(e.gram), e.gram);
  put_scaled(out, ROWS * WIDTH, e.solved);
  for (size_t i = 0; i < ROWS; i++) {
    put_scaled(out, 1, &e.inverse[i * (ROWS + 1)]);
  }
  free_exact(&e);
}

/* ---- the system behind the exact evidence ------------------------------------------------------------------------ */

static bool go_on(void *asker) {
  (void)asker;
  return true;
}

static bool give_up(void *asker) {
  (void)asker;
  return false;
}

static oat_system system_of(const world *w, bool (*ask)(void *asker)) {
  return (oat_system){.sparse = w->sparse, .lb = w->lb, .ask = ask, .traces = true};
}

/* What conjugate gradients are told to do, twice. */
static const double turns[] = {0, 0.25}, lengths[] = {0.5, 0.125};

static void put_iterate(result *out, const oat_iterate *at) { put_doubles(out, 3, (double[]){at->q, at->ez, at->whole}); }

static oatgp_status compute_system(world *w, oat_device *device, result *out) {
  oat_system system = system_of(w, give_up);
  oat_iterate at;
  double curvature;
  oatgp_status status = OATGP_OK;
  TRY(device->table->system_open(device, &system, &at));
  assert_int_equal(device->table->system_product(device, 0, &curvature), OATGP_STOPPED);
  system = system_of(w, go_on);
  TRY(device->table->system_open(device, &system, &at));
  put_doubles(out, 1, &system.weights);
  put_iterate(out, &at);
  for (size_t i = 0; i < LENGTH(turns); i++) {
    TRY(device->table->system_product(device, turns[i], &curvature));
    put_doubles(out, 1, &curvature);
    TRY(device->table->system_step(device, lengths[i], &at));
    put_iterate(out, &at);
  }
done:
  return status;
}

/* z = D^-1 e - D^-1 V^T B^-1 V D^-1 e, and what is said of e; w->lb stands for the factor of B. */
static void state_iterate(const world *w, const real *x, const real *e, real *z, result *out) {
  real t[KNOTS] = {0}, q = 0, ez = 0, whole = 0;
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t c = 0; c < KNOTS; c++) {
      t[c] += v_of(w, i)[c] * e[i] / noise_of(w, i);
    }
  }
  forward(KNOTS, w->lb, t);
  for (size_t c = KNOTS; c-- > 0;) {
    for (size_t j = c + 1; j < KNOTS; j++) {
      t[c] -= w->lb[j + c * KNOTS] * t[j];
    }
    t[c] /= w->lb[c * (KNOTS + 1)];
  }
  for (size_t i = 0; i < ROWS; i++) {
    z[i] = (e[i] - dense_dot(KNOTS, v_of(w, i), t)) / noise_of(w, i);
    q += (r_of(w, i, 0) + e[i]) * x[i];
    ez += e[i] * z[i];
    whole += e[i] * e[i] / noise_of(w, i);
  }
  put_scaled(out, 3, (real[]){q, ez, whole});
}

static void state_system(world *w, result *out) {
  const oat_points rows = {w->p.x, ROWS, ROWS};
  real *k = dense_cross(&w->sparse.cov, rows, rows), x[ROWS] = {0}, e[ROWS], z[ROWS], p[ROWS] = {0}, cp[ROWS], weights = 0;
  for (size_t i = 0; i < ROWS; i++) {
    e[i] = r_of(w, i, 0);
    weights += 1 / noise_of(w, i);
  }
  put_scaled(out, 1, &weights);
  state_iterate(w, x, e, z, out);
  for (size_t step = 0; step < LENGTH(turns); step++) {
    for (size_t i = 0; i < ROWS; i++) {
      p[i] = z[i] + turns[step] * p[i];
    }
    for (size_t i = 0; i < ROWS; i++) {
      cp[i] = noise_of(w, i) * p[i] + dense_dot(ROWS, k + i * ROWS, p);
      x[i] += lengths[step] * p[i];
      e[i] -= lengths[step] * cp[i];
    }
    put_scaled(out, 1, &(real){dense_dot(ROWS, p, cp)});
    state_iterate(w, x, e, z, out);
  }
  free(k);
}

static void state_traces(world *w, result *out) {
  const oat_points rows = {w->p.x, ROWS, ROWS};
  real *g = dense_cross(&w->sparse.cov, rows, rows), *u = dense_new(KNOTS, ROWS), ut[KNOTS * KNOTS] = {0}, sums[4] = {0};
  for (size_t i = 0; i < ROWS; i++) {
    u_of(w, i, u + i * KNOTS);
    for (size_t c = 0; c < KNOTS; c++) {
      u[c + i * KNOTS] /= noise_of(w, i);
    }
  }
  for (size_t i = 0; i < ROWS; i++) {
    real t[KNOTS] = {0};
    for (size_t j = 0; j < ROWS; j++) {
      const real left = g[i + j * ROWS] - dense_dot(KNOTS, v_of(w, i), v_of(w, j));
      sums[0] += left * left / noise_of(w, i) / noise_of(w, j);
      for (size_t c = 0; c < KNOTS; c++) {
        t[c] += left * u[c + j * KNOTS];
      }
    }
    sums[1] += dense_dot(KNOTS, t, t) / noise_of(w, i);
    for (size_t c = 0; c < KNOTS * KNOTS; c++) {
      ut[c] += u[c % KNOTS + i * KNOTS] * t[c / KNOTS];
    }
  }
  for (size_t c = 0; c < KNOTS; c++) {
    sums[2] += ut[c * (KNOTS + 1)];
  }
  sums[3] = dense_dot(KNOTS * KNOTS, ut, ut);
  put_scaled(out, LENGTH(sums), sums);
  free(g);
  free(u);
}

/* Without memory there are none. */
static oatgp_status compute_traces(world *w, oat_device *device, result *out) {
  oat_system system = system_of(w, go_on);
  oat_iterate at;
  oat_trace_sums sums;
  double product, traces;
  oatgp_status status = OATGP_OK;
  TRY(device->table->system_open(device, &system, &at));
  TRY(device->table->system_cost(device, &product, &traces));
  assert_true(product > 0 && (traces > 0) == system.traces);
  if (!system.traces) {
    state_traces(w, out);
    return OATGP_OK;
  }
  TRY(device->table->system_traces(device, &sums));
  put_doubles(out, 4, (double[]){sums.square, sums.tw, sums.ut, sums.ut_squares});
done:
  return status;
}

/* ---- chosen rows ------------------------------------------------------------------------------------------------------------ */

enum { PIVOTS = 25, BEFORE = 30 }; /* BEFORE: candidates that are looked at first */

/* Which row, as a share of all; what is left of it; where it is. */
static oatgp_status compute_pivots(world *w, oat_device *device, result *out) {
  oat_pivots *pivots = NULL;
  oatgp_status status = OATGP_OK;
  TRY(device->table->pivots_begin(device, &w->sparse.cov, PIVOTS, &pivots));
  for (size_t c = 0; c < PIVOTS; c++) {
    oat_pivot pivot;
    TRY(device->table->pivots_next(pivots, &pivot));
    put_one(out, (real)pivot.row / ROWS);
    put_one(out, pivot.left);
    put(out, INPUTS, pivot.inputs);
  }
done:
  device->table->pivots_end(pivots);
  return status;
}

static void state_pivots(world *w, result *out) {
  const oat_points x = {w->p.x, ROWS, ROWS};
  real *k = dense_cross(&w->sparse.cov, x, x); /* given the pivots */
  for (size_t c = 0; c < PIVOTS; c++) {
    size_t pivot = 0;
    for (size_t i = 1; i < ROWS; i++) {
      pivot = k[i * (ROWS + 1)] > k[pivot * (ROWS + 1)] ? i : pivot;
    }
    const real left = k[pivot * (ROWS + 1)];
    put_one(out, (real)pivot / ROWS);
    put_one(out, left);
    for (size_t j = 0; j < INPUTS; j++) {
      put_one(out, w->p.x[pivot + j * ROWS]);
    }
    real *column = dense_new(ROWS, 1);
    memcpy(column, k + pivot * ROWS, ROWS * sizeof *column);
    for (size_t i = 0; i < ROWS * ROWS; i++) {
      k[i] -= column[i % ROWS] * column[i / ROWS] / left;
    }
    free(column);
  }
  free(k);
}

static void put_nearest(result *out, const oat_nearest *nearest) {
  put(out, ROWS, nearest->distance);
  for (size_t i = 0; i < ROWS; i++) {
    put_one(out, (real)nearest->which[i]);
  }
  put_one(out, nearest->total);
}

/* Some points and the means of their rows; the others besides them; then all again, which changes nothing. */
static oatgp_status compute_nearest(world *w, oat_device *device, result *out) {
  double distance[ROWS], size[BEFORE], mean[BEFORE * INPUTS];
  size_t which[ROWS] = {0};
  oat_nearest nearest = {.points = {w->candidates, BEFORE, CANDIDATES}, .distance = distance, .which = which};
  oatgp_status status = OATGP_OK;
  TRY(device->table->nearest(device, &nearest));
  put_nearest(out, &nearest);
  TRY(device->table->centres(device, which, BEFORE, size, mean));
  put(out, BEFORE, size);
  put(out, LENGTH(mean), mean);
  nearest.points = (oat_points){w->candidates + BEFORE, CANDIDATES - BEFORE, CANDIDATES};
  nearest.before = BEFORE;
  TRY(device->table->nearest(device, &nearest));
  put_nearest(out, &nearest);
  put_one(out, nearest.changed);
  nearest.points = (oat_points){w->candidates, CANDIDATES, CANDIDATES};
  nearest.before = 0;
  TRY(device->table->nearest(device, &nearest));
  put_one(out, nearest.changed);
done:
  return status;
}

static real distance_of(const world *w, size_t row, size_t candidate) {
  real sum = 0;
  for (size_t j = 0; j < INPUTS; j++) {
    const real t = (real)w->p.x[row + j * ROWS] - w->candidates[candidate + j * CANDIDATES];
    sum += t * t;
  }
  return sum;
}

static size_t nearest_of(const world *w, size_t row, size_t count) {
  size_t nearest = 0;
  for (size_t c = 1; c < count; c++) {
    nearest = distance_of(w, row, c) < distance_of(w, row, nearest) ? c : nearest;
  }
  return nearest;
}

static void state_rows_of(const world *w, size_t count, result *out) {
  real total = 0;
  for (size_t i = 0; i < ROWS; i++) {
    put_one(out, distance_of(w, i, nearest_of(w, i, count)));
    total += distance_of(w, i, nearest_of(w, i, count));
  }
  for (size_t i = 0; i < ROWS; i++) {
    put_one(out, (real)nearest_of(w, i, count));
  }
  put_one(out, total);
}

static void state_centres(const world *w, result *out) {
  real all[BEFORE * (1 + INPUTS)] = {0}; /* sizes, then means */
  for (size_t i = 0; i < ROWS; i++) {
    all[nearest_of(w, i, BEFORE)]++;
  }
  for (size_t i = 0; i < ROWS * INPUTS; i++) {
    const size_t c = nearest_of(w, i % ROWS, BEFORE);
    all[c + (1 + i / ROWS) * BEFORE] += w->p.x[i] / all[c];
  }
  for (size_t i = 0; i < LENGTH(all); i++) {
    put_one(out, all[i]);
  }
}

static void state_nearest(world *w, result *out) {
  state_rows_of(w, BEFORE, out);
  state_centres(w, out);
  state_rows_of(w, CANDIDATES, out);
  put_one(out, true);
  put_one(out, false);
}

/* ---- the suite -------------------------------------------------------------------------------------------------------------- */

typedef struct operation {
  const char *name;
  oatgp_status (*compute)(world *w, oat_device *device, result *out);
  void (*state)(world *w, result *out); /* what the contract says */
  bool any_alpha;                       /* alpha does not matter */
  bool system;
} operation;

static operation operations[] = {
    {"sums", compute_sums, state_sums},
    {"gradient sums", compute_gradient, state_gradient},
    {"gains", compute_gains, state_gains},
    {"predictions", compute_predictions, state_predictions},
    {"means", compute_means, state_means},
    {"left out", compute_left_out, state_left_out},
    {"joint", compute_joint, state_joint},
    {"exact", compute_exact, state_exact, .any_alpha = true},
    {"factor", compute_factor, state_factor, .any_alpha = true},
    {"exact rows", compute_exact_rows, state_exact_rows, .any_alpha = true},
    {"system", compute_system, state_system, .any_alpha = true, .system = true},
    {"traces", compute_traces, state_traces, .any_alpha = true, .system = true},
    {"pivots", compute_pivots, state_pivots, .any_alpha = true},
    {"nearest", compute_nearest, state_nearest, .any_alpha = true},
};

typedef struct way {
  const oat_device_table *device;
  size_t block;
  int threads;
  int64_t memory;
} way;

static void compute(const operation *o, world *w, const way *by, result *out) {
  const oat_device_config config = {.max_knots = KNOTS + 3,
                                    .block = by->block,
                                    .memory = by->memory,
                                    .where = {by->device->name, by->threads},
                                    .fits = !o->system,
                                    .exact = true,
                                    .system = o->system};
  oatgp_context *ctx = oatgp_context_create();
  oat_device *device = NULL;
  out->count = 0;
  assert_int_equal(oat_device_open(ctx, &config, &w->rows, &device), OATGP_OK);
  assert_int_equal(o->compute(w, device, out), OATGP_OK);
  oat_device_close(device);
  oatgp_context_free(ctx);
}

static void expect_near(const operation *o, const way *by, const char *kernel, const result *got, const result *wanted) {
  double size = 0;
  assert_int_equal(got->count, wanted->count);
  for (size_t i = 0; i < wanted->count; i++) {
    size = fmax(size, fabs(wanted->at[i]));
  }
  for (size_t i = 0; i < wanted->count; i++) {
    if (!(fabs(got->at[i] - wanted->at[i]) <= TOLERANCE * size)) {
      fail_msg("%s, %s, kernel %s, block %zu, %d threads: number %zu is %.17g and not %.17g", o->name, by->device->name, kernel, by->block,
               by->threads, i, got->at[i], wanted->at[i]);
    }
  }
}

/* Every block is right; every number of threads gives the same bits. valgrind has no long double to compare with, and little time: there it
 * is memory that is looked at. */
static void try_ways(const operation *o, world *w, const oat_device_table *device, const char *kernel) {
  static const size_t blocks[] = {0, 7, 64, 1000};
  static const int threads[] = {1, 2, 3, 5};
  static result wanted, one, many;
  wanted.count = 0;
  if (!under_valgrind()) {
    o->state(w, &wanted);
  }
  for (size_t b = under_valgrind() ? 2 : 0; b < LENGTH(blocks); b++) {
    way by = {device, blocks[b], 1, (b + o->system) % 2 == 0 ? 1 << 24 : 0}; /* a lane must have several rows of tiles */
    compute(o, w, &by, &one);
    if (!under_valgrind()) {
      expect_near(o, &by, kernel, &one, &wanted);
    }
    for (size_t t = 1; t < (under_valgrind() ? 2 : LENGTH(threads)); t++) {
      by.threads = threads[t];
      compute(o, w, &by, &many);
      if (many.count != one.count || memcmp(many.at, one.at, one.count * sizeof *one.at) != 0) {
        fail_msg("%s, %s, block %zu: the bits of %d threads differ from those of one", o->name, device->name, by.block, by.threads);
      }
    }
  }
}

static void try_operation(const operation *o) {
  static const char *const kernels[] = {"se-ard", "matern52", "rq-ard"};
  static const double alphas[] = {0, 0.4, 1};
  for (size_t d = 0; oat_device_at(d) != NULL; d++) {
    for (size_t k = under_valgrind() ? 2 : 0; k < LENGTH(kernels); k++) {
      for (size_t a = 0; a < (o->any_alpha ? 1 : LENGTH(alphas)); a++) {
        world *w = make_world(kernels[k], (row_noise)((k + a) % ROW_NOISES), alphas[a]);
        try_ways(o, w, oat_device_at(d), kernels[k]);
        free_world(w);
      }
    }
  }
}

static void states_what_it_computes(void **state) { try_operation(*state); }

/* The groups are the configured blocks, the last one with fewer rows. */
static void averages(void **state) {
  (void)state;
  enum { GROUPS = (ROWS + GROUP - 1) / GROUP };
  world *w = make_world("matern32-ard", NOISE_PLAIN, 0);
  for (size_t d = 0; oat_device_at(d) != NULL; d++) {
    double prior[2][GROUPS], k[2][GROUPS * KNOTS];
    for (int threads = 1; threads <= 2; threads++) {
      const oat_device_config config = {.max_knots = GROUP, .block = GROUP, .where = {oat_device_at(d)->name, threads}};
      oatgp_context *ctx = oatgp_context_create();
      oat_device *device = NULL;
      assert_int_equal(oat_device_open(ctx, &config, &w->rows, &device), OATGP_OK);
      const oat_group_averages out = {prior[threads - 1], k[threads - 1]};
      assert_int_equal(device->table->averages(device, &w->sparse, &out), OATGP_OK);
      oat_device_close(device);
      oatgp_context_free(ctx);
    }
    assert_memory_equal(prior[0], prior[1], sizeof prior[0]);
    assert_memory_equal(k[0], k[1], sizeof k[0]);
    for (size_t g = 0; g < GROUPS; g++) {
      const size_t n = g + 1 < GROUPS ? GROUP : ROWS - g * GROUP;
      const oat_points x = {w->p.x + g * GROUP, n, ROWS};
      real *inside = dense_cross(&w->sparse.cov, x, x), *towards = dense_cross(&w->sparse.cov, x, oat_sparse_knots(&w->sparse)), sum = 0;
      for (size_t i = 0; i < n * n; i++) {
        sum += inside[i];
      }
      assert_true(fabsl(sum / (real)(n * n) - prior[0][g]) < 1e-13L);
      for (size_t c = 0; c < KNOTS; c++) {
        sum = 0;
        for (size_t i = 0; i < n; i++) {
          sum += towards[i + c * n];
        }
        assert_true(fabsl(sum / (real)n - k[0][g + c * GROUPS]) < 1e-13L);
      }
      free(inside);
      free(towards);
    }
  }
  free_world(w);
}

/* What a device keeps of the rows is of one point: another one with as many knots, but other parameters, gets its own. */
static void points_are_told_apart(void **state) {
  (void)state;
  static result fresh, after;
  world *first = make_world("se-ard", NOISE_PLAIN, 0), *second = make_world("matern52-ard", NOISE_PLAIN, 0);
  second->sparse.stamp = 2;
  for (size_t d = 0; oat_device_at(d) != NULL; d++) {
    const oat_device_config config = {.max_knots = KNOTS, .memory = 1 << 24, .where = {oat_device_at(d)->name, 1}, .fits = true};
    compute(&operations[2], second, &(way){oat_device_at(d), 0, 1, 1 << 24}, &fresh);
    oatgp_context *ctx = oatgp_context_create();
    oat_device *device = NULL;
    assert_int_equal(oat_device_open(ctx, &config, &first->rows, &device), OATGP_OK);
    assert_int_equal(compute_sums(first, device, &after), OATGP_OK);
    after.count = 0;
    assert_int_equal(compute_gains(second, device, &after), OATGP_OK);
    assert_int_equal(after.count, fresh.count);
    assert_memory_equal(after.at, fresh.at, fresh.count * sizeof *fresh.at);
    oat_device_close(device);
    oatgp_context_free(ctx);
  }
  free_world(first);
  free_world(second);
}

/* Each device is a choice of --device, and a name that none has is refused. */
static void names(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  for (size_t d = 0; oat_device_at(d) != NULL; d++) {
    const char *name = oat_device_at(d)->name;
    assert_int_equal(oatgp_settings_set(ctx, &settings, "device", name), OATGP_OK);
    assert_int_equal(oatgp_context_set_device(ctx, name), OATGP_OK);
    assert_non_null(strstr(oat_device_names(), name));
  }
  assert_int_equal(oatgp_context_set_device(ctx, "auto"), OATGP_OK);
  assert_int_equal(oatgp_context_set_device(ctx, "abacus"), OATGP_ARGUMENT);
  assert_string_equal(oatgp_last_error(ctx), "there is no device 'abacus': take auto or one that oatgp --version lists");
  assert_int_equal(oatgp_context_set_device(ctx, NULL), OATGP_ARGUMENT);
  assert_int_equal(oatgp_context_set_device(NULL, "cpu"), OATGP_ARGUMENT);
  oatgp_context_free(ctx);
}

int main(void) {
  struct CMUnitTest tests[LENGTH(operations) + 3] = {
      [LENGTH(operations)] = cmocka_unit_test(averages),
      cmocka_unit_test(points_are_told_apart),
      cmocka_unit_test(names),
  };
  for (size_t i = 0; i < LENGTH(operations); i++) {
    tests[i] = (struct CMUnitTest){operations[i].name, states_what_it_computes, NULL, NULL, &operations[i]};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
