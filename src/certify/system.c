/* The linear system behind the exact evidence, without its matrix. */
#include "rows/layout.h"
#include "certify/system.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/memory.h"
#include "util/threads.h"

enum { BLOCK = OAT_SYSTEM_BLOCK, MOST_LANES = 16, PROBED = 2 }; /* PROBED: tiles of each lane that are timed */

/* ---- making and freeing -------------------------------------------------------------------------------------------- */

void oat_system_close(oat_system *s) {
  for (size_t i = 0; s->lane != NULL && i < s->lanes; i++) {
    free(s->lane[i].tile);
    free(s->lane[i].work);
    free(s->lane[i].y);
    free(s->lane[i].t);
  }
  free(s->lane);
  free(s->w);
  free(s->v);
  free(s->t);
  free(s->room);
}

int oat_system_threads(const oat_system *s) {
  const int threads = oat_lane_threads(s->config.threads);
  return (size_t)threads < s->lanes ? threads : (int)s->lanes;
}

oat_points oat_system_part(const oat_system *s, size_t block) {
  const size_t first = block * BLOCK, left = s->config.rows->n - first;
  return (oat_points){s->config.rows->x + first, left < BLOCK ? left : BLOCK, s->config.rows->n};
}

static oatgp_status make_lane(oatgp_context *ctx, const oat_system *s, oat_system_lane *lane) {
  const size_t n = s->config.rows->n, d = s->config.rows->d;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, BLOCK, s->width, &lane->tile));
  TRY(oat_new_matrix(ctx, oat_kernel_work(BLOCK, s->width, d), 1, &lane->work));
  TRY(oat_new_matrix(ctx, n, 1, &lane->y));
  TRY(oat_new_matrix(ctx, s->config.sparse.k, 1, &lane->t));
done:
  return status;
}

/* V of a block, rows x k, into `to`. */
static void make_v(const oat_system *s, const oat_system_lane *lane, size_t block, double *to) {
  const oat_sparse *sparse = &s->config.sparse;
  const oat_points x = oat_system_part(s, block), z = {sparse->z, sparse->k, sparse->ldz};
  oat_kernel_cross(&sparse->cov, x, z, to, x.n, lane->work);
  oat_triangle_solve(&s->kuu, OAT_TRANSPOSED, (oat_view){to, x.n, sparse->k, x.n});
}

static void keep_v(oat_system *s) {
#pragma omp parallel for num_threads(oat_system_threads(s)) schedule(static, 1)
  for (size_t i = 0; i < s->lanes; i++) {
    for (size_t block = i; block < s->blocks; block += s->lanes) {
      make_v(s, &s->lane[i], block, s->v + block * BLOCK * s->config.sparse.k);
    }
  }
}

oatgp_status oat_system_open(oatgp_context *ctx, const oat_system_config *config, oat_system *s) {
  const size_t n = config->rows->n, k = config->sparse.k, blocks = (n + BLOCK - 1) / BLOCK;
  oatgp_status status = OATGP_OK;
  *s = (oat_system){.config = *config, .ctx = ctx, .blocks = blocks, .tiles = blocks * (blocks + 1) / 2, .width = k > BLOCK ? k : BLOCK};
  s->lanes = s->tiles < MOST_LANES ? s->tiles : MOST_LANES;
  TRY(oat_new(ctx, s->lanes, sizeof *s->lane, &s->lane));
  for (size_t i = 0; i < s->lanes; i++) {
    TRY(make_lane(ctx, s, &s->lane[i]));
  }
  TRY(oat_new_matrix(ctx, n, 1, &s->w));
  TRY(oat_new_matrix(ctx, k, 1, &s->t));
  TRY(oat_new_matrix(ctx, oat_triangle_room(k), 1, &s->room));
  for (size_t i = 0; i < n; i++) {
    s->w[i] = 1 / oat_noise_variance(config->rows, config->sparse.tau, i);
  }
  s->kuu = oat_triangle_make(config->sparse.l, k, s->room);
  if ((double)n * (double)k * sizeof(double) <= (double)config->memory) {
    TRY(oat_new_matrix(ctx, n, k, &s->v));
    keep_v(s);
  }
done:
  return status;
}

/* ---- C p ------------------------------------------------------------------------------------------------------------ */

/* Tile t of the upper half, row of blocks by row of blocks. */
static void find_tile(const oat_system *s, size_t t, size_t *i, size_t *j) {
  *i = 0;
  while (t >= s->blocks - *i) {
    t -= s->blocks - *i;
    (*i)++;
  }
  *j = *i + t;
}

/* K is symmetric: a tile above the diagonal serves twice. */
static void add_tile(const oat_system *s, const oat_system_lane *lane, size_t t, const double *p) {
  size_t i, j;
  find_tile(s, t, &i, &j);
  const oat_points a = oat_system_part(s, i), b = oat_system_part(s, j);
  const oat_const_view k = {lane->tile, a.n, b.n, a.n};
  oat_kernel_cross(&s->config.sparse.cov, a, b, lane->tile, a.n, lane->work);
  oat_gemv(1, k, OAT_PLAIN, p + j * BLOCK, 1, lane->y + i * BLOCK);
  if (i != j) {
    oat_gemv(1, k, OAT_TRANSPOSED, p + i * BLOCK, 1, lane->y + j * BLOCK);
  }
}

void oat_system_begin(oat_system *s, const char *what, size_t tiles) {
  s->what = what;
  s->done = 0;
  s->total = tiles;
  s->given_up = false;
}

/* Progress is in rows for those who listen. */
bool oat_system_goes_on(oat_system *s) {
  size_t done;
  bool given_up;
#pragma omp atomic capture
  done = ++s->done;
  if (oat_in_first_thread()) {
    oat_tell_progress(s->ctx, s->what, (size_t)((double)s->config.rows->n * (double)done / (double)s->total), s->config.rows->n);
    if (!s->config.ask(s->config.self)) {
#pragma omp atomic write
      s->given_up = true;
    }
  }
#pragma omp atomic read
  given_up = s->given_up;
  return !given_up;
}

/* The lane's tiles among the first `count` ones. */
static void multiply_lane(oat_system *s, size_t index, size_t count, const double *p) {
  const oat_system_lane *lane = &s->lane[index];
  memset(lane->y, 0, s->config.rows->n * sizeof *lane->y);
  for (size_t t = index; t < count; t += s->lanes) {
    add_tile(s, lane, t, p);
    if (!oat_system_goes_on(s)) {
      return;
    }
  }
}

static void multiply(oat_system *s, size_t count, const double *p) {
  oat_system_begin(s, "product", count);
#pragma omp parallel for num_threads(oat_system_threads(s)) schedule(static, 1)
  for (size_t i = 0; i < s->lanes; i++) {
    multiply_lane(s, i, count, p);
  }
}

bool oat_system_product(oat_system *s, const double *p, double *y) {
  multiply(s, s->tiles, p);
  for (size_t i = 0; i < s->config.rows->n; i++) {
    double sum = p[i] / s->w[i];
    for (size_t l = 0; l < s->lanes; l++) {
      sum += s->lane[l].y[i];
    }
    y[i] = sum;
  }
  return !s->given_up;
}

double oat_system_cost(oat_system *s) {
  const size_t count = s->tiles < PROBED * s->lanes ? s->tiles : PROBED * s->lanes;
  multiply(s, s->lanes, s->w); /* touches all memory for the first time */
  const double began = oat_seconds();
  multiply(s, count, s->w);
  return (oat_seconds() - began) * (double)s->tiles / (double)count;
}

/* ---- P^-1 u --------------------------------------------------------------------------------------------------------- */

oat_const_view oat_system_v(const oat_system *s, const oat_system_lane *lane, size_t block) {
  const size_t k = s->config.sparse.k, rows = oat_system_part(s, block).n;
  if (s->v != NULL) {
    return (oat_const_view){s->v + block * BLOCK * k, rows, k, rows};
  }
  make_v(s, lane, block, lane->tile);
  return (oat_const_view){lane->tile, rows, k, rows};
}

/* t += V D^-1 u over the lane's blocks; D^-1 u goes to z. */
static void gather(const oat_system *s, size_t index, const double *u, double *z) {
  const oat_system_lane *lane = &s->lane[index];
  memset(lane->t, 0, s->config.sparse.k * sizeof *lane->t);
  for (size_t block = index; block < s->blocks; block += s->lanes) {
    const oat_const_view v = oat_system_v(s, lane, block);
    for (size_t i = block * BLOCK; i < block * BLOCK + v.rows; i++) {
      z[i] = s->w[i] * u[i];
    }
    oat_gemv(1, v, OAT_TRANSPOSED, z + block * BLOCK, 1, lane->t);
  }
}

/* z = D^-1 (u - V^T t) over the lane's blocks. */
static void scatter(const oat_system *s, size_t index, const double *u, double *z) {
  const oat_system_lane *lane = &s->lane[index];
  for (size_t block = index; block < s->blocks; block += s->lanes) {
    const oat_const_view v = oat_system_v(s, lane, block);
    const size_t first = block * BLOCK;
    memcpy(z + first, u + first, v.rows * sizeof *z);
    oat_gemv(-1, v, OAT_PLAIN, s->t, 1, z + first);
    for (size_t i = first; i < first + v.rows; i++) {
      z[i] *= s->w[i];
    }
  }
}

/* D^-1 u - D^-1 V^T B^-1 V D^-1 u */
void oat_system_solve_sparse(oat_system *s, const double *u, double *z) {
  const size_t k = s->config.sparse.k;
  const oat_view t = {s->t, k, 1, k};
#pragma omp parallel for num_threads(oat_system_threads(s)) schedule(static, 1)
  for (size_t i = 0; i < s->lanes; i++) {
    gather(s, i, u, z);
  }
  memset(s->t, 0, k * sizeof *s->t);
  for (size_t l = 0; l < s->lanes; l++) {
    for (size_t i = 0; i < k; i++) {
      s->t[i] += s->lane[l].t[i];
    }
  }
  oat_solve_left(s->config.lb, k, OAT_PLAIN, t);
  oat_solve_left(s->config.lb, k, OAT_TRANSPOSED, t);
#pragma omp parallel for num_threads(oat_system_threads(s)) schedule(static, 1)
  for (size_t i = 0; i < s->lanes; i++) {
    scatter(s, i, u, z);
  }
}
