/* Rows in memory. */
#include "rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "rows/layout.h"
#include "util/memory.h"

size_t oat_rows_total(const oat_rows *rows) { return rows->before + rows->n + rows->after; }

size_t oat_rows_inputs(const oat_rows *rows) { return rows->d; }

size_t oat_rows_basis(const oat_rows *rows) { return rows->p; }

bool oat_rows_known_noise(const oat_rows *rows) { return rows->noise_add != NULL; }

bool oat_rows_plain_noise(const oat_rows *rows) { return rows->noise_scale == NULL && rows->noise_add == NULL; }

/* ---- making -------------------------------------------------------------------------------------------------------------- */

void oat_rows_free(oat_rows *rows) {
  if (rows != NULL) {
    free(rows->owned);
    free(rows);
  }
}

oatgp_status oat_rows_allocate(oatgp_context *ctx, const oat_rows *shape, oat_rows **out) {
  const size_t columns = shape->d + (shape->r != NULL ? 1 + shape->p : 0) + (shape->noise_scale != NULL) + (shape->noise_add != NULL);
  oat_rows *rows = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 1, sizeof *rows, &rows));
  TRY(oat_new_matrix(ctx, shape->n, columns, &rows->owned));
  rows->n = shape->n;
  rows->d = shape->d;
  rows->p = shape->p;
  const double *next = rows->owned;
  rows->x = next;
  next += rows->n * rows->d;
  rows->r = shape->r != NULL ? next : NULL;
  next += shape->r != NULL ? rows->n * (1 + rows->p) : 0;
  rows->noise_scale = shape->noise_scale != NULL ? next : NULL;
  next += shape->noise_scale != NULL ? rows->n : 0;
  rows->noise_add = shape->noise_add != NULL ? next : NULL;
  *out = rows;
  return OATGP_OK;
done:
  oat_rows_free(rows);
  return status;
}

oatgp_status oat_rows_from_points(oatgp_context *ctx, oat_points points, size_t d, oat_rows **out) {
  const oatgp_status status = oat_new(ctx, 1, sizeof **out, out);
  if (status == OATGP_OK) {
    **out = (oat_rows){.n = points.n, .d = d, .x = points.a};
  }
  return status;
}

static void gather(const oat_rows *from, const size_t *index, size_t count, const double *values, size_t columns, double *to) {
  for (size_t j = 0; values != NULL && j < columns; j++) {
    for (size_t i = 0; i < count; i++) {
      to[i + j * count] = values[index[i] + j * from->n];
    }
  }
}

oatgp_status oat_rows_take(oatgp_context *ctx, const oat_rows *rows, size_t count, const size_t *index, oat_rows **out) {
  oat_rows shape = *rows;
  shape.n = count;
  const oatgp_status status = oat_rows_allocate(ctx, &shape, out);
  if (status == OATGP_OK) {
    gather(rows, index, count, rows->x, rows->d, oat_writable(*out, (*out)->x));
    gather(rows, index, count, rows->r, 1 + rows->p, oat_writable(*out, (*out)->r));
    gather(rows, index, count, rows->noise_scale, 1, oat_writable(*out, (*out)->noise_scale));
    gather(rows, index, count, rows->noise_add, 1, oat_writable(*out, (*out)->noise_add));
  }
  return status;
}

oatgp_status oat_rows_sample(oatgp_context *ctx, const oat_rows *rows, size_t count, oat_rng *rng, oat_rows **out) {
  size_t *index = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, count, sizeof *index, &index));
  if (count < rows->n) {
    oat_rng_sample(rng, rows->n, count, index);
  } else {
    for (size_t i = 0; i < count; i++) {
      index[i] = i;
    }
  }
  TRY(oat_rows_take(ctx, rows, count, index, out));
done:
  free(index);
  return status;
}

/* r_i - h_i . coefficient */
static void take_mean_off(const oat_rows *rows, const double *coefficient, double *r) {
  for (size_t i = 0; i < rows->n; i++) {
    r[i] = rows->r[i];
    for (size_t j = 0; j < rows->p; j++) {
      r[i] -= coefficient[j] * rows->r[i + (1 + j) * rows->n];
    }
  }
}

oatgp_status oat_rows_less_mean(oatgp_context *ctx, const oat_rows *rows, const double *coefficient, oat_rows **out) {
  oat_rows *less = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 1, sizeof *less, &less));
  TRY(oat_new_matrix(ctx, rows->n, 1, &less->owned));
  double *owned = less->owned;
  take_mean_off(rows, coefficient, owned);
  *less = *rows;
  less->p = 0;
  less->r = less->owned = owned;
  *out = less;
  return OATGP_OK;
done:
  oat_rows_free(less);
  return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

void oat_rows_copy(const oat_rows *rows, const double *coefficient, double tau, double *x, double *r, double *noise) {
  const oat_row_block all = oat_rows_block(rows, rows->n, 0);
  memcpy(x, rows->x, rows->n * rows->d * sizeof *x);
  take_mean_off(rows, coefficient, r);
  for (size_t i = 0; i < rows->n; i++) {
    noise[i] = oat_block_noise(&all, tau, i);
  }
}

void oat_rows_inputs_of(const oat_rows *rows, size_t count, const size_t *index, double *x) {
  gather(rows, index, count, rows->x, rows->d, x);
}

void oat_rows_plane(const oat_rows *rows, double constant, const double *slope, const double *middle, double *out) {
  for (size_t i = 0; i < rows->n; i++) {
    out[i] = constant;
  }
  for (size_t j = 0; slope != NULL && j < rows->d; j++) {
    const double *input = rows->x + j * rows->n;
    for (size_t i = 0; i < rows->n; i++) {
      out[i] += slope[j] * (input[i] - middle[j]);
    }
  }
}

void oat_rows_range(const oat_rows *rows, double *lowest, double *highest) {
  for (size_t i = 0; i < rows->n * rows->d; i++) {
    const size_t j = i / rows->n;
    lowest[j] = fmin(lowest[j], rows->x[i]);
    highest[j] = fmax(highest[j], rows->x[i]);
  }
}

double oat_rows_constant(const oat_rows *rows, double *tau) {
  const oat_row_block all = oat_rows_block(rows, rows->n, 0);
  double squares = 0, logarithms = 0;
  for (size_t i = 0; i < rows->n; i++) {
    const double scale = oat_block_noise_scale(&all, i);
    squares += rows->r[i] * rows->r[i] / scale;
    logarithms += log(scale);
  }
  const double n = (double)rows->n, variance = fmax(squares / n, 1e-300);
  if (tau != NULL) {
    *tau = sqrt(squares / n);
  }
  return -0.5 * (n * (log(OAT_TWO_PI * variance) + 1) + logarithms);
}
