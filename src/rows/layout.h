/* The contents of rows, for src/rows and src/device only. */
#ifndef OAT_ROWS_LAYOUT_H
#define OAT_ROWS_LAYOUT_H

#include "rows/rows.h"

/* Of residuals, in units of the noise variance that tau 1 gives them; and the sum of the logarithms of that. */
typedef struct oat_squares {
  double squares, logarithms;
  bool known;
} oat_squares;

/* The source of rows that are not in memory: data in files, converted as `as` says. If the likelihood is not Gaussian,
 * only the inputs come from there; otherwise everything does. */
typedef struct oat_feed {
  const oatgp_data *data;
  oat_seen_as as;
  oat_target target;   /* of `as`, if it has one */
  size_t *column;      /* of `as` */
  double *minus;       /* as->p coefficients of a mean that is subtracted, or NULL */
  double *in_order;    /* room for a block of OAT_IN_ORDER */
  oat_squares squares; /* of all rows, once they have been needed */
} oat_feed;

/* n rows at one place. If the last five fields are 0, they are the whole problem, borrowed and in memory. With a feed,
 * x is NULL, and so are the other columns unless the target is not Gaussian. */
struct oat_rows {
  size_t n, d, p;
  const double *x; /* n x d, column-major */
  const double *
      r; /* n x (1 + p), column-major: the residual y - m, then the basis of an estimated mean; NULL without a target */
  const double *noise_scale; /* n, or NULL for 1 */
  const double *noise_add;   /* n, or NULL for 0 */
  const double *answer;      /* n x OAT_ANSWER_COLUMNS, or NULL where answers are Gaussian: r is the target */
  double *site;              /* n x OAT_SITE_COLUMNS, or NULL */
  size_t before, after;      /* rows of the problem that are elsewhere */
  double *owned;             /* freed with the rows, or NULL */
  oat_feed *feed;            /* or NULL */
  bool feed_is_lent;         /* it belongs to other rows, which outlive these */
};

void oat_feed_free(oat_feed *feed); /* may be NULL */
/* The same feed, with a mean at these coefficients subtracted. */
oatgp_status oat_feed_less(oatgp_context *ctx, const oat_feed *from, const double *coefficient, oat_feed **out);

/* The room of OAT_IN_ORDER. */
static inline double *oat_rows_in_order(const oat_rows *rows) {
  return rows->feed != NULL ? rows->feed->in_order : NULL;
}

/* Targets that are not Gaussian. A row is then replaced by a Gaussian row, its site: r is the site's target minus
 * `base`, and noise_scale its variance, with tau 1. The columns, n apart: */
enum {
  OAT_ANSWER_Y,
  OAT_ANSWER_BASE,   /* the offset of f: a given mean, the logarithm of the exposure */
  OAT_ANSWER_TRIALS, /* 1 where there are none */
  OAT_ANSWER_TIMES,  /* how often the row counts */
  OAT_ANSWER_COLUMNS
};
/* Sites, each as its natural parameters, target / variance and 1 / variance: those of the last accepted q, those
 * towards which the step from it goes, and those that follow from the current q; the differences of the latter two from
 * the sites at which they were computed (see oat_site_look.change); and the mean and variance of f under the current
 * q. */
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

/* New rows with the same columns as `shape`, of shape->n rows, all 0. */
oatgp_status oat_rows_allocate(oatgp_context *ctx, const oat_rows *shape, oat_rows **out);

/* A column that the rows own, as writable; NULL if it is NULL. */
static inline double *oat_writable(const oat_rows *rows, const double *column) {
  return column != NULL ? rows->owned + (column - rows->owned) : NULL;
}

/* A block of rows. */
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

/* The number of doubles that a block of so many rows needs; 0 for rows in memory. */
size_t oat_rows_room(const oat_rows *rows, size_t block);
/* Reads these rows from their feed, into the room. */
oat_row_block oat_rows_fetch(const oat_rows *rows, oat_span span, double *room);

/* Some rows. The room may be NULL if oat_rows_room is 0. */
static inline oat_row_block oat_rows_span(const oat_rows *rows, oat_span span, double *room) {
  if (rows->feed != NULL) {
    return oat_rows_fetch(rows, span, room);
  }
  const size_t first = span.first;
  return (oat_row_block){.first = first,
                         .n = span.count,
                         .x = {rows->x + first, span.count, rows->n},
                         .r = rows->r != NULL ? rows->r + first : NULL,
                         .ldr = rows->n,
                         .noise_scale = rows->noise_scale != NULL ? rows->noise_scale + first : NULL,
                         .noise_add = rows->noise_add != NULL ? rows->noise_add + first : NULL,
                         .answer = rows->answer != NULL ? rows->answer + first : NULL,
                         .site = rows->site != NULL ? rows->site + first : NULL};
}

/* Block number `item` of so many rows each. */
static inline oat_row_block oat_rows_block_in(const oat_rows *rows, size_t block, size_t item, double *room) {
  const size_t first = item * block, left = first < rows->n ? rows->n - first : 0;
  return oat_rows_span(rows, (oat_span){first, left < block ? left : block}, room);
}

/* The same of rows in memory. */
static inline oat_row_block oat_rows_block(const oat_rows *rows, size_t block, size_t item) {
  return oat_rows_block_in(rows, block, item, NULL);
}

/* Visits all rows in order, a large block at a time: for work of a few operations per row. */
#define OAT_ORDERED_BLOCK ((size_t)8192)
#define OAT_IN_ORDER(rows, b)                                                                                         \
  for (oat_row_block b = oat_rows_block_in(rows, OAT_ORDERED_BLOCK, 0, oat_rows_in_order(rows)); b.first < (rows)->n; \
       b = oat_rows_block_in(rows, OAT_ORDERED_BLOCK, b.first / OAT_ORDERED_BLOCK + 1, oat_rows_in_order(rows)))

/* For row i of a block: the factor of tau^2 in its noise variance, and that variance. */
static inline double oat_block_noise_scale(const oat_row_block *b, size_t i) {
  return b->noise_scale != NULL ? b->noise_scale[i] : 1;
}

static inline double oat_block_noise(const oat_row_block *b, double tau, size_t i) {
  return tau * tau * oat_block_noise_scale(b, i) + (b->noise_add != NULL ? b->noise_add[i] : 0);
}

#endif
