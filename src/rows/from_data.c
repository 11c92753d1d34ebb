/* Rows from data: scaled inputs, the target minus its prior mean, the basis of the mean, the noise of each row. They
 * are made in chunks, so that the threads that will work on the rows touch their memory first. If the data stay in
 * files, they are made block by block on request. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rows/layout.h"
#include "util/lanes.h"
#include "util/memory.h"

/* ---- some rows ------------------------------------------------------------------------------------------------- */

/* The destination: columns `ld` apart. NULL: not wanted. */
typedef struct place {
  size_t d, p, ld;
  double *x, *r, *noise_scale, *noise_add, *answer;
} place;

/* A finite input may overflow when it is scaled. It then becomes the largest number, but a linear mean has no value
 * there. Returns the first such place, i + j ld, or SIZE_MAX. */
static size_t fill_inputs(const oat_seen_as *as, const oat_data_part *from, const place *to) {
  size_t refused = SIZE_MAX;
  oat_scaling_apply(as->scaling, as->column, as->recode, from, to->x, to->ld);
  for (size_t j = 0; j < to->d; j++) {
    for (size_t i = j * to->ld; i < j * to->ld + from->n; i++) {
      if (!isfinite(to->x[i])) {
        refused = to->p > 1 && refused == SIZE_MAX ? i : refused;
        to->x[i] = copysign(DBL_MAX, to->x[i]);
      }
    }
  }
  return refused;
}

static void fill_targets(const oat_seen_as *as, const oat_data_part *from, const place *to) {
  const double *middle = as->scaling->middle, *spread = as->scaling->spread, *y = from->other[OAT_OTHER_TARGET];
  for (size_t i = 0; to->r != NULL && !as->answers && i < from->n; i++) {
    to->r[i] = (y[i] - as->target->mean) / as->target->scale;
  }
  for (size_t j = 0; to->r != NULL && j < to->p; j++) {
    for (size_t i = 0; i < from->n; i++) {
      to->r[i + (1 + j) * to->ld] = j == 0 ? 1 : (to->x[i + (j - 1) * to->ld] - middle[j - 1]) / spread[j - 1];
    }
  }
}

static double value_or(const double *values, size_t i, double other) { return values != NULL ? values[i] : other; }

static void fill_answers(const oat_seen_as *as, const oat_data_part *from, const place *to) {
  for (size_t i = 0; to->answer != NULL && i < from->n; i++) {
    to->answer[i + OAT_ANSWER_Y * to->ld] = from->other[OAT_OTHER_TARGET][i] / as->target->scale;
    to->answer[i + OAT_ANSWER_BASE * to->ld] =
        as->target->mean / as->target->scale + log(value_or(from->other[OAT_OTHER_EXPOSURE], i, 1));
    to->answer[i + OAT_ANSWER_TRIALS * to->ld] = value_or(from->other[OAT_OTHER_TRIALS], i, 1);
    to->answer[i + OAT_ANSWER_TIMES * to->ld] = value_or(from->other[OAT_OTHER_WEIGHT], i, 1);
  }
}

static void fill_noise(const oat_seen_as *as, const oat_data_part *from, const place *to) {
  for (size_t i = 0; to->noise_scale != NULL && i < from->n; i++) {
    to->noise_scale[i] = 1 / from->other[OAT_OTHER_WEIGHT][i];
  }
  for (size_t i = 0; to->noise_add != NULL && i < from->n; i++) {
    to->noise_add[i] = from->other[OAT_OTHER_NOISE][i] / as->target->scale / as->target->scale;
  }
}

static size_t fill_part(const oat_seen_as *as, const oat_data_part *from, const place *to) {
  const size_t refused = fill_inputs(as, from, to);
  if (as->target != NULL) {
    fill_targets(as, from, to);
    fill_answers(as, from, to);
    fill_noise(as, from, to);
  }
  return refused;
}

static oatgp_status too_far(oatgp_context *ctx, const oatgp_data *data, const oat_seen_as *as, size_t row, size_t j) {
  double *room = NULL;
  PASS_ON(oat_new_matrix(ctx, oat_data_width(data), 1, &room));
  const oat_data_part part = oat_data_part_of(data, (oat_span){row, 1}, room);
  const double value = part.x[as->column[j] * part.input_step];
  free(room);
  return oat_fail(ctx, OATGP_DATA,
                  "input '%s' of row %zu is %g, too far from the fit's values of about %g for a linear mean",
                  data->names[as->column[j]], data->before + row + 1, value, as->scaling->centre[j]);
}

/* ---- all rows, into memory ------------------------------------------------------------------------------------- */

typedef struct filling {
  const oatgp_data *data;
  const oat_seen_as *as;
  const oat_rows *rows;
  bool whole;                     /* inputs are stored, too; else they are only checked, in the room */
  double *room;                   /* for each worker */
  size_t stride;                  /* of it */
  size_t refused[OAT_MOST_LANES]; /* of each lane, the first row at which a linear mean has no value, */
  size_t input[OAT_MOST_LANES];   /* and its input */
} filling;

static double *behind(double *column, size_t first) { return column != NULL ? column + first : NULL; }

static void fill_chunk(void *self, size_t lane, size_t item) {
  filling *f = self;
  const oat_rows *rows = f->rows;
  const oat_span span = oat_chunk(rows->n, item);
  double *room = f->room + oat_worker() * f->stride, *inputs = room + oat_data_width(f->data) * OAT_CHUNK;
  const oat_data_part part = oat_data_part_of(f->data, span, room);
  place to = {.d = f->as->scaling->d,
              .p = rows->p,
              .ld = rows->n,
              .x = behind(oat_writable(rows, rows->x), span.first),
              .r = behind(oat_writable(rows, rows->r), span.first),
              .noise_scale = behind(oat_writable(rows, rows->noise_scale), span.first),
              .noise_add = behind(oat_writable(rows, rows->noise_add), span.first),
              .answer = behind(oat_writable(rows, rows->answer), span.first)};
  if (!f->whole) {
    fill_answers(f->as, &part, &to);
    to = (place){.d = to.d, .p = to.p, .ld = span.count, .x = inputs, .r = inputs + to.d * span.count};
  }
  const size_t refused = fill_part(f->as, &part, &to);
  for (size_t j = 0; !f->whole && rows->r != NULL && j < rows->p; j++) {
    memcpy(oat_writable(rows, rows->r) + span.first + (1 + j) * rows->n, to.r + (1 + j) * span.count,
           span.count * sizeof *room);
  }
  if (refused != SIZE_MAX && f->refused[lane] == SIZE_MAX) {
    f->refused[lane] = span.first + refused % to.ld;
    f->input[lane] = refused / to.ld;
  }
}

static oatgp_status fill(oatgp_context *ctx, filling *f) {
  oat_loop loop = oat_chunks(f->rows->n, OAT_FLOPS_OF_MEMORY * (double)f->as->scaling->d, ctx->at_work);
  size_t first = 0;
  oatgp_status status = OATGP_OK;
  loop.item = fill_chunk;
  loop.self = f;
  loop.workers = oat_workers_for(loop.lanes, loop.threads);
  f->stride = OAT_CHUNK * (oat_data_width(f->data) + (f->whole ? 0 : f->as->scaling->d + 1 + f->rows->p));
  TRY(oat_new_matrix(ctx, f->stride, loop.workers, &f->room));
  for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
    f->refused[lane] = SIZE_MAX;
  }
  oat_loop_run(&loop);
  for (size_t lane = 1; lane < OAT_MOST_LANES; lane++) {
    first = f->refused[lane] < f->refused[first] ? lane : first;
  }
  TRY(f->refused[first] == SIZE_MAX ? OATGP_OK : too_far(ctx, f->data, f->as, f->refused[first], f->input[first]));
  TRY(oat_data_check(ctx, f->data));
done:
  free(f->room);
  return status;
}

/* ---- rows from files, block by block --------------------------------------------------------------------------- */

/* The number of columns of a fed block. */
static size_t fed_columns(const oat_rows *rows) {
  const oat_feed *feed = rows->feed;
  return rows->r != NULL || feed->as.target == NULL ? feed->as.scaling->d : feed->as.scaling->d + 1 + feed->as.p + 2;
}

size_t oat_rows_room(const oat_rows *rows, size_t block) {
  return rows->feed != NULL ? block * (oat_data_width(rows->feed->data) + fed_columns(rows)) : 0;
}

/* r - H coefficient */
static void take_off(const oat_feed *feed, const place *to, size_t n) {
  for (size_t j = 0; feed->minus != NULL && j < feed->as.p; j++) {
    for (size_t i = 0; i < n; i++) {
      to->r[i] -= feed->minus[j] * to->r[i + (1 + j) * to->ld];
    }
  }
}

oat_row_block oat_rows_fetch(const oat_rows *rows, oat_span span, double *room) {
  const oat_feed *feed = rows->feed;
  const size_t n = span.count, d = rows->d;
  oat_row_block b = {.first = span.first, .n = n};
  if (n == 0) {
    return b;
  }
  const oat_data_part part = oat_data_part_of(feed->data, span, room);
  place to = {.d = d, .p = feed->as.p, .ld = n, .x = room + oat_data_width(feed->data) * n};
  if (rows->r != NULL || feed->as.target == NULL) {
    fill_inputs(&feed->as, &part, &to);
    const oat_row_block kept = oat_rows_span(&(oat_rows){.n = rows->n,
                                                         .r = rows->r,
                                                         .noise_scale = rows->noise_scale,
                                                         .noise_add = rows->noise_add,
                                                         .answer = rows->answer,
                                                         .site = rows->site},
                                             span, NULL);
    b = kept;
  } else {
    to.r = to.x + d * n;
    to.noise_scale = part.other[OAT_OTHER_WEIGHT] != NULL ? to.r + (1 + to.p) * n : NULL;
    to.noise_add = part.other[OAT_OTHER_NOISE] != NULL ? to.r + (2 + to.p) * n : NULL;
    fill_part(&feed->as, &part, &to);
    take_off(feed, &to, n);
    b.r = to.r;
    b.ldr = n;
    b.noise_scale = to.noise_scale;
    b.noise_add = to.noise_add;
  }
  b.x = (oat_points){to.x, n, n};
  return b;
}

void oat_feed_free(oat_feed *feed) {
  if (feed != NULL) {
    free(feed->column);
    free(feed->minus);
    free(feed->in_order);
    free(feed);
  }
}

static oatgp_status new_feed(oatgp_context *ctx, const oatgp_data *data, const oat_seen_as *as, oat_feed **out) {
  const size_t d = as->scaling->d, widest = oat_data_width(data) + d + 3 + as->p;
  oat_feed *feed = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_new(ctx, 1, sizeof *feed, &feed));
  TRY(oat_new(ctx, d, sizeof *feed->column, &feed->column));
  TRY(oat_new_matrix(ctx, OAT_ORDERED_BLOCK, widest, &feed->in_order));
  memcpy(feed->column, as->column, d * sizeof *feed->column);
  feed->data = data;
  feed->as = *as;
  feed->as.column = feed->column;
  if (as->target != NULL) {
    feed->target = *as->target;
    feed->as.target = &feed->target;
  }
  *out = feed;
  return OATGP_OK;
done:
  oat_feed_free(feed);
  return status;
}

oatgp_status oat_feed_less(oatgp_context *ctx, const oat_feed *from, const double *coefficient, oat_feed **out) {
  PASS_ON(new_feed(ctx, from->data, &from->as, out));
  const oatgp_status status = oat_new_matrix(ctx, from->as.p, 1, &(*out)->minus);
  if (status == OATGP_OK) {
    memcpy((*out)->minus, coefficient, from->as.p * sizeof *coefficient);
  } else {
    oat_feed_free(*out);
  }
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

oatgp_status oat_rows_from_data(oatgp_context *ctx, const oatgp_data *data, const oat_seen_as *as, oat_rows **out) {
  const bool fed = oat_data_is_streamed(data) && data->n >= OAT_SPREAD_ROWS, target = as->target != NULL;
  static const double there = 0;
#define IF_THERE(other) (target && oat_data_has(data, other) ? &there : NULL)
  oat_rows shape = {.n = data->n, .d = fed ? 0 : as->scaling->d, .p = as->p};
  if (!fed || as->answers) {
    shape.r = IF_THERE(OAT_OTHER_TARGET);
    shape.noise_scale = as->answers ? NULL : IF_THERE(OAT_OTHER_WEIGHT);
    shape.noise_add = IF_THERE(OAT_OTHER_NOISE);
    shape.answer = as->answers ? shape.r : NULL;
  }
#undef IF_THERE
  oat_rows *rows = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_rows_allocate(ctx, &shape, &rows));
  rows->d = as->scaling->d;
  if (fed) {
    rows->x = NULL;
    TRY(new_feed(ctx, data, as, &rows->feed));
  }
  filling f = {.data = data, .as = as, .rows = rows, .whole = !fed};
  TRY(!fed || as->p > 1 || shape.answer != NULL ? fill(ctx, &f) : OATGP_OK);
  *out = rows;
  return OATGP_OK;
done:
  oat_rows_free(rows);
  return status;
}
