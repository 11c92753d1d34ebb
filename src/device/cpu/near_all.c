/* The nearest points from all distances, computed as |x|^2 + |z|^2 - 2 x . z with matrix products.
 *
 * These have rounding errors: with u half the distance from 1 to the next number, at most about 2 (d + 4) u (|x|^2 +
 * |z|^2) from the sums and the rounded centred coordinates. So |x|^2 and |z|^2 are reduced by a share SLACK (d + 8) u.
 * A point that is then farther than the farthest of the m nearest so far cannot be one of them. For all other points
 * the distance is computed from differences. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/near_parts.h"
#include "linalg/linalg.h"
#include "oat_config.h"

enum {
  POINTS = 512, /* at a time */
  GROUP = 32,   /* of them that are tested together */
  SAMPLE = 101  /* rows from which the middle is computed */
};
#define SLACK 8.0
#define TINY (16 * DBL_MIN) /* more than the loss of products so small that they lack digits */
#define HUGE_NORM 1e300

static double slack_of(size_t d) { return SLACK * (double)(d + 8) * DBL_EPSILON / 2; }

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The approximate median of each input, which a few far points do not change. */
static void find_middle(const oat_near_all *all) {
  double some[SAMPLE];
  const size_t count = all->n < SAMPLE ? all->n : SAMPLE;
  for (size_t j = 0; j < all->d; j++) {
    for (size_t i = 0; i < count; i++) {
      some[i] = all->rows[all->n * i / count * all->d + j];
    }
    qsort(some, count, sizeof *some, ascending);
    all->middle[j] = some[count / 2];
  }
}

/* Returns the squared norm, minus the slack. If the products of a point could overflow, the point is moved to the
 * middle with a norm that makes it near to everything. */
static double centre(const oat_near_all *all, const double *x, double *centred) {
  double norm = 0;
  for (size_t j = 0; j < all->d; j++) {
    centred[j] = x[j] - all->middle[j];
    norm += centred[j] * centred[j];
  }
  if (norm < HUGE_NORM) {
    return norm * (1 - slack_of(all->d));
  }
  memset(centred, 0, all->d * sizeof *centred);
  return -HUGE_VAL;
}

oatgp_status oat_near_all_make(oatgp_context *ctx, const double *rows, size_t n, size_t d, oat_near_all *all) {
  oatgp_status status = OATGP_OK;
  *all = (oat_near_all){.n = n, .d = d, .rows = rows};
  TRY(oat_new_matrix(ctx, d, 1, &all->middle));
  TRY(oat_new_matrix(ctx, d, n, &all->centred));
  TRY(oat_new_matrix(ctx, n, 1, &all->norm));
  find_middle(all);
  for (size_t i = 0; i < n; i++) {
    all->norm[i] = centre(all, rows + i * d, all->centred + i * d);
  }
done:
  return status;
}

void oat_near_all_free(oat_near_all *all) {
  free(all->middle);
  free(all->centred);
  free(all->norm);
  *all = (oat_near_all){0};
}

/* Products, then the centred queries and their norms. */
size_t oat_near_all_work(size_t d) { return OAT_NEAR_QUERIES * (POINTS + d + 1); }

/* The first group of sums, from `at` on, that are not all larger than `most`. The numbers after the last whole group
 * also form a group. */
OAT_CLONES
static size_t next_group(size_t n, const double *product, const double *norm, double most, size_t at) {
  for (; at + GROUP <= n; at += GROUP) {
    double least = HUGE_VAL;
#pragma omp simd reduction(min : least)
    for (size_t c = 0; c < GROUP; c++) {
      const double sum = product[at + c] + norm[at + c];
      least = sum < least ? sum : least;
    }
    if (least <= most) {
      return at;
    }
  }
  return at;
}

static double distance_of(size_t d, const double *x, const double *z) {
  double s = 0;
  for (size_t j = 0; j < d; j++) {
    const double t = z[j] - x[j];
    s += t * t;
  }
  return s;
}

/* The largest value of -2 x . z + |z|^2 for a z that is near enough. */
static double most_of(const oat_near_all *all, double norm, double distance) {
  return distance * (1 + slack_of(all->d)) + TINY - norm;
}

/* A query with its norm and the m nearest so far; some points with their products. */
typedef struct seeker {
  const oat_near_query *q;
  double norm;
  size_t m;
  oat_near_found *heap;
} seeker;

typedef struct tile {
  size_t first, count;
  const double *product;
} tile;

static void look(const oat_near_all *all, const seeker *s, tile t) {
  const double *norm = all->norm + t.first, *product = t.product;
  double most = most_of(all, s->norm, s->heap[0].distance);
  size_t at = next_group(t.count, product, norm, most, 0);
  for (; at < t.count; at = next_group(t.count, product, norm, most, at + GROUP)) {
    for (size_t c = at; c < at + GROUP && c < t.count; c++) {
      if (product[c] + norm[c] <= most) {
        const size_t number = t.first + c;
        oat_near_offer(s->q, s->m, s->heap, distance_of(all->d, s->q->x, all->rows + number * all->d),
                       (uint32_t)number);
        most = most_of(all, s->norm, s->heap[0].distance);
      }
    }
  }
}

void oat_near_all_search(const oat_near_all *all, const oat_near_query *q, size_t count, size_t m,
                         oat_near_found *heaps, double *work) {
  const size_t d = all->d;
  double *product = work, *centred = product + OAT_NEAR_QUERIES * POINTS, *norm = centred + OAT_NEAR_QUERIES * d;
  size_t limit = 0;
  for (size_t i = 0; i < count; i++) {
    norm[i] = centre(all, q[i].x, centred + i * d);
    limit = q[i].limit > limit ? q[i].limit : limit;
  }
  for (size_t first = 0; first < limit; first += POINTS) {
    const size_t points = limit - first < POINTS ? limit - first : POINTS;
    oat_gemm(-2, (oat_const_view){all->centred + first * d, d, points, d}, OAT_TRANSPOSED,
             (oat_const_view){centred, d, count, d}, OAT_PLAIN, 0, (oat_view){product, points, count, POINTS});
    for (size_t i = 0; i < count; i++) {
      const size_t left = q[i].limit > first ? q[i].limit - first : 0;
      look(all, &(seeker){&q[i], norm[i], m, heaps + i * m},
           (tile){first, left < points ? left : points, product + i * POINTS});
    }
  }
}
