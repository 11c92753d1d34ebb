/* The rows of a problem as the model uses them: scaled inputs, the target minus its prior mean, the basis of the mean,
 * the noise of each row.
 *
 * Only src/rows and src/device can access the contents of a row (rows/layout.h). All other code knows only the number
 * of rows and results computed from them, so that rows may be in memory, in a file or on several machines. A source may
 * hold a part of all rows: `n`, inside src/rows and src/device, counts its own rows; oat_rows_total is the number of
 * rows of the problem, for formulas and tolerances per row. */
#ifndef OAT_ROWS_H
#define OAT_ROWS_H

#include "data/scaling.h"
#include "kernel/kernel.h"
#include "likelihood/likelihood.h"
#include "util/rng.h"

typedef struct oat_rows oat_rows;

/* ---- properties of a source ------------------------------------------------------------------------------------ */

size_t oat_rows_total(const oat_rows *rows);      /* of the whole problem */
size_t oat_rows_inputs(const oat_rows *rows);     /* d */
size_t oat_rows_basis(const oat_rows *rows);      /* p: columns of the basis of an estimated mean */
bool oat_rows_known_noise(const oat_rows *rows);  /* rows have noise variances besides tau^2 */
bool oat_rows_plain_noise(const oat_rows *rows);  /* every row has the noise variance tau^2 */
bool oat_rows_have_answers(const oat_rows *rows); /* that are not Gaussian: likelihood/ */

/* For rows in files: checks that everything was read and that the files have not changed. Call it after every pass. */
oatgp_status oat_rows_check(oatgp_context *ctx, const oat_rows *rows);

/* ---- how rows are made ----------------------------------------------------------------------------------------- */

/* The zero and the unit of the target. */
typedef struct oat_target {
  double mean, scale;
} oat_target;

/* How rows are made from data. */
typedef struct oat_seen_as {
  const oat_scaling *scaling;
  const size_t *column;     /* input j of the scaling is input column[j] of the data */
  double *const *recode;    /* for each input, the new codes of a category, or NULL: unchanged; NULL if all are */
  const oat_target *target; /* NULL: inputs alone */
  size_t p;                 /* of the mean's basis: 0; 1: a constant; or 1 + d: linear */
  bool answers; /* the likelihood is not Gaussian: the target is in units of target->scale, and no mean is subtracted */
} oat_seen_as;

/* Makes rows from data, which must outlive the rows if they stay in files. If a finite input overflows when it is
 * scaled, it becomes the largest number; with a linear mean that is an error. */
oatgp_status oat_rows_from_data(oatgp_context *ctx, const oatgp_data *data, const oat_seen_as *as, oat_rows **out);
/* Points (d inputs, without gaps: ld = n) as rows without a target; borrowed. */
oatgp_status oat_rows_from_points(oatgp_context *ctx, oat_points points, size_t d, oat_rows **out);
/* The rows with these numbers, copied. */
oatgp_status oat_rows_take(oatgp_context *ctx, const oat_rows *rows, size_t count, const size_t *index, oat_rows **out);
/* The numbers of `count` random rows; of all of them in their order if there are no more. */
void oat_rows_choose(const oat_rows *rows, size_t count, oat_rng *rng, size_t *index);
/* The columns that a model keeps of its rows: inputs (n x d, column-major), the residual y - m, what tau^2 is
 * multiplied by, and noise variances that are known. */
typedef struct oat_kept_rows {
  size_t n;
  double *x, *r, *noise_scale, *noise_add;
} oat_kept_rows;

void oat_rows_keep(const oat_rows *rows, const oat_kept_rows *out);
/* Copies of the kept rows as rows, with p columns of the basis. */
oatgp_status oat_rows_from_kept(oatgp_context *ctx, const oat_kept_rows *kept, const oat_scaling *scaling, size_t p,
                                oat_rows **out);
/* Some rows and others of the same kind behind them, copied. */
oatgp_status oat_rows_join(oatgp_context *ctx, const oat_rows *a, const oat_rows *b, oat_rows **out);
/* index <- for each of the rows its position among the same number of others, by inputs and target; *all: every row was
 * found. */
oatgp_status oat_rows_find(oatgp_context *ctx, const oat_rows *rows, const oat_rows *among, size_t *index, bool *all);
/* Rows with targets that are not Gaussian, with sites of their own; everything else is borrowed. */
oatgp_status oat_rows_with_sites(oatgp_context *ctx, const oat_rows *rows, oat_rows **out);
/* The sites of such rows: n targets of f, less what is given of it, and n variances. Where the
 * likelihood is not log-concave, a variance may be negative. */
void oat_rows_get_sites(const oat_rows *rows, double *sites);
void oat_rows_set_sites(oat_rows *rows, const double *sites);
/* `count` random rows, copied; all of them in their order if there are no more. */
oatgp_status oat_rows_sample(oatgp_context *ctx, const oat_rows *rows, size_t count, oat_rng *rng, oat_rows **out);
/* The same rows minus an estimated mean at these coefficients, without a basis. The inputs and the noise are
 * borrowed. */
oatgp_status oat_rows_less_mean(oatgp_context *ctx, const oat_rows *rows, const double *coefficient, oat_rows **out);
void oat_rows_free(oat_rows *rows);

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Copies what the full GP keeps of its rows: the inputs, n x d, column-major; r, the residual less an estimated mean at
 * these coefficients; and the noise variances. */
void oat_rows_copy(const oat_rows *rows, const double *coefficient, double tau, double *x, double *r, double *noise);
/* x <- the inputs of these rows, count x d, column-major. */
void oat_rows_inputs_of(const oat_rows *rows, size_t count, const size_t *index, double *x);
/* out_i = constant + sum over the inputs of slope_j (x_ij - middle_j); slope may be NULL for none. */
void oat_rows_plane(const oat_rows *rows, int threads, double constant, const double *slope, const double *middle,
                    double *out);
/* Widens the range (d each) to that of the inputs. */
void oat_rows_range(const oat_rows *rows, double *lowest, double *highest);
/* The largest objective of a constant with noise, and the tau that has it (may be NULL); without noise variances that
 * are known. */
double oat_rows_constant(const oat_rows *rows, double *tau);
/* The log density of a non-Gaussian target at the likelihood's parameters, with f equal to its offset plus the constant
 * that suits all rows best: *best, if that is not NULL. (The constant is 0 if best is NULL and there is no estimated
 * mean.) */
double oat_rows_constant_answers(const oat_rows *rows, const oat_response *response, double *best);

/* A function on the host over blocks of inputs, by the one loop (util/lanes.h). */
typedef struct oat_each {
  size_t block; /* rows at a time */
  int threads;
  double flops; /* approximate, for each row */
  void (*visit)(void *self, size_t lane, size_t first,
                oat_points x); /* lane < OAT_MOST_LANES; the number of the first row */
  void *self;
} oat_each;

oatgp_status oat_rows_each(oatgp_context *ctx, const oat_rows *rows, const oat_each *each);

/* Rows that share their inputs with another, among the first `most`; how many groups they form; and the sum of squares
 * of their targets about the means of these. */
typedef struct oat_repeats {
  size_t rows, groups;
  double squares;
} oat_repeats;

oatgp_status oat_rows_repeats(oatgp_context *ctx, const oat_rows *rows, size_t most, oat_repeats *out);

#endif
