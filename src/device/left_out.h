/* For devices: predicts rows from the others, given the numbers that a device has computed for each. */
#ifndef OAT_LEFT_OUT_H
#define OAT_LEFT_OUT_H

#include "device/device.h"
#include "rows/layout.h"

/* Sums over rows. */
enum { OAT_LEFT_DENSITY, OAT_LEFT_SQUARES, OAT_LEFT_PRODUCTS, OAT_LEFT_ERRORS, OAT_LEFT_INSIDE, OAT_LEFT_SUMS };

/* Of the rows of a block: k(x, x), |v|^2, |u|^2, and u^T c of each column (`apart` doubles from one to the next). The
 * mean's basis has p columns. */
typedef struct oat_left_rows {
  const double *prior, *q, *s, *fit;
  size_t apart, p;
} oat_left_rows;

/* Errors and variances of the rows go to `out`, the sums are added to. `e` is room for a number of each column. */
void oat_left_out_rows(const oat_left_out *out, const oat_sparse *sparse, const oat_row_block *b,
                       const oat_left_rows *rows, double *e, double *sums);
/* The sums over all rows. */
void oat_left_out_take(const double *sums, oat_left_out *out);

#endif
