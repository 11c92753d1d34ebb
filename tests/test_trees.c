/* Kernels that are expressions: every leaf and random trees of them against the formula in long double, their adjoints
 * and the gradient of models with them against differences, knots that are the data, and numbers of threads. */
#include "dense.h"
#include "expressions.h"
#include "problem.h"
#include "util/threads.h"

enum { INPUTS = 3, TEXT = 4096, MOST_PARAMETERS = 60 };

/* An expression with its parameters. */
typedef struct tree {
  char text[TEXT];
  oat_expression *e;
  oat_kernel kernel;
  double theta[OAT_LENGTHSCALE + MOST_PARAMETERS];
  oat_covariance cov;
  double *work;
} tree;

static void free_tree(tree *t) {
  oat_expression_free(t->e);
  free(t->work);
  free(t);
}

static tree *make_tree(const char *text, oat_rng *rng) {
  tree *t = calloc(1, sizeof *t);
  assert_non_null(t);
  snprintf(t->text, sizeof t->text, "%s", text);
  t->e = read_expression(t->text, INPUTS);
  t->kernel = oat_kernel_of_expression(t->e);
  assert_true(t->e->parameters <= MOST_PARAMETERS);
  random_theta(rng, t->e, NAN, t->theta); /* no kernel depends on the noise */
  t->cov = oat_covariance_at(&t->kernel, INPUTS, t->theta);
  t->work = new_doubles(oat_kernel_work(oat_kernel_size_of(&t->kernel), 600, 600, INPUTS));
  return t;
}

static const char *const leaves[] = {"se(x2)",
                                     "se(x3, x1)",
                                     "matern12(x1, x3)",
                                     "matern32(x1, x2, x3)",
                                     "matern52(x2, x3)",
                                     "rq(x3)",
                                     "rq(x1, x2)",
                                     "periodic(x2)",
                                     "linear(x3)",
                                     "linear(x1, x3)",
                                     "polynomial(x2, 1)",
                                     "polynomial(x3, x2, 3)",
                                     "constant",
                                     "cosine(x3)",
                                     "se(x1)^3",
                                     "linear(x1)^2",
                                     "constant * linear(x2)",
                                     "(se(x1) + linear(x1)) * matern52(x2)"};

/* The leaves, then random trees. */
static tree *tree_at(size_t index, bool smooth) {
  char text[TEXT] = "";
  oat_rng rng;
  oat_rng_seed(&rng, 300 + index);
  if (index < LENGTH(leaves)) {
    snprintf(text, sizeof text, "%s", smooth && strstr(leaves[index], "matern12") != NULL ? "se()" : leaves[index]);
  } else {
    random_tree(&rng, INPUTS, smooth, 3, text);
  }
  return make_tree(text, &rng);
}

static size_t trees(size_t count) { return under_valgrind() ? LENGTH(leaves) + 2 : LENGTH(leaves) + count; }

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* Points far from each other, too: there waves and distances have many digits to lose. */
static double *random_points(uint64_t seed, size_t count, double width) {
  double *a = new_doubles(count);
  oat_rng rng;
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < count; i++) {
    a[i] = width * (2 * oat_rng_uniform(&rng) - 1);
  }
  return a;
}

static double check_values(tree *t, size_t n, size_t m, double width) {
  double *x = random_points(n, (n + 2) * INPUTS, width), *z = random_points(m + 7, (m + 1) * INPUTS, width),
         *k = new_doubles((n + 3) * m), worst = 0;
  const oat_points xs = {x, n, n + 2}, zs = {z, m, m + 1};
  k[n] = 7;
  oat_kernel_cross(&t->cov, xs, zs, k, n + 3, t->work);
  assert_true(k[n] == 7);
  real *exact = dense_cross(&t->cov, xs, zs);
  const real size = fmaxl(dense_share(&t->cov, xs), dense_share(&t->cov, zs));
  for (size_t i = 0; i < n * m; i++) {
    worst = worse_of(worst, (double)(fabsl(k[i % n + i / n * (n + 3)] - exact[i]) / size));
  }
  free(x), free(z), free(k), free(exact);
  return worst;
}

static void values(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{1, 1}, {7, 3}, {300, 2}, {520, 1}};
  double worst = 0;
  for (size_t t = 0; t < trees(100); t++) {
    tree *one = tree_at(t, false);
    for (size_t s = 0; s < LENGTH(sizes); s++) {
      const double error = check_values(one, sizes[s][0], sizes[s][1], s % 2 == 0 ? 1.5 : 8);
      if (!(error <= 2e-14)) {
        fail_msg("%s: off by %g of the variance", one->text, error);
      }
      worst = worse_of(worst, error);
    }
    free_tree(one);
  }
  print_message("values within %.1e of the variance\n", worst);
}

/* k(x, x), its mean, and pairs, are what the matrix has in its places. */
static void diagonals_and_pairs(void **state) {
  (void)state;
  enum { N = 37 };
  double *x = random_points(5, N * INPUTS, 2), prior[N], pairs[N * (N + 1) / 2];
  const oat_points xs = {x, N, N};
  for (size_t t = 0; t < trees(30); t++) {
    tree *one = tree_at(t, false);
    double *work = new_doubles(oat_pairs_work(oat_kernel_size_of(&one->kernel), N, INPUTS));
    real *exact = dense_cross(&one->cov, xs, xs), sum = 0, size = 0;
    oat_kernel_diagonal(&one->cov, xs, prior);
    oat_kernel_pairs(&one->cov, xs, &(oat_pair_values){.k = pairs}, work);
    for (size_t i = 0; i < N; i++) {
      sum += exact[i * (N + 1)];
      size = fmaxl(size, exact[i * (N + 1)]);
    }
    for (size_t i = 0; i < N; i++) {
      assert_near((double)((prior[i] - exact[i * (N + 1)]) / size), 0, 1e-14);
      for (size_t b = 0; b <= i; b++) {
        assert_near((double)((pairs[oat_pair(N, i, b)] - exact[i + b * N]) / size), 0, 2e-14);
      }
    }
    assert_near((double)(oat_kernel_share(&one->cov, xs, 0.3) / (0.3L * sum / N)), 1, 1e-14);
    free(exact), free(work);
    free_tree(one);
  }
  free(x);
}

/* The lengthscale for distances: the shortest of the leaves that have one. */
static void lengthscales(void **state) {
  (void)state;
  tree *one = make_tree("se(x1) * periodic(x1) + rq(x2, x1) + linear(x3) + cosine(x2)", &(oat_rng){{1, 2, 3, 4}});
  /* sigma, lengthscale, period, lengthscale; sigma, shape, lengthscales; sigma; sigma, period */
  const double theta[] = {1, 2, 30, 0.5, 1, 0.01, 4, 2.5, 1, 1, 40};
  memcpy(one->theta + OAT_LENGTHSCALE, theta, sizeof theta);
  assert_int_equal(one->e->parameters, LENGTH(theta));
  assert_near(oat_kernel_lengthscale(&one->cov, 0), 2, 0);
  assert_near(oat_kernel_lengthscale(&one->cov, 1), 4, 0);
  assert_true(oat_kernel_lengthscale(&one->cov, 2) == HUGE_VAL);
  one->theta[OAT_LENGTHSCALE + 2] = 3;
  one->theta[OAT_LENGTHSCALE + 10] = 4;
  assert_near(oat_kernel_lengthscale(&one->cov, 0), 1.5 / (2 * acos(-1)), 1e-15);
  assert_near(oat_kernel_lengthscale(&one->cov, 1), 4 / (2 * acos(-1)), 1e-15);
  free_tree(one);
}

/* ---- adjoints -------------------------------------------------------------------------------------------------- */

enum { N = 41, M = 3 };

/* What is differentiated: sum g k between x and z, among pairs of x, or of points with themselves. */
typedef enum sum_kind { BETWEEN, PAIRS, ITSELF, SUM_KINDS } sum_kind;

typedef struct sum_of {
  sum_kind kind;
  tree *tree;
  oat_points x, z;
  double *x_values, *z_values, *g;
} sum_of;

static real term(double g, real k, bool sizes) { return sizes ? fabsl(g * k) : g * k; }

/* Also the sum of the terms' sizes. */
static real contract(const sum_of *s, bool sizes) {
  real sum = 0;
  size_t place = 0;
  for (size_t c = 0; s->kind == BETWEEN && c < M; c++) {
    for (size_t i = 0; i < N; i++) {
      sum += term(s->g[i + c * N], dense_kernel(&s->tree->cov, s->x, i, s->z, c), sizes);
    }
  }
  for (size_t b = 0; s->kind == PAIRS && b < N; b++) {
    for (size_t a = b; a < N; a++) {
      sum += term(s->g[place++], dense_kernel(&s->tree->cov, s->x, a, s->x, b), sizes);
    }
  }
  for (size_t i = 0; s->kind == ITSELF && i < N; i++) {
    sum += term(s->g[i], dense_kernel(&s->tree->cov, s->x, i, s->x, i), sizes);
  }
  return sum;
}

/* The step and all sums are exact enough for a relative error of 1e-10 or so. */
static double slope(const sum_of *s, double *at, bool logarithm) {
  const double here = *at, h = 1e-5 * (logarithm ? here : 1);
  *at = here + h;
  const double above = *at;
  const real high = contract(s, false);
  *at = here - h;
  const double below = *at;
  const real low = contract(s, false);
  *at = here;
  return (double)((high - low) / ((real)above - below)) * (logarithm ? here : 1);
}

/* Adds to sums that start at 1. */
static void add_adjoint(const sum_of *s, double *theta, double *z) {
  double g[N * N];
  oat_kernel_gradient gradient = {theta, s->kind == PAIRS ? NULL : z};
  memcpy(g, s->g, sizeof g);
  if (s->kind == BETWEEN) {
    oat_kernel_cross_adjoint(&s->tree->cov, s->x, s->z, g, NULL, N, s->tree->work, &gradient);
  } else if (s->kind == PAIRS) {
    oat_kernel_pairs_adjoint(&s->tree->cov, s->x, g, &(oat_pair_values){0}, s->tree->work, &gradient);
  } else {
    oat_kernel_diagonal_adjoint(&s->tree->cov, s->x, g, &gradient);
  }
}

static double check_adjoint(const sum_of *s) {
  const double size = (double)contract(s, true);
  double theta[OAT_LENGTHSCALE + MOST_PARAMETERS], z[N * INPUTS], worst = 0;
  double *const moving = s->kind == ITSELF ? s->x_values : s->z_values;
  const size_t count = oat_theta_count(&s->tree->kernel, INPUTS),
               coordinates = s->kind == PAIRS ? 0 : (s->kind == ITSELF ? N : M) * INPUTS;
  for (size_t i = 0; i < LENGTH(theta); i++) {
    theta[i] = 1;
  }
  for (size_t i = 0; i < LENGTH(z); i++) {
    z[i] = 1;
  }
  add_adjoint(s, theta, z);
  for (size_t i = 0; i < OAT_LENGTHSCALE; i++) {
    assert_true(theta[i] == 1);
  }
  for (size_t i = OAT_LENGTHSCALE; i < count + coordinates; i++) {
    const double wanted = i < count ? slope(s, &s->tree->theta[i], true) : slope(s, &moving[i - count], false);
    worst = worse_of(worst, fabs((i < count ? theta[i] : z[i - count]) - 1 - wanted) / size);
  }
  return worst;
}

static void adjoints(void **state) {
  (void)state;
  double worst = 0;
  for (size_t t = 0; t < trees(25); t++) {
    sum_of s = {.tree = tree_at(t, true),
                .x_values = random_points(t, N * INPUTS, 1.5),
                .z_values = random_points(t + 1, M * INPUTS, 1.5)};
    s.g = random_points(t + 2, N * N, 1);
    s.tree->cov.id = OAT_KERNEL_EXPRESSION; /* one leaf, too */
    s.x = (oat_points){s.x_values, N, N};
    s.z = (oat_points){s.z_values, M, M};
    for (s.kind = BETWEEN; s.kind < SUM_KINDS; s.kind++) {
      const double error = check_adjoint(&s);
      if (!(error <= 2e-8)) {
        fail_msg("%s, sum %d: derivatives are off by %g of the sum of all sizes", s.tree->text, (int)s.kind, error);
      }
      worst = worse_of(worst, error);
    }
    free(s.x_values), free(s.z_values), free(s.g);
    free_tree(s.tree);
  }
  print_message("adjoints within %.1e of the sum of all sizes\n", worst);
}

/* ---- models ---------------------------------------------------------------------------------------------------- */

/* Of the gradient against differences, relative to the largest derivative; and of the value against the dense formula,
 * where there is one. */
static double model_error(oatgp_context *ctx, const oat_objective_config *config, const oat_point *point) {
  oat_objective *objective = NULL;
  double worst = 0, size = 0, expected[MAX_PARAMETERS];
  assert_int_equal(oat_objective_create(ctx, config, &objective), OATGP_OK);
  const outcome o = evaluate_objective(objective, point);
  for (size_t i = 0; i < o.count; i++) {
    expected[i] = i == OAT_SIGMA || i == OAT_SHAPE ? 0 : objective_difference(objective, point, i);
    size = fmax(size, fabs(expected[i]));
  }
  for (size_t i = 0; i < o.count; i++) {
    worst = worse_of(worst, fabs(o.gradient[i] - expected[i]) / size);
  }
  if (!config->soft) {
    dense m = dense_make(config, point);
    worst = worse_of(worst, 1e2 * fabs((double)m.value - o.value) / fmax(1, fabs(o.value)));
    dense_free(&m);
  }
  oat_objective_free(objective);
  return worst;
}

/* A problem whose theta is the tree's. */
static problem problem_of(const tree *t, size_t n, size_t k, uint64_t seed) {
  problem p = make_problem(n, INPUTS, k, seed);
  const double tau = p.theta[OAT_TAU];
  memcpy(p.theta, t->theta, oat_theta_count(&t->kernel, INPUTS) * sizeof *p.theta);
  p.theta[OAT_TAU] = tau;
  return p;
}

static void models(void **state) {
  (void)state;
  static const char *const names[] = {"vfe", "fitc", "full", "dtc", "pep", "fitc", "tvfe"};
  oatgp_context *ctx = oatgp_context_create();
  double worst = 0;
  for (size_t t = 0; t < trees(30); t++) {
    tree *one = tree_at(t, true);
    for (size_t m = t % 2; m < LENGTH(names); m += 2) {
      problem p = problem_of(one, 23, 5, 11 + t);
      const oat_rows rows = rows_of(&p, (row_noise)((t + m) % ROW_NOISES), t % 3 == 0 ? 0 : 1);
      oat_objective_config config = config_of(&rows, &one->kernel, (variant){oat_approx_find(names[m]), 0.4}, p.k);
      config.jitter = 1e-4; /* much, so that its derivative is seen */
      config.soft = t % 4 == 1 && m != 2;
      config.neighbours = m == 5 ? 4 : 0;
      const double error = model_error(ctx, &config, &(oat_point){p.theta, p.z});
      if (!(error <= 2e-7)) {
        fail_msg("%s, %s: off by %g", one->text, names[m], error);
      }
      worst = worse_of(worst, error);
      free_problem(&p);
    }
    free_tree(one);
  }
  print_message("gradients within %.1e of the largest derivative\n", worst);
  oatgp_context_free(ctx);
}

/* vfe with all rows as knots is the full GP, but for the jitter, which costs at most a half of it in units of the noise
 * for each row. */
static void knots_are_the_data(void **state) {
  (void)state;
  double worst = 0;
  for (size_t t = 0; t < trees(60); t++) {
    tree *one = tree_at(t, true);
    problem p = problem_of(one, 12, 12, 40 + t);
    memcpy(p.z, p.x, p.n * INPUTS * sizeof *p.z);
    const oat_rows rows = rows_of(&p, NOISE_PLAIN, 0);
    oat_objective_config vfe = config_of(&rows, &one->kernel, (variant){oat_approx_find("vfe"), 0}, p.k),
                         full = config_of(&rows, &one->kernel, (variant){oat_approx_find("full"), 0}, 0);
    const oat_point point = {p.theta, p.z};
    const oat_covariance cov = oat_covariance_at(&one->kernel, INPUTS, p.theta);
    vfe.jitter = 1e-11;
    const double jitter = oat_kernel_share(&cov, (oat_points){p.x, p.n, p.n}, vfe.jitter), tau = p.theta[OAT_TAU];
    const outcome sparse = evaluate_once(&vfe, &point), exact = evaluate_once(&full, &point);
    const double less = exact.value - sparse.value, most = 0.5 * (double)p.n * jitter / (tau * tau),
                 rounding = 1e-8 * fabs(exact.value);
    if (!(less >= -rounding && less <= most + rounding)) {
      fail_msg("%s: vfe has %.12g and the full GP %.12g, %.3g more than %.3g", one->text, sparse.value, exact.value,
               less, most);
    }
    worst = worse_of(worst, fabs(less));
    free_problem(&p);
    free_tree(one);
  }
  print_message("vfe within %.1e nats of the full GP\n", worst);
}

/* A leaf over all inputs is the kernel of the list, to the last bit, and as fast. */
static void leaves_of_the_list(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"se()", "se-ard"}, {"matern32(x1, x2, x3)", "matern32-ard"}, {"matern52()", "matern52-ard"}, {"rq()", "rq-ard"}};
  static const char *const approximations[] = {"vfe", "fitc", "full", "fitc"};
  for (size_t i = 0; i < LENGTH(names) * LENGTH(approximations); i++) {
    tree *leaf = make_tree(names[i % LENGTH(names)][0], &(oat_rng){{1, 2, 3, 4}});
    const oat_kernel *kernel = oat_kernel_find(names[i % LENGTH(names)][1]);
    problem p = problem_of(leaf, 60, 7, i);
    const size_t shaped = oat_kernel_has_shape(kernel), approx = i / LENGTH(names);
    double theta[OAT_LENGTHSCALE + INPUTS] = {p.theta[OAT_LENGTHSCALE], p.theta[OAT_TAU],
                                              shaped ? p.theta[OAT_LENGTHSCALE + 1] : 1};
    memcpy(theta + OAT_LENGTHSCALE, p.theta + OAT_LENGTHSCALE + 1 + shaped, INPUTS * sizeof *theta);
    const oat_rows rows = rows_of(&p, NOISE_BOTH, 1);
    oat_objective_config config =
        config_of(&rows, &leaf->kernel, (variant){oat_approx_find(approximations[approx]), 0}, p.k);
    config.neighbours = approx == 3 ? 5 : 0;
    const outcome own = evaluate_once(&config, &(oat_point){p.theta, p.z});
    config.kernel = kernel;
    const outcome list = evaluate_once(&config, &(oat_point){theta, p.z});
    assert_true(own.value == list.value);
    assert_int_equal(own.count, list.count + 1 + shaped);
    assert_true(own.gradient[OAT_LENGTHSCALE] == list.gradient[OAT_SIGMA] &&
                own.gradient[OAT_TAU] == list.gradient[OAT_TAU]);
    assert_true(!shaped || own.gradient[OAT_LENGTHSCALE + 1] == list.gradient[OAT_SHAPE]);
    assert_memory_equal(own.gradient + OAT_LENGTHSCALE + 1 + shaped, list.gradient + OAT_LENGTHSCALE,
                        (list.count - OAT_LENGTHSCALE) * sizeof *list.gradient);
    free_problem(&p);
    free_tree(leaf);
  }
}

/* Any number of threads gives the same bits. */
static void threads(void **state) {
  (void)state;
  oat_threads_always();
  static const char *const names[] = {"vfe", "fitc", "full"};
  static const int counts[] = {2, 5};
  for (size_t t = LENGTH(leaves) - 1; t < trees(3); t++) {
    tree *one = tree_at(t, true);
    problem p = problem_of(one, 700, 40, 70 + t);
    const oat_rows rows = rows_of(&p, NOISE_PLAIN, 0);
    const oat_point point = {p.theta, p.z};
    for (size_t m = 0; m < LENGTH(names); m++) {
      oat_objective_config config = config_of(&rows, &one->kernel, (variant){oat_approx_find(names[m]), 0}, p.k);
      config.where.threads = 1;
      const outcome first = evaluate_once(&config, &point);
      for (size_t c = 0; c < LENGTH(counts); c++) {
        config.where.threads = counts[c];
        const outcome many = evaluate_once(&config, &point);
        assert_memory_equal(&many, &first, sizeof first);
      }
    }
    free_problem(&p);
    free_tree(one);
  }
}

/* ---- the golden records ---------------------------------------------------------------------------------------- */

static void check_record(const cJSON *record, const oat_rows *rows, table z) {
  oat_expression *e = read_expression(json_text(record, "kernel"), rows->d);
  const oat_kernel kernel = oat_kernel_of_expression(e);
  const variant v = {oat_approx_find(json_text(record, "approx")), 0};
  const cJSON *gradient = cJSON_GetObjectItemCaseSensitive(record, "gradient");
  const cJSON *knots = cJSON_GetObjectItemCaseSensitive(gradient, "knots");
  double theta[OAT_LENGTHSCALE + MOST_PARAMETERS] = {1, json_number(record, "tau"), 1}, wanted[MOST_PARAMETERS];
  assert_int_equal(json_numbers(record, "parameters", theta + OAT_LENGTHSCALE), e->parameters);
  oat_objective_config config = config_of(rows, &kernel, v, z.rows);
  config.jitter = v.approx->sparse ? json_number(record, "jitter") : 0;
  const outcome o = evaluate_once(&config, &(oat_point){theta, z.a});
  assert_nats(o.value, json_number(record, "objective"), 1e-9);
  assert_int_equal(json_numbers(gradient, "log_parameters", wanted), e->parameters);
  for (size_t i = 0; i < e->parameters; i++) {
    assert_near(o.gradient[OAT_LENGTHSCALE + i], wanted[i], 1e-7);
  }
  assert_near(o.gradient[OAT_TAU], json_number(gradient, "log_tau"), 1e-7);
  for (size_t i = 0; knots != NULL && i < z.rows * rows->d; i++) {
    const double slope =
        cJSON_GetArrayItem(cJSON_GetArrayItem(knots, (int)(i % z.rows)), (int)(i / z.rows))->valuedouble;
    assert_near(o.gradient[OAT_LENGTHSCALE + e->parameters + i], slope, 1e-7);
  }
  oat_expression_free(e);
}

static void golden(void **state) {
  (void)state;
  cJSON *all = read_json(TEST_DATA_DIR "/golden/beyond.json");
  const cJSON *records = cJSON_GetObjectItemCaseSensitive(all, "kernels"), *record = NULL;
  table x = golden_table("X.csv"), y = golden_table("y.csv"), z = golden_table("Xu.csv");
  double mean = 0;
  for (size_t i = 0; i < y.rows; i++) {
    mean += y.a[i] / (double)y.rows;
  }
  for (size_t i = 0; i < y.rows; i++) {
    y.a[i] -= mean;
  }
  const oat_rows rows = {x.rows, x.columns, 0, x.a, y.a, NULL, NULL};
  assert_int_equal(cJSON_GetArraySize(records), 10);
  cJSON_ArrayForEach(record, records) { check_record(record, &rows, z); }
  free(x.a), free(y.a), free(z.a);
  cJSON_Delete(all);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values),       cmocka_unit_test(diagonals_and_pairs),
                                     cmocka_unit_test(lengthscales), cmocka_unit_test(adjoints),
                                     cmocka_unit_test(models),       cmocka_unit_test(knots_are_the_data),
                                     cmocka_unit_test(golden),       cmocka_unit_test(leaves_of_the_list),
                                     cmocka_unit_test(threads)};
  oat_set_blas_threads(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
