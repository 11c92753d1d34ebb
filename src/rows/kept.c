/* Rows that a model keeps: copies their columns out of rows and back, joins rows, and finds rows among others. */
#include <stdlib.h>
#include <string.h>

#include "rows/layout.h"
#include "util/hash.h"
#include "util/memory.h"

void oat_rows_keep(const oat_rows *rows, const oat_kept_rows *out) {
  memcpy(out->x, rows->x, rows->n * rows->d * sizeof *out->x);
  memcpy(out->r, rows->r, rows->n * sizeof *out->r);
  for (size_t i = 0; i < rows->n; i++) {
    out->noise_scale[i] = rows->noise_scale != NULL ? rows->noise_scale[i] : 1;
    out->noise_add[i] = rows->noise_add != NULL ? rows->noise_add[i] : 0;
  }
}

static bool all_are(size_t n, const double *values, double value) {
  for (size_t i = 0; i < n; i++) {
    if (values[i] != value) {
      return false;
    }
  }
  return true;
}

/* The basis of an estimated mean, as rows from data have it. */
static void fill_basis(const oat_rows *rows, const oat_scaling *scaling) {
  double *basis = oat_writable(rows, rows->r) + rows->n;
  for (size_t i = 0; i < rows->p * rows->n; i++) {
    const size_t column = i / rows->n;
    basis[i] = column == 0 ? 1 : (rows->x[i - rows->n] - scaling->middle[column - 1]) / scaling->spread[column - 1];
  }
}

oatgp_status oat_rows_from_kept(oatgp_context *ctx, const oat_kept_rows *kept, const oat_scaling *scaling, size_t p,
                                oat_rows **out) {
  const bool scaled = !all_are(kept->n, kept->noise_scale, 1), added = !all_are(kept->n, kept->noise_add, 0);
  const oat_rows shape = {.n = kept->n,
                          .d = scaling->d,
                          .p = p,
                          .r = kept->r,
                          .noise_scale = scaled ? kept->noise_scale : NULL,
                          .noise_add = added ? kept->noise_add : NULL};
  PASS_ON(oat_rows_allocate(ctx, &shape, out));
  const oat_rows *rows = *out;
  memcpy(oat_writable(rows, rows->x), kept->x, kept->n * scaling->d * sizeof *kept->x);
  memcpy(oat_writable(rows, rows->r), kept->r, kept->n * sizeof *kept->r);
  fill_basis(rows, scaling);
  if (scaled) {
    memcpy(oat_writable(rows, rows->noise_scale), kept->noise_scale, kept->n * sizeof *kept->noise_scale);
  }
  if (added) {
    memcpy(oat_writable(rows, rows->noise_add), kept->noise_add, kept->n * sizeof *kept->noise_add);
  }
  return OATGP_OK;
}

/* ---- joining --------------------------------------------------------------------------------------------------- */

/* Columns of the first rows, and behind them those of the others; NULL stands for a column of one value. */
static void join_columns(const oat_rows *a, const double *of_a, const oat_rows *b, const double *of_b, size_t columns,
                         double value, double *to) {
  for (size_t j = 0; to != NULL && j < columns; j++) {
    for (size_t i = 0; i < a->n; i++) {
      *to++ = of_a != NULL ? of_a[i + j * a->n] : value;
    }
    for (size_t i = 0; i < b->n; i++) {
      *to++ = of_b != NULL ? of_b[i + j * b->n] : value;
    }
  }
}

oatgp_status oat_rows_join(oatgp_context *ctx, const oat_rows *a, const oat_rows *b, oat_rows **out) {
  const oat_rows shape = {.n = a->n + b->n,
                          .d = a->d,
                          .p = a->p,
                          .r = a->r,
                          .noise_scale = a->noise_scale != NULL ? a->noise_scale : b->noise_scale,
                          .noise_add = a->noise_add != NULL ? a->noise_add : b->noise_add};
  PASS_ON(oat_rows_allocate(ctx, &shape, out));
  const oat_rows *both = *out;
  join_columns(a, a->x, b, b->x, a->d, 0, oat_writable(both, both->x));
  join_columns(a, a->r, b, b->r, 1 + a->p, 0, oat_writable(both, both->r));
  join_columns(a, a->noise_scale, b, b->noise_scale, 1, 1, oat_writable(both, both->noise_scale));
  join_columns(a, a->noise_add, b, b->noise_add, 1, 0, oat_writable(both, both->noise_add));
  return OATGP_OK;
}

/* ---- finding --------------------------------------------------------------------------------------------------- */

/* The rows sorted by a hash of their contents. */
static oatgp_status mark_rows(oatgp_context *ctx, const oat_rows *rows, oat_marked **out) {
  PASS_ON(oat_new(ctx, rows->n, sizeof **out, out));
  for (size_t i = 0; i < rows->n; i++) {
    uint64_t mark = OAT_HASH_START;
    for (size_t j = 0; j <= rows->d; j++) {
      const double value = (j < rows->d ? rows->x[i + j * rows->n] : rows->r[i]) + 0.0; /* turns -0 into 0 */
      mark = oat_hash(mark, &value, sizeof value);
    }
    (*out)[i] = (oat_marked){mark, i};
  }
  qsort(*out, rows->n, sizeof **out, oat_by_mark);
  return OATGP_OK;
}

oatgp_status oat_rows_find(oatgp_context *ctx, const oat_rows *rows, const oat_rows *among, size_t *index, bool *all) {
  oat_marked *a = NULL, *b = NULL;
  oatgp_status status = OATGP_OK;
  *all = rows->n == among->n && rows->d == among->d;
  TRY(*all ? mark_rows(ctx, rows, &a) : OATGP_OK);
  TRY(*all ? mark_rows(ctx, among, &b) : OATGP_OK);
  for (size_t i = 0; *all && i < rows->n; i++) {
    *all = a[i].mark == b[i].mark;
    index[a[i].row] = b[i].row;
  }
done:
  free(a);
  free(b);
  return status;
}
