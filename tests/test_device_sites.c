/* Devices: the sites of answers that are not Gaussian, by the gamma likelihood, whose expectations have a closed form:
 * E log p(y | f) = a log a - log Gamma(a) + (a - 1) log y - a m - a y exp(s / 2 - m), a its shape. */
#include "device_suite.h"

#define SHAPE 1.7
#define STEP 0.4
static const double shape = SHAPE;

/* Rows with answers and sites of their own, in the place of those of the world. */
typedef struct sited {
  double r[ROWS * WIDTH], noise[ROWS], answer[ROWS * OAT_ANSWER_COLUMNS];
  oat_rows plain, *own;
  oatgp_context *ctx;
} sited;

/* What the sites are when they are looked at. */
static double first_target(const world *w, size_t i) { return 0.8 * w->rows.r[i]; }
static double first_precision(size_t i) { return 0.4 + 0.3 * (double)(i % 4); }

static double y_of(const world *w, size_t i) { return exp(0.5 * w->rows.r[i]) + 0.1; }
static double base_of(size_t i) { return 0.1 * (double)(i % 3); }
static double times_of(size_t i) { return i % 5 == 0 ? 2 : 1; }

static sited *make_sited(const world *w) {
  sited *s = calloc(1, sizeof *s);
  assert_non_null(s);
  memcpy(s->r, w->rows.r, sizeof s->r);
  for (size_t i = 0; i < ROWS; i++) {
    s->r[i] = first_target(w, i);
    s->noise[i] = 1 / first_precision(i);
    s->answer[i + OAT_ANSWER_Y * ROWS] = y_of(w, i);
    s->answer[i + OAT_ANSWER_BASE * ROWS] = base_of(i);
    s->answer[i + OAT_ANSWER_TRIALS * ROWS] = 1;
    s->answer[i + OAT_ANSWER_TIMES * ROWS] = times_of(i);
  }
  s->plain = w->rows;
  s->plain.r = s->r;
  s->plain.noise_scale = s->noise;
  s->plain.noise_add = NULL;
  s->plain.answer = s->answer;
  s->ctx = oatgp_context_create();
  assert_int_equal(oat_rows_with_sites(s->ctx, &s->plain, &s->own), OATGP_OK);
  return s;
}

static void free_sited(sited *s) {
  oat_rows_free(s->own);
  oatgp_context_free(s->ctx);
  free(s);
}

static oat_site_look look_for(double *slope) {
  return (oat_site_look){.response = {oat_likelihood_find("gamma"), &shape, 0}, .count = 1, .parameters = slope};
}

static void put_sites(const sited *s, result *out) {
  double sites[2 * ROWS];
  oat_rows_get_sites(s->own, sites);
  put(out, LENGTH(sites), sites);
}

/* What was seen, then the sites after a step. */
static oatgp_status put_look(const sited *s, oat_device *device, const oat_site_look *look, result *out) {
  put(out, 4, (double[]){look->value / ROWS, look->slope / ROWS, look->change, look->parameters[0] / ROWS});
  const oatgp_status status = device->table->sites_move(device, STEP, true);
  put_sites(s, out);
  return status;
}

static oatgp_status compute_look(world *w, oat_device *device, result *out) {
  sited *s = make_sited(w);
  double slope;
  oat_site_look look = look_for(&slope);
  oatgp_status status = OATGP_OK;
  TRY(device->table->load(s->ctx, device, s->own));
  TRY(device->table->sites_look(device, &w->sparse, &(oat_site_q){w->lb, w->c, w->coefficient}, &look));
  TRY(put_look(s, device, &look, out));
  TRY(device->table->sites_begin(device, &look.response, NAN));
  put_sites(s, out);
done:
  free_sited(s);
  return status;
}

static oatgp_status compute_exact_look(world *w, oat_device *device, result *out) {
  const oat_exact exact = {.cov = w->sparse.cov, .tau = 1, .jitter = 1e-3, .gradient = true};
  sited *s = make_sited(w);
  double slope, gram[WIDTH * WIDTH], quadratic;
  oat_site_look look = look_for(&slope);
  oat_exact_sums sums = {.gram = gram};
  oatgp_status status = OATGP_OK;
  TRY(device->table->load(s->ctx, device, s->own));
  TRY(device->table->exact_sums(device, &exact, &sums));
  TRY(device->table->exact_quadratic(device, w->coefficient, &quadratic));
  TRY(device->table->exact_sites_look(device, &look));
  TRY(put_look(s, device, &look, out));
done:
  free_sited(s);
  return status;
}

/* ---- what the contract says ------------------------------------------------------------------------------------ */

typedef struct seen {
  real value, slope, change, own;
  real sites[2 * ROWS];
} seen;

static real digammal_of(real x) { /* by differences of the logarithm of the gamma function */
  const real h = 1e-4L;
  return (8 * (lgammal(x + h) - lgammal(x - h)) - (lgammal(x + 2 * h) - lgammal(x - 2 * h))) / (12 * h);
}

/* A row with f ~ N(m, v). */
static void see_row(const world *w, size_t i, real m, real v, seen *out) {
  const real y = y_of(w, i), times = times_of(i), rate = SHAPE * y * expl(v / 2 - m), f = m - base_of(i);
  const real dm = times * (rate - SHAPE), asked = times * rate, now = first_precision(i), t = first_target(w, i);
  out->value += times * (SHAPE * logl(SHAPE) - lgammal(SHAPE) + (SHAPE - 1) * logl(y) - SHAPE * m - rate);
  out->own += times * SHAPE * (logl(SHAPE) + 1 - digammal_of(SHAPE) + logl(y) - m - rate / SHAPE);
  out->slope += dm;
  out->change = fmaxl(out->change, fmaxl(fabsl(dm - now * (t - f)) * sqrtl(v), fabsl(asked - now) * v));
  const real precision = now + STEP * (asked - now), weighted = now * t + STEP * (dm + asked * f - now * t);
  out->sites[i] = weighted / precision;
  out->sites[i + ROWS] = 1 / precision;
}

static void put_seen(const seen *s, result *out) {
  put_one(out, s->value / ROWS);
  put_one(out, s->slope / ROWS);
  put_one(out, s->change);
  put_one(out, s->own / ROWS);
  for (size_t i = 0; i < LENGTH(s->sites); i++) {
    put_one(out, s->sites[i]);
  }
}

static real mean_part(const world *w, size_t i) {
  real sum = base_of(i);
  for (size_t j = 0; j < BASIS; j++) {
    sum += w->coefficient[j] * r_of(w, i, 1 + j);
  }
  return sum;
}

static void state_look(world *w, result *out) {
  static seen s;
  s = (seen){0};
  for (size_t i = 0; i < ROWS; i++) {
    real u[KNOTS];
    u_of(w, i, u);
    const real u2 = dense_dot(KNOTS, u, u);
    s.value += u2 * first_precision(i) / 2;
    see_row(w, i, mean_part(w, i) + dot(KNOTS, w->c, u), left_of(w, i) + u2, &s);
  }
  put_seen(&s, out);
  for (size_t i = 0; i < 2 * ROWS; i++) { /* where the density of each answer is largest */
    const size_t row = i % ROWS;
    put_one(out, i < ROWS ? logl(y_of(w, row)) - base_of(row) : 1 / (SHAPE * times_of(row)));
  }
}

static void state_exact_look(world *w, result *out) {
  static seen s;
  const oat_points x = inputs_of(w);
  real *k = dense_cross(&w->sparse.cov, x, x), *inverse = dense_new(ROWS, ROWS), *a = dense_new(ROWS, 1);
  s = (seen){0};
  for (size_t i = 0; i < ROWS; i++) {
    k[i * (ROWS + 1)] += 1e-3L * dense_share(&w->sparse.cov, x) + 1 / (real)first_precision(i);
    a[i] = first_target(w, i) - (mean_part(w, i) - base_of(i));
  }
  dense_cholesky(ROWS, k);
  dense_add_diagonal(ROWS, inverse, 1);
  dense_solve(ROWS, k, inverse, ROWS);
  dense_solve(ROWS, k, a, 1);
  for (size_t i = 0; i < ROWS; i++) {
    const real n = 1 / (real)first_precision(i), left = 1 - n * inverse[i * (ROWS + 1)];
    s.value += (logl(n) + n * a[i] * a[i] + left) / 2;
    see_row(w, i, first_target(w, i) - n * a[i] + base_of(i), n * left, &s);
  }
  put_seen(&s, out);
  free(k);
  free(inverse);
  free(a);
}

int main(void) {
  operation operations[] = {
      {.name = "sites_look", .compute = compute_look, .state = state_look, .any_alpha = true},
      {.name = "exact_sites_look", .compute = compute_exact_look, .state = state_exact_look, .any_alpha = true}};
  return run_operations(LENGTH(operations), operations, 0, NULL);
}
