/* What the data of a fit suggest that its user should know. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "util/memory.h"

enum { MOST_ROWS = 1000000 };
#define FAR_AWAY 20.0 /* robust standard deviations from the median */
#define ROBUST 1.4826 /* times the median absolute deviation: the standard deviation of a normal distribution */

/* ---- numbers far from all others ------------------------------------------------------------------------------------- */

static double value_at(oat_column column, size_t i) { return column.a[i * column.step]; }

/* Warns if any of n numbers is far from their median, compared with how far half of them are. `work` is n. */
static void find_outliers(oatgp_context *ctx, const char *what, oat_column values, size_t n, double *work) {
  for (size_t i = 0; i < n; i++) {
    work[i] = value_at(values, i);
  }
  const double middle = oat_median(n, work);
  for (size_t i = 0; i < n; i++) {
    work[i] = fabs(value_at(values, i) - middle);
  }
  const double unit = ROBUST * oat_median(n, work);
  size_t count = 0, farthest = 0;
  for (size_t i = 0; i < n && unit > 0; i++) {
    count += fabs(value_at(values, i) - middle) > FAR_AWAY * unit;
    farthest = fabs(value_at(values, i) - middle) > fabs(value_at(values, farthest) - middle) ? i : farthest;
  }
  if (count > 0) {
    oat_say(ctx, OATGP_WARNING,
            "%s: %zu of %zu numbers %s over %.0f times further from the median than is usual, such as %g in row %zu (median %g): check "
            "them, or "
            "take logarithms if all are right",
            what, count, n, count == 1 ? "is" : "are", FAR_AWAY, value_at(values, farthest), farthest + 1, middle);
  }
}

static void look_for_outliers(oatgp_context *ctx, const oat_setup *setup, size_t n, double *work) {
  const oatgp_data *data = setup->data;
  char what[300];
  snprintf(what, sizeof what, "target '%s'", data->target != NULL ? data->target : "y");
  find_outliers(ctx, what, (oat_column){data->y, 1}, n, work);
  for (size_t j = 0; j < setup->scaling.d; j++) {
    const size_t column = setup->scaling.column[j];
    snprintf(what, sizeof what, "input '%s'", data->names[column]);
    find_outliers(ctx, what, oat_data_input(data, column), n, work);
  }
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

/* ---- all ---------------------------------------------------------------------------------------------------------------- */

static bool is_constant(const double *values, size_t n) {
  for (size_t i = 1; i < n; i++) {
    if (values[i] != values[0]) {
      return false;
    }
  }
  return true;
}

oatgp_status oat_advise(oatgp_context *ctx, const oat_setup *setup) {
  const oatgp_data *data = setup->data;
  const size_t n = data->n < MOST_ROWS ? data->n : MOST_ROWS;
  double *work = NULL;
  oatgp_status status = OATGP_OK;
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
  TRY(oat_new_matrix(ctx, n, 1, &work));
  look_for_outliers(ctx, setup, n, work);
  TRY(look_for_repeats(ctx, setup, n));
done:
  free(work);
  return status;
}
