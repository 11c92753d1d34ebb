/* See draw.h. */
#include "draw.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* ---- numbers --------------------------------------------------------------------------------------------------- */

enum { SHIFT = 397, WARM_UP = 50, PIECE = 16 };
#define UPPER 0x80000000u
#define TWIST 0x9908b0dfu

static uint32_t scramble(uint32_t seed) { return 69069u * seed + 1u; }

void draw_seed(draw *d, uint32_t seed) {
  for (int i = 0; i < WARM_UP + 1; i++) { /* one more: R keeps its first number for the position in the state */
    seed = scramble(seed);
  }
  for (size_t i = 0; i < DRAW_WORDS; i++) {
    seed = scramble(seed);
    d->word[i] = seed;
  }
  d->next = DRAW_WORDS;
}

static void refill(draw *d) {
  for (size_t i = 0; i < DRAW_WORDS; i++) {
    const uint32_t y = (d->word[i] & UPPER) | (d->word[(i + 1) % DRAW_WORDS] & ~UPPER);
    d->word[i] = d->word[(i + SHIFT) % DRAW_WORDS] ^ (y >> 1) ^ ((y & 1u) != 0 ? TWIST : 0u);
  }
  d->next = 0;
}

double draw_uniform(draw *d) {
  if (d->next >= DRAW_WORDS) {
    refill(d);
  }
  uint32_t y = d->word[d->next++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  y ^= y >> 18;
  const double half = 0.5 * 2.328306437080797e-10;
  return fmin(fmax(y * 2.3283064365386963e-10, half), 1 - half);
}

double draw_normal(draw *d) {
  const double big = 134217728; /* 2^27: two uniform numbers make one of enough digits */
  const double high = floor(big * draw_uniform(d));
  return oatgp_normal_quantile((high + draw_uniform(d)) / big);
}

/* A whole number below `bound`: as many bits as it needs, again until they are below. */
static size_t draw_below(draw *d, size_t bound) {
  const int bits = (int)ceil(log2((double)bound));
  size_t value = bound;
  while (value >= bound) {
    value = 0;
    for (int n = 0; n <= bits; n += PIECE) {
      value = (value << PIECE) + (size_t)floor(draw_uniform(d) * (1 << PIECE));
    }
    value &= ((size_t)1 << bits) - 1;
  }
  return value;
}

void draw_sample(draw *d, size_t bound, size_t count, size_t *room) {
  for (size_t i = 0; i < bound; i++) {
    room[i] = i;
  }
  /* R takes an element and puts the last one into its place. The taken ones are collected behind the shrinking rest,
   * and reversed. */
  for (size_t i = 0; i < count; i++) {
    const size_t last = bound - 1 - i, j = draw_below(d, bound - i), taken = room[j];
    room[j] = room[last];
    room[last] = taken;
  }
  for (size_t i = 0; i < bound / 2; i++) {
    const size_t swap = room[i];
    room[i] = room[bound - 1 - i];
    room[bound - 1 - i] = swap;
  }
}

/* ---- k-means --------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 10, STEPS_PER_POINT = 50 }; /* R's limits */

/* A point is in cluster `own`, `other` is the next best. Counts are doubles as they are only calculated with. A cluster
 * is live for a point of the transfer stage if it has changed in the last n steps; `changed` is the step of its last
 * change. */
typedef struct kmeans {
  points x;
  size_t k;
  double *centres, *count, *leave, *enter; /* leave: factor n/(n-1) of the distance; enter: n/(n+1) */
  size_t *own, *other;
  double *loss; /* the saving if a point leaves */
  long *changed, *live;
  bool *swapped;
  long idle; /* points since the last transfer */
} kmeans;

static double distance(const kmeans *m, size_t i, size_t l) {
  double sum = 0;
  for (size_t j = 0; j < m->x.p; j++) {
    const double e = m->x.x[i * m->x.p + j] - m->centres[l * m->x.p + j];
    sum += e * e;
  }
  return sum;
}

static void set_factors(kmeans *m, size_t l) {
  m->enter[l] = m->count[l] / (m->count[l] + 1);
  m->leave[l] = m->count[l] > 1 ? m->count[l] / (m->count[l] - 1) : 1e30;
}

static void set_centres(kmeans *m) {
  memset(m->centres, 0, m->k * m->x.p * sizeof *m->centres);
  memset(m->count, 0, m->k * sizeof *m->count);
  for (size_t i = 0; i < m->x.n; i++) {
    m->count[m->own[i]]++;
    for (size_t j = 0; j < m->x.p; j++) {
      m->centres[m->own[i] * m->x.p + j] += m->x.x[i * m->x.p + j];
    }
  }
  for (size_t l = 0; l < m->k; l++) {
    for (size_t j = 0; j < m->x.p; j++) {
      m->centres[l * m->x.p + j] /= m->count[l];
    }
  }
}

static void find_two_nearest(kmeans *m, size_t i) {
  double best[2] = {INFINITY, INFINITY};
  for (size_t l = 0; l < m->k; l++) {
    const double e = distance(m, i, l);
    if (e < best[0]) {
      best[1] = best[0];
      m->other[i] = m->own[i];
      best[0] = e;
      m->own[i] = l;
    } else if (e < best[1]) {
      best[1] = e;
      m->other[i] = l;
    }
  }
}

static void move(kmeans *m, size_t i, size_t to) {
  const size_t from = m->own[i];
  for (size_t j = 0; j < m->x.p; j++) {
    double *a = m->centres + from * m->x.p + j, *b = m->centres + to * m->x.p + j;
    const double value = m->x.x[i * m->x.p + j];
    *a = (*a * m->count[from] - value) / (m->count[from] - 1);
    *b = (*b * m->count[to] + value) / (m->count[to] + 1);
  }
  m->count[from]--;
  m->count[to]++;
  set_factors(m, from);
  set_factors(m, to);
  m->own[i] = to;
  m->other[i] = from;
  m->idle = 0;
}

/* The best cluster for a point to move to, by the cost of entering it. */
static size_t best_other(const kmeans *m, size_t i, double *cost) {
  const size_t own = m->own[i], known = m->other[i];
  const long step = (long)i + 1;
  size_t best = known;
  *cost = distance(m, i, known) * m->enter[known];
  for (size_t l = 0; l < m->k; l++) {
    if ((step >= m->live[own] && step >= m->live[l]) || l == own || l == known) {
      continue;
    }
    const double e = distance(m, i, l);
    if (e < *cost / m->enter[l]) {
      *cost = e * m->enter[l];
      best = l;
    }
  }
  return best;
}

static void transfer_point(kmeans *m, size_t i) {
  const size_t own = m->own[i];
  if (m->count[own] <= 1) {
    return;
  }
  if (m->changed[own] != 0) {
    m->loss[i] = distance(m, i, own) * m->leave[own];
  }
  double cost = 0;
  const size_t best = best_other(m, i, &cost);
  if (cost >= m->loss[i]) {
    m->other[i] = best;
    return;
  }
  const long step = (long)i + 1;
  m->live[own] = m->live[best] = (long)m->x.n + step;
  m->changed[own] = m->changed[best] = step;
  move(m, i, best);
}

/* Every point goes to the cluster that lowers the sum of squares most. False when nothing has moved for n points. */
static bool transfer_stage(kmeans *m) {
  const long n = (long)m->x.n;
  for (size_t l = 0; l < m->k; l++) {
    if (m->swapped[l]) {
      m->live[l] = n + 1;
    }
  }
  for (size_t i = 0; i < m->x.n; i++) {
    m->idle++;
    transfer_point(m, i);
    if (m->idle == n) {
      return false;
    }
  }
  for (size_t l = 0; l < m->k; l++) {
    m->swapped[l] = false;
    m->live[l] -= n;
  }
  return true;
}

/* Between a point's two best clusters only. */
static bool swap_point(kmeans *m, size_t i, long step) {
  const size_t own = m->own[i], other = m->other[i];
  if (m->count[own] <= 1) {
    return false;
  }
  if (step <= m->changed[own]) {
    m->loss[i] = distance(m, i, own) * m->leave[own];
  }
  if ((step >= m->changed[own] && step >= m->changed[other]) || distance(m, i, other) >= m->loss[i] / m->enter[other]) {
    return false;
  }
  m->swapped[own] = m->swapped[other] = true;
  m->changed[own] = m->changed[other] = step + (long)m->x.n;
  move(m, i, other);
  return true;
}

static void swap_stage(kmeans *m) {
  const long n = (long)m->x.n;
  long quiet = 0;
  for (long step = 1; quiet < n && step <= STEPS_PER_POINT * n; step++) {
    quiet = swap_point(m, (size_t)((step - 1) % n), step) ? 0 : quiet + 1;
  }
  for (size_t l = 0; l < m->k; l++) {
    m->changed[l] = 0;
  }
}

static void run_kmeans(kmeans *m) {
  for (size_t i = 0; i < m->x.n; i++) {
    find_two_nearest(m, i);
  }
  set_centres(m);
  for (size_t l = 0; l < m->k; l++) {
    set_factors(m, l);
    m->changed[l] = -1;
    m->swapped[l] = true;
  }
  for (int round = 0; round < ROUNDS && transfer_stage(m); round++) {
    swap_stage(m);
  }
  set_centres(m);
}

static bool same_point(points x, size_t a, size_t b) {
  return memcmp(x.x + a * x.p, x.x + b * x.p, x.p * sizeof *x.x) == 0;
}

/* Row numbers without those that repeat an earlier row; returns how many there are. */
static size_t distinct_rows(points x, size_t *rows) {
  size_t count = 0;
  for (size_t i = 0; i < x.n; i++) {
    bool seen = false;
    for (size_t j = 0; j < count && !seen; j++) {
      seen = same_point(x, i, rows[j]);
    }
    if (!seen) {
      rows[count++] = i;
    }
  }
  return count;
}

static void copy_rows(points x, size_t count, const size_t *rows, double *out) {
  for (size_t l = 0; l < count; l++) {
    memcpy(out + l * x.p, x.x + rows[l] * x.p, x.p * sizeof *out);
  }
}

/* The starting centres: random rows; if two of them are the same point, random ones among the distinct rows. */
static oatgp_status first_centres(oatgp_context *ctx, draw *d, const kmeans *m) {
  size_t *rows = NULL, *distinct = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, m->x.n, sizeof *rows, &rows));
  TRY(oat_new(ctx, m->x.n, sizeof *distinct, &distinct));
  draw_sample(d, m->x.n, m->k, rows);
  copy_rows(m->x, m->k, rows, m->centres);
  if (distinct_rows((points){m->k, m->x.p, m->centres}, distinct) < m->k) {
    draw_sample(d, distinct_rows(m->x, distinct), m->k, rows);
    for (size_t l = 0; l < m->k; l++) {
      rows[l] = distinct[rows[l]];
    }
    copy_rows(m->x, m->k, rows, m->centres);
  }
done:
  free(rows);
  free(distinct);
  return status;
}

oatgp_status draw_kmeans(oatgp_context *ctx, draw *d, points x, size_t k, double *centres) {
  kmeans m = {.x = x, .k = k, .centres = centres};
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 3 * k + x.n, sizeof *m.count, &m.count));
  m.leave = m.count + k;
  m.enter = m.leave + k;
  m.loss = m.enter + k;
  TRY(oat_new(ctx, 2 * x.n, sizeof *m.own, &m.own));
  m.other = m.own + x.n;
  TRY(oat_new(ctx, 2 * k, sizeof *m.changed, &m.changed));
  m.live = m.changed + k;
  TRY(oat_new(ctx, k, sizeof *m.swapped, &m.swapped));
  TRY(first_centres(ctx, d, &m));
  run_kmeans(&m);
done:
  free(m.count);
  free(m.own);
  free(m.changed);
  free(m.swapped);
  return status;
}
