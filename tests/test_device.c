/* Devices: the operations of sparse models, and the registry. */
#include "device_suite.h"
#include "util/threads.h"

/* ---- sums ------------------------------------------------------------------------------------------------------ */

static oatgp_status compute_sums(world *w, oat_device *device, result *out) {
  double block[KNOTS * KNOTS + KNOTS * WIDTH + WIDTH * WIDTH + OAT_SCALARS];
  oat_sums sums = oat_sums_over(block, KNOTS, BASIS);
  const oatgp_status status = device->table->sums(device, &w->sparse, &sums);
  put(out, sums.count, block);
  return status;
}

static real penalty_of(const world *w, size_t i) {
  const real alpha = w->sparse.alpha, g = left_of(w, i), n = noise_of(w, i);
  if (alpha > 0) {
    return -(1 - alpha) / (2 * alpha) * log1pl(alpha * g / n);
  }
  return w->sparse.penalty == OAT_PENALISE_TRACE ? -g / (2 * n)
         : w->sparse.penalty == OAT_PENALISE_LOG ? -log1pl(g / n) / 2
                                                 : 0;
}

/* Its derivative in g. */
static real penalty_slope(const world *w, size_t i) {
  const real alpha = w->sparse.alpha, g = left_of(w, i), n = noise_of(w, i);
  if (alpha > 0) {
    return -(1 - alpha) / (2 * (n + alpha * g));
  }
  return w->sparse.penalty == OAT_PENALISE_TRACE ? -1 / (2 * n)
         : w->sparse.penalty == OAT_PENALISE_LOG ? -1 / (2 * (n + g))
                                                 : 0;
}

static bool log_penalty(const world *w) { return w->sparse.penalty == OAT_PENALISE_LOG; }

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

/* ---- gradient sums --------------------------------------------------------------------------------------------- */

/* Collapsed; with S, too; with the terms of the rows; with S, too. */
typedef enum slope_form { COLLAPSED, COLLAPSED_AND_S, ROW_TERMS, ROW_TERMS_AND_S, SLOPE_FORMS } slope_form;

static slope_form first_form(const world *w) { return w->sparse.alpha == 0 ? COLLAPSED : ROW_TERMS; }

/* S of what is collapsed is that of a log penalty. */
static slope_form form_after(const world *w, slope_form form) {
  return form == COLLAPSED && !log_penalty(w) ? ROW_TERMS : form + 1;
}

static bool is_collapsed(slope_form form) { return form <= COLLAPSED_AND_S; }

static bool has_s(slope_form form) { return form == COLLAPSED_AND_S || form == ROW_TERMS_AND_S; }

static oatgp_status compute_form(world *w, oat_device *device, slope_form form, result *out) {
  double block[MOST_THETAS + KNOTS * INPUTS + KNOTS * KNOTS];
  oat_gradient_sums sums = oat_gradient_sums_over(block, w->thetas, KNOTS, INPUTS);
  const oat_adjoint adjoint = {
      .collapsed = is_collapsed(form), .product = w->square, .e = w->e, .le = w->le, .coefficient = w->coefficient};
  sums.count -= has_s(form) ? 0 : KNOTS * KNOTS;
  sums.s = has_s(form) ? sums.s : NULL;
  memset(block, 0xff, sizeof block); /* not a number */
  const oatgp_status status = device->table->gradient_sums(device, &w->sparse, &adjoint, &sums);
  if (sums.s != NULL) {
    forget_upper(KNOTS, sums.s);
  }
  put(out, sums.count, block);
  put(out, 2, (double[]){sums.dg, sums.dn});
  for (size_t i = sums.count; i < w->thetas + KNOTS * INPUTS + KNOTS * KNOTS; i++) {
    assert_true(isnan(block[i]));
  }
  return status;
}

static oatgp_status compute_gradient(world *w, oat_device *device, result *out) {
  double block[KNOTS * KNOTS + KNOTS * WIDTH + WIDTH * WIDTH + OAT_SCALARS];
  oat_sums first = oat_sums_over(block, KNOTS, BASIS);
  oatgp_status status = OATGP_OK;
  TRY(device->table->sums(device, &w->sparse, &first)); /* as the contract says */
  for (slope_form form = first_form(w); form < SLOPE_FORMS; form = form_after(w, form)) {
    TRY(compute_form(w, device, form, out));
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
  const real d_lambda = -weight * (1 - weight * (vbv + rest * rest)) / 2, penalty = penalty_slope(w, i);
  s.dg = alpha * d_lambda + penalty;
  s.dn = d_lambda - penalty * g / n;
  for (size_t c = 0; c < KNOTS; c++) {
    s.dv[c] = weight * (rest * w->e[c] - product[c]) - 2 * s.dg * v[c];
  }
  return s;
}

/* x <- L^-T x */
static void backward(const world *w, real *x) {
  for (size_t c = KNOTS; c-- > 0;) {
    for (size_t j = c + 1; j < KNOTS; j++) {
      x[c] -= w->l[j + c * KNOTS] * x[j];
    }
    x[c] /= w->l[c * (KNOTS + 1)];
  }
}

/* The derivative of what is differentiated in row i of Kfu. */
static void slopes_in_kernel(const world *w, slope_form form, size_t i, real *dk) {
  const real *v = v_of(w, i);
  const row_slopes s = slopes_of(w, i);
  for (size_t c = 0; c < KNOTS; c++) {
    dk[c] = is_collapsed(form) ? (log_penalty(w) ? -2 * s.dg * v[c] : 0) : s.dv[c];
  }
  backward(w, dk);
  for (size_t c = 0; is_collapsed(form) && c < KNOTS; c++) {
    dk[c] += weight_of(w, i) * (dot(KNOTS, w->square + c * KNOTS, v) + residual_of(w, i) * w->le[c]);
  }
}

/* sum_ic dk_ic k(x_i, z_c) as a function of theta and z; with an expression also sum_i dg_i k(x_i, x_i). */
static real weighted_kernel(world *w, const real *dk, const real *dg) {
  real *k = dense_cross(&w->sparse.cov, (oat_points){w->p.x, ROWS, ROWS}, oat_sparse_knots(&w->sparse)), sum = 0;
  for (size_t i = 0; i < ROWS * KNOTS; i++) {
    sum += dk[i / ROWS + i % ROWS * KNOTS] * k[i];
  }
  for (size_t i = 0; w->expression != NULL && i < ROWS; i++) {
    sum += dg[i] * prior_of(w, i);
  }
  free(k);
  return sum;
}

/* By central differences in the number at `at`, of its logarithm if that is asked for. */
static real slope_in(world *w, const real *dk, const real *dgs, double *at, bool logarithm) {
  const double here = *at, h = 1e-5 * (logarithm ? here : 1);
  *at = here + h;
  const double above = *at;
  const real high = weighted_kernel(w, dk, dgs);
  *at = here - h;
  const double below = *at;
  const real low = weighted_kernel(w, dk, dgs);
  *at = here;
  return (high - low) / ((real)above - below) * (logarithm ? here : 1);
}

static void state_form(world *w, slope_form form, result *out) {
  real *dk = dense_new(KNOTS, ROWS), s[KNOTS * KNOTS] = {0}, dgs[ROWS], dg = 0, dn = 0;
  for (size_t i = 0; i < ROWS; i++) {
    slopes_in_kernel(w, form, i, dk + i * KNOTS);
    const row_slopes row = slopes_of(w, i);
    const bool told = !is_collapsed(form) || log_penalty(w);
    const real n = noise_of(w, i), d_penalty = -row.dg * left_of(w, i) / n, *v = v_of(w, i);
    for (size_t c = 0; c < KNOTS * KNOTS; c++) {
      s[c] += !log_penalty(w)         ? row.dv[c % KNOTS] * v[c / KNOTS]
              : c % KNOTS < c / KNOTS ? 0
                                      : -2 * row.dg * v[c % KNOTS] * v[c / KNOTS];
    }
    dgs[i] = row.dg;
    dg += told ? row.dg : 0;
    dn += (!is_collapsed(form) ? row.dn
           : told              ? d_penalty
                               : 0) *
          w->sparse.tau * w->sparse.tau * (w->rows.noise_scale != NULL ? w->rows.noise_scale[i] : 1);
  }
  for (size_t i = 0; i < w->thetas; i++) {
    put_one(out, has_slope(w, i) ? slope_in(w, dk, dgs, &w->p.theta[i], true) : 0);
  }
  for (size_t i = 0; i < KNOTS * INPUTS; i++) {
    put_one(out, slope_in(w, dk, dgs, &w->p.z[i], false));
  }
  for (size_t i = 0; has_s(form) && i < KNOTS * KNOTS; i++) {
    put_one(out, i % KNOTS < i / KNOTS ? 0 : s[i]);
  }
  put_one(out, dg);
  put_one(out, dn);
  free(dk);
}

static void state_gradient(world *w, result *out) {
  for (slope_form form = first_form(w); form < SLOPE_FORMS; form = form_after(w, form)) {
    state_form(w, form, out);
  }
}

/* ---- gains of candidates --------------------------------------------------------------------------------------- */

/* Few and many rows have less left than a candidate takes. */
static double variance_of(size_t candidate) { return 0.1 * (double)(1 + candidate * candidate); }

static oatgp_status compute_gains(world *w, oat_device *device, result *out) {
  double block[CANDIDATES * (2 + WIDTH + KNOTS)];
  if (w->sparse.alpha > 0) {
    return OATGP_OK;
  }
  double s2[CANDIDATES];
  for (size_t m = 0; m < CANDIDATES; m++) {
    s2[m] = variance_of(m);
  }
  oat_candidates all = {
      {w->candidates, CANDIDATES, CANDIDATES}, w->v, s2, block, block + CANDIDATES, block + CANDIDATES * (1 + WIDTH),
      block + CANDIDATES * (1 + WIDTH + KNOTS)};
  const oatgp_status status = device->table->gains(device, &w->sparse, &all);
  put(out, LENGTH(block), block);
  return status;
}

static void state_gains(world *w, result *out) {
  static real all[CANDIDATES * (2 + WIDTH + KNOTS)];
  real *er = all + CANDIDATES, *ve = er + CANDIDATES * WIDTH, *logs = ve + CANDIDATES * KNOTS;
  if (w->sparse.alpha > 0) {
    return;
  }
  memset(all, 0, sizeof all);
  real *k = dense_cross(&w->sparse.cov, (oat_points){w->p.x, ROWS, ROWS},
                        (oat_points){w->candidates, CANDIDATES, CANDIDATES});
  for (size_t i = 0; i < ROWS * CANDIDATES; i++) {
    const size_t row = i % ROWS, m = i / ROWS;
    real e = k[i];
    for (size_t c = 0; c < KNOTS; c++) {
      e -= v_of(w, row)[c] * w->v[m + c * CANDIDATES];
    }
    all[m] += weight_of(w, row) * e * e;
    if (log_penalty(w)) {
      const real n = noise_of(w, row), g = left_of(w, row);
      logs[m] += logl((n + g) / (n + fmaxl(g - e * e / (real)variance_of(m), 0)));
    }
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

/* ---- a value for each row -------------------------------------------------------------------------------------- */

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

static oatgp_status compute_left_out(world *w, oat_device *device, result *out) {
  return put_left_out(w, device, true, out);
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

/* With more points than a panel has; with the residual and without, and without LB. */
static oatgp_status compute_joint_with(world *w, oat_device *device, result *out) {
  static double covariance[ROWS * CANDIDATES];
  const oat_rows points = {.n = CANDIDATES, .d = INPUTS, .x = w->candidates};
  oatgp_status status = OATGP_OK;
  TRY(device->table->joint_with(device, &w->sparse, w->lb, OAT_RESIDUAL_FULL, &points, covariance));
  put(out, LENGTH(covariance), covariance);
  TRY(device->table->joint_with(device, &w->sparse, w->lb, OAT_RESIDUAL_DIAGONAL, &points, covariance));
  put(out, LENGTH(covariance), covariance);
  TRY(device->table->joint_with(device, &w->sparse, NULL, OAT_RESIDUAL_FULL, &points, covariance));
  put(out, LENGTH(covariance), covariance);
done:
  return status;
}

static void state_joint_with(world *w, result *out) {
  const oat_points x = {w->p.x, ROWS, ROWS}, points = {w->candidates, CANDIDATES, CANDIDATES};
  real *k = dense_cross(&w->sparse.cov, x, points),
       *v = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), points), *u = dense_new(KNOTS, CANDIDATES),
       *rows = dense_new(KNOTS, ROWS);
  for (size_t i = 0; i < CANDIDATES; i++) {
    forward(KNOTS, w->l, v + i * KNOTS);
    memcpy(u + i * KNOTS, v + i * KNOTS, KNOTS * sizeof *u);
    forward(KNOTS, w->lb, u + i * KNOTS);
  }
  for (size_t i = 0; i < ROWS; i++) {
    u_of(w, i, rows + i * KNOTS);
  }
  for (size_t i = 0; i < 3 * ROWS * CANDIDATES; i++) {
    const size_t kind = i / (ROWS * CANDIDATES), at = i % (ROWS * CANDIDATES), row = at % ROWS, point = at / ROWS;
    const real left = k[at] - dense_dot(KNOTS, v_of(w, row), v + point * KNOTS),
               explained = dense_dot(KNOTS, rows + row * KNOTS, u + point * KNOTS);
    put_one(out, (kind != 1 ? left : 0) + (kind != 2 ? explained : 0));
  }
  real *const blocks[] = {k, v, u, rows};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
}

/* ---- predictions with their derivatives ------------------------------------------------------------------------ */

/* Which variance: with LB and the residual, without the residual, without LB. */
enum { ALL, EXPLAINED, EXACT, VARIANCES };

static oatgp_status compute_slopes(world *w, oat_device *device, result *out) {
  oatgp_status status = OATGP_OK;
  for (int kind = ALL; kind < VARIANCES; kind++) {
    double at[3 * ROWS], slopes[2 * ROWS * INPUTS];
    const oat_row_predictions values = {at, at + ROWS, at + 2 * ROWS};
    const oat_row_slopes to = {kind == EXPLAINED ? OAT_RESIDUAL_NONE : OAT_RESIDUAL_FULL, slopes,
                               slopes + ROWS * INPUTS};
    const double *lb = kind == EXACT ? NULL : w->lb;
    TRY(device->table->prediction_slopes(device, &w->sparse, lb, w->c, &values, &to));
    put(out, LENGTH(at), at);
    put(out, LENGTH(slopes), slopes);
    TRY(device->table->prediction_slopes(device, &w->sparse, lb, w->c, &values,
                                         &(oat_row_slopes){to.residual, NULL, slopes}));
    put(out, ROWS * INPUTS, slopes);
  }
done:
  return status;
}

/* Mean, left and u2 at a point. */
static void predict_at(const world *w, const double *x, int kind, real value[3]) {
  const oat_points point = {x, 1, 1};
  real *u = dense_cross(&w->sparse.cov, oat_sparse_knots(&w->sparse), point),
       *prior = dense_cross(&w->sparse.cov, point, point);
  forward(KNOTS, w->l, u);
  value[1] = *prior - dense_dot(KNOTS, u, u);
  if (kind != EXACT) {
    forward(KNOTS, w->lb, u);
  }
  value[0] = dot(KNOTS, w->c, u);
  value[2] = dense_dot(KNOTS, u, u);
  free(u);
  free(prior);
}

/* Central differences of order four: of the mean, and of the variance. */
static void slope_at(const world *w, size_t row, size_t input, int kind, real slope[2]) {
  static const real weight[] = {1, -8, 8, -1};
  slope[0] = slope[1] = 0;
  for (int step = 0; step < 4; step++) {
    double x[INPUTS];
    real value[3];
    for (size_t j = 0; j < INPUTS; j++) {
      x[j] = w->p.x[row + j * ROWS];
    }
    x[input] += (double[]){-0x1p-9, -0x1p-10, 0x1p-10, 0x1p-9}[step];
    predict_at(w, x, kind, value);
    const real variance = (kind == EXPLAINED ? 0 : value[1]) + (kind == EXACT ? 0 : value[2]);
    slope[0] += weight[step] * value[0] / (12 * 0x1p-10L);
    slope[1] += weight[step] * variance / (12 * 0x1p-10L);
  }
}

static void state_slopes(world *w, result *out) {
  for (int kind = ALL; kind < VARIANCES; kind++) {
    static real at[3 * ROWS], slopes[3 * ROWS * INPUTS];
    for (size_t i = 0; i < ROWS; i++) {
      real value[3], slope[2];
      double here[INPUTS];
      for (size_t j = 0; j < INPUTS; j++) {
        here[j] = w->p.x[i + j * ROWS];
        slope_at(w, i, j, kind, slope);
        slopes[i + j * ROWS] = slope[0];
        slopes[i + (INPUTS + j) * ROWS] = slopes[i + (2 * INPUTS + j) * ROWS] = slope[1];
      }
      predict_at(w, here, kind, value);
      for (size_t v = 0; v < 3; v++) {
        at[i + v * ROWS] = value[v];
      }
    }
    for (size_t i = 0; i < LENGTH(at); i++) {
      put_one(out, at[i]);
    }
    for (size_t i = 0; i < LENGTH(slopes); i++) {
      put_one(out, slopes[i]);
    }
  }
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static operation operations[] = {
    {"sums", compute_sums, state_sums},
    {"gradient sums", compute_gradient, state_gradient},
    {"gains", compute_gains, state_gains},
    {"predictions", compute_predictions, state_predictions},
    {"means", compute_means, state_means},
    {"left out", compute_left_out, state_left_out},
    {"joint", compute_joint, state_joint},
    {"joint with", compute_joint_with, state_joint_with, .any_alpha = true},
    {"prediction slopes", compute_slopes, state_slopes, .any_alpha = true},
};

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
      real *inside = dense_cross(&w->sparse.cov, x, x),
           *towards = dense_cross(&w->sparse.cov, x, oat_sparse_knots(&w->sparse)), sum = 0;
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

/* What a device keeps of the rows is of one point: another one with as many knots, but other parameters, gets its
 * own. */
static void points_are_told_apart(void **state) {
  (void)state;
  static result fresh, after;
  world *first = make_world("se-ard", NOISE_PLAIN, 0), *second = make_world("matern52-ard", NOISE_PLAIN, 0);
  second->sparse.stamp = 2;
  for (size_t d = 0; oat_device_at(d) != NULL; d++) {
    const oat_device_config config = {
        .max_knots = KNOTS, .memory = 1 << 24, .where = {oat_device_at(d)->name, 1}, .fits = true};
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
  }
  assert_int_equal(oatgp_context_set_device(ctx, "auto"), OATGP_OK);
  assert_int_equal(oatgp_context_set_device(ctx, "abacus"), OATGP_ARGUMENT);
  assert_string_equal(oatgp_last_error(ctx), "there is no device 'abacus'; use auto, cpu or cuda");
  assert_int_equal(oatgp_context_set_device(ctx, NULL), OATGP_ARGUMENT);
  assert_int_equal(oatgp_context_set_device(NULL, "cpu"), OATGP_ARGUMENT);
  oatgp_context_free(ctx);
}

int main(void) {
  oat_threads_always();
  const struct CMUnitTest others[] = {
      cmocka_unit_test(averages),
      cmocka_unit_test(points_are_told_apart),
      cmocka_unit_test(names),
  };
  return run_operations(LENGTH(operations), operations, LENGTH(others), others);
}
