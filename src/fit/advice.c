/* Notes and warnings about the data, before a fit. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "util/lanes.h"
#include "util/memory.h"
#include "util/ranks.h"

enum { MOST_ROWS = 1000000, FIRST_ROWS = 100000 };
#define FAR_AWAY 20.0 /* robust standard deviations from the median */
#define ROBUST 1.4826 /* times the median absolute deviation: the standard deviation of a normal distribution */

/* ---- numbers far from all others ------------------------------------------------------------------------------- */

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

/* Numbers much farther from the median than half of the numbers are. */
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
            "%s: %zu of %zu numbers %s over %.0f times further from the median than is usual, such as %g in row %zu "
            "(median %g); check them, or take logarithms if they are right",
            what, column->count, n, column->count == 1 ? "is" : "are", FAR_AWAY,
            value_at(column->values, column->farthest), column->farthest + 1, column->middle);
  }
}

static oatgp_status look_for_outliers(oatgp_context *ctx, const oat_setup *setup, size_t n) {
  const oatgp_data *data = setup->data;
  const size_t columns = 1 + setup->scaling.d, lanes = oat_lanes_for(columns),
               workers = oat_workers_for(lanes, ctx->at_work);
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

/* ---- rows with the same inputs --------------------------------------------------------------------------------- */

#define MANY_COPIES 0.01 /* a smaller share of rows may well be chance, where numbers are rounded */

static oatgp_status look_for_repeats(oatgp_context *ctx, const oat_setup *setup, size_t n) {
  oat_repeats found = {0};
  const oatgp_status status = oat_rows_repeats(ctx, setup->rows, n, &found);
  if (found.squares > 0) {
    oat_say(ctx, OATGP_NOTE,
            "%zu rows have the same inputs as another row; their targets differ with a standard deviation of %.3g, and "
            "tau should be close to that",
            found.rows, sqrt(found.squares / (double)(found.rows - found.groups)) * setup->y_scale);
  } else if (found.rows > 0 && (double)found.rows >= MANY_COPIES * (double)n) {
    oat_say(
        ctx, OATGP_WARNING,
        "%zu rows have a copy, with the same inputs and the same target; remove the copies unless they were measured "
        "separately, because they make the noise look like 0",
        found.rows);
  }
  return status;
}

/* ---- categories that name rows --------------------------------------------------------------------------------- */

static void look_at_levels(oatgp_context *ctx, const oat_setup *setup) {
  for (size_t j = 0; j < setup->scaling.d; j++) {
    const oat_levels *levels = oat_data_levels(setup->data, setup->scaling.column[j]);
    if (levels != NULL && 2 * levels->count > setup->data->n) {
      oat_say(ctx, OATGP_WARNING,
              "input '%s' has %zu levels in %zu rows: little can be learnt about each level, and new rows may have "
              "levels that were never seen",
              setup->data->names[setup->scaling.column[j]], levels->count, setup->data->n);
    }
  }
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static bool is_constant(const double *values, size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (values[i] != values[0]) {
      return false;
    }
  }
  return true;
}

/* Answers 0 and 1 are predicted as numbers here, which may leave the range of probabilities. Returns whether there are
 * only these. */
static bool look_for_classes(oatgp_context *ctx, const oatgp_data *data) {
  size_t zeros = 0, ones = 0;
  for (size_t i = 0; i < data->n; i++) {
    zeros += data->y[i] == 0;
    ones += data->y[i] == 1;
  }
  const bool classes = zeros > 0 && ones > 0 && zeros + ones == data->n;
  if (classes) {
    oat_say(ctx, OATGP_WARNING,
            "the target has only the values 0 (%zu rows) and 1 (%zu rows) and is treated as a number, so that "
            "intervals may be far too narrow; --likelihood=bernoulli-logit predicts the probability of 1",
            zeros, ones);
  }
  return classes;
}

/* The number that more than half of them are, if there is one. */
static double majority_of(const double *values, size_t n) {
  double majority = values[0];
  size_t lead = 0;
  for (size_t i = 0; i < n; i++) {
    majority = lead == 0 ? values[i] : majority;
    lead = values[i] == majority ? lead + 1 : lead - 1;
  }
  return majority;
}

/* Where an instrument has a limit, or nothing happens in most rows. */
static void look_for_majority(oatgp_context *ctx, const oatgp_data *data) {
  const double majority = majority_of(data->y, data->n);
  size_t count = 0;
  for (size_t i = 0; i < data->n; i++) {
    count += data->y[i] == majority;
  }
  if (2 * count > data->n && count < data->n) {
    oat_say(ctx, OATGP_WARNING,
            "the target is %g in %zu of %zu rows, so that the noise looks like 0 and intervals may be far too narrow",
            majority, count, data->n);
  }
}

static oatgp_status advise(oatgp_context *ctx, const oat_setup *setup) {
  const oatgp_data *data = setup->data;
  const bool gaussian = setup->likelihood == NULL;
  const size_t n = data->n < MOST_ROWS ? data->n : MOST_ROWS;
  if (is_constant(data->y, data->n)) {
    oat_say(ctx, OATGP_WARNING, "the target is %g in all %zu rows: there is nothing else to learn", data->y[0],
            data->n);
  }
  if (setup->approx->residual == OAT_RESIDUAL_NONE) {
    oat_say(ctx, OATGP_NOTE,
            "in the model %s, f varies only through its values at the knots, so intervals between the knots are too "
            "narrow; vfe and fitc keep the whole variance",
            setup->approx->name);
  }
  if (setup->scaling.d > data->n) {
    oat_say(ctx, OATGP_WARNING,
            "%zu inputs for %zu rows: much of what the fit finds may be chance; choose fewer inputs with --inputs",
            setup->scaling.d, data->n);
  }
  if (gaussian && !look_for_classes(ctx, data)) {
    look_for_majority(ctx, data);
  }
  look_at_levels(ctx, setup);
  PASS_ON(look_for_outliers(ctx, setup, n));
  return gaussian ? look_for_repeats(ctx, setup, n) : OATGP_OK; /* non-Gaussian targets may differ at the same inputs */
}

/* If the rows stay in files, only the first ones are checked, in memory. */
static oatgp_status advise_on_first(oatgp_context *ctx, const oat_setup *setup) {
  const size_t n = setup->data->n < FIRST_ROWS ? setup->data->n : FIRST_ROWS;
  oat_setup first = *setup;
  oatgp_data *data = NULL;
  oat_rows *rows = NULL;
  size_t *index = NULL;
  oatgp_status status = OATGP_OK;
  TRY(oat_data_copy_rows(ctx, setup->data, (oat_span){0, n}, &data));
  TRY(oat_new(ctx, n, sizeof *index, &index));
  for (size_t i = 0; i < n; i++) {
    index[i] = i;
  }
  TRY(oat_rows_take(ctx, setup->rows, n, index, &rows));
  first.data = data;
  first.rows = rows;
  if (n < setup->data->n) {
    oat_say(ctx, OATGP_NOTE,
            "the %zu rows stay in their file and are read whenever they are needed; only the first %zu are checked for "
            "unusual values",
            setup->data->n, n);
  }
  TRY(advise(ctx, &first));
done:
  free(index);
  oat_rows_free(rows);
  oatgp_data_free(data);
  return status;
}

oatgp_status oat_advise(oatgp_context *ctx, const oat_setup *setup) {
  if (oat_rank() > 0) { /* the first rank tells */
    return OATGP_OK;
  }
  return oat_data_is_streamed(setup->data) ? advise_on_first(ctx, setup) : advise(ctx, setup);
}
