/* The optimisers: ADADELTA step by step against the reference, L-BFGS on functions with known maxima, bounds and
 * rejected points, the rules of stopping, the state that survives between two steps, counts and memory. */
#include "optim/optim.h"
#include "support.h"
#include "util/clock.h"

#include <complex.h>

enum { MOST = 32 }; /* variables */

/* ---- allocations ----------------------------------------------------------------------------------------------- */

static struct {
  size_t count;
  size_t fail_at; /* the one that fails, from 1; 0: none */
} allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

static bool must_fail(void) { return ++allocations.count == allocations.fail_at; }

void *__wrap_malloc(size_t size) { return must_fail() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) { return must_fail() ? NULL : __real_calloc(count, size); }

void *__wrap_realloc(void *block, size_t size) { return must_fail() ? NULL : __real_realloc(block, size); }

/* ---- what is optimised ----------------------------------------------------------------------------------------- */

typedef double (*function)(size_t n, const double *x, double *gradient);

/* A function, where it is rejected, and all that an optimiser borrows. */
typedef struct subject {
  function value;
  bool (*rejects)(size_t n, const double *x); /* NULL: nowhere */
  double lower[MOST], upper[MOST], sign_weight[MOST];
  oat_problem problem;
  oat_optim_settings settings;
  size_t calls, rejected;
  double highest; /* of all values returned */
  oatgp_context *ctx;
  oat_optim *optim;
} subject;

static oatgp_status evaluate(void *self, const double *x, double *value, double *gradient) {
  subject *s = self;
  s->calls++;
  for (size_t i = 0; i < s->problem.n; i++) {
    assert_true(x[i] >= s->lower[i] && x[i] <= s->upper[i]);
  }
  if (s->rejects != NULL && s->rejects(s->problem.n, x)) {
    s->rejected++;
    return OATGP_NUMERIC;
  }
  *value = s->value(s->problem.n, x, gradient);
  s->highest = fmax(s->highest, *value);
  return OATGP_OK;
}

/* Without bounds and with tolerances that lead to the maximum. */
static void open_subject(subject *s, function value, size_t n) {
  *s = (subject){.value = value, .highest = -HUGE_VAL, .ctx = oatgp_context_create()};
  assert_non_null(s->ctx);
  for (size_t i = 0; i < n; i++) {
    s->lower[i] = -HUGE_VAL;
    s->upper[i] = HUGE_VAL;
    s->sign_weight[i] = 0.5;
  }
  s->problem = (oat_problem){n, s->lower, s->upper, s->sign_weight, evaluate, s};
  s->settings = (oat_optim_settings){.history = 10,
                                     .line_search = 20,
                                     .decay = 0.95,
                                     .epsilon = 1e-4,
                                     .eta = 1000,
                                     .max_iter = 10000,
                                     .obj_tol = 1e-14,
                                     .grad_tol = 1e-9,
                                     .patience = 5};
}

static void create(subject *s, const char *method) {
  assert_int_equal(oat_optim_create(s->ctx, oat_optim_find(method), &s->problem, &s->settings, &s->optim), OATGP_OK);
}

static oatgp_stop go_on(subject *s) {
  oatgp_stop stop;
  while ((stop = oat_optim_stop(s->optim)) == OATGP_STOP_NONE) {
    oat_optim_step(s->optim);
  }
  return stop;
}

static oatgp_stop run(subject *s, const char *method, const double *start) {
  create(s, method);
  assert_int_equal(oat_optim_start(s->optim, start), OATGP_OK);
  return go_on(s);
}

/* What must hold after every run, then the end. */
static void close_subject(subject *s) {
  double gradient[MOST];
  if (s->optim != NULL) {
    assert_int_equal(s->optim->counter[OAT_EVALUATIONS], s->calls);
    assert_int_equal(s->optim->counter[OAT_REJECTED], s->rejected);
    if (isfinite(s->highest)) {
      assert_true(s->optim->counter[OAT_BEST] == s->highest);
      assert_true(s->value(s->problem.n, s->optim->best, gradient) == s->highest);
    }
  }
  oat_optim_free(s->optim);
  oatgp_context_free(s->ctx);
}

/* Maximum 0 at (1, ..., 1), at the end of a bent valley. */
static double rosenbrock(size_t n, const double *x, double *gradient) {
  double value = 0;
  memset(gradient, 0, n * sizeof *gradient);
  for (size_t i = 0; i + 1 < n; i++) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    value -= 100 * a * a + b * b;
    gradient[i] += 400 * a * x[i] + 2 * b;
    gradient[i + 1] -= 200 * a;
  }
  return value;
}

/* Maximum 0 at (1, 2, ...), with curvatures from 1 to 1e6. */
static double stretched(size_t n, const double *x, double *gradient) {
  double value = 0;
  for (size_t i = 0; i < n; i++) {
    const double curvature = n > 1 ? pow(1e6, (double)i / (double)(n - 1)) : 1, away = x[i] - (double)(i + 1);
    value -= curvature * away * away / 2;
    gradient[i] = -curvature * away;
  }
  return value;
}

/* Every variable is coupled to its neighbours; in a box, many of them end at a bound. */
static double chained(size_t n, const double *x, double *gradient) {
  double value = 0;
  for (size_t i = 0; i < n; i++) {
    const double pull =
        3 * sin(5 * (double)i) - 1.1 * x[i] + (i > 0 ? 0.5 * x[i - 1] : 0) + (i + 1 < n ? 0.5 * x[i + 1] : 0);
    gradient[i] = pull;
    value += x[i] * (3 * sin(5 * (double)i) + pull) / 2;
  }
  return value;
}

/* Variables of very different curvature that are tied to each other by their sum. */
static double tied(size_t n, const double *x, double *gradient) {
  double sum = -2 * (double)n, value = 0;
  for (size_t i = 0; i < n; i++) {
    sum += x[i];
  }
  for (size_t i = 0; i < n; i++) {
    const double stiffness = pow(10, 3 * (double)(i * 7 % n) / (double)n);
    gradient[i] = stiffness * (1 - x[i]) - sum;
    value -= stiffness * (1 - x[i]) * (1 - x[i]) / 2;
  }
  return value - sum * sum / 2;
}

static double logarithm(size_t n, const double *x, double *gradient) {
  (void)n;
  *gradient = 1 / x[0] - 1;
  return log(x[0]) - x[0];
}

static double flat(size_t n, const double *x, double *gradient) {
  (void)x;
  memset(gradient, 0, n * sizeof *gradient);
  return 3;
}

/* A gradient that points the wrong way. */
static double deceitful(size_t n, const double *x, double *gradient) {
  const double value = stretched(n, x, gradient);
  for (size_t i = 0; i < n; i++) {
    gradient[i] = -gradient[i];
  }
  return value;
}

/* Maxima 0 at +-5 in every variable; near 0 it bends upwards. */
static double two_hills(size_t n, const double *x, double *gradient) {
  double value = 0;
  for (size_t i = 0; i < n; i++) {
    const double a = x[i] * x[i] - 25;
    value -= a * a / 100;
    gradient[i] = -a * x[i] / 25;
  }
  return value;
}

static double slope(size_t n, const double *x, double *gradient) {
  (void)n;
  *gradient = 1e-3;
  return 1e-3 * x[0];
}

/* ---- ADADELTA against the reference ---------------------------------------------------------------------------- */

/* The reference's objective, with its jitter in three places: Kmm + delta I, noise tau^2 + delta, and delta in the
 * trace term, which is divided by tau^2. theta = log sigma, log l, log tau; derivatives by complex steps, so exact. */
enum { ROWS = 40, KNOTS = 7, THETA = 3 };
static const double delta = 1e-3;

typedef double complex number;

typedef struct reference {
  table x, y, z, path;
  double r[ROWS];
  bool sparse;
} reference;

/* The lower factor of a complex symmetric matrix. */
static void factorise(size_t n, number *a) {
  for (size_t j = 0; j < n; j++) {
    for (size_t i = j; i < n; i++) {
      for (size_t l = 0; l < j; l++) {
        a[i + j * n] -= a[i + l * n] * a[j + l * n];
      }
      a[i + j * n] = i == j ? csqrt(a[i + j * n]) : a[i + j * n] / a[j + j * n];
    }
  }
}

/* x <- L^-1 x */
static void solve(size_t n, const number *l, number *x) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < i; j++) {
      x[i] -= l[i + j * n] * x[j];
    }
    x[i] /= l[i + i * n];
  }
}

static number kernel(const table *a, size_t i, const table *b, size_t j, const number *theta) {
  double square = 0;
  for (size_t c = 0; c < a->columns; c++) {
    const double away = a->a[i + c * a->rows] - b->a[j + c * b->rows];
    square += away * away;
  }
  return cexp(2 * theta[0] - square / 2 * cexp(-2 * theta[1]));
}

/* Covariance of y without the noise, K or Q, and the penalty of vfe. */
static number explain(const reference *ref, const number *theta, number *s) {
  static number kmm[KNOTS * KNOTS], v[KNOTS * ROWS];
  number penalty = 0;
  for (size_t i = 0; i < KNOTS * KNOTS; i++) {
    kmm[i] = kernel(&ref->z, i % KNOTS, &ref->z, i / KNOTS, theta) + (i % (KNOTS + 1) == 0 ? delta : 0);
  }
  factorise(KNOTS, kmm);
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t c = 0; c < KNOTS; c++) {
      v[c + i * KNOTS] = kernel(&ref->z, c, &ref->x, i, theta);
    }
    solve(KNOTS, kmm, v + i * KNOTS);
  }
  for (size_t i = 0; i < ROWS * ROWS; i++) {
    s[i] = ref->sparse ? 0 : kernel(&ref->x, i % ROWS, &ref->x, i / ROWS, theta);
    for (size_t c = 0; ref->sparse && c < KNOTS; c++) {
      s[i] += v[c + i % ROWS * KNOTS] * v[c + i / ROWS * KNOTS];
    }
    if (ref->sparse && i % (ROWS + 1) == 0) {
      penalty -= (cexp(2 * theta[0]) + delta - s[i]) / (2 * cexp(2 * theta[2]));
    }
  }
  return penalty;
}

static number reference_value(const reference *ref, const number *theta) {
  static number s[ROWS * ROWS], a[ROWS];
  number value = explain(ref, theta, s);
  for (size_t i = 0; i < ROWS; i++) {
    s[i * (ROWS + 1)] += cexp(2 * theta[2]) + delta;
    a[i] = ref->r[i];
  }
  factorise(ROWS, s);
  solve(ROWS, s, a);
  for (size_t i = 0; i < ROWS; i++) {
    value -= a[i] * a[i] / 2 + clog(s[i * (ROWS + 1)]) + log(2 * acos(-1)) / 2;
  }
  return value;
}

static oatgp_status evaluate_reference(void *self, const double *x, double *value, double *gradient) {
  const double step = 1e-30;
  for (size_t i = 0; i < THETA; i++) {
    number theta[THETA] = {x[0], x[1], x[2]};
    theta[i] += step * I;
    const number f = reference_value(self, theta);
    *value = creal(f);
    gradient[i] = cimag(f) / step;
  }
  return OATGP_OK;
}

/* Residuals, and sqrt(var(y) / 2) with divisor n - 1. */
static double centre(reference *ref) {
  double mean = 0, sum = 0;
  for (size_t i = 0; i < ROWS; i++) {
    mean += ref->y.a[i] / ROWS;
  }
  for (size_t i = 0; i < ROWS; i++) {
    ref->r[i] = ref->y.a[i] - mean;
    sum += ref->r[i] * ref->r[i];
  }
  return sqrt(sum / (ROWS - 1) / 2);
}

static void follow(const char *path, bool sparse) {
  subject s;
  reference ref = {
      golden_table("X.csv"), golden_table("y.csv"), golden_table("Xu.csv"), golden_table(path), {0}, sparse};
  const double spread = centre(&ref), start[THETA] = {log(spread), 0, log(spread)};
  const size_t rows = ref.path.rows;
  assert_int_equal(rows, 30);
  open_subject(&s, NULL, THETA);
  s.problem.evaluate = evaluate_reference;
  s.problem.self = &ref;
  create(&s, "adadelta");
  assert_int_equal(oat_optim_start(s.optim, start), OATGP_OK);
  for (size_t i = 0; i < rows; i++) { /* columns: iteration, objective, sigma, l, tau */
    assert_nats(s.optim->counter[OAT_VALUE], ref.path.a[i + rows], 1e-9);
    for (size_t j = 0; j < THETA; j++) {
      assert_near(exp(s.optim->x[j]) / ref.path.a[i + (2 + j) * rows], 1, 1e-11);
    }
    oat_optim_step(s.optim);
  }
  assert_int_equal(s.optim->counter[OAT_EVALUATIONS], 31);
  s.calls = 31; /* counted by the optimiser alone here */
  close_subject(&s);
  double *const tables[] = {ref.x.a, ref.y.a, ref.z.a, ref.path.a};
  for (size_t i = 0; i < LENGTH(tables); i++) {
    free(tables[i]);
  }
}

static void adadelta_follows_the_reference_vfe(void **state) {
  (void)state;
  follow("adadelta_vfe_theta_only.csv", true);
}

static void adadelta_follows_the_reference_full(void **state) {
  (void)state;
  follow("adadelta_full_centred.csv", false);
}

/* A coordinate whose derivative keeps changing sign: the weight of a change makes its steps smaller. */
static void sign_changes_shorten_steps(void **state) {
  (void)state;
  double length[2];
  for (size_t weighted = 0; weighted < 2; weighted++) {
    subject s;
    const double start[] = {1, 2.1};
    open_subject(&s, stretched, 2);
    s.settings.epsilon = 1;
    s.sign_weight[1] = (double)weighted;
    create(&s, "adadelta");
    assert_int_equal(oat_optim_start(s.optim, start), OATGP_OK);
    for (int i = 0; i < 9; i++) {
      oat_optim_step(s.optim);
    }
    const double before = s.optim->x[1];
    oat_optim_step(s.optim);
    length[weighted] = fabs(s.optim->x[1] - before);
    close_subject(&s);
  }
  assert_true(length[1] < length[0] / 2);
}

/* ---- L-BFGS: maxima -------------------------------------------------------------------------------------------- */

static void check_rosenbrock(size_t n, size_t most_evaluations) {
  subject s;
  double start[MOST];
  open_subject(&s, rosenbrock, n);
  for (size_t i = 0; i < n; i++) {
    start[i] = i % 2 == 0 ? -1.2 : 1;
  }
  run(&s, "lbfgs", start);
  for (size_t i = 0; i < n; i++) {
    assert_near(s.optim->best[i], 1, 1e-7);
  }
  if (s.calls > most_evaluations) {
    fail_msg("Rosenbrock's function of %zu variables took %zu evaluations, more than %zu", n, s.calls,
             most_evaluations);
  }
  close_subject(&s);
}

static void lbfgs_rosenbrock(void **state) {
  (void)state;
  check_rosenbrock(2, 60);
  check_rosenbrock(20, 200);
}

static void lbfgs_bad_condition(void **state) {
  (void)state;
  subject s;
  const double start[20] = {0};
  open_subject(&s, stretched, 20);
  s.settings.history = 100;
  run(&s, "lbfgs", start);
  for (size_t i = 0; i < 20; i++) {
    assert_near(s.optim->best[i], (double)(i + 1), 1e-6);
  }
  assert_true(s.calls < 250);
  close_subject(&s);
}

static void lbfgs_one_variable(void **state) {
  (void)state;
  const double starts[] = {1e-3, 1, 50, 1e4};
  for (size_t i = 0; i < LENGTH(starts); i++) {
    subject s;
    open_subject(&s, logarithm, 1);
    s.lower[0] = 1e-6;
    run(&s, "lbfgs", &starts[i]);
    assert_near(s.optim->best[0], 1, 1e-7);
    close_subject(&s);
  }
}

/* From where the curvature has the wrong sign. */
static void lbfgs_from_a_valley(void **state) {
  (void)state;
  subject s;
  const double start[] = {0.01, -0.02, 0.3, -1};
  open_subject(&s, two_hills, LENGTH(start));
  run(&s, "lbfgs", start);
  for (size_t i = 0; i < LENGTH(start); i++) {
    assert_near(s.optim->best[i], start[i] > 0 ? 5 : -5, 1e-6);
  }
  assert_true(s.calls < 60);
  close_subject(&s);
}

/* A single pair of steps must do, too. */
static void lbfgs_shortest_history(void **state) {
  (void)state;
  subject s;
  const double start[] = {-1.2, 1};
  open_subject(&s, rosenbrock, 2);
  s.settings.history = 1;
  s.settings.patience = 1;
  run(&s, "lbfgs", start);
  assert_near(s.optim->best[0], 1, 1e-6);
  close_subject(&s);
}

/* ---- bounds ---------------------------------------------------------------------------------------------------- */

/* With x1 <= 1/2 the maximum is at (1/2, 1/4). */
static void maximum_at_a_bound(void **state) {
  (void)state;
  subject s;
  const double start[] = {-1.2, 1};
  open_subject(&s, rosenbrock, 2);
  s.upper[0] = 0.5;
  assert_int_equal(run(&s, "lbfgs", start), OATGP_STOP_GRADIENT);
  assert_true(s.optim->best[0] == 0.5);
  assert_near(s.optim->best[1], 0.25, 1e-9);
  close_subject(&s);
}

/* The conditions of a maximum in a box: no derivative inside, outward ones at the bounds. */
static void many_bounds(void **state) {
  (void)state;
  subject s;
  const double start[MOST] = {0};
  size_t at_bound = 0;
  open_subject(&s, chained, MOST);
  for (size_t i = 0; i < MOST; i++) {
    s.lower[i] = -1;
    s.upper[i] = 1 + (double)(i % 3);
  }
  s.settings.grad_tol = 1e-6;
  assert_int_equal(run(&s, "lbfgs", start), OATGP_STOP_GRADIENT);
  for (size_t i = 0; i < MOST; i++) {
    const double x = s.optim->x[i], g = s.optim->gradient[i];
    const bool low = x == s.lower[i], high = x == s.upper[i];
    at_bound += low || high;
    assert_true(low ? g <= 0 : high ? g >= 0 : fabs(g) <= s.settings.grad_tol);
  }
  assert_in_range(at_bound, 5, MOST - 5);
  assert_true(s.calls < 100);
  close_subject(&s);
}

/* Pairs from before some variables came to their bounds do not bend the direction of the others. */
static void bounds_that_are_met_on_the_way(void **state) {
  (void)state;
  subject s;
  const double start[MOST] = {0};
  size_t at_bound = 0;
  open_subject(&s, tied, MOST);
  for (size_t i = 0; i < MOST; i++) {
    s.upper[i] = i % 2 == 0 ? 1.2 : HUGE_VAL;
  }
  s.settings.grad_tol = 1e-6;
  run(&s, "lbfgs", start);
  for (size_t i = 0; i < MOST; i++) {
    const bool high = s.optim->x[i] == s.upper[i];
    at_bound += high;
    assert_true(high ? s.optim->gradient[i] >= 0 : fabs(s.optim->gradient[i]) <= 1e-4);
  }
  assert_in_range(at_bound, 5, MOST - 5);
  assert_true(s.calls < 250);
  close_subject(&s);
}

/* ---- a similar function ---------------------------------------------------------------------------------------- */

static double shifted(size_t n, const double *x, double *gradient) {
  double moved[MOST];
  for (size_t i = 0; i < n; i++) {
    moved[i] = x[i] - 0.3;
  }
  return tied(n, moved, gradient);
}

/* The curvature is known already. */
static void goes_on_with_another_function(void **state) {
  (void)state;
  subject first, cold, warm;
  const double start[MOST] = {0};
  open_subject(&first, tied, MOST);
  open_subject(&cold, shifted, MOST);
  open_subject(&warm, shifted, MOST);
  first.settings.grad_tol = cold.settings.grad_tol = warm.settings.grad_tol = 1e-6;
  first.settings.max_iter = 60;
  cold.settings.max_iter = warm.settings.max_iter = 3;
  run(&first, "lbfgs", start);
  run(&cold, "lbfgs", first.optim->x);
  create(&warm, "lbfgs");
  assert_int_equal(oat_optim_start(warm.optim, first.optim->x), OATGP_OK);
  oat_optim_inherit(warm.optim, first.optim);
  go_on(&warm);
  assert_true(warm.optim->counter[OAT_BEST] > cold.optim->counter[OAT_BEST]);
  oat_optim_inherit(warm.optim, NULL);
  close_subject(&warm);
  close_subject(&cold);
  close_subject(&first);
}

static void start_outside_the_bounds(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 0; i < LENGTH(methods); i++) {
    subject s;
    const double start[] = {100, -100};
    open_subject(&s, rosenbrock, 2);
    s.settings.max_iter = 2000;
    s.lower[1] = -0.5;
    s.upper[0] = 0.5;
    create(&s, methods[i]);
    assert_int_equal(oat_optim_start(s.optim, start), OATGP_OK);
    assert_true(s.optim->x[0] == 0.5 && s.optim->x[1] == -0.5);
    go_on(&s); /* evaluate() checks every point */
    assert_near(s.optim->best[0], 0.5, 1e-3);
    assert_near(s.optim->best[1], 0.25, 1e-3);
    close_subject(&s);
  }
}

/* ---- rejected evaluations -------------------------------------------------------------------------------------- */

static bool beyond_the_maximum(size_t n, const double *x) { return x[n - 1] > (double)n + 0.0005; } /* of stretched() */
static bool before_the_maximum(size_t n, const double *x) { return n > 0 && x[0] > 0.7; } /* of rosenbrock() */
static bool below_the_maximum(size_t n, const double *x) { return n > 0 && x[0] < 0.9995; }
static bool everywhere(size_t n, const double *x) { return n > 0 && isfinite(x[0]); }
static bool off_the_start(size_t n, const double *x) { return x[n - 1] != 1; }

static void border_near_the_maximum(void **state) {
  (void)state;
  for (size_t n = 2; n <= 20; n += 6) {
    subject s;
    double start[MOST] = {0};
    open_subject(&s, stretched, n);
    s.settings.history = 100;
    s.rejects = beyond_the_maximum;
    start[n - 1] = (double)n - 0.2; /* so near that the first step goes too far */
    run(&s, "lbfgs", start);
    assert_true(s.rejected > 0);
    for (size_t i = 0; i < n; i++) {
      assert_near(s.optim->best[i], (double)(i + 1), 1e-5);
    }
    close_subject(&s);
  }
}

/* The maximum is out of reach: the run ends all the same, at the border. */
static void border_before_the_maximum(void **state) {
  (void)state;
  subject s;
  const double start[] = {-1.2, 1};
  open_subject(&s, rosenbrock, 2);
  s.rejects = before_the_maximum;
  const oatgp_stop stop = run(&s, "lbfgs", start);
  assert_true(stop == OATGP_STOP_STALLED || stop == OATGP_STOP_OBJECTIVE);
  assert_true(s.rejected > 0);
  assert_near(s.optim->best[0], 0.7, 1e-3);
  assert_true(s.calls < 1000);
  close_subject(&s);
}

static void border_behind_the_start(void **state) {
  (void)state;
  subject s;
  const double start = 1.3;
  open_subject(&s, logarithm, 1);
  s.rejects = below_the_maximum;
  run(&s, "lbfgs", &start);
  assert_true(s.rejected > 0);
  assert_near(s.optim->best[0], 1, 1e-6);
  close_subject(&s);
}

/* Shorter steps are tried only as long as they could gain enough; the first of a line search always is. */
static void short_steps_for_little_gain(void **state) {
  (void)state;
  const double start = 50, gains[] = {0, 1e-6, 1e-3};
  size_t calls[LENGTH(gains)];
  for (size_t i = 0; i < LENGTH(gains); i++) {
    subject s;
    open_subject(&s, deceitful, 1);
    s.settings.least_gain = gains[i];
    assert_int_equal(run(&s, "lbfgs", &start), OATGP_STOP_STALLED);
    calls[i] = s.calls;
    close_subject(&s);
    open_subject(&s, logarithm, 1);
    s.lower[0] = 1e-6;
    s.settings.least_gain = gains[i];
    run(&s, "lbfgs", &start);
    assert_near(s.optim->best[0], 1, 1e-7);
    close_subject(&s);
  }
  assert_true(calls[2] < calls[1] && calls[1] < calls[0]);
}

/* ADADELTA's first step is sqrt(epsilon / (1 - decay)) = 0.447 where the gradient is large; half of it is still too
 * far. */
static void adadelta_halves_rejected_steps(void **state) {
  (void)state;
  subject s;
  const double start[] = {1, 1.8};
  open_subject(&s, stretched, 2);
  s.settings.epsilon = 0.01;
  s.rejects = beyond_the_maximum;
  create(&s, "adadelta");
  assert_int_equal(oat_optim_start(s.optim, start), OATGP_OK);
  oat_optim_step(s.optim);
  assert_int_equal(s.rejected, 2);
  assert_near(s.optim->x[1], 1.8 + sqrt(0.2) / 4, 1e-9);
  close_subject(&s);
}

static void rejected_start(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 0; i < LENGTH(methods); i++) {
    subject s;
    const double start[] = {0, 0};
    open_subject(&s, rosenbrock, 2);
    s.rejects = everywhere;
    create(&s, methods[i]);
    assert_int_equal(oat_optim_start(s.optim, start), OATGP_NUMERIC);
    assert_int_equal(s.calls, 1);
    close_subject(&s);
  }
}

/* Values and derivatives that are not finite count as rejections, though the function does not say so. */
static double nan_value(size_t n, const double *x, double *gradient) {
  const double value = stretched(n, x, gradient);
  return beyond_the_maximum(n, x) ? NAN : value;
}

static double infinite_value(size_t n, const double *x, double *gradient) {
  const double value = stretched(n, x, gradient);
  return beyond_the_maximum(n, x) ? HUGE_VAL : value;
}

static double nan_gradient(size_t n, const double *x, double *gradient) {
  const double value = stretched(n, x, gradient);
  gradient[n - 1] = beyond_the_maximum(n, x) ? NAN : gradient[n - 1];
  return value;
}

static void numbers_that_are_not_finite(void **state) {
  (void)state;
  static const function functions[] = {nan_value, infinite_value, nan_gradient};
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 0; i < LENGTH(functions) * LENGTH(methods); i++) {
    subject s;
    const double start[] = {0, 1.8}, bad[] = {0, 3};
    open_subject(&s, functions[i / 2], 2);
    s.settings.epsilon = 0.01;
    s.settings.max_iter = 3000;
    run(&s, methods[i % 2], start);
    assert_true(s.optim->counter[OAT_REJECTED] > 0);
    assert_near(s.optim->counter[OAT_BEST], 0, 1e-2);
    assert_false(beyond_the_maximum(2, s.optim->best));
    assert_int_equal(oat_optim_start(s.optim, bad), OATGP_NUMERIC);
    s.highest = -HUGE_VAL;
    s.calls = 1;
    s.rejected = 1;
    close_subject(&s);
  }
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

typedef struct ending {
  const char *method;
  function value;
  bool (*rejects)(size_t n, const double *x);
  double max_iter, max_eval, obj_tol, grad_tol;
  oatgp_stop stop;
} ending;

static void every_reason_to_stop(void **state) {
  (void)state;
  static const ending endings[] = {
      {"lbfgs", rosenbrock, NULL, 1e4, 0, 1e-3, 0, OATGP_STOP_OBJECTIVE},
      {"lbfgs", chained, NULL, 1e4, 0, 1e-9, 0, OATGP_STOP_OBJECTIVE}, /* no step left, after small ones */
      {"lbfgs", rosenbrock, NULL, 1e4, 0, 0, 1e-5, OATGP_STOP_GRADIENT},
      {"lbfgs", flat, NULL, 1e4, 0, 1e-5, 0, OATGP_STOP_GRADIENT},
      {"lbfgs", deceitful, NULL, 1e4, 0, 1e-9, 1e-9, OATGP_STOP_STALLED},
      {"lbfgs", rosenbrock, off_the_start, 1e4, 0, 1e-9, 1e-9, OATGP_STOP_STALLED},
      {"lbfgs", rosenbrock, NULL, 3, 0, 1e-9, 1e-9, OATGP_STOP_ITERATIONS},
      {"lbfgs", rosenbrock, NULL, 1e4, 7, 1e-9, 1e-9, OATGP_STOP_EVALUATIONS},
      {"adadelta", rosenbrock, NULL, 1e4, 0, 1e-6, 0, OATGP_STOP_OBJECTIVE},
      {"adadelta", rosenbrock, NULL, 1e4, 0, 0, 1e-2, OATGP_STOP_GRADIENT},
      {"adadelta", flat, NULL, 1e4, 0, 1e-5, 0, OATGP_STOP_GRADIENT},
      {"adadelta", rosenbrock, off_the_start, 1e4, 0, 1e-9, 1e-9, OATGP_STOP_STALLED},
      {"adadelta", rosenbrock, NULL, 3, 0, 1e-9, 1e-9, OATGP_STOP_ITERATIONS},
      {"adadelta", rosenbrock, NULL, 1e4, 7, 1e-9, 1e-9, OATGP_STOP_EVALUATIONS},
  };
  for (size_t i = 0; i < LENGTH(endings); i++) {
    const ending *e = &endings[i];
    subject s;
    const double start[] = {-1.2, 1};
    open_subject(&s, e->value, 2);
    s.rejects = e->rejects;
    s.settings.max_iter = e->max_iter;
    s.settings.max_eval = e->max_eval;
    s.settings.obj_tol = e->obj_tol;
    s.settings.grad_tol = e->grad_tol;
    const oatgp_stop stop = run(&s, e->method, start);
    if (stop != e->stop) {
      fail_msg("ending %zu is '%s', not '%s'", i, oatgp_stop_word(stop), oatgp_stop_word(e->stop));
    }
    close_subject(&s);
  }
}

/* The objective must rest for `patience` iterations, also at the very start. */
static void patience(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 1; i < 8; i++) {
    subject s;
    const double start = 0;
    open_subject(&s, slope, 1);
    s.settings.obj_tol = 0.1;
    s.settings.patience = i;
    assert_int_equal(run(&s, methods[i % 2], &start), OATGP_STOP_OBJECTIVE);
    assert_int_equal(s.optim->counter[OAT_ITERATIONS], i);
    close_subject(&s);
  }
}

static void limits_are_exact(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t limit = 1; limit < 25; limit++) {
    subject s;
    const double start[] = {-1.2, 1, -1.2, 1};
    open_subject(&s, rosenbrock, 4);
    s.settings.max_eval = (double)limit;
    assert_int_equal(run(&s, methods[limit % 2], start), OATGP_STOP_EVALUATIONS);
    assert_int_equal(s.calls, limit);
    close_subject(&s);
    open_subject(&s, rosenbrock, 4);
    s.settings.max_iter = (double)limit / 3;
    assert_int_equal(run(&s, methods[limit % 2], start), OATGP_STOP_ITERATIONS);
    assert_int_equal(s.optim->counter[OAT_ITERATIONS], (limit + 2) / 3);
    close_subject(&s);
  }
}

static void time_limit(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 0; i < LENGTH(methods); i++) {
    subject s;
    const double start = 0, past[] = {-1.2, 1};
    open_subject(&s, slope, 1); /* without end */
    s.settings.max_iter = HUGE_VAL;
    s.settings.deadline = oat_seconds() + 0.5;
    assert_int_equal(run(&s, methods[i], &start), OATGP_STOP_TIME);
    assert_in_range(oat_seconds() - s.settings.deadline, 0, 5);
    assert_true(s.optim->counter[OAT_ITERATIONS] > 0);
    close_subject(&s);
    open_subject(&s, rosenbrock, 2); /* even then the start is a result */
    s.settings.deadline = oat_seconds();
    assert_int_equal(run(&s, methods[i], past), OATGP_STOP_TIME);
    assert_int_equal(s.calls, 1);
    close_subject(&s);
  }
}

/* A step too far: the point is worse than the one before, which is what counts (close_subject compares). */
static void best_point_is_kept(void **state) {
  (void)state;
  subject s;
  const double start[] = {-1.2, 1};
  open_subject(&s, rosenbrock, 2);
  s.settings.epsilon = 0.01;
  create(&s, "adadelta");
  assert_int_equal(oat_optim_start(s.optim, start), OATGP_OK);
  oat_optim_step(s.optim);
  while (s.optim->counter[OAT_VALUE] == s.optim->counter[OAT_BEST] && s.calls < 1000) {
    oat_optim_step(s.optim);
  }
  assert_true(s.optim->counter[OAT_VALUE] < s.optim->counter[OAT_BEST]);
  assert_memory_not_equal(s.optim->x, s.optim->best, 2 * sizeof(double));
  close_subject(&s);
}

/* ---- state and memory ------------------------------------------------------------------------------------------ */

static void steps(oat_optim *optim, int count) {
  for (int i = 0; i < count; i++) {
    oat_optim_step(optim);
  }
}

/* 25 steps; and 10, then 15 by another optimiser that has nothing but a copy of the state. */
static void state_is_all_there_is(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 0; i < LENGTH(methods); i++) {
    subject one, other;
    double start[12], gradient[12];
    for (size_t j = 0; j < LENGTH(start); j++) {
      start[j] = cos((double)j);
    }
    open_subject(&one, rosenbrock, LENGTH(start));
    open_subject(&other, rosenbrock, LENGTH(start));
    one.settings.history = other.settings.history = 4; /* fewer than steps, so that the oldest are replaced */
    one.upper[5] = other.upper[5] = 0.6;
    create(&one, methods[i]);
    create(&other, methods[i]);
    assert_int_equal(one.optim->state_count, other.optim->state_count);
    assert_int_equal(oat_optim_start(one.optim, start), OATGP_OK);
    steps(one.optim, 10);
    memcpy(other.optim->state, one.optim->state, one.optim->state_count * sizeof *one.optim->state);
    other.calls = one.calls;
    other.highest = one.highest;
    steps(one.optim, 15);
    steps(other.optim, 15);
    assert_memory_equal(one.optim->state, other.optim->state, one.optim->state_count * sizeof *one.optim->state);
    assert_true(one.optim->counter[OAT_VALUE] > one.value(LENGTH(start), start, gradient));
    close_subject(&one);
    close_subject(&other);
  }
}

/* A second start forgets the first. */
static void start_again(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 0; i < LENGTH(methods); i++) {
    subject one, other;
    const double first[] = {3, 3}, second[] = {-1.2, 1};
    open_subject(&one, rosenbrock, 2);
    open_subject(&other, rosenbrock, 2);
    create(&one, methods[i]);
    create(&other, methods[i]);
    assert_int_equal(oat_optim_start(one.optim, first), OATGP_OK);
    steps(one.optim, 9);
    one.calls = 0;
    one.highest = -HUGE_VAL;
    assert_int_equal(oat_optim_start(one.optim, second), OATGP_OK);
    assert_int_equal(oat_optim_start(other.optim, second), OATGP_OK);
    steps(one.optim, 9);
    steps(other.optim, 9);
    assert_memory_equal(one.optim->state, other.optim->state, one.optim->state_count * sizeof *one.optim->state);
    close_subject(&one);
    close_subject(&other);
  }
}

static void steps_allocate_nothing(void **state) {
  (void)state;
  static const char *const methods[] = {"lbfgs", "adadelta"};
  for (size_t i = 0; i < LENGTH(methods); i++) {
    subject s;
    const double start[MOST] = {0};
    open_subject(&s, rosenbrock, MOST);
    allocations.count = 0;
    create(&s, methods[i]);
    assert_int_equal(allocations.count, 2); /* or the count would not be live */
    allocations.count = 0;
    assert_int_equal(oat_optim_start(s.optim, start), OATGP_OK);
    for (int j = 0; j < 50; j++) {
      oat_optim_step(s.optim);
      assert_int_equal(oat_optim_stop(s.optim), OATGP_STOP_NONE);
    }
    assert_int_equal(allocations.count, 0);
    close_subject(&s);
  }
}

static void creation_without_memory(void **state) {
  (void)state;
  subject s;
  open_subject(&s, rosenbrock, 2);
  for (size_t i = 1; i <= 2; i++) {
    allocations.count = 0;
    allocations.fail_at = i;
    assert_int_equal(oat_optim_create(s.ctx, oat_optim_find("lbfgs"), &s.problem, &s.settings, &s.optim), OATGP_MEMORY);
    allocations.fail_at = 0;
    assert_null(s.optim);
    assert_non_null(strstr(oatgp_last_error(s.ctx), "memory"));
  }
  oat_optim_free(NULL);
  close_subject(&s);
}

static void names(void **state) {
  (void)state;
  assert_string_equal(oat_optim_find("lbfgs")->name, "lbfgs");
  assert_string_equal(oat_optim_find("adadelta")->name, "adadelta");
  assert_null(oat_optim_find("adam"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adadelta_follows_the_reference_vfe),
      cmocka_unit_test(adadelta_follows_the_reference_full),
      cmocka_unit_test(sign_changes_shorten_steps),
      cmocka_unit_test(lbfgs_rosenbrock),
      cmocka_unit_test(lbfgs_bad_condition),
      cmocka_unit_test(lbfgs_one_variable),
      cmocka_unit_test(lbfgs_from_a_valley),
      cmocka_unit_test(lbfgs_shortest_history),
      cmocka_unit_test(maximum_at_a_bound),
      cmocka_unit_test(many_bounds),
      cmocka_unit_test(bounds_that_are_met_on_the_way),
      cmocka_unit_test(goes_on_with_another_function),
      cmocka_unit_test(start_outside_the_bounds),
      cmocka_unit_test(border_near_the_maximum),
      cmocka_unit_test(border_before_the_maximum),
      cmocka_unit_test(border_behind_the_start),
      cmocka_unit_test(short_steps_for_little_gain),
      cmocka_unit_test(adadelta_halves_rejected_steps),
      cmocka_unit_test(rejected_start),
      cmocka_unit_test(numbers_that_are_not_finite),
      cmocka_unit_test(every_reason_to_stop),
      cmocka_unit_test(patience),
      cmocka_unit_test(limits_are_exact),
      cmocka_unit_test(time_limit),
      cmocka_unit_test(best_point_is_kept),
      cmocka_unit_test(state_is_all_there_is),
      cmocka_unit_test(start_again),
      cmocka_unit_test(steps_allocate_nothing),
      cmocka_unit_test(creation_without_memory),
      cmocka_unit_test(names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
