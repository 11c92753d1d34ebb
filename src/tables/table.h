/* The columns of a file that are used, as they fill up row by row, and what becomes of missing values and text. */
#ifndef OAT_TABLE_H
#define OAT_TABLE_H

#include <math.h>

#include "data/data.h"
#include "tables/columns.h"
#include "text/number.h"
#include "text/shown.h"

typedef enum oat_role { OAT_INPUT, OAT_TARGET, OAT_WEIGHT, OAT_NOISE, OAT_TRIALS, OAT_EXPOSURE, OAT_ROLES } oat_role;

/* A column of a text table holds numbers if at least half of its values in the first rows are numbers, else text. If it
 * has no value there, its first value decides. Only inputs and a target of classes may hold text: their values are then codes of their
 * levels. */
enum { OAT_LOOK_ROWS = 100 };
typedef enum oat_content {
  OAT_CONTENT_OPEN,   /* the first rows are still being looked at */
  OAT_CONTENT_UNSEEN, /* they had no value */
  OAT_CONTENT_NUMBERS,
  OAT_CONTENT_WORDS
} oat_content;

/* What the first rows have that is no finite number, kept until they decide. */
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
  bool asked;           /* a person or a model named it: it is not left out */
  size_t classes;       /* most classes of a target that may have some, else 0 */
  bool crowded;         /* it has more texts than a category can have levels */
  size_t first_missing; /* line or row, from 1; 0 if there is none */
  size_t unseen;        /* rows, of those given out, with a level that is not among the known ones */
  double *values;       /* NaN where missing */
  size_t capacity;
  double *place; /* where they go in the data that are being made */
} oat_series;

typedef struct oat_table {
  const oat_layout *layout;
  bool drop;          /* rows with missing values are dropped, else they are an error */
  bool like;          /* the columns are those of earlier data, whose levels keep their codes; else levels are sorted in the end */
  bool free_inputs;   /* the user chooses the inputs, so that a sentence may advise to leave one out */
  char *const *names; /* names of the inputs, if not those of the file */
  size_t rows, count;
  oat_series *series;             /* count of them, in the order of use */
  oat_levels *levels;             /* one for each series: of those that hold words */
  const oat_levels *known;        /* those of each input that a model knows, in their order; NULL if it knows none */
  const oat_levels *target_known; /* those of the target, which may have no other; NULL: all that it has */
  unsigned char *used;            /* for each column of the file */
  bool looking;                   /* some column is OAT_CONTENT_OPEN */
  oat_doubt *doubts;              /* one for each series; copies of the table share them, so only one may be read while looking */
  size_t complete;                /* rows that are known to have no missing value, from the first on */
  size_t dropped;                 /* rows that had one and were taken out */
} oat_table;

/* A cell on its way into the table. */
typedef struct oat_entry {
  double *slot; /* where it goes */
  size_t place; /* the line or row to be named in a sentence */
  size_t row;   /* of the table, from 0; known while columns are open */
  oat_kind kind;
  double value;
  oat_piece cell; /* its text, {NULL, 0} if it was not text */
} oat_entry;

oatgp_status oat_table_open(oatgp_context *ctx, const oat_layout *layout, oat_table *table);
/* Adds a column to those used, with what is known of its content. */
oatgp_status oat_table_use(oatgp_context *ctx, oat_table *table, size_t column, const oat_series *as);
oatgp_status oat_table_put(oatgp_context *ctx, const oat_table *table, oat_series *series, const oat_entry *entry);
/* Whether the value can go into its slot as it is: no check of oat_table_put would find anything. */
static inline bool oat_series_takes(const oat_series *series, double value) {
  return (series->content == OAT_CONTENT_NUMBERS || series->content == OAT_CONTENT_OPEN) && (series->role <= OAT_TARGET || value > 0) &&
         (series->role != OAT_TRIALS || value == floor(value)) && value - value == 0;
}
/* Whether the column may turn out to hold text. */
static inline bool oat_series_may_hold_text(const oat_series *series) { return series->role == OAT_INPUT || series->classes > 0; }
/* Decides what the open columns are, after so many rows. The first cell that is then wrong is the error. */
oatgp_status oat_table_settle(oatgp_context *ctx, oat_table *table, size_t rows);
/* Takes the first rows of columns that are categories out of what was kept until that was known. Once, after the open columns are settled. */
oatgp_status oat_table_recall(oatgp_context *ctx, oat_table *table);
/* Makes room for so many further rows in every column. */
oatgp_status oat_table_reserve(oatgp_context *ctx, oat_table *table, size_t rows);
/* Takes out the rows with missing values, if they are to be dropped. */
oatgp_status oat_table_drop(oatgp_context *ctx, oat_table *table);
/* After the last row: refuses a file without rows or inputs, and says which columns are categories and what classes the target has. Texts
 * of which nearly every row has its own are left out, unless they were asked for. */
oatgp_status oat_table_check(oatgp_context *ctx, oat_table *table, size_t rows_read);
/* The failure of a value that is missing. */
oatgp_status oat_table_missing(oatgp_context *ctx, const oat_table *table, const oat_series *series);
/* When all rows are given out: warns of levels that the model has not seen. */
void oat_table_tell_unseen(oatgp_context *ctx, const oat_table *table);
/* Makes data of the first so many rows and takes them out of the table. */
oatgp_status oat_table_to_data(oatgp_context *ctx, oat_table *table, size_t rows, oatgp_data **out);
void oat_table_free(oat_table *table); /* takes {0} too */

/* Which columns are used, and as what (roles.c): by the settings target, inputs, factors, weights, noise_variance, trials,
 * exposure; likelihood says whether the target may have classes. */
oatgp_status oat_select_by_settings(oatgp_context *ctx, const oatgp_settings *settings, oat_table *table);
/* Those of earlier data. In a file with a header by name; a file without header must have either exactly d columns
 * (taken in order, no target) or as many as the file that they are from (the same places, of the target, weights, noise variances, trials
 * and exposure too). */
oatgp_status oat_select_like(oatgp_context *ctx, const oat_columns *wanted, oat_table *table);

#endif
