/* Rows in memory. */
#include "rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "rows/layout.h"
#include "util/lanes.h"
#include "util/memory.h"
#include "util/ranks.h"

size_t oat_rows_total(const oat_rows *rows) { return rows->before + rows->n + rows->after; }

size_t oat_rows_inputs(const oat_rows *rows) { return rows->d; }

size_t oat_rows_basis(const oat_rows *rows) { return rows->p; }

/* Whether the rows get this column from a feed, together with their target. */
static bool is_fed(const oat_rows *rows, oat_other other) {
  return rows->feed != NULL && rows->feed->as.target != NULL && rows->answer == NULL &&
         oat_data_has(rows->feed->data, other);
}

bool oat_rows_known_noise(const oat_rows *rows) { return rows->noise_add != NULL || is_fed(rows, OAT_OTHER_NOISE); }

bool oat_rows_have_answers(const oat_rows *rows) { return rows->answer != NULL; }

bool oat_rows_plain_noise(const oat_rows *rows) {
  return rows->noise_scale == NULL && !oat_rows_known_noise(rows) && !is_fed(rows, OAT_OTHER_WEIGHT);
}

oatgp_status oat_rows_check(oatgp_context *ctx, const oat_rows *rows) {
  return rows->feed != NULL ? oat_data_check(ctx, rows->feed->data) : OATGP_OK;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

void oat_rows_free(oat_rows *rows) {
  if (rows != NULL) {
    free(rows->owned);
    if (!rows->feed_is_lent) {
      oat_feed_free(rows->feed);
    }
    free(rows);
  }
}

oatgp_status oat_rows_allocate(oatgp_context *ctx, const oat_rows *shape, oat_rows **out) {
  const size_t answers = shape->answer != NULL ? OAT_ANSWER_COLUMNS : 0;
  const size_t columns = shape->d + (shape->r != NULL ? 1 + shape->p : 0) + (shape->noise_scale != NULL) +
                         (shape->noise_add != NULL) + answers;
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
  next += shape->noise_add != NULL ? rows->n : 0;
  rows->answer = answers > 0 ? next : NULL;
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

static void gather(const oat_rows *from, const size_t *index, size_t count, const double *values, size_t columns,
                   double *to) {
  for (size_t j = 0; values != NULL && j < columns; j++) {
    for (size_t i = 0; i < count; i++) {
      to[i + j * count] = values[index[i] + j * from->n];
    }
  }
}

/* Copies one row of a feed. */
static void copy_row(const oat_row_block *b, const oat_rows *to, size_t i) {
  const struct {
    const double *from;
    size_t ld, columns;
    const double *to;
  } parts[] = {{b->x.a, b->x.ld, to->d, to->x},
               {b->r, b->ldr, 1 + to->p, to->r},
               {b->noise_scale, 1, 1, to->noise_scale},
               {b->noise_add, 1, 1, to->noise_add},
               {b->answer, b->ldr, OAT_ANSWER_COLUMNS, to->answer}};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    for (size_t j = 0; parts[k].to != NULL && j < parts[k].columns; j++) {
      oat_writable(to, parts[k].to)[i + j * to->n] = parts[k].from[j * parts[k].ld];
    }
  }
}

/* The same if they are read one by one from a feed. */
static oatgp_status take_fed(oatgp_context *ctx, const oat_rows *rows, size_t count, const size_t *index,
                             oat_rows **out) {
  const oat_row_block one = oat_rows_span(rows, (oat_span){0, 1}, oat_rows_in_order(rows));
  const oat_rows shape = {.n = count,
                          .d = rows->d,
                          .p = rows->p,
                          .r = one.r,
                          .noise_scale = one.noise_scale,
                          .noise_add = one.noise_add,
                          .answer = one.answer};
  PASS_ON(oat_rows_allocate(ctx, &shape, out));
  for (size_t i = 0; i < count; i++) {
    const oat_row_block b = oat_rows_span(rows, (oat_span){index[i], 1}, oat_rows_in_order(rows));
    copy_row(&b, *out, i);
  }
  return oat_rows_check(ctx, rows);
}

oatgp_status oat_rows_take(oatgp_context *ctx, const oat_rows *rows, size_t count, const size_t *index,
                           oat_rows **out) {
  if (rows->feed != NULL) {
    return take_fed(ctx, rows, count, index, out);
  }
  oat_rows shape = *rows;
  shape.n = count;
  const oatgp_status status = oat_rows_allocate(ctx, &shape, out);
  if (status == OATGP_OK) {
    gather(rows, index, count, rows->x, rows->d, oat_writable(*out, (*out)->x));
    gather(rows, index, count, rows->r, 1 + rows->p, oat_writable(*out, (*out)->r));
    gather(rows, index, count, rows->noise_scale, 1, oat_writable(*out, (*out)->noise_scale));
    gather(rows, index, count, rows->noise_add, 1, oat_writable(*out, (*out)->noise_add));
    gather(rows, index, count, rows->answer, OAT_ANSWER_COLUMNS, oat_writable(*out, (*out)->answer));
  }
  return status;
}

void oat_rows_choose(const oat_rows *rows, size_t count, oat_rng *rng, size_t *index) {
  if (count < rows->n) {
    oat_rng_sample(rng, rows->n, count, index);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    index[i] = i;
  }
}

oatgp_status oat_rows_sample(oatgp_context *ctx, const oat_rows *rows, size_t count, oat_rng *rng, oat_rows **out) {
  size_t *index = NULL;
  oatgp_status status;
  TRY(oat_new(ctx, count, sizeof *index, &index));
  oat_rows_choose(rows, count, rng, index);
  TRY(oat_rows_take(ctx, rows, count, index, out));
done:
  free(index);
  return status;
}

oatgp_status oat_rows_with_sites(oatgp_context *ctx, const oat_rows *rows, oat_rows **out) {
  const size_t n = rows->n, width = 1 + rows->p;
  double *owned = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new_matrix(ctx, n, width + 1 + OAT_SITE_COLUMNS, &owned));
  TRY(oat_new(ctx, 1, sizeof **out, out));
  memcpy(owned, rows->r, n * width * sizeof *owned);
  **out = *rows;
  (*out)->feed_is_lent = true;
  (*out)->r = (*out)->owned = owned;
  (*out)->noise_scale = owned + n * width;
  (*out)->site = owned + n * (width + 1);
  if (rows->noise_scale != NULL) {
    memcpy(owned + n * width, rows->noise_scale, n * sizeof *owned);
  }
  return OATGP_OK;
done:
  free(owned);
  return status;
}

/* r_i - h_i . coefficient */
static void take_mean_off(const oat_rows *rows, const double *coefficient, double *r) {
  OAT_IN_ORDER(rows, b) {
    for (size_t i = 0; i < b.n; i++) {
      r[b.first + i] = b.r[i];
      for (size_t j = 0; j < rows->p; j++) {
        r[b.first + i] -= coefficient[j] * b.r[i + (1 + j) * b.ldr];
      }
    }
  }
}

/* For rows of a feed, it is subtracted whenever they are read. */
static oatgp_status feed_less_mean(oatgp_context *ctx, const oat_rows *rows, const double *coefficient,
                                   oat_rows **out) {
  oat_feed *feed = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_feed_less(ctx, rows->feed, coefficient, &feed));
  TRY(oat_new(ctx, 1, sizeof **out, out));
  **out = *rows;
  (*out)->p = 0;
  (*out)->owned = NULL;
  (*out)->feed = feed;
  return OATGP_OK;
done:
  oat_feed_free(feed);
  return status;
}

oatgp_status oat_rows_less_mean(oatgp_context *ctx, const oat_rows *rows, const double *coefficient, oat_rows **out) {
  if (rows->feed != NULL) {
    return feed_less_mean(ctx, rows, coefficient, out);
  }
  const oat_rows residuals = {.n = rows->n, .r = rows->r};
  const oatgp_status status = oat_rows_allocate(ctx, &residuals, out);
  if (status == OATGP_OK) {
    double *owned = (*out)->owned;
    take_mean_off(rows, coefficient, owned);
    **out = *rows;
    (*out)->p = 0;
    (*out)->r = (*out)->owned = owned;
  }
  return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

void oat_rows_copy(const oat_rows *rows, const double *coefficient, double tau, double *x, double *r, double *noise) {
  take_mean_off(rows, coefficient, r);
  OAT_IN_ORDER(rows, b) {
    for (size_t j = 0; j < rows->d; j++) {
      memcpy(x + b.first + j * rows->n, b.x.a + j * b.x.ld, b.n * sizeof *x);
    }
    for (size_t i = 0; i < b.n; i++) {
      noise[b.first + i] = oat_block_noise(&b, tau, i);
    }
  }
}

void oat_rows_inputs_of(const oat_rows *rows, size_t count, const size_t *index, double *x) {
  if (rows->feed == NULL) {
    gather(rows, index, count, rows->x, rows->d, x);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const oat_row_block b = oat_rows_span(rows, (oat_span){index[i], 1}, oat_rows_in_order(rows));
    for (size_t j = 0; j < rows->d; j++) {
      x[i + j * count] = b.x.a[j * b.x.ld];
    }
  }
}

typedef struct plane {
  const oat_rows *rows;
  double constant;
  const double *slope, *middle;
  double *out;
} plane;

static void plane_chunk(void *self, size_t lane, size_t item) {
  const plane *p = self;
  const oat_row_block b = oat_rows_block(p->rows, OAT_CHUNK, item);
  double *out = p->out + b.first;
  (void)lane;
  for (size_t i = 0; i < b.n; i++) {
    out[i] = p->constant;
  }
  for (size_t j = 0; p->slope != NULL && j < p->rows->d; j++) {
    for (size_t i = 0; i < b.n; i++) {
      out[i] += p->slope[j] * (b.x.a[i + j * b.x.ld] - p->middle[j]);
    }
  }
}

void oat_rows_plane(const oat_rows *rows, int threads, double constant, const double *slope, const double *middle,
                    double *out) {
  plane p = {rows, constant, slope, middle, out};
  oat_loop loop = oat_chunks(rows->n, OAT_FLOPS_OF_MEMORY * (slope != NULL ? (double)rows->d : 1), threads);
  loop.item = plane_chunk;
  loop.self = &p;
  oat_loop_run(&loop);
}

void oat_rows_range(const oat_rows *rows, double *lowest, double *highest) {
  OAT_IN_ORDER(rows, b) {
    for (size_t i = 0; i < b.n * rows->d; i++) {
      const size_t j = i / b.n;
      const double x = b.x.a[i % b.n + j * b.x.ld];
      lowest[j] = fmin(lowest[j], x);
      highest[j] = fmax(highest[j], x);
    }
  }
}

/* Adds those of some rows. */
static void add_squares(const oat_rows *rows, size_t block, oat_squares *sum) {
  const oat_row_block b = oat_rows_block_in(rows, OAT_ORDERED_BLOCK, block, oat_rows_in_order(rows));
  for (size_t i = 0; i < b.n; i++) {
    const double scale = oat_block_noise_scale(&b, i);
    sum->squares += b.r[i] * b.r[i] / scale;
    sum->logarithms += log(scale);
  }
}

/* In parts of blocks that follow each other. Each rank reads its own parts of a file. */
static oat_squares sum_squares(const oat_rows *rows) {
  const size_t blocks = oat_rows_blocks(rows, OAT_ORDERED_BLOCK);
  const bool shared = rows->feed != NULL;
  const size_t first = shared ? oat_rank_first(OAT_MOST_LANES, oat_rank()) : 0,
               end = shared ? oat_rank_first(OAT_MOST_LANES, oat_rank() + 1) : OAT_MOST_LANES;
  oat_squares part[OAT_MOST_LANES] = {{0}}, all = {0};
  for (size_t i = first; i < end; i++) {
    for (size_t block = blocks * i / OAT_MOST_LANES; block < blocks * (i + 1) / OAT_MOST_LANES; block++) {
      add_squares(rows, block, &part[i]);
    }
  }
  if (shared) {
    oat_ranks_complete_items(part, OAT_MOST_LANES, sizeof *part);
  }
  for (size_t i = 0; i < OAT_MOST_LANES; i++) {
    all.squares += part[i].squares;
    all.logarithms += part[i].logarithms;
  }
  return all;
}

double oat_rows_constant(const oat_rows *rows, double *tau) {
  const double n = (double)oat_rows_total(rows);
  oat_squares *kept = rows->feed != NULL ? &rows->feed->squares : NULL;
  const oat_squares sum = kept != NULL && kept->known ? *kept : sum_squares(rows);
  if (kept != NULL) {
    *kept = (oat_squares){sum.squares, sum.logarithms, true};
  }
  if (tau != NULL) {
    *tau = sqrt(sum.squares / n);
  }
  return -0.5 * (n * (log(OAT_TWO_PI * fmax(sum.squares / n, 1e-300)) + 1) + sum.logarithms);
}
