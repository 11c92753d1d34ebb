/* The columns of a file that are in use, while they are filled row by row, and the handling of missing values and
 * text. */
#ifndef OAT_TABLE_H
#define OAT_TABLE_H

#include <math.h>

#include "data/data.h"
#include "tables/columns.h"
#include "text/number.h"
#include "text/shown.h"

typedef enum oat_role { OAT_INPUT, OAT_TARGET, OAT_WEIGHT, OAT_NOISE, OAT_TRIALS, OAT_EXPOSURE, OAT_ROLES } oat_role;

/* A column of a text table holds numbers if at least half of its values in the first rows are numbers, else text. If it
 * has no value there, its first value decides. Only inputs and a target of classes may hold text: their values are then
 * codes of their levels. */
enum { OAT_LOOK_ROWS = 100 };
typedef enum oat_content {
  OAT_CONTENT_OPEN,   /* the first rows have not decided yet */
  OAT_CONTENT_UNSEEN, /* the first rows had no value */
  OAT_CONTENT_NUMBERS,
  OAT_CONTENT_WORDS
} oat_content;

/* Values in the first rows that are not finite numbers, kept until the column is settled. */
typedef struct oat_doubt {
  size_t texts, missing;
  size_t numbers;    /* set when the column is settled */
  size_t place;      /* line of the first cell that is neither a finite number nor missing; 0 if there is none */
  oat_kind kind;     /* of that cell, */
  oat_shown text;    /* and what it holds */
  oat_levels levels; /* of the texts among them, */
  size_t *code;      /* and for each of the rows 1 + its code, 0 if it has no text; NULL if none has */
} oat_doubt;

typedef struct oat_series {
  size_t column; /* in the file, from 0 */
  oat_role role;
  oat_content content;
  bool asked;           /* the user or a model named it, so it is not left out */
  size_t classes;       /* most classes of a target that may have some, else 0 */
  bool crowded;         /* it has more texts than a category can have levels */
  size_t first_missing; /* line or row, from 1; 0 if there is none */
  size_t unseen;        /* returned rows with a level that is not among the known ones */
  size_t forgotten;     /* values that were checked and discarded */
  double *values;       /* NaN where missing */
  size_t capacity;
  double *place; /* the destination in the new data */
} oat_series;

typedef struct oat_table {
  const oat_layout *layout;
  bool drop; /* rows with missing values are dropped, else they are an error */
  bool like; /* the columns are those of earlier data, whose levels keep their codes; else levels are sorted in the end
              */
  bool free_inputs;   /* the user chooses the inputs, so that a sentence may advise to leave one out */
  char *const *names; /* names of the inputs, if not those of the file */
  size_t rows, count;
  oat_series *series;             /* count of them, in the order of use */
  oat_levels *levels;             /* one for each series: of those that hold words */
  const oat_levels *known;        /* the levels of each input that a model knows; NULL if it knows none */
  const oat_levels *target_known; /* the only levels that the target may have; NULL: any */
  unsigned char *used;            /* for each column of the file */
  bool looking;                   /* some column is OAT_CONTENT_OPEN */
  oat_doubt *doubts; /* one for each series; copies of the table share them, so only one may be read while looking */
  size_t complete;   /* rows that are known to have no missing value, from the first on */
  size_t dropped;    /* rows that had one and were taken out */
} oat_table;

/* A cell that is put into the table. */
typedef struct oat_entry {
  double *slot; /* its destination */
  size_t place; /* its line or row, for messages */
  size_t row;   /* of the table, from 0; known while columns are open */
  oat_kind kind;
  double value;
  oat_piece cell; /* its text, {NULL, 0} if it was not text */
} oat_entry;

oatgp_status oat_table_open(oatgp_context *ctx, const oat_layout *layout, oat_table *table);
/* Adds a column to those in use, with its known content. */
oatgp_status oat_table_use(oatgp_context *ctx, oat_table *table, size_t column, const oat_series *as);
oatgp_status oat_table_put(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry);
/* Whether the value can be stored directly, because it would pass every check of oat_table_put. */
static inline bool oat_series_takes(const oat_series *series, double value) {
  return (series->content == OAT_CONTENT_NUMBERS || series->content == OAT_CONTENT_OPEN) &&
         (series->role <= OAT_TARGET || value > 0) && (series->role != OAT_TRIALS || value == floor(value)) &&
         value - value == 0;
}
/* Whether the column may turn out to hold text. */
static inline bool oat_series_may_hold_text(const oat_series *series) {
  return series->role == OAT_INPUT || series->classes > 0;
}
/* Decides what the open columns hold, after this many rows. The first cell that contradicts this is the error. */
oatgp_status oat_table_settle(oatgp_context *ctx, oat_table *table, size_t rows);
/* Fills in the first rows of columns that turned out to be categories from the kept texts. Called once, after the open
 * columns are settled. */
oatgp_status oat_table_recall(oatgp_context *ctx, oat_table *table);
/* Makes room for this many more rows in every column. */
oatgp_status oat_table_reserve(oatgp_context *ctx, oat_table *table, size_t rows);
/* Discards the rows, whose levels and missing values are known, once every column is settled. */
void oat_table_forget(oat_table *table);
/* Removes the rows with missing values, if they are to be dropped. */
oatgp_status oat_table_drop(oatgp_context *ctx, oat_table *table);
/* After the last row: refuses a file without rows or inputs, and says which columns are categories and what classes the
 * target has. Text columns with a different text in nearly every row are left out, unless they were requested. */
oatgp_status oat_table_check(oatgp_context *ctx, oat_table *table, size_t rows_read);
/* The failure of a value that is missing. */
oatgp_status oat_table_missing(oatgp_context *ctx, const oat_table *table, const oat_series *series);
/* After all rows were returned: warns of levels that the model has not seen. */
void oat_table_tell_unseen(oatgp_context *ctx, const oat_table *table);
/* Moves the first `rows` rows from the table into data. */
oatgp_status oat_table_to_data(oatgp_context *ctx, oat_table *table, size_t rows, oatgp_data **out);
void oat_table_free(oat_table *table); /* may be called with {0} */

/* Which columns are used, and as what (roles.c): by the settings target, inputs, factors, weights, noise_variance,
 * trials, exposure; likelihood says whether the target may have classes. */
oatgp_status oat_select_by_settings(oatgp_context *ctx, const oatgp_settings *settings, oat_table *table);
/* Chooses the columns of earlier data: by name in a file with a header. A file without header must have either exactly
 * d columns (the inputs in order, no target) or as many as the original file (with all columns in the same positions,
 * also those of the target, weights, noise variances, trials and exposure). */
oatgp_status oat_select_like(oatgp_context *ctx, const oat_columns *wanted, oat_table *table);

#endif
