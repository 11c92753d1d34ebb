/* Rows from data: inputs scaled, the target about its prior mean, the mean's basis, each row's noise. In chunks of rows, so
 * that the memory of rows is touched first by the threads that will work on them. */
#include <float.h>
#include <math.h>

#include "rows/layout.h"
#include "util/lanes.h"

typedef struct filling {
  const oatgp_data *data;
  const oat_seen_as *as;
  const oat_rows *rows;
  size_t refused[OAT_MOST_LANES]; /* the first place of a lane, in the matrix of inputs, that a linear mean cannot have */
} filling;

/* A finite input may leave the range of a number when it is scaled. It is then as far from all others as a number can
 * be; but a linear mean has no value there. */
static void fill_inputs(filling *f, size_t lane, oat_span rows) {
  double *x = oat_writable(f->rows, f->rows->x);
  oat_scaling_apply(f->as->scaling, f->as->column, f->as->recode, f->data, rows, x);
  for (size_t j = 0; j < f->rows->d; j++) {
    const size_t first = j * f->rows->n + rows.first;
    for (size_t i = first; i < first + rows.count; i++) {
      if (!isfinite(x[i])) {
        f->refused[lane] = f->rows->p > 1 && i < f->refused[lane] ? i : f->refused[lane];
        x[i] = copysign(DBL_MAX, x[i]);
      }
    }
  }
}

static void fill_targets(const filling *f, oat_span rows) {
  const size_t n = f->rows->n, end = rows.first + rows.count;
  const double *middle = f->as->scaling->middle, *spread = f->as->scaling->spread;
  double *r = oat_writable(f->rows, f->rows->r);
  for (size_t i = rows.first; r != NULL && !f->as->answers && i < end; i++) {
    r[i] = (f->data->y[i] - f->as->target->mean) / f->as->target->scale;
  }
  for (size_t j = 0; r != NULL && j < f->rows->p; j++) {
    for (size_t i = rows.first; i < end; i++) {
      r[i + (1 + j) * n] = j == 0 ? 1 : (f->rows->x[i + (j - 1) * n] - middle[j - 1]) / spread[j - 1];
    }
  }
}

static double value_or(const double *values, size_t i, double other) { return values != NULL ? values[i] : other; }

static void fill_answers(const filling *f, oat_span rows) {
  const size_t n = f->rows->n;
  const oat_target *target = f->as->target;
  double *answer = oat_writable(f->rows, f->rows->answer);
  for (size_t i = rows.first; i < rows.first + rows.count; i++) {
    answer[i + OAT_ANSWER_Y * n] = f->data->y[i] / target->scale;
    answer[i + OAT_ANSWER_BASE * n] = target->mean / target->scale + log(value_or(f->data->exposure, i, 1));
    answer[i + OAT_ANSWER_TRIALS * n] = value_or(f->data->trials, i, 1);
    answer[i + OAT_ANSWER_TIMES * n] = value_or(f->data->weight, i, 1);
  }
}

static void fill_noise(const filling *f, oat_span rows) {
  const size_t end = rows.first + rows.count;
  double *scale = oat_writable(f->rows, f->rows->noise_scale), *add = oat_writable(f->rows, f->rows->noise_add);
  for (size_t i = rows.first; scale != NULL && i < end; i++) {
    scale[i] = 1 / f->data->weight[i];
  }
  for (size_t i = rows.first; add != NULL && i < end; i++) {
    add[i] = f->data->noise[i] / f->as->target->scale / f->as->target->scale;
  }
}

static void fill_chunk(void *self, size_t lane, size_t item) {
  filling *f = self;
  const oat_span rows = oat_chunk(f->rows->n, item);
  fill_inputs(f, lane, rows);
  if (f->as->target != NULL) {
    fill_targets(f, rows);
  }
  if (f->as->target != NULL && f->as->answers) {
    fill_answers(f, rows);
  } else if (f->as->target != NULL) {
    fill_noise(f, rows);
  }
}

static oatgp_status too_far(oatgp_context *ctx, const filling *f, size_t place) {
  const oatgp_data *data = f->data;
  const size_t row = place % data->n, j = place / data->n;
  const oat_column input = oat_data_input(data, f->as->column[j]);
  return oat_fail(ctx, OATGP_DATA, "input '%s' of row %zu is %g, which is too far from the fit's values of about %g for a linear mean",
                  data->names[f->as->column[j]], data->before + row + 1, input.a[row * input.step], f->as->scaling->centre[j]);
}

static oatgp_status fill(oatgp_context *ctx, filling *f) {
  oat_loop loop = oat_chunks(f->rows->n, OAT_FLOPS_OF_MEMORY * (double)f->rows->d, ctx->at_work);
  size_t refused = SIZE_MAX;
  loop.item = fill_chunk;
  loop.self = f;
  for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
    f->refused[lane] = SIZE_MAX;
  }
  oat_loop_run(&loop);
  for (size_t lane = 0; lane < OAT_MOST_LANES; lane++) {
    refused = f->refused[lane] < refused ? f->refused[lane] : refused;
  }
  return refused == SIZE_MAX ? OATGP_OK : too_far(ctx, f, refused);
}

oatgp_status oat_rows_from_data(oatgp_context *ctx, const oatgp_data *data, const oat_seen_as *as, oat_rows **out) {
  oat_rows shape = {.n = data->n, .d = as->scaling->d, .p = as->p};
  if (as->target != NULL) {
    shape.r = data->y;
    shape.noise_scale = as->answers ? NULL : data->weight;
    shape.noise_add = data->noise;
    shape.answer = as->answers ? data->y : NULL;
  }
  oat_rows *rows = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_rows_allocate(ctx, &shape, &rows));
  filling f = {.data = data, .as = as, .rows = rows};
  TRY(fill(ctx, &f));
  *out = rows;
  return OATGP_OK;
done:
  oat_rows_free(rows);
  return status;
}
