/* Devices: rows that are chosen. */
#include "device_suite.h"
#include "util/threads.h"

/* ---- chosen rows ----------------------------------------------------------------------------------------------- */

enum { PIVOTS = 25, BEFORE = 30 }; /* BEFORE: candidates that are looked at first */

/* The row, as a share of all; its remaining variance; its position. */
static oatgp_status compute_pivots(world *w, oat_device *device, result *out) {
  oat_pivots *pivots = NULL;
  oatgp_status status = OATGP_OK;
  TRY(device->table->pivots_begin(device, &w->sparse.cov, PIVOTS, &pivots));
  for (size_t c = 0; c < PIVOTS; c++) {
    oat_pivot pivot;
    TRY(device->table->pivots_next(pivots, &pivot));
    put_one(out, (real)pivot.row / ROWS);
    put_one(out, pivot.left);
    put(out, INPUTS, pivot.inputs);
  }
done:
  device->table->pivots_end(pivots);
  return status;
}

static void state_pivots(world *w, result *out) {
  const oat_points x = {w->p.x, ROWS, ROWS};
  real *k = dense_cross(&w->sparse.cov, x, x); /* given the pivots */
  for (size_t c = 0; c < PIVOTS; c++) {
    size_t pivot = 0;
    for (size_t i = 1; i < ROWS; i++) {
      pivot = k[i * (ROWS + 1)] > k[pivot * (ROWS + 1)] ? i : pivot;
    }
    const real left = k[pivot * (ROWS + 1)];
    put_one(out, (real)pivot / ROWS);
    put_one(out, left);
    for (size_t j = 0; j < INPUTS; j++) {
      put_one(out, w->p.x[pivot + j * ROWS]);
    }
    real *column = dense_new(ROWS, 1);
    memcpy(column, k + pivot * ROWS, ROWS * sizeof *column);
    for (size_t i = 0; i < ROWS * ROWS; i++) {
      k[i] -= column[i % ROWS] * column[i / ROWS] / left;
    }
    free(column);
  }
  free(k);
}

static void put_nearest(result *out, const oat_nearest *nearest) {
  put(out, ROWS, nearest->distance);
  for (size_t i = 0; i < ROWS; i++) {
    put_one(out, (real)nearest->which[i]);
  }
  put_one(out, nearest->total);
}

/* Some points and the means of their rows; the others besides them; then all again, which changes nothing. */
static oatgp_status compute_nearest(world *w, oat_device *device, result *out) {
  double distance[ROWS], size[BEFORE], mean[BEFORE * INPUTS];
  size_t which[ROWS] = {0};
  oat_nearest nearest = {.points = {w->candidates, BEFORE, CANDIDATES}, .distance = distance, .which = which};
  oatgp_status status = OATGP_OK;
  TRY(device->table->nearest(device, &nearest));
  put_nearest(out, &nearest);
  TRY(device->table->centres(device, which, BEFORE, size, mean));
  put(out, BEFORE, size);
  put(out, LENGTH(mean), mean);
  nearest.points = (oat_points){w->candidates + BEFORE, CANDIDATES - BEFORE, CANDIDATES};
  nearest.before = BEFORE;
  TRY(device->table->nearest(device, &nearest));
  put_nearest(out, &nearest);
  put_one(out, nearest.changed);
  nearest.points = (oat_points){w->candidates, CANDIDATES, CANDIDATES};
  nearest.before = 0;
  TRY(device->table->nearest(device, &nearest));
  put_one(out, nearest.changed);
done:
  return status;
}

static real distance_of(const world *w, size_t row, size_t candidate) {
  real sum = 0;
  for (size_t j = 0; j < INPUTS; j++) {
    const real t = (real)w->p.x[row + j * ROWS] - w->candidates[candidate + j * CANDIDATES];
    sum += t * t;
  }
  return sum;
}

static size_t nearest_of(const world *w, size_t row, size_t count) {
  size_t nearest = 0;
  for (size_t c = 1; c < count; c++) {
    nearest = distance_of(w, row, c) < distance_of(w, row, nearest) ? c : nearest;
  }
  return nearest;
}

static void state_rows_of(const world *w, size_t count, result *out) {
  real total = 0;
  for (size_t i = 0; i < ROWS; i++) {
    put_one(out, distance_of(w, i, nearest_of(w, i, count)));
    total += distance_of(w, i, nearest_of(w, i, count));
  }
  for (size_t i = 0; i < ROWS; i++) {
    put_one(out, (real)nearest_of(w, i, count));
  }
  put_one(out, total);
}

static void state_centres(const world *w, result *out) {
  real all[BEFORE * (1 + INPUTS)] = {0}; /* sizes, then means */
  for (size_t i = 0; i < ROWS; i++) {
    all[nearest_of(w, i, BEFORE)]++;
  }
  for (size_t i = 0; i < ROWS * INPUTS; i++) {
    const size_t c = nearest_of(w, i % ROWS, BEFORE);
    all[c + (1 + i / ROWS) * BEFORE] += w->p.x[i] / all[c];
  }
  for (size_t i = 0; i < LENGTH(all); i++) {
    put_one(out, all[i]);
  }
}

static void state_nearest(world *w, result *out) {
  state_rows_of(w, BEFORE, out);
  state_centres(w, out);
  state_rows_of(w, CANDIDATES, out);
  put_one(out, true);
  put_one(out, false);
}

static operation operations[] = {
    {"pivots", compute_pivots, state_pivots, .any_alpha = true},
    {"nearest", compute_nearest, state_nearest, .any_alpha = true},
};

int main(void) {
  oat_threads_always();
  return run_operations(LENGTH(operations), operations, 0, NULL);
}
