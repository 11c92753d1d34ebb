/* Devices: the exact GP, and the system behind its evidence. */
#include "device_suite.h"
#include "util/threads.h"

/* ---- the exact GP ---------------------------------------------------------------------------------------------- */

enum { SLOPES = MOST_THETAS };
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
    e.s[i * (ROWS + 1)] += jitter * dense_share(&w->sparse.cov, inputs_of(w)) + noise_of(w, i);
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
  TRY(device->table->exact_left_out(device, &gls, NULL, &density));
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
    if (w->expression != NULL) { /* J is a part of its kernel */
      dense_add_diagonal(ROWS, k, jitter * dense_share(&w->sparse.cov, inputs_of(w)));
    }
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
  for (size_t i = 0; i < w->thetas; i++) {
    slopes[i] = has_slope(w, i) ? slope_of_rows(w, ds, &w->p.theta[i]) : 0;
  }
  put_scaled(out, LENGTH(e.gram), e.gram);
  put_scaled(out, SLOPES, slopes);
  signal = w->expression != NULL ? 0 : signal;
  put_scaled(out, 5, (real[]){logarithms, quadratic, signal, noise, state_density(&e, a)});
  free(ds);
  free_exact(&e);
}

static void make_diagonal(const world *w, double *diagonal) {
  for (size_t i = 0; i < ROWS; i++) {
    diagonal[i] = (double)(jitter * dense_share(&w->sparse.cov, inputs_of(w)) + noise_of(w, i));
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

/* The same with the factor of some rows known: of none, of all but one, of all. */
static oatgp_status compute_more(world *w, oat_device *device, result *out) {
  static const size_t known[] = {0, 100, ROWS - 1, ROWS};
  static double l[ROWS * ROWS], before[ROWS * ROWS];
  double diagonal[ROWS], gram[WIDTH * WIDTH], solved[ROWS * WIDTH];
  oatgp_status status = OATGP_OK;
  make_diagonal(w, diagonal);
  for (size_t k = 0; k < LENGTH(known); k++) {
    oat_grown_factor more = {known[k], known[k] < ROWS ? before : NULL, l, solved, gram, 1};
    for (size_t i = 0; i < known[k] * known[k]; i++) { /* that of the time before, when l had it */
      before[i] = l[i % known[k] + i / known[k] * ROWS];
    }
    TRY(device->table->factor_more(device, &w->sparse.cov, diagonal, &more));
    assert_int_equal(more.pivot, 0);
    put(out, LENGTH(l), l);
  }
  put_doubles(out, LENGTH(gram), gram);
  diagonal[ROWS - 2] = -1000;
  oat_grown_factor failing = {100, before, l, solved, gram, 0};
  for (size_t i = 0; i < 100 * 100; i++) {
    before[i] = l[i % 100 + i / 100 * ROWS];
  }
  assert_int_equal(device->table->factor_more(device, &w->sparse.cov, diagonal, &failing), OATGP_NUMERIC);
  assert_int_equal(failing.pivot, ROWS - 1);
done:
  return status;
}

static void state_more(world *w, result *out) {
  exact_world e = make_exact(w);
  for (size_t i = 0; i < 4 * ROWS * ROWS; i++) {
    const size_t at = i % (ROWS * ROWS);
    put_one(out, at % ROWS < at / ROWS ? 0 : e.l[at]);
  }
  put_scaled(out, LENGTH(e.gram), e.gram);
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

/* ---- the system behind the exact evidence ---------------------------------------------------------------------- */

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

static void put_iterate(result *out, const oat_iterate *at) {
  put_doubles(out, 3, (double[]){at->q, at->ez, at->whole});
}

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
  real *k = dense_cross(&w->sparse.cov, rows, rows), x[ROWS] = {0}, e[ROWS], z[ROWS], p[ROWS] = {0}, cp[ROWS],
       weights = 0;
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
  real *g = dense_cross(&w->sparse.cov, rows, rows), *u = dense_new(KNOTS, ROWS), ut[KNOTS * KNOTS] = {0},
       sums[4] = {0};
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

static operation operations[] = {
    {"exact", compute_exact, state_exact, .any_alpha = true},
    {"factor", compute_factor, state_factor, .any_alpha = true},
    {"factor more", compute_more, state_more, .any_alpha = true},
    {"exact rows", compute_exact_rows, state_exact_rows, .any_alpha = true},
    {"system", compute_system, state_system, .any_alpha = true, .system = true},
    {"traces", compute_traces, state_traces, .any_alpha = true, .system = true},
};

int main(void) {
  oat_threads_always();
  return run_operations(LENGTH(operations), operations, 0, NULL);
}
