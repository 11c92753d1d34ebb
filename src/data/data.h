/* The data of a fit or a prediction: inputs column by column, target, and each row's own noise. */
#ifndef OAT_DATA_H
#define OAT_DATA_H

#include <stdbool.h>

#include "util/context.h"

struct oatgp_data {
  size_t n, d;
  double *x;                      /* n x d, column-major: input j of row i is x[i + j * n] */
  double *y;                      /* n, or NULL */
  double *weight;                 /* n, or NULL: noise variance tau^2 / weight */
  double *noise;                  /* n, or NULL: noise variance tau^2 + noise */
  char **names;                   /* d input names */
  char *target;                   /* its name, or NULL */
  char *weight_name, *noise_name; /* names of those columns, or NULL */
  bool header;                    /* names come from a header line (or oatgp_data_set_names) */
  size_t columns;                 /* of the file, 0 if not from a file */
  size_t *positions;              /* d numbers, from 1: the inputs' columns in the file; NULL if not from a file */
  size_t dropped;                 /* rows with missing values that were left out */
};

/* The values of a column, as oatgp_data_columns counts them. */
const double *oat_data_column(const oatgp_data *data, size_t column);

/* What to look for in a file by those names (or, in a file without header, places). */
typedef struct oat_columns {
  size_t d;
  char *const *names;
  const size_t *positions;              /* may be NULL */
  size_t columns;                       /* of the file that the positions are from, or 0 */
  bool header;                          /* whether names came from a header */
  const char *target;                   /* NULL or "": none */
  bool need_target;                     /* its absence is an error */
  const char *weight_name, *noise_name; /* NULL or "": none; their absence in the file is a note */
} oat_columns;

#endif
