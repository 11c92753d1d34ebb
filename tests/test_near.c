/* The search for neighbours against all distances, sorted: both ways, several numbers of threads, and points that are hard for a tree or for
 * products: many equal ones, equal distances, one input for all, huge and tiny coordinates, and points far from the origin. */
#include "device/cpu/near.h"

#include "support.h"
#include "util/threads.h"

enum { MOST_POINTS = 500, MOST_INPUTS = 20, MOST_OTHERS = 40 };

static const int thread_counts[] = {1, 2, 5};
static const oat_near_way ways[] = {OAT_NEAR_BY_TREE, OAT_NEAR_BY_ALL, OAT_NEAR_BY_ITSELF};

typedef struct cloud {
  size_t n, d, ld, others;
  double *x; /* n x d and then `others` rows more, with the leading dimension ld */
  double inverse[MOST_INPUTS];
} cloud;

/* ---- points ------------------------------------------------------------------------------------------------------ */

static double normal(oat_rng *rng) { return oat_rng_normal(rng); }
/* Few values: equal points, and distances that are equal though the differences are not. */
static double on_grid(oat_rng *rng) { return (double)oat_rng_below(rng, 3); }
static double all_equal(oat_rng *rng) {
  (void)rng;
  return 0.1;
}
/* A few points far out, whose squares, or even differences, are not finite. */
static double with_huge(oat_rng *rng) {
  static const double huge[] = {1e300, -1e300, 1e200, 1.7e154, 1.3e154, 1e154, 0.6e154, 1.7e308, -1.7e308};
  return oat_rng_below(rng, 20) == 0 ? huge[oat_rng_below(rng, LENGTH(huge))] : oat_rng_normal(rng);
}
static double huge_alone(oat_rng *rng) { return 1e154 * oat_rng_normal(rng); }
static double with_infinite(oat_rng *rng) {
  return oat_rng_below(rng, 10) == 0 ? HUGE_VAL * (oat_rng_below(rng, 2) == 0 ? 1 : -1) : normal(rng);
}
/* Squares lose digits or are 0. */
static double tiny(oat_rng *rng) { return 1e-161 * oat_rng_normal(rng); }
/* |x|^2 has 20 digits more than distances have. */
static double far_out(oat_rng *rng) { return 1e10 + (oat_rng_below(rng, 2) == 0 ? 1e12 : 0) + oat_rng_normal(rng); }
static double clusters(oat_rng *rng) { return 1000 * (double)oat_rng_below(rng, 2) + 1e-3 * oat_rng_normal(rng); }

static double (*const kinds[])(oat_rng *rng) = {normal, on_grid, all_equal, with_huge, huge_alone, with_infinite, tiny, far_out, clusters};

/* Some inputs are the same for all points, some have another lengthscale. */
static cloud make_cloud(oat_rng *rng, size_t n, size_t d, double (*coordinate)(oat_rng *rng)) {
  cloud c = {.n = n, .d = d, .others = oat_rng_below(rng, MOST_OTHERS)};
  c.ld = n + c.others + oat_rng_below(rng, 3);
  c.x = calloc(c.ld * d + 1, sizeof *c.x);
  assert_non_null(c.x);
  for (size_t j = 0; j < d; j++) {
    const bool constant = oat_rng_below(rng, 6) == 0;
    const double first = coordinate(rng);
    c.inverse[j] = oat_rng_below(rng, 3) == 0 ? exp(oat_rng_normal(rng)) : 1;
    for (size_t i = 0; i < n + c.others; i++) {
      c.x[i + j * c.ld] = constant ? first : coordinate(rng);
    }
  }
  for (size_t i = 0; n > 0 && i < n + c.others; i++) { /* some are equal to others */
    const size_t from = oat_rng_below(rng, 4) == 0 ? oat_rng_below(rng, n) : i;
    for (size_t j = 0; j < d; j++) {
      c.x[i + j * c.ld] = c.x[from + j * c.ld];
    }
  }
  return c;
}

static oat_points points_of(const cloud *c) { return (oat_points){c->x, c->n, c->ld}; }
static oat_points others_of(const cloud *c) { return (oat_points){c->x + c->n, c->others, c->ld}; }

/* ---- the lists as they should be --------------------------------------------------------------------------------- */

typedef struct candidate {
  double distance;
  uint32_t number;
} candidate;

static int in_order(const void *a, const void *b) {
  const candidate *p = a, *q = b;
  return p->distance != q->distance ? (p->distance > q->distance) - (p->distance < q->distance)
                                    : (p->number > q->number) - (p->number < q->number);
}

static double distance_between(const cloud *c, size_t a, size_t b) {
  double s = 0;
  for (size_t j = 0; j < c->d; j++) {
    const double t = c->x[a + j * c->ld] * c->inverse[j] - c->x[b + j * c->ld] * c->inverse[j];
    s += t * t;
  }
  return isnan(s) ? HUGE_VAL : s;
}

/* Of the row `of` among the first `limit` points. */
static void expect_list(const cloud *c, size_t of, size_t limit, uint32_t without, size_t m, const uint32_t *list) {
  candidate all[MOST_POINTS];
  size_t count = 0;
  for (size_t i = 0; i < limit; i++) {
    if (i != without) {
      all[count++] = (candidate){distance_between(c, of, i), (uint32_t)i};
    }
  }
  qsort(all, count, sizeof *all, in_order);
  for (size_t j = 0; j < m; j++) {
    const uint32_t wanted = j < count ? all[j].number : OAT_NEAR_NONE;
    if (list[j] != wanted) {
      fail_msg("%zu points, %zu inputs: neighbour %zu of %zu is %u and not %u", c->n, c->d, j, of, list[j], wanted);
    }
  }
}

static void check_before(const cloud *c, const oat_near *near, size_t m) {
  uint32_t *list = calloc(c->n * m + 1, sizeof *list);
  assert_non_null(list);
  assert_int_equal(oat_near_before(near, m, list), OATGP_OK);
  for (size_t i = 0; i < c->n; i++) {
    expect_list(c, i, i, OAT_NEAR_NONE, m, list + i * m);
  }
  assert_int_equal(list[c->n * m], 0);
  free(list);
}

/* Other points, or, without themselves, the points. */
static void check_of(const cloud *c, const oat_near *near, size_t m, bool others) {
  const oat_points x = others ? others_of(c) : points_of(c);
  uint32_t *list = calloc(x.n * m + 1, sizeof *list), *without = calloc(x.n + 1, sizeof *without);
  assert_non_null(list);
  assert_non_null(without);
  for (size_t i = 0; i < x.n; i++) {
    without[i] = others ? OAT_NEAR_NONE : (uint32_t)i;
  }
  assert_int_equal(oat_near_of(near, x, others ? NULL : without, m, list), OATGP_OK);
  for (size_t i = 0; i < x.n; i++) {
    expect_list(c, others ? c->n + i : i, c->n, without[i], m, list + i * m);
  }
  assert_int_equal(list[x.n * m], 0);
  free(list);
  free(without);
}

static void check_cloud(oatgp_context *ctx, const cloud *c, size_t m, size_t turn) {
  for (size_t t = turn % 3; t < LENGTH(thread_counts); t += turn % 7 == 0 ? 1 : 3) {
    oat_near *near = NULL;
    assert_int_equal(oat_near_open(ctx, points_of(c), c->d, c->inverse, thread_counts[t], &near), OATGP_OK);
    for (size_t w = 0; w < LENGTH(ways); w++) {
      oat_near_force(near, ways[w]);
      check_before(c, near, m);
      check_of(c, near, m, true);
      check_of(c, near, m, false);
    }
    oat_near_close(near);
  }
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void every_way_finds_the_nearest(void **state) {
  (void)state;
  const size_t turns = under_valgrind() ? 2 : 40;
  oatgp_context *ctx = oatgp_context_create();
  oat_rng rng;
  oat_rng_seed(&rng, 1);
  for (size_t k = 0; k < LENGTH(kinds); k++) {
    for (size_t turn = 0; turn < turns; turn++) {
      const size_t most = turn % 8 == 0 ? MOST_POINTS : turn % 2 == 0 ? 150 : 20;
      const size_t n = 1 + oat_rng_below(&rng, under_valgrind() ? 100 : most), d = 1 + oat_rng_below(&rng, MOST_INPUTS);
      const cloud c = make_cloud(&rng, n, turn % 3 == 0 ? 1 + d % 3 : d, kinds[k]);
      const size_t m = turn % 5 == 0 ? oat_rng_below(&rng, n + 4) : oat_rng_below(&rng, n < 20 ? n + 4 : 20);
      check_cloud(ctx, &c, m, turn);
      free(c.x);
    }
  }
  oatgp_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_way_finds_the_nearest)};
  oat_threads_always();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
