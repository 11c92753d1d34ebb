/* Every registered kernel: values against its formula in long double, slopes and adjoints against differences; and the
 * accuracy of the vectorised exponential function. */
#include <float.h>

#include "dense.h"
#include "kernel/vector.h"
#include "linalg/linalg.h"

enum { MAX_DIMENSION = 14, LONGEST = 600 }; /* past the number of inputs where products take over */

/* Weights of a central difference of sixth order, times the step. */
static const double stencil[] = {45.0 / 60, -9.0 / 60, 1.0 / 60};

static void fill_uniform(oat_rng *rng, size_t n, double low, double high, double *x) {
  for (size_t i = 0; i < n; i++) {
    x[i] = low + (high - low) * oat_rng_uniform(rng);
  }
}

/* ---- registry -------------------------------------------------------------------------------------------------- */

static void registry(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  oatgp_settings settings;
  oatgp_settings_default(&settings);
  size_t count = 0;
  for (; oat_kernel_at(count) != NULL; count++) {
    const oat_kernel *kernel = oat_kernel_at(count);
    assert_ptr_equal(oat_kernel_find(kernel->name), kernel); /* so that no name is there twice */
    assert_int_equal(oatgp_settings_set(ctx, &settings, "kernel", kernel->name), OATGP_OK);
  }
  assert_true(count >= 9);
  assert_null(oat_kernel_at(count + 1));
  assert_null(oat_kernel_find("cubic"));
  assert_null(oat_kernel_find(""));
  oatgp_context_free(ctx);
}

/* All kernels and models that the settings offer are registered. */
static void choices_are_registered(void **state) {
  (void)state;
  for (size_t i = 0; oatgp_setting_at(i) != NULL; i++) {
    const oatgp_setting *setting = oatgp_setting_at(i);
    const bool kernel = strcmp(setting->name, "kernel") == 0, approx = strcmp(setting->name, "approx") == 0;
    for (const char *part = setting->choices; (kernel || approx) && part != NULL;) {
      char name[32] = "";
      const size_t length = strcspn(part, "|");
      assert_true(length < sizeof name);
      memcpy(name, part, length);
      assert_true(kernel ? strcmp(name, "auto") == 0 || oat_kernel_find(name) != NULL : oat_approx_find(name) != NULL);
      part = part[length] == '|' ? part + length + 1 : NULL;
    }
  }
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static bool is_setting(const char *name) {
  bool found = false;
  for (size_t i = 0; oatgp_setting_at(i) != NULL; i++) {
    found = found || strcmp(oatgp_setting_at(i)->name, name) == 0;
  }
  return found;
}

/* Each place of theta: its name, which is that of a setting, its input, its unit as a number and its start. */
static void parameters(void **state) {
  (void)state;
  enum { D = 3 };
  const oat_units units = {2, D, (const double[D]){1, 2, 6}};
  static const char *const names[] = {"sigma", "tau", "shape", "lengthscale", "lengthscale", "lengthscale"};
  for (size_t t = 0; oat_kernel_at(t) != NULL; t++) {
    const oat_kernel *kernel = oat_kernel_at(t);
    const bool shaped = kernel->profile->has_shape, ard = strstr(kernel->name, "-ard") != NULL;
    assert_true(shaped || strncmp(kernel->name, "rq", 2) != 0);
    assert_true(!shaped || strncmp(kernel->name, "se", 2) != 0);
    assert_int_equal(oat_theta_count(kernel, D), ard ? 6 : 4);
    for (size_t i = 0; i < oat_theta_count(kernel, D); i++) {
      const oat_parameter p = oat_parameter_at(kernel, i);
      const double unit[] = {2, 2, 1, ard ? 1 : 3, 2, 6},
                   start[] = {sqrt(2), sqrt(2), 1, sqrt(3) * unit[3], sqrt(12), sqrt(108)};
      assert_string_equal(p.name, names[i]);
      assert_true(is_setting(p.name));
      assert_true(p.input == (ard && i > 2 ? i - 3 : OAT_ALL_INPUTS));
      assert_true(p.used == (i != 2 || shaped));
      assert_near(oat_parameter_unit(&p, &units), unit[i], 1e-15);
      assert_near(oat_parameter_start(kernel, i, &units), start[i], 1e-15);
      assert_true(0 < p.low && p.low < 1 && p.high > 1);
    }
  }
}

/* ---- the exponential function ---------------------------------------------------------------------------------- */

/* Error in units of the last place of the nearest double. */
static double ulps(double y, long double exact) {
  int exponent;
  frexpl(exact, &exponent);
  return (double)(fabsl(y - exact) / ldexpl(1, exponent - DBL_MANT_DIG));
}

static double worst_exp(double low, double high) {
  enum { POINTS = 400000 };
  oat_rng rng;
  double *x = calloc(POINTS, sizeof *x), *y = calloc(POINTS, sizeof *y), worst = 0;
  assert_non_null(x);
  assert_non_null(y);
  oat_rng_seed(&rng, 21);
  fill_uniform(&rng, POINTS, low, high, x);
  x[0] = low;
  x[1] = high;
  oat_exp(POINTS, 1, 1, x, y);
  for (size_t i = 0; i < POINTS; i++) {
    worst = worse_of(worst, ulps(y[i], expl(x[i])));
  }
  oat_exp(POINTS, 1, 1, x, x); /* in place */
  assert_memory_equal(x, y, POINTS * sizeof *x);
  free(x);
  free(y);
  return worst;
}

static void exp_accuracy(void **state) {
  (void)state;
  need_long_double();
  static const double ranges[][2] = {{-708, 0}, {0, 709}, {-1, 1}, {-1e-8, 1e-8}};
  for (size_t i = 0; i < LENGTH(ranges); i++) {
    const double worst = worst_exp(ranges[i][0], ranges[i][1]);
    print_message("oat_exp on [%g, %g]: at most %.3f ulp\n", ranges[i][0], ranges[i][1], worst);
    assert_true(worst <= 2);
  }
}

static void exp_edges(void **state) {
  (void)state;
  const double x[] = {nextafter(-708, -709), -709, -745.2, -1e5, -1e300, -DBL_MAX, -INFINITY, 0, -0.0, NAN, -708};
  double y[LENGTH(x)];
  for (size_t shift = 0; shift < LENGTH(x); shift++) { /* in vectors and in their remainders */
    oat_exp(LENGTH(x) - shift, 1, 1, x + shift, y + shift);
    for (size_t i = shift; i < 7; i++) {
      assert_true(y[i] == 0);
    }
    assert_true(shift > 7 || y[7] == 1);
    assert_true(shift > 8 || y[8] == 1);
    assert_true(shift > 9 || isnan(y[9]));
    assert_true(fabs(y[10] / exp(-708) - 1) <= 5e-16);
  }
}

/* Both factors, and neither array disturbed by the other. */
static void exp_twice(void **state) {
  (void)state;
  double x[37], y[37], one[37], two[37];
  for (size_t i = 0; i < LENGTH(x); i++) {
    x[i] = 0.7 * (double)i;
  }
  oat_exp(LENGTH(x), -2, 1, x, y);
  oat_exp_twice(LENGTH(x), -2, 3, -0.25, x, one, two);
  for (size_t i = 0; i < LENGTH(x); i++) {
    assert_true(one[i] == 3 * y[i] && two[i] == -0.25 * y[i]);
  }
}

static void log1p_accuracy(void **state) {
  (void)state;
  need_long_double();
  enum { POINTS = 100003 };
  double *x = calloc(POINTS, sizeof *x), *y = calloc(POINTS, sizeof *y), worst = 0;
  oat_rng rng;
  oat_rng_seed(&rng, 21);
  for (size_t i = 0; i < POINTS; i++) {
    x[i] = i == 0 ? 0 : pow(10, -20 + 40 * oat_rng_uniform(&rng));
  }
  oat_log1p(POINTS, 0.5, x, y);
  for (size_t i = 1; i < POINTS; i++) {
    const real exact = log1pl(0.5L * x[i]);
    worst = fmax(worst, (double)(fabsl(y[i] - exact) / (nextafter((double)exact, INFINITY) - (double)exact)));
  }
  print_message("oat_log1p: at most %.3f ulp\n", worst);
  assert_true(worst <= 3 && y[0] == 0);
  x[0] = NAN;
  oat_log1p(1, 1, x, y);
  assert_true(isnan(y[0]));
  free(x);
  free(y);
}

/* Every length, with its remainder; nothing behind it is touched. */
static void scaled_sums(void **state) {
  (void)state;
  double x[37], y[38];
  for (size_t n = 0; n <= LENGTH(x); n++) {
    for (size_t i = 0; i < LENGTH(y); i++) {
      y[i] = 3 * (double)i;
      x[i % LENGTH(x)] = 0.5 * (double)(i % LENGTH(x));
    }
    oat_add_scaled(n, -2, x, y);
    for (size_t i = 0; i < LENGTH(y); i++) {
      assert_true(y[i] == (i < n ? 2 : 3) * (double)i);
    }
  }
}

/* ---- profiles -------------------------------------------------------------------------------------------------- */

/* Scaled squared distances over all magnitudes, 0 first. */
static void fill_distances(oat_rng *rng, size_t n, double *s) {
  for (size_t i = 0; i < n; i++) {
    s[i] = i == 0 ? 0 : pow(10, -14 + 18 * oat_rng_uniform(rng));
  }
}

/* An error of one rounding in the argument of exp is |log phi| of them in phi. Below 1e-300 only the smallness is
 * checked. */
static double profile_error(double phi, real exact) {
  return exact < 1e-300L ? (phi >= 0 && phi <= 1.1e-300 ? 0 : 1)
                         : (double)(fabsl(phi - exact) / exact / (1 - logl(exact)));
}

static double check_profile(const oat_kernel *kernel, double shape, size_t n) {
  double s[LONGEST], phi[LONGEST], again[LONGEST], d_s[LONGEST], d_shape[LONGEST], worst = 0;
  oat_rng rng;
  oat_rng_seed(&rng, 22 + n);
  fill_distances(&rng, n, s);
  const oat_profile_at at = {1, shape};
  kernel->profile->values(n, at, s, phi);
  kernel->profile->slopes(n, at, s, again, d_s, d_shape);
  for (size_t i = 0; i < n; i++) {
    const real exact = kernel->profile->formula(s[i], shape);
    worst = worse_of(worst, worse_of(profile_error(phi[i], exact), profile_error(again[i], exact)));
  }
  kernel->profile->slopes(n, (oat_profile_at){4, shape}, s, again, d_s, NULL);
  for (size_t i = 0; i < n; i++) {
    assert_near(again[i], 4 * phi[i], 1e-15);
  }
  kernel->profile->values(n, at, s, s); /* in place */
  assert_memory_equal(s, phi, n * sizeof *s);
  assert_true(n == 0 || phi[0] == 1);
  return worst;
}

static void profiles(void **state) {
  (void)state;
  need_long_double();
  static const size_t lengths[] = {0, 1, 2, 3, 5, 8, 17, 255, 256, 257, LONGEST};
  static const double shapes[] = {0.05, 1, 3.7, 1e6};
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    const oat_kernel *kernel = oat_kernel_at(i);
    double worst = 0;
    for (size_t l = 0; l < LENGTH(lengths) * LENGTH(shapes); l++) {
      worst = worse_of(worst, check_profile(kernel, shapes[l / LENGTH(lengths)], lengths[l % LENGTH(lengths)]));
    }
    print_message("%-12s: profile within %.1e (1 + |log phi|) of its formula\n", kernel->name, worst);
    assert_true(worst <= 1e-15);
  }
}

/* d phi / d log s (derivative 0) or d phi / d log shape (1), by differences of the profile. */
static double profile_difference(const oat_kernel *kernel, double shape, double s, int derivative) {
  const double step = 0.01;
  double sum = 0;
  for (int m = 1; m <= (int)LENGTH(stencil); m++) {
    for (int side = -1; side <= 1; side += 2) {
      const double factor = exp(side * m * step), at = derivative == 0 ? s * factor : s;
      double phi = 0;
      kernel->profile->values(1, (oat_profile_at){1, derivative == 1 ? shape * factor : shape}, &at, &phi);
      sum += side * stencil[m - 1] * phi;
    }
  }
  return sum / step;
}

static void slopes(void **state) {
  (void)state;
  static const double shapes[] = {0.3, 1, 5};
  double s[LONGEST], phi[LONGEST], d_s[LONGEST], d_shape[LONGEST];
  oat_rng rng;
  oat_rng_seed(&rng, 23);
  fill_distances(&rng, LONGEST, s);
  s[1] = 1e-14;
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    const oat_kernel *kernel = oat_kernel_at(i);
    double worst = 0;
    for (size_t a = 0; a < LENGTH(shapes); a++) {
      kernel->profile->slopes(LONGEST, (oat_profile_at){1, shapes[a]}, s, phi, d_s, d_shape);
      assert_true(d_s[0] <= 0 && d_s[0] >= -1.5); /* matern32 is the steepest at 0 */
      assert_true(!kernel->profile->smooth || fabs(d_s[0] - d_s[1]) <= 1e-6 * fabs(d_s[0]));
      for (size_t l = 1; l < LONGEST; l++) {
        worst = worse_of(worst, fabs(s[l] * d_s[l] - profile_difference(kernel, shapes[a], s[l], 0)));
        worst = kernel->profile->has_shape
                    ? worse_of(worst, fabs(d_shape[l] - profile_difference(kernel, shapes[a], s[l], 1)))
                    : worst;
      }
      assert_true(!kernel->profile->has_shape || d_shape[0] == 0);
    }
    print_message("%-12s: slopes within %.1e of differences\n", kernel->name, worst);
    assert_true(worst <= 1e-10);
  }
}

/* Towards a large shape the rational quadratic is the squared exponential. */
static void rq_limit(void **state) {
  (void)state;
  const double s[] = {0, 1e-3, 0.5, 2, 30};
  double rq[LENGTH(s)], se[LENGTH(s)];
  oat_kernel_find("rq")->profile->values(LENGTH(s), (oat_profile_at){1, 1e12}, s, rq);
  oat_kernel_find("se")->profile->values(LENGTH(s), (oat_profile_at){1, 1}, s, se);
  for (size_t i = 0; i < LENGTH(s); i++) {
    assert_near(rq[i], se[i], 1e-10);
  }
}

/* ---- matrices and adjoints ------------------------------------------------------------------------------------- */

/* Points x and z with leading dimensions of their own, and a random adjoint of their covariance. */
typedef struct pair {
  oat_covariance cov;
  const oat_kernel *kernel;
  double theta[OAT_LENGTHSCALE + MAX_DIMENSION];
  oat_points x, z;
  double *x_values, *z_values, *k, *slope, *g, *work;
  size_t ldk;
} pair;

static double *random_doubles(oat_rng *rng, size_t count) {
  double *a = calloc(count + 1, sizeof *a);
  assert_non_null(a);
  fill_uniform(rng, count, -1.5, 1.5, a);
  return a;
}

static pair *make_pair(const oat_kernel *kernel, size_t n, size_t k, size_t d, uint64_t seed) {
  pair *p = calloc(1, sizeof *p);
  oat_rng rng;
  assert_non_null(p);
  oat_rng_seed(&rng, seed);
  p->ldk = n + 3;
  p->x_values = random_doubles(&rng, (n + 2) * d);
  p->z_values = random_doubles(&rng, (k + 1) * d);
  p->g = random_doubles(&rng, p->ldk * k);
  p->k = random_doubles(&rng, p->ldk * k);
  p->slope = random_doubles(&rng, p->ldk * k);
  p->work = random_doubles(&rng, oat_kernel_work((oat_kernel_size){0}, n, n > k ? n : k, d));
  p->x = (oat_points){p->x_values, n, n + 2};
  p->z = (oat_points){p->z_values, k, k + 1};
  p->theta[OAT_SIGMA] = 1.3;
  p->theta[OAT_TAU] = NAN; /* no kernel depends on the noise */
  p->theta[OAT_SHAPE] = 0.8;
  fill_uniform(&rng, d, 0.7, 1.4, p->theta + OAT_LENGTHSCALE);
  p->kernel = kernel;
  p->cov = oat_covariance_at(kernel, d, p->theta);
  return p;
}

static void free_pair(pair *p) {
  double *const blocks[] = {p->x_values, p->z_values, p->k, p->slope, p->g, p->work};
  for (size_t i = 0; i < LENGTH(blocks); i++) {
    free(blocks[i]);
  }
  free(p);
}

/* sum_ic g_ic k(x_i, z_c) */
static double contract(pair *p) {
  double sum = 0;
  oat_kernel_cross(&p->cov, p->x, p->z, p->k, p->ldk, p->work);
  for (size_t c = 0; c < p->z.n; c++) {
    for (size_t i = 0; i < p->x.n; i++) {
      sum += p->g[i + c * p->ldk] * p->k[i + c * p->ldk];
    }
  }
  return sum;
}

/* Derivative of that sum in *parameter, or in its logarithm. */
static double contract_difference(pair *p, double *parameter, bool logarithmic) {
  const double step = 2e-3, at = *parameter;
  double sum = 0;
  for (int m = 1; m <= (int)LENGTH(stencil); m++) {
    for (int side = -1; side <= 1; side += 2) {
      *parameter = logarithmic ? at * exp(side * m * step) : at + side * m * step;
      sum += side * stencil[m - 1] * contract(p);
    }
  }
  *parameter = at;
  return sum / step;
}

/* Every loop over inputs and its remainder. */
static void cross(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{1, 1}, {7, 3}, {300, 2}, {41, 6}};
  for (size_t t = 0; oat_kernel_at(t / (MAX_DIMENSION * LENGTH(sizes))) != NULL; t++) {
    const size_t d = 1 + t % MAX_DIMENSION, *size = sizes[t / MAX_DIMENSION % LENGTH(sizes)];
    pair *p = make_pair(oat_kernel_at(t / (MAX_DIMENSION * LENGTH(sizes))), size[0], size[1], d, 24 + t);
    const double untouched = p->k[p->x.n];
    oat_kernel_cross(&p->cov, p->x, p->z, p->k, p->ldk, p->work);
    real *exact = dense_cross(&p->cov, p->x, p->z);
    for (size_t i = 0; i < p->x.n * p->z.n; i++) {
      assert_near(p->k[i % p->x.n + i / p->x.n * p->ldk] / (double)exact[i], 1,
                  d < 10 ? 1e-14 : 5e-14); /* squares multiplied out, from 12 inputs on */
    }
    assert_true(p->k[p->x.n] == untouched); /* the rows between n and the leading dimension */
    free(exact);
    free_pair(p);
  }
}

/* ---- pairs of a few points ------------------------------------------------------------------------------------- */

/* sum g k over the pairs of p->x, whose g are the first of p->g. */
static double contract_pairs(pair *p, double *k, double *work) {
  const oat_pair_values values = {.k = k};
  double sum = 0;
  oat_kernel_pairs(&p->cov, p->x, &values, work);
  for (size_t i = 0; i < oat_pairs(p->x.n); i++) {
    sum += p->g[i] * k[i];
  }
  return sum;
}

static double pairs_difference(pair *p, double *parameter, double *k, double *work) {
  const double step = 2e-3, at = *parameter;
  double sum = 0;
  for (int m = 1; m <= (int)LENGTH(stencil); m++) {
    for (int side = -1; side <= 1; side += 2) {
      *parameter = at * exp(side * m * step);
      sum += side * stencil[m - 1] * contract_pairs(p, k, work);
    }
  }
  *parameter = at;
  return sum / step;
}

/* The values are those of the formula, in their places, with slopes and without. */
static void check_pair_values(pair *p, const oat_pair_values *values, double *work) {
  const size_t n = p->x.n, count = oat_pairs(n);
  real *exact = dense_cross(&p->cov, p->x, p->x);
  double *alone = random_doubles(&(oat_rng){{1, 2, 3, 4}}, count);
  oat_kernel_pairs(&p->cov, p->x, values, work);
  oat_kernel_pairs(&p->cov, p->x, &(oat_pair_values){.k = alone}, work);
  for (size_t b = 0, place = 0; b < n; b++) {
    for (size_t a = b; a < n; a++, place++) {
      assert_int_equal(oat_pair(n, a, b), place);
      assert_near(values->k[place] / (double)exact[a + b * n], 1, 1e-14);
      assert_near(alone[place], values->k[place], 1e-15);
    }
  }
  assert_int_equal(count, oat_pair(n, n - 1, n - 1) + 1);
  free(alone);
  free(exact);
}

/* The adjoint adds to sums that start at 1. */
static double check_pairs(pair *p) {
  const size_t d = p->cov.d, count = oat_theta_count(p->kernel, d), size = oat_pairs(p->x.n);
  double d_theta[OAT_LENGTHSCALE + MAX_DIMENSION],
      *room = calloc(4 * size + oat_pairs_work((oat_kernel_size){0}, p->x.n, d), sizeof *room), worst = 0;
  assert_non_null(room);
  double *g = room + 3 * size, *work = room + 4 * size;
  const oat_pair_values values = {room, room + size, room + 2 * size};
  check_pair_values(p, &values, work);
  memcpy(g, p->g, size * sizeof *g);
  for (size_t j = 0; j < count; j++) {
    d_theta[j] = 1;
  }
  oat_kernel_pairs_adjoint(&p->cov, p->x, g, &values, work, &(oat_kernel_gradient){.theta = d_theta});
  for (size_t j = 0; j < count; j++) {
    const bool own = oat_parameter_at(p->kernel, j).unit != OAT_UNIT_TARGET && oat_parameter_at(p->kernel, j).used;
    worst =
        worse_of(worst, relative_error(d_theta[j] - 1, own ? pairs_difference(p, &p->theta[j], values.k, work) : 0));
  }
  free(room);
  return worst;
}

static void pairs(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 3, 9, 31};
  for (size_t t = 0; oat_kernel_at(t / (MAX_DIMENSION * LENGTH(sizes))) != NULL; t++) {
    const size_t d = 1 + t % MAX_DIMENSION, n = sizes[t / MAX_DIMENSION % LENGTH(sizes)];
    pair *p = make_pair(oat_kernel_at(t / (MAX_DIMENSION * LENGTH(sizes))), n, n, d, 124 + t);
    for (size_t j = 0; n > 2 && j < d; j++) { /* two of them meet */
      p->x_values[1 + j * p->x.ld] = p->x_values[2 + j * p->x.ld];
    }
    assert_true(check_pairs(p) <= 1e-9);
    free_pair(p);
  }
}

/* The adjoint, with a g of its own that it may destroy. */
static void run_adjoint(pair *p, oat_kernel_gradient *gradient) {
  double *g = calloc(p->ldk * p->z.n + 1, sizeof *g);
  assert_non_null(g);
  memcpy(g, p->g, p->ldk * p->z.n * sizeof *g);
  oat_kernel_cross_slopes(&p->cov, p->x, p->z, p->k, p->slope, p->ldk, p->work);
  oat_kernel_cross_adjoint(&p->cov, p->x, p->z, g, p->slope, p->ldk, p->work, gradient);
  free(g);
}

/* The adjoint adds to sums that start at 1; returns the largest error. */
static double check_adjoint(pair *p) {
  const size_t d = p->cov.d, count = oat_theta_count(p->kernel, d), size = p->z.ld * d;
  double d_theta[OAT_LENGTHSCALE + MAX_DIMENSION], *d_z = calloc(size, sizeof *d_z), *no_z = NULL, worst = 0;
  assert_non_null(d_z);
  for (size_t i = 0; i < size; i++) {
    d_z[i] = 1;
  }
  for (size_t j = 0; j < count; j++) {
    d_theta[j] = 1;
  }
  oat_kernel_gradient gradient = {d_theta, p->kernel->profile->smooth ? d_z : no_z};
  run_adjoint(p, &gradient);
  for (size_t j = 0; j < count; j++) {
    const bool own = oat_parameter_at(p->kernel, j).unit != OAT_UNIT_TARGET; /* sigma and tau are for the caller */
    worst = worse_of(worst, relative_error(d_theta[j] - 1, own ? contract_difference(p, &p->theta[j], true) : 0));
  }
  for (size_t i = 0; i < size; i++) {
    const bool point = i % p->z.ld < p->z.n;
    const double expected = point && p->kernel->profile->smooth ? contract_difference(p, &p->z_values[i], false) : 0;
    worst = worse_of(worst, relative_error(d_z[i] - 1, expected));
  }
  free(d_z);
  return worst;
}

static void adjoint(void **state) {
  (void)state;
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    double worst = 0;
    for (size_t d = 1; d <= MAX_DIMENSION; d++) {
      pair *p = make_pair(oat_kernel_at(i), 5 + 8 * d, 5, d, 30 + d);
      worst = worse_of(worst, check_adjoint(p));
      free_pair(p);
    }
    print_message("%-12s: adjoint within %.1e of differences\n", oat_kernel_at(i)->name, worst);
    assert_true(worst <= 1e-9);
  }
}

/* Two clusters, hundreds of lengthscales apart: nothing may be multiplied out. */
static void adjoint_of_far_clusters(void **state) {
  (void)state;
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    for (size_t d = 1; d <= MAX_DIMENSION; d += 6) {
      pair *p = make_pair(oat_kernel_at(i), 30, 6, d, 70 + d);
      for (size_t j = 0; j < d; j++) {
        p->x_values[j * p->x.ld + 3] += 512;
        p->z_values[j * p->z.ld + 2] += 512;
      }
      assert_true(check_adjoint(p) <= 1e-8);
      free_pair(p);
    }
  }
}

/* K(Z, Z): the derivative in Z is twice what the adjoint adds for a symmetric g. */
static void adjoint_of_symmetric(void **state) {
  (void)state;
  enum { K = 5, D = 2 };
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    pair *p = make_pair(oat_kernel_at(i), K, K, D, 40 + i);
    double d_z[(K + 1) * D] = {0}, d_theta[OAT_LENGTHSCALE + D] = {0};
    p->x = p->z;
    for (size_t c = 0; c < K * K; c++) {
      p->g[c % K + c / K * p->ldk] = p->g[c / K + c % K * p->ldk];
    }
    oat_kernel_gradient gradient = {d_theta, d_z};
    run_adjoint(p, &gradient);
    for (size_t c = 0; p->kernel->profile->smooth && c < K * D; c++) {
      const size_t at = c % K + c / K * p->z.ld;
      assert_near(2 * d_z[at], contract_difference(p, &p->z_values[at], false), 1e-9);
    }
    free_pair(p);
  }
}

/* Coordinates are multiples of 2^-20, so that moving them by 2^30 is exact: no bit of K may change. */
static void far_from_origin(void **state) {
  (void)state;
  for (size_t i = 0; oat_kernel_at(i) != NULL; i++) {
    pair *p = make_pair(oat_kernel_at(i), 20, 4, 5, 50 + i);
    double *const values[] = {p->x_values, p->z_values};
    const size_t counts[] = {p->x.ld * 5, p->z.ld * 5};
    for (size_t l = 0; l < counts[0] + counts[1]; l++) {
      double *value = l < counts[0] ? values[0] + l : values[1] + (l - counts[0]);
      *value = ldexp(floor(ldexp(*value, 20)), -20);
    }
    const double near = contract(p);
    for (size_t l = 0; l < counts[0] + counts[1]; l++) {
      *(l < counts[0] ? values[0] + l : values[1] + (l - counts[0])) += ldexp(1, 30);
    }
    assert_true(contract(p) == near);
    free_pair(p);
  }
}

static void positive_definite(void **state) {
  (void)state;
  enum { N = 40 };
  for (size_t t = 0; oat_kernel_at(t / 3) != NULL; t++) {
    pair *p = make_pair(oat_kernel_at(t / 3), N, 1, 1 + t % 3, 60 + t);
    double k[N * N];
    oat_kernel_cross(&p->cov, p->x, p->x, k, N, p->work);
    for (size_t i = 0; i < N * N; i++) {
      assert_true(k[i] == k[i % N * N + i / N]);
      assert_true(k[i] > 0 && k[i] <= p->theta[OAT_SIGMA] * p->theta[OAT_SIGMA]);
    }
    for (size_t i = 0; i < N; i++) {
      k[i * (N + 1)] += 1e-12;
    }
    assert_int_equal(oat_cholesky(N, k, 1), 0);
    free_pair(p);
  }
}

/* k(x, x) as the matrix has it, and the mean of that over the points. */
static void diagonal(void **state) {
  (void)state;
  enum { N = 9 };
  for (size_t t = 0; oat_kernel_at(t / 3) != NULL; t++) {
    pair *p = make_pair(oat_kernel_at(t / 3), N, 1, 1 + t % 3, 90 + t);
    double k[N * N], prior[N + 1] = {[N] = -7}, sum = 0;
    oat_kernel_cross(&p->cov, p->x, p->x, k, N, p->work);
    oat_kernel_diagonal(&p->cov, p->x, prior);
    for (size_t i = 0; i < N; i++) {
      assert_true(prior[i] == k[i * (N + 1)]);
      sum += prior[i];
    }
    assert_true(prior[N] == -7);
    assert_near(oat_kernel_share(&p->cov, p->x, 0.3), 0.3 * sum / N, 1e-15);
    free_pair(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(registry),
      cmocka_unit_test(choices_are_registered),
      cmocka_unit_test(parameters),
      cmocka_unit_test(exp_accuracy),
      cmocka_unit_test(exp_edges),
      cmocka_unit_test(exp_twice),
      cmocka_unit_test(log1p_accuracy),
      cmocka_unit_test(scaled_sums),
      cmocka_unit_test(profiles),
      cmocka_unit_test(slopes),
      cmocka_unit_test(rq_limit),
      cmocka_unit_test(cross),
      cmocka_unit_test(pairs),
      cmocka_unit_test(adjoint),
      cmocka_unit_test(adjoint_of_symmetric),
      cmocka_unit_test(adjoint_of_far_clusters),
      cmocka_unit_test(far_from_origin),
      cmocka_unit_test(positive_definite),
      cmocka_unit_test(diagonal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
