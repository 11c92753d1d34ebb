/* The data of a fit or a prediction: inputs, target, and the noise, trials and exposure of each row. Inputs and target
 * are owned by the data, column by column, or borrowed from the caller, in any layout. */
#ifndef OAT_DATA_H
#define OAT_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "data/levels.h"
#include "util/lanes.h"

/* The range of values, their mean and sd (n - 1; 0 for n = 1). */
typedef struct oat_description {
  double lowest, highest, mean, sd;
} oat_description;

/* Columns besides the inputs, in their order. */
typedef enum oat_other {
  OAT_OTHER_TARGET,
  OAT_OTHER_WEIGHT,
  OAT_OTHER_NOISE,
  OAT_OTHER_TRIALS,
  OAT_OTHER_EXPOSURE,
  OAT_OTHERS
} oat_other;

/* Fewer rows than these are in memory during a fit, and every rank has all of them. */
#define OAT_SPREAD_ROWS ((size_t)65536)

/* Rows that stay in their files (data/stream.h). */
typedef struct oat_streamed {
  struct oat_stream *stream; /* its columns: the inputs, then those of the others that are present, in their order */
  size_t place[OAT_OTHERS];  /* 1 + the number of the column there, or 0: absent */
  oat_description *about;    /* of each column */
} oat_streamed;

struct oatgp_data {
  size_t n, d;
  const double *x;             /* input j of row i is x[i * row_step + j * input_step] */
  size_t row_step, input_step; /* 1 and n if they are the data's own */
  const double *y;             /* n, or NULL */
  double *own_x, *own_y;       /* x and y if the data own them, else NULL */
  double *weight;              /* n, or NULL: noise variance tau^2 / weight */
  double *noise;               /* n, or NULL: noise variance tau^2 + noise */
  double *trials;              /* n, or NULL: the number of trials of the row, 1 if NULL */
  double *exposure;            /* n, or NULL: the factor of the row's expected value, 1 if NULL */
  oat_levels target_levels; /* of a target that is texts or classes, whose codes 0, 1, .. are in y; count 0 if it holds
                               numbers */
  char **names;             /* d input names */
  oat_levels *levels;       /* d: of inputs that are categories, whose values are codes; NULL if none is */
  bool told;                /* the reader of the file reports levels that the model has not seen */
  char *target;             /* its name, or NULL */
  char *weight_name, *noise_name; /* names of those columns, or NULL */
  char *trials_name, *exposure_name;
  bool header;            /* names come from a header line (or oatgp_data_set_names) */
  size_t columns;         /* of the file, 0 if not from a file */
  size_t *positions;      /* d numbers, from 1: the inputs' columns in the file; NULL if not from a file */
  size_t before;          /* rows of the file that came before these, in a stream */
  size_t target_position; /* the same for the other columns; 0: absent, or not from a file */
  size_t weight_position, noise_position, trials_position, exposure_position;
  size_t dropped;        /* rows with missing values that were left out */
  oat_streamed in_files; /* .stream is NULL for data in memory. Otherwise x is NULL, and so are y and the others, except
                          * with a likelihood that is not Gaussian, which keeps much more for each row anyway */
};

/* The columns that a row may have besides inputs and target, by the names of their fields (values, name and
 * position). */
#define OAT_EXTRA_COLUMNS(EXTRA) EXTRA(weight) EXTRA(noise) EXTRA(trials) EXTRA(exposure)

/* Most classes of a target. */
enum { OAT_MOST_CLASSES = 50 };

/* Values with a stride: the i-th is a[i * step]. */
typedef struct oat_column {
  const double *a;
  size_t step;
} oat_column;

static inline oat_column oat_data_input(const oatgp_data *data, size_t input) {
  return (oat_column){data->x + input * data->input_step, data->row_step};
}
static inline bool oat_data_is_streamed(const oatgp_data *data) { return data->in_files.stream != NULL; }
/* Whether there is such a column. */
bool oat_data_has(const oatgp_data *data, oat_other other);
static inline bool oat_data_has_target(const oatgp_data *data) { return oat_data_has(data, OAT_OTHER_TARGET); }

/* Some rows of data, in memory or just read. Input j of row i is x[i * row_step + j * input_step]. */
typedef struct oat_data_part {
  size_t n;
  const double *x;
  size_t row_step, input_step;
  const double *other[OAT_OTHERS]; /* n each, or NULL */
} oat_data_part;

/* Doubles that a part needs for each row; 0 if the data are in memory. */
size_t oat_data_width(const oatgp_data *data);
/* Rows of the data; `room` has that many doubles, and may be NULL if the number is 0. */
oat_data_part oat_data_part_of(const oatgp_data *data, oat_span rows, double *room);
/* The values of a column of data in memory, as oatgp_data_columns counts them; and of a part. */
oat_column oat_data_column(const oatgp_data *data, size_t column);
oat_column oat_part_column(const oatgp_data *data, const oat_data_part *part, size_t column);
/* The number of that column, which must exist. */
size_t oat_data_number_of(const oatgp_data *data, oat_other other);
/* Rows as data in memory. */
oatgp_status oat_data_copy_rows(oatgp_context *ctx, const oatgp_data *data, oat_span rows, oatgp_data **out);
/* A pass over all rows, in threads: `look` writes what it makes of a chunk (oat_chunk) into the chunk's result, of so
 * many bytes. Of rows that stay in files, each rank reads only its own chunks and gets the results of the others. */
typedef struct oat_pass {
  void (*look)(const void *self, const oatgp_data *data, const oat_data_part *chunk, void *result);
  const void *self;
  double flops; /* of a row, about */
  int threads;
  size_t bytes;
  void *results; /* oat_data_chunks */
} oat_pass;

size_t oat_data_chunks(const oatgp_data *data);
oatgp_status oat_data_pass(oatgp_context *ctx, const oatgp_data *data, const oat_pass *pass);
/* Refuses data that are not the same on all ranks; of data in files, only the first chunk is compared. */
oatgp_status oat_data_check_ranks(oatgp_context *ctx, const oatgp_data *data);
/* For data in files: checks that everything was read and that the files have not changed. */
oatgp_status oat_data_check(oatgp_context *ctx, const oatgp_data *data);
/* Refuses data in files: `what` needs rows in memory. */
oatgp_status oat_data_need_memory(oatgp_context *ctx, const oatgp_data *data, const char *what);

/* The levels of an input, NULL if it holds numbers. */
static inline const oat_levels *oat_data_levels(const oatgp_data *data, size_t input) {
  return data->levels != NULL && data->levels[input].count > 0 ? &data->levels[input] : NULL;
}

/* Makes own inputs for n rows and d inputs, all 0. */
oatgp_status oat_data_own_inputs(oatgp_context *ctx, oatgp_data *data);

/* order <- the row numbers in a random order that depends on the seed and on the values of the rows, not on their
 * positions. */
oatgp_status oat_data_order(oatgp_context *ctx, const oatgp_data *data, uint64_t seed, size_t *order);

/* The columns to look for in a file, by name or, in a file without a header, by position. */
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
  size_t
      target_position; /* their columns in the file that the positions are from, from 1, or 0: only the name counts */
  size_t weight_position, noise_position, trials_position, exposure_position;
  const oat_levels *levels;        /* of inputs that are categories; NULL if none is */
  const oat_levels *target_levels; /* of a target of classes, which may have only these; NULL or empty: numbers */
  bool answers;                    /* the likelihood is not Gaussian */
} oat_columns;

#endif
