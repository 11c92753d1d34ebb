/* The rows of a problem as a model sees them: scaled inputs, the target less its prior mean, the mean's basis, each
 * row's noise.
 *
 * Only src/rows and src/device see what is in a row (rows/layout.h). All others know how many rows there are and what
 * is computed of them, so that rows may be in memory, in a file or on several machines. A source may hold a part of all
 * rows: its own are counted by `n` inside src/rows and src/device, and what is said of the problem (the number of rows
 * in a formula, a tolerance for each row) is oat_rows_total. */
#ifndef OAT_ROWS_H
#define OAT_ROWS_H

#include "data/scaling.h"
#include "kernel/kernel.h"
#include "likelihood/likelihood.h"
#include "util/rng.h"

typedef struct oat_rows oat_rows;

/* ---- what a source says of itself -------------------------------------------------------------------------------- */

size_t oat_rows_total(const oat_rows *rows);     /* of the whole problem */
size_t oat_rows_inputs(const oat_rows *rows);    /* d */
size_t oat_rows_basis(const oat_rows *rows);     /* p: columns of the basis of an estimated mean */
bool oat_rows_known_noise(const oat_rows *rows); /* rows have noise variances besides tau^2 */
bool oat_rows_plain_noise(const oat_rows *rows); /* every row has the noise variance tau^2 */
bool oat_rows_have_answers(const oat_rows *rows); /* that are not Gaussian: likelihood/ */

/* ---- how rows are made ------------------------------------------------------------------------------------------- */

/* What the target is measured from, and in. */
typedef struct oat_target {
  double mean, scale;
} oat_target;

/* How rows see data. */
typedef struct oat_seen_as {
  const oat_scaling *scaling;
  const size_t *column;     /* input j of the scaling is input column[j] of the data */
  double *const *recode;    /* for each input, what becomes of a category's codes, or NULL: they stay; NULL if all do */
  const oat_target *target; /* NULL: inputs alone */
  size_t p;                 /* of the mean's basis: 0; 1: a constant; or 1 + d: linear */
  bool answers;             /* they have a likelihood of their own: the target is kept as it is, in units of target->scale */
} oat_seen_as;

/* From data. A finite input may leave the range of a number when it is scaled: it is then
 * as far away as a number can be; with a linear mean that is an error. */
oatgp_status oat_rows_from_data(oatgp_context *ctx, const oatgp_data *data, const oat_seen_as *as, oat_rows **out);
/* Points (d inputs, without gaps: ld = n) as rows without a target; borrowed. */
oatgp_status oat_rows_from_points(oatgp_context *ctx, oat_points points, size_t d, oat_rows **out);
/* The rows with these numbers, copied. */
oatgp_status oat_rows_take(oatgp_context *ctx, const oat_rows *rows, size_t count, const size_t *index, oat_rows **out);
/* The numbers of `count` random rows; of all of them in their order if there are no more. */
void oat_rows_choose(const oat_rows *rows, size_t count, oat_rng *rng, size_t *index);
/* The columns that a model keeps of its rows: inputs (n x d, column-major), the residual y - m, what tau^2 is multiplied
 * by, and noise variances that are known. */
typedef struct oat_kept_rows {
  size_t n;
  double *x, *r, *noise_scale, *noise_add;
} oat_kept_rows;

void oat_rows_keep(const oat_rows *rows, const oat_kept_rows *out);
/* The rows again, copied, with the basis that p stands for. */
oatgp_status oat_rows_from_kept(oatgp_context *ctx, const oat_kept_rows *kept, const oat_scaling *scaling, size_t p, oat_rows **out);
/* Some rows and others of the same kind behind them, copied. */
oatgp_status oat_rows_join(oatgp_context *ctx, const oat_rows *a, const oat_rows *b, oat_rows **out);
/* index <- for each of the rows its place among others that are as many, by inputs and target; *all: each has one of its
 * own. */
oatgp_status oat_rows_find(oatgp_context *ctx, const oat_rows *rows, const oat_rows *among, size_t *index, bool *all);
/* Rows with answers, and sites of their own; all else is borrowed. */
oatgp_status oat_rows_with_sites(oatgp_context *ctx, const oat_rows *rows, oat_rows **out);
/* The sites of such rows: n targets of f, less what is given of it, and n variances. Where the
 * likelihood is not log-concave, a variance may be negative. */
void oat_rows_get_sites(const oat_rows *rows, double *sites);
void oat_rows_set_sites(oat_rows *rows, const double *sites);
/* `count` random rows, copied; all of them in their order if there are no more. */
oatgp_status oat_rows_sample(oatgp_context *ctx, const oat_rows *rows, size_t count, oat_rng *rng, oat_rows **out);
/* The same rows with an estimated mean taken off at these coefficients, and no basis. The inputs and the noise are
 * borrowed. */
oatgp_status oat_rows_less_mean(oatgp_context *ctx, const oat_rows *rows, const double *coefficient, oat_rows **out);
void oat_rows_free(oat_rows *rows);

/* ---- what is read of them ---------------------------------------------------------------------------------------- */

/* Copies what the full GP keeps of its rows: the inputs, n x d, column-major; r, the residual less an estimated mean at
 * these coefficients; and the noise variances. */
void oat_rows_copy(const oat_rows *rows, const double *coefficient, double tau, double *x, double *r, double *noise);
/* x <- the inputs of these rows, count x d, column-major. */
void oat_rows_inputs_of(const oat_rows *rows, size_t count, const size_t *index, double *x);
/* out_i = constant + sum over the inputs of slope_j (x_ij - middle_j); slope may be NULL for none. */
void oat_rows_plane(const oat_rows *rows, int threads, double constant, const double *slope, const double *middle, double *out);
/* Widens the range (d each) to that of the inputs. */
void oat_rows_range(const oat_rows *rows, double *lowest, double *highest);
/* The largest objective of a constant with noise, and the tau that has it (may be NULL); without noise variances that
 * are known. */
double oat_rows_constant(const oat_rows *rows, double *tau);
/* The log density of answers that are not Gaussian, at the likelihood's parameters, where f is what is given of it and the number that suits
 * all rows best: *best, if that is not NULL. (It is 0 where best is NULL and there is no basis of an estimated mean.) */
double oat_rows_constant_answers(const oat_rows *rows, const oat_response *response, double *best);

/* A function on the host over blocks of inputs, by the one loop (util/lanes.h). */
typedef struct oat_each {
  size_t block; /* rows at a time */
  int threads;
  double flops;                                                       /* for each row, about */
  void (*visit)(void *self, size_t lane, size_t first, oat_points x); /* lane < OAT_MOST_LANES; the number of the first row */
  void *self;
} oat_each;

void oat_rows_each(const oat_rows *rows, const oat_each *each);

/* Rows that share their inputs with another, among the first `most`; how many groups they form; and the sum of squares
 * of their targets about the means of these. */
typedef struct oat_repeats {
  size_t rows, groups;
  double squares;
} oat_repeats;

oatgp_status oat_rows_repeats(oatgp_context *ctx, const oat_rows *rows, size_t most, oat_repeats *out);

#endif
