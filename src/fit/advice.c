/* What the data of a fit suggest that its user should know. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "util/lanes.h"
#include "util/memory.h"

enum { MOST_ROWS = 1000000 };
#define FAR_AWAY 20.0 /* robust standard deviations from the median */
#define ROBUST 1.4826 /* times the median absolute deviation: the standard deviation of a normal distribution */

/* ---- numbers far from all others ------------------------------------------------------------------------------------- */

static double value_at(oat_column column, size_t i) { return column.a[i * column.step]; }

/* A column, and what was found in it. */
typedef struct outliers {
  oat_column values;
  double middle;
  size_t count, farthest;
} outliers;

/* The target and the inputs, which workers take side by side, each with room for n numbers. */
typedef struct look_out {
  size_t n;
  outliers *column;
  double *work;
} look_out;

/* Numbers that are far from their median, compared with how far half of them are. */
static void find_outliers(outliers *column, size_t n, double *work) {
  const oat_column values = column->values;
  for (size_t i = 0; i < n; i++) {
    work[i] = value_at(values, i);
  }
  const double middle = column->middle = oat_median(n, work);
  for (size_t i = 0; i < n; i++) {
    work[i] = fabs(value_at(values, i) - middle);
  }
  const double unit = ROBUST * oat_median(n, work);
  double farthest = -1;
  for (size_t i = 0; i < n && unit > 0; i++) {
    const double distance = fabs(value_at(values, i) - middle);
    column->count += distance > FAR_AWAY * unit;
    column->farthest = distance > farthest ? i : column->farthest;
    farthest = distance > farthest ? distance : farthest;
  }
}

static void look_at_column(void *self, size_t lane, size_t item) {
  const look_out *l = self;
  (void)lane;
  find_outliers(&l->column[item], l->n, l->work + oat_worker() * l->n);
}

static void warn_of_outliers(oatgp_context *ctx, const char *what, const outliers *column, size_t n) {
  if (column->count > 0) {
    oat_say(ctx, OATGP_WARNING,
            "%s: %zu of %zu numbers %s over %.0f times further from the median than is usual, such as %g in row %zu (median %g): check "
            "them, or "
            "take logarithms if all are right",
            what, column->count, n, column->count == 1 ? "is" : "are", FAR_AWAY, value_at(column->values, column->farthest),
            column->farthest + 1, column->middle);
  }
}

static oatgp_status look_for_outliers(oatgp_context *ctx, const oat_setup *setup, size_t n) {
  const oatgp_data *data = setup->data;
  const size_t columns = 1 + setup->scaling.d, lanes = oat_lanes_for(columns), workers = oat_workers_for(lanes, ctx->at_work);
  oat_scratch memory = {.ctx = ctx};
  look_out l = {n, oat_take(&memory, columns, sizeof *l.column), oat_take_doubles(&memory, n, workers)};
  oatgp_status status = memory.status;
  const bool gaussian = setup->likelihood == NULL;
  char what[300];
  TRY(status);
  for (size_t c = 0; c < columns; c++) {
    l.column[c].values = c > 0 ? oat_data_input(data, setup->scaling.column[c - 1]) : (oat_column){data->y, 1};
  }
  oat_loop_run(&(oat_loop){.items = columns,
                           .lanes = lanes,
                           .workers = workers,
                           .threads = ctx->at_work,
                           .flops = 10 * OAT_FLOPS_OF_MEMORY * (double)n * (double)columns,
                           .item = look_at_column,
                           .self = &l});
  for (size_t c = 0; c < columns; c++) {
    const char *name = c > 0 ? data->names[setup->scaling.column[c - 1]] : data->target != NULL ? data->target : "y";
    snprintf(what, sizeof what, "%s '%s'", c > 0 ? "input" : "target", name);
    if (c == 0 ? gaussian : !setup->scaling.category[c - 1]) {
      warn_of_outliers(ctx, what, &l.column[c], n);
    }
  }
done:
  oat_scratch_free(&memory);
  return status;
}

/* ---- rows with the same inputs --------------------------------------------------------------------------------------- */

static oatgp_status look_for_repeats(oatgp_context *ctx, const oat_setup *setup, size_t n) {
  oat_repeats found = {0};
  const oatgp_status status = oat_rows_repeats(ctx, setup->rows, n, &found);
  if (found.squares > 0) {
    oat_say(ctx, OATGP_NOTE,
            "%zu rows have the same inputs as another; their targets differ with a standard deviation of %.3g, which is what tau should "
            "come near",
            found.rows, sqrt(found.squares / (double)(found.rows - found.groups)) * setup->y_scale);
  }
  return status;
}

/* ---- categories that name rows ------------------------------------------------------------------------------------------- */

static void look_at_levels(oatgp_context *ctx, const oat_setup *setup) {
  for (size_t j = 0; j < setup->scaling.d; j++) {
    const oat_levels *levels = oat_data_levels(setup->data, setup->scaling.column[j]);
    if (levels != NULL && 2 * levels->count > setup->data->n) {
      oat_say(ctx, OATGP_WARNING,
              "input '%s' has %zu levels in %zu rows: little can be learnt of a level, and a new row may have a new one",
              setup->data->names[setup->scaling.column[j]], levels->count, setup->data->n);
    }
  }
}

/* ---- all ---------------------------------------------------------------------------------------------------------------- */

static bool is_constant(const double *values, size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (values[i] != values[0]) {
      return false;
    }
  }
  return true;
}

/* Answers 0 and 1 are predicted as numbers here, which may leave the range of probabilities. */
static void look_for_classes(oatgp_context *ctx, const oatgp_data *data) {
  size_t zeros = 0, ones = 0;
  for (size_t i = 0; i < data->n; i++) {
    zeros += data->y[i] == 0;
    ones += data->y[i] == 1;
  }
  if (zeros > 0 && ones > 0 && zeros + ones == data->n) {
    oat_say(ctx, OATGP_NOTE,
            "the target has only 0 (%zu rows) and 1 (%zu rows) and is taken as a number; --likelihood bernoulli-logit predicts the "
            "probability of 1",
            zeros, ones);
  }
}

oatgp_status oat_advise(oatgp_context *ctx, const oat_setup *setup) {
  const oatgp_data *data = setup->data;
  const bool gaussian = setup->likelihood == NULL;
  const size_t n = data->n < MOST_ROWS ? data->n : MOST_ROWS;
  if (is_constant(data->y, data->n)) {
    oat_say(ctx, OATGP_WARNING, "the target is %g in all %zu rows: there is nothing to learn but that", data->y[0], data->n);
  }
  if (setup->approx->residual == OAT_RESIDUAL_NONE) {
    oat_say(ctx, OATGP_NOTE,
            "%s gives f no variance besides that of its values at the knots: its intervals are too narrow between the knots; vfe and fitc "
            "have the whole variance",
            setup->approx->name);
  }
  if (setup->scaling.d > data->n) {
    oat_say(ctx, OATGP_WARNING, "%zu inputs for %zu rows: most of what is found may be chance; give fewer with --inputs", setup->scaling.d,
            data->n);
  }
  if (gaussian) {
    look_for_classes(ctx, data);
  }
  look_at_levels(ctx, setup);
  PASS_ON(look_for_outliers(ctx, setup, n));
  return gaussian ? look_for_repeats(ctx, setup, n) : OATGP_OK; /* other answers may differ where the inputs do not */
}
