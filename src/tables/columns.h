/* The columns of a file: their number, their names, and how to find one. */
#ifndef OAT_LAYOUT_H
#define OAT_LAYOUT_H

#include <stdbool.h>

#include "util/context.h"

#define OAT_MOST_COLUMNS ((size_t)1 << 20)

/* A piece of text that is not ended by a 0. */
typedef struct oat_piece {
  const char *text;
  size_t length;
} oat_piece;

typedef struct oat_named {
  const char *name;
  size_t column;
} oat_named;

/* By name, and columns of one name by their numbers. */
void oat_named_sort(oat_named *named, size_t count);
/* How many of the sorted ones have this name; *column is set to the first. */
size_t oat_named_find(const oat_named *named, size_t count, const char *name, size_t *column);

typedef struct oat_layout {
  const char *file; /* for sentences; borrowed */
  const char *unit; /* the word for a position in the file: "line" or "row" */
  size_t columns;
  bool header;
  char **names;           /* from the header; without one, and where it is empty, V1, V2, ... */
  oat_named *sorted;      /* the same, by name */
  unsigned char *unnamed; /* whether the header has no name for the column */
} oat_layout;

/* Sets the columns from the cells of a header, or from their number alone when header is NULL. */
oatgp_status oat_layout_set(oatgp_context *ctx, oat_layout *layout, size_t columns, const oat_piece *header);
void oat_layout_free(oat_layout *layout); /* may be called with {0} */

/* How many columns have this name; *column is set to the first. */
size_t oat_layout_find(const oat_layout *layout, const char *name, size_t *column);
/* The same for what a user typed: a name, else a number from 1, else `last`. */
size_t oat_layout_look_up(const oat_layout *layout, const char *typed, size_t *column);
/* Finds exactly one column, or fails with a sentence that says what the file has. `what` is the role of the column. */
oatgp_status oat_layout_require(oatgp_context *ctx, const oat_layout *layout, const char *what, const char *typed,
                                size_t *column);
/* The failure of a search that found `found` columns instead of one. */
oatgp_status oat_layout_not_one(oatgp_context *ctx, const oat_layout *layout, const char *what, const char *typed,
                                size_t found);

#endif
