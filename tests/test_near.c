/* The search for neighbours against all distances, sorted: both ways, several numbers of threads, and points that are
 * hard for a tree or for products: many equal ones, equal distances, one input for all, huge and tiny coordinates, and
 * points far from the origin. */
#include "device/cpu/near.h"

#include "support.h"
#include "util/threads.h"

enum { MOST_POINTS = 500, MOST_INPUTS = 20, MOST_OTHERS = 40, MANY_POINTS = 3000 };

static const int thread_counts[] = {1, 2, 5};
static const oat_near_way ways[] = {OAT_NEAR_BY_TREE, OAT_NEAR_BY_ALL, OAT_NEAR_BY_ITSELF};

typedef struct cloud {
  size_t n, d, ld, others;
  double *x; /* n x d and then `others` rows more, with the leading dimension ld */
  double inverse[MOST_INPUTS];
} cloud;

/* ---- points ---------------------------------------------------------------------------------------------------- */

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
/* Infinity has no distance from itself, NaN from nothing: both are far away. */
static double with_infinite(oat_rng *rng) {
  static const double infinite[] = {HUGE_VAL, -HUGE_VAL, NAN};
  return oat_rng_below(rng, 10) == 0 ? infinite[oat_rng_below(rng, LENGTH(infinite))] : oat_rng_normal(rng);
}
/* Squares lose digits or are 0. */
static double tiny(oat_rng *rng) { return 1e-161 * oat_rng_normal(rng); }
/* |x|^2 has 20 digits more than distances have. */
static double far_out(oat_rng *rng) { return 1e10 + (oat_rng_below(rng, 2) == 0 ? 1e12 : 0) + oat_rng_normal(rng); }
static double clusters(oat_rng *rng) { return 1000 * (double)oat_rng_below(rng, 2) + 1e-3 * oat_rng_normal(rng); }

static double (*const kinds[])(oat_rng *rng) = {normal,        on_grid, all_equal, with_huge, huge_alone,
                                                with_infinite, tiny,    far_out,   clusters};

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
  /* Some are equal to others, or all to a few: whole leaves, whose distance is that of their points to the last bit. */
  const size_t places = oat_rng_below(rng, 3) == 0 && n > 9 ? 9 : n;
  for (size_t i = 0; i < n + c.others; i++) {
    const size_t from = (places < n && i >= places) || oat_rng_below(rng, 4) == 0 ? oat_rng_below(rng, places) : i;
    for (size_t j = 0; j < d; j++) {
      c.x[i + j * c.ld] = c.x[from + j * c.ld];
    }
  }
  return c;
}

static oat_points points_of(const cloud *c) { return (oat_points){c->x, c->n, c->ld}; }
static oat_points others_of(const cloud *c) { return (oat_points){c->x + c->n, c->others, c->ld}; }

/* ---- the lists as they should be ------------------------------------------------------------------------------- */

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
  static candidate all[MANY_POINTS];
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

/* The lists of some rows: each `step`-th. */
static void check_before(const cloud *c, const oat_near *near, size_t m, size_t step) {
  uint32_t *list = calloc(c->n * m + 1, sizeof *list);
  assert_non_null(list);
  assert_int_equal(oat_near_before(near, m, list), OATGP_OK);
  for (size_t i = 0; i < c->n; i += step) {
    expect_list(c, i, i, OAT_NEAR_NONE, m, list + i * m);
  }
  assert_int_equal(list[c->n * m], 0);
  free(list);
}

/* Other points, or, without themselves, the points. */
static void check_of(const cloud *c, const oat_near *near, size_t m, bool others, size_t step) {
  const oat_points x = others ? others_of(c) : points_of(c);
  uint32_t *list = calloc(x.n * m + 1, sizeof *list), *without = calloc(x.n + 1, sizeof *without);
  assert_non_null(list);
  assert_non_null(without);
  for (size_t i = 0; i < x.n; i++) {
    without[i] = others ? OAT_NEAR_NONE : (uint32_t)i;
  }
  assert_int_equal(oat_near_of(near, x, others ? NULL : without, m, list), OATGP_OK);
  for (size_t i = 0; i < x.n; i += step) {
    expect_list(c, others ? c->n + i : i, c->n, without[i], m, list + i * m);
  }
  assert_int_equal(list[x.n * m], 0);
  free(list);
  free(without);
}

static void check_cloud(oatgp_context *ctx, const cloud *c, size_t m, int threads, size_t step) {
  oat_near *near = NULL;
  assert_int_equal(oat_near_open(ctx, points_of(c), c->d, c->inverse, threads, &near), OATGP_OK);
  for (size_t w = 0; w < LENGTH(ways); w++) {
    oat_near_force(near, ways[w]);
    check_before(c, near, m, step);
    check_of(c, near, m, true, step);
    check_of(c, near, m, false, step);
  }
  oat_near_close(near);
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void every_way_finds_the_nearest(void **state) {
  (void)state;
  const size_t turns = amount(24, 8, 2);
  oatgp_context *ctx = oatgp_context_create();
  oat_rng rng;
  oat_rng_seed(&rng, 1);
  for (size_t k = 0; k < LENGTH(kinds); k++) {
    for (size_t turn = 0; turn < turns; turn++) {
      const size_t most = turn % 8 == 0 ? MOST_POINTS : turn % 2 == 0 ? 150 : 20;
      const size_t n = 1 + oat_rng_below(&rng, under_valgrind() ? 100 : most), d = 1 + oat_rng_below(&rng, MOST_INPUTS);
      const cloud c = make_cloud(&rng, n, turn % 3 == 0 ? 1 + d % 3 : d, kinds[k]);
      const size_t m = turn % 5 == 0 ? oat_rng_below(&rng, n + 4) : oat_rng_below(&rng, n < 20 ? n + 4 : 20);
      check_cloud(ctx, &c, m, thread_counts[turn % LENGTH(thread_counts)], 1);
      free(c.x);
    }
  }
  oatgp_context_free(ctx);
}

/* So many points that there are several levels, several trees and several blocks. */
static void many_points(void **state) {
  (void)state;
  oatgp_context *ctx = oatgp_context_create();
  oat_rng rng;
  oat_rng_seed(&rng, 2);
  for (size_t k = 0; k < LENGTH(kinds); k++) {
    const cloud c = make_cloud(&rng, under_valgrind() ? 1100 : MANY_POINTS - k, 1 + 2 * (k % 4), kinds[k]);
    check_cloud(ctx, &c, 7, thread_counts[k % LENGTH(thread_counts)], under_valgrind() ? 400 : 61);
    free(c.x);
  }
  oatgp_context_free(ctx);
}

/* All are at the same place, so the first ones are nearest; a search that compared all pairs of points would take
 * minutes. */
static void equal_points(void **state) {
  (void)state;
  enum { M = 3, INPUTS = 2 };
  const size_t n = amount(300000, 100000, 500);
  const double inverse[INPUTS] = {1, 1};
  oatgp_context *ctx = oatgp_context_create();
  oat_near *near = NULL;
  double *x = calloc(n * INPUTS, sizeof *x);
  uint32_t *list = calloc(n * M, sizeof *list);
  assert_non_null(x);
  assert_non_null(list);
  assert_int_equal(oat_near_open(ctx, (oat_points){x, n, n}, INPUTS, inverse, 2, &near), OATGP_OK);
  assert_int_equal(oat_near_before(near, M, list), OATGP_OK);
  for (size_t i = 0; i < n * M; i++) {
    assert_int_equal(list[i], i % M < i / M ? i % M : OAT_NEAR_NONE);
  }
  oat_near_close(near);
  oatgp_context_free(ctx);
  free(x);
  free(list);
}

static void nothing_to_find(void **state) {
  (void)state;
  const double x[] = {1, 2, 3}, inverse[] = {1};
  oatgp_context *ctx = oatgp_context_create();
  oat_near *near = NULL;
  uint32_t list[] = {7, 7, 7, 7};
  assert_int_equal(oat_near_open(ctx, (oat_points){x, 0, 1}, 1, inverse, 1, &near), OATGP_OK);
  assert_int_equal(oat_near_before(near, 2, list), OATGP_OK);
  assert_int_equal(list[0], 7);
  assert_int_equal(oat_near_of(near, (oat_points){x, 1, 1}, NULL, 3, list), OATGP_OK);
  assert_int_equal(list[0], OAT_NEAR_NONE);
  assert_int_equal(list[2], OAT_NEAR_NONE);
  assert_int_equal(list[3], 7);
  oat_near_close(near);
  oat_near_close(NULL);
  oatgp_context_free(ctx);
}

/* ---- progress -------------------------------------------------------------------------------------------------- */

static void hear(void *user, const char *what, size_t done, size_t total) {
  size_t *heard = user;
  assert_string_equal(what, "neighbours");
  assert_true(done <= total);
  *heard = total;
}

static void a_search_reports_progress(void **state) {
  (void)state;
  enum { POINTS = 12000 };
  oatgp_context *ctx = oatgp_context_create();
  oat_near *near = NULL;
  oat_rng rng;
  oat_rng_seed(&rng, 3);
  const cloud c = make_cloud(&rng, POINTS, 2, normal);
  static uint32_t list[POINTS];
  size_t heard = 0;
  assert_int_equal(oat_near_open(ctx, points_of(&c), c.d, c.inverse, 1, &near), OATGP_OK);
  oatgp_context_set_progress(ctx, hear, &heard);
  ctx->told = -1; /* not just now */
  assert_int_equal(oat_near_before(near, 1, list), OATGP_OK);
  assert_int_equal(heard, POINTS);
  oat_near_close(near);
  oatgp_context_free(ctx);
  free(c.x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_way_finds_the_nearest),
      cmocka_unit_test(many_points),
      cmocka_unit_test(equal_points),
      cmocka_unit_test(nothing_to_find),
      cmocka_unit_test(a_search_reports_progress),
  };
  oat_threads_always();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
