/* The work of the processor on sites, for every device: sites.c has the formulas, device.h the contracts. */
#ifndef OAT_SITES_H
#define OAT_SITES_H

#include "device/device.h"
#include "rows/layout.h"

/* The sites that follow from q, after a device has computed moments of the rows and stored them in the columns of the
 * sites. For a sparse model: u . c, the part of k(x, x) that the knots leave, and |u|^2 in OAT_SITE_MEAN,
 * OAT_SITE_VARIANCE and OAT_SITE_NEXT. For the exact GP, which does not use the coefficients of the mean here: a and
 * the diagonal of S^-1 in the first two. */
void oat_sites_look(const oat_rows *rows, int threads, bool exact, const double *coefficient, oat_site_look *look);
void oat_sites_begin(const oat_rows *rows, int threads, const oat_response *response, double level);
void oat_sites_move(const oat_rows *rows, int threads, double step, bool accept);
/* The log density of the target of a block's row, if f minus its offset has this mean and variance. */
double oat_cpu_answer_density(const oat_response *response, const oat_row_block *b, size_t i, double f,
                              double variance);

#endif
