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

/* Rows with these numbers, to be copied: columns of all rows, and where to. */
typedef struct gathering {
  const oat_rows *from;
  const size_t *index;
  const double *values;
  size_t columns;
  double *to;
} gathering;

/* The rows that are taken are themselves rows, which are filled block by block. */
static void gather_block(void *self, const oat_row_block *b) {
  const gathering *g = self;
  for (size_t j = 0; j < g->columns; j++) {
    const double *values = g->values + j * g->from->n;
    double *to = g->to + b->first + j * b->x.ld;
    for (size_t i = 0; i < b->n; i++) {
      to[i] = values[g->index[b->first + i]];
    }
  }
}

static void gather(const oat_rows *from, const size_t *index, size_t count, const double *values, size_t columns, double *to) {
  gathering g = {from, index, values, columns, to};
  const oat_rows taken = {.n = count, .d = columns, .x = to};
  if (values != NULL) {
    oat_rows_in_order(&taken, gather_block, &g);
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

typedef struct lessening {
  size_t p;
  const double *coefficient;
  double *r;
} lessening;

/* r_i - h_i . coefficient */
static void take_mean_off(void *self, const oat_row_block *b) {
  const lessening *l = self;
  double *r = l->r + b->first;
  for (size_t i = 0; i < b->n; i++) {
    r[i] = b->r[i];
    for (size_t j = 0; j < l->p; j++) {
      r[i] -= l->coefficient[j] * b->r[i + (1 + j) * b->ldr];
    }
  }
}

oatgp_status oat_rows_less_mean(oatgp_context *ctx, const oat_rows *rows, const double *coefficient, oat_rows **out) {
  oat_rows *less = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 1, sizeof *less, &less));
  TRY(oat_new_matrix(ctx, rows->n, 1, &less->owned));
  double *owned = less->owned;
  lessening l = {rows->p, coefficient, owned};
  oat_rows_in_order(rows, take_mean_off, &l);
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

typedef struct copy {
  size_t d;
  double tau;
  double *x, *noise;
} copy;

static void copy_block(void *self, const oat_row_block *b) {
  const copy *c = self;
  for (size_t j = 0; j < c->d; j++) {
    memcpy(c->x + b->first + j * b->x.ld, b->x.a + j * b->x.ld, b->n * sizeof *c->x);
  }
  for (size_t i = 0; i < b->n; i++) {
    c->noise[b->first + i] = oat_block_noise(b, c->tau, i);
  }
}

void oat_rows_copy(const oat_rows *rows, const double *coefficient, double tau, double *x, double *r, double *noise) {
  lessening l = {rows->p, coefficient, r};
  copy c = {rows->d, tau, x, noise};
  oat_rows_in_order(rows, take_mean_off, &l);
  oat_rows_in_order(rows, copy_block, &c);
}

void oat_rows_inputs_of(const oat_rows *rows, size_t count, const size_t *index, double *x) {
  gather(rows, index, count, rows->x, rows->d, x);
}

typedef struct plane {
  size_t d;
  double constant;
  const double *slope, *middle;
  double *out;
} plane;

static void plane_block(void *self, const oat_row_block *b) {
  const plane *p = self;
  double *out = p->out + b->first;
  for (size_t i = 0; i < b->n; i++) {
    out[i] = p->constant;
  }
  for (size_t j = 0; p->slope != NULL && j < p->d; j++) {
    const double *input = b->x.a + j * b->x.ld;
    for (size_t i = 0; i < b->n; i++) {
      out[i] += p->slope[j] * (input[i] - p->middle[j]);
    }
  }
}

void oat_rows_plane(const oat_rows *rows, double constant, const double *slope, const double *middle, double *out) {
  plane p = {rows->d, constant, slope, middle, out};
  oat_rows_in_order(rows, plane_block, &p);
}

typedef struct range {
  size_t d;
  double *lowest, *highest;
} range;

static void widen(void *self, const oat_row_block *b) {
  const range *r = self;
  for (size_t j = 0; j < r->d; j++) {
    for (size_t i = 0; i < b->n; i++) {
      r->lowest[j] = fmin(r->lowest[j], b->x.a[i + j * b->x.ld]);
      r->highest[j] = fmax(r->highest[j], b->x.a[i + j * b->x.ld]);
    }
  }
}

void oat_rows_range(const oat_rows *rows, double *lowest, double *highest) {
  range r = {rows->d, lowest, highest};
  oat_rows_in_order(rows, widen, &r);
}

typedef struct about_constant {
  double squares, logarithms;
} about_constant;

static void add_about_constant(void *self, const oat_row_block *b) {
  about_constant *sum = self;
  for (size_t i = 0; i < b->n; i++) {
    const double scale = oat_block_noise_scale(b, i);
    sum->squares += b->r[i] * b->r[i] / scale;
    sum->logarithms += log(scale);
  }
}

double oat_rows_constant(const oat_rows *rows, double *tau) {
  about_constant sum = {0, 0};
  oat_rows_in_order(rows, add_about_constant, &sum);
  const double n = (double)oat_rows_total(rows), variance = fmax(sum.squares / n, 1e-300);
  if (tau != NULL) {
    *tau = sqrt(sum.squares / n);
  }
  return -0.5 * (n * (log(OAT_TWO_PI * variance) + 1) + sum.logarithms);
}
