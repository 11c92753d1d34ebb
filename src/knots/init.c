/* Starting knots. */
#include "knots/init.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/lanes.h"
#include "util/memory.h"

enum { MAX_ITERATIONS = 300 };
enum { BLOCK = 4096 }; /* rows at a time; up to here sums run over all rows in their order */

/* The rows that take part, in units of the spread, and for each its nearest knot so far. */
typedef struct clusters {
  oat_scratch memory;
  size_t n, d, k;
  double *x;      /* n x d, column-major */
  oat_rows *rows; /* these */
  oat_device *device;
  double *centre;      /* k x d, column-major */
  double *size;        /* k: rows of each knot */
  oat_nearest nearest; /* knot of each row */
} clusters;

/* The inputs of the rows that take part: all of them, in their order, or a random subset. */
static void fill_inputs(const oat_knot_start *start, oat_rng *rng, size_t *chosen, clusters *c) {
  oat_rows_choose(start->rows, c->n, rng, chosen);
  oat_rows_inputs_of(start->rows, c->n, chosen, c->x);
  for (size_t i = 0; i < c->n * c->d; i++) {
    c->x[i] /= start->spread[i / c->n];
  }
}

static oatgp_status make_clusters(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, clusters *c) {
  const size_t all = oat_rows_total(start->rows), n = all < OAT_KMEANS_ROWS ? all : OAT_KMEANS_ROWS;
  const size_t d = oat_rows_inputs(start->rows), k = start->k;
  const oat_device_config config = {.max_knots = 1, .block = BLOCK, .where = start->where};
  oat_scratch *memory = &c->memory;
  oatgp_status status;
  *c = (clusters){.memory = {.ctx = ctx}, .n = n, .d = d, .k = k};
  c->x = oat_take_doubles(memory, n, d);
  c->centre = oat_take_doubles(memory, k, d);
  c->size = oat_take_doubles(memory, k, 1);
  c->nearest.distance = oat_take_doubles(memory, n, 1);
  c->nearest.which = oat_take(memory, n, sizeof *c->nearest.which);
  size_t *chosen = oat_take(memory, n, sizeof *chosen);
  TRY(memory->status);
  fill_inputs(start, rng, chosen, c);
  TRY(oat_rows_from_points(ctx, (oat_points){c->x, n, n}, d, &c->rows));
  TRY(oat_device_open(ctx, &config, c->rows, &c->device));
done:
  return status;
}

static void place_centre(clusters *c, size_t centre, size_t row) {
  for (size_t j = 0; j < c->d; j++) {
    c->centre[centre + j * c->k] = c->x[row + j * c->n];
  }
}

/* ---- k-means++ ------------------------------------------------------------------------------------------------- */

/* A row with probability proportional to its squared distance from the centres so far; n if all distances are 0. */
static size_t draw_far_row(const clusters *c, oat_rng *rng) {
  const double level = oat_rng_uniform(rng) * c->nearest.total;
  double sum = 0;
  size_t last = c->n; /* row with a distance */
  for (size_t i = 0; c->nearest.total > 0 && i < c->n && !(sum > level); i++) {
    if (c->nearest.distance[i] > 0) {
      last = i;
      sum += c->nearest.distance[i];
    }
  }
  return last;
}

/* k-means++; *found: the number of different centres. Every row is then assigned to the nearest one. */
static oatgp_status seed_centres(clusters *c, oat_rng *rng, size_t *found) {
  oatgp_status status = OATGP_OK;
  size_t row = oat_rng_below(rng, c->n);
  for (*found = 0; row < c->n && *found < c->k; ++*found) {
    place_centre(c, *found, row);
    c->nearest.points = (oat_points){c->centre + *found, 1, c->k};
    c->nearest.before = *found;
    TRY(c->device->table->nearest(c->device, &c->nearest));
    row = *found + 1 < c->k ? draw_far_row(c, rng) : c->n;
  }
done:
  return status;
}

/* ---- Lloyd's iterations ---------------------------------------------------------------------------------------- */

/* The row that is farthest from its own centre. */
static size_t farthest_row(const clusters *c) {
  oat_largest farthest = {c->nearest.distance[0], 0};
  for (size_t i = 1; i < c->n; i++) {
    oat_largest_take(&farthest, c->nearest.distance[i], i);
  }
  return farthest.at;
}

/* Every centre becomes the mean of its rows; one without rows moves to the row farthest from its own centre. */
static oatgp_status move_centres(clusters *c, size_t count) {
  oatgp_status status = OATGP_OK;
  TRY(c->device->table->centres(c->device, c->nearest.which, c->k, c->size, c->centre));
  for (size_t m = 0; m < count; m++) {
    if (c->size[m] == 0) {
      const size_t farthest = farthest_row(c);
      place_centre(c, m, farthest);
      c->nearest.distance[farthest] = 0;
    }
  }
done:
  return status;
}

/* A mean of codes is not a code, so a centre gets the codes of the nearest of its own rows. */
static oatgp_status take_codes(const bool *category, clusters *c) {
  size_t *nearest = oat_take(&c->memory, c->k, sizeof *nearest);
  PASS_ON(c->memory.status);
  for (size_t i = 0; i < c->n; i++) {
    size_t *best = &nearest[c->nearest.which[i]];
    *best = *best == 0 || c->nearest.distance[i] < c->nearest.distance[*best - 1] ? i + 1 : *best;
  }
  for (size_t m = 0; m < c->k; m++) {
    for (size_t j = 0; nearest[m] > 0 && j < c->d; j++) {
      c->centre[m + j * c->k] = category[j] ? c->x[nearest[m] - 1 + j * c->n] : c->centre[m + j * c->k];
    }
  }
  return OATGP_OK;
}

oatgp_status oat_knots_kmeans(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, double *z, size_t *found) {
  clusters c = {0};
  oatgp_status status = OATGP_OK;
  TRY(make_clusters(ctx, start, rng, &c));
  TRY(seed_centres(&c, rng, found));
  c.nearest.changed = true;
  for (int i = 0; i < MAX_ITERATIONS && c.nearest.changed; i++) {
    TRY(move_centres(&c, *found));
    oat_tell_progress(ctx, "k-means", (size_t)i + 1, MAX_ITERATIONS);
    c.nearest.points = (oat_points){c.centre, *found, c.k};
    c.nearest.before = 0;
    TRY(c.device->table->nearest(c.device, &c.nearest));
  }
  TRY(start->category != NULL ? take_codes(start->category, &c) : OATGP_OK);
  for (size_t j = 0; j < c.d; j++) {
    for (size_t m = 0; m < *found; m++) {
      z[m + j * start->k] = c.centre[m + j * c.k] * start->spread[j];
    }
  }
done:
  oat_device_close(c.device);
  oat_rows_free(c.rows);
  oat_scratch_free(&c.memory);
  return status;
}

oatgp_status oat_knots_random(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, double *z, size_t *found) {
  const size_t all = oat_rows_total(start->rows), d = oat_rows_inputs(start->rows), k = start->k < all ? start->k : all;
  oat_scratch memory = {.ctx = ctx};
  size_t *chosen = oat_take(&memory, k, sizeof *chosen);
  double *x = oat_take_doubles(&memory, k, d);
  oatgp_status status;
  TRY(memory.status);
  oat_rng_sample(rng, all, k, chosen);
  oat_rows_inputs_of(start->rows, k, chosen, x);
  for (size_t j = 0; j < d; j++) {
    memcpy(z + j * start->k, x + j * k, k * sizeof *z);
  }
  *found = k;
done:
  oat_scratch_free(&memory);
  return status;
}

static double squared_distance(const double *z, size_t k, size_t d, const double *spread, size_t a, size_t b) {
  double sum = 0;
  for (size_t j = 0; j < d; j++) {
    const double t = (z[a + j * k] - z[b + j * k]) / spread[j];
    sum += t * t;
  }
  return sum;
}

/* The knot with the smallest largest distance to the others. */
static size_t middle_knot(const double *z, size_t k, size_t d, const double *spread) {
  size_t best = 0;
  double least = HUGE_VAL;
  for (size_t i = 0; i < k; i++) {
    double farthest = 0;
    for (size_t j = 0; j < k; j++) {
      farthest = fmax(farthest, squared_distance(z, k, d, spread, i, j));
    }
    if (farthest < least) {
      least = farthest;
      best = i;
    }
  }
  return best;
}

oatgp_status oat_knots_spread(oatgp_context *ctx, const double *z, size_t k, size_t d, const double *spread,
                              size_t *order) {
  double *nearest = NULL;
  const oatgp_status status = oat_new_matrix(ctx, k, 1, &nearest);
  if (status != OATGP_OK) {
    return status;
  }
  for (size_t i = 0; i < k; i++) {
    nearest[i] = HUGE_VAL;
  }
  size_t next = middle_knot(z, k, d, spread);
  for (size_t i = 0; i < k; i++) {
    order[i] = next;
    nearest[next] = -1; /* taken */
    for (size_t j = 0; j < k; j++) {
      nearest[j] = nearest[j] < 0 ? -1 : fmin(nearest[j], squared_distance(z, k, d, spread, order[i], j));
    }
    for (size_t j = 0; j < k; j++) {
      next = nearest[j] > nearest[next] ? j : next;
    }
  }
  free(nearest);
  return OATGP_OK;
}
