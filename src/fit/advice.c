/* What the data of a fit suggest that its user should know. */
#include "fit/advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "predict/metrics.h"
#include "util/hash.h"
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

typedef struct marked {
  uint64_t mark; /* of the inputs */
  size_t row;
} marked;

static int by_mark(const void *a, const void *b) {
  const marked *x = a, *y = b;
  return x->mark != y->mark ? (x->mark > y->mark) - (x->mark < y->mark) : (x->row > y->row) - (x->row < y->row);
}

static uint64_t mark_of(const oat_setup *setup, size_t row) {
  uint64_t mark = OAT_HASH_START;
  for (size_t j = 0; j < setup->scaling.d; j++) {
    const double value = setup->x[row + j * setup->rows.n] + 0.0; /* no -0 */
    mark = oat_hash(mark, &value, sizeof value);
  }
  return mark;
}

/* Rows that share their inputs with another, and the sum of squares of their targets about the means of their groups. */
typedef struct repeats {
  size_t rows, groups;
  double squares;
} repeats;

static void add_group(const oat_setup *setup, const marked *list, size_t count, repeats *found) {
  const double first = setup->r[list[0].row];
  double mean = first; /* exactly, if all are the same */
  for (size_t i = 1; i < count; i++) {
    mean += (setup->r[list[i].row] - first) / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    found->squares += (setup->r[list[i].row] - mean) * (setup->r[list[i].row] - mean);
  }
  found->rows += count;
  found->groups++;
}

static oatgp_status look_for_repeats(oatgp_context *ctx, const oat_setup *setup, size_t n) {
  marked *list = NULL;
  repeats found = {0};
  const oatgp_status status = oat_new(ctx, n, sizeof *list, &list);
  if (status != OATGP_OK) {
    return status;
  }
  for (size_t i = 0; i < n; i++) {
    list[i] = (marked){mark_of(setup, i), i};
  }
  qsort(list, n, sizeof *list, by_mark);
  for (size_t first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && list[end].mark == list[first].mark; end++) {
    }
    if (end - first > 1) {
      add_group(setup, list + first, end - first, &found);
    }
  }
  if (found.squares > 0) {
    oat_say(ctx, OATGP_NOTE,
            "%zu rows have the same inputs as another; their targets differ with a standard deviation of %.3g, which is what tau should "
            "come near",
            found.rows, sqrt(found.squares / (double)(found.rows - found.groups)) * setup->y_scale);
  }
  free(list);
  return OATGP_OK;
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
