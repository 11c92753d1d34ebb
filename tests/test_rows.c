/* Reading rows: every function over blocks against a plain loop, for more rows than a block has. */
#include "rows/rows.h"

#include "util/lanes.h"
#include "rows/layout.h"
#include "support.h"
#include "util/threads.h"

enum { ROWS = 150001, INPUTS = 2, BASIS = 1, FIRST_LARGEST = 350 }; /* of many rows with the same value */

typedef struct world {
  oatgp_context *ctx;
  double *x, *r, *scale, *add;
  oat_rows rows;
} world;

static double *random_numbers(size_t count, uint64_t seed, double least) {
  double *a = calloc(count, sizeof *a);
  oat_rng rng;
  assert_non_null(a);
  oat_rng_seed(&rng, seed);
  for (size_t i = 0; i < count; i++) {
    a[i] = least + oat_rng_uniform(&rng);
  }
  return a;
}

static int set_up(void **state) {
  world *w = calloc(1, sizeof *w);
  assert_non_null(w);
  w->ctx = oatgp_context_create();
  w->x = random_numbers(ROWS * INPUTS, 1, -0.5);
  w->r = random_numbers(ROWS * (1 + BASIS), 2, -0.5);
  w->scale = random_numbers(ROWS, 3, 0.5);
  w->add = random_numbers(ROWS, 4, 0);
  w->rows = (oat_rows){
      .n = ROWS, .d = INPUTS, .p = BASIS, .x = w->x, .r = w->r, .noise_scale = w->scale, .noise_add = w->add};
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  world *w = *state;
  oatgp_context_free(w->ctx);
  free(w->x);
  free(w->r);
  free(w->scale);
  free(w->add);
  free(w);
  return 0;
}

/* ---- the host's own functions ---------------------------------------------------------------------------------- */

typedef struct visits {
  const world *w;
  int count[ROWS];
  bool wrong[OAT_MOST_LANES];
  oat_largest largest[OAT_MOST_LANES];
} visits;

static void visit(void *self, size_t lane, size_t first, oat_points x) {
  visits *v = self;
  for (size_t i = 0; i < x.n; i++) {
    v->count[first + i]++;
    v->wrong[lane] |= memcmp(&x.a[i], &v->w->x[first + i], sizeof(double)) != 0;
    v->wrong[lane] |= memcmp(&x.a[i + x.ld], &v->w->x[first + i + ROWS], sizeof(double)) != 0;
    oat_largest_take(&v->largest[lane], first + i < FIRST_LARGEST ? 0 : 1, first + i);
  }
}

/* Each row once, with its inputs, whatever the block and the threads; and the first of the largest. */
static void each_row_is_visited_once(void **state) {
  const world *w = *state;
  visits *v = calloc(1, sizeof *v);
  assert_non_null(v);
  const size_t blocks[] = {100, 4096, ROWS - 1, ROWS, ROWS + 1};
  for (size_t b = 0; b < LENGTH(blocks); b++) {
    for (int threads = 1; threads <= 3; threads++) {
      *v = (visits){.w = w};
      oat_largest_clear(v->largest);
      const oat_each each = {.block = blocks[b], .threads = threads, .visit = visit, .self = v};
      assert_int_equal(oat_rows_each(w->ctx, &w->rows, &each), OATGP_OK);
      for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(v->count[i], 1);
      }
      for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
        assert_false(v->wrong[lane]);
      }
      const oat_largest found = oat_largest_join((oat_largest){-HUGE_VAL, SIZE_MAX}, v->largest);
      assert_true(found.value == 1 && found.at == FIRST_LARGEST);
    }
  }
  free(v);
}

/* ---- computations of src/rows ---------------------------------------------------------------------------------- */

static void copies_of_all_rows(void **state) {
  const world *w = *state;
  const double coefficient = 0.3, tau = 0.7;
  double *x = calloc(ROWS * INPUTS, sizeof *x), *r = calloc(ROWS, sizeof *r), *noise = calloc(ROWS, sizeof *noise);
  oat_rows *less = NULL;
  oat_rows_copy(&w->rows, &coefficient, tau, x, r, noise);
  assert_int_equal(oat_rows_less_mean(w->ctx, &w->rows, &coefficient, &less), OATGP_OK);
  assert_memory_equal(x, w->x, ROWS * INPUTS * sizeof *x);
  assert_memory_equal(r, less->r, ROWS * sizeof *r);
  for (size_t i = 0; i < ROWS; i++) {
    assert_true(r[i] == w->r[i] - coefficient * w->r[i + ROWS]);
    assert_true(noise[i] == tau * tau * w->scale[i] + w->add[i]);
  }
  oat_rows_free(less);
  free(x);
  free(r);
  free(noise);
}

static void some_rows_in_another_order(void **state) {
  const world *w = *state;
  enum { TAKEN = 100000 };
  size_t *index = calloc(TAKEN, sizeof *index);
  double *x = calloc(TAKEN * INPUTS, sizeof *x);
  oat_rows *taken = NULL;
  for (size_t i = 0; i < TAKEN; i++) {
    index[i] = ROWS - 1 - i;
  }
  assert_int_equal(oat_rows_take(w->ctx, &w->rows, TAKEN, index, &taken), OATGP_OK);
  oat_rows_inputs_of(&w->rows, TAKEN, index, x);
  assert_memory_equal(x, taken->x, TAKEN * INPUTS * sizeof *x);
  for (size_t i = 0; i < TAKEN; i++) {
    assert_true(x[i] == w->x[index[i]] && x[i + TAKEN] == w->x[index[i] + ROWS]);
    assert_true(taken->r[i] == w->r[index[i]] && taken->r[i + TAKEN] == w->r[index[i] + ROWS]);
    assert_true(taken->noise_scale[i] == w->scale[index[i]] && taken->noise_add[i] == w->add[index[i]]);
  }
  oat_rows_free(taken);
  free(index);
  free(x);
}

static void planes_ranges_and_constants(void **state) {
  const world *w = *state;
  const double slope[] = {2, -3}, middle[] = {0.1, 0.2};
  double *out = calloc(ROWS, sizeof *out), lowest[] = {0, -1}, highest[] = {0.1, 0.1}, least = 0, most = 0.1, tau = 0;
  long double squares = 0, logarithms = 0;
  oat_rows_plane(&w->rows, 2, 5, slope, middle, out);
  oat_rows_range(&w->rows, lowest, highest);
  const double value = oat_rows_constant(&w->rows, &tau);
  for (size_t i = 0; i < ROWS; i++) {
    assert_true(fabs(out[i] - (5 + 2 * (w->x[i] - 0.1) - 3 * (w->x[i + ROWS] - 0.2))) < 1e-14);
    least = fmin(least, w->x[i]);
    most = fmax(most, w->x[i]);
    squares += (long double)w->r[i] * w->r[i] / w->scale[i];
    logarithms += logl(w->scale[i]);
  }
  assert_true(lowest[0] == least && highest[0] == most && lowest[1] == -1);
  assert_true(fabsl(tau - sqrtl(squares / ROWS)) < 1e-12L);
  const long double wanted = -(ROWS * (logl(2 * acosl(-1) * squares / ROWS) + 1) + logarithms) / 2;
  assert_true(fabsl(value - wanted) < 1e-11L * fabsl(wanted));
  free(out);
}

/* Rows 7 and 140000 are the same, and so are 8 and 9; of the first 1000 only the latter. */
static void repeated_rows(void **state) {
  world *w = *state;
  oat_repeats found;
  for (size_t j = 0; j < INPUTS; j++) {
    w->x[140000 + j * ROWS] = w->x[7 + j * ROWS];
    w->x[9 + j * ROWS] = w->x[8 + j * ROWS];
  }
  assert_int_equal(oat_rows_repeats(w->ctx, &w->rows, ROWS, &found), OATGP_OK);
  assert_int_equal(found.rows, 4);
  assert_int_equal(found.groups, 2);
  const double near = w->r[8] - w->r[9], far = w->r[7] - w->r[140000];
  assert_true(fabs(found.squares - near * near / 2 - far * far / 2) < 1e-14);
  assert_int_equal(oat_rows_repeats(w->ctx, &w->rows, 1000, &found), OATGP_OK);
  assert_int_equal(found.groups, 1);
  assert_true(fabs(found.squares - near * near / 2) < 1e-14);
}

/* ---- rows that a model keeps ----------------------------------------------------------------------------------- */

/* Room for so many rows, in one block that begins at x. */
static oat_kept_rows new_kept(size_t n) {
  double *x = calloc(n * (INPUTS + 3), sizeof *x), *r = x + n * INPUTS;
  assert_non_null(x);
  return (oat_kept_rows){n, x, r, r + n, r + 2 * n};
}

/* There and back: with noise of every kind, and the basis made again from the scaling. */
static void kept_rows_come_back(void **state) {
  const world *w = *state;
  double middle[] = {0.1, -0.2}, spread[] = {2, 0.5};
  const oat_scaling scaling = {.d = INPUTS, .middle = middle, .spread = spread};
  for (int noise = 0; noise < 4; noise++) {
    for (size_t p = 0; p <= 1 + INPUTS; p += p == 0 ? 1 : INPUTS) {
      oat_rows rows = w->rows, *back = NULL;
      oat_kept_rows kept = new_kept(ROWS);
      rows.noise_scale = noise & 1 ? w->scale : NULL;
      rows.noise_add = noise & 2 ? w->add : NULL;
      oat_rows_keep(&rows, &kept);
      assert_int_equal(oat_rows_from_kept(w->ctx, &kept, &scaling, p, &back), OATGP_OK);
      assert_true(back->n == ROWS && back->d == INPUTS && back->p == p && oat_rows_total(back) == ROWS);
      assert_memory_equal(back->x, w->x, ROWS * INPUTS * sizeof *w->x);
      assert_memory_equal(back->r, w->r, ROWS * sizeof *w->r);
      assert_int_equal(back->noise_scale != NULL, noise & 1 ? 1 : 0);
      assert_int_equal(back->noise_add != NULL, noise & 2 ? 1 : 0);
      assert_true(!(noise & 1) || memcmp(back->noise_scale, w->scale, ROWS * sizeof *w->scale) == 0);
      assert_true(!(noise & 2) || memcmp(back->noise_add, w->add, ROWS * sizeof *w->add) == 0);
      for (size_t i = 0; i < ROWS * p; i++) {
        const size_t row = i % ROWS, column = i / ROWS;
        const double wanted =
            column == 0 ? 1 : (w->x[row + (column - 1) * ROWS] - middle[column - 1]) / spread[column - 1];
        assert_true(back->r[ROWS + i] == wanted);
      }
      oat_rows_free(back);
      free(kept.x);
    }
  }
}

/* Behind each other; where only some have noise of their own, the others have what NULL stands for. */
static void rows_are_joined(void **state) {
  const world *w = *state;
  enum { FEW = 1000, ALL = ROWS + FEW };
  size_t *index = calloc(FEW, sizeof *index);
  for (size_t i = 0; i < FEW; i++) {
    index[i] = 3 * i;
  }
  for (int which = 0; which < 4; which++) {
    oat_rows first = w->rows, *second = NULL, *both = NULL;
    assert_int_equal(oat_rows_take(w->ctx, &w->rows, FEW, index, &second), OATGP_OK);
    first.noise_scale = which & 1 ? w->scale : NULL;
    first.noise_add = which & 1 ? w->add : NULL;
    oat_rows plain = *second;
    plain.owned = NULL;
    plain.noise_scale = which & 2 ? second->noise_scale : NULL;
    plain.noise_add = which & 2 ? second->noise_add : NULL;
    assert_int_equal(oat_rows_join(w->ctx, &first, &plain, &both), OATGP_OK);
    assert_true(both->n == ALL && both->p == BASIS && (both->noise_scale != NULL) == (which > 0));
    for (size_t i = 0; i < ALL; i++) {
      const size_t row = i < ROWS ? i : index[i - ROWS];
      const bool own = which & (i < ROWS ? 1 : 2);
      assert_true(both->x[i] == w->x[row] && both->x[i + ALL] == w->x[row + ROWS]);
      assert_true(both->r[i] == w->r[row] && both->r[i + ALL] == w->r[row + ROWS]);
      assert_true(which == 0 || both->noise_scale[i] == (own ? w->scale[row] : 1));
      assert_true(which == 0 || both->noise_add[i] == (own ? w->add[row] : 0));
    }
    oat_rows_free(second);
    oat_rows_free(both);
  }
  free(index);
}

/* Each row among the same rows in another order, equal ones each once, and 0 of either sign; not among others. */
static void rows_are_found(void **state) {
  world *w = *state;
  size_t *index = calloc(2 * ROWS, sizeof *index), *found = index + ROWS;
  oat_rows *turned = NULL, *fewer = NULL;
  bool all = false, *taken = calloc(ROWS, sizeof *taken);
  for (size_t i = 0; i < ROWS; i++) {
    index[i] = ROWS - 1 - i;
  }
  for (size_t i = 0; i < 5; i++) { /* equal rows */
    w->x[100 * i] = w->x[100 * i + ROWS] = w->r[100 * i] = i % 2 == 0 ? 0.0 : -0.0;
  }
  assert_int_equal(oat_rows_take(w->ctx, &w->rows, ROWS, index, &turned), OATGP_OK);
  assert_int_equal(oat_rows_find(w->ctx, &w->rows, turned, found, &all), OATGP_OK);
  assert_true(all);
  for (size_t i = 0; i < ROWS; i++) {
    assert_true(found[i] < ROWS && !taken[found[i]]);
    taken[found[i]] = true;
    assert_true(turned->x[found[i]] == w->x[i] && turned->r[found[i]] == w->r[i]);
    assert_true(found[i] == ROWS - 1 - i || (i <= 400 && i % 100 == 0));
  }
  assert_int_equal(oat_rows_take(w->ctx, &w->rows, ROWS - 1, index, &fewer), OATGP_OK);
  assert_int_equal(oat_rows_find(w->ctx, &w->rows, fewer, found, &all), OATGP_OK);
  assert_false(all);
  w->r[77] = nextafter(w->r[77], 1);
  assert_int_equal(oat_rows_find(w->ctx, &w->rows, turned, found, &all), OATGP_OK);
  assert_false(all);
  oat_rows_free(turned);
  oat_rows_free(fewer);
  free(index);
  free(taken);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  oat_threads_always();
  const struct CMUnitTest tests[] = {
      WITH_WORLD(each_row_is_visited_once),
      WITH_WORLD(copies_of_all_rows),
      WITH_WORLD(some_rows_in_another_order),
      WITH_WORLD(planes_ranges_and_constants),
      WITH_WORLD(repeated_rows),
      WITH_WORLD(kept_rows_come_back),
      WITH_WORLD(rows_are_joined),
      WITH_WORLD(rows_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
