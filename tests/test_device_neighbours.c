/* Devices: rows with neighbours beside the knots, and points that are predicted from rows. */
#include "device_suite.h"

enum { NEAR = 6 };

/* ---- quantities of a row or a point with its neighbours -------------------------------------------------------- */

typedef struct nearby {
  size_t count, list[NEAR];
  real v[KNOTS];                    /* L^-1 k(Z, x) */
  real vj[NEAR * KNOTS];            /* V_J */
  real c[NEAR * NEAR];              /* factor of C */
  real b[NEAR], d, w[KNOTS], noise; /* d is D */
} nearby;

static real distance_of(const world *w, const double *x, size_t ldx, size_t row) {
  real sum = 0;
  for (size_t j = 0; j < INPUTS; j++) {
    const real t = ((real)x[j * ldx] - w->p.x[row + j * ROWS]) / oat_kernel_lengthscale(&w->sparse.cov, j);
    sum += t * t;
  }
  return sum;
}

/* The nearest of the first `rows` rows, nearest first. */
static void find_nearest(const world *w, const double *x, size_t ldx, size_t rows, nearby *out) {
  real distance[NEAR];
  out->count = 0;
  for (size_t i = 0; i < rows; i++) {
    const real here = distance_of(w, x, ldx, i);
    size_t place = out->count;
    while (place > 0 && here < distance[place - 1]) {
      place--;
    }
    for (size_t j = out->count < NEAR ? out->count : NEAR - 1; place < NEAR && j > place; j--) {
      distance[j] = distance[j - 1];
      out->list[j] = out->list[j - 1];
    }
    if (place < NEAR) {
      distance[place] = here;
      out->list[place] = i;
      out->count += out->count < NEAR;
    }
  }
}

/* C, b, D and w. */
static void regress(const world *w, const double *x, size_t ldx, nearby *out) {
  const size_t m = out->count;
  double at[NEAR * INPUTS];
  for (size_t i = 0; i < m * INPUTS; i++) {
    at[i] = w->p.x[out->list[i % m] + i / m * ROWS];
  }
  const oat_points near = {at, m, m}, here = {x, 1, ldx};
  real *own = dense_cross(&w->sparse.cov, here, here),
       *knots = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), here),
       *between = dense_cross(&w->sparse.cov, near, near), *cross = dense_cross(&w->sparse.cov, near, here), c[NEAR];
  memcpy(out->v, knots, sizeof out->v);
  forward(KNOTS, w->l, out->v);
  out->d = *own - dense_dot(KNOTS, out->v, out->v) + out->noise;
  for (size_t i = 0; i < m; i++) {
    memcpy(out->vj + i * KNOTS, v_of(w, out->list[i]), KNOTS * sizeof *out->vj);
    out->b[i] = c[i] = cross[i] - dense_dot(KNOTS, v_of(w, out->list[i]), out->v);
  }
  for (size_t i = 0; i < m * m; i++) {
    const size_t a = out->list[i % m], b = out->list[i / m];
    out->c[i] = between[i] - dense_dot(KNOTS, v_of(w, a), v_of(w, b)) + (a == b ? noise_of(w, a) : 0);
  }
  dense_cholesky(m, out->c);
  dense_solve(m, out->c, out->b, 1);
  out->d -= dense_dot(m, out->b, c);
  memcpy(out->w, out->v, sizeof out->w);
  for (size_t i = 0; i < m * KNOTS; i++) {
    out->w[i % KNOTS] -= out->b[i / KNOTS] * out->vj[i];
  }
  real *const blocks[] = {own, knots, between, cross};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
}

/* Of every row, its nearest earlier ones. */
static nearby *all_nearby(const world *w) {
  nearby *all = calloc(ROWS, sizeof *all);
  assert_non_null(all);
  for (size_t i = 0; i < ROWS; i++) {
    all[i].noise = noise_of(w, i);
    find_nearest(w, w->p.x + i, ROWS, i, &all[i]);
    regress(w, w->p.x + i, ROWS, &all[i]);
  }
  return all;
}

static real rho_of(const world *w, const nearby *n, size_t row, size_t column) {
  real rho = r_of(w, row, column);
  for (size_t j = 0; j < n->count; j++) {
    rho -= n->b[j] * r_of(w, n->list[j], column);
  }
  return rho;
}

/* ---- before each operation ------------------------------------------------------------------------------------- */

/* The neighbours are those of the latest search. B^-1 is symmetric, as what the formulas take for it must be. */
static oatgp_status find_neighbours(world *w, oat_device *device, double *share) {
  double theta[MAX_THETA];
  memcpy(theta, w->p.theta, sizeof theta);
  theta[OAT_LENGTHSCALE] *= 20;
  oat_covariance other = w->sparse.cov;
  other.theta = theta;
  w->sparse.alpha = 1;
  w->sparse.penalty = OAT_PENALISE_NOTHING;
  oatgp_status status = OATGP_OK;
  TRY(device->table->find_neighbours(device, &other, NULL));
  TRY(device->table->find_neighbours(device, &w->sparse.cov, share));
done:
  return status;
}

static real symmetric(const world *w, size_t i, size_t j) {
  return ((real)w->square[i + j * KNOTS] + w->square[j + i * KNOTS]) / 2;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

enum { SUMS = KNOTS * KNOTS + KNOTS * WIDTH + WIDTH * WIDTH + OAT_SCALARS };

static oatgp_status compute_sums(world *w, oat_device *device, result *out) {
  double block[SUMS], share[INPUTS];
  oat_sums sums = oat_sums_over(block, KNOTS, BASIS);
  oatgp_status status = OATGP_OK;
  TRY(find_neighbours(w, device, share));
  TRY(device->table->sums(device, &w->sparse, &sums));
  put(out, sums.count, block);
  put(out, INPUTS, share);
done:
  return status;
}

/* The mean share of each input in the squared distances between neighbours. */
static void state_shares(const world *w, const nearby *near, result *out) {
  real share[INPUTS] = {0}, pairs = 0;
  const oat_covariance *cov = &w->sparse.cov;
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t a = 0; a < near[i].count; a++) {
      const real all = distance_of(w, w->p.x + i, ROWS, near[i].list[a]);
      for (size_t j = 0; j < INPUTS && all > 0; j++) {
        const real t =
            ((real)w->p.x[i + j * ROWS] - w->p.x[near[i].list[a] + j * ROWS]) / oat_kernel_lengthscale(cov, j);
        share[j] += t * t / all;
      }
      pairs += all > 0;
    }
  }
  for (size_t j = 0; j < INPUTS; j++) {
    put_one(out, share[j] / pairs);
  }
}

static void state_sums(world *w, result *out) {
  real all[SUMS] = {0}, *vwr = all + KNOTS * KNOTS, *rwr = vwr + KNOTS * WIDTH, *scalar = rwr + WIDTH * WIDTH;
  nearby *near = all_nearby(w);
  for (size_t i = 0; i < ROWS; i++) {
    const nearby *n = &near[i];
    for (size_t c = 0; c < KNOTS * KNOTS; c++) {
      all[c] += c % KNOTS < c / KNOTS ? 0 : n->w[c % KNOTS] * n->w[c / KNOTS] / n->d;
    }
    for (size_t c = 0; c < KNOTS * WIDTH; c++) {
      vwr[c] += n->w[c % KNOTS] * rho_of(w, n, i, c / KNOTS) / n->d;
    }
    for (size_t c = 0; c < WIDTH * WIDTH; c++) {
      rwr[c] += rho_of(w, n, i, c % WIDTH) * rho_of(w, n, i, c / WIDTH) / n->d;
    }
    scalar[OAT_LOG_LAMBDA] += logl(n->d);
    scalar[OAT_SUM_W] += 1 / n->d;
  }
  for (size_t i = 0; i < SUMS; i++) {
    put_one(out, all[i]);
  }
  state_shares(w, near, out);
  free(near);
}

/* ---- gradient sums --------------------------------------------------------------------------------------------- */

enum { GRADIENT = MOST_THETAS + KNOTS * INPUTS + KNOTS * KNOTS };

static oatgp_status compute_gradient(world *w, oat_device *device, result *out) {
  double first[SUMS], block[GRADIENT], product[KNOTS * KNOTS];
  oat_sums before = oat_sums_over(first, KNOTS, BASIS);
  oat_gradient_sums sums = oat_gradient_sums_over(block, w->thetas, KNOTS, INPUTS);
  const oat_adjoint adjoint = {.product = product, .e = w->e, .le = w->le, .coefficient = w->coefficient};
  oatgp_status status = OATGP_OK;
  for (size_t i = 0; i < LENGTH(product); i++) {
    product[i] = (double)symmetric(w, i % KNOTS, i / KNOTS);
  }
  TRY(find_neighbours(w, device, NULL));
  TRY(device->table->sums(device, &w->sparse, &before));
  TRY(device->table->gradient_sums(device, &w->sparse, &adjoint, &sums));
  forget_upper(KNOTS, sums.s);
  put(out, sums.count, block);
  put(out, 3, (double[]){sums.dg, sums.dn, sums.pairs});
done:
  return status;
}

/* Derivatives of F in everything that is made of the rows. */
typedef struct adjoints {
  real v[ROWS * KNOTS], noise[ROWS];
  real kernel[ROWS * ROWS]; /* in k(x_i, x_j), both halves together */
} adjoints;

/* db, z = C^-1 db and what becomes of it; dw, dD and drho are of the row. */
static void adjoint_of_neighbours(const world *w, const nearby *n, size_t row, const real *dw, real dd, real drho,
                                  adjoints *a) {
  const size_t m = n->count;
  real z[NEAR] = {0};
  for (size_t j = 0; j < m; j++) {
    z[j] = -dense_dot(KNOTS, n->vj + j * KNOTS, dw) - residual_of(w, n->list[j]) * drho;
    for (size_t c = 0; c < KNOTS; c++) {
      a->v[n->list[j] * KNOTS + c] -= n->b[j] * dw[c];
    }
  }
  dense_solve(m, n->c, z, 1);
  for (size_t j = 0; j < m; j++) {
    const real dc = z[j] - 2 * n->b[j] * dd;
    a->kernel[row + n->list[j] * ROWS] += dc;
    for (size_t c = 0; c < KNOTS; c++) {
      a->v[n->list[j] * KNOTS + c] -= dc * n->v[c];
      a->v[row * KNOTS + c] -= dc * n->vj[j * KNOTS + c];
    }
    for (size_t i = 0; i < m; i++) {
      const real g = n->b[i] * n->b[j] * dd - (z[i] * n->b[j] + n->b[i] * z[j]) / 2;
      a->kernel[n->list[i] + n->list[j] * ROWS] += g;
      a->noise[n->list[i]] += i == j ? g : 0;
      for (size_t c = 0; c < KNOTS; c++) {
        a->v[n->list[i] * KNOTS + c] -= 2 * g * n->vj[j * KNOTS + c];
      }
    }
  }
}

static void adjoint_of_row(const world *w, const nearby *n, size_t row, adjoints *a) {
  real rest = rho_of(w, n, row, 0) - dot(KNOTS, w->e, n->w), dw[KNOTS], product[KNOTS] = {0};
  for (size_t j = 0; j < BASIS; j++) {
    rest -= w->coefficient[j] * rho_of(w, n, row, 1 + j);
  }
  for (size_t c = 0; c < KNOTS * KNOTS; c++) {
    product[c % KNOTS] += symmetric(w, c % KNOTS, c / KNOTS) * n->w[c / KNOTS];
  }
  const real dd = -(1 - (dense_dot(KNOTS, n->w, product) + rest * rest) / n->d) / n->d / 2;
  for (size_t c = 0; c < KNOTS; c++) {
    dw[c] = (rest * w->e[c] - product[c]) / n->d;
    a->v[row * KNOTS + c] += dw[c] - 2 * dd * n->v[c];
  }
  a->noise[row] += dd;
  a->kernel[row * (ROWS + 1)] += dd;
  adjoint_of_neighbours(w, n, row, dw, dd, -rest / n->d, a);
}

/* sum of the derivatives times the kernel: between rows and knots, and among rows, as a function of theta and z. */
typedef struct weighted {
  real knots, rows;
} weighted;

static weighted weigh(const world *w, const real *dk, const adjoints *a) {
  const oat_points x = {w->p.x, ROWS, ROWS};
  real *cross = dense_cross(&w->sparse.cov, x, oat_sparse_knots(&w->sparse)),
       *among = dense_cross(&w->sparse.cov, x, x);
  weighted sum = {0, dense_dot(ROWS * ROWS, a->kernel, among)};
  for (size_t i = 0; i < ROWS * KNOTS; i++) {
    sum.knots += dk[i / ROWS + i % ROWS * KNOTS] * cross[i];
  }
  free(cross);
  free(among);
  return sum;
}

/* By central differences. */
static real slope_in(const world *w, const real *dk, const adjoints *a, double *at, bool logarithm) {
  const double here = *at, h = 1e-5 * (logarithm ? here : 1);
  *at = here + h;
  const double above = *at;
  const weighted high = weigh(w, dk, a);
  *at = here - h;
  const double below = *at;
  const weighted low = weigh(w, dk, a);
  *at = here;
  return (high.knots + high.rows - low.knots - low.rows) / ((real)above - below) * (logarithm ? here : 1);
}

static void state_gradient(world *w, result *out) {
  nearby *near = all_nearby(w);
  adjoints *a = calloc(1, sizeof *a);
  real *dk = dense_new(KNOTS, ROWS), s[KNOTS * KNOTS] = {0}, dn = 0;
  for (size_t i = 0; i < ROWS; i++) {
    adjoint_of_row(w, &near[i], i, a);
  }
  memcpy(dk, a->v, KNOTS * ROWS * sizeof *dk);
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t c = KNOTS; c-- > 0;) { /* L^-T dv */
      for (size_t j = c + 1; j < KNOTS; j++) {
        dk[c + i * KNOTS] -= w->l[j + c * KNOTS] * dk[j + i * KNOTS];
      }
      dk[c + i * KNOTS] /= w->l[c * (KNOTS + 1)];
    }
    for (size_t c = 0; c < KNOTS * KNOTS; c++) {
      s[c] += a->v[c % KNOTS + i * KNOTS] * v_of(w, i)[c / KNOTS];
    }
    dn += a->noise[i] * w->sparse.tau * w->sparse.tau * (w->rows.noise_scale != NULL ? w->rows.noise_scale[i] : 1);
  }
  for (size_t i = 0; i < w->thetas; i++) {
    put_one(out, has_slope(w, i) ? slope_in(w, dk, a, &w->p.theta[i], true) : 0);
  }
  for (size_t i = 0; i < KNOTS * INPUTS; i++) {
    put_one(out, slope_in(w, dk, a, &w->p.z[i], false));
  }
  for (size_t i = 0; i < KNOTS * KNOTS; i++) {
    put_one(out, i % KNOTS < i / KNOTS ? 0 : s[i]);
  }
  put_one(out, 0);
  put_one(out, dn);
  put_one(out, weigh(w, dk, a).rows);
  free(near);
  free(a);
  free(dk);
}

/* ---- rows left out --------------------------------------------------------------------------------------------- */

static oatgp_status compute_left_out(world *w, oat_device *device, result *out) {
  const oatgp_status status = find_neighbours(w, device, NULL);
  return status == OATGP_OK ? put_left_out(w, device, false, out) : status;
}

/* A row of A^T D^-1 [W, rho] and of the diagonal of A^T D^-1 A, A with 1 at a row and -b at its neighbours. */
typedef struct gathered {
  real t[KNOTS], rho[WIDTH], diagonal;
} gathered;

static void gather(const world *w, const nearby *n, size_t row, real a, gathered *to) {
  to->diagonal += a * a / n->d;
  for (size_t c = 0; c < KNOTS; c++) {
    to->t[c] += a * n->w[c] / n->d;
  }
  for (size_t j = 0; j < WIDTH; j++) {
    to->rho[j] += a * rho_of(w, n, row, j) / n->d;
  }
}

static real error_of(const world *w, const gathered *g, real kappa, bool estimated) {
  real error = g->rho[0] - dot(KNOTS, w->c, g->t);
  double columns[BASIS], work[BASIS];
  for (size_t j = 0; j < BASIS; j++) {
    const real e = g->rho[1 + j] - (estimated ? dot(KNOTS, w->c + (1 + j) * KNOTS, g->t) : 0);
    error -= w->coefficient[j] * e;
    columns[j] = (double)(e / kappa);
  }
  return error / kappa / (estimated ? 1 - kappa * oat_gls_quadratic(&w->gls, columns, work) : 1);
}

static void state_left_out(world *w, result *out) {
  nearby *near = all_nearby(w);
  gathered *all = calloc(ROWS, sizeof *all);
  real squares = 0, products = 0;
  for (size_t i = 0; i < ROWS; i++) {
    real u[KNOTS];
    memcpy(u, near[i].w, sizeof u);
    forward(KNOTS, w->lb, u);
    squares += rho_of(w, &near[i], i, 0) * rho_of(w, &near[i], i, 0) / near[i].d;
    products += rho_of(w, &near[i], i, 0) * dot(KNOTS, w->c, u) / near[i].d;
    gather(w, &near[i], i, 1, &all[i]);
    for (size_t j = 0; j < near[i].count; j++) {
      gather(w, &near[i], i, -near[i].b[j], &all[near[i].list[j]]);
    }
  }
  for (int estimated = 1; estimated >= 0; estimated--) {
    real error[ROWS], variance[ROWS], density = 0;
    for (size_t i = 0; i < ROWS; i++) {
      gathered g = all[i];
      forward(KNOTS, w->lb, g.t);
      const real kappa = g.diagonal - dense_dot(KNOTS, g.t, g.t);
      error[i] = error_of(w, &g, kappa, estimated);
      variance[i] = 1 / kappa;
      density -= (logl(2 * acosl(-1) * variance[i]) + error[i] * error[i] / variance[i]) / 2;
    }
    for (size_t i = 0; i < 2 * ROWS; i++) {
      put_one(out, i < ROWS ? error[i] : variance[i - ROWS]);
    }
    put_one(out, density);
    put_one(out, squares);
    put_one(out, products);
  }
  free(near);
  free(all);
}

/* ---- points ---------------------------------------------------------------------------------------------------- */

static oat_rows points_of(const world *w) { return (oat_rows){.n = CANDIDATES, .d = INPUTS, .x = w->candidates}; }

/* Twice: the second time with what the first has left. */
static oatgp_status compute_points(world *w, oat_device *device, result *out) {
  const oat_rows points = points_of(w);
  oatgp_status status = OATGP_OK;
  for (int again = 0; again < 2; again++) {
    double values[3 * CANDIDATES];
    const oat_row_predictions to = {values, values + CANDIDATES, values + 2 * CANDIDATES};
    TRY(device->table->points_from_rows(device, &w->sparse, w->lb, w->c, &points, &to));
    put(out, LENGTH(values), values);
  }
done:
  return status;
}

static nearby *points_nearby(const world *w) {
  nearby *all = calloc(CANDIDATES, sizeof *all);
  assert_non_null(all);
  for (size_t i = 0; i < CANDIDATES; i++) {
    find_nearest(w, w->candidates + i, CANDIDATES, ROWS, &all[i]);
    regress(w, w->candidates + i, CANDIDATES, &all[i]);
  }
  return all;
}

static void state_points(world *w, result *out) {
  nearby *near = points_nearby(w);
  real values[3 * CANDIDATES];
  for (size_t i = 0; i < CANDIDATES; i++) {
    real u[KNOTS];
    memcpy(u, near[i].w, sizeof u);
    forward(KNOTS, w->lb, u);
    values[i] = dot(KNOTS, w->c, u);
    for (size_t j = 0; j < NEAR; j++) {
      values[i] += near[i].b[j] * r_of(w, near[i].list[j], 0);
    }
    values[CANDIDATES + i] = near[i].d;
    values[2 * CANDIDATES + i] = dense_dot(KNOTS, u, u);
  }
  for (size_t i = 0; i < 2 * LENGTH(values); i++) {
    put_one(out, values[i % LENGTH(values)]);
  }
  free(near);
}

/* With derivatives, for the neighbours that a point has. */
static oatgp_status compute_slopes(world *w, oat_device *device, result *out) {
  static double values[3 * CANDIDATES], slopes[2 * CANDIDATES * INPUTS];
  const oat_rows points = points_of(w);
  const oat_row_predictions to = {values, values + CANDIDATES, values + 2 * CANDIDATES};
  const oat_row_slopes all = {OAT_RESIDUAL_FULL, slopes, slopes + CANDIDATES * INPUTS},
                       some = {OAT_RESIDUAL_FULL, slopes, NULL};
  oatgp_status status = OATGP_OK;
  TRY(device->table->point_slopes_from_rows(device, &w->sparse, w->lb, w->c, &points, &to, &all));
  put(out, LENGTH(values), values);
  put(out, LENGTH(slopes), slopes);
  TRY(device->table->point_slopes_from_rows(device, &w->sparse, w->lb, w->c, &points, &to, &some));
  put(out, CANDIDATES * INPUTS, slopes);
done:
  return status;
}

/* Mean, left and u2 of a point that has been regressed. */
static void value_of(const world *w, const nearby *near, real value[3]) {
  real u[KNOTS];
  memcpy(u, near->w, sizeof u);
  forward(KNOTS, w->lb, u);
  value[0] = dot(KNOTS, w->c, u);
  for (size_t j = 0; j < NEAR; j++) {
    value[0] += near->b[j] * r_of(w, near->list[j], 0);
  }
  value[1] = near->d;
  value[2] = dense_dot(KNOTS, u, u);
}

/* Central differences of order four, of the mean and of the variance. */
static void slope_at(const world *w, const nearby *near, size_t point, size_t input, real slope[2]) {
  static const real weight[] = {1, -8, 8, -1};
  slope[0] = slope[1] = 0;
  for (int step = 0; step < 4; step++) {
    nearby moved = *near;
    double x[INPUTS];
    real value[3];
    for (size_t j = 0; j < INPUTS; j++) {
      x[j] = w->candidates[point + j * CANDIDATES];
    }
    x[input] += (double[]){-0x1p-9, -0x1p-10, 0x1p-10, 0x1p-9}[step];
    regress(w, x, 1, &moved);
    value_of(w, &moved, value);
    slope[0] += weight[step] * value[0] / (12 * 0x1p-10L);
    slope[1] += weight[step] * (value[1] + value[2]) / (12 * 0x1p-10L);
  }
}

static void state_slopes(world *w, result *out) {
  static real values[3 * CANDIDATES], slopes[3 * CANDIDATES * INPUTS];
  nearby *near = points_nearby(w);
  for (size_t i = 0; i < CANDIDATES; i++) {
    real value[3], slope[2];
    value_of(w, &near[i], value);
    for (size_t v = 0; v < 3; v++) {
      values[i + v * CANDIDATES] = value[v];
    }
    for (size_t j = 0; j < INPUTS; j++) {
      slope_at(w, &near[i], i, j, slope);
      slopes[i + j * CANDIDATES] = slopes[i + (2 * INPUTS + j) * CANDIDATES] = slope[0];
      slopes[i + (INPUTS + j) * CANDIDATES] = slope[1];
    }
  }
  for (size_t i = 0; i < LENGTH(values) + LENGTH(slopes); i++) {
    put_one(out, i < LENGTH(values) ? values[i] : slopes[i - LENGTH(values)]);
  }
  free(near);
}

static oatgp_status compute_joint(world *w, oat_device *device, result *out) {
  static double covariance[CANDIDATES * CANDIDATES];
  const oat_rows points = points_of(w);
  const oatgp_status status = device->table->joint_from_rows(device, &w->sparse, w->lb, &points, covariance);
  put(out, LENGTH(covariance), covariance);
  return status;
}

/* K + noise between a point and its neighbours and those of another, with the weights 1 and -b on both sides. */
static real joint_of(const nearby *a, const nearby *b, real between, const real *cross_a, const real *cross_b,
                     const real *rows, const world *w) {
  real sum = between;
  for (size_t i = 0; i < NEAR; i++) {
    sum -= a->b[i] * cross_b[a->list[i]] + b->b[i] * cross_a[b->list[i]];
    for (size_t j = 0; j < NEAR; j++) {
      const size_t row = a->list[i], other = b->list[j];
      sum += a->b[i] * b->b[j] * (rows[row + other * ROWS] + (row == other ? noise_of(w, row) : 0));
    }
  }
  return sum;
}

static void state_joint(world *w, result *out) {
  const oat_points x = {w->p.x, ROWS, ROWS}, points = {w->candidates, CANDIDATES, CANDIDATES};
  nearby *near = points_nearby(w);
  real *rows = dense_cross(&w->sparse.cov, x, x), *cross = dense_cross(&w->sparse.cov, x, points),
       *among = dense_cross(&w->sparse.cov, points, points), *u = dense_new(KNOTS, CANDIDATES);
  for (size_t i = 0; i < CANDIDATES; i++) {
    memcpy(u + i * KNOTS, near[i].w, KNOTS * sizeof *u);
    forward(KNOTS, w->lb, u + i * KNOTS);
  }
  for (size_t i = 0; i < CANDIDATES * CANDIDATES; i++) {
    const size_t a = i % CANDIDATES, b = i / CANDIDATES;
    put_one(out, joint_of(&near[a], &near[b], among[i], cross + a * ROWS, cross + b * ROWS, rows, w) -
                     dense_dot(KNOTS, near[a].w, near[b].w) + dense_dot(KNOTS, u + a * KNOTS, u + b * KNOTS));
  }
  real *const blocks[] = {rows, cross, among, u};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
  free(near);
}

static operation operations[] = {
    {"sums with neighbours", compute_sums, state_sums, .any_alpha = true, .neighbours = NEAR},
    {"gradient sums with neighbours", compute_gradient, state_gradient, .any_alpha = true, .neighbours = NEAR},
    {"left out with neighbours", compute_left_out, state_left_out, .any_alpha = true, .neighbours = NEAR},
    {"points from rows", compute_points, state_points, .any_alpha = true, .neighbours = NEAR, .predicts = true},
    {"point slopes from rows", compute_slopes, state_slopes, .any_alpha = true, .neighbours = NEAR, .predicts = true},
    {"joint from rows", compute_joint, state_joint, .any_alpha = true, .neighbours = NEAR, .predicts = true},
};

/* ---- reports --------------------------------------------------------------------------------------------------- */

typedef struct heard {
  size_t count;
  oatgp_level level;
  char sentence[512];
} heard;

static void hear(void *user, oatgp_level level, const char *sentence) {
  heard *h = user;
  h->count++;
  h->level = level;
  snprintf(h->sentence, sizeof h->sentence, "%s", sentence);
}

/* The sums with the knots' factor times `scale` and this noise, and what is said of them, twice. */
static oat_near_trouble trouble_of(double scale, double tau, heard *h) {
  world *w = make_world("se-ard", NOISE_PLAIN, 1);
  result *out = calloc(1, sizeof *out);
  const oat_device_config config = {.max_knots = KNOTS,
                                    .neighbours = NEAR,
                                    .where = {"cpu", 2},
                                    .kernel = oat_kernel_size_of(&w->kernel),
                                    .fits = true};
  oatgp_context *ctx = oatgp_context_create();
  oat_device *device = NULL;
  oatgp_context_set_message(ctx, hear, h);
  assert_non_null(out);
  for (size_t i = 0; i < KNOTS * KNOTS; i++) {
    w->l[i] *= scale;
  }
  for (size_t i = 0; i < ROWS * INPUTS; i++) { /* every other row is that before it */
    w->p.x[i] = w->p.x[i % ROWS % 2 == 1 ? i - 1 : i];
  }
  w->sparse.tau = tau;
  assert_int_equal(oat_device_open(ctx, &config, &w->rows, &device), OATGP_OK);
  assert_int_equal(compute_sums(w, device, out), OATGP_OK);
  const oat_near_trouble found = device->table->near_trouble(device);
  oat_device_tell_trouble(ctx, device, ROWS, "rows");
  oat_device_tell_trouble(ctx, device, ROWS, "rows");
  for (size_t i = 0; i < out->count; i++) {
    assert_true(isfinite(out->at[i]));
  }
  oat_device_close(device);
  oatgp_context_free(ctx);
  free_world(w);
  free(out);
  return found;
}

/* Rows that are predicted without neighbours, or with a C that was lifted, are counted and told of, once. */
static void trouble_is_told(void **state) {
  heard h = {0};
  (void)state;
  oat_near_trouble found = trouble_of(1, 0.3, &h);
  assert_int_equal(found.lifted + found.without + h.count, 0);
  found = trouble_of(1, 0, &h); /* equal rows, no noise */
  assert_true(found.lifted > 0 && found.lift > 0 && found.lift < 1e-6);
  assert_int_equal(found.without, 0);
  assert_int_equal(h.count, 1);
  assert_int_equal(h.level, OATGP_NOTE);
  assert_non_null(strstr(h.sentence, "of the prior variance was added"));
  found = trouble_of(0.3, 0.3, &h); /* knots that explain more than the variance */
  assert_true(found.without > 0 && found.without < ROWS);
  assert_int_equal(h.count, 2);
  assert_int_equal(h.level, OATGP_WARNING);
  assert_non_null(strstr(h.sentence, "of 331 rows are predicted from the knots alone"));
}

int main(void) {
  const struct CMUnitTest others[] = {cmocka_unit_test(trouble_is_told)};
  return run_operations(LENGTH(operations), operations, LENGTH(others), others);
}
