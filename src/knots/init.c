/* Starting knots. */
#include "knots/init.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/vector.h"
#include "util/memory.h"

enum { MAX_ITERATIONS = 300 };

/* The rows that take part, in units of the spread, and for each its nearest knot so far. */
typedef struct clusters {
  size_t n, d, k;
  double *x;                /* n x d, column-major */
  double *centre;           /* k x d, column-major */
  double *distance;         /* n: squared, to the nearest knot */
  double *work;             /* n */
  size_t *nearest, *before; /* n: the nearest knot now and in the round before */
  size_t *size;             /* k: rows of each knot */
} clusters;

static void free_clusters(clusters *c) {
  free(c->x);
  free(c->centre);
  free(c->distance);
  free(c->work);
  free(c->nearest);
  free(c->before);
  free(c->size);
}

static oatgp_status make_clusters(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, clusters *c) {
  const size_t all = oat_rows_total(start->rows);
  oatgp_status status = OATGP_OK;
  size_t *chosen = NULL;
  *c = (clusters){.n = all < OAT_KMEANS_ROWS ? all : OAT_KMEANS_ROWS, .d = oat_rows_inputs(start->rows), .k = start->k};
  TRY(oat_new_matrix(ctx, c->n, c->d, &c->x));
  TRY(oat_new_matrix(ctx, c->k, c->d, &c->centre));
  TRY(oat_new_matrix(ctx, c->n, 1, &c->distance));
  TRY(oat_new_matrix(ctx, c->n, 1, &c->work));
  TRY(oat_new(ctx, c->n, sizeof *c->nearest, &c->nearest));
  TRY(oat_new(ctx, c->n, sizeof *c->before, &c->before));
  TRY(oat_new(ctx, c->k, sizeof *c->size, &c->size));
  TRY(oat_new(ctx, c->n, sizeof *chosen, &chosen));
  if (c->n < all) {
    oat_rng_sample(rng, all, c->n, chosen);
  } else {
    for (size_t i = 0; i < all; i++) {
      chosen[i] = i;
    }
  }
  oat_rows_inputs_of(start->rows, c->n, chosen, c->x);
  for (size_t i = 0; i < c->n * c->d; i++) {
    c->x[i] /= start->spread[i / c->n];
  }
done:
  free(chosen);
  return status;
}

/* Squared distances of all rows to one centre, into work. */
static void distances_to(clusters *c, size_t centre) {
  static const double unit = 1;
  const oat_axes axes = {c->d, c->x, c->n, c->centre + centre, c->k, &unit, true};
  oat_distances(c->n, &axes, c->work);
}

static void place_centre(clusters *c, size_t centre, size_t row) {
  for (size_t j = 0; j < c->d; j++) {
    c->centre[centre + j * c->k] = c->x[row + j * c->n];
  }
}

/* A row with probability proportional to its squared distance from the centres so far; n if all distances are 0. */
static size_t draw_far_row(const clusters *c, oat_rng *rng) {
  double total = 0, sum = 0;
  size_t last = c->n;
  for (size_t i = 0; i < c->n; i++) {
    total += c->distance[i];
  }
  const double level = oat_rng_uniform(rng) * total;
  for (size_t i = 0; i < c->n && total > 0; i++) {
    if (c->distance[i] > 0) {
      last = i;
      sum += c->distance[i];
      if (sum > level) {
        break;
      }
    }
  }
  return last;
}

/* k-means++; returns how many different centres there are. */
static size_t seed_centres(clusters *c, oat_rng *rng) {
  for (size_t i = 0; i < c->n; i++) {
    c->distance[i] = HUGE_VAL;
  }
  place_centre(c, 0, oat_rng_below(rng, c->n));
  for (size_t centre = 0; centre < c->k; centre++) {
    if (centre > 0) {
      const size_t row = draw_far_row(c, rng);
      if (row == c->n) {
        return centre;
      }
      place_centre(c, centre, row);
    }
    distances_to(c, centre);
    for (size_t i = 0; i < c->n; i++) {
      c->distance[i] = fmin(c->distance[i], c->work[i]);
    }
  }
  return c->k;
}

/* Finds the nearest centre of every row; returns whether any row changed its own. */
static bool assign(clusters *c, size_t count) {
  memcpy(c->before, c->nearest, c->n * sizeof *c->before);
  for (size_t i = 0; i < c->n; i++) {
    c->distance[i] = HUGE_VAL;
  }
  for (size_t centre = 0; centre < count; centre++) {
    distances_to(c, centre);
    for (size_t i = 0; i < c->n; i++) {
      if (c->work[i] < c->distance[i]) {
        c->distance[i] = c->work[i];
        c->nearest[i] = centre;
      }
    }
  }
  return memcmp(c->before, c->nearest, c->n * sizeof *c->before) != 0;
}

/* Every centre becomes the mean of its rows; one without rows moves to the row farthest from its own centre. */
static void move_centres(clusters *c, size_t count) {
  memset(c->size, 0, count * sizeof *c->size);
  for (size_t i = 0; i < c->n; i++) {
    c->size[c->nearest[i]]++;
  }
  for (size_t j = 0; j < c->d; j++) {
    double *centre = c->centre + j * c->k;
    for (size_t m = 0; m < count; m++) {
      centre[m] = c->size[m] > 0 ? 0 : centre[m];
    }
    for (size_t i = 0; i < c->n; i++) {
      centre[c->nearest[i]] += c->x[i + j * c->n] / (double)c->size[c->nearest[i]];
    }
  }
  for (size_t m = 0; m < count; m++) {
    if (c->size[m] == 0) {
      size_t farthest = 0;
      for (size_t i = 1; i < c->n; i++) {
        farthest = c->distance[i] > c->distance[farthest] ? i : farthest;
      }
      place_centre(c, m, farthest);
      c->distance[farthest] = 0;
    }
  }
}

oatgp_status oat_knots_kmeans(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, double *z, size_t *found) {
  clusters c = {0};
  oatgp_status status = OATGP_OK;
  TRY(make_clusters(ctx, start, rng, &c));
  *found = seed_centres(&c, rng);
  memset(c.nearest, 0xff, c.n * sizeof *c.nearest);
  for (int i = 0; i < MAX_ITERATIONS && assign(&c, *found); i++) {
    move_centres(&c, *found);
    oat_tell_progress(ctx, "k-means", (size_t)i + 1, MAX_ITERATIONS);
  }
  for (size_t j = 0; j < c.d; j++) {
    for (size_t m = 0; m < *found; m++) {
      z[m + j * start->k] = c.centre[m + j * c.k] * start->spread[j];
    }
  }
done:
  free_clusters(&c);
  return status;
}

oatgp_status oat_knots_random(oatgp_context *ctx, const oat_knot_start *start, oat_rng *rng, double *z, size_t *found) {
  size_t *chosen = NULL;
  double *x = NULL;
  const size_t all = oat_rows_total(start->rows), d = oat_rows_inputs(start->rows), k = start->k < all ? start->k : all;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, k, sizeof *chosen, &chosen));
  TRY(oat_new_matrix(ctx, k, d, &x));
  oat_rng_sample(rng, all, k, chosen);
  oat_rows_inputs_of(start->rows, k, chosen, x);
  for (size_t j = 0; j < d; j++) {
    memcpy(z + j * start->k, x + j * k, k * sizeof *z);
  }
  *found = k;
done:
  free(chosen);
  free(x);
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

oatgp_status oat_knots_spread(oatgp_context *ctx, const double *z, size_t k, size_t d, const double *spread, size_t *order) {
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
