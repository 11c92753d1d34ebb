/* What is in rows: for src/rows and src/device alone. */
#ifndef OAT_ROWS_LAYOUT_H
#define OAT_ROWS_LAYOUT_H

#include "rows/rows.h"

/* n rows at one place. All zero at the end: they are the whole problem, and borrowed. */
struct oat_rows {
  size_t n, d, p;
  const double *x;           /* n x d, column-major */
  const double *r;           /* n x (1 + p), column-major: the residual y - m, then the basis of an estimated mean; NULL without a target */
  const double *noise_scale; /* n, or NULL for 1 */
  const double *noise_add;   /* n, or NULL for 0 */
  const double *answer;      /* n x OAT_ANSWER_COLUMNS, or NULL where answers are Gaussian: r is the target */
  double *site;              /* n x OAT_SITE_COLUMNS, or NULL */
  size_t before, after;      /* rows of the problem that are elsewhere */
  double *owned;             /* freed with the rows, or NULL */
};

/* Answers that are not Gaussian. A row then stands for a Gaussian one, its site: r has the site's target less `base`, and
 * noise_scale its variance, with tau 1. The columns, n apart: */
enum {
  OAT_ANSWER_Y,
  OAT_ANSWER_BASE,   /* what is added to f: a given mean, the logarithm of the exposure */
  OAT_ANSWER_TRIALS, /* 1 where there are none */
  OAT_ANSWER_TIMES,  /* how often the row counts */
  OAT_ANSWER_COLUMNS
};
/* Of sites, each by its natural parameters, target / variance and 1 / variance: those of the latest q that was accepted, those that the
 * step from it aims at, those that the present q asks for; how far the latter two are from the sites that they are asked for at (see
 * oat_site_look.change); and mean and variance of f under the present q. */
enum {
  OAT_SITE_FROM,
  OAT_SITE_TO = OAT_SITE_FROM + 2,
  OAT_SITE_NEXT = OAT_SITE_TO + 2,
  OAT_SITE_CHANGE_TO = OAT_SITE_NEXT + 2,
  OAT_SITE_CHANGE_NEXT = OAT_SITE_CHANGE_TO + 2,
  OAT_SITE_MEAN = OAT_SITE_CHANGE_NEXT + 2,
  OAT_SITE_VARIANCE,
  OAT_SITE_COLUMNS
};

/* Rows of their own with the shape of others: the same columns, of `shape->n` rows, all 0. */
oatgp_status oat_rows_allocate(oatgp_context *ctx, const oat_rows *shape, oat_rows **out);

/* A column of rows that own it, to be filled; NULL if it is NULL. */
static inline double *oat_writable(const oat_rows *rows, const double *column) {
  return column != NULL ? rows->owned + (column - rows->owned) : NULL;
}

/* Rows that are worked on together. */
typedef struct oat_row_block {
  size_t first, n; /* the first is counted within this source */
  oat_points x;
  const double *r; /* column j at r + j * ldr */
  size_t ldr;
  const double *noise_scale; /* or NULL for 1 */
  const double *noise_add;   /* or NULL for 0 */
  const double *answer;      /* or NULL; columns ldr apart */
  double *site;              /* the same */
} oat_row_block;

static inline size_t oat_rows_blocks(const oat_rows *rows, size_t block) { return (rows->n + block - 1) / block; }

/* Block number `item` of so many rows each. */
static inline oat_row_block oat_rows_block(const oat_rows *rows, size_t block, size_t item) {
  const size_t first = item * block, left = first < rows->n ? rows->n - first : 0, n = left < block ? left : block;
  return (oat_row_block){.first = first,
                         .n = n,
                         .x = {rows->x + first, n, rows->n},
                         .r = rows->r != NULL ? rows->r + first : NULL,
                         .ldr = rows->n,
                         .noise_scale = rows->noise_scale != NULL ? rows->noise_scale + first : NULL,
                         .noise_add = rows->noise_add != NULL ? rows->noise_add + first : NULL,
                         .answer = rows->answer != NULL ? rows->answer + first : NULL,
                         .site = rows->site != NULL ? rows->site + first : NULL};
}

/* Visits all rows in their order, a large block at a time: for what is a few operations a row. */
#define OAT_ORDERED_BLOCK ((size_t)65536)
#define OAT_IN_ORDER(rows, b)                                                             \
  for (oat_row_block b = oat_rows_block(rows, OAT_ORDERED_BLOCK, 0); b.first < (rows)->n; \
       b = oat_rows_block(rows, OAT_ORDERED_BLOCK, b.first / OAT_ORDERED_BLOCK + 1))

/* Of row i of a block: what tau^2 is multiplied by in its noise variance, and that variance. */
static inline double oat_block_noise_scale(const oat_row_block *b, size_t i) { return b->noise_scale != NULL ? b->noise_scale[i] : 1; }

static inline double oat_block_noise(const oat_row_block *b, double tau, size_t i) {
  return tau * tau * oat_block_noise_scale(b, i) + (b->noise_add != NULL ? b->noise_add[i] : 0);
}

#endif
