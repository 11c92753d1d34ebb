/* Knot gradients when Kuu is nearly singular, condition 1e7 to 1e12: there inverses and sums that are whitened too late
 * lose the derivatives, while the value of the objective hides it. Reference: the dense gradient of the ELBO in long
 * double,
 *
 *   G = dF/dQ = 1/2 (S^-1 r r^T S^-1 - S^-1 + diag(1 / n)) (1 / (n + g) for tvfe),  dF/dKuf = 2 A G,  dF/dKuu = -A G
 * A^T,  A = Kuu^-1 Kuf.
 *
 * The order of the knots matters: L is a good factor when each knot is far from those before it, a bad one when they
 * are sorted. */
#include "rows/layout.h"
#include "dense.h"
#include "problem.h"

enum { ROWS = 120, KNOTS = 60 };

/* Error allowed, in units of the condition number, so 2e-8 at condition 2e7 and 2e-4 at 2e11. Most errors are a tenth
 * to a hundredth of it; pairs of knots that almost meet, next to each other in the same inverted block, come
 * closest. */
#define FACTOR 1e-15

/* ---- reference ------------------------------------------------------------------------------------------------- */

/* G, n x n. */
static real *derivative_in_q(const dense *m) {
  const size_t n = m->n;
  real *g = dense_new(n, n);
  dense_add_diagonal(n, g, 1);
  dense_solve(n, m->s, g, n);
  for (size_t i = 0; i < n * n; i++) {
    g[i] = (m->pull[i % n] * m->pull[i / n] - g[i]) / 2;
  }
  for (size_t i = 0; i < n; i++) {
    const real left =
        dense_kernel(&m->cov, m->rows, i, m->rows, i) - dense_dot(m->k, m->kuf + i * m->k, m->a + i * m->k);
    g[i * (n + 1)] += 1 / (2 * (m->noise[i] + (m->model->penalty == PENALTY_LOG ? left : 0)));
  }
  return g;
}

static real *transpose(size_t rows, size_t columns, const real *a) {
  real *t = dense_new(columns, rows);
  for (size_t i = 0; i < rows * columns; i++) {
    t[i / rows + i % rows * columns] = a[i];
  }
  return t;
}

/* d k(x, z) / d z_j = k (x_j - z_j) / l_j^2 for the squared exponential: sum over x of that times the adjoint. */
static real pull_on_knot(const dense *m, oat_points x, const real *adjoint, size_t c, size_t j) {
  const oat_points z = {m->knots.a + c, 1, m->knots.ld};
  real *k = dense_cross(&m->cov, x, z), sum = 0;
  const real l = m->cov.theta[OAT_LENGTHSCALE + j];
  for (size_t i = 0; i < x.n; i++) {
    sum += adjoint[i] * k[i] * ((real)x.a[i + j * x.ld] - z.a[j * z.ld]) / (l * l);
  }
  free(k);
  return sum;
}

/* Gradient of the ELBO in the knots (se-ard, p = 0). */
static void exact_gradient(const oat_objective_config *config, const oat_point *point, real *gradient) {
  dense m = dense_make(config, point);
  const size_t n = m.n, k = m.k;
  real *g = derivative_in_q(&m), *at = transpose(k, n, m.a);
  real *ga = dense_product(n, g, n, at, k);   /* G A^T: n x k */
  real *aga = dense_product(n, at, k, ga, k); /* A G A^T */
  for (size_t i = 0; i < k * m.cov.d; i++) {
    const size_t c = i % k, j = i / k;
    gradient[i] = 2 * pull_on_knot(&m, m.rows, ga + c * n, c, j) - 2 * pull_on_knot(&m, m.knots, aga + c * k, c, j);
  }
  free(g);
  free(at);
  free(ga);
  free(aga);
  dense_free(&m);
}

/* The norm that v tends to have after a multiplication by the matrix or, without one, by the inverse from its
 * factor. */
static real power_iteration(size_t k, const real *matrix, const real *factor) {
  real v[KNOTS], w[KNOTS], norm = 0;
  for (size_t i = 0; i < k; i++) {
    v[i] = i % 2 == 0 ? 1 : -0.5L * (real)i;
  }
  for (int step = 0; step < 200; step++) {
    for (size_t i = 0; i < k; i++) {
      w[i] = matrix != NULL ? dense_dot(k, matrix + i * k, v) : v[i];
    }
    if (matrix == NULL) {
      dense_solve(k, factor, w, 1);
    }
    norm = sqrtl(dense_dot(k, w, w));
    for (size_t i = 0; i < k; i++) {
      v[i] = w[i] / norm;
    }
  }
  return norm;
}

/* Largest over smallest eigenvalue of Kuu. */
static double condition(const oat_objective_config *config, const oat_point *point) {
  dense m = dense_make(config, point);
  real *kuu = dense_cross(&m.cov, m.knots, m.knots);
  const real sigma = m.cov.theta[OAT_SIGMA];
  dense_add_diagonal(m.k, kuu, config->jitter * sigma * sigma);
  const real largest = power_iteration(m.k, kuu, NULL), inverse = power_iteration(m.k, NULL, m.kuu);
  free(kuu);
  dense_free(&m);
  return (double)(largest * inverse);
}

/* ---- problems -------------------------------------------------------------------------------------------------- */

typedef enum knot_order { AS_DRAWN, SPREAD, SPREAD_OTHERWISE, SORTED } knot_order;

static void copy_knot(const problem *p, size_t from, double *z, size_t to) {
  for (size_t j = 0; j < p->d; j++) {
    z[to + j * KNOTS] = p->z[from + j * KNOTS];
  }
}

/* Each time the knot with the largest variance given those before it, beginning with `first`. */
static void spread_knots(const problem *p, size_t first, double *z) {
  double theta[MAX_THETA];
  memcpy(theta, p->theta, sizeof theta);
  theta[OAT_SIGMA] = 1;
  const oat_covariance cov = oat_covariance_at(oat_kernel_find("se-ard"), p->d, theta);
  const oat_points points = {p->z, KNOTS, KNOTS};
  real *k = dense_cross(&cov, points, points);
  bool taken[KNOTS] = {false};
  for (size_t place = 0, next = first; place < KNOTS; place++) {
    copy_knot(p, next, z, place);
    taken[next] = true;
    real column[KNOTS], largest = -1;
    const real pivot = k[next * (KNOTS + 1)] + 1e-13L;
    memcpy(column, k + next * KNOTS, sizeof column);
    for (size_t i = 0; i < KNOTS * KNOTS; i++) {
      k[i] -= column[i % KNOTS] * column[i / KNOTS] / pivot;
    }
    for (size_t i = 0; i < KNOTS; i++) {
      if (!taken[i] && k[i * (KNOTS + 1)] > largest) {
        largest = k[i * (KNOTS + 1)];
        next = i;
      }
    }
  }
  free(k);
}

/* By the first input. */
static void sort_knots(const problem *p, double *z) {
  for (size_t c = 0; c < KNOTS; c++) {
    size_t place = 0;
    for (size_t other = 0; other < KNOTS; other++) {
      place += p->z[other] < p->z[c];
    }
    copy_knot(p, c, z, place);
  }
}

static void put_in_order(const problem *p, knot_order order, double *z) {
  if (order == SORTED) {
    sort_knots(p, z);
  } else if (order == AS_DRAWN) {
    memcpy(z, p->z, KNOTS * p->d * sizeof *z);
  } else {
    spread_knots(p, order == SPREAD ? 0 : 7, z);
  }
}

/* Where knot c of z is in other. */
static size_t find_knot(const double *z, size_t c, const double *other) {
  size_t place = 0;
  while (other[place] != z[c]) {
    place++;
    assert_true(place < KNOTS);
  }
  return place;
}

/* ---- comparison ------------------------------------------------------------------------------------------------ */

/* One problem at one jitter. */
typedef struct setting {
  problem *p;
  double jitter;
  const char *approx;
} setting;

static oat_objective_config config_at(const setting *s, const oat_rows *rows) {
  oat_objective_config config =
      config_of(rows, oat_kernel_find("se-ard"), (variant){oat_approx_find(s->approx), 0}, KNOTS);
  config.jitter = s->jitter;
  return config;
}

/* Largest difference of two gradients whose knots are in different orders, relative to the largest derivative of the
 * second. */
static double compare(const problem *p, const double *z, const real *gradient, const double *exact_z,
                      const real *exact) {
  real error = 0, size = 0;
  for (size_t i = 0; i < KNOTS * p->d; i++) {
    const real other = exact[find_knot(z, i % KNOTS, exact_z) + i / KNOTS * KNOTS];
    error = fmaxl(error, fabsl(gradient[i] - other));
    size = fmaxl(size, fabsl(other));
  }
  return (double)(error / size);
}

/* Error of the library's knot gradient; with `known` by the way for rows with known variances. */
static double library_error(const setting *s, knot_order order, bool known, const double *exact_z, const real *exact) {
  double z[KNOTS * MAX_INPUTS];
  real gradient[KNOTS * MAX_INPUTS];
  const oat_rows rows = rows_of(s->p, known ? NOISE_ADDED : NOISE_PLAIN, 0);
  const oat_objective_config config = config_at(s, &rows);
  const oat_point point = {s->p->theta, z};
  put_in_order(s->p, order, z);
  const outcome o = evaluate_once(&config, &point);
  for (size_t i = 0; i < KNOTS * s->p->d; i++) {
    gradient[i] = o.gradient[oat_theta_count(config.kernel, s->p->d) + i];
  }
  return compare(s->p, z, gradient, exact_z, exact);
}

/* Prints the errors of one setting and checks them against the condition of Kuu times a factor. */
static void check_model(const setting *s, knot_order order, double factor) {
  double z[KNOTS * MAX_INPUTS], other_z[KNOTS * MAX_INPUTS];
  real exact[KNOTS * MAX_INPUTS], other[KNOTS * MAX_INPUTS];
  const oat_rows rows = rows_of(s->p, NOISE_PLAIN, 0);
  const oat_objective_config config = config_at(s, &rows);
  const oat_point point = {s->p->theta, z}, other_point = {s->p->theta, other_z};
  put_in_order(s->p, SPREAD, z);
  put_in_order(s->p, SPREAD_OTHERWISE, other_z);
  exact_gradient(&config, &point, exact);
  exact_gradient(&config, &other_point, other);
  const double cond = condition(&config, &point), reference = compare(s->p, other_z, other, z, exact);
  const double plain = library_error(s, order, false, z, exact), known = library_error(s, order, true, z, exact);
  print_message(
      "%s, condition %.0e: error of the knot gradient %.1e, with known variances %.1e, of the reference %.0e\n",
      s->approx, cond, plain, known, reference);
  assert_true(reference <= 0.1 * factor * cond);
  assert_true(plain <= factor * cond);
  assert_true(known <= factor * cond);
}

static void check_setting(problem *p, double jitter, knot_order order, double factor) {
  check_model(&(setting){p, jitter, "vfe"}, order, factor);
  check_model(&(setting){p, jitter, "tvfe"}, order, factor);
}

/* Jitters 1e-6 to 1e-11 on a problem whose lengthscales are so many times longer. */
static void check_jitters(size_t inputs, double lengthscales, knot_order order) {
  problem p = make_problem(ROWS, inputs, KNOTS, 101);
  memset(p.noise_add, 0, p.n * sizeof *p.noise_add); /* the same noise, but as known variances */
  for (size_t j = 0; j < inputs; j++) {
    p.theta[OAT_LENGTHSCALE + j] *= lengthscales;
  }
  for (int exponent = 6; exponent <= 11; exponent += (int)amount(1, 5, 5)) {
    check_setting(&p, pow(10, -exponent), order, FACTOR);
  }
  free_problem(&p);
}

static void two_inputs(void **state) {
  (void)state;
  need_long_double();
  check_jitters(2, 3, AS_DRAWN);
}

static void one_input(void **state) {
  (void)state;
  need_long_double();
  check_jitters(1, 1, SPREAD);
  check_jitters(1, 3, SPREAD);
}

/* Pairs of knots that almost meet. */
static void close_pairs(void **state) {
  (void)state;
  need_long_double();
  problem p = make_problem(ROWS, 2, KNOTS, 102);
  memset(p.noise_add, 0, p.n * sizeof *p.noise_add);
  for (size_t i = 0; i < KNOTS * p.d; i++) {
    p.z[i] = i % 2 == 0 ? p.z[i] : p.z[i - 1] + 1e-6 * (double)(1 + i);
  }
  for (int exponent = 6; exponent <= 11; exponent += (int)amount(1, 5, 5)) {
    check_setting(&p, pow(10, -exponent), AS_DRAWN, FACTOR);
  }
  free_problem(&p);
}

/* The worst order. At the default jitter the derivatives still have three digits; they have none left at 1e-9. */
static void sorted_knots(void **state) {
  (void)state;
  need_long_double();
  problem p = make_problem(ROWS, 1, KNOTS, 101);
  memset(p.noise_add, 0, p.n * sizeof *p.noise_add);
  check_setting(&p, 1e-6, SORTED, 5e-11);
  free_problem(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_inputs),
      cmocka_unit_test(one_input),
      cmocka_unit_test(close_pairs),
      cmocka_unit_test(sorted_knots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
