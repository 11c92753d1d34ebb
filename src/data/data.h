/* The data of a fit or a prediction: inputs, target, and each row's own noise, trials and exposure. Inputs and target are the data's own,
 * column by column, or the caller's, in whatever order those have. */
#ifndef OAT_DATA_H
#define OAT_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "data/levels.h"

struct oatgp_data {
  size_t n, d;
  const double *x;                /* input j of row i is x[i * row_step + j * input_step] */
  size_t row_step, input_step;    /* 1 and n if they are the data's own */
  const double *y;                /* n, or NULL */
  double *own_x, *own_y;          /* x and y if the data own them, else NULL */
  double *weight;                 /* n, or NULL: noise variance tau^2 / weight */
  double *noise;                  /* n, or NULL: noise variance tau^2 + noise */
  double *trials;                 /* n, or NULL: how many times the row's answer was asked for, 1 if NULL */
  double *exposure;               /* n, or NULL: what the row's expected value is multiplied by, 1 if NULL */
  oat_levels target_levels;       /* of a target that is texts or classes, whose codes 0, 1, .. are in y; count 0 if it holds numbers */
  char **names;                   /* d input names */
  oat_levels *levels;             /* d: of inputs that are categories, whose values are codes; NULL if none is */
  bool told;                      /* whoever read them tells of levels that the model has not seen */
  char *target;                   /* its name, or NULL */
  char *weight_name, *noise_name; /* names of those columns, or NULL */
  char *trials_name, *exposure_name;
  bool header;            /* names come from a header line (or oatgp_data_set_names) */
  size_t columns;         /* of the file, 0 if not from a file */
  size_t *positions;      /* d numbers, from 1: the inputs' columns in the file; NULL if not from a file */
  size_t before;          /* rows of the file that came before these, in a stream */
  size_t target_position; /* the same for the other columns; 0: there is none, or not from a file */
  size_t weight_position, noise_position, trials_position, exposure_position;
  size_t dropped; /* rows with missing values that were left out */
};

/* What a row may have beside inputs and target, by the names of their fields: values, name and position of the column. */
#define OAT_EXTRA_COLUMNS(EXTRA) EXTRA(weight) EXTRA(noise) EXTRA(trials) EXTRA(exposure)

/* Most classes of a target. */
enum { OAT_MOST_CLASSES = 50 };

/* Values that are not next to each other: the i-th is a[i * step]. */
typedef struct oat_column {
  const double *a;
  size_t step;
} oat_column;

static inline oat_column oat_data_input(const oatgp_data *data, size_t input) {
  return (oat_column){data->x + input * data->input_step, data->row_step};
}
/* The values of a column, as oatgp_data_columns counts them. */
oat_column oat_data_column(const oatgp_data *data, size_t column);

/* The levels of an input, NULL if it holds numbers. */
static inline const oat_levels *oat_data_levels(const oatgp_data *data, size_t input) {
  return data->levels != NULL && data->levels[input].count > 0 ? &data->levels[input] : NULL;
}

/* Inputs of their own for n rows and d inputs, all 0. */
oatgp_status oat_data_own_inputs(oatgp_context *ctx, oatgp_data *data);

/* order <- the rows' numbers in a random order that depends on the seed and on what the rows hold, not on their places. */
oatgp_status oat_data_order(oatgp_context *ctx, const oatgp_data *data, uint64_t seed, size_t *order);

/* What to look for in a file by those names (or, in a file without header, places). */
typedef struct oat_columns {
  size_t d;
  char *const *names;
  const size_t *positions;              /* may be NULL */
  size_t columns;                       /* of the file that the positions are from, or 0 */
  bool header;                          /* whether names came from a header */
  const char *target;                   /* NULL or "": none */
  int need_target;                      /* 1: its absence is an error; -1: it is not read */
  const char *weight_name, *noise_name; /* NULL or "": none; their absence in the file is a note */
  const char *trials_name, *exposure_name;
  size_t target_position; /* their columns in the file that the positions are from, from 1, or 0: only the name counts */
  size_t weight_position, noise_position, trials_position, exposure_position;
  const oat_levels *levels;        /* of inputs that are categories; NULL if none is */
  const oat_levels *target_levels; /* of a target of classes, which has no other; NULL or empty if it holds numbers */
} oat_columns;

#endif
